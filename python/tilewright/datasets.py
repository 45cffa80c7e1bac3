"""The data of a tuning job: the recorded call and calls derived from it, as raw files with NumPy's own answers.

Derived calls are cut along symbolic axes, so that NumPy's answer is cheap, to odd extents, so that tails are run; they
are kept only if NumPy takes them and the program's guards hold. The caller's arrays are read, never written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .binding import Bound, bind, layout_of
from .program import Program, evaluate

_PREFIX = "tilewright-data"
_ORDERED = frozenset({"sum", "prod", "matmul"})
_DERIVED_WORK = 3_000_000  # element operations: some 30 ms in NumPy, and more than most split factors


@dataclass
class Call:
    """One call of the user's function, as recorded or derived."""

    kind: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@contextmanager
def data_folder(needed_bytes: int) -> Iterator[Path]:
    """A folder for raw files that is gone afterwards; in memory where there is room."""
    base = Path(tempfile.gettempdir())
    shared = Path("/dev/shm")
    with suppress(OSError):
        if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2 * needed_bytes + (64 << 20):
            base = shared
    _remove_stale(base)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}-{os.getuid()}-{os.getpid()}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def derived_calls(traced: Any, program: Program, call: Call, seed: int = 0) -> Iterator[Call]:
    """Smaller calls with perturbed, special and sign-flipped values; candidates to try, not yet proven fit."""
    rng = np.random.default_rng(seed)
    # Near the largest number the order of a sum decides whether it overflows: no order is the right one.
    extremes = not any(v.operation in _ORDERED and v.dtype.startswith("float") for v in program.values)
    for kind, odd, change in (
        ("perturbed", 1, _perturb),
        ("special", 7, partial(_sprinkle_specials, extremes=extremes)),
        ("signs", 11, _flip_signs),
    ):
        cut = _cut_extents(traced, program, call, odd)
        yield Call(kind, *_map_arrays(traced, program, call, cut, partial(change, rng=rng)))


def answer(function: Callable[..., Any], call: Call) -> tuple[np.ndarray[Any, Any], ...]:
    """NumPy's answer, as the tuple of result arrays. Raises what NumPy raises."""
    with np.errstate(all="ignore"):
        result = function(*call.args, **call.kwargs)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(r) for r in results)


def is_fit(traced: Any, function: Callable[..., Any], call: Call) -> tuple[np.ndarray[Any, Any], ...] | None:
    """NumPy's answer to a derived call, or None where NumPy or the program does not take it."""
    import warnings

    try:
        if not traced.matches(call.args, call.kwargs):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return answer(function, call)
    except Exception:  # noqa: BLE001  (any refusal by the user's function or NumPy means: not fit)
        return None


def write_data_set(
    folder: Path, index: int, program: Program, *, call: Call, bound: Bound, expected: tuple[np.ndarray[Any, Any], ...]
) -> dict[str, Any]:
    """The entry of the job's `datasets`; arrays keep their strides."""
    arguments: list[dict[str, Any]] = []
    for argument in program.arguments:
        if argument.name in bound.arrays:
            arguments.append(
                _write_array(folder / f"{index}-{argument.name}", argument.name, bound.arrays[argument.name])
            )
        else:
            scalar = _json_scalar(bound.scalars[argument.name])
            arguments.append({"name": argument.name, "dtype": argument.dtype, "scalar": scalar})
    answers = []
    for position, result in enumerate(expected):
        path = folder / f"{index}-result{position}"
        np.ascontiguousarray(result).tofile(path)
        answers.append({"dtype": result.dtype.name, "shape": list(result.shape), "file": str(path)})
    return {"kind": call.kind, "arguments": arguments, "expected": answers}


def _write_array(path: Path, name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    offset = 0
    strides = array.strides
    layout = layout_of(array)
    if layout == "c":
        array.tofile(path)
        strides = _contiguous_strides(array.shape, array.itemsize)
    elif layout == "f":
        array.T.tofile(path)
        strides = _contiguous_strides(array.shape[::-1], array.itemsize)[::-1]
    else:
        # The same strides over memory of our own, gaps included.
        spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
        offset = -sum(s for s in spans if s < 0)
        total = offset + sum(s for s in spans if s > 0) + array.itemsize
        memory = np.zeros(total, np.uint8)
        view: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, memory.data, offset, array.strides)
        view[...] = array
        memory.tofile(path)
    return {
        "name": name,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "strides_bytes": [int(s) for s in strides],
        "file": str(path),
        "offset": int(offset),
    }


