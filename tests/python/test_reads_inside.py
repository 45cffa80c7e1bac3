"""Compiled code reads nothing beyond its arrays: they end where memory ends, in a process of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.fast

SCRIPT = """
import ctypes, mmap
import numpy as np, tilewright
from tilewright.decorator import JitFunction

JitFunction._loses = lambda *_: False
libc = ctypes.CDLL(None, use_errno=True)


def at_the_end(values):
    # An array whose last element is followed by a page that nobody may read.
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert libc.mprotect(ctypes.c_void_p(address + page), page, 0) == 0
    array = np.frombuffer(memory, values.dtype, values.size, page - values.nbytes)
    array[...] = values
    KEPT.append(memory)
    return array


KEPT = []


def tail(x, z, k):
    y = x.copy()
    y[k[0]:] = z[k[0]:] * 0.5
    return y


def behind_two(x, z):
    y = x.copy()
    y[2:] = z[2:] * 0.5
    return y


for n in (2, 3, 100):
    for function, calls in ((tail, [[np.array([k])] for k in (n, 1, 0, n + 1)]), (behind_two, [[]])):
        jitted = tilewright.jit(function, strict=True)
        for more in calls:
            x, z = at_the_end(np.arange(float(n))), at_the_end(np.arange(float(n)) + 7)
            assert (jitted(x, z, *more) == function(x, z, *more)).all()
print("inside")
"""


def test_an_empty_part_behind_its_array_is_not_read() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout == "inside\n", f"exit {run.returncode}: {run.stderr[-2000:]}"
