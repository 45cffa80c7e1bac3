"""One trace: what sizes decide in it, under guards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..errors import TraceError
from ..guards import PythonGuard
from . import trace_limits
from .argument import Argument
from .decided import Decided
from .known import known_size
from .operators import COMPARE
from .refusals import Undecided
from .size_guards import SizeGuard, margin
from .sizes import Atom, Size
from .symbols import Symbols

_CHECKED = {">=": "greater_equal", "==": "equal", "!=": "not_equal", ">": "greater", "<": "less", "<=": "less_equal"}


class Tracer(Symbols):
    """One trace: what decides in it, and what is guarded."""

    def __init__(self, function_name: str, file: str, decided: Decided | None = None) -> None:
        super().__init__(function_name, file, decided)
        self.sizes_decide = True
        # Memory that a check before a loop takes for unchanged in it: parameters of loops, and storages that are changed.
        self.taken_for_unchanged: set[int] = set()
        self.known_to_change: set[int] = set()
        self.outer: set[str] = set()  # scalars that are no arguments of the call: globals, attributes
        self.settled: set[str] = set()  # those of them that were never seen to change
        self.python_guards: dict[tuple[tuple[Any, ...], str], PythonGuard] = {}
        self.silenced: list[str] = []  # blocks around in which warnings are caught
        # (function, args, kwargs): a Python function by its source; None where the traced one has none.
        self.follow: Callable[[Any, list[Any], dict[str, Any]], Any] | None = None
        self.generators: list[Any] = []  # SymGenerator
        self.handed: list[Any] = []  # where arrays are that only Python's statements know
        self.lent: list[tuple[str, Any]] = []  # generators of the caller: argument that leads to one, and where it is
        self.orders: list[Any] = []  # SymArray, of StagedGenerator
        self.in_lists: dict[int, Any] = {}  # by identity, the memory of arrays that lists which loops fill hold

    def _replace(self, atom: Atom, replacement: Size, message: str = "") -> None:
        """Write `atom` as `replacement`, which is in normal form, from here on.

        What stands on either side of earlier substitutions is kept in normal form. Otherwise two of them could lead to
        each other: `(a + 1) // 2 -> (b + 1) // 2` and then `b -> a`.
        """
        self.substitutions[atom] = replacement
        own = {atom: replacement}
        equal: list[tuple[Size, Size]] = []
        for other, its in list(self.substitutions.items()):
            if other == atom:
                continue
            rewritten = its.substitute(own)
            left = Size({(other,): 1})
            if isinstance(other, str) or (now := left.substitute(own)) == left:
                self.substitutions[other] = rewritten
                continue
            # What it stood for has another name now. The two are equal by the guards that there are.
            del self.substitutions[other]
            equal.append((now, rewritten))
        for left, right in equal:
            self.unify(left, right, message)

    def decide(self, operator: str, left: Size | int, right: Size | int, message: str = "") -> bool:
        """Whether `left operator right` in the recorded call; a guard is kept, so that it is so in every call."""
        known = self.decide_if_same_in_all_iterations(operator, left, right, message)
        if known is None:
            raise self.error(
                f"loops: whether {self.resolve(Size.of(left))} {operator} {self.resolve(Size.of(right))}",
                "that differs from iteration to iteration, and decides the size or the kind of something here",
                "Leave the loop out of the compiled function.",
            )
        return known

    def decide_if_same_in_all_iterations(
        self, operator: str, left: Size | int, right: Size | int, message: str = ""
    ) -> bool | None:
        """As decide(); None where it is true of some iterations of the loops around and not of others, or may be."""
        a, b = self.resolve(Size.of(left)), self.resolve(Size.of(right))
        if a.is_constant and b.is_constant:
            return bool(COMPARE[operator](a.constant_part, b.constant_part))
        if a == b:
            return bool(COMPARE[operator](0, 0))
        if self.loops and not self.loops.keys().isdisjoint((a - b).symbols()):
            return self._decide_for_all_iterations(operator, a - b, message)
        orders = operator not in ("==", "!=")
        difference = margin(operator, a, b) if orders else a - b
        known = self._known(">=" if orders else operator, difference)
        if known is not None:
            return known
        self._may_decide()
        value = self.value_of(difference)
        if orders:
            self._record(">=", difference if value >= 0 else -difference - 1, message)
            return value >= 0
        if value == 0:
            self.unify(a, b, message)
        else:
            self._record("!=", difference, message)
        return (value == 0) == (operator == "==")

    def _may_decide(self) -> None:
        if not self.sizes_decide:
            raise Undecided

    @contextmanager
    def without_checks(self) -> Iterator[None]:
        """Where a check of the run would be made, Undecided is raised."""
        before = None if self.checked is None else self.checked.storage.value
        reasons = len(self.check_reasons)
        yield
        if self.checked is not None and self.checked.storage.value is not before:
            self.checked.storage.value = before
            del self.check_reasons[reasons:]
            raise Undecided

    def without_decisions(self) -> AbstractContextManager[None]:
        """Where a size would decide something that is not known of every call, Undecided is raised."""
        return self._with("sizes_decide", False)

    def _decide_for_all_iterations(self, operator: str, difference: Size, message: str) -> bool | None:
        if operator in ("==", "!="):
            for side in (difference - 1, -difference - 1):
                if self._decide_for_all_iterations(">=", side, message):
                    return operator == "!="
            return None
        if operator != ">=":
            return self._decide_for_all_iterations(">=", margin(operator, difference, Size.constant(0)), message)
        for fact in self.facts:
            if (beyond := difference - fact).is_constant and beyond.constant_part >= 0:
                return True
            if (beyond := -difference - 1 - fact).is_constant and beyond.constant_part >= 0:
                return False
        least, most = self.extreme(difference, False), self.extreme(difference, True)
        # A guard makes the answer of the recorded call that of every call.
        if least is not None and self.value_of(least) >= 0:
            return self.decide(">=", least, 0, message)
        if most is not None and self.value_of(most) < 0:
            return self.decide(">=", most, 0, message)
        return None

    def refuse_unknown(self, left: Size, right: Size) -> None:
        """Two sizes differ in the recorded call, which says nothing where loops or data decide them."""
        left, right = self.resolve(left), self.resolve(right)
        if not self.loops.keys().isdisjoint((left - right).symbols()):
            raise self._as_one(
                left, right, "whether they are equal differs from iteration to iteration, or with the data"
            )

    def _as_one(self, left: Size, right: Size, why: str) -> TraceError:
        return self.error(f"loops: {left} and {right} as one size", why, "Leave the loop out of the compiled function.")

    def unify(self, left: Size, right: Size, message: str = "") -> None:
        """Make two sizes that are equal in the recorded call the same from here on, under a guard."""
        left, right = self.resolve(left), self.resolve(right)
        difference = left - right
        if difference.is_constant:
            return
        if not self.loops.keys().isdisjoint(difference.symbols()):
            if self._unify_slices(left, right, message) or self._unify_sizes_of_data(left, right, message):
                return
            raise self._as_one(left, right, "they are equal only in some iterations")
        candidates: list[tuple[int, int, Atom]] = []
        for monomial, coefficient in difference.terms.items():
            if len(monomial) != 1 or abs(coefficient) != 1:
                continue
            atom = monomial[0]
            rest = difference - Size({monomial: coefficient})
            if atom in rest.atoms():
                continue
            if isinstance(atom, str):
                # Scalars give way to extents, later arguments to earlier ones.
                kind = 3 if atom not in self.extents else 2
                candidates.append((kind, self.symbol_order[atom], atom))
            elif not any(atom in s.atoms() for s in self.substitutions.values()):
                candidates.append((1, 0, atom))
        if not candidates:
            for symbol in sorted(difference.symbols(), key=self.symbol_order.__getitem__):
                self.fix_symbol(symbol, message)
            return
        _, _, atom = max(candidates, key=lambda c: c[:2])
        coefficient = difference.terms[(atom,)]
        rest = difference - Size({(atom,): coefficient})
        replacement = -rest if coefficient == 1 else rest
        if not (isinstance(atom, str) and atom in self.extents):
            own = Size({(atom,): 1})
            self.guards.append(SizeGuard(own, "==", replacement, message, self.root_line(), True))
        self._replace(atom, replacement, message)

    def _unify_slices(self, left: Size, right: Size, message: str) -> bool:
        """The lengths of two slices with the same limits of the run are one where the axes are."""
        mine, theirs = self.slices.get(str(left)), self.slices.get(str(right))
        if mine is None or theirs is None or mine[0] != theirs[0]:
            return False
        if self._place_of_read(str(right)) < self._place_of_read(str(left)):
            # What was read first is known wherever the other one is.
            left, right, mine, theirs = right, left, theirs, mine
        if not self.is_visible(self.reads[str(left)]) or not self.decide("==", mine[1], theirs[1], message):
            return False
        for one, other in zip(mine[2:], theirs[2:], strict=True):
            if one != other:
                (atom,) = other.symbols()
                self._replace(atom, one)
        return True

    def _unify_sizes_of_data(self, left: Size, right: Size, message: str) -> bool:
        """The size of what a stage gives is another size: the stage gives it only where it has that. Not so sizes of
        slices: what reads them would read beyond the array where a check fails."""
        if not self.is_known_here(left - right):
            return False
        # What was read in the inner block, or last of one block, is the other one from here on: that is known wherever
        # this is. (What loops do not change is read before them, but later than what they read.)
        pairs = [(left, right), (right, left)]

        def read_last(size: Size) -> tuple[int, int]:
            return max(map(self._place_of_read, size.symbols()), default=(-1, -1))

        for size, other in pairs:
            symbol = str(size)
            is_behind = read_last(size) > read_last(other)
            if is_behind and symbol in self.reads and symbol not in self.slices and symbol not in other.atoms():
                self.check_sizes("equal", left, right, message)
                self._replace(symbol, other)
                return True
        return False

    def least_of_data(self, left: Size, right: Size, message: str) -> Size | None:
        """One size for two that data decide, which the program checks to be equal: whatever they are, arrays of either
        have so many elements. None where that cannot be checked here."""
        if not self.is_of_data(left - right) or not self.is_known_here(left - right) or self.checked is None:
            return None
        self.check_sizes("equal", left, right, message)
        return left.minimum(right)

    def match(
        self, left: Size, right: Size, message: str, guard: str = "", exception: type[Exception] = ValueError
    ) -> None:
        """The exception with the message where two sizes differ in the recorded call; else they are one from here on."""
        left, right = self.resolve(left), self.resolve(right)
        if self.value_of(left) != self.value_of(right) and not self.is_of_data(left - right):
            self.refuse_unknown(left, right)
            raise exception(message)
        # Both 1 in the recorded call does not make them equal in others.
        self.unify(left, right, guard or message)

    def guard_writeable(self, argument: Argument | None, is_writeable: bool) -> None:
        """The program is for calls in which that array may be written, or for those in which nobody may."""
        if argument is not None and argument.path and argument.path[0][0] != "constant":
            self.python_guards[argument.path, "writeable"] = PythonGuard(argument.path, "writeable", is_writeable)

    def fix_scalar(self, name: str) -> None:
        """The scalar argument `name` becomes a guarded constant."""
        if name in self.sizes:
            self.fix_symbol(name)
            return
        for argument in self.arguments:
            if argument.name == name and argument.kind == "scalar":
                argument.kind = "constant"
                argument.reason = f"its value decides Python structure at line {self.root_line()}"
                self.python_guards[(argument.path, "equal")] = PythonGuard(
                    argument.path, "equal", argument.value, argument.reason
                )

    def fix_symbol(self, symbol: str, message: str = "") -> int:
        """Use the value of the recorded call from here on, under a guard."""
        if symbol in self.reads:
            known = known_size(self, Size.symbol(symbol))
            if known is not None:
                self._replace(symbol, Size.constant(known), message)
                return known
            raise self.error(
                "loops: a run-time number where tracing needs its value",
                "it is known only when the compiled function runs",
                "Use it only as an index or as a limit of a range or slice.",
            )
        if symbol in self.loops:
            raise self.error(
                f"loops: the value of {symbol} while tracing",
                "it is the index of a loop, and differs in each iteration",
                "Index arrays with it, or leave the loop out of the compiled function.",
            )
        value = self.sizes[symbol]
        if symbol not in self.substitutions:
            self._may_decide()
            if symbol not in self.extents:
                own = Size.symbol(symbol)
                self.guards.append(SizeGuard(own, "==", Size.constant(value), message, self.root_line(), True))
            self._replace(symbol, Size.constant(value), message)
        return value

    def fix(self, size: Size) -> int:
        """An integer in place of a size: each symbol in it takes its value of the recorded call."""
        size = self.resolve(size)
        for symbol in size.symbols() & self.loops.keys():
            self.fix_symbol(symbol)
        if not size.is_constant:
            value = self.value_of(size)
            self.unify(size, Size.constant(value))
            size = self.resolve(size)
            for symbol in size.symbols():
                self.fix_symbol(symbol)
            size = self.resolve(size)
        return self.value_of(size)

    def fixed_if_small(self, size: Size) -> Size:
        """A small number from outside of the call, where it is an extent or a count of iterations, is one of the program:
        such code is better for it, and most such numbers never change."""
        size = self.resolve(size)
        symbols = size.symbols()
        if symbols and symbols <= self.settled and 0 <= self.value_of(size) <= trace_limits.MAX_SHORT_ITERATIONS:
            return Size.constant(self.fix(size))
        return size

    def require(
        self, operator: str, left: Size | int, right: Size | int, message: str, exception: type[Exception]
    ) -> None:
        """Raise what NumPy would where the recorded call does not satisfy it; a guard for other calls, and a check where
        the data decide."""
        a, b = self.resolve(Size.of(left)), self.resolve(Size.of(right))
        moves = not self.loops.keys().isdisjoint((a - b).symbols()) and self.is_known_here(a - b)
        if operator in _CHECKED and moves and self._decide_for_all_iterations(operator, a - b, message) is None:
            self.check_sizes(_CHECKED[operator], a, b, message)
            return
        if not self.decide(operator, left, right, message):
            raise exception(message)
