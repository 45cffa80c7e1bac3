"""`tilewright.enable()` at Python's prompt and in scripts: what stands for the user's functions, and that nobody sees a difference."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest
from tilewright.interpret.source import source_of, typed_as

pytestmark = pytest.mark.worker

# Calls are followed at once, in the process itself: what a test waits for depends on no other process.
AT_ONCE = """
from tilewright import hot_functions as _hot
_hot._WORTH_NS = _hot._WORTH_APART_NS = _hot._CALL_NS = 0
_hot.is_possible = lambda: False
_hot.HotFunction.keeps_traces = False
_hot.HotFunction._costs_too_much = lambda self: False
_hot.HotFunction._loses = lambda *_: False

"""
BUILT = """
def built(f, *args):
    import time
    until = time.monotonic() + 60
    while not any(one.versions for one in f.specializations) and time.monotonic() < until:
        f(*args)
        time.sleep(0.01)
    return any(one.versions for one in f.specializations)

_hot.built = built
del built

"""


def python(folder, *command, text=None):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
    return subprocess.run(
        [sys.executable, "-q", *command], input=text, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip


def at_prompt(folder, text):
    """What such inputs print, and what is told of their errors."""
    done = python(folder, "-i", text=text)
    return done.stdout, done.stderr.replace(">>> ", "").replace("... ", "")


SESSION = """
import numpy as np
def f(x):
    y = np.sin(x) * x
    return y[2] + y.sum()

class Model:
    def __init__(self): self.w = np.ones(5)
    def step(self, k):
        self.w = self.w * 0.5 + k
        return self.w.sum()
    @staticmethod
    def norm(v): return np.sqrt((v * v).sum())

x = np.arange(5.0)
[float(f(x)) for _ in range(20)]
m = Model()
[float(m.step(k)) for k in range(20)], Model.norm(x)
f, Model.step
f(x[:2])
f()
def f(x): return x.sum() + 1

f(x)
del f
f
"""


def test_a_session_at_the_prompt_is_what_it_is_without(tmp_path):
    def shown(text):
        out, errors = at_prompt(tmp_path, text)
        return [line.partition(" at 0x")[0] for line in out.splitlines()], errors

    plain = shown(SESSION)
    out, errors = shown(AT_ONCE + "import tilewright; _ = tilewright.enable()\n" + SESSION)
    assert out == plain[0] and len(out) == 4
    assert errors == plain[1] and "IndexError" in errors and "hot_functions" not in errors


def test_what_was_typed_is_compiled_and_put_back(tmp_path):
    out, errors = at_prompt(
        tmp_path,
        AT_ONCE + BUILT + "import tilewright, numpy as np, sys\ntilewright.enable()\ntilewright.enable()\n"
        "def f(x): return (np.sin(x) * x + 1).sum()\n\ng, held = f, [f]\nx = np.arange(1000.0)\n"
        "type(f).__name__, f is g, f is held[0], _hot.built(f, x), bool(abs(f(x) - f.__wrapped__(x)) < 1e-9)\ntilewright.report()\n"
        "tilewright.disable()\ntilewright.disable()\n"
        "type(f).__name__, f is g, f is held[0], bool(held[0](x) == f(x)), held[0].specializations, type(sys.ps1), sys.excepthook is sys.__excepthook__\n",
    )  # fmt: skip
    lines = out.splitlines()
    assert lines[0].startswith("<tilewright: functions are compiled once") and lines[0] == lines[1], errors
    assert lines[2] == "('HotFunction', True, True, True, True)", errors
    assert lines[3].split()[:2] == ["function", "calls"] and lines[4].split()[0] == "f"
    assert lines[-1] == "('function', True, False, True, [], <class 'str'>, True)"


SCRIPT = (
    AT_ONCE
    + BUILT
    + """
import numpy as np, tilewright
from beside import imported_before
def above(x): return (x * 2 + 1).sum()
def kinds(*functions): return [type(one).__name__ for one in functions]
with tilewright.enable():
    import later
    print(kinds(above, imported_before, later.imported, later.Kind.method, later.Kind().method))
    print(_hot.built(above, np.ones(100)), _hot.built(later.imported, np.ones(100)), later.imported(np.ones(3)))
    with tilewright.enable():
        pass
    print(kinds(above))
