"""Lists to which a loop appends: items of one type are put into an array that is made before the loop, with room for as
many as there can be.

    for v in x:                      for k, v in enumerate(x):
        if v > 0:            ->          if v > 0:
            l.append(v * 2)                  filled[count] = v * 2; count = count + 1

Items may be read (`l.append(l[-1] * v)`), where they are numbers: `filled[count - 1]`.

Where `for`s in it append, how many items there can be is known when their lengths are: the trace begins again then. Where a
`while` does there is room for many, and NumPy runs a call that has more.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..light_dataclass import dataclass
from ..symbolic.arrays import SymArray
from ..symbolic.from_data import clamped_position, value_of_int
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.sizes import Size
from .array_lists import (
    ArrayList,
    FormOfList,
    ListItem,
    as_row,
    begin_list,
    check_form,
    check_item,
    end_list,
    is_position,
    made_arrays,
)
from .carried import memory_in, reached
from .frame import InArray, Pending
from .sequences import Sequence, SymRange, sequence_of
from .source import DEFINITIONS, inside, is_read_by_others
from .state import Part, State

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer


_MOST_ITEMS, _MOST_BYTES, _LEAST_ITEMS = 1 << 16, 1 << 23, 1 << 8  # of a list to which a `while` appends


@dataclass(frozen=True)
class _Appended:
    """A list's variable, how many places of the body append to it, and whether each iteration does so once. `by_inner`:
    whether loops in the body append too. `is_open`: whether data say how often it is appended to. `reads`: of how many items
    at its end the place is known, where it has as many before the loop."""

    name: str
    places: int
    is_one_each: bool
    by_inner: bool
    is_open: bool
    reads: int

    @property
    def filled(self) -> str:
        return f" items of {self.name}"

    @property
    def count(self) -> str:
        return f" how many items of {self.name}"


@dataclass
class _Room:
    """How many items one iteration appends at most, counted while its body runs: a number for each loop that is open."""

    tracer: Tracer
    place: Any
    counts: list[Size] = field(default_factory=list)
    regions: int = 0  # loops that were open before

    @property
    def known(self) -> Size | None:
        """As an earlier trace has found it."""
        held, _ = self.tracer.list_forms.get((*self.place, "room"), (None, True))
        return held

    def _note(self, is_guess: bool) -> None:
        self.tracer.list_forms[*self.place, "room"] = self.counts[0], is_guess

    def _open(self) -> int:
        return len(self.tracer.open_loops - self.tracer.reads.keys())

    def add(self) -> None:
        if self._open() - self.regions > len(self.counts):
            raise FormOfList(self.place, None)  # a loop that is not counted
        self.counts[-1] += 1

    @contextmanager
    def loop(self, iterations: Size) -> Iterator[None]:
        self.counts.append(Size.constant(0))
        try:
            yield
        except FormOfList as found:
            self._add_first(found)
            raise
        finally:
            count = self.counts.pop()
            if self.counts and count.terms:
                self.counts[-1] += count * self._most(iterations)

    def _add_first(self, found: FormOfList) -> None:
        """The item that says what the items are, with which a trace ends."""
        if found.place == self.place and found.form is not None and not any(count.terms for count in self.counts):
            self.counts[-1] += 1

    def _most(self, iterations: Size) -> Size:
        most = self.tracer.extreme(iterations, highest=True)
        if most is None or most.symbols() & (self.tracer.loops.keys() | self.tracer.reads.keys()):
            raise FormOfList(self.place, None)
        return most

    @contextmanager
    def found(self) -> Iterator[None]:
        """The outermost loop; the trace begins again where it has found another room than it had."""
        known, is_guess = self.tracer.list_forms.get((*self.place, "room"), (None, True))
        form, self.regions = self.tracer.list_forms.get(self.place), self._open()
        self.counts.append(Size.constant(0))
        try:
            yield
        except FormOfList as other:
            self._add_first(other)
            if other.place == self.place and known is None:
                self._note(is_guess=True)
            raise
        else:
            if self.counts[0] != known:
                self._note(is_guess=False)
                raise FormOfList(self.place, form if is_guess else None)
        finally:
            self.counts.clear()


def _counted(rooms: tuple[_Room, ...], item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What a loop's variable is in an iteration, whose body may have run before."""

    def begin(k: Any) -> Any:
        for room in rooms:
            room.counts[-1] = Size.constant(0)
        return item(k)

    return begin


