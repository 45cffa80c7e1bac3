"""Branches on data: both ways run on symbolic values, each in a block of its own, and the condition chooses what they
change. Loops are branches too, where data may end them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import TraceError
from ..symbolic.arrays import Storage, SymArray
from ..symbolic.graph import Block, Value
from ..symbolic.scalars import LARGEST_INT, RunBool, RunScalar, SymInt, SymScalar, described
from .carried import (
    MISSING,
    Carried,
    CarryNeeded,
    Control,
    Form,
    Leaving,
    Memory,
    Pending,
    containers_of,
    memory_of,
    seeing,
    storages_of,
)
from .early_return import VALUE

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer
    from .interpreter import Frame

_GIVEN = " given"  # stands beside variables for what an expression or a return gives


@dataclass
class _Unsettled:
    """A variable that the two ways of a branch leave different kinds of values in."""

    name: str
    form: None = None
    frame: None = None
    storage: None = None


@dataclass
class _Side:
    """One way of a branch: its block, the variables behind it, those that it changed as values, changed memory."""

    block: Block
    found: dict[str, Any]
    values: dict[str, tuple[Value, Form] | None]
    stored: dict[int, Value]


class Branches:
    """The part of the interpreter that makes branches, and what loops have in common with them."""

    tracer: Tracer
    frame: Any

    if TYPE_CHECKING:

        def at(self, node: ast.AST) -> None: ...
        def error(self, node: ast.AST, asked: str, why: str, what_to_do: str) -> TraceError: ...
        def evaluate(self, node: ast.expr) -> Any: ...

        stopped: list[str]
        unrolling: list[tuple[str, int, int]]
        containers: list[dict[int, Any]]
        ways_left: int

        def assign(self, target: ast.expr, value: Any) -> None: ...
        def block(self, statements: Iterable[ast.stmt]) -> None: ...
        def run_until_left(self, statements: list[ast.stmt]) -> tuple[Leaving | None, Any]: ...
        def leave_with(self, value: Any) -> NoReturn: ...

    def if_region(self, node: ast.If, condition: Any, rest: list[ast.stmt]) -> None:
        """An `if` on data. `rest` is what follows it in its block where a way leaves the block: each way goes on by
        itself then, and nothing is left to do behind it."""
        outcomes: list[Leaving | None] = []
        tracer = self.tracer

        def way(body: list[ast.stmt]) -> Callable[[], Any]:
            def run() -> Any:
                leaving, value = self.run_until_left([*body, *rest])
                outcomes.append(leaving)
                if leaving is Leaving.BREAK and not self.stopped[-1]:
                    if (why := tracer.unrolled.get(self.unrolling[-1])) is not None:
                        raise why  # it was to stay a loop
                    raise self.error(
                        node, "loops: a break on data out of a loop that is unrolled",
                        "whether the later rounds run at all depends on the data",
                        "Loop over a range or an array.",
                    )  # fmt: skip
                if leaving is Leaving.BREAK:
                    self.frame.variables[self.stopped[-1]] = True
                return value

            return run

        value = self.choose(node, condition, way(node.body), way(node.orelse))
        self.ways_left += any(leaving is not None for leaving in outcomes)
        if Leaving.RETURN in outcomes:
            if outcomes != [Leaving.RETURN, Leaving.RETURN]:
                raise self.error(
                    node, "loops: an if on data of which one way returns and the other does not",
                    "a compiled function returns the same kind of thing on every way",
                    "Return on both ways, or leave it out of the compiled function.",
                )  # fmt: skip
            self.leave_with(value)

    def choose(self, node: ast.AST, condition: Any, *ways: Callable[[], Any], skips: bool = False) -> Any:
        """Two ways in blocks of their own; what they change, and what they give, is chosen by the condition.

        With `skips` the first way is a trip that an earlier break skips: what it sets is what the last trip set.
        """
        tracer, frame = self.tracer, self.frame
        truth = self._truth_value(node, condition)
        line = getattr(node, "lineno", 0)
        where = (
            f"the loop of line {line}, which data may end by a break or a return"
            if skips
            else f"the branch on data of line {line}"
        )
        before = dict(frame.variables)
        memories = list(memory_of(frame, tracer.checked))
        sides = []
        for holds, way in zip((True, False), ways, strict=True):
            block = Block()
            with tracer.writing(block):
                if isinstance(condition, RunBool):
                    tracer.facts += condition.facts(holds)
                try:
                    with (
                        self.keeping_containers(node),
                        tracer.where_data_decide(where),
                        self._maybe_run(node, "one way of a branch on data"),
                    ):
                        given = way()
                except BaseException:
                    # The condition of a while may be tried again, as that of a region.
                    frame.variables = dict(before)
                    self._restore(frame, before, memories)
                    raise
                stored = {id(m.storage): m.storage.value for m in memories if m.changed()}
                found = {**frame.variables, _GIVEN: given}
                values = {n: self._value_of(v) for n, v in found.items() if v is not before.get(n, MISSING)}
            sides.append(_Side(block, found, values, stored))
            frame.variables = dict(before)
            for memory in memories:
                if memory.changed():
                    memory.set(memory.value)
        if skips:
            self._keep_when_skipped(sides[0], before)
        merged = self._merged(sides, memories)
        self.at(node)
        given = sides[0].found[_GIVEN]
        if any(one.frame or one.storage for one in merged.values()):
            branch = tracer.add("if", (truth,), {}, np.dtype(np.bool_), (), blocks=(sides[0].block, sides[1].block))
            self._hand_out(branch, [one for one in merged.values() if one.form is not None])
            self._note_memory(truth, [one for one in merged.values() if one.form is not None and one.made is not None])
        for one in merged.values():
            if one.form is None:
                frame.variables[one.name] = self._differs(node, one.name)
        if _GIVEN in frame.variables:
            given = frame.variables.pop(_GIVEN)
            return given.read() if isinstance(given, Pending) else given
        return given

    @contextmanager
    def keeping_containers(self, node: ast.AST) -> Iterator[None]:
        """A region: what it changes of Python's and NumPy's own containers from outside, it would change once."""
        held = containers_of(self.frame)
        arrays = [(item, item.tobytes()) for item in held.values() if isinstance(item, np.ndarray)]
        self.containers.append(held)
        try:
            yield
        finally:
            self.containers.pop()
        if any(array.tobytes() != before for array, before in arrays):
            raise self.error(
                node, "loops: changing an array of plain values in a loop or branch of the run",
                "it was made by a call that is not traced, and a loop of the run is traced as one iteration",
                "Make it with np.zeros or np.array inside of the function.",
            )  # fmt: skip

    @contextmanager
    def _maybe_run(self, node: ast.AST, what: str) -> Iterator[None]:
        """What a statement raises that the run may never come to is nobody's error yet: NumPy runs the call."""
        try:
            yield
        except (TraceError, Control):
            raise
        except Exception as error:
            raise self.error(
                node, f"loops: {what} raises {type(error).__name__} ({error})"[:300],
                "whether it is raised depends on the data", "Leave it out of the compiled function.",
            ) from error  # fmt: skip

    def _keep_when_skipped(self, trip: _Side, before: dict[str, Any]) -> None:
        for name, found in trip.values.items():
            held = before.get(name)
            if (
                isinstance(held, Pending)
                and held.of_last_trip
                and not held.was_set
                and found
                and self._is_fixed(found[1])
            ):
                raise CarryNeeded(name, found[1])

    def _is_fixed(self, form: Form) -> bool:
        """Whether its shape is the same in all trips."""
        return self.tracer.loops.keys().isdisjoint(symbol for size in form.shape for symbol in size.symbols())

    def _merged(self, sides: list[_Side], memories: list[Memory]) -> dict[str, Any]:
        """What the ways change: by the variable's name, without a form where they do not agree on one."""
        merged: dict[str, Any] = {}
        for memory in memories:
            key = id(memory.storage)
            if any(key in side.stored for side in sides):
                for side in sides:
                    side.block.yields.append(side.stored.get(key, memory.value))
                whole = Form("array", memory.value.dtype, memory.value.shape)
                merged[f" {key}"] = Carried(memory.value, whole, None, memory.name, memory.storage)
        for name in {name: None for side in sides for name in side.values}:
            found = []
            for side in sides:
                with self.tracer.writing(side.block), seeing(memories, side.stored):
                    held = side.found.get(name, MISSING)
                    if isinstance(held, Pending) and held.was_set:
                        held = held.read()  # one way leaves what the last trip left
                    found.append(side.values.get(name) or (None if held is MISSING else self._value_of(held)))
            if name == _GIVEN and sides[0].found[name] is None and sides[1].found[name] is None:
                continue
            parts = [side.found.get(name, MISSING) for side in sides]
            parts = [part.read() if isinstance(part, Pending) and part.was_set else part for part in parts]
            if all(type(part) is tuple for part in parts):
                self._merge_tuples(sides, memories, name, parts, (), merged)
                continue
            yes, no = found
            if name.startswith(VALUE):
                # What a return in a loop gives is read only where there was one.
                with self.tracer.writing(sides[0 if yes is None else 1].block):
                    yes = yes or (no and (self._zeros(no[1]), no[1]))
                    no = no or (yes and (self._zeros(yes[1]), yes[1]))
            form = yes[1].joined(no[1]) if yes and no else None
            if form is None or yes is None or no is None:
                merged[name] = _Unsettled(name)
                continue
            for side, (value, _) in zip(sides, (yes, no), strict=True):
                with self.tracer.writing(side.block):
                    side.block.yields.append(self._cast(value, form.dtype))
            merged[name] = Carried(yes[0], form, self.frame, name)
            merged[name].sources = [storage for part in parts for storage in storages_of(part)]
            merged[name].ways = tuple(parts)
        return merged

    def _merge_tuples(  # noqa: PLR0917
        self,
        sides: list[_Side],
        memories: list[Memory],
        name: str,
        parts: list[Any],
        path: tuple[int, ...],
        merged: dict[str, Any],
    ) -> None:
        """The elements of two tuples that a variable holds after the ways of a branch."""
        if len(parts[0]) != len(parts[1]):
            merged[name] = _Unsettled(name)
            return
        if not path:
            self.frame.variables[name] = parts[0]
        for k, pair in enumerate(zip(*parts, strict=True)):
            inner = (*path, k)
            if all(type(part) is tuple for part in pair):
                self._merge_tuples(sides, memories, name, list(pair), inner, merged)
                continue
            if pair[0] is pair[1]:
                continue
            found = []
            for side, part in zip(sides, pair, strict=True):
                with self.tracer.writing(side.block), seeing(memories, side.stored):
                    found.append(self._value_of(part))
            form = found[0][1].joined(found[1][1]) if found[0] and found[1] else None
            if form is None:
                merged[name] = _Unsettled(name)
                return
            for side, held in zip(sides, found, strict=True):
                assert held is not None
                with self.tracer.writing(side.block):
                    side.block.yields.append(self._cast(held[0], form.dtype))
            one = Carried(side.block.yields[-1], form, self.frame, name, path=inner)
            one.sources = [storage for part in pair for storage in storages_of(part)]
            one.ways = tuple(pair)
            merged[one.text] = one

    def _differs(self, node: ast.AST, name: str) -> Pending:
        def read() -> NoReturn:
            what = f"{name} after an if on data" if name != _GIVEN else "what an if on data gives"
            what = "what the returns in a loop give" if name.startswith(VALUE) else what
            raise self.error(
                node, f"loops: {what}",
                "both ways have to give an array or a number of one dtype and one shape",
                "Make both ways give the same kind of value.",
            )  # fmt: skip

        return Pending(read)

    @staticmethod
    def leaves(body: Iterable[ast.stmt]) -> bool:
        """Whether a return, or a break or continue of a loop around, is in it."""
        pending: list[tuple[ast.AST, bool]] = [(statement, False) for statement in body]
        while pending:
            item, in_loop = pending.pop()
            if isinstance(item, ast.Return) or (isinstance(item, (ast.Break, ast.Continue)) and not in_loop):
                return True
            if not isinstance(item, (ast.FunctionDef, ast.Lambda)):
                inner = in_loop or isinstance(item, (ast.For, ast.While))
                pending += [(child, inner) for child in ast.iter_child_nodes(item)]
        return False

    # -- before and behind a region --------------------------------------------------------------

    def _restore(self, frame: Frame, before: dict[str, Any], memories: list[Memory]) -> None:
        """The state before a region."""
        for name, value in before.items():
            if value is MISSING:
                frame.variables.pop(name, None)
            else:
                frame.variables[name] = value
        for memory in memories:
            if memory.changed() or memory.storage.value is not memory.value:
                memory.set(memory.value)

    def _hand_out(self, loop: Value, carried: list[Carried], runs: bool = False) -> None:
        """What comes out of a loop or a branch, to the variables and the memory that hold it; `runs`: a loop has a trip."""
        loop.attributes["results"] = results = []
        made: list[tuple[SymArray, list[Storage]]] = []
        for position, one in enumerate(carried):
            if one.parameter is not None:
                one.parameter.attributes.update(of=loop, position=position)
            result = self.tracer.add(
                "result", (), {"of": loop, "position": position}, one.form.dtype, one.form.shape, call_name=one.called
            )
            result.user_name = one.called
            results.append(result)
            if one.storage is not None:
                one.storage.value = result
                one.storage.version += 1
            else:
                assert one.frame is not None
                new = one.form.object_of(self.tracer, result)
                if runs and one.last is not None and one.last.kind == one.form.kind:
                    new.kinds = one.last.kinds
                variables = one.frame.variables
                held = variables.get(one.name)
                if one.path and isinstance(held, Pending):
                    held = held.read()
                variables[one.name] = one.replaced(held, new)
                if one.form.kind == "array":
                    one.made = new
                    made.append((new, one.sources))
        self._mark_chosen(made)

    def _note_memory(self, truth: Value, chosen: list[Carried]) -> None:
        """Whose memory an array is behind a branch, by its condition."""
        if not chosen:
            return
        otherwise = self.tracer.add("logical_not", (truth,), {}, np.dtype(np.bool_), ())
        for one in chosen:
            may_be = []
            for held, holds in zip(one.ways, (truth, otherwise), strict=True):
                if isinstance(held, SymArray):
                    may_be += [(storage, holds) for storage in (held.storage, *(s for s, _ in held.storage.may_be))]
            one.made.storage.may_be = tuple(may_be)

    def _mark_chosen(self, made: list[tuple[SymArray, list[Storage]]]) -> None:
        """Arrays that came out of a loop or a branch as values, and that others may see or write into."""
        seen: dict[int, Storage] = {}
        frame = self.frame
        while frame is not None:
            seen |= {id(memory.storage): memory.storage for memory in memory_of(frame, self.tracer.checked)}
            frame = frame.caller
        for array, sources in made:
            visible = [storage for storage in sources if id(storage) in seen or storage.argument is not None]
            shared = any(storage in others for storage in sources for other, others in made if other is not array)
            chosen = [pair for storage in visible for pair in (storage.chosen_from or ())]
            if visible or shared:
                array.storage.chosen_from = (*((storage, storage.value) for storage in visible), *chosen)

    # -- values ----------------------------------------------------------------------------------

    def held(self, name: str) -> Any:
        value = self.frame.variables[name]
        return value.read() if isinstance(value, Pending) else value

    def truth_of(self, node: ast.expr) -> RunBool:
        """A condition as one truth of the run."""
        return RunBool(self.tracer, self._truth_value(node, self.evaluate(node)))

    def negated(self, node: ast.AST, condition: Any) -> RunBool:
        value = self._truth_value(node, condition)
        return RunBool(self.tracer, self.tracer.add("logical_not", (value,), {}, np.dtype(np.bool_), ()))

    def _truth_value(self, node: ast.AST, condition: Any) -> Value:
        tracer = self.tracer
        if isinstance(condition, SymInt):
            condition = condition != 0
        if isinstance(condition, SymArray) and not condition.sizes:
            value = condition.read()
            return self._cast(value, np.dtype(np.bool_))
        if isinstance(condition, RunScalar):
            return self._cast(condition.value, np.dtype(np.bool_))
        if isinstance(condition, (bool, np.bool_)):
            return tracer.add("const", (), {"value": bool(condition)}, np.dtype(np.bool_), ())
        raise self.error(
            node,
            f"loops: the truth of {described(condition)}"[:200],
            "it has several elements",
            "Use np.any or np.all.",
        )

    def _cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        return value if value.dtype == dtype else self.tracer.add("cast", (value,), {}, dtype, value.shape)

    def _zeros(self, form: Form) -> Value:
        return self.tracer.zeros(form.dtype, form.shape)

    def _value_of(self, held: Any) -> tuple[Value, Form] | None:
        """A Python object as a value of the program and its form; None for what is no array and no number."""
        tracer = self.tracer
        if isinstance(held, SymArray):
            value = held.read()
            shape = tuple(tracer.resolve(size) for size in held.sizes)
            return value, Form("scalar" if held.is_scalar else "array", held.dtype, shape, held.kinds)
        if isinstance(held, SymInt):
            return held.of_the_run(), Form("int", np.dtype(np.int64))
        if isinstance(held, SymScalar):
            if type(held.hint) is complex:
                return None
            return held.value, Form(type(held.hint).__name__, held.value.dtype, (), held.kinds)
        if isinstance(held, (bool, np.bool_)) or (isinstance(held, int) and abs(held) <= LARGEST_INT):
            kind = "scalar" if isinstance(held, np.generic) else type(held).__name__
            dtype = np.dtype(np.bool_) if isinstance(held, (bool, np.bool_)) else np.dtype(np.int64)
            return tracer.add("const", (), {"value": held}, dtype, ()), Form(kind, dtype)
        if isinstance(held, np.generic) and held.dtype.kind in "iuf":
            return tracer.add("const", (), {"value": held.item()}, held.dtype, ()), Form("scalar", held.dtype)
        if isinstance(held, float):
            return tracer.add("const", (), {"value": held}, np.dtype(np.float64), ()), Form("float", np.dtype(float))
        return None
