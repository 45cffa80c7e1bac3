"""What draws of random numbers give: a row for each method of numpy.random.Generator and RandomState."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...symbolic.scalars import SymInt
from ...symbolic.tracer import Tracer
from ..operands import FLOAT64, INT64, broadcast_shapes
from ..stage_rows import Gives, Like, shape_of_size, told_by_result

# Each takes the tracer, then what the method takes, and gives Gives; None where it does not know. `writes`: see WRITES.
DrawRow = Callable[..., Any]
DRAWS: dict[str, DrawRow] = {}
# Methods that write their first argument and give None.
WRITES = frozenset(["shuffle"])

_FLOATS = {
    "beta": "a b", "chisquare": "df", "exponential": "scale", "f": "dfnum dfden", "gamma": "shape scale", "gumbel": "loc scale",
    "laplace": "loc scale", "logistic": "loc scale", "lognormal": "mean sigma", "noncentral_chisquare": "df nonc",
    "noncentral_f": "dfnum dfden nonc", "normal": "loc scale", "pareto": "a", "power": "a", "rayleigh": "scale",
    "standard_cauchy": "", "standard_t": "df", "triangular": "left mode right", "uniform": "low high", "vonmises": "mu kappa",
    "wald": "mean scale", "weibull": "a",
}  # fmt: skip
_INTEGERS = {
    "binomial": "n p", "geometric": "p", "hypergeometric": "ngood nbad nsample", "logseries": "p", "negative_binomial": "n p",
    "poisson": "lam", "zipf": "a",
}  # fmt: skip


def _given(tracer: Tracer, size: Any, parameters: Sequence[Any], dtype: Any, kind: type | None) -> Gives:
    shape = shape_of_size(size)
    if shape is None:
        sizes = broadcast_shapes(tracer, [Like(tracer, one).sizes for one in parameters])
        shape = [SymInt(tracer, n) for n in sizes]
    alone = size is None and not shape
    return Gives(np.dtype(dtype), told_by_result(shape), kind if alone else None)


def _distribution(names: str, dtype: Any, kind: type) -> DrawRow:
    def row(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip([*names.split(), "size"], args, strict=False)) | kwargs
        size = given.pop("size", None)
        return _given(tracer, size, list(given.values()), dtype, kind)

    return row


DRAWS.update({name: _distribution(names, FLOAT64, float) for name, names in _FLOATS.items()})
DRAWS.update({name: _distribution(names, INT64, int) for name, names in _INTEGERS.items()})


def _draw(name: str) -> Callable[[DrawRow], DrawRow]:
    def register(row: DrawRow) -> DrawRow:
        DRAWS[name] = row
        return row

    return register


@_draw("random")
@_draw("standard_exponential")
@_draw("standard_normal")
@_draw("random_sample")
@_draw("ranf")
@_draw("sample")
def _standard(tracer: Tracer, size: Any = None, dtype: Any = FLOAT64, method: str = "zig", out: None = None) -> Any:
    kept = np.dtype(dtype)
    return None if out is not None else _given(tracer, size, [], kept, float if kept == FLOAT64 else None)


@_draw("standard_gamma")
def _standard_gamma(tracer: Tracer, shape: Any, size: Any = None, dtype: Any = FLOAT64, out: None = None) -> Any:
    kept = np.dtype(dtype)
    return None if out is not None else _given(tracer, size, [shape], kept, float if kept == FLOAT64 else None)


@_draw("rand")
@_draw("randn")
def _rand(tracer: Tracer, *extents: Any) -> Any:
    return _given(tracer, extents or None, [], FLOAT64, float)


@_draw("integers")
def _integers(
    tracer: Tracer, low: Any, high: Any = None, size: Any = None, dtype: Any = INT64, endpoint: bool = False
) -> Any:
    kind = dtype if dtype is int or dtype is bool else None
    return _given(tracer, size, [low] if high is None else [low, high], dtype, kind)


@_draw("randint")
def _randint(tracer: Tracer, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return _given(tracer, size, [low] if high is None else [low, high], dtype, int if dtype is int else None)


@_draw("choice")
def _choice(  # noqa: PLR0917
    tracer: Tracer, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
) -> Any:
    of = Like(tracer, a)
    shape = told_by_result(size)
    if not of.ndim:
        return Gives(INT64, shape, int if size is None else None)
    axis = axis + of.ndim if axis < 0 else axis
    return Gives(of.dtype, (*of.shape[:axis], *shape, *of.shape[axis + 1 :]))


@_draw("permutation")
def _permutation(tracer: Tracer, x: Any, axis: int = 0) -> Any:
    of = Like(tracer, x)
    return Gives(of.dtype, of.shape) if of.ndim else Gives(INT64, (x,))


@_draw("permuted")
def _permuted(tracer: Tracer, x: Any, *, axis: Any = None, out: None = None) -> Any:
    of = Like(tracer, x)
    return Gives(of.dtype, of.shape) if out is None else None


@_draw("multinomial")
def _multinomial(tracer: Tracer, n: Any, pvals: Any, size: Any = None) -> Any:
    of = Like(tracer, pvals)
    one = Like(tracer, n)
    return Gives(INT64, (*told_by_result(size), of.shape[-1])) if of.ndim == 1 and not one.ndim else None


@_draw("dirichlet")
def _dirichlet(tracer: Tracer, alpha: Any, size: Any = None) -> Any:
    return Gives(FLOAT64, (*told_by_result(size), Like(tracer, alpha).shape[0]))


@_draw("multivariate_normal")
def _multivariate_normal(tracer: Tracer, mean: Any, cov: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
    return Gives(FLOAT64, (*told_by_result(size), Like(tracer, mean).shape[0]))


@_draw("multivariate_hypergeometric")
def _multivariate_hypergeometric(tracer: Tracer, colors: Any, nsample: Any, size: Any = None, method: str = "") -> Any:
    return Gives(INT64, (*told_by_result(size), Like(tracer, colors).shape[0]))


@_draw("seed")
def _seed(tracer: Tracer, seed: Any = None) -> Any:
    return ()
