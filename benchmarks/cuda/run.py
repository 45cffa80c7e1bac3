"""Measures the CUDA cases beside their peers on one device, in one process, turn by turn: `python benchmarks/cuda/run.py`.

Modules are made by `autotune --target cuda` first, unless they are there. Data lies on the device; a turn is `calls` calls back to back and
one wait, by the clock of the host, L2 as it is. Every way to write a case has to answer as NumPy does before it is timed; the fastest way of a
peer takes the turns. Writes results.json and table.md to --out."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from cuda_cases import CASES, CASES_FOLDER, Case  # noqa: E402


def to_numpy(value: Any) -> list[np.ndarray]:
    """What a peer returned, as NumPy arrays."""
    values = value if isinstance(value, (tuple, list)) else [value]
    arrays = []
    for one in values:
        ways_home = [name for name in ("copy_to_host", "get", "cpu") if hasattr(one, name)]
        arrays.append(np.asarray(getattr(one, ways_home[0])() if ways_home else one))
    return arrays


def disagreement(got: list[np.ndarray], wanted: list[np.ndarray], case: Case) -> tuple[bool, str]:
    """Whether the answer is right, and how far it is from NumPy's."""
    if len(got) != len(wanted):
        return False, f"{len(got)} results instead of {len(wanted)}"
    words = []
    for mine, right in zip(got, wanted, strict=True):
        if mine.shape != right.shape:
            return False, f"shape {mine.shape} instead of {right.shape}"
        if right.dtype.kind in "iub":
            differ = int(np.sum(mine != right))
            words.append(f"{differ:,} of {right.size:,} differ")
            if differ > case.mismatch_fraction * right.size:
                return False, words[-1]
        else:
            scale = float(np.linalg.norm(np.nan_to_num(right).ravel())) or 1.0
            error = float(np.linalg.norm(np.nan_to_num(mine - right).ravel())) / scale
            words.append(f"error {error:.1e}")
            if case.rtol < np.inf and not error <= case.rtol:
                return False, words[-1]
    return True, "; ".join(words)


class Runner:
    """A peer on a case: its fastest right way."""

    def __init__(self, peer: str, case: Case, arguments: tuple[Any, ...], wanted: list[np.ndarray]):
        self.peer, self.case, self.times_ns, self.agreement, self.way = peer, case, [], "", ""
        self.reason = "no way was right"
        try:
            ways, self.wait = importlib.import_module(f"device_peers.{peer}").prepare(case, arguments)
        except Exception as error:  # noqa: BLE001 (a peer that is absent or fails is reported)
            self.reason = f"{type(error).__name__}: {str(error)[:200]}"
            return
        best = np.inf
        for name, call in ways.items():
            try:
                right, words = disagreement(to_numpy(call()), wanted, case)
                if not right:
                    self.reason = f"{name}: {words}"
                    continue
                self.wait()
                ns = min(self.turn(call) for _ in range(3))
            except Exception as error:  # noqa: BLE001
                self.reason = f"{name}: {type(error).__name__}: {str(error)[:200]}"
                continue
            if ns < best:
                best, self.way, self.call, self.agreement = ns, name, call, words

    @property
    def ready(self) -> bool:
        return bool(self.way)

    def turn(self, call: Callable[[], Any] | None = None) -> float:
        call = call or self.call
        self.wait()
        start = time.perf_counter_ns()
        for _ in range(self.case.calls):
            call()
        self.wait()
        return (time.perf_counter_ns() - start) / self.case.calls


def tune(case: Case, modules: Path, budget: str, extra: list[str]) -> str:
    out = modules / f"{case.name}_tuned"
    if out.exists():
        return "made before"
    words = []
    if "dtype" in case.data:
        words = ["--", case.data["dtype"].__name__]
    if "size" in case.data:
        words = ["--", case.data["size"]]
    command = [sys.executable, "-m", "tilewright", str(CASES_FOLDER / f"{case.script}.py"), "--function", case.function,
               "--target", "cuda", "--contract", case.contract, "--budget", budget, "--out", str(out), *extra, *words]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[-1] if lines else f"autotune ended with {done.returncode}"


