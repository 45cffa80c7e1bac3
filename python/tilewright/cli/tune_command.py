"""`autotune SCRIPT…`: record, trace, search, verify, store, export; then one line that says it all."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__, checks, settings
from ..builder import build
from ..decorator import CONTRACTS, JitFunction
from ..devices import check_device
from ..errors import Error, ExportError, ScheduleError
from ..export import ExportOptions, export_module
from ..export.cubins import check_cubins
from ..export.package import check_exportable, check_keeps, check_place, functions_in
from ..export.versions import contract_of, count_of_versions, isa_levels
from ..machine import CUDA_DEFAULT, CUDA_TARGETS, ISA_LEVELS, is_cuda_isa, resolve_isa, targets_of
from ..native import compiler
from ..own_frames import stands_in
from ..quantities import counted, format_ns, parse_duration_s
from ..record.choose import WORKLOADS
from ..script import Script, check_script
from ..specialization import Specialization
from ..tuning import TuneOptions, TuneResult, checked_strategy, tune_call
from . import SUBCOMMANDS
from .batch import run_batch
from .exit_codes import INTERRUPTED, OK, PARTIAL, USAGE
from .parse import (
    UsageError,
    architectures,
    check_cuda_options,
    check_one_of,
    device_numbers,
    jit_target,
    scripts_of,
    targets,
    text_file,
    usage_errors,
)
from .progress import Progress
from .session import Prepared, Recorded, Request, also_specialize, budget_of_next, prepare

_MOST_JOBS = 64
_TARGETS = ", ".join(["host", *reversed(ISA_LEVELS), "cuda", CUDA_DEFAULT])

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_EPILOG = (
    f"Other commands, each with its --help: {', '.join(f'autotune {name}' for name in SUBCOMMANDS)}. "
    "A script of such a name is given as ./show. Arguments of the script follow after --."
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tilewright {__version__}")
        raise typer.Exit


@app.command(epilog=_EPILOG)
def tune(
    context: typer.Context,
    *,
    scripts: Annotated[
        list[Path] | None, typer.Argument(help="Scripts, or folders of scripts.", show_default=False)
    ] = None,
    module: Annotated[str | None, typer.Option("-m", help="Run a module, as `python -m` does.")] = None,
    function: Annotated[str | None, typer.Option(help="Tune this function.")] = None,
    workload: Annotated[str, typer.Option(help="Which call: time (most NumPy time), first, largest, all.")] = "time",
    target: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{_TARGETS}. With several, the module picks one when it is loaded; "
            "with host,cuda it runs where its arguments are."
        ),
    ] = None,
    build_only: Annotated[
        bool,
        typer.Option("--build-only", help="Write the module with default schedules or --schedule, without measuring."),
    ] = False,
    devices: Annotated[str, typer.Option(help="CUDA devices that measure candidates in parallel: 0,1,2,3.")] = "",
    cubins: Annotated[
        str,
        typer.Option(
            help="Architectures to assemble code for in advance: sm_90,sm_100, or none. By default those of this "
            "machine's devices, if ptxas is installed."
        ),
    ] = "",
    budget: Annotated[str, typer.Option(help="Time for the search: 60s, 2m, 1h.")] = "60s",
    trials: Annotated[
        int, typer.Option(min=0, max=checks.MOST_TRIALS, help="Maximum number of candidates; 0 means no limit.")
    ] = 0,
    db: Annotated[
        Path | None, typer.Option(help="Store to use, instead of TILEWRIGHT_DB or the default place.")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=0, max=checks.MOST_THREADS, help="Threads of each call; 0 means all usable cores.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, max=checks.MOST_SEED, help="Seed of the search's random numbers.")] = 0,
    strategy: Annotated[str | None, typer.Option(help="Search strategy; an unknown name lists all of them.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write, instead of SCRIPT_tuned.")] = None,
    space: Annotated[Path | None, typer.Option(help="Search this space.")] = None,
    schedule: Annotated[
        Path | None,
        typer.Option(help="Measure this schedule beside the stored best; with --build-only, build the module with it."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where something cannot be compiled.")] = False,
    contract: Annotated[str, typer.Option(help="Contract on results: numpy, reproducible, fast.")] = "numpy",
    also: Annotated[list[str] | None, typer.Option(help="Add a signature to the module: float32,float32.")] = None,
    wheel: Annotated[bool, typer.Option("--wheel", help="Write a wheel too.")] = False,
    no_module: Annotated[
        bool, typer.Option("--no-module", help="Write no module: what is found is for `autotune run` and @jit.")
    ] = False,
    no_libs: Annotated[bool, typer.Option("--no-libs", help="Call no libraries from the module.")] = False,
    allow_fallback: Annotated[
        bool, typer.Option("--allow-fallback", help="Ship the function's Python for calls that are not compiled.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is at --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Results as JSON on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    run_all: Annotated[bool, typer.Option("--run-all", help="Let the script run to its end.")] = False,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            max=_MOST_JOBS,
            help="Number of scripts to tune at the same time; they share the machine, so their times are longer.",
        ),
    ] = 1,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_print_version)
    ] = False,
) -> int:
    """Tune the slow NumPy function of a script and write it as a module that needs NumPy alone."""
    try:
        check_one_of("--workload", workload, WORKLOADS)
        check_one_of("--contract", contract, CONTRACTS)
        try:
            promised = contract_of(contract, not no_libs)  # what is measured is what the module holds
        except ExportError:
            raise UsageError(
                f"--no-libs: code of --contract {contract} calls libraries. Choose numpy or reproducible."
            ) from None
        named = targets(target or [])
        measuring = device_numbers(devices)
        check_cuda_options(named, {"--devices": devices, "--cubins": cubins})
        if build_only and devices:
            raise UsageError(
                f"--devices {devices}: chooses where to measure, but --build-only measures nothing. Leave one out."
            )
        if no_module and (out is not None or wheel or build_only):
            given = "--build-only" if build_only else "--wheel" if wheel else f"--out {out}"
            raise UsageError(f"--no-module: {given} is about the module. Leave one out.")
        if not build_only and any(is_cuda_isa(resolve_isa(name)) for name in named):
            check_device(measuring)  # before the script is run
        wanted = scripts_of(scripts or [], module)
        if len(wanted) > 1:
            if out is not None or schedule is not None or space is not None:
                raise UsageError("--out, --schedule and --space go with one script, not with several.")
            return run_batch(context, wanted, jobs, as_json)
        if jobs > 1:
            raise UsageError(f"--jobs {jobs}: applies to several scripts, but one is given. Leave it out.")
        with usage_errors():
            budget_s, chosen_strategy = parse_duration_s(budget, "--budget"), checked_strategy(strategy, "--strategy")
        covers = function is None and not (also or space or schedule)  # those are of one function
        options = _Options(
            tune=TuneOptions(
                budget_s=budget_s,
                max_trials=trials,
                seed=seed,
                strategy=chosen_strategy,
                threads=threads,
                space=_checked("--space", space),
                schedule=_checked("--schedule", schedule),
                db=settings.store_path(db),
                contract=promised,
                devices=measuring,
            ),
            request=Request(function, workload, strict, promised, run_all, jit_target(named), covers),
            export=ExportOptions(
                targets=named,
                force=force,
                replace_own=out is None,
                wheel=wheel,
                libraries=not no_libs,
                allow_fallback=allow_fallback,
                script=wanted[0].name,
                cubins=architectures(cubins),
            ),
            schedule_file=schedule,
            space_file=space,
            out=(out if out is not None else Path(f"{wanted[0].stem}_tuned")).absolute(),
            writes_module=not no_module,
            asks_for_module=out is not None or wheel or function is not None,
            also=also or [],
            build_only=build_only,
        )
        return tune_script(wanted[0], options, as_json, quiet)
    except Error as error:
        if as_json:
            print(json.dumps({"error": str(error)}))
        raise


@dataclass
class _Options:
    """Everything but the script."""

    tune: TuneOptions
    request: Request
    export: ExportOptions
    schedule_file: Path | None
    space_file: Path | None
    out: Path
    writes_module: bool
    asks_for_module: bool  # in so many words: that none can be written is an error then
    also: list[str]
    build_only: bool


def tune_script(script: Script, options: _Options, as_json: bool, quiet: bool) -> int:
    """One script from recording to the closing line."""
    if script.path is not None:
        check_script(script)
    if options.writes_module:
        check_place(options.out, options.export)  # before an hour of searching, not after
    check_cubins(options.export.cubins, isa_levels(options.export.targets))
    results: list[tuple[Prepared, TuneResult]] = []
    with Progress(quiet, options.tune.budget_s) as progress:
        progress.say(f"running {script.name}")
        if options.request.function is None and options.writes_module:
            options.request.wanted = tuple(functions_in(options.out))
        recorded = prepare(
            script,
            options.request,
            lambda f, s: why_no_module(f, [s], options.export) if options.writes_module else "",
        )
        prepared = recorded.prepared
        if options.writes_module and (names := modules_functions(prepared)):
            check_keeps(options.out, options.export, names)
        for line in recorded.times:
            progress.say(line)
        for refusal in recorded.refusals:
            progress.warn(refusal)
        scheduled = _scheduled(prepared, options)
        for one in prepared:
            _check_files(one, options, has_schedule=_is_among(one, scheduled))
        if options.tune.db is None:
            progress.warn("warning: there is no home directory: nothing learnt is kept. Give --db FILE.")
        also_specialize(prepared[0], options.also)
        if options.build_only:
            progress.say(f"writing {options.out}")
            _report_built(_built(scheduled or prepared, options, progress), options, as_json)
            return OK
        targeted = targets_of(options.request.target)
        places = [on_device for on_device, isa in ((False, targeted.host), (True, targeted.device)) if isa is not None]
        searches = [(one, on_device) for one in prepared for on_device in places]
        schedule = options.tune.schedule
        interrupted = False
        right: set[bool] = set()
        wrong: set[bool] = set()
        ends = time.monotonic() + options.tune.budget_s
        for number, (one, on_device) in enumerate(searches):
            progress.say(f"{one.choice.sentence}: tuning it{' on the CUDA device' if on_device else ''}")
            progress.say(
                f"the call: {one.function.__name__}({one.call.text()}), seen {counted(one.call.count, 'time')}"
            )
            options.tune.budget_s = budget_of_next([each for each, _ in searches[number:]], ends)
            options.tune.on_device = on_device
            is_meant = _is_among(one, scheduled) and is_cuda_isa(_head_of(schedule)[1]) == on_device
            options.tune.schedule = schedule if is_meant else None
            try:
                result = _tune_one(one, options, progress)
            except Error as error:
                if len(searches) == 1:
                    raise
                progress.warn(
                    f"{one.function.__name__}: not tuned: {str(error).removeprefix(f'{one.function.__name__}: ')}"
                )
                continue
            results.append((one, result))
            if result.complete:
                right.add(on_device)
                if not on_device and (why := one.function.keep_tuned(one.specialization, result.figures)):
                    progress.warn(
                        f"{one.function.__name__}: `autotune run` follows it anew: its trace cannot be kept ({why})"
                    )
            elif result.raw.get("notes"):
                wrong.add(on_device)  # nothing of it was right, or nothing compiled
            if result.raw.get("interrupted") or result.raw.get("cancelled"):
                interrupted = True
                break
        measured = [(one, result) for one, result in results if result.complete]
        written, not_written = _Written([], {}), None
        if measured:
            if wrong := wrong - right:
                left = [t for t in options.export.targets if is_cuda_isa(resolve_isa(t)) not in wrong]
                progress.warn(
                    f"the module is for {','.join(left)} alone: nothing that was built for the other target gave right results"
                )
                options.export = replace(options.export, targets=tuple(left))
            try:
                written = _export([one for one, _ in measured], options, progress)
            except (Error, MemoryError) as error:  # what was learnt is stored, and is said all the same
                not_written = str(error) or "there is not enough memory for it. Free some, or raise `ulimit -v`."
    _report(script, results, recorded, written, options, as_json, not_written)
    if interrupted:
        return INTERRUPTED
    if not_written is not None:
        return USAGE
    return OK if len(measured) == len(searches) else PARTIAL


def why_no_module(function: JitFunction, specializations: list[Specialization], options: ExportOptions) -> str:
    """Why a module cannot have a function; "" where it can."""
    if stands_in(function.__wrapped__.__code__):  # type: ignore[attr-defined]
        return f"{function.__name__}: it is a loop of the script's, and a module holds functions."
    try:
        check_exportable(function, specializations, options)
    except ExportError as error:
        return str(error)
    return ""


def modules_functions(prepared: list[Prepared]) -> list[str]:
    """The names of those that a module can have."""
    return list(dict.fromkeys(one.function.__name__ for one in prepared if not one.choice.why_no_module))


def _built(prepared: list[Prepared], options: _Options, progress: Progress) -> list[JitFunction]:
    """The module of `--build-only`. Raises ExportError, ScheduleError."""
    text = options.tune.schedule
    if text is not None:
        on_device = is_cuda_isa(_head_of(text)[1])
        highest = next(isa for isa in isa_levels(options.export.targets) if is_cuda_isa(isa) == on_device)
        for one in prepared:
            if (example := one.specialization.example) is not None:
                bound = replace(example, on_device=on_device)
                # The levels below may lack what it names; this one has to have it.
                build(one.specialization.request(bound, isa=highest, schedule=text))
                one.specialization.set_schedule(text, bound, file=str(options.schedule_file))
    functions, left_out = _for_module(prepared, options)
    if not functions:
        raise ExportError(next(iter(left_out.values())))
    _write(functions, options, progress)
    return [function for function, _ in functions]


def _report_built(functions: list[JitFunction], options: _Options, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"results": [], "module": str(options.out)}))
        return
    print(f"wrote {options.out}: from {options.out.name} import {', '.join(f.__name__ for f in functions)}")
    words = {"": "the default schedules", "by hand": f"the schedule of {options.schedule_file}"}
    for function in functions:
        leads = [
            s.lead_for(is_cuda_isa(isa)) for s in function.specializations for isa in isa_levels(options.export.targets)
        ]
        kinds = dict.fromkeys("" if lead is None else lead.label for lead in leads)
        has = ", ".join(words.get(k, "the stored one") for k in kinds)
        print(f"{function.__name__}: nothing measured (--build-only): it has {has}")


def _head_of(schedule: str | None) -> tuple[str, str]:
    """The function and the target that a schedule names."""
    found = re.search(r"^schedule (\w+) for (\S+)", schedule or "", re.M)
    return (found[1], resolve_isa(found[2])) if found else ("", "")


def _scheduled(prepared: list[Prepared], options: _Options) -> list[Prepared]:
    """The calls that a person's schedule is for. ScheduleError where it is for another function or target."""
    if options.tune.schedule is None:
        return []
    name, isa = _head_of(options.tune.schedule)
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


