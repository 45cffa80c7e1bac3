"""Measure the elementary functions in ULP against mpmath: random bits, dense ranges, special values.

``python accuracy.py --evaluate BUILD/tests/translator/math/math_evaluate`` prints the worst error of each function and
type, with the argument, and exits with 1 when one is above ``--bound``.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp

Array = npt.NDArray[Any]

mp.prec = 160

BINARY = ("arctan2", "hypot", "power")


def real_cbrt(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


REFERENCES: dict[str, Callable[..., Any]] = {
    "arccos": mp.acos,
    "arcsin": mp.asin,
    "arctan": mp.atan,
    "arctan2": mp.atan2,
    "cbrt": real_cbrt,
    "cos": mp.cos,
    "cosh": mp.cosh,
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "expm1": mp.expm1,
    "hypot": mp.hypot,
    "log": mp.log,
    "log10": mp.log10,
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2),
    "power": mp.power,
    "sin": mp.sin,
    "sinh": mp.sinh,
    "tan": mp.tan,
    "tanh": mp.tanh,
}


def special_values(dtype: np.dtype[Any]) -> Array:
    info = np.finfo(dtype)
    seeds = [0, 1, 0.5, 2, 3, 1 / 3, 10, 22, 100, 128, 149, 150, 1024, 1074, 1075, 0.625, 2**-0.5, 2**0.5]
    seeds += [np.pi, np.pi / 2, np.pi / 4, 709.782712893384, 710.4758600739439, 745.1332191019411, 708.3964185322641]
    seeds += [88.72283, 89.41598, 87.33654, 103.97208, 12800, 1.6e6, 2.5, 2**23 + 1, 2**52 + 1, 2**53, 1e22]
    values = np.array([*seeds, info.tiny, info.smallest_subnormal, info.tiny / 2, info.max, info.eps], dtype)
    values = np.concatenate([values, np.nextafter(values, dtype.type(0)), np.nextafter(values, dtype.type(1e30))])
    return np.concatenate([values, -values, np.array([np.inf, -np.inf, np.nan], dtype)])


def make_inputs(name: str, dtype: np.dtype[Any], count: int) -> list[Array]:
    rng = np.random.default_rng(20260101)
    word = np.dtype(np.uint32 if dtype.itemsize == 4 else np.uint64)
    special = special_values(dtype)
    columns: list[Array] = []
    for _ in range(2 if name in BINARY else 1):
        part = count // 8
        bits = rng.integers(0, np.iinfo(word).max, 2 * part, dtype=word, endpoint=True).view(dtype)
        dense = [rng.uniform(-limit, limit, part) for limit in (1, 10, 1000, 1e5)]
        dense += [1 + rng.uniform(-0.01, 0.01, part), rng.standard_normal(part) * np.exp(rng.uniform(-30, 30, part))]
        column = np.concatenate([bits, np.concatenate(dense).astype(dtype)])
        if columns:
            rng.shuffle(column)
        columns.append(column)
    if name in BINARY:
        # test_math has all pairs of such values, and a judge that takes little time.
        grid = rng.permutation(np.stack(np.meshgrid(special, special), axis=-1).reshape(-1, 2))[: 10 * count].T
        base = np.exp(rng.uniform(-20, 20, count // 2))
        exponent = rng.uniform(-1, 1, count // 2) * (700 if dtype.itemsize == 8 else 85) / np.log(base)
        return [
            np.concatenate([columns[0], grid[0], base.astype(dtype)]),
            np.concatenate([columns[1], grid[1], exponent.astype(dtype)]),
        ]
    return [np.concatenate([columns[0], special])]


def evaluate(tool: subprocess.Popen[str], name: str, isa: str, lanes: int, inputs: list[Array]) -> Array:
    dtype = inputs[0].dtype
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"in{i}") for i in range(len(inputs))]
        for path, column in zip(paths, inputs, strict=True):
            column.tofile(path)
        out = str(Path(folder) / "out")
        assert tool.stdin and tool.stdout
        print(name, dtype.name, isa, lanes, "strict", *paths, out, file=tool.stdin, flush=True)
        if tool.stdout.readline() != "done\n":
            raise RuntimeError(f"math_evaluate ended with {tool.wait()}")
        return np.fromfile(out, dtype)


def exact_error(name: str, got: Any, numpy_value: Any, arguments: list[Any]) -> float:
    """Error in ULP; infinity where NaN, an infinity or the sign of zero differs from what NumPy defines."""
    info = np.finfo(got.dtype)
    if np.isnan(numpy_value) or np.isnan(got):
        return 0.0 if np.isnan(got) and np.isnan(numpy_value) else float("inf")
    if got == 0 and numpy_value == 0:
        return 0.0 if np.signbit(got) == np.signbit(numpy_value) else float("inf")
    if np.isinf(numpy_value) or np.isinf(got):
        near_overflow = np.sign(got) == np.sign(numpy_value) and min(abs(got), abs(numpy_value)) >= info.max
        return 0.0 if got == numpy_value else (1.0 if near_overflow else float("inf"))
    # mpmath has no signed zeros and its own view of infinite arguments: the results there are constants.
    if any(not np.isfinite(a) or a == 0 for a in arguments):
        return float(abs(got - numpy_value) / np.spacing(abs(numpy_value)))
    # A power this near 1 needs thousands of bits; it is 1 or a neighbour of it.
    if name == "power" and abs(np.log2(abs(float(arguments[0]))) * float(arguments[1])) < 1e-30:
        return 0.0 if got == numpy_value else float("inf")
    want = REFERENCES[name](*(mp.mpf(float(a)) for a in arguments))
    if isinstance(want, mp.mpc):
        want = want.real
    _, exponent = mp.frexp(want)
    lowest = int(np.log2(float(info.smallest_subnormal)))
    unit = mp.ldexp(1, max(int(exponent) - info.nmant - 1, lowest))
    return float(abs(mp.mpf(float(got)) - want) / unit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluate", required=True, help="the math_evaluate program of a build")
    parser.add_argument("--count", type=int, default=200_000, help="random arguments of each function and type")
    parser.add_argument("--isa", default="x86-64-v3")
    parser.add_argument("--bound", type=float, default=2.0)
    parser.add_argument("names", nargs="*", help="functions; all of them without one")
    options = parser.parse_args()
    failed = False
    tool = subprocess.Popen([options.evaluate], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for name in options.names or REFERENCES:
        for dtype in (np.dtype(np.float64), np.dtype(np.float32)):
            inputs = make_inputs(name, dtype, options.count)
            got = evaluate(tool, name, options.isa, 32 // dtype.itemsize, inputs)
            with np.errstate(all="ignore"):
                judged = getattr(np, name)(*inputs)
                errors = [
                    exact_error(name, got[i], judged[i], [column[i] for column in inputs]) for i in range(len(got))
                ]
            worst = int(np.argmax(errors))
            where = ", ".join(repr(float(column[worst])) for column in inputs)
            print(f"{name:8} {dtype.name} {errors[worst]:6.3f} ULP at ({where}), {len(got)} arguments", flush=True)
            failed = failed or not errors[worst] <= options.bound
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
