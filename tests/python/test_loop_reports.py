"""explain() says of each loop what the translation for that very target makes of it."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from tilewright.native import compiler
from tilewright.trace import trace

pytestmark = pytest.mark.fast


def kinds(function, *args, **options):
    return [loop["kind"] for loop in compiler().loops(trace(function, args, {}).program_text, options)]


def seidel(a):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0


def rows(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = np.sqrt(x[i]) / np.sum(x[i])
    return out


def smoothed(x):
    for i in range(1, x.shape[0]):
        x[i] = 0.5 * x[i] + 0.5 * x[i - 1]


def count(x):
    found = 0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            found = found + 1
    return found


X = np.random.default_rng(0).random((30, 40))


def test_a_wavefront_is_one_of_cpus_alone():
    assert kinds(seidel, X)[0].startswith("wavefront: ")
    on_device = kinds(seidel, X, device=True)
    assert len(on_device) == 2
    assert not any("wavefront" in kind for kind in on_device)
    assert on_device[0].startswith("serial: ")


def test_loops_that_become_axes_are_said_to():
    assert kinds(rows, X)[0].startswith("map: ")
    assert kinds(rows, X, device=True) == ["axis: its iterations are independent, and an axis of the kernels"]
    assert kinds(rows, X, axes=True) == ["axis: its iterations are independent, and an axis of the kernels"]


def test_why_a_loop_becomes_no_axis_is_said_on_a_device_alone():
    assert "no axis of the kernels" not in kinds(smoothed, X)[0]
    assert "; no axis of the kernels: " in kinds(smoothed, X, device=True)[0]


def test_a_count_is_a_reduction_on_both():
    expected = ["reduction: sums of integers over the iterations, in any order"]
    assert kinds(count, X[0]) == kinds(count, X[0], device=True) == expected


def test_explain_asks_for_the_target_it_was_compiled_for():
    text = tilewright.jit(seidel).for_args(X.copy()).explain(source=False)
    assert "wavefront" in text
