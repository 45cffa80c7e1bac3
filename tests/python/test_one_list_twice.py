"""A list or dict that a call has at two places is one object there, and two in a call that has two."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def read_where_one(a, b):
    return a is b, np.add(a[0], 1.0 if a is b else 2.0)


def appended(a, b):
    a.append(b[-1] * 2)
    return len(b), b[-1] + 1.0


def appended_in_a_loop(a, b):
    for _ in range(4):
        a.append(b[-1] * 1.5)
    return len(b), b[-1]


def item_set(a, b):
    a[0] = a[0] * 2
    return b[0] + 1


def key_set(a, b):
    a["new"] = a[0] * 3
    return a is b, b.get("new", b[0]) + 1


def in_a_list(a, b):
    held = [a, b]
    return held[0] is held[1], held[1][0] + 1


def both_given_back(a, b):
    return a, b, a[0] + b[0]


OF_LISTS = [read_where_one, appended, appended_in_a_loop, item_set, in_a_list, both_given_back]


@pytest.mark.parametrize("order", [(True, False, True), (False, True, False)], ids=["one first", "two first"])
@pytest.mark.parametrize(("function", "kind"), [*((one, list) for one in OF_LISTS), (key_set, dict), (in_a_list, dict)])
def test_one_object_at_two_places(function: Any, kind: type, order: tuple[bool, ...]) -> None:
    compiled = tilewright.jit(function, strict=True)

    def called(function: Any, is_one: bool) -> str:
        first = [np.arange(3.0)] if kind is list else {0: np.arange(3.0)}
        second = first if is_one else copy.deepcopy(first)
        given = function(first, second)
        ends = given[0] is given[1] if function.__name__ == "both_given_back" else None
        return repr((given, ends, first, second))

    for is_one in order:
        assert called(compiled, is_one) == called(function, is_one)
