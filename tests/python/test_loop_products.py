"""Products of a vector of each iteration and a matrix that no iteration changes: one product of a library before the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in

pytestmark = pytest.mark.compile


def columns(x, c):
    for i in range(c.shape[0]):
        c[i:, i] = c[i, i:] = x[:, i] @ x[:, i:] / 3.0


def rows(x, c):
    for i in range(x.shape[0]):
        c[i] = x[i] @ x.T


def matrix_by_row(x, c):
    for i in range(x.shape[0] - 1, -1, -1):
        c[i] = 1.0 - np.dot(x, x[i])


def every_second(x, c):
    for i in range(0, x.shape[0], 2):
        c[i] += x[i] @ x[:, :].T


def nested(x, c):
    for k in range(2):
        for i in range(x.shape[0]):
            c[i] += (k + 1) * (x @ x[i])


def of_what_the_loop_writes(x, c):
    for i in range(x.shape[0] - 1):
        x[i + 1] = x[i] @ c / 100.0


def of_what_the_loop_writes_around(x, c):
    for _ in range(2):
        for i in range(x.shape[0]):
            c[i] = x[i] @ x.T
        x *= 0.5


def sums(x, c):
    for i in range(x.shape[0]):
        c[i] = (x * x[i]).sum(axis=1)


def with_break(x, c):
    for i in range(x.shape[0]):
        if x[i, 0] > 5:
            break
        c[i] = x @ x[i]


def few_rows(x, c):
    for i in range(3):
        c[i] = x @ x[i]


def same_vector(x, c):
    for i in range(x.shape[0]):
        c[i] = x @ x[2] + i


def of_integers(x, c):
    y = x.astype(np.int64)
    for i in range(y.shape[0]):
        c[i] = y @ y[i]


def of_rows_and_columns(x, c):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            c[i, j] = x[i] @ x[:, j]


def triangle(x, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] += np.dot(x[i + 1 :, i], c[i + 1 :, j])
    c *= 2.0


def gram_schmidt(x, c):
    for k in range(x.shape[1]):
        c[k, k] = np.sqrt(np.dot(x[:, k], x[:, k]))
        q = x[:, k] / c[k, k]
        for j in range(k + 1, x.shape[1]):
            c[k, j] = np.dot(q, x[:, j])
            x[:, j] -= q * c[k, j]


def forward_substitution(x, c):
    for i in range(x.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = (1.0 + j - x[i, :i] @ c[:i, j]) / (10.0 + x[i, i])


def by_the_column_before(x, c):
    for j in range(1, x.shape[1]):
        x[:, j] -= (x[:, j - 1] @ x[:, j]) / 1000.0
        c[0, j] = x[:, j] @ x[:, j]


def sums_of_columns(x, c):
    for j in range(x.shape[1]):
        c[0, j] = (x[:, j] * x[:, j]).sum()


def squares(n: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, n)).astype(dtype), np.zeros((n, n), dtype)


def check(function: Callable[..., Any], x: Any, c: Any, **options: Any) -> str:
    """What explain() says, where all arguments are as NumPy leaves them."""
    compiled = tilewright.jit(strict=True, **options)(function)
    theirs, ours = (x.copy(), c.copy()), (x.copy(), c.copy())
    function(*theirs)
    compiled(*ours)
    tolerance = 1e-5 if x.dtype == np.float32 else 1e-12
    with np.errstate(invalid="ignore"):
        scale = np.abs(np.nan_to_num(theirs[1], posinf=0, neginf=0)).max(initial=1)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)
    text: str = compiled.explain(source=False)
    return text


def is_one(text: str) -> bool:
    return "products = blas" in text


@pytest.mark.parametrize(
    ("dtype", "function"),
    one_in(
        2,
        [np.float64, np.float32],
        [columns, rows, matrix_by_row, every_second, nested, of_what_the_loop_writes_around],
    ),
)
def test_one_product(function: Callable[..., Any], dtype: Any) -> None:
    assert is_one(check(function, *squares(90, dtype)))


@pytest.mark.parametrize("function", [of_what_the_loop_writes, sums, with_break, few_rows, same_vector, of_integers])
def test_what_stays(function: Callable[..., Any]) -> None:
    assert not is_one(check(function, *squares(90)))


def test_a_product_of_matrices_in_two_loops() -> None:
    assert is_one(check(of_rows_and_columns, *squares(90)))
    assert not is_one(check(of_rows_and_columns, *squares(30)))  # columns of a copy


@pytest.mark.parametrize(
    ("n", "function"), one_in(2, [1, 2, 15, 40, 70], [triangle, gram_schmidt, forward_substitution])
)
def test_columns_as_rows(function: Callable[..., Any], n: int) -> None:
    x, c = squares(n)
    text = check(function, x, c + 1.0)
    assert ("axis: its iterations are independent, and neighbours in memory" in text) == (n > 16)
    if function is not gram_schmidt and n > 4:
        x[3, 1] = np.nan
        c[n - 1, 0] = np.inf
        check(function, x, c + 1.0)
    check(function, np.asfortranarray(squares(n)[0]), c + 1.0)


@pytest.mark.parametrize("function", [by_the_column_before, sums_of_columns])
def test_columns_that_stay(function: Callable[..., Any]) -> None:
    assert "neighbours in memory" not in check(function, *squares(40))


def test_small_products_stay() -> None:
    assert not is_one(check(rows, *squares(30)))
    assert not is_one(check(rows, *squares(90), contract="reproducible"))


@pytest.mark.parametrize("function", [columns, rows, matrix_by_row])
def test_other_sizes_and_special_values(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(strict=True)(function)
    x, c = squares(90)
    compiled(x, c)
    for n, values in (
        (90, {(3, 4): np.nan}),
        (91, {(0, 0): np.inf, (5, 5): -np.inf}),
        (100, {(7, 7): -0.0}),
        (2, {}),
        (1, {}),
    ):
        x, c = squares(n)
        for at, value in values.items():
            x[at] = value
        theirs = c.copy()
        with np.errstate(invalid="ignore"):
            function(x.copy(), theirs)
        compiled(x.copy(), c)
        np.testing.assert_allclose(c, theirs, rtol=1e-10, atol=1e-12)


def test_an_array_by_its_own_transpose_is_symmetric() -> None:
    def both(a, b):
        return a @ a.T + 0, a.T @ a + 0, a @ b.T + 0, a[:, :200] @ a[:, :200].T + 0

    for dtype in (np.float64, np.float32):
        a = np.random.default_rng(5).normal(size=(300, 230)).astype(dtype)
        a[7, 3] = np.nan
        results = tilewright.jit(strict=True)(both)(a, a.copy())
        for ours, theirs in zip(results, both(a, a.copy()), strict=True):
            np.testing.assert_allclose(
                ours, theirs, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-4 if dtype == np.float32 else 1e-10
            )
        np.testing.assert_array_equal(results[0], results[0].T)
        np.testing.assert_array_equal(results[1], results[1].T)
