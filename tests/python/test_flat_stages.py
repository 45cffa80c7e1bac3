"""Stages whose last axis is not long are one loop over all elements: NumPy's bits, for every layout and size."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.complex128]


def chained(x, y):
    a = x * y + x
    b = a - y
    return b * a, a


def reduced_beside(x, y):
    a = x * y
    return a.sum(axis=0), a + x


def masked(x, y):
    return np.where(x == y, x + y, y) * x


def broadcast(x, y):
    return x * y[..., :1] + y


def reshaped(x, y):
    return (x + y).reshape(-1) * 2 + y.reshape(-1)


FUNCTIONS = [chained, reduced_beside, masked, broadcast, reshaped]


def stages_of(function, *args):
    specialization = tilewright.jit(function, strict=True).for_args(*args)
    return {stage["name"]: [loop["name"] for loop in stage["loops"]] for stage in specialization.stages}


def laid_out(array, layout):
    if layout == "f":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[::-1].copy()[::-1]
    return np.repeat(array, 2, axis=0)[::2] if layout == "strided" else array


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@settings(max_examples=examples(6), deadline=None)
@given(data=st.data())
def test_answers_are_numpys_for_every_dtype_layout_and_size(function, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    compiled = tilewright.jit(function, strict=True)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    last = data.draw(st.sampled_from([2, 3, 4, 15]))
    middle = data.draw(st.sampled_from([(), (5,), (1,), (7, 2)]))
    for rows in (0, 1, 2, 37, 700):
        shape = (rows, *middle, last)
        x, y = (rng.integers(0, 9, shape).astype(dtype) for _ in range(2))
        if x.size and np.issubdtype(dtype, np.floating):
            x.flat[0], y.flat[-1] = np.nan, -0.0
        x, y = (laid_out(a, data.draw(st.sampled_from(["c", "c", "f", "reversed", "strided"]))) for a in (x, y))
        for got, expected in zip(as_tuple(compiled(x, y)), as_tuple(function(x, y)), strict=True):
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype and got.shape == expected.shape


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def test_one_program_compiled_for_a_short_axis_serves_long_ones_and_other_layouts():
    compiled = tilewright.jit(chained, strict=True)
    for shape in ((1000, 3), (3, 1000), (1, 50), (50, 1), (2, 2), (0, 3)):
        for layout in ("c", "f", "strided"):
            x = laid_out(np.arange(np.prod(shape), dtype=np.float64).reshape(shape), layout)
            for got, expected in zip(compiled(x, x + 1), chained(x, x + 1), strict=True):
                np.testing.assert_array_equal(got, expected)


def test_a_short_last_axis_has_no_loop_and_a_long_one_has():
    assert stages_of(chained, np.ones((100, 3)), np.ones((100, 3)))["multiply"] == ["i"]
    assert stages_of(chained, np.ones((100, 511)), np.ones((100, 511)))["multiply"] == ["i"]
    assert stages_of(chained, np.ones((100, 512)), np.ones((100, 512)))["multiply"] == ["i", "j"]
    assert stages_of(broadcast, np.ones((100, 3)), np.ones((100, 3)))["add"] == ["i", "j"]
    assert stages_of(chained, np.ones((100, 3), order="F"), np.ones((100, 3)))["multiply"] == ["i", "j"]


def test_a_schedule_may_ask_for_a_loop_an_axis():
    args = np.arange(3000.0).reshape(1000, 3), np.ones((1000, 3))
    own = "tilewright-schedule 1\nschedule chained for x86-64\nvariant axes = own\nmultiply.reorder(i, j)\n"
    compiled = tilewright.jit(chained, strict=True)
    compiled.for_args(*args).schedule = own
    for got, expected in zip(compiled(*args), chained(*args), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_flat_stage_has_no_second_loop():
    specialization = tilewright.jit(chained, strict=True).for_args(np.ones((100, 3)), np.ones((100, 3)))
    with pytest.raises(tilewright.ScheduleError, match="multiply"):
        specialization.schedule = "tilewright-schedule 1\nschedule chained for x86-64\nmultiply.reorder(i, j)\n"


def test_other_options_are_refused():
    specialization = tilewright.jit(chained, strict=True).for_args(np.ones((100, 3)), np.ones((100, 3)))
    with pytest.raises(tilewright.Error, match=r"variant axes = both: no such option. Take flat or own\."):
        specialization.schedule = "tilewright-schedule 1\nschedule chained for x86-64\nvariant axes = both\n"
