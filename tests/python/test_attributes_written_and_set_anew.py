"""Attributes whose arrays a loop writes into and sets anew, as a solver's fields are: nobody but the object may see the arrays."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile


class Fields:
    def __init__(self, n):
        self.u, self.v = np.zeros(n), np.ones(n)
        self.time = 0

    def blur(self, a):
        b = a.copy()
        for _ in range(3):
            b[1:-1] = 0.5 * (b[:-2] + b[2:])
        return b

    def step(self):
        self.u[2:5] += 1.0
        self.u, self.v = self.blur(self.u), self.blur(self.v)
        self.v[1:-1] -= 0.1 * self.u[1:-1]
        self.u += self.v
        self.time += 1

    def swap(self):
        self.u[0] += 1
        self.v[1] += 2
        self.u, self.v = self.v, self.u

    def scale(self):
        self.u[3] *= 2
        self.u = self.u * 0.75


def steps(n, k):
    fields = Fields(n)
    for _ in range(k):
        fields.step()
    return fields.u, fields.v, fields.time


def seen_by_a_variable(n, k):
    fields = Fields(n)
    u = fields.u
    for _ in range(k):
        fields.step()
    return fields.u, u


def seen_by_the_caller(n, k):
    fields = Fields(n)

    def run(one):
        for _ in range(k):
            one.step()

    u = fields.u
    run(fields)
    return fields.u, u


def seen_by_another_attribute(n, k):
    fields = Fields(n)
    fields.v = fields.u
    for _ in range(k):
        fields.scale()
    return fields.u, fields.v


def seen_by_another_object(n, k):
    fields, other = Fields(n), Fields(n)
    other.u = fields.v
    held = [fields.u]
    for _ in range(k):
        fields.swap()
    return fields.u, fields.v, other.u, held


def swapped(n, k):
    fields = Fields(n)
    for _ in range(k):
        fields.swap()
    return fields.u, fields.v


def of_the_iteration_before(n, k):
    fields = Fields(n)
    old = fields.v
    for _ in range(k):
        old = fields.u
        fields.u += 1
        fields.scale()
        fields.u[1] += old[3]
    return fields.u, old


def until(n, k):
    fields, i = Fields(n), 0
    while i < k:
        fields.step()
        i += 1
        if fields.u.max() > 30:
            break
    return fields.u, fields.v, i


def in_two_loops(n, k):
    fields = Fields(n)
    for _ in range(k):
        for _ in range(3):
            fields.step()
        fields.scale()
    return fields.u, fields.v


@pytest.mark.parametrize(
    "function",
    [steps, seen_by_a_variable, seen_by_the_caller, seen_by_another_attribute, swapped,
     of_the_iteration_before, until, in_two_loops],
)  # fmt: skip
def test_they_are_what_python_leaves(function) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n, k in ((80, 70), (80, 70), (80, 3), (20, 66), (80, 1), (80, 0), (80, 70)):
        assert agree(compiled(n, k), function(n, k), bits=False)


def test_the_loop_stays_one() -> None:
    compiled = tilewright.jit(steps, strict=True)
    assert agree(compiled(80, 70), steps(80, 70), bits=False)
    assert "lines_" not in compiled.explain(source=False) and "range(0, k, 1)" in compiled.explain(source=False)


def kept_and_written(n, k):
    fields, kept = Fields(n), []
    for _ in range(k):
        fields.u = fields.u + 1.5
        kept.append(fields.u)
        fields.u[2] += 1
    return kept


def kept_in_a_dict_and_written(n, k):
    held, kept = {"u": np.zeros(n)}, []
    for _ in range(k):
        u = {"u": held["u"] + np.ones(n)}
        kept.append(u["u"])
        u["u"][1] = 7.0
    return kept


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize("function", [kept_and_written, kept_in_a_dict_and_written, seen_by_another_object])
def test_what_is_seen_elsewhere(function) -> None:
    compiled = tilewright.jit(function)
    for n, k in ((5, 70), (5, 70), (5, 3), (5, 1), (5, 70)):
        assert agree(compiled(n, k), function(n, k))
