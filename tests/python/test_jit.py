"""@tilewright.jit against NumPy: the result, and all the ways in which the wrapped function is still that function."""

import copy
import functools
import gc
import inspect
import logging
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import types
import warnings
import weakref

import numpy as np
import pytest
import raising_functions
import tilewright
from tilewright import effects

pytestmark = pytest.mark.compile

SCALE = 2.0
TABLE = np.arange(1.0, 5.0)


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test sees another one's store."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def labels(X, means):
    """Nearest mean."""
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def affine(x, a=2.0, *, b=1.0):
    return x * a + b


@tilewright.jit
def module_level(x):
    """Doc."""
    return x + 1


def same(result, expected):
    assert type(result) is type(expected)
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    assert np.shape(result) == np.shape(expected)
    assert np.array_equal(result, expected, equal_nan=np.asarray(expected).dtype.kind in "fc")


def points(n, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((n, 2)).astype(dtype)


# ---- behaving as the function ------------------------------------------------------------------------------------------


def test_it_looks_like_the_function():
    f = tilewright.jit(affine)
    assert (f.__name__, f.__qualname__, f.__module__) == ("affine", "affine", __name__)
    assert f.__wrapped__ is affine
    assert inspect.signature(f) == inspect.signature(affine)
    assert module_level.__doc__ == "Doc."
    assert repr(f) == f"<tilewright.jit {__name__}.affine>"


def test_pickle_and_copy_go_by_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy({"f": module_level})["f"] is module_level


def test_jit_refuses_what_it_cannot_wrap():
    with pytest.raises(TypeError, match="Give a str: 'host', 'cuda' or 'host,cuda'"):
        tilewright.jit(target=("host", "cuda"))
    with pytest.raises(TypeError, match="Give a Python function"):
        tilewright.jit(np.sum)
    with pytest.raises(ValueError, match="contract: 'exact' is not known"):
        tilewright.jit(contract="exact")
    with pytest.raises(ValueError, match="target: 'arm64' is not known"):
        tilewright.jit(target="arm64")
    assert tilewright.jit(tilewright.jit(affine)).__wrapped__ is affine


def test_positional_keyword_and_default_arguments():
    f = tilewright.jit(
        affine,
    )
    x = np.linspace(-1, 1, 1001)
    for args, kwargs in [
        ((x,), {}),
        ((x, 3.0), {}),
        ((x,), {"a": 3.0}),
        ((x,), {"b": 0.5}),
        ((), {"x": x, "a": 1.5, "b": 2.5}),
    ]:
        same(f(*args, **kwargs), affine(*args, **kwargs))
    assert len(f.specializations) == 1
    misses = f.misses
    same(f(x, 7.0, b=-1.0), affine(x, 7.0, b=-1.0))
    assert f.misses == misses
    with pytest.raises(TypeError):
        f()
    with pytest.raises(TypeError):
        f(x, c=3)


def test_methods_read_and_guard_self():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @tilewright.jit(strict=True)
        def apply(self, x):
            return x * self.scale

    x = np.arange(100.0)
    model = Model(2.0)
    same(model.apply(x), x * 2.0)
    model.scale = 3.0
    same(model.apply(x), x * 3.0)
    same(Model(5.0).apply(x), x * 5.0)
    assert Model.apply.__name__ == "apply"


def test_star_arguments():
    @tilewright.jit
    def total(*arrays):
        result = arrays[0] * 1.0
        for a in arrays[1:]:
            result = result + a
        return result

    x = np.arange(200.0)
    same(total(x, x, x), x * 3)
    same(total(x, x), x * 2)


# ---- results ----------------------------------------------------------------------------------------------------------


def test_the_second_call_stays_in_c():
    f = tilewright.jit(labels, strict=True)
    X, means = points(10_000), points(3, 1)
    same(f(X, means), labels(X, means))
    misses = f.misses
    same(f(X, means), labels(X, means))
    same(f(X[:9_999], means), labels(X[:9_999], means))
    assert f.misses == misses


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 31, 33, 100, 1023, 4097, 50_001])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sizes(n, k):
    f = tilewright.jit(labels, strict=True)
    X, means = points(n), points(k, 1)
    same(f(X, means), labels(X, means))
    same(f(X, means), labels(X, means))


def test_of_two_zeros_numpy_takes_the_second():
    def zeros(x, y):
        return np.maximum(x, y), np.minimum(x, y), x.clip(0.0, 1.0), np.clip(x, 0.0, None), np.clip(x, y, 1.0)

    f = tilewright.jit(zeros, strict=True)
    for dtype in (np.float32, np.float64):
        x = np.tile(np.array([0.0, -0.0, np.nan, 1.0], dtype), 20_000)
        y = np.roll(x, 1)
        f.for_args(x, y)
        for a, b in ((x, y), (y, x)):
            for result, expected in zip(f(a, b), zeros(a, b), strict=True):
                same(result, expected)
                assert np.array_equal(np.signbit(result), np.signbit(expected))


def test_a_schedule_may_require_a_size_that_begins_with_a_bracket():
    def inner(x):
        return x[1:-1, ::2] + 1

    f = tilewright.jit(inner, strict=True)
    x = points(300)[:, [0, 1] * 100]
    f.for_args(x)
    same(f(x), inner(x))
    same(f(x[:, :7]), inner(x[:, :7]))


@pytest.mark.parametrize("name", ["i", "j", "r", "ii", "_0", "x_0"])
def test_integers_with_names_that_loops_have(name):
    scope = {}
    exec(f"def picked(x, {name}):\n    return x[{name}] * 2 + x - x[{name}, 0]", scope)  # noqa: S102
    picked = scope["picked"]
    f = tilewright.jit(picked, strict=True)
    x = points(300)[:, [0, 1] * 100]
    f.for_args(x, 3)
    for index in (3, 0, 150):
        same(f(x, index), picked(x, index))


def test_integers_with_names_that_plans_use():
    def ramp(x, isa, layout):
        return np.linspace(0.0, 1.0, isa) + x[:layout, None]

    f = tilewright.jit(ramp, strict=True)
    x = np.arange(500.0)
    f.for_args(x, 400, 300)
    same(f(x, 400, 300), ramp(x, 400, 300))
    same(f(x, 3, 2), ramp(x, 3, 2))


