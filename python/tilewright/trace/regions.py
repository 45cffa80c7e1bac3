"""Control flow on values of the run: loops that stay loops, and branches on data, as regions of the program.

A body is run on symbolic values. What it changes is carried: variables that a trip reads before it assigns them, and
arrays from outside that it writes. Which those are shows while it runs, so it runs again until nothing new appears and
each carried value ends a trip with the dtype and the shape that it began with.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import TraceError
from ..ops.operands import is_symbolic
from .arrays import Storage, SymArray
from .compressed import Compressed
from .early_return import VALUE, has_break, test_as_break
from .generators import Drawing
from .graph import Block, Value, unchanged
from .scalars import LARGEST_INT, RunBool, RunScalar, SymInt, SymScalar, described
from .sizes import Size
from .tracer import Undecided

if TYPE_CHECKING:
    from .interpreter import Frame
    from .tracer import Tracer

# Each run finds at least one more carried value or one wider dtype.
MAX_RUNS = 40
_MISSING = object()
_OTHER_TIMES = itertools.count(1)
_GIVEN = " given"  # stands beside variables for what an expression or a return gives


class Leaving(Enum):
    """How statements end before their block does."""

    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"


class Control(Exception):
    """No error: how the interpreter goes on."""


class CarryNeeded(Control):
    """A trip that a break skips would set a variable of that form."""

    def __init__(self, name: str, form: Form) -> None:
        super().__init__(name)
        self.name = name
        self.form = form


class TestWrites(Control):
    """The condition of a while does what the trip has to see: a check, an assignment."""


@dataclass
class Pending:
    """Stands for a variable whose value is not settled: `read` gives it, or says why there is none."""

    read: Callable[[], Any]
    of_last_trip: bool = False
    was_set: bool = False  # before the loop
    leads_to: Callable[[], list[Any]] = list  # objects whose memory may be written through it


@dataclass
class Form:
    """What kind of Python object a value is: array, scalar (of NumPy), float, int or bool."""

    kind: str
    dtype: np.dtype[Any]
    shape: tuple[Size, ...] = ()
    kinds: frozenset[str] = frozenset()  # more than one, where the data decide

    def object_of(self, tracer: Tracer, value: Value) -> Any:
        if self.kind == "bool":
            made: Any = RunBool(tracer, value)
        elif self.kind in ("int", "float"):
            made = RunScalar(tracer, value, {"int": int, "float": float}[self.kind])
        else:
            made = SymArray.fresh(tracer, value, is_scalar=self.kind == "scalar", c_order=True)
        made.kinds = self.kinds
        return made

    def _of_kinds(self, other: Form) -> Form:
        kinds = (self.kinds or {self.kind}) | (other.kinds or {other.kind})
        return Form(self.kind, self.dtype, self.shape, frozenset(kinds) if len(kinds) > 1 else frozenset())

    def joined(self, other: Form) -> Form | None:
        """The form that holds both, None where there is none."""
        if self.shape != other.shape or "array" in (self.kind, other.kind):
            return self if (self.kind, self.dtype, self.shape) == (other.kind, other.dtype, other.shape) else None
        if self.kind == other.kind:
            return self._of_kinds(other) if self.dtype == other.dtype else None
        if "scalar" in (self.kind, other.kind):
            scalar, number = (self, other) if self.kind == "scalar" else (other, self)
            fits = np.result_type(scalar.dtype, {"bool": False, "int": 0, "float": 0.0}[number.kind]) == scalar.dtype
            return scalar._of_kinds(number) if fits else None
        if "bool" in (self.kind, other.kind):
            return None
        return self._of_kinds(other) if self.kind == "float" else other._of_kinds(self)


@dataclass
class Carried:
    """One value that goes from trip to trip, in a variable or in an array's memory."""

    initial: Value
    form: Form
    frame: Frame | None  # of the variable, None for memory
    name: str
    storage: Storage | None = None
    parameter: Value | None = field(default=None, repr=False)
    final: Value | None = field(default=None, repr=False)  # at the end of a trip
    held: Any = field(default=None, repr=False)  # the variable's object at the start of a trip
    last: Form | None = None  # what a trip leaves
    path: tuple[int, ...] = ()  # where in the variable, which holds a tuple
    # Arrays that a variable may hold at the end, each under a name of its own: memory that others may see.
    sources: list[Storage] = field(default_factory=list, repr=False)

    @property
    def called(self) -> str:
        return self.text or self.initial.user_name or self.initial.call_name

    @property
    def text(self) -> str:
        return self.name + "".join(f"[{k}]" for k in self.path)

    def present(self, held: Any) -> Any:
        """Its part of what the variable holds."""
        for k in self.path:
            if type(held) is not tuple or k >= len(held):
                return None
            held = held[k]
        return held

    def replaced(self, held: Any, new: Any, path: tuple[int, ...] | None = None) -> Any:
        """What the variable holds with its part replaced."""
        path = self.path if path is None else path
        if not path:
            return new
        inner = self.replaced(held[path[0]], new, path[1:])
        return (*held[: path[0]], inner, *held[path[0] + 1 :])


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


