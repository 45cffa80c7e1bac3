"""What a loop carries: its body runs until that is found.

What an iteration changes is carried: variables that it reads before it assigns them, and arrays from outside that it writes.
Which those are shows while it runs, so it runs again until nothing new appears and each carried value ends an iteration with
the dtype and the shape that it began with.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import TraceError
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import INT64, Block, unchanged
from ..symbolic.number import which_of
from .array_lists import ArrayList
from .behind_loops import BehindLoops
from .carried import (
    MISSING,
    Carried,
    CarryNeeded,
    Form,
    Memory,
    form_text,
    is_set,
    memory_in,
    memory_of,
    read_if_set,
    seeing,
    storages_of,
    unify_sizes,
)
from .carried_attributes import MOST_CARRIED, AttributeNeeded, LoopAttributes, is_named
from .early_return import has_break
from .frame import Frame, Pending, ReadBehind
from .moving_arrays import Moves, steps_between
from .source import DEFINITIONS, inside
from .staged_cells import ChangesShape

# Each run finds at least one more carried value or one wider dtype.
MAX_RUNS = 40


class Settling(BehindLoops):
    """The runs of a loop's body."""

    def _settled(
        self, node: ast.For | ast.While, own: list[str], iteration: Callable[[], bool], attributes: LoopAttributes
    ) -> tuple[list[Carried], Block, dict[str, Any]]:
        """Runs a loop's body until it carries what it has to: (carried, its block, other variables after an iteration).

        `own`: variables of the loop itself, whether a break ended it first. `attributes`: those that the loop carries, which
        are found here."""
        tracer, frame = self.tracer, self.frame
        names = sorted(_assigned([node]) & frame.locals) + [name for name in own if name]
        if cells := self.state.cells.get(self.place(node)):
            names = [name for name in names if name not in cells]
            plain = iteration

            def iteration() -> bool:
                for name, cell in cells.items():
                    frame.variables[name] = cell.take()
                again = plain()
                shares = [cell.put(frame.variables[name], self._seen_besides(name)) for name, cell in cells.items()]
                return again or any(shares)

        before = {name: frame.variables.get(name, MISSING) for name in names}
        memories = list(memory_of(frame, tracer))
        # Memory is carried, and what no iteration writes is left out of the text; variables are when an iteration reads them.
        forms: dict[str, Form] = {}
        unset: dict[str, Form] = {}
        # Arrays that an iteration assigns to their own name again stay what they are.
        same: dict[str, SymArray | Compressed | None] = {}
        # Of names that hold tuples: how these are nested.
        tuples: dict[str, Any] = {}
        written: set[str] = set()
        for _ in range(MAX_RUNS + MOST_CARRIED):
            block, made, values = Block(), tracer.made, tracer.values_left
            needed_attribute: AttributeNeeded | None = None
            checks, symbols = dict(tracer.checks), set(tracer.loops)
            carried = [self._carried_memory(m) for m in memories]
            try:
                with tracer.writing(block):
                    self._enter(node, before, carried, memories, forms, unset, same, tuples, written)
                    attributes.put_in(frame.variables)
                    again = iteration()
                    attributes.take_out(frame.variables)
                    self._refuse_other_tuples(node, tuples)
                    wider = again or self._rebound(same) or self._close(node, carried, forms, before, written)
                    after = {n: frame.variables.get(n, MISSING) for n in names}
                    handed = {c.name for c in carried if c.frame is frame}
                    after = {
                        n: v
                        for n, v in after.items()
                        if n not in handed
                        and same.get(n) is None
                        and not (isinstance(v, Pending) and v.of_last_iteration)
                    }
                    changed = {
                        id(one.storage)
                        for one in carried
                        if one.storage is not None
                        and one.parameter is not None
                        and one.parameter.number in tracer.taken_for_unchanged
                        and one.final is not None
                        and unchanged(one.final, {}) is not one.parameter
                    }
                    if changed:
                        tracer.known_to_change |= changed
                        tracer.checks = checks
                        wider = True
                    if not wider:
                        left = self._let_out(carried, memories, before, after)
                        block.yields += [one.final for one in carried if one.final is not None]
            except CarryNeeded as needed:
                unset[needed.name] = needed.form
                wider = True
            except AttributeNeeded as attribute:
                if attributes.carries(attribute.owner, attribute.name):
                    raise  # by a loop around
                needed_attribute = attribute
                wider = True
            except TraceError:
                if isinstance(node, ast.For) and not has_break(node):
                    self._find_moving(node, before)
                raise
            finally:
                self._restore(frame, before, memories)
                attributes.drop()
            if needed_attribute is not None:
                variable, held = attributes.add(needed_attribute)
                names.append(variable)
                before[variable] = held
            if wider:
                tracer.forget(tracer.loops.keys() - symbols)
                tracer.dropped += tracer.values_left - values
                tracer.undone.append(range(made, tracer.made))  # also what it has put before the loop
            if not wider:
                return carried, block, {**left, **{n: MISSING for n in unset if n in handed}}
        raise self.error(
            node, "loops: a loop whose values keep changing their kind",
            f"they did not settle in {MAX_RUNS} runs of its body", "Leave the loop out of the compiled function.",
        )  # fmt: skip

    def _enter(  # noqa: PLR0917
        self, node: ast.stmt, before: dict[str, Any], carried: list[Carried], memories: list[Memory],
        forms: dict[str, Form], unset: dict[str, Form], same: dict[str, SymArray | Compressed | None],
        tuples: dict[str, Any], written: set[str],
    ) -> None:  # fmt: skip
        """The state in which an iteration begins. `written`: variables whose arrays it writes into, which are there for what
        is around the writes."""
        tracer, frame = self.tracer, self.frame
        outer, block = tracer.blocks[-2:]

        def of_last_iteration(name: str) -> Pending:
            made: list[Any] = []

            def read() -> Any:
                if not made and name not in same:
                    held = before[name]
                    if isinstance(held, Pending):
                        held = held.read() if name not in unset or is_set(held) else None
                    keeps = isinstance(held, Compressed) or (isinstance(held, SymArray) and not held.is_scalar)
                    same[name] = held if keeps else None
                if same.get(name) is not None:
                    return same[name]
                if not made:
                    made.append(carry(before[name], ()))
                    if type(made[0]) is tuple:
                        tuples[name] = _nesting(made[0])
                return made[0]

            def carry(held: Any, path: tuple[int, ...]) -> Any:
                held = read_if_set(held)
                if type(held) is tuple:
                    return tuple(carry(part, (*path, k)) for k, part in enumerate(held))
                key = name + "".join(f"[{k}]" for k in path)
                with tracer.writing(outer), seeing(memories, {}):
                    one = self._carried_name(node, name, held, forms.get(key), unset.get(name), frame)
                one.path = path
                one.sources = storages_of(held)
                with tracer.writing(block):
                    one.parameter = self._parameter(one)
                one.held = one.form.object_of(tracer, one.parameter)
                carried.append(one)
                if one.form.kinds and f" kind of {key}" not in forms:
                    with tracer.writing(outer), seeing(memories, {}):
                        is_new = name in unset and not is_set(held)  # nobody reads which it is
                        code = tracer.constant(0) if is_new else which_of(tracer, held, one.form.dtype)
                    if code is not None:
                        kind = Carried(code, Form("int", INT64), frame, name, path=path, kind_of=one)
                        with tracer.writing(block):
                            kind.parameter = self._parameter(kind)
                        one.held.which = kind.parameter
                        carried.append(kind)
                return one.held

            was_set = is_set(before[name]) or name in unset
            return Pending(read, of_last_iteration=True, was_set=was_set, leads_to=lambda: [before[name], *made])

        for name in before:
            frame.variables[name] = of_last_iteration(name)
        for one, memory in zip(carried, memories, strict=True):
            one.parameter = self._parameter(one)
            memory.set(one.parameter)
        for name in written:
            frame.variables[name].read()
        for name in before:
            if (self.place(node), name) in tracer.read_behind:
                with suppress(TraceError):  # it has no value then; who reads it behind the loop hears why
                    frame.variables[name].read()

    def _refuse_other_tuples(self, node: ast.stmt, tuples: dict[str, Any]) -> None:
        """What a tuple holds is carried part by part: it ends an iteration with the parts that it began with."""
        for name, nesting in tuples.items():
            held = self.frame.variables.get(name)
            if not isinstance(held, Pending) and _nesting(held) != nesting:
                raise self.error(
                    node, f"loops: {name}, a tuple that an iteration reads and makes of another length",
                    "a tuple keeps its length from iteration to iteration", "Write into an array that is made before the loop.",
                )  # fmt: skip

    def _rebound(self, same: dict[str, SymArray | Compressed | None]) -> bool:
        """Whether a name that was taken to keep its array has another one at the end of an iteration."""
        rebound = False
        for name, array in same.items():
            held = self.frame.variables.get(name)
            if array is None or (isinstance(held, Pending) and held.of_last_iteration):
                continue
            held = held.read() if isinstance(held, Pending) else held
            if held is array:
                continue
            if not isinstance(held, SymArray) or not isinstance(array, SymArray) or not held.is_seen_as(array):
                same[name] = None
                rebound = True
        return rebound

    def _close(  # noqa: PLR0917
        self, node: ast.stmt, carried: list[Carried], forms: dict[str, Form], before: dict[str, Any], written: set[str],
    ) -> bool:  # fmt: skip
        """What an iteration leaves in what is carried; whether something needs a wider form, and the body another run."""
        wider = False
        for one in carried:
            if one.storage is not None:
                one.final = one.storage.value
                continue
            assert one.frame is not None
            held = one.frame.variables.get(one.name)
            if isinstance(held, Pending):
                if held.needs is not None:
                    raise ReadBehind(held.needs)
                held = held.read() if held.of_last_iteration else held
            held = one.present(held)
            if one.kind_of is not None:
                code = which_of(self.tracer, held, one.kind_of.form.dtype)
                if code is None:
                    # It is not carried: in another run of the body nobody asks for it.
                    forms[f" kind of {one.text}"] = one.form
                    wider, code = True, one.parameter
                one.final = code
                continue
            if isinstance(one.held, SymArray) and unchanged(one.held.storage.value, {}) is not one.parameter:
                if one.name not in written:
                    written.add(one.name)
                    wider = True
                self._written_and_rebound(node, one, carried, before)
            found = self._value_of(held)
            if found is None:
                self.at(node)
                refusal = self.tracer.error_of(
                    ChangesShape,
                    f"loops: {one.text}, which an iteration hands to the next; it is neither an array nor a number.",
                    "Leave the loop out of the compiled function.",
                )
                if isinstance(held, Compressed) and not one.path and is_named(one.name):
                    refusal.cell = ("loop", self.place(node), one.name)
                raise refusal
            value, form = found
            unify_sizes(self.tracer, one.form, form)
            joined = one.form.joined(form)
            if joined is None:
                self.at(node)
                refusal = self.tracer.error_of(
                    ChangesShape,
                    f"loops: {one.text}, which an iteration begins as {form_text(one.form)} and ends as "
                    f"{form_text(form)}; an array or a number keeps its dtype and its shape from iteration to iteration.",
                    "Give it its final dtype and shape before the loop.",
                )
                is_cell = is_named(one.name) and not one.path
                if one.form.dtype == form.dtype and len(one.form.shape) == len(form.shape) > 0 and is_cell:
                    refusal.cell = ("loop", self.place(node), one.name)
                raise refusal
            if joined != one.form:
                forms[one.text] = joined
                wider = True
            one.final = self.tracer.cast(value, joined.dtype)
            one.last = form
            one.ends_as = memory_in(held)
            one.sources += [storage for storage in one.ends_as if storage not in one.sources]
        self._refuse_shared_writes(node, carried)
        return wider

    def _find_moving(self, node: ast.stmt, before: dict[str, Any]) -> None:
        """Where an iteration was refused: arrays whose size it has changed may be why."""
        found = {}
        for name, held in before.items():
            where = (self.place(node), name)
            ends = self.frame.variables.get(name)
            if where in self.tracer.moving or not isinstance(ends, SymArray) or not is_named(name):
                continue
            with suppress(TraceError):
                begins = read_if_set(held)
                if steps := steps_between(self.tracer, begins, ends):
                    found[where] = steps
        if found:
            raise Moves(found)

    def _carried_name(  # noqa: PLR0917
        self, node: ast.stmt, name: str, held: Any, wider: Form | None, unset: Form | None, frame: Frame
    ) -> Carried:  # fmt: skip
        """`frame`: whose variable it is; a function inside of it may be the first to read it."""
        if unset is not None and wider is not None:
            unset = wider
        if unset is not None and not is_set(held):
            return Carried(self._zeros(unset), unset, frame, name)
        found = None if held is MISSING else self._value_of(held.read() if isinstance(held, Pending) else held)
        if unset is not None and (found is None or found[1].joined(unset) is None):
            # Only iterations set it, the first one for certain.
            return Carried(self._zeros(unset), unset, frame, name)
        if isinstance(held, ArrayList):
            held.give_up()  # it is not carried
        if found is None:
            kind = "selection by a mask" if isinstance(held, Compressed) else type(held).__name__
            why = f"a {kind} is not carried from iteration to iteration"
            self.at(node)
            refusal = self.tracer.error_of(
                ChangesShape,
                f"loops: {name}, which an iteration reads and changes; "
                f"{'it may be read before it is set' if held is MISSING else why}.",
                "Carry arrays and numbers, set before the loop, or leave the loop out of the compiled function.",
            )
            if isinstance(held, Compressed) and is_named(name):
                refusal.cell = ("loop", self.place(node), name)
            raise refusal
        value, form = found
        if wider is not None:
            value, form = self.tracer.cast(value, wider.dtype), wider
        return Carried(value, form, frame, name)

    def _carried_memory(self, memory: Memory) -> Carried:
        value = memory.value
        shape = tuple(self.tracer.resolve(size) for size in value.shape)
        return Carried(value, Form("array", value.dtype, shape), None, memory.name, memory.storage)


def _nesting(held: Any) -> Any:
    """Equal for tuples of the same lengths, inside too."""
    return tuple(map(_nesting, held)) if type(held) is tuple else None


def _assigned(statements: list[ast.stmt]) -> set[str]:
    """Names that statements bind, without those of functions and comprehensions inside."""
    names: set[str] = set()
    for item in inside(statements, *DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp):
        if isinstance(item, DEFINITIONS):
            names.add(item.name)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            names.add(item.id)
    return names
