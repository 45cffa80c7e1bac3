"""Containers of what a call has: many arrays in a list and ranges of sizes that stages are handed, and containers that
statements made which Python runs, returned in a tuple."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

LOG: list[Any] = []


def merged(parts: Any, scale: Any) -> Any:
    """Dicts are Python's; it adds to the last part."""
    totals: dict[int, Any] = {}
    for k, part in enumerate(parts):
        totals[len(part)] = totals.get(len(part), 0.0) + part.sum() * k
    parts[-1][0] += 1
    y = parts[0] * scale
    return [totals[k] for k in sorted(totals)], y


@pytest.mark.parametrize("count", [3, 31, 40, 70])
def test_statements_are_handed_more_arrays_than_a_stage_takes(count: int) -> None:
    compiled = tilewright.jit(merged, strict=True)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ours = [rng.random(2 + k % 3) for k in range(count)]
        theirs = copy.deepcopy(ours)
        assert agree(compiled(ours, 2.0), merged(theirs, 2.0))
        assert agree(ours, theirs)


def test_one_array_often_among_many_stays_one_array() -> None:
    compiled = tilewright.jit(merged, strict=True)
    for others in (0, 38):
        for _ in range(4):
            x, y = np.arange(1.0, 5.0), np.arange(1.0, 5.0)
            ours, theirs = [x] * 40 + [np.arange(2.0)] * others, [y] * 40 + [np.arange(2.0)] * others
            assert agree(compiled(ours, 2.0), merged(theirs, 2.0))
            assert agree(x, y)


def drawn(x: Any, rng: Any) -> Any:
    everything = range(len(x))
    k = rng.choice(everything, p=x / x.sum())
    return x * k, int(k)


def named(x: Any) -> Any:
    LOG.append(x)
    return [*x]


def by_a_range(x: Any) -> Any:
    y = x * 2
    found = named(range(1, len(x), 2))
    return y, found


@pytest.mark.parametrize("sizes", [(5, 5, 5, 5, 3, 1), (1, 1, 1, 1, 8)])
def test_calls_are_handed_ranges_of_sizes(sizes: Any) -> None:
    compiled, with_log = tilewright.jit(drawn, strict=True), tilewright.jit(by_a_range, strict=True)
    for n in sizes:
        x = np.arange(1.0, n + 1)
        ours, theirs = np.random.default_rng(n), np.random.default_rng(n)
        assert agree(compiled(x, ours), drawn(x, theirs))
        assert ours.bit_generator.state == theirs.bit_generator.state
        LOG.clear()
        assert agree(with_log(x), by_a_range(x))
        assert [range(1, n, 2)] * 2 == LOG


def counted(x: Any, least: Any) -> Any:
    found = {}
    for j in range(x.shape[1]):
        share = x[:, j].mean()
        if share >= least:
            found[frozenset([j])] = share
    return {tuple(sorted(key)): value for key, value in found.items()}, [len(key) for key in found]


def test_a_tuple_of_containers_that_python_made() -> None:
    compiled = tilewright.jit(counted, strict=True)
    for seed in range(7):
        x = np.random.default_rng(seed).random((20, 4))
        for least in (0.5, 0.0, 2.0):
            first, second = compiled(x, least), compiled(x, least)
            assert agree(first, counted(x, least))
            assert agree(second, counted(x, least))
            assert first[0] is not second[0]


def by_numbers_of_the_call(x: Any, numbers: Any, n: Any) -> Any:
    found = {}
    for k in numbers:
        found[k] = x * k
    more = {(n, "a"): x.sum(), n: found, frozenset([n]): 1, (n, (2, n)): {n + 1: x}}
    return found, more


def keys_of(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, type(key), [type(one) for one in key] if type(key) in (tuple, frozenset) else 0, keys_of(one))
                for key, one in value.items()]  # fmt: skip
    return [keys_of(one) for one in value] if isinstance(value, tuple) else None


