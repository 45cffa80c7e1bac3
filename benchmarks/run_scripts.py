"""Scripts as people have them, whole: `python script.py` beside `autotune run --no-before script.py`: `python benchmarks/run_scripts.py`.

Each script of scripts/ runs unchanged in a process of its own, on two threads, in turns. A first run of ours, with an empty store and an empty cache, is
shown by itself. What both print must be equal. A time is that of the whole process. Where a person could put Numba's decorator above a function without
another change, a script with these decorators takes turns too, with its code in Numba's cache. Writes results/scripts.json."""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
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
# The functions that take @numba.njit as they stand, in scripts where they take a share of the time that shows (scripts/README.md says what others meet).
NJIT = {
    "clusters": ["silhouette"],
    "kalman": ["rts_smoother", "simulate"],
    "regression": ["soft_threshold"],
    "spectra": ["autocorrelation", "biquad_notch", "goertzel", "one_pole_highpass"],
}
THREADS = "2"


def script_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def small_arguments(name: str) -> list[str]:
    return SMALL.get(name, ["--small"])


def with_decorators(text: str, functions: list[str]) -> str:
    """A script's text with @numba.njit above these functions of its top level, and the import that this needs."""
    tree = ast.parse(text)
    lines = text.split("\n")
    places = {node.name: node.lineno for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in sorted(functions, key=lambda each: -places[each]):
        lines.insert(places[name] - 1, "@numba.njit(cache=True)")
    first = next(node.lineno for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    lines.insert(first - 1, "import numba")
    return "\n".join(lines)


def plain(name: str, words: list[str], folder: Path = FOLDER) -> list[str]:
    return [sys.executable, str(folder / f"{name}.py"), *words]


def ours(name: str, words: list[str]) -> list[str]:
    separator = ["--"] if words else []
    return [sys.executable, "-m", "tilewright", "run", "--no-before", str(FOLDER / f"{name}.py"), *separator, *words]


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


def measure(commands: dict[str, list[str]], turns: int, environment: dict[str, str], limit_s: float) -> dict[str, Any]:
    """What a row says beside its script's name: of each way a time, of ours and of a peer its ratio. `plain` is the first way, and judges the others.

    Each way runs once before the turns, and the order changes from turn to turn."""
    row: dict[str, Any] = {"state": "ready"}
    times: dict[str, list[Ran]] = {}
    expected = None
    for way, command in commands.items():
        first = ran(command, environment, limit_s)
        wrong = fault(way, first, expected)
        if wrong is not None:
            return row | wrong
        expected = expected or first
        row[f"{way}_first_ns"], times[way] = first.wall_ns, []
        if way == "ours":
            row["said"] = first.err.strip().split("\n")[-1]
    for turn in range(turns):
        for way in list(commands)[:: 1 if turn % 2 == 0 else -1]:
            seen = ran(commands[way], environment, limit_s)
            wrong = fault(way, seen, expected)
            if wrong is not None:
                return row | wrong
            times[way].append(seen)
    for way, runs in times.items():
        row[f"{way}_ns"] = float(np.median([each.wall_ns for each in runs]))
        row[f"{way}_cpu_ns"] = float(np.median([each.cpu_ns for each in runs]))
        if way != "plain":
            row[way] = paired_ratio(*([each.wall_ns for each in times[which]] for which in ("plain", way)))
    return row


def line(row: dict[str, Any]) -> str:
    if row["state"] != "ready":
        return f"{row['script']:<12}{row['state']}: {row['reason']}"
    text = f"{row['script']:<12}plain {time_text(row['plain_ns']):>8}  ours {time_text(row['ours_ns']):>8}  {_ratio(row['ours'])}"
    text += f"  first run {time_text(row['ours_first_ns'])}"
    return f"{text}  numba {_ratio(row['numba'])}" if "numba" in row else text


def _ratio(said: tuple[float, float, float]) -> str:
    ratio, low, high = said
    return f"{ratio:6.2f} [{low:.2f}, {high:.2f}]"


def summary(rows: list[dict[str, Any]]) -> str:
    ready = [row for row in rows if row["state"] == "ready"]
    said = [f"{len(ready)} of {len(rows)} print the same"]
    if ready:
        ratios = [row["ours"][0] for row in ready]
        firsts = [row["plain_ns"] / row["ours_first_ns"] for row in ready]
        said += [
            f"geometric mean over plain Python {_mean(ratios):.2f} (must 3, goal 5)",
            f"least {min(ratios):.2f} (must 1)",
            f"first runs {_mean(firsts):.2f}",
        ]
    beside = [row for row in ready if "numba" in row]
    if beside:
        ahead = _mean([row["ours"][0] / row["numba"][0] for row in beside])
        said.append(f"over Numba's decorator {ahead:.2f} on {len(beside)}")
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
    beside = importlib.util.find_spec("numba") is not None
    rows = []
    for name in options.only or known:
        words = small_arguments(name) if options.small else []
        commands = {"plain": plain(name, words), "ours": ours(name, words)}
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "OMP_NUM_THREADS": THREADS}
            environment.pop("TILEWRIGHT_NUM_THREADS", None)
            if not options.known:
                environment |= {"XDG_CACHE_HOME": f"{folder}/cache", "TILEWRIGHT_DB": f"{folder}/empty.db"}
            if beside and name in NJIT:
                copy = Path(folder) / f"{name}.py"
                copy.write_text(with_decorators((FOLDER / copy.name).read_text(), NJIT[name]))
                commands["numba"] = plain(name, words, copy.parent)
            rows.append({"script": name, **measure(commands, options.turns, environment, options.limit)})
        print(line(rows[-1]), flush=True)
        if rows[-1].get("said"):
            print(f"{'':<12}{rows[-1]['said']}", flush=True)
    if not beside:
        print("numba is not installed: no script with its decorators took turns")
    print(summary(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d %H:%M"), "turns": options.turns, "rows": rows}
    (options.out / "scripts.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(row["state"] == "ready" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
