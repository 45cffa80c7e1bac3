"""What calls are told apart by, where something is remembered of them: why they are refused, that they stay with NumPy."""

from __future__ import annotations

import operator
import types
from typing import Any

import numpy as np

from . import _face

_WORDS = (str, bool, int)
_SIZED = (str, bytes, list, tuple, dict, set)
_LARGEST_NUMBER = 1 << 62  # as C has it; one beyond comes to Python
_MOST_LARGEST = 4  # calls that are kept, of which none is larger than another
_BITS_ALIKE = 3  # of two numbers, one of which is no more than some eight times the other
_EACH_ITS_OWN = (np.ufunc, types.BuiltinFunctionType, _face.Dispatcher, type(np.sum), type)


def shape_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Equal for calls of arrays of the same shapes, with equal words and whole numbers: these often choose what is done."""
    values = (*args, *kwargs.values(), *kwargs) if kwargs else args
    return tuple(
        (a.shape, a.dtype) if type(a) is np.ndarray else (type(a), a) if type(a) in _WORDS else _identity_key(a)
        for a in values
    )


def without_values(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape_key() of the same call with any words and numbers."""
    return tuple(part[0] if type(part) is tuple and part[0] in _WORDS else part for part in key)


def rank_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape_key() of the same call with arrays of any shapes and any whole numbers."""
    return tuple(
        (len(part[0]), part[1]) if type(part) is tuple and type(part[0]) is tuple
        else part[0] if type(part) is tuple and part[0] is int
        else part
        for part in key
    )  # fmt: skip


class LargestCalls:
    """Of calls of one rank_key(): how many different ones there were, and those that no other one is larger than."""

    def __init__(self) -> None:
        self.calls = 0
        self.largest: list[tuple[Any, ...]] = []  # the shapes and the whole numbers of each, None of all else

    def add(self, key: tuple[Any, ...]) -> None:
        """A call by its shape_key()."""
        self.calls += 1
        if self._above(sizes := _sizes_of(key)) is None:
            self.largest = [other for other in self.largest if not _is_within(other, sizes)][1 - _MOST_LARGEST :]
            self.largest.append(sizes)

    def key(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What Dispatcher.stay() takes for all calls that are no larger than one that is no smaller than this; None where
        none is."""
        above = self._above(_sizes_of(key))
        return above and tuple(
            part if bound is None else (part[0], None, bound) if part[0] is int else (bound, part[1], None)
            for part, bound in zip(key, above, strict=True)
        )

    def _above(self, sizes: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return next((other for other in self.largest if _is_within(sizes, other)), None)


def _sizes_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_size_of, key))


def _size_of(part: Any) -> Any:
    if type(part) is not tuple:
        return None
    if type(part[0]) is tuple:
        return part[0]
    return min(abs(part[1]), _LARGEST_NUMBER) if part[0] is int else None


def _is_within(sizes: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return all(
        one is None or (all(map(operator.le, one, other)) if type(one) is tuple else one <= other)
        for one, other in zip(sizes, others, strict=True)
    )


def magnitude_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The shape_key() of the same call with any words, and with any numbers and lengths of about the same size."""
    key = without_values(shape_key(args, kwargs))
    values = (*args, *kwargs.values(), *kwargs) if kwargs else args
    return (*key, *map(_magnitude, values))


def _magnitude(value: Any) -> int:
    if type(value) is int:
        return abs(value).bit_length() // _BITS_ALIKE
    return len(value).bit_length() if type(value) in _SIZED else 0


def _identity_key(value: Any) -> Any:
    """Of a function itself, since each is another program; else the class."""
    if isinstance(value, types.FunctionType):
        return value.__code__
    return value if isinstance(value, _EACH_ITS_OWN) else type(value)


def call_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Equal for calls that are refused for the same reason."""
    return tuple(_value_key("", a) for a in args) + tuple(_value_key(k, kwargs[k]) for k in sorted(kwargs))


def _value_key(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        return (name, value.dtype.str, value.ndim, type(value), value.size == 0, value.flags.c_contiguous)
    if value is None or isinstance(value, np.dtype):
        return (name, value)
    if type(value) in _WORDS:
        return (name, type(value), value)
    placed = _face.placed(value)
    if placed is not None:
        return (name, placed[1], len(placed[2]), type(value), 0 in placed[2])
    return (name, _identity_key(value))
