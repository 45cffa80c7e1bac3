"""Calls of functions that have no rule: Python makes them between kernels.

A function that writes one of its arguments is handed a copy of it, and what is in the copy then is written where the
argument lies.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from inspect import BoundArguments, Parameter
from types import MethodType
from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from ..pure_functions import distribution_of
from ..symbolic import from_data
from ..symbolic.arrays import SymArray, before_regions
from ..symbolic.compressed import AtPlaces, Compressed
from ..symbolic.from_data import size_from_data
from ..symbolic.graph import INT64, Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import provides, signature
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.sizes import Size
from ..symbolic.stages import NoTextError, Stage, call_of, result_of
from ..symbolic.storage import Shown
from ..symbolic.trace_limits import MOST_STAGE_OPERANDS
from ..symbolic.tracer import Tracer
from .elementwise import store_exactly, store_result
from .handed_to_stages import Copied, handed, with_fewer_operands
from .operands import NO_VALUE, is_symbolic
from .shapes import as_size
from .stage_rows import METHOD_ROWS, ROWS, WRITTEN, FromData, FromDataAnd, Gives, Like, UnknownError


@provides
def stage_of(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call that Python makes when the program runs; NotImplemented where no row says what it is."""
    owner = getattr(function, "__self__", None)
    owner = function if isinstance(function, np.ufunc) else owner
    is_method = isinstance(owner, np.ufunc)
    found = METHOD_ROWS.get("__call__" if owner is function else function.__name__) if is_method else ROWS.get(function)
    if found is None or not is_symbolic([list(args), kwargs]):
        return NotImplemented
    args, kwargs = [materialized(value) for value in args], {key: materialized(value) for key, value in kwargs.items()}
    kwargs = {key: value for key, value in kwargs.items() if value is not NO_VALUE}
    out = kwargs.pop("out", None)
    if is_method and owner is function and len(args) > owner.nin:
        args, out = args[: owner.nin], args[owner.nin :]
    try:
        bound = signature(found).bind(*[owner] * is_method, *args, **kwargs)
    except TypeError:
        return NotImplemented
    try:
        given = found(*(seen := _seen(tracer, bound)).args, **seen.kwargs)
    except UnknownError:
        return NotImplemented
    if given is None:
        return NotImplemented
    if found in WRITTEN:
        target = bound.arguments[WRITTEN[found]]
        bound.arguments[WRITTEN[found]] = Copied(target)
        written = _write(tracer, function, bound.args[is_method:], bound.kwargs, target)
        return None if written is target else NotImplemented
    outs = out if isinstance(out, (tuple, list)) else [out]
    is_partial = kwargs.get("where", True) is not True or _leaves_elements(owner)  # those keep what was there
    if is_partial and len(outs) > 1 and any(isinstance(one, SymArray) for one in outs):
        return NotImplemented
    is_alone = len(outs) == 1 and isinstance(outs[0], SymArray) and isinstance(given, Gives)
    if is_alone and (is_partial or np.dtype(given.dtype) != outs[0].dtype):  # NumPy may compute in another dtype
        return _write(tracer, function, args, {**kwargs, "out": Copied(outs[0])}, outs[0])
    try:
        result = add_stage(tracer, name_of_callee(function), function, args, kwargs, given)
    except NoTextError:
        return NotImplemented
    if outs[0] is Ellipsis or all(one is None for one in outs):
        return result
    store = store_result if owner is function else store_exactly
    pairs = zip(result if type(result) is tuple else [result], outs, strict=True)
    stored = [one if to is None else store(tracer, function.__name__, one, to) for one, to in pairs]
    return tuple(stored) if type(result) is tuple else stored[0]


def _leaves_elements(function: Any) -> bool:
    """Whether a function may write only some elements of `out`: those of numba.guvectorize are of loops that users write."""
    return (
        isinstance(function, np.ufunc)
        and function.signature is not None
        and name_of_callee(function).startswith("unknown.")
    )


