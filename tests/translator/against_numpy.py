"""Translations run by Halide's JIT against NumPy: operations, casts, reductions, views, several kernels.

Programs run vectorized with guarded tails, and with the Funcs as they come: both must give NumPy's answer (bit for bit where the contract says so) and the
same bits as each other. Where the answer is NumPy's bits anyway, the second is for one case in three.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from examples import covering, one_in
from tilewright.debug.oracle import evaluate
from translator_process import Evaluator, Refused, plain_too
from ufuncs import EXACT_BINARY, EXACT_UNARY, REDUCTIONS, loop_of

pytestmark = pytest.mark.compile

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
FLOATS = ["float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


def specials(dtype: str) -> Array:
    """Values at which operations differ from the textbook."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        few = [
            0,
            1,
            2,
            3,
            5,
            7,
            8,
            15,
            31,
            32,
            63,
            64,
            100,
            info.max,
            info.max - 1,
            info.max // 2,
            info.min,
            info.min + 1,
        ]
        if dtype in SIGNED:
            few += [-1, -2, -3, -7, -8, -64, -100]
        return np.array(sorted({value for value in few if info.min <= value <= info.max}), dtype)
    info_f = np.finfo(dtype)
    few_f = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.7, 10.0, 1e10, 2.0**31, 2.0**63, 1e30, float(info_f.max),
             float(info_f.tiny), float(info_f.smallest_subnormal), np.inf, np.nan, 1 / 3, 0.1]  # fmt: skip
    return np.array([*few_f, *(-value for value in few_f)], dtype)


def same(ours: Array, numpys: Any, what: str) -> None:
    """Equal bits, any NaN equal to any other."""
    expected = np.asarray(numpys)
    assert ours.dtype == expected.dtype and ours.shape == expected.shape, f"{what}: {ours.dtype}{ours.shape}"
    if expected.dtype.kind == "f":
        bits = f"u{expected.dtype.itemsize}"
        wrong = (ours.view(bits) != expected.view(bits)) & ~(np.isnan(ours) & np.isnan(expected))
    else:
        wrong = ours != expected
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise AssertionError(f"{what}: {int(wrong.sum())} differ, at {at}: {ours[at]!r}, NumPy has {expected[at]!r}")


def run_both(
    evaluator: Evaluator, text: str, arguments: Mapping[str, Any], plain: bool = True, **options: Any
) -> list[Array]:
    vectorized = evaluator.run(text, arguments, schedule="vectorize", **options)
    if plain:
        for k, (a, b) in enumerate(zip(evaluator.run(text, arguments, **options), vectorized, strict=True)):
            same(b, a, f"result {k}, vectorized against plain, of\n{text}")
    return vectorized


