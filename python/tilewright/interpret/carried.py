"""What regions of a program carry: variables from iteration to iteration and out of the ways of a branch, and memory that they write."""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from ..own_attributes import attributes_of
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import Value
from ..symbolic.number import Symbolic
from ..symbolic.run_numbers import RunBool, RunComplex, RunScalar
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from .frame import Control, Frame, InArray, InterpretedFunction, Pending, Traversed

MISSING = object()  # what a variable is that is not set
_OTHER_TIMES = itertools.count(1)


class CarryNeeded(Control):
    """An iteration that a break skips would set a variable of that form."""

    def __init__(self, name: str, form: Form) -> None:
        super().__init__(name)
        self.name = name
        self.form = form


class TestWrites(Control):
    """The condition of a while does what the iteration has to see: a check, an assignment."""


@dataclass
class Form:
    """What kind of Python object a value is: array, scalar (of NumPy), complex, float, int or bool."""

    kind: str
    dtype: np.dtype[Any]
    shape: tuple[Size, ...] = ()
    kinds: frozenset[str] = frozenset()  # more than one, where the data decide
    c_order: bool = True  # of an array: C-contiguous for certain
    read_only: bool | None = False  # of an array that the function makes; None where data decide

    def object_of(self, tracer: Tracer, value: Value) -> Any:
        if self.kind == "bool":
            made: Any = RunBool(tracer, value)
        elif self.kind == "complex":
            made = RunComplex(tracer, value)
        elif self.kind in ("int", "float"):
            made = RunScalar(tracer, value, {"int": int, "float": float}[self.kind])
        else:
            made = SymArray.fresh(tracer, value, is_scalar=self.kind == "scalar", c_order=self.c_order)
            made.storage.read_only = self.read_only
        made.kinds = self.kinds
        return made

    def is_like(self, other: Form) -> bool:
        """Whether they are the same but for where an array lies and whether it may be written."""
        return replace(self, c_order=other.c_order, read_only=other.read_only) == other

    def _of_kinds(self, other: Form) -> Form:
        kinds = (self.kinds or {self.kind}) | (other.kinds or {other.kind})
        return Form(self.kind, self.dtype, self.shape, frozenset(kinds) if len(kinds) > 1 else frozenset())

    def joined(self, other: Form) -> Form | None:
        """The form that holds both, None where there is none."""
        if self.shape != other.shape or "array" in (self.kind, other.kind):
            if (self.kind, self.dtype, self.shape) != (other.kind, other.dtype, other.shape):
                return None
            read_only = self.read_only if self.read_only is other.read_only else None
            return replace(self, c_order=self.c_order and other.c_order, read_only=read_only)
        if self.kind == other.kind:
            return self._of_kinds(other) if self.dtype == other.dtype else None
        if "scalar" in (self.kind, other.kind):
            scalar, number = (self, other) if self.kind == "scalar" else (other, self)
            # Of a complex number complex64 would keep a part alone.
            number_beside = (
                number.dtype if number.kind == "complex" else {"bool": False, "int": 0, "float": 0.0}[number.kind]
            )
            fits = np.result_type(scalar.dtype, number_beside) == scalar.dtype
            return scalar._of_kinds(number) if fits else None
        if not {self.kind, other.kind}.isdisjoint(("bool", "complex")):
            return None
        return self._of_kinds(other) if self.kind == "float" else other._of_kinds(self)


def unify_sizes(tracer: Tracer, first: Form, second: Form) -> None:
    """Sizes that an iteration needs to be equal, or has to leave as it found them, or that both ways of a branch leave, are one size
    from here on."""
    for one, other in zip(first.shape, second.shape, strict=False):
        left, right = tracer.resolve(one), tracer.resolve(other)
        fixed = tracer.loops.keys().isdisjoint((left - right).symbols())
        if fixed and len(first.shape) == len(second.shape) and tracer.value_of(left - right) == 0:
            # `v = a @ v` keeps the shape of v where a is square: a guard says so, as broadcasting would.
            tracer.decide("==", left, right)
    for form in (first, second):
        form.shape = tuple(tracer.resolve(size) for size in form.shape)


