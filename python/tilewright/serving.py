"""Calls that no plan takes: each is compiled for, compared with NumPy, watched, or left to NumPy."""

from __future__ import annotations

import copy
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import _face, effects, forks, logs, recording, settings
from .binding import Bound
from .call_keys import call_key, shape_key, without_values
from .devices import on_host, places_among
from .draws import SharedGenerator, drawing
from .errors import DeviceError, Error, FallbackWarning, InternalError, TraceError, TranslateError
from .failed_traces import raised_while_tracing
from .lent import undo
from .partials import is_beyond_limit
from .signatures import parts_of
from .specialization import Specialization
from .specializing import MAX_OF_ONE_VALUE, Specializing, function_of
from .structure import is_flat, is_given_by_plans
from .trials import Trial

_MAX_STAYS = 1024
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


class Serving(Specializing):
    """A function whose calls that no plan takes arrive in `_miss`."""

    def _without_out(self, kwargs: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """The keywords of the function itself, and `out` where it has no such parameter."""
        if "out" not in kwargs or self.takes_out:
            return kwargs, None
        return {name: value for name, value in kwargs.items() if name != "out"}, kwargs["out"]

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
        runner = specialization.runner or function_of(specialization)
        with drawing(specialization.traced, bound) as values:
            return runner(values, out)

    def _in_plan(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        runner = specialization.runner
        if runner is None and out is not None and not is_given_by_plans(specialization.traced.results):
            runner = specialization.out_runner = specialization.out_runner or function_of(specialization)
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
        if at_any_values and sum(without_values(other) == alike for other in [*self._stays]) >= MAX_OF_ONE_VALUE:
            self._stays.add(alike)

    def _staying_key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """What says that NumPy serves such a call; None where nothing does."""
        key = shape_key(args, kwargs)
        if key in self._stays:
            return key
        alike = without_values(key)
        return alike if alike in self._stays else None


def _run_watched(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .interpret.watched import run_watched  # noqa: PLC0415  (only functions with such callees need it)

    return run_watched(function, args, kwargs)


def _run_again(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> Any:
    from .interpret.watched import run_again  # noqa: PLC0415  (only functions with such callees need it)

    return run_again(function, args, kwargs, made)


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
