"""NumPy calls on what a boolean mask picks out: elementwise they stay under the mask, reductions go over the whole array.

What lies under false is computed too, and takes no part: a reduction has its identity there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.compressed import AtPlaces, Compressed, Places
from ..symbolic.graph import NEWAXIS, WHOLE, Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.number import described
from ..symbolic.refusals import WrittenSelection
from ..symbolic.registry import FUNCTIONS, OPERATIONS, provides, rule, signature
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from . import linalg, reductions
from .elementwise import apply_ufunc, store_result
from .operands import BOOL, INT64, broadcast, check_python_float, chosen, dtype_of, operand_of, shape_of, to_value
from .reductions import SomeChosen, keep_dims
from .shapes import normalize_axes, written_out
from .under_masks import elementwise

# Element by element, whatever their NumPy source makes of it.
_ELEMENTWISE = frozenset(
    [np.where, np.clip, np.nan_to_num, np.isposinf, np.isneginf, np.isclose, np.real, np.imag, np.angle, np.round,
     np.around, np.copy, np.astype]
)  # fmt: skip
_EXTREMES = {np.max: "maximum", np.amax: "maximum", np.min: "minimum", np.amin: "minimum"}
_REDUCING = frozenset([np.sum, np.prod, np.any, np.all, np.mean, np.var, np.std, *_EXTREMES])


def first_of(operands: Iterable[Any]) -> Compressed | None:
    """The first operand that a mask picks out, looking into lists and tuples."""
    for x in operands:
        found = x if isinstance(x, Compressed) else first_of(x) if isinstance(x, (list, tuple)) else None
        if found is not None:
            return found
    return None


def call(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A NumPy function with an argument that a mask picked out."""
    selection = first_of((*args, *kwargs.values()))
    assert selection is not None
    name = f"np.{getattr(function, '__name__', function)}"
    if isinstance(function, np.ufunc) and function.signature is None:
        return apply_ufunc(tracer, function, args, **kwargs)
    if function in (np.shape, np.ndim, np.size) and len(args) == 1 and not kwargs:
        return getattr(selection, function.__name__)
    if function in _ELEMENTWISE and kwargs.get("out") is None:
        return _lifted(tracer, function, name, args, kwargs)
    if function in _REDUCING:
        return _reduced(tracer, function, name, args, kwargs)
    if function is np.ptp and "out" not in kwargs:
        high, low = (_reduced(tracer, extreme, name, args, kwargs) for extreme in (np.max, np.min))
        return high - low
    if function is np.count_nonzero:
        return _counted(tracer, name, *args, **kwargs)
    if function is np.average and kwargs.get("weights") is None and len(args) <= 2 and not kwargs.get("returned"):
        kept = {key: value for key, value in kwargs.items() if key not in ("weights", "returned")}
        return _reduced(tracer, np.mean, name, args, kept)
    if function is np.linalg.norm:
        return _norm(tracer, name, *args, **kwargs)
    if function in (np.dot, np.matmul, np.inner, np.vdot, np.vecdot) and len(args) == 2 and not kwargs:
        return _product(tracer, function, name, args)
    raise selection.refused(name)


