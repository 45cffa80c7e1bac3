"""What a call needs beside its arguments: results and temporaries, ours (default schedule) against NumPy's.

    python benchmarks/memory.py                    # NPBench's programs with loops at S and M, the Mandelbrot tutorial
    python benchmarks/memory.py adi_M tutorial

Each program runs in a fresh process for each of the two. The highest mark of resident memory is set back before its first call (compiled before); what it rises
by is the call's. Code, stacks of threads and rounding to pages are in it: up to SLACK more than NumPy's says nothing.
Writes results/memory.json and shows it on the page of run.py."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from case_list import case, load_script, npbench_cases
from child import with_peak
from report import rewrite_page
from run import HERE

TUTORIAL = [
    "mandelbrot_numpy", "step", "mandelbrot", "step_2", "mandelbrot_2", "step_3", "mandelbrot_3", "step_4", "mandelbrot_4", "visualize",
]  # fmt: skip
SLACK = 2 << 20


def program(name: str) -> tuple[Any, tuple[Any, ...]]:
    """The function and its arguments."""
    kind, _, rest = name.partition(":")
    if kind == "tutorial":
        module = load_script(HERE / "tutorial.py")
        return getattr(module, rest), module.make_data(rest)
    rules = case(name)
    return getattr(rules.module(), rules.function), rules.module().make_data(**rules.data)


def measure(name: str, ours: bool) -> None:
    function, data = program(name)
    if ours:
        import tilewright

        function = tilewright.jit(function, strict=True)
        function.for_args(*data)
    # What is free in malloc's lists goes back, so that the call has to ask for all that it needs.
    ctypes.CDLL(None).malloc_trim(0)
    np.seterr(all="ignore")
    answer, peak = with_peak(lambda: function(*data))
    results = answer if isinstance(answer, tuple) else (answer,)
    held = sum(a.nbytes for a in results if isinstance(a, np.ndarray) and not any(a is b for b in data))
    print(json.dumps({"peak_bytes": max(0, peak), "result_bytes": held}))


def in_a_process(name: str, ours: bool, folder: str) -> dict[str, Any]:
    environment = {**os.environ, "TILEWRIGHT_CACHE": "off", "TILEWRIGHT_DB": f"{folder}/empty.db"}
    command = [sys.executable, __file__, "--measure", "ours" if ours else "numpy", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="cases of NPBench, tutorial:NAME, or tutorial (all)")
    parser.add_argument("--measure", choices=["ours", "numpy"], help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    if options.measure:
        measure(options.programs[0], options.measure == "ours")
        return
    tutorial = [f"tutorial:{name}" for name in TUTORIAL]
    asked = options.programs or ["tutorial", *(rules.name for rules in npbench_cases())]
    names = [name for one in asked for name in (tutorial if one == "tutorial" else [one])]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            numpy, ours = (in_a_process(name, which, folder) for which in (False, True))
            row = {"program": name, "numpy": numpy, "ours": ours}
            said = [
                f"{one['peak_bytes'] / 1e6:9.1f} MB" if "peak_bytes" in one else one["failed"] for one in (numpy, ours)
            ]
            row["verdict"] = ""
            if "peak_bytes" in numpy and "peak_bytes" in ours:
                row["verdict"] = "more" if ours["peak_bytes"] > numpy["peak_bytes"] + SLACK else "ok"
            rows.append(row)
            print(f"{name:>28}  NumPy {said[0]}  ours {said[1]}  {row['verdict']}", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "memory.json").write_text(json.dumps({"slack": SLACK, "rows": rows}, indent=1) + "\n")
    rewrite_page(options.out)


if __name__ == "__main__":
    main()
