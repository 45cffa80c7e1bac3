"""One tuning: the recorded call becomes a job, the search runs beside this thread, the best schedule comes back."""

from __future__ import annotations

import json
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import checks, datasets, forks, logs
from .binding import Bound, bind
from .debug.answers import Allowed, Answer, difference
from .devices import check_device, device, device_name, host_copies
from .errors import Error, InternalError
from .figures import Figures, Turns, reserved_s, take_turns
from .flops import flops_of
from .machine import cpu_model
from .native import compiler, worker_path
from .partials import is_beyond_limit
from .quantities import counted, format_ns
from .result_table import as_html, as_text
from .specialization import Specialization
from .stage_records import StageRecord, StageRecorder, bytes_of_kernels
from .stage_shares import StageShare, in_a_line, shares
from .stored import workload_of
from .tolerance import Tolerance
from .workload import Workload, describe_call

_BASELINE_RUNS = 3
_BASELINE_S = 1.0
_LEAST_RESERVED_S = 0.05  # for a few calls of the best schedule, where NumPy is too slow to take turns
_BUDGET_OVER = "the time budget was used up"  # as the search says it
_FEW_TRIALS = 10  # fewer are starts and their neighbours
_SHORT_NS = 50_000  # up to here the way from Python into a kernel counts beside the kernel
_LEAST_SAMPLE_NS = 20_000  # shorter calls are timed several at once: the clock takes 50 ns itself
_WIDEN_NS = 1e9  # calls of NumPy longer than this are not repeated to learn their conditioning


def checked_strategy(value: Any, name: str) -> str | None:
    """None: the default."""
    return None if value is None else checks.one_of(value, name, tuple(compiler().strategies()))


@dataclass
class TuneOptions:
    """The limits and wishes of one tuning."""

    budget_s: float = 60.0
    max_trials: int = 0
    seed: int = 0
    strategy: str | None = None  # None: the default
    threads: int = 0
    space: str | None = None
    starts: list[str] = field(default_factory=list)
    schedule: str | None = None  # only measure this one beside the stored best
    db: Path | None = None
    contract: str = "numpy"
    on_device: bool = False  # NumPy arrays too
    devices: tuple[int, ...] = ()  # that measure; all candidates on the first where none is named


