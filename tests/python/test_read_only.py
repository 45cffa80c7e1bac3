"""Arrays that NumPy lets nobody write: what a branch, a loop, a list or Python's statements make of them may not be written either."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from from_text import function_of

pytestmark = pytest.mark.compile

MADE = {
    "branch": "    if x[0] > 0:\n        v = y.copy()\n    else:\n        v = np.broadcast_to(x[:1], (len(y),))",
    "ternary": "    v = x.imag if x[0] > 0 else y.copy()",
    "diagonal": "    v = np.outer(x, y)\n    v = np.diagonal(v) if x[0] > 0 else v[0].copy()",
    "loop": "    v = np.broadcast_to(x[:1], (len(x),))\n    for i in range(k):\n        y = y + 1\n        v = v[::-1]",
    "swapped": "    v, w = y.copy(), np.broadcast_to(x[:1], (len(y),))\n    for i in range(k):\n        v, w = w, v",
    "picked": "    v = [np.broadcast_to(x[:1], (len(x),)), y.copy()][int(x[0] > 0)]",
    "listed": "    l = []\n    for i in range(k):\n        l.append(np.broadcast_to(x[:1], (len(x),)))\n    v = l[1]",
    "given": "    v = kept(x)",
}
OF_THE_CALLER = {
    "whole": "    v = x",
    "part": "    v = x[1:]",
    "in_a_dict": "    v = {'a': x}['a']",
    "chosen": "    if x[0] > 0:\n        v = y.copy()\n    else:\n        v = x",
    "turned": "    v = x\n    for i in range(k):\n        y = y + 1\n        v = v[::-1]",
}
WRITES = ["v[0] = 3\n    return v * 2", "v += 1\n    return v * 2", "return v, y * 2", "log(v)\n    return v * 2",
          "listed([v])\n    return y * 2", "try:\n        log(v)\n    except ValueError:\n        y = y + 100\n    return y * 2"]  # fmt: skip
HELPERS = """def log(v):
    for j in range(len(v)):
        v[j] = v[j]

def listed(arrays):
    arrays[0][0] = arrays[0][0]

def kept(x):
    v = np.array([float(str(x[0]))] * 3)
    v.flags.writeable = False
    return v

def f(x, y, k):
"""


def outcome(function: Any, first: float, is_read_only: bool) -> list[Any]:
    x, y = np.full(64, first), np.arange(64.0)
    x.flags.writeable = not is_read_only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(x, y, 3)
        except ValueError as error:
            return [str(error), x.tolist()]
    results = result if type(result) is tuple else (result,)
    return [[(one.tolist(), one.flags.writeable, np.shares_memory(one, x)) for one in results], x.tolist()]


@pytest.mark.parametrize("write", WRITES, ids=range(len(WRITES)))
@pytest.mark.parametrize("made", MADE)
def test_what_the_function_makes_read_only_stays_so(made, write):
    function = function_of(f"{HELPERS}{MADE[made]}\n    {write}\n")
    compiled = tilewright.jit(function)
    for first in (1.0, -1.0, 1.0, -1.0, 2.0):
        assert outcome(compiled, first, False) == outcome(function, first, False)


@pytest.mark.parametrize("write", WRITES[1:], ids=range(1, len(WRITES)))
@pytest.mark.parametrize("made", OF_THE_CALLER)
def test_arrays_of_the_caller_are_read_only_where_they_are(made, write):
    function = function_of(f"{HELPERS}{OF_THE_CALLER[made]}\n    {write}\n")
    compiled = tilewright.jit(function)
    for first, is_read_only in (
        *itertools.product((1.0, -1.0), (False, True)),
        (1.0, True),
        (-1.0, True),
        (2.0, False),
    ):
        assert outcome(compiled, first, is_read_only) == outcome(function, first, is_read_only)


@pytest.mark.parametrize("made", ["chosen", "turned", "while", "diagonal", "swapped"])
def test_flags_say_whether_it_may_be_written(made):
    """Which the caller's array decides, where data decide that it is this one."""
    in_a_while = "    v, i = x, 0\n    while x[i] * i < 2:\n        v = x[None][0]\n        i += 1"
    body = {**MADE, **OF_THE_CALLER, "while": in_a_while}[made]
    function = function_of(f"{HELPERS}{body}\n    return y * (2 if v.flags.writeable else 3)\n")
    compiled = tilewright.jit(function)
    for first, is_read_only in ((1.0, False), (1.0, False), (1.0, True), (0.5, True), (0.5, False)):
        assert outcome(compiled, first, is_read_only) == outcome(function, first, is_read_only)
