"""Calls that no plan takes: each is compiled for, compared with NumPy, watched, or left to NumPy."""

from __future__ import annotations

import copy
import time
import types
from typing import Any, Literal

import numpy as np

from . import _face, effects, forks, logs, recording, settings
from .binding import Bound
from .call_keys import call_key, shape_key, without_values
from .devices import on_host, places_among
from .effects import looking_ns
from .errors import DeviceError, Error, InternalError, TraceError, TranslateError
from .failed_traces import is_of_a_handler, raised_while_tracing
from .kinds_of_values import may_be_changed
from .numpy_calls import MAX_WATCHED, numpy_raises
from .partials import is_beyond_limit, is_beyond_memory
from .plan_calls import Unserved, active, marked_active, marked_compared
from .quantities import format_ns
from .signatures import parts_of
from .specialization import Specialization
from .trials import CLEARLY, Trial
from .tried_calls import TriedCalls
from .work import is_small

_LOST_ELSEWHERE = "NumPy was clearly faster at such a call in an earlier process"
# What a call cannot make another argument of, for a trace.
_UNCHANGING = (np.ndarray, np.generic, bool, int, float, complex, str, bytes, type(None), types.FunctionType, type)


def _import_what_compares() -> None:
    """In the thread that has built a version: the call that takes it is compared, and is not to wait for imports."""
    with forks.compiling():  # imports take locks
        from . import comparison, datasets  # noqa: F401, PLC0415


