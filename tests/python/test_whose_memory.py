"""Arrays that own their memory, and views of others': callees that ask which of them they are handed are not made between kernels."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile


def own_of(x):
    return x if x.base is None else x.copy()


def owned(x):
    return x if x.flags.owndata else x.copy()


def required(x):
    return np.require(x, None, ["O"])


def by_helpers(x):
    y = own_of(x)
    y[0] = 50
    return y * 2


def by_helpers_of_helpers(x):
    y = owned(x)
    y[0] = 50
    return y * 2


def by_numpy(x):
    y = np.require(x, requirements="O")
    y[0] = 50
    return y * 2


def by_attributes(x):
    y = x * 1
    if not x.flags.owndata:
        x = x.copy()
    x[0] = 50
    return x * y


def by_what_helpers_require(x):
    y = required(x)
    y[0] = 50
    return y * 2


ORDERS = ["vvvvvooooo", "ooooovvvvv", "vovovovovo", "oovvoovvoo"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "function", [by_helpers, by_helpers_of_helpers, by_numpy, by_attributes, by_what_helpers_require]
)
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_what_is_written_is_numpys(function, order):
    compiled = tilewright.jit(function)
    for kind in order:
        ours, theirs = (np.arange(12.0).reshape(3, 4) if kind == "v" else np.ones((3, 4)) for _ in "ab")
        assert agree(compiled(ours), function(theirs))
        assert agree(ours, theirs)


def test_strict_refuses_what_asks():
    for function in by_helpers, by_numpy:
        with pytest.raises(tilewright.TraceError):
            tilewright.jit(function, strict=True)(np.arange(12.0).reshape(3, 4))


def test_what_the_function_makes_is_its_own():
    def doubled(x):
        made = np.require(x * 2, requirements=["C", "O"])
        made[0] = 1
        return made + x

    compiled, x = tilewright.jit(doubled, strict=True), np.arange(12.0).reshape(3, 4)
    assert agree(compiled(x), doubled(x))
