"""Texts of random scripts: what stands at the top level, functions, methods, closures and generators, all with effects between array code."""

from __future__ import annotations

import random
import re

from attack_effects import parts

VALUES = """
{a} * 0.5 + {b} | np.sqrt(np.abs({a})) | np.where({a} > {b}, {a}, {s}) | {a}[::-1].copy() | np.roll({a}, 1) | np.clip({a}, -2, 2)
{a} - {a}.mean() | np.cumsum({a}) / N | np.sin({a}) * {b} | np.maximum({a}, {s}) | np.tanh({a}) | {a} / (1 + {b} ** 2) | {a}
np.abs({a} - {b}) | np.sort({a}) | np.zeros(N) | {a}.copy() | np.minimum({a}, {b}) * 0.5 | np.exp(-np.abs({a})) | ({a} > 0) * {s}
np.concatenate([{a}[:2], {b}[2:]]) | np.array([{a}, {b}]).mean(axis=0) | np.full(N, {s}) | np.zeros_like({a}) | {a}.astype(np.float32).astype(float)
"""
NUMBERS = """
{a}.sum() | {a}[0] | float({a}.max()) | {s} * 0.5 | {s} + 1 | np.dot({a}, {b}) / N | round(float({a}.mean()), 6) | 2 | 0.25 | {a}[-1] + {s}
float(np.median({b})) | ({a} > {s}).sum() | len({a}) | {a}.std() | np.count_nonzero({a}) | {a}[{a} > 0].sum() | abs({a}[1])
"""
WRITES = """
{a}[1:-1] = ({b}[:-2] + {b}[2:]) / 2 | {a} += {b} * 0.1 | {a} *= 0.9 | {a}[{a} > 1] = {s} | np.add({a}, {b}, out={a}) | {a}[:3] = {s}
{a}.sort() | {a}[::2] -= 0.5 * {b}[::2] | {a}[0] = {s} | {a}, {b} = {b}, {a} | {a} = {b} | part = {a}[1:4]; part += 1 | np.add.at({a}, [0, 1, 0], {s})
{a} -= {a}.mean() | {a}[-1] += 1 | {a}.fill({s}) | {a}[[0, 2]] = {a}[[2, 0]]
"""
EFFECTS = """
print('p', i, {s}) | OUT.append({s}) | OUT.append({a}[:2]) | OUT.append({a}) | LOG['s'] = {s} | LOG.setdefault('l', []).append({s})
COUNT['n'] += 1 | note({s}) | print(f'{{float({s}):.4f}}', len(OUT)) | TOTAL += {s} | {a} += rng.standard_normal(N) * 0.1 | GA[0] = {s}
{s} = rng.random() | GA = {a} * 0.5 | TOTAL = {s} | OUT[:] = OUT[-3:] | MEMO[i % 3] = {a} | {a} = MEMO.get(i % 3, {a}) | LOG[f'k{{i % 2}}'] = {a}.max()
with open('log.txt', 'a') as file: file.write(f'{{i}} {{float({s}):.5f}}\\n') | np.save('a.npy', {a}) | print('x', {a}[:2]) | print(OUT[-1:] and type(OUT[-1]).__name__)
{b} = np.array(OUT[-1] if OUT and np.ndim(OUT[-1]) == 1 and len(OUT[-1]) == N else {b}) | hook({a}, {s}) | {s} = hook({b}, {s}) | {a} = later({a}) | {s} = box.add({a})
box.u = {a} | {a} = box.u | box.n += 1 | box.u[0] = {s} | del LOG['s'] | print(sorted(LOG)) | {s} = next(ITEMS)
"""
ENDS = """
raise ValueError(f'at {{i}}') | 1 / 0 | {a}[N + 5] = 1 | assert {s} < -1e9, 'never' | raise KeyError(i) | int('x') | {a} + np.zeros(N + 1)
raise Stop({s} > 0) | np.linalg.inv(np.zeros((2, 2))) | {a}.missing | undefined_name
"""
TRUTHS = """
{a}[0] > {s} | i % 3 == 1 | {a}.sum() > 0 | i > 4 | {s} > 1 | ({a} > {b}).any() | len(OUT) > 5 | COUNT['n'] % 2 == 0 | {a}.max() > 1 and i % 2
i == 6 | {a}[1] < {b}[1] | TOTAL > 1
"""
BEFORE = """
import sys, time, warnings
import functools
from dataclasses import dataclass
import numpy as np
warnings.simplefilter('ignore')
N = {size}
rng = np.random.default_rng({seed})
OUT, LOG, COUNT, MEMO, TOTAL, ITEMS = [], {{}}, {{'n': 0}}, {{}}, 0.0, iter(range(9999))
GA, GB = np.linspace(-1, 2, N), np.cos(np.arange(N))
class Stop(Exception):
    pass
class Box:
    def __init__(self, n):
        self.u, self.n = np.arange(n) / n, 0
    def add(self, a):
        self.n += 1
        self.u = self.u + a * 0.1
        return self.u.sum()
box = Box(N)
def note(value):
    OUT.append(value)
    COUNT['n'] += 1
    return value
def hook(a, s):
    return a[0] * 0.5
def later(a):
    return a * 0.5
def shown(value):
    if isinstance(value, np.ndarray):
        return f'{{value.dtype}}{{value.shape}} {{value.sum()}} {{value[:3]}} {{value[-1:]}}'
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + ' ' + '; '.join(shown(one) for one in value[-6:])
    if isinstance(value, dict):
        return '; '.join(f'{{key}}: {{shown(one)}}' for key, one in value.items())
    return f'{{type(value).__name__}} {{value}}'
def steps_of(error):
    import traceback
    return [(one.name, one.lineno) for one in traceback.extract_tb(error.__traceback__) if one.filename == __file__]
"""
AFTER = """
for name, value in [('OUT', OUT), ('LOG', LOG), ('COUNT', COUNT), ('MEMO', MEMO), ('TOTAL', TOTAL), ('GA', GA), ('GB', GB), ('box', vars(box))]:
    print(name, shown(value))
print([[a is b for b in [*MEMO.values(), box.u, GA]] for a in OUT[-4:]], rng.random(), next(ITEMS))
"""
# What becomes of names while the script runs: `hook` and `later` may be bound anew, methods replaced.
CHANGES = """
hook = lambda a, s: s + a[1] | later = np.negative | later = functools.partial(np.multiply, 0.3) | Box.add = lambda self, a: a.sum() + self.n
GB = GB[::-1] | N_OLD, box = N, Box(N) | note = OUT.append | GA = GB | GB = GB.astype(np.float32).astype(float) | np.random.seed(3)
"""
SHARES = "c{k}.u = x | c{k}.v = c{k}.u | c{k}.u = GA | c{k}.u = box.u | box.u = c{k}.v | c{k}.u, y = y, c{k}.u | x = c{k}.u[::-1]"


