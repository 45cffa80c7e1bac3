"""Lists and deques of which a loop takes items at the ends while it appends others (searches through graphs and mazes), or to
which it does nothing but append, in a loop that is compiled by itself: arrays with room for more, and where the items in them
begin and end."""

from __future__ import annotations

import ast
import builtins
import types
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..light_dataclass import dataclass

# By the type of an item: the dtype of the array that holds it, and what the loop makes an element again.
_TYPES: dict[type, str] = {int: "int", float: "float", np.int64: "numpy.int64", np.float64: "numpy.float64"}
_DTYPES = {"int": np.int64, "float": np.float64, "numpy.int64": np.int64, "numpy.float64": np.float64}
_LEAST_ROOM, _MOST_ROOM = 1 << 10, 1 << 22
_BUILTINS = ("float", "int", "len", "type", "TypeError")  # that the loop calls beside its own

Parents = Mapping[int, ast.AST]


@dataclass(frozen=True)
class Queue:
    """`parts`: of a tuple that is an item; 0 where items are numbers. `kinds`: of what it may be, list and deque. `is_taken`:
    whether items are taken of it; the loop is handed none of those in it, where it is not."""

    parts: int
    kinds: frozenset[type]
    is_taken: bool = True


class Filled(NamedTuple):
    """What a loop was seen to append: the types, and how many items."""

    types: tuple[str, ...]
    items: int


class QueueHanded(NamedTuple):
    """The types of an item's parts, as _TYPES has them."""

    types: tuple[str, ...]


def queue_of(items: Sequence[ast.Name], parents: Parents) -> Queue | None:
    """How a loop uses a variable that is a queue or a stack: it appends to it, takes items from its ends, asks whether any are
    left and how many; or a list, to which it appends. None where it does anything else with it."""
    found: set[int] = set()
    kinds: set[type] = {list, deque}
    is_taken = is_measured = False
    for item in items:
        around = parents.get(id(item))
        if _is_tested(item, parents):
            is_measured = True
            continue
        call = around if isinstance(around, ast.Call) else parents.get(id(around))
        if not isinstance(call, ast.Call) or call.keywords:
            return None
        if isinstance(call.func, ast.Name) and call.func.id == "len" and call.args == [item]:
            is_measured = True
            continue
        if call.func is not around or not isinstance(around, ast.Attribute):
            return None
        if _is_append(call, parents.get(id(call))):
            value = call.args[0]
            found.add(len(value.elts) if isinstance(value, ast.Tuple) else 0)
            continue
        taken = taken_by(call, parents.get(id(call)))
        if taken is None:
            return None
        is_taken = True
        found.add(len(taken.elts) if isinstance(taken, ast.Tuple) else 0)
        kinds &= {deque} if around.attr == "popleft" else {list} if call.args else {list, deque}
    if len(found) != 1 or not kinds or (is_measured and not is_taken):
        return None
    return Queue(found.pop(), frozenset(kinds), is_taken)


def _is_tested(item: ast.AST, parents: Parents) -> bool:
    """Whether nothing but its truth is asked for."""
    around = parents.get(id(item))
    if isinstance(around, ast.BoolOp):
        return _is_tested(around, parents)
    is_test = isinstance(around, (ast.While, ast.If, ast.IfExp)) and around.test is item
    return is_test or (isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not))


def _is_append(call: ast.Call, statement: ast.AST | None) -> bool:
    is_append = isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1
    parts = call.args[0].elts if is_append and isinstance(call.args[0], ast.Tuple) else call.args
    return is_append and isinstance(statement, ast.Expr) and not any(isinstance(one, ast.Starred) for one in parts)


def taken_by(call: ast.Call, statement: ast.AST | None) -> ast.expr | None:
    """The variable, or those of an item's parts, that `x = queue.pop()` or `.popleft()` sets."""
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return None
    is_first = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("pop", "popleft"):
        return None
    if call.args and not (is_first and call.func.attr == "pop" and type(call.args[0].value) is int):  # type: ignore[attr-defined]
        return None
    target = statement.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return target if names and all(isinstance(one, ast.Name) for one in names) else None


def are_builtins_known(function: types.FunctionType) -> bool:
    code = function.__code__
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *function.__globals__}
    return own.isdisjoint(_BUILTINS) and all(hasattr(builtins, name) for name in _BUILTINS)


