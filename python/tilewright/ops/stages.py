"""Calls of functions that have no rule: Python makes them between kernels.

A row each says what such a function gives (callees/). It takes what the function takes, in which arrays and what NumPy
makes one of show their dtype and shape, and gives Gives, a tuple or a list of them, or None where it does not know. It
reads no elements. What NumPy raises for the arguments of a call the function raises itself, when it is called.

A function that writes one of its arguments is handed a copy of it, and what is in the copy then is written where the
argument lies. No row is for what NumPy gives as a view: writes through it would be lost.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import BoundArguments, Parameter
from types import MethodType
from typing import Any

import numpy as np

from .. import callees, described_results, effects, kinds_of_values, pure_functions
from ..symbolic.argument import HeldElsewhere
from ..symbolic.arrays import Shown, Storage, SymArray, before_regions
from ..symbolic.compressed import Compressed
from ..symbolic.disjoint import are_disjoint
from ..symbolic.from_data import MOST_ELEMENTS, size_from_data
from ..symbolic.graph import INT64, Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.number import Symbolic, number_of_the_call, refuse_kinds
from ..symbolic.refusals import CalleeNotSeen, Unreached
from ..symbolic.registry import provides, signature
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar, size_of
from ..symbolic.sizes import Size
from ..symbolic.stages import (
    HandedAsList,
    HandedAsRange,
    Listed,
    NoTextError,
    Operand,
    Ranged,
    Raw,
    Same,
    Stage,
    argument_text,
    call_of,
    result_of,
)
from ..symbolic.trace_limits import MOST_STAGE_OPERANDS
from ..symbolic.tracer import Tracer
from ..taken_ways import Way
from .elementwise import copied, store_exactly, store_result
from .operands import NO_VALUE, dtype_of, is_symbolic, known_key, operand_of, shape_of, to_value
from .shapes import as_size
from .strides_seen import refuse_other_layouts, refuse_uncertain_views, shows_an_argument


@dataclass(frozen=True, eq=False)
class FromData:
    """An extent that the callee decides. The same object twice is the same extent."""

    most: Any = MOST_ELEMENTS

    def __add__(self, more: int) -> FromDataAnd:
        return FromDataAnd(self, more)


@dataclass(frozen=True)
class FromDataAnd:
    """An extent that is another one, which the callee decides, and `more`."""

    extent: FromData
    more: int


@dataclass(frozen=True)
class Gives:
    """A result: a new array, or a NumPy number where it has no dimensions. An extent below 0 is none."""

    dtype: Any
    shape: Sequence[Any] = ()
    kind: type | None = None  # Python's number of that type
    is_array: bool = False  # also without dimensions
    view_of: Like | None = None  # what NumPy gives is a view of that
    is_writeable: bool = True  # of a view
    view_name: str = ""
    view_step: str = ""  # how Python makes it, as Shown has it
    view_sizes: tuple[Any, ...] = ()
    is_in_c_order: bool = False  # for certain, in each call


class UnknownError(Exception):
    """Raised by a row, as None is given, for a call that it does not know. What NumPy raises it may raise as well."""


Row = Callable[..., Any]
ROWS: dict[Any, Row] = {}
METHOD_ROWS: dict[str, Row] = {}  # of the methods of every ufunc, which each takes first
SOURCE_FIRST: set[Any] = set()  # functions whose row is for what NumPy's own Python source cannot be traced for
_WRITTEN: dict[Row, str] = {}  # the parameter that the function writes


def row(*functions: Any, source_first: bool = False, writes: str = "") -> Callable[[Row], Row]:
    """The row of NumPy functions. It sees parameters with the annotation Like as arrays, NumPy's integers as Python's,
    all else as the call has it; what has the annotation None must be None.

    A row that `writes` a parameter gives anything but None for a call that it knows."""

    def register(function: Row) -> Row:
        ROWS.update(dict.fromkeys(functions, function))
        SOURCE_FIRST.update(functions if source_first else ())
        if writes:
            _WRITTEN[function] = writes
        return function

    return register


def method_row(name: str, writes: str = "") -> Callable[[Row], Row]:
    """The row of a method of all ufuncs."""

    def register(function: Row) -> Row:
        METHOD_ROWS[name] = row(writes=writes)(function)
        return function

    return register


class Like:
    """What a row sees of an array, or of a number or a list that NumPy makes one of."""

    def __init__(self, tracer: Tracer, value: Any) -> None:
        held = operand_of(tracer, value)
        self.tracer = tracer
        self.value = value
        self.dtype = dtype_of(held)
        self.sizes = shape_of(held)
        self.shape = tuple(SymInt(tracer, n) for n in self.sizes)
        self.ndim = len(self.shape)
        self.size = SymInt(tracer, tracer.total(self.sizes))
        self.is_in_c_order = isinstance(held, SymArray) and held.is_c_contiguous()


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
    if found in _WRITTEN:
        target = bound.arguments[_WRITTEN[found]]
        bound.arguments[_WRITTEN[found]] = Copied(target)
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
        result = add_stage(tracer, _name_of(function), function, args, kwargs, given)
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
        isinstance(function, np.ufunc) and function.signature is not None and _name_of(function).startswith("unknown.")
    )


def _write(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any], target: Any) -> Any:
    """A call that writes an argument, of which it is handed a copy: that argument."""
    if not isinstance(target, SymArray) or target.is_scalar:
        return NotImplemented  # NumPy refuses numbers
    gives = Gives(target.dtype, target.shape, is_array=True)
    try:
        result = add_stage(tracer, _name_of(function), function, args, kwargs, gives)
    except NoTextError:
        return NotImplemented
    target.write(result.read())
    return target


@dataclass(frozen=True)
class Copied:
    """An argument that the callee writes: it is handed a copy, and what is in that then is the result."""

    array: SymArray


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


def _name_of(function: Any) -> str:
    """Where a module finds it: numpy.fft.rfft, not numpy.fft._pocketfft.rfft."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{_name_of(owner)}.{function.__name__}"
    if isinstance(function, np.ufunc):
        modules = ("numpy", "scipy.special")
        homes = [m for m in modules if getattr(sys.modules.get(m), function.__name__, None) is function]
        return f"{homes[0] if homes else 'unknown'}.{function.__name__}"
    if isinstance(function, MethodType) and (distribution := pure_functions.distribution_of(function)) is not None:
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
    with before_regions(selected.whole, selected.mask) as whole:
        return _array_of(selected, whole)


