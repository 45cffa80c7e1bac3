"""Reads what a compiled function takes out of the objects of a call, and refuses calls that it was not made for.

Stands in modules as `_reading.py`, whose functions take objects, dictionaries, tuples, or Python values that were compiled
in. It needs Python alone. Specifications are written by export/objects.py.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import textwrap
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# ("parameter", name), then ("attribute", name), ("item", key) or ("cell", name of a function's closure) steps
Path = Sequence[tuple[str, Any]]
Parameters = Sequence[tuple[str, str, Any]]  # name, kind, default
REQUIRED = inspect.Parameter.empty
UNWRITTEN: Any = type("Unwritten", (), {"__repr__": lambda self: "..."})()  # a default that no module can hold


def reading(
    entry: Callable[..., Any],
    *,
    name: str,
    doc: str,
    module: str,
    parameters: Parameters,
    shown: Parameters,
    reads: Mapping[str, Path],
    checks: Sequence[tuple[str, Path, Any]],
) -> Callable[..., Any]:
    """A function that takes the arguments of the original and calls `entry` with what it read of them.

    parameters: of the original's own code; `shown`: the signature that people see.
    checks: kind, path, and what must be found there.
    """
    signature = _signature(parameters)
    takes_out = "out" in signature.parameters

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {} if takes_out or "out" not in kwargs else {"out": kwargs.pop("out")}
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}.") from None
        bound.apply_defaults()
        found = bound.arguments
        for parameter, value in found.items():
            if value is UNWRITTEN:
                raise TypeError(
                    f"{name}: {parameter} is missing; its default is an object that this module does not have."
                )
        for kind, path, wanted in checks:
            _CHECKS[kind](name, path, _follow(name, path, found), wanted, found)
        values = {argument: _follow(name, path, found) for argument, path in reads.items()}
        if given.get("out") is None:
            return entry(**values)
        return entry(**values, **given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    call.__module__ = module
    call.__signature__ = _signature(shown)  # type: ignore[attr-defined]
    return call


def _signature(parameters: Parameters) -> inspect.Signature:
    made = [
        inspect.Parameter(n, getattr(inspect.Parameter, kind.upper()), default=value) for n, kind, value in parameters
    ]
    return inspect.Signature(made)


def text(path: Path) -> str:
    """As a person writes it: self.weights[0]."""
    told = str(path[0][1])
    for kind, key in path[1:]:
        told += {"attribute": f".{key}", "cell": f"'s {key}"}.get(kind, f"[{key!r}]")
    return told


def _follow(name: str, path: Path, found: Mapping[str, Any]) -> Any:
    value = found[path[0][1]]
    for number, (kind, key) in enumerate(path[1:], 1):
        try:
            if kind == "attribute":
                value = getattr(value, key)
            elif kind == "cell":
                value = value.__closure__[value.__code__.co_freevars.index(key)].cell_contents
            else:
                value = value[key]
        except (AttributeError, LookupError, TypeError, ValueError):
            what = f"no item {key!r}" if kind == "item" else f"no {kind if kind == 'attribute' else 'variable'} {key}"
            raise TypeError(
                f"{name}: {text(path[:number])} is a {type(value).__name__} with {what}, which this module reads."
            ) from None
    return value


def _check_type(name: str, path: Path, value: Any, wanted: str, found: Mapping[str, Any]) -> None:
    if type(value).__qualname__ != wanted:
        raise TypeError(
            f"{name}: {text(path)} is a {type(value).__qualname__}, but this module was made for a {wanted}."
        )


def _check_length(name: str, path: Path, value: Any, wanted: tuple[str, int], found: Mapping[str, Any]) -> None:
    kind, length = wanted
    if type(value).__qualname__ != kind:
        raise TypeError(f"{name}: {text(path)} is a {type(value).__qualname__}, but this module was made for a {kind}.")
    if len(value) != length:
        raise ValueError(f"{name}: {text(path)} has {len(value)} items, but this module was made for {length}.")


def _check_keys(name: str, path: Path, value: Any, wanted: tuple[Any, ...], found: Mapping[str, Any]) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"{name}: {text(path)} is a {type(value).__qualname__}, but this module was made for a dict.")
    if tuple(value) != wanted:
        raise ValueError(
            f"{name}: {text(path)} has the keys {list(value)}, but this module was made for {list(wanted)}, in this order."
        )


def _check_equal(name: str, path: Path, value: Any, wanted: Any, found: Mapping[str, Any]) -> None:
    # By text, so that -0.0 is not 0.0, nan is nan, and 1 is not True.
    if type(value) is not type(wanted) or repr(value) != repr(wanted):
        raise (ValueError if type(value) is type(wanted) else TypeError)(
            f"{name}: {text(path)} is {value!r}, but this module was compiled with {wanted!r}. Tune the function with that "
            "one too."
        )


def _check_same(name: str, path: Path, value: Any, wanted: Path, found: Mapping[str, Any]) -> None:
    if value is not _follow(name, wanted, found):
        raise ValueError(
            f"{name}: {text(path)} and {text(wanted)} are two objects, but this module was made for one at both places."
        )


def _check_another(name: str, path: Path, value: Any, wanted: Path, found: Mapping[str, Any]) -> None:
    if value is _follow(name, wanted, found):
        raise ValueError(
            f"{name}: {text(path)} and {text(wanted)} are one object, but this module was made for two of them."
        )


def _check_named(name: str, path: Path, value: Any, wanted: tuple[str, str], found: Mapping[str, Any]) -> None:
    """A function, class or module of a library, which is found by its name."""
    module, attribute = wanted
    known: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else ():
        known = getattr(known, part)
    if value is not known:
        raise TypeError(
            f"{name}: {text(path)} is {value!r}, but this module was made for {'.'.join(filter(None, wanted))}. Tune the "
            "function with that one too."
        )


def _check_source(name: str, path: Path, value: Any, wanted: tuple[str, str], found: Mapping[str, Any]) -> None:
    """A function of the user's, which is known by its source."""
    called, digest = wanted
    if digest_of(value) != digest:
        raise TypeError(
            f"{name}: {text(path)} is {value!r}, but this module was made for the function {called} as it was then. Tune "
            "the function with that one too."
        )