def handed_queue(
    queue: Queue, value: Any, room: int, filled: Filled | None
) -> tuple[QueueHanded, list[Any]] | tuple[None, None]:
    """Arrays with room for so many items more, where the items begin, and where they end. `filled`: what was appended to it
    before. (None, None) of something else."""
    if not _may_be(queue, value) or not (value or filled):
        return None, None
    items = list(value) if queue.is_taken else []
    named = types_of(queue, items or [value[-1]]) if value else filled.types if filled else None
    if named is None:
        return None, None
    room = max(room, 2 * filled.items if filled else 0)
    made: list[Any] = []
    for k, name in enumerate(named):
        buffer = np.zeros(len(items) + _LEAST_ROOM + room, _DTYPES[name])
        try:
            buffer[: len(items)] = [one[k] for one in items] if queue.parts else items
        except OverflowError:
            return None, None
        made.append(buffer)
    return QueueHanded(named), [*made, 0, len(items)]


def _may_be(queue: Queue, value: Any) -> bool:
    return type(value) in queue.kinds and not (type(value) is deque and value.maxlen is not None)


def types_of(queue: Queue, items: Sequence[Any]) -> tuple[str, ...] | None:
    """Of the parts of items, of which there are some; None where no arrays hold them."""
    if queue.parts and (set(map(type, items)) != {tuple} or set(map(len, items)) != {queue.parts}):
        return None
    columns = list(zip(*items, strict=True)) if queue.parts else [items]
    kinds = [set(map(type, column)) for column in columns]
    named = [_TYPES.get(next(iter(kind))) if len(kind) == 1 else None for kind in kinds]
    return None if None in named else tuple(map(str, named))


def waits_for_items(queue: Queue, value: Any) -> bool:
    """Whether a list is empty, so that nobody knows what the loop appends before it has run."""
    return not queue.is_taken and not value and _may_be(queue, value)


def room_for(args: Sequence[Any]) -> int:
    """Twice the elements of what a loop is handed: searches take each of them once or a few times."""
    count = 0
    for one in args:
        if type(one) is np.ndarray:
            count += one.size
        elif type(one) is list:
            count += len(one) + sum(len(row) for row in one if isinstance(row, (list, tuple, np.ndarray)))
    return min(2 * count, _MOST_ROOM)


def put_back(  # noqa: PLR0917
    queue: Queue, value: Any, kind: QueueHanded, buffers: Sequence[Any], begin: int, end: int
) -> None:
    """What is left in the arrays, into the list or deque."""
    columns = [
        list(buffer[begin:end]) if name.startswith("numpy.") else buffer[begin:end].tolist()
        for name, buffer in zip(kind.types, buffers, strict=True)
    ]
    if queue.is_taken:
        value.clear()
    value.extend(columns[0] if len(columns) == 1 else zip(*columns, strict=True))


@dataclass(frozen=True)
class QueueAnew:
    """Variables that a queue has become, and statements and expressions of them."""

    buffers: tuple[str, ...]
    begin: str
    end: str
    news: tuple[str, ...]  # what is appended
    types: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.buffers, self.begin, self.end)

    @property
    def is_any_left(self) -> str:
        return f"{self.begin} < {self.end}"

    @property
    def length(self) -> str:
        return f"{self.end} - {self.begin}"

    def appended(self, values: Sequence[str]) -> list[str]:
        """An item of another type is none of these arrays': Python runs the loop then, as where there is no more room."""
        is_of_type = [
            f"type({new}) is not {f'type({buffer}[0])' if name.startswith('numpy.') else name}"
            for new, buffer, name in zip(self.news, self.buffers, self.types, strict=True)
        ]
        return [
            *(f"{new} = {value}" for new, value in zip(self.news, values, strict=True)),
            f"if {' or '.join(is_of_type)}: raise TypeError",
            *(f"{buffer}[{self.end}] = {new}" for buffer, new in zip(self.buffers, self.news, strict=True)),
            f"{self.end} += 1",
        ]

    def taken(self, targets: Sequence[str], *, is_first: bool) -> list[str]:
        """Of none that is left an element beyond the arrays is read, which is an error."""
        place = self.begin if is_first else self.end
        elements = [f"{buffer}[{place} if {self._is_there(is_first)} else len({buffer})]" for buffer in self.buffers]
        numbers = [
            element if name.startswith("numpy.") else f"{name}({element})"
            for element, name in zip(elements, self.types, strict=True)
        ]
        assigned = [f"{target} = {number}" for target, number in zip(targets, numbers, strict=True)]
        return [*assigned, f"{self.begin} += 1"] if is_first else [f"{self.end} -= 1", *assigned]

    def _is_there(self, is_first: bool) -> str:
        return self.is_any_left if is_first else f"{self.begin} <= {self.end}"
