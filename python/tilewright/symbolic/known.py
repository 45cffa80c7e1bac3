"""Values that the arguments' sizes and numbers decide, and no element of an array: they are known while tracing.

`np.array(x.shape) % np.array(block)` is an array of the run to the rules of NumPy's functions. Where Python needs what is in
it (a truth, a number, a shape), it is computed as NumPy computes it, and the sizes and numbers that it is made of are
guarded: a call with others is traced anew.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operations import REDUCED_BY, UFUNCS
from .graph import NewAxis, Slice, Value
from .sizes import Size

if TYPE_CHECKING:
    from .tracer import Tracer

_MOST_ELEMENTS = 1 << 16  # a trace is to take no time for arrays of data's sizes


_POSITIONS = "positions of elements"  # in a tracer's cache


class _Unknown(Exception):  # noqa: N818 - no error: elements or iterations decide
    pass


def known_value(tracer: Tracer, value: Value) -> Any:
    """What the value is in the recorded call, under guards, as an array or a number of NumPy's; None where elements decide."""
    return _found(tracer, lambda known: known.value(value))


def known_size(tracer: Tracer, size: Size) -> int | None:
    """A size that is read from such values."""
    found: int | None = _found(tracer, lambda known: known.size(size))
    return found


def is_known(tracer: Tracer, value: Value) -> bool:
    """Whether it has such a value; nothing is guarded."""
    return _found(tracer, lambda known: known.value(value), guards=False) is not None


def constant_value(tracer: Tracer, value: Value) -> Any:
    """What the value is in every call, as a number of NumPy's; None where anything of the call decides."""
    return _found(tracer, lambda known: known.value(value), guards=False, known=_Constant(tracer))


def _found(tracer: Tracer, asked: Callable[[_Known], Any], guards: bool = True, known: _Known | None = None) -> Any:
    known = known or _Known(tracer)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = asked(known)
    except _Unknown:
        return None
    except Exception:  # noqa: BLE001 - NumPy's own, which the run raises at its place
        return None
    if guards:
        for symbol in sorted(known.symbols, key=tracer.symbol_order.__getitem__):
            tracer.fix_symbol(symbol)
        for name in sorted(known.scalars):
            tracer.fix_scalar(name)
    return result


