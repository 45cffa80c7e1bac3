"""Calls of functions that have no row: as they were seen to be, pure or with effects."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .. import callees, effects
from ..described_results import Array, Held, Seen, helds_in, leaves_of, rebuilt
from ..kinds_of_values import arrays_in, is_object, kind_of_object, kind_of_plain
from ..pure_functions import PureFunction, is_decided_by_data
from ..reached_arrays import reached_by
from ..symbolic.argument import HeldElsewhere
from ..symbolic.arrays import SymArray
from ..symbolic.disjoint import are_disjoint
from ..symbolic.graph import Value
from ..symbolic.number import Symbolic, number_of_the_call, refuse_kinds
from ..symbolic.refusals import CalleeNotSeen, Unreached
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.stages import HandedAsList, HandedAsRange, NoTextError, Raw, Same, argument_text
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from ..taken_ways import Way
from .elementwise import copied
from .handed_to_stages import is_in_memory
from .stage_rows import FromData, Gives, Like
from .stages import EFFECTS, Order, add_stage, materialized, name_of_callee
from .strides_seen import refuse_other_layouts, refuse_owners, refuse_uncertain_views


def seen_stage(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call that Python makes, of a function that has no row: as it gave it before."""
    args, kwargs = [_given_to(value) for value in args], {key: _given_to(value) for key, value in kwargs.items()}
    refuse_other_layouts(tracer, function, args, kwargs)
    refuse_owners(tracer, function, args, kwargs)
    args, kwargs = _one_for_each_array([args, kwargs], [])
    name = name_of_callee(function)
    with _refused_by_name(tracer, name):
        _refuse_without_text([args, kwargs])  # a function that the call makes is another one in each call: never seen
    try:
        given = callees.seen(function, args, kwargs, lambda value: _kind_of(tracer, value))
    except callees.NotSeen as missing:
        if effects.is_out_of_sight(missing.key, tracer.cache["function"].__code__):
            raise tracer.error(f"{name}()", "the calls that were watched do not show what it gives") from None
        raise _not_called_yet(tracer, name) from None
    except TypeError as error:
        raise tracer.error(f"{name}()", f"it is no stage between kernels, for {error}") from None
    if is_decided_by_data(function) and any(_is_complex(leaf) for leaf in leaves_of(given)):
        # Its parts are real numbers: a later result that is real would pass for one.
        raise tracer.error(
            f"{name}()", "it is no stage between kernels, for data decide whether it gives complex numbers"
        )
    handed = [Like(tracer, array) for array in arrays_in((args, kwargs))]
    shapes, are_in_order = [one.shape for one in handed], all(one.is_in_c_order for one in handed)
    callee = function.__wrapped__ if isinstance(function, PureFunction) else function
    with _refused_by_name(tracer, name):
        return add_stage(tracer, name, callee, args, kwargs, _given(given, shapes, are_in_order), is_users=True)


def _not_called_yet(tracer: Tracer, name: str) -> CalleeNotSeen:
    return tracer.error_of(
        CalleeNotSeen, f"{name}() was not called yet; what it gives is seen when it is.", "Call the function once."
    )


@contextmanager
def _refused_by_name(tracer: Tracer, name: str) -> Iterator[None]:
    """An argument that a stage's text cannot say is an error that names the callee."""
    try:
        yield
    except NoTextError as error:
        raise tracer.error(f"{name}() between kernels", f"an argument, of type {error}") from None


def _refuse_without_text(value: Any) -> None:
    if type(value) in (list, tuple, dict):
        for one in value.values() if type(value) is dict else value:
            _refuse_without_text(one)
    elif not isinstance(value, (Symbolic, np.ndarray, HandedAsList, HandedAsRange)):
        argument_text(value, "$")


def _is_complex(leaf: Any) -> bool:
    return isinstance(leaf, Array) and leaf.dtype.kind == "c"


