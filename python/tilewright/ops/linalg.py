"""Products and norms: matmul, dot, inner, outer, vdot, linalg.norm."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.graph import Value
from ..symbolic.number import described, number_of_the_call
from ..symbolic.registry import rule
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc, common_dtype, store_exactly, store_result
from .operands import BOOL, FLOAT64, broadcast_shapes, full, operand_of, shape_of, to_value
from .reductions import finish, reduce_value
from .shapes import as_array, normalize_axes

_MISMATCH = "matmul: Input operand 1 has a mismatch in its core dimension 0"


def _sum_of_products(tracer: Tracer, a: SymArray, b: SymArray, axis: int, dtype: np.dtype[Any], name: str) -> Value:
    """sum(a * b) over one axis of their broadcast shape; any(a and b) for booleans."""
    left, right = tracer.cast(a.read(), dtype), tracer.cast(b.read(), dtype)
    shape = broadcast_shapes(tracer, [left.shape, right.shape])
    if dtype == BOOL:
        both = tracer.add("logical_and", (left, right), {}, BOOL, shape)
        return reduce_value(tracer, "any", both, [axis % len(shape)], name)
    product = tracer.add("multiply", (left, right), {}, dtype, shape)
    # All of a loop's may be one product (translator/passes/loop_products).
    may_join = tracer.open_loops and len(shape) <= 2 and dtype in (np.float32, np.float64)
    marks = {"product": "true"} if may_join else {}
    return reduce_value(tracer, "sum", product, [axis % len(shape)], name, **marks)


def _is_of_matrices(tracer: Tracer, a: SymArray, b: SymArray, dtype: np.dtype[Any]) -> bool:
    """Whether stacks are of products that a library may compute: of floats, and not of vectors, which memory bounds."""
    one = Size.constant(1)
    by_vectors = tracer.resolve(b.sizes[-1]) == one or (b.ndim > 2 and tracer.resolve(a.sizes[-2]) == one)
    return dtype.kind == "f" and not by_vectors


def product(tracer: Tracer, x: Any, y: Any, name: str) -> Any:
    """NumPy's matrix product of operands of rank 1 and up."""
    a, b = as_array(tracer, x), as_array(tracer, y)
    dtype = common_dtype(a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    tracer.match(a.sizes[-1], b.sizes[-2 if b.ndim > 1 else 0], _MISMATCH)
    if a.ndim == 1 and b.ndim == 1:
        return SymArray.fresh(tracer, _sum_of_products(tracer, a, b, 0, dtype, name))
    if b.ndim == 1:
        return SymArray.fresh(tracer, _sum_of_products(tracer, a, b, -1, dtype, name))
    if a.ndim == 1:
        return SymArray.fresh(tracer, _sum_of_products(tracer, a[:, None], b, -2, dtype, name))
    if dtype != BOOL and (a.ndim == b.ndim == 2 or _is_of_matrices(tracer, a, b, dtype)):
        left, right = tracer.cast(a.read(), dtype), tracer.cast(b.read(), dtype)
        stack = broadcast_shapes(tracer, [left.shape[:-2], right.shape[:-2]])
        shape = (*stack, tracer.resolve(a.sizes[-2]), tracer.resolve(b.sizes[-1]))
        return SymArray.fresh(tracer, tracer.add("matmul", (left, right), {}, dtype, shape, name))
    stacked = (Ellipsis, slice(None), slice(None), None), (Ellipsis, None, slice(None), slice(None))
    return SymArray.fresh(tracer, _sum_of_products(tracer, a[stacked[0]], b[stacked[1]], -2, dtype, name))


@rule(np.matmul, product="matmul")
def matmul(tracer: Tracer, x1: Any, x2: Any, /, out: Any = None) -> Any:
    with tracer.composite("matmul"):
        result = product(tracer, x1, x2, "matmul")
        return result if out is None else store_result(tracer, "matmul", result, out)


def _of_vectors(  # noqa: PLR0917
    name: str, ranks: tuple[int, int], summed: int, axis: int, left: Any, right: Any, conjugates: bool,
    tracer: Tracer, x1: Any, x2: Any, /,
) -> Any:  # fmt: skip
    """A product of stacks of vectors: the last axis of one and the axis `summed` of the other meet."""
    with tracer.composite(name):
        a, b = as_array(tracer, x1), as_array(tracer, x2)
        a = a.conj() if conjugates else a
        if a.ndim < ranks[0] or b.ndim < ranks[1]:
            raise ValueError(f"{name}: Input operand does not have enough dimensions")
        tracer.match(a.sizes[-1], b.sizes[summed], f"{name}: mismatch in its core dimension 0")
        x, y = a if left is None else a[left], b if right is None else b[right]
        return SymArray.fresh(tracer, _sum_of_products(tracer, x, y, axis, common_dtype(a, b), name))


rule(np.vecdot, product="vecdot")(partial(_of_vectors, "vecdot", (1, 1), -1, -1, None, None, True))
# NumPy 2.0 has no np.matvec and no np.vecmat. Stacks of vectors, where matmul takes x2 for a matrix.
rule(product="matvec")(partial(_of_vectors, "matvec", (2, 1), -1, -1, None, (..., None, slice(None)), False))
rule(product="vecmat")(partial(_of_vectors, "vecmat", (1, 2), -2, -2, (..., slice(None), None), None, True))


@rule(np.dot)
def dot(tracer: Tracer, a: Any, b: Any, out: Any = None) -> Any:
    # Arrays first: a Python number is an int64 or a float64 beside a NumPy scalar too.
    x, y = as_array(tracer, a), as_array(tracer, b)
    with tracer.composite("dot"):
        if not shape_of(x) or not shape_of(y):
            result = apply_ufunc(tracer, np.multiply, (x, y))
        elif len(shape_of(y)) > 2 or (len(shape_of(x)) > 2 and len(shape_of(y)) > 1):
            raise tracer.error(
                f"np.dot of ranks {len(shape_of(x))} and {len(shape_of(y))}",
                "only vectors and matrices have a rule",
                "Use np.matmul, or reshape to matrices.",
            )
        else:
            result = product(tracer, x, y, "dot")
        if out is None:
            return result
        if isinstance(out, SymArray) and not out.is_scalar and not out.is_c_contiguous():
            raise ValueError("output array is not acceptable (must be a C-Array)")
        return store_exactly(tracer, "dot", result, out)


@rule(np.vdot)
def vdot(tracer: Tracer, a: Any, b: Any, /) -> Any:
    with tracer.composite("vdot"):
        return product(tracer, as_array(tracer, a).conj().ravel(), as_array(tracer, b).ravel(), "vdot")


@rule(np.inner)
def inner(tracer: Tracer, a: Any, b: Any, /) -> Any:
    x, y = as_array(tracer, a), as_array(tracer, b)
    with tracer.composite("inner"):
        if not x.ndim or not y.ndim:
            return apply_ufunc(tracer, np.multiply, (x, y))
        if x.ndim > 2 or y.ndim > 2:
            raise tracer.error(f"np.inner of ranks {x.ndim} and {y.ndim}", "only vectors and matrices have a rule",
                               "Reshape to matrices.")  # fmt: skip
        return product(tracer, x, y if y.ndim == 1 else y.T, "inner")


@rule(np.outer)
def outer(tracer: Tracer, a: Any, b: Any, out: Any = None) -> Any:
    x, y = as_array(tracer, a).ravel(), as_array(tracer, b).ravel()
    with tracer.composite("outer"):
        return apply_ufunc(tracer, np.multiply, (x[:, None], y[None, :]), out)


@rule(np.linalg.norm)
def norm(tracer: Tracer, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """As numpy.linalg.norm computes it; sums of squares are one reduction over all axes."""
    ord = number_of_the_call(ord)  # it chooses the formula
    with tracer.composite("norm"):
        array = operand_of(tracer, x)
        value = to_value(tracer, array)
        if value.dtype.kind not in "fc":
            value = tracer.cast(value, FLOAT64)
        rank = len(value.shape)
        if axis is None and (ord is None or (ord in ("f", "fro") and rank == 2) or (_is(ord, 2) and rank == 1)):
            found = _root_of_squares(tracer, value, list(range(rank)))
            return finish(tracer, found, range(rank), keepdims, None, "norm")
        if axis is None:
            axes = list(range(rank))
        else:
            axes = [k.__index__() % rank for k in (axis if isinstance(axis, tuple) else (axis,))]
            normalize_axes(axis, rank)
        if len(axes) not in (1, 2):
            raise ValueError("Improper number of dimensions to norm.")
        found = (_vector_norm if len(axes) == 1 else _matrix_norm)(tracer, value, ord, axes)
        return finish(tracer, found, sorted(axes), keepdims, None, "norm")


def _is(ord: Any, value: float) -> bool:
    return isinstance(ord, (int, float, np.generic)) and bool(ord == value)


def _real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of sizes of such numbers: a complex number's parts'."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _squares(tracer: Tracer, value: Value) -> Value:
    """x * x; of a complex number (x.conj() * x).real, without the imaginary part that would cancel."""
    dtype = _real_dtype(value.dtype)
    parts = [value]
    if value.dtype.kind == "c":
        parts = [tracer.add(part, (value,), {}, dtype, value.shape) for part in ("real", "imag")]
    squares = [tracer.add("multiply", (part, part), {}, dtype, value.shape) for part in parts]
    return squares[0] if len(squares) == 1 else tracer.add("add", squares, {}, dtype, value.shape)


def _root_of_squares(tracer: Tracer, value: Value, axes: list[int]) -> Value:
    squares = _squares(tracer, value)
    total = reduce_value(tracer, "sum", squares, axes)
    return tracer.add("sqrt", (total,), {}, total.dtype, total.shape)


def _absolute(tracer: Tracer, value: Value) -> Value:
    return tracer.add("absolute", (value,), {}, _real_dtype(value.dtype), value.shape)


@lru_cache(maxsize=1)
def _largest_of_nothing_is_zero() -> bool:
    """Whether this NumPy takes 0 for the largest of no absolute values (2.3 and later) or refuses."""
    try:
        return bool(np.linalg.norm(np.empty(0), np.inf) == 0)
    except ValueError:
        return False


def _extreme(tracer: Tracer, operation: str, value: Value, axes: list[int]) -> Value:
    if operation == "max" and _largest_of_nothing_is_zero():
        if any([tracer.decide("==", value.shape[axis], 0) for axis in axes]):
            kept = [size for axis, size in enumerate(value.shape) if axis not in axes]
            return full(tracer, 0, value.dtype, kept)
        return reduce_value(tracer, operation, value, axes)
    for axis in axes:
        tracer.require(
            ">=", value.shape[axis], 1,
            f"zero-size array to reduction operation {operation}imum which has no identity", ValueError,
        )  # fmt: skip
    return reduce_value(tracer, operation, value, axes)


def _vector_norm(tracer: Tracer, value: Value, ord: Any, axes: list[int]) -> Value:
    dtype = _real_dtype(value.dtype)
    if ord is None or _is(ord, 2):
        return _root_of_squares(tracer, value, axes)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if _is(ord, math.inf):
        return _extreme(tracer, "max", _absolute(tracer, value), axes)
    if _is(ord, -math.inf):
        return _extreme(tracer, "min", _absolute(tracer, value), axes)
    if _is(ord, 1):
        return reduce_value(tracer, "sum", _absolute(tracer, value), axes)
    if _is(ord, 0):
        zero = to_value(tracer, 0.0, value.dtype)
        nonzero = tracer.add("not_equal", (value, zero), {}, BOOL, value.shape)
        return reduce_value(tracer, "sum", tracer.cast(nonzero, dtype), axes)
    powers = apply_ufunc(tracer, np.power, (SymArray.fresh(tracer, _absolute(tracer, value)), ord)).read()
    total = reduce_value(tracer, "sum", tracer.cast(powers, dtype), axes)
    root = np.reciprocal(ord, dtype=dtype)
    return apply_ufunc(tracer, np.power, (SymArray.fresh(tracer, total), root)).read()


def _matrix_norm(tracer: Tracer, value: Value, ord: Any, axes: list[int]) -> Value:
    row, column = axes
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return _root_of_squares(tracer, value, sorted(axes))
    for order, first, second in ((1, row, column), (math.inf, column, row)):
        if _is(ord, order) or _is(ord, -order):
            total = reduce_value(tracer, "sum", _absolute(tracer, value), [first])
            return _extreme(tracer, "max" if ord > 0 else "min", total, [second - (second > first)])
    if isinstance(ord, str) and ord != "nuc":
        raise ValueError("Invalid norm order for matrices.")
    raise tracer.error(f"np.linalg.norm(ord={described(ord)}) of a matrix", "it needs a singular value decomposition")
