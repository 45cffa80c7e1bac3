"""Where the time of a script went: a row for each function that was watched, one for everything else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..quantities import aligned, format_ns
from .capture import Candidate, Recorder
from .choose import CHOSEN

_MOST_ROWS = 12
_LEAST_SHARE = 0.005


@dataclass(frozen=True)
class Row:
    """A function's part of the script's time."""

    function: str
    calls: int | None
    total_ns: int  # with what it calls
    own_ns: int  # without other functions of the table
    fate: str


def time_rows(recorder: Recorder) -> list[Row]:
    """The functions that took most, after choosing; last what went elsewhere."""
    candidates = _together(recorder)
    script_ns = max(recorder.script_ns, 1)
    candidates.sort(key=lambda c: (-c.total_ns, c.order))
    shown = [c for c in candidates if c.total_ns >= _LEAST_SHARE * script_ns or c.fate][:_MOST_ROWS]
    names = Counter(c.name for c in shown)
    rows = [Row(_named(c, names), c.count, c.total_ns, c.own_ns, _fate(c, candidates)) for c in shown]
    left_ns = max(0, script_ns - sum(row.own_ns for row in rows))
    return [*rows, Row("elsewhere", None, left_ns, left_ns, "")]


def _named(candidate: Candidate, names: Counter[str]) -> str:
    """With its line where others have its name: a function and what a decorator has made of it."""
    code = getattr(candidate.function, "__code__", None)
    if names[candidate.name] == 1 or code is None:
        return candidate.name
    return f"{candidate.name} (line {code.co_firstlineno})"


def time_lines(recorder: Recorder, what: str = "script") -> list[str]:
    """The rows as a table for people. `what`: was run, a script or a cell."""
    rows, script_ns = time_rows(recorder), max(recorder.script_ns, 1)
    cells = [("function", "calls", "time", "share", "itself", "")]
    for row in rows:
        calls = "" if row.calls is None else str(row.calls)
        share = "" if row.calls is None else _percent(row.total_ns / script_ns)
        cells.append((row.function, calls, format_ns(row.total_ns), share, _percent(row.own_ns / script_ns), row.fate))
    lines = [f"where the {what}'s {format_ns(recorder.script_ns)} went:", *(f"  {line}" for line in aligned(cells))]
    if len(rows) > 1 and rows[-1].own_ns > 0.5 * script_ns:  # noqa: PLR2004
        lines.append(f"  (elsewhere: imports, the {what}'s top level, functions of other libraries that it calls)")
    return lines


def _together(recorder: Recorder) -> list[Candidate]:
    """A candidate for each function, whatever it was called with."""
    found: dict[int, Candidate] = {}
    for among in (recorder.candidates, recorder.others):
        for key, candidate in among.items():
            first = found.get(key)
            if first is None:
                fate = recorder.makers[key].fate if among is recorder.others and key in recorder.makers else ""
                found[key] = replace(candidate, fate=candidate.fate or fate)
            else:
                found[key] = replace(
                    first,
                    total_ns=first.total_ns + candidate.total_ns,
                    own_ns=first.own_ns + candidate.own_ns,
                    count=first.count + candidate.count,
                )
    return list(found.values())


def _fate(candidate: Candidate, candidates: list[Candidate]) -> str:
    """In a few words; reasons that need a line get a separate one."""
    if candidate.fate == CHOSEN:
        return CHOSEN
    if candidate.fate:
        return "not tuned (see below)"
    tuned = {id(c.function): c.name for c in candidates if c.fate == CHOSEN}
    around = {tuned.get(key, "") for key in candidate.called_by if key is not None}
    if candidate.called_by and None not in candidate.called_by and around and "" not in around:
        return f"compiled along with {', '.join(sorted(around))}"
    if not candidate.calls:
        return "not tuned: it takes no arrays"
    if any(c.marked for c in candidates) and not candidate.marked:
        return "not tuned: it is not marked @tilewright.jit"
    return f"not tuned: others take longer; --function {candidate.name} tries it"


def _percent(share: float) -> str:
    return f"{min(100.0, 100 * share):.0f} %"
