"""Runs a function's source on symbolic values: plain Python as Python does it, array operations into the program.

Functions and most statements are here; loops are in loop_statements.py, expressions in expressions.py, calls in calls.py.
Control flow on sizes is decided; branches on data become regions (regions.py).
"""

# ruff: noqa: PLR0917
from __future__ import annotations

import ast
import inspect
import types
import warnings
from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceOf
from typing import Any

from ..errors import TraceError
from ..failed_traces import is_of_a_handler, text_of
from ..ops import indexing
from ..symbolic.arrays import SymArray
from ..symbolic.tracer import Tracer
from . import moved_draws, moved_states  # noqa: F401  (kinds of generators)
from .arguments import Inputs
from .branches import Branches
from .calls import Calls
from .comprehensions import Comprehensions
from .early_return import NoneBesideOthers, behind_the_loop, else_behind, gives_none, has_return, returns_beside
from .exceptions import Exceptions
from .expressions import Expressions
from .frame import Break, Continue, Frame, Leaving, Return
from .generator_functions import GeneratorFunctions
from .lists_of_the_call import list_of_the_call
from .loop_statements import LoopStatements
from .managers import Managers
from .none_arguments import BothWays, made_both_ways
from .parts import Parts
from .source import FUNCTIONS, FunctionNode, first_in, inside
from .state import Part, State

MAX_DEPTH = 32
MAX_RECURSION = 2  # a helper that maps itself over a tuple; what data end would go on for ever
MAX_STATEMENTS = 200_000
_WITH_STEPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What reading an attribute finds in a class and runs nothing of.
_PLAIN_IN_CLASSES = (types.FunctionType, staticmethod, classmethod, types.MemberDescriptorType)


