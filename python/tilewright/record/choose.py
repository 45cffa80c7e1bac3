"""Which function and which of its calls are tuned, and the sentence that says so."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Error
from ..reasons import readable
from .capture import Candidate, RecordedCall, Recorder

_MINOR_SHARE = 0.05  # of the time in functions of arrays: below it one is not worth a search
_COVERED = 0.95  # of that time: what is left is not worth a search
_MOST_FUNCTIONS = 8
_MOST_CALLS = 3  # of a function, each of another program
_LEAST_OF_FUNCTION = 0.1  # of a function's time that a call of another program has to take
_MOST_NAMES = 5
CHOSEN = "chosen"  # of calls that a search may follow for
_IN_PARTS = "`autotune run` compiles such functions in parts, where it can."
WORKLOADS = ("time", "first", "largest", "all")  # which calls of a function

# What tracing a call gives, or why it does not compile; whether it is the first one of its function that is tried.
Trace = Callable[[Candidate, RecordedCall, bool], Any]


class NothingToTune(Error):
    """For the user: why there is nothing to tune, a line each function, and what to do. `times`: where the time went, a table."""

    times: Sequence[str] = ()


@dataclass
class Choice:
    """One call to tune."""

    candidate: Candidate
    call: RecordedCall
    sentence: str
    traced: Any
    why_no_module: str = ""  # why no module can have the function: `autotune run` alone uses what is found

    @property
    def weight_ns(self) -> int:
        """What the script spends on such calls."""
        return self.call.total_ns


def choose(
    recorder: Recorder,
    script: str,
    function: str | None,
    workload: str,
    try_trace: Trace,
    *,
    why_no_module: Callable[[Candidate, Any], str] = lambda candidate, traced: "",
    covers: bool = False,
    wanted: Collection[str] = (),
    what: str = "script",
) -> tuple[list[Choice], list[str]]:
    """Calls to tune, and why hotter ones are not among them. What becomes of each candidate is its `fate` afterwards.

    Marked functions are all tuned. In a script without any, those are taken that cover the time in functions of arrays (one alone
    where `covers` is False), the outermost that compiles of those that call each other: what it calls is compiled along with it.
    Where no module can have any of these, the functions inside of them that one can have are taken too. `wanted`: names of
    functions that are taken however short they are. `script`: of what was run, which is a `what`.
    """
    candidates = [c for c in recorder.candidates.values() if c.calls]
    makers = recorder.makers.values()
    candidates += [m for m in makers if covers or function is not None or m.marked or not candidates]
    candidates.sort(key=lambda c: (-c.total_ns, c.order))
    if not candidates:
        raise NothingToTune(_why_none(recorder, script, function, what))
    chosen = _Chosen(max(recorder.script_ns, 1), workload, _MOST_CALLS if covers else 1, try_trace, why_no_module)
    if function is not None or any(c.marked for c in candidates):
        chosen.take_all([c for c in candidates if c.marked or function is not None])
    else:
        most_ns = sum(c.own_ns for c in candidates) if covers else 0
        chosen.cover(candidates, most_ns, wanted)
        if chosen.choices and all(one.why_no_module for one in chosen.choices):
            chosen.cover(candidates, most_ns, wanted, for_module=True)
    if not chosen.choices:
        least = f"{script}: nothing to tune: what takes longest does not compile as a whole."
        raise NothingToTune("\n".join([*chosen.refusals, least]), _IN_PARTS if what == "script" else "")
    return chosen.choices, chosen.refusals


class _Chosen:
    """What is chosen so far."""

    def __init__(
        self,
        script_ns: int,
        workload: str,
        most_calls: int,
        try_trace: Trace,
        why_no_module: Callable[[Candidate, Any], str],
    ) -> None:
        self.choices: list[Choice] = []
        self.refusals: list[str] = []
        self._script_ns, self._workload, self._most_calls = script_ns, workload, most_calls
        self._try_trace, self._why_no_module = try_trace, why_no_module

    def take_all(self, candidates: list[Candidate]) -> None:
        """Every one that compiles."""
        compiled: dict[int, str] = {}
        for candidate in candidates:
            around = {compiled.get(key or 0) for key in candidate.called_by}
            # What a decorator has wrapped is compiled along with the wrapper.
            if around == {candidate.name} or self._take(candidate):
                compiled[id(candidate.function)] = candidate.name

    def cover(
        self, candidates: list[Candidate], most_ns: int, wanted: Collection[str], *, for_module: bool = False
    ) -> None:
        """The longest first, without what is called by those alone, until `most_ns` are covered but for a little; the first one
        alone where that is 0."""
        covered: set[int | None] = set()
        covered_ns = taken = 0
        for candidate in candidates:
            is_wanted = candidate.name.rpartition(".")[2] in wanted
            if candidate.called_by and candidate.called_by <= covered and not is_wanted:
                covered.add(id(candidate.function))
                continue
            is_minor = candidate.total_ns < _MINOR_SHARE * (most_ns or candidates[0].total_ns)
            is_enough = bool(taken) and (not most_ns or covered_ns >= _COVERED * most_ns or taken == _MOST_FUNCTIONS)
            if (is_minor or is_enough) and not is_wanted:
                continue
            if (for_module and candidate.fate) or not self._take(candidate, for_module):
                continue
            covered.add(id(candidate.function))
            covered_ns += candidate.total_ns
            taken += 1

    def _take(self, candidate: Candidate, for_module: bool = False) -> bool:
        """Its calls, one for each program that counts; whether there are any. `for_module`: if a module can have it."""
        found: list[Choice] = []
        seen_ns = 0
        for call in _calls(candidate, self._workload):
            share = call.total_ns / max(candidate.total_ns, 1)
            is_enough = (
                seen_ns >= _COVERED * candidate.total_ns or share < _LEAST_OF_FUNCTION or len(found) == self._most_calls
            )
            if self._workload == "time" and found and is_enough:
                break
            traced = self._try_trace(candidate, call, not found)
            seen_ns += call.total_ns
            if isinstance(traced, str):
                if not found:
                    self._refuse(candidate, traced)
                    return False
                continue
            if self._workload != "all" and any(one.traced is traced for one in found):
                continue
            why = self._why_no_module(candidate, traced)
            if why and for_module:
                return False
            found.append(_choice(candidate, call, self._script_ns, traced, why))
        self.choices += found
        return bool(found)

    def _refuse(self, candidate: Candidate, why: str) -> None:
        if not candidate.fate:
            code = getattr(candidate.function, "__code__", None)
            why = readable(why, code.co_filename if code is not None else "", candidate.function.__name__)
            candidate.fate = f"not tuned: {why}"
            self.refusals.append(f"{candidate.name}: {candidate.fate}")


def _choice(candidate: Candidate, call: RecordedCall, script_ns: int, traced: Any, why_no_module: str) -> Choice:
    candidate.fate = CHOSEN
    share = _percent(candidate.total_ns, script_ns)
    return Choice(candidate, call, f"{share} of the time in {candidate.name}", traced, why_no_module)


def _calls(candidate: Candidate, workload: str) -> list[RecordedCall]:
    calls = sorted(candidate.calls.values(), key=lambda call: call.order)
    if workload == "all":
        return calls
    if workload == "first":
        return calls[:1]
    if workload == "largest":
        return [max(calls, key=lambda call: call.bytes)]
    return sorted(calls, key=lambda call: -call.total_ns)


def _percent(part: int, total: int) -> str:
    return f"{min(100.0, 100 * part / total):.0f} %"


def _why_none(recorder: Recorder, script: str, function: str | None, what: str) -> str:
    if recorder.calls_in_children:
        return f"{script}: {calls_in_children(recorder)}"
    if recorder.left_out:
        return (
            f"{script}: {recorder.left_out[0]}: its arguments do not fit into memory a second time. "
            "Record a smaller call."
        )
    if function is not None:
        return f"{script}: no call of {function} with NumPy arrays was seen. Is the name right, and does the {what} call it?"
    generators = [one.name for one in recorder.others.values() if _is_generator(one.function)]
    never = f" Generators are never compiled: {', '.join(generators[:_MOST_NAMES])}." if generators else ""
    return (
        f"{script}: no function of the {what} was called with NumPy arrays.{never} Put the slow code into a function that "
        "takes its arrays as arguments, and call it."
    )


def _is_generator(function: Callable[..., Any]) -> bool:
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & inspect.CO_GENERATOR)


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
