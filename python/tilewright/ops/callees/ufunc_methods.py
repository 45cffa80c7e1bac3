"""np.maximum.accumulate and its like: rows of the methods of every ufunc."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...symbolic.scalars import SymInt
from ...symbolic.sizes import Size
from ...symbolic.tracer import Tracer
from ..operands import broadcast_shapes, resolve_ufunc, weak_type
from ..stage_rows import METHOD_ROWS, Gives, Like, UnknownError
from .dtypes import with_axis, without_axes


def _call(  # noqa: PLR0917
    ufunc: np.ufunc, *arrays: Like, dtype: Any = None, casting: str = "same_kind", where: Any = True, order: str = "K",
    subok: bool = True,
) -> Any:  # fmt: skip
    tracer = arrays[0].tracer
    kinds = tuple(weak_type(a.value) or a.dtype for a in arrays)
    dtypes = resolve_ufunc(ufunc, kinds, None if dtype is None else np.dtype(dtype), casting)
    masks = [] if where is True else [Like(tracer, where).sizes]
    if ufunc.signature is None:
        shapes = [broadcast_shapes(tracer, [*(a.sizes for a in arrays), *masks])] * ufunc.nout
    else:
        shapes = _generalized_shapes(tracer, ufunc.signature, [a.sizes for a in arrays])
    results = [
        Gives(one, [SymInt(tracer, n) for n in shape]) for one, shape in zip(dtypes[ufunc.nin :], shapes, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _generalized_shapes(tracer: Tracer, signature: str, shapes: Sequence[tuple[Size, ...]]) -> list[tuple[Size, ...]]:
    """Of the results of a generalized ufunc: (m,n),(n)->(m) has one extent for each name, behind axes that broadcast."""
    given, made = (
        [re.findall(r"[^,\s]+", core) for core in re.findall(r"\((.*?)\)", side)] for side in signature.split("->")
    )
    extents: dict[str, Size] = {}
    outer = []
    for core, shape in zip(given, shapes, strict=True):
        if len(core) > len(shape):
            raise UnknownError  # NumPy refuses it
        outer.append(shape[: len(shape) - len(core)])
        for name, extent in zip(core, shape[len(shape) - len(core) :], strict=True):
            known = extents.setdefault(name, extent)
            if not name.isidentifier() or tracer.value_of(known) != tracer.value_of(extent):
                raise UnknownError  # of a fixed length, or left out where it fits, or NumPy refuses it
            tracer.unify(known, extent, f"mismatch in a core dimension of {signature}")
    if not all(name in extents for core in made for name in core):
        raise UnknownError  # the function itself decides
    loops = broadcast_shapes(tracer, outer)
    return [(*loops, *(extents[name] for name in core)) for core in made]


def _reduced_dtype(ufunc: np.ufunc, a: Like, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:
        return np.dtype(dtype)
    return ufunc.resolve_dtypes((None, a.dtype, None), reduction=True)[-1]


def _accumulate(ufunc: np.ufunc, array: Like, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    return Gives(_reduced_dtype(ufunc, array, dtype), array.shape)


def _reduce(  # noqa: PLR0917
    ufunc: np.ufunc, array: Like, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    return Gives(_reduced_dtype(ufunc, array, dtype), without_axes(array, axis, keepdims))


def _reduceat(ufunc: np.ufunc, array: Like, indices: Like, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    return Gives(_reduced_dtype(ufunc, array, dtype), with_axis(array, axis, indices.shape[0]))


METHOD_ROWS.update(__call__=_call, accumulate=_accumulate, reduce=_reduce, reduceat=_reduceat)
