"""tilewright: the module that `autotune --target cuda` leaves behind, on PyTorch's tensors as a PyTorch user passes them, and on arrays of its own `to_device`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import wait_of_all


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    import torch

    folder = os.environ["TILEWRIGHT_BENCH_MODULES"]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(f"{case.tuned_as or case.name}_tuned")
    function = getattr(module, case.function)
    if case.from_numpy:
        return {"NumPy arrays": lambda: function(*arguments)}, wait_of_all()
    tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
    arrays = [module.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]

    def on(given: list[Any]) -> Callable[[], Any]:
        if not case.written:
            return partial(function, *given)

        def call() -> Any:
            answer = function(*given)
            return [given[place] for place in case.written] or answer

        return call

    return {"torch tensors": on(tensors), "device arrays": on(arrays)}, wait_of_all()
