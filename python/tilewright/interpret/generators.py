"""Random draws: NumPy's Generator on PCG64, whose state any draw can be computed from.

A generator of the traced function is its state at the start of the call (a hidden array of four words: the state and
the increment, high halves first) and how many draws came before, which is a size. Draw k is a pure function of both, so
the iterations of a loop draw in any order; the caller moves its generator on when the call is over. Where data decide how
many values are drawn there is no such size, and the function is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..light_dataclass import dataclass
from ..ops.creation import sizes_of_shape
from ..ops.operands import is_symbolic
from ..ops.stage_rows import is_sized_by_data
from ..symbolic.arrays import SymArray
from ..symbolic.graph import FLOAT64, INT64, NEWAXIS, WHOLE, Block, Value
from ..symbolic.run_numbers import RunScalar
from ..symbolic.sizes import Size
from ..symbolic.storage import Storage
from .staged_draws import DrawsAreStages, GeneratorMethod

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

# The program counts steps in this many bits (translator/ops/rules.h).
OFFSET_BITS = 40
# Draws whose states come from one jump: the others are one product with a table of that many jumps.
_ROW = 256
# Elements of the longest array (dsl/runtime/element_count.h); rows are whole.
_MOST_AT_ONCE = 2**31 - 2**27
_UINT64 = np.dtype(np.uint64)
_ZERO, _ONE = Size.constant(0), Size.constant(1)


@dataclass
class _Iteration:
    """One iteration of a loop that stays one: all of them draw alike."""

    block: Block
    number: Size  # of the iteration, from 0
    iterations: Size
    draws: Size  # of an iteration; what the run of the body before found
    drawn: Size  # in this one


class SymGenerator:
    """A numpy.random.Generator of the traced function."""

    def __init__(self, tracer: Tracer, words: SymArray, path: tuple[Any, ...] | None) -> None:
        self.tracer = tracer
        self.words = words
        self.path = path  # of one that lives on when the call is over
        self.is_of_the_caller = path is not None
        self.home = tracer.blocks[-1]
        self.drawn = _ZERO  # where it was made, before the loops around the present statement
        self.iterations: list[_Iteration] = []
        tracer.generators.append(self)

    def get_attribute(self, name: str) -> GeneratorMethod:
        held = getattr(np.random.Generator, name)  # or NumPy's own AttributeError
        if not callable(held) or name.startswith("_"):
            raise self._refused(f"{name} of a random generator")
        return GeneratorMethod(self, name)

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if name in ("random", "uniform"):
            return getattr(self, name)(*args, **kwargs)
        raise DrawsAreStages

    def __repr__(self) -> str:
        raise self._refused("the text (str, repr, format) of a random generator")

    def __reduce__(self) -> Any:
        raise self._refused("pickling or copying a random generator")

    # -- draws -------------------------------------------------------------------------------------------------

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if out is not None or is_symbolic(dtype) or np.dtype(dtype) != FLOAT64:
            raise DrawsAreStages
        if size is None:
            return RunScalar(self.tracer, self._number(), float, 0, 1)
        if is_sized_by_data(size):
            raise DrawsAreStages
        shape = sizes_of_shape(self.tracer, size)
        count = self.tracer.resolve(self.tracer.total(shape))
        value = _draws(self.tracer, self.words, self._draw(count), count)
        if len(shape) != 1:
            value = self.tracer.add("reshape", (value,), {}, value.dtype, shape, "random")
        return SymArray(self.tracer, Storage(value, c_order=True))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if not all(type(limit) in (int, float) for limit in (low, high)):
            raise DrawsAreStages
        np.random.Generator(np.random.PCG64(0)).uniform(low, high)  # raises what NumPy raises
        width = float(high) - float(low)
        return float(low) + width * self.random(size)

    def _refused(self, asked: str, what_to_do: str = "") -> Exception:
        return self.tracer.error(
            asked,
            "only random() and uniform() of float64 are compiled",
            what_to_do or "Draw it at the caller and pass the array in, or leave it to NumPy.",
        )

    def _draw(self, count: Size) -> Size:
        """Counts `count` draws; gives how many came before them."""
        tracer = self.tracer
        if count.symbols() & tracer.reads.keys():
            raise DrawsAreStages  # the data decide which value each later draw gets
        innermost = self.iterations[-1] if self.iterations else None
        if tracer.blocks[-1] is not (innermost.block if innermost is not None else self.home):
            # In a branch, or in a loop that it was not made in.
            raise DrawsAreStages(move=True if count == _ONE else None)
        before = self._before(len(self.iterations))
        if innermost is not None:
            innermost.drawn = tracer.resolve(innermost.drawn + count)
        else:
            self.drawn = tracer.resolve(self.drawn + count)
        return before

    def _before(self, depth: int) -> Size:
        """Draws before the present statement of the loop at `depth`."""
        total = self.drawn
        for iteration in self.iterations[:depth]:
            total = total + iteration.draws * iteration.number + iteration.drawn
        return self.tracer.resolve(total)

    def _number(self) -> Value:
        """One draw. Those of all iterations of the loop around are one array, made before the loop."""
        tracer = self.tracer
        drawn_in_iteration = self.iterations[-1].drawn if self.iterations else _ZERO
        before = self._draw(_ONE)
        if not self.iterations:
            return _one_draw(tracer, self.words, before)
        iteration = self.iterations[-1]
        with tracer.outside_of(iteration.block):
            array = _draws(
                tracer,
                self.words,
                self._before(len(self.iterations) - 1),
                tracer.resolve(iteration.draws * iteration.iterations),
            )
        position = tracer.resolve(iteration.draws * iteration.number + drawn_in_iteration)
        return tracer.add("index", (array,), {"index": [position]}, FLOAT64, (), "random")

    # -- loops -------------------------------------------------------------------------------------------------

    def skip(self, count: Size) -> None:
        """The loop that was just left drew that many."""
        if count != _ZERO:
            self._draw(count)


class Drawing:
    """The draws of one loop: how many each iteration makes, found by running its body."""

    def __init__(self, tracer: Tracer, number: Size, iterations: Size) -> None:
        self.tracer, self.number, self.iterations = tracer, number, iterations
        self.generators = list(tracer.generators)
        self.outside = set(tracer.open_loops)
        self.draws = [_ZERO] * len(self.generators)

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """One run of the body."""
        entered = [
            _Iteration(self.tracer.blocks[-1], self.number, self.iterations, draws, _ZERO) for draws in self.draws
        ]
        for generator, iteration in zip(self.generators, entered, strict=True):
            generator.iterations.append(iteration)
        try:
            yield
        finally:
            for generator in self.generators:
                generator.iterations.pop()
        self.found = [iteration.drawn for iteration in entered]

    def differs(self) -> bool:
        """Whether an iteration draws another number than was thought: the body has to run again."""
        for found in self.found:
            moving = {symbol for symbol in found.symbols() & self.tracer.loops.keys() if symbol not in self.outside}
            if moving:
                raise DrawsAreStages  # the value of a draw is known before the loop only if all iterations draw equally many
        differs, self.draws = self.found != self.draws, self.found
        return differs

    def finish(self) -> None:
        for generator, draws in zip(self.generators, self.draws, strict=True):
            generator.skip(self.tracer.resolve(draws * self.iterations))


def at_most(tracer: Tracer, count: Size, most: int, where: str) -> None:
    """Refuses more draws than the program can count; a guard for other calls."""
    if not tracer.decide("<=", count, most, f"more than {most} random draws {where}"):
        raise tracer.error(
            f"more than {most} random draws {where}", "the compiled function cannot count more",
            "Draw in several calls, or leave the function to NumPy.",
        )  # fmt: skip


def _word(tracer: Tracer, words: SymArray, position: int) -> Value:
    return tracer.add("index", (words.storage.value,), {"index": [Size.constant(position)]}, _UINT64, ())


def state_after(tracer: Tracer, words: Sequence[Value], steps: Value) -> tuple[Value, Value]:
    """Both halves of the state after so many steps. `words`: of the state and of the increment, high halves first."""
    high, low, increment_high, increment_low = words
    made = []
    for half, operands in (("high", (high, low, increment_high, increment_low)), ("low", (low, increment_low))):
        value = tracer.add(f"pcg64_{half}", (*operands, steps), {}, _UINT64, steps.shape)
        value.user_name = f"draws_{half}"
        made.append(value)
    return made[0], made[1]


def _steps(tracer: Tracer, first: Size, step: int = 0, count: Size | None = None) -> Value:
    """first + step * k, for k up to `count`; one number without it."""
    first = tracer.resolve(first)
    if first.is_constant:
        made = tracer.constant(first.constant_part)
    else:
        made = tracer.add("scalar_size", (), {"size": first}, INT64, ())
    if count is not None:
        along = tracer.add("iota", (), {"axis": 0}, INT64, (count,))
        if step != 1:
            along = tracer.add("multiply", (along, tracer.constant(step)), {}, INT64, (count,))
        made = along if first == _ZERO else tracer.add("add", (along, made), {}, INT64, (count,))
    return tracer.add("cast", (made,), {}, _UINT64, made.shape)


def doubles_of(tracer: Tracer, words: Value) -> Value:
    shape = words.shape
    top = tracer.add("right_shift", (words, tracer.constant(11, _UINT64)), {}, _UINT64, shape)
    whole = tracer.add("cast", (top,), {}, FLOAT64, shape)
    return tracer.add("multiply", (whole, tracer.constant(2.0**-53, FLOAT64)), {}, FLOAT64, shape, "random")


def _one_draw(tracer: Tracer, words: SymArray, before: Size) -> Value:
    state = [_word(tracer, words, k) for k in range(4)]
    high, low = state_after(tracer, state, _steps(tracer, before + 1))
    none = tracer.constant(0, _UINT64)
    return doubles_of(tracer, tracer.add("pcg64_word", (high, low, *state[2:], none, none), {}, _UINT64, ()))


def _draws(tracer: Tracer, words: SymArray, before: Size, count: Size) -> Value:
    """The next `count` draws after the first ones, in rows of equal length."""
    at_most(tracer, count, _MOST_AT_ONCE, "in one loop or array")
    length = min(_ROW, max(count.constant_part, 1)) if count.is_constant else _ROW
    row = Size.constant(length)
    rows = tracer.resolve((count + (length - 1)).floor_divide(length))
    state = [_word(tracer, words, k) for k in range(4)]
    starts = state_after(tracer, state, _steps(tracer, before + 1, length, rows))
    none, one = tracer.constant(0, _UINT64), tracer.constant(1, _UINT64)
    jumps = state_after(tracer, [none, none, none, one], _steps(tracer, _ZERO, 1, row))
    down = [tracer.add("index", (half,), {"index": [WHOLE, NEWAXIS]}, _UINT64, (rows, _ONE)) for half in starts]
    along = [tracer.add("index", (half,), {"index": [NEWAXIS, WHOLE]}, _UINT64, (_ONE, row)) for half in jumps]
    table = tracer.add("pcg64_word", (*down, *state[2:], *along), {}, _UINT64, (rows, row))
    made = doubles_of(tracer, table)
    flat = tracer.add("reshape", (made,), {}, FLOAT64, (tracer.resolve(rows * length),), "random")
    return tracer.add("index", (flat,), {"index": [WHOLE]}, FLOAT64, (count,), "random")
