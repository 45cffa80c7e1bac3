"""Several scripts: each in a process of its own, since each is __main__; some at once if asked; then one summary."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import typer

from ..figures import Figures, format_ratio
from ..quantities import format_ns
from ..record import Script
from .app import INTERRUPTED, OK, PARTIAL

_NOT_PASSED_ON = ("as_json", "module", "jobs", "version")
_WORDS = {OK: "tuned", PARTIAL: "tuned in part", INTERRUPTED: "interrupted"}


@dataclass
class Ended:
    """One script of a batch."""

    name: str
    code: int
    wall_s: float
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def gain(self) -> float | None:
        """Of the function that gained most."""
        return max((float(r["ratio"]) for r in self.document.get("results", []) if r.get("complete")), default=None)

    @property
    def line(self) -> str:
        text = _result_line(self.code, self.document)
        return text.removeprefix(f"{self.name}: ")


def run_batch(context: typer.Context, scripts: list[Script], jobs: int, as_json: bool) -> int:
    """Tune all scripts; the exit code is 0 where all were tuned, 130 after Ctrl-C, else 3."""
    own = _own_arguments(context)
    stop = threading.Event()
    said = threading.Lock()

    def one(script: Script) -> Ended:
        if stop.is_set():
            return Ended(script.name, INTERRUPTED, 0.0)
        command = [sys.executable, "-m", "tilewright", "--json", *own, str(script.path)]
        if script.arguments:
            command += ["--", *script.arguments]
        if jobs == 1:
            print(f"== {script.name}", file=sys.stderr, flush=True)
        started = time.monotonic()
        # What scripts say at once would be mixed: each one's is shown when it has ended.
        errors = None if jobs == 1 else subprocess.PIPE
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        out, err = process.communicate()
        ended = Ended(script.name, process.returncode, time.monotonic() - started, _document(out))
        if ended.code == INTERRUPTED:
            stop.set()
        if err is not None:
            with said:
                print(f"== {script.name}\n{err}", end="", file=sys.stderr, flush=True)
        return ended

    if jobs == 1:
        rows = []
        for script in scripts:
            rows.append(one(script))
            if stop.is_set():
                break
    else:
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(one, script) for script in scripts]
            try:
                rows = [future.result() for future in futures]
            except KeyboardInterrupt:
                # The terminal has told the scripts too; each keeps the best so far and ends.
                stop.set()
                rows = [future.result() for future in futures]
    if as_json:
        print(
            json.dumps([{"script": r.name, "exit": r.code, "wall_s": round(r.wall_s, 3), **r.document} for r in rows])
        )
    else:
        print("\n".join(summary(rows)))
    codes = {row.code for row in rows}
    if INTERRUPTED in codes:
        return INTERRUPTED
    return OK if codes == {OK} else PARTIAL


def summary(rows: list[Ended]) -> list[str]:
    """A line for each script, and one for all of them."""
    cells = [("script", "exit", "time", "gain", "")]
    for row in rows:
        gain = "" if row.gain is None else format_ratio(row.gain)
        cells.append((row.name, str(row.code), format_ns(1e9 * row.wall_s), gain, row.line))
    widths = [max(len(line[k]) for line in cells) for k in range(4)]
    lines = [
        f"{name.ljust(widths[0])}  "
        f"{'  '.join(text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True))}  {line}".rstrip()
        for name, *numbers, line in cells
    ]
    counts = Counter(_WORDS.get(row.code, "failed") for row in rows)
    told = ", ".join(f"{counts[word]} {word}" for word in (*_WORDS.values(), "failed") if counts[word])
    return [*lines, f"{len(rows)} scripts: {told}"]


def _document(out: str) -> dict[str, Any]:
    try:
        found = json.loads(out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def _result_line(code: int, document: dict[str, Any]) -> str:
    lines = [
        f"{result['function']}: {figures.text()}"
        for result in document.get("results", [])
        if result.get("complete") and (figures := Figures.of_evidence(result)) is not None
    ]
    lines += [str(document["error"])] if "error" in document else []
    return "; ".join(lines) or f"not tuned (exit code {code})"


def _own_arguments(context: typer.Context) -> list[str]:
    """The options as given, for the processes of a batch."""
    arguments: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if parameter.param_type_name != "option" or name in _NOT_PASSED_ON or source is None:
            continue
        if source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        option = max(parameter.opts, key=len)
        if value is True:
            arguments.append(option)
        else:
            arguments += [f"{option}={one}" for one in (value if isinstance(value, (list, tuple)) else [value])]
    return arguments
