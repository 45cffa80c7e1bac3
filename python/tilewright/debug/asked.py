"""What a child process is asked, and what it says of passes."""

from __future__ import annotations

from dataclasses import dataclass

from .case import Case


@dataclass(frozen=True)
class Asked:
    """What the child does for a case: `oracle` runs the program with NumPy, `compiled` builds it and runs the code; `passes`
    are those that it goes through, `list` is all that there are, `schedule` the text that it has, and `texts` what it
    becomes on its way to code."""

    what: str
    case: Case
    passes: str = ""  # the value of TILEWRIGHT_PASSES for it
    lines: int | None = (
        None  # of the schedule, a directive each, from the first one; the other stages are computed whole
    )


@dataclass(frozen=True)
class PassRun:
    """A pass that ran: `program` is the text behind it, "" where it changes nothing; `off` is what leaves it out."""

    name: str
    meaning: str
    program: str
    off: str