class _Filled(InArray):
    """The array, whose items are put where the count says, which is inside for certain, or, of a list that `is_open`, by a
    check."""

    def __init__(self, made: ArrayList, room: _Room | None, is_open: bool) -> None:
        self.array, self.room, self.is_open = made.array, room, is_open
        self._made = made

    def __getitem__(self, key: Any) -> Any:
        """An item by its position, which is there for certain, or by its index in a list of so many items; how many there are."""
        made = self._made
        if _measures(key):
            return key[1]
        if made.form.row:  # who writes into an array of the list writes into the array that became its item
            made.give_up()
        if type(key) is not tuple:
            return made[self._position(key)]
        index, count = key
        if not is_position(index):
            made.give_up()
        return ArrayList(made.tracer, made.array[:count], made.form, made.place)[index]

    def _position(self, key: Any) -> Any:
        if not isinstance(key, RunScalar):
            return key
        tracer = self.array.tracer
        return SymInt(tracer, clamped_position(tracer, value_of_int(tracer, key), self.array.sizes[0]))

    def __setitem__(self, key: Any, value: Any) -> None:
        tracer = self.array.tracer
        if self.room is not None:
            self.room.add()
        if self.is_open:
            is_inside = tracer.truth(
                "less", value_of_int(tracer, key), SymInt(tracer, tracer.resolve(self.array.sizes[0])).as_value()
            )
            tracer.check(is_inside, "a list that a while makes longer than there is room for")
        self.array[self._position(key)] = value


def _measures(key: Any) -> bool:
    """Whether it is `len`, as the function knows it, beside the length."""
    return type(key) is tuple and key[0] is len


class _Unknown:
    """In the place of the array, while it is not known yet what the items are."""

    def __init__(self, place: Any) -> None:
        self.place = place

    def __getitem__(self, key: Any) -> Any:
        if _measures(key):
            return key[1]
        raise FormOfList(self.place, None)


