"""What `autotune` ends with. A signal that is not Ctrl-C: 128 and its number (signals.py)."""

from __future__ import annotations

OK, SCRIPT_RAISED, USAGE, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 130
__all__ = ["INTERRUPTED", "OK", "PARTIAL", "SCRIPT_RAISED", "USAGE"]
