"""`autotune show SCRIPT`: stages, loops, variants, space, the best schedule and why, lowered code, assembly."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import settings
from ..binding import bind
from ..errors import Error
from ..machine import is_cuda_isa, targets_of
from ..native import compiler
from ..record import ScriptRaised, ScriptStopped
from ..record.choose import NothingToTune
from .app import OK, SCRIPT_RAISED, USAGE
from .parse import UsageError, scripts_of, targets
from .session import Prepared, Request, prepare

if TYPE_CHECKING:
    from ..device_profile import Profile

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_PARTS = ("all", "stages", "space", "schedule", "program", "code", "profile")


@app.command()
def show(
    *,
    scripts: Annotated[list[Path] | None, typer.Argument(help="A script.", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", help="Run a module, as `python -m` does.")] = None,
    function: Annotated[str | None, typer.Option(help="Show this function.")] = None,
    workload: Annotated[str, typer.Option(help="Which call: time, first, largest, all.")] = "time",
    part: Annotated[str, typer.Option(help=f"What to show: {', '.join(_PARTS)}.")] = "all",
    db: Annotated[Path | None, typer.Option(help="The store.")] = None,
    contract: Annotated[str, typer.Option(help="numpy, reproducible, fast.")] = "numpy",
    target: Annotated[
        str, typer.Option(help="host, x86-64-v3, …, or cuda: PTX, registers, copies; host,cuda shows both.")
    ] = "host",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Show what tilewright makes of a script's function."""
    try:
        if part not in _PARTS:
            raise UsageError(f"--part: {part!r} is none of {', '.join(_PARTS)}.")
        wanted = scripts_of(scripts or [], module)
        if len(wanted) != 1:
            raise UsageError(f"show: {len(wanted)} scripts given. Give one.")
        named = targets([target])
        try:
            places = targets_of(",".join(named))
        except ValueError as error:
            raise UsageError(f"--{error}") from None
        recorded = prepare(wanted[0], Request(function, workload, False, contract, target=",".join(named)))
        for refusal in recorded.refusals:
            print(refusal, file=sys.stderr)
        for one in recorded.prepared:
            for isa in (places.host, places.device):
                if isa is None:
                    continue
                if not as_json and len(named) > 1:
                    print(f"---- {isa}")
                _look_up(one, is_cuda_isa(isa), db)
                _print(one, isa, part, as_json)
        return OK
    except ScriptRaised as error:
        print(f"autotune: {error}", file=sys.stderr)
        return SCRIPT_RAISED
    except (UsageError, ScriptStopped, NothingToTune, Error) as error:
        print(f"autotune: {error}", file=sys.stderr)
        return USAGE


def _look_up(one: Prepared, on_device: bool, db: Path | None) -> None:
    """The stored schedule or a default one; what the specialization says is about such calls from here on."""
    from ..stored import stored_schedule

    specialization = one.specialization
    bound = bind(specialization.traced, specialization.program, one.call.args, one.call.kwargs)
    bound = replace(bound, on_device=on_device)
    if specialization.example is not None and specialization.example.on_device != on_device:
        specialization.example = replace(specialization.example, on_device=on_device)
        specialization.evidence = None  # of the other place
    found = stored_schedule(specialization, bound, settings.store_path(db))
    if found is not None:
        specialization.set_schedule(found.schedule, bound, file="store", label="tuned")
        specialization.evidence = found.evidence
    elif not specialization.fits(bound):
        specialization.add_version(bound)


def _print(one: Prepared, isa: str, part: str, as_json: bool) -> None:
    specialization = one.specialization
    if as_json:
        document = {
            "function": one.function.__name__,
            "signature": specialization.signature,
            "target": isa,
            "program": specialization.program.text,
            "loops": compiler().loops(specialization.program.text),
            "stages": specialization.stages,
            "space": specialization.space,
            "schedule": specialization.schedule,
            "evidence": specialization.evidence,
        }
        if _runs_on_device(one):
            document["kernels"] = _profile_document(one)
        print(json.dumps(document))
        return
    if part == "program":
        print(specialization.program.text.rstrip())
    elif part == "space":
        print(specialization.space.rstrip())
    elif part == "schedule":
        print(specialization.schedule.rstrip())
    elif part == "code":
        print(specialization.explain(code=True))
    elif part == "stages":
        print(specialization.explain())
    elif part == "profile":
        print(_profile_text(one))
    else:
        print(one.choice.sentence)
        print(specialization.explain())
        if _runs_on_device(one):
            print(_profile_text(one))
        print("space:")
        print("\n".join(f"  {line}" for line in specialization.space.strip().splitlines()))
        print(specialization.explain(code=True).partition("lowered code of ")[2].join(["lowered code of ", ""]))


def _runs_on_device(one: Prepared) -> bool:
    example = one.specialization.example
    return example is not None and example.on_device


def _profile(one: Prepared) -> Profile:
    """Of the recorded call. Raises DeviceError without a device."""
    return one.specialization.profile(*one.call.args, **one.call.kwargs)


def _profile_text(one: Prepared) -> str:
    try:
        return _profile(one).text()
    except Error as error:
        return f"kernels of a call: not timed: {error}"


def _profile_document(one: Prepared) -> dict[str, Any]:
    try:
        profile = _profile(one)
    except Error as error:
        return {"not_timed": str(error)}
    return {"rows": [asdict(row) for row in profile.rows], "gbps": profile.gbps, "device": profile.device}
