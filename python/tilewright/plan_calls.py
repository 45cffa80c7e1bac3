"""Calls that compiled code serves, and those in which it finds that it does not."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _face, effects
from .binding import Bound
from .call_keys import shape_key
from .devices import places_among
from .draws import SharedGenerator, drawing
from .errors import Error, TraceError
from .failed_traces import is_of_a_handler
from .lent import undo_by
from .numpy_calls import NumpyCalls
from .partials import is_beyond_limit
from .specialization import Specialization
from .specializing import function_of
from .structure import is_flat, is_given_by_plans

_MOST_FAILED = 16  # calls in a row whose data fail a check of their plan: NumPy has computed each of them behind it


class Active(threading.local):
    """The functions whose plans run in a thread, and those that are compared with NumPy there."""

    def __init__(self) -> None:
        self.functions: list[Any] = []
        self.under_way: list[int] = []  # of each, how many calls had begun with their stages
        self.compared: list[Any] = []

    def misses_again(self, function: Any) -> bool:
        """Whether a call that comes here is the one that its plan should serve: no other one, which a stage of the plan makes."""
        pairs = zip(self.functions, self.under_way, strict=True)
        return any(one is function and begun == effects.under_way() for one, begun in pairs)


active = Active()


class NotCompared(Exception):  # noqa: N818 - it never leaves the comparison
    """A plan that is compared with NumPy finds that it does not serve the call."""


class PlanCalls(NumpyCalls):
    """A function whose calls plans make, and NumPy behind them."""

    def _in_numpy(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, made: Sequence[effects.Made] = ()
    ) -> Any:
        if self in active.compared:
            raise NotCompared  # the call itself comes here, and does once what the function does there
        return super()._in_numpy(args, kwargs, out, made)

    def _run_plan(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """In C. Raises Unserved where no version takes the call."""
        with marked_active(self):
            return super().__call__(*args, **kwargs) if out is None else super().__call__(*args, **kwargs, out=out)

    def _told(self, specialization: Specialization, bound: Bound, out: Any) -> Any:
        """The call through a function of the program's arguments, which says why it serves a call not."""
        runner = specialization.runner or function_of(specialization)
        with drawing(specialization.traced, bound) as values:
            return runner(values, out, bound.objects)

    def _in_plan(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        runner = specialization.runner
        if runner is None and out is not None and not is_given_by_plans(specialization.traced.results):
            runner = specialization.out_runner = specialization.out_runner or function_of(specialization)
        if runner is not None:
            begun = effects.under_way()  # whatever is there by then is this call's
            try:
                with drawing(specialization.traced, bound) as values:
                    result = runner(values, out, bound.objects)
            except _face.TooLargeError as error:
                self._say_too_large(TraceError(str(error)), specialization, bound, args, kwargs)
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
            except (
                Exception
            ) as error:  # a stage's, of any class: NumPy raises it, behind the writes and draws before it
                if is_of_a_handler(error):
                    effects.taken_since(begun)
                    raise
            else:  # what the call writes is written: an `out` that does not fit is no reason to run it once more
                return result if is_flat(specialization.traced.results) else self._in_out(result, out)
            return self._behind_a_plan(args, kwargs, out, effects.taken_since(begun))
        try:
            return self._run_plan(args, kwargs, out)
        except Unserved:
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
                self._say_too_large(TraceError(str(error)), specialization, bound, args, kwargs)
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
            self._say_too_large(said, specialization, bound, args, kwargs)
        elif self.strict and specialization.versions and not specialization.fits(bound):
            raise self._refusal(
                "sizes that data decide may be more, multiplied, than kernels can index in such a call."
            )
        return self._in_numpy(args, kwargs, out)

    def _check_failed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The program cannot compute with these data: NumPy raises its own error, or computes what it can."""
        caller = id(sys._getframe().f_back)
        undo_by(caller)
        made = effects.taken_by(caller)
        if places_among((*args, *kwargs.values())):
            specialization, bound = self.specialize(args, {k: v for k, v in kwargs.items() if k != "out"})
            return self._told(specialization, bound, kwargs.get("out"))
        kwargs, out = self._without_out(kwargs)
        return self._behind_a_plan(args, kwargs, out, made)

    def _behind_a_plan(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, made: Sequence[effects.Made]
    ) -> Any:
        """In NumPy, for a call whose plan did not come to its end. `made`: what its stages have called by then."""
        is_next = self.calls - self._failed_at <= 1
        self._failed, self._failed_at = self._failed + 1 if is_next else 1, self.calls
        if self._failed >= _MOST_FAILED and out is None and self not in active.functions:
            self._stay_in_c(shape_key(args, kwargs), args, kwargs)
        return self._in_numpy(args, kwargs, out, made)


class Unserved(Exception):
    """A call that was compiled a moment ago, and is missed again."""


@contextmanager
def marked_compared(function: Any) -> Iterator[None]:
    """NumPy makes no call of the function in the place of its plan in this thread."""
    active.compared.append(function)
    try:
        yield
    finally:
        active.compared.pop()


@contextmanager
def marked_active(function: Any) -> Iterator[None]:
    """Another miss of the function in this thread is an end, instead of compiling forever."""
    active.functions.append(function)
    active.under_way.append(effects.under_way())
    try:
        yield
    finally:
        active.functions.pop()
        active.under_way.pop()
