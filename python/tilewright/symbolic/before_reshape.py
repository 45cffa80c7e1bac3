"""What is computed of arrays that were spread out and then made flat (np.repeat, np.tile, meshgrid and ravel), before the
reshape: behind it each element's place is a division away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..operations import REDUCED_BY, of_kind
from .graph import Value
from .sizes import Size

_ELEMENTWISE = of_kind("elementwise", "elementary")


class BeforeReshape:
    """Of a trace's values those that were spread out, and what was made of them alone."""

    def __init__(self, resolve: Callable[[Size], Size]) -> None:
        self._resolve = resolve
        self._spread: set[int] = set()

    def _shape(self, value: Value) -> tuple[Size, ...]:
        return tuple(map(self._resolve, value.shape))

    def _is_spread(self, value: Value) -> bool:
        while value.operation == "cast":
            value = value.operands[0]
        return value.operation == "broadcast_to" or value.number in self._spread

    def instead(
        self, operation: str, operands: Sequence[Value], attributes: dict[str, Any], add: Callable[..., Value]
    ) -> tuple[Sequence[Value], dict[str, Any]] | None:
        """The operands, now reshaped, and the attributes by which `add` makes what the operation gives: of what they were before
        their reshape; None where that is no shorter way."""
        if operation == "reshape" and self._is_spread_flat(operands[0]):
            return operands[0].operands, attributes
        if operation in _ELEMENTWISE:
            before = self._all_before(operands)
            shape = None if before is None else next(one.shape for one in before if one.shape)
        elif operation in REDUCED_BY and self._is_spread_flat(operands[0]):
            before = list(operands[0].operands)
            axes = self._axes_before(before[0], operands[0], attributes["axes"])
            if axes is None:
                return None
            attributes = {**attributes, "axes": axes}
            shape = tuple(extent for axis, extent in enumerate(before[0].shape) if axis not in axes)
        else:
            return None
        if before is None or shape is None:
            return None
        made = add(before, attributes, shape)
        self._spread.add(made.number)
        return (made,), {}

    def _is_spread_flat(self, value: Value) -> bool:
        return value.operation == "reshape" and self._is_spread(value.operands[0])

    def _all_before(self, operands: Sequence[Value]) -> list[Value] | None:
        """The operands before their reshape, which all of them have gone through that are no single values."""
        arrays = [one for one in operands if one.shape]
        if not arrays or not any(map(self._is_spread_flat, arrays)):
            return None
        if any(one.operation != "reshape" for one in arrays):
            return None
        if len({(self._shape(one.operands[0]), self._shape(one)) for one in arrays}) > 1:
            return None
        return [one.operands[0] if one.shape else one for one in operands]

    def _axes_before(self, before: Value, flat: Value, axes: Sequence[int]) -> list[int] | None:
        """The same axes of what was reshaped: those before all, or behind all, that the reshape joins or splits."""
        old, new = self._shape(before), self._shape(flat)
        first = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        rest = min(len(old), len(new)) - first
        ends = zip(reversed(old), reversed(new), strict=False)
        last = next((k for k, (a, b) in enumerate(ends) if a != b or k == rest), rest)
        if any(first <= axis < len(new) - last for axis in axes):
            return None
        return [axis if axis < first else axis + len(old) - len(new) for axis in axes]
