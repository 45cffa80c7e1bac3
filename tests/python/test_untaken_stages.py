"""Where no stage is taken: strict="kernels", the reproducible contract, and calls on a device. Each says why, at its line."""

import warnings
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

X = np.random.default_rng(5).normal(size=200)


def sorted_twice(x):
    return np.sort(x * 2.0) + 1.0


def kept(x):
    return x[x > 0.5] * 2.0


def mean_of_rows(x):
    return np.mean(x, axis=0) * 2.0


LINE = sorted_twice.__code__.co_firstlineno + 1
SORT = f"{__file__}:{LINE}, in sorted_twice: np.sort(); kernels sort along axes of at most 16 elements, a known number, and no complex ones."
KERNELS = (
    "NumPy can compute it between kernels, which strict='kernels' does not take. Use strict=True, or leave it out of the "
    "compiled function."
)
BITS = (
    "NumPy can compute it between kernels, but its bits are those of NumPy's build, and contract='reproducible' promises the "
    "same ones everywhere. Use contract='numpy', or leave it out of the compiled function."
)
DEVICE = (
    "NumPy can compute it between kernels, but on the host alone, and the arrays of the call are on a device. Call it before "
    "or after the compiled function, with arrays of the host, or compile for the host."
)


def text_of(refused: Any, *args: Any) -> str:
    with pytest.raises(tilewright.TraceError) as caught:
        refused(*args)
    assert (caught.value.file, caught.value.line) == (__file__, LINE)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"strict": "kernels"}, KERNELS),
        ({"contract": "reproducible", "strict": True}, BITS),
        ({"target": "cuda"}, DEVICE),
    ],
)
def test_a_stage_is_refused_at_its_line(options: dict[str, Any], why: str) -> None:
    assert text_of(tilewright.jit(sorted_twice, **options).for_args, X) == f"{SORT} {why}"


def test_strict_kernels_refuses_the_call() -> None:
    assert text_of(tilewright.jit(sorted_twice, strict="kernels"), X) == f"{SORT} {KERNELS}"


def test_strict_takes_stages() -> None:
    compiled = tilewright.jit(sorted_twice, strict=True)
    np.testing.assert_array_equal(compiled(X), sorted_twice(X))
    assert list(compiled.for_args(X).traced.stages) == ["numpy.sort($0)"]


def test_a_size_from_data_is_refused_too() -> None:
    with pytest.raises(tilewright.TraceError) as caught:
        tilewright.jit(kept, strict="kernels")(X)
    line = kept.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"{__file__}:{line}, in kept: returning the elements of what a boolean mask picks out; how many elements there are "
        f"depends on the mask. {KERNELS}"
    )


def test_kernels_alone_pass() -> None:
    x = X.reshape(20, 10)
    np.testing.assert_array_equal(tilewright.jit(mean_of_rows, strict="kernels")(x), mean_of_rows(x))


class Plate:
    def __init__(self) -> None:
        self.u, self.history = np.ones((20, 20)), []

    def laplacian(self):
        return np.roll(self.u, 1, 0) + np.roll(self.u, -1, 0) + np.roll(self.u, 1, 1) + np.roll(self.u, -1, 1)

    def run(self, steps):
        for k in range(steps):
            self.u = self.u + 0.1 * self.laplacian()
            if k % 10 == 0:
                self.history.append(self.u.mean())
        return self.u.max()


def test_what_keeps_a_loop_from_staying_one_is_told_with_its_own_line() -> None:
    with pytest.raises(tilewright.TraceError) as caught:
        tilewright.jit(Plate.run, strict="kernels")(Plate(), 50)
    line = Plate.run.__code__.co_firstlineno + 4
    assert caught.value.line == line
    assert (
        str(caught.value)
        == f"{__file__}:{line}, in run: loops: self.history.append() in a run-time loop or branch. {KERNELS}"
    )


class Pair:
    def __init__(self, x):
        self.x = x


def handed_on(p, steps):
    for _ in range(steps):
        p = Pair(p.x * 2)
    return p.x


def test_what_would_have_been_for_the_next_trace_is_a_trace_error() -> None:
    with pytest.raises(tilewright.TraceError) as caught:
        tilewright.jit(handed_on, strict="kernels")(Pair(X), 100)
    assert type(caught.value) is tilewright.TraceError
    line = handed_on.__code__.co_firstlineno + 1
    assert str(caught.value).startswith(
        f"{__file__}:{line}, in handed_on: loops: p, which an iteration reads and changes;"
    )


def percentile_of_rows(x):
    return np.apply_along_axis(lambda row: np.percentile(row, 30), 1, x)


def drawn_globally(x):
    return np.random.rand(3) + x[:3]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (percentile_of_rows, "no kernel computes this NumPy function"),
        (drawn_globally, "np.random.rand(); there is no rule"),
    ],
)
def test_the_line_is_the_users_and_the_call_too(function: Any, why: str) -> None:
    with pytest.raises(tilewright.TraceError) as caught:
        tilewright.jit(function, strict="kernels")(X.reshape(4, 50) if function is percentile_of_rows else X)
    assert str(caught.value).startswith(f"{__file__}:{function.__code__.co_firstlineno + 1}, in ")
    assert why in str(caught.value)
    assert str(caught.value).count("strict='kernels'") == 1


def test_a_number_of_the_run_is_to_be_the_numpy_scalar_of_its_kind() -> None:
    def power(x):
        return int(x[0] * 10) ** 200, x * 2

    with pytest.raises(tilewright.TraceError, match=r"Make it a NumPy scalar \(np\.int64\(…\)\)"):
        tilewright.jit(power, strict=True)(X)


def test_without_strict_the_call_runs_in_numpy() -> None:
    compiled = tilewright.jit(sorted_twice, contract="reproducible")
    with pytest.warns(tilewright.FallbackWarning) as caught:
        np.testing.assert_array_equal(compiled(X), sorted_twice(X))
    assert [str(one.message) for one in caught] == [f"runs in NumPy: {SORT} {BITS}"]


def test_a_device_and_the_host_have_programs_of_their_own() -> None:
    """A call on a device is refused, and says nothing of calls on the host; nor they of it."""
    for order in ("device first", "host first"):
        compiled = tilewright.jit(sorted_twice, target="host,cuda")
        for _ in range(2):
            if order == "device first":
                with _on_device(compiled):
                    assert text_of(compiled.for_args, X) == f"{SORT} {DEVICE}"
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                np.testing.assert_array_equal(compiled(X), sorted_twice(X))
            if order == "host first":
                with _on_device(compiled):
                    assert text_of(compiled.for_args, X) == f"{SORT} {DEVICE}"


class _on_device:
    """As `with tilewright.device("cuda")`, which needs one."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled

    def __enter__(self) -> None:
        self.compiled._moves_to_device = lambda: True

    def __exit__(self, *_: Any) -> None:
        del self.compiled._moves_to_device
