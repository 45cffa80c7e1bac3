"""Sums of floats: lanes, the tree over them, blocks. The order is the same at every level of instructions, and code adds whole vectors of lanes."""

import re

import numpy as np
import pytest
import tilewright
from tilewright.builder import default_schedule
from tilewright.native import compiler

pytestmark = pytest.mark.compile

ROWS = 16  # of a block
LENGTHS = [0, 1, 2, 31, 32, 33, 63, 64, 65, 511, 512, 513, 1000, 1024, 3000, 8191]


def tree(lanes, operation):
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = operation(lanes[:half], lanes[half:])
    return lanes[0]


def in_lanes(values, count, operation, neutral):
    """One number: whole rows of lanes one by one, then what is left, then the tree."""
    lanes = np.full(count, neutral, values.dtype)
    whole = len(values) // count * count
    for row in values[:whole].reshape(-1, count):
        lanes = operation(lanes, row)
    rest = values[whole:]
    lanes[: len(rest)] = operation(lanes[: len(rest)], rest)
    return tree(lanes, operation)


def in_blocks(values, count, operation, neutral):
    step = ROWS * count
    blocks = [in_lanes(values[k : k + step], count, operation, neutral) for k in range(0, len(values), step)]
    return in_lanes(np.array(blocks, values.dtype), count, operation, neutral)


def total(x):
    return x.sum()


def product(x):
    return x.prod()


def row_totals(x):
    return x.sum(axis=1)


def values_of(length, dtype, seed=0):
    values = np.random.default_rng(seed).normal(size=length) * 10.0 ** np.random.default_rng(seed + 1).integers(
        -3, 4, length
    )
    return values.astype(dtype)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "host"])
@pytest.mark.parametrize(("dtype", "count"), [("float64", 32), ("float32", 64)])
def test_order_of_sums(level, dtype, count):
    compiled = tilewright.jit(total, target=level)
    compiled(values_of(1000, dtype))  # short sums that were compiled for themselves are added one by one
    for length in LENGTHS:
        x = values_of(length, dtype)
        expected = x.dtype.type(0.0) + in_blocks(x, count, np.add, -0.0)
        assert compiled(x).tobytes() == expected.tobytes(), length


def test_special_values_pass_through_the_tree():
    compiled = tilewright.jit(total)
    for place in (0, 1, 15, 16, 31, 32, 600, 999):
        for value in (np.nan, np.inf, -np.inf):
            x = values_of(1000, "float64")
            x[place] = value
            np.testing.assert_array_equal(compiled(x), value)
    assert np.isnan(compiled(np.array([np.inf, *np.zeros(50), -np.inf])))
    assert str(compiled(np.full(70, -0.0))) == str(np.full(70, -0.0).sum())


def test_order_of_products():
    compiled = tilewright.jit(product)
    for length in LENGTHS[:-4]:
        x = 1.0 + 0.01 * values_of(length, "float64", 3) % 0.1
        assert compiled(x) == pytest.approx(x.prod(), rel=1e-12)


@pytest.mark.parametrize("columns", [1, 7, 31, 32, 33, 100, 700])
def test_rows_are_added_as_vectors_are(columns):
    rows, alone = tilewright.jit(row_totals), tilewright.jit(total)
    x = values_of(9 * columns, "float64", 5).reshape(9, columns)
    sums = rows(x)
    np.testing.assert_allclose(sums, x.sum(axis=1), rtol=1e-12)
    if columns >= 100:  # shorter rows may be added from left to right
        assert sums.tobytes() == np.array([alone(row.copy()) for row in x]).tobytes()


@pytest.mark.parametrize("function", [total, product])
def test_code_adds_vectors_of_lanes(function):
    specialization = tilewright.jit(function).for_args(values_of(1000, "float64"))
    request = specialization.request(specialization.example)
    made = compiler().build(request.program, request.options(), default_schedule(request), request.isa, assembly=True)
    (kernel,) = made["kernels"]
    # The tree of a block loads its lanes once, however many levels it has: code generation writes all that it meets.
    assert len(re.findall(r"_lanes\[ramp\(0, 1, 32\)\]", kernel["lowered"])) == 1
    assert not re.search(r"_lanes2?\[\d+\]", kernel["lowered"])  # no lane by itself
