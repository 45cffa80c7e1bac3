"""What Python reads of a program's text. The grammar is in translator/program_text.md; the compiler's reader is
translator/ir/program_reader.cpp."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from ._face import evaluate_size, size_symbols
from .light_dataclass import dataclass

_WORDS = frozenset(["tilewright-program", "function", "arg", "scalar", "guard", "check", "write", "return"])
_TYPED = re.compile(r"(%?\w+): (\w+)(?:\[(.*)\])?")
_CONDITION = re.compile(r'(.+?) "((?:[^"\\]|\\.)*)"(?: @\d+)?')
_OPERATION = re.compile(
    r"(?P<results>.+?) = (?P<name>\w+)(?:"
    r"\((?P<operands>.*?)\)(?: \{(?P<attributes>.*)\})?"
    r"|(?: (?P<variable>\w+) in range\((?P<range>.*)\))? carry \((?P<carried>.*)\) \{"
    r"| (?P<condition>%?\w+) \{)(?: @\d+)?"
)
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')
_PICKED_OUT = re.compile(r'"?(r\d+) as r\d+"?$')
_RETURNED = re.compile(r"(?:(int|float|bool|held)\()?(%?\w+)")


class ProgramError(AssertionError):
    """The text breaks the rules of program_text.md."""


@dataclass(frozen=True)
class Value:
    name: str
    dtype: str  # "size" of a symbol that is read from the data
    shape: tuple[str, ...]  # size expressions
    operation: str = ""
    operands: tuple[str, ...] = ()  # as they are written: the condition of an `if`, what a loop begins with

    @property
    def rank(self) -> int:
        return len(self.shape)


class ArrayArgument(Value):
    """`arg X: float64[X.0, X.1]`"""


class ScalarArgument(Value):
    """`scalar a: float64`"""


@dataclass(frozen=True)
class Guard:
    """Of sizes, or a check of a value: NumPy runs the call for which it does not hold."""

    condition: str
    message: str


@dataclass(frozen=True)
class Operation:
    name: str
    results: tuple[Value, ...]
    operands: tuple[str, ...]
    attributes: Mapping[str, str]  # those of a `for` are its variable and its range
    regions: tuple[Block, ...]
    line: str


@dataclass(frozen=True)
class Block:
    parameters: tuple[Value, ...]
    operations: tuple[Operation, ...]
    yields: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """A view of a program's text; see translator/program_text.md for what it means."""

    text: str

    @cached_property
    def arguments(self) -> tuple[Value, ...]:
        return tuple(_typed(line, ArrayArgument if "[" in line else ScalarArgument) for line in self._lines["arg"])

    @cached_property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))

    @cached_property
    def scalars(self) -> tuple[ScalarArgument, ...]:
        return tuple(a for a in self.arguments if isinstance(a, ScalarArgument))

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(Guard(m[1], m[2]) for m in (_matched(_CONDITION, line) for line in self._lines["guard"]))

    @cached_property
    def checks(self) -> tuple[Guard, ...]:
        return tuple(Guard(m[1], m[2]) for m in (_matched(_CONDITION, line) for line in self._lines["check"]))

    @property
    def writes(self) -> dict[str, str]:
        """What the arguments that are written hold at the end."""
        return dict(line.split(" = ") for line in self._lines["write"])

    @cached_property
    def body(self) -> Block:
        return _read_block(iter(self._lines[""]), ())[0]

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Of all blocks, in the order of the text."""
        return tuple(_walk(self.body))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Of all blocks, what loops and branches give included."""
        return tuple(value for operation in self.operations for value in operation.results if value.dtype != "size")

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._returned)

    @property
    def result_numbers(self) -> tuple[str, ...]:
        """For each result, the Python type that is made of it (int, float, bool), held (what a call holds under that
        number), or nothing."""
        return tuple(number for _, number in self._returned)

    @cached_property
    def _returned(self) -> tuple[tuple[str, str], ...]:
        lines = [line for line in self._lines["return"] if line != "none"]
        return tuple((m[2], m[1] or "") for line in lines for m in _RETURNED.finditer(line))

    def type_of_result(self, name: str, number: str) -> tuple[str, int]:
        """dtype and rank of a result; what a call holds is a copy of the call's operand, or what a mask picked out."""
        dtype, shape = self.type_of(name)
        if number == "held":
            call = next(o for o in self.operations if any(value.name == name for value in o.results))
            operands = call.operands
            if picked := _PICKED_OUT.match(call.attributes["callee"]):
                array, mask = self._operands_of(picked[1])
                dtype, shape = self.type_of(array)
                return dtype, len(shape) - len(self.type_of(mask)[1]) + 1
            dtype, shape = self.type_of(operands[0])
            if len(operands) == 2 and dtype.startswith("float") and self.type_of(operands[1])[0] == dtype:
                # The halves of complex numbers; beside a number of any kind lies its kind.
                dtype = f"complex{2 * int(dtype.removeprefix('float'))}"
        return dtype, len(shape)

    def _operands_of(self, held: str) -> tuple[str, ...]:
        """Of the call whose result is held under a name."""
        calls = [o for o in self.operations if o.name == "call"]
        return next(o.operands for o in calls if o.attributes["callee"].rstrip('"').endswith(f") as {held}"))

    @property
    def returns_tuple(self) -> bool:
        return any(line.startswith("(") for line in self._lines["return"])

    @cached_property
    def function(self) -> str:
        return next((line.split()[0] for line in self._lines["function"]), "function")

    def type_of(self, name: str) -> tuple[str, tuple[str, ...]]:
        """dtype and shape of an argument or a value."""
        found = self._named[name]
        return found.dtype, found.shape

    @cached_property
    def _named(self) -> dict[str, Value]:
        return {each.name: each for each in (*self.arguments, *self.values)}

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
        sizes = [size for _, shape in self._all_shapes() for size in shape]
        return tuple(dict.fromkeys(symbol for size in sizes for symbol in size_symbols(size)))

    @cached_property
    def counts(self) -> frozenset[str]:
        """The symbols that loops count with."""
        limits = [limit for loop in self._loops for limit in split_sizes(loop.attributes["range"])]
        return frozenset(symbol for limit in limits for symbol in size_symbols(limit))

    @property
    def has_loops(self) -> bool:
        return bool(self._loops)

    @cached_property
    def _loops(self) -> tuple[Operation, ...]:
        return tuple(operation for operation in self.operations if operation.name == "for")

    @cached_property
    def work(self) -> str:
        """A size expression that grows with the number of element operations of a call."""
        terms: dict[str, None] = {}
        for shape in (*self._shapes_of_terms(), *(shape for _, shape in self._all_shapes())):
            factors = sorted(size for size in shape if size != "1")
            if factors:
                terms.setdefault(" * ".join(f if re.fullmatch(r"[\w.]+", f) else f"({f})" for f in factors))
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
        inner = {loop.attributes["variable"] for loop in self._loops}
        inner |= {value.name for each in self.operations for value in each.results if value.dtype == "size"}
        shapes = [(a.name, a.shape) for a in self.arrays] + [(v.name, v.shape) for v in self.values]
        return [
            (name, shape) for name, shape in shapes if inner.isdisjoint(s for size in shape for s in size_symbols(size))
        ]

    @cached_property
    def _lines(self) -> defaultdict[str, list[str]]:
        """What stands behind each of the words that begin lines, and under "" the lines of operations."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for line in map(str.strip, self.text.splitlines()):
            word, _, rest = line.partition(" ")
            if word in _WORDS:
                found["arg" if word == "scalar" else word].append(rest)
            else:
                found[""].append(line)
        return found


def _read_block(lines: Iterator[str], parameters: tuple[Value, ...]) -> tuple[Block, str]:
    """The block, and the line that ends it; "" of the program's own."""
    operations: list[Operation] = []
    yields: tuple[str, ...] = ()
    for line in lines:
        word, _, rest = line.partition(" ")
        if word.startswith("}"):
            return Block(parameters, tuple(operations), yields), line
        if word == "yield":
            yields = split_sizes(rest)
        else:
            operations.append(_read_operation(line, lines))
    return Block(parameters, tuple(operations), yields), ""


