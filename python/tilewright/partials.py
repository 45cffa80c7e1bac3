"""Calls of more elements than kernels can index that reduce the rows of their arguments: in parts, and a total of these.

The compiler makes two programs of such a one, or more where rows need what reductions give (translator/parts/split_reduction.h). They are compiled
when such a call is seen, and never else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import plan
from ._face import element_limit
from .native import compiler
from .program import Program, evaluate

if TYPE_CHECKING:
    from .binding import Bound
    from .builder import BuildRequest

# A version for the longest part that there is serves all: its blocked reductions have all their levels.
_MOST_ROWS = (1 << 31) - (1 << 27)
_PARTS = 512  # up to so many elements make one block of a sum; few serve, but small rows may need more

Make = Callable[[str, "BuildRequest"], plan.Version]  # what a version is of, and its build
Read = Callable[[str, str], Any]  # the name of a plan among those of a program, and its text
Loaded = tuple[Any, Any, tuple[str, ...], tuple[str, ...], "tuple[Any, tuple[str, ...], tuple[int, ...], Any] | None"]


@dataclass
class Partials:
    """The programs of the parts and of their total, with the versions that were compiled of each."""

    rows: tuple[str, ...]  # arguments that are given in parts
    stacks: tuple[str, ...]  # what the total calls the results of the parts
    partial: Program
    total: Program
    rest: Rest | None = None  # where rows need what the total gives
    versions: list[plan.Version] = field(default_factory=list)
    of_total: list[plan.Version] = field(default_factory=list)

    def compile(self, request: BuildRequest, bound: Bound, make: Make, *, totals: bool = True) -> None:
        """Versions for calls like this one. Those of totals serve all layouts: one of each is enough."""
        sizes = dict(bound.sizes) | {f"{name}.0": _MOST_ROWS for name in self.rows}
        layouts = {name: layout if name in self.rows else "any" for name, layout in bound.layouts.items()}
        part = replace(request, sizes=sizes, layouts=layouts, guard_tails=True, **_named(self.partial))
        self.versions.append(make("part", part))
        given = _sizes_of(self.stacks, self.partial, sizes, _PARTS)
        if totals:
            total = replace(
                request,
                sizes={name: n for name, n in sizes.items() if name.partition(".")[0] not in self.rows} | given,
                layouts={array.name: "c" if array.name in self.stacks else "any" for array in self.total.arrays},
                guard_tails=True,
                **_named(self.total),
            )
            self.of_total.append(make("total", total))
        if self.rest:
            handed = _sizes_of(self.rest.handed, self.total, sizes | given, 1)
            self.rest.compile(replace(part, sizes=sizes | handed), bound, make, totals=totals)

    def take(self, other: Partials) -> None:
        """Its versions too, of the same programs."""
        self.versions += other.versions
        self.of_total += other.of_total
        if self.rest and other.rest:
            self.rest.take(other.rest)

    def fits(self, bound: Bound) -> bool:
        """Whether there are versions for such a call."""
        return any(
            version.build.on_device == bound.on_device
            and all(layout in ("any", bound.layouts[name]) for name, layout in version.layouts.items())
            for version in self.versions
        )

    def loaded(self, read: Read = lambda _, text: text) -> Loaded | None:
        """What the runtime is given of them; None before anything was compiled."""
        if not self.versions:
            return None
        part, total = read("part", plan.compose(self.versions)), read("total", plan.compose(self.of_total))
        return part, total, self.rows, self.stacks, self.rest.loaded(read) if self.rest else None

    def all_versions(self) -> list[plan.Version]:
        """Those of every program."""
        return [*self.versions, *self.of_total, *(self.rest.all_versions() if self.rest else [])]

    def without_versions(self) -> Partials:
        """The same programs, with nothing compiled."""
        rest = self.rest.without_versions() if self.rest else None
        return replace(self, rest=rest, versions=[], of_total=[])

    def objects(self) -> dict[str, bytes]:
        """The objects that their plans name."""
        return plan.all_objects(self.all_versions())


@dataclass
class Rest:
    """The program of the arguments and of what the total gave. It runs in parts, or is reduced in its turn."""

    handed: tuple[str, ...]  # what it calls the first results of the total
    kept: tuple[int, ...]  # the other ones: which results of the function they are
    program: Program
    partials: Partials | None
    versions: list[plan.Version] = field(default_factory=list)

    def compile(self, part: BuildRequest, bound: Bound, make: Make, *, totals: bool) -> None:
        """Versions of what runs in parts; of what does not, its plan still says what its arguments are."""
        layouts = dict(part.layouts) | dict.fromkeys(self.handed, "c")
        request = replace(part, layouts=layouts, **_named(self.program))
        self.versions.append(make("rest", request))
        if self.partials:
            known = replace(bound, sizes=request.sizes, layouts=layouts)
            self.partials.compile(request, known, lambda what, each: make(f"rest {what}", each), totals=totals)

    def take(self, other: Rest) -> None:
        self.versions += other.versions
        if self.partials and other.partials:
            self.partials.take(other.partials)

    def loaded(self, read: Read) -> tuple[Any, tuple[str, ...], tuple[int, ...], Loaded | None]:
        partials = self.partials.loaded(lambda name, text: read(f"rest-{name}", text)) if self.partials else None
        return read("rest", plan.compose(self.versions)), self.handed, self.kept, partials

    def all_versions(self) -> list[plan.Version]:
        return [*self.versions, *(self.partials.all_versions() if self.partials else [])]

    def without_versions(self) -> Rest:
        return replace(self, partials=self.partials.without_versions() if self.partials else None, versions=[])


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
