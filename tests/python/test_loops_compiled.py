"""Functions with loops, in-place writes and positions that the data decide, compiled: as NumPy runs them, arguments included."""

from __future__ import annotations

import contextlib
import copy
import linecache
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import test_trace_data as data_cases
import test_trace_loops as loop_cases
import tilewright
import trace_loops as loops
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import Error
from tilewright.symbolic import trace_limits
from trace_cases import close, same_bits

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(7)
# Of sums of products the order is NumPy's own, and elementary functions are as exact as NumPy's, but not the same.
ROUNDED = {*data_cases.ROUNDED, "power_iteration", "sparse_by_hand", "writes_rows", "halved_until_small", "newton"}
SINGLE = {"mandelbrot", "mandelbrot_2", "mandelbrot_3", "mandelbrot_4", "step", "step_2", "visualize"}
# Divergent orbits reach infinity and NaN by other roundings.
BOUNDED = 1e30


def outcome(function: Any, call: Sequence[Any]) -> tuple[Any, type[BaseException] | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*call), None
        except (IndexError, ValueError, ZeroDivisionError, OverflowError) as error:
            return None, type(error)


def compare(got: Any, expected: Any, rounded_in: Any = None) -> None:
    """Bit for bit, or as close as sums in another order are."""
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            compare(one, other, rounded_in)
    elif rounded_in is not None and isinstance(expected, (np.ndarray, np.generic)) and expected.dtype.kind in "fc":
        known = np.isfinite(expected) & (np.abs(expected) < BOUNDED)
        close(np.asarray(got)[known], np.asarray(expected)[known], rounded_in)
    else:
        same_bits(got, expected)


def check_compiled(function: Any, calls: Sequence[Sequence[Any]], rounded_in: Any = None) -> bool:
    """Each call twice: the one that compiles, and one that finds the plan."""
    jitted = tilewright.jit(function, strict=True)
    for call in [one for one in calls for _ in range(2)]:
        mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
        (got, my_error), (expected, their_error) = outcome(jitted, mine), outcome(function, theirs)
        assert my_error is their_error
        compare(got, expected, rounded_in)
        arrays = [[a for a in call if isinstance(a, np.ndarray)] for call in (mine, theirs)]
        compare(*arrays, rounded_in)
    # Nothing is, where the first iteration of each call raises.
    return bool(jitted.specializations) and all(one.versions for one in jitted.specializations)


def rounded_in(function: Any) -> Any:
    return np.float32 if function.__name__ in SINGLE else np.float64 if function.__name__ in ROUNDED else None


@pytest.mark.parametrize("case", data_cases.CASES, ids=[case[0].__name__ for case in data_cases.CASES])
def test_answers_as_numpy(case: Any) -> None:
    function, args, others = case
    assert check_compiled(function, [args, *others], rounded_in(function))


@pytest.mark.parametrize("case", loop_cases.CASES, ids=[case[0].__name__ for case in loop_cases.CASES])
def test_loops_that_stay_answer_as_numpy(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 0)
    function, args, others = case
    assert check_compiled(function, [args, *others], rounded_in(function))


# -- what NumPy runs ----------------------------------------------------------------------------------


def gathers_and_writes(x: Any, k: Any) -> Any:
    x *= 2
    y = x[k] + 1
    x[0] = y.sum()
    return y


def gathers_in_a_loop(x: Any, k: Any) -> Any:
    for i in range(k.shape[0]):
        x[i] = x[k[i]] + 1
        k[i] = k[i] // 2
    return x


@pytest.mark.parametrize("function", [gathers_and_writes, gathers_in_a_loop])
def test_an_index_out_of_bounds_is_numpys_error_and_nothing_was_written_before(function: Any) -> None:
    jitted = tilewright.jit(function, strict=True)
    x, k = RNG.random(20), RNG.integers(-20, 20, 10)
    compare(jitted(x.copy(), k.copy()), function(x.copy(), k.copy()))
    wrong = k.copy()
    wrong[7] = 20
    mine, theirs = x.copy(), x.copy()
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        jitted(mine, wrong.copy())
    with pytest.raises(IndexError):
        function(theirs, wrong.copy())
    same_bits(mine, theirs)


@settings(max_examples=examples(12), deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 9), st.integers(0, 2**32 - 1), st.sampled_from([1, 1, 1, 2]))
def test_gathers_at_any_position(n: int, m: int, seed: int, reach: int) -> None:
    rng = np.random.default_rng(seed)
    call = (rng.random(n), rng.integers(-n * reach, n * reach, m))
    mine, theirs = outcome(GATHERS, call), outcome(loops.gathers, call)
    assert mine[1] is theirs[1]
    compare(mine[0], theirs[0])


