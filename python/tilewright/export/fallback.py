"""`--allow-fallback`: a module that has the function's own Python beside its compiled signatures, for calls that these do
not serve.

The source of the function, and of every function and class of the user's that it reaches, is written into `_in_numpy.py`,
each with a separate namespace that holds what its names stand for: libraries by import, plain values by their text,
arrays as files.
"""

from __future__ import annotations

import ast
import dis
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._face import Dispatcher
from ..errors import ExportError
from ..record.ownership import Users
from ..signatures import takes_out
from .objects import literal, named

FILE = "_in_numpy.py"
_IN_CLASSES = (ast.FunctionDef, ast.Expr, ast.Pass)

_HEAD = '''"""Functions as they were written. They run where no compiled signature serves a call (--allow-fallback)."""

import importlib as _importlib
import os as _os

import numpy as _numpy


def _named(module, name):
    value = _importlib.import_module(module)
    for part in name.split('.') if name else ():
        value = getattr(value, part)
    return value


def _saved(name):
    return _numpy.load(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), name), allow_pickle=False)


def or_in_numpy(name, entry, refusals):
    """The compiled entry, or where it does not serve a call the function as it was written."""
    import functools

    function, takes_out = functions[name]

    @functools.wraps(entry)
    def call(*args, **kwargs):
        try:
            return entry(*args, **kwargs)
        except refusals:
            pass
        out = kwargs.pop('out', None) if takes_out else None
        result = function(*args, **kwargs)
        if out is None:
            return result
        results = result if isinstance(result, tuple) else (result,)
        targets = out if isinstance(out, tuple) else (out,)
        if len(targets) != len(results):
            raise ValueError(f'{entry.__name__}: out must have an array for each of the {len(results)} results, or None.')
        for target, value in zip(targets, results):
            if target is not None:
                _numpy.copyto(target, value, casting='no')
        made = tuple(value if target is None else target for target, value in zip(targets, results))
        return made if isinstance(result, tuple) else made[0]

    return call


'''


def write_fallback(folder: Path, functions: dict[str, types.FunctionType]) -> None:
    """Write `_in_numpy.py` into a module, for functions by their names in it. Raises ExportError for what a module cannot hold."""
    collector = _Collector(lambda file, array: np.save(folder / file, array, allow_pickle=False))
    (folder / FILE).write_text(collector.text_of(functions))


def check_fallback(name: str, function: types.FunctionType) -> None:
    """ExportError for a function whose Python a module cannot hold."""
    _Collector(lambda file, array: None).text_of({name: function})


def fallback_lines(name: str, *, writes: bool) -> list[str]:
    """The lines of the module that put it behind the entry. Where something may be written before an error, only what is
    refused beforehand is tried again."""
    refusals = "TypeError" if writes else "(TypeError, ValueError)"
    return ["", "from . import _in_numpy", "", f"{name} = _in_numpy.or_in_numpy({name!r}, {name}, {refusals})"]


