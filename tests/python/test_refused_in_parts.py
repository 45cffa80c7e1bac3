"""Functions that are refused as a whole, under `autotune run`: what is array code in them is compiled, the rest is Python's."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest
from tilewright import hot_functions
from tilewright.hot_functions import HotFunction
from tilewright.record.parts import in_parts
from tilewright.record.regions import regions_of
from tilewright.record.script_text import ScriptText
from tilewright.trace_cache import Known

pytestmark = pytest.mark.compile

TEXT = """
import enum
import numpy as np
class State(enum.IntEnum):
    WELL = 0
    ILL = 1
SAID = []
def pairs(state, house, shown):
    for who in np.flatnonzero(state == State.ILL):
        family = np.flatnonzero((house == house[who]) & (state == State.WELL) & (house > 0))
        if len(family) == 0:
            continue
        shown[int(who)] = family.tolist()
        SAID.append(str(who))
    return len(shown)
class Town:
    __size = 3
    def __init__(self, n):
        self.x = np.arange(float(n))
    def step(self, times=2, *, scale=1.5):
        for k in range(times):
            change = np.abs(self.x[1:] - self.x[:-1]).max() * scale + self.__size
            print("step", k, change)
            if change > 100:
                raise ValueError(f"too large: {change}")
            self.x[1:] += self.x[:-1] * 0.5 + change * 0.25
        return self.x.sum()
def around(n):
    def inner(x):
        for k in range(n):
            y = np.sqrt(x[1:] * 2 + x[:-1]) + k
            print(y.sum())
    return inner
def rest(x):
    return [str(k) for k in x]
"""


@pytest.fixture
def module(tmp_path):
    (tmp_path / "in_parts_of.py").write_text(TEXT)
    spec = importlib.util.spec_from_file_location("in_parts_of", tmp_path / "in_parts_of.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules["in_parts_of"] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules["in_parts_of"]


@pytest.fixture
def taken():
    """Regions as they are called, without being compiled."""
    names = []

    def take(region, function):
        names.append(region.name)
        setattr(builtins, region.name, region.function(function.__globals__, function.__code__.co_filename))

    take.names = names
    yield take
    for name in names:
        delattr(builtins, name)


def test_a_function_in_parts_does_what_it_did(module, taken, capsys):
    state, house = np.array([0, 1, 0, 1, 0, 0]), np.array([1, 1, 2, 2, 1, 2])
    parts = in_parts(module.pairs, taken)
    assert len(taken.names) == 1 and taken.names[0] in parts.__code__.co_names
    found = [{}, {}]
    assert parts(state, house, found[0]) == module.pairs(state, house, found[1]) == 2
    assert found[0] == found[1] == {1: [0, 4], 3: [2, 5]} and module.SAID == ["1", "3"] * 2
    assert (parts.__name__, parts.__qualname__) == ("pairs", "pairs")

    step = in_parts(module.Town.step, taken)
    ours, theirs = module.Town(5), module.Town(5)
    for given in ({}, {"times": 3}, {"scale": 0.5}):
        assert step(ours, **given) == theirs.step(**given)
        said = capsys.readouterr().out.split("\n")[:-1]
        assert said[: len(said) // 2] == said[len(said) // 2 :]
        assert np.array_equal(ours.x, theirs.x)


def test_errors_have_the_lines_of_the_function(module, taken):
    step = in_parts(module.Town.step, taken)
    shown = []
    for function in (step, module.Town.step):
        town = module.Town(4)
        town.x[-1] = np.inf
        try:
            function(town)
        except ValueError as error:
            shown.append(
                (
                    str(error),
                    [(one.name, one.lineno, one.line) for one in traceback.extract_tb(error.__traceback__)][1:],
                )
            )
    assert shown[0] == shown[1]
    with pytest.raises(TypeError, match="unexpected keyword"):
        step(module.Town(4), none=1)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'x'"):
        step(3)


def test_functions_without_parts(module, taken):
    assert in_parts(module.rest, taken) is None
    assert in_parts(module.around(3), taken) is None  # it reads what its own function around it has
    assert in_parts(eval("lambda x: x + 1"), taken) is None
    there = {}
    exec(
        "import numpy as np\ndef f(x):\n    for k in range(3):\n        y = np.sqrt(x[1:] * 2 + x[:-1]) + k\n        print(y)",
        there,
    )
    assert in_parts(there["f"], taken) is None  # no file has it
    assert taken.names == []


def test_a_file_that_has_changed_has_no_parts(module, taken, tmp_path):
    (tmp_path / "in_parts_of.py").write_text(TEXT.replace("0.25", "0.125"))
    assert in_parts(module.Town.step, taken) is None


def test_members_of_classes_are_read_in_regions_and_nothing_is_called_there():
    def regions(body):
        text = f"import numpy as np\nclass S:\n    A = 1\ndef g(x):\n    return x\ndef f(x, y):\n{textwrap.indent(body, '    ')}"
        tree = ast.parse(text)
        return [ast.unparse(one.node.body[0]) for one in regions_of(tree.body[-1], ScriptText(tree), "R")]

    loop = "for k in range(3):\n    {}\n    print(z)"
    assert regions(loop.format("z = np.sqrt(x[1:] * S.A + y[1:] * 2 + k)")) == [
        "z = np.sqrt(x[1:] * S.A + y[1:] * 2 + k)"
    ]
    for text in (
        "S.A(x[1:]) + y[1:] * 2 + np.sqrt(x)",
        "g(x[1:]) + y[1:] * 2 + np.sqrt(x)",
        "np.sqrt(x[1:] * 2 + y[1:]) + S",
    ):
        assert regions(loop.format(f"z = {text}")) == []


def test_what_an_earlier_process_was_refused_runs_in_parts_from_the_first_call_on(monkeypatch):
    monkeypatch.setattr(HotFunction, "keeps_traces", True)
    ran = []
    for known, wanted in (
        ("open() is Python's", 1),
        (f"{hot_functions._IN_PARTS} (a dict)", 1),
        ("", 0),
        (f"{hot_functions.LOST_IN_SEARCH} takes", 0),
    ):
        monkeypatch.setattr(HotFunction, "_known_traces", lambda *_, known=known: Known([], known, {}, 0.0))
        ran.clear()
        hot = HotFunction(lambda x: x / 2, lambda _: True, lambda *_: lambda x: ran.append(x) or x / 4)
        for _ in range(3):
            assert hot(8.0) == (2.0 if wanted else 4.0)
        assert len(ran) == 3 * wanted


SCRIPT = """
import numpy as np
from enum import IntEnum
class State(IntEnum):
    WELL = 0
    ILL = 1
