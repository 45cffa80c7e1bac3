"""Nests whose rows are under way together: stencils that may and that must not, of any distances, beside NumPy bit by bit.

`TILEWRIGHT_EXAMPLES=1000 pytest tests/python/test_wavefronts.py` tries so many random ones.
"""

from __future__ import annotations

import copy
import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

NESTS = examples(20)
RNG = np.random.default_rng(5)
# Around the number of rows under way and that many skews; none, one and two of each.
SHAPES = [(40, 60), (13, 21), (8, 40), (20, 3), (5, 4), (6, 5), (4, 30), (4, 4), (5, 33), (23, 9), (12, 36)]


def seidel(d, a, b, n):
    for _ in range(n):
        for i in range(1, d.shape[0] - 1):
            d[i, 1:-1] += d[i - 1, :-2] + d[i - 1, 1:-1] + d[i - 1, 2:] + d[i, 2:] + d[i + 1, :-2] + d[i + 1, 2:]
            for j in range(1, d.shape[1] - 1):
                d[i, j] += d[i, j - 1]
                d[i, j] /= 8.0


def relaxation(d, a, b, n):
    for _ in range(n):
        for i in range(1, d.shape[0] - 1):
            for j in range(1, d.shape[1] - 1):
                d[i, j] = 0.375 * (d[i - 1, j] + d[i + 1, j] + d[i, j - 1] + d[i, j + 1]) - 0.5 * d[i, j]


def upwards_and_backwards(d, a, b, n):
    for _ in range(n):
        for i in range(d.shape[0] - 2, -1, -1):
            d[i, 1:-1] = 0.5 * d[i, :-2] + d[i + 1, 1:-1]
            for j in range(d.shape[1] - 2, -1, -1):
                d[i, j] = (d[i + 1, j] + d[i, j + 1] + d[i + 1, j + 1]) * 0.3


def by_columns(d, a, b, n):
    for j in range(1, d.shape[1]):
        d[0, j] = 0.5 * d[1, j - 1]
        for i in range(1, d.shape[0]):
            d[i, j] = (d[i - 1, j] + d[i, j - 1]) * 0.4


def edit_distance(d, a, b, n):
    for i in range(1, d.shape[0]):
        d[i, 0] = i
        for j in range(1, d.shape[1]):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))


def common_subsequence(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1] + 1
            else:
                d[i, j] = max(d[i - 1, j], d[i, j - 1])