class AppendedLists(Part):
    """The part of the interpreter that fills such lists."""

    def __init__(
        self, state: State, for_region: Callable[..., None], while_region: Callable[[ast.While], None]
    ) -> None:
        """`for_region` is LoopStatements.for_region, `while_region` that of the regions."""
        super().__init__(state)
        self.for_region, self.while_region = for_region, while_region
        self.rooms: list[_Room] = []  # of lists that loops around append to

    def filled(self, node: ast.For, items: range | SymRange | Sequence) -> bool:
        """Whether the loop ran over the items, and filled lists so."""
        if self.tracer.checked is None or self.frame.at_yield is not None:
            return False
        lists = tuple(one for one in _appended_in(node) if self._can_lie_in_array(node, one))
        fills = _fills_more(node)
        if not lists and not fills:
            return False
        sequence = items if isinstance(items, Sequence) else sequence_of(self.tracer, items)
        iterations = self.tracer.resolve(sequence.length)
        around = tuple(self.rooms) if fills else ()
        with ExitStack() as counted:
            for room in around:
                counted.enter_context(room.loop(iterations))
            if lists:
                self._run(node, lists, iterations, lambda k: (k, sequence.item(k)), around)
            else:
                self.for_region(node, (Size.constant(0), iterations, 1), _counted(around, sequence.item))
        return True

    def run_while(self, node: ast.While) -> None:
        """A `while` of the run, which may fill lists so."""
        may_fill = self.tracer.checked is not None and self.frame.at_yield is None
        lists = tuple(one for one in _appended_in(node) if may_fill and self._can_lie_in_array(node, one))
        if lists:
            self._run(node, lists, None, None, ())
        else:
            self.while_region(node)

    def _place(self, node: ast.For | ast.While, one: _Appended) -> Any:
        return (*self.place(node), one.name)

    def _can_lie_in_array(self, node: ast.For | ast.While, one: _Appended) -> bool:
        tracer, variables = self.tracer, self.frame.variables
        held = variables.get(one.name)
        if not isinstance(held, (list, ArrayList)) or tracer.list_forms.get(self._place(node, one), True) is None:
            return False
        if self.list_noted(held)[1] is not self.frame:
            return False  # somebody else may look at it
        if isinstance(held, ArrayList) and held.home is not tracer.blocks[-1]:
            return False  # a loop or a branch around has it too
        if any(id(held) in containers for containers in self.state.containers):
            return False
        names = [name for name, value in reached(self.frame, tracer) if value is held]
        return names == [one.name] and not is_read_by_others(self.frame.node, one.name)

    def _is_seen(self, item: Any, name: str) -> bool:
        """Whether variables lead to an item of a list, but for the list's own."""
        others = [held for other, held in reached(self.frame, self.tracer) if other != name]
        if not isinstance(item, SymArray):
            return any(held is item for held in others)
        return any(one is item.storage for held in others for one in memory_in(held))

    def _is_made_an_array(self, name: str) -> bool:
        """Whether the function does nothing with the list but to append to it and to make an array of it."""
        function = self.frame.function
        names = _made_an_array_of(self.frame.node, name) if function is not None else None
        return names is not None and all(function.__globals__.get(one) is np for one in names)  # type: ignore[union-attr]

    def _run(
        self, node: ast.For | ast.While, lists: tuple[_Appended, ...], iterations: Size | None, item: Any,
        around: tuple[_Room, ...],
    ) -> None:  # fmt: skip
        """`iterations`, and what the `item` of each is: of a `for`."""
        tracer, variables = self.tracer, self.frame.variables
        lists = tuple(_with_known_ends(one, variables[one.name]) for one in lists)
        position = variables.get(_POSITION)  # of a loop around
        held = {one: variables[one.name] for one in lists}
        made: dict[_Appended, ArrayList | None] = {}
        lengths: dict[_Appended, Any] = {}
        rooms = {one: _Room(tracer, self._place(node, one)) for one in lists if one.by_inner and not one.is_open}
        for one in lists:
            place = self._place(node, one)
            before = held[one]
            length = before.length() if isinstance(before, ArrayList) else len(before)
            if iterations is None or one.is_open:
                more = self._open_room(place)
            else:
                more = iterations * (rooms[one].known or Size.constant(1) if one.by_inner else one.places)
            if self._is_made_an_array(one.name):
                made_arrays(tracer).add(place)
            made[one] = begin = begin_list(tracer, tracer.resolve(more + size_of(length)), place)
            lengths[one] = length
            if isinstance(before, ArrayList):
                check_form(tracer, place, before.form)
                assert begin is not None
                begin.array[:length] = before.array
                continue
            for k, value in enumerate(before):
                is_seen = self._is_seen(value, one.name)
                row = as_row(tracer, place, value, is_seen)
                is_held = row is value and (is_seen or not isinstance(value, SymArray))
                checked = check_item(tracer, place, row, is_held)
                assert begin is not None
                begin.array[k] = checked
        for one in lists:
            begin = made[one]
            unknown = _Unknown(self._place(node, one))
            variables[one.filled] = unknown if begin is None else _Filled(begin, rooms.get(one), one.is_open)
            variables[one.count] = lengths[one]
            self.frame.locals |= {one.count}  # which iterations hand on
            del variables[one.name]
        try:
            with ExitStack() as counted:
                self.rooms += rooms.values()
                counted.callback(self.rooms.__delitem__, slice(len(self.rooms) - len(rooms), None))
                for room in rooms.values():
                    counted.enter_context(room.found())
                loop = _rewritten(node, lists, self.place(node))
                if isinstance(loop, ast.While):
                    self.while_region(loop)
                else:
                    self.for_region(loop, (Size.constant(0), iterations, 1), _counted((*around, *rooms.values()), item))
            for one in lists:
                begin = made[one]
                if begin is None:  # no iteration was traced
                    raise FormOfList(self._place(node, one), None)
                self.frame.variables[one.name] = self._ended(begin, one)
        finally:
            variables = self.frame.variables  # a loop may have put others in their place
            for one in lists:
                variables.setdefault(one.name, held[one])
                variables.pop(one.filled, None)
                variables.pop(one.count, None)
            variables.pop(_POSITION, None)
            if position is not None:
                variables[_POSITION] = position

    def _open_room(self, place: Any) -> Size:
        """For how many items there is room that only data count."""
        form = self.tracer.list_forms.get(place)
        row = math.prod(map(self.tracer.value_of, form.shape)) * form.dtype.itemsize if form is not None else 1
        items = min(_MOST_ITEMS, _MOST_BYTES // max(row, 1))
        if items < _LEAST_ITEMS:
            raise FormOfList(place, None)
        return Size.constant(items)

    def _ended(self, made: ArrayList, one: _Appended) -> ArrayList:
        end_list(made)
        if not one.is_one_each:
            count = self.frame.variables[one.count]
            count = count.read() if isinstance(count, Pending) else count
            made = ArrayList(self.tracer, made.array[:count], made.form, made.place)
        self.note_list(made)
        return made


@functools.lru_cache(maxsize=4096)
def _made_an_array_of(function: ast.AST, name: str) -> frozenset[str] | None:
    """The names of NumPy by which arrays are made of such a list; None where something else is done with it."""
    known: set[int] = set()
    modules = set()
    for item in ast.walk(function):
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.List):
            known.update(id(target) for target in item.targets)
        elif _appends_to(item) == name:
            known.add(id(item.value.func.value))  # type: ignore[attr-defined]
        elif isinstance(item, ast.Call) and len(item.args) == 1 and not item.keywords:
            made = item.func
            if (
                isinstance(made, ast.Attribute)
                and made.attr in ("array", "asarray")
                and isinstance(made.value, ast.Name)
            ):
                known.add(id(item.args[0]))
                modules.add(made.value.id)
    uses = [item for item in ast.walk(function) if isinstance(item, ast.Name) and item.id == name]
    return frozenset(modules) if modules and all(id(item) in known for item in uses) else None


