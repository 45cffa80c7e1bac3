"""Functions of objects and functions: what a module reads of a call's arguments, and what must hold of them.

C takes the arrays and numbers themselves; Python around it (reading.py, which stands in the module) follows the paths at
each call. Conditions on the arguments that C cannot check are checked there too.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import math
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._face import Dispatcher
from ..errors import ExportError
from ..guards import path_text
from ..originals import ORIGINAL
from ..signatures import own_signature
from .reading import digest_of

FILE = "_reading.py"
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_INNER = ("pcg64",)


@dataclass(frozen=True)
class Reads:
    """What the Python around an entry does: reads by program argument, checks as (kind, path, Python text)."""

    reads: tuple[tuple[str, tuple[Any, ...]], ...]
    checks: tuple[tuple[str, tuple[Any, ...], str], ...]

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Of the entry: what it is given, by name."""
        return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name, _ in self.reads]


def reads_of(function: str, traced: Any, arguments: list[Any]) -> Reads | None:
    """None where C does all of it. Raises ExportError for what no module can check."""
    generators = {a.path[:-1] for a in arguments if a.path[-1][0] in _INNER}
    guards = [g for g in traced.guards if g.path[0][0] == "parameter"]
    guards = [g for g in guards if not any(g.path[: len(path)] == path for path in generators)]
    given = [a for a in arguments if a.path[0][0] == "parameter"]
    of_code = own_signature(traced.function).parameters
    gathers = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in of_code.values())
    # A wrapper may name its parameters in another way, or have other defaults, than what it shows.
    differs = list(of_code.values()) != list(inspect.signature(traced.function).parameters.values())
    inside = [a for a in given if len(a.path) > 1 and a.path[-1][0] not in _INNER]
    if not inside and not gathers and not differs and all(_c_checks(guard) for guard in guards):
        return None
    reads = {a.name: a.path for a in given if a.path[-1][0] not in _INNER}
    reads |= {path[0][1]: path for path in generators if path[0][0] == "parameter"}
    reads |= {path[0][1]: path for path in _seeds(arguments)}
    checks = [check for guard in guards if (check := _check(function, guard, arguments)) is not None]
    return Reads(tuple(reads.items()), tuple(checks))


def reads_lines(  # noqa: PLR0917
    entry: str, kernel: str, function: Any, name: str, doc: str, shown: list[inspect.Parameter], reads: Reads
) -> list[str]:
    """The lines of the module that put Python around an entry."""
    own = list(own_signature(function).parameters.values())
    lines = [
        "",
        f"{entry} = _reading.reading(",
        f"    {kernel},",
        f"    name={name!r},",
        f"    doc={doc!r},",
        "    module=__name__,",
        f"    parameters=[{_parameters_text(own)}],",
        f"    shown=[{_parameters_text(shown)}],",
        "    reads={",
    ]
    lines += [f"        {argument!r}: {path!r}," for argument, path in reads.reads]
    lines += ["    },", "    checks=["]
    lines += [f"        ({kind!r}, {path!r}, {wanted})," for kind, path, wanted in reads.checks]
    lines += ["    ],", ")"]
    return lines


def _seeds(arguments: list[Any]) -> list[tuple[Any, ...]]:
    """default_rng(seed) of a parameter: where the seed is."""
    roots = [a.path[0] for a in arguments if a.path[-1][0] in _INNER]
    return [held for kind, held in roots if kind == "default_rng" and isinstance(held, tuple)]


def _c_checks(guard: Any) -> bool:
    if len(guard.path) > 1 or guard.kind != "equal":
        return False
    return isinstance(guard.value, (bool, int, float, str, type(None)))


