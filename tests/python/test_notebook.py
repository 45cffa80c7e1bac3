"""Cells of IPython, with functions compiled and without: what they print and show, and what is compiled of them."""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import subprocess
import sys
import textwrap

import pytest
from tilewright.interpret.source import source_of
from tilewright.trace_cache import digest_of

pytestmark = pytest.mark.worker
pytest.importorskip("IPython")

AT_ONCE = """
from tilewright import hot_functions as _hot
_hot._WORTH_NS = _hot._WORTH_APART_NS = _hot._CALL_NS = 0
_hot.is_possible = lambda: False
_hot.HotFunction.keeps_traces = False
_hot.HotFunction._costs_too_much = lambda self: False
_hot.HotFunction._loses = lambda *_: False
def built(f, *args):
    import time
    until = time.monotonic() + 60
    while not any(one.versions for one in f.specializations) and time.monotonic() < until:
        f(*args)
        time.sleep(0.01)
    return any(one.versions for one in f.specializations)
_hot.built = built  # where nobody looks for functions
_hot.kind = lambda f: type(f).__name__
del built
"""
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
for cell in json.load(sys.stdin):
    print("CELL", flush=True)
    shell.run_cell(cell, store_history=True)
    sys.stderr.flush()
"""


def cells(folder, *texts):
    """What each prints and shows, errors too."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "IPYTHONDIR": str(folder / "ipython"),
        "XDG_DATA_HOME": str(folder / "data"),
    }
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", SHELL], input=json.dumps([textwrap.dedent(one) for one in texts]), cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
    )  # fmt: skip
    text = re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"\x1b\[[0-9;]*m", "", done.stdout))
    return text.split("CELL\n")[1:]


def compared(folder, *texts):
    """Each cell's output without us, and with functions compiled at once."""
    before = ["x = 1", "x = 1"]
    plain = cells(folder, *before, *texts)
    ours = cells(folder, AT_ONCE, "import tilewright; tilewright.enable();", *texts)
    assert len(plain) == len(ours) == len(texts) + 2
    for text, one, other in zip(texts, plain[2:], ours[2:], strict=True):
        assert other == one, text
    return ours[2:]


def test_cells_show_what_they_show_without(tmp_path):
    shown = compared(
        tmp_path,
        "import numpy as np\nx = np.arange(2000.0)\ndef f(a, k=0):\n    b = np.sqrt(a) * 2\n    return b[k] + b.sum()\n[round(float(f(x)), 6) for _ in range(30)][-1]",
        "f, f(x, 5) > 0",
        "f(x, 10**6)",
        "f()",
        "def f(a): return 7.0\nf(x)",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    u: np.ndarray\n    t: float = 0.0\n    def step(self, dt):\n"
        "        self.u[1:-1] += dt * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])\n        self.t += dt\n        return self.u[3]\np = P(x.copy())\n"
        "for _ in range(30): r = p.step(0.1)\nr, p.t, P.step",
        "p.step",
        "import pickle\npickle.loads(pickle.dumps(f)) is f",
        "%%time\ny = [f(x) for _ in range(3)]\nlen(y)".replace("%%time\n", ""),
        "r = %timeit -n 2 -r 1 -o -q f(x)\ntype(r).__name__",
        "%%timeit -q -n 2 -r 1\nw = x * 2\nfor i in range(3):\n    w[1:] = w[1:] * 0.5 + w[:-1] + w.mean()\nq = w.sum()",
        "f.__code__.co_name, f.__closure__",
        "import types\ntype(f), isinstance(f, types.FunctionType)",
        "help(f)",
        "%who_ls function",
        "import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    return f(x)\nawait work()",
        "def bad(:",
        "f.calls = 3\nf.calls, f(x)",
        "del f",
        "f(x)",
    )  # fmt: skip
    assert "IndexError" in shown[2] and "hot_functions" not in "".join(shown)


