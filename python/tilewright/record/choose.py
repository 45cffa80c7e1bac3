"""Which function and which of its calls are tuned, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .capture import Candidate, RecordedCall, Recorder

_MINOR_SHARE = 0.02  # of the hottest one's time: below it a function is not worth naming


class NothingToTune(Exception):
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
) -> tuple[list[Choice], list[str]]:
    """Calls to tune, and why hotter ones are not among them.

    Marked functions are all tuned. In a script without any, the outermost hot function that compiles is taken, since
    what it calls is compiled along with it.
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
    if function is not None or marked:
        chosen = marked if function is None else candidates
        choices = []
        for candidate in chosen:
            for call in _calls(candidate, workload):
                traced = try_trace(candidate, call)
                if isinstance(traced, str):
                    refusals.append(f"{candidate.name}: not tuned: {traced}")
                    break
                share = _percent(candidate.total_ns, total)
                choices.append(Choice(candidate, call, f"{share} of the time in {candidate.name}: tuning it", traced))
        if not choices:
            raise NothingToTune("\n".join(refusals))
        return choices, refusals
    for candidate in candidates:
        if candidate.total_ns < _MINOR_SHARE * candidates[0].total_ns:
            break
        calls = _calls(candidate, workload)
        traced_calls = []
        for call in calls:
            traced = try_trace(candidate, call)
            if isinstance(traced, str):
                refusals.append(f"{candidate.name}: not tuned: {traced}")
                break
            traced_calls.append((call, traced))
        if traced_calls:
            sentence = f"{_percent(candidate.total_ns, total)} of the time in {candidate.name}: tuning it"
            return [Choice(candidate, call, sentence, traced) for call, traced in traced_calls], refusals
    raise NothingToTune("\n".join(refusals))


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
