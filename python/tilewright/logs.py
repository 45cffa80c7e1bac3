"""The logger `tilewright` and its channels: TILEWRIGHT_LOGS=fallback,guards,passes,schedule,loops,asm."""

from __future__ import annotations

import logging
import os
import sys

CHANNELS = ("fallback", "guards", "passes", "schedule", "loops", "asm")

logger = logging.getLogger("tilewright")
fallback, guards, passes, schedule, loops, asm = (logging.getLogger(f"tilewright.{channel}") for channel in CHANNELS)


def wanted(channel: logging.Logger) -> bool:
    """Whether building the text of a message is worth it."""
    return channel.isEnabledFor(logging.DEBUG)


def _configure() -> None:
    # No NullHandler: warnings of a broken store or cache reach stderr where a program does not set up logging.
    chosen = [name.strip() for name in os.environ.get("TILEWRIGHT_LOGS", "").split(",") if name.strip()]
    if not chosen:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    for name in CHANNELS if "all" in chosen else chosen:
        if name not in CHANNELS:
            handler_line = f"TILEWRIGHT_LOGS: no channel {name!r}. Use some of {', '.join(CHANNELS)}, or all."
            print(f"tilewright: {handler_line}", file=sys.stderr)
            continue
        channel = logging.getLogger(f"tilewright.{name}")
        channel.setLevel(logging.DEBUG)
        channel.addHandler(handler)
        channel.propagate = False


_configure()
