"""Calls that Python makes between the kernels of a plan.

A call whose results kernels cannot be handed as they are (several of them, complex numbers, sizes that the callee decides)
is opened: what it gave is held until the plan's call ends. Its own stage gives one number, and stages that take that number
give the results one by one.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._face import (
    hold,
    joined,
    mt19937_state,
    part,
    pcg64_state,
    set_mt19937_state,
    set_pcg64_state,
    twin,
    twins,
)
from ..light_dataclass import dataclass
from ..pure_functions import PureFunction

# What the sources of stages may call beside `callee` and numpy.
IN_C: dict[str, Callable[..., Any]] = {
    "hold": hold, "joined": joined, "mt19937_state": mt19937_state, "part": part, "pcg64_state": pcg64_state,
    "set_mt19937_state": set_mt19937_state, "set_pcg64_state": set_pcg64_state, "twin": twin,
}  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """Stands for a value of the program among the arguments of a call: its position among the operands.

    kind: "array" for arrays and NumPy's numbers; "joined" for complex ones, whose imaginary part is the next operand; else
    the name of the type of a Python number. is_written: the call is handed a copy, and what is in that then is its result."""

    position: int
    kind: str = "array"
    is_written: bool = False

    def text(self, mark: str) -> str:
        """The argument, where operands are called by `mark` and their position."""
        own, next_one = f"{mark}{self.position}", f"{mark}{self.position + 1}"
        if self.kind in ("joined", "complex"):
            own = f"{self.kind}({own}, {next_one})"
        elif self.kind != "array":
            own = f"{self.kind}({own})"
        # Of no dimensions, operands are NumPy's numbers; what was joined has memory of its own.
        made = "asarray" if self.kind == "joined" else "array"
        return f"(written := numpy.{made}({own}))" if self.is_written else own


class HandedAsList:
    """What calls are handed as a list, of numbers or of tuples of them, that is made of arrays of one dimension."""

    columns: list[Any]
    types: list[type]
    has_tuples: bool


@dataclass(frozen=True)
class Listed:
    """Stands for it among the arguments of a call."""

    columns: tuple[Operand, ...]
    has_tuples: bool

    def text(self, mark: str) -> str:
        texts = [f"{one.text(mark)}.tolist()" for one in self.columns]
        return f"list(zip({', '.join(texts)}))" if self.has_tuples else texts[0]


class HandedAsRange:
    """What calls are handed as a range, of numbers that only the call knows."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class Ranged:
    """Stands for it among the arguments of a call."""

    limits: tuple[Any, ...]

    def text(self, mark: str) -> str:
        return f"range({', '.join(argument_text(limit, mark) for limit in self.limits)})"


@dataclass(frozen=True)
class Raw:
    """An argument that stages hold: the expression, its name in programs, and its class."""

    source: str
    name: str
    kind: type = object


@dataclass(frozen=True)
class Same(Raw):
    """A function, a class or a module, which is the same in all calls of the program."""

    value: Any = None


_CALLEE = re.compile(r"\bcallee\b")


@dataclass(frozen=True)
class Stage:
    """What one stage computes."""

    text: str  # as programs and plans write it: "numpy.linalg.solve($0, $1)"
    source: str  # as a Python lambda of what is held and of the operands, in which `callee` is the function
    name: str = ""  # where a module imports the callee from: "numpy.linalg.solve"; "" for results of an opened call
    callee: Callable[..., Any] | None = None
    why: str = ""  # no kernel computes it
    line: int = 0  # of the user's function that asks for it first
    where: str = ""  # file, line and function, as errors begin

    @property
    def has_twin(self) -> bool:
        """Whether code of ours may stand for the callee: for NumPy's own function, and no other one under its name; for a
        method of a generator that the call holds."""
        return "twin(" in self.source or self.name in twins() and self.callee in (None, imported(self.name))

    @property
    def is_of_a_module(self) -> bool:
        """Whether its callee is found by its name: a method of what the call itself makes and holds, a generator's, is not."""
        return bool(self.name) and _CALLEE.search(self.source) is not None

    def function(self) -> Callable[..., Any]:
        """Of a stage that was read from a file, the callee is imported."""
        callee = imported(self.name) if self.callee is None and self.is_of_a_module else self.callee
        names = {
            "callee": twin(self.name, callee) if callee and self.has_twin else callee,
            "numpy": np,
            **IN_C,
        }
        made: Callable[..., Any] = eval(self.source, names)  # noqa: S307 - composed below, of literals
        return made


@dataclass(frozen=True)
class Untaken:
    """Why a trace takes no stages, and what to do about it."""

    why: str
    what_to_do: str


