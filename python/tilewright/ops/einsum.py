"""np.einsum: operands in pairs, each a product of matrices, a sum of products or a product of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..structure import OF
from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.scalars import size_of
from ..symbolic.storage import Shown
from ..symbolic.tracer import Tracer
from .callees.einsum import gives_an_array, subscripts_of
from .elementwise import common_dtype
from .operands import check_dtype
from .parts import overlapping
from .shapes import as_array


def _refusal(tracer: Tracer, why: str) -> Exception:
    return tracer.error("np.einsum()", f"no kernel computes it {why}", LEAVE_IT_OUT)


class _Term:
    """An array, and the names of its axes."""

    def __init__(self, array: Any, names: Sequence[Any]) -> None:
        self.array, self.names = array, list(names)

    def along_diagonals(self) -> _Term:
        """With one axis for each name, the last one."""
        array, names = self.array, self.names
        for name in dict.fromkeys(names):
            while names.count(name) > 1:
                first = names.index(name)
                second = names.index(name, first + 1)
                array = np.diagonal(array, 0, first, second)
                names = [*(one for k, one in enumerate(names) if k not in (first, second)), name]
        return _Term(array, names)

    def without(self, names: Sequence[Any]) -> _Term:
        """The sums along these axes, in the array's own dtype."""
        if not names:
            return self
        axes = tuple(self.names.index(name) for name in names)
        return _Term(
            np.sum(self.array, axis=axes, dtype=self.array.dtype), [name for name in self.names if name not in names]
        )

    def ordered(self, names: Sequence[Any]) -> Any:
        """Its axes in this order, with one of length 1 for each name that it has not."""
        axes = tuple(self.names.index(name) for name in names if name in self.names)
        moved = self.array if axes == tuple(range(len(axes))) else np.transpose(self.array, axes)
        key = tuple(slice(None) if name in self.names else None for name in names)
        return moved if None not in key else moved[key]

    def grouped(self, *groups: Sequence[Any]) -> Any:
        """Its axes in the order of the groups, each of which becomes one axis; the first stay as they are."""
        first, *others = groups
        array = self.ordered([name for group in groups for name in group])
        if all(len(group) == 1 for group in others):
            return array
        sizes = dict(zip(self.names, self.array.shape, strict=True))
        shape = [sizes[name] for name in first]
        for group in others:
            total: Any = 1
            for name in group:
                total = total * sizes[name]
            shape.append(total)
        return array.reshape(shape)


def _contracted(a: _Term, b: _Term, kept: set[Any], sizes: dict[Any, Any]) -> _Term:
    """The product of two terms, summed along all that nothing asks for behind it."""
    a = a.without([name for name in a.names if name not in b.names and name not in kept])
    b = b.without([name for name in b.names if name not in a.names and name not in kept])
    both = [name for name in a.names if name in b.names]
    stack, summed = [n for n in both if n in kept], [n for n in both if n not in kept]
    rows, columns = [n for n in a.names if n not in both], [n for n in b.names if n not in both]
    if summed and rows and columns:
        product = np.matmul(a.grouped(stack, rows, summed), b.grouped(stack, summed, columns))
        names = [*stack, *rows, *columns]
        if len(rows) > 1 or len(columns) > 1:
            product = product.reshape([sizes[name] for name in names])
        return _Term(product, names)
    names = [*stack, *rows, *columns, *summed]
    return _Term(a.ordered(names) * b.ordered(names), names).without(summed)


def _diagonals(tracer: Tracer, array: SymArray, text: Any, names: Sequence[Any], wanted: Sequence[Any]) -> SymArray:
    """Of one array, nothing summed: NumPy's is a view."""
    if not isinstance(text, str):
        raise _refusal(tracer, "as a view without its text")
    view = overlapping(array, "einsum()", lambda: _Term(array, names).along_diagonals().ordered(wanted))
    view.storage.shown = Shown(array, tracer.blocks[-1], f"numpy.einsum({text!r}, {OF})")
    return view


@rule(np.einsum)
def einsum(tracer: Tracer, *operands: Any, optimize: Any = False, dtype: Any = None) -> Any:
    """In the order of the operands; of two of them the sums run before the next is looked at."""
    found = subscripts_of(operands)
    if found is None or not isinstance(optimize, (bool, str)):
        raise _refusal(tracer, "in an order of the caller's")
    asked, likes = found
    for name in asked.result:
        if name not in asked.sizes:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{name}' which never appeared in an input"
            )
    arrays = [as_array(tracer, like.value) for like in likes]
    kept = common_dtype(*arrays) if dtype is None else check_dtype(tracer, dtype)
    if kept.kind not in "iufc":
        raise _refusal(tracer, f"in {kept}")
    if not all(array.ndim for array in arrays):
        raise _refusal(tracer, "of numbers")
    for names, array in zip(asked.terms, arrays, strict=True):
        wanted = [size_of(asked.sizes[name]) for name in names]
        if any(tracer.resolve(x) != tracer.resolve(y) for x, y in zip(wanted, array.sizes, strict=True)):
            raise _refusal(tracer, "where one element stands for an axis")
    is_array = gives_an_array(operands, asked, optimize)
    if is_array is None:
        raise _refusal(tracer, "where the order of the products decides whether it gives a number")
    computes = len(arrays) > 1 or len(asked.result) < len(set(asked.terms[0]))
    if not computes and len(asked.result) < len(asked.terms[0]):
        return _diagonals(tracer, arrays[0], operands[0], asked.terms[0], asked.result)
    # Of float16 NumPy adds products in float32.
    wide = np.dtype(np.float32) if kept == np.float16 and computes else kept
    terms = [
        _Term(x if x.dtype == wide else x.astype(wide), n).along_diagonals()
        for x, n in zip(arrays, asked.terms, strict=True)
    ]
    term = terms[0]
    for k, other in enumerate(terms[1:], 1):
        later = {name for one in terms[k + 1 :] for name in one.names}
        term = _contracted(term, other, later | set(asked.result), asked.sizes)
    result = term.without([name for name in term.names if name not in asked.result]).ordered(asked.result)
    if result is arrays[0]:
        return result[...]  # NumPy's is a view
    result = result if wide == kept else result.astype(kept)
    return SymArray.fresh(tracer, result.read(), is_scalar=False) if is_array and result.is_scalar else result
