"""Scripts as people have them, whole: `python script.py` beside `autotune run --no-before script.py`: `python benchmarks/run_scripts.py`.

Each script of scripts/ runs unchanged in a process of its own, on two threads, in turns. A first run of ours, with an empty store and an empty cache, is
shown by itself. What both print must be equal. A time is that of the whole process. Writes results/scripts.json."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from report import time_text
from run import HERE, machine, paired_ratio

FOLDER = HERE / "scripts"
# What makes a script small, where that is not `--small`.
SMALL = {
    "agents": ["--people", "300"],
    "life": ["--generations", "40"],
    "network": ["1"],
    "spectra": ["5"],
}
THREADS = "2"


def script_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def small_arguments(name: str) -> list[str]:
    return SMALL.get(name, ["--small"])


def plain(name: str, words: list[str]) -> list[str]:
    return [sys.executable, str(FOLDER / f"{name}.py"), *words]


def ours(name: str, words: list[str]) -> list[str]:
    separator = ["--"] if words else []
    return [sys.executable, "-m", "tilewright", "run", "--no-before", str(FOLDER / f"{name}.py"), *separator, *words]


WAYS: dict[str, Callable[[str, list[str]], list[str]]] = {"plain": plain, "ours": ours}


@dataclass
class Ran:
    """One process. `cpu_ns` is of all its threads and children."""

    code: int
    out: str
    err: str
    wall_ns: float
    cpu_ns: float


def ran(command: list[str], environment: dict[str, str], limit_s: float) -> Ran:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter_ns()
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=limit_s, check=False
        )  # fmt: skip
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = -1, "", f"not done after {limit_s:g} s"
    wall_ns = time.perf_counter_ns() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Ran(code, out, err, wall_ns, cpu_s * 1e9)


def fault(what: str, seen: Ran, expected: Ran | None) -> dict[str, str] | None:
    """What is wrong with a run: its exit code, or where its output leaves that of plain Python."""
    if seen.code != 0:
        last = (seen.err.strip() or "nothing on stderr").split("\n")[-1]
        return {"state": "failed", "reason": f"{what}: exit code {seen.code}: {last}"}
    if expected is not None and seen.out != expected.out:
        lines = difflib.unified_diff(expected.out.split("\n"), seen.out.split("\n"), "plain", what, lineterm="", n=0)
        return {"state": "differs", "reason": "\n".join(islice(lines, 3, 9))}
    return None


def measure(name: str, words: list[str], turns: int, environment: dict[str, str], limit_s: float) -> dict[str, Any]:
    """A row of the table. The order changes from turn to turn."""
    row: dict[str, Any] = {"script": name, "state": "ready"}
    expected = ran(plain(name, words), environment, limit_s)
    first = ran(ours(name, words), environment, limit_s)
    wrong = fault("plain", expected, None) or fault("ours", first, expected)
    if wrong is not None:
        return row | wrong
    row |= {"first_ns": first.wall_ns, "said": first.err.strip().split("\n")[-1]}
    times: dict[str, list[Ran]] = {way: [] for way in WAYS}
    for turn in range(turns):
        for way in list(WAYS)[:: 1 if turn % 2 == 0 else -1]:
            seen = ran(WAYS[way](name, words), environment, limit_s)
            wrong = fault(way, seen, expected)
            if wrong is not None:
                return row | wrong
            times[way].append(seen)
    for way, runs in times.items():
        row[f"{way}_ns"] = float(np.median([each.wall_ns for each in runs]))
        row[f"{way}_cpu_ns"] = float(np.median([each.cpu_ns for each in runs]))
    row["ratio"], row["low"], row["high"] = paired_ratio(*([each.wall_ns for each in times[w]] for w in WAYS))
    return row


def line(row: dict[str, Any]) -> str:
    if "ratio" not in row:
        return f"{row['script']:<12}{row['state']}: {row['reason']}"
    return (
        f"{row['script']:<12}plain {time_text(row['plain_ns']):>8}  ours {time_text(row['ours_ns']):>8}  {row['ratio']:6.2f} "
        f"[{row['low']:.2f}, {row['high']:.2f}]  first run {time_text(row['first_ns'])}"
    )


def summary(rows: list[dict[str, Any]]) -> str:
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    said = [f"{len(ratios)} of {len(rows)} print the same"]
    if ratios:
        firsts = [row["plain_ns"] / row["first_ns"] for row in rows if "ratio" in row]
        said += [
            f"geometric mean over plain Python {_mean(ratios):.2f} (must 3, goal 5)",
            f"least {min(ratios):.2f} (must 1)",
            f"first runs {_mean(firsts):.2f}",
        ]
    return "; ".join(said)


def _mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="a script of scripts/ (again for more)")
    parser.add_argument("--small", action="store_true", help="small sizes: what is printed, not times")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--known", action="store_true", help="with your store and cache, instead of empty ones")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for one run")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    known = script_names()
    unknown = [name for name in options.only or [] if name not in known]
    if unknown:
        parser.error(f"no script is called {unknown[0]!r}; there are: {', '.join(known)}")
    rows = []
    for name in options.only or known:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "OMP_NUM_THREADS": THREADS}
            environment.pop("TILEWRIGHT_NUM_THREADS", None)
            if not options.known:
                environment |= {"XDG_CACHE_HOME": f"{folder}/cache", "TILEWRIGHT_DB": f"{folder}/empty.db"}
            words = small_arguments(name) if options.small else []
            rows.append(measure(name, words, options.turns, environment, options.limit))
        print(line(rows[-1]), flush=True)
        if rows[-1].get("said"):
            print(f"{'':<12}{rows[-1]['said']}", flush=True)
    print(summary(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d %H:%M"), "turns": options.turns, "rows": rows}
    (options.out / "scripts.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(row["state"] == "ready" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
