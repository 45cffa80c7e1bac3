"""`autotune run`: what the script took is told apart from what tilewright's own start took; a line a patched function."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from compiled_start import COMPILED
from tilewright.run_report import Ran, document, lines_of, rows_of
from tilewright.script import START

pytestmark = pytest.mark.worker


def compiled(calls, ms, python_calls=0, python_ms=0.0, **more):
    """Of a function: calls, of which Python made the first ones."""
    times = {"calls": calls, "ns": round(ms * 1e6), "python_calls": python_calls, "python_ns": round(python_ms * 1e6)}
    times["mean_python_ns"] = times["python_ns"] / python_calls if python_calls else 0.0
    return {**times, "missed_calls": 0, "missed_ns": 0, "in_numpy": [], "is_built": True, **more}


def told(functions, s=2.0, earlier=None, patched=(), **more):
    return lines_of("s.py", earlier, Ran(0, round((s + 0.4) * 1e9), 400_000_000, functions, [*patched], **more))


def python(calls, ms, why, **more):
    """Of a function that is not compiled."""
    return compiled(calls, ms, calls, ms, is_built=False, in_numpy=[why], **more)


def test_what_was_gained_is_told_by_function_and_for_the_whole():
    # 0.4 s of a short script are tilewright's start.
    functions = {
        "blur": compiled(110, 300, 10, 200, missed_calls=1, missed_ns=200_000_000, schedule="default schedule"),
        "load": compiled(
            5,
            40,
            4,
            400,
            is_built=False,
            in_numpy=["/home/s.py:3, in load: open() is Python's."],
            place=["/home/s.py", "load"],
        ),
        "main": compiled(1, 0, 1, 1500),
        "main.lines_3_to_4": compiled(3, 60, 1, 60),
    }
    after = Ran(0, 2_270_000_000, 400_000_000, functions, [])
    assert lines_of("s.py", None, after) == [
        "  function           calls  share   NumPy  compiled",
        "  blur                 110   54 %   20 ms   1.01 ms  19.80x  default schedule",
        "  load                   5   12 %  100 ms                    not compiled",
        "  main.lines_3_to_4      3    4 %   60 ms     30 ms   2.00x",
        "  load: s.py:3: open() is Python's",
        "s.py: about 4.05 s → 1.87 s (2.17x); 1 function and 1 region compiled, 59 % of the time before; tilewright's own start took 0.40 s beside that",
    ]
    assert document(None, after, rows_of(None, after))["functions"]["blur"]["calls"] == 110
    before = Ran(0, 4_000_000_000, 0, {}, [])
    assert lines_of("s.py", before, after)[-1].startswith("s.py: 4.00 s → 1.87 s (2.14x); ")


def test_a_tuned_function_has_the_time_of_the_run_before():
    before = Ran(0, 2_000_000_000, 0, {"blur": {"calls": 12, "ns": 300_000_000}}, [])
    after = Ran(0, 1_900_000_000, 0, {"blur": compiled(12, 150, schedule="tuned")}, ["blur"])
    assert lines_of("s.py", before, after)[1] == "  blur         12   15 %  25 ms   12.5 ms  2.00x  tuned"


def test_where_nothing_is_compiled_the_line_for_the_whole_says_why():
    def whole(functions, **more):
        line = told(functions, **more)[-1]
        assert line.endswith("; tilewright's own start took 0.40 s beside that")
        return line.removeprefix("s.py: 2.00 s; ").partition(";")[0]

    assert whole({}, has_numpy=False) == "nothing compiled: NumPy was not imported"
    assert (
        whole({"f": python(9, 90, "few")})
        == "nothing compiled: none of its functions and loops of arrays took 5 % of that"
    )
    assert whole({"f": python(9, 900, "few")}) == "nothing compiled: the lines above say why"
    assert whole({}, left_alone={"a generator": ["f"]}) == "nothing compiled: the lines above say why"
    awaited = "nothing compiled yet: the next run begins with the code that is there by then"
    assert whole({"f": python(9, 900, "few", is_awaited=True)}) == awaited


def test_what_python_runs_is_told_with_each_reason_once():
    functions = {
        "a": python(9, 900, "called by b, which is compiled first"),
        "b": python(2, 1000, "/x/y/t.py:7, in g: print() at /x/y/u.py:9; it prints.", place=["/x/y/s.py", "b"]),
        "c": python(9, 300, "called by b, which is compiled first"),
        "of_an_earlier_run": compiled(
            0, 0, is_built=False, is_left=True, mean_python_ns=2e6, in_numpy=["NumPy is faster"]
        ),
        "short": python(9, 90, "90 ms in all"),
        "some": compiled(9, 10, 2, 300, schedule="tuned", in_numpy=["another kind"]),
    }
    assert told(functions, left_alone={"a generator": [f"g{k}" for k in range(7)]})[1:-1] == [
        "  some                   9   40 %   150 ms   1.43 ms  105.00x  tuned",
        "  b                      2   30 %   500 ms                     not compiled",
        "  a                      9   27 %   100 ms                     not compiled",
        "  c                      9    9 %  33.3 ms                     not compiled",
        "  of_an_earlier_run                   2 ms                     not compiled",
        "  some, other calls: another kind",
        "  b: t.py:7, in g: print() at u.py:9; it prints",
        "  a, c: called by b, which is compiled first",
        "  of_an_earlier_run: NumPy is faster",
        "  g0, g1, g2, g3, g4 and 2 more: never compiled: a generator",
    ]


def test_who_calls_all_others_is_no_row_and_who_is_called_once_is_one():
    functions = {"main": python(1, 1900, "once"), "f": python(1, 600, "once"), "g": python(9, 400, "short")}
    assert [row.name for row in rows_of(None, Ran(0, 2_000_000_000, 0, functions, []))] == ["f", "g"]
    assert [row.name for row in rows_of(None, Ran(0, 2_000_000_000, 0, {"main": functions["main"]}, []))] == ["main"]


def seen(folder, text, names):
    """`names`: of functions that are timed in a run as it is; None for a compiled one."""
    (folder / "s.py").write_text(text)
    read, write = os.pipe()
    start = [COMPILED, str(write)] if names is None else [START, str(write), names]
    done = subprocess.run(
        [sys.executable, "-c", *start, "s.py", "one", "two"],
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


@pytest.mark.parametrize("names", ["inner,outer", "of_another_script", "-", None])
def test_a_script_is_run_as_python_does_and_nothing_is_imported_for_it(tmp_path, names):
    done, report = seen(tmp_path, SCRIPT, names)
    assert done.stdout == "0 1 ['s.py', 'one', 'two'] True __main__\n[]\n", done.stderr
    assert report["patched"] == [] and report["own_ns"] > 0 and report["ended_ns"] > report["own_ns"]
    calls = {name: entry["calls"] for name, entry in report["functions"].items()}
    assert calls == ({"outer": 1} if names == "inner,outer" else {}), "what a function calls is a part of it"


def test_functions_are_known_by_the_names_of_their_programs(tmp_path):
    script = "class Model:\n  def größe(self): return 1\nprint(Model().größe(), (lambda: 2)())\n"
    done, report = seen(tmp_path, script, "gr__e")
    assert done.stdout == "1 2\n" and list(report["functions"]) == ["Model.größe"], done.stderr


def test_an_exit_code_and_an_error_are_the_scripts(tmp_path):
    done, report = seen(tmp_path, "import sys\ndef f(): sys.exit(7)\nf()\n", "f")
    assert done.returncode == 7 and report["functions"]["f"]["calls"] == 1
    done, _ = seen(tmp_path, "def f(): raise KeyError('x')\nf()\n", "f")
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
    done, report = seen(tmp_path, script, None)
    assert done.stdout == "1 f\n", done.stderr
    assert {name: entry["calls"] for name, entry in report["functions"].items()} == {"f": 1, "Model.h": 1}


LOOPS = """
import atexit, sys
import numpy as np
log = []
def relaxed(u):
    v = u.copy()
    for _ in range(20):
        v[1:-1] = 0.5 * (v[:-2] + v[2:]) + 0.01 * np.sin(v[1:-1])
    return v
