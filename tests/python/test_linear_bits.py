"""Checksums and shift registers: chains of choices by single bits become sums over bits, with the very integers of the loop as it stands."""

# ruff: noqa: SIM108  (the programs are written as loops are)
from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(5)


def function_of(source: str) -> Any:
    name = f"<linear bits {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


def left(data, poly):
    """CRC-16-CCITT from the top bit down."""
    crc = 0xFFFF
    for b in data:
        crc ^= int(b) << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = ((crc << 1) ^ poly) & 0xFFFF
            else:
                crc = (crc << 1) & 0xFFFF
    return crc


def reflected(data, poly):
    crc = 0xFFFFFFFF
    for b in data:
        crc ^= int(b)
        for _ in range(8):
            crc = (crc >> 1) ^ (poly if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def two_polynomials(data, poly):
    """The choices of an iteration do not all choose between the same two."""
    crc = 1
    for b in data:
        for k in range(6):
            if (crc >> 3) & 1:
                crc = (crc >> 1) ^ poly
            elif k == 7:
                crc = 0
            if (crc ^ (int(b) >> k)) & 1:
                crc ^= 0x51
    return crc


def not_linear(data, poly):
    """A sum in the chain is no exclusive or; a test of two bits is no test of one."""
    crc = 0xACE1
    for b in data:
        for _ in range(5):
            if crc & 3:
                crc = ((crc >> 1) + poly) & 0xFFFF
            else:
                crc = (crc >> 1) ^ int(b)
    return crc


def register(n, taps):
    """No data at all."""
    state = 1
    for _ in range(n):
        for _ in range(4):
            if state & 1:
                state = (state >> 1) ^ taps
            else:
                state = state >> 1
    return state


def negative(data, poly):
    """The sign goes on to the right for ever."""
    crc = -(2**40) + 12345
    for b in data:
        for _ in range(8):
            if (crc ^ int(b)) & 1:
                crc = (crc >> 1) ^ poly
            else:
                crc = crc >> 1
    return crc


def kept_in_memory(out, data, poly):
    """The state after each byte goes into an array."""
    crc = 0xFFFF
    for i in range(data.shape[0]):
        crc ^= int(data[i])
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ poly
            else:
                crc = crc >> 1
        out[i] = crc


@pytest.mark.parametrize(
    ("function", "dtype"),
    one_in(2, [left, reflected, two_polynomials, not_linear, negative], [np.uint8, np.int8, np.int32]),
)
def test_bytes(function: Any, dtype: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for count in (1, 2, 3, 7, 64, 301):
        data = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True)
        for poly in (0x1021, 0xEDB88320, 0, 1, -3, 2**45 + 1):
            assert compiled(data, poly) == function(data, poly)


def test_no_data() -> None:
    compiled = tilewright.jit(register, strict=True)
    for n in (0, 1, 2, 5, 1000):
        for taps in (0xB400, 1, 0, 3 << 50):
            assert compiled(n, taps) == register(n, taps)


def test_every_state() -> None:
    compiled = tilewright.jit(kept_in_memory, strict=True)
    for count in (1, 5, 129):
        data = RNG.integers(0, 256, count, dtype=np.uint8)
        got, expected = np.zeros(count, np.int64), np.zeros(count, np.int64)
        compiled(got, data, 0xA001)
        kept_in_memory(expected, data, 0xA001)
        np.testing.assert_array_equal(got, expected)


CONDITIONS = ["crc & {bit}", "(crc ^ x) & {bit}", "(crc & {bit}) ^ (x & {bit})", "not (crc & {bit})", "(crc >> {k}) & 1", "x & {bit}",
              "(crc & 1) ^ ((crc >> {k}) & 1)", "(crc & {bit}) != (x & {bit})"]  # fmt: skip
MOVES = [("(crc >> {k}) ^ {number}", "crc >> {k}"), ("crc ^ {number}", "crc"), ("((crc << {k}) ^ {number}) & 0xFFFFF", "(crc << {k}) & 0xFFFFF"),
         ("crc ^ {number}", "crc ^ 0x33"), ("(crc ^ {number}) >> {k}", "crc >> {k}")]  # fmt: skip


@st.composite
def steps(draw: Any) -> str:
    names = {
        "bit": 1 << draw(st.integers(0, 9)),
        "k": draw(st.integers(1, 5)),
        "number": draw(st.sampled_from(["poly", "0x8408", "(poly >> 2)", "77"])),
    }
    condition = draw(st.sampled_from(CONDITIONS)).format(**names)
    taken, other = draw(st.sampled_from(MOVES))
    text = f"        if {condition}:\n            crc = {taken.format(**names)}\n        else:\n            crc = {other.format(**names)}\n"
    after = draw(
        st.sampled_from(["", "", "        x = x >> 1\n", "        crc ^= x\n", "        crc = crc & 0x3FFFF\n"])
    )
    return text + after


@settings(deadline=None, database=None, max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(
    st.lists(steps(), min_size=1, max_size=9), st.integers(-(2**33), 2**33), st.integers(1, 40), st.integers(0, 2**32)
)
def test_chains_of_choices(chain: list[str], poly: int, count: int, seed: int) -> None:
    source = (
        "def f(data, poly):\n    crc = 0x1234\n    for b in data:\n        x = int(b)\n"
        + "".join(chain)
        + "    return crc\n"
    )
    function = function_of(source)
    data = np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)
    compiled = tilewright.jit(function, strict=True)
    if "poly >> 2" in source and not -(2**31) <= poly < 2**31:
        # What is computed of integers before they meet an array has 32 bits in kernels.
        with pytest.raises(tilewright.TraceError, match=f"poly is {poly}, but what is computed of it has 32 bits"):
            compiled(data, poly)
        poly >>= 8
    assert compiled(data, poly) == function(data, poly)
