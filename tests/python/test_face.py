"""The C face of modules and jit objects: what it accepts, what it says, and that its results are NumPy's own arrays."""

import gc
import importlib.util
import inspect
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import types
import weakref
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("halide")
import tilewright  # noqa: E402
from tilewright import _face  # noqa: E402
from tilewright.dispatch import _check  # noqa: E402
from tilewright.guards import PythonGuard, value_holds  # noqa: E402
from tilewright.originals import RECORDED, original_of  # noqa: E402

pytestmark = pytest.mark.compile

MAKE_KERNELS = Path(__file__).parents[1] / "runtime" / "make_kernels.py"

KMEANS = """tilewright-plan 1
function get_labels
arg X float64 2
arg means float64 2
guard means.1 == X.1 "means.shape[1] must equal X.shape[1]. Pass arrays whose sizes agree."
guard means.0 >= 1 "attempt to get argmin of an empty sequence"
result argmin int64 [X.0]
return argmin
version "x86-64-v3"
require isa x86-64-v3
require layout X C
require layout means C
call km in "km" (means.0, X.1, X, means, argmin)
end
"""

AXPY = """tilewright-plan 1
function axpy
scalar a float64
arg X float64 2
arg Y float64 2
guard X.0 == Y.0 "rows differ"
guard X.1 == Y.1 "columns differ"
result Z float64 [X.0, X.1]
return Z
version "any layout"
call axpy in "axpy" (a, X, Y, Z)
end
"""

MATMUL = """tilewright-plan 1
function product
arg A {dtype} 2
arg B {dtype} 2
guard A.1 == B.0 "shapes do not match"
result C {dtype} [A.0, B.1]
return C
version "library"
library matmul (A, B, C)
end
"""

REQUIRED = _face.MISSING


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    spec = importlib.util.spec_from_file_location("make_kernels", MAKE_KERNELS)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    for make in (maker.kmeans, maker.axpy, maker.elementary):
        make(folder)
    return {path.stem: path.read_bytes() for path in folder.glob("*.o")}


def parameters(*names, **defaults):
    return [(n, "positional_or_keyword", REQUIRED) for n in names] + [
        (n, "positional_or_keyword", value) for n, value in defaults.items()
    ]


@pytest.fixture(scope="session")
def labels(objects):
    return _face.load(
        KMEANS,
        objects,
        name="get_labels",
        doc="Labels of the nearest mean.",
        signature_text="(X, means, *, out=None)",
        parameters=parameters("X", "means"),
        module_name="some_module",
    )


@pytest.fixture(scope="session")
def axpy(objects):
    return _face.load(AXPY, objects, name="axpy", parameters=parameters("X", "Y", a=2.0), module_name="some_module")


def numpy_labels(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


RNG = np.random.default_rng(3)
X = RNG.normal(size=(1000, 2))
MEANS = np.array([[5.0, 5.0], [10.0, 10.0]]) / 10


# ---- the result ----


@pytest.mark.parametrize("n", [0, 1, 2, 99, 100, 4095, 4096, 4097, 70001])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_kmeans_is_numpys(labels, n, k):
    points, means = RNG.normal(size=(n, 3)), RNG.normal(size=(k, 3))
    got = labels(points, means)
    assert type(got) is np.ndarray
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, numpy_labels(points, means))


def test_twenty_million_points(labels):
    points = RNG.normal(size=(20_000_000, 2))
    np.testing.assert_array_equal(labels(points, MEANS), numpy_labels(points, MEANS))
    del points
    _face.trim_pool()


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_any_view_gives_numpys_result(axpy, data):
    def view():
        base = np.arange(20.0 * 20).reshape(20, 20) * data.draw(st.sampled_from([1.0, -0.5]))
        start = data.draw(st.integers(0, 4))
        step = data.draw(st.sampled_from([1, 2, -1, -3]))
        cut = base[start::step] if step > 0 else base[19 - start :: step]
        cut = cut[:rows, :columns]
        if data.draw(st.booleans()):
            cut = np.asfortranarray(cut)
        if data.draw(st.booleans()):
            cut = np.broadcast_to(cut[:1], cut.shape)
        return cut

    rows, columns = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 20))
    x, y, a = view(), view(), data.draw(st.floats(-10, 10))
    np.testing.assert_array_equal(axpy(x, y, a), a * x + y)
    np.testing.assert_array_equal(axpy(x, Y=y), 2.0 * x + y)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float32", "float64", "complex64", "complex128"]
)
def test_library_products_are_numpys(dtype):
    product = _face.load(
        MATMUL.format(dtype=dtype), {}, name="product", parameters=parameters("A", "B"), module_name="m"
    )
    # From 100 x 100 x 100 on products are computed in strips of rows, up to where BLAS shares them out itself.
    sizes = [
        (1, 1, 1),
        (3, 4, 5),
        (65, 33, 20),
        (0, 3, 2),
        (3, 0, 2),
        (200, 100, 50),
        (100, 100, 100),
        (49, 300, 80),
        (170, 150, 160),
    ]
    for m, k, n in sizes:
        a = RNG.integers(0, 5, (m, k)).astype(dtype)
        b = RNG.integers(0, 5, (k, n)).astype(dtype)
        for left in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
            for right in (b, np.asfortranarray(b), b[::-1]):
                np.testing.assert_allclose(product(left, right), left @ right, rtol=1e-6)


