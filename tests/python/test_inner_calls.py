"""Functions that Python calls in statements which it runs between kernels: compiled by themselves, and the same as before."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from tilewright.interpret import inner_calls, tried_functions
from tilewright.interpret.inner_calls import InnerCalls
from tilewright.interpret.inner_tries import Account, Turns, here

pytestmark = pytest.mark.compile

LOG = []


@pytest.fixture(autouse=True)
def every_call_is_worth_it(monkeypatch):
    monkeypatch.setattr(tried_functions, "_WORTH_S", 0.0)
    monkeypatch.setattr(tried_functions, "_EARLY_WORTH_S", 0.0)
    monkeypatch.setattr(tried_functions, "_CALL_S", 0.0)


def energy(x, w):
    total = 0.0
    for i in range(1, len(x)):
        total += w * (x[i] - x[i - 1]) ** 2
    return total


def words_of(x, w):
    """What a kernel cannot hold, around calls that it can."""
    words = {}
    for k in range(1, len(x) + 1):
        words[f"{energy(x[:k], w):.6f}"] = k
    return words


def test_what_statements_call_is_compiled_by_itself():
    x = np.random.default_rng(3).normal(size=70)
    compiled, expected = tilewright.jit(strict=True)(words_of), words_of(x, 0.5)
    for _ in range(6):
        assert compiled(x, 0.5) == expected
    inner = InnerCalls(words_of)
    for _ in range(6):
        assert inner(x, 0.5) == expected
    one = inner_calls._inner_of(energy)
    assert one.compiled is not None
    assert one.compiled.specializations
    assert one.cell.cell_contents is one.compiled or one.cell.cell_contents is energy  # whichever is faster here


def test_tries_are_paid_by_runs():
    account = Account()
    for _ in range(3):
        account.begin()
        assert account.may_try
    account.tried_s = 3.5
    assert not account.may_try
    account.begin()  # from now on they are paid
    assert not account.may_try
    account.ran_s = 4.0
    assert account.may_try
    account.tried_s = 0.3
    assert not account.may_try

    def powers(x, k):  # which no other test has tried
        return (x**k).sum()

    def by_text(x):
        return {str(k): powers(x, k) for k in range(1, 5)}

    runs, x = InnerCalls(by_text), np.arange(3.0)
    one = inner_calls._inner_of(powers)
    runs._account.tried_s = 1e9
    for _ in range(4):
        assert runs(x) == by_text(x)
        runs._account.tried_s = 1e9
    assert one.compiled is None
    runs._account.tried_s, runs._account.ran_s = 0.0, 1e9
    for _ in range(3):
        assert runs(x) == by_text(x)
    assert one.compiled is not None
    assert runs._account.tried_s > 0.0
    assert here.account is None


def refused(x, k):
    LOG.append(k)
    return {"sum": x.sum() + k, "energy": energy(x, k)}


def calls_what_is_refused(x):
    return [refused(x, k)["energy"] for k in range(5)]


def test_what_cannot_be_compiled_is_called_as_often_as_in_python():
    x = np.linspace(0.0, 1.0, 50) ** 2
    LOG.clear()
    expected, seen = calls_what_is_refused(x), len(LOG)
    inner = InnerCalls(calls_what_is_refused)
    for _ in range(5):
        LOG.clear()
        assert np.allclose(inner(x), expected, rtol=1e-13)
        assert len(LOG) == seen
    assert not inner._inner  # it changes what others see


STORE, SHARED = [], np.zeros(3)


def keeps(x):
    y = x * 2
    kept(y)
    return y


def kept(x):
    return STORE.append(x)


def gives_what_all_see(x):
    SHARED[0] = x[0]
    return SHARED


def gives_it_back(x, k):
    return x if k > 3 else x * 1.0


def looks_at_what_is_shared(x):
    a, b, c = keeps(x), gives_what_all_see(x), gives_it_back(x, 5)
    a[0], b[1], c[2] = 7.0, 8.0, 9.0
    return STORE[-1][0], SHARED[1], x[2], b is SHARED, c is x


def test_what_others_see_stays_the_same_memory():
    inner = InnerCalls(looks_at_what_is_shared)
    for k in range(20):
        assert inner(np.arange(3.0) + k) == (7.0, 8.0, 9.0, True, True)
    for one in inner._inner.values():
        assert one.cell.cell_contents is not one.compiled or one.compiled is None


def slow_when_compiled(x):
    return {float(v): 0 for v in x}


def calls_it(x):
    return [slow_when_compiled(x) for _ in range(200)]


def test_what_is_no_faster_is_called_as_it_is():
    x = np.arange(5.0)
    inner = InnerCalls(calls_it)
    for _ in range(6):
        assert inner(x) == calls_it(x)
    assert not inner.calls_others


def test_looking_at_calls_ends_where_it_is_in_vain():
    for plain_s, looked_at_s, is_left in ((1.0e-3, 1.05e-3, True), (1.0e-3, 0.9e-3, False), (9.0e-3, 1.0e-3, False)):
        turns, took, events = Turns(), [], 3
        for _ in range(200):
            is_plain = turns.is_plain(events)
            took.append(is_plain)
            if turns.loses(is_plain, plain_s if is_plain else looked_at_s):
                break
        assert (len(took) < 200) == is_left
        assert not any(took[:40])  # while things are found out
        assert took.count(True) == (2 if plain_s > 2 * looked_at_s else 12 if is_left else 36)
    turns = Turns()  # where something is found again and again, there are none
    assert not any(turns.is_plain(k // 10) or turns.loses(False, 1.0e-3) for k in range(200))


def test_a_function_that_gains_nothing_is_pythons():
    x, inner = np.arange(5.0), InnerCalls(words_of)
    assert inner.calls_others
    inner._turns.loses = lambda *_: True  # type: ignore[method-assign]
    for _ in range(3):
        assert inner(x, 0.5) == words_of(x, 0.5)
    assert not inner.calls_others


def fails(x):
    raise ValueError(f"no {len(x)}")


def calls_what_fails(x):
    try:
        return fails(x)
    except ValueError as error:
        return str(error)


def test_errors_are_the_functions_own():
    inner = InnerCalls(calls_what_fails)
    for size in (3, 3, 3, 4):
        assert inner(np.ones(size)) == f"no {size}"


def test_another_function_of_that_name(monkeypatch):
    x = np.arange(30.0)
    inner = InnerCalls(words_of)
    for _ in range(3):
        assert inner(x, 1.0) == words_of(x, 1.0)
    monkeypatch.setitem(words_of.__globals__, "energy", lambda x, w: float(len(x)))
    assert inner(x, 1.0) == {f"{float(k):.6f}": k for k in range(1, 31)}


def test_variables_from_outside_and_recursion():
    scale = 2.0

    def scaled(x):
        return x * scale

    def depth(n, x):
        return 0 if n == 0 else 1 + depth(n - 1, scaled(x))

    def both(x):
        return depth(5, x), scaled(x).sum(), sorted([3, 1, 2], key=lambda one: -one)

    inner = InnerCalls(both)
    for _ in range(4):
        assert inner(np.ones(3)) == (5, 6.0, [3, 2, 1])
    scale = 3.0
    assert inner(np.ones(3)) == (5, 9.0, [3, 2, 1])


class Tree:
    def __init__(self, depth):
        self.parts = [Tree(depth - 1) for _ in range(3)] if depth else []

    def weight(self, x):
        return x + sum(part.weigh_part(x / 3) for part in self.parts)

    def weigh_part(self, x):
        return self.weight(x) * 1.5


def weigh(depth, x):
    return Tree(depth).weight(x)


def test_methods_that_call_each_other_and_nothing_else_are_pythons():
    inner = InnerCalls(weigh)
    for _ in range(20):
        assert inner(6, 1.0) == weigh(6, 1.0)
    assert not inner.calls_others


def test_names_that_are_variables_are_left_alone():
    def own(x):
        energy = len
        return energy(x), [energy for energy in "ab"]

    assert InnerCalls(own)(np.ones(4)) == (4, ["a", "b"])
