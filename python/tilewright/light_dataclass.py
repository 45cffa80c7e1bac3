"""dataclasses.dataclass, made in a third of the time: that one compiles a text for each method of each class, which takes half of what it
takes to import the decorator.

`frozen` is what checkers of types see to: to set a field raises nothing. Not here: `order`, `kw_only` and others that nobody needs."""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass  # noqa: F401
else:

    def dataclass(made=None, /, *, frozen=False, eq=True, repr=True, slots=False):
        """As that one says of these options."""

        def wrap(made):
            if made.__doc__ is None:
                made.__doc__ = (
                    f"{made.__name__}: its fields."  # else the signature is asked for, which takes as long as all else
                )
            # Python has put None there for a class with an __eq__ of its own.
            has_own_hash = made.__dict__.get("__hash__") is not None
            made = dataclasses.dataclass(made, eq=False, repr=False, slots=slots)
            if repr and "__repr__" not in made.__dict__:
                made.__repr__ = _repr_of(made)
            if eq:
                values = _values_of(made)
                if "__eq__" not in made.__dict__:
                    made.__eq__ = _equal_by(values)
                if not has_own_hash:
                    made.__hash__ = _hash_by(values) if frozen else None
            return made

        return wrap if made is None else wrap(made)


def _values_of(made: Any) -> Any:
    """What tells its objects apart, as a function of one."""
    names = [one.name for one in dataclasses.fields(made) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _equal_by(values: Any) -> Any:
    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_by(values: Any) -> Any:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _repr_of(made: Any) -> Any:
    names = [one.name for one in dataclasses.fields(made) if one.repr]

    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__
