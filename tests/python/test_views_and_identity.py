"""What is a view, a copy or the object itself in NumPy is that in compiled code, or NumPy runs the call."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast

A = np.arange(200.0).reshape(10, 20) - 50
LAYOUTS = [A, np.asfortranarray(A), A.T, A[::-1, ::2]]


def slice_of_a_reshape_after_a_write(a):
    w = a.reshape(-1)
    a[0, 1] = 99
    a[1, 0] = 98
    return w[0:3].sum()


def reversed_ravel_after_a_write(a):
    w = np.ravel(a)
    a[-1, -2] = 99
    return w[::-1][:4] + 0


def reshape_read_where_another_loop_writes(a):
    w = a.T.reshape(-1)
    s = 0.0
    for i in range(3):
        v = w[1:3]
        a[i, 0] = 7
        a[0, i] = 9
        s = s * 2 + v.sum()
    return s + 0.5


def conjugate_is_the_array(a):
    b = a.conj()
    b[0] = 1.0
    return a * 2


def conjugate_of_bools(a):
    return (a > 0).conj() & (a < 9), (a[0, 0] > 0).conjugate()


def beside_none(a):
    return a + (1 if a[0, 0] == None else 2)  # noqa: E711


def class_and_attributes(a):
    n, s = a.shape[0], a.sum()
    return a + (s.__class__ is np.float64) + n.numerator + n.imag + hasattr(n, "imag") + hasattr(s, "shape")


def smallest_type(a):
    return a + len(np.min_scalar_type(a.shape[0]).name)


def repeated(a):
    return a + len([0.0] * np.int64(3)) + len([1] * a.shape[1])


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize(
    "function",
    [slice_of_a_reshape_after_a_write, reversed_ravel_after_a_write, reshape_read_where_another_loop_writes,
     conjugate_is_the_array, conjugate_of_bools, beside_none, class_and_attributes, smallest_type, repeated],
)  # fmt: skip
def test_every_layout_gives_numpys_answer(function: Any) -> None:
    compiled = tilewright.jit(function)
    for a in LAYOUTS:
        ours, theirs = copy.deepcopy(a), copy.deepcopy(a)
        got, expected = compiled(ours), function(theirs)
        assert type(got) is type(expected)
        for one, other in zip(got if isinstance(got, tuple) else (got,),
                              expected if isinstance(expected, tuple) else (expected,), strict=True):  # fmt: skip
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(ours, theirs)


def counts_beside_the_mask(a):
    m = a > 0
    s = 0.0
    for v in m.reshape(-1):
        if v:
            s += 1.0
    return a[m].sum() + s


def counts_a_mask_that_it_reads_in_each_iteration(a, m):
    s = 0.0
    a[m] = s
    w = m.reshape(-1)
    for i in range(len(w)):
        if w[i]:
            s = s + a[m].sum() + np.float64(1)
    return a, s + 0.5 * a[0, 0]


def test_a_reshape_stays_readable_in_loops_that_do_not_write_the_array() -> None:
    first = tilewright.jit(counts_beside_the_mask, strict=True)
    second = tilewright.jit(counts_a_mask_that_it_reads_in_each_iteration, strict=True)
    for a in LAYOUTS:
        assert first(a) == counts_beside_the_mask(a)
        for one, other in zip(
            second(a.copy(), a > 3), counts_a_mask_that_it_reads_in_each_iteration(a.copy(), a > 3), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def a_list(x):
    return [x + 1, x.sum(), x]


def a_list_of_one(x):
    return [x + 1]


@pytest.mark.parametrize("function", [a_list, a_list_of_one])
def test_a_list_is_returned_as_a_list(function: Any, tmp_path: Any) -> None:
    x = np.arange(60_000.0)
    f = tilewright.jit(function, strict=True)
    for _ in range(2):
        got, expected = f(x), function(x)
        assert type(got) is list
        assert all(np.array_equal(one, other) for one, other in zip(got, expected, strict=True))
        assert [one is x for one in got] == [other is x for other in expected]
    out = tuple(np.empty_like(x) if np.ndim(one) and one is not x else None for one in expected)
    assert f(x, out=out)[0] is out[0]
    with pytest.raises(tilewright.ExportError) as error:
        f.export(tmp_path / "list_tuned")
    assert str(error.value) == (
        f"{function.__name__}: it returns a list; functions of a module return arrays, numbers and tuples of them. "
        "Return a tuple."
    )


def floored_or_itself(a):
    if np.any(a > 2):  # noqa: SIM108
        v = np.floor(a)
    else:
        v = a
    return v, a * 2


def one_view_or_another(a):
    if np.any(a > 2):  # noqa: SIM108
        v = a[1:]
    else:
        v = a[:-1]
    return v, a * 2


def halved_until_small(a):
    while np.any(a > 2):
        a = a / 2
    return a


def returned_early(a):
    if a[0] > 0:
        return a
    return a * 2


def part_of_what_was_chosen(a):
    if np.any(a > 2):  # noqa: SIM108
        v = np.floor(a)
    else:
        v = a
    return v[1:]


def one_array_twice(a):
    y = a * 2
    v = y if a[0] > 0 else a + 1
    return v, y


def two_of_one(a):
    y = a * 2
    v = y if a[0] > 0 else a + 1
    w = y if a[0] > 0 else a + 2
    return v, w


def in_a_tuple(a):
    t = (a, a + 1)
    if a[0] > 0:
        t = (a * 2, a)
    return t[0] * 1, t[1]


def through_two_branches(a):
    v = a if a[0] > 0 else a * 2
    if a[1] > 3:
        v = v + 1
    return v


def in_short_loops(a):
    v = a
    for _ in range(3):
        if v.sum() > 100:
            v = v / 2
    return v


def identities(results: Any, a: Any) -> list[Any]:
    parts = results if isinstance(results, tuple) else (results,)
    return [
        *((p is a, np.shares_memory(p, a), p.tolist()) for p in parts),
        *(np.shares_memory(p, q) for p in parts for q in parts),
    ]


@pytest.mark.parametrize(
    "function",
    [floored_or_itself, one_view_or_another, halved_until_small, returned_early, part_of_what_was_chosen, one_array_twice,
     two_of_one, in_a_tuple, through_two_branches, in_short_loops],
)  # fmt: skip
def test_what_a_branch_chose_is_the_object_that_it_is(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for a in (np.linspace(0.1, 1, 600), np.linspace(5, 9, 600), -np.linspace(1, 2, 600), np.linspace(0.1, 1, 600)):
        assert identities(compiled(a), a) == identities(function(a), a)


def test_a_way_that_makes_new_memory_stays_compiled() -> None:
    compiled = tilewright.jit(floored_or_itself, strict=True)
    compiled(np.linspace(5, 9, 600))
    (found,) = compiled.specializations
    assert "it returns the memory of a, which a branch or a loop chose" in found.program.text
