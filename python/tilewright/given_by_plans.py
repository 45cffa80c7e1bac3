"""What a plan would have given, of what the function returned in NumPy: views stand for the arrays that they show, and for the
numbers that say how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .binding import Bound
from .errors import Error
from .program import Program, evaluate
from .structure import paired, seen_of


def given_by_plan(
    traced: Any,
    program: Program,
    result: Any,
    bound: Bound,
    run: Callable[[], Sequence[Any]] | None = None,
) -> list[Any]:
    """One value for each result of the program. bound: the call, from before the function ran. run: what a plan gives for the call, for numbers
    that data decide. Raises Error where NumPy's views tell too little, ValueError for another structure."""
    pairs = [] if traced.results is None else paired(traced.results, result, bound.objects, bound.lengths)
    made = [value for leaf, value in pairs if leaf.view is None]
    views = [(leaf.view, value) for leaf, value in pairs if leaf.view is not None]
    computed: Sequence[Any] = ()
    for position, leaf in enumerate(traced.behind, len(made)):
        if leaf.kind == "argument":
            made.append(bound.values[leaf.argument])
        elif leaf.kind == "int":
            number = _number(program, leaf.name, bound)
            if number is None and run is not None:
                computed = computed or run()
                number = computed[position]
            if number is None:
                raise _unknown(program, "data decide where a view begins or ends")
            made.append(number)
        else:
            made.append(next(value.base for view, value in views if view.of == position))
    if not all(_are_one(seen_of(view, made), value) for view, value in views):
        raise _unknown(program, "its views are of an array that NumPy makes in another way")
    return made


def as_array(value: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A result as an array; of a list of arrays of several shapes, all their elements, one behind the other."""
    try:
        return np.asarray(value, dtype)
    except ValueError:
        return np.concatenate([as_array(one).ravel() for one in value])


def _number(program: Program, name: str, bound: Bound) -> int | None:
    """A number that the sizes of the call decide."""
    if name in bound.scalars:
        return int(bound.scalars[name])
    operation = next(each for each in program.operations if any(value.name == name for value in each.results))
    try:
        return int(evaluate(operation.attributes["size"], bound.sizes))
    except KeyError:
        return None


def _are_one(seen: Any, value: Any) -> bool:
    """Whether both show the same elements of the same memory."""
    mine, theirs = (one.__array_interface__ for one in (seen, value))
    same = all(mine[key] == theirs[key] for key in ("shape", "typestr"))
    return same and (seen.size == 0 or np.array_equal(seen.strides, value.strides) and mine["data"] == theirs["data"])


def _unknown(program: Program, why: str) -> Error:
    return Error(
        f"{program.function}: {why}, so that its results cannot be compared with those of a plan.",
        "Return copies of the views.",
    )
