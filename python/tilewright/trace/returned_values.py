"""What a traced function returns, taken apart: leaves that the plan gives, and the structure that Python puts around them."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..interpret.array_lists import ArrayList
from ..interpret.frame import Pending
from ..interpret.kept_objects import KeptObject
from ..interpret.plain_arrays import PlainResults
from ..interpret.pure import is_named_tuple
from ..interpret.set_objects import changes_of, stand_in_of
from ..interpret.staged_lists import StagedList
from ..interpret.staged_texts import StagedText
from ..ops.elementwise import copied
from ..ops.held_by_stages import of_its_kind
from ..ops.operands import is_symbolic, known_key
from ..ops.stages import materialized
from ..own_attributes import attributes_of
from ..structure import ZERO_DIMENSIONAL, Again, Changed, Itself, Made, Named
from ..symbolic.argument import HeldElsewhere
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import BOOL, INT64, Value
from ..symbolic.number import refuse_kinds
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.stages import ON_DEVICE
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from .returned_views import Leaf, SharedMemory, own_value
from .traced import Result

_PLAIN = (str, bytes, bool, int, float, complex)  # constants that may stand in a result
_MADE_BY_STAGES = (ArrayList, StagedList, KeptObject, StagedText)  # by statements that Python runs


class ReturnedValues:
    """What a function returns, and what it sets. `writes`: whether it writes into arguments as well."""

    def __init__(self, tracer: Tracer, result: Any, writes: bool) -> None:
        self.leaves: list[Leaf] = []
        self.reasons: list[str] = []  # why NumPy has to run the call
        self._tracer = tracer
        self._inputs = tracer.cache["inputs"]
        self._shared = SharedMemory(tracer)
        self._plain = PlainResults(tracer)
        new = changes_of(tracer)  # of the caller's objects
        self.sets = any(new)
        self._result, self._writes = result, writes or self.sets
        self._arrays: list[SymArray] = []
        # Complex arrays whose real or imaginary part is returned, by the memory of that part here: the two parts share no
        # element.
        self._parts_of: dict[tuple[int, str], dict[int, Storage]] = {}
        self._objects: dict[int, Any] = {}  # that the function made, lists and dicts among them
        self._again: set[int] = set()  # those of these that are there twice, by identity
        # Objects that are held, with the number: twice in the result, it is one object.
        self._held: dict[int, tuple[Any, Value]] = {}
        self.structure = self._taken_apart(result)
        if tracer.stand_ins:
            changed = [{name: self._attribute(held) for name, held in one.items()} for one in new]
            # What a result or an attribute is set to may be an object of the caller, with a stand-in from here on.
            changed += [{}] * (len(tracer.stand_ins) - len(changed))
            self.structure = ("changed", self.structure, changed)

    @property
    def is_one_value(self) -> bool:
        """Whether it is a value of the program, and nothing around it."""
        return self.structure[0] == "leaf" and self.leaves[self.structure[1]].kind not in (ZERO_DIMENSIONAL, "view")

    def settled(self) -> list[Leaf]:
        """What the plan gives behind the leaves, once it is known which of them are views."""
        if why := self._shared.settle(self.leaves):
            self.reasons.append(why)
        behind = [] if self.reasons else self._shared.behind(self.leaves)
        _refuse_shared(self._tracer, self._arrays)
        wholes = {id(whole) for one in self._parts_of.values() for whole in one.values()}
        is_twice = any(len(one) > 1 for one in self._parts_of.values())
        if is_twice or any(id(item.storage) in wholes for item in self._arrays):
            self.reasons.append("it returns several views of one array")
        return behind

    def results(self) -> Any:
        """A Result for each leaf, in the structure that the function returns."""
        return self._restored(self.structure)

    def _leaf(self, kind: str, value: Value, *more: Any) -> Any:
        self.leaves.append(Leaf(kind, value, *more))
        return ("leaf", len(self.leaves) - 1)

    def _held_leaf(self, item: Any, number: Callable[[], Value]) -> Any:
        if id(item) not in self._held:
            self._held[id(item)] = item, number()
        return self._leaf("held", self._held[id(item)][1])

    def _taken_apart(self, item: Any) -> Any:
        if (stand_in := stand_in_of(self._tracer, item)) is not None:
            return ("itself", self._tracer.stand_ins.index(stand_in))
        if getattr(item, "kinds", None) and item.which is not None and self._tracer.untaken is None:
            return self._held_leaf(item, lambda: of_its_kind(self._tracer, item))
        if not (isinstance(item, SymArray) and item.kinds == {"float", "scalar"} and item.dtype == np.float64):
            # np.float64 is a float, of the same value: that one stands for both.
            refuse_kinds(item, "returning the value")
        if isinstance(item, Compressed):
            why = item.refused("returning the elements")
            with self._tracer.no_kernel(why):
                array = materialized(item)
                return self._leaf("held", array.storage.value, "", array, item, why)
        if isinstance(item, (ArrayList, StagedList, KeptObject)):
            return self._held_leaf(item, item.number)
        if isinstance(item, StagedText):
            return self._held_leaf(item, lambda: item.opened)
        if isinstance(item, SymArray):
            return self._array(item)
        if self._tracer.is_made(item) or (is_named_tuple(type(item)) and getattr(item, "__dict__", None)):
            return self._made(item)
        if isinstance(item, SymInt):
            return self._leaf("int", item.as_value())
        if isinstance(item, SymScalar) and type(item.hint) is complex:
            self.reasons.append("it returns a Python complex number")
            return ("constant", None)
        if isinstance(item, SymScalar):
            return self._leaf(type(item.hint).__name__, item.value)
        if isinstance(item, (tuple, list, dict)) and self._has_parts(item):
            return self._container(item)
        return self._constant(item)

    def _array(self, item: SymArray) -> Any:
        seen = self._shared.seen_through(item)
        if isinstance(owner := seen.storage.argument, HeldElsewhere) and not item.is_scalar:
            itself = owner.returned(not seen.chain, self._tracer.error)
            return self._held_leaf(itself, itself.number)
        if self._shared.is_of_data(item) and not self._shared.is_part_of_known(seen):
            self._arrays.append(seen)
            return self._leaf("held", seen.storage.value, "", seen, item, self._shared.why_held())
        kind, value, argument = _array_leaf(self._tracer, item, seen)
        if kind == "view" and not self._shared.can_be_seen(seen):
            self.reasons.append(f"it returns a view of {argument}")
            return self._leaf("array", item.read(), argument, None, item)
        if kind != "array":
            return self._leaf(kind, value, argument, seen if kind == "view" else None, item)
        if item.storage.part_of and item.storage.chosen_from and seen is item:
            whole = item.storage.chosen_from[0][0]
            self._parts_of.setdefault((id(whole), item.storage.part_of), {})[id(item.storage)] = whole
            if whole.argument is not None:
                self.reasons.append(f"it returns a view of {whole.argument.name}")
        self._arrays.append(seen)
        if not value.shape and self._tracer.untaken is ON_DEVICE:
            self.reasons.append("it returns an array of no dimensions")
        elif not value.shape:
            kind = ZERO_DIMENSIONAL
        if any(one.value is value and one.memory != id(item.storage) for one in self.leaves):
            value = copied(self._tracer, value)
        return self._leaf(kind, value, argument, seen, item)

    def _made(self, item: Any) -> Any:
        """An object of the function's own."""
        if id(item) in self._objects:
            self.reasons.append(f"it returns one {type(item).__name__} object twice")
            return ("constant", None)
        self._objects[id(item)] = item
        parts = list(map(self._taken_apart, item)) if isinstance(item, tuple) else None
        return ("made", type(item), parts, {name: self._attribute(held) for name, held in attributes_of(item).items()})

    def _attribute(self, item: Any) -> Any:
        """What an object of the function's holds beside what functions return: what guards keep as it is."""
        held = item.read() if isinstance(item, Pending) else item
        if self._inputs.is_of_a_module(held):
            self._inputs.pin(held)
            return ("constant", held)
        is_constant = isinstance(held, (types.ModuleType, type, np.dtype))
        return ("constant", held) if is_constant else self._taken_apart(held)

    def _has_parts(self, item: Any) -> bool:
        """Whether a container is made at each call, or has something of the call in it."""
        is_made = item is not self._result and not self._inputs.is_outer(item)
        return is_made or _holds_made(self._tracer, item) or is_symbolic(item)

    def _itself(self, item: Any) -> Any:
        """An object, a list or a dict of the caller's arguments."""
        found = None if self._tracer.untaken is ON_DEVICE else self._inputs.passed(item)
        return None if found is None else ("itself", self._tracer.stand_ins.index(found))

    def _container(self, item: Any) -> Any:
        is_plain = type(item) in (tuple, list, dict) or (isinstance(item, (tuple, list)) and is_named_tuple(type(item)))
        if not is_plain:
            self.reasons.append(f"it returns a {type(item).__name__}")
        if not isinstance(item, tuple):
            if (number := self._itself(item)) is not None:
                return number
            if self._inputs.is_outer(item):
                self.reasons.append(f"it returns a {type(item).__name__} from outside, which is that very one")
                return ("constant", None)
            if id(item) in self._objects:
                self._again.add(id(item))
                return ("again", id(item))
            self._objects[id(item)] = item
        if isinstance(item, dict):
            return [dict, {known_key(key): self._taken_apart(part) for key, part in item.items()}, id(item)]
        return [type(item), list(map(self._taken_apart, item)), id(item)]

    def _constant(self, item: Any) -> Any:
        """What no argument went into."""
        if self._inputs.is_object(item) and (number := self._itself(item)) is not None:
            return number
        is_alone = item is self._result and not self._writes
        if item is None and self._result is None:
            return ("constant", None)
        is_number = type(item) in (bool, int, float) and (type(item) is float or abs(item) < 2**63)
        if is_number and not is_alone:  # beside what is computed; alone it is nothing to compile
            constant = self._tracer.constant(item, INT64 if type(item) is int else np.dtype(type(item)))
            return self._leaf(type(item).__name__, constant)
        if (item is not self._result or self.sets) and (item is None or type(item) in _PLAIN):
            return ("constant", item)
        if not is_alone and (made := self._plain.made_anew(item)) is not None:
            return self._taken_apart(made)
        if isinstance(item, np.ndarray) and item.dtype == object and self._tracer.objects_found:
            raise self._tracer.error("returning an array of objects", "only Python makes one")
        self.reasons.append(
            "it returns None"
            if item is None
            else f"it returns an object of type {type(item).__name__} that no array or number of the call is computed into"
        )
        return ("constant", item)

    def _restored(self, item: Any) -> Any:
        if isinstance(item, tuple):
            if item[0] == "constant":
                return Result("constant", value=item[1])
            if item[0] == "itself":
                return Itself(item[1])
            if item[0] == "changed":
                changes = [{name: self._restored(held) for name, held in one.items()} for one in item[2]]
                return Changed(self._restored(item[1]), changes, [one.has_items for one in self._tracer.stand_ins])
            if item[0] == "made":
                items = None if item[2] is None else tuple(map(self._restored, item[2]))
                return Made(item[1], items, {name: self._restored(part) for name, part in item[3].items()})
            if item[0] == "again":
                return Again(self._number(item[1]))
            return result_of(self.leaves[item[1]])
        cls, parts, identity = item
        if identity in self._again:
            return Named(self._number(identity), self._container_of(cls, parts))
        return self._container_of(cls, parts)

    def _number(self, identity: int) -> int:
        return list(self._objects).index(identity)

    def _container_of(self, cls: type[Any], parts: Any) -> Any:
        if cls is dict:
            return {key: self._restored(part) for key, part in parts.items()}
        made = list(map(self._restored, parts))
        if cls in (tuple, list):
            return cls(made)
        return cls(*made) if hasattr(cls, "_fields") else tuple(made)


