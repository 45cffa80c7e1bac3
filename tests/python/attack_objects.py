"""Random methods that change their objects, compiled and as they are.

    python tests/python/attack_objects.py 200 --first 0

Between calls somebody else changes the objects too: other arrays, one array under two names, numbers of other types. What can be
seen of them has to be alike: values, dtypes, what is one object, and what shares memory.
"""

from __future__ import annotations

import linecache
import random
import sys
import warnings
from typing import Any

import numpy as np
import tilewright
from attack_seeds import seeds
from objects_seen import seen

ARRAYS = ("u", "v", "w")
NUMBERS = ("t", "k")


class Writer:
    """One random class."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.two = self.random.random() < 0.25

    def owner(self) -> str:
        return self.random.choice(("self", "other")) if self.two else "self"

    def array(self) -> str:
        return f"{self.owner()}.{self.random.choice(ARRAYS)}"

    def number(self) -> str:
        return self.random.choice([f"{self.owner()}.{name}" for name in NUMBERS] + ["x", "2", "0.5"])

    def value(self) -> str:
        a, b, n = self.array(), self.array(), self.number()
        return self.random.choice(
            [f"{a} * 0.5", f"{a} + {b}", f"{a} - {n}", f"np.minimum({a}, {b})", f"{a}[::-1].copy()", f"{a}", f"{a}.copy()",
             f"np.where({a} > {b}, {a}, {n})", f"np.cumsum({a}) * 0.1", f"np.zeros_like({a})", f"np.roll({a}, 1)"]
        )  # fmt: skip

    def statement(self, depth: int = 0) -> list[str]:
        a, b, n = self.array(), self.array(), self.number()
        t, k = f"{self.owner()}.t", f"{self.owner()}.k"
        kinds = [
            [f"{a} = {self.value()}"], [f"{a} = {self.value()}"], [f"{a}[1:-1] += 0.25 * {b}[2:]"], [f"{a} += {b} * 0.5"],
            [f"{a}, {b} = {b}, {a}"], [f"{t} = {t} + {n}"], [f"{t} = {a}.sum() * 0.01"], [f"{k} += 1"], [f"{a}[0] = {n}"],
            [f"local = {a}", "local[2:5] *= 0.5"], [f"{a} = {b}", f"{a}[1] = {n}"], [f"{a} *= 0.5"],
            [f"self.extra = {a}[:4]"], ["self.note = 'seen'"], [f"self.help({n})"],
        ]  # fmt: skip
        if depth < 2:
            body = [f"    {line}" for line in self.statement(depth + 1)]
            kinds += [
                [f"if {a}[0] > {n}:", *body],
                [f"if {a}.sum() > {n}:", *body, "else:", *(f"    {line}" for line in self.statement(depth + 1))],
                ["for i in range(n):", *body],
                ["for i in range(n):", *body, *(f"    {line}" for line in self.statement(depth + 1))],
                [f"while {k} % 4 != 0 and {k} < 99:", *body, f"    {k} += 1"],
                ["if n > 2:", *body],
            ]
        return self.random.choice(kinds)

    def text(self) -> str:
        lines = [line for _ in range(self.random.randint(1, 5)) for line in self.statement()]
        help_lines = [
            line for _ in range(self.random.randint(1, 2)) for line in self.statement(2) if "self.help" not in line
        ]
        help_lines = [line.replace("other.", "self.") for line in help_lines] or ["self.k += 1"]
        result = self.random.choice(
            ["self", self.array(), self.number(), "None", f"{self.array()}.sum()", f"({self.array()}, self.k)"]
        )
        return "\n".join([
            "import numpy as np", "class C:", "    def __init__(self, n):",
            "        self.u, self.v, self.w = np.arange(float(n)), np.ones(n), np.arange(float(n)) % 3",
            "        self.t, self.k = 0.25, 0", f"    def step(self, {'other, ' if self.two else ''}x, n):",
            *(f"        {line}" for line in lines), f"        return {result}",
            "    def help(self, x):", *(f"        {line}" for line in help_lines), "",
        ])  # fmt: skip


def disturbed(one: Any, how: int, rng: random.Random) -> None:
    """What another part of a program does between two calls."""
    names = [rng.choice(ARRAYS) for _ in range(2)]
    if how == 0:
        setattr(one, names[0], getattr(one, names[1]))
    elif how == 1:
        setattr(one, names[0], getattr(one, names[0])[::-1])
    elif how == 2:
        one.t = rng.choice([1, 2.5, np.float64(0.5), np.float32(1.5), True])
    elif how == 3:
        one.k = rng.choice([0, 3, np.int64(5)])
    elif how == 4:
        setattr(one, names[0], np.arange(float(len(one.u))))
    elif how == 5:
        one.extra = one.u[2:]
    elif how == 6:
        setattr(one, names[0], np.asarray(getattr(one, names[0]), np.float32))


def compared(seed: int, *, strict: bool) -> str:
    """ "alike", "refused", or what differs."""
    text = Writer(seed).text()
    file = f"<objects {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {"__name__": f"objects_{seed}"}
    exec(compile(text, file, "exec"), space)
    cls = space["C"]
    compiled = tilewright.jit(cls.step, strict=strict)
    rng = random.Random(seed)
    ours, theirs = [cls(9), cls(9)], [cls(9), cls(9)]
    two = Writer(seed).two
    for call in range(6):
        is_one, x, n = two and rng.random() < 0.2, rng.choice([1, 0.5, -2.0]), rng.choice([0, 1, 3])
        if call and rng.random() < 0.6:
            how, state = rng.randrange(7), rng.getstate()
            for one in (ours[0], theirs[0]):
                rng.setstate(state)
                disturbed(one, how, rng)
        before = [[{**vars(one)} for one in side] for side in (ours, theirs)]
        results = []
        for function, side in ((compiled, ours), (cls.step, theirs)):
            others = [side[0] if is_one else side[1]] if two else []
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results.append(function(side[0], *others, x, n))
            except tilewright.Error:
                return "refused"
            except Exception as error:  # noqa: BLE001
                results.append((type(error).__name__, str(error)))
        mine, wanted = (seen([before[k], side, results[k]]) for k, side in enumerate((ours, theirs)))
        if mine != wanted:
            return f"call {call}, x={x}, n={n}, one={is_one}\n{text}\n{mine}\n{wanted}"
    return "alike"


def main() -> int:
    counts = {"alike": 0, "refused": 0, "different": 0}
    for seed in seeds(__doc__):
        found = compared(seed, strict=seed % 4 != 3)
        counts[found if found in counts else "different"] += 1
        if found not in counts:
            print(f"seed {seed}: {found}")
    print(counts)
    return counts["different"] > 0


if __name__ == "__main__":
    sys.exit(main())