def _array_of(selected: Compressed, whole: SymArray) -> SymArray:
    tracer = selected.tracer
    mask = SymArray.fresh(tracer, selected.mask, is_scalar=False)
    outer, behind = whole.shape, selected.at + selected.mask_rank
    count = FromData(SymInt(tracer, tracer.total(whole.sizes[selected.at : behind])))
    key = (*(slice(None) for _ in range(selected.at)), mask)
    gives = Gives(selected.dtype, (*outer[: selected.at], count, *outer[behind:]))
    made: SymArray = add_stage(tracer, "numpy.ndarray.__getitem__", np.ndarray.__getitem__, [whole, key], {}, gives)
    made.storage.elements_of = whole.storage, whole.storage.value
    return made


def held_copy(tracer: Tracer, array: SymArray) -> Value:
    """The number under which a copy of an array is held, to be returned: its size is not known before the call. What a
    mask has picked out is such a copy."""
    held = f"r{len(tracer.stages) + 1}"
    value = array.read()
    if value.operation == "call" and (own := _picked_out(tracer, value.attributes["callee"])):
        source = f"lambda held, opened: (hold(held, {held!r}, held[{own!r}]), {held[1:]})[1]"
        return tracer.call(Stage(f"{own} as {held}", source), value.operands, INT64, ())
    operands: list[Value] = []
    stage = call_of("numpy.array", np.array, [_handed(tracer, array, operands)], {}, len(operands), held)
    return tracer.call(stage, operands, INT64, ())


def held_items(tracer: Tracer, array: SymArray, *, as_python: bool, rows_are_lists: bool) -> Value:
    """The number under which a list of an array's items is held, of Python's numbers or as NumPy has them."""
    if as_python:
        operands: list[Value] = []
        given = [_handed(tracer, array, operands)]
        held = f"r{len(tracer.stages) + 1}"
        stage = call_of("numpy.ndarray.tolist", np.ndarray.tolist, given, {}, len(operands), held)
        return tracer.call(stage, operands, INT64, ())
    copy = held_copy(tracer, array)  # whose memory nobody else has
    (kept,) = [one for one in tracer.stages if one == copy.attributes["callee"]]
    source, held = kept.rpartition(" as ")[2], f"r{len(tracer.stages) + 1}"
    items = Raw(f"held[{source!r}]", source)
    if rows_are_lists:
        items = Raw(f"map(list, {items.source})", f"map(list, {source})")
    stage = call_of("list", list, [items], {}, 1, held)
    return tracer.call(stage, [copy], INT64, ())


