"""Single draws that kernels make where data decide how many there are: the state of the generator moves on with each.

A generator of PCG64 lies in four numbers of the program, as an order of draws does, so loops and branches carry them. What
kernels do not draw Python does: it gets the state before such a draw, and gives it back behind. D. Lemire, "Fast random integer
generation in an interval", is how integers are drawn.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..ops.as_loops import followed
from ..ops.operands import operand_of
from ..ops.python_numbers import number_of_the_run
from ..ops.stages import materialized
from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, FLOAT64, INT64, Value
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.stages import Stage
from .generators import doubles_of, state_after
from .normal_draws import layers, normal_number
from .staged_draws import MOVED, GeneratorMethod, StagedGenerator

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

UINT64 = np.dtype(np.uint64)
_HALF = 2**32 - 1
_SIX = Size.constant(6)
_MOST = _HALF - 1  # integers up to which NumPy takes halves of words for one


class Moved(StagedGenerator):
    """A generator whose state is the program's, between draws that Python makes."""

    rows: ClassVar[dict[str, Callable[..., Any]]]  # what methods give that kernels draw, None where Python does
    own: ClassVar[dict[str, Callable[[Any], Any]]]  # what functions that are followed ask of it

    def call(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        if name in self.own:
            return self.own[name](self)
        row = self.rows.get(name)
        made = row(self, *args, **kwargs) if row is not None and _takes(row, self, *args, **kwargs) else None
        if made is not None:
            return made
        self.give_back()
        result = super().call(name, args, kwargs)
        self.take()
        return result

    def end(self) -> None:
        self.give_back()

    def random(self) -> RunScalar:
        """From 0 on, less than 1."""
        raise NotImplementedError

    def _up_to(self, most: SymArray, some: Value | None) -> Value:
        """One of 0, 1, …, most, of uint64. `some`: whether there is one to draw; None where there is for certain."""
        raise NotImplementedError

    def number(self) -> Any:
        """A normal number; None where NumPy draws another one."""
        raise NotImplementedError

    def uniform(self, low: Any, high: Any) -> RunScalar | None:
        tracer = self.tracer
        limits = _both(as_float, tracer, low, high)
        if limits is None:
            return None
        width = tracer.add("subtract", (limits[1], limits[0]), {}, FLOAT64, ())
        if all(isinstance(one, (int, float)) for one in (low, high)):
            if not 0 < float(high) - float(low) < np.inf:
                return None  # NumPy says what becomes of it
        else:
            for comparison, limit in (("greater", 0.0), ("less", np.inf)):
                truth = tracer.add(comparison, (width, tracer.constant(limit, FLOAT64)), {}, BOOL, ())
                tracer.check(truth, "a range that NumPy may not draw from")
        share = tracer.add("multiply", (width, self.random().value), {}, FLOAT64, ())
        return RunScalar(tracer, tracer.add("add", (limits[0], share), {}, FLOAT64, ()), float)

    def integer(self, low: Any, high: Any, *, endpoint: bool = False) -> Value | None:
        """One of low, low + 1, …, high - 1, or `high`."""
        tracer = self.tracer
        limits = _both(_int, tracer, low, high)
        if limits is None:
            return None
        most = tracer.add("subtract", (limits[1], limits[0]), {}, INT64, ())
        if not endpoint:
            most = tracer.add("subtract", (most, tracer.constant(1)), {}, INT64, ())
        is_known = isinstance(low, int) and isinstance(high, int)
        if is_known and not 0 < high - low - (not endpoint) <= _MOST:
            return None
        if not is_known:
            for comparison, limit in (("greater_equal", 0), ("less_equal", _MOST)):
                truth = tracer.add(comparison, (most, tracer.constant(limit)), {}, BOOL, ())
                tracer.check(truth, "a range of integers that kernels do not draw from")
                most = chosen(tracer, truth, most, tracer.constant(0))  # of others the draw might not end
        some = None if is_known else tracer.add("greater", (most, tracer.constant(0)), {}, BOOL, ())
        place = self._up_to(scalar(tracer, tracer.cast(most, UINT64)), some)
        return tracer.add("add", (limits[0], tracer.cast(place, INT64)), {}, INT64, ())

    def normal(self, middle: Any, scale: Any) -> RunScalar | None:
        """middle + a normal number times `scale`, where that is not negative."""
        tracer = self.tracer
        of = _both(as_float, tracer, middle, scale)
        is_known = isinstance(scale, (int, float))
        if of is None or (is_known and not 0 <= scale < np.inf):
            return None
        if not is_known:
            truth = tracer.add("greater_equal", (of[1], tracer.constant(0.0, FLOAT64)), {}, BOOL, ())
            tracer.check(truth, "a scale that NumPy may not draw with")
        number = as_float(tracer, self.number())
        if number is None:
            return None
        times = tracer.add("multiply", (of[1], number), {}, FLOAT64, ())
        return RunScalar(tracer, tracer.add("add", (of[0], times), {}, FLOAT64, ()), float)


def _takes(row: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    try:
        inspect.signature(row).bind(*args, **kwargs)
    except TypeError:  # NumPy says so
        return False
    return True


def random(generator: Moved, size: Any = None, dtype: Any = FLOAT64, out: Any = None) -> Any:
    return generator.random() if size is None and out is None and dtype in _FLOATS else None


def uniform(generator: Moved, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    return generator.uniform(low, high) if size is None else None


def normal(generator: Moved, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return generator.normal(loc, scale) if size is None else None


def _standard_normal(generator: Moved, size: Any = None, dtype: Any = FLOAT64, out: Any = None) -> Any:
    # -0.0 changes no zero.
    return generator.normal(-0.0, 1.0) if size is None and out is None and dtype in _FLOATS else None


def integers_of(  # noqa: PLR0917
    generator: Moved, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = False
) -> Any:
    if size is not None or type(endpoint) is not bool or dtype not in _INTS:
        return None
    low, high = (0, low) if high is None else (low, high)
    value = generator.integer(low, high, endpoint=endpoint)
    if value is None:
        return None
    number = scalar(generator.tracer, value)
    return number_of_the_run(generator.tracer, int, number) if dtype is int else number


def choice(  # noqa: PLR0917
    generator: Moved, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0, shuffle: Any = True
) -> Any:
    if size is not None or p is not None or type(axis) is not int or axis:
        return None
    a = materialized(a)
    if isinstance(a, (SymArray, np.ndarray)) and a.ndim:
        if a.ndim > 1 or a.dtype.kind not in "biuf":
            return None
        length = SymInt(generator.tracer, a.sizes[0]) if isinstance(a, SymArray) else len(a)
        place = generator.integer(0, length)
        array = a if isinstance(a, SymArray) else operand_of(generator.tracer, a)
        return None if place is None else array[scalar(generator.tracer, place)]
    value = generator.integer(0, a)
    return None if value is None else number_of_the_run(generator.tracer, int, scalar(generator.tracer, value))


_FLOATS = (float, np.float64, FLOAT64)
_INTS = (int, np.int64, INT64)


def scalar(tracer: Tracer, value: Value) -> Any:
    return SymArray.fresh(tracer, value, is_scalar=True)


def chosen(tracer: Tracer, condition: Value, one: Value, other: Value) -> Value:
    return tracer.add("where", (condition, one, other), {}, one.dtype, ())


def _both(
    of: Callable[[Tracer, Any], Value | None], tracer: Tracer, one: Any, other: Any
) -> tuple[Value, Value] | None:
    first, second = of(tracer, one), of(tracer, other)
    return None if first is None or second is None else (first, second)


def as_float(tracer: Tracer, value: Any) -> Value | None:
    if type(value) in (int, float):
        return tracer.constant(float(value), FLOAT64)
    found = _number(tracer, value, "iuf")
    return None if found is None else tracer.cast(found, FLOAT64)


def _int(tracer: Tracer, value: Any) -> Value | None:
    if type(value) is int:
        return tracer.constant(value) if abs(value) < 2**62 else None
    found = _number(tracer, value, "i")
    return None if found is None else tracer.cast(found, INT64)


def _number(tracer: Tracer, value: Any, kinds: str) -> Value | None:
    """One real number of the run."""
    if isinstance(value, SymInt):
        return value.of_the_run()
    if isinstance(value, SymScalar):
        return value.value if type(value.hint) in (int, float) and value.value.dtype.kind in kinds else None
    if isinstance(value, np.generic) and value.dtype.kind in kinds:
        return tracer.constant(value.item(), np.dtype(INT64 if value.dtype.kind in "iu" else FLOAT64))
    if isinstance(value, SymArray) and not value.sizes and value.dtype.kind in kinds:
        return value.read()
    return None


def _up_to(half: Callable[[], Any], most: Any) -> Any:
    """One of 0, 1, …, most."""
    count = most + np.uint64(1)
    uneven = (np.uint64(2**32 - 1) - most) % count
    product = half() * count
    while (product & np.uint64(2**32 - 1)) < uneven:
        product = half() * count
    return product >> np.uint64(32)


class MovedGenerator(Moved):
    """One on PCG64."""

    def __init__(self, tracer: Tracer, kind: type, number: Value, held: str, of: Any = None) -> None:
        super().__init__(tracer, kind, number, held, of)
        words = self._taken()
        self.increment = words[2:4]
        self.state = [SymArray.fresh(tracer, words[k], is_scalar=False) for k in (0, 1, 4, 5)]
        tracer.orders.extend(self.state)

    def _taken(self) -> list[Value]:
        """What the generator's state is now: high, low, the increment's halves, whether half a word is left, and which."""
        tracer, of = self.tracer, f"held[{self.held!r}]"
        stage = Stage(f"{self.held}.state", f"lambda held, a0: pcg64_state({of})")
        words = SymArray.fresh(tracer, tracer.call(stage, [self.order.read()], UINT64, (_SIX,)))
        return [words[k].read() for k in range(6)]

    def give_back(self) -> None:
        """The generator is where the program's state is."""
        tracer, of = self.tracer, f"held[{self.held!r}]"
        stage = Stage(
            f"{self.held}.state = $0, $1, $2, $3",
            f"lambda held, a0, a1, a2, a3, a4: set_pcg64_state({of}, a0, a1, a2, a3)",
        )
        self.order.write(tracer.call(stage, [*(one.read() for one in self.state), self.order.read()], INT64, ()))

    def take(self) -> None:
        """The program's state is where the generator is."""
        high, low, _, _, has_half, half = self._taken()
        for one, value in zip(self.state, (high, low, has_half, half), strict=True):
            one.write(value)

    def _word(self) -> Any:
        """The next word of 64 bits, of the state that comes next."""
        tracer = self.tracer
        words = (*(one.read() for one in self.state[:2]), *self.increment)
        made = state_after(tracer, words, tracer.constant(1, UINT64))
        for one, value in zip(self.state, made, strict=False):
            one.write(value)
        none = tracer.constant(0, UINT64)
        operands = (*made, *self.increment, none, none)
        return scalar(tracer, tracer.add("pcg64_word", operands, {}, UINT64, ()))

    def _half(self) -> Any:
        """The next 32 bits: the upper half of a word comes behind its lower one."""
        tracer = self.tracer
        before = [one.read() for one in self.state]
        is_left = tracer.cast(before[2], BOOL)
        word = self._word()
        made = (scalar(tracer, before[3]), word & np.uint64(_HALF))
        behind = [before[0], before[1], tracer.constant(0, UINT64), before[3]]
        anew = [self.state[0].read(), self.state[1].read(), tracer.constant(1, UINT64), (word >> np.uint64(32)).read()]
        for one, left, new in zip(self.state, behind, anew, strict=True):
            one.write(chosen(tracer, is_left, left, new))
        return scalar(tracer, chosen(tracer, is_left, made[0].read(), made[1].read()))

    def random(self) -> RunScalar:
        return RunScalar(self.tracer, doubles_of(self.tracer, self._word().read()), float, 0, 1)

    def _up_to(self, most: SymArray, some: Value | None) -> Value:
        before = [one.read() for one in self.state]
        half = GeneratorMethod(self, _HALF_OF)
        place: Value = followed(self.tracer, "random.Generator.integers", _up_to, half, most).read()
        if some is not None:
            for one, was in zip(self.state, before, strict=True):
                one.write(chosen(self.tracer, some, one.read(), was))
        return place

    def number(self) -> Any:
        found = layers()
        if found is None:
            return None
        methods = (GeneratorMethod(self, name) for name in (_WORD, _FRACTION))
        tables = (operand_of(self.tracer, one) for one in found)
        return followed(self.tracer, "random.Generator.normal", normal_number, *methods, *tables)


_HALF_OF, _WORD, _FRACTION = " half", " word", " fraction"
MovedGenerator.own = {
    _HALF_OF: MovedGenerator._half,
    _WORD: MovedGenerator._word,
    _FRACTION: MovedGenerator.random,
}
MovedGenerator.rows = {
    "random": random, "uniform": uniform, "integers": integers_of, "choice": choice, "normal": normal,
    "standard_normal": _standard_normal,
}  # fmt: skip
MOVED[np.random.Generator] = MovedGenerator
