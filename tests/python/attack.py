"""Random functions and calls about what compilers forget: memory that is shared, the order of writes, and what comes from outside and changes between calls.

A function works on arrays of one length, numbers and callables out of every place that Python has for them. It is called some ten times:
with arrays that are one, overlap, run backwards or may not be written, with other numbers and callables, after globals were bound anew. Each call runs
under jit and in Python, on arguments that were made alike. Results, their dtypes and Python types, whose memory they share, the arguments afterwards and
the class of an error have to be the same.

    python tests/python/attack.py 10000 --first 0 --processes 16
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import logging
import multiprocessing
import operator
import os
import random
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from attack_seeds import options_of, seeds_of

LENGTHS = [0, 1, 2, 5, 8, 17, 64, 1000]
DTYPES = [
    *["float64"] * 6,
    *["float32"] * 3,
    *["int64"] * 2,
    "int32",
    "uint8",
    "int8",
    "bool",
    "complex128",
    "complex64",
]
# Lengths of both agree for most n; NumPy says where they do not.
SLICES = [(":", ":"), ("1:", ":-1"), (":-1", "1:"), ("::2", "::2"), ("::-1", ":"), (":", "::-1"), (":3", "-3:"), ("-3:", ":3"), ("2:-2", "1:-3"),
          ("::2", "::-2"), (":1", "-1:")]  # fmt: skip
NUMBERS = [0, 1, 2, -3, 7, 0.5, 2.0, -0.0, True, False, 2**31, 2**40, 2**62, float("nan"), float("inf"), np.float32(1.5), np.float64(0.1), np.int64(3), np.uint8(200), np.int8(-5), np.bool_(True),
           1j, 2 - 3j, np.complex64(1 + 2j)]  # fmt: skip
LITERALS = ["2", "0", "1", "-1", "0.5", "3", "True", "np.uint8(200)", "np.float32(0.25)", "2j"]
SINGLE = [np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.complex64)]
ROUNDS = re.compile(r"sqrt|/|\*\*|mean|reciprocal")
ADDS = re.compile(r"sum|mean|dot|norm|prod")
# Of zeros of both signs NumPy's vectors give now one, now the other.
CHOOSES_A_ZERO = re.compile(r"max|min")


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def apply(self, x: Any) -> Any:
        return x * self.factor

    def shift(self, x: Any) -> Any:
        return x + self.factor


def halved(x: Any, by: Any = 2) -> Any:
    return x / by


def callables(rng: random.Random) -> Callable[[Any], Any]:
    scale = Scale(rng.choice([2.0, 5.0, 3]))
    return rng.choice([
        np.sqrt, np.square, np.negative, np.abs, np.floor, np.conjugate, np.sum, np.max, np.ravel, np.copy, operator.neg, operator.pos, abs, scale.apply, scale.shift,
        functools.partial(np.add, 1), functools.partial(np.multiply, rng.choice([2, 3])), functools.partial(halved, by=rng.choice([2, 4])), lambda x: x + 1,
        lambda x: x * 3, halved, operator.itemgetter(slice(1, None)), operator.attrgetter("real"), operator.methodcaller("copy"), np.add.reduce, np.maximum.reduce, len,
    ])  # fmt: skip


class Writer:
    """Writes one function."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.arrays = ["x", "y"]
        self.numbers = ["k", "G", "o.k", "d['k']"]
        self.operators = ["op", "OP", "o.f", "d['op']", "tools[0]", "helper"]
        self.made = 0
        self.lines: list[str] = []
        self.first_lines: list[str] = []

    def source(self) -> str:
        for _ in range(self.rng.randint(2, 7)):
            self.statement("    ")
        names = [*self.arrays, *self.numbers[4:]]
        returned = [self.rng.choice(names + names[-2:]) for _ in range(self.rng.choice([0, 0, 1, 2]))]
        if not returned or self.rng.random() < 0.8:  # what is computed: calls that only give views back are Python's
            returned.insert(self.rng.randint(0, len(returned)), self.expression())
        kept = self.rng.choice([*["({})"] * 6, "[{}]"]) if len(returned) > 1 else "{}"
        body = "\n".join(self.lines)
        return f"def f(x, y, k, op, o, d, tools):\n{body}\n    return {kept.format(', '.join(returned))}\n"

    def new(self, line: str, indent: str, is_array: bool = True) -> None:
        name = f"v{self.made}" if is_array else f"s{self.made}"
        self.made += 1
        self.lines.append(f"{indent}{name} = {line}")
        if len(indent) == 4:
            (self.arrays if is_array else self.numbers).append(name)

    def array(self) -> str:
        return self.rng.choice(self.arrays)

    def number(self) -> str:
        return self.rng.choice([*self.numbers, *LITERALS])

    def expression(self) -> str:
        a, b, k = self.array(), self.array(), self.number()
        return self.rng.choice([
            f"{a} + {b}", f"{a} * {k}", f"{k} - {a}", f"{a} * {b} + {k}", f"{a} / 2", f"np.maximum({a}, {b})", f"np.where({a} > {k}, {a}, {b})", f"-{a}", f"{a} + H",
            f"{a} // {k}", f"{a} % 3", f"{a} == {b}", f"abs({a})", f"np.minimum({a}, {k})", f"{a}[::-1] + {b}", f"np.sqrt({a})", f"np.sign({a})", f"{a} ** 2",
        ])  # fmt: skip

    def statement(self, indent: str) -> None:
        rng = self.rng
        a, b, c, k = self.array(), self.array(), self.array(), self.number()
        left, right = rng.choice(SLICES)
        dtype = rng.choice(DTYPES)
        kind = rng.randint(0, 13 if len(indent) == 4 else 4)
        if kind == 0:
            self.new(self.expression(), indent)
        elif kind == 1:
            self.lines.append(indent + rng.choice([
                f"{a}[{left}] = {b}[{right}]", f"{a}[{left}] += {b}[{right}]", f"{a}[{left}] = {k}", f"{a}[...] = {b}", f"{a}[:] = {b} + {k}",
            ]))  # fmt: skip
        elif kind == 2:
            self.lines.append(
                indent
                + rng.choice(
                    [f"{a} += {b}", f"{a} *= {k}", f"{a} -= {b}[::-1]", f"{a}[{rng.choice(['0', '-1', '1'])}] = {k}"]
                )
            )
        elif kind == 3:
            # Not np.negative: of elements 16 bytes apart into such 8 apart, NumPy 2.4 leaves some out.
            self.lines.append(indent + rng.choice([
                f"np.add({a}, {b}, out={c})", f"np.copyto({a}, {b})", f"{a}.fill({k})", f"np.multiply({a}, {k}, out={a})", f"np.square({a}[{left}], out={b}[{right}])",
                f"{a}[{a} > {k}] = {rng.choice([k, '0'])}", f"np.less({a}, {b}, out={c})",
            ]))  # fmt: skip
        elif kind == 4:
            self.new(rng.choice([f"{a}[{left}]", f"{a}[::-1]", f"{a}.copy()", f"{a}[:, None][:, 0]"]), indent)
        elif kind == 5:
            self.new(rng.choice([
                f"{a}.T", f"{a}.reshape(-1)", f"{a}.ravel()", f"np.ascontiguousarray({a})", f"np.asarray({a})", f"np.asarray({a}, order='C')", f"np.array({a}, copy=None)",
                f"{a}.astype(np.{dtype if dtype != 'bool' else 'bool_'})", f"{a}.astype({a}.dtype, copy=False)", f"{a}.real", f"{a}.imag", f"np.real({a})", f"np.squeeze({a})",
                f"np.zeros_like({a})", f"np.array({a})", f"np.atleast_1d({a})", f"np.conj({a})",
            ]), indent)  # fmt: skip
        elif kind == 6:
            self.new(f"{rng.choice(self.operators)}({a})", indent)
        elif kind == 7:
            self.new(rng.choice([
                f"{k} * 3 + {self.number()}", f"{k} + G", f"np.real({k})", f"np.imag({k})", f"len({a})", f"{a}.sum()", f"{a}.max()", f"np.isreal({k})", f"{k} / 7", f"{k} // 2",
                f"np.dot(np.uint8(200), {k})", f"{a}[0]", f"{a}[-1] * 2", "float(k)", "int(k)", f"{a}.argmax()", f"abs({k})", f"{k} ** 2", f"round({k} / 3)", f"np.int64({k})",
                f"np.float32({k})", f"max({k}, 2)", f"{k} == 2", f"{a}.mean()", f"min({self.number()}, {k})",
            ]), indent, is_array=False)  # fmt: skip
        elif kind == 8:
            self.new(rng.choice([
                f"np.full(3, {k})", f"np.full({a}.shape, {k}, dtype=np.{dtype if dtype != 'bool' else 'bool_'})", f"np.arange(len({a})) * {k}", f"np.zeros(len({a}), dtype={a}.dtype)",
                f"np.ones_like({a}) * {k}", f"np.linspace(0, 1, len({a}))",
            ]), indent)  # fmt: skip
        elif kind == 9:
            name = f"v{self.made}"
            self.made += 1
            condition = rng.choice([f"np.any({a} > 2)", f"{a}.sum() > 1", f"{k} > 1", f"len({a}) > 4", f"{a}[0] > 0"])
            ways = rng.sample([b, f"{b} + 1", f"np.floor({b})", f"{b}[::-1]", f"{b}.copy()", c], 2)
            self.lines += [
                f"{indent}if {condition}:",
                f"{indent}    {name} = {ways[0]}",
                f"{indent}else:",
                f"{indent}    {name} = {ways[1]}",
            ]
            self.arrays.append(name)
        elif kind == 10:
            self.lines.append(f"{indent}if {rng.choice([f'{a}.max() > 1', 'k', f'{a}[0] != 0', f'len({a}) % 2'])}:")
            self.statement(indent + "    ")
        elif kind == 11:
            self.lines.append(
                f"{indent}for i in range({rng.choice(['3', f'len({a})', f'1, len({a})', 'len(y) - 1'])}):"
            )
            self.lines.append(indent + "    " + rng.choice([
                f"{a}[i] = {b}[i] + {k}", f"{a}[i] = {a}[i - 1] * 2", f"{a}[i] += {b}[-1 - i]", f"{a}[i:] = {b}[i:]", f"{a}[:] = {a} + {b}[i]", f"{b}[i] = {k}",
            ]))  # fmt: skip
        elif kind == 12:
            iterations = rng.choice(["3", "2", "len(x)"])
            name = f"s{self.made}"
            self.made += 1
            self.lines += [
                f"{indent}{name} = {k}",
                f"{indent}for _ in range({iterations}):",
                # An int that is squared a thousand times is none that Python ever finishes.
                f"{indent}    {name} = {name} * {rng.choice(['2', k, *[name] * (iterations != 'len(x)')])} + {rng.choice(['1', k])}",
            ]
            self.numbers.append(name)
        else:
            self.new(
                f"sum([{a}, {b} * 2])" if rng.random() < 0.5 else f"np.stack([{a}, {b}])[{rng.choice([0, 1])}]", indent
            )


