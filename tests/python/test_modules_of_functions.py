"""A module of several functions: each answers as its own module would, for Python and for C, and nothing of one is taken for
another's."""

import ast
import ctypes
import json
import shutil
import subprocess

import numpy as np
import pytest
import tilewright
from test_export import run_python
from tilewright.errors import ExportError
from tilewright.export import ExportOptions, export_module
from tilewright.export.package import functions_in

pytestmark = pytest.mark.compile

X = np.array([1.0, 2.0, 4.0])  # from outside; of the same name as a parameter of other functions
X1 = np.array([8.0, 16.0, 32.0])


def doubled(x):
    """Twice as much."""
    return 2.0 * x


def with_x(y):
    return y * X + X1


def with_x1(y):
    return y * X1 - X


def ordered(x):
    return np.sort(x) * 2.0


def drawn(rng, n):
    return rng.random(n) + 1.0


def halves(x):
    n = x.size // 2
    return x[:n], x[n:] + 1.0


class Body:
    def __init__(self):
        self.mass = np.arange(1.0, 5.0)


def momentum(body, v):
    return body.mass * v


def evidence_of(folder):
    return json.loads((folder / "evidence.json").read_text())


def compiled(function, *calls):
    made = tilewright.jit(function, strict=True)
    for args in calls:
        made(*args)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    x = np.arange(8.0)
    functions = [
        compiled(doubled, (x,), (x.astype(np.float32),), (np.arange(8),)),
        compiled(with_x, (np.ones(3),)),
        compiled(with_x1, (np.ones(3),)),
        compiled(ordered, (x,)),
        compiled(drawn, (np.random.default_rng(1), 5)),
        compiled(halves, (x,)),
        compiled(momentum, (Body(), np.ones(4))),
    ]
    target = tmp_path_factory.mktemp("out") / "many"
    options = ExportOptions(targets=("x86-64",), force=True)
    return export_module(target, [(one, one.specializations) for one in functions], options)


def test_each_answers(folder):
    code = """
        import sys, types
        import numpy as np
        import many
        from many import doubled, with_x, with_x1, ordered, drawn, halves, momentum

        x = np.arange(1000.0)[::-1]
        for dtype in (float, np.float32, int):
            got = doubled(x.astype(dtype))
            assert got.dtype == (2.0 * x.astype(dtype)).dtype and np.array_equal(got, 2.0 * x.astype(dtype))
        X, X1, y = np.array([1.0, 2.0, 4.0]), np.array([8.0, 16.0, 32.0]), np.array([3.0, -1.0, 0.5])
        assert np.array_equal(with_x(y), y * X + X1) and np.array_equal(with_x1(y), y * X1 - X)
        assert np.array_equal(ordered(x), np.sort(x) * 2.0)
        assert np.array_equal(drawn(np.random.default_rng(7), 9), np.random.default_rng(7).random(9) + 1.0)
        first, second = halves(x)
        assert np.shares_memory(first, x) and np.array_equal(second, x[500:] + 1.0)
        Body = type("Body", (), {})
        body = Body()
        body.mass = np.arange(4.0)
        assert np.array_equal(momentum(body, y[:1].repeat(4)), body.mass * 3.0)
        for function, wrong in ((doubled, x + 1j), (with_x, y.astype(np.int8)), (momentum, 3)):
            try:
                function(wrong, *([x] if function is momentum else []))
            except TypeError as error:
                print(function.__name__, str(error).partition(":")[0])
        print(doubled.__doc__, [one.__module__ for one in (doubled, ordered, momentum)])
        print(many.__all__[:8], many.__doc__.splitlines()[0].partition(" by ")[0])
    """
    lines = run_python(code, folder.parent).splitlines()
    assert lines[:3] == ["doubled doubled", "with_x with_x", "momentum momentum"]
    assert lines[3] == "Twice as much. ['many', 'many', 'many']"
    names = ["doubled", "with_x", "with_x1", "ordered", "drawn", "halves", "momentum"]
    assert lines[4] == f"{[*names, 'evidence']} {', '.join(names)}, compiled"
    assert functions_in(folder) == names


