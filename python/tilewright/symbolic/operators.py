"""Python's operators by their names in classes (`__add__`: add), and the ufunc that each is for arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

BINARY: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "lshift": np.left_shift, "rshift": np.right_shift,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
UNARY: dict[str, np.ufunc] = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
# By what stands between the operands.
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
COMPARE_UFUNC: dict[str, np.ufunc] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


def python_operator(name: str) -> Callable[..., Any]:
    """What Python computes for an operator; `iadd` is that of `+=`."""
    function: Callable[..., Any] = getattr(operator, f"__{name}__")
    return function


def operator_pair(by: str, name: str) -> tuple[Any, Any]:
    """`__name__` and `__rname__` of a class whose method `by`(other, name, swapped) computes both."""

    def method(self: Any, other: Any) -> Any:
        return getattr(self, by)(other, name, False)

    def swapped(self: Any, other: Any) -> Any:
        return getattr(self, by)(other, name, True)

    return method, swapped


def comparison(symbol: str) -> Any:
    """The method of a class whose method `_compare`(symbol, other) computes it."""

    def method(self: Any, other: Any) -> Any:
        return self._compare(symbol, other)

    return method


def check_out(ufunc: np.ufunc, casting: str, found: np.dtype[Any], out: np.dtype[Any]) -> None:
    """NumPy's own error where a result may not be written into an array of that dtype."""
    if not np.can_cast(found, out, casting):  # type: ignore[arg-type]
        raise np._core._exceptions._UFuncOutputCastingError(ufunc, casting, found, out, 0)  # type: ignore[attr-defined]


def divmod_of(left: Any, right: Any) -> Any:
    return left // right, left % right
