"""The state of one trace: symbols and their values in the recorded call, guards, and the values made so far."""

# ruff: noqa: PLR0917
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar

import numpy as np

from .._face import MOST_STAGE_ARRAYS
from ..errors import TraceError
from ..guards import PythonGuard
from ..outside_values import Places, Variable
from .graph import BOOL, INT64, Block, Value
from .known import known_size
from .operators import COMPARE
from .sizes import LIMITS, Atom, Interval, Ranges, Size
from .stages import Stage, Untaken

_NUMPY_FOLDER = os.path.dirname(np.__file__) + os.sep
_CHECKED = {">=": "greater_equal", "==": "equal", "!=": "not_equal", ">": "greater", "<": "less", "<=": "less_equal"}
_USERS_WORDS = {"SymArray": "ndarray", "SymGenerator": "Generator", "SymInt": "int", "SymScalar": "float"}
T = TypeVar("T")
Refusal = TypeVar("Refusal", bound=TraceError)
NO_RULE = "there is no rule for it"
LEAVE_IT_OUT = "Leave it out of the compiled function."
# Beyond this, compiling takes minutes: loops that are unrolled too far.
MAX_VALUES = 2_000
MAX_MADE = 20 * MAX_VALUES  # with those of runs that came to nothing
MOST_STAGE_OPERANDS = MOST_STAGE_ARRAYS - 1
# A reduction is several stages, each with its loops: some 0.4 s to compile.
MAX_UNROLLED_REDUCTIONS = 48
# Elements that copies of a body write, in a loop or branch that stays one: compiling a chain of those that read each other
# takes 3 times as long with each further 4.
MAX_UNROLLED_UPDATES = 24
MAX_RANK = 8  # of plans, dsl/runtime/plan_text.md
MAX_UNROLLED_ITERATIONS = 64
MAX_ROUNDS = 64  # until sizes that guards have made equal are written the same way
MAX_SHORT_ITERATIONS = 8  # of a range of numbers that is unrolled though it could stay a loop


@dataclass(frozen=True)
class SizeGuard:
    """`left operator right` must hold, in sizes of a call."""

    left: Size
    operator: str
    right: Size
    message: str
    line: int = 0
    # What is left of a definition has been replaced by what is right of it everywhere else.
    is_definition: bool = False

    @property
    def condition(self) -> str:
        if self.operator == ">=" and self.left.is_constant:
            # "X.0 <= 5" reads better than "5 >= X.0".
            return f"{self.right} <= {self.left}"
        return f"{self.left} {self.operator} {self.right}"

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """In a call with these sizes."""
        try:
            return bool(COMPARE[self.operator](self.left.evaluate(sizes), self.right.evaluate(sizes)))
        except ZeroDivisionError:
            return False


@dataclass(frozen=True)
class LoopIndex:
    """What a loop's index runs over, where there is an iteration at all."""

    first: Size | None  # None: known only at run time
    last: Size | None
    step: int


@dataclass
class Argument:
    """How one input of the program is found at a call.

    `kind` is array, scalar, constant (a guarded constant with its value), hidden (an array read from a global,
    a closure or an attribute) or object (its attributes are separate arguments).
    """

    name: str
    kind: str
    path: tuple[Any, ...]
    dtype: str = ""
    rank: int = 0
    weak: bool = False
    value: Any = None
    reason: str = ""
    program_value: Value | None = field(default=None, repr=False)


class Undecided(BaseException):
    """A size would decide, where none may."""


class TooLong(BaseException):
    """More values than a program may have: the trace begins again with the loop at that place kept, which it unrolled only
    because it is short."""

    def __init__(self, place: tuple[str, int, int]) -> None:
        super().__init__(place)
        self.place = place


@dataclass
class ShortLoop:
    """A loop that is unrolled only because it is short. `values`: made by its iterations, less those from before the ones that
    are running."""

    iterations: int
    values: int = 0
    running: int = 0


class LayoutNeeded(BaseException):
    """Whether an argument is contiguous decides between a view and a copy: the trace begins again, with that guarded."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names)
        self.names = names


class CalleeNotSeen(TraceError):
    """What a function gives that Python is to call is not known yet: this call runs as plain Python, and is watched."""

    not_seen = True


class Unreached(Exception):  # noqa: N818
    """Calls that were watched do not come to a place. On a way of a branch on data it is like an error of the user's: NumPy
    runs the call that comes there."""

    def __init__(self, unseen: CalleeNotSeen) -> None:
        super().__init__(unseen.what)
        self.unseen = unseen


class WaitsForOthers(TraceError):
    """A loop that another thread ends: Python runs the call, on the caller's own arrays and objects."""


class KeepsLoop(TraceError):
    """Why a loop is unrolled that may stay one after all, if the trace begins again with what this is about as a stage."""


class OperandError(TraceError, TypeError):
    """A TraceError for what Python itself refuses with a TypeError."""


