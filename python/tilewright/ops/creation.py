"""Arrays made inside of the function: zeros, full, arange, linspace, array of items."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.fitting import fitting
from ..symbolic.from_data import MOST_ELEMENTS, is_run_int, size_from_data, value_of_int
from ..symbolic.graph import WHOLE, Slice, Value
from ..symbolic.known import known_value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.number import described
from ..symbolic.registry import provides, rule
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar, int_of, size_of
from ..symbolic.sizes import Size
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc, common_dtype, copied, store_exactly
from .operands import (
    BOOL,
    FLOAT64,
    INT64,
    broadcast,
    check_dtype,
    check_python_float,
    dtype_of,
    filling,
    fits_into,
    full,
    is_bool,
    is_symbolic,
    number_of_numpy,
    operand_of,
    shape_of,
    to_value,
    weak_type,
)
from .shapes import as_array, as_shape, at_least, expand_dims, in_c_order, normalize_axis, refuse_order
from .strides_seen import wants_own_memory

_MOST_ITEMS = 64  # of a list with traced ones: each is copied by itself
_COPY_MODES = {"ALWAYS": True, "IF_NEEDED": None, "NEVER": False}


def sizes_of_shape(tracer: Tracer, shape: Any) -> tuple[Size, ...]:
    if isinstance(shape, SymArray) and len(shape.sizes) == 1:
        shape = tuple(shape)

    def known(part: Any) -> Any:
        if not is_run_int(part):
            return part
        number = known_value(tracer, value_of_int(tracer, part))
        if number is None:
            raise tracer.error("an array whose size is known only at run time", "memory is made before the run",
                               "Make it of the largest size, or leave it out of the compiled function.")  # fmt: skip
        return int(number)

    sizes = as_shape(tuple(map(known, shape)) if isinstance(shape, (tuple, list)) else known(shape))
    for size in sizes:
        tracer.require(">=", size, 0, "negative dimensions are not allowed", ValueError)
    return tuple(tracer.resolve(size) for size in sizes)


def _made(tracer: Tracer, value: Any) -> SymArray:
    return SymArray(tracer, Storage(value, c_order=True))


def _constant_creator(
    fill: int, tracer: Tracer, shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    refuse_order(tracer, "zeros", order)
    kept = FLOAT64 if dtype is None else check_dtype(tracer, dtype)
    return _made(tracer, full(tracer, fill, kept, sizes_of_shape(tracer, shape)))


rule(np.zeros)(partial(_constant_creator, 0))
rule(np.ones)(partial(_constant_creator, 1))
# The contents of np.empty are anything: zeros are as good, and what is not overwritten is at least the same each time.
rule(np.empty)(partial(_constant_creator, 0))


@rule(np.full)
def full_rule(
    tracer: Tracer, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
    like: Any = None,
) -> Any:  # fmt: skip
    refuse_order(tracer, "full", order)
    fill = operand_of(tracer, fill_value)
    kept = dtype_of(fill) if dtype is None else check_dtype(tracer, dtype)
    sizes = sizes_of_shape(tracer, shape)
    value = filling(tracer, fill, kept)
    if not fits_into(tracer, shape_of(fill), sizes):
        raise ValueError("could not broadcast input array")
    return _made(tracer, broadcast(tracer, value, sizes))


def _like(
    fill: int, tracer: Tracer, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    return full_like(tracer, a, fill, dtype, order, subok, shape)


rule(np.zeros_like)(partial(_like, 0))
rule(np.ones_like)(partial(_like, 1))
rule(np.empty_like)(partial(_like, 0))


@rule(np.full_like)
def full_like(
    tracer: Tracer, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Any:  # fmt: skip
    array = as_array(tracer, a)
    kept = array.dtype if dtype is None else check_dtype(tracer, dtype)
    sizes = array.sizes if shape is None else sizes_of_shape(tracer, shape)
    operand = operand_of(tracer, fill_value)
    value = filling(tracer, operand, kept)
    made = SymArray(tracer, Storage(broadcast(tracer, value, tuple(tracer.resolve(s) for s in sizes))))
    made.storage.c_order = order == "C" or (order != "F" and shape is None and array.keeps_order_of_axes())
    return made


def check_fit(tracer: Tracer, array: SymArray, dtype: Any) -> None:
    """Python's numbers in a list must fit into an array of integers that is made of it: where one does not, NumPy raises."""
    target = array.dtype if dtype is None else check_dtype(tracer, dtype)
    if np.can_cast(array.dtype, target) or (target.kind == "f" and array.dtype.kind == "f"):
        return
    if tracer.checked is None or array.dtype.kind not in "iuf" or target.kind not in "iu":
        raise tracer.error(f"an array of {target} of a list of {array.dtype}", "each number must fit, as a Python number",
                           "Make the array first, then use astype.")  # fmt: skip
    value, wanted = array.read(), np.iinfo(target)
    if array.dtype.kind == "f":  # what a float is without its fraction must fit
        of_any = wanted.bits < 64  # noqa: PLR2004 - else the floats around the limits are the limits and beyond
        limits = [("greater" if of_any else "greater_equal", wanted.min - of_any), ("less", wanted.max + 1)]
    else:
        own = np.iinfo(array.dtype)
        limits = [("greater_equal", wanted.min)] if wanted.min > own.min else []
        limits += [("less_equal", wanted.max)] if wanted.max < own.max else []
    for operation, limit in limits:
        truth, axes = tracer.truth(operation, value, limit), list(range(len(value.shape)))
        all_fit = tracer.add("all", (truth,), {"axes": axes}, BOOL, ()) if axes else truth
        tracer.check(all_fit, f"an array of {target} of a list with a number beyond it")


