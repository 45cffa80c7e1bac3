"""Lists of the traced function that lie in an array of the program: what a comprehension over many items makes, and lists
that a loop of the run indexes. All items are numbers of one type, or arrays or lists of such of one shape.

What the items are is known when the first one is made: the trace begins again then, with the array made before the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Sequence as Arguments
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from ..light_dataclass import dataclass
from ..ops import call_numpy
from ..ops.held_by_stages import held_items
from ..ops.python_numbers import number_of_the_run
from ..symbolic.arrays import SymArray
from ..symbolic.graph import INT64, Value
from ..symbolic.run_numbers import RunComplex, RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from .frame import InArray, Pending
from .sequences import Sequence

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

_KINDS: dict[type, np.dtype[Any]] = {bool: np.dtype(np.bool_), int: INT64, float: np.dtype(np.float64)}
Place = tuple[str, int, int]


@dataclass(frozen=True)
class ListForm:
    """What each item of a list is. `kind`: of Python's numbers, None of NumPy's and of arrays, "either" where some are
    floats and some np.float64: nobody is handed such a list. `shape`: of one item that is an array, or a list of numbers."""

    dtype: np.dtype[Any]
    kind: type | None | Literal["either"]
    shape: tuple[Size, ...] = ()
    row: Literal["", "array", "list"] = ""


class FormOfList(BaseException):  # noqa: N818 - the trace begins again, and no handler of errors is to see it
    """The list that is made at `place` has such items; None: it is none that an array can hold."""

    def __init__(self, place: Any, form: Any) -> None:
        super().__init__(place)
        self.place, self.form = place, form


class ListItem(ast.expr):
    """Stands for an expression whose value becomes an item of the list that is made at `place`."""

    _fields = ("value",)

    value: ast.expr
    place: Place

    def __init__(self, value: ast.expr | None = None, place: Place | None = None) -> None:
        """Of neither: for copies, which get both afterwards."""
        super().__init__()
        if value is not None and place is not None:
            self.value, self.place = value, place
            ast.copy_location(self, value)


class ArrayList(InArray):
    """Such a list. What it cannot do begins the trace again, with a list of Python's at its place."""

    is_of_the_call = False  # the caller's

    def __init__(  # noqa: PLR0917
        self, tracer: Tracer, array: SymArray, form: ListForm, place: Place, is_row: bool = False
    ) -> None:
        """`is_row`: of another such list, with which it changes its items, but not its length."""
        self.tracer, self.array, self.form, self.place, self.is_row = tracer, array, form, place, is_row
        self.home = tracer.blocks[-1]

    def give_up(self) -> NoReturn:
        raise FormOfList(self.place, None)

    def not_visible(self) -> Pending:
        """What a variable holds behind the loop or branch in which the list was made."""
        return Pending.refused(lambda: FormOfList(self.place, None))

    def length(self) -> Any:
        return self.array.shape[0]

    def as_array(self) -> SymArray:
        """As NumPy makes it."""
        if self.form.row or self.form.dtype != np.float64:
            self._refuse_none()  # of which it makes an array of no float64
        return self.array.copy()

    def _refuse_none(self) -> None:
        tracer, length = self.tracer, self.tracer.resolve(self.array.sizes[0])
        some = None if tracer.is_of_data(length) else tracer.decide_if_same_in_all_iterations(">=", length, 1)
        if some is False or (some is None and tracer.checked is None):
            self.give_up()
        if some is None:
            tracer.check(tracer.truth("greater_equal", self.length().as_value(), 1), "an array of an empty list")

    def items(self) -> Sequence:
        length = self.tracer.resolve(self.array.sizes[0])
        return Sequence(self.tracer, length, self.__getitem__, (self,), is_of_list=True)

    def number(self) -> Value:
        """The number under which it is held as a list of Python's, to be returned."""
        as_python, rows_are_lists = isinstance(self.form.kind, type), self.form.row == "list"
        is_deep = rows_are_lists and len(self.form.shape) > 1 and not as_python
        # Python's list has a float here and an np.float64 there, or is one of views.
        if self.form.kind == "either" or self.array.storage.chosen_from or is_deep:
            self.give_up()
        return held_items(self.tracer, self.array, as_python=as_python, rows_are_lists=rows_are_lists)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):  # another list of the same rows
            part = self.array[key]
            return ArrayList(self.tracer, part if self.form.row else part.copy(), self.form, self.place)
        if not is_position(key):
            self.give_up()
        item = self.array[key]
        if self.form.row == "list":
            rest = self.form.shape[1:]
            inner = ListForm(self.form.dtype, self.form.kind, rest, "list" if rest else "")
            return ArrayList(self.tracer, item, inner, self.place, is_row=True)
        if self.form.row == "array" or self.form.kind is None:
            return item
        if self.form.kind == "either":
            number = SymArray.fresh(self.tracer, item.read())
            number.kinds = frozenset({"float", "scalar"})
            return number
        return number_of_the_run(self.tracer, self.form.kind, item)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not is_position(key) or self.form.row:
            self.give_up()
        self.array[key] = self._number(value)

    def _number(self, value: Any) -> Any:
        """A number as the list holds it; one of another type begins the trace again, with room for both."""
        both = _joined(form_of(self.tracer, value), self.form)
        if both != self.form:
            raise FormOfList(self.place, _with_numbers(self.tracer.list_forms.get(self.place), both))
        return _as_number(value)

    def given_to(self, function: Any) -> Any:
        """What a builtin that takes all items gives; NotImplemented where there is no rule for it."""
        if function is list:
            return self[:]
        if function in (any, all) and not self.form.row:
            truth = call_numpy(self.tracer, np.any if function is any else np.all, (self.array,), {})
            return number_of_the_run(self.tracer, bool, truth)
        return NotImplemented

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def call(self, name: str, args: Arguments[Any], kwargs: dict[str, Any]) -> Any:
        if name == "copy" and not args and not kwargs:
            return self[:]
        keeps_its_length = self.form.row or self.is_row or self.home is not self.tracer.blocks[-1]
        if name != "append" or len(args) != 1 or kwargs or keeps_its_length:
            self.give_up()
        number, last = self._number(args[0]), self.array.shape[0]
        longer = call_numpy(self.tracer, np.empty, ((last + 1,), self.form.dtype), {})
        longer[:last], longer[last] = self.array, number
        self.array = longer
        return None

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'list'")

    def _other(self, *others: Any) -> Any:
        if any(isinstance(one, SymArray) and one.sizes for one in others):
            return NotImplemented  # which is the array's operator
        self.give_up()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _other
    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __imul__ = __contains__ = __delitem__ = __bool__ = __len__ = (
        _other
    )


