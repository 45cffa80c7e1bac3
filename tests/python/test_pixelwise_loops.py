"""Pixelwise loops through @tilewright.jit: the same bits as NumPy, for all sizes, iterations, schedules, and chunk sizes."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import native
from tilewright.symbolic import trace_limits

pytestmark = pytest.mark.compile

SPECIALS = [0.0, -0.0, 1.0, -1.5, 3.0, 1e300, np.inf, -np.inf, np.nan]
SIZES = [0, 1, 2, 7, 31, 64, 101]


@pytest.fixture(autouse=True)
def every_loop_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No loop is unrolled, no call is left to NumPy for being small, and no test sees another one's store."""
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 0)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def compiled(function: Any, args: tuple[Any, ...], schedule: str | None = None) -> Any:
    """The kernel's answer; fails where NumPy would run instead."""
    jitted = tilewright.jit(function)
    specialization = jitted.for_args(*args)
    if schedule is not None:
        specialization.schedule = schedule
    result = jitted(*args)
    assert "runs in NumPy" not in jitted.explain(source=False), jitted.explain(source=False)
    return result


def same_bits(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same_bits(a, b)
        return
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    differ = a != b
    if a.dtype.kind == "f":
        differ = ~((a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b)))
    assert not differ.any(), f"{int(differ.sum())} of {a.size} differ: {a[differ][:3]} for {b[differ][:3]}"


def check(function: Any, *args: Any, schedule: str | None = None) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        same_bits(compiled(function, args, schedule), function(*args))


# ---- programs of each shape ---------------------------------------------------------------------------------------------


def mandelbrot(x, y, maxiter, horizon):
    n = np.zeros((y.shape[0], x.shape[0]), dtype=int)
    a = np.zeros((y.shape[0], x.shape[0]), dtype=x.dtype)
    b = np.zeros((y.shape[0], x.shape[0]), dtype=x.dtype)
    for t in range(maxiter):
        inside = a * a + b * b < horizon
        n[inside] = t
        new = a * a - b * b + x
        b = np.where(inside, 2 * a * b + y[:, None], b)
        a = np.where(inside, new, a)
    n[n == maxiter - 1] = 0
    return a, b, n


def newton(x, n):
    y = x * 1.0
    for _ in range(n):
        y = 0.5 * (y + x / y)
    return y