def effect_stage(  # noqa: PLR0917
    tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any], way: Way,
    kept: Callable[[Held, str, Value], Any], run: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """The result of a call of a function that is not known to be pure: it is made once, behind all others before it. `kept`:
    what stands for a container or an object in the result, given the expression for it and the value of the call. `run`:
    what does the same as the function, perhaps faster."""
    args, kwargs = [_given_to(value) for value in args], {key: _given_to(value) for key, value in kwargs.items()}
    functions: list[Any] = []
    refuse_other_layouts(tracer, function, args, kwargs)
    refuse_owners(tracer, function, args, kwargs)
    handed = list(arrays_in((args, kwargs)))
    args, kwargs = _with_functions(
        _one_for_each_array(_as_the_caller_has_them(tracer, [args, kwargs], []), []), functions
    )
    name = name_of_callee(function)
    found = _seen_on_the_way(tracer, name, (function, way), args, kwargs)
    refuse_uncertain_views(tracer, name, handed, found)
    arrays = list(arrays_in((args, kwargs)))
    _refuse_shared(tracer, name, arrays)
    written = [arrays[k] for k in found.written]
    if any(not isinstance(array, SymArray) or array.is_scalar for array in written):
        raise tracer.error(f"{name}()", "it writes an array that no argument of the compiled function leads to")
    shapes = [Like(tracer, array).shape for array in arrays]
    gives = [_given(leaf, shapes) for leaf in leaves_of(found.gives)]
    gives += [Gives(array.dtype, array.shape, is_array=True) for array in written]
    for one in found.changed:
        tracer.changes_outside(name, one)
    if found.reaches and reached_by(function):
        tracer.reaching.append(function)
    kind = effects.Pure if is_decided_by_data(function) else effects.Effect
    read_only = [] if kind is effects.Pure else _read_only(tracer, name, handed)
    kept_arrays = [arrays[k] for k in found.kept]
    if kept_arrays and (len(tracer.blocks) > 1 or not all(map(_is_the_functions, kept_arrays))):
        raise tracer.error(f"{name}()", "it keeps an array that it is handed, which may be written later")
    made_with = tracer.places, run or function, functions, found.kept, read_only, tracer.lent
    effect = kind(function, way, found.gives, found.written, *made_with)
    order = Order(tracer.cache[EFFECTS], behind=tracer.checked)
    with _refused_by_name(tracer, name):
        pieces = add_stage(tracer, name, effect, args, kwargs, gives, order)
    text = next(text for text, stage in tracer.stages.items() if stage.callee is effect)
    result = f"held[{text.rpartition(' as ')[2]!r}]"
    called = tracer.cache[EFFECTS].read()
    for array, piece in zip(written, pieces[len(pieces) - len(written) :], strict=True):
        array.write(piece.read())
    helds = helds_in(found.gives)
    stands = [kept(one, f"{result}[{len(gives) + k}]", called) for k, one in enumerate(helds)]
    are_shared = [isinstance(leaf, Array) and leaf.is_shared for leaf in leaves_of(found.gives)]
    elsewhere = [(pieces[k], "gives") for k, is_shared in enumerate(are_shared) if is_shared]
    for k, (array, what) in enumerate(
        [*elsewhere, *((array, "keeps") for array in kept_arrays)], len(gives) + len(helds)
    ):
        storage = array.storage
        itself = None if array.chain else kept(Held(np.ndarray), f"{result}[{k}].array", called)
        storage.c_order = storage.is_c_contiguous or what == "gives"
        storage.argument = HeldElsewhere(f"what {name}() {what}", "elsewhere", (), itself=itself)
    return rebuilt(found.gives, iter(pieces), arrays, iter(stands))


def _seen_on_the_way(
    tracer: Tracer, name: str, called: tuple[Any, Way], args: Sequence[Any], kwargs: dict[str, Any]
) -> Seen:
    """What such calls did that were watched, of a function on its way."""
    function, way = called
    try:
        return callees.seen(called, args, kwargs, lambda value: _kind_of(tracer, value))  # type: ignore[no-any-return]
    except callees.NotSeen as missing:
        is_unreached = effects.ask(function, way, tracer.cache["function"].__code__)
        if missing.is_handed_others:
            raise tracer.error(f"{name}() between kernels", "data decide the types of what it is handed") from None
        if is_unreached and way in tracer.unreached:
            raise tracer.error(f"{name}()", "the calls that were watched did not come there") from None
        unseen = _not_called_yet(tracer, name)
        raise (Unreached(unseen, way) if is_unreached else unseen) from None
    except TypeError as error:
        raise tracer.error(f"{name}()", f"it is no stage between kernels, for {error}") from None


def _refuse_shared(tracer: Tracer, name: str, arrays: Sequence[Any]) -> None:
    """Arrays that share memory with each other, and those of no dimensions that are there twice: operands are numbers."""
    in_memory = {id(one): one for one in arrays if is_in_memory(one)}.values()
    share = any(_share_memory(tracer, one, other) for one, other in itertools.combinations(in_memory, 2))
    if share or any(not one.shape and sum(one is other for other in arrays) > 1 for one in in_memory):
        raise tracer.error(f"{name}()", "two of its arguments share memory, and it may write them")


def _read_only(tracer: Tracer, name: str, handed: Sequence[Any]) -> list[int]:
    """Which of the arrays nobody may write: the call raises then, also where it would write what is there already."""
    found = []
    for k, array in enumerate(handed):
        if not is_in_memory(array):
            continue
        sources = [storage for storage, _ in (*array.sources(), *array.storage.may_be)]
        is_read_only = array.is_read_only()
        if is_read_only is False and any(storage.read_only is not False for storage in sources):
            is_read_only = None
        is_uncertain = is_read_only is None or (array.may_be_a_copy() and is_read_only)
        if is_uncertain or any(view.warns for view in array.chain):
            raise tracer.error(
                f"{name}()", "the data or the memory layout decide whether an array that it is handed is read-only"
            )
        for storage in sources:
            tracer.guard_writeable(storage.argument, not storage.read_only)
        if is_read_only:
            found.append(k)
    return found


