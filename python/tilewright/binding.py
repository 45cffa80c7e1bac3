"""Where a call's values go: from parameters, globals, closures and attributes to the arguments of the program."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from .program import Program


@dataclass(frozen=True)
class Bound:
    """One call, as its program sees it."""

    values: Mapping[str, Any]  # program argument -> what is passed
    arrays: Mapping[str, Any]
    scalars: Mapping[str, Any]
    sizes: Mapping[str, int]
    layouts: Mapping[str, str]  # array -> c, f or any
    hidden: frozenset[str] = field(default_factory=frozenset)  # arrays that are no arguments of the call

    def without_data(self) -> Bound:
        """The same shapes and layouts, without keeping the caller's arrays alive."""
        shapes = {
            name: SimpleNamespace(
                shape=array.shape,
                dtype=array.dtype,
                flags=SimpleNamespace(c_contiguous=array.flags.c_contiguous, f_contiguous=array.flags.f_contiguous),
            )
            for name, array in self.arrays.items()
        }
        return replace(self, values={}, arrays=shapes)


def bind(traced: Any, program: Program, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
    """The values of a call that `traced` matches."""
    from .trace.arguments import follow

    function = traced.function
    parameters = bound_parameters(function, args, kwargs)
    by_name = {argument.name: argument for argument in traced.arguments}
    values: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    hidden: set[str] = set()
    for wanted in program.arguments:
        argument = by_name[wanted.name]
        outside = argument.path[0][0] == "constant"
        value = argument.value if outside else follow(argument.path, parameters, function)
        values[wanted.name] = value
        if hasattr(wanted, "rank"):
            arrays[wanted.name] = np.asanyarray(value)
            if argument.kind == "hidden":
                hidden.add(wanted.name)
        else:
            scalars[wanted.name] = value
    sizes = program.extents({name: array.shape for name, array in arrays.items()}, scalars)
    layouts = {name: layout_of(array) for name, array in arrays.items()}
    return Bound(values, arrays, scalars, sizes, layouts, frozenset(hidden))


def bound_parameters(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Parameter -> value, defaults filled in. TypeError as from the call itself."""
    bound = _signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def layout_of(array: Any) -> str:
    """c, f or any; what is both is c. Arrays whose strides are no whole elements are copied by the runtime."""
    flags = array.flags
    return "c" if flags.c_contiguous else "f" if flags.f_contiguous else "any"


@lru_cache(maxsize=1024)
def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)
