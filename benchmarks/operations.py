"""Single operations of NumPy's at the sizes where they cost, under default schedules: `python benchmarks/operations.py [ROW...]`.

Each row compiles whole (`strict=True`), with an empty store and no search, and takes turns with NumPy and with what users of Numba write by hand
(parallel) and of numexpr, in one process and in random order. Answers are compared with NumPy's. Prints the median of the paired ratios: NumPy's time over
ours, and the time of the best of all others over ours. `--small`: small sizes, for right answers and not for times. Writes results/operations.json."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tilewright
from operations_by_hand import BY_HAND, WHY_NOT
from operations_rows import ROWS, Row
from report import time_text


class Turns(NamedTuple):
    """A row's times in nanoseconds, by who took them."""

    times: dict[str, list[int]]
    wrong: dict[str, str]


def difference(got: Any, wanted: Any, tolerance: float) -> str:
    """What is not as NumPy has it; "" for nothing."""
    if isinstance(wanted, tuple):
        return next(filter(None, (difference(g, w, tolerance) for g, w in zip(got, wanted, strict=True))), "")
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return f"shape {got.shape} for {wanted.shape}"
    if tolerance == 0:
        return "" if np.array_equal(got, wanted, equal_nan=wanted.dtype.kind == "f") else "other values"
    scale = float(np.max(np.abs(wanted), initial=0))
    worst = float(np.max(np.abs(got.astype(np.float64) - wanted), initial=0))
    return "" if worst <= tolerance * scale else f"off by {worst:.3g}"


def take_turns(row: Row, data: Callable[[], tuple[Any, ...]], turns: int) -> Turns:
    """Everybody's times; who answers otherwise than NumPy has none. What is written is made anew for each call."""
    runners: dict[str, Callable[..., Any]] = {"numpy": row.function, **BY_HAND.get(row.name, {})}
    runners["tilewright"] = tilewright.jit(row.function, strict=True)
    wanted = row.function(*data())
    wrong = {}
    for name, function in list(runners.items()):
        try:
            for _ in range(2):
                said = difference(function(*data()), wanted, row.tolerance if name == "tilewright" else 1e-5)
                if said:
                    break
        except Exception as error:  # a peer that fails is reported
            said = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if said:
            wrong[name] = said
            del runners[name]
    times: dict[str, list[int]] = {name: [] for name in runners}
    arguments = data()
    for _ in range(turns):
        for name in random.sample(list(runners), len(runners)):
            call = data() if row.writes else arguments
            begin = time.perf_counter_ns()
            result = runners[name](*call)
            times[name].append(time.perf_counter_ns() - begin)
            del result
    return Turns(times, wrong)


def ratio(others: list[int], ours: list[int]) -> float:
    return float(np.median([other / our for other, our in zip(others, ours, strict=True)]))


def judged(row: Row, took: Turns) -> dict[str, Any]:
    said: dict[str, Any] = {"row": row.name, "must": row.must, "goal": row.goal, "wrong": took.wrong}
    said["ns"] = {name: float(np.median(times)) for name, times in took.times.items()}
    ours = took.times.get("tilewright")
    if ours:
        said["to"] = {name: ratio(times, ours) for name, times in took.times.items() if name != "tilewright"}
        said["to_best"] = min(said["to"].values())
    return said


def line(said: dict[str, Any]) -> str:
    bars = f"{said['row']:<24}{said['must']:>5g} / {said['goal']:<4g}"
    if "to" not in said:
        return f"{bars}{said['wrong'].get('tilewright', 'did not run')}"
    stands = "goal" if said["to_best"] >= said["goal"] else "must" if said["to_best"] >= said["must"] else "BELOW"
    to = ", ".join(f"{name} {r:.2f} ({time_text(said['ns'][name])})" for name, r in said["to"].items())
    wrong = "".join(f"; {name}: {why}" for name, why in said["wrong"].items())
    return f"{bars}{stands:<7}ours {time_text(said['ns']['tilewright']):>9}; {to}{wrong}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="what a name begins with (all without one)")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    for name, why in WHY_NOT.items():
        print(f"{name} is absent: {why}")
    said = []
    for row in ROWS:
        if options.rows and not any(row.name.startswith(name) for name in options.rows):
            continue
        took = take_turns(row, lambda row=row: row.data(options.small), 2 if options.small else options.turns)
        said.append(judged(row, took))
        print(line(said[-1]), flush=True)
    options.out.mkdir(exist_ok=True)
    (options.out / "operations.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