def _write(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any], target: Any) -> Any:
    """A call that writes an argument, of which it is handed a copy: that argument."""
    if not isinstance(target, SymArray) or target.is_scalar:
        return NotImplemented  # NumPy refuses numbers
    gives = Gives(target.dtype, target.shape, is_array=True)
    try:
        result = add_stage(tracer, name_of_callee(function), function, args, kwargs, gives)
    except NoTextError:
        return NotImplemented
    target.write(result.read())
    return target


def _seen(tracer: Tracer, bound: BoundArguments) -> BoundArguments:
    """The arguments as a row takes them."""

    def seen(parameter: Parameter, value: Any) -> Any:
        if parameter.annotation == "None" and value is not None:
            raise UnknownError
        if parameter.annotation == "Like" and value is not None:
            return Like(tracer, value)
        return int(value) if isinstance(value, np.integer) else value

    parameters = bound.signature.parameters
    values = {
        name: tuple(seen(parameters[name], one) for one in value)
        if parameters[name].kind is Parameter.VAR_POSITIONAL
        else seen(parameters[name], value)
        for name, value in bound.arguments.items()
    }
    return BoundArguments(bound.signature, values)  # type: ignore[arg-type]  # a dict of any kind serves


def name_of_callee(function: Any) -> str:
    """Where a module finds it: numpy.fft.rfft, not numpy.fft._pocketfft.rfft."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{name_of_callee(owner)}.{function.__name__}"
    if isinstance(function, np.ufunc):
        modules = ("numpy", "scipy.special")
        homes = [m for m in modules if getattr(sys.modules.get(m), function.__name__, None) is function]
        return f"{homes[0] if homes else 'unknown'}.{function.__name__}"
    if isinstance(function, MethodType) and (distribution := distribution_of(function)) is not None:
        return f"{distribution}.{function.__name__}"
    module = getattr(function, "__module__", "") or "numpy"
    public = ".".join(part for part in module.split(".") if part[0] != "_")
    return f"{public or module}.{getattr(function, '__qualname__', function.__name__)}"


def materialized(value: Any) -> Any:
    """What a mask picks out as an array of its own, also in lists and tuples: NumPy compresses it."""
    if type(value) in (list, tuple):
        return type(value)(map(materialized, value))
    return array_of_selected(value) if isinstance(value, Compressed) else value


@provides
def array_of_selected(selected: Compressed) -> SymArray:
    """In a loop, of what was picked out before it, once before the loop."""
    tracer = selected.tracer
    if selected.at_places is not None and selected.mask_rank > 1 and not tracer.silenced:
        return _array_at_places(tracer, selected.at_places, selected.mask)
    is_in_loop = not tracer.open_loops <= tracer.reads.keys()
    if _count_of(selected) is not None and not is_in_loop:
        return _array_of(selected, selected.whole)
    with before_regions(selected.whole, selected.mask) as whole:
        return _array_of(selected, whole)


def _counts(tracer: Tracer) -> dict[int, tuple[Size, Value]]:
    """Of masks, how much they pick out, and an array of that extent."""
    counts: dict[int, tuple[Size, Value]] = tracer.cache.setdefault("counts under masks", {})
    return counts


def _count_of(selected: Compressed) -> Size | None:
    """How much the mask has picked out of another array here."""
    tracer = selected.tracer
    known = _counts(tracer).get(tracer.alike(selected.mask))
    return known[0] if known is not None and tracer.is_visible(known[1]) else None


def _array_of(selected: Compressed, whole: SymArray) -> SymArray:
    tracer = selected.tracer
    mask = SymArray.fresh(tracer, selected.mask, is_scalar=False)
    outer, behind = whole.shape, selected.at + selected.mask_rank
    count = _count_of(selected) or FromData(SymInt(tracer, tracer.total(whole.sizes[selected.at : behind])))
    key = (*(slice(None) for _ in range(selected.at)), mask)
    gives = Gives(selected.dtype, (*outer[: selected.at], count, *outer[behind:]))
    made: SymArray = add_stage(tracer, "numpy.ndarray.__getitem__", np.ndarray.__getitem__, [whole, key], {}, gives)
    made.storage.elements_of = whole.storage, whole.storage.value
    if isinstance(count, FromData):
        _counts(tracer)[tracer.alike(selected.mask)] = made.sizes[selected.at], made.storage.value
    return made


def _array_at_places(tracer: Tracer, at_places: AtPlaces, mask: Value) -> SymArray:
    """Of few elements of a matrix, as a rule: where they lie is found once for all axes, and no matrix is made to be picked from."""
    places = at_places.places
    if not places.found or not tracer.is_visible(places.found[0]):
        with before_regions(SymArray.fresh(tracer, mask, is_scalar=False)) as known:
            gives = Gives(INT64, (FromData(SymInt(tracer, tracer.total(mask.shape))),))
            made = add_stage(tracer, "numpy.nonzero", np.nonzero, [known], {}, (gives,) * len(mask.shape))
            places.found = tuple(one.read() for one in made)
    index = places.found[at_places.axis]
    if at_places.array is None:
        return SymArray.fresh(tracer, index, is_scalar=False)
    return from_data.gather(at_places.array, index, 0, is_inside=True)


@dataclass(frozen=True)
class Order:
    """A stage that has its place among others: behind what `before` is the number of, and then it is this one's."""

    before: SymArray
    of: str = ""  # the expression that gives the callee; "" for the callee itself
    behind: SymArray | None = None  # what no check may have failed before
    shown: str = ""  # how people read the callee, where that is no name


