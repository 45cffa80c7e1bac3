"""The Mandelbrot tutorial's table: how many iterations one visit to a point does, beside what the search chose.

    python benchmarks/run.py mandelbrot               # tunes first
    python benchmarks/chunks.py                       # measures our schedules with other chunks, and NumPy, in one run
    python benchmarks/chunks.py --torch               # and torch.compile with each chunk: minutes of compiling

Takes the tuned schedule, puts another number where it splits the iterations, and times all of them turn by turn. Up to UNROLLED iterations of a visit are written
out; more stay a loop, since two hundred copies of the body compile for minutes and are slower.
Writes results/chunks.json and chunks.svg, and shows them on the page of run.py."""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from case_list import case
from child import Arguments, check, steady_ns
from report import rewrite_page
from run import HERE

CHUNKS = [1, 2, 10, 50, 100, 200]
SEARCH = "search"
UNROLLED = 20


def iterations_split(specialization: Any) -> re.Pattern[str]:
    """Where a schedule says how many iterations a visit does: `NAME.update(0).….split(n, no, ni, 10)`."""
    places = [
        rf"{stage['name']}\.update\(0?\)[^\n]*?\.split\({stage['updates'][0][-1]['name']}, \w+, \w+, "
        for stage in specialization.stages
        if stage["updates"] and stage["updates"][0][-1]["reduced"]
    ]
    return re.compile(rf"({'|'.join(places)})(\d+)")


def scheduled(function: Callable[..., Any], data: Arguments, text: str | None) -> tuple[Any, Any, float]:
    """The function compiled with a schedule of its own, and how long that took."""
    import tilewright

    compiled = tilewright.jit(function, strict=True)
    specialization = compiled.for_args(*data)
    start = time.perf_counter()
    if text is not None:
        specialization.schedule = text
    return compiled, specialization, time.perf_counter() - start


def candidates(function: Callable[..., Any], data: Arguments, tuned: str) -> dict[str, tuple[Callable[..., Any], Any]]:
    """For each chunk a compiled function and what is known of it; the search's own choice first."""
    compiled, specialization, compile_s = scheduled(function, data, tuned)
    place = iterations_split(specialization)
    found = place.search(tuned)
    if found is None:
        raise SystemExit(f"this schedule splits no iterations, so there is no chunk to change:\n{tuned}")
    made = {SEARCH: (compiled, {"chunk": int(found[2]), "compile_s": compile_s, "schedule": tuned})}
    for chunk in CHUNKS:
        text = place.sub(rf"\g<1>{chunk}", tuned)
        if chunk > UNROLLED:
            iteration = found[1].rstrip(", ").rpartition(" ")[2]
            text = text.replace(f".unroll({iteration})", "")
        compiled, _, compile_s = scheduled(function, data, text)
        made[str(chunk)] = compiled, {"chunk": chunk, "compile_s": compile_s, "schedule": text}
    return made


def torch_candidates(data: Arguments, most: int) -> dict[str, tuple[Callable[..., Any], Any]]:
    from loops import with_torch

    made: dict[str, tuple[Callable[..., Any], Any]] = {}
    for chunk in (c for c in CHUNKS if c <= most):
        function = with_torch.mandelbrot(chunk)
        start = time.perf_counter()
        function(*data)
        made[f"torch {chunk}"] = function, {"chunk": chunk, "compile_s": time.perf_counter() - start}
        print(f"  torch, chunk {chunk}: first call {made[f'torch {chunk}'][1]['compile_s']:.1f} s", flush=True)
    return made


def plot(document: dict[str, Any], path: Path) -> None:
    """How many times faster than NumPy, by chunk. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = document["rows"]
    figure, axes = plt.subplots(figsize=(6.5, 3.5))
    for prefix, label, colour in (("", "tilewright, this chunk", "#0a7d33"), ("torch ", "torch.compile", "#9aa5b1")):
        found = [rows[f"{prefix}{chunk}"] for chunk in CHUNKS if f"{prefix}{chunk}" in rows]
        if found:
            axes.plot([r["chunk"] for r in found], [r["boost"] for r in found], "o-", color=colour, label=label)
    if SEARCH in rows:
        chosen = rows[SEARCH]
        axes.axhline(chosen["boost"], color="#0a7d33", linestyle=":", label=f"the search's choice: {chosen['chunk']}")
    axes.set_xscale("log")
    axes.set_xticks(CHUNKS, [str(chunk) for chunk in CHUNKS])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("iterations a visit")
    axes.set_ylabel("times faster than NumPy")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedule", type=Path, help="start from this file instead of the tuned module's schedule")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--torch", action="store_true", help="torch.compile too")
    parser.add_argument("--most", type=int, default=200, help="the largest chunk for torch: it compiles minutes at 200")
    parser.add_argument("--no-tilewright", action="store_true", help="the peers alone")
    options = parser.parse_args()
    rules = case("mandelbrot")
    os.environ["TILEWRIGHT_CACHE"] = "off"  # compile times are shown
    function = getattr(rules.module(), rules.function)
    data = Arguments(rules.module().make_data(**rules.data), rules)
    made: dict[str, tuple[Callable[..., Any], Any]] = {"NumPy": (function, {})}
    if not options.no_tilewright:
        files = (options.out / "modules" / f"{rules.name}_tuned" / "schedules").glob("*.tuned.tws")
        path = options.schedule or next(iter(sorted(files)), None)
        if path is None:
            raise SystemExit(f"no module was tuned: run benchmarks/run.py {rules.name} first, or give --schedule FILE.")
        made |= candidates(function, data, path.read_text())
    if options.torch:
        made |= torch_candidates(data, options.most)
    wanted = data.results(function(*data), is_pure=False)
    times: dict[str, list[float]] = {}
    for name, (call, said) in made.items():
        ours = not name.startswith("torch")
        wrong, said["agreement"] = check(
            data.results(call(*data), is_pure=False), wanted, rules, 1.0 if ours else rules.peer_slack
        )
        if wrong:
            print(f"  {name}: wrong: {wrong}", flush=True)
        else:
            times[name] = []
    for _ in range(options.turns):
        for name, mine in times.items():
            mine.append(steady_ns(partial(made[name][0], *data), 1))
            time.sleep(0.005)
    numpy_ns = np.asarray(times["NumPy"])
    rows = {
        name: {**made[name][1], "ns": float(np.median(mine)), "boost": float(np.median(numpy_ns / np.asarray(mine)))}
        for name, mine in times.items()
    }
    document = {"title": rules.title, "turns": options.turns, "rows": rows}
    options.out.mkdir(parents=True, exist_ok=True)
    for name, row in rows.items():
        print(f"{name:>10}  {row['ns'] / 1e6:9.3f} ms  {row['boost']:7.1f} times NumPy  {row['agreement']}", flush=True)
    try:
        plot(document, options.out / "chunks.svg")
        document["plot"] = "chunks.svg"
    except ImportError:
        pass
    (options.out / "chunks.json").write_text(json.dumps(document, indent=1) + "\n")
    rewrite_page(options.out)


if __name__ == "__main__":
    main()
