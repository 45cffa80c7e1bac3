"""Arrays that an iteration of a loop writes into, and that it assigns anew: who else may see them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..errors import TraceError
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import unchanged
from .carried import MISSING, Carried, find_sources, memory_in, reached, read_if_set
from .frame import Pending
from .region import Region
from .staged_cells import ChangesShape


class ReboundArrays(Region):
    """Whose memory the arrays are that a loop carries."""

    def _written_and_rebound(
        self, node: ast.stmt, one: Carried, carried: list[Carried], before: dict[str, Any]
    ) -> None:
        """An array that an iteration writes into, and that another one is assigned to: a value, if nobody else sees what is
        written. In the first iteration that is an array from before the loop, in later ones what an iteration made."""
        holders = self._holders(one, carried)
        held = self._held_before(one, before)
        one.written = [storage for other in holders for storage in memory_in(self._held_before(other, before))]
        ends = self._memory_at_end(one)
        others = set().union(*(self._memory_at_end(other) for other in carried if other is not one))
        for name in self.state.cells.get(self.place(node), ()):
            others |= {id(storage) for storage in memory_in(self.frame.variables.get(name))}
        is_whole = not one.path and not (isinstance(held, SymArray) and held.chain)
        is_own = all(
            storage.argument is None and tuple(map(self.tracer.resolve, storage.value.shape)) == one.form.shape
            for storage in one.written
        )
        if (
            is_whole
            and is_own
            and not self._is_seen(one, holders, before)
            and ends.isdisjoint(others | self.tracer.in_lists.keys())
        ):
            return
        self.at(node)
        raise self.tracer.error_of(
            ChangesShape if isinstance(node, ast.For) else TraceError,
            f"loops: {one.text}, which an iteration writes into and assigns anew; the first iteration writes into the array "
            "from before the loop, the others into their own.",
            f"Write into it ({one.text}[...] = value) instead of assigning it anew.",
        )

    def _holders(self, one: Carried, carried: list[Carried]) -> list[Carried]:
        """Of the variables whose arrays go from one to the other, as in `y, z = z, y`, those whose arrays reach this one."""
        found = [one]
        for reached_by in found:
            ends = self._memory_at_end(reached_by)
            found += [
                other
                for other in carried
                if isinstance(other.held, SymArray) and id(other.held.storage) in ends and other not in found
            ]
        return found

    def _held_before(self, one: Carried, before: dict[str, Any]) -> Any:
        return one.present(read_if_set(before[one.name]))

    def _memory_at_end(self, one: Carried) -> set[int]:
        """The memory, by identity, of the array that a variable holds at the end of an iteration, or may hold."""
        if one.frame is None:
            return set()
        held = one.frame.variables.get(one.name)
        held = one.held if isinstance(held, Pending) and held.of_last_iteration else one.present(held)
        return {id(storage) for storage in memory_in(held)}

    def _is_seen(self, one: Carried, holders: list[Carried], before: dict[str, Any]) -> bool:
        """Whether anything but those variables, each of its own, may lead to the arrays that they held before a loop."""
        if len({id(storage) for storage in one.written}) < len(one.written):
            return True
        frame, tracer = self.frame, self.tracer
        now = frame.variables
        frame.variables = {**now, **{name: held for name, held in before.items() if held is not MISSING}}
        try:
            for other in holders:
                frame.variables.pop(other.name, None)
            items = [item for _, item in reached(frame, tracer, *((one.name, item) for item in self.state.traversed))]
            caller = frame.caller
            while caller is not None:
                items += [item for _, item in reached(caller, tracer)]
                caller = caller.caller
        finally:
            frame.variables = now
        if any(isinstance(item, Iterator) for item in items):
            return True  # nothing is known of what it goes through
        whole = (item.whole if isinstance(item, Compressed) else item for item in items)
        seen = {id(storage) for item in whole for storage in memory_in(item)} | tracer.in_lists.keys()
        return any(id(storage) in seen for storage in one.written)

    def _refuse_shared_writes(self, node: ast.stmt, carried: list[Carried]) -> None:
        """A variable that holds another array in each iteration is a separate value of the program: nobody else may write there."""
        find_sources(carried)
        written = {
            id(one.storage)
            for one in carried
            if one.storage is not None and one.final is not None and unchanged(one.final, {}) is not one.parameter
        }
        for one in carried:
            if one.storage is None and one.form.kind == "array" and any(id(s) in written for s in one.sources):
                raise self.error(
                    node, f"loops: {one.text}, which an iteration assigns anew",
                    "an iteration writes into an array that it may be", f"Copy where {one.text} is assigned (.copy()).",
                )  # fmt: skip
