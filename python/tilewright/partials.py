"""Calls of more elements than kernels can index that reduce the rows of their arguments: in parts, and a total of these.

The compiler makes two programs of such a one, or more where rows need what reductions give (translator/parts/split_reduction.h). They are compiled
when such a call is seen, and never else.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from . import plan
from ._face import element_limit
from .light_dataclass import dataclass
from .native import compiler
from .program import Program, Value, evaluate

if TYPE_CHECKING:
    from .binding import Bound
    from .builder import BuildRequest

# A version for the longest part that there is serves all: its blocked reductions have all their levels.
_MOST_ROWS = (1 << 31) - (1 << 27)
_PARTS = 512  # up to so many elements make one block of a sum; few serve, but small rows may need more

Loaded = tuple[Any, Any, tuple[str, ...], tuple[str, ...], "tuple[Any, tuple[str, ...], tuple[int, ...], Any] | None"]


@dataclass
class Partials:
    """The programs of the parts and of their total, with the versions that were compiled of each."""

    rows: tuple[str, ...]  # arguments that are given in parts
    stacks: tuple[str, ...]  # what the total calls the results of the parts
    partial: Program
    total: Program
    rest: Rest | None = None  # where rows need what the total gives
    # By the names of their plans: part, total, rest, and rest-part, rest-total of what is reduced in its turn.
    versions: defaultdict[str, list[plan.Version]] = field(default_factory=lambda: defaultdict(list))

    def requests(
        self, request: BuildRequest, bound: Bound, *, totals: bool = True
    ) -> Iterator[tuple[str, BuildRequest]]:
        """What is to be compiled for calls like this one. Totals serve all layouts: one version of each is enough."""
        sizes = dict(bound.sizes) | {f"{name}.0": _MOST_ROWS for name in self.rows}
        layouts = {name: layout if name in self.rows else "any" for name, layout in bound.layouts.items()}
        part = replace(request, sizes=sizes, layouts=layouts, guard_tails=True, **_named(self.partial))
        yield "part", part
        given = _sizes_of(self.stacks, self.partial, sizes, _PARTS)
        if totals:
            total = {name: n for name, n in sizes.items() if name.partition(".")[0] not in self.rows}
            stacked = {array.name: "c" if array.name in self.stacks else "any" for array in self.total.arrays}
            yield "total", replace(part, sizes=total | given, layouts=stacked, **_named(self.total))
        if self.rest:
            sizes = sizes | _sizes_of(self.rest.handed, self.total, sizes | given, 1)
            layouts = layouts | dict.fromkeys(self.rest.handed, "c")
            rest = replace(part, sizes=sizes, layouts=layouts, **_named(self.rest.program))
            yield "rest", rest  # of what does not run in parts, its plan still says what its arguments are
            if self.rest.partials:
                inner = self.rest.partials.requests(rest, replace(bound, sizes=sizes, layouts=layouts), totals=totals)
                yield from ((f"rest-{name}", each) for name, each in inner)

    def fits(self, bound: Bound) -> bool:
        """Whether there are versions for such a call."""
        return any(
            version.build.on_device == bound.on_device
            and all(layout in ("any", bound.layouts[name]) for name, layout in version.layouts.items())
            for version in self.versions.get("part", ())
        )

    def loaded(self, read: Callable[[str, str], Any] = lambda _, text: text) -> Loaded | None:
        """What the runtime is given of them, `read` for the name and the text of each plan; None before anything was
        compiled."""
        return self._loaded(lambda name: read(name, plan.compose(self.versions[name]))) if self.versions else None

    def _loaded(self, plan_of: Callable[[str], Any]) -> Loaded:
        part, total, rest = plan_of("part"), plan_of("total"), None
        if self.rest:
            inner = self.rest.partials
            deeper = inner._loaded(lambda name: plan_of(f"rest-{name}")) if inner else None
            rest = plan_of("rest"), self.rest.handed, self.rest.kept, deeper
        return part, total, self.rows, self.stacks, rest

    def all_versions(self) -> list[plan.Version]:
        """Those of every program."""
        return list(chain.from_iterable(self.versions.values()))

    def objects(self) -> dict[str, bytes]:
        """The objects that their plans name."""
        return plan.all_objects(self.all_versions())


@dataclass
class Rest:
    """The program of the arguments and of what the total gave. It runs in parts, or is reduced in its turn."""

    handed: tuple[str, ...]  # what it calls the first results of the total
    kept: tuple[int, ...]  # the other ones: which results of the function they are
    program: Program
    partials: Partials | None  # without versions of their own


def partials_for(program: Program, large: set[str], taken: set[str]) -> Partials | None:
    """How a call runs whose arrays `large` are too large; None where it cannot."""
    for found in compiler().partials(program.text, taken):
        if not large <= set(found["rows"]):
            continue
        rest = None
        if found["rest"]:
            of_rest, handed = Program(found["rest"]), tuple(found["handed"])
            rest = Rest(handed, tuple(found["kept"]), of_rest, partials_for(of_rest, large, taken | set(handed)))
        programs = Program(found["partial"]), Program(found["total"])
        return Partials(tuple(found["rows"]), tuple(found["stacks"]), *programs, rest)
    return None


def beyond_limit(bound: Bound) -> set[str]:
    """The arrays of a call that kernels cannot index, by their elements or by how far their strides reach."""
    return {name for name, array in bound.arrays.items() if _is_beyond(array)}


def is_beyond_limit(program: Program, bound: Bound) -> bool:
    """Whether a call has arguments or results that kernels cannot index."""
    types = [program.type_of(result) for result in program.results]
    return bool(beyond_limit(bound)) or any(
        math.prod(max(0, int(evaluate(extent, bound.sizes))) for extent in shape) > _limit_of(np.dtype(dtype))
        for dtype, shape in types
    )


def is_beyond_memory(program: Program, bound: Bound) -> bool:
    """Whether NumPy has no memory for an array of the call that kernels cannot index: its error is the one to raise."""
    return any(_is_beyond_memory(program, value, bound) for value in program.values)


def _is_beyond_memory(program: Program, value: Value, bound: Bound) -> bool:
    if value.operation == "broadcast_to" and program.type_of(value.operands[0])[1]:
        return False  # NumPy's is a view
    dtype = np.dtype(value.dtype)
    try:
        shape = tuple(int(evaluate(extent, bound.sizes)) for extent in value.shape)
    except KeyError:  # data decide it
        return False
    if min(shape, default=0) < 0 or math.prod(shape) <= _limit_of(dtype):
        return False
    try:
        np.empty(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more than an address has
        return True
    return False


def _limit_of(dtype: np.dtype[Any]) -> int:
    return element_limit() // (2 if dtype.kind == "c" else 1)


def _is_beyond(array: Any) -> bool:
    limit = _limit_of(array.dtype)
    reach = sum((n - 1) * abs(step) for n, step in zip(array.shape, array.strides, strict=True) if n > 1)
    return bool(max(array.size, *array.shape, 0) > limit or reach > limit * array.itemsize)


def _sizes_of(names: Sequence[str], program: Program, sizes: Mapping[str, int], rows: int) -> dict[str, int]:
    """The extents of what a program gives, where another one takes it under these names."""
    found = {}
    for name, result in zip(names, program.results, strict=False):
        _, shape = program.type_of(result)
        found[f"{name}.0"] = rows
        found |= {f"{name}.{k}": evaluate(extent, sizes) for k, extent in enumerate(shape) if k > 0}
    return found


def _named(program: Program) -> Mapping[str, Any]:
    return {"program": program.text, "digest": compiler().program_digest(program.text)}