class _Collector:
    """The functions and classes that are reached from some, numbered."""

    def __init__(self, save: Callable[[str, np.ndarray[Any, Any]], None]) -> None:
        self._name = ""  # of the function that is looked at
        self._save = save
        self._numbers: dict[int, int] = {}
        self._sources: list[tuple[str, str]] = []  # name, text
        self._names: list[dict[str, str]] = []  # of each namespace: name -> Python text
        self._kept: list[Any] = []
        self._arrays: dict[int, str] = {}

    def text_of(self, functions: dict[str, types.FunctionType]) -> str:
        entries = {}
        for name, function in functions.items():
            self._name = name
            has_room = not takes_out(function)  # for the module's own `out`
            entries[name] = f"({self._definition(function, name)}, {has_room})"
        lines = [f"_n = [{{'__name__': __name__}} for _ in range({len(self._sources)})]"]
        lines += [f"exec({text!r}, _n[{k}])" for k, (_, text) in enumerate(self._sources)]
        # Taken now: the names may stand for something else below, a wrapper of the function say.
        lines.append(f"_f = [{', '.join(f'_n[{k}][{name!r}]' for k, (name, _) in enumerate(self._sources))}]")
        for k, names in enumerate(self._names):
            lines += [f"_n[{k}][{name!r}] = {text}" for name, text in names.items()]
        lines.append(f"functions = {{{', '.join(f'{name!r}: {entry}' for name, entry in entries.items())}}}")
        lines.append("")
        return _HEAD + "\n".join(lines)

    def _definition(self, value: Any, called: str) -> str:
        """Python text for a function or a class of the user's."""
        if id(value) not in self._numbers:
            node, codes = _parsed(value)
            if node is None:
                raise self._refused(called, "has no source that could be read")
            number = self._numbers[id(value)] = len(self._sources)
            self._kept.append(value)
            self._sources.append((node.name, ast.unparse(_plain(node, value, lambda w: self._refused(called, w)))))
            self._names.append({})
            for code, owner in codes:
                for name in _globals_of(code):
                    self._fill(number, name, owner)
        return f"_f[{self._numbers[id(value)]}]"

    def _fill(self, number: int, name: str, owner: types.FunctionType) -> None:
        cells = dict(zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True))
        if name in cells:
            if name == "__class__":
                raise self._refused(name, "is used by super(), which a module's functions have not")
            found = cells[name].cell_contents
        elif name in owner.__globals__:
            found = owner.__globals__[name]
        else:
            return  # of Python itself, or a NameError here as there
        if name not in self._names[number]:
            self._names[number][name] = ""  # it may lead back here
            self._names[number][name] = self._value(name, found)

    def _value(self, name: str, value: Any) -> str:
        if isinstance(value, Dispatcher):
            value = value.__wrapped__  # type: ignore[attr-defined]
        if isinstance(value, types.ModuleType):
            return f"_named({value.__name__!r}, '')"
        if type(value) is np.ndarray and not value.dtype.hasobject:
            if id(value) not in self._arrays:
                self._arrays[id(value)] = f"in_numpy{len(self._arrays)}.npy"
                self._kept.append(value)
                self._save(self._arrays[id(value)], value)
            return f"_saved({self._arrays[id(value)]!r})"
        if text := literal(value):
            return text
        module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(value, np.ufunc):
            module, qualified = "numpy", value.__name__
        if _is_users(value):
            return self._definition(value, name)
        if (
            isinstance(module, str)
            and isinstance(qualified, str)
            and named(sys.modules.get(module), qualified) is value
        ):
            return f"_named({module!r}, {qualified!r})"
        if type(value) is list:
            return f"[{', '.join(self._value(name, item) for item in value)}]"
        if type(value) is dict:
            return f"{{{', '.join(f'{self._value(name, k)}: {self._value(name, v)}' for k, v in value.items())}}}"
        raise self._refused(name, f"is a {type(value).__name__}, which a module cannot hold")

    def _refused(self, name: str, why: str) -> ExportError:
        return ExportError(
            f"{self._name}: --allow-fallback puts its Python into the module, but {name} {why}.",
            "Pass it as an argument, or leave --allow-fallback out.",
        )


def _is_users(value: Any) -> bool:
    """A function or class that no import would find elsewhere."""
    if not isinstance(value, (types.FunctionType, type)):
        return False
    module = sys.modules.get(value.__module__)
    file = (
        value.__code__.co_filename if isinstance(value, types.FunctionType) else getattr(module, "__file__", "") or ""
    )
    return Users(Path.cwd()).has_file(file)


def _parsed(value: Any) -> tuple[Any, list[tuple[types.CodeType, types.FunctionType]]]:
    """The definition, and the code in it with the function whose globals it has."""
    try:
        tree = ast.parse(
            textwrap.dedent(inspect.getsource(inspect.unwrap(value) if isinstance(value, type) else value))
        )
    except (OSError, TypeError, SyntaxError):
        return None, []
    kinds = (ast.ClassDef,) if isinstance(value, type) else (ast.FunctionDef,)
    node = tree.body[0] if tree.body and isinstance(tree.body[0], kinds) else None
    if isinstance(value, types.FunctionType):
        return node, [(value.__code__, value)]
    functions = [m.__func__ if isinstance(m, (staticmethod, classmethod)) else m for m in vars(value).values()]
    return node, [(f.__code__, f) for f in functions if isinstance(f, types.FunctionType)]


def _plain(node: Any, value: Any, refused: Callable[[str], ExportError]) -> Any:
    """The definition without decorators and annotations, and with defaults that need no names."""
    node.decorator_list = []
    if isinstance(value, type):
        if node.bases or node.keywords or not all(isinstance(inner, _IN_CLASSES) for inner in node.body):
            raise refused("is a class with bases or values, which a module cannot hold")
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and (inner.decorator_list or inner.args.defaults):
                raise refused("is a class whose methods have decorators or defaults, which a module cannot hold")
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            inner.annotation = None
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None
    if isinstance(value, type):
        return node
    node.args.defaults = [_default(d, refused) for d in value.__defaults__ or ()]
    given = value.__kwdefaults__ or {}
    node.args.kw_defaults = [_default(given[a.arg], refused) if a.arg in given else None for a in node.args.kwonlyargs]
    return node


def _default(value: Any, refused: Callable[[str], ExportError]) -> ast.expr:
    text = literal(value)
    if not text or "_numpy" in text:
        raise refused(f"has the default {value!r}, which a module cannot hold")
    return ast.parse(text, mode="eval").body


def _globals_of(code: types.CodeType) -> Iterator[str]:
    """Names that code looks up outside of itself, that of functions in it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE"):
            name = str(instruction.argval)
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") or name in code.co_freevars:
                yield name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            own = set(code.co_varnames) | set(code.co_cellvars)
            yield from (name for name in _globals_of(constant) if name not in own)
