"""A schedule's text by directives, and shorter ones of it: which one is it that makes the result wrong?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_VARIANT = re.compile(r"variant (\w+) = (\w+)")
_PLACED = re.compile(r"(\w+)\.(?:.*\.)?(?:compute_root|compute_at|inline)\(")


def header_of(schedule: str) -> list[str]:
    """The lines that say what the text is and for which function."""
    return [line for line in schedule.splitlines() if line.startswith(("tilewright-schedule ", "schedule "))]


def lines_of(schedule: str) -> list[str]:
    """Its choices of variants and its directives, in order, each in a line: `x.split(i, io, ii, 8).parallel(io)` is two."""
    known = header_of(schedule)
    lines = [line for line in schedule.splitlines() if line.strip() and line not in known and line[0] != "#"]
    return [one for line in lines for one in ([line] if line.startswith("variant ") else _directives(line))]


def _directives(line: str) -> list[str]:
    parts, depth = [""], 0
    for char in line:
        depth += (char in "({") - (char in ")}")
        if char == "." and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    stages = 2 if parts[1].startswith("update(") else 1  # x, or x.update(0)
    return [f"{'.'.join(parts[:stages])}.{verb}" for verb in parts[stages:]]


def variants_of(schedule: str) -> dict[str, str]:
    return {m[1]: m[2] for line in lines_of(schedule) if (m := _VARIANT.match(line))}


def of_lines(header: Iterable[str], lines: Iterable[str], stages: Iterable[Mapping[str, Any]]) -> str:
    """A schedule of these lines, in which every other stage is computed once, whole, before whoever reads it."""
    lines = list(lines)
    placed = {m[1] for line in lines if (m := _PLACED.match(line))}
    roots = [
        f"{stage['name']}.compute_root()" for stage in stages if not stage["output"] and stage["name"] not in placed
    ]
    return "\n".join([*header, *lines, *roots]) + "\n"


def first_wrong(count: int, is_wrong: Callable[[int], bool | None]) -> tuple[int, int]:
    """The numbers (low, high) nearest to each other with the first `low` lines right and the first `high` wrong, where
    none is right and all are wrong. `is_wrong` is None for numbers of lines that make no schedule."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        for number in sorted(range(low + 1, high), key=lambda n: abs(n - middle)):
            wrong = is_wrong(number)
            if wrong is not None:
                low, high = (low, number) if wrong else (number, high)
                break
        else:
            break
    return low, high
