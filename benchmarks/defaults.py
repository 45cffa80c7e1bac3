"""How far default schedules are from what a search finds: `python benchmarks/defaults.py [PROGRAM...]`.

Each program compiles whole (`strict=True`), is searched for `--budget`, and then runs under its default schedule and under the best one that is known,
in turns, in one process of its own. Prints a row as it comes, then all of them, the worst first: the median of the paired ratios (default / tuned) with
its 95 % interval, and the shares within 1.5 and 2. Bits that differ between the two are said. Programs are those of programs.py. One that fails
is a row with its reason. The store stays in `--out`, so that another run starts from what this one found."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tilewright
from child import steady_ns
from in_processes import add_options, all_programs, chosen, in_a_process, rows_of
from programs import Program, Restored
from report import time_text
from run import HERE, paired_ratio

BARS = (1.5, 2.0)
FEW_CANDIDATES = 10  # say little of what there is to find
SHARE_WITHIN_FIRST = 0.9


def leaves(answer: Any) -> Iterator[np.ndarray]:
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    if isinstance(answer, (tuple, list)):
        for each in answer:
            yield from leaves(each)
    elif answer is not None:
        yield np.asarray(answer)


def same_bits(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(one, other, strict=True)
    )


def texts(function: Any) -> list[str]:
    return [each.schedule for each in function.specializations]


def compared(program: Program, budget: str, turns: int, store: Path) -> dict[str, Any]:
    """The row of a program: times and schedules of both sides."""
    function, arguments = program.load()
    plain = tilewright.jit(function, strict=True, db=store.with_name("none.db"))
    tuned = tilewright.jit(function, strict=True, db=store)
    restore = Restored(arguments)
    answers = []
    default_s = time.perf_counter()
    for jitted in (plain, tuned):
        answer = [each.copy() for each in leaves(jitted(*arguments))]
        if jitted is plain:
            default_s = time.perf_counter() - default_s
            restore.keep_written()
        restore_after = restore.written()
        restore()
        answers.append(answer + restore_after)
    row: dict[str, Any] = {"program": program.name, "compiled_s": default_s, "default": texts(plain)}
    if budget != "0":
        found = tuned.tune(*arguments, budget=budget)
        restore()
        row |= {"trials": found.trials, "known": found.known, "searched_s": found.elapsed_s}
    answers.append([each.copy() for each in leaves(tuned(*arguments))] + restore.written())
    restore()
    row |= {"tuned": texts(tuned), "same_bits": same_bits(answers[0], answers[-1])}
    if row["tuned"] == row["default"]:
        ns = steady_ns(partial(plain, *arguments), 1, restore if restore.is_needed else None)
        return row | {"default_ns": ns, "tuned_ns": ns, "ratio": 1.0, "low": 1.0, "high": 1.0}
    times: dict[Any, list[float]] = {plain: [], tuned: []}
    for turn in range(turns):
        for jitted in (plain, tuned) if turn % 2 else (tuned, plain):
            times[jitted].append(steady_ns(partial(jitted, *arguments), 1, restore if restore.is_needed else None))
    ratio, low, high = paired_ratio(times[plain], times[tuned])
    default_ns, tuned_ns = float(np.median(times[plain])), float(np.median(times[tuned]))
    return row | {"default_ns": default_ns, "tuned_ns": tuned_ns, "ratio": ratio, "low": low, "high": high}


def default_text(program: Program) -> str:
    """The default schedule of a program's call; nothing is compiled."""
    try:
        function, arguments = program.load()
        specialization, _ = tilewright.jit(function, strict=True, db=HERE / "results" / "none.db").specialize(
            arguments, {}
        )
        return str(specialization.schedule)
    except Exception as error:  # a row of the table, too
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def is_hardly_searched(row: dict[str, Any]) -> bool:
    return row.get("trials", 0) + row.get("known", 0) < FEW_CANDIDATES


def line(row: dict[str, Any]) -> str:
    if "failed" in row:
        return f"{row['program']:<28}{row['failed']}"
    bits = "" if row["same_bits"] else "  OTHER BITS"
    few = ", hardly a search" if is_hardly_searched(row) else ""
    return (
        f"{row['program']:<28}{row['ratio']:6.2f} [{row['low']:.2f}, {row['high']:.2f}]  default {time_text(row['default_ns']):>8}, "
        f"tuned {time_text(row['tuned_ns']):>8}  {row.get('trials', 0)} candidates, {row.get('known', 0)} known{few}{bits}"
    )


def summary(rows: list[dict[str, Any]]) -> str:
    ratios = np.array([row["ratio"] for row in rows if "ratio" in row])
    failed = sum("failed" in row for row in rows)
    few = sum(is_hardly_searched(row) for row in rows if "ratio" in row)
    said = [f"{len(ratios)} programs"]
    if len(ratios):
        said += [f"{100 * float(np.mean(ratios <= bar)):.0f} % within {bar:g}" for bar in BARS]
        said += [f"worst {ratios.max():.2f}", f"geometric mean {float(np.exp(np.mean(np.log(ratios)))):.2f}"]
        held = np.mean(ratios <= BARS[0]) >= SHARE_WITHIN_FIRST and ratios.max() <= BARS[1]
        said.append("held" if held else "short")
    said += [f"{few} hardly searched"] if few else []
    said += [f"{failed} failed"] if failed else []
    return "; ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, limit_s=240)
    parser.add_argument("--budget", default="15s", help="of each search; 0: what the store knows")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--texts", type=Path, metavar="FILE", help="write default schedules there, measure nothing")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    every = all_programs(options)
    if options.one:
        program = next(each for each in every if each.name == options.one)
        print("\n" + json.dumps(compared(program, options.budget, options.turns, options.out / "defaults.db")))
        return
    names = chosen(parser, options, every)
    if options.list:
        print("\n".join(names))
        return
    if options.texts:
        found = {program.name: default_text(program) for program in every if program.name in names}
        options.texts.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    words = ["--budget", options.budget, "--turns", str(options.turns)]
    rows = rows_of(
        names, options, lambda name: in_a_process("defaults.py", name, words, options), line, {"budget": options.budget}
    )
    print("\nworst first:")
    for row in sorted(rows, key=lambda row: -row.get("ratio", np.inf)):
        print(line(row))
    print(summary(rows))


if __name__ == "__main__":
    main()