@pytest.mark.parametrize("n", [4, 0, True, 2.5])
def test_keys_of_a_returned_dict_are_pythons(n: Any) -> None:
    compiled = tilewright.jit(by_numbers_of_the_call, strict=True)
    x = np.arange(3.0)
    for numbers in ([3, 1], [3, 1], [5, 7], [2.0, 4.0], []):
        ours, theirs = compiled(x, numbers, n), by_numbers_of_the_call(x, numbers, n)
        assert agree(ours, theirs)
        assert keys_of(ours) == keys_of(theirs)


def handed_a_dict(x: Any, n: Any) -> Any:
    options = {n: x.sum(), (n, n): "pair"}
    named(options)
    return x * n


def test_keys_of_a_dict_that_a_call_is_handed_are_pythons() -> None:
    compiled = tilewright.jit(handed_a_dict, strict=True)
    for n in (2, 2, 2, 3, 3):
        x = np.arange(3.0)
        LOG.clear()
        assert agree(compiled(x, n), handed_a_dict(x, n))
        assert keys_of(LOG[0]) == keys_of(LOG[1])
        assert agree(LOG[0], LOG[1])


def by_columns(columns: Any) -> Any:
    out = {}
    for name, x in columns.items():
        m, s = x.mean(), x.std()
        out[name] = (m, s, ((x - m) ** 3).mean() / s**3 if s > 0 else 0.0)
    best = max(out, key=lambda k: out[k][1])
    return out, best


class Summary(NamedTuple):
    mean: Any
    counts: Any


def by_summaries(columns: Any) -> Any:
    out = OrderedDict()
    for name, x in columns.items():
        out[name] = Summary(x.mean(), np.histogram(x, bins=3)[0])
    best = max(out, key=lambda k: out[k].mean)
    return out, best


def of_a_return(words: Any) -> Any:
    lengths = np.array([len(word) for word in words])
    values = dict(zip(*np.unique(lengths, return_counts=True), strict=True))
    return {k: int(v) for k, v in values.items()}, " ".join(sorted(set(words), key=lambda w: (-len(w), w))[:2])


@pytest.mark.parametrize("function", [by_columns, by_summaries, of_a_return])
def test_all_statements_where_no_fewer_will_do(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for k in range(6):
        given: Any = (
            {"a": np.arange(4.0) * k, "b": np.array([1.0, 5.0, k])} if function is not of_a_return else ["a", "bb", "c"]
        )
        assert agree(compiled(given), function(given), bits=False)
    assert compiled.specializations


def leapfrog(state: Any, dt: float) -> None:
    state["v"] -= dt * state["x"]
    state["x"] += dt * state["v"]


def steps(state: Any, n: int) -> Any:
    mine = [np.zeros_like(state["x"]), state["v"]]
    for k in range(n):
        state["v"] *= 0.99
        mine[0] += state["x"] * k
        if state["x"][0] > 0.5:
            state["x"] -= 0.1 * state["v"]
        mine[1] += 1
    return mine[0].sum(), state["v"] is mine[1]


def first_and_last(rows: Any, dt: float) -> Any:
    rows[0] *= 2
    rows[-1] -= dt * rows[0]
    return rows[0]


@pytest.mark.parametrize(("function", "more"), [(leapfrog, 0.1), (steps, 70), (steps, 3), (first_and_last, 0.5)])
def test_an_array_in_a_container_of_the_caller_is_written_in_place(function: Any, more: Any) -> None:
    rng = np.random.default_rng(0)
    x, v = rng.random(50), rng.random(50)
    given = [x, v] if function is first_and_last else {"x": x, "v": v}
    compiled = check(function, given, more)
    assert not any(one.traced.stages for one in compiled.specializations)


def test_a_number_in_a_container_of_the_caller_is_changed_behind_the_call() -> None:
    def counted(state):
        state["k"] += 1
        return state["x"] * state["k"]

    def counted_in_a_loop(state, n):
        for _ in range(n):
            state["k"] += 1
        return state["x"] * state["k"]

    state = {"x": np.ones(50), "k": 1}
    compiled = tilewright.jit(counted, strict=True)
    assert [compiled(state)[0] for _ in range(3)] == [2, 3, 4] and state["k"] == 4
    in_a_loop = tilewright.jit(counted_in_a_loop, strict=True)  # whose loop is Python's
    assert [in_a_loop(state, 70)[0] for _ in range(3)] == [74, 144, 214] and state["k"] == 214
