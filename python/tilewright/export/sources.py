"""What a module was made of: the text of the functions that were compiled, and the globals that were compiled in.

`evidence.json` has them, so that `autotune check` can say whether the user's source has changed since. The source is read,
never imported: functions are found by their qualified name, globals where the top level assigns a literal to them.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LITERALS = (bool, int, float, complex, str, bytes, type(None))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def sources_of(function: types.FunctionType, traces: list[Any], folder: Path) -> dict[str, Any]:
    """For the evidence of a module in `folder`: files are named relative to it."""
    codes = [function.__code__]
    constants: dict[tuple[str, str], Any] = {}
    for traced in traces:
        for guard in traced.guards:
            if isinstance(guard.value, types.FunctionType):
                codes.append(guard.value.__code__)
            elif isinstance(guard.value, types.CodeType):
                codes.append(guard.value)
            if guard.kind == "equal" and (owner := _owner_of(function, guard.path)) is not None:
                constants[owner.__code__.co_filename, _name_of(guard.path[0][1])] = guard.value
        for argument in traced.arguments:  # numbers that are read at each call, and in a module are those of its making
            if argument.kind == "scalar" and (owner := _owner_of(function, argument.path)) is not None:
                name = _name_of(argument.path[0][1])
                constants[owner.__code__.co_filename, name] = owner.__globals__.get(name)
    rows = []
    for code in dict.fromkeys(codes):
        file, name = code.co_filename, code.co_qualname.replace("<locals>.", "")
        digest = digest_of_function(Path(file), name)
        if digest:
            rows.append({"file": os.path.relpath(file, folder), "function": name, "sha256": digest})
    return {
        "functions": rows,
        "constants": [
            {"file": os.path.relpath(file, folder), "name": name, "value": repr(value)}
            for (file, name), value in constants.items()
            if os.path.isabs(file) and type(value) in _LITERALS
        ],
    }


def _owner_of(function: types.FunctionType, path: tuple[Any, ...]) -> types.FunctionType | None:
    """The function whose global a path is."""
    kind, held = path[0]
    if len(path) > 1 or kind not in ("global", "global_of"):
        return None
    owner = function if kind == "global" else held[0]
    return owner if isinstance(owner, types.FunctionType) else None


def _name_of(held: Any) -> str:
    return str(held[1]) if isinstance(held, tuple) else str(held)


def changes_of(sources: dict[str, Any], folder: Path) -> list[str]:
    """What is not as it was when the module in `folder` was made, a line each."""
    lines = []
    for row in sources.get("functions", []):
        file = folder / row["file"]
        now = digest_of_function(file, row["function"])
        if not file.exists():
            lines.append(f"{_shown(file)} is not there, which {row['function']} was compiled from")
        elif not now:
            lines.append(f"{_shown(file)} has no function {row['function']} any more")
        elif now != row["sha256"]:
            lines.append(f"{row['function']} in {_shown(file)} has changed")
    for row in sources.get("constants", []):
        file = folder / row["file"]
        literal = _literal_in(file, row["name"])
        if literal is not None and literal != row["value"]:
            lines.append(f"{row['name']} in {_shown(file)} is {literal}, and was {row['value']}")
    return list(dict.fromkeys(lines))


def digest_of_function(file: Path, name: str) -> str:
    """Of the text of a function, without the white space around it; "" where there is none of that name."""
    tree, text = _parsed(file)
    if tree is None:
        return ""
    lines = text.splitlines()
    for node, qualified in _definitions(tree, ""):
        if qualified == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            body = textwrap.dedent("\n".join(line.rstrip() for line in lines[first - 1 : node.end_lineno]))
            return hashlib.sha256(body.strip().encode()).hexdigest()
    return ""


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[Any, str]]:
    """Functions and classes with their qualified names, the last definition of a name first."""
    for child in reversed(list(ast.iter_child_nodes(node))):
        if isinstance(child, _DEFINITIONS):
            yield child, f"{prefix}{child.name}"
            yield from _definitions(child, f"{prefix}{child.name}.")
        else:
            yield from _definitions(child, prefix)


def _literal_in(file: Path, name: str) -> str | None:
    """What the top level of a file assigns to a name, where that is a literal; the last assignment counts."""
    tree, _ = _parsed(file)
    found = None
    for node in [] if tree is None else tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            try:
                found = repr(ast.literal_eval(value))
            except (ValueError, TypeError):
                return None
    return found


def _parsed(file: Path) -> tuple[ast.Module | None, str]:
    try:
        return _parsed_at(file, file.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None, ""


@functools.lru_cache(maxsize=64)
def _parsed_at(file: Path, modified_ns: int) -> tuple[ast.Module | None, str]:
    text = file.read_text(encoding="utf-8")
    try:
        return ast.parse(text), text
    except (SyntaxError, ValueError):
        return None, ""


def _shown(file: Path) -> str:
    """As short as it goes from here."""
    path, here = os.path.normpath(file), os.getcwd()
    return os.path.relpath(path, here) if path.startswith(here + os.sep) else path
