"""A folder with all that becomes of a call on its way to code, and a script that shows the difference again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Error
from .answers import Answer
from .case import ARGUMENTS, Asked, Case, save_case
from .child import Child

if TYPE_CHECKING:
    from .bisection import Bisection

_REPRO = '''"""Looks for the difference again: python repro.py. It needs tilewright and NumPy alone, and runs the program of the call
in child processes; `python repro.py --here` runs its code in this process, for a debugger."""

import sys
from pathlib import Path

from tilewright.debug.repro import main

sys.exit(main(Path(__file__).resolve().parent, sys.argv[1:]))
'''


def check_folder(folder: Path | None) -> None:
    """Error where a dump would be written over something."""
    if folder is None or not folder.exists():
        return
    if not folder.is_dir():
        raise Error(f"dump: {folder}: is not a folder.", "Name one that is new, or empty.")
    if any(folder.iterdir()):
        raise Error(
            f"dump: {folder}: is not empty, and nothing is written over.", "Name a folder that is new, or empty."
        )


def write_dump(folder: Path, case: Case, bisection: Bisection, child: Child) -> None:
    """The case, the program behind each pass that changes it, stages, plan, schedule, code, the report, a script."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(case.arguments, folder / ARGUMENTS)
        save_case(case, folder)
        for number, (_, one) in enumerate(bisection.passes, 1):
            if one.program:
                _write(folder / f"{number:02}_{one.name}.txt", one.program)
        texts = child.ask(Asked("texts", case))
        if isinstance(texts, Answer):
            texts = {"no_code.txt": f"There is no code: {texts.text}.\n"}
        for name, text in texts.items():
            _write(folder / name, text)
        _write(folder / "report.txt", bisection.report.text() + "\n")
        _write(folder / "repro.py", _REPRO)
    except OSError as error:
        raise Error(f"dump: {folder}: {(error.strerror or str(error)).lower()}.", "Name another folder.") from None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
