"""Iterators that the traced function makes: advanced as late as Python advances them, and only where they were made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from ..symbolic.located import pushed
from ..symbolic.number import Symbolic
from .carried import containers_of, memory_of
from .carried_attributes import LoopAttributes
from .frame import Frame
from .state import State


class TracedIterator:
    """An iterator that the function made. A run-time loop or branch is traced once: what it takes out of an iterator
    from before it would be one item for all its iterations, so that is refused."""

    def __init__(
        self, state: State, inner: Iterator[Any], frame: Frame | None = None, place: list[Any] | None = None
    ) -> None:
        """`frame`: of a generator, whose parts are evaluated in it. `place`: of the function that it is, where it is one."""
        self.inner = inner
        self._state = state
        self._frame = frame
        self._block = state.tracer.blocks[-1]
        self._place = place or state.tracer.frames[-1]
        self._made_in = state.frame
        self._entered = None if frame is None else frame.entered
        self.left_at = 0  # the line of a loop that took items of it which Python may not have asked for

    def __iter__(self) -> TracedIterator:
        return self

    def __next__(self) -> Any:
        state, tracer = self._state, self._state.tracer
        refuse_elsewhere(tracer, self._block)
        if self.left_at:
            raise tracer.error(
                f"loops: advancing an iterator behind the loop of line {self.left_at}, which data may end",
                "how many items are left is known only when the compiled function runs",
                "Make it again, or go through its items once.",
            )
        if state.advanced is not None:
            state.advanced.append(self)
        if self._frame is None:
            return next(self.inner)
        self._frame.caller = caller = state.frame
        # A watched call finds what it calls by where it was made.
        self._frame.entered = self._entered if caller is self._made_in else None
        state.frame = self._frame
        tracer.frames.append([*self._place])
        try:
            return next(self.inner)
        finally:
            tracer.frames.pop()
            state.frame = caller

    def __getattr__(self, name: str) -> Any:
        if name in ("send", "throw") and hasattr(self.inner, name):
            raise self._state.tracer.error(f"generators: {name}()", "what it is sent would come while tracing alone")
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


END = object()


class LoopItems:
    """The items of a loop that is unrolled. Behind a break on data only some calls ask for the next one: taking it may change
    nothing then, and what is left of the iterators belongs to the loop alone."""

    def __init__(self, state: State, node: ast.For, items: Iterable[Any]) -> None:
        self._state, self._node, self._items = state, node, iter(items)
        self._maybe_left: list[TracedIterator] = []

    def take(self, is_certain: bool) -> Any:
        """The next item, or END. `is_certain`: every call asks for it."""
        if is_certain or not isinstance(self._items, TracedIterator):
            return next(self._items, END)
        tracer, outer = self._state.tracer, self._state.advanced
        check = None if tracer.checked is None else tracer.checked.storage
        frames = list(_callers(self._state.frame))
        variables = [dict(frame.variables) for frame in frames]
        memories = [one for frame in frames for one in memory_of(frame, tracer) if one.storage is not check]
        where = f"the loop of line {self._node.lineno}, which data may end by a break or a return"
        self._state.advanced = self._maybe_left
        try:
            with (
                tracer.where_data_decide(where),
                pushed(self._state.containers, containers_of(self._state.frame, tracer)),
                pushed(self._state.attributes, LoopAttributes(tracer, is_fixed=True)),
            ):
                item = next(self._items, END)
        finally:
            self._state.advanced = outer
        changes = any(memory.changed() for memory in memories) or any(
            frame.variables.get(name, END) is not held
            for frame, before in zip(frames, variables, strict=True)
            for name, held in before.items()
        )
        if changes:
            raise tracer.error(
                f"loops: an iterator that changes variables or arrays, in {where}",
                "it may change them in some calls alone",
                "Go through a list, or leave the loop out of the compiled function.",
            )
        return item

    def end(self) -> None:
        """Behind the loop."""
        for one in self._maybe_left:
            one.left_at = self._node.lineno


def _callers(frame: Frame | None) -> Iterator[Frame]:
    while frame is not None:
        yield frame
        frame = frame.caller
