"""trace(function, args, kwargs): a call of a NumPy function as a program."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..devices import UnknownDtype, stand_in
from ..errors import TraceError
from ..guards import VALUE_KINDS, Missing, PythonGuard, follow, guard_holds, path_text
from ..interpret.arguments import Inputs
from ..interpret.array_lists import ArrayList, FormOfList
from ..interpret.carried import attributes_of
from ..interpret.frame import BeginAgain, FirstApart, Pending, ReadBehind
from ..interpret.generators import OFFSET_BITS, at_most
from ..interpret.handed_arrays import HandedArray
from ..interpret.interpreter import Interpreter
from ..interpret.kept_objects import KeptObject
from ..interpret.moving_arrays import Moves
from ..interpret.outlined import is_part
from ..interpret.plain_arrays import PlainResults, WrittenWithTraced
from ..interpret.protocols import call_without_source
from ..interpret.pure import is_named_tuple
from ..interpret.source import source_of
from ..interpret.staged_cells import ChangesShape
from ..interpret.staged_draws import DrawsAreStages, begin, end
from ..interpret.staged_lists import FilledByLoop, StagedList
from ..interpret.staged_texts import StagedText
from ..interpret.unknown_callees import EffectsAreStages, begin_effects, end_effects
from ..ops.elementwise import copied
from ..ops.operands import is_symbolic, known_key
from ..ops.stages import materialized, of_its_kind
from ..signatures import own_signature
from ..structure import ZERO_DIMENSIONAL, Made, ViewSteps
from ..symbolic.argument import Argument, HeldElsewhere
from ..symbolic.arrays import Storage, SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.decided import Decided
from ..symbolic.graph import BOOL, INT64, Value
from ..symbolic.number import refuse_kinds
from ..symbolic.refusals import CalleeNotSeen, LayoutNeeded, TooLong, Unreached, WaitsForOthers, WrittenSelection
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.size_guards import SizeGuard
from ..symbolic.sizes import Size
from ..symbolic.stages import ON_DEVICE, REPRODUCIBLE, Stage, Untaken
from ..symbolic.trace_limits import MAX_RANK, MAX_VALUES
from ..symbolic.tracer import Tracer
from ..taken_ways import only_way, was_watched
from .emit import Emitter, digest_of, quoted
from .returned_views import Leaf, SharedMemory, own_value

_INPUTS = ("array", "hidden", "scalar")
_PLAIN = (str, bytes, bool, int, float, complex)  # constants that may stand in a result
_MOST_NOT_FOLLOWED = (
    12  # functions and statements of one call that Python runs, since something in them cannot be traced
)
# Operations of traces that were too long: then the outermost function or statements around a refusal are Python's.
_MOST_IN_VAIN = 2 * MAX_VALUES
_CONTRACTS = ("numpy", "reproducible", "fast")


@dataclass(frozen=True)
class Result:
    """One leaf of what the function returns.

    `kind`: array, array of no dimensions, scalar (a NumPy scalar), argument (that very object), view (of what the plan gives, in `view`), held (an
    array whose size the data decide), int, float or bool (a Python number that the program computes), constant (a Python value, in `value`).
    `name` is the program's value, "" for constants and views; `argument` names the argument of an argument or a view.
    """

    kind: str
    name: str = ""
    dtype: str = ""
    argument: str = ""
    value: Any = None
    view: ViewSteps | None = None


@dataclass(frozen=True)
class Traced:
    """A traced call. Text as in translator/program_text.md."""

    program_text: str
    digest: str
    arguments: tuple[Argument, ...]
    guards: tuple[PythonGuard, ...]
    size_guards: tuple[SizeGuard, ...]
    # Result leaves in the structure that the function returns: a Result, a tuple, a list, a dict, or a Made.
    results: Any
    # What the plan gives behind them, for views of it: arguments, arrays, ints.
    behind: tuple[Result, ...]
    # Why NumPy has to run the call although it was traced; None when the program serves it.
    fallback_reason: str | None
    # At these sizes the call computes nothing (its loops have no iterations); at others it may.
    idle: bool
    # Nothing is read or computed: arguments, their views and numbers come back.
    untouched: bool
    contract: str
    # Arguments that the program writes into; they must not share memory with any other one.
    writes: tuple[str, ...]
    writes_anything: bool  # into arguments; also where an error follows that leaves the rest to NumPy
    # Random generators of the caller: the argument that has the state, where the generator is, and how many it draws.
    generators: tuple[tuple[str, tuple[Any, ...], Size], ...]
    handed: tuple[tuple[Any, ...], ...]  # where arrays are that only Python's statements know
    draws_are_stages: bool  # from the generators themselves, in the order of the program
    has_effects: bool  # it calls functions that are not known to be pure
    leaves_ways: bool  # ways of branches that no call took are NumPy's: what they do is not known
    stages: Mapping[str, Stage]  # by their texts in the program
    function: Any = field(repr=False)
    traced_by: str = "source"
    draws_move: bool = False  # by kernels, from states that stages take and give back

    @property
    def may_be_repeated(self) -> bool:
        """Whether a call may be made again, by the program or by NumPy, without anybody seeing it."""
        return not (self.has_effects or self.draws_are_stages or self.leaves_ways)

    @property
    def contiguous(self) -> tuple[str, ...]:
        """Arguments that are C-contiguous in each call that the program answers."""
        paths = {guard.path for guard in self.guards if guard.kind == "contiguous" and guard.value}
        return tuple(argument.name for argument in self.arguments if argument.path in paths)

    def inputs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each input of the program (arrays and scalars) in a call."""
        parameters = bind_call(self.function, args, kwargs)
        root = root_function(self.function)
        return {
            a.name: a.value if a.path[0][0] == "constant" else follow(a.path, parameters, root)
            for a in self.arguments
            if a.kind in _INPUTS
        }

    def called_generators(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, np.random.Generator]:
        """The random generators that the caller passes in, by the argument that has their state."""
        if not self.generators:
            return {}
        parameters, root = bind_call(self.function, args, kwargs), root_function(self.function)
        return {name: follow(path, parameters, root) for name, path, _ in self.generators}

    def called_arrays(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arrays of a call that only Python's statements know."""
        if not self.handed:
            return ()
        parameters, root = bind_call(self.function, args, kwargs), root_function(self.function)
        return tuple(follow(path, parameters, root) for path in self.handed)

    def matches(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> bool:
        """Whether the program answers this call: dtypes, ranks, sizes, constants, globals."""
        return self._refusal(args, kwargs or {}) is None

    def changed_value(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """In words, the value that keeps the program from answering a call, if it is the only reason; else None."""
        return self._refusal(args, kwargs) or None

    def _refusal(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Why the program does not answer a call: the value that decides it, in words, and "" for what is no one value.
        None where it does."""
        try:
            parameters = bind_call(self.function, args, kwargs)
        except TypeError:
            return ""
        root = root_function(self.function)
        sizes: dict[str, int] = {}
        arrays: dict[str, Any] = {}
        numbers: dict[str, str] = {}
        try:
            broken = next((guard for guard in self.guards if not guard_holds(guard, parameters, root)), None)
            if broken is not None:
                return path_text(broken.path) if broken.kind in VALUE_KINDS else ""
            for argument in self.arguments:
                if argument.path[0][0] == "constant" and argument.kind == "hidden":
                    sizes.update({f"{argument.name}.{k}": n for k, n in enumerate(argument.value.shape)})
                elif argument.kind == "scalar":
                    if not _fits(argument, follow(argument.path, parameters, root), sizes):
                        return ""
                    numbers[argument.name] = path_text(argument.path)
                elif argument.kind in _INPUTS:
                    arrays[argument.name] = array = stand_in(follow(argument.path, parameters, root))
                    if not _fits(argument, array, sizes):
                        return ""
        except (Missing, UnknownDtype):
            return ""
        # Arrays that share memory with what is written are told at the call: another program would not take them either.
        if not all(arrays[written].flags.writeable for written in self.writes):
            return ""
        failing = [guard for guard in self.size_guards if not guard.holds(sizes)]
        decided = (str(guard.left) for guard in failing if guard.is_definition and guard.right.is_constant)
        return next((numbers[name] for name in decided if name in numbers), "" if failing else None)


def _fits(argument: Argument, value: Any, sizes: dict[str, int]) -> bool:
    if argument.kind in ("array", "hidden"):
        if not isinstance(value, np.ndarray) or (type(value) is not np.ndarray and not isinstance(value, np.memmap)):
            return False
        if str(value.dtype) != argument.dtype or value.ndim != argument.rank:
            return False
        sizes.update({f"{argument.name}.{k}": n for k, n in enumerate(value.shape)})
        return True
    if argument.weak:
        kind: type = {"bool": bool, "int64": int, "float64": float}[argument.dtype]
        if type(value) is not kind:
            return False
        if isinstance(value, int) and kind is int:
            if not -(2**63) <= value < 2**63:
                return False
            sizes[argument.name] = value
        return True
    return isinstance(value, np.generic) and str(value.dtype) == argument.dtype


def root_function(function: Any) -> types.FunctionType:
    """The plain function behind a method, a jit function or a functools.wraps wrapper of ours."""
    if isinstance(function, types.MethodType):
        return root_function(function.__func__)
    if not isinstance(function, types.FunctionType):
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            return root_function(wrapped)
    return function  # type: ignore[no-any-return]


def bind_call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    root = root_function(function)
    if isinstance(function, types.MethodType):
        args = (function.__self__, *args)
    bound = own_signature(root).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def trace(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    contract: str = "numpy",
    changing: frozenset[str] = frozenset(),
    untaken: Untaken | None = None,
    effects: bool = False,
    begun: Begun | None = None,
) -> Traced:
    """The program of `function(*args, **kwargs)`. The call itself is not made and its arrays are not touched.

    changing: values from outside of the call, as path_text() calls them, that were seen to change.
    untaken: why the program may have no stages; else they are taken, save where the contract is reproducible.
    effects: whether functions that are not known to be pure are called, between kernels too.
    begun: what earlier traces of the same kind of call decided, which ended where a callee was not seen yet.

    Raises
    ------
    TraceError
        Something in it cannot be traced: file and line, what, why not, what to do.
    Exception
        What the function itself raises for these arguments.
    """
    if contract not in _CONTRACTS:
        raise ValueError(f"contract={contract!r}: not a contract. Use one of {', '.join(_CONTRACTS)}.")
    root = root_function(function)
    if not isinstance(root, types.FunctionType):
        raise TraceError(
            f"{getattr(root, '__name__', root)!s}: tracing a {type(root).__name__}; it is not a Python function.",
            "Wrap the call in a def.",
        )
    if untaken is None and contract == "reproducible":
        untaken = REPRODUCIBLE
    once = partial(_trace_once, function, root, args, kwargs or {}, contract, changing, untaken)
    begun = begun or Begun()
    lasting = begun.resumed(root.__code__, effects and untaken is None)
    if (waiting := begun.waiting) is not None:
        # For what the call showed that was watched: the same trace would end there.
        begun.waiting, decided = None, lasting.lasting()
        error, decided.unrolled = waiting
        _leave_out(root.__code__, error, decided, begun.first or error)
    while True:
        decided = lasting.lasting()
        try:
            return _trace_decided(root, once, decided)
        except TraceError as error:
            if isinstance(error, WaitsForOthers):
                raise
            if error.long_since is not None:
                try:
                    _leave_out(root.__code__, error, decided, error)
                except TraceError:  # Python cannot run it alone
                    lasting.follows_all = True
                continue
            if decided.lists_found and not error.not_seen:
                lasting.lists_of_the_call = False  # item by item they may be followed
                continue
            if not lasting.takes_effects:
                raise
            if not error.not_seen:
                begun.first = begun.first or error
                begun.waiting = (error, decided.unrolled) if _waits_for_ways(root.__code__, error, decided) else None
            try:
                _leave_out(root.__code__, error, decided, begun.first or error)
            except TraceError as last:
                if last.not_seen or not isinstance(error, ChangesShape) or not decided.first_apart:
                    raise
                # Of what is refused with all iterations in the loop Python may run a part.
                lasting.not_apart.add(next(reversed(decided.first_apart)))
                begun.first = None if begun.first is error else begun.first


@dataclass
class Begun:
    """What the traces of one kind of call decided: the next one begins with it."""

    decided: Decided = field(default_factory=Decided)
    first: TraceError | None = None  # of all refusals
    # One that branches are around of which no call was watched yet, and why loops were unrolled by then.
    waiting: tuple[TraceError, dict[Any, TraceError]] | None = None

    def resumed(self, code: types.CodeType, takes_effects: bool) -> Decided:
        before = self.decided
        waiting = (self.waiting[0], *self.waiting[1].values()) if self.waiting is not None else ()
        for error in (*before.as_stages.values(), *waiting, *filter(None, [self.first])):
            error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold the frames of whole traces
        self.decided = before.lasting()
        self.decided.takes_effects = takes_effects
        # Calls since then may have taken the other way.
        self.decided.one_way = {
            branch: holds for branch, holds in before.one_way.items() if only_way(code, branch) is holds
        }
        return self.decided


def _leave_out(code: types.CodeType, error: TraceError, decided: Decided, first: TraceError) -> None:
    """Decides what is no more followed, so that the next trace goes without what was refused; or raises."""
    refusals = (error, *decided.unrolled.values())
    if _waits_for_ways(code, error, decided):
        raise error if error.not_seen else _not_taken_yet(error) from None
    for branch, holds in (branch for one in refusals for branch in one.branches):
        only = only_way(code, branch)
        if branch not in decided.one_way and only is not None and holds is not only:
            decided.one_way[branch] = only
            return
    if error.not_seen:
        raise error
    ways: Iterable[Any] = (way for one in refusals for way in (*one.ways, *_in_order(one.parts)))
    if sum(decided.made_in_vain) > _MOST_IN_VAIN:
        ways = (*sorted((*error.ways, *reversed(error.parts)), key=len), *ways)
    way = next((way for way in ways if way not in decided.as_stages and way not in decided.given_up), None)
    if way is None:
        whole = next((one.whole for one in refusals if one.whole not in (None, *decided.as_stages)), None)
        try:
            way, error = _inside_of_a_stage(decided, first)
        except TraceError:
            if whole is None:
                raise
            way = whole
    if len(decided.as_stages) >= _MOST_NOT_FOLLOWED:
        raise first from None
    decided.as_stages[way] = error


def _waits_for_ways(code: types.CodeType, error: TraceError, decided: Decided) -> bool:
    """Whether branches on data are around what was refused, and no call was watched that shows which ways they take."""
    return any(one.branches for one in (error, *decided.unrolled.values())) and not was_watched(code)


def _inside_of_a_stage(decided: Decided, first: TraceError) -> tuple[Any, TraceError]:
    """Statements of a function that can be no stage as a whole."""
    for way, refusal in reversed(decided.as_stages.items()):
        parts = [one for one in _in_order(refusal.parts) if one[: len(way)] == way and one not in decided.as_stages]
        if parts and not is_part(way[-1]):
            del decided.as_stages[way]
            decided.given_up.add(way)
            return parts[0], refusal
    raise first from None


def _in_order(parts: Sequence[Any]) -> list[Any]:
    """Statements that may be stages: of the innermost function the outermost ones first, which are called least often."""
    return sorted(reversed(parts), key=len, reverse=True)


def _not_taken_yet(error: TraceError) -> CalleeNotSeen:
    seen = CalleeNotSeen(str(error), file=error.file, line=error.line)
    seen.what = error.what
    return seen


def _trace_decided(root: types.FunctionType, once: Callable[[Decided], Traced], decided: Decided) -> Traced:
    """As many traces as it takes until all is decided that a trace finds out only on its way."""
    while True:
        try:
            return once(decided)
        except ChangesShape as found:
            decided.stage_too(decided.cells, found.cell, found)
        except FilledByLoop as found:
            decided.stage_too(decided.staged_lists, found.place, found)
        except FormOfList as found:
            decided.list_forms[found.place] = found.form
            decided.unrolled.clear()
            decided.kept.clear()
        except WrittenWithTraced as found:
            decided.stage_too(decided.written_arrays, found.place, found)
        except WrittenSelection as found:
            decided.stage_too(decided.written_selections, "all", found)
        except DrawsAreStages as found:
            decided.draws_are_stages = True
            decided.draws_globally |= found.globally
            if found.move is not None and decided.draws_move is not False:
                decided.draws_move = found.move
        except EffectsAreStages:
            decided.effects_are_stages = True
        except FirstApart as found:
            decided.first_apart[found.place] = None
        except TooLong as found:
            decided.kept.add(found.place)
        except ReadBehind as found:
            decided.read_behind.add(found.needs)
        except Moves as found:
            decided.moving |= found.found
        except LayoutNeeded as needed:
            decided.layouts |= needed.names  # more of them each time: need_layout() sees to it
        except BeginAgain as loop:
            _refuse_again(root, loop.place, decided.unrolled if loop.why is not None else decided.kept)
            if loop.why is not None:
                decided.unrolled[loop.place] = loop.why
            else:
                decided.kept.add(loop.place)
        except Unreached as found:
            if found.way in decided.unreached:
                raise found.unseen from None
            decided.unreached.add(found.way)
        except (RecursionError, MemoryError) as error:
            raise _too_deep(root, error) from None


def _too_deep(root: types.FunctionType, error: RecursionError | MemoryError) -> TraceError:
    """A trace that Python has no stack or no memory for: such a function may still run."""
    file, line, name = getattr(
        error, "traced_at", (root.__code__.co_filename, root.__code__.co_firstlineno, root.__name__)
    )
    if isinstance(error, MemoryError):
        what, hint = "there is not enough memory for it", "Free some, or leave a part out of the compiled function."
    else:
        what = f"its expressions are nested deeper than Python follows (sys.getrecursionlimit() is {sys.getrecursionlimit()})"
        hint = "Split the expression into several statements, or raise the limit."
    return TraceError(f"{file}:{line}, in {name}: tracing this; {what}.", hint, file=file, line=line)


def _refuse_again(
    root: types.FunctionType, place: tuple[str, int, int], decided: Container[tuple[str, int, int]]
) -> None:
    """Each loop is decided once, so that the traces of a function come to an end."""
    if place in decided:
        file, line, _ = place
        raise TraceError(
            f"{file}:{line}, in {root.__name__}: loops: whether this loop stays one; a second trace decides otherwise.",
            "Leave the loop out of the compiled function.",
            file=file,
            line=line,
        )


def _trace_once(  # noqa: PLR0917
    function: Any, root: types.FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any], contract: str,
    changing: frozenset[str], untaken: Untaken | None, decided: Decided,
) -> Traced:  # fmt: skip
    parameters = bind_call(function, args, kwargs)
    tracer = Tracer(root.__name__, root.__code__.co_filename, decided)
    tracer.untaken = untaken
    inputs = Inputs(tracer, partial(HandedArray, tracer))
    tracer.cache.update(inputs=inputs, function=root, changing=changing)
    interpreter = Interpreter(tracer, inputs)
    try:
        return _trace_of(function, root, parameters, interpreter, contract)
    finally:
        interpreter.let_go()


def _trace_of(
    function: Any, root: types.FunctionType, parameters: dict[str, Any], interpreter: Interpreter, contract: str
) -> Traced:
    tracer, inputs = interpreter.tracer, interpreter.inputs
    inputs.by_identity[id(root)] = (root, (("function", ""),))
    inputs.path_of_function(root)
    tracer.follow = interpreter.calls.call_function
    node = source_of(root)
    if node is not None:
        none_failed = tracer.add("const", (), {"value": True}, BOOL, (), "checked")
        tracer.checked = SymArray.fresh(tracer, none_failed, is_scalar=False)
    if tracer.draws_globally:
        begin(tracer)
    if tracer.effects_are_stages:
        begin_effects(tracer)
    if root.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        tracer.frames.append([tracer.file, root.__name__, root.__code__.co_firstlineno])
        raise tracer.error(f"{root.__name__}() is a generator or a coroutine", "generators are not compiled",
                           "Return arrays, or leave it out of the compiled function.")  # fmt: skip
    tracer.frames.append([tracer.file, root.__name__, root.__code__.co_firstlineno])
    symbolic = _symbolic_parameters(root, inputs, parameters)
    tracer.frames.pop()
    if node is not None:
        try:
            result = interpreter.run_node(node, root, None, symbolic, tracer.file, root.__name__)
        except Exception as error:
            if tracer.is_too_long:
                tracer.made_in_vain.append(tracer.made)
            file, name, line = tracer.last_frame
            error.traced_at = (file, line, name)  # type: ignore[attr-defined]
            raise
    else:
        tracer.follow = None
        tracer.last_frame[2] = root.__code__.co_firstlineno
        try:
            call = inspect.BoundArguments(own_signature(root), symbolic)  # type: ignore[arg-type]
            result = call_without_source(inputs, root, call.args, call.kwargs)
        except TypeError as error:
            raise tracer.in_users_words(error) from None
    # What is read of the results belongs to the return.
    tracer.frames.append(tracer.last_frame)
    return _finish(function, tracer, result, contract, "source" if node is not None else "protocols")


def _symbolic_parameters(root: types.FunctionType, inputs: Inputs, parameters: dict[str, Any]) -> dict[str, Any]:
    symbolic = {name: inputs.parameter(name, value) for name, value in parameters.items()}
    if root.__code__.co_flags & inspect.CO_VARKEYWORDS:
        # A dict of Python's own making: the function may change it.
        *_, name = symbolic
        symbolic[name] = dict(symbolic[name])
    return symbolic


def _finish(function: Any, tracer: Tracer, result: Any, contract: str, traced_by: str) -> Traced:
    tracer.cache["inputs"].refuse_changed()
    for generator in tracer.generators:
        at_most(tracer, generator.drawn, 2**OFFSET_BITS - 1, "in one call")
    leaves: list[Leaf] = []
    shared = SharedMemory(tracer)
    reasons: list[str] = []
    writes = {
        array.storage.argument.name: array.storage.value
        for array in tracer.cache["inputs"].arrays
        if array.storage.argument is not None
        and (
            array.storage.value is not array.storage.argument.program_value
            or tracer.shows_writes(array.storage.argument)
        )
    }

    returned: list[SymArray] = []
    # Complex arrays whose real or imaginary part is returned, by the memory of that part here: the two parts share no element.
    parts_of: dict[tuple[int, str], dict[int, Storage]] = {}

    def add_leaf(kind: str, value: Value, *more: Any) -> Any:
        leaves.append(Leaf(kind, value, *more))
        return ("leaf", len(leaves) - 1)

    def add_held(array: SymArray, item: Any, why: TraceError) -> Any:
        return add_leaf("held", array.storage.value, "", array, item, why)

    objects: dict[int, Any] = {}  # that the function made, and returns
    # Objects that are held, with the number: twice in the result, it is one object.
    held_leaves: dict[int, tuple[Any, Value]] = {}

    def held_leaf(item: Any, number: Callable[[], Value]) -> Any:
        if id(item) not in held_leaves:
            held_leaves[id(item)] = item, number()
        return add_leaf("held", held_leaves[id(item)][1])

    plain = PlainResults(tracer)

    def collect(item: Any) -> Any:
        if getattr(item, "kinds", None) and item.which is not None and tracer.untaken is None:
            number = item
            return held_leaf(item, lambda: of_its_kind(tracer, number))
        if not (isinstance(item, SymArray) and item.kinds == {"float", "scalar"} and item.dtype == np.float64):
            # np.float64 is a float, of the same value: that one stands for both.
            refuse_kinds(item, "returning the value")
        if isinstance(item, Compressed):
            why = item.refused("returning the elements")
            with tracer.no_kernel(why):
                return add_held(materialized(item), item, why)
        if isinstance(item, (ArrayList, StagedList, KeptObject)):
            return held_leaf(item, item.number)
        if isinstance(item, StagedText):
            text = item
            return held_leaf(item, lambda: text.opened)
        if isinstance(item, SymArray):
            seen = shared.seen_through(item)
            if isinstance(owner := seen.storage.argument, HeldElsewhere) and not item.is_scalar:
                itself = owner.returned(not seen.chain, tracer.error)
                return held_leaf(itself, itself.number)
            if shared.is_of_data(item) and not shared.is_part_of_known(seen):
                returned.append(seen)
                return add_held(seen, item, shared.why_held())
            kind, value, argument = _array_leaf(tracer, item, seen)
            if kind == "view" and not shared.can_be_seen(seen):
                reasons.append(f"it returns a view of {argument}")
                return add_leaf("array", item.read(), argument, None, item)
            if kind != "array":
                return add_leaf(kind, value, argument, seen if kind == "view" else None, item)
            if item.storage.part_of and item.storage.chosen_from and seen is item:
                whole = item.storage.chosen_from[0][0]
                parts_of.setdefault((id(whole), item.storage.part_of), {})[id(item.storage)] = whole
                if whole.argument is not None:
                    reasons.append(f"it returns a view of {whole.argument.name}")
            returned.append(seen)
            if not value.shape and tracer.untaken is ON_DEVICE:
                reasons.append("it returns an array of no dimensions")
            elif not value.shape:
                kind = ZERO_DIMENSIONAL
            if any(one.value is value and one.memory != id(item.storage) for one in leaves):
                value = copied(tracer, value)
            return add_leaf(kind, value, argument, seen, item)
        if tracer.is_made(item) or (is_named_tuple(type(item)) and getattr(item, "__dict__", None)):
            if id(item) in objects:
                reasons.append(f"it returns one {type(item).__name__} object twice")
                return ("constant", None)
            objects[id(item)] = item
            parts = [collect(part) for part in item] if isinstance(item, tuple) else None
            attributes = {name: collect_attribute(held) for name, held in attributes_of(item).items()}
            return ("made", type(item), parts, attributes)
        if isinstance(item, SymInt):
            return add_leaf("int", item.as_value())
        if isinstance(item, SymScalar) and type(item.hint) is complex:
            reasons.append("it returns a Python complex number")
            return ("constant", None)
        if isinstance(item, SymScalar):
            return add_leaf(type(item.hint).__name__, item.value)
        own = item is not result and not tracer.cache["inputs"].is_outer(item)  # made at each call
        own = own or _holds_made(tracer, item)
        if isinstance(item, (list, dict)):
            if id(item) in objects:
                reasons.append(f"it returns one {type(item).__name__} twice")
            objects[id(item)] = item
        if isinstance(item, (tuple, list)) and (own or is_symbolic(item)):
            if type(item) not in (tuple, list) and not is_named_tuple(type(item)):
                reasons.append(f"it returns a {type(item).__name__}")
            return [type(item), [collect(part) for part in item]]
        if isinstance(item, dict) and (own or is_symbolic(item)):
            if type(item) is not dict:
                reasons.append(f"it returns a {type(item).__name__}")
            return [dict, {known_key(key): collect(part) for key, part in item.items()}]
        if item is None and result is None:
            return ("constant", None)
        known = type(item) in (bool, int, float) and (type(item) is float or abs(item) < 2**63)
        if known and (item is not result or writes):
            # Beside what is computed; alone it is nothing to compile.
            constant = tracer.constant(item, INT64 if type(item) is int else np.dtype(type(item)))
            return add_leaf(type(item).__name__, constant)
        if item is not result and (item is None or type(item) in _PLAIN):
            return ("constant", item)
        if (item is not result or writes) and (made := plain.made_anew(item)) is not None:
            return collect(made)
        reasons.append(
            "it returns None"
            if item is None
            else f"it returns an object of type {type(item).__name__} that no array or number of the call is computed into"
        )
        return ("constant", item)

    def collect_attribute(item: Any) -> Any:
        """What an object of the function's holds beside what functions return: what guards keep as it is."""
        held = item.read() if isinstance(item, Pending) else item
        if tracer.cache["inputs"].is_of_a_module(held):
            tracer.cache["inputs"].pin(held)
            return ("constant", held)
        return ("constant", held) if isinstance(held, (types.ModuleType, type, np.dtype)) else collect(held)

    shape = collect(result)
    if why := shared.settle(leaves):
        reasons.append(why)
    behind = [] if reasons else shared.behind(leaves)
    _refuse_shared(tracer, returned)
    end(tracer)  # behind the last check
    end_effects(tracer)
    wholes = {id(whole) for one in parts_of.values() for whole in one.values()}
    if any(len(one) > 1 for one in parts_of.values()) or any(id(item.storage) in wholes for item in returned):
        reasons.append("it returns several views of one array")
    given = [*(leaf for leaf in leaves if leaf.kind != "view"), *behind]  # by the plan
    if not given and not writes and result is None:
        reasons.append("it returns None")
    if given or writes:
        kinds = [leaf.kind if leaf.kind in ("int", "float", "bool", "held") else "" for leaf in given]
        is_one = shape[0] == "leaf" and leaves[shape[1]].kind not in (ZERO_DIMENSIONAL, "view")
        emitter = Emitter(
            tracer, [leaf.value for leaf in given], not is_one, [leaf.memory for leaf in given], writes, kinds
        )
        text = emitter.text()
        for leaf, value in zip(given, emitter.results, strict=True):
            leaf.name = emitter.names[value.number]
        writes = emitter.writes
        deepest = max((len(value.shape) for value in emitter.values), default=0)
        if deepest > MAX_RANK:
            reasons.append(f"it works on arrays of {deepest} dimensions, where at most {MAX_RANK} are compiled")
        # Numbers behind the results are no work of their own.
        outcomes = [
            value
            for leaf, value in zip(given, emitter.results, strict=True)
            if leaf not in behind or leaf.kind != "int"
        ]
        computed = bool(writes) or any(not value.is_argument and value.operation != "const" for value in outcomes)
        if not computed:
            reasons.append("it returns its arguments and computes nothing")
    else:
        text, computed = "", False

    def as_result(leaf: Leaf) -> Result:
        return Result(leaf.kind, leaf.name, str(leaf.value.dtype), leaf.argument, view=leaf.view)

    def restore(item: Any) -> Any:
        if isinstance(item, tuple):
            if item[0] == "constant":
                return Result("constant", value=item[1])
            if item[0] == "made":
                items = None if item[2] is None else tuple(map(restore, item[2]))
                return Made(item[1], items, {name: restore(part) for name, part in item[3].items()})
            return as_result(leaves[item[1]])
        cls, parts = item
        if cls is dict:
            return {key: restore(part) for key, part in parts.items()}
        made = [restore(part) for part in parts]
        if cls in (tuple, list):
            return cls(made)
        return cls(*made) if hasattr(cls, "_fields") else tuple(made)

    for name, path in tracer.written.items():
        if name not in writes:  # it holds what it held, and NumPy refuses to write that too
            tracer.python_guards[path, "writeable"] = PythonGuard(path, "writeable", True)
    size_guards = tuple(_all_size_guards(tracer))
    return Traced(
        program_text=text,
        digest=digest_of(text) if text else "",
        arguments=tuple(tracer.arguments),
        guards=tuple(tracer.python_guards.values()),
        size_guards=size_guards,
        results=restore(shape),
        behind=tuple(map(as_result, behind)),
        fallback_reason="; ".join(dict.fromkeys(reasons)) or None,
        idle=not computed and bool(size_guards),
        untouched=not writes
        and not tracer.generators
        and not tracer.orders
        and all(leaf.argument or leaf.value.operation == "const" for leaf in leaves)
        and all(leaf.kind in ("argument", "int") for leaf in behind),
        contract=contract,
        writes=tuple(writes),
        writes_anything=bool(tracer.written),
        generators=tuple(
            (g.words.storage.argument.name, g.path, tracer.resolve(g.drawn))
            for g in tracer.generators
            if g.path is not None
        )
        + tuple((name, path, Size.constant(0)) for name, path in tracer.lent),
        handed=tuple(tracer.handed),
        draws_are_stages=tracer.draws_are_stages,
        has_effects=tracer.effects_are_stages,
        leaves_ways=bool(tracer.one_way),
        stages={name: stage for name, stage in tracer.stages.items() if f"callee={quoted(name)}" in text},
        function=function,
        traced_by=traced_by,
        draws_move=bool(tracer.draws_move),
    )


_MADE_BY_STAGES = (ArrayList, StagedList, KeptObject, StagedText)


def _holds_made(tracer: Tracer, item: Any) -> bool:
    """Whether an object of the function's own is in a container, or what statements made that Python runs: it is then
    the function's own too."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, (tuple, list)) else ()
    return any(tracer.is_made(part) or isinstance(part, _MADE_BY_STAGES) or _holds_made(tracer, part) for part in parts)


def _refuse_shared(tracer: Tracer, returned: list[SymArray]) -> None:
    """What a branch chose is new memory here. Where it is an argument in NumPy, or another result, NumPy runs the call."""

    def refuse(holds: Value, what: str) -> None:
        if holds.home is tracer.blocks[0]:
            tracer.check(tracer.add("logical_not", (holds,), {}, BOOL, ()), what)

    storages = list({id(item.storage): item.storage for item in returned}.values())
    for position, storage in enumerate(storages):
        for source, holds in storage.may_be:
            if source.argument is not None:
                refuse(holds, f"it returns the memory of {source.argument.name}, which a branch on data chose")
            elif any(source is other for other in storages):
                refuse(holds, "it returns one array twice, which a branch on data chose")
            for other in storages[position + 1 :]:
                for both in (truth for one, truth in other.may_be if one is source):
                    twice = tracer.add("logical_and", (holds, both), {}, BOOL, ())
                    refuse(twice, "it returns one array twice, which a branch on data chose")


def _array_leaf(tracer: Tracer, item: SymArray, seen: SymArray) -> tuple[str, Value, str]:
    """`seen`: the array as a view of the memory."""
    value = seen.storage.value if item.is_stale() and seen is not item else item.read()
    owner = seen.storage.argument
    if owner is not None:
        if item.is_scalar:
            return "scalar", copied(tracer, value), ""
        assert owner.program_value is not None
        # The very object, whatever has been written into it.
        return ("argument" if not seen.chain else "view"), owner.program_value, owner.name
    return ("scalar" if item.is_scalar else "array"), own_value(tracer, value), ""


def _all_size_guards(tracer: Tracer) -> list[SizeGuard]:
    """Those of the text, and the equalities that the text says by the arguments' types."""
    guards = list(tracer.guards)
    for atom, replacement in tracer.substitutions.items():
        if isinstance(atom, str) and atom in tracer.extents:
            guards.append(SizeGuard(Size.symbol(atom), "==", replacement, "", 0, True))
    return guards