def test_loops_at_the_top_level_leave_what_they_leave_without(tmp_path):
    compared(
        tmp_path,
        "import numpy as np\nx = np.arange(50.0) / 50",
        "u = x.copy(); total = 0.0\nfor t in range(40):\n    v = u * 0.5 + x * 0.25\n    m = v.max()\n    u = v + m * 0.125\n    total += m\n    if t % 10 == 0: print(t)",
        "t, round(float(m), 9), round(float(total), 9), v.shape",
        "for t in range(40):\n    a = x * 0.5 + u * 0.25\n    b = a.max() + a.min() * 2\n    c = u[t * 10] + b + a[0]\n    z = a + b\n    print(end='')",
        "t, a.shape, round(float(b), 9), round(float(c), 9), z.shape, round(float(z[0]), 9)",
        "for i in range(3): x[:5] * i + 1",
        "for i in range(20):\n    if i > 3: late = x * i + np.abs(x) + x.mean()\n    print(end='')\nlate.shape, i",
        "for i in range(0):\n    never = x * 2 + np.abs(x) + x.max()\n    print(1)\nnever",
        "def use(): return w[0]\nw = x.copy()\nfor i in range(9):\n    w = w * 0.5 + x + 1\n    s = use() + i\n    q = w * 2 + s + w[1]\nround(float(s + q[2]), 9)",
        "y = x * 2\nfor i in range(9):\n    y = y * 0.5 + x.max() + np.abs(y)\ny[:2]",
        "y = x * 2\nfor i in range(9):\n    y = y * 0.5 + x.max() + np.abs(y)\ny[:2];",
        "%config InteractiveShell.ast_node_interactivity = 'all'",
        "y[0]\nfor i in range(3):\n    y = y * 0.5 + x.max() + np.abs(y)\ny[1]",
    )  # fmt: skip


def test_functions_and_loops_of_cells_are_compiled(tmp_path):
    shown = cells(
        tmp_path,
        AT_ONCE,
        "import tilewright\ntilewright.enable()",
        "import numpy as np\nx = np.arange(1000.0)\nclass M:\n    def __init__(self): self.w = np.ones(500)\n    def step(self, k):\n"
        "        self.w = self.w * 0.5 + k\n        return self.w.sum()\nm = M()\ndef f(a): return (np.sin(a) * a + 1).sum()",
        "_hot.built(f, x), _hot.built(M.step, m, 1.0), bool(abs(f(x) - (np.sin(x) * x + 1).sum()) < 1e-6)",
        "import time\nu = np.ones(500)\nuntil = time.monotonic() + 20\nfor k in range(10**9):\n    v = u * 0.5 + x[:500] * 0.25 + k\n    u = v - k\n    time.sleep(0.01)\n"
        "    if k > 5 and (time.monotonic() > until or any(one.versions for j in tilewright.enabled.the_session().jitted if j.__name__ == 'lines_5_to_6'"
        " for one in j.specializations)): break\nv.shape",
        "tilewright.report()",
        "tilewright.disable(); _hot.kind(f), _hot.kind(M.step), getattr(get_ipython(), 'ast_transformers'), get_ipython().custom_exceptions",
    )  # fmt: skip
    assert "(True, True, True)" in shown[3], shown
    assert "(500,)" in shown[4]
    assert re.search(r"^  lines_5_to_6 +\d+ ", shown[5], re.M) and re.search(r"^  M.step +\d+ ", shown[5], re.M), shown[
        5
    ]
    assert shown[6].split(": ", 1)[1].strip() == "('function', 'function', [], ())"


