"""The NumPy tutorial on the Mandelbrot set: each of its programs as it stands, compiled, and tuned from a script to a module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
import trace_loops as tutorial
from examples import one_in
from tilewright.trace import trace

pytestmark = pytest.mark.worker

HORIZON = 2.0**40
PROGRAMS = {
    "step": 0, "mandelbrot": 1, "step_2": 0, "mandelbrot_2": 1, "step_3": 0, "mandelbrot_3": 1,
    "step_4": 1, "mandelbrot_4": 2, "visualize": 0,
}  # fmt: skip


def call_of(name: str, nx: int = 120, ny: int = 91, maxiter: int = 50) -> tuple[Any, ...]:
    """The arguments of a call, new ones each time."""
    box = (-2.25, 0.75, -1.25, 1.25, nx, ny, maxiter)
    if name.startswith("mandelbrot"):
        return (*box, getattr(tutorial, name.replace("mandelbrot", "step")), HORIZON)
    x = np.linspace(-2.25, 0.75, nx, dtype=np.float32)
    y = np.linspace(-1.25, 1.25, ny, dtype=np.float32)
    c = x + y[:, None] * 1j
    if name == "visualize":
        with np.errstate(all="ignore"):
            return (*tutorial.mandelbrot(*box, tutorial.step, HORIZON), HORIZON)
    if name in ("step_3", "step_4"):
        c = np.stack([c.real, c.imag], axis=-1)
    state = (7, c, c * np.float32(0.5), np.zeros((ny, nx), dtype=int), 2.0)
    return (*state, 10) if name == "step_4" else state


def agree(got: Any, expected: Any) -> None:
    """Counts differ in at most 0.1 % of the pixels, and numbers in the last places where the orbits are finite."""
    if not isinstance(expected, tuple):
        got, expected = (got,), (expected,)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind == "i":
            assert np.mean(one != other) <= 0.001
        else:
            near = np.isclose(one, other, rtol=1e-3, equal_nan=True) | (np.abs(other) > 1e6)
            assert np.mean(~near) < 0.02


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_compiles_as_it_stands_and_its_loops_stay_loops(name: str) -> None:
    function = getattr(tutorial, name)
    text = trace(function, call_of(name)).program_text
    assert len(re.findall(r"^ *\S.* = for \w+ in range", text, re.M)) == PROGRAMS[name]
    compiled = tilewright.jit(function, strict=True)
    for shape in ({}, {}, {"nx": 37, "ny": 300, "maxiter": 90}):
        with np.errstate(all="ignore"):
            agree(compiled(*call_of(name, **shape)), function(*call_of(name, **shape)))
    assert len(compiled.specializations) == 1


def test_any_number_of_chunks_and_of_iterations_is_one_program() -> None:
    compiled = tilewright.jit(tutorial.mandelbrot_4, strict=True)
    for maxiter in (200, 10, 70, 1000):
        call = call_of("mandelbrot_4", 40, 33, maxiter)
        with np.errstate(all="ignore"):
            agree(compiled(*call), tutorial.mandelbrot_4(*call))
    assert len(compiled.specializations) == 1
    # In step_4 the chunk is an argument.
    compiled = tilewright.jit(tutorial.step_4, strict=True)
    for chunk in (10, 50, 100, 200):
        call = (*call_of("step_4")[:-1], chunk)
        agree(compiled(*call), tutorial.step_4(*call))
    assert len(compiled.specializations) == 1


FRESH = """
import numpy as np, test_tutorial, trace_loops
import trace_loops_tuned as tuned
np.seterr(all="ignore")
call = lambda: test_tutorial.call_of({name!r})
test_tutorial.agree(tuned.{name}(*call()), trace_loops.{name}(*call()))
print("same")
"""


@pytest.mark.parametrize(("name",), one_in(2, ["mandelbrot", "step", "step_3", "mandelbrot_4", "visualize"]))
def test_autotune_makes_a_module_of_it(name: str, tmp_path: Path, data_home: Path) -> None:
    source = Path(tutorial.__file__).read_text()
    call = f"import test_tutorial\n\nif __name__ == '__main__':\n    {name}(*test_tutorial.call_of({name!r}))\n"
    if name.startswith("mandelbrot"):
        step = name.replace("mandelbrot", "step")
        call = call.replace("))\n", f")[:7], {step}, {HORIZON})\n")
    (tmp_path / "trace_loops.py").write_text(f"{source}\n\n{call}")
    here = (Path(__file__).parent, Path(__file__).parents[1] / "oracle")
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(data_home),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *map(str, here), os.environ.get("PYTHONPATH", "")]),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, env=environment,
        )  # fmt: skip

    # For one ISA level: these kernels are the largest of all tests, and take LLVM as long at each.
    done = run(
        "-m", "tilewright", "trace_loops.py", "--function", name, "--budget", "2s", "--trials", "2", "--target", "x86-64",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "result equal under contract numpy" in done.stdout
    done = run("-c", FRESH.format(name=name))
    assert done.stdout == "same\n", done.stderr
