"""Whether two views of one array have no element in common: then NumPy's results, which share memory, are told from arrays of
their own by nothing that writes or reads them."""

from __future__ import annotations

from ..light_dataclass import dataclass
from ..structure import OF
from .arrays import SymArray
from .graph import Slice
from .sizes import Size
from .storage import PARTS, View
from .tracer import Tracer


def are_disjoint(tracer: Tracer, one: SymArray, other: SymArray) -> bool:
    """Decided by sizes, under guards."""
    mine, theirs = list(one.chain), list(other.chain)
    while mine and theirs and _is_same(mine[0], theirs[0]):
        del mine[0], theirs[0]
    if (
        mine
        and theirs
        and {chain[0].attributes.get("step") for chain in (mine, theirs)} == {f"{OF}.{part}" for part in PARTS}
    ):
        return True
    if not mine or not theirs or any(chain[0].operation != "index" for chain in (mine, theirs)):
        return False
    return any(_lie_apart(tracer, a, b) for a, b in zip(_ranges(mine[0]), _ranges(theirs[0]), strict=False))


def _is_same(one: View, other: View) -> bool:
    return (one.operation, one.attributes, one.shape) == (other.operation, other.attributes, other.shape)


@dataclass(frozen=True)
class _Range:
    """What a view takes of an axis: positions from `begin` to before `end`, each `step` from the next one."""

    begin: Size
    end: Size
    step: int = 1


def _ranges(view: View) -> list[_Range]:
    extents = iter(view.shape)
    found = []
    for item in view.attributes["index"]:
        if isinstance(item, Size):
            found.append(_Range(item, item + 1))
            continue
        extent = next(extents)
        if isinstance(item, Slice):
            reach = (extent - 1) * item.step
            first, last = (item.start, item.start + reach) if item.step > 0 else (item.start + reach, item.start)
            found.append(_Range(first, last + 1, abs(item.step)))
    return found


def _lie_apart(tracer: Tracer, one: _Range, other: _Range) -> bool:
    between = tracer.resolve(other.begin - one.begin)
    if one.step == other.step and between.is_constant and between.constant_part % one.step:
        return True
    ends = [(tracer.resolve(a.end), tracer.resolve(b.begin)) for a, b in ((one, other), (other, one))]
    return any(tracer.decide_if_same_in_all_iterations("<=", end, begin) is True for end, begin in ends)