def add_stage(  # noqa: PLR0917
    tracer: Tracer, name: str, function: Any, args: Sequence[Any], kwargs: dict[str, Any], gives: Any,
    order: Order | None = None, held: str = "", is_users: bool = False,
) -> Any:  # fmt: skip
    """A call of any function that only computes what `gives` says. With `held`, its result is held under that name, and
    the number of the stage is given. `is_users`: it may ask whether two of its arguments are one array."""
    if tracer.silenced:
        raise tracer.error(
            f"{name}() between kernels", "it may warn, where the function catches warnings", LEAVE_IT_OUT
        )
    operands: list[Value] = []
    once: dict[int, Any] | None = {} if is_users or (order is not None and order.behind is not None) else None
    given = [handed(tracer, value, operands, once) for value in args]
    named = {key: handed(tracer, value, operands, once) for key, value in kwargs.items()}
    if len(operands) > MOST_STAGE_OPERANDS - 2:
        given, named, operands = with_fewer_operands(tracer, given, named, operands)
    if order is not None or not operands:
        operands.append(tracer.constant(0) if order is None else order.before.read())
    of = order.of if order is not None and order.of else "callee"
    if order is not None and order.behind is not None:
        operands.append(order.behind.read())
        of = f"{of}.behind(a{len(operands) - 1})"
    leaves = list(_leaves(gives))
    is_plain = order is None and not held and isinstance(gives, Gives) and np.dtype(gives.dtype).kind != "c"
    if is_plain and not any(isinstance(n, FromData) for n in gives.shape):
        stage = call_of(name, function, given, named, len(operands))
        made = tracer.call(stage, operands, np.dtype(gives.dtype), [_extent(n) for n in gives.shape])
        _comes_before_effects(tracer, made)
        return _result(tracer, gives, made)
    places: dict[FromData, str] = {}
    for path, leaf in leaves:
        for axis, extent in enumerate(leaf.shape):
            if isinstance(extent, FromData):
                places.setdefault(extent, f"{path}.shape[{axis}]")
    is_held = bool(held)
    held = held or f"r{len(tracer.stages) + 1}"
    shown = "" if order is None else order.shown
    number = next(iter(places.values()), "")
    stage = call_of(name, function, given, named, len(operands), held, number, of=of, shown=shown)
    opened = tracer.call(stage, operands, INT64, ())
    if order is not None:
        order.before.write(opened)
    else:
        _comes_before_effects(tracer, opened)
    if is_held:
        return opened
    sizes = {}
    for extent, place in places.items():
        value = opened if place == number else tracer.call(result_of(held, place), [opened], INT64, ())
        most = _extent(extent.most)
        sizes[extent] = size_from_data(tracer, value, "n", Size.constant(0), most)

    def extent_of(extent: Any) -> Size:
        if isinstance(extent, FromDataAnd):
            return sizes[extent.extent] + extent.more
        return sizes[extent] if isinstance(extent, FromData) else _extent(extent)

    results = {
        path: _result(tracer, leaf, _opened(tracer, leaf, held, path, opened, [extent_of(n) for n in leaf.shape]))
        for path, leaf in leaves
    }
    return _rebuilt(gives, results)