def collatz(x, n):
    steps = np.zeros_like(x)
    for _ in range(n):
        going = x != 1
        x = np.where(going, np.where(x % 2 == 0, x // 2, 3 * x + 1), x)
        steps = steps + going
    return x, steps


def horner(x, c):
    s = np.zeros_like(x)
    for t in range(c.shape[0] - 1, -1, -1):
        s = s * x + c[t]
    return s


def along_rows(data, w):
    s = np.zeros(data.shape[0])
    for t in range(data.shape[1]):
        s = s * 0.5 + data[:, t] * w[t]
    return s


def every_third(x, start, stop):
    y = x * 1.0
    for t in range(start, stop, 3):
        y = y * 0.5 + t
    return y


def with_a_counter(x, n):
    k = 1.0
    y = x * 1.0
    for t in range(n):
        k = k * 0.5 + t
        y = y * 0.25 + k
    return y + k


def left_by_break(x, limit):
    s = np.zeros(3)
    k = 0.0
    for t in range(x.shape[0]):
        k = k + x[t]
        if k > limit:
            break
    return s + k


def read_by_many(x, n):
    y = x * 1.0
    k = np.zeros(x.shape, dtype=np.int32)
    for _ in range(n):
        m = y < 100
        y[m] = y[m] * 1.5
        k[m] += 1
    return y, k.max(), k, (y * 2 + k)[1:]


def two_in_a_row(x, n):
    y = x * 1.0
    for _ in range(n):
        y = y * 0.5 + 1
    z = np.sqrt(np.abs(y)) * 2
    for _ in range(n):
        z = z * 0.5 + y
    return z, y


def guarded_read(x, y):
    z = y * 1.0
    for t in range(x.shape[0]):
        if t == 0:  # noqa: SIM108, a branch whose other side reads before the array
            z = z + x[t]
        else:
            z = z * (x[t] - x[t - 1])
    return z


R = np.random.default_rng(5)
CASES = [
    (newton, (np.array(SPECIALS), 5)),
    (collatz, (np.arange(1, 200), 150)),
    (collatz, (np.arange(1, 200, dtype=np.int32), 150)),
    (horner, (R.random(37), R.random(9))),
    (horner, (R.random(37).astype(np.float32), R.random(9).astype(np.float32))),
    (along_rows, (R.random((23, 11)), R.random(11))),
    (along_rows, (R.random((11, 23)).T, R.random(11))),
    (every_third, (R.random((3, 5)), -4, 9)),
    (every_third, (R.random((3, 5)), 4, 4)),
    (with_a_counter, (R.random(5), 12)),
    (left_by_break, (R.random(50), 3.0)),
    (left_by_break, (R.random(50), 300.0)),
    (read_by_many, (R.random((17, 19)), 9)),
    (two_in_a_row, (R.random((17, 19)), 9)),
    (guarded_read, (R.random(7), R.random(5))),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_kernels_answer_as_numpy(number: int) -> None:
    function, args = CASES[number]
    check(function, *args)


@pytest.mark.parametrize(("width", "dtype"), one_in(2, SIZES, [np.float32, np.float64]))
def test_mandelbrot_of_any_size_and_iterations(width: int, dtype: Any) -> None:
    x = np.linspace(-2.25, 0.75, max(width, 1), dtype=dtype)[:width]
    for height, maxiter in one_in(3, (1, 5, 33), (1, 9, 10, 47)):  # sizes decide the schedule
        check(mandelbrot, x, np.linspace(-1.25, 1.25, height, dtype=dtype), maxiter, dtype(16))


def test_every_chunk_gives_the_same_bits() -> None:
    x = np.linspace(-2.25, 0.75, 131, dtype=np.float32)
    y = np.linspace(-1.25, 1.25, 40, dtype=np.float32)
    args = (x, y, 23, np.float32(1e9))  # a chunk of many iterations takes seconds to compile
    jitted = tilewright.jit(mandelbrot)
    specialization = jitted.for_args(*args)
    text = specialization.schedule
    assert ".split(t, to, ti, 10)" in text
    for (chunk,) in one_in(2, (1, 2, 3, 5, 23, 16, 8, 30)):
        check(mandelbrot, *args, schedule=text.replace(".split(t, to, ti, 10)", f".split(t, to, ti, {chunk})"))
    # Without a group of elements inside, iterations outside of the elements, and as Halide runs it unscheduled.
    heading = "\n".join(text.splitlines()[:2])
    stage = re.search(r"^(\w+)\.compute_at\((\w+), ", text, re.M)
    assert stage
    loop, host = stage.groups()
    check(mandelbrot, *args, schedule=f"{heading}\n{loop}.compute_root()\n")
    check(mandelbrot, *args, schedule=f"{heading}\n{loop}.compute_root()\n{loop}.update(0).reorder(j, i, t)\n")
    check(mandelbrot, *args, schedule=f"{heading}\n{loop}.compute_at({host}, i)\n{loop}.update(0).vectorize(j, 8)\n")
    check(mandelbrot, *args, schedule=f"{heading}\n{loop}.compute_at({host}, j)\n")


def test_another_size_maxiter_and_horizon_compile_nothing() -> None:
    y = np.linspace(-1.25, 1.25, 200)
    jitted = tilewright.jit(mandelbrot)
    for width, maxiter, horizon in [(300, 20, 4.0), (301, 200, 16.0), (400, 2000, 2.0)]:
        x = np.linspace(-2.25, 0.75, width)
        with np.errstate(all="ignore"):
            same_bits(jitted(x, y, maxiter, horizon), mandelbrot(x, y, maxiter, horizon))
    assert len(jitted.specializations) == 1
    assert len(jitted.specializations[0].versions) == 1


def test_explain_names_the_kind_of_each_loop() -> None:
    jitted = tilewright.jit(mandelbrot)
    jitted.for_args(np.zeros(3), np.zeros(3), 5, 4.0)
    assert re.search(
        r"loops of the program:\n  line \d+: for t in range\(0, maxiter, 1\): pixelwise; an element is done once inside is false",
        jitted.explain(source=False),
    )


def test_a_loop_over_neighbours_is_not_pixelwise() -> None:
    def smooth(x, n):
        for _ in range(n):
            x = x[::-1] + x
        return x

    from tilewright.trace import trace

    reports = native.compiler().loops(trace(smooth, (np.arange(5.0), 3), {}).program_text, {})
    assert reports[0]["kind"].startswith("serial: ")
    assert "(not pixelwise: line " in reports[0]["kind"]
    assert "at another element" in reports[0]["kind"]


# ---- random loops -------------------------------------------------------------------------------------------------------

DTYPES = ["float64", "float32", "int64", "int32", "uint8"]


@st.composite
def random_loop(draw: Any) -> tuple[str, list[Any]]:
    """A function with a pixelwise loop over p (a x b), q and r of its carried values, and its arguments."""
    dtype = draw(st.sampled_from(DTYPES))
    floating = dtype.startswith("float")
    rows, columns = draw(st.sampled_from(SIZES[:6])), draw(st.sampled_from(SIZES[:6]))
    step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
    start = draw(st.integers(-3, 3))
    stop = start + step * draw(st.sampled_from([2, 3, 7, 10, 40])) - draw(st.integers(0, 1))
    names = ["p", "q", "r"][: draw(st.integers(1, 3))]
    operand = st.sampled_from([*names, "v", "c[:, None]", "x[t % 4]", "t", "2", "k"])
    operators = ["+", "-", "*"] + (["/"] if floating else ["&", "|", "^"])

    def value() -> str:
        a, b = draw(st.sampled_from(names)), draw(operand)
        if not floating and b == "t":
            b = "(t % 7)"
        choice = draw(st.integers(0, 4))
        if choice == 0:
            return f"np.where({a} < {draw(operand)}, {a}, {b})".replace(", t)", ", v)").replace("< t", "< v")
        if choice == 1 and floating:
            return f"np.sqrt(np.abs({a}))"
        return f"({a} {draw(st.sampled_from(operators))} {b})"

    body = []
    frozen = draw(st.booleans())
    if frozen:
        body.append(f"alive = {draw(st.sampled_from(names))} < {draw(st.sampled_from(['v', '5', 'k']))}")
    for name in draw(st.permutations(names)):
        if frozen:
            body.append(f"{name} = np.where(alive, {value()}, {name}).astype(v.dtype)")
        else:
            body.append(f"{name} = ({value()} + v * 0).astype(v.dtype)")
    lines = [
        "def f(x, v, c, k, start, stop):",
        *(f"    {name} = v + {number}" for number, name in enumerate(names)),
        f"    for t in range(start, stop, {step}):",
        *(f"        {line}" for line in body),
        f"    return {', '.join(draw(st.permutations(names)))},",
    ]
    generator = np.random.default_rng(draw(st.integers(0, 1000)))

    def array(*shape: int) -> Any:
        made = generator.integers(0, 20, shape)
        if floating:
            made = made / 4 - 2
            made.reshape(-1)[::5] = np.resize(SPECIALS, made.reshape(-1)[::5].shape)
            with np.errstate(all="ignore"):
                return made.astype(dtype)
        return made.astype(dtype)

    args = [array(4), array(rows, columns), array(rows), array(1)[0], start, stop]
    return "\n".join(lines), args


@settings(max_examples=examples(6), deadline=None)
@given(random_loop())
def test_random_pixelwise_loops_answer_as_numpy(made: tuple[str, list[Any]]) -> None:
    source, args = made
    space: dict[str, Any] = {"np": np}
    exec(compile(source, "<random>", "exec"), space)
    import linecache

    linecache.cache["<random>"] = (len(source), None, [line + "\n" for line in source.splitlines()], "<random>")
    function = space["f"]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*args)
        jitted = tilewright.jit(function)
        same_bits(jitted(*args), expected)


def grown_sums(x, n):
    a, b, total = x[0], x[1], 0.0
    for _ in range(n):
        a = a * 1.01
        most = b if b > a else a
        total += a + most
    return total, a


def two_more(x, n):
    a, b, c, total = x[0], x[1], x[2], 0.0
    for i in range(n):
        a, c = a * 1.01 + c, b - a
        d = a - c * 0.5
        total += d * d + max([a, b, d]) + i
        b = min(d, a) * 0.1
    return total, a, b, c


@pytest.mark.parametrize("function", [grown_sums, two_more])
def test_a_new_value_that_is_used_twice_is_not_computed_of_itself(function):
    """Code generation stores variables of a loop one by one where it sees no need of the others, and does not look into lets."""
    x = np.array([0.1, 0.7, 0.3])
    compiled = tilewright.jit(function, strict=True)
    for n in (70, 1, 2, 11):
        np.testing.assert_array_equal(compiled(x, n), function(x, n))
