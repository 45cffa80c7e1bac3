"""Says when a device is the wrong place for a function: its iterations stay on the host, and each launches a few threads.

Not done here: choosing the place, which the arrays decide; why a loop's iterations stay on the host (`explain()`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _face
from .errors import PlacementWarning
from .quantities import format_ns

# A launch takes this long at the least, and a wait for what a loop or a branch looks at.
_LAUNCH_NS, _WAIT_NS = 2_000, 8_000
# Below, launching costs a call nothing to speak of; of more threads, a launch has work that hides what it costs.
_MANY_KERNELS, _FEW_THREADS = 500, 1024

_warned: set[tuple[str, int]] = set()


@dataclass(frozen=True)
class Launches:
    """What one call puts on the device."""

    kernels: int
    threads: int  # of all of them
    waits: int  # for data that decide what comes next

    @property
    def least_ns(self) -> int:
        return self.kernels * _LAUNCH_NS + self.waits * _WAIT_NS

    @property
    def threads_each(self) -> int:
        return self.threads // max(self.kernels, 1)

    @property
    def are_many_and_small(self) -> bool:
        return self.kernels >= _MANY_KERNELS and self.threads_each < _FEW_THREADS

    def text(self) -> str:
        """40,200 kernels of 31 threads on average, and 200 waits for data: at least 82 ms"""
        waits = f", and {self.waits:,} waits for data" if self.waits else ""
        return f"{self.kernels:,} kernels of {self.threads_each:,} threads on average{waits}: at least {format_ns(self.least_ns)}"


def watched(call: Callable[[], Any]) -> tuple[Any, Launches]:
    """What a call gives, and what it launched (and other threads meanwhile)."""
    before, waits = _face.launched(), _waits()
    result = call()
    kernels, threads = (now - then for now, then in zip(_face.launched(), before, strict=True))
    return result, Launches(kernels, threads, _waits() - waits)


def _waits() -> int:
    return _face.driver_calls()["stream_synchronizations"]


def warn_where_wrong(function: Callable[..., Any], launches: Launches, *, copies: bool) -> None:
    """Once for a function."""
    code = function.__code__
    key = (code.co_filename, code.co_firstlineno)
    if not launches.are_many_and_small or key in _warned:
        return
    _warned.add(key)
    instead = "Use jit(target='host') for it" if copies else "Pass NumPy arrays (copy_to_host())"
    warnings.warn_explicit(
        f"{function.__name__}: a device is the wrong place for it: iterations of its loops stay on the host, and this call "
        f"launched {launches.text()}. Code for the host is likely to be faster by far. {instead}; explain() names the loops.",
        PlacementWarning, *key, module=function.__module__ or Path(key[0]).stem,
    )  # fmt: skip
