"""@tilewright.jit: a function that compiles itself at its first call and behaves as the original in all else.

Calls that fit a compiled plan never reach Python: the base class (C) checks dtypes, ranks, layouts and sizes and runs
the kernels. All other calls arrive in `_miss`.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _face, checks, effects, forks, logs, recording, settings
from .binding import Bound, bind
from .bound_method import BoundMethod
from .call_keys import call_key, shape_key, without_values
from .devices import on_host, places_among
from .dispatch import c_binding, program_function
from .draws import SharedGenerator, drawing
from .errors import DeviceError, Error, ExportError, FallbackWarning, InternalError, TraceError, TranslateError
from .failed_traces import raised_while_tracing
from .lent import undo
from .machine import CUDA_DEFAULT, host_isa, targets_of
from .partials import is_beyond_limit
from .program import Program
from .signatures import own_signature, parts_of, takes_out
from .specialization import Specialization
from .structure import is_flat, is_given_by_plans
from .symbolic.stages import ON_DEVICE, ONLY_KERNELS, Untaken, functions_of
from .trials import Trial
from .work import is_one_library_call, is_small

if TYPE_CHECKING:
    from .debug.report import Report
    from .trace.traced import Traced

CONTRACTS = ("numpy", "reproducible", "fast")
DEBUG_LIMIT = "60s"  # of each step of debug()

_MAX_STAYS = 1024
# Programs that differ only in one value: a value that keeps changing is not worth compiling for.
_MAX_OF_ONE_VALUE = 8
# So many functions in a row may be called behind branches on what others gave.
_MAX_WATCHED = 8
_MOST_OTHERS = 16  # calls of other shapes, while some of one shape are NumPy's
_MOST_BEGUN_ANEW = 2  # trials: shapes that never come again are compiled code's
_MOST_FAILED = 16  # calls in a row whose data fail a check of their plan: NumPy has computed each of them behind it
_MOST_SETTLING = 12  # calls before it is known how functions that stages call are called best
# A watched call takes its time for looking; a first call of a plan finds nothing in the caches.
_SLOWER_THAN_WATCHED = 2


class _Active(threading.local):
    """The functions whose plans run in a thread."""

    def __init__(self) -> None:
        self.functions: list[Any] = []


_active = _Active()
_warned_lines: set[tuple[str, int]] = set()


class JitFunction(_face.Dispatcher):
    """What `tilewright.jit` returns."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    compares = True  # calls that cannot be repeated, with NumPy
    is_asked_for = True  # what is in it is looked at for itself; who compiles what nobody asked for looks there as well
    takes_effects = True  # statements and calls that cannot be followed are Python's between kernels

    def __new__(cls, function: Callable[..., Any], *_: Any, **__: Any) -> JitFunction:
        made: JitFunction = super().__new__(cls, function.__name__, _face_parameters(function))
        return made

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        target: str | None = None,
        strict: bool | Literal["kernels"] = False,
        contract: str = "numpy",
        db: str | Path | None = None,
        only_stored: bool = False,
    ) -> None:
        super().__init__(function.__name__, _face_parameters(function))
        self.takes_out = takes_out(function)
        functools.update_wrapper(self, function)
        self.targets = targets_of(target)
        self.copies_to_device = self.targets.host is None
        self.strict = strict
        self.contract = contract
        self._db = db
        self._only_stored = only_stored
        self._specializations: list[Specialization] = []
        self._refused: dict[tuple[Any, ...], Error] = {}
        self._begun: dict[tuple[Any, ...], Any] = {}  # traces that wait for what a watched call shows
        self._watched_ns: dict[tuple[Any, ...], list[int]] = {}  # how long such calls took that ran watched
        self._watched_alike: Counter[tuple[Any, ...]] = Counter()  # how many, by all but their words and numbers
        self._raised_nothing: set[tuple[Any, ...]] = set()  # calls in NumPy, of which the trace raised something
        self._stays: set[tuple[Any, ...]] = set()  # calls that NumPy is known to serve best, or alone
        self._lock = forks.Lock()
        self._parts = parts_of(function)
        self._python: Callable[..., Any] = function  # what runs calls that NumPy serves best
        self._long_calls = 0  # of those, in a row
        self._failed = self._failed_at = 0  # calls in a row whose plans failed, and the last one's number

    def _without_out(self, kwargs: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """The keywords of the function itself, and `out` where it has no such parameter."""
        if "out" not in kwargs or self.takes_out:
            return kwargs, None
        return {name: value for name, value in kwargs.items() if name != "out"}, kwargs["out"]

    def _refusal(self, text: str, hint: str = "") -> TraceError:
        """Of the function as a whole: the text begins with where it is."""
        code = self.__wrapped__.__code__
        where = f"{code.co_filename}:{code.co_firstlineno}, in {self.__name__}"
        return TraceError(f"{where}: {text}", hint, file=code.co_filename, line=code.co_firstlineno)

    # ---- behaving as the function ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<tilewright.jit {self.__module__}.{self.__qualname__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundMethod(self, instance)

    def __reduce__(self) -> str:
        # By qualified name, as functions are: compiled state never travels.
        return str(self.__qualname__)

    # ---- what the user asks ---------------------------------------------------------------------------------------

    @property
    def specializations(self) -> list[Specialization]:
        """The programs compiled so far, in the order of their first calls."""
        return list(self._specializations)

    def for_args(self, *args: Any, **kwargs: Any) -> Specialization:
        """The specialization that serves such a call; traced now if need be. Raises TraceError, TranslateError, and what
        the function itself raises for these arguments."""
        try:
            specialization, bound = self.specialize(args, kwargs)
        except Error:
            raise
        except Exception as error:
            if self._raised_in_numpy(args, kwargs) is not None:
                raise
            raise raised_while_tracing(error, self.__wrapped__) from error
        if specialization.numpy_reason(bound) is None:
            self._compile_for(specialization, bound)
        return specialization

    @property
    def refusals(self) -> list[str]:
        """Why calls run in NumPy, each reason once."""
        return list(dict.fromkeys(map(str, self._refused.values())))

    @property
    def schedule(self) -> str:
        """The text of the schedule in use. Set it to use another one, and to None to have the default again."""
        return self._the_only("schedule").schedule

    @schedule.setter
    def schedule(self, text: str | None) -> None:
        self._the_only("schedule").schedule = text

    @property
    def space(self) -> str:
        """The space that a search goes through."""
        return self._the_only("space").space

    def explain(self, *, code: bool = False) -> str:
        """What was compiled, under which guards, and what runs in NumPy and why."""
        from .explain import explain_function  # noqa: PLC0415  (slow to import, and few ask)

        return explain_function(self, code=checks.flag(code, "code"))

    def tune(
        self,
        *args: Any,
        budget: float | str = 60.0,
        trials: int | None = None,
        seed: int = 0,
        strategy: str | None = None,
        space: str | None = None,
        schedule: str | None = None,
        observer: Callable[[dict[str, Any]], None] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Search for the fastest schedule of this call and use it from now on.

        Returns a TuneResult. The best schedule is stored and serves later processes too.

        Parameters
        ----------
        budget : seconds, or text with a unit: "15s", "2m".
        trials : at most so many candidates; None and 0 are no limit.
        seed : of the search's random numbers.
        strategy : how candidates are proposed; None is the default, and the error for another name lists them.
        space : search this space instead of the default one.
        schedule : only measure this schedule beside the best that is known.
        observer : is called with each event of the search, a dictionary.
        """
        from .quantities import parse_duration_s  # noqa: PLC0415  (calls need none of it, nor of what tuning imports)
        from .tuning import TuneOptions, checked_strategy, tune_call  # noqa: PLC0415

        options = TuneOptions(
            budget_s=parse_duration_s(budget, "budget"),
            max_trials=0 if trials is None else checks.whole_number(trials, "trials", 0, checks.MOST_TRIALS),
            seed=checks.whole_number(seed, "seed", 0, checks.MOST_SEED),
            strategy=checked_strategy(strategy, "strategy"),
            space=checks.optional_text(space, "space", "a space"),
            schedule=checks.optional_text(schedule, "schedule", "a schedule"),
            db=settings.store_path(self._db),
            contract=self.contract,
        )
        checks.optional_function(observer, "observer", "an event")
        specialization, bound = self.specialize(args, kwargs)
        if specialization.traced.has_effects:
            raise self._refusal(
                f"it calls {effects.names_of_effects(specialization.traced.stages)}, not known to be pure, and a search makes a call "
                "many times.",
                "Declare a pure function so with @tilewright.stage, or leave the call out of the compiled function.",
            )
        if specialization.traced.leaves_ways and not self._takes_known_ways(specialization, bound):
            raise self._refusal(
                "these arguments take a way of an if that no call took before, which NumPy runs; what it does is not known, "
                "and a search makes a call many times.",
                "Tune it with arguments that take the usual way.",
            )
        options.on_device = bound.on_device
        if observer is None:
            observer = self._log_warnings
        return tune_call(specialization, self.__wrapped__, args, kwargs, options, compiled=self, observer=observer)

    def _takes_known_ways(self, specialization: Specialization, bound: Bound) -> bool:
        """Whether compiled code serves a call to its end."""
        if bound.on_device or specialization.traced.generators:
            return True  # no copies of those are made
        self._compile_for(specialization, bound)
        copies = {name: np.array(one) if isinstance(one, np.ndarray) else one for name, one in bound.values.items()}
        try:
            _function_of(specialization)(copies, None)
        except ValueError:  # a check
            return False
        return True

    def _log_warnings(self, event: dict[str, Any]) -> None:
        """Of a search that nobody watches: a store that cannot be written, say."""
        if event.get("event") == "warning":
            logs.logger.warning("%s: %s", self.__name__, event.get("text"))

    def debug(
        self, *args: Any, dump: str | Path | None = None, limit: float | str = DEBUG_LIMIT, **kwargs: Any
    ) -> Report:
        """Find out where this call goes wrong: its trace, a pass of the translator, the schedule in use, or the code.

        NumPy's own answer is what each is compared with, as exactly as the contract promises. What may crash runs in
        other processes. Returns a Report; printed, it says what was found. Arguments are copied, never changed.

        Parameters
        ----------
        dump : a new folder for the program behind each pass, stages, plan, schedule, code, arguments, and a script that
            shows the difference again.
        limit : of each step, seconds or text with a unit: "15s", "2m".
        """
        from .debug.calls import debug_call  # noqa: PLC0415  (calls need none of it)
        from .quantities import parse_duration_s  # noqa: PLC0415

        limit_s = parse_duration_s(limit, "limit")
        return debug_call(self, args, kwargs, limit_s=limit_s, dump=checks.optional_path(dump, "dump"))

    def export(
        self,
        folder: str | Path | None = None,
        *,
        name: str | None = None,
        targets: tuple[str, ...] | None = None,
        force: bool = False,
        wheel: bool = False,
        libraries: bool = True,
        allow_fallback: bool = False,
        cubins: tuple[str, ...] | None = None,
    ) -> Path:
        """Write a module that imports with NumPy alone. Raises ExportError.

        targets: ("host", "cuda"), say; by default those of jit(target=…), else the host, and cuda where calls of arrays on a
        device were compiled.
        cubins: architectures (sm_90) for which code of CUDA targets is assembled beforehand; by default those of the devices
        that are here, where there is a ptxas.
        """
        from .export import ExportOptions, export_module  # noqa: PLC0415  (slow to import, and calls need none of it)

        place = checks.optional_path(folder, "folder")
        stem = checks.optional_text(name, "name", "the function's name in the module's")
        options = ExportOptions(
            targets=self._own_targets() if targets is None else checks.names(targets, "targets", "('host', 'cuda')"),
            force=checks.flag(force, "force"),
            wheel=checks.flag(wheel, "wheel"),
            libraries=checks.flag(libraries, "libraries"),
            allow_fallback=checks.flag(allow_fallback, "allow_fallback"),
            cubins=None if cubins is None else checks.names(cubins, "cubins", "('sm_80', 'sm_90')"),
        )
        if not self._specializations:
            raise ExportError(
                f"{self.__name__}: nothing was compiled yet.",
                "Call it, or f.for_args(…), with arrays of each signature.",
            )
        target = place if place is not None else Path(f"{stem or self.__name__}_tuned")
        return export_module(target, self, self._specializations, options)

    def _own_targets(self) -> tuple[str, ...]:
        host, device = self.targets.host, self.targets.device
        if not self.targets.is_given:
            seen = any(version.build.on_device for s in self._specializations for version in s.versions)
            host, device = "host", device if seen else None
        return tuple(isa for isa in (host, device) if isa is not None)

    # ---- calls that no plan takes ---------------------------------------------------------------------------------

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # First of all: these calls are to cost as little beside NumPy's as they can.
        may_stay = self._stays and "out" not in kwargs and recording.recorder is None
        if may_stay and (key := self._staying_key(args, kwargs)) is not None and _face.current_device() is None:
            if not getattr(self._python, "calls_others", True):
                self._python = self.__wrapped__  # nothing in it was worth a compilation
            self.stay(key[: len(args) + len(kwargs)], tuple(kwargs), self._python)  # the next one does not come by here
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
        if placed or self._moves_to_device():
            return self._miss_on_device(args, kwargs, placed)
        kwargs, out = self._without_out(kwargs)
        if self in _active.functions:
            raise _Unserved
        if settings.disabled() or _numpy_raises():
            return self._in_numpy(args, kwargs, out)
        own_error = None
        try:
            specialization, bound = self.specialize(args, kwargs)
            way = "device" if bound.on_device else self._way_of(specialization, bound, args, kwargs)
        except (TraceError, TranslateError) as error:
            way = "numpy"
            if error.not_seen and self._watch_again(args, kwargs):
                return self._in_out(self._in_watched(args, kwargs), out)
            if self.strict and not error.idle:
                raise
            if not self.strict and error.idle != "here":
                self._fall_back(error)
            # f(x, 1) of no iterations says nothing of f(x, 1000).
            self._stay(args, kwargs, at_any_values=error.idle != "here")
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
            # The function's own error, as its trace has it: NumPy raises the one that these data lead to first. Where it
            # raises none, the error is one of the trace alone.
            own_error = raised_while_tracing(error, self.__wrapped__)
            if self._may_be_of_the_trace(args, kwargs):
                result = self._in_watched(args, kwargs)  # or the error, which is the function's own then
                self._raised_nothing.add(call_key(args, kwargs))
                return self._in_out(result, out)
            if self.strict:
                raise self._raised_in_numpy(args, kwargs, writes=True) or own_error from error
            way = "numpy"
        # Outside of the `try`: what the function itself raises here is the caller's, and no reason to run it once more.
        if way == "plan":
            if specialization.traced.has_effects or specialization.trial is not None:
                return self._in_first_plan(specialization, bound, args, kwargs, out, began_ns)
            return self._in_plan(specialization, bound, args, kwargs, out)
        if way == "later":
            return self._in_numpy(args, kwargs, out)
        if way == "unserved":
            return self._unserved(specialization, bound, args, kwargs, out)
        if way == "device":  # by an array from outside of the call
            return self._miss_on_device(args, kwargs if out is None else {**kwargs, "out": out}, placed=True)
        begun = time.perf_counter()
        result = self._in_numpy(args, kwargs, out)
        is_ours = self.strict != "kernels" and self.contract == "numpy" and self.targets.host is not None
        if is_ours and self.is_asked_for and self._python is self.__wrapped__:
            self._look_inside_of_long_calls(time.perf_counter() - begun)
        if own_error is not None:
            self._refused[call_key(args, kwargs)] = own_error
            self._fall_back(own_error)
        return result

    def _look_inside_of_long_calls(self, took_s: float) -> None:
        """NumPy runs the function: once two calls in a row took long (one may find nothing in the caches, or wait for others'
        work), what takes long in them is compiled by and by."""
        self._long_calls = self._long_calls + 1 if took_s > effects.LONG_CALL_S else 0
        if self._long_calls > 1:
            from .interpret.inner_calls import run_by_python  # noqa: PLC0415  (only what was traced needs it)

            self._python = run_by_python(self.__wrapped__)
        if self._long_calls:
            self._forget_stays()  # the next call is timed, too

    def _in_first_plan(  # noqa: PLR0917
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        began_ns: int,
    ) -> Any:  # fmt: skip
        """Where nothing may be done twice, no call is compared with NumPy: the call that was watched tells what that takes,
        and of the next calls some are compiled code's and some NumPy's. `began_ns`: when the call came to Python."""
        trial, alike = specialization.trial, without_values(shape_key(args, kwargs))
        if trial is not None and trial.plan_ns and trial.alike != alike:
            trial.others += 1
            if trial.others > _MOST_OTHERS and trial.begun_anew < _MOST_BEGUN_ANEW:
                specialization.trial = Trial(begun_anew=trial.begun_anew + 1)  # of calls as they are made now
            elif trial.others > _MOST_OTHERS:
                self._end_trial(specialization, bound, "")
            return self._in_plan(specialization, bound, args, kwargs, out)
        if trial is not None and len(trial.numpy_ns) < len(trial.plan_ns):
            start_ns = time.perf_counter_ns()
            result = self._in_numpy(args, kwargs, out)
            trial.numpy_ns.append(time.perf_counter_ns() - start_ns)
            return result
        start_ns, events, measured_s = time.perf_counter_ns(), effects.Settling.events, effects.Settling.measured_s
        result = self._in_plan(specialization, bound, args, kwargs, out)
        is_measured = (effects.Settling.measured_s - measured_s) * 1e9 > 0.2 * (time.perf_counter_ns() - start_ns)
        if (effects.Settling.events != events or is_measured) and specialization.settling < _MOST_SETTLING:
            specialization.settling += 1
            return result
        took_ns, watched_ns = time.perf_counter_ns() - start_ns, min(self._watched_ns.get(call_key(args, kwargs), [0]))
        if watched_ns and self._loses_to_watched(took_ns, watched_ns):
            self._end_trial(
                specialization,
                bound,
                f"plain Python takes {watched_ns / 1e3:.1f} us, compiled code {took_ns / 1e3:.1f} us",
            )
        elif trial is not None:
            trial.alike = alike
            # What Python does to find the program is a part of later calls too, where those do not find it in C.
            trial.plan_ns.append(took_ns + (start_ns - began_ns if specialization.is_found_in_python else 0))
            if trial.is_over:
                self._end_trial(specialization, bound, trial.why_numpy)
        return result

    def _end_trial(self, specialization: Specialization, bound: Bound, reason: str) -> None:
        specialization.trial = specialization.runner = None
        if reason:
            specialization.run_in_numpy(bound, reason)
        self._publish(specialization)

    @staticmethod
    def _loses_to_watched(took_ns: int, watched_ns: int) -> bool:
        return took_ns > _SLOWER_THAN_WATCHED * watched_ns

    def _in_watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._watched_alike[without_values(shape_key(args, kwargs))] += 1
        times, start_ns = self._watched_ns.setdefault(call_key(args, kwargs), []), time.perf_counter_ns()
        try:
            return _run_watched(self.__wrapped__, args, kwargs)
        finally:
            times.append(time.perf_counter_ns() - start_ns)

    def _way_of(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Literal["numpy", "plan", "unserved", "later"]:
        """Who serves this call of NumPy arrays. Compiles what it needs, and compares that with NumPy."""
        if specialization.numpy_reason(bound) is None:
            # What Python does between kernels, or around a function that nobody asked for, bounds what is won.
            may_wait = specialization.traced.has_effects or not self.is_asked_for
            if may_wait and not specialization.is_built(bound):
                return "later"
            if not self._compile_for(specialization, bound):
                return "plan"
            if not specialization.fits(bound):
                # Sizes that data decide may be too large for kernels: no other version will do.
                if not is_beyond_limit(specialization.program, bound) and not specialization.large_numbers(bound):
                    self._stay(args, kwargs)
                return "unserved"
            if is_beyond_limit(specialization.program, bound) or not self._loses(specialization, bound, args, kwargs):
                return "plan"
        self._stay(args, kwargs)
        return "numpy"

    def _watch_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call may still show what it calls: each shows some, where branches on data hide others. Words that are
        new at each call would be watched for ever."""
        if len(self._watched_ns.get(call_key(args, kwargs), ())) >= _MAX_WATCHED:
            return False
        return bool(self.strict) or self._watched_alike[without_values(shape_key(args, kwargs))] < _MAX_WATCHED

    def _may_be_of_the_trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether what a trace raised may be left to Python, should NumPy not raise it."""
        takes_stages = self.takes_effects and self.contract == "numpy" and self._untaken(args, kwargs) is None
        return takes_stages and call_key(args, kwargs) not in self._raised_nothing and self._watch_again(args, kwargs)

    def _take_new_parts(self) -> None:
        """The function has other code or other defaults: nothing that is known of its calls is true any more."""
        with self._lock:
            self._parts = parts_of(self.__wrapped__)
            self._python = self.__wrapped__
            super().__init__(self.__wrapped__.__name__, _face_parameters(self.__wrapped__))
            self.takes_out = takes_out(self.__wrapped__)
            self._forget_stays()
            self._begun.clear()
            self._watched_ns.clear()
            self._watched_alike.clear()
            self._raised_nothing.clear()
            self._refused.clear()
            self._specializations.clear()

    def _moves_to_device(self) -> bool:
        """Whether a call of NumPy arrays from here and now runs on a device."""
        return self.targets.host is None or _face.current_device() is not None

    def _miss_on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any], placed: bool) -> Any:
        """Calls that run on a device. Of arrays that lie there nothing is ever computed on the host instead: NumPy cannot
        read them, and a copy there and back would cost what nobody sees. So what cannot be compiled is an error, with or
        without `strict`; NumPy arrays are where NumPy can take them, with its FallbackWarning."""
        kwargs, out = self._without_out(kwargs)
        if settings.disabled():
            return self._in_numpy(args, kwargs, out)
        if self.targets.device is None:
            where = "arrays on a CUDA device" if placed else "a call inside of `with device(...)`"
            raise DeviceError(
                f"{self.__name__}: {where}, but it is compiled for {self.targets.text} alone.",
                "Use jit(target='host,cuda').",
            )
        if _numpy_raises():
            if not placed:
                return self._in_numpy(args, kwargs, out)
            raise DeviceError(
                f"{self.__name__}: inside of np.errstate(…='raise'), but code on a device raises no floating-point errors.",
                "Leave np.errstate out around the call.",
            )
        try:
            specialization, bound = self.specialize(args, kwargs)
            if placed:
                self._refuse_draws(specialization)
            is_new = self._compile_for(specialization, bound)
        except (TraceError, TranslateError) as error:
            if placed and out is None and error.idle:
                return self._untouched(error, args, kwargs)
            if placed or (self.strict and error.idle != "here"):
                raise
            if error.idle != "here":
                self._fall_back(error)
            return self._in_numpy(args, kwargs, out)
        try:
            if not is_new or not specialization.iterates_on_host:
                return self._run_on_device(specialization, bound, args, kwargs, out)
            with forks.compiling():  # imports take locks
                from .placement import warn_where_wrong, watched  # noqa: PLC0415  (calls on the host need none of it)

            result, specialization.launches = watched(
                lambda: self._run_on_device(specialization, bound, args, kwargs, out)
            )
            warn_where_wrong(self.__wrapped__, specialization.launches, copies=not placed)
            return result
        except _face.TooLargeError as error:
            if placed:
                raise
            self._say_too_large(TraceError(str(error)), args, kwargs)
        return self._in_numpy(args, kwargs, out)

    def _run_on_device(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        if specialization.runner is None and self not in _active.functions:
            try:
                return self._run_plan(args, kwargs, out)  # a second miss comes here again, and has its reason told
            except _Unserved:  # of arrays from outside of the call
                pass
        return self._told(specialization, bound, out)

    def _run_plan(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """In C. Raises _Unserved where no version takes the call."""
        with _marked_active(self):
            return super().__call__(*args, **kwargs) if out is None else super().__call__(*args, **kwargs, out=out)

    def _untouched(self, error: Error, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that reads and computes no element, of arrays on a device: loops without an iteration, views that the arrays'
        own library makes. What that cannot do is the error that it was."""
        try:
            result = self.__wrapped__(*args, **kwargs)
        except Exception as own:
            raise error.with_traceback(None) from own
        # NumPy takes an array that it does not know for one object.
        results = result if isinstance(result, (tuple, list)) else (result,)
        if any(isinstance(one, np.ndarray) and one.dtype.hasobject for one in results):
            raise error.with_traceback(None)
        return result

    def _told(self, specialization: Specialization, bound: Bound, out: Any) -> Any:
        """The call through a function of the program's arguments, which says why it serves a call not."""
        runner = specialization.runner or _function_of(specialization)
        with drawing(specialization.traced, bound) as values:
            return runner(values, out)

    def _in_plan(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        runner = specialization.runner
        if runner is None and out is not None and not is_given_by_plans(specialization.traced.results):
            runner = specialization.out_runner = specialization.out_runner or _function_of(specialization)
        if runner is not None:
            begun = effects.under_way()
            try:
                with drawing(specialization.traced, bound) as values:
                    result = runner(values, out)
                return result if is_flat(specialization.traced.results) else self._in_out(result, out)
            except _face.TooLargeError as error:
                self._say_too_large(TraceError(str(error)), args, kwargs)
            except (_face.WrittenError, SharedGenerator):  # of arrays that share memory NumPy's order of writes decides
                return self._in_numpy(args, kwargs, out)
            except _face.CheckError:
                pass  # see _check_failed
            except ValueError:
                # Of no stage: a guard does not hold, for its formula of these integers needs more than 64 bits.
                if effects.under_way() == begun:
                    return self._unserved(specialization, bound, args, kwargs, out)
            except Error:
                raise
            except Exception:  # noqa: BLE001, S110  (a stage's, of any class: NumPy raises it, behind the writes and draws before it)
                pass
            return self._behind_a_plan(args, kwargs, out)
        try:
            return self._run_plan(args, kwargs, out)
        except _Unserved:
            return self._unserved(specialization, bound, args, kwargs, out)

    def _unserved(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        """A call that no version of its own program takes, because of how its arrays lie in memory, or how large they or
        its numbers are. The latter is no one's habit, and may cost a great deal: it is said aloud."""
        if is_beyond_limit(specialization.program, bound):
            try:
                # Apart from `out`: where that shares memory with an argument, no part may write what another one reads.
                result = self._told(specialization, bound, None)
            except _face.TooLargeError as error:
                self._say_too_large(TraceError(str(error)), args, kwargs)
            except (ValueError, IndexError, SharedGenerator):
                pass  # an error that NumPy raises as well, or arrays that share memory: its order of writes decides
            except Error:
                raise
            except Exception:  # noqa: BLE001, S110  (a stage's)
                pass
            else:
                return self._in_out(result, out)
        elif large := specialization.large_numbers(bound):
            given = " and ".join(f"{name} is {value}" for name, value in large.items())
            it = "it" if len(large) == 1 else "them"
            said = self._refusal(
                f"{given}, but what is computed of {it} has 32 bits in kernels ({-(2**31)} to {2**31 - 1}); such calls "
                f"are not compiled. Pass {it} as np.int64."
            )
            self._say_too_large(said, args, kwargs)
        elif self.strict and specialization.versions and not specialization.fits(bound):
            raise self._refusal(
                "sizes that data decide may be more, multiplied, than kernels can index in such a call."
            )
        return self._in_numpy(args, kwargs, out)

    def _say_too_large(self, said: TraceError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.strict:
            raise said from None
        self._refused["too large", *call_key(args, kwargs)] = said
        self._fall_back(said)

    def _check_failed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The program cannot compute with these data: NumPy raises its own error, or computes what it can."""
        if any(specialization.traced.draws_are_stages for specialization in self._specializations):
            undo()
        if places_among((*args, *kwargs.values())):
            specialization, bound = self.specialize(args, {k: v for k, v in kwargs.items() if k != "out"})
            return self._told(specialization, bound, kwargs.get("out"))
        kwargs, out = self._without_out(kwargs)
        return self._behind_a_plan(args, kwargs, out)

    def _in_numpy(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, made: Sequence[effects.Made] = ()
    ) -> Any:
        """`made`: the calls that a plan has made already."""
        result = _run_again(self.__wrapped__, args, kwargs, made) if made else self.__wrapped__(*args, **kwargs)
        return self._in_out(result, out)

    def _behind_a_plan(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """In NumPy, for a call whose plan did not come to its end."""
        is_next = self.calls - self._failed_at <= 1
        self._failed, self._failed_at = self._failed + 1 if is_next else 1, self.calls
        if self._failed >= _MOST_FAILED and out is None and self not in _active.functions:
            self.stay(shape_key(args, kwargs)[: len(args) + len(kwargs)], tuple(kwargs), self._python)
        made = effects.taken() if any(one.traced.has_effects for one in self._specializations) else ()
        return self._in_numpy(args, kwargs, out, made)

    def _in_out(self, result: Any, out: Any) -> Any:
        """What a call returns that was given `out`."""
        if out is None:
            return result
        values = result if isinstance(result, (tuple, list)) else (result,)
        targets = out if isinstance(out, tuple) else (out,)
        if len(targets) != len(values):
            raise ValueError(f"{self.__name__}: out must have an array for each of the {len(values)} results, or None.")
        for target, value in zip(targets, values, strict=True):
            if target is not None:
                _copy_out(self.__name__, target, value)
        made = tuple(v if target is None else target for target, v in zip(targets, values, strict=True))
        return type(result)(made) if isinstance(result, (tuple, list)) else made[0]

    def specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Specialization, Bound]:
        """The program of such a call, traced now if need be, and the call's values in it. Nothing is compiled."""
        specialization, bound = self._found_or_made(args, kwargs)
        if (specialization.draws or specialization.traced.stages) and places_among((*args, *kwargs.values())):
            self._refuse_draws(specialization)
        return specialization, bound

    def _refuse_draws(self, specialization: Specialization) -> None:
        """TraceError where random numbers would be drawn for arrays on a device."""
        if specialization.draws:
            raise self._refusal(
                "it draws from a random generator, whose state is on the host, for arrays on a device; such calls are "
                "not compiled.",
                "Draw before the call, and pass the numbers in.",
            )

    def _found_or_made(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Specialization, Bound]:
        if (found := self._found(args, kwargs)) is not None:
            return found
        key = call_key(args, kwargs)
        if self._untaken(args, kwargs) is ON_DEVICE:
            key = ("on a device", *key)  # the host may take it
        if key in self._refused:
            raise copy.copy(self._refused[key])
        with self._lock:
            if (found := self._found(args, kwargs)) is not None:  # another thread has been here
                return found
            try:
                return self._new_specialization(args, kwargs, self._changing_values(args, kwargs))
            except Exception as error:
                clear_frames(error.__traceback__)  # in cycles with the error, they hold the arguments
                if not isinstance(error, Error):
                    raise
                if error.idle != "here" and not error.depends_on_values and not error.not_seen:
                    self._refused[key] = copy.copy(error)  # without the frames it passes, which hold the arguments
                raise

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Specialization, Bound] | None:
        for specialization in self._specializations:
            traced = specialization.traced
            untaken = self._untaken(args, kwargs) if traced.stages or traced.behind else None
            # What is behind a plan's results is for views, which NumPy makes of its own arrays alone.
            if untaken is ON_DEVICE or (traced.stages and untaken is not None):
                continue
            if specialization.traced.matches(args, kwargs):
                return specialization, self._bind(specialization.traced, specialization.program, args, kwargs)
        return None

    def _untaken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Untaken | None:
        """Why such a call may have no stages."""
        if self._moves_to_device() or places_among((*args, *kwargs.values())):
            return ON_DEVICE
        return ONLY_KERNELS if self.strict == "kernels" else None

    def _changing_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[str]:
        """Values from outside of the call, in words, where one alone keeps some program from serving it. TraceError where
        one of them does so for many programs: the next call has another one again."""
        changed = Counter(s.traced.changed_value(args, kwargs) for s in self._specializations)
        del changed[None]
        for what, count in changed.most_common(1):
            if count >= _MAX_OF_ONE_VALUE:
                raise self._refusal(
                    f"{what} decides what is compiled, and has had {count} values; calls with others run in NumPy.",
                    "If it is a number, use it only in array arithmetic; otherwise write a function for each value.",
                )
        return frozenset(what for what in changed if what is not None)

    def _bind(self, traced: Any, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        bound = bind(traced, program, args, kwargs)
        return replace(bound, on_device=True) if self._moves_to_device() else bound

    def _new_specialization(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], changing: frozenset[str]
    ) -> tuple[Specialization, Bound]:
        forks.check_compiler()  # before anything is imported: a lock of that may be lost too
        from .trace import Begun, trace  # noqa: PLC0415  (the slowest import of all)

        start = time.perf_counter()
        untaken = self._untaken(args, kwargs)
        key = untaken, call_key(args, kwargs)
        begun = self._begun.pop(key, None) or Begun()
        begun.decided.refuses_errors |= key[1] in self._raised_nothing
        options: dict[str, Any] = {"contract": self.contract, "changing": changing, "untaken": untaken}
        try:
            traced = trace(self.__wrapped__, args, kwargs, effects=self.takes_effects, begun=begun, **options)
        except TraceError as refusal:
            if refusal.not_seen:
                self._begun[key] = begun
            raise
        if traced.fallback_reason is not None:
            raise self._left_to_numpy(traced, args, kwargs)
        program = Program(traced.program_text)
        bound = self._bind(traced, program, args, kwargs)
        specialization = Specialization(
            traced,
            program,
            contract=self.contract,
            isa=self.targets.host or host_isa(),
            cores=int(_face.get_num_threads()),
            device_isa=self.targets.device or CUDA_DEFAULT,
        )
        specialization.example = bound.without_data()
        specialization.function = self
        if not bound.on_device and is_one_library_call(program) and not is_small(program, bound):
            specialization.run_in_numpy(bound, "it is a single BLAS call, which NumPy makes too", at_any_size=True)
        if self._only_stored or (path := settings.store_path(self._db)) is not None and os.path.exists(path):
            self._use_stored(specialization, bound)
        specialization.changed = lambda: self._publish(specialization)  # type: ignore[method-assign]
        self._specializations.append(specialization)
        self._publish(specialization)  # with the stored schedule, where there is one
        logs.guards.debug("%s: traced in %.1f ms", specialization.signature, 1e3 * (time.perf_counter() - start))
        for guard in program.guards:
            logs.guards.debug("%s: guard %s", specialization.signature, guard.condition)
        return specialization, bound

    def _left_to_numpy(self, traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TraceError:
        """The refusal of a call that NumPy does itself."""
        placed = places_among((*args, *kwargs.values()))
        other = "such calls are not compiled, for arrays on a device" if placed else "NumPy does that itself"
        error = self._refusal(f"{traced.fallback_reason}; {other}.")
        error.depends_on_values = any(guard.kind != "type" for guard in traced.guards)
        if traced.idle or traced.untouched:
            error.idle = "here" if traced.idle else "always"
        return error

    def _use_stored(self, specialization: Specialization, bound: Bound) -> None:
        from .stored import stored_schedule  # noqa: PLC0415  (without a store nothing needs it)

        found = stored_schedule(specialization, bound, settings.store_path(self._db))
        if found is None:
            if self._only_stored and not bound.on_device:
                specialization.run_in_numpy(bound, "it was never tuned", at_any_size=True)
            return
        try:
            specialization.set_schedule(found.schedule, bound, file="store", label="tuned")
            specialization.evidence = found.evidence
        except Error as error:  # from an older release, say
            logs.logger.warning("%s: the stored schedule is not used: %s", self.__name__, error)

    def _compile_for(self, specialization: Specialization, bound: Bound) -> bool:
        """Compile what such a call needs. Whether no version fitted it before."""
        is_new = not specialization.fits(bound)
        with self._lock:
            before = specialization.versions
            if is_new and not specialization.fits(bound):
                specialization.add_version(bound)
            if specialization.add_partials(bound) or specialization.versions is not before:
                cannot_repeat = not specialization.traced.may_be_repeated
                if is_new and cannot_repeat and self.compares and not bound.on_device:
                    specialization.trial = Trial()
                self._publish(specialization)
        return is_new

    def _publish(self, specialization: Specialization) -> None:
        """Hand the plan to the runtime."""
        self._forget_stays()
        specialization.out_runner = None
        if not specialization.versions:
            specialization.runner = None
            if specialization.plan_index is not None:
                # Plans keep their places: an empty one cannot be, so all are loaded again without it.
                self._republish_all()
            return
        # Draws for arrays on a device are refused in Python.
        is_refused_there = specialization.draws and any(version.build.on_device for version in specialization.versions)
        traced, program = specialization.traced, specialization.program
        binding = None if is_refused_there else c_binding(self.__wrapped__, traced, program)
        specialization.is_found_in_python = binding is None
        if binding is None:
            specialization.runner = _function_of(specialization)
            return
        if specialization.trial is not None:  # its calls come by here
            specialization.runner = _function_of(specialization)
            return
        text, objects = specialization.plan_text(), specialization.objects()
        binding["stages"] = functions_of(specialization.traced.stages)
        binding["partials"] = specialization.partials.loaded() if specialization.partials else None
        try:
            index = -1 if specialization.plan_index is None else specialization.plan_index
            specialization.plan_index = self.add(text, objects, index=index, **binding)
        except _face.PlanError as error:  # for the importers of modules; here NumPy still has the answer
            raise InternalError(f"{error} Please report it.") from None

    def _republish_all(self) -> None:
        self.clear()
        for specialization in self._specializations:
            specialization.plan_index = None
        for specialization in self._specializations:
            if specialization.versions:
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

        with _marked_active(self):
            times = compare(run, Reference(self.__wrapped__, traced, program), Call("first", args, kwargs), bound)
        if times is None or not times.loses:
            return False
        reason = f"NumPy takes {times.numpy_ns / 1e3:.1f} us, compiled code {times.compiled_ns / 1e3:.1f} us"
        specialization.run_in_numpy(bound, reason)
        self._publish(specialization)
        return True

    def _fall_back(self, error: TraceError | TranslateError) -> None:
        logs.fallback.debug("%s: %s", self.__name__, error)
        file = getattr(error, "file", "") or self.__wrapped__.__code__.co_filename
        line = getattr(error, "line", 0) or self.__wrapped__.__code__.co_firstlineno
        if (file, line) in _warned_lines:
            return
        _warned_lines.add((file, line))
        # Python drops what comes from no module: that of functions that `exec` made may be None.
        module = self.__module__ or Path(file).stem
        warnings.warn_explicit(f"runs in NumPy: {error}", FallbackWarning, file, line, module=module)

    def _raised_in_numpy(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, writes: bool = False
    ) -> Exception | None:
        from .datasets import raised_in_numpy  # noqa: PLC0415  (only a trace that failed needs it)

        return raised_in_numpy(self.__wrapped__, args, kwargs, writes=writes)

    def _stay(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, at_any_values: bool = True) -> None:
        """Let NumPy serve such calls without another look. That is always right, if not always fastest."""
        if len(self._stays) >= _MAX_STAYS:
            return
        key = shape_key(args, kwargs)
        self._stays.add(key)
        alike = without_values(key)
        if at_any_values and sum(without_values(other) == alike for other in [*self._stays]) >= _MAX_OF_ONE_VALUE:
            self._stays.add(alike)

    def _forget_stays(self) -> None:
        self._stays.clear()
        self.forget_stayed()

    def _staying_key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """What says that NumPy serves such a call; None where nothing does."""
        key = shape_key(args, kwargs)
        if key in self._stays:
            return key
        alike = without_values(key)
        return alike if alike in self._stays else None

    def _the_only(self, what: str) -> Specialization:
        if len(self._specializations) == 1:
            return self._specializations[0]
        if not self._specializations:
            raise Error(f"{self.__name__}.{what}: nothing was compiled yet.", "Call it first, or use f.for_args(…).")
        listed = ", ".join(s.signature for s in self._specializations)
        raise Error(
            f"{self.__name__}.{what}: there are {len(self._specializations)} specializations ({listed}).",
            f"Use f.for_args(…).{what}.",
        )


class QuietFunction(JitFunction):
    """One that nobody asked for: what it cannot compile is no news."""

    is_asked_for = False

    @property
    def waits(self) -> bool:
        """Whether Python runs calls while another thread builds what they need."""
        return any(one.is_being_built for one in self._specializations)

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        effects.Settling.events += 1
        return super()._miss(args, kwargs)

    def _fall_back(self, error: TraceError | TranslateError) -> None:
        logs.fallback.debug("%s: %s", self.__name__, error)


class LoopFunction(QuietFunction):
    """A loop that is compiled by itself: Python has nothing to do in it, or all of it."""

    takes_effects = False


effects.Settling.compiled = QuietFunction
effects.Settling.compiled_loop = LoopFunction


@overload
def jit(function: Callable[..., Any]) -> JitFunction: ...
@overload
def jit(
    *,
    target: str | None = None,
    strict: bool | Literal["kernels"] = False,
    contract: str = "numpy",
    db: str | Path | None = None,
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    function: Callable[..., Any] | None = None,
    *,
    target: str | None = None,
    strict: bool | Literal["kernels"] = False,
    contract: str = "numpy",
    db: str | Path | None = None,
) -> Any:
    """Compile a NumPy function at its first call.

    Parameters
    ----------
    target : what to compile for: host, x86-64, x86-64-v3, x86-64-v4, cuda, cuda-sm_80 and the like, or host,cuda. By
        default host code for NumPy arrays and CUDA code for arrays that lie on a device. With `cuda` alone NumPy arrays
        are copied to the device, and results back.
    strict : raise TraceError instead of running the function in NumPy where it cannot be compiled. Calls without a kernel
        (np.sort) are stages of what is compiled: NumPy computes them between kernels. "kernels": those are errors too. A
        call that computes nothing, and returns its arguments or views of them, is Python's in any case.
    contract : numpy (default), reproducible or fast; what a result promises.
    db : the store of tuned schedules, instead of the usual one.
    """
    checks.one_of(contract, "contract", CONTRACTS)
    checks.strictness(strict, "strict")
    db = checks.optional_path(db, "db")
    targets_of(target)

    def wrap(f: Callable[..., Any]) -> JitFunction:
        if isinstance(f, JitFunction):
            f = f.__wrapped__
        if isinstance(f, (staticmethod, classmethod)):
            kind = type(f).__name__
            raise TypeError(f"jit: {f.__func__.__qualname__} is a {kind}. Write @{kind} above @tilewright.jit.")
        if not isinstance(f, types.FunctionType):
            raise TypeError(f"jit: {checks.described(f)} is not a function. Give a Python function.")
        return JitFunction(f, target=target, strict=strict, contract=contract, db=db)

    return wrap if function is None else wrap(function)


def _run_watched(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .interpret.watched import run_watched  # noqa: PLC0415  (only functions with such callees need it)

    return run_watched(function, args, kwargs)


def _run_again(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> Any:
    from .interpret.watched import run_again  # noqa: PLC0415  (only functions with such callees need it)

    return run_again(function, args, kwargs, made)


def _function_of(specialization: Specialization) -> Callable[[Mapping[str, Any], Any], Any]:
    """Its plan as a function of the program's arguments."""
    versions, partials = specialization.versions, specialization.partials
    stages = functions_of(specialization.traced.stages)
    return program_function(specialization.program, versions, partials, stages, specialization.traced.results)


def _face_parameters(function: Callable[..., Any]) -> list[tuple[str, str, Any]]:
    # Of its own code: what functools.wraps() shows are those of another function, perhaps in another order.
    return [
        (p.name, p.kind.name.lower(), _face.MISSING if p.default is p.empty else p.default)
        for p in own_signature(function).parameters.values()
    ]


def _numpy_raises() -> bool:
    return "raise" in np.geterr().values()


def _copy_out(name: str, target: Any, value: Any) -> None:
    value = np.asarray(value)
    if not isinstance(target, np.ndarray) or target.dtype != value.dtype or target.shape != value.shape:
        given = f"{target.dtype}{list(target.shape)}" if isinstance(target, np.ndarray) else type(target).__name__
        raise ValueError(f"{name}: out is {given}, but the result is {value.dtype}{list(value.shape)}.")
    target[...] = value


class _Unserved(Exception):
    """A call that was compiled a moment ago, and is missed again."""


@contextmanager
def _marked_active(function: Any) -> Iterator[None]:
    """Another miss of the function in this thread is an end, instead of compiling forever."""
    _active.functions.append(function)
    try:
        yield
    finally:
        _active.functions.pop()
