"""What ends a trace, or makes it begin again."""

from __future__ import annotations

from typing import Any

from ..errors import TraceError


class Undecided(BaseException):
    """A size would decide, where none may."""


class TooLong(BaseException):
    """More values than a program may have: the trace begins again with the loop at that place kept, which it unrolled only
    because it is short."""

    def __init__(self, place: tuple[str, int, int]) -> None:
        super().__init__(place)
        self.place = place


class LayoutNeeded(BaseException):
    """Whether an argument is contiguous decides between a view and a copy: the trace begins again, with that guarded."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names)
        self.names = names


class GeneratorInside(BaseException):
    """A branch or a loop is the first to name a random generator that was there before the call: the trace begins again, with
    that at its beginning."""

    def __init__(self, path: tuple[Any, ...]) -> None:
        super().__init__(path)
        self.path = path


class SetsAttribute(BaseException):
    """The function sets an attribute of an object of the caller: the trace begins again, with an object of the function's own in
    its place that holds the attributes with these names."""

    def __init__(self, path: tuple[Any, ...], names: set[str]) -> None:
        super().__init__(path, names)
        self.path, self.names = path, names


class CalleeNotSeen(TraceError):
    """What a function gives that Python is to call is not known yet: this call runs as plain Python, and is watched."""

    not_seen = True


class Unreached(Exception):  # noqa: N818
    """Calls that were watched do not come to a place. On a way of a branch on data it is like an error of the user's: NumPy
    runs the call that comes there."""

    def __init__(self, unseen: CalleeNotSeen, way: Any) -> None:
        super().__init__(unseen.what)
        self.unseen, self.way = unseen, way


class WaitsForOthers(TraceError):
    """A loop that another thread ends: Python runs the call, on the caller's own arrays and objects."""


class KeepsLoop(TraceError):
    """Why a loop is unrolled that may stay one after all, if the trace begins again with what this is about as a stage."""


class FilledByLoop(KeepsLoop):
    """A list is changed in a loop or branch of the run. Where that is not unrolled, the trace begins again with the list
    at `place` as a stage."""

    place: Any


class OperandError(TraceError, TypeError):
    """A TraceError for what Python itself refuses with a TypeError."""


class WrittenSelection(TraceError):
    """What a mask picks out is written, in parts that are no mask's: the next trace has arrays in place of selections."""
