"""`autotune show SCRIPT`: stages, loops, variants, space, the best schedule and why, lowered code, assembly."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .. import settings
from ..datasets import Call, Reference
from ..errors import Error
from ..machine import targets_of
from ..stored import stored_schedule
from .exit_codes import OK
from .parse import UsageError, check_one_of, script_of, targets, text_file, usage_errors
from .session import Prepared, Request, bound_of, placed_calls

if TYPE_CHECKING:
    from ..device_profile import Profile

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_PARTS = ("page", "all", "stages", "space", "schedule", "program", "code", "profile")
_PAGE_LINES = 40
_PAGE_WIDTH = 160
_WHY = "\nwhy this schedule"
_TIMED_RUNS = 3  # of a call with stages


@app.command()
def show(
    *,
    scripts: Annotated[list[Path] | None, typer.Argument(help="A script.", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", help="Run a module, as `python -m` does.")] = None,
    function: Annotated[str | None, typer.Option(help="Show this function.")] = None,
    workload: Annotated[str, typer.Option(help="Which call: time, first, largest, all.")] = "time",
    part: Annotated[str, typer.Option(help=f"What to show: {', '.join(_PARTS)}.")] = "page",
    schedule: Annotated[Path | None, typer.Option(help="Show this schedule instead of the stored one.")] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="Show the algorithm with this variant: matmul=loops; --part stages lists all."),
    ] = None,
    db: Annotated[Path | None, typer.Option(help="Store to use.")] = None,
    contract: Annotated[str, typer.Option(help="numpy, reproducible, fast.")] = "numpy",
    target: Annotated[
        str, typer.Option(help="host, x86-64-v3, …, or cuda (PTX, registers, copies); host,cuda shows both.")
    ] = "host",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Show what tilewright makes of a script's function."""
    check_one_of("--part", part, _PARTS)
    script = script_of("show", scripts, module)
    named = targets([target])
    with usage_errors():
        targets_of(",".join(named))
    chosen = _choices(variant or [])
    text = text_file("--schedule", schedule)
    if text is not None and chosen:
        raise UsageError(f"--variant {(variant or [])[0]}: a schedule names its own variants. Leave one out.")
    for one, isa in placed_calls(script, Request(function, workload, False, contract, target=",".join(named))):
        if not as_json and len(named) > 1:
            print(f"---- {isa}")
        if text is not None:
            one.specialization.set_schedule(text, bound_of(one), file=str(schedule))
        elif chosen:
            one.specialization.choose_variants(chosen)
            _use_default(one)
        else:
            _look_up(one, db)
        _time_stages(one)
        _print(one, isa, part, as_json)
    return OK


def _choices(given: list[str]) -> dict[str, str]:
    """`--variant matmul=loops` -> {"matmul": "loops"}"""
    chosen = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"--variant {text}: is not a choice. Write NAME=VALUE, matmul=loops say.")
        chosen[name] = value
    return chosen


def _look_up(one: Prepared, db: Path | None) -> None:
    """The stored schedule, or a default one."""
    specialization, bound = one.specialization, bound_of(one)
    found = stored_schedule(specialization, bound, settings.store_path(db))
    if found is not None:
        specialization.set_schedule(found.schedule, bound, file="store", label="tuned")
        specialization.evidence = found.evidence
    elif not specialization.fits(bound):
        specialization.add_version(bound)


def _use_default(one: Prepared) -> None:
    """The default schedule of the variants that were chosen."""
    specialization = one.specialization
    specialization.drop_schedule()
    specialization.versions.clear()
    specialization.add_version(bound_of(one))


def _time_stages(one: Prepared) -> None:
    """Run the call, where that says what share of it NumPy has."""
    specialization = one.specialization
    if not specialization.traced.stages or _runs_on_device(one):
        return
    specialization.changed()
    reference = Reference(one.function, specialization.traced, specialization.program)
    with np.errstate(all="ignore"), suppress(Error):
        for _ in range(_TIMED_RUNS):
            reference.run(reference.fresh(Call("recorded", one.call.args, one.call.kwargs)))


def _print(one: Prepared, isa: str, part: str, as_json: bool) -> None:
    specialization = one.specialization
    if as_json:
        document = {
            "function": one.function.__name__,
            "signature": specialization.signature,
            "target": isa,
            "program": specialization.program.text,
            "loops": specialization.loops,
            "stages": specialization.stages,
            "numpy_stages": [stage.as_evidence() for stage in specialization.numpy_stages],
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
    elif part == "page":
        print("\n".join(_page(one)))
    else:
        print(one.choice.sentence)
        print(specialization.explain())
        if _runs_on_device(one):
            print(_profile_text(one))
        print("space:")
        print("\n".join(f"  {line}" for line in specialization.space.strip().splitlines()))
        print(specialization.explain(code=True).partition("lowered code of ")[2].join(["lowered code of ", ""]))


def _page(one: Prepared) -> list[str]:
    """What fits on a page, and where the rest is."""
    specialization = one.specialization
    described, _, schedule = specialization.explain().partition("\nschedule:\n")
    described, starts, why = described.partition(_WHY)
    parts = [
        ("stages", described.splitlines()),
        ("", f"{starts}{why}".strip().splitlines()),
        ("schedule", ["schedule:", *schedule.splitlines()]),
    ]
    lines = [one.choice.sentence]
    for part, text in parts:
        # Each gets what it needs of its half, and of the other's what that leaves.
        others = sum(min(len(other), _PAGE_LINES // 2) for name, other in parts if name != part)
        room = max(_PAGE_LINES // 2, _PAGE_LINES - others)
        lines += [line if len(line) <= _PAGE_WIDTH else f"{line[: _PAGE_WIDTH - 1]}…" for line in text[:room]]
        if len(text) > room:
            lines.append(f"  … {len(text) - room} more lines: --part {part}")
    if _runs_on_device(one):
        lines += _profile_text(one).splitlines()[: _PAGE_LINES // 2]
    space = len(specialization.space.strip().splitlines())
    lines.append(
        f"more: --part space ({space} lines), program, code (lowered, assembly), all; --schedule FILE; --variant NAME=VALUE"
    )
    return lines


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
