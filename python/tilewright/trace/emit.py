"""Writes the program's text: dead code goes, equal values merge, stages get their names."""

from __future__ import annotations

import hashlib
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..operations import REDUCTIONS, REGIONS, VIEWS
from ..symbolic.graph import (
    PLAIN_OPERATIONS,
    Block,
    NewAxis,
    Slice,
    Value,
    unchanged,
)
from ..symbolic.size_guards import SizeGuard
from ..symbolic.sizes import LIMITS, Size
from ..symbolic.symbols import free_name
from ..symbolic.tracer import Tracer

# Words of the program's, the plan's and the schedule's text: a stage of this name would be read as one of them.
RESERVED = frozenset([
    "arg", "scalar", "check", "none", "size", "write", "guard", "function", "return", "for", "while", "if", "else",
    "do", "in", "range", "carry", "yield", "choose", "when", "where", "variant", "schedule", "space", "result", "temp",
    "require", "version", "call", "library", "end", "newaxis", "inline", "true", "false", "nan", "inf",
])  # fmt: skip


class Emitter:
    def __init__(  # noqa: PLR0917
        self,
        tracer: Tracer,
        results: Sequence[Value],
        returns_tuple: bool,
        memory: Sequence[int | None],
        writes: Mapping[str, Value],
        kinds: Sequence[str] = (),
    ) -> None:
        """`memory`: of each result, what tells its array from others; None for scalars and arguments. `writes`: what
        argument arrays hold at the end. `kinds`: int, float and bool for results that are Python numbers."""
        self.tracer = tracer
        self.known: dict[int, Value] = {}
        self.results: list[Value] = []
        for value in results:
            # Out of loops that do not change it: what is said of results is said of the value itself.
            same = unchanged(value, self.known)
            self.results.append(value if any(same is other for other in self.results) else same)
        self.writes = dict(writes)
        self.kinds = list(kinds) or [""] * len(results)
        self.checks = list(tracer.checks.values())
        if tracer.check_reasons:
            self.checks.append((tracer.checked.read(), "; ".join(tracer.check_reasons)))
        self.memory = {value.number: of for value, of in zip(self.results, memory, strict=True) if of is not None}
        self.returns_tuple = returns_tuple
        self.constants = {a.name: a.value for a in tracer.arguments if a.kind == "constant"}
        self.merged: dict[int, Value] = {}
        # Loops, and the positions of what their iterations set to what the loop began with.
        self.set_to_the_first: set[tuple[int, int]] = set()
        self.values: list[Value] = []  # what is left of the program's values
        self.live: set[int] = set()
        self.handed: dict[int, set[int]] = {}  # of each loop or branch: the positions that somebody reads
        self.shapes: dict[int, tuple[Size, ...]] = {}
        self.attributes: dict[int, str] = {}
        self.names: dict[int, str] = {}  # number of a value -> its name

    def text(self) -> str:
        program = self.tracer.blocks[0]
        self._mark()
        self._merge(program, {}, {value.number for value in self.results}, {})
        self.results = [self.merged[value.number] for value in self.results]
        self.checks = [(self.merged[value.number], reason) for value, reason in self.checks]
        written = {name: self.merged[value.number] for name, value in self.writes.items()}
        kept = {argument.name for argument in self.tracer.arguments if self.tracer.shows_writes(argument)}
        self.writes = {
            name: value
            for name, value in written.items()
            if (value.name != name or name in kept) and Size.constant(0) not in value.shape
        }
        # Merging leaves values that nothing uses any more.
        self._mark()
        self.values = list(self._in_order(program))
        self._name(self.values)
        writes = [f"write {name} = {self.names[value.number]}" for name, value in self.writes.items()]
        lines = [*self._header(), *self._body(program, ""), *self._checks(), *writes, self._return()]
        return "\n".join(lines) + "\n"

    # -- which values are left ----------------------------------------------------------------------

    def _mark(self) -> None:
        """What the results need: of a loop, what it carries for them."""
        self.live, self.handed = set(), {}
        pending = [*self.results, *self.writes.values()]
        pending += [value for value, _ in self.checks]
        pending += self.tracer.calls_in(self.tracer.blocks[0])

        def hand(region: Value, position: int) -> None:
            pending.append(region)
            if region.number not in self.handed:
                pending.extend(call for block in region.blocks for call in self.tracer.calls_in(block))
            handed = self.handed.setdefault(region.number, set())
            if position in handed:
                return
            handed.add(position)
            if region.operation != "if":
                pending.extend((region.operands[position], region.blocks[0].parameters[position]))
            pending.extend(block.yields[position] for block in _bodies(region))

        while pending:
            value = pending.pop()
            value = self.merged.get(value.number, value)
            if value.number in self.live:
                continue
            self.live.add(value.number)
            if self.tracer.reads:
                pending.extend(
                    self.tracer.reads[symbol] for symbol in self._symbols_of(value) & self.tracer.reads.keys()
                )
            if value.blocks and value.number not in self.handed:
                pending.extend(value.attributes["results"][:1])  # it runs for its calls
            if value.operation in ("result", "parameter"):
                hand(value.attributes["of"], value.attributes["position"])
            elif value.operation == "if":
                pending.extend(value.operands)
            elif value.operation == "while":
                pending.extend(value.blocks[0].yields)
            elif value.operation != "for":
                pending.extend(value.operands)

    def _symbols_of(self, value: Value) -> set[str]:
        """The symbols of sizes that it needs."""
        sizes = [*value.shape]
        for attribute in value.attributes.values():
            for item in attribute if isinstance(attribute, list) else [attribute]:
                if isinstance(item, Slice):
                    sizes.append(item.start)
                elif isinstance(item, Size):
                    sizes.append(item)
        return {symbol for size in sizes for symbol in self.tracer.resolve(size).symbols()}

    def _in_order(self, block: Block) -> Iterator[Value]:
        """The values that are left, those of regions behind their operation."""
        yield from (value for value in block.parameters if value.number in self.live)
        for value in block.values:
            if value.number in self.live and self.merged[value.number] is value:
                yield value
                for position, inner in enumerate(value.blocks):
                    shown = inner if position == 0 else Block(values=inner.values)
                    yield from self._in_order(shown)

    def _merge(
        self, block: Block, by_key: MutableMapping[Any, Value], results: set[int], taken: dict[int, int]
    ) -> None:
        """Equal values become one; `taken`: a result's number -> whose memory it is."""

        def may_be(value: Value, other: Value) -> bool:
            # Two arrays that are returned stay two, also when they are equal: the caller may write into one.
            mine = self.memory.get(value.number)
            return mine is None or taken.setdefault(other.number, mine) == mine

        for value in [*block.parameters, *block.values]:
            if value.number not in self.live:
                continue
            shape = tuple(self.tracer.resolve(size) for size in value.shape)
            self.shapes[value.number] = shape
            if value.operation in ("parameter", "result") and (same := self._unchanged(value)) is not None:
                self.merged[value.number] = self.merged[same.number]
                continue
            if value.operation in REGIONS or value.operation in ("parameter", "result"):
                self.merged[value.number] = value
                may_be(value, value)  # it is its own memory: no copy of it is that
                for inner in value.blocks:
                    self._merge(inner, ChainMap({}, by_key), results, taken)
                continue
            operands = [self.merged[operand.number] for operand in value.operands]
            same = self._identity(value, operands, shape)
            if (
                same is not None
                and not (value.number in results and self._is_of_argument(same))
                and may_be(value, same)
            ):
                if not same.user_name and same.operation not in PLAIN_OPERATIONS:
                    same.user_name = value.user_name
                self.merged[value.number] = same
                continue
            self.attributes[value.number] = self._attribute_text(value)
            if value.operation == "read":
                self.merged[value.number] = value
                continue
            if value.is_argument:
                key: Any = (value.operation, value.name)
            else:
                key = (
                    value.operation,
                    tuple(operand.number for operand in operands),
                    self.attributes[value.number],
                    str(value.dtype),
                    tuple(map(str, shape)),
                )
            kept = by_key.setdefault(key, value)
            if not may_be(value, kept):
                kept = value
                taken[value.number] = self.memory[value.number]
            if kept is not value and not kept.user_name:
                kept.user_name = value.user_name
            self.merged[value.number] = kept

    def _unchanged(self, value: Value) -> Value | None:
        """What a loop carries and no iteration changes, and no way of a branch: the value that it began with."""
        loop, position = value.attributes["of"], value.attributes["position"]
        if value.operation == "result":
            same = unchanged(value, self.known)
            if same is not value:
                return same
            return loop.operands[position] if (loop.number, position) in self.set_to_the_first else None
        final, initial = unchanged(loop.blocks[-1].yields[position], self.known), loop.operands[position]
        if final is value:
            return initial
        # Each iteration may leave what the loop began with, instead of what it got: an array from outside by another name.
        before, left = self.merged.get(initial.number), loop.attributes["results"][position]
        is_returned = left.number in self.memory or any(left is one for one in self.results)
        if before is None or self.merged.get(final.number) is not before or is_returned:
            return None
        self.set_to_the_first.add((loop.number, position))
        return initial

    def _identity(self, value: Value, operands: list[Value], shape: tuple[Size, ...]) -> Value | None:
        """The operand that `value` is equal to, if it is one."""
        if value.operation not in VIEWS and value.operation != "cast":
            return None
        operand = operands[0]
        if operand.dtype != value.dtype or self.shapes[operand.number] != shape:
            return None
        if value.operation == "transpose":
            return operand if value.attributes["axes"] == sorted(value.attributes["axes"]) else None
        if value.operation == "index":
            for item in value.attributes["index"]:
                if not isinstance(item, Slice) or item.step != 1 or self.tracer.resolve(item.start) != Size.constant(0):
                    return None
        return operand

    def _is_of_argument(self, value: Value) -> bool:
        """Whether it shows an argument's memory, in the program as it is written: a copy of that is a new value when it is
        returned."""
        while value.operation in VIEWS or value.operation in ("real", "imag"):
            value = self.merged[value.operands[0].number]
        return value.is_argument

    # -- names ----------------------------------------------------------------------------------------

    def _name(self, values: list[Value]) -> None:
        consumers: dict[int, set[int]] = {}
        for value in values:
            used_by = [*value.operands, *(yielded for block in value.blocks for yielded in block.yields)]
            for operand in used_by:
                if operand.number in self.merged:
                    consumers.setdefault(self.merged[operand.number].number, set()).add(value.number)
        results = {value.number for value in self.results}
        used = {argument.name for argument in self.tracer.arguments} | set(self.tracer.loops)
        anonymous = 0
        for value in values:
            if value.operation in REGIONS:
                for position in sorted(self.handed.get(value.number, ())):
                    result = value.attributes["results"][position]
                    self.names[result.number] = self._unique(result.user_name or result.call_name, used)
                continue
            if value.operation == "result":
                continue
            if value.operation == "read":
                self.names[value.number] = value.attributes["symbol"]
                continue
            if value.operation == "parameter":
                self.names[value.number] = self._unique(value.user_name or value.call_name, used)
                continue
            if value.is_argument and value.name not in self.constants:
                self.names[value.number] = value.name
                continue
            base = ""
            if value.operation not in PLAIN_OPERATIONS:
                if value.user_name:
                    base = value.user_name
                elif (
                    value.operation in REDUCTIONS
                    or value.operation == "matmul"
                    or value.number in results
                    or len(consumers.get(value.number, ())) > 1
                    and value.operation != "cast"
                ):
                    base = value.call_name
            if base:
                self.names[value.number] = self._unique(base, used)
            else:
                anonymous += 1
                self.names[value.number] = f"%{anonymous}"

    @staticmethod
    def _unique(base: str, used: set[str]) -> str:
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
        if base in RESERVED or not base.strip("_") or base[0].isdigit():
            base = f"{base}_" if base and not base[0].isdigit() else f"v{base}"
        name = free_name(base, used)
        used.add(name)
        return name

    # -- text -----------------------------------------------------------------------------------------

    def _header(self) -> list[str]:
        tracer = self.tracer
        name = re.sub(r"\W", "_", tracer.function_name, flags=re.ASCII)
        name = name if name.strip("_") and not name[0].isdigit() else f"function{name.rstrip('_')}"
        lines = ["tilewright-program 1", f'function {name} "{_escape(tracer.file)}"']
        for argument in tracer.arguments:
            value = argument.program_value
            if argument.kind in ("array", "hidden") and value is not None:
                shape = ", ".join(str(size) for size in self._declared(value))
                lines.append(f"arg {argument.name}: {value.dtype}[{shape}]")
            elif argument.kind == "scalar" and value is not None:
                lines.append(f"scalar {argument.name}: {value.dtype}")
        for guard in self._guards():
            message = guard.message or _as_traced(guard.condition)
            at = f" @{guard.line}" if guard.line else ""
            lines.append(f'guard {guard.condition} "{_escape(message)}"{at}')
        return lines

    def _declared(self, value: Value) -> list[Size]:
        """The extents of an argument, with the symbols of substituted ones where the text may have them."""
        return [
            self.tracer.resolve(size if size.is_constant else Size.symbol(f"{value.name}.{axis}"))
            for axis, size in enumerate(value.shape)
        ]

    def _guards(self) -> list[SizeGuard]:
        tracer = self.tracer
        seen: set[str] = set()
        guards: list[SizeGuard] = []
        for guard in tracer.guards:
            right = tracer.resolve(guard.right)
            left = tracer.defined(guard.left) if guard.is_definition else tracer.resolve(guard.left)
            rewritten = SizeGuard(left, guard.operator, right, guard.message, guard.line)
            if (left - right).is_constant or _holds_for_all(rewritten):
                continue
            if rewritten.condition not in seen:
                seen.add(rewritten.condition)
                guards.append(rewritten)
        return guards

    def _body(self, block: Block, indent: str) -> list[str]:
        lines = []
        for value in block.values:
            if value.number not in self.live or self.merged[value.number] is not value or value.operation == "result":
                continue
            if value.is_argument and value.name not in self.constants:
                continue
            if value.operation in REGIONS:
                lines += self._region(value, indent)
                continue
            operands = ", ".join(self._name_of(operand) for operand in value.operands)
            attributes = self.attributes[value.number]
            typed = f"{self.names[value.number]}: size" if value.operation == "read" else self._typed(value)
            operation = "const" if value.is_argument else value.operation
            line = f"{indent}{typed} = {operation}({operands})"
            lines.append(line + (f" {{{attributes}}}" if attributes else "") + _at(value))
        return lines

    def _region(self, region: Value, indent: str) -> list[str]:
        positions = sorted(self.handed[region.number])
        results = ", ".join(self._typed(region.attributes["results"][k]) for k in positions)
        head = f"{indent}{results} = {region.operation} "
        if region.operation == "if":
            head += f"{self._name_of(region.operands[0])} {{"
        else:
            carried = ", ".join(
                f"{self._typed(region.blocks[0].parameters[k])} = {self._name_of(region.operands[k])}"
                for k in positions
            )
            if region.operation == "for":
                a = region.attributes
                limits = ", ".join(str(self.tracer.resolve(a[key])) for key in ("start", "stop", "step"))
                head += f"{a['variable']} in range({limits}) "
            head += f"carry ({carried}) {{"
        lines = [head]
        for number, block in enumerate(region.blocks):
            lines += self._body(block, indent + "  ")
            is_test = region.operation == "while" and number == 0
            yielded = block.yields if is_test else [block.yields[k] for k in positions]
            lines.append(f"{indent}  yield {', '.join(self._name_of(value) for value in yielded)}")
            if number + 1 < len(region.blocks):
                lines.append(f"{indent}}} {'do' if is_test else 'else'} {{")
        lines.append(f"{indent}}}{_at(region)}")
        return lines

    def _name_of(self, value: Value) -> str:
        return self.names[self.merged[value.number].number]

    def _typed(self, value: Value) -> str:
        shape = self.shapes.get(value.number) or tuple(self.tracer.resolve(size) for size in value.shape)
        return f"{self.names[value.number]}: {value.dtype}[{', '.join(map(str, shape))}]"

    def _checks(self) -> list[str]:
        reasons: dict[str, list[str]] = {}
        for value, reason in self.checks:
            reasons.setdefault(self.names[value.number], []).append(reason)
        return [f'check {name} "{_escape("; ".join(dict.fromkeys(why)))}"' for name, why in reasons.items()]

    def _return(self) -> str:
        names = [self.names[value.number] for value in self.results]
        names = [f"{kind}({name})" if kind else name for kind, name in zip(self.kinds, names, strict=True)]
        if not names:
            return "return none"
        if not self.returns_tuple:
            return f"return {names[0]}"
        return f"return ({', '.join(names)}{',' if len(names) == 1 else ''})"

    def _attribute_text(self, value: Value) -> str:
        if value.is_argument:
            return f"value={literal(self.constants[value.name], value.dtype)}" if value.name in self.constants else ""
        parts = []
        for key, attribute in value.attributes.items():
            if key == "symbol":
                continue
            if key == "value":
                text = literal(attribute, value.dtype)
            elif key == "index":
                text = "[" + ", ".join(self._item_text(item) for item in attribute) + "]"
            elif key == "callee":
                text = quoted(attribute)
            elif isinstance(attribute, Size):
                text = str(self.tracer.resolve(attribute))
            else:
                text = str(attribute)
            parts.append(f"{key}={text}")
        return ", ".join(parts)

    def _item_text(self, item: Any) -> str:
        if isinstance(item, NewAxis):
            return "newaxis"
        if isinstance(item, Slice):
            return f"{self.tracer.resolve(item.start)}:{item.step}"
        return str(self.tracer.resolve(item))


