"""Times as people give them, numbers of seconds or text with a unit ("15s"); times, sizes and counts as they read them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from numbers import Real

from .checks import shown

_UNITS_S = {"": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", re.ASCII)
_LONGEST_S = 366 * 86400.0
_HINT = "Write 60s, 2m or 1h."


def parse_duration_s(value: object, name: str) -> float:
    """60, 1.5, "60s", "1.5m", "2h" -> seconds, above zero and at most a year.

    name: of the argument or option, which the message begins with. Raises TypeError, ValueError.
    """
    seconds = _seconds(value, name)
    if not 0 < seconds <= _LONGEST_S:
        raise ValueError(f"{name}: {shown(value)} is not a duration. {_HINT}")
    return seconds


def _seconds(value: object, name: str) -> float:
    """NaN where it is too large for one."""
    if isinstance(value, str):
        match = _NUMBER_AND_UNIT.fullmatch(value.lower())
        if match is None or match[2] not in _UNITS_S:
            raise ValueError(f"{name}: {shown(value)} is not a duration. {_HINT}")
        return float(match[1]) * _UNITS_S[match[2]]
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = "None" if value is None else f"of type {type(value).__name__}"
        raise TypeError(f"{name}: a duration is a number or text, and this is {kind}. {_HINT}")
    try:
        return float(value)
    except OverflowError:
        return math.nan


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


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """A line for each row. All columns but the last are as wide as their longest cell, and aligned right but for `left`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    lines = []
    for *cells, last in rows:
        padded = [c.ljust(w) if k in left else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths, strict=True))]
        lines.append("  ".join([*padded, last]).rstrip())
    return lines
