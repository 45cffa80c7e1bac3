"""Arguments that get a new value: where they lie if nobody needs what lay there, NumPy's numbers whatever is read and written, and in what order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile


def scaled(x, y):
    x *= 3


def filled(x, y):
    x[:] = y + 1


def added(x, y):
    x += 2 * y


def one_after_the_other(x, y):
    x *= 2
    y += x


def from_what_was(x, y):
    old = x + y
    x[:] = old * 2
    y[:] = old - y


def crossed(x, y):
    x[:], y[:] = y + x, x - y


def exchanged(x, y):
    x[:], y[:] = y.copy(), x.copy()


def read_before(x, y):
    before = x * y
    x += 1
    return before


def read_behind(x, y):
    x += y
    return x * 2, x


def turned(x, y):
    x[:] = x[::-1] + y


def moved(x, y):
    x[1:] += x[:-1]


def two_places(x, y):
    value = x + y * 2
    x[:] = value
    y[:] = value


def turned_later(x, y):
    x += 1
    y += x[::-1]


def turned_earlier(x, y):
    y += x[::-1]
    x += 1


def by_its_sum(x, y):
    x += x.sum() % 7
    return y.sum()


def chosen(x, y):
    x[x > y] = 0


def clipped(x, y):
    x[:] = np.where(x > 2, np.minimum(x, y), x)
    y[y > 3] -= 1


def of_moments(x, y):
    m = x * 2 + y
    v = y * 2 - x
    x[:] = m
    y[:] = v
    return m - v


FUNCTIONS = [scaled, filled, added, one_after_the_other, from_what_was, crossed, exchanged, read_before, read_behind, turned, moved, two_places, turned_later,
             turned_earlier, by_its_sum, chosen, clipped, of_moments]  # fmt: skip
IN_PLACE = [scaled, filled, added, one_after_the_other, turned_earlier]
DTYPES = ["float32", "float64", "int64", "int8", "complex128"]
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda a: a,
    "every other": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "aligned to nothing": lambda a: np.append(a[:1], a, axis=0)[1:],
    "columns first": np.asfortranarray,
}


@functools.cache
def jitted(function: Callable[..., Any]) -> Any:
    return tilewright.jit(function, strict=True)


def compare(function: Callable[..., Any], make: Callable[[], tuple[Any, Any]]) -> None:
    """Two calls, each with arrays of its own."""
    mine, theirs = make(), make()
    results = jitted(function)(*mine), function(*theirs)
    flat = [[*(r if isinstance(r, tuple) else (r,)), *args] for r, args in zip(results, (mine, theirs), strict=True)]
    for ours, numpys in zip(*flat, strict=True):
        if ours is None:
            assert numpys is None
        else:
            np.testing.assert_array_equal(ours, numpys)


@settings(max_examples=examples(12), deadline=None)
@given(
    st.sampled_from(FUNCTIONS),
    st.sampled_from(DTYPES),
    st.sampled_from([0, 1, 2, 3, 16, 17, 63, 1000]),
    st.tuples(st.sampled_from(list(LAYOUTS)), st.sampled_from(list(LAYOUTS))),
    st.integers(0, 2**32 - 1),
)
def test_what_is_written_is_numpys(
    function: Callable[..., Any], dtype: str, n: int, layouts: tuple[str, str], seed: int
) -> None:
    if dtype == "complex128" and function in {chosen, clipped, by_its_sum}:
        return  # no order
    x, y = np.random.default_rng(seed).integers(-5, 6, (2, n)).astype(dtype)
    compare(function, lambda: (LAYOUTS[layouts[0]](x.copy()), LAYOUTS[layouts[1]](y.copy())))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_many_elements(function: Callable[..., Any]) -> None:
    """Tiles, threads and vectors; a remainder of each."""
    for n in (65_536, 200_003):
        x, y = np.random.default_rng(5).integers(-5, 6, (2, n)).astype(np.float64)
        compare(function, lambda x=x, y=y: (x.copy(), y.copy()))


@pytest.mark.parametrize("layout", ["contiguous", "columns first"])
def test_planes(layout: str) -> None:
    x, y = np.random.default_rng(6).integers(-5, 6, (2, 37, 53)).astype(np.float64)
    lay = LAYOUTS[layout]

    def shifted(x, y):
        x -= x.max(axis=1, keepdims=True)
        y[:] = x[:, :1] + y

    def by_row(x, row):
        x += row

    def transposed(x, y):
        x[:] = x.T * 2

    compare(shifted, lambda: (lay(x.copy()), lay(y.copy())))
    compare(by_row, lambda: (lay(x.copy()), y[0].copy()))
    compare(transposed, lambda: (lay(x[:, :37].copy()), lay(y.copy())))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_copies_are_made_where_they_are_needed(function: Callable[..., Any]) -> None:
    plan = tilewright.jit(function, strict=True).for_args(np.ones(100_000), np.ones(100_000)).plan_text()
    copies = [line for line in plan.splitlines() if line.startswith(("copy ", "temp "))]
    assert not (copies and function in IN_PLACE), plan
    if function in (turned, crossed, exchanged):
        assert copies, plan


def test_arguments_that_share_memory_are_refused_or_numpys() -> None:
    base = np.arange(1000.0)
    expected = base.copy()
    added(expected[:-1], expected[1:])
    tilewright.jit(added)(base[:-1], base[1:])
    np.testing.assert_array_equal(base, expected)


def test_a_check_that_fails_leaves_the_arguments() -> None:
    def looked_up(x, places):
        x *= 2
        return x[places].sum()

    j = tilewright.jit(looked_up)
    x = np.arange(50.0)
    assert j(x, np.array([0, 49])) == 98
    with pytest.raises(IndexError):
        j(x, np.array([0, 50]))
    np.testing.assert_array_equal(x, np.arange(50.0) * 4)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_of_nothing_written_nothing_is_left(shape: tuple[int, ...]) -> None:
    def pushed(y, flag):
        if flag:
            y[2:-2] = y[1:-3]
        return flag

    for flag in (np.True_, np.False_):
        y = np.zeros(shape)
        assert tilewright.jit(pushed, strict=True)(y, flag) == flag
    # NumPy writes nothing into this one either, and says so.
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tilewright.jit(pushed)(y, np.True_)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_halide_says_nothing_of_elements_that_there_are_not(
    dtype: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def every_second(y):
        z = np.sqrt(y)
        z[::2] = z[::-2]
        return np.sqrt(z)

    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")  # what is not compiled has no warnings
    got = tilewright.jit(every_second, strict=True)(np.zeros(0, dtype))
    assert (got.dtype, got.shape) == (np.dtype(dtype), (0,))
    assert "Warning" not in capfd.readouterr().err
