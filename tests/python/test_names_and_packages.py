"""Names that no file can have, stores that are no files, and packages that do not import: a line each, no traceback."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.worker

LONG = "x" * 300
MOD = "import numpy as np\n\n\ndef f(x):\n    return x * 2 + 1\n\n\nf(np.ones(100000))\n"


def autotune(*arguments, cwd):
    environment = {**os.environ, "XDG_DATA_HOME": str(cwd / "data"), "XDG_CACHE_HOME": str(cwd / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([f"{LONG}.py"], f"{LONG}.py: cannot be read: File name too long."),
        (["run", f"{LONG}.py"], f"{LONG}.py: cannot be read: File name too long."),
        (["show", f"{LONG}.py"], f"{LONG}.py: cannot be read: File name too long."),
        (
            ["s.py", "--out", LONG],
            "{here}/" + LONG + ": nothing can be written to {here}: File name too long. Choose another folder.",
        ),
        (
            ["s.py", "--out", f"{LONG}/b"],
            "{here}/" + LONG + "/b: nothing can be written to {here}: File name too long. Choose another folder.",
        ),
        (["check", LONG], f"check: {LONG}: no such folder."),
        (["db", "merge", LONG], f"{LONG}: no such file."),
        (["db", "list", "--db", LONG], "{here}/" + LONG + ": no store there. Tune something first, or give --db FILE."),
    ],
)
def test_names_that_no_file_can_have(tmp_path, arguments, line):
    (tmp_path / "s.py").write_text(MOD)
    done = autotune(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "autotune: " + line.format(here=tmp_path)
    assert "Traceback" not in done.stderr


def test_an_export_to_such_a_name(tmp_path):
    @tilewright.jit
    def f(x):
        return x * 2

    f.for_args(np.ones(100))
    with pytest.raises(tilewright.ExportError) as error:
        f.export(tmp_path / LONG)
    assert str(error.value) == (
        f"{tmp_path / LONG}: nothing can be written to {tmp_path}: File name too long. Choose another folder."
    )


@pytest.mark.parametrize(("kind", "words"), [("folder", "a folder"), ("fifo", "no regular file")])
def test_a_store_that_is_no_file(tmp_path, kind, words):
    place = tmp_path / "place"
    os.mkdir(place) if kind == "folder" else os.mkfifo(place)
    done = autotune("db", "list", "--db", "place", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"autotune: store {place}: it is {words}. Give a file with --db.\n"


@pytest.mark.parametrize(
    ("package", "code", "line"),
    [
        ("1 / 0", 1, "autotune: -m pkg.mod: importing its package pkg raised ZeroDivisionError."),
        ("import nothere", 1, "autotune: -m pkg.mod: importing its package pkg raised ModuleNotFoundError."),
        (
            "raise ValueError('no')",
            1,
            "autotune: -m pkg.mod: importing its package pkg raised ValueError.",
        ),
        (
            "import sys; sys.exit(7)",
            2,
            "autotune: -m pkg.mod: its package pkg stops at import, with exit code 7.",
        ),
    ],
)
def test_a_package_that_does_not_import(tmp_path, package, code, line):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text(f"print('on')\n{package}\n")
    (tmp_path / "pkg" / "mod.py").write_text(MOD)
    done = autotune("-m", "pkg.mod", "--json", cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.splitlines()[-1] == line
    assert "on" in done.stderr.splitlines()
    assert "on" not in done.stdout.splitlines()
    assert "tilewright" not in done.stderr  # no frame of ours
    assert ("pkg/__init__.py" in done.stderr) == (code == 1)


def test_a_script_that_python_cannot_compile(tmp_path):
    (tmp_path / "s.py").write_text("x = " + " + ".join(["1"] * 20_000) + "\n")
    done = autotune("s.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "autotune: s.py: Python cannot compile it: an expression in it is nested too deep. Split it into statements."
    )
