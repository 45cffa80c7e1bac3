"""Lists, dicts and named tuples of arrays as results, and lists that a loop of the run fills."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.fast

X = np.random.default_rng(1).random(20)
Pair = collections.namedtuple("Pair", "first second")


def a_dict(x):
    return {"largest": x.max(), "n": x.size, "doubled": x * 2}


def a_list_in_a_tuple(x):
    return x * 2, [x + 1, x + 2]


def a_named_tuple(x):
    return Pair(x * 2, None)


def all_at_once(x):
    return {"a": [x * 2, {"b": (x.max(), "s", 3)}], "none": [], "over": x[x > 0.5]}


def of_numpys(x):
    return np.linalg.eigh(np.outer(x, x) + np.eye(x.size))


@pytest.mark.parametrize(
    "function",
    [a_dict, a_list_in_a_tuple, a_named_tuple, all_at_once, of_numpys],
    ids=lambda function: function.__name__,
)
def test_the_functions_own_structure(function):
    check(function, X, bits=False)


def filled(x):
    made = []
    for i in range(x.size):
        made.append(x[i] * 2)
    return np.array(made)


def returned(x):
    found = []
    for i in range(1, x.size - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            found.append(i)
    return found


def until_small(x):
    history, y = [np.inf], x.copy()
    for _ in range(60):
        y = y * 0.9
        history.append(y.max())
        if history[-2] - history[-1] < 0.01:
            break
    return y, history, len(history), np.array(history[1:])


def of_rows(x):
    rows, y = [], x.copy()
    for i in range(60):
        y = y + i
        rows.append(y.copy())
    return np.array(rows)[-1], np.stack(rows)


@pytest.mark.parametrize("function", [filled, returned, until_small, of_rows], ids=lambda function: function.__name__)
def test_lists_that_a_loop_fills(function):
    check(function, X)


def test_each_call_has_its_own_containers():
    compiled = tilewright.jit(all_at_once, strict=True)
    first, second = compiled(X), compiled(X)
    first["none"].append(1)
    assert second["none"] == []
    assert first["a"] is not second["a"]


def test_later_calls_put_their_results_together_without_python():
    for function in (a_dict, a_list_in_a_tuple, a_named_tuple, all_at_once):
        compiled = tilewright.jit(function, strict=True)
        compiled(X)
        before = compiled.misses
        for _ in range(3):
            made, wanted = compiled(X), function(X)
            assert type(made) is type(wanted) and str(made) == str(wanted)
        assert compiled.misses == before, function.__name__


def a_list(x):
    return [x * 2, x + 1]


def test_out_of_a_list_of_results():
    compiled = tilewright.jit(a_list, strict=True)
    for _ in range(2):
        out = np.empty_like(X), np.empty_like(X)
        made = compiled(X, out=out)
        assert type(made) is list and made[0] is out[0] and made[1] is out[1]
        np.testing.assert_array_equal(out[1], X + 1)
        assert compiled(X)[0] is not out[0]


def of_a_seed(x, seed):
    return x + np.random.default_rng(seed).random(x.size)


def test_generators_of_a_call_are_made_without_python_and_those_of_callers_move_on():
    compiled = tilewright.jit(of_a_seed, strict=True)
    for seed in (3, 4, 3):
        np.testing.assert_array_equal(compiled(X, seed), of_a_seed(X, seed))
    before = compiled.misses
    np.testing.assert_array_equal(compiled(X, 5), of_a_seed(X, 5))
    assert compiled.misses == before
    mine, theirs = np.random.default_rng(7), np.random.default_rng(7)
    loose = tilewright.jit(of_a_seed)
    loose(X, 3)
    for _ in range(2):
        np.testing.assert_array_equal(loose(X, mine), of_a_seed(X, theirs))
    with pytest.raises(ValueError, match="non-negative"):
        compiled(X, -1)


def one_list_twice(x):
    pair = [x.max(), x * 2]
    return pair, (pair,)


def one_dict_twice(x):
    found = {"largest": x.max()}
    return [found, found], x * 2


def the_callers(state):
    state["a"] += 1
    return state


def the_callers_inside(state):
    return state["b"], state["a"] * 2


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_a_container_that_is_there_twice_is_one():
    for _ in range(2):
        given = {"a": X.copy(), "b": [X.copy()]}
        assert tilewright.jit(the_callers)(given) is given
        assert tilewright.jit(the_callers_inside)(given)[0] is given["b"]
        pair, (again,) = tilewright.jit(one_list_twice)(X)
        assert pair is again
        found, _ = tilewright.jit(one_dict_twice)(X)
        assert found[0] is found[1]
