"""What `autotune run` says at the end of a script, and `tilewright.report()` of a session: a line for each function that took long, why
NumPy or Python still have some, and a line for the whole."""

from __future__ import annotations

import json
import sys
from dataclasses import field
from typing import Any

from .light_dataclass import dataclass
from .own_frames import names_a_part
from .quantities import aligned, counted, format_ns
from .reasons import readable

# Of the script's time: what takes less needs no reason; where compiled code has so much, nobody asks for what was never looked at.
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.8
_MOST_ROWS, _MOST_NAMES = 12, 5  # that were not compiled
_NOT_BUILT = "none of its calls asked for code"


@dataclass
class Ran:
    """One run of the script."""

    began_ns: int
    ended_ns: int
    own_ns: int  # of that, tilewright's own start
    functions: dict[str, dict[str, Any]]  # calls, ns; and all else of compiled ones (hot_observer.times_of)
    patched: list[str]  # which of them have a schedule of their own
    left_alone: dict[str, list[str]] = field(default_factory=dict)  # functions that nothing stands for, by why
    has_numpy: bool = True  # whether the script has imported it

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
    schedule: str = ""  # which one compiled code has
    why_others: str = ""  # of a compiled one: why other calls are NumPy's
    is_awaited: bool = False  # its code is being made
    place: tuple[str, str] = ("", "")  # its file, and its name there

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


def rows_of(earlier: Ran | None, ran: Ran) -> list[Row]:
    """Those that took most in NumPy first, with what they call."""
    rows: list[Row] = []
    once: list[Row] = []
    for name, times in ran.functions.items():
        before = {} if earlier is None else earlier.functions.get(name, {})
        is_pythons = times["calls"] == times["python_calls"]
        if times["is_built"] and is_pythons:
            continue  # its last call was the one that took long
        found = times["in_numpy"] or ["" if times["is_built"] else _NOT_BUILT]
        why, others = ("", found[0]) if times["is_built"] else (found[0], "")
        row = Row(
            name, times["calls"], times.get("mean_python_ns", 0.0) or _mean(before.get("ns", 0), before.get("calls", 0)),
            0.0 if why else _compiled_ns(times), why, times.get("schedule", ""), others, times.get("is_awaited", False),
            (*times.get("place", ("", "")),),
        )  # fmt: skip
        is_known = times.get("is_left", False) and not row.calls  # by an earlier run
        if not is_pythons or is_known:
            rows.append(row)
        elif row.before_s >= _LEAST_SHARE * ran.script_s:
            (once if row.calls == 1 else rows).append(row)
    # What is called once and takes most may be what calls all others, main().
    for row in sorted(once, key=lambda row: row.before_s):
        if row.before_s < 0.5 * ran.script_s or sum(one.before_s for one in rows) < 0.5 * row.before_s:
            rows.append(row)
    return sorted(rows, key=lambda row: -max(row.before_s, row.calls * row.compiled_ns / 1e9))


def _compiled_ns(times: dict[str, Any]) -> float:
    """Of calls that were neither traced nor compared, where there are such."""
    calls = times["calls"] - times["python_calls"]
    plain = calls - times["missed_calls"]
    plain_ns = times["ns"] - times["missed_ns"]
    return _mean(plain_ns, plain) if plain and plain_ns > 0 else _mean(times["ns"] or times["missed_ns"], calls)


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
    """One for each function that took long, why those that are not compiled are not, and one for the whole."""
    rows = rows_of(earlier, ran)
    said = document(earlier, ran, rows)
    before_s, after_s = said["before_s"], said["after_s"]
    about = "" if before_s is not None else "about "
    before_s = said["about_before_s"] if before_s is None else before_s
    whole = f"{about}{before_s:.2f} s → {after_s:.2f} s ({before_s / max(after_s, 1e-9):.2f}x)"
    compiled = [row for row in rows if row.gain]
    if compiled:
        covered = _percent(sum(row.before_s for row in compiled), before_s)
        whole = f"{whole}; {_kinds(compiled)} compiled, {covered} of the time before"
    else:
        whole = f"{after_s:.2f} s" if earlier is None else whole
        whole = f"{whole}; {_why_nothing(rows, ran)}"
    return [
        *_table(rows, before_s),
        *_reasons(rows, ran, before_s),
        f"{name}: {whole}; tilewright's own start took {said['own_s']:.2f} s beside that",
    ]