def test_results_of_rank_zero_are_scalars_and_tuples_are_tuples(objects):
    plan = """tilewright-plan 1
function f
arg x float64 1
arg y float64 1
result s float64 []
result v float64 [x.0]
return (s, y, v)
version "only"
call math in "math" (x, v)
call math in "math" (x, s)
end
"""
    f = _face.load(plan, objects, name="f", parameters=parameters("x", "y"), module_name="m")
    x, y = np.array([0.5]), np.ones(3)
    s, same, v = f(x, y)
    assert type(s) is np.float64
    assert same is y
    assert type(v) is np.ndarray
    assert s == v[0]
    assert f([0.5], (ys := [1.0]))[1] is ys


# ---- arguments ----


def test_lists_and_memmaps_are_taken_and_nothing_is_cast(labels, tmp_path):
    assert labels(X[:5].tolist(), MEANS.tolist()).tolist() == numpy_labels(X[:5], MEANS).tolist()
    mapped = np.memmap(tmp_path / "x", np.float64, "w+", shape=(10, 2))
    mapped[:] = X[:10]
    assert labels(mapped, MEANS).tolist() == numpy_labels(X[:10], MEANS).tolist()


def unaligned(array):
    raw = np.empty(array.nbytes + 1, np.uint8)
    moved = raw[1:].view(array.dtype).reshape(array.shape)
    moved[:] = array
    return moved


def odd_strides(array):
    record = np.zeros(array.shape, np.dtype([("pad", "i4"), ("value", "f8")]))
    record["value"] = array
    return record["value"]


@pytest.mark.parametrize(
    "make", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[::-1][::-1], unaligned, odd_strides]
)
def test_layouts_that_no_version_takes_are_copied(labels, axpy, make):
    x = make(X)
    np.testing.assert_array_equal(labels(x, make(MEANS)), numpy_labels(X, MEANS))
    np.testing.assert_array_equal(axpy(x, x), 3.0 * X)


def test_read_only_arguments_are_read(labels):
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(labels(x, MEANS), numpy_labels(X, MEANS))


@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        (
            X[:100].astype(np.float32),
            TypeError,
            "get_labels: X is float32[100, 2], but this module takes float64[:, :]. Convert it: X.astype('float64').",
        ),
        (
            X[:3].astype(object),
            TypeError,
            "get_labels: X is object[3, 2], but this module takes float64[:, :]. Pass an array of numbers.",
        ),
        (
            np.array([["a", "b"]]),
            TypeError,
            "get_labels: X is str32[1, 2], but this module takes float64[:, :]. Pass an array of numbers.",
        ),
        (
            np.array([["2020-01-01"]], "M8[D]"),
            TypeError,
            "get_labels: X is datetime64[D][1, 1], but this module takes float64[:, :]. Pass an array of numbers.",
        ),
        (
            X[:3].astype(">f8"),
            TypeError,
            "get_labels: X is byte-swapped float64[3, 2], but this module takes float64[:, :]. Convert it: X.astype('float64').",
        ),
        (
            [[1, 2]],
            TypeError,
            "get_labels: X is int64[1, 2], but this module takes float64[:, :]. Convert it: X.astype('float64').",
        ),
        (
            X[0],
            TypeError,
            "get_labels: X is float64[2], but this module takes float64[:, :]. Pass an array of 2 dimensions.",
        ),
        (
            np.asmatrix(X),
            TypeError,
            "get_labels: X is a numpy.matrix, whose operators mean something else. Pass an array, such as numpy.asarray of X.",
        ),
        (
            np.ma.array(X),
            TypeError,
            "get_labels: X is a masked array, and masks are not known here. Pass an array, such as the filled() of X.",
        ),
        (
            X[:, :1],
            ValueError,
            "get_labels: means.shape[1] must equal X.shape[1], but they are 2 and 1. Pass arrays whose sizes agree.",
        ),
        (
            np.lib.stride_tricks.as_strided(X, (2**31, 2), (0, 8)),
            ValueError,
            "get_labels: X is float64[2147483648, 2]; kernels index with 32 bits, so an array has at most 2**31 - 2**27 elements, and its strides reach no further. Work on it in parts.",
        ),
    ],
)
def test_what_is_refused_and_how(labels, x, error, text):
    with pytest.raises(error) as info:
        labels(x, MEANS)
    assert str(info.value) == text


