"""Functions of a script that runs: each is Python's at first, and compiled once its calls have taken long."""

from __future__ import annotations

import sys
import threading
import time
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from . import logs, trace_cache
from .builder import build
from .call_keys import call_key
from .decorator import JitFunction
from .errors import Error, InternalError, TraceError, TranslateError
from .followed_apart import MOST_COPIES, FollowedApart, has_place, is_possible, why_impossible
from .own_frames import leave_out_ours
from .quantities import format_ns
from .signatures import parts_of
from .specializing import LOST_IN_SEARCH

# What calls of a function have to take altogether before one is followed: here, where that takes up to seconds (who buys once the
# rent has come to the price pays twice at most), and by a copy of the process; what each has to take; how many are looked at.
_WORTH_NS, _WORTH_APART_NS, _CALL_NS, _LOOKED = 5_000_000_000, 100_000_000, 5_000, 512
_MOST_APART = 16  # traces of a function
# What it may take to find out that nothing is known of a call: a program of many objects has hundreds of guards.
_ASKING, _FIRST_ASKING_NS = 0.02, 5_000_000
_IN_PARTS = "Python runs some of it, or has to be watched while it does"
_TOO_DEAR = "to follow it took too long for what its calls take"
_ENDED = "the process that followed it ended before it had said anything"
_IN_BACKGROUND = "still being compiled in the background"
_BETWEEN_NS = 10_000_000  # that calls take from one look at whether a function is hot by now to the next
_REST_NS = 200_000  # that calls take from one look at those that nobody serves to the next
_SHORT_NS = 1_000_000  # of a call, beside which asking whether its code is there takes long
_FIRST_NS = 500_000_000  # of a function's first call: another one may follow
_DEEPEST = 32  # of calls inside of one another: each takes a frame of ours, and Python has no more than a thousand


class _Here(threading.local):
    """The hot functions that this thread is in, the outermost first. Those that are measured are in Dispatcher.calls_here()."""

    def __init__(self) -> None:
        self.functions: list[tuple[HotFunction, int]] = []  # with the time at which the call began


_here = _Here()


def itself(function: Any) -> Any:
    """What a process that unpickles a hot function has in its place."""
    return function