def test_one_function_serves_all_sizes():
    f = tilewright.jit(labels, strict=True)
    means = points(3, 1)
    for n in (100_000, 5, 100, 99_999, 2_000, 17, 300_000):
        X = points(n, n)
        same(f(X, means), labels(X, means))
    assert len(f.specializations) == 1


@pytest.mark.parametrize("n", [50, 60_000])
def test_layouts(n):
    f = tilewright.jit(labels, strict=True)
    X, means = points(n), points(3, 1)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    readonly = X.copy()
    readonly.flags.writeable = False
    for variant in (
        X,
        np.asfortranarray(X),
        X[::-1],
        X[:, ::-1],
        wide,
        X[::2],
        unaligned,
        readonly,
        np.broadcast_to(X[0], X.shape),
    ):
        same(f(variant, means), labels(variant, means))
        same(f(X, np.asfortranarray(means)), labels(X, means))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "bool"])
def test_dtypes(dtype):
    def mixed(x, y):
        return np.where(x > y, x, y + x).sum(axis=0), np.maximum(x, y)

    f = tilewright.jit(mixed, strict=True)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 100, (37, 53)).astype(dtype) for _ in range(2))
    for result, expected in zip(f(x, y), mixed(x, y), strict=True):
        same(result, expected)


def test_scalars_follow_nep_50():
    f = tilewright.jit(affine)
    x = np.linspace(0, 1, 777, dtype=np.float32)
    for a in (2.0, np.float64(2.0), np.float32(2.0), 2, True, np.int64(3), 2.5):
        same(f(x, a), affine(x, a))
        same(f(x, a), affine(x, a))


def test_an_axis_is_a_guarded_constant():
    @tilewright.jit(strict=True)
    def total(x, axis):
        return x.max(axis=axis)

    x = points(300)
    for axis in (0, 1, 0, -1):
        same(total(x, axis), x.max(axis=axis))
    assert "axis" in total.explain(source=False)


def test_guards_are_explained_in_words():
    class Model:
        scale = 2.0

        @tilewright.jit(strict=True)
        def apply(self, x, parts):
            return x * self.scale * parts[0]

    Model().apply(np.arange(9.0), (1.5, "a"))
    text = Model.apply.explain(source=False)
    for line in (
        "self_scale: self.scale, a number from outside the call, read at each call", "parts is a tuple of 2", "self is a ",
        "parts_1 == 'a' (it is not a number)", "1 name of modules, builtins and functions means what it did",
    ):  # fmt: skip
        assert f"\n  {line}" in text, text
    assert "PythonGuard" not in text


