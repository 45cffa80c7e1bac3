"""Ufuncs: the loop is chosen by NumPy's own resolver, operands are cast to it, shapes are broadcast."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..errors import TraceError
from ..operations import COMPARISONS, UFUNCS, with_trait
from ..symbolic.arrays import Storage, SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.number import LARGEST_INT, Number, described, later_of, number_of_the_call, refuse_kinds
from ..symbolic.operators import check_out
from ..symbolic.refusals import OperandError
from ..symbolic.registry import FUNCTIONS, OPERATIONS, PRODUCTS, provides, rule
from ..symbolic.run_numbers import RunBool, RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from . import composed_ufuncs, under_masks
from .operands import (
    BOOL,
    FLOAT64,
    INT64,
    NO_VALUE,
    broadcast,
    broadcast_shapes,
    check_dtype,
    dtype_of,
    fits_into,
    full,
    number_of_numpy,
    operand_of,
    resolve_ufunc,
    shape_of,
    to_value,
    weak_type,
    within,
)

_ALWAYS_FOR_INTEGERS = {"isnan": False, "isinf": False, "isfinite": True}
# The ufunc behind np.clip has no public name.
_CLIP: np.ufunc = getattr(np, "_core").umath.clip  # noqa: B009
_ALONG_ONE_AXIS = (np.vecdot,)  # generalized ufuncs that take axis=
_ANGLES = {
    "degrees": (180.0, math.pi), "rad2deg": (180.0, math.pi), "radians": (math.pi, 180.0), "deg2rad": (math.pi, 180.0),
}  # fmt: skip
_IDENTITY_FOR_INTEGERS = with_trait("keeps_integers")
_REAL_ALONE = with_trait("real_only")
# Exponents that NumPy treats apart: kinds of dtypes, and what it computes.
_POWERS = {2: ("biufc", "square"), 0.5: ("f", "sqrt"), -1: ("f", "reciprocal"), 1: ("fc", "positive")}


def apply_ufunc(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any], out: Any = None, **others: Any) -> Any:
    """np.<ufunc>(*inputs, ...) on traced values: by its rule, else a stage."""
    before = tracer.made
    try:
        return _by_rule(tracer, ufunc, inputs, out, **others)
    except TraceError as refusal:
        if isinstance(refusal, OperandError):
            raise  # NumPy refuses it too
        tracer.undone.append(range(before, tracer.made))
        named = others if out is None else {**others, "out": out}
        with tracer.no_kernel(refusal):
            staged = OPERATIONS.stage_of(tracer, ufunc, inputs, named)
        if staged is NotImplemented:
            raise
        return staged


def _by_rule(
    tracer: Tracer,
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    out: Any = None,
    dtype: Any = None,
    casting: str = "same_kind",
    where: Any = True,
    **others: Any,
) -> Any:
    if any(isinstance(x, Compressed) for x in inputs):
        if ufunc.signature is not None:
            return OPERATIONS.call_numpy(tracer, ufunc, inputs, {} if out is None else {"out": out})
        if out is not None:
            raise next(x for x in inputs if isinstance(x, Compressed)).refused(f"np.{ufunc.__name__}(out=...)")
        return under_masks.elementwise(
            tracer, f"np.{ufunc.__name__}", inputs,
            lambda whole: apply_ufunc(tracer, ufunc, whole, dtype=dtype, casting=casting, where=where, **others),
        )  # fmt: skip
    if where is not True and where is not NO_VALUE:  # which NumPy's own source hands on, and which is true
        return _under_mask(tracer, ufunc, inputs, out, where, dtype=dtype, casting=casting, **others)
    if ufunc in _ALONG_ONE_AXIS and "axis" in others:
        axis = others.pop("axis")
        if isinstance(axis, (list, tuple, float)):
            raise TypeError(f"'{type(axis).__name__}' object cannot be interpreted as an integer")
        operands = [operand_of(tracer, x) for x in inputs]
        inputs = [FUNCTIONS[np.moveaxis](tracer, x, axis, -1) if isinstance(x, SymArray) else x for x in operands]
    for name, value in others.items():
        if name == "subok" or (name == "order" and value in ("K", "C", "A")):
            continue
        raise tracer.error(f"np.{ufunc.__name__}({name}={described(value)})", "there is no rule for this keyword")
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else out
    if ufunc.signature is not None:
        if dtype is not None or casting != "same_kind":
            inputs = _as_asked(tracer, ufunc, inputs, None if dtype is None else check_dtype(tracer, dtype), casting)
        result = _generalized(tracer, ufunc, inputs)
    elif ufunc is np.divmod and out is None and dtype is None:
        return apply_ufunc(tracer, np.floor_divide, inputs), apply_ufunc(tracer, np.remainder, inputs)
    elif ufunc.nout > 1 and (out is not None or len(inputs) != ufunc.nin):
        raise tracer.error(f"np.{ufunc.__name__}")
    else:
        if len(inputs) != ufunc.nin:
            if len(inputs) == ufunc.nin + ufunc.nout and out is None:
                out, inputs = inputs[-1], inputs[: ufunc.nin]
            else:
                raise TypeError(f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nin + ufunc.nout} "
                                f"positional arguments but {len(inputs)} were given")  # fmt: skip
        operands = [operand_of(tracer, x, any_kind=True) for x in inputs]
        result = _elementwise(tracer, ufunc, operands, None if dtype is None else check_dtype(tracer, dtype), casting)
    if out is None or out is Ellipsis:
        if out is Ellipsis and isinstance(result, SymArray):
            result.is_scalar = False
        return result
    return store_result(tracer, ufunc.__name__, result, out, casting)


def _under_mask(
    tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any], out: Any, where: Any, casting: str, **others: Any
) -> Any:
    """`where=` with `out=`: elements that the mask leaves out keep what `out` held. Without one they keep what was in memory."""
    if out is None and len(inputs) == ufunc.nin + 1:
        out, inputs = inputs[-1], inputs[:-1]
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    mask = operand_of(tracer, where)
    if not isinstance(out, SymArray) or ufunc.nout != 1 or ufunc.signature is not None or dtype_of(mask) != BOOL:
        raise tracer.error(f"np.{ufunc.__name__}(where=...)", "elements that are left out keep what was in memory",
                     "Use np.where.")  # fmt: skip
    result = operand_of(tracer, _by_rule(tracer, ufunc, inputs, casting=casting, **others))
    return store_result(tracer, ufunc.__name__, result, out, casting, to_value(tracer, mask, BOOL))


def store_result(
    tracer: Tracer, name: str, result: Any, out: Any, casting: str = "same_kind", mask: Value | None = None
) -> Any:
    """`out=`: the result, cast, in place of what `out` held, under a mask where there is one."""
    if not isinstance(out, SymArray):
        raise tracer.error(f"np.{name}(out=...) into an array made outside of the trace",
                     "writes to it would be lost", "Make the array inside of the function with np.empty.")  # fmt: skip
    if out.is_scalar:
        raise TypeError("return arrays must be of ArrayType")
    result = operand_of(tracer, result)
    check_out(getattr(np, name, np.add), casting, dtype_of(result), out.dtype)
    value = tracer.cast(to_value(tracer, result), out.dtype)
    if not all(fits_into(tracer, one.shape, out.sizes) for one in (value, mask) if one is not None):
        raise ValueError("non-broadcastable output operand")
    value = broadcast(tracer, value, out.sizes)
    if mask is not None:
        value = tracer.add("where", (broadcast(tracer, mask, out.sizes), value, out.read()), {}, out.dtype, out.sizes)
    out.write(value)
    return out


def store_exactly(tracer: Tracer, name: str, result: Any, out: Any) -> Any:
    """`out=` of what is no ufunc: of the result's own dtype and shape. With other dtypes NumPy computes in those of out."""
    if isinstance(out, SymArray) and not out.is_scalar:
        if out.dtype != dtype_of(result):
            raise tracer.error(f"np.{name}(out=...) of {out.dtype}, where the result is {dtype_of(result)}",
                         "NumPy computes in the dtype of out, or refuses it", "Make it of the result's dtype.")  # fmt: skip
        message = "the output array does not match the result"
        shape = shape_of(result)
        if len(shape) != out.ndim:
            raise ValueError(message)
        for mine, theirs in zip(shape, out.sizes, strict=True):
            tracer.match(mine, theirs, message)
    return store_result(tracer, name, result, out)


