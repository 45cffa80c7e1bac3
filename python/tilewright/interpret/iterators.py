"""Iterators that the traced function makes: advanced as late as Python advances them, and only where they were made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..symbolic.scalars import Symbolic
from .frame import Frame
from .state import State


class TracedIterator:
    """An iterator that the function made. A run-time loop or branch is traced once: what it takes out of an iterator
    from before it would be one item for all its iterations, so that is refused."""

    def __init__(self, state: State, inner: Iterator[Any], frame: Frame | None = None) -> None:
        """`frame`: of a generator expression, whose parts are evaluated in it."""
        self.inner = inner
        self._state = state
        self._frame = frame
        self._block = state.tracer.blocks[-1]
        self._place = state.tracer.frames[-1]

    def __iter__(self) -> TracedIterator:
        return self

    def __next__(self) -> Any:
        state, tracer = self._state, self._state.tracer
        refuse_elsewhere(tracer, self._block)
        if self._frame is None:
            return next(self.inner)
        self._frame.caller = caller = state.frame
        state.frame = self._frame
        tracer.frames.append([*self._place])
        try:
            return next(self.inner)
        finally:
            tracer.frames.pop()
            state.frame = caller

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def traced_iterator(state: State, made: Any) -> Any:
    """What a call gives that is not followed; an iterator as one of the function's own."""
    is_plain = isinstance(made, Iterator) and not isinstance(made, (TracedIterator, Symbolic))
    return TracedIterator(state, made) if is_plain else made


def refuse_elsewhere(tracer: Any, block: Any) -> None:
    """TraceError where the program is being written into another block than that."""
    if tracer.blocks[-1] is not block:
        raise tracer.error(
            "loops: advancing an iterator that was made before a run-time loop or branch",
            "iterators are Python's own while tracing, and a run-time loop is traced as one iteration",
            "Make it inside, or index with the loop's variable instead.",
        )
