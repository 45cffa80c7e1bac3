"""How long first calls take: following Python's own values and looking at calls have their bounds."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.interpret import expressions, watched
from tilewright.interpret.interpreter import Interpreter
from tilewright.symbolic.tracer import Tracer
from tilewright.trace import tracing

pytestmark = pytest.mark.compile


@pytest.fixture
def soon_long(monkeypatch):
    """Forty expressions without an operation are long; gives what counts all that are evaluated."""
    monkeypatch.setattr(expressions, "_MOST_WITHOUT_OPERATIONS", 40)
    monkeypatch.setattr(expressions, "_LOOKED_AT", 20)
    counted = [0]
    evaluate = expressions.Expressions.evaluate

    def counting(self: Any, node: ast.expr) -> Any:
        counted[0] += 1
        return evaluate(self, node)

    monkeypatch.setattr(expressions.Expressions, "evaluate", counting)
    original = Interpreter.__init__

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.evaluate = self.expressions.evaluate

    monkeypatch.setattr(Interpreter, "__init__", made)
    return counted


def lengths(words):
    return [len(one) for one in words if one != "no"]


def counted_words(x, words):
    table = np.array(lengths(words), dtype=float)
    return x * 2 + table.sum()


def test_a_long_calculation_of_plain_values_is_pythons(soon_long):
    x, words = np.arange(5.0), ["no" if k % 7 == 0 else "w" * (k % 5) for k in range(400)]
    compiled = tilewright.jit(counted_words, strict=True)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(x, words), counted_words(x, words))
    line = counted_words.__code__.co_firstlineno + 1
    assert f"counted_words.lines_{line}_to_{line}(" in compiled.explain(source=False)
    assert soon_long[0] < 400  # once through the list would be 2,000
    words.append("a longer one")
    np.testing.assert_array_equal(compiled(x, words), counted_words(x, words))


def test_what_python_cannot_run_alone_is_followed_to_its_end(soon_long):
    def sums(x, words):
        return x + sum([len(one) + 1 for one in words])

    x, words = np.arange(5.0), ["w" * (k % 5) for k in range(100)]
    compiled = tilewright.jit(sums, strict="kernels")
    np.testing.assert_array_equal(compiled(x, words), sums(x, words))
    assert compiled.specializations
    assert "between kernels" not in compiled.explain(source=False)


def test_operations_between_plain_values_are_followed(soon_long):
    def polynomial(x):
        total = np.zeros_like(x)
        for k in range(30):
            degree = (k * 3 + 1) % 5 + (2 if k % 2 else 1)
            total = total + x**degree
        return total

    x = np.linspace(0.0, 1.0, 9)
    compiled = tilewright.jit(polynomial, strict=True)
    np.testing.assert_allclose(compiled(x), polynomial(x), rtol=1e-13)
    assert "between kernels" not in compiled.explain(source=False)


def functions_given_to(name, monkeypatch):
    """Of each call of a function of `watched`, from now on: its first argument."""
    given, original = [], getattr(watched, name)
    monkeypatch.setattr(watched, name, lambda function, *rest: given.append(function) or original(function, *rest))
    return given


def test_calls_that_are_many_are_looked_into_a_bounded_number_of_times(monkeypatch):
    monkeypatch.setattr(watched, "_MOST_ENTERED", 10)
    copies = functions_given_to("_copy_that_watches", monkeypatch)

    def root(parents, k):
        return k if parents[k] == k else root(parents, parents[k])

    def heights(parents, x):
        tops = {}
        for k in range(len(parents)):
            tops[root(parents, k)] = k
        return len(tops) + x

    parents = [max(0, k - 3) for k in range(200)]
    x = np.arange(3)
    for _ in range(3):
        np.testing.assert_array_equal(watched.run_watched(heights, (parents, x), {}), heights(parents, x))
    assert copies.count(root) == 30


def test_long_arguments_of_stages_are_shown_short():
    def joined(x, words):
        print(words, end="")
        return x + 1

    compiled = tilewright.jit(joined)
    for _ in range(3):
        compiled(np.arange(3.0), [f"word {k}" for k in range(1000)])
    line = next(one for one in compiled.explain(source=False).splitlines() if "joined.lines" in one or "print(" in one)
    assert len(line) < 400
    assert "word 3'" in line


def test_plain_values_that_take_long_one_by_one_are_pythons(soon_long, monkeypatch):
    monkeypatch.setattr(expressions, "_MOST_WITHOUT_OPERATIONS", 1_000_000)
    monkeypatch.setattr(expressions, "_MOST_WITHOUT_S", 0.0)
    x, words = np.arange(5.0), ["no" if k % 7 == 0 else "w" * (k % 5) for k in range(400)]
    compiled = tilewright.jit(counted_words, strict=True)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(x, words), counted_words(x, words))
    assert "between kernels" in compiled.explain(source=False)
    assert soon_long[0] < 400


def test_growing_tables_are_looked_through_at_pythons_speed():
    """Each `in` asks whether the table holds an object whose class says what is equal."""

    class Word:
        def __eq__(self, other):
            return True

        __hash__ = None

    def coded(text, x):
        table, word = {"": 0}, ""
        for c in text:
            if word + c in table:
                word += c
            else:
                table[word + c] = len(table)
                word = ""
        return x + len(table)

    def among(x, word):
        return x + 1 if 3 in [1, 2, word] else x

    compiled, x = tilewright.jit(coded, strict=True), np.arange(3)
    np.testing.assert_array_equal(compiled("abaabbab", x), coded("abaabbab", x))
    np.testing.assert_array_equal(tilewright.jit(among)(x, Word()), among(x, Word()))
    np.testing.assert_array_equal(tilewright.jit(among)(x, 4), among(x, 4))


def test_a_place_that_no_trace_asked_for_is_looked_at_some_times(monkeypatch):
    monkeypatch.setattr(watched, "_MOST_VISITS", 10)
    looked = functions_given_to("_look_at", monkeypatch)

    def letters(text, x):
        return x + sum([ord(c) for c in text]) + max([ord(c) for c in text if c != "b"])

    x, text = np.arange(3), "abc" * 100
    np.testing.assert_array_equal(watched.run_watched(letters, (text, x), {}), letters(text, x))
    assert looked.count(ord) == 20  # of two places


def test_ifs_of_watched_calls_take_both_ways_and_ask_once():
    asked = []

    class Odd:
        def __init__(self, number):
            self.number = number

        def __bool__(self):
            asked.append(self.number)
            return self.number % 2 == 1

    def odd_ones(numbers):
        return [one.number for one in numbers if odd(one)]

    def odd(one):
        found = "even"
        if one:
            found = "odd"
        return found == "odd"

    numbers = [Odd(k) for k in range(5)]
    assert watched.run_watched(odd_ones, (numbers,), {}) == [1, 3]
    assert asked == [0, 1, 2, 3, 4]


def test_items_that_reduce_are_made_by_a_loop():
    def sums(x):
        y = np.array([(x - k).sum() for k in range(12)])
        return y, y.max()

    def few(x):
        return np.array([(x - k).sum() for k in range(4)])

    x = np.linspace(0.0, 1.0, 7)
    compiled = tilewright.jit(sums, strict=True)
    for mine, right in zip(compiled(x), sums(x), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-13)
        assert type(mine) is type(right)
    assert "for " in compiled.explain(source=False)
    compiled = tilewright.jit(few, strict=True)
    np.testing.assert_allclose(compiled(x), few(x), rtol=1e-13)
    assert "loops of the program" not in compiled.explain(source=False)


def test_lists_of_items_that_reduce_stay_lists():
    """They are changed, looked into and given back as Python has them."""

    def sums(x):
        y = [(x - k).sum() for k in range(12)]
        y.append(3.0)
        y[2] = 7.0
        return y, y[-1], y[0]

    x = np.arange(8)
    mine, right = tilewright.jit(sums, strict=True)(x), sums(x)
    assert mine == right
    assert list(map(type, [*mine[0], *mine[1:]])) == list(map(type, [*right[0], *right[1:]]))


def test_items_of_several_shapes_that_reduce_are_made_one_by_one():
    def parts(x):
        rows = [x[: k + 1] * (x[k:].sum() + x.max()) for k in range(10)]
        return np.concatenate(rows)

    x = np.linspace(0.0, 1.0, 20)
    compiled = tilewright.jit(parts, strict=True)
    np.testing.assert_allclose(compiled(x), parts(x), rtol=1e-13)


def test_what_takes_a_generator_is_no_stage():
    """A watched call is handed the generator, and a trace a list of its items: neither would know the other's call."""

    def longest(x, words):
        parts = [x[k : k + 2] for k in range(3)]
        best = max((np.partition(p, 1)[1], len(w)) for p, w in zip(parts, words, strict=True))
        return best[0] + x

    x = np.array([3.0, 1.0, 2.0, 5.0])
    compiled = tilewright.jit(longest, strict=True)
    for _ in range(12):
        np.testing.assert_array_equal(compiled(x, ["a", "bc", "d"]), longest(x, ["a", "bc", "d"]))


