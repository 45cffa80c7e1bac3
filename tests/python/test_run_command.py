"""`autotune run`: what the script took is told apart from what tilewright's own start took; a line a patched function."""

import json
import os
import subprocess
import sys

import pytest
from tilewright import patched_run
from tilewright.cli.run_command import _document, _lines, _Run

pytestmark = pytest.mark.worker


def times(calls, ms, first_ms=1):
    return {"calls": calls, "ns": round(ms * 1e6), "first_ns": round(first_ms * 1e6)}


def test_a_script_that_gained_is_not_said_to_have_lost():
    # 0.4 s of a short script are tilewright's start: 2.0 s became 2.27 s on the wall, and 1.87 s of script.
    before = _Run(0, 2.0, 0.0, 0.02, {"blur": times(12, 300, 40)}, [])
    after = _Run(0, 2.27, 0.38, 0.04, {"blur": times(12, 150, 30)}, ["blur"])
    assert _lines("s.py", before, after) == [
        "  blur: 12 calls, 300 ms before, 150 ms after (2.00x, its first call 30 ms), 15 % of the script before",
        "s.py: 2.00 s before, 1.87 s after (1.07x); tilewright's own start took 0.40 s beside that",
    ]
    once = (_Run(0, 2.0, 0.0, 0.0, {"blur": times(1, ms)}, ["blur"]) for ms in (100, 200))
    assert _lines("s.py", *once)[0] == (
        "  blur: 1 call, 100 ms before, 200 ms after (0.50x, for a first call traces the function, and compares its code with "
        "NumPy), 5 % of the script before"
    )
    assert _document(before, after)["functions"] == {
        "blur": {"before": times(12, 300, 40), "after": times(12, 150, 30)}
    }


def test_without_a_run_before_and_without_a_tuned_function():
    after = _Run(0, 1.5, 0.25, 0.1, {"blur": times(1, 90, 90)}, ["blur", "inner"])
    assert _lines("s.py", None, after) == [
        "  blur: 1 call, 90 ms after",
        "  inner: inside of other functions",
        "s.py: 1.25 s after; tilewright's own start took 0.25 s beside that",
    ]
    nothing = _Run(0, 1.01, 0.01, 0.1, {}, [])
    assert _lines("s.py", _Run(0, 1.01, 0.01, 0.1, {}, []), nothing) == [
        "s.py: 1.00 s before, 1.00 s after (1.00x); no function was patched in, because no call of it was tuned "
        "(tune the script first); tilewright's own start took 0.01 s beside that"
    ]


def seen(folder, text, mode, names):
    (folder / "s.py").write_text(text)
    read, write = os.pipe()
    done = subprocess.run(
        [sys.executable, "-c", patched_run.START, str(write), mode, names, "s.py", "one", "two"],
        cwd=folder, pass_fds=[write], capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as pipe:
        report = pipe.read()
    return done, json.loads(report) if report else None


SCRIPT = """
import sys
def inner(n): return n if n < 1 else inner(n - 1)
def outer(n): return inner(n) + inner(n)
def other(n): return n
if __name__ == "__main__":
    print(outer(5), other(1), sys.argv, sys.path[0] == __file__.rpartition("/")[0], __name__)
    print(sorted({"numpy", "tilewright.decorator", "tilewright._native"} & set(sys.modules)))
"""


@pytest.mark.parametrize(("mode", "names"), [("plain", "inner,outer"), ("tuned", "-"), ("tuned", "of_another_script")])
def test_a_script_is_run_as_python_does_and_nothing_is_imported_for_it(tmp_path, mode, names):
    done, report = seen(tmp_path, SCRIPT, mode, names)
    assert done.stdout == f"0 1 ['{tmp_path}/s.py', 'one', 'two'] True __main__\n[]\n", done.stderr
    assert report["patched"] == [] and report["own_ns"] > 0 and report["ended_ns"] > report["own_ns"]
    calls = {name: entry["calls"] for name, entry in report["functions"].items()}
    assert calls == ({"outer": 1} if mode == "plain" else {}), "what a function calls is a part of it"


def test_functions_are_known_by_the_names_of_their_programs(tmp_path):
    script = "class Model:\n  def größe(self): return 1\nprint(Model().größe(), (lambda: 2)())\n"
    done, report = seen(tmp_path, script, "plain", "gr__e")
    assert done.stdout == "1 2\n" and list(report["functions"]) == ["Model.größe"], done.stderr


def test_an_exit_code_and_an_error_are_the_scripts(tmp_path):
    done, report = seen(tmp_path, "import sys\ndef f(): sys.exit(7)\nf()\n", "plain", "f")
    assert done.returncode == 7 and report["functions"]["f"]["calls"] == 1
    done, _ = seen(tmp_path, "def f(): raise KeyError('x')\nf()\n", "plain", "f")
    assert done.returncode == 1 and "KeyError: 'x'" in done.stderr


def test_marked_functions_stay_what_they_are(tmp_path):
    script = """
import pickle, numpy as np, tilewright
@tilewright.jit
def f(x): return g(x) + 1
@tilewright.jit
def g(x): return np.sqrt(x)
class Model:
    @tilewright.jit
    def h(self, x): return x * 2
x = np.ones(100_000)
assert (f(x) == 2).all() and (Model().h(x) == 2).all()
assert isinstance(f, tilewright.JitFunction) and pickle.loads(pickle.dumps(f)) is f
print(len(f.specializations), f.__name__)
"""
    done, report = seen(tmp_path, script, "tuned", "-")
    assert done.stdout == "1 f\n", done.stderr
    assert {name: entry["calls"] for name, entry in report["functions"].items()} == {"f": 1, "Model.h": 1}
