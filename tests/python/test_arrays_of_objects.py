"""Arrays of objects that a function makes of known values, `np.array([[None]])`: Python's own, as lists are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


class Filter:
    """As filters have it whose measurement is none at first."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.z = np.array([[None] * self.n]).T
        self.x = np.zeros((2, 1))

    def update(self, z: Any) -> None:
        if z is None:
            self.z = np.array([[None] * self.n]).T
            return
        self.x = self.x * 0.5 + z
        self.z = z


def filtered(zs: Any) -> Any:
    one = Filter(1)
    out = np.zeros(len(zs))
    for i in range(len(zs)):
        one.update(zs[i])
        out[i] = one.x[0, 0]
    return out, one.z


def asked_only(x: Any) -> Any:
    z = np.array([None, "a", 2.5])
    return x * (z[0] is None), len(z), z.shape, z[2] * x


def returned(x: Any) -> Any:
    return x * 2, np.array([[None]])


def held_by_a_result(x: Any) -> Any:
    one = Filter(2)
    one.x = x.sum()
    return one


def traced_in_it(x: Any) -> Any:
    z = np.array([None, 1])
    z[0] = x.sum()
    return z[0] * 2


def written_in_a_loop(x: Any) -> Any:
    z, total = np.array([None] * 3), 0.0
    for i in range(len(x)):
        z[1] = x[i]
        total += z[1]
    return total


def computed_with(x: Any) -> Any:
    z = np.array([2.0, None])
    return z[:1] * x[:1], x * 2


def shown(given: Any) -> str:
    return repr(vars(given) if isinstance(given, Filter) else given)


@pytest.mark.parametrize("function", [filtered, asked_only])
def test_what_only_python_reads_is_no_reason_to_leave_the_rest_to_python(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    x = np.random.default_rng(0).random(50)
    for k in (0, 1, 0):
        assert repr(compiled(x + k)) == repr(function(x + k))
    assert "between kernels" not in compiled.explain(source=False)


@pytest.mark.parametrize("function", [returned, held_by_a_result, traced_in_it, written_in_a_loop, computed_with])
def test_what_needs_the_array_itself_is_pythons(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    x = np.random.default_rng(0).random(50)
    for k in (0, 1, 0, 2):
        assert shown(compiled(x + k)) == shown(function(x + k))