@dataclass
class Decided:
    """What the traces of one call have found out on their way: each finding makes the trace begin again."""

    # File, line and column of loops that are unrolled, and why they cannot stay loops.
    unrolled: dict[tuple[str, int, int], TraceError] = field(default_factory=dict)
    kept: set[tuple[str, int, int]] = field(default_factory=set)  # and of whiles that keep all iterations
    # Of those, whiles of which the first iteration stands before the loop all the same: what it sets is set then.
    peeled: set[tuple[str, int, int]] = field(default_factory=set)
    # Of loops over ranges and arrays, those whose first iteration stands before them: it makes an array of a number.
    first_apart: set[tuple[str, int, int]] = field(default_factory=set)
    # Places of loops, each with a variable that is read behind it: iterations begin with what it was, whether they read it or not.
    read_behind: set[tuple[tuple[str, int, int], str]] = field(default_factory=set)
    # The same, of arrays: how much longer each axis is behind every iteration; () where it is not so.
    moving: dict[tuple[tuple[str, int, int], str], tuple[int, ...]] = field(default_factory=dict)
    layouts: set[str] = field(default_factory=set)  # arguments with a guard that says whether they are C-contiguous
    cells: set[Any] = field(default_factory=set)  # (place of a branch or loop, variable that a cell holds there)
    staged_lists: set[Any] = field(default_factory=set)  # places of lists that are stages
    list_forms: dict[Any, Any] = field(default_factory=dict)  # places of lists in arrays: what items are, None: in none
    written_arrays: set[Any] = field(default_factory=set)  # places of calls whose arrays of plain values are written
    draws_are_stages: bool = False
    draws_globally: bool = False  # by stages, from the generator of np.random.normal()
    effects_are_stages: bool = False  # there are calls of functions that are not known to be pure
    takes_effects: bool = False  # there may be, and the program may have stages
    follows_all: bool = False  # however long that takes
    refuses_errors: bool = False  # what the trace raises NumPy does not: it is a refusal like others
    lists_of_the_call: bool = True  # long lists of numbers that the caller has are read as arrays
    lists_found: set[Any] = field(default_factory=set)  # such lists
    one_way: dict[Any, bool] = field(
        default_factory=dict
    )  # branches of which one way is compiled: the condition's truth
    as_stages: dict[Any, TraceError] = field(
        default_factory=dict
    )  # ways to functions that are not followed, and why not

    given_up: set[Any] = field(
        default_factory=set
    )  # of those, functions that are followed after all, but for statements
    made_in_vain: list[int] = field(default_factory=list)  # operations of traces that were too long

    def lasting(self) -> Decided:
        """What holds for later traces of such calls too: loops are decided anew in each."""
        return Decided(
            takes_effects=self.takes_effects,
            follows_all=self.follows_all,
            refuses_errors=self.refuses_errors,
            lists_of_the_call=self.lists_of_the_call,
            one_way=self.one_way,
            as_stages=self.as_stages,
            given_up=self.given_up,
            made_in_vain=self.made_in_vain,
        )

    def stage_too(self, known: set[Any], item: Any, found: TraceError) -> None:
        """Another thing that is a stage, for which loops are decided anew; or the refusal, where that is no help."""
        if (item is None or item in known) and self.kept - self.peeled:
            self.peeled |= self.kept
            return
        if item is None or item in known:
            raise found
        known.add(item)
        self.unrolled.clear()
        self.kept.clear()


