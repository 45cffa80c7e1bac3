"""Where a case goes wrong: its program as it was traced, behind a pass, its schedule, or the code.

Programs are judged by the oracle, which runs them with NumPy; code is judged by running it. Each step runs in another
process (child.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..machine import is_cuda_isa
from .answers import Answer, difference, types_text
from .case import Asked, Case, PassRun, with_program
from .child import Child
from .report import Report, State, Step
from .schedules import first_wrong, lines_of

_DEFAULT = "the default schedule"
_BASELINE = "x86-64"  # what every machine runs


class Bisection:
    """Goes through the steps of one case, and writes them down in `report`."""

    def __init__(self, case: Case, child: Child) -> None:
        self.case = case
        self.report = Report(case.title)
        self.passes: list[tuple[str, PassRun]] = []  # with a name for people
        self._child = child
        self._before = case.before()
        self._unjudged: list[str] = []  # programs that the oracle could not run

    def run(self) -> Report:
        """The report; its place is "" where all that was judged is as NumPy has it."""
        expected = self.case.expected
        self.report.steps.append(
            Step("NumPy", "", types_text(expected) if expected.kind == "answered" else expected.text)
        )
        self._look_at_trace() or self._look_at_passes() or self._look_at_code()
        return self.report

    def _found(self, place: str, text: str) -> bool:
        self.report.place, self.report.found = place, text
        return True

    def _judge(self, name: str, what: str, case: Case, **how: Any) -> State:
        """Ask the child, and write down what comes of it."""
        answer = self._child.ask(Asked(what, case, **how))
        step = self._step(name, answer, is_code=what == "compiled")
        self.report.steps.append(step)
        return step.state

    def _step(self, name: str, answer: Answer, *, is_code: bool) -> Step:
        if answer.kind == "unknown" or (answer.kind in ("too long", "crashed") and not is_code):
            return Step(name, "not judged", answer.text)
        if found := difference(answer, self.case.expected, self.case.tolerance, self._before):
            return Step(name, "differs", found)
        return Step(name, "left to NumPy" if answer.kind == "refused" else "as NumPy", answer.text)

    # ---- programs --------------------------------------------------------------------------------------------------

    def _look_at_trace(self) -> bool:
        state = self._judge("trace", "oracle", self.case)
        if state == "not judged":
            self._unjudged.append("trace")
        return state == "differs" and self._found(
            "trace", "the program that was traced, run with NumPy, does not give the function's own answer."
        )

    def _look_at_passes(self) -> bool:
        ran = self._child.ask(Asked("passes", self.case))
        if isinstance(ran, Answer):
            return self._look_for_failing_pass(ran)
        self.passes = list(_named(ran))
        for name, one in self.passes:
            if not one.program:
                continue
            state = self._judge(name, "oracle", with_program(self.case, one.program))
            if state == "differs":
                without = f" TILEWRIGHT_PASSES={one.off} leaves it out." if one.off else ""
                return self._found(
                    name,
                    f"{one.meaning}: the program before it gives NumPy's answer, the one behind it does not.{without}",
                )
            if state == "not judged":
                self._unjudged.append(name)
        return False

    def _look_for_failing_pass(self, failed: Answer) -> bool:
        """Where the passes raise, or crash: the first one that does so when all behind it are left out."""
        self.report.steps.append(Step("passes", "differs", failed.text))
        listed = self._child.ask(Asked("list", self.case))
        if isinstance(listed, Answer):
            return self._found("passes", failed.text + ".")
        off = [one.off for one in listed]
        for number, one in enumerate(listed):
            later = ",".join(dict.fromkeys(text for text in off[number + 1 :] if text and text != one.off))
            if isinstance(answer := self._child.ask(Asked("passes", self.case, passes=later)), Answer):
                return self._found(f"pass {one.name}", f"{answer.text}.")
        return self._found("passes", failed.text + ".")

    # ---- code ------------------------------------------------------------------------------------------------------

    def _look_at_code(self) -> bool:
        if self._judge(self.case.in_use, "compiled", self.case) != "differs":
            return False
        return self._look_at_schedule() or self._look_at_unjudged() or self._found_in_code()

    def _look_at_schedule(self) -> bool:
        """Whether another schedule of the same program is right."""
        right = ""
        if self.case.request.schedule is not None and self.case.in_use != _DEFAULT:
            default = replace(self.case, request=replace(self.case.request, schedule=None))
            if self._judge(_DEFAULT, "compiled", default) == "as NumPy":
                right = _DEFAULT
        if self._judge("no directives", "compiled", self.case, lines=0) == "as NumPy":
            return self._found_in_directive()
        return bool(right) and self._found(
            "schedule", f"the code of {self.case.in_use} is wrong, that of {right} is right."
        )

    def _found_in_directive(self) -> bool:
        """The schedule is wrong and none is right: which directive is it?"""
        lines = self._child.ask(Asked("schedule", self.case))
        if isinstance(lines, Answer):
            return self._found("schedule", f"without directives the code is right; {lines.text}.")
        lines = lines_of(lines)

        def is_wrong(count: int) -> bool | None:
            step = self._step("", self._child.ask(Asked("compiled", self.case, lines=count)), is_code=True)
            return None if step.state == "not judged" else step.state == "differs"

        low, high = first_wrong(len(lines), is_wrong)
        said = " and ".join(f"`{line}`" for line in lines[low:high])
        return self._found(
            "schedule",
            f"the code is right with the directives before {said}, and wrong with that ({self.case.in_use}).",
        )

    def _look_at_unjudged(self) -> bool:
        """Whether leaving out a pass that the oracle could not judge gives right code."""
        for name, one in self.passes:
            if name in self._unjudged and one.off and self._is_right_without(name, one):
                return self._found(
                    name,
                    f"{one.meaning}: without it (TILEWRIGHT_PASSES={one.off}) the code is right. The oracle could not run the "
                    "program behind it.",
                )
        return False

    def _is_right_without(self, name: str, one: PassRun) -> bool:
        # Other programs have other stages: the schedule in use may name what is not there.
        default = replace(self.case, request=replace(self.case.request, schedule=None))
        return self._judge(f"without {name}", "compiled", default, passes=one.off) == "as NumPy"

    def _found_in_code(self) -> bool:
        if "trace" in self._unjudged:
            return self._found(
                "trace or code generation",
                "no schedule is right, and the oracle could not run the program as it was traced. Try a smaller call.",
            )
        others = [
            one.off
            for name, one in self.passes
            if one.program and one.off and name not in self._unjudged and self._is_right_without(name, one)
        ]
        hints = [f" It is right with TILEWRIGHT_PASSES={','.join(dict.fromkeys(others))}."] if others else []
        hints += [f" It is right for {_BASELINE}."] if self._is_right_for_baseline() else []
        return self._found(
            "code generation",
            f"the program is right, and its code is wrong under every schedule that was tried.{''.join(hints)}",
        )

    def _is_right_for_baseline(self) -> bool:
        request = self.case.request
        if request.isa == _BASELINE or is_cuda_isa(request.isa):
            return False
        other = replace(self.case, request=replace(request, isa=_BASELINE, schedule=None))
        return self._judge(f"for {_BASELINE}", "compiled", other) == "as NumPy"


def _named(passes: list[PassRun]) -> Iterator[tuple[str, PassRun]]:
    """Some run twice."""
    seen: Counter[str] = Counter()
    for one in passes:
        seen[one.name] += 1
        yield f"pass {one.name}" + (f" ({seen[one.name]})" if seen[one.name] > 1 else ""), one
