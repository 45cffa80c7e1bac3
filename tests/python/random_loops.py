"""Random functions of nested loops, branches, slices, masks, views and in-place writes, with early ends of every kind.

A function is written line by line from choices with `integer(low, high)` and `pick(sequence)`: Hypothesis's, which shrinks
them, or a seeded one. What Python itself refuses (an unset variable) is left to Python: nothing is tried beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from random_functions import Choices

INTEGERS = ["i", "c", "k[i]", "k[i] % 5", "int(x[i] * 4)", "i // 2", "p", "-i", "len(y)", "2", "d", "h[0]", "len(y[m])"]
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

    # -- expressions --------------------------------------------------------------------------------------

    def _index(self, indices: list[str]) -> str:
        return self._pick(*indices)

    def _integer(self, indices: list[str]) -> str:
        one, two = (self._pick(*INTEGERS).replace("i]", f"{self._index(indices)}]") for _ in range(2))
        one, two = (
            self._index(indices) if term == "i" else term.replace("-i", f"-{indices[-1]}") for term in (one, two)
        )
        one, two = (term.replace("i // 2", f"{indices[-1]} // 2") for term in (one, two))
        return self._pick(
            one, one, f"{one} + {two}", f"({one}) % 3", f"min({one}, {two})", f"({one}) - 1", f"({one}) & 3"
        )

    def _number(self, indices: list[str]) -> str:
        i, n = self._index(indices), self._integer(indices)
        return self._pick(
            "s", "v", "q", "0.5", "t[0]", f"x[{i}]", f"y[{i}]", f"y[{n}]", f"x[{n}:].sum()", f"a[{i}, {i}]", f"b[{i}].sum()",
            f"a[{n}, :{n}].sum()", f"float({n})", "y[m].sum()", "x[~m].sum()", "z[z > 0.3].sum()", "(y[m] * z[m]).sum()",
            "x[k].sum()", "w[0]", "w.sum()", "z.mean()", "(s if s < 1 else v)", f"abs({n})", "u", "e", "float(np.count_nonzero(m))",
            "np.where(m, y, z).sum()", "max(s, v)", "y[m].mean()", "z[m].max()",
        )  # fmt: skip

    def _array(self, indices: list[str]) -> str:
        i = self._index(indices)
        number = self._number(indices)
        return self._pick(
            f"y * 0.5 + {number}", f"z + y * {number}", f"a[{i}] * 0.25", f"b[:, {i}] - {number}", "np.where(m, y, z)",
            "np.sqrt(np.abs(z))", "x[::-1] * 0.5", "x[k] * 0.5", "y.copy()", "z - z.mean()",
        )  # fmt: skip

    def _truth(self, indices: list[str]) -> str:
        one, two = self._number(indices), self._number(indices)
        return self._pick(
            f"{one} > 0.4", f"{one} < {two}", f"{self._integer(indices)} > 1", f"{indices[-1]} % 3 == 1", "m.any()", "c > 2",
            f"{one} > 0.2 and {two} < 2", f"not {one} > 1", "len(y[m]) > 2", "p > 2", f"{indices[-1]} > p", "y[m].any()",
        )  # fmt: skip

    # -- statements ---------------------------------------------------------------------------------------

    def _block(self, pad: str, depth: int, indices: list[str], in_loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self._choices.integer(1, 3)):
            lines += self._statement(pad, depth, indices, in_loop)
        return lines

    def _statement(self, pad: str, depth: int, indices: list[str], in_loop: bool) -> list[str]:
        kind = self._choices.integer(0, 27 if depth < 3 else 21)
        i, n, number = self._index(indices), self._integer(indices), self._number(indices)
        plain = [
            f"y[{i}] = {number} * 0.25", f"s = s * 0.5 + {number}", f"c = {n}", f"b[{i}, {n}:] += {number}",
            f"c {self._pick('+=', '-=', '^=', '&=')} {n}", f"h[{self._pick('0', '1', '2', i + ' % 4')}] += {n}", "s, v = v, s + 0.25",
            f"t = (t[1], t[0] + {number})", f"z = {self._array(indices)}", "y, z = z, y", f"y[m] {self._pick('*=', '+=', '=')} {number}",
            f"m = {self._pick('y', 'z', 'x')} > {number}", f"y[y > {number}] = {number}", f"w {self._pick('*=', '+=')} 0.5",
            f"y[1:-1] = {self._pick('y[2:] * 0.5', 'y[:-2] + z[1:-1]', '0.5 * (y[:-2] + y[2:])')}", f"u = {number}",
            f"e = {self._array(indices)}", f"z[m] = {self._pick('y[m]', 'z[m] * 0.5', 'y[m] - z[m]')}", f"s += {number}",
            f"y[{n}:] *= 0.5", "w = z[1:]", f"d = {n}", f"b[m] *= {self._pick('0.5', 'q')}",
        ]  # fmt: skip
        if kind < 22:
            return [pad + self._choices.pick(plain)]
        if kind < 25:
            return self._branch(pad, depth, indices, in_loop)
        return self._loop(pad, depth + 1, indices)

    def _branch(self, pad: str, depth: int, indices: list[str], in_loop: bool) -> list[str]:
        ends = [end for end in ENDS if in_loop or end not in ("continue", "break")]
        lines = [f"{pad}if {self._truth(indices)}:", *self._block(pad + "    ", depth + 1, indices, in_loop)]
        if end := self._pick(*ends):
            lines.append(f"{pad}    {end}")
        if self._chance(4):
            lines += [f"{pad}elif {self._truth(indices)}:", *self._block(pad + "    ", depth + 1, indices, in_loop)]
        if self._chance(2):
            lines += [f"{pad}else:", *self._block(pad + "    ", depth + 1, indices, in_loop)]
        return lines

    def _loop(self, pad: str, depth: int, indices: list[str]) -> list[str]:
        index = f"i{self._loops}"
        self._loops += 1
        n = f"min({self._integer(indices)}, 9)"  # integers double from trip to trip
        inner = [*indices, index] if indices != ["0"] else [index]
        kind = self._choices.integer(0, 9)
        if kind < 5:
            limits = self._pick(
                "len(x)", "1, len(x) - 1", "p", "len(x) - 1, 0, -1", f"{n}, len(x)", "0, len(x), 2", f"{n}", f"1, {n}", "3", "0",
            )  # fmt: skip
            head = [f"{pad}for {index} in range({limits}):"]
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
                f"{pad}while {self._truth(indices)} and {count} < {self._pick('5', 'p', '90')}:",
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
