"""Functions of a script that runs: each is Python's at first, and compiled once its calls have taken long."""

from __future__ import annotations

import operator
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from .decorator import JitFunction
from .own_frames import leave_out_ours

# What calls have to take altogether, and each of them, to be worth traces, which take up to seconds themselves (who buys once they have
# paid the price as rent pays twice at most); how many are looked at.
_WORTH_NS, _CALL_NS, _LOOKED = 2_000_000_000, 5_000, 512
_SHORT_NS = 1_000_000  # of a call, beside which asking whether its code is there takes long
_FIRST_NS = 500_000_000  # of a function's first call: another one may follow
_DEEPEST = 32  # of calls inside of one another: each takes a frame of ours, and Python has no more than a thousand


class _Here(threading.local):
    """The functions that this thread is in, the outermost first."""

    def __init__(self) -> None:
        self.functions: list[tuple[HotFunction, int]] = []  # with the time at which the call began
        # What calls of hot functions took outside of compiled code, which is no time of their callers.
        self.missed_ns = 0


_here = _Here()


class HotFunction(JitFunction):
    """A function of the script's. Its calls are measured while Python makes them; those that take long are compiled by another
    thread, and compared with NumPy as those of any jitted function. Of functions that call each other the outermost is
    compiled, with the others in it; those come into question where it is refused, or serves no call better. `leave` is called where
    Python is found to serve all calls best, and says whether no other calls will come here."""

    def __init__(self, function: types.FunctionType, leave: Callable[[HotFunction], bool]) -> None:
        super().__init__(function, background=True)
        self.python_calls = self.python_ns = 0
        self.missed_calls = self.missed_ns = 0  # since it is hot: traced, compared, or made by NumPy
        self._followed_ns = 0
        self.is_hot = self.is_given_up = False
        self._leave, self._depth = leave, 0
        self._stays_here = False  # others hold it, and Python serves all calls best

    def __eq__(self, other: object) -> bool:
        """Where the script made containers of functions before this one stood for its own, those hold that."""
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def _in_turn(self, *call: Any) -> Any:
        _here.functions.append((self, 0))
        try:
            return super()._in_turn(*call)
        finally:
            _here.functions.pop()

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_given_up:  # calls that no plan takes
            return self.__wrapped__(*args, **kwargs)
        if self._stays_here:
            self.stay(tuple(map(type, (*args, *kwargs.values()))), tuple(kwargs), self.__wrapped__)
            return self.__wrapped__(*args, **kwargs)
        around = _here.functions
        if not self.is_hot and self in map(operator.itemgetter(0), around):  # recursion; no cell of ours may hold it
            return self._inside_of_itself(args, kwargs)
        is_hot, missed_ns, began_ns = self.is_hot, _here.missed_ns, time.perf_counter_ns()
        around.append((self, began_ns))
        try:
            return super()._miss(args, kwargs) if is_hot else self.__wrapped__(*args, **kwargs)
        except BaseException as error:
            leave_out_ours(error)
            raise
        finally:
            around.pop()
            took_ns = time.perf_counter_ns() - began_ns
            if is_hot:
                self.missed_ns += took_ns
                self.missed_calls += 1
                _here.missed_ns = missed_ns + took_ns
                self.is_given_up = self._costs_too_much()
                self.is_timed = self.may_be_compiled(began_ns)  # else the functions that it calls are
            else:
                self.python_ns += took_ns - (_here.missed_ns - missed_ns)
                self.python_calls += 1
                self._decide()

    def _inside_of_itself(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._stays_here = not self._leave(self)
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            self._depth -= 1

    def _decide(self) -> None:
        mean_ns = self.python_ns / self.python_calls
        if mean_ns < _CALL_NS:
            if self.python_calls >= _LOOKED:
                self._stays_here = not self._leave(self)
        elif self.python_ns > _WORTH_NS and not any(one.may_be_compiled(began_ns) for one, began_ns in _here.functions):
            self.is_hot = self.is_timed = True

    def _new_specialization(self, *call: Any) -> Any:
        began_ns = time.perf_counter_ns()
        try:
            return super()._new_specialization(*call)
        finally:
            self._followed_ns += time.perf_counter_ns() - began_ns

    def _costs_too_much(self) -> bool:
        """Whether to follow it took longer than Python took for its calls before, half as long where no code came of that: each
        call may show something new, or have a value of its own."""
        if any(one.awaits_code for one in self._specializations):
            return False
        return self._followed_ns > self.python_ns * (1.0 if any(one.versions for one in self._specializations) else 0.5)

    def may_be_compiled(self, began_ns: int) -> bool:
        """Whether its next calls may be compiled code's. `began_ns`: the present call."""
        if self.is_given_up:
            return False
        if self.is_hot:
            return not self._refused and not any(one.why_numpy for one in self._specializations)
        return self.python_calls > 0 or time.perf_counter_ns() - began_ns < _FIRST_NS

    def _stay_until_built(self, *call: Any) -> None:
        # Calls that C makes are not among those that this thread is in.
        if self.python_ns < _SHORT_NS * self.python_calls:
            super()._stay_until_built(*call)
