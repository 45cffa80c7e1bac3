"""Comprehensions over many items, and what is done with their lists: the same as Python's lists, of the same types."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from lists_alike import same

pytestmark = pytest.mark.compile


def sums(x):
    return np.array([row.sum() for row in x])


def floats(x):
    return [float(row.sum()) for row in x]


def numpy_numbers(x):
    return [row[0] * 2 for row in x]


def distances(x):
    d = [np.sqrt(np.sum((row - x[0]) ** 2)) for row in x]
    return np.argsort(d)[:5], max(d), min(d), sum(d), len(d), d[3], d[-1]


def rows(x):
    return np.array([row * 2 + 1 for row in x]), [row - 1 for row in x]


def of_a_generator(x):
    return sum(float(row[0]) for row in x), max(row[1] for row in x), list(float(v) for v in x[:, 0])  # noqa: C400


def nested(x):
    n = len(x)
    g = [[x[i, 0] - x[j, 0] for j in range(n)] for i in range(n)]
    return np.array(g), g[3][4], g[-1][0], len(g), len(g[0])


def of_indices(x):
    squares = [i * 2 for i in range(len(x))]
    return squares, sum(squares), squares[5], squares[-1]


def of_truths(x):
    return [row.sum() > 0 for row in x], any([row.sum() > 1e9 for row in x]), all([bool(row[0] < 1e9) for row in x])  # noqa: C419


def rows_of_the_array_itself(x):
    views = [row for row in x]  # noqa: C416
    views[0][0] = 99.0
    return views[0].sum(), x[0, 0]


def appended(x):
    found = [float(row.sum()) for row in x]
    found.append(3.0)
    return found


def written(x):
    found = [float(v) for v in x[:, 0]]
    for i in range(1, len(found)):
        found[i] = found[i - 1] * 0.5 + found[i]
    return found


def written_with_numpys(x):
    found = [float(v) for v in x[:, 0]]
    for i in range(1, len(found)):
        found[i] = x[i, 1] + found[i - 1]
    return np.array(found), found[-1] * 1.0


def written_with_another_type(x):
    found = [i for i in range(len(x))]  # noqa: C416
    found[3] = 0.5
    return found


def another_name(x):
    one = [float(v) for v in x[:, 0]]
    other = one
    other[2] = 7.0
    return one[2], other, one is other


def copied(x):
    one = [float(v) for v in x[:, 0]]
    other, third = one[:], list(one)
    other[2] = third[3] = 7.0
    return one[2], other[2], one[3], third[3], one[5:9], one[::-7]


def pairs(x):
    found = [float(v) for v in x[:, 0]]
    total = 0.0
    for k, (a, b) in enumerate(zip(found, found[1:])):  # noqa: RUF007, B905
        total += k * (b - a)
    for v in reversed(found):
        total = total * 0.5 + v
    return total


def table(x):
    t = [[0.0] * 4 for _ in range(len(x))]
    for i in range(len(x)):
        for k in range(4):
            t[i][k] = float(x[i, k]) * 2
    return t, t[2], t[1][3]


def zeros_and_numpys(x):
    t = [[0.0] * 4 for _ in range(len(x))]
    for i in range(1, len(x)):
        t[i][0] = x[i, 0]
    return np.array(t)


def as_lists(x):
    return x.tolist(), x[0].tolist(), x.sum().tolist(), (x > 0).tolist(), x.astype(np.float32).tolist()[3]


def changed_as_list(x):
    found = x[:, 0].tolist()
    total = 0.0
    for v in found:
        total += v
    found[3] = 2.0
    return total, found, max(found), len(found)


def handed_on(x):
    def scaled(values, by):
        return [v * by for v in values]

    return scaled(scaled([float(v) for v in x[:, 0]], 2.0), 3.0)


def by_pythons_ways(x):
    found = [float(v) for v in x[:, 0]]
    first, *_ = found
    return sorted(found)[0], found[4] in found, found == list(found), first, found + [1.0], type(found) is list  # noqa: RUF005


def of_a_mask(x):
    return [float(v) for v in x[x[:, 0] > 0, 0]]


def with_conditions(x):
    return [float(v) for v in x[:, 0] if v > 0]


def of_two(x):
    return [float(a * b) for a in x[:9, 0] for b in x[:9, 1]]


def of_tuples(x):
    return [(float(row[0]), 1) for row in x][3]


def its_own_variables(x):
    row, v = 3.0, "kept"
    made = [v[0] + row for v in x]
    return row, v, made[0]


def in_a_loop(x):
    total = 0.0
    for k in range(3):
        found = [float(row[k]) for row in x]
        total += max(found) - found[k]
    return total


def twice(x):
    found = [float(v) for v in x[:, 0]]
    return found, found, {"it": found}


def beyond(x):
    found = [float(v) for v in x[:, 0]]
    return found[len(x)]


FUNCTIONS = [
    value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_lists_are_pythons(function):
    """Of the same types, and the same objects where Python has one."""
    compiled = tilewright.jit(strict=True)(function)
    for size in (100, 100, 100, 130, 70, 9, 10, 100):
        x = np.random.default_rng(size).normal(size=(size, 4))
        ours, theirs = x.copy(), x.copy()
        try:
            expected = function(theirs)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                compiled(ours)
            continue
        result = compiled(ours)
        same(result, expected)
        assert np.array_equal(ours, theirs)
    if function is twice:
        assert result[0] is result[1] is result[2]["it"]


@pytest.mark.parametrize("function", [sums, floats, distances, rows, nested, written, table], ids=lambda f: f.__name__)
def test_they_are_filled_by_kernels(function):
    compiled = tilewright.jit(strict=True)(function)
    x = np.random.default_rng(0).normal(size=(100, 4))
    same(compiled(x), function(x))
    assert "lines_" not in compiled.explain(source=False)


@settings(max_examples=examples(6), deadline=None)
@given(
    dtype=st.sampled_from(["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64"]),
    size=st.integers(65, 90),
    seed=st.integers(0, 99),
)
def test_of_every_dtype(dtype, size, seed):
    x = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, (size, 3)).astype(dtype)

    def lists(x):
        numbers = [row[0] for row in x]
        sums = [row.sum() for row in x]
        # Python's integers beyond 64 bits are nothing that an array of the program holds.
        plain = x[:, 1].astype(np.int64).tolist() if x.dtype == np.uint64 else x[:, 1].tolist()
        return numbers, np.array(numbers), sums, plain, [row[1:] for row in x][4], numbers[-1]

    compiled = tilewright.jit(strict=True)(lists)
    for _ in range(2):
        same(compiled(x), lists(x))


def test_rows_that_are_written_one_by_one():
    def fill(x):
        for i in range(x.shape[0]):
            row = x[i]
            for k in range(1, x.shape[1]):
                row[k] = row[k - 1] + x[i][k]
                x[i][k - 1] = -row[k]
        return x[2][1:][0]

    ours = np.random.default_rng(1).normal(size=(70, 9))
    theirs = ours.copy()
    compiled = tilewright.jit(strict=True)(fill)
    assert compiled(ours) == fill(theirs)
    assert np.array_equal(ours, theirs)


def test_ranges_and_lists_beside_arrays():
    def beside(x, n):
        values = [float(v) for v in x]
        return (
            x[:n] + range(n),
            range(n) * x[:n],
            x[:4] - range(4),
            x[:n] > range(n),
            x * values,
            values + x,
            np.maximum(x, values),
        )

    compiled = tilewright.jit(strict=True)(beside)
    for size in (90, 90, 66):
        x = np.arange(float(size)) * 2
        for one, other in zip(compiled(x, 65), beside(x, 65), strict=True):
            assert np.array_equal(one, other)
            assert one.dtype == other.dtype


def test_bits_of_indices():
    def bits(n):
        table = np.zeros(n, dtype=np.int64)
        for i in range(n):
            c = i
            for _ in range(8):
                c = 0xEDB88320 ^ (c >> 1) if c & 1 else c >> 1
            table[i] = c + (i | 8) - (i ^ n) + (5 & i) + (~i & 3) + ((i - 7) & 6) + (i << 2)
        return table

    compiled = tilewright.jit(strict=True)(bits)
    for n in (300, 300, 256, 70):
        assert np.array_equal(compiled(n), bits(n))
    assert "lines_" not in compiled.explain(source=False)


# ---- list(range(n))


def joined_sets(x, y):
    parent, size = list(range(len(x))), [1] * len(x)

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    for i in range(len(x)):
        a, b = find(int(x[i])), find(int(y[i]))
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]
    return parent, max(size), find(len(x) - 1)


def swapped(x, y):
    p = list(range(2, 2 * len(x), 2))
    q = p
    for i in range(len(p)):
        j = int(x[i]) % len(p)
        p[i], p[j] = p[j], p[i]
    return np.array(p), q is p, p[:3], sum(p), p[-1]


def down(x, y):
    left = list(range(len(x), 0, -1))
    for v in x:
        left[int(v)] -= 1
    return left, [one for one in left if one > 2]


def only_read(x, y):
    order, seen = list(range(len(x))), 0
    for i in order:
        seen += int(x[order[-1 - i]]) * i
    return seen, order


def becomes_floats(x, y):
    p = list(range(len(x)))
    for i in range(len(x)):
        p[i] = x[i] / 2
    return p


@pytest.mark.parametrize("function", [joined_sets, swapped, down, only_read, becomes_floats])
@pytest.mark.parametrize("length", [3, 7, 90, 200])
def test_lists_of_ranges_that_loops_write(function, length):
    rng = np.random.default_rng(length)
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        x, y = rng.integers(0, length, (2, length))
        same(compiled(x, y), function(x, y))


def test_a_list_of_a_range_lies_in_an_array():
    rng = np.random.default_rng(1)
    compiled = tilewright.jit(joined_sets, strict=True)
    compiled(*rng.integers(0, 90, (2, 90)))
    compiled(*rng.integers(0, 200, (2, 200)))
    assert len(compiled.specializations) == 1
    assert compiled.explain(source=False).count("NumPy computes it") == 1  # .tolist() of the list that is returned


# ---- list(array)


def bubbles(x):
    a = list(x)
    for i in range(len(a)):
        swapped = False
        for j in range(0, len(a) - i - 1):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return a


def inserted(x):
    a = list(x)
    for i in range(1, len(a)):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return np.array(a), a[0], a[-3:]


def apart_from_the_array(x):
    y = x.copy()
    a = list(y)
    y[0] = 99
    for i in range(len(a)):
        a[i] = a[i] + y[i]
    return a, a[0], y


def of_other_kinds(x):
    a, b = list(x), list(x[:, None] * 2)
    for i in range(len(a)):
        a[i] = int(a[i]) + 1
    return a, b


@pytest.mark.parametrize("function", [bubbles, inserted, apart_from_the_array, of_other_kinds])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, np.uint8, np.bool_])
def test_lists_of_elements(function, dtype):
    rng = np.random.default_rng(8)
    compiled = tilewright.jit(function, strict=True)
    for length in (70, 90, 4):
        x = rng.integers(0, 60, length).astype(dtype)
        same(compiled(x), function(x), exact=True)


def test_a_list_of_elements_is_sorted_by_a_kernel():
    x = np.random.default_rng(8).integers(0, 60, 300)
    compiled = tilewright.jit(lambda x: np.array(bubbles(x)), strict=True)
    np.testing.assert_array_equal(compiled(x), np.sort(x))
    assert "NumPy computes it" not in compiled.explain(source=False)
