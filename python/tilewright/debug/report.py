"""What the bisection found, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

DIFFERS = 4  # the exit code where something does
State = Literal["", "as NumPy", "differs", "not judged", "left to NumPy"]


@dataclass(frozen=True)
class Step:
    """One place that was looked at. `detail`: what differs there, or why nobody can tell."""

    name: str
    state: State
    detail: str = ""

    def line(self, width: int) -> str:
        shown = "" if self.state == "differs" else self.state
        return f"  {self.name:{width}}  {': '.join(part for part in (shown, self.detail) if part)}"


@dataclass
class Report:
    """`place` is where it goes wrong: trace, pass NAME, schedule, code generation, call; "" where nothing differs."""

    title: str
    place: str = ""
    found: str = ""  # what is known of the place, a sentence
    steps: list[Step] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        return bool(self.place)

    def text(self) -> str:
        width = max((len(step.name) for step in self.steps), default=0)
        said = f"found: {self.place}: {self.found}" if self.place else self._nothing()
        return "\n".join([self.title, *(step.line(width) for step in self.steps), said])

    def _nothing(self) -> str:
        unjudged = ", ".join(step.name for step in self.steps if step.state == "not judged")
        return f"nothing differs; not judged: {unjudged}." if unjudged else "nothing differs."

    def as_document(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)

    def __repr__(self) -> str:
        return self.text()