def test_a_debugger_and_who_looks_at_frames_see_the_users_own(tmp_path):
    shown = cells(
        tmp_path,
        AT_ONCE,
        "import tilewright, numpy as np; tilewright.enable();\nx = np.ones(9)",
        "def f(a):\n    b = a + 1\n    return b.sum()",
        "[f(x) for _ in range(5)]; _hot.kind(f)",
        "import sys\nlines = []\ndef trace(frame, event, arg):\n    if frame.f_code.co_name == 'f': lines.append(frame.f_lineno)\n    return trace\n"
        "sys.settrace(trace); f(x); sys.settrace(None)\n_hot.kind(f), lines",
        "_hot.kind(f)  # breakpoint()",
        "_hot.kind(f)",
    )  # fmt: skip
    assert [one.split(": ", 1)[1].strip() for one in shown[3:]] == [
        "'HotFunction'", "('function', [1, 2, 3, 3])", "'function'", "'HotFunction'",
    ]  # fmt: skip


def test_modules_that_are_loaded_anew_are_the_new_ones(tmp_path):
    module = "import numpy as np\ndef f(a): return (np.abs(a) * a).sum() + {n}\nclass C:\n    def m(self, a): return (a + 1).sum() + {n}\n"
    first, later = (
        f"import time; time.sleep(1.1)\nwith open('mine.py', 'w') as file: _ = file.write({module.format(n=n)!r})"
        for n in (1, 100)
    )
    shown = compared(
        tmp_path,
        first,
        "%load_ext autoreload\n%autoreload 2\nimport numpy as np\nx = np.arange(9.0)",
        "import mine\nfrom mine import f, C\nc = C()",
        "[f(x) + c.m(x) for _ in range(20)][-1], mine.f is f",
        later,
        "[f(x) + c.m(x) for _ in range(20)][-1], mine.f(x), mine.f is f",
    )  # fmt: skip
    assert "449" in shown[-1]


def test_a_cell_is_tuned_and_what_was_tuned_stands_for_its_functions(tmp_path, data_home):
    shown = cells(
        tmp_path,
        "%load_ext tilewright",
        "import numpy as np\nclass M:\n    def __init__(self): self.w = np.ones(50000)\n    def step(self, k):\n        return (np.tanh(self.w * 0.9 + k) + 1.0).mean()\nm = M()",
        "%%autotune --budget 20s --trials 2\ndef f(x):\n    y = np.sin(x) * x + np.cos(x) ** 2\n    return y.sum()\nx = np.linspace(0, 1, 200000)\nfor _ in range(4): r = f(x)\nround(float(r), 3)",
        "f.__class__.__name__, abs(f(x) - f.__wrapped__(x)) < 1e-6, f.specializations[0].has_own_schedule",
        "%%autotune --budget 20s --trials 1 --quiet\nfor k in range(5): r = m.step(k)",
        "M.step.__class__.__name__",
        "%%autotune\nfor k in range(5): r = m.stp(k)",
        "%%autotune --budget lots\n1",
        "%%autotune --bdget 3s\n1",
        "%%autotune\n1 + 1",
        "%%autotune\nimport asyncio\nawait asyncio.sleep(0)",
        "%autotune f",
        "%autotune",
        "%unload_ext tilewright",
        "f.__class__.__name__, M.step.__class__.__name__",
        "%autotune",
    )  # fmt: skip
    assert "where the cell's " in shown[2] and "in f: tuning it" in shown[2] and "Out[3]: 205" in shown[2], shown[2]
    assert re.search(r"^f: NumPy .* -> tuned .*result equal under contract numpy", shown[2], re.M), shown[2]
    assert "('JitFunction', True, True)" in shown[3].replace("np.True_", "True")
    assert re.search(r"^step: NumPy ", shown[4], re.M) and "JitFunction" in shown[5]
    assert "Cell In[7], line 2" in shown[6] and "AttributeError: 'M' object has no attribute 'stp'" in shown[6]
    assert shown[7].strip() == "UsageError: --budget: 'lots' is not a duration. Write 60s, 2m or 1h."
    assert (
        shown[8].strip() == "UsageError: %%autotune: unrecognized arguments: --bdget 3s. %autotune? lists the options."
    )
    assert "Out[10]: 2" in shown[9] and "autotune: the cell: no function" in shown[9]
    assert "UsageError: %%autotune: the cell awaits at its top level" in shown[10]
    assert "UsageError: %autotune f: takes nothing here." in shown[11]
    assert re.search(r"^about [\d.]+ s less in the \d+ s of this session$", shown[12], re.M), shown[12]
    assert "('function', 'function')" in shown[14] and "`%autotune` not found" in shown[15]


