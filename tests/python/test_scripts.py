"""The scripts of benchmarks/scripts: each runs small, prints the same twice, and is as long as people's are; those of others run where they can be small.
No speed is asserted."""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from decorated import PEERS, with_decorators  # noqa: E402
from run_scripts import (  # noqa: E402
    FOLDER,
    OTHERS,
    SMALL,
    Ran,
    fault,
    is_package,
    ours,
    plain,
    script_names,
    search,
    small_arguments,
    summary,
)

pytestmark = pytest.mark.fast


def printed(name, folder, scripts=FOLDER):
    command = plain(name, small_arguments(name, scripts), scripts)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
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
    assert set(SMALL) < {*script_names(), *script_names(OTHERS)}


def test_there_are_fourteen_of_others_and_their_page_names_each():
    names = script_names(OTHERS)
    assert len(names) == 14
    assert not set(names) & set(script_names())
    page = (OTHERS / "README.md").read_text()
    assert [name for name in names if f"| `{name}" not in page] == []


@pytest.mark.parametrize("name", sorted(set(SMALL) & set(script_names(OTHERS))))
def test_a_script_of_others_that_can_be_small_prints_the_same_twice_and_leaves_no_file(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    package = is_package(name, OTHERS)
    if package:
        shutil.copytree(OTHERS / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    first = printed(name, tmp_path, OTHERS)
    assert first.count("\n") > 3
    assert printed(name, tmp_path, OTHERS) == first
    assert [path.name for path in tmp_path.iterdir()] == [name] * package


@pytest.mark.parametrize("name", script_names(OTHERS))
def test_a_script_of_others_parses_and_never_heard_of_us(name):
    files = (OTHERS / name).glob("*.py") if is_package(name, OTHERS) else [OTHERS / f"{name}.py"]
    for path in files:
        text = path.read_text()
        compile(text, str(path), "exec")
        assert "tilewright" not in text and "autotune" not in text


def test_a_package_runs_as_a_module():
    assert plain("riskpkg", ["x"], OTHERS)[1:] == ["-m", "riskpkg", "x"]
    assert ours("riskpkg", ["x"], OTHERS)[1:] == ["-m", "tilewright", "run", "--no-before", "-m", "riskpkg", "--", "x"]
    words = search("riskpkg", [], "8s", OTHERS)[1:]
    assert words == ["-m", "tilewright", "-m", "riskpkg", "--no-module", "--quiet", "--budget", "8s"]
    assert plain("nbody", [], OTHERS)[1:] == [str(OTHERS / "nbody.py")]


@pytest.mark.parametrize("peer,name", [(peer, name) for peer in PEERS for name in sorted(peer.functions)])
def test_a_decorated_script_differs_by_its_decorators_and_one_import(peer, name):
    text = (FOLDER / f"{name}.py").read_text()
    decorated = with_decorators(text, peer, peer.functions[name]).split("\n")
    assert [l for l in decorated if l.strip() not in (peer.decorator, peer.import_line)] == text.split("\n")
    assert len(decorated) == text.count("\n") + 2 + len(peer.functions[name])
    heads = [below.split("(")[0] for l, below in pairwise(decorated) if l.strip() == peer.decorator]
    assert sorted(head.split()[-1] for head in heads) == sorted(f.split(".")[-1] for f in peer.functions[name])


def test_a_decorator_stands_above_a_method_in_its_class():
    text = '"""x"""\nfrom __future__ import annotations\nimport math\n\nclass C:\n    @staticmethod\n    def f(x):\n        return x\n'
    assert with_decorators(text, PEERS[0], ["C.f"]) == (
        '"""x"""\nfrom __future__ import annotations\nimport numba\nimport math\n\nclass C:\n    @staticmethod\n'
        "    @numba.njit(cache=True)\n    def f(x):\n        return x\n"
    )


def test_the_bars_are_those_of_the_ten():
    row = {"state": "ready", "plain_ns": 2.0, "ours_first_ns": 4.0, "ours": (2.0, 1.0, 3.0), "numba": (1.0, 1.0, 1.0)}
    said = summary([row])
    assert "mean over plain Python 2.00 (must 3, goal 5); least 2.00 (must 1); first runs 0.50" in said
    assert "over numba's decorator 2.00 on 1" in said
    assert "must" not in summary([row], with_bars=False)


def test_what_differs_or_fails_is_said():
    good, other = Ran(0, "a\nb\n", "", 1.0, 1.0), Ran(0, "a\nc\n", "", 1.0, 1.0)
    assert fault("ours", good, good) is None
    assert fault("ours", other, good) == {"state": "differs", "reason": "-b\n+c"}
    raised = Ran(1, "a\n", "Traceback\nValueError: no\n", 1.0, 1.0)
    assert fault("ours", raised, good) == {"state": "failed", "reason": "ours: exit code 1: ValueError: no"}


def test_a_run_begins_when_what_the_last_one_left_behind_has_ended(tmp_path):
    code = """
import os, sys, time
from run_scripts import adopt_orphans, ran
adopt_orphans()
left = "import time; time.sleep(1); open('left', 'w').close()"
null = "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
leaves = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {left!r}], start_new_session=True, {null})"
first = ran([sys.executable, "-c", leaves], dict(os.environ), 60)
assert not os.path.exists("left")
print(ran([sys.executable, "-c", "import os; print(os.path.exists('left'))"], dict(os.environ), 60).out, first.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")},
    )  # fmt: skip
    assert done.stdout.split() == ["True", "0"], done.stderr


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


def test_the_runner_copies_a_package_of_others_and_runs_it(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "run_scripts.py"), "--others", "--small", "--turns", "1"]
    done = subprocess.run(
        [*command, "--only", "riskpkg", "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 print the same" in done.stdout, done.stdout
    (row,) = json.loads((tmp_path / "others.json").read_text())["rows"]
    assert row["script"] == "riskpkg" and row["ours_ns"] > 0 and "search_ns" not in row