def _picked_out(tracer: Tracer, text: str) -> str:
    """What the elements that a mask picks out are held under, of a stage that gives them as they are; else ""."""
    held = next((one for one in tracer.stages if one.endswith(f" as {text}")), "")
    return text if held and tracer.stages[held].callee is np.ndarray.__getitem__ else ""


@dataclass(frozen=True)
class Order:
    """A stage that has its place among others: behind what `before` is the number of, and then it is this one's."""

    before: SymArray
    of: str = ""  # the expression that gives the callee; "" for the callee itself
    behind: SymArray | None = None  # what no check may have failed before


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
    given = [_handed(tracer, value, operands, once) for value in args]
    named = {key: _handed(tracer, value, operands, once) for key, value in kwargs.items()}
    if len(operands) > MOST_STAGE_OPERANDS - 2:
        given, named, operands = _with_fewer_operands(tracer, given, named, operands)
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
        shape = [_extent(n) for n in gives.shape]
        return _result(tracer, gives, tracer.call(stage, operands, np.dtype(gives.dtype), shape))
    places: dict[FromData, str] = {}
    for path, leaf in leaves:
        for axis, extent in enumerate(leaf.shape):
            if isinstance(extent, FromData):
                places.setdefault(extent, f"{path}.shape[{axis}]")
    is_held = bool(held)
    held = held or f"r{len(tracer.stages) + 1}"
    number = next(iter(places.values()), "")
    stage = call_of(name, function, given, named, len(operands), held, number, of=of)
    opened = tracer.call(stage, operands, INT64, ())
    if order is not None:
        order.before.write(opened)
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


def of_its_kind(tracer: Tracer, value: Any, after: Value | None = None) -> Value:
    """The number of the stage that holds what Python has for a number, the kind of which the data decide. `after`: what it
    follows in the order of the program."""
    held = f"r{len(tracer.stages) + 1}"
    number = to_value(tracer, operand_of(tracer, value.of_one_kind()))
    stage = Stage(
        f"kind($0, $1) as {held}",
        f"lambda held, a0, a1, *after: (hold(held, {held!r}, (bool, int, float, a0.dtype.type)[int(a1)](a0)), {held[1:]})[1]",
    )
    return tracer.call(stage, [number, value.which, *([] if after is None else [after])], INT64, ())


