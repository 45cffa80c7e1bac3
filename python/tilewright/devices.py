"""Arrays on CUDA devices, and what a trace and a schedule need to know of them: everything but their data."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _face
from ._face import DeviceArray, device, to_device
from .errors import DeviceError

__all__ = ["DeviceArray", "device", "to_device"]  # of _face; the module's own names are imported one by one

_CONTAINERS = (list, tuple)
_HOST_KINDS = (1, 3)  # of DLPack: pageable and pinned memory
_NO_RESERVE = 0x4000  # of Linux; the module names it from Python 3.11 on
_RESERVED_ONLY = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE


class UnknownDtype(TypeError):
    """An array on a device of a dtype that kernels do not have."""


def is_placed(value: Any) -> bool:
    """Whether it is an array on a device, of whatever library."""
    return type(value) is not np.ndarray and _face.placed(value) is not None


def stand_in(value: Any) -> Any:
    """For an array on a device a NumPy array of its dtype, shape, strides and writeability, whose elements are nobody's:
    zeros that take no memory. Anything else as it is."""
    if type(value) is np.ndarray:
        return value
    placed = _face.placed(value)
    if placed is None:
        return value
    _, name, shape, strides, read_only, _, _ = placed
    if name is None or name == "float16":  # of which there are no kernels for devices
        raise UnknownDtype(
            f"{describe_placed(value)}, and kernels take bool, integers, float32, float64, complex64 and complex128. "
            "Convert it in its library: to(torch.float32), astype('float32')."
        )
    dtype = np.dtype(name)
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True) if n > 1]
    offset = -sum(s for s in spans if s < 0)
    length = 0 if 0 in shape else offset + sum(s for s in spans if s > 0) + dtype.itemsize
    memory = mmap.mmap(-1, max(length, 1), flags=_RESERVED_ONLY)
    array: np.ndarray[Any, Any] = np.ndarray(shape, dtype, memory, offset, strides)
    array.flags.writeable = not read_only
    return array


def on_host(
    function: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call with NumPy arrays over the same memory for those that other libraries have on the host
    (PyTorch's CPU tensors); None where there are none."""
    views = [_on_host(function, value) for value in (*args, *kwargs.values())]
    if all(new is old for new, old in zip(views, (*args, *kwargs.values()), strict=True)):
        return None
    return tuple(views[: len(args)]), dict(zip(kwargs, views[len(args) :], strict=True))


def _on_host(function: str, value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) or not hasattr(type(value), "__dlpack_device__"):
        return value
    try:
        if value.__dlpack_device__()[0] not in _HOST_KINDS:
            return value
    except Exception:  # noqa: BLE001  (what it says of itself cannot be: who looks for devices says so)
        return value
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as error:
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}"
        raise TypeError(
            f"{function}: an argument is a {kind} on the host, which NumPy does not take: {error}"
        ) from None


def check_device(wanted: Sequence[int] = ()) -> None:
    """DeviceError where there is no CUDA device, or none with such a number."""
    why = _face.no_device_reason()
    if why:
        raise DeviceError(
            f"cuda: {why}",
            "`--build-only` makes modules without one, with default schedules.",
        )
    known = [entry["ordinal"] for entry in _face.devices()]
    missing = [ordinal for ordinal in wanted if ordinal not in known]
    if missing:
        raise DeviceError(
            f"cuda: there is no device {', '.join(map(str, missing))}; this process sees {', '.join(map(str, known))}.",
            "CUDA_VISIBLE_DEVICES may hide some.",
        )


def device_name(ordinals: Sequence[int] = ()) -> str:
    """NVIDIA H200, of the first device that measures."""
    found = {entry["ordinal"]: str(entry["name"]) for entry in _face.devices()}
    return found.get(ordinals[0] if ordinals else 0, "a CUDA device")


def host_copies(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with NumPy arrays for those on a device."""
    copy = lambda value: _face.host_copy(value) if is_placed(value) else value  # noqa: E731
    return tuple(map(copy, args)), {name: copy(value) for name, value in kwargs.items()}


def place_all(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with NumPy arrays copied to the device, unless one lies on a device already."""
    if places_among((*args, *kwargs.values())):
        return args, kwargs
    place = lambda value: to_device(value) if type(value) is np.ndarray else value  # noqa: E731
    return tuple(place(value) for value in args), {name: place(value) for name, value in kwargs.items()}


def describe_placed(value: Any) -> str:
    """torch.Tensor float32[3, 2] on cuda:0."""
    placed = _face.placed(value)
    if placed is None:
        return type(value).__name__
    ordinal, dtype, shape, _, _, _, _ = placed
    if dtype is None:
        told = getattr(value, "__cuda_array_interface__", None)
        dtype = (
            getattr(value, "dtype", told.get("typestr") if isinstance(told, dict) else None) or "of an unknown dtype "
        )
    what = f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}"
    return f"{what} {dtype}[{', '.join(map(str, shape))}] on cuda:{ordinal}"


def places_among(values: Iterable[Any]) -> bool:
    """Whether an array on a device is among the arguments of a call, in lists and dictionaries too."""
    for value in values:
        if type(value) is np.ndarray:
            continue
        if type(value) in _CONTAINERS:
            if places_among(value):
                return True
        elif type(value) is dict:
            if places_among(value.values()):
                return True
        elif _face.placed(value) is not None:
            return True
    return False
