"""What calls are told apart by, where something is remembered of them: why they are refused, that they stay with NumPy."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from . import _face

_WORDS = (str, bool, int)
_SIZED = (str, bytes, list, tuple, dict, set)
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