def numpys(text: str, arguments: Mapping[str, Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        out = evaluate(text, arguments)
    return list(out) if isinstance(out, tuple) else [out]


def check(evaluator: Evaluator, text: str, arguments: Mapping[str, Any], **options: Any) -> None:
    for k, (ours, theirs) in enumerate(
        zip(run_both(evaluator, text, arguments, **options), numpys(text, arguments), strict=True)
    ):
        same(ours, theirs, f"result {k} of\n{text}")


PLAIN_TOO = plain_too(DTYPES)


def elementwise_program(lines: list[str], dtypes: list[str], names: str = "xyz") -> str:
    arguments = "".join(f"arg {name}: {dtype}[x.0]\n" for name, dtype in zip(names, dtypes, strict=False))
    results = ", ".join(f"v{k}" for k in range(len(lines)))
    body = "".join(f"v{k}: {line}\n" for k, line in enumerate(lines))
    return f"tilewright-program 1\nfunction f\n{arguments}{body}return ({results},)\n"


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operations(evaluator: Evaluator, dtype: str) -> None:
    lines = [f"{out}[x.0] = {name}(x)" for name in EXACT_UNARY if (out := loop_of(name, dtype, 1))]
    check(evaluator, elementwise_program(lines, [dtype]), {"x": np.tile(specials(dtype), 2)}, plain=dtype in PLAIN_TOO)


@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_operations(evaluator: Evaluator, dtype: str) -> None:
    lines = [f"{out}[x.0] = {name}(x, y)" for name in EXACT_BINARY if (out := loop_of(name, dtype, 2))]
    pairs = np.array(list(itertools.product(specials(dtype), repeat=2)))
    x, y = (np.ascontiguousarray(pairs[:, k]).astype(dtype) for k in (0, 1))
    text = elementwise_program(lines, [dtype, dtype])
    arguments = {"x": x, "y": y}
    both = run_both(evaluator, text, arguments, plain=dtype in PLAIN_TOO)
    for k, (ours, theirs) in enumerate(zip(both, numpys(text, arguments), strict=True)):
        if any(f" {name}(" in lines[k] for name in ("maximum", "minimum", "fmax", "fmin")) and dtype in FLOATS:
            # Which of 0.0 and -0.0 is the larger, NumPy leaves to the instruction at hand.
            same(ours + 0.0, theirs + 0.0, lines[k])
        else:
            same(ours, theirs, lines[k])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_division_by_constants(evaluator: Evaluator, dtype: str) -> None:
    constants = ["1", "2", "3", "7"] + (["-1", "-2", "-3"] if dtype not in UNSIGNED else [])
    constants += ["0.5", "inf", "0.0", "-0.0"] if dtype in FLOATS else ["0"]
    body, results = "", []
    for k, value in enumerate(constants):
        body += f"%{k}: {dtype}[] = const() {{value={value}}}\n"
        for name in ("floor_divide", "remainder", *(["divide"] if dtype in FLOATS else [])):
            results.append(f"{name}_{k}")
            body += f"{results[-1]}: {dtype}[x.0] = {name}(x, %{k})\n"
    text = f"tilewright-program 1\nfunction f\narg x: {dtype}[x.0]\n{body}return ({', '.join(results)})\n"
    check(evaluator, text, {"x": specials(dtype)}, plain=dtype in PLAIN_TOO)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_and_mixed_comparisons(evaluator: Evaluator, dtype: str) -> None:
    values = specials(dtype)
    text = elementwise_program([f"{dtype}[x.0] = where(x, y, z)"], ["bool", dtype, dtype])
    arguments = {"x": np.arange(values.size) % 2 == 0, "y": values, "z": values[::-1]}
    check(evaluator, text, arguments, plain=dtype in PLAIN_TOO)


def test_int64_with_uint64_compare_exactly(evaluator: Evaluator) -> None:
    names = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    for dtypes in (["int64", "uint64"], ["uint64", "int64"]):
        pairs = list(itertools.product(specials(dtypes[0]), specials(dtypes[1])))
        x = np.array([a for a, _ in pairs], dtypes[0])
        y = np.array([b for _, b in pairs], dtypes[1])
        check(evaluator, elementwise_program([f"bool[x.0] = {name}(x, y)" for name in names], dtypes), {"x": x, "y": y})


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(evaluator: Evaluator, dtype: str) -> None:
    values = specials(dtype)
    if dtype in FLOATS:
        edges = [sign * 2.0**bits + offset for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)
                 for offset in (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0)]  # fmt: skip
        values = np.concatenate([values, np.array(edges, dtype)])
    # Long enough that NumPy's own vector loops convert each of them.
    values = np.concatenate([values, np.zeros(-values.size % 64, dtype)])
    text = elementwise_program([f"{to}[x.0] = cast(x)" for to in DTYPES], [dtype])
    check(evaluator, text, {"x": values}, plain=dtype in PLAIN_TOO)


@pytest.mark.parametrize(("dtype",), one_in(3, INTEGERS))
def test_integer_powers_wrap(evaluator: Evaluator, dtype: str) -> None:
    body = "".join(
        f"%{e}: {dtype}[] = const() {{value={e}}}\nv{e}: {dtype}[x.0] = power(x, %{e})\n"
        for e in (0, 1, 2, 3, 5, 10, 63)
    )
    text = f"tilewright-program 1\nfunction f\narg x: {dtype}[x.0]\n{body}return (v0, v1, v2, v3, v5, v10, v63)\n"
    check(evaluator, text, {"x": specials(dtype)})
    variable = elementwise_program([f"{dtype}[x.0] = power(x, y)"], [dtype, dtype])
    pairs = np.array(list(itertools.product(specials(dtype), repeat=2)), dtype)
    if dtype in UNSIGNED:
        check(evaluator, variable, {"x": pairs[:, 0].copy(), "y": pairs[:, 1].copy()})
    else:
        with pytest.raises(Refused, match="may be negative"):
            evaluator.run(variable, {"x": pairs[:, 0].copy(), "y": pairs[:, 1].copy()})


@pytest.mark.parametrize("dtype", FLOATS)
def test_small_whole_powers_are_products_within_two_ulp(evaluator: Evaluator, dtype: str) -> None:
    """Cubes and fourth powers; of float32 higher ones too, by float64."""
    exponents = [3, 4, *([5, 6, 7, 8, 12, 15, 16] if dtype == "float32" else [])]
    rng = np.random.default_rng(7)
    bits = {"float32": np.uint32, "float64": np.uint64}[dtype]
    anything = rng.integers(0, np.iinfo(bits).max, 60_000, bits, endpoint=True).view(dtype)
    # Every mantissa's end of [1, 2), where a unit is largest, and what comes near the largest and the smallest numbers.
    near = (1 + rng.random(200_000)).astype(dtype) * rng.choice([1, -1], 200_000).astype(dtype)
    top = float(np.finfo(dtype).max)
    edges = [sign * bound ** (1 / n) * (1 + k * 1e-7) for n in exponents for sign in (1, -1) for k in range(-3, 4)
             for bound in (top, float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).tiny))]  # fmt: skip
    x = np.concatenate([specials(dtype), np.array(edges, dtype), anything, near])
    body = "".join(
        f"%{n}: {dtype}[] = const() {{value={n}.0}}\nv{n}: {dtype}[x.0] = power(x, %{n})\n" for n in exponents
    )
    returned = ", ".join(f"v{n}" for n in exponents)
    text = f"tilewright-program 1\nfunction f\narg x: {dtype}[x.0]\n{body}return ({returned})\n"
    with np.errstate(all="ignore"):
        for n, ours in zip(exponents, run_both(evaluator, text, {"x": x}), strict=True):
            if n == 3:
                same(ours, x * x * x, "cubes")
            if n == 4:
                same(ours, (x * x) * (x * x), "fourth powers")
            true = x.astype(np.longdouble) ** n
            rounded = true.astype(dtype)
            exact = ~np.isfinite(rounded) | ~np.isfinite(ours) | (rounded == 0)
            off = np.abs(ours.astype(np.longdouble) - true) / np.spacing(np.abs(rounded))
            assert np.max(off[~exact]) <= (1.93 if n <= 4 else 0.501), n
            # An infinity one unit above the largest number is within two; signs hold everywhere.
            near_top = np.abs(true) >= np.longdouble(top) * (1 - 4 * float(np.finfo(dtype).eps))
            same(np.where(near_top, rounded, ours)[exact], rounded[exact], f"what overflows or vanishes, to the {n}")
            same(np.sign(ours), np.sign(rounded), f"signs, to the {n}")


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_functions_of_the_c_library_have_its_bits(evaluator: Evaluator, name: str) -> None:
    x = np.abs(np.random.default_rng(4).normal(size=300)) * 10
    text = f"tilewright-program 1\nfunction f\narg x: float64[x.0]\ny: float64[x.0] = libm_{name}(x)\nreturn y\n"
    (ours,) = evaluator.run(text, {"x": x})
    np.testing.assert_array_equal(ours, [getattr(math, name)(one) for one in x])