def _is_among(one: Prepared, others: list[Prepared]) -> bool:
    return any(one is other for other in others)  # equality would compare the arrays of calls


def _rank(isa: str) -> int:
    """Levels of one kind in the order in which each has what those before it have."""
    return -(CUDA_TARGETS if is_cuda_isa(isa) else ISA_LEVELS).index(isa)


def _check_files(one: Prepared, options: _Options, *, has_schedule: bool) -> None:
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


def _tune_one(one: Prepared, options: _Options, progress: Progress) -> TuneResult:
    result = tune_call(
        one.specialization,
        one.choice.candidate.function,
        one.call.args,
        one.call.kwargs,
        options.tune,
        compiled=one.function,
        observer=progress,
        is_warm=True,
    )
    result.function = one.function.__name__  # as the script calls it
    return result


_Functions = list[tuple[JitFunction, list[Specialization]]]


def _for_module(prepared: list[Prepared], options: _Options) -> tuple[_Functions, dict[str, str]]:
    """The functions that the module gets, each with its specializations, those that were chosen first; and by their names why
    others are not among them."""
    chosen: dict[JitFunction, list[Specialization]] = {}
    for one in prepared:
        specializations = chosen.setdefault(one.function, [])
        if one.specialization not in specializations:
            specializations.append(one.specialization)
    functions: _Functions = []
    left_out: dict[str, str] = {}
    for function, specializations in chosen.items():
        specializations += [s for s in function.specializations if s not in specializations]
        name = function.__name__
        if name in [other.__name__ for other, _ in functions]:
            left_out[name] = f"{name}: another function of that name is in it (--function picks one)."
        elif why := why_no_module(function, specializations, options.export):
            left_out[name] = why
        else:
            functions.append((function, specializations))
    return functions, left_out


