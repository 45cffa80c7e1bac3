"""What a call of a tiny kernel costs on the side of the host: `python benchmarks/cuda/dispatch.py`.

x + y of 1,000 float32, a new result each call. A batch of calls is put on the stream without a wait between, and only that is timed; the device is waited for
between batches, so that its queue never fills. One line each: our module on torch tensors, CuPy arrays and DeviceArrays, beside PyTorch eager and CuPy. Writes
dispatch.json to --out."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from page import rewrite_page  # noqa: E402

SCRIPT = """import numpy as np
def add(x, y):
    return x + y
x = np.ones(1000, np.float32)
for _ in range(3): add(x, x)
"""
LONGEST_BATCH = 500  # the queue of a stream takes about a thousand launches


def per_call_ns(call: Callable[[], Any], wait: Callable[[], Any], batches: int, batch: int) -> list[float]:
    """Of each batch, the time of a call in it; the first batches, which load code and fill pools, do not count."""
    times = []
    for number in range(batches + 5):
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        took = time.perf_counter_ns() - start
        wait()
        if number >= 5:
            times.append(took / batch)
    return times


def module_of(folder: Path) -> Any:
    """What a user has: the module that `autotune --build-only` leaves behind."""
    (folder / "tiny.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tilewright", "--target", "cuda", "--build-only", "--out", "tiny_tuned", "tiny.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"autotune ended with {done.returncode}: {done.stderr.strip()}")
    sys.path.insert(0, str(folder))
    return importlib.import_module("tiny_tuned")


def ways(module: Any) -> Iterator[tuple[str, str, Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]]]:
    """(arrays, way, what makes the call and the wait); making it raises where the peer is not there."""
    host = np.ones(1000, np.float32)

    def device_arrays(has_out: bool) -> tuple[Callable[[], Any], Callable[[], Any]]:
        x, y = module.to_device(host), module.to_device(host)
        out = module.add(x, y)
        call = (lambda: module.add(x, y, out=out)) if has_out else (lambda: module.add(x, y))
        return call, module.device("cuda").synchronize

    def tensors(function: Callable[[Any, Any], Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
        import torch

        x, y = torch.ones(1000, device="cuda"), torch.ones(1000, device="cuda")
        return lambda: function(x, y), torch.cuda.synchronize

    def cupy_arrays(function: Callable[[Any, Any], Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
        import cupy

        x, y = cupy.ones(1000, np.float32), cupy.ones(1000, np.float32)
        return lambda: function(x, y), cupy.cuda.runtime.deviceSynchronize

    def plus(x: Any, y: Any) -> Any:
        return x + y

    yield "tilewright: torch tensors", "module", lambda: tensors(module.add)
    yield "tilewright: CuPy arrays", "module", lambda: cupy_arrays(module.add)
    yield "tilewright: DeviceArray", "module", lambda: device_arrays(False)
    yield "tilewright: DeviceArray", "module, out=", lambda: device_arrays(True)
    yield "PyTorch: torch tensors", "eager, x + y", lambda: tensors(plus)
    yield "CuPy: CuPy arrays", "x + y", lambda: cupy_arrays(plus)


def measure(batches: int, batch: int) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        module = module_of(Path(folder))
        for name, way, make in ways(module):
            row: dict[str, Any] = {"name": name, "way": way}
            try:
                call, wait = make()
                times = per_call_ns(call, wait, batches, batch)
                row |= {"ns": float(np.median(times)), "least_ns": min(times)}
                print(f"{name} ({way}): {row['ns'] / 1e3:.2f} us, least {row['least_ns'] / 1e3:.2f}", flush=True)
            except Exception as error:  # noqa: BLE001 (a peer that is absent or fails is reported)
                row["absent"] = f"{type(error).__name__}: {str(error)[:200]}"
                print(f"{name} ({way}): {row['absent']}", flush=True)
            rows.append(row)
    return rows


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--batches", type=int, default=50)
    made.add_argument("--batch", type=int, default=200, help=f"calls without a wait, at most {LONGEST_BATCH}")
    made.add_argument("--out", type=Path, default=HERE / "results")
    return made


def main() -> None:
    options = parser().parse_args()
    if not 0 < options.batch <= LONGEST_BATCH:
        raise SystemExit(f"--batch: {options.batch} is not from 1 to {LONGEST_BATCH}: a full queue would be timed.")
    rows = measure(options.batches, options.batch)
    options.out.mkdir(parents=True, exist_ok=True)
    what = f"x + y of 1,000 float32 with a new result; medians of {options.batches} batches of {options.batch} calls without a wait."
    (options.out / "dispatch.json").write_text(json.dumps({"what": what, "rows": rows}, indent=1))
    print(rewrite_page(options.out))


if __name__ == "__main__":
    main()
