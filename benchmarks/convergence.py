"""How close a search gets: winners of several seeds, from empty stores, timed against each other in pairs.

    python benchmarks/convergence.py                      # everything: an hour and a half
    python benchmarks/convergence.py kmeans pi --changed --seeds 3 --budget 30s --best 120s

Each seed runs the `autotune` command with a store of its own; one more run of `--best` seconds looks for the best known schedule.
The winners then answer in one process, turn by turn, equal schedules as one; a seed's figure is the median over turns of (its time / the
best one's).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from case_list import load_script
from child import steady_ns
from run import autotune

HERE = Path(__file__).parent
FUNCTIONS = {
    "cases": {"kmeans": "get_labels", "softmax": "softmax", "trig": "trig", "pi": "estimate_pi"},
    "changed": {"kmeans": "get_labels", "softmax": "log_softmax", "trig": "trig", "pi": "estimate_pi"},
}
BAR = 1.05


def tuned(script: Path, function: str, folder: Path, *, label: str, budget: str, seed: int) -> tuple[str, Any]:
    """The schedules that one search found, and the function of the module that it left behind."""
    out = folder / f"{script.stem}_{label}"
    done = autotune(
        script, function, budget, "--seed", str(seed), "--db", str(folder / f"{label}.db"), "--out", str(out)
    )
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(done.args)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    schedules = "".join(file.read_text() for file in sorted(out.glob("schedules/*.tuned.tws")))
    return schedules, getattr(importlib.import_module(out.name), function)


def converge(script: Path, function: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    name = f"{script.parent.name}/{script.stem}"
    winners = {"best": tuned(script, function, folder, label="best", budget=arguments.best, seed=1000)}
    for seed in range(arguments.seeds):
        winners[str(seed)] = tuned(script, function, folder, label=f"seed{seed}", budget=arguments.budget, seed=seed)
    data = load_script(script).make_data()
    calls = dict(winners.values())
    turns: dict[str, list[float]] = {schedules: [] for schedules in calls}
    for _ in range(arguments.turns):
        for schedules, call in calls.items():
            turns[schedules].append(steady_ns(partial(call, *data), 4))
    medians = {label: float(np.median(turns[schedules])) for label, (schedules, _) in winners.items()}
    fastest = min(medians, key=lambda label: medians[label])
    ratios = {
        label: float(np.median(np.asarray(turns[schedules]) / np.asarray(turns[winners[fastest][0]])))
        for label, (schedules, _) in winners.items()
        if label != "best"
    }
    median = float(np.median(list(ratios.values())))
    print(
        f"{name}: {len(calls)} schedules, best known {medians[fastest] / 1e6:.3f} ms ({'the long run' if fastest == 'best' else 'seed ' + fastest}); seeds "
        f"{', '.join(f'{ratio:.3f}' for ratio in ratios.values())}; median {median:.3f}, bar {BAR}: "
        f"{'held' if median <= BAR else 'short'}",
        flush=True,
    )
    return {
        "case": name,
        "budget": arguments.budget,
        "best_ms": medians[fastest] / 1e6,
        "ratios": ratios,
        "median": median,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*FUNCTIONS["cases"], []], help="all if none is named")
    parser.add_argument("--changed", action="store_true", help="the changed versions only")
    parser.add_argument("--original", action="store_true", help="the originals only")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--best", default="180s", help="the search for the best known schedule")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    arguments = parser.parse_args()
    groups = [
        g for g in FUNCTIONS if not (arguments.changed and g == "cases") and not (arguments.original and g == "changed")
    ]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            for case in arguments.cases or FUNCTIONS["cases"]:
                place = Path(folder) / group
                place.mkdir(exist_ok=True)
                sys.path.insert(0, str(place))
                for module in [m for m in sys.modules if m.startswith(f"{case}_")]:
                    del sys.modules[module]
                results.append(converge(HERE / group / f"{case}.py", FUNCTIONS[group][case], arguments, place))
                sys.path.remove(str(place))
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
