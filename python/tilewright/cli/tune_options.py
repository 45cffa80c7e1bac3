"""What `autotune SCRIPT` was asked for, but the script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..export import ExportOptions
from ..tuning import TuneOptions
from .session import Request


@dataclass
class Options:
    """Of one command."""

    tune: TuneOptions
    request: Request
    export: ExportOptions
    schedule_file: Path | None
    space_file: Path | None
    out: Path
    writes_module: bool
    asks_for_module: bool  # in so many words: that none can be written is an error then
    also: list[str]
    build_only: bool
