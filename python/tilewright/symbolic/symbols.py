"""Symbols of sizes: what they are in the recorded call, and what guards and loops say of them in every call."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from ..light_dataclass import dataclass
from .before_reshape import BeforeReshape
from .decided import Decided
from .graph import BOOL, INT64, Value
from .operators import COMPARE
from .size_guards import SizeGuard
from .sizes import LIMITS, Atom, Interval, Ranges, Size
from .substitutions import Substitutions, Unsettled
from .trace_limits import MAX_ROUNDS
from .values import Values


@dataclass(frozen=True)
class LoopIndex:
    """What a loop's index runs over, where there is an iteration at all."""

    first: Size | None  # None: known only at run time
    last: Size | None
    step: int


class Symbols(Values):
    """The sizes of a trace: what their symbols are, and between which numbers they lie."""

    def __init__(self, function_name: str, file: str, decided: Decided | None = None) -> None:
        super().__init__(function_name, file, decided)
        self.before_reshape = BeforeReshape(self.resolve)
        self.loops: dict[str, LoopIndex] = {}
        self.slices: dict[str, Any] = {}  # the count of a slice by limits of the run: (limits, extent, start, count)
        self.sizes: dict[str, int] = {}
        self.extents: set[str] = set()
        self.symbol_order: dict[str, int] = {}
        self.substitutions = Substitutions()
        self.guards: list[SizeGuard] = []
        self.lower_bounds: dict[str, int] = {}
        self._bounds: dict[Any, int] = {}
        self._unequal: set[Size] = set()
        self._bounds_guards = 0
        self._bounds_changes = 0
        self._ranges = Ranges(self.known_range, self.extents)

    def new_symbol(self, name: str, value: int, extent: bool) -> Size:
        self.sizes[name] = value
        self.symbol_order[name] = len(self.symbol_order)
        if extent:
            self.extents.add(name)
            self.lower_bounds[name] = 0
        return Size.symbol(name)

    def new_loop(self, name: str, first: Size, iterations: Size, step: int) -> Size:
        """The index of a loop that stays one, as a symbol. Its value in the recorded call is that of the first iteration."""
        symbol = self._free_symbol(name)
        last = first + (iterations - 1) * step
        index = self.new_symbol(symbol, self.value_of(first), extent=False)
        self.loops[symbol] = LoopIndex(first, last, step)
        self.lower_bounds[symbol], _ = self._ranges.of(first if step > 0 else last)
        return index

    def new_data_symbol(self, name: str, bounds: LoopIndex, hint: int) -> Size:
        """A size that is read from a value of the run: as the index of a loop, no value of the recorded call is its own."""
        symbol = self._free_symbol(name)
        index = self.new_symbol(symbol, hint, extent=False)
        self.loops[symbol] = bounds
        self.open_loops.add(symbol)
        if bounds.first is not None:
            self.lower_bounds[symbol], _ = self._ranges.of(bounds.first)
        return index

    def _free_symbol(self, name: str) -> str:
        return free_name(name, self.sizes.keys() | {argument.name for argument in self.arguments})

    def forget(self, symbols: set[str]) -> None:
        """Loops and sizes from data of a run that is made again: their names are free."""
        if any(not symbols.isdisjoint(size.symbols()) for size in self.substitutions.values()):
            return
        for symbol in symbols - self.substitutions.keys():
            for table in (self.loops, self.sizes, self.reads, self.slices, self.lower_bounds):
                table.pop(symbol, None)
            self.open_loops.discard(symbol)

    def resolve(self, size: Size) -> Size:
        """With what guards have made equal written the same way."""
        if not self.substitutions or size.is_constant:
            return size
        try:
            return self.substitutions.resolved(size)
        except Unsettled as found:
            raise self.error(
                f"the size {found.size} in its normal form",
                f"the sizes equal to it did not settle in {MAX_ROUNDS} rounds",
                "Leave this statement out of the compiled function.",
            ) from None

    def defined(self, size: Size) -> Size:
        """What a definition replaces: a symbol as it is, an operation on sizes in terms of symbols that are not replaced."""
        (atom,) = next(iter(size.terms))
        if isinstance(atom, str):
            return size
        return size.substitute({name: self.resolve(Size.symbol(name)) for name in size.symbols()})

    def total(self, sizes: Iterable[Size]) -> Size:
        """The product of sizes: how many elements a shape has."""
        product = Size.constant(1)
        for size in sizes:
            product = product * self.resolve(size)
        return product

    def value_of(self, size: Size) -> int:
        """In the recorded call."""
        return size.constant_part if size.is_constant else size.evaluate(self.sizes)

    def known_range(self, symbol: str) -> Interval:
        """Between which numbers a symbol lies in each call that the guards admit."""
        return self.lower_bounds.get(symbol, LIMITS[0]), LIMITS[1]

    def _known(self, operator: str, difference: Size) -> bool | None:
        """The truth of `difference operator 0` where it holds for every call that the guards admit."""
        if difference.is_constant:
            return bool(COMPARE[operator](difference.constant_part, 0))
        least, most = self._ranges.of(difference)
        if operator == ">=":
            if least >= 0 or most < 0:
                return least >= 0
            guarded = self._guarded_bounds().get(_without_constant(difference))
            return True if guarded is not None and difference.constant_part >= guarded else None
        if least > 0 or most < 0 or not self._guarded_unequal().isdisjoint((difference, -difference)):
            return operator == "!="
        return None

    def _guarded_bounds(self) -> dict[Any, int]:
        """For each `terms + constant >= 0` of the guards: terms -> the least constant."""
        self._look_at_guards()
        return self._bounds

    def _guarded_unequal(self) -> set[Size]:
        """What the guards say is not 0."""
        self._look_at_guards()
        return self._unequal

    def _look_at_guards(self) -> None:
        """At those that are new, at all where symbols changed."""
        if self._bounds_changes != self.substitutions.changes:
            self._bounds, self._unequal, self._bounds_guards = {}, set(), 0
            self._bounds_changes = self.substitutions.changes
        for guard in self.guards[self._bounds_guards :]:
            if guard.operator == "==":
                continue
            size = self.resolve(guard.left - guard.right)
            if guard.operator == "!=":
                self._unequal.add(size)
            else:
                terms, constant = _without_constant(size), size.constant_part
                self._bounds[terms] = min(constant, self._bounds.get(terms, constant))
        self._bounds_guards = len(self.guards)

    def _record(self, operator: str, difference: Size, message: str) -> None:
        left = Size({m: c for m, c in difference.terms.items() if c > 0 and m})
        right = Size({m: -c for m, c in difference.terms.items() if c < 0 and m})
        constant = difference.constant_part
        if not left.terms or (right.terms and constant > 0):
            left = left + constant
        else:
            right = right - constant
        self.guards.append(SizeGuard(left, operator, right, message, self.root_line()))
        alone = str(difference - constant)
        if operator == ">=" and alone in self.sizes:
            self.lower_bounds[alone] = max(self.lower_bounds.get(alone, -constant), -constant)

    def extreme(self, size: Size, highest: bool) -> Size | None:
        """The largest or the smallest value of a size over all iterations of the loops in it, None where that is not known."""
        inside = [symbol for symbol in size.symbols() if symbol in self.loops]
        if not inside:
            return self.resolve(size)
        # Inner loops first: their limits may name the outer ones.
        symbol = max(inside, key=self.symbol_order.__getitem__)
        total = Size.constant(0)
        for monomial, coefficient in size.terms.items():
            moving = [atom for atom in monomial if symbol in Size({(atom,): 1}).symbols()]
            if not moving:
                total = total + Size({monomial: coefficient})
                continue
            rest = list(monomial)
            rest.remove(moving[0])
            factor = Size({tuple(rest): 1})
            if len(moving) > 1 or self._ranges.of(factor)[0] < 0:
                return None
            bound = self._extreme_atom(moving[0], symbol, highest == (coefficient > 0))
            if bound is None:
                return None
            total = total + bound * factor * coefficient
        return self.extreme(total, highest)

    def _extreme_atom(self, atom: Atom, symbol: str, highest: bool) -> Size | None:
        if isinstance(atom, str):
            loop = self.loops[symbol]
            bound = loop.last if highest == (loop.step > 0) else loop.first
            return None if bound is None else self.resolve(bound)
        operation, left, right = atom
        if operation == "%" and right.is_constant and right.constant_part > 0:
            return right - 1 if highest else Size.constant(0)
        if operation == "//" and right.is_constant and right.constant_part > 0:
            of_left = self.extreme(left, highest)
            return None if of_left is None else of_left.floor_divide(right)
        if operation in ("min", "max"):
            of_left, of_right = self.extreme(left, highest), self.extreme(right, highest)
            if of_left is not None and of_right is not None:
                return of_left.minimum(of_right) if operation == "min" else of_left.maximum(of_right)
        return None

    def is_of_data(self, size: Size) -> bool:
        """Whether data decide it: the recorded call says nothing of it."""
        return not self.reads.keys().isdisjoint(self.resolve(size).symbols())

    def is_known_here(self, size: Size) -> bool:
        """Whether sizes from data that have been read are all of its symbols that are no guard's."""
        moving = self.loops.keys() & size.symbols()
        return all(symbol in self.reads and self.is_visible(self.reads[symbol]) for symbol in moving)

    def _place_of_read(self, symbol: str) -> tuple[int, int]:
        """How deep in the blocks around a size from data is read, beyond them all where none of them reads it, and when."""
        read = self.reads.get(symbol)
        depths = [k for k, block in enumerate(self.blocks) if read is not None and block is read.home]
        depth = 0 if read is None else next(iter(depths), len(self.blocks))
        return depth, self.symbol_order[symbol]

    def check_sizes(self, comparison: str, left: Size, right: Size, message: str) -> None:
        """NumPy runs the call where sizes from data do not compare so."""
        values = [self._of_what_was_read(size) for size in (left, right)]
        self.check(self.add(comparison, values, {}, BOOL, ()), message)

    def _of_what_was_read(self, size: Size) -> Value:
        """A size as a value that stays what it is when sizes become one: of the numbers that were read, not of symbols."""

        def of_atom(atom: Atom) -> Value:
            if isinstance(atom, str):
                read = self.reads.get(atom)
                if read is not None:
                    return read.operands[0]
                return self.add("scalar_size", (), {"size": Size.symbol(atom)}, INT64, ())
            name, left, right = atom
            operation = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum"}[name]
            operands = (self._of_what_was_read(left), self._of_what_was_read(right))
            return self.add(operation, operands, {}, INT64, ())

        total = self.constant(size.constant_part)
        for monomial, coefficient in size.terms.items():
            if not monomial:
                continue
            product = self.constant(coefficient)
            for atom in monomial:
                product = self.add("multiply", (product, of_atom(atom)), {}, INT64, ())
            total = self.add("add", (total, product), {}, INT64, ())
        return total

    def alike(self, value: Value) -> int:
        """Equal for values that are one for certain: computed alike from the same values."""
        numbers: dict[Any, int] = self.cache.setdefault("alike", {})
        known: dict[int, int] = {}

        def number_of(value: Value) -> int:
            if value.number not in known:
                if value.is_argument:
                    key: Any = value.name
                elif value.operation in ("parameter", "result", "read") or value.blocks:
                    key = value.number
                else:
                    operands = tuple(map(number_of, value.operands))
                    shape = tuple(str(self.resolve(size)) for size in value.shape)
                    key = (value.operation, str(value.dtype), shape, repr(sorted(value.attributes.items())), operands)
                known[value.number] = numbers.setdefault(key, len(numbers))
            return known[value.number]

        return number_of(value)


def free_name(base: str, taken: Container[str], counts: dict[str, int] | None = None) -> str:
    """The name, with a number where it is taken. `counts`: of names that stay taken, which numbers were tried for a base: of
    thousands of names alike each one would try those of all others."""
    counts = {} if counts is None else counts
    name, count = base, 2
    if base in counts:
        count = counts[base]
        name = f"{base}_{count - 1}"
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    if count > 2:  # noqa: PLR2004
        counts[base] = count
    return name


def _without_constant(size: Size) -> frozenset[Any]:
    return frozenset((monomial, coefficient) for monomial, coefficient in size.terms.items() if monomial)
