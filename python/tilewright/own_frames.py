"""Tracebacks of a script's errors show the script's lines, as Python's do."""

from __future__ import annotations

import itertools
import re
import types
from pathlib import Path

_FOLDER = str(Path(__file__).parent)
_PART = re.compile(r"lines_\d+_to_\d+|line_\d+_from_\d+")
_of_regions: set[types.CodeType] = set()


def part_name(first: int, last: int) -> str:
    """What the statements of a function that stand on those lines are called, as a function of their own."""
    return f"lines_{first}_to_{last}"


def expression_name(line: int, column: int) -> str:
    """What an expression that begins there, at that column from 1 on, is called as a function of its own."""
    return f"line_{line}_from_{column}"


def names_a_part(name: str) -> bool:
    """Whether it is how tables call statements of a function or of the script: `lines_3_to_9`, `main.lines_3_to_9`,
    or an expression: `main.line_4_from_9`."""
    return _PART.fullmatch(name.rpartition(".")[2]) is not None


def is_of_region(code: types.CodeType) -> None:
    """Statements of a function's that stand in it as a call: their frame is shown as that of the function."""
    _of_regions.add(code)


def stands_in(code: types.CodeType) -> bool:
    """Whether it is of statements that stand in a function or a module as a call."""
    return code in _of_regions


def leave_out_ours(error: BaseException) -> None:
    """Leave our frames at the beginning of a traceback out, and those between the script's, where its statements are functions
    among them. What is all ours stays, and where it ends with ours: it is an error of ours."""
    kept: list[types.TracebackType] = []
    rest = error.__traceback__
    while rest is not None:
        code = rest.tb_frame.f_code
        if _is_part(code) and kept:
            # Its line is the one that the function around it is at; which of its instructions that is, nothing says.
            kept[-1] = types.TracebackType(None, kept[-1].tb_frame, -1, rest.tb_lineno)
        elif not _is_ours(code):
            if code in _of_regions and kept and _is_around(kept[-1].tb_frame.f_code, code):
                kept.pop()  # the call, in the function around it; where that function was called is left as it is
            kept.append(rest)
        last, rest = rest, rest.tb_next
    if not kept:
        return
    for one, behind in itertools.pairwise(kept):
        one.tb_next = behind
    if _is_part(last.tb_frame.f_code):
        kept[-1].tb_next = None
    error.__traceback__ = kept[0]


def _is_around(code: types.CodeType, region: types.CodeType) -> bool:
    """Errors come here once for each function of ours that they leave: what stood around a region may be left out already."""
    return (code.co_name, code.co_filename) == (region.co_name, region.co_filename)


def _is_ours(code: types.CodeType) -> bool:
    return code.co_filename.startswith(_FOLDER) or _is_part(code)


def _is_part(code: types.CodeType) -> bool:
    return _PART.fullmatch(code.co_name) is not None