EFFECTS, GLOBAL = "effects", "global generator"  # what has an order of its own, in a tracer's cache
BEHIND = Stage("behind($0, $1)", "lambda held, a0, a1: 0")


def _comes_before_effects(tracer: Tracer, made: Value) -> None:
    """What the stage raises ends the call before the effects that follow, and before it is said that nothing is undone any more:
    NumPy, which raises it again, would do what was done by then once more."""
    orders = [tracer.cache[EFFECTS]] if EFFECTS in tracer.cache else []
    orders += [tracer.cache[GLOBAL].order] if GLOBAL in tracer.cache else []
    for order in orders:
        order.write(tracer.call(BEHIND, [order.read(), made], INT64, ()))


def write_by_stage(  # noqa: PLR0917
    tracer: Tracer, name: str, function: Any, array: SymArray, args: Sequence[Any], kwargs: dict[str, Any],
    order: Order | None = None,
) -> None:  # fmt: skip
    """A call that writes its first argument and gives nothing: of a copy, which the array becomes."""
    gives = Gives(array.dtype, array.shape, is_array=True)
    given = [Copied(array), *args]
    array.write(add_stage(tracer, name, function, given, kwargs, gives, order).read())


def _extent(extent: Any) -> Size:
    """Of none elements rows may make -1; NumPy raises there, or gives none."""
    if isinstance(extent, Size):
        return extent
    if isinstance(extent, SymInt) and not extent.tracer.loops.keys().isdisjoint(extent.size.symbols()):
        return extent.tracer.resolve(extent.size)  # no guard says what the run decides
    return as_size(max(0, extent))


def _opened(  # noqa: PLR0917
    tracer: Tracer, leaf: Gives, held: str, path: str, opened: Value, shape: Sequence[Size]
) -> Value:
    """A result of a call that was opened."""
    dtype = np.dtype(leaf.dtype)
    if dtype.kind != "c":
        return tracer.call(result_of(held, path), [opened], dtype, shape)
    half = np.dtype(f"f{dtype.itemsize // 2}")
    parts = [tracer.call(result_of(held, f"{path}.{part}"), [opened], half, shape) for part in ("real", "imag")]
    return tracer.add("complex", parts, {}, dtype, shape)


def _result(tracer: Tracer, leaf: Gives, value: Value) -> Any:
    if leaf.kind is not None:
        return RunScalar(tracer, value, leaf.kind)
    is_scalar = not value.shape and not leaf.is_array
    made = SymArray.fresh(tracer, value, is_scalar=is_scalar, c_order=leaf.is_in_c_order)
    made.storage.read_only = not leaf.is_writeable
    if leaf.view_of is not None and not made.is_scalar:
        made.storage.part_of = leaf.view_name
        if isinstance(whole := leaf.view_of.value, SymArray):
            made.storage.chosen_from = whole.sources()
            if leaf.view_step:
                sizes = tuple(map(size_of, leaf.view_sizes))
                made.storage.shown = Shown(whole, tracer.blocks[-1], leaf.view_step, sizes)
    return made


def _leaves(gives: Any, path: str = "") -> Iterator[tuple[str, Gives]]:
    if isinstance(gives, Gives):
        yield path, gives
        return
    for key, item in gives.items() if isinstance(gives, dict) else enumerate(gives):
        yield from _leaves(item, f"{path}[{key!r}]")


def _rebuilt(gives: Any, results: dict[str, Any], path: str = "") -> Any:
    if isinstance(gives, Gives):
        return results[path]
    if isinstance(gives, dict):
        return {key: _rebuilt(item, results, f"{path}[{key!r}]") for key, item in gives.items()}
    items = [_rebuilt(item, results, f"{path}[{k}]") for k, item in enumerate(gives)]
    return type(gives)(*items) if hasattr(gives, "_fields") else type(gives)(items)
