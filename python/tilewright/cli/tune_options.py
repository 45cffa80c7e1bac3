"""What `autotune SCRIPT` was asked for, but the script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import settings
from ..export import ExportOptions
from ..machine import host_isa, targets_of
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

    @property
    def serves_run(self) -> bool:
        """Whether `autotune run` uses what is found: its functions keep the contract numpy, on all that this machine has."""
        return self.tune.contract == "numpy" and targets_of(self.request.target).host == host_isa()

    @property
    def store_words(self) -> str:
        """What `autotune run` is given to find the store."""
        return "" if self.tune.db == settings.store_path() else f"--db {self.tune.db} "
