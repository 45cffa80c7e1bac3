"""What NumPy computes in calls of a compiled function: each stage, why no kernel does it, and its share of the time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .light_dataclass import dataclass
from .symbolic.stages import Stage

_OURS = "tilewright."  # what begins and ends a call
_LEAST_SHARE = 0.01  # that one line names
_MOST_SHOWN = 160  # characters of a stage

Times = tuple[tuple[int, int], dict[str, tuple[int, int]]]  # as Dispatcher.stage_times() gives them


@dataclass(frozen=True)
class StageShare:
    """One stage. `share` of a call's time: None where none was timed."""

    stage: str  # its text in programs and plans, without what its result is held under
    why: str
    line: int
    share: float | None = None
    has_twin: bool = False

    @property
    def shown(self) -> str:
        """As people read it: a list of a thousand words among the arguments says no more than its beginning."""
        return self.stage if len(self.stage) <= _MOST_SHOWN else f"{self.stage[: _MOST_SHOWN - 3]} …)"

    def text(self) -> str:
        """numpy.sort($0) (61 % of a call; no kernel computes this NumPy function)"""
        share = "" if self.share is None else f"{100 * self.share:.0f} % of a call; "
        return f"{self.shown} ({share}{self.why.rpartition('; ')[2]})"

    def as_evidence(self) -> dict[str, Any]:
        told = asdict(self) | ({} if self.share is None else {"share": round(self.share, 3)})
        return told if self.has_twin else {key: value for key, value in told.items() if key != "has_twin"}


def shares(stages: Mapping[str, Stage], after: Times | None, before: Times | None = None) -> list[StageShare]:
    """Of what ran between two looks at the times. Parts of what a call gave (r1[0]) are no stages of their own to people:
    handing them over counts for the call."""
    names = {
        _call_of(text): text for text, one in stages.items() if not _is_part(text) and not one.name.startswith(_OURS)
    }
    found = {text: 0 for text in names.values()}
    whole = 0
    if after is not None:
        whole = after[0][1] - (before[0][1] if before else 0)
        for text, (_, ns) in after[1].items():
            owner = names.get(_held_of(text), text)
            if owner in found:
                found[owner] += ns - (before[1][text][1] if before else 0)
    return [
        StageShare(
            shown(text),
            stages[text].why,
            stages[text].line,
            ns / whole if whole > 0 else None,
            stages[text].has_twin,
        )
        for text, ns in found.items()
    ]


def in_a_line(stages: list[StageShare]) -> str:
    """; NumPy computes numpy.sort($0) (61 % of a call; no kernel computes this NumPy function), and 1 more below 1 %"""
    if not stages:
        return ""
    named = [stage.text() for stage in stages if stage.share is None or stage.share >= _LEAST_SHARE]
    if others := len(stages) - len(named):
        named.append(f"{'and ' if named else ''}{others} {'more ' if named else 'stages '}below 1 %")
    return f"; NumPy computes {', '.join(named)}"


def shown(text: str) -> str:
    """Without what its result is held under."""
    return re.sub(r" as [rl]\d+$", "", text)


def _is_part(text: str) -> bool:
    """Of r1[0], r1.eigenvalues."""
    return text[:1] == "r" and text[1:2].isdigit()


def _call_of(text: str) -> str:
    """r1 of "numpy.linalg.eigh($0) as r1", else the text."""
    return text.rpartition(" as ")[2] if shown(text) != text else text


def _held_of(text: str) -> str:
    """r1 of r1[0], else what _call_of() says."""
    if not _is_part(text):
        return _call_of(text)
    end = next((k for k in range(1, len(text)) if not text[k].isdigit()), len(text))
    return text[:end]