@dataclass
class _Written:
    """What became of a module."""

    functions: list[str]
    left_out: dict[str, str]


def _export(prepared: list[Prepared], options: _Options, progress: Progress) -> _Written:
    """The module of those that one can have. Raises ExportError where none can be had that was asked for."""
    if not options.writes_module:
        return _Written([], {})
    functions, left_out = _for_module(prepared, options)
    if functions:
        progress.say(f"writing {options.out}")
        check_keeps(options.out, options.export, [function.__name__ for function, _ in functions])
        _write(functions, options, progress)
    elif options.asks_for_module:
        raise ExportError(next(iter(left_out.values())))
    return _Written([function.__name__ for function, _ in functions], left_out)


def _write(functions: _Functions, options: _Options, progress: Progress) -> None:
    """The module, which no budget is for: how far it is and how long it took is told apart."""
    started = time.monotonic()
    total = sum(count_of_versions(s, options.export) for _, specializations in functions for s in specializations)
    export_module(options.out, functions, replace(options.export, say=progress.steps(total)))
    progress.say(f"wrote the module in {time.monotonic() - started:.1f} s: {total} versions of the code")


def _report(  # noqa: PLR0917
    script: Script,
    results: list[tuple[Prepared, TuneResult]],
    recorded: Recorded,
    written: _Written,
    options: _Options,
    as_json: bool,
    refusal: str | None,
) -> None:
    covered = recorded.share_of([one for one, result in results if result.complete])
    if as_json:
        document = {
            "results": [{**r.evidence(), "complete": r.complete, "search": r.raw} for _, r in results],
            "module": str(options.out) if written.functions else None,
            "functions": written.functions,
            "covered_share": covered,
        }
        if refusal is not None:
            document["error"] = refusal
        print(json.dumps(document, default=str))
        return
    if refusal is not None:
        print(f"autotune: tuned and stored, but no module was written: {refusal}", file=sys.stderr)
    if written.functions:
        print(f"wrote {options.out}: from {options.out.name} import {', '.join(written.functions)}")
    for why, names in _by_reason(written.left_out).items():
        them = "it" if len(names) == 1 else "them"
        print(f"{', '.join(names)}: tuned and stored, and `autotune run` uses {them}; no module has {them}: {why}")
    for one, result in results:
        fixed = result.raw.get("fixed")
        if fixed:
            print(_fixed_line(one, fixed))
        # Last of all: the one line that says it all.
        print(result.closing_line())
    tuned = list(dict.fromkeys(one.function for one, result in results if result.complete))
    if len(tuned) > 1 or (tuned and not written.functions):
        loops = sum(stands_in(function.__wrapped__.__code__) for function in tuned)
        kinds = [counted(count, word) for count, word in ((len(tuned) - loops, "function"), (loops, "loop")) if count]
        print(
            f"{' and '.join(kinds)} tuned, {100 * covered:.0f} % of the script's time: `autotune run {script.given}` runs it with them"
        )


