"""Long lists of the caller's, of numbers or of tuples or lists of them, are read as arrays; lists of one number repeated lie in one."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.fast


def edges_of(n: int, count: int) -> list[tuple[int, int, float]]:
    return [(k * 7 % n, (k * k + 3) % n, 0.5 + k % 11) for k in range(count)]


def shortest(edges, n):
    dist, before = [float("inf")] * n, [-1] * n
    dist[0], k = 0.0, 0
    while k < n:
        k += 1
        changed = False
        for u, v, w in edges:
            if dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                before[v] = u
                changed = True
        if not changed:
            break
    return dist, before, k


def degrees(edges, n):
    count = [0] * n
    for k, (u, v, _) in enumerate(edges):
        count[u] += 1
        if k % 3:
            count[v] -= 1
    return count, len(edges), edges[-1], edges[3][2]


def neighbours(edges, n):
    graph = defaultdict(list)
    for u, v, w in edges:
        graph[u].append((v, w))
    return {u: sorted(found) for u, found in graph.items()}, len(edges)


def as_array(edges, n):
    table = np.array(edges)
    return table.sum(axis=0), table[:3] * n


def heaviest(edges, n):
    return max(w for _, _, w in edges), [u for u, v, w in edges if w > n]


def returned(edges, n):
    return edges, n + len(edges)


def changed(edges, n):
    edges.append((0, 1, 2.0))
    edges[0] = (5, 5, 5.0)
    return len(edges)


def sorted_in_place(edges, n):
    edges.sort(key=lambda edge: edge[2])
    return edges[0][0] + n


def is_there(edges, n):
    return (edges[2] in edges, isinstance(edges, list), edges == list(edges), type(edges) is list, bool(edges))


def pairs(edges, n):
    total = 0.0
    for (u, _, w), (_, v, x) in zip(edges, edges[1:], strict=False):
        total += w * x - u * v
    return total


def other_types(edges, n):
    mixed = [0] * n
    for u, _, w in edges:
        mixed[u] = w
    return mixed


EDGES = [
    shortest, degrees, neighbours, as_array, heaviest, returned, changed, sorted_in_place, is_there, pairs, other_types,
]  # fmt: skip


@pytest.mark.parametrize("function", EDGES)
def test_edges_of_a_graph(function: Any, recwarn: pytest.WarningsRecorder) -> None:
    compiled = tilewright.jit(function)
    for n, count in ((20, 90), (20, 90), (31, 120), (20, 70), (9, 9), (20, 400), (20, 0), (20, 90)):
        if count == 0 and function not in (neighbours, returned, changed):
            continue
        ours, theirs = edges_of(n, count), edges_of(n, count)
        if count > 3 or function in (neighbours, returned):
            expected, got = function(theirs, n), compiled(ours, n)
            assert agree(got, expected), f"{got}\nis not\n{expected}"
            assert ours == theirs


@pytest.mark.parametrize("function", [shortest, degrees])
def test_they_are_compiled(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for count in (2000, 2000, 700):
        edges = edges_of(50, count)
        assert agree(compiled(edges, 50), function(edges, 50))
    assert len(compiled._specializations) == 1
    assert "edges: " not in compiled.explain(source=False)


def image(rows):
    return np.asarray(rows) * 2, len(rows), len(rows[0])


def row_by_row(rows):
    total = 0.0
    for row in rows:
        for value in row:
            total += value
    return total, rows[3][0], np.sum(rows[-1])


def with_first_row(rows):
    return [sum(row) for row in rows], rows[0] + [1], rows


def changed_row(rows):
    rows[0][0] = 5
    return np.asarray(rows) + 1


def rows_of(*shape: int, scale: Any = 0.5) -> Any:
    return (np.arange(math.prod(shape)).reshape(shape) * scale).tolist()


ROWS: list[Any] = [
    rows_of(70, 70), rows_of(9, 8), rows_of(20, 9, scale=3), rows_of(9, 8, 3), [[1, 2.5] * 5] * 20, [[1] * 30, [2.0] * 30] * 2,
    [[True, False] * 9] * 5, [[2**70] * 20] * 4, [[0.5] * 40, [1.5] * 50, [0.5] * 40, [2.5]], [[np.float64(2)] * 9] * 9, rows_of(70, 70),
]  # fmt: skip


@pytest.mark.parametrize("function", [image, row_by_row, with_first_row, changed_row])
def test_lists_in_lists(function: Any, recwarn: pytest.WarningsRecorder) -> None:
    compiled = tilewright.jit(function)

    def outcome(call: Any, rows: Any) -> Any:
        try:
            return call(rows), rows
        except (ValueError, TypeError) as error:
            return type(error)

    for rows in ROWS:
        got, expected = (outcome(call, copy.deepcopy(rows)) for call in (compiled, function))
        assert agree(got, expected, bits=False), f"{got}\nis not\n{expected}"


@pytest.mark.parametrize("function", [image, row_by_row])
def test_lists_in_lists_are_compiled(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for rows in (rows_of(70, 70), rows_of(70, 70), rows_of(80, 60)):
        assert agree(compiled(rows), function(rows), bits=False)
    assert len(compiled.specializations) == 1


@pytest.mark.parametrize("values", [[1.0] * 100, rows_of(20, 20)])
def test_no_list_is_an_array_without_a_copy(values: Any) -> None:
    for function in (lambda x: np.array(x, copy=False) * 2, lambda x: np.asarray(x, copy=False) * 2):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            tilewright.jit(function)(values)


def total(x, values):
    found = 0
    for k, value in enumerate(values):
        found = found + value * x[k % len(x)]
    return found, values[-2], len(values)


X = np.arange(1.0, 6.0)
KINDS: list[list[Any]] = [
    list(range(100)), [k / 3 for k in range(100)], [True, False] * 50, [1, 2.0] * 50, [2**63 + k for k in range(100)],
    [np.float64(k) for k in range(100)], [float("nan"), -0.0] * 40, [(1,), (1, 2)] * 40, [[1, 2]] * 70, ["a"] * 70, [None] * 70,
    [-(2**63)] * 70,
]  # fmt: skip


def of_any_kind(x, values):
    first = values[0]
    return [first, values[-1], values[1:3], len(values), x * len(values), values[0] is first]


@pytest.mark.parametrize("values", KINDS)
@pytest.mark.parametrize("function", [total, of_any_kind])
def test_kinds_of_items(function: Any, values: list[Any], recwarn: pytest.WarningsRecorder) -> None:
    compiled = tilewright.jit(function)
    others = list(range(90))

    def outcome(call: Any, given: list[Any]) -> Any:
        try:
            return call(X, given)
        except TypeError as error:
            return str(error)

    for given in (values, others, values, [0.5] * 80, values):
        expected, got = outcome(function, given), outcome(compiled, given)
        assert agree(got, expected), f"{got}\nis not\n{expected}"


def by_a_scalar(x, values):
    return x[1] * values


def by_a_sum_in_place(x, values):
    y = x.sum()
    y *= values
    return y


def by_an_integer(x, values):
    return np.asarray((x > 0).sum() * values)


@pytest.mark.parametrize("function", [by_a_scalar, by_a_sum_in_place, by_an_integer])
def test_numpys_scalars_repeat_them_or_raise(function: Any, recwarn: pytest.WarningsRecorder) -> None:
    def outcome(call: Any, x: Any, values: list[Any]) -> Any:
        try:
            return call(x, values)
        except TypeError as error:
            return str(error)

    for x in (X, X.astype(np.float32), X.astype(int), X > 1):
        compiled = tilewright.jit(function)
        for values in ([0.5] * 80, [0.5] * 80, list(range(90)), [[1.0, 2.0]] * 70, [0.5]):
            assert agree(outcome(compiled, x, values), outcome(function, x, values))


class Network:
    def __init__(self, edges: Any) -> None:
        self.edges = edges

    def flow(self, x):
        for u, v, w in self.edges:
            x[v] += w * x[u] / 100
        return x


def of_an_object(network, x):
    return network.flow(x), network.edges is network.edges


def in_a_dict(given, x):
    for u, v, w in given["edges"]:
        x[u] += w - given["same"][v][2]
    return x


def test_where_they_are(recwarn: pytest.WarningsRecorder) -> None:
    edges = edges_of(30, 300)
    whole, found = tilewright.jit(of_an_object, strict=True), tilewright.jit(in_a_dict, strict=True)
    for k in range(3):
        edges = [*edges[k:], (k, 3, 1.5)]
        assert agree(whole(Network(edges), np.ones(30)), of_an_object(Network(edges), np.ones(30)))
        for given in ({"edges": edges, "same": edges}, {"edges": edges, "same": edges[::-1]}):
            assert agree(found(given, np.ones(30)), in_a_dict(given, np.ones(30)))


def ends_in_python(x, n):
    total = (x * x).sum()
    order = np.argsort(x)
    words = {str(k): float(x[k]) for k in order.tolist()[:n]}
    return order[:n], words, sorted(words), total


def test_a_return_of_a_view_beside_what_python_makes() -> None:
    compiled = tilewright.jit(ends_in_python, strict=True)
    for n in (3, 3, 3, 3, 3, 4):
        assert agree(compiled(X[::-1].copy(), n), ends_in_python(X[::-1].copy(), n))


def counted(x, n):
    seen, last = [False] * n, [x[0] * 0.0] * 3
    first = seen
    for k in range(len(x)):
        at = int(x[k]) % n
        if not seen[at]:
            seen[at] = True
            last[k % 3] = x[k]
    first[0] = not first[0]
    return seen, last, sum(seen), first is seen


def test_lists_of_one_number() -> None:
    compiled = tilewright.jit(counted)
    for n in (4, 4, 7, 1):
        x = np.linspace(0, 9, 40)
        assert agree(copy.deepcopy(compiled(x, n)), counted(x, n))


def test_a_list_that_is_in_itself() -> None:
    held: list = []
    held.append(held)
    compiled = tilewright.jit(lambda x: (x * 2, len(held)))
    for _ in range(3):
        given, length = compiled(np.ones(3))
        assert (given.tolist(), length) == ([2.0] * 3, 1)


HISTORY: list[float] = []


def noted(image, weight):
    HISTORY.append(weight)
    return image[1:] * weight


def beside_what_is_not_followed(rows):
    image = np.asarray(rows)
    return noted(image, 2.0).sum(axis=0) + noted(image.T, 3.0).sum() + image


def test_rows_that_are_too_many_to_follow_one_by_one_stay_arrays() -> None:
    compiled = tilewright.jit(beside_what_is_not_followed, strict=True)
    for size in (40, 40, 40, 50):
        rows = np.arange(float(size * size)).reshape(size, size).tolist()
        HISTORY.clear()
        assert agree(compiled(rows), beside_what_is_not_followed(rows))
        assert HISTORY == [2.0, 3.0, 2.0, 3.0]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_arguments_that_hold_themselves(strict: bool) -> None:
    def doubled(x, held):
        return x * 2 + held[0]

    compiled, x = tilewright.jit(doubled, strict=strict), np.arange(3000.0)
    itself, named = [x], {0: x}
    itself.append(itself)
    named["named"] = named
    for _ in range(4):
        assert agree(compiled(x, [x, 2.0]), doubled(x, [x]))
        for held in itself, named:
            if strict:
                with pytest.raises(tilewright.TraceError, match="in itself"):
                    compiled(x, held)
            else:
                assert agree(compiled(x, held), doubled(x, held))