@dataclass
class Call:
    """What both sides get; `make` gives arguments alike each time."""

    make: Callable[[], tuple[Any, ...]]
    described: str
    globals: dict[str, Any]


def array(rng: np.random.Generator, dtype: str, length: int) -> Any:
    values = (
        rng.integers(0, 5, length + 2)
        if dtype in ("uint8", "bool")
        else rng.integers(-8, 8, length + 2) / (2 if np.dtype(dtype).kind in "fc" else 1)
    )
    made = values.astype(dtype)
    if made.dtype.kind in "fc" and length:
        made[rng.integers(0, length)] = rng.choice([np.nan, np.inf, -0.0, 1.0])
    if made.dtype.kind == "c":
        made = made + (1j * rng.integers(-3, 3, length + 2)).astype(dtype)
    return made


def arguments(  # noqa: PLR0917
    seed: int, types: list[str], kind: str, layout: str, length: int, number: Any, op: Any, parts: dict[str, Any]
) -> tuple[Any, ...]:
    draw = np.random.default_rng(seed)
    whole = array(draw, types[0], length)
    x = laid_out(whole[:length], layout)
    if kind == "same":
        y = x
    elif kind == "overlap":
        y = whole[1 : length + 1]
        x = whole[:length]
    elif kind == "reversed":
        y = x[::-1]
    else:
        y = laid_out(array(draw, types[1], length)[:length], layout)
    o = SimpleNamespace(k=parts["ok"], f=parts["of"])
    return x, y, number, op, o, {"k": parts["dk"], "op": parts["dop"]}, [parts["tool"]]


