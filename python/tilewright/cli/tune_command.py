"""`autotune SCRIPT…`: record, trace, search, verify, store, export; then one line that says it all."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__, checks, settings
from ..decorator import CONTRACTS
from ..devices import check_device
from ..errors import Error, ExportError
from ..export import ExportOptions
from ..export.cubins import check_cubins
from ..export.package import check_keeps, check_place, functions_in
from ..export.versions import contract_of, isa_levels
from ..machine import CUDA_DEFAULT, ISA_LEVELS, is_cuda_isa, resolve_isa, targets_of
from ..native import compiler
from ..own_frames import names_a_part
from ..quantities import parse_duration_s
from ..record.choose import WORKLOADS, NothingToTune
from ..script import Script, check_script
from ..tuning import TuneOptions, TuneResult, checked_strategy
from . import SUBCOMMANDS
from .batch import run_batch
from .exit_codes import INTERRUPTED, OK, PARTIAL, USAGE
from .own_schedules import check_files, head_of, is_among, scheduled_calls
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
from .searches import budget_of_next, keep_calls_beside, search, was_stopped
from .session import Prepared, Request, also_specialize, prepare
from .tune_options import Options
from .tune_report import report, report_built
from .tuned_module import Written, built_module, export, names_for_module, why_no_module

_MOST_JOBS = 64
_LEAST_AHEAD_S = 15.0  # that copies of a recorded script may take behind its end, however little a search may
_GOES_ON = "goes on from there"
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
    function: Annotated[str | None, typer.Option(help="Tune this function alone.")] = None,
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
        int,
        typer.Option(
            min=0, max=checks.MOST_TRIALS, help="Maximum number of candidates of each search; 0 means no limit."
        ),
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
    """Tune the functions and loops that take a script's NumPy time, and write the functions as a module that needs NumPy alone."""
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
        options = Options(
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
            request=Request(function, workload, strict, promised, run_all, jit_target(named), covers, True),
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
            asks_for_module=out is not None or wheel or (function is not None and not names_a_part(function)),
            also=also or [],
            build_only=build_only,
        )
        return tune_script(wanted[0], options, as_json, quiet)
    except Error as error:
        if as_json:
            print(json.dumps({"error": str(error)}))
        raise


@dataclass
class _Doing:
    """What an interruption comes into, in words, and what of it is kept."""

    words: str
    searches: bool = False

    def kept(self, db: Path | None) -> str:
        if not self.searches:
            return "no search had begun, and nothing is kept"
        return "nothing is kept" if db is None else f"what was found until then is kept in {db}"


def tune_script(script: Script, options: Options, as_json: bool, quiet: bool) -> int:
    """One script from recording to the closing line."""
    doing = _Doing(f"while {script.name} ran")
    try:
        return _tune_script(script, options, as_json, quiet, doing)
    except KeyboardInterrupt:
        said = f"interrupted {doing.words}: {doing.kept(options.tune.db)}."
        if as_json:
            print(json.dumps({"error": said}))
        print(f"autotune: {said} The same command {_GOES_ON if doing.searches else 'begins anew'}.", file=sys.stderr)
        return INTERRUPTED


def _tune_script(script: Script, options: Options, as_json: bool, quiet: bool, doing: _Doing) -> int:
    if script.path is not None:
        check_script(script)
    if options.writes_module:
        check_place(options.out, options.export)  # before an hour of searching, not after
    check_cubins(options.export.cubins, isa_levels(options.export.targets))
    with Progress(quiet, options.tune.budget_s) as progress:
        progress.say(f"running {script.name}")
        if options.request.function is None and options.writes_module:
            options.request.wanted = tuple(functions_in(options.out))
        if options.request.covers and options.serves_run and not options.build_only and settings.cache_enabled():
            options.request.ahead_s = max(options.tune.budget_s, _LEAST_AHEAD_S)
        try:
            recorded = prepare(
                script,
                options.request,
                lambda f, s: why_no_module(f, [s], options.export) if options.writes_module else "",
                progress.tell,
            )
        except NothingToTune as nothing:
            for line in nothing.times:
                progress.say(line)
            raise
        prepared = recorded.prepared
        doing.words = "before the search"
        if options.writes_module and (names := names_for_module(prepared)):
            check_keeps(options.out, options.export, names)
        for line in recorded.times:
            progress.say(line)
        for refusal in recorded.refusals:
            progress.warn(refusal)
        scheduled = scheduled_calls(prepared, options)
        for one in prepared:
            check_files(one, options, has_schedule=is_among(one, scheduled))
        if options.tune.db is None:
            progress.warn("warning: there is no home directory: nothing learnt is kept. Give --db FILE.")
        also_specialize(prepared[0], options.also)
        if options.build_only:
            progress.say(f"writing {options.out}")
            report_built(built_module(scheduled or prepared, options, progress), options, as_json)
            return OK
        targeted = targets_of(options.request.target)
        places = [on_device for on_device, isa in ((False, targeted.host), (True, targeted.device)) if isa is not None]
        searches = [(one, on_device) for one in prepared for on_device in places]
        doing.words, doing.searches = "in the search", True
        ended = _search_all(searches, scheduled, options, progress)
        written, not_written = Written([], {}), None
        if ended.measured:
            if ended.is_interrupted and options.writes_module:
                progress.warn(
                    "interrupted: the best so far is kept, and its module is written; Ctrl-C again leaves that out"
                )
            doing.words = "while the module was written, so there is none"
            try:
                written = _module_of(prepared, ended, options, progress)
            except (Error, MemoryError) as error:  # what was learnt is stored, and is said all the same
                not_written = str(error) or "there is not enough memory for it. Free some, or raise `ulimit -v`."
    results = [(one, result) for one, _, result in ended.results]
    report(script, results, recorded, written, options, as_json, not_written)
    if ended.is_interrupted:
        doing.words = "in the search"
        if not as_json:
            begun = f"{len(ended.results)} of {len(searches)} searches had begun, and " if len(searches) > 1 else ""
            said = f"interrupted: {begun}{doing.kept(options.tune.db)}. The same command {_GOES_ON}."
            print(f"autotune: {said}", file=sys.stderr)
        return INTERRUPTED
    if not_written is not None:
        return USAGE
    return OK if len(ended.measured) == len(searches) else PARTIAL