def test_long_traces_that_come_to_nothing_end_with_the_outermost_statements(monkeypatch):
    monkeypatch.setattr(Tracer, "is_too_long", property(lambda tracer: tracer.made > 200))
    x = np.arange(4.0)
    for most, is_outermost in ((10_000, False), (0, True)):
        monkeypatch.setattr(tracing, "_MOST_IN_VAIN", most)
        compiled = tilewright.jit(outer, strict=True)
        for _ in range(4):
            assert compiled(x) == outer(x)
        assert (".middle(" in compiled.explain(source=False)) is is_outermost, compiled.explain(source=False)


def inner(x):
    count = 0
    for k in range(12):
        y = x * k
        for _ in range(5):
            y = y[y < y.max() + 1] * 2 + k  # too many operations, of a loop that is unrolled
        count += len(f"{k}") + int(y.sum() > 10)
    return count


def middle(x):
    return inner(x) + 1


def outer(x):
    count = middle(x)
    return count * 2 + x.max()


def living(grid):
    n = len(grid)
    after = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            around = 0
            for k in (-1, 0, 1):
                for m in (-1, 0, 1):
                    if (k or m) and 0 <= i + k < n and 0 <= j + m < n:
                        around += grid[i + k][j + m]
            after[i][j] = 1 if around == 3 or (around == 2 and grid[i][j]) else 0
    return after


