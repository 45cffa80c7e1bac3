"""Threads and pooled memory of this process: one budget for all jitted functions."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from . import _face, checks


def set_num_threads(count: int) -> None:
    """Let every later call use at most `count` threads."""
    _face.set_num_threads(checks.whole_number(count, "count", 1, checks.MOST_THREADS))


def get_num_threads() -> int:
    """The threads that a call may use: affinity, cgroup quota, OMP_NUM_THREADS, TILEWRIGHT_NUM_THREADS."""
    return int(_face.get_num_threads())


def threads(count: int) -> AbstractContextManager[Any]:
    """`with tilewright.threads(2): …` limits the calls that this thread makes inside the block."""
    return _face.threads(checks.whole_number(count, "count", 1, checks.MOST_THREADS))


def trim_pool() -> int:
    """Give the memory that is kept for later results back to the system; how many bytes that were."""
    return int(_face.trim_pool())


def pool_info() -> dict[str, Any]:
    """What is kept for later results, in bytes."""
    return dict(_face.pool_info())


def parallel_backend() -> str:
    """`openmp` or `own`: what runs parallel loops now."""
    return str(_face.parallel_backend())