def named(values: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={value.__self__!r}.{value.__name__}" if hasattr(value, "__self__") else f"{name}={value!r}"
        for name, value in values.items()
    )


def calls_of(rng: random.Random) -> Iterator[Call]:
    types = [rng.choice(DTYPES), rng.choice(DTYPES)]
    if rng.random() < 0.5:
        types[1] = types[0]
    space: dict[str, Any] = {
        "G": rng.choice(NUMBERS),
        "H": np.arange(1.0),
        "OP": callables(rng),
        "helper": callables(rng),
    }
    number, op, kind = (
        rng.choice(NUMBERS),
        callables(rng),
        rng.choice(["separate", "separate", "same", "overlap", "reversed"]),
    )
    layout, length = "c", rng.choice(LENGTHS)
    parts: dict[str, Any] = {
        "ok": rng.choice(NUMBERS),
        "of": callables(rng),
        "dk": rng.choice(NUMBERS),
        "dop": callables(rng),
        "tool": callables(rng),
    }
    for turn in range(9):
        for name in rng.sample(
            [
                "G",
                "OP",
                "helper",
                "number",
                "op",
                "kind",
                "layout",
                "length",
                "ok",
                "of",
                "dk",
                "dop",
                "tool",
                "type",
                "H",
                "none",
            ],
            2,
        ):
            if name == "number":
                number = rng.choice([number, rng.choice(NUMBERS), type(number)(1)])
            elif name == "op":
                op = callables(rng)
            elif name == "kind":
                kind = rng.choice(["separate", "same", "overlap", "reversed"])
            elif name == "layout":
                layout = rng.choice(["c", "strided", "reversed", "read-only"])
            elif name == "length":
                length = rng.choice(LENGTHS)
            elif name == "type" and turn > 4:
                types = [rng.choice(DTYPES), types[0]]
            elif name in ("G", "ok", "dk"):
                (space if name == "G" else parts)[name] = rng.choice(NUMBERS)
            elif name in ("OP", "helper", "of", "dop", "tool"):
                (space if name in space else parts)[name] = callables(rng)
            elif name == "H":
                space["H"] = np.array([rng.choice([0.5, 2.0, -1.0])])
        seed = rng.randint(0, 1 << 30)

        make = functools.partial(arguments, seed, list(types), kind, layout, length, number, op, dict(parts))
        yield Call(
            make,
            f"{types} {kind} {layout} n={length} k={number!r} {named({'op': op, **parts, **space})}",
            dict(space),
        )