def test_states_and_words_of_pcg64(evaluator: Evaluator) -> None:
    """From any state and increment, for small and large numbers of steps."""
    rng = np.random.default_rng(3)
    names = "stabn"
    words = {name: rng.integers(0, 2**64, 64, np.uint64) for name in names}
    words["s"][:4], words["t"][:4] = 0, [0, 1, 2**64 - 1, 2**63]
    lines = ["uint64[s.0] = pcg64_high(s, t, a, b, n)", "uint64[s.0] = pcg64_low(t, b, n)",
             "uint64[s.0] = pcg64_word(s, t, a, b, %0, %1)"]  # fmt: skip
    arguments = "".join(f"arg {name}: uint64[s.0]\n" for name in names)
    body = "%2: uint64[] = const() {value=0}\n%3: uint64[] = const() {value=1}\n"
    body += "%0: uint64[s.0] = pcg64_high(%2, %2, %2, %3, n)\n%1: uint64[s.0] = pcg64_low(%2, %3, n)\n"
    body += "".join(f"v{k}: {line}\n" for k, line in enumerate(lines))
    text = f"tilewright-program 1\nfunction f\n{arguments}{body}return (v0, v1, v2)\n"
    words["n"] = np.arange(64, dtype=np.uint64) * 7
    check(evaluator, text, words)
    # Far away the oracle, which takes one step after the other, is NumPy's own generator.
    steps = np.array([0, 1, 2**31, 2**32 + 5, 2**39, 2**40 - 1], np.uint64)
    generators = [np.random.PCG64(int(k)) for k in range(len(steps))]
    states = [generator.state["state"] for generator in generators]
    inputs = {
        "s": [one["state"] >> 64 for one in states], "t": [one["state"] % 2**64 for one in states],
        "a": [one["inc"] >> 64 for one in states], "b": [one["inc"] % 2**64 for one in states], "n": steps,
    }  # fmt: skip
    far = {name: np.array(held, np.uint64) for name, held in inputs.items()}
    high, low, word = evaluator.run(text, far)
    for k, generator in enumerate(generators):
        generator.advance(int(steps[k]))
        state = generator.state["state"]["state"]
        assert (int(high[k]) << 64) + int(low[k]) == state
        mixed, turn = (state >> 64) ^ (state % 2**64), state >> 122
        assert int(word[k]) == (mixed >> turn | mixed << (-turn % 64)) % 2**64


def test_simplification_keeps_nan_and_signed_zero(evaluator: Evaluator) -> None:
    """What a simplifier over the reals would fold."""
    lines = ["DTYPE[x.0] = " + line for line in (
        "subtract(x, x)", "add(x, %0)", "multiply(x, %0)", "multiply(x, %1)", "add(x, %2)", "divide(x, x)",
        "subtract(%0, x)", "multiply(x, %3)", "subtract(x, %2)", "add(x, %4)", "where(%7, x, y)", "where(%8, x, y)",
        "where(%9, x, y)", "divide(%0, x)", "maximum(x, %4)", "minimum(%4, x)",
    )]  # fmt: skip
    for dtype in FLOATS:
        constants = "".join(
            f"%{k}: {dtype}[] = const() {{value={value}}}\n"
            for k, value in enumerate(["0.0", "1.0", "-0.0", "-1.0", "nan"])
        )
        tests = """%5: bool[x.0] = less(x, y)
%7: bool[x.0] = logical_not(%5)
%8: bool[x.0] = equal(x, x)
%9: bool[x.0] = greater_equal(x, y)
"""
        body = "".join(f"v{k}: {line.replace('DTYPE', dtype)}\n" for k, line in enumerate(lines))
        results = ", ".join(f"v{k}" for k in range(len(lines)))
        text = (
            f"tilewright-program 1\nfunction f\narg x: {dtype}[x.0]\narg y: {dtype}[x.0]\n{constants}{tests}{body}"
            f"return ({results})\n"
        )
        pairs = np.array(list(itertools.product(specials(dtype), repeat=2)), dtype)
        check(evaluator, text, {"x": pairs[:, 0].copy(), "y": pairs[:, 1].copy()})


def random_array(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], nasty: float = 0.0) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    out = np.asarray(rng.normal(size=shape)).astype(dtype)
    if nasty:
        wild = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype), shape)
        out = np.where(rng.random(shape) < nasty, wild, out)
    return out


def reduction_text(op: str, dtype: str, rank: int, axes: tuple[int, ...], operand: str = "x") -> str:
    out = dtype
    if op in ("sum", "prod"):
        out = str(np.add.reduce(np.zeros(1, dtype)).dtype)
    if op in ("any", "all"):
        out = "bool"
    if op in ("argmin", "argmax"):
        out = "int64"
    kept = ", ".join(f"x.{k}" for k in range(rank) if k not in axes)
    shape = ", ".join(f"x.{k}" for k in range(rank))
    attribute = f"axis={axes[0]}" if op.startswith("arg") else f"axes={list(axes)}"
    return (
        f"tilewright-program 1\nfunction f\narg x: {dtype}[{shape}]\n"
        f"y: {out}[{kept}] = {op}(x) {{{attribute}}}\nreturn y\n"
    )


def options_of(op: str, dtype: str, axes: tuple[int, ...], shape: tuple[int, ...]) -> list[str]:
    count = int(np.prod([shape[k] for k in axes]))
    longest = max([shape[k] for k in axes], default=1) if len(axes) > 1 else count
    ordered = op in ("sum", "prod") and dtype in FLOATS
    block = 512 if ordered and dtype == "float64" else 1024 if ordered else 4096
    options = ["lanes1"] if max(count, longest) <= block else []
    options += ["lanes2"] + (["lanes3"] if not op.startswith("arg") else [])
    if not (ordered and count > 32 and len(shape) - 1 in axes):
        options.append("serial")
    if len(axes) == 1:
        options += ["rows", "rows2", "rows3"] if dtype in ("int8", "float32") else ["rows"]
    return options


