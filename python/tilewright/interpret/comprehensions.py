"""List comprehensions over many items, as loops of the program: they fill an array, or where none holds what Python's list does,
a list that stages make."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from ..ops.stages import materialized
from ..symbolic.arrays import SymArray
from ..symbolic.refusals import TooLong
from ..symbolic.scalars import size_of
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .array_lists import ArrayList, FormOfList, ListItem, Place, begin_list, end_list
from .frame import Frame
from .sequences import Sequence, SymRange, array_of_program, is_long, sequence_of
from .source import is_read_by_others
from .staged_lists import StagedList
from .state import Part, State


class Comprehensions(Part):
    """The part of the interpreter that makes lists by loops."""

    def __init__(self, state: State, for_region: Callable[..., None]) -> None:
        """`for_region` is LoopStatements.for_region."""
        super().__init__(state)
        self.for_region = for_region

    def listed(self, node: ast.ListComp, value: Any) -> ArrayList | StagedList | None:
        """The list that a comprehension over `value` makes; None where it is made item by item, while tracing."""
        tracer, place = self.tracer, self.place(node)
        if any(one.is_async for one in node.generators) or tracer.checked is None or has_own_meaning(self.frame, node):
            return None
        value = array_of_program(tracer, node, materialized(value))
        value = value.items() if isinstance(value, (ArrayList, StagedList)) else value
        if not isinstance(value, (SymArray, SymRange, range, Sequence)):
            return None
        if not self._is_long(value) and not _is_kept(tracer, place):
            return None
        is_plain = len(node.generators) == 1 and not node.generators[0].ifs
        in_array = is_plain and tracer.list_forms.get(place, True) is not None
        if not in_array and (tracer.untaken is not None or len(tracer.blocks) > 1):
            return None  # a list of stages lives as long as the block that makes it
        sequence = sequence_of(tracer, value)
        if tracer.decide_if_same_in_all_iterations(">=", sequence.length, 1) is False:
            return None
        return self._in_array(node, place, sequence) if in_array else self._by_stages(node, sequence)

    def _is_long(self, value: Any) -> bool:
        if isinstance(value, (range, SymRange)):
            count = len(value) if isinstance(value, range) else value.iterations()
            return is_long(self.tracer, size_of(count))
        if isinstance(value, SymArray) and not value.sizes:
            return False
        length = value.length if isinstance(value, Sequence) else value.sizes[0]
        return is_long(self.tracer, self.tracer.resolve(length))

    def _in_array(self, node: ast.ListComp, place: Place, sequence: Sequence) -> ArrayList:
        made = begin_list(self.tracer, sequence.length, place)
        loop = _filling_an_array(node, place)
        self._run(loop, sequence, None if made is None else made.array, lambda k: (k, sequence.item(k)))
        if made is None:  # no iteration was traced
            raise FormOfList(place, None)
        end_list(made)
        self.note_list(made)
        return made

    def _by_stages(self, node: ast.ListComp, sequence: Sequence) -> StagedList:
        made = StagedList(self.tracer, [])
        self._run(_appending(node), sequence, made, sequence.item)
        return made

    def _run(self, loop: ast.For, sequence: Sequence, filled: Any, item: Callable[[Any], Any]) -> None:
        """The loop, with variables of its own."""
        names = [
            _FILLED,
            *(one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)),
        ]
        variables = self.frame.variables
        saved = {name: variables[name] for name in names if name in variables}
        variables[_FILLED] = filled
        try:
            self.for_region(loop, (Size.constant(0), sequence.length, 1), item)
        finally:
            for name in names:
                self.frame.variables.pop(name, None)
            self.frame.variables.update(saved)


_MOST_REDUCTIONS = 8  # in copies of an item: each takes 0.2 to 0.4 s to compile


def keep_where_slow(tracer: Tracer, place: Place, begun: int) -> None:
    """A list whose items are made one by one is made by a loop, in another run of the trace, where they would not compile in
    useful time. `begun`: how many reductions the block had before."""
    if place in tracer.unrolled or _is_kept(tracer, place):
        return
    if tracer.blocks[-1].reductions() - begun > _MOST_REDUCTIONS:
        raise TooLong(place)


def _is_kept(tracer: Tracer, place: Place) -> bool:
    return (place in tracer.kept or tracer.list_forms.get(place) is not None) and place not in tracer.unrolled


_FILLED, _POSITION = " the list of a comprehension", " position in the list of a comprehension"


@functools.lru_cache(maxsize=4096)
def _filling_an_array(node: ast.ListComp, place: Place) -> ast.For:
    """`for (k, target) in …: filled[k] = item`"""
    target = ast.Tuple([ast.Name(_POSITION, ast.Store()), node.generators[0].target], ast.Store())
    into = ast.Subscript(ast.Name(_FILLED, ast.Load()), ast.Name(_POSITION, ast.Load()), ast.Store())
    assign = ast.copy_location(ast.Assign([into], ListItem(node.elt, place)), node)
    return placed(ast.For(target, node.generators[0].iter, [assign], []), node)


@functools.lru_cache(maxsize=4096)
def _appending(node: ast.ListComp) -> ast.For:
    """`for target in …: if condition: filled.append(item)`"""
    called = ast.Call(ast.Attribute(ast.Name(_FILLED, ast.Load()), "append", ast.Load()), [node.elt], [])
    body: ast.stmt = ast.Expr(called)
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = ast.copy_location(ast.If(test, [ast.copy_location(body, node)], []), test)
        body = ast.copy_location(
            ast.For(generator.target, generator.iter, [ast.copy_location(body, node)], []), generator.target
        )
    assert isinstance(body, ast.For)
    return placed(body, node)


def has_own_meaning(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether variables in it are not those of a loop in the function: some function reads another variable of that name,
    or one that is set inside with := lives on."""
    if any(isinstance(item, (ast.NamedExpr, ast.Lambda)) for item in ast.walk(node)):
        return True
    names = {item.id for one in node.generators for item in ast.walk(one.target) if isinstance(item, ast.Name)}
    return any(is_read_by_others(frame.node, name) for name in names)


def placed(loop: ast.For, node: ast.ListComp | ast.GeneratorExp) -> ast.For:
    """The loop that stands for that comprehension."""
    ast.copy_location(loop, node)
    return ast.fix_missing_locations(loop)


@functools.lru_cache(maxsize=4096)
def as_list(node: ast.GeneratorExp) -> ast.ListComp:
    """The list of what a generator gives."""
    return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