@dataclass(repr=False)
class TuneResult:
    """What a search found. `figures` are of calls in turns with NumPy; the search's own times are of the kernels alone, so
    are throughput and limit."""

    function: str
    summary: str
    contract: str
    schedule: str
    figures: Figures
    default_ns: float  # of the default schedule, in the search as `kernel_ns`
    trials: int
    known: int  # candidates of earlier runs, which were not built again
    elapsed_s: float
    reason: str
    bytes_moved: float
    limit: dict[str, Any] | None  # how near the kernels are to which limit of the machine: roof, share, reached, unit
    workload: Workload
    device: str = ""  # the name of the CUDA device whose kernels were timed, with the data there
    copied_ns: float | None = None  # of a call of NumPy arrays that runs there
    stages: list[StageShare] = field(default_factory=list)  # what NumPy computes between the kernels
    raw: dict[str, Any] = field(repr=False, default_factory=dict)

    @property
    def numpy_ns(self) -> float:
        """Of a call in NumPy."""
        return self.figures.numpy_ns

    @property
    def tuned_ns(self) -> float:
        """Of a call as users make it; on a device of its kernels, with the data there."""
        return self.figures.tuned_ns

    @property
    def kernel_ns(self) -> float:
        """Of the best schedule in the search, without the way from Python to it."""
        return self.figures.kernel_ns

    @property
    def ratio(self) -> float:
        """How many times faster than NumPy."""
        return self.figures.ratio

    @property
    def complete(self) -> bool:
        """False where the budget was over before anything was measured."""
        return self.kernel_ns > 0

    @property
    def gbps(self) -> float:
        """Bytes of arguments and results, each counted once, per nanosecond."""
        return self.bytes_moved / self.kernel_ns if self.kernel_ns else 0.0

    def closing_line(self) -> str:
        """NumPy time -> tuned time, equality, throughput, cost of the search: in one line."""
        failed = str(self.raw.get("default_failure") or "")
        if not self.complete:
            if failed:
                return f"{self.function}: nothing measured: the default schedule failed ({failed})"
            notes = [str(note) for note in self.raw.get("notes", [])]
            if notes:
                return f"{self.function}: nothing measured: {'; '.join(notes)}"
            if self.raw.get("interrupted") or self.raw.get("cancelled"):
                return f"{self.function}: nothing measured: the search was interrupted"
            return f"{self.function}: nothing measured within the budget ({self.reason}). Give a larger --budget."
        known = f" and {self.known} known from before" if self.known else ""
        placed = f" on {self.device} with data on the device" if self.device else ""
        copied = "" if self.copied_ns is None else f"; with copies from and to NumPy arrays {format_ns(self.copied_ns)}"
        return (
            f"{self.function}: {self.figures.text(placed)}{copied}{in_a_line(self.stages)}; result equal under contract {self.contract}; "
            f"{self._speed()}; "
            f"searched {self.elapsed_s:.0f} s, {counted(self.trials, 'candidate')}{known}, stopped: {self._ending(known)}"
            + (f"; the default schedule failed ({failed})" if failed else "")
        )

    def _ending(self, known: str) -> str:
        """Why the search stopped; where so few were tried that it was none, that."""
        if self.reason != _BUDGET_OVER or known or not 0 < self.trials < _FEW_TRIALS:
            return self.reason
        each = format_ns(1e9 * self.elapsed_s / self.trials)
        return f"{self.reason}, and at some {each} a candidate this was hardly a search: give it a larger budget"

    def _speed(self) -> str:
        """By the limit that binds: 5.9 GB/s, 43 % of this machine's measured limit (memory)"""
        whose = "kernels " if self.stages else ""
        if self.limit is None:
            return f"{whose}{self.gbps:.1f} GB/s"
        place = "device" if self.device else "machine"
        return (
            f"{whose}{self.limit['reached']:.1f} {self.limit['unit']}, "
            f"{100 * self.limit['share']:.0f} % of this {place}'s measured limit ({self.limit['roof']})"
        )

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def evidence(self) -> dict[str, Any]:
        """For the module and for explain(): numbers and where they were taken."""
        return {
            "function": self.function,
            "workload": self.summary,
            "workload_key": self.workload.key,
            "contract": self.contract,
            **self.figures.as_evidence(),
            "default_ns": self.default_ns,
            "gbps": round(self.gbps, 3),
            "share_of_limit": self.limit and self.limit["share"],
            "limit": "" if self.limit is None else self.limit["roof"],
            "gflops": None if self.limit is None or self.limit["unit"] == "GB/s" else round(self.limit["reached"], 3),
            "candidates": self.trials,
            "searched_s": round(self.elapsed_s, 2),
            "stopped": self.reason,
            "cpu": cpu_model(),
            **({"device": self.device, "with_copies_ns": self.copied_ns} if self.device else {}),
            **({"stages": [stage.as_evidence() for stage in self.stages]} if self.stages else {}),
            "isa": self.workload.isa,
            "numpy_version": np.__version__,
            "schedule": self.schedule,
        }


