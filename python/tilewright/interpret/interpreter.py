"""Runs a function's source on symbolic values: plain Python as Python does it, array operations into the program.

Statements are here; expressions are in expressions.py, calls in calls.py. Control
flow on sizes is decided, short loops are unrolled; longer ones and branches on data become regions (regions.py).
"""

# ruff: noqa: PLR0917
from __future__ import annotations

import ast
import builtins
import collections
import types
from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceOf
from contextlib import nullcontext
from typing import Any, NoReturn

import numpy as np

from ..errors import TraceError
from ..ops import indexing
from ..symbolic import tracer as tracer_module
from ..symbolic.arrays import SymArray
from ..symbolic.graph import PLAIN_OPERATIONS, REDUCTIONS
from ..symbolic.scalars import RunScalar, Symbolic, SymInt, described
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer, Undecided
from .arguments import Inputs
from .calls import Calls, SymRange
from .carried import CarryNeeded, Closure, Control, Leaving, Pending, TestWrites, may_change
from .early_return import behind_the_loop, else_behind, has_break, has_return, leaves_at_once
from .expressions import Expressions
from .pure import is_numpys
from .regions import Regions
from .sequences import Sequence, sequence_of
from .source import FunctionNode

MAX_DEPTH = 32
MAX_RECURSION = 2  # a helper that maps itself over a tuple; what data end would go on for ever
MAX_STATEMENTS = 200_000


class UnrollInstead(BaseException):
    """A short loop over a size that cannot stay one: the trace begins again, and unrolls it."""

    def __init__(self, place: tuple[str, int, int], why: TraceError) -> None:
        super().__init__(place)
        self.place = place
        self.why = why


class KeepInstead(BaseException):
    """A while whose condition is of the run, but for the first trips: the trace begins again, and does not unroll them."""

    def __init__(self, place: tuple[str, int, int]) -> None:
        super().__init__(place)
        self.place = place


class _Break(Control):
    """break"""


class _Continue(Control):
    """continue"""


class _Return(Control):
    """return, with its value"""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


_MISSING = object()


class Frame:
    """The variables of one running function."""

    def __init__(
        self,
        node: FunctionNode,
        function: types.FunctionType | None,
        parent: Frame | None,
    ) -> None:
        self.node = node
        self.function = function
        self.parent = parent
        self.caller: Frame | None = None
        self.variables: dict[str, Any] = {}
        self.locals, self.nonlocals, self.globals = _scopes(node)

    def of_generator(self, node: ast.GeneratorExp) -> Frame:
        """The frame of a generator expression in this one."""
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        frame = Frame(ast.Lambda(nothing, node), None, self)
        frame.nonlocals = frame.locals  # of := alone
        frame.locals = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        return frame

    def globals_of(self) -> dict[str, Any]:
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None:
                return frame.function.__globals__
            frame = frame.parent
        return {}


def _scopes(node: FunctionNode) -> tuple[set[str], set[str], set[str]]:
    """Names that the function binds, and those it declares nonlocal or global."""
    bound: set[str] = set()
    nonlocals: set[str] = set()
    declared_global: set[str] = set()
    arguments = node.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            bound.add(argument.arg)
    body: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while body:
        item = body.pop()
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(item.name)
            continue
        if isinstance(item, ast.Lambda):
            continue
        if isinstance(item, ast.comprehension):
            # Its target is a variable of the comprehension alone.
            body.extend([item.iter, *item.ifs])
            continue
        if isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            bound.add(item.id)
        elif isinstance(item, ast.Nonlocal):
            nonlocals.update(item.names)
        elif isinstance(item, ast.Global):
            declared_global.update(item.names)
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).split(".")[0] for alias in item.names)
        elif isinstance(item, ast.ExceptHandler) and item.name:
            bound.add(item.name)
        body.extend(ast.iter_child_nodes(item))
    return bound - nonlocals - declared_global, nonlocals, declared_global


class InterpretedFunction(Closure):
    """A def or lambda inside of an interpreted function."""

    def __init__(self, interpreter: Interpreter, node: FunctionNode, frame: Frame, defaults: dict[str, Any]) -> None:
        self.interpreter = interpreter
        self.node = node
        self.frame = frame
        self.defaults = defaults
        self.__name__ = "<lambda>" if isinstance(node, ast.Lambda) else node.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.interpreter.call_interpreted(self, list(args), kwargs)


