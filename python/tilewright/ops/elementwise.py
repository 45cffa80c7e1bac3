"""Ufuncs: the loop is chosen by NumPy's own resolver, operands are cast to it, shapes are broadcast."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TraceError
from ..operations import COMPARISONS, UFUNCS, with_trait
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import Value
from ..symbolic.number import (
    KINDS,
    Number,
    described,
    later_of,
    number_of_the_call,
    refuse_kinds,
    truth_of_kind,
)
from ..symbolic.operators import check_out
from ..symbolic.refusals import OperandError
from ..symbolic.registry import FUNCTIONS, OPERATIONS, PRODUCTS, provides
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
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
    operand_of,
    resolve_ufunc,
    shape_of,
    to_value,
    weak_type,
    within,
)
from .powers import power_or_root, special_power

_LARGEST_EXACT = 2**53  # of ints: so many are each a double
_ALWAYS_FOR_INTEGERS = {"isnan": False, "isinf": False, "isfinite": True}
_ALONG_ONE_AXIS = (np.vecdot,)  # generalized ufuncs that take axis=
_ANGLES = {
    "degrees": (180.0, math.pi), "rad2deg": (180.0, math.pi), "radians": (math.pi, 180.0), "deg2rad": (math.pi, 180.0),
}  # fmt: skip
_IDENTITY_FOR_INTEGERS = with_trait("keeps_integers")
_REAL_ALONE = with_trait("real_only")


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
        special = special_power(tracer, operands, loop, shape)
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
    if name in ("fmax", "fmin") and not shape and dtype == FLOAT64:
        # Of zeros of both signs NumPy gives the first number; of float32 the second, as the kernel does. In arrays its vectors
        # give now one, now the other.
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
            power = power_or_root(tracer, value, tracer.cast(given, base.dtype), given, value.shape)
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
    if (number := _of_pythons_or_numpys(tracer, ufunc, inputs)) is not None:
        return number
    result = _power_by_operator(tracer, *inputs) if ufunc is np.power else _order_of_complex(tracer, ufunc, inputs)
    if result is None:
        result = apply_ufunc(tracer, ufunc, inputs)
    some = [getattr(x, "kinds", None) for x in inputs]
    if any(some) and all(
        kinds or isinstance(x, (SymInt, SymScalar)) or type(x) in (bool, int, float)
        for x, kinds in zip(inputs, some, strict=True)
    ):
        # Of Python's numbers an operator makes one of Python's; a call of NumPy's function does not.
        kind = {"f": "float", "b": "bool"}.get(result.dtype.kind, "int")
        result.kinds = frozenset({"scalar", kind})
        result.which = later_of(tracer, inputs, kind)
        if kind == "bool" and result.which is not None:
            result.which = truth_of_kind(tracer, result.which)
    left, right = (*inputs, None)[:2]
    if weak_type(left) is complex and isinstance(right, SymArray) and right.is_scalar and right.dtype == FLOAT64:
        # np.float64 is a float: Python's complex number computes with it, and the result is Python's.
        result.kinds = frozenset({"scalar", "complex"})
    return result


def _of_pythons_or_numpys(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any]) -> SymArray | None:
    """Sums, differences, products and comparisons of numbers that data make Python's ints or NumPy's doubles (`total = 0`,
    and `total += x[i]` under a condition), and of ints: in doubles, which ints of up to 2**53 are exactly."""
    compares = ufunc.__name__ in COMPARISONS
    if tracer.checked is None or not (compares or ufunc in (np.add, np.subtract, np.multiply)):
        return None
    mixed = [isinstance(x, SymArray) and "scalar" in x.kinds and x.dtype == FLOAT64 for x in inputs]
    small = [type(x) is int and abs(x) <= _LARGEST_EXACT for x in inputs]
    if not any(mixed) or not all(map(operator.or_, mixed, small)):
        return None
    if any(x.kinds.isdisjoint({"bool", "int"}) for x, is_mixed in zip(inputs, mixed, strict=True) if is_mixed):
        return None  # with a float among them NumPy computes the same with each kind
    which = later_of(tracer, inputs, "int")
    if which is None:
        return None
    values = [to_value(tracer, x.of_one_kind() if isinstance(x, SymArray) else x, FLOAT64) for x in inputs]
    if compares:
        made = SymArray.fresh(tracer, tracer.add(ufunc.__name__, values, {}, BOOL, ()))
        made.kinds, made.which = frozenset({"scalar", "bool"}), truth_of_kind(tracer, which)
        return made
    value = tracer.add(ufunc.__name__, values, {}, FLOAT64, ())
    is_int = tracer.truth("less_equal", which, KINDS.index("int"))
    is_exact = tracer.truth("less_equal", tracer.add("absolute", (value,), {}, FLOAT64, ()), _LARGEST_EXACT)
    is_right = tracer.add("logical_or", (tracer.add("logical_not", (is_int,), {}, BOOL, ()), is_exact), {}, BOOL, ())
    tracer.check(is_right, "a Python int beyond 2**53 as a double")
    if ufunc is np.multiply:  # an int has one zero
        positive = tracer.add("add", (value, tracer.constant(0.0, FLOAT64)), {}, FLOAT64, ())
        value = tracer.add("where", (is_int, positive, value), {}, FLOAT64, ())
    made = SymArray.fresh(tracer, value)
    kinds = {kind for x in inputs for kind in getattr(x, "kinds", None) or {type(x).__name__}}
    made.kinds, made.which = frozenset(kinds - {"bool"} | {"int"}), which
    return made


@provides
def apply_in_place(array: SymArray, ufunc: np.ufunc, other: Any) -> Any:
    """`array op= other`: a new version of the array's memory; NumPy scalars are rebound instead."""
    result = apply_operator(array.tracer, ufunc, (array, other))
    if array.is_scalar:
        return result
    return store_result(array.tracer, ufunc.__name__, result, array)


def common_dtype(*operands: Any) -> np.dtype[Any]:
    """np.result_type with Python numbers weak; a weak number stands as 0, since its value decides nothing."""
    kinds = [weak_type(x) for x in operands]
    return np.result_type(*(kind(0) if kind else dtype_of(x) for x, kind in zip(operands, kinds, strict=True)))


def copied(tracer: Tracer, value: Value) -> Value:
    """The value in new memory."""
    return tracer.add("cast", (value,), {}, value.dtype, value.shape, "copy")
