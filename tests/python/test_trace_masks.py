"""What a boolean mask picks out, computed with and reduced without being made: the program answers as NumPy does."""

from __future__ import annotations

from typing import Any

import mask_functions as f
import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tilewright import TraceError
from tilewright.trace import trace
from trace_cases import CheckFailed, check, raises_like_numpy, run_program, same_bits

pytestmark = pytest.mark.compile

COMMON = settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip
REAL = DTYPES[:11]
NUMBERS = DTYPES[1:11]
# 0.0 is not among them: which zero is the largest depends on the order.
SPECIALS = [np.nan, np.inf, -np.inf, -0.0, 1e300, 1.5, -2.0]
VECTORS = [
    (f.sums, DTYPES), (f.products, DTYPES), (f.extremes, REAL), (f.truths, DTYPES), (f.moments, DTYPES),
    (f.counts, DTYPES), (f.by_condition, NUMBERS), (f.converted, REAL[1:]), (f.places, NUMBERS),
    (f.selected_of_selected, NUMBERS), (f.where_given, DTYPES),
]  # fmt: skip


def near(got: Any, expected: Any) -> None:
    """Sums in another order; everything else bit for bit."""
    if isinstance(expected, tuple):
        assert type(got) is tuple and len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            near(a, b)
    elif np.asarray(expected).dtype.kind in "fc" and isinstance(expected, (np.ndarray, np.generic)):
        assert np.asarray(got).dtype == np.asarray(expected).dtype and np.shape(got) == np.shape(expected)
        single = np.asarray(expected).dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(got, expected, rtol=2e-4 if single else 1e-11, atol=1e-4 if single else 1e-11)
    else:
        same_bits(got, expected)


def values(draw: Any, dtype: str, shape: tuple[int, ...], special: bool = True) -> Any:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if special and draw(st.booleans()) else (max(-3, info.min), 4)
        return rng.integers(low, high, shape, np.dtype(dtype).type, endpoint=True)
    x = rng.normal(size=shape) * 3
    if kind == "c":
        x = x + 1j * rng.normal(size=shape)
    x = x.astype(dtype)
    if special and kind == "f" and draw(st.booleans()):
        with np.errstate(all="ignore"):
            x = np.where(rng.random(shape) < 0.2, rng.choice(np.array(SPECIALS).astype(dtype), shape), x)
    return x


