"""Numbers whose kind the data decide, arrays of plain values that are written, bytes and texts of elements, mixed keys."""

import warnings

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

XS = [np.array([2.0, 3.0, 4.0]), np.array([-2.0, -3.0, -4.0]), np.array([7.0, 0.0, 0.0])]


def number_or_scalar(x):
    positions = np.flatnonzero(x > 2)
    return positions[0] if positions.size else -1


def several_numbers(x):
    positive = x[x > 0]
    positions = np.flatnonzero(x > 2)
    longest = positive.max() if len(positive) else 0
    first = positions[0] if positions.size else -1
    part = 0.0
    if x[0] > 1:
        part = x[1]
    number = 1 if x[0] > 5 else 2.5
    return {"a": longest, "b": (first, part, part * 2), "c": first + 1, "d": number, "e": number + 1}, first


def through_a_function(x):
    def early(x):
        if x[0] < 0:
            return 0.0, 0.0
        return x[1], x[2] / x[0]

    return early(x)


def of_other_sizes(x):
    rising = np.flatnonzero(x > 2)
    parts = np.add.reduceat(x, rising) if len(rising) else np.zeros(0)
    return parts, (parts > 3).sum()


def written_with_traced(x):
    window = np.hanning(3)
    seen = window[1:].copy()
    window[1] = x[0]
    window[x > 2] += 1
    return window * x, seen


def written_at_traced(x):
    table = np.linspace(0, 1, 4)
    table[np.argmax(x)] = 7.0
    return table * x[0]


def copy_of_a_copy(x):
    mine = x.copy()
    part = mine[1:].copy()
    mine[0] = 1
    return mine * 2, part


def mask_and_positions(x):
    words = np.zeros((3, 4))
    hit = x > 0
    column = np.array([3, 0, 1])
    words[hit, column[hit]] += x[hit]
    return words, words[hit, column[hit]], words[hit, 2], words[x > 100, [1]]


def masks_of_two_axes(x):
    table = np.outer(x, x)
    return table[x > 0, x < 5][:0], table[:, x > 2][np.array([0, 1])]


def as_bytes(x):
    codes = (np.abs(x) + 96).astype(np.uint8)
    return codes.tobytes(), codes.tobytes().decode("ascii").upper(), codes[x > 2].tobytes(), codes.tobytes() == b'bc"'


def bytes_alone(x):
    return (x * 2).tobytes()


def told_by_bytes(x):
    if x.astype(np.uint8).tobytes() != x.astype(np.int8).tobytes():
        raise ValueError("lost")
    return x + 1


@pytest.mark.parametrize(
    "function",
    [number_or_scalar, several_numbers, through_a_function, of_other_sizes, written_with_traced, written_at_traced,
     copy_of_a_copy, mask_and_positions, as_bytes, bytes_alone, told_by_bytes],
)  # fmt: skip
def test_as_python_has_it(function):
    jitted = tilewright.jit(function, strict=True)
    for x in [*XS, *XS]:
        assert repr(jitted(x.copy())) == repr(function(x.copy()))


def test_masks_that_do_not_go_together_are_numpys_error():
    jitted = tilewright.jit(masks_of_two_axes, strict=True)
    for x in (np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0, -1.0, 9.0])):
        try:
            expected = repr(masks_of_two_axes(x))
        except IndexError as error:
            expected = str(error)
        try:
            given = repr(jitted(x))
        except IndexError as error:
            given = str(error)
        assert given == expected


def formatted(x):
    return x.astype(np.uint8).tobytes().center(9)


def test_other_methods_of_bytes_are_refused():
    with pytest.raises(tilewright.TraceError) as error:
        tilewright.jit(formatted, strict=True)(XS[0])
    assert str(error.value).partition("in formatted: ")[2] == (
        "center() of a bytes that is made of elements; it is known only when the compiled function runs. Return it, and do it at "
        "the caller."
    )


def columns(x):
    return np.outer(x, x).tobytes("F")


def test_other_orders_of_bytes_are_refused():
    with pytest.raises(tilewright.TraceError) as error:
        tilewright.jit(columns, strict=True)(XS[0])
    assert str(error.value).partition("in columns: ")[2] == (
        "array.tobytes with other options; there is no rule for it. Use tobytes()."
    )


def numbers_in_a_list(x):
    t, ts, found = 0.0, [], []
    for i in range(len(x)):
        if x[i] > 2:
            t = t + x[i]
        ts.append(t)
        k = i if x[i] > 0 else np.argmin(x)
        found.append(k)
    return np.array(ts), found, ts


def test_numbers_that_a_loop_collects():
    jitted = tilewright.jit(numbers_in_a_list, strict=True)
    for x in [*XS, *(np.tile(x, 40) for x in XS), *XS, np.ones(90)]:
        assert repr(jitted(x.copy())) == repr(numbers_in_a_list(x.copy()))


def kinds_through_loops(x):
    t, n, last, inner = 0.0, 0, 1, 2
    for i in range(len(x)):
        if x[i] > 3:
            t, last = x[i], i
        for k in range(i):
            if x[k] < 0:
                inner = np.int64(k)
        if x[i] == 7:
            break
        n = n + 1 if x[i] > 100 else np.argmax(x)
    made = float(t), int(n), np.float64(t), np.int64(last), bool(t > 3), float(last)
    return t, n, last, inner, t + 1, n - 1, made


def test_kinds_that_loops_carry():
    jitted = tilewright.jit(kinds_through_loops, strict=True)
    for x in [*XS, *(np.tile(x, 40) for x in XS), np.ones(90), np.arange(-2.0, 90.0), np.full(70, 200.0)]:
        assert repr(jitted(x.copy())) == repr(kinds_through_loops(x.copy()))


def of_narrow_numbers(x):
    part = 0.1
    if x[0] > 1:
        part = x[1]
    return part


def of_small_integers(x):
    part = 3
    for i in range(len(x)):
        if x[i] > 1:
            part = x[i]
    return part


@pytest.mark.parametrize("function", [of_narrow_numbers, of_small_integers])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint64"])
def test_a_number_that_the_other_one_would_round_is_numpys(function, dtype):
    """np.float32(0.1) is another number than 0.1, and an int8 holds no Python int."""
    jitted = tilewright.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilewright.FallbackWarning)
        for x in [*XS, *XS]:
            given = (np.abs(x) if dtype == "uint64" else x).astype(dtype)
            assert repr(jitted(given)) == repr(function(given))