def _check(function: str, guard: Any, arguments: list[Any]) -> tuple[str, tuple[Any, ...], str] | None:
    kind, value = guard.kind, guard.value
    path = tuple(step for step in guard.path if step != ORIGINAL)  # a module tells functions apart by their source
    if kind == "type":
        # The entry says it of arrays itself, and takes lists too.
        return None if value is np.ndarray else ("type", path, repr(value.__qualname__))
    if kind in ("contiguous", "writeable"):
        return (kind, path, repr(value))
    if kind == "length":
        return ("length", path, repr((value[0].__qualname__, value[1])))
    if kind == "keys" and all(isinstance(key, _PLAIN) for key in value[1]):
        return ("keys", path, f"({''.join(f'{literal(key)}, ' for key in value[1])})")
    if kind in ("lacks", "holds", "plain"):
        return None  # of objects whose attributes the function sets, which no module does
    if kind == "has":
        return ("has", path, repr(value))
    if kind == "same" and value[0][0] == "parameter":
        return ("same", path, repr(value))
    if kind == "another" and value[0][0] == "parameter":
        return ("another", path, repr(value))
    if kind == "equal" and (written := literal(value)):
        return ("equal", path, written)
    if kind == "equal" or (kind == "is" and isinstance(value, enum.Enum)):
        return ("text", path, repr((type(value).__qualname__, repr(value))))
    if kind == "code" and (digest := digest_of(value)):
        return ("source", path, repr((value.co_name, digest)))
    if kind == "code" and len(path) == 1:
        raise ExportError(
            f"{function}: the source of {value.co_name}, which is passed as {path[0][1]}, cannot be read, so that a "
            "module could not tell it from others.",
            "Call it by its name instead of passing it.",
        )
    if kind == "is":
        if isinstance(value, (bool, type(None), type(Ellipsis))):
            return ("equal", path, repr(value))
        if (place := _place(value)) is not None:
            return ("named", path, repr(place))
        if isinstance(value, (types.FunctionType, Dispatcher)) and (digest := digest_of(value)):
            return ("source", path, repr((getattr(value, "__name__", ""), digest)))
        if isinstance(value, type):
            return None  # its objects are checked where they are used
    raise ExportError(
        f"{function}: {path_text(path)} was compiled in ({value!r}), and a module could not tell it from others.",
        "Make it part of the function's code, or pass plain numbers and text.",
    )


def _place(value: Any) -> tuple[str, str] | None:
    """Module and name of what a library defines, where that is found by them."""
    if isinstance(value, types.ModuleType):
        return (value.__name__, "") if _is_of_library(value.__name__) else None
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else None)
    if not isinstance(name, str) or not isinstance(module, str) or not _is_of_library(module):
        return None
    return (module, name) if named(sys.modules.get(module) or importlib.import_module(module), name) is value else None


def named(module: Any, qualified: str) -> Any:
    """What a module has under a qualified name; None where it has nothing."""
    return functools.reduce(lambda found, part: getattr(found, part, None), qualified.split("."), module)


def _is_of_library(module: str) -> bool:
    top = module.partition(".")[0]
    return top == "numpy" or top in sys.stdlib_module_names


def literal(value: Any) -> str:
    """Python text that gives an equal value; "" where there is none."""
    if type(value) is float and not math.isfinite(value):
        return f"float({str(value)!r})"
    if type(value) is complex:
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, np.dtype):
        return f"_numpy.dtype({value.str!r})"
    if isinstance(value, np.generic):
        return f"_numpy.dtype({value.dtype.str!r}).type({literal(value.item())})"
    if type(value) in (tuple, frozenset) and all(literal(item) for item in value):
        return f"{type(value).__name__}(({''.join(f'{literal(item)}, ' for item in value)}))"
    if type(value) in (slice, range):
        parts = [literal(part) for part in (value.start, value.stop, value.step)]
        return f"{type(value).__name__}({', '.join(parts)})" if all(parts) else ""
    return ""


def _parameters_text(parameters: list[inspect.Parameter]) -> str:
    return ", ".join(f"({p.name!r}, {p.kind.name.lower()!r}, {_default(p)})" for p in parameters)


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "_reading.REQUIRED"
    return literal(parameter.default) or "_reading.UNWRITTEN"