class Interpreter(Part):
    """One trace's interpreter."""

    def __init__(self, tracer: Tracer, inputs: Inputs) -> None:
        super().__init__(State(tracer, inputs))
        inputs.list_of_the_call = list_of_the_call
        self.depth = 0
        self.steps = 0
        self.active: list[Any] = []
        self.rewritten: dict[ast.stmt, tuple[list[ast.stmt], set[str]]] = {}  # loops, and what stands for them
        self.branches = Branches(self.state, self.run_until_left)
        self.calls = Calls(self.state, self.branches.choose, self.run_node)
        self.expressions = Expressions(self.state, self.branches, self.calls)
        self.variables = self.expressions.variables
        self.evaluate, self.assign = self.expressions.evaluate, self.variables.assign
        self.generators = GeneratorFunctions(self.state, self.expressions, self.block)
        self.managers = Managers(self.state, self.expressions, self.block)
        self.loops = LoopStatements(self.state, self.branches, self.expressions, self.block)
        self.exceptions = Exceptions(self.state, self.expressions, self.block)
        self.comprehensions = Comprehensions(self.state, self.loops.for_region)
        self.expressions.listed = self.comprehensions.listed
        self.expressions.folds.run_for = self.loops.run_for
        self.parts = Parts(self.state)
        # Each kind of statement that has a meaning in a compiled function.
        self.statements: dict[type[ast.stmt], Callable[[Any], None]] = {
            ast.AnnAssign: self._ann_assign,
            ast.Assert: self._assert,
            ast.Assign: self._assign,
            ast.AugAssign: self._aug_assign,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Delete: self._delete,
            ast.Expr: self._expr,
            ast.For: self.loops.run_for,
            ast.FunctionDef: self._function_def,
            ast.Global: self._pass,
            ast.If: self._if,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Nonlocal: self._pass,
            ast.Pass: self._pass,
            ast.Raise: self.exceptions.run_raise,
            ast.Return: self._return,
            ast.Try: self.exceptions.run_try,
            ast.While: self.loops.run_while,
            ast.With: lambda node: self.managers.run(node, node.items),
            NoneBesideOthers: self._none_beside_others,
        }

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
                if is_ours or is_users or not self.tracer.refuses_errors or is_of_a_handler(error):
                    raise
                refusal = self.tracer.error(f"tracing it raises {text_of(error)}", "NumPy raises nothing there")
                self.parts.offer(refusal, statements, position)
                raise refusal from error
            position = behind

    def _goes_on_behind(self, statements: list[ast.stmt], position: int) -> bool:
        """Runs one of the statements; whether those behind it have run as well."""
        statement = statements[position]
        if (both := made_both_ways(statement)) is not None and self._is_by_data(both):
            self.frame.locals |= both.names
            self.block([*both.instead, *statements[position + 1 :]])
            return True
        leaves_in_else = isinstance(statement, (ast.For, ast.While)) and self.branches.leaves(statement.orelse)
        if isinstance(statement, (ast.For, ast.While)) and (leaves_in_else or has_return(statement)):
            if statement not in self.rewritten:
                body = self.frame.node.body
                others = returns_beside(statement, body) if isinstance(body, list) else []
                made = else_behind(statement) if leaves_in_else else behind_the_loop(statement, others)
                self.rewritten[statement] = made
            instead, names = self.rewritten[statement]
            self.frame.locals |= names
            self.block([*instead, *statements[position + 1 :]])
            return True
        if not self.branches.leaves([statement]):
            self.execute(statement)
        elif isinstance(statement, ast.If):
            # What follows belongs to the ways that do not leave.
            self.count_step(statement)
            self._if(statement, statements[position + 1 :])
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
        handler = self.statements.get(type(node))
        if handler is None:
            raise self.error(
                node,
                f"a {_statement_name(node)} statement",
                "of patterns, values alone, alternatives of them and _ are followed"
                if isinstance(node, ast.Match)
                else "it has no meaning in a compiled function",
            )
        handler(node)

    def count_step(self, node: ast.stmt) -> None:
        self.steps += 1
        if self.steps > MAX_STATEMENTS:
            raise self.error(node, "loops: more than 200,000 statements were interpreted",
                             "a loop that is unrolled this far does not compile in useful time",
                             "Write it with array operations, or leave it out of the compiled function.")  # fmt: skip
        self.at(node)

    def _return(self, node: ast.Return) -> None:
        raise Return(None if node.value is None else self.evaluate(node.value))

    def _break(self, node: ast.Break) -> None:
        raise Break

    def _continue(self, node: ast.Continue) -> None:
        raise Continue

    def _is_by_data(self, both: BothWays) -> bool:
        """Whether the run decides it by a condition that may be evaluated first, and twice: it only reads, and so does all before it."""
        if not all(map(self._only_reads, (*both.before, both.test))):
            return False
        return self.is_of_the_run(self.expressions.condition(both.test))

    def _only_reads(self, node: ast.AST) -> bool:
        """Whether no property and no operator of a class of the script's has a part in what an expression without calls gives."""
        if isinstance(node, (ast.Name, ast.Constant)) or (isinstance(node, ast.Lambda) and not node.args.defaults):
            return True
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.expr, ast.keyword))]
        if isinstance(node, (*_WITH_STEPS, ast.Lambda)) or not all(map(self._only_reads, parts)):
            return False
        if isinstance(node, ast.Attribute):
            held = inspect.getattr_static(type(owner := self.evaluate(node.value)), node.attr, None)
            is_plain = isinstance(held, _PLAIN_IN_CLASSES) or not hasattr(type(held), "__get__")
            return not self._is_an_object(owner) or (is_plain and not hasattr(type(owner), "__getattr__"))
        if isinstance(node, (ast.Tuple, ast.List, ast.keyword, ast.Starred)):
            return not isinstance(node, ast.Starred)
        operands = [part for part in parts if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))]
        return not any(self._is_an_object(self.evaluate(one)) for one in operands)

    def _is_an_object(self, value: Any) -> bool:
        """Whether its class may be the script's."""
        return self.tracer.is_made(value) or self.inputs.is_object(value)

    def _expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            self.expressions.is_only(node.value, "unpacked")
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _aug_assign(self, node: ast.AugAssign) -> None:
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
            stays = type(owner) in (list, dict) and _is_array_at(owner, key)  # which is written, and not the container
            asked, is_own = f"changing {ast.unparse(target.value)} in place", self.is_own_item(owner, key)
            if not stays and not is_own and not self.sets_items(owner, key):
                self.refuse_outer(node, owner, asked)
            self.variables.refuse_traced_in_plain(node, owner, key, None)
            held = owner[key]
            value = self.evaluate(node.value)
            self.variables.refuse_traced_in_plain(node, owner, key, value)
            result = self.expressions.in_place(node.op, held, value)
            if is_own:
                self.variables.set_own_item(node, owner, key, result, asked)
            elif not stays or result is not held:
                owner[key] = result
        else:
            owner = self.evaluate(target.value)
            held = self.calls.get_attribute(target, owner, target.attr)
            if not self.tracer.is_made(held):
                self.refuse_outer(node, held, f"changing {ast.unparse(target)} in place")
            changed = self.expressions.in_place(node.op, held, self.evaluate(node.value))
            if not self.calls.made.stays(owner, target.attr, held, changed):
                self.calls.made.set(target, owner, changed)

    def _refuse_late_read(self, node: ast.AugAssign, owner: SymArray, key: Any) -> None:
        """`x[k] += f()` reads x[k] before f() writes into x, unless x[k] is a view."""
        item = owner[key]
        if item.is_scalar or item.storage is not owner.storage:
            raise self.error(
                node, f"changing {ast.unparse(node.target)} by what writes into {ast.unparse(node.target.value)}",  # type: ignore[union-attr]
                "the value from before the write is not kept", "Compute the new value in a separate statement.",
            )  # fmt: skip

    # -- control flow ------------------------------------------------------------------------------------

    def _if(self, node: ast.If, rest: SequenceOf[ast.stmt] = ()) -> None:
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
        """A branch on data."""
        if (known := self.branches.known_way(node, condition)) is not None:
            self.block([*(node.body if known else node.orelse), *rest])
            return
        with self.branches.known_where_refused(node, condition):
            self.branches.if_region(node, condition, list(rest))

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

    def _none_beside_others(self, node: ast.stmt) -> None:
        raise self.error(
            node, "loops: a return of None in a loop, beside others that give a value",
            "a compiled function returns the same kind of value on every path",
            "Return in both branches, or leave it out of the compiled function.",
        )  # fmt: skip

    def _assert(self, node: ast.Assert) -> None:
        condition = self.expressions.condition(node.test)
        if self.is_of_the_run(condition) and self.tracer.checked is not None:
            self.branches.leave_to_numpy(node, condition, False)
        elif not self.truth(node.test, condition, "an assert"):
            raise AssertionError(*([] if node.msg is None else [self.evaluate(node.msg)]))

    # -- definitions -------------------------------------------------------------------------------------

    def _function_def(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.error(node, f"the decorated function {node.name} inside of a function",
                             "decorators are not followed there", "Define it at module level.")  # fmt: skip
        self.frame.variables[node.name] = self.expressions.make_function(node)

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

    def _pass(self, node: ast.stmt) -> None:
        """Nothing to do. A declared global may be read; store() refuses to write it."""

    def _delete(self, node: ast.Delete) -> None:
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


def _is_array_at(owner: Any, key: Any) -> bool:
    """Whether a list or dict has an array there that may be written in place."""
    try:
        held = owner[key]
    except (LookupError, TypeError):
        return False
    return isinstance(held, SymArray) and not held.is_scalar


def _statement_name(node: ast.stmt) -> str:
    return {
        "ClassDef": "class", "AsyncFunctionDef": "async def", "AsyncFor": "async for", "AsyncWith": "async with",
        "Match": "match", "TryStar": "try/except*", "Delete": "del",
    }.get(type(node).__name__, type(node).__name__.lower())  # fmt: skip
