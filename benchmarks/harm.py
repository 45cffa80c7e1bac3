"""Whether anybody loses by `@tilewright.jit`: `python benchmarks/harm.py [PROGRAM...]`.

The question, of each program of programs.py: a user writes the decorator, with no option, and calls the function with these arguments again and again.
How much longer than NumPy do a hundred calls take? The bar: 2 % or 200 ns a call, whichever is more. The first call compiles and is not counted; what
follows is, also where calls are compared with NumPy, or another version is built. With `--background` it is `jit(background=True)`: calls are counted
from the first, which is followed, and after it the build is waited for, which is not counted. A program that cannot be compiled is a row as any other. Small
data of everyday/ are rows too.

Each program runs in a process of its own, with an empty store and an empty cache (`--known`: with yours). Blocks of NumPy's calls and of ours
alternate, so that whatever else the machine does hits both; a block has a hundred calls or takes 20 ms, and begins when no thread of the process spins any
more. Two times are judged. `first`: the sum of our first hundred calls, for what happens in one of them is no noise to be left out. `later`: the median
of what a block of ours takes more than NumPy's before it, over the second half of all blocks. NumPy's time is the median of its blocks. Where calls are
long, fewer are made, and the row says how many; those that are missing count as later ones. A row that is outside is measured twice more,
and the median of the three is the row: a sum of a hundred calls has no other defence against a process that took the processor.

Prints a row as it comes, then all of them, the worst first. Exit code 1: a row is outside, or failed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import tilewright
from in_processes import Row, add_options, all_programs, chosen, in_a_process, rows_of
from programs import Program, Restored
from report import time_text

BAR_SHARE, BAR_NS = 0.02, 200.0
CALLS = 100
BLOCK_NS = 20_000_000
FEWEST_BLOCKS, LEAST_BLOCKS = 30, 4  # where there is time; in any case
AT_REST_S, MOST_REST_S, SPINNING_SHARE = 0.001, 0.1, 0.3
MOST_BUILDING_S = 120.0
RUNS = 3  # of a row that is outside
BACKGROUND = " background"  # behind the names of such rows


def rest() -> None:
    """Until no thread of the process spins: those of OpenBLAS do so for some 30 ms after a call."""
    until = time.perf_counter() + MOST_REST_S
    while time.perf_counter() < until:
        before_s = time.process_time()
        time.sleep(AT_REST_S)
        if time.process_time() - before_s < SPINNING_SHARE * AT_REST_S:
            return


class Side:
    """NumPy's calls, or ours: the same arguments each time, and what calls write made what it was, outside of the time."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], restore: Restored) -> None:
        self._function, self._arguments, self._restore = function, arguments, restore
        self.blocks_ns: list[int] = []

    def timed_ns(self, count: int) -> int:
        function, arguments = self._function, self._arguments
        if not self._restore.is_needed:
            start_ns = time.perf_counter_ns()
            for _ in repeat(None, count):
                function(*arguments)
            return time.perf_counter_ns() - start_ns
        took_ns = 0
        for _ in repeat(None, count):
            start_ns = time.perf_counter_ns()
            function(*arguments)
            took_ns += time.perf_counter_ns() - start_ns
            self._restore()
        return took_ns

    def block(self, count: int) -> None:
        rest()
        self.blocks_ns.append(self.timed_ns(count))


def wait_for_builds(compiled: Any) -> None:
    until = time.monotonic() + MOST_BUILDING_S
    while time.monotonic() < until and any(one.is_being_built for one in compiled.specializations):
        time.sleep(0.01)


