"""Lists to which a `for` appends: items of one type are put into an array that is made before the loop, with room for as
many as there can be.

    for v in x:                      for k, v in enumerate(x):
        if v > 0:            ->          if v > 0:
            l.append(v * 2)                  filled[count] = v * 2; count = count + 1
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..symbolic.arrays import SymArray
from ..symbolic.from_data import clamped_position, value_of_int
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.sizes import Size
from .array_lists import ArrayList, FormOfList, ListItem, begin_list, check_form, check_item, end_list
from .carried import reached
from .frame import InArray, Pending
from .sequences import Sequence, SymRange, sequence_of
from .source import DEFINITIONS, inside, is_read_by_others
from .state import Part, State


@dataclass(frozen=True)
class _Appended:
    """A list's variable, how many places of the body append to it, and whether each iteration does so once."""

    name: str
    places: int
    is_one_each: bool

    @property
    def filled(self) -> str:
        return f" items of {self.name}"

    @property
    def count(self) -> str:
        return f" how many items of {self.name}"


class _Filled(InArray):
    """The array, whose items are put where the count says, which is inside for certain."""

    def __init__(self, array: SymArray) -> None:
        self.array = array

    def __setitem__(self, key: Any, value: Any) -> None:
        tracer = self.array.tracer
        if isinstance(key, RunScalar):
            key = SymInt(tracer, clamped_position(tracer, value_of_int(tracer, key), self.array.sizes[0]))
        self.array[key] = value


class AppendedLists(Part):
    """The part of the interpreter that fills such lists."""

    def __init__(self, state: State, for_region: Callable[..., None]) -> None:
        """`for_region` is Interpreter._for_region."""
        super().__init__(state)
        self.for_region = for_region

    def filled(self, node: ast.For, items: range | SymRange | Sequence) -> bool:
        """Whether the loop ran over the items, and filled its lists so."""
        if self.tracer.checked is None or self.frame.at_yield is not None:
            return False
        lists = tuple(one for one in _appended_in(node) if self._can_lie_in_array(node, one))
        if not lists:
            return False
        sequence = items if isinstance(items, Sequence) else sequence_of(self.tracer, items)
        self._run(node, lists, self.tracer.resolve(sequence.length), lambda k: (k, sequence.item(k)))
        return True

    def _place(self, node: ast.For, one: _Appended) -> Any:
        return (*self.place(node), one.name)

    def _can_lie_in_array(self, node: ast.For, one: _Appended) -> bool:
        tracer, variables = self.tracer, self.frame.variables
        held = variables.get(one.name)
        if not isinstance(held, (list, ArrayList)) or tracer.list_forms.get(self._place(node, one), True) is None:
            return False
        if self.list_noted(held)[1] is not self.frame:
            return False  # somebody else may look at it
        names = [name for name, value in reached(self.frame, tracer) if value is held]
        return names == [one.name] and not is_read_by_others(self.frame.node, one.name)

    def _run(self, node: ast.For, lists: tuple[_Appended, ...], iterations: Size, item: Callable[[Any], Any]) -> None:
        tracer, variables = self.tracer, self.frame.variables
        held = {one: variables[one.name] for one in lists}
        made: dict[_Appended, ArrayList | None] = {}
        lengths: dict[_Appended, Any] = {}
        for one in lists:
            place = self._place(node, one)
            before = held[one]
            length = before.length() if isinstance(before, ArrayList) else len(before)
            room = iterations * one.places + size_of(length)
            made[one] = begin = begin_list(tracer, tracer.resolve(room), place)
            lengths[one] = length
            if isinstance(before, ArrayList):
                check_form(tracer, place, before.form)
                assert begin is not None
                begin.array[:length] = before.array
                continue
            for k, value in enumerate(before):
                checked = check_item(tracer, place, value, is_held=True)
                assert begin is not None
                begin.array[k] = checked
        for one in lists:
            begin = made[one]
            variables[one.filled] = None if begin is None else _Filled(begin.array)
            variables[one.count] = lengths[one]
            self.frame.locals |= {one.count}  # which iterations hand on
            del variables[one.name]
        try:
            self.for_region(_rewritten(node, lists, self.place(node)), (Size.constant(0), iterations, 1), item)
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

    def _ended(self, made: ArrayList, one: _Appended) -> ArrayList:
        end_list(made)
        if not one.is_one_each:
            count = self.frame.variables[one.count]
            count = count.read() if isinstance(count, Pending) else count
            made = ArrayList(self.tracer, made.array[:count], made.form, made.place)
        self.note_list(made)
        return made


_POSITION = " position in a list that is appended to"


@functools.lru_cache(maxsize=4096)
def _appended_in(node: ast.For) -> tuple[_Appended, ...]:
    """Lists that the loop does nothing with but to append to them, in statements of its own."""
    if node.orelse or any(isinstance(item, (*DEFINITIONS, ast.Lambda)) for item in inside(node.body)):
        return ()
    loops = [item for item in inside(node.body) if isinstance(item, (ast.For, ast.While, ast.Try, ast.With))]
    in_loops = {id(part) for loop in loops for part in ast.walk(loop)}
    sites: dict[str, list[ast.Expr]] = {}
    for item in inside(node.body):
        if (name := _appends_to(item)) and id(item) not in in_loops:
            assert isinstance(item, ast.Expr)
            sites.setdefault(name, []).append(item)
    used: dict[str, int] = {}
    for item in (*inside(node.body), *ast.walk(node.target), *ast.walk(node.iter)):
        if isinstance(item, ast.Name):
            used[item.id] = used.get(item.id, 0) + 1
    leaves = any(isinstance(item, (ast.Break, ast.Continue, ast.Return)) for item in inside(node.body))
    found = []
    for name, statements in sites.items():
        if used[name] == len(statements):
            is_one_each = not leaves and len(statements) == 1 and statements[0] in node.body
            found.append(_Appended(name, len(statements), is_one_each))
    return tuple(found)


def _appends_to(item: ast.AST) -> str:
    """Of a statement `name.append(value)` the name, else ""."""
    call = item.value if isinstance(item, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return ""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "append" or not isinstance(function.value, ast.Name):
        return ""
    return function.value.id


@functools.lru_cache(maxsize=4096)
def _rewritten(node: ast.For, lists: tuple[_Appended, ...], place: Any) -> ast.For:
    by_name = {one.name: one for one in lists}

    class Appends(ast.NodeTransformer):
        def visit_Expr(self, statement: ast.Expr) -> Any:  # noqa: N802
            one = by_name.get(_appends_to(statement))
            if one is None:
                return statement
            assert isinstance(statement.value, ast.Call)
            item = ListItem(statement.value.args[0], (*place, one.name))
            first = ast.Name(one.count, ast.Load())  # of this loop, where each iteration appends one
            position = ast.BinOp(ast.Name(_POSITION, ast.Load()), ast.Add(), first) if one.is_one_each else first
            into = ast.Subscript(ast.Name(one.filled, ast.Load()), position, ast.Store())
            more = ast.BinOp(ast.Name(one.count, ast.Load()), ast.Add(), ast.Constant(1))
            made: list[ast.stmt] = [ast.Assign([into], item)]
            if not one.is_one_each:
                made.append(ast.Assign([ast.Name(one.count, ast.Store())], more))
            return [ast.copy_location(part, statement) for part in made]

    loop = copy.deepcopy(node)
    Appends().generic_visit(loop)
    loop.target = ast.copy_location(
        ast.Tuple([ast.Name(_POSITION, ast.Store()), loop.target], ast.Store()), node.target
    )
    return ast.fix_missing_locations(loop)
