"""What a jitted function shows to those who explain it or write modules of it: they stand below the decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .machine import Targets
from .specialization import Specialization


class Jitted(Protocol):
    """The part of JitFunction that may be read there."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    @property
    def contract(self) -> str: ...
    @property
    def targets(self) -> Targets: ...
    @property
    def specializations(self) -> list[Specialization]: ...
    @property
    def refusals(self) -> list[str]: ...
    @property
    def computes_nothing(self) -> bool: ...
    @property
    def was_watched(self) -> bool: ...
