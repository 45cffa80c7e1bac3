"""One peer on one case in a process of its own: prepares, answers once for the check, then times a turn whenever it is told to.

A peer may know several ways to write a case: those that answer rightly are timed, and the fastest takes the turns."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from case_list import Case, case

WARM_S = 0.03
TIMED_NS = 20_000_000
LONG_NS = 500_000_000  # a call that long warms itself up
TRIAL_CALLS, TRIAL_S = 3, 0.1


class Arguments(tuple[Any, ...]):
    """A case's arguments, and copies of those that calls write into."""

    def __new__(cls, values: tuple[Any, ...], _: Case) -> Arguments:
        return super().__new__(cls, values)

    def __init__(self, _: tuple[Any, ...], rules: Case) -> None:
        self._whole = rules.whole
        self.written = [self[place] for place in rules.written]
        self._originals = [np.copy(array) for array in self.written]

    def restore(self) -> None:
        for array, original in zip(self.written, self._originals, strict=True):
            np.copyto(array, original)

    def results(self, answer: Any, *, is_pure: bool) -> list[np.ndarray]:
        """The arrays written, then what was returned beside them. A pure peer returns them all."""
        if self._whole:
            leaves = [np.copy(array) for array in self.written] if not is_pure else []
            return [np.array(description(answer, leaves)), *leaves]
        returned = list(answer) if isinstance(answer, (tuple, list)) else [] if answer is None else [answer]
        first = [] if is_pure else self.written
        returned = [value for value in returned if not any(value is array for array in first)]
        return [np.array(value) for value in (*first, *returned)]


def description(answer: Any, leaves: list[np.ndarray]) -> str:
    """What an answer is made of, down to dtypes and shapes: its arrays, numbers and texts go to `leaves`."""
    if isinstance(answer, dict):
        inner = ", ".join(f"{key}: {description(value, leaves)}" for key, value in answer.items())
        return f"{type(answer).__name__}({inner})"
    if isinstance(answer, (tuple, list)):
        return f"{type(answer).__name__}({', '.join(description(value, leaves) for value in answer)})"
    if answer is None:
        return "None"
    leaves.append(np.array(answer))
    if isinstance(answer, np.ndarray):
        return f"{answer.dtype}{list(answer.shape)}"
    return type(answer).__name__


def check(got: list[np.ndarray], wanted: list[np.ndarray], rules: Case, slack: float = 1.0) -> tuple[str | None, str]:
    """What is wrong with the results, or None; and how far they agree."""
    if rules.whole and str(got[0]) != str(wanted[0]):
        return f"{got[0]} instead of {wanted[0]}", ""
    if len(got) != len(wanted):
        return f"{len(got)} results instead of {len(wanted)}", ""
    agreement = []
    for place, (mine, right) in enumerate(zip(got, wanted, strict=True)):
        if mine.shape != right.shape:
            return f"shape {mine.shape} instead of {right.shape}", ""
        if rules.bars:
            error, bar = _norm_error(mine, right), rules.bars[place]
            text = f"error {error:.1e}"
        elif right.dtype.kind in "iubUS":
            differ = int(np.sum(mine != right))
            error, bar = differ / max(1, right.size), rules.mismatch_fraction * slack
            text = f"{differ:,} of {right.size:,} labels differ"
        else:
            error, bar = _relative_error(mine, right), rules.rtol
            text = f"error {error:.1e}"
        if not (error <= bar or bar == np.inf):
            return f"{text}, above {bar:.0e}", text
        agreement.append(text)
    return None, "; ".join(agreement)


def _norm_error(mine: np.ndarray, right: np.ndarray) -> float:
    wide = np.complex128 if right.dtype.kind == "c" else np.float64
    mine, right = mine.astype(wide), right.astype(wide)
    if not np.array_equal(np.isnan(mine), np.isnan(right)):
        return float("inf")
    norm = float(np.linalg.norm(np.nan_to_num(right).ravel()))
    return float(np.linalg.norm(np.nan_to_num(mine - right).ravel())) / (norm or 1.0)


def _relative_error(mine: np.ndarray, right: np.ndarray) -> float:
    same = (mine == right) | (np.isnan(mine) & np.isnan(right))  # infinities too
    if np.all(same):
        return 0.0
    finite = np.abs(right[np.isfinite(right)])
    mine, right = mine[~same], right[~same]
    if not (np.isfinite(mine).all() and np.isfinite(right).all()):
        return float("inf")
    scale = np.maximum(np.abs(right), np.finfo(right.dtype).tiny)
    # Small results of sums with cancellation are judged by the size of the whole.
    scale = np.maximum(scale, float(np.mean(finite)) * 1e-3)
    return float(np.max(np.abs(mine - right) / scale))


