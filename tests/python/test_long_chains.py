"""Chains of operations that a loop over Python's own values unrolls: what compiling them takes grows with their length alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

WEIGHTS = [float(w) for w in np.linspace(0.1, 1, 24)]


def bordered(x: Any, weights: Any) -> Any:
    for w in weights:  # each reads four places of the one before
        x = np.concatenate([x[:1], w * (x[:-2] + x[2:]) / 2, x[-1:]])
    return x


def neighbours(x: Any, weights: Any) -> Any:
    for w in weights:
        x = x[2:] + w * x[:-2]
    return x


def both_halves(x: Any, weights: Any) -> Any:
    for w in weights:
        x = x[::-1] * w + x
    return x


@pytest.mark.parametrize("chain", [bordered, neighbours, both_halves])
def test_chains_that_read_several_places_compile(chain: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).random(40_000)

    def seconds(weights: list[float]) -> float:
        compiled = tilewright.jit(lambda x: chain(x, weights))
        start = time.process_time()
        specialization = compiled.for_args(x)
        took = time.process_time() - start
        assert specialization.versions
        np.testing.assert_array_equal(compiled(x), chain(x, weights))
        return took

    # With the code of every iteration inside of the next one, twelve did not end, or the process did.
    assert seconds(WEIGHTS) < 20 * seconds(WEIGHTS[:6]) + 5