@dataclass
class Carried:
    """One value that goes from iteration to iteration, in a variable or in an array's memory."""

    initial: Value
    form: Form
    frame: Frame | None  # of the variable, None for memory
    name: str
    storage: Storage | None = None
    parameter: Value | None = field(default=None, repr=False)
    final: Value | None = field(default=None, repr=False)  # at the end of an iteration
    held: Any = field(default=None, repr=False)  # the variable's object at the start of an iteration
    last: Form | None = None  # what an iteration leaves
    path: tuple[int, ...] = ()  # where in the variable, which holds a tuple
    # Arrays that a variable may hold at the end, each under another name: memory that others may see.
    sources: list[Storage] = field(default_factory=list, repr=False)
    # Those of them that it holds at the end of an iteration.
    ends_as: list[Storage] = field(default_factory=list, repr=False)
    # Of a branch: what the variable holds at the end of each way, and behind both.
    ways: tuple[Any, ...] = field(default=(), repr=False)
    made: Any = field(default=None, repr=False)
    # Memory from before a loop that its first iteration alone writes into; nobody else sees it.
    written: list[Storage] = field(default_factory=list, repr=False)
    # Where the data decide the kind of the number that another one carries: this is that kind.
    kind_of: Carried | None = field(default=None, repr=False)
    # Of a branch, where the array that another one carries may be that memory: whether it is.
    memory_of: tuple[Carried, Storage] | None = field(default=None, repr=False)
    # Such memory of this one, and the truth of it behind both ways.
    may_be: list[tuple[Storage, Value]] = field(default_factory=list, repr=False)

    @property
    def called(self) -> str:
        return self.text or self.initial.user_name or self.initial.call_name

    @property
    def text(self) -> str:
        return self.name + "".join(f"[{k}]" for k in self.path)

    def present(self, held: Any) -> Any:
        """Its part of what the variable holds."""
        for k in self.path:
            if type(held) is not tuple or k >= len(held):
                return None
            held = held[k]
        return held

    def replaced(self, held: Any, new: Any, path: tuple[int, ...] | None = None) -> Any:
        """What the variable holds with its part replaced."""
        path = self.path if path is None else path
        if not path:
            return new
        inner = self.replaced(held[path[0]], new, path[1:])
        return (*held[: path[0]], inner, *held[path[0] + 1 :])


@dataclass
class Memory:
    """An array from outside of a region, as it was before; `name` of the variable that leads to it."""

    name: str
    storage: Storage
    value: Value
    version: int

    def changed(self) -> bool:
        return self.storage.version != self.version

    def set(self, value: Value) -> None:
        self.storage.value = value
        self.storage.version += 1
        self.version = self.storage.version


def form_text(form: Form) -> str:
    if form.kind in ("complex", "float", "int", "bool"):
        return f"a Python {form.kind}"
    return f"{form.dtype}[{', '.join(map(str, form.shape))}]"


def memory_of(frame: Frame | None, tracer: Tracer) -> Iterator[Memory]:
    """The memory of arrays that a function's variables lead to, that of the program's check, and the order of draws."""
    seen: set[int] = set()
    first = ("checked", tracer.checked), *(("draws", order) for order in tracer.orders)
    for name, item in reached(frame, tracer, *first):
        if isinstance(item, SymArray) and item.is_scalar and not item.chain:
            continue  # nothing writes into a number
        if isinstance(item, (SymArray, Compressed)):
            storage = (item.whole if isinstance(item, Compressed) else item).storage
            if id(storage) not in seen:
                seen.add(id(storage))
                yield Memory(name, storage, storage.value, storage.version)


def may_change(value: Any) -> bool:
    """Whether it is a container of Python's or NumPy's own: what may change has no hash."""
    return type(value).__hash__ is None and not isinstance(value, Symbolic)


def containers_of(frame: Frame | None, tracer: Tracer) -> dict[int, Any]:
    """Python's and NumPy's own containers, and objects that the function makes, that its variables lead to, by identity."""
    found: dict[int, Any] = {}
    for _, item in reached(frame, tracer):
        if may_change(item) or tracer.is_made(item):
            found[id(item)] = item
        if tracer.is_made(item) and hasattr(item, "__dict__"):
            found[id(vars(item))] = vars(item)
    return found


