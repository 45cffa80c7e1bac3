"""Loops that stay loops, and branches on data: the program answers as Python does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import TraceError
from tilewright.symbolic import trace_limits
from trace_cases import check, trace

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(0)
X = RNG.random(100)
A = RNG.random((80, 80))


@pytest.fixture(autouse=True)
def every_loop_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 0)


def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


def repeated(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
    return x


def stencil(x):
    y = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
    return y


def recurrence(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1] * 0.5
    return y


def backwards(x):
    y = x.copy()
    for i in range(x.shape[0] - 2, -1, -1):
        y[i] = y[i + 1] * 0.3 + x[i]
    return y


def strides(x):
    y = x.copy()
    for i in range(3, x.shape[0] - 1, 5):
        y[i - 2 : i + 1] = x[i - 3 : i].sum()
    return y


def triangle(a):
    c = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        acc = 0.0
        for j in range(i):
            acc += a[i, j] * c[j]
        c[i] = a[i, i] - acc
    return c


def growing_slices(a):
    b = a.copy()
    for i in range(1, a.shape[0]):
        b[i, :i] -= a[i - 1, :i] * b[i - 1, i]
        b[i] += b[i - 1]
    return b


def first_is_special(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        if i == 0:
            y[i] = x[i]
        else:
            y[i] = x[i] - x[i - 1]
    return y


def even_and_odd(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if i % 2 else -x[i]
    return y


def counted(x):
    c = 0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            c += 1
        else:
            c -= 1
    return np.zeros(3) + c


def halved_until_small(x):
    n = 0
    while np.abs(x).max() > 0.01:
        x = x * 0.5
        n += 1
    return x + n


def last_values(x):
    for i in range(x.shape[0]):
        v = x[i] * 2
    return v, x[i]


def broken_off(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.95:
            break
        s += x[i]
    else:
        s = -1.0
    return s * np.ones(2)


def broken_off_deep_inside(x):
    n = 0
    v = 0.0
    for i in range(x.shape[0]):
        if i > 3:
            if x[i] > 0.9:
                break
            n += 2
        n += 1
        v = x[i]
    return x + n, v


def goes_on(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.5 and x[i] < 0.8:
            continue
        if 0.1 < x[i] < 0.2 or not x[i] < 0.9:
            s -= 1.0
            continue
        s += x[i]
    return s * np.ones(2)


def newton(x):
    z = x[0]
    n = 0
    while True:
        better = z - (z * z - 2) / (2 * z)
        n += 1
        if abs(better - z) < 1e-12 or n > 50:
            break
        z = better
    return np.ones(2) * z + n


def two_ends(x):
    i = 0
    s = 0.0
    while i < 50 and s < 20:
        s = s + x.max()
        i = i + 1
        if s > 3.3:
            break
    else:
        s = 0.0
    return x * s + i


def several_returns(x):
    if x.sum() > 1000:
        return x * 2
    y = x + 1
    if y[0] > 1.5:
        return y
    return y * 3


def conditional(x):
    return np.ones(3) * (x[0] if x[1] > x[0] else x[1] + 2)


def swapped(x):
    a, b = x, x * 2
    for _ in range(70):
        a, b = b, a + 1
    return a, b


def set_one(y, i):
    y[i] = y[i - 1] * 0.5 + 1


def in_a_helper(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        set_one(y, i)
    return y


def weak_counter(x):
    k = 1
    y = x.astype(np.float32)
    for _ in range(70):
        k = k + 2
        y = y * k + np.float32(0.5)
        y = y / (k + 1)
    return y


def views_follow(x):
    y = x.copy()
    middle = y[1:-1]
    for i in range(70):
        middle[i] = y[i] + 1
        y[0] = middle.sum()
    return y, middle * 2


def whole_rows(a):
    b = a.copy()
    for i in range(1, a.shape[0]):
        row = b[i]
        row[:] = row - b[i - 1]
        row += 1
    return b


def returns_inside(x):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            return x[i]
    return x[0]


def power_iteration(a, v, n):
    for _ in range(n):
        v = np.sum(a * v, axis=1)
        v = v / np.sqrt(np.sum(v * v))
    return v


CASES: list[tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = [
    (total, (X,), [(X[:1],), (X[::-3],)]),
    (repeated, (X, 70), [(X, 1), (X[:3], 200)]),
    (stencil, (X,), [(X[:3],), (X[:40],)]),
    (recurrence, (X,), [(X[:2],)]),
    (backwards, (X,), [(X[:7],)]),
    (strides, (X,), [(X[:31],)]),
    (triangle, (A,), [(A[:10],)]),
    (growing_slices, (A,), [(A[:10],)]),
    (first_is_special, (X,), [(X[:2],)]),
    (even_and_odd, (X,), [(X[:9],)]),
    (counted, (X,), [(-X,)]),
    (halved_until_small, (X,), [(X * 1e-9,), (X * 1e9,)]),
    (last_values, (X,), [(X[:1],)]),
    (broken_off, (X,), [(X / 2,)]),
    (broken_off_deep_inside, (X,), [(X / 2,), (X[:5],)]),
    (goes_on, (X,), [(X[::-1],)]),
    (newton, (X,), [(X * 100,)]),
    (two_ends, (X,), [(X * 1e-3,), (X * 100,)]),
    (several_returns, (X,), [(X * 100,), (X - 1,)]),
    (conditional, (X,), [(X[::-1],)]),
    (swapped, (X,), []),
    (in_a_helper, (X,), [(X[:2],)]),
    (weak_counter, (X,), []),
    (views_follow, (X,), []),
    (whole_rows, (A,), [(A[:3],)]),
    (returns_inside, (X,), [(X / 2,)]),
    (power_iteration, (A, X[:80], 5), [(A[:3, :3], X[:3], 70)]),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0].__name__ for case in CASES])
def test_answers_as_python(case: Any) -> None:
    function, args, others = case
    traced = check(function, *args, others=others)
    assert traced.fallback_reason is None
    # It is a loop or a branch of the program, and no unrolled one.
    assert re.search(r"= (for|while|if) ", traced.program_text)
    assert len(traced.program_text.splitlines()) < 60


def test_one_program_serves_every_number_of_iterations() -> None:
    assert trace(repeated, (X, 70)).digest == trace(repeated, (X, 20_000)).digest
    assert trace(repeated, (X, 70)).matches((X, 3))


def test_a_shape_that_an_iteration_keeps_because_two_sizes_are_equal_is_a_guard() -> None:
    traced = trace(power_iteration, (A, X[:80], 5))
    assert "arg a: float64[a.0, a.0]" in traced.program_text
    assert not traced.matches((A[:, :70], X[:70], 5))  # no square: NumPy raises in the second iteration


def test_reductions_are_unrolled_as_far_as_they_compile_in_useful_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 64)

    def halves(x, n):
        for _ in range(n):
            x = x[: len(x) // 2] / x.max()
        return x

    few, many = np.arange(1024.0), np.ones(1 << 17)
    assert trace(halves, (few, 9)).program_text.count("= max(") == 9
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_REDUCTIONS", 10)
    assert "callee=" in trace(halves, (many, 11)).program_text  # the array is Python's from then on


def test_kernels_between_calls_are_unrolled_as_far_as_they_compile_in_useful_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 64)

    def filtered(x, n):
        for k in range(n):
            t = np.arange(8.0 + k)
            wave = np.exp(-t * t / (k + 1.5)) * np.cos(t * 3 + k) * (1 - t / (k + 9)) + np.sin(t) / (t + 1)
            x = np.sort(np.convolve(x, wave)[: len(x) - 1])
        return x

    assert trace(filtered, (X, 5)).program_text.count("numpy.sort") == 5
    with pytest.raises(TraceError, match="the value of k"):  # the loop is Python's, which calls compiled parts
        trace(filtered, (X, 30))


def test_what_nobody_reads_is_not_carried() -> None:
    def wasteful(x):
        s = t = 0.0
        for i in range(x.shape[0]):
            s += x[i]
            t += s * 2
            u = t + 1  # noqa: F841
        return s

    assert trace(wasteful, (X,)).program_text.count("carry") == 1
    assert "t:" not in trace(wasteful, (X,)).program_text


def sometimes_set(x):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            v = x[i]
    return v


def another_dtype_each_time(x):
    y = np.zeros(3, dtype=np.float32)
    for i in range(x.shape[0]):
        y = y + x[i] if y.dtype == np.float32 else (y + x[i]).astype(np.float32)
    return y


def takes_the_index(x):
    names = ["a", "b"]
    for i in range(x.shape[0]):
        x = x + len(names[i % 2])
    return x


def written_and_rebound(x):
    y = x.copy()
    z = y
    while y[0] < 100:
        y[0] += 1
        y = y * 2
    return z


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (written_and_rebound, "loops: y, which an iteration writes into and assigns anew"),
        (sometimes_set, "loops: v after an if on data; both branches must give"),
        (another_dtype_each_time, "loops: y, which an iteration begins as float64[3] and ends as float32[3]"),
        (takes_the_index, "loops: the value of i while tracing; it is the index of a loop"),
    ],
)
def test_refusals_name_line_and_reason(function: Any, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        trace(function, (X,))
    assert text in str(caught.value) and f"in {function.__name__}: " in str(caught.value)


# -- random loops ---------------------------------------------------------------------------------


@st.composite
def programs(draw: Any) -> str:
    """A function of x (n), a (n, n) and k: nested loops, slices and branches, in place."""
    lines = ["def f(x, a, k):", "    y = x.copy()", "    b = a.copy()", "    s = 0.0", "    c = 0"]
    pick = lambda *options: draw(st.sampled_from(options))  # noqa: E731

    def element(index: str) -> str:
        at = pick(index, f"{index} - 1", f"{index} + 1")
        return pick(f"x[{at}]", f"y[{at}]", f"b[{at}, {index}]", f"b[{index}].sum()", "s", f"{index}", "c", "0.5")

    def statement(index: str, depth: int, pad: str) -> list[str]:
        kind = draw(st.integers(0, 9 if depth < 2 else 6))
        one, two = element(index), element(index)
        if kind == 0:
            return [f"{pad}y[{index}] = {one} * 0.25 + {two}"]
        if kind == 1:
            return [f"{pad}s = s * 0.5 + {one}"]
        if kind == 2:
            return [f"{pad}b[{index}, 1:-1] += {one} * y[{pick('1:-1', ':-2', '2:')}]"]
        if kind == 3:
            return [f"{pad}b[{index}, :{index}] *= {pick('0.5', 's * 0.01', f'y[:{index}]')}"]
        if kind == 4:
            return [f"{pad}c {pick('+', '-')}= 1"]
        if kind == 5:
            return [f"{pad}y[{index}:{index} + 1] -= {one}"]
        if kind == 6:
            return [f"{pad}t = {one} - {two}", f"{pad}y[{index}] = t * {pick('0.5', 't * 0.01')}"]
        if kind == 7:
            test = pick(f"{one} > 0.3", f"{index} > 2", f"{index} % 3 == 1", f"{one} < 1 and {two} > 0")
            body = block(index, depth + 1, pad + "    ")
            if pick(True, False):
                body.append(f"{pad}    {pick('continue', 'break')}")
            other = [f"{pad}else:", *block(index, depth + 1, pad + "    ")] if pick(True, False) else []
            return [f"{pad}if {test}:", *body, *other]
        inner = f"j{depth}"
        limits = pick(f"1, {index}", "1, x.shape[0] - 1", "x.shape[0] - 2, 0, -2", "1, min(k, x.shape[0] - 1)")
        return [f"{pad}for {inner} in range({limits}):", *block(inner, depth + 1, pad + "    ")]

    def block(index: str, depth: int, pad: str) -> list[str]:
        return [line for _ in range(draw(st.integers(1, 3))) for line in statement(index, depth, pad)]

    lines += ["    for i in range(1, x.shape[0] - 1):", *block("i", 0, "        ")]
    if draw(st.booleans()):
        lines += ["    while np.abs(s) > 1e-3 and c < 100:", "        s = s * 0.5", "        c += 1"]
    return "\n".join([*lines, "    return y, b, s + np.zeros(1), c + np.zeros(1)"])


COMPILED = [0, 0]


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(programs(), st.integers(4, 9), st.integers(2, 6))
def test_random_loops_answer_as_python(source: str, n: int, k: int) -> None:
    import linecache

    name = f"<random loop {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    rng = np.random.default_rng(n * 10 + k)
    calls = [(rng.random(m), rng.random((m, m)), q) for m, q in ((n, k), (n + 3, k + 1), (4, 2))]
    COMPILED[0] += 1
    try:
        check(scope["f"], *calls[0], others=calls[1:])
    except TraceError:
        return
    COMPILED[1] += 1


def test_most_random_loops_are_traced() -> None:
    assert COMPILED[1] > COMPILED[0] * 0.8
