"""Iterators are advanced when Python advances them, and Python's own objects are not changed in loops of the run."""

import collections
import contextlib
import itertools
import warnings

import numpy as np
import pytest
import tilewright
from tilewright.trace import trace

pytestmark = pytest.mark.fast

X = np.arange(2000.0) + 1


def generator_expression(x):
    a = x.copy()
    doubled = (a[i] * 2 for i in range(3))
    a[0] = 100.0
    return a + sum(doubled)


def of_map(x):
    a = x.copy()
    doubled = map(lambda i: a[i] * 2, range(3))
    a[0] = 100.0
    return a + sum(doubled)


def map_that_nobody_asks(x):
    a = x.copy()

    def write(i):
        a[i] = 7.0

    map(write, range(3))
    return a * 2


def any_that_stops(x):
    a = x.copy()

    def write(i):
        a[i] = 7.0
        return True

    any(write(i) for i in range(3))
    return a * 2


def filter_that_stops(x):
    a = x.copy()

    def write(i):
        a[i] = 7.0
        return i > 0

    return a * 2 + next(filter(write, range(3)))


def zip_that_stops(x):
    numbers, s = itertools.count(), x.copy()
    for v, k in zip(x[:3], numbers):  # noqa: B905
        s = s + k * v
    return s * next(numbers)


def rows_of_an_array(x):
    a = x[:3].copy()
    rows = iter(a)
    a[0] = 77.0
    return x * next(rows)


def generator_in_another_function(x):
    k, y = 5.0, x + 1

    def total(parts):
        k, y = 1.0, 0.0  # noqa: F841
        return sum(parts) + k

    return y * total(v * k for v in x[:3]) + total(i for i in range(4) if i % 2)


def walrus_in_a_generator(x):
    parts = list((last := i) * x for i in range(3))  # noqa: C400
    return parts[0] + parts[2] + last


def names_of_a_generator(x):
    i = 10.0
    parts = (x * i for i in range(3))
    return next(parts) + i + next(parts)


def enumerate_twice(x):
    numbered, s = enumerate(x[:3]), x * 0
    for _, v in numbered:
        s = s + v
    for _, v in numbered:
        s = s + v
    return s


def zip_in_two_parts(x):
    pairs, s = zip(x[:3], x[3:6]), x * 0  # noqa: B905
    for a, _ in pairs:
        s = s + a
        break
    for _, b in pairs:
        s = s + b
    return s


def lists_of_a_zip(x):
    pairs = zip(x[:3], x[3:6])  # noqa: B905
    return x + len(list(pairs)) + 10 * len(list(pairs))


def iterator_in_a_loop(x):
    numbers, s = iter(range(100_000)), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s[i] = next(numbers) * x[i]
    return s


def counter_in_a_loop(x):
    numbers, s = itertools.count(), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s[i] = next(numbers) * x[i]
    return s


def zip_in_a_loop(x):
    pairs, s = zip(x, x), np.zeros(x.shape[0])  # noqa: B905
    for i in range(x.shape[0]):
        for a, b in pairs:
            s[i] = a + b
    return s


def iterator_in_a_branch(x):
    numbers, s = iter([1.0, 2.0, 3.0]), x.copy()
    if x[0] > 0:
        s += next(numbers)
    else:
        s -= next(numbers)
    return s * next(numbers)


def deque_that_turns(x):
    held, s = collections.deque([1.0, 2.0, 3.0]), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s[i] = held[0] * x[i]
        held.rotate(1)
    return s


def item_of_a_deque(x):
    held, s = collections.deque([1.0]), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        held[0] = held[0] + 1
        s[i] = held[0] * x[i]
    return s


def bytes_that_change(x):
    held, s = bytearray(b"abc"), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        held[0] = (held[0] + 1) % 200
        s[i] = held[0] * x[i]
    return s


def polynomial(x):
    held, s = np.poly1d([1.0, 2.0]), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        held[0] = held[0] + 1
        s[i] = held[0] * x[i]
    return s


def item_of_an_array_of_plain_values(x):
    w, s = np.hanning(5), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        w[0] += 1
        s[i] = w[0] * x[i]
    return s


def part_of_an_array_of_plain_values(x):
    w, s = np.hanning(6).reshape(2, 3), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s[i] = w[1, 1] * x[i]
        w.sort()
    return s


def array_of_plain_values_sorted(x):
    w, s = np.hanning(5), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s[i] = w[1] * x[i]
        w.sort()
    return s


def array_of_plain_values_as_out(x):
    w, s = np.hanning(5), np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s[i] = w[1] * x[i]
        np.add(w, 1, out=w)
    return s


def array_of_plain_values_in_a_branch(x):
    w = np.hanning(5)
    if x[0] > 0:
        w[0] = 7.0
    else:
        w[1] = 9.0
    return x * w[0] + w[1]


def view_of_an_array_of_plain_values(x):
    w = np.hanning(5)
    wide = np.broadcast_to(w[:, None], (5, x.shape[0]))
    w[0] = 7.0
    return wide * x