def tune_call(
    specialization: Specialization,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: TuneOptions,
    *,
    compiled: Callable[..., Any],
    observer: Callable[[dict[str, Any]], None] | None = None,
    is_warm: bool = False,
) -> TuneResult:
    """Search for the fastest schedule of a call and use it from now on in `compiled`, the function's jitted form.

    KeyboardInterrupt ends the search and keeps the best so far.
    is_warm: NumPy has run this call in this process before.
    """
    started = time.perf_counter()
    traced, program = specialization.traced, specialization.program
    if any(argument.path[0] == ("default_rng", None) for argument in traced.arguments):
        raise Error(
            f"{program.function}: default_rng() takes another seed at each call, so no answer can be compared with NumPy's.",
            "Tune it with a seed (default_rng(0)), or pass the generator in.",
        )
    bound = bind(traced, program, args, kwargs)
    if is_beyond_limit(program, bound):
        raise Error(
            f"{describe_call(program, {k: a.shape for k, a in bound.arrays.items()})}: an array has more than "
            "2**31 - 2**27 elements, or reaches further, which kernels cannot index, so no candidate can run.",
            "Tune it with fewer rows: calls of more run in parts, each by the schedule that is found; reductions in parts "
            "have default schedules. --build-only writes a module without a search.",
        )
    on_device = bound.on_device or options.on_device
    bound = replace(bound, on_device=on_device)
    if on_device:
        check_device()
        args, kwargs = host_copies(args, kwargs)
        bound = replace(bind(traced, program, args, kwargs), on_device=True)
    workload = workload_of(specialization, bound)
    notify = observer or (lambda event: None)
    recorded = datasets.Call("recorded", args, kwargs)
    notify({"event": "phase", "phase": "running NumPy for its answer and its time"})
    recorder = StageRecorder(specialization, bound)
    reference = datasets.Reference(function, traced, program, recorder.given)
    expected, numpy_ns, is_cold = _measure_numpy(reference, recorded, is_warm)
    # What all speed-ups are relative to, those on the way as the one at the end.
    notify({"event": "numpy", "median_ns": numpy_ns, "is_cold": is_cold})
    moved = float(sum(a.nbytes for a in bound.arrays.values())), float(sum(e.nbytes for e in expected.results))
    record = StageRecord()
    if traced.stages:
        notify({"event": "phase", "phase": "running NumPy's stages for what they give"})
        try:
            record = recorder.record(reference, recorded)
        except (Error, ValueError, IndexError) as error:  # a check of the plan, say, which leaves the call to NumPy
            raise Error(f"{program.function}: {str(error).removeprefix(f'{program.function}: ')}") from None
        moved = bytes_of_kernels(program, bound, record, expected)
    needed = int(sum(moved)) + record.nbytes + sum(e.nbytes for e in expected.written.values())
    with datasets.data_folder(program.function, needed) as folder:
        notify({"event": "phase", "phase": "writing the data for the search"})
        sets = [datasets.write_data_set(folder, 0, program, call=recorded, bound=bound, expected=expected)]
        sets[0] |= record.write(folder, 0)
        tolerance = Tolerance(program, expected)
        if numpy_ns < _WIDEN_NS:
            tolerance.widen(reference, recorded, expected)
        for sizes in datasets.derived_calls(traced, program, recorded, options.seed):
            for derived in sizes:
                answer = reference.is_fit(derived)
                if answer is not None:
                    break
            if answer is None:
                logs.logger.info("%s: %s data left out: NumPy or a guard refuses them", program.function, derived.kind)
                continue
            derived_bound = bind(traced, program, derived.args, derived.kwargs)
            played: dict[str, Any] = {}
            if traced.stages:
                try:
                    played = recorder.record(reference, derived).write(folder, len(sets))
                except Exception as error:  # noqa: BLE001  (NumPy takes the call, and the plan leaves it to NumPy)
                    logs.logger.info("%s: %s data left out: %s", program.function, derived.kind, error)
                    continue
            sets.append(
                datasets.write_data_set(folder, len(sets), program, call=derived, bound=derived_bound, expected=answer)
                | played
            )
            tolerance.widen(reference, derived, answer)
        kept_s = reserved_s(options.budget_s, numpy_ns)
        job: dict[str, Any] = {
            "program": program.text,
            "function": program.function,
            "isa": workload.isa,
            "devices": list(options.devices),
            "layouts": dict(bound.layouts),
            "sizes": dict(bound.sizes),
            "contract": options.contract,
            "threads": options.threads,
            # What came before counts, so that the budget is the time one waits; a slow NumPy leaves half of it all the same.
            "budget_s": max(options.budget_s - (time.perf_counter() - started), options.budget_s / 2),
            "reserved_s": max(kept_s, _LEAST_RESERVED_S),
            "max_trials": options.max_trials,
            "seed": options.seed,
            "strategy": options.strategy,
            "db": "" if options.db is None else str(options.db),
            "workload_key": workload.key,
            "family_key": workload.family,
            "summary": describe_call(program, {k: a.shape for k, a in bound.arrays.items()}),
            "space": options.space,
            "starts": options.starts,
            "fixed_schedule": options.schedule,
            "present_schedule": None if (lead := specialization.lead_for(on_device)) is None else lead.build.schedule,
            "folder": str(folder.first),
            "worker": str(worker_path()),
            "blas": _loaded_blas(),
            "flops": flops_of(program, bound.sizes),
            **({"kernels_read_bytes": moved[0], "kernels_write_bytes": moved[1]} if traced.stages else {}),
            "datasets": sets,
            "tolerance": tolerance.as_job(),
        }
        if options.db is not None:
            with suppress(OSError):
                options.db.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        in_turns = datasets.Reference(compiled, traced, program, recorder.given)
        way = _WayToKernel(specialization, bound, in_turns, recorded, notify, stages_ns=record.took_ns)
        try:
            found = run_search(json.dumps(job), notify if on_device else way)
        except BaseException:
            way.go_back()
            raise
    kernel_ns = float(found["median_ns"])
    tuned_ns = kernel_ns + record.took_ns if kernel_ns else 0.0
    ratio = numpy_ns / tuned_ns if tuned_ns else 0.0
    result = TuneResult(
        function=program.function,
        summary=job["summary"],
        contract=options.contract,
        schedule=found["schedule"],
        figures=Figures(numpy_ns, tuned_ns, ratio, numpy_is_cold=is_cold, kernel_ns=kernel_ns),
        default_ns=float(found["default_ns"]),
        trials=int(found["trials"]),
        known=int(found["known"]),
        elapsed_s=float(found["elapsed_s"]),
        reason=found["reason"],
        bytes_moved=sum(moved),
        limit=found["limit"],
        workload=workload,
        stages=shares(traced.stages, None),
        raw=found,
    )
    is_used = result.complete and found["present"] != "not measured"
    if is_used:
        notify({"event": "phase", "phase": "compiling the best schedule for this process"})
        way.use(result.schedule)
        if traced.stages:
            _check_with_stages(in_turns, recorded, expected, tolerance, way)
        notify({"event": "phase", "phase": "NumPy and the best schedule take turns"})
        left_s = started + options.budget_s - time.perf_counter()
        limit_s = min(kept_s, 0.2 if "interrupted" in found else max(left_s, 0.5 * kept_s))
        try:
            before = specialization.stage_times()
            with suppress(Error), device() if on_device else nullcontext():
                result.figures, call_ns = take_turns(
                    reference, in_turns, recorded, limit_s=limit_s, known=result.figures, on_device=on_device
                )
                result.copied_ns = call_ns if on_device else None
            result.stages = shares(traced.stages, specialization.stage_times(), before)
        except KeyboardInterrupt:
            found["interrupted"] = True  # what was found stays found, with an estimate of what it gives
    else:
        way.go_back()  # what ran before the search stays: nothing was found, or it had no turn
    if result.complete:
        if on_device:
            result.device = device_name(options.devices)
        result.elapsed_s = time.perf_counter() - started
    if is_used and on_device:
        specialization.evidence_on_device = result.evidence()
    elif is_used:
        specialization.evidence = result.evidence()
    return result