def _lifted(tracer: Tracer, function: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of arrays that works element by element, on the whole arrays."""
    keys = list(kwargs)
    arrays = [x for x in (*args, *kwargs.values())]
    # What is no operand (a dtype, None, a string) goes through as it is.
    is_operand = [isinstance(x, (Compressed, SymArray, np.ndarray)) for x in arrays]

    def apply(whole: list[Any]) -> Any:
        given = iter(whole)
        every = [next(given) if operand else x for x, operand in zip(arrays, is_operand, strict=True)]
        positional, named = every[: len(args)], every[len(args) :]
        return OPERATIONS.call_numpy(tracer, function, positional, dict(zip(keys, named, strict=True)))

    return elementwise(tracer, name, [x for x, operand in zip(arrays, is_operand, strict=True) if operand], apply)


def _bound(tracer: Tracer, function: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a rule by their names, the array apart."""
    handler = FUNCTIONS[function]
    try:
        bound = dict(signature(handler).bind(tracer, *args, **kwargs).arguments)
    except TypeError as error:
        raise tracer.error(f"{name} of what a boolean mask picks out", f"its rule does not take this ({error})",
                           "Leave the keyword out.") from None  # fmt: skip
    del bound["tracer"]
    return bound


def _reduced(tracer: Tracer, function: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    given = _bound(tracer, function, name, args, kwargs)
    selection = given.pop("a")
    if not isinstance(selection, Compressed) or any(isinstance(x, Compressed) for x in given.values()):
        raise next(x for x in given.values() if isinstance(x, Compressed)).refused(name)
    if given.get("where", True) is not True:
        raise selection.refused(f"{name}(where=...)")
    axes = normalize_axes(given.pop("axis", None), selection.ndim)
    if selection.at not in axes:
        return _along_other_axes(tracer, function, selection, axes, given)
    out, keep = given.pop("out", None), given.pop("keepdims", False)
    keep = bool(keep)
    truth = SymArray.fresh(tracer, selection.truth(), is_scalar=False)
    given["where"] = truth
    if function in _EXTREMES:
        message = f"zero-size array to reduction operation {_EXTREMES[function]} which has no identity"
        tracer.check(_any(tracer, selection.mask), message)
        given["where"] = SomeChosen(truth)
    result = FUNCTIONS[function](tracer, selection.whole, axis=tuple(selection.axes_of_whole(axes)), **given)
    if keep:
        result = SymArray.fresh(tracer, keep_dims(tracer, result.read(), axes))
    return result if out is None else store_result(tracer, function.__name__, result, out)


def _any(tracer: Tracer, mask: Value) -> Value:
    return reductions.reduce_value(tracer, "any", mask, list(range(len(mask.shape))))


def _along_other_axes(
    tracer: Tracer, function: Any, selection: Compressed, axes: list[int], given: dict[str, Any]
) -> Compressed:
    """A reduction of each selected element: they stay under the mask."""
    if given.get("out") is not None:
        raise selection.refused(f"np.{function.__name__}(out=...)")
    keep = bool(given.get("keepdims", False))
    result = FUNCTIONS[function](tracer, selection.whole, axis=tuple(selection.axes_of_whole(axes)), **given)
    gone = 0 if keep else sum(1 for axis in axes if axis < selection.at)
    return Compressed(tracer, result, selection.mask, selection.at - gone)


def _counted(tracer: Tracer, name: str, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    truths = a.with_whole(SymArray.fresh(tracer, tracer.cast(a.whole.read(), BOOL), is_scalar=False))
    return _reduced(tracer, np.sum, name, (truths,), {"axis": axis, "keepdims": keepdims, "dtype": INT64})


def _filled(selection: Compressed) -> SymArray:
    """The whole array with 0 under false."""
    value = selection.whole.read()
    kept = chosen(selection.tracer, value, selection.truth(), 0)
    return SymArray.fresh(selection.tracer, kept, is_scalar=False)


def _norm(tracer: Tracer, name: str, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Square roots of sums of squares, and sums of absolute values: zeros change neither."""
    if not isinstance(x, Compressed) or not (ord is None or (type(ord) in (int, float) and ord in (1, 2))):
        raise next(y for y in (x, ord, axis) if isinstance(y, Compressed)).refused(f"{name}(ord={described(ord)})")
    axes = normalize_axes(axis, x.ndim)
    if (ord is not None and len(axes) != 1) or len(axes) > 2 or (len(axes) == 2 and x.mask_rank > 1) or keepdims:
        raise x.refused(name)
    rule_of = FUNCTIONS[np.linalg.norm]
    if x.at not in axes:
        (axis,) = x.axes_of_whole(axes)
        result = rule_of(tracer, x.whole, ord, axis)
        return Compressed(tracer, result, x.mask, x.at - (axes[0] < x.at))
    filled = _filled(x)
    if x.mask_rank == 1:
        return rule_of(tracer, filled, ord, tuple(axes) if len(axes) > 1 else axes[0])
    if x.ndim > 1:
        raise x.refused(name)
    return rule_of(tracer, filled.ravel(), ord)


def _product(tracer: Tracer, function: Any, name: str, args: Sequence[Any]) -> Any:
    """Products that sum over the mask's axis, or leave it alone."""
    x, y = args
    first = x if isinstance(x, Compressed) else y
    if any(isinstance(one, Compressed) and one.mask_rank != 1 for one in args):
        raise first.refused(name)
    ranks = [one.ndim if isinstance(one, Compressed) else len(shape_of(operand_of(tracer, one))) for one in args]
    if not 1 <= min(ranks) <= max(ranks) <= 2 or (function in (np.inner, np.vdot, np.vecdot) and ranks != [1, 1]):
        raise first.refused(name)
    summed = (ranks[0] - 1, max(ranks[1] - 2, 0))  # the axes that meet
    under = [isinstance(one, Compressed) and one.at == axis for one, axis in zip(args, summed, strict=True)]
    if all(under) and x.is_under_mask_of(y):
        left, right = (_filled(one) for one in args)
        if function in (np.vdot, np.vecdot) and dtype_of(left).kind == "c":
            left = left.conj()
        return linalg.product(tracer, left, right, name[3:])
    if not any(under) and not (isinstance(x, Compressed) and isinstance(y, Compressed)):
        left, right = (one.whole if isinstance(one, Compressed) else one for one in args)
        result = linalg.product(tracer, left, right, name[3:])
        return Compressed(tracer, result, first.mask, result.ndim - 1 if first is y else 0)
    raise first.refused(name)


# -- nonzero ------------------------------------------------------------------------------------------------


@rule(np.nonzero)
def nonzero(tracer: Tracer, a: Any) -> tuple[Compressed, ...]:
    """Where an array is not zero: along each axis the position, under the array's truth as the mask."""
    truth = to_value(tracer, operand_of(tracer, a), BOOL)
    if not truth.shape:
        raise tracer.error("np.nonzero of a single number", "the number of positions depends on its value",
                           "Use np.where(condition, x, y).")  # fmt: skip
    if tracer.written_selections:
        raise tracer.error("positions that are written", "kernels leave them where the array is not zero", LEAVE_IT_OUT)
    found, together = [], Places()
    for axis in range(len(truth.shape)):
        along = SymArray.fresh(
            tracer, tracer.add("iota", (), {"axis": axis}, INT64, truth.shape, "nonzero"), is_scalar=False
        )
        found.append(Compressed(tracer, along, truth, 0, AtPlaces(axis, together)))
    return tuple(found)


def as_mask(tracer: Tracer, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key in which what np.nonzero gave for all axes of a mask stands beside each other: with the mask itself."""
    for k, part in enumerate(keys):
        if isinstance(part, Compressed) and part.places_of == 0:
            rank = part.mask_rank
            group = keys[k : k + rank]
            if len(group) == rank and all(
                isinstance(one, Compressed) and one.places_of == axis and one.is_under_mask_of(part)
                for axis, one in enumerate(group)
            ):
                mask = SymArray.fresh(tracer, part.mask, is_scalar=False)
                return (*keys[:k], mask, *keys[k + rank :])
    return keys


def looked_up(array: SymArray, places: Compressed) -> Compressed | None:
    """array[i] of `i, j = np.nonzero(matrix)`: to compute with, the array along an axis of the mask; None where it may have
    another extent."""
    tracer, mask, at_places = places.tracer, places.mask, places.at_places
    if at_places is None or at_places.array is not None or places.mask_rank < 2:
        return None
    extents, behind = [tracer.resolve(one) for one in mask.shape], array.sizes[1:]
    if tracer.resolve(array.sizes[0]) != extents[at_places.axis]:
        return None
    value = array.read()
    items: list[Any] = [WHOLE if axis == at_places.axis else NEWAXIS for axis in range(len(extents))]
    ones = [extent if axis == at_places.axis else Size.constant(1) for axis, extent in enumerate(extents)]
    index = {"index": [*items, *[WHOLE] * len(behind)]}
    along = tracer.add("index", (value,), index, value.dtype, (*ones, *behind))
    whole = SymArray.fresh(tracer, broadcast(tracer, along, (*mask.shape, *behind)), is_scalar=False)
    copied = SymArray.fresh(tracer, value, is_scalar=False)
    return Compressed(tracer, whole, mask, 0, at_places._replace(array=copied))


def places(tracer: Tracer, index: Compressed) -> SymArray:
    """Positions under a mask, as positions that are all inside of what they index where the selected ones are."""
    value = index.whole.read()
    zero = tracer.constant(0, value.dtype)
    kept = tracer.add("where", (index.truth(), value, zero), {}, value.dtype, value.shape)
    return SymArray.fresh(tracer, kept, is_scalar=False)


# -- parts --------------------------------------------------------------------------------------------------


@provides
def part_of(selection: Compressed, key: Any) -> Any:
    """selection[:, 0], selection[..., None]: parts that take all of what the mask picks out; selection[selection > 0]."""
    tracer = selection.tracer
    if selection.ndim == 1 and _is_mask_within(key, selection):
        both = tracer.add("logical_and", (selection.mask, key.whole.read()), {}, BOOL, selection.mask.shape)
        copied = SymArray.fresh(tracer, selection.whole.read(), is_scalar=False)
        return Compressed(tracer, copied, both, selection.at)
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, (Compressed, SymArray, np.ndarray, list, bool, np.bool_)) for part in keys):
        return OPERATIONS.array_of_selected(selection)[key]
    expanded: list[Any] = []
    axis, new_at = 0, 0
    for part in written_out(keys, selection.ndim):
        if part is None:
            expanded.append(part)
            continue
        if axis == selection.at:
            if not isinstance(part, slice) or part != slice(None):
                return OPERATIONS.array_of_selected(selection)[key]
            new_at = sum(1 for one in expanded if one is None or isinstance(one, slice))
            expanded += [part] * selection.mask_rank
        else:
            expanded.append(part)
        axis += 1
    return Compressed(tracer, selection.whole[tuple(expanded)], selection.mask, new_at)


@provides
def set_part_of(selection: Compressed, key: Any, value: Any) -> None:
    """selection[selection < 0] = a number, or what that picks out."""
    tracer, whole = selection.tracer, selection.whole
    if not _is_mask_within(key, selection):
        raise selection.refused("writing into a part", WrittenSelection)
    truth = key.whole.read()
    if isinstance(value, Compressed) and selection.ndim == 1:
        chosen_of_all = tracer.add("logical_and", (selection.mask, truth), {}, BOOL, selection.mask.shape)
        target = Compressed(tracer, whole, chosen_of_all, selection.at)
        if not value.is_under_mask_of(target) or value.ndim != 1:
            raise value.refused("storing the elements elsewhere", WrittenSelection)
        operand = value.whole
    elif isinstance(value, Compressed) or shape_of(operand := operand_of(tracer, value)):
        raise selection.refused("writing elements into a part", WrittenSelection)
    check_python_float(tracer, operand, whole.dtype)
    new = to_value(tracer, operand, whole.dtype)
    whole.write(tracer.add("where", (truth, new, whole.read()), {}, whole.dtype, whole.sizes))
    selection.at_places = None


def _is_mask_within(key: Any, selection: Compressed) -> bool:
    """Whether a key says of each element whether it is meant."""
    if not isinstance(key, Compressed) or key.dtype != BOOL or (key.at, key.behind) != (selection.at, selection.behind):
        return False
    tracer, sizes = selection.tracer, zip(key.whole.sizes, selection.whole.sizes, strict=True)
    return key.is_under_mask_of(selection) and all(tracer.decide("==", a, b) for a, b in sizes)
