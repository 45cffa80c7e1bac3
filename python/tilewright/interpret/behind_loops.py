"""What variables are behind a loop that sets them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ..errors import TraceError
from ..ops.operands import is_symbolic
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import Value
from ..symbolic.refusals import Undecided
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from .array_lists import ArrayList
from .carried import MISSING, Carried, Memory, holds_traced, memory_in, seeing, sizes_in, storages_of
from .frame import Pending, ReadBehind
from .rebound_arrays import ReboundArrays
from .sequences import SymRange


class BehindLoops(ReboundArrays):
    """What comes out of a loop though no iteration reads it."""

    def _let_out(
        self, carried: list[Carried], memories: list[Memory], before: dict[str, Any], after: dict[str, Any]
    ) -> dict[str, Any]:
        """Variables that an iteration sets without reading them: carried for who reads them after the loop."""
        tracer = self.tracer
        left: dict[str, Any] = {}
        outside = {id(one.storage) for one in carried if one.storage is not None}
        for name, held in after.items():
            value = self._of_inner_loop(name, held)
            found = None if isinstance(value, (SymInt, Pending)) or value is MISSING else self._value_of(value)
            if value is MISSING:
                continue
            lost = ""
            if isinstance(value, ArrayList) and value is not before[name]:
                left[name] = value.not_visible()
                continue
            if isinstance(value, (list, tuple, dict, set)) and is_symbolic(value):
                lost = f"a {type(value).__name__} of values of an iteration"
            elif tracer.is_made(value) and id(value) not in self.state.containers[-1] and holds_traced(value, tracer):
                lost = f"a {type(value).__name__} with values of an iteration"
            elif self._is_of_iterations(value):
                lost = f"a {'slice' if isinstance(value, slice) else 'range'} of values of an iteration"
            elif isinstance(value, Compressed) and value is not before[name]:
                lost = "elements under a mask"
            if lost:
                left[name] = self._lost(name, lost)
                continue
            if found is None or not self._is_fixed(found[1]):
                left[name] = value
                continue
            made, form = found
            if isinstance(value, SymArray) and value.chain and not value.is_scalar and id(value.storage) in outside:
                left[name] = self._lost(
                    name, "a view of an array from outside", "which part it shows depends on the last iteration",
                    "Take the view again after the loop.",
                )  # fmt: skip
                continue
            with tracer.writing(tracer.blocks[-2]), seeing(memories, {}):
                started = self._value_of(before[name])
                same = started is not None and started[1].is_like(form)
                form = form if started is None or not same else started[1].joined(form) or form
                initial = started[0] if same and started is not None else self._zeros(form)
            one = Carried(initial, form, self.frame, name)
            one.parameter = self._parameter(one)
            one.final = made
            one.ends_as = memory_in(value)
            one.sources = [*one.ends_as, *(storages_of(before[name]) if same else [])]
            carried.append(one)
            if not same:
                left[name] = MISSING  # read after the loop, it needs an iteration
        return left

    def _parameter(self, one: Carried) -> Value:
        parameter = self.tracer.add("parameter", (), {}, one.form.dtype, one.form.shape, call_name=one.called)
        parameter.user_name = one.called
        if one.storage is not None:
            parameter.attributes.update(initial=one.initial, storage=id(one.storage))
        return parameter

    def _is_of_iterations(self, value: Any) -> bool:
        """Whether it is a slice or a range whose limits differ from iteration to iteration."""
        if not isinstance(value, (slice, SymRange)):
            return False
        sizes = [limit.size for limit in (value.start, value.stop, value.step) if isinstance(limit, SymInt)]
        return any(not self.tracer.loops.keys().isdisjoint(size.symbols()) for size in sizes)

    def _of_inner_loop(self, name: str, held: Any) -> Any:
        """What a loop in the iteration leaves, if it has an iteration itself for certain; nobody may read it otherwise."""
        if not isinstance(held, Pending) or held.of_last_iteration:
            return held
        try:
            with self.tracer.without_decisions(), self.tracer.without_checks():
                return held.read()
        except (TraceError, ReadBehind) as error:
            refusal = error
            return replace(Pending.refused(lambda: refusal), needs=held.needs)
        except (Undecided, UnboundLocalError):
            return self._lost(name, "which a loop in it may not have set")

    def _lost(
        self, name: str, what: str, why: str = "arrays and numbers come out of a loop", what_to_do: str = ""
    ) -> Pending:
        what_to_do = what_to_do or f"Set {name} before the loop, or keep its parts in separate variables."
        asked = f"loops: {name} after the loop that made it, {what}"
        return Pending.refused(lambda: self.tracer.error(asked, why, what_to_do))

    def _once_run(  # noqa: PLR0917
        self, node: ast.stmt, name: str, value: Any, length: Size | None, was_set: bool, has_run: Any = None
    ) -> Any:
        """A variable that only an iteration sets, read after the loop, whose range has that length; whether it was set before.
        `has_run`: of a while, whether it had an iteration."""
        tracer = self.tracer
        made = self.frame.variables.get(name, MISSING) if value is MISSING else value
        here = (self.place(node), name)
        needs = here if was_set and here not in tracer.read_behind else None

        def read() -> Any:
            if needs is not None and not self._has_iteration(length):
                raise ReadBehind(needs)
            if length is None:
                self._check_that_it_ran(name, has_run)
            else:
                message = f"cannot access local variable '{name}' where it is not associated with a value"
                tracer.require(">=", length, 1, message, UnboundLocalError)
            if not sizes_in(made).isdisjoint(tracer.loops.keys() - tracer.open_loops):
                raise self.error(
                    node, f"loops: {name} after the loop that sets it",
                    "its size differs from iteration to iteration", "Set it again after the loop.",
                )  # fmt: skip
            return made.read() if isinstance(made, Pending) else made

        has_no_value = isinstance(made, Pending) and made.has_no_value
        return Pending(read, leads_to=lambda: [made], needs=needs, has_no_value=has_no_value)

    def _check_that_it_ran(self, name: str, has_run: Any) -> None:
        """NumPy runs a call whose while has no iteration: the variable is not set then."""
        truth = has_run.read() if isinstance(has_run, Pending) else has_run
        if truth is not True:
            self.tracer.check(truth.value, f"{name} behind a while that has no iteration")

    def _has_iteration(self, length: Size | None) -> bool:
        """Whether a loop over a range of that length, None of one that data end, has one for certain."""
        try:
            return length is not None and self.tracer.decide_if_same_in_all_iterations(">=", length, 1) is True
        except Undecided:
            return False