def test_a_kernel_makes_copies_that_follow_its_calls(tmp_path):
    """Its threads wait for messages: they are no reason to follow calls in the cell that waits."""
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("jupyter_client")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "IPYTHONDIR": str(tmp_path / "ipython")}
    manager = client.KernelManager(kernel_name="python3")
    manager.start_kernel(env=environment, cwd=tmp_path)
    talk = manager.client()
    talk.start_channels()
    try:
        talk.wait_for_ready(timeout=120)
        shown = []
        text = (
            "import threading, time, numpy as np, tilewright\nfrom tilewright import followed_apart\ntilewright.enable()\n"
            "print(threading.active_count() > 1, followed_apart.is_possible())\n"
            "own = threading.Thread(target=time.sleep, args=(1,)); own.start(); print(followed_apart.is_possible()); own.join()\n"
            "def f(x): return (np.sin(x) * x).sum()\nprint(*[type(one).__name__ for one in [f]])\n"
        )
        for cell in (
            text,
            "print(*[type(one).__name__ for one in [f]])\nfrom numpy._core.multiarray import get_handler_name\nprint(get_handler_name(np.ones(1 << 20)))",
        ):
            reply = talk.execute_interactive(
                cell, timeout=120, output_hook=lambda said: shown.append(said["content"].get("text", ""))
            )
            assert reply["content"]["status"] == "ok", reply
        assert "".join(shown).split()[:5] == ["True", "True", "False", "function", "HotFunction"]
        assert "default" not in "".join(shown)
    finally:
        talk.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_cell_that_sets_a_handler_of_errors_keeps_it(tmp_path):
    shown = compared(
        tmp_path,
        "import numpy as np\ndef handler(self, kind, error, trace, tb_offset=None): print('mine', error)\nget_ipython().set_custom_exc((ValueError,), handler)",
        "raise ValueError(3)",
        "x = np.ones(9)\nfor k in range(3):\n    y = x * 2 + np.abs(x) + x.max()\n    print(end='')\nraise ValueError(4)",
    )
    assert "mine 3" in shown[1] and "mine 4" in shown[2]


TEXT = "import numpy as np\ndef f(x):\n    return np.sin(x) * x\nclass M:\n    def step(self): return np.cos(self.w)\n"


def as_ipython_does(text, file):
    """Each statement is compiled by itself."""
    names = {"__name__": "__main__"}
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    for one in ast.parse(text).body:
        exec(compile(ast.Module([one], []), file, "exec"), names)
    return names


def test_functions_beside_imports_in_a_cell_have_their_source():
    names = as_ipython_does(TEXT, "/tmp/ipykernel_12/34.py")
    assert source_of(names["f"]) is not None and source_of(names["M"].step) is not None


def test_another_session_finds_what_is_kept_of_a_cell_of_the_same_text():
    def digest(file):
        return digest_of(as_ipython_does(TEXT, file)["f"])

    assert digest("/tmp/ipykernel_12/34.py") == digest("/tmp/ipykernel_13/34.py") != digest("/tmp/ipykernel_13/35.py")
    assert digest("<ipython-input-1-abc>") == digest("<ipython-input-20-abc>") != digest("<ipython-input-1-abd>")
    assert digest("a_1.py") != digest("a_2.py")


def test_what_is_shown_of_a_hot_function_is_the_users_own(tmp_path):
    text = "import numpy as np, tilewright\ntilewright.enable()\ndef adds(x, n=3):\n    'Adds.'\n    return x + n"
    *_, shown = cells(tmp_path, text, "adds?")
    assert re.search(r"^Docstring: +Adds\.$", shown, re.M) and "adds(x, n=3)" in shown
    assert "Class docstring" not in shown
