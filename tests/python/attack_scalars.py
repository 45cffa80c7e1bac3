"""Random expressions of NumPy's and Python's scalars, which are computed otherwise than arrays: elements, loops' elements, reductions,
arrays of no dimensions, Python's numbers of them, with the numbers at which they differ.

Each runs under jit and in Python, for some pairs of numbers: types, dtypes, values, signs of zeros and classes of errors have to be the same.

    python tests/python/attack_scalars.py 1000 --first 0
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from attack_seeds import run
from from_text import function_of

REALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    -7.0,
    1e300,
    65504.0,
    math.nan,
    math.inf,
    -math.inf,
    2.0**31,
    2.0**53 + 2,
    -(2.0**63),
]
INTEGERS = [0, 1, 2, 3, 7, 31, 32, 63, 64, 100, -1, -2, -7, 127, 128, 255, 2**15, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**64 - 1]  # fmt: skip
DTYPES = ["f8", "f8", "f4", "f2", "i8", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "?", "c16", "c8"]
EXPRESSIONS = """
a + b | a - b | a * b | a / b | a // b | a % b | divmod(a, b) | a < b | a <= b | a > b | a >= b | a == b | a != b | a & b | a | b | a ^ b
a << b | a >> b | max(a, b) | min(a, b) | a and b | a or b | not a | np.maximum(a, b) | np.fmin(a, b) | np.floor_divide(a, b)
np.remainder(a, b) | np.fmod(a, b) | np.copysign(a, b) | np.left_shift(a, b) | np.right_shift(a, b) | np.where(a > b, a, b)
np.clip(a, b, b) | 0 < a < b | a if a > b else b | sum([a, b]) | a in (b, 1) | a == b or a > b | a - b > 0 | -a | +a | abs(a) | ~a | int(a)
float(a) | bool(a) | round(a) | round(a, 2) | a.item() | a.real | a.imag | a.conjugate() | np.sign(a) | np.floor(a) | np.rint(a)
np.square(a) | np.negative(a) | np.isnan(a) | np.signbit(a) | np.trunc(a) | np.nan_to_num(a) | a * 2 | a * 0.5 | a + 300 | a + 2**40
a // 2 | a % -3 | a // 0 | a % 0 | a / 0 | a << 1 | a >> 70 | a > 300 | a == 2**70 | a > 0.5 | a > 1j | a.astype(np.int8) | np.int8(a)
np.float32(a) | np.bool_(a) | a.max() | a.clip(0, 1) | a.round() | a.copy() | np.clip(a, 0, 3) | 1 / a | 7 // a | -7 % a | divmod(a, 0)
pow(a, 2, 5) | int(a) // 3 | int(a) * int(a) | float(a) // 0.3 | float(a) % 0.7 | bool(a) + 1 | a + True | a + np.float32(0.5) | a // np.int64(3)
a.ndim | a.shape | a[()] | a[...] | +(a > 0) | (a > 0) * 3 | ~(a > 0) | (a > 0) + (a < 1) | a != a
"""
EACH = [one.strip() for line in EXPRESSIONS.strip().splitlines() for one in line.split(" | ")]
BODIES = [
    "def f(x, y):\n    a, b = x[0], y[0]\n    return {}\n",
    "def f(x, y):\n    for i in range(len(x)):\n        a, b = x[i], y[i]\n        r = {}\n    return r\n",
    "def f(x, y):\n    a, b = x.max(), y.min()\n    return {}\n",
    "def f(x, y):\n    a, b = x[0], y[0]\n    z = x.copy()\n    if {}:\n        z[0] = 0\n    return z\n",
    "def f(x, y):\n    a, b = float(x[0]), y[0]\n    return {}\n",
    "def f(x, y):\n    a, b = int(x[0]), int(y[0])\n    return {}\n",
    "def f(a, b):\n    return {}\n",
]


def numbers(rng: random.Random, dtype: Any, count: int) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([rng.choice([one for one in INTEGERS if limits.min <= one <= limits.max]) for _ in range(count)], dtype)  # fmt: skip
    pick: Callable[[], Any] = lambda: rng.choice(REALS)  # noqa: E731
    return np.array([complex(pick(), pick()) if dtype.kind == "c" else pick() for _ in range(count)]).astype(dtype)


def outcome(function: Callable[..., Any], args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - whatever it raises
        return error


def alike(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        return isinstance(got, type(wanted)) or isinstance(wanted, type(got))
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, tuple):
        return len(got) == len(wanted) and all(map(alike, got, wanted))
    one, other = np.asarray(got), np.asarray(wanted)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if other.dtype.kind == "c":  # NumPy's vectors fuse the products of a complex one
        return bool(np.allclose(one, other, 8 * np.finfo(other.dtype).eps, equal_nan=True)) or not np.isfinite(other)
    if other.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    return bool(np.array_equal(one, other, equal_nan=True) and (np.isnan(other) | (np.signbit(one) == np.signbit(other))).all())  # fmt: skip


def attack(seed: int, calls: int = 12) -> str:
    """The problem with the expression of that seed, or ""."""
    import tilewright

    rng = random.Random(seed)
    first = rng.choice(DTYPES)
    second, body, expression = rng.choice([first, rng.choice(DTYPES)]), rng.choice(BODIES), rng.choice(EACH)
    function = function_of(body.format(expression))
    compiled = tilewright.jit(function)
    for _ in range(calls):
        x, y = (numbers(rng, dtype, 1) for dtype in (first, second))
        if "(a, b)" in body:
            x, y = x.reshape(()), y.reshape(())
        with np.errstate(all="ignore"):
            got, wanted = outcome(compiled, (x.copy(), y.copy())), outcome(function, (x.copy(), y.copy()))
        if not alike(got, wanted):
            return f"seed {seed}: {body.format(expression)}{first} {x!r}, {second} {y!r}: {got!r}, not {wanted!r}"
    return ""


def main() -> int:
    from tilewright.decorator import JitFunction

    JitFunction._loses = lambda *_: False  # type: ignore[method-assign]
    return run(__doc__, attack, "expressions")


if __name__ == "__main__":
    sys.exit(main())