def _as_number(value: Any) -> Any:
    """A number of either kind as NumPy's."""
    return value.of_one_kind() if getattr(value, "kinds", None) else value


def is_position(key: Any) -> bool:
    if isinstance(key, SymArray):
        return key.is_scalar and key.dtype.kind in "iu"
    number = key.hint if isinstance(key, SymScalar) else key
    return isinstance(number, (int, SymInt, np.integer)) and not isinstance(number, (bool, np.bool_))


def form_of(tracer: Tracer, item: Any) -> ListForm | None:
    """None where no array holds such items as Python's list does."""
    if isinstance(item, ArrayList):
        if item.form.row == "array" or item.is_of_the_call:
            return None
        return ListForm(item.form.dtype, item.form.kind, tuple(map(tracer.resolve, item.array.sizes)), "list")
    if type(item) is list:
        forms = {form_of(tracer, one) for one in item}
        inner = forms.pop() if len(forms) == 1 else None
        if inner is None or inner.row:
            return None
        return ListForm(inner.dtype, inner.kind, (Size.constant(len(item)),), "list")
    if getattr(item, "kinds", None):
        is_float = isinstance(item, SymArray) and item.kinds == {"float", "scalar"} and item.dtype == np.float64
        return ListForm(item.dtype, "either") if is_float else None
    if isinstance(item, RunComplex):
        return None
    if isinstance(item, SymArray):
        if item.dtype.kind not in "biuf" or (not item.sizes and not item.is_scalar):
            return None
        if item.sizes and item.is_made_read_only() is not False:  # rows of an array may be written
            return None
        sizes = tuple(map(tracer.resolve, item.sizes))
        return ListForm(item.dtype, None, sizes, "array" if sizes else "")
    if isinstance(item, np.generic):
        return ListForm(item.dtype, None) if item.dtype.kind in "biuf" else None
    kind = int if isinstance(item, SymInt) else type(item.hint if isinstance(item, SymScalar) else item)
    return ListForm(_KINDS[kind], kind) if kind in _KINDS else None