def result_of(leaf: Leaf) -> Result:
    return Result(leaf.kind, leaf.name, str(leaf.value.dtype), leaf.argument, view=leaf.view)


def _holds_made(tracer: Tracer, item: Any) -> bool:
    """Whether an object of the function's own is in a container, or what statements made that Python runs: it is then
    the function's own too."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, (tuple, list)) else ()
    return any(tracer.is_made(part) or isinstance(part, _MADE_BY_STAGES) or _holds_made(tracer, part) for part in parts)


def _refuse_shared(tracer: Tracer, returned: list[SymArray]) -> None:
    """What a branch chose is new memory here. Where it is an argument in NumPy, or another result, NumPy runs the call."""

    def refuse(holds: Value, what: str) -> None:
        if holds.home is tracer.blocks[0]:
            tracer.check(tracer.add("logical_not", (holds,), {}, BOOL, ()), what)

    storages = list({id(item.storage): item.storage for item in returned}.values())
    for position, storage in enumerate(storages):
        for source in storage.kept_from:
            if source.argument is not None or any(source is other for other in storages):
                raise tracer.error(
                    f"returning {'an array' if source.argument is None else source.argument.name} under the name that a loop "
                    "gives it", "whether the loop has an iteration decides which array it is", "Return a copy (.copy()).",
                )  # fmt: skip
        for source, holds in storage.may_be:
            if source.argument is not None:
                refuse(holds, f"it returns the memory of {source.argument.name}, which a branch or a loop chose")
            elif any(source is other for other in storages):
                refuse(holds, "it returns one array twice, which a branch or a loop chose")
            for other in storages[position + 1 :]:
                for both in (truth for one, truth in other.may_be if one is source):
                    twice = tracer.add("logical_and", (holds, both), {}, BOOL, ())
                    refuse(twice, "it returns one array twice, which a branch or a loop chose")


def _array_leaf(tracer: Tracer, item: SymArray, seen: SymArray) -> tuple[str, Value, str]:
    """`seen`: the array as a view of the memory."""
    value = seen.storage.value if item.is_stale() and seen is not item else item.read()
    owner = seen.storage.argument
    if owner is not None:
        if item.is_scalar:
            return "scalar", copied(tracer, value), ""
        assert owner.program_value is not None
        # The very object, whatever has been written into it.
        return ("argument" if not seen.chain else "view"), owner.program_value, owner.name
    return ("scalar" if item.is_scalar else "array"), own_value(tracer, value), ""
