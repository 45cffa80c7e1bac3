"""`%load_ext tilewright`: `%%autotune` runs a cell, tunes its hot functions, and has the tuned ones stand for them from then on; `%autotune`
tells what was gained."""

from __future__ import annotations

import argparse
import ast
import builtins
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .. import checks, recording, settings
from ..enabled import disable, report, the_session
from ..errors import Error
from ..interpret.source import DEFINITIONS, inside
from ..quantities import parse_duration_s
from ..record.capture import Recorder
from ..record.choose import WORKLOADS, NothingToTune
from ..record.hooks import hook_cell
from ..session import Session
from ..tuning import TuneOptions, TuneResult
from .parse import UsageError, usage_errors
from .progress import Progress
from .searches import budget_of_next, search, was_stopped
from .session import Prepared, Recorded, Request, chosen

_BOUND = "__tilewright_recorded_bound__"  # among the builtins
_NAME = "autotune"
_CELL = "the cell"


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tilewright`: the magic is there from now on. Nothing is compiled without it, or `tilewright.enable()`."""

    def autotune(line: str, cell: str | None = None) -> None:
        __tracebackhide__ = True  # IPython leaves this frame out of what it shows
        with _as_ipython_says():
            if cell is None:
                _tell(line)
                return
            options = _options(line)
        _autotune(shell, options, cell)

    autotune.__doc__ = _parser().format_help()
    shell.register_magic_function(autotune, "line_cell", _NAME)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext tilewright`: all that was put in the place of the user's functions is gone, and so is the magic."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(_NAME, None)
    the_session().forget_tuned()
    disable()


@contextmanager
def _as_ipython_says() -> Iterator[None]:
    """What the user got wrong is a line, as of any other magic."""
    try:
        yield
    except Error as error:
        from IPython.core.error import UsageError as Wrong  # noqa: PLC0415  (whoever loads the extension has it)

        raise Wrong(str(error)) from None


def _tell(line: str) -> None:
    if line.strip():
        raise UsageError(
            f"%autotune {line.strip()}: takes nothing here. Alone it tells what was gained; %%autotune stands above a cell."
        )
    report()


class _Parser(argparse.ArgumentParser):
    """Without an end of the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%autotune: {message}. %autotune? lists the options.")


def _parser() -> argparse.ArgumentParser:
    about = (
        "%%autotune runs the cell, searches for the fastest code of the functions that took most of its time, keeps what was learnt, and "
        "has them run as they were tuned in later cells. %autotune prints what was gained since tilewright.enable()."
    )
    parser = _Parser("%%autotune", "%%autotune [OPTIONS]", about, add_help=False, allow_abbrev=False)
    parser.add_argument("--budget", default="60s", help="Time for the search: 20s, 2m.")
    parser.add_argument("--function", help="Tune the function of this name.")
    parser.add_argument("--workload", default="time", choices=WORKLOADS, help="Which of its calls.")
    parser.add_argument("--trials", type=int, default=0, help="At most so many candidates a function; 0 is no limit.")
    parser.add_argument("--quiet", action="store_true", help="Print the last line alone.")
    return parser


def _options(line: str) -> argparse.Namespace:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%autotune {line.strip()}: {error}.") from None
    options = _parser().parse_args(words)
    with usage_errors():
        options.budget_s = parse_duration_s(options.budget, "--budget")
        checks.whole_number(options.trials, "--trials", 0, checks.MOST_TRIALS)
    return options


def _autotune(shell: Any, options: argparse.Namespace, cell: str) -> None:
    __tracebackhide__ = True
    session = the_session()
    session.add(shell.user_ns)
    recorder = Recorder(only=options.function, run_all=True)
    recorder.users = session.users
    with _recorded(session, recorder, shell.user_ns):
        _run(shell, cell)
    with session.paused():  # NumPy's time is that of the user's own functions
        try:
            request = Request(options.function, options.workload, covers=options.function is None)
            recorded = chosen(recorder, _CELL, request, sys.modules["__main__"], what="cell")
        except NothingToTune as error:
            told = [] if options.quiet else [*error.times]
            print("\n".join([*told, f"autotune: {error}"]), file=sys.stderr)
            return
        results = _tuned(recorded, options)
        for one, result in results:
            if result.complete and result.ratio > 1:
                _use(session, one)
    for _, result in results:
        print(result.closing_line())


@contextmanager
def _recorded(session: Session, recorder: Recorder, names: dict[str, Any]) -> Iterator[None]:
    """Calls of the user's functions are recorded inside, those of earlier cells too."""
    with session.recording(recorder.wrap, names) as observer:
        setattr(builtins, _BOUND, observer.bound)
        before, recording.recorder = recording.recorder, recorder
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            recorder.script_ns = time.perf_counter_ns() - start
            recording.recorder = before
            delattr(builtins, _BOUND)


def _run(shell: Any, cell: str) -> None:
    """As IPython runs it; what it raises goes on from here."""
    __tracebackhide__ = True
    text = "\n" + shell.transform_cell(cell)  # the magic's line is above: lines are as they are seen
    inputs = shell.user_ns.get("In") or ()  # the last one is the cell's
    file = shell.compile.cache(text, max(1, len(inputs) - 1), raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(text, file))
    if any(
        isinstance(one, (ast.Await, ast.AsyncFor, ast.AsyncWith)) for one in inside(tree.body, *DEFINITIONS, ast.Lambda)
    ):
        with _as_ipython_says():
            raise UsageError(
                "%%autotune: the cell awaits at its top level, which no magic can. Await in a cell of its own."
            )
    hook_cell(tree, _BOUND)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, file, "exec"), shell.user_ns)
    if last is None:
        return
    if text.rstrip().endswith(";"):
        exec(shell.compile(ast.Module([last], []), file, "exec"), shell.user_ns)
    else:
        exec(shell.compile(ast.Interactive([last]), file, "single"), shell.user_ns)


def _tuned(recorded: Recorded, options: argparse.Namespace) -> list[tuple[Prepared, TuneResult]]:
    results: list[tuple[Prepared, TuneResult]] = []
    with Progress(options.quiet, options.budget_s) as progress:
        for line in recorded.times:
            progress.say(line)
        for refusal in recorded.refusals:
            progress.warn(refusal)
        db = settings.store_path()
        if db is None:
            progress.warn("warning: there is no home directory: nothing learnt is kept. Set TILEWRIGHT_DB.")
        ends = time.monotonic() + options.budget_s
        for number, one in enumerate(recorded.prepared):
            options_of_one = TuneOptions(budget_of_next(recorded.prepared[number:], ends), options.trials, db=db)
            try:
                result = search(one, options_of_one, progress)
            except Error as error:
                progress.warn(f"autotune: {error}")
                continue
            results.append((one, result))
            if was_stopped(result):
                break
    return results


def _use(session: Session, one: Prepared) -> None:
    """Later calls are those of the tuned function: one that the user has marked takes the schedule itself."""
    candidate = one.choice.candidate
    if candidate.jitted is None:
        one.function.takes_effects = True  # no module is made of it
        session.use_tuned(candidate.function, one.function)
        return
    specialization, bound = candidate.jitted.specialize(one.call.args, one.call.kwargs)
    specialization.set_schedule(one.specialization.schedule, bound, file="store", label="tuned")
