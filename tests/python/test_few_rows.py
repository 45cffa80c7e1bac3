"""Products of a few rows by a wide matrix: in blocks of the matrix's rows, all rows of the left operand beside them."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from tilewright.builder import default_schedule

pytestmark = pytest.mark.compile


def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


def two_layers(x, w, b, v):
    return np.maximum(x @ w + b, 0) @ v + 1


def of(rows: int, terms: int, columns: int, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    return tuple(rng.standard_normal(s).astype(dtype) for s in ((rows, terms), (terms, columns), (columns,)))


def near(ours: np.ndarray, theirs: np.ndarray, terms: int) -> None:
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=8 * np.finfo(theirs.dtype).eps * terms)


def in_rows(function, *args):
    """The function compiled with its products in blocks of rows, which is the default of larger matrices."""
    compiled = tilewright.jit(function, strict=True)
    specialization = compiled.for_args(*args)
    variants = [
        line.split()[0] for line in compiled.explain(source=False).splitlines() if "the product by loops" in line
    ]
    assert variants
    specialization.choose_variants(dict.fromkeys(variants, "rows"))
    compiled.schedule = default_schedule(specialization.example_request())
    assert compiled.schedule.count("= rows") == len(variants)
    return compiled


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_of_rows_that_fit_no_group(dtype: str) -> None:
    terms, columns = 650, 1355  # no multiple of a block, a tile or a vector
    compiled = in_rows(layer, *of(7, terms, columns, dtype))
    for rows in (7, 2, 8, 3, 5, 1):
        args = of(rows, terms, columns, dtype)
        near(compiled(*args), layer(*args), terms)


def test_operands_of_other_layouts_and_values_that_are_not_finite() -> None:
    x, w, b = of(4, 650, 1350, "float32")
    compiled = in_rows(layer, x, w, b)
    x[1, 7], w[3, 5], w[9, 9] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        for left, right in ((x, w), (np.asfortranarray(x), w), (x[::-1], w), (x, np.asfortranarray(w)), (x, w[::-1])):
            ours, theirs = compiled(left, right, b), layer(left, right, b)
            np.testing.assert_array_equal(np.isfinite(ours), np.isfinite(theirs))
            there = np.isfinite(theirs)
            near(ours[there], theirs[there], 650)


def test_what_a_product_reads_is_computed_once() -> None:
    x, w, b = of(6, 600, 1300, "float64")
    v = np.random.default_rng(1).standard_normal((1300, 700)) / 50
    compiled = in_rows(two_layers, x, w, b, v)
    near(compiled(x, w, b, v), two_layers(x, w, b, v), 1300)
    assert "matmul_2_of: float64" in compiled.explain(source=False)