def local_alignment(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            s = 3 if a[i - 1] == b[j - 1] else -3
            d[i, j] = max(0, d[i - 1, j - 1] + s, d[i - 1, j] - 2, d[i, j - 1] - 2)


def one_row_again_and_again(d, a, b, n):
    row = d[0].copy()
    for i in range(d.shape[0]):
        for j in range(1, d.shape[1]):
            row[j] = min(row[j], row[j - 1]) + abs(a[i] - b[j])
    d[0] = row


def three_dimensions(d, a, b, n):
    e = np.zeros((n, d.shape[0], d.shape[1]))
    e[0] = d
    for k in range(1, n):
        for i in range(1, d.shape[0]):
            for j in range(1, d.shape[1]):
                e[k, i, j] = (e[k - 1, i, j] + e[k, i - 1, j] + e[k, i, j - 1]) * 0.4
    d[:] = e[n - 1]


def two_arrays(d, a, b, n):
    e = d.copy()
    for i in range(1, d.shape[0]):
        e[i, 1:] = e[i - 1, 1:] + d[i - 1, :-1]
        for j in range(1, d.shape[1]):
            d[i, j] = 0.5 * d[i, j - 1] + e[i, j] * 0.25
            e[i, j] = d[i, j] - e[i - 1, j]
        e[i, 1:] *= 0.5


def element_written_twice(d, a, b, n):
    for i in range(d.shape[0] - 2, 0, -1):
        d[i, 2:-2] = d[i, 2:-2] * 0.25
        for j in range(2, d.shape[1] - 2):
            d[i, j] = d[i, j] * 0.25
            d[i, j] += d[i - 1, j - 1] * 0.25


WAVEFRONTS = [
    (seidel, 2), (relaxation, 1), (upwards_and_backwards, 1), (by_columns, 2),
    (edit_distance, 1), (common_subsequence, 1), (local_alignment, 1),
    (one_row_again_and_again, 2), (three_dimensions, 1), (two_arrays, 1),
    (element_written_twice, 2),
]  # fmt: skip


def whole_row_above(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = d[i, j - 1] * 0.5 + d[i - 1, d.shape[1] - 1 - j]


def one_element_of_all(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = d[i, j - 1] * 0.5 + d[i - 1, j]
            d[0, 0] = d[0, 0] * 0.5 + d[i, j]


def last_of_the_row_above(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = d[i, j - 1] * 0.5 + d[i - 1, -1]


def triangle(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, min(i, d.shape[1])):
            d[i, j] = d[i, j - 1] * 0.5 + d[i - 1, j]


def places_from_data(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = d[i, j - 1] * 0.5 + d[i - 1, b[j] % d.shape[1]]


def row_after_its_scan(d, a, b, n):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = d[i, j - 1] * 0.5 + d[i - 1, j]
        d[i, :-1] = d[i, :-1] - d[i, 1:]


def row_that_reads_what_it_wrote(d, a, b, n):
    for i in range(1, d.shape[0]):
        d[i, 1:] = d[i, :-1] * 0.5 + d[i - 1, 1:]
        for j in range(1, d.shape[1]):
            d[i, j] += d[i, j - 1] * 0.5


REFUSED = [
    whole_row_above, one_element_of_all, last_of_the_row_above, triangle, places_from_data, row_after_its_scan,
    row_that_reads_what_it_wrote,
]  # fmt: skip


def arguments(shape: tuple[int, int], dtype: Any) -> tuple[Any, ...]:
    d = (RNG.standard_normal(shape) * 8).astype(dtype)
    a, b = RNG.integers(0, 4, shape[0]), RNG.integers(0, 4, shape[1])
    return d, a, b, 3


def same(function: Callable[..., Any], compiled: Any, call: tuple[Any, ...]) -> None:
    mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*theirs)
        compiled(*mine)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def rows_of(compiled: Any) -> list[str]:
    return [line.strip() for line in compiled.explain(source=False).splitlines() if ": wavefront: " in line]


@pytest.mark.parametrize("function, behind", WAVEFRONTS, ids=[function.__name__ for function, _ in WAVEFRONTS])
def test_rows_are_under_way_together(function: Any, behind: int) -> None:
    of_integers = function in {edit_distance, common_subsequence, local_alignment, one_row_again_and_again}
    compiled = tilewright.jit(strict=True)(function)
    for shape in SHAPES:
        same(function, compiled, arguments(shape, np.int64 if of_integers else np.float64))
    reports, iterations = rows_of(compiled), f"{behind} iteration" + "s" * (behind > 1)
    assert len(reports) == 1 and f"each {iterations} of the inner loop behind the one before it; no map: " in reports[0]
    assert ": inner loop of a wavefront: " in compiled.explain(source=False)


@pytest.mark.parametrize("function", REFUSED, ids=[function.__name__ for function in REFUSED])
def test_what_must_not_overlap_does_not(function: Any) -> None:
    compiled = tilewright.jit(strict=True)(function)
    for shape in SHAPES[:6]:
        same(function, compiled, arguments(shape, np.float64))
    assert rows_of(compiled) == []


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "complex128"])
def test_other_types(dtype: str) -> None:
    def f(d, a, b, n):
        for i in range(1, d.shape[0] - 1):
            d[i, 1:-1] += d[i - 1, 1:-1] - d[i + 1, 2:]
            for j in range(1, d.shape[1] - 1):
                d[i, j] = d[i, j] + d[i, j - 1] - d[i - 1, j + 1]

    compiled = tilewright.jit(strict=True)(f)
    for shape in SHAPES[:5]:
        same(f, compiled, arguments(shape, dtype))
    assert len(rows_of(compiled)) == 1


def test_arrays_of_any_layout() -> None:
    for function in (seidel, relaxation):
        compiled = tilewright.jit(strict=True)(function)
        for shape in SHAPES[:4]:
            d, *others = arguments((2 * shape[0], 2 * shape[1]), np.float64)
            for view in (np.asfortranarray, lambda a: a[::2, ::2], lambda a: a[::-1, 1:], lambda a: a.T):
                mine, theirs = view(d.copy()), view(d.copy())
                compiled(mine, *others)
                function(theirs, *others)
                np.testing.assert_array_equal(mine, theirs)


def test_a_scan_of_fewer_columns_than_the_row() -> None:
    """Numbers of columns that do not depend on each other: NumPy's row is longer than the loop, or shorter."""

    def f(d, lo, hi, m):
        for i in range(1, d.shape[0]):
            d[i, 2:m] += d[i - 1, 2:m]
            for j in range(lo, hi):
                d[i, j] = 0.5 * d[i, j] + 0.25 * d[i, j - 1]

    def g(d, lo, hi, m):
        for i in range(1, d.shape[0]):
            d[i, 2:m] += d[i - 1, 2:m]
            for j in range(2, hi):
                d[i, j] = 0.5 * d[i, j] + 0.25 * d[i, j - 1]

    for function, found in ((f, 0), (g, 1)):
        compiled = tilewright.jit(strict=True)(function)
        for hi, m in ((50, 30), (30, 50), (20, 58), (50, 50), (3, 50), (50, 4), (4, 4)):
            same(function, compiled, (RNG.standard_normal((30, 60)), 2, hi, m))
        assert len(rows_of(compiled)) == found


def test_how_many_rows_is_a_knob() -> None:
    compiled = tilewright.jit(strict=True)(seidel)
    call = arguments((40, 61), np.float64)
    same(seidel, compiled, call)
    text = str(compiled.schedule)
    assert ".rows_together(8)" in text
    for rows in (1, 2, 3, 16):
        compiled.schedule = text.replace("rows_together(8)", f"rows_together({rows})")
        for shape in ((40, 61), (19, 23), (4, 9)):
            same(seidel, compiled, arguments(shape, np.float64))
    with pytest.raises(
        tilewright.ScheduleError, match=r"rows_together\(17\): more than 16 rows. Write a number such as 8."
    ):
        compiled.schedule = text.replace("rows_together(8)", "rows_together(17)")


# ---- random nests ----------------------------------------------------------------------------------------------------


class Nest:
    """A loop over rows around updates of rows, loops over columns and single elements of x, y (2-d) and v (1-d)."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        up, self._down = draw(st.booleans()), draw(st.booleans())
        lines = ["for i in range(2, x.shape[0] - 2):" if up else "for i in range(x.shape[0] - 3, 1, -1):"]
        kinds = draw(st.lists(st.sampled_from(["row", "scan", "element", "choice"]), min_size=1, max_size=3))
        if not {"scan", "choice"} & set(kinds):
            kinds.append("scan")
        for kind in kinds:
            lines += ["    " + line for line in getattr(self, f"_{kind}")()]
        self.source = "\n".join(["def f(x, y, v):", *("    " + line for line in lines)]) + "\n"

    def _pick(self, *options: Any) -> Any:
        return self._draw(st.sampled_from(options))

    def _offset(self, name: str) -> str:
        return name + self._pick("", "", " - 1", " - 1", " + 1", " - 2", " + 2")

    def _terms(self, one: Callable[[], str]) -> str:
        return " + ".join(one() for _ in range(self._pick(1, 2, 3)))

    def _element_of(self, column: str) -> str:
        array = self._pick("x", "x", "x", "y", "v")
        place = self._offset(column) if array == "v" else f"{self._offset('i')}, {self._offset(column)}"
        return f"{array}[{place}]"

    def _row(self) -> list[str]:
        first, behind = self._pick(2, 2, 3), self._pick(2, 2, 3)

        def part(row: str, by: int) -> str:
            end = behind - by
            return f"[{row}, {first + by}:{-end}]"

        def term() -> str:
            by = self._pick(0, 0, 1, -1, 2 - first + 1)
            return self._pick("x", "x", "y") + part(self._offset("i"), by)

        target = self._pick("x", "x", "y") + part("i", 0)
        return [f"{target} {self._pick('=', '+=')} ({self._terms(term)}) * {self._pick('c', 'c', 'h')}"]

    def _loop(self) -> str:
        first, behind = self._pick(2, 2, 2, 3), self._pick(2, 2, 2, 1)
        stop = f"x.shape[1] - {behind}" if behind == 2 else "x.shape[1] - 3"
        return f"for j in range({stop} - 1, {first} - 1, -1):" if self._down else f"for j in range({first}, {stop}):"

    def _target(self) -> str:
        return self._pick("x[i, j]", "x[i, j]", "y[i, j]", "v[j]", "x[i, j - 1]", "y[i + 1, j]")

    def _scan(self) -> list[str]:
        lines = [f"    {self._target()} = ({self._terms(lambda: self._element_of('j'))}) * c"]
        if self._pick(False, False, True):
            lines.append(f"    {self._target()} += ({self._terms(lambda: self._element_of('j'))}) * c")
        return [self._loop(), *lines]

    def _choice(self) -> list[str]:
        target, one, two = self._target(), self._element_of("j"), self._element_of("j")
        if self._pick(True, False):
            return [self._loop(), f"    {target} = min({one}, {two}, {self._element_of('j')})"]
        return [
            self._loop(), f"    if {self._element_of('j')} > {one}:", f"        {target} = {one} * c", "    else:",
            f"        {target} = {two}",
        ]  # fmt: skip

    def _element(self) -> list[str]:
        return [
            f"x[i, {self._pick('1', '2', '0')}] = {self._pick('x', 'y')}[{self._offset('i')}, {self._pick(0, 1, 2, 3)}] * h"
        ]


@st.composite
def nests(draw: Any) -> tuple[str, str]:
    dtype = draw(st.sampled_from(["float64", "float64", "float32", "int64", "int16"]))
    source = Nest(draw).source
    whole = dtype.startswith("int")
    return source.replace("* c", "- 1" if whole else "* 0.25").replace("* h", "+ 3" if whole else "* 0.5"), dtype


def function_of(source: str) -> Any:
    name = f"<random nest {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


@settings(
    max_examples=NESTS, deadline=None, phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck), derandomize=NESTS == 20, database=None,
)  # fmt: skip
@given(nests(), st.lists(st.tuples(st.integers(4, 45), st.integers(6, 50)), min_size=2, max_size=3))
def test_random_nests_answer_as_numpy(nest: tuple[str, str], shapes: list[tuple[int, int]]) -> None:
    source, dtype = nest
    function = function_of(source)
    compiled = tilewright.jit(strict=True)(function)
    for rows, columns in [(30, 50), *shapes]:
        x, y = (RNG.standard_normal((2, rows, columns)) * 8).astype(dtype)
        same(function, compiled, (x, y, (RNG.standard_normal(columns) * 8).astype(dtype)))
