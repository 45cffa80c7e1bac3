"""numpy.fft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operands import FLOAT64
from ..stage_rows import Gives, Like, UnknownError, row
from .dtypes import extent_of, trial, with_axis


@row(np.fft.fft, np.fft.ifft)
def _fft(a: Like, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    return _along(np.fft.fft, a, axis, extent_of(a, axis) if n is None else n)


@row(np.fft.rfft)
def _rfft(a: Like, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    return _along(np.fft.rfft, a, axis, (extent_of(a, axis) if n is None else n) // 2 + 1)


@row(np.fft.ihfft)
def _ihfft(a: Like, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    return _along(np.fft.ihfft, a, axis, (extent_of(a, axis) if n is None else n) // 2 + 1)


@row(np.fft.irfft)
def _irfft(a: Like, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    return _along(np.fft.irfft, a, axis, 2 * (extent_of(a, axis) - 1) if n is None else n)


@row(np.fft.hfft)
def _hfft(a: Like, n: Any = None, axis: int = -1, norm: Any = None, out: None = None) -> Any:
    return _along(np.fft.hfft, a, axis, 2 * (extent_of(a, axis) - 1) if n is None else n)


def _along(function: Any, a: Like, axis: int, extent: Any) -> Any:
    return Gives(trial(function, a).dtype, with_axis(a, axis, extent))


@row(np.fft.fft2, np.fft.ifft2)
def _fft2(a: Like, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return _fftn(a, s, axes)


@row(np.fft.rfft2)
def _rfft2(a: Like, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return _rfftn(a, s, axes)


@row(np.fft.irfft2)
def _irfft2(a: Like, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Any:
    return _irfftn(a, s, axes)


@row(np.fft.fftn, np.fft.ifftn)
def _fftn(a: Like, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    order, extents = _cooked(a, s, axes)
    return Gives(trial(np.fft.fft, a).dtype, _with(a, order, extents))


@row(np.fft.rfftn)
def _rfftn(a: Like, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    order, extents = _cooked(a, s, axes)
    extents[-1] = extents[-1] // 2 + 1
    return Gives(trial(np.fft.rfft, a).dtype, _with(a, order, extents))


@row(np.fft.irfftn)
def _irfftn(a: Like, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Any:
    order, extents = _cooked(a, s, axes)
    if s is None:
        extents[-1] = 2 * (extents[-1] - 1)
    return Gives(trial(np.fft.irfftn, a, None, order).dtype, _with(a, order, extents))


def _cooked(a: Like, s: Any, axes: Any) -> tuple[list[int], list[Any]]:
    """The axes of a transform along several, in order, and the extents that are transformed."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    order = [range(a.ndim)[axis] for axis in axes]
    if not order or len(set(order)) < len(order):
        raise UnknownError
    extents = [a.shape[axis] for axis in order] if s is None else list(s)
    if any(n is None for n in extents):
        raise UnknownError
    return order, [a.shape[axis] if n == -1 else n for axis, n in zip(order, extents, strict=True)]


def _with(a: Like, order: Sequence[int], extents: Sequence[Any]) -> list[Any]:
    found = dict(zip(order, extents, strict=True))
    return [found.get(axis, n) for axis, n in enumerate(a.shape)]


@row(np.fft.fftfreq)
def _fftfreq(n: Any, d: Any = 1.0, device: None = None) -> Any:
    return Gives(FLOAT64, (n,))


@row(np.fft.rfftfreq)
def _rfftfreq(n: Any, d: Any = 1.0, device: None = None) -> Any:
    return Gives(FLOAT64, (n // 2 + 1,))
