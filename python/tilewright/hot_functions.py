"""Functions of a script that runs: each is Python's at first, and compiled once its calls have taken long."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

from .decorator import JitFunction

# What calls have to take altogether, and each of them, to be worth a trace; how many are looked at.
_WORTH_NS, _CALL_NS, _LOOKED = 80_000_000, 5_000, 512


class HotFunction(JitFunction):
    """A function of the script's. Its calls are measured while Python makes them; those that take long are compiled by another
    thread, and compared with NumPy as those of any jitted function. `leave` is called where Python is found to serve all of them
    best."""

    def __init__(self, function: types.FunctionType, leave: Callable[[HotFunction], None]) -> None:
        super().__init__(function, background=True)
        self.python_calls = self.python_ns = 0
        self.missed_calls = self.missed_ns = 0  # since it is hot: traced, compared, or made by NumPy
        self.is_hot = False
        self._leave, self._runs = leave, False

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_hot:
            return self._missed(args, kwargs)
        if self._runs:  # recursion, or another thread
            return self.__wrapped__(*args, **kwargs)
        self._runs, began_ns = True, time.perf_counter_ns()
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            self._runs = False
            self.python_ns += time.perf_counter_ns() - began_ns
            self.python_calls += 1
            self._decide()

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        began_ns = time.perf_counter_ns()
        try:
            return super()._miss(args, kwargs)
        finally:
            self.missed_ns += time.perf_counter_ns() - began_ns
            self.missed_calls += 1

    def _decide(self) -> None:
        mean_ns = self.python_ns / self.python_calls
        if self.python_ns > _WORTH_NS and mean_ns > _CALL_NS:
            self.is_hot = self.is_timed = True
        elif self.python_calls >= _LOOKED and mean_ns * self.python_calls < _WORTH_NS and mean_ns < _CALL_NS:
            self._leave(self)