def seen_stage(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call that Python makes, of a function that has no row: as it gave it before."""
    args, kwargs = [_given_to(value) for value in args], {key: _given_to(value) for key, value in kwargs.items()}
    refuse_other_layouts(tracer, function, args, kwargs)
    args, kwargs = _one_for_each_array([args, kwargs], [])
    name = _name_of(function)
    try:
        _refuse_without_text([args, kwargs])  # a function that the call makes is another one in each call: never seen
    except NoTextError as error:
        raise tracer.error(f"{name}() between kernels", f"an argument, of type {error}") from None
    try:
        given = callees.seen(function, args, kwargs, lambda value: _kind_of(tracer, value))
    except callees.NotSeen as missing:
        if effects.is_out_of_sight(missing.key, tracer.cache["function"].__code__):
            raise tracer.error(f"{name}()", "the calls that were watched do not show what it gives") from None
        raise tracer.error_of(
            CalleeNotSeen, f"{name}() was not called yet; what it gives is seen when it is", "Call the function once."
        ) from None
    except TypeError as error:
        raise tracer.error(f"{name}()", f"it is no stage between kernels, for {error}") from None
    if pure_functions.is_decided_by_data(function) and any(
        _is_complex(leaf) for leaf in described_results.leaves_of(given)
    ):
        # Its parts are real numbers: a later result that is real would pass for one.
        raise tracer.error(
            f"{name}()", "it is no stage between kernels, for data decide whether it gives complex numbers"
        )
    shapes = [Like(tracer, array).shape for array in kinds_of_values.arrays_in((args, kwargs))]
    callee = function.__wrapped__ if isinstance(function, pure_functions.PureFunction) else function
    try:
        return add_stage(tracer, name, callee, args, kwargs, _given(given, shapes), is_users=True)
    except NoTextError as error:
        raise tracer.error(f"{name}() between kernels", f"an argument, of type {error}") from None


def _refuse_without_text(value: Any) -> None:
    if type(value) in (list, tuple, dict):
        for one in value.values() if type(value) is dict else value:
            _refuse_without_text(one)
    elif not isinstance(value, (Symbolic, np.ndarray, HandedAsList, HandedAsRange)):
        argument_text(value, "$")


def _is_complex(leaf: Any) -> bool:
    return isinstance(leaf, described_results.Array) and leaf.dtype.kind == "c"


def effect_stage(  # noqa: PLR0917
    tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any], way: Way,
    kept: Callable[[described_results.Held, str, Value], Any], run: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """The result of a call of a function that is not known to be pure: it is made once, behind all others before it. `kept`:
    what stands for a container or an object in the result, given the expression for it and the value of the call. `run`:
    what does the same as the function, perhaps faster."""
    args, kwargs = [_given_to(value) for value in args], {key: _given_to(value) for key, value in kwargs.items()}
    functions: list[Any] = []
    refuse_other_layouts(tracer, function, args, kwargs)
    handed = list(kinds_of_values.arrays_in((args, kwargs)))
    args, kwargs = _with_functions(_one_for_each_array([args, kwargs], []), functions)
    name = _name_of(function)
    try:
        found = callees.seen((function, way), args, kwargs, lambda value: _kind_of(tracer, value))
    except callees.NotSeen as missing:
        is_unreached = effects.ask(function, way, tracer.cache["function"].__code__)
        if missing.is_handed_others:
            raise tracer.error(f"{name}() between kernels", "data decide the types of what it is handed") from None
        unseen = tracer.error_of(
            CalleeNotSeen, f"{name}() was not called yet; what it gives is seen when it is", "Call the function once."
        )
        if is_unreached and way in tracer.unreached:
            raise tracer.error(f"{name}()", "the calls that were watched did not come there") from None
        raise (Unreached(unseen, way) if is_unreached else unseen) from None
    except TypeError as error:
        raise tracer.error(f"{name}()", f"it is no stage between kernels, for {error}") from None
    refuse_uncertain_views(tracer, name, handed, found)
    arrays = list(kinds_of_values.arrays_in((args, kwargs)))
    in_memory = {id(one): one for one in arrays if _is_in_memory(one)}.values()
    if any(_share_memory(tracer, one, other) for one, other in itertools.combinations(in_memory, 2)) or any(
        not one.shape and sum(one is other for other in arrays) > 1 for one in in_memory
    ):
        raise tracer.error(f"{name}()", "two of its arguments share memory, and it may write them")
    written = [arrays[k] for k in found.written]
    if any(not isinstance(array, SymArray) or array.is_scalar for array in written):
        raise tracer.error(f"{name}()", "it writes an array that no argument of the compiled function leads to")
    shapes = [Like(tracer, array).shape for array in arrays]
    gives = [_given(leaf, shapes) for leaf in described_results.leaves_of(found.gives)]
    gives += [Gives(array.dtype, array.shape, is_array=True) for array in written]
    for one in found.changed:
        tracer.changes_outside(name, one)
    kind = effects.Pure if pure_functions.is_decided_by_data(function) else effects.Effect
    kept_arrays = [arrays[k] for k in found.kept]
    if kept_arrays and (len(tracer.blocks) > 1 or not all(map(_is_the_functions, kept_arrays))):
        raise tracer.error(f"{name}()", "it keeps an array that it is handed, which may be written later")
    effect = kind(function, way, found.gives, found.written, tracer.places, run or function, functions, found.kept)
    order = Order(tracer.cache[EFFECTS], behind=tracer.checked)
    try:
        pieces = add_stage(tracer, name, effect, args, kwargs, gives, order)
    except NoTextError as error:
        raise tracer.error(f"{name}() between kernels", f"an argument, of type {error}") from None
    text = next(text for text, stage in tracer.stages.items() if stage.callee is effect)
    result = f"held[{text.rpartition(' as ')[2]!r}]"
    called = tracer.cache[EFFECTS].read()
    for array, piece in zip(written, pieces[len(pieces) - len(written) :], strict=True):
        array.write(piece.read())
    helds = described_results.helds_in(found.gives)
    stands = [kept(one, f"{result}[{len(gives) + k}]", called) for k, one in enumerate(helds)]
    are_shared = [
        isinstance(leaf, described_results.Array) and leaf.is_shared
        for leaf in described_results.leaves_of(found.gives)
    ]
    elsewhere = [(pieces[k], "gives") for k, is_shared in enumerate(are_shared) if is_shared]
    for k, (array, what) in enumerate(
        [*elsewhere, *((array, "keeps") for array in kept_arrays)], len(gives) + len(helds)
    ):
        storage = array.storage
        itself = None if array.chain else kept(described_results.Held(np.ndarray), f"{result}[{k}].array", called)
        storage.c_order = storage.is_c_contiguous or what == "gives"
        storage.argument = HeldElsewhere(f"what {name}() {what}", "elsewhere", (), itself=itself)
    return described_results.rebuilt(found.gives, iter(pieces), arrays, iter(stands))


def _is_the_functions(value: Any) -> bool:
    """Whether it is an array of the compiled function's own."""
    if not _is_in_memory(value):
        return False
    storage = value.storage
    others = (
        storage.argument,
        storage.chosen_from,
        storage.may_be,
        storage.elements_of,
        storage.part_of,
        storage.shown,
    )
    return not any(others)


def _is_in_memory(value: Any) -> bool:
    return isinstance(value, SymArray) and not value.is_scalar


def _share_memory(tracer: Tracer, one: SymArray, other: SymArray) -> bool:
    """Whether elements of both may lie in one place."""
    mine, others = ({array.storage, *dict(array.storage.chosen_from or ())} for array in (one, other))
    if mine.isdisjoint(others):
        return False
    return len(mine | others) > 1 or not are_disjoint(tracer, one, other)


def _one_for_each_array(value: Any, seen: list[SymArray]) -> Any:
    """Arguments in which an array that is there twice is one object, as it is for the callee: f(x, x)."""
    if type(value) in (list, tuple):
        return type(value)(_one_for_each_array(one, seen) for one in value)
    if type(value) is dict:
        return {key: _one_for_each_array(one, seen) for key, one in value.items()}
    if not _is_in_memory(value) or value.dtype.kind == "c":  # whose parts are two operands
        return value
    value = _as_it_lies(value)
    same = (one for one in seen if one.storage is value.storage and one.chain == value.chain)
    first = next(same, value)
    seen.append(first)
    return first


def _lies_in_c(array: SymArray) -> bool:
    return _is_in_memory(array) and array.is_c_contiguous()


def _as_it_lies(array: SymArray) -> SymArray:
    """What NumPy makes contiguous is so for a callee, which may go through its memory as C does."""
    shapes = [array.storage.value.shape, *(view.shape for view in array.chain)]
    stands_for_a_copy = any(
        view.uncertain and view.shape == before for view, before in zip(array.chain, shapes, strict=False)
    )
    if not stands_for_a_copy or array.is_c_contiguous():
        return array
    if array.storage.argument is not None:
        array.tracer.need_layout(array.storage.argument)
    return SymArray(array.tracer, Storage(copied(array.tracer, array.read()), c_order=True))


def is_function(value: Any) -> bool:
    """Whether it is a function, a class or a module, which Python code is handed as it is, or an object of another language's
    that stands for a function in a module (scipy.fft.fft)."""
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType)
    if type(value) in (types.FunctionType, types.ModuleType, np.ufunc, type(np.sum), type):
        return True
    return callable(value) and not kinds_of_values.is_object(value) and is_named(value)


