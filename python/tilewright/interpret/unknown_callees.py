"""Calls of functions that cannot be followed and are not known to be pure: Python makes each between kernels, once.

A Python function in which something cannot be traced is such a function too, the innermost one that can be. What was called
is known by the way to it: where in the source each call around it stands. A call that is watched, or made again in NumPy,
goes the same ways.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import effects
from ..errors import TraceError
from ..kinds_of_values import containers_in
from ..ops.operands import is_symbolic
from ..ops.seen_stages import effect_stage, is_function, is_named
from ..ops.stages import EFFECTS
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import INT64
from ..symbolic.number import Symbolic
from ..symbolic.stages import HandedAsList, HandedAsRange, NoTextError, Stage, argument_text
from ..taken_ways import Site, Way
from .frame import InterpretedFunction
from .generators import SymGenerator
from .inner_calls import inner_calls_of
from .kept_objects import KeptObject, handed, kept_object
from .pure import may_be_stage
from .source import site_of
from .staged_draws import StagedGenerator, all_checks, drawn_by
from .state import Part, State
from .watched import can_be_watched

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer


class EffectsAreStages(BaseException):
    """A function is called that may do anything: the trace begins again, with what such calls need around them."""


class UnknownCallees(Part):
    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.called: tuple[ast.Call, Any] | None = None  # the call that the source has, and what it calls

    def entered(self, function: Any) -> tuple[Site, Any] | None:
        """The call in the source by which a function is run, and itself; None where there is none."""
        called, self.called = self.called, None
        if called is None:
            return None
        named = called[1], getattr(called[1], "__func__", None), _call_of(called[1])
        if not any(function is one for one in named):
            return None
        return site_of(called[0]), function

    def can_be(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
        """Whether such a call may be a stage, as far as its arguments go."""
        if not self.tracer.takes_effects or isinstance(function, InterpretedFunction) or not may_be_stage(function):
            return False
        if self.tracer.silenced:
            return False  # it may warn, where the function catches warnings
        given = [*args, *kwargs.values()]
        if any(type(one) is not list and self.inputs.is_outer(one) for one in containers_in(given)):
            return False  # of which only what is read is guarded
        if is_one_twice(given):
            return False
        return self.inputs.objects_in([function, *given]) is None and all(map(has_text, given))

    def call(self, way: Way | None, function: Any, args: list[Any], kwargs: dict[str, Any], refusal: TraceError) -> Any:
        """The call as a stage, or the refusal to follow it."""
        tracer = self.tracer
        root = tracer.cache["function"]
        functions = [root, *(one for _, one in self.functions() or ())]
        if (
            way is None
            or tracer.untaken is not None
            or tracer.checked is None
            or not self.can_be(function, args, kwargs)
        ):
            raise refusal
        if not all(map(can_be_watched, functions)):
            raise refusal
        if EFFECTS not in tracer.cache:
            raise EffectsAreStages
        self.inputs.pin(function)
        pin_functions(self, [*args, *kwargs.values()], refusal)
        with tracer.no_kernel(refusal), drawn_by(tracer, tracer.cache[EFFECTS], [args, kwargs]):
            kept = partial(kept_object, tracer)
            run = inner_calls_of(function) if isinstance(function, types.FunctionType) else None
            return effect_stage(tracer, function, handed(args), handed(kwargs), way, kept, run)


def is_one_twice(given: Sequence[Any]) -> bool:
    """Whether a list, say, is there more than once: each time one would be made of what is in it, and a callee may ask
    whether two are one."""
    return max(Counter(map(id, _made_for_calls(given))).values(), default=0) > 1


def _made_for_calls(given: Iterable[Any]) -> Iterator[Any]:
    for one in given:
        is_made = type(one) in (list, dict, set) or (type(one) is tuple and is_symbolic(one))
        if is_made or isinstance(one, HandedAsList):
            yield one
        if type(one) in (list, tuple, dict):
            yield from _made_for_calls(one.values() if type(one) is dict else one)


def _call_of(value: Any) -> Any:
    """What a call of an object runs."""
    return inspect.getattr_static(type(value), "__call__", None)


def has_text(value: Any) -> bool:
    """Whether a stage's text can hold an argument, or it is handed over."""
    if isinstance(value, (SymArray, np.ndarray)):
        return value.ndim > 0 or (isinstance(value, SymArray) and value.dtype.kind != "c")
    if isinstance(value, (Symbolic, Compressed, HandedAsList, HandedAsRange)):
        return True
    if isinstance(value, KeptObject):
        return not value.is_container
    if isinstance(value, (SymGenerator, StagedGenerator)):
        return value.is_of_the_caller  # those that the function makes are made by the statements that draw
    if type(value) in (list, tuple):
        return all(map(has_text, value))
    if type(value) is dict:
        return all(map(has_text, value.values()))
    try:
        argument_text(value, "$")
    except NoTextError:
        return is_function(value)
    return True


def pin_functions(part: Part, given: Any, refusal: TraceError) -> None:
    """Functions that a stage is handed are the same ones in each call."""
    if type(given) in (list, tuple):
        for one in given:
            pin_functions(part, one, refusal)
    elif type(given) is dict:
        pin_functions(part, list(given.values()), refusal)
    elif is_function(given):
        if part.inputs.path_of(given) is None and not is_named(given):
            raise refusal
        part.inputs.pin(given)


def begin_effects(tracer: Tracer) -> None:
    """Before all calls of such functions."""
    stage = Stage("tilewright.effects.begin()", "lambda held, a0: callee()", "tilewright.effects.begin", effects.begin)
    number = tracer.call(stage, [tracer.constant(0)], INT64, ())
    order = SymArray.fresh(tracer, number, is_scalar=False)
    tracer.orders.append(order)
    tracer.cache[EFFECTS] = order


def end_effects(tracer: Tracer) -> None:
    """Behind all of them, and all checks."""
    if EFFECTS not in tracer.cache:
        return
    source = "lambda held, a0, a1: callee(a1)"
    stage = Stage("tilewright.effects.done()", source, "tilewright.effects.done", effects.done)
    tracer.call(stage, [tracer.cache[EFFECTS].read(), all_checks(tracer)], INT64, ())
