"""Fortran's order as C's of the transposed array; questions about what a value is, which tracing answers."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree, check
from tilewright.guards import PythonGuard, guard_holds

pytestmark = pytest.mark.compile

X = np.arange(24.0).reshape(4, 6)
LAYOUTS = [X, np.asfortranarray(X), X[::2, 1:], np.arange(24.0).reshape(2, 3, 4), np.arange(5.0)]


def read_in_order(x):
    return x.ravel(order="F") + 1, x.flatten("F"), np.ravel(x, "F").sum(), x.reshape(-1, order="F") * 2


def shaped(x):
    return x.reshape((2, -1), order="F") + 1, np.reshape(x, (x.size // 2, 2), order="F").sum(axis=0)


def restored(x):
    return x.flatten("F").reshape(x.shape, order="F") - x


def written_through(x):
    y = np.zeros((3, 4))
    y.T.ravel(order="F")[2:5] = x[0, 0]  # a view: the memory of y in its order
    y.ravel(order="F")[:] = 7.0  # a copy
    y.reshape(12, order="F")[0] = 8.0  # a copy
    return y + x[0, 0]


def in_memory_order(x):
    y = np.ravel(x, order="K")
    return y @ y, x.flatten("K") * 2


def what_it_is(x, k):
    answers = np.iterable(x), np.iterable(k), np.iterable(x.shape[0]), np.iterable(x[0]), np.iterable([x])
    return x * 2, answers, np.ma.isMaskedArray(x)


def required(x, *requirements):
    y = np.require(x, requirements=["W"])
    z = np.require(np.broadcast_to(x, (2, *x.shape)), requirements=["W", "C"])
    z[0] = 3.0
    made = x + 1
    np.require(made, requirements="W")[0] = 5.0
    return y * 2, z, made


@pytest.mark.parametrize("x", LAYOUTS, ids=["c", "f", "strided", "3d", "1d"])
def test_fortrans_order(x):
    check(read_in_order, x)
    check(restored, x)
    if x.size % 2 == 0:
        check(shaped, x)


def test_a_write_reaches_what_it_reaches_in_numpy():
    compiled = tilewright.jit(written_through)
    for _ in range(2):
        assert agree(compiled(X + 1), written_through(X + 1))


def test_one_function_serves_layouts_in_turn():
    for function in (read_in_order, restored):
        compiled = tilewright.jit(function, strict=True)
        for x in (X, np.asfortranarray(X), X[:, ::2], X):
            assert agree(compiled(x), function(x))


def test_memory_order_is_cs_where_memory_is():
    check(in_memory_order, X)
    compiled = tilewright.jit(in_memory_order)
    for x in (X, np.asfortranarray(X), X.T, X):
        assert agree(compiled(x), in_memory_order(x), bits=False)


def ordered_in_memory(x):
    return x.ravel(order="K") * 2


def test_of_one_axis_every_order_is_cs():
    def read(x):
        return np.ravel(x, order="K") * 2, x.flatten("A") + 1, x.ravel("A") * 3

    compiled = tilewright.jit(read, strict=True)
    for x in (X[:, 1], X[0], X[0, ::-1], X[0, :1], X[0, :0]):
        assert agree(compiled(x), read(x))


def test_a_list_is_no_array_of_another_layout():
    path = (("parameter", "x"),)
    for kind, wanted in (("contiguous", True), ("contiguous", False)):
        assert not guard_holds(PythonGuard(path, kind, wanted), {"x": [1.0, 2.0]}, None)
    assert guard_holds(PythonGuard(path, "contiguous", True), {"x": X}, None)
    assert guard_holds(PythonGuard(path, "contiguous", False), {"x": X.T}, None)


def test_memory_in_another_order_is_numpys():
    compiled = tilewright.jit(ordered_in_memory)
    for x in (X, np.asfortranarray(X), X.T, X[::-1], X[::2], X):
        assert agree(compiled(x), ordered_in_memory(x))


def test_shapes_that_do_not_fit_are_numpys_errors():
    def wrong(x):
        return x.reshape((5, 2), order="F") + 1

    check(wrong, X)


def test_kinds_of_values():
    check(what_it_is, X, 3.0)


@pytest.mark.parametrize("writable", [True, False])
def test_arrays_that_may_be_written(writable):
    x = X.copy()
    x.flags.writeable = writable
    compiled = tilewright.jit(required, strict=True)
    for _ in range(2):
        assert agree(compiled(x), required(x))


def writes_what_it_required(x):
    y = np.require(x, requirements=["W"])
    y[0] = 5.0
    return y.sum()


@pytest.mark.parametrize("writable", [True, False])
def test_whether_a_write_reaches_the_argument_is_numpys(writable):
    compiled = tilewright.jit(writes_what_it_required)
    for _ in range(2):
        ours, theirs = X.copy(), X.copy()
        ours.flags.writeable = theirs.flags.writeable = writable
        assert compiled(ours) == writes_what_it_required(theirs)
        assert np.array_equal(ours, theirs)


def gives_what_it_required(x, k):
    return np.require(x, requirements=["W"]), x * k


def test_what_is_required_to_be_writable_is_the_argument_where_it_is():
    compiled = tilewright.jit(gives_what_it_required)
    for layout in (lambda a: a, lambda a: a[::-1], lambda a: a[:, ::2], lambda a: a.T):
        for writable in (True, False, True):
            x = layout(X.copy())
            x.flags.writeable = writable
            given, _ = compiled(x, 2.0)
            assert (given is x) == writable
            assert given.flags.writeable
            assert np.array_equal(given, x)
