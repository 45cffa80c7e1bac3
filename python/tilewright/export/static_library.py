"""kernels.h and libkernels.a: the C entry of a module, written by the extension."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..logs import logger
from ..native import compiler
from ..program import Program

_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def c_names(functions: Sequence[tuple[str, list[Program]]]) -> list[str]:
    """A C function for each signature of each function: the first has the function's name, the others say their dtypes:
    labels_f32_f32."""
    names: list[str] = []
    for name, programs in functions:
        for number, program in enumerate(programs):
            words = [_short(argument.dtype) for argument in program.arguments]
            stem = "_".join([name, *words]) if number else name
            made, count = stem, 2
            while made in names or f"{made}_cuda" in names or made in {f"{known}_cuda" for known in names}:
                made, count = f"{stem}_{count}", count + 1
            names.append(made)
    return names


def _short(dtype: str) -> str:
    """float32 -> f32"""
    kind = dtype.rstrip("0123456789")
    return f"{_SHORT.get(kind, kind)}{dtype[len(kind) :]}"


def write_static_library(
    folder: Path, functions: list[tuple[str, str]], objects: dict[str, bytes], left_out: list[str]
) -> None:
    """Functions are given as name and plan; nothing is written where the runtime for C is not installed. `left_out`: what the
    header says of signatures without a function."""
    native = compiler()
    runtime = Path(native.__file__).parent / "lib" / "tilewright_c_runtime.o"
    if runtime.exists():
        native.write_static_library(str(folder), functions, objects)
        with open(folder / "kernels.h", "a", encoding="utf-8") as header:
            for line in left_out:
                header.write(f"\n/* {line.replace('*/', '* /')} */\n")
    else:
        logger.warning(
            "%s: no C library is written: %s is not there. Install tilewright again.", functions[0][0], runtime
        )
