"""What sizes, options and constants decide is known while tracing, also where NumPy computes it; no element of an array is."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.fast


def blocks(x, block):
    shape, block = np.array(x.shape), np.array(block)
    if (shape % block).sum() != 0:
        raise ValueError(f"no blocks of {x.shape}")
    rows, columns = shape // block
    return x.reshape(rows, block[0], columns, block[1]).sum(axis=(1, 3))


def padded(x):
    y = np.zeros(2 ** int(np.ceil(np.log2(x.size))))
    y[: x.size] = x.ravel()
    return y


def taps(x, n):
    window = np.hanning(n + 2)[1:-1]
    if window.sum() > 2.5:
        return x[: int(window.sum())] * 2, "long"
    return x + window[0], "short"


def in_an_expression(x, keep):
    return x + 1, (x * 2 if np.array([keep]).min() > 2 else x.sum())


def none_in_an_expression(x):
    return x * 2, np.arange(len(x)) if np.array(x.shape).sum() > 10 else None


def by_arrays_of_numbers(x):
    order = np.argsort(x.strides)[::-1]
    blocks = np.array(x.shape) // 2 * 2
    one = x.sum().reshape(np.array([1, 1]))
    return x.transpose(order) * 2, x.reshape(blocks[::-1]) + 1, x.reshape(np.array([-1])) * 3, one


def middle(x, keep):
    keep = np.asarray(keep)
    low = ((np.array(x.shape) - keep) // 2).astype(int)
    high = low + keep
    return x[low[0] : high[0], low[1] : high[1]] * 1.0


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (blocks, [(2, 3), (4, 2), (1, 1), (2, 3)]),
        (padded, [()]),
        (taps, [3, 8, 3, 20]),
        (middle, [(2, 2), (1, 3), (4, 6)]),
        (in_an_expression, [3, 1, 2]),
        (none_in_an_expression, [()]),
        (by_arrays_of_numbers, [()]),
    ],
)
def test_numpys_results(function, options):
    compiled = tilewright.jit(function, strict=True)
    for shape in ((4, 6), (8, 6), (4, 6)):
        for k, option in enumerate(options * 2):
            x = np.arange(float(np.prod(shape))).reshape(shape) + k
            args = (x,) if option == () else (x, option)
            assert agree(compiled(*args), function(*args))
    assert compiled._specializations


def test_errors_are_numpys_own():
    compiled = tilewright.jit(blocks, strict=True)
    with pytest.raises(ValueError, match=r"no blocks of \(4, 6\)"):
        compiled(np.ones((4, 6)), (3, 2))


def test_elements_stay_of_the_run():
    def by_an_element(x):
        return np.zeros(int(x[0])) + x[:1].sum()

    def by_both(x):
        size = np.array([x.size]) + x[:1].astype(int)
        return np.arange(6.0)[: int(size[0])]

    for function in (by_an_element, by_both):
        compiled = tilewright.jit(function)
        for first in (2.0, 3.0, 1.0):
            x = np.array([first, 5.0])
            assert agree(compiled(x), function(x))
