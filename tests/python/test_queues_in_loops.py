"""Loops that take items from a list or deque while they append others: compiled by themselves, and the same as before."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from test_inner_loops import as_before, every_loop_is_worth_it

pytestmark = pytest.mark.compile

_ = every_loop_is_worth_it
MAZE = np.array([[1, 1, 1, 1, 1], [1, 0, 0, 0, 1], [1, 1, 1, 0, 1], [1, 0, 0, 0, 1], [1, 1, 1, 1, 1]])


def flooded(maze: Any, starts: Any) -> Any:
    names = {}
    steps = np.full(maze.shape, -1)
    queue = deque(starts)
    for start in starts:
        steps[start] = 0
    while queue:
        r, c = queue.popleft()
        for rr, cc in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if maze[rr, cc] == 0 and steps[rr, cc] < 0:
                steps[rr, cc] = steps[r, c] + 1
                queue.append((rr, cc))
    names["steps"] = steps, len(queue)
    return names


def test_a_maze() -> None:
    as_before(flooded, (MAZE, [(1, 1)]), (MAZE, [(3, 3), (1, 2)]), (MAZE, [(1, 1)]))
    as_before(flooded, (MAZE, []), (MAZE, [(np.int64(1), np.int64(1))]), (MAZE, [(1, 1), (1, 2, 3)]), compiles=None)
    as_before(flooded, (MAZE * 0, [(1, 1)]), (MAZE[1:4, 1:4], [(0, 0)]), compiles=None)  # beyond its edges


def reached(rows: Any, start: Any, most: Any) -> Any:
    names, visited, order = {}, [False] * len(rows), np.full(len(rows), -1)
    stack = [start]
    count, v = 0, -1
    while stack and count < most:
        v = stack.pop()
        if visited[v]:
            continue
        visited[v] = True
        order[v] = count
        count += 1
        for u in rows[v]:
            if not visited[u]:
                stack.append(u)
    names["v"] = v
    return order, visited, stack, count, names


def test_a_stack_of_a_graph() -> None:
    rows = [[1, 2], [3], [3, 0], [1], [4]]
    as_before(reached, (rows, 0, 9), (rows, 2, 9), (rows, 0, 2), (rows, 4, 9))
    as_before(reached, ([[1, 2], [7], []], 0, 9), (rows, -1, 9), (rows, True, 3), (rows, 0.0, 3), compiles=None)


def by_lengths(rows: Any, start: Any) -> Any:
    names, best = {}, np.full(len(rows), np.inf)
    queue = [(start, 0.0)]
    longest = 0
    while queue:
        longest = max(longest, len(queue))
        v, length = queue.pop(0)
        if length < best[v]:
            best[v] = length
            for u, w in rows[v]:
                queue.append((u, length + w))
    names["longest"] = longest
    return best, queue, names


def test_pairs_at_the_beginning_of_a_list() -> None:
    rows = [[(1, 2.0), (2, 0.5)], [(0, 1.0)], [(1, 0.25)]]
    as_before(by_lengths, (rows, 0), (rows, 1))
    as_before(by_lengths, ([[(1, 2), (2, 1)], [], []], 0), compiles=None)  # ints among floats


def takes(queue: Any, x: Any, turns: Any) -> Any:
    names, total = {}, 0
    for _ in range(turns):
        k = queue.pop()
        total += k
        x[k] += 1
        if k > 0:
            queue.append(k - 1)
    names["total"] = total
    return names, queue, x


def test_what_is_taken_of_nothing() -> None:
    queue = [3, 1]
    as_before(takes, (queue, np.zeros(4), 5), (queue, np.zeros(4), 6), (queue, np.zeros(4), 7), compiles=None)
    as_before(takes, (queue, np.zeros(4), 3), (deque(queue), np.zeros(4, int), 3))
    as_before(takes, (deque(queue, 3), np.zeros(4), 3), ([np.int64(3), np.int64(1)], np.zeros(4), 3), compiles=None)
    as_before(takes, ([2**70], np.zeros(4), 1), ([9, 2], np.zeros(4), 9), ([], np.zeros(4), 1), compiles=None)


def of_two_names(turns: Any) -> Any:
    queue = [3, 1, 2]
    x = queue
    total, names = 0, {}
    for _ in range(turns):
        k = queue.pop()
        total += k + x[0]
        queue.append(k - 1)
    names["total"] = total
    return names, queue, x is queue


def grown(most: Any) -> Any:
    queue, names, seen = deque([1]), {}, np.zeros(3)
    while len(queue) < most:
        k = queue.popleft()
        seen[k % 3] += k
        queue.append(k + 1)
        queue.append(k + 2)
    names["sum"] = sum(queue)
    return seen, names, queue


def of_elements(x: Any) -> Any:
    queue, names = deque(np.flatnonzero(x > 0)), {}
    total = 0
    while queue:
        k = queue.popleft()
        total = total + k
        for u in range(3):
            if x[k] > u:
                x[k] -= 1
                queue.append(k)
    names["total"] = total
    return x, names, type(total)


def otherwise(x: Any) -> Any:
    queue, names, count = deque([0]), {}, 0
    while queue:
        k = queue.popleft()
        count += 1
        if not queue and count < 5:
            queue.append(x[k])
    names["count"] = count
    return names, queue


def test_other_queues() -> None:
    as_before(of_two_names, (2,), (3,), compiles=None)
    as_before(grown, (20,), (40,))
    as_before(grown, (3000,), compiles=None)  # more than there is room for
    as_before(of_elements, (np.array([0, 2, 3, 1, 0]),), (np.array([1, 1]),), compiles=None)
    as_before(otherwise, (np.arange(3),), (np.arange(3.0),), compiles=None)  # another type than the first one has


def gathered(points: Any, edges: Any, most: Any) -> Any:
    names = {"n": len(points)}
    near: Any = []
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            d = np.sqrt(dx * dx + dy * dy)
            if d < most:
                edges.append((d, i, j))
                near.append(2 * j)
    return sorted(edges), near, names


def test_lists_to_which_a_loop_appends() -> None:
    rng = np.random.default_rng(4)
    points, few = rng.random((9, 2)), rng.random((3, 2))
    as_before(gathered, (points, [], 0.6), (few, [], 0.6), (points, [(np.float64(0.5), 7, 8)], 0.9), (points, [], 0.3))
    as_before(gathered, (points, [], -1.0), (points, [], 0.9), (points[:0], [], 0.9), compiles=None)  # nothing at first
    # Of another type than before, another length, and an index beyond the points in the middle.
    as_before(gathered, (points, [("a", 1)], 0.6), (points, [(1, 2)], 0.9), (points[:, :1], [], 0.9), compiles=None)


def of_several_types(x: Any, out: Any) -> Any:
    names = {}
    for v in x:
        out.append(int(v) if v > 0 else float(v))
    names["out"] = out
    return out[-1:], names


def test_what_is_appended_may_be_of_another_type_later() -> None:
    as_before(
        of_several_types,
        (np.ones(4), []),
        (-np.ones(4), []),
        (np.array([1.0, -1.0]), []),
        (np.ones(4), [1.5]),
        compiles=None,
    )
    as_before(of_several_types, (np.ones(4), []), (np.full(4, 1e300), []), (np.array([np.nan]), [7]), compiles=None)
    as_before(of_several_types, (np.ones(2), []), (np.ones(9000), [0]), (np.ones(30000), []), compiles=None)
