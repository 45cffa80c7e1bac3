"""The module that `autotune SCRIPT` writes: which of the functions it has, and why not the others."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from ..builder import build
from ..decorator import JitFunction
from ..errors import ExportError
from ..export import export_module
from ..export.package import are_of_one_module, check_exportable
from ..export.versions import ExportOptions, count_of_versions, isa_levels
from ..machine import is_cuda_isa
from ..own_frames import stands_in
from ..specialization import Specialization
from .own_schedules import head_of
from .progress import Progress
from .session import Prepared
from .tune_options import Options

Functions = list[tuple[JitFunction, list[Specialization]]]


def why_no_module(function: JitFunction, specializations: list[Specialization], options: ExportOptions) -> str:
    """Why a module cannot have a function; "" where it can."""
    if stands_in(function.__wrapped__.__code__):  # type: ignore[attr-defined]
        return f"{function.__name__}: it is a loop of the script's, and a module holds functions."
    try:
        check_exportable(function, specializations, options)
    except ExportError as error:
        return str(error)
    return ""


def names_for_module(prepared: list[Prepared]) -> list[str]:
    """The names of those that a module can have."""
    return list(dict.fromkeys(one.function.__name__ for one in prepared if not one.choice.why_no_module))


def built_module(prepared: list[Prepared], options: Options, progress: Progress) -> list[JitFunction]:
    """The module of `--build-only`. Raises ExportError, ScheduleError."""
    text = options.tune.schedule
    if text is not None:
        on_device = is_cuda_isa(head_of(text)[1])
        highest = next(isa for isa in isa_levels(options.export.targets) if is_cuda_isa(isa) == on_device)
        for one in prepared:
            if (example := one.specialization.example) is not None:
                bound = replace(example, on_device=on_device)
                # The levels below may lack what it names; this one has to have it.
                build(one.specialization.request(bound, isa=highest, schedule=text))
                one.specialization.set_schedule(text, bound, file=str(options.schedule_file))
    functions, left_out = for_module(prepared, options)
    if not functions:
        raise ExportError(next(iter(left_out.values())))
    for why in left_out.values():
        progress.warn(why)
    _write(functions, options, progress)
    return [function for function, _ in functions]


def for_module(
    prepared: list[Prepared], options: Options, failed: Collection[Specialization] = ()
) -> tuple[Functions, dict[str, str]]:
    """The functions that the module gets, each with its specializations, those that were chosen first; and by their names why
    others are not among them. `failed`: those of which a search found nothing that is right."""
    chosen: dict[JitFunction, list[Specialization]] = {}
    for one in prepared:
        specializations = chosen.setdefault(one.function, [])
        if one.specialization not in specializations:
            specializations.append(one.specialization)
    functions: Functions = []
    left_out: dict[str, str] = {}
    for function, specializations in chosen.items():
        specializations += [s for s in function.specializations if s not in specializations and s not in failed]
        name = function.__name__
        if name in [other.__name__ for other, _ in functions]:
            left_out[name] = f"{name}: another function of that name is in it (--function picks one)."
        elif why := why_no_module(function, specializations, options.export):
            left_out[name] = why
        elif other := next((g.__name__ for g, of in functions if not are_of_one_module(of, specializations)), ""):
            left_out[name] = (
                f"{name}: it calls another function by a name that {other} calls one by (--function picks one)."
            )
        else:
            functions.append((function, specializations))
    return functions, left_out


@dataclass
class Written:
    """What became of a module."""

    functions: list[str]
    left_out: dict[str, str]


def export(
    prepared: list[Prepared], options: Options, progress: Progress, failed: Collection[Specialization] = ()
) -> Written:
    """The module of those that one can have. Raises ExportError where none can be had that was asked for."""
    if not options.writes_module:
        return Written([], {})
    functions, left_out = for_module(prepared, options, failed)
    if functions:
        progress.say(f"writing {options.out}")
        _write(functions, options, progress)
    elif options.asks_for_module:
        raise ExportError(next(iter(left_out.values())))
    return Written([function.__name__ for function, _ in functions], left_out)


def _write(functions: Functions, options: Options, progress: Progress) -> None:
    """The module, which no budget is for: how far it is and how long it took is told apart."""
    started = time.monotonic()
    total = sum(count_of_versions(s, options.export) for _, specializations in functions for s in specializations)
    export_module(options.out, functions, replace(options.export, say=progress.steps(total)))
    progress.say(f"wrote the module in {time.monotonic() - started:.1f} s: {total} versions of the code")
