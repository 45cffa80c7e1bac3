"""Every file of schedules/ loads, is legal for the function that it names, and gives NumPy's answer."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import tilewright
from tilewright.machine import runs_here
from tilewright.native import compiler

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "schedules").rglob("*.tws"))
HEADER = re.compile(r"^(schedule|space) (\w+) for (\S+)$", re.M)

sys.path.insert(0, str(ROOT / "benchmarks"))

# The function that a file names: its case, and data on which its splits are met and leave a tail.
DATA = {"get_labels": ("kmeans", {"points": 300_001})}


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def call_of(text):
    """The function, its arguments and the target of a file's text."""
    from case_list import case

    _, name, target = HEADER.search(text).groups()
    case_name, sizes = DATA[name]
    found = case(case_name)
    module = found.module()
    return getattr(module, found.function), module.make_data(**{**found.data, **sizes}), target


def test_there_are_files():
    assert any(path.parent.name == "hand" for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_it_loads_and_applies(path):
    text = path.read_text()
    name = path.relative_to(ROOT).as_posix()
    assert compiler().canonical_schedule(text, name) == text, f"{name} is not in canonical form"
    function, args, target = call_of(text)
    compiled = tilewright.jit(function, target=target, strict=True)
    specialization, _ = compiled.specialize(args, {})
    if HEADER.search(text)[1] == "space":
        assert compiled.tune(*args, budget=20, trials=3, space=text).complete
        return
    specialization.check_schedule(text, name)
    specialization.schedule = text  # applies it and compiles
    assert specialization.schedule == text and specialization.lead.label == "by hand"
    if not runs_here(target):
        return
    assert np.array_equal(compiled(*args), function(*args))
    assert compiled.misses == 0


def test_a_file_that_does_not_fit_is_told():
    text = FILES[0].read_text()
    function, args, target = call_of(text)
    specialization = tilewright.jit(function, target=target, strict=True).specialize(args, {})[0]
    with pytest.raises(tilewright.ScheduleError) as info:
        specialization.check_schedule(text.replace("\nargmin.split(", "\nlabels.split("), "kmeans.tws")
    line = 1 + text[: text.index("\nargmin.split(") + 1].count("\n")
    first = str(info.value).splitlines()[0]
    assert first == f"kmeans.tws:{line}:1: labels: there is no such stage. The stages are: norm, argmin_best, argmin."
    with pytest.raises(tilewright.ScheduleError, match="kmeans.tws:1:1: "):
        specialization.check_schedule("# a comment first\n" + text, "kmeans.tws")