SHAPES: list[tuple[int, ...]] = [(0,), (1,), (31,), (64,), (65,), (1000,), (5000,), (3, 4), (5, 100), (100, 5), (0, 3), (3, 0),
                                 (2, 3, 70), (1, 1100, 2), (2, 3, 4, 40)]  # fmt: skip


Reduction = tuple[str, str, int, tuple[int, ...], str]  # operation, dtype, rank, axes, option


def reductions() -> Iterator[Reduction]:
    """Compiling takes the time: several axes are tried with fewer dtypes."""
    dtypes = {
        1: ["bool", "int8", "int64", "float32", "float64"],
        2: ["int8", "float64"],
        3: ["float32"],
        4: ["float32"],
    }
    for op, rank in itertools.product(REDUCTIONS, dtypes):
        subsets = [axes for n in range(1, rank + 1) for axes in itertools.combinations(range(rank), n)]
        for dtype, axes in itertools.product(dtypes[rank], subsets):
            if op.startswith("arg") and len(axes) > 1:
                continue
            shapes = [shape for shape in SHAPES if len(shape) == rank]
            options = dict.fromkeys(option for shape in shapes for option in options_of(op, dtype, axes, shape))
            yield from ((op, dtype, rank, axes, option) for option in options)


TRIED = covering(
    reductions(),
    lambda case: (case[0], case[1]),
    lambda case: (case[0], case[2]),
    lambda case: (case[0], case[4]),
    lambda case: (case[1], case[4]),
    lambda case: (case[2], case[4]),
    lambda case: (case[3], case[0].startswith("arg")),
    lambda case: (case[2], case[3]),
)


TRIED_PLAIN_TOO = plain_too(TRIED)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(evaluator: Evaluator, op: str) -> None:
    rng = np.random.default_rng(len(op))
    for case in (case for case in TRIED if case[0] == op):
        _, dtype, rank, axes, option = case
        rounds = op in ("sum", "prod") and dtype in FLOATS
        for number, shape in enumerate(SHAPES):
            count = int(np.prod([shape[k] for k in axes])) if len(shape) == rank else 0
            if len(shape) != rank or option not in options_of(op, dtype, axes, shape):
                continue
            if op in ("max", "min", "argmin", "argmax") and count == 0:
                continue
            x = operand_of(rng, op, dtype, shape, number)
            text = reduction_text(op, dtype, rank, axes)
            expected = numpys(text, {"x": x})[0]
            layouts = {"x": ["c", "f", "any"][(number + len(axes)) % 3]} if option == "serial" else {}
            plain = rounds or case in TRIED_PLAIN_TOO
            ours = run_both(evaluator, text, {"x": x}, plain, variant={"y": option}, layouts=layouts)[0]
            what = f"{op} of {dtype}{shape} over {axes} as {option}"
            if not rounds:
                if dtype in FLOATS and op in ("max", "min"):
                    ours, expected = ours + 0.0, expected + 0.0
                same(ours, expected, what)
                continue
            exact = getattr(np, op)(x.astype(np.longdouble), axis=axes)
            scale = np.sum(np.abs(x.astype(np.longdouble)), axis=axes) if op == "sum" else np.abs(exact)
            slack = np.finfo(dtype).eps * scale * max(16.0, count / 64)
            assert ours.dtype == np.dtype(dtype) and (np.abs(ours - exact) <= slack).all(), what
            if count == 0:
                same(ours, expected, what)


def operand_of(rng: np.random.Generator, op: str, dtype: str, shape: tuple[int, ...], number: int) -> Array:
    x = random_array(rng, dtype, shape, nasty=0.02 if number % 2 and op not in ("sum", "prod") else 0.0)
    if op.startswith("arg") and dtype in FLOATS:
        x = np.round(x * 2)  # ties
    if op == "prod" and dtype in FLOATS:
        x = np.exp(x / 50)
    return x


@pytest.mark.parametrize(("op", "dtype", "axes"), one_in(2, ["sum", "prod"], FLOATS, [(0,), (1,), (0, 1)]))
def test_levels_of_lanes_round_alike(evaluator: Evaluator, op: str, dtype: str, axes: tuple[int, ...]) -> None:
    """How many levels a tree has is a schedule's matter, and no schedule changes a bit."""
    rng = np.random.default_rng(len(op))
    text = reduction_text(op, dtype, 2, axes)
    for shape in ((3, 4), (5, 100), (100, 5), (2, 700)):
        x = operand_of(rng, op, dtype, shape, 0)
        levels = [option for option in options_of(op, dtype, axes, shape) if option.startswith("lanes")]
        results = [
            run_both(evaluator, text, {"x": x}, dtype in PLAIN_TOO, variant={"y": option})[0] for option in levels
        ]
        for other in results[1:]:
            same(other, results[0], f"levels of {op} of {dtype}{shape} over {axes}")


def test_sum_of_negative_zeros_is_zero(evaluator: Evaluator) -> None:
    for dtype in FLOATS:
        for option in ("serial", "lanes1", "lanes2", "rows", "rows2"):
            text = reduction_text("sum", dtype, 1, (0,))
            ours = evaluator.run(text, {"x": np.full(20, -0.0, dtype)}, variant={"y": option})[0]
            same(ours, np.zeros((), dtype), option)


def dtypes_of(op: str) -> list[str]:
    return ["float64", "int64", "bool"] if op in ("any", "all") else ["float64", "int64"]


UNMOVED = covering(
    [
        (op, dtype, option)
        for op in REDUCTIONS
        for dtype in dtypes_of(op)
        for option in options_of(op, dtype, (1,), (5, 3))
    ],
    lambda case: case[:2],
    lambda case: (case[0], case[2].rstrip("123")),
    lambda case: case[1:],
)


