"""Containers and objects that statements and functions which Python runs have made: Python's own, which a trace hands on
and does not look into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..described_results import Held
from ..kinds_of_values import CONTAINERS
from ..ops.stage_rows import Gives
from ..symbolic.graph import INT64, Value
from ..symbolic.stages import Raw, Stage
from .closed import Closed
from .generators import SymGenerator
from .staged_draws import DrawsAreStages, StagedGenerator
from .staged_lists import StagedList

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer


class KeptObject(Closed):
    """Stands for one of them."""

    def __init__(self, tracer: Tracer, kind: type, expression: str, called: Value) -> None:
        self.tracer, self.kind, self.expression, self.called = tracer, kind, expression, called

    @property
    def is_container(self) -> bool:
        """Whether what is in it decides what a function does that is handed it: it is told by that."""
        return self.kind in CONTAINERS

    def _refuse_elsewhere(self) -> None:
        if not self.tracer.is_visible(self.called):
            raise self.tracer.error(
                f"a {self.kind.__name__} that statements in a loop gave which Python runs, behind the loop",
                "it is kept for one iteration alone",
            )

    def handed(self) -> Raw:
        """As another call that Python makes is handed it."""
        self._refuse_elsewhere()
        return Raw(self.expression, self.expression.replace("held['", "").replace("']", "", 1), self.kind)

    def number(self) -> Value:
        """The number under which it is held, to be returned."""
        self._refuse_elsewhere()
        held = f"r{len(self.tracer.stages) + 1}"
        # An array that somebody else holds is the very object; hold() makes views arrays of their own.
        to = f"held.__setitem__({held!r}, " if issubclass(self.kind, np.ndarray) else f"hold(held, {held!r}, "
        source = f"lambda held, called: ({to}{self.expression}), {held[1:]})[1]"
        return self.tracer.call(Stage(f"{self.expression} as {held}", source), [self.called], INT64, ())

    def refused(self) -> Exception:
        return self.tracer.error(
            f"looking into a {self.kind.__name__} that statements or a function gave which Python runs",
            "what is in it is known only when the compiled function runs",
        )


def handed(value: Any) -> Any:
    """An argument of a call that Python makes, in which what is kept is the stages' own."""
    if isinstance(value, (KeptObject, StagedGenerator)):
        return value.handed()
    if isinstance(value, SymGenerator):
        raise DrawsAreStages
    if type(value) in (list, tuple):
        return type(value)(map(handed, value))
    if type(value) is dict:
        return {key: handed(one) for key, one in value.items()}
    return value


def kept_object(tracer: Tracer, held: Held, expression: str, called: Value) -> Any:
    """What stands for a container or an object: a list of which all items are of one kind may be read."""
    if held.items is None:
        return KeptObject(tracer, held.kind, expression, called)
    return StagedList(tracer, [], given=(expression, called, _form_of(held.items)))


def _form_of(item: Any) -> Any:
    if isinstance(item, tuple):
        return tuple(map(_form_of, item))
    if isinstance(item, str):
        return Gives(np.dtype(item))
    return Gives(np.dtype({bool: np.bool_, int: np.int64, float: np.float64}[item]), (), item)
