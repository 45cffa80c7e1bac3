"""NumPy's older generators on MT19937, np.random.rand() and RandomState, whose state moves on in kernels (see moved_draws.py).

A word of MT19937 is made of three of the 624 before it: each when it is drawn, while NumPy makes all 624 at once. So a count says
how many of the next 624 are made, and those that are not yet are made before NumPy gets the state back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._face import reads_mt19937
from ..ops.as_loops import followed, inside
from ..ops.libm import libm_log
from ..symbolic.arrays import SymArray
from ..symbolic.graph import FLOAT64, INT64, Value
from ..symbolic.run_numbers import RunScalar
from ..symbolic.sizes import Size
from ..symbolic.stages import Stage, result_of
from .moved_draws import Moved, as_float, choice, integers_of, normal, random, uniform
from .staged_draws import MOVED, DrawsAreStages, GeneratorMethod

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

_GLOBAL = "numpy.random.mtrand._rand"
_PARTS = ((np.dtype(np.uint32), 624), (INT64, 4), (FLOAT64, 1))


class MovedState(Moved):
    """RandomState, or the one of numpy.random: its words; the place of the next one, how many of 624 are made, whether a normal
    number is left; and that number."""

    def __init__(self, tracer: Tracer, kind: type, number: Value, held: str, of: Any = None) -> None:
        super().__init__(tracer, kind, number, held, of)
        if not reads_mt19937():
            raise DrawsAreStages(move=False)
        self.itself = f"held[{held!r}]" if held else _GLOBAL
        self.state = [SymArray.fresh(tracer, one, is_scalar=False) for one in self._taken()]
        tracer.orders.extend(self.state)

    def _taken(self) -> list[Value]:
        tracer, name = self.tracer, self.held or "numpy.random"
        taken = f"r{len(tracer.stages) + 1}"
        source = f"lambda held, a0: (hold(held, {taken!r}, mt19937_state({self.itself})), {taken[1:]})[1]"
        opened = tracer.call(Stage(f"{name}.state as {taken}", source), [self.order.read()], INT64, ())
        return [
            tracer.call(result_of(taken, f"[{k}]"), [opened], dtype, (Size.constant(count),))
            for k, (dtype, count) in enumerate(_PARTS)
        ]

    def give_back(self) -> None:
        if len(self.tracer.blocks) > self.tracer.blocks.index(self.home) + 1:
            # 624 words each time: where Python draws or is handed the generator in a loop, it draws everything.
            raise DrawsAreStages(move=False)
        key, places, left = self.state
        name = self.held or "numpy.random"
        source = f"lambda held, a0, a1, a2, a3: set_mt19937_state({self.itself}, a0, a1, a2)"
        stage = Stage(f"{name}.state = $0, $1, $2", source)
        self.order.write(
            self.tracer.call(stage, [key.read(), places.read(), left.read(), self.order.read()], INT64, ())
        )

    def take(self) -> None:
        for one, value in zip(self.state, self._taken(), strict=True):
            one.write(value)

    def _word(self) -> Any:
        return followed(self.tracer, "random.RandomState", _next_word, *self.state[:2])

    def random(self) -> RunScalar:
        word = GeneratorMethod(self, _WORD)
        drawn = as_float(
            self.tracer, followed(self.tracer, "random.RandomState.random", _fraction, word, self.state[1])
        )
        assert drawn is not None
        return RunScalar(self.tracer, drawn, float, 0, 1)

    def _up_to(self, most: SymArray, some: Value | None) -> Value:
        word = GeneratorMethod(self, _WORD)
        place: Value = followed(self.tracer, "random.RandomState.randint", _up_to, word, most).read()
        return place

    def number(self) -> Any:
        fraction = GeneratorMethod(self, _FRACTION)
        return followed(self.tracer, "random.RandomState.normal", _normal_number, fraction, *self.state[1:])


def _twisted(key: Any, place: Any) -> Any:
    behind = (place + 1) * (place < 623)
    further = place + 397 - 624 * (place >= 227)
    y = (inside(key, place) & np.uint32(0x80000000)) | (inside(key, behind) & np.uint32(0x7FFFFFFF))
    return inside(key, further) ^ (y >> np.uint32(1)) ^ ((y & np.uint32(1)) * np.uint32(0x9908B0DF))


def _next_word(key: Any, places: Any) -> Any:
    place = places[0]
    if place >= 624:
        place = place * 0
        places[1] = 0
    if places[1] <= place:
        key[place] = _twisted(key, place)
        places[1] = place + 1
    places[0] = place + 1
    y = inside(key, place)
    y = y ^ (y >> np.uint32(11))
    y = y ^ ((y << np.uint32(7)) & np.uint32(0x9D2C5680))
    y = y ^ ((y << np.uint32(15)) & np.uint32(0xEFC60000))
    return y ^ (y >> np.uint32(18))


def _fraction(word: Callable[[], Any], places: Any) -> Any:
    drawn, left_out = np.float64(0.0), np.uint32(5)  # bits of the first of two words
    for _ in range(places[3]):  # twice, in a loop that nobody unrolls
        drawn = drawn * 67108864.0 + np.float64(word() >> left_out)
        left_out = left_out + np.uint32(1)
    return drawn * (1.0 / 9007199254740992.0)


def _up_to(word: Callable[[], Any], most: Any) -> Any:
    """One of 0, 1, …, most: words that are too large are left out."""
    mask = most
    for bits in (1, 2, 4, 8, 16):
        mask = mask | mask >> np.uint64(bits)
    drawn = most
    is_found = most == 0
    while not is_found:
        drawn = np.uint64(word()) & mask
        is_found = drawn <= most
    return drawn


def _normal_number(fraction: Callable[[], Any], places: Any, left: Any) -> Any:
    """G. Marsaglia's polar way, which makes two numbers at once."""
    drawn = left[0]
    left[0] = 0.0
    if places[2] != 0:
        places[2] = 0
    else:
        one = two = square = drawn * 0.0
        while square >= 1.0 or square == 0.0:
            one = 2.0 * np.float64(fraction()) - 1.0
            two = 2.0 * np.float64(fraction()) - 1.0
            square = one * one + two * two
        factor = np.sqrt(-2.0 * libm_log(square) / square)
        left[0] = factor * one
        places[2] = 1
        drawn = factor * two
    return drawn


def _no_more(row: Callable[..., Any]) -> Callable[..., Any]:
    return lambda generator, *args, **kwargs: None if args or kwargs else row(generator)


def _randint(generator: Moved, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return integers_of(generator, low, high, size, dtype)


def _random(generator: Moved, size: Any = None) -> Any:
    return random(generator, size)


_WORD, _FRACTION = " word", " fraction"
MovedState.own = {_WORD: MovedState._word, _FRACTION: MovedState.random}
MovedState.rows = {
    "rand": _no_more(random), "random": _random, "random_sample": _random, "ranf": _random, "uniform": uniform,
    "randint": _randint, "choice": choice, "normal": normal, "randn": _no_more(normal), "standard_normal": _no_more(normal),
}  # fmt: skip
MOVED[np.random.RandomState] = MovedState
