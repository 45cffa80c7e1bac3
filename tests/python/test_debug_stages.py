"""The oracle and debug() with stages: programs that call NumPy, in this process, in the child, and out of a dump."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.debug.oracle import UnknownOperation, evaluate
from tilewright.program import Program
from tilewright.symbolic.stages import Stage, functions_of, imported

pytestmark = pytest.mark.compile

X = np.random.default_rng(3).normal(size=3000)
Z = X[:40] + 1j * X[40:80]
MATRIX = np.random.default_rng(4).normal(size=(6, 6))


def sorted_between(x, w):
    return np.cumsum(np.sort(x * 2.0 + w) * w) + 1.0


def kept(x):
    return x[x > 0.3] * 2.0, x.max()


def spectrum(a):
    values, vectors = np.linalg.eigh(a @ a.T)
    return values * 2.0, np.abs(vectors).sum()


def roots(z):
    return np.sort(z * 2.0)[::-1] * 1j


def again_and_again(x, n):
    for _ in range(n):
        x = np.sort(x * -0.5)
    return x


def solved(a, b):
    return np.linalg.solve(a * 2.0, b)


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (sorted_between, (X, 3.0)),
    (kept, (X,)),
    (spectrum, (MATRIX,)),
    (roots, (Z,)),
    (again_and_again, (X, 3)),
    (solved, (MATRIX, MATRIX[0])),
]


@pytest.mark.parametrize(("function", "args"), CASES)
def test_the_oracle_runs_calls(function: Any, args: tuple[Any, ...]) -> None:
    specialization = tilewright.jit(function, strict=True).for_args(*args)
    values = specialization.traced.inputs(args, {})
    got = evaluate(specialization.program.text, values, functions_of(specialization.traced.stages))
    expected = function(*args)
    for one, other in zip(
        got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_oracle_names_a_stage_that_nothing_computes() -> None:
    specialization = tilewright.jit(sorted_between, strict=True).for_args(X, 3.0)
    with pytest.raises(UnknownOperation, match=r"nothing computes the stage numpy\.sort\(\$0\)$"):
        evaluate(specialization.program.text, specialization.traced.inputs((X, 3.0), {}))


@pytest.mark.parametrize(("function", "args"), CASES)
def test_debug_finds_nothing_where_nothing_is_wrong(function: Any, args: tuple[Any, ...]) -> None:
    report = tilewright.jit(function, strict=True).debug(*args)
    assert not report.differs, report.text()
    assert {step.state for step in report.steps[1:]} == {"as NumPy"}, report.text()


def test_a_dump_knows_its_stages(tmp_path: Path) -> None:
    tilewright.jit(spectrum, strict=True).debug(MATRIX, dump=tmp_path / "dump")
    for arguments in ([], ["--here"]):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "dump" / "repro.py"), *arguments],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert '"numpy.linalg.eigh"' in (tmp_path / "dump" / "case.json").read_text()
    assert 'stage "numpy.linalg.eigh($0) as r1"' in (tmp_path / "dump" / "plan.txt").read_text()


def test_what_the_function_raises_is_no_difference() -> None:
    report = tilewright.jit(solved, strict=True).debug(np.zeros((3, 3)), np.ones(3))
    assert not report.differs, report.text()


def test_texts_of_stages_may_hold_anything() -> None:
    text = 'tilewright-program 1\nfunction f "f.py"\narg x: float64[x.0]\n' + (
        r'y: float64[x.0] = call(x) {callee="g($0, \"a, (b\", [1, 2], \"\\\\\")"} @2' + "\nreturn y\n"
    )
    (operation,) = Program(text).operations
    assert operation.operands == ("x",) and operation.name == "call"
    computed = evaluate(text, {"x": X}, {r'g($0, "a, (b", [1, 2], "\\")': lambda held, x: x + 1.0})
    np.testing.assert_array_equal(computed, X + 1.0)


def test_callees_are_found_by_name() -> None:
    assert imported("numpy.linalg.eigh") is np.linalg.eigh
    assert imported("numpy.add.accumulate") == np.add.accumulate
    assert imported("numpy.ndarray.__getitem__") is np.ndarray.__getitem__
    made = Stage("numpy.sort($0)", "lambda held, a0: callee(a0)", "numpy.sort").function()
    np.testing.assert_array_equal(made({}, X), np.sort(X))
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        imported("no_such_package.sort")
    with pytest.raises(AttributeError):
        imported("numpy.no_such_function")
    with pytest.raises(ImportError, match=r"^'sort' names no function of a module$"):
        imported("sort")
