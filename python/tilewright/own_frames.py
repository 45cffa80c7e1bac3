"""Tracebacks of a script's errors show the script's lines, as Python's do."""

from __future__ import annotations

from pathlib import Path

_FOLDER = str(Path(__file__).parent)


def leave_out_ours(error: BaseException) -> None:
    """Leave our frames at the beginning of a traceback out. What is all ours stays: it is an error of ours."""
    rest = error.__traceback__
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(_FOLDER):
        rest = rest.tb_next
    if rest is not None:
        error.__traceback__ = rest
