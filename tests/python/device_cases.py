"""Cases for devices: what NumPy does with arrays, by operation, dtype, layout and shape. Each is a function's text and its calls.

`device_worker.py` runs them on a device beside NumPy (`test_cuda_results.py`), or compiles them alone (`test_cuda_ptx.py`).
A case computes several expressions in one function, so that one compilation serves them; what is wrong is told by its expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from from_text import function_of
from ufuncs import EXACT_BINARY, EXACT_UNARY, ROUNDED_BINARY, ROUNDED_UNARY

Array = np.ndarray[Any, Any]
Calls = Callable[[np.random.Generator], list[tuple[Any, ...]]]

FLOATS = ["float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
COMPLEX = ["complex64", "complex128"]
SIZES = [0, 1, 2, 7, 31, 32, 33, 255, 1025, 10007]
LARGE = (1 << 21) + 3


@dataclass(frozen=True)
class Case:
    """`judge`: bits (NumPy's, any NaN for any other), ulp (2 units from the true value), near (8 units of a complex number's
    size), sum (what another order of summation may give)."""

    name: str
    parameters: str
    expressions: tuple[str, ...]
    calls: Calls
    setup: tuple[str, ...] = ()
    judge: str = "bits"
    elementary: bool = False  # it may hold fused operations: elementary functions, division of complex numbers
    statements: bool = False  # all in `setup`, which returns
    structure: str = "tuple"

    @property
    def source(self) -> str:
        return self.source_of(self.expressions)

    def source_of(self, expressions: Sequence[str]) -> str:
        lines = list(self.setup)
        if not self.statements:
            lines.append(f"return {', '.join(expressions)}")
        return f"def f({self.parameters}):\n" + "".join(f"    {line}\n" for line in lines)

    def function(self) -> Callable[..., Any]:
        return function_of(self.source)


# ---- values ----------------------------------------------------------------------------------------------------------


def specials(dtype: str) -> Array:
    """What bits are lost at: NaN, infinities, both zeros, subnormal numbers, limits, ties of rounding."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        low = [] if kind == "u" else [-1, -2, -7, -100, info.min, info.min + 1]
        return np.array([0, 1, 2, 3, 5, 7, 100, info.max, info.max - 1, *low], dtype)
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal
    positive = [0.0, tiny, 3 * tiny, info.tiny, info.tiny - tiny, 1.5 * info.tiny, 1e-3, 0.1, 0.5, 1.0, 1.0 + info.eps, 1.5, 2.0,
                2.5, 3.0, 7.25, 100.0, 1e10, 2.0 ** (info.nmant), 2.0 ** (info.nmant) - 0.5, info.max / 2, info.max, np.inf]  # fmt: skip
    half = np.array(positive, dtype)
    return np.concatenate([half, -half, np.array([np.nan], dtype)])


