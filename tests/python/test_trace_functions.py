"""Python around the arrays: helpers, closures, methods, loops over plain values, scalars, guards."""

# ruff: noqa: PLW0108, PLR0917
from __future__ import annotations

import enum
import functools
import inspect
import math
import re
import sys
import types
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import trace_helpers
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tilewright import TraceError
from tilewright.interpret.source import source_of
from tilewright.trace import trace
from trace_cases import check, close, raises_like_numpy, run_program

pytestmark = pytest.mark.fast

X = np.arange(12.0).reshape(4, 3) / 7
Y = np.linspace(-2, 2, 7)
GLOBAL_SCALE = 3
GLOBAL_SCALES = {"wide": 2.5}
GLOBAL_ARRAY = np.array([1.0, -1.0, 0.5])


def kmeans(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def matmul_softmax(a, b):
    return softmax(a @ b)


def l2_norm(x):
    return np.sqrt(np.sum(x**2))


def squared_difference(a, b):
    return (a - b) ** 2


def trig(x, y, a):
    return np.exp(a * np.sin(x) + np.cos(y))


def monte_carlo_pi(x, y):
    return 4 * np.count_nonzero(x * x + y * y < 1) / len(x)


def standardize(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def layer_norm(x, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    std = np.std(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


def laplace(u):
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return v


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_programs_of_the_benchmarks(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    p, m = rng.standard_normal((50, 2)).astype(dtype), rng.standard_normal((3, 2)).astype(dtype)
    others = [(p[:1], m), (p, m[:1]), (p[:0], m), (p[:, :1], m[:, :1]), (np.asfortranarray(p), m)]
    check(kmeans, p, m, others=others)
    v = rng.standard_normal(1001).astype(dtype)
    check(softmax, p.T.copy(), others=[(m,), (v,)])
    check(l2_norm, v)
    check(squared_difference, v, v[::-1])
    check(trig, v, v * 2, 0.5, others=[(v[:3], v[:3], -1.0), (v, v, math.nan)])
    check(monte_carlo_pi, v, v[::-1].copy())
    check(matmul_softmax, p, m.T.copy(), compare=lambda a, b: close(a, b, dtype))
    check(standardize, p)
    check(layer_norm, p, 1e-3)
    check(laplace, rng.standard_normal((9, 8)).astype(dtype), others=[(rng.standard_normal((3, 3)).astype(dtype),)])


# -- helpers, closures, globals, methods ----------------------------------------------------------------------


def test_helpers_are_followed_and_their_globals_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return trace_helpers.scaled(x) + trace_helpers.weighted(x, power=2) * trace_helpers.SCALE

    traced = check(f, X)
    hidden = [a for a in traced.arguments if a.kind == "hidden"]
    assert [a.name for a in hidden] == ["WEIGHTS"] and "arg WEIGHTS: float64[" in traced.program_text
    assert "result" in traced.program_text
    # A number is read at each call, as an array is.
    monkeypatch.setattr(trace_helpers, "SCALE", 4.0)
    assert traced.matches((X,))
    np.testing.assert_array_equal(run_program(traced, (X,)), f(X))
    monkeypatch.setattr(trace_helpers, "SCALE", 4)
    assert not traced.matches((X,))
    monkeypatch.setattr(trace_helpers, "SCALE", 2.5)
    monkeypatch.setattr(trace_helpers, "WEIGHTS", np.array([5.0, 6, 7]))
    assert traced.matches((X,))
    np.testing.assert_array_equal(run_program(traced, (X,)), f(X))
    monkeypatch.setattr(trace_helpers, "WEIGHTS", np.ones(3, np.float32))
    assert not traced.matches((X,))


def test_own_globals_and_closures() -> None:
    factor, offsets = 2.0, np.array([1.0, 2, 3])

    def inner(v):
        return v * factor

    def f(x):
        return inner(x) + offsets * GLOBAL_SCALE + GLOBAL_ARRAY

    traced = check(f, X)
    assert {a.name: a.kind for a in traced.arguments} == {
        "x": "array", "factor": "scalar", "offsets": "hidden", "GLOBAL_SCALE": "scalar", "GLOBAL_ARRAY": "hidden",
    }  # fmt: skip
    factor = 5.0
    assert traced.matches((X,))
    np.testing.assert_array_equal(run_program(traced, (X,)), f(X))
    factor = 5
    assert not traced.matches((X,))


def test_methods_read_attributes_as_scalars_and_hidden_arrays() -> None:
    model = trace_helpers.Model(np.array([1.0, 2.0]), 0.5)
    traced = check(model.predict, Y)
    kinds = {a.name: a.kind for a in traced.arguments if a.kind != "object"}
    assert kinds == {
        "x": "array", "self_weights": "hidden", "self_size": "scalar", "self_bias": "scalar",
        "self_names_first": "scalar",
    }  # fmt: skip
    model.weights = np.array([3.0, 4.0, 5.0])
    assert traced.matches((Y,))
    np.testing.assert_array_equal(run_program(traced, (Y,)), model.predict(Y))
    model.bias = 0.75
    assert traced.matches((Y,))
    np.testing.assert_array_equal(run_program(traced, (Y,)), model.predict(Y))


class Guarded(trace_helpers.Model):
    def __setattr__(self, name: str, value: Any) -> None:  # no object of the trace's own can stand for one
        object.__setattr__(self, name, value)

    def predict(self, x: Any) -> Any:
        return super().predict(x) * 2


def test_inherited_methods_of_objects_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Guarded(np.array([1.0, 2.0]), 0.5)
    traced = check(model.predict, Y)
    monkeypatch.setattr(trace_helpers.Model, "predict", lambda self, x: x - 1)
    assert not traced.matches((Y,))
    check(model.predict, Y)


def test_what_an_object_holds_is_asked_of_it() -> None:
    def f(x: Any, model: Any) -> Any:
        if inspect.isclass(model) or inspect.isclass(x):
            return x
        fitted = [name for name in vars(model) if name.endswith("_")]
        return x * len(fitted) + vars(model)["scale"]

    model = types.SimpleNamespace(scale=2.0, coef_=1.0)
    own = Config()
    own.scale, own.mean_ = 3.0, 1.0  # type: ignore[attr-defined]
    for one in (model, own):
        traced = check(f, Y, one)
        one.n_ = 3  # type: ignore[attr-defined]
        assert not traced.matches((Y, one))
        check(f, Y, one)


class Mode(enum.Enum):
    ROWS = 0
    COLUMNS = 1


class Config:
    scale = 2.0
    offsets = np.array([1.0, 2, 3])


Point = namedtuple("Point", "x y")


def test_objects_that_decide_are_guarded_by_identity() -> None:
    def f(x, mode):
        return x.sum(axis=0 if mode is Mode.ROWS else 1)

    def g(x, mode):
        return {Mode.ROWS: x, Mode.COLUMNS: x.T}[mode] * 2

    for function in (f, g):
        traced = check(function, X, Mode.ROWS)
        assert traced.matches((X, Mode.ROWS)) and not traced.matches((X, Mode.COLUMNS))


def test_one_object_at_two_places_is_guarded() -> None:
    def f(x, first, second):
        return x * first.bias - second.bias

    one, two = (trace_helpers.Model(Y, bias) for bias in (1.5, 2.5))
    traced = check(f, Y, one, one)
    assert traced.matches((Y, one, one)) and not traced.matches((Y, one, two))
    check(f, Y, one, two)


def test_attributes_of_classes_and_named_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x, p):
        a, b = p
        return x * Config.scale + Config.offsets + a * p.y

    traced = check(f, X, Point(2.0, X))
    assert traced.matches((X, Point(3.0, X))) and not traced.matches((X, (3.0, X)))
    monkeypatch.setattr(Config, "offsets", np.zeros(3))
    np.testing.assert_array_equal(run_program(traced, (X, Point(2.0, X))), f(X, Point(2.0, X)))
    monkeypatch.setattr(Config, "scale", 3.0)
    np.testing.assert_array_equal(run_program(traced, (X, Point(2.0, X))), f(X, Point(2.0, X)))
    monkeypatch.setattr(Config, "scale", "3")
    assert not traced.matches((X, Point(2.0, X)))


def test_a_rebound_helper_needs_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return trace_helpers.scaled(x)

    traced = check(f, X)
    monkeypatch.setattr(trace_helpers, "scaled", lambda x: x + 1)
    assert not traced.matches((X,))


def test_isinstance_without_source_sees_an_array() -> None:
    namespace: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return x * 2 if isinstance(x, np.ndarray) else x * 3", namespace)
    exec("def g(x):\n    return x.sum() * 2 if isinstance(x.sum(), np.float64) else x * 3", namespace)
    check(namespace["f"], Y)
    check(namespace["g"], Y)


def test_parameters_of_every_kind() -> None:
    def f(a, /, b, c=2.0, *rest, d, e=None, **others):
        total = a * b + c
        for r in rest:
            total = total + r
        return total * d + (0 if e is None else e) + others["last"]

    check(f, Y, 2.0, 3.0, Y, Y * 2, d=2, last=Y)
    traced = check(f, Y, 2.0, d=Y, last=1, e=1.5)
    assert not traced.matches((Y, 2.0), {"d": Y, "last": 1})
    assert traced.matches((Y, 7.0), {"d": Y, "last": 3, "e": 0.5})


def checked(given: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if not isinstance(given[name], (np.ndarray, float, bool)):
            raise TypeError(f"{name} is of another type")


def test_locals_are_followed_once() -> None:
    def parameters(x: Any, scale: float = 2.0, *rest: Any, copy: bool = True) -> Any:
        checked(locals(), ("x", "scale", "copy"))
        y = x * scale
        return y + 1

    def before_a_change(x: Any) -> Any:
        y = x + 1
        seen = locals()
        x = y * 2
        seen["y"] = 3.0
        return seen["x"], x, y, list(seen)

    check(parameters, X, others=[(X, 3.0)])
    check(before_a_change, X)

    def twice(x: Any) -> Any:
        first = locals()
        y = x + 1
        return y, locals() is first

    def in_a_loop(x: Any) -> Any:
        for _ in range(3):
            x = x + len(locals())
        return x

    def of_a_branch(x: Any) -> Any:
        if x.sum() > 0:
            y = 1.0
        return x, "y" in locals()

    for function in (twice, in_a_loop, of_a_branch):
        with pytest.raises(TraceError, match=r"locals\(\)"):
            trace(function, (X,))


def test_containers_of_arrays() -> None:
    def f(xs, table):
        first, *others = xs
        return first * table["scale"] + sum(others) + len(xs)

    traced = check(f, [Y, Y * 2, Y * 3], {"scale": Y})
    assert not traced.matches(([Y, Y], {"scale": Y}))
    assert not traced.matches(([Y, Y, Y], {"other": Y}))


def test_results_of_every_structure() -> None:
    Pair = namedtuple("Pair", "low high")

    def pair(x):
        return Pair(x.min(), x.max())

    check(lambda x: (x + 1,), Y)
    check(lambda x: [x + 1, x.sum()], Y)
    check(lambda x: {"a": x + 1, "b": (x * 2, 3, None)}, Y)
    check(pair, Y)
    check(lambda x: (len(x), x.shape[0] * 2, x + 1), Y)
    traced = check(lambda x, a: (x, x + a, a), Y, 2.0)
    assert [r.kind for r in traced.results] == ["argument", "array", "float"]
    assert traced.fallback_reason is None
    assert re.search(r"return \(x, \w+, float\(a\)\)", traced.program_text)
    for untouched in (lambda x: x, lambda x: x[1:], lambda x: (x.T, x)):
        assert trace(untouched, (Y,)).fallback_reason == "it returns its arguments and computes nothing"
    of_outside = trace(lambda x: (GLOBAL_SCALES["wide"], x), (Y,))
    assert of_outside.fallback_reason == "it returns its arguments and computes nothing" and of_outside.untouched
    assert trace(lambda x: None, (Y,)).fallback_reason == "it returns None"
    assert trace(lambda x: x[1:] + 0, (Y,)).fallback_reason is None
    assert trace(lambda x: (x + 1, x * 2), (Y,)).fallback_reason is None
    copied = check(lambda x: x.copy(), Y)
    assert copied.results.kind == "array" and "cast(x)" in copied.program_text


def test_lists_that_come_back_as_they_are_are_no_program() -> None:
    def same(x: Any) -> Any:
        return x

    def in_a_tuple(x: Any) -> Any:
        return (x, x)

    for function in (same, in_a_tuple):
        for held in ([1, 2], {"k": 1}, [Y]):
            found = trace(function, (held,))
            assert found.fallback_reason == "it returns its arguments and computes nothing"
            assert found.untouched


def test_aliased_results_keep_their_values() -> None:
    def f(x):
        y = x * 2
        z = y[1:]
        y += 1
        return y, z, y

    check(f, Y)


# -- Python structure ---------------------------------------------------------------------------------------------


def test_loops_over_plain_values_unroll() -> None:
    def f(x, coefficients=(1.0, 0.5, -0.25)):
        total = 0
        for power, c in enumerate(coefficients):
            if power == 1:
                continue
            total += c * x**power
        total = total * 2
        k = 0
        while True:
            k += 1
            if k > 3:
                break
            total = total + k
        return total

    check(f, Y)


def test_a_loop_over_a_small_size_is_unrolled_under_a_guard() -> None:
    def f(x):
        total = np.zeros(x.shape[0])
        for k in range(x.shape[1]):
            total += x[:, k] * k
        rows = [row.sum() for row in x.T]
        return total, rows[0], max(len(r) for r in [x, x.T])

    traced = check(f, X, others=[(X[:1],), (X[:2],)])
    assert not traced.matches((X[:, :2],))


def test_branches_on_sizes_are_guards() -> None:
    def f(x):
        if x.shape[0] > 3 and x.ndim == 2:
            return x[:3].sum(axis=0)
        return x.sum(axis=0)

    traced = check(f, X)
    assert not traced.matches((X[:3],)) and traced.matches((np.ones((9, 3)),))
    assert not check(f, X[:3]).matches((X,))


def test_scalars_that_decide_structure_are_guarded_constants() -> None:
    def f(x, axis, flag, scale, mode="a", order=2):
        y = x.sum(axis=axis) * scale
        if flag:
            y = -y
        return {"a": y, "b": y + 1}[mode] ** order

    traced = check(f, X, 1, True, 2.0)
    constants = {a.name for a in traced.arguments if a.kind == "constant"}
    assert {"flag", "mode"} <= constants and "scale" not in constants
    assert traced.matches((X, 1, True, 9.5))
    assert not traced.matches((X, 0, True, 2.0))
    assert not traced.matches((X, 1, False, 2.0))
    assert not traced.matches((X, 1, True, 2.0, "b"))
    assert not traced.matches((X, 1, True, 2))


def test_python_arithmetic_on_scalars_stays_at_run_time() -> None:
    def f(x, a, n):
        half = a / 2 + n * 0.5 - (-a)
        return x * half + n // 2 - n % 3 + abs(a) + (n + 1) * a

    traced = check(f, Y, 1.5, 7, others=[(Y, -2.0, 3), (Y, math.inf, 0)])
    assert traced.matches((Y, 0.1, 100))


def test_division_of_python_numbers_raises_as_python() -> None:
    def f(x, a):
        return x * (1.0 / a)

    traced = check(f, Y, 4.0)
    # A kernel cannot raise ZeroDivisionError: the divisor is a guarded constant.
    assert not traced.matches((Y, 5.0))
    raises_like_numpy(f, Y, 0.0)


def test_math_functions_take_the_recorded_value() -> None:
    def f(x, a):
        return x * math.sqrt(a) + math.pi

    traced = check(f, Y, 4.0)
    assert not traced.matches((Y, 5.0))


def test_numpy_scalar_arguments_are_not_weak() -> None:
    x = Y.astype(np.float32)

    def f(x, a):
        return x * a

    assert check(f, x, 2.0).results.dtype == "float32"
    assert check(f, x, np.float64(2.0)).results.dtype == "float64"
    traced = check(f, x, np.float32(0.1))
    assert traced.results.dtype == "float32" and not traced.matches((x, 0.1))
    assert not trace(f, (x, 2.0)).matches((x, np.float64(2.0)))
    check(f, x, np.int32(3))
    check(f, x, np.uint8(200))
    check(f, x, np.bool_(True))


def test_comprehensions_lambdas_nested_functions_and_walrus() -> None:
    def f(x):
        def step(v, k=2):
            nonlocal count
            count += 1
            return v * k

        count = 0
        parts = [step(x, k) for k in range(3) if k]
        table = {k: v for k, v in zip("ab", parts, strict=False)}
        doubled = list(map(lambda v: v * 2, parts))
        return (y := table["a"] + table["b"]) + y + count + functools.reduce(lambda a, b: a + b, doubled)

    check(f, Y)


def test_variables_of_comprehensions_are_their_own_where_data_choose_an_item() -> None:
    def named_as_before(x):
        v, k = 3.0, [x[0, 0], x[0, 1]]
        chosen = [v if v > 0.3 else -v for v in (x[0, 0], x[1, 2])]
        table = {k: max(v, x[0, 1]) for k, v in enumerate(chosen)}
        largest = tuple(max(0.5, k) for k, v in zip(k, chosen, strict=True))
        return x + v, k[0] + k[1], chosen[0] + table[1] + largest[0]

    check(named_as_before, X)
    check(named_as_before, -X)


def test_strings_asserts_with_errstate_and_finally() -> None:
    # In a module of its own: pytest rewrites the asserts of a test module, so that its code is not its source.
    f = trace_helpers.normalized
    check(f, X + 1)
    raises_like_numpy(f, X, "other")
    raises_like_numpy(f, Y)


COMPOSITES = [
    lambda x: np.diff(x), lambda x: np.diff(x, n=2, axis=0), lambda x: np.gradient(x, axis=0), lambda x: np.trapezoid(x),
    lambda x: np.polyval([1.0, -2.0, 0.5], x), lambda x: np.sinc(x), lambda x: np.cov(x), lambda x: np.isin(x, [0.0, 1 / 7]),
    lambda x: np.nansum(x, axis=0), lambda x: np.fix(x), lambda x: np.angle(x), lambda x: np.fliplr(x) + 0, lambda x: np.average(x, axis=1),
    lambda x: np.tensordot(x, x.T, 1), lambda x: np.tensordot(x, x, ([0], [0])), lambda x: np.meshgrid(x[0], x[1]),
    lambda x: np.meshgrid(x[0], x[:, 0], indexing="ij", sparse=True)[1] * 2, lambda x: np.tril(x), lambda x: np.triu(x, 1),
    lambda x: np.select([x > 1, x > 0.5], [x, x * 2], -1), lambda x: np.round(x), lambda x: np.round(x, 2), lambda x: x.round(1),
    lambda x: np.dstack([x, x]), lambda x: np.amax(x, axis=0), lambda x: np.divmod(x, 0.3), lambda x: np.append(x, x),
    lambda x: np.result_type(x, 1.0).type(2) * x, lambda x: np.add.outer(x[0], x[1]), lambda x: np.isclose(x, 0.0),
]  # fmt: skip


def test_a_set_among_the_constants_has_no_order() -> None:
    # Read from a .pyc it may stand in another order than just compiled.
    code = (lambda x: x in {0, 8}).__code__
    consts = tuple(frozenset([8, 0]) if isinstance(c, frozenset) else c for c in code.co_consts)
    assert repr(consts) != repr(code.co_consts)
    assert code == code.replace(co_consts=consts)
    others = tuple(frozenset([8, False]) if isinstance(c, frozenset) else c for c in code.co_consts)
    assert code != code.replace(co_consts=others)


@pytest.mark.parametrize("number", range(len(COMPOSITES)))
def test_numpy_composites_have_rules_or_are_followed(number: int) -> None:
    for x in (X, X.astype(np.float32)):
        check(
            COMPOSITES[number],
            x,
            others=[(np.ones((5, 6)),), (x[:3],)],
            compare=lambda a, b, x=x: all_close(a, b, x.dtype),
        )


def all_close(got: Any, expected: Any, dtype: Any) -> None:
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            close(a, b, dtype)
    else:
        close(got, expected, dtype)


# -- which source ----------------------------------------------------------------------------------------------------


def test_lambdas_on_one_line_are_told_apart() -> None:
    first, second, third = (lambda x: x + 1), (lambda x: x + 2), (lambda x, k=[lambda y: y * 2]: k[0](x))  # noqa: B006
    check(first, Y)
    check(second, Y)
    check(third, Y)


def test_a_decorated_function_is_found() -> None:
    def passes(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return wrapper

    @passes
    def f(x):
        return x + 1

    check(f, Y)


def test_without_source_the_protocols_trace(tmp_path: Any) -> None:
    namespace: dict[str, Any] = {"np": np, "softmax": softmax}
    exec(
        "def f(x, a):\n    y = np.exp(-x) * a\n    y += 1\n    return softmax(y).sum(axis=0) + len(x), x.shape[0]",
        namespace,
    )
    traced = check(namespace["f"], Y, 2.0)
    assert traced.traced_by == "protocols"
    exec("def g(x):\n    return x if x.sum() > 0 else -x", namespace)
    with pytest.raises(TraceError, match="loops: the truth value of a traced array"):
        trace(namespace["g"], (Y,))


def test_a_file_that_changed_since_import_is_not_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import linecache

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "changing_module.py"
    file.write_text("import numpy as np\ndef f(x):\n    return np.exp(x) + 1\n")
    module = importlib.import_module("changing_module")
    file.write_text("import numpy as np\ndef f(x):\n    return np.exp(x) + 2\n")
    linecache.checkcache()
    assert source_of(module.f) is None
    assert check(module.f, Y).traced_by == "protocols"
    file.unlink()
    linecache.checkcache()
    check(module.f, Y)


def test_memmap_and_other_arrays(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(5,))
    check(lambda x: x + 1, mapped, compare=lambda a, b: np.testing.assert_array_equal(a, np.asarray(b)))


def test_the_arguments_are_never_touched() -> None:
    x = Y.copy()
    x.setflags(write=False)
    trace(softmax, (x,))
    trace(kmeans, (X, X[:2]))


def test_tracing_is_deterministic_and_sizes_do_not_matter() -> None:
    one, two = trace(kmeans, (X, X[:2])), trace(kmeans, (np.ones((100, 5)), np.ones((7, 5))))
    assert one.program_text == two.program_text and one.digest == two.digest
    assert one.digest != trace(kmeans, (X.astype(np.float32), X[:2].astype(np.float32))).digest
    assert one.digest != trace(trig, (Y, Y, 1.0)).digest
    assert len(one.digest) == 32


def test_kmeans_is_traced_within_20_ms() -> None:
    import time

    x, m = np.ones((1000, 2)), np.ones((2, 2))
    trace(kmeans, (x, m))
    # CPU time: other work on the machine does not count.
    times = []
    for _ in range(5):
        start = time.process_time()
        trace(kmeans, (x, m))
        times.append(time.process_time() - start)
    assert min(times) < 0.02


def test_importing_the_tracer_is_light() -> None:
    import subprocess

    code = (
        "import sys, numpy; before = set(sys.modules); import tilewright.trace; "
        "print(sorted(m.split('.')[0] for m in set(sys.modules) - before))"
    )
    names = set(eval(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout))
    assert not names & {"halide", "numba", "torch", "jax", "typer", "rich", "sqlite3", "hypothesis"}


# -- random functions ------------------------------------------------------------------------------------------------

_UNARY = ["np.sin({})", "np.abs({})", "-{}", "np.sqrt(np.abs({}))", "np.floor({})", "({} ** 2)", "np.tanh({})", "({})[::-1]",
          "({}).T.T", "np.isfinite({})", "({} > 0)", "np.maximum({}, 0.5)", "({}).astype(np.float32)", "({}).reshape(-1).reshape(({}).shape)"]  # fmt: skip
_BINARY = ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "np.minimum({}, {})", "np.where({} > {}, 1.5, 2)",
           "np.hypot({}, {})", "({} < {})", "np.arctan2({}, {})"]  # fmt: skip
_LEAVES = ["x", "y", "r", "a", "2.0", "3", "n", "x.sum(axis=1, keepdims=True)", "y.mean(axis=0)", "x.max()",
           "x.argmin(axis=0)", "np.linalg.norm(y, axis=1)[:, None]", "x.shape[0]", "y[:, ::-1]", "x[:1]", "r[None]"]  # fmt: skip


@st.composite
def expressions(draw: Any, depth: int = 4) -> str:
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(_LEAVES))
    if draw(st.booleans()):
        inner = draw(expressions(depth - 1))
        template = draw(st.sampled_from(_UNARY))
        return template.replace("{}", inner)
    return draw(st.sampled_from(_BINARY)).format(draw(expressions(depth - 1)), draw(expressions(depth - 1)))


@settings(max_examples=examples(250), deadline=None, suppress_health_check=list(HealthCheck))
@given(body=expressions(), dtypes=st.lists(st.sampled_from(["float64", "float32", "int32", "int64", "bool", "uint8"]), min_size=3, max_size=3),
       shape=st.sampled_from([(4, 3), (1, 5), (2, 1), (7, 2)]))  # fmt: skip
def test_random_expressions(body: str, dtypes: list[str], shape: tuple[int, int]) -> None:
    import linecache
    import warnings

    source = f"def f(x, y, r, a, n):\n    t = {body}\n    u = t + t\n    return np.asarray(u)[None], t\n"
    name = f"<random {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    f = namespace["f"]
    rng = np.random.default_rng(3)

    def make(rows: int, columns: int) -> tuple[Any, ...]:
        x, y = (np.ascontiguousarray(rng.standard_normal((rows, columns)) * 3).astype(d) for d in dtypes[:2])
        return x, y, (rng.standard_normal(columns) * 2).astype(dtypes[2]), 1.25, 3

    args = make(*shape)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = f(*args)
        except Exception:
            raises_like_numpy(f, *args)
            return
        if any(np.asarray(r).dtype.kind not in "biuf" for r in results):
            return
    try:
        check(f, *args, others=[make(6, 4), make(1, shape[1]), make(shape[0], 1)], compare=nearly_same)
    except TraceError as error:
        assert "exactly" in str(error) or "exponent" in str(error) or "half" in str(error) or "float16" in str(error), (
            error
        )
    finally:
        del linecache.cache[name]


def nearly_same(got: Any, expected: Any) -> None:
    """dtype and shape exactly; bits up to what NumPy's own layouts (K order, SIMD tails) change in float functions."""
    for a, b in zip(got, expected, strict=True):
        assert type(a) is type(b) or isinstance(b, (np.ndarray, np.generic))
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
        tolerance = 1e-4 if np.asarray(b).dtype in (np.float32, np.float16) else 1e-10
        np.testing.assert_allclose(
            np.asarray(a).astype(float), np.asarray(b).astype(float), rtol=tolerance, atol=tolerance
        )


assert isinstance(kmeans, types.FunctionType)
