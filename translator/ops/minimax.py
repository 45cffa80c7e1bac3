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
    high: mpf
    counts: tuple[int, int]  # of float64, of float32
    low: mpf = mpf(0)

    def value(self, x: mpf) -> mpf:
        """Of the function, with digits to spare: it takes the difference of numbers that are close."""
        with mp.workdps(160):
            return self.function(x)


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
    values = [(x, row.value(x), row.weight(x)) for x in grid]
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
    return float(max(abs(row.weight(x) * (row.value(x) - evaluate(coefficients, x))) for x in points if x != 0))


def exp_rest(r: mpf) -> mpf:
    return (mp.exp(r) - 1 - r) / r**2


def cos_rest(z: mpf) -> mpf:
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def log_of_ratio(s: mpf) -> mpf:
    return mp.log1p(s) - mp.log1p(-s)


def log_rest(z: mpf) -> mpf:
    return (log_of_ratio(mp.sqrt(z)) - 2 * mp.sqrt(z)) / (mp.sqrt(z) * z)


def power_rest(z: mpf) -> mpf:
    return (mpf(3) / 2 / mp.sqrt(z) * log_of_ratio(mp.sqrt(z)) - 3 - z) / z**2


def odd(name: str, meaning: str, f: Real, high: mpf, counts: tuple[int, int]) -> Row:
    """An odd function f as ``(f(t) - t) / t**3`` of z = t * t; errors are relative to f(t)."""
    return Row(
        name,
        meaning,
        lambda z: (f(mp.sqrt(z)) - mp.sqrt(z)) / (mp.sqrt(z) * z),
        lambda z: mp.sqrt(z) * z / f(mp.sqrt(z)),
        high,
        counts,
    )


LN2_HALF = mp.log(2) / 2 * mpf("1.0001")
S_LOG = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.0001")
QUARTER = (mp.pi / 4) ** 2 * mpf("1.0001")
HALF = mpf("0.2501")

ROWS = [
    Row("exp", "(e^r - 1 - r) / r^2", exp_rest, lambda r: r**2 / mp.exp(r), LN2_HALF, (10, 5), -LN2_HALF),
    Row("expm1", "(e^r - 1 - r) / r^2", exp_rest, lambda r: r**2 / mp.expm1(r), LN2_HALF, (11, 6), -LN2_HALF),
    Row("log", "(log((1+s)/(1-s)) - 2s) / s^3, z = s^2", log_rest, lambda z: z, S_LOG, (7, 4)),
    Row("power", "(1.5/s log((1+s)/(1-s)) - 3 - z) / z^2, z = s^2", power_rest, lambda z: z**2, S_LOG, (9, 3)),
    odd("sin", "(sin(r) - r) / r^3, z = r^2", mp.sin, QUARTER, (6, 3)),
    Row("cos", "(cos(r) - 1 + z/2) / z^2, z = r^2", cos_rest, lambda z: z**2, QUARTER, (6, 3)),
    odd("tanh", "(tanh(x) - x) / x^3 to 0.625, z = x^2", mp.tanh, mpf("0.3907"), (0, 5)),
    odd("sinh", "(sinh(x) - x) / x^3 to 1, z = x^2", mp.sinh, mpf("1.0001"), (7, 4)),
    odd("arctan", "(arctan(t) - t) / t^3 to 1/2, z = t^2", mp.atan, HALF, (13, 6)),
    odd("arcsin", "(arcsin(x) - x) / x^3 to 1/2, z = x^2", mp.asin, HALF, (13, 5)),
]


def main() -> None:
    print("// translator/ops/math_coefficients.h: polynomial coefficients, written by minimax.py; do not edit.")
    print("#pragma once\n\n#include <vector>\n\nnamespace tilewright::translator::coefficients {\n")
    for row in ROWS:
        for bits, count in zip((64, 32), row.counts, strict=True):
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
