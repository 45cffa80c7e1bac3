"""A process that runs what may be wrong: the oracle, the passes, the compiler, compiled code. A crash there costs that
process alone, and so does what never ends."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from .answers import Answer
from .case import Case

_PACKAGES = Path(__file__).parents[2]
_PYTHON_NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True)
class Asked:
    """What the child does for a case: `oracle` runs the program with NumPy, `compiled` builds it and runs the code; `passes`
    are those that it goes through, `list` is all that there are, `schedule` the text that it has, and `texts` what it
    becomes on its way to code."""

    what: str
    case: Case
    passes: str = ""  # the value of TILEWRIGHT_PASSES for it
    lines: int | None = None  # of the schedule, from its first one; the other stages are computed whole


@dataclass(frozen=True)
class PassRun:
    """A pass that ran: `program` is the text behind it, "" where it changes nothing; `off` is what leaves it out."""

    name: str
    meaning: str
    program: str
    off: str


class Child:
    """One process at a time, made anew when it died. A context manager: it is gone afterwards."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  (closed by __exit__)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()
        self._messages.close()

    def ask(self, asked: Asked) -> Any:
        """An Answer; of passes, schedules and texts what they are, and an Answer where there is none."""
        if self._process is None:
            self._start()
        assert self._process is not None and self._pipe is not None
        self._messages.seek(0)
        self._messages.truncate()
        doing = "starting"
        ends = time.monotonic() + self.limit_s
        try:
            self._pipe.send(asked)
            while self._pipe.poll(max(0.0, ends - time.monotonic())):
                kind, content = self._pipe.recv()
                if kind == "done":
                    return content
                doing = content
        except (EOFError, OSError, pickle.UnpicklingError):
            status = self._process.wait()
            self._end()
            return Answer("crashed", f"{doing} ends the process: {self._why(status)}")
        self._end()
        return Answer("too long", f"{doing} takes longer than {self.limit_s:g} s")

    def _start(self) -> None:
        paths = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "PYTHONPATH": f"{_PACKAGES}{os.pathsep}{paths}" if paths else str(_PACKAGES),
            "PYTHONWARNINGS": "ignore",
        }
        environment.pop("TILEWRIGHT_LOGS", None)
        self._pipe, theirs = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; serve({theirs.fileno()})"],
            stdin=subprocess.DEVNULL, stdout=self._messages, stderr=self._messages, env=environment,
            pass_fds=[theirs.fileno()],
        )  # fmt: skip
        theirs.close()

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        if self._pipe is not None:
            self._pipe.close()

    def _why(self, status: int) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        said = f", with the last words: {lines[-1]}" if lines else ""
        if status >= 0:
            return f"exit code {status}{said}"
        with suppress(ValueError):
            return f"{signal.Signals(-status).name}{said}"
        return f"signal {-status}{said}"


# ---- in the child -----------------------------------------------------------------------------------------------------


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


def run_here(asked: Asked, doing: Callable[[str], None] = lambda text: None) -> Any:
    """The same in this process. `doing` is told what is done next."""
    try:
        return _ANSWERS[asked.what](asked, doing)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is what happened)
        return Answer("raised", f"raises {type(error).__name__}: {error}")


def _oracle(asked: Asked, doing: Callable[[str], None]) -> Answer:
    import numpy as np  # noqa: PLC0415

    from .arguments import load_arguments  # noqa: PLC0415
    from .oracle import CheckFailed, GuardFailed, ProgramError, UnknownOperation, evaluate  # noqa: PLC0415

    case = asked.case
    doing("running the program with NumPy")
    values = load_arguments(case.arguments, case.program)
    try:
        with np.errstate(all="ignore"):
            result = evaluate(case.request.program, values)
    except (GuardFailed, CheckFailed) as error:
        return Answer("refused", str(error))
    except UnknownOperation as error:
        return Answer("unknown", f"the oracle cannot run it: {error}")
    except ProgramError as error:
        return Answer("raised", f"is no valid program: {error}")
    return _answered(case, result, values)


