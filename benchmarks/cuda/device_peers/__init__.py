"""A file a peer: `prepare(case, arguments)` gives ways to write the case (name -> call without arguments) and what waits for the device."""

from __future__ import annotations

from collections.abc import Callable


def wait_of_all() -> Callable[[], None]:
    """What waits for the whole device with the least Python around it, the same for every peer that can use it: of twenty calls of a few microseconds the wait is a
    part."""
    try:
        import cupy

        return cupy.cuda.runtime.deviceSynchronize
    except ImportError:
        import torch

        return torch.cuda.synchronize
