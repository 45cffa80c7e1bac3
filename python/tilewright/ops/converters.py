"""What NumPy's own Python source hands arrays through before and after it computes: classes of C code that it keeps to
itself, as what they say of traced arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.registry import rule
from ..symbolic.scalars import int_of
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .elementwise import common_dtype
from .operands import broadcast_shapes, is_symbolic, operand_of, shape_of
from .shapes import as_array

_CONVERTER = getattr(np, "_core")._multiarray_umath._array_converter  # noqa: B009 - it has no public name


class _Broadcast:
    """What np.broadcast(x, y) says of its operands; nothing walks along their elements."""

    def __init__(self, tracer: Tracer, shape: Sequence[Size], operands: int) -> None:
        self.shape = tuple(int_of(tracer, size) for size in shape)
        self.ndim = self.nd = len(self.shape)
        self.size = int_of(tracer, tracer.total(shape))
        self.numiter = operands


@rule(np.broadcast)
def broadcast_of(tracer: Tracer, *args: Any) -> Any:
    if not any(isinstance(x, SymArray) for x in args):
        return np.broadcast(*args)  # of sizes and axes, which are walked along
    shapes = [shape_of(operand_of(tracer, x)) for x in args]
    return _Broadcast(tracer, broadcast_shapes(tracer, shapes), len(args))


class _Converted:
    """Array-likes as arrays; results are of NumPy's own class, and numbers where all of the array-likes were."""

    def __init__(self, tracer: Tracer, given: Sequence[Any]) -> None:
        self._tracer, self._given = tracer, [operand_of(tracer, one) for one in given]
        self._arrays = tuple(as_array(tracer, one) for one in given)
        self.scalar_input = tuple(not isinstance(one, SymArray) or one.is_scalar for one in self._given)

    def as_arrays(self, /, subok: bool = True, pyscalars: str = "convert") -> tuple[Any, ...]:
        if pyscalars == "convert":
            return self._arrays
        raise self._tracer.error(
            f"Python numbers kept as they are (pyscalars={pyscalars!r})", "arrays alone are traced"
        )

    def __getitem__(self, key: int) -> SymArray:
        return self._arrays[key]

    def __len__(self) -> int:
        return len(self._arrays)

    def result_type(self, /, extra_dtype: Any = None, ensure_inexact: bool = False) -> np.dtype[Any]:
        dtypes = [common_dtype(*self._given), *[np.dtype(extra_dtype)] * (extra_dtype is not None)]
        found = np.result_type(*dtypes)
        return np.result_type(found, 0.0) if ensure_inexact and found.kind not in "fc" else found

    def wrap(self, arr: Any, /, to_scalar: bool | None = None) -> Any:
        wanted = all(self.scalar_input) if to_scalar is None else to_scalar
        return arr[()] if wanted and isinstance(arr, SymArray) and not arr.sizes else arr


@rule(_CONVERTER)
def array_converter(tracer: Tracer, *args: Any) -> Any:
    return _Converted(tracer, args) if is_symbolic(args) else _CONVERTER(*args)
