"""Forty programs as their users wrote them, compiled whole, beside NumPy and peers: `python benchmarks/run_everyday.py`.

Each function of everyday/ runs as it stands under tilewright.jit(strict=True), with an empty store and no search; Numba and JAX get the same text.
A process each, turn by turn; every answer is checked against NumPy's, with its structure, dtypes and shapes. Prints a ratio to NumPy for each program, or
the first line of what refused it. Writes results/everyday.json."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from case_list import Case, everyday_cases
from report import time_text
from run import HERE, machine, measure, paired_ratio

OURS = "tilewright_jit"
PEERS = ("numba", "jax")


STATES = {"not applicable": "refused"}  # what is not traceable is a NotImplementedError


def first_line(entry: dict[str, Any]) -> str:
    """Why there is no time."""
    return str(entry.get("reason", "did not run")).strip().split("\n")[0]


def judge(rules: Case, result: dict[str, Any]) -> dict[str, Any]:
    """A row of the table: times, our ratio to NumPy, and each peer's or its refusal."""
    entries = result["peers"]
    row: dict[str, Any] = {"program": rules.script, "kind": rules.title, "peers": {}}
    in_numpy = entries["numpy"]["times_ns"]
    if not in_numpy:
        return {**row, "state": "failed", "reason": f"NumPy: {first_line(entries['numpy'])}"}
    row["numpy_ns"] = float(np.median(in_numpy))
    for name in (OURS, *PEERS):
        entry = entries.get(name)
        if entry is None:
            continue
        said = {"state": STATES.get(entry["state"], entry["state"]), "reason": first_line(entry)}
        if entry["times_ns"]:
            count = min(len(in_numpy), len(entry["times_ns"]))
            ratio, low, high = paired_ratio(in_numpy[:count], entry["times_ns"][:count])
            said = {"state": "ready", "ns": float(np.median(entry["times_ns"])), "ratio": ratio, "low": low, "high": high,
                    "first_call_s": entry["first_call_s"], "agreement": entry["agreement"]}  # fmt: skip
        if name == OURS:
            row |= said
        else:
            row["peers"][name] = said
    return row


def line(row: dict[str, Any]) -> str:
    head = f"{row['kind']:<10}{row['program']:<24}"
    if "numpy_ns" in row:
        head += f"NumPy {time_text(row['numpy_ns']):>9}  "
    if "ratio" not in row:
        return f"{head}{row.get('state', 'not run')}: {row.get('reason', '')}"
    return (
        f"{head}ours {time_text(row['ns']):>9}  {row['ratio']:6.2f} [{row['low']:.2f}, {row['high']:.2f}]  "
        f"compiled in {row['first_call_s']:.1f} s"
    )


def peer_text(row: dict[str, Any]) -> str:
    said = [
        f"{name} {entry['ratio']:.2f}" if "ratio" in entry else f"{name} {entry['state']}: {entry['reason'][:110]}"
        for name, entry in row["peers"].items()
        if entry["state"] != "absent"
    ]
    return "; ".join(said)


def summary(rows: list[dict[str, Any]]) -> str:
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    said = [f"{len(ratios)} of {len(rows)} strict"]
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        said += [f"geometric mean over NumPy {mean:.2f} (goal 5)", f"least {min(ratios):.2f} (must 0.95)"]
    for name in PEERS:
        entries = [row["peers"][name] for row in rows if name in row["peers"]]
        absent = [entry["reason"] for entry in entries if entry["state"] == "absent"]
        states = Counter(entry["state"] for entry in entries)
        if entries:
            counts = ", ".join(f"{count} {state}" for state, count in states.items())
            said.append(f"{name} is absent: {absent[0]}" if absent else f"{name}: {counts}")
    return "; ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="a program of everyday/ (again for more)")
    parser.add_argument("--small", action="store_true", help="small sizes: right answers, not times")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="for a first call, compiling included"
    )
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    programs = [c for c in everyday_cases() if c.name.endswith("_small") == options.small]
    known = [c.script for c in programs]
    unknown = [name for name in options.only or [] if name not in known]
    if unknown:
        parser.error(f"no program is called {unknown[0]!r}; there are: {', '.join(known)}")
    rows = []
    for rules in programs:
        if options.only and rules.script not in options.only:
            continue
        with_peers = ["numpy", *filter(None, options.peers.split(",")), OURS]
        result = measure(rules, with_peers, options.turns, dict(os.environ), says_why_not=False, limit_s=options.limit)
        rows.append(judge(rules, result))
        print(line(rows[-1]), flush=True)
        if peer_text(rows[-1]):
            print(f"{'':<10}{peer_text(rows[-1])}", flush=True)
    print(summary(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d %H:%M"), "turns": options.turns, "rows": rows}
    (options.out / "everyday.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
