"""Python's numbers made of values: float(x), int(x), bool(x), and an array's one element."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..kinds_of_values import LARGEST_INT
from ..symbolic.arrays import SymArray
from ..symbolic.registry import provides
from ..symbolic.run_numbers import RunBool, RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.tracer import Tracer
from .operands import BOOL, FLOAT64, INT64, to_value


def python_scalar_cast(tracer: Tracer, target: type, operand: Any) -> Any:
    """float(x), int(x), bool(x) of numbers that are known at run time."""
    if getattr(operand, "which", None) is not None:
        operand = operand.of_one_kind()  # whichever it is, its value is that
    if isinstance(operand, (SymArray, RunScalar)):
        return number_of_the_run(tracer, target, operand)
    if isinstance(operand, SymInt):
        if target is int:
            return operand
        return operand.as_float() if target is float else bool(operand)
    if isinstance(operand, SymScalar):
        if target is float:
            return operand if type(operand.hint) is float else float(operand.concrete())
        return target(operand.concrete())
    return target(operand)


def _converts_one_element() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            float(np.ones(1))  # type: ignore[arg-type]
        except TypeError:
            return False
        return True


# NumPy before 2.4 takes an array of one element for a number.
ONE_ELEMENT_IS_A_NUMBER = _converts_one_element()


def number_of_the_run(tracer: Tracer, target: type, operand: Any) -> Any:
    """One element of an array, or a number of the run, as a Python number."""
    value = to_value(tracer, operand)
    if value.shape and target is not bool and not ONE_ELEMENT_IS_A_NUMBER:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    for extent in value.shape:
        tracer.require("==", extent, 1, "only length-1 arrays can be converted to Python scalars", TypeError)
    if value.shape:
        value = SymArray.fresh(tracer, value)[(0,) * len(value.shape)].read()
    kind = value.dtype.kind
    if target is bool:
        return RunBool(tracer, tracer.cast(value, BOOL))
    if kind == "c" and isinstance(operand, SymArray) and not operand.kinds:
        raise tracer.error(f"{target.__name__}() of a complex number of NumPy's", "NumPy warns that it drops its imaginary part",
                           "Take .real.")  # fmt: skip
    if kind == "c":
        raise TypeError(f"{target.__name__}() argument must be a string or a real number, not 'complex'")
    if target is float:
        return RunScalar(tracer, tracer.cast(value, FLOAT64), float)
    if isinstance(operand, RunScalar) and operand.is_int:
        return operand
    low, high = -LARGEST_INT, LARGEST_INT
    if kind == "b":
        low, high = 0, 1
    elif kind in "iu" and value.dtype.itemsize < 8:
        low, high = int(np.iinfo(value.dtype).min), int(np.iinfo(value.dtype).max)
    else:
        # NumPy's 64 bits are more than a carried int may have; a float that is no integer's is an error in Python.
        message = "a Python int beyond 64 bits"
        if value.dtype.itemsize > 2:
            # Both ends, since the lowest int64 is its own absolute value.
            tracer.check(tracer.truth("less_equal", value, LARGEST_INT), message)
            if kind != "u":
                tracer.check(tracer.truth("greater_equal", value, -LARGEST_INT), message)
        else:
            tracer.check(tracer.add("isfinite", (value,), {}, BOOL, ()), message)
    return RunScalar(tracer, tracer.cast(value, INT64), int, low, high)


@provides
def item_of(array: SymArray) -> Any:
    """array.item()"""
    kinds = {"b": bool, "i": int, "u": int, "f": float}
    if array.dtype.kind not in kinds:
        raise array.tracer.error(".item() of a complex array", "Python's complex numbers are not followed",
                                 "Use the array's element itself.")  # fmt: skip
    for extent in array.sizes:
        array.tracer.require("==", extent, 1, "can only convert an array of size 1 to a Python scalar", ValueError)
    return number_of_the_run(array.tracer, kinds[array.dtype.kind], array[(0,) * array.ndim] if array.sizes else array)