@dataclass
class _Ended:
    """The searches that came to an end: the call, whether on the device, and what was found."""

    results: list[tuple[Prepared, bool, TuneResult]] = field(default_factory=list)

    @property
    def measured(self) -> list[tuple[Prepared, bool]]:
        return [(one, on_device) for one, on_device, result in self.results if result.complete]

    @property
    def failed(self) -> list[tuple[Prepared, bool]]:
        """Nothing of it was right, or nothing compiled."""
        return [(one, there) for one, there, result in self.results if not result.complete and result.raw.get("notes")]

    @property
    def is_interrupted(self) -> bool:
        return bool(self.results) and was_stopped(self.results[-1][2])


def _search_all(
    searches: list[tuple[Prepared, bool]], scheduled: list[Prepared], options: Options, progress: Progress
) -> _Ended:
    """One after the other, until one is interrupted. Raises Error where it is the only one that fails."""
    ended = _Ended()
    schedule, ends = options.tune.schedule, time.monotonic() + options.tune.budget_s
    for number, (one, on_device) in enumerate(searches):
        options.tune.budget_s = budget_of_next([each for each, _ in searches[number:]], ends)
        options.tune.on_device = on_device
        is_meant = is_among(one, scheduled) and is_cuda_isa(head_of(schedule)[1]) == on_device
        options.tune.schedule = schedule if is_meant else None
        name = one.function.__name__
        try:
            result = search(one, options.tune, progress)
        except Error as error:
            if len(searches) == 1:
                raise
            progress.warn(f"{name}: not tuned: {str(error).removeprefix(f'{name}: ')}")
            continue
        ended.results.append((one, on_device, result))
        if result.complete and not on_device and options.serves_run and settings.cache_enabled():
            # Recording makes short calls longer, and the call that was tuned is one of the longer ones.
            python_ns = min(one.call.total_ns / max(one.call.count, 1), result.figures.numpy_ns)
            if why := one.function.keep_tuned(one.specialization, result.figures, python_ns):
                progress.warn(f"{name}: `autotune run` follows it anew: its trace cannot be kept ({why})")
            elif result.figures.ratio >= 1:
                keep_calls_beside(one, progress)
        if was_stopped(result):
            break
    return ended


def _module_of(prepared: list[Prepared], ended: _Ended, options: Options, progress: Progress) -> Written:
    """Of what was measured, and of what the module there has and no search has come to. Raises ExportError."""
    if wrong := {there for _, there in ended.failed} - {there for _, there in ended.measured}:
        left = [t for t in options.export.targets if is_cuda_isa(resolve_isa(t)) not in wrong]
        progress.warn(
            f"the module is for {','.join(left)} alone: nothing that was built for the other target gave right results"
        )
        options.export = replace(options.export, targets=tuple(left))
    reached = [one for one, _, _ in ended.results]
    kept = [one for one in prepared if one.function.__name__ in options.request.wanted and not is_among(one, reached)]
    devices = {is_cuda_isa(resolve_isa(target)) for target in options.export.targets}
    bad = [one.specialization for one, on_device in ended.failed if on_device in devices]
    chosen = [one for one in [*(one for one, _ in ended.measured), *kept] if one.specialization not in bad]
    return export(chosen, options, progress, bad)


def _checked(option: str, path: Path | None) -> str | None:
    """The canonical text of a schedule or a space, or ScheduleError with line and column."""
    text = text_file(option, path)
    canonical: str | None = None if text is None else compiler().canonical_schedule(text, str(path))
    return canonical
