"""The C face with plans that write their arguments and plans with loops: who may be written, Ctrl-C, complex halves."""

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide")
from tilewright import _face  # noqa: E402

pytestmark = pytest.mark.fast

MAKE_KERNELS = Path(__file__).parents[1] / "runtime" / "make_kernels.py"

# A = 2*A + t for each t of range(n), and B = A / 2 at the end.
STEPS = """tilewright-plan 1
function steps
arg A float64 1 written
arg X float64 1
scalar n int64
guard A.0 == X.0 "A and X differ in length"
result B float64 [A.0]
return (A, B)
version "any layout"
for t from 0 to n step 1 {
  call step in "step" (t, A)
}
call half in "half" (A, B)
end
"""

# Doubles A until its first element is above 1; for A[0] <= 0 that is never.
ENDLESS = """tilewright-plan 1
function doubled
arg A float64 1 written
return None
version "only"
temp t float64 [A.0]
temp c bool []
loop {
  copy A to t
  call large in "large" (t, c)
  leave if c
  call step in "step" (0, A)
}
end
"""

SQUARES = """tilewright-plan 1
function squares
arg Z complex128 1
scalar c complex128
scalar n int64
arg W complex128 1 written
result R complex128 [Z.0]
return R
version "only"
temp t complex128 [Z.0]
temp u complex128 [Z.0]
copy Z to t
for k from 0 to n step 1 {
  call square in "square" (c.real, c.imag, t.real, t.imag, u.real, u.imag)
  swap t u
}
copy t to R
copy t.imag to W.real
copy t.real to W.imag
end
"""


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop_kernels")
    spec = importlib.util.spec_from_file_location("make_kernels", MAKE_KERNELS)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    maker.loops(folder)
    return {path.stem: path.read_bytes() for path in folder.glob("*.o")}


def parameters(*names):
    return [(n, "positional_or_keyword", _face.MISSING) for n in names]


class Jit(_face.Dispatcher):
    def _miss(self, args, kwargs):
        return "miss"


def load(objects, plan, *names, **more):
    function = next(line.split()[1] for line in plan.splitlines() if line.startswith("function"))
    return _face.load(plan, objects, name=function, parameters=parameters(*names), module_name="m", **more)


@pytest.fixture(scope="session")
def steps(objects):
    return load(objects, STEPS, "A", "X", "n")


@pytest.fixture(scope="session")
def doubled(objects):
    return load(objects, ENDLESS, "A")


def stepped(a, n):
    for t in range(n):
        a = 2 * a + t
    return a


X = np.zeros(6)


# ---- written arguments ----


@pytest.mark.parametrize(
    "view", [np.s_[:6], np.s_[5::-1], np.s_[::2], np.s_[::-2], np.s_[3:9]], ids=lambda view: f"{view.start}:{view.step}"
)
def test_any_view_is_written_in_place(steps, view):
    base = np.arange(12.0)
    expected, a = base.copy(), base[view][:6]
    expected[view][:6] = stepped(expected[view][:6], 5)
    returned, b = steps(a, X, 5)
    assert returned is a
    np.testing.assert_array_equal(base, expected)
    np.testing.assert_array_equal(b, a / 2)


def test_a_function_that_only_writes_returns_none(doubled, objects):
    a = np.array([0.25, 3.0])
    assert doubled(a) is None
    np.testing.assert_array_equal(a, [2.0, 24.0])
    with pytest.raises(ValueError, match="doubled: out must have an array for each of the 0 results, or None"):
        doubled(a, out=np.empty(2))
    jit = Jit("doubled", parameters("A"))
    jit.add(ENDLESS, objects)
    assert jit(a) is None
    assert jit([1.0]) == "miss"


def unaligned(values):
    memory = np.zeros(8 * len(values) + 1, np.uint8)[1:]
    memory.view(np.float64)[...] = values
    return memory.view(np.float64)


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


BASE = np.arange(24.0)