def _check_with_stages(  # noqa: PLR0917
    compiled: datasets.Reference,
    call: datasets.Call,
    expected: datasets.Answer,
    tolerance: Tolerance,
    way: _WayToKernel,
) -> None:
    """InternalError where the best schedule gives another answer with the real stages than NumPy."""
    answer = compiled.answer(call)
    found = difference(
        Answer("answered", results=answer.results, after=answer.written),
        Answer("answered", results=expected.results, after=expected.written),
        Allowed(**tolerance.as_job(), any_zero=False),
    )
    if found is not None:
        way.go_back()
        raise InternalError(
            f"{compiled.program.function}: with its stages the best schedule gives another answer than NumPy: {found}.",
            "Please report it.",
        )


@dataclass
class _WayToKernel:
    """Passes events on; those with the time of a short kernel also say what a call of it from Python takes.

    The search times kernels; of a call of a microsecond most is the way to them (arguments, a result, the choice of a
    version), and NumPy's time has its own way in it. The way is the same for every schedule, so it is measured once.
    """

    specialization: Specialization
    bound: Bound
    compiled: datasets.Reference
    call: datasets.Call
    notify: Callable[[dict[str, Any]], None]
    stages_ns: float = 0.0  # of the stages of a call, which the search's times leave out
    way_ns: float | None = None

    def __post_init__(self) -> None:
        self.before = self.specialization.lead_for(self.bound.on_device)

    def __call__(self, event: dict[str, Any]) -> None:
        if event.get("event") == "new_best" and event["median_ns"] < _SHORT_NS:
            if self.way_ns is None:
                self.way_ns = 0.0
                with suppress(Error):  # it is only told; what fails here fails again where it matters
                    self.use(event["schedule"])
                    call_ns = statistics.median(_many_times(self.compiled, self.call))
                    self.way_ns = max(0.0, call_ns - event["median_ns"])
            event = {**event, "call_ns": event["median_ns"] + self.way_ns}
        elif event.get("event") == "new_best" and self.stages_ns:
            event = {**event, "call_ns": event["median_ns"] + self.stages_ns}
        self.notify(event)

    def use(self, schedule: str) -> None:
        """Make it the one that calls of the function run."""
        self.specialization.set_schedule(schedule, self.bound, file="the best schedule", label="tuned")
        self.specialization.changed()

    def go_back(self) -> None:
        """Calls run what they ran before the search."""
        if self.specialization.lead_for(self.bound.on_device) is not self.before:
            self.specialization.lead_with(self.before, self.bound.on_device)
            self.specialization.changed()


