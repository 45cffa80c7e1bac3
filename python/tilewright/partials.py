"""Calls of more elements than kernels can index that reduce the rows of their arguments: in parts, and a total of these.

The compiler makes two programs of such a one (translator/partials.h). They are compiled when such a call is seen, and never else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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

Loaded = tuple[str, str, Sequence[str], Sequence[str]]


@dataclass
class Partials:
    """The programs of the parts and of their total, with the versions that were compiled of each."""

    rows: tuple[str, ...]  # arguments that are given in parts
    stacks: tuple[str, ...]  # what the total calls the results of the parts
    partial: Program
    total: Program
    versions: list[plan.Version] = field(default_factory=list)
    of_total: list[plan.Version] = field(default_factory=list)

    def requests(self, request: BuildRequest, bound: Bound) -> tuple[BuildRequest, BuildRequest]:
        """What to build for a call, of the parts and of the total; of any sizes and, but for the large arrays, of any layout."""
        sizes = dict(bound.sizes) | {f"{name}.0": _MOST_ROWS for name in self.rows}
        of_total = {name: size for name, size in sizes.items() if name.partition(".")[0] not in self.rows}
        for stack, result in zip(self.stacks, self.partial.results, strict=True):
            _, shape = self.partial.type_of(result)
            of_total[f"{stack}.0"] = _PARTS
            of_total |= {f"{stack}.{k}": evaluate(extent, sizes) for k, extent in enumerate(shape) if k > 0}
        layouts = {name: layout if name in self.rows else "any" for name, layout in bound.layouts.items()}
        part = replace(request, sizes=sizes, layouts=layouts, guard_tails=True, **_named(self.partial))
        total = replace(
            request,
            sizes=of_total,
            layouts={array.name: "c" if array.name in self.stacks else "any" for array in self.total.arrays},
            guard_tails=True,
            **_named(self.total),
        )
        return part, total

    def fits(self, bound: Bound) -> bool:
        """Whether there are versions for such a call."""
        return any(
            version.build.on_device == bound.on_device
            and all(layout in ("any", bound.layouts[name]) for name, layout in version.layouts.items())
            for version in self.versions
        )

    def plans(self) -> tuple[str, str]:
        """The plan of a part and that of the total, where something was compiled."""
        part, total = (plan.compose(found[0].build.header, found) for found in (self.versions, self.of_total))
        return part, total

    def loaded(self) -> Loaded | None:
        """What the runtime is given of them; None before anything was compiled."""
        return (*self.plans(), self.rows, self.stacks) if self.versions else None

    def objects(self) -> dict[str, bytes]:
        """The objects that their plans name."""
        return plan.all_objects([*self.versions, *self.of_total])


def partials_for(program: Program, large: set[str], taken: set[str]) -> Partials | None:
    """How a call runs whose arrays `large` are too large; None where it cannot."""
    for found in compiler().partials(program.text, taken):
        if large <= set(found["rows"]):
            return Partials(
                tuple(found["rows"]), tuple(found["stacks"]), Program(found["partial"]), Program(found["total"])
            )
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


def _named(program: Program) -> Mapping[str, Any]:
    return {"program": program.text, "digest": compiler().program_digest(program.text)}
