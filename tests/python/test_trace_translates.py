"""What the trace writes the translator reads, and a kernel of it answers as NumPy does (needs translator_evaluate)."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_trace_arrays
import test_trace_functions
from examples import one_in
from tilewright import TraceError
from trace_cases import trace

sys.path.insert(0, str(Path(__file__).parents[1] / "translator"))

EVALUATE = os.environ.get("TILEWRIGHT_TRANSLATOR_EVALUATE", "")
pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(not EVALUATE, reason="TILEWRIGHT_TRANSLATOR_EVALUATE names no translator_evaluate"),
]

M = np.arange(24.0).reshape(4, 6) / 7 - 1
V = np.arange(1.0, 7.0)
FUNCTIONS = test_trace_functions
CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (FUNCTIONS.kmeans, (M, M[:3])),
    (FUNCTIONS.softmax, (M,)),
    (FUNCTIONS.matmul_softmax, (M, M.T.copy())),
    (FUNCTIONS.l2_norm, (V,)),
    (FUNCTIONS.squared_difference, (V, V * 2)),
    (FUNCTIONS.trig, (V, V, 0.5)),
    (FUNCTIONS.monte_carlo_pi, (V / 7, V / 9)),
    (FUNCTIONS.standardize, (M,)),
    (FUNCTIONS.layer_norm, (M,)),
    (FUNCTIONS.laplace, (M,)),
    *((f, (M,)) for f in test_trace_arrays.SHAPES),
    *((f, (V, 5)) for f in test_trace_arrays.CREATORS),
    *((f, (M,)) for f in FUNCTIONS.COMPOSITES),
]


@pytest.fixture(scope="module")
def evaluator() -> Any:
    from translator_process import Evaluator

    return Evaluator(EVALUATE)


def single(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(("number", "is_single"), one_in(2, range(len(CASES)), [False, True]))
def test_a_kernel_of_the_text_answers_as_numpy(number: int, is_single: bool, evaluator: Any) -> None:
    function, args = CASES[number]
    args = tuple(single(a) for a in args) if is_single else args
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            traced = trace(function, args)
        except TraceError:
            pytest.skip("not traced")
        if traced.fallback_reason is not None:
            pytest.skip(traced.fallback_reason)
        expected = function(*args)
    inputs = traced.inputs(args, {})
    results = evaluator.run(traced.program_text, inputs)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted, strict=True):
        assert got.dtype == np.asarray(want).dtype and got.shape == np.shape(want)
        # A float64 result may hold a float32 sum: np.array([x.sum(), 3.0]).
        tolerance = 1e-4 if is_single or got.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(got.astype(float), np.asarray(want).astype(float), rtol=tolerance, atol=tolerance)
