"""kernels.h and libkernels.a: the C entry of a module, written by the runtime's own archive writer."""

from __future__ import annotations

from pathlib import Path

from ..logs import logger
from ..native import compiler


def write_static_library(folder: Path, name: str, plan_text: str, objects: dict[str, bytes]) -> list[str]:
    """The files written; none where this build has no writer."""
    native = compiler()
    write = getattr(native, "write_static_library", None)
    runtime = Path(native.__file__).parent / "lib" / "libtilewright_c_runtime.a"
    if write is None or not runtime.exists():
        logger.warning("%s: no C library is written: %s is not there. Install tilewright again.", name, runtime)
        return []
    write(str(folder), name, plan_text, objects)
    return [file for file in ("kernels.h", "libkernels.a") if (folder / file).exists()]
