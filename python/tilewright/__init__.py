"""tilewright: turns a slow NumPy function, unchanged, into tuned native code.

Everything but the errors is imported at first use, so that `import tilewright` costs next to nothing beyond NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    DeviceError,
    Error,
    ExportError,
    FallbackWarning,
    InternalError,
    PlacementWarning,
    ScheduleError,
    StoreError,
    TraceError,
    TranslateError,
)

if TYPE_CHECKING:
    from .decorator import JitFunction, jit
    from .devices import DeviceArray, device, to_device
    from .enabled import disable, enable, report
    from .pure_functions import stage
    from .specialization import Specialization
    from .thread_budget import get_num_threads, parallel_backend, pool_info, set_num_threads, threads, trim_pool
    from .tuning import TuneResult

__version__ = "0.1.0"

# Where the names that are imported at first use live.
_HOME = {
    "pure_functions": ("stage",),
    "decorator": ("JitFunction", "jit"),
    "devices": ("DeviceArray", "device", "to_device"),
    "enabled": ("disable", "enable", "report"),
    "cli.notebook": ("load_ipython_extension", "unload_ipython_extension"),
    "specialization": ("Specialization",),
    "thread_budget": ("get_num_threads", "parallel_backend", "pool_info", "set_num_threads", "threads", "trim_pool"),
    "tuning": ("TuneResult",),
}

__all__ = [
    "DeviceArray",
    "DeviceError",
    "Error",
    "ExportError",
    "FallbackWarning",
    "InternalError",
    "JitFunction",
    "PlacementWarning",
    "ScheduleError",
    "Specialization",
    "StoreError",
    "TraceError",
    "TranslateError",
    "TuneResult",
    "device",
    "disable",
    "enable",
    "get_num_threads",
    "jit",
    "parallel_backend",
    "pool_info",
    "report",
    "set_num_threads",
    "stage",
    "threads",
    "to_device",
    "trim_pool",
]


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOME.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