def is_named(function: Any) -> bool:
    """Whether its module has it under its name."""
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    if isinstance(function, types.ModuleType):
        return sys.modules.get(function.__name__) is function
    return (
        isinstance(name, str) and isinstance(module, str) and getattr(sys.modules.get(module), name, None) is function
    )


def _with_functions(value: Any, functions: list[Any]) -> Any:
    """Arguments in which a function stands for what the effect holds."""
    if type(value) in (list, tuple):
        return type(value)(_with_functions(one, functions) for one in value)
    if type(value) is dict:
        return {key: _with_functions(one, functions) for key, one in value.items()}
    if not is_function(value):
        return value
    with suppress(NoTextError):
        argument_text(value, "$")
        return value
    functions.append(value)
    return Same(f"callee.functions[{len(functions) - 1}]", value.__name__, type(value), value)


EFFECTS = "effects"  # the order of such calls, in a tracer's cache


def _given_to(value: Any) -> Any:
    """An argument of a call that was seen: a bool of the caller's is an option, of which the results depend."""
    if type(value) in (list, tuple):
        return type(value)(map(_given_to, value))
    if type(value) is dict:
        return {key: _given_to(one) for key, one in value.items()}
    is_option = isinstance(value, SymScalar) and type(value.hint) is bool and not isinstance(value, RunScalar)
    return number_of_the_call(value) if is_option else materialized(value)


