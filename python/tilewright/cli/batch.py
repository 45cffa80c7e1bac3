"""Several scripts: each in a separate process, since each is __main__; some at once if asked; then one summary."""

from __future__ import annotations

import json
import os
import signal
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
from ..quantities import aligned, format_ns
from ..script import Script
from .exit_codes import INTERRUPTED, OK, PARTIAL, USAGE
from .signals import EndedBySignal

_NOT_PASSED_ON = ("as_json", "module", "jobs", "version")
_INTERRUPTED = (INTERRUPTED, 128 + signal.SIGTERM, 128 + signal.SIGHUP)
_WORDS = {
    OK: "tuned",
    PARTIAL: "tuned in part",
    USAGE: "without a module",
    **dict.fromkeys(_INTERRUPTED, "interrupted"),
}


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
        lines = [
            f"{result['function']}: {figures.text()}"
            for result in self.document.get("results", [])
            if result.get("complete") and (figures := Figures.of_evidence(result)) is not None
        ]
        lines += [str(self.document["error"])] if "error" in self.document else []
        text = "; ".join(lines) or f"not tuned (exit code {self.code})"
        return text.removeprefix(f"{self.name}: ")


def run_batch(context: typer.Context, scripts: list[Script], jobs: int, as_json: bool) -> int:
    """Tune all scripts; the exit code is 0 where all were tuned, 130 after Ctrl-C, else 3."""
    own = _own_arguments(context)
    stop = threading.Event()
    said = threading.Lock()
    running: set[subprocess.Popen[str]] = set()

    def one(script: Script) -> Ended:
        command = [sys.executable, "-m", "tilewright", "--json", *own, str(script.path)]
        if script.arguments:
            command += ["--", *script.arguments]
        started = time.monotonic()
        # What scripts say at once would be mixed: each one's is shown when it has ended.
        errors = None if jobs == 1 else subprocess.PIPE
        with said:  # none may start behind the back of whoever stops them
            if stop.is_set():
                return Ended(script.name, INTERRUPTED, 0.0)
            if jobs == 1:
                print(f"== {script.name}", file=sys.stderr, flush=True)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            running.add(process)
        out, err = process.communicate()
        ended = Ended(script.name, process.returncode, time.monotonic() - started, _document(out))
        if ended.code in _INTERRUPTED:
            stop.set()
        with said:
            running.discard(process)
            if err is not None:
                print(f"== {script.name}\n{err}", end="", file=sys.stderr, flush=True)
        return ended

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, script) for script in scripts]
        try:
            rows = [future.result() for future in futures]
        except KeyboardInterrupt as interrupt:
            # Each script keeps the best so far and ends.
            with said:
                stop.set()
                for process in running if _is_theirs_alone(interrupt) else ():
                    process.send_signal(getattr(interrupt, "number", signal.SIGINT))
            rows = [future.result() for future in futures]
    if as_json:
        print(
            json.dumps([{"script": r.name, "exit": r.code, "wall_s": round(r.wall_s, 3), **r.document} for r in rows])
        )
    else:
        print("\n".join(summary(rows)))
    codes = {row.code for row in rows}
    if stop.is_set():
        return INTERRUPTED
    return OK if codes == {OK} else PARTIAL


def _is_theirs_alone(interrupt: KeyboardInterrupt) -> bool:
    """Whether what ended this process did not reach the scripts' processes: a terminal's Ctrl-C reaches them all."""
    if isinstance(interrupt, EndedBySignal):
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return True
    try:
        return os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:
        return True
    finally:
        os.close(terminal)


def summary(rows: list[Ended]) -> list[str]:
    """A line for each script, and one for all of them."""
    cells = [("script", "exit", "time", "gain", "")]
    for row in rows:
        gain = "" if row.gain is None else format_ratio(row.gain)
        cells.append((row.name, str(row.code), format_ns(1e9 * row.wall_s), gain, row.line))
    counts = Counter(_WORDS.get(row.code, "failed") for row in rows)
    told = ", ".join(f"{counts[word]} {word}" for word in dict.fromkeys((*_WORDS.values(), "failed")) if counts[word])
    return [*aligned(cells), f"{len(rows)} scripts: {told}"]


def _document(out: str) -> dict[str, Any]:
    try:
        found = json.loads(out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


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
