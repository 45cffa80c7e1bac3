"""An argument that is a number or None by what the data decide: the call is made both ways, and its statement runs once."""

import ast
import textwrap

import numpy as np
import pytest
import tilewright
from strictly import check
from tilewright.interpret.none_arguments import made_both_ways

pytestmark = pytest.mark.compile


def statement(text):
    return ast.parse(textwrap.dedent(text)).body[0]


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("f(x, a if c else None)", "if c:\n    f(x, a)\nelse:\n    f(x, None)"),
        ("y = o.f(x, k=None if c > 1 else a[0]).z + 1", "if c > 1:\n    y = o.f(x, k=None).z + 1\nelse:\n    y = o.f(x, k=a[0]).z + 1"),
        ("return f(None if c else a)", "if c:\n    return f(None)\nelse:\n    return f(a)"),
        ("y += f(a if c else None)", "if c:\n    y += f(a)\nelse:\n    y += f(None)"),
    ],
)  # fmt: skip
def test_a_statement_is_written_both_ways(text, both):
    made, names, _ = made_both_ways(statement(text))
    assert "\n".join(map(ast.unparse, made)) == both and names == set()


def test_the_condition_of_an_if_is_found_first():
    made, (name,), _ = made_both_ways(statement("if f(a if c else None):\n    x = 1\nelse:\n    x = 2"))
    truth = "named"
    assert "\n".join(map(ast.unparse, made)).replace(name, truth) == (
        "if c:\n    named = f(a)\nelse:\n    named = f(None)\nif named:\n    x = 1\nelse:\n    x = 2"
    )


@pytest.mark.parametrize(
    "text",
    [
        "y = a if c else None",  # no call says what becomes of it
        "f(a if c else b)",  # one number may be both
        "f(a if g() else None)",  # what runs code stays in its place
        "f(g(), a if c else None)",
        "g() + f(a if c else None)",
        "x and f(a if c else None)",  # it may not be made at all
        "[f(a if c else None) for c in d]",
        "while f(a if c else None): pass",
        "y[g()] += f(a if c else None)",
        "pass",
    ],
)
def test_others_stay_as_they_are(text):
    assert made_both_ways(statement(text)) is None


class Filter:
    def __init__(self, n):
        self.x = np.zeros(n)
        self.taken = 0

    def update(self, z, gate=None):
        d2 = float((z - self.x) @ (z - self.x))
        if gate is not None and d2 > gate:
            return False
        self.x = self.x + 0.5 * (z - self.x)
        self.taken += 1
        return True


def gated(zs, gate):
    one, misses, kept = Filter(zs.shape[1]), 0, np.zeros(len(zs))
    for k, z in enumerate(zs):
        if one.update(z, gate if misses < 2 else None):
            misses = 0
        else:
            misses += 1
        kept[k] = one.x[0]
    return kept, one.taken, misses


def by_keyword(zs, gate):
    one, misses = Filter(zs.shape[1]), 0
    for z in zs:
        took = one.update(z, gate=None if misses >= 2 else gate)
        misses = 0 if took else misses + 1
    return one.x, misses


def scaled(x, factor=None, shift=None):
    y = x if factor is None else x * factor
    return y if shift is None else y + shift


def twice(x, limit):
    total = 0.0
    for k in range(len(x)):
        total += scaled(x[k], 2.0 if x[k] > limit else None, None if total > 3 else 1.0)
    return total


@pytest.mark.parametrize("gate", [0.5, 4.0, 100.0])
@pytest.mark.parametrize("function", [gated, by_keyword])
def test_a_filter_with_a_gate_that_data_open(function, gate):
    zs = np.random.default_rng(5).normal(size=(150, 3)) * 2
    zs[17] = np.nan
    check(function, zs, gate)


def test_two_arguments_of_one_call():
    check(twice, np.random.default_rng(1).normal(size=80), 0.2)
    check(twice, np.array([-0.0, np.nan, np.inf, 1.0]), 0.2)
    check(twice, np.zeros(1), 0.2)


class Counting:
    """Reading it, or comparing with it, changes it."""

    def __init__(self, values):
        self.values, self.count = values, 0

    @property
    def following(self):
        self.count += 1
        return self.values[self.count]

    def __lt__(self, other):
        self.count += 1
        return bool(self.values[0] < other)

    def __add__(self, other):
        self.count += 1
        self.values[0] = -self.values[0]
        return other


def sum_with(x, a=None):
    return x.sum() * 2.0 if a is None else x.sum() + a


def by_a_property(x, counting, a):
    y = 0.0
    for k in range(3):
        y += sum_with(x, a[k] if counting.following > 0 else None)
    return y, counting.count


def of_an_if_by_a_property(x, counting, a):
    if sum_with(x, a[0] if counting.following > 0 else None) > 3:
        return counting.count
    return counting.count + 10


def behind_a_property(x, counting, a):
    y = sum_with(x * counting.following, a[0] if counting.values[counting.count] > 0 else None)
    return y, counting.count


def by_a_comparison(x, counting, a):
    y = sum_with(x, a[0] if counting < 0.5 else None)
    return y, counting.count


def behind_a_sum(x, counting, a):
    y = (counting + x[0]) + sum_with(x, a[0] if counting.values[0] > 0.5 else None)
    return y, counting.count


def turned(values):
    values[0] = -values[0]
    return 0


def into_a_place_that_a_call_finds(x, counting, a):
    x[turned(counting.values)] += sum_with(x, a[0] if counting.values[0] > 0 else None)
    return x


@pytest.mark.parametrize(
    "function",
    [
        by_a_property, of_an_if_by_a_property, behind_a_property, by_a_comparison, behind_a_sum,
        into_a_place_that_a_call_finds,
    ],
)  # fmt: skip
def test_what_runs_code_runs_once_and_at_its_place(function):
    rng = np.random.default_rng(0)
    compiled = tilewright.jit(function)
    for _ in range(6):
        x, values, a = rng.random(5), rng.normal(size=6), rng.random(4)
        ours, theirs = Counting(values.copy()), Counting(values.copy())
        result, expected = compiled(x.copy(), ours, a), function(x.copy(), theirs, a)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        assert ours.count == theirs.count
        np.testing.assert_array_equal(ours.values, theirs.values)
