"""Rows of programs, each measured in a process of its own: which ones are asked for, the process and its limit, the file that rows stay in."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from programs import Program, programs
from run import HERE, machine

Row = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, limit_s: float) -> None:
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="what a name begins with (all without one)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program (again for more)")
    parser.add_argument("--limit", type=float, default=limit_s, metavar="SECONDS", help="for one program, all included")
    parser.add_argument("--npbench", type=Path, metavar="FOLDER", help="a checkout of NPBench: its other programs too")
    parser.add_argument("--sizes", default="S,M", help="of NPBench's programs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there; those of earlier runs stay")
    parser.add_argument("--missing", action="store_true", help="leave out what FILE has a row of")
    parser.add_argument("--list", action="store_true", help="only names")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--one", help=argparse.SUPPRESS)


def all_programs(options: argparse.Namespace, *, small: bool = False) -> list[Program]:
    return list(programs(options.npbench, options.sizes.split(","), small=small))


def chosen(parser: argparse.ArgumentParser, options: argparse.Namespace, every: list[Program]) -> list[str]:
    """The names that the words of the command ask for."""
    names = [each.name for each in every]
    for name in options.only or []:
        if name not in names:
            parser.error(f"no program is called {name!r}; --list says what there is.")
    begun = tuple(options.programs)
    if begun or options.only:
        names = [name for name in names if name in (options.only or []) or (begun and name.startswith(begun))]
    return names


def in_a_process(
    script: str, name: str, words: list[str], options: argparse.Namespace, environment: Mapping[str, str] | None = None
) -> Row:
    """The row that `script --one NAME` prints; a row with a reason where that fails or takes longer than the limit."""
    command = [sys.executable, str(HERE / script), "--one", name, *words]
    command += ["--out", str(options.out), "--sizes", options.sizes]
    command += ["--npbench", str(options.npbench)] if options.npbench else []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    ) as child:
        try:
            said, complaint = child.communicate(timeout=options.limit)
        except BaseException as error:  # Ctrl-C, too: nobody else ends its session
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return {"program": name, "failed": f"not through after {options.limit:g} s"}
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if child.returncode or not lines:
        last = [line for line in complaint.splitlines() if line.strip() and not line.startswith(" ")] or [""]
        return {"program": name, "failed": f"ended with {child.returncode}: {last[-1]}"[:300]}
    return dict(json.loads(lines[-1]))


def rows_of(
    names: list[str],
    options: argparse.Namespace,
    measure: Callable[[str], Row],
    line: Callable[[Row], str],
    said: Row,
) -> list[Row]:
    """A row for each name, printed as it comes and written to the file with what is `said` of all; a row that failed is missing."""
    kept: dict[str, Row] = {}
    if options.json and options.json.exists():
        kept = {row["program"]: row for row in json.loads(options.json.read_text(encoding="utf-8"))["rows"]}
    rows = []
    for name in names:
        if options.missing and "failed" not in kept.get(name, {"failed": ""}):
            rows.append(kept[name])
            continue
        rows.append(measure(name))
        kept[name] = rows[-1]
        print(line(rows[-1]), flush=True)
        if options.json:
            document = {"machine": machine(), "date": time.strftime("%Y-%m-%d %H:%M"), **said, "rows": list(kept.values())}  # fmt: skip
            options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return rows
