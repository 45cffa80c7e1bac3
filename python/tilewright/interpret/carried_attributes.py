"""Attributes of objects that the function makes, and items of its dicts, as variables of the loops and branches that set them.

While a region is traced its objects hold what an iteration, or a way of a branch, sees. Between iterations, and behind the
region, a variable without a name in the source holds that, so that the rules of variables hold for attributes as well.
The items of a dict are here what the attributes of an object are: those that it has before the region.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..own_attributes import attributes_of, hold, let_go
from ..symbolic.arrays import SymArray
from ..symbolic.tracer import Tracer
from .carried import MISSING
from .frame import Control, Pending

ITEM_KEYS = (str, int)  # of dicts whose items regions set

MOST_CARRIED = 64  # attributes that one loop carries: each of them is found in a run of its body


class AttributeNeeded(Control):
    """An iteration sets an attribute of an object from before the loop."""

    def __init__(self, owner: Any, name: Any, in_branch: bool) -> None:
        """`in_branch`: on one way of a branch on data in the iteration."""
        super().__init__(str(name))
        self.owner, self.name, self.in_branch = owner, name, in_branch


class LoopAttributes:
    """Attributes of objects from before a loop that its iterations set, with the variables that carry them."""

    def __init__(self, tracer: Tracer, *, is_fixed: bool = False) -> None:
        """`is_fixed`: those of what is no loop, and carries none."""
        self.tracer = tracer
        self.is_fixed = is_fixed
        self.carried: dict[str, tuple[Any, Any]] = {}  # by the variable, (object, attribute) or (dict, key)
        self._before: dict[str, Any] = {}
        self._orders: dict[int, tuple[Any, list[Any]]] = {}  # by identity, (object, its attributes before the loop)
        self._made_in_branches: set[int] = set()  # objects with a new attribute that a branch of the loop sets first

    def carries(self, owner: Any, name: Any) -> bool:
        return variable_of(self.tracer, owner, name) in self.carried

    def may_add(self, owner: Any, name: Any, in_branch: bool) -> bool:
        """Not where data may decide in which order attributes come into the object's `__dict__`."""
        is_new = in_branch and name not in held_by(owner)
        return len(self.carried) < MOST_CARRIED and not (is_new and id(owner) in self._made_in_branches)

    def add(self, needed: AttributeNeeded) -> tuple[str, Any]:
        """The variable that carries it, and what it is before the loop; the object holds it no longer."""
        variable = variable_of(self.tracer, needed.owner, needed.name)
        self.carried[variable] = needed.owner, needed.name
        self._before[variable] = held_by(needed.owner).get(needed.name, MISSING)
        self._orders.setdefault(id(needed.owner), (needed.owner, list(held_by(needed.owner))))
        if needed.in_branch and self._before[variable] is MISSING:
            self._made_in_branches.add(id(needed.owner))
        set_attribute(needed.owner, needed.name, MISSING)
        return variable, self._before[variable]

    def arrays(self) -> dict[str, SymArray]:
        """What they are before the loop, by the variables."""
        return {variable: held for variable, held in self._before.items() if isinstance(held, SymArray)}

    def put_in(self, variables: Mapping[str, Any]) -> None:
        """An iteration begins: the objects hold what the one before has left."""
        for variable, (owner, name) in self.carried.items():
            held = variables.get(variable, MISSING)
            if isinstance(held, Pending) and held.was_set:
                held = held.read()
            set_attribute(owner, name, held)
        self._put_in_order()

    def take_out(self, variables: dict[str, Any]) -> None:
        """An iteration ends: no object leads to what the variables hold."""
        for variable, (owner, name) in self.carried.items():
            held = held_by(owner).get(name, MISSING)
            if held is not MISSING:
                variables[variable] = held
                set_attribute(owner, name, MISSING)

    def drop(self) -> None:
        """A run of the body ended, or was left."""
        for owner, name in self.carried.values():
            set_attribute(owner, name, MISSING)

    def end(self, variables: dict[str, Any]) -> None:
        """Behind the loop the objects hold what it has left."""
        for variable, (owner, name) in self.carried.items():
            set_attribute(owner, name, _as_kept(owner, variables.pop(variable, MISSING)))
        self._put_in_order()

    def _put_in_order(self) -> None:
        for owner, names in self._orders.values():
            put_in_order(owner, names)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Where the loop is refused, the objects are as they were."""
        try:
            yield
        except BaseException:
            for variable, (owner, name) in self.carried.items():
                set_attribute(owner, name, self._before[variable])
            self._put_in_order()
            raise


class BranchAttributes:
    """Attributes of objects from before a branch, which its ways set."""

    def __init__(self, tracer: Tracer, held: Mapping[int, Any]) -> None:
        """`held`: what the variables of the function lead to."""
        self.tracer = tracer
        made = [one for one in held.values() if tracer.is_made(one)]
        of_objects = {id(vars(one)) for one in made if hasattr(one, "__dict__")}
        dicts = [one for one in held.values() if type(one) is dict and id(one) not in of_objects]
        self._before = [(one, held_by(one)) for one in (*made, *dicts)]
        self._set: dict[str, tuple[Any, Any, Any]] = {}  # by the variable, (object, attribute, what it was)
        self._new: dict[int, list[Any]] = {}  # by identity, the attributes that a way has added

    def changes(self) -> dict[str, Any]:
        """What a way has set, by variables; the objects are as they were again."""
        found: dict[str, Any] = {}
        for one, before in self._before:
            now = held_by(one)
            if new := [name for name in now if name not in before]:
                order = self._new.setdefault(id(one), new)
                if [name for name in new if name in order] != [name for name in order if name in new]:
                    raise self.tracer.error(
                        f"attributes of a {type(one).__name__} after an if on data",
                        "its ways add them in different orders, which its __dict__ shows",
                        "Set them before it.",
                    )
            for name in {**before, **now}:
                held, was = now.get(name, MISSING), before.get(name, MISSING)
                if held is not was:
                    variable = variable_of(self.tracer, one, name)
                    found[variable] = held
                    self._set[variable] = one, name, was
                    set_attribute(one, name, was)
        return found

    def before(self) -> dict[str, Any]:
        """What the ways set, as it was before them."""
        return {variable: was for variable, (_, _, was) in self._set.items()}

    def take_out(self) -> None:
        """No object leads to what the variables hold."""
        for one, name, _ in self._set.values():
            set_attribute(one, name, MISSING)

    def put_in(self, variables: dict[str, Any], others: Mapping[str, Any]) -> None:
        """Behind the branch the objects hold what its ways left; `others`: the variables before it."""
        for variable, (one, name, _) in self._set.items():
            set_attribute(one, name, _as_kept(one, variables.pop(variable, MISSING)))
            if variable in others:
                variables[variable] = others[variable]
        for one, before in self._before:
            put_in_order(one, list(before))


def held_by(owner: Any) -> dict[Any, Any]:
    """The attributes of an object, the items of a dict."""
    return dict(owner) if type(owner) is dict else attributes_of(owner)


def _as_kept(owner: Any, held: Any) -> Any:
    """What an item becomes behind a region: whoever looks into a dict finds values, where an attribute is read by its name."""
    return held.read() if type(owner) is dict and isinstance(held, Pending) else held


def variable_of(tracer: Tracer, owner: Any, name: Any) -> str:
    """The variable that stands for an attribute: no name in the source is like it, and it is the same in each run of a trace."""
    if type(owner) is dict:
        dicts = tracer.cache.setdefault("dicts that regions set", {})
        dicts.setdefault(id(owner), owner)
        return f" dict[{name!r}] of {list(dicts).index(id(owner))}"
    return f" {type(owner).__name__}.{name} of {list(tracer.made_objects).index(id(owner))}"


def put_in_order(owner: Any, names: list[Any]) -> None:
    """Its attributes: those with the names first, as Python has them that were there first."""
    held = owner if type(owner) is dict else getattr(owner, "__dict__", {})
    if held:
        first = {name: held[name] for name in names if name in held}
        rest = {name: value for name, value in held.items() if name not in first}
        held.clear()
        held.update(first | rest)


def is_named(variable: str) -> bool:
    """Whether a variable has a name in the source."""
    return variable.isidentifier()


def set_attribute(owner: Any, name: Any, held: Any) -> None:
    if held is not MISSING and type(owner) is dict:
        owner[name] = held
    elif held is not MISSING:
        hold(owner, name, held)
    elif type(owner) is dict:
        owner.pop(name, None)
    elif name in attributes_of(owner):
        let_go(owner, name)


def is_written_in_place(held: Any) -> bool:
    """Whether `held += x` writes into what is held."""
    return isinstance(held, SymArray) and not held.is_scalar


def is_same(held: Any, value: Any) -> bool:
    """Whether a value is what an attribute already holds: `self.w += x` sets it to the array that it is."""
    if held is value:
        return True
    if not isinstance(held, SymArray) or not isinstance(value, SymArray) or held.is_scalar or value.is_scalar:
        return False
    return held.is_seen_as(value)
