"""`autotune run SCRIPT`: the unchanged script, whose functions are compiled once their calls take long; what was gained, a line a
function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import patched_run, settings
from ..native import compiler
from ..quantities import aligned, format_ns
from ..script import Script, check_script
from . import script_arguments
from .exit_codes import OK, SCRIPT_RAISED
from .parse import script_of

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def run(
    scripts: Annotated[list[Path] | None, typer.Argument(help="A script.", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", help="Run a module, as `python -m` does.")] = None,
    db: Annotated[Path | None, typer.Option(help="Store to use.")] = None,
    before: Annotated[
        bool, typer.Option("--before/--no-before", help="Run it as it is first, and print both times.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the times as JSON on stderr.")] = False,
) -> int:
    """Run a script, with its functions compiled once their calls take long, and those that were tuned as they were tuned."""
    script = script_of("run", scripts, module)
    check_script(script)
    store = settings.store_path(db)
    names = _tuned_names(store)
    earlier = None
    if before:
        earlier = _timed(script, "plain", names, {"TILEWRIGHT_DISABLE": "1"})
        if earlier.code != 0:
            print(f"autotune: {script.name}: fails as it is too (exit code {earlier.code}).", file=sys.stderr)
            return SCRIPT_RAISED
    after = _timed(script, "compiled", names, {} if db is None else {"TILEWRIGHT_DB": str(store)})
    if as_json:
        print(json.dumps(_document(earlier, after, _rows(earlier, after))), file=sys.stderr)
    else:
        for line in _lines(script.name, earlier, after):
            print(line, file=sys.stderr)
    if after.code != 0:
        print(f"autotune: {script.name}: ended with exit code {after.code}.", file=sys.stderr)
        return SCRIPT_RAISED
    return OK


@dataclass
class _Run:
    """One run of the script in a separate process."""

    code: int
    wall_s: float
    own_s: float  # of that, tilewright's own start
    end_s: float  # from the script's end to the process's
    functions: dict[str, dict[str, Any]]  # calls, ns; and all else of compiled ones (patched_run._times_of)
    patched: list[str]

    def script_s(self, other: _Run | None) -> float:
        """What the script took; an end that is longer than the other run's is ours too."""
        return self.wall_s - self.own_s - (0.0 if other is None else max(0.0, self.end_s - other.end_s))


def _tuned_names(store: Path | None) -> list[str]:
    """The functions with stored schedules: a script without such functions needs no tilewright in its process."""
    if store is None or not os.path.exists(store):
        return []
    rows = compiler().Store(str(store)).list()
    return sorted({str(row["workload"]["function"]) for row in rows if row["record"] is not None})


@dataclass
class _Row:
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
    def saved_s(self) -> float:
        return self.calls * (self.numpy_ns - self.compiled_ns) / 1e9 if self.gain else 0.0


def _rows(earlier: _Run | None, after: _Run) -> list[_Row]:
    rows = []
    for name, times in after.functions.items():
        if times["calls"] == times["python_calls"]:
            continue  # its last call was the one that took long
        before = {} if earlier is None else earlier.functions.get(name, {})
        numpy_ns = _mean(times.get("python_ns", 0), times.get("python_calls", 0))
        why = "" if times["is_built"] else (times["in_numpy"] or ["it was called too late for its code to be there"])[0]
        rows.append(
            _Row(
                name, times["calls"], numpy_ns or _mean(before.get("ns", 0), before.get("calls", 0)),
                0.0 if why else _compiled_ns(times), why,
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: -max(row.saved_s, row.calls * row.compiled_ns / 1e9))


def _compiled_ns(times: dict[str, Any]) -> float:
    """Of calls that were neither traced nor compared, where there are such."""
    calls = times["calls"] - times["python_calls"]
    plain = calls - times["missed_calls"]
    return _mean(times["ns"] - times["missed_ns"], plain) if plain else _mean(times["ns"], calls)


def _mean(ns: float, calls: int) -> float:
    return ns / calls if calls else 0.0


def _document(earlier: _Run | None, after: _Run, rows: list[_Row]) -> dict[str, Any]:
    after_s = after.script_s(earlier)
    return {
        "before_s": None if earlier is None else earlier.script_s(None),
        # Earlier calls may have been cheaper ones: that compiled code made the whole slower, they do not say.
        "about_before_s": after_s + max(0.0, sum(row.saved_s for row in rows)),
        "after_s": after_s,
        "own_s": after.wall_s - after_s,
        "patched": after.patched,
        "functions": {row.name: {**vars(row), "gain": row.gain} for row in rows},
    }


def _lines(name: str, earlier: _Run | None, after: _Run) -> list[str]:
    """One for each function that took long, and one for the whole."""
    rows = _rows(earlier, after)
    document, lines = _document(earlier, after, rows), []
    if rows:
        cells = [("function", "calls", "NumPy", "compiled", "", "")]
        cells += [
            (
                row.name, str(row.calls), format_ns(row.numpy_ns) if row.numpy_ns else "", format_ns(row.compiled_ns) if row.compiled_ns else "",
                f"{row.gain:.2f}x" if row.gain else "", _fate(row, after),
            )
            for row in rows
        ]  # fmt: skip
        lines = [f"  {line}" for line in aligned(cells)]
    before_s, after_s = document["before_s"], document["after_s"]
    about = "" if before_s is not None else "about "
    before_s = document["about_before_s"] if before_s is None else before_s
    whole = f"{about}{before_s:.2f} s → {after_s:.2f} s ({before_s / max(after_s, 1e-9):.2f}x)"
    if not rows:
        whole = f"{after_s:.2f} s; no function took long enough to be compiled"
    return [*lines, f"{name}: {whole}; tilewright's own start took {document['own_s']:.2f} s beside that"]


def _fate(row: _Row, after: _Run) -> str:
    if row.why_numpy:
        return f"NumPy's: {row.why_numpy}"
    return "tuned" if row.name in after.patched else ""


def _timed(script: Script, mode: str, names: list[str], environment: dict[str, str]) -> _Run:
    which = ["-m", script.module] if script.module is not None else [str(script.path)]
    read, write = os.pipe()
    launcher = [sys.executable, "-c", patched_run.START, str(write), mode, ",".join(names) or "-"]
    output = None if mode == "compiled" else subprocess.DEVNULL
    start = time.perf_counter()
    process = subprocess.Popen(
        [*launcher, *which, *script_arguments.arguments], stdin=None if output is None else output, stdout=output, stderr=output, pass_fds=[write],
        env={**os.environ, "MPLBACKEND": os.environ.get("MPLBACKEND", "Agg"), **environment},
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    code = process.wait()
    end = time.perf_counter()
    seen = json.loads(text) if text else {}
    # Processes of one machine share this clock.
    end_s = end - seen["ended_ns"] / 1e9 if seen else 0.0
    return _Run(
        code, end - start, seen.get("own_ns", 0) / 1e9, end_s, seen.get("functions", {}), seen.get("patched", [])
    )
