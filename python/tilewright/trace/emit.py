"""Writes the program's text: dead code goes, equal values merge, stages get their names."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import PLAIN_OPERATIONS, REDUCTIONS, VIEW_OPERATIONS, NewAxis, Slice, Value
from .sizes import Size
from .tracer import SizeGuard, Tracer

# Words of the program's, the plan's and the schedule's text: a stage of this name would be read as one of them.
RESERVED = frozenset(
    [
        "arg",
        "scalar",
        "guard",
        "function",
        "return",
        "for",
        "while",
        "if",
        "else",
        "do",
        "in",
        "range",
        "carry",
        "yield",
        "choose",
        "when",
        "where",
        "variant",
        "schedule",
        "space",
        "result",
        "temp",
        "require",
        "version",
        "call",
        "library",
        "end",
        "newaxis",
        "inline",
        "true",
        "false",
        "nan",
        "inf",
    ]
)


@dataclass(frozen=True)
class Emitted:
    text: str
    digest: str
    names: dict[int, str]  # number of a value -> its name
    source_lines: dict[str, str]


class Emitter:
    def __init__(
        self, tracer: Tracer, results: Sequence[Value], returns_tuple: bool, memory: Sequence[int | None]
    ) -> None:
        """`memory`: of each result, what tells its array from others; None for scalars and arguments."""
        self.tracer = tracer
        self.results = list(results)
        self.memory = {value.number: of for value, of in zip(results, memory, strict=True) if of is not None}
        self.returns_tuple = returns_tuple
        self.constants = {a.name: a.value for a in tracer.arguments if a.kind == "constant"}
        self.merged: dict[int, Value] = {}
        self.values: list[Value] = []  # what is left of the program's values
        self.shapes: dict[int, tuple[Size, ...]] = {}
        self.attributes: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.source_lines: dict[str, str] = {}

    def run(self) -> Emitted:
        live = self._merge(self._reachable())
        self.values = live
        self._name(live)
        text = "\n".join([*self._header(), *self._body(live), self._return()]) + "\n"
        return Emitted(text, digest_of(text), self.names, self.source_lines)

    # -- which values are left ----------------------------------------------------------------------

    def _reachable(self) -> list[Value]:
        seen: dict[int, Value] = {}
        pending = list(self.results)
        while pending:
            value = pending.pop()
            if value.number not in seen:
                seen[value.number] = value
                pending.extend(value.operands)
        return [seen[number] for number in sorted(seen)]

    def _merge(self, values: list[Value]) -> list[Value]:
        by_key: dict[Any, Value] = {}
        results = {value.number for value in self.results}
        taken: dict[int, int] = {}  # a result's number -> whose memory it is

        def may_be(value: Value, other: Value) -> bool:
            # Two arrays that are returned stay two, also when they are equal: the caller may write into one.
            mine = self.memory.get(value.number)
            return mine is None or taken.setdefault(other.number, mine) == mine

        for value in values:
            shape = tuple(self.tracer.resolve(size) for size in value.shape)
            self.shapes[value.number] = shape
            operands = [self.merged[operand.number] for operand in value.operands]
            same = self._identity(value, operands, shape)
            if same is not None and not (value.number in results and _is_of_argument(same)) and may_be(value, same):
                if not same.user_name and same.operation not in PLAIN_OPERATIONS:
                    same.user_name = value.user_name
                self.merged[value.number] = same
                continue
            self.attributes[value.number] = self._attribute_text(value)
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
        self.results = [self.merged[value.number] for value in self.results]
        # Merging leaves values that nothing uses any more.
        used: set[int] = set()
        pending = list(self.results)
        while pending:
            value = pending.pop()
            if value.number not in used:
                used.add(value.number)
                pending.extend(self.merged[operand.number] for operand in value.operands)
        return [value for value in values if value.number in used]

    def _identity(self, value: Value, operands: list[Value], shape: tuple[Size, ...]) -> Value | None:
        """The operand that `value` is equal to, if it is one."""
        if value.operation not in VIEW_OPERATIONS and value.operation != "cast":
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

    # -- names ----------------------------------------------------------------------------------------

    def _name(self, values: list[Value]) -> None:
        consumers: dict[int, set[int]] = {}
        for value in values:
            for operand in value.operands:
                consumers.setdefault(self.merged[operand.number].number, set()).add(value.number)
        results = {value.number for value in self.results}
        used = {argument.name for argument in self.tracer.arguments}
        anonymous = 0
        for value in values:
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
                name = self._unique(base, used)
            else:
                anonymous += 1
                name = f"%{anonymous}"
            self.names[value.number] = name
            self.source_lines[name] = value.location

    @staticmethod
    def _unique(base: str, used: set[str]) -> str:
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
        if base in RESERVED or not base.strip("_") or base[0].isdigit():
            base = f"{base}_" if base and not base[0].isdigit() else f"v{base}"
        name, count = base, 2
        while name in used:
            name, count = f"{base}_{count}", count + 1
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
        declared = []
        for axis, size in enumerate(value.shape):
            own = Size.symbol(f"{value.name}.{axis}")
            resolved = self.tracer.resolve(own if not size.is_constant else size)
            declared.append(resolved)
        return declared

    def _guards(self) -> list[SizeGuard]:
        tracer = self.tracer
        seen: set[str] = set()
        guards: list[SizeGuard] = []
        for guard in tracer.guards:
            right = tracer.resolve(guard.right)
            left = guard.left if guard.is_definition else tracer.resolve(guard.left)
            rewritten = SizeGuard(left, guard.operator, right, guard.message, guard.line)
            if not guard.is_definition and (left - right).is_constant:
                continue
            if rewritten.condition not in seen:
                seen.add(rewritten.condition)
                guards.append(rewritten)
        return guards

    def _body(self, values: list[Value]) -> list[str]:
        lines = []
        for value in values:
            if value.is_argument and value.name not in self.constants:
                continue
            shape = ", ".join(map(str, self.shapes[value.number]))
            operands = ", ".join(self.names[self.merged[operand.number].number] for operand in value.operands)
            attributes = self.attributes[value.number]
            operation = "const" if value.is_argument else value.operation
            line = f"{self.names[value.number]}: {value.dtype}[{shape}] = {operation}({operands})"
            lines.append(
                line + (f" {{{attributes}}}" if attributes else "") + (f" @{value.line}" if value.line else "")
            )
        return lines

    def _return(self) -> str:
        names = [self.names[value.number] for value in self.results]
        if not self.returns_tuple:
            return f"return {names[0]}"
        return f"return ({', '.join(names)}{',' if len(names) == 1 else ''})"

    def _attribute_text(self, value: Value) -> str:
        if value.is_argument:
            return f"value={literal(self.constants[value.name], value.dtype)}" if value.name in self.constants else ""
        parts = []
        for key, attribute in value.attributes.items():
            if key == "value":
                text = literal(attribute, value.dtype)
            elif key == "index":
                text = "[" + ", ".join(self._item_text(item) for item in attribute) + "]"
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


def _is_of_argument(value: Value) -> bool:
    """Whether it shows an argument's memory: a copy of that is a value of its own when it is returned."""
    while value.operation in VIEW_OPERATIONS:
        value = value.operands[0]
    return value.is_argument


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A constant as the program's text has it."""
    if dtype == np.bool_:
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    number = float(value)
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return repr(number)


def _as_traced(condition: str) -> str:
    """What a guard asks, and what to do; the runtime puts a call's values between."""
    named = re.sub(r"(\w+)\.(\d+)", r"\1.shape[\2]", condition)
    return f"the function was traced where {named}. Tune it with such arguments too."


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def digest_of(text: str) -> str:
    """32 hexadecimal digits of the text without file and line numbers."""
    bare = re.sub(r' "[^\n]*"$', "", text, count=1, flags=re.M) if text else text
    bare = re.sub(r" @\d+$", "", bare, flags=re.M)
    return hashlib.blake2b(bare.encode(), digest_size=16).hexdigest()
