"""Helpers that do in later calls what no call before did, of which some were watched: they keep, change, give and raise.

python tests/python/attack_later_calls.py 20 --first 0
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy as np
import tilewright
from attack_seeds import run
from from_text import function_of
from objects_seen import seen

LATER = """
OUT.append(x) | OUT.append(x[1:]) | OUT.append((x, n)) | OUT.append({1: [x]}) | OUT.append(x[None]) | OUT.append(OUT[:]) | OUT.clear()
MEMO[n] = x | MEMO['v'] = x[::-1] | MEMO['k'] = x; raise ValueError(t) | o.best = x | o.best = x; return x | o.pair = (x, t) | o.u = x
o.u[0] = t | o.u += 1 | o.u.sort() | o.u, o.best = x, o.u | o.l.append(x) | o.l.pop() | o.l[0] = x | o.d['x'] = x | o.d.clear()
o.n += 1 | del o.n | o.n = x.sum() | vars(o)['w'] = x | GA[0] = t | x[0] = t | x += 1 | x.sort() | x.shape = (len(x), 1)
x.flags.writeable = False | raise KeyError('k') | 1 / 0 | x[99] = 1 | return x | return x[1:] | return x[::-1] | return x.copy()
return None | return t | return 1 | return x.sum() | return np.float32(2) | return [x] | return (x, t) | return x.astype(np.float32)
return GA[:2] | return o.u | return o | return np.zeros(0) | return x > 0 | return {'a': x} | return 2**70
x = x * 2; OUT.append(x); return x | x = x * 2; o.best = x[1:]; return x | x, o.u = o.u, x; return x
"""
BEFORE = ["t * 2", "x * t", "x.sum()", "x[1:].copy()", "float(x[0]) + o.n", "None", "len(OUT) + x", "x"]
USES = """
y = x * 2; u = helper(x, t, n, o); return y, u | y = x * 2; u = helper(y, t, n, o); return y + 1, u | helper(x, t, n, o); return x * 2
u = helper(x, t, n, o); x[0] = -5; return x * 2, u | y = x + 1; u = helper(y, t, n, o); y[0] = -7; return y * 2
y = x * 1; v = y[1:]; u = helper(v, t, n, o); y[1] = 50; return y * 2, u | y = x * 3; helper(y, t, n, o); helper(y, t, n, o); return y * 2
y = np.sort(x); u = helper(y, t, n, o); return y[0] + y, u, x | u = helper(o.u, t, n, o); return x * 2, u, o.u * 1
u = helper(x, t, n, o); return x + GA[0], o.u * 2 | y = [x * 2, x * 3]; u = helper(y[0], t, n, o); y[0][0] = 1; return y, u
"""
WHEN = ["n > 2", "t > 1", "x[0] > 3"]


def parts(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split(" | ")]


class Holder:
    def __init__(self) -> None:
        self.u, self.n, self.l, self.d = np.arange(5.0), 0, [1.0], {"k": 1.0}


def program(rng: random.Random) -> str:
    lines = ["def helper(x, t, n, o):", f"    if {rng.choice(WHEN)}:"]
    lines += [f"        {one}" for one in rng.choice(parts(LATER)).split("; ")]
    lines += [f"    return {rng.choice(BEFORE)}", "def f(x, t, n, o):"]
    return "\n".join([*lines, *(f"    {one}" for one in rng.choice(parts(USES)).split("; ")), ""])


def outcome(function: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:  # noqa: BLE001
            return type(error).__name__, str(error)


def attack(seed: int) -> str:
    """What differs, or ""."""
    rng = random.Random(seed)
    text = program(rng)
    plain, traced = function_of(text), function_of(text)
    sides = (traced, tilewright.jit(traced), Holder()), (plain, plain, Holder())
    for function, _, _ in sides:
        function.__globals__.update(OUT=[], MEMO={}, GA=np.arange(6.0))
    quiet = rng.choice([0, 2, 5])
    for call in range(quiet + 4):
        t, n, most = (0.5, 1, 2) if call < quiet else (rng.choice([0.5, 2.5]), rng.choice([1, 3]), 5)
        values = [rng.uniform(-2, most) for _ in range(5)]
        found = []
        for function, called, held in sides:
            x = np.array(values)
            given = outcome(called, x, t, n, held)
            if x.flags.writeable:
                x += 100  # what is kept of it is seen to change
            space = function.__globals__
            found.append(seen([x, held, space["OUT"], space["MEMO"], space["GA"], given]))
        if found[0] != found[1]:
            return f"seed {seed}, call {call}, t={t}, n={n}, x={values}: {text}{found[0]}\n{found[1]}"
    return ""


def main() -> int:
    return run(__doc__, attack, "programs")


if __name__ == "__main__":
    sys.exit(main())
