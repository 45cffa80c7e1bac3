"""Searches for functions with loops and in-place writes: verified, stored, exported; the module answers in a fresh process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in
from tilewright import datasets
from tilewright.program import Program
from tilewright.trace import trace

pytestmark = pytest.mark.worker

FUNCTIONS = '''
import numpy as np

def relax(iterations, A, B):
    """in place"""
    for t in range(iterations):
        B[1:-1, 1:-1] = 0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])
        A[1:-1, 1:-1] = B[1:-1, 1:-1]

def mandelbrot(nx, ny, maxiter, horizon=2.0):
    """pixelwise"""
    X = np.linspace(-2.25, 0.75, nx, dtype=np.float32)
    Y = np.linspace(-1.25, 1.25, ny, dtype=np.float32)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        I = np.abs(Z) < horizon
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N

def settle(x, least):
    """while"""
    iterations = 0
    while np.max(x) > least:
        x = x * 0.5
        iterations += 1
    return x, iterations

FIELD = np.random.default_rng(3).random((201, 155))
CALLS = {
    "relax": lambda: (11, FIELD.copy(), FIELD.copy()),
    "mandelbrot": lambda: (120, 91, 40),
    "settle": lambda: (FIELD * 100.0, 0.001),
}
'''
FRESH = """
    import sys
    import numpy as np
    import {module}, script
    assert not any(name.partition(".")[0] == "tilewright" for name in sys.modules)
    ours, theirs = script.CALLS[{name!r}](), script.CALLS[{name!r}]()
    got, expected = {module}.{name}(*ours), script.{name}(*theirs)
    for one, other in zip((*ours, *(got or ())), (*theirs, *(expected or ())), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape
        if {name!r} == "mandelbrot":  # NumPy rounds products of complex numbers as this machine's vector units do
            assert np.mean(~np.isclose(one, other, rtol=1e-3)) < 0.02
        else:
            assert np.array_equal(one, other)
    print("same")
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "XDG_DATA_HOME": str(folder / "data"), "COLUMNS": "200", **environment},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["relax", "mandelbrot", "settle"])
def test_from_the_script_to_a_module_in_a_fresh_process(name: str, tmp_path: Path, data_home: Path) -> None:
    # Each level takes LLVM as long as the first.
    target = () if name == "relax" else ("--target", "x86-64")
    (tmp_path / "script.py").write_text(f"{FUNCTIONS}\nif __name__ == '__main__':\n    {name}(*CALLS[{name!r}]())\n")
    done = run(
        tmp_path, "-m", "tilewright", "script.py", "--function", name, "--budget", "2s", "--trials", "3", *target
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: NumPy " in done.stdout and "result equal under contract numpy" in done.stdout
    code = textwrap.dedent(FRESH.format(name=name, module="script_tuned"))
    done = run(tmp_path, "-c", code)
    assert done.stdout == "same\n", done.stderr
    if name != "relax":
        return  # what follows is no other matter for other loops
    done = run(tmp_path, "-m", "tilewright", "show", "script.py", "--function", name)
    assert done.returncode == 0, done.stderr
    assert "loops of the program:" in done.stdout and "why this schedule: the fastest" in done.stdout
    done = run(tmp_path, "-m", "tilewright", "run", "script.py")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^  {name} +1 ", done.stderr, re.M) and "script.py: " in done.stderr


def relax(iterations: int, a: Any, b: Any) -> None:
    for _ in range(iterations):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = b[1:-1]


def count_large(a: Any, limit: float) -> int:
    a *= 2.0
    return int((a > limit).sum())


def test_the_callers_arrays_are_never_written(tmp_path: Path) -> None:
    f = tilewright.jit(relax, strict=True, db=tmp_path / "store")
    a, b = np.random.default_rng(1).random((2, 5000))
    kept = a.copy(), b.copy()
    result = f.tune(7, a, b, budget=5.0, trials=3)
    assert result.complete and np.array_equal(a, kept[0]) and np.array_equal(b, kept[1])
    relax(7, *kept)
    f(7, a, b)
    assert np.array_equal(a, kept[0]) and np.array_equal(b, kept[1])


def test_strided_arguments_and_python_numbers(tmp_path: Path) -> None:
    f = tilewright.jit(count_large, strict=True, db=tmp_path / "store")
    memory = np.random.default_rng(1).random((300, 90))
    a, other = memory[:, ::3], memory.copy()
    result = f.tune(a, 1.0, budget=5.0, trials=2)
    assert result.complete and np.array_equal(memory, other)
    assert f(a, 1.0) == count_large(other[:, ::3], 1.0)
    assert np.array_equal(memory, other)


def test_a_schedule_by_hand_with_a_chunk(tmp_path: Path, data_home: Path) -> None:
    (tmp_path / "script.py").write_text(f"{FUNCTIONS}\nmandelbrot(*CALLS['mandelbrot']())\n")
    # For one ISA level: the kernel is large, and takes LLVM as long at each.
    tune = ["-m", "tilewright", "script.py", "--function", "mandelbrot", "--target", "x86-64", "--budget"]
    done = run(tmp_path, *tune, "2s", "--trials", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    (best,) = (tmp_path / "script_tuned" / "schedules").glob("*tuned*")
    lines = best.read_text().splitlines()
    for (width,) in one_in(2, ("16", "4")):
        changed = [
            line.split(".split(n,")[0] + f".split(n, no, ni, {width}).unroll(ni)" if ".split(n," in line else line
            for line in lines
        ]
        assert changed != lines
        (tmp_path / "by_hand.tws").write_text("\n".join(changed) + "\n")
        done = run(tmp_path, *tune, "5s", "--schedule", "by_hand.tws")
        assert done.returncode == 0, done.stderr
        assert "mandelbrot: your schedule " in done.stdout and "wrong answer" not in done.stdout, done.stdout


C_PROGRAM = """
#include <stdio.h>
#include "kernels.h"
int main(void) {
    double a[7] = {1, 2, 4, 8, 16, 32, 64}, b[7] = {0};
    struct tw_array A = tw_contiguous(a, TW_FLOAT64, 1, (int64_t[]){7});
    struct tw_array B = tw_contiguous(b, TW_FLOAT64, 1, (int64_t[]){7});
    if (relax(3, &A, &B) != TW_OK) { puts(tw_last_error()); return 1; }
    for (int i = 0; i < 7; ++i) printf("%.17g ", a[i]);
}
"""


def test_a_c_program_calls_a_function_that_writes_in_a_loop(tmp_path: Path) -> None:
    f = tilewright.jit(relax, strict=True)
    a, b = np.random.default_rng(1).random((2, 5000))
    f(3, a, b)
    folder = f.export(tmp_path / "relax_tuned", targets=("x86-64",))
    (tmp_path / "main.c").write_text(C_PROGRAM)
    command = ["gcc", "-o", "main", "main.c", f"-I{folder}", f"-L{folder}", "-lkernels", "-lpthread", "-ldl", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    a, b = 2.0 ** np.arange(7), np.zeros(7)
    relax(3, a, b)
    got = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert [float(text) for text in got.split()] == a.tolist()


# ---- data ---------------------------------------------------------------------------------------------------------------


def reference(function: Any, *args: Any) -> tuple[datasets.Reference, Any, Program]:
    traced = trace(function, args)
    program = Program(traced.program_text)
    return datasets.Reference(function, traced, program), traced, program


def until_small(x: Any) -> Any:
    while not np.max(x) < 1.0:  # NaN is never less
        x = x * 0.5
    return x


def test_data_on_which_numpy_does_not_end_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "_DERIVED_S", 0.2)
    x = np.full(100, 5.0)
    numpy, _, _ = reference(until_small, x)
    with_nan = x.copy()
    with_nan[-1] = np.nan
    start = time.monotonic()
    assert numpy.is_fit(datasets.Call("special", (with_nan,), {})) is None
    assert numpy.is_fit(datasets.Call("recorded", (x,), {})) is not None
    assert time.monotonic() - start < 60


def test_a_function_that_hides_the_stop_is_stopped_all_the_same() -> None:
    def stubborn() -> int:
        try:
            while True:
                pass
        except BaseException:  # noqa: BLE001
            return 1

    with pytest.raises(datasets.TookTooLong):
        datasets.call_within(0.1, stubborn)
    assert datasets.call_within(5.0, lambda: 3) == 3


def doubled(x: Any, n: int) -> int:
    total = int(x[0])
    for _ in range(n):
        total = total * 2
    return total


def test_a_call_that_only_numpy_serves_is_refused_with_words(tmp_path: Path) -> None:
    f = tilewright.jit(doubled, db=tmp_path / "store")
    with pytest.raises(tilewright.Error, match="an int beyond 64 bits, so only NumPy can run it. Tune it"):
        f.tune(np.array([3]), 90, budget=1.0)


def grid(nx: int, ny: int, iterations: int) -> Any:
    total = np.linspace(0.0, 1.0, nx) + np.linspace(0.0, 1.0, ny)[:, None]
    for _ in range(iterations):
        total = total * 0.5
    return total


def rows(n: int, a: Any) -> None:
    for i in range(1, n):
        a[i] += a[i - 1]


def test_integers_that_are_sizes_or_iterations_are_cut_with_the_data() -> None:
    numpy, traced, program = reference(grid, 3000, 2000, 5000)
    (calls, *_) = datasets.derived_calls(traced, program, datasets.Call("recorded", (3000, 2000, 5000), {}))
    nx, ny, iterations = calls[0].args
    assert 64 <= nx < 3000 and 64 <= ny < 2000 and nx % 2 == ny % 2 == 1 and 100 <= iterations < 200
    answer = numpy.is_fit(calls[0])
    assert answer is not None and answer.results[0].shape == (ny, nx)

    a = np.ones((400, 300))
    numpy, traced, program = reference(rows, 400, a)
    (calls, *_) = datasets.derived_calls(traced, program, datasets.Call("recorded", (400, a), {}))
    assert calls[0].args[0] == calls[0].args[1].shape[0] < 400
    assert numpy.is_fit(calls[0]) is not None
    answer = numpy.answer(datasets.Call("recorded", (400, a), {}))
    assert answer.results == () and np.array_equal(answer.written["a"][:, 0], np.arange(1.0, 401.0))
    assert np.all(a == 1)


def smoothed(x, iterations):
    y = x.copy()
    for _ in range(iterations):
        y[1:-1] = (y[:-2] + y[2:]) * 0.5
    return y


def test_what_keeps_halides_autoschedulers_from_a_loop_is_told(tmp_path: Path) -> None:
    f = tilewright.jit(smoothed, strict=True, db=str(tmp_path / "store.sqlite3"))
    result = f.tune(np.arange(20000.0), 20, budget=60.0, trials=3)
    told = [note for note in result.raw["notes"] if "2019" in note or "2016" in note or "2018" in note]
    assert len(told) == 3
    for note in told:
        assert "a loop of the program decides the size" in note
        assert note.endswith("Nothing needs to be done: the search goes on with its own schedules.")