def _joined(one: ListForm | None, other: ListForm | None) -> ListForm | None:
    """Of items of either form; None where no array holds both."""
    if one is None or other is None or one == other:
        return one if one == other else None
    are_floats = one.dtype == other.dtype == np.float64 and {one.kind, other.kind} <= {float, None, "either"}
    if not are_floats or (one.shape, one.row) != (other.shape, other.row) or one.row == "array":
        return None
    return replace(one, kind="either")


def _with_numbers(whole: ListForm | None, part: ListForm | None) -> ListForm | None:
    """The form of a list in which, or in a row of which, the numbers are those of another one."""
    return None if whole is None or part is None else replace(whole, kind=part.kind)


def list_of(array: SymArray, place: Place) -> Any:
    """What array.tolist() gives; None where there is no such list."""
    tracer = array.tracer
    kind = {"b": bool, "i": int, "u": int, "f": float}.get(array.dtype.kind)
    if kind is None or array.dtype == np.uint64 or tracer.list_forms.get(place, True) is None:
        return None
    if not array.sizes:
        return number_of_the_run(tracer, kind, array)
    rest = tuple(map(tracer.resolve, array.sizes[1:]))
    form = ListForm(_KINDS[kind], kind, rest, "list" if rest else "")
    return ArrayList(tracer, array.astype(_KINDS[kind]), form, place)


def list_of_elements(array: SymArray, place: Place) -> ArrayList | None:
    """`list(array)`, of NumPy's numbers; None where Python's list is made, element by element."""
    tracer = array.tracer
    is_of_numbers = len(array.sizes) == 1 and array.dtype.kind in "biuf" and not getattr(array, "kinds", None)
    if not is_of_numbers or tracer.checked is None or tracer.list_forms.get(place, True) is None:
        return None
    return ArrayList(tracer, array.copy(), ListForm(array.dtype, None), place)


def repeated(tracer: Tracer, place: Place, items: list[Any], times: Any) -> ArrayList | list[Any]:
    """`[number] * times`: Python's list, until the trace finds out that a loop of the run indexes it or writes into it."""
    form = tracer.list_forms.get(place)
    if form is not None:
        return ArrayList(tracer, call_numpy(tracer, np.full, ((times,), items[0], form.dtype), {}), form, place)
    made: list[Any] = items * times
    _may_lie_in_an_array(tracer, place, made, only_written=False)
    return made


def list_of_range(tracer: Tracer, place: Place, numbers: Any) -> ArrayList | list[Any]:
    """`list(range(n))`: Python's list, until the trace finds out that a loop of the run writes into it."""
    form = tracer.list_forms.get(place)
    if form is not None:
        return ArrayList(tracer, call_numpy(tracer, np.array, (numbers,), {}), form, place)
    made = list(numbers)
    _may_lie_in_an_array(tracer, place, made, only_written=True)
    return made


def _may_lie_in_an_array(tracer: Tracer, place: Place, made: list[Any], only_written: bool) -> None:
    tracer.cache.setdefault("may lie in arrays", {})[id(made)] = made, place, only_written


def of_comprehension(tracer: Tracer, place: Place, made: list[Any]) -> list[Any]:
    """What a comprehension made item by item: Python's list, until a loop of the run indexes its rows or writes its numbers."""
    kind = type(made[0]) if made else None
    if tracer.checked is not None and place not in tracer.list_forms and (kind is list or kind in _KINDS):
        _may_lie_in_an_array(tracer, place, made, only_written=kind is not list)
    return made


