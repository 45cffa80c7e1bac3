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
