"""Where strides decide between a view and a copy, what is written into the one shows in the other as NumPy has it: of arguments
of any layout, of arrays that were computed of them, and in statements that Python runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in
from from_text import function_of
from tilewright.decorator import JitFunction

pytestmark = pytest.mark.compile

# Statements of an argument b and a number k; the last one gives the result.
PROGRAMS = """
b += k; v = np.asfortranarray(b); b *= 2; v * 1
b += k; v = b.T.reshape(-1); b *= 2; v * 1
b += k; v = np.require(b, requirements='F'); b *= 2; v * 1
b += k; v = np.ravel(b, order='K'); b *= 2; v * 1
b = b + k; v = b.ravel(); b *= 2; v * 1
b = np.sqrt(b); v = np.ascontiguousarray(b); b *= 2; v * 1
v = np.asarray(b, order='F'); b *= 2; v * 1
v = np.array(b, order='F', copy=None); b *= 2; v * 1
v = b.astype(b.dtype, order='F', copy=False); b *= 2; v * 1
v = b.astype(b.dtype, order='C', copy=False); b *= 2; v * 1
c = b.T + b.T; v = c.ravel(); v *= 2; c
c = -b.T; v = c.reshape(-1); c *= 2; v * 1
c = np.where(b > 1, b, 0); v = c.ravel(); v *= 2; c
c = np.sort(b); v = c.ravel(); v *= 2; c
c = np.cumsum(b, axis=0); v = c.ravel(); v *= 2; c
c = np.concatenate([b, b]); v = c.ravel(); v *= 2; c
c = np.stack([b.T, b.T]); v = c.reshape(-1); c *= 2; v * 1
c = np.roll(b.T, 1, axis=0); v = c.ravel(); c *= 2; v * 1
c = b[:, [0, 1]]; v = c.ravel(); v *= 2; c
c = np.full_like(b, 2, order='F'); v = c.ravel(); v *= 2; c
c = np.ones_like(b); v = c.T.ravel(); v *= 2; c
c = np.histogram2d(b[0], b[1], bins=3)[0]; v = c.reshape(-1); v[0] = 99; c
z = b + 0j; v = z.real.reshape(-1); v[0] = 9; z
b = np.broadcast_to(b, (2, *b.shape)); v = str(b.flags.writeable) + str(b.strides); len(v)
z = b + 0j; v = z.imag.ravel(); v[0] = 9; z
""".strip().splitlines()
LAYOUTS = {
    "c": lambda x: x,
    "f": np.asfortranarray,
    "gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_strides_decide(program: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(JitFunction, "_loses", lambda *_: False)
    *statements, result = program.split("; ")
    lines = "".join(f"    {one}\n" for one in (*statements, f"return {result}"))
    function = function_of(f"def f(b, k):\n{lines}")
    compiled = tilewright.jit(function)
    for layout, side in (("c", 4), ("c", 4), ("f", 4), ("f", 5), ("gaps", 4), ("c", 6), ("f", 4)):
        ours, theirs = (LAYOUTS[layout](np.arange(float(side * side)).reshape(side, side)) for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilewright.FallbackWarning)
            got, expected = compiled(ours, 3), function(theirs, 3)
        np.testing.assert_array_equal(got, expected, f"{layout} {side}")
        np.testing.assert_array_equal(ours, theirs, f"{layout} {side}")


# What a slice of an argument is handed to, and the slice: kernels may have it in new memory, which lies otherwise.
HANDED = {
    "contiguous": "return r.flags.c_contiguous * 2.0 + r.flags.f_contiguous",
    "view": "return r.ravel('A')",
    "written view": "v = r.reshape(-1)\n    v[0] = 9\n    return r.sum()",
    "order": "return r.ravel('K') + 1",
    "asfortranarray": "return np.asfortranarray(r)",
}
SLICES = ["b[:, ::2]", "b[::-1]", "b[:, 1]", "b.T[::2]", "b[1:]", "b[:, None]", "b[:b.shape[0] // 2]", "b"]
REPEATED = {**LAYOUTS, "repeated": lambda x: np.broadcast_to(x[:1], x.shape)}


@pytest.mark.parametrize(("what", "part"), one_in(3, HANDED, SLICES))
def test_what_is_handed_a_slice_finds_it_as_it_lies(what: str, part: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(JitFunction, "_loses", lambda *_: False)
    for last in ("b *= 2\n    return v * 1", "return v, b + 1"):
        function = function_of(f"def g(r):\n    {HANDED[what]}\n\n\ndef f(b):\n    v = g({part})\n    {last}\n")
        compiled = tilewright.jit(function)
        for layout in ("c", "c", "f", "c", "gaps", "repeated", "repeated", "f", "c"):
            ours, theirs = (REPEATED[layout](np.arange(24.0).reshape(4, 6)) for _ in range(2))
            if not ours.flags.writeable and ("*=" in last or "written" in what):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tilewright.FallbackWarning)
                got, expected = compiled(ours), function(theirs)
            for one, other in zip(*(x if type(x) is tuple else (x,) for x in (got, expected)), strict=True):
                np.testing.assert_array_equal(one, other, f"{layout}: {last}")
                assert np.shares_memory(one, ours) == np.shares_memory(other, theirs)
            np.testing.assert_array_equal(ours, theirs, f"{layout}: {last}")
