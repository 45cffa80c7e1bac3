"""Where a run was made: device, driver, clocks, versions. What does not answer is None and is said as "not told"."""

from __future__ import annotations

import datetime
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

PACKAGES = ("tilewright", "numpy", "torch", "triton", "cupy-cuda12x", "cupy-cuda13x", "jax", "numba", "numba-cuda")
_LONGEST_S = 20.0


def clocks(load: Callable[[], Any] | None = None) -> str | None:
    """The clocks of multiprocessors and memory, of each device: "1980 MHz, 3201 MHz"; under a load that is called until
    nvidia-smi has answered. None where it does not."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader"]
    end = time.monotonic() + _LONGEST_S
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as asked:
        while load is not None and asked.poll() is None and time.monotonic() < end:
            load()
        try:
            said, _ = asked.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            asked.kill()
            return None
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return "; ".join(lines) if asked.returncode == 0 and lines else None


def versions() -> dict[str, str]:
    """Of what is installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """What the page says above its table."""
    facts: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "versions": versions(),
        "clocks": clocks(),
        "devices": [],
        "driver": None,
    }
    try:
        from tilewright import _face

        devices = _face.devices()
    except ImportError:
        return facts
    facts["devices"] = [f"{d['name']}, compute capability {d['capability'][0]}.{d['capability'][1]}" for d in devices]
    if devices:
        number = devices[0]["driver_version"]
        facts["driver"] = f"CUDA {number // 1000}.{number % 1000 // 10}"
    return facts
