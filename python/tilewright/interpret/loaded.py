"""sys.modules while tracing: which modules are loaded is looked up, and guarded, one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

PATH = (("module", (sys, "modules")),)


class LoadedModules:
    """Stands for sys.modules."""

    def __init__(self, look_up: Callable[[str], Any]) -> None:
        """`look_up` gives a module under a guard, None where there is none."""
        self._look_up = look_up

    def __getitem__(self, name: str) -> Any:
        if (found := self._look_up(name)) is None:
            raise KeyError(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return default if (found := self._look_up(name)) is None else found

    def __contains__(self, name: str) -> bool:
        return self._look_up(name) is not None
