"""Random straight-line NumPy functions, their arguments, and how far from NumPy's answer a right one may be.

A function is written statement by statement. Each is tried on small arrays first, so that NumPy itself says what is legal and
which dtype and shape comes out. Choices come from an object with `integer(low, high)` and `pick(sequence)`: Hypothesis's or a seeded one.

The tolerance of a result follows the function, statement by statement: the function is run again with every operation that
is free to round (sums, products of matrices, elementary functions) perturbed by a few units in the last place. What moves
then may differ; what does not has to be NumPy's to the bit.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from ufuncs import EXACT_BINARY, EXACT_UNARY, ROUNDED_BINARY, ROUNDED_UNARY

Array = np.ndarray[Any, Any]

FLOATS = ["float64", "float32"]
HALVES = ["float16"]  # seldom
INTEGERS = ["int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]
SIZES = [0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, 100]
SYMBOLS = ("n", "m", "k")
TRIAL = {"n": 5, "m": 7, "k": 3}  # all different, so that what broadcasts does so at every size
LARGEST_RANK = 3


class Choices(Protocol):
    def integer(self, low: int, high: int) -> int: ...
    def pick(self, sequence: Sequence[Any]) -> Any: ...


class SeededChoices:
    """Choices of a long run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def pick(self, sequence: Sequence[Any]) -> Any:
        return self._random.choice(sequence)


@dataclass
class Parameter:
    name: str
    dtype: str  # of an array, or int, float, bool: a Python number
    dims: tuple[str | int, ...] = ()

    @property
    def is_array(self) -> bool:
        return self.dtype not in ("int", "float", "bool_")


@dataclass
class RandomFunction:
    parameters: list[Parameter]
    statements: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        names = ", ".join(p.name for p in self.parameters)
        returned = self.results[0] if len(self.results) == 1 else f"({', '.join(self.results)})"
        lines = "".join(f"    {line}\n" for line in [*self.statements, f"return {returned}"])
        return f"def f({names}):\n{lines}"

    def function(self, numpy: Any = np, filename: str = "<random>") -> Callable[..., Any]:
        space: dict[str, Any] = {"np": numpy}
        exec(compile(self.source, filename, "exec"), space)
        made: Callable[..., Any] = space["f"]
        return made


# ---- functions ---------------------------------------------------------------------------------------------------------

UNARY = [*EXACT_UNARY, *ROUNDED_UNARY]
BINARY = [*EXACT_BINARY, *ROUNDED_BINARY, "add", "subtract", "multiply"]  # these twice: people write them most
SYMBOLS_OF = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "equal": "==",
    "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "bitwise_and": "&", "bitwise_or": "|",
    "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
LITERALS = ["2", "0", "1", "-1", "3", "7", "0.5", "-0.0", "1.5", "100", "-3.25", "1e-3", "True", "np.inf"]
TYPED_LITERALS = [
    "np.float16(0.3)",
    "np.float32(1.5)",
    "np.float64(0.1)",
    "np.int8(3)",
    "np.int64(-2)",
    "np.uint8(200)",
]