def values(rng: np.random.Generator, dtype: str, shape: Any) -> Array:
    """Ordinary numbers, of many magnitudes among the integers."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "iu":
        info = np.iinfo(dtype)
        wild = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.3, wild, wild % np.asarray(17, dtype)).astype(dtype)
    if kind == "c":
        return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return np.asarray(rng.normal(size=shape) * 3).astype(dtype)


def wild(rng: np.random.Generator, dtype: str, n: int) -> Array:
    """Any bits at all: floats of every exponent."""
    if np.dtype(dtype).kind == "b":
        return np.asarray(rng.random(n) < 0.5)
    itemsize = np.dtype(dtype).itemsize
    return np.asarray(rng.integers(0, 256, n * itemsize, np.uint8).view(dtype))


def pairs(dtype: str) -> tuple[Array, Array]:
    """Every special value beside every other."""
    one = specials(dtype)
    return np.repeat(one, len(one)), np.tile(one, len(one))


def one_argument(dtype: str, sizes: Sequence[int] = (0, 1, 33, 1025)) -> Calls:
    return lambda rng: [(specials(dtype),), (wild(rng, dtype, 10007),), *((values(rng, dtype, n),) for n in sizes)]


def two_arguments(dtype: str) -> Calls:
    return lambda rng: [
        pairs(dtype),
        (wild(rng, dtype, 10007), wild(rng, dtype, 10007)),
        *((values(rng, dtype, n), values(rng, dtype, n)) for n in (1, 33, 1025)),
    ]


def layouts(a: Array) -> list[Array]:
    """The same numbers of two axes in other places: C, F, slices, reversed, every second, broadcast."""
    wide = np.zeros((2 * a.shape[0] + 1, 2 * a.shape[1] + 3), a.dtype)
    wide[1 : 1 + a.shape[0], 2 : 2 + a.shape[1]] = a
    inner = wide[1 : 1 + a.shape[0], 2 : 2 + a.shape[1]]
    second = np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2]
    return [a, np.asfortranarray(a), inner, a[::-1, ::-1].copy()[::-1, ::-1], second, np.asfortranarray(a[:, ::-1])[:, ::-1],
            np.broadcast_to(a[:1], a.shape), np.broadcast_to(a[:, :1], a.shape), np.broadcast_to(a[0, 0], a.shape)]  # fmt: skip


# ---- cases -----------------------------------------------------------------------------------------------------------

CASES: dict[str, Case] = {}


def case(name: str, parameters: str, expressions: Sequence[str] | str, calls: Calls, **more: Any) -> None:
    assert name not in CASES, name
    if isinstance(expressions, str):
        expressions = [expressions]
    CASES[name] = Case(name, parameters, tuple(expressions), calls, **more)


def body(name: str, text: str, calls: Calls, **more: Any) -> None:
    """A case of statements: its first line has the parameters."""
    head, *lines = [line for line in text.splitlines() if line.strip()]
    indent = len(lines[0]) - len(lines[0].lstrip())
    case(name, head.strip(), (), calls, setup=tuple(line[indent:] for line in lines), statements=True, **more)


def _takes(ufunc: str, dtype: str, arity: int) -> bool:
    try:
        getattr(np, ufunc).resolve_dtypes((np.dtype(dtype),) * arity + (None,) * getattr(np, ufunc).nout)
    except TypeError:
        return False
    return "float16" not in str(getattr(np, ufunc).resolve_dtypes((np.dtype(dtype),) * arity + (None,))[-1])


def _chunks(items: Sequence[str], n: int) -> list[Sequence[str]]:
    return [items[k : k + n] for k in range(0, len(items), n)]


SIGN_OF_ZERO_IS_FREE = {"maximum", "minimum", "fmax", "fmin"}  # NumPy's own loops differ by machine
DTYPES = ["bool", *INTEGERS, *FLOATS]

for _d in DTYPES:
    # sqrt of small integers is of float16, and reciprocal of zero undefined for integers.
    _integer = np.dtype(_d).kind in "iu"
    _names = [
        u
        for u in EXACT_UNARY
        if _takes(u, _d, 1)
        and not (
            np.dtype(_d).kind in "biu" and u in ("sqrt", "reciprocal", "signbit", "floor", "ceil", "trunc", "rint")
        )
    ]
    case(f"unary {_d}", "a", [f"np.{u}(a)" for u in _names], one_argument(_d))
    _names = [u for u in EXACT_BINARY if _takes(u, _d, 2) and not (_d not in FLOATS and u == "copysign")]
    _zeros = [u for u in _names if u in SIGN_OF_ZERO_IS_FREE]
    for _k, _chunk in enumerate(_chunks([u for u in _names if u not in _zeros], 10)):
        case(f"binary {_d} {_k}", "a, b", [f"np.{u}(a, b)" for u in _chunk], two_arguments(_d), judge="bits")
    case(f"extremes {_d}", "a, b", [f"np.{u}(a, b)" for u in _zeros], two_arguments(_d), judge="zeros")
    case(
        f"casts of {_d}", "a", [f"a.astype(np.{t})" for t in ["bool_", *INTEGERS, *FLOATS]],
        partial(lambda d, rng: [(np.asarray(rng.integers(0, 100, n)).astype(d),) for n in (1, 33, 1025)], _d),
    )  # fmt: skip
for _d in INTEGERS:
    case(
        f"shifts {_d}", "a, s", ["a << s", "a >> s"],
        partial(lambda d, rng: [(wild(rng, d, 1025), rng.integers(0, np.dtype(d).itemsize * 8, 1025).astype(d))], _d),
    )  # fmt: skip
for _d in FLOATS:
    case(
        f"long formula {_d}", "a, b, c", ["(a * b + c) * (a - b * c) / (1 + a * a)", "a * b - c * b", "np.sqrt(a * a + b * b)", "-(a * b) + c"],
        partial(lambda d, rng: [tuple(wild(rng, d, 10007) for _ in range(3)), tuple(values(rng, d, LARGE) for _ in range(3))], _d),
    )  # fmt: skip


def _elementary_values(dtype: str) -> Calls:
    def calls(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        scale = rng.choice([1e-3, 1.0, 30.0], 20011)
        return [
            (specials(dtype),), (np.asarray(rng.normal(size=20011) * scale).astype(dtype),),
            (np.abs(wild(rng, dtype, 20011)),), (np.asarray(rng.uniform(-1, 1, 1025)).astype(dtype),),
        ]  # fmt: skip

    return calls


for _d in FLOATS:
    for _k, _chunk in enumerate(_chunks(ROUNDED_UNARY, 6)):
        case(
            f"elementary {_d} {_k}",
            "a",
            [f"np.{u}(a)" for u in _chunk],
            _elementary_values(_d),
            judge="ulp",
            elementary=True,
        )
    case(
        f"elementary pairs {_d}", "a, b", [f"np.{u}(a, b)" for u in ROUNDED_BINARY],
        partial(lambda d, rng: [pairs(d), (np.abs(values(rng, d, 10007)), values(rng, d, 10007))], _d), judge="ulp", elementary=True,
    )  # fmt: skip

for _d in COMPLEX:
    case(
        f"complex exact {_d}", "a, b", ["a + b", "a - b", "a.conj()", "a.real + 0", "a.imag + 0", "-a", "a == b", "np.isnan(a)", "a * 2"],
        partial(lambda d, rng: [(values(rng, d, n), values(rng, d, n)) for n in (0, 1, 33, 1025)], _d),
    )  # fmt: skip
    case(
        f"complex {_d}", "a, b", ["a * b", "a / b", "np.abs(a)", "np.exp(a)", "a * a + b", "np.sqrt(a)"],
        partial(lambda d, rng: [(values(rng, d, n), values(rng, d, n)) for n in (1, 33, 1025)], _d), judge="near", elementary=True,
    )  # fmt: skip
    case(
        f"complex sums {_d}", "a", ["a.sum()", "a.sum(axis=0)", "a.mean(axis=1)"],
        partial(lambda d, rng: [(values(rng, d, (33, 70)),)], _d), judge="sum",
    )  # fmt: skip

# Layouts and shapes.
for _d in ("float64", "float32", "int16", "bool", "complex128"):
    case(
        f"layouts {_d}", "a, b", ["a + b", "np.where(a != b, a, b)", "(a == b).T"],
        partial(lambda d, rng: [(x, y) for x, y in zip(layouts(values(rng, d, (33, 47))), reversed(layouts(values(rng, d, (33, 47)))), strict=True)], _d),
    )  # fmt: skip
case(
    "layouts alone",
    "a",
    ["a * 2", "a[::-1] + 0", "a[:, 1:] - a[:, :-1]", "a.T + 1"],
    lambda rng: [(x,) for x in layouts(values(rng, "float64", (33, 47)))],
)
case(
    "sizes",
    "a, b",
    ["a * b + 1", "a > b", "np.maximum(a, 0) - b"],
    lambda rng: [(values(rng, "float64", n), values(rng, "float64", n)) for n in SIZES],
)
case(
    "sizes of two axes", "a, b", ["a - b", "np.where(a > b, a, -b)"],
    lambda rng: [(values(rng, "float32", s), values(rng, "float32", s)) for s in [(0, 3), (3, 0), (1, 1), (1, 1025), (1025, 1), (31, 37), (1500, 1501)]],
)  # fmt: skip
case(
    "broadcasting", "a, b, c", ["a + b", "a * c", "a[:, None, :] - b[None, :, None]", "(a - b) * c"],
    lambda rng: [(values(rng, "float64", (n, m)), values(rng, "float64", m), values(rng, "float64", (n, 1))) for n, m in [(7, 7), (1, 1), (33, 33), (129, 129)]],
)  # fmt: skip
case(
    "five axes",
    "a",
    ["a + 1", "a.transpose(4, 2, 0, 1, 3) * 2", "a.sum(axis=(1, 3))"],
    lambda rng: [(values(rng, "int64", (3, 5, 2, 7, 4)),)],
)
case(
    "scalars",
    "a, s, t, u",
    ["a * s + t", "np.where(u, a, s)", "a ** 2 / s"],
    lambda rng: [(values(rng, "float64", 33), 3, 0.1, True), (values(rng, "float32", 1025), -2, 1e-3, False)],
)
case("no axes", "a, b", ["a + b", "a * 2", "np.maximum(a, b)"], lambda rng: [(np.array(1.5), np.array(-0.0))])
case(
    "large",
    "a, b",
    ["a * b - 1", "(a > b)"],
    lambda rng: [(values(rng, "float64", LARGE), values(rng, "float64", LARGE))],
)
case(
    "joined",
    "a, b",
    ["np.concatenate((a, b))", "np.stack([a, a[::-1]])", "np.hstack((a[1:], b))"],
    lambda rng: [(values(rng, "float64", n), values(rng, "float64", m)) for n, m in [(5, 7), (33, 1), (1025, 1000)]],
)
case(
    "views",
    "a",
    [
        "a.reshape(-1)[::3] + 0",
        "a.ravel() * 2",
        "np.flip(a, 0) + a",
        "np.swapaxes(a, 0, 1).copy()",
        "a[..., None] * a[:, None, :]",
    ],
    lambda rng: [(values(rng, "float64", s),) for s in [(6, 7), (1, 1), (33, 31)]],
)
case(
    "made arrays",
    "a",
    [
        "np.arange(a.shape[0]) * 2",
        "np.zeros_like(a)",
        "np.full(a.shape, 2.5)",
        "np.eye(a.shape[0])",
        "np.ones((a.shape[0], 3)) + a[:, None]",
        "np.linspace(0.0, 1.0, 9)",
    ],
    lambda rng: [(values(rng, "float64", n),) for n in (1, 33, 100)],
)

# Masks, stencils, gathers.
case(
    "masks", "a, m", ["np.where(m, a, 0)", "a[m].sum()", "np.count_nonzero(m)", "(a * m)", "np.any(m)", "np.all(m)"],
    lambda rng: [(np.rint(values(rng, "float64", n)), rng.random(n) < p) for n, p in [(1, 0.5), (33, 0.5), (1025, 0.01), (10007, 0.9), (1025, 0.0), (1025, 1.1)]],
)  # fmt: skip
body(
    "masked writes",
    """a, m
    b = a.copy()
    b[m] = 0.5
    b[b > 1] *= 2
    return b""",
    lambda rng: [(values(rng, "float64", n), rng.random(n) < 0.4) for n in (1, 33, 10007)],
)
case(
    "stencils", "a", ["a[1:-1, 1:-1] * 4 - a[:-2, 1:-1] - a[2:, 1:-1] - a[1:-1, :-2] - a[1:-1, 2:]", "a[2:, 2:] - a[:-2, :-2]", "0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])"],
    lambda rng: [(values(rng, d, s),) for d in ["float64"] for s in [(3, 3), (33, 35), (129, 1025), (1300, 1301)]],
)  # fmt: skip
case(
    "neighbours on a ring",
    "a, s",
    [
        "np.roll(a, 1, 1) + np.roll(a, -1, 1) + np.roll(np.roll(a, 1, 0), -3, 1)",
        "np.roll(a, 7) - np.roll(a, s, 1)",
        "a[:, (np.arange(a.shape[1]) + 1) % a.shape[1]] + a[:, np.arange(a.shape[1]) - 1]",
    ],
    lambda rng: [(values(rng, "float32", s), k) for s, k in [((3, 1), 2), ((5, 33), -1), ((70, 300), 1), ((9, 1025), 10**6)]],
)  # fmt: skip
case(
    "places around an array",
    "a",
    [
        "np.pad(a, 1, mode='edge')[2:] + np.pad(a, ((0, 0), (2, 0)), mode='wrap')[1:, :1]",
        "np.pad(a, 1, constant_values=(3, 4)) - np.pad(a, 1, mode='reflect')",
        "np.lib.stride_tricks.sliding_window_view(np.pad(a, 1, mode='symmetric'), (3, 3)).max(axis=(2, 3))",
    ],
    lambda rng: [(values(rng, "float32", s),) for s in [(2, 3), (5, 33), (70, 300), (9, 1025)]],
)
case(
    "gathers",
    "a, k",
    ["a[k]", "a[k] * 2 + a[k[::-1]]"],
    lambda rng: [(values(rng, "float64", n), rng.integers(-n, n, m)) for n, m in [(1, 5), (33, 1025), (10007, 10007)]],
)
case(
    "gathers of rows",
    "a, k",
    ["a[k]", "a[k, k]", "a[:, k]"],
    lambda rng: [(values(rng, "float32", (33, 33)), rng.integers(-33, 33, 70))],
)
case(
    "out of range",
    "a, k",
    ["a[k] + 1"],
    lambda rng: [(values(rng, "float64", 33), np.array(k)) for k in ([0, 33], [-34, 1], [1 << 40], [32, -33])],
)
case(
    "out of range in rows",
    "a, k",
    ["a[k, 0]"],
    lambda rng: [(values(rng, "float64", (5, 3)), np.array(k)) for k in ([0, 5], [-6], [4, -5])],
)
body(
    "scattered",
    """a, k
    b = np.zeros(8)
    for i in range(len(k)):
        b[k[i]] += a[i]
    return b""",
    lambda rng: [
        (values(rng, "float64", 33), rng.integers(0, 8, 33)),
        (values(rng, "float64", 33), rng.integers(0, 9, 33)),
    ],
    judge="sum",
)

# Searches.
for _d in (*FLOATS, "int32", "uint8", "bool"):
    case(
        f"searches {_d}", "a", ["a.argmin()", "a.argmax()", "a.argmin(axis=0)", "a.argmax(axis=1)"],
        partial(lambda d, rng: [(x,) for s in [(1, 1), (33, 5), (5, 1025), (100, 100)] for x in searched(rng, d, s)], _d),
    )  # fmt: skip
case(
    "large search",
    "a",
    ["a.argmin()", "a.argmax()", "a.max()"],
    lambda rng: [(np.rint(values(rng, "float32", LARGE) * 100),)],
)
for _d in ("float32", "int64", "int8"):
    case(
        f"searches of columns {_d}", "a", ["a.argmin(axis=0)", "a.argmax(axis=0)"],
        partial(lambda d, rng: [(x,) for s in [(513, 3), (1000, 70), (140_001, 2)] for x in searched(rng, d, s)], _d),
    )  # fmt: skip
case("empty search", "a", ["a.argmin()"], lambda rng: [(np.zeros(0),), (np.zeros(3),)])
case("empty extreme", "a", ["a.max()"], lambda rng: [(np.zeros(0),), (np.zeros(3),)])


def searched(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> list[Array]:
    """Many ties; NaN in some places; all NaN; both zeros."""
    ties = np.asarray(rng.integers(0, 3, shape)).astype(dtype)
    if np.dtype(dtype).kind != "f":
        return [ties]
    some = np.where(rng.random(shape) < 0.05, np.nan, ties).astype(dtype)
    zeros = np.where(rng.random(shape) < 0.5, 0.0, -0.0).astype(dtype)
    return [ties, some, np.full(shape, np.nan, dtype), zeros]


# Functions of scalars, which are the same for all elements: Halide would work them out on the host.
for _d in FLOATS:
    case(f"functions of scalars {_d}", "a, s, t",
         ["a * np.sin(s)", "a + np.exp(t)", "np.where(np.cos(s) > 0.5, a, -a)", "(a * np.log1p(s)).sum()", "a.max(axis=1) / np.tanh(t)", "np.arctan2(a, s)",
          "np.arcsin(a - a)"],
         partial(lambda d, rng: [(np.asarray(values(rng, d, (33, 70))), 0.3, np.dtype(d).type(0.7))], _d), judge="sum", elementary=True)  # fmt: skip


def quotients(dtype: str, rng: np.random.Generator) -> list[tuple[Array, Array]]:
    """Each row divided by one number: every special value, and any bits at all."""
    divisors = np.concatenate([specials(dtype), wild(rng, dtype, 40), values(rng, dtype, 40)])
    one = np.concatenate([specials(dtype), wild(rng, dtype, 500), values(rng, dtype, 500)])
    return [(np.tile(one, (len(divisors), 1)), divisors)]


for _d in FLOATS:
    case(f"division of rows {_d}", "a, b", "a / b[:, None]", partial(quotients, _d), elementary=True)  # fmt: skip


# Reductions of all kinds.
SHAPES = [(1, 1), (7, 1025), (1025, 7), (33, 33), (300, 500)]
for _d in FLOATS:
    for _f in ("sum", "mean", "var", "std", "prod"):
        case(
            f"{_f} {_d}", "a", [f"a.{_f}()", f"a.{_f}(axis=0)", f"a.{_f}(axis=1, keepdims=True)"],
            partial(lambda d, f, rng: [(values(rng, d, s) if f != "prod" else np.asarray(np.exp(rng.normal(size=s) * 0.01)).astype(d),) for s in SHAPES[:4]], _d, _f), judge="sum",
        )  # fmt: skip
    case(f"norms {_d}", "a", ["np.linalg.norm(a)", "np.linalg.norm(a, axis=1)", "np.linalg.norm(a, 1, axis=0)", "np.linalg.norm(a, np.inf, axis=0)"],
         partial(lambda d, rng: [(values(rng, d, s),) for s in SHAPES], _d), judge="sum")  # fmt: skip
    case(
        f"large sum {_d}",
        "a, b",
        ["a.sum()", "(a * b).sum()", "(a * a).mean()"],
        partial(lambda d, rng: [(values(rng, d, LARGE), values(rng, d, LARGE))], _d),
        judge="sum",
    )
    case(f"extremes of axes {_d}", "a", ["a.max()", "a.min(axis=0)", "a.max(axis=1)", "np.ptp(a, axis=0)"],
         partial(lambda d, rng: [(x,) for s in SHAPES for x in searched(rng, d, s)[:3]], _d), judge="zeros")  # fmt: skip
    case(f"softmax {_d}", "a", ["np.exp(a - a.max(axis=1, keepdims=True)) / np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)"],
         partial(lambda d, rng: [(values(rng, d, s),) for s in SHAPES], _d), judge="sum", elementary=True)  # fmt: skip
for _d in INTEGERS:
    case(f"integer sums {_d}", "a", ["a.sum()", "a.sum(axis=0)", "a.prod(axis=1)", "a.max()", "a.min(axis=1)", "np.count_nonzero(a)"],
         partial(lambda d, rng: [(values(rng, d, s),) for s in SHAPES], _d))  # fmt: skip
for _c in (np.array(True), np.array(False)):
    case(f"sums behind one condition {_c}", "a, c", ["np.where(c, a * (a * a).sum(), a)", "np.where(c.reshape(1)[0], a, a + np.exp(-a).sum())"],
         partial(lambda c, rng: [(values(rng, "float64", n), c) for n in SIZES], _c), judge="sum", elementary=True)  # fmt: skip
case("sums behind a mask of one", "a, m", ["np.where(m, a * a.sum(), 0).sum()", "(a * a.sum() - 1.5)[m].sum()"],
     lambda rng: [(values(rng, "float64", 1), np.array([m])) for m in (True, False)], judge="sum")  # fmt: skip
for _d, _of in (("float32", "mean"), ("int64", "sum")):
    case(f"sums of several axes {_d}", "a", ["a.sum(axis=(0, 2, 3))", "a.max(axis=(0, 1))", f"a.{_of}(axis=(1, 3))", "a.min(axis=(2, 3))", "a.prod(axis=(0, 3))", "a.sum(axis=())"],
         partial(lambda d, rng: [(values(rng, d, s) if d == "int64" else np.asarray(np.exp(rng.normal(size=s) * 0.01)).astype(d),)
                                 for s in [(1, 1, 1, 1), (3, 5, 7, 9), (300, 4, 6, 10), (2, 700, 3, 50)]], _d), judge="sum")  # fmt: skip
case(
    "sums of booleans",
    "a",
    ["a.sum()", "a.sum(axis=0)", "a.any(axis=1)", "a.all(axis=0)", "a.any()", "a.all()"],
    lambda rng: [(rng.random(s) < p,) for s in SHAPES for p in (0.0, 0.02, 0.98, 1.1)],
)
case(
    "sums of nothing",
    "a",
    ["a.sum()", "a.sum(axis=0)", "a.sum(axis=1)", "a.any()", "a.all()", "a.prod(axis=0)"],
    lambda rng: [(np.zeros(s),) for s in [(0, 3), (3, 0), (0, 0)]],
)
case(
    "three axes",
    "a",
    ["a.sum(axis=(0, 2))", "a.sum(axis=1)", "a.max(axis=(0, 1))", "a.sum()"],
    lambda rng: [(np.rint(values(rng, "float64", s)),) for s in [(3, 5, 7), (33, 17, 9), (1, 1000, 1), (64, 2, 129)]],
)
case(
    "two results of sums",
    "a",
    ["a - a.mean()", "a / a.sum(axis=0)", "(a - a.mean(axis=0)).sum(axis=1)"],
    lambda rng: [(np.abs(values(rng, "float64", s)),) for s in SHAPES],
    judge="sum",
)

# Scans and products.
for _d in (*FLOATS, "int64"):
    body(f"scans {_d}", """a
        b = np.zeros_like(a)
        s = a[0] * 0
        for i in range(a.shape[0]):
            s = s + a[i]
            b[i] = s
        return b""", partial(lambda d, rng: [(values(rng, d, n),) for n in (1, 33, 1025)], _d))  # fmt: skip
body(
    "scans of axes",
    """a
    b = a.copy()
    c = a.copy()
    for i in range(1, a.shape[0]):
        b[i] += b[i - 1]
    for j in range(1, a.shape[1]):
        c[:, j] += c[:, j - 1]
    return b, c""",
    lambda rng: [(values(rng, "float64", s),) for s in [(33, 35), (100, 7)]],
)
for _d in (*FLOATS, "int64"):
    case(
        f"products {_d}", "a, b", ["a @ b", "(a @ b) + 1", "a.T @ a", "np.dot(a[0], b[:, 0])", "a @ b[:, 0]", "np.outer(a[0], b[:, 0])"],
        partial(lambda d, rng: [(values(rng, d, (n, k)) % 50 if d == "int64" else values(rng, d, (n, k)), values(rng, d, (k, m))) for n, k, m in [(1, 1, 1), (7, 5, 3), (33, 64, 35), (100, 100, 100), (1, 129, 65)]], _d),
        judge="bits" if _d == "int64" else "sum",
    )  # fmt: skip
case(
    "products of layouts",
    "a, b",
    ["a @ b", "a @ a.T"],
    lambda rng: [
        (x, y.T)
        for x, y in zip(
            layouts(values(rng, "float64", (17, 23))), reversed(layouts(values(rng, "float64", (17, 23)))), strict=True
        )
    ],
    judge="sum",
)
STACKS_OF_MATRICES = [((5, 7, 9), (5, 9, 3)), ((40, 64, 100), (40, 100, 70)), ((40, 64, 100), (1, 100, 70)), ((1, 64, 100), (40, 100, 70)),
                      ((0, 7, 9), (0, 9, 3)), ((5, 7, 0), (5, 0, 3)), ((1, 1, 1), (1, 1, 1)), ((3000, 3, 3), (3000, 3, 3)), ((2000, 16, 33), (2000, 33, 31))]  # fmt: skip
for _d in (*FLOATS, "complex64", "int32"):
    case(
        f"stacks of products {_d}", "a, b", ["a @ b", "(a + 1) @ b - 1", "b.mT @ a.mT", "a @ b[0]", "a[0] @ b", "a[:, None, :2] @ b[None, :3, :, :2]"],
        partial(lambda d, rng: [(values(rng, d, s), values(rng, d, t)) for s, t in STACKS_OF_MATRICES if s[0] > 0] if d != "int32" else [(values(rng, d, s) % 50, values(rng, d, t) % 50) for s, t in STACKS_OF_MATRICES[:5:2]], _d),
        judge="bits" if _d == "int32" else "sum",
    )  # fmt: skip
case(
    "stacks of products of four axes",
    "a, b",
    ["a @ b", "a.transpose(0, 2, 1, 3) @ b.transpose(0, 2, 3, 1)", "a[:, ::-1] @ b[:, :1]", "a[::2] @ b[::2]"],
    lambda rng: [(values(rng, "float32", (4, n, n, 80)), values(rng, "float32", (4, n, 80, 80))) for n in (1, 5, 16)],
    judge="sum",
)
case(
    "stacks of products of layouts",
    "a, b",
    ["a @ b", "a @ a.mT", "a * 2"],
    lambda rng: [
        (np.stack([x] * 24)[::step], np.stack([y.T] * 24)[::step])
        for x, y in zip(
            layouts(values(rng, "float64", (97, 83))), reversed(layouts(values(rng, "float64", (97, 83)))), strict=True
        )
        for step in (1, -1)
    ],
    judge="sum",
)
case(
    "empty stacks of products",
    "a, b",
    ["a @ b"],
    lambda rng: [(values(rng, "float64", s), values(rng, "float64", t)) for s, t in STACKS_OF_MATRICES if 0 in s],
)
case(
    "labels",
    "X, means",
    ["np.argmin(((X[:, None, :] - means[None, :, :]) ** 2).sum(-1), axis=1)"],
    lambda rng: [
        (np.rint(values(rng, "float64", (n, 2))), np.rint(values(rng, "float64", (k, 2))))
        for n, k in [(1, 1), (33, 3), (10007, 3), (1025, 10)]
    ],
)

# Loops.
body(
    "mandelbrot",
    """x, y, limit
    shape = (y.shape[0], x.shape[0])
    counts = np.zeros(shape, np.int64)
    for i in range(shape[0]):
        for j in range(shape[1]):
            cr, ci, zr, zi = x[j], y[i], 0.0, 0.0
            for n in range(limit):
                if zr * zr + zi * zi > 4.0:
                    counts[i, j] = n
                    break
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
    return counts""",
    lambda rng: [(np.linspace(-2, 0.5, m), np.linspace(-1.1, 1.1, n), 60) for n, m in [(1, 1), (33, 35)]],
)
body(
    "pixelwise while",
    """a
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        x, n = a[i], 0
        while x > 1.0 and n < 200:
            x = x * 0.5
            n += 1
        out[i] = x + n
    return out""",
    lambda rng: [(np.abs(values(rng, "float64", n)) * 1e5,) for n in (1, 33, 1025)],
)
body("jacobi", """steps, A, B
    for t in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])""",
     lambda rng: [(t, values(rng, "float64", s), values(rng, "float64", s)) for t, s in [(2, (5, 5)), (4, (33, 35)), (120, (65, 31))]])  # fmt: skip
body(
    "driver loop",
    """a, n
    x = a.copy()
    for t in range(n):
        x = x * 0.5 + x[::-1] * 0.25
    return x""",
    lambda rng: [(values(rng, "float64", 1025), n) for n in (0, 1, 7, 200)],
)
body(
    "until it is small",
    """a
    x = a.copy()
    n = 0
    while np.abs(x).max() > 1e-3 and n < 100:
        x = x * 0.5
        n += 1
    return x, n""",
    lambda rng: [(values(rng, "float64", n),) for n in (1, 33, 1025)],
)
body(
    "a loop that ends early",
    """a, limit
    s = 0.0
    k = -1
    for i in range(a.shape[0]):
        s += a[i]
        if s > limit:
            k = i
            break
    return s, k""",
    lambda rng: [(np.abs(np.rint(values(rng, "float64", 33))), x) for x in (0.0, 20.0, 1e9)],
)
body(
    "rows of a recurrence",
    """a
    b = a.copy()
    for i in range(1, a.shape[0]):
        b[i] = b[i - 1] * 0.5 + b[i]
    return b""",
    lambda rng: [(values(rng, "float64", s),) for s in [(1, 3), (33, 35), (7, 1025)]],
)
body(
    "branch on data",
    """a
    if a.mean() > 0:
        return a * 2
    return a - 1""",
    lambda rng: [(np.ones(33),), (-np.ones(33),)],
)
body(
    "numbers are returned",
    """a
    return a.sum(), float(a.max()), int(np.argmax(a)), bool((a > 2).any())""",
    lambda rng: [(np.rint(values(rng, "float64", n)),) for n in (1, 33, 1025)],
)
body(
    "one number",
    """a
    return np.rint(a).sum()""",
    lambda rng: [(values(rng, "float64", n),) for n in (0, 1, 1025)],
)
body(
    "an argument and a result",
    """a
    return a, a + 1""",
    lambda rng: [(values(rng, "float64", 33),)],
)

# Written arguments.
body(
    "written",
    """a, b
    a += b
    b[:] = a * 2""",
    lambda rng: [
        (x.copy(order="K"), values(rng, "float64", (33, 47))) for x in layouts(values(rng, "float64", (33, 47)))[:2]
    ],
)
body(
    "written views",
    """a, b
    a[1:-1] = b[2:] - b[:-2]
    a[0] = b[0]
    a[b > 1] = 0.25""",
    lambda rng: [(values(rng, "float64", n), values(rng, "float64", n)) for n in (3, 33, 1025)],
)
body(
    "written and strided",
    """a
    a[::2] += 1
    a[1::2] *= 3""",
    lambda rng: [(values(rng, "float64", 200)[::-2],), (values(rng, "float64", 70),), (np.zeros((70, 3))[:, 1],)],
)
body(
    "written and returned",
    """a
    a *= 2
    return a.max(), a + 1""",
    lambda rng: [(values(rng, "float64", n),) for n in (1, 1025)],
)
body(
    "read backwards",
    """a
    a[:] = a[::-1]
    return a + 0""",
    lambda rng: [(values(rng, "float64", n),) for n in (1, 33, 10007)],
)
body(
    "shifted in place",
    """a
    a[1:] = a[:-1]
    a[:-1] += a[1:]""",
    lambda rng: [(values(rng, "float64", n),) for n in (2, 33, 10007)],
)

# Errors of NumPy's.
case(
    "shapes disagree",
    "a, b",
    ["a + b"],
    lambda rng: [(np.ones(5), np.ones(5)), (np.ones(5), np.ones(4)), (np.ones(5), np.ones(1))],
)
case(
    "products disagree",
    "a, b",
    ["a @ b"],
    lambda rng: [(np.ones((3, 4)), np.ones((4, 2))), (np.ones((3, 4)), np.ones((3, 2)))],
)
case("no such row", "a, i", ["a[i] * 2"], lambda rng: [(np.ones((5, 3)), i) for i in (0, -5, 4, 5, -6)])
body(
    "no such element in a loop",
    """a, n
    s = 0.0
    for i in range(n):
        s += a[i]
    return s""",
    lambda rng: [(np.ones(33), n) for n in (33, 1, 34)],
)
body(
    "divided by an integer zero",
    """a, b
    return a // b, a % b""",
    lambda rng: [(values(rng, "int64", 33), rng.integers(-1, 2, 33))],
)

__all__ = ["CASES", "Case", "function_of"]
