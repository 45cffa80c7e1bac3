"""Loops whose iterations are independent as arrays with one more axis: the bits of the loops, whatever the sizes."""

from __future__ import annotations

import contextlib
import copy
import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from tilewright.builder import BuildRequest
from tilewright.symbolic import trace_limits
from trace_cases import close, same_bits

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(23)
OPTIONS, KEY = BuildRequest.options, BuildRequest.key


@pytest.fixture(autouse=True)
def compiled_as_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 0)
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")


@contextlib.contextmanager
def axes(on: bool, device: bool) -> Iterator[None]:
    """What a device has, on the host; with `device` all of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BuildRequest, "options", lambda request: OPTIONS(request) | {"axes": on, "device": device})
        patch.setattr(BuildRequest, "key", lambda request: f"{KEY(request)}{on}{device}")
        yield


def both(function: Callable[..., Any], call: tuple[Any, ...], device: bool = False) -> None:
    """The function as axes and as loops: the same bits, of arguments too, and NumPy's numbers."""
    outcomes = []
    for on in (True, False):
        with axes(on, device):
            mine = copy.deepcopy(call)
            outcomes.append((tilewright.jit(function, strict=True)(*mine), mine))
    theirs = copy.deepcopy(call)
    expected = function(*theirs)
    flat = [[*(r if isinstance(r, tuple) else (r,)), *args] for r, args in [*outcomes, (expected, theirs)]]
    for mine, loops, numpy in zip(*flat, strict=True):
        if not isinstance(numpy, (np.ndarray, np.generic)):
            continue
        same_bits(mine, loops)
        if numpy.dtype.kind == "f":
            close(np.asarray(mine), np.asarray(numpy), numpy.dtype)
        else:
            same_bits(mine, numpy)


def convolution(x, w):
    k = w.shape[0]
    out = np.empty((x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1, w.shape[3]), np.float32)
    for i in range(x.shape[1] - k + 1):
        for j in range(x.shape[2] - k + 1):
            out[:, i, j, :] = np.sum(x[:, i : i + k, j : j + k, :, np.newaxis] * w[np.newaxis], axis=(1, 2, 3))
    return out


def pools(x):
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2))
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            out[:, i, j] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return out


def whole_sums(x, y):
    out = np.zeros(x.shape[0])
    t = y * 2.0
    for i in range(x.shape[0]):
        out[i] = np.sum(x[i] * t) + np.sum(t)
    return out, t


def columns(x):
    out = np.zeros((x.shape[1], 3))
    for j in range(x.shape[1]):
        out[j, 0] = np.sum(x[:, j])
        out[j, 1] = np.mean(x[:, j] * out[j, 0])
        out[j, 2] += np.max(x[:, j]) - j
    return out


def nearest(x, y):
    out = np.zeros(x.shape[0], np.int64)
    for i in range(x.shape[0]):
        out[i] = np.argmin(np.sum((y - x[i]) ** 2, axis=1))
    return out


def in_place(x, w):
    for i in range(1, x.shape[0] - 1):
        x[i] = x[i] * w[i - 1 : i + 2].sum() + np.sqrt(np.abs(x[i, ::-1]))
    return x


def backwards(x):
    out = np.ones(x.shape[0])
    n = x.shape[0]
    for i in range(n - 1, -1, -2):
        out[n - 1 - i] = x[i] * i
    return out


def gathers(x, k):
    out = np.zeros((k.shape[0], x.shape[1]))
    for i in range(k.shape[0]):
        out[i] = x[k[i] % x.shape[0]] + i
    return out


def chooses(x):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            out[i] = x[i] * 2
        else:
            out[i] = -i
    return out


def edges(x):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = x[i - 1] if i > 0 else 1.0
    return out


def products(a, b):
    out = np.zeros((a.shape[0], a.shape[1], b.shape[1]))
    for i in range(a.shape[0]):
        out[i] = a[i] @ b
    return out


def products_of_stacks(a, b, c):
    out = np.zeros((a.shape[0], c.shape[0], a.shape[1], c.shape[2]))
    for i in range(a.shape[0]):
        out[i] = (a[i] @ c) @ b + c @ (b + i)
    return out


def histogram(x, edges):
    out = np.zeros(edges.shape[0] - 1)
    for i in range(edges.shape[0] - 1):
        inside = np.logical_and(x >= edges[i], x < edges[i + 1])
        out[i] = np.sum(np.where(inside, x, 0.0))
    return out


def steps_of_time(x):
    y = x.copy()
    for t in range(5):
        for i in range(1, x.shape[0] - 1):
            y[i] = 0.5 * (x[i - 1] + x[i + 1]).sum()
        x[:] = y + t
    return x


