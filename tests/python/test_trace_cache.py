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
import os, sys, dataclasses, enum, functools, operator, types
import numpy as np
import tilewright
from tilewright import specializing, trace_cache
from tilewright.decorator import JitFunction
from tilewright.hot_functions import HotFunction
followed = []
specializing.Specializing._patience_s = 60.0
inner = specializing.Specializing._followed
def noted(self, *call):
    followed.append(self.__name__)
    return inner(self, *call)
specializing.Specializing._followed = noted
def check(function, *args, first=lambda result: result, **options):
    if os.environ["AS"] == "hot":
        made = HotFunction(function, lambda _: True)
        made.is_hot = made._is_followed_here = True
        made.is_new = False
    else:
        options = eval(os.environ["AS"]) | options
        made = tilewright.jit(**options)(getattr(function, "__wrapped__", function) if options else function)
    followed.clear()
    result = function(*args)
    wanted = np.array(first(result))
    for _ in range(3):
        found = made(*args)
        assert type(found) is type(result)
        found = first(found)
        assert np.array(found).dtype == wanted.dtype and np.allclose(found, wanted, rtol=1e-12), (found, wanted)
    print("followed" if followed else "kept", made.why_not_kept)
    return made
x = np.arange(6.0)
"""


def says(tmp_path, texts, made="hot", **environment):
    """What each text, as a module of its own, says in a process that imports them all."""
    (tmp_path / "head.py").write_text(HEAD)
    for k, text in enumerate(texts):
        (tmp_path / f"case_{k}.py").write_text(f"from head import *\n{text}")
    names = ", ".join(f"case_{k}" for k in range(len(texts)))
    done = subprocess.run(
        [sys.executable, "-c", f"import {names}"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1", "AS": made, **environment},
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
    "sets of axes in NumPy's source": (
        "def f(x): return np.percentile(x, 30) + np.cov(x, x)[0, 1] + np.median(x) + np.moveaxis(x.reshape(2, 3), 0, 1)[1]\ncheck(f, x)\n"
    ),
    "a named tuple": (
        "T = __import__('collections').namedtuple('T', 'a kind')\ndef f(x, kind): return T(np.sqrt(x), kind)\n"
        "check(f, x, 'k', first=lambda result: result.a)\n"
    ),
    "a typed named tuple": (
        "import typing\nclass T(typing.NamedTuple):\n    a: np.ndarray\n    n: int = 1\n    def twice(self): return self.a * 2\n"
        "def f(x): return T(np.sqrt(x))\ncheck(f, x, first=lambda result: result.twice())\n"
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


WAYS = ["hot", "{}", "dict(strict=True)", "dict(background=True)", "dict(contract='fast')"]


@pytest.mark.parametrize("made", WAYS)
def test_a_second_process_follows_nothing(tmp_path, made):
    first = dict(zip(SUBJECTS, says(tmp_path, SUBJECTS.values(), made), strict=True))
    again = dict(zip(SUBJECTS, says(tmp_path, SUBJECTS.values(), made, PYTHONHASHSEED="7"), strict=True))
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
    "a descriptor's number": (
        "class D:\n    def __init__(self, k): self.k = k\n    def __get__(self, it, kind): return self.k\nclass M:\n    k = D(2.0)\n"
        "def f(m, x): return x * m.k\ncheck(f, M(), x)\n", "D(2.0)", "D(3.0)",
    ),
    "a cached property": (
        "class M:\n    @functools.cached_property\n    def k(self): return 2.0\ndef f(m, x): return x * m.k\ncheck(f, M(), x)\n",
        "return 2.0", "return 3.0",
    ),
    "a partial method": (
        "class M:\n    def g(self, x, k): return x * k\n    h = functools.partialmethod(g, k=2.0)\n"
        "def f(m, x): return m.h(x) + 1\ncheck(f, M(), x)\n", "k=2.0", "k=3.0",
    ),
    "a partial of a class": (
        "class M:\n    h = staticmethod(functools.partial(np.multiply, 2.0))\n"
        "def f(m, x): return m.h(x) + 1\ncheck(f, M(), x)\n", "2.0)", "3.0)",
    ),
    "a method's closure": (
        "def made(k):\n    def g(self, x): return x * k\n    return g\nclass M:\n    g = made(2.0)\n"
        "def f(m, x): return m.g(x) + 1\ncheck(f, M(), x)\n", "made(2.0)", "made(3.0)",
    ),
    "a way that is asked for by name": (
        "class M:\n    def __getattr__(self, name): return 2.0\ndef f(m, x): return x * m.k\ncheck(f, M(), x)\n", "return 2.0", "return 3.0",
    ),
    "a metaclass's number": (
        "class T(type):\n    k = 2.0\nclass M(metaclass=T): pass\ndef f(m, x): return x * type(m).k\ncheck(f, M(), x)\n", "k = 2.0", "k = 3.0",
    ),
    "a default that is an object": (
        "class P:\n    def __init__(self, k): self.k = k\ndef f(x, p=P(2.0)): return x * p.k\ncheck(f, x)\n", "P(2.0)", "P(3.0)",
    ),
    "a default that is a function": (
        "def f(x, g=lambda x: x * 2.0): return g(x) + 1\ncheck(f, x)\n", "x * 2.0", "x * 3.0",
    ),
    "a keyword's default": ("def f(x, *, k=2.0): return x * k\ncheck(f, x)\n", "k=2.0", "k=3.0"),
    "a jitted helper": (
        "@tilewright.jit\ndef g(x): return x * 2.0\ndef f(x): return g(x) + 1\ncheck(f, x)\n", "x * 2.0", "x * 3.0",
    ),
    "a helper that is jitted now": (
        "def g(x): return x * 2.0\n# here\ndef f(x): return g(x) + 1\ncheck(f, x)\n", "# here", "g = tilewright.jit(lambda x: x * 3.0)",
    ),
    "a stage's body": (
        "@tilewright.stage\ndef g(x): return np.array([float(str(v)) for v in x]) * 2\ndef f(x): return g(x) + 1\ncheck(f, x)\n",
        "* 2", "* 3",
    ),
    "a stage's dtype": (
        "@tilewright.stage\ndef g(x): return np.array([float(str(v)) for v in x])\ndef f(x): return g(x) + 1\ncheck(f, x)\n",
        "for v in x])", "for v in x], np.float32)",
    ),
    "a stage's shape": (
        "@tilewright.stage\ndef g(x): return np.array([float(str(v)) for v in x])\ndef f(x): return g(x) + 1\ncheck(f, x)\n",
        "for v in x])", "for v in x[:3]])",
    ),
    "what a stage calls": (
        "def h(x): return np.array([float(str(v)) for v in x])\ndef g(x):\n    with open(os.devnull): pass\n    return h(x)\n"
        "def f(x): return g(x) + 1\ncheck(f, x)\n", "for v in x])", "for v in x[:3]], np.float32)",
    ),
    "what a pure stage calls": (
        "def h(x): return np.array([float(str(v)) for v in x])\n@tilewright.stage\ndef g(x): return h(x)\n"
        "def f(x): return g(x) + 1\ncheck(f, x)\n", "for v in x])", "for v in x[:3]], np.float32)",
    ),
    "that a function is a stage": (
        "@tilewright.stage\ndef g(x):\n    np.array([float(str(v)) for v in x])\n    return x * 2\n"
        "def f(x): return g(x) + 1\ncheck(f, x)\n", "@tilewright.stage\n", "@(lambda g: g)\n",
    ),
    "a function of another's namespace": (
        "space = types.SimpleNamespace(g=np.sin)\ndef f(x): return space.g(x) * 2\ncheck(f, x)\n", "np.sin", "np.cos",
    ),
    "a getter": (
        "g = operator.itemgetter(1)\ndef f(p): return g(p) * 2\ncheck(f, (x, x + 1))\n", "itemgetter(1)", "itemgetter(0)",
    ),
    "what is behind lru_cache": (
        "@functools.lru_cache\ndef g(n): return n * 2.0\ndef f(x): return x * g(3)\ncheck(f, x)\n", "n * 2.0", "n * 3.0",
    ),
    "a table behind lru_cache": (
        "@functools.lru_cache\ndef g(n): return np.arange(n) * 2.0\ndef f(x): return x * g(6)\ncheck(f, x)\n", "* 2.0", "* 3.0",
    ),
    "a seed": (
        "def f(x): return x + np.random.default_rng(SEED).random(6)\nSEED = 5\ncheck(f, x)\n", "SEED = 5", "SEED = 6",
    ),
    "a variable of the environment": (
        "os.environ['MINE'] = 'a'\ndef f(x): return x * (2 if os.environ.get('MINE') == 'a' else 3)\ncheck(f, x)\n", "] = 'a'", "] = 'b'",
    ),
    "an argument of the command": (
        "sys.argv = ['a']\ndef f(x): return x * (2 if sys.argv[0] == 'a' else 3)\ncheck(f, x)\n", "['a']", "['b']",
    ),
    "how many cores there are": (
        "os.cpu_count = lambda: 2\ndef f(x): return x * os.cpu_count()\ncheck(f, x)\n", "lambda: 2", "lambda: 3",
    ),
    "arrays that are one": ("def f(a, b):\n    a[0] = 5\n    return a + b\ncheck(f, x, x.copy())\n", "x.copy()", "x"),
}  # fmt: skip


@pytest.mark.parametrize("made", ["hot", "{}"])
def test_a_trace_serves_no_call_that_has_changed(tmp_path, made):
    """The answers are compared with NumPy's there."""
    for text, old, _ in CHANGES.values():
        assert text.count(old) == 1, old
    before = [text for text, _, _ in CHANGES.values()]
    says(tmp_path, before, made)
    says(tmp_path, [text.replace(old, new) for text, old, new in CHANGES.values()], made)
    says(tmp_path, before, made)


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
    assert says(tmp_path, [text], TILEWRIGHT_CACHE="off") == ["followed the cache is off"]


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


