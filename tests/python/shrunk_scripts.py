"""The smallest script that a random one can be made into while it stays wrong: statements go, or what they hold stands in their place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

_FIELDS = ("body", "orelse", "finalbody", "handlers")


def shrunk(text: str, is_wrong: Callable[[str], bool]) -> str:
    best, is_smaller = ast.unparse(ast.parse(text)), True
    while is_smaller:
        is_smaller, place = False, 0
        while (candidate := _without(best, place)) is not None:
            if candidate and is_wrong(candidate):
                best, is_smaller = candidate, True
            else:
                place += 1
    return best


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Each statement, outer ones first, later ones before those that they may need."""
    for name in _FIELDS:
        held = getattr(tree, name, None)
        if isinstance(held, list):
            yield from ((held, k) for k in reversed(range(len(held))))
            for one in held:
                yield from _places(one)


def _without(text: str, place: int) -> str | None:
    """The text with one change; "" where there is none of this kind at this place, None behind the last."""
    tree = ast.parse(text)
    places = list(_places(tree))
    if place >= 2 * len(places):
        return None
    held, k = places[place // 2]
    statement = held[k]
    if isinstance(statement, ast.Pass):
        return ""
    inside = [one for name in _FIELDS for one in getattr(statement, name, [])]
    if place % 2:
        if not inside or isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            return ""
        held[k : k + 1] = [
            line for one in inside for line in (one.body if isinstance(one, ast.ExceptHandler) else [one])
        ]
    else:
        del held[k]
        if not held:
            held.append(ast.Pass())
    try:
        changed = ast.unparse(ast.fix_missing_locations(tree))
        compile(changed, "shrunk", "exec")
    except (SyntaxError, ValueError, AttributeError):
        return ""
    return changed if changed != text else ""
