"""One peer on one case in a process of its own: prepares, answers once for the check, then times a turn whenever it is told to."""

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


def check(got: Any, wanted: np.ndarray, rules: Case) -> str | None:
    """What is wrong with an answer, or None."""
    got = np.asarray(got)
    if got.shape != wanted.shape:
        return f"shape {got.shape} instead of {wanted.shape}"
    if wanted.dtype.kind in "iub":
        wrong = float(np.mean(got != wanted)) if wanted.size else 0.0
        return None if wrong <= rules.mismatch_fraction else f"{wrong:.2%} of the labels differ"
    scale = np.maximum(np.abs(wanted), np.finfo(wanted.dtype).tiny)
    # Small results of sums with cancellation are judged by the size of the whole.
    scale = np.maximum(scale, float(np.mean(np.abs(wanted))) * 1e-3)
    error = float(np.max(np.abs(got - wanted) / scale)) if wanted.size else 0.0
    return None if error <= rules.rtol else f"relative error {error:.2e} above {rules.rtol:.0e}"


def steady_ns(call: Callable[[], Any], calls: int) -> float:
    """The mean of `calls` calls or more, at least 20 ms of them, after 30 ms of others: what other processes left in the caches is not part of
    a steady state."""
    warm_until = time.perf_counter() + WARM_S
    call()
    while time.perf_counter() < warm_until:
        call()
    count = 0
    start_ns = time.perf_counter_ns()
    while count < calls or time.perf_counter_ns() - start_ns < TIMED_NS:
        call()
        count += 1
    return (time.perf_counter_ns() - start_ns) / count


def main() -> None:
    name, peer, reference = sys.argv[1:4]
    rules = case(name)
    replies = sys.stdout
    sys.stdout = sys.stderr  # peers may print: the protocol stays clean

    def reply(**fields: Any) -> None:
        print(json.dumps(fields), file=replies, flush=True)

    module = importlib.import_module(f"peers.{peer}")
    try:
        version = module.version()
        arguments = rules.module().make_data(**rules.data)
        start = time.perf_counter()
        call = module.prepare(rules, arguments)
        answer = call()
        first_call_s = time.perf_counter() - start
    except ImportError as error:
        return reply(state="absent", reason=str(error))
    except NotImplementedError as error:
        return reply(state="not applicable", reason=str(error))
    except Exception as error:
        return reply(state="failed", reason=f"{type(error).__name__}: {error}")
    wanted = np.load(reference) if Path(reference).exists() else None
    if wanted is None:
        np.save(reference, np.asarray(answer))
    else:
        wrong = check(answer, wanted, rules)
        if wrong:
            return reply(state="wrong", reason=wrong)
    reply(state="ready", version=version, first_call_s=first_call_s)

    kept: list[Any] = []
    del answer
    for line in sys.stdin:
        calls = int(line)
        if rules.fresh_results:
            kept.clear()
            start_ns = time.perf_counter_ns()
            kept.append(call())
            elapsed_ns: float = time.perf_counter_ns() - start_ns
        else:
            elapsed_ns = steady_ns(call, calls)
        reply(ns=elapsed_ns)


if __name__ == "__main__":
    main()
