"""Answers of device_worker.py about CUDA graphs: the calls of a case captured on a stream of PyTorch's or CuPy's, and launched
again on new data. Where a call decides by data it has to be refused, and the capture goes on to its end."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from device_cases import Case

Array = np.ndarray[Any, Any]
REFUSED = "the stream is being captured into a graph, and a graph cannot do this"


@contextmanager
def no_garbage() -> Any:
    """A graph that Python finds to be garbage during a capture is destroyed by its library there and then, which breaks the
    capture: the driver forbids it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Torch:
    """`torch.cuda.graph` in its usual mode, which forbids much to all threads."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._graph: Any = None

    def place(self, array: Array) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape)).cuda()

    def write(self, placed: Any, array: Array) -> None:
        placed.copy_(self._torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape)))

    def read(self, placed: Any) -> Array:
        return np.asarray(placed.cpu().numpy())

    def is_array(self, value: Any) -> bool:
        return isinstance(value, self._torch.Tensor)

    @contextmanager
    def beside(self) -> Any:
        """As PyTorch advises for what comes before a capture."""
        stream = self._torch.cuda.Stream()
        stream.wait_stream(self._torch.cuda.current_stream())
        with self._torch.cuda.stream(stream):
            yield
        self._torch.cuda.current_stream().wait_stream(stream)

    @contextmanager
    def captured(self) -> Any:
        self._graph = self._torch.cuda.CUDAGraph()
        with no_garbage(), self._torch.cuda.graph(self._graph):
            yield

    def launch(self) -> None:
        self._graph.replay()
        self._torch.cuda.synchronize()


class CuPy:
    """A capture of CuPy's on a non-blocking stream, in the mode that forbids most."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._graph: Any = None

    def place(self, array: Array) -> Any:
        with self._stream:
            return self._cupy.asarray(array)

    def write(self, placed: Any, array: Array) -> None:
        with self._stream:
            placed.set(np.ascontiguousarray(array).reshape(array.shape))
            self._stream.synchronize()

    def read(self, placed: Any) -> Array:
        with self._stream:
            return np.asarray(placed.get())

    def is_array(self, value: Any) -> bool:
        return isinstance(value, self._cupy.ndarray)

    @contextmanager
    def beside(self) -> Any:
        with self._stream:
            yield
            self._stream.synchronize()

    @contextmanager
    def captured(self) -> Any:
        with self._stream, no_garbage():
            self._stream.synchronize()
            self._stream.begin_capture(self._cupy.cuda.runtime.streamCaptureModeGlobal)
            try:
                yield
            finally:
                self._graph = self._stream.end_capture()

    def launch(self) -> None:
        self._graph.launch(self._stream)
        self._stream.synchronize()


def run_graph(case: Case, compiled: Any, library: str, seed: int, difference: Any) -> dict[str, Any]:
    """`difference` is device_worker.py's."""
    made: Any = Torch() if library == "torch" else CuPy()
    problems: list[str] = []
    launched = refused = 0
    first, second = (case.calls(np.random.default_rng([s, *case.name.encode()])) for s in (seed, seed + 1))
    for k, args in enumerate(first):
        others = second[k] if k < len(second) and _alike(args, second[k]) else args
        said = _run(case, compiled, made, (args, others), difference=difference, is_cold=k == 0)
        if said is None:
            continue
        refused += said == REFUSED
        launched += said == ""
        if said not in ("", REFUSED):
            problems.append(said)
        if len(problems) >= 4 or launched >= 4:
            break
    text = "\n".join(problems)
    return {"status": "wrong" if problems else "ok", "text": text, "calls": launched, "refused": refused}


def _run(
    case: Case, compiled: Any, made: Any, data: tuple[Sequence[Any], Sequence[Any]], *, difference: Any, is_cold: bool
) -> str | None:
    """Nothing said where all was right, None where there is nothing to capture."""
    from device_worker import outcome, shown

    args, others = data
    where = f"{shown(args)} of\n{case.source}"
    if outcome(lambda: case.function()(*_copies(args)))[1] is not None:
        return None
    if not any(isinstance(a, np.ndarray) for a in args) or outcome(lambda: case.function()(*_copies(others)))[1]:
        return None
    static = [made.place(a) if isinstance(a, np.ndarray) else a for a in args]
    if not is_cold:
        with made.beside():
            _, error = outcome(lambda: compiled(*[made.place(a) if isinstance(a, np.ndarray) else a for a in args]))
        if error is not None:
            return None  # an error of its own, which the other tests look at
    results: Any = None
    error = None
    with made.captured():
        results, error = outcome(lambda: compiled(*static))
    if error is not None:
        return REFUSED if REFUSED in str(error) else f"captured, raises {type(error).__name__}: {error}: {where}"
    for given in (others, args):
        for placed, array in zip(static, given, strict=True):
            if isinstance(array, np.ndarray):
                made.write(placed, array)
        made.launch()
        theirs = _copies(given)
        expected, _ = outcome(lambda theirs=theirs: case.function()(*theirs))
        got, wanted = _as_tuple(results), _as_tuple(expected)
        for k, (r, w) in enumerate(zip(got, wanted, strict=True)):
            value = made.read(r) if made.is_array(r) else r
            if problem := difference(case, k, value, w, _copies(given)):
                return f"a launch gives result {k}: {problem}: {where}"
        for k, (placed, wrote) in enumerate(zip(static, theirs, strict=True)):
            if isinstance(wrote, np.ndarray) and not np.array_equal(
                made.read(placed), wrote, equal_nan=wrote.dtype.kind in "fc"
            ):
                return f"a launch leaves another argument {k} than NumPy: {where}"
    return ""


def _as_tuple(answer: Any) -> tuple[Any, ...]:
    return tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)


def _copies(args: Sequence[Any]) -> list[Any]:
    return [np.ascontiguousarray(a).reshape(a.shape).copy() if isinstance(a, np.ndarray) else a for a in args]


def _alike(args: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether the graph of one call serves the other: its shapes and its numbers are in it."""
    return len(args) == len(others) and all(
        a.shape == b.shape and a.dtype == b.dtype if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else a is b or a == b
        for a, b in zip(args, others, strict=True)
    )  # fmt: skip
