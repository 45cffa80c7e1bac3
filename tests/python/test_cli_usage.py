"""A user's mistakes on the command line: one clear line, the right exit code, never a traceback of ours."""

import json
import os
import re
import subprocess
import sys

import pytest
from tilewright.cli import SUBCOMMANDS
from tilewright.cli.app import main

pytestmark = pytest.mark.worker


def environment_of(folder):
    return {"XDG_DATA_HOME": str(folder / "data"), "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "200"}


def autotune(*arguments, cwd, stdin=None):
    environment = {**os.environ, **environment_of(cwd)}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr or "raise ValueError" in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.py"], "autotune: none.py: no such file."),
        (["--budget", "soon", "s.py"], "autotune: --budget: 'soon' is not a duration. Write 60s, 2m or 1h."),
        (["--budget", "0s", "s.py"], "autotune: --budget: '0s' is not a duration. Write 60s, 2m or 1h."),
        (
            ["--target", "host,arm64", "s.py"],
            "autotune: --target: 'arm64' is not known. Use host, x86-64, x86-64-v3, x86-64-v4, cuda, cuda-sm_70,",
        ),
        (["--target", "", "s.py"], "autotune: --target: '' names no target. Write host, cuda or host,cuda."),
        (["show", "--target", ",", "s.py"], "autotune: --target: ',' names no target. Write host, cuda or host,cuda."),
        (
            ["show", "--target", "cuda-sm_70,cuda", "s.py"],
            "autotune: --target: 'cuda-sm_70,cuda' names two of one kind.",
        ),
        (
            ["--devices", "0,1", "s.py"],
            "autotune: --devices 0,1: applies to CUDA targets, but --target is host. Add --target cuda.",
        ),
        (
            ["--target", "x86-64", "--cubins", "sm_90", "s.py"],
            "autotune: --cubins sm_90: applies to CUDA targets, but --target is x86-64. Add --target cuda.",
        ),
        (
            ["--target", "cuda", "--build-only", "--devices", "0", "s.py"],
            "autotune: --devices 0: chooses where to measure, but --build-only measures nothing. Leave one out.",
        ),
        (["--no-module", "--out", "m", "s.py"], "autotune: --no-module: --out m is about the module. Leave one out."),
        (["--no-module", "--wheel", "s.py"], "autotune: --no-module: --wheel is about the module. Leave one out."),
        (["--workload", "some", "s.py"], "autotune: --workload: 'some' is not one of time, first, largest, all."),
        (["--contract", "exact", "s.py"], "autotune: --contract: 'exact' is not one of numpy, reproducible, fast."),
        (["--schedule", "none.tws", "s.py"], "autotune: --schedule: none.tws: no such file or directory."),
        (["--space", "binary.tws", "s.py"], "autotune: --space: binary.tws: is not text."),
        (
            ["--out", "x", "s.py", "t.py"],
            "autotune: --out, --schedule and --space go with one script, not with several.",
        ),
        (["-m", "no.such", "s.py"], "autotune: -m no.such: and s.py: give a module or scripts, not both."),
        (["empty"], "autotune: empty: no Python script in this folder."),
        (["parse.py"], "autotune: parse.py:1: does not parse: invalid syntax: 'def f(:'. Fix the script first."),
        (
            ["nothing.py"],
            "autotune: nothing.py: no function of the script was called with NumPy arrays. Put the slow code into a "
            "function that takes its arrays as arguments, and call it.",
        ),
        (
            ["--function", "g", "s.py"],
            "autotune: s.py: no call of g with NumPy arrays was seen. Is the name right, and does the script call it?",
        ),
        (["show"], "autotune: no script given. Try `autotune script.py`; `autotune --help` lists the options."),
        (
            ["run", "none.py", "two.py"],
            "autotune: run: 2 scripts given. Give one. Arguments of the script follow after --.",
        ),
        (
            ["run", "s.py", "--bfore"],
            "autotune: run: no option --bfore (did you mean --before?). Arguments of the script follow after --.",
        ),
        (["run", "s"], "autotune: s: no such file. Did you mean s.py?"),
        (["rum", "s.py"], "autotune: rum: no such file, and no command. Did you mean `autotune run s.py`?"),
        (["help"], "autotune: help: no such file, and no command. Did you mean `autotune --help`?"),
        (["s.py", "100"], "autotune: 100: no such file. Arguments of the script follow after --."),
        (["run", "none.py"], "autotune: none.py: no such file."),
        (
            ["null.py"],
            "autotune: null.py: does not parse: source code string cannot contain null bytes. Fix the script first.",
        ),
        (
            ["s.py", "--out", "class"],
            "/class: 'class' cannot be imported: it is not a Python identifier. Choose another name.",
        ),
        (
            ["s.py", "--out", "d.e"],
            "/d.e: 'd.e' cannot be imported: it is not a Python identifier. Choose another name.",
        ),
        (["s.py", "--out", "/proc/x"], "autotune: /proc/x: nothing can be written to /proc: "),
        (["db", "list"], "data/tilewright/tilewright.db: no store there. Tune something first, or give --db FILE."),
        (
            ["db", "prune"],
            "autotune: db prune: nothing is chosen for removal. Give --older-than DAYS, --foreign or --keep N.",
        ),
    ],
)
def test_usage(tmp_path, monkeypatch, capsys, arguments, line):
    """In this process: each of another one would load all anew."""
    (tmp_path / "s.py").write_text("import numpy as np\ndef f(x):\n    return x + 1\nf(np.ones(4))\n")
    (tmp_path / "t.py").write_text("")
    (tmp_path / "parse.py").write_text("def f(:\n")
    (tmp_path / "nothing.py").write_text("import numpy as np\nnp.ones(4) + 1\n")
    (tmp_path / "null.py").write_bytes(b"x = 1\n\0")
    (tmp_path / "binary.tws").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert line in said.err and "Traceback" not in said.err
    assert said.out == ""


