"""Complex numbers of Python's beside sizes: `np.exp(-2j * np.pi / N)`, with the bits of Python's division."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast


def twiddles(x: Any) -> Any:
    n = len(x)
    return np.exp(-2j * np.pi / n), x * (-2j * np.pi / n), n / (1 + 2j) * x


def fft(x: Any) -> Any:
    n = len(x)
    if n == 1:
        return x + 0j
    even, odd = fft(x[::2]), fft(x[1::2])
    turned = np.exp(-2j * np.pi / n) ** np.arange(n // 2) * odd
    return np.concatenate([even + turned, even - turned])


def in_a_loop(x: Any) -> Any:
    total = np.complex128(0)
    for k in range(len(x)):
        if k > 0:
            total += x[k] * (1j / k) + k / (2 - 1j)
    return total


def of_signs(x: Any) -> Any:
    n = len(x)
    return (-0j) / n * x, complex(-0.0, 1.0) / n * x, complex(float("inf"), 1.0) / n * x, n / complex(0.0, -2.0) * x


def flatten(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("function", [twiddles, fft, in_a_loop, of_signs])
def test_results_are_pythons(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n in (8, 4, 16):
        x = np.arange(1.0, n + 1)
        for one, other in zip(flatten(compiled(x)), flatten(function(x)), strict=True):
            assert type(one) is type(other)
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
            if function is of_signs:
                for part in ("real", "imag"):
                    mine, theirs = getattr(one, part), getattr(other, part)
                    np.testing.assert_array_equal(mine, theirs)
                    np.testing.assert_array_equal(np.signbit(mine)[mine == 0], np.signbit(theirs)[theirs == 0])


def by_a_size(x: Any) -> Any:
    return x.sum() + 1j / len(x)


def test_by_no_elements_it_is_pythons_error() -> None:
    compiled = tilewright.jit(by_a_size, strict=True)
    compiled(np.ones(3))
    with pytest.raises(ZeroDivisionError):
        compiled(np.ones(0))
    with pytest.raises(ZeroDivisionError):
        tilewright.jit(by_a_size, strict=True)(np.ones(0))
