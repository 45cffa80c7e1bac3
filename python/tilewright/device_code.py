"""What kernels need on a device, and what the device does with it: registers, shared memory, spills, occupancy, SASS.

From the driver where there is a device, from ptxas where only that is there. Not done here: making the code (the compiler
writes PTX), running it (the driver assembles it for its device, unless a module carries it assembled).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _face
from .errors import DeviceError

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_NUMBERS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "shared_bytes": re.compile(r"(\d+) bytes smem"),
    "stack_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spilled_bytes": re.compile(r"(\d+) bytes spill stores"),
}
_PTX = re.compile(rb"\.version [0-9.]+\n\.target sm_[^\0]*")
_WARP = 32
_REGISTERS_AT_ONCE, _WARPS_AT_ONCE, _SHARED_AT_ONCE = 256, 4, 128  # how a multiprocessor hands them out


@dataclass(frozen=True)
class Multiprocessor:
    """What the blocks on it share."""

    registers: int = 65536
    threads: int = 2048
    blocks: int = 32
    shared_bytes: int = 228 << 10
    reserved_bytes: int = 1 << 10  # of shared memory, for each block


# CUDA's programming guide, "Technical Specifications per Compute Capability"; a device that is here tells its own.
_MULTIPROCESSORS = {
    "sm_70": Multiprocessor(shared_bytes=96 << 10, reserved_bytes=0),
    "sm_75": Multiprocessor(threads=1024, blocks=16, shared_bytes=64 << 10, reserved_bytes=0),
    "sm_80": Multiprocessor(shared_bytes=164 << 10),
    "sm_86": Multiprocessor(threads=1536, blocks=16, shared_bytes=100 << 10),
    "sm_89": Multiprocessor(threads=1536, blocks=24, shared_bytes=100 << 10),
    "sm_120": Multiprocessor(threads=1536, blocks=24, shared_bytes=100 << 10),
}


def multiprocessor_of(arch: str) -> Multiprocessor:
    """Of the device that is here, if it is of that architecture, else from the table; sm_90's for what is not in it."""
    for device in _face.devices():
        if arch_of(device) == arch:
            return Multiprocessor(
                device["registers_per_multiprocessor"],
                device["max_threads_per_multiprocessor"],
                device["max_blocks_per_multiprocessor"] or 32,
                device["shared_bytes_per_multiprocessor"],
                device["shared_bytes_reserved"],
            )
    return _MULTIPROCESSORS.get(arch, Multiprocessor())


def arch_of(device: dict[str, Any]) -> str:
    """sm_90 for compute capability 9.0."""
    major, minor = device["capability"]
    return f"sm_{major}{minor}"


def number_of(arch: str) -> int:
    """90 for sm_90 and cuda-sm_90. Code runs on devices of this number and of higher ones."""
    return int(arch.rpartition("_")[2])


def suits_devices(isa: str) -> bool:
    """Whether all CUDA devices that are here run code for a target: of none there is nothing to say."""
    return all(number_of(isa) <= number_of(arch_of(device)) for device in _face.devices())


@dataclass(frozen=True)
class Occupancy:
    """The warps that a multiprocessor has under way, of those that it could have, and what keeps them from being more."""

    blocks: int
    share: float
    limit: str  # registers, shared memory, threads, blocks

    def text(self) -> str:
        return f"occupancy {self.share:.0%} ({self.blocks} blocks a multiprocessor, limited by {self.limit})"


