"""`autotune run SCRIPT`: the unchanged script with the tuned functions patched in; end-to-end times before and after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..record import Script, ScriptStopped, check_script
from . import script_arguments
from .app import OK, SCRIPT_RAISED, USAGE
from .parse import UsageError, scripts_of

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def run(
    scripts: Annotated[list[Path] | None, typer.Argument(help="A script.", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", help="Run a module, as `python -m` does.")] = None,
    db: Annotated[Path | None, typer.Option(help="The store.")] = None,
    skip_before: Annotated[
        bool, typer.Option("--no-before", help="Do not run the script without tuning first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The times as JSON on stderr.")] = False,
) -> int:
    """Run a script with its tuned functions, and say what that gave."""
    try:
        wanted = scripts_of(scripts or [], module)
        if len(wanted) != 1:
            raise UsageError(f"run: {len(wanted)} scripts given. Give one.")
        script = wanted[0]
        check_script(script)
    except (UsageError, ScriptStopped) as error:
        print(f"autotune: {error}", file=sys.stderr)
        return USAGE
    before_s = None
    if not skip_before:
        before_s, code, _ = _timed(script, None, show=False)
        if code != 0:
            print(f"autotune: {script.name}: fails without tuning too (exit code {code}).", file=sys.stderr)
            return SCRIPT_RAISED
    environment = {} if db is None else {"TILEWRIGHT_DB": str(db.absolute())}
    after_s, code, patched = _timed(script, environment, show=True)
    if code != 0:
        print(f"autotune: {script.name}: ended with exit code {code}.", file=sys.stderr)
        return SCRIPT_RAISED
    if as_json:
        print(json.dumps({"before_s": before_s, "after_s": after_s, "patched": patched}), file=sys.stderr)
        return OK
    names = ", ".join(patched) or "no function (tune the script first)"
    before = "" if before_s is None else f"{before_s:.2f} s before, "
    ratio = "" if before_s is None else f" ({before_s / after_s:.1f}x)"
    print(f"{script.name}: {before}{after_s:.2f} s after{ratio}; patched in: {names}", file=sys.stderr)
    return OK


def _timed(script: Script, environment: dict[str, str] | None, show: bool) -> tuple[float, int, list[str]]:
    """Wall time of a process of its own, its exit code, and what was patched in."""
    which = ["-m", script.module] if script.module is not None else [str(script.path)]
    read, write = os.pipe()
    if environment is None:
        command = [sys.executable, *which, *script_arguments.arguments]
        environment = {"TILEWRIGHT_DISABLE": "1"}
    else:
        command = [sys.executable, "-m", "tilewright.record.patched", str(write), *which, *script_arguments.arguments]
    output = None if show else subprocess.DEVNULL
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[write],
        env={**os.environ, "MPLBACKEND": os.environ.get("MPLBACKEND", "Agg"), **environment},
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    code = process.wait()
    spent = time.perf_counter() - start
    return spent, code, json.loads(text) if text else []
