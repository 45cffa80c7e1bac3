"""Runs a function's source on symbolic values: plain Python as Python does it, array operations into the program.

Statements are here; expressions are in expressions.py, calls in calls.py. Control
flow on sizes is decided, short loops are unrolled; longer ones and branches on data become regions (regions.py).
"""

# ruff: noqa: PLR0917
from __future__ import annotations

import ast
import re
import types
import warnings
from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceOf
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..errors import TraceError
from ..failed_traces import text_of
from ..ops import indexing
from ..ops.stages import materialized
from ..symbolic import trace_limits
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.known import is_known, known_value
from ..symbolic.located import pushed
from ..symbolic.refusals import CalleeNotSeen, KeepsLoop, Undecided
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from ..symbolic.values import ShortLoop
from . import moved_draws, moved_states  # noqa: F401  (kinds of generators)
from .appended_lists import AppendedLists
from .arguments import Inputs
from .array_lists import ArrayList
from .branches import Branches
from .calls import Calls
from .carried import CarryNeeded, TestWrites
from .comprehensions import Comprehensions
from .early_return import (
    NoneBesideOthers,
    behind_the_loop,
    else_behind,
    gives_none,
    has_break,
    has_return,
    leaves_at_once,
)
from .expressions import Expressions
from .frame import BeginAgain, Break, Continue, Control, FirstApart, Frame, Leaving, Return
from .generator_functions import GeneratorFunctions
from .index_loops import IndexLoops
from .iterators import END, LoopItems
from .lists_of_the_call import list_of_the_call
from .managers import Managers
from .parts import Parts
from .regions import Regions
from .sequences import Sequence, SymRange, are_numbers, array_of_program, sequence_of, sequence_of_numbers
from .source import FUNCTIONS, FunctionNode, first_in, inside
from .staged_cells import ChangesShape
from .staged_lists import StagedList
from .state import Part, State

MAX_DEPTH = 32
MAX_RECURSION = 2  # a helper that maps itself over a tuple; what data end would go on for ever
MAX_STATEMENTS = 200_000


