"""np.r_, np.c_, np.ogrid and np.mgrid: objects of NumPy's whose items are arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.located import NO_RULE
from ..symbolic.registry import OPERATIONS
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc, common_dtype
from .operands import is_symbolic
from .shapes import as_array
from .stages import materialized

# Of objects that give what they are asked for.
_ITSELF = (np.s_, np.index_exp)


def is_builder(value: Any) -> bool:
    return any(value is one for one in (*_BUILDERS.values(), *_ITSELF))


def built(tracer: Tracer, builder: Any, key: Any) -> Any:
    """`builder[key]`."""
    if builder in _ITSELF or not is_symbolic(list(key) if isinstance(key, tuple) else [key]):
        return builder[key]
    name = next(name for name, one in _BUILDERS.items() if one is builder)
    with tracer.composite(name):
        if name in ("r_", "c_"):
            return _joined(tracer, name, key if isinstance(key, tuple) else (key,))
        return _grid(tracer, name, tuple(key) if isinstance(key, list) else key)


def _joined(tracer: Tracer, name: str, key: tuple[Any, ...]) -> Any:
    """np.r_ joins its items along the first axis; np.c_ makes vectors columns, and joins along the last."""
    items = []
    for item in map(materialized, key):
        if isinstance(item, str):
            raise tracer.error(f"np.{name}[{item!r}, ...]", NO_RULE, "Use np.concatenate or np.stack.")
        items.append(_steps(tracer, item) if isinstance(item, slice) else item)
    dtype = common_dtype(*items)
    parts = []
    for item in items:
        part = as_array(tracer, item)
        part = part if part.ndim else part.reshape(1)
        if name == "c_" and part.ndim == 1:
            part = part.reshape(-1, 1)
        parts.append(part if part.dtype == dtype else part.astype(dtype))
    return OPERATIONS.call_numpy(tracer, np.concatenate, (parts, -1 if name == "c_" else 0), {})


def _steps(tracer: Tracer, item: slice) -> Any:
    start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
    if isinstance(step, complex):  # so many points, and the end is one of them
        return OPERATIONS.call_numpy(tracer, np.linspace, (start, item.stop, int(abs(step))), {})
    return OPERATIONS.call_numpy(tracer, np.arange, (start, item.stop, step), {})


def _numbers(item: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step of a grid's axis, by which NumPy chooses the dtype."""
    step = 1 if item.step is None else item.step
    return 0 if item.start is None else item.start, item.stop, abs(step) if isinstance(step, complex) else step


def _counted(tracer: Tracer, item: slice, dtype: np.dtype[Any]) -> SymArray:
    """An axis of a grid: `arange(n) * step + start`, whose floats are not always those of np.arange and np.linspace."""
    steps = _steps(tracer, item)
    start, stop, step = _numbers(item)
    if isinstance(item.step, complex):
        count = int(step)
        step = (stop - start) / float(count - 1) if count != 1 else 1
    elif steps.dtype.kind in "iu":
        return steps if steps.dtype == dtype else steps.astype(dtype)
    counted = OPERATIONS.call_numpy(tracer, np.arange, (steps.shape[0],), {"dtype": dtype})
    return apply_ufunc(tracer, np.add, (apply_ufunc(tracer, np.multiply, (counted, step)), start))


def _grid(tracer: Tracer, name: str, key: Any) -> Any:
    if not isinstance(key, tuple):
        is_counted = isinstance(key.step, complex)
        return _counted(tracer, key, common_dtype(*_numbers(key))) if is_counted else _steps(tracer, key)
    # One float among the limits makes floats of all axes.
    dtype = common_dtype(0, *(number for item in key for number in _numbers(item)))
    axes: list[SymArray] = []
    for k, item in enumerate(key):
        shape = [1] * len(key)
        shape[k] = -1
        axes.append(_counted(tracer, item, dtype).reshape(shape))
    if name == "ogrid":
        return tuple(axes)
    full = OPERATIONS.call_numpy(tracer, np.broadcast_arrays, axes, {})
    return OPERATIONS.call_numpy(tracer, np.stack, (full,), {})


_BUILDERS = {"r_": np.r_, "c_": np.c_, "ogrid": np.ogrid, "mgrid": np.mgrid}