@pytest.mark.parametrize(
    ("a", "x", "out", "text"),
    [
        (list(range(6)), X, None, "A is list, and the call writes into it. Pass an array."),
        (read_only(X), X, None, "A is read-only, and the call writes into it. Pass an array that can be written."),
        (unaligned(X), X, None, "A is not aligned to its elements, and the call writes into it. Pass a copy."),
        (
            np.lib.stride_tricks.as_strided(BASE, (6,), (0,)),
            X,
            None,
            "elements of A share memory with each other, and the call writes into it. Pass a copy.",
        ),
        (BASE[:6], BASE[5:11], None, "A shares memory with X, and the call writes into it. Pass a copy of one."),
        (BASE[:6], BASE[5::-1], None, "A shares memory with X, and the call writes into it. Pass a copy of one."),
        # Interleaved: no element is shared, but which is which is not asked so exactly.
        (BASE[:12:2], BASE[1:12:2], None, "A shares memory with X, and the call writes into it. Pass a copy of one."),
        (
            BASE[:6],
            X,
            (None, BASE[3:9]),
            "A shares memory with out, and the call writes into both. Pass another out.",
        ),
    ],
    ids=["list", "read-only", "unaligned", "zero stride", "overlap", "reversed", "interleaved", "out"],
)
def test_what_must_not_be_written_is_named_and_left_to_numpy(objects, a, x, out, text):
    steps = load(objects, STEPS, "A", "X", "n")
    before, base = np.array(a), BASE.copy()
    with pytest.raises(_face.WrittenError) as info:
        steps(a, x, 3) if out is None else steps(a, x, 3, out=out)
    assert str(info.value) == f"steps: {text}"
    assert issubclass(_face.WrittenError, ValueError)
    jit = Jit("steps", parameters("A", "X", "n"))
    jit.add(STEPS, objects)
    for jit.copy_layouts in (False, True):
        assert (jit(a, x, 3) if out is None else jit(a, x, 3, out=out)) == "miss"
    np.testing.assert_array_equal(a, before)
    np.testing.assert_array_equal(BASE, base)


def test_neighbours_in_one_array_are_apart(steps):
    base = np.arange(24.0)
    a, b = steps(base[:6], base[6:12], 2, out=(None, base[12:18]))
    np.testing.assert_array_equal(a, stepped(np.arange(6.0), 2))
    np.testing.assert_array_equal(base[12:18], a / 2)
    np.testing.assert_array_equal(base[6:12], np.arange(6.0, 12.0))
    np.testing.assert_array_equal(base[18:], np.arange(18.0, 24.0))
    assert b.base is base


def test_an_argument_that_is_only_read_is_converted_as_ever(steps):
    a = np.ones(6)
    steps(a, [0.0] * 6, 1)
    steps(a, unaligned(X), 1)
    np.testing.assert_array_equal(a, stepped(stepped(np.ones(6), 1), 1))


def test_hidden_arrays_count_as_arguments(objects):
    space = {"X": X}
    jit = Jit("steps", parameters("A", "n"))
    jit.add(STEPS, objects, hidden={"X": 1}, places=[(-1, "object", space), (0, "entry", "X")])
    a = np.ones(6)
    assert jit(a, 1)[0] is a
    space["X"] = a
    assert jit(a, 1) == "miss"


def test_a_memmap_is_written(steps, tmp_path):
    (tmp_path / "a").write_bytes(np.arange(6.0).tobytes())
    a = np.memmap(tmp_path / "a", dtype=np.float64, mode="r+")
    returned, _ = steps(a, X, 3)
    assert returned is a
    a.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "a"), stepped(np.arange(6.0), 3))
    with pytest.raises(_face.WrittenError, match="A is read-only"):
        steps(np.memmap(tmp_path / "a", dtype=np.float64, mode="r"), X, 3)


def test_a_layout_that_no_version_takes_is_not_copied(objects):
    plan = STEPS.replace("for t", "require layout A C\nrequire layout X C\nfor t", 1)
    f = load(objects, plan, "A", "X", "n")
    base = np.ones(12)
    with pytest.raises(ValueError, match="no version of this module serves A float64"):
        f(base[::2], X, 1)
    np.testing.assert_array_equal(base, np.ones(12))
    f(base[:6], np.zeros(12)[::2], 1)
    np.testing.assert_array_equal(base, [2.0] * 6 + [1.0] * 6)


# ---- loops ----


def test_complex_arrays_and_scalars(objects):
    f = load(objects, SQUARES, "Z", "c", "n", "W")
    rng = np.random.default_rng(1)
    z, c = rng.normal(size=20) + 1j * rng.normal(size=20), -0.5 + 0.25j
    w = np.zeros(30, np.complex128)
    got = f(z[::-2], c, 3, w[1:30:3])
    expected = z[::-2].copy()
    for _ in range(3):
        real = expected.real * expected.real - expected.imag * expected.imag + c.real
        expected = real + 1j * (2 * expected.real * expected.imag + c.imag)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(w[1::3], expected.imag + 1j * expected.real)
    assert not w[::3].any() and not w[2::3].any()


