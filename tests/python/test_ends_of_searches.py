"""SIGTERM and SIGHUP end a search as Ctrl-C does, and an export that fails leaves its closing line."""

import os
import signal
import subprocess
import sys
import time

import pytest
from examples import one_in

pytestmark = pytest.mark.worker

SCRIPT = """
import numpy as np

def f(x, y):
    return np.sqrt(x * y + 1.5) * 2

x = np.linspace(0.1, 1, 3_000_000)
for _ in range(5):
    f(x, x)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_best_so_far_is_written(tmp_path, number):
    (tmp_path / "s.py").write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", "s.py", "--function", "f", "--budget", "300s", "--db", "s.db"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        said = ""
        for line in process.stderr:
            said += line
            if " best " in line:
                break
        process.send_signal(number)
        out, rest = process.communicate(timeout=200)
    assert process.returncode == 128 + number, said + rest
    assert "wrote " in out
    assert (tmp_path / "s_tuned" / "__init__.py").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_before_there_is_anything_it_just_ends(tmp_path, number):
    (tmp_path / "s.py").write_text("import os, signal, time\nprint('on', flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", "s.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if line == "on\n":
                break
        os.kill(process.pid, number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    assert "Traceback" not in said


def interrupted(tmp_path, text, word, *options):
    """What the command says that Ctrl-C comes into once it has said `word`."""
    (tmp_path / "s.py").write_text(text)
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", "s.py", "--budget", "300s", "--db", "s.db", *options],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        for line in process.stderr:
            if word in line:
                break
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=200)[1]
    assert process.returncode == 130, said
    return said.splitlines()[-1]


def test_an_interrupted_command_says_what_is_kept_and_how_to_go_on(tmp_path):
    asleep = "import time\nprint('on', flush=True)\ntime.sleep(60)\n"
    nothing = "no search had begun, and nothing is kept. The same command begins anew."
    assert interrupted(tmp_path, asleep, "on\n") == f"autotune: interrupted while s.py ran: {nothing}"
    kept = f"what was found until then is kept in {tmp_path}/s.db. The same command goes on from there."
    assert interrupted(tmp_path, SCRIPT, " best ", "--no-module") == f"autotune: interrupted: {kept}"


def test_what_does_not_compile_is_told_with_where_the_time_went(tmp_path):
    refused = "import numpy as np\ndef f(x):\n    class C: v = 3\n    return np.sin(x) * C.v\nfor _ in range(9): f(np.ones(200_000))\n"
    (tmp_path / "s.py").write_text(refused)
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "s.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    said = done.stderr.splitlines()
    assert said[3].startswith("  f ") and said[3].endswith("not tuned (see below)"), done.stderr
    assert said[-2].startswith("autotune: f: not tuned: s.py:3: a class statement; "), done.stderr
    assert said[-1].startswith("s.py: nothing to tune: what takes longest does not compile as a whole. `autotune run`")


def test_an_export_without_memory_leaves_the_closing_line(tmp_path, monkeypatch, capsys):
    from tilewright.cli import tune_command
    from tilewright.cli.app import main

    (tmp_path / "s.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)

    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(tune_command, "export", fails)
    assert main(["s.py", "--function", "f", "--budget", "2s", "--trials", "1", "--db", "s.db"]) == 2
    out, said = capsys.readouterr()
    assert out.splitlines()[-1].startswith("f: ")
    assert (
        "autotune: tuned and stored, but no module was written: there is not enough memory for it. "
        "Free some, or raise `ulimit -v`.\n"
    ) in said


@pytest.mark.parametrize(("number", "jobs"), one_in(2, [signal.SIGTERM, signal.SIGINT], ["1", "2"]))
def test_a_signal_to_a_batch_reaches_its_scripts(tmp_path, number, jobs):
    (tmp_path / "scripts").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "scripts" / name).write_text(
            "import os, time\nopen(f'{os.getpid()}.pid', 'w').close()\ntime.sleep(100)\n"
        )
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", "scripts", "--jobs", jobs],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        for _ in range(600):
            if len(started := list(tmp_path.glob("*.pid"))) == int(jobs):
                break
            time.sleep(0.1)
        process.send_signal(number)
        out, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    assert out.splitlines()[-1] == "2 scripts: 2 interrupted"
    assert not any(os.path.exists(f"/proc/{file.stem}") for file in started)
    assert len(list(tmp_path.glob("*.pid"))) == int(jobs)  # none was started behind it
