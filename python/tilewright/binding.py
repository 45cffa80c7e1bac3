"""Where a call's values go: from parameters, globals, closures and attributes to the arguments of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import SimpleNamespace
from typing import Any

from .devices import stand_in
from .light_dataclass import dataclass
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
    generators: Mapping[str, Any] = field(default_factory=dict)  # of the call: argument with the state -> generator
    handed: tuple[Any, ...] = ()  # arrays of the call that only Python's statements know
    objects: tuple[Any, ...] = ()  # of the call, whose attributes the function sets
    lengths: tuple[int, ...] = ()  # of those that are lists, before the call; 0 of others
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
        return replace(self, values={}, arrays=shapes, generators={}, handed=(), objects=(), lengths=())


def bind(traced: Any, program: Program, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
    """The values of a call that `traced` matches."""
    values = traced.inputs(args, kwargs)
    arrays = {array.name: stand_in(values[array.name]) for array in program.arrays}
    scalars = {scalar.name: values[scalar.name] for scalar in program.scalars}
    on_device = any(array is not values[name] for name, array in arrays.items())
    hidden = frozenset(each.name for each in traced.arguments if each.kind == "hidden" and each.name in arrays)
    sizes = program.extents({name: array.shape for name, array in arrays.items()}, scalars)
    layouts = {name: layout_of(array) for name, array in arrays.items()}
    generators = traced.called_generators(args, kwargs)
    handed, objects = traced.called_arrays(args, kwargs), traced.called_objects(args, kwargs)
    lengths = tuple(len(one) if type(one) is list else 0 for one in objects)
    return Bound(values, arrays, scalars, sizes, layouts, hidden, generators, handed, objects, lengths, on_device)


def layout_of(array: Any) -> str:
    """c, f or any; what is both is c. Arrays whose strides are no whole elements are copied by the runtime."""
    flags = array.flags
    return "c" if flags.c_contiguous else "f" if flags.f_contiguous else "any"
