"""Results on a device beside NumPy's: every operation, dtype, layout and shape of `device_cases.py`, and random functions.

Needs a device; `python tests/gpu.py` runs it. The cases are answered by many processes at once (`device_pool.py`).
`TILEWRIGHT_RANDOM_FUNCTIONS=2000` tries so many random functions, `TILEWRIGHT_RANDOM_SEED=7` others than usual,
`TILEWRIGHT_DEVICE_WORKER_COMMAND="compute-sanitizer --tool racecheck"` runs the workers under it.
"""

from __future__ import annotations

import os
import shlex
from typing import Any

import pytest
from device_cases import CASES
from device_helpers import needs_device
from device_pool import ask_all

SEED = int(os.environ.get("TILEWRIGHT_RANDOM_SEED", "0"))
FUNCTIONS = int(os.environ.get("TILEWRIGHT_RANDOM_FUNCTIONS", "300"))
COMMAND = shlex.split(os.environ.get("TILEWRIGHT_DEVICE_WORKER_COMMAND", ""))

pytestmark = [pytest.mark.device, needs_device]


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """Of the cases that this run has selected, all at once."""
    names = [
        item.callspec.params["name"]  # type: ignore[attr-defined]
        for item in request.session.items
        if item.path == request.path and "name" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    found = ask_all([{"ask": "case", "name": name, "seed": SEED} for name in names], command=COMMAND)
    return dict(zip(names, found, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_case_answers_as_numpy(name: str, answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[name]
    assert answer["status"] == "ok", f"seed {SEED}\n{answer['text']}"


@pytest.mark.parametrize(("ask", "count"), [("random", FUNCTIONS), ("loops", FUNCTIONS // 2)])
def test_random_functions_answer_as_numpy(ask: str, count: int) -> None:
    seeds = range(SEED, SEED + count)
    found = ask_all([{"ask": ask, "seed": seed} for seed in seeds], command=COMMAND)
    refused = sum(answer["status"] == "refused" for answer in found)
    compared = sum(answer["calls"] for answer in found)
    print(f"{ask}: seeds {SEED} to {SEED + count - 1}, {refused} refused, {compared} calls compared")
    wrong = [answer["text"] for answer in found if answer["status"] == "wrong"]
    wrong.sort(key=len)  # the shortest function first
    assert not wrong, f"{len(wrong)} of {count} are wrong\n\n" + "\n\n".join(wrong)
    assert compared > count // 4, found