class Town:
    def __init__(self, n, rng):
        self.house, self.state = rng.integers(0, n // 3, n), np.zeros(n, dtype=int)
        self.state[:: 9] = State.ILL
        self.rng = rng
    def spread(self, seen):
        new = 0
        for who in np.flatnonzero(self.state == State.ILL):
            family = np.flatnonzero((self.house == self.house[who]) & (self.state == State.WELL) & (self.house > 1))
            if len(family) == 0:
                continue
            caught = family[self.rng.random(len(family)) < 0.5]
            if len(caught):
                seen.setdefault(int(caught[0]), []).append(str(who))
                new += len(caught)
        return new
def main():
    town, seen = Town(20_000, np.random.default_rng(1)), {}
    for day in range(24):
        print(day, town.spread(seen), len(seen))
main()
"""


def test_a_script_says_the_same_in_each_run(tmp_path):
    (tmp_path / "town.py").write_text(SCRIPT)
    run = [sys.executable, "-m", "tilewright", "run"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    texts = [
        subprocess.run([*command, "town.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        for command in ([sys.executable], run, run, run)
    ]
    assert {one.stdout for one in texts} == {texts[0].stdout} and texts[0].stdout.count("\n") == 24


OF_A_FILE = """
import numpy as np
def resample(w, rs):
    n = len(w)
    pos = (np.arange(n) + rs.rand()) / n
    c = np.cumsum(w)
    idx = np.zeros(n, dtype=int)
    i = j = 0
    while i < n:
        if pos[i] < c[j]:
            idx[i] = j
            i += 1
        else:
            j += 1
    return idx
"""


@pytest.mark.parametrize(("line", "regions"), [(5, ["lines_6_to_14"]), (11, ["lines_4_to_8"]), (0, ["lines_4_to_8"])])
def test_loops_beside_the_line_that_is_refused_are_regions(tmp_path, line, regions):
    file = tmp_path / "of_a_file.py"
    file.write_text(OF_A_FILE)
    names = {}
    exec(compile(OF_A_FILE, str(file), "exec"), names)
    found = []
    in_parts(names["resample"], lambda region, _: found.append(region.node.name), f"{file}:{line}, in resample: a draw")
    assert [one for one in found if "_to_" in one] == regions, found


def test_a_script_is_known_by_whatever_path_it_is_called(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "s.py").write_text(
        "import numpy as np\nfrom tilewright.trace_cache import digest_of\n"
        "def f(x):\n    return np.sqrt(x) + 1\nprint(digest_of(f))\n"
    )
    said = {
        subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for path in ("s.py", "inner/../s.py", str(tmp_path / "s.py"))
    }
    assert len(said) == 1