def occupancy(registers: int, threads: int, shared_bytes: int, of: Multiprocessor) -> Occupancy:
    """By the rules of CUDA's occupancy calculator."""
    warps = -(-threads // _WARP)
    by_registers = of.registers // _registers_of_a_warp(registers) // _WARPS_AT_ONCE * _WARPS_AT_ONCE // warps
    shared = -(-(shared_bytes + of.reserved_bytes) // _SHARED_AT_ONCE) * _SHARED_AT_ONCE
    limits = {
        "threads": of.threads // (warps * _WARP),
        "registers": by_registers,
        "shared memory": of.shared_bytes // shared if shared else of.blocks,
        "blocks": of.blocks,
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limits[limit] * warps * _WARP / of.threads, limit)


def _registers_of_a_warp(registers: int) -> int:
    return -(-max(registers, 1) * _WARP // _REGISTERS_AT_ONCE) * _REGISTERS_AT_ONCE


@dataclass(frozen=True)
class DeviceFunction:
    """One device function of a kernel's PTX."""

    name: str
    arch: str
    registers: int = 0
    shared_bytes: int = 0  # static
    stack_bytes: int = 0
    spilled_bytes: int | None = None  # the driver does not tell it apart from the stack
    said_by: str = "ptxas"
    on: Multiprocessor = field(default_factory=Multiprocessor)

    @property
    def occupancy(self) -> float:
        """The share of a multiprocessor's warps that its registers leave room for; blocks and shared memory aside, which
        are known when it is launched."""
        return min(1.0, self.on.registers // _registers_of_a_warp(self.registers) * _WARP / self.on.threads)

    def text(self) -> str:
        spills = f", {self.spilled_bytes} bytes spilled" if self.spilled_bytes else ""
        local = f", {self.stack_bytes} bytes of local memory a thread" if self.stack_bytes and not spills else ""
        return (
            f"{self.name} for {self.arch}: {self.registers} registers, {self.shared_bytes} bytes of static shared memory"
            f"{spills}{local}, occupancy by registers {self.occupancy:.0%} (by {self.said_by})"
        )


def functions_of(ptx: str, isa: str) -> tuple[list[DeviceFunction], str]:
    """The functions of a PTX text, and where nobody says what they need, why not."""
    for device in _face.devices():
        arch = arch_of(device)
        try:
            found = _face.function_facts(device["ordinal"], ptx)
        except DeviceError as error:
            return [], str(error)
        of = multiprocessor_of(arch)
        return [
            DeviceFunction(f["name"], arch, f["registers"], f["shared_bytes"], f["local_bytes"], None, "the driver", of)
            for f in found
        ], ""
    arch = isa.removeprefix("cuda-")
    if ptxas_path() is None:
        return [], "registers, shared memory and spills are not known: no device is here, and no ptxas (CUDA's toolkit)"
    code, said = cubin_of(ptx, arch)
    functions = parse(said) if code else []
    return functions, "" if functions else f"ptxas does not assemble it for {arch}"


def ptxas_path() -> Path | None:
    """CUDA's assembler: TILEWRIGHT_PTXAS, or from PATH, CUDA_HOME, the usual folder, or a package that brings it."""
    given = os.environ.get("TILEWRIGHT_PTXAS")
    if given is not None:
        return Path(given) if os.access(given, os.X_OK) else None
    return _tool("ptxas")


def _tool(name: str) -> Path | None:
    found = shutil.which(name)
    if found:
        return Path(found)
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if folder and os.access(Path(folder) / "bin" / name, os.X_OK):
            return Path(folder) / "bin" / name
    return next((file for file in _in_packages(name) if os.access(file, os.X_OK)), None)


def _in_packages(name: str) -> Iterator[Path]:
    """Triton brings the tools, and so do NVIDIA's own packages; nothing is imported."""
    for package, pattern in (("triton", "backends/nvidia/bin"), ("nvidia", "*/bin")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from sorted(Path(folder).glob(f"{pattern}/{name}"))


def ptx_of(code: bytes) -> list[str]:
    """The PTX texts in an object of ours, as the runtime hands them to the driver."""
    return [found.decode() for found in _PTX.findall(code)]


def cubin_of(ptx: str, arch: str) -> tuple[bytes, str]:
    """The assembled code, of what the driver gets for such a device, and what ptxas says of it; no bytes where there is no
    ptxas, or it refuses the text."""
    ptxas = ptxas_path()
    if ptxas is None:
        return b"", "there is no ptxas: not on PATH, in CUDA_HOME or a package (triton), not named by TILEWRIGHT_PTXAS"
    with tempfile.TemporaryDirectory(prefix="tilewright-ptx-") as folder:
        source, made = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(_face.ptx_for(int(re.sub(r"\D", "", arch)), ptx))
        command = [str(ptxas), f"-arch={arch}", "-v", "-o", str(made), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stderr + done.stdout
        return (b"" if done.returncode or not made.exists() else made.read_bytes()), said


def parse(said: str) -> list[DeviceFunction]:
    """The functions in the output of `ptxas -v`."""
    parts = _ENTRY.split(said)[1:]
    functions = []
    for name, arch, rest in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        numbers = {key: int(found[1]) for key, pattern in _NUMBERS.items() if (found := pattern.search(rest))}
        functions.append(DeviceFunction(name, arch, on=multiprocessor_of(arch), **numbers))  # type: ignore[arg-type]
    return functions


def sass_of(ptx: str, arch: str) -> tuple[str, str]:
    """The device's own instructions, and where they cannot be shown, why not."""
    tool = _tool("nvdisasm") or _tool("cuobjdump")
    if tool is None:
        return "", "there is no nvdisasm and no cuobjdump (CUDA's toolkit, package cuda-nvdisasm)"
    code, said = cubin_of(ptx, arch)
    if not code:
        return "", said.strip()
    with tempfile.TemporaryDirectory(prefix="tilewright-sass-") as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(code)
        command = [str(tool), *(["-sass"] if tool.name == "cuobjdump" else []), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout, "") if not done.returncode else ("", f"{tool.name}: {done.stderr.strip()}")
