"""Functions that may be stages without a row: tilewright.stage() declares them pure, or they are SciPy's that are known to be."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# Their public functions give new arrays, write nothing that they are handed, and read nothing else. Those that they call
# themselves may write: scipy.linalg.expm() has its work done in an array that it hands on.
_PURE_MODULES = (
    "scipy.fft", "scipy.fftpack", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.signal",
    "scipy.signal.windows", "scipy.spatial", "scipy.spatial.distance", "scipy.special", "scipy.stats", "scipy.stats.contingency",
    "scipy.stats.mstats",
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


_OF_DISTRIBUTIONS = frozenset(
    ["pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "moment", "entropy", "median", "mean",
     "var", "std", "interval", "support", "fit"]
)  # fmt: skip


def distribution_of(method: types.MethodType) -> str | None:
    """The name of SciPy's distribution of which it is a method: scipy.stats.norm."""
    owner = method.__self__
    name = getattr(owner, "name", None)
    place = sys.modules.get("scipy.stats")
    return f"scipy.stats.{name}" if isinstance(name, str) and getattr(place, name, None) is owner else None


def is_decided_by_data(function: Any) -> bool:
    return any(function is one for one in _DECIDED_BY_DATA)


def is_pure(function: Any) -> bool:
    """Whether a function without a row may be a stage."""
    if isinstance(function, PureFunction):
        return True
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    if not module.startswith("scipy.") or name in _NOT_PURE or isinstance(function, type):
        return False
    if isinstance(function, types.MethodType):
        return distribution_of(function) is not None and name in _OF_DISTRIBUTIONS
    places = (sys.modules.get(one) for one in _PURE_MODULES if module.startswith(one))
    return any(getattr(place, name, None) is function for place in places if not name.startswith("_"))


def writes_arguments(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether an option tells a function to write into an array that it is handed: output=a, overwrite_a=True."""
    named = dict(kwargs)
    if args and not isinstance(function, PureFunction):
        with contextlib.suppress(TypeError, ValueError):  # of C, which says nothing of its parameters
            named.update(zip(inspect.signature(function).parameters, args, strict=False))
    return any(
        (name in ("out", "output") and hasattr(value, "shape"))
        or (name.startswith("overwrite") or name in ("in_place", "inplace"))
        and value is not False
        for name, value in named.items()
    )


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
