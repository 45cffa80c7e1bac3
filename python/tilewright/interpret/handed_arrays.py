"""Arrays of the caller that no kernel knows (texts, dates, objects, other byte orders): Python's statements are handed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import lent
from ..ops.stages import EFFECTS
from ..symbolic.graph import INT64
from ..symbolic.stages import Stage
from .kept_objects import KeptObject
from .unknown_callees import EffectsAreStages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..symbolic.tracer import Tracer


class HandedArray(KeptObject):
    """One of them, found at each call where it is."""

    def __init__(self, tracer: Tracer, kind: type, path: Any, refusal: Callable[[], Exception]) -> None:
        """`refusal`: why no kernel knows it, in words for the present statement."""
        if EFFECTS not in tracer.cache:
            raise EffectsAreStages
        held = f"a{len(tracer.stages) + 1}"
        called = f"callee({len(tracer.handed)})"
        source = f"lambda held, a0: (held.__setitem__({held!r}, {called}), {held[1:]})[1]"
        stage = Stage(
            f"tilewright.lent.handed({len(tracer.handed)}) as {held}", source, "tilewright.lent.handed", lent.handed
        )
        with tracer.before_all_regions():
            number = tracer.call(stage, [tracer.constant(0)], INT64, ())
        tracer.handed.append(path)
        super().__init__(tracer, kind, f"held[{held!r}]", number)
        self.refused = refusal  # type: ignore[method-assign]