def _contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(1, extent)
    return tuple(strides)


def _json_scalar(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (complex, np.complexfloating)):
        return [_json_float(float(value.real)), _json_float(float(value.imag))]
    return _json_float(float(value))


def _json_float(value: float) -> Any:
    return value if np.isfinite(value) else str(value)


def _cut_extents(traced: Any, program: Program, call: Call, odd: int) -> dict[str, int]:
    """symbol -> smaller extent: the largest axes are halved until the work is cheap, then made odd."""
    bound = bind(traced, program, call.args, call.kwargs)
    sizes = dict(bound.sizes)
    hidden = set(bound.hidden)
    free = {
        axis
        for array in program.arrays
        if array.name not in hidden
        for axis in array.shape
        if axis in sizes and "." in axis
    }
    for array in program.arrays:
        if array.name in hidden:
            free -= set(array.shape)
    cut: dict[str, int] = {}
    for _ in range(256):
        if evaluate(program.work, sizes) <= _DERIVED_WORK:
            break
        largest = max(free, key=lambda s: sizes[s], default=None)
        if largest is None or sizes[largest] <= 64:
            break
        sizes[largest] = cut[largest] = sizes[largest] // 2
    for symbol in free:
        extent = sizes[symbol]
        if extent > 64:  # an odd extent with another remainder for each kind of data
            cut[symbol] = extent - extent % 16 - 16 + odd
    return cut


def _map_arrays(
    traced: Any,
    program: Program,
    call: Call,
    cut: Mapping[str, int],
    change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call with each array argument of the program cut and changed; all else as it is."""
    bound = bind(traced, program, call.args, call.kwargs)
    replaced: dict[int, Any] = {}
    for array in program.arrays:
        if array.name in bound.hidden:
            continue
        original = bound.arrays[array.name]
        part = original[tuple(slice(0, cut.get(axis)) for axis in array.shape)]
        fresh = change(np.ascontiguousarray(part))
        replaced[id(original)] = _like_layout(fresh, layout_of(original))

    def swap(value: Any) -> Any:
        return replaced.get(id(value), value)

    return tuple(swap(a) for a in call.args), {k: swap(v) for k, v in call.kwargs.items()}


def _like_layout(array: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    if layout == "c":
        return array
    if layout == "f":
        return np.asfortranarray(array)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype) if array.ndim else array
    view = wide[..., ::2] if array.ndim else wide
    view[...] = array
    return view


def _perturb(array: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "fc":
        # Values of an integer array may be indices: they keep their range and change their places.
        return rng.permutation(array.reshape(-1)).reshape(array.shape)
    noise = 1 + 1e-2 * rng.standard_normal(array.shape)
    perturbed: np.ndarray[Any, Any] = (array * noise).astype(array.dtype)
    return perturbed


def _flip_signs(array: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "fc":
        return rng.permutation(array.reshape(-1)).reshape(array.shape)
    return np.where(rng.random(array.shape) < 0.5, -array, array).astype(array.dtype)


def _sprinkle_specials(
    array: np.ndarray[Any, Any], rng: np.random.Generator, extremes: bool = True
) -> np.ndarray[Any, Any]:
    if array.dtype.kind != "f" or array.size == 0:
        return array
    info = np.finfo(array.dtype)
    specials = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, info.smallest_subnormal, -info.tiny, info.eps, 1.0], array.dtype
    )
    if extremes:
        specials = np.append(specials, np.array([info.max, info.min], array.dtype))
    count = max(1, array.size // 200)
    # The last elements too: that is where tails are.
    places = np.unique(np.concatenate([rng.integers(0, array.size, count), [array.size - 1]]))
    out = array.copy()
    out.reshape(-1)[places] = rng.choice(specials, places.size)
    return out


def _remove_stale(base: Path) -> None:
    """Folders of processes of ours that were killed."""
    for folder in base.glob(f"{_PREFIX}-{os.getuid()}-*"):
        with suppress(OSError, ValueError, IndexError):
            pid = int(folder.name.split("-")[3])
            if not Path(f"/proc/{pid}").exists() and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)