GATHERS = tilewright.jit(loops.gathers, strict=True)


def test_loops_without_iterations_that_write_nothing() -> None:
    def f(x):
        for i in range(2, x.shape[0] - 2):
            for j in range(3, x.shape[1] - 3):
                x[i, j] = x[i, j] + 1.0

    compiled = tilewright.jit(strict=True)(f)
    for shape in ((8, 9), (4, 6), (5, 6), (2, 2)):
        x = np.ones(shape)
        expected = x.copy()
        compiled(x)
        f(expected)
        np.testing.assert_array_equal(x, expected)


def _pairs(b1, b2):
    if b1 + b2 == 3:
        return 1
    else:
        return 0


def _folded(n, seq):
    """Nussinov's algorithm, as NPBench has it: the first iteration of the outer loop has none of the inner one."""
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + _pairs(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@pytest.mark.parametrize("first", (17, 0, 2))
def test_an_index_of_a_loop_whose_first_run_has_no_iteration_is_in_bounds(first: int) -> None:
    compiled = tilewright.jit(_folded, strict=True)
    for n in (first, 0, 1, 2, 3, 18):
        seq = np.random.default_rng(n).integers(0, 4, n).astype(np.int32)
        np.testing.assert_array_equal(compiled(n, seq), _folded(n, seq))


def test_python_numbers_are_python_numbers() -> None:
    jitted = tilewright.jit(loops.mixes_numbers, strict=True)
    call = (RNG.random(100), 70, 0.5)
    compare(jitted(*call), loops.mixes_numbers(*call))


# -- arrays of columns ---------------------------------------------------------------------------------

COLUMNS = [
    "p[:, j] = x[:, j] + p[:, j - 1]",
    "q[1:, j] = p[1:, j] * 0.5 + q[1:, j - 1]",
    "p[:, j] = -q[:, j - 1] / (p[:, j - 1] + 2.0)",
    "q[0, j] = p[0, j - 1] + 1.0",
    "p[::2, j] = x[::2, j]",
    "x[:, j] = p[:, j] + q[:, j - 1]",
    "x[j % n, :-1] = q[1:, j][0] + x[j % n, 1:]",
]
BETWEEN = ["p[:, 0] = x[:, 0]", "q[:, 0] = p[:, m - 1]", "q[1:, -1] = 3.0", "p, q = q, p"]
WHOLE = ["", "", "", "q[-1, :] = x[-1, :]", "p = p + x", "q = p.copy()", "x[:] = p"]
RESULTS = ["p[:, m - 1]", "p[1, 0] + q[0, m - 1]", "q[n - 1, :]", "p", "(q, p[0])"]


@settings(max_examples=examples(10), deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3),
    st.sampled_from(BETWEEN),
    st.sampled_from(WHOLE),
    st.sampled_from(["range(1, m)", "range(m - 1, 0, -1)"]),
    st.sampled_from(RESULTS),
)
def test_arrays_that_loops_fill_by_columns(
    columns: list[str], between: str, whole: str, iterations: str, result: str
) -> None:
    inner = "".join(f"            {line}\n" for line in columns)
    source = (
        "def f(x, k):\n    n, m = x.shape\n    p = np.zeros((n, m))\n    q = np.ones((n, m))\n    for t in range(k):\n"
        f"        {between}\n        for j in {iterations}:\n{inner}        {whole}\n    return {result}\n"
    )
    name = f"<columns {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    assert check_compiled(
        scope["f"], [(RNG.random(shape), k) for shape, k in (((5, 4), 2), ((19, 11), 3), ((3, 9), 1))]
    )


# -- random functions of data ---------------------------------------------------------------------------

TRIED = [0, 0]


@settings(max_examples=examples(6), deadline=None, derandomize=True)
@given(data_cases.programs(), st.integers(4, 7), st.integers(2, 4))
def test_random_functions_of_data_answer_as_numpy(source: str, n: int, m: int) -> None:
    # A number that is none of the data's is no result of a plan.
    source = source.replace("return y, s, c", "return y, s + x[0], int(c + k[0])")
    name = f"<random compiled {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    rng = np.random.default_rng(n * 10 + m)
    calls = [
        (rng.random(q), rng.random((q, q)), rng.integers(-q, q, q + 2), p) for q, p in ((n, m), (n + 3, m + 1), (9, 2))
    ]
    TRIED[0] += 1
    with contextlib.suppress(Error):  # the trace says why; its own tests see to that
        TRIED[1] += check_compiled(scope["f"], calls, np.float64)


def test_most_random_functions_of_data_are_compiled() -> None:
    assert TRIED[1] > TRIED[0] * 0.3, TRIED
