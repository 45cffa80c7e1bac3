"""What NumPy does to an array of the call so that it shows what a result shows: text that Python runs behind the plan.

Sizes that are no numbers of the program are results of the plan.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ..errors import TraceError
from ..light_dataclass import dataclass
from ..operations import VIEWS
from ..ops.elementwise import copied
from ..ops.held_by_stages import held_copy
from ..structure import OF, ZERO_DIMENSIONAL, ViewSteps
from ..symbolic.arrays import SymArray
from ..symbolic.disjoint import are_disjoint
from ..symbolic.graph import NewAxis, Slice, Value, unchanged
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from ..symbolic.stages import ON_DEVICE
from ..symbolic.storage import Storage, View
from ..symbolic.tracer import Tracer

_Number = Callable[[Size], str]


@dataclass(eq=False)
class Leaf:
    """Of what a function returns, or of what its plan gives behind that."""

    kind: str  # as Result has it
    value: Value  # of a view of an argument that argument
    argument: str = ""
    item: SymArray | None = None  # of arrays, held ones too, and views
    origin: Any = None  # what the function has for the item
    why: TraceError | None = None  # of what is still to be held: its size is not known before the call
    name: str = ""
    view: ViewSteps | None = None

    @property
    def memory(self) -> int | None:
        """What tells its array from others."""
        array = self.item if self.origin is None else self.origin
        return id(array.storage) if array is not None and self.kind in ("array", ZERO_DIMENSIONAL) else None


class SharedMemory:
    """The arrays that a function returns, by their memory. Those of one memory that have elements in common are views of the
    whole, which the plan gives; disjoint ones are arrays of their own."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._shown: dict[int, View] = {}

    def seen_through(self, item: SymArray) -> SymArray:
        """The array as a view of the memory in which NumPy has it: real parts, diagonals, windows."""
        shown = item.storage.shown
        if shown is None or shown.block is not self._tracer.blocks[0]:
            return item
        whole = self.seen_through(shown.array)
        attributes = {"step": shown.step, "sizes": shown.sizes}
        view = self._shown.setdefault(id(shown), View("shown", attributes, item.storage.value.shape))
        return SymArray(self._tracer, whole.storage, (*whole.chain, view, *item.chain))

    def is_of_data(self, item: SymArray) -> bool:
        """Whether data decide how many elements an array has."""
        return any(map(self._tracer.is_of_data, item.sizes))

    def why_held(self) -> TraceError:
        return self._tracer.error("returning an array whose size depends on elements",
                                  "results are made before the compiled function runs")  # fmt: skip

    def can_be_seen(self, item: SymArray) -> bool:
        """Whether NumPy makes this view of the memory, in every call; of an argument it decides that itself."""
        tracer = self._tracer
        if item.storage.argument is None and (item.may_be_a_copy() or item.storage.read_only is not False):
            return False
        if any(view.warns for view in item.chain):
            return False
        if tracer.untaken is ON_DEVICE:
            return False
        if item.storage.argument is not None and _is_number(item):
            return False  # a plan is given its number, not its memory
        return all(view.operation in _STEPS and all(map(tracer.is_known_here, _sizes_of(view))) for view in item.chain)

    def is_part_of_known(self, item: SymArray) -> bool:
        """Whether data decide the size of a view alone, and not that of the whole."""
        whole = SymArray(self._tracer, item.storage)
        return bool(item.chain) and not self.is_of_data(whole) and self.can_be_seen(item)

    def settle(self, leaves: Sequence[Leaf]) -> str:
        """Which leaves are views of others, and what is held. Why there is no way, where there is none."""
        refusal = ""
        groups: dict[int, list[Leaf]] = {}
        for leaf in leaves:
            if leaf.item is not None and leaf.kind != "view":
                groups.setdefault(id(_whole(leaf.item)), []).append(leaf)
        wholes = []
        for group in groups.values():
            items = list({id(leaf.origin): leaf.item for leaf in group if leaf.item is not None}.values())
            wholes.append(_whole(items[0]))
            if self._need_their_whole(group, items):
                if any(item.may_be_a_copy() for item in items):
                    self._tracer.need_layout(None)
                # Of two that show the same in the same way it is not known whether they are one object.
                is_twofold = len(set(map(_places, items))) < len(items)
                if is_twofold or not all(map(self.can_be_seen, items)):
                    refusal = _refusal_of(group)
                else:
                    self._make_views(group)
            for leaf in group:
                self._hold(leaf, group)
        return refusal or _refusal_of_parts(wholes)

    def _need_their_whole(self, group: Sequence[Leaf], items: Sequence[SymArray]) -> bool:
        """Whether elements are shared, data decide which ones of an array are returned, or nobody may write them."""
        if any(leaf.why is None and leaf.item is not None and self.is_of_data(leaf.item) for leaf in group):
            return True
        if any(_is_read_only(leaf.origin) or _is_stale(leaf.origin) for leaf in group):
            return True
        return not all(are_disjoint(self._tracer, *pair) for pair in itertools.combinations(items, 2))

    def _make_views(self, group: Sequence[Leaf]) -> None:
        for leaf in group:
            if leaf.item is not None and (leaf.item.chain or _is_number(leaf.item)):
                leaf.kind, leaf.why = "view", None

    def _hold(self, leaf: Leaf, group: Sequence[Leaf]) -> None:
        if leaf.why is None or leaf.item is None:
            return
        with self._tracer.no_kernel(leaf.why):
            value = held_copy(self._tracer, leaf.origin if isinstance(leaf.origin, SymArray) else leaf.item)
        for one in group:
            if one.origin is leaf.origin:
                one.value, one.why = value, None

    def _owner(self, leaf: Leaf, item: SymArray) -> Leaf:
        """What the plan gives behind all else, for a view."""
        tracer = self._tracer
        if leaf.argument:
            return Leaf("argument", leaf.value, leaf.argument)
        whole = SymArray(tracer, item.storage)
        if not self.is_of_data(whole):
            return Leaf("array", own_value(tracer, item.storage.value), "", whole)
        owner = Leaf("held", item.storage.value, "", whole, whole, self.why_held())
        self._hold(owner, [owner])
        return owner

    def behind(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        """What the plan gives behind the results, for views, which are told how they are made."""
        tracer = self._tracer
        views = [(leaf, leaf.item) for leaf in leaves if leaf.kind == "view" and leaf.item is not None]
        given = [leaf for leaf in leaves if leaf.kind != "view"]
        before = len(given)
        owners: dict[Hashable, int] = {}  # of a memory: which one of what is given
        for position, leaf in enumerate(given):
            if leaf.kind == "argument" or (leaf.item is not None and not leaf.item.chain):
                owners.setdefault(_memory_of(leaf), position)
        for leaf, item in views:
            if _memory_of(leaf) not in owners:
                owners[_memory_of(leaf)] = len(given)
                owner = self._owner(leaf, item)
                if owner.kind == "array" and any(one.value is owner.value for one in given):
                    owner.value = copied(tracer, owner.value)
                given.append(owner)
        numbers: dict[Size, int] = {}

        def number(size: Size) -> str:
            if size.is_constant:
                return str(size.constant_part)
            if size not in numbers:
                numbers[size] = len(given)
                given.append(Leaf("int", SymInt(tracer, size).as_value(), ""))
            return f"made[{numbers[size]}]"

        known: dict[tuple[int, ...], int] = {}
        for leaf, item in views:
            places = (id(_whole(item)), *_places(item))
            made = [f"numpy.array({OF})"] if _is_number(item) else []  # that all of its views are of
            texts = [*made, *_steps_of(tracer, item, number)]
            numbered = [known.setdefault(places[:k], len(known)) for k in range(2 - len(made), len(places) + 1)]
            steps = tuple(zip(numbered, texts, strict=True))
            leaf.view = ViewSteps(owners[_memory_of(leaf)], steps)
        return given[before:]


def _whole(item: SymArray) -> Storage:
    """The memory: of what a mask picks out that of the array which stands for it."""
    return item.storage.elements_of[0] if item.storage.elements_of else item.storage


def _is_number(item: SymArray) -> bool:
    """Whether its memory is an array of no dimensions, of which a plan gives the number."""
    return not _whole(item).value.shape


def _memory_of(leaf: Leaf) -> Hashable:
    return leaf.argument or (id(_whole(leaf.item)) if leaf.item is not None else None)


def own_value(tracer: Tracer, value: Value) -> Value:
    """The value of an array of its own: a copy where that is an argument, or a part of one."""
    root = unchanged(value, {})
    while root.operation in VIEWS or (root.operation == "cast" and root.dtype == root.operands[0].dtype):
        root = unchanged(root.operands[0], {})
    return copied(tracer, value) if root.is_argument else value


def _refusal_of(group: Sequence[Leaf]) -> str:
    origin = next((leaf.origin for leaf in group if _is_read_only(leaf.origin)), None)
    if origin is None:
        return "it returns several views of one array"
    of = f"{origin.storage.part_of} of an array" if origin.storage.part_of else "of np.broadcast_to"
    return f"it returns a read-only view, {of}"


def _refusal_of_parts(wholes: Sequence[Storage]) -> str:
    """Of the real part of what a mask picks out beside another view of that: two arrays here."""
    parts = [(id(whole.shown.array.storage), whole.shown.step) for whole in wholes if whole.shown is not None]
    is_shared = len(set(parts)) < len(parts) or any(id(whole) == of for whole in wholes for of, _ in parts)
    return "it returns several views of one array" if is_shared else ""


def _is_stale(item: Any) -> bool:
    return isinstance(item, SymArray) and item.is_stale()


def _is_read_only(item: Any) -> bool:
    """As what np.broadcast_to and np.diagonal give."""
    return isinstance(item, SymArray) and item.storage.argument is None and item.is_read_only() is not False


def _sizes_of(view: View) -> Iterator[Size]:
    yield from (*view.shape, *view.attributes.get("sizes", ()))
    for item in view.attributes.get("index", ()):
        if not isinstance(item, NewAxis):
            yield item.start if isinstance(item, Slice) else item


def _places(item: SymArray) -> tuple[int, ...]:
    return tuple(map(id, item.chain))


def _steps_of(tracer: Tracer, item: SymArray, number: _Number) -> Iterator[str]:
    """A step for each view, with OF in the place of the array. number: Python's text for a size."""
    before: Sequence[Size] = item.storage.value.shape
    for view in item.chain:
        sizes, before = tuple(map(tracer.resolve, before)), view.shape
        yield _STEPS[view.operation](tracer, view, sizes, number)


def _transpose(tracer: Tracer, view: View, before: Sequence[Size], number: _Number) -> str:
    return f"{OF}.transpose({tuple(view.attributes['axes'])})"


def _reshape(tracer: Tracer, view: View, before: Sequence[Size], number: _Number) -> str:
    shape = tuple(map(tracer.resolve, view.shape))
    if view.uncertain and shape == before:
        return f"numpy.ascontiguousarray({OF})"
    return f"{OF}.reshape({_shape(tracer, view, number)})"


def _index(tracer: Tracer, view: View, before: Sequence[Size], number: _Number) -> str:
    extents, counts = iter(before), iter(view.shape)
    items, reversed_axes = [], []
    for item in view.attributes["index"]:
        if isinstance(item, NewAxis):
            next(counts)
            items.append("None")
            reversed_axes.append(":")
        elif isinstance(item, Slice):
            extent, count = next(extents), tracer.resolve(next(counts))
            text, is_reversed = _slice(tracer.resolve(item.start), item.step, count, extent, number)
            items.append(text)
            reversed_axes.append("::-1" if is_reversed else ":")
        else:
            items.append(_place(tracer.resolve(item), next(extents), number))
    text = f"{OF}[{', '.join(items if view.shape else [*items, '...'])}]"
    return text + f"[{', '.join(reversed_axes)}]" if "::-1" in reversed_axes else text


def _broadcast_to(tracer: Tracer, view: View, before: Sequence[Size], number: _Number) -> str:
    return f"numpy.broadcast_to({OF}, {_shape(tracer, view, number)})"


def _shown(tracer: Tracer, view: View, before: Sequence[Size], number: _Number) -> str:
    step: str = view.attributes["step"]
    for k, size in enumerate(view.attributes["sizes"]):
        step = step.replace(f"{{{k}}}", number(tracer.resolve(size)))
    return step


_STEPS = {
    "index": _index,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "shown": _shown,
}


def _shape(tracer: Tracer, view: View, number: _Number) -> str:
    return f"({''.join(f'{number(tracer.resolve(size))}, ' for size in view.shape)})"


def _place(place: Size, extent: Size, number: _Number) -> str:
    """A position that is not negative, counted from the end where that is a number."""
    from_end = place - extent
    return str(from_end) if from_end.is_constant and from_end.constant_part < 0 else number(place)


def _slice(start: Size, step: int, count: Size, extent: Size, number: _Number) -> tuple[str, bool]:
    """A slice, and whether what it gives is to be reversed: before the first element Python counts from the end."""
    if step < 0 and start == extent - 1 and count == _steps_in(extent, -step):
        return f"::{step}", False
    if step < 0:
        return _slice(start + (count - 1) * step, -step, count, extent, number)[0], True
    begin = "" if start == Size.constant(0) else _place(start, extent, number)
    end = start + count * step
    is_to_end = end == extent or count == _steps_in(extent - start, step)
    return f"{begin}:{'' if is_to_end else _place(end, extent, number)}{'' if step == 1 else f':{step}'}", False


def _steps_in(length: Size, step: int) -> Size:
    return (length + (step - 1)).floor_divide(step)