class Writer:
    """Writes one function."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._values: dict[str, Any] = {}  # trial values, by name
        self._own: list[str] = []  # arrays that may be written to
        self._made = RandomFunction([])

    def write(self) -> RandomFunction:
        choose = self._choices
        self._parameters()
        for _ in range(choose.integer(2, 8)):
            self._statement()
        names = [name for name in self._values if name.startswith("v")]
        if not names:
            self._try("v0", f"{self._made.parameters[0].name} + 1")
            names = list(self._values)[-1:]
        last = names[-1]
        others = [name for name in names[:-1] if choose.integer(0, 3) == 0]
        self._made.results = [*others[-2:], last]
        return self._made

    def _parameters(self) -> None:
        choose = self._choices
        rng = np.random.default_rng(0)
        for name in ["a", "b", "c"][: choose.integer(1, 3)]:
            dims = tuple(choose.pick(["n", "n", "m", "m", "k", 1]) for _ in range(choose.pick([1, 2, 2, 2, 1, 3, 0])))
            dtype = choose.pick([*FLOATS * 4, *HALVES * 2, *INTEGERS, "int64", "bool"])
            self._made.parameters.append(Parameter(name, dtype, dims))
        for name in ["s", "t"][: choose.pick([0, 0, 1, 1, 2])]:
            self._made.parameters.append(Parameter(name, choose.pick(["int", "float", "float", "bool_"])))
        for p in self._made.parameters:
            self._values[p.name] = argument(p, TRIAL, rng, "C", 0.0)

    def _try(self, name: str, text: str) -> bool:
        """Adds `name = text`, if NumPy takes it and what comes out is an array of a rank and dtype that is compiled."""
        space = {"np": np, **{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self._values.items()}}
        try:
            with np.errstate(all="ignore"):
                value = eval(text, space)
        except Exception:  # noqa: BLE001  (any refusal by NumPy)
            return False
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "biuf":
            return False
        if value.ndim > LARGEST_RANK or value.size > 400:
            return False
        self._values[name] = value
        self._made.statements.append(f"{name} = {text}")
        return True

    def _statement(self) -> None:
        name = f"v{len(self._made.statements)}"
        for _ in range(8):
            kind = self._choices.pick([
                self._binary, self._binary, self._binary, self._unary, self._unary, self._view, self._view, self._reduction,
                self._reduction, self._select, self._product, self._joined, self._cast, self._written,
            ])  # fmt: skip
            if kind(name):
                return

    def _array(self) -> str:
        # Later values more often than earlier ones.
        names = [k for k, v in self._values.items() if isinstance(v, (np.ndarray, np.generic))]
        return str(self._choices.pick([*names, *names[-3:], *names[-1:]]))

    def _operand(self) -> str:
        what = self._choices.integer(0, 9)
        if what == 0:
            return str(self._choices.pick(LITERALS))
        if what == 1:
            return str(self._choices.pick(TYPED_LITERALS))
        if what == 2:
            numbers = [k for k, v in self._values.items() if not isinstance(v, (np.ndarray, np.generic))]
            return str(self._choices.pick(numbers)) if numbers else self._array()
        return self._array()

    def _axis(self, x: str, several: bool = True) -> str:
        rank = np.ndim(self._values[x])
        options = ["None", *map(str, range(-rank, rank))]
        if rank >= 2 and several:
            options += ["(0, 1)", "(-1, 0)", str(tuple(range(rank)))]
        return str(self._choices.pick(options))

    def _unary(self, name: str) -> bool:
        return self._try(name, f"np.{self._choices.pick(UNARY)}({self._array()})")

    def _binary(self, name: str) -> bool:
        ufunc = self._choices.pick(BINARY)
        x, y = self._array(), self._operand()
        if self._choices.integer(0, 4) == 0:
            x, y = y, x
        # Exponents that are arrays of integers, and shifts by more than the width, are refused or undefined.
        if ufunc == "power" and np.asarray(self._values.get(y, 2)).dtype.kind in "biu":
            y = self._choices.pick(["2", "3", "0.5", "2.0", "-1.0"])
        if ufunc in SYMBOLS_OF and self._choices.integer(0, 1):
            return self._try(name, f"{x} {SYMBOLS_OF[ufunc]} {y}")
        return self._try(name, f"np.{ufunc}({x}, {y})")

    def _slice(self) -> str:
        return str(
            self._choices.pick(
                [":", ":", "::-1", "1:", ":-1", "::2", "1::2", "::-2", "-3:", ":3", "2:1", "-1:0:-1", "::-3", "None"]
            )
        )

    def _view(self, name: str) -> bool:
        choose = self._choices
        x = self._array()
        rank = np.ndim(self._values[x])
        what = choose.integer(0, 9)
        if what <= 3:
            items = [self._slice() for _ in range(choose.integer(1, max(1, rank)))]
            if choose.integer(0, 2) == 0:
                items[choose.integer(0, len(items) - 1)] = choose.pick(["0", "-1", "1", "...", "None"])
            return self._try(name, f"{x}[{', '.join(items)}]")
        if what == 4:
            return self._try(
                name,
                choose.pick([f"{x}.T", f"np.transpose({x})", f"np.swapaxes({x}, 0, -1)", f"np.moveaxis({x}, 0, -1)"]),
            )
        if what in (5, 6):
            shapes = ["-1", "(-1, 1)", "(1, -1)"]
            if rank >= 2:
                shapes += [
                    f"({x}.shape[1], {x}.shape[0], -1)",
                    f"({x}.shape[0], -1)",
                    f"(-1, {x}.shape[-1])",
                    f"{x}.shape[::-1]",
                ]
            if rank == 1:
                shapes += [f"(1, {x}.shape[0], 1)", f"({x}.size, 1)"]
            shape = choose.pick(shapes)
            return self._try(name, choose.pick([f"{x}.reshape({shape})", f"np.reshape({x}, {shape})", f"{x}.ravel()"]))
        if what == 7:
            return self._try(
                name, choose.pick([f"np.flip({x})", f"np.flip({x}, 0)", f"np.squeeze({x})", f"np.expand_dims({x}, -1)"])
            )
        y = self._array()
        return self._try(
            name, choose.pick([f"np.broadcast_to({x}, {y}.shape)", f"np.atleast_2d({x})", f"np.ravel({x})"])
        )

    def _reduction(self, name: str) -> bool:
        choose = self._choices
        x = self._array()
        f = choose.pick(["sum", "sum", "mean", "max", "min", "prod", "any", "all", "argmin", "argmax", "norm", "var", "std",
                         "count_nonzero", "ptp"])  # fmt: skip
        axis = self._axis(x, several=f not in ("argmin", "argmax", "norm"))
        keepdims = choose.pick(["", "", ", keepdims=True"]) if f != "ptp" else ""
        if f == "norm":
            order = choose.pick(["", "", ", 1", ", np.inf", ", 2"]) if axis != "None" else ""
            return self._try(name, f"np.linalg.norm({x}{order}, axis={axis}{keepdims})")
        if f in ("count_nonzero", "ptp") or choose.integer(0, 1):
            return self._try(name, f"np.{f}({x}, axis={axis}{keepdims})")
        return self._try(name, f"{x}.{f}(axis={axis}{keepdims})")

    def _select(self, name: str) -> bool:
        choose = self._choices
        x, y, z = self._array(), self._operand(), self._operand()
        if choose.integer(0, 2) == 0:
            low, high = choose.pick([("-1", "1"), ("0", "None"), ("None", "2.5"), ("-0.5", "100"), (y, z), ("2", "1")])
            return self._try(name, f"np.clip({x}, {low}, {high})")
        condition = choose.pick([f"{x} > 0", f"{x} != {x}", f"{x} <= {y}", x, f"np.isnan({x})"])
        return self._try(name, f"np.where({condition}, {y}, {z})")

    def _product(self, name: str) -> bool:
        x, y = self._array(), self._array()
        forms = [
            f"{x} @ {y}",
            f"np.dot({x}, {y})",
            f"np.matmul({x}, {y}.T)",
            f"{x}.T @ {y}",
            f"np.outer({x}, {y})",
            f"np.inner({x}, {y})",
        ]
        return self._try(name, self._choices.pick(forms))

    def _joined(self, name: str) -> bool:
        x, y = self._array(), self._array()
        axis = self._axis(x, several=False)
        forms = [f"np.concatenate(({x}, {y}), axis={axis})", f"np.stack([{x}, {y}], axis={axis if axis != 'None' else 0})",
                 f"np.concatenate([{x}, {x}[::-1]])", f"np.repeat({x}, 2, axis={axis})", f"np.hstack(({x}, {y}))"]  # fmt: skip
        return self._try(name, self._choices.pick(forms))

    def _cast(self, name: str) -> bool:
        x = self._array()
        dtype = self._choices.pick([*FLOATS, *HALVES, *INTEGERS, "bool"])
        if self._values[x].dtype.kind == "f" and dtype[0] in "iu":
            # Out of range is undefined in C, and differs between NumPy's own loops.
            limit = 100
            return self._try(name, f"np.nan_to_num(np.clip({x}, 0, {limit})).astype(np.{dtype})")
        return self._try(name, f"{x}.astype(np.{dtype if dtype != 'bool' else 'bool_'})")

    def _written(self, name: str) -> bool:
        """A copy, and a write into a part of it."""
        choose = self._choices
        x = self._array()
        if np.ndim(self._values[x]) == 0:
            return False
        before = len(self._made.statements), dict(self._values)
        if not self._try(
            name, choose.pick([f"{x}.copy()", f"{x} + 0", f"np.zeros_like({x})", f"np.full({x}.shape, 2.5)"])
        ):
            return False
        part = self._slice().replace("None", ":")
        target = choose.pick(
            [f"{name}[{part}]", f"{name}[..., 0]", f"{name}[0]", f"{name}[{name} > 1]", f"{name}[{part}]", name]
        )
        operator = choose.pick(["=", "=", "+=", "*=", "-="])
        if target == name and operator == "=":
            operator = "+="
        line = f"{target} {operator} {choose.pick([self._operand(), x + '[0]', x + '[::-1]'])}"
        space = {"np": np, **{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self._values.items()}}
        try:
            with np.errstate(all="ignore"):
                exec(line, space)
        except Exception:  # noqa: BLE001
            del self._made.statements[before[0] :]
            self._values = before[1]
            return False
        self._values[name] = space[name]
        self._made.statements.append(line)
        return True


# ---- arguments ---------------------------------------------------------------------------------------------------------

LAYOUTS = ["C", "C", "F", "strided", "reversed", "broadcast", "offset"]


def argument(p: Parameter, sizes: dict[str, int], rng: np.random.Generator, layout: str, nasty: float) -> Any:
    if p.dtype == "int":
        return int(rng.integers(-3, 6))
    if p.dtype == "float":
        return float(rng.choice([0.5, -1.25, 3.0, 1e-3, 2.0]))
    if p.dtype == "bool_":
        return bool(rng.integers(0, 2))
    shape = tuple(sizes[d] if isinstance(d, str) else d for d in p.dims)
    if layout == "broadcast" and shape:
        row = _filled(p.dtype, shape[1:], rng, nasty)
        return np.broadcast_to(row, shape)
    if layout == "F":
        return np.asfortranarray(_filled(p.dtype, shape, rng, nasty))
    if layout in ("strided", "reversed"):
        wide = _filled(p.dtype, tuple(2 * extent for extent in shape), rng, nasty)
        return wide[tuple([slice(None, None, 2 if layout == "strided" else -2)] * len(shape))]
    if layout == "offset" and shape:
        return _filled(p.dtype, (shape[0] + 1, *shape[1:]), rng, nasty)[1:]
    return _filled(p.dtype, shape, rng, nasty)


@dataclass
class Turn:
    """One call of a random function."""

    sizes: dict[str, int]
    layouts: list[str]
    args: list[Any]


def drawn_turn(made: RandomFunction, choices: Choices, turn: int) -> Turn:
    """The call with this number. The order of what is drawn says what a seed means."""
    sizes = {symbol: choices.pick(SIZES) for symbol in SYMBOLS}
    nasty = choices.pick([0.0, 0.0, 0.1, 0.5])
    layouts = [choices.pick(LAYOUTS) for _ in made.parameters]
    rng = np.random.default_rng([turn, choices.integer(0, 1000)])
    args = [argument(p, sizes, rng, layout, nasty) for p, layout in zip(made.parameters, layouts, strict=True)]
    return Turn(sizes, layouts, args)


def _filled(dtype: str, shape: tuple[int, ...], rng: np.random.Generator, nasty: float) -> Array:
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        small = np.asarray(rng.integers(max(info.min, -20), 21, shape)).astype(dtype)
        wild = rng.choice(np.array([info.min, info.max, 0, 1, info.max - 1], dtype), shape)
        return np.where(rng.random(shape) < nasty, wild, small)
    values = np.asarray(rng.normal(size=shape) * 3).astype(dtype)
    # Ties, and whole numbers: what rounding and argmin decide on.
    values = np.where(rng.random(shape) < 0.2, np.rint(values), values).astype(dtype)
    wild = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 1e10], dtype), shape)
    return np.where(rng.random(shape) < nasty, wild, values).astype(dtype)


# ---- how far a right answer may be ------------------------------------------------------------------------------------

_FREE_UFUNCS = {
    "exp", "log", "sin", "cos", "tan", "tanh", "exp2", "expm1", "log1p", "log2", "log10", "arctan", "arcsin", "arccos", "sinh", "cosh", "cbrt",
    "arctan2", "hypot", "power",
}  # fmt: skip
_FREE_SUMS = {"sum", "mean", "prod", "var", "std", "dot", "matmul", "inner"}
_FREE_ZEROS = {"maximum", "minimum", "fmax", "fmin", "max", "min", "clip", "ptp"}
_METHOD = re.compile(r"\b(?!np\.)(\w+)\.(sum|mean|prod|var|std|max|min)\(")


class PerturbedNumPy:
    """NumPy with every operation that is free to round a few units in the last place off, and the sign of a zero or a NaN
    flipped where NumPy leaves it to the instruction at hand."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self._rng = np.random.default_rng(seed)
        self._scale = scale
        self._zeros = {0: 0.0, 1: -0.0}.get(seed)  # each of them, in the first two
        self.linalg = SimpleNamespace(norm=self._sum(np.linalg.norm, of_floats=True))

    def __getattr__(self, name: str) -> Any:
        original = getattr(np, name)
        if name in _FREE_UFUNCS:
            return lambda *args, **kwargs: self._shaken(original(*args, **kwargs), 3)
        if name in _FREE_SUMS:
            return self._sum(original, of_floats=name in ("mean", "var", "std"))
        if name in _FREE_ZEROS:
            return lambda *args, **kwargs: self._flipped(original(*args, **kwargs))
        if name == "signbit":
            return lambda x: original(x) ^ (self._coin(np.shape(x)) & (np.asarray(x) != np.asarray(x)))
        if name == "copysign":
            return lambda x, y: original(x, self._either_nan(y))
        return original

    def _coin(self, shape: tuple[int, ...]) -> Array:
        return np.asarray(self._rng.random(shape) < 0.5)

    def _either_nan(self, y: Any) -> Any:
        if np.asarray(y).dtype.kind != "f":
            return y
        return np.where(np.isnan(y) & self._coin(np.shape(y)), np.negative(y), y).astype(np.asarray(y).dtype)

    def _sum(self, original: Callable[..., Any], of_floats: bool = False) -> Callable[..., Any]:
        # The error of a sum is relative to its terms.
        def perturbed(*args: Any, **kwargs: Any) -> Any:
            if of_floats and np.asarray(args[0]).dtype.kind != "f":
                args = (np.asarray(args[0], np.float64), *args[1:])
            shaken = [self._shaken(x, 2) for x in args]
            result = original(*shaken, **kwargs)
            if getattr(result, "dtype", None) == np.float16 and self._rng.random() < 0.5:
                # NumPy rounds each step along some axes, and other sums once.
                wide = (np.asarray(x, np.float32) if np.asarray(x).dtype == np.float16 else x for x in shaken)
                result = np.asarray(original(*wide, **kwargs)).astype(np.float16)[()]
            return self._flipped(self._shaken(result, 3))

        return perturbed

    def _flipped(self, x: Any) -> Any:
        if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind != "f":
            return x
        zeros = np.where(self._coin(x.shape), -x, x) if self._zeros is None else np.full(x.shape, self._zeros)
        return np.where(x == 0, zeros, x).astype(x.dtype)[()]

    def _shaken(self, x: Any, units: float) -> Any:
        if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind != "f":
            return x
        info = np.finfo(x.dtype)
        # At least one unit, and not always as many: what two steps do must not cancel every time.
        size = self._rng.uniform(1, units, x.shape) * self._rng.choice([-1.0, 1.0], x.shape)
        by = 1 + self._scale * info.eps * size
        shaken = np.asarray(x * by.astype(x.dtype))
        # Near the subnormal numbers a unit in the last place is more than that.
        near = (np.abs(x) < info.tiny * 16) & (x != 0)
        steps = self._rng.integers(-3, 4, x.shape).astype(x.dtype)
        return np.where(near, x + info.smallest_subnormal * steps, shaken).astype(x.dtype)[()]


