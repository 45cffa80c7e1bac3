"""Views, indexing, creation and in-place writes against NumPy."""

# ruff: noqa: PLW0108
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tilewright import TraceError
from tilewright.trace import trace
from trace_cases import check, raises_like_numpy

pytestmark = pytest.mark.fast

COMMON = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
BOUND = st.one_of(st.none(), st.integers(-9, 9))
KEY = st.one_of(
    st.builds(slice, BOUND, BOUND, st.sampled_from([None, 1, 2, 3, -1, -2, -3])),
    st.integers(-9, 9),
    st.just(None),
    st.just(Ellipsis),
)


@COMMON
@given(key=st.lists(KEY, max_size=4), shape=st.sampled_from([(5, 7), (1, 6), (3,), (0, 4), (2, 3, 4)]))
def test_basic_indexing(key: list[Any], shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) * 1.5
    index = tuple(key)

    def f(x):
        return x[index] + 1

    try:
        f(x)
    except IndexError:
        raises_like_numpy(f, x)
        return
    bigger = np.arange(np.prod([n + 3 for n in shape]), dtype=np.float64).reshape([n + 3 for n in shape])
    check(f, x, others=[(bigger,), (bigger[1:],), (bigger[:1],), (bigger[..., :2],), (x[:0],), (bigger[..., :0],)])


@COMMON
@given(start=BOUND, stop=BOUND, step=st.sampled_from([1, 2, -1, -2]), n=st.integers(0, 6))
def test_slices_with_run_time_bounds(start: Any, stop: Any, step: int, n: int) -> None:
    x = np.arange(n) * 2.0

    def f(x, a, b):
        return x[a:b:step] * 2

    check(f, x, start, stop, others=[(np.arange(8.0), start, stop), (x, start, stop), (np.arange(8.0), 2, 5)])


@COMMON
@given(
    key=st.lists(KEY, max_size=3),
    dtype=st.sampled_from(["float64", "float32", "int32", "bool"]),
    value=st.sampled_from([1, 2.5, "row", "self"]),
)
def test_assignment(key: list[Any], dtype: str, value: Any) -> None:
    x = (np.arange(20).reshape(4, 5) % 7).astype(dtype)
    index = tuple(key)

    def f(x):
        y = x.copy()
        view = y[1:]
        y[index] = x[0, 0] if value == "self" else x[0][: y[index].shape[-1]] if value == "row" else value
        return y, view * 2

    def g(x):
        y = x * 2
        y[index] += 3
        return y

    for function in (f, g):
        try:
            function(x)
        except (IndexError, ValueError, TypeError, AttributeError):
            continue
        check(function, x, others=[(x[:3],), (x[:, :4],)])


def test_in_place_operators_and_aliases() -> None:
    def f(x):
        y = x * 2
        z = y
        view = y[::2]
        transposed = y.T
        z += 1
        view *= 3
        transposed[0] -= 5
        scalar = y[0, 0]
        y[0, 0] = 100
        return y, z, view, transposed, scalar

    check(f, np.arange(12.0).reshape(3, 4), others=[(np.arange(20.0).reshape(5, 4),)])


def test_in_place_keeps_the_dtype_and_refuses_what_numpy_refuses() -> None:
    def f(x):
        y = x.astype(np.float32)
        y += np.float64(0.1) * x
        y[...] = y / 3
        return y

    def g(x):
        y = np.zeros(3, dtype=np.int32)
        y += 1.5
        return y

    check(f, np.arange(5.0))
    raises_like_numpy(g, np.arange(5.0))


def test_masks_where_the_shape_stays() -> None:
    def f(x):
        y = x.copy()
        y[y < 0] = 0
        y[y > 3] *= 2
        y[np.isnan(y)] = -1
        return y

    check(f, np.array([-1.0, 2, 5, np.nan, -0.0]), others=[(np.arange(7.0),)])


def test_masks_of_updates_have_the_arrays_shape() -> None:
    def f(x, m):
        y = x.copy()
        y[m > 0] *= 2
        return y

    def of_rows(x):
        y = x + x.T
        y[y[0] > 1] *= 2  # rows; as a choice it would be columns
        return y

    square = np.arange(9.0).reshape(3, 3)
    assert not check(f, square, square - 4).matches((square, np.ones((3, 1))))
    raises_like_numpy(f, square, square[:2])
    check(of_rows, square)


