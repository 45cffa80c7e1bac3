"""Loops, positions, sizes and branches that the data decide: the program answers as Python does, or says that NumPy has to."""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest
import trace_loops as loops
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import TraceError
from trace_cases import CheckFailed, check, close, run_program, same_bits, trace

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(0)
X, Y = RNG.random(100), RNG.random(100)
A = RNG.random((80, 80))
K = RNG.integers(-100, 100, 100)
BYTES = RNG.integers(0, 256, 100).astype(np.uint8)
ROWS = np.concatenate([[0], np.cumsum(RNG.integers(0, 5, 30))])
COLUMNS, VALUES = RNG.integers(0, 100, ROWS[-1]), RNG.random(ROWS[-1])
C = (RNG.random((5, 7)) * 4 - 2.5 + 1j * (RNG.random((5, 7)) * 2 - 1)).astype(np.complex64)
N = np.zeros((5, 7), int)
PAIRS = RNG.random((5, 7, 2)).astype(np.float32)
BOX = (-2.25, 0.75, -1.25, 1.25, 8, 6)
HORIZON = 2.0**40

CASES: list[tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = [
    # the tutorial
    (loops.step, (3, C, C.copy(), N, 2.0), [(4, C[:2], C[:2].copy(), N[:2], 1.0)]),
    (loops.mandelbrot, (*BOX, 100, loops.step, HORIZON), [(*BOX, 3, loops.step, HORIZON)]),
    (loops.step_2, (3, C, C.copy(), N, 2.0), []),
    (loops.mandelbrot_2, (*BOX, 20, loops.step_2, HORIZON), [(*BOX, 100, loops.step_2, HORIZON)]),
    (loops.step_3, (3, PAIRS, PAIRS * 0, N, 2.0), []),
    (loops.mandelbrot_3, (*BOX, 100, loops.step_3, HORIZON), []),
    (loops.step_4, (3, PAIRS, PAIRS * 0, N, 2.0, 10), [(0, PAIRS, PAIRS * 0, N, 2.0, 100)]),
    (loops.mandelbrot_4, (*BOX, 200, loops.step_4, HORIZON), [(*BOX, 1000, loops.step_4, HORIZON)]),
    (loops.visualize, (C, N, HORIZON), []),
    # arrays, zip, enumerate, reversed
    (loops.sums_rows, (A,), [(A[:5],)]),
    (loops.writes_rows, (A,), [(A[:5],)]),
    (loops.zipped, (X, Y), [(X, Y[:70])]),
    (loops.enumerated, (X, Y, A), []),
    (loops.backwards, (X,), []),
    (loops.backwards_range, (X,), [(X[:2],)]),
    # positions
    (loops.gathers, (X, K), [(X[:50], K)]),
    (loops.gathers_pairs, (A, K), []),
    (loops.gathers_columns, (A, K), []),
    (loops.gathers_of_row, (A, K), []),
    (loops.gathers_one_by_one, (X, K), [(X[:99], K)]),
    (loops.writes_the_indices, (X, K), [(X[:90], K)]),
    (loops.histogram, (BYTES,), []),
    (loops.jumps, (X,), [(X * 1e300,)]),
    (loops.follows_links, (K,), [(K * 5,)]),
    (loops.halves_rows, (A, K), []),
    (loops.swaps, (X, K), []),
    (loops.negative_positions, (X,), [(X[:3],)]),
    (loops.circular, (X,), [(X[:6],)]),
    # sizes
    (loops.spmv, (ROWS, COLUMNS, VALUES, X), [(ROWS, COLUMNS + 60, VALUES, X), (ROWS[:3], COLUMNS, VALUES, X)]),
    (loops.sparse_by_hand, (ROWS, COLUMNS, VALUES, X), [(ROWS, COLUMNS + 60, VALUES, X)]),
    (loops.slices_by_data, (X, K), [(X, K * 7)]),
    (loops.windows, (X,), [(X[:5],)]),
    (loops.windows_that_clamp, (X,), [(X[:5],)]),
    (loops.counting_sort, (BYTES,), []),
    # Python numbers
    (loops.crc16, (BYTES,), [(BYTES[:3],), (BYTES, 0x1021)]),
    (loops.overflow, (70,), [(15,), (19,), (20,), (100,)]),
    (loops.doubling, (X, 70), [(X, n) for n in range(58, 66)]),
    (loops.collatz, (27,), [(2**60 + 1,), (97,)]),
    (loops.hashing, (BYTES,), []),
    (loops.popcount, (BYTES,), []),
    (loops.monte_carlo_pi, (100, X, Y), [(5, X, Y)]),
    (loops.divides, (X, 100), [(X * 0, 100), (X, 3)]),
    (loops.mixes_numbers, (X, 70, 0.5), [(X, 3, 2.0)]),
    (loops.minmax, (X,), [(np.array([1.0, np.nan, -1.0]),)]),
    (loops.sum_of_floats, (X,), []),
    (loops.largest_and_where, (X,), [(X[::-1],)]),
    (loops.carries_a_tuple, (X,), [(X[:2],)]),
    # leaving
    (loops.insertion, (X,), [(X[:4],)]),
    (loops.bisect, (np.sort(X), 0.3), [(np.sort(X), 2.0)]),
    (loops.first_above, (X,), [(X / 2,)]),
    (loops.first_in_matrix, (A,), [(A / 2,), (A[:3, :9] + 0.5,)]),
    (loops.returns_arrays, (X,), [(X * 100,)]),
    (loops.leaves_out_in_the_middle, (X, 80), [(X / 2, 40)]),
    (loops.assigns_in_the_condition, (X,), [(X * 100,)]),
    (loops.breaks_short_loops, (A,), [(A / 2,), (A[::-1],)]),
    (loops.returns_nothing, (X, Y), []),
    (loops.keeps_two_views, (A,), [(A[:6, :7],)]),
    (loops.calls_a_closure, (X,), []),
]
# Sums of products and of rows: BLAS and NumPy add in another order.
ROUNDED = {"sums_rows", "spmv", "slices_by_data", "windows", "windows_that_clamp", "gathers_columns"}


@pytest.mark.parametrize("case", CASES, ids=[case[0].__name__ for case in CASES])
def test_answers_as_python(case: Any) -> None:
    function, args, others = case
    traced = check(function, *args, others=others, compare=close if function.__name__ in ROUNDED else same_bits)
    assert traced.fallback_reason is None


@pytest.mark.parametrize(
    ("function", "args", "wrong"),
    [
        (loops.spmv, (ROWS, COLUMNS, VALUES, X), (ROWS, COLUMNS + 60, VALUES, X)),
        (loops.gathers, (X, K), (X, K * 10)),
        (loops.follows_links, (K,), (K * 5,)),
        (loops.jumps, (X,), (X * 1e300,)),
        (loops.divides, (X, 100), (X * 0, 100)),
        (loops.collatz, (27,), (2**60 + 1,)),
        (loops.doubling, (X, 70), (X, 64)),
    ],
)
def test_what_numpy_raises_fails_a_check(function: Any, args: Any, wrong: Any) -> None:
    traced = trace(function, args)
    assert traced.matches(wrong)
    with pytest.raises(CheckFailed, match=r"line \d+: |read"):
        run_program(traced, wrong)


def test_a_check_of_indices_that_no_iteration_writes_is_before_the_loop() -> None:
    lines = trace(loops.spmv, (ROWS, COLUMNS, VALUES, X)).program_text.splitlines()
    loop = next(k for k, line in enumerate(lines) if " = for " in line)
    (checked,) = [line.split()[1] for line in lines if line.startswith("check ")]
    assert any(line.startswith(f"{checked}: ") for line in lines[:loop]) and "checked" not in lines[loop]
    text = trace(loops.writes_the_indices, (X, K)).program_text
    assert re.search(r"carry \(checked", text) and "check checked" in text


def test_text_of_returns_and_sizes() -> None:
    assert trace(loops.returns_nothing, (X, Y)).program_text.splitlines()[-2:] == ["write x = x_2", "return none"]
    assert re.search(r"return int\(\w+\)$", trace(loops.crc16, (BYTES,)).program_text.strip())
    assert re.search(
        r"\w+: size = read\(%?\w+\) \{min=0, max=A_col.0\} @\d+",
        trace(loops.spmv, (ROWS, COLUMNS, VALUES, X)).program_text,
    )


@pytest.mark.parametrize("iterations", [20, 20_000])
def test_one_program_for_every_number_of_iterations(iterations: int) -> None:
    digest = trace(loops.mandelbrot, (*BOX, iterations, loops.step, HORIZON)).digest
    assert digest == trace(loops.mandelbrot, (*BOX, 200, loops.step, HORIZON)).digest


# -- random functions of data -------------------------------------------------------------------------


@st.composite
def programs(draw: Any) -> str:
    """A function of x (n), a (n, n), k (integers) and m: positions, slices and limits by data, Python ints, in place."""
    pick = lambda *options: draw(st.sampled_from(options))  # noqa: E731
    integers = ["i", "c", "k[i]", "k[i] % 5", "int(x[i] * 4)", "i // 2", "m", "-i"]

    def integer() -> str:
        one, two = pick(*integers), pick(*integers)
        return pick(
            one, f"{one} + {two}", f"({one}) % 3", f"({one}) & 3", f"({one}) ^ 1", f"min({one}, {two})", f"~({one}) & 1",
            f"({one}) >> 1", f"({one}) - 1",
        )  # fmt: skip

    def number() -> str:
        return pick(
            "s", "x[i]", f"x[{integer()}]", f"y[{integer()}]", f"x[{integer()}:].sum()", f"a[{integer()}, i]", "v", "0.5",
            f"a[i, {integer()}:{integer()}].sum()", f"float({integer()})", "x[k].sum()", f"a[k, {integer()}].max()",
        )  # fmt: skip

    def statement(pad: str, depth: int) -> list[str]:
        kind = draw(st.integers(0, 11 if depth < 2 else 7))
        if kind == 0:
            return [f"{pad}y[{integer()}] = {number()} * 0.25"]
        if kind == 1:
            return [f"{pad}s = s * 0.5 + {number()}"]
        if kind == 2:
            return [f"{pad}c = {integer()}"]
        if kind == 3:
            return [f"{pad}b[{integer()}, {integer()}:] += {number()}"]
        if kind == 4:
            return [f"{pad}c {pick('+=', '-=', '^=', '&=', '|=')} {integer()}"]
        if kind == 5:
            return [f"{pad}h[{integer()}] += {integer()}"]
        if kind == 6:
            return [f"{pad}s, v = v, s + {number()}"]
        if kind == 7:
            return [f"{pad}t = (t[1], t[0] + {number()})"]
        inner = block(pad + "    ", depth + 1)
        if kind == 8:
            leave = pick("", "", "continue", "break", "return y, s, c")
            return [f"{pad}if {number()} > 0.4:", *inner, *([f"{pad}    {leave}"] if leave else [])]
        if kind == 9:
            other = block(pad + "    ", depth + 1)
            return [f"{pad}if {integer()} > 1:", *inner, f"{pad}else:", *other]
        if kind == 10:
            return [f"{pad}for v in x[{integer()}:]:", *inner]
        return [f"{pad}for j in range({integer()}, {pick('m', 'len(x)', integer())}):", *inner]

    def block(pad: str, depth: int) -> list[str]:
        return [line for _ in range(draw(st.integers(1, 3))) for line in statement(pad, depth)]

    lines = ["def f(x, a, k, m):", "    y = x.copy()", "    b = a.copy()", "    h = np.zeros(4, np.int64)"]
    lines += ["    s, v, c = 0.0, 1.0, 0", "    t = (0.0, 1.0)"]
    head = pick("for i in range(len(x)):", "for i, v in enumerate(x):", "for i in range(len(x) - 1, 0, -1):")
    lines += [f"    {head}", *block("        ", 0), "    b *= 0.5", "    x[:] = y + t[0] * 0.1", "    h[0] += c"]
    return "\n".join([*lines, "    return y, s, c"])


TRACED = [0, 0, 0]


@settings(max_examples=examples(50), deadline=None, derandomize=True)
@given(programs(), st.integers(4, 7), st.integers(2, 4))
def test_random_functions_of_data_answer_as_python(source: str, n: int, m: int) -> None:
    name = f"<random data {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    rng = np.random.default_rng(n * 10 + m)
    calls = [
        (rng.random(q), rng.random((q, q)), rng.integers(-q, q, q + 2), p) for q, p in ((n, m), (n + 3, m + 1), (9, 2))
    ]
    TRACED[0] += 1
    try:
        traced = trace(scope["f"], calls[0])
    except (TraceError, IndexError, ValueError, ZeroDivisionError):
        return
    TRACED[1] += 1
    for call in calls:
        if not traced.matches(call):
            continue
        mine, theirs = ([np.copy(part) if isinstance(part, np.ndarray) else part for part in call] for _ in range(2))
        try:
            with np.errstate(all="ignore"):
                got = run_program(traced, mine)
        except CheckFailed:
            same_bits(tuple(mine[:3]), call[:3])
            continue
        TRACED[2] += 1
        with np.errstate(all="ignore"):
            expected = scope["f"](*theirs)
        # Whether a number is Python's or NumPy's may differ from iteration to iteration; a program has one of them.
        same_bits(*(tuple(np.asarray(part)[()] for part in given) for given in (got, expected)))
        same_bits(tuple(mine[:3]), tuple(theirs[:3]))


def test_most_random_functions_of_data_are_traced_and_answered() -> None:
    assert TRACED[1] > TRACED[0] * 0.5 and TRACED[2] > TRACED[0] * 0.3, TRACED