def _as_asked(
    tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any], dtype: np.dtype[Any] | None, casting: str
) -> list[SymArray]:
    """The operands of a product, of the dtypes of the loop that dtype= and casting= ask for."""
    operands = [operand_of(tracer, x) for x in inputs]
    loop = resolve_ufunc(ufunc, tuple(weak_type(x) or dtype_of(x) for x in operands), dtype, casting)
    values = [to_value(tracer, x, wanted) for x, wanted in zip(operands, loop, strict=False)]
    return [SymArray.fresh(tracer, value) for value in values]


def _generalized(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    product = PRODUCTS.get(ufunc.__name__)
    if product is None:
        raise tracer.error(f"np.{ufunc.__name__}")
    return product(tracer, *inputs)


def _elementwise(
    tracer: Tracer, ufunc: np.ufunc, operands: list[Any], dtype: np.dtype[Any] | None, casting: str
) -> Any:
    name = "divide" if ufunc is np.true_divide else ufunc.__name__
    if any(getattr(x, "kinds", None) for x in operands):
        return _of_some_kind(tracer, ufunc, operands, dtype, casting)
    kinds = [weak_type(x) for x in operands]
    if all(kind is not None for kind in kinds):
        kinds = [None] * len(kinds)  # Python numbers alone are arrays of their default dtype
    if name.startswith("logical_") and any(
        kind is int and _is_beyond_c(x) for x, kind in zip(operands, kinds, strict=True)
    ):
        raise OverflowError("Python int too large to convert to C long")
    out_of_range = _compare_out_of_range(tracer, name, operands, kinds)
    if out_of_range is not None:
        return out_of_range
    inputs = tuple(kind or dtype_of(x) for x, kind in zip(operands, kinds, strict=True))
    resolved = resolve_ufunc(ufunc, inputs, dtype, casting)
    loop, result_dtype = resolved[: ufunc.nin], resolved[ufunc.nin]
    orders = name in ("maximum", "minimum", "fmax", "fmin", "clip", "sign") or name in COMPARISONS - {
        "equal",
        "not_equal",
    }
    if orders and any(d.kind == "c" for d in loop):
        raise tracer.error(f"np.{name} of complex numbers", "they are not ordered",
                     "Compare their absolute values.")  # fmt: skip
    if result_dtype.kind not in "biufc" or any(d.kind not in "biufc" for d in loop):
        raise tracer.error(f"np.{name} of {', '.join(str(dtype_of(x)) for x in operands)}",
                     f"NumPy computes it in {result_dtype}, which is not compiled in this release")  # fmt: skip
    shape = broadcast_shapes(tracer, [shape_of(x) for x in operands])
    if name in ("power", "float_power"):
        special = _power(tracer, operands, loop, shape)
        if special is not None:
            return SymArray.fresh(tracer, special)
    if name in COMPARISONS and loop[0] != loop[1]:
        # int64 beside uint64: NumPy compares the numbers exactly, in a loop of two dtypes.
        raise tracer.error(f"np.{name} of {loop[0]} and {loop[1]}", "there is no rule for comparing these two exactly",
                     "Convert one of them with astype.")  # fmt: skip
    values = [within(tracer, to_value(tracer, x, d), shape) for x, d in zip(operands, loop, strict=True)]
    formula = composed_ufuncs.formula_of(name, loop[0])
    if formula is not None:
        with tracer.composite(name):
            arrays = [SymArray.fresh(tracer, value) for value in values]
            results = composed_ufuncs.computed(formula, arrays, list(resolved[ufunc.nin :]))
            results = [result if shape else SymArray.fresh(tracer, result.read()) for result in results]  # no array
        return results[0] if ufunc.nout == 1 else tuple(results)
    if ufunc.nout > 1:
        raise tracer.error(f"np.{name}")
    c_order = _is_in_c_order(tracer, operands, shape)
    return SymArray.fresh(tracer, _operation(tracer, name, values, result_dtype, shape), c_order=c_order)


def _is_beyond_c(number: Any) -> bool:
    return isinstance(number, int) and not -(1 << 63) <= number < 1 << 63


def _is_in_c_order(tracer: Tracer, operands: Sequence[Any], shape: Sequence[Any]) -> bool:
    """Whether NumPy's result is C-contiguous for certain: it follows the layout of the operands."""
    arrays = [x for x in operands if isinstance(x, SymArray) and x.sizes]
    return all(x.keeps_order_of_axes() for x in arrays) and any(
        tuple(tracer.resolve(size) for size in x.sizes) == tuple(shape) for x in arrays
    )


def _of_some_kind(
    tracer: Tracer, ufunc: np.ufunc, operands: list[Any], dtype: np.dtype[Any] | None, casting: str
) -> Any:
    """Where the data decide the kind of an operand: one program, if NumPy computes the same with each."""
    types: dict[str, Any] = {"float": float, "int": int, "bool": BOOL, "complex": complex}
    ways: list[tuple[Any, ...]] = [()]
    for x in operands:
        found = getattr(x, "kinds", None)
        mine = [types.get(kind) or dtype_of(x) for kind in sorted(found)] if found else [weak_type(x) or dtype_of(x)]
        ways = [(*way, one) for way in ways for one in mine]
    defaults = {float: FLOAT64, int: INT64}
    ways = [
        tuple(defaults[one] for one in way) if all(one is int or one is float for one in way) else way for way in ways
    ]
    found = {resolve_ufunc(ufunc, way, dtype, casting) for way in ways}
    first = next(x for x in operands if getattr(x, "kinds", None))
    if len(found) > 1:
        refuse_kinds(first, f"np.{ufunc.__name__}")
    (loop,) = found
    for x, wanted in zip(operands, loop, strict=False):
        to_value(tracer, x, wanted)  # which refuses what the program has rounded
    pure = [x.of_one_kind() if getattr(x, "kinds", None) else x for x in operands]
    return _elementwise(tracer, ufunc, pure, dtype, casting)


def _operation(tracer: Tracer, name: str, values: list[Value], dtype: np.dtype[Any], shape: Sequence[Any]) -> Value:
    if name in _ALWAYS_FOR_INTEGERS and values[0].dtype.kind in "biu":
        return full(tracer, _ALWAYS_FOR_INTEGERS[name], BOOL, shape)
    is_kept_of = "biu" if name in _IDENTITY_FOR_INTEGERS else "bu" if name == "absolute" else ""
    if values[0].dtype.kind in is_kept_of:
        return tracer.add("positive" if dtype != BOOL else "cast", values, {}, dtype, shape, name)
    if name == "conjugate" and dtype.kind != "c":
        return tracer.add("positive", values, {}, dtype, shape, name)
    if name in ("fmax", "fmin") and not shape and dtype.kind == "f":
        # Of zeros of both signs NumPy gives the first number. In arrays its vectors give now one, now the other.
        a, b = values
        first = tracer.add("greater_equal" if name == "fmax" else "less_equal", (a, b), {}, BOOL, ())
        first = tracer.add("logical_or", (first, tracer.add("isnan", (b,), {}, BOOL, ())), {}, BOOL, ())
        return tracer.add("where", (first, a, b), {}, dtype, (), name)
    if name in UFUNCS:
        if name in _REAL_ALONE and any(value.dtype.kind == "c" for value in values):
            raise tracer.error(f"np.{name} of complex numbers", "it has a kernel for real ones alone")
        return tracer.add(name, values, {}, dtype, shape, name)
    if name == "clip":
        return clip_values(tracer, values, dtype, shape)
    if name == "fabs":
        return tracer.add("absolute", values, {}, dtype, shape, name)
    if name in _ANGLES:
        # NumPy computes half precision in single.
        kept = np.dtype(np.float32) if dtype == np.float16 else dtype
        numerator, denominator = (kept.type(part) for part in _ANGLES[name])
        factor = tracer.constant(numerator / denominator, kept)
        scaled = tracer.add("multiply", (tracer.cast(values[0], kept), factor), {}, kept, shape, name)
        return tracer.cast(scaled, dtype)
    raise tracer.error(f"np.{name}")


def clip_values(tracer: Tracer, values: list[Value], dtype: np.dtype[Any], shape: Sequence[Any]) -> Value:
    low_shape = broadcast_shapes(tracer, [values[0].shape, values[1].shape])
    # Of equal operands maximum gives the second, of float16 the first. np.clip keeps the element (-0.0 at a bound of 0.0)
    # when both bounds are numbers or it is float16, and gives the bound when one is an array.
    value, lowest, highest = values
    if lowest.shape or highest.shape or dtype == np.float16:
        low = tracer.add("maximum", (value, lowest), {}, dtype, low_shape, "clip")
        return tracer.add("minimum", (low, highest), {}, dtype, shape, "clip")
    low = tracer.add("maximum", (lowest, value), {}, dtype, low_shape, "clip")
    return tracer.add("minimum", (highest, low), {}, dtype, shape, "clip")


_MOST_BYTES_OF_ONE = 2  # of an unsigned base that is the same for all elements: each bit of the exponent is a square


def _power(tracer: Tracer, operands: list[Any], loop: Sequence[np.dtype[Any]], shape: Sequence[Any]) -> Value | None:
    """Exponents that NumPy treats apart, and integers, where a negative exponent is an error."""
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
        return _power_or_root(tracer, to_value(tracer, base, dtype), by, by, shape)
    if dtype.kind == "c" and not (isinstance(number, (int, float)) and abs(number) < 100 and number == int(number)):
        raise tracer.error(
            "np.power of complex numbers", "it has a kernel for whole exponents between -100 and 100 alone"
        )
    return None


def _is_one_number(tracer: Tracer, exponent: Any) -> bool:
    if isinstance(exponent, SymArray):
        return all(tracer.resolve(size) == Size.constant(1) for size in exponent.sizes)
    return isinstance(exponent, SymScalar)


def _power_or_root(tracer: Tracer, base: Value, exponent: Value, given: Value, shape: Sequence[Any]) -> Value:
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


def _power_by_operator(tracer: Tracer, base: Any, exponent: Any) -> SymArray | None:
    """Where ** is not np.power: of arrays of float16 and complex numbers by Python's 0.5, of the latter by Python's -1 too, and
    of NumPy's numbers by any 0.5."""
    if not isinstance(base, SymArray) or base.dtype.kind not in "fc":
        return None
    if base.dtype.kind == "c":
        if base.is_scalar or (kind := weak_type(exponent)) not in (int, float) or isinstance(exponent, np.generic):
            return None
        special, ufunc = (-1, np.reciprocal) if kind is int else (0.5, np.sqrt)
        is_special = number_of_the_call(exponent) == special
        return apply_ufunc(tracer, ufunc, [base]) if is_special else None  # type: ignore[no-any-return]
    if not base.is_scalar:
        if base.dtype.itemsize > 2 or weak_type(exponent) is not float:
            return None
        if isinstance(exponent, SymScalar):
            value, given = base.read(), to_value(tracer, exponent)
            power = _power_or_root(tracer, value, tracer.cast(given, base.dtype), given, value.shape)
            return SymArray.fresh(tracer, power)
        return apply_ufunc(tracer, np.sqrt, [base]) if exponent == 0.5 else None  # type: ignore[no-any-return]
    if not isinstance(exponent, (float, np.floating)) or exponent != 0.5:
        return None
    loop = resolve_ufunc(np.power, (base.dtype, weak_type(exponent) or dtype_of(exponent)), None, "same_kind")
    values = [to_value(tracer, x, loop[0]) for x in (base, exponent)]
    return SymArray.fresh(tracer, tracer.add("power", values, {}, loop[2], (), "power"))


_ORDERS: dict[np.ufunc, np.ufunc] = {
    np.less: np.less, np.less_equal: np.less, np.greater: np.greater, np.greater_equal: np.greater,
}  # fmt: skip


def _is_numpys_scalar(value: Any) -> bool:
    return isinstance(value, np.generic) or (isinstance(value, SymArray) and value.is_scalar)


def _order_of_complex(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any]) -> SymArray | None:
    """`<`, `<=`, `>` and `>=` of NumPy's complex scalars (scalarmath.c.src): the real parts decide unless they are equal.
    Arrays, and scalars of which neither has the common dtype, are compared otherwise where a part is NaN."""
    if ufunc not in _ORDERS or not all(
        _is_numpys_scalar(x) or isinstance(x, (int, float, complex, Number)) for x in inputs
    ):
        return None
    own = [x.dtype for x in inputs if _is_numpys_scalar(x)]
    if all(dtype.kind != "c" for dtype in own):
        return None
    for x in inputs:
        refuse_kinds(x, "the order")  # Python's complex numbers have none
    dtype = common_dtype(*inputs)
    if dtype not in own:
        return None
    if any(isinstance(x, np.bool_) for x in inputs):
        raise tracer.error(f"np.{ufunc.__name__} of a bool and a complex scalar", "which is on the left side decides")
    if isinstance(inputs[0], SymArray) and inputs[0].dtype == BOOL:
        return None
    parts = [SymArray.fresh(tracer, to_value(tracer, x, dtype)) for x in inputs]
    (a, b), (c, d) = ((x.real, x.imag) for x in parts)
    return (a == c) & apply_ufunc(tracer, ufunc, (b, d)) | apply_ufunc(tracer, _ORDERS[ufunc], (a, c))