SHAPES = [
    lambda x: x.reshape(-1),
    lambda x: x.reshape(x.shape[0] // 2, 2, -1),
    lambda x: x.reshape((-1, 3)) + 1,
    lambda x: np.reshape(x, (3, -1)),
    lambda x: x.ravel() * 2,
    lambda x: x.flatten(),
    lambda x: x.T,
    lambda x: x.transpose(1, 0) + 1,
    lambda x: np.transpose(x),
    lambda x: x.swapaxes(0, 1) * 2,
    lambda x: np.moveaxis(x[None], 0, 2),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: x[:, None].squeeze(),
    lambda x: x[None].squeeze(axis=0),
    lambda x: np.broadcast_to(x, (2, *x.shape)) + x,
    lambda x: np.atleast_3d(x) + np.atleast_1d(x.T)[0, 0],
    lambda x: x.T[::-1].T,
    lambda x: x.T.reshape(-1),
    lambda x: x.reshape(-1)[::2].reshape(-1, 3),
    lambda x: np.flip(x, 0) - np.flip(x),
    lambda x: np.concatenate([x, x * 2], axis=1),
    lambda x: np.stack([x, x + 1, x * 0]),
    lambda x: np.vstack([x, x[:1]]),
    lambda x: np.hstack([x, x[:, :2]]),
    lambda x: np.array([x.sum(), x.max(), 3.0]),
    lambda x: np.rollaxis(x[None], 2),
    lambda x: sum(x),
]


@pytest.mark.parametrize("number", range(len(SHAPES)))
@pytest.mark.parametrize("order", ["C", "F"])
def test_shapes(number: int, order: str) -> None:
    x = np.asarray(np.arange(24.0).reshape(4, 6), order=order)  # type: ignore[call-overload]
    bigger = np.asarray(np.arange(54.0).reshape(6, 9), order=order)  # type: ignore[call-overload]
    check(SHAPES[number], x, others=[(bigger,), (x[:2],), (x[:, :3],), (x[:1],)])


CREATORS = [
    lambda x, n: np.zeros(n) + n,
    lambda x, n: np.ones((n, 2), dtype=np.float32) * x[0],
    lambda x, n: np.full(n, 2.5) + np.full((2, n), n),
    lambda x, n: np.zeros_like(x) + np.ones_like(x, dtype=np.int32) + np.full_like(x, n),
    lambda x, n: np.arange(n),
    lambda x, n: np.arange(2, n) * x[0],
    lambda x, n: np.arange(n, 0, -2, dtype=np.int32),
    lambda x, n: np.arange(0.0, 1.0, 0.1, dtype=np.float32),
    lambda x, n: np.arange(len(x)) * x,
    lambda x, n: np.linspace(0, 1, n),
    lambda x, n: np.linspace(-1.5, 2.5, n, endpoint=False, dtype=np.float32),
    lambda x, n: np.linspace(0, 1, 7) + np.linspace(3, 3, 1),
    lambda x, n: np.eye(n) + np.eye(n, k=1),
    lambda x, n: np.identity(n, dtype=np.int32),
    lambda x, n: x.mean() + len(x) / n + x.shape[0] // 2 + x.size % 3,
    lambda x, n: np.float32(x[0]) * np.float32(n),
    lambda x, n: np.arange(x.shape[0] // 2) + np.zeros(len(x) // 2),
    lambda x, n: np.asarray([1.0, 2.0, 3.0])[:, None] * x,
]


@pytest.mark.parametrize("number", range(len(CREATORS)))
def test_creation_with_run_time_sizes(number: int) -> None:
    x = np.arange(1.0, 7.0)
    check(CREATORS[number], x, 5, others=[(x, 3), (x, 8), (x[:4], 2), (x[:3], 1), (x, 0), (x, -2)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
def test_lists_of_traced_values_have_no_weak_numbers(dtype: str) -> None:
    def f(x):
        return (
            np.array([x[0], x[1], 2]),
            np.array([x.max(), 1.5]),
            np.array([[x[0], x[1]], [x[1], x[0]]]),
            np.asarray([x, x]),
        )

    check(f, np.array([1, 0, 1]).astype(dtype))


def test_sizes_stay_symbolic() -> None:
    def f(x, n):
        half = x.shape[0] // 2
        return x[:half] + x[half : 2 * half], np.zeros(n) + np.arange(n)

    traced = check(f, np.arange(10.0), 4)
    assert not [g for g in traced.size_guards if g.operator == "=="]
    for size, n in ((4, 1), (11, 9), (2, 2), (1000, 50)):
        assert traced.matches((np.arange(float(size)), n)), (size, n)
        check(f, np.arange(float(size)), n)


@pytest.mark.parametrize(
    "call",
    [lambda x: x + np.zeros(4), lambda x: x[10], lambda x: x[-11], lambda x: x[0, 0], lambda x: x.reshape(3, 3),
     lambda x: x.sum(axis=2), lambda x: x.T @ np.ones(7), lambda x: np.expand_dims(x, 5), lambda x: x[1.5],
     lambda x: np.zeros(-1), lambda x: x.squeeze(0), lambda x: x.foo, lambda x: np.broadcast_to(x, 3),
     lambda x: np.uint8(1) * x.astype(np.uint8) + 300, lambda x: x[..., ...], lambda x: x.transpose(1, 2),
     lambda x: x & 1, lambda x: ~x, lambda x: x << 1, lambda x: len(x.sum()), lambda x: 1 // 0, lambda x: missing],  # noqa: F821
)  # fmt: skip
def test_what_numpy_refuses_the_trace_refuses_alike(call: Any) -> None:
    raises_like_numpy(call, np.arange(10.0))


def test_uncertain_reshape_views_are_refused_not_guessed() -> None:
    def f(x):
        y = np.exp(x)
        flat = y.reshape(-1)
        y[0] = 5
        return flat

    # Of C-contiguous arguments it is a view; that they are is guarded.
    traced = check(f, np.ones((2, 3)))
    assert traced.contiguous == ("x",)
    assert traced.matches((np.ones((4, 3)),))
    assert not traced.matches((np.ones((3, 2)).T,))
    with pytest.raises(TraceError, match="whether NumPy's reshape is a view or a copy"):
        trace(f, (np.ones((3, 2)).T,))