class Writer:
    def __init__(self, seed: int, size: int, turns: int, pause: bool) -> None:
        self.random = random.Random(seed)
        self.seed, self.size, self.turns, self.pause = seed, size, turns, pause
        self.made: list[str] = []  # lines that call what is there
        self.inner: list[str] = []  # the same in functions that are defined later, with their names to be filled in
        self.shares: list[str] = []  # lines by which objects share arrays

    def text(self) -> str:
        kinds = [
            self.function,
            self.method,
            self.closure,
            self.generator,
            self.dataclass,
            self.recursion,
            self.decorated,
        ]
        lines = BEFORE.format(size=self.size, seed=self.seed).strip().splitlines()
        for k in range(self.random.choice([1, 2, 2, 3])):
            lines += self.random.choice([*kinds, self.function])(k)
        lines += self.main()
        lines += AFTER.strip().splitlines() + self.end()
        return "\n".join(lines) + "\n"

    # -- statements: of arrays and numbers with names, `i` is what counts ---------------------------------------------------

    def filled(self, texts: str, arrays: list[str], numbers: list[str]) -> str:
        a, b = self.random.choice(arrays), self.random.choice(arrays)
        return self.random.choice(parts(texts)).format(a=a, b=b, s=self.random.choice(numbers))

    def simple(self, arrays: list[str], numbers: list[str]) -> list[str]:
        chance = self.random.random()
        if self.inner and chance < 0.12:
            return [self.filled(" | ".join(self.inner), arrays, numbers)]
        if chance < 0.3:
            return [f"{self.random.choice(arrays)} = {self.filled(VALUES, arrays, numbers)}"]
        if chance < 0.45:
            return [f"{self.random.choice(numbers)} = {self.filled(NUMBERS, arrays, numbers)}"]
        return [self.filled(WRITES if chance < 0.65 else EFFECTS, arrays, numbers)]

    def block(self, arrays: list[str], numbers: list[str], depth: int, ends: list[str]) -> list[str]:
        """One to three statements, one of which may be compound; `ends`: what may leave it."""
        lines: list[str] = []
        for _ in range(self.random.choice([1, 2, 3])):
            lines += self.compound(arrays, numbers, depth, ends) if depth and self.random.random() < 0.35 else []
            lines += self.simple(arrays, numbers)
        return lines

    def compound(self, arrays: list[str], numbers: list[str], depth: int, ends: list[str]) -> list[str]:
        def inner(more: list[str] = []) -> list[str]:  # noqa: B006
            return indented(self.block(arrays, numbers, depth - 1, [*ends, *more]))

        truth = self.filled(TRUTHS, arrays, numbers)
        end = self.random.choice([*ends, self.filled(ENDS, arrays, numbers)])
        kind = self.random.randrange(10)
        if kind == 0:
            return [f"if {truth}:", *inner()]
        if kind == 1:
            return [f"if {truth}:", *inner(), "else:", *inner()]
        if kind == 2:
            return [f"for k{depth} in range(3):", *inner(["break", "continue"])]
        if kind == 3:
            return [
                f"for value in {self.random.choice(arrays)}[:3]:",
                f"    {self.random.choice(numbers)} = value",
                *inner(["break"]),
            ]
        if kind == 4:
            return ["try:", *inner(), f"    if {truth}:", f"        {end}", "except (ValueError, LookupError, ZeroDivisionError) as error:",
                    "    print(type(error).__name__, error)", *inner()]  # fmt: skip
        if kind == 5:
            return ["try:", *inner(), "finally:", *inner()]
        if kind == 6:
            return ["with np.errstate(all='ignore'):", *inner()]
        if kind == 7:
            return [
                f"w{depth} = 0",
                f"while w{depth} < 3 and not {truth.replace(' and ', ' == ')}:",
                f"    w{depth} += 1",
                *inner(["break"]),
            ]
        if kind == 8:
            return [f"if {truth}:", *indented(self.simple(arrays, numbers)), f"    {end}"]
        return [f"{self.random.choice(numbers)} = sum(float(v) for v in {self.random.choice(arrays)}[:4])"]

    # -- what is defined ----------------------------------------------------------------------------------------------------

    def defined(self, head: str, first: list[str], lines: list[str], last: list[str]) -> list[str]:
        """A function, which declares the global variables that it assigns."""
        assigned = [
            name
            for name in ("TOTAL", "GA")
            if re.search(rf"\b{name}(, \w+)* (=|\*=|\+=|-=) |, {name} = ", "\n".join(lines))
        ]
        return [
            head,
            *indented([f"global {', '.join(assigned)}"] if assigned else []),
            *indented([*first, *lines, *last]),
        ]

    def result(self, arrays: list[str], numbers: list[str]) -> str:
        return self.random.choice(
            [*arrays, *numbers, f"({arrays[0]}, {numbers[0]})", f"{arrays[0]}.sum()", "None", f"[{arrays[-1]}, i]"]
        )

    def body(self, arrays: list[str], numbers: list[str]) -> list[str]:
        return self.block(arrays, numbers, 2, [f"return {self.result(arrays, numbers)}"])

    def function(self, k: int) -> list[str]:
        head, call = self.random.choice([
            (f"def f{k}(a, b, s, i):", f"f{k}(GA, GB, s, i)"), (f"def f{k}(a, b, s=0.5, *, i=3):", f"f{k}(x, GB, i=i)"),
            (f"def f{k}(a, b, *rest, **names):", f"f{k}(x, y, s, i=i)"), (f"def f{k}(a, i, kept=[]):", f"f{k}(x, i)"),
        ])  # fmt: skip
        first = {"*rest": ["s, i = rest[0], names['i']"], "kept": ["b, s = a * 0.5, len(kept)", "kept.append(i)"]}
        names = ["a", "b", "GA"], ["s"]
        start = next((v for key, v in first.items() if key in head), [])
        made = self.defined(head, start, self.body(*names), [f"return {self.result(*names)}"])
        self.made += [call, call.replace("x", "GA"), call.replace("GB", "x"), call.replace("x", "x[::-1]")]
        self.inner += [f"{{s}} = np.sum({self.within(call)})", f"got = {self.within(call)}", self.within(call)]
        return made

    def within(self, call: str) -> str:
        return re.sub(r"\bs\b", "{s}", re.sub(r"\b(x|GA)\b", "{a}", re.sub(r"\b(y|GB)\b", "{b}", call)))

    def method(self, k: int) -> list[str]:
        names = ["self.u", "self.v", "a"], ["self.n", "s"]
        made = [f"class C{k}:", "    count = 0", "    def __init__(self):", "        self.u, self.v, self.n = np.ones(N), np.arange(N) % 3.0, 0.0",
                *indented(self.defined("def step(self, a, s, i):", [], self.body(*names), [f"return {self.result(*names)}"])),
                "    @property", "    def total(self):", "        return self.u.sum() + self.v[0]",
                *indented(self.defined("def __call__(self, a, i=2):", ["s = 0.5"], self.block(*names, 1, ["return s"]), ["return self.u"])),
                f"c{k} = C{k}()"]  # fmt: skip
        self.made += [
            f"c{k}.step(x, s, i)",
            f"c{k}.step(GA, i * 0.1, i)",
            f"c{k}.total",
            f"c{k}(y)",
            f"c{k}.step(c{k}.u, s, i)",
        ]
        self.inner += [f"{{s}} = c{k}.total", f"{{a}} = c{k}({{b}}, i)", f"c{k}.step({{a}}, {{s}}, i)"]
        self.shares += parts(SHARES.format(k=k))
        return made

    def dataclass(self, k: int) -> list[str]:
        names = ["self.u", "a"], ["self.n", "s"]
        self.made += [f"d{k}.moved(x, i)", f"D{k}.of(y * 2).moved(x, i).n"]
        return ["@dataclass", f"class D{k}:", "    u: np.ndarray", "    n: float = 0.0",
                "    @classmethod", "    def of(cls, a):", "        return cls(a.copy(), a.max())",
                *indented(self.defined("def moved(self, a, i, s=1.5):", [], self.body(*names), ["return self"])),
                f"d{k} = D{k}.of(GA)"]  # fmt: skip

    def closure(self, k: int) -> list[str]:
        names = ["a", "b", "c"], ["s", "t"]
        self.made += [f"h{k}(x, i)", f"h{k}(GA, i)"]
        return [f"def make{k}(a, s):", "    b, t = a * 2, 0", 
                *indented(self.defined("def inner(c, i):", ["nonlocal a, b, s, t", "t += 1"], self.body(*names), [f"return {self.result(*names)}"])),
                "    return inner",
                f"h{k} = make{k}(GB * 0.5, 1.0)"]  # fmt: skip

    def generator(self, k: int) -> list[str]:
        names = ["a", "b"], ["s"]
        body = [*self.block(*names, 1, ["return"]), f"yield {self.result(*names)}", *self.block(*names, 2, ["return"])]
        self.made += [
            f"[value if np.ndim(value) == 0 else value[:2] for value in g{k}(x, y, s, i)]",
            f"next(g{k}(GA, y, s, i))",
        ]
        return self.defined(f"def g{k}(a, b, s, i):", [], body, [f"yield {self.result(*names)}"])

    def recursion(self, k: int) -> list[str]:
        names = ["a", "b"], ["s"]
        first = ["b = a * 0.5", "if i < 1:", "    return b"]
        again = f"return r{k}({self.random.choice(['a', 'b'])}, i - 1, s) * 0.5 + b"
        made = self.defined(f"def r{k}(a, i, s):", first, self.body(*names), [again])
        self.made.append(f"r{k}(x, i % 3, s)")
        return made

    def decorated(self, k: int) -> list[str]:
        text = self.function(k)
        return ["def told(function):", "    @functools.wraps(function)", "    def wrapped(*args, **kwargs):", "        COUNT['n'] += 1",
                "        result = function(*args, **kwargs)", "        print('told', function.__name__, shown(result))", "        return result",
                "    return wrapped", "@told", *text]  # fmt: skip

    # -- what runs ----------------------------------------------------------------------------------------------------------

    def main(self) -> list[str]:
        names = ["x", "y", "GA"], ["s", "t"]
        lines: list[str] = []
        for call in self.random.sample(self.made, min(len(self.made), self.random.choice([1, 2, 3]))):
            how = self.random.randrange(4)
            if how == 0:
                lines += [f"got = {call}", "print(i, shown(got))"]
            elif how == 1:
                lines += ["try:", f"    got = {call}", "    if isinstance(got, np.ndarray) and got.shape == (N,):", "        y = got",
                          "except Exception as error:", "    print(type(error).__name__, error, steps_of(error))"]  # fmt: skip
            else:
                lines += ["try:", f"    print(i, shown({call}))", "except Exception as error:", "    print(type(error).__name__, error)",
                          "print(shown(x), shown(y), shown(s))"]  # fmt: skip
            if self.random.random() < 0.5:
                lines += self.block(*names, 1, ["break", "continue"])
            if self.shares and self.random.random() < 0.3:
                lines.append(self.random.choice(self.shares))
        lines += ["x = x * 0.5 + GB", "y = y - y.mean()"]
        if self.random.random() < 0.5:
            lines += [f"if i == {self.turns // 2}:", f"    {self.random.choice(parts(CHANGES))}"]
        if self.pause:
            lines += ["if i in (3, 6):", "    time.sleep(1.5)"]
        loop = ["x, y, s, t = GA.copy(), GB * 0.5, 1.0, 0", f"for i in range({self.turns}):", *indented(lines)]
        if self.random.random() < 0.5:
            return loop
        changed = "global TOTAL, GA, GB, hook, later, note, box"
        return ["def main():", f"    {changed}", *indented(loop), "if __name__ == '__main__':", "    main()"]

    def end(self) -> list[str]:
        return self.random.choice(
            [[], [], ["sys.exit(3)"], ["raise RuntimeError('at the end')"], ["sys.exit('no more')"], ["1 / 0"]]
        )


