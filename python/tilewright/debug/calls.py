"""A call of a jitted function as a case: its program, its arguments in a file, and NumPy's answer."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .. import _face, datasets
from ..binding import Bound, bind
from ..builder import BuildRequest
from ..devices import device, host_copies, places_among
from ..draws import drawing
from ..effects import names_of_effects
from ..errors import DeviceError, Error
from ..failed_traces import raised_while_tracing
from ..given_by_plans import as_array, given_by_plan
from ..jitted import Jitted
from ..machine import is_cuda_isa
from ..partials import is_beyond_limit
from ..record.capture import copy_arguments
from ..specialization import Specialization
from ..tolerance import Tolerance
from ..work_folders import work_folder
from ..workload import describe_call
from .answers import Allowed, Answer, Array, changed, difference
from .bisection import Bisection
from .case import ARGUMENTS, Case, save_arguments, stages_of
from .child import Child
from .dump import check_folder, write_dump
from .report import Report, Step

_DEFAULT = "the default schedule"
_SCHEDULES = {"tuned": "the tuned schedule", "by hand": "the schedule by hand"}
_EXTREMES = {"maximum", "minimum", "fmax", "fmin", "max", "min"}
_WIDEN_NS = 1e9  # calls of NumPy longer than this are not repeated to learn how far an answer may be


@dataclass(frozen=True)
class InUse:
    """A schedule that calls run, or would: `label` is tuned or by hand."""

    label: str
    text: str


class Debugged(Jitted, Protocol):
    """The jitted function whose call is looked at."""

    def specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Specialization, Bound]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def debug_call(
    function: Debugged,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    limit_s: float,
    dump: Path | None = None,
    on_device: bool = False,
    in_use: InUse | None = None,
) -> Report:
    """Find out where such a call goes wrong: trace, pass, schedule, code generation, or the call itself.

    limit_s: for each step, which runs in another process. dump: a folder that is written, new or empty. in_use: a schedule
    in the place of the one that such calls run.
    Raises Error for calls that are not compiled, DeviceError without a device, and what tracing raises where NumPy raises too.
    """
    check_folder(dump)
    is_placed = places_among((*args, *kwargs.values()))
    try:
        specialization, bound = function.specialize(args, kwargs)
    except Error:
        raise
    except Exception as error:
        if datasets.raised_in_numpy(function.__wrapped__, args, kwargs) is not None:
            raise
        text = str(raised_while_tracing(error, function.__wrapped__))
        step = Step("trace", "differs", text)
        return Report(function.__name__, "trace", "the tracer raises an error.", [step])
    program = specialization.program
    if bound.on_device or on_device:
        check_device_is_here(function.__name__)
    if is_placed:
        args, kwargs = host_copies(args, kwargs)
    call = _Call(function, specialization, args, kwargs, in_use)
    bound = replace(call.bound, on_device=bound.on_device or on_device)
    if is_beyond_limit(program, bound):
        raise Error(
            f"{describe_call(program, call.shapes)}: an array has more than 2**31 - 2**27 elements, or reaches further, so "
            "the call runs in parts, which cannot be debugged.",
            "Debug a call with fewer rows.",
        )
    prefix = f"tilewright-debug-{os.getuid()}-"
    with work_folder(prefix, Path(tempfile.gettempdir())) as folder, Child(limit_s) as child:
        case = call.case(folder, bound)
        bisection = Bisection(case, child)
        report = bisection.run()
        if not report.place:
            call.judge_itself(case, report, is_placed)
        if dump is not None:
            write_dump(dump, case, bisection, child)
    return report


def check_device_is_here(what: str) -> None:
    """DeviceError where there is no CUDA device. what: whose code would run there."""
    if why := _face.no_device_reason():
        raise DeviceError(f"{what}: {why}", "Code for a device is run to be judged: do it where there is one.")


@dataclass
class _Call:
    """The arguments are never changed: every run has copies."""

    function: Debugged
    specialization: Specialization
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    in_use: InUse | None

    def __post_init__(self) -> None:
        self.traced, self.program = self.specialization.traced, self.specialization.program
        if any(argument.path[0] == ("default_rng", None) for argument in self.traced.arguments):
            raise Error(
                f"{self.program.function}: default_rng() takes another seed at each call, so no answer can be compared "
                "with NumPy's.",
                "Give it a seed (default_rng(0)), or pass the generator in.",
            )
        if self.traced.draws_are_stages:
            raise Error(
                f"{self.program.function}: Python draws its random numbers between kernels, from generators that no other "
                "process has, and what may be wrong runs in one.",
                "Pass what it draws in.",
            )
        if self.traced.has_effects:
            raise Error(
                f"{self.program.function}: it calls {names_of_effects(self.traced.stages)}, not known to be pure, and the call "
                "would be made many times.",
                "Declare a pure function so with @tilewright.stage, or leave the call out.",
            )
        self.bound = bind(self.traced, self.program, self.args, self.kwargs)
        self.shapes = {name: array.shape for name, array in self.bound.arrays.items()}

    def case(self, folder: Path, bound: Bound) -> Case:
        """NumPy runs the call."""
        copies = copy_arguments(self.args, self.kwargs)
        with drawing(self.traced, bind(self.traced, self.program, *copies)) as values:
            save_arguments(folder / ARGUMENTS, self.program, values)
        begun = time.perf_counter_ns()
        expected = self._run(self.function.__wrapped__)
        took_ns = time.perf_counter_ns() - begun
        self._refuse_shared(expected)
        request, in_use = self._request(bound)
        return Case(
            f"{describe_call(self.program, self.shapes)}; contract {request.contract}, for {request.isa}",
            request,
            folder / ARGUMENTS,
            expected,
            self._allowed(expected, took_ns),
            in_use,
            stages_of(self.program.function, self.traced.stages),
        )

    def _refuse_shared(self, expected: Answer) -> None:
        """Every step has the arrays apart: the order of writes that the call shows would be gone."""
        arrays = self.bound.arrays
        for written in expected.after:
            for name, array in arrays.items():
                if name != written and np.may_share_memory(arrays[written], array):
                    raise Error(
                        f"{describe_call(self.program, self.shapes)}: it writes into {written}, which shares memory with "
                        f"{name}; NumPy runs such calls, so there is no code to debug.",
                        "Debug a call with arrays of their own memory.",
                    )

    def _request(self, bound: Bound) -> tuple[BuildRequest, str]:
        """How the code is built that such a call runs, and what its schedule is called."""
        request = self.specialization.request(bound)
        if self.in_use is not None:
            return replace(request, schedule=self.in_use.text), _SCHEDULES[self.in_use.label]
        version = next((v for v in self.specialization.versions if v.fits(bound)), None)
        if version is None:
            return request, _DEFAULT
        guards = version.label.endswith("any size")
        request = replace(request, layouts=version.layouts, schedule=version.build.schedule, guard_tails=guards)
        return request, _SCHEDULES.get(version.label, _DEFAULT)

    def judge_itself(self, case: Case, report: Report, is_placed: bool) -> None:
        """The way from the call to its code, in this process: what was compiled is right by then."""
        if is_placed:
            report.steps.append(Step("call", "not judged", "its arrays lie on a device"))
            return
        if self.in_use is not None:
            self.specialization.set_schedule(self.in_use.text, self.bound, label=self.in_use.label)
            self.specialization.changed()
        with device() if is_cuda_isa(case.request.isa) else nullcontext():
            answer = self._run(self.function)
        found = difference(answer, case.expected, case.tolerance, case.before())
        report.steps.append(Step("call", "differs" if found else "as NumPy", found or ""))
        if found:
            report.place = "call"
            report.found = "the code is right, and the call does not get to it, or not with these arguments."

    def _run(self, function: Callable[..., Any]) -> Answer:
        """Of the function in this process, on copies."""
        args, kwargs = copy_arguments(self.args, self.kwargs)
        given = self._arrays(args, kwargs)
        before = {name: array.copy() for name, array in given.items()}
        bound = bind(self.traced, self.program, args, kwargs)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(*args, **kwargs)
            after = changed(before, given, list(given))  # attributes may lead to other arrays now
            return Answer("answered", "", self._results(result, bound), after)
        except Exception as error:  # noqa: BLE001  (what the function raises, the call raises)
            return Answer("raised", f"raises {type(error).__name__}: {error}")

    def _arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Array]:
        """By their names in the program, without the states of random generators."""
        states = {argument.name for argument in self.traced.arguments if argument.path[-1][0] == "pcg64"}
        values = self.traced.inputs(args, kwargs)
        return {array.name: np.asarray(values[array.name]) for array in self.program.arrays if array.name not in states}

    def _results(self, result: Any, bound: Bound) -> tuple[Array, ...]:
        """What the function returned for that call, as the program lists it."""
        given = given_by_plan(self.traced, self.program, result, bound)
        numbers = zip(self.program.results, self.program.result_numbers, strict=True)
        dtypes = [self.program.type_of(name)[0] if number and number != "held" else None for name, number in numbers]
        return tuple(np.array(as_array(value, dtype)) for value, dtype in zip(given, dtypes, strict=True))

    def _allowed(self, expected: Answer, took_ns: int) -> Allowed:
        if expected.kind != "answered":
            return Allowed()
        answer = datasets.Answer(expected.results, dict(expected.after), took_ns)
        tolerance = Tolerance(self.program, answer)
        if took_ns < _WIDEN_NS:
            reference = datasets.Reference(self.function.__wrapped__, self.traced, self.program)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tolerance.widen(reference, datasets.Call("recorded", self.args, self.kwargs), answer)
        extremes = {value.operation for value in self.program.values} & _EXTREMES
        allowed = Allowed(**tolerance.as_job(), any_zero=bool(extremes))
        floats = [array.dtype for array in answer.arrays if array.dtype.kind in "fc"]
        if self.specialization.contract == "fast" and floats:
            rtol = 64 * max(float(np.finfo(dtype).eps) for dtype in floats)
            allowed = replace(allowed, rtol=max(allowed.rtol, rtol), atol=max(allowed.atol, rtol))
        return allowed
