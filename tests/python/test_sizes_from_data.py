"""Arrays whose sizes only the running function knows are values like any others: computed with, written, carried, returned."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from strictly import check

pytestmark = pytest.mark.fast

X = np.random.default_rng(1).random(40)


def sorted_part(x):
    return np.sort(x[x > 0.5])[::-1] * 2


def selection_and_its_mean(x):
    part = x[x > 0.5]
    return part - part.max(), part.size


def places(x):
    where = np.nonzero(x > 0.5)[0]
    return x[where] * 2, where, np.argwhere(x > 0.9)


def runs(x):
    steps = np.diff(np.concatenate(([0], (x > 0.5).astype(np.int8), [0])))
    return np.where(np.abs(steps) == 1)[0].reshape(-1, 2)


def groups(x):
    labels = (x * 10).astype(int)
    totals, counts = np.bincount(labels, weights=x), np.bincount(labels)
    return totals / np.maximum(counts, 1)


def one_hot(x):
    kinds, of = np.unique((x * 10).astype(int), return_inverse=True)
    return (of[:, None] == np.arange(kinds.size)).astype(float), kinds


def most_frequent(x):
    values, counts = np.unique(np.floor(x * 10), return_counts=True)
    return values[counts.argmax()], counts.sum()


def peaks(x):
    found = np.where((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[0] + 1
    return found, x[found], np.diff(found).max()


def written_by_places(x):
    y = x.copy()
    y[np.argsort(y)[-5:]] = 0
    chosen = y > 0.7
    y[chosen] = np.sort(y[chosen])
    return y


def filtered_again_and_again(x):
    y = x
    for _ in range(40):
        y = y[y > 0.1] * 0.9
    return y


def shrinking(x):
    y = np.sort(x)
    while y.size > 3:
        y = y[1:-1] + 0.0
        y = y[y > 0.01]
    return y


def ends_cut(x):
    found = np.flatnonzero(x > 0.3)
    if found.size and found[0] == 0:
        found = found[1:]
    if found.size and found[-1] == x.size - 1:
        found = found[:-1]
    return found, x[found]


def one_of_two_sizes(x):
    if x.sum() > 15:  # noqa: SIM108  (a branch is what is tested)
        part = x[x > 0.5]
    else:
        part = x[:3]
    return part * 2


def pairs_one_by_one(x):
    total = 0.0
    first, second = np.where(np.abs(x[:, None] - x[None, :]) < 0.02)
    for i, j in zip(first, second, strict=True):
        total += x[i] * x[j]
    return total


FUNCTIONS = [
    sorted_part, selection_and_its_mean, places, runs, groups, one_hot, most_frequent, peaks, written_by_places,
    filtered_again_and_again, shrinking, ends_cut, one_of_two_sizes, pairs_one_by_one,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_numpys_bits(function):
    check(function, X)


def test_a_search_of_a_graph():
    def levels(edges, source):
        level = np.full(edges.shape[0], -1)
        level[source] = 0
        frontier, depth = np.array([source]), 0
        while frontier.size > 0:
            depth += 1
            frontier = np.flatnonzero(edges[frontier].any(axis=0) & (level < 0))
            level[frontier] = depth
        return level

    edges = np.random.default_rng(0).random((30, 30)) < 0.06
    check(levels, edges, 0)
    check(levels, edges, 7)


def meeting(x, y):
    return x[x > 0] + y[y > 0], np.sort(x[x > 0]) * np.sort(y[y > 0])


def beside_an_argument(x, w):
    return w * x[x > 0]


def paired(x):
    edges = np.flatnonzero(x > 0)
    return edges[1::2] - edges[::2]


def first_and_last(x):
    part = x[x > 0]
    return part[0], part[-1], part.max()


MEETING, BESIDE, PAIRED, FIRST = (
    tilewright.jit(function, strict=True) for function in (meeting, beside_an_argument, paired, first_and_last)
)
NUMBERS = st.lists(st.integers(-2, 2), min_size=1, max_size=9).map(lambda items: np.array(items, float))


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, IndexError) as error:
        return type(error)


def same(ours, theirs):
    if isinstance(theirs, type):
        return ours is theirs
    ours, theirs = (one if isinstance(one, tuple) else (one,) for one in (ours, theirs))
    return len(ours) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def in_pairs(x):
    places = np.nonzero(x > 0)[0]
    left, right = np.broadcast_arrays(places[0::2], places[1::2])
    square = np.zeros((x.size, x.size))
    square[left, right] = 0.5  # as many of each, or one of one
    square[places[1::2], places[0::2]] = -0.5
    return square, left + right


PAIRS = tilewright.jit(in_pairs, strict=True)


@settings(deadline=None, max_examples=examples(15))
@given(NUMBERS)
def test_positions_of_two_sizes_that_meet(x):
    assert same(outcome(PAIRS, x), outcome(in_pairs, x))


@settings(deadline=None, max_examples=examples(15))
@given(NUMBERS, NUMBERS)
def test_sizes_that_meet(x, y):
    """Equal sizes, one of 1, and others, of which NumPy makes its error."""
    for compiled, args in ((MEETING, (x, y)), (BESIDE, (x, y)), (PAIRED, (x,)), (FIRST, (x,))):
        assert same(outcome(compiled, *args), outcome(compiled.__wrapped__, *args))


def nearest_in_windows(x, labels, limits, length):
    best = np.full(length, np.inf)
    for i, (a, b) in enumerate(limits):
        part = x[a:b]
        distance = np.abs(part - i / 10)
        closer = distance < best[a:b]
        best[a:b][closer] = distance[closer]
        labels[a:b][closer] = i
    return best


def test_slices_with_the_same_limits_of_arrays_that_turn_out_to_have_one_length():
    """The second one is the first one from there on: that one is known where the second one is read, not before."""
    limits = np.array([[0, 9], [5, 40], [3, 3], [-30, -2], [20, 60]])
    check(nearest_in_windows, X.copy(), np.zeros(40, int), limits, 40)
