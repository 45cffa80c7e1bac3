"""Every pass of the translator keeps what a program means: programs of the replay's corpus, run by the oracle before and behind each."""

import json
import lzma
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.datasets import TookTooLong, call_within
from tilewright.debug.oracle import CheckFailed, GuardFailed, evaluate
from tilewright.native import compiler
from tilewright.program import ArrayArgument, Program, evaluate_size, size_symbols

pytestmark = pytest.mark.compile

CORPUS = Path(__file__).parents[1] / "replay" / "corpus.jsonl.xz"
EXTENT = 6  # of each axis, and each integer
LIMIT_S = 2.0  # of a run; loops of thousands of iterations are left out
NUMBERS = {"int64": EXTENT, "float64": 0.5, "bool": True, "complex128": 0.5 + 1j}
PARTS = 4


def rewritten(part: int) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Name, text and the programs behind the passes that change it, half of them as for a device."""
    with lzma.open(CORPUS, "rt") as lines:
        for number, line in enumerate(lines):
            if number % PARTS != part:
                continue
            row = json.loads(line)
            if " = call(" in row["program"]:
                continue  # what Python computes is no part of the corpus
            options = {key: row[key] for key in ("variant", "layouts", "sizes", "contract")}
            try:
                ran = compiler().passes(row["program"], {**options, "device": number // PARTS % 2 == 0})
            except Exception:  # noqa: BLE001  (what has no translation; the replay has the text of its error)
                continue
            if changed := [(one["name"], one["program"]) for one in ran if one["program"]]:
                yield row["name"], row["program"], changed


def values_of(text: str, rng: np.random.Generator) -> dict[str, Any]:
    program = Program(text)
    sizes = {symbol: EXTENT for array in program.arrays for size in array.shape for symbol in size_symbols(size)}
    values: dict[str, Any] = {}
    for argument in program.arguments:
        if not isinstance(argument, ArrayArgument):
            values[argument.name] = NUMBERS[argument.dtype]
            continue
        drawn = 3 * rng.standard_normal([evaluate_size(size, sizes) for size in argument.shape])
        values[argument.name] = (np.abs(drawn) if argument.dtype[0] in "ui" else drawn).astype(argument.dtype)
    return values


def answer(text: str, values: dict[str, Any]) -> list[Any] | None:
    """Results and arguments afterwards; None where NumPy runs the call."""
    own = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call_within(LIMIT_S, lambda: evaluate(text, own))
    except (GuardFailed, CheckFailed):
        return None
    return [np.asarray(value) for value in (*(result if isinstance(result, tuple) else (result,)), *own.values())]


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_of_the_corpus(part: int) -> None:
    rng = np.random.default_rng(part)
    seen = 0
    for name, text, changed in rewritten(part):
        try:
            values = values_of(text, rng)
            before = answer(text, values)
        except (TookTooLong, ValueError):  # sizes that these arguments make negative
            continue
        for done, made in changed:
            try:
                after = answer(made, values)
            except TookTooLong:
                continue
            seen += 1
            where = f"{name}, behind {done}"
            assert (before is None) == (after is None), where
            for a, b in zip(before or [], after or [], strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape), where
                if a.dtype.kind in "fc":  # complex formulas and sums may round otherwise
                    np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-7, err_msg=where)
                else:
                    np.testing.assert_array_equal(b, a, err_msg=where)
    assert seen > 150
