"""Indices of loops, sizes and integer arguments compared with numbers that only the running function knows: either side may ask first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def all_but_the_last_seen(a, k, out, p):
    q = 1
    for i in range(2, a.shape[0]):
        if i != q:
            out[i] = a[i]
        if k[i] > 2:
            q = i + 1


def at_the_best(a, k, out, p):
    best = 0
    for j in range(a.shape[0]):
        if a[j] > a[best]:
            best = j
    for j in range(a.shape[0]):
        if j != best:
            out[j] = a[j]
        if best == j:
            out[j] -= 1.0
    return best


def only_there(a, k, out, p):
    q = 0
    for i in range(a.shape[0]):
        if k[i] > 5:
            q = q + 3
        out[i] = 0.0
        if i == q:
            out[i] = a[i]
        if not i == q + 1:  # noqa: SIM201
            out[i] += 0.5


def a_size_and_a_count(a, k, out, p):
    q = 0
    for i in range(a.shape[0]):
        if k[i] > 1:
            q += 1
    if a.shape[0] != q:
        out[0] = q
    if a.shape[0] == q:
        out[1] = q
    if p == q:
        out[2] = q
    return q


def a_while_up_to_it(a, k, out, p):
    for i in range(a.shape[0]):
        q = 0
        while q != i and q < k[i]:
            q += 1
        while i != q and q > 0:
            q -= 1
        out[i] = q


def beside_a_float(a, k, out, p):
    s = 0.0
    for i in range(a.shape[0]):
        if i == s:
            out[i] = 1.0
        if k[i] % 2 == 0:
            s = s + 2.0
        if s != p:
            out[i] += a[i]


@pytest.mark.parametrize(
    "function",
    [all_but_the_last_seen, at_the_best, only_there, a_size_and_a_count, a_while_up_to_it, beside_a_float],
)
@pytest.mark.parametrize("strict", [True, False])
def test_either_side_may_be_first(function: Any, strict: bool) -> None:
    compiled = tilewright.jit(strict=strict)(function)
    for n in (150, 3, 7, 400):
        rng = np.random.default_rng(n)
        a = rng.standard_normal(n)
        for k in (rng.integers(0, 12, n), np.full(n, 3), np.zeros(n, np.int64)):
            got, expected = np.full(n, 9.0), np.full(n, 9.0)
            assert compiled(a, k, got, n) == function(a, k, expected, n)
            np.testing.assert_array_equal(got, expected)
