"""Functions that a file of the user's uses as more than something to call: it sets attributes on them, asks whether something is
one of them, or looks at how functions and frames are made. Nothing that stands in their place is like them, so they are left alone."""

from __future__ import annotations

import ast
import functools
import sys
import types

_LOOKING = frozenset(
    [
        "isfunction", "getfullargspec", "currentframe", "_getframe", "FunctionType", "settrace", "setprofile", "tb_frame", "f_back",
        "f_locals", "f_globals", "__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__",
    ]
)  # fmt: skip


def why_left_alone(function: types.FunctionType, name: str) -> str:
    """What its own file, or the script, does with it; "" where that is nothing. `name`: under which it is bound; of a method behind its
    class."""
    names = name.rpartition(".")[2], function.__code__.co_name
    file = function.__code__.co_filename
    own = _uses_of(function.__code__) if file == "<stdin>" else _uses_in(file)
    script = getattr(sys.modules["__main__"], "__file__", None)
    if own.looks:
        return "the file looks at frames or at the code of functions"
    is_used = any(not one.names.isdisjoint(names) for one in (own, *([_uses_in(script)] if script else [])))
    return "used as an object: its attributes are asked or set, or it is compared" if is_used else ""


def looks_at_frames(tree: ast.Module) -> bool:
    """Whether a file looks at how functions and frames are made."""
    uses = _Uses()
    uses.visit(tree)
    return uses.looks


def used_as_objects(tree: ast.Module) -> set[str]:
    """Names that a cell uses as more than something to call, if they are of functions."""
    uses = _Uses()
    uses.visit(tree)
    return uses.names


@functools.lru_cache(maxsize=256)
def _uses_in(file: str) -> _Uses:
    uses = _Uses()
    try:
        with open(file, "rb") as source:
            uses.visit(ast.parse(source.read()))
    except FileNotFoundError:
        _visit_a_cell(uses, file)
    except (OSError, SyntaxError, ValueError, RecursionError):
        uses.looks = True
    return uses


def _visit_a_cell(uses: _Uses, file: str) -> None:
    import linecache  # noqa: PLC0415  (no script needs it)

    text = "".join(linecache.getlines(file))
    try:
        uses.visit(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        text = ""
    uses.looks |= not text


def _uses_of(code: types.CodeType) -> _Uses:
    """Of what was typed at Python's prompt, which keeps no text."""
    import dis  # noqa: PLC0415  (no script needs it)

    uses, name = _Uses(), ""
    for one in dis.get_instructions(code):
        if name and one.opname.endswith(("_ATTR", "_METHOD")):
            uses.names.add(name)
        uses.names |= {name} if name and one.opname == "IS_OP" else set()
        name = str(one.argval) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ""
    uses.looks = not _LOOKING.isdisjoint(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            of_inner = _uses_of(inner)
            uses.looks |= of_inner.looks
            uses.names |= of_inner.names
    return uses


class _Uses(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()  # of functions with attributes
        self.looks = False
        self._variables: list[set[str]] = []  # of the functions around, that are no functions

    def _is_outside(self, name: str) -> bool:
        return not any(name in names for names in self._variables)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        inside = list(ast.walk(node))
        outside = {name for one in inside if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names}
        stored = {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self._variables.append({one.arg for one in inside if isinstance(one, ast.arg)} | stored - outside)
        self.generic_visit(node)
        self._variables.pop()

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Attribute(self, node: ast.Attribute) -> None:
        value = node.value
        if isinstance(value, ast.Name):
            self.looks |= (value.id, node.attr) == ("inspect", "stack")
            if self._is_outside(value.id):
                self.names.add(value.id)
        elif isinstance(value, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self.names.add(value.attr)
        self.looks |= node.attr in _LOOKING
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        asks = any(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops)
        if asks and not any(isinstance(one, ast.Constant) for one in sides):
            self.names |= {one.attr for one in sides if isinstance(one, ast.Attribute)}
            self.names |= {one.id for one in sides if isinstance(one, ast.Name) and self._is_outside(one.id)}
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.looks |= node.id in _LOOKING
