"""@tilewright.jit: a function that compiles itself at its first call and behaves as the original in all else.

Calls that fit a compiled plan never reach Python: the base class (C) checks dtypes, ranks, layouts and sizes and runs
the kernels. All other calls arrive in `_miss`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _face, checks, effects, logs, settings
from .binding import Bound
from .bound_method import BoundMethod
from .errors import Error, ExportError, TraceError, TranslateError
from .failed_traces import raised_while_tracing
from .machine import targets_of
from .numpy_calls import numpy_raises
from .plan_calls import active
from .serving import Serving
from .specialization import Specialization
from .specializing import function_of

if TYPE_CHECKING:
    from .debug.report import Report

CONTRACTS = ("numpy", "reproducible", "fast")
DEBUG_LIMIT = "60s"  # of each step of debug()


class JitFunction(Serving):
    """What `tilewright.jit` returns."""

    keeps_traces = True

    # ---- behaving as the function ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<tilewright.jit {self.__module__}.{self.__qualname__}>"

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

    def explain(self, *, source: bool = True, code: bool = False) -> str:
        """What was compiled, under which guards, and what runs in NumPy and why; with `source` who computes each line."""
        from .explain import explain_function  # noqa: PLC0415  (slow to import, and few ask)

        return explain_function(self, source=checks.flag(source, "source"), code=checks.flag(code, "code"))

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
        result = tune_call(specialization, self.__wrapped__, args, kwargs, options, compiled=self, observer=observer)
        lead = specialization.lead_for(bound.on_device)
        if lead is not None and lead.label == "tuned" and not bound.on_device and result.ratio < 1:
            self._loses(specialization, bound, args, kwargs)  # where it does, such calls stay with NumPy
        return result

    def _takes_known_ways(self, specialization: Specialization, bound: Bound) -> bool:
        """Whether compiled code serves a call to its end."""
        if bound.on_device or specialization.traced.generators or specialization.traced.handed:
            return True  # no copies of those are made
        self._compile_for(specialization, bound)
        copies = {name: np.array(one) if isinstance(one, np.ndarray) else one for name, one in bound.values.items()}
        try:
            function_of(specialization)(copies, None)
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
        return export_module(target, [(self, self._specializations)], options)

    def _own_targets(self) -> tuple[str, ...]:
        host, device = self.targets.host, self.targets.device
        if not self.targets.is_given:
            seen = any(version.build.on_device for s in self._specializations for version in s.versions)
            host, device = "host", device if seen else None
        return tuple(isa for isa in (host, device) if isa is not None)

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
    """One that nobody asked for: what it cannot compile is no news. Python has nothing to do in it, or all of it: what is in
    that is compiled by itself in its turn."""

    is_asked_for = False
    keeps_traces = False  # what it is made of is made anew in each process
    takes_effects = False
    numpy_calls = 0  # that compiled code lost, or could not end

    @property
    def waits(self) -> bool:
        """Whether Python runs calls while another thread builds what they need."""
        return any(one.is_being_built for one in self._specializations)

    def is_followed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a trace does not refuse such a call. What the function itself raises is the call's to raise."""
        if settings.disabled() or numpy_raises() or self in active.functions:
            return True
        try:
            self.specialize(tuple(args), kwargs)
        except Error:
            return False
        except Exception:  # noqa: BLE001
            return True
        return True

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = self._found_out()
        try:
            return super()._miss(args, kwargs)
        finally:
            # C does not know calls with arrays of Python's statements alone: Python finds their program each time, no news.
            effects.Settling.events += self._is_tried or known != self._found_out()

    @property
    def _is_tried(self) -> bool:
        return any(one.trial is not None for one in self._specializations)

    def _found_out(self) -> list[Any]:
        return [(id(one), len(one.versions), one.is_being_built) for one in self._specializations]

    def _in_numpy(self, *args: Any, **kwargs: Any) -> Any:
        effects.Settling.events += 1
        self.numpy_calls += not (self.waits or self._is_tried)
        return super()._in_numpy(*args, **kwargs)

    def _fall_back(self, error: TraceError | TranslateError) -> None:
        logs.fallback.debug("%s: %s", self.__name__, error)


_face.set_bound_type(BoundMethod)
effects.Settling.compiled = QuietFunction


@overload
def jit(function: Callable[..., Any]) -> JitFunction: ...
@overload
def jit(
    *,
    target: str | None = None,
    strict: bool | Literal["kernels"] = False,
    contract: str = "numpy",
    db: str | Path | None = None,
    background: bool = False,
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    function: Callable[..., Any] | None = None,
    *,
    target: str | None = None,
    strict: bool | Literal["kernels"] = False,
    contract: str = "numpy",
    db: str | Path | None = None,
    background: bool = False,
) -> Any:
    """Compile a NumPy function at its first call. Of a bound method (`model.predict`) it gives one for the same object.

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
    background : calls run in NumPy until the code is there: another thread compiles. The first call of a kind is still followed
        once, which takes milliseconds to tenths of a second.
    """
    checks.one_of(contract, "contract", CONTRACTS)
    checks.strictness(strict, "strict")
    db = checks.optional_path(db, "db")
    background = checks.flag(background, "background")
    targets_of(target)

    def wrap(f: Callable[..., Any]) -> Any:
        if isinstance(f, types.MethodType):
            return wrap(f.__func__).__get__(f.__self__)
        if isinstance(f, JitFunction):
            f = f.__wrapped__
        if isinstance(f, (staticmethod, classmethod)):
            kind = type(f).__name__
            raise TypeError(f"jit: {f.__func__.__qualname__} is a {kind}. Write @{kind} above @tilewright.jit.")
        if not isinstance(f, types.FunctionType):
            raise TypeError(f"jit: {checks.described(f)} is not a function. Give a Python function or method.")
        return JitFunction(f, target=target, strict=strict, contract=contract, db=db, background=background)

    return wrap if function is None else wrap(function)
