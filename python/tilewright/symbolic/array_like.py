"""What arrays have in common with what a mask picks out of them: Python's operators and the methods that are NumPy's functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .number import Symbolic
from .operators import BINARY, COMPARE, COMPARE_UFUNC, UNARY, divmod_of
from .registry import OPERATIONS


def refusing(what: str, function: Callable[..., Any] | None = None) -> Any:
    """A method for what needs the elements themselves: that of the array, where no element of another one decides them."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        known = None if function is None else self.known()
        if known is None or function is None:
            raise self.refused(what)
        return function(known, *args, **kwargs)

    return method


def calling(name: str) -> Any:
    """NumPy's function as the method of an array."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return OPERATIONS.call_numpy(self.tracer, getattr(np, name), (self, *args), kwargs)

    method.__name__ = name
    return method


class ArrayLike(Symbolic):
    """What arrays have in common with what a mask picks out of them."""

    __slots__ = ()
    dtype: Any
    size: Any
    copy: Any
    is_scalar = False  # NumPy's scalar, which is no array

    def refused(self, what: str) -> Exception:
        """The error of what needs the elements themselves."""
        raise NotImplementedError

    def known(self) -> Any:
        """The elements, where sizes and numbers of the call decide them, and no element of another array; else None."""
        return None

    __float__, __int__ = refusing("the float value", float), refusing("the int value", int)
    __index__ = refusing("the index value", operator.index)
    __array__, __contains__ = refusing("the contents", np.array), refusing("membership (in)", operator.contains)
    __divmod__, __rdivmod__ = divmod_of, lambda self, other: divmod_of(other, self)
    sum, prod, max, min, mean, var, std, any, all, dot, round = map(
        calling, ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "dot", "round")
    )

    def in_place(self, ufunc: np.ufunc, other: Any) -> Any:
        """`self op= other`"""
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        return "cpu"  # what NumPy's arrays say; of arrays on devices a trace has no such attribute

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **others: Any) -> Any:
        # np.clip wants both bounds, where the method does not
        return OPERATIONS.call_numpy(self.tracer, np.clip, (self, min, max, out), others)


def _as_operand(value: Any) -> Any:
    """Ranges, and lists that lie in arrays, as the arrays that NumPy makes of them."""
    if isinstance(value, range):
        return np.asarray(value)
    return value if isinstance(value, Symbolic) or not hasattr(value, "as_array") else value.as_array()


def _is_repeated(factor: Any, other: Any) -> bool:
    """Whether `factor * other` repeats a list: it is a scalar, and the other one a list, which may lie in an array."""
    if not (isinstance(factor, ArrayLike) and factor.is_scalar):
        return False
    is_list = hasattr(other, "as_array") and hasattr(other, "__rmul__") and not isinstance(other, Symbolic)
    return is_list or isinstance(other, (list, tuple))


def _operator(ufunc: np.ufunc, swapped: bool = False) -> Any:
    def method(self: Any, *given: Any) -> Any:
        if len(given) > (ufunc.nin - 1):  # pow(x, y, z)
            raise TypeError("unsupported operand type(s) for ** or pow()")
        if ufunc is np.multiply and _is_repeated(self, given[0]):
            if self.dtype.kind not in "iu":
                raise TypeError(f"can't multiply sequence by non-int of type 'numpy.{self.dtype}'")
            if not isinstance(given[0], (list, tuple)):
                return NotImplemented  # the list says what becomes of it
            return given[0] * self.__index__()  # which elements of the run cannot
        others = tuple(map(_as_operand, given))
        for other in others:
            if not isinstance(other, (int, float, complex, np.ndarray, np.generic, Symbolic, list, tuple)):
                return NotImplemented
        return OPERATIONS.apply_operator(self.tracer, ufunc, (*others, self) if swapped else (self, *others))

    return method


def _in_place(ufunc: np.ufunc) -> Any:
    of_scalars = _operator(ufunc)

    def method(self: ArrayLike, other: Any) -> Any:
        if self.is_scalar:  # which has no operators in place
            return of_scalars(self, other)
        return self.in_place(ufunc, other)

    return method


for _name, _ufunc in BINARY.items():
    setattr(ArrayLike, f"__{_name}__", _operator(_ufunc))
    setattr(ArrayLike, f"__r{_name}__", _operator(_ufunc, True))
    setattr(ArrayLike, f"__i{_name}__", _in_place(_ufunc))
for _symbol, _ufunc in COMPARE_UFUNC.items():
    setattr(ArrayLike, f"__{COMPARE[_symbol].__name__}__", _operator(_ufunc))
for _name, _ufunc in UNARY.items():
    setattr(ArrayLike, f"__{_name}__", _operator(_ufunc))
