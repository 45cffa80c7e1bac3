"""Random loop programs: what the trace makes of them answers as Python does, and never breaks its own rules.

`TILEWRIGHT_RANDOM_LOOPS=20000 pytest tests/python/test_random_loops.py` tries so many; with `TILEWRIGHT_RANDOM_SEED=7` others than usual.
"""

from __future__ import annotations

import linecache
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st
from random_loops import LoopWriter, arguments
from tilewright import TraceError, TranslateError
from tilewright.symbolic import trace_limits
from tilewright.trace import trace
from trace_cases import CheckFailed, run_program, same_bits, well_formed

pytestmark = pytest.mark.compile

TRACED = int(os.environ.get("TILEWRIGHT_RANDOM_LOOPS", "0")) or 5 * examples(50)
COMPILED = max(TRACED // 20, 1)
SEED = int(os.environ.get("TILEWRIGHT_RANDOM_SEED", "0"))
# Without the phase that explains: it runs a failing program again and again.
PHASES = [Phase.explicit, Phase.generate, Phase.shrink]
COMMON = settings(deadline=None, database=None, phases=PHASES, suppress_health_check=list(HealthCheck))
FOUND: Counter[str] = Counter()


class Drawn:
    """Choices of Hypothesis, which shrinks them."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(_integers(low, high))

    def pick(self, sequence: Sequence[Any]) -> Any:
        return sequence[self._draw(_integers(0, len(sequence) - 1))]


_integers = lru_cache(maxsize=None)(st.integers)


@st.composite
def programs(draw: Any) -> str:
    return LoopWriter(Drawn(draw)).source()


def function_of(source: str) -> Any:
    name = f"<random loops {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


def near(got: Any, expected: Any) -> None:
    """Sums are in another order, and a number is Python's or NumPy's in all iterations (trace/README.md)."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            near(a, b)
        return
    a, b = np.asarray(got), np.asarray(expected)
    assert a.shape == b.shape and (a.dtype == b.dtype or not isinstance(expected, np.ndarray))
    np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=1e-7, atol=1e-9)


