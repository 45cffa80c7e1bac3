"""Traces on disk: what a process kept serves a later one while all that they speak of is as it was, and no call of another kind."""

from __future__ import annotations

import dataclasses
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from tilewright import trace_cache
from tilewright.guards import PythonGuard
from tilewright.hot_functions import HotFunction

pytestmark = pytest.mark.compile

# Beside modules of cases, each of which says whether its call was followed, and sees to it that NumPy gives the same.
HEAD = """
import sys, dataclasses, enum, functools, types
import numpy as np
from tilewright import specializing, trace_cache
from tilewright.hot_functions import HotFunction
followed = []
specializing.Specializing._patience_s = 60.0
inner = HotFunction._followed
def noted(self, *call):
    followed.append(self.__name__)
    return inner(self, *call)
HotFunction._followed = noted
def check(function, *args):
    hot = HotFunction(function, lambda _: True)
    hot.is_hot = hot._is_looked_up = hot._is_followed_here = True
    followed.clear()
    wanted = np.array(function(*args))
    assert np.allclose(hot(*args), wanted, rtol=1e-12), (hot(*args), wanted)
    assert np.allclose(hot(*args), wanted, rtol=1e-12)
    print("followed" if followed else "kept", hot.why_not_kept)
x = np.arange(6.0)
"""


