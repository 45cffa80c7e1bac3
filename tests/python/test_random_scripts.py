"""Scripts that `run` compiles print, write and raise what Python's do: random ones, and those that such ones were made smaller to."""

from __future__ import annotations

import traceback
import types

import pytest
from attack_scripts import Ended, attack, compared, difference
from shrunk_scripts import shrunk
from tilewright.own_frames import leave_out_ours
from tilewright.record.left_alone import why_left_alone

pytestmark = pytest.mark.worker

KNOWN_BY_IDENTITY = """
import numpy as np
def relu(x): return np.maximum(x, 0)
def same(x): return x
class Layer:
    def __init__(self, act=relu): self.act = act
    def forward(self, x): return self.act(x) + (1 if self.act is relu else 0)
NAMES = {relu: 'relu', same: 'same'}
layers, x, total = [Layer(), Layer(same)], np.linspace(-1, 1, 4), 0.0
for i in range(1100):
    for layer in layers: total += layer.forward(x).sum()
print(total, [NAMES.get(layer.act) for layer in layers], NAMES.get(relu), relu in NAMES)
"""
WITH_ATTRIBUTES = """
import functools
import numpy as np
def counted(function):
    @functools.wraps(function)
    def wrapped(*args):
        wrapped.calls += 1
        return function(*args)
    wrapped.calls = 0
    return wrapped
@counted
def h(x): return x + 1
def f(x):
    f.calls += 1
    return x * 2
f.calls = 0
def cached(n):
    if n not in cached.cache: cached.cache[n] = np.arange(n).sum()
    return cached.cache[n]
cached.cache = {}
x = np.ones(9)
for i in range(700): y = h(f(x)) + cached(i % 7)
print(f.calls, h.calls, len(cached.cache), y)
"""
DEEP = """
import numpy as np
def f(n, a): return a if n == 0 else f(n - 1, a) + 1
class C:
    def g(self, n): return 0 if n == 0 else 1 + self.g(n - 1)
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
print(f(700, np.ones(2)), C().g(700), even(700))
for n in (5, 300, 700): print(f(n, np.ones(2)), C().g(n))
"""
ONE_ARRAY = """
import numpy as np
A = np.linspace(-1, 2, 9)
def f(a):
    a *= 0.9
    A[1] = 5
    return a[1]
for i in range(6): print(f(A), f(A * 2), f(A[::-1]), A)
"""


MODULE = """
import numpy as np
def relu(x): return np.maximum(x, 0)
def twice(x): return x * 2
class Layer:
    def __init__(self, act=relu, also=twice): self.act, self.also = act, also
    def forward(self, x): return self.act(self.also(x))
"""
OF_A_MODULE = """
import sys
from pathlib import Path
Path("layers.py").write_text(MODULE)
import numpy as np
from layers import Layer, relu, twice
layer, x, total = Layer(), np.linspace(-1, 1, 4), 0.0
for i in range(700): total += layer.forward(x).sum() * (2 if layer.act is relu else 3)
print(total, layer.also == twice, twice in {layer.also: 1}, [relu, twice].index(layer.also), sys.argv)
""".replace("MODULE", repr(MODULE))


@pytest.mark.parametrize("script", [OF_A_MODULE, KNOWN_BY_IDENTITY, WITH_ATTRIBUTES, DEEP, ONE_ARRAY])
def test_a_script_does_what_it_does_in_python(script):
    assert compared(script) == ""


@pytest.mark.parametrize("seed", [0, 57, 171])
def test_a_random_script_does_what_it_does_in_python(seed):
    assert attack(seed) == ""


def test_what_differs_is_said():
    wanted = Ended(0, "a 1.0\nb\n", "", {"log.txt": "2"})
    assert difference(Ended(0, "a 1.0000000001\nb\n", "", {"log.txt": "2"}), wanted) == ""
    assert difference(Ended(0, "a 1.1\nb\n", "", {}), wanted) == "line 1 of the output: a 1.1\n    wanted: a 1.0"
    assert difference(Ended(0, "a 1.0\n", "", {}), wanted) == "lines of the output: 1, wanted 2: b; "
    assert difference(Ended(1, "a 1.0\nb\n", "ValueError: x", {}), wanted) == "exit code 1, wanted 0; ValueError: x"
    assert difference(Ended(0, "a 1.0\nb\n", "", {}), wanted) == "files [], wanted ['log.txt']"
    assert difference(Ended(0, "a 1.0\nb\n", "", {"log.txt": "3"}), wanted) == "file log.txt"


def test_a_script_is_made_smaller_while_it_stays_wrong():
    text = "def f():\n    a = 1\n    bad()\nfor i in range(3):\n    x = i\n    if x:\n        f()\nend = 2\n"
    assert shrunk(text, lambda one: "bad()" in one and "f()" in one) == "def f():\n    bad()"


def test_functions_that_are_used_as_objects_are_left_alone(tmp_path):
    def left(text, *names):
        file = tmp_path / f"s{len(list(tmp_path.iterdir()))}.py"
        file.write_text(text)
        space = {"__name__": "s"}
        exec(compile(text, str(file), "exec"), space)
        return [
            why_left_alone(space[name], name) != "" for name in names if isinstance(space[name], types.FunctionType)
        ]

    text = "def f(): pass\ndef g(): pass\ndef loss(): pass\nf.calls = 0\ndef main(x):\n    loss = x\n    return loss.mean()\n"
    assert left(text, "f", "g", "loss") == [True, False, False]
    assert left("def f(): f.n = 1\ndef g(h):\n    h.step.calls = 1\ndef step(): pass\n", "f", "g", "step") == [
        True,
        False,
        True,
    ]
    text = (
        "def f(): pass\ndef g(): pass\ndef h(): pass\ndef main(g, x=f):\n    return x is f, g is x, h is None, h == x\n"
    )
    assert left(text, "f", "g", "h") == [True, False, False]
    assert left("import inspect\ndef f(): pass\nprint(inspect.signature(f))\n", "f") == [False]
    assert left("import inspect\ndef f(): return inspect.stack()\n", "f") == [True]
    assert left("import numpy as np\ndef f(x): return np.stack([x, x])\n", "f") == [False]
    assert left("import sys\ndef f(x): return sys._getframe(1)\ndef g(): pass\n", "f", "g") == [True, True]


@pytest.mark.parametrize(("raises", "wanted"), [("f0()", ["f", "f0"]), ("1 / 0", ["f"])])
def test_statements_that_run_as_functions_have_no_frames_of_their_own(raises, wanted):
    space = {}
    text = f"def f0(): raise KeyError(1)\ndef lines_3_to_4(): {raises}\ndef f(): lines_3_to_4()\n"
    exec(compile(text, "of_a_user.py", "exec"), space)
    try:
        space["f"]()
    except (KeyError, ZeroDivisionError) as error:
        leave_out_ours(error)
        steps = traceback.extract_tb(error.__traceback__)
    assert [one.name for one in steps if one.filename == "of_a_user.py"] == wanted
