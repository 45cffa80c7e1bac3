"""`autotune run SCRIPT`: the unchanged script with the tuned functions patched in; end-to-end times before and after."""

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
from ..quantities import format_ns
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
    skip_before: Annotated[bool, typer.Option("--no-before", help="Skip the run without tuning.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the times as JSON on stderr.")] = False,
) -> int:
    """Run a script with its tuned functions, and print the times before and after."""
    script = script_of("run", scripts, module)
    check_script(script)
    store = settings.store_path(db)
    names = _tuned_names(store)
    before = None
    if not skip_before:
        before = _timed(script, "plain", names, {"TILEWRIGHT_DISABLE": "1"})
        if before.code != 0:
            print(f"autotune: {script.name}: fails without tuning too (exit code {before.code}).", file=sys.stderr)
            return SCRIPT_RAISED
    after = _timed(script, "tuned", names, {} if db is None else {"TILEWRIGHT_DB": str(store)})
    if after.code != 0:
        print(f"autotune: {script.name}: ended with exit code {after.code}.", file=sys.stderr)
        return SCRIPT_RAISED
    if as_json:
        print(json.dumps(_document(before, after)), file=sys.stderr)
        return OK
    for line in _lines(script.name, before, after):
        print(line, file=sys.stderr)
    return OK


@dataclass
class _Run:
    """One run of the script in a separate process."""

    code: int
    wall_s: float
    own_s: float  # of that, tilewright's own start
    end_s: float  # from the script's end to the process's
    functions: dict[str, dict[str, int]]  # calls, ns, first_ns
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


def _document(before: _Run | None, after: _Run) -> dict[str, Any]:
    functions = {}
    for name in after.patched:
        times = after.functions.get(name)
        earlier = None if before is None else before.functions.get(name)
        functions[name] = {"after": times, "before": earlier}
    return {
        "before_s": None if before is None else before.script_s(None),
        "after_s": after.script_s(before),
        "own_s": after.wall_s - after.script_s(before),
        "patched": after.patched,
        "functions": functions,
    }


def _lines(name: str, before: _Run | None, after: _Run) -> list[str]:
    """One for each patched function, and one for the whole."""
    document = _document(before, after)
    lines = [_function_line(each, document) for each in after.patched]
    after_s = document["after_s"]
    whole = f"{after_s:.2f} s after"
    if before is not None:
        before_s = document["before_s"]
        whole = f"{before_s:.2f} s before, {whole} ({before_s / after_s:.2f}x)"
    if not after.patched:
        whole += "; no function was patched in, because no call of it was tuned (tune the script first)"
    return [*lines, f"{name}: {whole}; tilewright's own start took {document['own_s']:.2f} s beside that"]


def _function_line(name: str, document: dict[str, Any]) -> str:
    after, before = document["functions"][name]["after"], document["functions"][name]["before"]
    if after is None:  # called from other compiled functions alone
        return f"  {name}: inside of other functions"
    calls = f"{after['calls']} call{'s' if after['calls'] > 1 else ''}"
    first = f", its first call {format_ns(after['first_ns'])}" if after["calls"] > 1 else ""
    if not first and before is not None and after["ns"] > before["ns"]:
        first = ", for a first call traces the function, and compares its code with NumPy"
    if before is None:
        return f"  {name}: {calls}, {format_ns(after['ns'])} after{first}"
    share = before["ns"] / 1e9 / document["before_s"]
    return (
        f"  {name}: {calls}, {format_ns(before['ns'])} before, {format_ns(after['ns'])} after "
        f"({before['ns'] / max(1, after['ns']):.2f}x{first}), {100 * min(share, 1.0):.0f} % of the script before"
    )


def _timed(script: Script, mode: str, names: list[str], environment: dict[str, str]) -> _Run:
    which = ["-m", script.module] if script.module is not None else [str(script.path)]
    read, write = os.pipe()
    launcher = [sys.executable, "-c", patched_run.START, str(write), mode, ",".join(names) or "-"]
    output = None if mode == "tuned" else subprocess.DEVNULL
    start = time.perf_counter()
    process = subprocess.Popen(
        [*launcher, *which, *script_arguments.arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[write],
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