def list_of_a_closure(x):
    def make():
        held = [0]

        def add():
            held[0] += 1

        def get():
            return held[0]

        return add, get

    add, get = make()
    for _ in range(x.shape[0]):
        add()
    return x * get()


def list_of_a_default(x):
    def add(held=[0]):  # noqa: B006
        held[0] += 1
        return held[0]

    for _ in range(x.shape[0]):
        add()
    return x * add()


def list_of_a_bound_method(x):
    def make():
        held = [0]
        return held.append, held.__len__

    append, length = make()
    for _ in range(x.shape[0]):
        append(1)
    return x * length()


def array_of_a_closure(x):
    def make():
        buffer = np.zeros(3)

        def add(v):
            buffer[0] += v

        def get():
            return buffer[0]

        return add, get

    add, get = make()
    for i in range(x.shape[0]):
        add(x[i])
    return x * get()


def array_of_a_default(x):
    def add(v, buffer=np.zeros(3)):  # noqa: B008
        buffer[0] += v
        return buffer

    for i in range(x.shape[0]):
        add(x[i])
    return x * add(0.0)[0]


def tuple_that_grows(x):
    held = ()
    for _ in range(x.shape[0]):
        held += (1,)
    return x * len(held)


def tuple_that_grows_inside(x):
    held = ((x[0],), x[1])
    for i in range(x.shape[0]):
        held = (held[0] + (1.0,), held[1] + x[i])
    return x * len(held[0]) + held[1]


def tuple_that_loses_its_parts(x):
    held = (1, 2)
    for _ in range(x.shape[0]):
        held = held[:1]
    return x * len(held)


def tuple_that_turns(x):
    held = (x[0], (x[1], x[2]), ())
    for i in range(x.shape[0]):
        held = (held[1][0] + i, (held[0], held[1][1]), held[2])
    return x * held[0] + held[1][0]


def slice_of_the_last_iteration(x):
    for i in range(x.shape[0] - 3):
        part = slice(i, i + 2)
    return x[part] * 2


def range_of_the_last_iteration(x):
    for i in range(x.shape[0] - 3):
        part = range(i, i + 3)
    return x * len(part) + part[0]


def else_that_returns(x):
    y = np.zeros(3)

    def inner():
        try:
            z = x + 1
        except ValueError:
            z = x
        else:
            return z
        finally:
            y[:] = 5.0

    return inner() + y[0]


def finally_that_returns(x):
    def inner():
        try:
            raise ValueError
        finally:
            return x * 2  # noqa: B012

    return inner()


COMPILED = [
    generator_expression, of_map, map_that_nobody_asks, any_that_stops, filter_that_stops, zip_that_stops, rows_of_an_array,
    generator_in_another_function, walrus_in_a_generator, names_of_a_generator, array_of_a_closure, array_of_a_default,
    else_that_returns, finally_that_returns, tuple_that_turns, item_of_an_array_of_plain_values,
    array_of_plain_values_sorted, array_of_plain_values_as_out, array_of_plain_values_in_a_branch,
]  # fmt: skip
IN_NUMPY = [
    part_of_an_array_of_plain_values, lists_of_a_zip, view_of_an_array_of_plain_values, slice_of_the_last_iteration,
    range_of_the_last_iteration,
]  # fmt: skip
BY_PYTHON = [
    enumerate_twice, zip_in_two_parts, iterator_in_a_loop, counter_in_a_loop, zip_in_a_loop, deque_that_turns, item_of_a_deque,
    bytes_that_change, polynomial, tuple_that_grows, list_of_a_bound_method,
    tuple_that_grows_inside, tuple_that_loses_its_parts,
]  # fmt: skip


@pytest.mark.parametrize("function", COMPILED)
def test_they_are_compiled(function):
    jitted = tilewright.jit(function, strict=True)
    for k in (1.0, 2.0):
        np.testing.assert_array_equal(jitted(X * k), function(X * k))


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_an_iterator_in_a_branch_is_pythons():
    jitted = tilewright.jit(iterator_in_a_branch)
    for k in (1.0, -1.0, 2.0, -2.0):
        np.testing.assert_array_equal(jitted(X * k), iterator_in_a_branch(X * k))


@pytest.mark.parametrize("function", IN_NUMPY)
def test_they_run_in_numpy(function):
    jitted = tilewright.jit(function)
    with pytest.warns(tilewright.FallbackWarning):
        for _ in range(10):  # the first ones may be watched
            assert np.array_equal(jitted(X), function(X))
    assert not jitted.specializations


