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


def trim_pool(device: str | _face.device | None = None) -> int:
    """Give the memory that is kept for later results back: to the system, or with device="cuda", "cuda:1" or device(…) to
    that device, for which this waits. How many bytes that were."""
    return int(_face.trim_pool() if device is None else _face.trim_device_pool(device))


def pool_info(device: str | _face.device | None = None) -> dict[str, Any]:
    """What is kept for later results, in bytes; with device="cuda", "cuda:1" or device(…) on that device."""
    return dict(_face.pool_info() if device is None else _face.device_pool_info(device))


def parallel_backend() -> str:
    """`openmp` or `own`: what runs parallel loops now."""
    return str(_face.parallel_backend())
