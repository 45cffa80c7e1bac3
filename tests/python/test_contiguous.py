"""np.ascontiguousarray and its kind: the argument itself or a new array, as its layout decides; writes and results tell."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from from_text import function_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")]

BASE = np.arange(24_000.0).reshape(120, 200)
LAYOUTS = {
    "c": BASE.copy,
    "f": lambda: np.asfortranarray(BASE),
    "reversed": lambda: BASE.copy()[::-1],
    "strided": lambda: np.repeat(BASE, 2, axis=1)[:, ::2],
    "row": lambda: BASE.copy()[:1],
    "column": lambda: BASE.copy()[:, :1],
    "line": lambda: BASE.copy().reshape(-1),
    "strided line": lambda: np.repeat(BASE.reshape(-1), 2)[::2],
    "read-only": lambda: read_only(BASE.copy()),
    "read-only f": lambda: read_only(np.asfortranarray(BASE)),
    "empty": lambda: np.zeros((0, 3)),
}


def read_only(a: Any) -> Any:
    a.flags.writeable = False
    return a


MADE = ["np.ascontiguousarray(a)", "np.asarray(a, order='C')", "np.array(a, copy=None, order='C')", "np.asarray(a)",
        "np.require(a, requirements='C')", "np.require(a, requirements=['C'])", "a.ravel()", "np.ravel(a)", "a.reshape(-1)",
        "np.array(a)", "np.asarray(a, copy=True)", "np.ascontiguousarray(a * 2)", "np.ascontiguousarray(a[::-1])",
        "np.ascontiguousarray(a[1:])", "np.ascontiguousarray(a[1:].T)", "np.ascontiguousarray(a, dtype=np.float32)",
        "a.squeeze()", "np.atleast_1d(a)", "a.T", "a.conj()", "np.asanyarray(a)", "np.broadcast_arrays(a, a)[0]",
        "a.astype(float, copy=False)", "np.asfortranarray(a)", "(a * 2).ravel()", "a.copy().ravel()", "a[...]"]  # fmt: skip
THEN = ["return v * 2", "v[0] = 5\n    return v * 2", "v += 1\n    return a.sum()", "a[0] = 7\n    return v * 2", "return v",
        "a += 1\n    return v", "a[0] = 7\n    v[-1] = 8\n    return a * 1, v", "w = v[1:]\n    w[...] = 3\n    return v + 0, w * 2",
        "a[...] = 2\n    return v.copy()"]  # fmt: skip


def outcome(run: Any, a: Any) -> Any:
    try:
        result = run(a)
    except Exception as error:
        return type(error), a.tolist()
    parts = result if isinstance(result, tuple) else (result,)
    return [
        (type(p), p.dtype, np.asarray(p).tolist(), p is a, np.shares_memory(p, a), getattr(p.flags, "writeable", None))
        for p in parts
    ], a.tolist()


@given(st.sampled_from(MADE), st.sampled_from(THEN), st.lists(st.sampled_from(sorted(LAYOUTS)), min_size=1, max_size=4))
@example(MADE[0], THEN[1], ["reversed", "c", "f"])
@example(MADE[0], THEN[1], ["c", "reversed", "read-only", "f", "read-only f"])
@example(MADE[0], THEN[4], ["c", "f", "strided line", "line"])
@example(MADE[6], THEN[3], ["f", "c", "line", "strided line"])
@example("np.asfortranarray(a)", THEN[1], ["column", "column", "strided", "column"])
@settings(max_examples=examples(10), deadline=None, derandomize=True)
def test_each_layout_gives_what_numpy_gives(how: str, then: str, layouts: list[str]) -> None:
    function = function_of(f"def f(a):\n    v = {how}\n    {then}\n")
    compiled = tilewright.jit(function)
    for name in layouts:
        assert outcome(compiled, LAYOUTS[name]()) == outcome(function, LAYOUTS[name]()), name


def writes_into_the_copy(c):
    v = np.ascontiguousarray(c)
    v[0] = 5
    return v * 2


def test_both_layouts_are_compiled_each_as_a_program_of_its_own() -> None:
    f = tilewright.jit(writes_into_the_copy, strict=True)
    for name in ("c", "reversed", "c", "f"):
        assert outcome(f, LAYOUTS[name]()) == outcome(writes_into_the_copy, LAYOUTS[name]())
    assert len(f.specializations) == 2


def reads_alone(c):
    return np.ascontiguousarray(c) * 2 + c.ravel().sum() * 0


def test_where_nobody_can_tell_one_program_serves_all_layouts() -> None:
    f = tilewright.jit(reads_alone, strict=True)
    for name in ("c", "reversed", "f", "strided"):
        assert outcome(f, LAYOUTS[name]())[0][0][2] == outcome(reads_alone, LAYOUTS[name]())[0][0][2]
    assert len(f.specializations) == 1


def test_a_module_is_of_the_layout_that_it_was_made_for(tmp_path: Any) -> None:
    f = tilewright.jit(writes_into_the_copy)
    f.for_args(LAYOUTS["c"]())
    f.export(tmp_path / "ok_tuned", targets=("x86-64",))
    sys.path.insert(0, str(tmp_path))
    try:
        module = __import__("ok_tuned")
    finally:
        sys.path.remove(str(tmp_path))
    assert outcome(module.writes_into_the_copy, LAYOUTS["c"]()) == outcome(writes_into_the_copy, LAYOUTS["c"]())
    d = LAYOUTS["reversed"]()
    with pytest.raises(ValueError) as error:
        module.writes_into_the_copy(d)
    assert str(error.value) == (
        "writes_into_the_copy: c is not C-contiguous, but this module was made for C-contiguous arrays, which the function "
        "treats in another way. Tune the function with that one too."
    )
    assert np.array_equal(d, LAYOUTS["reversed"]())


WRITES = ["a[...] = a", "np.copyto(a, a)", "a[0] = a[0]", "a += 0", "a[:] = a * 1", "np.copyto(a, a * 1)", "a.fill(1)", "a[a > 5] = 0",
          "np.add(a, 1, out=a)", "a.T[...] = 0", "v = a[1:]\n    v[...] = v", "a.real[...] = 1", "a.imag[...] = 1",
          "for k in range(len(a)):\n        a[k] = a[k] + 1", "if a.sum() > 0:\n        a[0] = 1"]  # fmt: skip


@pytest.mark.parametrize("statement", WRITES)
def test_read_only_arguments_are_not_written(statement: str) -> None:
    function = function_of(f"def f(a):\n    {statement}\n    return a * 2\n")
    compiled = tilewright.jit(function)
    for name in ("read-only", "c", "read-only", "read-only f", "c"):
        assert outcome(compiled, LAYOUTS[name]()) == outcome(function, LAYOUTS[name]()), name


@pytest.mark.parametrize(
    "view", ["a.imag", "np.imag(a)", "a.T.imag", "a[0, 0].imag", "a.sum(axis=0).imag", "(a * 1j).imag"]
)
def test_the_imaginary_part_of_real_numbers_is_read_only(view: str) -> None:
    for then in ("return v", "v[0] = 1\n    return v * 1", "return v + 1", "v += 1\n    return v"):
        function = function_of(f"def f(a):\n    v = {view}\n    {then}\n")
        assert outcome(tilewright.jit(function), LAYOUTS["c"]()) == outcome(function, LAYOUTS["c"]()), then


def test_views_of_no_dimensions_are_new_arrays() -> None:
    for text in ("a.T", "a.squeeze()", "a.ravel()", "a.reshape(())", "a[...]", "a.transpose()", "a.real", "a.conj()"):
        function = function_of(f"def f(a, x):\n    return {text}, x + 1\n")
        a, x = np.array(2.5), np.arange(700.0)
        got, expected = tilewright.jit(function)(a, x)[0], function(a, x)[0]
        assert (got is a, got.shape, np.shares_memory(got, a)) == (
            expected is a,
            expected.shape,
            np.shares_memory(expected, a),
        ), text


def doubled(a):
    return a * 2


def both(a):
    return a * 2, a + 1


def test_an_out_whose_elements_share_memory_is_refused() -> None:
    a = np.arange(600.0).reshape(20, 30)
    one_cell = np.lib.stride_tricks.as_strided(np.zeros(1), (20, 30), (0, 0))
    rows = np.lib.stride_tricks.as_strided(np.zeros(60), (20, 30), (8, 8))
    for out in (one_cell, rows):
        for function, outs in ((doubled, out), (both, (np.empty((20, 30)), out))):
            for f in (tilewright.jit(function), compiled_for(function, a)):
                message = (
                    f"{function.__name__}: out is float64[20, 30], whose elements share memory with each other. "
                    "Pass numpy.empty of that."
                )
                with pytest.raises(ValueError, match=re.escape(message)):
                    f(a, out=outs)


def compiled_for(function: Any, *args: Any) -> Any:
    f = tilewright.jit(function)
    f.for_args(*args)
    return f


@pytest.mark.parametrize(
    "view",
    [lambda a: a[:, :1], lambda a: a[::-2, 1::3], lambda a: a.T[1:, ::-1], lambda a: a[:1, ::5], lambda a: a[::7, :3]],
)
def test_what_is_called_sees_how_its_argument_lies(view: Any) -> None:
    seen = []

    def look(a: Any) -> Any:
        order = np.argsort(np.abs(a.strides), kind="stable").tolist()
        seen.append((a.flags.c_contiguous, a.flags.f_contiguous, order, [s > 0 for s in a.strides]))
        a[0] += 1
        return a.sum()

    def f(a: Any) -> Any:
        return look(a) * 2 + a.max()

    compiled = tilewright.jit(f)
    for _ in range(4):
        mine, theirs = view(BASE.copy()), view(BASE.copy())
        assert f(theirs) == compiled(mine)
        np.testing.assert_array_equal(mine, theirs)
    assert len(set(map(str, seen))) == 1