@pytest.mark.parametrize(
    ("guard", "sizes", "error", "text"),
    [
        ("X.0 == 2 * Y.0", (3, 5), ValueError, "f: rows do not match: X.shape[0] is 3 and Y.shape[0] is 5."),
        ("X.0 >= n", (3, 5), ValueError, "f: rows do not match: X.shape[0] is 3 and n is 7."),
        ("X.0 + Y.0 >= X.0 * n", (3, 5), ValueError, "f: rows do not match: X.shape[0] is 3, Y.shape[0] is 5 and n is 7."),
        ("n < X.0", (3, 5), IndexError, "f: index n is out of bounds for axis 0: n is 7 and X.shape[0] is 3."),
        ("n == 1", (3, 5), ValueError, "f: asked for n == 1, but it is 7. Give 1."),
    ],
)  # fmt: skip
def test_a_guard_says_its_sizes_and_their_values(objects, guard, sizes, error, text):
    message = {"n < X.0": "index n is out of bounds for axis 0", "n == 1": "asked for n == 1. Give 1."}
    plan = AXPY.replace('guard X.0 == Y.0 "rows differ"\nguard X.1 == Y.1 "columns differ"\n',
                        f'guard {guard} "{message.get(guard, "rows do not match")}"\n')  # fmt: skip
    plan = plan.replace("scalar a float64\n", "scalar a float64\nscalar n int64\n")
    assert plan.count("guard ") == 1 and "scalar n" in plan
    f = _face.load(plan, objects, name="f", parameters=parameters("a", "X", "Y", "n"), module_name="m")
    with pytest.raises(error) as info:
        f(1.0, np.ones((sizes[0], 2)), np.ones((sizes[1], 2)), 7)
    assert str(info.value) == text


def test_a_call_that_no_version_serves_says_its_sizes(objects):
    plan = KMEANS.replace("require layout X C\n", "require layout X C\nrequire X.0 >= 1000\n")
    f = _face.load(plan, objects, name="f", parameters=parameters("X", "means"), module_name="m")
    with pytest.raises(ValueError, match=r"^f: no version of this module serves X float64\[3, 2\] and means float64\[\d+, 2\]: "
                       r"one needs .*X\.shape\[0\] >= 1000.*\. Tune the function with such sizes too\.$"):  # fmt: skip
        f(X[:3], MEANS)


def test_pandas_objects_are_refused_by_name(labels):
    module = types.ModuleType("pandas.core.frame")
    exec("class DataFrame:\n    def __array__(self, *a, **k): raise AssertionError", module.__dict__)
    with pytest.raises(
        TypeError, match=r"get_labels: X is a pandas object\. Pass an array, such as the to_numpy\(\) of X\."
    ):
        labels(module.DataFrame(), MEANS)


def test_an_empty_sequence_is_numpys_error(labels):
    with pytest.raises(
        ValueError, match=r"^get_labels: attempt to get argmin of an empty sequence: means\.shape\[0\] is 0\.$"
    ):
        labels(X, MEANS[:0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: f(X), "get_labels() missing required argument: 'means'"),
        (lambda f: f(X, MEANS, 1), "get_labels() takes 2 positional arguments but 3 were given"),
        (lambda f: f(X, MEANS, X=X), "get_labels() got multiple values for argument 'X'"),
        (lambda f: f(X, MEANS, axis=0), "get_labels() got an unexpected keyword argument 'axis'"),
    ],
)
def test_calls_that_do_not_fit_the_signature(labels, call, text):
    with pytest.raises(TypeError) as info:
        call(labels)
    assert str(info.value) == text


@pytest.mark.parametrize("a", [2, 2.0, np.float64(2)])
def test_scalars_that_are_taken(axpy, a):
    np.testing.assert_array_equal(axpy(X, X, a), 3 * X)


@pytest.mark.parametrize("a", [True, 2j, np.float32(2), np.int64(2), np.array(2.0), 10**400])
def test_scalars_that_are_not(axpy, a):
    with pytest.raises(
        TypeError, match=r"^axpy: a is .* but this module takes a number that is float64 without a cast\. Convert it\.$"
    ):
        axpy(X, X, a)


