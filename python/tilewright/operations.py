"""The operations of programs, by what is known of each: the table translator/ir/operations.def, as the extension has it."""

from __future__ import annotations

from ._face import operations

_ROWS = operations()


def of_kind(*kinds: str) -> frozenset[str]:
    """The operations of these kinds, as translator/ir/op.h names them."""
    return frozenset(name for name, kind, *_ in _ROWS if kind in kinds)


def with_trait(trait: str) -> frozenset[str]:
    """The operations that have a trait of translator/ir/op.h."""
    return frozenset(name for name, _, _, traits, _ in _ROWS if trait in traits)


UFUNCS = with_trait("ufunc")
COMPARISONS = with_trait("compares")
ELEMENTARY = of_kind("elementary")
REDUCTIONS = of_kind("reduction", "search")
REDUCED_BY = {name: ufunc for name, _, _, _, ufunc in _ROWS if ufunc}  # sum: add
REGIONS = of_kind("region")
VIEWS = of_kind("view") - with_trait("of_passes")