@st.composite
def masks(draw: Any, shape: tuple[int, ...]) -> Any:
    kind = draw(st.sampled_from(["some", "some", "none", "all", "one"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = rng.random(shape) < {"some": 0.5, "none": 0, "all": 2, "one": 0}[kind]
    if kind == "one" and m.size:
        m.ravel()[rng.integers(m.size)] = True
    return m


def layouts(draw: Any, x: Any) -> Any:
    """The same elements, perhaps not one behind the other."""
    kind = draw(st.sampled_from(["C", "C", "every second", "backwards", "F"]))
    if kind == "every second":
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if kind == "backwards":
        return np.ascontiguousarray(x[::-1])[::-1]
    return np.asfortranarray(x) if kind == "F" else x


@pytest.mark.parametrize(("function", "dtypes"), VECTORS, ids=lambda v: getattr(v, "__name__", ""))
@COMMON
@given(data=st.data())
def test_vectors(function: Any, dtypes: list[str], data: Any) -> None:
    dtype = data.draw(st.sampled_from(dtypes))
    n = data.draw(st.integers(1 if function is f.extremes else 0, 40))
    special = function not in (f.products, f.moments, f.converted)
    x = layouts(data.draw, values(data.draw, dtype, (n,), special))
    check(function, x, data.draw(masks((n,))), others=[(x[::2].copy(), np.ones(len(x[::2]), bool))], compare=near)


@pytest.mark.parametrize("function", [f.of_two, f.with_numbers, f.divided], ids=lambda v: v.__name__)
@COMMON
@given(data=st.data())
def test_pairs_of_vectors(function: Any, data: Any) -> None:
    dtype = data.draw(st.sampled_from(NUMBERS))
    n = data.draw(st.integers(1, 40))
    x, y = (layouts(data.draw, values(data.draw, dtype, (n,), special=False)) for _ in range(2))
    if function is f.with_numbers and np.dtype(dtype).kind != "f":
        x, y = np.abs(x), np.abs(y)
    if function is f.divided and np.dtype(dtype).kind == "f":
        y = np.where(np.abs(y) < 1, 0, np.round(y)).astype(dtype)
    check(function, x, y, data.draw(masks((n,))), compare=near)


MATRICES = [
    (f.rows, lambda s: s[:1]), (f.rows_kept, lambda s: s[:1]), (f.columns, lambda s: s[1:]),
    (f.centered, lambda s: s[:1]), (f.planes, lambda s: s), (f.places_in_two, lambda s: s),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shape_of_mask"), MATRICES, ids=lambda v: getattr(v, "__name__", ""))
@COMMON
@given(data=st.data())
def test_matrices(function: Any, shape_of_mask: Any, data: Any) -> None:
    dtype = data.draw(st.sampled_from(["int32", "uint8", "float32", "float64"]))
    shape = (data.draw(st.integers(2, 9)), data.draw(st.integers(2, 9)))
    a = layouts(data.draw, values(data.draw, dtype, shape, special=False))
    check(function, a, data.draw(masks(shape_of_mask(shape))), compare=near)


@COMMON
@given(data=st.data())
def test_images(data: Any) -> None:
    shape = (data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6)), 3)
    a = values(data.draw, data.draw(st.sampled_from(["uint8", "float32"])), shape, special=False)
    check(f.colors, a, data.draw(masks(shape[:2])), compare=near)


@COMMON
@given(data=st.data())
def test_tables_are_looked_up_where_the_mask_is(data: Any) -> None:
    n = data.draw(st.integers(1, 20))
    table = np.arange(5.0) - 2
    labels = np.random.default_rng(n).integers(-5, 5, n)
    m = data.draw(masks((n,)))
    # What lies under false may point anywhere.
    labels[~m] = 77
    check(f.looked_up, table, labels, m, compare=near)
    labels[0], m[0] = 77, True
    with pytest.raises(CheckFailed):
        run_program(trace(f.looked_up, (table, labels, m)), (table, labels, m))


@pytest.mark.parametrize("function", [f.in_place, f.stored], ids=lambda v: v.__name__)
@COMMON
@given(data=st.data())
def test_what_is_written(function: Any, data: Any) -> None:
    dtype = data.draw(st.sampled_from(["int32", "float32", "float64", "complex128"]))
    n = data.draw(st.integers(0, 20))
    x, y = (values(data.draw, dtype, (n,), special=False) for _ in range(2))
    check(function, *((x, y) if function is f.stored else (x,)), data.draw(masks((n,))), compare=near)


@COMMON
@given(data=st.data())
def test_rows_that_are_written(data: Any) -> None:
    n = data.draw(st.integers(2, 7))
    a, r = values(data.draw, "float64", (n, n), special=False), np.arange(float(n))
    check(f.rows_stored, a, r, data.draw(masks((n,))), compare=near)


LOOPS = [
    (f.while_it_changes, lambda x, m: (x, m, 70)), (f.mask_that_moves, lambda x, m: (x, 70)), (f.until_few, lambda x, m: (x,)),
    (f.means_of_labels, lambda x, m: (x.reshape(-1, 2), np.arange(len(x) // 2) % 5, 70)),
    (f.selected_before_the_loop, lambda x, m: (x, m, 70)), (f.clipped, lambda x, m: (x, 0.5)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), LOOPS, ids=lambda v: v.__name__ if v.__name__ != "<lambda>" else "")
@settings(COMMON, max_examples=examples(5))
@given(data=st.data())
def test_loops(function: Any, arguments: Any, data: Any) -> None:
    x = np.abs(values(data.draw, "float64", (2 * data.draw(st.integers(1, 10)),), special=False))
    traced = check(function, *arguments(x, data.draw(masks(x.shape))), compare=near)
    if function not in (f.clipped, f.until_few):
        assert " = for " in traced.program_text


def test_nothing_of_what_is_not_selected_shows() -> None:
    x = np.array([1.0, np.nan, np.inf, -2.0, -np.inf])
    m = np.array([True, False, False, True, False])
    for function in (f.sums, f.products, f.extremes, f.truths, f.moments, f.counts):
        check(function, x, m, compare=near)
    check(lambda x, m: (x[m] / (x[m] - x[m]), np.sqrt(x[m]).sum())[1], x, m, compare=near)
    check(lambda x: (np.arange(3)[x == 0] // x[x != 0][:0].sum() if False else x[x != 0]).sum(), np.array([0, 2, 3]))


def test_zeros_keep_their_signs_where_numpy_does() -> None:
    x = np.array([-0.0, 5.0, -0.0])
    m = np.array([True, False, True])
    check(lambda x, m: (x[m].sum(), x[m].max(), x[m].min(), x[m].prod(), x[m].mean()), x, m)


def test_an_empty_selection_has_no_extreme_and_numpy_says_so() -> None:
    x, m = np.arange(3.0), np.zeros(3, bool)
    for function in (lambda x, m: x[m].max(), lambda x, m: np.min(x[m]), lambda x, m: np.ptp(x[m])):
        raises_like_numpy(function, x[:0], m[:0])
        traced = trace(function, (x, m))
        assert "zero-size array to reduction operation m" in traced.program_text
        with pytest.raises(CheckFailed):
            run_program(traced, (x, m))
        check(function, x, ~m)


def test_equal_masks_are_one_mask() -> None:
    check(lambda x, y: (x[x > 0] * y[x > 0]).sum(), np.arange(5.0) - 2, np.arange(5.0))

    def written_between(x, y):
        a = x[x > 0]
        x[0] = 3
        return (a * y[x > 0]).sum()

    compiled = tilewright.jit(strict=True)(written_between)
    x = np.arange(5.0) + 1
    assert compiled(x.copy(), x) == written_between(x.copy(), x)
    for function in (compiled, written_between):  # another mask by then
        with pytest.raises(ValueError, match="operands could not be broadcast together"):
            function(x - 3, x)


def test_products_conjugate_where_numpy_does() -> None:
    z, w, m = np.array([1 + 2j, 3 - 1j, 5j]), np.array([2 - 1j, 1j, 4 + 1j]), np.array([True, True, False])
    check(lambda z, w, m: (np.vdot(z, w), np.vecdot(z, w), np.dot(z, w)), z, w, m, compare=near)
    check(lambda z, w, m: (np.vdot(z[m], w[m]), np.vecdot(z[m], w[m]), z[m] @ w[m], np.var(z)), z, w, m, compare=near)


def test_a_selection_is_a_copy() -> None:
    def f(x, m):
        v = x[m]
        x[0] = 100
        return v.sum(), x[m].sum()

    check(f, np.arange(4.0), np.ones(4, bool))


def test_operands_of_another_length_are_not_taken_for_whole_arrays() -> None:
    def of_whole(x, y, m):
        x[m] += y
        return x

    x, m = np.arange(4.0), np.array([True, True, False, True])
    traced = check(of_whole, x.copy(), np.arange(10.0, 13), m)  # three values for three places
    mine = x.copy()
    with pytest.raises(CheckFailed):  # four values for three places: NumPy's ValueError, and nothing is written
        run_program(traced, (mine, x + 1, m))
    same_bits(mine, x)


ELEMENTS = {
    "returned": lambda x, m: x[m],
    "returned beside others": lambda x, m: (x[m], x[~m] * 2, x.sum(), x[m]),
    "np.argmax": lambda x, m: np.argmax(x[m]),
    ".cumsum": lambda x, m: x[m].cumsum()[-1],
    "np.sort": lambda x, m: np.sort(x[m])[0],
    "np.median": lambda x, m: np.median(x[m]),
    "a part": lambda x, m: (x[m][0], x[m][1:], x[m][::-1] * 2),
    "np.concatenate": lambda x, m: np.concatenate([x[m], x[m]]).sum(),
    ".reshape": lambda x, m: x[m].reshape(-1, 1).sum(),
    "rows": lambda x, m: x.reshape(-1, 1)[m] + np.arange(3),
    "positions": lambda x, m: (np.where(m)[0], np.flatnonzero(m), np.argwhere(m)),
}


@pytest.mark.parametrize("what", ELEMENTS)
def test_the_elements_themselves_are_picked_out_by_numpy(what: str) -> None:
    rng = np.random.default_rng(0)
    x, m = np.array([3.0, np.nan, -0.0, 5.0, 1.0, 2.0]), np.array([True, False, True, True, False, True])
    others = [(rng.random(n), np.arange(n) % 3 != 1) for n in (2, 3, 17)]
    traced = check(ELEMENTS[what], x, m, others=others)
    assert "call(" in traced.program_text


def test_a_selection_that_is_returned_is_of_the_time_when_it_was_made() -> None:
    def f(x, m):
        v, w = x[m], x[m]
        x[0] = 100
        v += 1
        return v, w, x[m]

    check(f, np.arange(4.0), np.ones(4, bool), others=[(np.arange(4.0), np.arange(4) > 1)])


FEWER_THAN = [(1, lambda x, m: np.argmax(x[m])), (3, lambda x, m: x[m][2]), (3, lambda x, m: x[m][-3])]


@pytest.mark.parametrize(("wanted", "function"), FEWER_THAN, ids=["largest", "third", "third from the end"])
def test_numpy_raises_where_too_little_is_picked_out(wanted: int, function: Any) -> None:
    x = np.arange(4.0)
    traced = check(function, x, np.ones(4, bool))
    for count in range(5):
        m = np.arange(4) < count
        if count >= wanted:
            same_bits(run_program(traced, (x, m)), function(x, m))
            continue
        with pytest.raises((ValueError, IndexError)):
            function(x, m)
        with pytest.raises((CheckFailed, ValueError)):
            run_program(traced, (x, m))


REFUSED = {
    "iterating over the elements": lambda x, m: tuple(x[m]),
    "the float value": lambda x, m: float(x[m]),
    "the truth value": lambda x, m: 1.0 if x[m] else 2.0,
    "storing the elements elsewhere": lambda x, m: x.__setitem__(slice(None), x[m]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_python_does_with_each_element_is_refused(what: str) -> None:
    with pytest.raises(TraceError) as error:
        trace(REFUSED[what], (np.arange(4.0), np.ones(4, bool)))
    assert f"test_trace_masks.py:{REFUSED[what].__code__.co_firstlineno}, in <lambda>" in str(error.value)
    assert str(error.value).endswith(
        f"{what} of what a boolean mask picks out; how many elements there are depends on the mask. "
        "Reduce it (.sum(), .mean(), .max()), store it under the same mask (x[mask] = …), or use np.where."
    )


def test_a_selection_of_an_iteration_is_not_read_behind_the_loop() -> None:
    def f(x, m, n):
        s = 0.0
        for t in range(n):
            v = x[m] + t
            s += v.sum()
        return s, v.sum()

    with pytest.raises(TraceError, match="v after the loop that made it, elements under a mask"):
        trace(f, (np.arange(4.0), np.ones(4, bool), 100))
