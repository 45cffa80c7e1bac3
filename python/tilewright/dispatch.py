"""Which of a trace's guards the runtime can check by itself, so that a call need not pass through Python.

The C dispatcher knows dtypes, ranks, layouts and sizes; it can compare parameters with fixed values and functions, look
up globals, also those of functions that are called, and insist on the exact type of a scalar (a Python float is weak
under NEP 50, a NumPy scalar is not). Guards beyond that (attributes, closures, items of containers) are checked in
Python, before a plain function of the program is called.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _face
from .partials import Partials
from .plan import Version, all_objects, compose
from .program import Program, ScalarArgument

_CARRIED: dict[str, Callable[[Any], Any]] = {"float64": float, "int64": int, "bool": bool, "complex128": complex}
_SIMPLE = (bool, int, float, str, type(None))
_EQUAL_TO_ITSELF_ALONE = (types.FunctionType, type)


def c_binding(function: Callable[..., Any], traced: Any, program: Program) -> dict[str, Any] | None:
    """What Dispatcher.add() needs besides plan and objects; None where Python has to check guards."""
    parameters = inspect.signature(function).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return None
    if isinstance(traced.results, list):
        return None  # plans return tuples
    constants: dict[str, Any] = {}
    hidden: dict[str, tuple[dict[str, Any], str]] = {}
    conditions: list[tuple[dict[str, Any], str, Any]] = []
    scalar_types: dict[str, type] = {}
    by_name = {argument.name: argument for argument in traced.arguments}
    for wanted in program.arguments:
        argument = by_name[wanted.name]
        kind, name = argument.path[0]
        if len(argument.path) > 1:
            return None
        if kind == "parameter":
            if name != wanted.name:
                return None
        elif kind == "constant":
            constants[wanted.name] = argument.value
        elif (place := _global_place(function, kind, name)) is not None:
            hidden[wanted.name] = place
        else:
            return None
        if isinstance(wanted, ScalarArgument):
            exact = _exact_type(argument, wanted)
            if exact is None:
                return None
            scalar_types[wanted.name] = exact
    for guard in traced.guards:
        if len(guard.path) > 1:
            return None
        kind, name = guard.path[0]
        place = _global_place(function, kind, name)
        if guard.kind == "contiguous" and guard.value and kind == "parameter":
            continue  # all versions ask for that layout
        if guard.kind == "equal" and not isinstance(guard.value, float) and _has_signed_zero(guard.value):
            return None
        is_fixed = isinstance(guard.value, _SIMPLE) or type(guard.value) in _EQUAL_TO_ITSELF_ALONE
        if guard.kind in ("equal", "is") and kind == "parameter" and is_fixed:
            constants[name] = guard.value
        elif guard.kind in ("equal", "is") and place is not None:
            conditions.append((*place, guard.value))
        elif guard.kind == "type" and _is_one_of(place, hidden):
            continue  # a hidden array is checked as every array is
        else:
            return None
    return {
        "constants": constants or None,
        "hidden": hidden or None,
        "conditions": conditions or None,
        "scalar_types": scalar_types or None,
    }


def _global_place(function: Callable[..., Any], kind: str, name: Any) -> tuple[dict[str, Any], str] | None:
    """The dictionary and the key of a global of the function, or of one that it calls."""
    if kind == "global_of":
        function, name = name
    elif kind != "global":
        return None
    return (function.__globals__, name) if isinstance(name, str) else None


def _has_signed_zero(value: Any) -> bool:
    """Whether it is equal to a value with another sign of zero. Of floats the runtime compares the bits."""
    return isinstance(value, (complex, np.inexact)) and (value.real == 0 or value.imag == 0)


def _is_one_of(place: tuple[dict[str, Any], str] | None, hidden: Mapping[str, tuple[dict[str, Any], str]]) -> bool:
    return place is not None and any(held is place[0] and key == place[1] for held, key in hidden.values())


def _exact_type(argument: Any, wanted: ScalarArgument) -> type | None:
    if argument.weak:
        carried = _CARRIED[wanted.dtype]
        return carried if isinstance(carried, type) else None
    # A NumPy scalar that travels in a wider type has to be converted first.
    return type(argument.value) if argument.dtype == wanted.dtype else None


def program_function(
    program: Program, versions: list[Version], partials: Partials | None, *, returns_list: bool = False
) -> Callable[..., Any]:
    """The plan as a plain function of the program's arguments, in their order."""
    names = [argument.name for argument in program.arguments]
    entry = _face.load(
        compose(versions[0].build.header, versions),
        all_objects(versions) | (partials.objects() if partials else {}),
        name=program.function,
        doc="",
        signature_text=f"({', '.join([*names, '*', 'out=None'])})",
        parameters=[(name, "positional_or_keyword", _face.MISSING) for name in names],
        module_name="tilewright",
        partials=[partials.loaded() if partials else None],
    )
    carried = [(a.name, _CARRIED[a.dtype] if isinstance(a, ScalarArgument) else None) for a in program.arguments]

    def run(values: Mapping[str, Any], out: Any) -> Any:
        arguments = [values[name] if carry is None else carry(values[name]) for name, carry in carried]
        made = entry(*arguments) if out is None else entry(*arguments, out=out)
        return list(made) if returns_list else made

    return run
