"""`is` of numbers and of truths, and `in` of objects whose class says what is in them."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def is_asked(x, keep=False, count=3, limit=None):
    if keep is not False:
        x = x + 1
    if count is True:
        x = x * 5
    if keep is is_asked or count is int:
        x = x * 7
    return x * (2 if limit is None else 3)


def test_a_number_is_no_other_object_and_a_truth_is_itself():
    compiled, x = tilewright.jit(is_asked, strict=True), np.ones(3)
    for options in ({}, {"keep": True}, {"keep": 1}, {"keep": 0}, {"count": True}, {"count": 1}, {"limit": 3.0}):
        np.testing.assert_array_equal(compiled(x, **options), is_asked(x, **options))


class Limits:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, value):
        return self.low <= value < self.high


LIMITS = Limits(1, 4)


def test_in_asks_the_class_of_an_object_from_outside():
    def inside(x, n):
        return x * 2 if n in LIMITS else x * 3

    compiled, x = tilewright.jit(inside, strict=True), np.ones(3)
    for n in (0, 1, 3, 4):
        np.testing.assert_array_equal(compiled(x, n), inside(x, n))
    LIMITS.high = 9
    np.testing.assert_array_equal(compiled(x, 5), inside(x, 5))
    LIMITS.high = 4