def _is_the_functions(value: Any) -> bool:
    """Whether it is an array of the compiled function's own."""
    if not is_in_memory(value):
        return False
    storage = value.storage
    its_own = not (storage.argument or storage.chosen_from or storage.may_be)
    return its_own and not (storage.elements_of or storage.part_of or storage.shown)


def _share_memory(tracer: Tracer, one: SymArray, other: SymArray) -> bool:
    """Whether elements of both may lie in one place."""
    mine, others = ({array.storage, *dict(array.storage.chosen_from or ())} for array in (one, other))
    if mine.isdisjoint(others):
        return False
    return len(mine | others) > 1 or not are_disjoint(tracer, one, other)


_MOST_TOLD_APART = 8  # arrays of a call: each pair of them has a guard


def _as_the_caller_has_them(tracer: Tracer, value: Any, seen: list[SymArray]) -> Any:
    """Arguments in which an array that the caller has handed over at two places is one object, in the calls in which it is:
    a callee may ask whether two are one."""
    if type(value) in (list, tuple):
        return type(value)(_as_the_caller_has_them(tracer, one, seen) for one in value)
    if type(value) is dict:
        return {key: _as_the_caller_has_them(tracer, one, seen) for key, one in value.items()}
    if not is_in_memory(value) or value.chain or value.storage.argument is None or len(seen) >= _MOST_TOLD_APART:
        return value
    alike = (one for one in seen if one.dtype == value.dtype and one.ndim == value.ndim)
    same = (one for one in alike if tracer.cache["inputs"].is_one(one, value))
    first = next(same, value)
    if first is value:
        seen.append(value)
    return first


def _one_for_each_array(value: Any, seen: list[SymArray]) -> Any:
    """Arguments in which an array that is there twice is one object, as it is for the callee: f(x, x)."""
    if type(value) in (list, tuple):
        return type(value)(_one_for_each_array(one, seen) for one in value)
    if type(value) is dict:
        return {key: _one_for_each_array(one, seen) for key, one in value.items()}
    if not is_in_memory(value) or value.dtype.kind == "c":  # whose parts are two operands
        return value
    value = _as_it_lies(value)
    same = (one for one in seen if one.is_seen_as(value))
    first = next(same, value)
    seen.append(first)
    return first


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
    return callable(value) and not is_object(value) and is_named(value)


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
        return kind_of_object(value.kind)
    if isinstance(value, HandedAsList):
        one: Any = (tuple, tuple(value.types)) if value.has_tuples else value.types[0]
        for size in value.columns[0].sizes[:0:-1]:
            one = (list, (one,) * tracer.value_of(size))
        return list, (one,) * tracer.value_of(value.columns[0].sizes[0])
    if isinstance(value, HandedAsRange):
        return range
    if isinstance(value, SymScalar):
        refuse_kinds(value, "handing it to a call that Python makes")
        return type(value.hint)
    return kind_of_plain(value, lambda one: _kind_of(tracer, one))


def is_of_either_type(value: Any) -> bool:
    """Whether data decide if it is NumPy's or Python's, and it cannot be both: np.float64 is a float."""
    kinds = getattr(value, "kinds", None) or set()
    return isinstance(value, Symbolic) and not kinds <= {"scalar", "float"}


def _given(seen: Any, shapes: Sequence[Sequence[Any]], are_in_order: bool = False) -> Any:
    """What a call gives, from what was seen. `are_in_order`: whether all arrays that a pure function is handed lie in C order."""
    if isinstance(seen, Array):
        likeliest = [places[0] if places else None for places in seen.extents]
        sizes = [FromData() if e is None else e if isinstance(e, int) else shapes[e[0]][e[1]] for e in likeliest]
        is_in_order = are_in_order and seen.is_in_c_order
        return Gives(
            seen.dtype, sizes, is_array=seen.is_array, is_writeable=seen.is_writeable, is_in_c_order=is_in_order
        )
    if isinstance(seen, type):
        return Gives(np.dtype({bool: np.bool_, int: np.int64, float: np.float64}[seen]), (), seen)
    if isinstance(seen, dict):
        return {key: _given(item, shapes, are_in_order) for key, item in seen.items()}
    items = [_given(item, shapes, are_in_order) for item in seen]
    return type(seen)(*items) if hasattr(seen, "_fields") else type(seen)(items)
