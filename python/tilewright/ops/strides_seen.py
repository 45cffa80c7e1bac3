"""Calls between kernels that strides decide in, or whose memory an array is: whether they get a view or a copy of an array."""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..described_results import Argument, Array, Seen, leaves_of
from ..kinds_of_values import arrays_in
from ..operations import VIEWS
from ..symbolic.arrays import SymArray
from ..symbolic.graph import Value
from ..symbolic.tracer import Tracer

_BY_STRIDES = frozenset(
    ("as_strided", "ascontiguousarray", "asfortranarray", "flags", "ravel", "require", "reshape", "strides", "view")
)
_BY_OWNERS = frozenset(("base", "owndata", "require"))
_OPTIONS = frozenset(("copy", "order"))  # of array(), asarray(), astype(), ravel() and others
_ATTRIBUTES = frozenset(("shape", "strides", "dtype"))  # which may be set where memory allows it
# Of generators: they fill an array that lies as C has it, and raise for others.
_FILLS = frozenset(("random", "standard_exponential", "standard_gamma", "standard_normal"))
_MOST_CALLS = 3


def shows_an_argument(value: Value) -> bool:
    """Whether a program may have an argument's memory in its place."""
    while value.operation in VIEWS or (value.operation == "cast" and value.dtype == value.operands[0].dtype):
        value = value.operands[0]
    return value.is_argument


def refuse_other_layouts(tracer: Tracer, function: Any, args: Any, kwargs: Any) -> None:
    """What a program computes lies in memory as C has it. Where it may lie otherwise in NumPy, because an operand does,
    calls that strides decide in are no stages."""
    if _OPTIONS.isdisjoint(kwargs) and not _asks_strides(function):
        return
    for array in arrays_in((args, kwargs)):
        if not isinstance(array, SymArray) or array.is_scalar or array.is_c_contiguous():
            continue
        # Of complex numbers, and of all views but of the same axes in another order, a callee gets new memory.
        is_new = array.dtype.kind == "c" or any(view.operation != "transpose" for view in array.chain)
        if array.storage.argument is not None and not is_new and shows_an_argument(array.read()):
            continue
        tracer.need_layout(array.storage.argument)
        raise tracer.error(
            f"{getattr(function, '__name__', 'a callee')}() between kernels",
            "strides decide between a view and a copy, and what it is handed may lie otherwise than C has it",
            "Pass C-contiguous arrays.",
        )


def refuse_owners(tracer: Tracer, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """What a program hands on is an object of its own, whoever made the memory: what asks whose it is is no stage."""
    if function is np.require:
        asks = wants_own_memory(args[2] if len(args) > 2 else kwargs.get("requirements"))  # noqa: PLR2004
    else:
        asks = _asks(function, _code_asks_for_owners)
    if asks and any(isinstance(one, SymArray) for one in arrays_in((args, kwargs))):
        raise tracer.error(
            f"{getattr(function, '__name__', 'a callee')}() between kernels",
            "it asks whether an array is a view of another one's memory",
            "Leave it out of the compiled function.",
        )


def wants_own_memory(requirements: Any) -> bool:
    """Of np.require()."""
    flags = requirements if isinstance(requirements, (str, list, tuple, set, frozenset)) else ()
    return not {"O", "OWNDATA"}.isdisjoint(str(flag).upper() for flag in flags)


def refuse_uncertain_views(tracer: Tracer, name: str, arrays: list[Any], seen: Seen) -> None:
    """Where strides decide whether an array is a view or a copy, nobody knows what else a call writes that writes it, nor
    whose memory it gives."""
    gives = leaves_of(seen.gives)
    may_share = any(isinstance(one, Argument) or (isinstance(one, Array) and one.is_shared) for one in gives)
    if not (seen.written or seen.kept or may_share):
        return
    for array in arrays:
        if isinstance(array, SymArray) and array.may_be_a_copy():
            tracer.need_layout(array.storage.argument)
            raise tracer.error(
                f"{name}() between kernels",
                "it is handed what may be a view or a copy of an array, as the memory layout decides, and it writes",
                "Take a .copy(), or pass C-contiguous arrays.",
            )


def _asks_strides(function: Any) -> bool:
    """Whether strides may decide in a function; in C's by their names alone."""
    return getattr(_followed(function), "__name__", "") in _BY_STRIDES or _asks(function, _code_asks_strides)


def _code_asks_for_owners(code: types.CodeType) -> bool:
    return any(not _BY_OWNERS.isdisjoint(one.co_names) for one in _codes_of(code))


def _asks(function: Any, code_asks: Callable[[types.CodeType], bool], depth: int = _MOST_CALLS) -> bool:
    """Whether a function's code asks something, or that of the functions of its module that it calls."""
    function = _followed(function)
    if not isinstance(function, types.FunctionType) or depth == 0:
        return False
    if code_asks(function.__code__):
        return True
    called = [function.__globals__.get(name) for code in _codes_of(function.__code__) for name in code.co_names]
    return any(isinstance(one, types.FunctionType) and _asks(one, code_asks, depth - 1) for one in called)


def _followed(function: Any) -> Any:
    function = inspect.unwrap(function) if callable(function) else function
    return getattr(function, "__func__", function)


@functools.lru_cache(maxsize=4096)
def _codes_of(code: types.CodeType) -> tuple[types.CodeType, ...]:
    """A function's code, and that of the functions inside of it."""
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return (code, *itertools.chain.from_iterable(map(_codes_of, inner)))


@functools.lru_cache(maxsize=4096)
def _code_asks_strides(function: types.CodeType) -> bool:
    for code in _codes_of(function):
        if not _BY_STRIDES.isdisjoint(code.co_names):
            return True
        options = {_text(one) for names in code.co_consts if isinstance(names, tuple) for one in names}
        if not _OPTIONS.isdisjoint(options) or ("out" in options and not _FILLS.isdisjoint(code.co_names)):
            return True
        if any(one.opname == "STORE_ATTR" and one.argval in _ATTRIBUTES for one in dis.get_instructions(code)):
            return True
    return False


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
