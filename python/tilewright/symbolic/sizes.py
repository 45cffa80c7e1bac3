"""Size expressions: integer polynomials over symbols, with floor division, remainder, min and max as atoms.

A `Size` is immutable and normal: two expressions that are equal as polynomials are the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from itertools import product
from operator import floordiv, mod
from typing import TypeAlias

Atom: TypeAlias = "str | tuple[str, Size, Size]"
Monomial: TypeAlias = "tuple[Atom, ...]"
Interval = tuple[int, int]

LIMITS: Interval = (-(2**63), 2**63 - 1)  # of an integer in a program
_LARGEST_ARRAY = 2**47  # bytes that a process can address


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, str):
        return atom
    operation, left, right = atom
    if operation in ("min", "max"):
        return f"{operation}({left}, {right})"
    return f"{left.text_in_product()} {operation} {right.text_in_product()}"


def _atom_weight(atom: Atom) -> int:
    return 1 if isinstance(atom, str) else atom[1].weight + atom[2].weight


def _factor_text(atom: Atom, alone: bool) -> str:
    text = _atom_text(atom)
    return text if alone or isinstance(atom, str) or atom[0] in ("min", "max") else f"({text})"


class Size:
    """A polynomial: monomial (sorted atoms) -> coefficient; the constant is the empty monomial."""

    __slots__ = ("_text", "_weight", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
        if len(kept) > 1:
            kept = dict(sorted(kept.items(), key=lambda term: (-len(term[0]), [_atom_text(a) for a in term[0]])))
        self.terms: dict[Monomial, int] = kept
        self._text: str | None = None
        self._weight: int | None = None

    # -- making ---------------------------------------------------------------------------------

    @staticmethod
    def constant(value: int) -> Size:
        return _constant(int(value))

    @staticmethod
    def symbol(name: str) -> Size:
        return Size({(name,): 1})

    @staticmethod
    def of(value: Size | int) -> Size:
        return value if isinstance(value, Size) else Size.constant(value)

    # -- reading --------------------------------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        return not self.terms or (len(self.terms) == 1 and () in self.terms)

    @property
    def constant_part(self) -> int:
        return self.terms.get((), 0)

    def evaluate(self, environment: Mapping[str, int]) -> int:
        total = 0
        for monomial, coefficient in self.terms.items():
            product = coefficient
            for atom in monomial:
                product *= _evaluate_atom(atom, environment)
            total += product
        return total

    def atoms(self) -> set[Atom]:
        """Every atom, those inside of others too."""
        found: set[Atom] = set()
        for monomial in self.terms:
            for atom in monomial:
                found.add(atom)
                if not isinstance(atom, str):
                    found |= atom[1].atoms() | atom[2].atoms()
        return found

    def symbols(self) -> set[str]:
        return {atom for atom in self.atoms() if isinstance(atom, str)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self._text or str(self))

    # -- text -----------------------------------------------------------------------------------

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._make_text()
        return self._text

    def __repr__(self) -> str:
        return f"Size({self})"

    def _make_text(self) -> str:
        if not self.terms:
            return "0"
        parts: list[str] = []
        # A leading minus is avoided where some term is positive: "4 - X.0" reads better than "-X.0 + 4".
        terms = sorted(self.terms.items(), key=lambda term: term[1] < 0) if len(self.terms) > 1 else self.terms.items()
        terms = list(terms)
        if terms and terms[0][0] == () and len(terms) > 1 and terms[1][1] > 0:
            terms.append(terms.pop(0))
        for monomial, coefficient in terms:
            magnitude = abs(coefficient)
            factors = [] if magnitude == 1 and monomial else [str(magnitude)]
            alone = len(monomial) == 1 and not factors and len(self.terms) == 1 and coefficient > 0
            factors += [_factor_text(atom, alone) for atom in monomial]
            text = "*".join(factors)
            if not parts:
                parts.append(f"-{text}" if coefficient < 0 else text)
            else:
                parts.append(f"- {text}" if coefficient < 0 else f"+ {text}")
        return " ".join(parts)

    def text_in_product(self) -> str:
        simple = len(self.terms) <= 1 and all(
            coefficient > 0
            and (not monomial or (coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str)))
            for monomial, coefficient in self.terms.items()
        )
        return str(self) if simple else f"({self})"

    @property
    def weight(self) -> int:
        """How many symbols and coefficients its text has: what each operation on it costs in time."""
        if self._weight is None:
            self._weight = sum(1 + sum(map(_atom_weight, monomial)) for monomial in self.terms)
        return self._weight

    # -- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Size | int) -> Size:
        other = Size.of(other)
        if not other.terms:
            return self
        if self.is_constant and other.is_constant:
            return _constant(self.constant_part + other.constant_part)
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Size(terms)

    def __neg__(self) -> Size:
        return Size({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __sub__(self, other: Size | int) -> Size:
        return self + -Size.of(other)

    def __mul__(self, other: Size | int) -> Size:
        other = Size.of(other)
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = tuple(sorted(left + right, key=_atom_text))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Size(terms)

    def floor_divide(self, other: Size | int) -> Size:
        """self // other; the caller has seen to it that other is not zero."""
        other = Size.of(other)
        exact = self.exact_divide(other)
        if exact is not None:
            return exact
        if other.is_constant:
            divisor = other.constant_part
            whole = Size({m: c // divisor for m, c in self.terms.items() if c % divisor == 0})
            rest = Size({m: c for m, c in self.terms.items() if c % divisor != 0})
            if rest.is_constant:
                return whole + rest.constant_part // divisor
            if divisor > 0:
                # Keep the remainder's constant in 0..divisor, so that equal quotients are the same text.
                shift = rest.constant_part // divisor
                return whole + shift + Size({(("//", rest - shift * divisor, other),): 1})
            return whole + Size({(("//", rest, other),): 1})
        return Size({(("//", self, other),): 1})

    def remainder(self, other: Size | int) -> Size:
        """self % other (floored); the caller has seen to it that other is not zero."""
        other = Size.of(other)
        if self.exact_divide(other) is not None:
            return Size.constant(0)
        if other.is_constant:
            divisor = other.constant_part
            reduced = Size({m: c if m else c % divisor for m, c in self.terms.items() if c % divisor != 0})
            return reduced if reduced.is_constant else Size({(("%", reduced, other),): 1})
        return Size({(("%", self, other),): 1})

    def minimum(self, other: Size | int) -> Size:
        return self._extreme("min", Size.of(other))

    def maximum(self, other: Size | int) -> Size:
        return self._extreme("max", Size.of(other))

    def _extreme(self, operation: str, other: Size) -> Size:
        difference = self - other
        if difference.is_constant:
            smaller, larger = (self, other) if difference.constant_part <= 0 else (other, self)
            return smaller if operation == "min" else larger
        left, right = sorted((self, other), key=str)
        return Size({((operation, left, right),): 1})

    def exact_divide(self, other: Size) -> Size | None:
        """The polynomial quotient when there is no remainder, else None."""
        if other == self and self.terms:
            return Size.constant(1)
        if len(other.terms) != 1:
            return None
        ((divisor, coefficient),) = other.terms.items()
        terms: dict[Monomial, int] = {}
        for monomial, c in self.terms.items():
            rest = list(monomial)
            for atom in divisor:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if c % coefficient:
                return None
            terms[tuple(rest)] = c // coefficient
        return Size(terms)

    def substitute(self, mapping: Mapping[Atom, Size]) -> Size:
        """Each atom of `mapping` replaced, inside of other atoms too; itself where it has none of them."""
        if not mapping or self.is_constant:
            return self
        terms: dict[Monomial, int] = {}
        is_changed = False
        for monomial, coefficient in self.terms.items():
            atoms = [_substituted(atom, mapping) for atom in monomial]
            if any(atoms):
                is_changed = True
                product = Size({tuple(a for a, now in zip(monomial, atoms, strict=True) if now is None): coefficient})
                for now in filter(None, atoms):
                    product *= now
                for one, its in product.terms.items():
                    terms[one] = terms.get(one, 0) + its
            else:
                terms[monomial] = terms.get(monomial, 0) + coefficient
        return Size(terms) if is_changed else self


@lru_cache(maxsize=4096)
def _constant(value: int) -> Size:
    return Size({(): value})


def _evaluate_atom(atom: Atom, environment: Mapping[str, int]) -> int:
    if isinstance(atom, str):
        return environment[atom]
    operation, left, right = atom
    return _ON_NUMBERS[operation](left.evaluate(environment), right.evaluate(environment))


def _substituted(atom: Atom, mapping: Mapping[Atom, Size]) -> Size | None:
    """None where it stays what it is."""
    if atom in mapping:
        return mapping[atom]
    if isinstance(atom, str):
        return None
    operation, left, right = atom
    a, b = left.substitute(mapping), right.substitute(mapping)
    return None if a is left and b is right else _ON_SIZES[operation](a, b)


_ON_NUMBERS: dict[str, Callable[[int, int], int]] = {"//": floordiv, "%": mod, "min": min, "max": max}
_ON_SIZES: dict[str, Callable[[Size, Size], Size]] = {
    "//": Size.floor_divide, "%": Size.remainder, "min": Size.minimum, "max": Size.maximum,
}  # fmt: skip


class Ranges:
    """Between which numbers sizes lie, by those between which their symbols do."""

    def __init__(self, of_symbol: Callable[[str], Interval], extents: Container[Atom]) -> None:
        """`extents`: symbols that are extents of arrays."""
        self.of_symbol, self.extents = of_symbol, extents

    def of(self, size: Size) -> Interval:
        low = high = 0
        for monomial, coefficient in size.terms.items():
            ends = [end * coefficient for end in self._of_product(monomial)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _of_product(self, monomial: Monomial) -> Interval:
        low, high = 1, 1
        for atom in monomial:
            ends = [a * b for a, b in product((low, high), self._of_atom(atom))]
            low, high = min(ends), max(ends)
        if len(set(monomial)) == len(monomial) > 1 and all(atom in self.extents for atom in monomial):
            arrays = {atom.rpartition(".")[0] for atom in monomial if isinstance(atom, str)}
            high = min(high, _LARGEST_ARRAY) if len(arrays) == 1 else high
        return low, high

    def _of_atom(self, atom: Atom) -> Interval:
        if isinstance(atom, str):
            return self.of_symbol(atom)
        operation, left, right = atom
        a, b = self.of(left), self.of(right)
        if operation in ("min", "max"):
            chosen = _ON_NUMBERS[operation]
            return chosen(a[0], b[0]), chosen(a[1], b[1])
        if operation == "//" and b[0] > 0:
            ends = [x // y for x, y in product(a, b)]
            return min(ends), max(ends)
        if operation == "%" and b[0] > 0:
            return 0, b[1] - 1
        most = max(map(abs, a if operation == "//" else b))
        return -most - 1, most
