"""Random functions of nested loops, branches, slices, masks, views and in-place writes, with early ends of every kind.

A function is written line by line from choices with `integer(low, high)` and `pick(sequence)`: Hypothesis's, which shrinks
them, or a seeded one. What Python itself refuses (an unset variable) is left to Python: nothing is tried beforehand.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from random_functions import Choices

# What stands in braces is chosen when it is written: one of several, or an expression of a kind below. `last` is the innermost
# loop's index, `i` any loop's.
_KINDS: dict[str, list[str]] = {
    "term": ["{i}", "c", "k[{i}]", "k[{i}] % 5", "int(x[{i}] * 4)", "{last} // 2", "p", "-{last}", "len(y)", "2", "d", "h[0]", "len(y[m])"],
    "n": ["{term}", "{term}", "{term} + {term}", "({term}) % 3", "min({term}, {term})", "({term}) - 1", "({term}) & 3"],
    "number": [
        "s", "v", "q", "0.5", "t[0]", "x[{i}]", "y[{i}]", "y[{n}]", "x[{n}:].sum()", "a[{i}, {i}]", "b[{i}].sum()", "a[{n}, :{n}].sum()",
        "float({n})", "y[m].sum()", "x[~m].sum()", "z[z > 0.3].sum()", "(y[m] * z[m]).sum()", "x[k].sum()", "w[0]", "w.sum()", "z.mean()",
        "(s if s < 1 else v)", "abs({n})", "u", "e", "float(np.count_nonzero(m))", "np.where(m, y, z).sum()", "max(s, v)", "y[m].mean()",
        "z[m].max()",
    ],
    "array": [
        "y * 0.5 + {number}", "z + y * {number}", "a[{i}] * 0.25", "b[:, {i}] - {number}", "np.where(m, y, z)", "np.sqrt(np.abs(z))",
        "x[::-1] * 0.5", "x[k] * 0.5", "y.copy()", "z - z.mean()",
    ],
    "truth": [
        "{number} > 0.4", "{number} < {number}", "{n} > 1", "{last} % 3 == 1", "m.any()", "c > 2", "{number} > 0.2 and {number} < 2",
        "not {number} > 1", "len(y[m]) > 2", "p > 2", "{last} > p", "y[m].any()",
    ],
    "statement": [
        "y[{i}] = {number} * 0.25", "s = s * 0.5 + {number}", "c = {n}", "b[{i}, {n}:] += {number}", "c {+=|-=|^=|&=} {n}",
        "h[{0|1|2|{i} % 4}] += {n}", "s, v = v, s + 0.25", "t = (t[1], t[0] + {number})", "z = {array}", "y, z = z, y",
        "y[m] {*=|+=|=} {number}", "m = {y|z|x} > {number}", "y[y > {number}] = {number}", "w {*=|+=} 0.5",
        "y[1:-1] = {y[2:] * 0.5|y[:-2] + z[1:-1]|0.5 * (y[:-2] + y[2:])}", "u = {number}", "e = {array}", "z[m] = {y[m]|z[m] * 0.5|y[m] - z[m]}",
        "s += {number}", "y[{n}:] *= 0.5", "w = z[1:]", "d = {n}", "b[m] *= {0.5|q}",
    ],
    "limits": [
        "len(x)", "1, len(x) - 1", "p", "len(x) - 1, 0, -1", "{few}, len(x)", "0, len(x), 2", "{few}", "1, {few}", "3", "0",
    ],
    "few": ["min({n}, 9)"],  # integers double from iteration to iteration
}  # fmt: skip
_INNERMOST = re.compile(r"\{([^{}]*)\}")
ENDS = ["", "", "", "continue", "break", "return y, s", "return y, s"]


class LoopWriter:
    """Writes one function of x (n), a (n, n), k (n integers), p (int) and q (float)."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._loops = 0
        self._counters = 0

    def source(self) -> str:
        lines = [
            "def f(x, a, k, p, q):",
            "    y = x.copy()", "    z = x * 0.5", "    b = a.copy()", "    h = np.zeros(4, np.int64)", "    m = x > 0.4",
            "    w = y[1:]", "    s, v, c, d = 0.0, 1.0, 0, p", "    t = (0.0, 1.0)",
        ]  # fmt: skip
        if self._chance(3):
            lines += self._block("    ", 0, ["0"], False)
        lines += self._loop("    ", 0, ["0"])
        lines += self._block("    ", 1, ["0"], False)
        if self._chance(2):
            lines += self._loop("    ", 1, ["0"])
        lines += ["    b *= 0.5", "    x[:] = y + t[0] * 0.1", "    h[0] += c"]
        results = ["y", "s"] + [
            name for name in ("z", "b", "h", "m", "c", "d", "v", "t[1]", "w", "u", "e") if self._chance(3)
        ]
        # Two views of one memory, and what may be unset, are not results of every function.
        results = [f"{name} + 0" if name == "w" else name for name in results]
        if any("return y, s" in line for line in lines):
            results = results[:2]
        return "\n".join([*lines, f"    return {', '.join(results)}"]) + "\n"

    def _pick(self, *options: Any) -> Any:
        return self._choices.pick(options)

    def _chance(self, one_in: int) -> bool:
        return self._choices.integer(1, one_in) == 1

    def _text(self, template: str, indices: list[str]) -> str:
        """With all choices made, the innermost first."""
        while found := _INNERMOST.search(template):
            name, start, end = found[1], *found.span()
            if name == "i":
                text = self._pick(*indices)
            elif name == "last":
                text = indices[-1]
            elif name in _KINDS:
                text = self._some(name, indices)
            else:
                text = self._pick(*name.split("|"))
            template = template[:start] + text + template[end:]
        return template

    def _some(self, kind: str, indices: list[str]) -> str:
        return self._text(self._pick(*_KINDS[kind]), indices)

    # -- statements ---------------------------------------------------------------------------------------

    def _block(self, pad: str, depth: int, indices: list[str], in_loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self._choices.integer(1, 3)):
            lines += self._statement(pad, depth, indices, in_loop)
        return lines

    def _statement(self, pad: str, depth: int, indices: list[str], in_loop: bool) -> list[str]:
        kind = self._choices.integer(0, 27 if depth < 3 else 21)
        if kind < 22:
            return [pad + self._some("statement", indices)]
        if kind < 25:
            return self._branch(pad, depth, indices, in_loop)
        return self._loop(pad, depth + 1, indices)

    def _branch(self, pad: str, depth: int, indices: list[str], in_loop: bool) -> list[str]:
        ends = [end for end in ENDS if in_loop or end not in ("continue", "break")]
        lines = [f"{pad}if {self._some('truth', indices)}:", *self._block(pad + "    ", depth + 1, indices, in_loop)]
        if end := self._pick(*ends):
            lines.append(f"{pad}    {end}")
        if self._chance(4):
            lines += [
                f"{pad}elif {self._some('truth', indices)}:",
                *self._block(pad + "    ", depth + 1, indices, in_loop),
            ]
        if self._chance(2):
            lines += [f"{pad}else:", *self._block(pad + "    ", depth + 1, indices, in_loop)]
        return lines

    def _loop(self, pad: str, depth: int, indices: list[str]) -> list[str]:
        index = f"i{self._loops}"
        self._loops += 1
        inner = [*indices, index] if indices != ["0"] else [index]
        kind = self._choices.integer(0, 9)
        if kind < 5:
            head = [f"{pad}for {index} in range({self._some('limits', indices)}):"]
        elif kind == 5:
            head = [f"{pad}for {index}, v in enumerate(x):"]
        elif kind == 6:
            head = [f"{pad}for v, r in zip(x, y[1:]):"]
            inner = indices
        elif kind == 7:
            head = [f"{pad}for v in {self._pick('x', 'y', 'z[1:]', 'k * 0.5')}:"]
            inner = indices
        else:
            count = f"n{self._counters}"
            self._counters += 1
            head = [
                f"{pad}{count} = 0",
                f"{pad}while {self._some('truth', indices)} and {count} < {self._pick('5', 'p', '90')}:",
            ]
            head += [f"{pad}    {count} += 1"]
            inner = indices
        lines = [*head, *self._block(pad + "    ", depth + 1, inner, True)]
        if self._chance(8):
            lines += [f"{pad}else:", *self._block(pad + "    ", depth + 1, indices, False)]
        return lines


def arguments(n: int, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng([n, seed])
    return rng.random(n), rng.random((n, n)), rng.integers(-n, n, n), int(rng.integers(0, 6)), float(rng.random())


__all__ = ["LoopWriter", "arguments"]
