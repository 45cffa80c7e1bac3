"""Objects of the caller whose attributes a compiled function sets.

While tracing, an object of the function's own stands for such a one, so that the rules of those hold: loops carry its attributes,
branches choose them. Behind the call the caller's object gets what is new (structure.Changed). Until then nobody has seen a
change, and a call that NumPy has to run after all begins with the object as it was.

A trace finds out on its way that an attribute is set, and begins again (SetsAttribute) with a stand-in that holds what the object
has, of the attributes that the code names: of the others no input of the program is made.
"""

from __future__ import annotations

import abc
import inspect
import types
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from .. import effects
from ..errors import TraceError
from ..guards import Path, PythonGuard, path_text
from ..light_dataclass import dataclass
from ..originals import original_of
from ..outside_values import is_of_a_statement, names_in
from ..own_attributes import are_set_plainly, attributes_of
from ..structure import APPENDED
from ..symbolic.arrays import SymArray
from ..symbolic.graph import unchanged
from ..symbolic.refusals import SetsAttribute
from ..symbolic.tracer import Tracer
from .carried import MISSING
from .carried_attributes import is_same
from .frame import Pending
from .grown_lists import GrownList

# Methods by which a class decides itself what making an object, or reading and setting its attributes, means.
_OWN_WAYS = ("__new__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__del__")


@dataclass
class StandIn:
    """What stands for an object, a list or a dict of the caller."""

    tracer: Tracer
    path: Path
    original: Any
    made: Any
    before: dict[Any, Any] = field(default_factory=dict)  # its attributes or items at the start of the call
    refused: dict[str, TraceError] = field(default_factory=dict)  # attributes that no program takes in, and why not

    @property
    def has_items(self) -> bool:
        return type(self.original) in (list, dict)

    def need(self, name: str) -> None:
        """Before an attribute is read or set: one that the code did not seem to name is an input too."""
        if name in self.refused:
            raise self.refused[name]
        if name not in self.before and name in attributes_of(self.original):
            raise SetsAttribute(self.path, {name})

    def lacks(self, name: str) -> None:
        """An attribute was looked for that is not its own, but of its class, say: in each call."""
        guard = self.tracer.python_guards.get((self.path, "lacks"))
        names = guard.value if guard is not None else frozenset()
        self.tracer.python_guards[self.path, "lacks"] = PythonGuard(self.path, "lacks", names | {name})

    def changes(self) -> dict[Any, Any]:
        """Behind the function: its attributes or items that are no more what they were."""
        if isinstance(self.made, GrownList):
            more = self.made.appended()
            return {} if more is None else {APPENDED: more}
        found = {}
        for name, held in (contents_of(self.made) if self.has_items else attributes_of(self.made)).items():
            now = held.read() if isinstance(held, Pending) else held
            if is_same(self.before.get(name, MISSING), now):
                continue
            found[name] = now
            is_array = isinstance(now, SymArray) and not now.is_scalar
            if is_array and (now.storage.may_stay or now.storage.kept_from):
                raise self.tracer.error(
                    f"loops: {path_text(self.path)}.{name} behind a loop that may leave it as it was, or as another array was",
                    "whether it is new memory depends on the data",
                    "Set it to a copy (.copy()).",
                )
        names = frozenset(name for name in found if are_set_plainly(self.original, [name]))
        if names and not self.has_items:
            self.tracer.python_guards[self.path, "plain"] = PythonGuard(self.path, "plain", names)
        return found


def contents_of(container: Any) -> dict[Any, Any]:
    """The items of a list or a dict, by position or key."""
    return dict(enumerate(container)) if type(container) is list else dict(container)


def changes_of(tracer: Tracer) -> list[dict[str, Any]]:
    """Behind the function: of each object that it sets attributes of those that are new. TraceError where a function that is
    called between could see the object. What NumPy or a library raises between is no matter: the arguments get back what they
    were, and NumPy runs the call again, with what it sets and writes until then."""
    found = [one.changes() for one in tracer.stand_ins]
    _refuse_one_of_a_loop(tracer, [held for new in found for held in new.values()])
    if any(found) and (seeing := effects.names_of_seeing(tracer.stages)):
        raise tracer.error(
            f"setting attributes beside a call of {seeing}, not known to be pure",
            "it may see the object, which holds them only when the compiled function has ended",
            "Declare a pure function so with @tilewright.stage, or set them at the caller.",
        )
    return found


def _refuse_one_of_a_loop(tracer: Tracer, held: list[Any]) -> None:
    """What an iteration leaves under two names is one array in NumPy, and two behind a loop here."""
    left: dict[int, Any] = {}
    for one in held:
        if not isinstance(one, SymArray) or one.is_scalar or one.storage.value.operation != "result":
            continue
        region, position = (one.storage.value.attributes[name] for name in ("of", "position"))
        final = unchanged(region.blocks[-1].yields[position], {})
        if left.setdefault(final.number, one.storage) is not one.storage:
            raise tracer.error(
                "loops: one array that an iteration sets two attributes to",
                "behind the loop they are two arrays", "Set one of them behind the loop.",
            )  # fmt: skip


def stand_in_of(tracer: Tracer, value: Any) -> StandIn | None:
    return next((one for one in tracer.stand_ins if one.made is value), None)


def begin_with_stand_in(tracer: Tracer, path: Path, owner: Any) -> SetsAttribute:
    """What makes the trace begin again, with an object of the function's own in the place of `owner`."""
    return SetsAttribute(path, _named_by(tracer.cache["function"], owner) & attributes_of(owner).keys())


def _named_by(root: types.FunctionType, owner: Any) -> set[str]:
    """The attributes that a function names, or a method of the object that it names."""
    found: set[str] = set()
    waiting = [root.__code__]
    for code in waiting:
        new = set(names_in(code)) - found
        found |= new
        for name in new:
            waiting += _codes_of(inspect.getattr_static(type(owner), name, None))
    return found


def _codes_of(held: Any) -> Iterator[types.CodeType]:
    for one in (held.fget, held.fset) if isinstance(held, property) else (held,):
        if isinstance(one := original_of(one), types.FunctionType):
            yield one.__code__


def can_be_stood_for(cls: type) -> bool:
    """Whether an object of the function's own behaves as one of the class does."""
    return is_plain(cls) and not own_ways_of(cls) - {"__new__"} and not issubclass(cls, BaseException)


def own_ways_of(cls: type) -> set[str]:
    """The methods of a class by which it decides itself what making an object, or reading and setting its attributes, means."""
    return {name for name in _OWN_WAYS if inspect.getattr_static(cls, name, None) is not getattr(object, name, None)}


def is_plain(cls: type) -> bool:
    """Whether nothing but Python's statements made the class: its objects are what their attributes are."""
    return type(cls) in (type, abc.ABCMeta) and all(base is object or is_of_a_statement(base) for base in cls.__mro__)
