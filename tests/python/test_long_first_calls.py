"""How long first calls take: following Python's own values and looking at calls have their bounds."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.interpret import expressions, watched
from tilewright.interpret.interpreter import Interpreter

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
    assert f"counted_words.lines_{line}_to_{line}(" in compiled.explain()
    assert soon_long[0] < 400  # once through the list would be 2,000
    words.append("a longer one")
    np.testing.assert_array_equal(compiled(x, words), counted_words(x, words))


def test_what_python_cannot_run_alone_is_followed_to_its_end(soon_long):
    def sums(x, words):
        return x + sum([len(one) + 1 for one in words])

    x, words = np.arange(5.0), ["w" * (k % 5) for k in range(100)]
    compiled = tilewright.jit(sums, strict=True)
    np.testing.assert_array_equal(compiled(x, words), sums(x, words))
    assert compiled.specializations
    assert "between kernels" not in compiled.explain()


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
    assert "between kernels" not in compiled.explain()


def test_calls_that_are_many_are_looked_into_a_bounded_number_of_times(monkeypatch):
    monkeypatch.setattr(watched, "_MOST_ENTERED", 10)
    copies = []
    original = watched._copy_that_watches
    monkeypatch.setattr(
        watched, "_copy_that_watches", lambda function, *rest: copies.append(function) or original(function, *rest)
    )

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
    line = next(one for one in compiled.explain().splitlines() if "joined.lines" in one or "print(" in one)
    assert len(line) < 400
    assert "word 3'" in line
