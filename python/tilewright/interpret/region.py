"""What loops and branches on data have in common: values that go in and come out, memory that is written in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import TraceError
from ..kinds_of_values import LARGEST_INT
from ..operations import VIEWS
from ..ops import call_numpy
from ..outside_values import bytes_of
from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, COMPLEX128, FLOAT64, INT64, Value, may_be_handed_in
from ..symbolic.located import LEAVE_IT_OUT, pushed
from ..symbolic.number import described
from ..symbolic.run_numbers import RunBool, RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.storage import Storage
from .carried import MISSING, Carried, Form, Memory, containers_of, find_sources, memory_of
from .carried_attributes import LoopAttributes
from .frame import Control, Frame, Pending
from .plain_arrays import WrittenWithTraced, place_of
from .state import Part

RAISES = "it raises or warns for these data"


class Raises(TraceError):
    """A way of the branch `node` raises, that of the condition being `holds`; None in a branch or loop around it."""

    node: Any = None
    holds: bool | None = None


class Region(Part):
    """A part of the interpreter that makes regions of the program."""

    @contextmanager
    def keeping_containers(self, node: ast.AST, attributes: LoopAttributes | None = None) -> Iterator[dict[int, Any]]:
        """A region: what it changes of Python's and NumPy's own containers from outside, it would change once. `attributes`
        of objects: those that a loop carries; a branch chooses all that its ways set."""
        held = containers_of(self.frame, self.tracer)
        arrays = [(item, bytes_of(item)) for item in held.values() if isinstance(item, np.ndarray)]
        with pushed(self.state.containers, held), pushed(self.state.attributes, attributes):
            yield held
        changed = [array for array, before in arrays if bytes_of(array) != before]
        if changed:
            self.at(node)
            refusal = self.tracer.error_of(
                WrittenWithTraced,
                "loops: changing an array of plain values in a run-time loop or branch; it was made by a call that is not "
                "traced, and a run-time loop is traced as one iteration.",
                "Make it with np.zeros or np.array inside of the function.",
            )
            refusal.place = place_of(self.tracer, changed)
            raise refusal

    @contextmanager
    def _maybe_run(self, node: ast.AST, what: str) -> Iterator[None]:
        """What a statement raises that the run may never come to is nobody's error yet: NumPy runs the call."""
        try:
            yield
        except (TraceError, Control):
            raise
        except Exception as error:
            self.at(node)
            what = f"loops: {what} raises {type(error).__name__} ({error})"[:300]
            refusal = self.tracer.error_of(Raises, f"{what}; whether it is raised depends on the data.", LEAVE_IT_OUT)
            refusal.node = node
            raise refusal from error

    def leave_to_numpy(self, node: ast.AST, condition: Any, holds: bool, why: str = RAISES) -> None:
        """NumPy runs the calls in which the truth of a condition on data is `holds`."""
        tracer = self.tracer
        truth = self._truth_value(node, condition)
        if holds:
            truth = tracer.add("logical_not", (truth,), {}, BOOL, ())
        tracer.check(truth, why)
        if isinstance(condition, RunBool):
            tracer.facts += condition.facts(not holds)

    def _is_fixed(self, form: Form) -> bool:
        """Whether its shape is the same in all iterations."""
        return self.tracer.loops.keys().isdisjoint(symbol for size in form.shape for symbol in size.symbols())

    def _restore(self, frame: Frame, before: dict[str, Any], memories: list[Memory]) -> None:
        """The state before a region."""
        for name, value in before.items():
            if value is MISSING:
                frame.variables.pop(name, None)
            else:
                frame.variables[name] = value
        for memory in memories:
            if memory.changed() or memory.storage.value is not memory.value:
                memory.set(memory.value)
        self.inputs.restore_captured()

    def _hand_out(self, loop: Value, carried: list[Carried], runs: bool = False) -> None:
        """What comes out of a loop or a branch, to the variables and the memory that hold it; `runs`: a loop has an iteration."""
        loop.attributes["results"] = results = []
        made: list[tuple[SymArray, Carried]] = []
        numbers: dict[int, Any] = {}  # by the identity of what carries them
        for position, one in enumerate(carried):
            if one.parameter is not None:
                one.parameter.attributes.update(of=loop, position=position)
            result = self.tracer.add(
                "result", (), {"of": loop, "position": position}, one.form.dtype, one.form.shape, call_name=one.called
            )
            result.user_name = one.called
            results.append(result)
            if one.memory_of is not None:
                array, storage = one.memory_of
                array.may_be.append((storage, result))
            elif one.kind_of is not None:
                number = numbers.get(id(one.kind_of))
                if number is not None and number.kinds:
                    number.which = result
            elif one.storage is not None:
                one.storage.value = result
                one.storage.version += 1
            else:
                assert one.frame is not None
                new = one.form.object_of(self.tracer, result)
                if runs and one.last is not None and one.last.kind == one.form.kind:
                    new.kinds = one.last.kinds
                numbers[id(one)] = new
                variables = one.frame.variables
                held = variables.get(one.name)
                if one.path and isinstance(held, Pending):
                    held = held.read()
                variables[one.name] = one.replaced(held, new)
                for storage in one.written:  # which nobody sees; a loop around is to know of the writes
                    storage.value = result
                    storage.version += 1
                if one.form.kind == "array":
                    one.made = new
                    ways = [way.storage for way in one.ways if isinstance(way, SymArray)]
                    may_stay = any(storage.may_stay for storage in ways)
                    if loop.operation != "if" and one.final is not None:
                        may_stay = may_be_handed_in(one.final)
                    new.storage.may_stay = may_stay
                    made.append((new, one))
        if loop.operation != "if":
            find_sources(carried)
        self._mark_chosen(made)
        if loop.operation != "if":
            self._note_what_stays(made, carried)

    def _note_what_stays(self, made: list[tuple[SymArray, Carried]], carried: list[Carried]) -> None:
        """Whose memory from before a loop an array may be behind it: memory that holds the same then. Where an iteration leaves
        views, or the first one gets them, nobody knows what those show of it."""
        leaves_views = any(one.final is not None and one.final.operation in VIEWS for one in carried)
        begins = [(whole, one.initial) for _, one in made if (whole := _shown_by(one.initial)) is not None]
        leaves_views |= any(whole is not initial for whole, initial in begins)
        staying = [array.storage for array, _ in made if array.storage.may_stay]
        if len({whole.number for whole, _ in begins}) < len(begins):  # of one array, which several of them may still be
            for storage in staying:
                storage.kept_from += tuple(other for other in staying if other is not storage)
        last: dict[int, Storage] = {}  # by what is shown of it at the end of an iteration
        for array, one in made:
            storage = array.storage
            whole = None if one.final is None else _shown_by(one.final)
            if whole is not None and last.setdefault(whole.number, storage) is not storage:
                storage.kept_from += (last[whole.number],)
            if not storage.may_stay or not storage.chosen_from:
                continue
            for source, _ in storage.chosen_from:
                if leaves_views:
                    storage.kept_from += (source,)
                elif tuple(map(self.tracer.resolve, source.value.shape)) == one.form.shape:
                    storage.may_be += ((source, self._are_the_same(storage.value, source.value)),)

    def _are_the_same(self, one: Value, other: Value) -> Value:
        """Whether two arrays hold the same numbers, which one array does at least."""
        first, second = (SymArray.fresh(self.tracer, value, is_scalar=False) for value in (one, other))
        truth = call_numpy(self.tracer, np.array_equal, (first, second), {"equal_nan": one.dtype.kind in "fc"})
        return truth.value if isinstance(truth, RunBool) else self.tracer.constant(bool(truth), BOOL)

    def _note_memory(self, truth: Value, chosen: list[Carried]) -> None:
        """Whose memory an array is behind a branch, by its condition."""
        if not chosen:
            return
        otherwise = self.tracer.add("logical_not", (truth,), {}, BOOL, ())
        for one in chosen:
            each = zip(one.ways, (truth, otherwise), strict=True)
            own = [(held.storage, holds) for held, holds in each if isinstance(held, SymArray)]
            one.made.storage.may_be = (*own, *one.may_be)

    def _seen_besides(self, name: str) -> set[int]:
        """The memory that is seen without that variable, by identity."""
        held = self.frame.variables.pop(name, MISSING)
        try:
            found: set[int] = set()
            frame: Frame | None = self.frame
            while frame is not None:
                found |= {id(memory.storage) for memory in memory_of(frame, self.tracer)}
                frame = frame.caller
            return found
        finally:
            if held is not MISSING:
                self.frame.variables[name] = held

    def _mark_chosen(self, made: list[tuple[SymArray, Carried]]) -> None:
        """Arrays that came out of a loop or a branch as values, and that others may see or write into."""
        seen: dict[int, Storage] = dict(self.tracer.in_lists)
        frame: Frame | None = self.frame
        while frame is not None:
            seen |= {id(memory.storage): memory.storage for memory in memory_of(frame, self.tracer)}
            frame = frame.caller
        for array, one in made:
            visible = [storage for storage in one.sources if id(storage) in seen or storage.argument is not None]
            shared = any(
                storage in others.sources for storage in one.sources for other, others in made if other is not array
            )
            kept = [storage for storage in one.ends_as if storage in visible]
            kept += [storage for way in one.ways if isinstance(way, SymArray) for storage in way.storage.kept_from]
            array.storage.kept_from = tuple(kept)
            chosen = [pair for storage in visible for pair in (storage.chosen_from or ())]
            if visible or shared:
                array.storage.chosen_from = (*((storage, storage.value) for storage in visible), *chosen)

    def held(self, name: str) -> Any:
        value = self.frame.variables[name]
        return value.read() if isinstance(value, Pending) else value

    def negated(self, node: ast.AST, condition: Any) -> RunBool:
        value = self._truth_value(node, condition)
        return RunBool(self.tracer, self.tracer.add("logical_not", (value,), {}, BOOL, ()))

    def _truth_value(self, node: ast.AST, condition: Any) -> Value:
        tracer = self.tracer
        if isinstance(condition, SymInt):
            condition = condition != 0
        if isinstance(condition, SymArray) and not condition.sizes:
            value = condition.read()
            return self.tracer.cast(value, BOOL)
        if isinstance(condition, RunScalar):
            return self.tracer.cast(condition.value, BOOL)
        if isinstance(condition, (bool, np.bool_)):
            return tracer.constant(condition, BOOL)
        raise self.error(
            node,
            f"loops: the truth of {described(condition)}"[:200],
            "it has several elements",
            "Use np.any or np.all.",
        )

    def _zeros(self, form: Form) -> Value:
        return self.tracer.zeros(form.dtype, form.shape)

    def _value_of(self, held: Any) -> tuple[Value, Form] | None:
        """A Python object as a value of the program and its form; None for what is no array and no number."""
        tracer = self.tracer
        if isinstance(held, SymArray):
            value = held.read()
            shape = tuple(tracer.resolve(size) for size in held.sizes)
            kind = "scalar" if held.is_scalar else "array"
            c_order, read_only = (
                held.is_scalar or held.is_c_contiguous(),
                not held.is_scalar and held.is_made_read_only(),
            )
            return value, Form(kind, held.dtype, shape, held.kinds, c_order, read_only)
        if isinstance(held, SymInt):
            return held.of_the_run(), Form("int", INT64)
        if isinstance(held, SymScalar):
            return held.value, Form(type(held.hint).__name__, held.value.dtype, (), held.kinds)
        if isinstance(held, (bool, np.bool_)) or (isinstance(held, int) and abs(held) <= LARGEST_INT):
            kind = "scalar" if isinstance(held, np.generic) else type(held).__name__
            dtype = BOOL if isinstance(held, (bool, np.bool_)) else INT64
            return tracer.constant(held, dtype), Form(kind, dtype)
        if isinstance(held, np.generic) and held.dtype.kind in "iuf":
            return tracer.constant(held, held.dtype), Form("scalar", held.dtype)
        if isinstance(held, float):
            return tracer.constant(held, FLOAT64), Form("float", FLOAT64)
        if type(held) is complex:
            return tracer.constant(held, COMPLEX128), Form("complex", COMPLEX128)
        return None


def _shown_by(value: Value) -> Value | None:
    """The array that a value shows, which may be itself; None where that is a number."""
    while value.operation in VIEWS:
        value = value.operands[0]
    return value if value.shape else None
