"""What loops must not cost: compiling 20,000 iterations against 20, and anything at all for another maxiter, size or horizon.

python benchmarks/counts.py     # writes results/counts.json and shows it on the page of run.py

Answers are compared with NumPy's, and with NumPy's without its dispatch to AVX2 and FMA: fused products move orbits.
The Mandelbrot tutorial with its iteration count as a literal is compiled in turns, from nothing each time; then the tutorial as it stands is called
with other arguments, and jit counts how many calls reached the compiler and how many versions there are."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from case_list import case, load_script
from child import Arguments, check
from report import rewrite_page
from run import HERE, paired_ratio

ITERATIONS = (20, 20_000)
BAR = 1.3


def with_literal(source: str, iterations: int, folder: Path) -> Callable[..., Any]:
    """The tutorial's function without `maxiter`: its value stands in the text."""
    head, body = source.split("\n", 1)
    text = head.replace(" maxiter,", "") + "\n" + re.sub(r"\bmaxiter\b", str(iterations), body)
    path = folder / f"iterations_{iterations}.py"
    path.write_text(f"import numpy as np\n\n\n{text}")
    return load_script(path).mandelbrot_numpy


def compile_s(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    import tilewright

    compiled = tilewright.jit(function, strict=True)
    start = time.perf_counter()
    compiled.for_args(*arguments)
    return time.perf_counter() - start


def compile_times(function: Callable[..., Any], sizes: tuple[Any, ...], turns: int, folder: Path) -> dict[str, Any]:
    *window, _, horizon = sizes
    literal = {iterations: with_literal(inspect.getsource(function), iterations, folder) for iterations in ITERATIONS}
    times: dict[int, list[float]] = {iterations: [] for iterations in ITERATIONS}
    for turn in range(turns + 1):
        for iterations in ITERATIONS:
            seconds = compile_s(literal[iterations], (*window, horizon))
            if turn:  # the first one wakes the compiler up
                times[iterations].append(seconds)
    ratio, low, high = paired_ratio(times[ITERATIONS[1]], times[ITERATIONS[0]])
    return {
        "iterations": ITERATIONS,
        "seconds": list(times.values()),
        "ratio": ratio,
        "low": low,
        "high": high,
        "bar": BAR,
    }


def without_dispatch(sizes: dict[str, Any], folder: Path) -> list[np.ndarray]:
    """The results of a call by a NumPy that uses no vector units beyond its baseline."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    found = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    code = f"""
import sys
import numpy as np
sys.path.insert(0, {str(HERE)!r})
from case_list import case
rules = case("mandelbrot")
with np.errstate(all="ignore"):
    results = getattr(rules.module(), rules.function)(*rules.module().make_data(**{sizes!r}))
np.savez({str(folder / "plain.npz")!r}, *results)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NPY_DISABLE_CPU_FEATURES": found})
    with np.load(folder / "plain.npz") as saved:
        return [saved[name] for name in saved.files]


def misses(function: Callable[..., Any], sizes: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """One compiled function, called with one argument changed after the other: calls that no plan took, versions made."""
    import tilewright

    rules = case("mandelbrot")
    compiled = tilewright.jit(function, strict=True)
    rows = []
    changes = [{}, {"maxiter": 7}, {"maxiter": 500}, {"nx": 131, "ny": 67}, {"nx": 1, "ny": 1}, {"horizon": 2.0}]
    for change in changes:
        data = Arguments(rules.module().make_data(**{**sizes, **change}), rules)
        before, versions = compiled.misses, _versions(compiled)
        got = data.results(compiled(*data), is_pure=False)
        wrong, agreement = check(got, data.results(function(*data), is_pure=False), rules)
        plain = int(np.sum(got[1] != without_dispatch({**sizes, **change}, folder)[1]))
        agreement = f"{wrong or agreement}; {plain:,} differ from NumPy without AVX2 and FMA"
        rows.append(
            {
                "change": change,
                "misses": compiled.misses - before,
                "compiled": _versions(compiled) - versions,
                "agreement": agreement,
            }
        )
    return rows


def _versions(compiled: Any) -> int:
    return sum(len(specialization.versions) for specialization in compiled.specializations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    rules = case("mandelbrot")
    function = getattr(rules.module(), rules.function)
    sizes = {"maxiter": 50, "nx": 200, "ny": 167}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TILEWRIGHT_CACHE": "off", "TILEWRIGHT_DB": f"{folder}/empty.db"}
        compiling = compile_times(function, rules.module().make_data(**sizes), options.turns, Path(folder))
        rows = misses(function, sizes, Path(folder))
    short, long = (float(np.median(seconds)) for seconds in compiling["seconds"])
    print(
        f"{ITERATIONS[0]} iterations compile in {short:.3f} s, {ITERATIONS[1]:,} in {long:.3f} s: {compiling['ratio']:.2f} "
        f"[{compiling['low']:.2f}, {compiling['high']:.2f}], bar {BAR}"
    )
    for row in rows:
        print(
            f"{row['change'] or 'first call'}: misses {row['misses']}, versions {row['compiled']}, {row['agreement']}"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "counts.json").write_text(json.dumps({"compiling": compiling, "calls": rows}, indent=1) + "\n")
    rewrite_page(options.out)


if __name__ == "__main__":
    main()
