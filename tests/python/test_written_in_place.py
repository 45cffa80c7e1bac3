"""An argument that is replaced element by element is written where it lies, whatever else is computed of it before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def centre(x):
    x -= x.mean()


def centre_columns(x):
    x -= x.mean(axis=0)


def normalize_rows(x):
    x /= np.sqrt((x * x).sum(axis=1, keepdims=True)) + 1.0


def standardize(x):
    x[:] = (x - x.mean(axis=0)) / (x.std(axis=0) + 1.0)


def rescale(x):
    x[:] = (x - x.min()) / (x.max() - x.min() + 1.0)


def add_product(x):
    x[:] = x @ x * 0.01 + x


def add_inverse(x):
    x += np.linalg.inv(x @ x.T + 50.0 * np.eye(x.shape[0]))


def both(x):
    x -= x.mean(axis=0)
    x -= x.mean(axis=1, keepdims=True)


IN_PLACE = (centre, centre_columns, normalize_rows, standardize, rescale, add_product, add_inverse, both)


def of_neighbours(x):
    x[:] = x[::-1] + x.sum()


def of_its_transpose(x):
    x += x.T * x.max()


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    x[:] = e / e.sum(axis=1, keepdims=True)


def gives_it_back_too(x):
    y = x.copy()
    x -= x.mean()
    return y


def checked_behind(x):
    x -= x.mean()
    if x.max() > 5.0:
        raise ValueError("too large")


def plan_of(function: Any) -> str:
    (specialization,) = function.specializations
    text: str = specialization.plan_text()
    return text


def layouts(n: int, dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    whole = rng.standard_normal((2 * n, 2 * n)).astype(dtype)
    return {
        "C": whole[:n, :n].copy(),
        "F": np.asfortranarray(whole[:n, :n]),
        "gaps": whole.copy()[::2, ::2],
        "reversed": whole.copy()[n - 1 :: -1, :n][:n],
    }


@pytest.mark.parametrize("function", [*IN_PLACE, of_neighbours, of_its_transpose, softmax, gives_it_back_too])
def test_it_is_numpys(function: Any) -> None:
    dtype = "float32" if function in (centre_columns, rescale) else "float64"
    compiled = tilewright.jit(function, strict=True)
    for n in (1, 7, 90):
        for name, x in layouts(n, dtype).items():
            expected = x.copy()
            wanted = function(expected)
            given = compiled(x)
            tolerance = 1e-10 if dtype == "float64" else 2e-4
            np.testing.assert_allclose(x, expected, rtol=tolerance, atol=tolerance, err_msg=f"{name} {n}")
            assert (given is None) == (wanted is None)
            if wanted is not None:
                np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("function", IN_PLACE)
def test_no_second_array_is_copied_back(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    compiled(layouts(300, "float64")["C"])
    steps = plan_of(compiled).rpartition("\nversion ")[2].splitlines()
    assert not [step for step in steps if step.startswith("copy ") and step.endswith(" to x")]


def test_a_check_behind_the_write_leaves_the_argument_to_numpy() -> None:
    compiled = tilewright.jit(checked_behind, strict=True)
    x = np.linspace(0.0, 1.0, 400).reshape(20, 20)
    compiled(x)
    np.testing.assert_allclose(x, np.linspace(-0.5, 0.5, 400).reshape(20, 20), atol=1e-12)
    large = x.copy()
    large[3, 4] = 100.0
    expected = large.copy()
    for run, array in ((compiled, large), (checked_behind, expected)):
        with pytest.raises(ValueError, match="too large"):
            run(array)
    np.testing.assert_array_equal(large, expected)


def test_arguments_that_share_memory() -> None:
    def centre_by_another(x: np.ndarray, y: np.ndarray) -> None:
        x[:] = x - y.mean(axis=0)

    compiled = tilewright.jit(centre_by_another, strict=True)
    for shift in (0, 1, 5):
        ours, theirs = np.arange(400.0).reshape(40, 10) ** 1.5, np.arange(400.0).reshape(40, 10) ** 1.5
        for _ in range(2):
            compiled(ours[shift : shift + 20], ours[:20])
            centre_by_another(theirs[shift : shift + 20], theirs[:20])
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
