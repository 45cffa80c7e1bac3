"""The rows of operations.py: plain NumPy, and what each must reach and is to reach beside the best of its peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


class Row(NamedTuple):
    name: str
    function: Callable[..., Any]
    data: Callable[[bool], tuple[Any, ...]]  # of the small size, or of the real one
    must: float
    goal: float
    tolerance: float = 0  # of the largest value; 0: equal
    writes: bool = False


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _floats(*shape: int, dtype: Any = np.float64, small: tuple[int, ...] = ()) -> Callable[[bool], tuple[Any, ...]]:
    held: dict[bool, Any] = {}

    def data(is_small: bool) -> tuple[Any, ...]:
        if is_small not in held:
            held.clear()
            held[is_small] = (_rng().random(small if is_small else shape, dtype=dtype),)
        return held[is_small]

    return data


def _made(make: Callable[[bool], tuple[Any, ...]]) -> Callable[[bool], tuple[Any, ...]]:
    """Data that is made once."""
    held: dict[bool, Any] = {}

    def data(is_small: bool) -> tuple[Any, ...]:
        if is_small not in held:
            held[is_small] = make(is_small)
        return held[is_small]

    return data


def cumsum(a):
    return np.cumsum(a)


def cumsum_rows(a):
    return np.cumsum(a, axis=0)


def mask(a):
    return a[a > 0.5]


def roll_add(a):
    return a + np.roll(a, 1, axis=0) + np.roll(a, -1, axis=1)


def pad_filter(a, k):
    p = np.pad(a, 2, mode="edge")
    out = np.zeros_like(a)
    for i in range(5):
        for j in range(5):
            out += k[i, j] * p[i : i + a.shape[0], j : j + a.shape[1]]
    return out


def take(a, idx):
    return np.take(a, idx)


def median_filter(a):
    return np.median(sliding_window_view(np.pad(a, 1, mode="edge"), (3, 3)), axis=(2, 3))


def median_of_shifted(a):
    p = np.pad(a, 1, mode="edge")
    n, m = a.shape
    return np.median(np.stack([p[i : i + n, j : j + m] for i in range(3) for j in range(3)]), axis=0)


def sort_rows_of_4(a):
    return np.sort(a, axis=-1)


def attention(q, k):
    s = np.einsum("bhqd,bhkd->bhqk", q, k)
    s = np.exp(s - s.max(axis=-1, keepdims=True))
    return s / s.sum(axis=-1, keepdims=True)


def convolve(a, v):
    return np.convolve(a, v)


def bincount(x):
    return np.bincount(x)


def histogram(x):
    return np.histogram(x, bins=100, range=(-4.0, 4.0))[0]


def histogram_of_data(x):
    return np.histogram(x, bins=100)


def searchsorted(a, v):
    return np.searchsorted(a, v)


def digitize(x, bins):
    return np.digitize(x, bins)


def percentile_rows(a):
    return np.percentile(a, 90, axis=1)


def add_at(y, idx, v):
    np.add.at(y, idx, v)
    return y


def add_to_picked(y, idx, v):
    y[idx] += v
    return y


def _counted(bins: int) -> Callable[[bool], tuple[Any, ...]]:
    return _made(lambda small: (np.append(_rng().integers(0, bins, 1_000 if small else 10_000_000), bins - 1),))


def _scattered(small: bool) -> tuple[Any, ...]:
    n, size = (100, 1_000) if small else (1_000_000, 10_000_000)
    if small not in _SCATTERED:
        _SCATTERED[small] = _rng().integers(0, n, size), _rng().random(size)
    return np.zeros(n), *_SCATTERED[small]


_SCATTERED: dict[bool, Any] = {}


def _sorted_and_queries(small: bool) -> tuple[Any, ...]:
    n = 1_000 if small else 1_000_000
    return np.sort(_rng().random(n)), _rng().random(n)


def _taken(small: bool) -> tuple[Any, ...]:
    n, count = (100, 1_000) if small else (1_000_000, 10_000_000)
    return _rng().random(n), _rng().integers(0, n, count)


def _filtered(small: bool) -> tuple[Any, ...]:
    n = 50 if small else 4096
    return _rng().random((n, n), dtype=np.float32), _rng().random((5, 5), dtype=np.float32)


def _heads(small: bool) -> tuple[Any, ...]:
    shape = (2, 2, 16, 8) if small else (8, 8, 512, 64)
    return _rng().random(shape, dtype=np.float32), _rng().random(shape, dtype=np.float32)


def _signal(small: bool) -> tuple[Any, ...]:
    return _rng().random(1_000 if small else 1_000_000), _rng().random(64)


ROWS = [
    Row("cumsum", cumsum, _floats(10_000_000, small=(1_000,)), 1, 1.5, 1e-12),
    Row("cumsum_rows", cumsum_rows, _floats(4096, 4096, small=(50, 40)), 1, 1.5),
    Row("mask", mask, _floats(10_000_000, small=(1_000,)), 1, 2),
    Row("roll_add", roll_add, _floats(4096, 4096, dtype=np.float32, small=(50, 40)), 1.5, 3),
    Row("pad_filter", pad_filter, _made(_filtered), 2, 4),
    Row("take", take, _made(_taken), 1, 1.2),
    Row("median_filter", median_filter, _floats(2048, 2048, dtype=np.float32, small=(50, 40)), 5, 10),
    Row("median_of_shifted", median_of_shifted, _floats(2048, 2048, dtype=np.float32, small=(50, 40)), 5, 10),
    Row("sort_rows_of_4", sort_rows_of_4, _floats(1_000_000, 4, small=(50, 4)), 1, 5),
    Row("attention", attention, _made(_heads), 1.2, 2, 1e-5),
    Row("convolve", convolve, _made(_signal), 1.5, 3, 1e-13),
    Row("bincount_256", bincount, _counted(256), 1, 1.5),
    Row("bincount_1M", bincount, _counted(1_000_000), 1, 1.5),
    Row("histogram", histogram, _made(lambda small: (_rng().normal(size=1_000 if small else 10_000_000),)), 2, 5),
    Row("histogram_of_data", histogram_of_data, _floats(10_000_000, small=(1_000,)), 2, 5),
    Row("searchsorted", searchsorted, _made(_sorted_and_queries), 1.5, 4),
    Row("digitize_64", digitize, _made(lambda small: (_rng().random(1_000 if small else 10_000_000), np.linspace(0, 1, 65))), 1, 2),
    Row("percentile_rows", percentile_rows, _floats(10_000, 1_000, small=(50, 40)), 1, 2),
    Row("add_to_picked", add_to_picked, _scattered, 1, 2, writes=True),
    Row("add_at", add_at, _scattered, 1, 2, writes=True),
]  # fmt: skip
