"""How much a call has to do: element operations, by which calls are small or large, and bytes."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from .binding import Bound
from .native import compiler
from .operations import VIEWS
from .program import Program, evaluate, split_sizes

# Element operations below which a call is small: a version for it has loops without threads and small splits.
SMALL_WORK = 32768
_MANY_ITERATIONS = 64  # of a loop: more make no call larger
_NAMES = re.compile(r"[A-Za-z_]\w*")
_LIMITS = re.compile(r" in range\((.*)\)$")


def is_small(program: Program, bound: Bound) -> bool:
    """Whether a call has too little work for threads."""
    return evaluate(work_of(program), bound.sizes) < SMALL_WORK


_told: dict[Program, str] = {}  # by whoever asked another process's compiler


def know_work(program: Program, text: str) -> None:
    """What work_of() has said of the program in another process: this one need not load the compiler for that."""
    if text:
        _told[program] = text


@lru_cache(maxsize=256)
def work_of(program: Program) -> str:
    """A size expression for the element operations of a call. Loops that run inside of their elements count with their
    iterations, where these are known before the call; the iterations of others are calls of kernels, each of which is small
    or large by itself."""
    if told := _told.pop(program, ""):
        return told
    loops = compiler().loops(program.text, {}) if program.has_loops else []
    of_data = {one.name for operation in program.operations for one in operation.results if one.dtype == "size"}
    iterations = [text for loop in loops if (text := _iterations_of(loop)) and of_data.isdisjoint(_NAMES.findall(text))]
    return " * ".join([f"({program.work})" if iterations else program.work, *iterations[:1]])


def _iterations_of(loop: dict[str, Any]) -> str:
    """How often an outermost loop inside of elements runs, as far as that matters; "" for other loops."""
    limits = _LIMITS.search(loop["source"])
    if loop["depth"] or loop["kind"] != "pixelwise" or limits is None:
        return ""
    start, stop, step = split_sizes(limits[1])
    size, first, last = abs(int(step)), *((start, stop) if int(step) > 0 else (stop, start))
    length = last if first == "0" else f"({last}) - ({first})"
    return f"max(1, min({_MANY_ITERATIONS}, {length if size == 1 else f'({length}) // {size}'}))"


def work_condition(program: Program, small: bool, limit: int = SMALL_WORK) -> str:
    """The requirement of a version that was built for small calls, or for large ones."""
    return f"{work_of(program)} {'<' if small else '>='} {limit}"


def moved_bytes(program: Program, bound: Bound) -> int:
    """Of a call: its arguments and results, each once. A kernel that reads them twice moves more."""
    total = sum(array.dtype.itemsize * math.prod(array.shape) for array in bound.arrays.values())
    for result in program.results:
        dtype, shape = program.type_of(result)
        total += math.prod(int(evaluate(extent, bound.sizes)) for extent in shape) * np.dtype(dtype).itemsize
    return total


def is_one_library_call(program: Program) -> bool:
    """A matrix product and nothing else: NumPy's own call to BLAS cannot be beaten by another call to it.

    Of stacks NumPy calls it for one matrix after the other, small ones too: that can be."""
    if "matmul" not in program.text:  # to read all of a long one takes milliseconds
        return False
    work = [value for value in program.values if value.operation not in VIEWS | {"const"}]
    # Of booleans NumPy stops at the first true term, which no schedule of ours does.
    is_product = len(work) == 1 and work[0].operation == "matmul" and len(work[0].shape) == 2
    return is_product and work[0].dtype in ("float32", "float64", "bool")
