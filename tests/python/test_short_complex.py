"""Complex arrays shorter than a vector that are written in place: every length, offset and step, and nothing beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in

pytestmark = pytest.mark.compile

LENGTHS = range(1, 16)


def scaled(z, w):
    z *= 2
    w += z


def shifted(z, w):
    z[1:] += z[:-1]
    w[:-1] = z[1:]


def turned(z, w):
    z[::-1] = z * 1j
    w[::2] = w[::2].conj()


def masked(z, w):
    m = np.abs(z) < 2.0
    z[m] = z[m] ** 2 + w[m]


def in_a_loop(z, w):
    for k in range(3):
        alive = np.abs(z) < 2.0
        z[alive] = z[alive] ** 2 + w[alive]
        w[0] = k


def one_by_one(z, w):
    for i in range(1, len(z)):
        z[i] = z[i - 1] * 0.5 + w[i]


def parts(z, w):
    w[...] = z.real + 1j * w.imag
    z[0] = w.sum()


@pytest.mark.parametrize(
    ("function", "dtype"),
    one_in(2, [scaled, shifted, turned, masked, in_a_loop, one_by_one, parts], [np.complex64, np.complex128]),
)
def test_every_length_offset_and_step(function: Any, dtype: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    random = np.random.default_rng(5)
    for length in LENGTHS:
        for offset, step in ((0, 1), (1, 1), (3, 1), (2, 2), (1, 3), (20, -1)):
            whole = (random.normal(size=(2, 70)) + 1j * random.normal(size=(2, 70))).astype(dtype)
            ours = whole.copy()
            for memory, f in ((whole, function), (ours, compiled)):
                z, w = (row[offset : offset + step * length if step > 0 else None : step][:length] for row in memory)
                assert len(z) == length
                f(z, w)
            np.testing.assert_allclose(
                ours,
                whole,
                rtol=1e-5 if dtype == np.complex64 else 1e-13,
                atol=1e-6 if dtype == np.complex64 else 1e-14,
            )
            untouched = np.ones(70, bool)
            untouched[[offset + step * k for k in range(length)]] = False
            np.testing.assert_array_equal(ours[:, untouched], whole[:, untouched])
    assert compiled.specializations
