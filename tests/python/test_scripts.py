"""The scripts of benchmarks/scripts: each runs small, prints the same twice, and is as long as people's are. No speed is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from run_scripts import (  # noqa: E402
    FOLDER,
    NJIT,
    SMALL,
    Ran,
    fault,
    plain,
    script_names,
    small_arguments,
    with_decorators,
)

pytestmark = pytest.mark.fast


def printed(name, folder):
    done = subprocess.run(
        plain(name, small_arguments(name)), cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", script_names())
def test_a_script_prints_the_same_twice_and_leaves_no_file(name, tmp_path):
    first = printed(name, tmp_path)
    assert first.count("\n") > 3
    assert printed(name, tmp_path) == first
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", script_names())
def test_a_script_is_as_long_as_people_write_them_and_says_where_it_comes_from(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert 100 <= text.count("\n") <= 300
    assert "written afresh" in text.split('"""')[1]
    assert "tilewright" not in text and "autotune" not in text


def test_there_are_ten():
    assert len(script_names()) == 10
    assert set(SMALL) < set(script_names())


@pytest.mark.parametrize("name", sorted(NJIT))
def test_a_decorated_script_differs_by_its_decorators_and_one_import(name):
    text = (FOLDER / f"{name}.py").read_text()
    decorated = with_decorators(text, NJIT[name]).split("\n")
    for function in NJIT[name]:
        assert (
            "@numba.njit(cache=True)"
            in decorated[[l.startswith(f"def {function}(") for l in decorated].index(True) - 1]
        )
    added = ("@numba.njit(cache=True)", "import numba")
    assert [l for l in decorated if l not in added] == text.split("\n")
    assert len(decorated) == text.count("\n") + 2 + len(NJIT[name])


def test_what_differs_or_fails_is_said():
    good, other = Ran(0, "a\nb\n", "", 1.0, 1.0), Ran(0, "a\nc\n", "", 1.0, 1.0)
    assert fault("ours", good, good) is None
    assert fault("ours", other, good) == {"state": "differs", "reason": "-b\n+c"}
    raised = Ran(1, "a\n", "Traceback\nValueError: no\n", 1.0, 1.0)
    assert fault("ours", raised, good) == {"state": "failed", "reason": "ours: exit code 1: ValueError: no"}


def test_the_runner_writes_a_row_for_a_script(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "run_scripts.py"), "--small", "--turns", "1"]
    done = subprocess.run(
        [*command, "--only", "clusters", "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 print the same" in done.stdout, done.stdout
    (row,) = json.loads((tmp_path / "scripts.json").read_text())["rows"]
    assert row["script"] == "clusters" and row["plain_ns"] > 0 and row["ours_ns"] > 0
    assert "no script is called 'x'" in subprocess.run(
        [*command, "--only", "x"], capture_output=True, text=True, check=False
    ).stderr  # fmt: skip