def copied(call: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(np.copy(part) if isinstance(part, np.ndarray) else part for part in call)


def outcome(function: Any, call: Sequence[Any]) -> Any:
    """What Python gives for a call, and what it leaves in the arguments; the error that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*call), [part for part in call if isinstance(part, np.ndarray)]
        except Exception as error:  # noqa: BLE001  (whatever Python raises)
            return error


def trace_answers(source: str, chosen: int) -> None:
    function = function_of(source)
    calls = [arguments(n, chosen) for n in (5, 8, 3)]
    FOUND["programs"] += 1
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            traced = trace(function, copied(calls[0]))
        except TraceError:
            return
        except Exception:
            # The function's own error, or another one that it comes to first.
            assert isinstance(outcome(function, copied(calls[0])), Exception)
            return
        if not traced.program_text:
            return
        well_formed(traced.program_text)
        FOUND["traced"] += 1
        for call in calls:
            mine, theirs = copied(call), copied(call)
            if not traced.matches(mine):
                continue
            expected = outcome(function, theirs)
            try:
                got = run_program(traced, mine), [part for part in mine if isinstance(part, np.ndarray)]
            except CheckFailed:
                same_bits([*mine], [*call])
                continue
            assert not isinstance(expected, Exception), f"the program answers, and Python raises {expected!r}"
            near(got, expected)
            FOUND["answers"] += 1


# What it has found.
SWAPPED_ON_ONE_WAY = """def f(x, a, k, p, q):
    y = x.copy()
    z = x * 0.5
    if z.mean() > 0.4:
        y, z = z, y
    else:
        y[1:-1] = y[:-2] + z[1:-1]
    return y, z
"""
SEEN_THROUGH_A_VIEW = """def f(x, a, k, p, q):
    y = x.copy()
    z = x * 0.5
    w = y[1:]
    for i0 in range(1, len(x) - 1):
        y, z = z, y
    w += 0.5
    return y, z
"""
VIEW_OF_WHAT_AN_ITERATION_MAKES = """def f(x, a, k, p, q):
    z = x
    w = z[1:]
    for v in x:
        z = x * 0.5 + v
        w = z[1:]
    w *= 0.5
    return z, w + 0
"""
VIEW_OF_WHAT_AN_ITERATION_WRITES = """def f(x, a, k, p, q):
    z = x * 0.5
    for i0 in range(len(x)):
        w = z[1:]
        w += 0.5
    w *= 0.5
    return z, w + 0
"""
STARTS_AS_A_VIEW = """def f(x, a, k, p, q):
    y = x.copy()
    z = x * 0.5
    w = y[1:]
    t = 0.0
    for i0 in range(0, len(x), 2):
        t = t + w.sum()
        y[0] = t
        w = z[1:]
    return y, t
"""
LEFT_BY_AN_INNER_LOOP = """def f(x, a, k, p, q):
    for v in x:
        for v, r in zip(x, a[1:]):
            u = v + r[0]
    return v, u
"""
CHANGED_IN_AN_INNER_LOOP = """def f(x, a, k, p, q):
    y = x.copy()
    z = x * 0.5
    t = 0.0
    for i0 in range(len(x)):
        for i1 in range(1, len(x) - 1):
            z[i1] = y[i1] - z[i1]
            t = t + z.sum()
    else:
        y, z = z, y
    return y, z, t
"""
UNSET_ON_THE_OTHER_WAY = """def f(x, a, k, p, q):
    s = 0.0
    if x[0] > 2:
        s = s + u
        u = 1.0
    return s, x.sum()
"""
CHOSEN_AND_WRITTEN = """def f(x, a, k, p, q):
    y = x.copy()
    z = x * 0.5
    w = y[1:]
    for i0, v in enumerate(x):
        y, z = z, y
    for i1 in range(len(x)):
        e = y + z
        w += 0.5
        y, z = z, y
    return e, z
"""
AS_LONG_AS_DATA_SAY = """def f(x, a, k, p, q):
    b = a.copy()
    b[0, int(x[0] * 4):] += x
    return b, x.sum()
"""
TRIED_AS_A_CONDITION = """def f(x, a, k, p, q):
    y = x.copy()
    z = x * 0.5
    for v, r in zip(x, y[1:]):
        y[0] = 1.0
    n0 = 0
    while z.mean() > 0.2 and x[k].sum() < 2 and n0 < p:
        z[0] = y[0]
        n0 += 1
    return z, n0
"""
FOUND_BEFORE = [
    SWAPPED_ON_ONE_WAY, SEEN_THROUGH_A_VIEW, VIEW_OF_WHAT_AN_ITERATION_MAKES, VIEW_OF_WHAT_AN_ITERATION_WRITES, STARTS_AS_A_VIEW,
    LEFT_BY_AN_INNER_LOOP, CHANGED_IN_AN_INNER_LOOP, UNSET_ON_THE_OTHER_WAY, CHOSEN_AND_WRITTEN, AS_LONG_AS_DATA_SAY,
    TRIED_AS_A_CONDITION,
]  # fmt: skip


@pytest.mark.parametrize("source", FOUND_BEFORE)
def test_what_was_found(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for unrolled in (0, 64):
        monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", unrolled)
        for chosen in range(12):
            trace_answers(source, chosen)


@pytest.mark.parametrize("unrolled", [0, 64])
def test_random_loops_answer_as_python(unrolled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", unrolled)
    monkeypatch.setattr(trace_limits, "MAX_SHORT_ITERATIONS", min(unrolled, 8))

    @seed(SEED + unrolled)
    @settings(COMMON, max_examples=max(TRACED // 2, 1))
    @given(source=programs(), chosen=st.integers(0, 1000))
    def each(source: str, chosen: int) -> None:
        trace_answers(source, chosen)

    each()


def test_enough_random_loops_are_traced_to_say_something() -> None:
    if not FOUND["programs"]:
        pytest.skip("they did not run")
    assert FOUND["traced"] > FOUND["programs"] * 0.25 and FOUND["answers"] > FOUND["traced"], FOUND


def test_some_random_loops_are_compiled() -> None:

    @seed(SEED)
    @settings(COMMON, max_examples=COMPILED)
    @given(source=programs(), chosen=st.integers(0, 1000))
    @example(source=SWAPPED_ON_ONE_WAY, chosen=0)
    @example(source=CHANGED_IN_AN_INNER_LOOP, chosen=1)
    def each(source: str, chosen: int) -> None:
        function = function_of(source)
        jitted = tilewright.jit(function, strict=True)
        for n in (5, 8):
            mine, theirs = arguments(n, chosen), arguments(n, chosen)
            expected, got = outcome(function, theirs), outcome(jitted, mine)
            if isinstance(got, (TraceError, TranslateError)):
                return
            if isinstance(expected, Exception) or isinstance(got, Exception):
                assert isinstance(expected, Exception) and isinstance(got, Exception), f"{got!r}, not {expected!r}"
                continue
            near(got, expected)

    each()