_POSITION = " position in a list that is appended to"


@functools.lru_cache(maxsize=4096)
def _appended_in(node: ast.For | ast.While) -> tuple[_Appended, ...]:
    """Lists that the loop does nothing with but to append to them, in statements of its own or of a loop in it, to read items
    and to ask how many there are."""
    if node.orelse or any(isinstance(item, (*DEFINITIONS, ast.Lambda)) for item in inside(node.body)):
        return ()
    of_no_length, in_whiles = _parts_of(node, ast.Try, ast.With), _parts_of(node, ast.While)
    in_loops = _parts_of(node, ast.For, ast.While)
    sites: dict[str, list[ast.Expr]] = {}
    for item in inside(node.body):
        if (name := _appends_to(item)) and id(item) not in of_no_length:
            assert isinstance(item, ast.Expr)
            sites.setdefault(name, []).append(item)
    reads: dict[str, list[int]] = {}
    for item in (*inside(node.body), *(ast.walk(node.test) if isinstance(node, ast.While) else ())):
        if name := _read_in(item) or _measured_in(item):
            reads.setdefault(name, []).append(_from_the_end(item))
    used: dict[str, int] = {}
    heads = (node.test,) if isinstance(node, ast.While) else (node.target, node.iter)
    for item in (*inside(node.body), *(part for one in heads for part in ast.walk(one))):
        if isinstance(item, ast.Name):
            used[item.id] = used.get(item.id, 0) + 1
    leaves = any(isinstance(item, (ast.Break, ast.Continue, ast.Return)) for item in inside(node.body))
    found = []
    for name, statements in sites.items():
        read = reads.get(name, [])
        if used[name] == len(statements) + len(read):
            is_open = isinstance(node, ast.While) or any(id(statement) in in_whiles for statement in statements)
            is_one_each = not is_open and not leaves and len(statements) == 1 and statements[0] in node.body
            by_inner = any(id(statement) in in_loops for statement in statements)
            found.append(_Appended(name, len(statements), is_one_each, by_inner, is_open, max(read, default=0)))
    return tuple(found)


def _parts_of(node: ast.For | ast.While, *kinds: type[ast.stmt]) -> set[int]:
    """What stands in such statements of its body, by identity."""
    statements = [item for item in inside(node.body) if isinstance(item, kinds)]
    return {id(part) for statement in statements for part in ast.walk(statement)}


@functools.lru_cache(maxsize=4096)
def _fills_more(node: ast.For) -> bool:
    """Whether it has items of lists that a loop around it appends to."""
    return any(isinstance(item, ListItem) for item in inside(node.body))


