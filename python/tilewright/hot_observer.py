"""The user's functions as they come into being, each compiled once its calls take long: what `autotune run` and sessions have in common.

It imports nothing that a script without NumPy would not import itself.
"""

from __future__ import annotations

import builtins
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import Error, FallbackWarning
from .record.left_alone import why_left_alone
from .record.observe import Observer, Replace
from .record.ownership import Users

if TYPE_CHECKING:
    from .record.regions import Region

_IS_GENERATOR = (
    0x20 | 0x80 | 0x200
)  # of code: generators, coroutines and both (inspect.CO_GENERATOR and others; slow to import)


def is_generator(function: types.FunctionType) -> bool:
    """Whether it goes on behind its calls, as coroutines do too."""
    return bool(function.__code__.co_flags & _IS_GENERATOR)


class HotObserver(Observer):
    """Has functions that are compiled once their calls take long stand for the user's. `replace`: what stands for one, which
    may be `hot_of` it."""

    def __init__(self, users: Users, replace: Replace) -> None:
        super().__init__(users, replace)
        self.jitted: list[Any] = []
        self.left_alone: dict[str, dict[str, None]] = {}  # names of functions that nothing stands for, by why
        self.own_ns = 0  # that making them took

    def observed(self, name: str, value: Any, into: Any) -> Any:
        """What stands under `name` from now on; jitted functions of the user's own are timed as they are."""
        if self._is_jitted(value):
            self._time_jitted(value)
        elif isinstance(value, type):
            for member in list(vars(value).values()):
                if self._is_jitted(member):
                    self._time_jitted(member)
        return super().observed(name, value, into)

    def takes(self, function: types.FunctionType) -> bool:
        """Whether such a function may be array code: there is NumPy, and it ends before its caller goes on."""
        if is_generator(function):
            self.left_alone.setdefault("a generator or a coroutine", {})[function.__qualname__] = None
            return False
        return "numpy" in sys.modules

    def is_left_alone(self, function: types.FunctionType, name: str) -> bool:
        why = why_left_alone(function, name)
        if why:
            self.left_alone.setdefault(why, {})[function.__qualname__] = None
        return bool(why)

    def hot_of(self, function: types.FunctionType) -> Any:
        from .bound_method import BoundMethod  # noqa: PLC0415  (slow to import, and a script without NumPy needs none of it)

        return self._hot(function, lambda one: self.leave(one, [self.jitted], (BoundMethod,)), self._in_parts)

    def _in_parts(self, function: types.FunctionType, why: str) -> types.FunctionType | None:
        from .record.parts import in_parts  # noqa: PLC0415  (few functions are refused)

        def take(region: Region, of: types.FunctionType) -> None:
            self.take_region(region, of.__globals__, of.__code__.co_filename)

        return in_parts(function, take, why)

    def take_region(self, region: Region, names: dict[str, Any], file: str) -> None:
        """A function for statements of the user's, made at its first call: NumPy is there by then."""

        def first(*args: Any) -> Any:
            function = region.function(names, file)
            stays = "numpy" not in sys.modules
            setattr(builtins, region.name, function if stays else self._hot(function, lambda _: put_back()))

            def put_back() -> bool:
                setattr(builtins, region.name, function)
                return True

            return getattr(builtins, region.name)(*args)

        setattr(builtins, region.name, first)

    def _hot(
        self, function: types.FunctionType, leave: Callable[[Any], bool], in_parts: Callable[..., Any] | None = None
    ) -> Any:
        """What stands for a function of the user's; one that no jit takes runs as it is."""
        start = time.perf_counter_ns()
        self._before_the_first()
        try:
            from .hot_functions import HotFunction  # noqa: PLC0415  (slow to import, as above)

            made = HotFunction(function, leave, in_parts)
        except (Error, TypeError, ValueError):
            return function
        finally:
            self.own_ns += time.perf_counter_ns() - start
        self.jitted.append(made)
        return made

    def _before_the_first(self) -> None:
        if FallbackWarning not in (one[2] for one in warnings.filters):
            warnings.simplefilter("ignore", FallbackWarning)  # a table says at the end what runs in NumPy, and why

    def _time_jitted(self, function: Any) -> None:
        if not any(function is known for known in self.jitted):
            self.jitted.append(function)
            function.is_timed = True

    def _is_jitted(self, value: Any) -> bool:
        decorator = sys.modules.get("tilewright.decorator")  # a script that marks functions has imported it
        return decorator is not None and isinstance(value, decorator.JitFunction)


def is_tuned(function: Any) -> bool:
    return any(one.has_own_schedule for one in function.specializations)


def _schedules_of(function: Any) -> str:
    """By which its code runs."""
    built = [one for one in function.specializations if one.versions and not one.large_reason]
    return "; other calls: ".join(dict.fromkeys(one.schedule_words for one in built))


def times_of(function: Any) -> dict[str, Any] | None:
    """Of a jitted function's calls; None of one of which none was seen, unless an earlier process knew why it is Python's."""
    is_built = any(one.versions and not one.large_reason for one in function.specializations)
    in_numpy = [
        *function.refusals,
        *(why for one in function.specializations for why in one.why_numpy.values()),
        *(one.large_reason for one in function.specializations if one.large_reason),
    ]
    if not is_built and not in_numpy and (why := getattr(function, "why_python", "")):
        in_numpy.append(why)
    calls, ns = (getattr(function, f"python_{what}", 0) for what in ("calls", "ns"))
    missed_calls, missed_ns = (getattr(function, f"missed_{what}", 0) for what in ("calls", "ns"))
    called = calls + max(function.timed_calls, missed_calls)
    is_left = bool(getattr(function, "is_given_up", False))
    if not called and not (is_left and function.mean_python_ns):
        return None
    return {
        "calls": called, "ns": function.took_ns, "python_calls": calls, "python_ns": ns, "mean_python_ns": function.mean_python_ns,
        "missed_calls": missed_calls, "missed_ns": missed_ns, "in_numpy": in_numpy, "is_built": is_built,
        "is_left": is_left, "is_awaited": getattr(function, "is_awaited", False), "schedule": _schedules_of(function),
        "place": [function.__wrapped__.__code__.co_filename, function.__name__],
    }  # fmt: skip
