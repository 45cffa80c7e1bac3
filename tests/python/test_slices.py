"""Calls of more elements than kernels can index run in parts, where each row of the results needs that row of the arguments alone, or where the rows are reduced. The
limit is lowered for that, in a process of its own."""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))  # where this file runs by itself
from examples import covering, examples, one_in  # noqa: E402

pytestmark = pytest.mark.compile

LIMIT = 5000
BEGINS = "== "  # in front of a name, with what it answers behind it
ROWS = 5501


def added(x, y):
    return x * 2 + y


def labels(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def two(x, s):
    return x + s, x[:, 0] > s


def twice_the_same(x):
    y = x * 3
    return y, y


def scaled(x):
    x *= 3


def column_set(x):
    x[:, 1] = x[:, 0] * 2


def escape(c):
    z = np.zeros_like(c)
    n = np.zeros(c.shape, np.int64)
    for i in range(20):
        inside = abs(z) < 2
        n = np.where(inside, i, n)
        z = np.where(inside, z * z + c, z)
    return n


def turned_by(z):
    return z * 2j, z.imag + 1


def outer(x, row):
    return x[:, None] * row + row[::-1]


def of_columns(x):
    return x.T.sum(axis=0)


def summed(x):
    return x.sum(axis=0)


def mean(x):
    return x.mean()


def mean_of_columns(x):
    return np.mean(x, axis=0)


def norm(x):
    return np.linalg.norm(x)


def distance(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


def furthest(x, y):
    return np.abs(x - y).max()


def extremes(x):
    return x.max(), x.min(axis=0), x.sum()


def truths(x):
    return (x > 3).any(axis=0), np.all(x < 100), np.count_nonzero(x)


def product(x):
    return np.prod(x, axis=0, keepdims=True)


def places(x):
    return x.argmin(axis=0), np.argmax(x, axis=0)


def weighted(x, w, s):
    return (x * s).sum(axis=0) * w - w[::-1]


def rows_in_numbers(x):
    return float(x[:, 0].sum()) / (len(x) - 1), int(np.count_nonzero(x[:, 1] > 0))


def every_second(x):
    return x[:, ::2].sum(axis=0).sum()


def per_cent(x):
    return 100 // int(x.sum())


def first_and_sum(x):
    return x.max(axis=0)[0] + x.sum()


def contracted(x, y):
    return x.T @ y + 1


def of_loops(x):
    z = x.copy()
    for _ in range(5):
        z = np.where(z < 0, -z, z / 2)
    total = z.sum(axis=0)
    for i in range(3):
        total = total * 2 + i
    return total


def times_the_sum(b, x):
    return b * x.sum()


def range_in(x, w):
    return (x.max() - x.min()) / w


def against_each(x, y):
    return (x[:, None, :] * y).sum(axis=0)


def none_of_none(x):
    if len(x) == 0:
        return 0.0
    return x.sum()


def asserted(x):
    assert len(x)
    return x.max()


def long_or_not(x):
    if len(x) > 10:
        return x.sum()
    return x.max(axis=0)[0]


def even_or_not(x):
    if len(x) % 2 == 0:
        return x.sum() * 2
    return x.sum()


def of_three(x):
    if len(x) == 3:
        return x.sum(axis=0)[1:]
    return x.sum(axis=0)[:1]


def norms(x):
    return np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, np.inf), np.linalg.norm(x, 0)


def as_long_as(x, n):
    if n == len(x):
        return x.sum(axis=0) / n
    return x.max(axis=0)


def long_rows(x):
    if len(x) > 10:
        return x * 2
    return x * 3


def some_set(x):
    if len(x) != 0:
        x += 1


def from_its_mean(x):
    return x - x.mean(axis=0)


def from_the_mean(x):
    return x - x.mean()


def standardized(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def in_unit_norm(x):
    return x / np.linalg.norm(x)


def spread(x):
    return x.var(axis=0)


def deviation(x):
    return x.std()


def both_moments(x):
    return x.mean(), float(x.std(ddof=1))


def softmax_of_columns(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def by_its_length(x):
    return x / len(x)


def covariance(x):
    y = x - x.mean(axis=0)
    return y.T @ y / (len(x) - 1)


def correlation(x, y):
    a, b = x - x.mean(), y - y.mean()
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


def between(x, low):
    return np.clip((x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0)), low, 0.75), x > x.mean()


def moved_to_zero(x):
    x -= x.mean(axis=0)


def normed_in_place(x):
    x -= x.mean()
    x /= np.abs(x).max()


def above_the_mean(x):
    if len(x) < 3:
        return 0
    return int(np.count_nonzero(x > x.mean()))


def of_loops_and_their_mean(x):
    z = x - x.mean()
    for _ in range(5):
        z = np.where(z < 0, -z, z / 2) + z.shape[1]
    return z


def whole_error(x):
    m = x.mean(axis=0)
    return np.sqrt(((x - m) ** 2).sum(axis=0) / len(x)) * 100 // int(m[0] * 0 + 3)


def with_its_sum(x):
    return x * 2, x.sum()


def with_its_sum_of_columns(x):
    return x * 2, x.sum(axis=0)


def with_its_moments(x):
    mean, std = x.mean(axis=0), x.std(axis=0)
    return mean, (x - mean) / std, std, float(x[:, 0].max()), x > mean


def halved_and_summed(x):
    y = x.sum(axis=0)
    x /= 2
    return y


def scaled_by_its_norm(x):
    n = np.linalg.norm(x)
    x *= 3 / n
    return n


def backwards(x):
    return x[::-1] + 1


def shifted(x):
    return x[1:] - x[:-1]


def numbered(x):
    return x + np.arange(len(x))[:, None]


def less_the_first(x):
    return (x - x[0]).sum(axis=0)


def scaled_and_returned(x):
    x *= 3
    return x[:, 0] + 1


def outer_backwards(x, y):
    return x[::-1, None] * y


def contracted_in_a_stack(x, y):
    return x.T[None] @ y[None] + 1


def rows(n: int = 2, dtype: str = "float64") -> Any:
    return np.random.default_rng(n).integers(-9, 10, (ROWS, n)).astype(dtype)


def with_nan() -> Any:
    x = rows()
    x[3000, 1] = np.nan
    return x


Case = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]
IN_PARTS: list[Case] = [
    (added, lambda: (rows(), rows() + 1)),
    (added, lambda: (rows()[:, 0].copy(), 2.5)),
    (added, lambda: (rows()[::-1], np.asfortranarray(rows()))),
    (added, lambda: (np.arange(3 * LIMIT, dtype=np.int8), np.ones(3 * LIMIT, np.int8))),
    (labels, lambda: (rows(1), np.array([[0.0], [3.0], [-4.0]]))),
    (softmax, lambda: (rows(),)),
    (two, lambda: (rows(), 0.5)),
    (twice_the_same, lambda: (rows(),)),
    (scaled, lambda: (rows(),)),
    (scaled, lambda: (rows()[::-2],)),
    (column_set, lambda: (rows(),)),
    (escape, lambda: (rows()[:, 0] / 5 + 0.3j,)),
    (turned_by, lambda: (rows(1) + 1j,)),
    (outer, lambda: (rows()[:, 0].copy(), np.arange(2.0))),
    (of_columns, lambda: (rows(),)),
    (long_rows, lambda: (rows(),)),
    (long_rows, lambda: (np.arange(2.0 * LIMIT).reshape(4, -1),)),
    (some_set, lambda: (rows(),)),
    (times_the_sum, lambda: (rows(), np.arange(3.0))),
    (range_in, lambda: (np.arange(3.0), np.asfortranarray(rows()) + 20)),
]
REDUCED: list[Case] = [
    (summed, lambda: (rows(),)),
    (summed, lambda: (rows()[::-1],)),
    (summed, lambda: (np.asfortranarray(rows()),)),
    (summed, lambda: (rows(4)[:, ::-2],)),
    (summed, lambda: (rows(4, "float32"),)),
    (summed, lambda: (rows(1) * 1j + rows(1),)),
    (summed, lambda: (rows(0),)),
    (summed, lambda: (np.arange(7 * LIMIT + 3, dtype=np.int8),)),
    (summed, lambda: (np.arange(3.0 * LIMIT).reshape(-1, LIMIT // 4),)),
    (mean, lambda: (rows(),)),
    (mean, lambda: (rows(1, "float32")[:, 0],)),
    (mean, lambda: (rows(3, "int16"),)),
    (mean_of_columns, lambda: (rows(),)),
    (norm, lambda: (rows(1)[:, 0],)),
    (norm, lambda: (rows(),)),
    (distance, lambda: (rows(), rows()[::-1])),
    (furthest, lambda: (rows(), np.asfortranarray(rows()[::-1]))),
    (furthest, lambda: (with_nan(), rows())),
    (extremes, lambda: (rows(),)),
    (extremes, lambda: (with_nan(),)),
    (extremes, lambda: (-np.zeros((ROWS, 2)),)),
    (extremes, lambda: (rows(3, "uint8"),)),
    (truths, lambda: (rows(),)),
    (truths, lambda: (rows(2, "bool"),)),
    (product, lambda: (rows() / 8,)),
    (product, lambda: (rows(2, "int64") | 1,)),
    (places, lambda: (rows(),)),
    (places, lambda: (rows(1)[::-1, 0],)),
    (places, lambda: (with_nan(),)),
    (weighted, lambda: (rows(), np.array([2.0, -1.0]), 3)),
    (weighted, lambda: (rows(), np.arange(6.0)[::-3], 0.5)),
    (rows_in_numbers, lambda: (rows(),)),
    (every_second, lambda: (rows(5),)),
    (contracted, lambda: (rows(2), rows(3))),
    (contracted_in_a_stack, lambda: (rows(2), rows(3))),
    (of_loops, lambda: (rows(),)),
    (times_the_sum, lambda: (np.arange(3.0), rows())),
    (times_the_sum, lambda: (np.arange(3, dtype="float32")[::-2], rows(1, "float32")[::2, 0])),
    (times_the_sum, lambda: (np.zeros(0), rows())),
    (range_in, lambda: (rows(), np.array([2.0]))),
    (range_in, lambda: (rows(3, "int16"), np.arange(1, 7).reshape(2, 3))),
    (against_each, lambda: (rows(), np.arange(6.0).reshape(3, 2))),
    (against_each, lambda: (rows()[::-1], np.asfortranarray(np.arange(6.0).reshape(3, 2)))),
    (none_of_none, lambda: (rows(),)),
    (asserted, lambda: (rows(),)),
    (long_or_not, lambda: (rows(),)),
    (long_or_not, lambda: (np.arange(2.0 * LIMIT).reshape(4, -1),)),
    (even_or_not, lambda: (rows(),)),
    (even_or_not, lambda: (rows()[1:],)),
    (of_three, lambda: (rows(),)),
    (of_three, lambda: (np.arange(2.0 * LIMIT).reshape(4, -1),)),
    (norms, lambda: (rows()[:, 0],)),
    (as_long_as, lambda: (rows(), ROWS)),
    (as_long_as, lambda: (rows(), 3)),
]
BACK: list[Case] = [
    (from_its_mean, lambda: (rows(),)),
    (from_its_mean, lambda: (rows()[::-1],)),
    (from_its_mean, lambda: (np.asfortranarray(rows(3, "float32")),)),
    (from_its_mean, lambda: (rows(4)[:, ::-2],)),
    (from_its_mean, lambda: (rows(2, "int16"),)),
    (from_its_mean, lambda: (rows(1) * 1j + rows(1),)),
    (from_its_mean, lambda: (np.arange(3.0 * LIMIT).reshape(-1, LIMIT // 4),)),
    (from_the_mean, lambda: (rows(),)),
    (from_the_mean, lambda: (rows(1, "float32")[:, 0],)),
    (from_the_mean, lambda: (np.arange(7 * LIMIT + 3, dtype=np.int8),)),
    (standardized, lambda: (rows(),)),
    (standardized, lambda: (np.asfortranarray(rows(3, "float32")),)),  # NumPy adds up rows of others one by one
    (in_unit_norm, lambda: (rows(),)),
    (in_unit_norm, lambda: (rows(1)[::2, 0].repeat(3),)),
    (spread, lambda: (rows(),)),
    (spread, lambda: (rows(3, "int32"),)),
    (spread, lambda: (np.asfortranarray(rows()),)),
    (spread, lambda: (rows(1) * 1j + rows(1),)),
    (spread, lambda: (with_nan(),)),
    (deviation, lambda: (rows(),)),
    (deviation, lambda: (rows(1, "bool")[:, 0],)),
    (both_moments, lambda: (rows(),)),
    (both_moments, lambda: (rows(4)[::-1, ::3],)),
    (softmax_of_columns, lambda: (rows(),)),
    (softmax_of_columns, lambda: (rows(1)[:, 0],)),
    (softmax_of_columns, lambda: (with_nan(),)),
    (by_its_length, lambda: (rows(),)),
    (covariance, lambda: (rows(3),)),
    (correlation, lambda: (rows(1)[:, 0], rows(2)[:, 1])),
    (between, lambda: (rows(), 0.25)),
    (moved_to_zero, lambda: (rows(),)),
    (moved_to_zero, lambda: (rows()[::-1],)),
    (normed_in_place, lambda: (rows(),)),
    (above_the_mean, lambda: (rows(),)),
    (of_loops_and_their_mean, lambda: (rows(),)),
    (whole_error, lambda: (rows(),)),
    (with_its_sum, lambda: (rows(),)),
    (with_its_sum, lambda: (rows(1, "int8")[:, 0],)),
    (with_its_moments, lambda: (rows(),)),
    (with_its_moments, lambda: (np.asfortranarray(rows(3))[::-1],)),
    (halved_and_summed, lambda: (rows(),)),
    (scaled_by_its_norm, lambda: (rows()[::-1],)),
]


def first_array(case: Case) -> np.ndarray[Any, Any]:
    return next(each for each in case[1]() if isinstance(each, np.ndarray))


def dtype_of(case: Case) -> str:
    return first_array(case).dtype.name


def layout_of(case: Case) -> tuple[Any, ...]:
    x = first_array(case)
    return x.ndim, x.flags.c_contiguous, x.flags.f_contiguous, *(step < 0 for step in x.strides)


ALIKE: dict[Callable[..., Any], Callable[..., Any]] = {  # what is cut and passed over as another function is
    mean_of_columns: mean, norm: norms, distance: norms, every_second: summed, asserted: none_of_none, of_three: long_or_not,
    even_or_not: long_or_not, contracted_in_a_stack: contracted, from_the_mean: from_its_mean, deviation: spread,
    both_moments: standardized, correlation: covariance, in_unit_norm: scaled_by_its_norm, moved_to_zero: normed_in_place,
    with_its_sum: halved_and_summed,
}  # fmt: skip


def of_function(case: Case) -> str:
    return ALIKE.get(case[0], case[0]).__name__


IN_PARTS, REDUCED, BACK = (covering(cases, of_function, dtype_of, layout_of) for cases in (IN_PARTS, REDUCED, BACK))
REFUSED: list[Case] = [
    (f, lambda: (rows(),))
    for f in (
        backwards,
        shifted,
        numbered,
        scaled_and_returned,
        less_the_first,
    )
]


def is_same(ours: Any, numpys: Any) -> bool:
    """Rounded otherwise at most: sums have another order."""
    if ours is numpys is None:
        return True
    tolerance = 2e-6 if np.asarray(numpys).dtype == np.float32 else 1e-13
    # Terms that cancel, as those of a covariance, are as large as other elements.
    largest = np.max(np.abs(numpys), where=np.isfinite(numpys), initial=0)
    return (
        type(ours) is type(numpys)
        and np.asarray(ours).dtype == np.asarray(numpys).dtype
        and np.allclose(ours, numpys, rtol=tolerance, atol=tolerance * largest / 100, equal_nan=True)
        and bool(np.all(np.signbit(np.real(ours)) == np.signbit(np.real(numpys))))
    )


def both(x, y):
    return x.sum() + y.max()


REDUCTIONS = {
    "x": ["sum(axis=0) c", "mean(axis=0) c", "max(axis=0) c", "std(axis=0) c", "mean() n", "min() n", "sum(axis=1) r"],
    "r": ["sum() n", "mean() n", "max() n", "std() n", "argmin() n"],
}


def random_function(draw: random.Random) -> str:
    """Of x, rows of columns, and w, a number a column: numbers, columns (c), one number a row (r) and rows like x."""
    lines, kinds = [], {"x": "x", "w": "c"}
    for k in range(draw.randint(4, 9)):
        a, b = draw.choice(sorted(kinds)), draw.choice(sorted(kinds))
        if kinds[a] in REDUCTIONS and draw.random() < 0.4:
            method, kind = draw.choice(REDUCTIONS[kinds[a]]).rsplit(" ", 1)
            text = f"{a}.{method} / 2"
        elif kinds[a] == "r" != kinds[b]:
            text, kind = f"{a} * 2", "r"
        elif kinds[b] == "r" != kinds[a]:
            text, kind = f"x[:, 0] - {b}", "r"
        else:
            text = draw.choice(["{} + {}", "{} - {}", "{} * {}", "{} / (1 + abs({}))", "np.where({0} > {1}, {0}, 1)"])
            text = text.format(a, b)
            kind = next(each for each in "xrcn" if each in (kinds[a], kinds[b]))
        kinds[f"v{k}"] = kind
        lines.append(f"    v{k} = {text}\n")
    of_x = [f"v{k}" for k in range(len(lines)) if kinds[f"v{k}"] in REDUCTIONS] or ["x * 2"]
    results = [
        *draw.sample(of_x, 1),
        f"({' + '.join(of_x)}).sum()" if len({kinds.get(v) for v in of_x}) == 1 else "x.sum()",
    ]
    return f"def f(x, w):\n{''.join(lines)}    return {', '.join(draw.sample(results, draw.randint(1, 2)))}\n"


def random_functions() -> str:
    """Whatever of them runs in how many passes, or in NumPy: the answers are NumPy's."""
    served = 0
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(min(examples(4), 12))
        for seed in seeds:
            text = random_function(random.Random(seed))
            (Path(folder) / f"random_{seed}.py").write_text(f"import numpy as np\n\n\n{text}")
            sys.path.insert(0, folder)
            function = importlib.import_module(f"random_{seed}").f
            compiled = always_compiled(function)
            x, w = np.random.default_rng(seed).random((ROWS + seed, 1 + seed % 3)), np.arange(1.0 + seed % 3)
            for _ in range(2):
                misses = compiled.misses
                for a, b in zip(flat(compiled(x, w), ()), flat(function(x, w), ()), strict=True):
                    if not np.allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max()):
                        return f"{text}{a} is not {b}"
            served += compiled.misses == misses
    return "" if 3 * served > 2 * len(seeds) else f"{served} are served"


def flat(answer: Any, call: tuple[Any, ...]) -> list[Any]:
    return [*(answer if isinstance(answer, tuple) else (answer,)), *call]


def disagreement(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> str:
    """Of a function that has only seen large calls."""
    compiled = always_compiled(function)
    for _ in range(2):  # the first call is compiled for
        mine, theirs, misses = make(), make(), compiled.misses
        ours, numpys = flat(compiled(*mine), mine), flat(function(*theirs), theirs)
    if compiled.misses != misses:
        return "NumPy ran the call"
    for a, b in zip(ours, numpys, strict=True):
        if not is_same(a, b):
            return f"{a} is not {b}"
    numbers = all(isinstance(each, np.ndarray) for each in numpys)
    if numbers and function is not twice_the_same:
        given = tuple(np.full_like(each, 0) for each in numpys[: len(numpys) - len(theirs)])
        compiled(*make(), out=given if len(given) > 1 else given[0])
        if not all(is_same(a, b) for a, b in zip(given, numpys, strict=False)):
            return f"out is {given}, not {numpys}"
    if function is two:
        flags = np.zeros(ROWS, bool)
        values, again = compiled(*make(), out=(None, flags))
        if again is not flags or not np.array_equal(flags, numpys[1]) or not np.array_equal(values, numpys[0]):
            return "out=(None, flags)"
    return ""


def always_compiled(function: Callable[..., Any], strict: bool = True) -> Any:
    import tilewright
    from tilewright.decorator import JitFunction

    JitFunction._loses = lambda *_: False  # type: ignore[method-assign]
    return tilewright.jit(function, strict=strict)


def is_in_parts(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> str:
    small = (a[:50] if isinstance(a, np.ndarray) else a for a in make())
    plan: str = always_compiled(function).for_args(*small).plan_text()
    if "\nslices (" in plan:
        return plan
    specialization = always_compiled(function).for_args(*make())
    return "" if specialization.partials is None else specialization.partials.partial.text


def what_out_may_be() -> str:
    """`out` that shares memory gets what it would get if nothing did; what is no out is an error."""
    compiled = always_compiled(added)
    b = rows()
    for first, second, out in [
        (slice(0, -1), slice(0, -1), slice(1, None)),
        (slice(None), slice(None), slice(None, None, -1)),
        (slice(None), 3000, slice(None)),
        (slice(None), slice(None), slice(None)),
    ]:
        mine, expected = b.copy(), added(b[first], b[second])
        compiled(mine[first], mine[second], out=mine[out])
        if not np.array_equal(mine[out], expected):
            return f"{first}, {second}, {out}"
    summed_too = always_compiled(with_its_sum_of_columns)
    for out in (b[7], b[7].copy()):  # the sum is there before the rows are read again
        expected = with_its_sum_of_columns(b)
        got = summed_too(b, out=(None, out))
        if got[1] is not out or not all(is_same(x, y) for x, y in zip(got, expected, strict=True)):
            return f"with_its_sum_of_columns: {got}"
    b = rows()
    one = np.zeros_like(b)
    compiled(b, b, out=(one,))
    if not np.array_equal(one, added(b, b)):
        return "out of one"
    for wrong in ((one, one), one[1:], np.zeros((ROWS, 4)), 5, [one], {}):
        try:
            compiled(b, b, out=wrong)
        except (ValueError, TypeError) as error:
            if not str(error).startswith("added: out "):
                return f"{wrong}: {error}"
        else:
            return f"{wrong} is taken"
    return ""


def what_numpy_runs() -> str:
    """Data that a check of the total refuses; sizes that a guard does."""
    for function, arguments in (
        (per_cent, (np.zeros(LIMIT + 1),)),
        (first_and_sum, (rows(0),)),
    ):
        ours = outcome(always_compiled(function), arguments)
        if ours != outcome(function, arguments):
            return f"{function.__name__}: {ours}"
    return ""


def listed(x, y):
    return [x * 2, y + 1]


def drawn(x, rng):
    x += rng.random(x.shape[0])
    return x * 2


def what_python_passes_on() -> str:
    """Calls whose arguments or results C does not handle by itself: too large, NumPy runs them and that is said once."""
    import tilewright

    for function, make in (
        (listed, lambda n: (np.zeros(n), np.ones(n))),
        (drawn, lambda n: (np.zeros(n), np.random.default_rng(1))),
    ):
        compiled = tilewright.jit(function)
        for n in (300, 6 * LIMIT, 6 * LIMIT):
            mine, theirs = make(n), make(n)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                got = compiled(*mine)
            expected = function(*theirs)
            if (
                type(got) is not type(expected)
                or not all(map(is_same, got, expected))
                or not is_same(mine[0], theirs[0])
            ):
                return f"{function.__name__} of {n}: {got}"
            if function is drawn and mine[1].random() != theirs[1].random():
                return f"the generator after {n}"
            if n == 300 and (said or not compiled.specializations):
                return f"{function.__name__} of {n} is not compiled: {said}"
        reason = f"{function.__name__}: x is float64[{6 * LIMIT}]; kernels index with 32 bits"
        if reason not in compiled.explain(source=False):
            return compiled.explain(source=False)
        try:
            always_compiled(function)(*make(6 * LIMIT))
        except tilewright.TraceError as error:
            if not str(error).startswith(reason):
                return str(error)
        else:
            return f"{function.__name__} is not refused"
    return ""


def what_is_said() -> str:
    """Where a call that is too large does not run in parts: an error, or a warning and a line in explain()."""
    import tilewright

    few_rows = np.arange(3.0 * LIMIT).reshape(3, -1)
    column = np.arange(100.0)
    for function, arguments, words in (
        (summed, (few_rows,), f"summed: x is float64[3, {LIMIT}]; kernels index with 32 bits"),
        (backwards, (rows(),), f"backwards: x is float64[{ROWS}, 2]; kernels index with 32 bits"),
        (outer_backwards, (column, column), "outer_backwards: a result would have the shape (100, 100), more than"),
    ):
        strict, other = always_compiled(function), tilewright.jit(function)
        for _ in range(2):
            try:
                strict(*arguments)
            except tilewright.TraceError as error:
                if not str(error).startswith(words):
                    return str(error)
            else:
                return f"{function.__name__}: strict is silent"
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                if not is_same(other(*arguments), function(*arguments)):
                    return f"{function.__name__} is wrong"
            if [str(one.message).startswith(f"runs in NumPy: {words}") for one in said] not in ([True], []):
                return f"{function.__name__}: {[str(one.message) for one in said]}"
        if f"runs in NumPy:\n  {words}" not in other.explain(source=False):
            return other.explain(source=False)
        small = tuple(a[:3] if len(a) > 3 else a[:, :2] for a in arguments)
        if not is_same(strict(*small), function(*small)) or not is_same(other(*small), function(*small)):
            return f"{function.__name__} of small arrays"
        try:
            other.tune(*arguments)
        except tilewright.Error as error:
            if "so no candidate can run" not in str(error):
                return str(error)
        else:
            return f"{function.__name__} was tuned"
    return ""


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(*arguments)).tolist()
        except (ArithmeticError, ValueError, IndexError) as error:
            return type(error), str(error)


def in_a_module() -> str:
    """With `out`, lists, another order, and words where it cannot be."""
    x, w = rows(), np.array([2.0, -1.0])
    with tempfile.TemporaryDirectory() as folder:
        compiled = always_compiled(weighted)
        compiled(x, w, 3)
        compiled.export(Path(folder) / "weighted_tuned", targets=("x86-64",))
        sys.path.insert(0, folder)
        module = importlib.import_module("weighted_tuned").weighted
    if "(parts of x, then a total of what these give; default schedules):" not in compiled.explain(source=False):
        return "it is not explained"
    for given in (x, np.asfortranarray(x), x[::-2], x[:100], x[:100].tolist()):
        if not is_same(module(given, w, 3), weighted(np.array(given), w, 3)):
            return f"{given}"
    with tempfile.TemporaryDirectory() as folder:
        compiled = always_compiled(mean)
        compiled(x[:100])
        compiled.export(Path(folder) / "mean_tuned", targets=("x86-64",))
        sys.path.insert(0, folder)
        module_of_small_calls = importlib.import_module("mean_tuned").mean
    try:
        module_of_small_calls(x)
    except ValueError as error:
        if "or export the function after a call of such arrays" not in str(error):
            return str(error)
    else:
        return "a module of small calls takes large ones"
    out = x[7]
    expected = weighted(x, w, 3)
    if module(x, w, 3, out=out) is not out or not is_same(out, expected):
        return f"out is {out}"
    for wrong, words in (
        ((x, w[:1], 3), "weighted: w.shape[0] must equal x.shape[1], but they are 1 and 2. "),
        ((np.zeros((2, LIMIT)), np.zeros(LIMIT), 3), f"weighted: x is float64[2, {LIMIT}]; kernels index with 32 bits"),
    ):
        try:
            module(*wrong)
        except ValueError as error:
            if not str(error).startswith(words):
                return str(error)
        else:
            return f"{words} is not said"
    return ""


def in_modules_of_more_passes() -> str:
    """Back along the rows, into one more reduction, and into an argument."""
    for (function,) in one_in(2, (with_its_moments, normed_in_place)):
        with tempfile.TemporaryDirectory() as folder:
            compiled = always_compiled(function)
            compiled(rows())
            if " rest part: requires " not in compiled.explain(source=False):
                return compiled.explain(source=False)
            compiled.export(Path(folder) / f"{function.__name__}_tuned", targets=("x86-64",))
            sys.path.insert(0, folder)
            module = getattr(importlib.import_module(f"{function.__name__}_tuned"), function.__name__)
        for make in (rows, lambda: rows()[::-1], lambda: np.asfortranarray(rows()), lambda: rows()[:100]):
            ours, numpys = make(), make()
            if function is normed_in_place and ours.flags.f_contiguous:
                continue  # parts of columns reach as far as the whole, and a copy is nothing to write into
            both = zip(flat(module(ours), (ours,)), flat(function(numpys), (numpys,)), strict=True)
            if not all(is_same(a, b) for a, b in both):
                return f"{function.__name__} of {numpys}"
        if function is with_its_moments:
            out = (rows()[0], np.empty_like(rows()), None, None, np.empty(rows().shape, bool))
            got, expected = module(rows(), out=out), function(rows())
            if not all(is_same(a, b) and (c is None or c is a) for a, b, c in zip(got, expected, out, strict=True)):
                return f"out is {out}"
            if not all(is_same(a, b) for a, b in zip(module(rows()[:99].tolist()), function(rows()[:99]), strict=True)):
                return "a list"
    return ""


class OnStream:
    """An array of a library that is not known, which computes on a stream of its own."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "stream": 2}

    def __getitem__(self, key: Any) -> OnStream:
        return OnStream(self.array[key])

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> Any:
        return self.array.shape


def on_a_device() -> str:
    """Of a driver whose kernels do nothing: all of it is launches there. What cannot be cut is refused with words."""
    import tilewright
    from tilewright import _face

    cases: list[Case] = [(weighted, lambda: (rows(), np.arange(2.0), 3))]
    cases += [(f, lambda: (rows(),)) for f in (standardized, softmax_of_columns, with_its_sum)]
    for function, make in cases:
        for wrap in (lambda array: array, OnStream):
            arrays = [wrap(tilewright.to_device(a)) if isinstance(a, np.ndarray) else a for a in make()]
            compiled = always_compiled(function)
            out = tilewright.to_device(np.zeros(2)) if function is weighted else None
            for given in ({}, {}, {"out": out} if out is not None else {}):
                before, misses = _face.driver_calls(), compiled.misses
                result = compiled(*arrays, **given)
                made = {name: n - before[name] for name, n in _face.driver_calls().items() if n != before[name]}
            for got, expected in zip(flat(result, ()), flat(function(*make()), ()), strict=True):
                if type(got).__name__ != "DeviceArray" or got.shape != np.shape(expected):
                    return f"{function.__name__} gives {result}"
            moved = [name for name in made if "copies" in name or "synchronizations" in name]
            if compiled.misses != misses or moved or not made["launches"]:
                return f"{function.__name__}: {made}, {compiled.misses - misses} misses"
            if out is not None and result is not out:
                return "out"
    try:
        always_compiled(less_the_first)(tilewright.to_device(rows()))
    except ValueError as error:
        return (
            ""
            if f"less_the_first: x is DeviceArray of float64[{ROWS}, 2] on cuda:0; kernels index with 32 bits"
            in str(error)
            else str(error)
        )
    return "no error"


def one_or_the_other() -> str:
    """Which array is too large changes from call to call."""
    compiled = always_compiled(both)
    large, small = rows()[:, 0].copy(), np.arange(7.0)
    for x, y in 2 * [(large, small), (small, large)]:
        compiled(x, y)
        misses = compiled.misses
        if not np.isclose(compiled(x, y), both(x, y)) or compiled.misses != misses:
            return f"{len(x)}, {len(y)}: {compiled(x, y)}"
    return ""


def the_right_branch() -> str:
    """Sizes of the whole decide, whatever the parts are: of programs that are compiled, each for its own sizes."""
    of_few, of_many = np.arange(2.0 * LIMIT).reshape(4, -1), rows()
    import tilewright

    warnings.simplefilter("ignore", tilewright.FallbackWarning)  # three rows are too large for parts
    for function in (long_or_not, long_rows, even_or_not, of_three):
        compiled = always_compiled(function, strict=False)
        for _ in range(2):
            for x in (of_few, of_many, of_many[1:], of_few[:3], of_few[:2], of_many[:50], of_many[:7]):
                misses = compiled.misses
                if not is_same(compiled(x), function(x)):
                    return f"{function.__name__}: {x.shape}"
        if compiled.misses != misses:
            return f"{function.__name__}: NumPy ran it"
    return ""


def rows_of_either() -> str:
    """An argument that is cut beside one that is reduced: which of them is large changes from call to call."""
    import tilewright

    compiled = always_compiled(times_the_sum)
    large, small = rows()[:, 0].copy(), np.arange(7.0)
    for first, second in 2 * [(large, small), (small, large), (small, small)]:
        compiled(first, second)
        misses = compiled.misses
        if not is_same(compiled(first, second), times_the_sum(first, second)) or compiled.misses != misses:
            return f"{len(first)}, {len(second)}: {compiled(first, second)}"
    try:
        compiled(large, large)
    except tilewright.TraceError as error:
        if "kernels index with 32 bits" not in str(error):
            return str(error)
    else:
        return "both are large, and no error"
    with tempfile.TemporaryDirectory() as folder:
        compiled.export(Path(folder) / "times_tuned", targets=("x86-64",))
        sys.path.insert(0, folder)
        module = importlib.import_module("times_tuned").times_the_sum
    for first, second in ((large, small), (small, large), (small.tolist(), large), (small, small)):
        if not is_same(module(first, second), times_the_sum(np.array(first), second)):
            return f"{len(first)}, {len(second)} in a module: {module(first, second)}"
    try:
        module(large, large)
    except ValueError as error:
        return "" if "kernels index with 32 bits" in str(error) else str(error)
    return "no error"


def lengths_that_differ() -> str:
    for function in (added, distance):
        compiled = always_compiled(function)
        for n in (50, ROWS):
            compiled(rows()[:n], rows()[:n])
        try:
            compiled(rows(), rows()[:-1])
        except ValueError as error:
            if "broadcast" not in str(error):
                return str(error)
        else:
            return "no error"
    return ""


def every_length() -> str:
    """A part of each length that there is; what is written is written once."""
    compiled = always_compiled(scaled)
    for n in (LIMIT + 1, LIMIT + 2, 2 * LIMIT - 1, 2 * LIMIT, 2 * LIMIT + 1, 3 * LIMIT + 1, 7 * LIMIT - 3):
        x = np.arange(n, dtype=np.float64)
        for _ in range(2):
            compiled(x)
        if not np.array_equal(x, np.arange(n) * 9.0):
            return f"{n}: {np.flatnonzero(x != np.arange(n) * 9.0)}"
    few = np.arange(6.0 * LIMIT).reshape(3, -1)[:, : LIMIT * 2 // 3]
    return "" if np.array_equal(always_compiled(added)(few, few), added(few, few)) else "three rows"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one process compiles serves the next; apart from other caches, since the limit is lowered."""
    return str(tmp_path_factory.mktemp("cache"))


def run_python(*names: str, **more: str) -> dict[str, str]:
    """What each of them answers, in one process: to start takes as long as most of them."""
    environment = {**os.environ, **more, "TILEWRIGHT_ELEMENT_LIMIT": str(LIMIT)}
    done = subprocess.run(
        [sys.executable, "-u", __file__, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        check=False,
    )  # fmt: skip
    said = dict(part.partition("\n")[::2] for part in done.stdout.split(BEGINS)[1:])
    return {
        name: said.get(name, f"the process ended with {done.returncode} before it:\n{done.stdout}") for name in names
    }


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, cache: str) -> dict[str, str]:
    """Of those that are asked for."""
    items = [
        item
        for item in request.session.items
        if getattr(item, "originalname", "") == test_calls_beyond_the_limit.__name__
    ]
    return run_python(*(item.callspec.params["what"] for item in items), XDG_CACHE_HOME=cache)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "what",
    [
        "IN_PARTS",
        "REDUCED",
        "BACK",
        "REFUSED",
        "what_numpy_runs",
        "what_is_said",
        "what_python_passes_on",
        "in_a_module",
        "in_modules_of_more_passes",
        "one_or_the_other",
        "rows_of_either",
        "the_right_branch",
        "random_functions",
        "lengths_that_differ",
        "what_out_may_be",
        "every_length",
    ],
)
def test_calls_beyond_the_limit(what: str, answers: dict[str, str]) -> None:
    assert answers[what] == "done\n"


def test_reductions_beyond_the_limit_stay_on_their_device(cache: str) -> None:
    from device_helpers import fake_driver

    driver = {"TILEWRIGHT_LIBCUDA": str(fake_driver()), "FAKE_CUDA_CAPABILITY": "90"}
    assert run_python("on_a_device", XDG_CACHE_HOME=cache, **driver) == {"on_a_device": "done\n"}


def answer(asked: Any) -> str:
    if callable(asked):
        return asked() or "done"
    ask = is_in_parts if asked is REFUSED else disagreement
    return "\n".join(
        [f"{function.__name__} {said}" for function, make in asked if (said := ask(function, make))] or ["done"]
    )


if __name__ == "__main__":
    from tilewright import builder

    builder._LONG_BUILD_S = 1e6  # on a busy machine it would be said of any
    for name in sys.argv[1:]:
        print(f"{BEGINS}{name}")
        try:
            with warnings.catch_warnings():
                print(answer(globals()[name]))
        except Exception:
            traceback.print_exc()
