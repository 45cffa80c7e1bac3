"""A loop that is compiled by itself, written for what it is handed: it makes lists of the arrays, which compiled code leaves in
arrays, and gives those that it writes; the characters of texts are integers in it; attributes are variables."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .handed_values import Uses
from .uses_in_loops import is_call


class _Anew(ast.NodeTransformer):
    """Attributes as variables, characters as integers."""

    def __init__(self, attributes: dict[tuple[str, str], str], texts: set[str]) -> None:
        self.attributes, self.texts = attributes, texts

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
        if is_call(node, "ord") and self._is_character(node.args[0]):
            node.func = ast.copy_location(ast.Name("int", ast.Load()), node.func)
        return self.generic_visit(node)


def written_anew(
    loop: ast.AST, uses: Uses, kinds: Sequence[Any], gives: Sequence[str],
    as_function: Callable[[list[ast.AST], list[str], list[str]], types.FunctionType],
) -> types.FunctionType:  # fmt: skip
    """The loop as a function of what is handed, which gives what it gave and then the lists that it writes."""
    taken = {item.id for item in ast.walk(loop) if isinstance(item, ast.Name)} | set(uses.names)
    names = {(uses.names[k], one): _free(f"{uses.names[k]}_{one}", taken) for k, one in uses.attributes}
    parameters, made = list(names.values()), list[ast.stmt]()
    for k, (name, kind) in enumerate(zip(uses.names, kinds, strict=True)):
        if k in uses.owners:
            continue
        if kind:
            array = _free(f"{name}_array", taken)
            made.append(_listed(name, array, loop, len(made)))
            name = array  # noqa: PLW2901
        parameters.append(name)
    texts = {name for name, kind in zip(uses.names, kinds, strict=True) if kind == "text"}
    body = _Anew(names, texts).visit(copy.deepcopy(loop))
    return as_function([*made, body], parameters, [*gives, *(uses.names[k] for k in uses.written(kinds))])


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
