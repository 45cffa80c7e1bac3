"""What a search says of a schedule is what the compiler says of it."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.worker


@pytest.fixture
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DB", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


def total(x):
    return np.sum(x)


HEAD = "tilewright-schedule 1\nschedule total for host\nvariant sum = serial\n"

SUMS = {  # of int64, whose order is free
    "sum_all.update(0).split(r, ro, ri, 1024, guard_with_if).rfactor(ro, u) as partial\n": True,
    "sum_all.update(0).split(r, ro, ri, 1024, guard_with_if).rfactor(ro, u) as partial\n"
    "partial.compute_root()\npartial.update(0).parallel(u)\n": True,
    "sum_all.compute_root()\nsum_all.update(0).atomic().parallel(r)\n": True,
    "sum_all.compute_root()\nsum_all.update(0).parallel(r)\n": False,
    "sum_all.compute_at(sum, i)\n": False,
}


@pytest.mark.parametrize("text", SUMS)
def test_the_search_checks_as_the_compiler_does(own_store, text):
    f = tilewright.jit(total)
    x = np.arange(50_000)
    specialization = f.for_args(x)
    try:
        specialization.check_schedule(HEAD + text)
        said = ""
    except tilewright.ScheduleError as error:
        said = str(error)
    fixed = f.tune(x, schedule=HEAD + text, budget=2).raw["fixed"]
    assert fixed["outcome"] == ("measured" if SUMS[text] else "illegal")
    assert (said == "") is SUMS[text]
    # The compiler says the line too.
    assert said.endswith(fixed["text"])