@rule(np.asarray, np.asanyarray)
def asarray(
    tracer: Tracer, a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:  # fmt: skip
    """The array itself where NumPy gives it: its dtype is the one asked for, and so is its layout."""
    if order not in (None, "K", "C", "A"):
        refuse_order(tracer, "asarray", order)
    if copy is False and isinstance(a, (bool, int, float, complex, np.generic, list, tuple, range, SymInt, SymScalar)):
        np.asarray([], copy=False)  # NumPy's own error: it is no array
    array = as_array(tracer, a)
    target = array.dtype if dtype is None else check_dtype(tracer, dtype)
    made_here = array is not a and array.storage.argument is None
    if isinstance(a, (list, tuple)):
        check_fit(tracer, array, dtype)
    if copy is False and (target != array.dtype or array.is_scalar or made_here):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if target != array.dtype:
        return SymArray(tracer, Storage(tracer.cast(array.read(), target), c_order=order == "C"))
    if array.is_scalar:
        return SymArray(tracer, Storage(array.read()))
    if copy and not made_here:
        c_order = order == "C" or array.is_c_contiguous()
        return SymArray(tracer, Storage(copied(tracer, array.read()), c_order=c_order))
    if order != "C" or made_here:
        return array
    if copy is False and not array.is_c_contiguous():
        raise tracer.error('an array of order="C" with copy=False', "whether that needs a copy depends on the layout",
                           "Leave copy=False out.")  # fmt: skip
    return in_c_order(tracer, array)


@rule(np.ascontiguousarray)
def ascontiguousarray(tracer: Tracer, a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return array_rule(tracer, a, dtype, copy=None, order="C", ndmin=1)


@rule(np.require)
def require(tracer: Tracer, a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    wanted = {str(flag).upper() for flag in requirements or ()}
    if wants_own_memory(requirements) and isinstance(a, SymArray) and _is_made_here(a):
        wanted -= {"O", "OWNDATA"}  # what the function made
    if not wanted <= {"C", "C_CONTIGUOUS", "CONTIGUOUS", "E", "ENSUREARRAY", "W", "WRITEABLE"}:
        raise tracer.error(
            f"np.require(requirements={described(requirements)})", "only C-contiguous and writable arrays have a rule"
        )
    array = asarray(tracer, a, dtype, "C" if wanted & {"C", "C_CONTIGUOUS", "CONTIGUOUS"} else None)
    return _writable(tracer, array) if wanted & {"W", "WRITEABLE"} else array


def _is_made_here(array: SymArray) -> bool:
    """Whether a kernel makes its memory, as this very array."""
    storage = array.storage
    is_new = storage.argument is None and storage.value.operation not in ("call", "for", "if")
    return is_new and not (array.chain or storage.part_of or storage.chosen_from)


def _writable(tracer: Tracer, array: SymArray) -> SymArray:
    """The array where it may be written, else a copy."""
    storage = array.storage
    if storage.chosen_from is not None and not array.is_made_read_only():
        raise tracer.error("np.require(requirements='W') of what a loop or a branch chose",
                           "whether it may be written is not known", "Copy it where it is chosen (.copy()).")  # fmt: skip
    if storage.argument is not None:
        tracer.guard_writeable(storage.argument, not storage.read_only)
    if array.is_read_only():
        return SymArray(tracer, Storage(copied(tracer, array.read()), c_order=array.is_c_contiguous()))
    return array


_PLAIN = (type(None), bool, int, float, complex, str, bytes)


@rule(np.array)
def array_rule(
    tracer: Tracer, a: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False,
    ndmin: int = 0, like: Any = None,
) -> Any:  # fmt: skip
    # SciPy's and scikit-learn's `xp.asarray(x, copy=None)` hands on one of these.
    copy = _COPY_MODES.get(copy.name, copy) if isinstance(copy, np._CopyMode) else copy
    if tracer.plain_objects and type(a) in (list, tuple) and dtype is None and not is_symbolic(a):
        made = np.array(a, copy=copy, order=order, ndmin=ndmin)
        if made.dtype == object and all(type(one) in _PLAIN for one in made.flat):  # nothing that a call computes
            tracer.objects_found.add(tracer.location())
            return made
    result = asarray(tracer, a, dtype, order, copy=copy)
    if result.ndim < ndmin:
        result = expand_dims(tracer, result, tuple(range(ndmin - result.ndim)))
    return result


@provides
def array_of_items(tracer: Tracer, items: Any) -> SymArray:
    """np.array of a list that has traced values in it."""
    numbers = _traced_items(items)
    if len(items) > _MOST_ITEMS or numbers > 2 * _MOST_ITEMS:
        tracer.keep_a_loop()
        refusal = tracer.error(f"np.array of {numbers} traced items", "each would be a separate operation",
                               "Compute it with array operations.")  # fmt: skip
        refusal.is_of_items = True
        raise refusal
    if any(type(item) is int and not -(2**63) <= item < 2**64 for item in items):
        raise tracer.error("np.array of an int beyond 64 bits", "NumPy makes it an array of objects", LEAVE_IT_OUT)
    parts = [operand_of(tracer, _of_its_dtype(item)) for item in items]
    return join(tracer, parts)


def _traced_items(items: Any) -> int:
    """How many items lists in lists have, as long as one of them is traced."""
    return sum(_traced_items(item) if type(item) in (list, tuple) and is_symbolic(item) else 1 for item in items)


def _of_its_dtype(item: Any) -> Any:
    """In an array a NumPy number and Python's number of the same dtype are one."""
    same = {"bool": BOOL, "int": INT64, "float": FLOAT64}
    kinds = getattr(item, "kinds", None) or frozenset()
    if len(kinds) == 2 and "scalar" in kinds and isinstance(item, SymArray):
        (number,) = kinds - {"scalar"}
        return item.of_one_kind() if same.get(number) == item.dtype else item
    return item


def join(tracer: Tracer, parts: list[Any], axis: int = 0) -> SymArray:
    """Operands of one shape along a new axis."""
    # np.array takes Python numbers for int64 and float64: nothing is weak in a list.
    dtype = np.result_type(*(dtype_of(part) for part in parts))
    shape = shape_of(parts[0])
    for part in parts[1:]:
        mine = shape_of(part)
        if len(mine) != len(shape):
            raise ValueError("all input arrays must have the same shape")
        for a, b in zip(shape, mine, strict=True):
            tracer.match(a, b, "all input arrays must have the same shape")
    shape = tuple(tracer.resolve(size) for size in shape)
    whole = (*shape[:axis], Size.constant(len(parts)), *shape[axis:])
    value = full(tracer, 0, dtype, whole)
    for k, part in enumerate(parts):
        index: list[Any] = [WHOLE] * len(shape)
        index.insert(axis, Size.constant(k))
        piece = broadcast(tracer, to_value(tracer, part, dtype), shape)
        value = tracer.add("update", (value, piece), {"index": index}, dtype, whole)
    return _made(tracer, value)


@rule(np.stack)
def stack(
    tracer: Tracer, arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    parts: list[Any] = [as_array(tracer, a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to stack")
    axis = normalize_axis(axis, parts[0].ndim + 1)
    if out is None and dtype is None and casting == "same_kind":
        return _laid_as(join(tracer, parts, axis), parts)
    key = (*(slice(None),) * axis, None)
    return concatenate(tracer, [part[key] for part in parts], axis, out, dtype=dtype, casting=casting)


@rule(np.concatenate)
def concatenate(
    tracer: Tracer, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    parts: list[Any] = [as_array(tracer, a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [part.reshape(-1) for part in parts], 0
    if is_bool(axis):
        raise TypeError("an integer is required for the axis")
    rank = parts[0].ndim
    if rank == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, rank)
    kept = common_dtype(*parts) if dtype is None else check_dtype(tracer, dtype)
    if isinstance(out, SymArray):
        kept = out.dtype
        if any(part.storage is out.storage for part in parts):
            raise tracer.error("np.concatenate(out=...) of what it joins", "NumPy writes one part before it reads the next",
                               "Join copies.")  # fmt: skip
    for part in parts:
        if not np.can_cast(part.dtype, kept, casting):
            raise TypeError(f"Cannot cast array data from {part.dtype!r} to {kept!r} according to the rule {casting!r}")
    message = "all the input array dimensions except for the concatenation axis must match exactly"
    total = Size.constant(0)
    shape = list(parts[0].sizes)
    for part in parts:
        if part.ndim != rank:
            raise ValueError(message)
        for k in range(rank):
            if k != axis:
                tracer.match(shape[k], part.sizes[k], message, "dimensions must match exactly")
        total = total + tracer.resolve(part.sizes[axis])
    shape[axis] = total
    whole = tuple(tracer.resolve(size) for size in shape)
    value = full(tracer, 0, kept, whole)
    start = Size.constant(0)
    for part in parts:
        index = [Slice(start if k == axis else Size.constant(0), 1) for k in range(rank)]
        piece_shape = tuple(part.sizes[axis] if k == axis else whole[k] for k in range(rank))
        piece = broadcast(tracer, to_value(tracer, part, kept), piece_shape)
        value = tracer.add("update", (value, piece), {"index": index}, kept, whole)
        start = tracer.resolve(start + part.sizes[axis])
    result = _laid_as(_made(tracer, value), parts)
    return result if out is None else store_exactly(tracer, "concatenate", result, out)


def _laid_as(made: SymArray, parts: Sequence[SymArray]) -> SymArray:
    """New memory, whose axes lie as those of the parts do."""
    made.storage.c_order = all(part.keeps_order_of_axes() for part in parts)
    return made


@rule(np.vstack)
def vstack(tracer: Tracer, tup: Any, **others: Any) -> Any:
    return concatenate(tracer, [at_least(2, tracer, a) for a in tup], 0, **others)


@rule(np.hstack)
def hstack(tracer: Tracer, tup: Any, **others: Any) -> Any:
    parts = [at_least(1, tracer, a) for a in tup]
    return concatenate(tracer, parts, 0 if parts and parts[0].ndim == 1 else 1, **others)


@rule(np.column_stack)
def column_stack(tracer: Tracer, tup: Any) -> Any:
    parts = [as_array(tracer, a) for a in tup]
    return concatenate(tracer, [p[:, None] if p.ndim == 1 else p for p in parts], 1)


def _number(tracer: Tracer, value: Any, what: str) -> Any:
    """A Python number: concrete, or a SymInt."""
    if isinstance(value, SymArray):
        raise tracer.error(f"{what} with a traced array", "the size of the result would depend on its elements",
                           "Pass a size or an integer argument.")  # fmt: skip
    if isinstance(value, SymScalar):
        return value.concrete()
    return value


def _up_to(tracer: Tracer, limits: Sequence[Any], dtype: Any) -> Any:
    """np.arange(n), np.arange(m, n) where only the running function knows n."""
    start = limits[0] if len(limits) == 2 else 0
    if not isinstance(start, (int, SymInt)) and not (is_run_int(start) and isinstance(start, RunScalar)):
        raise tracer.error("np.arange from a traced number", "there is no rule for it")
    stop = value_of_int(tracer, limits[-1])
    length = tracer.add("subtract", (stop, value_of_int(tracer, start)), {}, INT64, ())
    length = tracer.add("maximum", (length, tracer.constant(0)), {}, INT64, ())
    count = SymInt(tracer, size_from_data(tracer, length, "count", Size.constant(0), Size.constant(MOST_ELEMENTS)))
    made = arange(tracer, count, dtype=dtype)
    return made if type(start) is int and start == 0 else apply_ufunc(tracer, np.add, (made, start))


@rule(np.arange)
def arange(tracer: Tracer, *args: Any, dtype: Any = None, **others: Any) -> Any:
    # Which makes floats of integers.
    has_uint64 = any(isinstance(one, SymArray) and one.dtype == np.uint64 for one in args)
    if len(args) in (1, 2) and not others and is_run_int(args[-1]) and not (has_uint64 and dtype is None):
        return _up_to(tracer, args, dtype)
    limits = [_number(tracer, others[k], "arange") for k in ("start", "stop", "step") if k in others]
    values = [_number(tracer, a, "np.arange") for a in args] + limits
    if len(values) == 4:
        dtype = values.pop()
    start, stop, step = (*values, None, None)[:3]
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    for limit in (start, stop, step):
        if isinstance(limit, int) and not -(2**63) <= limit < 2**63:
            raise tracer.error(f"np.arange with {limit}", "a compiled int has 64 bits", "Use floats.")
        if isinstance(limit, SymInt):
            fitting(tracer, limit.size)
    integers = all(isinstance(v, (int, np.integer, SymInt)) for v in (start, stop, step))
    kept = check_dtype(tracer, dtype) if dtype is not None else (INT64 if integers else FLOAT64)
    if integers:
        step = step.__index__()
        if step == 0:
            raise ZeroDivisionError("division by zero")
        length = stop - start if step > 0 else start - stop
        if length < 0:
            extent = Size.constant(0)
        else:
            count = (length + (abs(step) - 1)) // abs(step)
            extent = size_of(count)
    else:
        start, stop, step = (float(v) for v in (start, stop, step))
        extent = Size.constant(max(0, math.ceil((stop - start) / step)))
    steps = tracer.add("iota", (), {"axis": 0}, INT64, (extent,), "arange")
    if kept.kind in "iu" and integers:
        value = SymArray(tracer, Storage(tracer.cast(steps, kept)))
        if step != 1:
            value = apply_ufunc(tracer, np.multiply, (value, kept.type(step)))
        if isinstance(start, SymInt):
            value = apply_ufunc(tracer, np.add, (value, SymArray.fresh(tracer, to_value(tracer, start, kept))))
        elif start != 0:
            value = apply_ufunc(tracer, np.add, (value, kept.type(start)))
        return _made(tracer, value.read())
    if kept.kind != "f":
        raise tracer.error(f"np.arange with dtype={kept} of these limits", "there is no rule for it",
                           "Use an integer or float dtype.")  # fmt: skip
    # NumPy fills start + i * delta, with delta the difference of its first two elements, all in the dtype.
    first = to_value(tracer, start, kept)
    second = to_value(tracer, start + step, kept)
    delta = tracer.add("subtract", (second, first), {}, kept, ())
    scaled = tracer.add("multiply", (tracer.cast(steps, kept), delta), {}, kept, (extent,))
    return _made(tracer, tracer.add("add", (first, scaled), {}, kept, (extent,), "arange"))


def _size_value(tracer: Tracer, size: Size, dtype: np.dtype[Any]) -> Value:
    return to_value(tracer, int_of(tracer, size), dtype)


@rule(np.linspace)
def linspace(
    tracer: Tracer, start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    first, last = (number_of_numpy(tracer, operand_of(tracer, end)) for end in (start, stop))
    if shape_of(first) or shape_of(last) or retstep:
        raise tracer.error("np.linspace between arrays or with retstep=True", "there is no rule for it",
                           "Use scalar limits.")  # fmt: skip
    normalize_axis(axis, 1)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    count = size_of(num)
    with tracer.composite("linspace"):
        kept = np.result_type(common_dtype(first, last), 0.0)
        a, b = to_value(tracer, first, kept), to_value(tracer, last, kept)
        # At least 1: a single element is `start + 0 * delta`, and is none that `stop` takes the place of.
        divisor = tracer.resolve(count - 1 if endpoint else count).maximum(1)
        steps = tracer.add("iota", (), {"axis": 0}, INT64, (count,), "linspace")
        ramp = tracer.cast(steps, kept)
        delta = tracer.add("subtract", (b, a), {}, kept, ())
        step = tracer.add("divide", (delta, _size_value(tracer, divisor, kept)), {}, kept, ())
        # Where the step is too small for a number, NumPy divides by their count before it multiplies by their distance.
        one = tracer.constant(1.0, kept)
        vanishes = tracer.add("equal", (step, tracer.constant(0.0, kept)), {}, BOOL, ())
        part = tracer.add("divide", (one, _size_value(tracer, divisor, kept)), {}, kept, ())
        part = tracer.add("where", (vanishes, part, one), {}, kept, ())
        step = tracer.add("where", (vanishes, delta, step), {}, kept, ())
        ramp = tracer.add("multiply", (ramp, part), {}, kept, (count,))
        scaled = tracer.add("multiply", (ramp, step), {}, kept, (count,))
        value = tracer.add("add", (scaled, a), {}, kept, (count,))
        if endpoint:
            is_last = tracer.add("equal", (steps, _size_value(tracer, divisor, INT64)), {}, BOOL, (count,))
            value = tracer.add("where", (is_last, b, value), {}, kept, (count,))
        target = kept if dtype is None else check_dtype(tracer, dtype)
        if target.kind in "iu":
            value = tracer.add("floor", (value,), {}, kept, (count,))
        return _made(tracer, tracer.cast(value, target))


@rule(np.eye, np.identity)
def eye(
    tracer: Tracer, N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None,
    like: Any = None,
) -> Any:  # fmt: skip
    refuse_order(tracer, "eye", order)
    if isinstance(M, type):  # np.identity(n, dtype)
        M, dtype = None, M
    if not is_run_int(k) and not isinstance(k, SymInt):
        k = operator.index(k)
    rows, columns = sizes_of_shape(tracer, (N, N if M is None else M))
    row = tracer.add("iota", (), {"axis": 0}, INT64, (rows, Size.constant(1)), "eye")
    column = tracer.add("iota", (), {"axis": 1}, INT64, (Size.constant(1), columns), "eye")
    if not isinstance(k, int) or k != 0:
        row = tracer.add("add", (row, to_value(tracer, k, INT64)), {}, INT64, row.shape)
    same = tracer.add("equal", (row, column), {}, BOOL, (rows, columns), "eye")
    return _made(tracer, tracer.cast(same, check_dtype(tracer, dtype)))


def scalar_constructor(tracer: Tracer, scalar_type: type[np.generic], *args: Any) -> Any:
    """np.float32(x): a NumPy scalar of that dtype (or an array, given an array)."""
    dtype = check_dtype(tracer, scalar_type)
    if not args:
        return scalar_type()
    given = args[0]
    if getattr(given, "which", None) is not None and dtype in (FLOAT64, dtype_of(given.of_one_kind())):
        given = given.of_one_kind()  # whichever kind of number it is, none raises or wraps
    if isinstance(given, SymArray) and not given.is_scalar and given.dtype == dtype:
        return given  # NumPy gives the array itself
    operand = operand_of(tracer, given)
    check_python_float(tracer, operand, dtype)
    value = to_value(tracer, operand, dtype) if weak_type(operand) else tracer.cast(to_value(tracer, operand), dtype)
    return SymArray.fresh(tracer, value)