@pytest.mark.parametrize("function", BY_PYTHON)
def test_a_part_of_them_runs_in_python(function):
    jitted = tilewright.jit(function, strict=True)
    for _ in range(6):
        for k in (1.0, -1.0, 2.0):
            assert repr(jitted(X * k)) == repr(function(X * k))
    assert jitted.specializations


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (iterator_in_a_loop, "loops: advancing an iterator that was made before a run-time loop or branch; iterators are Python's "
         "own while tracing, and a run-time loop is traced as one iteration. Make it inside, or index with the loop's variable instead."),
        (enumerate_twice, "continuing a zip, enumerate or reversed of an array that was used before; there is no rule for the items that are left. Make it "
         "again, or go through its items once."),
        (part_of_an_array_of_plain_values, "loops: changing an array of plain values in a run-time loop or branch; it was made by a call "
         "that is not traced, and a run-time loop is traced as one iteration. Make it with np.zeros or np.array inside of the function."),
        (view_of_an_array_of_plain_values, "changing an array of plain values after it was used beside traced ones; it was made by a "
         "call that is not traced, and only its contents are known. Make it with np.zeros or np.array inside of the function."),
        (tuple_that_grows, "loops: held, a tuple that an iteration reads and makes of another length; a tuple keeps its length from iteration to "
         "iteration. Write into an array that is made before the loop."),
        (slice_of_the_last_iteration, "loops: part after the loop that made it, a slice of values of an iteration; arrays and numbers come out "
         "of a loop. Set part before the loop, or keep its parts in separate variables."),
        (item_of_a_deque, "loops: assigning an item of held in a run-time loop or branch; lists, dicts and sets are Python's own while "
         "tracing, and a run-time loop is traced as one iteration. Write into an array that is made before the loop."),
    ],
)  # fmt: skip
def test_why_they_are_not_compiled(function, text):
    with pytest.raises(tilewright.TraceError) as error:
        trace(function, (X,))
    assert str(error.value).partition(f"in {function.__name__}: ")[2] == text


def with_an_effect(x):
    try:
        calls.append(1)
    finally:
        return x * 2  # noqa: B012


calls: list[int] = []


def test_a_finally_that_returns_hides_no_refusal():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jitted = tilewright.jit(with_an_effect)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * 2)
    assert len(calls) == 3


def entered(x, quiet):
    with quiet:
        return 1.0 / (x - 1.0)


loud = np.errstate(all="raise")


def entered_from_outside(x):
    with loud:
        return 1.0 / (x - 1.0)


def with_settings(x, settings):
    with np.errstate(**settings) as nothing:
        y = 1.0 / (x - 1.0)
    return y if nothing is None else x


def test_an_errstate_from_outside_is_entered_at_each_call():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(FloatingPointError):
            tilewright.jit(entered)(X, np.errstate(all="raise"))
        with pytest.raises(FloatingPointError):
            tilewright.jit(entered_from_outside)(X)
        with pytest.raises(FloatingPointError):
            tilewright.jit(with_settings)(X, {"all": "raise"})
        jitted = tilewright.jit(with_settings)
        assert np.isinf(jitted(X, {"all": "ignore"})[0])
    assert len(jitted.specializations) == 1


def chosen_before(x, quiet=True):
    manager = np.errstate(divide="ignore", invalid="ignore") if quiet else contextlib.nullcontext(2.0)
    with manager as given:
        return (1.0 if given is None else given) / (x - 1.0)


def entered_twice(x):
    manager = np.errstate(divide="ignore")
    with manager:
        y = 1.0 / (x - 1.0)
    with manager:
        return y + 1.0


def raising_as_chosen(x):
    manager = np.errstate(divide="raise")
    with manager:
        return 1.0 / (x - 1.0)


def test_managers_that_the_function_makes_before_it_enters_them():
    jitted = tilewright.jit(strict=True)(chosen_before)
    for quiet in (True, False):
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(jitted(X, quiet), chosen_before(X, quiet))
    assert all(not one.traced.stages for one in jitted.specializations)
    for _ in range(2):
        with pytest.raises(TypeError, match="twice"):
            tilewright.jit(strict=True)(entered_twice)(X)
    with pytest.raises(tilewright.TraceError, match="with manager; compiled code raises no floating-point errors"):
        tilewright.jit(strict=True)(raising_as_chosen)(X)


def by_its_device(x):
    return x * 2 if x.device == "cpu" else x


def test_the_device_of_an_array_is_what_numpy_says():
    jitted = tilewright.jit(strict=True)(by_its_device)
    np.testing.assert_array_equal(jitted(X), X * 2)
    assert not jitted.specializations[0].traced.stages


def makes_an_error_of_it(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        return np.asarray(x, dtype=float) + 1


def says_it_in_its_own_words(x):
    """As scikit-learn checks arrays."""
    with warnings.catch_warnings():
        try:
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            y = np.asarray(x, dtype=float)
        except np.exceptions.ComplexWarning as warning:
            raise ValueError(f"complex data: {x.dtype}") from warning
    return y * 2


def goes_on_without(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        y = x.astype(float)
    with warnings.catch_warnings():
        try:
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            y[0] = x[1]
            y += np.asarray(x, dtype=float)
        except np.exceptions.ComplexWarning:
            y -= x.imag
    return y


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [makes_an_error_of_it, says_it_in_its_own_words, goes_on_without])
def test_imaginary_parts_that_a_cast_drops_are_an_error_where_the_function_says_so(function, strict):
    jitted = tilewright.jit(function, strict=strict)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilewright.FallbackWarning)
        for x in (X + 1j, X, X + 2j, X):
            try:
                wanted = function(x)
            except (ValueError, np.exceptions.ComplexWarning) as error:
                with pytest.raises(type(error), match=str(error)):
                    jitted(x)
            else:
                np.testing.assert_array_equal(jitted(x), wanted)
