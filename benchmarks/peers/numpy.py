"""NumPy: the case's function as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def version() -> str:
    import numpy as np

    return np.__version__


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    function = getattr(case.module(), case.function)
    return lambda: function(*arguments)