def run_search(job: str, notify: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The search in another thread, so that Ctrl-C and the clock are served while it is in C++.

    Ctrl-C, however often it comes, and exceptions of `notify` end the search; nothing leaves before its thread has.
    """
    native = compiler()
    box: dict[str, Any] = {}
    # Not Thread.join(): in Python 3.11 a KeyboardInterrupt inside of it marks a running thread as ended.
    ended = threading.Event()

    def work() -> None:
        try:
            with forks.searching(native.cancel):
                box["result"] = native.tune(job, notify)
        except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
            box["error"] = error
        finally:
            ended.set()

    thread = threading.Thread(target=work, name="tilewright-search", daemon=True)
    failure: BaseException | None = None
    with _noting_ctrl_c() as ctrl_c:
        thread.start()
        while not ended.is_set():
            try:
                ended.wait(0.2)
                if ctrl_c.came or failure is not None:
                    native.cancel()  # again and again: at first there may be no search yet
                else:
                    notify({"event": "tick"})
            except KeyboardInterrupt:
                ctrl_c.came = True
            except BaseException as error:  # noqa: BLE001  (raised below, when the thread has ended)
                failure = error
    if failure is not None:
        raise failure
    if "error" in box:
        if ctrl_c.came:  # before there was anything to keep
            raise KeyboardInterrupt from None
        raise box["error"]
    result: dict[str, Any] = box["result"]
    if ctrl_c.came:
        result["interrupted"] = True
    return result


@contextmanager
def _noting_ctrl_c() -> Iterator[SimpleNamespace]:
    """Notes Ctrl-C instead of raising KeyboardInterrupt between any two lines. Where another thread than the main one
    searches, or somebody else handles the signal, KeyboardInterrupt may come all the same."""
    ctrl_c = SimpleNamespace(came=False)
    is_main = threading.current_thread() is threading.main_thread()
    takes_it = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if takes_it:
        signal.signal(signal.SIGINT, lambda *_: setattr(ctrl_c, "came", True))
    try:
        yield ctrl_c
    finally:
        if takes_it:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _loaded_blas() -> str:
    """The path of the BLAS that NumPy has loaded in this process; empty where it has loaded no BLAS."""
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            path = line.split(maxsplit=5)[-1]
            if "blas" in Path(path).name and ".so" in path:
                return path
    return ""


def _measure_numpy(
    reference: datasets.Reference, call: datasets.Call, is_warm: bool
) -> tuple[datasets.Answer, float, bool]:
    """NumPy's answer, the median of its warm calls, and whether it is that of a cold one: all that was affordable.

    A first call pays for page faults, loaded libraries and threads that start: three times a warm one has been seen.
    """
    start = time.perf_counter()
    # A function that returns its argument, or a view of it: the file gets its own bytes anyway.
    expected = reference.answer(call)
    times: list[float] = [expected.ns] if is_warm else []
    while len(times) < _BASELINE_RUNS and time.perf_counter() - start < _BASELINE_S:
        times.append(reference.answer(call).ns)
    if not times:
        return expected, expected.ns, True
    if min(times) < 1e6:  # a fast call: a few runs say little
        times = _many_times(reference, call)
    return expected, statistics.median(times), False


def _many_times(reference: datasets.Reference, call: datasets.Call) -> list[float]:
    """Of one call each. Calls that write into their arguments are timed one by one, since these are put back between."""
    times: list[float] = []
    turns = Turns(reference, call)
    start = time.perf_counter()
    repeats = 1
    with np.errstate(all="ignore"):
        while len(times) < 1000 and time.perf_counter() - start < 0.2:
            took_ns = turns.run(reference.function, repeats, warm=False)
            if took_ns * repeats < _LEAST_SAMPLE_NS / 2 and repeats < 1000 and not turns.writes:
                repeats *= 2
                times.clear()
            else:
                times.append(took_ns)
    return times
