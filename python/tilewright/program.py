"""What the product needs to know of a program's text: arguments, guards, size expressions. The grammar is in
translator/program_text.md; the full reader is translator/ir/program_reader.cpp."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ._face import evaluate_size, size_symbols

_ARGUMENT = re.compile(r"^arg (\w+): (\w+)\[(.*?)\]$")
_SCALAR = re.compile(r"^scalar (\w+): (\w+)$")
_INNER_SIZE = re.compile(r"(?:\bfor |^)(\S+)(?: in range\(|: size = read\()")
_RANGE = re.compile(r" in range\((.*?)(?: carry|$)")
_GUARD = re.compile(r'^guard (.+?) "((?:[^"\\]|\\.)*)"(?: @(\d+))?$')
_VALUE = re.compile(r"^\s*(%?\w+): (\w+)\[(.*?)\] = (\w+)\((.*)$")
_REGION = re.compile(r"^(.+?) = (for|while|if) ")
_TYPED = re.compile(r"(%?\w+): (\w+)\[(.*?)\](?:, |$)")
_CHECK = re.compile(r'^check (%?\w+) "((?:[^"\\]|\\.)*)"$')
_RETURNED = re.compile(r"(?:(int|float|bool)\()?(%?\w+)")


@dataclass(frozen=True)
class ArrayArgument:
    name: str
    dtype: str
    shape: tuple[str, ...]  # size expressions

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class ScalarArgument:
    name: str
    dtype: str


@dataclass(frozen=True)
class Guard:
    condition: str
    message: str


@dataclass(frozen=True)
class Check:
    value: str
    message: str  # for whom it fails: NumPy runs that call


@dataclass(frozen=True)
class Value:
    name: str
    dtype: str
    shape: tuple[str, ...]
    operation: str
    operands: tuple[str, ...] = ()  # as they are written: values, arguments, literals


@dataclass(frozen=True)
class Program:
    """A view of a program's text; see translator/program_text.md for what it means."""

    text: str

    @cached_property
    def arguments(self) -> tuple[ArrayArgument | ScalarArgument, ...]:
        found: list[ArrayArgument | ScalarArgument] = []
        for line in self._lines:
            if match := _ARGUMENT.match(line):
                found.append(ArrayArgument(match[1], match[2], split_sizes(match[3])))
            elif match := _SCALAR.match(line):
                found.append(ScalarArgument(match[1], match[2]))
        return tuple(found)

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))

    @property
    def scalars(self) -> tuple[ScalarArgument, ...]:
        return tuple(a for a in self.arguments if isinstance(a, ScalarArgument))

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(Guard(m[1], m[2]) for line in self._lines if (m := _GUARD.match(line)))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return tuple(Check(m[1], m[2]) for line in self._lines if (m := _CHECK.match(line)))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Of all blocks, what loops and branches give included."""
        found: list[Value] = []
        for line in self._lines:
            if match := _VALUE.match(line):
                operands = split_sizes(match[5].partition(")")[0])
                found.append(Value(match[1], match[2], split_sizes(match[3]), match[4], operands))
            elif match := _REGION.match(line):
                found += [Value(m[1], m[2], split_sizes(m[3]), match[2]) for m in _TYPED.finditer(match[1])]
        return tuple(found)

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._returned)

    @property
    def result_numbers(self) -> tuple[str, ...]:
        """For each result, the Python type that is made of it (int, float, bool), or nothing."""
        return tuple(number for _, number in self._returned)

    @cached_property
    def _returned(self) -> tuple[tuple[str, str], ...]:
        for line in self._lines:
            if line.startswith("return ") and line != "return none":
                return tuple((m[2], m[1] or "") for m in _RETURNED.finditer(line[7:]))
        return ()

    @cached_property
    def returns_tuple(self) -> bool:
        return any(line.startswith("return (") for line in self._lines)

    @cached_property
    def function(self) -> str:
        for line in self._lines:
            if line.startswith("function "):
                return line.split()[1]
        return "function"

    def type_of(self, name: str) -> tuple[str, tuple[str, ...]]:
        """dtype and shape of an argument or a value."""
        for argument in self.arguments:
            if argument.name == name:
                return argument.dtype, argument.shape if isinstance(argument, ArrayArgument) else ()
        for value in self.values:
            if value.name == name:
                return value.dtype, value.shape
        raise KeyError(name)

    def extents(self, shapes: Mapping[str, tuple[int, ...]], scalars: Mapping[str, object]) -> dict[str, int]:
        """Values of all symbols: `X.k` for each axis, and integer scalars by their name."""
        sizes = {f"{name}.{axis}": int(n) for name, shape in shapes.items() for axis, n in enumerate(shape)}
        for argument in self.scalars:
            value = scalars.get(argument.name)
            if argument.dtype == "int64" and isinstance(value, int):
                sizes[argument.name] = int(value)
        return sizes

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that sizes of values and arguments really use, in order of appearance."""
        seen: dict[str, None] = {}
        for _, shape in self._all_shapes():
            for size in shape:
                seen |= dict.fromkeys(size_symbols(size))
        return tuple(seen)

    @cached_property
    def counts(self) -> frozenset[str]:
        """The symbols that loops count with."""
        return frozenset(
            symbol
            for line in self._lines
            if (m := _RANGE.search(line))
            for limit in split_sizes(m[1].rpartition(")")[0])
            for symbol in size_symbols(limit)
        )

    @cached_property
    def has_loops(self) -> bool:
        return any(_RANGE.search(line) for line in self._lines)

    @cached_property
    def work(self) -> str:
        """A size expression that grows with the number of element operations of a call."""
        terms: dict[str, None] = {}
        for shape in (*self._shapes_of_terms(), *(shape for _, shape in self._all_shapes())):
            factors = sorted(size for size in shape if size != "1")
            if factors:
                terms.setdefault(" * ".join(f if _is_atom(f) else f"({f})" for f in factors))
        return " + ".join(list(terms)[:12]) or "1"

    def _shapes_of_terms(self) -> list[tuple[str, ...]]:
        """Of what products of stacks of matrices add up: (stack, m, k, n)."""
        shapes = dict(self._all_shapes())
        found = []
        for value in self.values:
            left = shapes.get(value.operands[0]) if value.operation == "matmul" else None
            if left is not None and value.name in shapes and len(value.shape) > 2:
                found.append((*value.shape, left[-1]))
        return found

    def _all_shapes(self) -> list[tuple[str, tuple[str, ...]]]:
        """Of arguments and values, but for those whose size changes from iteration to iteration of a loop."""
        inner = {m[1] for line in self._lines if (m := _INNER_SIZE.search(line))}
        shapes = [(a.name, a.shape) for a in self.arrays] + [(v.name, v.shape) for v in self.values]
        return [
            (name, shape) for name, shape in shapes if inner.isdisjoint(s for size in shape for s in size_symbols(size))
        ]

    @cached_property
    def _lines(self) -> list[str]:
        return [line.strip() for line in self.text.splitlines()]


def split_sizes(text: str) -> tuple[str, ...]:
    """`n, min(a, b), 2` -> three expressions: at commas that are not inside of brackets."""
    parts: list[str] = []
    depth = 0
    current = ""
    for char in text:
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        depth += (char in "([") - (char in ")]")
        current += char
    if current.strip():
        parts.append(current.strip())
    return tuple(parts)


# A size or a condition at these sizes; 0 or 1 for a condition. KeyError names a size that is not known.
evaluate = evaluate_size


def holds(condition: str, sizes: Mapping[str, int]) -> bool:
    """Whether a guard or a requirement holds; False where it names what is not known."""
    try:
        return bool(evaluate(condition, sizes))
    except (KeyError, ZeroDivisionError, ValueError):
        return False


def _is_atom(text: str) -> bool:
    return re.fullmatch(r"[\w.]+", text) is not None