@pytest.mark.parametrize("n", [2**31, -(2**31) - 1, 2**62])
def test_a_size_out_of_range_is_a_value_error(objects, n):
    f = load(objects, STEPS.replace("from 0 to n step 1", "from n to n + 1 step 1"), "A", "X", "n")
    with pytest.raises(ValueError) as info:
        f(np.ones(6), X, n)
    assert str(info.value) == (
        "steps: a size or a step that the call computes is out of range: sizes are below 2**31, steps not 0."
    )


def interrupt_soon():
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


# Small calls keep the GIL until their loop takes long: the timer's thread would not come to run otherwise.
@pytest.mark.parametrize("extent", [1, 1_000_000])
def test_ctrl_c_ends_a_loop_that_never_ends(doubled, objects, extent):
    live = _face.pool_info()["live_bytes"]
    a = np.zeros(extent)
    jit = Jit("doubled", parameters("A"))
    jit.add(ENDLESS, objects)
    for f in (doubled, jit):
        timer = interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            f(a)
        timer.join()
    assert jit.misses == 0
    assert _face.pool_info()["live_bytes"] == live


def test_a_handler_that_does_not_raise_lets_the_loop_go_on(doubled):
    a, seen = np.zeros(1), []

    def handler(number, frame):
        seen.append(number)
        a[0] = 0.75

    before = signal.signal(signal.SIGINT, handler)
    try:
        interrupt_soon()
        assert doubled(a) is None
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
    assert a[0] == 1.5


def test_a_loop_in_another_thread_lets_the_others_run(doubled):
    a = np.zeros(1)
    thread = threading.Thread(target=doubled, args=(a,))
    thread.start()
    time.sleep(0.05)
    for _ in range(3000):  # a store between the loop's own load and store is lost
        a[0] = 3.0
        thread.join(0.01)
        if not thread.is_alive():
            return
    pytest.fail("the loop did not end")


CHECKED = """tilewright-plan 1
function checked
arg A float64 1 written
arg c bool 0
arg B int64 0
scalar n int64
return (int n, A)
version "only"
temp w float64 [A.0]
copy A to w
check c "line 3: an index out of bounds for axis 0"
read m from B
check m >= 0 "line 4: an integer beyond 64 bits"
for t from 0 to m step 1 {
  call step in "step" (t, w)
}
copy w to A
end
"""


def test_a_failed_check_of_a_module_is_an_error_that_says_why(objects):
    f = load(objects, CHECKED, "A", "c", "B", "n")
    a = np.array([1.0, 2.0])
    n, same = f(a, np.array(True), np.array(3), 5)
    assert type(n) is int and n == 5 and same is a
    np.testing.assert_array_equal(a, stepped(np.array([1.0, 2.0]), 3))
    before = a.copy()
    for c, b, error, text in [
        (False, 3, IndexError, "checked: line 3: an index out of bounds for axis 0."),
        (True, -1, ValueError, "checked: line 4: an integer beyond 64 bits."),
        (True, 2**40, ValueError, "checked: the size m, which the call reads, does not fit 32 bits."),
    ]:
        with pytest.raises(error) as caught:
            f(a, np.array(c), np.array(b), 5)
        assert str(caught.value) == text and isinstance(caught.value, _face.CheckError)
        np.testing.assert_array_equal(a, before)


def test_a_failed_check_of_jit_is_for_numpy(objects):
    class Numpy(Jit):
        def _check_failed(self, args, kwargs):
            return "numpy"

    f = Numpy("checked", parameters("A", "c", "B", "n"))
    f.add(CHECKED, objects)
    a = np.array([1.0])
    assert f(a, np.array(False), np.array(3), 5) == "numpy" and a[0] == 1.0
    assert f(a, np.array(True), np.array(3), 5)[0] == 5


def test_python_numbers_of_results_and_arguments(objects):
    plan = """tilewright-plan 1
function numbers
arg x float64 0
arg k int64 0
arg c bool 0
scalar n int64
result y float64 []
result m int64 []
result t bool []
return (float y, int m, bool t, int n, int k)
version "only"
copy x to y
copy k to m
copy c to t
end
"""
    f = load(objects, plan, "x", "k", "c", "n")
    got = f(np.array(0.5), np.array(-7), np.array(True), np.int64(3))
    assert [type(v) for v in got] == [float, int, bool, int, int] and got == (0.5, -7, True, 3, -7)
