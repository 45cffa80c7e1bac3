"""Record a script, choose what to tune and trace it: what `autotune`, `autotune show` and `autotune debug` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Literal

import numpy as np

from ..binding import Bound, bind
from ..decorator import JitFunction
from ..errors import Error, TraceError
from ..failed_traces import raised_while_tracing
from ..followed_ahead import Ahead
from ..machine import is_cuda_isa, targets_of
from ..native import compiler
from ..own_frames import names_a_part
from ..record.capture import Candidate, RecordedCall, Recorder, copy_arguments
from ..record.choose import Choice, NothingToTune, calls_in_children, choose
from ..record.run_script import run_script
from ..record.times import time_lines
from ..script import Script
from ..specialization import Specialization
from .parse import UsageError


@dataclass
class Request:
    """What the user asked about choosing."""

    function: str | None = None
    workload: str = "time"
    strict: bool = False
    contract: str = "numpy"
    run_all: bool = False
    target: str = "host"
    covers: bool = False  # functions that take most of the time together, not the one that takes most
    is_for_run: bool = False  # what is found is to serve `autotune run`
    ahead_s: float = 0.0  # how long what that needs of other calls may be compiled once the script has ended
    wanted: tuple[str, ...] = ()  # functions that are chosen however short they are


@dataclass
class Prepared:
    """A call ready to be tuned or shown."""

    choice: Choice
    function: JitFunction
    specialization: Specialization

    @property
    def call(self) -> RecordedCall:
        return self.choice.call


@dataclass
class Recorded:
    """What a run of a script gave: calls to tune, and what is said of everything else."""

    prepared: list[Prepared]
    refusals: list[str]
    times: list[str] = field(default_factory=list)  # where the time went, a table
    script_ns: int = 0

    def share_of(self, prepared: list[Prepared]) -> float:
        """Of the script's time, what functions took; those that are called by others of them are in those' time."""
        chosen = {id(one.choice.candidate.function): one.choice.candidate for one in prepared}
        outermost = [c for c in chosen.values() if not c.called_by or not c.called_by <= chosen.keys()]
        return min(1.0, sum(c.total_ns for c in outermost) / max(self.script_ns, 1))


def prepare(
    script: Script,
    request: Request,
    why_no_module: Callable[[JitFunction, Specialization], str] = lambda f, s: "",
    tell: Callable[[str], None] = lambda text: None,
) -> Recorded:
    """Run the script and make specializations of the calls chosen. Raises NothingToTune, ScriptRaised, ScriptStopped."""
    recorder = Recorder(
        only=request.function,
        first_only=request.workload == "first" and bool(request.function),
        run_all=request.run_all,
        covers=request.covers or names_a_part(request.function or ""),
        takes_regions=request.is_for_run,
    )
    main = _recorded(script, recorder, request, tell)
    return chosen(recorder, script.name, request, main, why_no_module=why_no_module)


def _recorded(script: Script, recorder: Recorder, request: Request, tell: Callable[[str], None]) -> ModuleType:
    if not request.ahead_s:
        return run_script(script, recorder)
    ahead = Ahead(recorder)
    try:
        main = run_script(script, recorder)
    finally:
        ahead.end()
    ahead.wait(request.ahead_s, tell)
    return main


def chosen(
    recorder: Recorder,
    name: str,
    request: Request,
    main: ModuleType,
    *,
    why_no_module: Callable[[JitFunction, Specialization], str] = lambda f, s: "",
    what: str = "script",
) -> Recorded:
    """Specializations of calls that were recorded. `name`: of what was run, which is a `what`, as the module `main`. Raises
    NothingToTune."""
    jitted: dict[int, JitFunction] = {}

    def try_trace(candidate: Candidate, call: RecordedCall, is_first: bool) -> Any:
        function = _jit_of(candidate, jitted, request)
        try:
            with nullcontext() if is_first else function.refusing_nothing():
                return _specialize(function, call)
        except Error as error:
            if request.strict and is_first:
                raise
            return str(error)

    try:
        choices, refusals = choose(
            recorder,
            name,
            request.function,
            request.workload,
            try_trace,
            why_no_module=lambda candidate, specialization: why_no_module(
                jitted[id(candidate.function)], specialization
            ),
            covers=request.covers,
            wanted=request.wanted,
            what=what,
        )
    except NothingToTune as nothing:
        nothing.times = time_lines(recorder, what)
        raise
    prepared = [Prepared(c, jitted[id(c.candidate.function)], c.traced) for c in choices]
    # The script's module must outlive the trace: hidden arguments are read from it.
    for one in prepared:
        one.function.__dict__["_script_module"] = main
    if left_alone := calls_in_children(recorder):
        refusals.append(f"{name}: {left_alone}")
    return Recorded(prepared, refusals, time_lines(recorder, what), recorder.script_ns)


def also_specialize(prepared: Prepared, signatures: list[str]) -> None:
    """`--also float64,float64`: the same function for other dtypes, made from the recorded call."""
    for text in signatures:
        dtypes = [word.strip() for word in text.split(",") if word.strip()]
        args, kwargs = prepared.call.args, dict(prepared.call.kwargs)
        places: list[tuple[Any, Any]] = [(i, a) for i, a in enumerate(args) if isinstance(a, np.ndarray)]
        places += [(k, v) for k, v in kwargs.items() if isinstance(v, np.ndarray)]
        if len(dtypes) != len(places):
            raise UsageError(
                f"--also {text}: {len(dtypes)} dtypes, but {prepared.function.__name__} takes {len(places)} arrays."
            )
        changed = list(args)
        for (place, array), name in zip(places, dtypes, strict=True):
            try:
                dtype = np.dtype(name)
            except TypeError:
                raise UsageError(f"--also {text}: NumPy knows no dtype {name!r}.") from None
            # Few elements do: only dtypes and ranks enter the trace, and sizes serve as hints.
            smaller = array[tuple(slice(0, 4096) for _ in array.shape)].astype(dtype)
            if isinstance(place, int):
                changed[place] = smaller
            else:
                kwargs[place] = smaller
        known = len(prepared.function.specializations)
        specialization, _bound = prepared.function.specialize(tuple(changed), kwargs)
        if len(prepared.function.specializations) > known:
            specialization.example = _bound.without_data()


def bound_of(one: Prepared) -> Bound:
    """The recorded call, as its program sees it."""
    specialization = one.specialization
    assert specialization.example is not None
    bound = bind(specialization.traced, specialization.program, one.call.args, one.call.kwargs)
    return replace(bound, on_device=specialization.example.on_device)


def placed_calls(script: Script, request: Request) -> Iterator[tuple[Prepared, str]]:
    """The calls chosen, and each ISA level that they are compiled for, of the host and of a device. Why others are not
    among them is printed."""
    recorded = prepare(script, request)
    for refusal in recorded.refusals:
        print(refusal, file=sys.stderr)
    targeted = targets_of(request.target)
    for one in recorded.prepared:
        for isa in filter(None, (targeted.host, targeted.device)):
            _place(one, is_cuda_isa(isa))
            yield one, isa


def _place(one: Prepared, on_device: bool) -> None:
    """What the specialization says is about calls on this side from here on."""
    specialization = one.specialization
    if specialization.example is not None and specialization.example.on_device != on_device:
        specialization.example = replace(specialization.example, on_device=on_device)
        specialization.evidence = None  # of the other place


def _specialize(function: JitFunction, call: RecordedCall) -> Specialization:
    try:
        specialization, bound = _specialized(function, call)
    except Error:
        raise
    except Exception as error:  # a defect of the trace, or what the function raises for these arguments
        raise raised_while_tracing(error, function.__wrapped__) from error
    # What traces may still have no translation: known before anything is promised.
    request = specialization.request(bound)
    compiler().describe(request.program, request.options())
    specialization.add_partials(bound)
    return specialization


def _specialized(function: JitFunction, call: RecordedCall) -> tuple[Specialization, Bound]:
    while True:
        try:
            return function.specialize(call.args, call.kwargs)
        except TraceError as error:
            # The script has called what it calls, and nobody looked.
            if not error.not_seen or not function.shows_more(*copy_arguments(call.args, call.kwargs)):
                raise


def _jit_of(candidate: Candidate, jitted: dict[int, JitFunction], request: Request) -> JitFunction:
    key = id(candidate.function)
    if key not in jitted:
        contract = getattr(candidate.jitted, "contract", None) or request.contract
        if request.contract != "numpy":
            contract = request.contract
        strict: bool | Literal["kernels"] = request.strict
        if getattr(candidate.jitted, "strict", False) == "kernels":
            strict = "kernels"
        made = JitFunction(candidate.function, target=request.target, strict=strict, contract=contract)
        if "<" in candidate.function.__qualname__ and candidate.name.isidentifier():
            # `step = traced(step)` without functools.wraps: the script calls it step, and so does a module.
            made.__name__ = candidate.name
        made.takes_effects = False  # no module has them
        jitted[key] = made
    return jitted[key]
