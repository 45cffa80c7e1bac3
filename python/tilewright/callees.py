"""Functions that Python calls between kernels without a row that says what they give: that is seen once, and kept.

A call of such a function that a trace comes across for the first time makes the call of the traced function a watched one:
it runs as plain Python, and each function that it calls is looked at when it returns. So nothing runs twice.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# Their functions give new arrays, write nothing that they are handed, and read nothing else.
_PURE_MODULES = (
    "scipy.fft", "scipy.fftpack", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.signal",
    "scipy.spatial", "scipy.special", "scipy.stats",
)  # fmt: skip


# But for those that draw random numbers, or call what they are handed.
_NOT_PURE = frozenset(
    [
        "bootstrap",
        "dblquad",
        "fixed_quad",
        "goodness_of_fit",
        "monte_carlo_test",
        "nquad",
        "ode",
        "odeint",
        "permutation_test",
        "power",
        "quad",
        "quad_vec",
        "quadrature",
        "rvs",
        "solve_bvp",
        "solve_ivp",
        "tplquad",
    ]
)


# NumPy's functions of which the data decide the dtype: no row says it.
_DECIDED_BY_DATA = (np.linalg.eig, np.linalg.eigvals, np.poly, np.roots)


def is_decided_by_data(function: Any) -> bool:
    return any(function is one for one in _DECIDED_BY_DATA)


def is_pure(function: Any) -> bool:
    """Whether a function without a row may be a stage."""
    if isinstance(function, PureFunction):
        return True
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    is_known = module.startswith(_PURE_MODULES) and not module.startswith(("scipy.stats.qmc", "scipy.stats.sampling"))
    return is_known and name not in _NOT_PURE and not isinstance(function, type)


class PureFunction(Generic[P, R]):
    """What tilewright.stage() makes of a function: it behaves as the function does."""

    __qualname__: str

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else functools.partial(self.__wrapped__, owner)

    def __repr__(self) -> str:
        return f"<tilewright.stage of {self.__wrapped__!r}>"

    def __reduce__(self) -> str:
        return self.__qualname__


def stage(function: Callable[P, R]) -> PureFunction[P, R]:
    """Declare a function of arrays and numbers pure: a compiled function calls it between kernels, as it is.

    It must do nothing but compute its result: it writes none of its arguments, keeps nothing, and gives new arrays,
    numbers, or tuples of those, whose dtypes and ranks depend on those of its arguments alone. Then it may be called less
    often than the program says, or be called again where NumPy runs a call after all.

    Raises TypeError for what cannot be called.
    """
    if not callable(function):
        raise TypeError(f"tilewright.stage: {function!r} is not callable. Decorate a function.")
    return PureFunction(function)


@dataclass(frozen=True)
class Array:
    """A result that was seen. An extent is (argument, axis), the literal 1, or None where no argument has it."""

    dtype: np.dtype[Any]
    extents: tuple[tuple[int, int] | int | None, ...]


class NotSeen(Exception):  # noqa: N818 - the message is another exception's
    """What a call of this kind gives is not known yet."""


# (the function, what its arguments are like) -> its results: Array, bool, int, float, tuples and lists of those; or a text
# that says why they are no stage's.
_SEEN: dict[Any, Any] = {}


def seen(function: Any, args: Sequence[Any], kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Any:
    """What such a call gave. NotSeen, or TypeError with the reason where it is no stage."""
    key = _key(function, args, kwargs, kind_of)
    if key not in _SEEN:
        raise NotSeen
    found = _SEEN[key]
    if isinstance(found, str):
        raise TypeError(found)
    return found


def watching(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a look at what it gives."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        try:
            key = _key(function, args, kwargs, _kind_of)
        except TypeError:
            return result  # no trace has such arguments
        try:
            found = _described(result, list(arrays_in((args, kwargs))))
            if any(itertools.starmap(np.may_share_memory, itertools.combinations(arrays_in(result), 2))):
                raise TypeError("two of its results share memory")
            _SEEN[key] = found
        except TypeError as error:
            _SEEN[key] = str(error)
        return result

    return call


def arrays_in(value: Any) -> Iterator[Any]:
    """Arrays among arguments, those inside of containers too, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(arrays_in, value))
    elif hasattr(value, "dtype") and hasattr(value, "shape"):
        yield value


def _key(function: Any, args: Sequence[Any], kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Any:
    key = function, tuple(map(kind_of, args)), tuple((name, kind_of(value)) for name, value in kwargs.items())
    hash(key)
    return key


def kind_of_plain(value: Any, kind_of: Callable[[Any], Any]) -> Any:
    """Of numbers their type, for traces may have them as run-time values; of all else the value."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(kind_of, value))
    if isinstance(value, dict):
        return dict, tuple((key, kind_of(one)) for key, one in value.items())
    if type(value) in (int, float, complex):
        return type(value)
    return type(value), value


def _kind_of(value: Any) -> Any:
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        raise TypeError
    if isinstance(value, (np.ndarray, np.generic)):
        return "array", value.dtype.str, value.ndim
    return kind_of_plain(value, _kind_of)


def _described(result: Any, arguments: list[Any]) -> Any:
    if type(result) is dict and all(type(key) in (str, int) for key in result):
        return {key: _described(item, arguments) for key, item in result.items()}
    if type(result) in (list, tuple) or hasattr(result, "_fields"):
        items = [_described(item, arguments) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if type(result) in (bool, int, float):
        return type(result)
    if type(result) is not np.ndarray and not isinstance(result, np.generic):
        raise TypeError(f"it gives a {type(result).__name__}")
    if result.dtype.kind not in "biufc" or result.dtype.itemsize > (16 if result.dtype.kind == "c" else 8):
        raise TypeError(f"it gives {result.dtype}")
    if any(isinstance(one, np.ndarray) and np.may_share_memory(one, result) for one in arguments):
        raise TypeError("it gives memory of its argument")
    return Array(result.dtype.newbyteorder("="), tuple(_extent(result, axis, arguments) for axis in range(result.ndim)))


def _extent(result: Any, axis: int, arguments: list[Any]) -> tuple[int, int] | int | None:
    """Whose extent it is: of an argument of the same rank the same axis, rather than any other."""
    extent = result.shape[axis]
    same = [
        (one.ndim == result.ndim and own == axis, k, own)
        for k, one in enumerate(arguments)
        for own in range(one.ndim)
        if one.shape[own] == extent
    ]
    if same:
        best = max(same, key=lambda place: place[0])
        return best[1], best[2]
    return 1 if extent == 1 else None
