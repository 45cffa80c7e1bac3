"""The arguments of a program in a file: an .npz that NumPy reads, with the layouts that the arrays had."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..program import Program, ScalarArgument

_STRIDES = ".strides"  # of an array that is neither row-major nor column-major, in bytes; no argument has such a name


def save_arguments(path: Path, program: Program, values: Mapping[str, Any]) -> None:
    """Arrays and numbers by their names in the program. np.load reads what is written."""
    arrays: dict[str, Any] = {}
    for argument in program.arguments:
        if isinstance(argument, ScalarArgument):
            arrays[argument.name] = np.asarray(values[argument.name], argument.dtype)
            continue
        array = np.asarray(values[argument.name])
        arrays[argument.name] = array
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            arrays[argument.name + _STRIDES] = np.asarray(array.strides, np.int64)
    save_arrays(path, arrays)


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """As np.savez does, whose own parameters are names that arguments may have."""
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def load_arguments(path: Path, program: Program) -> dict[str, Any]:
    """New arrays and Python numbers, which a call may change."""
    with np.load(path, allow_pickle=False) as archive:
        found = {name: archive[name] for name in archive.files}
    values: dict[str, Any] = {}
    for argument in program.arguments:
        value = found[argument.name]
        if isinstance(argument, ScalarArgument):
            values[argument.name] = value.item()
        else:
            strides = found.get(argument.name + _STRIDES)
            values[argument.name] = value if strides is None else _with_strides(value, [int(s) for s in strides])
    return values


def _with_strides(array: np.ndarray[Any, Any], strides: list[int]) -> np.ndarray[Any, Any]:
    """The same elements in new memory, with the same gaps and directions."""
    spans = [(n - 1) * s for n, s in zip(array.shape, strides, strict=True)]
    offset = -sum(s for s in spans if s < 0)
    memory = np.zeros(offset + sum(s for s in spans if s > 0) + array.itemsize, np.uint8)
    view: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, memory.data, offset, strides)
    view[...] = array
    return view
