"""The errors that tilewright raises: one flat family, the same names as in C++ (dsl/base/error.h)."""

from __future__ import annotations

import copyreg
from typing import Any, Literal


class Error(Exception):
    """Base of every error of ours.

    The message reads ``where: what was asked, with the values; why not. What to do.``; `hint` is the
    "what to do" part on its own.
    """

    # Of a call that reads and computes no element, so that Python itself answers it: "always", or "here" where calls of
    # other sizes may compute.
    idle: Literal["", "here", "always"] = ""
    # Of what the values of Python objects decided, which a call's key does not hold.
    depends_on_values: bool = False
    not_seen: bool = False  # a call that runs as plain Python once, and is watched, may end it

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(f"{message} {hint}" if hint else message)
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # The text is already joined: without this, unpickling would append the hint twice.
        return (copyreg.__newobj__, (type(self), *self.args), self.__dict__.copy())  # type: ignore[attr-defined]


class TraceError(Error, NotImplementedError):
    """A NumPy call or a construct that cannot be traced. Has `file` and `line`."""

    what: str = ""  # the message without where it is and without the hint, where a trace knows it
    ways: tuple[Any, ...] = ()  # to functions around it that may be stages, innermost first
    recursive: Any = None  # the code that calls itself, where that is refused: the first call of it may be a stage
    parts: tuple[Any, ...] = ()  # to statements around it that may be, innermost first
    whole: Any = None  # to all statements of a function, where no fewer may be
    is_too_long: bool = False  # there are too many operations
    is_of_items: bool = False  # a list has too many items for an operation each
    is_plain_work: bool = False  # on Python's own values, which Python does in less time than it takes to follow it
    # Of what could be followed, in the time of many calls: what takes that long began when so many expressions were evaluated.
    long_since: int | None = None
    # Branches on data around it, innermost first, and the truth of the condition on its way; None where the two disagree.
    branches: tuple[tuple[Any, bool | None], ...] = ()

    def __init__(self, message: str = "", hint: str = "", *, file: str = "", line: int = 0) -> None:
        super().__init__(message, hint)
        self.file = file
        self.line = line

    def is_of(self, evaluated: int) -> bool:
        """Whether what began when so many expressions were evaluated is refused, or is around what is."""
        return self.long_since is None or evaluated <= self.long_since


class TranslateError(Error, TypeError):
    """A program that has no translation: no rule for an operation, or shapes and dtypes that disagree."""


class ScheduleError(Error, ValueError):
    """A schedule that does not parse, names what does not exist, or breaks a rule."""


class StoreError(Error):
    """A store that is locked, from a newer version, or damaged."""


class DeviceError(Error, RuntimeError):
    """A device that is not here, refuses what is asked of it, or was lost."""


class ExportError(Error):
    """A module that cannot be written."""


class InternalError(Error):
    """A defect of tilewright itself."""


class FallbackWarning(UserWarning):
    """A line of the user's function runs in NumPy, not in compiled code; once per line per process."""


class PlacementWarning(UserWarning):
    """A call launched many small kernels on a device: the host is the place for it; once per function per process."""
