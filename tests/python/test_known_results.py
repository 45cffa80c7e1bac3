"""Results that no argument goes into, beside what is computed: NumPy's numbers, windows, grids, in new memory at each call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

X = np.arange(8.0)


@dataclass
class Found:
    window: np.ndarray
    scale: np.float64


def numbers(x):
    return (
        x * 2,
        np.float64(3.0),
        np.sqrt(2.0),
        np.int8(3),
        np.float32(1.5),
        np.bool_(True),
        np.complex64(1j),
        np.float16(2),
    )


def odd_numbers(x):
    return x + 1, np.float64(np.nan), np.float64(-0.0), np.float64(-np.inf), np.uint64(2**64 - 1)


def in_a_dict(x):
    return {"k": np.float64(2.0), "y": x.sum(), "grid": np.linspace(0, 1, 3)}


def a_window(x):
    w = np.hanning(8)
    return x * w, w


def written(x):
    w = np.hanning(8)
    part = w[1:]
    w[1] = 9
    return w, x + 1, part.copy()


def every_other(x):
    w = np.hanning(8)
    return w[::2], x * w


def no_elements(x):
    return x + 1, np.zeros(0), np.fft.fftfreq(1), np.array(2.5), np.hanning(8).reshape(2, 4).T


def an_object(x):
    w = np.kaiser(8, 3.0)
    return Found(w, np.float64(0.5)), x * w


def beside_writes(x):
    x += 1
    return np.hanning(3)


@pytest.mark.parametrize(
    "function",
    [numbers, odd_numbers, in_a_dict, a_window, written, every_other, no_elements, beside_writes],
    ids=lambda function: function.__name__,
)
def test_what_is_known_is_returned(function):
    check(function, X)


def test_an_object_holds_what_is_known():
    compiled = tilewright.jit(an_object, strict=True)
    for _ in range(2):
        (ours, product), (theirs, expected) = compiled(X), an_object(X)
        assert agree(ours.window, theirs.window)
        assert agree(ours.scale, theirs.scale)
        assert agree(product, expected)


def test_each_call_has_its_own():
    compiled = check(a_window, X)
    first = compiled(X)[1]
    first[:] = 7
    assert agree(compiled(X)[1], np.hanning(8))


def twice(x):
    w = np.hanning(8)
    return w, [w, x * 2]


def test_one_array_twice_is_one():
    compiled = check(twice, X)
    w, (again, _) = compiled(X)
    assert w is again


def a_part_beside_it(x):
    w = np.hanning(8)
    return w, w[1:], x * 2


def fixed(x):
    return np.broadcast_to(np.float64(2), 3), x * 2


def is_as_numpys(function, compiled):
    ours = compiled(X)
    assert agree(ours, function(X))
    assert [one.flags.writeable for one in ours] == [one.flags.writeable for one in function(X)]


def test_a_part_is_numpys():
    with pytest.raises(tilewright.TraceError, match="it returns"):
        tilewright.jit(a_part_beside_it, strict=True)(X)
    is_as_numpys(a_part_beside_it, tilewright.jit(a_part_beside_it))


def test_what_is_broadcast_is_a_view():
    compiled = tilewright.jit(fixed, strict=True)
    for _ in range(3):
        is_as_numpys(fixed, compiled)
    compiled(X)[1][:] = 7
    is_as_numpys(fixed, compiled)
