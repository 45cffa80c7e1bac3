"""What guards have made equal, written the same way: atoms of sizes, each with what stands for it."""

from __future__ import annotations

from .sizes import Atom, Size
from .trace_limits import MAX_ROUNDS


class Unsettled(Exception):  # noqa: N818 - never leaves resolve(), which says where
    """Sizes that lead to each other, and what they have led to."""

    def __init__(self, size: Size) -> None:
        super().__init__(size)
        self.size = size


class Substitutions(dict[Atom, Size]):
    """Sizes are resolved at every operation of a trace, mostly the same ones: what they gave is kept until something changes.
    Items are set and deleted one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self._known: dict[Size, Size] = {}

    def __setitem__(self, atom: Atom, replacement: Size) -> None:
        super().__setitem__(atom, replacement)
        self._changed()

    def __delitem__(self, atom: Atom) -> None:
        super().__delitem__(atom)
        self._changed()

    def _changed(self) -> None:
        self.changes += 1
        self._known.clear()

    def resolved(self, size: Size) -> Size:
        """The size with each atom replaced that something stands for. Raises Unsettled."""
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._settled(size)
        return found

    def _settled(self, size: Size) -> Size:
        for _ in range(MAX_ROUNDS):
            replaced = size.substitute(self)
            if replaced is size or replaced == size:
                return size
            size = replaced
        raise Unsettled(size)
