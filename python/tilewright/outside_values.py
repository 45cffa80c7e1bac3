"""What Python functions find outside of themselves by name: whether it changes while something is called, and who rebinds it."""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_DEEPEST = 4
_MOST_LOOKED_AT = 200  # pieces of code, of what a function names
_MOST_ITEMS = 1000  # of a container
_MOST_BYTES = 1 << 20  # of an array: larger ones are taken for unchanged where they are the same object


def outside_of(functions: Sequence[Any]) -> dict[str, Any]:
    """Variables of modules and of functions around, by their names, as they are now: each with all that is in it."""
    found: dict[str, Any] = {}
    for function in functions:
        code = getattr(function, "__code__", None)
        if not isinstance(code, types.CodeType):
            continue
        for name in _names_in(code):
            if name in function.__globals__:
                found[f"{name} of {function.__module__}"] = _state_of(function.__globals__[name])
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                found[f"{name} around {function.__qualname__}"] = _state_of(cell.cell_contents)
            except ValueError:
                continue  # it has no value yet
    return found


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _names_in(one)


def _state_of(value: Any, depth: int = 0) -> Any:
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return value if value == value else "nan"  # noqa: PLR0124 - NaN is no other value than it was
    if isinstance(value, np.ndarray):
        return (
            id(value),
            value.shape,
            value.tobytes() if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject else b"",
        )
    if depth >= _DEEPEST or isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
        return id(value)
    if isinstance(value, (list, tuple, collections.deque)):
        return (
            id(value),
            len(value),
            [_state_of(one, depth + 1) for one, _ in zip(value, range(_MOST_ITEMS), strict=False)],
        )
    if isinstance(value, dict):
        pairs = zip(list(value.items()), range(_MOST_ITEMS), strict=False)
        return id(value), len(value), [(id(key), _state_of(one, depth + 1)) for (key, one), _ in pairs]
    if isinstance(value, (set, frozenset)):
        return id(value), len(value)
    held = getattr(value, "__dict__", None)
    return (id(value), _state_of(held, depth + 1)) if type(held) is dict else id(value)


def rebinds_globals(function: Any) -> bool:
    """Whether a Python function, or one that it names, assigns to a global variable: the trace has read those before."""
    seen: set[types.CodeType] = set()

    def of_code(code: types.CodeType, names: dict[str, Any]) -> bool:
        if code in seen or len(seen) > _MOST_LOOKED_AT:
            return False
        seen.add(code)
        import dis  # noqa: PLC0415  (slow to import, and few calls need it)

        if any(one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for one in dis.get_instructions(code)):
            return True
        inner = ((one, names) for one in code.co_consts if isinstance(one, types.CodeType))
        named = (names.get(name) for name in code.co_names)
        called = ((one.__code__, one.__globals__) for one in named if isinstance(one, types.FunctionType))
        return any(itertools.starmap(of_code, itertools.chain(inner, called)))

    code = getattr(function, "__code__", None)
    return code is not None and of_code(code, function.__globals__)
