"""Arrays that each iteration of a `for` leaves longer or shorter by the same number of elements: `v = p * v[:-1] + q * v[1:]`.

A value of the program has one shape. Such an array is a part of one that is large enough for all iterations: its first
elements, as many as it has in that iteration. A trace finds out when an iteration ends with another shape than it began
with, and begins again (`Moves`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from ..ops.stages import materialized
from ..symbolic.arrays import SymArray
from ..symbolic.graph import Value
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from ..symbolic.storage import Storage
from .carried import storages_of
from .frame import Pending

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

    Variable = tuple[tuple[str, int, int], str]  # the place of a loop, and a name


class Moves(BaseException):
    """Variables of a loop, each with how much longer every axis of its array is behind an iteration; nothing where that was
    tried and is not so."""

    def __init__(self, found: Mapping[Variable, tuple[int, ...]]) -> None:
        super().__init__(found)
        self.found = dict(found)


class MovingArray:
    """One such array. `iteration`: how many there were before the one that is traced, None outside of the loop."""

    def __init__(self, tracer: Tracer, where: Variable, steps: tuple[int, ...], iterations: Size) -> None:
        self.tracer = tracer
        self.where = where
        self.steps, self.iterations = steps, iterations
        self.iteration: Size | None = None
        self.whole: SymArray | None = None
        self.first: tuple[Size, ...] = ()
        self.taken: tuple[Storage, Value] | None = None  # what an iteration began with
        self.begun: list[Storage] = []  # the memory of what the loop began with
        self.begun_with: list[Value] = []  # what is in it when an iteration begins
        self.is_shared = False  # others see that memory

    @property
    def hidden(self) -> str:
        """The variable that leads to the memory."""
        (_, line, column), name = self.where
        return f" {name} of all iterations of {line}:{column}"

    def begin(self, value: Any, seen: Container[int]) -> None:
        """What the variable holds in front of the loop; `seen`: memory that others see, by identity."""
        tracer, value = self.tracer, self._array(value)
        self.begun = storages_of(value)
        self.is_shared = any(one.argument is not None or id(one) in seen for one in self.begun)
        self.first = tuple(map(tracer.resolve, value.sizes))
        most = [tracer.resolve(size if step <= 0 else size + self.iterations * step)
                for size, step in zip(self.first, self.steps, strict=True)]  # fmt: skip
        self.whole = SymArray.fresh(tracer, tracer.zeros(value.dtype, most), is_scalar=False)
        self.whole[self._part(self.first)] = value

    def put(self, value: Any, seen: Container[int]) -> bool:
        """What it holds at the end of an iteration. It is copied, so that nobody may see the memory: not that in front of the
        loop, where an iteration writes into it, nor what an iteration began with, nor what it leaves."""
        value = self._array(value)
        assert self.whole is not None and self.taken is not None and self.iteration is not None
        storage, before = self.taken
        is_shared = any(id(one) in seen for one in storages_of(value)) or (self.is_shared and id(storage) in seen)
        pairs = ((storage, before), *zip(self.begun, self.begun_with, strict=True))
        is_written = any(one.value is not held for one, held in pairs)
        sizes = tuple(map(self.tracer.resolve, value.sizes))
        is_other = value.dtype != self.whole.dtype or sizes != self._sizes(self.iteration + 1)
        if value.storage is storage or is_shared or is_written or is_other:
            raise Moves({self.where: ()})
        self.whole[self._part(sizes)] = value
        return False  # as a cell's: it shares no more memory than before

    def _array(self, value: Any) -> SymArray:
        value = materialized(value.read() if isinstance(value, Pending) else value)
        if not isinstance(value, SymArray) or len(value.sizes) != len(self.steps):
            raise Moves({self.where: ()})
        return value

    def take(self) -> SymArray:
        """What an iteration begins with; behind the loop what the last one left."""
        assert self.whole is not None
        sizes = self._sizes(self.iterations if self.iteration is None else self.iteration)
        made: SymArray = self.whole[self._part(sizes)].copy()
        self.taken = made.storage, made.storage.value
        self.begun_with = [one.value for one in self.begun]
        return made

    def _sizes(self, iteration: Size) -> tuple[Size, ...]:
        return tuple(
            self.tracer.resolve(size + iteration * step) for size, step in zip(self.first, self.steps, strict=True)
        )

    def _part(self, sizes: tuple[Size, ...]) -> tuple[slice, ...]:
        return tuple(slice(0, SymInt(self.tracer, size)) for size in sizes)


def steps_between(tracer: Tracer, begins: Any, ends: Any) -> tuple[int, ...]:
    """How much longer each axis of an array is than it was, where that is a number, and of some axis not 0; else ()."""
    if not (isinstance(begins, SymArray) and isinstance(ends, SymArray)) or begins.is_scalar or ends.is_scalar:
        return ()
    if begins.dtype != ends.dtype or len(begins.sizes) != len(ends.sizes):
        return ()
    steps = [tracer.resolve(end - begin) for begin, end in zip(begins.sizes, ends.sizes, strict=True)]
    if not all(step.is_constant for step in steps):
        return ()
    found = tuple(step.constant_part for step in steps)
    return found if any(found) else ()
