"""Scripts as people have them, whole: `python script.py` beside `autotune run --no-before script.py`: `python benchmarks/run_scripts.py`.

Each script of scripts/ runs unchanged in a process of its own, on two threads, in turns. A first run of ours, with an empty store and an empty cache, is
shown by itself. What both print must be equal. A time is that of the whole process. Where a person could put a peer's decorator above a function without
another change, a script with these decorators takes turns too, with its code in the peer's cache. Builds that a run leaves behind are waited for before
the next run, so that they take no time of it. `--others` takes the scripts of scripts/others/, which others wrote. `--budget` searches each script once
before its turns. Writes results/scripts.json or results/others.json."""

from __future__ import annotations

import argparse
import ctypes
import difflib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from decorated import PEERS, with_decorators
from report import time_text
from run import HERE, machine, paired_ratio

FOLDER = HERE / "scripts"
OTHERS = FOLDER / "others"
# What makes a script small, where that is not `--small`. Scripts of others that are not here have no option for it.
SMALL = {
    "agents": ["--people", "300"],
    "backtest": ["--days", "600"],
    "convnet": ["--epochs", "1"],
    "life": ["--generations", "40"],
    "nbody": ["-n", "30", "--steps", "20", "--years", "0.2"],
    "network": ["1"],
    "rainfall": ["--stations", "100", "--step", "0.5"],
    "riskpkg": ["--paths", "2000"],
    "shallow_water": ["--steps", "20"],
    "spectra": ["5"],
}
THREADS = "2"
PR_SET_CHILD_SUBREAPER = 36


def is_package(name: str, folder: Path) -> bool:
    return (folder / name / "__main__.py").exists()


def script_names(folder: Path = FOLDER) -> list[str]:
    """Files, and packages that run with -m."""
    return sorted(path.stem for path in folder.iterdir() if path.suffix == ".py" or is_package(path.name, folder))


def small_arguments(name: str, folder: Path = FOLDER) -> list[str]:
    return SMALL.get(name, ["--small"] if folder == FOLDER else [])


def script_words(name: str, folder: Path) -> list[str]:
    """How Python and `autotune` are told of a script. A package lies where they are run."""
    return ["-m", name] if is_package(name, folder) else [str(folder / f"{name}.py")]


def plain(name: str, words: list[str], folder: Path = FOLDER) -> list[str]:
    return [sys.executable, *script_words(name, folder), *words]


def ours(name: str, words: list[str], folder: Path = FOLDER) -> list[str]:
    return [*_tilewright("run", "--no-before", *script_words(name, folder)), *_passed(words)]


def search(name: str, words: list[str], budget: str, folder: Path = FOLDER) -> list[str]:
    options = ["--no-module", "--quiet", "--budget", budget]
    return [*_tilewright(*script_words(name, folder), *options), *_passed(words)]


def _tilewright(*words: str) -> list[str]:
    return [sys.executable, "-m", "tilewright", *words]


def _passed(words: list[str]) -> list[str]:
    return ["--", *words] if words else []


@dataclass
class Ran:
    """One process. `cpu_ns` is of all its threads, and of the children that it waited for."""

    code: int
    out: str
    err: str
    wall_ns: float
    cpu_ns: float


def ran(command: list[str], environment: dict[str, str], limit_s: float, folder: Path | None = None) -> Ran:
    wait_for_orphans(limit_s)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter_ns()
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, cwd=folder,
            timeout=limit_s, check=False,
        )  # fmt: skip
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = -1, "", f"not done after {limit_s:g} s"
    wall_ns = time.perf_counter_ns() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Ran(code, out, err, wall_ns, cpu_s * 1e9)


def adopt_orphans() -> None:
    """Processes that outlive a run become children of this one, so that it can wait for them."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_orphans(limit_s: float) -> None:
    """What a run left behind ends, or the limit is over."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            time.sleep(0.01)


def fault(what: str, seen: Ran, expected: Ran | None) -> dict[str, str] | None:
    """What is wrong with a run: its exit code, or where its output leaves that of plain Python."""
    if seen.code != 0:
        last = (seen.err.strip() or "nothing on stderr").split("\n")[-1]
        return {"state": "failed", "reason": f"{what}: exit code {seen.code}: {last}"}
    if expected is not None and seen.out != expected.out:
        lines = difflib.unified_diff(expected.out.split("\n"), seen.out.split("\n"), "plain", what, lineterm="", n=0)
        return {"state": "differs", "reason": "\n".join(islice(lines, 3, 9))}
    return None


