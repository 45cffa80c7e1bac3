"""A loop that is compiled by itself, written for what it is handed: it makes lists of the arrays, which compiled code leaves in
arrays, and gives those that it writes; the characters of texts are integers in it; attributes are variables."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..light_dataclass import dataclass
from .handed_values import Uses
from .queues_handed import QueueAnew, QueueHanded, taken_by
from .rows_handed import RowsHanded
from .uses_in_loops import is_call, parts_of, row_target


@dataclass(frozen=True)
class _Rows:
    """Variables that a list of rows has become: where each row begins and ends in the items; the place of an item."""

    begins: str
    ends: str
    columns: tuple[str, ...]
    place: str

    @property
    def made(self) -> tuple[str, ...]:
        return (self.begins, self.ends, *self.columns)

    def row(self, index: str) -> str:
        return f"{self.columns[0]}[{self.begins}[{index}]:{self.ends}[{index}]]"


class _Anew(ast.NodeTransformer):
    """Attributes as variables, characters as integers, rows as parts of arrays, queues as arrays."""

    def __init__(
        self,
        attributes: dict[tuple[str, str], str],
        texts: set[str],
        rows: dict[str, _Rows],
        queues: dict[str, QueueAnew],
    ) -> None:
        self.attributes, self.texts, self.rows, self.queues = attributes, texts, rows, queues

    def _queue(self, call: ast.AST) -> QueueAnew | None:
        """That whose method is called."""
        owner = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
        return self.queues.get(owner.id) if isinstance(owner, ast.Name) else None

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: N802
        queue = self._queue(node.value)
        if queue is None:
            return self.generic_visit(node)
        value = node.value.args[0]  # type: ignore[attr-defined]
        parts = [ast.unparse(self.visit(one)) for one in parts_of(value)]
        return [_at(one, node, is_statement=True) for one in queue.appended(parts)]

    def visit_Assign(self, node: ast.Assign) -> Any:  # noqa: N802
        queue = self._queue(node.value)
        target = None if queue is None else taken_by(node.value, node)  # type: ignore[arg-type]
        if queue is None or target is None:
            return self.generic_visit(node)
        is_first = node.value.func.attr == "popleft" or bool(node.value.args)  # type: ignore[attr-defined]
        names = [one.id for one in parts_of(target)]  # type: ignore[attr-defined]
        return [_at(one, node, is_statement=True) for one in queue.taken(names, is_first=is_first)]

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        queue = self.queues.get(node.id)
        return node if queue is None else _at(queue.is_any_left, node)

    def _row(self, node: ast.AST) -> _Rows | None:
        is_row = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
        return self.rows.get(node.value.id) if is_row else None  # type: ignore[attr-defined]

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: N802
        counted = node.iter.args[0] if isinstance(node.iter, ast.Call) and node.iter.args else node.iter
        all_rows = self.rows.get(counted.id) if isinstance(counted, ast.Name) else None
        if all_rows is not None and (target := row_target(node.iter, node, counted) or row_target(node, None, counted)):
            counter = node.target.elts[0] if isinstance(node.target, ast.Tuple) else None
            place = counter.id if isinstance(counter, ast.Name) else all_rows.place
            taken = [_at(f"{target.id} = {all_rows.row(place)}", target, is_statement=True)]
            return self._over(node, place, f"range(len({all_rows.begins}))", taken)
        rows = self._row(node.iter)
        if rows is None:
            return self.generic_visit(node)
        index = ast.unparse(self.visit(node.iter.slice))  # type: ignore[attr-defined]
        taken = [
            _at(f"{one.id} = {column}[{rows.place}]", one, is_statement=True)  # type: ignore[attr-defined]
            for one, column in zip(parts_of(node.target), rows.columns, strict=True)
        ]
        return self._over(node, rows.place, f"range({rows.begins}[{index}], {rows.ends}[{index}])", taken)

    def _over(self, node: ast.For, place: str, limits: str, taken: list[Any]) -> ast.AST:
        """The loop over such places, whose iterations begin with what they take from there."""
        body, orelse = [*taken, *self._statements(node.body)], self._statements(node.orelse)
        target = ast.copy_location(ast.Name(place, ast.Store()), node.target)
        return ast.copy_location(ast.For(target, _at(limits, node.iter), body, orelse), node)

    def _statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for one in map(self.visit, nodes):
            made += one if isinstance(one, list) else [one]
        return made

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        if (rows := self._row(node)) is None:
            return self.generic_visit(node)
        return _at(rows.row(ast.unparse(self.visit(node.slice))), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        name = self.attributes.get((node.value.id, node.attr)) if isinstance(node.value, ast.Name) else None
        return node if name is None else ast.copy_location(ast.Name(name, ast.Load()), node)

    def _is_character(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.texts

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        sides = [node.left, *node.comparators]
        if any(map(self._is_character, sides)):
            for side in sides:
                if isinstance(side, ast.Constant):
                    side.value = ord(side.value)  # type: ignore[arg-type]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        if is_call(node, "len") and (rows := self._row(node.args[0])) is not None:
            index = ast.unparse(self.visit(node.args[0].slice))  # type: ignore[attr-defined]
            return _at(f"{rows.ends}[{index}] - {rows.begins}[{index}]", node)
        if is_call(node, "len") and isinstance(node.args[0], ast.Name) and node.args[0].id in self.rows:
            node.args[0].id = self.rows[node.args[0].id].begins
        if is_call(node, "len") and isinstance(node.args[0], ast.Name) and node.args[0].id in self.queues:
            return _at(self.queues[node.args[0].id].length, node)
        if is_call(node, "ord") and self._is_character(node.args[0]):
            node.func = ast.copy_location(ast.Name("int", ast.Load()), node.func)
        return self.generic_visit(node)


def written_anew(
    loop: ast.AST, uses: Uses, kinds: Sequence[Any], gives: Sequence[str],
    as_function: Callable[[list[ast.AST], list[str], list[str]], types.FunctionType],
) -> types.FunctionType:  # fmt: skip
    """The loop as a function of what is handed, which gives what it gave, the lists that it writes, and where each queue begins
    and ends."""
    taken = {item.id for item in ast.walk(loop) if isinstance(item, ast.Name)} | set(uses.names)
    names = {(uses.names[k], one): _free(f"{uses.names[k]}_{one}", taken) for k, one in uses.attributes}
    parameters, made, rows = list(names.values()), list[ast.stmt](), dict[str, _Rows]()
    queues: dict[str, QueueAnew] = {}
    for k, (name, kind) in enumerate(zip(uses.names, kinds, strict=True)):
        if k in uses.owners:
            continue
        if isinstance(kind, RowsHanded):
            own = [_free(f"{name}_{one}", taken) for one in ("begins", "ends", *range(kind.columns), "place")]
            rows[name] = _Rows(own[0], own[1], tuple(own[2:-1]), own[-1])
            for one in rows[name].made if kind.are_lists else rows[name].made[:2]:
                parameters.append(_free(f"{one}_array", taken))
                made.append(_listed(one, parameters[-1], loop, len(made)))
            parameters += () if kind.are_lists else rows[name].columns
            continue
        if isinstance(kind, QueueHanded):
            parts = range(len(kind.types))
            begin, end = (_free(f"{name}_{one}", taken) for one in ("begin", "end"))
            buffers, news = ([_free(f"{name}_{one}{part}", taken) for part in parts] for one in ("items", "new"))
            queues[name] = QueueAnew(tuple(buffers), begin, end, tuple(news), kind.types)
            parameters += queues[name].parameters
            continue
        if kind:
            array = _free(f"{name}_array", taken)
            made.append(_listed(name, array, loop, len(made)))
            name = array  # noqa: PLW2901
        parameters.append(name)
    texts = {name for name, kind in zip(uses.names, kinds, strict=True) if kind == "text"}
    body = _Anew(names, texts, rows, queues).visit(copy.deepcopy(loop))
    written = [uses.names[k] for k in uses.written(kinds)]
    ends = [one for queue in queues.values() for one in (queue.begin, queue.end)]
    return as_function([*made, body], parameters, [*gives, *written, *ends])


def _at(text: str, place: ast.AST, *, is_statement: bool = False) -> Any:
    """What a text says, at the place of what it stands for."""
    parsed = ast.parse(text).body[0]
    made = parsed if is_statement or not isinstance(parsed, ast.Expr) else parsed.value
    for part in _placed(made):
        ast.copy_location(part, place)
    return made


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _listed(name: str, array: str, loop: Any, count: int) -> ast.stmt:
    """`name = array.tolist()`, at a place of its own before the loop: by those calls and statements are known."""
    statement = ast.parse(f"{name} = {array}.tolist()").body[0]
    for part in _placed(statement):
        part.lineno = part.end_lineno = loop.lineno - 1
        part.col_offset = part.end_col_offset = 1000 * (count + 1) + part.col_offset
    return statement


def _placed(node: ast.AST) -> Iterator[Any]:
    return (part for part in ast.walk(node) if isinstance(part, (ast.expr, ast.stmt)))