print(kinds(above, imported_before, later.imported, later.Kind.method))
def below(x): return x
"""
)


def test_in_a_script_functions_above_and_modules_that_follow_are_compiled(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("def imported_before(x): return x + 1\n")
    (tmp_path / "later.py").write_text(
        "import numpy as np\ndef imported(x): return np.sin(x) * x + 1\nclass Kind:\n    def method(self): return 1\n"
    )
    done = python(tmp_path, "s.py")
    hot = "HotFunction"
    assert done.stdout.splitlines()[0] == str([hot, hot, hot, hot, "BoundMethod"]), done.stderr
    assert done.stdout.splitlines()[1].startswith("True True [1.84")
    assert done.stdout.splitlines()[2:] == [str([hot]), str(["function"] * 4)]
    assert done.stderr == ""


def test_functions_that_a_script_defines_below_the_call_are_named(tmp_path):
    (tmp_path / "s.py").write_text(
        "import tilewright\ndef above(): pass\ntilewright.enable()\ndef below(): pass\nclass Too: pass\n"
    )
    said = python(tmp_path, "s.py").stderr
    assert (
        ": FallbackWarning: tilewright.enable(): s.py:3: functions that are defined below stay Python's: below, Too. Call it behind"
        in said
    )
    assert said.endswith("autotune run s.py\n  tilewright.enable()\n")


def test_it_does_nothing_where_tilewright_is_disabled_or_another_run_looks_at_the_script(tmp_path):
    text = "import numpy as np, tilewright\ndef f(x): return x + 1\ntilewright.enable()\nprint(type(f).__name__)\ntilewright.report()\n"
    (tmp_path / "s.py").write_text(text)
    said = "nothing was compiled here yet. tilewright.enable() begins it."
    done = subprocess.run(
        [sys.executable, "s.py"], cwd=tmp_path, env={**os.environ, "TILEWRIGHT_DISABLE": "1"}, capture_output=True, text=True, timeout=60, check=True
    )  # fmt: skip
    assert done.stdout == f"function\ntilewright.report(): {said}\n"
    done = python(tmp_path, "-m", "tilewright", "run", "s.py")
    assert done.stdout.startswith("HotFunction\n") and done.returncode == 0, done.stderr


def test_arrays_come_from_kept_memory_until_it_is_disabled(tmp_path):
    (tmp_path / "s.py").write_text(
        "import numpy as np, tilewright\n"
        "from numpy._core.multiarray import get_handler_name as name\n"
        "own = name(np.ones(1 << 20))\ntilewright.enable()\nkept = name(np.ones(1 << 20))\ntilewright.disable()\n"
        "print(own == kept, own == name(np.ones(1 << 20)))\n"
    )
    assert python(tmp_path, "s.py").stdout == "False True\n"


def test_a_second_observer_of_imports_asks_those_behind_it(tmp_path):
    """Each asks the finders behind it alone: two would ask one another for ever."""
    (tmp_path / "found.py").write_text("def f(): pass\n")
    (tmp_path / "s.py").write_text(
        "from tilewright.record.observe import Observer\nfrom tilewright.record.ownership import Users\n"
        "seen = []\nusers = Users('.')\none, other = (Observer(users, lambda f, name: seen.append(name) or f) for _ in range(2))\n"
        "with one.importing(), other.importing():\n    import found\nprint(seen)\n"
    )
    done = python(tmp_path, "s.py")
    assert done.stdout in ("['f']\n", "['f', 'f']\n"), done.stderr


def test_what_was_typed_has_its_text_for_its_source():
    text = "class Model:\n    def step(self, k): return self.w * k\n\nf = lambda x: x + 1\n"
    names = {}
    for part in (text[: text.index("f =")], text[text.index("f =") :]):
        exec(compile(part, "<stdin>", "single" if part.startswith("f") else "exec"), names)
    step, f = names["Model"].step, names["f"]
    typed_as(step, "class Model:\n    def step(self, k): return self.w + k\n")
    assert source_of(step) is None
    typed_as(step, text[: text.index("f =")])
    typed_as(f, text[text.index("f =") :])
    assert (
        ast.unparse(source_of(step)) == "def step(self, k):\n    return self.w * k"
        and ast.unparse(source_of(f)) == "lambda x: x + 1"
    )
