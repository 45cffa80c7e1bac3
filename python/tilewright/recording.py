"""Who watches jitted functions while `autotune` runs a script: nobody, or the recorder of that run."""

from __future__ import annotations

from typing import Any

recorder: Any = None
