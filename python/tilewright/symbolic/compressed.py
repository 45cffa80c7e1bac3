"""What a boolean mask picks out of an array: `x[mask]`.

It has as many elements as the mask has true ones, which only the running function knows. While it is only computed with,
element by element, reduced, or stored under that mask again, its order in memory does not matter: the whole array is
computed with, and what lies under false is never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import TraceError
from .array_like import ArrayLike, refusing
from .arrays import SymArray
from .graph import INT64, NEWAXIS, WHOLE, Value
from .operators import check_out
from .registry import OPERATIONS
from .run_numbers import RunScalar
from .sizes import Size
from .tracer import Tracer

# No array in memory has more elements.
_MOST_ELEMENTS = 2**48


class Places:
    """What np.nonzero gives of a mask, as arrays: found once, where somebody needs them."""

    def __init__(self) -> None:
        self.found: tuple[Value, ...] = ()


class AtPlaces(NamedTuple):
    """np.nonzero(mask)[axis], or the elements of an array at those places of its first axis."""

    axis: int
    places: Places
    array: SymArray | None = None


class Compressed(ArrayLike):
    """`whole[:, mask]`, where the mask's axes begin at `at` of the whole. NumPy has one axis in place of them."""

    __slots__ = ("at", "at_places", "mask", "whole")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, tracer: Tracer, whole: SymArray, mask: Value, at: int = 0, at_places: AtPlaces | None = None
    ) -> None:
        self.tracer = tracer
        self.whole = whole
        self.mask = mask
        self.at = at
        self.at_places = at_places

    @property
    def places_of(self) -> int | None:
        """Along which axis of the mask these are the places of its elements; None where they are none."""
        return None if self.at_places is None or self.at_places.array is not None else self.at_places.axis

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    @property
    def mask_rank(self) -> int:
        return len(self.mask.shape)

    @property
    def ndim(self) -> int:
        return self.whole.ndim - self.mask_rank + 1

    @property
    def behind(self) -> int:
        """How many axes lie behind the one that the mask makes."""
        return self.ndim - self.at - 1

    def truth(self) -> Value:
        """The mask with an axis of extent 1 for each axis behind it, so that it broadcasts to the whole."""
        if not self.behind:
            return self.mask
        items = [*[WHOLE] * self.mask_rank, *[NEWAXIS] * self.behind]
        shape = (*self.mask.shape, *[Size.constant(1)] * self.behind)
        return self.tracer.add("index", (self.mask,), {"index": items}, self.mask.dtype, shape)

    def axes_of_whole(self, axes: Sequence[int]) -> list[int]:
        """The axes of the whole that stand for axes of NumPy's array, ascending."""
        found: list[int] = []
        for axis in sorted(axes):
            if axis == self.at:
                found += range(self.at, self.at + self.mask_rank)
            else:
                found.append(axis if axis < self.at else axis + self.mask_rank - 1)
        return found

    def with_whole(self, whole: SymArray) -> Compressed:
        return Compressed(self.tracer, whole, self.mask, self.at)

    def is_under_mask_of(self, other: Compressed) -> bool:
        return self.tracer.alike(self.mask) == self.tracer.alike(other.mask)

    # -- what NumPy code asks of an array ----------------------------------------------------------------

    def count(self) -> RunScalar:
        """How many elements the mask picks out."""
        tracer = self.tracer
        ones = tracer.add("cast", (self.mask,), {}, INT64, self.mask.shape)
        axes = list(range(self.mask_rank))
        total = tracer.add("sum", (ones,), {"axes": axes}, INT64, (), "count_nonzero")
        return RunScalar(tracer, total, int, 0, _MOST_ELEMENTS)

    @property
    def shape(self) -> tuple[Any, ...]:
        outer = self.whole.shape
        return (*outer[: self.at], self.count(), *outer[self.at + self.mask_rank :])

    @property
    def size(self) -> Any:
        total: Any = 1
        for extent in self.whole.shape[: self.at] + self.whole.shape[self.at + self.mask_rank :]:
            total = total * extent
        count = self.count()
        return count if type(total) is int and total == 1 else count * total

    def described(self) -> str:
        return f"<{self.dtype} elements under a mask>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return getattr(OPERATIONS.array_of_selected(self), name)

    def refused(self, what: str, kind: type[TraceError] = TraceError) -> TraceError:
        return self.tracer.error_of(
            kind,
            f"{what} of what a boolean mask picks out; how many elements there are depends on the mask.",
            "Reduce it (.sum(), .mean(), .max()), store it under the same mask (x[mask] = …), or use np.where.",
        )

    __bool__, __len__ = refusing("the truth value"), refusing("the length")
    __iter__ = refusing("iterating over the elements")

    def __getitem__(self, key: Any) -> Any:
        return OPERATIONS.part_of(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        OPERATIONS.set_part_of(self, key, value)

    def astype(self, *args: Any, **kwargs: Any) -> Compressed:
        return self.with_whole(self.whole.astype(*args, **kwargs))

    def copy(self, order: str = "C") -> Compressed:
        return self.with_whole(self.whole.copy())

    def conj(self) -> Any:
        return OPERATIONS.call_numpy(self.tracer, np.conjugate, (self,), {})

    conjugate = conj

    @property
    def real(self) -> Compressed:
        return self.with_whole(self.whole.real)

    @property
    def imag(self) -> Compressed:
        return self.with_whole(self.whole.imag)

    @property
    def T(self) -> Compressed:
        if self.ndim == 1:
            return self
        if self.mask_rank > 1 or self.ndim > 2:
            return OPERATIONS.array_of_selected(self).T
        return Compressed(self.tracer, self.whole.T, self.mask, 1 - self.at)

    def in_place(self, ufunc: np.ufunc, other: Any) -> Compressed:
        """`x[mask]` is a new array; all that know it see what is computed in place."""
        result = OPERATIONS.apply_operator(self.tracer, ufunc, (self, other))
        check_out(ufunc, "same_kind", result.dtype, self.dtype)
        tracer, value = self.tracer, result.whole.read()
        if len(value.shape) != self.whole.ndim or any(
            tracer.value_of(a) != tracer.value_of(b) for a, b in zip(value.shape, self.whole.sizes, strict=True)
        ):
            raise ValueError("non-broadcastable output operand")
        self.whole.write(tracer.cast(value, self.dtype))
        self.at_places = None
        return self
