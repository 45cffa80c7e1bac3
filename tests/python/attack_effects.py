"""Functions that append, print, count, draw and write on ways that data decide, and then go on, leave a loop or raise: each effect is seen once.

python tests/python/attack_effects.py 20 --first 0
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
from typing import Any

import numpy as np
import tilewright
from attack_later_calls import outcome, parts
from attack_seeds import run
from from_text import function_of
from objects_seen import seen

EFFECTS = """
OUT.append(1) | OUT.append(float(x[0])) | OUT.append(x.sum()) | OUT.insert(0, t) | print('p', len(x)) | COUNT['n'] += 1 | o.n += 1 | o.u = x * 2
o.l.append(t) | setattr(o, 'n', o.n + 1) | bump(o) | next(ITEMS) | x[0] = 7 | x += 1 | x[1:] = 0 | x.sort() | y = note(x.max()) | np.random.random()
RNG.random() | RNG.shuffle(x) | y = y + RNG.random() | y = y * RNG.standard_normal(len(x)) | OUT.append(np.random.standard_normal(2))
"""
ENDS = """
raise ValueError('e') | raise KeyError(t) | x[len(x) + 5] = 1 | return y | return OUT | refuse(x) | assert x[0] < -1e9, note('a') | 1 / 0 | pass
raise ValueError(note(t)) | return counted(x, t) | y = np.zeros(3) + np.zeros(len(x) + 5)
"""
TRUTHS = ["x[0] > t", "t > 1", "x.max() > t", "n > 2", "len(x) > 7", "(x > 3).any()", "x[-1] > t and n > 1"]
# What stands before: e an effect, u an end, b a truth, j an end or a break.
FORMS = """
if {b}:;    {e};    {e};    {u} | for i in range(n):;    y = y + x;    {e};    if {b}:;        {e};        {j}
for i in range(n):;    if x[i] > t:;        {e};        {j} | with np.errstate(all='ignore'):;    if {b}:;        {e};        {u}
k = 0;while k < n:;    k += 1;    if x[k] > t:;        {e};        {j} | y = counted(x, t * 100) | {e}
try:;    {e};    if {b}:;        {e};        {u};except (ValueError, IndexError):;    {e} | y = counted(x, t) | if {b}:;    {e}
try:;    if {b}:;        {u};finally:;    {e}
"""
BEFORE = """
def note(v):
    OUT.append(v)
    return 'noted'
def bump(b):
    b.n += 1
    return b.n
def refuse(x):
    OUT.append('r')
    raise ValueError('refused')
def counted(x, t):
    COUNT['n'] += 1
    if x[0] > t: raise KeyError('count')
    return x * 2
def f(x, t, n):
    y = x * 2
"""


class Holder:
    def __init__(self) -> None:
        self.n, self.l, self.u = 0, [1.0], None


def program(rng: random.Random) -> str:
    some = {"e": parts(EFFECTS), "u": parts(ENDS), "b": TRUTHS, "j": [*parts(ENDS), "break", "continue"]}
    lines = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        for line in rng.choice([one for row in FORMS.strip().splitlines() for one in row.split(" | ")]).split(";"):
            lines.append(line.format(**{key: rng.choice(texts) for key, texts in some.items()}))
    lines.append("return " + rng.choice(["y", "y + 1", "(y, x)", "x", "y, t"]))
    return BEFORE + "\n".join(f"    {line}" for line in lines) + "\n"


def attack(seed: int) -> str:
    """What differs, or ""."""
    rng = random.Random(seed)
    text, strict = program(rng), rng.random() < 0.5
    traced, plain = function_of(text), function_of(text)
    sides = [(traced, tilewright.jit(traced, strict=strict)), (plain, plain)]
    for function, _ in sides:
        function.__globals__.update(
            OUT=[], COUNT={"n": 0}, ITEMS=iter(range(999)), RNG=np.random.default_rng(3), o=Holder()
        )
    quiet, usual, states = rng.randint(0, 5), rng.choice([3, 5, 3000]), [np.random.get_state()] * 2
    for call in range(quiet + 4):
        is_quiet, size = call < quiet, usual if rng.random() < 0.6 else rng.choice([1, 2, 8, 3000])
        t, n = rng.choice([2.5, 9.0] if is_quiet else [0.5, 2.5]), rng.choice([1, 2] if is_quiet else [1, 3])
        values, found = np.random.default_rng(seed + call).uniform(-2, 1 if is_quiet else 6, size), []
        for k, (function, called) in enumerate(sides):
            x, said, space = values.copy(), io.StringIO(), function.__globals__
            np.random.set_state(states[k])
            with contextlib.redirect_stdout(said):
                given = outcome(called, x, t, n)
            states[k] = np.random.get_state()
            if isinstance(given, tuple) and str(given[0]) == "TraceError":
                return ""
            kept: list[Any] = [x, given, *(space[name] for name in ("OUT", "COUNT", "o", "RNG")), next(space["ITEMS"])]
            found.append((seen(kept), said.getvalue(), states[k][2]))
        if found[0] != found[1]:
            return (
                f"seed {seed}, call {call}, strict={strict}, t={t}, n={n}, x={values[:4]}: {text}{found[0]}\n{found[1]}"
            )
    return ""


def main() -> int:
    return run(__doc__, attack, "programs")


if __name__ == "__main__":
    sys.exit(main())
