"""What NumPy calls mean in a program: one rule a function, found by the function itself."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TraceError
from ..pure_functions import is_decided_by_data
from ..symbolic.number import described
from ..symbolic.refusals import OperandError
from ..symbolic.registry import FUNCTIONS, provides, signature
from ..symbolic.tracer import Tracer
from . import (  # noqa: F401  (each fills the registry)
    as_loops,
    callees,
    composites,
    converters,
    counts,
    creation,
    diagonals,
    einsum,
    elementwise,
    flat_positions,
    functions_of_elements,
    indexing,
    joined_blocks,
    joint_counts,
    layouts,
    libm,
    linalg,
    moved,
    order,
    padding,
    parts,
    reductions,
    scatters,
    selections,
    sets,
    shapes,
    stages,
    trimmed,
)
from .creation import check_fit, scalar_constructor
from .elementwise import apply_ufunc
from .operands import is_symbolic
from .python_numbers import python_scalar_cast
from .seen_stages import seen_stage
from .stage_rows import ROWS, SOURCE_FIRST


@provides
def call_numpy(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A NumPy function on traced values: its rule, else NumPy's own Python source, else a stage."""
    if args and hasattr(args[0], "as_array"):  # a range, or a list that a loop of the run fills
        array = args[0].as_array()
        if not kwargs and len(args) == 1:
            if function is np.stack or (function is np.vstack and array.ndim == 2):
                return array
            if function in (np.concatenate, np.hstack) and array.ndim == 2:
                return array.reshape(-1)
        if function in (np.array, np.asarray, np.asanyarray):
            if kwargs.get("copy") is False:
                np.asarray([], copy=False)  # NumPy's own error: a list is no array
            check_fit(tracer, array, kwargs.get("dtype", args[1] if len(args) > 1 else None))
        args = (array, *args[1:])
    before = tracer.made
    try:
        return _call_traced(tracer, function, args, kwargs)
    except TraceError as refusal:
        if isinstance(refusal, OperandError):
            raise  # NumPy refuses it too
        tracer.undone.append(range(before, tracer.made))
        with tracer.no_kernel(refusal):
            if selections.first_of((*args, *kwargs.values())) is not None:
                kept = {key: stages.materialized(value) for key, value in kwargs.items()}
                return call_numpy(tracer, function, stages.materialized(list(args)), kept)
            staged = stages.stage_of(tracer, function, args, kwargs)
        if staged is NotImplemented and is_decided_by_data(function) and tracer.untaken is None:
            return seen_stage(tracer, function, args, kwargs)
        if staged is NotImplemented:
            raise
        return staged


def _call_traced(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if selections.first_of((*args, *kwargs.values())) is not None:
        return selections.call(tracer, function, args, kwargs)
    handler = FUNCTIONS.get(function)
    if handler is not None:
        try:
            bound = signature(handler).bind(tracer, *args, **kwargs)
        except TypeError as error:
            raise tracer.error(
                f"np.{function.__name__} called with {_call_text(args, kwargs)}",
                f"its rule does not take this ({error})",
                "Leave the keyword out, or leave the call out of the compiled function.",
            ) from None
        return handler(*bound.args, **bound.kwargs)
    if isinstance(function, np.ufunc):
        return apply_ufunc(tracer, function, args, **kwargs)
    composite = getattr(function, "__wrapped__", function)
    following = tracer.cache.setdefault("following", set())
    by_source = function in SOURCE_FIRST or tracer.untaken is not None
    has_row = function in ROWS and not by_source
    if has_row or not isinstance(composite, types.FunctionType) or composite in following:
        # np.f that calls the method f of the array, which is np.f again.
        raise no_rule(tracer, function)  # C code would make an array of objects of what stands for numbers
    if tracer.follow is not None:
        following.add(composite)
        try:
            with tracer.composite(function.__name__):
                return tracer.follow(composite, list(args), kwargs)
        except Exception as error:
            # What is raised inside of NumPy's source may come of ours not being real arrays; NumPy itself will tell.
            if tracer.composites:
                raise
            raise no_rule(tracer, function) from error
        finally:
            following.discard(composite)
    raise no_rule(tracer, function)


def no_rule(tracer: Tracer, function: Any) -> Exception:
    module = getattr(function, "__module__", "") or "numpy"
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    name = f"{public.replace('numpy', 'np', 1)}.{getattr(function, '__name__', function)}"
    return tracer.error(f"{name}()", "no kernel computes this NumPy function")


def _call_text(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    return ", ".join([described(a) for a in args] + [f"{k}={described(v)}" for k, v in kwargs.items()])


@provides
def call_ufunc_method(
    tracer: Tracer, ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """__array_ufunc__: np.add(x, y), np.add.reduce(x), np.add.outer(x, y)."""
    if method == "__call__":
        return apply_ufunc(tracer, ufunc, inputs, **kwargs)
    if method == "reduce":
        return reductions.reduce_ufunc(tracer, ufunc, inputs, kwargs)
    if method == "outer":
        a, b = (shapes.as_array(tracer, x) for x in inputs)
        return apply_ufunc(tracer, ufunc, (a[(..., *(None,) * b.ndim)], b), **kwargs)
    refusal = tracer.error(f"np.{ufunc.__name__}.{method}")
    if method == "accumulate":
        before = tracer.made
        try:
            return as_loops.accumulate(tracer, ufunc, *inputs, **kwargs)
        except TraceError as error:
            tracer.undone.append(range(before, tracer.made))
            refusal = error
    if method == "at" and not kwargs and len(inputs) == 3 and scatters.changed_at(tracer, ufunc, *inputs):
        return None
    with tracer.no_kernel(refusal):
        staged = stages.stage_of(tracer, getattr(ufunc, method), inputs, kwargs)
    if staged is NotImplemented:
        raise refusal
    return staged


__all__ = ["apply_ufunc", "call_numpy", "is_symbolic", "python_scalar_cast", "scalar_constructor"]
