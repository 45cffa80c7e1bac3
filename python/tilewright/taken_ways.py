"""Which ways the ifs of compiled functions took in calls that were watched, and how places in the source are called."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable
from typing import Any

# Where a call stands in the source: line and column of its begin and its end. A way leads from the compiled function to it.
Site = tuple[int, int, int, int]
Way = tuple[Site, ...]
# An if in the source, by its function's way and its own place.
Branch = tuple[Way, Site]
# Of compiled functions whose calls were watched: which ways their ifs have taken.
_taken: dict[types.CodeType, dict[Branch, set[bool]]] = {}
_watched: Counter[types.CodeType] = Counter()  # how many of their calls


def watch_branches(root: types.CodeType) -> Callable[[Branch, Any], bool]:
    """Keeps which ways the ifs of a watched call take: truth(branch, condition)."""
    ways = _taken.setdefault(root, {})
    _watched[root] += 1

    def truth(branch: Branch, condition: Any) -> bool:
        holds = bool(condition)
        ways.setdefault(branch, set()).add(holds)
        return holds

    return truth


def was_watched(root: types.CodeType) -> bool:
    return root in _taken


def times_watched(root: types.CodeType) -> int:
    return _watched[root]


def only_way(root: types.CodeType, branch: Branch) -> bool | None:
    """The truth that a condition had whenever it was asked for; None where it had both, or was not."""
    taken = _taken.get(root, {}).get(branch, set())
    return next(iter(taken)) if len(taken) == 1 else None