UNMOVED_PLAIN_TOO = plain_too(UNMOVED)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduction_along_an_axis_on_which_nothing_moves(evaluator: Evaluator, op: str) -> None:
    """Halide takes an update whose value does not change along its domain for one without a domain."""
    dtypes = dtypes_of(op)
    tried = {(dtype, option) for each, dtype, option in UNMOVED if each == op}
    for dtype in dtypes:
        kept = "bool" if op in ("any", "all") else "int64" if op.startswith("arg") else dtype
        attribute = "axis=1" if op.startswith("arg") else "axes=[1]"
        all_attribute = "axis=0" if op.startswith("arg") else "axes=[0]"
        value = {"float64": "1.0625", "int64": "3", "bool": "false"}[dtype]
        text = f"""tilewright-program 1
function f
arg b: {dtype}[b.0]
scalar n: int64
%1: {dtype}[b.0, 1] = index(b) {{index=[0:1, newaxis]}}
%2: {dtype}[b.0, n] = broadcast_to(%1)
y: {kept}[b.0] = {op}(%2) {{{attribute}}}
%3: {dtype}[] = const() {{value={value}}}
%4: {dtype}[n] = broadcast_to(%3)
z: {kept}[] = {op}(%4) {{{all_attribute}}}
return (y, z)
"""
        for n in (0, 1, 3, 40, 700):
            if n == 0 and op not in ("sum", "prod", "any", "all"):
                continue
            arguments = {"b": np.array([1, 0, 2, 1, 3], dtype), "n": np.int64(n)}
            for option in options_of(op, dtype, (1,), (5, n)):
                if (dtype, option) not in tried:
                    continue
                if op == "prod" and dtype == "float64" and n > 40:
                    continue
                variant = {"y": option, "z": option}
                with np.errstate(all="ignore"):
                    expected = numpys(text, arguments)
                plain = (op, dtype, option) in UNMOVED_PLAIN_TOO
                results = run_both(evaluator, text, arguments, plain, variant=variant, sizes={"n": n})
                for ours, theirs in zip(results, expected, strict=True):
                    if op in ("sum", "prod") and dtype == "float64":
                        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
                    else:
                        same(ours, theirs, f"{op} of {dtype}, {n} times, as {option}")


def test_reduction_of_expressions_and_default_variants(evaluator: Evaluator) -> None:
    """Collapsed, broadcast and staged operands, with the variant that the sizes choose."""
    text = """tilewright-program 1
function f
arg X: float64[X.0, X.1]
arg m: float64[X.1]
scalar a: float64
%0: float64[X.0, X.1] = multiply(X, X)
all_squares: float64[] = sum(%0) {axes=[0, 1]}
centred: float64[X.0, X.1] = subtract(X, m)
%1: float64[X.0, X.1] = multiply(centred, a)
spread: float64[] = sum(%1) {axes=[0, 1]}
columns: float64[X.1] = sum(centred) {axes=[0]}
%2: float64[X.0, X.1] = absolute(centred)
largest: float64[X.0] = max(%2) {axes=[1]}
return (all_squares, spread, columns, largest, centred)
"""
    rng = np.random.default_rng(1)
    for shape in [(1, 1), (7, 3), (300, 70), (20000, 3), (3, 2000), (0, 4)]:
        if shape[1] == 0:
            continue
        arguments = {"X": rng.normal(size=shape), "m": rng.normal(size=shape[1]), "a": np.float64(1.5)}
        for ours, theirs in zip(run_both(evaluator, text, arguments), numpys(text, arguments), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)


KMEANS = """tilewright-program 1
function get_labels "kmeans.py"
arg X: {0}[X.0, X.1]
arg means: {0}[means.0, X.1]
guard means.0 >= 1 "attempt to get argmin of an empty sequence" @8
%1: {0}[means.0, 1, X.1] = index(means) {{index=[0:1, newaxis, 0:1]}} @8
%2: {0}[means.0, X.0, X.1] = subtract(X, %1) @8
%3: {0}[means.0, X.0, X.1] = multiply(%2, %2) @8
norm: {0}[means.0, X.0] = sum(%3) {{axes=[2]}} @8
%4: {0}[means.0, X.0] = sqrt(norm) @8
argmin: int64[X.0] = argmin(%4) {{axis=0}} @8
return argmin
"""


@pytest.mark.parametrize("dtype", FLOATS)
def test_kmeans(evaluator: Evaluator, dtype: str) -> None:
    rng = np.random.default_rng(2)
    for n, k, d in [(0, 2, 2), (1, 1, 1), (100, 2, 2), (1001, 3, 3), (57, 5, 40)]:
        arguments = {"X": rng.normal(size=(n, d)).astype(dtype), "means": rng.normal(size=(k, d)).astype(dtype)}
        for layout in ("c", "f", "any"):
            check(evaluator, KMEANS.format(dtype), arguments, layouts={"X": layout})
        nasty = {name: np.where(rng.random(x.shape) < 0.1, np.array(np.nan, dtype), x) for name, x in arguments.items()}
        check(evaluator, KMEANS.format(dtype), nasty, layouts={"X": "c"})


