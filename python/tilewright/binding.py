"""Where a call's values go: from parameters, globals, closures and attributes to the arguments of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from .devices import stand_in
from .program import ArrayArgument, Program


@dataclass(frozen=True)
class Bound:
    """One call, as its program sees it."""

    values: Mapping[str, Any]  # program argument -> what is passed
    arrays: Mapping[str, Any]
    scalars: Mapping[str, Any]
    sizes: Mapping[str, int]
    layouts: Mapping[str, str]  # array -> c, f or any
    hidden: frozenset[str] = field(default_factory=frozenset)  # arrays that are no arguments of the call
    generators: Mapping[str, Any] = field(default_factory=dict)  # of the call: argument with the state -> generator
    on_device: bool = False  # the call runs on a CUDA device; of arrays that lie there, `arrays` has stand-ins

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
        return replace(self, values={}, arrays=shapes, generators={})


def bind(traced: Any, program: Program, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
    """The values of a call that `traced` matches."""
    values = traced.inputs(args, kwargs)
    arrays: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    hidden: set[str] = set()
    kinds = {argument.name: argument.kind for argument in traced.arguments}
    on_device = False
    for wanted in program.arguments:
        if isinstance(wanted, ArrayArgument):
            arrays[wanted.name] = stand_in(values[wanted.name])
            on_device = on_device or arrays[wanted.name] is not values[wanted.name]
            if kinds[wanted.name] == "hidden":
                hidden.add(wanted.name)
        else:
            scalars[wanted.name] = values[wanted.name]
    sizes = program.extents({name: array.shape for name, array in arrays.items()}, scalars)
    layouts = {name: layout_of(array) for name, array in arrays.items()}
    generators = traced.called_generators(args, kwargs)
    return Bound(values, arrays, scalars, sizes, layouts, frozenset(hidden), generators, on_device)


def layout_of(array: Any) -> str:
    """c, f or any; what is both is c. Arrays whose strides are no whole elements are copied by the runtime."""
    flags = array.flags
    return "c" if flags.c_contiguous else "f" if flags.f_contiguous else "any"