def test_an_error_of_the_trace_alone_is_said_once_and_no_call_is_traced_a_third_time(monkeypatch):
    from tilewright.ops import FUNCTIONS  # with its rules, whichever test is first

    def broken(tracer, x):
        raise KeyError("a defect")

    def f(x):
        return np.rot90(x) + 1

    monkeypatch.setitem(FUNCTIONS, np.rot90, broken)
    function, x = tilewright.jit(f), points(300)
    line = f.__code__.co_firstlineno + 1
    text = (
        f"runs in NumPy: {__file__}:{line}, in f: tracing it raises KeyError: 'a defect'; NumPy raises nothing there. "
        "Leave it out of the compiled function."
    )
    same(function(x), f(x))  # which shows whether the error is the function's own
    with pytest.warns(tilewright.FallbackWarning) as seen:
        same(function(x), f(x))
    assert [str(warning.message) for warning in seen] == [text] and seen[0].lineno == line
    assert function.explain(source=False).splitlines()[1:] == [
        "runs in NumPy:",
        f"  {text.removeprefix('runs in NumPy: ')}",
    ]
    monkeypatch.setattr("tilewright.trace.trace", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (300, 200):
            same(function(points(n)), f(points(n)))
    assert str(function._refused.popitem()[1]) in text


def by_mode(x, mode="plain"):
    if mode in ("log", 1):
        seen.append(id(x))  # Python has another array there than the caller
    return x * 2 + 1


seen: list[object] = []


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize(("refused", "taken"), [("log", "plain"), (1, 2)])
def test_what_one_word_or_number_refuses_is_compiled_with_another(refused, taken):
    x = points(300)
    for call in (lambda f, mode: f(x, mode), lambda f, mode: f(x, mode=mode)):
        f = tilewright.jit(by_mode)
        for mode in (refused, taken, refused, taken):
            same(call(f, mode), by_mode(x, mode))
        assert len(f.specializations) == 1
    f = tilewright.jit(by_mode)
    same(f(x, mode=refused), f(x))
    assert len(f.specializations) == 1


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize("as_keyword", [False, True])
def test_words_that_are_new_at_each_call_are_not_traced_for_ever(as_keyword, monkeypatch):
    def labelled(x, label):
        seen.append(label)
        return x + len(label)

    from tilewright import trace as package

    traces, trace = [], package.trace
    monkeypatch.setattr(package, "trace", lambda *args, **kwargs: (traces.append(1), trace(*args, **kwargs))[1])
    f, x = tilewright.jit(labelled), points(300)
    for k in range(50):
        label = "a" * k
        same(f(x, label=label) if as_keyword else f(x, label), x + k)
    assert len(traces) == 16  # half of them for calls that are watched


def test_for_args_passes_the_functions_own_errors_and_names_ours(monkeypatch):
    from tilewright.ops import FUNCTIONS  # with its rules, whichever test is first

    scope = {}
    ours = compile("def broken(tracer, x): return {}['a defect']", tilewright.__file__, "exec")
    exec(ours, scope)

    def own(x):
        raise LookupError("the function's own")

    def f(x):
        return np.rot90(x) + 1

    monkeypatch.setitem(FUNCTIONS, np.rot90, scope["broken"])
    with pytest.raises(LookupError, match="the function's own"):
        tilewright.jit(own).for_args(points(300))
    with pytest.raises(
        tilewright.TraceError, match="in f: tracing the call raised KeyError: 'a defect'; NumPy raises nothing there"
    ):
        tilewright.jit(f).for_args(points(300))


@pytest.mark.parametrize("strict", [False, True])
def test_an_error_of_the_functions_own_is_told_alone(strict):
    @tilewright.jit(strict=strict)
    def f(x, y):
        return x @ y + 1

    for args, kind in (((points(3), points(5)), ValueError), ((points(3),), TypeError)):
        for _ in range(2):
            with pytest.raises(kind) as seen:
                f(*args)
            assert seen.value.__context__ is None and seen.value.__cause__ is None


def test_copy_modes_of_numpy():
    def copied(x, y):
        a = np.array(x, copy=np._CopyMode.IF_NEEDED)
        b = np.array(x, copy=np._CopyMode.ALWAYS)
        c = np.array(y, dtype=np.float64, copy=np._CopyMode.IF_NEEDED)
        return a * 2 + b + c, np.array(x, copy=np._CopyMode.NEVER) + 1

    def refused(y):
        return np.array(y, dtype=np.float64, copy=np._CopyMode.NEVER) + 1

    x, y = points(300), points(300).astype(np.float32)
    for got, expected in zip(tilewright.jit(copied, strict=True)(x, y), copied(x, y), strict=True):
        same(got, expected)
    with pytest.raises(ValueError, match="Unable to avoid copy while creating an array as requested"):
        tilewright.jit(refused)(y)


@pytest.mark.parametrize("name", ["_W", "__W", "W_", "_"])
def test_names_with_underscores_in_sizes(name):
    class Model:
        pass

    setattr(Model, name, np.eye(3))
    made = tilewright.jit(lambda m, x__y, _z: x__y @ getattr(m, name) + x__y[_z : _z + 1], strict=True)
    x = np.random.default_rng(0).random((20_000, 3))
    np.testing.assert_allclose(made(Model(), x, 7), x @ np.eye(3) + x[7:8], rtol=1e-12)


def test_a_0d_result_is_a_numpy_scalar():
    @tilewright.jit(strict=True)
    def biggest(x):
        return x.max()

    same(biggest(np.arange(1000.0)), np.float64(999.0))


def test_globals_are_guarded_and_arrays_read_at_each_call(monkeypatch):
    @tilewright.jit(strict=True)
    def scaled(x):
        return x[:, None] * TABLE * SCALE

    x = np.arange(50.0)
    same(scaled(x), x[:, None] * TABLE * SCALE)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    same(scaled(x), x[:, None] * TABLE * 5.0)
    monkeypatch.setitem(globals(), "TABLE", np.arange(7.0))
    same(scaled(x), x[:, None] * np.arange(7.0) * 5.0)
    TABLE[2] = -1
    same(scaled(x), x[:, None] * TABLE * 5.0)


def halved(x):
    return x * FACTOR + WEIGHTS[0]


def doubled(x):
    return x * 2.0


FACTOR = 0.5
WEIGHTS = np.arange(4.0)


def test_a_function_as_argument_and_what_it_reads_are_checked_without_python(monkeypatch):
    @tilewright.jit(strict=True)
    def repeated(x, step, n):
        for _ in range(n):
            x = step(x)
        return x

    def check(x, step, n, misses):
        before = repeated.misses
        expected = x
        for _ in range(n):
            expected = step(expected)
        same(repeated(x, step, n), expected)
        assert repeated.misses == before + misses

    x = np.arange(1000.0)
    check(x, halved, 20, 1)
    check(x, halved, 31, 0)
    check(x, doubled, 9, 1)
    check(x, halved, 12, 0)
    monkeypatch.setitem(globals(), "WEIGHTS", np.arange(4.0) - 7)
    check(x, halved, 20, 0)
    monkeypatch.setitem(globals(), "FACTOR", 0.25)
    check(x, halved, 20, 0)
    check(x, doubled, 20, 0)
    assert len(repeated.specializations) == 2


ZERO = 0.0


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_a_global_zero_is_told_from_negative_zero(kind, monkeypatch):
    @tilewright.jit(strict=True)
    def copied(x):
        return np.copysign(x, ZERO)

    x = np.arange(1000.0)
    for number in (0.0, -0.0, 0.0):
        monkeypatch.setitem(globals(), "ZERO", kind(number))
        same(copied(x), np.copysign(x, number))


def test_closures():
    def make(scale, table):
        @tilewright.jit(strict=True)
        def f(x):
            return x[:, None] * table + scale

        return f

    x = np.arange(30.0)
    same(make(2.0, np.arange(3.0))(x), x[:, None] * np.arange(3.0) + 2.0)
    same(make(3.0, np.arange(4.0))(x), x[:, None] * np.arange(4.0) + 3.0)


def test_out():
    f = tilewright.jit(labels, strict=True)
    X, means = points(5_000), points(2, 1)
    out = np.empty(5_000, np.int64)
    assert f(X, means, out=out) is out
    same(out, labels(X, means))
    out[:] = -1
    assert f(X, means, out=out) is out
    same(out, labels(X, means))
    with pytest.raises((TypeError, ValueError)):
        f(X, means, out=np.empty(4_999, np.int64))
    with pytest.raises((TypeError, ValueError)):
        f(X, means, out=np.empty(5_000, np.int32))


def test_out_may_overlap_an_argument():
    @tilewright.jit(strict=True)
    def shifted(x, y):
        return x + y

    base = np.arange(10_001.0)
    expected = base[:-1] + base[1:]
    shifted(base[:-1].copy(), base[1:].copy())
    shifted(base[:-1], base[1:], out=base[1:])
    same(base[1:].copy(), expected)


def test_returned_arrays_are_as_separate_as_numpys():
    def states(x):
        position, speed = np.zeros(len(x)), np.zeros(len(x))
        doubled = x * 2
        return position, speed, doubled, x * 2, doubled.copy()

    f = tilewright.jit(states, strict=True)
    x = np.arange(50_000.0)
    f.for_args(x)
    results = f(x)
    for k, result in enumerate(results):
        same(result, states(x)[k])
        assert not any(np.shares_memory(result, other) for other in results[:k])


def test_results_that_nobody_may_write():
    def f(x):
        return np.broadcast_to(x * 2, (3, 10))

    def zeros(x):
        return (x * 2).imag

    for function in (f, zeros):
        for strict in (True, False):
            result = tilewright.jit(function, strict=strict)(np.arange(10.0))
            assert not result.flags.writeable and np.array_equal(result, function(np.arange(10.0)))


def test_an_array_of_no_dimensions_is_no_scalar():
    def total(x):
        return np.array(x.max())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = tilewright.jit(total)(np.arange(50_000.0))
    assert type(result) is np.ndarray and result.shape == () and result == 49_999


def test_more_dimensions_than_plans_have_are_numpys():
    def added(x):
        return x + 1

    x = np.arange(512.0).reshape((2,) * 9)
    with pytest.raises(tilewright.TraceError, match="it works on arrays of 9 dimensions, where at most 8 are compiled"):
        tilewright.jit(added, strict=True)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(tilewright.jit(added)(x), x + 1)
    deep = tilewright.jit(lambda x: x[:, None] * 2, strict=True)
    with pytest.raises(tilewright.TraceError, match="9 dimensions"):
        deep(x[0])


# ---- where NumPy runs it ----------------------------------------------------------------------------------------------


def test_fallback_warns_once_per_line_and_is_right():
    @tilewright.jit
    def written(x):
        return x * memoryview(x).nbytes

    x = np.arange(10.0)
    with pytest.warns(tilewright.FallbackWarning) as caught:
        same(written(x), written.__wrapped__(x))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(written(x * 2), written.__wrapped__(x * 2))
    assert "runs in NumPy" in written.explain(source=False)


def test_an_array_whose_size_the_data_decide_is_a_result():
    @tilewright.jit(strict=True)
    def chosen(x):
        return x[x > 1] * 2

    @tilewright.jit(strict=True)
    def several(x):
        return x[x > 1], x.sum(), x[x < 0] + 1

    for x in (np.arange(10.0), np.zeros(10), np.arange(10.0) - 7):
        same(chosen(x), chosen.__wrapped__(x))
        got, expected = several(x), several.__wrapped__(x)
        assert type(got) is tuple
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    assert len(chosen.specializations) == 1


def test_no_iteration_reads_beyond_what_a_mask_picks_out():
    """A check of the whole loop fails only behind it: until then positions are clamped into what is there."""

    def far(x, m, n):
        total = 0.0
        for i in range(n):
            total += x[m][900_000] + i
        return total

    x, compiled = np.ones(1_000_000), tilewright.jit(strict=True)(far)
    same(compiled(x, x > 0, 70), far(x, x > 0, 70))
    for m in (x > 1, np.arange(len(x)) < 900_000):
        with pytest.raises(IndexError, match="index 900000 is out of bounds for axis 0 with size"):
            compiled(x, m, 70)
    assert len(compiled.specializations) == 1


def test_arguments_have_what_numpy_wrote_before_it_raised():
    def fill(x, n):  # the sizes of this call are such that tracing meets the error
        c = x.copy()
        for i in range(n):
            x[i] = 5.0
            c = c[1:] + 1
        return c

    x, expected, compiled = np.arange(4.0), np.arange(4.0), tilewright.jit(strict=True)(fill)
    with pytest.raises(IndexError) as of_numpy:
        fill(expected, 7)
    with pytest.raises(IndexError) as of_ours:
        compiled(x, 7)
    same(x, expected)
    assert str(of_ours.value) == str(of_numpy.value)


@pytest.mark.parametrize(
    "function",
    [
        raising_functions.raises_behind_data,
        raising_functions.asserts,
        raising_functions.asserts_in_a_try,
        raising_functions.raises_in_a_loop,
        raising_functions.warns_behind_data,
        raising_functions.raises_on_either_way,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_raised_behind_data_is_numpys_own(function):
    """Kernels serve the calls that raise nothing; the others are NumPy's from their beginning."""
    compiled = tilewright.jit(function, strict=True)

    def outcome(call, x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = call(x)
            except Exception as error:
                result = type(error), str(error)
        return result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught], x

    for x in (np.arange(5.0), np.full(5, 60.0), np.array([1.0, 2, np.inf, 3, 4]), np.arange(5.0) - 70, np.arange(5.0)):
        got, expected = outcome(compiled, x.copy()), outcome(function, x.copy())
        if isinstance(expected[0], (np.ndarray, float)):
            same(got[0], expected[0])
        else:
            assert got[0] == expected[0]
        assert got[1] == expected[1]
        same(got[2], expected[2])
    assert len(compiled.specializations) == 1


def test_fallback_warns_where_a_function_is_of_no_module():
    """As those that `exec` makes: Python drops warnings of the module None."""
    made = {"np": np}
    exec(compile("def f(x):\n    return np.block([x, np.array2string(x)])\n", "made_by_exec.py", "exec"), made)
    with pytest.warns(tilewright.FallbackWarning, match="made_by_exec.py:2"):
        tilewright.jit(made["f"])(np.arange(3.0))


def test_strict_raises_instead():
    @tilewright.jit(strict=True)
    def written(x):
        return x * memoryview(x).nbytes

    for _ in range(2):
        with pytest.raises(tilewright.TraceError, match="test_jit.py"):
            written(np.arange(10.0))


def test_errstate_raise_runs_in_numpy():
    @tilewright.jit
    def divide(x, y):
        return (np.sqrt(x * x + x) - np.sqrt(x + x)) + x / y  # several passes: compiled code wins on any machine

    x, y = np.ones(1_000_000), np.zeros(1_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(divide(x, y + 1), x)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        divide(x, y)
    misses = divide.misses
    with np.errstate(all="ignore"):
        same(divide(x, y), np.full(1_000_000, np.inf))
    assert divide.misses == misses


def test_numpys_own_errors():
    f = tilewright.jit(labels)
    X, means = points(100), points(3, 1)
    f(X, means)
    with pytest.raises(ValueError):
        f(X, np.ones((3, 4)))
    with pytest.raises(ValueError, match="attempt to get argmin of an empty sequence"):
        f(X, means[:0])
    with pytest.raises(TypeError):
        f("text", means)


@pytest.mark.parametrize("make", ["object", "masked", "matrix", "swapped", "complex", "list"])
def test_arrays_that_are_not_plain(make):
    @tilewright.jit
    def f(x):
        return x * 2 + 1

    x = np.arange(12.0).reshape(3, 4)
    value = {
        "object": x.astype(object),
        "masked": np.ma.masked_array(x, x > 5),
        "matrix": np.matrix(x),
        "swapped": x.astype(">f8"),
        "complex": x + 1j,
        "list": [1, 2],
    }[make]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f.__wrapped__(value)
        except TypeError:
            with pytest.raises(TypeError):
                f(value)
            return
        result = f(value)
    assert type(result) is type(expected)
    assert np.array_equal(np.asarray(result), np.asarray(expected))


def test_memmap_is_an_array(tmp_path):
    @tilewright.jit(strict=True)
    def f(x):
        return x * 2

    data = np.memmap(tmp_path / "x", np.float64, "w+", shape=(5000,))
    data[:] = np.arange(5000)
    assert np.array_equal(f(data), np.arange(5000) * 2.0)


def test_disable(monkeypatch):
    f = tilewright.jit(labels)
    X, means = points(1000), points(2, 1)
    monkeypatch.setenv("TILEWRIGHT_DISABLE", "1")
    same(f(X, means), labels(X, means))
    assert f.specializations == []


def frames_of(function, *args):
    """How many Python functions and built-in ones one call enters: what it costs, without a clock."""
    entered = []

    def note(frame, event, arg):
        if event in ("call", "c_call"):
            entered.append(arg if event == "c_call" else frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return entered[:-1]  # the last one takes the profile away


@pytest.mark.parametrize(("size", "most"), [(1_000_000, 0), (4, 7)])
def test_a_warm_call_enters_next_to_no_python(size, most):
    @tilewright.jit
    def work(x, y):
        return (x + y) * x - y / (x + 2)

    x = np.ones(size)
    work(x, x), work(x, x)
    assert len(frames_of(work, x, x)) <= most  # four elements are left to NumPy, which is looked up


def test_a_refused_call_costs_little_more_than_numpy():
    @tilewright.jit
    def written(x):
        return x * memoryview(x).nbytes

    x = np.zeros(4)
    with pytest.warns(tilewright.FallbackWarning):
        written(x)
    written(x)
    assert frames_of(written, x) == frames_of(written.__wrapped__, x)


@pytest.mark.parametrize(
    "others",
    [
        [(np.zeros(5), 1), (np.zeros(4), 2), (np.zeros(4), True), (np.zeros(4, np.float32), 1), (np.zeros((4, 1)), 1)],
        [(np.zeros(4), "a"), (np.zeros(4), 1.0), (np.zeros(4), None), (np.zeros(4), np.sin), (np.zeros(4), np.cos)],
        [
            (np.zeros(4), lambda: 1),
            (np.zeros(4), lambda: 2),
            (np.zeros(4), float),
            (np.zeros(4), len),
            (np.zeros(4), 10**30),
        ],
        [
            (np.zeros(4), (1, 2)),
            (np.zeros(4), [1]),
            (4, np.zeros(4)),
            (np.zeros(4)[::2], 1),
            (np.zeros(4).astype(">f8"), 1),
        ],
    ],
)
@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_calls_that_stay_with_numpy_are_told_apart(others):
    @tilewright.jit
    def f(x, how, more=0):
        return memoryview(np.asarray(x)).nbytes, how, more

    calls = [(np.zeros(4), 1), *others]
    for _ in range(4):
        for x, how in calls:
            for given in ({}, {"more": 1}, {"more": "b"}):
                mine, numpys = f(x, how, **given), f.__wrapped__(x, how, **given)
                assert mine == numpys and [type(one) for one in mine] == [type(one) for one in numpys]
            assert f(how=how, x=x) == f.__wrapped__(x, how) == f(x, more=0, how=how)


def test_what_stays_with_numpy_is_forgotten_with_the_plans():
    @tilewright.jit
    def f(x):
        return x + 1

    f.stay((((3,), np.dtype(float)),), (), f.__wrapped__)
    x = np.zeros(3)
    assert "_miss" not in frames_of(f, x)
    f.forget_stayed()
    assert "_miss" in frames_of(f, x)
    for key, names in (([], ()), (((),), ()), ((int,), ("x", "y")), ((int,), [])):
        with pytest.raises(TypeError, match="stay: the key is a tuple, with a part for each argument"):
            f.stay(key, names, f.__wrapped__)


def test_calls_that_stay_are_told_apart_in_any_turn_and_order_of_keywords():
    @tilewright.jit
    def f(*args, **kwargs):
        return x

    def one(*args, a, b, **kwargs):
        return "one", a, b

    def other(*args, a, b, **kwargs):
        return "other", a, b

    x = np.zeros(3)
    f.stay((((3,), x.dtype), float, str), ("a", "b"), one)
    f.stay((((3,), x.dtype), str, float), ("a", "b"), other)
    for _ in range(3):
        assert f(x, a=1.5, b="t") == ("one", 1.5, "t") and f(x, b="t", a=1.5) == ("one", 1.5, "t")
        assert f(x, a="t", b=1.5) == ("other", "t", 1.5) and f(x, b=1.5, a="t") == ("other", "t", 1.5)
        assert f(x, b="t", a=1.5) == ("one", 1.5, "t") and f(x, a=1.5, b="t") == ("one", 1.5, "t")
        assert f(x, **dict(a=1.5, b="t")) == ("one", 1.5, "t") and f(x, **dict(b=1.5, a="t")) == ("other", "t", 1.5)
    assert f(x, a=1.5, c="t") is x


def test_a_bound_method_is_called_as_pythons_is():
    class Filter:
        scale = 2.0

        @tilewright.jit
        def apply(self, x, *more, shift=0.0, **others):
            return x * self.scale + shift + sum(more) + sum(others.values())

    plain, one, x = Filter.apply.__wrapped__, Filter(), points(50)
    method = one.apply
    for args, kwargs in (((), {}), ((1.0,), {}), ((1.0, 2.0), {"shift": 3.0}), ((), {"shift": 1.0, "odd": 2.0})):
        for called in (one.apply, method, functools.partial(method)):
            same(called(x, *args, **kwargs), plain(one, x, *args, **kwargs))
            same(called(*(x, *args), **kwargs), plain(one, x, *args, **kwargs))
    for called in (method, one.apply):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            called()
    assert list(map(method, [1.0, 2.0])) == [plain(one, 1.0), plain(one, 2.0)]
    assert method.__self__ is one and method.__func__ is Filter.apply is Filter.__dict__["apply"]
    assert method == one.apply and isinstance(method, types.MethodType)
    held, method, called = weakref.ref(method), None, None
    assert held() is None
    one = Filter()
    one.itself, gone = one.apply, weakref.ref(one)  # a cycle
    del one
    gc.collect()
    assert gone() is None


def test_the_method_of_an_object_is_compiled_for_that_object():
    class Model:
        bias = 1.0

        def __init__(self, scale):
            self.scale = scale

        def predict(self, x, *, shift=0.0):
            return x * self.scale + self.bias + shift

        @classmethod
        def moved(cls, x):
            return x + cls.bias

    model, x = Model(2.0), points(50)
    for jit in (tilewright.jit, tilewright.jit(strict=True)):
        predict = jit(model.predict)
        assert isinstance(predict, types.MethodType) and predict.__self__ is model
        for shift in (0.0, 0.5):
            same(predict(x, shift=shift), Model.predict(model, x, shift=shift))
        model.scale += 1.0
        same(predict(x), Model.predict(model, x))
        same(jit(Model.moved)(x), x + 1.0)
        assert "predict(" in predict.explain(source=False) and predict.for_args(x) is not None
        same(jit(predict)(x), Model.predict(model, x))
    assert not isinstance(Model.__dict__["predict"], type(tilewright.jit(affine)))


def test_a_bound_method_costs_no_python():
    class Filter:
        @tilewright.jit
        def apply(self, x):
            return x

    one, x = Filter(), points(5)
    one.apply(x)
    assert frames_of(lambda: one.apply(x)) == ["<lambda>", "apply"]


def test_calls_that_are_no_larger_stay_too():
    @tilewright.jit
    def f(x, n):
        return x

    f.stay((((3, 4), np.dtype(float), None), (int, None, 7)), (), f.__wrapped__)
    taken = [(np.zeros((3, 4)), 7), (np.zeros((0, 1)), -7), (np.zeros((4, 4))[::2], 0)]
    others = [(np.zeros((4, 4)), 1), (np.zeros((3, 5)), 1), (np.zeros(3), 1), (np.zeros((3, 4), np.float32), 1)]
    others += [(np.zeros((3, 4)), n) for n in (8, -8, True, 2**80, -(2**63))]
    assert all("_miss" not in frames_of(f, *args) for args in taken)
    f.forget_stayed()
    for args in others:
        f.stay((((3, 4), np.dtype(float), None), (int, None, 7)), (), f.__wrapped__)
        assert "_miss" in frames_of(f, *args)
        f.forget_stayed()
    for key in ((((3,), np.dtype(float), None, 1),), ((int, None, "7"),), ((int, None, 2**80),)):
        with pytest.raises((TypeError, OverflowError)):
            f.stay(key, (), f.__wrapped__)


def test_numbers_and_sizes_that_change_in_calls_that_compute_nothing_are_not_traced_each(monkeypatch):
    monkeypatch.setattr(effects, "LONG_CALL_S", math.inf)  # a call that waits for another process is looked at again

    @tilewright.jit
    def checked(n, m=None):
        if n < 1 or int(n) != n:
            raise ValueError(f"bad {n}")
        return n if m is None else m

    @tilewright.jit
    def doubled(x):
        return x.shape[0] * 2

    numbers = [*range(1, 40)[::-1], 2**70, 12]
    for n in numbers:
        assert checked(n) == n and checked(n, 3) == 3
        x = np.zeros(min(n, 50))
        assert doubled(x) == len(x) * 2
    assert checked.misses < 30 and doubled.misses < 15
    assert "nothing is compiled: the calls so far compute nothing of arrays' elements" in checked.explain(source=False)
    with pytest.raises(ValueError, match="bad -3"):
        checked(-3)
    assert doubled(np.zeros(60)) == 120 and doubled(np.zeros(9, np.float32)) == 18


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_explanations_say_that_calls_of_numbers_compute_nothing(strict):
    @tilewright.jit(strict=strict)
    def shrunk(radius, ratio, is_hit):
        if ratio < 0.25:
            return radius, ratio
        return (radius, 1.0) if is_hit else (1.0, ratio)

    assert "nothing compiled yet: call it" in shrunk.explain(source=False)
    assert [shrunk(1.5, 0.5, True) for _ in range(3)] == [(1.5, 1.0)] * 3
    assert "nothing is compiled: the calls so far compute nothing of arrays' elements" in shrunk.explain(source=False)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2**31,), "(2147483648), more than 2**31 - 2**27 elements"),
        ((2**30, 3), "(1073741824, 3), more than 2**31 - 2**27 elements"),
    ],
)
def test_a_result_that_is_too_large_is_told_with_its_shape(shape, text):
    @tilewright.jit(strict=True)
    def filled(n, m=None):
        return np.zeros(n if m is None else (n, m), np.int8) + np.int8(1)

    assert filled(3, *shape[1:]).shape == (3, *shape[1:])
    with pytest.raises(tilewright.TraceError) as error:
        filled(*shape)
    assert str(error.value) == f"filled: a result would have the shape {text}. Work on the arguments in parts."


RANGES = {f"kind{k}": (k, k + 1.0) for k in range(9)}


def test_many_numbers_of_one_container_are_one_line():
    @tilewright.jit
    def within(x, kind):
        return x * RANGES[kind][0] + RANGES[kind][1] if kind in RANGES else x + sum(a + b for a, b in RANGES.values())

    x = points(50)
    same(within(x, "other"), within.__wrapped__(x, "other"))
    told = within.explain(source=False).splitlines()
    assert "  RANGES: 18 numbers from outside the call, read at each call" in told
    assert not any("a number from outside the call" in line for line in told)


def test_larger_calls_than_those_that_computed_nothing_are_compiled():
    @tilewright.jit
    def grown(x, k):
        return x if k < 100 else x * k + np.sqrt(x)

    x = points(100)
    for k in range(40):
        assert grown(x, k) is x
    for _ in range(2):
        same(grown(x, 1000), grown.__wrapped__(x, 1000))
    assert len(grown.specializations) == 1
    assert all(grown(x, k) is x for k in range(60))
    same(grown(x, 101), grown.__wrapped__(x, 101))


def test_sizes_that_change_where_numpy_wins_are_not_looked_at_each():
    @tilewright.jit
    def ordered(x):
        return np.sort(x)

    x = np.random.default_rng(0).random(400)
    for _ in range(3):
        for n in range(400, 100, -1):
            same(ordered(x[:n]), np.sort(x[:n]))
    reasons = [reason for one in ordered.specializations for reason in one.why_numpy.values()]
    assert ordered.misses < 30 or not reasons


def test_one_blas_call_stays_with_numpy(caplog):
    @tilewright.jit
    def product(a, b):
        return a @ b

    a, b = points(600), points(600).T.copy()
    with caplog.at_level(logging.INFO, "tilewright"):
        same(product(a, b), a @ b)
    assert "a single BLAS call" in caplog.text
    assert "a single BLAS call" in product.explain(source=False)
    with pytest.raises(tilewright.ScheduleError, match="no version is compiled: it is a single BLAS call"):
        product.for_args(a, b).plan_text()


def test_a_product_of_integers_is_none_of_blas():
    def product(a, b):
        return a @ b

    f = tilewright.jit(product)
    a = np.random.default_rng(0).integers(-99, 99, (70, 130))
    assert f.for_args(a, a.T).versions
    same(f(a, a.T), a @ a.T)


# ---- threads and processes --------------------------------------------------------------------------------------------


def test_first_calls_from_many_threads():
    f = tilewright.jit(labels, strict=True)
    X, means = points(20_000), points(3, 1)
    expected = labels(X, means)
    results = []
    threads = [threading.Thread(target=lambda: results.append(f(X, means))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(np.array_equal(r, expected) for r in results)
    assert len(f.specializations) == 1


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import user
x = np.arange(100000.0)
r = user.f(x)
assert np.array_equal(r, user.f.__wrapped__(x))
print("tilewright._native" in sys.modules)
"""


def test_no_compiler_in_the_second_process(tmp_path):
    (tmp_path / "user.py").write_text(
        "import tilewright\n@tilewright.jit(strict=True)\ndef f(x):\n    return x * 3 - 1\n"
    )
    code = PROGRAM.format(folder=str(tmp_path))
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run_python(code, **cache) == "True\n"
    assert run_python(code, **cache) == "False\n"
    assert run_python(code, TILEWRIGHT_CACHE="off", **cache) == "True\n"
    for file in (tmp_path / "cache" / "tilewright" / "objects").iterdir():
        if not file.name.endswith(".lock"):
            file.write_bytes(file.read_bytes()[:-3] + b"bad")
    assert run_python(code, **cache) == "True\n"


def test_calls_after_fork(tmp_path):
    code = """
        import os
        import numpy as np, tilewright
        def g(x):
            return np.sqrt(x) * 2
        f = tilewright.jit(g)
        x = np.arange(500000.0)
        f(x)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if np.array_equal(f(x), g(x)) else 1)
        print(os.waitpid(pid, 0)[1])
    """
    assert run_python(code) == "0\n"


def test_without_source_and_without_home():
    code = """
        import numpy as np, tilewright
        f = tilewright.jit(lambda x: x * 2 + 1)
        x = np.arange(1000.0)
        assert np.array_equal(f(x), x * 2 + 1)
        print(len(f.specializations))
    """
    assert run_python(code, HOME="/nonexistent", XDG_CACHE_HOME="", XDG_DATA_HOME="") == "1\n"


def test_logs(tmp_path):
    code = """
        import sys
        sys.stderr = sys.stdout
        import numpy as np, tilewright
        tilewright.jit(lambda x: x * 2 + 1)(np.arange(1000.0))
    """
    text = run_python(code, TILEWRIGHT_LOGS="guards,schedule,loops,asm", TILEWRIGHT_CACHE="off")
    assert "tilewright.guards: " in text and "tilewright.schedule: " in text
    assert "tilewright.loops: " in text and "tilewright.asm: " in text


def test_logs_of_passes():
    code = """
        import sys
        sys.stderr = sys.stdout
        import numpy as np, tilewright
        tilewright.jit(lambda z: z * 2 + 1)(np.ones(1000, np.complex128))
    """
    text = run_python(code, TILEWRIGHT_LOGS="passes", TILEWRIGHT_CACHE="off")
    said = [line for line in text.splitlines() if line.startswith("tilewright.passes: ")]
    assert said[:3] == [
        "tilewright.passes: traced",
        "tilewright.passes: split_complex: complex numbers as pairs of floats",
        "tilewright.passes: reduction_recognition: loops that only add up integers as reductions over their iterations",
    ]
    traced, split, unchanged = text.split("tilewright.passes: ")[1:4]
    assert " = multiply(z, " in traced and " = complex(" not in traced
    assert " = complex(" in split
    assert unchanged.count("\n") == 1  # its program is the one above


def test_objects_of_other_passes_are_cached_apart(tmp_path):
    code = """
        import numpy as np, tilewright
        f = tilewright.jit(lambda x: x * 2 + 1, strict=True)
        print(f(np.arange(1000.0))[-1])
    """
    files = []
    for passes in ("", "-transposed_layout", "-transposed_layout"):
        text = run_python(code, XDG_CACHE_HOME=str(tmp_path), TILEWRIGHT_PASSES=passes)
        assert text == "1999.0\n"
        files.append({path for path in tmp_path.rglob("*") if path.is_file()})
    assert files[0] < files[1] == files[2]


# ---- schedules --------------------------------------------------------------------------------------------------------


def test_schedule_can_be_read_and_set():
    f = tilewright.jit(labels, strict=True)
    X, means = points(50_000), points(2, 1)
    with pytest.raises(tilewright.Error, match="nothing was compiled yet"):
        _ = f.schedule
    expected = f(X, means)
    text = f.schedule
    assert text.startswith("tilewright-schedule 1\n")
    f.schedule = text
    assert f.schedule == text
    same(f(X, means), expected)
    assert "by hand" in f.explain(source=False)


def test_a_wrong_schedule_is_refused_with_its_place():
    f = tilewright.jit(labels, strict=True)
    f(points(50_000), points(2, 1))
    before = f.schedule
    name = f.schedule.splitlines()[1]
    with pytest.raises(tilewright.ScheduleError, match="3:"):
        f.schedule = f"tilewright-schedule 1\n{name}\nno_such_stage.parallel(i)\n"
    with pytest.raises(tilewright.ScheduleError):
        f.schedule = "rubbish"
    assert f.schedule == before


def test_a_schedule_that_does_not_run_a_call_says_so():
    f = tilewright.jit(lambda x: x * 3 + 1)
    f(np.zeros(40_000))
    own = "tilewright-schedule 1\nschedule <lambda> for host\nadd.vectorize(i, 8, round_up)\n"
    name = f.schedule.splitlines()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.schedule = own.replace("schedule <lambda> for host", name)
    assert "why this schedule: by hand\n" in f.explain(source=False)
    with pytest.warns(UserWarning, match=r"the schedule by hand cannot run this call.* x\.0 % 8 == 0; x\.0 is 40001"):
        assert f(np.ones(40_001)).sum() == 4 * 40_001
    f.schedule = None
    assert "by hand" not in f.explain(source=False) and "round_up" not in f.schedule
    with pytest.raises(TypeError, match="Give a schedule as a str"):
        f.schedule = 5


def test_for_args_compiles_without_calling():
    calls = []

    @tilewright.jit
    def f(x):
        return x * 2

    s = f.for_args(np.arange(100.0))
    assert calls == []
    assert s.signature == "f(x: float64[:])"
    assert s.space.startswith("tilewright-space 1") and s.stages[0]["loops"]
    f(np.arange(100, dtype=np.float32))
    assert len(f.specializations) == 2
    with pytest.raises(tilewright.Error, match="there are 2 specializations"):
        _ = f.schedule


def test_explain_says_what_runs():
    f = tilewright.jit(labels, strict=True)
    f(points(50_000), points(2, 1))
    text = f.explain(source=False, code=True)
    for part in (
        "stages:",
        "argmin",
        "norm",
        "versions",
        "requires isa",
        "schedule:",
        "lowered code of",
        "assembly of",
    ):
        assert part in text
    assert f"line {labels.__code__.co_firstlineno + 2}" in text


def test_a_workload_too_small_for_the_roofline_is_tuned():
    @tilewright.jit
    def scores(a, b):
        product = a @ b
        return np.exp(product - product.max(axis=1, keepdims=True))

    a = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    scores.tune(a, a, budget=2)
    np.testing.assert_allclose(scores(a, a), scores.__wrapped__(a, a), rtol=1e-4)


def test_a_call_of_no_iterations_says_nothing_of_others():
    def advance(a, steps):
        for _ in range(1, steps):
            a[:] = a * 2 + 1
        return a

    compiled = tilewright.jit(advance)
    assert np.array_equal(compiled(np.ones(3), 1), np.ones(3))
    assert np.array_equal(compiled(np.ones(3), 3), np.full(3, 7.0))
    assert compiled.specializations


@pytest.mark.parametrize(
    "function",
    [
        lambda y, n: (y[:n], y[n:]),
        lambda y, n: (y[1::2], y[::2], y.sum()),
        lambda y, n: tuple(y.reshape(5, 2).T),
        lambda y, n: np.split(y, 5),
        lambda y, n: (y[1:][:n], y[0], y[1:][n:][::-1]),
        lambda y, n: [row for row in y.reshape(2, 5)],
    ],
)
def test_results_that_share_no_element_are_made(function):
    def f(x, n):
        return function(x * 2, n)

    compiled = tilewright.jit(f, strict=True)
    for n in (3, 4, 1, 0):
        for ours, theirs in zip(compiled(np.arange(10.0), n), f(np.arange(10.0), n), strict=True):
            same(ours, theirs)
    assert compiled.specializations


def test_gathered_arguments_are_found_in_c():
    def f(x, /, *args, y=2, **kw):
        result = x * y
        for one in args:
            result = result + one * kw.get("z", 1)
        return result + kw.get("x", 0)

    a, b = points(5000), points(5000) + 1
    calls = [((a,), {}), ((a, b), {}), ((a, b), {"y": 3.0}), ((a, b), {"z": 5.0}), ((a,), {"x": b, "y": 1.0}), ((a, b, a), {"z": b}),
             ((a, b), {"args": 3.0}), ((a, 2.0), {"kw": 2.0, "z": 1})]  # fmt: skip
    compiled = tilewright.jit(f, strict=True)
    for args, kw in calls:
        same(compiled(*args, **kw), f(*args, **kw))
    misses = compiled.misses
    for args, kw in [*calls, *calls[::-1]]:
        same(compiled(*args, **kw), f(*args, **kw))
    assert compiled.misses == misses
    out = np.zeros_like(a)  # one of the keywords, as in Python
    for _ in range(3):
        same(compiled(a, b, out=out), f(a, b, out=out))
        assert not out.any()
    for args, kw in [((), {}), ((), {"x": a})]:
        with pytest.raises(TypeError) as wanted:
            f(*args, **kw)
        with pytest.raises(TypeError) as raised:
            compiled(*args, **kw)
        assert str(raised.value).rpartition("f()")[2] == str(wanted.value).rpartition("f()")[2]


@pytest.mark.parametrize("divisor", [True, 3])
def test_results_that_a_division_reads_may_begin_anywhere(divisor):
    def f(x, divisor):
        kept = x + np.int32(1)
        return kept, kept // divisor, kept % divisor

    def beginning_at(element, size):
        memory = np.empty(size + 32, np.int32)
        first = -memory.ctypes.data // 4 % 16 + element
        return memory[first : first + size]

    compiled = tilewright.jit(f, strict=True)
    x = np.arange(-100, 100, dtype=np.int32)
    for element in (0, 1, 4):
        out = tuple(beginning_at(element, x.size) for _ in range(3))
        compiled(x, divisor, out=out)
        for result, wanted in zip(out, f(x, divisor), strict=True):
            same(result, wanted)


def test_gathered_arguments_are_the_calls_own():
    kept = []

    @tilewright.jit
    def f(*args, **kw):
        kept.append((args, kw))
        return args[0] + kw["k"]

    x = points(4000)
    for k in range(4):
        given = {"k": float(k)}
        same(f(x, **given), x + k)
        assert kept[-1][0][0] is x and kept[-1][1] == given and kept[-1][1] is not given
    assert [kw["k"] for _, kw in kept] == [0.0, 1.0, 2.0, 3.0]
