"""What one way of running a call gave, and where it differs from NumPy's answer under a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
Kind = Literal["answered", "refused", "raised", "crashed", "too long", "unknown"]


@dataclass(frozen=True)
class Answer:
    """Of a call, however it was run.

    kind: answered; refused (a guard or a check leaves the call to NumPy); raised; crashed (the process died); too long (it
    was stopped); unknown (this way of running cannot tell). `text` says the rest in words.
    """

    kind: Kind
    text: str = ""
    results: tuple[Array, ...] = ()
    after: Mapping[str, Array] = field(default_factory=dict)  # arguments whose content is another one than before


@dataclass(frozen=True)
class Allowed:
    """How far an element may be from NumPy's, as tolerance.py finds it; all zero where the contract promises bits."""

    rtol: float = 0.0
    atol: float = 0.0
    index_mismatch_fraction: float = 0.0  # of integers and bools
    float_mismatch_fraction: float = 0.0
    any_zero: bool = False  # which of 0.0 and -0.0 is the larger one, NumPy leaves to the machine

    @property
    def signs_zeros(self) -> bool:
        """Whether -0.0 is not 0.0."""
        return self == Allowed()


def difference(
    got: Answer, expected: Answer, tolerance: Allowed, before: Mapping[str, Array] | None = None
) -> str | None:
    """Where `got` is not `expected`, in words; None where it is, or where NumPy runs the call, or where nobody knows.
    `before`: the arguments as they were given."""
    if got.kind in ("refused", "unknown"):
        return None
    if got.kind == "raised" and expected.kind == "raised":
        return None
    if got.kind != "answered":
        return got.text
    if expected.kind != "answered":
        return f"an answer, where NumPy {expected.text}"
    if len(got.results) != len(expected.results):
        return f"{len(got.results)} results, NumPy has {len(expected.results)}"
    for number, (ours, theirs) in enumerate(zip(got.results, expected.results, strict=True)):
        name = "result" if len(expected.results) == 1 else f"result {number}"
        if found := _array_difference(name, ours, theirs, tolerance):
            return found
    known = before or {}
    for name in dict.fromkeys((*expected.after, *got.after)):
        written, wanted = got.after.get(name, known.get(name)), expected.after.get(name, known.get(name))
        if written is None:
            return f"{name}: not written, and NumPy writes it"
        if wanted is None:
            return f"{name}: written, and NumPy leaves it as it is"
        if found := _array_difference(name, written, wanted, tolerance):
            return found
    return None


def _array_difference(name: str, ours: Array, theirs: Array, tolerance: Allowed) -> str | None:
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"{name}: {type_text(ours)}, NumPy has {type_text(theirs)}"
    differs = ~_near(ours, theirs, tolerance)
    count = int(np.count_nonzero(differs))
    is_float = theirs.dtype.kind in "fc"
    allowed = tolerance.float_mismatch_fraction if is_float else tolerance.index_mismatch_fraction
    if count <= allowed * theirs.size:
        return None
    first = np.unravel_index(int(np.argmax(differs)), theirs.shape)
    place = f"{name}[{', '.join(map(str, first))}]" if theirs.ndim else name
    units = f" ({_units_text(ours[first], theirs[first])})" if is_float else ""
    total = f"; {count} of {theirs.size} elements differ" if theirs.size > 1 else ""
    return f"{place}: {_element(ours[first])}, NumPy has {_element(theirs[first])}{units}{total}"


def _near(ours: Array, theirs: Array, tolerance: Allowed) -> Array:
    """For each element whether it may stand for NumPy's. Any NaN equals any NaN; without a tolerance -0.0 is not 0.0."""
    if theirs.dtype.kind == "c":
        return np.asarray(_near(ours.real, theirs.real, tolerance) & _near(ours.imag, theirs.imag, tolerance))
    same = ours == theirs
    if theirs.dtype.kind != "f":
        return np.asarray(same)
    if tolerance.signs_zeros:
        same &= np.signbit(ours) == np.signbit(theirs)
    same |= np.isnan(ours) & np.isnan(theirs)
    if tolerance.signs_zeros:
        return np.asarray(same)
    with np.errstate(all="ignore"):
        far = np.abs(ours.astype(np.float64) - theirs)
        near = far <= tolerance.atol + tolerance.rtol * np.abs(theirs.astype(np.float64))
    return np.asarray(same | (near & np.isfinite(ours) & np.isfinite(theirs)))


def _units_text(ours: Any, theirs: Any) -> str:
    """The distance in units in the last place; of complex numbers the larger one of both parts."""
    parts = [(ours.real, theirs.real), (ours.imag, theirs.imag)] if np.iscomplexobj(theirs) else [(ours, theirs)]
    if any(not np.isfinite(part) for pair in parts for part in pair):
        return "no distance"
    return f"{max(ulps(a, b) for a, b in parts)} ULP"


def ulps(a: Any, b: Any) -> int:
    """How many floats lie between two finite ones of a dtype."""
    bytes_each = np.dtype(type(a)).itemsize

    def place(x: Any) -> int:
        number = int(np.asarray(x).view(f"i{bytes_each}"))
        return number if number >= 0 else -(1 << (8 * bytes_each - 1)) - number

    return abs(place(a) - place(b))


def type_text(array: Array) -> str:
    """float64[3, 4]"""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def types_text(answer: Answer) -> str:
    """What an answer is made of: float64[3], A written."""
    parts = [type_text(result) for result in answer.results] + [f"{name} written" for name in answer.after]
    return ", ".join(parts) or "nothing"


def _element(value: Any) -> str:
    return repr(value.item() if hasattr(value, "item") else value)


def changed(before: Mapping[str, Any], after: Mapping[str, Any], names: Sequence[str]) -> dict[str, Array]:
    """The arrays whose bytes are others than before."""
    return {
        name: np.array(after[name])
        for name in names
        if not np.array_equal(_bytes_of(before[name]), _bytes_of(after[name]))
    }


def _bytes_of(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint8)
