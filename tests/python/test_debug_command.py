"""`autotune debug`: a script's calls are recorded and looked at; reports, exit codes and errors, whole."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tilewright import _face
from tilewright.machine import host_isa

pytestmark = pytest.mark.compile

FAULTS = Path(__file__).parent / "debug_faults"
SCRIPT = """
import numpy as np
import tilewright


@tilewright.jit
def root(x, y):
    return np.sqrt(x * x + y)


@tilewright.jit
def doubled(x):
    return x * 2


root(np.linspace(0, 1, 300), np.arange(300.0))
doubled(np.arange(100.0))
doubled(np.arange(40))
"""
ONE_UNIT = "result[3]: 1.7320798682551788, NumPy has 1.7320798682551786 (1 ULP); 2 of 300 elements differ"


@pytest.fixture
def autotune(tmp_path: Path) -> Any:
    (tmp_path / "s.py").write_text(SCRIPT)

    def run(*arguments: str, fault: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "COLUMNS": "200"}
        if fault is not None:
            environment |= {"DEBUG_FAULT": fault, "PYTHONPATH": str(FAULTS)}
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "debug", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


def right(head: str, result: str) -> str:
    return (
        f"{head}; contract numpy, for {host_isa()}\n  NumPy                 {result}\n  trace                 as NumPy\n"
        "  the default schedule  as NumPy\n  call                  as NumPy\nnothing differs.\n"
    )


def test_every_call_of_every_function_is_looked_at(autotune: Any) -> None:
    done = autotune("s.py")
    reports = [
        right("doubled(x float64[100])", "float64[100]"),
        right("doubled(x int64[40])", "int64[40]"),
        right("root(x float64[300], y float64[300])", "float64[300]"),
    ]
    ends = "nothing differs.\n"
    said = sorted(text + ends for text in done.stdout.split(ends) if text)  # the function that took longest comes first
    assert (done.returncode, said) == (0, reports)


def test_a_crash_is_reported_and_the_command_goes_on(autotune: Any, tmp_path: Path) -> None:
    done = autotune("s.py", "--function", "root", "--dump", "d", fault="crash schedule")
    assert done.returncode == 4
    assert done.stdout.splitlines()[-1] == (
        "found: code generation: the program is right, and its code is wrong under every schedule that was tried."
    )
    assert (tmp_path / "d" / "root" / "report.txt").read_text() == done.stdout
    again = autotune("s.py", "--dump", "d")
    assert (again.returncode, again.stderr) == (
        2,
        "autotune: dump: d: is not empty, and nothing is written over. Name a folder that is new, or empty.\n",
    )


def test_a_schedule_that_is_given(autotune: Any, tmp_path: Path) -> None:
    (tmp_path / "root.tws").write_text(f"tilewright-schedule 1\nschedule root for {host_isa()}\nsqrt.unroll(i, 2)\n")
    done = autotune("s.py", "--function", "root", "--schedule", "root.tws", "--json", fault="code unroll")
    assert done.returncode == 4
    assert json.loads(done.stdout) == [
        {
            "title": f"root(x float64[300], y float64[300]); contract numpy, for {host_isa()}",
            "place": "schedule",
            "found": "the code is right with the directives before `sqrt.unroll(i, 2)`, and wrong with that (the schedule by hand).",
            "steps": [
                {"name": "NumPy", "state": "", "detail": "float64[300]"},
                {"name": "trace", "state": "as NumPy", "detail": ""},
                {"name": "the schedule by hand", "state": "differs", "detail": ONE_UNIT},
                {"name": "the default schedule", "state": "as NumPy", "detail": ""},
                {"name": "no directives", "state": "as NumPy", "detail": ""},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.py"], "autotune: none.py: no such file."),
        (["s.py", "s.py"], "autotune: debug: 2 scripts given. Give one."),
        (["s.py", "--limit", "soon"], "autotune: --limit: 'soon' is not a duration. Write 60s, 2m or 1h."),
        (["s.py", "--workload", "some"], "autotune: --workload: 'some' is not one of time, first, largest, all."),
        (["s.py", "--contract", "exact"], "autotune: --contract: 'exact' is not one of numpy, reproducible, fast."),
        (["s.py", "--dump", "s.py"], "autotune: dump: s.py: is not a folder. Name one that is new, or empty."),
        (["s.py", "--schedule", "none.tws"], "autotune: --schedule: none.tws: no such file or directory."),
        (
            ["s.py", "--function", "other"],
            "autotune: s.py: no call of other with NumPy arrays was seen. Is the name right, and does the script call it?",
        ),
    ],
)
def test_wrong_options(autotune: Any, arguments: list[str], line: str) -> None:
    done = autotune(*arguments)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1:]) == (2, "", [line])


@pytest.mark.skipif(not _face.no_device_reason(), reason="there is a CUDA device")
def test_without_a_device_the_script_does_not_run(autotune: Any) -> None:
    done = autotune("s.py", "--target", "cuda")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"autotune: --target cuda: {_face.no_device_reason()} Code for a device is run to be judged: do it where there is one.\n",
    )


def test_help_has_the_exit_codes(autotune: Any) -> None:
    done = autotune("--help")
    assert "Exit code: 0 nothing differs, 1 the script raised, 2 usage, 4 something differs." in " ".join(
        done.stdout.split()
    )
