"""Arguments of public functions: what each takes, said in one sentence where it gets something else.

A wrong type is a TypeError, a value out of range a ValueError; both begin with the argument's name and end with what to
give. Durations and sizes are in quantities.py, targets in machine.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

MOST_TRIALS = (1 << 31) - 1
MOST_SEED = (1 << 63) - 1
MOST_THREADS = 1024  # as kMaxThreads of the runtime
_LONGEST_SHOWN = 60


def whole_number(value: Any, name: str, least: int, most: int) -> int:
    """An int from `least` to `most`; NumPy's integers too, booleans not."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}: {described(value)} is not a whole number. Give an int from {least} to {most}.")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{name}: {shown(number)} is out of range. Give an int from {least} to {most}.")
    return number


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name}: {described(value)} is neither True nor False. Give one of them.")
    return value


def strictness(value: Any, name: str) -> bool | Literal["kernels"]:
    """True, False or "kernels"."""
    if not isinstance(value, (bool, str)):
        raise TypeError(f"{name}: {described(value)} is neither True nor False nor text. Use True, False or 'kernels'.")
    if isinstance(value, str) and value != "kernels":
        raise ValueError(f"{name}: {shown(value)} is not known. Use True, False or 'kernels'.")
    return value  # type: ignore[return-value]


def text(value: Any, name: str, what: str) -> str:
    """Text that can be written as UTF-8. `what`: what it is the text of, for the sentence."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: {described(value)} is not text. Give {what} as a str.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{name}: it has a lone surrogate, which no text file can hold. Give {what} as a str."
        ) from None
    if "\0" in value:
        raise ValueError(f"{name}: it has a null character, which no text file holds. Give {what} as a str.")
    return value


def optional_text(value: Any, name: str, what: str) -> str | None:
    return None if value is None else text(value, name, what)


def path(value: Any, name: str) -> Path:
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name}: {described(value)} is not a path. Give a str or a pathlib.Path.")
    given = os.fspath(value)
    if not given or "\0" in given:
        raise ValueError(f"{name}: {shown(given)} is not a path. Give a str or a pathlib.Path.")
    return Path(given)


def optional_path(value: Any, name: str) -> Path | None:
    return None if value is None else path(value, name)


def one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: {described(value)} is not text. Use {', '.join(known)}.")
    if value not in known:
        raise ValueError(f"{name}: {shown(value)} is not known. Use {', '.join(known)}.")
    return value


def names(value: Any, name: str, example: str) -> tuple[str, ...]:
    """Several texts: ("host", "cuda"). One text alone would be taken for its letters."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name}: {described(value)} is not a tuple of str. Write {example}.")
    given = tuple(value)
    for one in given:
        if not isinstance(one, str):
            raise TypeError(f"{name}: {described(one)} in it is not text. Write {example}.")
    return given


def optional_function(value: Any, name: str, what: str) -> Any:
    if value is not None and not callable(value):
        raise TypeError(f"{name}: {described(value)} cannot be called. Give a function of {what}, or None.")
    return value


def described(value: Any) -> str:
    """'2' (type str); None alone."""
    return "None" if value is None else f"{shown(value)} (type {type(value).__name__})"


def shown(value: Any) -> str:
    """As Python writes it, cut where it is long."""
    try:
        told = repr(value)
    except ValueError:  # an int of thousands of digits
        return "a number of too many digits"
    except Exception:  # noqa: BLE001  (a repr() of the user's that fails)
        return "a value"
    return told if len(told) <= _LONGEST_SHOWN else f"{told[:40]}… ({len(told)} characters)"