def laid_out(values: Any, layout: str) -> Any:
    if layout == "strided":
        return np.repeat(values, 2)[::2]
    if layout == "reversed":
        return values[::-1].copy()[::-1]
    made = values.copy()
    made.flags.writeable = layout != "read-only"
    return made


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def answer(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, str]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args), ""
        except Exception as error:  # noqa: BLE001  (whatever it raises)
            return error, type(error).__name__


def differs(got: Any, wanted: Any, tolerance: float, *, any_zero: bool) -> str:
    """How a result is not NumPy's, or ""; a relative tolerance of 0 asks for each bit, but for the sign of `any_zero`."""
    if isinstance(wanted, np.ndarray) != isinstance(got, np.ndarray) or type(got) is not type(wanted):
        return f"a {type(got).__name__}, not a {type(wanted).__name__}"
    if not isinstance(wanted, (np.ndarray, np.generic)):
        same = (
            got == wanted
            or bool(np.all(np.isnan([got, wanted])))
            or (tolerance > 0 and np.isclose(got, wanted, tolerance, equal_nan=True))
        )
        return "" if same else f"{got!r}, not {wanted!r}"
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
    if np.array_equal(got, wanted, equal_nan=got.dtype.kind in "fc"):
        if any_zero or got.dtype.kind != "f":
            return ""
        if not np.array_equal(np.signbit(got)[got == 0], np.signbit(wanted)[got == 0]):
            return "another sign of zero"
        return ""
    if got.dtype in SINGLE:
        tolerance = tolerance and 1e-4
    if tolerance and got.dtype.kind == "c":
        parts = [np.stack([one.real, one.imag]) for one in (got, wanted)]
        # NumPy's vectors fuse the two products of a complex one, its scalars do not: near the largest number one has a
        # number or an infinity where the other has an infinity or NaN.
        largest = np.finfo(got.dtype).max / 4
        overflowed = ~(np.abs(parts[0]) < largest) & ~(np.abs(parts[1]) < largest)
        got_parts, wanted_parts = (np.where(overflowed, 0, part) for part in parts)
        # A part may be what two products leave of each other: what it may differ by goes with the size of the whole.
        apart, size = np.hypot(*(got_parts - wanted_parts)), np.hypot(*wanted_parts)
        if (
            np.isfinite(got_parts).all()
            and np.isfinite(wanted_parts).all()
            and (apart <= 1e-8 + tolerance * size).all()
        ):
            return ""
    if tolerance and got.dtype.kind == "f" and np.allclose(got, wanted, tolerance, equal_nan=True):
        return ""
    return f"{got!r}, not {wanted!r}"


