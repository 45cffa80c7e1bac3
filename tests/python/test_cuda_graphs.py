"""Calls that the caller captures into a CUDA graph with PyTorch or CuPy, launched again on new data: every case of
device_cases.py, and functions with temporaries, sums in several kernels, products and long loops.

Needs a device; `python tests/gpu.py` runs it.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
import pytest
import tilewright
from device_cases import CASES
from device_helpers import needs_device
from device_pool import ask_all
from graph_worker import REFUSED, CuPy, Torch
from tilewright import _face

SEED = int(os.environ.get("TILEWRIGHT_RANDOM_SEED", "0"))
LIBRARIES = [name for name in ("torch", "cupy") if importlib.util.find_spec(name)]
MAKERS: dict[str, Any] = {"torch": Torch, "cupy": CuPy}
# Few processes at a time: each has a context and a PyTorch of its own.
WORKERS = 8

pytestmark = [pytest.mark.device, needs_device, pytest.mark.skipif(not LIBRARIES, reason="neither PyTorch nor CuPy")]


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest) -> dict[tuple[str, str], dict[str, Any]]:
    asked = [
        (item.callspec.params["library"], item.callspec.params["name"])  # type: ignore[attr-defined]
        for item in request.session.items
        if item.path == request.path and "name" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    questions = [{"ask": "graph", "library": library, "name": name, "seed": SEED} for library, name in asked]
    return dict(zip(asked, ask_all(questions, workers=WORKERS), strict=True))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_case_is_launched_again(library: str, name: str, answers: dict[tuple[str, str], dict[str, Any]]) -> None:
    answer = answers[library, name]
    assert answer["status"] == "ok", f"seed {SEED}\n{answer['text']}"


def l2_norm(x):
    return np.sqrt(np.sum(x * x))


def column_norms(x):
    return np.sqrt(np.sum(x * x, axis=0))


def variance(x):
    return np.var(x, axis=0)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def chain_of_products(x):
    return (x @ x.T) @ (x @ x.T) @ x


def diffused(x):
    u = x.copy()
    for _ in range(300):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def products_of_stacks(x):
    s = x[:256, :128].reshape(4, 64, 128)
    return (s[:, None] @ s.mT).sum(axis=(0, 1))


WITH_TEMPORARIES = [l2_norm, column_norms, variance, softmax, chain_of_products, products_of_stacks, diffused]


@pytest.mark.parametrize("is_cold", [False, True])
@pytest.mark.parametrize("function", WITH_TEMPORARIES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_functions_with_temporaries(library: str, function: Any, is_cold: bool) -> None:
    made = MAKERS[library]()
    compiled = tilewright.jit(function)
    first, second = (np.random.default_rng(s).normal(size=(257, 129)) / 12 for s in (1, 2))
    x = made.place(first)
    if not is_cold:
        with made.beside():
            compiled(made.place(first))
    with made.captured():
        result = compiled(x)
    # Memory of the graph is nobody's in between.
    with made.beside():
        others = [compiled(made.place(second)) for _ in range(5)]
    for values in (second, first, second):
        made.write(x, values)
        made.launch()
        np.testing.assert_allclose(made.read(result), function(values), rtol=1e-9, atol=1e-12)
    for other in others:
        np.testing.assert_allclose(made.read(other), function(second), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_memory_of_a_graph_comes_back(library: str) -> None:
    made = MAKERS[library]()
    compiled = tilewright.jit(chain_of_products)
    x = made.place(np.random.default_rng(3).normal(size=(512, 512)))
    with made.beside():
        compiled(x)
    for _ in range(8):
        with made.captured():
            result = compiled(x)
        made.launch()
        del result
    made = None
    import gc
    import time

    gc.collect()
    tilewright.trim_pool("cuda")
    for _ in range(100):
        if _face.device_pool_info("cuda")["graph_bytes"] == 0:
            break
        time.sleep(0.01)
    assert _face.device_pool_info("cuda")["graph_bytes"] == 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_decides_by_data_is_refused_and_the_capture_lives(library: str) -> None:
    made = MAKERS[library]()

    @tilewright.jit(strict=True)
    def halve(x):
        while np.max(x) > 1:
            x = x * 0.5
        return x

    @tilewright.jit
    def twice(x):
        return 2 * x

    x = made.place(np.arange(10.0))
    with made.beside():
        halve(x)
        twice(x)
    with made.captured():
        with pytest.raises(tilewright.DeviceError, match=REFUSED):
            halve(x)
        result = twice(x)
    made.launch()
    np.testing.assert_array_equal(made.read(result), 2 * np.arange(10.0))