def short(k): return k + 1
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Model:
    def __init__(self): self.u, self.steps = np.linspace(0, 1, 100_000), 0
    def part(self): return self.u * 0.5 + 0.25
    def step(self):
        self.u = relaxed(self.part())
        self.steps += 1
        log.append(self.steps)
        if self.steps % 40 == 0: print("step", self.steps, round(float(self.u.sum()), 6))
    @staticmethod
    def of_none(): return short(1)
    @property
    def mean(self): return float(self.u.mean())
model = Model()
for k in range(240): model.step()
print(fib(15), sum(short(k) for k in range(2000)), Model.of_none(), len(log), round(model.mean, 9), type(short).__name__)
atexit.register(lambda: print("the end", len(log)))
def last(): raise ValueError("of the script")
try: last()
except ValueError as error: print(error)
sys.exit(int(sys.stdin.readline()))
"""


def ran(folder, *arguments, timeout=300, **more):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=timeout, check=False, **more
    )


def test_a_script_whose_functions_are_compiled_says_and_does_what_it_did(tmp_path):
    (tmp_path / "s.py").write_text(LOOPS)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    plain, *ours = [
        ran(tmp_path, *command, "s.py", env=environment, input="5\n")
        for command in ([], ["-m", "tilewright", "run"], ["-m", "tilewright", "run"])
    ]
    assert plain.returncode == 5, plain.stderr
    for run in ours:
        assert run.stdout == plain.stdout
        assert run.returncode == 5, run.stderr
        # Whether the outer one was followed by the end, and so left to its parts, the machine's load decides.
        assert "relaxed" in run.stderr or "Model.step" in run.stderr, run.stderr


def run_as_command(folder, text, *options):
    (folder / "s.py").write_text(text)
    return ran(folder, "-m", "tilewright", "run", *options, "s.py", timeout=120)


def test_a_process_that_the_script_forks_tells_nothing_at_its_end(tmp_path):
    done = run_as_command(
        tmp_path, "import os, sys\nif not os.fork(): sys.exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    assert (done.returncode, done.stdout) == (0, "3\n") and done.stderr.count("tilewright's own start") == 1


def test_a_script_that_is_nested_deep_runs(tmp_path):
    cases = "".join(f"    elif k == {k}: x = x[1:]\n" for k in range(20, 220))
    text = f"import numpy as np\nx = np.ones(9)\nfor k in range(3):\n    if k == 9: x = x * 2\n{cases}    x = x{' + x[0]' * 300}\nprint(x[0])\n"
    done = run_as_command(tmp_path, text)
    assert (done.returncode, done.stdout) == (0, f"{301.0**3}\n"), done.stderr


def test_what_the_script_puts_in_the_place_of_stderr_is_its_own(tmp_path):
    text = "import sys\nsys.stderr = open('log', 'w')\nprint('its own', file=sys.stderr)\n"
    done = run_as_command(tmp_path, text)
    assert (tmp_path / "log").read_text() == "its own\n" and "tilewright's own start" in done.stderr
    assert run_as_command(tmp_path, "import sys\nsys.stderr.close()\n").stderr == ""


def test_a_run_before_that_ends_at_once_has_no_time(tmp_path):
    text = "import os\nif os.environ.get('TILEWRIGHT_DISABLE'): os._exit(0)\n"
    done = run_as_command(tmp_path, text, "--before")
    assert done.returncode == 0 and "Traceback" not in done.stderr and "tilewright's own start" in done.stderr
    failed = run_as_command(tmp_path, "raise SystemExit(4)", "--before")
    assert (failed.returncode, failed.stderr) == (1, "autotune: s.py: fails as it is (exit code 4).\n")


FAILS = """
import numpy as np
def checked(x, k):
    y = np.sqrt(x) + k
    for _ in range(30): y = np.sin(y) * x
    if k == 150: raise ValueError(f"step {k}")
    return y