def reached(frame: Frame | None, tracer: Tracer, *first: tuple[str, Any]) -> Iterator[tuple[str, Any]]:
    """All that a function's variables lead to, also through objects that it makes, each with the name of the variable; of plain
    values in containers none, which lead nowhere. Variables of a frame come once, whichever functions read them."""
    frames: set[int] = set()
    pending = [*first, *_variables(frame, frames)]
    seen: set[int] = set()
    for name, item in pending:
        yield name, item
        if isinstance(item, Symbolic) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Pending):
            pending += ((name, part) for part in item.leads_to())
        elif isinstance(item, InArray):
            pending.append((name, item.array))
        elif isinstance(item, Traversed):
            pending += ((name, part) for part in item.of)
        elif isinstance(item, (list, tuple, set, frozenset, collections.deque)):
            pending += [(name, part) for part in item if type(part) not in _LEADS_NOWHERE]
        elif isinstance(item, dict):
            pending += [(name, part) for part in item.values() if type(part) not in _LEADS_NOWHERE]
        elif tracer.is_made(item):
            pending += ((name, part) for part in attributes_of(item).values())
        elif isinstance(item, inspect.BoundArguments):
            pending.append((name, item.arguments))
        elif isinstance(item, functools.partial):
            pending += ((name, part) for part in (item.func, *item.args, *item.keywords.values()))
        elif isinstance(item, (types.MethodType, types.BuiltinMethodType)):
            pending.append((name, item.__self__))
        elif isinstance(item, InterpretedFunction):
            parameters = inspect.signature(item.parameters).parameters.values()
            pending += (*_variables(item.frame, frames), *((one.name, one.default) for one in parameters))


_LEADS_NOWHERE = frozenset([int, float, bool, complex, str, bytes, type(None)])


def holds_traced(value: Any, tracer: Tracer) -> bool:
    return any(isinstance(item, Symbolic) for _, item in reached(None, tracer, ("", value)))


def _variables(frame: Frame | None, known: set[int]) -> Iterator[tuple[str, Any]]:
    """Of a frame and those around it, without those that are known, which these become."""
    while frame is not None and id(frame) not in known:
        known.add(id(frame))
        yield from frame.variables.items()
        frame = frame.parent


@contextmanager
def seeing(memories: list[Memory], values: Mapping[int, Value]) -> Iterator[None]:
    """Arrays from outside as they were before a region, or as `values` has them: what is read inside is of that time."""
    now = [(memory.storage, memory.storage.value, memory.storage.version) for memory in memories]
    for memory in memories:
        memory.storage.value = values.get(id(memory.storage), memory.value)
        memory.storage.version = -next(_OTHER_TIMES)  # no version that anything was read of before, or will be
    try:
        yield
    finally:
        for storage, value, version in now:
            storage.value, storage.version = value, version


def storages_of(held: Any) -> list[Storage]:
    """The memory of an array that a variable holds, and of those that it may be."""
    if isinstance(held, Pending) or not isinstance(held, SymArray) or held.is_scalar:
        return []
    return [held.storage, *(storage for storage, _ in held.storage.chosen_from or ())]


def memory_in(held: Any) -> list[Storage]:
    """All memory that the array which a variable holds may be."""
    found = storages_of(held)
    return [*found, *(storage for storage, _ in found[0].may_be)] if found else []


def find_sources(carried: list[Carried]) -> None:
    """Of what a loop carries, whose memory from before it is: what a variable takes over from another one may be all that the
    other one was."""
    held_by = {id(one.held.storage): one for one in carried if isinstance(one.held, SymArray)}
    for one in carried:
        pending = list(one.sources)
        for storage in pending:
            other = held_by.get(id(storage))
            if other is not None and other is not one:
                pending += [source for source in other.sources if source not in pending]
        one.sources = [storage for storage in pending if id(storage) not in held_by]


def is_set(held: Any) -> bool:
    """Whether a variable had a value before a loop for certain."""
    return held is not MISSING and not (isinstance(held, Pending) and held.of_last_iteration and not held.was_set)


def read_if_set(held: Any) -> Any:
    """What a variable holds, where it had a value before a loop for certain."""
    return held.read() if isinstance(held, Pending) and is_set(held) else held


def sizes_in(held: Any) -> set[str]:
    if isinstance(held, SymArray):
        return {symbol for size in held.sizes for symbol in size.symbols()}
    return held.size.symbols() if isinstance(held, SymInt) else set()
