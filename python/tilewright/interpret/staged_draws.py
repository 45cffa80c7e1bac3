"""Random draws that Python makes between kernels: any method of any generator, in the order of the program.

A function that draws what no kernel does is traced again, with all of its draws as stages. They draw from the generator
itself, one after the other: each takes a number that the one before gives. What they drew is undone where NumPy has to run
the call after all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lent
from .._face import twins
from ..light_dataclass import dataclass
from ..ops.callees.draws import DRAWS, WRITES
from ..ops.stages import BEHIND, EFFECTS, GLOBAL, Order, add_stage, materialized, write_by_stage
from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, INT64, Value
from ..symbolic.located import NO_RULE
from ..symbolic.stages import Raw, Stage, call_of

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer


class DrawsAreStages(BaseException):
    """A draw that kernels do not make: the trace begins again. `globally`: from the generator of np.random.normal(). `move`: whether
    single draws are kernels' all the same (moved_draws.py), where that shows; False holds, whatever draws come."""

    def __init__(self, globally: bool = False, *, move: bool | None = None) -> None:
        super().__init__(globally)
        self.globally, self.move = globally, move


# Methods of which kernels draw one number, and the arguments that such calls have at most.
SINGLE = {
    np.random.Generator: {"random": 0, "uniform": 2, "integers": 2, "choice": 1, "normal": 2, "standard_normal": 0},
    np.random.RandomState: {
        "rand": 0, "random": 0, "random_sample": 0, "ranf": 0, "uniform": 2, "randint": 2, "choice": 1, "normal": 2,
        "standard_normal": 0, "randn": 0,
    },
}  # fmt: skip
# What stands for a generator of a kind whose state is the program's (moved_draws.py).
MOVED: dict[type, Callable[..., StagedGenerator]] = {}
_MOVED, _OF_THE_CALLER = "moved generators", "generators of the caller"


@dataclass
class GeneratorMethod:
    """A bound method of a generator."""

    generator: Any  # SymGenerator or StagedGenerator
    name: str


