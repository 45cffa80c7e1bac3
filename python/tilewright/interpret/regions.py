"""Control flow on values of the run: loops that stay loops, and branches on data (branches.py), as regions of the program.

A body is run on symbolic values. What it changes is carried: variables that an iteration reads before it assigns them, and
arrays from outside that it writes. Which those are shows while it runs, so it runs again until nothing new appears and
each carried value ends an iteration with the dtype and the shape that it began with.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from ..errors import TraceError
from ..ops.operands import is_symbolic
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import BOOL, INT64, Block, Slice, Value, goes_by, unchanged
from ..symbolic.scalars import RunBool, SymInt, which_of
from ..symbolic.sizes import Size
from ..symbolic.tracer import Undecided, WaitsForOthers, pushed
from .array_lists import ArrayList
from .branches import Branches
from .carried import (
    MISSING,
    Carried,
    CarryNeeded,
    Form,
    Memory,
    TestWrites,
    form_text,
    holds_traced,
    is_set,
    memory_in,
    memory_of,
    reached,
    read_if_set,
    seeing,
    sizes_in,
    storages_of,
)
from .carried_attributes import MOST_CARRIED, AttributeNeeded, BranchAttributes, LoopAttributes, is_named
from .early_return import VALUE, has_break, test_as_break
from .expressions import Expressions
from .frame import Leaving, Pending, ReadBehind
from .generators import Drawing
from .moving_arrays import Moves, MovingArray, steps_between
from .region import Raises, Region
from .sequences import SymRange
from .source import DEFINITIONS, inside
from .staged_cells import Cell, ChangesShape
from .state import State

# Each run finds at least one more carried value or one wider dtype.
MAX_RUNS = 40


class Regions(Region):
    """The part of the interpreter that makes loops."""

    def __init__(
        self, state: State, branches: Branches, expressions: Expressions, block: Callable[[Iterable[ast.stmt]], None]
    ) -> None:
        """`block` runs statements."""
        super().__init__(state)
        self.choose, self.run_until_left = branches.choose, branches.run_until_left
        self.assign = expressions.variables.assign
        self.expressions = expressions
        self.block = block

    def for_region(
        self, node: ast.For, first: Size, stop: Size, step: int, item: Callable[[Any], Any] | None = None
    ) -> None:
        """A `for` over a range, as one operation of the program; `item` is what the loop's variable is in an iteration."""
        tracer = self.tracer
        name = "i"
        if item is None and isinstance(node.target, ast.Name) and node.target.id.strip("_"):
            name = node.target.id
        length = stop - first if step > 0 else first - stop
        iterations = (length + (abs(step) - 1)).floor_divide(abs(step))
        index = tracer.new_loop(name, first, iterations, step)
        (symbol,) = index.symbols()
        last = first + (iterations - 1) * step

        runs = tracer.decide_if_same_in_all_iterations(">=", length, 1)
        before = (index - first).floor_divide(step) if step > 0 else (first - index).floor_divide(-step)
        drawing = Drawing(tracer, before, tracer.resolve(iterations))

        def iteration() -> bool:
            # In an iteration there is one.
            tracer.facts.append(tracer.resolve(length - 1))

            def body() -> None:
                held = SymInt(tracer, index)
                self.assign(node.target, held if item is None else item(held))
                with nullcontext() if runs else self._maybe_run(node, "a loop that may have no iteration"):
                    self._iteration_of(node)

            with drawing.iteration():
                if stopped:
                    self.choose(node, self.negated(node, self.held(stopped)), body, lambda: None, skips=True)
                else:
                    body()
            return drawing.differs()

        moving = self._put_into_moving(node, tracer.resolve(iterations)) if runs and not has_break(node) else []
        self._put_into_cells(node)
        was_set, objects = self._set_names(), LoopAttributes(tracer)
        for one in moving:
            one.iteration = before
        tracer.open_loops.add(symbol)
        try:
            with self._breaking(node) as stopped, objects.kept(), self.keeping_containers(node, objects):
                carried, block, after = self._settled(node, [stopped], iteration, objects)
        finally:
            tracer.open_loops.discard(symbol)
            for one in moving:
                one.iteration = None
        self.at(node)
        attributes = {"variable": symbol, "start": first, "stop": stop, "step": Size.constant(step)}
        loop = tracer.add("for", [c.initial for c in carried], attributes, BOOL, (), blocks=(block,))
        self._hand_out(loop, carried, runs=runs is True)
        drawing.finish()
        for variable, value in after.items():
            if variable.startswith(VALUE):
                continue  # read only where it was set
            if isinstance(value, SymInt):
                held: Any = SymInt(tracer, tracer.resolve(value.size.substitute({symbol: last})))
            else:
                held = value
            self.frame.variables[variable] = self._once_run(node, variable, held, length, variable in was_set)
        objects.end(self.frame.variables)
        self._take_from_cells(node)
        self.else_of(node, stopped)

    def _set_names(self) -> set[str]:
        return {name for name, held in self.frame.variables.items() if is_set(held)}

    def _put_into_cells(self, node: ast.For | ast.While) -> bool:
        """Variables that have another size in each iteration; whether there are any."""
        place = self.place(node)
        names = [name for kind, where, name in sorted(self.tracer.cells) if kind == "loop" and where == place]
        cells = {name: Cell(self.tracer) for name in names}
        for name, cell in cells.items():
            cell.put(self.frame.variables.get(name), self._seen_besides(name))
        if cells:
            self.state.cells.setdefault(place, {}).update(cells)
        return bool(cells)

    def _put_into_moving(self, node: ast.For, iterations: Size) -> list[MovingArray]:
        """Variables whose arrays change their size by the same number in each iteration."""
        tracer, place = self.tracer, self.place(node)
        found = {where[1]: MovingArray(tracer, where, steps, iterations)
                 for where, steps in tracer.moving.items() if where[0] == place and steps}  # fmt: skip
        for name, one in found.items():
            one.begin(self.frame.variables.get(name), self._seen_besides(name))
            self.frame.variables[one.hidden] = one.whole
        if found:
            self.state.cells[place] = dict(found)
        return list(found.values())

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

    def _take_from_cells(self, node: ast.For | ast.While) -> None:
        for name, cell in self.state.cells.pop(self.place(node), {}).items():
            self.frame.variables[name] = cell.take()
            if isinstance(cell, MovingArray):
                del self.frame.variables[cell.hidden]

    def while_region(self, node: ast.While) -> None:
        """A `while` on a value of the run."""
        tracer = self.tracer
        test = Block()
        arrays = {name: held for name, held in self.frame.variables.items() if isinstance(held, SymArray)}
        was_set, objects = self._set_names(), LoopAttributes(tracer)
        ran = f" ran of line {node.lineno}"
        self.frame.variables[ran] = False

        def iteration() -> bool:
            del test.values[:], test.yields[:]
            with tracer.writing(test):
                goes_on = self.negated(node, self.held(stopped)) if stopped else True
                variables, memories = dict(self.frame.variables), list(memory_of(self.frame, tracer))
                held = BranchAttributes(tracer, self.state.containers[-1])
                if goes_on is True:
                    with tracer.where_data_decide(f"the condition of the while of line {node.lineno}"):
                        condition = self.test_of(node.test)
                else:
                    condition = self.choose(
                        node, goes_on, lambda: self.truth_of(node.test), lambda: False, assigns=False
                    )
                test.yields.append(self._truth_value(node, condition))
                assigned = any(variables.get(name) is not held for name, held in self.frame.variables.items())
                if assigned or any(memory.changed() for memory in memories) or held.changes():
                    raise TestWrites
            where = f"the while of line {node.lineno}"
            with tracer.where_data_decide(where), self._maybe_run(node, "a while that may have no iteration"):
                self._iteration_of(node)
            self.frame.variables[ran] = True
            return False

        if self._put_into_cells(node) and not isinstance(node.test, ast.Constant):
            # What the condition reads is taken out of a cell.
            del self.frame.variables[ran]
            self.state.cells.pop(self.place(node))
            self.while_region(test_as_break(node))
            return
        try:
            with self._breaking(node) as stopped, objects.kept(), self.keeping_containers(node, objects):
                carried, block, after = self._settled(node, [stopped, ran], iteration, objects)
        except TestWrites:
            del self.frame.variables[ran]
            self.while_region(test_as_break(node))
            return
        self.at(node)
        self._refuse_to_wait(node, test, carried, stopped)
        test.parameters = block.parameters
        checked = next(one for one in carried if one.storage is tracer.checked.storage)
        if checked.final is not checked.parameter and checked.parameter is not None:
            # What goes on with positions that were clamped might not end.
            with tracer.writing(test):
                both = (checked.parameter, test.yields[0])
                test.yields[0] = tracer.add("logical_and", both, {}, BOOL, ())
        loop = tracer.add("while", [c.initial for c in carried], {}, BOOL, (), blocks=(test, block))
        self._hand_out(loop, carried)
        once = Size.constant(1) if isinstance(node.test, ast.Constant) else None
        for variable, value in after.items():
            if not variable.startswith(VALUE):
                self.frame.variables[variable] = self._once_run(node, variable, value, once, variable in was_set)
        objects.end(self.frame.variables)
        self._note_unchanged(arrays, self.frame.variables.pop(ran, None))
        self._take_from_cells(node)
        self.else_of(node, stopped)

    def _refuse_to_wait(self, node: ast.While, test: Block, carried: list[Carried], stopped: str) -> None:
        """A while that nothing in it ends waits for another thread, whose changes kernels do not see."""
        ends = [test.yields[0]]
        changing = set()
        for one in carried:
            if one.final is None or one.parameter is None or one.storage is self.tracer.checked.storage:
                continue
            if stopped and one.name == stopped:
                ends.append(one.final)  # set where a condition in the iteration holds
            elif unchanged(one.final, {}) is not one.parameter:
                changing.add(one.parameter.number)
        if not any(goes_by(end, lambda value: value.number in changing or _is_read_again(value)) for end in ends):
            self.at(node)
            raise self.tracer.error_of(
                WaitsForOthers,
                "loops: a while that nothing in it ends; kernels do not see what other threads change.",
                "Leave it out of the compiled function.",
            )

    def _note_unchanged(self, arrays: dict[str, SymArray], ran: Any) -> None:
        """Where no iteration ran, a variable still is the array that it was."""
        if not isinstance(ran, RunBool):
            return
        before = self.tracer.add("logical_not", (ran.value,), {}, BOOL, ())
        for name, array in arrays.items():
            now = self.frame.variables.get(name)
            if isinstance(now, SymArray) and now.storage is not array.storage and now.storage.chosen_from:
                now.storage.may_be += ((array.storage, before), *((s, before) for s, _ in array.storage.may_be))

    def test_of(self, node: ast.expr) -> Any:
        return self.expressions.as_truth(self.expressions.evaluate(node))

    def truth_of(self, node: ast.expr) -> RunBool:
        """A condition as one truth of the run."""
        return RunBool(self.tracer, self._truth_value(node, self.test_of(node)))

    @contextmanager
    def _breaking(self, node: ast.For | ast.While) -> Iterator[str]:
        """The variable that says whether a break has ended the loop; "" where there is none in it."""
        name = f" break of line {node.lineno}" if has_break(node) else ""
        if name:
            self.frame.variables[name] = False
        with pushed(self.state.stopped, name):
            yield name

    def _iteration_of(self, node: ast.For | ast.While) -> None:
        leaving, _ = self.run_until_left(node.body)
        if leaving is Leaving.RETURN:
            raise self.error(
                node, "loops: a return in a loop on run-time values",
                "values leave such a loop only at its end", "Break out of the loop, and return after it.",
            )  # fmt: skip
        if leaving is Leaving.BREAK:
            self.frame.variables[self.state.stopped[-1]] = True

    def else_of(self, node: ast.For | ast.While, stopped: str) -> None:
        """The else of a loop, where no break has ended that; `stopped` is the variable that says so."""
        held = self.frame.variables.pop(stopped, False)
        if not node.orelse or held is True:
            return
        if held is False:
            self.block(node.orelse)
        else:
            # One that leaves the block around it has become an if behind the loop.
            ran_through = self.negated(node, held)
            try:
                self.choose(node, ran_through, lambda: self.block(node.orelse), lambda: None)
            except Raises as raises:
                if raises.holds is None or self.tracer.checked is None:
                    raise
                self.leave_to_numpy(node, ran_through, True)

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
                    one = self._carried_name(node, name, held, forms.get(key), unset.get(name))
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
            if (
                not isinstance(held, SymArray)
                or not isinstance(array, SymArray)
                or held.storage is not array.storage
                or held.chain != array.chain
            ):
                same[name] = None
                rebound = True
        return rebound

    def _parameter(self, one: Carried) -> Value:
        parameter = self.tracer.add("parameter", (), {}, one.form.dtype, one.form.shape, call_name=one.called)
        parameter.user_name = one.called
        if one.storage is not None:
            parameter.attributes.update(initial=one.initial, storage=id(one.storage))
        return parameter

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
            self._unify_sizes(one.form, form)
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
            one.sources += [storage for storage in storages_of(held) if storage not in one.sources]
        self._refuse_shared_writes(node, carried)
        return wider

    def _written_and_rebound(
        self, node: ast.stmt, one: Carried, carried: list[Carried], before: dict[str, Any]
    ) -> None:
        """An array that an iteration writes into, and that another one is assigned to: a value, if nobody else sees what is
        written. In the first iteration that is an array from before the loop, in later ones what an iteration made."""
        holders = self._holders(one, carried)
        held = self._held_before(one, before)
        one.written = [storage for other in holders for storage in memory_in(self._held_before(other, before))]
        ends = self._memory_at_end(one)
        others = set().union(*(self._memory_at_end(other) for other in carried if other is not one))
        for name in self.state.cells.get(self.place(node), ()):
            others |= {id(storage) for storage in memory_in(self.frame.variables.get(name))}
        is_whole = not one.path and is_named(one.name) and not (isinstance(held, SymArray) and held.chain)
        is_own = all(
            storage.argument is None and tuple(map(self.tracer.resolve, storage.value.shape)) == one.form.shape
            for storage in one.written
        )
        if (
            is_whole
            and is_own
            and not self._is_seen(one, holders, before)
            and ends.isdisjoint(others | self.tracer.in_lists.keys())
        ):
            return
        self.at(node)
        raise self.tracer.error_of(
            ChangesShape if isinstance(node, ast.For) else TraceError,
            f"loops: {one.text}, which an iteration writes into and assigns anew; the first iteration writes into the array "
            "from before the loop, the others into their own.",
            f"Write into it ({one.text}[...] = value) instead of assigning it anew.",
        )

    def _holders(self, one: Carried, carried: list[Carried]) -> list[Carried]:
        """Of the variables whose arrays go from one to the other, as in `y, z = z, y`, those whose arrays reach this one."""
        found = [one]
        for reached_by in found:
            ends = self._memory_at_end(reached_by)
            found += [
                other
                for other in carried
                if isinstance(other.held, SymArray) and id(other.held.storage) in ends and other not in found
            ]
        return found

    def _held_before(self, one: Carried, before: dict[str, Any]) -> Any:
        return one.present(read_if_set(before[one.name]))

    def _memory_at_end(self, one: Carried) -> set[int]:
        """The memory, by identity, of the array that a variable holds at the end of an iteration, or may hold."""
        if one.frame is None:
            return set()
        held = one.frame.variables.get(one.name)
        held = one.held if isinstance(held, Pending) and held.of_last_iteration else one.present(held)
        return {id(storage) for storage in memory_in(held)}

    def _is_seen(self, one: Carried, holders: list[Carried], before: dict[str, Any]) -> bool:
        """Whether anything but those variables, each of its own, may lead to the arrays that they held before a loop."""
        if len({id(storage) for storage in one.written}) < len(one.written):
            return True
        frame, tracer = self.frame, self.tracer
        now = frame.variables
        frame.variables = {**now, **{name: held for name, held in before.items() if held is not MISSING}}
        try:
            for other in holders:
                frame.variables.pop(other.name, None)
            items = [item for _, item in reached(frame, tracer, *((one.name, item) for item in self.state.traversed))]
            caller = frame.caller
            while caller is not None:
                items += [item for _, item in reached(caller, tracer)]
                caller = caller.caller
        finally:
            frame.variables = now
        if any(isinstance(item, Iterator) for item in items):
            return True  # nothing is known of what it goes through
        whole = (item.whole if isinstance(item, Compressed) else item for item in items)
        seen = {id(storage) for item in whole for storage in memory_in(item)} | tracer.in_lists.keys()
        return any(id(storage) in seen for storage in one.written)

    def _unify_sizes(self, begins: Form, ends: Form) -> None:
        """Sizes that an iteration needs to be equal, or has to leave as it found them, are one size from here on."""
        for begin, end in zip(begins.shape, ends.shape, strict=False):
            left, right = self.tracer.resolve(begin), self.tracer.resolve(end)
            fixed = self.tracer.loops.keys().isdisjoint((left - right).symbols())
            if fixed and len(begins.shape) == len(ends.shape) and self.tracer.value_of(left - right) == 0:
                # `v = a @ v` keeps the shape of v where a is square: a guard says so, as broadcasting would.
                self.tracer.decide("==", left, right)
        for form in (begins, ends):
            form.shape = tuple(self.tracer.resolve(size) for size in form.shape)

    def _refuse_shared_writes(self, node: ast.stmt, carried: list[Carried]) -> None:
        """A variable that holds another array in each iteration is a separate value of the program: nobody else may write there."""
        held_by = {id(one.held.storage): one for one in carried if isinstance(one.held, SymArray)}
        for one in carried:
            # What it takes over from another variable may be all that the other one was.
            pending = list(one.sources)
            for storage in pending:
                other = held_by.get(id(storage))
                if other is not None and other is not one:
                    pending += [source for source in other.sources if source not in pending]
            one.sources = [storage for storage in pending if id(storage) not in held_by]
        written = {
            id(one.storage)
            for one in carried
            if one.storage is not None and one.final is not None and unchanged(one.final, {}) is not one.parameter
        }
        for one in carried:
            if one.storage is None and one.form.kind == "array" and any(id(s) in written for s in one.sources):
                raise self.error(
                    node, f"loops: {one.text}, which an iteration assigns anew",
                    "an iteration writes into an array that it may be", f"Copy where {one.text} is assigned (.copy()).",
                )  # fmt: skip

    def _let_out(
        self, carried: list[Carried], memories: list[Memory], before: dict[str, Any], after: dict[str, Any]
    ) -> dict[str, Any]:
        """Variables that an iteration sets without reading them: carried for who reads them after the loop."""
        tracer = self.tracer
        left: dict[str, Any] = {}
        outside = {id(one.storage) for one in carried if one.storage is not None}
        for name, held in after.items():
            value = self._of_inner_loop(name, held)
            found = None if isinstance(value, (SymInt, Pending)) or value is MISSING else self._value_of(value)
            if value is MISSING:
                continue
            lost = ""
            if isinstance(value, ArrayList) and value is not before[name]:
                left[name] = value.not_visible()
                continue
            if isinstance(value, (list, tuple, dict, set)) and is_symbolic(value):
                lost = f"a {type(value).__name__} of values of an iteration"
            elif tracer.is_made(value) and id(value) not in self.state.containers[-1] and holds_traced(value, tracer):
                lost = f"a {type(value).__name__} with values of an iteration"
            elif self._is_of_iterations(value):
                lost = f"a {'slice' if isinstance(value, slice) else 'range'} of values of an iteration"
            elif isinstance(value, Compressed) and value is not before[name]:
                lost = "elements under a mask"
            if lost:
                left[name] = self._lost(name, lost)
                continue
            if found is None or not self._is_fixed(found[1]):
                left[name] = value
                continue
            made, form = found
            if isinstance(value, SymArray) and value.chain and not value.is_scalar and id(value.storage) in outside:
                left[name] = self._lost(
                    name, "a view of an array from outside", "which part it shows depends on the last iteration",
                    "Take the view again after the loop.",
                )  # fmt: skip
                continue
            with tracer.writing(tracer.blocks[-2]), seeing(memories, {}):
                started = self._value_of(before[name])
                same = started is not None and started[1] == form
                initial = started[0] if same and started is not None else self._zeros(form)
            one = Carried(initial, form, self.frame, name)
            one.parameter = self._parameter(one)
            one.final = made
            one.sources = [*storages_of(value), *(storages_of(before[name]) if same else [])]
            carried.append(one)
            if not same:
                left[name] = MISSING  # read after the loop, it needs an iteration
        return left

    def _is_of_iterations(self, value: Any) -> bool:
        """Whether it is a slice or a range whose limits differ from iteration to iteration."""
        if not isinstance(value, (slice, SymRange)):
            return False
        sizes = [limit.size for limit in (value.start, value.stop, value.step) if isinstance(limit, SymInt)]
        return any(not self.tracer.loops.keys().isdisjoint(size.symbols()) for size in sizes)

    def _of_inner_loop(self, name: str, held: Any) -> Any:
        """What a loop in the iteration leaves, if it has an iteration itself for certain; nobody may read it otherwise."""
        if not isinstance(held, Pending) or held.of_last_iteration:
            return held
        try:
            with self.tracer.without_decisions(), self.tracer.without_checks():
                return held.read()
        except (TraceError, ReadBehind) as error:
            refusal = error
            return replace(Pending.refused(lambda: refusal), needs=held.needs)
        except (Undecided, UnboundLocalError):
            return self._lost(name, "which a loop in it may not have set")

    def _lost(
        self, name: str, what: str, why: str = "arrays and numbers come out of a loop", what_to_do: str = ""
    ) -> Pending:
        what_to_do = what_to_do or f"Set {name} before the loop, or keep its parts in separate variables."
        asked = f"loops: {name} after the loop that made it, {what}"
        return Pending.refused(lambda: self.tracer.error(asked, why, what_to_do))

    def _once_run(self, node: ast.stmt, name: str, value: Any, length: Size | None, was_set: bool) -> Any:
        """A variable that only an iteration sets, read after the loop, whose range has that length; whether it was set before."""
        tracer = self.tracer
        made = self.frame.variables.get(name, MISSING) if value is MISSING else value
        here = (self.place(node), name)
        needs = here if was_set and here not in tracer.read_behind else None

        def read() -> Any:
            if needs is not None and not self._has_iteration(length):
                raise ReadBehind(needs)
            if length is None:
                raise self.error(
                    node, f"loops: {name} after a while that sets it",
                    "whether the while runs at all depends on the data", f"Set {name} before the loop.",
                )  # fmt: skip
            message = f"cannot access local variable '{name}' where it is not associated with a value"
            tracer.require(">=", length, 1, message, UnboundLocalError)
            if not sizes_in(made).isdisjoint(tracer.loops.keys() - tracer.open_loops):
                raise self.error(
                    node, f"loops: {name} after the loop that sets it",
                    "its size differs from iteration to iteration", "Set it again after the loop.",
                )  # fmt: skip
            return made.read() if isinstance(made, Pending) else made

        has_no_value = isinstance(made, Pending) and made.has_no_value
        return Pending(read, leads_to=lambda: [made], needs=needs, has_no_value=has_no_value)

    def _has_iteration(self, length: Size | None) -> bool:
        """Whether a loop over a range of that length, None of one that data end, has one for certain."""
        try:
            return length is not None and self.tracer.decide_if_same_in_all_iterations(">=", length, 1) is True
        except Undecided:
            return False

    def _carried_name(self, node: ast.stmt, name: str, held: Any, wider: Form | None, unset: Form | None) -> Carried:
        if unset is not None and wider is not None:
            unset = wider
        if unset is not None and not is_set(held):
            return Carried(self._zeros(unset), unset, self.frame, name)
        found = None if held is MISSING else self._value_of(held.read() if isinstance(held, Pending) else held)
        if unset is not None and (found is None or found[1].joined(unset) is None):
            # Only iterations set it, the first one for certain.
            return Carried(self._zeros(unset), unset, self.frame, name)
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
        return Carried(value, form, self.frame, name)

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


def _is_read_again(value: Value) -> bool:
    """What each iteration may find anew beside what it carries: by a call, or at a position of the run."""
    sizes = [
        size
        for held in value.attributes.values()
        for one in (held if isinstance(held, (list, tuple)) else (held,))
        for size in ((one.start,) if isinstance(one, Slice) else (one,))
        if isinstance(size, Size)
    ]
    return value.operation in ("call", "read") or not all(size.is_constant for size in sizes)
