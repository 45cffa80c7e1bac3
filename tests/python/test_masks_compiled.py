"""Reductions of what a boolean mask picks out, compiled: as NumPy runs them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import mask_functions as f
import numpy as np
import pytest
import tilewright
from examples import covering
from test_trace_masks import DTYPES, REAL, near
from trace_cases import same_bits

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(3)


def outcome(function: Any, call: Sequence[Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*call)
        except ValueError as error:
            return error


def check_compiled(function: Any, *calls: Sequence[Any]) -> None:
    jitted = tilewright.jit(function, strict=True)
    for call in calls:
        mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
        got, expected = outcome(jitted, mine), outcome(function, theirs)
        if isinstance(expected, ValueError):
            assert type(got) is ValueError and str(got) == str(expected)
        else:
            near(got, expected)
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(b, np.ndarray):
                near(a, b)
    assert jitted.specializations and all(one.versions for one in jitted.specializations)


def elements(dtype: str, shape: Any) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return RNG.random(shape) < 0.5
    if kind in "iu":
        return RNG.integers(0 if kind == "u" else -3, 4, shape).astype(dtype)
    x = RNG.normal(size=shape) * 2
    return (x + 1j * RNG.normal(size=shape) if kind == "c" else x).astype(dtype)


def mask(shape: Any) -> Any:
    return RNG.random(shape) < 0.5


def calls_with_vectors(dtype: str) -> list[Any]:
    calls: list[Any] = []
    for n in (1000, 17, 1, 0):
        x = elements(dtype, n)
        calls += [(x, mask(n)), (x, np.zeros(n, bool)), (x, np.ones(n, bool))]
    calls += [(elements(dtype, 1000)[::2], mask(1000)[::2]), (elements(dtype, 1000)[::-1], mask(1000))]
    if np.dtype(dtype).kind == "f":
        hidden, shown = elements(dtype, 500), elements(dtype, 500)
        m = mask(500)
        hidden[~m] = RNG.choice([np.nan, np.inf, -np.inf], (~m).sum())
        shown[m] = RNG.choice([np.nan, np.inf, 1.0], m.sum())
        calls += [(hidden, m), (shown, m)]
    return calls


VECTORS = [(f.sums, dtype) for dtype in DTYPES] + [(f.extremes, dtype) for dtype in REAL]
VECTORS += [
    (f.truths, "float64"), (f.truths, "complex64"), (f.products, "int16"), (f.products, "float32"),
    (f.moments, "float32"), (f.moments, "int64"), (f.counts, "float64"), (f.by_condition, "float32"),
    (f.places, "int32"), (f.selected_of_selected, "float64"), (f.where_given, "float64"), (f.in_place, "float32"),
]  # fmt: skip


TRIED = covering(VECTORS, lambda case: case[0], lambda case: case[1])


@pytest.mark.parametrize(("function", "dtype"), TRIED, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_vectors(function: Any, dtype: str) -> None:
    check_compiled(function, *calls_with_vectors(dtype))


MATRICES = [(f.rows, "uint8", 0), (f.rows_kept, "float32", 0), (f.columns, "float64", 1), (f.centered, "float64", 0)]


@pytest.mark.parametrize(("function", "dtype", "axis"), MATRICES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_rows_and_columns(function: Any, dtype: str, axis: int) -> None:
    calls: list[Any] = [(elements(dtype, shape), mask(shape[axis])) for shape in [(40, 5), (3, 7), (600, 300)]]
    calls += [(np.asfortranarray(elements(dtype, (30, 6))), mask((30, 6)[axis]))]
    calls += [(elements(dtype, (30, 6)), np.zeros((30, 6)[axis], bool))]
    check_compiled(function, *calls)


def test_masks_of_two_axes() -> None:
    for function in (f.planes, f.places_in_two):
        calls = [(elements("float64", shape), mask(shape)) for shape in [(40, 5), (3, 7), (300, 300)]]
        check_compiled(function, *calls, (elements("float64", (5, 6)), np.zeros((5, 6), bool)))
    check_compiled(f.colors, *[(elements("float32", (*shape, 3)), mask(shape)) for shape in [(40, 5), (3, 7)]])


def test_two_vectors_under_one_mask() -> None:
    for dtype in ("float64", "int32"):
        x, y = elements(dtype, 300), elements(dtype, 300)
        for function in (f.of_two, f.stored):
            check_compiled(function, (x, y, mask(300)), (x[::2], y[::2], mask(150)))
        check_compiled(f.with_numbers, (np.abs(x), np.abs(y), mask(300)))
        check_compiled(f.divided, (x, np.round(y), mask(300)))


def test_in_loops() -> None:
    x = np.abs(elements("float64", 40)) * 3
    check_compiled(f.while_it_changes, (x, mask(40), 70))
    check_compiled(f.mask_that_moves, (x, 70))
    check_compiled(f.until_few, (x,))
    check_compiled(f.means_of_labels, (x.reshape(-1, 2), np.arange(20) % 5, 70))
    check_compiled(f.selected_before_the_loop, (x, mask(40), 70))
    check_compiled(f.clipped, (x, 0.5), (x, 1e9))
    check_compiled(f.rows_stored, (elements("float64", (6, 6)), np.arange(6.0), mask(6)))


def test_where_the_mask_is_not_an_index_may_be_any() -> None:
    labels, m = RNG.integers(-5, 5, 30), mask(30)
    labels[~m] = 77
    check_compiled(f.looked_up, (np.arange(5.0) - 2, labels, m))
    jitted = tilewright.jit(f.looked_up, strict=True)
    with pytest.raises(IndexError, match="index 77 is out of bounds"):
        jitted(np.arange(5.0), labels, np.ones(30, bool))


def test_nothing_is_written_where_the_largest_of_nothing_is_asked() -> None:
    def halved(x, m):
        x[m] *= 0.5
        return x[m].max()

    jitted = tilewright.jit(halved, strict=True)
    x = elements("float64", 20)
    check_compiled(halved, (x, mask(20)))
    mine = x.copy()
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
        jitted(mine, np.zeros(20, bool))
    same_bits(mine, x)


def test_what_a_mask_leaves_out_is_not_computed_with_where_that_is_slow() -> None:
    def shifted(x, m):
        y = np.zeros_like(x)
        y[m] = np.cos(2 * np.log(x[m])) + x[m] ** 2
        return y

    x = RNG.random(1000)
    x[::5] = 0
    check_compiled(shifted, (x, x > 0), (x, x >= 0), (x.reshape(10, 100), x.reshape(10, 100) > 0.5))
    text = tilewright.jit(shifted, strict=True).for_args(x, x > 0).program.text
    assert text.count("where(m, ") == 3  # before the logarithm, before the cosine, and the store


def test_arrays_with_more_axes_stand_in_front_of_what_a_mask_picks_out() -> None:
    def along_rows(x, m, g):
        return (x[m] - g[:, None]).sum(axis=1)

    def along_elements(x, m, g):
        return (g[:, None, None] * x[m]).max(axis=(0, 1))

    def kernel(x, m, g):
        k = (x[m] - g[:, None]) / 2
        k = np.exp(-(k**2))
        k[k < 0.5] = 0
        return k @ np.ones(k.shape[1])

    x = elements("float64", 7)
    for picked in (mask(7), np.ones(7, bool), np.arange(7) == 2):
        calls = [(x, picked, elements("float64", n)) for n in (7, 3, 1)]
        for function in (along_rows, along_elements, kernel):
            check_compiled(function, *calls)
    rows = elements("float64", (5, 3))
    check_compiled(along_rows, (rows, mask((5, 3)), elements("float64", 5)))


def test_parts_of_what_a_mask_picks_out_are_written() -> None:
    def bounded(x, m, low):
        y = x[m]
        z = y
        y[y < low] = low
        y[y > 1] *= 2
        y[y == 0] = -0.0
        return z.sum(), z

    def rows(x, m, low):
        k = x[m] - np.arange(3.0)[:, None]
        j = k.copy()
        k[k < low] = np.nan
        return k, j, x[m]

    def own(x, m, low):
        y = x[m]
        y[y < low] = -y[y < low]
        y[np.isnan(y)] = 7
        return y

    x = elements("float64", 40)
    x[::7] = np.nan
    for function in (bounded, rows, own):
        check_compiled(function, (x, mask(40), 0.5), (x, np.zeros(40, bool), 0.5), (x, np.ones(40, bool), -9.0))
    check_compiled(bounded, (elements("int64", (6, 5)), mask((6, 5)), 1))


def test_an_array_written_into_a_part_of_what_a_mask_picks_out_is_numpys() -> None:
    def spread(x, m, values):
        y = x[m]
        y[y > 0] = values
        return y

    x = np.array([1.0, -2.0, 3.0])
    jitted = tilewright.jit(spread)
    for values in (np.array([5.0, 6.0]), np.array([4.0])):
        same_bits(jitted(x, x != 0, values), spread(x, x != 0, values))
    with pytest.raises(ValueError, match="cannot assign 3 input values"):
        jitted(x, x != 0, np.arange(3.0))
