"""The search for one of the chosen calls, of a script's or of a cell's, and its share of the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..errors import Error, InternalError, TraceError, TranslateError
from ..interpret.source import as_written
from ..quantities import counted
from ..tuning import TuneOptions, TuneResult, tune_call
from .progress import Progress
from .session import Prepared

_LEAST_S = 1.0  # of a search, however little of the budget is a function's


def budget_of_next(rest: Sequence[Prepared], ends: float) -> float:
    """Seconds for the search of the first one of those that are left until then (monotonic clock): what the ones before have left, by
    the time that the script spends on each."""
    rest_ns = sum(one.choice.weight_ns for one in rest)
    return max((ends - time.monotonic()) * rest[0].choice.weight_ns / max(rest_ns, 1), _LEAST_S)


def search(one: Prepared, options: TuneOptions, progress: Progress) -> TuneResult:
    """Raises Error, also for what is a defect of ours."""
    name = one.function.__name__  # as the script calls it
    progress.say(f"{one.choice.sentence}: tuning it{' on the CUDA device' if options.on_device else ''}")
    progress.say(f"the call: {name}({one.call.text()}), seen {counted(one.call.count, 'time')}")
    try:
        result = tune_call(
            one.specialization,
            as_written(one.choice.candidate.function),
            one.call.args,
            one.call.kwargs,
            options,
            compiled=one.function,
            observer=progress,
            is_warm=True,
        )
    except Error:
        raise
    except Exception as error:
        raise InternalError(
            f"{name}: its search raised {type(error).__name__}: {error}.", "Please report it."
        ) from error
    result.function = name
    return result


def keep_calls_beside(one: Prepared, progress: Progress) -> None:
    """`autotune run` takes early calls of a function as it takes those that were tuned. What is refused of them it finds out
    itself."""
    for args, kwargs in one.call.others:
        try:
            why = one.function.keep_beside(args, kwargs)
        except (TraceError, TranslateError):
            continue
        except Error as error:
            why = str(error)
        if why:
            progress.warn(f"{one.function.__name__}: `autotune run` follows other calls of it anew: {why}")


def was_stopped(result: TuneResult) -> bool:
    """Whether Ctrl-C or a signal has ended it: no other one is begun."""
    return bool(result.raw.get("interrupted") or result.raw.get("cancelled"))
