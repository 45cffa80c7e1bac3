"""What stages draw from while a call runs: its generators, and NumPy's global one, whose state is kept until nothing is undone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _face
from ._face import mt19937_state, reads_mt19937, set_mt19937_state

current = _face.lent  # the generator of this thread's innermost call that an argument leads to


class _Lent(threading.local):
    """What undoes the global draws of the stages of this thread's call."""

    def __init__(self) -> None:
        self.handed: list[Sequence[Any]] = []
        # Of calls that are under way, the innermost last, each beside caller_of_stages().
        self.states: list[tuple[int, Any]] = []


_lent_here = _Lent()


class States:
    """Of random generators, as they are now."""

    def __init__(self, generators: Iterable[Any]) -> None:
        self._states = [(one.bit_generator, one.bit_generator.state) for one in generators]

    def put_back(self) -> None:
        for bits, state in self._states:
            bits.state = state


@contextmanager
def lent(generators: Mapping[str, Any]) -> Iterator[None]:
    """Stages draw from the generators themselves. Where the call goes to NumPy, they and the global one are as they were."""
    before = States(generators.values())
    _face.lend(generators)
    under_way = len(_lent_here.states)
    try:
        yield
    except BaseException:
        before.put_back()
        while len(_lent_here.states) > under_way:
            undo()
        raise
    finally:
        _face.take_back()


_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic)


def can_be_handed(value: Any) -> bool:
    """Whether Python's statements may be handed such an array: no other array is in it or under it."""
    if type(value) is np.ma.MaskedArray:
        return not value.dtype.hasobject
    if type(value) is not np.ndarray or (value.dtype.kind == "V" and value.dtype.hasobject):
        return False
    return not value.dtype.hasobject or all(issubclass(kind, _PLAIN) for kind in set(map(type, value.flat)))


@contextmanager
def handing(arrays: Sequence[Any]) -> Iterator[None]:
    """Statements that Python runs are handed these arrays of the caller, in order."""
    _lent_here.handed.append(arrays)
    try:
        yield
    finally:
        _lent_here.handed.pop()


def handed(number: int) -> Any:
    return _lent_here.handed[-1][number]


def handed_arrays() -> list[tuple[Any, Any]]:
    """Those of the call that runs, each with a copy."""
    found: list[tuple[Any, Any]] = []
    for one in _lent_here.handed[-1] if _lent_here.handed else ():
        found.append((one.view(np.ndarray), np.array(one, order="K")))
        if isinstance(one, np.ma.MaskedArray):
            found += [((vars(one), name), vars(one)[name]) for name in ("_mask", "_hardmask")]
            found += [(one.mask, one.mask.copy())] if one.mask is not np.ma.nomask else []
    return found


def caller_of_stages() -> int:
    """Whom C makes the call for whose first stage calls what asks: the frame in which that call stands, which outlasts it. A call
    that a stage makes stands in another one."""
    frame = sys._getframe(2).f_back  # behind the stage's own
    return id(frame)


def begin() -> int:
    """Keeps the state of NumPy's global generator, until done() or undo()."""
    own = np.random.mtrand._rand
    is_read = reads_mt19937() and type(own._bit_generator) is np.random.MT19937
    state = mt19937_state(own) if is_read else np.random.get_state(legacy=False)
    caller = caller_of_stages()
    while _lent_here.states and _lent_here.states[-1][0] == caller:  # of a call that Ctrl-C or a time limit has ended
        _lent_here.states.pop()
    _lent_here.states.append((caller, state))
    return 0


def done(is_served: Any) -> int:
    """Nothing is undone any more, unless a check has failed: then NumPy is about to run the call."""
    if is_served:
        _lent_here.states.pop()
    return 0


def drawn_so_far() -> Any:
    """The global generator's state, where a call of this thread keeps what undoes its draws."""
    return np.random.get_state(legacy=False) if _lent_here.states else None


def undo_by(caller: int) -> None:
    """The same of a call that C makes, for that caller: it may have failed before its stages, and a call around it goes on."""
    if _lent_here.states and _lent_here.states[-1][0] == caller:
        undo()


def undo() -> None:
    """The call goes to NumPy: the global generator is as it was before it."""
    _, state = _lent_here.states.pop()
    if isinstance(state, tuple):
        set_mt19937_state(np.random.mtrand._rand, *state)
    else:
        np.random.set_state(state)