@pytest.mark.parametrize("a", ["2", b"2", None, [2.0], np.datetime64("2020-01-01")])
def test_what_is_no_scalar(axpy, a):
    with pytest.raises(
        TypeError,
        match=r"^axpy: a is .* but this module takes a number that is float64 without a cast\. Pass a number\.$",
    ):
        axpy(X, X, a)


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        ("int8", [-128, 127, 0], [128, -129, 1.0]),
        ("uint8", [0, 255], [-1, 256]),
        ("int64", [-(2**63), 2**63 - 1, np.int64(4)], [2**63, np.int32(4), True, 1.0]),
        ("uint64", [0, 2**64 - 1], [-1, 2**64]),
        ("bool", [True, False, np.bool_(True)], [1, 0.0]),
        ("complex128", [1j, 2.0, 3], ["1j"]),
    ],
)
def test_scalar_ranges(objects, dtype, good, bad):
    plan = AXPY.replace("arg X", f"scalar b {dtype}\narg X", 1)
    f = _face.load(plan, objects, name="f", parameters=parameters("a", "b", "X", "Y"), module_name="m")
    for b in good:
        np.testing.assert_array_equal(f(1.0, b, X, X), 2 * X)
    for b in bad:
        with pytest.raises(TypeError):
            f(1.0, b, X, X)


def test_fixed_parameters_and_hidden_constants(objects):
    f = _face.load(
        AXPY,
        objects,
        name="f",
        parameters=parameters("X", axis=0),
        module_name="m",
        constants={"a": 3.0, "Y": X, "axis": 0},
    )
    np.testing.assert_array_equal(f(X), 4 * X)
    np.testing.assert_array_equal(f(X, axis=0), 4 * X)
    for axis in (1, 0.0, False):
        with pytest.raises(ValueError, match=rf"^f: axis is {axis}, but this module was made for axis=0\."):
            f(X, axis=axis)


def test_several_plans_and_the_nearest_speaks(objects):
    other = MATMUL.format(dtype="float32").replace("function product", "function f").replace("A", "X").replace("B", "Y")
    f = _face.load(
        [other, AXPY], objects, name="f", parameters=parameters("X", "Y"), module_name="m", constants={"a": 1.0}
    )
    np.testing.assert_array_equal(f(X, X), 2 * X)
    square = np.eye(3, dtype=np.float32) * 2
    np.testing.assert_array_equal(f(square, square), square @ square)
    with pytest.raises(TypeError, match=r"^f: Y is float32\[2, 2\], but this module takes float64"):
        f(X[:2], X[:2].astype(np.float32))


# ---- out= ----


def test_out_is_filled_and_returned(labels):
    out = np.full(1000, -1)
    assert labels(X, MEANS, out=out) is out
    np.testing.assert_array_equal(out, numpy_labels(X, MEANS))
    assert labels(X, MEANS, out=(out,)) is out
    assert labels(X, MEANS, out=None) is not out


@pytest.mark.parametrize(
    "make",
    [lambda: np.zeros((2000, 4))[::2, 1:3], lambda: np.zeros((2, 1000)).T, lambda: unaligned(np.zeros((1000, 2)))],
)
def test_out_of_any_layout(axpy, make):
    out = make()
    assert axpy(X, X, out=out) is out
    np.testing.assert_array_equal(out, 3 * X)


def test_out_that_overlaps_an_argument_is_as_if_it_did_not(axpy):
    for shift in (0, 1, 5):
        memory = np.arange(2000.0)
        x, out = memory[: 900 * 2].reshape(900, 2), memory[shift * 2 : (900 + shift) * 2].reshape(900, 2)
        expected = 2 * x + x[::-1]
        assert axpy(x, x[::-1], out=out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (
            np.empty(999, np.int64),
            ValueError,
            "get_labels: out is int64[999], but the result is int64[1000]. Pass numpy.empty of that.",
        ),
        (
            np.empty(1000),
            TypeError,
            "get_labels: out is float64[1000], but the result is int64[1000]. Pass numpy.empty of that.",
        ),
        ([0], TypeError, "get_labels: out is list, but the result is int64[1000]. Pass numpy.empty of that."),
        ((None, None), ValueError, "get_labels: out must have an array for each of the 1 results, or None."),
    ],
)
def test_out_that_does_not_fit(labels, out, error, text):
    with pytest.raises(error) as info:
        labels(X, MEANS, out=out)
    assert str(info.value) == text


def test_outs_that_share_memory_are_refused_whoever_computes_the_call():
    text = "two: out is float64[2], in the memory of another out, but each result has memory of its own."
    memory = np.zeros((4, 2))

    @tilewright.jit
    def two(x):
        return x + 1, x.sum(axis=0)

    for _ in range(3):  # by NumPy, where that is faster, and by a plan
        for outs in ((memory, memory[0]), (memory, memory[3, ::-1])):
            with pytest.raises(ValueError, match=re.escape(text)):
                two(np.ones((4, 2)), out=outs)
        two.for_args(np.ones((4, 2)))

    @tilewright.jit
    def like(x):
        return x + 1, x * 2

    for _ in range(2):  # columns lie between each other's elements
        like(np.ones(4), out=(memory[:, 0], memory[:, 1]))
        np.testing.assert_array_equal(memory, [[2, 2]] * 4)
        with pytest.raises(ValueError, match="in the memory of another out"):
            like(np.ones(4), out=(memory[:, 0], memory[:, 0]))
        like.for_args(np.ones(4))


