"""How arrays lie in memory: flags, flat iterators, and whether two arrays share any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import provides, rule
from ..symbolic.tracer import Tracer
from .shapes import as_array


class Flags:
    """What array.flags says, where the layout that a program is for decides it."""

    def __init__(self, array: SymArray) -> None:
        self._array = array

    def _refusal(self, name: str) -> Exception:
        return self._array.tracer.error(f"array.flags.{name}", "the memory decides it, which differs from call to call",
                                        "Ask at the caller.")  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in dir(np.empty(0).flags):
            raise self._refusal(name)
        raise AttributeError(name)

    @property
    def c_contiguous(self) -> bool:
        array = self._array
        if array.is_scalar or array.is_c_contiguous():
            return True
        if self._is_transposed():
            return self._is_one_line()
        owner = array.storage.argument
        array.tracer.need_layout(owner)
        if owner is None or array.chain:
            raise self._refusal("c_contiguous")
        return False  # this program is for all other layouts

    @property
    def f_contiguous(self) -> bool:
        array = self._array
        if self._is_transposed():
            return True
        if self.c_contiguous:
            return self._is_one_line()
        if array.ndim > 1:
            raise self._refusal("f_contiguous")
        return False

    def _is_transposed(self) -> bool:
        """Whether it is what .T gives of a C-contiguous array."""
        array = self._array
        last = array.chain[-1] if array.chain else None
        if last is None or last.operation != "transpose" or last.attributes["axes"] != [*range(array.ndim)][::-1]:
            return False
        return SymArray(array.tracer, array.storage, array.chain[:-1]).is_c_contiguous()

    def _is_one_line(self) -> bool:
        """Whether at most one axis has several elements: then C order is Fortran's."""
        decide, sizes = self._array.tracer.decide, self._array.sizes
        return any(decide("==", n, 0) for n in sizes) or sum(not decide("==", n, 1) for n in sizes) <= 1

    contiguous, fortran = c_contiguous, f_contiguous

    @property
    def fnc(self) -> bool:
        return self._array.ndim > 1 and not self.c_contiguous and self.f_contiguous

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def writeable(self) -> bool:
        memory = self._array.storage
        may_be_others = memory.chosen_from or memory.kept_from or memory.may_be or memory.may_stay
        if memory.argument is None and memory.read_only is False and not self._array.chain and not may_be_others:
            return True
        raise self._refusal("writeable")

    @writeable.setter
    def writeable(self, value: Any) -> None:
        """True alone, of an array that is writeable: that changes nothing."""
        if not (value is True and self.writeable):
            raise self._array.tracer.error(f"setting array.flags.writeable to {value}", "there is no rule for it",
                                           "Set it at the caller.")  # fmt: skip

    def __getitem__(self, key: str) -> bool:
        names = {
            "C": "c_contiguous",
            "F": "f_contiguous",
            "CONTIGUOUS": "c_contiguous",
            "FORTRAN": "f_contiguous",
            "W": "writeable",
        }
        name = names.get(key, str(key).lower())
        if name in ("c_contiguous", "f_contiguous", "writeable", "fnc", "forc"):
            return bool(getattr(self, name))
        raise self._refusal(name)


class Flat:
    """array.flat: the elements in C order; what is written there is written into the array."""

    def __init__(self, array: SymArray) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        return self._array.flatten()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        elements = self._array.flatten()
        elements[key] = value
        self._array[...] = elements.reshape(self._array.shape)

    def __len__(self) -> int:
        return len(self._array.flatten())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array.flatten())

    def copy(self) -> SymArray:
        return self._array.flatten()


@provides
def flags_of(array: SymArray) -> Flags:
    return Flags(array)


@provides
def flat_of(array: SymArray) -> Flat:
    return Flat(array)


@rule(np.isfortran)
def isfortran(tracer: Tracer, a: Any) -> bool:
    return Flags(as_array(tracer, a)).fnc


def _share_memory(tracer: Tracer, name: str, a: Any, b: Any, max_work: Any) -> bool:
    first, second = (x if isinstance(x, SymArray) else None for x in (a, b))
    if first is None or second is None or max_work is not None:
        raise tracer.error(f"np.{name}()", "it is known of arrays of the call alone", LEAVE_IT_OUT)
    mine, theirs = first.storage, second.storage
    if mine is not theirs and None in (mine.argument, theirs.argument) and not (mine.apart or theirs.apart):
        is_fresh = [one.argument is None and one.value.operation != "call" for one in (mine, theirs)]
        if any(is_fresh) and not first.may_be_a_copy() and not second.may_be_a_copy():
            return False
    if mine is theirs and not first.chain and not second.chain:
        return not any(tracer.decide("==", size, 0) for size in first.sizes)
    raise tracer.error(f"np.{name}()", "whether views or arguments overlap differs from call to call", LEAVE_IT_OUT)


@rule(np.may_share_memory)
def may_share_memory(tracer: Tracer, a: Any, b: Any, /, max_work: Any = None) -> bool:
    return _share_memory(tracer, "may_share_memory", a, b, max_work)


@rule(np.shares_memory)
def shares_memory(tracer: Tracer, a: Any, b: Any, /, max_work: Any = None) -> bool:
    return _share_memory(tracer, "shares_memory", a, b, max_work)
