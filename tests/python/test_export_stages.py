"""Modules of functions with stages: they import what computes these by name, and say so."""

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from test_export import run_python
from tilewright.errors import ExportError

pytestmark = pytest.mark.compile

X = np.random.default_rng(3).normal(size=20_000)
MATRIX = np.random.default_rng(4).normal(size=(6, 6))


def sorted_between(x, w):
    """Sorted, and summed up."""
    y = np.sort(x * 2.0 + w)
    return np.add.accumulate(y * w) + 1.0


def kept(x):
    return x[x > 0.3] * 2.0


def spectrum(a):
    values, vectors = np.linalg.eigh(a @ a.T)
    return values * 2.0, np.abs(vectors).sum()


def solved(a, b, mode="plain"):
    if mode == "twice":
        return np.linalg.solve(a * 2.0, b) * 2.0
    return np.linalg.solve(a + 0.0, b) * 2.0


def scaled(x, wide):
    return np.sort(x) * 3.0 if wide else x * 3.0


def roots(z):
    return np.sort(z * 2.0)[::-1] * 1j


def in_a_list(x, n):
    parts = []
    k = 0
    while k < n:
        y = x * k
        if y.sum() > 0:
            parts.append(y[k % 7 :])
        k += 1
    return parts[0], parts[len(parts) // 2]


def picked(x, seed):
    rng = np.random.default_rng(seed)
    first = x[rng.choice(len(x), 5, replace=False)]
    return first, rng.permutation(x)[::2] + first.sum()


def exported(function: Any, calls: list[tuple[Any, ...]], folder: Path, **options: Any) -> Path:
    compiled = tilewright.jit(function, strict=True, db=folder / "db")
    for args in calls:
        compiled.for_args(*args)
    return compiled.export(folder / f"{function.__name__}_tuned", **{"targets": ("x86-64",), **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("out")
    exported(sorted_between, [(X, 3.0)], made)
    exported(kept, [(X,)], made)
    exported(spectrum, [(MATRIX,)], made)
    exported(solved, [(MATRIX, MATRIX[0], "plain"), (MATRIX, MATRIX[0], "twice")], made)
    exported(scaled, [(X, True), (X, False)], made)
    exported(roots, [(X[:50] + 1j,)], made)
    exported(in_a_list, [(X[:50] ** 2, 80)], made)
    exported(picked, [(X, 3)], made)
    return made


@pytest.mark.parametrize(
    ("function", "args"),
    [(sorted_between, (X, 3.0)), (kept, (X,)), (spectrum, (MATRIX,)), (solved, (MATRIX, MATRIX[0], "twice")),
     (scaled, (X, True)), (scaled, (X, False)), (roots, (X[:50] + 1j,)), (in_a_list, (X[:50] ** 2, 90)), (picked, (X, 4))],
)  # fmt: skip
def test_a_module_computes_what_the_function_does(function: Any, args: tuple[Any, ...], folder: Path) -> None:
    given = folder / "given.npz"
    np.savez(given, **{f"a{k}": a for k, a in enumerate(args)})  # type: ignore[arg-type]
    name = function.__name__
    run_python(
        f"""
        import numpy as np
        from {name}_tuned import {name}
        given = np.load({str(given)!r})
        args = [given[key] if given[key].ndim else given[key].item() for key in given.files]
        result = {name}(*args)
        np.savez({str(folder / "result.npz")!r}, *(result if isinstance(result, tuple) else (result,)))
        """,
        folder,
    )
    expected = function(*args)
    found = np.load(folder / "result.npz")
    for key, one in zip(found.files, expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(found[key], one, rtol=1e-9)
        assert found[key].dtype == one.dtype


def test_it_says_what_python_computes(folder: Path) -> None:
    module = folder / "sorted_between_tuned"
    evidence = json.loads((module / "evidence.json").read_text())
    line = sorted_between.__code__.co_firstlineno
    assert evidence["needs"] == ["numpy"]
    assert evidence["stages"] == [
        {
            "stage": "numpy.sort($0)",
            "callee": "numpy.sort",
            "why": "np.sort(); kernels sort along axes of at most 16 elements, a known number, and no complex ones",
            "line": line + 2,
        },
        {
            "stage": "numpy.add.accumulate($0)",
            "callee": "numpy.add.accumulate",
            "why": "np.add.accumulate(); no kernel computes it but of add, multiply, maximum and minimum along an axis of several",
            "line": line + 3,
        },
    ]
    said = (
        "# Needs NumPy alone.\n"
        "# Between kernels Python computes numpy.sort($0), numpy.add.accumulate($0).\n"
        "# No function for C: what computes numpy.sort($0), numpy.add.accumulate($0) is Python's.\n"
    )
    assert said in (module / "__init__.pyi").read_text()
    assert not (module / "kernels.h").exists() and not (module / "libkernels.a").exists()
    printed = run_python(
        "import sorted_between_tuned as m; print(m.evidence()['stages'][0]['callee'], m.__doc__)", folder
    )
    assert printed.startswith("numpy.sort sorted_between, compiled by tilewright")


def test_it_imports_by_name(folder: Path) -> None:
    text = (folder / "sorted_between_tuned" / "_stages.py").read_text()
    assert "    from numpy import sort as _callee0\n" in text
    assert "    from numpy import add as _callee1\n    _callee1 = _callee1.accumulate\n" in text
    assert "    from numpy.linalg import eigh as _callee0\n" in (folder / "spectrum_tuned" / "_stages.py").read_text()


def test_what_is_missing_is_named(folder: Path) -> None:
    printed = run_python(
        """
        import numpy.linalg
        del numpy.linalg.eigh
        try:
            import spectrum_tuned
        except ImportError as error:
            print(error)
        """,
        folder,
    )
    assert printed.startswith(
        "spectrum: its stage numpy.linalg.eigh($0) as r1 needs numpy.linalg.eigh, which cannot be imported: cannot import name "
        "'eigh' from 'numpy.linalg'"
    ) or printed.startswith(
        "spectrum: its stage numpy.linalg.eigh($0) needs numpy.linalg.eigh, which cannot be imported:"
    )
    assert printed.endswith(f". Install numpy ({np.__version__} had it).\n")


def test_what_a_stage_raises_is_its_own_error(folder: Path) -> None:
    """In a module of several signatures too, which takes a ValueError for a refusal."""
    printed = run_python(
        """
        import numpy as np
        from solved_tuned import solved
        for mode in ("plain", "twice"):
            try:
                solved(np.zeros((3, 3)), np.ones(3), mode)
            except np.linalg.LinAlgError as error:
                print(type(error).__name__, error)
        try:
            solved(np.zeros((3, 3)), np.ones(3), "thrice")
        except ValueError as error:
            print(error)
        """,
        folder,
    )
    *raised, refused = printed.splitlines()
    assert raised == ["LinAlgError Singular matrix"] * 2
    assert refused.startswith("solved: mode is 'thrice', but this module was made for mode='plain'.")


def test_arrays_of_a_size_from_data_are_in_the_stub(folder: Path) -> None:
    stub = (folder / "kept_tuned" / "__init__.pyi").read_text()
    assert "def kept(x: NDArray[np.float64]) -> NDArray[np.float64]:\n" in stub
    assert '"""kept(x: float64[:]) -> float64[:]"""' in stub


def test_c_has_the_signatures_without_stages(folder: Path, tmp_path: Path) -> None:
    module = folder / "scaled_tuned"
    header = (module / "kernels.h").read_text()
    assert header.count("int scaled(") == 1
    assert (
        "\n/* scaled(x: float64[:]) -> float64[:] has no function here: numpy.sort($0) is computed in Python. */\n"
        in header
    )
    source = tmp_path / "use.c"
    source.write_text(
        textwrap.dedent("""
        #include "kernels.h"
        int main(void) { return 0; }
        """)
    )
    done = subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Werror", "-I", str(module), "-c", str(source), "-o", str(tmp_path / "use.o")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_no_module_can_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tilewright.jit(sorted_between, strict=True)
    compiled.for_args(X, 3.0)
    with pytest.raises(ExportError) as caught:
        compiled.export(tmp_path / "on_device", targets=("host", "cuda"))
    assert str(caught.value) == (
        "sorted_between: its stage numpy.sort($0) is computed by NumPy, on the host, and the module is to have code for CUDA "
        "devices. Export it with --target host, or leave the call out of the function."
    )
    stages = compiled.for_args(X, 3.0).traced.stages
    object.__setattr__(stages["numpy.sort($0)"], "name", "numpy.sort_of_mine")
    with pytest.raises(ExportError) as caught:
        compiled.export(tmp_path / "unnamed")
    assert str(caught.value) == (
        "sorted_between: its stage numpy.sort($0) is computed by a function that no module finds under the name "
        "numpy.sort_of_mine. Define it at the top of a module that can be imported, or leave the call out of the function."
    )
    assert not list(tmp_path.iterdir())


def test_files_of_stages_are_checked_as_all_others(folder: Path, tmp_path: Path) -> None:
    import shutil  # noqa: PLC0415

    copy = tmp_path / "kept_tuned"
    shutil.copytree(folder / "kept_tuned", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "_stages.py").write_text((copy / "_stages.py").read_text() + "\n")
    printed = run_python(
        """
        try:
            import kept_tuned
        except ImportError as error:
            print(error)
        """,
        tmp_path,
    )
    assert printed == (
        f"{os.path.realpath(copy)}/_stages.py: it is damaged: its bytes are not those that were written. Copy the module here "
        "again, or export it again.\n"
    )
