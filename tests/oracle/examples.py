"""How many examples a property is tried with: as many as its test says, or `TILEWRIGHT_EXAMPLES` for every one (`ctest --preset examples`)."""

from __future__ import annotations

import os


def examples(usual: int) -> int:
    """Of Hypothesis. A run of all tests has `usual`, few where each compiles."""
    return int(os.environ.get("TILEWRIGHT_EXAMPLES", "0")) or usual
