"""Generator functions that the traced function calls: followed item by item, as late as Python asks for the items."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from typing import Any

from .branches import Branches
from .expressions import Expressions
from .frame import Break, Continue, Frame, Return
from .iterators import TracedIterator
from .sequences import TRAVERSED, sequence_of
from .source import FUNCTIONS, first_in
from .state import Part, State

Items = Generator[Any, None, Any]  # what it gives at its end is what a `return` has


class GeneratorFunctions(Part):
    """The part of the interpreter that follows generator functions.

    Statements that yield, or leave a loop or the function, are gone through here, where Python can stop between them: what
    decides there is known while tracing. All others are the interpreter's, as in any function.
    """

    def __init__(self, state: State, expressions: Expressions, block: Callable[[list[ast.stmt]], None]) -> None:
        super().__init__(state)
        self.expressions = expressions
        self.block = block

    def made(self, frame: Frame, name: str, file: str) -> TracedIterator:
        """What a call of the function gives: nothing of it has run yet."""
        body = frame.node.body
        assert isinstance(body, list)
        return TracedIterator(self.state, self._items(body), frame, [file, name, frame.node.lineno])

    def _items(self, body: list[ast.stmt]) -> Items:
        try:
            yield from self._statements(body)
        except Return as returned:
            return returned.value
        except TypeError as error:
            raise self.tracer.in_users_words(error) from None
        return None

    def _statements(self, statements: Sequence[ast.stmt]) -> Items:
        for statement in statements:
            if not _yields(statement) and not Branches.leaves([statement]):
                self.block([statement])
                continue
            self.at(statement)
            handler = getattr(self, f"_exec_{type(statement).__name__}", None)
            if handler is None:
                raise self._refused(statement, f"a yield or a return in a {type(statement).__name__.lower()} statement")
            yield from handler(statement)

    def _exec_Return(self, node: ast.Return) -> Items:
        raise Return(None if node.value is None else self.expressions.evaluate(node.value))
        yield

    def _exec_Break(self, _: ast.Break) -> Items:
        raise Break
        yield

    def _exec_Continue(self, _: ast.Continue) -> Items:
        raise Continue
        yield

    def _exec_Expr(self, node: ast.Expr) -> Items:
        yield from self._value(node.value)

    def _exec_Assign(self, node: ast.Assign) -> Items:
        value = yield from self._value(node.value)
        for target in node.targets:
            self.expressions.variables.assign(target, value)

    def _value(self, node: ast.expr) -> Items:
        """Of an expression that is a yield; of `yield x` it is None, since nothing is sent."""
        inner = getattr(node, "value", None)
        if not isinstance(node, (ast.Yield, ast.YieldFrom)) or (inner is not None and _yields(inner)):
            raise self._refused(node, "a yield inside of an expression")
        given = None if inner is None else self.expressions.evaluate(inner)
        if isinstance(node, ast.Yield):
            yield given
            return None
        return (yield from self._each(node, given))

    def _each(self, node: ast.AST, value: Any) -> Any:
        """Item by item: of arrays and ranges over sizes as many as are unrolled."""
        if isinstance(value, TRAVERSED) and not isinstance(value, range):
            return iter(sequence_of(self.tracer, value))
        return iter(self.expressions.iterate(node, value))

    def _exec_If(self, node: ast.If) -> Items:
        yield from self._statements(node.body if self._holds(node.test, "an if") else node.orelse)

    def _exec_For(self, node: ast.For) -> Items:
        for item in self._each(node.iter, self.expressions.evaluate(node.iter)):
            self.expressions.variables.assign(node.target, item)
            if (yield from self._ends_with(node.body)):
                return
        yield from self._statements(node.orelse)

    def _exec_While(self, node: ast.While) -> Items:
        while self._holds(node.test, "a while"):
            if (yield from self._ends_with(node.body)):
                return
        yield from self._statements(node.orelse)

    def _ends_with(self, body: list[ast.stmt]) -> Generator[Any, None, bool]:
        """One iteration; whether a break ended the loop."""
        try:
            yield from self._statements(body)
        except Break:
            return True
        except Continue:
            pass
        return False

    def _holds(self, test: ast.expr, what: str) -> bool:
        condition = self.expressions.condition(test)
        if self.is_of_the_run(condition):
            raise self._refused(test, f"{what} on data around a yield or a return")
        return self.truth(test, condition, what)

    def _refused(self, node: ast.AST, what: str) -> Exception:
        return self.error(
            node,
            f"generators: {what}",
            "a generator is gone through while tracing",
            "Return a list or an array, or leave it out of the compiled function.",
        )


def _yields(node: ast.AST) -> bool:
    """Whether a statement or an expression does: a function that it defines is another one."""
    return not isinstance(node, FUNCTIONS) and first_in(node, ast.Yield, ast.YieldFrom) is not None
