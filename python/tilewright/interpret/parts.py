"""Statements that cannot be followed, as stages: Python runs them between kernels, once, as the function has them.

Which statements these are is found where one is refused: itself, with those before it that make the lists, dicts and
objects which it changes, and with those behind it that look into what it makes.
"""

from __future__ import annotations

import ast
import collections
import itertools
import types
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import TraceError
from ..kinds_of_values import arrays_in
from ..ops.seen_stages import effect_stage, is_of_either_type
from ..ops.stages import EFFECTS
from ..symbolic.arrays import SymArray
from ..symbolic.trace_limits import MOST_STAGE_OPERANDS
from .frame import Pending, Return
from .inner_calls import inner_calls_of
from .kept_objects import KeptObject, handed, kept_object
from .outlined import RETURNED, Outline, first_that_sees, is_part, outline_of, part_site, place_in, stores
from .source import inside, site_of
from .staged_draws import drawn_by
from .state import Part, State
from .unknown_callees import EffectsAreStages, has_text, is_one_twice, pin_functions
from .watched import can_be_watched


class _Closed(NamedTuple):
    """`is_whole`: whether they are all of the function's, and fewer were not tried."""

    outline: Outline
    is_whole: bool


class Parts(Part):
    """The part of the interpreter that leaves statements to Python."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.taken = [way for way in self.tracer.as_stages if is_part(way[-1])]
        self.handed: dict[Any, dict[str, Any]] = {}  # to those that ran: their variables, before they set them anew

    def beginning(self, statements: Sequence[ast.stmt], position: int) -> int | None:
        """Runs the statements that are left to Python from this one on; the position behind them."""
        if not self.taken:
            return None
        way = self._way()
        begin = site_of(statements[position])[:2]
        ends = [
            (place[1], one)
            for one in self.taken
            if one[:-1] == way and (one[-1][0], -1 - one[-1][1]) == begin
            and (place := place_in(statements, one[-1])) is not None and place[0] == position
        ]  # fmt: skip
        if not ends:
            return None
        last, taken = max(ends, key=lambda end: end[0])
        self.at(statements[position])
        self._run(taken)
        return last + 1

    def offer(self, error: TraceError, statements: Sequence[ast.stmt], position: int) -> None:
        """Adds to a refusal which statements around it Python may run, if any."""
        function, way = self.frame.function, self._way()
        if way is None or function is None or not isinstance(self.frame.node, ast.FunctionDef) or error.not_seen:
            return
        if not self.tracer.takes_effects or self.tracer.checked is None:
            return
        line, node = self.tracer.frames[-1][2], self.frame.node
        if not node.lineno <= line <= (node.end_lineno or 0):
            line = statements[position].lineno  # what is refused is a function that is called there
        body = node.body
        own = {id(item) for item in inside(body)}  # not those that stand for others
        begin = site_of(statements[position])[:2]
        statements = [one for one in statements if id(one) in own]
        # What is refused may be read here, and made by a loop before.
        there = [k for k, one in enumerate(statements) if one.lineno <= line <= (one.end_lineno or 0)]
        there = [k for k in there if site_of(statements[k])[:2] >= begin] or there[-1:]
        if not there:
            return
        found = self._closed(function, statements, there[0], there[0], way)
        if found is not None and found.is_whole:
            error.whole = (*way, found.outline.site)
        elif found is not None:
            error.parts = (*error.parts, (*way, found.outline.site))

    def _way(self) -> tuple[Any, ...] | None:
        functions = self.functions()
        return None if functions is None else tuple(site for site, _ in functions)

    def _closed(
        self, function: types.FunctionType, statements: Sequence[ast.stmt], first: int, last: int, way: tuple[Any, ...]
    ) -> _Closed | None:
        """The statements with all that they need of those around them."""
        known = [
            place for one in self.taken if one[:-1] == way and (place := place_in(statements, one[-1])) is not None
        ]
        around = [(begin, end) for begin, end in known if begin <= first <= end]
        goes_back = takes_all = False
        if around:
            # Python runs these already, and that is not enough: it runs the next one too, and then all but the return. At the
            # end it runs the one before, while something else computes before that.
            first, end = min(begin for begin, _ in around), max(end for _, end in around)
            is_end = end + 1 == len(statements)
            goes_back = is_end and any(map(_computes, statements[: max(first - 1, 0)]))
            takes_all = is_end and not goes_back and first > 0
            if takes_all:
                first, last = 0, end  # the one before is the only one left
            elif goes_back:
                # Twice as many, for a call is watched each time.
                most = max(2 * first - end - 1, 0)
                first, last = next(k for k in range(most, first) if any(map(_computes, statements[:k]))), end
            else:
                most = len(statements) - 1 - isinstance(statements[-1], ast.Return)
                last = max(last, end + 1, most if len(around) > 1 else 0)
        last = max([last, *(k for k in range(last, len(statements)) if self._looks_into(statements[k]))])
        if last >= len(statements):
            return None
        node = self.frame.node
        assert isinstance(node.body, list)
        while True:
            outline = outline_of(function, part_site(statements[first], statements[last]))
            if outline is None:
                first, before_it = first_that_sees(statements, first, last), first
                if first == before_it:
                    return None
                continue
            handed = [
                self.handed.get(one, {})
                for one in self.taken
                if one[:-1] == way and (place := place_in(statements, one[-1])) is not None and place[0] == first
            ]
            variables = dict(collections.ChainMap(*handed, self.frame.variables))
            if statements[0] in node.body:
                # What no statement before them sets is what the function began with.
                set_there = _bound_by(statements[first:]) - _bound_by(statements[:first])
                variables = {name: one for name, one in variables.items() if name not in set_there} | {
                    name: self.frame.given[name] for name in set_there & self.frame.given.keys()
                }
            needed = [
                name
                for name in outline.reads
                if self._is_needed(name, statements[first : last + 1], variables)
                and not (name == outline.own_keywords and self._are_as_given(name, statements[:first], variables))
            ]
            if not needed:
                break
            before = [k for k in range(first) if any(name in _bound(statements[k]) for name in needed)]
            if not before or any(name not in _bound_by(statements[:first]) for name in needed):
                return None
            first = min(max(k for k in before if name in _bound(statements[k])) for name in needed)
            first = next((begin for begin, end in known if begin <= first <= end), first)
        own = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        is_all = statements[first] is own[0] and statements[last] is own[-1]
        tried = any(one[: len(way)] == way for one in self.tracer.as_stages)  # which was not enough
        is_known = known and not takes_all
        if is_all and (goes_back or not (is_known or inner_calls_of(outline.call).has_what_is_compiled)):
            return None  # nothing of the function would be compiled
        return _Closed(outline, is_whole=is_all and not (known or tried))

    def _looks_into(self, node: ast.stmt) -> bool:
        """Whether a statement does more with a container that Python keeps than to return it."""
        value = node.value if isinstance(node, ast.Return) else None
        handed = [value, *(value.elts if isinstance(value, ast.Tuple) else [])]
        return any(
            isinstance(kept := self.frame.variables.get(item.id), KeptObject) and kept.is_container
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load) and item not in handed
        )

    def _is_needed(self, name: str, statements: Sequence[ast.stmt], variables: Mapping[str, Any]) -> bool:
        """Whether what makes a variable belongs to the statements that read it."""
        value = variables.get(name)
        if type(value) is list and self.inputs.is_outer(value):
            return not _can_be_handed(value)  # where they change it, NumPy goes on: the caller's list is changed
        if isinstance(value, (list, dict, set, bytearray, collections.deque)):
            arrays = [*itertools.islice(arrays_in(value), MOST_STAGE_OPERANDS)]
            memories = [id(one.storage) for one in arrays if isinstance(one, SymArray) and not one.is_scalar]
            are_apart = len(arrays) < MOST_STAGE_OPERANDS and len(memories) == len(set(memories))
            return not (are_apart and _only_read(name, statements) and _can_be_handed(value))
        return name in variables and (not _can_be_handed(value) or is_of_either_type(value))

    def _run(self, way: Any) -> None:
        tracer, frame = self.tracer, self.frame
        refusal = tracer.as_stages[way]
        function = frame.function
        outline = outline_of(function, way[-1]) if function is not None else None
        around = [tracer.cache["function"], *(one for _, one in self.functions() or ())]
        if outline is None or tracer.silenced:
            raise refusal
        if not all(map(can_be_watched, around)):
            raise refusal
        if EFFECTS not in tracer.cache:
            raise EffectsAreStages
        self.handed[way] = {name: self._read(name) for name in outline.reads if name in frame.variables}
        held = {name: handed(value) for name, value in self.handed[way].items()}
        given = [*self.handed[way].values()]
        if self.inputs.objects_in(list(held.values())) is not None or is_one_twice(given):
            raise refusal
        self.inputs.pin(outline.call)
        pin_functions(self, list(held.values()), refusal)
        with tracer.no_kernel(refusal), drawn_by(tracer, tracer.cache[EFFECTS], self.handed[way]):
            run: Any = outline.call
            if not outline.records_warnings:
                run = inner_calls_of(outline.call)
                if refusal.is_too_long:
                    run.leave_long_loops()
            given = effect_stage(tracer, outline.call, [], held, way, partial(kept_object, tracer), run)
        if RETURNED in given:
            raise Return(given[RETURNED])
        for name in outline.gives:
            if name in given:
                frame.variables[name] = given[name]

    def _are_as_given(self, name: str, before: Sequence[ast.stmt], variables: Mapping[str, Any]) -> bool:
        """Whether nobody else has the dict of a call's keywords so far."""
        value = variables.get(name)
        return type(value) is dict and _only_read(name, before, _OF_DICTS) and _can_be_handed(value)

    def _read(self, name: str) -> Any:
        value = self.frame.variables[name]
        return value.read() if isinstance(value, Pending) else value