def measure(
    commands: dict[str, list[str]], turns: int, environment: dict[str, str], limit_s: float, folder: Path
) -> dict[str, Any]:
    """What a row says beside its script's name: of each way a time, of ours and of a peer its ratio. `plain` is the first way, and judges the others.
    All run in `folder`, where what they write lies.

    Each way runs once before the turns, and the order changes from turn to turn."""
    row: dict[str, Any] = {"state": "ready"}
    times: dict[str, list[Ran]] = {}
    expected = None
    for way, command in commands.items():
        first = ran(command, environment, limit_s, folder)
        wrong = fault(way, first, expected)
        if wrong is not None:
            return row | wrong
        expected = expected or first
        row[f"{way}_first_ns"], times[way] = first.wall_ns, []
        if way == "ours":
            row["said"] = first.err.strip().split("\n")[-1]
    for turn in range(turns):
        for way in list(commands)[:: 1 if turn % 2 == 0 else -1]:
            seen = ran(commands[way], environment, limit_s, folder)
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
        return f"{row['script']:<14}{row['state']}: {row['reason']}"
    text = f"{row['script']:<14}plain {time_text(row['plain_ns']):>8}  ours {time_text(row['ours_ns']):>8}  {_ratio(row['ours'])}"
    text += f"  first run {time_text(row['ours_first_ns'])}"
    if "search_ns" in row:
        text += f"  search {time_text(row['search_ns'])}"
        text += f" (exit code {row['search_code']})" if row["search_code"] else ""
    return text + "".join(f"  {peer.name} {_ratio(row[peer.name])}" for peer in PEERS if peer.name in row)


def _ratio(said: tuple[float, float, float]) -> str:
    ratio, low, high = said
    return f"{ratio:6.2f} [{low:.2f}, {high:.2f}]"


def summary(rows: list[dict[str, Any]], with_bars: bool = True) -> str:
    """The bars are those of the ten scripts."""
    ready = [row for row in rows if row["state"] == "ready"]
    said = [f"{len(ready)} of {len(rows)} print the same"]
    if ready:
        ratios = [row["ours"][0] for row in ready]
        firsts = [row["plain_ns"] / row["ours_first_ns"] for row in ready]
        mean_bar, least_bar = (" (must 3, goal 5)", " (must 1)") if with_bars else ("", "")
        said += [
            f"geometric mean over plain Python {_mean(ratios):.2f}{mean_bar}",
            f"least {min(ratios):.2f}{least_bar}",
            f"first runs {_mean(firsts):.2f}",
        ]
    for peer in PEERS:
        beside = [row for row in ready if peer.name in row]
        if beside:
            ahead = _mean([row["ours"][0] / row[peer.name][0] for row in beside])
            said.append(f"over {peer.name}'s decorator {ahead:.2f} on {len(beside)}")
    return "; ".join(said)


def _mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def measured(name: str, options: argparse.Namespace, words: list[str]) -> dict[str, Any]:
    """A script's row: searched where a budget is given, then measured, in an empty folder with an empty store and cache."""
    folder = OTHERS if options.others else FOLDER
    commands = {"plain": plain(name, words, folder), "ours": ours(name, words, folder)}
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        work = place / "work"
        work.mkdir()
        if is_package(name, folder):
            shutil.copytree(folder / name, work / name, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "OMP_NUM_THREADS": THREADS, "TORCHINDUCTOR_CACHE_DIR": f"{place}/torch"}
        environment.pop("TILEWRIGHT_NUM_THREADS", None)
        if not options.known:
            environment |= {"XDG_CACHE_HOME": f"{place}/cache", "TILEWRIGHT_DB": f"{place}/empty.db"}
        for peer in PEERS:
            if peer.installed and peer.name in options.peer and name in peer.functions:
                copies = place / peer.name
                copies.mkdir()
                text = (folder / f"{name}.py").read_text()
                (copies / f"{name}.py").write_text(with_decorators(text, peer, peer.functions[name]))
                commands[peer.name] = plain(name, words, copies)
        row: dict[str, Any] = {"script": name}
        if options.budget is not None:
            searched = ran(search(name, words, options.budget, folder), environment, options.limit, work)
            row |= {"search_ns": searched.wall_ns, "search_code": searched.code}
        row |= measure(commands, options.turns, environment, options.limit, work)
        wait_for_orphans(options.limit)  # they write into the folder
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="a script of those (again for more)")
    parser.add_argument("--others", action="store_true", help="the scripts of scripts/others/ instead of the ten")
    parser.add_argument("--budget", metavar="TIME", help="search each script first, for so long: 8s")
    parser.add_argument(
        "--peer",
        action="append",
        choices=[peer.name for peer in PEERS],
        help="this peer (again for more) instead of all",
    )
    parser.add_argument("--small", action="store_true", help="small sizes: what is printed, not times")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--known", action="store_true", help="with your store and cache, instead of empty ones")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for one run")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.peer = options.peer or [peer.name for peer in PEERS]
    folder = OTHERS if options.others else FOLDER
    known = script_names(folder)
    unknown = [name for name in options.only or [] if name not in known]
    if unknown:
        parser.error(f"no script is called {unknown[0]!r}; there are: {', '.join(known)}")
    adopt_orphans()
    rows = []
    for name in options.only or known:
        rows.append(measured(name, options, small_arguments(name, folder) if options.small else []))
        print(line(rows[-1]), flush=True)
        if rows[-1].get("said"):
            print(f"{'':<14}{rows[-1]['said']}", flush=True)
    for peer in PEERS:
        if not options.others and peer.name in options.peer and not peer.installed:
            print(f"{peer.name} is not installed: no script with its decorators took turns")
    print(summary(rows, with_bars=not options.others))
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d %H:%M"), "turns": options.turns, "rows": rows}
    (options.out / f"{'others' if options.others else 'scripts'}.json").write_text(
        json.dumps(document, indent=1) + "\n"
    )
    return 0 if all(row["state"] == "ready" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
