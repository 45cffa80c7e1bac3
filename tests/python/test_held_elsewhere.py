"""Arrays that a call between kernels gives or is handed, and that somebody else holds behind it: a cache, a list, an object."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest
import tilewright
from attack_later_calls import attack
from examples import examples
from tilewright.strided_copies import copy_as_it_lies, same_view

pytestmark = pytest.mark.compile


def writes_a_workspace():
    spaces = {}

    def space(n):
        if n not in spaces:
            spaces[n] = np.zeros(n)
        return spaces[n]

    def compute(x, k):
        b = space(len(x))
        b[1:] = x[1:] * k
        return b.sum()

    return compute, spaces


def reads_a_workspace_that_is_filled_again():
    spaces = []

    def filled(x, k):
        if not spaces:
            spaces.append(np.zeros(len(x)))
        spaces[0][:] = x * k
        return spaces[0]

    def compute(x, k):
        first = filled(x, k)
        second = filled(x, k + 1)
        return first * 2, second - 1

    return compute, spaces


def cached_table():
    """What gives a table from a cache, and the cache."""
    known = {}

    def table(n):
        if n not in known:
            known[n] = np.arange(n) * 0.5
        return known[n]

    return table, known


def gives_what_is_cached():
    table, known = cached_table()

    def compute(x, k):
        t = table(len(x))
        return t, (t * x).sum() * k

    return compute, known


def gives_a_view_of_what_is_cached():
    known = {}

    def table(n):
        if n not in known:
            known[n] = np.arange(n) * 0.5
        return known[n][:2]

    def compute(x, k):
        t = table(len(x))
        return x * k, t

    return compute, known


def copies_what_is_cached():
    table, known = cached_table()

    def compute(x, k):
        own = table(len(x)).copy()
        own[:2] = k
        own *= x
        return own

    return compute, known


def lists_and_writes():
    log = []

    def compute(x, k):
        b = x * k
        log.append(b)
        b += 1
        return b.sum()

    return compute, log


def lists_and_returns():
    log = []

    def compute(x, k):
        b = x * k
        log.append(b)
        return b.sum(), b

    return compute, log


def lists_twice():
    log = []

    def compute(x, k):
        b = x * k
        log.append(b)
        s = np.sort(b)
        log.append(b)
        return s

    return compute, log


def lists_a_part():
    log = []

    def compute(x, k):
        b = x * k
        log.append(b[1:])
        b[1] = 7
        return b

    return compute, log


def lists_an_argument():
    log = []

    def compute(x, k):
        log.append(x)
        return x * k

    return compute, log


def keeps_the_last():
    owner = SimpleNamespace(last=None)

    def keep(a):
        owner.last = a

    def compute(x, k):
        b = x * k
        keep(b)
        b[0] = 3
        return b.sum()

    return compute, owner


def keeps_some():
    owner = SimpleNamespace(best=None, value=0.0)

    def keep(a, value):
        if value > owner.value:
            owner.best, owner.value = a, value

    def compute(x, k):
        keep(x, float(x.sum()) - 11)
        return x * k

    return compute, owner


def changes_a_list_of_others():
    log, calls = [], [0]

    def entries():
        calls[0] += 1
        return log

    def compute(x, k):
        found = entries()
        found.append(float(x.sum()))
        return x * k, len(found)

    return compute, log


def changes_a_dict_of_others():
    state, calls = {"n": 0, "w": np.ones(3)}, [0]

    def settings():
        calls[0] += 1
        return state

    def compute(x, k):
        own = settings()
        own["n"] = own["n"] + 1
        own["w"][0] += k
        return x * own["n"]

    return compute, state


def hands_over_a_list():
    kept, calls = {}, [0]

    def keep(items):
        calls[0] += 1
        kept["items"] = items

    def compute(x, k):
        items = [x * k, k]
        keep(items)
        items[0] += 1
        items.append(x[0])
        return items[0].sum()

    return compute, kept


def lists_in_a_loop():
    log = []

    def compute(x, k):
        b = abs(x) + k * k
        while b.sum() < 500:
            b = b * 2
            log.append(b)
        log.append(b)
        b[0] = -1
        return b.sum()

    return compute, log


ALL = [
    writes_a_workspace, reads_a_workspace_that_is_filled_again, gives_what_is_cached, gives_a_view_of_what_is_cached,
    copies_what_is_cached, lists_and_writes, lists_and_returns, lists_twice, lists_a_part, lists_an_argument, keeps_the_last,
    keeps_some, changes_a_list_of_others, changes_a_dict_of_others, hands_over_a_list, lists_in_a_loop,
]  # fmt: skip


def _arrays(value):
    if isinstance(value, np.ndarray):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    if isinstance(value, SimpleNamespace):
        parts = vars(value).values()
    return [array for part in parts for array in _arrays(part)]


def _memory(arrays):
    return [(k, j, one is other) for k, one in enumerate(arrays) for j, other in enumerate(arrays[:k])
            if np.shares_memory(one, other)]  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("make", ALL, ids=lambda one: one.__name__)
def test_what_is_written_is_seen_everywhere(make, strict):
    (plain, held), (function, ours) = make(), make()
    compiled = tilewright.jit(function, strict=strict)
    for k in (1.5, 2.5, 3.5, -1.0):
        args = [(np.arange(5.0) + k, k) for _ in range(2)]
        expected = plain(*args[0])
        try:
            got = compiled(*args[1])
        except tilewright.TraceError as error:
            assert strict and make in (lists_an_argument, keeps_some, writes_a_workspace), error
            return
        theirs, mine = ([*_arrays(one[0]), *_arrays(one[1]), one[2]] for one in
                        ((expected, held, args[0][0]), (got, ours, args[1][0])))  # fmt: skip
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert one.dtype == other.dtype and np.array_equal(one, other)
        assert _memory(mine) == _memory(theirs)


@pytest.mark.parametrize("strict", [False, True])
def test_a_part_of_an_argument_that_only_later_calls_give_is_that_part(strict):
    """It is a part of a copy where Python makes the call; NumPy goes on with the part of the argument itself."""

    def made():
        calls = [0]

        def trimmed(x):
            calls[0] += 1
            return x[1:][::-1] if calls[0] > 4 else x[1:].copy()

        def compute(x, k):
            y = trimmed(x)
            y[:1] = k
            return x.sum(), y

        return compute

    plain, compiled = made(), tilewright.jit(made(), strict=strict)
    for k in range(8):
        theirs, mine = (np.arange(20.0)[:: -4 if k % 2 else 4] for _ in range(2))
        for one, other in zip(compiled(mine, k), plain(theirs, k), strict=True):
            assert np.array_equal(one, other)
        assert np.array_equal(mine, theirs)


LAYOUTS = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[::-1, ::-1],
    lambda a: a[::2],
    lambda a: np.repeat(a, 9, axis=1)[:, ::-9],
    lambda a: np.lib.stride_tricks.as_strided(a[0, 0:], (4, 6), (0, 8)),
    lambda a: np.lib.stride_tricks.as_strided(a[0, 0:], (4, 6), (8, 0)),
]
PARTS = [
    lambda a: a[1:], lambda a: a[::-1], lambda a: a[..., ::-2], lambda a: a.T[1:], lambda a: a[-1], lambda a: a[:, 1],
    lambda a: a[..., None], lambda a: a[1:2, 1:2],
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_view_of_an_array_that_lies_in_another_way(layout):
    array = layout(np.arange(24.0).reshape(4, 6))
    copied = copy_as_it_lies(array)
    for part in PARTS:
        view = same_view(part(copied), copied, array)
        assert np.array_equal(view, part(array)) and view.shape == part(array).shape
        view[...] = -1
        assert np.all(part(array) == -1)
        array[...] = copied


def test_workspaces_that_are_only_read_and_functions_that_call_themselves_stay_between_kernels():
    table, known = cached_table()

    def halves(a):
        def inner(k):
            return 0.0 if k == len(a) else a[k] * 0.5 + inner(k + 1)

        return inner(0)

    def compute(x):
        known["calls"] = 1
        return x * table(len(x)) + halves(x)

    compiled = tilewright.jit(compute, strict=True)
    for _ in range(3):
        x = np.arange(8.0)
        assert np.array_equal(compiled(x), compute(x))
    assert any(one.versions for one in compiled.specializations)


class Best:
    """Of what was tried: a slot, attributes, a dict, a list."""

    __slots__ = ("slot", "__dict__")

    def __init__(self):
        self.known, self.found = {}, []


KEEPS = [
    lambda best, x: setattr(best, "x", x),
    lambda best, x: setattr(best, "slot", x[1:]),
    lambda best, x: setattr(best, "pair", (x, 1)),
    lambda best, x: best.known.update(x=x),
    lambda best, x: best.known.update(x={"of": [((x[::-1], 1), x)]}),
    lambda best, x: best.found.append((x, x[:2])),
    lambda best, x: best.found.append(lambda: x),
    lambda best, x: best.found.append({"x": x}),
    lambda best, x: best.found.append(functools.partial(np.asarray, x)),
    lambda best, x: setattr(best, "rows", slice(x)),  # a copy stays in it: nobody sets what it holds
]


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("keep", KEEPS)
def test_what_only_later_calls_keep_is_the_callers(keep, raises):
    """The helper was handed a copy by then; what it keeps of it becomes the array itself."""

    def made():
        best, seen = Best(), []

        def note(x, value):
            seen.append(value)
            if value < min(seen[:-1], default=0):
                keep(best, x)
                if raises:
                    raise ArithmeticError(value)
            return value / 2

        def step(x, value):
            return x * 2 + note(x, value)

        return step, best

    def held(best):
        return [*_arrays([vars(best), getattr(best, "slot", None)]),
                *(one() for one in best.found if callable(one))]  # fmt: skip

    (plain, theirs), (function, ours) = made(), made()
    compiled = tilewright.jit(function)
    for value in (1.0, 2.0, 3.0, 4.0, -1.0, 5.0, -2.0):
        arrays = np.arange(5.0), np.arange(5.0)
        for run, x in ((plain, arrays[0]), (compiled, arrays[1])):
            try:
                assert np.array_equal(run(x, value), np.arange(5.0) * 2 + value / 2)
            except ArithmeticError:
                assert value < 0
            np.add(x, 100, out=x)
        assert [one.tolist() for one in held(ours)] == [one.tolist() for one in held(theirs)]
        assert _memory([*held(ours), arrays[1]]) == _memory([*held(theirs), arrays[0]])


def _keeps_in_later_calls(keep, holder):
    """Arrays of which a helper keeps a view, each changed behind its call, which is not the first one."""

    seen = []

    def note(x, value):
        seen.append(value)
        if value < min(seen[:-1], default=0):
            keep(holder, x)
        return value / 2

    def step(x, value):
        return x * 2 + note(x, value)

    compiled = tilewright.jit(step)
    given = [np.arange(5.0) for _ in range(7)]
    for k, x in enumerate(given):
        value = -float(k) if k in (4, 6) else 1.0
        assert np.array_equal(compiled(x, value), np.arange(5.0) * 2 + value / 2)
        np.add(x, 100, out=x)
    return given[4], given[6]


@pytest.mark.parametrize("keep", [KEEPS[1], KEEPS[2], KEEPS[5], KEEPS[9]])
def test_what_a_helper_can_reach_is_found_without_a_search_through_the_process(monkeypatch, keep):
    def nowhere():
        raise AssertionError

    monkeypatch.setattr(tilewright.put_instead.gc, "get_objects", nowhere)
    _keeps_in_later_calls(keep, Best())


ELSEWHERE = []


def test_what_no_name_leads_to_is_found_in_all_that_the_process_has():
    ELSEWHERE.clear()
    given = _keeps_in_later_calls(lambda _, x: globals()["ELSEWHERE"].append(x[1:]), None)
    assert [x.tolist() for x in ELSEWHERE] == [x[1:].tolist() for x in given]


def test_random_helpers_that_do_something_else_in_later_calls():
    assert not list(filter(None, map(attack, range(examples(15)))))