class StagedGenerator:
    """A generator of the traced function, whose methods are stages."""

    def __init__(self, tracer: Tracer, kind: type, number: Value, held: str, of: Any = None) -> None:
        """`kind`: Generator or RandomState. `held`: the name that stages have for it; else `of` is the one that is meant."""
        self.tracer, self.kind, self.held, self.of = tracer, kind, held, of
        self.is_of_the_caller = False
        self.home = tracer.blocks[-1]
        # What the last draw gave: the next one comes behind it.
        self.order = SymArray.fresh(tracer, number, is_scalar=False)
        tracer.orders.append(self.order)

    def would_move(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether it is a draw of one number that kernels can make, in a loop or a branch: one by Python takes longer."""
        tracer = self.tracer
        if tracer.draws_move is not None or tracer.checked is None or len(tracer.blocks) < 2:
            return False
        return len(args) <= SINGLE[self.kind].get(name, -1) and kwargs.get("size") is None and kwargs.get("p") is None

    def give_back(self) -> None:
        """The generator itself is where the program has it."""

    def take(self) -> None:
        """The program has it where the generator itself is."""

    def end(self) -> None:
        """Behind the last draw."""
        drawn = Stage(f"{self.held}.bit_generator", "lambda held, a0: 0")
        self.tracer.call(drawn, [self.order.read()], INT64, ())

    def handed(self) -> Raw:
        """As statements are handed it that Python runs: the generator itself."""
        return Raw(f"held[{self.held!r}]", self.held, self.kind)

    def get_attribute(self, name: str) -> GeneratorMethod:
        held = getattr(self.kind, name)  # or NumPy's own AttributeError
        if not callable(held) or name.startswith("_"):
            raise self.tracer.error(f"{name} of a random generator")
        return GeneratorMethod(self, name)

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        tracer = self.tracer
        if self.would_move(name, args, kwargs):
            raise DrawsAreStages(move=True)
        method: Callable[..., Any] = getattr(self.kind, name)  # or NumPy's own AttributeError
        row = DRAWS.get(name)
        args, kwargs = [_drawn_of(one) for one in args], {key: _drawn_of(value) for key, value in kwargs.items()}
        callee = method if self.of is None else getattr(self.of, name)
        of = f"held[{self.held!r}].{name}" if self.held else ""
        twin_name = f"numpy.random.{self.kind.__name__}.{name}"
        order = Order(self.order, f"twin({twin_name!r}, {of})" if of and twin_name in twins() else of)
        full_name = f"{self.held}.{name}" if self.held else f"numpy.random.{name}"
        if name in WRITES and args and isinstance(args[0], SymArray):
            write_by_stage(tracer, full_name, callee, args[0], args[1:], kwargs, order)
            return None
        try:
            gives = None if row is None else row(tracer, *args, **kwargs)
        except (TypeError, ValueError, IndexError):
            gives = None  # NumPy raises it
        if gives is None:
            raise tracer.error(f"the random draw {name}() with these arguments")
        result = add_stage(tracer, full_name, callee, args, kwargs, gives, order)
        return None if gives == () else result


def _drawn_of(value: Any) -> Any:
    """What a draw is handed: of a number its value alone decides, whether it is NumPy's or Python's."""
    return value.of_one_kind() if getattr(value, "kinds", None) else materialized(value)


@contextmanager
def drawn_by(tracer: Tracer, order: SymArray, given: Any) -> Iterator[None]:
    """A call that nobody has looked into comes behind the draws before it, and those after it behind the call: it may draw from
    each generator that it is handed or finds outside, as the function itself did. `order`: of such calls."""
    drawing = tracer.cache.get(GLOBAL)
    found = [*_generators_in(given), *tracer.cache.get(_OF_THE_CALLER, ()), *([drawing] if drawing is not None else [])]
    generators = list({id(one): one for one in found}.values())
    moved = [one for one in tracer.cache.get(_MOVED, ()) if one.home in tracer.blocks]
    for one in moved:
        one.give_back()
    for one in generators:
        order.write(tracer.call(BEHIND, [order.read(), one.order.read()], INT64, ()))
    yield
    for one in generators:
        one.order.write(order.read())
    for one in moved:
        one.take()


def _generators_in(given: Any) -> Iterator[StagedGenerator]:
    if isinstance(given, StagedGenerator):
        yield given
    elif type(given) in (list, tuple, dict):
        for one in given.values() if type(given) is dict else given:
            yield from _generators_in(one)


def of_the_caller(tracer: Tracer, words: SymArray, name: str) -> StagedGenerator:
    """A Generator that the call finds outside of itself; `name`: of the argument that leads to it."""
    held = f"g{len(tracer.stages) + 1}"
    stage = call_of("tilewright.lent.current", lent.current, [name], {}, 1, held)
    number = tracer.call(stage, [words.read()], INT64, ())
    if EFFECTS in tracer.cache:  # what such calls draw before the function names it comes before
        number = tracer.call(BEHIND, [number, tracer.cache[EFFECTS].read()], INT64, ())
    made = _generator(tracer, np.random.Generator, number, held)
    made.is_of_the_caller = True
    tracer.cache.setdefault(_OF_THE_CALLER, []).append(made)
    return made


def made_here(
    tracer: Tracer, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] = MappingProxyType({})
) -> StagedGenerator:
    """np.random.default_rng(seed), RandomState(seed): made at each call."""
    held = f"g{len(tracer.stages) + 1}"
    kind = function if isinstance(function, type) else np.random.Generator
    gives = ()
    name = f"numpy.random.{function.__name__}"
    number = add_stage(tracer, name, function, list(args), dict(kwargs), gives, None, held)
    return _generator(tracer, kind, number, held)


def _generator(tracer: Tracer, kind: type, number: Value, held: str, of: Any = None) -> StagedGenerator:
    made = (MOVED[kind] if tracer.draws_move else StagedGenerator)(tracer, kind, number, held, of)
    if tracer.draws_move:
        tracer.cache.setdefault(_MOVED, []).append(made)
    return made


def draw_globally(tracer: Tracer, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """np.random.normal() and its like."""
    if GLOBAL not in tracer.cache:
        tracer.refuse_stage(f"np.random.{name}(); {NO_RULE}.")
        raise DrawsAreStages(globally=True)
    return tracer.cache[GLOBAL].call(name, args, kwargs)


def begin(tracer: Tracer) -> None:
    """Before all draws from the global generator."""
    stage = Stage("numpy.random.get_state()", "lambda held, a0: callee()", "numpy.random.get_state", lent.begin)
    number = tracer.call(stage, [tracer.constant(0)], INT64, ())
    made = _generator(tracer, np.random.RandomState, number, "", np.random.mtrand._rand)
    tracer.cache[GLOBAL] = made


def end(tracer: Tracer) -> None:
    """Behind all draws. Those from generators that live on are made whoever needs what was drawn; from the global one
    nothing is to be undone any more."""
    for one in tracer.cache.get(_OF_THE_CALLER, []):
        one.end()
    found: StagedGenerator | None = tracer.cache.get(GLOBAL)
    if found is not None:
        found.give_back()
        source = "lambda held, a0, a1: callee(a1)"
        stage = Stage("numpy.random.set_state()", source, "numpy.random.set_state", lent.done)
        tracer.call(stage, [found.order.read(), all_checks(tracer)], INT64, ())


def all_checks(tracer: Tracer) -> Value:
    """Whether no check sends the call to NumPy. Plans find out about one when they come to it, which may be behind all stages."""
    assert tracer.checked is not None
    truth = tracer.checked.read()
    for one, _ in tracer.checks.values():
        truth = tracer.add("logical_and", (truth, one), {}, BOOL, ())
    return truth
