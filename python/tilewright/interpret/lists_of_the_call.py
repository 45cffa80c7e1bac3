"""Long lists of the caller's: numbers of one type, or tuples or lists of such (the edges of a graph, an image), as arrays that are
made of them at each call."""

from __future__ import annotations

from collections.abc import Sequence as Arguments
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..guards import Path, column_of
from ..ops import call_numpy
from ..ops.python_numbers import number_of_the_run
from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.stages import HandedAsList
from ..symbolic.trace_limits import MAX_UNROLLED_ITERATIONS
from ..symbolic.tracer import Tracer
from .array_lists import ArrayList, ListForm, is_position
from .sequences import are_numbers

if TYPE_CHECKING:
    from .arguments import Inputs


_MOST_ONE_BY_ONE = 400  # numbers of a list that may be followed item by item as well
_DEEPEST = 64  # dimensions that an array may have


class ListOfTheCall(ArrayList, HandedAsList):
    """A list of the caller's, of numbers, of tuples of such, as an array of each place in them, or of lists, as an array of theirs. It is read alone: nothing
    else that Python does with a list is done with its copies."""

    is_of_the_call = True

    def __init__(  # noqa: PLR0917
        self, tracer: Tracer, columns: list[SymArray], types: list[type], has_tuples: bool, place: Any
    ) -> None:
        rest = tuple(map(tracer.resolve, columns[0].sizes[1:]))
        form = ListForm(columns[0].dtype, types[0], rest, "list" if rest else "")
        super().__init__(tracer, columns[0], form, place)
        self.columns, self.types, self.has_tuples = columns, types, has_tuples

    def give_up(self) -> NoReturn:
        if self.place in self.tracer.lists_found:
            super().give_up()
        raise self.tracer.error(
            "doing more with a long list of numbers from outside than to go through it and to index it",
            "it is read as an array",
            LEAVE_IT_OUT,
        )

    def as_array(self) -> SymArray:
        if not self.has_tuples:
            return super().as_array()
        made: SymArray = call_numpy(self.tracer, np.stack, (tuple(self.columns),), {"axis": 1})
        return made

    def __getitem__(self, key: Any) -> Any:
        if self.form.row:
            if not is_position(key):
                self.give_up()
            return ListOfTheCall(self.tracer, [self.array[key]], self.types, False, self.place)
        if not self.has_tuples:
            return super().__getitem__(key)
        if not is_position(key):
            self.give_up()
        pairs = zip(self.types, self.columns, strict=True)
        return tuple(number_of_the_run(self.tracer, kind, column[key]) for kind, column in pairs)

    def given_to(self, function: Any) -> Any:
        if (self.has_tuples or self.form.row) and function in (list, any, all):
            self.give_up()
        return super().given_to(function)

    def call(self, name: str, args: Arguments[Any], kwargs: dict[str, Any]) -> Any:
        if self.has_tuples or self.form.row or name != "copy":
            self.give_up()
        return super().call(name, args, kwargs)

    def number(self) -> NoReturn:
        self.give_up()

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self.give_up()


def list_of_the_call(inputs: Inputs, value: list[Any], path: Path) -> ListOfTheCall | None:
    """None where it is none, or something is done with it for which it has to be Python's."""
    tracer, place = inputs.tracer, ("a list of the call", path)
    if not value or not tracer.lists_of_the_call or tracer.untaken is not None:
        return None
    if tracer.list_forms.get(place, True) is None:
        return None
    if type(value[0]) is list:
        return _rows_of_the_call(inputs, value, path, place)
    if len(value) <= MAX_UNROLLED_ITERATIONS or not are_numbers(value, of_python=True):
        return None
    if any(type(one) is bool for one in (value[0] if type(value[0]) is tuple else value[:1])):
        return None  # which are options where calls are handed them
    width = len(value[0]) if type(value[0]) is tuple else 0
    keys = [(width, k, type(one)) for k, one in enumerate(value[0] if width else value[:1])]
    columns = [inputs.column(column_of(key, value), (*path, ("column", key))) for key in keys]
    for column in columns[1:]:
        tracer.unify(columns[0].sizes[0], column.sizes[0])
    if len(value) * len(columns) <= _MOST_ONE_BY_ONE:
        tracer.lists_found.add(place)
    return ListOfTheCall(tracer, columns, [kind for _, _, kind in keys], bool(width), place)


def _rows_of_the_call(inputs: Inputs, value: list[Any], path: Path, place: Any) -> ListOfTheCall | None:
    """A list of many numbers in lists, as an array; what else is done with it follows them one by one."""
    depth, count, first = 0, 1, value
    while type(first) is list and first and depth < _DEEPEST:  # one may be in itself
        depth, count, first = depth + 1, count * len(first), first[0]
    if type(first) not in (bool, int, float) or count <= MAX_UNROLLED_ITERATIONS:
        return None
    key = (1 - depth, 0, type(first))
    try:
        numbers = column_of(key, value)
    except ValueError:
        return None
    inputs.tracer.lists_found.add(place)
    array = inputs.column(numbers, (*path, ("column", key)))
    return ListOfTheCall(inputs.tracer, [array], [type(first)], False, place)