class Serving(TriedCalls):
    """A function whose calls that no plan takes arrive in `_miss`."""

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # First of all: these calls are to cost as little beside NumPy's as they can.
        may_stay = self._stays and "out" not in kwargs and recording.recorder is None
        if may_stay and (key := self._staying_key(args, kwargs)) is not None and _face.current_device() is None:
            if not getattr(self._python, "calls_others", True):
                self._python = self.__wrapped__  # nothing in it was worth a compilation
            self._stay_in_c(key, args, kwargs)
            return self._python(*args, **kwargs)
        began_ns = time.perf_counter_ns()
        if (views := on_host(self.__name__, args, kwargs)) is not None:
            return self(*views[0], **views[1])
        if recording.recorder is not None:
            return recording.recorder.call(self.__wrapped__, self.__name__, args, kwargs, jitted=self)
        if parts_of(self.__wrapped__) != self._parts:
            self._take_new_parts()
        try:
            placed = places_among((*args, *kwargs.values()))
        except (TypeError, DeviceError) as error:  # an array that says of itself what cannot be
            raise type(error)(f"{self.__name__}: an argument is {error}") from None
        except RecursionError:
            return self._too_deep(args, kwargs)
        if placed or self._moves_to_device():
            return self._miss_on_device(args, kwargs, placed)
        kwargs, out = self._without_out(kwargs)
        if active.misses_again(self):
            raise Unserved
        if settings.disabled() or numpy_raises():
            return self._in_numpy(args, kwargs, out)
        own_error, raised = None, False
        way: str
        try:
            specialization, bound = self.specialize(args, kwargs)
            way = "device" if bound.on_device else self._way_of(specialization, bound, args, kwargs)
        except (TraceError, TranslateError) as error:
            way = "watched" if error.not_seen and self._watch_again(args, kwargs) else "numpy"
            if way == "numpy":
                if self.strict and not error.idle:
                    if not self._is_pythons_in_part(error, args, kwargs):
                        raise
                    self._look_inside()  # what is in it is all that is compiled
                if not self.strict and error.idle != "here":
                    self._fall_back(error)
                self._are_idle |= bool(error.idle)
                # f(x, 1) of no iterations says nothing of f(x, 1000).
                self._stay(args, kwargs, at_any_values=error.idle != "here", and_smaller=error.idle == "here")
        except InternalError as error:
            self._refused[call_key(args, kwargs)] = copy.copy(error)
            # A program that cannot be built serves no call, and is no news a second time.
            self._specializations = [one for one in self._specializations if one.versions or one.why_numpy]
            if self.strict:
                raise
            logs.logger.warning("%s: %s NumPy runs it instead.", self.__name__, error)
            self._stay(args, kwargs)
            way = "numpy"
        except Error:
            raise
        except Exception as error:
            if is_of_a_handler(error):
                raise
            # The function's own error, as its trace has it: NumPy raises the one that these data lead to first. Where it
            # raises none, the error is one of the trace alone.
            raised = True
            way = "watched" if self._may_be_of_the_trace(args, kwargs) else "numpy"
            if way == "numpy":
                own_error = raised_while_tracing(error, self.__wrapped__)
                if self.strict:
                    raise self._raised_in_numpy(args, kwargs, writes=True) or own_error from error
        # Outside of the `try`: what the function itself raises here is the caller's, and no reason to run it once more. Nor
        # is it told as another error behind that of the trace.
        if way == "watched":
            result = self._in_watched(args, kwargs)
            if raised:
                self._raised_nothing.add(call_key(args, kwargs))
            self._compile_what_was_seen(args, kwargs)
            return self._in_out(result, out)
        if way == "plan":
            if specialization.traced.has_effects or specialization.trial is not None:
                return self._in_first_plan(specialization, bound, args, kwargs, out, began_ns)
            return self._in_plan(specialization, bound, args, kwargs, out)
        if way == "later":
            if out is None and self.is_asked_for:
                self._stay_until_built(specialization, args, kwargs)
            return self._in_numpy(args, kwargs, out)
        if way == "unserved":
            return self._unserved(specialization, bound, args, kwargs, out)
        if way == "device":  # by an array from outside of the call
            return self._miss_on_device(args, kwargs if out is None else {**kwargs, "out": out}, placed=True)
        begun = time.perf_counter()
        if self._python is self.__wrapped__:
            result = self._in_numpy(args, kwargs, out)
        else:
            result = self._in_out(self._python(*args, **kwargs), out)
        if self.looks_inside and self._python is self.__wrapped__:
            self._look_inside_of_long_calls(time.perf_counter() - begun)
        is_plain = out is None and self._python is self.__wrapped__
        if is_plain and (key := self._staying_key(args, kwargs)) is not None:
            self._stay_in_c(key, args, kwargs)
        if own_error is not None:
            self._refused[call_key(args, kwargs)] = own_error
            self._fall_back(own_error)
        return result

    def _too_deep(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of lists that hold themselves, or lie in one another deeper than Python follows."""
        said = self._refusal("an argument is a list that is in itself, or lists in lists deeper than Python follows.")
        if self.strict:
            raise said
        self._fall_back(said)
        return self._in_numpy(args, *self._without_out(kwargs))

    def _compile_what_was_seen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What a watched call has shown is compiled at once, so that the next call is compiled code's. Whatever cannot be
        compiled is said at the next call: this one may have changed its arguments."""
        refused = self._refused.copy()
        self._forgets_refusals = not all(isinstance(value, _UNCHANGING) for value in (*args, *kwargs.values()))
        try:
            specialization, bound = self.specialize(args, kwargs)
            traced = specialization.traced
            is_compared = traced.may_be_repeated  # at this very call, as it was made
            if not bound.on_device and not (is_compared and (traced.writes_anything or traced.generators)):
                self._way_of(specialization, bound, args, kwargs)
                self._try_in_c(specialization, bound.without_data(), args, kwargs)
        except Exception as error:
            if is_of_a_handler(error):
                raise
            if getattr(error, "not_seen", False):
                self._unseen[call_key(args, kwargs)] = copy.copy(error)
            elif self._forgets_refusals:
                self._refused = refused
        finally:
            self._forgets_refusals = False

    def _is_pythons_in_part(
        self, error: TraceError | TranslateError, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Whether a call that is refused is Python's, with loops or functions of the user's in it that are compiled by
        themselves: no refusal, as for statements that are Python's. So is one that is too long to be followed (nested lists
        of thousands of numbers), and one of objects and containers of the caller, which no statement between kernels may
        change. Nor is long work on Python's own values, or a call that was watched time and again and has not shown what it
        calls. A loop that another thread has to end is refused: to wait is all that the call does."""
        from .symbolic.refusals import WaitsForOthers  # noqa: PLC0415  (a trace has imported it)

        if isinstance(error, WaitsForOthers):
            return False
        if self.strict == "kernels" or self.contract != "numpy" or self.targets.host is None:
            return False
        if error.not_seen or getattr(error, "is_plain_work", False):
            return True
        from .interpret.inner_calls import inner_calls_of  # noqa: PLC0415  (a trace has imported it)

        function: Any = self.__wrapped__
        inner, is_too_long = inner_calls_of(function), getattr(error, "is_too_long", False)
        return (is_too_long and inner.has_what_is_compiled) or (
            may_be_changed((*args, *kwargs.values())) and inner.called_others
        )

    def _stay_until_built(self, specialization: Specialization, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Finding out again that another thread builds what such a call needs takes 100 us."""
        self.stay(shape_key(args, kwargs)[: len(args) + len(kwargs)], tuple(kwargs), self.__wrapped__)
        if not specialization.when_built(self.forget_stayed):
            self.forget_stayed()

    def _look_inside_of_long_calls(self, took_s: float) -> None:
        """NumPy runs the function: once two calls in a row took long (one may find nothing in the caches, or wait for others'
        work), what takes long in them is compiled by and by."""
        self._long_calls = self._long_calls + 1 if took_s > effects.LONG_CALL_S else 0
        if self._long_calls > 1:
            self._look_inside(took_s)
            if self._python is self.__wrapped__:
                return  # nothing in it is worth a compilation: such calls need no other look
        if self._long_calls:
            self._forget_stays()  # the next call is timed, too

    def _way_of(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Literal["numpy", "plan", "unserved", "later"]:
        """Who serves this call of NumPy arrays. Compiles what it needs, and compares that with NumPy."""
        if specialization.numpy_reason(bound) is None:
            # What Python does between kernels, or around a function that nobody asked for, bounds what is won.
            may_wait = specialization.traced.has_effects or not self.is_asked_for or self.in_background
            if may_wait and not specialization.is_built(bound, self._patience_s):
                specialization.when_built(_import_what_compares)
                return "later"
            try:
                is_new = self._compile_for(specialization, bound)
            except TranslateError:  # of a size that no kernel has
                if not is_beyond_memory(specialization.program, bound):
                    raise
                self._stay(args, kwargs)
                return "numpy"
            if not (is_new or (specialization.lead_is_new and not bound.on_device)):
                return "plan"
            specialization.lead_is_new = False
            if not specialization.fits(bound):
                # Sizes that data decide may be too large for kernels: no other version will do.
                if not is_beyond_limit(specialization.program, bound) and not specialization.large_numbers(bound):
                    self._stay(args, kwargs)
                return "unserved"
            if is_beyond_limit(specialization.program, bound):
                return "plan"
            known = self._seen_elsewhere(specialization, bound)
            if known == "loss":
                self._end_trial(specialization, bound, _LOST_ELSEWHERE)
            elif known == "win" or not (is_new or specialization.traced.may_be_repeated):  # a search has found it
                evidence = specialization.evidence or {}
                is_clear = known == "win" or evidence.get("ratio", 0.0) >= CLEARLY
                expected_ns = (evidence.get("numpy_ns") or self.mean_python_ns) if is_clear else 0.0
                if expected_ns or known != "win":
                    self._try(specialization, expected_ns)
                return "plan"
            elif not self._loses(specialization, bound, args, kwargs):
                return "plan"
        self._stay(args, kwargs, and_smaller=is_small(specialization.program, bound))
        return "numpy"

    def shows_more(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Run such a call as plain Python, to show what the pure functions give that it calls; the arguments are its own. False
        where it was run often enough."""
        may_show = self._watch_again(args, kwargs)
        if may_show:
            self._in_watched(args, kwargs)
        return may_show

    def _watch_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call may still show what it calls: each shows some, where branches on data hide others. Words that are
        new at each call would be watched for ever."""
        if len(self._watched_ns.get(call_key(args, kwargs), ())) >= MAX_WATCHED:
            # Its own error is what it raises.
            return bool(self.strict) and call_key(args, kwargs) in self._raised_watched
        return bool(self.strict) or self._watched_alike[without_values(shape_key(args, kwargs))] < MAX_WATCHED

    def _may_be_of_the_trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether what a trace raised may be left to Python, should NumPy not raise it."""
        takes_stages = self.takes_effects and self.contract == "numpy" and self._untaken(args, kwargs) is None
        return takes_stages and call_key(args, kwargs) not in self._raised_nothing and self._watch_again(args, kwargs)

    def _seen_elsewhere(self, specialization: Specialization, bound: Bound) -> Literal["win", "loss", ""]:
        """Whether another process has seen NumPy no faster at such a call, or clearly faster, with the same code on the same machine."""
        known = specialization.known
        if known is None or not (known.wins or known.losses):
            return ""
        mark = specialization.mark_of_code(bound)
        return "win" if mark in known.wins else "loss" if mark in known.losses else ""

    def _try(self, specialization: Specialization, expected_ns: float = 0.0) -> None:
        """The first calls of what a search or another process has compiled are timed here too. `expected_ns`: what NumPy took there."""
        if self.compares:
            was_in_c = specialization.trial is None  # C has the program
            specialization.trial = Trial(
                looking_ns=looking_ns(specialization.traced.stages), expected_ns=expected_ns, is_in_c=True
            )
            if not was_in_c:
                self._publish(specialization)

    def _loses(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Whether NumPy is faster at a call whose version is new; then calls of this size stay with NumPy."""
        if not specialization.traced.may_be_repeated:
            return False  # nothing may be drawn or done twice
        with forks.compiling():  # imports take locks
            from .comparison import compare  # noqa: PLC0415  (slow to import, and only new versions are compared)
            from .datasets import Call, Reference  # noqa: PLC0415

        traced, program = specialization.traced, specialization.program

        in_plan = super().__call__

        def run(call: Call) -> None:
            if specialization.runner is None:
                # As later calls go: what this one takes in Python is no part of them.
                in_plan(*call.args, **call.kwargs)
                return
            # Later calls come by Python, which looks for the program that serves them.
            _, own = self.specialize(call.args, call.kwargs)
            self._in_plan(specialization, own, call.args, call.kwargs, None)

        with marked_active(self), marked_compared(self):
            reference, itself = (
                Reference(self.__wrapped__, traced, program),
                self if specialization.runner is None else None,
            )
            times = compare(run, reference, Call("first", args, kwargs), bound, itself)
        if times is not None and (not times.loses or times.loses_clearly):
            self._remember(specialization, bound, is_win=not times.loses)
        if times is None or not times.loses:
            return False
        reason = f"NumPy takes {format_ns(times.numpy_ns)}, compiled code {format_ns(times.compiled_ns)}"
        self._note_loss(specialization, times.numpy_ns)
        specialization.run_in_numpy(bound, reason)
        self._publish(specialization)
        return True
