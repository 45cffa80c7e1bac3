"""Calls that nobody may repeat, made by compiled code and by NumPy in turn until one of them is known to be faster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from . import effects, logs
from .binding import Bound
from .call_keys import call_key, magnitude_key, shape_key
from .device_calls import DeviceCalls
from .machine import lost_processors
from .specialization import Specialization
from .trials import Trial

_MOST_OTHERS = 16  # calls of other shapes, while some of one shape are NumPy's; calls in a row of other programs
_MOST_BEGUN_ANEW = 2  # trials: shapes that never come again are compiled code's
# Calls before it is known how functions that stages call are called best, and of those that take far longer than NumPy's.
_MOST_SETTLING, _MOST_SLOW = 12, 4
# A watched call takes its time for looking; a first call of a plan, which finds nothing in the caches, some as well.
_SLOWER_THAN_WATCHED = 2
_SHORT_NS = 2_000_000  # calls, of which the first ones are no reason to look for what is long in them
_ALL_OF_A_CALL = 0.98  # as a share of it


class TriedCalls(DeviceCalls):
    """A function whose calls are NumPy's in turn, while that is tried. Of programs that C finds these calls go as later ones
    will: the dispatcher hands them to what counts their time, and finds the program itself. All others come by Python."""

    def _in_first_plan(  # noqa: PLR0917
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        began_ns: int,
    ) -> Any:  # fmt: skip
        """The call that was watched tells what Python takes, and of the next calls some are compiled code's and some NumPy's.
        `began_ns`: when the call came to Python."""
        trial, alike = specialization.trial, magnitude_key(args, kwargs)
        if trial is not None and trial.is_of_others(alike):
            if not self._begins_anew(specialization, bound):
                return self._in_plan(specialization, bound, args, kwargs, out)
            trial = specialization.trial
        if trial is not None and trial.is_numpys_turn:
            start_ns = time.perf_counter_ns()
            result = self._in_numpy(args, kwargs, out)
            trial.alike = alike
            trial.numpy_ns.append(time.perf_counter_ns() - start_ns)
            if trial.is_lost_by_looking:
                self._end_trial(specialization, bound, _why_numpy(specialization, trial))
            return result
        settling = _Settling()
        with effects.as_they_are(are_short=_is_short(trial)):
            result = self._in_plan(specialization, bound, args, kwargs, out)
        took_ns, says_something = settling.ended(specialization)
        if says_something and (reason := self._why_watched_is_faster(specialization, took_ns, args, kwargs)):
            self._end_trial(specialization, bound, reason)
        elif trial is not None:
            trial.alike = alike
            # What Python does to find the program is a part of later calls too, where those do not find it in C.
            found_ns = settling.start_ns - began_ns if specialization.is_found_in_python else 0
            trial.add(took_ns + found_ns, says_something)
            if trial.is_over:
                self._end_trial(specialization, bound, _why_numpy(specialization, trial))
            elif out is None:
                self._try_in_c(specialization, bound.without_data(), args, kwargs)
        return result

    def _begins_anew(self, specialization: Specialization, bound: Bound) -> bool:
        """Whether a call of other shapes than those that are tried begins a trial of its own."""
        trial = specialization.trial
        assert trial is not None
        trial.others += 1
        if trial.others <= _MOST_OTHERS:
            return False
        if trial.begun_anew < _MOST_BEGUN_ANEW:
            # Of calls as they are made now.
            specialization.trial = Trial(
                begun_anew=trial.begun_anew + 1, is_in_c=trial.is_in_c, looking_ns=trial.looking_ns,
                expected_ns=trial.expected_ns,
            )  # fmt: skip
            return True
        self._end_trial(specialization, bound, "")
        return False

    def _end_trial(self, specialization: Specialization, bound: Bound, reason: str) -> None:
        was_in_c, trial = specialization.runner is None, specialization.trial
        if trial is not None and (says := trial.says_clearly):
            self._remember(specialization, bound, is_win=says == "win")
        specialization.trial = specialization.runner = None
        if reason:
            self._has_lost |= trial is not None and trial.is_over
            if trial is not None and trial.numpy_ns:
                self._note_loss(specialization, min(trial.numpy_ns))
            specialization.run_in_numpy(bound, reason)
        if reason or not was_in_c:
            self._publish(specialization)

    def _note_loss(self, specialization: Specialization, numpy_ns: int) -> None:
        if specialization.data_decide_work:
            self._lost_ns = max(self._lost_ns, numpy_ns)

    def _try_in_c(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """The next calls of arguments of such types are taken here, where C finds the program that is tried."""
        if specialization.trial is None or specialization.is_found_in_python:
            return
        specialization.trial.was_watched = bool(self._watched_ns)
        if not specialization.trial.is_in_c:
            specialization.trial.is_in_c, specialization.runner = True, None
            self._publish(specialization)
        in_plan, key, names = super().__call__, tuple(map(type, (*args, *kwargs.values()))), tuple(kwargs)

        def run(*args: Any, **kwargs: Any) -> Any:
            self.forget_stayed()  # the plan's turn would come here again
            try:
                return self._in_turn(specialization, bound, in_plan, args, kwargs)
            finally:
                if specialization.trial is not None and specialization.runner is None:
                    self.stay(key, names, run)

        self.stay(key, names, run)

    def _in_turn(
        self, specialization: Specialization, bound: Bound, in_plan: Callable[..., Any], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        trial = specialization.trial
        if trial is None:
            return in_plan(*args, **kwargs)
        is_its_own = len(self._specializations) == 1 or specialization.traced.matches(args, kwargs)
        trial.of_other_programs = 0 if is_its_own else trial.of_other_programs + 1
        if not is_its_own:
            if trial.of_other_programs > _MOST_OTHERS:  # to find that out takes longer than a short call
                logs.logger.info("%s: its calls do not come again: compiled code has them", specialization.signature)
                self._end_trial(specialization, bound, "")
            return in_plan(*args, **kwargs)
        alike = magnitude_key(args, kwargs)
        effects.Settling.events += not self.is_asked_for
        if trial.is_of_others(alike):
            if not self._begins_anew(specialization, bound):
                return in_plan(*args, **kwargs)
            trial = specialization.trial
            assert trial is not None
        trial.alike, compiled = alike, self._number_compiled
        is_plan, settling = not trial.is_numpys_turn, _Settling()
        with effects.as_they_are(are_short=_is_short(trial)):
            result = (in_plan if is_plan else self.__wrapped__)(*args, **kwargs)
        took_ns, says_something = settling.ended(specialization) if is_plan else (settling.took_ns, True)
        if self._number_compiled != compiled or specialization.trial is not trial:
            return result
        if is_plan:
            trial.add(took_ns, says_something)
        else:
            trial.numpy_ns.append(took_ns)
        reason = (
            self._why_watched_is_faster(specialization, took_ns, args, kwargs) if is_plan and says_something else ""
        )
        if reason or trial.is_over:
            reason = reason or _why_numpy(specialization, trial)
            self._end_trial(specialization, bound, reason)
            if reason:
                watched_ns = self._watched_ns.get(call_key(args, kwargs), [0])
                self._stay_from_now_on(args, kwargs, min(trial.numpy_ns or watched_ns) / 1e9)
        return result

    def _why_watched_is_faster(
        self, specialization: Specialization, took_ns: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str:
        watched_ns = min(self._watched_ns.get(call_key(args, kwargs), [0]))
        is_warm = specialization.trial is not None and len(specialization.trial.plan_ns) > 1
        if not watched_ns or not self._loses_to_watched(1.6 * took_ns if is_warm else took_ns, watched_ns):
            return ""
        return f"plain Python takes {watched_ns / 1e3:.1f} us, compiled code {took_ns / 1e3:.1f} us"

    def _stay_from_now_on(self, args: tuple[Any, ...], kwargs: dict[str, Any], took_s: float) -> None:
        """NumPy serves such calls, which are known to take so long."""
        if took_s > effects.LONG_CALL_S and self.looks_inside:
            self._look_inside(took_s)
        self._stay(args, kwargs)
        self._stay_in_c(shape_key(args, kwargs), args, kwargs)

    @property
    def _number_compiled(self) -> int:
        return sum(1 + len(one.versions) for one in self._specializations)

    @staticmethod
    def _loses_to_watched(took_ns: float, watched_ns: int) -> bool:
        return took_ns > _SLOWER_THAN_WATCHED * watched_ns


def _why_numpy(specialization: Specialization, trial: Trial) -> str:
    trial.is_all_stages = sum(stage.share or 0.0 for stage in specialization.numpy_stages) >= _ALL_OF_A_CALL
    return trial.why_numpy


def _is_short(trial: Trial | None) -> bool:
    """Whether NumPy takes so little time for a call that nothing in it is worth a compilation."""
    return trial is not None and bool(trial.numpy_ns) and min(trial.numpy_ns) < _SHORT_NS


class _Settling:
    """How long a call takes, and whether what is found out in it says that later ones take another time."""

    def __init__(self) -> None:
        self._events, self._measured_s = effects.Settling.events, effects.Settling.measured_s
        self._lost = lost_processors()
        self.start_ns = time.perf_counter_ns()

    @property
    def took_ns(self) -> int:
        return time.perf_counter_ns() - self.start_ns

    def ended(self, specialization: Specialization) -> tuple[int, bool]:
        """The time, and whether it says something of later calls."""
        took_ns, trial = self.took_ns, specialization.trial
        has_events = effects.Settling.events != self._events
        is_measured = (effects.Settling.measured_s - self._measured_s) * 1e9 > 0.2 * took_ns
        is_slow = trial is not None and trial.is_far_slower(took_ns)
        is_disturbed = is_slow and lost_processors() != self._lost
        says_nothing = has_events or is_disturbed or (is_measured and not is_slow)
        if says_nothing and specialization.settling < _MOST_SETTLING:
            specialization.settling += _MOST_SETTLING // _MOST_SLOW if is_slow and not is_disturbed else 1
            return took_ns, False
        return took_ns, True
