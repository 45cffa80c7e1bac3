"""The kinds of values that reach a trace from outside, and what takes each in."""

from __future__ import annotations

import collections
import enum
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _face
from ..devices import is_placed
from ..guards import GETTERS
from ..ops.grids import is_builder
from ..originals import original_of
from ..symbolic.number import Symbolic
from .generators import SymGenerator
from .pure import has_own_operators, is_named_tuple
from .staged_draws import StagedGenerator

NUMBERS = (bool, int, float)
_IMMUTABLE = (
    str, bytes, complex, type(None), type(Ellipsis), type(NotImplemented), slice, range, frozenset,
)  # fmt: skip
_TABLES = (dict, collections.OrderedDict, collections.Counter, collections.defaultdict)
# Functions that are not Python's own code: there is one of each, however it is reached.
_SINGLE = (
    types.ModuleType, np.ufunc, type(np.sum), types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, type(np._NoValue),
)  # fmt: skip


def is_enum(value: Any) -> bool:
    return isinstance(value, enum.Enum) and not has_own_operators(type(value))


def _is_partial(value: Any) -> bool:
    """Whether calling it is what functools.partial does."""
    return isinstance(value, functools.partial) and type(value).__call__ is functools.partial.__call__


def _is_single(value: Any) -> bool:
    """Whether its identity says all: a module, a function of C, a class."""
    if isinstance(value, types.BuiltinFunctionType):
        owner = value.__self__
        return owner is None or isinstance(owner, (types.ModuleType, type))
    return isinstance(value, (*_SINGLE, type))


def _is_other_function(value: Any) -> bool:
    """Whether it is called by code that is not Python's: of an extension, say."""
    return callable(value) and not isinstance(original_of(type(value).__call__), types.FunctionType)


def _exactly(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


# Kind of value, how it is told, the method of Inputs that takes it in. The first row that fits serves.
KINDS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("a traced value", _of(Symbolic, SymGenerator, StagedGenerator), "_itself"),
    ("a random generator", _of(np.random.Generator), "_generator"),  # PCG64: its state is an input
    ("an array", _of(np.ndarray), "_array"),  # an input
    ("an array on a device", is_placed, "_placed_array"),  # an input
    ("a member of an enumeration", is_enum, "_member"),  # its identity
    ("a record", _of(np.void), "_object"),  # it may be part of an array, and change
    ("a NumPy number", _of(np.generic), "_numpy_scalar"),  # an input; what no scalar of a program is: its value
    ("a number", _exactly(*NUMBERS), "_number"),  # an input
    ("a constant", lambda value: type(value) in _IMMUTABLE or isinstance(value, np.dtype), "_constant"),  # its value
    ("a getter", _exactly(*GETTERS), "_getter"),  # what it takes, where that are no objects
    ("a jitted function", _of(_face.Dispatcher), "_jitted"),  # that of which it was made
    ("a module, a class or a function of C", _is_single, "_single"),  # its identity
    ("a function", _exactly(types.FunctionType), "_function"),  # its code; what that reads as it is read
    ("a bound method", _of(types.MethodType), "_method"),  # function and self
    ("a method of C", _of(types.BuiltinMethodType, types.MethodWrapperType), "_method_of_c"),  # its name and self
    ("a static method", _exactly(staticmethod), "_static_method"),  # its function
    ("a partial function", _is_partial, "_partial"),  # function, arguments and keywords
    ("a function of numbers under np.vectorize", _exactly(np.vectorize), "_vectorized"),  # its function and options
    ("a function behind lru_cache", _exactly(functools._lru_cache_wrapper), "_single"),  # what it gives is an input
    ("a signature", _of(inspect.Signature, inspect.Parameter), "_single"),  # its identity
    ("a named tuple", lambda value: is_named_tuple(type(value)), "_items"),  # class and length, and each item
    ("a list or a tuple", _exactly(list, tuple), "_items"),  # length, and each item
    ("a deque", _exactly(collections.deque), "_items"),  # length, and each item
    ("a dict", _exactly(*_TABLES), "_table"),  # keys, and each value
    ("a set", _exactly(set), "_set"),  # what is in it, in its order
    ("another function", _is_other_function, "_single"),  # its identity
    ("NumPy's builder of arrays, as np.r_", is_builder, "_single"),  # its identity
    ("an object", lambda _: True, "_object"),  # its class, and what is read of it
)