def says(tmp_path, texts, **environment):
    """What each text, as a module of its own, says in a process that imports them all."""
    (tmp_path / "head.py").write_text(HEAD)
    for k, text in enumerate(texts):
        (tmp_path / f"case_{k}.py").write_text(f"from head import *\n{text}")
    names = ", ".join(f"case_{k}" for k in range(len(texts)))
    done = subprocess.run(
        [sys.executable, "-c", f"import {names}"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


SUBJECTS = {
    "arrays": "def f(x): return np.sqrt(x * 2) + 1\ncheck(f, x)\n",
    "a helper": "def g(x): return x * 3\ndef f(x): return g(x) + 1\ncheck(f, x)\n",
    "a global number": "SCALE = 2.5\ndef f(x): return x * SCALE\ncheck(f, x)\n",
    "a global array": "TABLE = np.arange(6.0)\ndef f(x): return x * TABLE\ncheck(f, x)\n",
    "a word": "def f(x, how): return x * 2 if how == 'double' else x\ncheck(f, x, 'double')\n",
    "an object": (
        "class Model:\n    def __init__(self): self.w = np.ones(6); self.k = 2\n    def step(self, x):\n"
        "        return self.half(x) * self.w + self.k\n    def half(self, x): return x / 2\ncheck(Model.step, Model(), x)\n"
    ),
    "a dataclass": (
        "@dataclasses.dataclass\nclass P:\n    a: np.ndarray\n    b: float = 2.0\ndef f(p): return P(p.a * p.b, p.b).a\ncheck(f, P(x))\n"
    ),
    "an enum": (
        "class Way(enum.Enum):\n    A = 1\n    B = 2\ndef f(x, way): return x + 1 if way is Way.A else x - 1\ncheck(f, x, Way.B)\n"
    ),
    "a closure": (
        "def made(k):\n    def inner(x): return x * k\n    return inner\nh = made(3.0)\ndef f(x): return h(x) + 1\ncheck(f, x)\n"
    ),
    "a stage": "def f(x): return np.linalg.solve(np.diag(x + 1), x) + 1\ncheck(f, x)\n",
    "accumulate": "def f(x): return np.maximum.accumulate(x[::-1]) + 1\ncheck(f, x)\n",
    "what is made from a text": (
        "names = {'np': np}\nexec(compile('def g(x): return x + 1', 's', 'exec'), names)\ng = names['g']\n"
        "def f(x): return np.sqrt(x) * 2\ncheck(f, x)\n"
    ),
    "indices": "def f(x, i):\n    y = x.copy()\n    y[i] = 0\n    return y\ncheck(f, x, np.array([1, 4]))\n",
}


def test_a_second_process_follows_nothing(tmp_path):
    first = dict(zip(SUBJECTS, says(tmp_path, SUBJECTS.values()), strict=True))
    again = dict(zip(SUBJECTS, says(tmp_path, SUBJECTS.values(), PYTHONHASHSEED="7"), strict=True))
    assert set(first.values()) == {"followed"}, first
    assert set(again.values()) == {"kept"}, again


CHANGES = {
    "the function": ("def f(x): return x * 2\ncheck(f, x)\n", "x * 2", "x * 3"),
    "a helper": (SUBJECTS["a helper"], "x * 3", "x * 4"),
    "a helper's default": ("def g(x, k=3): return x * k\ndef f(x): return g(x) + 1\ncheck(f, x)\n", "k=3", "k=4"),
    "a helper behind a wrapper": (
        "def g(x): return x * 3\ndef deep(x): return g(x) + 0\ndef f(x): return deep(x) + 1\ncheck(f, x)\n", "x * 3", "x - 3",
    ),
    "a method": (SUBJECTS["an object"], "x / 2", "x / 4"),
    "a base class's method": (
        "class B:\n    def g(self, x): return x + 1\nclass M(B): pass\ndef f(m, x): return m.g(x)\ncheck(f, M(), x)\n", "x + 1", "x + 2",
    ),
    "a class attribute": (
        "class M:\n    k = 2\n    def g(self, x): return x * self.k\ndef f(m, x): return m.g(x)\ncheck(f, M(), x)\n", "k = 2", "k = 5",
    ),
    "a property": (
        "class M:\n    @property\n    def k(self): return 2\ndef f(m, x): return x * m.k\ncheck(f, M(), x)\n", "return 2", "return 3",
    ),
    "what a class is made from": (
        "class A:\n    def g(self, x): return x\nclass B:\n    def g(self, x): return -x\nclass M(A, B): pass\n"
        "def f(m, x): return m.g(x) + 1\ncheck(f, M(), x)\n", "M(A, B)", "M(B, A)",
    ),
    "a number that decides": ("K = 3\ndef f(x):\n    for _ in range(K): x = x + 1\n    return x\ncheck(f, x)\n", "K = 3", "K = 4"),
    "a word that decides": ("HOW = 'a'\ndef f(x): return x + 1 if HOW == 'a' else x - 1\ncheck(f, x)\n", "HOW = 'a'", "HOW = 'b'"),
    "an enum's value": (
        "class W(enum.IntEnum):\n    A = 1\ndef f(x, w): return x + int(w)\ncheck(f, x, W.A)\n", "A = 1", "A = 2",
    ),
    "an enum's array": (
        "class W(enum.Enum):\n    A = np.arange(3000.0) * (np.arange(3000) != 1500)\n"
        "def f(x, w): return x + w.value.sum()\ncheck(f, x, W.A)\n", "!= 1500", "!= 1501",
    ),
    "what an enum's member has": (
        "Q = 2.0\nclass W(enum.Enum):\n    A = 1\n    def __init__(self, v): self.m = v * Q\n"
        "def f(x, w): return x + w.m\ncheck(f, x, W.A)\n", "Q = 2.0", "Q = 3.0",
    ),
    "a registered way": (
        "@functools.singledispatch\ndef g(k, x): return x\n@g.register\ndef _(k: float, x): return x * 2\n"
        "def f(x): return g(2.0, x) + 1\ncheck(f, x)\n", "x * 2", "x * 3",
    ),
    "what is registered with an abstract class": (
        "import abc\nclass A(abc.ABC): pass\nclass M: pass\nclass N: pass\nA.register(M)\n"
        "def f(x, m): return x * (2 if isinstance(m, A) else 3)\ncheck(f, x, M())\n", "register(M)", "register(N)",
    ),
    "a decorator": (
        "def twice(g):\n    @functools.wraps(g)\n    def w(x): return g(x) * 2\n    return w\n@twice\ndef g(x): return x + 1\n"
        "def f(x): return g(x) + 1\ncheck(f, x)\n", "* 2", "* 5",
    ),
    "a dict of functions": (
        "def a(x): return x + 1\ndef b(x): return x - 1\nT = {'k': a}\ndef f(x): return T['k'](x) * 2\ncheck(f, x)\n", "'k': a", "'k': b",
    ),
    "what is bound to a name": (
        "def a(x): return x + 1\ndef b(x): return x - 1\ng = a\ndef f(x): return g(x) * 2\ncheck(f, x)\n", "g = a", "g = b",
    ),
    "NumPy's functions": ("g = np.sin\ndef f(x): return g(x) * 2\ncheck(f, x)\n", "np.sin", "np.cos"),
    "a captured number": (
        "def made(k):\n    def inner(x): return x * k\n    return inner\nf = made(3.0)\ncheck(f, x)\n", "made(3.0)", "made(4.0)",
    ),
    "a list": ("L = [1.0, 2.0]\ndef f(x): return x * L[0] + L[1]\ncheck(f, x)\n", "2.0]", "3.0]"),
    "a partial's number": (
        "def g(x, k): return x * k\nh = functools.partial(g, k=2)\ndef f(x): return h(x) + 1\ncheck(f, x)\n", "k=2", "k=3",
    ),
    "the dtype": ("def f(x): return x * 2\ncheck(f, x.astype(np.float32))\n", "float32", "int64"),
    "the rank": ("def f(x): return x.sum(axis=-1)\ncheck(f, x.reshape(2, 3))\n", "x.reshape(2, 3)", "x"),
    "the layout": ("def f(x): return x.ravel() + 1\ncheck(f, x.reshape(2, 3))\n", "x.reshape(2, 3)", "x.reshape(2, 3).T"),
    "arrays that are one": ("def f(a, b):\n    a[0] = 5\n    return a + b\ncheck(f, x, x.copy())\n", "x.copy()", "x"),
}  # fmt: skip


def test_a_trace_serves_no_call_that_has_changed(tmp_path):
    """The answers are compared with NumPy's there."""
    for text, old, _ in CHANGES.values():
        assert text.count(old) == 1, old
    before = [text for text, _, _ in CHANGES.values()]
    says(tmp_path, before)
    says(tmp_path, [text.replace(old, new) for text, old, new in CHANGES.values()])
    says(tmp_path, before)


def test_helpers_of_other_modules_are_told_apart_by_what_they_are(tmp_path):
    text = "import mine\ndef f(x): return mine.g(x) + mine.K\ncheck(f, x)\n"
    (tmp_path / "mine.py").write_text("K = 2\ndef g(x): return x * 3\n")
    assert says(tmp_path, [text]) == ["followed"] and says(tmp_path, [text]) == ["kept"]
    (tmp_path / "mine.py").write_text("K = 2\ndef g(x): return x * 4\n")
    assert says(tmp_path, [text]) == ["followed"]


def test_what_stands_in_place_of_a_function_of_a_library_is_another_one(tmp_path):
    """A name of a library's is no more than a place: a script, or a module that it imports, may put something else there."""
    text = "import math, builtins\n# here\ndef f(x): return np.sqrt(x) * 2 + math.sqrt(2.0) + max(2, len(x))\ncheck(f, x)\n"
    assert says(tmp_path, [text]) == ["followed"] and says(tmp_path, [text]) == ["kept"]
    for other in ("np.sqrt = np.square", "math.sqrt = math.exp", "builtins.max = min"):
        assert says(tmp_path, [text.replace("# here", other)]) == ["followed"], other
    assert says(tmp_path, [text]) == ["kept"]


def test_a_damaged_file_is_no_trace(tmp_path):
    text = SUBJECTS["arrays"]
    assert says(tmp_path, [text]) == ["followed"]
    (file,) = [one for one in (tmp_path / "cache" / "tilewright" / "traces").iterdir() if one.suffix != ".lock"]
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    assert says(tmp_path, [text]) == ["followed"] and says(tmp_path, [text]) == ["kept"]
    assert says(tmp_path, [text], TILEWRIGHT_CACHE="off") == ["followed the cache cannot be written"]


def half(x):
    return x / 2


def test_an_object_that_may_not_be_asked_is_not_kept():
    class Odd:
        def __eq__(self, _):
            raise ValueError("the truth value of an array")

        __hash__ = object.__hash__

        def __getattr__(self, name):
            raise KeyError(name)

    specialization, _ = HotFunction(half, lambda _: True).specialize((np.ones(3),), {})
    traced = dataclasses.replace(specialization.traced, guards=(PythonGuard((("global", "odd"),), "is", Odd()),))
    assert trace_cache.keep("0" * 64, traced, half) == "'__qualname__'"


def test_what_is_read_makes_no_objects_but_a_traces(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("true",)

    with pytest.raises(pickle.UnpicklingError):
        trace_cache._Reader(
            io.BytesIO(pickle.dumps(Evil())), test_a_damaged_file_is_no_trace, trace_cache._Memo()
        ).load()
