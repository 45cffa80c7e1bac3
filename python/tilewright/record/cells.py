"""What is known of a session's names when a cell begins: of its namespace, and of the texts of all cells before."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any

from ..interpret.outlined import loads
from ..interpret.source import DEFINITIONS
from .regions import Surroundings
from .script_text import MODULES, NOT_CALLED


class Texts:
    """Of the cells so far: what their functions read and set outside of them, at any time."""

    def __init__(self) -> None:
        self.read_by_functions: set[str] = set()
        self.set_by_functions: set[str] = set()

    def add(self, tree: ast.AST) -> None:
        for one in ast.walk(tree):
            if isinstance(one, (*DEFINITIONS, ast.Lambda)):
                self.read_by_functions |= loads(one)
            elif isinstance(one, (ast.Global, ast.Nonlocal)):
                self.set_by_functions.update(one.names)

    def add_text(self, text: str) -> None:
        """Of a cell that was there before anybody looked; one that does not parse has run nothing."""
        try:
            self.add(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError):
            return


def surroundings(names: Mapping[str, Any], texts: Texts) -> Surroundings:
    """Of a cell that runs with these names as its module's."""
    found = Surroundings(read_by_functions={*texts.read_by_functions}, set_by_functions={*texts.set_by_functions})
    for name, value in list(names.items()):
        found.known.add(name)
        if isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] in MODULES:
                found.modules.add(name)
        elif isinstance(value, type) or callable(value):
            own = getattr(value, "__name__", None)
            if _is_of_numbers(value) and isinstance(own, str) and own not in NOT_CALLED:
                found.from_modules.add(name)
            else:
                found.defined.add(name)
    return found


def _is_of_numbers(value: Any) -> bool:
    """Whether it is a function or type of a module of numbers; ufuncs say nothing of where they are from."""
    module = getattr(type(value) if type(value).__name__ == "ufunc" else value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in MODULES
