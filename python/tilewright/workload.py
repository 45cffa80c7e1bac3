"""The keys under which the store keeps what was learnt: program, layouts, sizes, machine, format version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping

from .light_dataclass import dataclass
from .program import Program, ScalarArgument, Value

FORMAT = 1
EXACT = "this very workload"  # what a stored record is for


@dataclass(frozen=True)
class Workload:
    """A program at given layouts and sizes on a given machine."""

    digest: str
    layouts: Mapping[str, str]
    sizes: Mapping[str, int]
    contract: str
    isa: str
    fingerprint: str

    @property
    def key(self) -> str:
        """Equal keys: the record is this very workload's."""
        return _digest(
            [self.family, sorted(self.layouts.items()), sorted(self.sizes.items()), self.isa, self.fingerprint]
        )

    @property
    def family(self) -> str:
        """Equal families: a record is a start for the search and a good guess without one."""
        return _digest([FORMAT, self.digest, self.contract])


def signature(program: Program) -> str:
    """get_labels(X: float64[:, :], means: float64[:, :])"""
    return _arguments_text(program, ": ", lambda array: ":" * array.rank)


def describe_call(program: Program, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """get_labels(X float64[20000000, 2], means float64[2, 2])"""
    return _arguments_text(program, " ", lambda array: map(str, shapes.get(array.name, ())))


def _arguments_text(program: Program, between: str, extents: Callable[[Value], Iterable[str]]) -> str:
    parts = []
    for argument in program.arguments:
        shape = "" if isinstance(argument, ScalarArgument) else f"[{', '.join(extents(argument))}]"
        parts.append(f"{argument.name}{between}{argument.dtype}{shape}")
    return f"{program.function}({', '.join(parts)})"


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