def measure(case: Case, peers: list[str], turns: int) -> dict[str, Any]:
    arguments = case.arguments()
    numpy_arguments = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    answer = getattr(case.module(), case.function)(*numpy_arguments)
    wanted = to_numpy([numpy_arguments[place] for place in case.written] if case.written else answer)
    runners = [Runner(peer, case, arguments, wanted) for peer in [*(p for p in case.peers if p in peers), "tilewright"]]
    running = [runner for runner in runners if runner.ready]
    for _ in range(turns):
        for runner in running:
            runner.times_ns.append(runner.turn())
    result: dict[str, Any] = {"case": case.name, "title": case.title, "must": case.must, "goal": case.goal, "peers": {}}
    for runner in runners:
        result["peers"][runner.peer] = (
            {"way": runner.way, "median_ns": float(np.median(runner.times_ns)), "times_ns": runner.times_ns,
             "agreement": runner.agreement} if runner.ready else {"absent": runner.reason}
        )  # fmt: skip
    ours = next(r for r in runners if r.peer == "tilewright")
    rivals = [r for r in running if r.peer != "tilewright"]
    if ours.ready and rivals:
        best = min(rivals, key=lambda r: float(np.median(r.times_ns)))
        ratios = np.asarray(best.times_ns) / np.asarray(ours.times_ns)
        rng = np.random.default_rng(0)
        medians = np.median(rng.choice(ratios, size=(2000, len(ratios))), axis=1)
        result |= {"best": best.peer, "ratio": float(np.median(ratios)), "low": float(np.quantile(medians, 0.025)),
                   "high": float(np.quantile(medians, 0.975))}  # fmt: skip
        result["verdict"] = (
            "goal" if result["ratio"] >= case.goal else "must" if result["ratio"] >= case.must else "short"
        )
    return result


def line_of(result: dict[str, Any]) -> str:
    def micro(entry: dict[str, Any]) -> str:
        return f"{entry['median_ns'] / 1e3:.1f}" if "median_ns" in entry else "-"

    others = ", ".join(f"{p} {micro(e)}" for p, e in result["peers"].items() if p != "tilewright")
    ours = result["peers"]["tilewright"]
    ratio = (
        f"{result['ratio']:.2f} [{result['low']:.2f}, {result['high']:.2f}] {result['best']}"
        if "ratio" in result
        else "-"
    )
    note = ours.get("absent") or f"{ours['way']}; {ours['agreement']}"
    return f"| {result['title']} | {micro(ours)} | {others} | {ratio} | {result['must']:g} / {result['goal']:g} | {result.get('verdict', '')} | {note} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"of: {', '.join(c.name for c in CASES)} (all)")
    parser.add_argument("--peers", default="torch,cupy,jax,triton,numba,nvrtc")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--budget", default="20s", help="search time for each module")
    parser.add_argument("--modules", type=Path, help="folder of tuned modules (default: below --out)")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--tune-only", action="store_true")
    parser.add_argument("--build-only", action="store_true", help="default schedules, no search")
    options = parser.parse_args()
    chosen = [c for c in CASES if not options.cases or c.name in options.cases]
    options.out.mkdir(parents=True, exist_ok=True)
    modules = (options.modules or options.out / "modules").resolve()
    modules.mkdir(parents=True, exist_ok=True)
    os.environ["TILEWRIGHT_BENCH_MODULES"] = str(modules)
    for case in chosen:
        if not case.tuned_as:
            print(
                f"{case.name}: {tune(case, modules, options.budget, ['--build-only'] if options.build_only else [])}",
                flush=True,
            )
    if options.tune_only:
        return
    header = "| case | ours us | peers us | best / ours | must / goal | | |\n|---|---|---|---|---|---|---|"
    lines, results = [header], []
    print(header, flush=True)
    for case in chosen:
        results.append(measure(case, options.peers.split(","), options.turns))
        lines.append(line_of(results[-1]))
        print(lines[-1], flush=True)
        (options.out / "results.json").write_text(json.dumps(results, indent=1))
        (options.out / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