@dataclass
class _Memory:
    """An array from outside of a region, as it was before; `name` of the variable that leads to it."""

    name: str
    storage: Storage
    value: Value
    version: int

    def changed(self) -> bool:
        return self.storage.version != self.version

    def set(self, value: Value) -> None:
        self.storage.value = value
        self.storage.version += 1
        self.version = self.storage.version


class Regions:
    """The part of the interpreter that makes regions."""

    tracer: Tracer
    frame: Any

    if TYPE_CHECKING:

        def at(self, node: ast.AST) -> None: ...
        def error(self, node: ast.AST, asked: str, why: str, what_to_do: str) -> TraceError: ...
        def evaluate(self, node: ast.expr) -> Any: ...

        stopped: list[str]
        unrolling: list[tuple[str, int, int]]
        containers: list[set[int]]
        ways_left: int

        def assign(self, target: ast.expr, value: Any) -> None: ...
        def block(self, statements: Iterable[ast.stmt]) -> None: ...
        def run_until_left(self, statements: list[ast.stmt]) -> tuple[Leaving | None, Any]: ...
        def leave_with(self, value: Any) -> NoReturn: ...

    # -- loops -----------------------------------------------------------------------------------

    def for_region(
        self, node: ast.For, first: Size, stop: Size, step: int, item: Callable[[Any], Any] | None = None
    ) -> None:
        """A `for` over a range, as one operation of the program; `item` is what the loop's variable is in a trip."""
        tracer = self.tracer
        name = "i"
        if item is None and isinstance(node.target, ast.Name) and node.target.id.strip("_"):
            name = node.target.id
        length = stop - first if step > 0 else first - stop
        index = tracer.new_loop(name, first, (length + (abs(step) - 1)).floor_divide(abs(step)), step)
        (symbol,) = index.symbols()
        last = first + ((length + (abs(step) - 1)).floor_divide(abs(step)) - 1) * step

        runs = tracer.decide_if_same_in_all_trips(">=", length, 1)
        trips = (length + (abs(step) - 1)).floor_divide(abs(step))
        drawing = Drawing(tracer, (index - first).floor_divide(step) if step > 0 else (first - index).floor_divide(-step),
                          tracer.resolve(trips))  # fmt: skip

        def trip() -> bool:
            # In a trip there is one.
            tracer.facts.append(tracer.resolve(length - 1))

            def body() -> None:
                held = SymInt(tracer, index)
                self.assign(node.target, held if item is None else item(held))
                with nullcontext() if runs else self._maybe_run(node, "a loop that may have no trip"):
                    self._trip_of(node)

            with drawing.trip():
                if stopped:
                    self.choose(node, self.negated(node, self.held(stopped)), body, lambda: None, skips=True)
                else:
                    body()
            return drawing.differs()

        tracer.open_loops.add(symbol)
        try:
            with self._breaking(node) as stopped:
                carried, block, after = self._settled(node, stopped, trip)
        finally:
            tracer.open_loops.discard(symbol)
        self.at(node)
        attributes = {"variable": symbol, "start": first, "stop": stop, "step": Size.constant(step)}
        loop = tracer.add("for", [c.initial for c in carried], attributes, np.dtype(np.bool_), (), blocks=(block,))
        self._hand_out(loop, carried, runs=runs is True)
        drawing.finish()
        for variable, value in after.items():
            if variable.startswith(VALUE):
                continue  # read only where it was set
            if isinstance(value, SymInt):
                held: Any = SymInt(tracer, tracer.resolve(value.size.substitute({symbol: last})))
            else:
                held = value
            self.frame.variables[variable] = self._once_run(node, variable, held, length)
        self._else_of(node, stopped)

    def while_region(self, node: ast.While) -> None:
        """A `while` on a value of the run."""
        tracer = self.tracer
        test = Block()

        def trip() -> bool:
            del test.values[:], test.yields[:]
            with tracer.writing(test):
                goes_on = self.negated(node, self.held(stopped)) if stopped else True
                variables, memories = dict(self.frame.variables), list(_reachable(self.frame, tracer.checked))
                if goes_on is True:
                    with tracer.where_data_decide(f"the condition of the while of line {node.lineno}"):
                        condition = self.evaluate(node.test)
                else:
                    condition = self.choose(node, goes_on, lambda: self.truth_of(node.test), lambda: False)
                test.yields.append(self._truth_value(node, condition))
                assigned = any(variables.get(name) is not held for name, held in self.frame.variables.items())
                if assigned or any(memory.changed() for memory in memories):
                    raise TestWrites
            where = f"the while of line {node.lineno}"
            with tracer.where_data_decide(where), self._maybe_run(node, "a while that may have no trip"):
                self._trip_of(node)
            return False

        try:
            with self._breaking(node) as stopped:
                carried, block, after = self._settled(node, stopped, trip)
        except TestWrites:
            self.while_region(test_as_break(node))
            return
        self.at(node)
        test.parameters = block.parameters
        checked = next(one for one in carried if one.storage is tracer.checked.storage)
        if checked.final is not checked.parameter and checked.parameter is not None:
            # What goes on with positions that were clamped might not end.
            with tracer.writing(test):
                both = (checked.parameter, test.yields[0])
                test.yields[0] = tracer.add("logical_and", both, {}, np.dtype(np.bool_), ())
        loop = tracer.add("while", [c.initial for c in carried], {}, np.dtype(np.bool_), (), blocks=(test, block))
        self._hand_out(loop, carried)
        once = Size.constant(1) if isinstance(node.test, ast.Constant) else None
        for variable, value in after.items():
            if not variable.startswith(VALUE):
                self.frame.variables[variable] = self._once_run(node, variable, value, once)
        self._else_of(node, stopped)

    @contextmanager
    def _breaking(self, node: ast.For | ast.While) -> Iterator[str]:
        """The variable that says whether a break has ended the loop; "" where there is none in it."""
        name = f" break of line {node.lineno}" if has_break(node) else ""
        if name:
            self.frame.variables[name] = False
        self.stopped.append(name)
        try:
            yield name
        finally:
            self.stopped.pop()

    def _trip_of(self, node: ast.For | ast.While) -> None:
        leaving, _ = self.run_until_left(node.body)
        if leaving is Leaving.RETURN:
            raise self.error(
                node, "loops: a return out of a loop that runs on values of the run",
                "a loop hands its values on to what follows it", "Break out of the loop, and return behind it.",
            )  # fmt: skip
        if leaving is Leaving.BREAK:
            self.frame.variables[self.stopped[-1]] = True

    def _else_of(self, node: ast.For | ast.While, stopped: str) -> None:
        held = self.frame.variables.pop(stopped, None)
        if not node.orelse:
            return
        if held is None:
            self.block(node.orelse)
        else:
            # One that leaves the block around it has become an if behind the loop.
            self.choose(node, self.negated(node, held), lambda: self.block(node.orelse), lambda: None)

    def held(self, name: str) -> Any:
        value = self.frame.variables[name]
        return value.read() if isinstance(value, Pending) else value

    def truth_of(self, node: ast.expr) -> RunBool:
        """A condition as one truth of the run."""
        return RunBool(self.tracer, self._truth_value(node, self.evaluate(node)))

    def negated(self, node: ast.AST, condition: Any) -> RunBool:
        value = self._truth_value(node, condition)
        return RunBool(self.tracer, self.tracer.add("logical_not", (value,), {}, np.dtype(np.bool_), ()))

    def _settled(
        self, node: ast.For | ast.While, stopped: str, trip: Callable[[], bool]
    ) -> tuple[list[Carried], Block, dict[str, Any]]:
        """Runs a loop's body until it carries what it has to: (carried, its block, other variables after a trip)."""
        tracer, frame = self.tracer, self.frame
        names = sorted(_assigned([node]) & frame.locals) + [stopped] * bool(stopped)
        before = {name: frame.variables.get(name, _MISSING) for name in names}
        memories = list(_reachable(frame, tracer.checked))
        self.containers.append(_containers(frame))
        try:
            return self._settle(node, stopped, trip, names, before, memories)
        finally:
            self.containers.pop()

    def _settle(  # noqa: PLR0917
        self, node: ast.For | ast.While, stopped: str, trip: Callable[[], bool], names: list[str],
        before: dict[str, Any], memories: list[_Memory],
    ) -> tuple[list[Carried], Block, dict[str, Any]]:  # fmt: skip
        tracer, frame = self.tracer, self.frame
        # Memory is carried, and what no trip writes is left out of the text; variables are when a trip reads them.
        forms: dict[str, Form] = {}
        unset: dict[str, Form] = {}
        # Arrays that a trip assigns to their own name again stay what they are.
        same: dict[str, SymArray | Compressed | None] = {}
        for _ in range(MAX_RUNS):
            block = Block()
            checks, symbols = dict(tracer.checks), set(tracer.loops)
            carried = [self._carried_memory(m) for m in memories]
            try:
                with tracer.writing(block):
                    self._enter(node, before, carried, memories, forms, unset, same)
                    again = trip()
                    wider = again or self._rebound(before, same) or self._close(node, carried, forms)
                    after = {n: frame.variables.get(n, _MISSING) for n in names}
                    handed = {c.name for c in carried if c.frame is frame}
                    after = {
                        n: v
                        for n, v in after.items()
                        if n not in handed and same.get(n) is None and not (isinstance(v, Pending) and v.of_last_trip)
                    }
                    changed = {
                        id(one.storage)
                        for one in carried
                        if one.storage is not None
                        and one.parameter is not None
                        and one.parameter.number in tracer.taken_for_unchanged
                        and one.final is not None
                        and unchanged(one.final, {}) is not one.parameter
                    }
                    if changed:
                        tracer.known_to_change |= changed
                        tracer.checks = checks
                        wider = True
                    if not wider:
                        left = self._let_out(carried, memories, before, after)
                        block.yields += [one.final for one in carried if one.final is not None]
            except CarryNeeded as needed:
                unset[needed.name] = needed.form
                wider = True
            except BaseException:
                self._leave(frame, before, memories)
                raise
            self._leave(frame, before, memories)
            if wider:
                tracer.forget(tracer.loops.keys() - symbols)
            if not wider:
                return carried, block, {**left, **{n: _MISSING for n in unset if n in handed}}
        raise self.error(
            node, "loops: a loop whose values change their kind again and again",
            f"they did not settle in {MAX_RUNS} runs of its body", "Leave the loop out of the compiled function.",
        )  # fmt: skip

    def _enter(  # noqa: PLR0917
        self, node: ast.stmt, before: dict[str, Any], carried: list[Carried], memories: list[_Memory],
        forms: dict[str, Form], unset: dict[str, Form], same: dict[str, SymArray | Compressed | None],
    ) -> None:  # fmt: skip
        """The state in which a trip begins."""
        tracer, frame = self.tracer, self.frame
        outer, block = tracer.blocks[-2:]

        def of_last_trip(name: str) -> Pending:
            made: list[Any] = []

            def read() -> Any:
                if not made and name not in same:
                    held = before[name]
                    if isinstance(held, Pending):
                        held = held.read() if name not in unset or _is_set(held) else None
                    keeps = isinstance(held, Compressed) or (isinstance(held, SymArray) and not held.is_scalar)
                    same[name] = held if keeps else None
                if same.get(name) is not None:
                    return same[name]
                if not made:
                    made.append(carry(before[name], ()))
                return made[0]

            def carry(held: Any, path: tuple[int, ...]) -> Any:
                held = held.read() if isinstance(held, Pending) and _is_set(held) else held
                if type(held) is tuple:
                    return tuple(carry(part, (*path, k)) for k, part in enumerate(held))
                key = name + "".join(f"[{k}]" for k in path)
                with tracer.writing(outer), _seeing(memories, {}):
                    one = self._carried_name(node, name, held, forms.get(key), unset.get(name))
                one.path = path
                one.sources = _storages(held)
                with tracer.writing(block):
                    one.parameter = self._parameter(one)
                one.held = one.form.object_of(tracer, one.parameter)
                carried.append(one)
                return one.held

            was_set = _is_set(before[name]) or name in unset
            return Pending(read, of_last_trip=True, was_set=was_set, leads_to=lambda: [before[name], *made])

        for name in before:
            frame.variables[name] = of_last_trip(name)
        for one, memory in zip(carried, memories, strict=True):
            one.parameter = self._parameter(one)
            memory.set(one.parameter)

    def _rebound(self, before: dict[str, Any], same: dict[str, SymArray | Compressed | None]) -> bool:
        """Whether a name that was taken to keep its array has another one at the end of a trip."""
        rebound = False
        for name, array in same.items():
            held = self.frame.variables.get(name)
            if array is None or (isinstance(held, Pending) and held.of_last_trip):
                continue
            held = held.read() if isinstance(held, Pending) else held
            if held is array:
                continue
            if (
                not isinstance(held, SymArray)
                or not isinstance(array, SymArray)
                or held.storage is not array.storage
                or held.chain != array.chain
            ):
                same[name] = None
                rebound = True
        return rebound

    def _parameter(self, one: Carried) -> Value:
        parameter = self.tracer.add("parameter", (), {}, one.form.dtype, one.form.shape, call_name=one.called)
        parameter.user_name = one.called
        if one.storage is not None:
            parameter.attributes.update(initial=one.initial, storage=id(one.storage))
        return parameter

    def _leave(self, frame: Frame, before: dict[str, Any], memories: list[_Memory]) -> None:
        """The state before the loop."""
        for name, value in before.items():
            if value is _MISSING:
                frame.variables.pop(name, None)
            else:
                frame.variables[name] = value
        for memory in memories:
            if memory.changed() or memory.storage.value is not memory.value:
                memory.set(memory.value)

    def _close(self, node: ast.stmt, carried: list[Carried], forms: dict[str, Form]) -> bool:
        """What a trip leaves in what is carried; whether something needs a wider form, and the body another run."""
        wider = False
        for one in carried:
            if one.storage is not None:
                one.final = one.storage.value
                continue
            assert one.frame is not None
            held = one.frame.variables.get(one.name)
            if isinstance(held, Pending) and held.of_last_trip:
                held = held.read()
            held = one.present(held)
            if isinstance(one.held, SymArray) and unchanged(one.held.storage.value, {}) is not one.parameter:
                # In the first trip it is an array from outside, which others may see; in later ones it is not.
                raise self.error(
                    node, f"loops: {one.text}, which a trip writes into and assigns anew",
                    "the first trip writes into the array from before the loop, the others into their own",
                    f"Write into it ({one.text}[...] = value) instead of assigning it anew.",
                )  # fmt: skip
            found = self._value_of(held)
            if found is None:
                raise self.error(
                    node, f"loops: {one.text}, which a trip hands to the next",
                    "it is no array and no number", "Leave the loop out of the compiled function.",
                )  # fmt: skip
            value, form = found
            # What the trip needs to be equal is one size from here on.
            one.form.shape = tuple(self.tracer.resolve(size) for size in one.form.shape)
            form.shape = tuple(self.tracer.resolve(size) for size in form.shape)
            joined = one.form.joined(form)
            if joined is None:
                raise self.error(
                    node,
                    f"loops: {one.text}, which a trip begins as {_form_text(one.form)} and ends as {_form_text(form)}",
                    "an array or a number keeps its dtype and its shape from trip to trip",
                    "Give it its final dtype and shape before the loop.",
                )
            if joined != one.form:
                forms[one.text] = joined
                wider = True
            one.final = self._cast(value, joined.dtype)
            one.last = form
            one.sources += [storage for storage in _storages(held) if storage not in one.sources]
        self._refuse_shared_writes(node, carried)
        return wider

    def _refuse_shared_writes(self, node: ast.stmt, carried: list[Carried]) -> None:
        """A variable that is another array in each trip is a value of its own in the program: nobody else may write there."""
        held_by = {id(one.held.storage): one for one in carried if isinstance(one.held, SymArray)}
        for one in carried:
            # What it takes over from another variable may be all that the other one was.
            pending = list(one.sources)
            for storage in pending:
                other = held_by.get(id(storage))
                if other is not None and other is not one:
                    pending += [source for source in other.sources if source not in pending]
            one.sources = [storage for storage in pending if id(storage) not in held_by]
        written = {
            id(one.storage)
            for one in carried
            if one.storage is not None and one.final is not None and unchanged(one.final, {}) is not one.parameter
        }
        for one in carried:
            if one.storage is None and one.form.kind == "array" and any(id(s) in written for s in one.sources):
                raise self.error(
                    node, f"loops: {one.text}, which a trip assigns anew",
                    "a trip writes into an array that it may be", f"Copy where {one.text} is assigned (.copy()).",
                )  # fmt: skip

    def _let_out(
        self, carried: list[Carried], memories: list[_Memory], before: dict[str, Any], after: dict[str, Any]
    ) -> dict[str, Any]:
        """Variables that a trip sets without reading them: carried for who reads them after the loop."""
        tracer = self.tracer
        left: dict[str, Any] = {}
        outside = {id(one.storage) for one in carried if one.storage is not None}
        for name, held in after.items():
            value = self._of_inner_loop(name, held)
            found = None if isinstance(value, (SymInt, Pending)) or value is _MISSING else self._value_of(value)
            if value is _MISSING:
                continue
            if isinstance(value, (list, tuple, dict, set)) and is_symbolic(value):
                left[name] = Pending(self._lost_container(name, f"a {type(value).__name__} of values of a trip"))
                continue
            if isinstance(value, Compressed) and value is not before[name]:
                left[name] = Pending(self._lost_container(name, "elements under a mask"))
                continue
            if found is None or not self._is_fixed(found[1]):
                left[name] = value
                continue
            made, form = found
            if isinstance(value, SymArray) and value.chain and not value.is_scalar and id(value.storage) in outside:
                left[name] = Pending(self._lost_view(name))
                continue
            with tracer.writing(tracer.blocks[-2]), _seeing(memories, {}):
                started = self._value_of(before[name])
                same = started is not None and started[1] == form
                initial = started[0] if same and started is not None else self._zeros(form)
            one = Carried(initial, form, self.frame, name)
            one.parameter = self._parameter(one)
            one.final = made
            one.sources = [*_storages(value), *(_storages(before[name]) if same else [])]
            carried.append(one)
            if not same:
                left[name] = _MISSING  # read after the loop, it needs a trip
        return left

    def _of_inner_loop(self, name: str, held: Any) -> Any:
        """What a loop in the trip leaves, if it has a trip itself for certain; nobody may read it otherwise."""
        if not isinstance(held, Pending) or held.of_last_trip:
            return held
        try:
            with self.tracer.without_decisions():
                return held.read()
        except TraceError as error:
            refusal = error

            def read() -> NoReturn:
                raise refusal

            return Pending(read)
        except (Undecided, UnboundLocalError):
            return Pending(self._lost_container(name, "which a loop in it may not have set"))

    def _lost_container(self, name: str, what: str) -> Callable[[], Any]:
        def read() -> NoReturn:
            raise self.tracer.error(
                f"loops: {name} after the loop that made it, {what}",
                "arrays and numbers come out of a loop",
                f"Set {name} before the loop, or keep its parts in variables of their own.",
                "loop",
            )

        return read

    def _lost_view(self, name: str) -> Callable[[], Any]:
        def read() -> NoReturn:
            raise self.tracer.error(
                f"loops: {name} after the loop that made it, a view of an array from outside",
                "which part it shows depends on the last trip",
                "Take the view again after the loop.",
                "loop",
            )

        return read

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
                    made.append((new, one.sources))
        self._mark_chosen(made)

    def _mark_chosen(self, made: list[tuple[SymArray, list[Storage]]]) -> None:
        """Arrays that came out of a loop or a branch as values, and that others may see or write into."""
        seen: dict[int, Storage] = {}
        frame = self.frame
        while frame is not None:
            seen |= {id(memory.storage): memory.storage for memory in _reachable(frame, self.tracer.checked)}
            frame = frame.caller
        for array, sources in made:
            visible = [storage for storage in sources if id(storage) in seen or storage.argument is not None]
            shared = any(storage in others for storage in sources for other, others in made if other is not array)
            chosen = [pair for storage in visible for pair in (storage.chosen_from or ())]
            if visible or shared:
                array.storage.chosen_from = (*((storage, storage.value) for storage in visible), *chosen)

    def _once_run(self, node: ast.stmt, name: str, value: Any, length: Size | None) -> Any:
        """A variable that only a trip sets, read after the loop, whose range has that length."""
        tracer = self.tracer
        made = self.frame.variables.get(name, _MISSING) if value is _MISSING else value

        def read() -> Any:
            if length is None:
                raise self.error(
                    node, f"loops: {name} after a while that sets it",
                    "whether the while runs at all depends on the data", f"Set {name} before the loop.",
                )  # fmt: skip
            message = f"cannot access local variable '{name}' where it is not associated with a value"
            tracer.require(">=", length, 1, message, UnboundLocalError)
            if not _sizes_in(made).isdisjoint(tracer.loops.keys() - tracer.open_loops):
                raise self.error(
                    node, f"loops: {name} after the loop that sets it",
                    "its size differs from trip to trip", "Set it again after the loop.",
                )  # fmt: skip
            return made.read() if isinstance(made, Pending) else made

        return Pending(read, leads_to=lambda: [made])

    # -- branches --------------------------------------------------------------------------------

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
        memories = list(_reachable(frame, tracer.checked))
        sides = []
        for holds, way in zip((True, False), ways, strict=True):
            block = Block()
            with tracer.writing(block):
                if isinstance(condition, RunBool):
                    tracer.facts += condition.facts(holds)
                self.containers.append(_containers(frame))
                try:
                    with tracer.where_data_decide(where), self._maybe_run(node, "one way of a branch on data"):
                        given = way()
                except BaseException:
                    # The condition of a while may be tried again, as that of a region.
                    frame.variables = dict(before)
                    self._leave(frame, before, memories)
                    raise
                finally:
                    self.containers.pop()
                stored = {id(m.storage): m.storage.value for m in memories if m.changed()}
                found = {**frame.variables, _GIVEN: given}
                values = {n: self._value_of(v) for n, v in found.items() if v is not before.get(n, _MISSING)}
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
        for one in merged.values():
            if one.form is None:
                frame.variables[one.name] = self._differs(node, one.name)
        if _GIVEN in frame.variables:
            given = frame.variables.pop(_GIVEN)
            return given.read() if isinstance(given, Pending) else given
        return given

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

    def _merged(self, sides: list[_Side], memories: list[_Memory]) -> dict[str, Any]:
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
                with self.tracer.writing(side.block), _seeing(memories, side.stored):
                    held = side.found.get(name, _MISSING)
                    if isinstance(held, Pending) and held.was_set:
                        held = held.read()  # one way leaves what the last trip left
                    found.append(side.values.get(name) or (None if held is _MISSING else self._value_of(held)))
            if name == _GIVEN and sides[0].found[name] is None and sides[1].found[name] is None:
                continue
            parts = [side.found.get(name, _MISSING) for side in sides]
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
            merged[name].sources = [storage for part in parts for storage in _storages(part)]
        return merged

    def _merge_tuples(  # noqa: PLR0917
        self,
        sides: list[_Side],
        memories: list[_Memory],
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
                with self.tracer.writing(side.block), _seeing(memories, side.stored):
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
            one.sources = [storage for part in pair for storage in _storages(part)]
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

    # -- values ----------------------------------------------------------------------------------

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
        value = self.tracer.add("const", (), {"value": form.dtype.type(0).item()}, form.dtype, ())
        return self.tracer.add("broadcast_to", (value,), {}, form.dtype, form.shape) if form.shape else value

    def _value_of(self, held: Any) -> tuple[Value, Form] | None:
        """A Python object as a value of the program and its form; None for what is no array and no number."""
        tracer = self.tracer
        if isinstance(held, SymArray):
            value = held.read()
            shape = tuple(tracer.resolve(size) for size in held.sizes)
            return value, Form("scalar" if held.is_scalar else "array", held.dtype, shape, held.kinds)
        if isinstance(held, SymInt):
            return held.as_value(), Form("int", np.dtype(np.int64))
        if isinstance(held, SymScalar):
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

    def _carried_name(self, node: ast.stmt, name: str, held: Any, wider: Form | None, unset: Form | None) -> Carried:
        if unset is not None and not _is_set(held):
            return Carried(self._zeros(unset), unset, self.frame, name)
        found = None if held is _MISSING else self._value_of(held.read() if isinstance(held, Pending) else held)
        if unset is not None and (found is None or found[1].joined(unset) is None):
            # Only trips set it, the first one for certain.
            return Carried(self._zeros(unset), unset, self.frame, name)
        if found is None:
            kind = "selection by a mask" if isinstance(held, Compressed) else type(held).__name__
            why = f"a {kind} is not carried from trip to trip"
            raise self.error(
                node, f"loops: {name}, which a trip reads and changes",
                "it may be read before it is set" if held is _MISSING else why,
                "Carry arrays and numbers, set before the loop, or leave the loop out of the compiled function.",
            )  # fmt: skip
        value, form = found
        if wider is not None:
            value, form = self._cast(value, wider.dtype), wider
        return Carried(value, form, self.frame, name)

    def _carried_memory(self, memory: _Memory) -> Carried:
        value = memory.value
        shape = tuple(self.tracer.resolve(size) for size in value.shape)
        return Carried(value, Form("array", value.dtype, shape), None, memory.name, memory.storage)


def _form_text(form: Form) -> str:
    if form.kind in ("float", "int", "bool"):
        return f"a Python {form.kind}"
    return f"{form.dtype}[{', '.join(map(str, form.shape))}]"


def _assigned(statements: list[ast.stmt]) -> set[str]:
    """Names that statements bind, without those of functions and comprehensions inside."""
    names: set[str] = set()
    pending: list[ast.AST] = list(statements)
    while pending:
        item = pending.pop()
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(item.name)
            continue
        if isinstance(item, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            names.add(item.id)
        pending.extend(ast.iter_child_nodes(item))
    return names


def _reachable(frame: Frame | None, checked: SymArray) -> Iterator[_Memory]:
    """The memory of arrays that a function's variables lead to, and that of the program's check."""
    seen: set[int] = set()
    pending: list[tuple[str, Any]] = [("checked", checked)]
    while frame is not None:
        pending += frame.variables.items()
        frame = frame.parent
    for name, item in pending:
        if isinstance(item, (SymArray, Compressed)):
            storage = (item.whole if isinstance(item, Compressed) else item).storage
            if id(storage) not in seen:
                seen.add(id(storage))
                yield _Memory(name, storage, storage.value, storage.version)
        elif isinstance(item, Pending):
            pending += ((name, part) for part in item.leads_to())
        elif isinstance(item, (list, tuple)):
            pending += ((name, part) for part in item)
        elif isinstance(item, dict):
            pending += ((name, part) for part in item.values())


def _containers(frame: Frame | None) -> set[int]:
    """The lists, dicts and sets that a function's variables lead to."""
    found: set[int] = set()
    pending: list[Any] = []
    while frame is not None:
        pending += frame.variables.values()
        frame = frame.parent
    while pending:
        item = pending.pop()
        if isinstance(item, (list, tuple, dict, set)) and id(item) not in found:
            found.add(id(item))
            pending += item.values() if isinstance(item, dict) else item
    return found


@contextmanager
def _seeing(memories: list[_Memory], values: Mapping[int, Value]) -> Iterator[None]:
    """Arrays from outside as they were before a region, or as `values` has them: what is read inside is of that time."""
    now = [(memory.storage, memory.storage.value, memory.storage.version) for memory in memories]
    for memory in memories:
        memory.storage.value = values.get(id(memory.storage), memory.value)
        memory.storage.version = -next(_OTHER_TIMES)  # no version that anything was read of before, or will be
    try:
        yield
    finally:
        for storage, value, version in now:
            storage.value, storage.version = value, version


def _storages(held: Any) -> list[Storage]:
    """The memory of an array that a variable holds, and of those that it may be."""
    if isinstance(held, Pending) or not isinstance(held, SymArray) or held.is_scalar:
        return []
    return [held.storage, *(storage for storage, _ in held.storage.chosen_from or ())]


def _is_set(held: Any) -> bool:
    """Whether a variable had a value before a loop for certain."""
    return held is not _MISSING and not (isinstance(held, Pending) and held.of_last_trip and not held.was_set)


def _sizes_in(held: Any) -> set[str]:
    if isinstance(held, SymArray):
        return {symbol for size in held.sizes for symbol in size.symbols()}
    return held.size.symbols() if isinstance(held, SymInt) else set()


__all__ = ["CarryNeeded", "Control", "Leaving", "Pending", "Regions"]
