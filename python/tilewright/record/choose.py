"""Which function and which of its calls are tuned, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import Error
from .capture import Candidate, RecordedCall, Recorder

_MINOR_SHARE = 0.02  # of the hottest one's time: below it a function is not worth naming
TUNED = "tuned"
WORKLOADS = ("time", "first", "largest", "all")  # which calls of a function


class NothingToTune(Error):
    """A line for the user: why there is nothing to tune, and what to do."""


@dataclass
class Choice:
    """One call to tune."""

    candidate: Candidate
    call: RecordedCall
    sentence: str
    traced: Any


def choose(
    recorder: Recorder,
    script: str,
    function: str | None,
    workload: str,
    try_trace: Callable[[Candidate, RecordedCall], Any],
    *,
    why_no_module: Callable[[Candidate, Any], str] = lambda candidate, traced: "",
) -> tuple[list[Choice], list[str]]:
    """Calls to tune, and why hotter ones are not among them. What becomes of each candidate is its `fate` afterwards.

    Marked functions are all tuned. In a script without any, the outermost hot function that compiles and that a module
    can have is taken, since what it calls is compiled along with it; where a module can have none of those that compile,
    the first of them.
    """
    candidates = [c for c in recorder.candidates.values() if c.calls]
    makers = recorder.makers.values()
    candidates += [m for m in makers if function is not None or m.marked or not candidates]
    candidates.sort(key=lambda c: (-c.total_ns, c.order))
    if not candidates:
        raise NothingToTune(_why_none(recorder, script, function))
    total = max(recorder.script_ns, 1)
    refusals: list[str] = []
    marked = [c for c in candidates if c.marked]
    without_module: list[Choice] = []

    def of(candidate: Candidate, why_not: Callable[[Candidate, Any], str]) -> list[Choice]:
        made: list[Choice] = []
        for call in _calls(candidate, workload):
            traced = try_trace(candidate, call)
            why = traced if isinstance(traced, str) else ""
            if not why and (why := why_not(candidate, traced)) and not without_module:
                without_module.append(_choice(candidate, call, total, traced))
            if why:
                _refuse(candidate, why, refusals)
                break
            made.append(_choice(candidate, call, total, traced))
        return made

    if function is not None or marked:
        chosen = marked if function is None else candidates
        choices: list[Choice] = []
        compiled: dict[int, str] = {}
        for candidate in chosen:
            around = {compiled.get(key or 0) for key in candidate.called_by}
            if around == {candidate.name}:  # what a decorator has wrapped is compiled along with the wrapper
                compiled[id(candidate.function)] = candidate.name
                continue
            if made := of(candidate, lambda *_: ""):
                choices += made
                compiled[id(candidate.function)] = candidate.name
        if not choices:
            raise NothingToTune("\n".join(refusals))
        return choices, refusals
    for candidate in candidates:
        if candidate.total_ns < _MINOR_SHARE * candidates[0].total_ns:
            break
        if choices := of(candidate, why_no_module):
            return choices, refusals
    if without_module:
        refusals.remove(f"{without_module[0].candidate.name}: {without_module[0].candidate.fate}")
        without_module[0].candidate.fate = TUNED
        return without_module, refusals
    raise NothingToTune("\n".join(refusals))


def _choice(candidate: Candidate, call: RecordedCall, total_ns: int, traced: Any) -> Choice:
    candidate.fate = TUNED
    share = _percent(candidate.total_ns, total_ns)
    return Choice(candidate, call, f"{share} of the time in {candidate.name}", traced)


def _refuse(candidate: Candidate, why: str, refusals: list[str]) -> None:
    candidate.fate = f"not tuned: {why.removeprefix(f'{candidate.function.__name__}: ')}"
    refusals.append(f"{candidate.name}: {candidate.fate}")


def _calls(candidate: Candidate, workload: str) -> list[RecordedCall]:
    calls = sorted(candidate.calls.values(), key=lambda call: call.order)
    if workload == "all":
        return calls
    if workload == "first":
        return calls[:1]
    if workload == "largest":
        return [max(calls, key=lambda call: call.bytes)]
    return [max(calls, key=lambda call: call.total_ns)]


def _percent(part: int, total: int) -> str:
    return f"{min(100.0, 100 * part / total):.0f} %"


def _why_none(recorder: Recorder, script: str, function: str | None) -> str:
    if recorder.calls_in_children:
        return f"{script}: {calls_in_children(recorder)}"
    if recorder.left_out:
        return (
            f"{script}: {recorder.left_out[0]}: its arguments do not fit into memory a second time. "
            "Record a smaller call."
        )
    if function is not None:
        return f"{script}: no call of {function} with NumPy arrays was seen. Is the name right, and does the script call it?"
    return (
        f"{script}: no function of the script was called with NumPy arrays. Put the slow code into a function that "
        "takes its arrays as arguments, and call it."
    )


def calls_in_children(recorder: Recorder) -> str:
    """What is said of processes that the script forked; "" where they called nothing."""
    count = recorder.calls_in_children
    if not count:
        return ""
    calls = "a call" if count == 1 else f"{count} calls"
    return (
        f"{calls} of its functions with NumPy arrays ran in child processes (multiprocessing), which are left alone. "
        "Call the function once in the script itself, before the children start."
    )
