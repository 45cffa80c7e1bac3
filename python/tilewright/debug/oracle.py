"""The oracle: runs the text of a program with NumPy. What each operation means, one line each (translator/program_text.md),
those included that passes of the translator make (translator/ir/attributes.def)."""

# ruff: noqa: PLR0917
from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from ..operations import REDUCED_BY, UFUNCS
from ..program import split_sizes

_LINE = re.compile(r"(%?\w+): (\w+)\[(.*?)\] = (\w+)\((.*?)\)(?: \{(.*)\})?(?: @\d+)?")
_SYMBOL = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\d+)?")


class GuardFailed(Exception):
    """A call that this program does not answer, with the guard's message."""


class CheckFailed(Exception):
    """A call that NumPy has to run: it raises, or computes what the program cannot."""


class ProgramError(AssertionError):
    """The text breaks the rules of program_text.md."""


class UnknownOperation(ProgramError):
    """An operation that is not written down here."""


def size_of(text: str, sizes: Mapping[str, int]) -> int:
    return int(eval(_size_code(text), {"__builtins__": {}, "min": min, "max": max, "s": sizes}))


# Loops read their lines again at each iteration.
@lru_cache(maxsize=4096)
def _size_code(text: str) -> CodeType:
    code = _SYMBOL.sub(lambda m: m[0] if m[0] in ("min", "max") else f"s[{m[0]!r}]", text)
    return compile(code, "<size>", "eval")


def _holds(condition: str, sizes: Mapping[str, int]) -> bool:
    left, operator, right = re.fullmatch(r"(.*?) (==|!=|<=|>=|<|>) (.*)", condition).groups()  # type: ignore[union-attr]
    a, b = size_of(left, sizes), size_of(right, sizes)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