def test_a_script_that_raises(tmp_path):
    (tmp_path / "s.py").write_text("import numpy as np\nprint('hello')\nraise ValueError('mine')\n")
    done = autotune("s.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr and "hello" in done.stderr
    assert done.stderr.strip().splitlines()[-1] == "autotune: s.py: raised ValueError."
    assert "tilewright" not in done.stderr
    assert done.stdout == ""


def test_refusals_as_json(tmp_path):
    done = autotune("--json", "none.py", cwd=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout) == {"error": "none.py: no such file."}


def test_help_names_the_other_commands(tmp_path):
    done = autotune("--help", cwd=tmp_path)
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    for word in (*(f"autotune {name}" for name in SUBCOMMANDS), "--target", "--budget", "--schedule"):
        assert word in text


def test_an_existing_folder_is_refused_before_the_search(tmp_path):
    (tmp_path / "s.py").write_text("raise SystemExit('the script must not even run')\n")
    (tmp_path / "s_tuned").mkdir()
    (tmp_path / "s_tuned" / "mine.txt").write_text("precious")
    for arguments in (["s.py"], ["s.py", "--out", "s_tuned"]):
        done = autotune(*arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert "s_tuned: exists. Give --force to overwrite it, or another --out." in done.stderr
    assert (tmp_path / "s_tuned" / "mine.txt").read_text() == "precious"


MARKED = """
import numpy as np, tilewright

class Model:
    def __init__(self, scale):
        self.scale = scale
        self.rng = np.random.default_rng(3)

    @tilewright.jit
    def apply(self, x):
        return np.sqrt(x) * self.scale + self.rng.random(x.size)

@tilewright.jit
def total(x, /, axis=0, *, scale: float = 2.0):
    return (x * scale).max(axis=axis)

x = np.linspace(0, 1, 300_000)
Model(2.0).apply(x)
"""


def test_several_functions_and_one_that_no_module_can_have(tmp_path):
    (tmp_path / "s.py").write_text(MARKED + "total(x.reshape(-1, 3))\n")
    done = autotune("s.py", "--budget", "60s", "--trials", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "s_tuned: from s_tuned import total\n" in done.stdout
    why = "it draws from a random generator that is not an argument; a module has no such object. Pass the generator as an argument."
    assert f"\napply: tuned and stored, and `autotune run` uses it; no module has it: {why}\n" in done.stdout
    assert re.search(
        r"\n2 functions tuned, \d+ % of the script's time: `autotune run s\.py` runs it with them\n$", done.stdout
    )
    assert (
        "def total(x: NDArray[np.float64], /, axis: int = ..., *, scale: float = ..., out: NDArray[np.float64] | None = ...)"
        in (tmp_path / "s_tuned" / "__init__.pyi").read_text()
    )
    done = autotune("run", "s.py", cwd=tmp_path)
    rows = re.findall(r"^  (\S+) +1 .*  (?:tuned|default schedule: the fastest of .*)$", done.stderr, re.M)
    assert sorted(rows) == ["Model.apply", "total"], done.stderr


def test_what_was_learnt_is_said_where_no_module_can_be_written(tmp_path):
    (tmp_path / "s.py").write_text(MARKED)
    done = autotune("s.py", "--budget", "20s", "--trials", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "apply: tuned and stored, and `autotune run` uses it; no module has it: it draws from a "
    )
    assert "wrote" not in done.stdout
    # Whoever asks for a module is told that there is none.
    done = autotune("s.py", "--budget", "20s", "--trials", "1", "--out", "s_tuned", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "autotune: tuned and stored, but no module was written: apply: it draws from a random generator that is not an argument; "
        "a module has no such object. Pass the generator as an argument." in done.stderr
    )
    assert done.stdout.startswith("apply: NumPy ")
    assert not (tmp_path / "s_tuned").exists()


def test_a_broken_store_is_one_warning(tmp_path):
    (tmp_path / "broken.db").write_text("no store at all, but long enough to be looked at: " * 20)
    (tmp_path / "s.py").write_text(MARKED + "total(x)\nprint(total(x[:, None]))\n")
    done = subprocess.run(
        [sys.executable, "s.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "TILEWRIGHT_DB": str(tmp_path / "broken.db"), "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout == "[2.]\n"
    assert done.stderr.count("file is not a database") == 1
    assert done.stderr.endswith(" Default schedules are used.\n")


def test_a_script_called_as_a_command(tmp_path):
    (tmp_path / "show").write_text("raise ValueError('reached')\n")
    done = autotune("./show", cwd=tmp_path)
    assert done.returncode == 1
    assert "ValueError: reached" in done.stderr
