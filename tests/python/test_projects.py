"""Scripts as people write them, tuned as a new user would: plain functions, a class, a package under src/, several hot functions."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from examples import one_in

pytestmark = pytest.mark.worker

# Each level of a module takes as long as the first.
ONE_LEVEL = ("--target", "x86-64")
BUILD = ("--build-only", *ONE_LEVEL)
PROJECTS = Path(__file__).parent / "projects"


class Place:
    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder.parent / "data"), "COLUMNS": "200"}
        self.environment.pop("TILEWRIGHT_DB", None)

    def run(self, *arguments, code=0):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    def autotune(self, *arguments, code=0):
        return self.run("-m", "tilewright", *arguments, code=code)


@pytest.fixture
def place(tmp_path, data_home):
    shutil.copytree(PROJECTS, tmp_path / "projects")
    return Place(tmp_path / "projects")


def table_of(err):
    """function -> its own share of the time, in percent, and what becomes of it: the table that says where the time went."""
    lines = err.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("where the script's"))
    rows = {}
    for line in lines[start + 2 :]:
        found = re.match(r"  (\S+(?: \(line \d+\))?) +(?:\d+ +)?[\d.]+ \w+ +(?:\d+ %)? +(\d+) %(?:  (.*))?$", line)
        if found is None:
            break
        rows[found[1]] = int(found[2]), found[3] or ""
    return rows


def checksum(text):
    return re.search(r"checksum \S+", text)[0]


CASES = [
    ("functions.py", ["diffuse"], ["cool"], {"main", "elsewhere"}),
    ("methods.py", ["Cluster.accelerations"], ["Cluster.run", "Cluster.step"], {"main"}),
    ("src_layout/scripts/run.py", ["advance", "energy"], ["simulate"], {"main"}),
    ("several.py", ["blur", "edges", "normalized", "row_statistics", "brightest"], ["track", "film"], {"main"}),
]


@pytest.mark.parametrize(("script", "for_module", "without", "others"), CASES, ids=[c[0] for c in CASES])
def test_a_project_is_tuned(place, script, for_module, without, others):
    out, err = place.autotune(script, "--budget", "5s", "--trials", "2", *ONE_LEVEL)
    table = table_of(err)
    assert set(table) >= {*for_module, *others}
    # Which of them take long is this run's matter: a pause of the machine may fall into any call.
    tuned = [name for name, (_, fate) in table.items() if fate == "chosen"]
    assert tuned and set(tuned) <= {*for_module, *without}
    names = [name.rpartition(".")[2] for name in tuned if name in for_module]
    lines = out.splitlines()
    module = f"{Path(script).stem}_tuned"
    head, _, imported = lines[0].partition(" import ")
    assert head == f"wrote {place.folder}/{module}: from {module}"
    assert sorted(imported.split(", ")) == sorted(names)
    for name in names:
        (line,) = (line for line in lines if line.startswith(f"{name}: NumPy "))
        assert "result equal under contract numpy" in line
    told = place.run("-c", f"import {module}; print(sorted(set({module}.__all__) & set({names})))")[0]
    assert told == f"{sorted(names)}\n"


def test_a_script_runs_with_its_tuned_methods_in_place(place):
    plain, _ = place.run("methods.py")
    place.autotune("methods.py", "--budget", "5s", "--trials", "2")
    patched, err = place.autotune("run", "--before", "methods.py")
    assert checksum(patched) == checksum(plain)
    # The method around it that sets attributes, which no module has, is the one that is compiled.
    assert re.search(r"^  Cluster\.(run|step) +\d+ .*x  (tuned|default schedule: the fastest of .*)$", err, re.M), err


def test_a_module_of_a_method_takes_the_object(place):
    place.autotune("methods.py", *BUILD)
    code = """
import numpy as np
from methods import Cluster, Settings
from methods_tuned import accelerations
cluster = Cluster.plummer(200, 3, Settings())
assert np.allclose(accelerations(cluster), cluster.accelerations(), rtol=1e-12)
cluster.positions = cluster.positions[:50]
cluster.masses = cluster.masses[:50]
assert np.allclose(accelerations(cluster), cluster.accelerations(), rtol=1e-12)
class Other:
    positions = cluster.positions
for wrong in (Other(), None, 3):
    try:
        accelerations(wrong)
    except TypeError as error:
        print(error)
del cluster.masses
try:
    accelerations(cluster)
except TypeError as error:
    print(error)
"""
    out, _ = place.run("-c", code)
    assert out.splitlines() == [
        "accelerations: self is a Other, but this module was made for a Cluster.",
        "accelerations: self is a NoneType, but this module was made for a Cluster.",
        "accelerations: self is a int, but this module was made for a Cluster.",
        "accelerations: self is a Cluster with no attribute masses, which this module reads.",
    ]


@pytest.mark.parametrize(("name",), one_in(2, ["Cluster.unit", "unit"]))
def test_a_static_method_is_asked_for_by_name(place, name):
    out, _ = place.autotune("methods.py", *BUILD, "--function", name)
    assert out.splitlines()[0] == f"wrote {place.folder}/methods_tuned: from methods_tuned import unit"


def test_a_function_of_a_dictionary_of_arrays(place):
    place.autotune("several.py", *BUILD, "--function", "normalized")
    code = """
import numpy as np
from several import normalized, row_statistics
from several_tuned import normalized as tuned
frame = np.random.default_rng(0).standard_normal((50, 60))
assert np.array_equal(tuned(row_statistics(frame), frame), normalized(row_statistics(frame), frame))
import inspect
print(inspect.signature(tuned))
for wrong in ({"mean": frame[0]}, [frame[0], frame[0]]):
    try:
        tuned(wrong, frame)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
"""
    out, _ = place.run("-c", code)
    assert out.splitlines() == [
        "(stats, frame, *, out=None)",
        "ValueError normalized: stats has the keys ['mean'], but this module was made for ['mean', 'spread'], in this order.",
        "TypeError normalized: stats is a list, but this module was made for a dict.",
    ]


WRAPPERS = """
import functools
import numpy as np

def counted(function):
    calls = []
    WRAPS
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@counted
def soften(x, amount=2.0):
    return np.sqrt(x * x + amount)

x = np.linspace(0.0, 1.0, 200_000)
for _ in range(3):
    soften(x, amount=3.0)
"""


@pytest.mark.parametrize("wraps", ["", "@functools.wraps(function)"], ids=["plain", "wraps"])
def test_a_decorated_function_is_exported_under_its_own_name(place, wraps):
    (place.folder / "wrapped.py").write_text(WRAPPERS.replace("WRAPS", wraps))
    out, _ = place.autotune("wrapped.py", *BUILD)
    assert out.splitlines()[0] == f"wrote {place.folder}/wrapped_tuned: from wrapped_tuned import soften"
    code = """
import numpy as np
from wrapped_tuned import soften
x = np.linspace(0.0, 1.0, 1000)
assert np.array_equal(soften(x, amount=3.0), np.sqrt(x * x + 3.0))
assert np.array_equal(soften(x, amount=0.5), np.sqrt(x * x + 0.5))
"""
    place.run("-c", code)
