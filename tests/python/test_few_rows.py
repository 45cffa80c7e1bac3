"""Products of a few rows by a wide matrix: in blocks of the matrix's rows, all rows of the left operand beside them."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_layer_for_few_rows_then_for_many(dtype: str) -> None:
    compiled = tilewright.jit(layer, strict=True)
    terms, columns = 2050, 2055  # no multiple of a block, a tile or a vector
    for rows in (7, 2, 8, 3, 40, 5):
        args = of(rows, terms, columns, dtype)
        near(compiled(*args), layer(*args), terms)
    text = compiled.explain()
    assert "matmul = rows | blas | loops" in text
    plans = [each.plan_text() for each in compiled.specializations]
    assert "require x.0 <= 8" in "".join(plans)  # the other version is the library's


def test_operands_of_other_layouts_and_values_that_are_not_finite() -> None:
    compiled = tilewright.jit(layer, strict=True)
    x, w, b = of(4, 2050, 2050, "float32")
    x[1, 7], w[3, 5], w[9, 9] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        for left, right in ((x, w), (np.asfortranarray(x), w), (x[::-1], w), (x, np.asfortranarray(w)), (x, w[::-1])):
            ours, theirs = compiled(left, right, b), layer(left, right, b)
            np.testing.assert_array_equal(np.isfinite(ours), np.isfinite(theirs))
            there = np.isfinite(theirs)
            near(ours[there], theirs[there], 2050)


def test_what_a_product_reads_is_computed_once() -> None:
    compiled = tilewright.jit(two_layers, strict=True)
    x, w, b = of(6, 600, 3000, "float64")
    v = np.random.default_rng(1).standard_normal((3000, 1500)) / 50
    near(compiled(x, w, b, v), two_layers(x, w, b, v), 3000)
    plan = compiled.explain()
    assert "matmul_2 = rows" in plan
    assert "matmul_2_of: float64" in plan
