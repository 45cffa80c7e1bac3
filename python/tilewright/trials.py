"""Whether NumPy is faster than a version that is new, where no call may be made twice: the calls themselves are made by one
and by the other in turn."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, Literal

from .light_dataclass import dataclass
from .quantities import format_ns

CLEARLY = 1.2  # one side takes that much longer than the other
_TRIED = 3  # calls of each side, where none may be made twice
# Short calls cost next to nothing, and another process that has the core for a turn takes longer than they do.
_SHORT_NS, _TRIED_SHORT = 5_000_000, 6
# What is cold (code, caches) takes longer than a call that is shorter still: compiled code loses after so many of these, or where it
# takes so many times what NumPy takes.
_VERY_SHORT_NS, _TRIED_VERY_SHORT, _COLD_SHORT = 500_000, 16, 10.0
_CLEARLY_SHORT = {2: 2.0, 3: 1.5, 4: 1.25}  # by how many times one side is faster, and of how many calls of each
_WORTH = 1.02  # compiled code may take that much longer: a call's noise
# What it may take where stages are all of a call, which kernels have nothing to win of then, and Python's way is surer.
_WORTH_OF_STAGES = 0.97
# Compiled code needs no more of them that takes so much less, or more, than NumPy.
_CLEARLY_FASTER, _CLEARLY_SLOWER = 0.8, 2.0
_FAR_FASTER = 0.5  # than NumPy was elsewhere: the machine may have been slower then, by as much as others took of it
_EXPECTING = 3  # calls of what is expected to win, the cold one among them, before NumPy's first turn
_FIRST_SETTLING = 3  # calls that say nothing before NumPy's first turn
# Looking that takes so long may take longer than NumPy for all of a call, and what is looked at is called in long functions
# of many names: NumPy's turns come first, a cold one and a warm one, which tell what there is to gain.
_LONG_LOOKING_NS, _FIRST_TURNS = 100_000, 2
_COLD = 3.0  # NumPy's first call may take so many times what later ones take


@dataclass
class Trial:
    """Calls that nobody may repeat, one by compiled code and one by NumPy in turn. The first compiled one finds nothing in the
    caches, and does not count."""

    plan_ns: list[int] = field(default_factory=list)
    numpy_ns: list[int] = field(default_factory=list)
    alike: Any = None  # what is the same in all of them
    others: int = 0  # calls that were not such
    of_other_programs: int = 0  # how many of the latest calls in a row
    begun_anew: int = 0  # how many trials were given up for those
    is_in_c: bool = False  # the dispatcher finds the program, as it will later
    was_watched: bool = False  # a call before: NumPy's first one is not cold
    settling: int = 0  # compiled calls that said nothing
    looking_ns: int = 0  # that a compiled call takes at least, to see what functions change that its stages call
    expected_ns: float = 0.0  # what NumPy took elsewhere, where compiled code was clearly faster; 0 where nobody knows
    is_all_stages: bool = False  # next to all of a compiled call is what Python does between kernels

    def add(self, plan_ns: int, says_something: bool) -> None:
        """A call by compiled code, and whether later ones take such a time."""
        if says_something:
            self.plan_ns.append(plan_ns)
        else:
            self.settling += 1

    def is_of_others(self, alike: Any) -> bool:
        """Whether calls of either side were timed that are of another size or kind."""
        return bool(self.plan_ns or self.numpy_ns) and self.alike != alike

    @property
    def is_numpys_turn(self) -> bool:
        """What is found out in the first compiled calls is found out in calls one after the other."""
        if self.expected_ns and len(self.plan_ns) < _EXPECTING:
            return False
        first = _FIRST_TURNS if self.looking_ns > _LONG_LOOKING_NS else self.settling > _FIRST_SETTLING
        return len(self.numpy_ns) < max(len(self.plan_ns), first)

    def is_far_slower(self, plan_ns: int) -> bool:
        return bool(self.numpy_ns) and plan_ns > _CLEARLY_SLOWER * min(self.numpy_ns)

    @property
    def is_lost_by_looking(self) -> bool:
        """Whether looking at what functions change takes longer than NumPy takes for all of the call."""
        return bool(self.numpy_ns) and self.looking_ns > max(min(self.numpy_ns), _LONG_LOOKING_NS)

    @property
    def is_over(self) -> bool:
        if self.is_lost_by_looking or self._is_as_expected:
            return True
        warm = self.plan_ns[1:]
        if not warm or not self.numpy_ns:
            return False
        if self.is_short:
            # The shortest of some calls: others may have waited for another process.
            least = min(len(warm), len(self.numpy_ns))
            ratio = min(warm) / min(self.numpy_ns)
            if 1 < ratio < _COLD_SHORT and min(self.numpy_ns) < _VERY_SHORT_NS:
                return len(warm) >= _TRIED_VERY_SHORT
            clearly = _CLEARLY_SHORT.get(least, _CLEARLY_SHORT[max(_CLEARLY_SHORT)])
            is_clear = least >= min(_CLEARLY_SHORT) and not 1 / clearly < ratio < clearly
            return is_clear or len(warm) >= _TRIED_SHORT
        is_cold = len(self.numpy_ns) == 1 and not self.was_watched
        numpy_ns = min(self.numpy_ns) / (_COLD if is_cold else 1)
        is_clear = min(warm) < _CLEARLY_FASTER * numpy_ns or min(warm) > _CLEARLY_SLOWER * max(self.numpy_ns)
        return is_clear or len(warm) >= _TRIED

    @property
    def _is_as_expected(self) -> bool:
        """Whether compiled code is found to take far less than NumPy took elsewhere."""
        return not self.numpy_ns and min(self.plan_ns[1:], default=math.inf) < _FAR_FASTER * self.expected_ns

    @property
    def is_short(self) -> bool:
        return min(*self.plan_ns[1:], *self.numpy_ns) < _SHORT_NS

    @property
    def says_clearly(self) -> Literal["win", "loss", ""]:
        """What no later process need find out again, however noisy this one was."""
        if self.is_lost_by_looking or not self.numpy_ns or not self.plan_ns[1:]:
            return ""
        ratio = min(self.plan_ns[1:]) / min(self.numpy_ns)
        return "win" if ratio < 1 / _CLEARLY_SHORT[3] else "loss" if ratio > _CLEARLY_SHORT[3] else ""

    @property
    def why_numpy(self) -> str:
        """Why NumPy is to take such calls; "" where it is not."""
        if self.is_lost_by_looking:
            takes = f"NumPy takes {format_ns(min(self.numpy_ns))}"
            return f"{takes}, looking at what its calls change {format_ns(self.looking_ns)}"
        if self._is_as_expected:
            return ""
        compiled_ns, numpy_ns = min(self.plan_ns[1:]), min(self.numpy_ns)
        if compiled_ns <= (_WORTH_OF_STAGES if self.is_all_stages else _WORTH) * numpy_ns:
            return ""
        return f"NumPy takes {format_ns(numpy_ns)}, compiled code {format_ns(compiled_ns)}"
