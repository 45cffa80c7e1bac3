"""An exported module: what is in it, what it accepts, and that it needs NumPy alone."""

import ast
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

ONE_LEVEL = ("x86-64",)  # each takes as long as the first
WEIGHTS = np.array([1.0, 2.0, 4.0])


def labels(X, means):
    """Nearest mean."""
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def weighted(x, scale=2.0):
    return x[:, None] * WEIGHTS + scale


def points(n):
    return np.random.default_rng(n).standard_normal((n, 2))


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A folder with labels_tuned in it, for two levels."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))
    folder = tmp_path_factory.mktemp("out")
    f = tilewright.jit(labels, strict=True)
    f(points(50_000), points(2))
    f.export(folder / "labels_tuned", targets=("x86-64-v3",), wheel=True)
    return folder


def run_python(code, folder, *, isolated=True, **environment):
    """In a process that finds NumPy and the folder, and nothing of tilewright."""
    site = os.path.dirname(os.path.dirname(np.__file__))
    blocker = "import sys\nfor name in ('tilewright', 'halide'):\n    sys.modules[name] = None\n" if isolated else ""
    start = f"{blocker}import sys\nsys.path[:0] = [{str(folder)!r}, {site!r}]\n"
    done = subprocess.run(
        [sys.executable, "-S", "-c", start + textwrap.dedent(code)],
        env={**{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}, **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_inside(module):
    folder = module / "labels_tuned"
    names = {p.name for p in folder.iterdir()}
    assert {
        "__init__.py",
        "__init__.pyi",
        "py.typed",
        "_face.abi3.so",
        "objects",
        "schedules",
        "evidence.json",
        "LICENSES",
    } <= names
    assert {p.name for p in (folder / "LICENSES").iterdir()} == {"halide.txt", "tilewright.txt"}
    for schedule in (folder / "schedules").iterdir():
        assert schedule.read_text().startswith("tilewright-schedule 1\n")
    evidence = json.loads((folder / "evidence.json").read_text())
    assert evidence["isa_levels"][-1] == "x86-64" and "x86-64-v3" in evidence["isa_levels"]
    assert evidence["signatures"][0] == "labels(X: float64[:, :], means: float64[:, :]) -> int64[:]"
    ast.parse((folder / "__init__.pyi").read_text())
    assert list(module.glob("labels_tuned-*-cp311-abi3-manylinux_2_*_x86_64.whl"))


def test_it_answers_with_numpy_alone(module):
    code = """
        import numpy as np
        from labels_tuned import labels
        def reference(X, means):
            return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)
        rng = np.random.default_rng(0)
        for n in (0, 1, 5, 100, 4097, 99_999, 300_000):
            for k in (1, 2, 3):
                for d in (2, 3):
                    X, means = rng.standard_normal((n, d)), rng.standard_normal((k, d))
                    for A in (X, np.asfortranarray(X), X[::-1], X[::2]):
                        for B in (means, np.asfortranarray(means)):
                            assert np.array_equal(labels(A, B), reference(A, B)), (n, k, d, A.strides)
        assert labels([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0]]).tolist() == [0, 0]
        import sys
        print([m for m, found in sys.modules.items() if found and ("halide" in m or m.startswith("tilewright"))])
    """
    assert run_python(code, module) == "[]\n"


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_lower_levels_answer_too(module, level):
    """A machine of that level, which takes the first version that it can run."""
    code = """
        import numpy as np
        from labels_tuned import labels
        rng = np.random.default_rng(0)
        for n in (1, 100, 99_999):
            X, means = rng.standard_normal((n, 2)), rng.standard_normal((3, 2))
            assert np.array_equal(labels(X, means), np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0))
        print("right")
    """
    assert run_python(code, module, TILEWRIGHT_ISA=level) == "right\n"


def test_what_it_refuses(module):
    code = """
        import numpy as np
        from labels_tuned import labels
        X = np.ones((10, 2))
        for bad in (X.astype(np.int64), X[0], np.ma.masked_array(X), np.matrix(X), X.astype(object), "text", X + 1j):
            try:
                labels(bad, X)
            except TypeError as error:
                print(error)
            else:
                raise SystemExit("accepted")
        try:
            labels(X, np.ones((2, 3)))
        except ValueError as error:
            print(error)
        try:
            labels(X, X[:0])
        except ValueError as error:
            print(error)
    """
    lines = run_python(code, module).splitlines()
    assert len(lines) == 9
    assert "X is int64[10, 2], but this module takes" in lines[0]
    assert "masked array" in lines[2] and "numpy.matrix" in lines[3]
    assert "attempt to get argmin of an empty sequence" in lines[8]


def test_it_looks_like_the_function(module):
    code = """
        import inspect
        import labels_tuned
        from labels_tuned import labels
        print(labels.__name__, labels.__doc__, inspect.signature(labels), labels.__module__)
        print(labels_tuned.evidence()["functions"], labels_tuned.__doc__.splitlines()[0])
    """
    lines = run_python(code, module).splitlines()
    assert lines[0] == "labels Nearest mean. (X, means, *, out=None) labels_tuned"
    assert lines[1] == f"['labels'] labels, compiled by tilewright {tilewright.__version__}."


def test_import_is_cheap_and_runs_nothing(module):
    """It loads itself and what its files are checked with (NumPy is there), and enters few functions of its own: no clock
    is needed to see it."""
    code = """
        import numpy, sys
        before = set(sys.modules)
        entered = []
        sys.setprofile(lambda frame, event, arg: entered.append(frame.f_code) if event == "call" else None)
        import labels_tuned
        sys.setprofile(None)
        print(*sorted(name for name in set(sys.modules) - before if not name.startswith("labels_tuned")))
        print(sum("labels_tuned" in code.co_filename for code in entered))
    """
    others, own = run_python(code, module).split("\n")[:2]
    assert others in ("binascii", "")
    assert int(own) < 250  # two for each file, one for each 64 KiB


def test_arrays_from_outside_travel_with_the_module(tmp_path):
    f = tilewright.jit(weighted, strict=True)
    f(np.arange(10_000.0))
    f.export(tmp_path / "weighted_tuned", targets=ONE_LEVEL)
    code = """
        import inspect
        import numpy as np
        from weighted_tuned import weighted
        x = np.arange(50.0)
        w = np.array([1.0, 2.0, 4.0])
        assert np.array_equal(weighted(x), x[:, None] * w + 2.0)
        assert np.array_equal(weighted(x, 3.0), x[:, None] * w + 3.0)
        assert np.array_equal(weighted(x=x, scale=4.0), x[:, None] * w + 4.0)
        print(inspect.signature(weighted))
    """
    assert run_python(code, tmp_path) == "(x, scale=2.0, *, out=None)\n"


def test_a_module_for_two_dtypes(tmp_path):
    f = tilewright.jit(weighted, strict=True)
    f(np.arange(100.0))
    f(np.arange(100, dtype=np.int16))
    f.export(tmp_path / "weighted_tuned", targets=ONE_LEVEL)
    code = """
        import numpy as np
        from weighted_tuned import weighted
        for dtype in (np.float64, np.int16):
            x = np.arange(50).astype(dtype)
            assert np.array_equal(weighted(x), x[:, None] * np.array([1.0, 2.0, 4.0]) + 2.0)
        print("right")
    """
    assert run_python(code, tmp_path) == "right\n"


def test_a_fixed_axis_is_part_of_the_module(tmp_path):
    @tilewright.jit(strict=True)
    def largest(x, axis=0):
        return x.max(axis=axis)

    largest(np.ones((300, 200)), axis=1)
    largest.export(tmp_path / "largest_tuned", targets=ONE_LEVEL)
    code = """
        import numpy as np
        from largest_tuned import largest
        x = np.arange(6.0).reshape(2, 3)
        print(largest(x, axis=1).tolist())
        try:
            largest(x)
        except ValueError as error:
            print(error)
    """
    assert (
        run_python(code, tmp_path)
        == "[2.0, 5.0]\nlargest: the function was traced where axis == 1, but it is 0. Tune it with such arguments too.\n"
    )


def test_two_modules_live_in_one_process(module, tmp_path):
    f = tilewright.jit(weighted, strict=True)
    f(np.arange(10_000.0))
    f.export(module / "weighted_tuned", force=True, targets=ONE_LEVEL)
    code = """
        import numpy as np
        import labels_tuned, weighted_tuned
        X = np.random.default_rng(0).standard_normal((100_000, 2))
        print(labels_tuned.labels(X, X[:2])[:2].tolist(), weighted_tuned.weighted(X[:, 0].copy()).shape)
        print(labels_tuned._face is weighted_tuned._face)
    """
    assert run_python(code, module) == "[0, 1] (100000, 3)\nFalse\n"


# ---- writing ----------------------------------------------------------------------------------------------------------


def test_an_existing_folder_stays(tmp_path):
    f = tilewright.jit(weighted, strict=True)
    f(np.arange(100.0))
    target = tmp_path / "w_tuned"
    target.mkdir()
    (target / "mine").write_text("precious")
    with pytest.raises(tilewright.ExportError) as error:
        f.export(target, targets=ONE_LEVEL)
    assert str(error.value) == f"{target}: exists. Give --force to overwrite it, or another --out."
    assert (target / "mine").read_text() == "precious"
    f.export(target, force=True, targets=ONE_LEVEL)
    assert not (target / "mine").exists() and (target / "__init__.py").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["w_tuned"]


def test_own_folder_is_known_until_it_is_edited(tmp_path):
    from tilewright.export.package import is_own_and_unchanged

    f = tilewright.jit(weighted, strict=True)
    f(np.arange(100.0))
    target = f.export(tmp_path / "w_tuned", targets=ONE_LEVEL)
    assert is_own_and_unchanged(target)
    (target / "notes.txt").write_text("a person's")
    assert not is_own_and_unchanged(target)


def test_what_cannot_be_exported(tmp_path, monkeypatch):
    f = tilewright.jit(weighted)
    with pytest.raises(tilewright.ExportError, match="nothing was compiled yet"):
        f.export(tmp_path / "w_tuned", targets=ONE_LEVEL)
    f(np.arange(100.0))
    with pytest.raises(tilewright.ExportError, match="is not a Python identifier"):
        f.export(tmp_path / "w-tuned")
    with pytest.raises(tilewright.ExportError, match="'arm64' is not known"):
        f.export(tmp_path / "w_tuned", targets=("arm64",))
    monkeypatch.setattr("tilewright.export.exported.MAX_SAVED_BYTES", 8)
    with pytest.raises(tilewright.ExportError, match="Pass WEIGHTS as an argument"):
        f.export(tmp_path / "w_tuned", targets=ONE_LEVEL)
    assert list(tmp_path.iterdir()) == []

    @tilewright.jit
    def described(x):
        return x * memoryview(x).nbytes

    with pytest.warns(tilewright.FallbackWarning):
        described(np.arange(10.0))
    with pytest.raises(tilewright.ExportError):
        described.export(tmp_path / "described_tuned")


# ---- C ----------------------------------------------------------------------------------------------------------------

C_PROGRAM = """
#include <stdio.h>
#include "kernels.h"
int main(void) {
    double points[] = {0.1, 0.2, 9.0, 9.5, 0.0, 1.0, 8.0, 7.0}, centers[] = {0.0, 0.0, 9.0, 9.0};
    int64_t labels_of[4];
    struct tw_array X = tw_contiguous(points, TW_FLOAT64, 2, (int64_t[]){4, 2});
    struct tw_array means = tw_contiguous(centers, TW_FLOAT64, 2, (int64_t[]){2, 2});
    struct tw_array out = tw_contiguous(labels_of, TW_INT64, 1, (int64_t[]){4});
    if (labels(&X, &means, &out) != TW_OK) { puts(tw_last_error()); return 1; }
    printf("%d%d%d%d\\n", (int)labels_of[0], (int)labels_of[1], (int)labels_of[2], (int)labels_of[3]);
}
"""


def test_a_c_program_calls_the_exported_function(tmp_path):
    f = tilewright.jit(labels, strict=True)
    f(points(50_000), points(2))
    folder = f.export(tmp_path / "labels_tuned", targets=ONE_LEVEL)
    (tmp_path / "main.c").write_text(C_PROGRAM)
    command = ["gcc", "-o", "main", "main.c", f"-I{folder}", f"-L{folder}", "-lkernels", "-lpthread", "-ldl", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == "0101\n"


def once(x):
    return x + 1.0


def twice(x):
    return x + 2.0


def applied(x, step, n=3):
    for _ in range(n):
        x = step(x)
    return x


def test_a_module_takes_the_functions_that_it_was_made_for_and_no_others(tmp_path):
    f = tilewright.jit(applied, strict=True)
    x = np.arange(1000.0)
    f(x, once, 5)
    f.export(tmp_path / "applied_once", targets=ONE_LEVEL)
    f(x, twice, 5)
    f.export(tmp_path / "applied_both", targets=ONE_LEVEL)
    code = f"""
        import sys
        sys.path[:0] = [{str(Path(__file__).parent)!r}]
        import numpy as np
        import applied_once, applied_both
        from test_export import once, twice, applied
        x = np.arange(500.0)
        assert np.array_equal(applied_once.applied(x, once), applied(x, once))
        assert np.array_equal(applied_once.applied(x, n=7, step=once), applied(x, once, 7))
        for function in (once, twice):
            assert np.array_equal(applied_both.applied(x, function), applied(x, function))
        for module, function in ((applied_once, twice), (applied_both, np.sqrt), (applied_both, lambda x: x), (applied_once, 3), (applied_once, None)):
            try:
                module.applied(x, function)
            except TypeError as error:
                assert "but this module was made for the function once as it was then" in str(error), error
            else:
                raise AssertionError(function)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment, cwd=tmp_path)


def with_function(x, op):
    return op(x) * 1.5 + SHIFT + COUNT


SHIFT, COUNT = 2.5, 3


def test_a_module_says_which_function_it_was_made_for(tmp_path, monkeypatch):
    x = np.linspace(0.1, 0.9, 3000)
    f = tilewright.jit(with_function, strict=True)
    f(x, np.sqrt)
    f.export(tmp_path / "rooted", targets=ONE_LEVEL)
    monkeypatch.setitem(globals(), "SHIFT", 7.0)  # a module has the numbers of its export
    code = """
        import numpy as np
        from rooted import with_function
        x = np.linspace(0.1, 0.9, 500)
        assert np.array_equal(with_function(x, np.sqrt), np.sqrt(x) * 1.5 + 2.5 + 3)
        for other in (np.square, np.sum, 5, None):
            try:
                with_function(x, other)
            except TypeError as error:
                print(str(error).replace(repr(other), "OTHER"))
    """
    said = "with_function: op is OTHER, but this module was made for numpy.sqrt. Tune the function with that one too.\n"
    assert run_python(code, tmp_path) == 4 * said


def test_a_module_takes_partial_functions_and_closures_as_they_are_made(tmp_path, monkeypatch):
    import functools
    import importlib

    (tmp_path / "closures.py").write_text(
        "def scaled(k):\n    return lambda v: v * k\n\ndef shifted(k):\n    return lambda v: v + k\n\ndef f(x, op):\n"
        "    return op(x) * 1.5\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    closures = importlib.import_module("closures")
    x = np.linspace(0.1, 0.9, 3000)
    for name, op in (("of_partial", functools.partial(np.sum, axis=0)), ("of_closure", closures.scaled(2.0))):
        f = tilewright.jit(closures.f, strict=True)
        f(x, op)
        f.export(tmp_path / name, targets=ONE_LEVEL)
    code = """
        import functools
        import numpy as np
        import closures, of_closure, of_partial
        x = np.linspace(0.1, 0.9, 500)
        assert np.allclose(of_partial.f(x, functools.partial(np.sum, axis=0)), np.sum(x) * 1.5)
        assert np.allclose(of_closure.f(x, closures.scaled(7.0)), x * 7 * 1.5)
        calls = (of_partial, functools.partial(np.max, axis=0)), (of_partial, np.sum), (of_closure, closures.shifted(2.0))
        for module, op in calls:
            try:
                module.f(x, op)
            except TypeError as error:
                print(str(error).replace(repr(op), "OTHER").replace(repr(getattr(op, "func", "")), "OTHER"))
    """
    assert run_python(code, tmp_path) == (
        "f: op.func is OTHER, but this module was made for numpy.sum. Tune the function with that one too.\n"
        "f: op is a _ArrayFunctionDispatcher, but this module was made for a partial.\n"
        "f: op is OTHER, but this module was made for the function <lambda> as it was then. Tune the function with that one too.\n"
    )
