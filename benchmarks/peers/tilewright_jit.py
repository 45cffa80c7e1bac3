"""tilewright without a search: @tilewright.jit, an empty store, no cache of objects. Its first call is what compiling costs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any


def version() -> str:
    import tilewright

    return str(tilewright.__version__)


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    os.environ["TILEWRIGHT_CACHE"] = "off"
    import tilewright

    store = Path(tempfile.mkdtemp(prefix="tilewright_bench_")) / "empty.db"
    function = tilewright.jit(strict=True, db=store)(getattr(case.module(), case.function))
    return partial(function, *arguments)