def _compiled(asked: Asked, doing: Callable[[str], None]) -> Answer:
    from contextlib import nullcontext  # noqa: PLC0415

    from .. import _face  # noqa: PLC0415
    from ..devices import device  # noqa: PLC0415
    from ..dispatch import program_function  # noqa: PLC0415
    from ..errors import ScheduleError  # noqa: PLC0415
    from ..plan import Version  # noqa: PLC0415
    from .arguments import load_arguments  # noqa: PLC0415

    case = asked.case
    doing("compiling it")
    try:
        made = _built(case if asked.lines is None else _shortened(case, asked.lines))
    except ScheduleError as error:
        return Answer("unknown", f"no schedule: {error}")
    version = Version("debug", "v0", made, dict(case.request.layouts), (), made.schedule)
    function = program_function(case.program, [version], None)
    values = load_arguments(case.arguments, case.program)
    doing("the compiled code")
    try:
        with device() if made.on_device else nullcontext():
            result = function(values, None)
    except (_face.CheckError, _face.WrittenError, _face.TooLargeError) as error:
        return Answer("refused", str(error))
    return _answered(case, result, values)


def _built(case: Case) -> Any:
    """As Specialization builds it: where the default schedule does not serve the call, with guarded tails."""
    from ..builder import build  # noqa: PLC0415
    from ..program import holds  # noqa: PLC0415

    made = build(case.request)
    if case.request.schedule is None and not all(holds(c, case.request.sizes) for c in made.requires):
        made = build(replace(case.request, guard_tails=True))
    return made


def _shortened(case: Case, count: int) -> Case:
    """The case under the first lines of its schedule."""
    from ..builder import default_schedule, with_schedule  # noqa: PLC0415
    from ..native import compiler  # noqa: PLC0415
    from .schedules import header_of, lines_of, of_lines, variants_of  # noqa: PLC0415

    schedule = default_schedule(case.request)
    lines = lines_of(schedule)[:count]
    options = {**case.request.options(), "variant": variants_of("\n".join(lines))}
    stages = compiler().describe(case.request.program, options)["stages"]
    return replace(case, request=with_schedule(case.request, of_lines(header_of(schedule), lines, stages)))


def _answered(case: Case, result: Any, values: dict[str, Any]) -> Answer:
    import numpy as np  # noqa: PLC0415

    from .answers import changed  # noqa: PLC0415

    results = () if result is None else result if isinstance(result, tuple) else (result,)
    dtypes = [case.program.type_of(name)[0] for name in case.program.results]
    given = [np.asarray(r, t if type(r) in _PYTHON_NUMBERS else None) for r, t in zip(results, dtypes, strict=True)]
    after = changed(case.before(), values, [array.name for array in case.program.arrays])
    return Answer("answered", "", tuple(given), after)


def _passes(asked: Asked, doing: Callable[[str], None]) -> list[PassRun]:
    from ..native import compiler  # noqa: PLC0415
    from .schedules import variants_of  # noqa: PLC0415

    doing("the passes")
    request = asked.case.request
    options = request.options()
    if request.schedule is not None:
        options["variant"] = variants_of(request.schedule)
    ran = compiler().passes(request.program, options)
    return _pass_runs(ran)


def _list(_asked: Asked, _doing: Callable[[str], None]) -> list[PassRun]:
    from ..native import compiler  # noqa: PLC0415

    return _pass_runs(compiler().pass_list())


def _pass_runs(ran: list[dict[str, Any]]) -> list[PassRun]:
    return [PassRun(p["name"], p["meaning"], p.get("program", ""), "" if p["needed"] else f"-{p['name']}") for p in ran]


def _schedule(asked: Asked, _doing: Callable[[str], None]) -> str:
    from ..builder import default_schedule  # noqa: PLC0415

    return default_schedule(asked.case.request)


def _texts(asked: Asked, doing: Callable[[str], None]) -> dict[str, str]:
    import json  # noqa: PLC0415

    from ..builder import default_schedule  # noqa: PLC0415
    from ..native import compiler  # noqa: PLC0415
    from .schedules import variants_of  # noqa: PLC0415

    native, request = compiler(), asked.case.request
    doing("compiling it")
    schedule = default_schedule(request)
    options = {**request.options(), "variant": variants_of(schedule)}
    made = native.build(request.program, options, schedule, request.isa, request.guard_tails, assembly=True)
    return {
        "stages.json": json.dumps(native.describe(request.program, options), indent=1) + "\n",
        "schedule.txt": schedule,
        "plan.txt": made["plan_header"] + made["plan_body"],
        "lowered.txt": "".join(f"{kernel['name']}\n{kernel['lowered']}\n" for kernel in made["kernels"]),
        "assembly.s": "".join(kernel["assembly"] for kernel in made["kernels"]),
    }


_ANSWERS = {
    "oracle": _oracle, "compiled": _compiled, "passes": _passes, "list": _list, "schedule": _schedule, "texts": _texts,
}  # fmt: skip
