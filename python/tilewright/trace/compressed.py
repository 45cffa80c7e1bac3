"""What a boolean mask picks out of an array, as long as it goes back under the same mask.

`x[mask]` has as many elements as the mask has true ones, which only the running function knows. While it is only computed
with, element by element, and stored under that mask again, its order in memory does not matter: the whole array is
computed with, and what lies under false is never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import SymArray, operator_methods
from .graph import Value
from .scalars import Symbolic

if TYPE_CHECKING:
    from .tracer import Tracer


class Compressed(Symbolic):
    """`whole[mask]`."""

    __slots__ = ("mask", "whole")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tracer: Tracer, whole: SymArray, mask: Value) -> None:
        self.tracer = tracer
        self.whole = whole
        self.mask = mask

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    def __repr__(self) -> str:
        return f"<{self.dtype} elements under a mask>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        raise self.refused(f".{name}")

    def refused(self, what: str) -> Exception:
        return self.tracer.error(
            f"{what} of what a boolean mask picks out",
            "how many elements there are depends on the mask",
            "Store it under the same mask (x[mask] = …), or use np.where.",
            "mask",
        )

    def __iter__(self) -> Any:
        raise self.refused("iterating over the elements")

    def __len__(self) -> int:
        raise self.refused("the length")

    def __bool__(self) -> bool:
        raise self.refused("the truth value")

    def __getitem__(self, key: Any) -> Any:
        raise self.refused("a part")

    def astype(self, *args: Any, **kwargs: Any) -> Compressed:
        return Compressed(self.tracer, self.whole.astype(*args, **kwargs), self.mask)

    def copy(self) -> Compressed:
        return Compressed(self.tracer, self.whole.copy(), self.mask)

    @property
    def real(self) -> Compressed:
        return Compressed(self.tracer, self.whole.real, self.mask)

    @property
    def imag(self) -> Compressed:
        return Compressed(self.tracer, self.whole.imag, self.mask)


operator_methods(Compressed, in_place=False)


def elementwise(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any], apply: Any) -> Compressed:
    """A ufunc of operands of which some are Compressed: all under one mask, the others single numbers."""
    first = next(x for x in inputs if isinstance(x, Compressed))
    whole = []
    for x in inputs:
        if isinstance(x, Compressed):
            if x.mask is not first.mask:
                raise tracer.error(
                    f"np.{ufunc.__name__} of elements under two masks",
                    "which element meets which depends on the masks",
                    "Use one mask, or np.where.",
                    "mask",
                )
            whole.append(x.whole)
        elif np.ndim(x) == 0 if not isinstance(x, SymArray) else not x.sizes:
            whole.append(x)
        else:
            raise tracer.error(
                f"np.{ufunc.__name__} of elements under a mask and a whole array",
                "which element meets which depends on the mask",
                "Take the array under the mask too (y[mask]).",
                "mask",
            )
    return Compressed(tracer, apply(ufunc, whole), first.mask)
