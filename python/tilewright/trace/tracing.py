"""trace(function, args, kwargs): a call of a NumPy function as a program, in as many traces as it takes."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from ..errors import TraceError
from ..guards import follow
from ..interpret.arguments import Inputs
from ..interpret.array_lists import FormOfList
from ..interpret.frame import BeginAgain, FirstApart, ReadBehind
from ..interpret.grown_lists import begin_grown_lists
from ..interpret.handed_arrays import HandedArray
from ..interpret.interpreter import Interpreter
from ..interpret.moving_arrays import Moves
from ..interpret.outlined import is_part
from ..interpret.plain_arrays import WrittenWithTraced
from ..interpret.protocols import call_without_source
from ..interpret.source import source_of
from ..interpret.staged_cells import ChangesShape
from ..interpret.staged_draws import DrawsAreStages, begin
from ..interpret.staged_lists import StagedList
from ..interpret.unknown_callees import EffectsAreStages, begin_effects
from ..light_dataclass import dataclass
from ..signatures import own_signature
from ..symbolic.arrays import SymArray
from ..symbolic.decided import Decided
from ..symbolic.graph import BOOL
from ..symbolic.refusals import (
    CalleeNotSeen,
    FilledByLoop,
    GeneratorInside,
    KeepsLoop,
    LayoutNeeded,
    SetsAttribute,
    TooLong,
    Unreached,
    WaitsForOthers,
    WrittenSelection,
)
from ..symbolic.stages import REPRODUCIBLE, Untaken
from ..symbolic.trace_limits import MAX_VALUES
from ..symbolic.tracer import Tracer
from ..taken_ways import only_way, was_watched
from .finished import finished
from .traced import Traced, bind_call, root_function

# Functions and statements of one call that Python runs, since something in them cannot be traced.
_MOST_NOT_FOLLOWED = 24
_MOST_WITHIN = 12  # of them before whole statements of the outermost function are Python's
# Operations of traces that were too long: then the outermost function or statements around a refusal are Python's.
_MOST_IN_VAIN = 2 * MAX_VALUES
_CONTRACTS = ("numpy", "reproducible", "fast")


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
    pins_numbers: bool = False,
) -> Traced:
    """The program of `function(*args, **kwargs)`. The call itself is not made and its arrays are not touched.

    changing: values from outside of the call, as path_text() calls them, that were seen to change.
    untaken: why the program may have no stages; else they are taken, save where the contract is reproducible.
    effects: whether functions that are not known to be pure are called, between kernels too.
    pins_numbers: whether floats among those are constants where they decide something, one program for each, and not numbers of
        the run.
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
    once = partial(_trace_once, function, root, args, kwargs or {}, contract, changing, pins_numbers, untaken)
    begun = begun or Begun()
    lasting = begun.resumed(root.__code__, effects and untaken is None)
    try:
        return _trace_until_decided(root, once, begun, lasting)
    except _FOR_THE_NEXT_TRACE as error:
        raise _plain(error) from None


# What they say beside their text is for the next trace, which there was none of.
_FOR_THE_NEXT_TRACE = (ChangesShape, KeepsLoop, WrittenSelection, WrittenWithTraced)


def _plain(error: TraceError) -> TraceError:
    """The refusal as a TraceError and nothing more."""
    made = TraceError()
    made.args, made.__dict__ = error.args, {**vars(error)}
    return made


def _trace_until_decided(
    root: types.FunctionType, once: Callable[[Decided], Traced], begun: Begun, lasting: Decided
) -> Traced:
    """As many traces as it takes until nothing is refused that Python may run."""
    if (waiting := begun.waiting) is not None:
        # For what the call showed that was watched: the same trace would end there.
        begun.waiting, decided = None, lasting.lasting()
        error, decided.unrolled = waiting
        _leave_out(root.__code__, error, decided, begun.first or error)
    as_arrays: tuple[TraceError, Decided] | None = None  # what was refused while long lists were arrays
    keeps_lists, without = False, ""
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
            if decided.lists_found and not error.not_seen and not keeps_lists:
                lasting.lists_of_the_call, as_arrays = False, (error, decided)  # item by item they may be followed
                continue
            if error.is_of_items and as_arrays is not None:
                # They are too long for that: what is refused of them as arrays is what Python runs.
                error, decided = as_arrays
                lasting.lists_of_the_call, as_arrays, keeps_lists = True, None, True
            if decided.objects_found and not error.not_seen:
                lasting.plain_objects = False  # statements that make and use them may be Python's
                continue
            if decided.windows and not error.not_seen and lasting.full_windows is not False:
                if lasting.full_windows is None:
                    lasting.full_windows, without = True, str(error)
                    continue
                if str(error) == without:  # it was something else
                    lasting.full_windows = False
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
        self.let_go()
        self.decided = before.lasting()
        self.decided.takes_effects = takes_effects
        # Calls since then may have taken the other way.
        self.decided.one_way = {
            branch: holds for branch, holds in before.one_way.items() if only_way(code, branch) is holds
        }
        return self.decided

    def let_go(self) -> None:
        """Of the frames of whole traces, which the refusals hold."""
        waiting = (self.waiting[0], *self.waiting[1].values()) if self.waiting is not None else ()
        for error in (*self.decided.as_stages.values(), *waiting, *filter(None, [self.first])):
            error.__traceback__ = error.__context__ = error.__cause__ = None


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
    if sum(decided.made_in_vain) > _MOST_IN_VAIN or len(decided.as_stages) >= _MOST_WITHIN:
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
        except SetsAttribute as found:
            decided.set_objects.setdefault(found.path, set()).update(found.names)
        except GeneratorInside as found:
            decided.generators_inside[found.path] = None
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
    changing: frozenset[str], pins_numbers: bool, untaken: Untaken | None, decided: Decided,
) -> Traced:  # fmt: skip
    parameters = bind_call(function, args, kwargs)
    tracer = Tracer(root.__name__, root.__code__.co_filename, decided)
    tracer.untaken = untaken
    inputs = Inputs(tracer, partial(HandedArray, tracer))
    tracer.cache.update(inputs=inputs, function=root, changing=changing, pins_numbers=pins_numbers)
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
    begin_grown_lists(tracer, StagedList)
    if root.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        tracer.frames.append([tracer.file, root.__name__, root.__code__.co_firstlineno])
        raise tracer.error(f"{root.__name__}() is a generator or a coroutine", "generators are not compiled",
                           "Return arrays, or leave it out of the compiled function.")  # fmt: skip
    tracer.frames.append([tracer.file, root.__name__, root.__code__.co_firstlineno])
    symbolic = _symbolic_parameters(root, inputs, parameters)
    for path in tracer.generators_inside:
        inputs.outside(path, follow(path, parameters, root))
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
    return finished(function, tracer, result, contract, "source" if node is not None else "protocols")


def _symbolic_parameters(root: types.FunctionType, inputs: Inputs, parameters: dict[str, Any]) -> dict[str, Any]:
    symbolic = {name: inputs.parameter(name, value) for name, value in parameters.items()}
    if root.__code__.co_flags & inspect.CO_VARKEYWORDS:
        # A dict of Python's own making: the function may change it.
        *_, name = symbolic
        symbolic[name] = dict(symbolic[name])
    return symbolic
