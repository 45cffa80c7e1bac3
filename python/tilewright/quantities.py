"""Times and sizes as people give them: numbers (seconds, bytes) or text with a unit ("15s", "2GB"); and as they read them."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real

_UNITS_S = {
    "": 1.0,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_UNITS_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", re.ASCII)
_LONGEST_S = 366 * 86400.0
_MOST_BYTES = 1 << 62


def parse_duration_s(value: object, name: str) -> float:
    """60, 1.5, "60s", "1.5m", "2h" -> seconds, above zero and at most a year.

    name: of the argument or option, which the message begins with. Raises TypeError, ValueError.
    """
    seconds = _parse(value, name, _UNITS_S, "duration", "Write 60s, 2m or 1h.")
    if not 0 < seconds <= _LONGEST_S:
        raise ValueError(f"{name}: {_shown(value)} is no duration. Write 60s, 2m or 1h.")
    return seconds


def parse_size_bytes(value: object, name: str) -> int:
    """4096, "64MiB", "2GB" -> bytes, at least zero: kB, MB, GB count by thousands, KiB, MiB, GiB by 1024.

    name: of the argument or option, which the message begins with. Raises TypeError, ValueError.
    """
    size = _parse(value, name, _UNITS_BYTES, "size", "Write 4096, 64MiB or 2GB.")
    if not 0 <= size <= _MOST_BYTES or size != int(size):
        raise ValueError(f"{name}: {_shown(value)} is no size. Write 4096, 64MiB or 2GB.")
    return int(size)


def _parse(value: object, name: str, units: dict[str, float] | dict[str, int], kind: str, hint: str) -> float:
    """The number in base units, which is NaN where it is none; an int stays exact."""
    if isinstance(value, str):
        match = _NUMBER_AND_UNIT.fullmatch(value.lower())
        if match is None or match[2] not in units:
            raise ValueError(f"{name}: {_shown(value)} is no {kind}. {hint}")
        return (int(match[1]) if match[1].isdigit() and len(match[1]) < 20 else float(match[1])) * units[match[2]]
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}: a {kind} is a number or text, and this is {_kind_of(value)}. {hint}")
    try:
        whole = int(value) if isinstance(value, Integral) else None
        return whole if whole is not None and abs(whole) <= _MOST_BYTES else float(value)
    except OverflowError:
        return math.nan


def _kind_of(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _shown(value: object) -> str:
    """As Python writes it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        return "a number of too many digits"
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def format_ns(ns: float) -> str:
    """Three digits and a unit: 12.3 ms."""
    return _in_units(ns, ("ns", "us", "ms", "s"))


def format_bytes(size: float) -> str:
    """Three digits and a unit: 1.5 GB."""
    return _in_units(size, ("bytes", "kB", "MB", "GB"))


def _in_units(value: float, units: tuple[str, ...]) -> str:
    """By the largest unit that leaves at least one, each a thousand of the one before; the smallest has no fraction."""
    place = 0
    while value >= 1000 and place + 1 < len(units):
        value /= 1000
        place += 1
    return f"{value:.0f} {units[place]}" if value >= 100 or place == 0 else f"{value:.3g} {units[place]}"


def counted(number: int, noun: str) -> str:
    """1 candidate, 20 candidates."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
