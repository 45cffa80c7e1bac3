"""Branches on data: both ways run on symbolic values, each in its block, and the condition chooses what they
change. Loops are branches too, where data may end them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ..errors import TraceError
from ..light_dataclass import dataclass
from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, INT64, Block, Value
from ..symbolic.known import is_known, known_value
from ..symbolic.number import which_of
from ..symbolic.refusals import CalleeNotSeen
from ..symbolic.run_numbers import RunBool
from ..taken_ways import Branch
from .array_lists import ArrayList
from .carried import (
    MISSING,
    Carried,
    CarryNeeded,
    Form,
    Memory,
    memory_of,
    seeing,
    storages_of,
    unify_sizes,
)
from .carried_attributes import BranchAttributes, is_named
from .early_return import VALUE
from .frame import BeginAgain, Leaving, Pending, ReadBehind, Return
from .region import RAISES, Raises, Region
from .source import inside
from .staged_cells import Cell, ChangesShape, is_other_size
from .state import State

_GIVEN = " given"  # stands beside variables for what an expression or a return gives


@dataclass
class _Side:
    """One way of a branch: its block, the variables behind it, those that it changed as values, changed memory."""

    block: Block
    found: dict[str, Any]
    values: dict[str, tuple[Value, Form] | None]
    stored: dict[int, Value]


class Branches(Region):
    """The part of the interpreter that makes branches."""

    def __init__(self, state: State, run_until_left: Callable[[list[ast.stmt]], tuple[Leaving | None, Any]]) -> None:
        """`run_until_left` runs statements and says how they end, and what a return gives."""
        super().__init__(state)
        self.run_until_left = run_until_left

    def if_region(self, node: ast.If, condition: Any, rest: list[ast.stmt]) -> None:
        """An `if` on data. `rest` is what follows it in its block where a way leaves the block: each way goes on by
        itself then, and nothing is left to do behind it."""
        outcomes: list[Leaving | None] = []
        tracer = self.tracer
        branch = self.branch(node) if tracer.takes_effects and tracer.checked is not None else None

        def way(body: list[ast.stmt]) -> Callable[[], Any]:
            def run() -> Any:
                with self._on_way(branch, body is node.body):
                    leaving, value = self.run_until_left([*body, *rest])
                outcomes.append(leaving)
                if leaving is Leaving.BREAK and not self.state.stopped[-1]:
                    raise tracer.unrolled[self.state.unrolling[-1]]  # a while that was to stay a loop
                if leaving is Leaving.BREAK:
                    self.frame.variables[self.state.stopped[-1]] = True
                return value

            return run

        def go_one_way(holds: bool, why: str) -> None:
            outcomes.clear()
            self.leave_to_numpy(node, condition, not holds, why)
            value = way(node.body if holds else node.orelse)()
            self.state.ways_left += any(leaving is not None for leaving in outcomes)
            if Leaving.RETURN in outcomes:
                raise Return(value)

        if branch is not None and (only := tracer.one_way.get(branch)) is not None:
            go_one_way(only, "data take a way of an if that no call took before")
            return
        try:
            with self._on_way(branch, None):
                value = self.choose(node, condition, way(node.body), way(node.orelse))
        except Raises as raises:
            if tracer.checked is None or raises.holds is None:
                raise
            holds = not raises.holds
        else:
            self.state.ways_left += any(leaving is not None for leaving in outcomes)
            if Leaving.RETURN in outcomes:
                if outcomes != [Leaving.RETURN, Leaving.RETURN]:
                    raise self.error(
                        node, "loops: an if on data that returns in one branch and not in the other",
                        "a compiled function returns the same kind of value on every path",
                        "Return in both branches, or leave it out of the compiled function.",
                    )  # fmt: skip
                raise Return(value)
            return
        go_one_way(holds, RAISES)

    @contextmanager
    def _on_way(self, branch: Branch | None, holds: bool | None) -> Iterator[None]:
        """What is refused inside may be left to NumPy where calls go the other way."""
        try:
            yield
        except TraceError as error:
            known = {one for one, _ in error.branches}
            if branch is not None and branch not in known and not isinstance(error, Raises):
                error.branches = (*error.branches, (branch, holds))
            raise

    def choose(
        self, node: ast.AST, condition: Any, *ways: Callable[[], Any], skips: bool = False, assigns: bool = True
    ) -> Any:
        """Two ways, each in a block; the condition chooses what they change and what they give.

        With `skips` the first way is an iteration that an earlier break skips: what it sets is what the last iteration set.
        """
        tracer, frame = self.tracer, self.frame
        truth = self._truth_value(node, condition)
        line = getattr(node, "lineno", 0)
        where = (
            f"the loop of line {line}, which data may end by a break or a return"
            if skips
            else f"the branch on data of line {line}"
        )
        before = others = dict(frame.variables)
        place = self.place(node) if hasattr(node, "lineno") else None
        wanted = [name for kind, where, name in sorted(tracer.cells) if (kind, where) == ("branch", place)]
        cells = {name: Cell(tracer) for name in wanted if assigns or name == _GIVEN}
        memories = list(memory_of(frame, tracer))
        objects: BranchAttributes | None = None
        changes: list[dict[str, Any]] = []
        sides = []
        for holds, way in zip((True, False), ways, strict=True):
            block = Block()
            with tracer.writing(block):
                if isinstance(condition, RunBool):
                    tracer.facts += condition.facts(holds)
                try:
                    with (
                        self.keeping_containers(node) as held_outside,
                        tracer.where_data_decide(where),
                        self._maybe_run(node, "one way of a branch on data"),
                    ):
                        objects = objects or BranchAttributes(tracer, held_outside)
                        given = way()
                        for name, cell in cells.items():
                            if name == _GIVEN:
                                cell.put(given, self._seen_besides(name))
                                given = None
                                continue
                            cell.put(frame.variables.get(name), self._seen_besides(name))
                            if name in before:
                                frame.variables[name] = before[name]
                            else:
                                del frame.variables[name]
                    stored = {id(m.storage): m.storage.value for m in memories if m.changed()}
                    changes.append(objects.changes())
                    found = {**frame.variables, **changes[-1], _GIVEN: given}
                    values = {n: self._value_of(v) for n, v in found.items() if v is not before.get(n, MISSING)}
                except Raises as raises:
                    raises.holds = holds if raises.node is node else None
                    raise
                finally:
                    # Also where the condition of a while is tried again, as that of a region.
                    frame.variables = dict(before)
                    if objects is not None:
                        objects.changes()  # where a way is refused
                    self._restore(frame, before, memories)
            sides.append(_Side(block, found, values, stored))
        assert objects is not None
        was = objects.before()
        before = {**before, **was}
        for side, changed in zip(sides, changes, strict=True):
            side.found.update({**was, **changed})
        objects.take_out()
        if skips:
            self._keep_when_skipped(sides[0], before)
        merged = self._merged(sides, memories, before)
        self.at(node)
        given = sides[0].found[_GIVEN]
        if settled := [one for one in merged.values() if one is not None]:
            branch = tracer.add("if", (truth,), {}, BOOL, (), blocks=(sides[0].block, sides[1].block))
            self._hand_out(branch, settled)
            self._note_memory(truth, [one for one in settled if one.made is not None])
        elif _GIVEN not in merged and any(
            tracer.calls_in(side.block) for side in sides
        ):  # that is read below, and refused
            raise self.error(
                node, "a branch on data whose calls give nothing that is used behind it",
                "what they raise there is all that they do", "Use what they give, or leave the branch out.",
            )  # fmt: skip
        for name, one in merged.items():
            if one is None:
                frame.variables[name] = self._differs(node, truth, name, [side.found.get(name) for side in sides])
        for name, cell in cells.items():
            frame.variables[name] = cell.take()
        objects.put_in(frame.variables, others)
        if _GIVEN in frame.variables:
            given = frame.variables.pop(_GIVEN)
            return given.read() if isinstance(given, Pending) else given
        return given

    def known_way(self, node: ast.If | ast.IfExp, condition: Any) -> bool | None:
        """Which way the call takes, where an earlier run of the trace could not have both and sizes and numbers decide."""
        if self.place(node) not in self.tracer.unrolled or (truth := _value_of_condition(condition)) is None:
            return None
        known = known_value(self.tracer, truth)
        return None if known is None else bool(known)

    @contextmanager
    def known_where_refused(self, node: ast.If | ast.IfExp, condition: Any) -> Iterator[None]:
        """The branch on `condition` inside. One that cannot be, and that sizes and numbers of the call decide, is decided in
        another run of the trace."""
        truth = _value_of_condition(condition)
        try:
            yield
        except CalleeNotSeen:
            raise
        except TraceError as error:
            if truth is None or self.place(node) in self.tracer.unrolled or not is_known(self.tracer, truth):
                raise
            raise BeginAgain(self.place(node), error) from None

    def _keep_when_skipped(self, iteration: _Side, before: dict[str, Any]) -> None:
        for name, found in iteration.values.items():
            held = before.get(name)
            if (
                isinstance(held, Pending)
                and held.of_last_iteration
                and not held.was_set
                and found
                and self._is_fixed(found[1])
            ):
                raise CarryNeeded(name, found[1])

    def _merged(self, sides: list[_Side], memories: list[Memory], before: dict[str, Any]) -> dict[str, Carried | None]:
        """What the ways change; None under a variable's name where they do not agree on a form."""
        merged: dict[str, Carried | None] = {}
        for memory in memories:
            key = id(memory.storage)
            if any(key in side.stored for side in sides):
                for side in sides:
                    side.block.yields.append(side.stored.get(key, memory.value))
                whole = Form("array", memory.value.dtype, memory.value.shape)
                merged[f" {key}"] = Carried(memory.value, whole, None, memory.name, memory.storage)
        for name in {name: None for side in sides for name in side.values}:
            ways = []
            for side in sides:
                with self.tracer.writing(side.block), seeing(memories, side.stored):
                    ways.append(_left_by_last(side.found.get(name, MISSING)))
            if _are_one(*ways):  # what is written into it is its memory's
                if not _are_one(_left_by_last(before.get(name, MISSING)), ways[0]):
                    self.frame.variables[name] = ways[0]
                continue
            found = []
            for side, held in zip(sides, ways, strict=True):
                with self.tracer.writing(side.block), seeing(memories, side.stored):
                    found.append(side.values.get(name) or (None if held is MISSING else self._value_of(held)))
            if name == _GIVEN and sides[0].found[name] is None and sides[1].found[name] is None:
                continue
            self._merge(sides, memories, name, (), ways, found, merged)
        return merged

    def _merge(  # noqa: PLR0917
        self, sides: list[_Side], memories: list[Memory], name: str, path: tuple[int, ...], parts: list[Any],
        found: list[tuple[Value, Form] | None], merged: dict[str, Carried | None],
    ) -> bool:  # fmt: skip
        """What a variable, or a part of the tuple that it holds, is behind both ways; False where it is no one thing."""
        if all(type(part) is tuple for part in parts):
            if len(parts[0]) != len(parts[1]):
                merged[name] = None
                return True
            if not path:
                self.frame.variables[name] = parts[0]
            for k, pair in enumerate(zip(*parts, strict=True)):
                if pair[0] is pair[1]:
                    continue
                inner: list[tuple[Value, Form] | None] = []
                for side, part in zip(sides, pair, strict=True):
                    with self.tracer.writing(side.block), seeing(memories, side.stored):
                        inner.append(self._value_of(part))
                if not self._merge(sides, memories, name, (*path, k), list(pair), inner, merged):
                    break
            return True
        yes, no = found
        if name.startswith(VALUE) and not path:
            # What a return in a loop gives is read only where there was one.
            if any(part is None for part in parts) and not all(part is None for part in parts):
                raise self.tracer.error(
                    "loops: what the returns in a loop give", "one gives None, and another one a value",
                    "Make both branches give the same kind of value.",
                )  # fmt: skip
            with self.tracer.writing(sides[0 if yes is None else 1].block):
                yes = yes or (no and (self._zeros(no[1]), no[1]))
                no = no or (yes and (self._zeros(yes[1]), yes[1]))
        if yes and no and yes[1].kind == no[1].kind == "array" and yes[1].dtype == no[1].dtype:
            # `if …: x = a @ x` leaves an array of x's shape where a is square.
            unify_sizes(self.tracer, yes[1], no[1])
        form = yes[1].joined(no[1]) if yes and no else None
        if form is None or yes is None or no is None:
            merged[name] = None
            return False
        for side, (value, _) in zip(sides, (yes, no), strict=True):
            with self.tracer.writing(side.block):
                side.block.yields.append(self.tracer.cast(value, form.dtype))
        one = Carried(yes[0], form, self.frame, name, path=path)
        one.sources = [storage for part in parts for storage in storages_of(part)]
        one.ways = tuple(parts)
        merged[one.text] = one
        self._merge_kinds(sides, one, parts, merged)
        self._merge_memory(sides, one, parts, merged)
        return True

    def _merge_kinds(
        self, sides: list[_Side], number: Carried, parts: list[Any], merged: dict[str, Carried | None]
    ) -> None:
        """Where the ways leave numbers of different kinds: which one it is behind them."""
        if not number.form.kinds:
            return
        codes: list[Value] = []
        for side, part in zip(sides, parts, strict=True):
            with self.tracer.writing(side.block):
                code = which_of(self.tracer, part, number.form.dtype)
            if code is None:
                return
            codes.append(code)
        for side, code in zip(sides, codes, strict=True):
            side.block.yields.append(code)
        name = f" kind of {number.text}"
        merged[name] = Carried(codes[0], Form("int", INT64), self.frame, name, kind_of=number)

    def _merge_memory(
        self, sides: list[_Side], array: Carried, parts: list[Any], merged: dict[str, Carried | None]
    ) -> None:
        """Where an array may be other memory that a branch inside of a way chose: whether it is, behind both ways."""
        for taken, part in enumerate(parts):
            for storage, holds in part.storage.may_be if isinstance(part, SymArray) else ():
                for number, side in enumerate(sides):
                    with self.tracer.writing(side.block):
                        side.block.yields.append(holds if number == taken else self.tracer.constant(False, BOOL))
                name = f" memory {len(merged)} of {array.text}"
                of = (array, storage)
                merged[name] = Carried(holds, Form("bool", BOOL), self.frame, name, memory_of=of)

    def _differs(self, node: ast.AST, truth: Value, name: str, ways: list[Any]) -> Pending:
        for way in ways:
            if isinstance(way, ArrayList):
                return way.not_visible()
        what = f"{name} after an if on data" if name != _GIVEN else "what an if on data gives"
        what = "what the returns in a loop give" if name.startswith(VALUE) else what
        why = "both branches must give an array or a number of the same dtype and shape"
        hint = "Make both branches give the same kind of value."

        branch = self.branch(node) if self.tracer.takes_effects and isinstance(node, ast.If) else None

        place = self.place(node) if isinstance(node, (ast.If, ast.IfExp)) else None

        needs = next((way.needs for way in ways if isinstance(way, Pending) and way.needs), None)

        def refusal() -> BaseException:
            if needs is not None:
                return ReadBehind(needs)
            self.at(node)
            made = self.tracer.error_of(ChangesShape, f"loops: {what}; {why}.", hint)
            made.branches = () if branch is None else ((branch, None),)
            if (is_named(name) or name == _GIVEN) and is_other_size(*ways):
                made.cell = ("branch", self.place(node), name)
            if place is not None and place not in self.tracer.unrolled and is_known(self.tracer, truth):
                return BeginAgain(place, made)  # sizes and numbers of the call decide it then
            return made

        return Pending.refused(refusal)

    @staticmethod
    def leaves(body: Iterable[ast.stmt]) -> bool:
        """Whether a return, or a break or continue of a loop around, is in it."""
        return any(map(_leaves, body))


def _value_of_condition(condition: Any) -> Value | None:
    return condition.read() if isinstance(condition, SymArray) else getattr(condition, "value", None)


def _left_by_last(held: Any) -> Any:
    """What a way holds that leaves what the last iteration left; of what has no value there it is the refusal itself."""
    if not isinstance(held, Pending) or not held.was_set:
        return held
    try:
        return held.read()
    except TraceError:
        return held


def _are_one(one: Any, other: Any) -> bool:
    """Whether both are one array, seen alike."""
    if not isinstance(one, SymArray) or not isinstance(other, SymArray) or one.kinds or other.kinds:
        return False
    return one.is_scalar == other.is_scalar and one.is_seen_as(other)


@lru_cache(maxsize=4096)
def _leaves(statement: ast.stmt) -> bool:
    if any(isinstance(item, ast.Return) for item in inside([statement], ast.FunctionDef, ast.Lambda)):
        return True
    of_loop = inside([statement], ast.FunctionDef, ast.Lambda, ast.For, ast.While)
    return any(isinstance(item, (ast.Break, ast.Continue)) for item in of_loop)