def measured(program: Program, *, background: bool, seconds: float) -> Row:
    """The row of a program; `seconds` bound the blocks of both sides together."""
    try:
        function, arguments = program.load()
    except ImportError as error:
        return {"program": program.name, "failed": f"absent: {error}", "absent": True}
    restore = Restored(arguments)
    compiled = tilewright.jit(background=background)(function)
    numpy, ours = Side(function, arguments, restore), Side(compiled, arguments, restore)
    function(*arguments)
    restore.keep_written()
    restore()
    one_ns = numpy.timed_ns(1)
    first_call_ns = ours.timed_ns(1)
    if background:
        wait_for_builds(compiled)
    count = int(min(CALLS, max(1, BLOCK_NS // max(one_ns, 1))))
    begun = time.perf_counter()
    while len(ours.blocks_ns) < max(FEWEST_BLOCKS, 2 * CALLS / count):
        if time.perf_counter() - begun > seconds and len(ours.blocks_ns) >= LEAST_BLOCKS:
            break
        numpy.block(count)
        ours.block(count)
    row = {"program": program.name, "first_call_s": first_call_ns / 1e9, "why": why_numpy(compiled)}
    before = [first_call_ns] if background else []
    return row | judged(numpy.blocks_ns, ours.blocks_ns, count, before)


def judged(numpy_blocks_ns: list[int], our_blocks_ns: list[int], count: int, before_ns: list[int]) -> Row:
    """Times of a call, and whether they are within the bar. `count`: calls of a block; `before_ns`: counted calls of ours before the blocks."""
    numpy, ours = np.array(numpy_blocks_ns) / count, np.array(our_blocks_ns) / count
    numpy_ns, half = float(np.median(numpy)), len(ours) // 2
    later_ns = float(np.median(ours[half:] - numpy[half:]))
    blocks = min(len(ours), max(1, (CALLS - len(before_ns)) // count))
    counted = len(before_ns) + blocks * count
    made = min(CALLS, counted)
    first_ns = (sum(before_ns) + float(ours[:blocks].sum()) * count) / counted - numpy_ns
    first_ns = (first_ns * made + later_ns * (CALLS - made)) / CALLS
    of_bar = max(first_ns, later_ns) / max(BAR_SHARE * numpy_ns, BAR_NS)
    return {
        "numpy_ns": numpy_ns, "ours_ns": float(np.median(ours[half:])), "first_excess_ns": first_ns, "later_excess_ns": later_ns,
        "of_bar": of_bar, "within": of_bar <= 1, "calls": count * len(ours),
    }  # fmt: skip


def why_numpy(compiled: Any) -> str:
    """Why NumPy runs such calls, where it does."""
    for one in compiled.specializations:
        for reason in (*one.why_numpy.values(), one.large_reason):
            if reason:
                return str(reason)
    return str(compiled.refusals[0]).splitlines()[0] if compiled.refusals else ""


def measured_apart(name: str, options: argparse.Namespace) -> Row:
    """The median of up to three processes."""
    words = ["--seconds", str(options.seconds), *(["--background"] if options.background else [])]
    rows: list[Row] = []
    while len(rows) < options.runs and not (rows and rows[0].get("within")):
        with tempfile.TemporaryDirectory(prefix="tilewright-harm-", ignore_cleanup_errors=True) as folder:
            apart = {"XDG_CACHE_HOME": folder, "XDG_DATA_HOME": folder, "TILEWRIGHT_DB": f"{folder}/store.db"}
            environment = os.environ | ({} if options.known else apart)
            # As an installed package is: compiled to bytecode.
            environment["PYTHONPYCACHEPREFIX"] = str(options.out.resolve() / "bytecode")
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            rows.append(in_a_process("harm.py", name.removesuffix(BACKGROUND), words, options, environment))
        if "failed" in rows[-1]:
            return rows[-1] | {"program": name}
    middle = sorted(rows, key=lambda row: float(row["of_bar"]))[(len(rows) - 1) // 2]
    return middle | {"program": name, "all_of_bar": [row["of_bar"] for row in rows]}


def excess(ns: float, numpy_ns: float) -> str:
    """What a call takes more than NumPy's."""
    return f"{100 * ns / numpy_ns:+.1f} % ({'-' if ns < 0 else '+'}{time_text(abs(ns))})"


def line(row: Row) -> str:
    if "failed" in row:
        return f"{row['program']:<38}{row['failed']}"
    few = f", {row['calls']} calls" if row["calls"] < 2 * CALLS else ""
    why = f"  {row['why'][:100]}" if row["why"] else ""
    first, later = (excess(row[f"{which}_excess_ns"], row["numpy_ns"]) for which in ("first", "later"))
    return (
        f"{row['program']:<38}{'within' if row['within'] else 'OUTSIDE':<9}NumPy {time_text(row['numpy_ns']):>8}, "
        f"ours {time_text(row['ours_ns']):>8}  first {first}, later {later}{few}{why}"
    )


def summary(rows: list[Row]) -> str:
    judged_rows = [row for row in rows if "within" in row]
    outside, failed = sum(not row["within"] for row in judged_rows), len(rows) - len(judged_rows)
    said = [f"{len(judged_rows)} programs", f"{outside} outside" if outside else "all within"]
    return "; ".join([*said, *([f"{failed} failed"] if failed else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, limit_s=300)
    parser.add_argument("--background", action="store_true", help="jit(background=True)")
    parser.add_argument("--seconds", type=float, default=20, help="of a program's blocks, about")
    parser.add_argument("--runs", type=int, default=RUNS, help="processes of a row that is outside")
    parser.add_argument("--known", action="store_true", help="with your store and cache")
    options = parser.parse_args()
    every = all_programs(options, small=True)
    if options.one:
        program = next(each for each in every if each.name == options.one)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measured(program, background=options.background, seconds=options.seconds)
        print("\n" + json.dumps(row))
        return
    names = chosen(parser, options, every)
    if options.list:
        print("\n".join(names))
        return
    names = [name + BACKGROUND for name in names] if options.background else names
    rows = rows_of(names, options, lambda name: measured_apart(name, options), line, {"seconds": options.seconds})
    print("\nworst first:")
    for row in sorted(rows, key=lambda row: -row.get("of_bar", np.inf)):
        print(line(row))
    print(summary(rows))
    sys.exit(0 if all(row.get("within") or row.get("absent") for row in rows) else 1)


if __name__ == "__main__":
    main()
