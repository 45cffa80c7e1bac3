"""A function without source runs as it is, and NumPy's protocols tell what it computes. What it reads from outside is made
symbolic before: its globals, its closure and its defaults are replaced in a copy of it."""

from __future__ import annotations

import builtins
import collections
import dis
import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._face import Dispatcher
from .found_inputs import MAX_NESTING
from .pure import EFFECTS, MODULES, is_pure_class
from .source import code_objects

if TYPE_CHECKING:
    from .arguments import Inputs


def without_source(inputs: Inputs, function: types.FunctionType) -> types.FunctionType:
    """A copy of the function that finds the symbolic form of what it reads."""
    made = inputs.copies.get(function)
    if made is not None:
        return made
    path = inputs.path_of_function(function)
    _refuse_statements(inputs, function.__code__)
    is_root = path == (("function", ""),)
    table: dict[str, Any] = {
        "__name__": function.__globals__.get("__name__") or "__main__",
        "__builtins__": _builtins(inputs),
    }
    closure = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, table, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    inputs.copies[function] = copy
    for name in (name for code in (function.__code__, *code_objects(function.__code__)) for name in code.co_names):
        if name in function.__globals__:
            table[name] = _usable(
                inputs, name, inputs.outside(inputs.global_path(function, name), function.__globals__[name])
            )
        elif hasattr(builtins, name):
            inputs.builtin(function, name, getattr(builtins, name))
    for name, cell, theirs in zip(function.__code__.co_freevars, closure, function.__closure__ or (), strict=True):
        try:
            value = theirs.cell_contents
        except ValueError:
            continue  # not set yet
        where = (("closure", name),) if is_root else (*path, ("cell", name))
        cell.cell_contents = _usable(inputs, name, inputs.outside(where, value))
    if not is_root:
        for name, values in (("__defaults__", function.__defaults__), ("__kwdefaults__", function.__kwdefaults__)):
            made_values = inputs.outside((*path, ("attribute", name)), values)
            setattr(copy, name, _usable(inputs, name, made_values))
    return copy


def _usable(inputs: Inputs, name: str, value: Any) -> Any:
    """A value that code which is not followed may have. TraceError for others: what it does with them nobody sees."""
    if isinstance(value, types.FunctionType):
        return without_source(inputs, value)
    if isinstance(value, Dispatcher):
        return without_source(inputs, value.__wrapped__)  # type: ignore[attr-defined]
    inputs.lent += [(name, held, _contents(held)) for held in _containers(value)]
    if isinstance(value, types.ModuleType):
        if value.__name__.split(".")[0] in {"numpy", *MODULES}:
            return value
        raise _refused(inputs, f"{name}, a module,")
    held = inputs.objects_in(value)
    if held is None and isinstance(value, (types.MethodType, functools.partial, functools._lru_cache_wrapper)):
        held = value
    if held is None and isinstance(value, type) and not is_pure_class(value):
        raise _refused(inputs, f"{name}, a class,")
    if held is not None:
        raise _refused(inputs, f"{name}, a {type(held).__name__} object,")
    return value


def call_without_source(inputs: Inputs, function: types.FunctionType, args: Any, kwargs: Any) -> Any:
    """What the function gives for symbolic arguments. TraceError where it changes what lives outside of it."""
    held = inputs.objects_in([*args, *kwargs.values()])
    if held is not None:
        raise _refused(inputs, f"a {type(held).__name__} object")
    for name, value in [*((f"argument {k}", v) for k, v in enumerate(args)), *kwargs.items()]:
        inputs.lent += [(name, held, _contents(held)) for held in _containers(value) if inputs.is_outer(held)]
    result = without_source(inputs, function)(*args, **kwargs)
    for name, value, contents in inputs.lent:
        now = _contents(value)
        if len(now) != len(contents) or any(a is not b for a, b in zip(now, contents, strict=True)):
            raise inputs.tracer.error(
                f"changing {name}", "it lives outside of the function, and the change would happen only once, while tracing",
                "Return the value, and keep it at the caller.",
            )  # fmt: skip
    return result


def _refuse_statements(inputs: Inputs, code: types.CodeType) -> None:
    """What code that nobody follows may not do: assign globals, and catch what a trace raises."""
    for instruction in (one for each in (code, *code_objects(code)) for one in dis.get_instructions(each)):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise inputs.tracer.error(
                f"assigning the global {instruction.argval}", "it would happen only once, while tracing",
                "Return the value, and assign it at the caller.",
            )  # fmt: skip
        if instruction.opname == "PUSH_EXC_INFO":
            raise inputs.tracer.error(
                "a try or a with in a function without source", "it might catch the errors of the trace",
                "Define the function in a file.",
            )  # fmt: skip


def _containers(value: Any, depth: int = 0) -> Iterator[Any]:
    """The containers that a value is or holds."""
    if isinstance(value, (list, dict, set, collections.deque)):
        yield value
    if isinstance(value, (list, tuple, dict, collections.deque)) and depth < MAX_NESTING:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _containers(part, depth + 1)


def _contents(value: Any) -> list[Any]:
    return [*value, *value.values()] if isinstance(value, dict) else list(value)


def _refused(inputs: Inputs, what: str) -> Exception:
    return inputs.tracer.error(
        f"{what} in a function without source",
        "it would be read only once, while tracing",
        "Define the function in a file.",
    )


def _builtins(inputs: Inputs) -> dict[str, Any]:
    def refusing(what: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise inputs.tracer.error(
                what, "it must happen at every call, and a compiled function would never do it",
                "Move it to the caller, or leave it out of the compiled function.",
            )  # fmt: skip

        return refuse

    # An import statement calls __import__ itself.
    return {**vars(builtins), **{f.__name__: refusing(what) for f, what in EFFECTS.items() if f is not __import__}}