def evaluate(text: str, inputs: Mapping[str, Any]) -> Any:
    """The program's result(s). Types and shapes of each value are checked against the text."""
    values: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    lines = text.splitlines()
    assert lines[0] == "tilewright-program 1" and lines[1].startswith("function ")
    declared: list[tuple[str, str, str]] = []
    for line in lines[2:]:
        if match := re.fullmatch(r"arg (\w+): (\w+)\[(.*)\]", line):
            name, dtype, shape = match.groups()
            array = inputs[name]
            _check(array.dtype == dtype and array.ndim == len(split_sizes(shape)), line)
            values[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
            sizes.update({f"{name}.{axis}": n for axis, n in enumerate(array.shape)})
            declared.append((name, shape, line))
        elif match := re.fullmatch(r"scalar (\w+): (\w+)", line):
            name, dtype = match.groups()
            _check(dtype in ("bool", "int64", "float64", "complex128"), line)
            values[name] = np.dtype(dtype).type(inputs[name])
            if dtype == "int64":
                sizes[name] = int(inputs[name])
    for name, shape, line in declared:
        for axis, size in enumerate(split_sizes(shape)):
            if size_of(size, sizes) != sizes[f"{name}.{axis}"]:
                raise GuardFailed(line)
    body: list[str] = []
    for line in lines[2:]:
        if match := re.fullmatch(r'guard (.*?) "(.*)"(?: @\d+)?', line):
            if not _holds(match[1], sizes):
                raise GuardFailed(match[2])
        elif not line.startswith(("arg ", "scalar ")):
            body.append(line.strip())
    returned = re.fullmatch(r"return (.*)", body[-1])
    if returned is None:
        raise ProgramError("no return line")
    written = {}
    while match := re.fullmatch(r"write (\w+) = (%?\w+)", body[-2]) if len(body) > 1 else None:
        written[match[1]] = match[2]
        del body[-2]
    checks = []
    while match := re.fullmatch(r'check (%?\w+) "(.*)"', body[-2]) if len(body) > 1 else None:
        checks.append((match[1], match[2]))
        del body[-2]
    _Run(values, sizes).block(body[:-1])
    for name, message in checks:
        _check(values[name].dtype == np.bool_ and values[name].shape == (), message)
        if not values[name]:
            raise CheckFailed(message)
    # All values are there before the first is written; what is returned of an argument is that array, and nothing else is.
    for name, value in values.items():
        if name not in inputs and isinstance(value, np.ndarray) and written:
            values[name] = np.copy(value)
    kept = {name: np.array(values[of]) for name, of in written.items()}
    for name, value in kept.items():
        _check(value.dtype == inputs[name].dtype and value.shape == inputs[name].shape, name)
        inputs[name][...] = value
    if returned[1] == "none":
        return None
    if returned[1].startswith("("):
        return tuple(_returned(item, values) for item in split_sizes(returned[1][1:-1]))
    return _returned(returned[1], values)


def _returned(item: str, values: Mapping[str, Any]) -> Any:
    """A value as it is, or, int(name), as a Python number."""
    if match := re.fullmatch(r"(int|float|bool)\((%?\w+)\)", item):
        value = values[match[2]]
        dtype = {"int": np.int64, "float": np.float64, "bool": np.bool_}[match[1]]
        _check(value.dtype == dtype and value.shape == (), item)
        return value.item()
    return values[item]


class _Run:
    """The lines of a block, and those of the regions in it."""

    def __init__(self, values: dict[str, Any], sizes: dict[str, int]) -> None:
        self.values = values
        self.sizes = sizes

    def block(self, lines: list[str]) -> list[Any]:
        """What it yields."""
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.startswith("yield "):
                _check(at == len(lines), line)
                return [self.values[name] for name in split_sizes(line[6:])]
            if line.endswith("{"):
                regions, at = self._regions(lines, at)
                self._region(line, regions)
                continue
            if match := re.fullmatch(r"(\w+): size = read\((%?\w+)\)(?: \{min=(.*), max=(.*)\})?(?: @\d+)?", line):
                name, value = match[1], self.values[match[2]]
                _check(name not in self.sizes and name not in self.values, line)
                _check(value.dtype == np.int64 and value.shape == (), line)
                if match[3] is not None:
                    low, high = size_of(match[3], self.sizes), size_of(match[4], self.sizes)
                    _check(low <= value <= high, line)
                if not -(2**31) <= value < 2**31:
                    raise CheckFailed(line)
                self.sizes[name] = int(value)
                continue
            name, dtype, shape, operation, operands, attributes = _parsed(line)
            _check(name not in self.values, line)
            self.values[name] = _run(
                operation, [self.values[o] for o in operands], attributes, self.sizes, dtype, self._shape(shape), line,
            )  # fmt: skip
        return []

    def _shape(self, text: str) -> tuple[int, ...]:
        if not text:
            return ()
        return tuple(size_of(size, self.sizes) for size in split_sizes(text))

    @staticmethod
    def _regions(lines: list[str], at: int) -> tuple[list[list[str]], int]:
        """The blocks up to the closing brace, and the line behind it."""
        regions: list[list[str]] = [[]]
        depth = 1
        while True:
            line = lines[at]
            at += 1
            depth -= line.startswith("}")
            if depth == 0:
                if not line.endswith("{"):
                    return regions, at
                regions.append([])
                depth = 1
                continue
            depth += line.endswith("{")
            regions[-1].append(line)

    def _inner(self, lines: list[str], extra: Mapping[str, Any]) -> list[Any]:
        """A block's yields; its names are gone afterwards."""
        return _Run({**self.values, **extra}, dict(self.sizes)).block(lines)

    def _typed(self, text: str) -> list[tuple[str, str, str]]:
        found = [re.fullmatch(r"(%?\w+): (\w+)\[(.*?)\]", part) for part in split_sizes(text)]
        _check(all(found), text)
        return [(m[1], m[2], m[3]) for m in found if m]

    def _checked(self, typed: list[tuple[str, str, str]], values: list[Any], line: str) -> dict[str, Any]:
        _check(len(typed) == len(values), line)
        for (name, dtype, shape), value in zip(typed, values, strict=True):
            if (value.dtype, value.shape) != (np.dtype(dtype), self._shape(shape)):
                raise ProgramError(f"{line}: {name} is {value.dtype}{list(value.shape)}")
            _check(name not in self.values, line)
        return {name: value for (name, _, _), value in zip(typed, values, strict=True)}

    def _region(self, line: str, regions: list[list[str]]) -> None:
        results, head = line[:-1].strip().split(" = ", 1)
        typed = self._typed(results)
        if match := re.fullmatch(r"if (%?\w+)", head):
            truth = self.values[match[1]]
            _check(truth.dtype == np.bool_ and truth.shape == () and len(regions) == 2, line)
            self.values.update(self._checked(typed, self._inner(regions[0 if truth else 1], {}), line))
            return
        match = re.fullmatch(r"(?:for (\w+) in range\((.*)\)|while) carry \((.*)\)", head)
        _check(match is not None, line)
        variable, limits, carried = match.groups()  # type: ignore[union-attr]
        parts = [part.rsplit(" = ", 1) for part in split_sizes(carried)]
        parameters = self._typed(", ".join(part[0] for part in parts))
        state = [self.values[part[1]] for part in parts]
        if variable is None:
            while self._inner(regions[0], self._checked(parameters, state, line))[0]:
                state = self._inner(regions[1], self._checked(parameters, state, line))
        else:
            _check(variable not in self.sizes, line)
            for index in range(*(size_of(limit, self.sizes) for limit in split_sizes(limits))):
                self.sizes[variable] = index
                state = self._inner(regions[0], self._checked(parameters, state, line))
            self.sizes.pop(variable, None)
        self.values.update(self._checked(typed, state, line))


_PCG64_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def _pcg64_state(state: int, increment: int, steps: int) -> int:
    """One step after the other: `steps` of a test are few."""
    for _ in range(steps):
        state = (state * _PCG64_MULTIPLIER + increment) % 2**128
    return state


def _pcg64(operation: str, operands: tuple[int, ...]) -> int:
    """pcg64_high(s, t, a, b, n), pcg64_low(t, b, n), pcg64_word(s, t, a, b, g, h)"""
    if operation == "pcg64_low":
        return _pcg64_state(operands[0], operands[1], operands[2]) % 2**64
    state, increment = (operands[0] << 64) + operands[1], (operands[2] << 64) + operands[3]
    if operation == "pcg64_high":
        return _pcg64_state(state, increment, operands[4]) >> 64
    step = (_PCG64_MULTIPLIER - 1) * state + increment
    state = (state + step * ((operands[4] << 64) + operands[5])) % 2**128
    mixed, turn = (state >> 64) ^ (state % 2**64), state >> 122
    return (mixed >> turn | mixed << (-turn % 64)) % 2**64


def _check(holds: bool, line: str) -> None:
    if not holds:
        raise ProgramError(line)


@lru_cache(maxsize=4096)
def _parsed(line: str) -> tuple[str, np.dtype[Any], str, str, tuple[str, ...], dict[str, str]]:
    """Name, dtype, shape, operation, operands and attributes of a value's line."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ProgramError(line)
    name, dtype, shape, operation, operands, attributes = match.groups()
    given = dict(part.split("=", 1) for part in split_sizes(attributes or ""))
    return name, np.dtype(dtype), shape, operation, split_sizes(operands), given


def _axes(text: str) -> tuple[int, ...]:
    return tuple(int(a) for a in split_sizes(text.strip("[]")))


def _index(
    text: str, sizes: Mapping[str, int], extents: list[int], clamped: tuple[int, ...] | None = None
) -> tuple[Any, ...]:
    """NumPy's key; `extents` are those of the axes that a slice makes. `clamped`: those of the array, where positions
    outside of it stand for the nearest ones inside."""
    key: list[Any] = []
    axis = 0
    remaining = list(extents)
    for item in split_sizes(text[1:-1]):
        if item == "newaxis":
            key.append(None)
            remaining.pop(0)
        elif ":" in item:
            start_text, step_text = item.rsplit(":", 1)
            start, step, count = size_of(start_text, sizes), size_of(step_text, sizes), remaining.pop(0)
            if clamped is not None:
                start = min(max(start, 0), max(clamped[axis] - 1 - step * (count - 1), 0))
            axis += 1
            stop: int | None = start + step * count
            key.append(slice(start, None if stop < 0 else stop, step) if count else slice(0, 0))  # type: ignore[operator]
        else:
            at = size_of(item, sizes)
            key.append(at if clamped is None else min(max(at, 0), max(clamped[axis] - 1, 0)))
            axis += 1
    return tuple(key)


def _run(
    operation: str, operands: list[Any], attributes: dict[str, str], sizes: Mapping[str, int],
    dtype: np.dtype[Any], shape: tuple[int, ...], line: str,
) -> Any:  # fmt: skip
    result: Any
    with np.errstate(all="ignore"):
        if operation == "const":
            literal = attributes["value"]
            read = {"b": lambda text: text == "true", "f": float, "c": complex}.get(dtype.kind, int)
            result = dtype.type(read(literal))
        elif operation in ("real", "imag"):
            result = np.copy(getattr(operands[0], operation))[()]
        elif operation == "complex":
            result = np.empty(shape, dtype)
            result.real, result.imag = operands
            result = result[()]
        elif operation.startswith("magnitude_"):
            result = getattr(np, operation.removeprefix("magnitude_"))(np.hypot(*operands[:2]), operands[2])
        elif operation == "cast":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                result = operands[0].astype(dtype)
        elif operation == "scalar_size":
            result = np.int64(size_of(attributes["size"], sizes))
        elif operation.startswith("pcg64_"):
            _check(all(operand.dtype == np.uint64 for operand in operands), line)
            words = np.frompyfunc(lambda *own: _pcg64(operation, tuple(map(int, own))), len(operands), 1)(*operands)
            result = np.asarray(words, dtype=object).astype(np.uint64)[()]
        elif operation in UFUNCS:
            for operand, axis_count in zip(operands, [len(o.shape) for o in operands], strict=True):
                for extent, whole in zip(operand.shape, shape[len(shape) - axis_count :], strict=True):
                    _check(extent in (1, whole), line)
            ufunc = getattr(np, operation)
            resolved = ufunc.resolve_dtypes((*(o.dtype for o in operands), *(None,) * ufunc.nout))
            _check(
                tuple(resolved[: len(operands)]) == tuple(o.dtype for o in operands),
                f"{line}: operands are not of the loop",
            )
            result = ufunc(*operands)
        elif operation == "where":
            _check(operands[0].dtype == np.bool_ and operands[1].dtype == operands[2].dtype, line)
            result = np.where(*operands)
        elif operation == "index":
            extents = operands[0].shape if "clamped" in attributes else None
            result = operands[0][_index(attributes["index"], sizes, list(shape), extents)]
        elif operation == "windows":
            axis = int(attributes["axis"])
            start, step, stride = (size_of(attributes[key], sizes) for key in ("start", "step", "stride"))
            places = start + step * np.arange(shape[axis])[:, None] + stride * np.arange(shape[axis + 1])
            result = np.take(operands[0], places, axis)
        elif operation == "transpose":
            result = np.transpose(operands[0], _axes(attributes["axes"]))
        elif operation == "reshape":
            result = np.reshape(operands[0], shape)
        elif operation == "broadcast_to":
            result = np.broadcast_to(operands[0], shape)
        elif operation == "iota":
            axis = int(attributes["axis"])
            result = np.broadcast_to(
                np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))]), shape
            )
        elif operation in REDUCED_BY:
            result = getattr(np, REDUCED_BY[operation]).reduce(operands[0], axis=_axes(attributes["axes"]), dtype=dtype)
        elif operation in ("argmin", "argmax"):
            result = getattr(np, operation)(operands[0], axis=int(attributes["axis"]))
        elif operation == "matmul":
            _check(min(operand.ndim for operand in operands) >= 2, line)
            result = operands[0] @ operands[1]
        elif operation == "take":
            axis = int(attributes["axis"])
            extent = operands[0].shape[axis]
            _check(operands[1].dtype == np.int64 and extent > 0, line)
            wrapped = np.where(operands[1] < 0, operands[1] + extent, operands[1])
            result = np.take(operands[0], np.clip(wrapped, 0, extent - 1), axis)
        elif operation == "update":
            result = np.array(operands[0])
            part = operands[1]
            key = _index(attributes["index"], sizes, list(part.shape))
            _check(result[key].shape == part.shape and part.dtype == result.dtype, line)
            result[key] = part
        else:
            raise UnknownOperation(f"{line}: no operation {operation}")
    if result.dtype != dtype or result.shape != shape:
        raise ProgramError(f"{line}: NumPy has {result.dtype}{list(result.shape)}")
    return result