class Tracer(Decided):
    """One trace. `frame_file` and `line` say where in the user's source it is at the moment."""

    def __init__(self, function_name: str, file: str, decided: Decided | None = None) -> None:
        vars(self).update(vars(decided or Decided()))
        self.function_name = function_name
        self.file = file
        self.made = 0  # values so far
        self.short: dict[tuple[str, int, int], ShortLoop] = {}  # by their places
        self.dropped = 0  # those of them that are of runs of a loop's body which another run has replaced
        # The blocks that are being written, outermost first.
        self.blocks: list[Block] = [Block()]
        self.loops: dict[str, LoopIndex] = {}
        self.open_loops: set[str] = set()  # those whose bodies are being run
        self.reads: dict[str, Value] = {}  # symbols that are read from values of the run
        self.slices: dict[str, Any] = {}  # the count of a slice by limits of the run: (limits, extent, start, count)
        # Truths that have to hold, and whom they save from what; and that of what is in regions, as memory that they carry.
        self.checks: dict[Any, tuple[Value, str]] = {}
        self.checked: Any = None
        self.check_reasons: list[str] = []
        self.sizes_decide = True
        self.written: dict[str, tuple[Any, ...]] = {}  # arguments, also where they are left as they were: their paths
        # Memory that a check before a loop takes for unchanged in it: parameters of loops, and storages that are changed.
        self.taken_for_unchanged: set[int] = set()
        self.known_to_change: set[int] = set()
        # In words, each statement around the present one of whose iterations or ways data decide.
        self.decided_by_data: list[str] = []
        # What the conditions around the present statement say: each `size >= 0`.
        self.facts: list[Size] = []
        self.sizes: dict[str, int] = {}
        self.extents: set[str] = set()
        self.places = Places()  # variables outside of the function that are read
        self.changed: dict[Variable, str] = {}  # those that callees change which may do anything, and which callee
        self.outer: set[str] = set()  # scalars that are no arguments of the call: globals, attributes
        self.settled: set[str] = set()  # those of them that were never seen to change
        self.symbol_order: dict[str, int] = {}
        self.substitutions: dict[Atom, Size] = {}
        self.guards: list[SizeGuard] = []
        self.python_guards: dict[tuple[tuple[Any, ...], str], PythonGuard] = {}
        self.arguments: list[Argument] = []
        self.lower_bounds: dict[str, int] = {}
        self.made_objects: dict[int, Any] = {}  # of users' classes, by identity
        self.silenced: list[str] = []  # blocks around in which warnings are caught
        self.composites: list[str] = []
        # (file, function, line) of each user frame being interpreted; empty when traced by the protocols alone.
        self.frames: list[list[Any]] = []
        self._bounds: dict[Any, int] = {}
        self._bounds_guards = 0
        self._bounds_replacements = 0
        self._replacements = 0  # calls of _replace()
        self._ranges = Ranges(self.known_range, self.extents)
        self.last_frame: list[Any] = [file, function_name, 0]
        self.cache: dict[Any, Any] = {}
        # (function, args, kwargs): a Python function by its source; None where the traced one has none.
        self.follow: Callable[[Any, list[Any], dict[str, Any]], Any] | None = None
        self.generators: list[Any] = []  # SymGenerator
        self.lent: list[tuple[str, Any]] = []  # generators of the caller: argument that leads to one, and where it is
        self.orders: list[Any] = []  # SymArray, of StagedGenerator
        self.in_lists: dict[int, Any] = {}  # by identity, the memory of arrays that lists which loops fill hold
        self.stages: dict[str, Stage] = {}  # by their texts
        self.untaken: Untaken | None = None  # why none is taken
        self._no_kernel: list[TraceError] = []  # why a stage is asked for, innermost last
        self.undone: list[range] = []  # numbers of values of rules that came to nothing

    # -- where ----------------------------------------------------------------------------------

    def location(self) -> tuple[str, int, str]:
        """File, line and function of the innermost user frame."""
        for file, function, line in reversed(self.frames):
            # A place inside of NumPy helps nobody: the user's call does.
            if not file.startswith(_NUMPY_FOLDER):
                return file, line, function
        frame: Any = sys._getframe(1)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if not module.startswith(("tilewright.", "numpy.")) and module not in ("tilewright", "numpy"):
                return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
            frame = frame.f_back
        return self.file, 0, self.function_name

    def root_line(self) -> int:
        return self.frames[0][2] if self.frames else self.location()[1]

    def error(self, asked: str, why: str = NO_RULE, what_to_do: str = LEAVE_IT_OUT) -> TraceError:
        return self.error_of(TraceError, f"{asked}; {why}.", what_to_do)

    def error_of(self, kind: type[Refusal], what: str, what_to_do: str) -> Refusal:
        file, line, function = self.location()
        error = kind(f"{_where(file, line, function)}: {what}", what_to_do, file=file, line=line)
        error.what = what
        return error

    def in_users_words(self, error: TypeError) -> Exception:
        """Python's complaint about operands names our classes: an OperandError names what the user gave, and NumPy then
        raises the error that it has for that."""
        text = str(error)
        if not any(ours in text for ours in _USERS_WORDS):
            return error
        for ours, theirs in _USERS_WORDS.items():
            text = text.replace(ours, theirs)
        return self.error_of(OperandError, f"{text}.", "Pass numbers and arrays of numbers.")

    def reads_outside(self, variable: Variable, place: Any) -> None:
        """`place`: as outside_values.Places has it."""
        self.places.found[variable] = place
        if variable in self.changed:
            self._refuse_change(variable)

    def changes_outside(self, callee: str, variable: Variable) -> None:
        self.changed[variable] = callee
        if variable in self.places.found:
            self._refuse_change(variable)

    def _refuse_change(self, variable: Variable) -> NoReturn:
        raise self.error(
            f"{self.changed[variable]}()",
            f"it is no stage between kernels, for it changes {variable[1]}, which is read beside it",
        )

    def is_made(self, value: Any) -> bool:
        """Whether it is an object of a user's class that the function makes."""
        return self.made_objects.get(id(value), self) is value

    def composite(self, name: str) -> AbstractContextManager[None]:
        """Values made inside take the name of the NumPy call that the user wrote."""
        return pushed(self.composites, name)

    def refuse_dtype(self, dtype: np.dtype[Any], asked: str) -> None:
        """TraceError for a dtype that no program holds."""
        if dtype.kind in "biufc" and dtype not in (np.longdouble, np.clongdouble):
            return
        why = "only booleans, integers, floats of up to 64 bits and complex numbers of two such are compiled"
        if dtype.kind == "O":
            why = "it holds Python objects, which only Python can work on"
        # A cast helps only where numbers stay what they are.
        leave = "or leave it out of the compiled function."
        casts = {
            "c": f"Pass its real and imaginary parts, {leave}",
            "f": f"Convert it with astype(np.float64), {leave}",
            "O": f"Make it an array of numbers where it is made, {leave}",
        }
        raise self.error(asked, why, casts.get(dtype.kind, LEAVE_IT_OUT))

    def need_layout(self, argument: Argument | None) -> None:
        """Where a view and a copy differ: of an argument, or of what is computed from all of them (None)."""
        arrays = [argument] if argument is not None else self.arguments
        names = frozenset(
            a.name for a in arrays if a.kind in ("array", "hidden") and a.path[-1][0] not in ("pcg64", "column")
        )
        if names - self.layouts:
            raise LayoutNeeded(names)

    # -- values ---------------------------------------------------------------------------------

    @property
    def values_left(self) -> int:
        """Values that the program may have."""
        return self.made - self.dropped

    @property
    def is_too_long(self) -> bool:
        return self.values_left >= MAX_VALUES or self.made >= MAX_MADE

    def add(
        self,
        operation: str,
        operands: Sequence[Value],
        attributes: dict[str, Any],
        dtype: np.dtype[Any],
        shape: Sequence[Size],
        call_name: str = "",
        blocks: tuple[Block, ...] = (),
    ) -> Value:
        if self.is_too_long:
            self.keep_a_loop()
            self.keep_a_short_loop(MAX_VALUES // 4)
            raise self.error(
                f"loops: more than {MAX_VALUES} operations were traced",
                "a program that is unrolled this far does not compile in useful time",
                "Write the loop with array operations, or leave it out of the compiled function.",
            )
        if operation == "index" and Size.constant(0) in shape and operands[0].shape:
            # Of no elements none is read: Halide would warn of places that lie outside.
            return self.zeros(dtype, shape)
        value = Value(
            number=self.made,
            operation=operation,
            operands=tuple(operands),
            attributes=attributes,
            dtype=dtype,
            shape=tuple(shape),
            line=self.root_line(),
            call_name=self.composites[0] if self.composites else call_name or operation,
            blocks=blocks,
        )
        self.made += 1
        # Arguments are there before all else, wherever the trace comes across them first.
        value.home = self.blocks[0] if value.is_argument else self.blocks[-1]
        (value.home.parameters if operation == "parameter" else value.home.values).append(value)
        return value

    def keep_a_loop(self) -> None:
        """Ends an unrolling that leads too far, where the loop that it is about need not be unrolled."""
        for why in self.unrolled.values():
            if isinstance(why, KeepsLoop):
                raise why

    @contextmanager
    def unrolling(self, place: tuple[str, int, int]) -> Iterator[None]:
        """An iteration of an unrolled loop."""
        known = self.short.get(place, ShortLoop(1))
        known.values, known.running = known.values - self.values_left, known.running + 1
        try:
            yield
        finally:
            known.values, known.running = known.values + self.values_left, known.running - 1

    def keep_a_short_loop(self, least: int) -> None:
        """The one of whose values most would not be there, if these are more than so many."""
        made = {place: one.values + one.running * self.values_left for place, one in self.short.items()}
        saved = {place: values - values // self.short[place].iterations for place, values in made.items()}
        place = max(saved, key=saved.__getitem__, default=None)
        if place is not None and saved[place] > least:
            raise TooLong(place)

    def call(self, stage: Stage, operands: Sequence[Value], dtype: np.dtype[Any], shape: Sequence[Size]) -> Value:
        """What Python computes when the program runs. Kernels hand over no complex numbers."""
        self.refuse_dtype(dtype, f"a value of dtype {dtype}")
        why = self._no_kernel[-1].what if self._no_kernel else f"{stage.text.partition('(')[0]}(); {NO_RULE}."
        if self.untaken is not None:
            raise self.error_of(TraceError, f"{why} {self.untaken.why}.", self.untaken.what_to_do)
        if len(operands) > MOST_STAGE_OPERANDS:
            self.keep_a_loop()
            raise self.error(
                f"{stage.text.partition('(')[0]}() of {len(operands)} arrays",
                f"a call between kernels takes at most {MOST_STAGE_OPERANDS}",
                "Write them into one array in a loop, or leave the call out of the compiled function.",
            )
        file, line, function = self.location()
        while (other := self.stages.get(stage.text)) is not None and other.callee is not stage.callee:
            stage = replace(stage, text=f"{stage.text}'")  # another function of that name
        known = replace(stage, why=why.removesuffix("."), line=line, where=_where(file, line, function))
        self.stages.setdefault(stage.text, known)
        name = stage.name.rpartition(".")[2] or "result"
        return self.add("call", operands, {"callee": stage.text}, dtype, shape, name)

    def is_undone(self, value: Value) -> bool:
        return any(value.number in numbers for numbers in self.undone)

    def no_kernel(self, why: TraceError) -> AbstractContextManager[None]:
        """Stages that are asked for inside are there because of `why`."""
        return pushed(self._no_kernel, why)

    def constant(self, value: Any, dtype: np.dtype[Any] = INT64) -> Value:
        """A literal."""
        return self.add("const", (), {"value": dtype.type(value).item()}, dtype, ())

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        return value if value.dtype == dtype else self.add("cast", (value,), {}, dtype, value.shape)

    def truth(self, operation: str, left: Value, right: Value | float) -> Value:
        """A comparison of a value with another one that broadcasts to it, or with a number."""
        other = right if isinstance(right, Value) else self.constant(right, left.dtype)
        return self.add(operation, (left, other), {}, BOOL, left.shape)

    def zeros(self, dtype: np.dtype[Any], shape: Sequence[Size]) -> Value:
        """Zeros of a shape; of none, a zero."""
        zero = self.constant(0, dtype)
        return self.add("broadcast_to", (zero,), {}, dtype, shape) if shape else zero

    @contextmanager
    def writing(self, block: Block) -> Iterator[Block]:
        """Values made inside belong to `block`."""
        self.blocks.append(block)
        facts = len(self.facts)
        try:
            yield block
        finally:
            del self.facts[facts:]
            self.blocks.pop()
            self.open_loops -= {symbol for symbol, value in self.reads.items() if value.home is block}

    def shows_writes(self, argument: Argument) -> bool:
        """Whether an array is written and another one may share its memory: also what is put back at the end was seen
        through that one. Checks of a call find shared memory of what the program writes."""
        return argument.name in self.written and sum(one.kind in ("array", "hidden") for one in self.arguments) > 1

    def check(self, truth: Value, message: str) -> None:
        """Where `truth` does not hold, NumPy has to run the call: it raises, or computes what does not fit."""
        if self.checked is None:
            raise self.error(
                f"{message}, without the function's source", "only what is interpreted is checked",
                "Define the function in a file.",
            )  # fmt: skip
        reason = f"line {self.root_line()}: {message}"
        if truth.home is self.blocks[0]:
            self.checks.setdefault(truth.number, (truth, reason))
            return
        both = self.add("logical_and", (self.checked.read(), truth), {}, BOOL, ())
        self.checked.write(both)
        if reason not in self.check_reasons:
            self.check_reasons.append(reason)

    def where_data_decide(self, what: str) -> AbstractContextManager[None]:
        return pushed(self.decided_by_data, what)

    @contextmanager
    def _with(self, name: str, value: Any) -> Iterator[None]:
        """An attribute has another value for a while."""
        before = getattr(self, name)
        setattr(self, name, value)
        try:
            yield
        finally:
            setattr(self, name, before)

    def before_all_regions(self) -> AbstractContextManager[None]:
        """Values made inside belong to the program itself, before the regions that are being traced."""
        return self._with("blocks", self.blocks[:1])

    def outside_of(self, block: Block) -> AbstractContextManager[None]:
        """Values made inside belong to the block around `block`."""
        return self._with("blocks", self.blocks[: next(k for k, one in enumerate(self.blocks) if one is block)])

    def is_visible(self, value: Value) -> bool:
        """Whether the present statement may use a value: its block has not ended."""
        return any(value.home is block for block in self.blocks)

    def alike(self, value: Value) -> int:
        """Equal for values that are one for certain: computed alike from the same values."""
        numbers: dict[Any, int] = self.cache.setdefault("alike", {})
        known: dict[int, int] = {}

        def number_of(value: Value) -> int:
            if value.number not in known:
                if value.is_argument:
                    key: Any = value.name
                elif value.operation in ("parameter", "result", "read") or value.blocks:
                    key = value.number
                else:
                    operands = tuple(map(number_of, value.operands))
                    shape = tuple(str(self.resolve(size)) for size in value.shape)
                    key = (value.operation, str(value.dtype), shape, repr(sorted(value.attributes.items())), operands)
                known[value.number] = numbers.setdefault(key, len(numbers))
            return known[value.number]

        return number_of(value)

    # -- sizes ----------------------------------------------------------------------------------

    def new_symbol(self, name: str, value: int, extent: bool) -> Size:
        self.sizes[name] = value
        self.symbol_order[name] = len(self.symbol_order)
        if extent:
            self.extents.add(name)
            self.lower_bounds[name] = 0
        return Size.symbol(name)

    def resolve(self, size: Size) -> Size:
        """With what guards have made equal written the same way."""
        if not self.substitutions or size.is_constant:
            return size
        for _ in range(MAX_ROUNDS):
            replaced = size.substitute(self.substitutions)
            if replaced == size:
                return size
            size = replaced
        raise self.error(
            f"the size {size} in its normal form",
            f"the sizes equal to it did not settle in {MAX_ROUNDS} rounds",
            "Leave this statement out of the compiled function.",
        )

    def _replace(self, atom: Atom, replacement: Size, message: str = "") -> None:
        """Write `atom` as `replacement`, which is in normal form, from here on.

        What stands on either side of earlier substitutions is kept in normal form. Otherwise two of them could lead to
        each other: `(a + 1) // 2 -> (b + 1) // 2` and then `b -> a`.
        """
        self.substitutions[atom] = replacement
        self._replacements += 1
        own = {atom: replacement}
        equal: list[tuple[Size, Size]] = []
        for other, its in list(self.substitutions.items()):
            if other == atom:
                continue
            rewritten = its.substitute(own)
            left = Size({(other,): 1})
            if isinstance(other, str) or (now := left.substitute(own)) == left:
                self.substitutions[other] = rewritten
                continue
            # What it stood for has another name now. The two are equal by the guards that there are.
            del self.substitutions[other]
            equal.append((now, rewritten))
        for left, right in equal:
            self.unify(left, right, message)

    def defined(self, size: Size) -> Size:
        """What a definition replaces: a symbol as it is, an operation on sizes in terms of symbols that are not replaced."""
        (atom,) = next(iter(size.terms))
        if isinstance(atom, str):
            return size
        return size.substitute({name: self.resolve(Size.symbol(name)) for name in size.symbols()})

    def total(self, sizes: Iterable[Size]) -> Size:
        """The product of sizes: how many elements a shape has."""
        product = Size.constant(1)
        for size in sizes:
            product = product * self.resolve(size)
        return product

    def value_of(self, size: Size) -> int:
        """In the recorded call."""
        return size.constant_part if size.is_constant else size.evaluate(self.sizes)

    def known_range(self, symbol: str) -> Interval:
        """Between which numbers a symbol lies in each call that the guards admit."""
        return self.lower_bounds.get(symbol, LIMITS[0]), LIMITS[1]

    def _known(self, operator: str, difference: Size) -> bool | None:
        """The truth of `difference operator 0` where it holds for every call that the guards admit."""
        if difference.is_constant:
            return bool(COMPARE[operator](difference.constant_part, 0))
        least, most = self._ranges.of(difference)
        if operator == ">=":
            if least >= 0 or most < 0:
                return least >= 0
            guarded = self._guarded_bounds().get(_without_constant(difference))
            return True if guarded is not None and difference.constant_part >= guarded else None
        if least > 0 or most < 0:
            return operator == "!="
        for guard in self.guards:
            if guard.operator == "!=":
                known = self.resolve(guard.left - guard.right)
                if known in (difference, -difference):
                    return operator == "!="
        return None

    def _guarded_bounds(self) -> dict[Any, int]:
        """For each `terms + constant >= 0` of the guards: terms -> the least constant. Rebuilt where symbols changed."""
        if self._bounds_replacements != self._replacements:
            self._bounds, self._bounds_guards = {}, 0
            self._bounds_replacements = self._replacements
        for guard in self.guards[self._bounds_guards :]:
            if guard.operator == ">=":
                size = self.resolve(guard.left - guard.right)
                terms, constant = _without_constant(size), size.constant_part
                self._bounds[terms] = min(constant, self._bounds.get(terms, constant))
        self._bounds_guards = len(self.guards)
        return self._bounds

    def _record(self, operator: str, difference: Size, message: str) -> None:
        left = Size({m: c for m, c in difference.terms.items() if c > 0 and m})
        right = Size({m: -c for m, c in difference.terms.items() if c < 0 and m})
        constant = difference.constant_part
        if not left.terms or (right.terms and constant > 0):
            left = left + constant
        else:
            right = right - constant
        self.guards.append(SizeGuard(left, operator, right, message, self.root_line()))
        alone = str(difference - constant)
        if operator == ">=" and alone in self.sizes:
            self.lower_bounds[alone] = max(self.lower_bounds.get(alone, -constant), -constant)

    def decide(self, operator: str, left: Size | int, right: Size | int, message: str = "") -> bool:
        """Whether `left operator right` in the recorded call; a guard is kept, so that it is so in every call."""
        known = self.decide_if_same_in_all_iterations(operator, left, right, message)
        if known is None:
            raise self.error(
                f"loops: whether {self.resolve(Size.of(left))} {operator} {self.resolve(Size.of(right))}",
                "that differs from iteration to iteration, and decides the size or the kind of something here",
                "Leave the loop out of the compiled function.",
            )
        return known

    def decide_if_same_in_all_iterations(
        self, operator: str, left: Size | int, right: Size | int, message: str = ""
    ) -> bool | None:
        """As decide(); None where it is true of some iterations of the loops around and not of others, or may be."""
        a, b = self.resolve(Size.of(left)), self.resolve(Size.of(right))
        if a.is_constant and b.is_constant:
            return bool(COMPARE[operator](a.constant_part, b.constant_part))
        if self.loops and not self.loops.keys().isdisjoint((a - b).symbols()):
            return self._decide_for_all_iterations(operator, a - b, message)
        orders = operator not in ("==", "!=")
        difference = margin(operator, a, b) if orders else a - b
        known = self._known(">=" if orders else operator, difference)
        if known is not None:
            return known
        self._may_decide()
        value = self.value_of(difference)
        if orders:
            self._record(">=", difference if value >= 0 else -difference - 1, message)
            return value >= 0
        if value == 0:
            self.unify(a, b, message)
        else:
            self._record("!=", difference, message)
        return (value == 0) == (operator == "==")

    def _may_decide(self) -> None:
        if not self.sizes_decide:
            raise Undecided

    @contextmanager
    def without_checks(self) -> Iterator[None]:
        """Where a check of the run would be made, Undecided is raised."""
        before = None if self.checked is None else self.checked.storage.value
        reasons = len(self.check_reasons)
        yield
        if self.checked is not None and self.checked.storage.value is not before:
            self.checked.storage.value = before
            del self.check_reasons[reasons:]
            raise Undecided

    def without_decisions(self) -> AbstractContextManager[None]:
        """Where a size would decide something that is not known of every call, Undecided is raised."""
        return self._with("sizes_decide", False)

    # -- loops ----------------------------------------------------------------------------------

    def new_loop(self, name: str, first: Size, iterations: Size, step: int) -> Size:
        """The index of a loop that stays one, as a symbol. Its value in the recorded call is that of the first iteration."""
        symbol = self._free_symbol(name)
        last = first + (iterations - 1) * step
        index = self.new_symbol(symbol, self.value_of(first), extent=False)
        self.loops[symbol] = LoopIndex(first, last, step)
        self.lower_bounds[symbol], _ = self._ranges.of(first if step > 0 else last)
        return index

    def new_data_symbol(self, name: str, bounds: LoopIndex, hint: int) -> Size:
        """A size that is read from a value of the run: as the index of a loop, no value of the recorded call is its own."""
        symbol = self._free_symbol(name)
        index = self.new_symbol(symbol, hint, extent=False)
        self.loops[symbol] = bounds
        self.open_loops.add(symbol)
        if bounds.first is not None:
            self.lower_bounds[symbol], _ = self._ranges.of(bounds.first)
        return index

    def _free_symbol(self, name: str) -> str:
        return free_name(name, self.sizes.keys() | {argument.name for argument in self.arguments})

    def forget(self, symbols: set[str]) -> None:
        """Loops and sizes from data of a run that is made again: their names are free."""
        if any(not symbols.isdisjoint(size.symbols()) for size in self.substitutions.values()):
            return
        for symbol in symbols - self.substitutions.keys():
            for table in (self.loops, self.sizes, self.reads, self.slices, self.lower_bounds):
                table.pop(symbol, None)
            self.open_loops.discard(symbol)

    def extreme(self, size: Size, highest: bool) -> Size | None:
        """The largest or the smallest value of a size over all iterations of the loops in it, None where that is not known."""
        inside = [symbol for symbol in size.symbols() if symbol in self.loops]
        if not inside:
            return self.resolve(size)
        # Inner loops first: their limits may name the outer ones.
        symbol = max(inside, key=self.symbol_order.__getitem__)
        total = Size.constant(0)
        for monomial, coefficient in size.terms.items():
            moving = [atom for atom in monomial if symbol in Size({(atom,): 1}).symbols()]
            if not moving:
                total = total + Size({monomial: coefficient})
                continue
            rest = list(monomial)
            rest.remove(moving[0])
            factor = Size({tuple(rest): 1})
            if len(moving) > 1 or self._ranges.of(factor)[0] < 0:
                return None
            bound = self._extreme_atom(moving[0], symbol, highest == (coefficient > 0))
            if bound is None:
                return None
            total = total + bound * factor * coefficient
        return self.extreme(total, highest)

    def _extreme_atom(self, atom: Atom, symbol: str, highest: bool) -> Size | None:
        if isinstance(atom, str):
            loop = self.loops[symbol]
            bound = loop.last if highest == (loop.step > 0) else loop.first
            return None if bound is None else self.resolve(bound)
        operation, left, right = atom
        if operation == "%" and right.is_constant and right.constant_part > 0:
            return right - 1 if highest else Size.constant(0)
        if operation == "//" and right.is_constant and right.constant_part > 0:
            of_left = self.extreme(left, highest)
            return None if of_left is None else of_left.floor_divide(right)
        if operation in ("min", "max"):
            of_left, of_right = self.extreme(left, highest), self.extreme(right, highest)
            if of_left is not None and of_right is not None:
                return of_left.minimum(of_right) if operation == "min" else of_left.maximum(of_right)
        return None

    def _decide_for_all_iterations(self, operator: str, difference: Size, message: str) -> bool | None:
        if operator in ("==", "!="):
            for side in (difference - 1, -difference - 1):
                if self._decide_for_all_iterations(">=", side, message):
                    return operator == "!="
            return None
        if operator != ">=":
            return self._decide_for_all_iterations(">=", margin(operator, difference, Size.constant(0)), message)
        for fact in self.facts:
            if (beyond := difference - fact).is_constant and beyond.constant_part >= 0:
                return True
            if (beyond := -difference - 1 - fact).is_constant and beyond.constant_part >= 0:
                return False
        least, most = self.extreme(difference, False), self.extreme(difference, True)
        # A guard makes the answer of the recorded call that of every call.
        if least is not None and self.value_of(least) >= 0:
            return self.decide(">=", least, 0, message)
        if most is not None and self.value_of(most) < 0:
            return self.decide(">=", most, 0, message)
        return None

    def refuse_unknown(self, left: Size, right: Size) -> None:
        """Two sizes differ in the recorded call, which says nothing where loops or data decide them."""
        left, right = self.resolve(left), self.resolve(right)
        if not self.loops.keys().isdisjoint((left - right).symbols()):
            raise self._as_one(
                left, right, "whether they are equal differs from iteration to iteration, or with the data"
            )

    def _as_one(self, left: Size, right: Size, why: str) -> TraceError:
        return self.error(f"loops: {left} and {right} as one size", why, "Leave the loop out of the compiled function.")

    def unify(self, left: Size, right: Size, message: str = "") -> None:
        """Make two sizes that are equal in the recorded call the same from here on, under a guard."""
        left, right = self.resolve(left), self.resolve(right)
        difference = left - right
        if difference.is_constant:
            return
        if not self.loops.keys().isdisjoint(difference.symbols()):
            if self._unify_slices(left, right, message) or self._unify_sizes_of_data(left, right, message):
                return
            raise self._as_one(left, right, "they are equal only in some iterations")
        candidates: list[tuple[int, int, Atom]] = []
        for monomial, coefficient in difference.terms.items():
            if len(monomial) != 1 or abs(coefficient) != 1:
                continue
            atom = monomial[0]
            rest = difference - Size({monomial: coefficient})
            if atom in rest.atoms():
                continue
            if isinstance(atom, str):
                # Scalars give way to extents, later arguments to earlier ones.
                kind = 3 if atom not in self.extents else 2
                candidates.append((kind, self.symbol_order[atom], atom))
            elif not any(atom in s.atoms() for s in self.substitutions.values()):
                candidates.append((1, 0, atom))
        if not candidates:
            for symbol in sorted(difference.symbols(), key=self.symbol_order.__getitem__):
                self.fix_symbol(symbol, message)
            return
        _, _, atom = max(candidates, key=lambda c: c[:2])
        coefficient = difference.terms[(atom,)]
        rest = difference - Size({(atom,): coefficient})
        replacement = -rest if coefficient == 1 else rest
        if not (isinstance(atom, str) and atom in self.extents):
            own = Size({(atom,): 1})
            self.guards.append(SizeGuard(own, "==", replacement, message, self.root_line(), True))
        self._replace(atom, replacement, message)

    def _unify_slices(self, left: Size, right: Size, message: str) -> bool:
        """The lengths of two slices with the same limits of the run are one where the axes are."""
        mine, theirs = self.slices.get(str(left)), self.slices.get(str(right))
        if mine is None or theirs is None or mine[0] != theirs[0]:
            return False
        if self._place_of_read(str(right)) < self._place_of_read(str(left)):
            left, right, mine, theirs = (
                right,
                left,
                theirs,
                mine,
            )  # what was read first is known wherever the other one is
        if not self.is_visible(self.reads[str(left)]) or not self.decide("==", mine[1], theirs[1], message):
            return False
        for one, other in zip(mine[2:], theirs[2:], strict=True):
            if one != other:
                (atom,) = other.symbols()
                self._replace(atom, one)
        return True

    def _unify_sizes_of_data(self, left: Size, right: Size, message: str) -> bool:
        """The size of what a stage gives is another size: the stage gives it only where it has that. Not so sizes of
        slices: what reads them would read beyond the array where a check fails."""
        if not self.is_known_here(left - right):
            return False
        # What was read in the inner block, or last of one block, is the other one from here on: that is known wherever
        # this is. (What loops do not change is read before them, but later than what they read.)
        pairs = [(left, right), (right, left)]

        def read_last(size: Size) -> tuple[int, int]:
            return max(map(self._place_of_read, size.symbols()), default=(-1, -1))

        for size, other in pairs:
            symbol = str(size)
            is_behind = read_last(size) > read_last(other)
            if is_behind and symbol in self.reads and symbol not in self.slices and symbol not in other.atoms():
                self.check_sizes("equal", left, right, message)
                self._replace(symbol, other)
                return True
        return False

    def _place_of_read(self, symbol: str) -> tuple[int, int]:
        """How deep in the blocks around a size from data is read, beyond them all where none of them reads it, and when."""
        read = self.reads.get(symbol)
        depths = [k for k, block in enumerate(self.blocks) if read is not None and block is read.home]
        depth = 0 if read is None else next(iter(depths), len(self.blocks))
        return depth, self.symbol_order[symbol]

    def least_of_data(self, left: Size, right: Size, message: str) -> Size | None:
        """One size for two that data decide, which the program checks to be equal: whatever they are, arrays of either
        have so many elements. None where that cannot be checked here."""
        if not self.is_of_data(left - right) or not self.is_known_here(left - right) or self.checked is None:
            return None
        self.check_sizes("equal", left, right, message)
        return left.minimum(right)

    def is_of_data(self, size: Size) -> bool:
        """Whether data decide it: the recorded call says nothing of it."""
        return not self.reads.keys().isdisjoint(self.resolve(size).symbols())

    def is_known_here(self, size: Size) -> bool:
        """Whether sizes from data that have been read are all of its symbols that are no guard's."""
        moving = self.loops.keys() & size.symbols()
        return all(symbol in self.reads and self.is_visible(self.reads[symbol]) for symbol in moving)

    def check_sizes(self, comparison: str, left: Size, right: Size, message: str) -> None:
        """NumPy runs the call where sizes from data do not compare so."""
        values = [self._of_what_was_read(size) for size in (left, right)]
        self.check(self.add(comparison, values, {}, BOOL, ()), message)

    def _of_what_was_read(self, size: Size) -> Value:
        """A size as a value that stays what it is when sizes become one: of the numbers that were read, not of symbols."""

        def of_atom(atom: Atom) -> Value:
            if isinstance(atom, str):
                read = self.reads.get(atom)
                if read is not None:
                    return read.operands[0]
                return self.add("scalar_size", (), {"size": Size.symbol(atom)}, INT64, ())
            name, left, right = atom
            operation = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum"}[name]
            operands = (self._of_what_was_read(left), self._of_what_was_read(right))
            return self.add(operation, operands, {}, INT64, ())

        total = self.constant(size.constant_part)
        for monomial, coefficient in size.terms.items():
            if not monomial:
                continue
            product = self.constant(coefficient)
            for atom in monomial:
                product = self.add("multiply", (product, of_atom(atom)), {}, INT64, ())
            total = self.add("add", (total, product), {}, INT64, ())
        return total

    def match(
        self, left: Size, right: Size, message: str, guard: str = "", exception: type[Exception] = ValueError
    ) -> None:
        """The exception with the message where two sizes differ in the recorded call; else they are one from here on."""
        left, right = self.resolve(left), self.resolve(right)
        if self.value_of(left) != self.value_of(right) and not self.is_of_data(left - right):
            self.refuse_unknown(left, right)
            raise exception(message)
        # Both 1 in the recorded call does not make them equal in others.
        self.unify(left, right, guard or message)

    def fix_scalar(self, name: str) -> None:
        """The scalar argument `name` becomes a guarded constant."""
        if name in self.sizes:
            self.fix_symbol(name)
            return
        for argument in self.arguments:
            if argument.name == name and argument.kind == "scalar":
                argument.kind = "constant"
                argument.reason = f"its value decides Python structure at line {self.root_line()}"
                self.python_guards[(argument.path, "equal")] = PythonGuard(
                    argument.path, "equal", argument.value, argument.reason
                )

    def fix_symbol(self, symbol: str, message: str = "") -> int:
        """Use the value of the recorded call from here on, under a guard."""
        if symbol in self.reads:
            known = known_size(self, Size.symbol(symbol))
            if known is not None:
                self._replace(symbol, Size.constant(known), message)
                return known
            raise self.error(
                "loops: a run-time number where tracing needs its value",
                "it is known only when the compiled function runs",
                "Use it only as an index or as a limit of a range or slice.",
            )
        if symbol in self.loops:
            raise self.error(
                f"loops: the value of {symbol} while tracing",
                "it is the index of a loop, and differs in each iteration",
                "Index arrays with it, or leave the loop out of the compiled function.",
            )
        value = self.sizes[symbol]
        if symbol not in self.substitutions:
            self._may_decide()
            if symbol not in self.extents:
                own = Size.symbol(symbol)
                self.guards.append(SizeGuard(own, "==", Size.constant(value), message, self.root_line(), True))
            self._replace(symbol, Size.constant(value), message)
        return value

    def fix(self, size: Size) -> int:
        """An integer in place of a size: each symbol in it takes its value of the recorded call."""
        size = self.resolve(size)
        for symbol in size.symbols() & self.loops.keys():
            self.fix_symbol(symbol)
        if not size.is_constant:
            value = self.value_of(size)
            self.unify(size, Size.constant(value))
            size = self.resolve(size)
            for symbol in size.symbols():
                self.fix_symbol(symbol)
            size = self.resolve(size)
        return self.value_of(size)

    def fixed_if_small(self, size: Size) -> Size:
        """A small number from outside of the call, where it is an extent or a count of iterations, is one of the program:
        such code is better for it, and most such numbers never change."""
        size = self.resolve(size)
        symbols = size.symbols()
        if symbols and symbols <= self.settled and 0 <= self.value_of(size) <= MAX_SHORT_ITERATIONS:
            return Size.constant(self.fix(size))
        return size

    def require(
        self, operator: str, left: Size | int, right: Size | int, message: str, exception: type[Exception]
    ) -> None:
        """Raise what NumPy would where the recorded call does not satisfy it; a guard for other calls, and a check where
        the data decide."""
        a, b = self.resolve(Size.of(left)), self.resolve(Size.of(right))
        moves = not self.loops.keys().isdisjoint((a - b).symbols()) and self.is_known_here(a - b)
        if operator in _CHECKED and moves and self._decide_for_all_iterations(operator, a - b, message) is None:
            self.check_sizes(_CHECKED[operator], a, b, message)
            return
        if not self.decide(operator, left, right, message):
            raise exception(message)


@contextmanager
def pushed(stack: list[T], item: T) -> Iterator[None]:
    """The item is the last of the list for a while."""
    stack.append(item)
    try:
        yield
    finally:
        stack.pop()


def _where(file: str, line: int, function: str) -> str:
    return f"{file}:{line}, in {function}" if line else file or function


def margin(operator: str, left: Size, right: Size) -> Size:
    """What is not negative where `left operator right` holds, for each of <, <=, > and >=."""
    difference = right - left if operator in ("<", "<=") else left - right
    return difference - 1 if operator in ("<", ">") else difference


def free_name(base: str, taken: Container[str]) -> str:
    """The name, with a number where it is taken."""
    name, count = base, 2
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    return name


def _without_constant(size: Size) -> frozenset[Any]:
    return frozenset((monomial, coefficient) for monomial, coefficient in size.terms.items() if monomial)
