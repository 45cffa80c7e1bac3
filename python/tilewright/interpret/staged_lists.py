"""Lists that a loop of the run fills: Python's own, made at each call and held until it ends.

A trace keeps lists as Python does. Where a loop or a branch that stays one changes a list, the trace begins again with that
list as a stage: each append() is one, in the order of the program.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops.handed_to_stages import Copied
from ..ops.held_by_stages import of_its_kind
from ..ops.operands import dtype_of
from ..ops.stage_rows import FromData, Gives
from ..ops.stages import Order, add_stage
from ..symbolic.arrays import SymArray, was_written
from ..symbolic.from_data import size_from_data
from ..symbolic.graph import INT64, Value
from ..symbolic.number import refuse_kinds
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.stages import Raw, call_of
from ..symbolic.storage import Storage
from .array_lists import FormOfList
from .sequences import Sequence as SequenceOfItems

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

_KINDS = {bool: np.dtype(np.bool_), int: INT64, float: np.dtype(np.float64)}

FILLING = ("append", "extend", "insert", "pop", "reverse", "clear")


class StagedList:
    """A list of the traced function."""

    def __init__(
        self, tracer: Tracer, items: Sequence[Any], part_of: tuple[StagedList, slice] | None = None,
        given: tuple[str, Value, Any] | None = None, place: Any = None,
    ) -> None:  # fmt: skip
        """`part_of`: a list, and which of its items. `given`: the expression for a list that a stage gave, the value of that
        stage, and what each item is. `place`: of the list's text."""
        self.tracer = tracer
        self.held = f"l{len(tracer.stages) + 1}"
        self.place, self.is_taken_for_empty = place, False
        # What its elements are, Gives or tuples and lists of them: each kind once. One that an iteration reads before a later
        # line appends to it has what an earlier trace has found.
        self.forms: list[Any] = list(tracer.list_forms.get(("staged", place), ()))
        self.inner: list[tuple[list[Any], list[Any]]] = []  # lists among its elements, and what they held
        # Arrays of which it holds copies: their memory, and what that was.
        self.elements: list[tuple[Storage, Value]] = []
        if given is not None:
            expression, called, form = given
            self.forms.append(form)
            number = tracer.call(
                call_of("builtins.list", list, [Raw(expression, expression)], {}, 1, self.held), [called], INT64, ()
            )
        elif part_of is None:
            number = tracer.call(call_of("builtins.list", list, [], {}, 1, self.held), [tracer.constant(0)], INT64, ())
        else:
            whole, part = part_of
            whole.refuse_changed()
            self.forms, self.elements, self.inner = whole.forms, whole.elements, whole.inner
            of = f"held[{whole.held!r}].__getitem__"
            number = add_stage(
                tracer, "builtins.list.__getitem__", list.__getitem__, [part], {}, (),
                Order(whole.order, of, shown=f"{whole.held}.__getitem__"), self.held,
            )  # fmt: skip
        self.order: SymArray = SymArray.fresh(tracer, number, is_scalar=False)
        # What an element is a part of; that stays as it was, since nobody writes into elements.
        self.whole = (SymArray.fresh(tracer, number, is_scalar=False).storage, number)
        tracer.orders.append(self.order)
        for item in items:
            self.append(item)

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if name == "append" and len(args) == 1 and not kwargs:
            return self.append(args[0])
        if name == "insert" and len(args) == 2 and not kwargs:  # noqa: PLR2004
            return self._put("insert", args[1], args[0])
        if name == "pop" and len(args) <= 1 and not kwargs:
            self.refuse_changed()
            return self._element("pop", args)
        if name in ("reverse", "clear") and not args and not kwargs:
            return self._stage(name, [], ())
        if name == "extend" and len(args) == 1 and not kwargs and type(args[0]) in (list, tuple):
            for item in args[0]:
                self.append(item)
            return None
        raise self.refused(f".{name}()")

    def refused(self, what: str) -> Exception:
        return self.tracer.error(f"{what} of a list that a loop of the run fills", "there is no rule for it",
                                 "Append to it, and make an array of it (np.array).")  # fmt: skip

    def append(self, item: Any) -> None:
        if getattr(item, "kinds", None) and item.which is not None:
            self._append_of_its_kind(item)
        else:
            self._put("append", item)

    def _put(self, method: str, item: Any, *before: Any) -> None:
        self._note(self._form_of(item))
        self._stage(method, [*before, self._kept(item)], ())

    def _note(self, form: Any) -> None:
        if form in self.forms:
            return
        self.forms.append(form)
        if self.is_taken_for_empty:
            moving = self.tracer.loops.keys() | self.tracer.reads.keys()
            if any(moving & self.tracer.resolve(size).symbols() for size in _sizes_in(form)):
                raise self.refused("reading elements, whose sizes data decide, before the line that puts them in,")
            raise FormOfList(("staged", self.place), (form,))

    def _is_empty(self) -> bool:
        """Whether nothing has been put into it so far: what is read is no element of it then. Where something is put into it
        later the trace begins again."""
        self.is_taken_for_empty |= not self.forms and self.place is not None
        return self.is_taken_for_empty

    def _kept(self, item: Any) -> Any:
        """An element as the stage keeps it, whose operand is memory of the plan."""
        if type(item) in (tuple, list):
            if type(item) is list:
                self.inner.append((item, list(item)))
            return type(item)(map(self._kept, item))
        if isinstance(item, SymArray) and item.sizes:
            if item.is_made_read_only() is not False:  # the list has a copy, which may be written
                raise self.refused("an element that is read-only")
            of = [(item.storage, item.storage.value), *(item.storage.chosen_from or ())]
            self.elements += of
            self.tracer.in_lists.update((id(storage), storage) for storage, _ in of)
            return Copied(item)
        return item.of_one_kind() if getattr(item, "kinds", None) else item

    def _append_of_its_kind(self, item: Any) -> None:
        """A number, the kind of which the data decide: Python makes it, and it is appended."""
        for kind in item.kinds:
            python = {"bool": bool, "int": int, "float": float}.get(kind)
            form = (
                Gives(_KINDS[python], (), python)
                if python
                else Gives(item.dtype if isinstance(item, SymArray) else item.value.dtype)
            )
            self._note(form)
        held = f"r{len(self.tracer.stages) + 1}"
        self.order.write(of_its_kind(self.tracer, item, self.order.read()))
        self._stage("append", [Raw(f"held[{held!r}]", held)], ())

    def _stage(self, method: str, args: Sequence[Any], gives: Any) -> Any:
        order = Order(self.order, f"held[{self.held!r}].{method}", shown=f"{self.held}.{method}")
        return add_stage(self.tracer, f"builtins.list.{method}", getattr(list, method), list(args), {}, gives, order)

    def _form_of(self, item: Any) -> Any:
        if type(item) in (tuple, list) and item:
            return type(item)(map(self._form_of, item))
        if not (isinstance(item, SymArray) and item.kinds == {"float", "scalar"} and item.dtype == _KINDS[float]):
            # np.float64 is a float, of the same value: that one stands for both.
            refuse_kinds(item, "appending the value")
        number = item.hint if isinstance(item, (SymScalar, SymInt)) else item
        if isinstance(item, SymArray):
            return Gives(item.dtype, item.sizes)
        if type(number) in _KINDS:
            return Gives(_KINDS[type(number)], (), type(number))
        if isinstance(item, np.generic):
            return Gives(dtype_of(item))
        raise self.refused(f"an element of type {type(item).__name__}")

    def refuse_changed(self) -> None:
        """Python's list has the arrays themselves, and sees what is written into them."""
        if not self.tracer.is_visible(self.order.storage.value):
            raise self.tracer.error("a list that an iteration of a loop of the run makes, behind the loop",
                                    "it is kept for one iteration alone")  # fmt: skip
        changed = any(
            len(now) != len(then) or any(a is not b for a, b in zip(now, then, strict=True)) for now, then in self.inner
        )
        if changed or any(was_written(self.tracer, *element) for element in self.elements):
            raise self.tracer.error("reading a list that a loop of the run fills, after one of its arrays was written",
                                    "it holds copies", "Append a copy (.copy()).")  # fmt: skip

    def _common(self, what: str) -> Any:
        if len({_shape_of(form) for form in self.forms}) != 1:
            raise self.refused(f"{what}, with elements of several kinds or none,")
        return self.forms[0]

    def length(self) -> RunScalar:
        return self._stage("__len__", [], Gives(INT64, (), int))

    def __getitem__(self, key: Any) -> Any:
        self.refuse_changed()
        if not self._is_empty():
            self._common("an element")
        if isinstance(key, slice) and all(map(_is_whole, (key.start, key.stop, key.step))) and key.step != 0:
            return StagedList(self.tracer, [], (self, key))
        if isinstance(key, slice):
            raise self.refused("a part")
        return self._element("__getitem__", [key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.refuse_changed()
        if isinstance(key, slice):
            raise self.refused("assigning a part")
        self._put("__setitem__", value, key)

    def _refuse(self, *others: Any) -> Any:
        if any(isinstance(one, SymArray) and one.sizes for one in others):
            return NotImplemented  # which is the array's operator
        raise self.refused("an operator")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __imul__ = __contains__ = __delitem__ = _refuse
    __hash__ = object.__hash__

    def _element(self, method: str, args: Sequence[Any]) -> Any:
        if self._is_empty():
            return self._stage(method, args, Gives(INT64, (), int))  # which raises, or stands for what is not known yet
        form = self._common("an element")
        if any(each != form for each in self.forms):
            form = functools.reduce(_joined, self.forms)
            if form is None:
                raise self.refused("an element, of several types,")
        if _holds_lists(form):
            raise self.refused("an element, a list,")
        given = _with_kinds(form, self._stage(method, args, self._to_give(form)))
        for one in _arrays_in(given):
            # Who writes into it writes into the list's element.
            one.storage.chosen_from = (self.whole, *self.elements)
        return given

    def _to_give(self, form: Any) -> Any:
        """An element's form as a stage gives it here: a loop that filled the list may be over."""
        if isinstance(form, Gives):
            kind = None if form.kind is _EITHER else form.kind
            return Gives(form.dtype, [self._extent_to_give(size) for size in form.shape], kind)
        return type(form)(map(self._to_give, form))

    def _extent_to_give(self, size: Size) -> Any:
        is_moving = self.tracer.resolve(size).symbols() & self.tracer.loops.keys()
        return FromData() if is_moving else SymInt(self.tracer, size)

    def as_array(self) -> SymArray:
        """As NumPy makes it."""
        self.refuse_changed()
        self._common("an array")
        dtypes = {_dtype_of_array(form) for form in self.forms}
        if len(dtypes) != 1:
            raise self.refused("an array, with elements of several types,")
        extents = _extents(self.forms[0])
        if extents is None:
            raise self.refused("an array, with elements of several lengths,")
        sizes = [size if isinstance(size, int) else self._extent_to_give(size) for size in extents]
        made: SymArray = add_stage(
            self.tracer, "numpy.array", np.array, [Raw(f"held[{self.held!r}]", self.held)], {},
            Gives(dtypes.pop(), (FromData(), *sizes)), Order(self.order, ""),
        )  # fmt: skip
        return made

    def items(self) -> SequenceOfItems:
        """For a for, which goes through the elements that are there when it begins."""
        self.refuse_changed()
        if self._is_empty():
            return SequenceOfItems(self.tracer, Size.constant(0), self.__getitem__)
        length = size_from_data(self.tracer, self.length().value, "n", Size.constant(0), None)
        return SequenceOfItems(self.tracer, length, self.__getitem__)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def number(self) -> Any:
        """The number under which the list itself is held, to be returned."""
        self.refuse_changed()
        held = f"r{len(self.tracer.stages) + 1}"
        stage = call_of("builtins.list", list, [Raw(f"held[{self.held!r}]", self.held)], {}, 1, held)
        return self.tracer.call(stage, [self.order.read()], INT64, ())


def _is_whole(bound: Any) -> bool:
    """Whether it is a bound of a slice that a stage can be handed."""
    is_of_the_run = isinstance(bound, RunScalar) and type(bound.hint) is int
    return bound is None or type(bound) is int or isinstance(bound, SymInt) or is_of_the_run


def _shape_of(form: Any) -> Any:
    """Equal for elements that are used alike: numbers of Python and of NumPy, arrays of the same rank."""
    if isinstance(form, Gives):
        return str(form.dtype), len(form.shape)
    return type(form), tuple(map(_shape_of, form))


def _holds_lists(form: Any) -> bool:
    return not isinstance(form, Gives) and (type(form) is list or any(map(_holds_lists, form)))


_EITHER = np.floating  # the kind of an element that is NumPy's number or Python's, of the same value


def _joined(one: Any, other: Any) -> Any:
    """The form of elements of either form; None where they are used in different ways."""
    if one == other or one is None or other is None:
        return one if one == other else None
    if isinstance(one, Gives) or isinstance(other, Gives):
        are_floats = isinstance(one, Gives) and isinstance(other, Gives) and not one.shape and not other.shape
        are_floats = are_floats and one.dtype == other.dtype and {one.kind, other.kind} <= {float, None, _EITHER}
        return Gives(one.dtype, (), _EITHER) if are_floats else None
    parts = list(map(_joined, one, other)) if type(one) is type(other) and len(one) == len(other) else [None]
    return None if any(part is None for part in parts) else type(one)(parts)


def _with_kinds(form: Any, given: Any) -> Any:
    """An element, whose numbers say of which kind they may be."""
    if not isinstance(form, Gives):
        return type(form)(map(_with_kinds, form, given))
    if form.kind is _EITHER:
        given.kinds = frozenset({"float", "scalar"})
    return given


def _arrays_in(given: Any) -> Iterator[SymArray]:
    if isinstance(given, SymArray) and given.sizes:
        yield given
    elif isinstance(given, (tuple, list)):
        for one in given:
            yield from _arrays_in(one)


def _sizes_in(form: Any) -> Iterator[Size]:
    if isinstance(form, Gives):
        yield from (size for size in form.shape if isinstance(size, Size))
    else:
        for one in form:
            yield from _sizes_in(one)


def _dtype_of_array(form: Any) -> np.dtype[Any]:
    """What NumPy makes of such elements together: numbers of Python are int64, float64 and bool there."""
    return form.dtype if isinstance(form, Gives) else np.result_type(*map(_dtype_of_array, form))


def _extents(form: Any) -> list[Any] | None:
    """The axes of one element in an array of all; None where they differ."""
    if isinstance(form, Gives):
        return list(form.shape)
    inner = [_extents(one) for one in form]
    same = all(one is not None and one == inner[0] for one in inner)
    return [len(form), *inner[0]] if same and inner[0] is not None else None