def main():
    x = np.linspace(0, 1, 100_000)
    for k in range(200):
        checked(x, k)
main()
"""


def test_tracebacks_have_the_lines_of_the_script_alone(tmp_path):
    (tmp_path / "s.py").write_text(FAILS)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    plain, ours = [ran(tmp_path, *command, "s.py", env=environment) for command in ([], ["-m", "tilewright", "run"])]
    assert plain.returncode == 1 and ours.stderr.startswith(plain.stderr.replace('"s.py"', f'"{tmp_path}/s.py"')), (
        ours.stderr
    )
    assert "checked" in ours.stderr.removeprefix(plain.stderr), ours.stderr


@pytest.mark.parametrize("command", [[], ["-m", "tilewright", "run"]])
def test_an_interrupted_script_ends_as_python_does(tmp_path, command):
    text = """
import sys, time
import numpy as np
def waits():
    print("begins", flush=True)
    for _ in range(3000):
        time.sleep(0.01)
waits()
"""
    (tmp_path / "s.py").write_text(text)
    process = subprocess.Popen(
        [sys.executable, *command, "s.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begins\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert said.startswith("Traceback (most recent call last):\n") and "KeyboardInterrupt" in said
    places = re.findall(r'File "(.*?)", line \d+, in (\w+|<module>)', said)
    assert places == [(str(tmp_path / "s.py"), "<module>"), (str(tmp_path / "s.py"), "waits")]


def test_functions_of_a_package_that_is_run_are_seen_where_its_modules_import_them(tmp_path):
    """`-m` imports the package to find the module: what that binds stands for its functions as well."""
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "work.py").write_text(
        "import numpy as np\ndef slow(x):\n    for _ in range(300):\n        x = np.sqrt(x * 2 + 1) - np.cos(x) * 0.5\n    return x\n"
        "class Model:\n    def run(self, x):\n        return slow(x).sum()\n"
    )
    (package / "__init__.py").write_text("from .work import Model, slow\n")
    (package / "__main__.py").write_text(
        "import numpy as np\nfrom . import Model, slow\nprint(type(slow).__name__, type(Model.run).__name__)\n"
    )
    done = ran(tmp_path, "-m", "tilewright", "run", "-m", "pkg", timeout=120)
    assert (done.returncode, done.stdout) == (0, "HotFunction HotFunction\n"), done.stderr


HELD = """
import pickle, traceback, warnings
import numpy as np
import held

