"""The programs of benchmarks/everyday: each runs, answers the same twice, and is judged with its structure. No speed is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from case_list import everyday_cases  # noqa: E402
from child import Arguments, check, description  # noqa: E402

pytestmark = pytest.mark.compile

SMALL = [rules for rules in everyday_cases() if rules.name.endswith("_small")]


def answer(rules):
    module = rules.module()
    arguments = Arguments(module.make_data(**rules.data), rules)
    with np.errstate(all="ignore"):
        return arguments.results(getattr(module, rules.function)(*arguments), is_pure=False)


@pytest.mark.parametrize("rules", SMALL, ids=lambda rules: rules.script)
def test_a_program_answers_the_same_twice(rules):
    first = answer(rules)
    assert check(answer(rules), first, rules)[0] is None
    assert rules.module().__doc__.strip().count("\n") == 0


def test_there_are_forty():
    assert len(SMALL) == 40
    assert len({rules.script for rules in SMALL}) == 40


def test_dtypes_names_and_python_types_are_part_of_an_answer():
    leaves = []
    text = description({"a": np.zeros((2, 3), np.float32), "b": (1, np.float64(2)), "c": None, "d": "x"}, leaves)
    assert text == "dict(a: float32[2, 3], b: tuple(int, float64), c: None, d: str)"
    assert [leaf.dtype.kind for leaf in leaves] == ["f", "i", "f", "U"]


def test_the_runner_writes_a_row_for_a_program(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "run_everyday.py"), "--small", "--turns", "2", "--peers", ""]
    done = subprocess.run(
        [*command, "--only", "kalman", "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 1 strict" in done.stdout, done.stdout
    (row,) = json.loads((tmp_path / "everyday.json").read_text())["rows"]
    assert row["program"] == "kalman" and row["numpy_ns"] > 0
    assert "no program is called 'x'" in subprocess.run(
        [*command, "--only", "x"], capture_output=True, text=True, check=False
    ).stderr  # fmt: skip