def test_a_read_only_out_is_refused(labels):
    out = np.empty(1000, np.int64)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        labels(X, MEANS, out=out)


# ---- a function like any other ----


def test_it_looks_like_a_function(labels):
    assert labels.__name__ == "get_labels"
    assert labels.__doc__ == "Labels of the nearest mean."
    assert labels.__module__ == "some_module"
    assert str(inspect.signature(labels)) == "(X, means, *, out=None)"


def test_it_is_pickled_by_its_name(objects, monkeypatch):
    module = types.ModuleType("a_tuned_module")
    module.get_labels = _face.load(
        KMEANS, objects, name="get_labels", parameters=parameters("X", "means"), module_name="a_tuned_module"
    )
    monkeypatch.setitem(sys.modules, "a_tuned_module", module)
    assert pickle.loads(pickle.dumps(module.get_labels)) is module.get_labels


def test_it_frees_what_it_holds(objects):
    array = np.ones(5)
    weak = weakref.ref(array)
    plan = 'tilewright-plan 1\nfunction f\narg x float64 1\nresult y float64 [x.0]\nreturn y\nversion "v"\ncall math in "math" (x, y)\nend\n'
    f = _face.load(plan, objects, name="f", parameters=[], module_name="m", constants={"x": array})
    assert f().shape == (5,)
    del f, array
    gc.collect()
    assert weak() is None


def test_a_damaged_module_is_an_import_error(objects):
    def load(plan=AXPY, found=objects, **more):
        return _face.load(plan, found, name="axpy", parameters=parameters("a", "X", "Y"), module_name="m", **more)

    for plan, found, text in [
        (
            AXPY[: AXPY.index("return")],
            objects,
            "plan of axpy, line 9: there is no 'return' line; the file is truncated. Export or tune the function again.",
        ),
        (AXPY, {}, "plan of axpy: it calls axpy.o, which is not here. The module is incomplete; export it again."),
        (
            AXPY,
            {"axpy": b"MZ"},
            "axpy.o: it is not an ELF file. The file is damaged or not ours; export or tune again.",
        ),
        (AXPY, {"axpy": objects["axpy"][:500]}, None),
    ]:
        with pytest.raises(_face.PlanError) as info:
            load(plan, found)
        assert isinstance(info.value, ImportError)
        assert text is None or str(info.value) == text
    with pytest.raises(TypeError, match="a plan is a str"):
        load(b"tilewright-plan 1")
    with pytest.raises(TypeError):
        load(found={"axpy": "text"})
    with pytest.raises(_face.PlanError, match="it reads a, which is neither a parameter nor a constant"):
        _face.load(AXPY, objects, name="axpy", parameters=parameters("X", "Y"), module_name="m")


# ---- memory ----


def test_large_results_are_reused_and_still_numpys_own(labels):
    _face.trim_pool()
    points = RNG.normal(size=(500_000, 2))
    first = labels(points, MEANS)
    assert first.flags.owndata
    assert _face.pool_info()["live_bytes"] >= first.nbytes
    address = first.ctypes.data
    del first
    again = labels(points, MEANS)
    assert again.ctypes.data == address
    again.resize(600_000, refcheck=False)
    assert not again[500_000:].any()
    del again
    info = _face.pool_info()
    assert 0 < info["pooled_bytes"] <= info["limit_bytes"]
    assert _face.trim_pool() == info["pooled_bytes"]
    # Other arrays keep NumPy's allocator.
    live = _face.pool_info()["live_bytes"]
    other = np.ones(1_000_000)
    assert _face.pool_info()["live_bytes"] == live
    del other


def test_tracemalloc_sees_results(labels):
    points = RNG.normal(size=(500_000, 2))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = labels(points, MEANS)
        assert tracemalloc.get_traced_memory()[0] - before >= result.nbytes
        del result
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()


