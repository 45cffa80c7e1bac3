"""Loops and list comprehensions of functions that Python runs: compiled by themselves, and the same as before."""

from __future__ import annotations

import copy
import math
import threading
import warnings
from functools import partial

import numpy as np
import pytest
import tilewright
from lists_alike import same as alike
from tilewright import effects
from tilewright.effects import Settling
from tilewright.interpret import inner_calls, tried_functions
from tilewright.interpret.inner_calls import InnerCalls

pytestmark = pytest.mark.compile

same = partial(alike, exact=True)


@pytest.fixture(autouse=True)
def every_loop_is_worth_it(monkeypatch):
    for name in ("_WORTH_S", "_EARLY_WORTH_S", "_CALL_S", "_LOOP_S", "DEEPER_S"):
        monkeypatch.setattr(tried_functions, name, 0.0)
    for name in ("DEEPER_S", "LONG_CALL_S"):
        monkeypatch.setattr(inner_calls, name, 0.0)
    monkeypatch.setattr(tried_functions, "_FASTER", 1e9)
    assert tilewright.jit


def outcome(function, args):
    args = copy.deepcopy(args)
    try:
        return function(*args), args
    except Exception as error:  # noqa: BLE001  (compared)
        return (type(error), str(error)), args


def as_before(function, *calls, turns=6, compiles=True):
    """Each call several times over, against Python; what was compiled."""
    inner, seen = InnerCalls(function), {}
    for _ in range(turns):
        for args in calls:
            expected, left = outcome(function, args)
            result, written = outcome(inner, args)
            same(result, expected)
            same(written, left)
            seen |= inner._loops
    compiled = [one for one in seen.values() if one.compiled is not None and not one.compiled.refusals]
    assert compiles is None or bool(compiled) == compiles, {
        key: one.compiled and one.compiled.refusals for key, one in seen.items()
    }
    return compiled


def aligned(a, b, words):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = 2 if a[i - 1] == b[j - 1] else -1
            table[i, j] = max(table[i - 1, j - 1] + s, table[i - 1, j] - 1, table[i, j - 1] - 1, 0)
    return table, counts


def test_texts_are_compared_character_by_character():
    long = "".join(np.random.default_rng(1).choice(list("acgt\u00e9\U0001f600"), 30))
    (loop,) = as_before(aligned, (long, long[::2], ["a"]), ("acgt", "aagt", ["a", "a"]))
    assert "text" in loop.kinds


def counted(text, k):
    vowels = total = 0
    while k < len(text) and text[k] != ".":
        if text[k] == "a" or text[k] == "e":
            vowels += 1
        total += ord(text[k])
        k += 1
    return vowels, total, k


def test_texts_characters_and_their_ends():
    as_before(counted, ("some text. and more", 0), ("a", 0), ("", 0), ("no end" * 9, -1), ("abc", -4), ("\ud800a", 0))


def test_an_index_beyond_a_text_is_pythons_error():
    def behind(text, n):
        k = 0
        for i in range(n):
            if text[i] == "a":
                k += 1
        return k

    as_before(behind, ("banana", 6), ("banana", 7))


def sorted_by_swaps(items, limit):
    for i in range(len(items)):
        for j in range(len(items) - i - 1):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
        if i == limit:
            break
    return items


@pytest.mark.parametrize(
    "items", [[3, 1, 2], [2.5, -0.0, 0.0, math.nan, 1e300], [True, False, True], [1], [-5, 2**62, 7]]
)
def test_lists_that_are_written(items):
    as_before(sorted_by_swaps, (items * 3, 50), (items, 0))


@pytest.mark.parametrize(
    "items", [[], [1, 2.5], [True, 2], [2**70, 1], ["b", "a"], [[2], [1]], [np.int64(3), np.int64(1)]]
)
def test_lists_of_other_things_stay_pythons(items):
    as_before(sorted_by_swaps, (items, 5), compiles=False)


def test_a_list_stays_the_list_that_others_know():
    def filled(n):
        items = [0] * n
        others = items
        for i in range(n):
            items[i] = i * i
        return items is others, others, [type(one) for one in items]

    as_before(filled, (9,), (70,))


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


def test_lists_beyond_64_bits():
    as_before(knapsack, ([3, 4, 5], [30, 50, 60], 8), ([1, 1], [2**62, 2**62], 3), ([1, 1], [2**63, 5], 3))


