"""How many candidates a search of k-means measures in a minute, on one device and on four: `python benchmarks/cuda/tuning_rate.py`.

Each search begins with an empty store and the same seed, through the `autotune` command; counted are candidates that were built, verified and timed, over the time that
the search itself says it took. Writes tuning_rate.json to --out."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from cuda_cases import CASES_FOLDER  # noqa: E402
from page import rewrite_page  # noqa: E402


def command_of(devices: str, options: argparse.Namespace, folder: Path) -> list[str]:
    return [sys.executable, "-m", "tilewright", str(CASES_FOLDER / "kmeans.py"), "--function", "get_labels", "--target", "cuda",
            "--devices", devices, "--budget", options.budget, "--seed", str(options.seed), "--db", str(folder / "store.db"),
            "--out", str(folder / "kmeans_tuned"), "--json", "--quiet",
            *(["--space", str(options.space)] if options.space else [])]  # fmt: skip


def row_of(devices: str, said: str) -> dict[str, Any]:
    """What the JSON of `autotune` says of the search."""
    search = json.loads(said.strip().splitlines()[-1])["results"][0]["search"]
    outcomes, elapsed = search["outcomes"], float(search["elapsed_s"])
    measured = int(outcomes.get("measured", 0))
    return {"devices": len(devices.split(",")), "measured": measured, "outcomes": outcomes, "elapsed_s": elapsed,
            "rate": 60 * measured / elapsed if elapsed else 0.0, "of_one": None, "stopped": search["reason"]}  # fmt: skip


def search(devices: str, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command_of(devices, options, Path(folder)), capture_output=True, text=True, check=False)
    try:
        return row_of(devices, done.stdout)
    except (ValueError, LookupError, TypeError):
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        return {"devices": len(devices.split(",")), "absent": f"autotune ended with {done.returncode}: {last[:300]}"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--sets", nargs="+", default=["0", "0,1,2,3"], help="lists of devices, a search each")
    made.add_argument("--budget", default="120s")
    made.add_argument(
        "--space", type=Path, help="a wider space than the default one, which four devices are through with in seconds"
    )
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--out", type=Path, default=HERE / "results")
    return made


def main() -> None:
    options = parser().parse_args()
    rows: list[dict[str, Any]] = []
    for devices in options.sets:
        row = search(devices, options)
        one = next((r for r in rows if r["devices"] == 1 and r.get("rate")), None)
        if one and "rate" in row:
            row["of_one"] = row["rate"] / one["rate"]
        rows.append(row)
        print(f"devices {devices}: {row.get('absent') or _words(row)}", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "tuning_rate.json").write_text(json.dumps({"budget": options.budget, "rows": rows}, indent=1))
    print(rewrite_page(options.out))


def _words(row: dict[str, Any]) -> str:
    of_one = f", {row['of_one']:.2f} times one device's" if row["of_one"] else ""
    return f"{row['measured']} measured in {row['elapsed_s']:.0f} s: {row['rate']:.0f} a minute{of_one}; stopped: {row['stopped']}"


if __name__ == "__main__":
    main()