class Interpreter(Part):
    """One trace's interpreter."""

    def __init__(self, tracer: Tracer, inputs: Inputs) -> None:
        super().__init__(State(tracer, inputs))
        inputs.list_of_the_call = list_of_the_call
        self.depth = 0
        self.steps = 0
        self.active: list[Any] = []
        self.copied: list[
            tuple[tuple[str, int, int], int]
        ] = []  # loops being unrolled, and in how many regions each is
        self.rewritten: dict[ast.stmt, tuple[list[ast.stmt], set[str]]] = {}  # loops, and what stands for them
        self.branches = Branches(self.state, self.run_until_left)
        self.calls = Calls(self.state, self.branches.choose, self.run_node)
        self.expressions = Expressions(self.state, self.branches, self.calls)
        self.variables = self.expressions.variables
        self.evaluate, self.assign = self.expressions.evaluate, self.variables.assign
        self.generators = GeneratorFunctions(self.state, self.expressions, self.block)
        self.managers = Managers(self.state, self.expressions, self.block)
        self.regions = Regions(self.state, self.branches, self.expressions, self.block)
        self.comprehensions = Comprehensions(self.state, self._for_region)
        self.expressions.listed = self.comprehensions.listed
        self.appended = AppendedLists(self.state, self._for_region, self.regions.while_region)
        self.index_loops = IndexLoops(self.state)
        self.parts = Parts(self.state)

    def let_go(self) -> None:
        """Behind the trace: of what is the caller's, which would wait with the trace for the collector of cycles."""
        self.inputs.let_go()
        self.state.raised.clear()

    # -- functions -------------------------------------------------------------------------------------

    def run_node(
        self,
        node: FunctionNode,
        function: types.FunctionType | None,
        parent: Frame | None,
        variables: dict[str, Any],
        file: str,
        name: str,
    ) -> Any:
        """The body of a function whose parameters are bound."""
        identity = function.__code__ if function is not None else node
        if self.active.count(identity) > MAX_RECURSION:
            error = self.tracer.error(
                f"calling {name}() from within itself",
                "recursion is not compiled",
                "Write it as a loop, or leave it out of the compiled function.",
            )
            error.recursive = identity
            raise error
        if self.depth >= MAX_DEPTH:
            raise self.tracer.error(
                f"calling {name}() {self.depth} calls deep",
                f"calls are followed {MAX_DEPTH} deep",
                "Leave the inner part out of the compiled function.",
            )
        at_yield, self.state.at_yield = self.state.at_yield, None
        entered, self.state.entered = self.state.entered, None
        self._refuse_coroutine(node, name)
        frame = Frame(node, function, parent)
        frame.block = self.tracer.blocks[-1]
        frame.at_yield, frame.entered = at_yield, entered
        frame.variables.update(variables)
        frame.given = dict(variables)
        if at_yield is None and first_in(node, ast.Yield, ast.YieldFrom) is not None:
            return self.generators.made(frame, name, file)
        previous = frame.caller = self.frame
        self.state.frame = frame
        self.depth += 1
        self.active.append(identity)
        self.tracer.frames.append([file, name, node.lineno])
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body)
            # The end of a function returns, as any way out of its branches may.
            self.block([*node.body, ast.copy_location(ast.Return(None), node.body[-1])])
            return None
        except Return as returned:
            return returned.value
        except TypeError as error:
            raise self.tracer.in_users_words(error) from None
        finally:
            self.tracer.last_frame = self.tracer.frames.pop()
            self.active.pop()
            self.depth -= 1
            self.state.frame = previous

    def _refuse_coroutine(self, node: FunctionNode, name: str) -> None:
        if (waits := first_in(node, ast.Await)) is not None:
            self.at(waits)
            raise self.tracer.error(
                f"{name}() uses await",
                "async functions are not compiled",
                "Return arrays, or leave it out of the compiled function.",
            )

    # -- statements --------------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt]) -> None:
        statements = list(statements)
        position = 0
        while position < len(statements):
            evaluated = self.state.evaluated
            try:
                behind = self.parts.beginning(statements, position)
                if behind is None:
                    if self._goes_on_behind(statements, position):
                        return
                    behind = position + 1
            except TraceError as error:
                if error.is_of(evaluated):
                    self.parts.offer(error, statements, position)
                raise
            except Exception as error:
                is_ours = type(error).__module__.startswith("tilewright")
                is_users = any(error is one for one in self.state.raised) or self.frame.is_tried
                if is_ours or is_users or not self.tracer.refuses_errors:
                    raise
                refusal = self.tracer.error(f"tracing it raises {text_of(error)}", "NumPy raises nothing there")
                self.parts.offer(refusal, statements, position)
                raise refusal from error
            position = behind

    def _goes_on_behind(self, statements: list[ast.stmt], position: int) -> bool:
        """Runs one of the statements; whether those behind it have run as well."""
        statement = statements[position]
        leaves_in_else = isinstance(statement, (ast.For, ast.While)) and self.branches.leaves(statement.orelse)
        if isinstance(statement, (ast.For, ast.While)) and (leaves_in_else or has_return(statement)):
            if statement not in self.rewritten:
                rewrite = else_behind if leaves_in_else else behind_the_loop
                self.rewritten[statement] = rewrite(statement)
            instead, names = self.rewritten[statement]
            self.frame.locals |= names
            self.block([*instead, *statements[position + 1 :]])
            return True
        if not self.branches.leaves([statement]):
            self.execute(statement)
        elif isinstance(statement, ast.If):
            # What follows belongs to the ways that do not leave.
            self.count_step(statement)
            self._exec_If(statement, statements[position + 1 :])
            return True
        else:
            before = self.state.ways_left
            self.execute(statement)
            if self.state.ways_left != before and not isinstance(statement, (ast.For, ast.While)):
                raise self.error(statement, f"loops: leaving a {_statement_name(statement)} by a branch on data",
                                 "there is no rule for it", "Leave after the statement.")  # fmt: skip
        return False

    def run_until_left(self, statements: list[ast.stmt]) -> tuple[Leaving | None, Any]:
        """How the statements end, and what a return gives."""
        try:
            self.block(statements)
        except Break:
            return Leaving.BREAK, None
        except Continue:
            return Leaving.CONTINUE, None
        except Return as returned:
            return Leaving.RETURN, returned.value
        return None, None

    def execute(self, node: ast.stmt) -> None:
        self.count_step(node)
        handler = getattr(self, f"_exec_{type(node).__name__}", None)
        if handler is None:
            raise self.error(
                node,
                f"a {_statement_name(node)} statement",
                "it has no meaning in a compiled function",
            )
        handler(node)

    def count_step(self, node: ast.stmt) -> None:
        self.steps += 1
        if self.steps > MAX_STATEMENTS:
            raise self.error(node, "loops: more than 200,000 statements were interpreted",
                             "a loop that is unrolled this far does not compile in useful time",
                             "Write it with array operations, or leave it out of the compiled function.")  # fmt: skip
        self.at(node)

    def _exec_Return(self, node: ast.Return) -> None:
        raise Return(None if node.value is None else self.evaluate(node.value))

    def _exec_Break(self, node: ast.Break) -> None:
        raise Break

    def _exec_Continue(self, node: ast.Continue) -> None:
        raise Continue

    def _exec_Expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _exec_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            self.expressions.is_only(node.value, "unpacked")
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _exec_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _exec_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            current = self.variables.load(target)
            value = self.evaluate(node.value)
            if not self.tracer.is_made(current):
                self.refuse_outer(node, current, f"changing {target.id} in place")
            result = self.expressions.in_place(node.op, current, value)
            self.variables.name_value(target.id, result)
            self.variables.store(target, result)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value)
            key = self.evaluate(target.slice)
            self.refuse_object(target, *self.variables.in_key(owner, key))
            if isinstance(owner, SymArray):
                version = owner.storage.version
                value = self.evaluate(node.value)
                if owner.storage.version != version:
                    self._refuse_late_read(node, owner, key)
                indexing.update_item(owner, key, self.expressions.ufunc_of(node.op), value)
                if isinstance(target.value, ast.Name):
                    self.variables.name_value(target.value.id, owner)
                return
            self.variables.refuse_plain(owner, key)
            self.refuse_outer(node, owner, f"changing {ast.unparse(target.value)} in place")
            self.variables.refuse_traced_in_plain(node, owner, key, None)
            held = owner[key]
            value = self.evaluate(node.value)
            self.variables.refuse_traced_in_plain(node, owner, key, value)
            owner[key] = self.expressions.in_place(node.op, held, value)
        else:
            owner = self.evaluate(target.value)
            held = self.calls.get_attribute(target, owner, target.attr)
            if self.tracer.is_made(owner):
                changed = self.expressions.in_place(node.op, held, self.evaluate(node.value))
                self.calls.made.set(target, owner, changed)
                return
            if isinstance(held, SymArray):
                self.expressions.in_place(node.op, held, self.evaluate(node.value))
            raise self.error(node, f"changing {ast.unparse(target)}", "objects are only read in a compiled function",
                             "Return the value, and assign it at the caller.")  # fmt: skip

    def _refuse_late_read(self, node: ast.AugAssign, owner: SymArray, key: Any) -> None:
        """`x[k] += f()` reads x[k] before f() writes into x, unless x[k] is a view."""
        item = owner[key]
        if item.is_scalar or item.storage is not owner.storage:
            raise self.error(
                node, f"changing {ast.unparse(node.target)} by what writes into {ast.unparse(node.target.value)}",  # type: ignore[union-attr]
                "the value from before the write is not kept", "Compute the new value in a separate statement.",
            )  # fmt: skip

    # -- control flow ------------------------------------------------------------------------------------

    def _exec_If(self, node: ast.If, rest: SequenceOf[ast.stmt] = ()) -> None:
        condition = self.expressions.condition(node.test)
        if self.is_of_the_run(condition):
            ways = (node.body, node.orelse)
            for taken, other in (ways, ways[::-1]):
                if (taken and self._is_for_numpy(taken)) or self._gives_none(taken or rest):
                    self.branches.leave_to_numpy(node, condition, taken is node.body)
                    self.block([*other, *rest])
                    return
            self._branch(node, condition, rest)
        else:
            self.block([*(node.body if self.truth(node.test, condition, "an if") else node.orelse), *rest])

    def _branch(self, node: ast.If, condition: Any, rest: SequenceOf[ast.stmt]) -> None:
        """A branch on data. One that cannot be, and that sizes and numbers of the call decide, is decided in another run of
        the trace."""
        truth = condition.read() if isinstance(condition, SymArray) else getattr(condition, "value", None)
        if self.place(node) in self.tracer.unrolled and truth is not None:
            known = known_value(self.tracer, truth)
            if known is not None:
                self.block([*(node.body if known else node.orelse), *rest])
                return
        try:
            self.branches.if_region(node, condition, list(rest))
        except CalleeNotSeen:
            raise
        except TraceError as error:
            if truth is None or self.place(node) in self.tracer.unrolled or not is_known(self.tracer, truth):
                raise
            raise BeginAgain(self.place(node), error) from None

    def _is_for_numpy(self, body: list[ast.stmt]) -> bool:
        """Whether a way of a branch raises, or warns: where it is taken, NumPy runs the call, with the same error or
        warning."""
        if self.tracer.checked is None:
            return False
        if isinstance(body[-1], ast.Raise):
            return not any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in inside(body, *FUNCTIONS))
        calls = [one.value for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
        named = [call.func for call in calls if ast.unparse(call.func) in ("warnings.warn", "warn")]
        return any(self.evaluate(function) is warnings.warn for function in named)

    def _gives_none(self, way: SequenceOf[ast.stmt]) -> bool:
        """Whether a way of a branch gives None at once, where the function gives something else elsewhere: no value of the
        program is either, and NumPy runs the calls that take this way."""
        if not way or self.tracer.checked is None or not isinstance(self.frame.node.body, list):
            return False
        if not isinstance(way[0], NoneBesideOthers) and not (isinstance(way[0], ast.Return) and gives_none(way[0])):
            return False
        others = [one for one in inside(self.frame.node.body, *FUNCTIONS) if isinstance(one, ast.Return)]
        return any(not gives_none(one) for one in others)

    def _exec_NoneBesideOthers(self, node: ast.stmt) -> None:
        raise self.error(
            node, "loops: a return of None in a loop, beside others that give a value",
            "a compiled function returns the same kind of value on every path",
            "Return in both branches, or leave it out of the compiled function.",
        )  # fmt: skip

    def _exec_For(self, node: ast.For) -> None:
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
                    self._for_region(node, limits)
                return
        elif isinstance(value, (SymArray, Sequence, ArrayList, StagedList)):
            value = value.items() if isinstance(value, (ArrayList, StagedList)) else value
            sequence = sequence_of(self.tracer, value)
            limits = self._limits(node, SymRange(0, SymInt(self.tracer, sequence.length), 1))
            if limits is not None:
                if not self.appended.filled(node, sequence):
                    self._for_region(node, limits, sequence.item)
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
                if self.ends_with(node, stopped):
                    self.frame.variables[stopped] = True

            if not stopped:
                self.assign(node.target, item)
                if self.ends_with(node):
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

    def _for_region(self, node: ast.For, limits: tuple[Size, Size, int], item: Any = None) -> None:
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
        if self.ends_with(node, stopped):
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

    def ends_with(self, node: ast.For | ast.While, stopped: str = "") -> bool:
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

    def _exec_While(self, node: ast.While) -> None:
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
            if self.ends_with(node):
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

    def _exec_Assert(self, node: ast.Assert) -> None:
        condition = self.expressions.condition(node.test)
        if self.is_of_the_run(condition) and self.tracer.checked is not None:
            self.branches.leave_to_numpy(node, condition, False)
        elif not self.truth(node.test, condition, "an assert"):
            raise AssertionError(*([] if node.msg is None else [self.evaluate(node.msg)]))

    def _exec_Raise(self, node: ast.Raise) -> None:
        if node.exc is None and self.state.handled:
            raise self.state.handled[-1]
        if node.exc is None:
            raise self.error(node, "a raise without an exception", "except clauses are not compiled")
        exception = self.evaluate(node.exc)
        # The recorded call ends here, with the user's own exception, or where the function catches it.
        if isinstance(exception, type) and issubclass(exception, BaseException):
            exception = exception()
        if isinstance(exception, Exception):
            self.state.raised.append(exception)
        raise exception

    def _exec_Try(self, node: ast.Try) -> None:
        try:
            self._try_body(node)
        except (TraceError, CarryNeeded, TestWrites):
            raise  # the trace ends here, or begins again: what follows is no matter
        except Exception:
            self.block(node.finalbody)
            raise
        self.block(node.finalbody)

    def _try_body(self, node: ast.Try) -> None:
        try:
            with self.frame.trying():
                self.block(node.body)
        except (TraceError, Control):
            raise
        except Exception as error:
            handler = self._handler_of(node, error)
            if handler is not None:
                self._handle(handler, error)
                return
            if not node.handlers:
                raise
            raise self.error(
                node,
                f"try/except as control flow ({type(error).__name__}: {error})",
                "whether a compiled function raises is decided when it runs",
                "Test the condition with an if on sizes, or leave it out of the compiled function.",
            ) from None
        self.block(node.orelse)

    def _handler_of(self, node: ast.Try, error: Exception) -> ast.ExceptHandler | None:
        """The except clause that takes an error of Python around the numbers: it is raised in each call, since nothing that
        differs from call to call decides it."""
        if not any(error is one for one in self.state.raised) and not _is_of_python(error):
            return None
        for handler in node.handlers:
            kinds = BaseException if handler.type is None else self.evaluate(handler.type)
            if isinstance(error, kinds):
                return handler
        raise error

    def _handle(self, handler: ast.ExceptHandler, error: Exception) -> None:
        if handler.name:
            self.frame.variables[handler.name] = error
        with pushed(self.state.handled, error):
            self.block(handler.body)
        if handler.name:
            self.frame.variables.pop(handler.name, None)

    def _exec_With(self, node: ast.With) -> None:
        self.managers.run(node, node.items)

    # -- definitions -------------------------------------------------------------------------------------

    def _exec_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.error(node, f"the decorated function {node.name} inside of a function",
                             "decorators are not followed there", "Define it at module level.")  # fmt: skip
        self.frame.variables[node.name] = self.expressions.make_function(node)

    def _exec_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = __import__(alias.name)
            if alias.asname:
                for part in alias.name.split(".")[1:]:
                    module = getattr(module, part)
            self.frame.variables[alias.asname or alias.name.split(".")[0]] = module

    def _exec_ImportFrom(self, node: ast.ImportFrom) -> None:
        namespace = self.frame.globals_of()
        names = [alias.name for alias in node.names]
        module = __import__(node.module or "", namespace, None, names, node.level)
        for alias in node.names:
            found = self.inputs.of_module(module, alias.name)
            self.frame.variables[alias.asname or alias.name] = found

    def _exec_Pass(self, node: ast.stmt) -> None:
        """Nothing to do. A declared global may be read; store() refuses to write it."""

    _exec_Nonlocal = _exec_Global = _exec_Pass

    def _exec_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                if target.id not in self.frame.variables:
                    raise UnboundLocalError(f"cannot access local variable '{target.id}'")
                del self.frame.variables[target.id]
            elif isinstance(target, ast.Subscript):
                owner = self.evaluate(target.value)
                self.changes_outer(target, owner, f"deleting an item of {ast.unparse(target.value)}")
                key = self.evaluate(target.slice)
                self.refuse_object(target, *self.variables.in_key(owner, key))
                del owner[key]
            else:
                raise self.error(node, f"del {ast.unparse(target)}", "objects are only read in a compiled function")


# Errors that sizes do not decide, and the names of what stands for values: where they are in an error, it may be ours.
_OF_PYTHON = (KeyError, AttributeError, TypeError, ImportError, ModuleNotFoundError, NameError)
_STAND_INS = ("Sym", "Run", "Staged", "Compressed", "Traced", "Sequence", "Lent")
_NUMBER = r"'(?:SymInt|SymScalar|RunScalar)'"
_AS_OF_NUMBERS = re.compile(rf"object of type {_NUMBER} has no len\(\)|{_NUMBER} object is not iterable")
_AS_OF_ARRAYS = re.compile(r"'numpy\.ndarray' object has no attribute '(\w+)'")


def _is_of_python(error: Exception) -> bool:
    """Whether Python itself raises it, with NumPy's arrays and its own numbers as with what stands for them."""
    text = str(error)
    if isinstance(error, np.exceptions.ComplexWarning):
        return True  # dtypes decide it
    if isinstance(error, ImportError) or (isinstance(error, TypeError) and _AS_OF_NUMBERS.fullmatch(text)):
        return True
    if isinstance(error, AttributeError) and (found := _AS_OF_ARRAYS.fullmatch(text)):
        return not hasattr(np.ndarray, found[1])
    if type(error) not in _OF_PYTHON or any(name in text for name in _STAND_INS):
        return False
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    of_interpreter = __name__.rpartition(".")[0]
    return place is not None and str(place.tb_frame.f_globals.get("__name__")).rpartition(".")[0] == of_interpreter


def _statement_name(node: ast.stmt) -> str:
    return {
        "ClassDef": "class", "AsyncFunctionDef": "async def", "AsyncFor": "async for", "AsyncWith": "async with",
        "Match": "match", "TryStar": "try/except*", "Delete": "del",
    }.get(type(node).__name__, type(node).__name__.lower())  # fmt: skip