class _Known:
    """One question: what was computed, and what it hangs on."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.symbols: set[str] = set()
        self.scalars: set[str] = set()
        self.values: dict[int, Any] = {}
        self.held: dict[str, Any] = {}
        self.positions: dict[int, tuple[Value, tuple[int, ...] | None]] = {}

    def value(self, value: Value) -> Any:
        if value.number not in self.values:
            shape = tuple(map(self.size, value.shape))
            if math.prod(shape) > _MOST_ELEMENTS:
                raise _Unknown
            made = self._computed(value, shape)
            if made.dtype != value.dtype or made.shape != shape:
                raise _Unknown
            self.values[value.number] = made
        return self.values[value.number]

    def size(self, size: Size) -> int:
        size = self.tracer.resolve(size)
        numbers = {}
        for symbol in size.symbols():
            if symbol in self.tracer.reads:
                numbers[symbol] = int(self.value(self.tracer.reads[symbol].operands[0]))
            elif symbol in self.tracer.loops:
                raise _Unknown
            else:
                self.symbols.add(symbol)
                numbers[symbol] = self.tracer.sizes[symbol]
        return size.evaluate(numbers)

    def _computed(self, value: Value, shape: tuple[int, ...]) -> Any:
        operation, attributes, dtype = value.operation, value.attributes, value.dtype
        if operation == "result" and attributes["of"].operation == "if":
            branch = attributes["of"]
            taken = branch.blocks[0 if self.value(branch.operands[0]) else 1]
            return self.value(taken.yields[attributes["position"]])
        if value.blocks or operation in ("parameter", "result") or operation.startswith(("pcg64", "libm", "magnitude")):
            raise _Unknown
        if value.is_argument:
            return self._argument(value)
        if operation == "const":
            return dtype.type(attributes["value"])
        if operation == "scalar_size":
            return np.int64(self.size(attributes["size"]))
        if operation == "iota":
            places = np.arange(shape[attributes["axis"]])
            return np.broadcast_to(
                places.reshape([-1 if k == attributes["axis"] else 1 for k in range(len(shape))]), shape
            )
        if operation == "index" and (found := self._last_written(value)) is not None:
            return found
        operands = [self.value(operand) for operand in value.operands]
        if operation == "call":
            return self._called(attributes["callee"], operands)
        if operation == "read":
            return operands[0]
        if operation in UFUNCS:
            return getattr(np, operation)(*operands)
        if operation in REDUCED_BY:
            ufunc = getattr(np, REDUCED_BY[operation])
            return ufunc.reduce(operands[0], axis=tuple(attributes["axes"]), dtype=dtype)
        if operation in ("argmin", "argmax"):
            return getattr(np, operation)(operands[0], axis=attributes["axis"])
        if operation == "where":
            return np.where(*operands)[()]
        if operation == "cast":
            return operands[0].astype(dtype)
        if operation in ("real", "imag"):
            return np.copy(getattr(operands[0], operation))[()]
        if operation == "transpose":
            return np.transpose(operands[0], attributes["axes"])
        if operation == "reshape":
            return np.reshape(operands[0], shape)
        if operation == "broadcast_to":
            return np.broadcast_to(operands[0], shape)
        if operation == "matmul":
            return operands[0] @ operands[1]
        if operation == "take":
            return np.take(operands[0], operands[1], attributes["axis"])
        if operation == "index":
            return operands[0][self._key(attributes["index"], shape)]
        if operation == "update":
            result = np.array(operands[0])
            result[self._key(attributes["index"], operands[1].shape)] = operands[1]
            return result
        raise _Unknown

    def _last_written(self, value: Value) -> Any:
        """One element of an array that statements write element by element: what the last one of them wrote there that did.
        None of others. Computing each state of the array takes the square of their number."""
        key, array = self._position(value), value.operands[0]
        if key is None:
            return None
        while array.operation == "update" and (written := self._position(array)) is not None:
            if written == key:
                return self.value(array.operands[1])
            array = array.operands[0]
        return self.value(array)[key]

    def _position(self, value: Value) -> tuple[int, ...] | None:
        """Of what reads or writes one element, where that is; None of others."""
        known = self.positions.get(value.number)
        if known is None or known[0] is not value:
            items = value.attributes["index"]
            is_one = len(items) == len(value.operands[0].shape) and not any(
                isinstance(k, (NewAxis, Slice)) for k in items
            )
            known = self.positions[value.number] = value, tuple(map(self.size, items)) if is_one else None
        return known[1]

    def _argument(self, value: Value) -> Any:
        found = next((one for one in self.tracer.arguments if one.program_value is value), None)
        if found is not None and found.kind == "hidden" and found.path[0][0] == "constant":
            return np.array(found.value)[()]
        if found is None or found.kind not in ("scalar", "constant"):
            raise _Unknown
        (self.symbols if found.name in self.tracer.sizes else self.scalars).add(found.name)
        return value.dtype.type(found.value)

    def _called(self, text: str, operands: list[Any]) -> Any:
        """NumPy's own function, of arrays that it only reads."""
        stage = self.tracer.stages[text]
        is_numpys = stage.name.startswith("numpy.") and not stage.name.startswith("numpy.random")
        if not (is_numpys and "callee(" in stage.source) and stage.callee is not None:
            raise _Unknown
        given = [np.array(operand) for operand in operands]
        return np.asarray(stage.function()(self.held, *given))[()]

    def _key(self, items: list[Any], extents: tuple[int, ...]) -> tuple[Any, ...]:
        key: list[Any] = []
        remaining = iter(extents)
        for item in items:
            if isinstance(item, NewAxis):
                key.append(None)
                next(remaining)
            elif isinstance(item, Slice):
                start, count = self.size(item.start), next(remaining)
                stop = start + item.step * count
                key.append(slice(start, None if stop < 0 else stop, item.step) if count else slice(0, 0))
            else:
                key.append(self.size(item))
        return tuple(key)


class _Constant(_Known):
    """Knows what no call decides."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        self.positions = tracer.cache.setdefault(_POSITIONS, {})  # which stay what they are

    def size(self, size: Size) -> int:
        size = self.tracer.resolve(size)
        if not size.is_constant:
            raise _Unknown
        return size.constant_part

    def _argument(self, value: Value) -> Any:
        found = next((one for one in self.tracer.arguments if one.program_value is value), None)
        if found is None or found.path[0][0] != "constant":
            raise _Unknown
        return super()._argument(value)