class HotFunction(JitFunction):
    """A function of the script's. Its calls are measured while Python makes them; those that take long are followed and compiled by
    a copy of the process (by this process, where there can be none), and compared with NumPy as those of any jitted function. Of
    functions that call each other the outermost is compiled, with the others in it; those come into question where it is refused,
    or serves no call better. `leave` is called where Python is found to serve all calls best, and says whether no other calls
    will come here. `in_parts`: gives of a function that is refused one that does the same by parts which are compiled, or None."""

    __doc__ = ""  # what IPython shows of `f?` is the user's own

    def __init__(
        self,
        function: types.FunctionType,
        leave: Callable[[HotFunction], bool],
        in_parts: Callable[[types.FunctionType, str], types.FunctionType | None] | None = None,
    ) -> None:
        super().__init__(function, background=True)
        self._in_python: Callable[..., Any]  # what Python runs
        self._run_by(function)
        self._in_parts = in_parts
        self.is_new = True
        self.missed_calls = self.missed_ns = 0  # since it is hot: traced, compared, or made by NumPy
        self._followed_ns = 0
        self._leave, self._depth = leave, 0
        self._earlier_ns = 0.0  # that a call took in another process
        self._apart: FollowedApart | None = None
        self._key_apart: tuple[Any, ...] = ()  # of the call that it follows
        self._begun_apart = 0
        # That Python took for calls of a hot function that nothing is known of: since the latest trace, and at all.
        self._unknown_ns = self._all_unknown_ns = 0
        self._asked_ns = 0
        self._rests_since_ns = 0  # what Python had taken for its calls when `rested_misses` was set; 0: it was not
        # What another process finds out of it does not help this one: first the functions that it calls are compiled.
        self._is_left_to_parts = self._is_followed_here = False
        self._left_at_ns = 0  # what Python had taken for its calls by then
        # For people: why it is left to Python, or to its parts; which function around it comes first; why no copy was made.
        self._why_left = self._why_to_parts = self._waits_for = self._why_not_apart = ""
        self.next_look_ns = self.worth_apart_ns  # at whether it is hot: once Python has taken so much for its calls

    def __eq__(self, other: object) -> bool:
        """Where the script made containers of functions before this one stood for its own, those hold that."""
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        """As IPython shows functions."""
        printer.pretty(self.__wrapped__)

    def shown_bound(self, to: Any) -> str:
        """What its bound method shows."""
        return f"<bound method {self.__qualname__} of {to!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name, as functions are; by value where functions are (joblib, dask), which is the script's function's."""
        by_value = "cloudpickle" in sys._getframe(1).f_globals.get("__name__", "")
        return (itself, (self.__wrapped__,)) if by_value else self.__reduce__()

    def is_of(self, function: types.FunctionType) -> bool:
        """Whether it stands for a function as that is now."""
        return self.__wrapped__ is function and parts_of(function) == self._parts

    def retire(self) -> None:
        """Nobody wants it compiled any longer: whoever still holds it calls Python's function."""
        self.is_given_up = self._stays_here = True
        self.is_new = False
        self._run_by(self.__wrapped__)
        self.is_hot = self.is_timed = False
        with self._lock:
            self._specializations.clear()
            self.clear()
            self._forget_stays()

    def _fall_back(self, error: TraceError | TranslateError) -> None:
        """A table says what runs in NumPy, and why."""
        logs.fallback.debug("%s: %s", self.__name__, error)

    def _in_turn(self, *call: Any) -> Any:
        _here.functions.append((self, 0))
        try:
            return super()._in_turn(*call)
        finally:
            _here.functions.pop()

    def _raised(self, error: BaseException) -> None:
        """By a call that was measured."""
        _leave_out_ours(error)

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_hot or self.is_given_up or self._stays_here:
            try:
                return self._miss_known(args, kwargs)
            except BaseException as error:
                _leave_out_ours(error)
                raise
        if self.is_in_call():  # recursion; no cell of ours may hold it
            return self._inside_of_itself(args, kwargs)
        return self.measured_call(args, kwargs)  # it was hot when the call began

    def _look(self, args: tuple[Any, ...] | None, kwargs: dict[str, Any]) -> None:
        """At calls that were measured. `args`: of the last one; None where that raised something."""
        self._decide()
        self.next_look_ns = self.python_ns + _BETWEEN_NS
        if self.is_hot and args is not None and not self._is_followed_here and is_possible():
            # It may be the last call of this process, and the first one of the next.
            self._follow_apart(args, kwargs)

    def _miss_known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function that is hot, or left to Python."""
        if self._stays_here:
            run = self.__wrapped__ if self._in_python is self.__wrapped__ else self._run_in_parts
            self.stay(tuple(map(type, (*args, *kwargs.values()))), tuple(kwargs), run)
            return run(*args, **kwargs)
        if self.is_given_up:  # calls that no plan takes
            return self._in_python(*args, **kwargs)
        around = _here.functions
        is_served = False
        missed_ns, began_ns = self.missed_here(), time.perf_counter_ns()
        around.append((self, began_ns))
        try:
            is_served = self._is_served(args, kwargs)
            return super()._miss(args, kwargs) if is_served else self._in_python(*args, **kwargs)
        finally:
            around.pop()
            took_ns = time.perf_counter_ns() - began_ns
            self.missed_ns += took_ns
            self.missed_calls += 1
            self.missed_here(missed_ns + took_ns)
            if not is_served:
                rested_ns = self.python_ns - self._rests_since_ns if self._rests_since_ns else 0
                self._unknown_ns += took_ns + rested_ns
                self._all_unknown_ns += took_ns + rested_ns
                # To come here takes longer than a very short call does: so do only some of them, while nobody knows more.
                self._rests_since_ns = self.python_ns if took_ns < _REST_NS else 0
                self.rested_misses = _REST_NS // max(took_ns, 1) if took_ns < _REST_NS else 0
            if is_served or self._refused or self._specializations:  # else this call shows nothing of what follows
                if self._costs_too_much():
                    self._give_up()
                elif self._is_lost:
                    self._leave_to_python("")  # its specializations know why, or its refusals
                self.is_timed = self.may_be_compiled(began_ns)  # else the functions that it calls are

    def _begin(self) -> None:
        """Before the first call: what an earlier process has followed takes no time before it is compiled code's; what it was refused runs in parts from
        here on, and what it gave up is left to Python."""
        if not self.keeps_traces:
            return
        known = self._known_traces(None)
        self._earlier_ns = known.python_ns
        self.is_hot = self.is_timed = bool(known.traces)
        self._is_left_to_parts = known.left_alone.startswith(_IN_PARTS) and not known.traces
        if not known.left_alone or known.traces:
            return
        if self._is_left_to_parts:
            self._why_to_parts = known.left_alone.removeprefix(_IN_PARTS).strip(" ()")
        if not known.left_alone.startswith(LOST_IN_SEARCH):
            self._take_parts(known.left_alone)
        if not (self._is_left_to_parts or self.is_given_up):
            self._leave_to_python(known.left_alone)

    def _inside_of_itself(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._why_left = f"calls itself, more than {_DEEPEST} calls deep"
            self._stays_here = not self._leave(self)
        try:
            return self._in_python(*args, **kwargs)
        finally:
            self._depth -= 1

    @property
    def mean_python_ns(self) -> float:  # type: ignore[override]
        """What Python takes for a call: in this process, or in an earlier one. 0 where no call was seen."""
        return self.python_ns / self.python_calls if self.python_calls else self._earlier_ns

    def _leave_to_python(self, why: str) -> None:
        """All calls are Python's, from now on without us where nobody else holds this one."""
        self.is_given_up, self._why_left = True, why
        self._stays_here = self._in_python is not self.__wrapped__ or not self._leave(self)

    def _take_new_parts(self) -> None:
        super()._take_new_parts()
        self._run_by(self.__wrapped__)

    def _run_by(self, function: Callable[..., Any]) -> None:
        """What makes the calls that are Python's, from now on."""
        self._in_python, self._in_parts = function, None
        self.measure(function, _LOOKED)

    def _take_parts(self, why: str) -> None:
        """It is refused as a whole: what can be compiled of it is."""
        in_parts, self._in_parts = self._in_parts, None
        made = None if in_parts is None else in_parts(self.__wrapped__, why)  # type: ignore[arg-type]  # a function
        if made is not None:
            self._run_by(made)
            self._leave_to_python(why)

    def _run_in_parts(self, *args: Any, **kwargs: Any) -> Any:
        if parts_of(self.__wrapped__) != self._parts:  # those were of its earlier code
            self._run_by(self.__wrapped__)
            self.forget_stayed()
        try:
            return self._in_python(*args, **kwargs)
        except BaseException as error:
            _leave_out_ours(error)
            raise

    @property
    def _is_lost(self) -> bool:
        """Whether short calls of it are known to be NumPy's: to find that out again takes a share of each that is seen."""
        is_refused = bool(self._refused) and not self._specializations
        lost = [one for one in self._specializations if one.why_numpy and not one.versions]
        is_short = self.missed_ns < _SHORT_NS * self.missed_calls and self.python_ns <= _SHORT_NS * self.python_calls
        return is_short and (is_refused or (bool(lost) and len(lost) == len(self._specializations)))

    def _decide(self) -> None:
        if self.mean_python_ns < _CALL_NS:
            if self.python_calls >= _LOOKED:
                self._why_left = f"calls are too short: {format_ns(_CALL_NS)} are the least"
                self._stays_here = not self._leave(self)
        elif (
            self.python_ns - self._left_at_ns > self.worth_apart_ns  # first, since it is known at once
            and self.python_ns - self._left_at_ns > self._worth_ns
        ):
            around = (*_here.functions, *self.calls_here())
            first = next((one for one, began_ns in around if one.may_be_compiled(began_ns)), None)
            self._waits_for = "" if first is None else first.__qualname__
            if first is None:
                self.is_hot = self.is_timed = True
                self._is_followed_here = self._is_left_to_parts

    most_copies = MOST_COPIES  # that wait for their turn

    @property
    def worth_apart_ns(self) -> int:
        """What calls take altogether before a copy of the process follows one."""
        return _WORTH_APART_NS

    @property
    def _worth_ns(self) -> int:
        """What calls take before it is worth another trace."""
        is_dear = self._is_left_to_parts or not is_possible()
        return _WORTH_NS if is_dear else self.worth_apart_ns

    def _is_served(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether it is known how to serve such a call, or found out now; another process finds it out where it can."""
        is_building = any(one.is_being_built for one in self._specializations)
        if self._is_followed_here:
            return not is_building
        if not self._may_ask:
            return False
        began_ns = time.perf_counter_ns()
        is_served = self._has_code(args, kwargs) if is_building else self._is_known(args, kwargs)
        if not is_served:
            self._asked_ns += time.perf_counter_ns() - began_ns
        return is_served

    @property
    def _may_ask(self) -> bool:
        """Whether it has taken little time so far to find out that nothing is known of calls."""
        return self._asked_ns <= _ASKING * self._all_unknown_ns + _FIRST_ASKING_NS

    def _has_code(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether such a call has no need of what is being built for others: a first call may have been the only one of its kind."""
        found = self._found(args, kwargs)
        if found is not None:
            return not found[0].is_being_built
        return self._kept_trace(None, args, kwargs) is not None

    def _is_known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if self._is_answered(args, kwargs):  # also while a copy follows another kind of call
            return True
        if self._apart is not None:
            if not self._apart.is_over():
                if self._apart.is_starved():
                    self._follow_apart(args, kwargs, is_idle=False)
                return False
            if self._apart.is_ours():
                self._take(self._apart.said or {})
            self._apart = None
            if self._is_answered(args, kwargs):  # by what that has found
                return True
        if self._unknown_ns < (self._worth_ns if self._begun_apart else 0) or self._begun_apart >= _MOST_APART:
            return False
        if is_possible():
            self._follow_apart(args, kwargs)
        return not is_possible() and self.python_ns + self._all_unknown_ns > _WORTH_NS

    def _is_answered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether such a call was followed, here or in another process, or refused."""
        return (
            self._found(args, kwargs) is not None
            or call_key(args, kwargs) in self._refused
            or self._kept_trace(None, args, kwargs) is not None
        )

    def _follow_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_idle: bool = True) -> None:
        if not has_place(self.most_copies):
            self._why_not_apart = (
                f"{self.most_copies} others were being compiled in the background, or memory was short"
            )
            return
        self._begun_apart += 1
        self._unknown_ns = 0
        with suppress(OSError):  # no memory, or too many processes or files: the script is not to know
            self._apart = FollowedApart(lambda: self._followed_there(args, kwargs), is_idle)
            self._key_apart = call_key(args, kwargs)

    def _followed_there(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """In a copy of the process: what comes of following a call, and what is compiled, is on disk then."""
        self._known.clear()  # while this one waited for its turn, the copy of an earlier run may have followed it
        is_of_all = True
        try:
            specialization, bound = self.specialize(args, kwargs)
            if specialization.numpy_reason(bound) is None:
                build(specialization.request(bound))
                self._note_built(specialization, bound)
        except Error as error:
            is_of_all = error.idle != "here" and not (error.depends_on_values or isinstance(error, InternalError))
            said = {"refused": str(error), "is_not_seen": error.not_seen, "is_of_all": is_of_all}
        except Exception as error:  # noqa: BLE001  (the call raises it, or what its data decide does)
            said = {"refused": f"following it raised {type(error).__name__}: {error}", "is_not_seen": True}
        else:
            said = {"not_kept": self.why_not_kept}
        if said.get("not_kept") != "" and is_of_all:
            is_whole = "refused" in said and not said["is_not_seen"]
            why = str(said.get("refused") or said.get("not_kept"))
            trace_cache.leave_alone(
                self._trace_key(None),
                self.__wrapped__,
                why if is_whole else f"{_IN_PARTS} ({why})",
                python_ns=self.mean_python_ns,
            )
        return said

    def _take(self, said: dict[str, Any]) -> None:
        self._known.clear()
        if said.get("not_kept") == "":
            return
        if not said:  # what has ended a copy would end the script
            said = {"refused": _ENDED, "is_not_seen": False}
        if "refused" in said and not said["is_not_seen"]:
            self._refused[self._key_apart] = TraceError(said["refused"])
        else:
            self.is_hot = self.is_timed = False
            self._is_left_to_parts, self._left_at_ns = True, self.python_ns
            self._why_to_parts = str(said.get("refused") or said.get("not_kept"))
        if said.get("is_of_all") and not self._specializations:
            self._take_parts(str(said.get("refused", "")))

    def _followed(self, *call: Any) -> Any:
        began_ns = time.perf_counter_ns()
        try:
            return super()._followed(*call)
        finally:
            self._followed_ns += time.perf_counter_ns() - began_ns

    def _give_up(self) -> None:
        self._leave_to_python(_TOO_DEAR)
        if self.keeps_traces and not any(one.versions for one in self._specializations):
            trace_cache.leave_alone(self._trace_key(None), self.__wrapped__, _TOO_DEAR, python_ns=self.mean_python_ns)

    def _costs_too_much(self) -> bool:
        """Whether to follow it took longer than Python took for its calls before, half as long where no code came of that: each
        call may show something new, or have a value of its own."""
        if any(one.awaits_code for one in self._specializations):
            return False
        took_ns = self.python_ns + self._all_unknown_ns
        return self._followed_ns > took_ns * (1.0 if any(one.versions for one in self._specializations) else 0.5)

    def may_be_compiled(self, began_ns: int) -> bool:
        """Whether its next calls may be compiled code's. `began_ns`: the present call."""
        if self.is_given_up:
            return False
        if self._is_left_to_parts and not self._is_followed_here:
            return False
        if self.is_hot:
            return not self._refused and not any(one.why_numpy for one in self._specializations)
        return self.python_calls > 0 or time.perf_counter_ns() - began_ns < _FIRST_NS

    @property
    def is_awaited(self) -> bool:
        """Whether its code is being made, or is there for later calls."""
        is_begun = self._apart is not None and not self._why_apart(self._apart).startswith(_ENDED)
        return not self.is_given_up and (is_begun or any(one.awaits_code for one in self._specializations))

    @property
    def why_python(self) -> str:
        """Why no code has its calls so far, and what may become of that. What refuses calls, and at which of them NumPy is faster, its
        refusals and specializations say."""
        if self._why_left:
            return self._why_left
        if self._apart is not None and (said := self._why_apart(self._apart)):
            return said
        if any(one.is_being_built or one.awaits_code for one in self._specializations):
            return _IN_BACKGROUND
        if self._is_left_to_parts:
            why = f"what it does is known only where it is done ({self._why_to_parts})"
            return f"{why}, so it is compiled in the script itself, once calls have taken {format_ns(_WORTH_NS)} more"
        if not self.is_hot:
            return self._why_not_hot()
        if self._begun_apart >= _MOST_APART:
            return f"{_MOST_APART} calls were followed, and each was of another kind"
        return self._why_not_here() or self._why_not_apart or "no code was there at the last call"

    def _why_apart(self, apart: FollowedApart) -> str:
        """As why_python, of one that a copy of this process follows, or has followed."""
        if not apart.is_over():
            return _IN_BACKGROUND if apart.has_begun else "to be compiled in the background, behind others"
        said = apart.said or {"refused": _ENDED}
        return str(said.get("refused", "")) or ("" if said.get("not_kept") else "the code came behind the last call")

    def _why_not_hot(self) -> str:
        """As why_python, of one whose calls are measured."""
        took_ns = self.python_ns - self._left_at_ns
        if self._waits_for:
            return f"called by {self._waits_for}, which is compiled first"
        if took_ns <= self.worth_apart_ns:
            return f"{format_ns(took_ns)} in all: what takes {format_ns(_WORTH_APART_NS)} is compiled"
        return self._why_not_here() or "no call came behind that"

    def _why_not_here(self) -> str:
        """Why a function of the script waits for longer than others."""
        why = why_impossible()
        when = f"so what takes {format_ns(_WORTH_NS)} is compiled in the script itself, and nothing else"
        return f"{why}, {when}" if why else ""

    def _stay_until_built(self, *call: Any) -> None:
        # Calls that C makes are not among those that this thread is in.
        if self.python_ns < _SHORT_NS * self.python_calls:
            super()._stay_until_built(*call)


def _leave_out_ours(error: BaseException) -> None:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if isinstance(error, TypeError) and last is not None and last.tb_frame.f_code in _CALLING:
        error.__traceback__ = None  # of arguments that the function does not take: the call's
    else:
        leave_out_ours(error)


_CALLING = [one.__code__ for one in (HotFunction._miss, HotFunction._miss_known, HotFunction._run_in_parts)]
