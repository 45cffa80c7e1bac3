"""Which programs a jitted function has: traced at the first call of a kind, compiled, and handed to the base class in C."""

from __future__ import annotations

import copy
import functools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Literal

from . import _face, forks, later_builds, logs, settings
from .binding import Bound, bind
from .builder import build
from .call_keys import LargestCalls, call_key
from .devices import places_among
from .dispatch import c_binding, program_function
from .effects import looking_ns
from .errors import Error, InternalError, TraceError
from .machine import CUDA_DEFAULT, host_isa, targets_of
from .program import Program
from .signatures import own_signature, parts_of, takes_out
from .specialization import Specialization
from .symbolic.stages import ON_DEVICE, ONLY_KERNELS, Untaken, functions_of
from .trials import Trial
from .work import is_one_library_call, is_small, know_work, work_of

if TYPE_CHECKING:
    from .figures import Figures
    from .trace.traced import Traced
    from .trace_cache import Known

# Programs that differ only in one value: a value that keeps changing is not worth compiling for.
MAX_OF_ONE_VALUE = 8
LOST_IN_SEARCH = "the fastest code that a search has found"


class Specializing(_face.Dispatcher):
    """A function with its programs."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    compares = True  # calls that cannot be repeated, with NumPy
    is_asked_for = True  # what is in it is looked at for itself; who compiles what nobody asked for looks there as well
    keeps_traces = False  # on disk, for later processes
    mean_python_ns = 0.0  # of a call, where those are measured
    takes_effects = True  # statements and calls that cannot be followed are Python's between kernels

    def __new__(cls, function: Callable[..., Any], *_: Any, **__: Any) -> Any:
        return super().__new__(cls, function.__name__, _face_parameters(function))

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        target: str | None = None,
        strict: bool | Literal["kernels"] = False,
        contract: str = "numpy",
        db: str | Path | None = None,
        background: bool = False,
    ) -> None:
        super().__init__(function.__name__, _face_parameters(function))
        self.takes_out = takes_out(function)
        functools.update_wrapper(self, function)
        self.targets = targets_of(target)
        self.copies_to_device = self.targets.host is None
        self.strict = strict
        self.contract = contract
        self._db = db
        self.in_background = background  # calls run in NumPy until the code is there
        self._specializations: list[Specialization] = []
        self._known: dict[Untaken | None, Known] = {}  # by other processes
        self.why_not_kept = ""  # the latest trace
        self._refused: dict[tuple[Any, ...], Error] = {}
        self._begun: dict[
            tuple[Any, ...], Any
        ] = {}  # traces that wait for what a watched call shows, or whose refusals are forgotten
        self._forgets_refusals = False  # of a call that may have changed what it was handed
        self._unseen: dict[tuple[Any, ...], Exception] = {}  # errors of traces behind watched calls, for the next ones
        self._watched_ns: dict[tuple[Any, ...], list[int]] = {}  # how long such calls took that ran watched
        self._watched_alike: Counter[tuple[Any, ...]] = Counter()  # how many, by all but their words and numbers
        self._raised_watched: set[tuple[Any, ...]] = set()  # calls that raised something while they were watched
        self._raised_nothing: set[tuple[Any, ...]] = set()  # calls in NumPy, of which the trace raised something
        self._stays: set[tuple[Any, ...]] = set()  # calls that NumPy is known to serve best, or alone
        self._and_smaller: dict[tuple[Any, ...], LargestCalls] = {}  # those of which it is true of smaller ones too
        self._are_idle = False  # some of those compute nothing
        self._lock = forks.Lock()
        self._parts = parts_of(function)
        self._python: Callable[..., Any] = function  # what runs calls that NumPy serves best
        self._long_calls = 0  # of those, in a row
        self._has_lost = False  # a plan with statements that Python runs, in a trial
        self._lost_ns = (
            0  # NumPy's time of a call that compiled code lost, where data decide how long others take; 0: of none
        )
        self._grown = 0  # calls in a row that took NumPy far longer
        self._failed = self._failed_at = 0  # calls in a row whose plans failed, and the last one's number

    @property
    def _patience_s(self) -> float:
        """How long a call waits for its code."""
        if self.in_background:
            return 0.0
        return later_builds.PATIENCE_S if self.is_asked_for else later_builds.UNASKED_PATIENCE_S

    def _refusal(self, text: str, hint: str = "") -> TraceError:
        """Of the function as a whole: the text begins with where it is."""
        code = self.__wrapped__.__code__
        where = f"{code.co_filename}:{code.co_firstlineno}, in {self.__name__}"
        return TraceError(f"{where}: {text}", hint, file=code.co_filename, line=code.co_firstlineno)

    def specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Specialization, Bound]:
        """The program of such a call, traced now if need be, and the call's values in it. Nothing is compiled."""
        specialization, bound = self._found_or_made(args, kwargs)
        if (specialization.draws or specialization.traced.stages) and places_among((*args, *kwargs.values())):
            self._refuse_draws(specialization)
        return specialization, bound

    @contextmanager
    def refusing_nothing(self) -> Iterator[None]:
        """What is refused inside is asked again later, and is none of its refusals."""
        refused = self._refused.copy()
        try:
            yield
        finally:
            self._refused = refused

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
        if (unseen := self._unseen.pop(key, None)) is not None:
            raise unseen
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
            if count >= MAX_OF_ONE_VALUE:
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
        start = time.perf_counter()
        untaken = self._untaken(args, kwargs)
        traced = self._kept_trace(untaken, args, kwargs) or self._followed(untaken, args, kwargs, changing)
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
        if self.keeps_traces:
            specialization.trace_key = self._trace_key(untaken)
            specialization.known = self._known_traces(untaken).programs.get(traced.digest)
            if specialization.known is not None:
                know_work(program, specialization.known.work)
        if not bound.on_device and is_one_library_call(program) and not is_small(program, bound):
            specialization.run_in_numpy(bound, "it is a single BLAS call, which NumPy makes too", at_any_size=True)
        if (path := settings.store_path(self._db)) is not None and os.path.exists(path):
            self._use_stored(specialization, bound)
        specialization.changed = lambda: self._publish(specialization)  # type: ignore[method-assign]
        self._specializations.append(specialization)
        self._publish(specialization)  # with the stored schedule, where there is one
        logs.guards.debug("%s: traced in %.1f ms", specialization.signature, 1e3 * (time.perf_counter() - start))
        for guard in program.guards:
            logs.guards.debug("%s: guard %s", specialization.signature, guard.condition)
        return specialization, bound

    def _kept_trace(self, untaken: Untaken | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced | None:
        """The trace of such a call that another process has kept."""
        if not self.keeps_traces:
            return None
        forks.check_compiler()  # before anything is imported: a lock of that may be lost too
        return next((one for one in self._known_traces(untaken).traces if one.matches(args, kwargs)), None)

    def _known_traces(self, untaken: Untaken | None) -> Known:
        """Those that other processes have kept."""
        from . import trace_cache  # noqa: PLC0415  (only where calls are to be compiled)

        if untaken not in self._known:
            self._known[untaken] = trace_cache.known(self._trace_key(untaken), self.__wrapped__)
        return self._known[untaken]

    def _trace_key(self, untaken: Untaken | None, takes_effects: bool | None = None) -> str:
        from . import trace_cache  # noqa: PLC0415

        takes = self.takes_effects if takes_effects is None else takes_effects
        return trace_cache.key_of(self.__wrapped__, (self.contract, untaken, takes))  # type: ignore[arg-type]

    def _followed(
        self, untaken: Untaken | None, args: tuple[Any, ...], kwargs: dict[str, Any], changing: frozenset[str]
    ) -> Traced:
        """A trace of the call, which is kept for later processes."""
        forks.check_compiler()  # before anything is imported: a lock of that may be lost too
        from .trace import Begun, trace  # noqa: PLC0415  (the slowest import of all)

        key = untaken, call_key(args, kwargs)
        begun = self._begun.pop(key, None) or Begun()
        begun.decided.refuses_errors |= key[1] in self._raised_nothing
        options: dict[str, Any] = {"contract": self.contract, "changing": changing, "untaken": untaken}
        traced_of = functools.partial(trace, self.__wrapped__, args, kwargs, effects=self.takes_effects, **options)
        try:
            try:
                traced = traced_of(begun=begun)
            except TraceError as refusal:
                if refusal.not_seen or not changing:
                    raise
                traced = traced_of(begun=Begun(), pins_numbers=True)
        except TraceError as refusal:
            if refusal.not_seen or self._forgets_refusals:
                begun.let_go()
                self._begun[key] = begun
            raise
        if self.keeps_traces and traced.fallback_reason is None:
            from . import trace_cache  # noqa: PLC0415

            self.why_not_kept = trace_cache.keep(self._trace_key(untaken), traced, self.__wrapped__)
            logs.guards.debug(
                "%s: the trace is kept%s", self.__name__, self.why_not_kept and f" not: {self.why_not_kept}"
            )
        return traced

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
        from .stored import Stored, mark_of, stored_schedule  # noqa: PLC0415  (without a store nothing needs it)

        path = settings.store_path(self._db)
        # What an earlier process has read there is true while nothing is written into it; to read it takes the compiler.
        mark = mark_of(path, specialization, bound) if self.keeps_traces and not bound.on_device else ""
        known = dict(specialization.known.stored) if specialization.known is not None else {}
        is_known = bool(mark) and mark in known
        found = stored_schedule(specialization, bound, path) if not is_known else known[mark] and Stored(*known[mark])
        if found is None:
            if mark and not is_known:
                specialization.found_stored = ((mark, None),)
            return
        try:
            text = found.schedule if is_known else specialization.check_schedule(found.schedule, "store")
            specialization.set_canonical_schedule(text, bound, label="tuned")
            if mark and not is_known:
                specialization.found_stored = ((mark, (text, found.evidence)),)
            specialization.evidence = found.evidence
            specialization.lead_is_new = True
        except Error as error:  # from an older release, say
            tell = logs.logger.warning if self.is_asked_for else logs.logger.info
            tell("%s: the stored schedule is not used: %s", self.__name__, error)

    def _compile_for(self, specialization: Specialization, bound: Bound) -> bool:
        """Compile what such a call needs. Whether no version fitted it before."""
        is_new = not specialization.fits(bound)
        with self._lock:
            before = specialization.versions
            if is_new and not specialization.fits(bound):
                specialization.add_version(bound)
                self._note_built(specialization, bound)
            elif specialization.found_stored:
                self._note_built(specialization, bound)
            if specialization.add_partials(bound) or specialization.versions is not before:
                cannot_repeat = not specialization.traced.may_be_repeated
                if is_new and cannot_repeat and self.compares and not bound.on_device:
                    specialization.trial = Trial(looking_ns=looking_ns(specialization.traced.stages))
                self._publish(specialization)
        return is_new

    def keep_tuned(self, specialization: Specialization, figures: Figures, python_ns: float) -> str:
        """Functions of `autotune run` take such calls from the first one on as this one was tuned: the trace is kept, for which
        sizes its best schedule is built, what Python takes (`python_ns`, a call), and whether a comparison would be in vain. Why it cannot be kept,
        or ""."""
        from . import trace_cache  # noqa: PLC0415

        assert specialization.example is not None
        key = self._trace_key(None, takes_effects=True)  # as those functions ask for it
        others = {**trace_cache.known(key, self.__wrapped__).programs}
        others.pop(specialization.traced.digest, None)
        is_alone = not any(one.tuned for one in others.values())
        if figures.ratio < 1 and is_alone:
            why = f"{LOST_IN_SEARCH} takes {1 / figures.ratio:.1f} times what NumPy does"
            trace_cache.leave_alone(key, self.__wrapped__, why, forgets=True, python_ns=python_ns)
            return ""
        traced, example = specialization.traced, specialization.example.without_data()
        why_not = trace_cache.keep(key, traced, self.__wrapped__)
        if not why_not:
            mark = specialization.mark_of_code(example)
            known = (mark,) if mark else ()
            found = trace_cache.OfProgram(
                tuned=(dict(example.sizes),), work=work_of(specialization.program),
                wins=known if figures.wins_clearly else (), losses=known if figures.ratio < 1 else (),
            )  # fmt: skip
            trace_cache.note(key, traced.digest, found, python_ns)
        return why_not

    def keep_beside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The same of a call that was not tuned, under the default schedule, where it is another program's: a script's first calls
        have other objects. Raises Error where it cannot be compiled."""
        from . import trace_cache  # noqa: PLC0415

        before = list(self._specializations)
        specialization, bound = self.specialize(args, kwargs)
        if specialization in before or specialization.numpy_reason(bound) is not None:
            return ""
        build(specialization.request(bound))
        key, digest = self._trace_key(None, takes_effects=True), specialization.traced.digest
        why_not = trace_cache.keep(key, specialization.traced, self.__wrapped__)
        if not why_not:
            found = trace_cache.OfProgram(sizes=(dict(bound.sizes),), work=work_of(specialization.program))
            trace_cache.note(key, digest, found)
        return why_not

    def _note_built(self, specialization: Specialization, bound: Bound) -> None:
        """Later processes find that code, whatever sizes they ask for that it serves, and need no compiler for what is asked
        of it around that."""
        if not self.keeps_traces or bound.on_device:
            return
        known, stored, specialization.found_stored = specialization.known, specialization.found_stored, ()
        if known is not None and dict(bound.sizes) in known.sizes and known.work and not stored:
            return
        self._note(specialization, sizes=(dict(bound.sizes),), work=work_of(specialization.program), stored=stored)

    def _remember(self, specialization: Specialization, bound: Bound, *, is_win: bool) -> None:
        """Later processes take such a call as this one was found to be taken best. What data may turn into a win is no loss."""
        if not is_win and specialization.data_decide_work:
            return
        if self.keeps_traces and not bound.on_device and (mark := specialization.mark_of_code(bound)):
            self._note(specialization, **{"wins" if is_win else "losses": (mark,)})

    def _note(self, specialization: Specialization, **found: Any) -> None:
        from . import trace_cache  # noqa: PLC0415

        digest, more = specialization.traced.digest, trace_cache.OfProgram(**found)
        specialization.known = (specialization.known or trace_cache.OfProgram()).with_more(more)
        trace_cache.note(specialization.trace_key, digest, more, self.mean_python_ns)

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
            specialization.runner = function_of(specialization)
            return
        if specialization.trial is not None and not specialization.trial.is_in_c:  # its calls come by here
            specialization.runner = function_of(specialization)
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

    def _forget_stays(self) -> None:
        self._stays.clear()
        self._and_smaller.clear()
        self.forget_stayed()

    def _take_new_parts(self) -> None:
        """The function has other code or other defaults: nothing that is known of its calls is true any more."""
        with self._lock:
            self._parts = parts_of(self.__wrapped__)
            self._python = self.__wrapped__
            super().__init__(self.__wrapped__.__name__, _face_parameters(self.__wrapped__))
            self.takes_out = takes_out(self.__wrapped__)
            self._forget_stays()
            self._begun.clear()
            self._unseen.clear()
            self._watched_ns.clear()
            self._watched_alike.clear()
            self._raised_watched.clear()
            self._raised_nothing.clear()
            self._refused.clear()
            self._are_idle = False
            self._known.clear()
            self._specializations.clear()

    def _moves_to_device(self) -> bool:
        """Whether a call of NumPy arrays from here and now runs on a device."""
        return self.targets.host is None or _face.current_device() is not None


def function_of(specialization: Specialization) -> Callable[..., Any]:
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
