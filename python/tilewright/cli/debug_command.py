"""`autotune debug SCRIPT`: where a wrong answer or a crash comes from, for the calls that the script makes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from .. import settings
from ..debug.calls import InUse, check_device_is_here, debug_call
from ..debug.dump import check_folder
from ..debug.report import DIFFERS, Report
from ..decorator import CONTRACTS, DEBUG_LIMIT
from ..machine import targets_of
from ..quantities import parse_duration_s
from ..record.choose import WORKLOADS
from ..stored import stored_schedule
from .exit_codes import OK
from .parse import check_one_of, script_of, targets, text_file, usage_errors
from .session import Prepared, Request, bound_of, placed_calls

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_EPILOG = f"Exit code: 0 nothing differs, 1 the script raised, 2 usage, {DIFFERS} something differs."


@app.command(epilog=_EPILOG)
def debug(
    *,
    scripts: Annotated[list[Path] | None, typer.Argument(help="A script.", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", help="Run a module, as `python -m` does.")] = None,
    function: Annotated[str | None, typer.Option(help="Debug this function.")] = None,
    workload: Annotated[str, typer.Option(help="Which calls of each function: time, first, largest, all.")] = "all",
    schedule: Annotated[Path | None, typer.Option(help="Debug this schedule instead of the stored one.")] = None,
    db: Annotated[Path | None, typer.Option(help="Store to use.")] = None,
    contract: Annotated[str, typer.Option(help="numpy, reproducible, fast.")] = "numpy",
    target: Annotated[str, typer.Option(help="host, x86-64-v3, …, cuda, or host,cuda.")] = "host",
    dump: Annotated[
        Path | None,
        typer.Option(
            help="A new folder: for each call the program behind each pass, stages, plan, schedule, lowered code, assembly, "
            "arguments, and a script that shows the difference again."
        ),
    ] = None,
    limit: Annotated[str, typer.Option(help="Time limit of each step: 60s, 2m.")] = DEBUG_LIMIT,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Run a script, and find out for its calls where a wrong answer or a crash comes from: trace, pass, schedule, code."""
    script = script_of("debug", scripts, module)
    check_one_of("--contract", contract, CONTRACTS)
    check_one_of("--workload", workload, WORKLOADS)
    with usage_errors():
        limit_s = parse_duration_s(limit, "--limit")
        named = targets([target])
        places = targets_of(",".join(named))
    text = text_file("--schedule", schedule)
    check_folder(dump)
    if places.device is not None:
        check_device_is_here(f"--target {target}")
    reports: list[Report] = []
    seen: Counter[str] = Counter()
    for one, _ in placed_calls(script, Request(function, workload, False, contract, target=",".join(named))):
        name = one.function.__name__
        seen[name] += 1
        folder = dump and dump / (name if seen[name] == 1 else f"{name}-{seen[name]}")
        if text is None:
            in_use = _stored(one, db)
        else:
            in_use = InUse("by hand", one.specialization.check_schedule(text, str(schedule)))
        call, on_device = one.call, bound_of(one).on_device
        report = debug_call(
            one.function, call.args, call.kwargs, limit_s=limit_s, dump=folder, on_device=on_device, in_use=in_use
        )
        reports.append(report)
        if not as_json:
            print(report.text())
    if as_json:
        print(json.dumps([report.as_document() for report in reports]))
    return DIFFERS if any(report.differs for report in reports) else OK


def _stored(one: Prepared, db: Path | None) -> InUse | None:
    found = stored_schedule(one.specialization, bound_of(one), settings.store_path(db))
    return None if found is None else InUse("tuned", found.schedule)
