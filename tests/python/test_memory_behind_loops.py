"""What a loop leaves in a variable may be an array from before it, or another variable's: who gets it back gets that very array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from from_text import function_of

pytestmark = pytest.mark.compile

LOOPS = [
    "for i in range(k): a, b = b, a",
    "for i in range(k): a, b = b, a + 1",
    "for i in range(k): a = a[::-1]",
    "for i in range(k): b = b + 1; a = b",
    "for i in range(k): b = b + 1; a = b[1:]",
    "c = a\n    for i in range(k):\n        c = c * 2\n        if c[1] > 6: a = c",
    "for i in range(k):\n        old = a\n        a = a * 2\n        if a[0] > 6: break\n    b = old if k else a",
    "i = 0\n    while i < k:\n        a, b = b, a\n        i += 1",
    "i = 0\n    while i < k and a[0] < 4:\n        old = a\n        a = a + 1\n        b = old\n        i += 1",
    "t = (a, b)\n    for i in range(k): t = (t[1], t[0] + 1)\n    a, b = t",
    "d = {'a': a, 'b': b}\n    for i in range(k): d['a'], d['b'] = d['b'], d['a']\n    a, b = d['a'], d['b']",
]
GIVEN = ["a, b", "a[1:], b * 2"]


def outcome(function: Any, k: int, first: float, is_one: bool) -> Any:
    a = np.full(12, first)
    b = a if is_one else np.arange(12.0)
    results = function(a, b, k)
    every = [a, b, *results]
    return [
        (one.tolist(), [one is other for other in every], [np.shares_memory(one, other) for other in every])
        for one in every
    ]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("loop", LOOPS, ids=range(len(LOOPS)))
def test_what_is_returned_behind_a_loop_is_the_array_that_it_is_in_python(loop, given):
    function = function_of(f"def f(a, b, k):\n    {loop}\n    return {given}\n")
    compiled = tilewright.jit(function)
    for k, first, is_one in (
        (3, 1.0, False),
        (1, 1.0, False),
        (2, 5.0, False),
        (0, 1.0, False),
        (4, -1.0, False),
        (1, 1.0, True),
    ):
        assert outcome(compiled, k, first, is_one) == outcome(function, k, first, is_one)


def test_what_is_new_memory_in_every_call_is_compiled():
    function = function_of("def f(a, b, k):\n    for i in range(k): a, b = b, a + b\n    return b * 2, a + 1\n")
    compiled = tilewright.jit(function, strict=True)
    for k in (1, 2, 5):
        assert outcome(compiled, k, 1.0, False) == outcome(function, k, 1.0, False)
    assert compiled.specializations


def test_what_may_be_an_argument_is_compiled_for_calls_in_which_it_is_not():
    function = function_of("def f(a, b, k):\n    for i in range(k): a, b = b, a + b\n    return a\n")
    compiled = tilewright.jit(function)
    first, second = np.full(12, 1.0), np.arange(12.0)
    assert compiled(first, second, 1) is second
    np.testing.assert_array_equal(compiled(first, second, 4), function(first, second, 4))
    assert any(one.versions for one in compiled.specializations)
