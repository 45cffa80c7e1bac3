"""Floating-point operations of a call, counted on its program: never more than must run."""

import numpy as np
import pytest
from tilewright.flops import flops_of
from tilewright.program import Program

pytestmark = pytest.mark.fast

HEAD = """tilewright-program 1
function f "f.py"
arg X: float64[X.0, X.1]
arg W: float32[X.1, 5]
arg Z: complex128[X.0, X.1]
scalar n: int64
"""


def counted(lines, **sizes):
    found = flops_of(Program(HEAD + lines + "return none\n"), {"X.0": 100, "X.1": 10, "n": 11, **sizes})
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("%1: float64[X.0, X.1] = multiply(X, X) @8\n", {"float64": 1000}),
        ("%1: float64[X.0, X.1] = maximum(X, X) @8\n", {}),
        ("%1: int64[X.0, X.1] = add(X, X) @8\n", {}),
        ("%1: float64[X.0, X.1] = exp(X) @8\n", {"float64": 10_000}),
        ("s: float64[X.0] = sum(X) {axes=[1]} @8\n", {"float64": 900}),
        ("p: float64[X.0, 5] = matmul(X, W) @8\n", {"float64_products": 2 * 100 * 5 * 10}),
        (
            "%1: float64[7, X.0, X.1] = add(X, X) @8\np: float64[7, X.0, 5] = matmul(%1, W) @8\n",
            {"float64_products": 7 * 2 * 100 * 5 * 10, "float64": 7000},
        ),
        ("%1: float32[X.1, 5] = sqrt(W) @8\n", {"float32": 50}),
        ("%1: complex128[X.0, X.1] = add(Z, Z) @8\n", {"float64": 2000}),
        ("p: complex128[X.0, 4] = matmul(Z, Z) @8\n", {"float64_products": 4 * 2 * 100 * 4 * 10}),
        ("%1: float64[X.0, unknown] = multiply(X, X) @8\n", {}),
    ],
)
def test_operations_of_a_value(lines, expected):
    assert counted(lines) == expected


def test_loops_count_with_their_iterations_and_sizes_that_grow_with_them():
    assert counted(
        "Y: float32[X.1, 5] = for i in range(0, n, 1) carry (Y1: float32[X.1, 5] = W) {\n"
        "  %3: float32[X.1, 5] = add(Y1, Y1) @3\n"
        "  %4: float32[i, 5] = multiply(Y1, Y1) @3\n"
        "  yield %3\n"
        "}\n"
        "%5: float32[X.1, 5] = add(Y, Y) @3\n"
    ) == {"float32": 11 * 50 + 5 * sum(range(11)) + 50}


def test_what_may_not_run_counts_nothing():
    assert not counted(
        "y: float64[] = if %c {\n  %5: float32[X.1, 5] = add(W, W) @3\n  yield %5\n"
        "} else {\n  %6: float32[X.1, 5] = add(W, W) @3\n  yield %6\n}\n"
        "x2: float64[] = while carry (x1: float64[] = x) {\n  %9: float32[X.1, 5] = add(W, W) @3\n  yield c\n"
        "} do {\n  %8: float32[X.1, 5] = add(W, W) @3\n  yield x3\n}\n"
    )


def test_a_function_as_it_is_traced():
    import tilewright

    @tilewright.jit
    def f(x, w):
        for _ in range(3):
            x = x + x * 0.5
        return np.sqrt(x) @ w

    x, w = np.ones((400, 300), np.float32), np.ones((300, 200), np.float32)
    specialization = f.for_args(x, w)
    found = flops_of(specialization.program, specialization.example.sizes)
    assert found == {
        "float32": (3 * 2 + 1) * 400 * 300, "float64": 0, "float32_products": 2 * 400 * 300 * 200, "float64_products": 0,
    }  # fmt: skip


def test_limits_of_loops_may_have_commas():
    assert counted(
        "Y: float32[X.1, 5] = for i in range(0, min(n, X.0), 1) carry (Y1: float32[X.1, 5] = W) {\n"
        "  %3: float32[X.1, 5] = add(Y1, Y1) @3\n"
        "  yield %3\n"
        "}\n"
    ) == {"float32": 11 * 50}