def refuse_plain(tracer: Tracer, held: Any, key: Any, is_written_in_region: bool) -> None:
    """Of such a list, where it has to lie in an array, the trace begins again."""
    if type(held) is not list or not held:
        return
    known, place, only_written = tracer.cache.get("may lie in arrays", {}).get(id(held), (None, None, False))
    if (
        known is not held
        or (only_written and not is_written_in_region)
        or tracer.list_forms.get(place, True) is None
        or not is_position(key)
    ):
        return
    in_loop = isinstance(key, SymInt) and not tracer.loops.keys().isdisjoint(key.size.symbols())
    if in_loop or is_written_in_region or isinstance(key, (RunScalar, SymArray)):
        raise FormOfList(place, form_of(tracer, held[0]))


def made_arrays(tracer: Tracer) -> set[Place]:
    """The places of lists of which arrays are made, and nothing else."""
    places: set[Place] = tracer.cache.setdefault("lists made arrays", set())
    return places


def as_row(tracer: Tracer, place: Place, item: Any, is_held: bool) -> Any:
    """A list or a tuple of numbers of several types as the row that it becomes in the array that is made of its list."""
    is_row = type(item) is tuple or (type(item) is list and not is_held)
    if place not in made_arrays(tracer) or not is_row or form_of(tracer, item) is not None:
        return item
    return call_numpy(tracer, np.array, (item,), {}) if all(map(_is_a_number, item)) else item


def _is_a_number(item: Any) -> bool:
    if type(item) in (list, tuple):
        return all(map(_is_a_number, item))
    if isinstance(item, SymArray):
        return item.is_scalar
    return isinstance(item, (int, float, complex, np.generic, SymInt, SymScalar, RunComplex))


def check_item(tracer: Tracer, place: Place, item: Any, is_held: bool) -> Any:
    """The item as it is put into the array. `is_held`: some variable holds it too."""
    form = form_of(tracer, item)
    if form is not None and form.row and not _is_own(tracer, item, is_held):
        # Who writes into the one sees it in the other.
        is_kept = form.row == "array" and _keep_source(tracer, place, item)
        form = form if is_kept else None
    check_form(tracer, place, form)
    if isinstance(item, ArrayList):
        return item.array
    if type(item) is list:
        return call_numpy(tracer, np.array, (item,), {})
    return _as_number(item)


def check_form(tracer: Tracer, place: Place, form: ListForm | None) -> None:
    """That the list which is made there has room for such items."""
    known = tracer.list_forms.get(place)
    if form is None or any(size.symbols() & (tracer.loops.keys() | tracer.reads.keys()) for size in form.shape):
        raise FormOfList(place, None)
    if known is None or (both := _joined(form, known)) != known:
        raise FormOfList(place, form if known is None else both)


def _is_own(tracer: Tracer, item: Any, is_held: bool) -> bool:
    """Whether nobody else sees the memory of an item."""
    array = item.array if isinstance(item, ArrayList) else item
    if not isinstance(array, SymArray):
        return not is_held
    return not is_held and not array.chain and array.storage.value.home is tracer.blocks[-1]


def _keep_source(tracer: Tracer, place: Place, item: SymArray) -> bool:
    """Whether the memory that an item shows is one from outside of the loop: nobody may write it while the list is used."""
    storage = item.storage
    if storage.value.home is tracer.blocks[-1] or storage.part_of or storage.chosen_from or storage.elements_of:
        return False
    tracer.cache["list sources"][place].setdefault(id(storage), (storage, storage.version))
    return True


def begin_list(tracer: Tracer, length: Size, place: Place) -> ArrayList | None:
    """A list of that many items, which are not there yet; None where it is not known yet what they are."""
    form = tracer.list_forms.get(place)
    tracer.cache.setdefault("list sources", {})[place] = {}
    if form is None:
        return None
    shape = tuple(SymInt(tracer, size) for size in (length, *form.shape))
    return ArrayList(tracer, call_numpy(tracer, np.empty, (shape, form.dtype), {}), form, place)


def end_list(made: ArrayList) -> None:
    """Behind the loop: whose memory its items are in Python."""
    sources = made.tracer.cache["list sources"].pop(made.place)
    if any(storage.version != version for storage, version in sources.values()):
        made.give_up()
    if sources:
        made.array.storage.chosen_from = tuple((storage, storage.value) for storage, _ in sources.values())