def _compare_out_of_range(tracer: Tracer, name: str, operands: list[Any], kinds: list[type | None]) -> SymArray | None:
    """NumPy compares an integer array with a Python integer that its dtype cannot hold: all True or all False."""
    if name not in COMPARISONS or int not in kinds:
        return None
    position = kinds.index(int)
    number, other = operands[position], operands[1 - position]
    dtype = dtype_of(other)
    if dtype.kind not in "iu" or isinstance(number, RunScalar):
        return None  # an int of the run is checked to fit
    limits = np.iinfo(dtype)
    if isinstance(number, SymInt):
        above = limits.max < np.iinfo(np.int64).max and tracer.decide(">", number.size, int(limits.max))
        below = limits.min > np.iinfo(np.int64).min and tracer.decide("<", number.size, int(limits.min))
    else:
        above, below = number > limits.max, number < limits.min
    if not (above or below):
        return None
    # As if the array were 0 and the number one beyond it.
    pair = (1, 0) if position == 0 else (0, 1)
    if below:
        pair = (pair[1], pair[0])
    answer = bool(getattr(np, name)(*pair))
    return SymArray.fresh(tracer, full(tracer, answer, BOOL, shape_of(other)))


@provides
def apply_operator(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    if any(isinstance(x, Compressed) for x in inputs) and ufunc.signature is None:
        return under_masks.elementwise(
            tracer, f"np.{ufunc.__name__}", inputs, lambda whole: apply_operator(tracer, ufunc, whole)
        )
    if ufunc is np.power and isinstance(inputs[0], SymArray) and inputs[0].dtype == BOOL and not inputs[0].is_scalar:
        # NumPy's ** is np.square where the exponent is the Python integer 2, which keeps booleans in int8.
        exponent = inputs[1].__index__() if isinstance(inputs[1], SymInt) else inputs[1]
        if type(exponent) is int and exponent == 2:
            return apply_ufunc(tracer, np.square, inputs[:1])
    result = _power_by_operator(tracer, *inputs) if ufunc is np.power else _order_of_complex(tracer, ufunc, inputs)
    if result is None:
        result = apply_ufunc(tracer, ufunc, inputs)
    some = [getattr(x, "kinds", None) for x in inputs]
    if any(some) and all(
        kinds or isinstance(x, (SymInt, SymScalar)) or type(x) in (bool, int, float)
        for x, kinds in zip(inputs, some, strict=True)
    ):
        # Of Python's numbers an operator makes one of Python's; a call of NumPy's function does not.
        number = {"f": "float", "b": "bool"}.get(result.dtype.kind, "int")
        result.kinds = frozenset({"scalar", number})
        result.which = later_of(tracer, inputs, number)
    left, right = (*inputs, None)[:2]
    if weak_type(left) is complex and isinstance(right, SymArray) and right.is_scalar and right.dtype == FLOAT64:
        # np.float64 is a float: Python's complex number computes with it, and the result is Python's.
        result.kinds = frozenset({"scalar", "complex"})
    return result


@provides
def apply_in_place(array: SymArray, ufunc: np.ufunc, other: Any) -> Any:
    """`array op= other`: a new version of the array's memory; NumPy scalars are rebound instead."""
    result = apply_operator(array.tracer, ufunc, (array, other))
    if array.is_scalar:
        return result
    return store_result(array.tracer, ufunc.__name__, result, array)


@rule(np.where)
def where(tracer: Tracer, condition: Any, *choices: Any) -> Any:
    if not choices:
        return FUNCTIONS[np.nonzero](tracer, condition)
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    test = operand_of(tracer, condition)
    x, y = (operand_of(tracer, choice) for choice in choices)
    dtype = common_dtype(x, y)
    shape = broadcast_shapes(tracer, [shape_of(test), shape_of(x), shape_of(y)])
    values = [to_value(tracer, test, BOOL), _converted(tracer, x, dtype), _converted(tracer, y, dtype)]
    values = [within(tracer, value, shape) for value in values]
    # np.where returns an array, 0-d too.
    return SymArray.fresh(tracer, tracer.add("where", values, {}, dtype, shape), is_scalar=False)


def _converted(tracer: Tracer, operand: Any, dtype: np.dtype[Any]) -> Value:
    """The operand as np.where takes it: in some versions of NumPy a Python integer becomes an int64 first, and wraps."""
    if dtype.kind in "iu" and weak_type(operand) is int and _where_wraps():
        limits = np.iinfo(dtype)
        fits = isinstance(operand, int) and limits.min <= operand <= limits.max
        return to_value(tracer, operand, dtype) if fits else tracer.cast(to_value(tracer, operand), dtype)
    return to_value(tracer, operand, dtype)


@lru_cache(maxsize=1)
def _where_wraps() -> bool:
    try:
        np.where(True, np.uint8(0), 256)
    except OverflowError:
        return False
    return True


def common_dtype(*operands: Any) -> np.dtype[Any]:
    """np.result_type with Python numbers weak; a weak number stands as 0, since its value decides nothing."""
    kinds = [weak_type(x) for x in operands]
    return np.result_type(*(kind(0) if kind else dtype_of(x) for x, kind in zip(operands, kinds, strict=True)))


@rule(np.clip)
def clip(
    tracer: Tracer, a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Any = None, *,
    min: Any = NO_VALUE, max: Any = NO_VALUE, **others: Any,
) -> Any:  # fmt: skip
    low: Any
    high: Any
    if a_min is NO_VALUE and a_max is NO_VALUE:
        low, high = (None if bound is NO_VALUE else bound for bound in (min, max))
    elif a_min is NO_VALUE or a_max is NO_VALUE:
        missing = "a_min" if a_min is NO_VALUE else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    elif min is not NO_VALUE or max is not NO_VALUE:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    else:
        low, high = a_min, a_max
    array = number_of_numpy(tracer, operand_of(tracer, a))
    if weak_type(array):  # becomes an array first, with a dtype that does not adapt to the bounds
        array = SymArray.fresh(tracer, to_value(tracer, array))
    dtype = dtype_of(array)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low = None if type(low) in (int, SymInt) and low <= int(limits.min) else low
        # An int of the run has 64 bits: it is below the largest uint64.
        comparable = type(high) is int or (type(high) is SymInt and dtype != np.uint64)
        high = None if comparable and high >= int(limits.max) else high
    by_one = np.minimum if low is None else np.maximum
    bounds = [bound for bound in (low, high) if bound is not None]
    with tracer.composite("clip"):
        return apply_ufunc(tracer, (np.positive, by_one, _CLIP)[len(bounds)], (array, *bounds), out, **others)


def _finite(tracer: Tracer, value: Value, nan: Any, posinf: Any, neginf: Any) -> Value:
    """Real values with NaN and infinities replaced."""
    dtype, limits = value.dtype, np.finfo(value.dtype)
    inf = tracer.constant(math.inf, dtype)
    minus_inf = tracer.constant(-math.inf, dtype)
    replacements = [
        (tracer.add("isnan", (value,), {}, BOOL, value.shape), nan),
        (tracer.add("equal", (value, inf), {}, BOOL, value.shape), limits.max if posinf is None else posinf),
        (tracer.add("equal", (value, minus_inf), {}, BOOL, value.shape), limits.min if neginf is None else neginf),
    ]
    result = value
    for test, replacement in replacements:
        operand = operand_of(tracer, replacement)
        if weak_type(operand) is None and not np.can_cast(dtype_of(operand), dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast scalar from {dtype_of(operand)!r} to {dtype!r} according to the rule 'same_kind'"
            )
        if not fits_into(tracer, shape_of(operand), value.shape):
            raise ValueError("could not broadcast input array")
        chosen = within(tracer, to_value(tracer, operand, dtype), value.shape)
        result = tracer.add("where", (test, chosen, result), {}, dtype, value.shape, "nan_to_num")
    return result


@rule(np.nan_to_num)
def nan_to_num(
    tracer: Tracer, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    array = operand_of(tracer, x)
    dtype = dtype_of(array)
    value = to_value(tracer, array)
    if dtype.kind == "f":
        value = _finite(tracer, value, nan, posinf, neginf)
    elif dtype.kind == "c":
        real = np.dtype(f"f{dtype.itemsize // 2}")
        parts = [tracer.add(part, (value,), {}, real, value.shape) for part in ("real", "imag")]
        parts = [_finite(tracer, part, nan, posinf, neginf) for part in parts]
        value = tracer.add("complex", parts, {}, dtype, value.shape, "nan_to_num")
    if not copy and isinstance(x, SymArray):
        x.write(value)
        return x
    return SymArray(tracer, Storage(copied(tracer, value)), is_scalar=not value.shape)


def copied(tracer: Tracer, value: Value) -> Value:
    """The value in new memory."""
    return tracer.add("cast", (value,), {}, value.dtype, value.shape, "copy")


def _is_infinite(infinity: float, tracer: Tracer, x: Any, out: Any = None) -> Any:
    number = number_of_numpy(tracer, x)
    if (dtype := dtype_of(operand_of(tracer, number))).kind == "c":
        raise TypeError(f"This operation is not supported for {dtype} values because it would be ambiguous.")
    return apply_ufunc(tracer, np.equal, (number, infinity), out)


rule(np.isposinf)(partial(_is_infinite, math.inf))
rule(np.isneginf)(partial(_is_infinite, -math.inf))


@rule(np.isclose)
def isclose(tracer: Tracer, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    for tolerance in (rtol, atol):
        if isinstance(tolerance, (int, float)) and not math.isfinite(tolerance):
            raise tracer.error("np.isclose()", "NumPy warns of a tolerance that is not finite", LEAVE_IT_OUT)
        elif (
            isinstance(tolerance, (SymScalar, SymArray)) and not shape_of(tolerance) and dtype_of(tolerance).kind == "f"
        ):
            is_finite = apply_ufunc(tracer, np.isfinite, (tolerance,))
            tracer.check(to_value(tracer, is_finite, BOOL), "a tolerance that is not finite")
    with tracer.composite("isclose"):
        # Python's integers become Python's floats, which leave the other side its dtype.
        x, y = operand_of(tracer, a), operand_of(tracer, float(b) if isinstance(b, int) else b)
        if weak_type(y) is int:
            y = y * 1.0
        elif weak_type(y) is None and dtype_of(y).kind != "f":
            y = SymArray.fresh(tracer, to_value(tracer, y, np.result_type(dtype_of(y), 1.0)))
        limit = atol + rtol * abs(y)
        near = apply_ufunc(tracer, np.less_equal, (apply_ufunc(tracer, np.absolute, (x - y,)), limit))
        result = (near & apply_ufunc(tracer, np.isfinite, (y,))) | apply_ufunc(tracer, np.equal, (x, y))
        if equal_nan:
            result = result | (apply_ufunc(tracer, np.isnan, (x,)) & apply_ufunc(tracer, np.isnan, (y,)))
        return result


def _part(name: str, tracer: Tracer, val: Any) -> Any:
    """As NumPy has it: the attribute of what has one, else that of the array which it becomes."""
    refuse_kinds(val, f".{name}")
    if isinstance(val, (np.generic, bool, int, float, complex)):
        return getattr(val, name)
    if isinstance(val, np.ndarray) and not val.ndim:
        number = operand_of(tracer, getattr(val, name))
        return SymArray.fresh(tracer, to_value(tracer, number), is_scalar=False)
    return getattr(operand_of(tracer, val), name)


rule(np.real)(partial(_part, "real"))
rule(np.imag)(partial(_part, "imag"))


@rule(np.angle)
def angle(tracer: Tracer, z: Any, deg: bool = False) -> Any:
    array = number_of_numpy(tracer, operand_of(tracer, z))
    with tracer.composite("angle"):
        parts = (array.imag, array.real) if dtype_of(array).kind == "c" else (0, array)
        result = apply_ufunc(tracer, np.arctan2, parts)
        return result * (180 / math.pi) if deg else result


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
