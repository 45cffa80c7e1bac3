"""Bytes and texts that are made of elements: Python's own, made by a stage at each call, and given as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops.stages import add_stage, materialized
from ..symbolic.graph import BOOL, INT64, Value
from ..symbolic.run_numbers import RunBool
from ..symbolic.stages import Raw, Stage, call_of

if TYPE_CHECKING:
    from ..symbolic.arrays import SymArray
    from ..symbolic.compressed import Compressed
    from ..symbolic.tracer import Tracer

# Methods that give bytes or a text again, of arguments that are no values of the run.
_METHODS: dict[Any, dict[str, Any]] = {
    bytes: {"decode": str, "upper": bytes, "lower": bytes, "strip": bytes, "rstrip": bytes, "lstrip": bytes, "hex": str,
            "replace": bytes, "title": bytes, "swapcase": bytes, "capitalize": bytes},
    str: {"encode": bytes, "upper": str, "lower": str, "strip": str, "rstrip": str, "lstrip": str, "replace": str,
          "title": str, "swapcase": str, "capitalize": str},
}  # fmt: skip
_ARGUMENTS = (str, bytes, int, type(None))


class ArrayAsBytes:
    """The method tobytes of an array."""

    def __init__(self, array: SymArray | Compressed) -> None:
        self.array = array

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        tracer = self.array.tracer
        if kwargs or any(arg != "C" for arg in args) or len(args) > 1:
            raise tracer.error(f"array.{name} with other options", "there is no rule for it", "Use tobytes().")
        held = f"r{len(tracer.stages) + 1}"
        array = materialized(self.array)
        opened = add_stage(tracer, "numpy.ndarray.tobytes", np.ndarray.tobytes, [array], {}, (), held=held)
        return StagedText(tracer, held, opened, bytes)


class StagedText:
    """Bytes or a text of the run. `opened` is the number of the stage that makes it."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tracer: Tracer, held: str, opened: Value, kind: type) -> None:
        self.tracer, self.held, self.opened, self.kind = tracer, held, opened, kind

    def raw(self) -> Raw:
        return Raw(f"held[{self.held!r}]", self.held)

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        made = _METHODS[self.kind].get(name)
        if made is None or not all(type(arg) in _ARGUMENTS for arg in (*args, *kwargs.values())):
            raise self.refused(f"{name}()")
        held = f"r{len(self.tracer.stages) + 1}"
        method = getattr(self.kind, name)
        opened = _stage_of_text(self, f"{self.kind.__name__}.{name}", method, [self.raw(), *args], kwargs, held)
        return StagedText(self.tracer, held, opened, made)

    def refused(self, what: str) -> Exception:
        kind = self.kind.__name__
        return self.tracer.error(f"{what} of a {kind} that is made of elements",
                                 "it is known only when the compiled function runs",
                                 "Return it, and do it at the caller.")  # fmt: skip

    def same_as(self, other: Any) -> RunBool:
        """Whether it is equal to another one, or to bytes or a text that is known."""
        operands = [self.opened]
        if isinstance(other, StagedText):
            operands.append(other.opened)
            theirs, text = f"held[{other.held!r}]", f"{self.held} == {other.held}"
        elif type(other) in (str, bytes):
            theirs, text = repr(other), f"{self.held} == {other!r}"
        else:
            raise self.refused("comparing")
        parameters = "".join(f", a{k}" for k in range(len(operands)))
        stage = Stage(text, f"lambda held{parameters}: held[{self.held!r}] == {theirs}")
        return RunBool(self.tracer, self.tracer.call(stage, operands, BOOL, ()))

    def _refuse(self, *_: Any) -> Any:
        raise self.refused("using the value")

    __len__ = __iter__ = __getitem__ = __add__ = __radd__ = __mul__ = __contains__ = __bool__ = __str__ = __repr__ = (
        _refuse
    )
    __format__ = __lt__ = __le__ = __gt__ = __ge__ = __mod__ = _refuse


def _stage_of_text(  # noqa: PLR0917
    text: StagedText, name: str, method: Any, args: Sequence[Any], kwargs: dict[str, Any], held: str
) -> Value:  # fmt: skip
    stage = call_of(f"builtins.{name}", method, args, kwargs, 1, held)
    return text.tracer.call(stage, [text.opened], INT64, ())