def _kind_of(tracer: Tracer, value: Any) -> Any:
    """As callees.seen() has it of real arguments."""
    if isinstance(value, (SymArray, np.ndarray, np.generic)):
        if is_of_either_type(value):
            refuse_kinds(value, "handing it to a call that Python makes")
        return "array", value.dtype.str, value.ndim
    if isinstance(value, SymInt):
        return int
    if isinstance(value, Same):
        return value.kind, value.value
    if isinstance(value, Raw):
        return kinds_of_values.kind_of_object(value.kind)
    if isinstance(value, HandedAsList):
        one: Any = (tuple, tuple(value.types)) if value.has_tuples else value.types[0]
        return list, (one,) * tracer.value_of(value.columns[0].sizes[0])
    if isinstance(value, HandedAsRange):
        return range
    if isinstance(value, SymScalar):
        refuse_kinds(value, "handing it to a call that Python makes")
        return type(value.hint)
    return kinds_of_values.kind_of_plain(value, lambda one: _kind_of(tracer, one))


def is_of_either_type(value: Any) -> bool:
    """Whether data decide if it is NumPy's or Python's, and it cannot be both: np.float64 is a float."""
    kinds = getattr(value, "kinds", None) or set()
    return isinstance(value, Symbolic) and not kinds <= {"scalar", "float"}


def _given(seen: Any, shapes: Sequence[Sequence[Any]]) -> Any:
    if isinstance(seen, described_results.Array):
        likeliest = [places[0] if places else None for places in seen.extents]
        sizes = [FromData() if e is None else e if isinstance(e, int) else shapes[e[0]][e[1]] for e in likeliest]
        return Gives(seen.dtype, sizes, is_array=seen.is_array)
    if isinstance(seen, type):
        return Gives(np.dtype({bool: np.bool_, int: np.int64, float: np.float64}[seen]), (), seen)
    if isinstance(seen, dict):
        return {key: _given(item, shapes) for key, item in seen.items()}
    items = [_given(item, shapes) for item in seen]
    return type(seen)(*items) if hasattr(seen, "_fields") else type(seen)(items)


def write_by_stage(  # noqa: PLR0917
    tracer: Tracer, name: str, function: Any, array: SymArray, args: Sequence[Any], kwargs: dict[str, Any],
    order: Order | None = None,
) -> None:  # fmt: skip
    """A call that writes its first argument and gives nothing: of a copy, which the array becomes."""
    gives = Gives(array.dtype, array.shape, is_array=True)
    given = [Copied(array), *args]
    array.write(add_stage(tracer, name, function, given, kwargs, gives, order).read())


def _handed(tracer: Tracer, value: Any, operands: list[Value], once: dict[int, Any] | None = None) -> Any:
    """An argument of the call, in which what is symbolic has become operands. `once`: those of arrays that may be handed
    twice as one object, by their identity."""
    if type(value) in (list, tuple):
        return type(value)(_handed(tracer, one, operands, once) for one in value)
    if type(value) is dict:
        return {known_key(key): _handed(tracer, one, operands, once) for key, one in value.items()}
    if type(value) is slice:
        return slice(*(_handed(tracer, one, operands, once) for one in (value.start, value.stop, value.step)))
    if isinstance(value, HandedAsList):
        return Listed(tuple(_handed(tracer, one, operands) for one in value.columns), value.has_tuples)
    if isinstance(value, HandedAsRange):
        return Ranged(tuple(_handed(tracer, one, operands) for one in (value.start, value.stop, value.step)))
    if type(value) is np.ndarray:
        value = operand_of(tracer, value)
    if isinstance(value, Copied):
        array = _handed(tracer, value.array, operands)
        return Operand(array.position, array.kind, is_written=True)
    if not isinstance(value, Symbolic):
        return value
    if once is not None and id(value) in once:
        return once[id(value)]
    held, kind = _value_of(tracer, value)
    if once is not None and not held.shape and _is_in_memory(value):
        kind = "numpy.asarray"  # operands of no dimensions are NumPy's numbers
    elif once is not None and isinstance(value, SymArray) and _lies_in_c(value) and shows_an_argument(held):
        kind = "numpy.ascontiguousarray"  # programs make no copy of what nobody writes
    first = len(operands)
    if held.dtype.kind != "c":
        operands.append(held)
        made = Operand(first, kind)
        if once is not None and _is_in_memory(value):
            once[id(value)] = made
        return made
    half = np.dtype(f"f{held.dtype.itemsize // 2}")
    operands.extend(tracer.add(part, (held,), {}, half, held.shape) for part in ("real", "imag"))
    return Operand(first, "complex" if kind == "complex" else "joined")


