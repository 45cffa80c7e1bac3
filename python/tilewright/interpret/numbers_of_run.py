"""Python's functions of numbers (math, round) of numbers that only the running function knows.

NumPy's functions of the same meaning compute them. Where Python raises, NumPy gives no finite number: then NumPy runs the
call, and the function raises as it does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops import apply_ufunc
from ..ops.error_function import erf
from ..ops.operands import to_value
from ..ops.python_numbers import number_of_the_run
from ..ops.stage_rows import Gives
from ..ops.stages import add_stage
from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, FLOAT64
from ..symbolic.run_numbers import RunBool, RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.tracer import Tracer

OF_FLOATS: dict[Any, np.ufunc] = {
    math.sin: np.sin, math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin, math.acos: np.arccos, math.atan: np.arctan,
    math.sinh: np.sinh, math.cosh: np.cosh, math.tanh: np.tanh, math.asinh: np.arcsinh, math.acosh: np.arccosh,
    math.atanh: np.arctanh, math.exp: np.exp, math.expm1: np.expm1, math.log: np.log, math.log2: np.log2,
    math.log10: np.log10, math.log1p: np.log1p, math.sqrt: np.sqrt, math.fabs: np.abs, math.atan2: np.arctan2,
    math.hypot: np.hypot, math.copysign: np.copysign, math.radians: np.radians, math.degrees: np.degrees,
    math.pow: np.power,
}  # fmt: skip
_TRUTHS: dict[Any, np.ufunc] = {math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite}
_TO_INT: dict[Any, np.ufunc] = {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc, round: np.rint}
_BY_PYTHON = (math.erfc,)  # which raises for no float


def of_the_run(tracer: Tracer, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What such a function gives; None where it is another one, or no number is of the run."""
    is_integer = len(args) == 1 and (isinstance(args[0], SymInt) or (is_of_the_run(args[0]) and _is_integer(args[0])))
    if is_integer and any(function is one for one in _TRUTHS):
        return function is math.isfinite  # as all integers are
    if kwargs or not args or not any(map(is_of_the_run, args)) or not all(map(is_number, args)):
        return None
    try:
        known = (
            function in OF_FLOATS
            or function is math.erf
            or function in _TRUTHS
            or function in _TO_INT
            or function in _BY_PYTHON
        )
        known = known or function is operator.index
    except TypeError:  # no hash
        return None
    if not known or tracer.checked is None:
        return None
    if function is operator.index:
        return _integer(tracer, np.trunc, args[0]) if len(args) == 1 and _is_integer(args[0]) else None
    if function in _TO_INT:
        _refuse_number_of_numpys(function, args[0])
        return _integer(tracer, _TO_INT[function], args[0]) if len(args) == 1 else None
    floats = [as_float(tracer, one) for one in args]
    if function is math.erf and len(floats) == 1:
        with tracer.composite("math.erf"):
            return RunScalar(tracer, erf(floats[0]).read(), float)  # which raises for no float
    if function in _BY_PYTHON and len(floats) == 1:
        number = RunScalar(tracer, floats[0].read(), float)
        return add_stage(tracer, f"math.{function.__name__}", function, [number], {}, Gives(FLOAT64, (), float))
    if function in _TRUTHS and len(floats) == 1:
        return RunBool(tracer, apply_ufunc(tracer, _TRUTHS[function], floats).read())
    if function is math.log and len(floats) == 2:  # noqa: PLR2004 - and a base
        parts = [_checked(tracer, function, apply_ufunc(tracer, np.log, [one])) for one in floats]
        return _checked(tracer, function, apply_ufunc(tracer, np.divide, [as_float(tracer, one) for one in parts]))
    ufunc = OF_FLOATS.get(function)
    if ufunc is None or len(floats) != ufunc.nin:
        return None
    return _checked(tracer, function, apply_ufunc(tracer, ufunc, floats))


def _refuse_number_of_numpys(function: Any, number: Any) -> None:
    """What NumPy's numbers have no method for: trunc() of all but float64, which is Python's float, round() of bools and arrays."""
    if not isinstance(number, SymArray) or number.kinds:
        return
    if function is math.trunc:
        has = number.is_scalar and number.dtype == FLOAT64
    elif function is round:
        has = number.is_scalar and number.dtype != BOOL
    else:
        has = True
    if not has:
        owner = f"numpy.{number.dtype.type.__name__}" if number.is_scalar else "numpy.ndarray"
        raise TypeError(f"type {owner} doesn't define __{function.__name__}__ method")


def is_of_the_run(value: Any) -> bool:
    return isinstance(value, RunScalar) or (isinstance(value, SymArray) and not value.sizes)


def is_number(value: Any) -> bool:
    if isinstance(value, SymArray):
        return not value.sizes and value.dtype.kind in "biuf"
    if isinstance(value, SymScalar):
        return type(value.hint) is not complex
    return isinstance(value, (SymInt, bool, int, float, np.bool_, np.integer, np.floating))


def _is_integer(value: Any) -> bool:
    return value.dtype.kind in "iu" if isinstance(value, SymArray) else type(getattr(value, "hint", value)) is int


def as_float(tracer: Tracer, number: Any) -> SymArray:
    held = number.as_float() if isinstance(number, SymInt) else number
    if isinstance(held, SymScalar):
        value = tracer.cast(held.value, FLOAT64)
    elif isinstance(held, SymArray):
        value = tracer.cast(held.read(), FLOAT64)
    else:
        value = tracer.constant(float(held), FLOAT64)
    return SymArray.fresh(tracer, value)


def _checked(tracer: Tracer, function: Any, result: SymArray) -> RunScalar:
    number = RunScalar(tracer, result.read(), float)
    number.check_finite(f"math.{function.__name__}() that is no number")
    return number


def _integer(tracer: Tracer, ufunc: np.ufunc, number: Any) -> Any:
    """Python's integer of a float that is rounded."""
    if isinstance(number, SymInt):
        return number
    value = to_value(tracer, number.of_one_kind() if getattr(number, "kinds", None) else number)
    if value.dtype.kind == "f":
        rounded = apply_ufunc(tracer, ufunc, [SymArray.fresh(tracer, value)])
        finite = tracer.add("isfinite", (rounded.read(),), {}, BOOL, ())
        tracer.check(finite, "an integer of what is no number")
        return number_of_the_run(tracer, int, rounded)
    return number_of_the_run(tracer, int, SymArray.fresh(tracer, value))
