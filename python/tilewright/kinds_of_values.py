"""What values that calls are handed or give are for stages: arrays of numbers, objects, containers, plain values."""

from __future__ import annotations

import collections
import enum
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .outside_values import is_of_a_statement


def containers_in(value: Any) -> Iterator[Any]:
    """Lists, dicts and sets among arguments, those inside of others too."""
    if isinstance(value, (list, dict, set)):
        yield value
    if isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(containers_in, value))
    if isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(containers_in, value.values()))


def may_be_changed(values: tuple[Any, ...]) -> bool:
    """Whether one of them is an object of a Python class or a container, which what is handed it may change."""
    return any(is_object(one) or next(containers_in(one), None) is not None for one in values)


def is_of_numbers(value: Any) -> bool:
    """Whether kernels know such an array, or number of NumPy's."""
    dtype = value.dtype
    is_long = dtype.itemsize > (16 if dtype.kind == "c" else 8)
    return (
        dtype.kind in "biufc"
        and dtype.isnative
        and not is_long
        and (type(value) is np.ndarray or isinstance(value, (np.generic, np.memmap)))
    )


def is_object(value: Any) -> bool:
    """Whether it is an object of a class that Python code defines, which is told from others by its class alone: what calls
    and iterates, what is raised, members of enumerations and our own objects are something else. So are arrays of texts,
    dates and objects, and those of other classes."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return not is_of_numbers(value)
    if not is_of_a_statement(kind) or str(kind.__module__).split(".")[0] in ("builtins", "tilewright", "numpy"):
        return False
    if callable(value) or hasattr(kind, "__next__") or isinstance(value, (BaseException, enum.Enum)):
        return False
    if isinstance(value, tuple) and hasattr(value, "_fields") and not getattr(value, "__dict__", None):
        return False
    plain = (object, tuple, list, dict)  # all that may be in one is found by Python's own ways
    return all(base in plain or is_of_a_statement(base) for base in kind.__mro__)


def arrays_in(value: Any) -> Iterator[Any]:
    """Arrays among arguments, those inside of containers too, in order."""
    if is_object(value):
        return
    if type(value) is np.ndarray:
        yield value
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(arrays_in, value))
    elif _has(value, "dtype") and _has(value, "shape") and not isinstance(value, (type, types.ModuleType)):
        yield value


def _has(value: Any, name: str) -> bool:
    """Without asking for it: of what stands for a selection a shape is an operation."""
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ())


def kind_of_plain(value: Any, kind_of: Callable[[Any], Any]) -> Any:
    """Of numbers their type, for traces may have them as run-time values; of all else the value."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(kind_of, value))
    if isinstance(value, dict):
        return dict, tuple((key, kind_of(one)) for key, one in value.items())
    if type(value) in (int, float, complex):
        return type(value)
    if type(value) is slice:  # has no hash
        return slice, kind_of((value.start, value.stop, value.step))
    return type(value), value


def kind_of_value(value: Any) -> Any:
    """What calls are told apart by of an argument. TypeError where no call is like another one."""
    if isinstance(value, types.GeneratorType):
        raise TypeError
    if is_object(value) or isinstance(value, np.random.Generator):
        return kind_of_object(type(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return "array", value.dtype.str, value.ndim
    return kind_of_plain(value, kind_of_value)


def kind_of_object(kind: type) -> Any:
    return "object", kind


# A Python int of the run is at most that, or reached from there in small steps (symbolic/run_numbers.py).
LARGEST_INT = 2**61
CONTAINERS = (
    list, tuple, dict, set, frozenset, str, bytes, bytearray, collections.deque, collections.defaultdict, collections.Counter,
    collections.OrderedDict,
)  # fmt: skip
