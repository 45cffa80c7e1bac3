"""np.power: exponents that NumPy treats apart, and those that are errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.graph import Value
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .operands import BOOL, dtype_of, full, to_value

# Exponents that NumPy treats apart: kinds of dtypes, and what it computes.
_POWERS = {2: ("biufc", "square"), 0.5: ("f", "sqrt"), -1: ("f", "reciprocal"), 1: ("fc", "positive")}
_MOST_BYTES_OF_ONE = 2  # of an unsigned base that is the same for all elements: each bit of the exponent is a square


def special_power(
    tracer: Tracer, operands: list[Any], loop: Sequence[np.dtype[Any]], shape: Sequence[Any]
) -> Value | None:
    """By exponents that NumPy treats apart; None for others. Integers: a negative exponent is an error."""
    base, exponent = operands
    dtype = loop[0]
    number = exponent.item() if isinstance(exponent, np.generic) else exponent
    if dtype.kind == "i":
        message = "Integers to negative integer powers are not allowed."
        if isinstance(exponent, SymInt):
            tracer.require(">=", exponent.size, 0, message, ValueError)
        elif isinstance(number, int):
            if number < 0:
                raise ValueError(message)
        elif dtype_of(exponent).kind in "bi":
            raise tracer.error(f"np.power of {dtype} with an array of {dtype_of(exponent)} as exponent",
                         "a negative exponent is an error that depends on the elements",
                         "Use a scalar or an unsigned exponent, or floats.")  # fmt: skip
    is_known = isinstance(number, (int, float)) and not isinstance(number, bool)
    is_of_one = isinstance(base, SymArray) and _is_one_number(tracer, base)
    if dtype.kind == "u" and dtype.itemsize > _MOST_BYTES_OF_ONE and is_of_one and not is_known:
        raise tracer.error(
            f"np.power of one number of {dtype}",
            "the bounds of its squares, one for each bit of the exponent, take the compiler for ever",
        )
    if is_known:
        value = to_value(tracer, base, dtype)
        kinds, operation = _POWERS.get(number, ("", ""))
        # np.power has a root for 0.5 in its loops, but for that of float16.
        if dtype.kind in kinds and (operation != "sqrt" or dtype.itemsize > 2):
            return tracer.add(operation, (value,), {}, dtype, shape, "power")
        if dtype.kind == "f" and number == 0:
            return full(tracer, 1, dtype, shape)
    elif dtype.kind == "f" and dtype.itemsize > 2 and _is_one_number(tracer, exponent):
        by = to_value(tracer, exponent, dtype)
        return power_or_root(tracer, to_value(tracer, base, dtype), by, by, shape)
    if dtype.kind == "c" and not (isinstance(number, (int, float)) and abs(number) < 100 and number == int(number)):
        raise tracer.error(
            "np.power of complex numbers", "it has a kernel for whole exponents between -100 and 100 alone"
        )
    return None


def _is_one_number(tracer: Tracer, exponent: Any) -> bool:
    if isinstance(exponent, SymArray):
        return all(tracer.resolve(size) == Size.constant(1) for size in exponent.sizes)
    return isinstance(exponent, SymScalar)


def power_or_root(tracer: Tracer, base: Value, exponent: Value, given: Value, shape: Sequence[Any]) -> Value:
    """The power by one number for all elements, which the call brings: NumPy takes the root if that (`given`) is 0.5, which
    differs from the power for -0.0 and minus infinity."""
    dtype = base.dtype

    def add(operation: str, *values: Value, of: Sequence[Any] = base.shape, to: np.dtype[Any] = BOOL) -> Value:
        return tracer.add(operation, values, {}, to, of)

    low, zero = (tracer.constant(dtype.type(number), dtype) for number in (-np.inf, 0.0))
    half = tracer.constant(given.dtype.type(0.5), given.dtype)
    differs = add("logical_or", add("equal", base, low), add("equal", base, zero))
    takes_root = add("logical_and", differs, add("equal", given, half, of=given.shape), of=shape)
    power = tracer.add("power", (base, exponent), {}, dtype, shape, "power")
    return add("where", takes_root, add("sqrt", base, to=dtype), power, of=shape, to=dtype)