def _with_fewer_operands(
    tracer: Tracer, given: list[Any], named: dict[str, Any], operands: list[Value]
) -> tuple[list[Any], dict[str, Any], list[Value]]:
    """The same arguments, where other stages have put Python's numbers among them into lists that are held; if there are
    too many still, copies of arrays too."""
    found = dict.fromkeys(_operands_in((given, named)))
    numbers = [one for one in found if one.kind in ("int", "float", "bool")]
    arrays = [one for one in found if one.kind == "array" and not one.is_written]
    lists = -(-len(numbers) // MOST_STAGE_OPERANDS)
    moved = [numbers, arrays] if len(operands) - len(numbers) + lists > MOST_STAGE_OPERANDS - 2 else [numbers]
    fewer: list[Value] = []
    instead: dict[Operand, Any] = {}
    chunks = (many[k : k + MOST_STAGE_OPERANDS] for many in moved for k in range(0, len(many), MOST_STAGE_OPERANDS))
    for chunk in chunks:
        # The memory of an array may be another one's behind the stage: the list has copies.
        listed = [Operand(k, "numpy.array" if one.kind == "array" else one.kind) for k, one in enumerate(chunk)]
        held = f"r{len(tracer.stages) + 1}"
        stage = call_of("list", list, [listed], {}, len(chunk), held)
        fewer.append(tracer.call(stage, [operands[one.position] for one in chunk], INT64, ()))
        instead |= {one: Raw(f"held[{held!r}][{k}]", f"{held}[{k}]") for k, one in enumerate(chunk)}
    while len(fewer) > MOST_STAGE_OPERANDS // 2:  # what follows the lists may follow one stage behind them
        made, fewer = fewer[:MOST_STAGE_OPERANDS], fewer[MOST_STAGE_OPERANDS:]
        behind = call_of("max", max, [Operand(k) for k in range(len(made))], {}, len(made))
        fewer.append(tracer.call(behind, made, INT64, ()))
    for one in _operands_in((given, named)):
        if one not in instead:
            instead[one] = replace(one, position=len(fewer))
            fewer += operands[one.position : one.position + 1 + (one.kind in ("joined", "complex"))]

    def with_those(value: Any) -> Any:
        if isinstance(value, Operand):
            return instead[value]
        if isinstance(value, Listed):
            return replace(value, columns=tuple(map(with_those, value.columns)))
        if isinstance(value, Ranged):
            return replace(value, limits=tuple(map(with_those, value.limits)))
        if type(value) in (list, tuple):
            return type(value)(map(with_those, value))
        if type(value) is slice:
            return slice(*map(with_those, (value.start, value.stop, value.step)))
        return {key: with_those(one) for key, one in value.items()} if type(value) is dict else value

    return with_those(given), with_those(named), fewer


def _operands_in(value: Any) -> Iterator[Operand]:
    if isinstance(value, Operand):
        yield value
    value = value.columns if isinstance(value, Listed) else value.limits if isinstance(value, Ranged) else value
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    parts = (value.start, value.stop, value.step) if type(value) is slice else parts
    for part in parts:
        yield from _operands_in(part)


def _value_of(tracer: Tracer, value: Any) -> tuple[Value, str]:
    """The value of something symbolic, and what it is handed as."""
    refuse_kinds(value, "handing it to a call that Python makes")
    if isinstance(value, SymInt):
        return value.as_value(), "int"
    if isinstance(value, SymScalar):
        return value.value, type(value.hint).__name__
    return to_value(tracer, operand_of(tracer, value)), "array"


def _extent(extent: Any) -> Size:
    """Of none elements rows may make -1; NumPy raises there, or gives none."""
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
    if leaf.view_of is not None and not made.is_scalar:
        made.storage.read_only, made.storage.part_of = not leaf.is_writeable, leaf.view_name
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
