"""What random functions found wrong once, each at the sizes that showed it. NumPy is locked out."""

# Comparing a value with itself is what is tested.
# ruff: noqa: PLR0124
import numpy as np
import pytest
import tilewright
from tilewright.ops import functions_of_elements

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def compiled(function):
    made = tilewright.jit(function, strict=True)

    def never(*_):
        raise AssertionError("the call runs in NumPy")

    made._in_numpy = never
    return made


def sums_along_a_broadcast_axis(x):
    return np.broadcast_to(x[:, None], (x.shape[0], 40)).sum(axis=1), (x[:, None] + np.zeros((x.size, 3))).sum(axis=1)


def sums_of_one_number(x):
    return np.full(x.shape, 2.5).sum(axis=1), np.ones_like(x).sum(axis=0), np.prod(np.full(x.shape, 2), axis=(0, 1))


def product_of_nothing(x):
    return np.prod(np.isnan(x), axis=-1, keepdims=True)


def a_number_that_wraps(x):
    return np.where(x > 2, x, -1), np.where(x > 2, x, 300), np.where(x > 2, x, 2)


def reduced_along_no_axis(x):
    return x.sum(axis=()), x.max(axis=()) + 1, x.mean(axis=()), x.prod(axis=()), np.any(x > 3, axis=())


def largest_of_no_columns(x):
    return np.min(x, axis=1)


def largest_norm_of_nothing(x):
    return np.linalg.norm(x[:3], np.inf, axis=0)


def every_second(x):
    return np.hypot(x[::2, ::2], 1.0)


def product_read_by_a_search(x):
    best = np.prod(x, axis=-1).argmax(axis=0)
    return np.isnan(x) >= best


def mean_inside_of_a_deviation(x):
    deviation = np.std(x, axis=-2)
    return np.hstack((deviation, deviation))


def search_along_half_an_axis(x):
    return x[1::2, ::-1].argmin(axis=0)


def results_of_two_sizes(x, y):
    return np.clip(x, None, 2.5), np.flip(np.ptp(y, axis=-1), 0)


def not_a_number_of_a_column(x, y):
    return np.where(x != x, 3.0, y), np.where(x == x, 3.0, y), np.where((x <= x) & (x >= x), 3.0, y)


def division_by_what_is_zero(x):
    zero = np.logical_xor(x, x).astype(np.float64)
    return x / zero, x // (x > x), np.divide(-1.0, -zero)


def product_with_what_is_zero(x):
    return np.cos(x) @ (x != x).T


def one_of_many_deviations(x):
    return np.var(x.reshape((-1, 1)), axis=1)[1], np.square(x)


X = np.arange(7.0)
SPECIAL = np.array([[1.5, np.nan, -0.0, np.inf, 0.0, -3.0, -np.inf]])
COLUMN_MAJOR = np.asfortranarray(np.arange(1300, dtype=np.int32).reshape(13, 100))
CASES = [
    (sums_along_a_broadcast_axis, (X,)),
    (sums_of_one_number, (np.ones((3, 40)),)),
    (sums_of_one_number, (np.ones((5, 3)),)),
    (sums_of_one_number, (np.ones((0, 0)),)),
    (product_of_nothing, (np.zeros((16, 0), np.int16),)),
    (a_number_that_wraps, (np.arange(5, dtype=np.uint8),)),
    (reduced_along_no_axis, (np.arange(12.0).reshape(3, 4),)),
    (largest_of_no_columns, (np.zeros((0, 0), np.float32),)),
    (largest_of_no_columns, (np.zeros((5, 0)),)),
    (largest_of_no_columns, (np.zeros((0, 5)),)),
    (largest_norm_of_nothing, (np.zeros((0, 4)),)),
    (every_second, (np.ones((1, 100)),)),
    (product_read_by_a_search, (np.ones((5, 3, 1), np.int16),)),
    (mean_inside_of_a_deviation, (np.arange(93, dtype=np.uint32).reshape(31, 3),)),
    (search_along_half_an_axis, (np.arange(637, dtype=np.uint32).reshape(13, 7, 7),)),
    (not_a_number_of_a_column, (np.tile(SPECIAL, (3, 1))[:, :, None], np.arange(13.0))),
    (not_a_number_of_a_column, (np.tile(SPECIAL, (3, 5)), np.arange(35.0))),
    (division_by_what_is_zero, (SPECIAL[:, [0, 2, 3, 4, 5, 6]],)),
    (product_with_what_is_zero, (np.tile(SPECIAL, (1, 9)).astype(np.float32),)),
    (one_of_many_deviations, (np.arange(527.0).reshape(31, 17),)),
    (results_of_two_sizes, (np.ones((62, 62, 62), bool)[::2, ::2, ::2], COLUMN_MAJOR)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f"{k}-{f.__name__}" for k, (f, _) in enumerate(CASES)])
