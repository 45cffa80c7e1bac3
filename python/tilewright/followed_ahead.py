"""While `autotune` records a script, copies of the process find out what `autotune run` would: which functions are refused as a whole,
whose parts are recorded from then on, and code under default schedules for all that no search is made for."""

from __future__ import annotations

import builtins
import time
import types
from collections.abc import Callable
from typing import Any

from . import followed_apart
from .errors import Error
from .hot_functions import HotFunction
from .hot_observer import is_generator
from .originals import original_of
from .record.capture import Recorder
from .record.left_alone import why_left_alone
from .record.parts import in_parts
from .record.regions import Region

_WORTH_AHEAD_NS = 30_000_000  # what calls of a function have to take altogether
_MOST_COPIES = 16  # that wait for their turn: a short script has ended before the first of them
_LOOK_S = 0.05  # from one look at what copies have found to the next


class _Recorded(HotFunction):
    """One that compiled code serves no call of: the script is recorded as Python runs it."""

    most_copies = _MOST_COPIES

    @property
    def worth_apart_ns(self) -> int:
        """Who asks for a search waits, and later runs need not: less is worth it."""
        return _WORTH_AHEAD_NS

    def _is_served(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        began_ns = time.perf_counter_ns()
        if self._may_ask and super()._is_served(args, kwargs):
            self._asked_ns += time.perf_counter_ns() - began_ns
        return False

    def _followed_there(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return super()._followed_there(
            tuple(map(original_of, args)), {name: original_of(one) for name, one in kwargs.items()}
        )


class Ahead:
    """What makes the calls that a recorder records."""

    def __init__(self, recorder: Recorder) -> None:
        self._functions: list[_Recorded] = []
        self._regions: dict[str, types.FunctionType] = {}
        self._recorder = recorder
        recorder.run_of = self._run_of

    def _run_of(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """What stands for a function of the script's, or for statements of it."""
        if not isinstance(function, types.FunctionType) or is_generator(function) or why_left_alone(function, name):
            return function
        try:
            made = _Recorded(function, lambda _: False, self._in_parts)
        except (Error, TypeError, ValueError):
            return function
        self._functions.append(made)
        return made

    def _in_parts(self, function: types.FunctionType, why: str) -> types.FunctionType | None:
        return in_parts(function, self._take, why)

    def _take(self, region: Region, of: types.FunctionType) -> None:
        plain = region.function(of.__globals__, of.__code__.co_filename)
        self._regions[region.name] = plain
        setattr(builtins, region.name, self._recorder.wrap(plain, plain.__qualname__))

    def end(self) -> None:
        """The script has ended: whoever still holds its functions calls those."""
        for one in self._functions:
            one.retire()
        for name, function in self._regions.items():
            setattr(builtins, name, function)

    def wait(self, patience_s: float, tell: Callable[[str], None]) -> None:
        """For copies that are not over; those that still are not after so many seconds are ended."""
        until = time.monotonic() + patience_s
        while left := followed_apart.that_go_on():
            if time.monotonic() > until:
                for one in left:
                    one.stop()
                return
            tell("compiling what else the script's calls need")
            for one in left:
                one.hurry()
            time.sleep(_LOOK_S)