def _appends_to(item: ast.AST) -> str:
    """Of a statement `name.append(value)` the name, else ""."""
    call = item.value if isinstance(item, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return ""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "append" or not isinstance(function.value, ast.Name):
        return ""
    return function.value.id


def _with_known_ends(one: _Appended, held: list[Any] | ArrayList) -> _Appended:
    has_them = type(held) is list and len(held) >= one.reads
    return one if has_them else replace(one, reads=0)


def _read_in(item: ast.AST) -> str:
    """Of `name[index]` the name, else ""."""
    is_item = isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load)
    if not is_item or not isinstance(item.value, ast.Name) or isinstance(item.slice, (ast.Slice, ast.Tuple)):  # type: ignore[attr-defined]
        return ""
    return str(item.value.id)  # type: ignore[attr-defined]


def _measured_in(item: ast.AST) -> str:
    """Of `len(name)` the name, else ""."""
    if not isinstance(item, ast.Call) or not isinstance(item.func, ast.Name) or item.func.id != "len" or item.keywords:
        return ""
    return item.args[0].id if len(item.args) == 1 and isinstance(item.args[0], ast.Name) else ""


def _from_the_end(item: ast.AST) -> int:
    """Of `name[-k]`, for a literal k, this k, else 0."""
    key = item.slice if isinstance(item, ast.Subscript) else None
    is_negative = (
        isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub) and isinstance(key.operand, ast.Constant)
    )
    k = key.operand.value if is_negative else 0  # type: ignore[union-attr, attr-defined]
    return k if type(k) is int else 0


@functools.lru_cache(maxsize=4096)
def _rewritten(node: ast.For | ast.While, lists: tuple[_Appended, ...], place: Any) -> ast.For | ast.While:
    by_name = {one.name: one for one in lists}

    class Appends(ast.NodeTransformer):
        def __init__(self) -> None:
            self.appended: set[str] = set()  # by now in an iteration, lists to which each appends one

        def part_of(self, one: _Appended, key: ast.expr, context: ast.expr_context) -> ast.Subscript:
            return ast.Subscript(ast.Name(one.filled, ast.Load()), key, context)

        def count_of(self, one: _Appended) -> ast.expr:
            """How many items it has by now."""
            count: ast.expr = ast.Name(one.count, ast.Load())  # of this loop, where each iteration appends one
            if one.is_one_each:
                count = ast.BinOp(ast.Name(_POSITION, ast.Load()), ast.Add(), count)
            return ast.BinOp(count, ast.Add(), ast.Constant(1)) if one.name in self.appended else count

        def visit_Subscript(self, item: ast.Subscript) -> Any:  # noqa: N802
            self.generic_visit(item)
            one, k = by_name.get(_read_in(item)), _from_the_end(item)
            if one is None:
                return item
            count = self.count_of(one)
            key = (
                ast.BinOp(count, ast.Sub(), ast.Constant(k))
                if 0 < k <= one.reads
                else ast.Tuple([item.slice, count], ast.Load())
            )
            return ast.copy_location(self.part_of(one, key, ast.Load()), item)

        def visit_Call(self, item: ast.Call) -> Any:  # noqa: N802
            self.generic_visit(item)
            one = by_name.get(_measured_in(item))
            if one is None:
                return item
            key = ast.Tuple([item.func, self.count_of(one)], ast.Load())
            return ast.copy_location(self.part_of(one, key, ast.Load()), item)

        def visit_Expr(self, statement: ast.Expr) -> Any:  # noqa: N802
            self.generic_visit(statement)
            one = by_name.get(_appends_to(statement))
            if one is None:
                return statement
            assert isinstance(statement.value, ast.Call)
            item = ListItem(statement.value.args[0], (*place, one.name))
            into = self.part_of(one, self.count_of(one), ast.Store())
            made: list[ast.stmt] = [ast.Assign([into], item)]
            if one.is_one_each:
                self.appended.add(one.name)
            else:
                more = ast.BinOp(ast.Name(one.count, ast.Load()), ast.Add(), ast.Constant(1))
                made.append(ast.Assign([ast.Name(one.count, ast.Store())], more))
            return [ast.copy_location(part, statement) for part in made]

    loop = copy.deepcopy(node)
    Appends().generic_visit(loop)
    if isinstance(loop, ast.For):
        target = ast.Tuple([ast.Name(_POSITION, ast.Store()), loop.target], ast.Store())
        loop.target = ast.copy_location(target, loop.target)
    return ast.fix_missing_locations(loop)
