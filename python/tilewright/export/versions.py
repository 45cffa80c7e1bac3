"""The versions that a module carries: for each ISA level the tuned one, small calls, other layouts, and any call; for a
CUDA target the same but for small calls: a device's schedule does not depend on the work."""

from __future__ import annotations

import itertools
import string
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..binding import Bound
from ..builder import BuildRequest, build
from ..errors import Error, ExportError, ScheduleError
from ..logs import logger
from ..machine import CUDA_TARGETS, ISA_LEVELS, is_cuda_isa, resolve_isa
from ..native import compiler
from ..partials import Partials
from ..plan import Build, Version
from ..program import Program, evaluate
from ..specialization import Specialization
from ..work import is_small, work_condition

_SMALL_EXTENT = 100
# A version for millions of elements shares out tiles that a few thousand do not fill: those get a separate one.
_MEDIUM_EXTENT = 1 << 14
_GROWTH = 1024  # from a small recorded call to the sizes for which the default version is built
# Sizes for which every blocked reduction has all its levels, so that the version for any call needs no condition.
_HUGE_EXTENT = 1 << 26
_MAX_FREE_LAYOUTS = 2  # arrays of rank 2 and more for which all combinations of C and Fortran order are built

_SHORT = {isa: isa.removeprefix("x86-64-") for isa in ISA_LEVELS[:-1]} | {ISA_LEVELS[-1]: "v1"}
_SHORT |= {isa: isa.replace("cuda-sm_", "c") for isa in CUDA_TARGETS}


@dataclass(frozen=True)
class ExportOptions:
    """What to write, and over what."""

    targets: tuple[str, ...] = ("host",)
    force: bool = False
    replace_own: bool = False  # a folder that we wrote and nobody changed may be replaced
    wheel: bool = False
    libraries: bool = True
    allow_fallback: bool = False
    script: str = ""
    cubins: tuple[str, ...] | None = None  # architectures; None: of the devices that are here
    say: Callable[[str], None] = lambda _: None  # hears what is compiled


def isa_levels(targets: tuple[str, ...]) -> list[str]:
    """The levels asked for, highest first, the baseline always among those of the host; CUDA targets follow. ValueError
    for an unknown one."""
    chosen = {resolve_isa(target) for target in targets}
    devices = [isa for isa in CUDA_TARGETS if isa in chosen]
    if len(devices) < len(chosen) or not chosen:
        chosen.add(ISA_LEVELS[-1])
    return [level for level in ISA_LEVELS if level in chosen] + devices


def versions_of(specialization: Specialization, options: ExportOptions, number: int) -> list[Version]:
    """All versions of one specialization, in the order in which the plan tries them."""
    bound = specialization.example
    assert bound is not None
    levels = isa_levels(options.targets)
    leads = [specialization.lead_for(is_cuda_isa(isa)) for isa in levels]
    if not options.libraries and any(lead is not None and lead.build.libraries for lead in leads):
        logger.warning(
            "%s: the schedule in use calls a library, and the module is to have none: it has default schedules. "
            "Tune with contract='reproducible'.",
            specialization.signature,
        )
    found: list[Version] = []
    for isa in levels:
        placed = replace(bound, on_device=is_cuda_isa(isa))
        for position, (label, request, conditions) in enumerate(_requests(specialization, placed, options)):
            _say_compiling(options, specialization, isa, label)
            made = _try_build(replace(request, isa=isa), required=label in ("default", "any layout"))
            if made is None:
                continue
            suffix = _suffix(isa, number, position)
            found.append(Version(f"{isa}, {label}", suffix, made, dict(request.layouts), conditions))
    return found


def count_of_versions(specialization: Specialization, options: ExportOptions) -> int:
    """How many versions_of() compiles."""
    bound = specialization.example
    assert bound is not None
    placed = [replace(bound, on_device=is_cuda_isa(isa)) for isa in isa_levels(options.targets)]
    return sum(1 for each in placed for _ in _requests(specialization, each, options))


def partials_of(specialization: Specialization, options: ExportOptions, number: int) -> Partials | None:
    """What calls of more elements than kernels can index run by, where the specialization has seen one."""
    seen, bound = specialization.partials, specialization.example
    if seen is None or bound is None:
        return None
    found = replace(seen, versions=defaultdict(list))
    contiguous, anything = dict.fromkeys(bound.layouts, "c"), dict.fromkeys(bound.layouts, "any")
    contract = contract_of(specialization.contract, options.libraries)
    for isa in isa_levels(options.targets):
        _say_compiling(options, specialization, isa, "parts of large calls")
        placed = replace(bound, on_device=is_cuda_isa(isa))
        for position, layouts in enumerate((contiguous, anything)):
            request = specialization.request(placed, isa=isa, contract=contract)
            for name, each in found.requests(request, replace(placed, layouts=layouts), totals=position == 0):
                version = Version(isa, _suffix(isa, number, position), build(each), dict(each.layouts))
                found.versions[name].append(version)
    return found