ONLY_KERNELS = Untaken(
    "NumPy can compute it between kernels, which strict='kernels' does not take",
    "Use strict=True, or leave it out of the compiled function.",
)
REPRODUCIBLE = Untaken(
    "NumPy can compute it between kernels, but its bits are those of NumPy's build, and contract='reproducible' promises "
    "the same ones everywhere",
    "Use contract='numpy', or leave it out of the compiled function.",
)
ON_DEVICE = Untaken(
    "NumPy can compute it between kernels, but on the host alone, and the arrays of the call are on a device",
    "Call it before or after the compiled function, with arrays of the host, or compile for the host.",
)


def call_of(  # noqa: PLR0917
    name: str, callee: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], count: int, held: str = "",
    of_held: str = "", *, of: str = "callee", shown: str = "",
) -> Stage:  # fmt: skip
    """The stage that calls. `count`: of operands. `held`: what the result is held under; then the stage gives what the
    expression `of_held` makes of it; if that is empty, the 7 of "r7". `of`: an expression that gives the callee. `shown`: how
    programs and people read that, where it is not by its name."""

    def given(mark: str) -> str:
        texts = [argument_text(value, mark) for value in args]
        return ", ".join(texts + [f"{key}={argument_text(value, mark)}" for key, value in kwargs.items()])

    parameters = "".join(f", a{k}" for k in range(count))
    called, text = f"{of}({given('a')})", f"{shown or name}({given('$')})"
    if any(isinstance(value, Operand) and value.is_written for value in (*args, *kwargs.values())):
        called = f"({called}, written)[1]"
    if not held:
        return Stage(text, f"lambda held{parameters}: {called}", name, callee)
    kept = f"hold(held, {held!r}, {called})"
    number = f"{kept}{of_held}" if of_held else f"({kept}, {held[1:]})[1]"
    return Stage(f"{text} as {held}", f"lambda held{parameters}: {number}", name, callee)


def result_of(held: str, expression: str) -> Stage:
    """The stage that gives a result of a call that was opened: `[0].real` of it."""
    text = f"{held}{expression}"
    return Stage(text, f"part({text!r}) or (lambda held, opened: held[{held!r}]{expression})")


def imported(name: str) -> Any:
    """What is called so: numpy.linalg.solve, numpy.ndarray.__getitem__. Raises ImportError and AttributeError."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:count])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if count == 1 or error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            continue
        for attribute in parts[count:]:
            found = getattr(found, attribute)
        return found
    raise ImportError(f"{name!r} names no function of a module")


def found_by_name(name: str) -> Callable[..., Any] | None:
    """What `numpy.linalg.solve` is, itself where tilewright.stage declares it pure; None where nothing is called so."""
    try:
        found: Any = imported(name)
    except (ImportError, AttributeError):
        return None
    return found.__wrapped__ if isinstance(found, PureFunction) else found


def functions_of(stages: Mapping[str, Stage]) -> dict[str, Callable[..., Any]]:
    """As the runtime takes them."""
    return {text: stage.function() for text, stage in stages.items()}


class NoTextError(TypeError):
    """An argument that only the running script has: an object, a function."""


_LITERALS = (bool, int, str, bytes, type(None), type(Ellipsis))


def argument_text(value: Any, mark: str) -> str:
    """An argument as Python writes it. NoTextError where it has no text."""
    if isinstance(value, (Operand, Listed, Ranged)):
        return value.text(mark)
    if isinstance(value, Raw):
        return value.source if mark == "a" else value.name
    if type(value) in (list, tuple):
        items = ", ".join(argument_text(item, mark) for item in value)
        return f"[{items}]" if type(value) is list else f"({items}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return "{" + ", ".join(f"{argument_text(k, mark)}: {argument_text(v, mark)}" for k, v in value.items()) + "}"
    if type(value) is slice:
        parts = (value.start, value.stop, value.step)
        return f"slice({', '.join(argument_text(part, mark) for part in parts)})"
    if type(value) in _LITERALS or type(value) is range:
        return repr(value)
    if type(value) is complex:
        return f"complex({argument_text(value.real, mark)}, {argument_text(value.imag, mark)})"
    if type(value) is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if isinstance(value, np.dtype) and value.kind in "biufc":
        return f"numpy.dtype({value.str!r})"
    if isinstance(value, type) and issubclass(value, np.generic) and value.__module__ == "numpy":
        return f"numpy.{value.__name__}"
    if isinstance(value, type) and value in (bool, int, float, complex):
        return value.__name__
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return f"numpy.{value.dtype.name}({argument_text(value.item(), mark)})"
    raise NoTextError(f"{type(value).__name__} has no text")
