"""What `autotune run` says at the end of a script, and `tilewright.report()` of a session: a line for each function that took long, and
one for the whole."""

from __future__ import annotations

import json
import sys
from typing import Any

from .light_dataclass import dataclass
from .quantities import aligned, counted, format_ns


@dataclass
class Ran:
    """One run of the script."""

    began_ns: int
    ended_ns: int
    own_ns: int  # of that, tilewright's own start
    functions: dict[str, dict[str, Any]]  # calls, ns; and all else of compiled ones (hot_observer.times_of)
    patched: list[str]  # which of them ran as they were tuned

    @property
    def script_s(self) -> float:
        return (self.ended_ns - self.began_ns - self.own_ns) / 1e9


@dataclass
class Row:
    """A function whose calls took long: means of its calls, in nanoseconds; 0 where there were none."""

    name: str
    calls: int
    numpy_ns: float
    compiled_ns: float
    why_numpy: str

    @property
    def gain(self) -> float:
        return self.numpy_ns / self.compiled_ns if self.numpy_ns and self.compiled_ns else 0.0

    @property
    def before_s(self) -> float:
        """What NumPy takes for all of its calls."""
        return self.calls * self.numpy_ns / 1e9

    @property
    def saved_s(self) -> float:
        return self.calls * (self.numpy_ns - self.compiled_ns) / 1e9 if self.gain else 0.0


_TOO_LATE = "it was called too late for its code to be there"


def rows_of(earlier: Ran | None, ran: Ran, not_built: str = _TOO_LATE) -> list[Row]:
    """`not_built`: of functions whose code is not there."""
    rows = []
    for name, times in ran.functions.items():
        if times["calls"] == times["python_calls"]:
            continue  # its last call was the one that took long
        before = {} if earlier is None else earlier.functions.get(name, {})
        numpy_ns = times.get("mean_python_ns", 0.0)
        why = "" if times["is_built"] else (times["in_numpy"] or [not_built])[0]
        rows.append(
            Row(
                name, times["calls"], numpy_ns or _mean(before.get("ns", 0), before.get("calls", 0)),
                0.0 if why else _compiled_ns(times), why,
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: -max(row.saved_s, row.calls * row.compiled_ns / 1e9))


def _compiled_ns(times: dict[str, Any]) -> float:
    """Of calls that were neither traced nor compared, where there are such."""
    calls = times["calls"] - times["python_calls"]
    plain = calls - times["missed_calls"]
    plain_ns = times["ns"] - times["missed_ns"]
    return _mean(plain_ns, plain) if plain and plain_ns > 0 else _mean(times["ns"], calls)


def _mean(ns: float, calls: int) -> float:
    return ns / calls if calls else 0.0


def document(earlier: Ran | None, ran: Ran, rows: list[Row]) -> dict[str, Any]:
    after_s = ran.script_s
    return {
        "before_s": None if earlier is None else earlier.script_s,
        # Earlier calls may have been cheaper ones: that compiled code made the whole slower, they do not say.
        "about_before_s": after_s + max(0.0, sum(row.saved_s for row in rows)),
        "after_s": after_s,
        "own_s": ran.own_ns / 1e9,
        "patched": ran.patched,
        "functions": {row.name: {**vars(row), "gain": row.gain} for row in rows},
    }


def lines_of(name: str, earlier: Ran | None, ran: Ran) -> list[str]:
    """One for each function that took long, and one for the whole."""
    rows = rows_of(earlier, ran)
    said = document(earlier, ran, rows)
    before_s, after_s = said["before_s"], said["after_s"]
    about = "" if before_s is not None else "about "
    before_s = said["about_before_s"] if before_s is None else before_s
    lines = _table(rows, ran, before_s)
    whole = f"{about}{before_s:.2f} s → {after_s:.2f} s ({before_s / max(after_s, 1e-9):.2f}x)"
    compiled = [row for row in rows if row.gain]
    if not rows:
        whole = f"{after_s:.2f} s; no function took long enough to be compiled"
    elif earlier is None and not compiled:
        whole = f"{after_s:.2f} s"
    elif compiled:
        covered = _percent(sum(row.before_s for row in compiled), before_s)
        whole = f"{whole}; {counted(len(compiled), 'function')} compiled, {covered} of the time before"
    return [*lines, f"{name}: {whole}; tilewright's own start took {said['own_s']:.2f} s beside that"]


def _percent(part_s: float, whole_s: float) -> str:
    return f"{min(100.0, 100 * part_s / max(whole_s, 1e-9)):.0f} %"


def session_lines(ran: Ran) -> list[str]:
    """The same of a session, which goes on."""
    rows = rows_of(None, ran, "its code is not there yet")
    if not rows:
        return [f"no function took long enough to be compiled in the {ran.script_s:.0f} s of this session"]
    saved_s = max(0.0, sum(row.saved_s for row in rows))
    return [
        *_table(rows, ran, sum(row.before_s for row in rows)),
        f"about {saved_s:.2f} s less in the {ran.script_s:.0f} s of this session",
    ]


def _table(rows: list[Row], ran: Ran, before_s: float) -> list[str]:
    """`before_s`: what Python took for the whole."""
    if not rows:
        return []
    cells = [("function", "calls", "share", "NumPy", "compiled", "", "")]
    cells += [
        (
            row.name, str(row.calls), _percent(row.before_s, before_s) if row.numpy_ns else "", format_ns(row.numpy_ns) if row.numpy_ns else "",
            format_ns(row.compiled_ns) if row.compiled_ns else "", f"{row.gain:.2f}x" if row.gain else "", _fate(row, ran),
        )
        for row in rows
    ]  # fmt: skip
    return [f"  {line}" for line in aligned(cells)]


def _fate(row: Row, ran: Ran) -> str:
    if row.why_numpy:
        return f"NumPy's: {row.why_numpy}"
    return "tuned" if row.name in ran.patched else ""


def say(name: str, earlier: Ran | None, ran: Ran, as_json: bool) -> None:
    """On the process's own stderr: stdout is the script's, and so is what it has put in the place of stderr."""
    if sys.__stderr__ is None or sys.__stderr__.closed:
        return
    told = [json.dumps(document(earlier, ran, rows_of(earlier, ran)))] if as_json else lines_of(name, earlier, ran)
    for line in told:
        print(line, file=sys.__stderr__, flush=True)
