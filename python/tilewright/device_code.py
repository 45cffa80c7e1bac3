"""What a device needs to run a kernel: registers, shared memory, spills and occupancy, as ptxas says them.

Not done here: making the code (the compiler writes PTX), running it (the driver assembles it for its device).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_NUMBERS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "shared_bytes": re.compile(r"(\d+) bytes smem"),
    "stack_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spilled_bytes": re.compile(r"(\d+) bytes spill stores"),
}
_WARP, _MOST_WARPS, _REGISTERS = 32, 64, 65536  # of a multiprocessor of compute capability 8.0 and 9.0


@dataclass(frozen=True)
class DeviceFunction:
    """One device function of a kernel's PTX."""

    name: str
    arch: str
    registers: int = 0
    shared_bytes: int = 0  # static
    stack_bytes: int = 0
    spilled_bytes: int = 0

    @property
    def occupancy(self) -> float:
        """The share of a multiprocessor's warps that its registers leave room for; blocks and shared memory aside."""
        per_warp = -(-max(self.registers, 1) * _WARP // 256) * 256
        return min(1.0, _REGISTERS // per_warp / _MOST_WARPS)

    def text(self) -> str:
        spills = f", {self.spilled_bytes} bytes spilled" if self.spilled_bytes else ""
        return (
            f"{self.name} for {self.arch}: {self.registers} registers, {self.shared_bytes} bytes of shared memory{spills}, "
            f"occupancy by registers {self.occupancy:.0%}"
        )


def ptxas_path() -> Path | None:
    """CUDA's assembler, from PATH, CUDA_HOME or the usual folder."""
    found = shutil.which("ptxas")
    if found:
        return Path(found)
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if folder and os.access(Path(folder) / "bin" / "ptxas", os.X_OK):
            return Path(folder) / "bin" / "ptxas"
    return None


def assemble(ptx: str, arch: str) -> list[DeviceFunction]:
    """What ptxas says of the functions of a PTX text; nothing where there is no ptxas, or it refuses the text."""
    ptxas = ptxas_path()
    if ptxas is None:
        return []
    with tempfile.TemporaryDirectory(prefix="tilewright-ptx-") as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        command = [str(ptxas), f"-arch={arch}", "-v", "-o", str(Path(folder) / "kernel.cubin"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [] if done.returncode else parse(done.stderr + done.stdout)


def parse(said: str) -> list[DeviceFunction]:
    """The functions in the output of `ptxas -v`."""
    parts = _ENTRY.split(said)[1:]
    functions = []
    for name, arch, rest in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        numbers = {key: int(found[1]) for key, pattern in _NUMBERS.items() if (found := pattern.search(rest))}
        functions.append(DeviceFunction(name, arch, **numbers))
    return functions