class LoopWriter(Writer):
    """Scripts of loops that run once, at the top level and in main(), array code between effects: nothing is called twice."""

    def text(self) -> str:
        lines = BEFORE.format(size=self.size, seed=self.seed).strip().splitlines()
        lines = [*lines, "x, y, s, t = GA.copy(), GB * 0.5, 1.0, 0"]
        for k in range(self.random.choice([1, 2])):
            lines += self.loop(["x", "y", "GA"], ["s", "t"], k)
        if self.random.random() < 0.7:
            body = [*self.loop(["a", "b", "GB"], ["s", "t"], 5), *self.seen(["a", "b", "c"], ["s", "t"], 5)]
            lines += self.defined("def main(a, b):", ["s, t = 0.5, 1"], body, ["return a, s"])
            lines += ["got = main(x, GB)", "print(shown(got[0]), got[1])"]
        return (
            "\n".join([*lines, *self.seen(["x", "y", "z"], ["s", "t"], 0), *AFTER.strip().splitlines(), *self.end()])
            + "\n"
        )

    def loop(self, arrays: list[str], numbers: list[str], k: int) -> list[str]:
        made = ["z" if arrays[0] == "x" else "c"]
        before = [f"{made[0]} = {arrays[0]}.copy()"] if self.random.random() < 0.5 else []
        lines: list[str] = []
        for _ in range(self.random.choice([2, 3, 4])):
            chance = self.random.random()
            if chance < 0.2:
                lines += self.compound(arrays, numbers, 1, ["break", "continue"])
            elif chance < 0.35:
                lines.append(f"{made[0]} = {self.filled(VALUES, arrays, numbers)}")
            elif chance < 0.75:
                lines += self.clean(arrays, numbers)
            else:
                lines += self.simple(arrays, numbers)
        if before and self.random.random() < 0.7:
            lines.append(f"{arrays[0]} = {made[0]} * 0.5 + {arrays[1]}[::-1] - {arrays[0]}.mean()")
        if self.random.random() < 0.4:
            lines += [
                f"for j{k} in range(4):",
                *indented([*self.clean(arrays, numbers), f"{arrays[1]}[j{k}] = {numbers[0]} * 0.5"]),
            ]
        lines += self.random.choice([[], ["print('at', i)"], [f"print(shown({arrays[0]}), {numbers[0]})"]])
        head = self.random.choice([f"for i in range({self.turns}):", f"i = 0\nwhile i < {self.turns}:"])
        if "while" in head:
            lines = ["i += 1", *lines]
        return [*before, *head.splitlines(), *indented(lines)]

    def clean(self, arrays: list[str], numbers: list[str]) -> list[str]:
        """Array code alone."""
        writes = [one for one in parts(WRITES) if "part" not in one or self.random.random() < 0.3]
        lines = [self.filled(" | ".join(writes), arrays, numbers), f"{self.random.choice(numbers)} = {self.filled(NUMBERS, arrays, numbers)}",
                 f"{self.random.choice(arrays)} = {self.filled(VALUES, arrays, numbers)}"]  # fmt: skip
        if self.random.random() < 0.3:
            lines = [f"if {self.filled(TRUTHS, arrays, numbers)}:", *indented(lines)]
        return self.random.sample(lines, len(lines)) if not lines[0].startswith("if") else lines

    def seen(self, arrays: list[str], numbers: list[str], k: int) -> list[str]:
        """What is left in variables, as far as they are set."""
        lines: list[str] = []
        for name in [*arrays, *numbers, "i", f"j{k}", "part"]:
            lines += [
                "try:",
                f"    print({name!r}, shown({name}))",
                "except NameError as error:",
                "    print(type(error).__name__)",
            ]
        return lines


def indented(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


def script(seed: int, size: int = 9, turns: int = 10, pause: bool = False, of_loops: bool = False) -> str:
    return (LoopWriter if of_loops else Writer)(seed, size, turns, pause).text()