def _bodies(region: Value) -> tuple[Block, ...]:
    """The blocks that yield what the region gives."""
    return region.blocks[1:] if region.operation == "while" else region.blocks


def _at(value: Value) -> str:
    return f" @{value.line}" if value.line else ""


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A constant as the program's text has it."""
    if dtype == np.bool_:
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.kind == "c":
        number = complex(value)
        parts = [literal(part, np.dtype(np.float64)) for part in (number.real, number.imag)]
        return f"{parts[0]}{'' if parts[1].startswith('-') else '+'}{parts[1]}j"
    return repr(float(value))


def _as_traced(condition: str) -> str:
    """What a guard asks, and what to do; the runtime puts a call's values between."""
    named = re.sub(r"(\w+)\.(\d+)", r"\1.shape[\2]", condition)
    return f"the function was traced where {named}. Tune it with such arguments too."


def quoted(text: str) -> str:
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def digest_of(text: str) -> str:
    """32 hexadecimal digits of the text without file and line numbers."""
    bare = re.sub(r' "[^\n]*"$', "", text, count=1, flags=re.M)
    bare = re.sub(r" @\d+$", "", bare, flags=re.M)
    return hashlib.blake2b(bare.encode(), digest_size=16).hexdigest()


def _holds_for_all(guard: SizeGuard) -> bool:
    """Whether no size of 64 bits fails it."""
    least, most = LIMITS
    left, right = (size.evaluate({}) if size.is_constant else None for size in (guard.left, guard.right))
    return guard.operator == ">=" and ((left is not None and left >= most) or (right is not None and right <= least))