def run_python(code, **environment):
    path = os.pathsep.join([str(Path(_face.__file__).parents[1]), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


LOAD = """
import pickle, sys, numpy as np
from tilewright import _face
plan, objects = pickle.load(open({path!r}, 'rb'))
f = _face.load(plan, objects, name='f', parameters=[(n, 1, _face.MISSING) for n in ('X', 'means')], module_name='m')
X, M = np.random.default_rng(0).normal(size=(300_000, 2)), np.eye(2)
expected = np.argmin(np.linalg.norm(X - M[:, None], axis=2), axis=0)
assert (f(X, M) == expected).all()
"""


@pytest.fixture(scope="session")
def saved(objects, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "kmeans.pickle"
    path.write_bytes(pickle.dumps((KMEANS, objects)))
    return LOAD.format(path=str(path))


def check(saved, code="", **environment):
    done = run_python(saved + textwrap.dedent(code), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_pool_can_be_turned_off(saved):
    check(
        saved,
        "assert _face.pool_info()['live_bytes'] == _face.pool_info()['pooled_bytes'] == 0",
        TILEWRIGHT_POOL_MB="0",
    )


@pytest.mark.parametrize("pool", ["own", "openmp", ""])
def test_both_backends_and_forked_children(saved, pool):
    code = """
        import os
        for _ in range(3):
            child = os.fork()
            if child == 0:
                import signal
                signal.alarm(60)
                os._exit(0 if (f(X, M) == expected).all() and _face.parallel_backend() == 'own' else 1)
            assert os.waitpid(child, 0)[1] == 0
        print(_face.parallel_backend())
    """
    cores = len(os.sched_getaffinity(0))
    expected = {"own"} if pool != "openmp" else {"openmp", "own"}
    assert check(saved, code, TILEWRIGHT_POOL=pool).strip() in (expected if cores > 1 else {"none yet"})


def test_thread_counts(saved):
    code = "print(_face.get_num_threads(), _face.parallel_backend())"
    assert check(saved, code, TILEWRIGHT_NUM_THREADS="1").split()[0] == "1"
    assert check(saved, code, OMP_NUM_THREADS="1,4").split() == ["1", "none", "yet"]
    cores = len(os.sched_getaffinity(0))
    assert int(check(saved, code, OMP_NUM_THREADS="1000").split()[0]) <= cores


def test_threads_is_a_limit_for_the_block(labels):
    all_threads = _face.get_num_threads()
    with _face.threads(1):
        assert _face.get_num_threads() == 1
        with _face.threads(8):
            assert _face.get_num_threads() == 1
        np.testing.assert_array_equal(labels(X, MEANS), numpy_labels(X, MEANS))
    assert _face.get_num_threads() == all_threads
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"threads: n is {n}; a call needs at least one thread."):
            _face.threads(n)
        with pytest.raises(ValueError, match=f"set_num_threads: n is {n}; a call needs at least one thread."):
            _face.set_num_threads(n)


def test_lower_isa_levels(saved):
    done = run_python(saved, TILEWRIGHT_ISA="x86-64")
    assert done.returncode == 1
    assert (
        "RuntimeError: f: this module has no code for this machine's CPU. Export it with --target x86-64 as well."
        in done.stderr
    )


IN_SUBINTERPRETER = """
import sys
sys.path[:0] = {path}
try:
    from tilewright import _face
except ImportError as error:
    ok = "subinterpreter" in str(error)
else:
    ok = False
if not ok:
    raise SystemExit("loaded")
"""


def test_subinterpreters_are_refused(saved):
    pytest.importorskip("_testcapi")
    code = f"import _testcapi\npath = repr(sys.path)\nsys.exit(_testcapi.run_in_subinterp({IN_SUBINTERPRETER!r}.format(path=path)))"
    check(saved, code)


def test_nothing_but_libc_is_needed():
    needed = subprocess.run(["readelf", "-d", _face.__file__], capture_output=True, text=True, check=True).stdout
    libraries = [line.split("[")[1].rstrip("]\n") for line in needed.splitlines() if "NEEDED" in line]
    assert set(libraries) <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def test_many_threads_at_once(labels, axpy):
    points = [RNG.normal(size=(n, 2)) for n in (10, 5000, 60_000)]
    expected = [numpy_labels(p, MEANS) for p in points]
    wrong = []

    def work():
        for _ in range(30):
            for p, e in zip(points, expected, strict=True):
                if not (labels(p, MEANS) == e).all() or not (axpy(p, p) == 3 * p).all():
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- Dispatcher ----


class Jit(_face.Dispatcher):
    def _miss(self, args, kwargs):
        return ("miss", args, kwargs)


@pytest.fixture
def jit():
    return Jit("axpy", parameters("X", "Y", a=2.0))


def test_plans_are_tried_in_order_and_the_rest_misses(objects, jit):
    assert jit(X, X) == ("miss", (X, X), {})
    assert jit.add(AXPY, objects) == 0
    np.testing.assert_array_equal(jit(X, X), 3 * X)
    np.testing.assert_array_equal(jit(X, Y=X, a=5.0), 5 * X + X)
    out = np.empty_like(X)
    assert jit(X, X, out=out) is out
    # A jit object converts nothing: Python decides what becomes of these.
    for bad in (X.astype(np.float32), X.tolist(), np.asmatrix(X), X[:3], 1.0, unaligned(X)):
        assert jit(bad, X)[0] == "miss"
    assert jit(X)[0] == jit(X, X, 2.0, 3)[0] == jit(X, X, b=1)[0] == "miss"
    assert jit(X, X, a=2)[0] == jit(X, X, a=np.float64(2))[0] == "miss"
    assert (jit.calls, jit.misses) == (15, 12)
    jit.copy_layouts = True
    np.testing.assert_array_equal(jit(unaligned(X), X), 3 * X)
    jit.add(AXPY.replace("(a, X, Y, Z)", "(a, Y, X, Z)"), objects, index=0)
    np.testing.assert_array_equal(jit(X, np.zeros_like(X)), X)
    jit.clear()
    assert jit(X, X)[0] == "miss"
    with pytest.raises(IndexError):
        jit.add(AXPY, objects, index=0)


def test_hidden_arguments_conditions_and_exact_types(objects):
    space = {"Y": X, "mode": 1}
    jit = Jit("axpy", parameters("X", "a"))
    places = [(-1, "object", space), (0, "entry", "Y"), (0, "entry", "mode")]
    checks = [(2, "equal", 1)]
    jit.add(AXPY, objects, hidden={"Y": 1}, places=places, checks=checks, scalar_types={"a": np.float64})
    np.testing.assert_array_equal(jit(X, np.float64(2)), 3 * X)
    assert jit(X, 2.0)[0] == "miss"
    space["Y"] = X * 2
    np.testing.assert_array_equal(jit(X, np.float64(2)), 2 * X + 2 * X)
    space["mode"] = True
    assert jit(X, np.float64(2))[0] == "miss"
    space["mode"] = 1
    del space["Y"]
    assert jit(X, np.float64(2))[0] == "miss"


def test_gathered_arguments_are_the_plans_to_look_at(objects):
    gathering = [("rest", "var_positional", REQUIRED), ("others", "var_keyword", REQUIRED)]
    jit = Jit("f", [*parameters("a", "X", "Y"), *gathering])
    jit.add(AXPY, objects)
    for rest, others in (((), {}), ((5,), {}), ((), {"k": 1, "out": 2}), ((X, X), {"k": X})):
        np.testing.assert_array_equal(jit(1.0, X, X, *rest, **others), 2 * X)
    assert jit(1.0, X)[0] == jit(1.0, X, a=2.0)[0] == "miss"
    for place, wanted in ((0, (5,)), (1, {"k": 1})):
        guarded = Jit("f", [*parameters("a", "X", "Y"), *gathering])
        guarded.add(
            AXPY, objects, places=[(-1, "parameter", gathering[place][0])], checks=[(0, "length", (type(wanted), 1))]
        )
        np.testing.assert_array_equal(
            guarded(1.0, X, X, *((5,) if place == 0 else ()), **({"k": 1} if place else {})), 2 * X
        )
        assert guarded(1.0, X, X)[0] == "miss"


# ---- what calls ask of Python's values


class Plain:
    shared = 1

    def __init__(self, **held):
        self.__dict__.update(held)

    @property
    def area(self):
        return self.__dict__["area"]


class Slotted:
    __slots__ = ("a",)


class Raising:
    @property
    def __dict__(self):
        raise ValueError("no")


class Uneven(dict):
    def __iter__(self):
        return iter(("other",))


VALUES = [
    {}, {"a": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1: 0}, {True: 0}, {1.0: 0}, {0.0: 0}, {-0.0: 0}, {float("nan"): 0}, {None: 0},
    OrderedDict(a=1), defaultdict(int, a=1), Uneven(a=1), Plain(), Plain(a=1), Plain(b=1, a=2), Slotted(), Plain, Slotted,
    re, re.compile, 3, "a", None, np.ones(2), types.SimpleNamespace(a=1), lambda: 0, Raising(),
]  # fmt: skip
KEYS = [(), ("a",), ("a", "b"), ("b", "a"), (1,), (True,), (1.0,), (0.0,), (-0.0,), (None,), ("other",)]


@pytest.mark.parametrize("kind", ["keys", "lacks", "holds", "plain"])
def test_checks_hold_where_guards_say_so(objects, kind):
    texts = [keys for keys in KEYS if all(isinstance(key, str) for key in keys)]
    wanted = {
        "keys": [(dict, keys) for keys in KEYS],
        "lacks": [*map(frozenset, texts)],
        "plain": [*map(frozenset, [*texts, ("shared",), ("area",)])],
        "holds": ["a", "b", "shared", "compile"],
    }[kind]
    for one in wanted:
        jit = Jit("axpy", parameters("X", "Y", "x", a=2.0))
        check = _check(PythonGuard((("parameter", "x"),), kind, one), None)
        assert check[0] == kind
        jit.add(AXPY, objects, places=[(-1, "parameter", "x")], checks=[(0, *check)])
        # Of the last one there are guards of users' objects alone.
        for value in VALUES if kind != "plain" else [Plain(), Plain(area=1), Slotted(), Raising()]:
            try:
                holds = value_holds(kind, one, value)
            except ValueError:  # of its own; its call is Python's
                holds = kind == "lacks"
            result = jit(X, X, value)
            assert (type(result) is not tuple) == holds, (one, value)


def test_the_original_of_a_function(objects):
    def plain(x):
        return x

    def reports(x):
        return x

    reports.__dict__[RECORDED] = plain
    for value in (plain, reports, tilewright.jit(plain), 3, len, Plain):
        jit = Jit("axpy", parameters("X", "Y", "x", a=2.0))
        places = [(-1, "parameter", "x"), (0, "original", RECORDED)]
        jit.add(AXPY, objects, places=places, checks=[(1, "is", original_of(value))])
        np.testing.assert_array_equal(jit(X, X, value), 3 * X)
        assert jit(X, X, print)[0] == "miss"


def test_a_call_looks_once_at_each_place(objects):
    class Counting:
        asked = 0

        @property
        def inner(self):
            type(self).asked += 1
            return Plain(Y=X, k=1)

    jit = Jit("axpy", parameters("X", "x", a=2.0))
    places = [
        (-1, "parameter", "x"),
        (0, "attribute", "inner"),
        (1, "attribute", "Y"),
        (1, "attribute", "k"),
        (1, "attribute", "none"),
    ]
    jit.add(
        AXPY, objects, hidden={"Y": 2}, places=places, checks=[(3, "equal", 1), (1, "type", Plain), (4, "absent", None)]
    )
    for count in (1, 2):
        np.testing.assert_array_equal(jit(X, Counting()), 3 * X)
        assert Counting.asked == count
    assert jit(X, Plain(inner=Plain(Y=X, k=2)))[0] == "miss"


def test_plans_that_a_look_forgets_serve_their_call(objects):
    class Forgetting:
        def __init__(self, jit):
            self.jit = jit

        @property
        def inner(self):
            self.jit.clear()
            gc.collect()
            return self

    jit = Jit("axpy", parameters("X", "Y", "x", a=2.0))
    places = [(-1, "parameter", "x"), (0, "attribute", "inner"), (1, "attribute", "inner")]
    form = (
        "changed",
        ("constant", "done"),
        ((0, False, ("seen",), (("constant", 1),)), (1, False, ("also",), (("constant", 2),))),
    )
    for _ in range(20):
        held = Forgetting(jit)
        jit.add(AXPY, objects, places=places, checks=[(2, "type", Forgetting)], finish=form, sets=([1, 2], False))
        assert jit(X, X, held) == "done"
        assert (held.seen, held.also) == (1, 2)
        assert jit(X, X, held)[0] == "miss"


def test_a_miss_without_an_answer_and_errors_pass_through(objects):
    plain = _face.Dispatcher("f", parameters("X"))
    with pytest.raises(NotImplementedError, match="f: no plan serves this call"):
        plain(X)

    class Failing(_face.Dispatcher):
        def _miss(self, args, kwargs):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Failing("f", [])(1)


def test_a_miss_may_add_a_plan_and_call_again(objects):
    class Compiling(_face.Dispatcher):
        def _miss(self, args, kwargs):
            self.add(AXPY, objects)
            return self(*args, **kwargs)

    f = Compiling("axpy", parameters("X", "Y", a=2.0))
    np.testing.assert_array_equal(f(X, X), 3 * X)
    np.testing.assert_array_equal(f(X, X), 3 * X)
    assert (f.calls, f.misses) == (3, 1)


def test_replacing_plans_while_others_run(objects):
    points = RNG.normal(size=(20_000, 2))
    jit = Jit("get_labels", parameters("X", "means"))
    jit.add(KMEANS, objects)
    expected, wrong = numpy_labels(points, MEANS), []

    def work():
        for _ in range(100):
            got = jit(points, MEANS)
            if isinstance(got, tuple) or not (got == expected).all():
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(200):
        jit.add(KMEANS, objects, index=0)
    for t in threads:
        t.join()
    assert not wrong


def test_cycles_through_a_dispatcher_are_collected(objects):
    jit = Jit("axpy", parameters("X", "Y", a=2.0))
    space = {"self": jit, "Y": X}
    jit.add(AXPY, objects, hidden={"Y": 1}, places=[(-1, "object", space), (0, "entry", "Y")])
    weak = weakref.ref(jit)
    del jit, space
    gc.collect()
    assert weak() is None
