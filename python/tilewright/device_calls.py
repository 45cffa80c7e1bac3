"""Calls that run on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _face, forks, settings
from .binding import Bound
from .errors import DeviceError, Error, TraceError, TranslateError
from .numpy_calls import numpy_raises
from .plan_calls import PlanCalls, Unserved, active
from .specialization import Specialization


class DeviceCalls(PlanCalls):
    """A function that is called with arrays on a device, or inside of `with device(...)`."""

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
        if numpy_raises():
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
            self._say_too_large(TraceError(str(error)), specialization, bound, args, kwargs)
        return self._in_numpy(args, kwargs, out)

    def _run_on_device(
        self, specialization: Specialization, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        if specialization.runner is None and self not in active.functions:
            try:
                return self._run_plan(args, kwargs, out)  # a second miss comes here again, and has its reason told
            except Unserved:  # of arrays from outside of the call
                pass
        return self._told(specialization, bound, out)

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
