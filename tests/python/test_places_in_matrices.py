"""What np.nonzero gives of matrices, and what is looked up there: pairs that are near, cells of an image that are bright."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile


def pairs(x, y, limit):
    i, j = np.nonzero(np.abs(x[:, None] - y[None, :]) < limit)
    return np.column_stack([x[i], y[j]]), i, j


def pairs_of_selected(position, kind, limit):
    sources = np.where(kind == 1)[0]
    targets = np.flatnonzero(kind == 0)
    if len(sources) == 0 or len(targets) == 0:
        return np.empty((0, 2), dtype=int)
    delta = position[sources][:, None, :] - position[targets][None, :, :]
    i, j = np.nonzero(np.sqrt((delta**2).sum(axis=-1)) < limit)
    return np.column_stack([sources[i], targets[j]])


def in_a_sum(x, y, limit):
    i, j = np.where(x[:, None] * y[None, :] < limit)
    return (x[i] * y[j]).sum(), (i - j).sum(), (y[j] > 0).any()


def rows(position, limit):
    near = (position[:, None, :] - position[None, :, :])[..., 0] > limit
    i, j = np.nonzero(near)
    return position[i] - position[j], np.unique(i)


def of_three_axes(a):
    i, j, k = np.nonzero(a > 0)
    return i, k, a[i, j, k], np.arange(a.shape[1])[j]


def of_another_extent(x, table):
    i, j = np.nonzero(x > 0)
    return table[i], table[j] * 2, np.sort(x[i, j])


def written_behind(x, table):
    i, j = np.nonzero(x > 0)
    found = table[i]
    table[:] = -1
    x[:] = 0
    i += 1
    return found, i, table[j]


def in_loops(x, y, n):
    total = 0.0
    i, j = np.nonzero(x[:, None] < y[None, :])
    for k in range(n):
        picked = np.sort(x[i] * k - y[j])
        a, b = np.nonzero(x[:, None] * k < y[None, :])
        total += picked[0] if len(picked) else 0.5
        total += np.sort(x[a])[-1] if len(a) else 0.25
        if len(b) > 3:
            total += np.cumsum(y[b])[2]
    return total


def in_branches(x, y):
    if x[0] > 0:
        i, j = np.nonzero(x[:, None] < y[None, :])
        return np.sort(x[i]), np.sort(y[j])
    i, j = np.nonzero(x[:, None] > y[None, :])
    return np.sort(x[i]), np.sort(y[j])


def of_one_mask(x, y):
    mask = x > 0
    a, b = np.sort(x[mask]), np.argsort(y[mask])
    c = np.cumsum((x + y)[mask])
    return a[b] + c, a * c, a.shape[0] == c.shape[0]


def same(ours, theirs):
    if isinstance(theirs, tuple):
        assert type(ours) is tuple and len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
        return
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, strict=True)


def compared(function, *given):
    ours, theirs = [[np.copy(one) if isinstance(one, np.ndarray) else one for one in given] for _ in range(2)]
    f = tilewright.jit(function, strict=True)
    for _ in range(3):
        same(f(*ours), function(*theirs))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def vectors(seed, n, m):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=m)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (40, 31), (130, 257)])
@pytest.mark.parametrize("limit", [-1.0, 0.05, 9.0])
def test_pairs(n, m, limit):
    compared(pairs, *vectors(1, n, m), limit)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 300), st.integers(0, 3), st.floats(-1, 30), st.integers(0, 9))
def test_pairs_of_selected(n, kinds, limit, seed):
    rng = np.random.default_rng(seed)
    f = SELECTED
    for _ in range(2):
        given = rng.uniform(0, 10, (n, 2)), rng.integers(0, kinds + 1, n), limit
        same(f(*given), pairs_of_selected(*given))


SELECTED = tilewright.jit(pairs_of_selected)


def test_where_they_lie_is_found_once_and_no_matrix_is_picked_from():
    rng = np.random.default_rng(0)
    given = rng.uniform(0, 10, (200, 2)), rng.integers(0, 3, 200), 1.0
    f = tilewright.jit(pairs_of_selected, strict=True)
    same(f(*given), pairs_of_selected(*given))
    stages = f.specializations[0].traced.stages
    assert sum(text.startswith("numpy.nonzero(") for text in stages) == 1, list(stages)
    assert not any("take" in value.operation and len(value.shape) == 2 for value in f.specializations[0].program.values)


@pytest.mark.parametrize("limit", [-9.0, 0.1, 9.0])
def test_sums_need_no_arrays_of_places(limit):
    compared(in_a_sum, *vectors(2, 33, 48), limit)
    f = tilewright.jit(in_a_sum, strict="kernels")
    given = (*vectors(2, 33, 48), limit)
    same(f(*given), in_a_sum(*given))


@pytest.mark.parametrize("limit", [-9.0, 0.1, 9.0])
def test_rows(limit):
    compared(rows, np.random.default_rng(3).normal(size=(37, 3)), limit)


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 1), (17, 33, 9)])
def test_three_axes(shape):
    compared(of_three_axes, np.random.default_rng(4).normal(size=shape))


@pytest.mark.parametrize("n", [9, 12, 50])
def test_tables_of_another_extent(n):
    x = np.random.default_rng(5).normal(size=(9, 12))[:, : min(n, 12)]
    compared(of_another_extent, np.ascontiguousarray(x), np.arange(n) * 1.5)


def test_a_table_that_is_too_short_is_numpys_error():
    f = tilewright.jit(of_another_extent)
    x = np.ones((9, 12))
    same(f(x, np.arange(12.0)), of_another_extent(x, np.arange(12.0)))
    with pytest.raises(IndexError):
        f(x, np.arange(5.0))


def test_what_is_written_behind_changes_nothing_that_was_found():
    x = np.random.default_rng(6).normal(size=(20, 20))
    compared(written_behind, x, np.arange(20.0))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_loops(n):
    compared(in_loops, *vectors(7, 12, 15), n)


@pytest.mark.parametrize("first", [-1.0, 1.0])
def test_branches(first):
    x, y = vectors(8, 25, 19)
    x[0] = first
    compared(in_branches, x, y)
    f = tilewright.jit(in_branches)
    for sign in (1, -1, 1):
        same(f(x * sign, y), in_branches(x * sign, y))


def test_what_one_mask_picks_out_has_one_extent():
    compared(of_one_mask, *vectors(9, 77, 77))
    compared(of_one_mask, -np.ones(5), np.ones(5))
