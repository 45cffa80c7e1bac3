"""What objects hold, changed in loops, branches and tries that data decide: each statement in each of these, compiled and as it is.

python tests/python/attack_containers.py 20 --first 0
"""

from __future__ import annotations

import collections
import random
import sys
import warnings
from typing import Any

import numpy as np
import tilewright
from attack_seeds import run
from from_text import function_of
from objects_seen import seen

STATEMENTS = """
o.d['q'] += k | o.d.update(q=k) | o.d.update({'new': k}) | o.d.pop('q', None) | o.d.setdefault('new', k) | o.d.clear() | o.l.pop()
o.l.append(k) | o.l.insert(0, k) | o.l.extend([k]) | o.l += [k] | o.l.sort() | del o.l[0] | o.l[:] = [k] | o.l[0] += k | o.p.x += k
o.p.d['a'] = k | o.p.d['a'] += 1 | o.p.l[0] = x * 2 | o.p.l[0] += 1 | o.p.l[0][0] = k | o.d['p'] += 1 | o.d['p'] = x | o.d['p'][0] = k
o.d['q'] = k | o.d['new'] = k | o.l[0] = k | o.t = o.l | o.d = {'q': k} | o.l = [k] | o.p = o.p.p | o.nested['a']['b'] = k | o.ll[0][1] = k
o.ll[0].append(k) | o.count['zz'] += k | o.l[0], o.l[1] = o.l[1], o.l[0] | o.t, o.d['q'] = o.d['q'], o.t | setattr(o, 't', k)
o.p.x = o.u | o.u = o.p.l[0] | o.u = o.u[::-1] | last = o.u; o.p.x = last; last += 1
"""
WAYS = [
    "if x[0] > 1:\n        {}",
    "for i in range(len(x)):\n        if x[i] > 1:\n            {}",
    "for i in range(n):\n        {}",
    "while x[0] > 1:\n        x[0] -= 1\n        {}",
    "if x[0] > 1:\n        r = 2\n    else:\n        {}",
    "try:\n        if x[0] > 1: raise ValueError\n        {}\n    except ValueError:\n        r = 3",
]
EACH = [one.strip() for line in STATEMENTS.strip().splitlines() for one in line.split(" | ")]
CALLS = [(2, 2, 2), (-1, 0, 1), (-1, 0, 0), (3, 1, 3), (-1, 4, 0), (2, 5.0, 2)]  # the first element, k and n


class Holder:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


def made() -> Any:
    inner = Holder(x=3, d={"a": 1}, l=[np.ones(5), 2], p=None)
    return Holder(
        u=np.arange(5.0), d={"p": np.ones(2), "q": 2.0}, t=0.5, l=[1, 2.5], p=inner, nested={"a": {"b": 1}},
        ll=[[1, 2], [3]], count=collections.Counter(),
    )  # fmt: skip


def outcome(function: Any, *args: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args)
    except tilewright.Error:
        raise
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)


def attack(seed: int) -> str:
    """What differs, or ""."""
    rng = random.Random(seed)
    text = f"def f(o, x, k, n):\n    r = 1\n    {rng.choice(WAYS).format(rng.choice(EACH))}\n    return x * r\n"
    function = function_of(text)
    compiled = tilewright.jit(function, strict=rng.random() < 0.5)
    ours, theirs = made(), made()
    for call, (first, k, n) in enumerate(CALLS):
        x = np.array([first, -2.0, 0, 0, 1])
        try:
            given = outcome(compiled, ours, x.copy(), k, n)
        except tilewright.Error:
            return ""
        expected = outcome(function, theirs, x.copy(), k, n)
        if seen([ours, given]) != seen([theirs, expected]):
            return f"seed {seed}, call {call}: {text}{vars(ours)} {given}\n{vars(theirs)} {expected}"
    return ""


def main() -> int:
    return run(__doc__, attack, "programs")


if __name__ == "__main__":
    sys.exit(main())
