"""How much of what could be tried a run of all tests tries: few examples of a property, few of many cases. `TILEWRIGHT_EXAMPLES` (`ctest --preset examples`)
is the number of examples for every property, and has every case tried."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

_ASKED = int(os.environ.get("TILEWRIGHT_EXAMPLES", "0"))
Case = TypeVar("Case")


def examples(usual: int) -> int:
    """Of Hypothesis. A run of all tests has `usual`, few where each compiles."""
    return _ASKED or usual


def one_in(n: int, *factors: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Of the combinations of the factors' values, those whose places add up to a multiple of n. Each value is in one of them as soon as another factor has n
    values, and each pair of values as soon as a third factor has n."""
    places = itertools.product(*(list(enumerate(factor)) for factor in factors))
    return [tuple(value for _, value in each) for each in places if _ASKED or sum(place for place, _ in each) % n == 0]


def covering(cases: Iterable[Case], *factors: Callable[[Case], Hashable]) -> list[Case]:
    """Few of `cases`, in their order, in which each value of each factor occurs: the next one is always that with the most values that are not there yet."""
    all_cases: Sequence[Case] = list(cases)
    if _ASKED:
        return list(all_cases)
    values = [{(k, factor(case)) for k, factor in enumerate(factors)} for case in all_cases]
    left = set().union(*values)
    chosen = set()
    while left:
        best = max(range(len(values)), key=lambda k: len(values[k] & left))
        chosen.add(best)
        left -= values[best]
    return [all_cases[k] for k in sorted(chosen)]
