"""Calls that NumPy serves: with `out`, said once by a warning, and found sooner the next time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import effects, logs
from .binding import Bound
from .call_keys import LargestCalls, call_key, rank_key, shape_key, without_values
from .errors import FallbackWarning, TraceError, TranslateError
from .partials import is_beyond_memory
from .specialization import Specialization
from .specializing import MAX_OF_ONE_VALUE, Specializing

# So many functions in a row may be called behind branches on what others gave.
MAX_WATCHED = 8
_MAX_STAYS = 1024
_WORTH_ANOTHER_LOOK_S = 0.1
# By how much calls take NumPy longer than one that compiled code has lost, and how many in a row, before it is tried again.
_GROWN, _MOST_GROWN = 8, 2
_warned_lines: set[tuple[str, int]] = set()


class NumpyCalls(Specializing):
    """A function whose calls plain Python makes."""

    def _without_out(self, kwargs: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """The keywords of the function itself, and `out` where it has no such parameter."""
        if "out" not in kwargs or self.takes_out:
            return kwargs, None
        return {name: value for name, value in kwargs.items() if name != "out"}, kwargs["out"]

    def _in_numpy(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, made: Sequence[effects.Made] = ()
    ) -> Any:
        """`made`: the calls that a plan has made already."""
        result = _run_again(self.__wrapped__, args, kwargs, made) if made else self.__wrapped__(*args, **kwargs)
        return self._in_out(result, out)

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

    def _in_watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._watched_alike[without_values(shape_key(args, kwargs))] += 1
        times, start_ns = self._watched_ns.setdefault(call_key(args, kwargs), []), time.perf_counter_ns()
        try:
            return _run_watched(self.__wrapped__, args, kwargs)
        except Exception:
            self._raised_watched.add(call_key(args, kwargs))
            raise
        finally:
            if len(times) < MAX_WATCHED:  # calls that raise are watched time and again
                times.append(time.perf_counter_ns() - start_ns)

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

    def _say_too_large(
        self,
        said: TraceError,
        specialization: Specialization,
        bound: Bound,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """NumPy makes such a call, or says that there is no memory for it."""
        if is_beyond_memory(specialization.program, bound):
            return
        if self.strict:
            raise said from None
        self._refused["too large", *call_key(args, kwargs)] = said
        self._fall_back(said)

    @property
    def looks_inside(self) -> bool:
        """Whether what takes long in a function that NumPy serves may be compiled for itself."""
        is_ours = self.strict != "kernels" and self.contract == "numpy" and self.targets.host is not None
        return is_ours and self.is_asked_for

    def _look_inside(self, took_s: float = 0.0) -> None:
        """Calls take so long. What is in a plan that lost was tried there: looking at it costs its time, too."""
        from .interpret import inner_calls  # noqa: PLC0415  (only what was traced needs it)

        function: Any = self.__wrapped__
        if self._has_lost and took_s < _WORTH_ANOTHER_LOOK_S and not inner_calls.calls_what_is_compiled(function):
            return
        self._python = inner_calls.run_by_python(function)
        if self._has_lost:
            inner_calls.inner_calls_of(function).end_free_tries()

    @property
    def computes_nothing(self) -> bool:
        """Whether calls were made, and there was nothing in any of them to compile."""
        return self._are_idle and not self._specializations and not self._refused

    @property
    def was_watched(self) -> bool:
        """Whether calls ran as plain Python, and it was looked at what the functions give that they call."""
        return bool(self._watched_ns)

    def _stay(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, at_any_values: bool = True, and_smaller: bool = False
    ) -> None:
        """Let NumPy serve such calls without another look. That is always right, if not always fastest. `and_smaller`: what is
        true of some of them is true of calls whose arrays and whole numbers are no larger."""
        if len(self._stays) >= _MAX_STAYS:
            return
        key = shape_key(args, kwargs)
        if and_smaller and key not in self._stays:
            self._and_smaller.setdefault(rank_key(key), LargestCalls()).add(key)
        self._stays.add(key)
        alike = without_values(key)
        if at_any_values and sum(without_values(other) == alike for other in [*self._stays]) >= MAX_OF_ONE_VALUE:
            self._stays.add(alike)

    def _stay_in_c(self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The next such call does not come to Python."""
        is_timed = self._lost_ns and self._python is self.__wrapped__
        self.stay(key[: len(args) + len(kwargs)], tuple(kwargs), self._while_it_is_short if is_timed else self._python)

    def _while_it_is_short(self, *args: Any, **kwargs: Any) -> Any:
        """A simulation may begin with five that are ill: what compiled code lost then, it may win once there are a thousand."""
        began_ns = time.perf_counter_ns()
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            is_long = time.perf_counter_ns() - began_ns > _GROWN * self._lost_ns
            self._grown = self._grown + 1 if is_long else 0
            if self._grown >= _MOST_GROWN:
                self._lost_ns = self._grown = 0
                for one in self._specializations:
                    one.forget_losses()
                self._forget_stays()

    def _staying_key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """What says that NumPy serves such a call; None where nothing does."""
        key = shape_key(args, kwargs)
        ranks = rank_key(key)
        others = self._and_smaller.get(ranks)
        if others is not None and others.calls >= MAX_OF_ONE_VALUE and (among := others.key(key)) is not None:
            # C asks for those before any plan, and another of these numbers may be a plan's own.
            is_alone = int not in ranks or not any(one.versions for one in self._specializations)
            return among if is_alone else key
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


def numpy_raises() -> bool:
    return "raise" in np.geterr().values()


def _copy_out(name: str, target: Any, value: Any) -> None:
    value = np.asarray(value)
    if not isinstance(target, np.ndarray) or target.dtype != value.dtype or target.shape != value.shape:
        given = f"{target.dtype}{list(target.shape)}" if isinstance(target, np.ndarray) else type(target).__name__
        raise ValueError(f"{name}: out is {given}, but the result is {value.dtype}{list(value.shape)}.")
    target[...] = value