def ones(*shape: int) -> Any:
    return RNG.random(shape) - 0.25


CASES: list[tuple[Any, list[tuple[Any, ...]]]] = [
    (convolution, [(ones(2, 9, 11, 3).astype(np.float32), ones(3, 3, 3, 5).astype(np.float32))]),
    (pools, [(ones(2, 8, 9),)]),
    (whole_sums, [(ones(5, 40, 30), ones(40, 30)), (ones(5, 2, 3), ones(2, 3))]),
    (columns, [(ones(700, 9),), (ones(20, 3),)]),
    (nearest, [(ones(30, 7), ones(11, 7))]),
    (in_place, [(ones(9, 8), ones(9)), (ones(2, 8), ones(2))]),
    (backwards, [(ones(13),), (ones(8),)]),
    (gathers, [(ones(6, 4), RNG.integers(0, 50, 21))]),
    (chooses, [(ones(50),)]),
    (edges, [(ones(12),), (ones(1),)]),
    (products, [(ones(4, 6, 5), ones(5, 7))]),
    (products_of_stacks, [(ones(4, 5, 5), ones(6, 6), ones(3, 5, 6))]),
    (histogram, [(ones(3000), np.linspace(-0.2, 0.7, 12))]),
    (steps_of_time, [(ones(9, 5),)]),
]


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize(("function", "calls"), CASES, ids=[case[0].__name__ for case in CASES])
def test_axes_have_the_bits_of_loops(function: Any, calls: list[tuple[Any, ...]], device: bool) -> None:
    for call in calls:
        both(function, call, device)


def written(seed: int) -> str:
    """A random nest whose iterations keep to themselves."""
    rng = random.Random(seed)
    pick = rng.choice
    row = [
        "x[i]", "x[:n, i]", "z[i]", "z[i][::-1]", "x[i] * w", "np.where(x[i] > w, x[i], w)", "w[::2][:1] + x[i]",
        "x[i + p] - i", "np.sqrt(np.abs(x[p]))", "x[i].reshape(2, -1).reshape(-1)", "x[k[i] % 3]",
    ]  # fmt: skip
    number = [
        "x[i, 2]", "w[i]", "np.sum(x[i] * w)", "np.sum(x[i : i + 3] * w)", "np.sum(x[i : i + 2], axis=0)[1]",
        "np.max(x[:n, i] * w)", "float(i * 3 % 5)", "np.sum(z[i : i + 2, 1:] * x[p, 1:])", "np.mean(a)", "np.sum(a[i])",
        "a[i, 1, i % 1]", "np.sum(w * x[i, ::2][0])", "np.prod(x[i] + 1.0)", "np.sum(np.sum(a * x[i], axis=0), axis=0)[i]",
    ]  # fmt: skip
    lines = [
        "def f(x, z, w, a, k, p):",
        "    n = w.shape[0]",
        "    y = z * 0.5",
        "    v = np.zeros(n)",
        "    b = w * 2.0",
    ]
    start, step = pick(["", "", "1, "]), pick(["", "", ", 2"])
    lines.append(f"    for i in range({start or ('0, ' if step else '')}n{step}):")
    for _ in range(rng.randint(1, 4)):
        lines.append(
            "        "
            + pick(
                [
                    f"v[i] = {pick(number)}",
                    f"v[i] += {pick(number)} * {pick(number)}",
                    f"y[i] = {pick(row)}",
                    f"y[i] = y[i] * {pick(number)} + {pick(row)}",
                    f"y[i, 1:4] = {pick(number)}",
                    f"y[i, i % 2] = {pick(number)}",
                    f"z[i, 1:3] = np.sum({pick(row)} * w)",
                    f"if w[i] > 0.2:\n            v[i] = {pick(number)}",
                    f"for j in range(n):\n            y[i, j] = x[j, i] * {pick(number)} + np.sum(a[j] * w)",
                ]
            )
        )
    return "\n".join([*lines, "    return y * 1.0, v + np.sum(y), b, np.sum(v)"]) + "\n"


@pytest.mark.parametrize("seed", range(min(examples(6), 16)))
def test_random_maps_have_the_bits_of_loops(seed: int) -> None:
    source = written(seed)
    name = f"<map {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    n = 6
    call = (ones(n + 3, n), ones(n + 2, n), ones(n), ones(n, n, n), RNG.integers(0, 9, n), 1)
    with contextlib.suppress(IndexError):
        copied = copy.deepcopy(call)
        scope["f"](*copied)
        both(scope["f"], call, device=seed % 2 == 1)
