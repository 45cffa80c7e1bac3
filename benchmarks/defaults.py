"""How far default schedules are from what a search finds: `python benchmarks/defaults.py [PROGRAM...]`.

Each program compiles whole (`strict=True`), is searched for `--budget`, and then runs under its default schedule and under the best one that is known,
in turns, in one process of its own. Prints a row as it comes, then all of them, the worst first: the median of the paired ratios (default / tuned) with
its 95 % interval, and the shares within 1.5 and 2. Bits that differ between the two are said. Programs are those of cases/, everyday/, passes.py,
operations.py, defaults_rows.py, and of a checkout of NPBench (`--npbench`). One that fails is a row with its reason. The store stays in `--out`, so that
another run starts from what this one found."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tilewright
from case_list import CASES, Case, everyday_cases
from child import steady_ns
from defaults_rows import ROWS
from operations_rows import ROWS as OPERATIONS
from passes import PROGRAMS
from report import time_text
from run import HERE, machine, paired_ratio

BARS = (1.5, 2.0)
FEW_CANDIDATES = 10  # say little of what there is to find
SHARE_WITHIN_FIRST = 0.9


class Program(NamedTuple):
    """A function with its data, by the name that tables have."""

    name: str
    load: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]


def of_case(rules: Case) -> Program:
    def load() -> tuple[Callable[..., Any], tuple[Any, ...]]:
        module = rules.module()
        return getattr(module, rules.function), tuple(module.make_data(**rules.data))

    return Program(rules.name, load)


def of_npbench(root: Path, name: str, size: str) -> Program:
    """A program of a checkout of NPBench, as its own runner makes its data."""

    def load() -> tuple[Callable[..., Any], tuple[Any, ...]]:
        info = json.loads((root / "bench_info" / f"{name}.json").read_text(encoding="utf-8"))["benchmark"]
        sys.path.insert(0, str(root))
        module = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
        data = dict(info["parameters"][size])
        np.random.seed(0)  # noqa: NPY002  (some initializers draw from it)
        if made := info.get("init"):
            values = getattr(importlib.import_module(module), made["func_name"])(*[data[a] for a in made["input_args"]])
            names = made["output_args"]
            data.update(zip(names, (values,) if len(names) == 1 else values, strict=True))
        function = getattr(importlib.import_module(f"{module}_numpy"), info["func_name"])
        return function, tuple(data[name] for name in info["input_args"])

    return Program(f"{name}_{size}", load)


def programs(npbench: Path | None, sizes: list[str]) -> Iterator[Program]:
    for row in ROWS:
        yield Program(row.name, lambda row=row: (row.function, row.data()))
    named = set()
    for rules in CASES:
        if not rules.tuned_as and (rules.group != "npbench" or rules.data["size"] in sizes):
            named.add(rules.name)
            yield of_case(rules)
    if npbench is not None:
        for file in sorted((npbench / "bench_info").glob("*.json")):
            for size in sizes:
                if f"{file.stem}_{size}" not in named:  # those of cases/ start from noise
                    yield of_npbench(npbench, file.stem, size)
    for rules in everyday_cases():
        if not rules.name.endswith("_small"):
            yield of_case(rules)
    seen = set()
    for given in (each for of_pass in PROGRAMS.values() for each in of_pass):
        if " " not in given.name and given.name not in seen:  # the others are of cases/
            seen.add(given.name)
            yield Program(f"passes_{given.name}", lambda given=given: (given.function, given.arguments()))
    for row in OPERATIONS:
        yield Program(f"operation_{row.name}", lambda row=row: (row.function, row.data(False)))


class Restored:
    """Puts back what a call writes into its arguments."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self._arrays = [value for value in arguments if isinstance(value, np.ndarray)]
        self._originals = [array.copy() for array in self._arrays]

    def keep_written(self) -> None:
        """After a first call: from now on only what that changed."""
        pairs = [
            (array, original)
            for array, original in zip(self._arrays, self._originals, strict=True)
            if not np.array_equal(array, original, equal_nan=array.dtype.kind in "fc")
        ]
        self._arrays, self._originals = [list(each) for each in zip(*pairs, strict=True)] or [[], []]

    @property
    def is_needed(self) -> bool:
        return bool(self._arrays)

    def written(self) -> list[np.ndarray]:
        return [array.copy() for array in self._arrays]

    def __call__(self) -> None:
        for array, original in zip(self._arrays, self._originals, strict=True):
            np.copyto(array, original)


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


def in_a_process(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """compared() in a process of its own; a row with a reason where that fails or takes longer than the limit."""
    command = [sys.executable, str(HERE / "defaults.py"), "--one", name, "--budget", options.budget]
    command += ["--turns", str(options.turns), "--out", str(options.out), "--sizes", options.sizes]
    command += ["--npbench", str(options.npbench)] if options.npbench else []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        try:
            said, complaint = child.communicate(timeout=options.limit)
        except BaseException as error:  # Ctrl-C, too: nobody else ends its session
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return {"program": name, "failed": f"not through after {options.limit:g} s"}
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if child.returncode or not lines:
        last = [line for line in complaint.splitlines() if line.strip() and not line.startswith(" ")] or [""]
        return {"program": name, "failed": f"ended with {child.returncode}: {last[-1]}"[:300]}
    return dict(json.loads(lines[-1]))


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
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="what a name begins with (all without one)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program (again for more)")
    parser.add_argument("--budget", default="15s", help="of each search; 0: what the store knows")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--limit", type=float, default=240, metavar="SECONDS", help="for one program, all included")
    parser.add_argument("--npbench", type=Path, metavar="FOLDER", help="a checkout of NPBench: its other programs too")
    parser.add_argument("--sizes", default="S,M", help="of NPBench's programs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there; those of earlier runs stay")
    parser.add_argument("--missing", action="store_true", help="leave out what FILE has a row of")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="write default schedules there, measure nothing")
    parser.add_argument("--list", action="store_true", help="only names")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    every = list(programs(options.npbench, options.sizes.split(",")))
    if options.one:
        program = next(each for each in every if each.name == options.one)
        print("\n" + json.dumps(compared(program, options.budget, options.turns, options.out / "defaults.db")))
        return
    names = [each.name for each in every]
    for name in options.only or []:
        if name not in names:
            parser.error(f"no program is called {name!r}; --list says what there is.")
    begun = tuple(options.programs)
    if begun or options.only:
        names = [name for name in names if name in (options.only or []) or (begun and name.startswith(begun))]
    if options.list:
        print("\n".join(names))
        return
    if options.texts:
        found = {program.name: default_text(program) for program in every if program.name in names}
        options.texts.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    kept: dict[str, dict[str, Any]] = {}
    if options.json and options.json.exists():
        kept = {row["program"]: row for row in json.loads(options.json.read_text(encoding="utf-8"))["rows"]}
    rows = []
    for name in names:
        if options.missing and "ratio" in kept.get(name, {}):
            rows.append(kept[name])
            continue
        rows.append(in_a_process(name, options))
        kept[name] = rows[-1]
        print(line(rows[-1]), flush=True)
        if options.json:
            document = {"machine": machine(), "date": time.strftime("%Y-%m-%d %H:%M"), "budget": options.budget, "rows": list(kept.values())}  # fmt: skip
            options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print("\nworst first:")
    for row in sorted(rows, key=lambda row: -row.get("ratio", np.inf)):
        print(line(row))
    print(summary(rows))


if __name__ == "__main__":
    main()
