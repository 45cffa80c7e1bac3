"""Code assembled for devices beforehand, beside the PTX in a module's objects: a first call then waits for no compiler.

`cubins/DIGEST.sm_90.cubin` belongs to the PTX whose SHA-256 begins with DIGEST. It begins with a line that holds that hash and
the one of the rest; the runtime (dsl/runtime/cuda/cubins.cpp) checks both before it hands the code to the driver.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import _face
from ..device_code import arch_of, cubin_of, number_of, ptx_of, ptxas_path
from ..errors import ExportError
from ..machine import is_cuda_isa

FOLDER = "cubins"
_ARCH = re.compile(r"sm_[1-9]\d{1,2}")
_TARGET = re.compile(r"^\.target sm_(\d+)", re.M)
_AT_ONCE = 4


def check_cubins(asked: tuple[str, ...] | None, levels: Iterable[str] = ()) -> None:
    """ExportError for names of no architecture, for those before the CUDA targets among `levels`, and where there is no
    ptxas for those that were asked for."""
    oldest = min((number_of(isa) for isa in levels if is_cuda_isa(isa)), default=0)
    for arch in asked or ():
        if not _ARCH.fullmatch(arch):
            raise ExportError(f"cubins: {arch!r} is not an architecture.", "Write sm_90, sm_80,sm_90, or none.")
        if number_of(arch) < oldest:
            raise ExportError(
                f"cubins for {arch}: the module's code is for compute capability {oldest // 10}.{oldest % 10} and later.",
                f"Leave {arch} out, or add --target cuda-{arch} where that is one.",
            )
    if asked and ptxas_path() is None:
        raise ExportError(
            f"cubins for {', '.join(asked)}: there is no ptxas, which assembles them.",
            "Install CUDA's toolkit (cuda-nvcc), or name ptxas in TILEWRIGHT_PTXAS.",
        )


def write_cubins(folder: Path, objects: Iterable[bytes], asked: tuple[str, ...] | None) -> list[str]:
    """The architectures for which the module carries code: those asked for, else those of the devices that are here, where
    ptxas is. Raises ExportError where ptxas refuses one that was asked for."""
    archs = sorted({arch_of(device) for device in _face.devices()}) if asked is None else list(dict.fromkeys(asked))
    if not archs or ptxas_path() is None:
        return []
    texts = sorted({ptx for code in objects for ptx in ptx_of(code)})
    # Code for later devices does not run on this one.
    jobs = [(ptx, arch) for arch in archs for ptx in texts if _target_of(ptx) <= number_of(arch)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        made = list(pool.map(lambda job: cubin_of(*job), jobs))
    written: list[str] = []
    for (ptx, arch), (code, said) in zip(jobs, made, strict=True):
        if code:
            (folder / FOLDER).mkdir(exist_ok=True)
            (folder / FOLDER / file_name(ptx, arch)).write_bytes(file_bytes(ptx, arch, code))
            written.append(arch)
        elif asked is not None:
            raise ExportError(
                f"cubins for {arch}: ptxas refuses the code: {said.strip()}",
                f"Each ptxas knows the architectures of its time (CUDA 13's those from sm_75 on): name another in "
                f"TILEWRIGHT_PTXAS, or leave {arch} out, whose devices take the PTX.",
            )
    return list(dict.fromkeys(written))


def _target_of(ptx: str) -> int:
    found = _TARGET.search(ptx)
    return int(found[1]) if found else 0


def file_name(ptx: str, arch: str) -> str:
    """Under which the runtime looks for it."""
    return f"{hashlib.sha256(ptx.encode()).hexdigest()[:32]}.{arch}.cubin"


def file_bytes(ptx: str, arch: str, code: bytes) -> bytes:
    """The line of hashes and the code."""
    hashes = f"{hashlib.sha256(ptx.encode()).hexdigest()} {hashlib.sha256(code).hexdigest()}"
    return f"tilewright-cubin 2 {arch} {hashes}\n".encode() + code
