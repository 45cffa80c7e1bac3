"""tilewright: the module that `autotune` leaves behind, imported as a user would."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def version() -> str:
    import tilewright

    return str(tilewright.__version__)


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import numpy as np

    modules = Path(os.environ["TILEWRIGHT_BENCH_MODULES"])
    sys.path.insert(0, str(modules))
    module = importlib.import_module(f"{case.tuned_as or case.name}_tuned")
    function = getattr(module, case.function)
    if "openmp" in case.peers:
        result = function(*arguments)
        out = np.empty_like(result)
        return lambda: function(*arguments, out=out)
    return lambda: function(*arguments)
