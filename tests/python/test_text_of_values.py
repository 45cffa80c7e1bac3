"""Text, hashes and types of traced values are those of the function's own values, or NumPy runs the call: never ours."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast

ARRAYS = [np.array([1.5, 2.0, -3.25, 4.0]), np.array([0.0, 1.0, 2.0]), np.array([4.0, -3.25, 2.0, 1.5, 1e100])]


def text_of_an_element(x):
    return x + len(repr(x[1]))


def text_of_an_array(x):
    return x + len(str(x))


def text_in_a_list(x):
    return x + len(f"{[x[0], x[1]]}")


def ascii_in_a_format(x):
    return x + len(f"{x.sum()!a:>40}") + len(f"{x[0]!s}")


def percent(x):
    return x + len("%s %r" % (x[0], x[1]))  # noqa: UP031


def text_of_a_sum(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return x + len(str(total))


def text_of_a_count(x):
    count = 0
    for i in range(len(x)):
        if x[i] > 0:
            count += 1
    return x + len(repr(count)) + len(f"{count:>5}")


def branch_on_text(x):
    return x * 2 if str(x[0]) == "1.5" else x * 3


def in_a_set(x):
    return x + len({x[0], x[1]})


def in_a_dict(x):
    return x + {x[0]: 1.0, x[1]: 2.0}[x[0]]


def hashed(x):
    return x + hash(x[0]) % 7


def pickled(x):
    return x + len(pickle.dumps(x[0]))


def of_a_type(x):
    return x * (type(x[0]) is np.float64) + isinstance(x.sum(), float) + isinstance(x, np.ndarray)


def text_of_a_range(x):
    return x + len(str(range(len(x)))) + hash(range(len(x))) % 5


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize(
    "function",
    [text_of_an_element, text_of_an_array, text_in_a_list, ascii_in_a_format, percent, text_of_a_sum, text_of_a_count,
     branch_on_text, in_a_set, in_a_dict, hashed, pickled, of_a_type, text_of_a_range],
)  # fmt: skip
def test_what_is_made_of_them_is_numpys(function: Any) -> None:
    compiled = tilewright.jit(function)
    for x in ARRAYS:
        np.testing.assert_array_equal(compiled(x), function(x))


def copied(x, n, a):
    y = copy.deepcopy(x)
    y[0] = copy.copy(a) + copy.deepcopy(n)
    return x * 2, y, len(f"{n} {a!r}")


def test_copies_and_the_text_of_arguments() -> None:
    compiled = tilewright.jit(copied)
    for n, a in ((3, 1.5), (40, 2.25), (3, -0.0)):
        for one, other in zip(compiled(ARRAYS[0], n, a), copied(ARRAYS[0], n, a), strict=True):
            np.testing.assert_array_equal(one, other)


def test_strict_says_why() -> None:
    compiled = tilewright.jit(strict=True)(text_of_an_array)
    with pytest.raises(tilewright.TraceError) as error:
        for _ in range(6):  # a call that nothing is known of is looked at first, and then the statements around it
            compiled(ARRAYS[0])
    assert "text (str, repr, format)" in str(error.value)
    assert f"test_text_of_values.py:{text_of_an_array.__code__.co_firstlineno}" not in str(error.value)


def truth_that_is_one(x):
    return x + (1 if bool(x[0] > 1) is True else 2)


def real_part_of_a_truth(x):
    return x + 0, bool(x[0] > 1).real


def an_array_of_one_as_a_number(x):
    return x + float(x[:1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [truth_that_is_one, real_part_of_a_truth, an_array_of_one_as_a_number])
def test_numbers_of_the_run_are_pythons(function: Any) -> None:
    compiled = tilewright.jit(function)
    for x in ARRAYS:
        try:
            expected: Any = function(x)
        except TypeError as error:
            with pytest.raises(TypeError) as ours:
                compiled(x)
            assert str(ours.value) == str(error)
            continue
        got = compiled(x)
        assert type(got) is type(expected)
        for one, other in zip(np.atleast_1d(got[1:]), np.atleast_1d(expected[1:]), strict=True):
            assert type(one) is type(other)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])
