"""What each pass of the translator gains that one benchmark brought: `python benchmarks/passes.py [PASS...]`.

Each program is compiled twice in one process, with all passes and without the one (TILEWRIGHT_PASSES), with default schedules and
the same data. The two take turns on one thread, in random order; the ratio is without / with, by the first quartile of the turns and by the fastest: the
rest is what else the machine did. The first program of a
pass is the benchmark that brought it, the others are common idioms that know nothing of it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tilewright

CASES = Path(__file__).parent / "cases"
RNG = np.random.default_rng(3)
SEEDED = RNG.bit_generator.state
TURN_NS = 5e5


class Program(NamedTuple):
    name: str
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


def case(
    name: str, function: str = "kernel", size: str = "S", arguments: Callable[[], tuple[Any, ...]] | None = None
) -> Program:
    spec = importlib.util.spec_from_file_location(name, CASES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(f"{name} {size}", getattr(module, function), arguments or (lambda: module.make_data(size)))


# ---- linear_bits


def crc32(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF


def crc8(data):
    crc = 0
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 0x80:  # noqa: SIM108  (as it is usually written)
                crc = ((crc << 1) ^ 0x07) & 0xFF
            else:
                crc = (crc << 1) & 0xFF
    return crc


def scrambled(data):
    """The additive scrambler of a link: a Galois shift register of 16 bits, eight steps a byte."""
    out = np.empty_like(data)
    state = 0xACE1
    for i in range(data.shape[0]):
        for _ in range(8):
            if state & 1:
                state = (state >> 1) ^ 0xB400
            else:
                state >>= 1
        out[i] = data[i] ^ (state & 0xFF)
    return out


# ---- dimension_contraction, transposed_layout


def compact_derivative(f, h):
    """Fourth order compact differences of many rows: a tridiagonal system a row, all with the same coefficients."""
    n = f.shape[1]
    c = np.zeros_like(f)
    d = np.zeros_like(f)
    out = np.zeros_like(f)
    c[:, 0] = 0.0
    d[:, 0] = (f[:, 1] - f[:, 0]) / h
    for j in range(1, n - 1):
        c[:, j] = 0.25 / (1.0 - 0.25 * c[:, j - 1])
        d[:, j] = (0.75 * (f[:, j + 1] - f[:, j - 1]) / h - 0.25 * d[:, j - 1]) / (1.0 - 0.25 * c[:, j - 1])
    out[:, n - 1] = (f[:, n - 1] - f[:, n - 2]) / h
    for j in range(n - 2, -1, -1):
        out[:, j] = d[:, j] - c[:, j] * out[:, j + 1]
    return out


def implicit_heat(u, r, steps):
    """Implicit steps of heat in many rods at once (Thomas algorithm), in place."""
    n = u.shape[1]
    c = np.empty_like(u)
    d = np.empty_like(u)
    for _ in range(steps):
        c[:, 0] = 0.0
        d[:, 0] = u[:, 0]
        for j in range(1, n - 1):
            c[:, j] = -r / (1.0 + 2.0 * r + r * c[:, j - 1])
            d[:, j] = (u[:, j] + r * d[:, j - 1]) / (1.0 + 2.0 * r + r * c[:, j - 1])
        for j in range(n - 2, 0, -1):
            u[:, j] = d[:, j] - c[:, j] * u[:, j + 1]


def thomas(a, b, c, d):
    """Many tridiagonal systems, each with coefficients of its own."""
    n = d.shape[1]
    p = np.empty_like(d)
    q = np.empty_like(d)
    x = np.empty_like(d)
    p[:, 0] = c[:, 0] / b[:, 0]
    q[:, 0] = d[:, 0] / b[:, 0]
    for j in range(1, n):
        w = b[:, j] - a[:, j] * p[:, j - 1]
        p[:, j] = c[:, j] / w
        q[:, j] = (d[:, j] - a[:, j] * q[:, j - 1]) / w
    x[:, n - 1] = q[:, n - 1]
    for j in range(n - 2, -1, -1):
        x[:, j] = q[:, j] - p[:, j] * x[:, j + 1]
    return x


def forward_algorithm(start, transition, emission):
    """How likely the observations of a hidden Markov model are: states by times."""
    alpha = np.zeros((transition.shape[0], emission.shape[1]))
    alpha[:, 0] = start * emission[:, 0]
    for t in range(1, emission.shape[1]):
        alpha[:, t] = (transition @ alpha[:, t - 1]) * emission[:, t]
        alpha[:, t] = alpha[:, t] / np.sum(alpha[:, t])
    return alpha[:, -1]


# ---- packing


def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


def coordinate_descent(X, y, sweeps):
    """Least squares, one coefficient after the other."""
    w = np.zeros(X.shape[1])
    r = y.copy()
    for _ in range(sweeps):
        for j in range(X.shape[1]):
            step = X[:, j] @ r / (X[:, j] @ X[:, j])
            w[j] += step
            r -= step * X[:, j]
    return w


def products_by_columns(A, B):
    """A matrix product as a sum of columns times numbers."""
    C = np.zeros((A.shape[0], B.shape[1]))
    for j in range(B.shape[1]):
        for k in range(A.shape[1]):
            C[:, j] += A[:, k] * B[k, j]
    return C


# ---- dead_store_elimination


def smoothed(x, alpha):
    """Exponential smoothing of many series."""
    y = np.empty_like(x)
    y[:, 0] = x[:, 0]
    for t in range(1, x.shape[1]):
        y[:, t] = alpha * x[:, t] + (1.0 - alpha) * y[:, t - 1]
    return y


def paths(noise, start, drift, volatility):
    """Paths of prices: one time after the other."""
    prices = np.zeros((noise.shape[0] + 1, noise.shape[1]))
    prices[0, :] = start
    for t in range(noise.shape[0]):
        prices[t + 1, :] = prices[t, :] * (1.0 + drift + volatility * noise[t, :])
    return prices


# ---- bounds_check_elimination


def embedding_bags(table, words, offsets):
    out = np.empty((offsets.size - 1, table.shape[1]))
    for i in range(offsets.size - 1):
        out[i, :] = np.sum(table[words[offsets[i] : offsets[i + 1]], :], axis=0)
    return out


def neighbour_means(start, neighbour, value):
    """One round of averaging over the edges of a graph."""
    out = np.empty_like(value)
    for i in range(start.size - 1):
        out[i] = 0.5 * value[i] + 0.5 * np.sum(value[neighbour[start[i] : start[i + 1]]]) / (start[i + 1] - start[i])
    return out


def sparse_jacobi(row, col, val, diagonal, b):
    x = np.zeros_like(b)
    for _ in range(10):
        new = np.empty_like(b)
        for i in range(row.size - 1):
            new[i] = (b[i] - val[row[i] : row[i + 1]] @ x[col[row[i] : row[i + 1]]]) / diagonal[i]
        x = new
    return x


# ---- loop_products


def covariance(data):
    data = data - data.mean(axis=0)
    cov = np.zeros((data.shape[1], data.shape[1]))
    for i in range(data.shape[1]):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (len(data) - 1)
    return cov


def cosine_similarities(X):
    norms = np.sqrt((X * X).sum(axis=1))
    out = np.empty((len(X), len(X)))
    for i in range(len(X)):
        out[i] = X @ X[i] / (norms * norms[i])
    return out


def squared_distances(P, Q):
    of_q = (Q * Q).sum(axis=1)
    out = np.empty((len(P), len(Q)))
    for i in range(len(P)):
        out[i] = (P[i] * P[i]).sum() + of_q - 2 * np.dot(Q, P[i])
    return out


# ---- column_products


def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def forward_substitution(L, B):
    X = np.zeros_like(B)
    for i in range(len(L)):
        for j in range(B.shape[1]):
            X[i, j] = (B[i, j] - L[i, :i] @ X[:i, j]) / L[i, i]
    return X


def weighted_columns(w, X):
    out = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        out[j] = w @ X[:, j]
    return out


def edges(nodes: int, degree: int) -> tuple[Any, Any]:
    starts = np.arange(nodes + 1, dtype=np.int64) * degree
    return starts, RNG.integers(0, nodes, nodes * degree)


def probabilities(states: int, times: int) -> tuple[Any, ...]:
    transition = RNG.random((states, states))
    return np.full(states, 1 / states), transition / transition.sum(axis=0), RNG.random((states, times)) + 0.1


def systems(rows: int, n: int) -> tuple[Any, ...]:
    return RNG.random((rows, n)), RNG.random((rows, n)) + 4, RNG.random((rows, n)), RNG.random((rows, n))


def least_squares(rows: int, columns: int) -> tuple[Any, ...]:
    return RNG.random((rows, columns)), RNG.random(rows), 10


_BYTES = RNG.integers(0, 256, 16000, dtype=np.uint8)
_HEAT = Program("implicit_heat", implicit_heat, lambda: (RNG.random((256, 256)), 0.7, 5))
_COMPACT = Program("compact_derivative", compact_derivative, lambda: (RNG.random((256, 256)), 0.1))
_THOMAS = Program("thomas", thomas, lambda: systems(256, 256))
_SMOOTHED = Program("smoothed", smoothed, lambda: (RNG.random((1000, 1500)), 0.3))
_PATHS = Program("paths", paths, lambda: (RNG.random((1000, 1500)), 100.0, 0.01, 0.1))
PROGRAMS: dict[str, list[Program]] = {
    "linear_bits": [
        case("crc16", "crc16", "M"),
        Program("crc32", crc32, lambda: (_BYTES,)),
        Program("crc8", crc8, lambda: (_BYTES,)),
        Program("scrambled", scrambled, lambda: (_BYTES,)),
    ],
    "dimension_contraction": [case("adi"), _HEAT, _COMPACT],
    "transposed_layout": [
        case("adi"),
        _HEAT,
        _THOMAS,
        Program("forward_algorithm", forward_algorithm, lambda: probabilities(64, 1000)),
    ],
    "loop_products": [
        Program("covariance", covariance, lambda: (RNG.random((600, 500)),)),
        Program("cosine_similarities", cosine_similarities, lambda: (RNG.random((800, 64)),)),
        Program("squared_distances", squared_distances, lambda: (RNG.random((600, 100)), RNG.random((400, 100)))),
    ],
    "column_products": [
        Program("gram_schmidt", gram_schmidt, lambda: (RNG.random((70, 60)),)),
        Program(
            "forward_substitution",
            forward_substitution,
            lambda: (RNG.random((120, 120)) + 120 * np.eye(120), RNG.random((120, 120))),
        ),
        Program("weighted_columns", weighted_columns, lambda: (RNG.random(200), RNG.random((200, 200)))),
    ],
    "packing": [
        case("syrk"),
        Program(
            "syr2k", syr2k, lambda: (1.5, 1.2, *(RNG.random((70, 70)), RNG.random((70, 50)), RNG.random((70, 50))))
        ),
        Program("coordinate_descent", coordinate_descent, lambda: least_squares(500, 100)),
        Program("products_by_columns", products_by_columns, lambda: (RNG.random((120, 100)), RNG.random((100, 80)))),
    ],
    "dead_store_elimination": [case("deriche"), case("deriche", size="M"), _SMOOTHED, _PATHS, _THOMAS],
    "bounds_check_elimination": [
        case("spmv", "spmv", arguments=lambda: (*edges(4096, 2), RNG.random(4096 * 2), RNG.random(4096))),
        Program("embedding_bags", embedding_bags, lambda: (RNG.random((1000, 64)), *edges(1000, 8)[::-1])),
        Program("neighbour_means", neighbour_means, lambda: (*edges(4096, 8), RNG.random(4096))),
        Program(
            "sparse_jacobi",
            sparse_jacobi,
            lambda: (*edges(4096, 4), RNG.random(4096 * 4), RNG.random(4096) + 4, RNG.random(4096)),
        ),
    ],
}


def compiled(program: Program, left_out: str) -> tuple[Any, Any]:
    """The compiled function and its result."""
    os.environ["TILEWRIGHT_PASSES"] = left_out and f"-{left_out}"
    try:
        function = tilewright.jit(strict=True)(program.function)
        RNG.bit_generator.state = SEEDED
        return function, function(*program.arguments())
    finally:
        os.environ.pop("TILEWRIGHT_PASSES")


class Comparison(NamedTuple):
    ns: float  # with all passes
    by_quartile: float  # without / with
    by_fastest: float


def compared(program: Program, name: str, turns: int) -> Comparison:
    (all_passes, result), (without, other) = compiled(program, ""), compiled(program, name)
    if result is not None:
        np.testing.assert_allclose(result, other, rtol=1e-9)
    arguments = program.arguments()
    calls = 1
    times: dict[Any, list[float]] = {all_passes: [], without: []}
    for turn in range(-5, turns):
        for function in (all_passes, without) if RNG.random() < 0.5 else (without, all_passes):
            begin = time.perf_counter_ns()
            for _ in range(calls):
                function(*arguments)
            per_call_ns = (time.perf_counter_ns() - begin) / calls
            if turn >= 0:
                times[function].append(per_call_ns)
        if turn < 0:
            calls = max(1, int(TURN_NS / per_call_ns))
    quartile, fastest = ({f: float(np.quantile(of, q)) for f, of in times.items()} for q in (0.25, 0))
    return Comparison(
        quartile[all_passes], quartile[without] / quartile[all_passes], fastest[without] / fastest[all_passes]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("passes", nargs="*", metavar="PASS", help=f"of {', '.join(PROGRAMS)}; default: all")
    parser.add_argument("--turns", type=int, default=101)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    tilewright.set_num_threads(given.threads)
    print("| pass | program | us | without / with, first quartile | fastest |\n|---|---|---|---|---|")
    for name in given.passes or PROGRAMS:
        for program in PROGRAMS[name]:
            found = compared(program, name, given.turns)
            us = f"{found.ns / 1e3:.1f}"
            print(f"| {name} | {program.name} | {us} | {found.by_quartile:.2f} | {found.by_fastest:.2f} |", flush=True)


if __name__ == "__main__":
    main()
