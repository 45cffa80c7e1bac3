"""Calls that are handed objects and containers of the caller and cannot be followed, under strict: Python's, where functions, methods
or loops in them may be compiled by themselves. What they change is changed once."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


class Table:
    """A cache of which the oldest entry is dropped."""

    def __init__(self, size: int) -> None:
        self.size, self.held, self.hits = size, {}, 0

    def get(self, key: int, costs: Any) -> float:
        if key in self.held:
            value = self.held.pop(key)
            self.hits += 1
        else:
            value = float(costs[key])
            if len(self.held) >= self.size:
                del self.held[next(iter(self.held))]
        self.held[key] = value
        return value


def costs_of(table: Table, keys: Any, costs: Any) -> float:
    total = 0.0
    for key in keys:
        total += table.get(int(key), costs)
    return total


def alone(table: Table, costs: Any) -> Any:
    table.held[len(table.held)] = table.hits
    table.held.pop(0)
    return costs * 2


def data() -> tuple[Table, Any, Any]:
    rng = np.random.default_rng(0)
    return Table(8), rng.integers(0, 20, 200), rng.random(20)


def test_a_table_of_the_caller_is_changed_once_by_each_call() -> None:
    compiled = tilewright.jit(costs_of, strict=True)
    table, keys, costs = data()
    other = copy.deepcopy(table)
    for _ in range(5):
        assert compiled(table, keys, costs) == costs_of(other, keys, costs)
        assert vars(table) == vars(other)
        assert list(table.held) == list(other.held)
    assert "self.held" in compiled.explain(source=False)


def test_what_is_raised_is_the_functions_own() -> None:
    compiled = tilewright.jit(costs_of, strict=True)
    table, keys, costs = data()
    compiled(table, keys, costs)
    other = copy.deepcopy(table)
    for one, function in ((table, compiled), (other, costs_of)):
        with pytest.raises(IndexError):
            function(one, np.append(keys[:9], 20), costs)
    assert vars(table) == vars(other)


def test_another_call_is_no_refusal_where_nothing_was_worth_a_compilation() -> None:
    compiled = tilewright.jit(costs_of, strict=True)
    table, keys, costs = data()
    for k in range(2, 7):
        other = copy.deepcopy(table)
        assert compiled(table, keys[: k**3], costs) == costs_of(other, keys[: k**3], costs)
        assert vars(table) == vars(other)


def test_with_nothing_to_compile_in_it_the_call_is_refused() -> None:
    table, _, costs = data()
    with pytest.raises(tilewright.TraceError, match=r"table\.held"):
        tilewright.jit(alone, strict=True)(table, costs)


def test_kernels_alone_refuse_it() -> None:
    with pytest.raises(tilewright.TraceError):
        tilewright.jit(costs_of, strict="kernels")(*data())


def test_what_was_not_worth_compiling_is_no_reason_to_refuse_another_call() -> None:
    from tilewright.interpret.inner_calls import inner_calls_of

    compiled = tilewright.jit(costs_of, strict=True)
    table, keys, costs = data()
    other = copy.deepcopy(table)
    for k in range(3):
        assert compiled(table, keys, costs) == costs_of(other, keys, costs)
        inner: Any = inner_calls_of(costs_of)
        inner._call = None  # as it is where Python is faster
        costs = np.ones(20 + k, [np.float32, np.int32, bool][k])
        assert vars(table) == vars(other)


def spread(field: dict[tuple[int, int], str], start: tuple[int, int]) -> dict[tuple[int, int], int]:
    reached, queue = {start: 0}, [start]
    while queue:
        x, y = queue.pop(0)
        for i, j in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if field.get((x + i, y + j), "wall") == "free" and (x + i, y + j) not in reached:
                reached[x + i, y + j] = reached[x, y] + 1
                queue.append((x + i, y + j))
    return reached


def words_of(data: bytes) -> tuple[str, bytes]:
    bits = "".join(bin(one)[2:].zfill(8) for one in data)
    print(len(bits))
    return bits, bytes(int(bits[k : k + 8], 2) for k in range(0, len(bits), 8))


def test_long_work_on_pythons_own_values_is_pythons() -> None:
    compiled = tilewright.jit(spread, strict=True)
    field = {(i, j): "wall" if (i * j) % 7 == 3 else "free" for i in range(24) for j in range(24)}
    for start in ((0, 0), (0, 0), (5, 1)):
        assert list(compiled(field, start).items()) == list(spread(field, start).items())


def test_what_no_number_goes_into_is_pythons(capsys: Any) -> None:
    compiled = tilewright.jit(words_of, strict=True)
    for data in (b"abc", b"abc", bytes(range(200)), b"abc"):
        assert compiled(data) == words_of(data)
        mine, other = capsys.readouterr().out.split()
        assert mine == other
