"""Lists of the caller to which a function appends: `self.history.append(loss)`.

One program serves lists of all lengths: how long one is (`len(self.history)`) is a number from outside of the call, and so is an item
at its end (`self.history[-1]`). Behind the call the caller's list gets what was appended (structure.APPENDED). In loops and branches of
the run what is appended is a list that stages fill, and nothing of it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..guards import Path, path_text
from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.refusals import FilledByLoop
from .carried import memory_in, reached
from .closed import Closed

if TYPE_CHECKING:
    from ..symbolic.scalars import SymInt
    from ..symbolic.tracer import Tracer
    from .frame import Frame
    from .staged_lists import StagedList

_STAGED = "appended to a list of the caller, by stages"


class GrownList(Closed):
    """Stands for one of them. All that asks for more than to append to it is refused, but for its length and the items at its end."""

    def __init__(self, tracer: Tracer, path: Path, original: list[Any]) -> None:
        self.tracer, self.path, self.original = tracer, path, original
        self.place = (_STAGED, path)
        self.staged: StagedList | None = tracer.cache.get(self.place)
        self.items: list[tuple[Any, int, int]] = []  # with the number of each, and how many undone parts the trace had
        # Of those that stages append the last one, the block in which that was, and how many undone parts the trace had.
        self.last: tuple[Any, Any, int] | None = None

    def refused(self) -> Exception:
        return self.tracer.error(
            f"reading {path_text(self.path)}, to which the function appends",
            "what is in it is known only when the compiled function runs",
        )

    def append(self, item: Any, frame: Frame, is_in_region: bool) -> None:
        if is_in_region and self.staged is None:
            refusal = self.tracer.error_of(
                FilledByLoop, f"loops: {path_text(self.path)}.append() in a run-time loop or branch.", LEAVE_IT_OUT
            )
            refusal.place = self.place
            raise refusal
        if self.staged is None:
            # A number of its own: parts that are undone then begin before it, or behind it.
            self.items.append((item, self.tracer.made, len(self.tracer.undone)))
            self.tracer.made += 1
            return
        is_number = not isinstance(item, (list, dict, tuple)) and next(_arrays_in(item), None) is None
        self.last = (item, self.tracer.blocks[-1], len(self.tracer.undone)) if is_number else None
        self._refuse_shared(item, frame)
        self.staged.append(item)

    def _refuse_shared(self, item: Any, frame: Frame) -> None:
        """Stages hold copies of arrays: nobody else may have one."""
        arrays = list(_arrays_in(item))
        if not arrays:
            return
        objects = [("", one) for one in self.tracer.made_objects.values()]
        seen = {id(one) for _, held in reached(frame, self.tracer, *objects) for one in memory_in(held)}
        for one in arrays:
            is_new = not one.chain and one.storage.argument is None and one.storage.value.home is self.tracer.blocks[-1]
            if not is_new or id(one.storage) in seen or one.storage.chosen_from or one.storage.may_be:
                raise self.tracer.error(
                    f"appending an array that somebody else holds to {path_text(self.path)} where a loop or a branch of the run does",
                    "it would be a copy", "Append a copy (.copy()).",
                )  # fmt: skip

    def appended(self) -> Any:
        """Behind the function: a list of the trace's, or one that stages have filled; None where nothing is appended."""
        if self.staged is not None:
            return self.staged
        undone_parts = self.tracer.undone
        kept = [item for item, made, undone in self.items if not any(made in one for one in undone_parts[undone:])]
        return kept or None

    def length(self) -> Any:
        """As long as regions append nothing."""
        if self.staged is not None:
            raise self.refused()
        own: SymInt = self.tracer.cache["inputs"].outside((*self.path, ("length", "")), len(self.original))
        return own + len(self.appended() or ())

    def __bool__(self) -> bool:  # type: ignore[override]
        return bool(self.length() != 0)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int or key >= 0:
            raise self.refused()
        if self.staged is not None:
            now = self.tracer.blocks[-1], len(self.tracer.undone)
            if key != -1 or self.last is None or self.last[1:] != now:
                raise self.refused()
            return self.last[0]
        own = self.appended() or []
        if key >= -len(own):
            return own[key]
        behind = key + len(own)  # of what the caller's list has
        if behind < -len(self.original):
            raise self.refused()
        return self.tracer.cache["inputs"].outside((*self.path, ("item", behind)), self.original[behind])


def _arrays_in(item: Any) -> Iterator[SymArray]:
    if isinstance(item, SymArray) and not item.is_scalar:
        yield item
    elif isinstance(item, (list, tuple, dict)):
        for one in item.values() if isinstance(item, dict) else item:
            yield from _arrays_in(one)


def begin_grown_lists(tracer: Tracer, make: type[StagedList]) -> None:
    """Before all else: the lists that stages fill, which `make` makes."""
    for place in tracer.staged_lists:
        if place[0] == _STAGED:
            tracer.cache[place] = make(tracer, [], place=place)
