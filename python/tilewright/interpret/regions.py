"""Control flow on values of the run: loops that stay loops, and branches on data (branches.py), as regions of the program.

A body is run on symbolic values, until it is settled what it carries (settling.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, Block, Slice, Value, goes_by, unchanged
from ..symbolic.located import pushed
from ..symbolic.refusals import WaitsForOthers
from ..symbolic.run_numbers import RunBool
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from .branches import Branches
from .carried import Carried, TestWrites, is_set, memory_of
from .carried_attributes import BranchAttributes, LoopAttributes
from .early_return import VALUE, has_break, test_as_break
from .expressions import Expressions
from .frame import Leaving
from .generators import Drawing
from .moving_arrays import MovingArray
from .region import Raises
from .settling import Settling
from .staged_cells import Cell
from .state import State


class Regions(Settling):
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
        if item is None and isinstance(node.target, ast.Name) and node.target.id.strip("_").isidentifier():
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
        attributes["may_have_none"] = runs is None
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
        has_run = self.frame.variables.get(ran)
        for variable, value in after.items():
            if not variable.startswith(VALUE):
                self.frame.variables[variable] = self._once_run(
                    node, variable, value, once, variable in was_set, has_run
                )
        self._note_unchanged(arrays | objects.arrays(), self.frame.variables.pop(ran, None))
        objects.end(self.frame.variables)
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
        return self.expressions.condition(node)

    def truth_of(self, node: ast.expr) -> RunBool:
        """A condition as one truth of the run."""
        return RunBool(self.tracer, self._truth_value(node, self.test_of(node)))

    @contextmanager
    def _breaking(self, node: ast.For | ast.While) -> Iterator[str]:
        """The variable that says whether a break has ended the loop; "" where there is none in it."""
        name = f" break of line {node.lineno}, column {node.col_offset}" if has_break(node) else ""
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