def steady_ns(call: Callable[[], Any], calls: int, restore: Callable[[], None] | None = None) -> float:
    """The mean of `calls` calls or more, at least 20 ms of them, after 30 ms of others: what other processes left in the caches is not part of
    a steady state. `restore` makes the arguments what they were, outside of the time."""

    def timed_ns() -> int:
        if restore is not None:
            restore()
        start_ns = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - start_ns

    warm_until = time.perf_counter() + WARM_S
    first_ns = timed_ns()
    if first_ns >= LONG_NS:
        return first_ns
    while time.perf_counter() < warm_until:
        timed_ns()
    count = 0
    if restore is None:
        start_ns = time.perf_counter_ns()
        while count < calls or time.perf_counter_ns() - start_ns < TIMED_NS:
            call()
            count += 1
        return (time.perf_counter_ns() - start_ns) / count
    spent_ns = 0
    while count < calls or spent_ns < TIMED_NS:
        spent_ns += timed_ns()
        count += 1
    return spent_ns / count


def _status_bytes(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def with_peak(call: Callable[[], Any]) -> tuple[Any, float]:
    """The answer, and how many bytes more than before the process had at the most (its compiler's too, where it compiles)."""
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts from here
    before = _status_bytes("VmRSS")
    answer = call()
    return answer, _status_bytes("VmHWM") - before


def fastest(
    variants: dict[str, Callable[[], Any]], arguments: Arguments, judge: Callable[[Any], tuple[str | None, str]]
) -> tuple[Callable[[], Any], dict[str, Any]]:
    """The variant that takes the turns, and what is to be said about it. Raises if none answers rightly."""
    best: tuple[float, Callable[[], Any], dict[str, Any]] | None = None
    others, reasons = {}, []
    for name, call in variants.items():
        try:
            arguments.restore()
            start = time.perf_counter()
            answer, peak_bytes = with_peak(call)
            first_call_s = time.perf_counter() - start
            wrong, agreement = judge(answer)
            del answer
            if wrong:
                raise ValueError(f"wrong: {wrong}")
            said = {"first_call_s": first_call_s, "agreement": agreement, "peak_bytes": peak_bytes}
            if len(variants) == 1:
                return call, said
            times: list[float] = []
            while len(times) < TRIAL_CALLS or (sum(times) < TRIAL_S and len(times) < 100):
                arguments.restore()
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
        except (ImportError, NotImplementedError):
            raise
        except Exception as error:
            if len(variants) == 1:
                raise
            lines = [line for line in str(error).strip().split("\n") if line.strip()] or [""]
            line = next((line for line in lines if not line.startswith("Failed in ")), lines[0])  # Numba's heading
            reasons.append(f"{name}: {type(error).__name__}: {line}"[:300])
            continue
        others[name] = min(times)
        if best is None or min(times) < best[0]:
            best = min(times), call, {**said, "variant": name}
    if best is None:
        raise RuntimeError("; ".join(reasons))
    return best[1], {**best[2], "variants_s": others, "refused": reasons}


def main() -> None:
    name, peer, reference = sys.argv[1:4]
    rules = case(name)
    replies = sys.stdout
    sys.stdout = sys.stderr  # peers may print: the protocol stays clean

    def reply(**fields: Any) -> None:
        print(json.dumps(fields), file=replies, flush=True)

    module = importlib.import_module(f"peers.{peer}")
    is_pure = getattr(module, "IS_PURE", False)

    def judge(answer: Any) -> tuple[str | None, str]:
        results = arguments.results(answer, is_pure=is_pure)
        if not Path(reference).exists():
            np.savez(reference, *results)
            return None, "reference"
        with np.load(reference) as right:
            return check(
                results, list(right.values()), rules, 1.0 if peer.startswith("tilewright") else rules.peer_slack
            )

    try:
        version = module.version()
        arguments = Arguments(rules.module().make_data(**rules.data), rules)
        start = time.perf_counter()
        prepared = module.prepare(rules, arguments)
        prepare_s = time.perf_counter() - start
        call, hello = fastest(prepared if isinstance(prepared, dict) else {peer: prepared}, arguments, judge)
        hello["first_call_s"] += prepare_s
    except ImportError as error:
        return reply(state="absent", reason=str(error))
    except NotImplementedError as error:
        return reply(state="not applicable", reason=str(error))
    except Exception as error:
        state = "wrong" if str(error).startswith("wrong: ") else "failed"
        return reply(state=state, reason=f"{type(error).__name__}: {error}"[:2000])
    reply(state="ready", version=version, **hello)

    kept: list[Any] = []
    restore = arguments.restore if rules.written and not is_pure else None
    for line in sys.stdin:
        calls = int(line)
        if rules.fresh_results:
            kept.clear()
            start_ns = time.perf_counter_ns()
            kept.append(call())
            elapsed_ns: float = time.perf_counter_ns() - start_ns
        else:
            elapsed_ns = steady_ns(call, calls, restore)
        reply(ns=elapsed_ns)


if __name__ == "__main__":
    main()