def _kinds(rows: list[Row]) -> str:
    """1 function and 2 regions"""
    regions = sum(names_a_part(row.name) for row in rows)
    return " and ".join(
        counted(count, kind) for count, kind in ((len(rows) - regions, "function"), (regions, "region")) if count
    )


def _why_nothing(rows: list[Row], ran: Ran) -> str:
    if not ran.has_numpy:
        return "nothing compiled: NumPy was not imported"
    if first := [row for row in rows if row.compiled_ns]:
        return f"{_kinds(first)} compiled from the first call on"
    if any(row.is_awaited for row in rows):
        return "nothing compiled yet: the next run begins with the code that is there by then"
    if rows or ran.left_alone:
        return "nothing compiled: the lines above say why"
    least = f"{100 * _LEAST_SHARE:.0f} %"
    return f"nothing compiled: none of its functions and loops of arrays took {least} of that"


def _percent(part_s: float, whole_s: float) -> str:
    return f"{min(100.0, 100 * part_s / max(whole_s, 1e-9)):.0f} %"


def session_lines(ran: Ran) -> list[str]:
    """The same of a session, which goes on."""
    rows = rows_of(None, ran)
    before_s = sum(row.before_s for row in rows)
    saved_s = max(0.0, sum(row.saved_s for row in rows))
    whole = f"about {saved_s:.2f} s less in the {ran.script_s:.0f} s of this session"
    if not any(row.compiled_ns for row in rows):
        whole = f"nothing is compiled yet in the {ran.script_s:.0f} s of this session"
    return [*_table(rows, before_s), *_reasons(rows, ran, before_s), whole]


def _table(rows: list[Row], before_s: float) -> list[str]:
    """`before_s`: what Python took for the whole."""
    if not rows:
        return []
    cells = [("function", "calls", "share", "NumPy", "compiled", "", "")]
    cells += [
        (
            row.name, str(row.calls or ""), _percent(row.before_s, before_s) if row.before_s else "", format_ns(row.numpy_ns) if row.numpy_ns else "",
            format_ns(row.compiled_ns) if row.compiled_ns else "", f"{row.gain:.2f}x" if row.gain else "",
            "not compiled" if row.why_numpy else row.schedule,
        )
        for row in _shown(rows)
    ]  # fmt: skip
    return [f"  {line}" for line in aligned(cells)]


def _shown(rows: list[Row]) -> list[Row]:
    others = [row for row in rows if row.why_numpy][:_MOST_ROWS]
    return [row for row in rows if not row.why_numpy or row in others]


def _reasons(rows: list[Row], ran: Ran, before_s: float) -> list[str]:
    """What NumPy and Python still run, and why: a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for row in _shown(rows):
        if row.why_numpy or row.why_others:
            why = readable(row.why_numpy or row.why_others, *row.place).removesuffix(".")
            by_reason.setdefault(why, []).append(f"{row.name}, other calls" if row.why_others else row.name)
    if sum(row.before_s for row in rows if row.gain) < _MOST_SHARE * before_s:
        for why, names in ran.left_alone.items():
            by_reason.setdefault(f"never compiled: {why}", []).extend(names)
    return [f"  {_some(names)}: {why}" for why, names in by_reason.items()]


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def say(name: str, earlier: Ran | None, ran: Ran, as_json: bool) -> None:
    """On the process's own stderr: stdout is the script's, and so is what it has put in the place of stderr."""
    if sys.__stderr__ is None or sys.__stderr__.closed:
        return
    told = [json.dumps(document(earlier, ran, rows_of(earlier, ran)))] if as_json else lines_of(name, earlier, ran)
    for line in told:
        print(line, file=sys.__stderr__, flush=True)
