"""sum(), any() and all() of a generator as the loops that they stand for, where it goes through arrays or elements decide."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import TraceError
from ..ops.stages import materialized
from ..symbolic.arrays import SymArray
from .array_lists import ArrayList
from .comprehensions import has_own_meaning, placed
from .frame import BeginAgain
from .sequences import Sequence, SymRange
from .state import Part, State

FOLDED = (sum, any, all)
_MOST_ITEMS = 16  # each a statement, within the ifs of those before it


class Folds(Part):
    """The part of the interpreter that adds up and tests what generators give."""

    def __init__(self, state: State, evaluate: Callable[[ast.expr], Any], run_for: Callable[[ast.For], None]) -> None:
        """`run_for` is LoopStatements.run_for, which needs expressions itself."""
        super().__init__(state)
        self.evaluate, self.run_for = evaluate, run_for

    def may_be(self, node: ast.Call, function: Any) -> bool:
        """Whether a call of one of FOLDED is a loop if its generator goes through what a loop of a program does."""
        if self.tracer.checked is None or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            return False
        if len(node.args) > (2 if function is sum else 1) or any(isinstance(one, ast.Starred) for one in node.args):
            return False
        generators = node.args[0].generators
        # A sum of all items is one of an array that a comprehension fills.
        is_of_all = function is sum and len(generators) == 1 and not generators[0].ifs
        return not (is_of_all or any(one.is_async for one in generators) or has_own_meaning(self.frame, node.args[0]))

    def goes_through(self, node: ast.Call, value: Any) -> bool:
        """Whether the call is a loop over that: over what the program has, or over items of Python's of which data decide."""
        if isinstance(value, (range, list, tuple)):
            return self.place(node) in self.tracer.unrolled and self._can_be_tried(value)
        return isinstance(value, (SymRange, Sequence, ArrayList)) or (isinstance(value, SymArray) and bool(value.sizes))

    @contextmanager
    def not_yet(self, node: ast.Call, value: Any) -> Iterator[None]:
        """The call made item by item, while tracing: where that is refused, the trace begins again, and it is a loop."""
        try:
            yield
        except TraceError as error:
            if self.place(node) in self.tracer.unrolled or not self._can_be_tried(value):
                raise
            raise BeginAgain(self.place(node), error) from None

    def _can_be_tried(self, value: Any) -> bool:
        """Items of Python's in the outermost function alone: another one is left to Python, which decides at its first item,
        and what calls it is compiled as it was."""
        is_short = type(value) in (list, tuple) and len(value) <= _MOST_ITEMS
        return type(value) is range or (is_short and self.frame.caller is None)

    def run(self, node: ast.Call, function: Any, items: Any) -> Any:
        """What the call gives. `items`: what its generator goes through first."""
        loop, total, first = _loop(node, function)
        names = {one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        variables = self.frame.variables
        saved = {name: variables[name] for name in names | {first} if name in variables}
        start: Any = function is all
        if function is sum:
            start = self.evaluate(node.args[1]) if len(node.args) > 1 else 0
        variables[first], variables[total] = materialized(items), start
        own = self.frame.locals
        self.frame.locals = own | {total}  # what its loops carry
        try:
            self.run_for(loop)
            return self.evaluate(ast.copy_location(ast.Name(total, ast.Load()), node))
        finally:
            self.frame.locals = own
            variables = self.frame.variables  # a branch on data puts others in their place
            for name in names | {first}:
                variables.pop(name, None)
            variables.update(saved)


@functools.lru_cache(maxsize=4096)
def _loop(node: ast.Call, function: Any) -> tuple[ast.For, str, str]:
    """sum: `for target in …: if condition: total = total + item`
    any: `for target in …: if condition: if item: total = True; break`
    all: `for target in …: if condition: if not item: total = False; break`
    with the variables of the total and of what is gone through first."""
    generator = node.args[0]
    assert isinstance(generator, ast.GeneratorExp)
    where = f"{function.__name__} of line {generator.lineno}, column {generator.col_offset}"
    total, first = f" {where}", f" items of {where}"

    def here(one: Any) -> Any:
        return ast.copy_location(one, generator.elt)

    item = generator.elt
    if function is sum:
        value: ast.expr = here(ast.BinOp(here(ast.Name(total, ast.Load())), ast.Add(), item))
        body: list[ast.stmt] = [here(ast.Assign([here(ast.Name(total, ast.Store()))], value))]
    else:
        decided: list[ast.stmt] = [
            here(ast.Assign([here(ast.Name(total, ast.Store()))], here(ast.Constant(function is any)))),
            here(ast.Break()),
        ]
        test = item if function is any else here(ast.UnaryOp(ast.Not(), item))
        body = [here(ast.If(test, decided, []))]
    for depth, one in reversed(list(enumerate(generator.generators))):
        for test in reversed(one.ifs):
            body = [ast.copy_location(ast.If(test, body, []), test)]
        source = one.iter if depth else ast.copy_location(ast.Name(first, ast.Load()), one.iter)
        body = [ast.copy_location(ast.For(one.target, source, body, []), one.target)]
        if depth and function is not sum:  # a decision ends the loops around too
            is_decided: ast.expr = ast.Name(total, ast.Load())
            is_decided = is_decided if function is any else ast.UnaryOp(ast.Not(), is_decided)
            body.append(ast.copy_location(ast.If(is_decided, [ast.Break()], []), one.target))
    loop = body[0]
    assert isinstance(loop, ast.For)
    return placed(loop, generator), total, first
