"""What `autotune SCRIPT` says at its end, on stdout: the module, a line a function, and one for the script."""

from __future__ import annotations

import json
import sys
from typing import Any

from ..decorator import JitFunction
from ..export.versions import isa_levels
from ..machine import is_cuda_isa
from ..own_frames import stands_in
from ..quantities import counted, format_ns
from ..record.left_alone import why_left_alone
from ..script import Script
from ..tuning import TuneResult
from .session import Prepared, Recorded
from .tune_options import Options
from .tuned_module import Written


def report_built(functions: list[JitFunction], options: Options, as_json: bool) -> None:
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


def report(  # noqa: PLR0917
    script: Script,
    results: list[tuple[Prepared, TuneResult]],
    recorded: Recorded,
    written: Written,
    options: Options,
    as_json: bool,
    refusal: str | None,
) -> None:
    covered = recorded.share_of([one for one, result in results if result.complete and result.ratio >= 1])
    if as_json:
        document = {
            "results": [{**r.evidence(), "complete": r.complete, "search": r.raw} for _, r in results],
            "module": str(options.out) if written.functions else None,
            "functions": written.functions,
            "left_out": written.left_out,
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
        used = f", and `autotune run` uses {them}" if options.serves_run else ""
        print(f"{', '.join(names)}: tuned and stored{used}; no module has {them}: {why}")
    for one, result in results:
        fixed = result.raw.get("fixed")
        if fixed:
            print(_fixed_line(one, fixed))
        # Last of all: the one line that says it all.
        print(result.closing_line())
    tuned = list(dict.fromkeys(one.function for one, result in results if result.complete and result.ratio >= 1))
    if len(tuned) > 1 or (tuned and not written.functions and refusal is None):
        loops = sum(stands_in(function.__wrapped__.__code__) for function in tuned)
        kinds = [counted(count, word) for count, word in ((len(tuned) - loops, "function"), (loops, "loop")) if count]
        left_alone = _left_alone_by_run(tuned) if options.serves_run else {}
        for name, why in left_alone.items():
            print(f"{name}: `autotune run` does not use what was found: {why}")
        serves = options.serves_run and len(left_alone) < len(tuned)
        used = f": `autotune run {options.store_words}{script.given}` runs it with them" if serves else ""
        print(f"{' and '.join(kinds)} tuned, {100 * covered:.0f} % of the script's time{used}")


def _left_alone_by_run(tuned: list[JitFunction]) -> dict[str, str]:
    """Names of functions that stay Python's there, and why."""
    found = {one.__name__: why_left_alone(one.__wrapped__, one.__name__) for one in tuned}  # type: ignore[arg-type]  # functions
    return {name: why for name, why in found.items() if why}


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