def test_what_each_number_decides_is_looked_up_among_what_is_known(monkeypatch):
    """Not gone through: of a grid of 196 numbers these were two million sizes."""
    resolved = [0]
    resolve = Tracer.resolve

    def counting(self: Any, size: Any) -> Any:
        resolved[0] += 1
        return resolve(self, size)

    monkeypatch.setattr(Tracer, "resolve", counting)
    grid = [[(3 * i * i + 5 * j + i * j) % 7 // 4 for j in range(14)] for i in range(14)]
    compiled = tilewright.jit(living)
    for _ in range(2):
        assert compiled([[*row] for row in grid]) == living(grid)
        grid[3][4] ^= 1
    assert resolved[0] < 20_000


def test_a_refusal_that_is_forgotten_is_found_again_from_where_it_was(monkeypatch):
    """A watched call may have changed its list, so the next one is traced too: not all over again."""
    begun_of = []

    def refused(*args, begun, **options):
        begun_of.append(begun)
        raise tilewright.TraceError("there is no rule for it", "Leave it out.")

    monkeypatch.setattr("tilewright.trace.trace", refused)
    x = np.arange(4.0)
    with_a_list, of_arrays = (tilewright.jit(lambda *args: args[-1] + 1, strict=True) for _ in range(2))
    for _ in range(2):
        with_a_list._compile_what_was_seen(([1.0], x), {})
    assert len(begun_of) == 2 and begun_of[0] is begun_of[1]
    for _ in range(2):
        of_arrays._compile_what_was_seen((x, x), {})
    assert len(begun_of) == 3
    assert not of_arrays._begun