def floats_of_bits(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Any bits: every exponent is as likely as any other, NaN, infinities and subnormals among them."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return rng.integers(0, np.iinfo(bits).max, shape, bits, endpoint=True).view(dtype)


SEARCH_OF_ROOTS = """tilewright-program 1
function f
arg x: {0}[x.0, x.1]
guard x.0 >= 1 "empty"
%1: {0}[x.0, x.1] = absolute(x)
%2: {0}[x.0, x.1] = sqrt(%1)
least: int64[x.1] = argmin(%2) {{axis=0}}
most: int64[x.1] = argmax(%2) {{axis=0}}
return (least, most)
"""


def neighbours(rng: np.random.Generator, dtype: str) -> tuple[Array, Array]:
    """Numbers of every exponent, as bits, and the bits of infinity."""
    info = np.finfo(dtype)
    bits = np.dtype(f"u{info.dtype.itemsize}")
    mantissas = [0, 1, 2, (1 << info.nmant) - 1, (1 << info.nmant) - 20, 1 << (info.nmant - 1)]
    exponents = np.arange(0, (1 << info.nexp) - 1).astype(bits)
    if dtype == "float64":
        # Every eighth, and all at the ends.
        exponents = np.concatenate([exponents[:70], exponents[70:-20:8], exponents[-20:]])
    fixed = np.array(mantissas, bits)
    drawn = rng.integers(0, 1 << info.nmant, (exponents.size, 6), bits)
    mantissa = np.concatenate([np.broadcast_to(fixed, (exponents.size, fixed.size)), drawn], axis=1)
    subnormal = (np.uint64(1) << np.arange(info.nmant, dtype="u8")).astype(bits)
    base = ((exponents << bits.type(info.nmant))[:, None] | mantissa).ravel()
    return np.concatenate([base, subnormal]), np.array(np.inf, dtype).view(bits)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("candidates", [2, 3, 4, 5])
def test_searches_of_roots_that_nearly_tie(evaluator: Evaluator, dtype: str, candidates: int) -> None:
    """Squares up to 40 steps apart: whether their roots differ decides who is the first of the best."""
    rng = np.random.default_rng(candidates)
    base, infinity = neighbours(rng, dtype)
    steps = np.arange(41, dtype=base.dtype)
    if candidates == 2:
        near = (base[:, None] + steps).ravel()
        rows = np.stack([np.repeat(base, steps.size), near])
        rows = np.concatenate([rows, rows[::-1]], axis=1)
    else:
        spans = rng.choice(np.array([3, 6, 41], base.dtype), base.size * 12)
        rows = np.repeat(base, 12)[None, :] + rng.integers(0, spans, (candidates, base.size * 12), base.dtype)
    x = np.minimum(rows, infinity).view(dtype)
    check(evaluator, SEARCH_OF_ROOTS.format(dtype), {"x": x}, variant={"least": "serial", "most": "serial"})
    tied = (np.sqrt(x) == np.sqrt(x[:1])) & (x != x[:1])
    assert tied.any(axis=0).sum() > 1000, "the near ties are no longer near"


@pytest.mark.parametrize("dtype", FLOATS)
def test_searches_of_roots_among_special_values(evaluator: Evaluator, dtype: str) -> None:
    info = np.finfo(dtype)
    few = np.array([0.0, -0.0, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 1.0], dtype)
    for candidates in (1, 2, 3, 4):
        x = np.array(list(itertools.product(few, repeat=candidates)), dtype).T.copy()
        check(evaluator, SEARCH_OF_ROOTS.format(dtype), {"x": x}, variant={"least": "serial", "most": "serial"})
    wild = floats_of_bits(np.random.default_rng(9), dtype, (5, 100000))
    check(evaluator, SEARCH_OF_ROOTS.format(dtype), {"x": wild}, variant={"least": "serial", "most": "serial"})


def test_roots_of_what_may_be_negative_are_searched_as_roots(evaluator: Evaluator) -> None:
    """A negative number's root is NaN, which wins; its square would not."""
    text = SEARCH_OF_ROOTS.replace("%1: {0}[x.0, x.1] = absolute(x)", "%1: {0}[x.0, x.1] = add(x, x)")
    rng = np.random.default_rng(10)
    x = floats_of_bits(rng, "float32", (3, 5000))
    check(evaluator, text.format("float32"), {"x": x}, variant={"least": "serial", "most": "serial"})


def quotient_program(a: str, b: str, result: str) -> str:
    return (
        f"tilewright-program 1\nfunction f\narg a: float32[{a}]\narg b: float32[{b}]\n"
        f"y: float32[{result}] = divide(a, b)\nreturn y\n"
    )


def divisors(rng: np.random.Generator, count: int) -> Array:
    """Random bits, but half of them small integers times powers of two, of which quotients fall between two floats."""
    wild = floats_of_bits(rng, "float32", (count,))
    tame = np.ldexp(rng.integers(1, 2000, count), rng.integers(-126, 100, count)).astype("f4")
    return np.where(rng.random(count) < 0.5, wild, tame)


def dividends(rng: np.random.Generator, b: Array, columns: int) -> Array:
    """Random bits; subnormal quotients that lie in the very middle; and quotients about the smallest normal number."""
    wild = floats_of_bits(rng, "float32", (b.size, columns))
    kind = rng.random((b.size, columns))
    with np.errstate(all="ignore"):
        wide = b.astype("f8")[:, None]
        middle = wide * (2.0 * rng.integers(0, 1 << 12, wild.shape) + 1) * 2.0**-150
        edge = wide * (2.0**-126 + rng.integers(-8, 8, wild.shape) * 2.0**-150)
        return np.where(kind < 0.6, wild, np.where(kind < 0.85, middle, edge).astype("f4"))


def test_divisors_that_a_row_shares(evaluator: Evaluator) -> None:
    """One reciprocal in float64 for a row must give the bits of each division. TILEWRIGHT_DIVISIONS says how many."""
    rng = np.random.default_rng(int(os.environ.get("TILEWRIGHT_SEED", "1")))
    total = int(os.environ.get("TILEWRIGHT_DIVISIONS", "1000000"))
    text = quotient_program("a.0, a.1", "a.0, 1", "a.0, a.1")
    while total > 0:
        rows = min(10000, max(1, total // 1000))
        b = divisors(rng, rows)
        a = dividends(rng, b, 1000)
        with np.errstate(all="ignore"):
            expected = a / b[:, None]
        assert (np.abs(expected[expected != 0]) < np.finfo("f4").tiny).mean() > 0.1, "too few subnormal quotients"
        same(run_both(evaluator, text, {"a": a, "b": b[:, None]})[0], expected, "a / b")
        total -= a.size


def test_divisors_of_every_shape_and_order(evaluator: Evaluator) -> None:
    rng = np.random.default_rng(12)
    special = specials("float32")
    b = np.concatenate([special, divisors(rng, 60)])
    a = np.concatenate([dividends(rng, b, 97), np.broadcast_to(special, (b.size, special.size))], axis=1)
    row = np.ascontiguousarray(a[0])
    # What moves along the rows, what does not, and the same of columns, for both orders of a.
    for layout in ("c", "f", "any"):
        layouts = {"a": layout}
        for shape, values in (("a.0, 1", b[:, None]), ("1, a.1", row[None, :]), ("a.1", row), ("a.0, a.1", a[::-1].copy()),
                              ("1, 1", b[:1, None]), ("1", b[3:4])):  # fmt: skip
            text = quotient_program("a.0, a.1", shape, "a.0, a.1")
            check(evaluator, text, {"a": a, "b": values}, plain=layout in plain_too(["any", "c", "f"]), layouts=layouts)
    check(evaluator, quotient_program("a.0", "b.0, 1", "b.0, a.0"), {"a": row, "b": b[:, None]})
    check(evaluator, quotient_program("a.0, 1", "b.0", "a.0, b.0"), {"a": b[:, None], "b": row})
    for divisor in b:
        check(evaluator, quotient_program("a.0", "", "a.0"), {"a": a.ravel(), "b": divisor})
    check(evaluator, quotient_program("", "", ""), {"a": np.float32(1), "b": np.float32(3)})


SOFTMAX = """tilewright-program 1
function softmax
arg A: float32[A.0, A.1]
arg B: float32[A.1, B.1]
guard B.1 >= 1 "zero-size array to reduction operation maximum which has no identity" @3
z: float32[A.0, B.1] = matmul(A, B) @2
max: float32[A.0] = max(z) {axes=[1]} @3
%1: float32[A.0, 1] = index(max) {index=[0:1, newaxis]} @3
%2: float32[A.0, B.1] = subtract(z, %1) @3
e: float32[A.0, B.1] = exp(%2) @3
sum: float32[A.0] = sum(e) {axes=[1]} @4
%3: float32[A.0, 1] = index(sum) {index=[0:1, newaxis]} @4
%4: float32[A.0, B.1] = divide(e, %3) @4
return %4
"""


def test_matmul_and_softmax(evaluator: Evaluator) -> None:
    rng = np.random.default_rng(3)
    for n, k, m in [(1, 1, 1), (17, 9, 33), (70, 80, 90), (3, 0, 2), (4, 5, 2000)]:
        arguments = {"A": rng.normal(size=(n, k)).astype("f4"), "B": rng.normal(size=(k, m)).astype("f4")}
        expected = numpys(SOFTMAX, arguments)[0]
        for variant, layouts in one_in(2, ["loops", "blas"], [{}, {"A": "f"}, {"A": "any", "B": "f"}]):
            ours = run_both(evaluator, SOFTMAX, arguments, not layouts, variant={"z": variant}, layouts=layouts)[0]
            np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-7)
    with pytest.raises(Refused, match="no such option under contract reproducible"):
        evaluator.run(SOFTMAX, arguments, variant={"z": "blas"}, contract="reproducible")


def test_stacks_of_matrices(evaluator: Evaluator) -> None:
    text = """tilewright-program 1
function f
arg A: float64[A.0, 1, A.2, A.3]
arg B: float64[B.0, A.3, B.2]
C: float64[A.0, B.0, A.2, B.2] = matmul(A, B) @2
%1: float64[B.0, B.2, A.3] = transpose(B) {axes=[0, 2, 1]} @3
%2: float64[A.0, 1, A.3, A.2] = transpose(A) {axes=[0, 1, 3, 2]} @3
D: float64[A.0, B.0, B.2, A.2] = matmul(%1, %2) @3
%3: float64[A.3, B.2] = index(B) {index=[B.0 - 1, 0:1, 0:1]} @4
%4: float64[A.0, 1, A.2, A.3] = add(A, A) @4
E: float64[A.0, 1, A.2, B.2] = matmul(%4, %3) @4
return (C, D, E)
"""
    rng = np.random.default_rng(3)
    for (s, t), (m, k, n) in itertools.product([(2, 3), (1, 1), (4, 1)], [(1, 1, 1), (3, 5, 4), (17, 2, 33)]):
        arguments = {"A": rng.normal(size=(s, 1, m, k)), "B": rng.normal(size=(t, k, n))}
        expected = numpys(text, arguments)
        for variant, layouts in one_in(2, ["loops", "blas"], [{}, {"A": "f"}, {"A": "any", "B": "f"}]):
            chosen = dict.fromkeys("CDE", variant)
            results = run_both(evaluator, text, arguments, not layouts, variant=chosen, layouts=layouts)
            for ours, theirs in zip(results, expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_integer_matmul_wraps(evaluator: Evaluator) -> None:
    rng = np.random.default_rng(4)
    for dtype in ("int8", "int64", "uint32", "bool"):
        text = f"""tilewright-program 1
function f
arg a: {dtype}[a.0, a.1]
arg b: {dtype}[a.1, b.1]
c: {dtype}[a.0, b.1] = matmul(a, b)
return c
"""
        check(evaluator, text, {"a": random_array(rng, dtype, (5, 7)), "b": random_array(rng, dtype, (7, 3))})


LIBRARY_CHAIN = """tilewright-program 1
function f
arg A: float64[A.0, A.1]
arg B: float64[A.1, A.1]
scale: float64[A.1, A.1] = add(B, B)
bias: float64[A.1] = sum(B) {axes=[0]}
P: float64[A.0, A.1] = matmul(A, B)
%1: float64[A.0, A.1] = add(P, bias)
Q: float64[A.0, A.1] = matmul(%1, scale)
%2: float64[A.1, A.0] = transpose(A) {axes=[1, 0]}
R: float64[A.1, A.1] = matmul(%2, Q)
top: float64[] = max(R) {axes=[0, 1]}
return (P, Q, R, top, %1, P)
"""


def test_kernels_around_library_products(evaluator: Evaluator) -> None:
    rng = np.random.default_rng(5)
    arguments = {"A": rng.normal(size=(6, 5)), "B": rng.normal(size=(5, 5))}
    expected = numpys(LIBRARY_CHAIN, arguments)
    for choice in one_in(2, *[["loops", "blas"]] * 3):
        chosen = dict(zip("PQR", choice, strict=True))
        results = run_both(evaluator, LIBRARY_CHAIN, arguments, choice[0] == "loops", variant=chosen)
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_views(evaluator: Evaluator) -> None:
    text = """tilewright-program 1
function f
arg X: float32[X.0, X.1, X.2]
scalar n: int64
c: float32[] = const() {value=-0.0}
%0: float32[X.1, X.0] = index(X) {index=[0:1, 0:1, X.2 - 1]}
%1: float32[X.1, X.0] = transpose(%9) {axes=[1, 0]}
return c
"""
    with pytest.raises(Refused):
        evaluator.run(text, {"X": np.zeros((2, 3, 4), "f4"), "n": np.int64(1)})
    rng = np.random.default_rng(6)
    x = rng.normal(size=(4, 6, 5)).astype("f4")
    text = """tilewright-program 1
function f
arg X: float32[X.0, X.1, X.2]
scalar n: int64
one: float32[] = const() {value=1.0}
%0: float32[X.0, X.1] = index(X) {index=[0:1, 0:1, X.2 - 1]}
a: float32[X.0, X.1] = add(%0, one)
%2: float32[X.1, X.0] = transpose(a) {axes=[1, 0]}
%3: float32[X.1 // 2, X.0] = index(%2) {index=[1:2, X.0 - 1:-1]}
b: float32[X.1 // 2, X.0] = multiply(%3, %3)
%4: float32[X.0 * X.1 * X.2] = reshape(X)
d: float32[X.0 * X.1 * X.2] = add(%4, one)
%5: float32[X.0 * X.1, X.2] = reshape(X)
e: float32[X.0 * X.1, X.2] = add(%5, one)
s: float32[X.0, X.1, X.2] = square(X)
%6: float32[X.0, X.1 * X.2, 1] = reshape(s)
g: float32[X.0, X.1 * X.2, 1] = add(%6, one)
%7: float32[X.0 * X.1 * X.2] = reshape(s)
h: float32[X.0 * X.1 * X.2] = add(%7, one)
%8: float32[X.2, X.1, X.0] = reshape(s)
k: float32[X.2, X.1, X.0] = add(%8, one)
%9: float32[3, X.0, X.1] = broadcast_to(a)
i: int64[n, 3] = iota() {axis=0}
m: int64[] = scalar_size() {size=(X.0 + X.1) * n}
w: int64[n, 3] = add(i, m)
u: float32[X.0, X.1] = update(a, one) {index=[2, X.1 - 2]}
v: float32[X.0, X.1] = update(u, b_part) {index=[0:2, X.1 - 1:-3]}
return (a, b, d, e, g, h, k, %9, w, %2, u, v)
""".replace(
        "v: float32",
        "%10: float32[2, 2] = index(a) {index=[0:1, 0:1]}\nb_part: float32[2, 2] = multiply(%10, %10)\nv: float32",
    )
    for layout in ("c", "f", "any"):
        plain = layout in plain_too(["any", "c", "f"])
        check(evaluator, text, {"X": x, "n": np.int64(7)}, plain=plain, layouts={"X": layout})


def test_scalars_of_every_dtype(evaluator: Evaluator) -> None:
    text = """tilewright-program 1
function f
arg X: float64[X.0]
scalar b: bool
scalar i: int64
scalar d: float64
%0: float64[] = cast(i)
%1: float64[X.0] = add(X, %0)
%2: float64[X.0] = where(b, %1, d)
n: int64[] = add(i, i)
return (%2, n, %2)
"""
    for flag in (False, True):
        arguments = {"X": np.arange(5.0), "b": np.bool_(flag), "i": np.int64(-(2**62)), "d": np.float64(-0.0)}
        check(evaluator, text, arguments)


def test_refusals_name_value_line_and_reason(evaluator: Evaluator) -> None:
    def refusal(text: str, arguments: Mapping[str, Any]) -> str:
        with pytest.raises(Refused) as refused:
            evaluator.run(text, arguments)
        return str(refused.value)

    header = 'tilewright-program 1\nfunction f "f.py"\narg X: float64[X.0, X.1]\n'
    x = {"X": np.zeros((2, 3))}
    assert refusal(header + "%1: float64[X.1, X.0] = transpose(X) {axes=[1, 0]} @4\nreturn %1\n", x) == (
        "f.py:4: %1 = transpose(X) {axes=[1, 0]}: returns a view of X, whose memory NumPy's result would share; "
        "a kernel gives new memory. Let NumPy run this function, or return a copy."
    )
    assert "no such choice" in refusal_with_variant(
        evaluator, header + "y: float64[X.0, X.1] = add(X, X)\nreturn y\n", x
    )


def refusal_with_variant(evaluator: Evaluator, text: str, arguments: Mapping[str, Any]) -> str:
    with pytest.raises(Refused) as refused:
        evaluator.run(text, arguments, variant={"nowhere": "serial"})
    return str(refused.value)


def test_a_returned_argument_is_returned_as_it_is(evaluator: Evaluator) -> None:
    text = "tilewright-program 1\nfunction f\narg X: float64[X.0]\ny: float64[X.0] = add(X, X)\nreturn (X, y, X)\n"
    check(evaluator, text, {"X": np.arange(3.0)})
