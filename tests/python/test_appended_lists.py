"""Lists to which loops append: the same as Python's, of the same types, and filled by kernels where their items are alike."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from lists_alike import same

pytestmark = pytest.mark.compile


def each_time_behind_a_first(x):
    out = [1.5]
    for v in x:
        out.append(float(v))
    return out, np.mean(out), len(out), out[-1], out[0]


def to_one_or_the_other(x):
    a, b = [], []
    for i in range(len(x)):
        if x[i] > 0:
            a.append(i)
        else:
            b.append(float(x[i]))
    return a, b, len(a) + len(b)


def until_a_break(x):
    out = []
    for i in range(len(x)):
        if x[i] > 2.5:
            break
        out.append(x[i] * 2)
    return out


def unless_it_continues(x):
    out = []
    for i in range(len(x)):
        if x[i] < 0:
            continue
        out.append(x[i] * 2)
    return np.array(out)


def views_of_the_argument(x):
    out = []
    for i in range(1, len(x), 3):
        out.append(x[i - 1 : i + 1] * 2)
    return np.array(out), np.vstack(out).shape


def one_array_again_and_again(x):
    out = []
    row = np.zeros(3)
    for i in range(len(x)):
        row[0] = x[i]
        out.append(row)
    return np.array(out)


def under_another_name(x):
    out = []
    other = out
    for v in x:
        out.append(v)
    return other


def in_a_helper(x):
    def helper(l, x):
        for v in x:
            l.append(v * 2)

    out = []
    helper(out, x)
    helper(out, x)
    return out


def a_list_of_each_iteration(x):
    out = []
    for k in range(3):
        part = []
        for v in x:
            part.append(v * k)
        out.append(max(part))
    return out


def tuples(x):
    out = []
    for v in x:
        out.append((v, 2))
    return out[3]


def of_two_types(x):
    out = []
    for v in x:
        if v > 0:
            out.append(1)
        else:
            out.append(0.5)
    return out


def two_loops_and_more(x):
    out = []
    for v in x:
        out.append(v)
    for v in x:
        out.append(-v)
    out.append(np.float64(3.0))
    return out, sum(out)


def integers(x):
    out = []
    for v in x:
        out.append(int(v * 10))
    return out, sum(out), max(out)


def two_each_time(x):
    out = []
    for v in x:
        out.append(v)
        out.append(v * 2)
    return np.array(out)


def perhaps_none(x):
    out = []
    for v in x:
        if v > 100:
            out.append(v)
    return out, len(out), np.array(out)


def integers_perhaps_none(x):
    out = []
    for i in range(len(x)):
        if x[i] > 2.4:
            out.append(i)
    return np.array(out), np.sum(out), np.asarray(out) + 1


def rows_perhaps_none(x):
    out = []
    for i in range(2, len(x)):
        if x[i] > 2.4:
            out.append(x[i - 2 : i] * 2)
    return np.array(out)


def appends_in_a_while(x):
    out, k = [], 0
    while k < len(x):
        out.append(float(x[k]))
        k += 2
    return out


def a_closure_reads_it(x):
    out = []

    def longest():
        return len(out)

    for v in x:
        out.append(v)
    return longest(), out[0]


def its_own_last_item(x):
    out = [0.0]
    for i in range(1, len(x)):
        out.append(out[-1] * 0.9 + float(x[i]))
    return out


def in_a_branch(x):
    out = []
    if x[0] > 0:
        for v in x:
            out.append(v)
    return out


def nested_loops(x):
    out = []
    for i in range(len(x)):
        for k in range(3):
            out.append(x[i] * k)
    return np.array(out)


def of_two_axes(x):
    out = []
    for i in range(len(x)):
        for k in range(i % 1, len(x), 2):
            out.append(int(x[i] * 10) - int(x[k] * 10))
    return out


def of_pairs(x):
    out = [0.5]
    for i in range(len(x)):
        for k in range(i + 1, len(x)):
            out.append(x[i] * x[k])
    return np.array(out), len(out)


def on_every_floor(x):
    out, rows, odd = [], [], []
    for i in range(len(x)):
        rows.append(i)
        for k in range(len(x) // 2):
            if x[k] < 0:
                continue
            if x[i] > 1.5:
                break
            for m in range(3):
                out.append(x[i] + m)
            odd.append(k)
        out.append(x[i])
    return out, rows, np.array(odd)


def a_list_in_each_iteration(x):
    out = []
    for i in range(len(x)):
        part = []
        for k in range(len(x)):
            part.append(x[k] * i)
            if x[k] > x[i]:
                out.append(k)
        out.append(int(sum(part)))
    return out


def behind_a_loop_of_its_own(x):
    out = []
    for v in x:
        out.append(v)
    for i in range(len(x)):
        for k in range(len(x)):
            out.append(x[k] - x[i])
    return out


def as_many_as_data_say(x):
    out = []
    for i in range(len(x)):
        for k in range(int(abs(x[i]) * 3)):
            out.append(k)
    return out


def until_data_end_a_while_in_it(x):
    out = []
    for i in range(len(x)):
        k = i
        while k < len(x) and x[k] > 0:
            out.append(k)
            k += 1
    return out


def of_a_table(x):
    table = np.outer(x, x)
    out = []
    for row in table:
        for v in row:
            if v > 1:
                out.append(float(v))
    return out


def by_a_while_of_numbers(x):
    at, out, times, t = x.copy(), [x.copy()], [0.0], 0.0
    while t < 9.0:
        at = at + 0.1 * np.sin(at)
        if at[0] > 1.0:
            at[0] -= 0.5
        t += 0.05
        out.append(at.copy())
        times.append(t)
    return np.array(out), max(times) - min(times), len(times)


def by_a_while_of_data(x):
    k, path, steps = 0, [], 0
    while k < len(x):
        for j in range(2):
            path.append(k + j)
        k += 2 if x[k] > 0 else 1
        steps += 1
        if steps > 50:
            break
    return path, np.array(path)


def by_whiles_in_a_loop(x):
    rows, counts = [], []
    for i in range(len(x)):
        k, one = i + 1, []
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            rows.append((k, 0.5 * k))
            one.append(k)
        counts.append(max(one) if one else 0)
    return np.array(rows), counts


FUNCTIONS = [
    value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__
]
IN_KERNELS = [
    each_time_behind_a_first,
    to_one_or_the_other,
    until_a_break,
    unless_it_continues,
    integers,
    two_each_time,
    nested_loops,
    of_two_axes,
    of_pairs,
    on_every_floor,
    a_list_in_each_iteration,
    behind_a_loop_of_its_own,
    of_a_table,
    by_a_while_of_numbers,
    by_a_while_of_data,
    until_data_end_a_while_in_it,
]
REFUSED = [one_array_again_and_again]


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one not in REFUSED], ids=lambda f: f.__name__)
def test_lists_are_pythons(function):
    compiled = tilewright.jit(strict=True)(function)
    for size in (100, 100, 100, 130, 70, 5, 100):
        x = np.random.default_rng(size).normal(size=size)
        ours, theirs = x.copy(), x.copy()
        same(compiled(ours), function(theirs))
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("function", IN_KERNELS, ids=lambda f: f.__name__)
def test_they_are_filled_by_kernels(function):
    compiled = tilewright.jit(strict=True)(function)
    x = np.random.default_rng(0).normal(size=100)
    same(compiled(x), function(x))
    assert ".append" not in compiled.explain(source=False)
    assert "lines_" not in compiled.explain(source=False)


def test_a_list_longer_than_its_room_is_numpys():
    def counted(n):
        out, k = [], 0
        while k < n:
            out.append(k)
            k += 1
        return len(out), out[-1]

    compiled = tilewright.jit(strict=True)(counted)
    for n in (100, 70_000, 100, 1):
        assert compiled(n) == (n, n - 1)
