"""A Python with the fake CUDA driver of tests/runtime/cuda: device memory is host memory, kernels do nothing."""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from tilewright import _face

ROOT = Path(__file__).resolve().parents[2]

needs_device = pytest.mark.skipif(bool(_face.no_device_reason()), reason=f"no device: {_face.no_device_reason()}")


@functools.lru_cache(maxsize=1)
def fake_driver() -> Path:
    """libcuda_fake.so: TILEWRIGHT_FAKE_LIBCUDA, else built here and now."""
    given = os.environ.get("TILEWRIGHT_FAKE_LIBCUDA")
    if given:
        return Path(given)
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler for the fake driver, and no TILEWRIGHT_FAKE_LIBCUDA")
    library = Path(tempfile.mkdtemp(prefix="tilewright-fake-")) / "libcuda_fake.so"
    source = ROOT / "tests/runtime/cuda/fake_driver.cpp"
    command = [compiler, "-std=c++20", "-shared", "-fPIC", "-O1", f"-I{ROOT}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def run_python(
    script: str, *, driver: Path | None = None, folder: Path | None = None, cwd: Path | None = None, **environment: str
) -> str:
    """Runs a script in a Python of its own and gives what it prints. Without `driver` there is none at all."""
    values = {**os.environ, **environment, "TILEWRIGHT_LIBCUDA": str(driver or "/nonexistent/libcuda.so.1")}
    with tempfile.TemporaryDirectory() as own:
        file = Path(folder or own) / "child.py"
        file.write_text(textwrap.dedent(script))
        command = [sys.executable, str(file)]
        done = subprocess.run(command, env=values, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_fake(script: str, **environment: str) -> str:
    """run_python() on two fake devices."""
    return run_python(PRELUDE + textwrap.dedent(script), driver=fake_driver(), **environment)


PRELUDE = """\
import numpy as np
import tilewright
from tilewright import _face

class Foreign:
    '''An array of a library that is not known, with an interface and nothing else.'''
    def __init__(self, array, stream=None, read_only=False, typestr=None):
        self.array, self.stream, self.read_only, self.typestr = array, stream, read_only, typestr
    @property
    def __cuda_array_interface__(self):
        told = dict(self.array.__cuda_array_interface__)
        told['stream'] = self.stream
        told['data'] = (told['data'][0], self.read_only)
        if self.typestr: told['typestr'] = self.typestr
        return told

class Capsule:
    '''An array that speaks DLPack alone.'''
    def __init__(self, array): self.array, self.streams = array, []
    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)
    def __dlpack_device__(self): return self.array.__dlpack_device__()

def refused(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError('nothing was raised')

def calls_of(call, times=1):
    before = _face.driver_calls()
    for _ in range(times): call()
    after = _face.driver_calls()
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}

@tilewright.jit(target='cuda')
def f(x, y):
    return x * 2 + y

x = np.arange(12.0).reshape(3, 4)
"""