class Interpreter(Expressions, Calls, Regions):
    """One trace's interpreter."""

    def __init__(self, tracer: Tracer, inputs: Inputs) -> None:
        self.tracer = tracer
        self.inputs = inputs
        self.frame: Frame = None  # type: ignore[assignment]
        self.depth = 0
        self.steps = 0
        self.active: list[Any] = []
        self.containers: list[dict[int, Any]] = []  # of each region around: Python's own containers from outside
        self.rewritten: dict[ast.stmt, tuple[list[ast.stmt], set[str]]] = {}  # loops, and what stands for them
        self.stopped: list[str] = []  # of each loop around that is a region: the variable of its breaks
        self.unrolling: list[tuple[str, int, int]] = []  # loops around that are unrolled
        self.ways_left = 0  # branches on data of which a way left its block
        # Files of frames, beside self.tracer.frames.
        self.statements: dict[type[ast.stmt], Callable[[Any], None]] = {
            ast.Return: self._return,
            ast.Assign: self._assign,
            ast.AugAssign: self._augmented,
            ast.AnnAssign: self._annotated,
            ast.Expr: self._expression,
            ast.If: self._branch,
            ast.For: self._loop,
            ast.While: self._while,
            ast.Pass: lambda node: None,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Assert: self._assert,
            ast.FunctionDef: self._define,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.With: self._with,
            ast.Try: self._try,
            ast.Raise: self._raise,
            ast.Delete: self._delete,
            ast.Nonlocal: lambda node: None,
            ast.Global: self._global,
        }

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
            raise self.tracer.error(
                f"calling {name}() from within itself",
                "recursion is not compiled",
                "Write it as a loop, or leave it out of the compiled function.",
                "recursion",
            )
        if self.depth >= MAX_DEPTH:
            raise self.tracer.error(
                f"calling {name}() {self.depth} calls deep",
                f"calls are followed {MAX_DEPTH} deep",
                "Leave the inner part out of the compiled function.",
                "call depth",
            )
        self._refuse_generator(node, name)
        frame = Frame(node, function, parent)
        frame.variables.update(variables)
        previous = frame.caller = self.frame
        self.frame = frame
        self.depth += 1
        self.active.append(identity)
        self.tracer.frames.append([file, name, node.lineno])
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body)
            # The end of a function returns, as any way out of its branches may.
            self.block([*node.body, ast.copy_location(ast.Return(None), node.body[-1])])
            return None
        except _Return as returned:
            return returned.value
        except TypeError as error:
            raise self.tracer.in_users_words(error) from None
        finally:
            self.tracer.last_frame = self.tracer.frames.pop()
            self.active.pop()
            self.depth -= 1
            self.frame = previous

    def _refuse_generator(self, node: FunctionNode, name: str) -> None:
        pending: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        while pending:
            item = pending.pop()
            if isinstance(item, (ast.Yield, ast.YieldFrom, ast.Await)):
                word = "async functions are" if isinstance(item, ast.Await) else "generators are"
                self.at(item)
                raise self.tracer.error(
                    f"{name}() uses {type(item).__name__.lower()}",
                    f"{word} not compiled",
                    "Return arrays, or leave it out of the compiled function.",
                    "generator",
                )
            if not isinstance(item, (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef)):
                pending.extend(ast.iter_child_nodes(item))

    def at(self, node: ast.AST) -> None:
        line = getattr(node, "lineno", None)
        if line is not None and self.tracer.frames:
            self.tracer.frames[-1][2] = line

    # -- statements --------------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt]) -> None:
        statements = list(statements)
        for position, statement in enumerate(statements):
            leaves_in_else = isinstance(statement, (ast.For, ast.While)) and self.leaves(statement.orelse)
            if isinstance(statement, (ast.For, ast.While)) and (leaves_in_else or has_return(statement)):
                if statement not in self.rewritten:
                    rewrite = else_behind if leaves_in_else else behind_the_loop
                    self.rewritten[statement] = rewrite(statement)
                instead, names = self.rewritten[statement]
                self.frame.locals |= names
                self.block([*instead, *statements[position + 1 :]])
                return
            if not self.leaves([statement]):
                self.execute(statement)
            elif isinstance(statement, ast.If):
                # What follows belongs to the ways that do not leave.
                self.count_step(statement)
                self._branch(statement, statements[position + 1 :])
                return
            else:
                before = self.ways_left
                self.execute(statement)
                if self.ways_left != before and not isinstance(statement, (ast.For, ast.While)):
                    raise self.error(statement, f"loops: leaving a {_statement_name(statement)} by a branch on data",
                                     "there is no rule for it", "Leave it behind the statement.")  # fmt: skip

    def run_until_left(self, statements: list[ast.stmt]) -> tuple[Leaving | None, Any]:
        """How the statements end, and what a return gives."""
        try:
            self.block(statements)
        except _Break:
            return Leaving.BREAK, None
        except _Continue:
            return Leaving.CONTINUE, None
        except _Return as returned:
            return Leaving.RETURN, returned.value
        return None, None

    def leave_with(self, value: Any) -> NoReturn:
        raise _Return(value)

    def execute(self, node: ast.stmt) -> None:
        self.count_step(node)
        handler = self.statements.get(type(node))
        if handler is None:
            raise self.error(
                node,
                f"a {_statement_name(node)} statement",
                "it has no meaning in a compiled function",
                "Leave it out of the compiled function.",
            )
        handler(node)

    def count_step(self, node: ast.stmt) -> None:
        self.steps += 1
        if self.steps > MAX_STATEMENTS:
            raise self.error(node, "loops: more than 200,000 statements were interpreted",
                             "a loop that is unrolled this far does not compile in useful time",
                             "Write it with array operations, or leave it out of the compiled function.")  # fmt: skip
        self.at(node)

    def error(self, node: ast.AST, asked: str, why: str, what_to_do: str) -> TraceError:
        self.at(node)
        return self.tracer.error(asked, why, what_to_do, type(node).__name__)

    def _return(self, node: ast.Return) -> None:
        raise _Return(None if node.value is None else self.evaluate(node.value))

    def _break(self, node: ast.Break) -> None:
        raise _Break

    def _continue(self, node: ast.Continue) -> None:
        raise _Continue

    def _expression(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.name_value(target.id, value)
            self.store(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value)
            key = self.evaluate_index(target.slice)
            self.refuse_outer(target, owner, f"assigning an item of {ast.unparse(target.value)}")
            self.refuse_object(target, *self.in_key(owner, key), value if isinstance(owner, SymArray) else None)
            if isinstance(owner, np.ndarray) and isinstance(value, Symbolic):
                raise self.error(target, "storing a traced value in an array of plain values",
                                 "the array was made by a call that is not traced",
                                 "Make it with np.zeros or np.empty inside of the function.")  # fmt: skip
            owner[key] = value
            if isinstance(target.value, ast.Name):
                self.name_value(target.value.id, owner)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value)
            if isinstance(owner, SymArray):
                raise self.error(target, f"assigning the attribute {target.attr} of an array",
                                 "there is no rule for it", "Use reshape or astype.")  # fmt: skip
            raise self.error(
                target, f"assigning {ast.unparse(target)}", "objects are only read in a compiled function",
                "Return the value, and assign it at the caller.",
            )  # fmt: skip
        else:
            raise self.error(target, f"assigning to {ast.unparse(target)}", "there is no rule for it",
                             "Assign to plain names.")  # fmt: skip

    def name_value(self, name: str, value: Any) -> None:
        """A variable names the value that was computed for it."""
        if isinstance(value, SymArray) and value.storage.argument is None and not value.chain:
            held = value.storage.value
            if not held.user_name and held.operation not in PLAIN_OPERATIONS and name.strip("_"):
                held.user_name = name

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        self.refuse_object(target, value)
        if isinstance(value, SymArray):
            if any(isinstance(element, ast.Starred) for element in target.elts):
                items = list(value)
            else:
                wanted = len(target.elts)
                if value.ndim == 0:
                    raise TypeError("cannot unpack non-iterable scalar")
                message = f"unpacking {wanted} values"
                self.tracer.require("==", value.sizes[0], wanted, message, ValueError)
                items = [value[k] for k in range(wanted)]
        else:
            items = list(value)
        starred = [k for k, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
        if starred:
            k = starred[0]
            after = len(target.elts) - k - 1
            if len(items) < len(target.elts) - 1:
                raise ValueError(
                    f"not enough values to unpack (expected at least {len(target.elts) - 1}, got {len(items)})"
                )
            middle = items[k : len(items) - after]
            items = [*items[:k], middle, *items[len(items) - after :]]
        if len(items) < len(target.elts):
            raise ValueError(f"not enough values to unpack (expected {len(target.elts)}, got {len(items)})")
        if len(items) > len(target.elts):
            raise ValueError(f"too many values to unpack (expected {len(target.elts)})")
        for element, item in zip(target.elts, items, strict=True):
            self.assign(element.value if isinstance(element, ast.Starred) else element, item)

    def store(self, target: ast.Name, value: Any) -> None:
        frame: Frame | None = self.frame
        assert frame is not None
        if target.id in frame.globals:
            raise self.error(target, f"assigning the global {target.id}", "it would happen only once, while tracing",
                             "Return the value, and assign it at the caller.")  # fmt: skip
        if target.id in frame.nonlocals:
            frame = frame.parent
            while frame is not None and target.id not in frame.locals:
                frame = frame.parent
            if len(self.tracer.blocks) > 1:
                raise self.error(target, f"loops: assigning the outer variable {target.id} in a loop or branch of the run",
                                 "only the variables of the function that the loop is in are carried",
                                 "Return the value, and assign it in the loop.")  # fmt: skip
            if frame is None:
                raise self.error(target, f"assigning the outer variable {target.id}",
                                 "it would happen only once, while tracing",
                                 "Return the value, and assign it at the caller.")  # fmt: skip
        frame.variables[target.id] = value

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            current = self.load(target)
            value = self.evaluate(node.value)
            self.refuse_outer(node, current, f"changing {target.id} in place")
            result = self.in_place(node.op, current, value)
            self.name_value(target.id, result)
            self.store(target, result)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value)
            key = self.evaluate_index(target.slice)
            self.refuse_object(target, *self.in_key(owner, key))
            if isinstance(owner, SymArray):
                version = owner.storage.version
                value = self.evaluate(node.value)
                if owner.storage.version != version:
                    self._refuse_late_read(node, owner, key)
                indexing.update_item(owner, key, self.ufunc_of(node.op), value)
                if isinstance(target.value, ast.Name):
                    self.name_value(target.value.id, owner)
                return
            self.refuse_outer(node, owner, f"changing {ast.unparse(target.value)} in place")
            held = owner[key]
            owner[key] = self.in_place(node.op, held, self.evaluate(node.value))
        else:
            owner = self.evaluate(target.value)
            held = self.get_attribute(target, owner, target.attr)
            if isinstance(held, SymArray):
                self.in_place(node.op, held, self.evaluate(node.value))
            raise self.error(node, f"changing {ast.unparse(target)}", "objects are only read in a compiled function",
                             "Return the value, and assign it at the caller.")  # fmt: skip

    def _refuse_late_read(self, node: ast.AugAssign, owner: SymArray, key: Any) -> None:
        """`x[k] += f()` reads x[k] before f() writes into x, unless x[k] is a view."""
        item = owner[key]
        if item.is_scalar or item.storage is not owner.storage:
            raise self.error(
                node, f"changing {ast.unparse(node.target)} by what writes into {ast.unparse(node.target.value)}",  # type: ignore[union-attr]
                "there is no rule for what was there before", "Compute the new value in a statement of its own.",
            )  # fmt: skip

    # -- control flow ------------------------------------------------------------------------------------

    def truth(self, node: ast.AST, value: Any, what: str) -> bool:
        """Whether a condition holds. Sizes decide under a guard; elements cannot decide."""
        if isinstance(value, SymArray):
            self.at(node)
            condition = ast.unparse(node)
            why, what_to_do = (
                "it depends on elements that are known only when the compiled function runs",
                ("Leave it out of the compiled function."),
            )
            if value.sizes:
                why, what_to_do = "the truth of an array of several elements is an error", "Use np.any or np.all."
            raise self.tracer.error(f"loops: {what} on {condition}, {described(value)}"[:400], why, what_to_do, what)
        if self.inputs.is_object(value):
            if type(value).__bool__ if hasattr(type(value), "__bool__") else hasattr(type(value), "__len__"):
                self.refuse_object(node, value)
            return True
        return bool(value)

    def _branch(self, node: ast.If, rest: SequenceOf[ast.stmt] = ()) -> None:
        condition = self.evaluate(node.test)
        if self.is_of_the_run(condition):
            self.if_region(node, condition, list(rest))
        else:
            self.block([*(node.body if self.truth(node.test, condition, "an if") else node.orelse), *rest])

    def is_of_the_run(self, condition: Any) -> bool:
        """Whether a truth is one number that only the running function knows."""
        if isinstance(condition, SymInt):
            return self.tracer.decide_if_same_in_all_trips("!=", condition.size, 0) is None
        return isinstance(condition, RunScalar) or (isinstance(condition, SymArray) and not condition.sizes)

    def _loop(self, node: ast.For) -> None:
        value = self.evaluate(node.iter)
        self.at(node)
        if isinstance(value, (range, SymRange)):
            limits = self._limits(node, value)
            if limits is not None:
                self._for_region(node, limits)
                return
        elif isinstance(value, (SymArray, Sequence)):
            sequence = sequence_of(self.tracer, value)
            assert sequence is not None
            limits = self._limits(node, SymRange(0, SymInt(self.tracer, sequence.length), 1))
            if limits is not None:
                self._for_region(node, limits, sequence.item)
                return
            value = (sequence.item(k) for k in range(self.tracer.fix(sequence.length)))
        for item in self.iterate(node.iter, value):
            self.assign(node.target, item)
            if self.ends_with(node):
                return
        self.block(node.orelse)

    def _limits(self, node: ast.For, value: range | SymRange) -> tuple[Size, Size, int] | None:
        """(first, stop, step) of a range whose loop stays one, None where it is short enough to be unrolled."""
        step = value.step.__index__()
        first, stop = (limit.size if isinstance(limit, SymInt) else Size.constant(limit.__index__())
                       for limit in (value.start, value.stop))  # fmt: skip
        length = self.tracer.fixed_if_small(stop - first if step > 0 else first - stop)
        trips = (self.tracer.value_of(length) + abs(step) - 1) // abs(step)
        is_short = length.is_constant and trips <= tracer_module.MAX_SHORT_TRIPS and not has_break(node)
        is_short |= length.is_constant and leaves_at_once(node)
        if trips <= tracer_module.MAX_UNROLLED_TRIPS and (is_short or self.place(node) in self.tracer.unrolled):
            return None
        some = self.tracer.decide_if_same_in_all_trips(">=", length, 1)
        return None if some is False else (first, stop, step)

    def place(self, node: ast.stmt) -> tuple[str, int, int]:
        return self.tracer.frames[-1][0], node.lineno, node.col_offset

    def _for_region(self, node: ast.For, limits: tuple[Size, Size, int], item: Any = None) -> None:
        """A loop that stays one; a short one that cannot is unrolled, in another run of the trace."""
        first, stop, step = limits
        trips = self.tracer.value_of(stop - first if step > 0 else first - stop)
        try:
            self.for_region(node, first, stop, step, item)
        except TraceError as error:
            if self.tracer.reads.keys() & (stop - first).symbols() or trips > tracer_module.MAX_UNROLLED_TRIPS * abs(
                step
            ):
                raise
            if self.place(node) in self.tracer.unrolled:
                raise
            raise UnrollInstead(self.place(node), error) from None

    def ends_with(self, node: ast.For | ast.While) -> bool:
        """One round of a loop that is unrolled; whether a break ended the loop."""
        self.stopped.append("")
        self.unrolling.append(self.place(node))
        try:
            self.block(node.body)
            self._refuse_slow_compile(node)
        except _Break:
            return True
        except _Continue:
            pass
        finally:
            self.stopped.pop()
            self.unrolling.pop()
        return False

    def _refuse_slow_compile(self, node: ast.For | ast.While) -> None:
        reductions = sum(value.operation in REDUCTIONS for value in self.tracer.blocks[-1].values)
        if reductions <= tracer_module.MAX_UNROLLED_REDUCTIONS:
            return
        if (why := self.tracer.unrolled.get(self.place(node))) is not None:
            raise why  # what keeps it from staying a loop, which would compile
        raise self.error(
            node, f"loops: more than {tracer_module.MAX_UNROLLED_REDUCTIONS} reductions of a loop that is unrolled",
            "these do not compile in useful time", "Leave the loop out of the compiled function.",
        )  # fmt: skip

    def iterate(self, node: ast.AST, value: Any) -> Iterable[Any]:
        """What a for visits, one by one."""
        self.at(node)
        self.refuse_object(node, value)
        if isinstance(value, SymArray):
            found = sequence_of(self.tracer, value)
            return found if found is not None else value
        return value.items() if isinstance(value, SymRange) else value

    def _while(self, node: ast.While) -> None:
        # Trips whose condition is known now are unrolled, as those of a short range are.
        unrolled = self.place(node) in self.tracer.unrolled
        stays = not unrolled and (has_break(node) or self.place(node) in self.tracer.kept)
        for trip in range(0 if stays else tracer_module.MAX_UNROLLED_TRIPS):
            try:
                with nullcontext() if unrolled else self.tracer.without_decisions():
                    condition = self.evaluate(node.test)
            except Undecided:
                break
            if self.is_of_the_run(condition):
                if trip and not unrolled:
                    # The first trips too: one loop is better than two copies of its body.
                    raise KeepInstead(self.place(node))
                break
            if not self.truth(node.test, condition, "a while"):
                self.block(node.orelse)
                return
            if self.ends_with(node):
                return
        try:
            self.while_region(node)
        except TraceError as error:
            if unrolled or any(self.tracer.reads):
                raise
            raise UnrollInstead(self.place(node), error) from None

    def _assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test, self.evaluate(node.test), "an assert"):
            raise AssertionError(*([] if node.msg is None else [self.evaluate(node.msg)]))

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            raise self.error(node, "a raise without an exception", "except clauses are not compiled",
                             "Leave it out of the compiled function.")  # fmt: skip
        exception = self.evaluate(node.exc)
        # The recorded call ends here, with the user's own exception.
        raise exception

    def _try(self, node: ast.Try) -> None:
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
            self.block(node.body)
        except (TraceError, Control):
            raise
        except Exception as error:
            if not node.handlers:
                raise
            raise self.error(
                node,
                f"try/except as control flow ({type(error).__name__}: {error})",
                "whether a compiled function raises is decided when it runs",
                "Test the condition with an if on sizes, or leave it out of the compiled function.",
            ) from None
        self.block(node.orelse)

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            settings = self._errstate(item.context_expr)
            if settings is None:
                self.evaluate(item.context_expr)  # it may say in its own words why it is refused
                raise self.error(
                    node,
                    f"with {ast.unparse(item.context_expr)}",
                    "entering and leaving it would happen only once, while tracing",
                    "Move it to the caller.",
                )
            if any(setting not in ("ignore", "warn") for setting in settings.values()):
                raise self.error(
                    node,
                    f"with {ast.unparse(item.context_expr)}",
                    "compiled code raises no floating-point errors",
                    "Leave it out, or leave the function to NumPy.",
                )
            np.errstate(**settings)  # or NumPy's own error
            if item.optional_vars is not None:
                self.assign(item.optional_vars, None)
        self.block(node.body)

    def _errstate(self, made: ast.expr) -> dict[str, Any] | None:
        """The settings of an np.errstate() that is made right here; None for everything else."""
        if not isinstance(made, ast.Call) or made.args or self.evaluate(made.func) is not np.errstate:
            return None
        settings: dict[str, Any] = {}
        for keyword in made.keywords:
            settings.update(
                self.unpacked(keyword.value) if keyword.arg is None else {keyword.arg: self.evaluate(keyword.value)}
            )
        return settings

    # -- definitions -------------------------------------------------------------------------------------

    def make_function(self, node: FunctionNode) -> InterpretedFunction:
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: dict[str, Any] = {}
        for argument, default in zip(
            positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True
        ):
            defaults[argument.arg] = self.evaluate(default)
        for argument, kw_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if kw_default is not None:
                defaults[argument.arg] = self.evaluate(kw_default)
        return InterpretedFunction(self, node, self.frame, defaults)

    def _define(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.error(node, f"the decorated function {node.name} inside of a function",
                             "decorators are not followed there", "Define it at module level.")  # fmt: skip
        self.frame.variables[node.name] = self.make_function(node)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = __import__(alias.name)
            if alias.asname:
                for part in alias.name.split(".")[1:]:
                    module = getattr(module, part)
            self.frame.variables[alias.asname or alias.name.split(".")[0]] = module

    def _import_from(self, node: ast.ImportFrom) -> None:
        namespace = self.frame.globals_of()
        names = [alias.name for alias in node.names]
        module = __import__(node.module or "", namespace, None, names, node.level)
        for alias in node.names:
            found = self.inputs.of_module(module, alias.name)
            self.frame.variables[alias.asname or alias.name] = found

    def _global(self, node: ast.Global) -> None:
        """Reading a declared global is fine; store() refuses to write it."""

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                if self.frame.variables.pop(target.id, _MISSING) is _MISSING:
                    raise UnboundLocalError(f"cannot access local variable '{target.id}'")
            elif isinstance(target, ast.Subscript):
                owner = self.evaluate(target.value)
                self.refuse_outer(target, owner, f"deleting an item of {ast.unparse(target.value)}")
                key = self.evaluate_index(target.slice)
                self.refuse_object(target, *self.in_key(owner, key))
                del owner[key]
            else:
                raise self.error(node, f"del {ast.unparse(target)}", "objects are only read in a compiled function",
                                 "Leave it out of the compiled function.")  # fmt: skip

    # -- variables ---------------------------------------------------------------------------------------

    def load(self, node: ast.Name) -> Any:
        name = node.id
        frame: Frame | None = self.frame
        first = frame
        while frame is not None:
            if name in frame.variables and name not in frame.globals:
                held = frame.variables[name]
                return held.read() if isinstance(held, Pending) else held
            if frame is first and name in frame.locals:
                raise UnboundLocalError(
                    f"cannot access local variable '{name}' where it is not associated with a value"
                )
            function = frame.function
            if function is not None:
                return self.load_outer(function, name)
            frame = frame.parent
        raise NameError(f"name '{name}' is not defined")

    def load_outer(self, function: types.FunctionType, name: str) -> Any:
        """A variable of a closure, a global or a builtin."""
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                contents = cell.cell_contents
            except ValueError:
                raise NameError(f"cannot access free variable '{name}'") from None
            if function is self.tracer.cache.get("function"):
                return self.inputs.outside((("closure", name),), contents)
            return self.inputs.outside((*self.inputs.path_of_function(function), ("cell", name)), contents)
        if is_numpys(function):
            return function.__globals__[name] if name in function.__globals__ else getattr(builtins, name)
        if name in function.__globals__:
            return self.inputs.outside(self.inputs.global_path(function, name), function.__globals__[name])
        if hasattr(builtins, name):
            return self.inputs.builtin(function, name, getattr(builtins, name))
        raise NameError(f"name '{name}' is not defined")

    def refuse_outer(self, node: ast.AST, owner: Any, asked: str) -> None:
        """Changing what lives outside of the function would happen only once."""
        self.refuse_in_region(node, owner, asked)
        is_container = isinstance(owner, (list, dict, set, collections.deque))
        if (is_container and self.inputs.is_outer(owner)) or self.inputs.is_object(owner):
            raise self.error(
                node,
                asked,
                "it lives outside of the function, and the change would happen only once, while tracing",
                "Return the value, and keep it at the caller.",
            )

    def refuse_in_region(self, node: ast.AST, owner: Any, asked: str) -> None:
        """A list, dict or set from outside of a loop of the run is one in all trips: no value of the program is it."""
        if may_change(owner) and any(id(owner) in held for held in self.containers):
            raise self.error(
                node, f"loops: {asked} in a loop or branch of the run",
                "lists, dicts and sets are Python's own while tracing, and a loop of the run is traced as one trip",
                "Write into an array that is made before the loop.",
            )  # fmt: skip


def _statement_name(node: ast.stmt) -> str:
    return {
        "ClassDef": "class", "AsyncFunctionDef": "async def", "AsyncFor": "async for", "AsyncWith": "async with",
        "Match": "match", "TryStar": "try/except*", "Delete": "del",
    }.get(type(node).__name__, type(node).__name__.lower())  # fmt: skip
