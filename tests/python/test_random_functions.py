"""Random functions end to end: jit's answer beside NumPy's at odd sizes, layouts and values. Nothing may run in NumPy instead.

`TILEWRIGHT_RANDOM_FUNCTIONS=500 pytest tests/python/test_random_functions.py` tries so many; with `TILEWRIGHT_RANDOM_SEED=7` others than usual.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_functions import (
    RandomFunction,
    SeededChoices,
    Writer,
    as_tuple,
    difference,
    drawn_turn,
    perturbed_answers,
)
from tilewright import specializing

pytestmark = pytest.mark.compile

LONG = int(os.environ.get("TILEWRIGHT_RANDOM_FUNCTIONS", "0"))
SEED = int(os.environ.get("TILEWRIGHT_RANDOM_SEED", "0"))
SIZES_A_FUNCTION = 4


class Refused(Exception):
    """The tracer or the translator says no."""


class Wrong(AssertionError):
    """An answer that is not NumPy's."""


class Drawn:
    """Choices of Hypothesis, which shrinks them."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def integer(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def pick(self, sequence: Sequence[Any]) -> Any:
        return sequence[self._data.draw(st.integers(0, len(sequence) - 1))]


class Compiled:
    """A function behind jit, with NumPy locked out."""

    def __init__(self, made: RandomFunction) -> None:
        # A file name of its own: the source is matched with the code through linecache.
        import linecache

        name = f"<random {hashlib.sha1(made.source.encode()).hexdigest()[:12]}>"
        linecache.cache[name] = (len(made.source), None, made.source.splitlines(True), name)
        self.numpy = made.function(filename=name)
        self._jit = tilewright.jit(made.function(filename=name), strict=True)
        self._jit._in_numpy = self._never  # type: ignore[method-assign]

    def _never(self, args: tuple[Any, ...], *_: Any) -> Any:
        self._jit.for_args(*args)  # what computes nothing is refused here
        raise AssertionError("the call runs in NumPy")

    def __call__(self, *args: Any) -> Any:
        try:
            return self._jit(*args)
        except (tilewright.TraceError, tilewright.TranslateError) as error:
            raise Refused(str(error)) from error


def run_one(made: RandomFunction, choices: Any) -> int:
    """Compares at several sizes; how many were compared."""
    compiled = Compiled(made)
    compared = 0
    for turn in range(SIZES_A_FUNCTION):
        call = drawn_turn(made, choices, turn)
        what = f"\n{made.source}sizes {call.sizes}, layouts {call.layouts}, arguments " + ", ".join(
            f"{a.dtype}{a.shape}" if isinstance(a, np.ndarray) else repr(a) for a in call.args
        )
        compared += compare(made, compiled, call.args, what)
    return compared


def compare(made: RandomFunction, compiled: Compiled, args: list[Any], what: str) -> bool:
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected: Any = compiled.numpy(*args)
            error = None
        except Exception as raised:  # noqa: BLE001  (whatever NumPy raises)
            error = raised
        try:
            result = compiled(*args)
        except Refused:
            if error is not None:
                return False
            raise
        except Exception as raised:  # noqa: BLE001
            if error is not None and isinstance(raised, type(error)):
                return True
            raise Wrong(f"raises {type(raised).__name__}: {raised}; NumPy: {error!r}{what}") from raised
        if error is not None:
            raise Wrong(f"answers, but NumPy raises {error!r}{what}")
        for a, b in zip(args, before, strict=True):
            if isinstance(a, np.ndarray) and not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                raise Wrong(f"an argument was changed{what}")
        results, wanted = as_tuple(result), as_tuple(expected)
        exact = [difference(r, w, []) for r, w in zip(results, wanted, strict=True)]
        if any(exact):
            others = perturbed_answers(made, args)
            for k, (r, w) in enumerate(zip(results, wanted, strict=True)):
                if problem := difference(r, w, [other[k] for other in others]):
                    raise Wrong(f"result {k}: {problem}{what}")
    return True


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    # One product of matrices is NumPy's own; here it has to be compiled too.
    monkeypatch.setattr(specializing, "is_one_library_call", lambda _: False)


counts = {"compared": 0, "refused": 0}


def count_one(choices):
    """Writes one function and compares its answers with NumPy's; a function that is refused is counted."""
    made = Writer(choices).write()
    try:
        counts["compared"] += run_one(made, choices)
    except Refused:
        counts["refused"] += 1


@pytest.mark.skipif(LONG > 0, reason="the long run is asked for")
@settings(
    max_examples=examples(20), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)  # fmt: skip
@given(st.data())
def test_random_functions_answer_as_numpy(data):
    count_one(Drawn(data))


@pytest.mark.skipif(LONG > 0, reason="the long run is asked for")
def test_most_of_them_are_compiled():
    assert counts["compared"] > 2 * counts["refused"] > -1 and counts["compared"] >= examples(20) // 2, counts


@pytest.mark.skipif(LONG == 0, reason="TILEWRIGHT_RANDOM_FUNCTIONS says how many")
def test_many_random_functions_answer_as_numpy():
    wrong = []
    for seed in range(SEED, SEED + LONG):
        print(seed, end=" ", flush=True)  # which one it was, should the process end here
        try:
            count_one(SeededChoices(seed))
        except Exception as error:  # noqa: BLE001  (each of them is told)
            wrong.append(f"seed {seed}: {type(error).__name__}: {error}")
            print(f"\n{wrong[-1]}", flush=True)
    print(counts)
    assert not wrong, "\n\n".join(wrong)
