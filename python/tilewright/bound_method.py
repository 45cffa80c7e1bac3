"""A jitted method of an object: called as types.MethodType is, and tuned, traced and explained with the object in it."""

from __future__ import annotations

import functools
import types
from typing import Any

from . import _face

_OF_A_CALL = ("tune", "debug", "for_args")  # methods of JitFunction that take the arguments of a call


class BoundMethod(_face.BoundCall):
    """`sim.step` of a jitted `step`: what takes the arguments of a call gets the object first. C makes it and its calls."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """inspect, the tracer and everybody who asks for a method see one; Python's own type cannot be inherited from."""
        return types.MethodType

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.__func__.__doc__

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__func__, name)
        return functools.partial(found, self.__self__) if name in _OF_A_CALL else found

    def __eq__(self, other: object) -> bool:
        if type(other) is not BoundMethod:
            return NotImplemented
        return self.__self__ is other.__self__ and self.__func__ is other.__func__

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __repr__(self) -> str:
        shown = getattr(self.__func__, "shown_bound", None)
        if shown is not None:
            return str(shown(self.__self__))
        return f"<bound method of {self.__func__!r} and {self.__self__!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (getattr, (self.__self__, self.__func__.__name__))

    @property
    def schedule(self) -> str:
        return self.__func__.schedule

    @schedule.setter
    def schedule(self, text: str | None) -> None:
        self.__func__.schedule = text
