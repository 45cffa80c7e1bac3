"""Random functions and calls of attack.py, some here, 200 with TILEWRIGHT_EXAMPLES: `python tests/python/attack.py 10000` tries as many as wanted."""

from __future__ import annotations

import attack
import pytest
from examples import examples

pytestmark = pytest.mark.compile

SEEDS, AT_ONCE = examples(40), 20
compiled: list[bool] = []


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_answers_memory_and_errors_are_pythons(first):
    wrong = []
    for seed in range(first, first + AT_ONCE):
        problem, was_compiled = attack.attack(seed)
        compiled.append(was_compiled)
        wrong += [problem] * bool(problem)
    assert not wrong, "\n\n".join(wrong)


def test_enough_of_them_are_compiled():
    assert sum(compiled) * 2 > len(compiled), f"{sum(compiled)} of {len(compiled)}"