def _say_compiling(options: ExportOptions, specialization: Specialization, isa: str, what: str) -> None:
    name = getattr(specialization.function, "__name__", specialization.program.function)
    options.say(f"compiling {name} for {isa}: {what}")


def contract_of(contract: str, libraries: bool) -> str:
    """The contract whose code is in the module: of `reproducible` no stage is a library's, and else it is as `numpy`."""
    if not libraries and contract == "fast":
        raise ExportError(
            "libraries=False: code of contract fast calls libraries.", "Choose the contract numpy or reproducible."
        )
    return contract if libraries else "reproducible"


def may_be_in_parts(specialization: Specialization) -> bool:
    """Whether there is such a way for calls of some array that is too large."""
    return bool(compiler().partials(specialization.program.text, set()))


def _requests(
    specialization: Specialization, bound: Bound, options: ExportOptions
) -> Iterator[tuple[str, BuildRequest, tuple[str, ...]]]:
    """(label, request, conditions), first choice first."""
    program = specialization.program
    base = specialization.request(bound, contract=contract_of(specialization.contract, options.libraries))
    contiguous = dict.fromkeys(bound.layouts, "c")
    small_call = is_small(program, bound)
    small_sizes = {name: min(size, _SMALL_EXTENT) for name, size in bound.sizes.items()}
    large_sizes = {name: size * _GROWTH if size > 8 and small_call else size for name, size in bound.sizes.items()}
    medium_sizes = {name: min(size, _MEDIUM_EXTENT) for name, size in large_sizes.items()}
    small = replace(base, layouts=contiguous, sizes=_fixed(program, small_sizes))
    medium = replace(base, layouts=contiguous, sizes=_fixed(program, medium_sizes))
    small_work = work_condition(program, True)
    anything = dict.fromkeys(bound.layouts, "any")
    # Small calls are the ones that feel how many versions are asked before theirs.
    lead = specialization.lead_for(bound.on_device)
    if lead is not None and (bound.on_device or lead.label == "by hand"):
        yield "tuned", replace(base, schedule=lead.build.schedule), ()
    if not bound.on_device:
        yield "small", small, (small_work,)
        if lead is not None and lead.label != "by hand":
            yield "tuned", replace(base, schedule=lead.build.schedule), (work_condition(program, small_call),)
    yield "default", replace(base, layouts=contiguous, sizes=_fixed(program, large_sizes)), ()
    if medium_sizes != large_sizes:
        yield "medium", medium, ()
    for layouts in _fortran_layouts(program, contiguous):
        yield (
            f"Fortran order of {', '.join(n for n, k in layouts.items() if k == 'f')}",
            replace(base, layouts=layouts),
            (),
        )
    if not bound.on_device:
        yield "small, any layout", replace(small, layouts=anything, guard_tails=True), (small_work,)
    yield "any layout", replace(medium, layouts=anything, guard_tails=True), ()
    huge = {name: max(size, _HUGE_EXTENT) for name, size in bound.sizes.items()}
    yield "any size", replace(base, layouts=anything, sizes=_fixed(program, huge), guard_tails=True), ()


def _fixed(program: Program, sizes: dict[str, int]) -> dict[str, int]:
    """Sizes under which the equalities of the program's argument types hold: means.1 follows X.1."""
    fixed = dict(sizes)
    for array in program.arrays:
        for axis, extent in enumerate(array.shape):
            own = f"{array.name}.{axis}"
            if extent != own:
                fixed[own] = evaluate(extent, fixed)
    return fixed


def _fortran_layouts(program: Program, contiguous: dict[str, str]) -> Iterator[dict[str, str]]:
    wide = [array.name for array in program.arrays if array.rank >= 2]
    if len(wide) <= _MAX_FREE_LAYOUTS:
        for chosen in itertools.product("cf", repeat=len(wide)):
            if "f" in chosen:
                yield {**contiguous, **dict(zip(wide, chosen, strict=True))}
        return
    for name in wide:
        yield {**contiguous, name: "f"}
    yield {**contiguous, **dict.fromkeys(wide, "f")}


def _try_build(request: BuildRequest, *, required: bool) -> Build | None:
    try:
        return build(request)
    except ScheduleError as error:
        # A tuned schedule may name widths that a lower level lacks; its default version serves there.
        logger.info("a version was left out: %s", error)
        return None
    except Error:
        if required:
            raise
        return None


def _suffix(isa: str, number: int, position: int) -> str:
    """Of the names of a version's kernels, one of its specialization's number."""
    letter = string.ascii_lowercase[position] if position < 26 else f"z{position}"
    return f"{_SHORT[isa]}{f's{number}' if number else ''}{letter}"