def _by_reason(left_out: dict[str, str]) -> dict[str, list[str]]:
    """The names of functions that a module does not have for one reason."""
    found: dict[str, list[str]] = {}
    for name, why in left_out.items():
        found.setdefault(why.removeprefix(f"{name}: "), []).append(name)
    return found


def _fixed_line(one: Prepared, fixed: dict[str, Any]) -> str:
    name = one.function.__name__
    if fixed["outcome"] != "measured":
        return f"{name}: your schedule: {fixed['outcome'].replace('_', ' ')}: {fixed['text']}"
    yours, best = format_ns(fixed["median_ns"]), format_ns(fixed["best_ns"])
    to_best = fixed["to_best"]
    if not to_best["pairs"]:
        return f"{name}: your schedule {yours}; the best known took {best}, but the two could not be timed together"
    between = f" ({to_best['low']:.3f} to {to_best['high']:.3f})" if to_best["low"] else ""
    return f"{name}: your schedule {yours}, {to_best['ratio']:.3f} times{between} the {best} of the best known"


def _checked(option: str, path: Path | None) -> str | None:
    """The canonical text of a schedule or a space, or ScheduleError with line and column."""
    text = text_file(option, path)
    canonical: str | None = None if text is None else compiler().canonical_schedule(text, str(path))
    return canonical
