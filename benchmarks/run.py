"""Measures the cases against the peers in one run, interleaved, a process each: `python benchmarks/run.py`.

Each case tunes its module first (through the `autotune` command, as a user would), then every peer answers once (checked against
NumPy), then all take turns. Ratios are medians of the paired turns with a bootstrap interval. Absent peers are reported.
Writes results/results.json and results/index.html with a plot for each case."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from case_list import CASES, CASES_FOLDER, Case, case
from peers import PEERS
from report import npbench_table, time_text, write_overview, write_report

HERE = Path(__file__).parent
WARM_UP_TURNS, WARM_UP_S = 4, 6.0
# A peer that takes this long is far behind: a few turns say so.
SLOW_NS = 1e9
SLOW_TURNS = 3
SPINNING_S = 0.04  # OpenBLAS's threads wait busily for 2**26 cycles after a call, some 30 ms


class Child:
    """A running child.py. What is not ready within `limit_s` is killed: a compiler may take hours."""

    def __init__(self, rules: Case, peer: str, reference: Path, environment: dict[str, str], limit_s: float = 0):
        command = [sys.executable, str(HERE / "child.py"), rules.name, peer, str(reference)]
        self.peer = peer
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        timer = threading.Timer(limit_s, self.process.kill) if limit_s else None
        if timer is not None:
            timer.start()
        self.hello = self._read()
        if timer is not None:
            timer.cancel()
            if self.process.poll() == -signal.SIGKILL:
                self.hello["reason"] = f"not ready after {limit_s:g} s"
        self.times_ns: list[float] = []

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            return {"state": "failed", "reason": f"the process ended with {self.process.wait()}"}
        return dict(json.loads(line))

    @property
    def ready(self) -> bool:
        return self.hello.get("state") == "ready"

    def turn(self, calls: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        answer = self._read()
        if "ns" not in answer:
            self.hello = answer
            return
        self.times_ns.append(float(answer["ns"]))

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def paired_ratio(theirs: list[float], ours: list[float]) -> tuple[float, float, float]:
    """Median of theirs / ours over the turns, with a 95 % bootstrap interval."""
    ratios = np.asarray(theirs) / np.asarray(ours)
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(ratios, size=(2000, len(ratios))), axis=1)
    return float(np.median(ratios)), float(np.quantile(medians, 0.025)), float(np.quantile(medians, 0.975))


def autotune(script: Path, function: str, budget: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command as users run it, the one that is installed beside this Python."""
    command = [
        str(Path(sys.executable).with_name("autotune")),
        str(script),
        "--function",
        function,
        "--budget",
        budget,
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def tune(rules: Case, modules: Path, budget: str, database: Path) -> None:
    """Leaves modules/NAME_tuned, made by the command that users run. Goes on where an earlier run stopped."""
    out = modules / f"{rules.name}_tuned"
    if out.exists():
        return
    words = ["--", *rules.words] if rules.words else []
    print(f"  tuning {rules.name} ({budget})", flush=True)
    done = autotune(
        CASES_FOLDER / f"{rules.script}.py", rules.function, budget, "--db", str(database), "--out", str(out), *words
    )
    if done.returncode not in (0, 3):
        print(f"  autotune ended with {done.returncode}: {done.stderr[-2000:]}", flush=True)
    else:
        print(
            "  " + done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "  (no closing line)",
            flush=True,
        )


def measure(
    rules: Case,
    peers: list[str],
    turns: int,
    environment: dict[str, str],
    *,
    says_why_not: bool = True,
    limit_s: float = 0,
) -> dict[str, Any]:
    """All peers of one case, turn by turn. Prints why a peer does not run, or leaves it to the caller."""
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "reference.npz"
        ours = ("tilewright", "tilewright_jit") if rules.group else ("tilewright",)
        names = [p for p in ("numpy", *rules.peers, *ours) if p in peers]
        if rules.keeps_freed_memory:
            environment = {
                **environment,
                "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
                "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
            }
        children = [Child(rules, peer, reference, environment, limit_s) for peer in dict.fromkeys(names)]
        for child in children:
            if not child.ready and says_why_not:
                print(f"  {child.peer}: {child.hello['state']}: {child.hello.get('reason', '')}", flush=True)
        running = [child for child in children if child.ready]
        for child in running:
            # Warm-up, not counted: what is compiled by and by, or tried beside Python, is so in the first calls.
            until = time.monotonic() + WARM_UP_S
            for _ in range(WARM_UP_TURNS):
                child.turn(rules.calls_per_turn)
                if time.monotonic() > until:
                    break
            child.times_ns.clear()
        for _ in range(turns):
            for child in running:
                if len(child.times_ns) >= SLOW_TURNS and np.median(child.times_ns) > SLOW_NS:
                    continue
                child.turn(rules.calls_per_turn)
                time.sleep(SPINNING_S)  # worker threads of one peer that spin must not eat the next one's turn
        for child in children:
            child.close()
    return {
        "case": rules.name,
        "title": rules.title,
        "must": rules.must,
        "goal": rules.goal,
        "compared_with": list(rules.peers),
        "per_point_of": rules.per_point_of,
        "group": rules.group,
        "points": rules.data.get("points", 20_000_000),
        "peers": {c.peer: {**c.hello, "times_ns": c.times_ns} for c in children},
    }


def judge(result: dict[str, Any], by_name: dict[str, dict[str, Any]]) -> None:
    """Adds the ratio to the best peer and whether the bars are met."""
    times = {peer: entry["times_ns"] for peer, entry in result["peers"].items() if entry["times_ns"]}
    ours = times.get("tilewright")
    if not ours:
        result["verdict"] = "no time of ours"
        return
    if result["per_point_of"]:
        other = by_name.get(result["per_point_of"])
        if not other or not other["peers"].get("tilewright", {}).get("times_ns"):
            result["verdict"] = f"needs {result['per_point_of']} in the same run"
            return
        theirs = [t / other["points"] * result["points"] for t in other["peers"]["tilewright"]["times_ns"]]
        best = f"itself at {other['points']:,}"
    else:
        rivals = {p: t for p, t in times.items() if p in result["compared_with"]}
        if not rivals:
            result["verdict"] = "no peer ran"
            return
        best = min(rivals, key=lambda p: float(np.median(rivals[p])))
        theirs = rivals[best]
    count = min(len(theirs), len(ours))
    ratio, low, high = paired_ratio(theirs[:count], ours[:count])
    result.update(
        best_peer=best,
        ratio=ratio,
        low=low,
        high=high,
        ours_ns=float(np.median(ours)),
        best_ns=float(np.median(theirs)),
    )
    result["verdict"] = "goal" if ratio >= result["goal"] else "must" if ratio >= result["must"] else "short"


def machine() -> dict[str, Any]:
    model = next(
        (l.split(":")[1].strip() for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("model name")),
        "?",
    )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "cases", nargs="*", help=f"of: {', '.join(c.name for c in CASES)}; npbench is all of NPBench (all)"
    )
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--budget", default="60s", help="search time for each module")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--retune", action="store_true", help="search again although a module is there")
    parser.add_argument("--overview", type=Path, help="also draw all ratios into this picture (README.md shows one)")
    options = parser.parse_args()
    groups = {group: [c for c in CASES if c.group == group] for group in {c.group for c in CASES} - {""}}
    chosen = [c for name in options.cases for c in groups.get(name, []) or [case(name)]] or CASES
    options.out.mkdir(parents=True, exist_ok=True)
    modules = options.out / "modules"
    modules.mkdir(exist_ok=True)
    environment = {**os.environ, "TILEWRIGHT_BENCH_MODULES": str(modules.resolve())}
    peers = options.peers.split(",")
    results: list[dict[str, Any]] = []
    for rules in chosen:
        print(f"{rules.title}", flush=True)
        if "tilewright" in peers:
            source = case(rules.tuned_as) if rules.tuned_as else rules
            if options.retune and not rules.tuned_as:
                subprocess.run(["rm", "-rf", str(modules / f"{rules.name}_tuned")], check=True)
            tune(source, modules, options.budget, options.out / "benchmarks.db")
        result = measure(rules, peers, options.turns, environment)
        results.append(result)
        for name, entry in result["peers"].items():
            if entry["times_ns"]:
                print(
                    f"    {name}: {time_text(float(np.median(entry['times_ns'])))}, {entry.get('variant', '')} {entry['agreement']}",
                    flush=True,
                )
        judge(result, {r["case"]: r for r in results})
        if "ratio" in result:
            print(
                f"  {result['ours_ns'] / 1e6:.4g} ms, best peer {result['best_peer']} {result['best_ns'] / 1e6:.4g} ms: "
                f"{result['ratio']:.2f}x [{result['low']:.2f}, {result['high']:.2f}], must {rules.must:.2f}, goal {rules.goal:.2f}: "
                f"{result['verdict']}",
                flush=True,
            )
        else:
            print(f"  {result['verdict']}", flush=True)
        document = {
            "machine": machine(),
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "turns": options.turns,
            "results": results,
        }
        (options.out / "results.json").write_text(json.dumps(document, indent=1))
    write_report(document, options.out)
    if options.overview:
        write_overview(document, options.overview)
    together = npbench_table(results)
    if together is not None:
        print(f"NPBench: {together['summary']}")
    print(f"page: {options.out / 'index.html'}")


if __name__ == "__main__":
    main()