COARSE = 2  # of the answers, the last ones


def perturbed_answers(made: RandomFunction, args: Sequence[Any], times: int = 8) -> list[tuple[Any, ...]]:
    """NumPy's answers with other roundings; the last ones with much coarser ones, which show what depends on them at all."""
    source = _METHOD.sub(r"np.\2(\1, ", made.source).replace("(, ", "(")
    source = re.sub(r"= (\S+) @ (\S+)", r"= np.matmul(\1, \2)", source)
    answers = []
    for seed in range(times + COARSE):
        space: dict[str, Any] = {"np": PerturbedNumPy(seed, 1.0 if seed < times else 100.0)}
        exec(source, space)
        answers.append(as_tuple(space["f"](*args)))
    return answers


def as_tuple(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def difference(result: Any, expected: Any, others: Sequence[Any]) -> str | None:
    """What is wrong with a result, or None. `others` are NumPy's answers with other roundings."""
    # A 0-d result is always a NumPy scalar here (dsl/runtime/plan_text.md); NumPy gives 0-d arrays for some.
    if isinstance(result, np.ndarray) != isinstance(expected, np.ndarray) and expected.ndim:
        return f"it is a {type(result).__name__}, NumPy's a {type(expected).__name__}"
    if result.dtype != expected.dtype or result.shape != expected.shape:
        return f"it is {result.dtype}{result.shape}, NumPy's {expected.dtype}{expected.shape}"
    ours, theirs = np.asarray(result), np.asarray(expected)
    wrong = ~_close(ours, theirs, [np.asarray(other) for other in others])
    if not wrong.any():
        return None
    at = tuple(int(k) for k in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} differ, at {list(at)}: {ours[at]!r}, NumPy has {theirs[at]!r}"


def _close(ours: Array, theirs: Array, others: Sequence[Array]) -> Array:
    if any(other.shape != theirs.shape for other in others):
        return np.ones(theirs.shape, bool)
    close = _same(ours, theirs)
    if not others or close.all():
        return close
    at = np.nonzero(~np.atleast_1d(close))
    # 64 bits of mantissa: integers and float64 are exact in it.
    a, b, *answers = (np.atleast_1d(x)[at].astype(np.longdouble) for x in (ours, theirs, *others))
    allowed = np.zeros(a.shape, np.longdouble)
    if theirs.dtype.kind == "f":
        # A later step may round away what few units do, and not what one unit more does.
        rounds = np.any([~_same(c, b) for c in answers[-COARSE:]], axis=0)
        allowed = (
            np.where(rounds & np.isfinite(b), np.spacing(np.abs(np.atleast_1d(theirs)[at])).astype(np.longdouble), 0)
            / 4
        )
    for c in answers[:-COARSE]:
        moved = np.where(_same(c, b), 0, np.abs(c - b))
        # The sign of a zero decides more than its size says; where a NaN or an infinity comes or goes, nothing can be said.
        moved = np.where((c == b) & (np.signbit(c) != np.signbit(b)), np.finfo(np.float64).smallest_subnormal, moved)
        allowed = np.maximum(allowed, np.where(np.isnan(moved), np.inf, moved))
    near = (allowed > 0) & (np.abs(a - b) <= 8 * allowed)
    # A value that is all rounding may be the one at which the next step gives NaN: a remainder by a sum that cancels.
    near |= ~np.isfinite(a) & (allowed > np.abs(b))
    np.atleast_1d(close)[at] = near | np.isinf(allowed)
    return close


def _same(ours: Array, theirs: Array) -> Array:
    """Bit for bit, but any NaN is any other."""
    same = ours == theirs
    if theirs.dtype.kind == "f":
        same = same & (np.signbit(ours) == np.signbit(theirs)) | np.isnan(ours) & np.isnan(theirs)
    return np.array(same, bool)
