"""Loops that Python runs over rows of several lengths (adjacency lists) and over lists of texts: compiled by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_inner_loops import as_before, every_loop_is_worth_it

pytestmark = pytest.mark.compile

_ = every_loop_is_worth_it


def early_starts(order: Any, after: Any, duration: Any) -> Any:
    early = np.zeros(len(duration))
    seen = {0: "dicts are Python's"}
    for v in order:
        for u in after[v]:
            early[u] = max(early[u], early[v] + duration[v])
    return early, seen


def test_adjacency_lists() -> None:
    after = [[1, 2], [3], [3, -1, 0], []]
    as_before(
        early_starts,
        ([0, 1, 2, 3], after, np.array([3.0, 1.0, 4.0, 2.0])),
        ([3, -2, 0], after, np.array([3.0, 1.0, 4.0, 2.0])),
        ([0, 1], [[1], [0]], np.array([3.0, 1.0])),
    )


def test_rows_that_are_none() -> None:
    duration = np.ones(3)
    for after in (
        [[1, 2.5], [0], []],
        [[], [], []],
        [[1], (2,), [0]],
        [[1], None, [0]],
        [[2**70], [1], [0]],
        [[True], [0], []],
    ):
        as_before(early_starts, ([0, 1, 2], after, duration), compiles=None)


def test_an_index_beyond_the_rows_is_pythons_error() -> None:
    as_before(early_starts, ([0, 5], [[1], [0]], np.ones(2)), ([-3], [[1], [0]], np.ones(2)), compiles=None)
    as_before(early_starts, ([0, 1], [[1], [7]], np.ones(2)), compiles=None)


def relaxed(edges: Any, distance: Any) -> Any:
    log, u, last = {}, -1, -1
    for _ in range(3):
        for v in range(len(edges)):
            if len(edges[v]) == 0:
                continue
            for u, w in edges[v]:
                if distance[v] + w < distance[u]:
                    distance[u] = distance[v] + w
                    last = u
                    break
            else:
                distance[v] += 0
    log["u"] = u, last
    return distance, log


def test_rows_of_pairs() -> None:
    distance = np.array([0.0, np.inf, np.inf, np.nan])
    edges = [[(1, 2.0), (2, 7.5)], [(2, 1.0)], [], [(0, -0.0)]]
    as_before(relaxed, (edges, distance), (edges[:3], distance[:3]))
    as_before(relaxed, ([[(1, 2), (2, 7)], [(2, 1)], [(0, 3)]], distance), compiles=None)
    as_before(relaxed, ([[(1, 2.0), (2, 7.5, 3)], [(2, 1.0)], []], distance), compiles=None)
    as_before(relaxed, ([[[1, 2.0]], [[2, 1.0]], []], distance), compiles=None)


def smoothed(neighbours: Any, x: Any, turns: Any) -> Any:
    texts = {}
    for _ in range(turns):
        for v in range(len(neighbours)):
            total = x[v]
            for u in neighbours[v]:
                total = total + x[u]
            x[v] = total / (1 + len(neighbours[v]))
    texts["done"] = "yes"
    return x, texts


def test_rows_that_are_arrays() -> None:
    rows = [np.array([1, 2]), np.array([0]), np.array([], int), np.array([2, -1])]
    as_before(smoothed, (rows, np.arange(4.0), 3), (rows[:3], np.ones(3), 1))
    as_before(smoothed, ([np.array([1], np.int32), np.array([0], np.int32)], np.ones(2), 2))
    as_before(smoothed, ([np.array([1]), np.array([0], np.int8)], np.ones(2), 2), compiles=None)


def shifted(rows: Any, x: Any) -> Any:
    names = {}
    for v in range(len(rows)):
        for u in rows[v]:
            x[u] += 1
    names["x"] = x
    return names


def test_rows_that_are_parts_of_what_is_written() -> None:
    def called(x: Any) -> Any:
        return shifted([x[0:2], x[1:3], x], x)

    def of_itself(x: Any) -> Any:
        return shifted([x, x + 0], x[:])

    for function in (called, of_itself):
        as_before(function, (np.array([0, 2, 1]),), compiles=None)


def subsequence(a: Any, b: Any) -> Any:
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    counts = {word: a.count(word) for word in a}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            else:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table, counts


def test_lists_of_texts_are_compared() -> None:
    old, new = ["the", "cat", "", "the", "mat"], ["a", "cat", "the", "mat", "é", ""]
    as_before(subsequence, (old, new), (new, old), (old, old), (old[:1], new))
    as_before(subsequence, (list("abcab"), list("bcabd")), ("abcab", "bcabd"))
    for a, b in (("abc", ["a", "b"]), (["a", 1], ["a", "b"]), ([1, 2], ["1", "2"]), ([1, 2], [2, 1])):
        as_before(subsequence, (a, b), compiles=None)


def starts(words: Any, n: Any) -> Any:
    count = {}
    total = 0
    for i in range(n):
        if words[i] == "a":
            total += 1
    count["a"] = total
    return count


def test_texts_beside_a_character() -> None:
    as_before(starts, (["a", "b", "aa"], 3), (["a", "a"], 5), compiles=None)
    as_before(starts, ("abca", 4))


def beside(rows: Any, counts: Any, window: Any) -> Any:
    names = {}
    for row in rows:
        for i, a in enumerate(row):
            for b in row[max(0, i - window) : i]:
                counts[a, b] += 1
                counts[b, a] += 1
    names["counts"] = counts
    return names


def test_parts_of_rows() -> None:
    rows = [[0, 1, 2, 1], [2], [], [1, 1, -1, 0, 2]]
    as_before(beside, (rows, np.zeros((3, 3)), 2), (rows[:2], np.zeros((3, 3), int), 3), (rows, np.zeros((3, 3)), -1))
    as_before(beside, ([[0, 5]], np.zeros((3, 3)), 2), ([[0, "a"]], np.zeros((3, 3)), 2), compiles=None)
    as_before(beside, ([np.array(row, int) for row in rows], np.zeros((3, 3)), 2))


def totals(rows: Any, x: Any) -> Any:
    named, best, at = {}, 0, -1
    for k, row in enumerate(rows):
        total = len(row)
        for u in row:
            if u != k and x[u] > 0:
                total += u
        if len(row) > 2 and row[1] == 1:
            total -= row[-1]
        if total > best:
            best, at = total, k
    named["best"] = best, at
    return named


def test_rows_that_are_counted() -> None:
    rows = [[0, 1, 3], [2], [], [1, 1, -1, 0, 2]]
    as_before(totals, (rows, np.ones(4)), (rows[::-1], np.array([1, 0, -1, 2])), ([[], [0]], np.ones(1)))
    as_before(totals, ([[0.5, 1, 3], [2]], np.ones(4)), ([[True], [False]], np.ones(4)), compiles=None)


def searched(rows: Any) -> Any:
    named, total = {}, 0
    for row in rows:
        if 3 in row:
            total += row[-1] + sum(row) + max(row, default=0) + len(row[1:])
    named["total"] = total
    return named


def test_rows_that_are_searched() -> None:
    as_before(searched, ([[0, 1, 3], [2], [], [3, 1]],), ([[3.0], [2.0]],), compiles=None)


def keeps(rows: Any) -> Any:
    longest, count = [], {}
    for row in rows:
        if len(row) > len(longest):
            longest = row
    count["of"] = len(longest)
    return longest, count


def grows(rows: Any) -> Any:
    count = {}
    for row in rows:
        for u in rows[0]:
            if len(row) < 4:
                row.append(u)
    count["rows"] = len(rows)
    return count


def last_of(rows: Any) -> Any:
    row, count = [], {}
    for k, row in enumerate(rows):  # noqa: B007
        for u in rows[k]:  # noqa: PLR1736
            count[u] = k
    return row, count


def replaces(rows: Any) -> Any:
    count, total = {}, 0
    for k in range(len(rows)):
        for u in rows[k]:
            total += u
        rows[k] = [total]
    count["total"] = total
    return count


@pytest.mark.parametrize("function", [keeps, grows, last_of, replaces])
def test_rows_that_others_see(function: Any) -> None:
    def called(rows: Any) -> Any:
        result = function(rows)
        known = [[one is row for one in rows] for row in result] if isinstance(result, tuple) else []
        return result, known, rows

    as_before(called, ([[1, 2], [3], [4, 5, 6]],), ([[1], [2]],), compiles=None)
    as_before(function, ([[1, 2], [3], [4, 5, 6]],), ([[1], [2]],), compiles=None)
