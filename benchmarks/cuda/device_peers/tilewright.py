"""tilewright: the module that `autotune --target cuda` leaves behind, on PyTorch's tensors as a PyTorch user passes them, and on its own arrays."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    import tilewright
    import torch

    folder = os.environ["TILEWRIGHT_BENCH_MODULES"]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(f"{case.tuned_as or case.name}_tuned")
    function = getattr(module, case.function)
    if case.from_numpy:
        return {"NumPy arrays": lambda: function(*arguments)}, torch.cuda.synchronize
    tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
    arrays = [tilewright.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]

    def on(given: list[Any]) -> Callable[[], Any]:
        def call() -> Any:
            answer = function(*given)
            return [given[place] for place in case.written] or answer

        return call

    return {"torch tensors": on(tensors), "device arrays": on(arrays)}, torch.cuda.synchronize
