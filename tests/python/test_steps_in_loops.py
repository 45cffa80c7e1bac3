"""A step that each iteration of a loop reads at another place: computed once for all of them by default."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def smoothed(image, weights):
    rows = np.pad(image, ((6, 6), (0, 0)), mode="edge")
    out = sum(weights[k] * rows[k : k + image.shape[0]] for k in range(13))
    padded = np.pad(out, ((0, 0), (6, 6)), mode="edge")
    result = np.zeros_like(image)
    for k in range(13):
        result += weights[k] * padded[:, k : k + image.shape[1]]
    return result


def of_a_formula(x, weights):
    y = np.exp(-x) / (1 + np.sqrt(x) + x**3)
    n = x.shape[1] - len(weights) + 1
    result = np.zeros((x.shape[0], n))
    for k in range(len(weights)):
        result += weights[k] * y[:, k : k + n]
    return result


def of_little(x, weights):
    n = x.shape[1] - len(weights) + 1
    result = np.zeros((x.shape[0], n))
    for k in range(len(weights)):
        result += weights[k] * (x * 2)[:, k : k + n]
    return result


@pytest.mark.parametrize(("function", "kept"), [(smoothed, "pad_2"), (of_a_formula, "y"), (of_little, "")])
def test_it_is_computed_once_where_that_is_work(function: Any, kept: str) -> None:
    rng = np.random.default_rng(3)
    compiled = tilewright.jit(strict=True)(function)
    for rows, columns in [(120, 200), (33, 47), (13, 16)]:
        image, weights = rng.random((rows, columns)), rng.random(13)
        np.testing.assert_allclose(compiled(image, weights), function(image, weights), rtol=1e-13)
    schedule = compiled.explain(source=False).partition("\nschedule:")[2]
    roots = [line.split(".")[0].strip() for line in schedule.splitlines() if ".compute_root()" in line]
    assert (kept in roots) if kept else not [one for one in roots if not one.startswith("loop")]