def _read_operation(line: str, lines: Iterator[str]) -> Operation:
    match = _matched(_OPERATION, line)
    held = match["attributes"] or ""
    attributes = dict([held.split("=", 1)] if held.startswith("callee=") else _pairs(held))
    if match["variable"]:
        attributes = {"variable": match["variable"], "range": match["range"]}
    carried = [part.rsplit(" = ", 1) for part in split_sizes(match["carried"] or "")]
    operands = (*split_sizes(match["operands"] or match["condition"] or ""), *(value for _, value in carried))
    parameters = tuple(_typed(text) for text, _ in carried)
    regions = []
    end = line
    while end.endswith("{"):
        region, end = _read_block(lines, parameters)
        regions.append(region)
    results = tuple(_typed(text, Value, match["name"], operands) for text in split_sizes(match["results"]))
    return Operation(match["name"], results, operands, attributes, tuple(regions), line)


def _pairs(text: str) -> list[list[str]]:
    return [part.split("=", 1) for part in split_sizes(text)]


def _typed(text: str, kind: type[Value] = Value, operation: str = "", operands: tuple[str, ...] = ()) -> Value:
    match = _matched(_TYPED, text)
    return kind(match[1], match[2], split_sizes(match[3] or ""), operation, operands)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ProgramError(text)
    return found


def _walk(block: Block) -> Iterator[Operation]:
    for operation in block.operations:
        yield operation
        for region in operation.regions:
            yield from _walk(region)


def split_sizes(text: str) -> tuple[str, ...]:
    """`n, min(a, b), 2` -> three expressions: at commas that are not inside of brackets or quotes."""
    parts: list[str] = []
    depth = 0
    current = ""
    for piece in _QUOTED.split(text) if '"' in text else [text]:
        if piece.startswith('"'):
            current += piece
            continue
        for char in piece:
            if char == "," and depth == 0:
                parts.append(current.strip())
                current = ""
                continue
            depth += (char in "([") - (char in ")]")
            current += char
    if current.strip():
        parts.append(current.strip())
    return tuple(parts)


def unquoted(text: str) -> str:
    """What an attribute in quotes says."""
    return re.sub(r"\\(.)", r"\1", text[1:-1])


# A size or a condition at these sizes; 0 or 1 for a condition. KeyError names a size that is not known.
evaluate = evaluate_size


def holds(condition: str, sizes: Mapping[str, int]) -> bool:
    """Whether a guard or a requirement holds; False where it names what is not known."""
    try:
        return bool(evaluate(condition, sizes))
    except (KeyError, ZeroDivisionError, ValueError):
        return False
