"""Objects, lists and dicts of the caller that a function changes: each is one thing, wherever a call has it, and none of the others."""

from __future__ import annotations

from typing import Any

from ..errors import TraceError
from ..guards import Path, path_text
from ..own_attributes import attributes_of, hold
from ..symbolic.argument import is_passed
from .found_inputs import FoundInputs
from .grown_lists import GrownList
from .set_objects import StandIn, can_be_stood_for, contents_of, stand_in_of


class SetInputs(FoundInputs):
    """What stands for those that the function gives new items or attributes, and what tells them from all others."""

    def make(self, value: Any, path: Path, is_parameter: bool) -> Any:
        """The symbolic form of a value from outside."""
        raise NotImplementedError

    def _hold(self, value: Any, made: Any, path: Path) -> None:
        """A list or dict of the caller, which the function may give new items: it is none of those that have got some."""
        for one in self.tracer.stand_ins:
            if one.has_items and type(one.original) is type(value):
                self._guard_another(path, one.path)
        self.held.append((value, made, path))

    def _held_already(self, value: Any, path: Path) -> Any:
        """What stands for a list or dict that another place of this call has too, and has in every call; None of others."""
        for original, made, where in self.held:
            if original is value:
                self._guard(path, "same", where, "the same object as at another place")
                return made
        return None

    def is_held(self, made: Any) -> bool:
        """Whether it stands for a list or a dict of the caller."""
        return stand_in_of(self.tracer, made) is not None or any(one[1] is made for one in self.held)

    def _grown_list(self, value: list[Any], path: Path) -> Any:
        """A list to which the function appends: how long it is, and what is in it, is not asked."""
        self._guard(path, "type", list)
        self._guard_others(value, path)
        made = GrownList(self.tracer, path, value)
        self._remember(made, path)
        self._hold(value, made, path)
        self.tracer.stand_ins.append(StandIn(self.tracer, path, value, made))
        return made

    def set_container(self, made: Any) -> StandIn | None:
        """What gives the caller's list or dict its new items; None of others."""
        if (known := stand_in_of(self.tracer, made)) is not None:
            return known
        original, _, path = next((one for one in self.held if one[1] is made), (None, None, ()))
        if original is None or not is_passed(path):
            return None
        self._guard_others(original, path)
        self.tracer.stand_ins.append(StandIn(self.tracer, path, original, made, contents_of(made)))
        return self.tracer.stand_ins[-1]

    def _guard_others(self, value: Any, path: Path) -> None:
        """A list or dict that the function changes is none of the others that it was handed."""
        for other, _, where in self.held:
            if type(other) is type(value) and where != path:
                self._guard_another(where, path)

    def passed(self, item: Any) -> StandIn | None:
        """What says where an object, a list or a dict of the caller's arguments is; None of others."""
        if type(item) in (list, dict):
            return self.set_container(item)
        path = self.path_of(item)
        if path is None or not is_passed(path):
            return None
        self.tracer.stand_ins.append(StandIn(self.tracer, path, item, item))
        return self.tracer.stand_ins[-1]

    def _stand_in(self, value: Any, path: Path) -> Any:
        """An object of the function's own in the place of one whose attributes it sets."""
        if not can_be_stood_for(type(value)):
            raise self.tracer.error(
                f"changing {path_text(path)} in a loop or branch of the run",
                f"objects of the class {type(value).__name__} are only read in a compiled function",
                "Pass its arrays as arguments.",
            )
        made = object.__new__(type(value))
        self.tracer.made_objects[id(made)] = made
        stand_in = StandIn(self.tracer, path, value, made)
        self.tracer.stand_ins.append(stand_in)
        names = self.tracer.set_objects[path]
        for name, held in attributes_of(value).items():
            if name in names:
                try:
                    one = self.make(held, (*path, ("attribute", name)), is_parameter=False)
                except TraceError as error:  # who asks for it is told; the code may name it and not come there
                    stand_in.refused[name] = error
                    continue
                stand_in.before[name] = one
                hold(made, name, one)
        return made

    def _tell_apart(self, value: Any, path: Path) -> None:
        """Of objects of one class, one whose attributes are set is no other one in any call."""
        is_set = path in self.tracer.set_objects
        for one in self.tracer.stand_ins:
            if type(one.original) is type(value):
                self._guard_another(path, one.path)
        if is_set:
            alike = [(held, where) for held, where in self.by_identity.values() if id(held) in self.objects]
            for held, where in alike:
                if type(held) is type(value) and not self.tracer.is_made(held):
                    self._guard_another(where, path)