def relation(result: Any, args: tuple[Any, ...]) -> Any:
    if not isinstance(result, np.ndarray):
        return None
    return [(result is a, result.size > 0 and np.shares_memory(result, a)) for a in args[:2]], result.flags.writeable


def problem_of(source: str, jitted: Any, plain: Any, call: Call, space: dict[str, Any]) -> str:
    space.update(call.globals)
    ours, theirs = call.make(), call.make()
    wanted, error = answer(plain, theirs)
    got, raised = answer(jitted, ours)
    if error or raised:
        # A TypeError is a UFuncTypeError's base, and so on: the class that Python programs catch.
        if raised and error and (isinstance(got, type(wanted)) or isinstance(wanted, type(got))):
            return ""
        return f"raises {got!r}" if raised and not error else f"raises {raised or 'nothing'}, NumPy {wanted!r}"
    tolerance = 0.0
    if (ROUNDS.search(source) and ADDS.search(source)) or "complex" in call.described or "j" in call.described:
        # What was rounded to single precision stays so where it becomes double.
        tolerance = 1e-4 if any(dtype.name in source + call.described for dtype in SINGLE) else 1e-10
    any_zero = CHOOSES_A_ZERO.search(source + call.described) is not None
    found, expected = leaves(got), leaves(wanted)
    if type(got) is not type(wanted) or len(found) != len(expected):
        return f"{got!r}, not {wanted!r}"
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        if text := differs(one, other, tolerance, any_zero=any_zero):
            return f"result {k}: {text}"
        if relation(one, ours) != relation(other, theirs):
            return f"result {k}: is or shares or may be written {relation(one, ours)}, not {relation(other, theirs)}"
    for name, one, other in zip("xy", ours, theirs, strict=False):
        if text := differs(one, other, tolerance, any_zero=any_zero):
            return f"{name} afterwards: {text}"
    return ""


@contextmanager
def said_to_report() -> Iterator[list[str]]:
    """What is logged of errors inside of tilewright; NumPy runs such calls."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("tilewright")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


@contextmanager
def printed_by_the_compiler() -> Iterator[list[str]]:
    """What Halide and LLVM print, which users would see: C++ writes to the descriptor, so Python's sys.stderr knows nothing of it."""
    lines: list[str] = []
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            text = file.read().decode(errors="replace")
            lines += [line for line in text.splitlines() if line.startswith(("Warning:", "warning:", "Error:"))]
            sys.stderr.write(text)


def attack(seed: int) -> tuple[str, bool]:
    """The problem with the function of that seed, or "", and whether any of it was compiled."""
    import tilewright
    from tilewright.decorator import JitFunction

    JitFunction._loses = lambda *_: False  # type: ignore[method-assign]  # whatever it costs
    rng = random.Random(seed)
    source = Writer(rng).source()
    name = f"<attack {hashlib.sha1(source.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "__name__": "attack"}
    exec(compile(source, name, "exec"), space)
    plain, jitted = space["f"], tilewright.jit(space["f"])
    for call in calls_of(rng):
        with said_to_report() as said, printed_by_the_compiler() as printed:
            text = problem_of(source, jitted, plain, call, space)
        if text or said or printed:
            return f"seed {seed}: {text or (said + printed)[0]}\n{source}{call.described}", True
    return "", any(one.versions for one in jitted.specializations)


def _attack_all(seeds: list[int]) -> list[tuple[int, str, bool]]:
    return [(seed, *attack(seed)) for seed in seeds]


def main() -> int:
    options = options_of(__doc__)
    options.add_argument("--processes", type=int, default=os.cpu_count())
    chosen = options.parse_args()
    os.environ.setdefault("TILEWRIGHT_CACHE", "off")
    seeds = seeds_of(chosen)
    batches = [list(seeds[k : k + 20]) for k in range(0, len(seeds), 20)]
    ran = wrong = compiled = 0
    with (
        suppress(KeyboardInterrupt),  # which ends the run with the figures so far
        multiprocessing.get_context("spawn").Pool(
            chosen.processes, signal.signal, (signal.SIGINT, signal.SIG_IGN), maxtasksperchild=10
        ) as pool,
    ):
        for found in pool.imap_unordered(_attack_all, batches):
            for _, text, was_compiled in found:
                ran += 1
                compiled += was_compiled
                if text:
                    wrong += 1
                    print(text, end="\n\n", flush=True)
    print(f"{ran} functions, {compiled} compiled, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
