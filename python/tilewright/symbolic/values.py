"""The values that a trace makes, in blocks, and the checks among them."""

# ruff: noqa: PLR0917
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import TraceError
from ..light_dataclass import dataclass
from . import trace_limits
from .argument import Argument
from .before_reshape import BeforeReshape
from .decided import Decided
from .graph import BOOL, INT64, Block, Value
from .located import NO_RULE, PYTHON_KEEPS_IT, Located, pushed, where
from .refusals import KeepsLoop, TooLong
from .sizes import Size
from .stages import Stage, Untaken
from .trace_limits import MOST_STAGE_OPERANDS


@dataclass
class ShortLoop:
    """A loop that is unrolled only because it is short. `values`: made by its iterations, less those from before the ones that
    are running."""

    iterations: int
    values: int = 0
    running: int = 0


class Values(Located):
    """The values of a trace, in the blocks that are being written."""

    before_reshape: BeforeReshape

    def __init__(self, function_name: str, file: str, decided: Decided | None = None) -> None:
        super().__init__(function_name, file, decided)
        self.made = 0  # values so far
        self.short: dict[tuple[str, int, int], ShortLoop] = {}  # by their places
        self.dropped = 0  # those of them that are of runs of a loop's body which another run has replaced
        self.copies = 0  # those that iterations of unrolled loops made beside the first
        self.copying_from: int | None = None  # how many there were before such an iteration, while it runs
        self.unrolled_once: set[tuple[str, int, int]] = set()  # loops whose first iteration ran
        self.undone: list[range] = []  # numbers of values of rules that came to nothing
        # The blocks that are being written, outermost first.
        self.blocks: list[Block] = [Block()]
        # What the conditions around the present statement say: each `size >= 0`.
        self.facts: list[Size] = []
        self.reads: dict[str, Value] = {}  # symbols that are read from values of the run
        self.open_loops: set[str] = set()  # those whose bodies are being run
        # Truths that have to hold, and whom they save from what; and that of what is in regions, as memory that they carry.
        self.checks: dict[Any, tuple[Value, str]] = {}
        self.complex_is_error = False  # NumPy's warning of imaginary parts that a cast drops
        self.checked: Any = None
        self.check_reasons: list[str] = []
        self.written: dict[str, Argument] = {}  # arguments, also where they are left as they were
        # In words, each statement around the present one of whose iterations or ways data decide.
        self.decided_by_data: list[str] = []
        self.stages: dict[str, Stage] = {}  # by their texts
        self.untaken: Untaken | None = None  # why none is taken
        self._no_kernel: list[TraceError] = []  # why a stage is asked for, innermost last
        self.cache: dict[Any, Any] = {}

    @property
    def values_left(self) -> int:
        """Values that the program may have."""
        return self.made - self.dropped

    @property
    def most_values(self) -> int:
        """How many the program may have: fewer where most are copies."""
        return trace_limits.MAX_VALUES * (1 if 2 * self._copies_so_far >= self.values_left else 2)

    @property
    def is_too_long(self) -> bool:
        is_long = self.values_left >= trace_limits.MAX_VALUES and self.values_left >= self.most_values
        return is_long or self.made >= trace_limits.MAX_MADE

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
            self.keep_a_short_loop(trace_limits.MAX_VALUES // 4)
            error = self.error(
                f"loops: more than {self.most_values} operations were traced",
                "a program that is unrolled this far does not compile in useful time",
                "Write the loop with array operations, or leave it out of the compiled function.",
            )
            error.is_too_long = True
            raise error
        is_copy = operation == "cast" and operands[0].dtype == dtype
        instead = None if is_copy else self.before_reshape.instead(
            operation, operands, attributes,
            lambda before, others, sizes: self.add(operation, before, others, dtype, sizes, call_name),
        )  # fmt: skip
        if instead is not None:
            operation, (operands, attributes) = "reshape", instead
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
        is_copy = place in self.unrolled_once and self.copying_from is None  # with those of loops inside
        self.unrolled_once.add(place)
        if is_copy:
            self.copying_from = self.values_left
        try:
            yield
        finally:
            known.values, known.running = known.values + self.values_left, known.running - 1
            if is_copy:
                self.copies, self.copying_from = self._copies_so_far, None

    @property
    def _copies_so_far(self) -> int:
        running = 0 if self.copying_from is None else self.values_left - self.copying_from
        return self.copies + max(running, 0)

    def keep_a_short_loop(self, least: int) -> None:
        """The one of whose values most would not be there, if these are more than so many."""
        made = {place: one.values + one.running * self.values_left for place, one in self.short.items()}
        saved = {place: values - values // self.short[place].iterations for place, values in made.items()}
        place = max(saved, key=saved.__getitem__, default=None)
        if place is not None and saved[place] > least:
            raise TooLong(place)

    def refuse_stage(self, why: str) -> None:
        """Where stages are not taken, what no kernel computes. The reason may lie in another line, which keeps a loop from
        staying one."""
        untaken = self.untaken
        if untaken is None:
            return
        reason = self._no_kernel[-1] if self._no_kernel else self.error_of(TraceError, why, "")
        if reason.hint == untaken.what_to_do:
            raise reason  # which is such a refusal itself
        text = str(reason).removesuffix(reason.hint).rstrip()
        refused = TraceError(f"{text} {untaken.why}.", untaken.what_to_do, file=reason.file, line=reason.line)
        refused.what = f"{why} {untaken.why}."
        raise refused

    def call(self, stage: Stage, operands: Sequence[Value], dtype: np.dtype[Any], shape: Sequence[Size]) -> Value:
        """What Python computes when the program runs. Kernels hand over no complex numbers."""
        self.refuse_dtype(dtype, f"a value of dtype {dtype}")
        reason = PYTHON_KEEPS_IT if stage.name.startswith("builtins.list") else NO_RULE
        why = self._no_kernel[-1].what if self._no_kernel else f"{stage.text.partition('(')[0]}(); {reason}."
        self.refuse_stage(why)
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
        known = replace(stage, why=why.removesuffix("."), line=self.root_line(), where=where(file, line, function))
        self.stages.setdefault(stage.text, known)
        name = stage.name.rpartition(".")[2] or "result"
        return self.add("call", operands, {"callee": stage.text}, dtype, shape, name)

    def is_undone(self, value: Value) -> bool:
        return any(value.number in numbers for numbers in self.undone)

    def calls_in(self, block: Block) -> list[Value]:
        """Calls that Python makes there, which may raise, whoever needs what they give; and regions with such calls."""
        return [
            one for one in block.values
            if not self.is_undone(one) and (one.operation == "call" or any(map(self.calls_in, one.blocks)))
        ]  # fmt: skip

    def no_kernel(self, why: TraceError) -> AbstractContextManager[None]:
        """Stages that are asked for inside are there because of `why`."""
        return pushed(self._no_kernel, why)

    def constant(self, value: Any, dtype: np.dtype[Any] = INT64) -> Value:
        """A literal."""
        return self.add("const", (), {"value": dtype.type(value).item()}, dtype, ())

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        if value.dtype == dtype:
            return value
        self.warn_of_cast(value.dtype, dtype)
        return self.add("cast", (value,), {}, dtype, value.shape)

    def warn_of_cast(self, source: np.dtype[Any], target: np.dtype[Any]) -> None:
        """NumPy's warning of imaginary parts that a cast drops, where the function makes it an error; compiled code has none."""
        if self.complex_is_error and source.kind == "c" and target.kind not in "cbO":
            raise np.exceptions.ComplexWarning("Casting complex values to real discards the imaginary part")

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

    def are_known_before_regions(self, symbols: set[str]) -> bool:
        """Whether none of them is the index of a loop around, or read of a value inside one."""
        read_there = {symbol for symbol, value in self.reads.items() if value.home is self.blocks[0]}
        return symbols.isdisjoint(self.open_loops - read_there)

    def outside_of(self, block: Block) -> AbstractContextManager[None]:
        """Values made inside belong to the block around `block`."""
        return self._with("blocks", self.blocks[: next(k for k, one in enumerate(self.blocks) if one is block)])

    def is_visible(self, value: Value) -> bool:
        """Whether the present statement may use a value: its block has not ended, and is the one that is written or around it."""
        for block in self.blocks:
            if block is value.home:
                return True
            if block is self.blocks[-1]:
                break
        return False