def test_what_it_says_of_itself(folder):
    tree = ast.parse((folder / "__init__.pyi").read_text())
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert defined.count("doubled") == 3 and {"with_x", "momentum", "evidence"} <= set(defined)
    evidence = evidence_of(folder)
    assert {row["function"] for row in evidence["sources"]["functions"]} == set(functions_in(folder))
    assert [one.partition("(")[0] for one in evidence["signatures"]] == ["doubled"] * 3 + functions_in(folder)[1:]
    heading = (folder / "__init__.pyi").read_text()
    assert "# with_x: No function for C: the arrays from outside that it reads would have to be arguments." in heading
    assert "# doubled: " not in heading
    assert [p.name for p in sorted(folder.glob("*.npy"))] == ["X-3.npy", "X-4.npy", "X1-3.npy", "X1-4.npy"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc builds the program that calls the library")
def test_one_library_for_c(folder, tmp_path):
    header = (folder / "kernels.h").read_text()
    named = evidence_of(folder)["c_functions"]
    assert {"doubled", "doubled_f32", "doubled_i64", "drawn", "momentum"} == set(named), named
    assert all(f" {name}(" in header for name in named)
    shared = tmp_path / "shared.so"
    subprocess.run(
        ["gcc", "-shared", "-o", shared, "-Wl,--whole-archive", folder / "libkernels.a", "-Wl,--no-whole-archive",
         "-lpthread", "-ldl", "-lm"], check=True,
    )  # fmt: skip
    library = ctypes.CDLL(str(shared))
    assert all(hasattr(library, name) for name in named)


def test_functions_that_fall_back_do_so_each_by_itself(tmp_path):
    def clipped(x):
        if x.ndim == 3:
            raise ValueError("three dimensions")
        return np.clip(x, 0.0, 1.0)

    def halved(x):
        return x / 2

    first, second = tilewright.jit(clipped), tilewright.jit(halved, strict=True)
    first(np.ones(3))
    first(np.array(["a"], object)[:0].astype(float))
    second(np.ones(3))
    first._refused["by hand"] = tilewright.TraceError("by hand.")
    options = ExportOptions(targets=("x86-64",), allow_fallback=True)
    folder = export_module(tmp_path / "two", [(one, one.specializations) for one in (first, second)], options)
    code = """
        import numpy as np
        from two import clipped, halved
        assert np.array_equal(clipped(np.arange(3, dtype=np.int8)), np.clip(np.arange(3, dtype=np.int8), 0.0, 1.0))
        assert np.array_equal(halved(np.ones(3)), [0.5] * 3)
        try:
            halved(np.arange(3, dtype=np.int8))
        except TypeError:
            print("refused")
    """
    assert run_python(code, tmp_path) == "refused\n"
    assert "but of clipped, where it runs in NumPy" in (folder / "__init__.pyi").read_text()


def test_what_one_module_cannot_have(tmp_path):
    def other():
        def doubled(x):
            return 3.0 * x

        return doubled

    pair = [compiled(doubled, (np.ones(3),)), compiled(other(), (np.ones(3),))]
    with pytest.raises(ExportError, match=r"two of its functions are called doubled\. Write a module for each\."):
        export_module(tmp_path / "m", [(one, one.specializations) for one in pair], ExportOptions())
    assert not (tmp_path / "m").exists()


def test_a_module_does_not_lose_a_function(tmp_path):
    one, two = compiled(doubled, (np.ones(3),)), compiled(ordered, (np.ones(3),))
    options = ExportOptions(targets=("x86-64",), replace_own=True)
    export_module(tmp_path / "m", [(one, one.specializations), (two, two.specializations)], options)
    with pytest.raises(ExportError, match="it has ordered, which a module of doubled would not have"):
        export_module(tmp_path / "m", [(one, one.specializations)], options)
    assert functions_in(tmp_path / "m") == ["doubled", "ordered"]