def _computes(node: ast.stmt) -> bool:
    """Whether a statement does more than to name something."""
    return not (isinstance(node, (ast.Assign, ast.Expr)) and isinstance(node.value, (ast.Name, ast.Constant)))


def _bound(node: ast.stmt) -> set[str]:
    """Names to which a statement gives a new value."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {
            item.id
            for one in targets
            for item in ast.walk(one)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
    compound = (ast.For, ast.While, ast.If, ast.With, ast.Try)
    made = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return stores([node]) if isinstance(node, (*compound, *made)) else set()


def _bound_by(statements: Sequence[ast.stmt]) -> set[str]:
    return {name for one in statements for name in _bound(one)}


def _can_be_handed(value: Any) -> bool:
    return not value.has_no_value if isinstance(value, Pending) else has_text(value)


_READING = ("get", "items", "keys", "values")  # methods of dicts
_OF_DICTS = ("pop", "setdefault", "update", "copy")


def _only_read(name: str, statements: Sequence[ast.stmt], methods: Sequence[str] = ()) -> bool:
    """Whether a container is gone through, indexed, unpacked and measured there, and nothing else; with `methods`, also asked
    for what is in it, set at keys, and these called."""
    reads = {
        id(part)
        for one in statements
        for item in ast.walk(one)
        for part in (
            item.value if isinstance(item, ast.Subscript) and (methods or isinstance(item.ctx, ast.Load)) else None,
            item.comparators[-1] if methods and isinstance(item, ast.Compare) and isinstance(item.ops[-1], (ast.In, ast.NotIn))
            else None,
            item.iter if isinstance(item, (ast.For, ast.comprehension)) else None,
            item.value if isinstance(item, ast.Starred) or (isinstance(item, ast.keyword) and item.arg is None) else None,
            item.args[0] if isinstance(item, ast.Call) and ast.unparse(item.func) in ("len", "range", "enumerate") and item.args
            else None,
            item.func.value
            if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in (*_READING, *methods)
            else None,
        )
    }  # fmt: skip
    return all(
        id(item) in reads
        for one in statements
        for item in ast.walk(one)
        if isinstance(item, ast.Name) and item.id == name
    )
