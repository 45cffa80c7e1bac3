"""The oracle: runs the text of a program with NumPy. What each operation means, one line each (translator/program_text.md),
those included that passes of the translator make (translator/ir/attributes.def)."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..operations import REDUCED_BY, UFUNCS
from ..program import Block, Operation, Program, ProgramError, ScalarArgument, Value, split_sizes
from ..program import evaluate as size_of


class GuardFailed(Exception):
    """A call that this program does not answer, with the guard's message."""


class CheckFailed(Exception):
    """A call that NumPy has to run: it raises, or computes what the program cannot."""


class UnknownOperation(ProgramError):
    """An operation that is not written down here."""


def evaluate(text: str, inputs: Mapping[str, Any], stages: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The program's result(s). Types and shapes of each value are checked against the text. `stages`: what computes the
    calls that Python makes, by their texts, as symbolic.stages.functions_of() has it."""
    program = Program(text)
    values: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for argument in program.arguments:
        name, dtype = argument.name, argument.dtype
        if isinstance(argument, ScalarArgument):
            _check(dtype in ("bool", "int64", "float64", "complex128"), name)
            values[name] = np.dtype(dtype).type(inputs[name])
            if dtype == "int64":
                sizes[name] = int(inputs[name])
        else:
            array = inputs[name]
            _check(array.dtype == dtype and array.ndim == argument.rank, name)
            values[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
            sizes.update({f"{name}.{axis}": n for axis, n in enumerate(array.shape)})
    for array in program.arrays:
        for axis, size in enumerate(array.shape):
            if size_of(size, sizes) != sizes[f"{array.name}.{axis}"]:
                raise GuardFailed(f"arg {array.name}: {array.dtype}[{', '.join(array.shape)}]")
    for guard in program.guards:
        if not size_of(guard.condition, sizes):
            raise GuardFailed(guard.message)
    held: dict[str, Any] = {}
    _Run(values, sizes, held, stages or {}).block(program.body)
    for check in program.checks:
        truth = values[check.condition]
        _check(truth.dtype == np.bool_ and truth.shape == (), check.message)
        if not truth:
            raise CheckFailed(check.message)
    # All values are there before the first is written; what is returned of an argument is that array, and nothing else is.
    for name, value in values.items():
        if name not in inputs and isinstance(value, np.ndarray) and program.writes:
            values[name] = np.copy(value)
    kept = {name: np.array(values[of]) for name, of in program.writes.items()}
    for name, value in kept.items():
        _check(value.dtype == inputs[name].dtype and value.shape == inputs[name].shape, name)
        inputs[name][...] = value
    pairs = zip(program.results, program.result_numbers, strict=True)
    results = tuple(_as_number(values[name], number, held) if number else values[name] for name, number in pairs)
    return results if program.returns_tuple else results[0] if results else None


def _as_number(value: Any, number: str, held: Mapping[str, Any]) -> Any:
    dtype = {"int": np.int64, "float": np.float64, "bool": np.bool_, "held": np.int64}[number]
    _check(value.dtype == dtype and value.shape == (), number)
    return held[f"r{value}"] if number == "held" else value.item()


class _Run:
    """A block, and the regions in it."""

    def __init__(
        self,
        values: dict[str, Any],
        sizes: dict[str, int],
        held: dict[str, Any],
        stages: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.values = values
        self.sizes = sizes
        self.held = held  # what stages have opened
        self.stages = stages

    def block(self, block: Block) -> list[Any]:
        """What it yields."""
        for operation in block.operations:
            if operation.regions:
                self._region(operation)
            elif operation.name == "read":
                self._read(operation)
            else:
                (value,) = operation.results
                _check(value.name not in self.values, operation.line)
                operands = [self.values[name] for name in operation.operands]
                if operation.name == "call":
                    self.values[value.name] = self._call(operation, operands)
                else:
                    self.values[value.name] = _run(operation, operands, self.sizes)
        return [self.values[name] for name in block.yields]

    def _read(self, operation: Operation) -> None:
        name, line = operation.results[0].name, operation.line
        value = self.values[operation.operands[0]]
        _check(name not in self.sizes and name not in self.values, line)
        _check(value.dtype == np.int64 and value.shape == (), line)
        if operation.attributes:
            low, high = (size_of(operation.attributes[key], self.sizes) for key in ("min", "max"))
            _check(low <= value <= high, line)
        if not -(2**31) <= value < 2**31:
            raise CheckFailed(line)
        self.sizes[name] = int(value)

    def _inner(self, block: Block, extra: Mapping[str, Any]) -> list[Any]:
        """A block's yields; its names are gone afterwards."""
        return _Run({**self.values, **extra}, dict(self.sizes), self.held, self.stages).block(block)

    def _call(self, operation: Operation, operands: list[Any]) -> Any:
        """Python's, of arrays that it only reads."""
        stage = self.stages.get(_unquoted(operation.attributes["callee"]))
        if stage is None:
            text = _unquoted(operation.attributes["callee"])
            raise UnknownOperation(f"{operation.line}: nothing computes the stage {text}")
        given = [np.asarray(operand).view() for operand in operands]
        for one in given:
            one.flags.writeable = False
        result, wanted = np.asarray(stage(self.held, *given)), operation.results[0]
        if (result.dtype, result.shape) != (np.dtype(wanted.dtype), _shape(wanted, self.sizes)):
            raise CheckFailed(f"{operation.line}: it gives {result.dtype}{list(result.shape)}")
        return np.array(result)[()]

    def _checked(self, typed: tuple[Value, ...], values: list[Any], line: str) -> dict[str, Any]:
        _check(len(typed) == len(values), line)
        for wanted, value in zip(typed, values, strict=True):
            if (value.dtype, value.shape) != (np.dtype(wanted.dtype), _shape(wanted, self.sizes)):
                raise ProgramError(f"{line}: {wanted.name} is {value.dtype}{list(value.shape)}")
            _check(wanted.name not in self.values, line)
        return {wanted.name: value for wanted, value in zip(typed, values, strict=True)}

    def _region(self, operation: Operation) -> None:
        regions, line = operation.regions, operation.line
        state = [self.values[name] for name in operation.operands]
        parameters = regions[0].parameters
        if operation.name == "if":
            (truth,) = state
            _check(truth.dtype == np.bool_ and truth.shape == () and len(regions) == 2, line)
            state = self._inner(regions[0 if truth else 1], {})
        elif operation.name == "while":
            while self._inner(regions[0], self._checked(parameters, state, line))[0]:
                state = self._inner(regions[1], self._checked(parameters, state, line))
        else:
            variable, limits = operation.attributes["variable"], split_sizes(operation.attributes["range"])
            _check(variable not in self.sizes, line)
            for index in range(*(size_of(limit, self.sizes) for limit in limits)):
                self.sizes[variable] = index
                state = self._inner(regions[0], self._checked(parameters, state, line))
            self.sizes.pop(variable, None)
        self.values.update(self._checked(operation.results, state, line))


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


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _check(holds: bool, line: str) -> None:
    if not holds:
        raise ProgramError(line)


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


def _shape(value: Value, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(size_of(size, sizes) for size in value.shape)


def _run(given: Operation, operands: list[Any], sizes: Mapping[str, int]) -> Any:
    operation, attributes, line = given.name, given.attributes, given.line
    dtype, shape = np.dtype(given.results[0].dtype), _shape(given.results[0], sizes)
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
        elif operation.startswith("libm_"):
            one = getattr(math, operation.removeprefix("libm_"))
            result = np.frompyfunc(one, 1, 1)(operands[0]) if shape else one(operands[0])
            result = np.asarray(result).astype(np.float64)[()]
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
            key = _index(attributes["index"], sizes, list(shape), extents)
            axes = zip([k for k in key if k is not None], operands[0].shape, strict=True)
            if any(k == 0 and n == 0 for k, n in axes):
                result = dtype.type(0) if not shape else np.zeros(shape, dtype)  # there is a check that this is none
            else:
                result = operands[0][key]
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
