"""kernels.h and libkernels.a: the C entry of a module, written by the runtime's own archive writer."""

from __future__ import annotations

from pathlib import Path

from ..logs import logger
from ..native import compiler


def write_static_library(folder: Path, name: str, plan_text: str, objects: dict[str, bytes]) -> list[str]:
    """The files written; none where this build has no writer."""
    write = getattr(compiler(), "write_static_library", None)
    if write is None:
        logger.info("%s: this build of tilewright writes no C library", name)
        return []
    write(str(folder), name, plan_text, objects)
    return [file for file in ("kernels.h", "libkernels.a") if (folder / file).exists()]
