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


# ---- arrays that are made of a number of the run --------------------------------------------------------------------------


def zeros_of_a_count(x):
    part = np.zeros(int((x > 0.5).sum()))
    part[:] = x.sum()
    return part + 1


def full_of_a_length(x):
    part = x[x > 0.5]
    return np.full(len(part), 7), np.full((2, len(part)), -0.0, np.float32)


def ones_with_columns(x):
    part = x[x > 0.5]
    both = np.ones((part.size, 2), dtype=np.float32)
    both[:, 0] = part
    return both, np.zeros(np.count_nonzero(x > 2), bool)


def of_another_size_in_each_iteration(x):
    total = 0.0
    for k in range(len(x)):
        part = np.zeros(int(x[k] * 5))
        part[:] = x[k]
        total += part.sum()
    return total


def written_where_chosen(x):
    places = np.flatnonzero(x > 0.5)
    places = places[x[places] < 0.9]
    if len(places):
        x[places] = np.full(len(places), -1.0)
    return x


def counted_from_a_number(x):
    first = int(x.argmax())
    return np.arange(first, first + 5) * 2, np.arange(first, 50, dtype=np.float32)


def counted_up_to_unsigned(x):
    return np.arange(np.uint64((x > 0.5).sum()))  # floats, as NumPy has it


MADE = [
    zeros_of_a_count, full_of_a_length, ones_with_columns, of_another_size_in_each_iteration, written_where_chosen,
    counted_from_a_number, counted_up_to_unsigned,
]  # fmt: skip


@pytest.mark.parametrize("function", MADE, ids=lambda function: function.__name__)
def test_arrays_of_a_size_that_data_decide(function):
    compiled = tilewright.jit(function, strict=True)
    for n in (40, 1, 7, 2):
        check(compiled, np.random.default_rng(n).random(n), bits=False)
    check(compiled, np.ones(3))


def test_a_size_below_none_raises_what_numpy_raises():
    def below(x):
        return np.zeros(int(x.sum()) - 50)

    with pytest.raises(ValueError, match="negative dimensions"):
        tilewright.jit(below)(X)


class Town:
    def __init__(self, n):
        self.rng = np.random.default_rng(3)
        self.at, self.timer = self.rng.random((n, 2)), np.zeros(n)

    def travel(self, share):
        those = self.rng.random(len(self.at)) < share
        self.at[those] = self.rng.uniform(0, 2.0, (those.sum(), 2))
        self.timer[those] = self.rng.normal(3, 1, size=np.count_nonzero(those))
        return int(those.sum())

    def one_by_one(self):
        caught = 0
        for who in np.flatnonzero(self.timer > 0):
            near = np.flatnonzero(np.abs(self.at[:, 0] - self.at[who, 0]) < 0.1)
            chosen = near[self.rng.random(len(near)) < 0.3]
            if len(chosen):
                self.timer[chosen] = np.full(len(chosen), self.timer[who])
                caught += len(chosen)
        return caught


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_draws_of_as_many_as_data_say(share):
    ours, theirs = Town(60), Town(60)
    travel, one_by_one = (tilewright.jit(one, strict=True) for one in (Town.travel, Town.one_by_one))
    for _ in range(4):
        assert travel(ours, share) == Town.travel(theirs, share)
        assert one_by_one(ours) == Town.one_by_one(theirs)
        assert np.array_equal(ours.at, theirs.at) and np.array_equal(ours.timer, theirs.timer)
        assert ours.rng.bit_generator.state == theirs.rng.bit_generator.state


def test_other_draws_of_as_many_as_data_say():
    def drawn(x, rng):
        n = int((x > 0.5).sum())
        return (
            rng.integers(0, 9, n), rng.choice(5, size=n), rng.standard_normal(n), rng.poisson(3.0, (2, n)),
            rng.multinomial(4, [0.5, 0.5], n), rng.random(),
        )  # fmt: skip

    for x in (X, np.zeros(4)):
        check(drawn, x, np.random.default_rng(5))
