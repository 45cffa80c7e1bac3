"""`autotune run SCRIPT`: the unchanged script, whose functions are compiled once their calls take long; what was gained, a line a
function.

The script's process is this one: what it would not import itself takes a share of a short script's time, so typer, which reads
the options of all other commands, is none of it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import settings
from ..script import START, Script, ScriptStopped, check_script
from . import script_arguments
from .exit_codes import SCRIPT_RAISED

_ABOUT = "Run a script, with its functions compiled once their calls take long, and those that were tuned as they were tuned."


def main(arguments: list[str]) -> int:
    """Its exit code. This very process runs it: another start of Python would take longer than all that is imported here."""
    began_ns = time.perf_counter_ns()
    own, passed = script_arguments.split_at_dashes(arguments)
    options, script = _options(own, passed)
    store = settings.store_path(options.db)
    names = _tuned_names(store) if options.before else []
    os.environ.setdefault("MPLBACKEND", "Agg")
    if options.db is not None:
        os.environ["TILEWRIGHT_DB"] = str(store)
    report: dict[str, Any] = {"name": script.name, "as_json": options.json, "earlier": None}
    if options.before:
        code, report["earlier"] = _as_it_is(script, names)
        if code != 0:
            check_script(script)
            print(f"autotune: {script.name}: fails as it is (exit code {code}).", file=sys.stderr)
            return SCRIPT_RAISED
    from ..patched_run import run_script  # noqa: PLC0415  (`--help` needs none of it)

    return run_script(began_ns, report, None, script)


def _options(own: list[str], passed: list[str]) -> tuple[argparse.Namespace, Script]:
    parser = argparse.ArgumentParser(
        "autotune run",
        "autotune run [OPTIONS] SCRIPT [-- ARGUMENTS]",
        _ABOUT,
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=_columns()),  # else it imports shutil to ask
    )
    parser.add_argument("script", nargs="*", type=Path, help="A script.")
    parser.add_argument("-m", dest="module", help="Run a module, as `python -m` does.")
    parser.add_argument("--db", type=Path, help="Store to use.")
    parser.add_argument(
        "--before",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="Run it as it is first, and print both times.",
    )
    parser.add_argument("--json", action="store_true", help="Print the times as JSON on stderr.")
    options, unknown = parser.parse_known_args(own)
    if unknown:
        raise ScriptStopped(f"run: no option {unknown[0]}{_meant(parser, unknown[0])}. {script_arguments.FOLLOW}")
    if options.module is not None and options.script:
        raise ScriptStopped(f"-m {options.module}: and {options.script[0]}: give a module or a script, not both.")
    if options.module is None and len(options.script) != 1:
        follow = f" {script_arguments.FOLLOW}" if options.script else ""
        raise ScriptStopped(f"run: {len(options.script)} scripts given. Give one.{follow}")
    return options, Script(options.script[0] if options.script else None, options.module, passed)


def _meant(parser: argparse.ArgumentParser, word: str) -> str:
    """An option that is spelt much like the word."""
    from difflib import get_close_matches  # noqa: PLC0415  (slow to import, for what is wrong alone)

    known = [option for action in parser._actions for option in action.option_strings]
    meant = get_close_matches(word.partition("=")[0], known, 1)
    return f" (did you mean {meant[0]}?)" if meant else ""


def _tuned_names(store: Path | None) -> list[str]:
    """The functions with stored schedules, whose calls are timed in the run that shows what Python takes."""
    if store is None or not os.path.exists(store):
        return []

    from ..native import compiler  # noqa: PLC0415  (slow to load)

    rows = compiler().Store(str(store)).list()
    return sorted({str(row["workload"]["function"]) for row in rows if row["record"] is not None})


def _columns() -> int:
    """As argparse finds them out for its help."""
    given = os.environ.get("COLUMNS", "")
    with suppress(OSError, ValueError, AttributeError):
        return (int(given) if given.isdigit() and int(given) else os.get_terminal_size(sys.__stdout__.fileno())[0]) - 2  # type: ignore[union-attr]
    return 78


def _as_it_is(script: Script, names: list[str]) -> tuple[int, dict[str, Any] | None]:
    """Its exit code, and what was seen of a run without us, which shows nothing to anybody; None where it ends without
    Python's end (os._exit())."""
    import subprocess  # noqa: PLC0415  (slow to import, for `--before` alone)

    read, write = os.pipe()
    nothing, environment = subprocess.DEVNULL, {**os.environ, "TILEWRIGHT_DISABLE": "1"}
    which = ["-m", script.module] if script.module is not None else [str(script.path)]
    command = [sys.executable, "-c", START, str(write), ",".join(names) or "-", *which, *script.arguments]
    with subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, pass_fds=[write], env=environment
    ) as process:
        os.close(write)
        with os.fdopen(read) as pipe:
            text = pipe.read()
    return process.returncode, json.loads(text) if text else None