def test_it_answers_as_numpy(function, args):
    try:
        with np.errstate(all="ignore"):
            expected = function(*args)
    except (ValueError, OverflowError) as error:  # which integers np.where refuses depends on NumPy's version
        with pytest.raises(type(error)) as info:
            compiled(function)(*args)
        assert str(error) in str(info.value)
        return
    result = compiled(function)(*args)
    results, wanted = (r if isinstance(r, tuple) else (r,) for r in (result, expected))
    for ours, theirs in zip(results, wanted, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if function is mean_inside_of_a_deviation:
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)
        else:
            assert np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f")


def test_where_refuses_the_integers_that_numpys_version_refuses(monkeypatch):
    monkeypatch.setattr(functions_of_elements, "_where_wraps", lambda: False)  # as NumPy 2.5
    x = np.arange(5, dtype=np.uint8)
    function = compiled(a_number_that_wraps)
    # Where this NumPy wraps it, the error is one of the trace alone, which the first call shows.
    with pytest.raises((OverflowError, tilewright.TraceError), match="Python integer -1 out of bounds for uint8"):
        for _ in range(2):
            function(x)


def test_a_sum_over_a_column_by_a_row_is_as_accurate_as_numpys():
    """One by one, float32 would lose five digits on the way."""
    x = np.full(300_000, 0.1, np.float32)
    scale = np.array([1, 2], np.float32)

    def sums(x, scale):
        return (scale[:, None] * x).sum(axis=1)

    exact = 300_000 * float(x[0]) * scale
    assert np.abs(compiled(sums)(x, scale) / exact - 1).max() <= max(np.abs(sums(x, scale) / exact - 1).max(), 1e-6)


def test_a_default_schedule_that_fails_leaves_the_call_to_numpy(monkeypatch, caplog):
    """It is our defect: no reason to refuse a call."""
    from tilewright import builder

    native = builder.compiler()

    class Failing:
        def __getattr__(self, name):
            return getattr(native, name)

        def build(self, *_, **__):
            raise tilewright.ScheduleError("f_k0: Halide failed without saying why.")

    monkeypatch.setattr(builder, "compiler", Failing)
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    plain = tilewright.jit(lambda x: x * 3.0 + 0.125)
    assert np.array_equal(plain(X), X * 3.0 + 0.125)
    assert "the default schedule of" in caplog.text and "Please report it." in caplog.text
    caplog.clear()
    assert np.array_equal(plain(X), X * 3.0 + 0.125)
    assert not caplog.text  # a program that cannot be built is not built again
    assert "Halide failed without saying why" in plain.explain(source=False)
    strict = tilewright.jit(lambda x: x * 3.0 + 0.25, strict=True)
    for _ in range(2):
        with pytest.raises(tilewright.InternalError, match="Halide failed without saying why"):
            strict(X)


def test_an_error_of_the_library_of_cpp_leaves_the_call_to_numpy(monkeypatch, caplog):
    from tilewright import builder

    native, tries = builder.compiler(), []

    class Failing:
        def __getattr__(self, name):
            return getattr(native, name)

        def default_schedule(self, *_, **__):
            tries.append(1)
            raise IndexError("map::at")

    monkeypatch.setattr(builder, "compiler", Failing)
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    plain = tilewright.jit(lambda x: x * 3.0 + 0.625)
    for _ in range(3):
        assert np.array_equal(plain(X), X * 3.0 + 0.625)
    assert len(tries) == 1 and "IndexError: map::at. Please report it." in caplog.text
    with pytest.raises(tilewright.InternalError, match=r"IndexError: map::at\. Please report it"):
        tilewright.jit(lambda x: x * 3.0 + 0.75, strict=True)(X)


def test_every_second_element_from_behind_and_a_join():
    """The slice's length has a quotient, which the question whether it may begin behind its array did not read."""

    def joined(a):
        b = a + 2.5
        b[::-2] += 3
        c = np.zeros_like(b)
        c += b[::-1]
        return np.concatenate((c, b))

    for n in (1, 2, 7, 33):
        a = np.arange(float(n))
        assert np.array_equal(compiled(joined)(a), joined(a))
