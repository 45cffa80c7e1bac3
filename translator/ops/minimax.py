"""Compute the polynomial coefficients in math_coefficients.h (Remez exchange in 60 digits).

Run by hand: ``python minimax.py > math_coefficients.h``. Each row approximates ``f`` on ``[low, high]`` so that
``weight(x) * (f(x) - p(x))`` is least in absolute value; the comment of each table holds that value for the
coefficients after rounding to their type.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

mp.dps = 60

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Row:
    """One polynomial: its C++ name, what it approximates, and how many coefficients each type gets."""

    name: str
    meaning: str
    function: Real
    weight: Real
    low: mpf
    high: mpf
    count64: int
    count32: int


def evaluate(coefficients: list[mpf], x: mpf) -> mpf:
    value = mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def remez(row: Row, count: int) -> list[mpf]:
    """Coefficients, constant term first, by exchange on a grid dense enough for three digits of the error."""
    middle, half = (row.low + row.high) / 2, (row.high - row.low) / 2
    size = 60 * (count + 1)
    grid = [middle - half * mp.cos(mp.pi * (i + mpf(1) / 2) / size) for i in range(size)]
    values = [(x, row.function(x), row.weight(x)) for x in grid]
    values = [v for v in values if v[2] != 0]
    size = len(values)
    chosen = [round((size - 1) * (1 - np.cos(np.pi * i / count)) / 2) for i in range(count + 1)]
    coefficients: list[mpf] = []
    for _ in range(40):
        matrix, right = mp.matrix(count + 1, count + 1), mp.matrix(count + 1, 1)
        for i, index in enumerate(chosen):
            x, f, w = values[index]
            for j in range(count):
                matrix[i, j] = x**j
            matrix[i, count] = (-1) ** i / w
            right[i] = f
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[j] for j in range(count)]
        level = abs(solution[count])
        errors = [w * (f - evaluate(coefficients, x)) for x, f, w in values]
        # The extremum of each run of equal signs; then the best window of count + 1 of them.
        peaks: list[int] = []
        for i, e in enumerate(errors):
            if peaks and (e > 0) == (errors[peaks[-1]] > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > count + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < count + 1:
            raise ArithmeticError(f"{row.name}: the exchange lost its alternation with {count} coefficients")
        chosen = peaks
        if max(abs(e) for e in errors) < level * mpf("1.002"):
            break
    return coefficients


def largest_error(row: Row, coefficients: list[mpf]) -> float:
    points = [row.low + (row.high - row.low) * i / 1000 for i in range(1001)]
    return float(max(abs(row.weight(x) * (row.function(x) - evaluate(coefficients, x))) for x in points if x != 0))


def series(function: Real, terms: list[mpf], shift: int) -> Real:
    """``(function(x) - terms) / x**shift`` without the cancellation near 0."""

    def rest(x: mpf) -> mpf:
        if x == 0:
            x = mpf(10) ** -15
        with mp.workdps(160):
            return +((function(x) - evaluate(terms, x)) / x**shift)

    return rest


def root(function: Real) -> Real:
    """An odd function f as ``(f(t) - t) / t**3`` of z = t * t."""

    def rest(z: mpf) -> mpf:
        if z == 0:
            z = mpf(10) ** -20
        with mp.workdps(160):
            t = mp.sqrt(z)
            return +((function(t) - t) / (t * z))

    return rest


def odd_weight(function: Real) -> Real:
    """Relative to f(t): what an error of the polynomial does to the result."""
    return lambda z: mpf(0) if z == 0 else mp.sqrt(z) * z / function(mp.sqrt(z))


def cosine_rest(z: mpf) -> mpf:
    z = z or mpf(10) ** -20
    with mp.workdps(160):
        return +((mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2)


def log_rest(z: mpf) -> mpf:
    """(log((1+s)/(1-s)) - 2s) / s**3 with z = s*s."""
    z = z or mpf(10) ** -20
    with mp.workdps(160):
        s = mp.sqrt(z)
        return +((mp.log1p(s) - mp.log1p(-s) - 2 * s) / (s * z))


def power_rest(z: mpf) -> mpf:
    """(1.5 / s * log((1+s)/(1-s)) - 3 - z) / z**2 with z = s*s."""
    z = z or mpf(10) ** -20
    with mp.workdps(160):
        s = mp.sqrt(z)
        return +((mpf(3) / 2 / s * (mp.log1p(s) - mp.log1p(-s)) - 3 - z) / z**2)


LN2_HALF = mp.log(2) / 2 * mpf("1.0001")
S_LOG = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.0001")
QUARTER = (mp.pi / 4) ** 2 * mpf("1.0001")

ROWS = [
    Row(
        "exp",
        "(e^r - 1 - r) / r^2",
        series(mp.exp, [mpf(1), mpf(1)], 2),
        lambda r: r**2 / mp.exp(r),
        -LN2_HALF,
        LN2_HALF,
        10,
        5,
    ),
    Row(
        "expm1",
        "(e^r - 1 - r) / r^2",
        series(mp.exp, [mpf(1), mpf(1)], 2),
        lambda r: r**2 / mp.expm1(r) if r else 0,
        -LN2_HALF,
        LN2_HALF,
        11,
        6,
    ),
    Row("log", "(log((1+s)/(1-s)) - 2s) / s^3, z = s^2", log_rest, lambda z: z, mpf(0), S_LOG, 7, 4),
    Row("power", "(1.5/s log((1+s)/(1-s)) - 3 - z) / z^2, z = s^2", power_rest, lambda z: z**2, mpf(0), S_LOG, 9, 3),
    Row("sin", "(sin(r) - r) / r^3, z = r^2", root(mp.sin), odd_weight(mp.sin), mpf(0), QUARTER, 6, 3),
    Row("cos", "(cos(r) - 1 + z/2) / z^2, z = r^2", cosine_rest, lambda z: z**2, mpf(0), QUARTER, 6, 3),
    Row(
        "tanh", "(tanh(x) - x) / x^3 to 0.625, z = x^2", root(mp.tanh), odd_weight(mp.tanh), mpf(0), mpf("0.3907"), 0, 5
    ),
    Row("sinh", "(sinh(x) - x) / x^3 to 1, z = x^2", root(mp.sinh), odd_weight(mp.sinh), mpf(0), mpf("1.0001"), 7, 4),
    Row(
        "arctan",
        "(arctan(t) - t) / t^3 to 1/2, z = t^2",
        root(mp.atan),
        odd_weight(mp.atan),
        mpf(0),
        mpf("0.2501"),
        13,
        6,
    ),
    Row(
        "arcsin",
        "(arcsin(x) - x) / x^3 to 1/2, z = x^2",
        root(mp.asin),
        odd_weight(mp.asin),
        mpf(0),
        mpf("0.2501"),
        13,
        5,
    ),
]


def main() -> None:
    print("// translator/ops/math_coefficients.h: polynomial coefficients, written by minimax.py; do not edit.")
    print("#pragma once\n\n#include <vector>\n\nnamespace tilewright::translator::coefficients {\n")
    for row in ROWS:
        for bits, count in ((64, row.count64), (32, row.count32)):
            if count == 0:
                continue
            exact = remez(row, count)
            rounded = [float(np.float32(float(c))) if bits == 32 else float(c) for c in exact]
            error = largest_error(row, [mpf(c) for c in rounded])
            print(f"/// {row.meaning}; error {error:.1e} = 2^{np.log2(error):.1f}")
            separator = "_" if row.name[-1].isdigit() else ""
            print(f"inline const std::vector<double> {row.name}{separator}{bits} = {{")
            for c in rounded:
                print(f"    {c!r},")
            print("};")
    print("\n}  // namespace tilewright::translator::coefficients")


if __name__ == "__main__":
    main()
