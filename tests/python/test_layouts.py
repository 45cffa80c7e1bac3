"""What depends on how arrays lie in memory: flags, .flat, and memory that is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def reads_flat(x):
    return x.flat[3] + x.flat[-1], x.flat[1:3], len(x.flat)


def writes_flat(x):
    x.flat[:: x.shape[1] + 1] = 0.0
    x.flat[[1, 2]] = x.flat[-1]
    return x * 2


def walks_flat(x):
    total = 0.0
    for value in x.flat:
        total = total / 2 + value
    return total


def fills_a_diagonal(x):
    y = x + 1
    np.fill_diagonal(y, 7.0)
    return y, np.kron(x, y[:1]), np.diag(x[0])


def asks(x):
    y = x.copy()
    return x.flags.c_contiguous, x.flags["C"], y.flags.writeable, y[0] + 1


def asks_for_fortran(x):
    y = x * 2 if x.flags.c_contiguous else np.ascontiguousarray(x)
    told = y.flags.fortran, y.T.flags["FORTRAN"]
    return np.isfortran(y), np.isfortran(x[0]), y.T.flags.f_contiguous, told, y + 1


def shares(x):
    y = x * 2
    return np.may_share_memory(x, y), np.shares_memory(x, x), y


def rounds_truths(x):
    return np.round(x > 0.5), np.around(x > 0.5)


FUNCTIONS = [reads_flat, writes_flat, walks_flat, fills_a_diagonal, asks, asks_for_fortran, shares, rounds_truths]
BASE = np.random.default_rng(0).random((8, 9))
LAYOUTS = {
    "C": BASE[:4, :5].copy,
    "F": lambda: np.array(BASE[:4, :5], order="F"),
    "negative": lambda: BASE.copy()[::-1, ::2],
    "one row": BASE[:1].copy,
    "one column": BASE[:, :1].copy,
}


def values(given: Any) -> list[Any]:
    return list(given) if isinstance(given, tuple) else [given]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_in_each_layout_as_numpy_has_it(function, layout):
    compiled = tilewright.jit(function, strict=True)
    compiled(LAYOUTS["C"]())
    numpys, mine = LAYOUTS[layout](), LAYOUTS[layout]()
    try:
        want = values(function(numpys))
    except IndexError:
        with pytest.raises(IndexError):
            compiled(mine)
        return
    for one, other in zip(values(compiled(mine)), want, strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)
        assert not isinstance(other, np.ndarray) or one.dtype == other.dtype
    np.testing.assert_array_equal(mine, numpys)


def test_what_memory_alone_decides_is_refused():
    compiled = tilewright.jit(lambda a: (a.flags.owndata, a * 2), strict=True)
    with pytest.raises(tilewright.TraceError, match=r"array\.flags"):
        compiled(np.ones(3))
