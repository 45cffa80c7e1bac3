"""What repro.py of a dump runs."""

from __future__ import annotations

from pathlib import Path

from .answers import difference
from .bisection import Bisection
from .case import Asked, load_case
from .child import Child
from .report import DIFFERS
from .tasks import run_here

_LIMIT_S = 600.0  # for a step; whoever waits can press Ctrl-C


def main(folder: Path, arguments: list[str]) -> int:
    """The exit code: 0 where nothing differs, 4 where something does, 2 for other arguments than --here."""
    if arguments not in ([], ["--here"]):
        print(f"repro.py: {arguments[0]}: there is no such option. Give --here, or nothing.")
        return 2
    case = load_case(folder)
    if arguments:
        found = difference(run_here(Asked("compiled", case)), case.expected, case.tolerance, case.before())
        print(found or "nothing differs.")
        return DIFFERS if found else 0
    with Child(_LIMIT_S) as child:
        report = Bisection(case, child).run()
    print(report.text())
    return DIFFERS if report.differs else 0