def old(a):
    warnings.warn("old", UserWarning, stacklevel=2)
    return a + 1

def late(x, k):
    class C:
        v = k
    g = dict(a=(y + i for i in range(2)))
    y = np.abs(x[1:] - x[:-1]).max() + 2 + np.sqrt(x[1:]).max() // 1
    return list(g["a"])

def fails(x):
    for k in range(3):
        print(np.sqrt(x[1:] + k).sum() * 2 + [1, 2][k] + 1)

warnings.simplefilter("always")
old(1)
print(len(pickle.dumps(held.WORKERS)), held.WORKERS[0] is held.work, len(pickle.dumps(held.alone)))
x = np.arange(1000.0)
gens = []
for k in range(3):
    y = k
    gens.append((np.sqrt(x[1:] + k).sum() * 2, (y for _ in range(1))))
print([list(g) for _, g in gens])
for k in range(1200):
    last = late(x + 1, k)
print(last)
try:
    fails(x)
except IndexError:
    print(traceback.format_exc().replace("^", "").replace("~", ""))
"""


def test_what_looks_at_functions_lines_and_late_variables_sees_what_python_shows(tmp_path):
    (tmp_path / "s.py").write_text(HELD)
    (tmp_path / "held.py").write_text(
        "import numpy as np\ndef work(x):\n    return np.sqrt(x[1:] + x[:-1]).sum() + 1\nWORKERS = [work]\ndef alone(x):\n    return x + 1\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    plain, *ours = [
        ran(tmp_path, *command, str(tmp_path / "s.py"), env=environment)
        for command in ([], ["-m", "tilewright", "run"], ["-m", "tilewright", "run"])
    ]
    assert plain.returncode == 0, plain.stderr
    for run in ours:
        assert run.stdout == plain.stdout, run.stderr
        assert run.stderr.splitlines()[:2] == plain.stderr.splitlines()[:2]