def _check_contiguous(name: str, path: Path, value: Any, wanted: bool, found: Mapping[str, Any]) -> None:
    """Where it decides between a view and a copy. What is no array becomes a contiguous one."""
    flags = getattr(value, "flags", None)
    if (flags is None or flags.c_contiguous) is not wanted:
        made = "C-contiguous arrays" if wanted else "arrays that are not C-contiguous"
        raise ValueError(
            f"{name}: {text(path)} is {'not ' if wanted else ''}C-contiguous, but this module was made for {made}, which the "
            "function treats in another way. Tune the function with that one too."
        )


def _check_writeable(name: str, path: Path, value: Any, wanted: bool, found: Mapping[str, Any]) -> None:
    flags = getattr(value, "flags", None)
    if flags is None or flags.writeable is wanted:
        return
    if wanted:
        raise ValueError("assignment destination is read-only")
    raise ValueError(
        f"{name}: {text(path)} may be written, but this module was made for read-only arrays, which the function treats in "
        "another way. Tune the function with that one too."
    )


def _check_text(name: str, path: Path, value: Any, wanted: tuple[str, str], found: Mapping[str, Any]) -> None:
    """A value that its class and its text tell."""
    if (type(value).__qualname__, repr(value)) != wanted:
        raise TypeError(
            f"{name}: {text(path)} is {value!r}, but this module was made for {wanted[1]}. Tune the function with that one too."
        )


def _check_has(name: str, path: Path, value: Any, wanted: tuple[str, bool], found: Mapping[str, Any]) -> None:
    attribute, is_there = wanted
    if hasattr(value, attribute) is not is_there:
        raise TypeError(
            f"{name}: {text(path)} has {'an' if not is_there else 'no'} attribute {attribute}, but this module was made for "
            f"one that has {'it' if is_there else 'none'}."
        )


_CHECKS: dict[str, Callable[[str, Path, Any, Any, Mapping[str, Any]], None]] = {
    "type": _check_type,
    "length": _check_length,
    "keys": _check_keys,
    "equal": _check_equal,
    "same": _check_same,
    "another": _check_another,
    "named": _check_named,
    "text": _check_text,
    "has": _check_has,
    "source": _check_source,
    "contiguous": _check_contiguous,
    "writeable": _check_writeable,
}

_digests: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def digest_of(function: Any) -> str:
    """Of a function's source, read once; "" where it has none."""
    try:
        known = _digests.get(function)
        if known is None:
            source = inspect.getsource(function if inspect.iscode(function) else inspect.unwrap(function))
            known = _digests[function] = hashlib.sha256(textwrap.dedent(source).strip().encode()).hexdigest()
    except (OSError, TypeError, ValueError):
        return ""
    return known
