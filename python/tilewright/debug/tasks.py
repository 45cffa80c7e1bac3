"""What the child process does for a case (child.py). Each task is told the case and what to report before what may crash."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from .. import _face
from ..builder import build, default_schedule
from ..devices import device
from ..dispatch import program_function
from ..errors import ScheduleError
from ..given_by_plans import as_array
from ..native import compiler
from ..plan import Build, Version
from ..program import ProgramError, holds
from ..symbolic.stages import functions_of
from .answers import Answer, changed
from .case import Asked, Case, PassRun, load_arguments
from .oracle import CheckFailed, GuardFailed, UnknownOperation, evaluate
from .schedules import header_of, lines_of, of_lines, variants_of

_PYTHON_NUMBERS = (bool, int, float, complex)
Doing = Callable[[str], None]


def serve(descriptor: int) -> None:
    """Answer what comes through the pipe until it is closed."""
    pipe: Connection[Any, Any] = Connection(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    given = os.environ.get("TILEWRIGHT_PASSES", "")
    while True:
        try:
            asked: Asked = pipe.recv()
        except EOFError:
            return
        os.environ["TILEWRIGHT_PASSES"] = ",".join(text for text in (given, asked.passes) if text)
        pipe.send(("done", run_here(asked, lambda doing: pipe.send(("doing", doing)))))


def run_here(asked: Asked, doing: Doing = lambda text: None) -> Any:
    """The answer to what is asked, in this process. `doing` is told what is done next."""
    try:
        return TASKS[asked.what](asked, doing)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is what happened)
        return Answer("raised", f"raises {type(error).__name__}: {error}")


def _oracle(asked: Asked, doing: Doing) -> Answer:
    case = asked.case
    doing("running the program with NumPy")
    values = load_arguments(case.arguments, case.program)
    try:
        with np.errstate(all="ignore"):
            result = evaluate(case.request.program, values, functions_of(case.stages_here()))
    except (GuardFailed, CheckFailed) as error:
        return Answer("refused", str(error))
    except UnknownOperation as error:
        return Answer("unknown", f"the oracle cannot run it: {error}")
    except ProgramError as error:
        return Answer("raised", f"is not a valid program: {error}")
    return _answered(case, result, values)


def _compiled(asked: Asked, doing: Doing) -> Answer:
    case = asked.case
    doing("compiling it")
    try:
        made = _built(case if asked.lines is None else _shortened(case, asked.lines))
    except ScheduleError as error:
        return Answer("raised" if asked.lines is None else "unknown", f"no schedule: {error}")
    version = Version("debug", "v0", made, dict(case.request.layouts))
    function = program_function(case.program, [version], None, functions_of(case.stages_here()))
    values = load_arguments(case.arguments, case.program)
    doing("the compiled code")
    try:
        with device() if made.on_device else nullcontext():
            result = function(values, None)
    except (_face.CheckError, _face.WrittenError, _face.TooLargeError) as error:
        return Answer("refused", str(error))
    return _answered(case, result, values)


def _built(case: Case) -> Build:
    """As Specialization builds it: where the default schedule does not serve the call, with guarded tails."""
    made = build(case.request)
    if case.request.schedule is None and not all(holds(c, case.request.sizes) for c in made.requires):
        made = build(replace(case.request, guard_tails=True))
    return made


def _shortened(case: Case, count: int) -> Case:
    """The case under the first directives of its schedule."""
    schedule = default_schedule(case.request)
    lines = lines_of(schedule)[:count]
    options = {**case.request.options(), "variant": variants_of("\n".join(lines))}
    stages = compiler().describe(case.request.program, options)["stages"]
    shorter = of_lines(header_of(schedule), lines, stages)
    return replace(case, request=replace(case.request, schedule=shorter))


def _answered(case: Case, result: Any, values: dict[str, Any]) -> Answer:
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    dtypes = [case.program.type_of(name)[0] for name in case.program.results]
    given = [as_array(r, t if type(r) in _PYTHON_NUMBERS else None) for r, t in zip(results, dtypes, strict=True)]
    after = changed(case.before(), values, [array.name for array in case.program.arrays])
    return Answer("answered", "", tuple(given), after)


def _passes(asked: Asked, doing: Doing) -> list[PassRun]:
    doing("going through the passes")
    request = asked.case.request
    options = request.options()
    if request.schedule is not None:
        options["variant"] = variants_of(request.schedule)
    ran = compiler().passes(request.program, options)
    return _pass_runs(ran)


def _list(_asked: Asked, doing: Doing) -> list[PassRun]:
    doing("listing the passes")
    return _pass_runs(compiler().pass_list())


def _pass_runs(ran: list[dict[str, Any]]) -> list[PassRun]:
    return [PassRun(p["name"], p["meaning"], p.get("program", ""), "" if p["needed"] else f"-{p['name']}") for p in ran]


def _schedule(asked: Asked, doing: Doing) -> str:
    doing("making the default schedule")
    return default_schedule(asked.case.request)


def _texts(asked: Asked, doing: Doing) -> dict[str, str]:
    native, request = compiler(), asked.case.request
    doing("compiling it")
    schedule = default_schedule(request)
    options = {**request.options(), "variant": variants_of(schedule)}
    made = native.build(request.program, options, schedule, request.isa, request.guard_tails, assembly=True)
    return {
        "stages.json": json.dumps(native.describe(request.program, options), indent=1) + "\n",
        "schedule.txt": schedule,
        "plan.txt": made["plan"],
        "lowered.txt": "".join(f"{kernel['name']}\n{kernel['lowered']}\n" for kernel in made["kernels"]),
        "assembly.s": "".join(kernel["assembly"] for kernel in made["kernels"]),
    }


TASKS = {
    "oracle": _oracle, "compiled": _compiled, "passes": _passes, "list": _list, "schedule": _schedule, "texts": _texts,
}  # fmt: skip
