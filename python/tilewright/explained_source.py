"""A function's source with a mark a line: which kernel computes it, whether NumPy or Python does, and why."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .effects import Effect
from .symbolic.located import PYTHON_KEEPS_IT

if TYPE_CHECKING:
    from .specialization import Specialization


def marked_source(specialization: Specialization) -> list[str]:
    """One line for each line of the function, behind its number and its mark; nothing where no file has the source.

    `kernel 2`: the second kernel of the plan computes what stands there. `loop`: its iterations are compiled. `NumPy`, `Python`: a
    call or a statement between kernels, with the reason behind it. No mark: nothing is left to do in a call.
    """
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(specialization.traced.function))
    except (OSError, TypeError):
        return []
    marks, reasons = _marks(specialization)
    starts = _starts(lines, first)
    width = max([len(_joined(one)) for one in marks.values()], default=0)
    shown = []
    for number, line in enumerate(lines, first):
        own = [mark for at, found in marks.items() if starts.get(at, at) == number for mark in found]
        why = [reason for at, found in reasons.items() if starts.get(at, at) == number for reason in found]
        text = f"  {number:4}  {_joined(own):{width}}  {line.rstrip()}"
        shown.append(text.rstrip() + (f"    # {'; '.join(dict.fromkeys(why))}" if why else ""))
    return ["source:", *shown]


def _marks(specialization: Specialization) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """By line: who computes it, and why it is no kernel."""
    marks: dict[int, list[str]] = defaultdict(list)
    reasons: dict[int, list[str]] = defaultdict(list)
    for loop in specialization.loops:
        marks[loop["line"]].append("loop")
    for stage in specialization.stages:
        if stage.get("line") is not None and not _is_known(stage):
            marks[stage["line"]].append(f"kernel {stage['kernel'] + 1}")
    for between in specialization.traced.stages.values():
        if between.name and not between.name.startswith("tilewright."):  # neither part of another one, nor ours
            is_pythons = isinstance(between.callee, Effect) or between.why.endswith(PYTHON_KEEPS_IT)
            marks[between.line].append("Python" if is_pythons else "NumPy")
            reasons[between.line].append(between.why)
    return marks, reasons


def _is_known(stage: dict[str, Any]) -> bool:
    return str(stage.get("source", "")).startswith("const()")


def _joined(marks: list[str]) -> str:
    """kernel 1, loop, kernel 3 -> loop, kernels 1, 3"""
    kernels = sorted({int(one.removeprefix("kernel ")) for one in marks if one.startswith("kernel ")})
    others = list(dict.fromkeys(one for one in marks if not one.startswith("kernel ")))
    if kernels:
        others.append(f"kernel{'s' if len(kernels) > 1 else ''} {', '.join(map(str, kernels))}")
    return ", ".join(others)


def _starts(lines: list[str], first: int) -> dict[int, int]:
    """For lines within a statement of several lines, where that begins: there its mark stands."""
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:
        return {}
    found: dict[int, int] = {}
    for one in ast.walk(tree):
        if isinstance(one, ast.stmt) and not hasattr(one, "body"):
            for line in range(one.lineno, (one.end_lineno or one.lineno) + 1):
                found[line + first - 1] = one.lineno + first - 1
    return found
