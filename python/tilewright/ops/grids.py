"""np.r_, np.c_, np.ogrid and np.mgrid: objects of NumPy's whose items are arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT, NO_RULE
from ..symbolic.registry import OPERATIONS
from ..symbolic.tracer import Tracer
from .elementwise import common_dtype
from .operands import INT64, is_symbolic
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


def _grid(tracer: Tracer, name: str, key: Any) -> Any:
    if not isinstance(key, tuple):
        return _steps(tracer, key)
    axes: list[SymArray] = []
    for k, item in enumerate(key):
        steps = _steps(tracer, item)
        if steps.dtype != INT64:
            raise tracer.error(f"np.{name} of numbers that are no integers", NO_RULE, LEAVE_IT_OUT)
        shape = [1] * len(key)
        shape[k] = -1
        axes.append(steps.reshape(shape))
    if name == "ogrid":
        return tuple(axes)
    full = OPERATIONS.call_numpy(tracer, np.broadcast_arrays, axes, {})
    return OPERATIONS.call_numpy(tracer, np.stack, (full,), {})


_BUILDERS = {"r_": np.r_, "c_": np.c_, "ogrid": np.ogrid, "mgrid": np.mgrid}
