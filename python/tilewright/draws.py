"""Random generators of a call: their states go into the program, and move on when it is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np

from ._face import move_pcg64_on, pcg64_words
from .binding import Bound
from .errors import Error
from .guards import follow
from .lent import States, can_be_handed, handing, lent
from .reached_arrays import reached_by

_REENTRANT = type(RLock())  # what NumPy has since 2.3; a lock without it would wait for its own thread


class SharedGenerator(Error):
    """Two generators of a call that were different ones when it was traced draw from one stream."""


class SharedMemory(SharedGenerator):
    """Arrays that Python's statements are handed and others of the call are the same memory: NumPy runs it."""


@contextmanager
def drawing(traced: Any, bound: Bound) -> Iterator[Mapping[str, Any]]:
    """The program's inputs, with its generators locked; they are moved on where nothing is raised inside."""
    if traced.reaching:
        _refuse_reached(traced, bound)
    if traced.handed:
        _refuse_others(bound)
        with handing(bound.handed), drawing(replace(traced, handed=(), reaching=()), bound) as values:
            yield values
        return
    if not traced.generators and not traced.draws_are_stages:
        yield bound.values
        return
    if traced.draws_are_stages:
        states = {name: pcg64_words(one) for name, one in bound.generators.items()}
        with ExitStack() as locks, lent(bound.generators):
            if traced.draws_move:
                streams = [one.bit_generator for one in bound.generators.values()]
                _refuse_one_stream(streams)
                if draws_globally(traced):
                    streams.append(np.random.mtrand._rand._bit_generator)
                # Stages of this thread draw from them too.
                _lock(locks, [one for one in streams if isinstance(one.lock, _REENTRANT)])
            yield {**bound.values, **states}
        return
    moved = {name: bound.generators[name].bit_generator for name, _, _ in traced.generators}
    _refuse_one_stream(list(moved.values()))
    with ExitStack() as locks:
        _lock(locks, moved.values())
        values = dict(bound.values)
        for name in moved:
            values[name] = pcg64_words(bound.generators[name])
        yield values
        for name, _, drawn in traced.generators:
            move_pcg64_on(bound.generators[name], drawn.evaluate(bound.sizes))


def draws_globally(traced: Any) -> bool:
    """Whether kernels move the state of numpy.random's own generator."""
    return bool(traced.draws_move) and any(text.startswith("numpy.random.state") for text in traced.stages)


def _refuse_one_stream(streams: Sequence[Any]) -> None:
    if len({id(stream) for stream in streams}) < len(streams):
        raise SharedGenerator("two generators of the call draw from one stream.")


def _lock(locks: ExitStack, streams: Iterable[Any]) -> None:
    """In one order, so that two calls never wait for each other."""
    for stream in sorted(streams, key=id):
        locks.enter_context(stream.lock)


def _refuse_reached(traced: Any, bound: Bound) -> None:
    """Kernels show nothing of what callees write into arrays that an argument leads to as well."""
    given = {one.name for one in traced.arguments if one.path[0][0] == "parameter"}
    arguments = [array for name, array in bound.arrays.items() if name in given and isinstance(array, np.ndarray)]
    reached = [one for function in traced.reaching for one in reached_by(function)]
    if any(np.may_share_memory(one, other) for one in arguments for other in reached):
        raise SharedMemory("a function that the call makes may write an array that is an argument too.")


def _refuse_others(bound: Bound) -> None:
    """Arrays that kernels read show nothing of what Python's statements write, and theirs nothing of what kernels do."""
    known = [one for one in bound.arrays.values() if isinstance(one, np.ndarray)]
    for one in bound.handed:
        if not can_be_handed(one) or any(np.may_share_memory(one, other) for other in known):
            raise SharedMemory("an array of the call shares memory with another one, or holds others.")


@contextmanager
def as_they_were(traced: Any) -> Iterator[None]:
    """Generators that a function draws from and that are none of its arguments, numpy.random's own too, are behind a call what they were
    before it: calls are made again and again for a search."""
    from .trace.traced import root_function  # noqa: PLC0415  (a search has imported it)

    places = [one.path for one in traced.arguments if one.path[-1][0] == "pcg64"]
    outside = [path[:-1] for path in places if path[0][0] not in ("parameter", "default_rng")]
    before = States(follow(path, {}, root_function(traced.function)) for path in outside)
    shared = np.random.mtrand._rand if any("numpy.random." in text for text in traced.stages) else None
    # With the normal number that it keeps for the next call.
    state: Any = None if shared is None else shared.get_state(legacy=False)
    try:
        yield
    finally:
        before.put_back()
        if shared is not None:
            shared.set_state(state)
