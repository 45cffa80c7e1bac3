"""Whatever a function's names mean may be replaced: globals, helpers and their code, methods, properties, defaults."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rebound_module
import tilewright

pytestmark = pytest.mark.fast

X = np.linspace(0.25, 1.75, 3000)


@pytest.fixture
def m() -> Iterator[Any]:
    """The module, as new, and NumPy's and Python's names back in their places."""
    spec = importlib.util.spec_from_file_location("rebound_again", rebound_module.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    square, pi, tau = np.square, np.pi, math.tau
    yield module
    np.square, np.pi, math.tau = square, pi, tau  # type: ignore[misc]


def put(owner: Any, name: str, value: Any) -> Callable[[], Any]:
    return lambda: setattr(owner, name, value)


def jit_of(folder: Path, k: int) -> Any:
    """A jit function of a file of its own, as a cell that runs again makes it."""
    file = folder / f"cell{k}.py"
    file.write_text(f"import tilewright\n\n@tilewright.jit\ndef g(x):\n    return x * {k}\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.g


# Function -> what is replaced before its calls.
STEPS: dict[str, Callable[[Any, Path], list[Callable[[], Any]]]] = {
    "of_jit": lambda m, f: [put(m, "g", jit_of(f, 3)), put(m, "g", jit_of(f, 5)), put(m, "g", lambda x: x * 9)],
    "of_jit, its code": lambda m, f: [put(m.g.__wrapped__, "__code__", m.other.__code__)],
    "of_ufunc": lambda m, f: [put(m, "op", np.multiply), put(m, "op", np.subtract), put(m, "op", np.add)],
    "of_builtin": lambda m, f: [put(m, "chosen", min), put(m, "chosen", lambda a, b: a + b)],
    "of_numpys_names": lambda m, f: [put(np, "square", np.sqrt), put(np, "pi", 3.0), put(math, "tau", 6)],
    "of_builtins": lambda m, f: [put(m, "max", min), put(m, "len", lambda v: 77), lambda: (delattr(m, "max"), delattr(m, "len"))],
    "of_helper": lambda m, f: [
        put(m.helper, "__defaults__", (3.0,)),
        put(m.helper, "__kwdefaults__", {"m": 5.0, "w": [2.0]}),
        lambda: m.helper.__kwdefaults__["w"].__setitem__(0, 9.0),
        lambda: m.helper.__kwdefaults__.__setitem__("m", 19.0),
        put(m.helper, "__code__", m.third.__code__),
        put(m.helper, "__defaults__", (4.0,)),
        put(m, "helper", m.other),
    ],
    "of_method": lambda m, f: [
        put(m.p, "k", 3.0),
        put(m.p, "method", lambda v: v * 11),
        put(m.p, "method", m.q.method),
        lambda: m.p.__dict__.pop("method"),
        put(m.P, "method", lambda self, v: v - self.k),
        put(m.P, "calls", lambda self, v: v + self.k),
        put(m.P, "method", np.square),
        put(m, "p", m.q),
    ],
    "of_property": lambda m, f: [
        put(m.p, "k", 5.0), put(m.P, "twice", property(lambda self: self.k * 100)), put(m.P, "twice", 17.0),
    ],
    "of_class": lambda m, f: [
        put(m.P, "C", 5.0), put(m.P, "static", staticmethod(lambda v: v - 1)),
        put(m.P, "of_class", classmethod(lambda cls, v: v - cls.C)),
    ],
    "of_cache": lambda m, f: [lambda: m.table(3).__setitem__(0, 55.0), m.table.cache_clear],
    "of_partial": lambda m, f: [
        lambda: m.part.keywords.__setitem__("axis", 1), put(m, "part", functools.partial(np.max, axis=0)),
    ],
    "of_closure": lambda m, f: [
        put(m, "inner", m.outer(3.0)), put(m, "inner", m.outer(np.float32(3.0))),
        lambda: setattr(m.inner.__closure__[0], "cell_contents", 13.0),
    ],
    "of_table": lambda m, f: [lambda: m.functions.update(a=m.other), put(m.other, "__code__", m.of_builtin.__code__)],
    "of_list": lambda m, f: [lambda: m.listed.append(m.other), m.listed.reverse],
    "of_import": lambda m, f: [put(math, "tau", 6.0)],
    "of_attribute_that_may_be": lambda m, f: [put(m.p, "extra", 3.0), lambda: m.p.__dict__.pop("extra")],
    "of_function_attribute": lambda m, f: [put(m.other, "factor", 3.0), put(m.other, "factor", 4)],
    "of_global": lambda m, f: [put(m, "K", 3.0), put(m, "K", 3), put(m, "weights", np.arange(3)), put(m, "weights", 2.5)],
    "of_helpers_of_helpers": lambda m, f: [
        put(m, "op", np.multiply), put(m, "helper", m.third), put(m.of_helper, "__code__", m.of_builtin.__code__),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_what_a_name_means_may_change(name: str, m: Any, tmp_path: Path) -> None:
    function = getattr(m, name.partition(",")[0])
    jitted = tilewright.jit(function, strict=True)
    np.testing.assert_allclose(jitted(X), function(X), rtol=1e-12)
    for change in STEPS[name](m, tmp_path):
        change()
        for _ in range(2):
            got, expected = jitted(X), function(X)
            np.testing.assert_allclose(got, expected, rtol=1e-12)
            assert got.dtype == expected.dtype


def test_the_function_itself_may_have_other_code_and_defaults() -> None:
    def own(x, k=2.0, *, z=1.0):
        return x * k + z

    def new(x, k=2.0, *, z=1.0):
        return x - k - z

    def less(x):
        return x * 3

    function = tilewright.jit(own, strict=True)
    changes: list[Callable[[], Any]] = [
        lambda: None, put(own, "__defaults__", (3.0,)), put(own, "__kwdefaults__", {"z": 4.0}),
        lambda: own.__kwdefaults__.__setitem__("z", 8.0), put(own, "__code__", new.__code__), put(own, "__code__", less.__code__),
    ]  # fmt: skip
    for change in changes:
        change()
        for _ in range(2):
            np.testing.assert_array_equal(function(X), own(X))
    with pytest.raises(TypeError):
        function(X, 2.0)


def test_a_lambda_that_is_made_at_each_call_compiles_once() -> None:
    def f(x, op):
        return op(x) + 1

    def times(k):
        return lambda v: v * k

    function = tilewright.jit(f, strict=True)
    for k in (2.0, 3.0, 4.0):
        np.testing.assert_array_equal(function(X, lambda v: v * 2), X * 2 + 1)
        np.testing.assert_array_equal(function(X, times(k)), X * k + 1)
    assert len(function.specializations) == 2


def test_methods_and_numbers_of_objects_are_found_without_python() -> None:
    class Model:
        def __init__(self):
            self.k, self.w = 2.0, np.ones(3000)

        def scaled(self, v):
            return v * self.k

        @tilewright.jit(strict=True)
        def run(self, x):
            return self.scaled(x) + self.w

    model = Model()
    model.run(X)
    misses = Model.run.misses
    for k in range(20):
        model.k, model.w = float(k), np.full(3000, k / 2)
        np.testing.assert_array_equal(model.run(X), X * k + k / 2)
    assert Model.run.misses == misses and len(Model.run.specializations) == 1


def test_refused_functions_do_not_refuse_others() -> None:
    def f(x, op):
        return op(x) * 2

    function = tilewright.jit(f)
    with pytest.warns(tilewright.FallbackWarning):
        assert function(X, str) == str(X) * 2
    np.testing.assert_allclose(function(X, np.sum), np.sum(X) * 2)
    assert len(function.specializations) == 1