ASKED = """
from head import *
import re, warnings
def g(x): return x * K
K = 2.5
@tilewright.jit
def f(x, n):
    y = g(x).copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1] if y[i] < n else 0.0
    return np.sort(y) + np.linalg.solve(np.eye(len(y)), y)
class M:
    def __init__(self): self.w = x + 1
    @tilewright.jit
    def step(self, x): return np.sqrt(x) * self.w
@tilewright.jit(strict="kernels")
def sorts(x): return np.sort(x)
@tilewright.jit
def refused(x):
    class A: pass
    return x + 1
m = M()
followed.clear()
f(x, 4.0), m.step(x)
print(followed, "tilewright._native" in sys.modules)
print(re.sub("[0-9.]+ (ns|us|ms)|[0-9]+ %", "", f.explain(source=False) + M.step.explain(source=False)))
try:
    sorts(x)
except tilewright.TraceError as error:
    print(error)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    refused(x)
print([str(one.message) for one in seen])
if "tune" in sys.argv:
    m.step.tune(x, budget=1, trials=2)
    print(M.step.specializations[0].has_own_schedule, f.debug(x, 4.0))
    print(sorted(one.name for one in f.export("f_out", force=True).iterdir()))
"""


def asked(tmp_path, data, *arguments):
    """What the script says: of its first calls, and of all else."""
    (tmp_path / "head.py").write_text(HEAD)
    (tmp_path / "asked.py").write_text(ASKED)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / data)}
    done = subprocess.run(
        [sys.executable, "asked.py", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\n")[::2]


def test_whatever_is_asked_of_a_function_is_said_of_a_kept_trace_too(tmp_path):
    """Explanations, refusals, warnings, searches, modules, and where it goes wrong."""
    first, said = asked(tmp_path, "data", "tune")
    again, said_again = asked(tmp_path, "other data", "tune")
    assert first == "['f', 'step'] True" and again == "[] False"
    assert said == said_again
    assert "nothing differs" in said and "multiply(x, K)" in said and "a class statement" in said


def test_what_a_store_has_is_known_to_later_processes_while_nothing_is_written_into_it(tmp_path):
    asked(tmp_path, "data", "tune")
    first, said = asked(tmp_path, "data")  # the store has changed: it is read
    again, said_again = asked(tmp_path, "data")
    assert (first, again) == ("[] True", "[] False")
    assert said == said_again and "the fastest of those measured" in said


def test_a_trace_serves_no_function_of_other_options(tmp_path):
    """`strict="kernels"` takes no stages, `reproducible` neither; a target and strictness change no trace."""
    text = "def f(x): return np.sort(x) * 2\nfor options in OPTIONS:\n    check(f, x, **options)\n"
    refused = "try:\n    check(f, x, strict='kernels')\nexcept tilewright.TraceError as error: print('refused')\n"
    first = "[{}, dict(contract='fast'), dict(contract='reproducible'), dict(strict=True)]"
    assert says(tmp_path, [text.replace("OPTIONS", first) + refused], "{}") == [
        "followed",
        "followed",
        "followed",
        "kept",
        "refused",
    ]
    others = "[dict(strict=True), dict(target='x86-64'), dict(background=True), {}]"
    assert says(tmp_path, [text.replace("OPTIONS", others) + refused], "{}") == [
        "kept",
        "kept",
        "kept",
        "kept",
        "refused",
    ]


def test_a_win_and_a_clear_loss_are_found_out_once_for_a_schedule_a_number_of_threads_and_a_size(tmp_path):
    text = (
        "from tilewright import comparison\nasked = []\ndef compare(*_):\n    asked.append(1)\n    return comparison.Times(1000, NUMPY)\n"
        "comparison.compare = compare\n@tilewright.jit\ndef f(x): return np.sqrt(x) * 2\nf(np.ones(SIZE))\nprint(len(asked))\n"
    )

    def asks(numpy, size=100, **environment):
        return says(tmp_path, [text.replace("NUMPY", numpy).replace("SIZE", str(size))], **environment) == ["1"]

    assert asks("900") and asks("900")  # a loss within the noise
    assert asks("1300") and not asks("1300")
    assert asks("1010", size=100_000) and not asks("1010", size=100_001)
    assert asks("1300", size=100_000, TILEWRIGHT_NUM_THREADS="1")
    assert not asks("1300")
    assert asks("700", size=5000) and not asks("700", size=5000)


LATER = {
    "another way of a branch": (
        "def f(x):\n    y = x * 2\n    if x[0] > 100:\n        with open(os.devnull) as one: y = y + len(one.read()) + 5\n"
        "    return np.sqrt(y)\nm = check(f, x)\nz = x + 1000\nassert np.allclose(m(z), f(z)), m(z)\n"
        "assert np.allclose(m(z), f(z)); assert np.allclose(m(x), f(x))\n"
    ),
    "an error that data lead to": (
        "def f(x):\n    if x.min() < 0: raise ValueError('neg')\n    return np.sqrt(x)\nm = check(f, x)\ntry: m(-x - 1)\n"
        "except ValueError as e: pass\nelse: assert 0\nassert np.allclose(m(x), f(x))\n"
    ),
    "a warning that data lead to": (
        "import warnings\ndef f(x):\n    if x.min() < 0: warnings.warn('neg')\n    return x * 2\nm = check(f, x)\n"
        "with warnings.catch_warnings(record=True) as s:\n    warnings.simplefilter('always')\n    m(-x - 1)\nassert len(s) == 1\n"
    ),
    "an argument that is written": (
        "def f(x):\n    x[0] += 1\n    return x * 2\nm = tilewright.jit(f)\n"
        "a = x.copy(); followed.clear(); m(a); assert a[0] == 1; m(a); assert a[0] == 2; print('followed' if followed else 'kept')\n"
    ),
    "an object that is changed": (
        "class M:\n    def __init__(self): self.u = np.ones(6); self.n = 0\n    @tilewright.jit\n    def step(self, x):\n"
        "        self.u = self.u + x\n        self.n += 1\n        return self.u.sum()\n"
        "m = M(); followed.clear(); m.step(x); m.step(x); assert m.n == 2 and np.allclose(m.u, 1 + 2 * x); print('followed' if followed else 'kept')\n"
    ),
    "a generator of the caller's": (
        "def f(rng, x): return x + rng.random(6)\nm = tilewright.jit(f)\nfollowed.clear()\n"
        "a = m(np.random.default_rng(5), x); assert np.array_equal(a, f(np.random.default_rng(5), x)); print('followed' if followed else 'kept')\n"
    ),
    "NumPy's own generator": (
        "def f(x): return x + np.random.rand(6)\nm = tilewright.jit(f)\nfollowed.clear()\n"
        "np.random.seed(3); a = m(x); np.random.seed(3); assert np.array_equal(a, f(x)); print('followed' if followed else 'kept')\n"
    ),
    "a generator of the module's": (
        "rng = np.random.default_rng(1)\ndef f(x): return x + rng.random(6)\nm = tilewright.jit(f)\nfollowed.clear()\n"
        "a = m(x), m(x); rng = np.random.default_rng(1); b = f(x), f(x); assert np.array_equal(a, b); print('followed' if followed else 'kept')\n"
    ),
    "a variable of a closure that is set": (
        "def made():\n    n = 0\n    @tilewright.jit\n    def f(x):\n        nonlocal n\n        n += 1\n        return x * n\n"
        "    return f, lambda: n\n"
        "f, n = made(); followed.clear(); f(x); r = f(x); assert n() == 2 and np.allclose(r, 2 * x); print('followed' if followed else 'kept')\n"
    ),
    "a global that is set": (
        "N = 0\n@tilewright.jit\ndef f(x):\n    global N\n    N += 1\n    return x * N\n"
        "followed.clear(); f(x); r = f(x); assert N == 2 and np.allclose(r, 2 * x); print('followed' if followed else 'kept')\n"
    ),
    "an array of the module's that is returned": (
        "T = np.arange(6.0)\n@tilewright.jit\ndef f(x): return T, x * T\n"
        "followed.clear(); a, b = f(x); assert a is T and np.allclose(b, x * T); print('followed' if followed else 'kept')\n"
    ),
    "a helper that is another one later": (
        "def g(x): return x + 1\n@tilewright.jit\ndef f(x): return g(x) * 2\n"
        "followed.clear(); f(x); print('followed' if followed else 'kept')\ndef g(x): return x + 5\n"
        "assert np.allclose(f(x), (x + 5) * 2)\nnp_sqrt = np.sqrt\n"
    ),
    "a function of NumPy's that is another one later": (
        "@tilewright.jit\ndef f(x): return np.sqrt(x) * 2\nfollowed.clear(); f(x); print('followed' if followed else 'kept')\n"
        "old = np.sqrt\nnp.sqrt = np.square\nassert np.allclose(f(x), x ** 2 * 2)\nnp.sqrt = old\n"
        "assert np.allclose(f(x), old(x) * 2)\n"
    ),
    "a method that is another one later": (
        "class M:\n    k = 2.0\n    def g(self, x): return x * self.k\n    @tilewright.jit\n"
        "    def f(self, x): return self.g(x) + 1\nm = M(); followed.clear(); m.f(x); print('followed' if followed else 'kept')\n"
        "M.g = lambda self, x: x * 7\nassert np.allclose(m.f(x), x * 7 + 1)\n"
    ),
    "objects that change places": (
        "class A:\n    def __init__(self, k): self.k = k\n    def __call__(self, x): return x * self.k\na, b = A(2.0), A(3.0)\n"
        "@tilewright.jit\ndef f(x): return a(x) + b(x)\n"
        "followed.clear(); assert np.allclose(f(x), 5 * x); print('followed' if followed else 'kept')\na, b = b, A(9.0)\n"
        "assert np.allclose(f(x), 12 * x)\n"
    ),
    "defaults that are other ones later": (
        "@tilewright.jit\ndef f(x, k=2.0): return x * k\nfollowed.clear(); f(x); print('followed' if followed else 'kept')\n"
        "f.__wrapped__.__defaults__ = (5.0,)\nassert np.allclose(f(x), 5 * x)\n"
    ),
}  # fmt: skip


def test_a_trace_that_was_found_does_what_a_followed_one_does(tmp_path):
    """Each of these sees to it that its calls do what Python does, also of what changes behind the first one."""
    first = dict(zip(LATER, says(tmp_path, LATER.values(), "{}"), strict=True))
    again = dict(zip(LATER, says(tmp_path, LATER.values(), "{}"), strict=True))
    assert {one.split()[0] for one in first.values()} == {"followed"}, first
    not_kept = {name for name, said in again.items() if said.startswith("followed")}
    assert not_kept == {"NumPy's own generator", "a variable of a closure that is set", "a global that is set"}, again


def test_what_goes_by_hashes_is_another_thing_in_each_process():
    def of_a_set(x):
        return [x * len(name) for name in {"a", "bb"}]  # noqa: PLC0208

    def of_a_hash(x):
        return x * hash("a")

    def of_keys(x, d, e):
        return [x * d[k] for k in d.keys() & e.keys()]

    def asks_a_set(x, name):
        return x * 2 if name in {"a", "bb"} else x

    def of_numbers(x):
        return [x * k for k in (1, 2)]

    goes = [trace_cache._goes_by_hashes(one.__code__) for one in (of_a_set, of_a_hash, of_keys, asks_a_set, of_numbers)]
    assert goes == [True, True, True, False, False]