def test_lists_that_get_items_of_another_type():
    def halved(items, x):
        for i in range(len(items)):
            if items[i] > 3:
                items[i] = x[i] * 0.5
        return items

    def told(items, text):
        for i in range(len(items)):
            items[i] = text[i] == "a"
        return items

    x = np.arange(4.0)
    as_before(halved, ([1, 2, 3, 0], x), ([1, 5, 9, 0], x), ([1.5, 5.5], x), compiles=None)
    as_before(told, ([1, 0, 3], "abab"), ([True, False], "aa"), ([0, 0, 0], "ab"), compiles=None)


def subsequences(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    first = table[1]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table, first is table[1], first


def test_tables_keep_their_rows():
    loops = as_before(subsequences, ("banana", "atana"), ("ab", "b"), ([1, 2, 3], [2, 3, 3]))
    assert any(2 in one.kinds for one in loops)


def test_rows_that_are_one_list_or_are_replaced():
    def shared(n):
        table = [[0] * n] * n
        for i in range(n):
            for j in range(n):
                table[i][j] = i
        return table

    def replaced(n):
        table = [[0] * n for _ in range(n)]
        before = table[1]
        for i in range(1, n):
            table[i] = table[i - 1]
        return table[1] is before, table

    def taken(n):
        table = [[0] * n for _ in range(n)]
        for i in range(n):
            row = table[i]
            for j in range(n):
                row[j] = i - j
        return table

    for function in (shared, replaced, taken):
        loops = as_before(function, (4,), compiles=None)
        assert not any(2 in one.kinds for one in loops)


def test_two_names_of_one_list():
    def both(items, n):
        others = items
        for i in range(n):
            items[i] = others[i - 1] + 1
        return items

    as_before(both, ([1, 2, 3, 4], 4), compiles=False)


def test_an_error_leaves_what_was_written():
    def too_far(items, n):
        for i in range(n):
            items[i] = 10 // (items[i] - 3)
        return items

    as_before(too_far, ([1, 2, 5], 3), ([1, 2, 5], 4), ([1, 2, 3, 4], 4), ([-9, 2, 3], -1))


def test_lists_beside_arrays_that_are_written():
    def both(items, x):
        for i in range(len(items)):
            x[i] = x[i] + items[i]
            items[i] = 10 // items[i]
        return items

    for items in ([1, 2, 5], [1, 0, 5], [1, 2, 3, 4, 5]):
        as_before(both, (items, np.arange(4)), compiles=False)


def test_an_error_that_the_function_catches():
    def caught(items, n):
        done = 0
        try:
            for i in range(n):
                items[i] += 1
                done += 1
        except IndexError:
            return done, items
        return items

    as_before(caught, ([1, 2, 5], 3), ([1, 2, 5], 4), compiles=False)


class Field:
    scale = 2

    def __init__(self, n):
        self.cells = np.zeros((n, n), dtype=int)
        self.mines = (np.arange(n * n) % 3 == 0).reshape(n, n)
        self.weight = 3
        for i in range(n):
            for j in range(n):
                if self.mines[i, j]:
                    self.cells[i, j] = -1
                else:
                    self.cells[i, j] = self.weight * self.mines[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2].sum()

    def total(self, words):
        found = {word: 0 for word in words}
        s = 0
        for i in range(self.cells.shape[0]):
            s += self.cells[i, i] * self.weight
        return s, found

    def scaled(self, n):
        s = 0
        for i in range(n):
            s += self.scale * i
        return s


def of_fields(n):
    field = Field(n)
    return field.cells, field.total(["a"]), vars(field).keys() == {"cells", "mines", "weight"}, field.scaled(n)


def test_attributes_of_objects_are_read_once_where_nothing_sets_them():
    inner = InnerCalls(of_fields)
    for n in (7, 7, 7, 4, 9, 7, 1, 0, 7, 7):
        same(inner(n), of_fields(n))


class Traced(Field):
    def __getattribute__(self, name):
        TRACE.append(name)
        return super().__getattribute__(name)


TRACE = []


def test_classes_with_ways_of_their_own_and_other_attributes():
    def of(field):
        s = 0
        for i in range(3):
            s += field.weight * i
        return s

    inner = InnerCalls(of)
    plain, traced = Field(3), Traced(3)
    for _ in range(4):
        assert inner(plain) == 9
    TRACE.clear()
    assert inner(traced) == 9
    assert TRACE.count("weight") == 3
    plain.weight = 2.5
    assert inner(plain) == 7.5
    plain.weight = "x"
    same(outcome(inner, (plain,))[0], outcome(of, (plain,))[0])
    del plain.weight
    with pytest.raises(AttributeError, match="weight"):
        inner(plain)


def test_an_object_that_fails_to_be_made():
    class Fussy:
        def __init__(self, n):
            if n < 0:
                raise ValueError(f"no {n}")
            self.n = n

    class Wrong:
        pass

    Wrong.__init__ = lambda self: len([]) + 5

    def made(n):
        return Fussy(n).n, len([Wrong, Fussy])

    def wrong():
        return Wrong()

    globals().update(Fussy=Fussy, Wrong=Wrong)
    try:
        as_before(made, (3,), (-1,), compiles=False)
        as_before(wrong, (), compiles=False)
    finally:
        del globals()["Fussy"], globals()["Wrong"]


def test_a_method_of_the_instance_and_one_that_is_replaced(monkeypatch):
    def totals(field):
        return field.total([])[0]

    inner, field = InnerCalls(totals), Field(4)
    for _ in range(4):
        assert inner(field) == totals(field)
    field.total = lambda words: (len(words) - 7,)
    assert inner(field) == -7
    del field.total
    monkeypatch.setattr(Field, "total", lambda self, _: (self.weight,))
    assert inner(field) == 3


def nearest(x, rows, words):
    distances = [np.sqrt(np.sum((x - row) ** 2)) for row in rows]
    return np.argsort(distances)[:3].tolist(), type(distances), type(distances[0]), {word: 1 for word in words}


def test_comprehensions():
    rows = np.random.default_rng(2).normal(size=(80, 3))
    as_before(nearest, (rows[3], rows, ["a"]), (rows[5], rows[:70], ["b"]))


def test_comprehensions_over_lists_and_numbers():
    def numbers(items, n):
        squares = [i * i for i in range(n)]
        return squares, [one + 0.5 for one in items], {"sum": sum(squares)}

    as_before(numbers, ([1.5, 2.5] * 40, 90), ([1.5], 1), ([1.5], 0), turns=8)


def test_what_a_loop_leaves_in_variables():
    def left(x, n):
        last, best, where = -1, -np.inf, None
        for i in range(n):
            last = i
            if x[i] > best:
                best, where = x[i], i
        return last, best, where, {"n": n}

    def in_a_part(x, names):
        total, seen = 0.0, {}
        for name in names:
            seen[name] = len(seen)
        for i in range(len(x)):
            total += x[i]
        return total, seen

    x = np.random.default_rng(3).normal(size=40)
    for args in ((x, 40), (x, 0), (x, 40)):
        same(InnerCalls(left)(*args), left(*args))
    as_before(in_a_part, (x, ["a", "b"]), (x[:3], []))
    f = tilewright.jit(strict=True)(in_a_part)
    for _ in range(8):
        total, seen = f(x, ["a", "b"])
        assert seen == {"a": 0, "b": 1}
        assert total == pytest.approx(x.sum())


def test_names_that_a_loop_shares_with_others():
    count = 0

    def counts(n):
        nonlocal count
        for _ in range(n):
            count += 1
        return count

    def deletes(n):
        k = n
        for i in range(n):
            k += i
        total = k
        del k
        return total

    def shows(n):
        k = 0
        for i in range(n):
            k += i
        return sorted(locals())

    inner = InnerCalls(counts)
    assert [inner(3), inner(3), inner(2)] == [3, 6, 8]
    for function in (deletes, shows):
        as_before(function, (5,), (0,), compiles=False)


LIMITS = [4, 5, 6]


def test_lists_of_the_module_are_read_as_they_are():
    def below(items, n):
        for i in range(n):
            items[i] = LIMITS[i]
        return items

    inner = InnerCalls(below)
    for _ in range(4):
        assert inner([0, 0, 0], 3) == [4, 5, 6]
        assert inner(LIMITS, 3) is LIMITS


def checks(blocks):
    return [hex(checked(block)) for block in blocks]


def checked(block):
    a = 1
    for byte in block:
        a = (a * 31 + int(byte)) % 65521
    return a


def test_a_function_that_python_runs_has_what_it_calls_compiled():
    blocks = np.random.default_rng(4).integers(0, 256, (9, 4000), dtype=np.uint8)
    f = tilewright.jit(strict=True)(checks)
    for _ in range(12):
        assert f(blocks) == checks(blocks)
    assert isinstance(f._python, InnerCalls)


def test_one_long_call_is_not_looked_into(monkeypatch):
    def first_rows(blocks):
        return blocks[: len(blocks) // 2], blocks[0].base is blocks, checked(blocks[0])

    blocks = np.arange(12).reshape(4, 3)
    f = tilewright.jit(first_rows)

    def call(is_long):
        monkeypatch.setattr(effects, "LONG_CALL_S", -1.0 if is_long else 60.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilewright.FallbackWarning)
            assert f(blocks)[0].base is not None
        return isinstance(f._python, InnerCalls)

    assert [call(is_long) for is_long in (True, False, False)] == [False] * 3  # the third one is served in C
    f = tilewright.jit(first_rows)
    assert [call(is_long) for is_long in (True, True, False)] == [False, True, True]
    f._python._call = None  # as it is when all in it is given up
    assert [call(False) for _ in range(2)] == [False, False]
    misses = f.misses
    assert not call(False) and f.misses == misses  # served in C


def test_a_function_whose_code_is_replaced(monkeypatch):
    def one(x):
        return [checked(x), {}]

    def other(x):
        return [-checked(x), {}]

    inner, x = InnerCalls(one), np.arange(5)
    for _ in range(4):
        assert inner(x) == one(x)
    monkeypatch.setattr(one, "__code__", other.__code__)
    assert inner(x) == [-checked(x), {}]


def test_a_loop_that_numpy_serves_is_no_loop_in_itself(monkeypatch) -> None:
    made = []
    compiled = Settling.compiled
    monkeypatch.setattr(Settling, "compiled", lambda function: made.append(function.__name__) or compiled(function))

    def rank(x, n):
        r, log = x / x.sum(), {}
        for _ in range(n):
            r = np.sort(r) * 0.5 + np.sort(r)[::-1] * 0.5
        log["best"] = r.max()
        return log

    jitted = tilewright.jit(rank)
    x = np.random.default_rng(1).random(20_000)
    for _ in range(20):
        assert jitted(x, 20)["best"] == rank(x, 20)["best"]
    assert len(made) <= 1


def test_what_other_threads_write_into_a_list_stays() -> None:
    def fill(out, lo, hi, log):
        log[lo] = hi
        for i in range(lo, hi):
            out[i] = i * 3 % 1001

    jitted, n = tilewright.jit(fill), 40_000
    for _ in range(6):
        out: list[int] = [0] * n
        threads = [threading.Thread(target=jitted, args=(out, k * n // 4, (k + 1) * n // 4, {})) for k in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert out == [i * 3 % 1001 for i in range(n)]


def test_a_loop_whose_calls_write_is_not_made_again() -> None:
    def f(x, items, idx, n, log):
        log["n"] = n
        for i in range(n):
            np.add(x, 1.0, x)
            items[idx[i]] = i

    jitted = tilewright.jit(f)
    for k in range(30):
        n = 3000
        idx = [i % 50 for i in range(n)]
        idx[-1] = 50 if k > 25 else 0
        x, items = np.zeros(4), [0] * 50
        if k > 25:
            with pytest.raises(IndexError, match="list assignment index out of range"):
                jitted(x, items, idx, n, {})
        else:
            jitted(x, items, idx, n, {})
        assert x.tolist() == [n] * 4 and items[1:49] == list(range(n - 49, n - 1))


def test_arguments_of_other_kinds_later() -> None:
    def f(items, other, n, log):
        log["n"] = n
        total = 0
        for i in range(n):
            items[i % 8] = i
            total += other[0][i % 8]
        return total

    jitted, n = tilewright.jit(f), 20_000
    for k in range(20):
        mine, theirs = [0] * 8, [0] * 8
        held = (np.arange(8),)
        got = jitted(mine, (mine,) if k > 15 else held, n, {})
        assert got == f(theirs, (theirs,) if k > 15 else held, n, {}) and mine == theirs


def test_what_one_case_sets_is_not_set_behind_the_match() -> None:
    def f(items, n, k, log):
        match k:
            case 0:
                extra = 5
        log["k"] = k
        total = 0
        for i in range(n):
            total += items[i % 8] * i
            if i < 0:
                total += extra
        return total

    jitted = tilewright.jit(f)
    for k in range(20):
        assert jitted(list(range(8)), 20_000, k, {}) == f(list(range(8)), 20_000, k, {})


class Dice:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.faces = 6

    def throws(self, items, n, log):
        log["n"] = n
        for k in range(n):
            if self.rng.random() < 0.7:
                items[k] = self.rng.integers(self.faces)
        return self.rng.random()


def thrown(function, n):
    own, items, log = Dice(n), np.zeros(8), {}
    try:
        last = function(own, items, n, log)
    except IndexError as error:
        last = str(error)
    return items.tolist(), last, str(own.rng.bit_generator.state), log


def test_generators_of_objects_are_left_where_python_leaves_them() -> None:
    inner, seen = InnerCalls(Dice.throws), {}
    for n in (5, 5, 5, 9, 5, 9, 9, 5):  # an array of 8 items is too short for 9
        assert thrown(inner, n) == thrown(Dice.throws, n)
        seen |= inner._loops
    assert any(one.compiled is not None and not one.compiled.refusals for one in seen.values())
