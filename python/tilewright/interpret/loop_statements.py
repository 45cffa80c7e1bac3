"""Loops: which are unrolled, which stay loops, and which have their first iteration apart."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceOf
from contextlib import nullcontext
from typing import Any

from ..errors import TraceError
from ..ops.stages import materialized
from ..symbolic import trace_limits
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.located import pushed
from ..symbolic.refusals import KeepsLoop, Undecided
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.sizes import Size
from ..symbolic.values import ShortLoop
from .appended_lists import AppendedLists
from .array_lists import ArrayList
from .branches import Branches
from .early_return import has_break, leaves_at_once
from .expressions import Expressions
from .frame import BeginAgain, Break, Continue, FirstApart
from .index_loops import IndexLoops
from .iterators import END, LoopItems
from .regions import Regions
from .sequences import Sequence, SymRange, are_numbers, array_of_program, sequence_of, sequence_of_numbers
from .staged_cells import ChangesShape
from .staged_lists import StagedList
from .state import Part, State


class LoopStatements(Part):
    """`for` and `while`."""

    def __init__(
        self, state: State, branches: Branches, expressions: Expressions, block: Callable[[Iterable[ast.stmt]], None]
    ) -> None:
        super().__init__(state)
        self.branches, self.expressions, self.block = branches, expressions, block
        self.evaluate, self.assign = expressions.evaluate, expressions.variables.assign
        self.regions = Regions(state, branches, expressions, block)
        self.appended = AppendedLists(state, self.for_region, self.regions.while_region)
        self.index_loops = IndexLoops(state)
        # Loops being unrolled, and in how many regions each is.
        self.copied: list[tuple[tuple[str, int, int], int]] = []

    def run_for(self, node: ast.For) -> None:
        if (nested := self.index_loops.over(node, self.evaluate)) is not None:
            self.block(nested)
            return
        value = self.evaluate(node.iter)
        self.at(node)
        with pushed(self.state.traversed, value):
            self._for_over(node, value)

    def _for_over(self, node: ast.For, value: Any) -> None:
        value = materialized(value) if isinstance(value, Compressed) else value
        value = array_of_program(self.tracer, node, value)
        if type(value) in (list, tuple) and (sequence := self._known_numbers(node, value)) is not None:
            try:
                if not self.appended.filled(node, sequence):
                    self.regions.for_region(node, Size.constant(0), sequence.length, 1, sequence.item)
            except TraceError as error:
                raise BeginAgain(self.place(node), error) from None
            return
        if isinstance(value, (range, SymRange)):
            limits = self._limits(node, value)
            if limits is not None:
                if not self.appended.filled(node, value):
                    self.for_region(node, limits)
                return
        elif isinstance(value, (SymArray, Sequence, ArrayList, StagedList)):
            value = value.items() if isinstance(value, (ArrayList, StagedList)) else value
            sequence = sequence_of(self.tracer, value)
            limits = self._limits(node, SymRange(0, SymInt(self.tracer, sequence.length), 1))
            if limits is not None:
                if not self.appended.filled(node, sequence):
                    self.for_region(node, limits, sequence.item)
                return
            value = (sequence.item(k) for k in range(self.tracer.fix(sequence.length)))
        self._unroll(node, self.expressions.iterate(node.iter, value))

    def _known_numbers(self, node: ast.For, items: SequenceOf[Any]) -> Sequence | None:
        """Numbers that are known while tracing, where the loop over them stays one: there are many, or much comes of each."""
        place, length = self.place(node), len(items)
        if place in self.tracer.unrolled or length <= 1 or not are_numbers(items):
            return None
        if length <= trace_limits.MAX_UNROLLED_ITERATIONS and place not in self.tracer.kept:
            self.tracer.short.setdefault(place, ShortLoop(length))
            return None
        return sequence_of_numbers(self.tracer, items)

    def _unroll(self, node: ast.For, items: Iterable[Any]) -> None:
        """The iterations one by one. Behind a break on data the next one is a way of a branch: it runs where none was."""
        stopped = (
            f" break of line {node.lineno}, column {node.col_offset}"
            if has_break(node) and self.tracer.checked is not None
            else ""
        )
        if stopped:
            self.frame.variables[stopped] = False
        waiting, held = LoopItems(self.state, node, items), False
        while held is not True and (item := waiting.take(is_certain=held is False)) is not END:

            def iteration(item: Any = item) -> None:
                self.assign(node.target, item)
                if self._ends_with(node, stopped):
                    self.frame.variables[stopped] = True

            if not stopped:
                self.assign(node.target, item)
                if self._ends_with(node):
                    return
                continue
            if held is False:
                iteration()
            else:
                self.branches.choose(node, self.branches.negated(node, held), iteration, lambda: None)
            held = self.branches.held(stopped)
        waiting.end()
        if stopped:
            self.frame.variables[stopped] = self.branches.held(stopped)
        self.regions.else_of(node, stopped)

    def _limits(self, node: ast.For, value: range | SymRange) -> tuple[Size, Size, int] | None:
        """(first, stop, step) of a range whose loop stays one, None where it is short enough to be unrolled."""
        step = value.step.__index__()
        first, stop = size_of(value.start), size_of(value.stop)
        length = self.tracer.fixed_if_small(stop - first if step > 0 else first - stop)
        iterations = (self.tracer.value_of(length) + abs(step) - 1) // abs(step)
        is_short = length.is_constant and iterations <= trace_limits.MAX_SHORT_ITERATIONS and not has_break(node)
        is_short &= self.place(node) not in self.tracer.kept
        place = self.place(node)
        may_stay = is_short and place not in self.tracer.unrolled
        is_short |= length.is_constant and leaves_at_once(node)
        if iterations <= trace_limits.MAX_UNROLLED_ITERATIONS and (is_short or place in self.tracer.unrolled):
            if may_stay and iterations > 1:
                self.tracer.short.setdefault(place, ShortLoop(iterations))
            return None
        some = self.tracer.decide_if_same_in_all_iterations(">=", length, 1)
        return None if some is False else (first, stop, step)

    def for_region(self, node: ast.For, limits: tuple[Size, Size, int], item: Any = None) -> None:
        """A loop that stays one; a short one that cannot is unrolled, in another run of the trace."""
        first, stop, step = limits
        iterations = self.tracer.value_of(stop - first if step > 0 else first - stop)
        place, may_have_none = self.place(node), iterations < 1
        can_be_apart = (
            not may_have_none
            and self.tracer.decide_if_same_in_all_iterations(">=", stop - first if step > 0 else first - stop, 1)
            is True
        )
        if place in self.tracer.first_apart and can_be_apart:
            begin = SymInt(self.tracer, self.tracer.resolve(first))

            def rest() -> None:
                left = stop - first - step if step > 0 else first - stop + step
                if self.tracer.decide_if_same_in_all_iterations(">=", left, 1) is False:
                    self.regions.else_of(node, "")  # behind no loop each variable is the very array that it was
                else:
                    self._rest_of_region(node, (first + step, stop, step), item, False)

            self._first_apart(node, lambda: self.assign(node.target, begin if item is None else item(begin)), rest)
        else:
            self._rest_of_region(node, limits, item, can_be_apart)

    def _first_apart(self, node: ast.For | ast.While, begin: Callable[[], None], rest: Callable[[], None]) -> None:
        """The first iteration alone, and the others where it does not end the loop."""
        stopped = f" break of the first iteration of line {node.lineno}" if has_break(node) else ""
        if stopped:
            self.frame.variables[stopped] = False
        begin()
        if self._ends_with(node, stopped):
            self.frame.variables.pop(stopped, None)
            return
        held = self.branches.held(stopped) if stopped else False
        self.frame.variables.pop(stopped, None)
        if held is False:
            rest()
        elif held is not True:
            self.branches.choose(node, self.branches.negated(node, held), rest, lambda: None)

    def _rest_of_region(self, node: ast.For, limits: tuple[Size, Size, int], item: Any, can_be_apart: bool) -> None:
        first, stop, step = limits
        iterations = self.tracer.value_of(stop - first if step > 0 else first - stop)
        place = self.place(node)
        try:
            self.regions.for_region(node, first, stop, step, item)
        except TraceError as error:
            is_apart = can_be_apart and place not in self.tracer.not_apart
            if isinstance(error, ChangesShape) and is_apart and not (has_break(node) and error.cell):
                raise FirstApart(place) from None
            if self.tracer.reads.keys() & (
                stop - first
            ).symbols() or iterations > trace_limits.MAX_UNROLLED_ITERATIONS * abs(step):
                raise
            if self.place(node) in self.tracer.unrolled:
                raise
            raise BeginAgain(self.place(node), error) from None

    def _ends_with(self, node: ast.For | ast.While, stopped: str = "") -> bool:
        """One round of a loop that is unrolled; whether a break ended the loop. `stopped`: the variable that says of the
        run whether one did."""
        here = self.place(node), len(self.tracer.blocks)
        with (
            self.tracer.unrolling(here[0]),
            pushed(self.state.stopped, stopped),
            pushed(self.state.unrolling, self.place(node)),
            pushed(self.copied, here),
        ):
            try:
                self.block(node.body)
                self._refuse_slow_compile(node)
            except Break:
                return True
            except Continue:
                pass
        return False

    def _refuse_slow_compile(self, node: ast.For | ast.While) -> None:
        depth = len(self.tracer.blocks)
        outermost = next(place for place, regions in self.copied if regions == depth)
        why = self.tracer.unrolled.get(outermost)
        may_stay = why is None or isinstance(why, KeepsLoop)
        if depth > 1 and may_stay and outermost not in self.tracer.kept:
            updates = sum(value.operation == "update" for value in self.tracer.blocks[-1].values)
            if updates > trace_limits.MAX_UNROLLED_UPDATES:
                raise why or BeginAgain(outermost)
        block = self.tracer.blocks[-1]
        if block.reductions() > trace_limits.MAX_UNROLLED_REDUCTIONS:
            what = f"{trace_limits.MAX_UNROLLED_REDUCTIONS} reductions"
        elif block.long_kernels(trace_limits.LEAST_OF_KERNEL) > trace_limits.MAX_UNROLLED_KERNELS:
            what = f"{trace_limits.MAX_UNROLLED_KERNELS} kernels between calls"
        else:
            return
        if (why := self.tracer.unrolled.get(self.place(node))) is not None:
            raise why  # what keeps it from staying a loop, which would compile
        self.tracer.keep_a_short_loop(0)
        raise self.error(
            node, f"loops: more than {what} of a loop that is unrolled",
            "these do not compile in useful time", "Leave the loop out of the compiled function.",
        )  # fmt: skip

    def run_while(self, node: ast.While) -> None:
        # Iterations whose condition is known now are unrolled, as those of a short range are.
        if self.place(node) not in self.tracer.first_apart:
            self._while(node)
            return
        condition = self.regions.test_of(node.test)

        def iterations() -> None:
            self._first_apart(node, lambda: None, lambda: self._while(node))

        if self.is_of_the_run(condition) and len(self.tracer.blocks) == 1:
            # A loop without an iteration leaves what the first one would have given another form: NumPy runs such calls.
            self.branches.leave_to_numpy(node, condition, False, "a while that has no iteration for these data")
            iterations()
        elif self.is_of_the_run(condition):
            self.branches.choose(node, condition, iterations, lambda: None)
        elif self.truth(node.test, condition, "a while"):
            iterations()

    def _while(self, node: ast.While) -> None:
        unrolled, peeled = (self.place(node) in places for places in (self.tracer.unrolled, self.tracer.peeled))
        stays = not unrolled and not peeled and (has_break(node) or self.place(node) in self.tracer.kept)
        for iteration in range(0 if stays else trace_limits.MAX_UNROLLED_ITERATIONS):
            undo = self.undoing()  # the condition is evaluated again, as a region's
            try:
                with nullcontext() if unrolled else self.tracer.without_decisions():
                    condition = self.expressions.condition(node.test)
            except Undecided:
                undo()
                break
            if self.is_of_the_run(condition):
                if iteration and not unrolled and not peeled:
                    # The first iterations too: one loop is better than two copies of its body.
                    raise BeginAgain(self.place(node))
                undo()
                break
            if not self.truth(node.test, condition, "a while"):
                self.block(node.orelse)
                return
            if not unrolled and not peeled:
                short = self.tracer.short.setdefault(self.place(node), ShortLoop(1))
                short.iterations = max(short.iterations, iteration + 1)
            if self._ends_with(node):
                return
        else:
            if not unrolled and not peeled and not stays:
                raise BeginAgain(self.place(node))  # one loop is better than copies of its body and a loop
        try:
            self.appended.run_while(node)
        except TraceError as error:
            is_first = self.place(node) not in {*self.tracer.first_apart, *self.tracer.not_apart} and not node.orelse
            if isinstance(error, ChangesShape) and not error.cell and is_first and self.tracer.checked is not None:
                raise FirstApart(self.place(node)) from None
            has_cells = any(place == self.place(node) for _, place, _ in self.tracer.cells)
            if unrolled or any(self.tracer.reads) or has_cells or isinstance(error, ChangesShape):
                raise
            raise BeginAgain(self.place(node), error) from None
