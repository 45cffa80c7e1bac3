"""A person's schedule and space, checked against what was chosen before any time is spent on them."""

from __future__ import annotations

import re

from ..errors import ScheduleError
from ..export.versions import isa_levels
from ..machine import CUDA_TARGETS, ISA_LEVELS, is_cuda_isa, resolve_isa
from .session import Prepared
from .tune_options import Options


def head_of(schedule: str | None) -> tuple[str, str]:
    """The function and the target that a schedule names."""
    found = re.search(r"^schedule (\w+) for (\S+)", schedule or "", re.M)
    return (found[1], resolve_isa(found[2])) if found else ("", "")


def scheduled_calls(prepared: list[Prepared], options: Options) -> list[Prepared]:
    """The calls that a person's schedule is for. ScheduleError where it is for another function or target."""
    if options.tune.schedule is None:
        return []
    name, isa = head_of(options.tune.schedule)
    chosen = [one for one in prepared if one.specialization.program.function == name]
    if not chosen:
        known = ", ".join(dict.fromkeys(one.function.__name__ for one in prepared))
        raise ScheduleError(
            f"{options.schedule_file}: the schedule is for the function {name}, but the chosen functions are: {known}.",
            f"Choose it with --function {name}, or write the function's name behind `schedule`.",
        )
    asked = [level for level in isa_levels(options.export.targets) if is_cuda_isa(level) == is_cuda_isa(isa)]
    if not asked or _rank(isa) > _rank(asked[0]):
        raise ScheduleError(
            f"{options.schedule_file}: the schedule is for {isa}, and --target is {','.join(options.export.targets)}"
            f"{f', which is {asked[0]} here' if asked and asked[0] not in options.export.targets else ''}.",
            f"Give --target {isa}, or a schedule for {asked[0] if asked else options.export.targets[0]}.",
        )
    return chosen


def is_among(one: Prepared, others: list[Prepared]) -> bool:
    return any(one is other for other in others)  # equality would compare the arrays of calls


def _rank(isa: str) -> int:
    """Levels of one kind in the order in which each has what those before it have."""
    return -(CUDA_TARGETS if is_cuda_isa(isa) else ISA_LEVELS).index(isa)


def check_files(one: Prepared, options: Options, *, has_schedule: bool) -> None:
    """A person's schedule and space against the stages of the function, before any time is spent on them."""
    if has_schedule and options.tune.schedule is not None:
        one.specialization.check_schedule(options.tune.schedule, str(options.schedule_file))
    if options.tune.space is None:
        return
    known = one.specialization.stage_names()
    made = set(re.findall(r"\bas (\w+)", options.tune.space))
    for number, line in enumerate(options.tune.space.splitlines(), 1):
        for name in re.findall(r"(?:^|[{|])\s*(\w+)\.", line):
            if name not in known and name not in made:
                raise ScheduleError(
                    f"{options.space_file}: line {number} of its canonical text: {name}: there is no such stage.",
                    f"The stages are: {', '.join(sorted(known))}.",
                )
