"""Single draws where data decide how many there are: kernels move the generator's state, and leave it where NumPy does."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree, check
from tilewright._face import mt19937_state, pcg64_state, pcg64_words, reads_mt19937, set_mt19937_state
from tilewright.decorator import JitFunction
from tilewright.errors import ExportError
from tilewright.interpret.normal_draws import layers

pytestmark = pytest.mark.compile


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def walk(rng: Any, n: int) -> Any:
    x = steps = 0
    while abs(x) < n:
        x += 1 if rng.random() < 0.5 else -1
        steps += 1
    return x, steps


def uniform_between_data(rng: Any, n: int) -> Any:
    low, path = 0.0, np.zeros(n)
    for i in range(n):
        if rng.uniform() < 0.7:
            low = rng.uniform(low - 1, low + 2.5)
        path[i] = low
    return path


def integers_of_all_kinds(rng: Any, n: int) -> Any:
    found = np.zeros(8, dtype=np.int64)
    k, total = 1, 0
    while k < n:
        j = rng.integers(k)
        found[j % 8] += rng.integers(-5, 7)
        found[k % 8] += rng.integers(0, 2**31)
        found[0] -= rng.integers(3, 9, endpoint=True)
        total += rng.integers(4, dtype=int)
        k += 1 + rng.choice(3)
    return found, k, total


def chosen_of_an_array(rng: Any, x: Any) -> Any:
    total = 0.0
    while total < 9:
        total += rng.choice(x) if rng.random() < 0.9 else 0.5
    return total


def normal_walk(rng: Any, n: int) -> Any:
    x, k = 0.0, 0
    while abs(x) < n:
        x += rng.standard_normal()
        if x < -2:
            x = rng.normal(0.5, abs(x))
        k += 1
    return x, k


def with_draws_by_python(rng: Any, n: int) -> Any:
    total, order = 0.0, rng.permutation(5)
    for _ in range(n):
        if rng.random() < 0.3:
            total += rng.gamma(2.0) + rng.integers(5)
        else:
            total -= rng.random(3).sum()
    return total, order, rng.integers(7), rng.poisson(3.0)


def with_a_break(rng: Any, n: int) -> Any:
    out = np.zeros(n)
    for i in range(n):
        if rng.random() < 0.2:
            break
        for _ in range(rng.integers(3)):
            out[i] += rng.random()
    return out, i


def two_of_them(rng: Any, other: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        total += rng.random() if other.random() < 0.5 else -other.random()
    return total


OWN: list[Any] = [
    (walk, 9), (uniform_between_data, 40), (integers_of_all_kinds, 40), (chosen_of_an_array, np.array([1.0, 2.5, -0.5])),
    (normal_walk, 12), (with_draws_by_python, 30), (with_a_break, 20),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given"), OWN, ids=lambda one: getattr(one, "__name__", ""))
def test_a_generator_of_the_caller(function: Any, given: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for seed in (1, 2, 3):
        half_a_word = rng(seed)
        half_a_word.integers(5)
        check(compiled, half_a_word, given)
    assert "state" in str(compiled.explain(source=False))


@pytest.mark.parametrize("n", [0, 1])
def test_loops_without_an_iteration(n: int) -> None:
    check(walk, rng(), n)
    check(with_draws_by_python, rng(), n, bits=False)


def test_generators_made_of_a_seed() -> None:
    def made(seed: int, n: int) -> Any:
        first, second = np.random.default_rng(seed), np.random.default_rng(seed + 1)
        return walk(first, n), two_of_them(first, second, n), first.random()

    check(made, 5, 6)


def test_of_two_generators_that_are_one_numpy_draws() -> None:
    compiled = check(two_of_them, rng(1), rng(2), 20)
    one, theirs = rng(7), rng(7)
    for _ in range(3):
        assert compiled(one, one, 20) == two_of_them(theirs, theirs, 20)
        assert one.bit_generator.state == theirs.bit_generator.state


def test_what_was_drawn_is_undone_where_a_check_fails() -> None:
    def indexed(rng: Any, x: Any, n: int) -> Any:
        total = 0.0
        for _ in range(n):
            if rng.random() < 0.5:
                total += x[int(4 * rng.random())]
        return total, rng.integers(5)

    compiled = tilewright.jit(indexed, strict=True)
    for _ in range(3):
        ours, theirs = rng(), rng()
        assert compiled(ours, np.arange(4.0), 20) == indexed(theirs, np.arange(4.0), 20)
        with pytest.raises(IndexError):
            indexed(theirs, np.arange(2.0), 20)
        with pytest.raises(IndexError):
            compiled(ours, np.arange(2.0), 20)
        assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("limits", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (0.0, np.nan)])
def test_ranges_that_numpy_refuses_or_that_have_no_width(limits: Any) -> None:
    def between(rng: Any, low: Any, n: int) -> Any:
        total = 0.0
        for _ in range(n):
            if rng.random() < 0.5:
                total += rng.uniform(low[0], low[1])
        return total

    check(between, rng(), np.array(limits), 9, in_numpy=True)


@pytest.mark.parametrize("most", [0, -3, 2**40])
def test_ranges_of_integers_that_numpy_refuses_or_that_take_whole_words(most: int) -> None:
    def below(rng: Any, most: Any, n: int) -> Any:
        total = 0
        for _ in range(n):
            if rng.random() < 0.5:
                total += rng.integers(most[0])
        return total

    check(below, rng(), np.array([most]), 9, in_numpy=True)


def test_one_integer_takes_no_draw() -> None:
    def of_one(rng: Any, n: Any) -> Any:
        total = 0
        for k in range(len(n)):
            if rng.random() < 0.9:
                total += rng.integers(n[k]) + rng.integers(n[k], endpoint=True)
        return total

    check(of_one, rng(), np.array([1, 1, 4, 1, 2, 1]))


def test_types_of_integers() -> None:
    def kinds(rng: Any) -> Any:
        return rng.integers(5, dtype=int), rng.integers(2, dtype=bool), rng.integers(5), rng.choice(5)

    check(kinds, rng())


def test_layers_of_normal_numbers_are_numpys() -> None:
    assert layers() is not None


def test_another_thread_draws_before_or_behind_a_call() -> None:
    compiled = check(walk, rng(), 4)
    one = rng()
    seen: list[float] = []

    def draw() -> None:
        seen.extend(one.random() for _ in range(300))

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        compiled(one, 30)
    for thread in threads:
        thread.join()
    assert len(set(seen)) == len(seen)


def chosen_of_what_a_mask_picks(rng: Any, x: Any) -> Any:
    left, total = x.copy(), 0.0
    while True:
        free = np.flatnonzero(left > 0)
        if len(free) == 0:
            return total, left
        place = rng.choice(free)
        total += place * rng.choice(left[left > 0])
        left[place] = 0


def test_what_a_mask_picks_out_is_chosen_from_without_python() -> None:
    given = np.arange(7.0) - 1
    compiled = check(chosen_of_what_a_mask_picks, rng(), given)
    assert "choice" not in str(compiled.explain(source=False)).partition("between kernels")[2]
    for seed in range(20):
        ours, theirs = rng(seed), rng(seed)
        agree(compiled(ours, given), chosen_of_what_a_mask_picks(theirs, given))
        assert ours.bit_generator.state == theirs.bit_generator.state


def one_of_the_large(rng: Any, x: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        if rng.random() < 0.7:
            total += rng.choice(x[x > 2])
    return total


def test_nothing_to_choose_from_is_numpys_error() -> None:
    compiled = check(one_of_the_large, rng(), np.arange(5.0), 9)
    for one in (compiled, one_of_the_large):
        with pytest.raises(ValueError, match="cannot be empty"):
            one(rng(), np.arange(2.0), 9)


def one_below(rng: Any, p: float) -> Any:
    return rng.random() < p


def some_rows(rng: Any, x: Any) -> Any:
    return x + rng.random(x.shape)


@pytest.mark.parametrize(
    ("function", "given"), [(walk, (4,)), (normal_walk, (4,)), (one_below, (0.5,)), (some_rows, (np.ones((50, 70)),))]
)
def test_calls_that_draw_go_without_python(function: Any, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.comparison.compare", lambda *_, **__: None)
    monkeypatch.setattr("tilewright.trials.Trial.why_numpy", "")
    monkeypatch.setattr(JitFunction, "_why_watched_is_faster", lambda *_: "")
    compiled = tilewright.jit(function, strict=True)
    ours, theirs = rng(), rng()
    for one in (ours, theirs):
        one.integers(9, dtype=np.int32)  # half of a word is left
    for _ in range(20):
        agree(compiled(ours, *given), function(theirs, *given))
    before = compiled.misses
    for _ in range(20):
        agree(compiled(ours, *given), function(theirs, *given))
        assert ours.bit_generator.state == theirs.bit_generator.state
    assert compiled.misses == before
    assert ours.bit_generator.lock.acquire(blocking=False)  # given back
    ours.bit_generator.lock.release()


# ---- numpy.random, RandomState


def seeded(seed: int, n: int) -> Any:
    np.random.seed(seed)
    x, path = 0.0, np.zeros(n)
    for i in range(n):
        y = x + np.random.uniform(-1, 1)
        if np.random.rand() < np.exp(x - y):
            x = y
        path[i] = x
    return path, np.random.random()


def dice(goal: int) -> Any:
    total = rolls = 0
    while total < goal:
        d = np.random.randint(1, 7)
        total += d + (np.random.choice(3) if d == 6 else 0)
        rolls += 1
    return total, rolls, np.random.permutation(4)


def normal_numbers(n: int) -> Any:
    x, k = 0.0, 0
    while abs(x) < n:
        x += np.random.normal(0.1, 1.5) if x > 0 else np.random.randn()
        k += 1
    return k, np.random.standard_normal()


def of_a_state(seed: int, n: int) -> Any:
    state = np.random.RandomState(seed)
    total, k = 0.0, 0
    while k < n:
        u = state.uniform(0, 2)
        total += u if u < 0.7 else -state.random_sample()
        k += 1 + state.randint(3)
    return total, k


@pytest.mark.parametrize(
    ("function", "args"), [(seeded, (3, 700)), (dice, (4000,)), (normal_numbers, (9,)), (of_a_state, (5, 1500))]
)
@pytest.mark.parametrize("drawn", [0, 1, 623, 1000])
def test_draws_from_numpys_own_generator(function: Any, args: Any, drawn: int) -> None:
    np.random.seed(8)
    np.random.rand(drawn)
    np.random.randint(5)
    if drawn == 1:
        np.random.randn()  # the other one of two is left
    check(function, *args, bits=False)


def counted(words: list[str]) -> int:
    return len(set(words)) + int(np.random.randint(100))


def with_what_python_runs(x: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        if np.random.rand() < 0.5:
            total += np.random.rand()
    found = counted([str(n), "a", "b"])
    return x[int(3 * np.random.rand())] + total, found, np.random.randint(9)


def test_calls_that_draw_from_numpys_own_generator_go_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.trials.Trial.why_numpy", "")
    monkeypatch.setattr(JitFunction, "_why_watched_is_faster", lambda *_: "")
    compiled = tilewright.jit(normal_numbers, strict=True)
    for seed in range(40):
        np.random.seed(seed)
        expected, after = normal_numbers(5), np.random.get_state()
        np.random.seed(seed)
        before = compiled.misses
        agree(compiled(5), expected)
        for one, other in zip(np.random.get_state(), after, strict=True):
            np.testing.assert_array_equal(one, other)
    assert compiled.misses == before


@pytest.mark.parametrize("drawn", [0, 1, 227, 300, 623, 624, 700])
def test_words_that_are_not_made_yet_are_those_that_numpy_makes(drawn: int) -> None:
    """What kernels leave: so many of the next 624 words."""
    ours, theirs = np.random.RandomState(4), np.random.RandomState(4)
    ours.standard_normal(), theirs.standard_normal()
    for one in (ours, theirs):
        one.randint(2**32, size=620 + drawn, dtype=np.uint32)
    words, places, left = mt19937_state(ours)
    assert places.tolist() == [ours.get_state()[2], 624, 1, 2]
    set_mt19937_state(ours, words, places, left)
    ours.randint(2**32, size=624 - places[0], dtype=np.uint32)
    theirs.randint(2**32, size=624 - places[0] + 1, dtype=np.uint32)
    words, places, left = mt19937_state(ours)
    set_mt19937_state(ours, words, np.array([0, 0, *places[2:]]), left)
    ours.randint(2**32, dtype=np.uint32)
    np.testing.assert_array_equal(ours.get_state()[1], theirs.get_state()[1])
    assert ours.get_state()[2:] == theirs.get_state()[2:]


def test_states_of_other_generators_are_refused() -> None:
    assert reads_mt19937()
    for one in (np.random.RandomState(np.random.PCG64(1)), np.random.default_rng(1), 3):
        with pytest.raises(ValueError, match="is not a numpy.random.RandomState on MT19937"):
            mt19937_state(one)
    for one in (np.random.Generator(np.random.MT19937(1)), np.random.RandomState(1), None):
        for function in (pcg64_words, pcg64_state):
            with pytest.raises(ValueError, match="is not a numpy.random.Generator on PCG64"):
                function(one)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_numpys_own_generator_and_functions_that_draw_from_it(seed: int) -> None:
    compiled = tilewright.jit(with_what_python_runs, strict=True)
    good, bad = np.arange(3.0), np.arange(1.0)  # where the check fails, what Python drew is not drawn again
    for x in (good, good, good, good, bad, good, bad, good):
        np.random.seed(seed)
        try:
            expected: Any = with_what_python_runs(x, 9)
        except IndexError as error:
            expected = str(error)
        after = np.random.get_state(legacy=False)
        np.random.seed(seed)
        try:
            got: Any = compiled(x, 9)
        except IndexError as error:
            got = str(error)
        assert agree(got, expected)
        assert str(np.random.get_state(legacy=False)) == str(after)


def test_a_function_inside_draws_and_fails() -> None:
    inner = tilewright.jit(lambda x: x[int(2 * np.random.rand())] + np.random.rand())

    def outer(x: Any, n: int) -> Any:
        total = 0.0
        for _ in range(n):
            if np.random.rand() < 0.5:
                total += 1
        names = {str(n)}
        for one in x:
            names.add(str(float(inner(one))))
        return total, sorted(names), np.random.rand()

    compiled = tilewright.jit(outer)
    for x in (np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 1)), np.ones((3, 2))):
        results = []
        for function in (outer, compiled):
            np.random.seed(4)
            try:
                made: Any = function(x, 9)
            except IndexError as error:
                made = str(error)
            results.append((made, str(np.random.get_state(legacy=False))))
        assert results[0] == results[1]


# ---- modules


def test_modules_draw_from_generators_of_their_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    compiled = tilewright.jit(walk_of_a_seed, strict=True)
    expected = compiled(3, 9)
    compiled.export(tmp_path / "walk_of_a_seed_tuned")
    module = importlib.import_module("walk_of_a_seed_tuned")

    assert module.walk_of_a_seed(3, 9) == expected == walk_of_a_seed(3, 9)
    of_the_caller = tilewright.jit(walk, strict=True)
    of_the_caller(rng(), 4)
    with pytest.raises(ExportError, match="depends on data"):
        of_the_caller.export(tmp_path / "walk_tuned")


def walk_of_a_seed(seed: int, n: int) -> Any:
    return walk(np.random.default_rng(seed), n)


def a_path_with_memory(n, seed):
    rng, s = np.random.default_rng(seed), 0.0
    for _ in range(n):
        s = 0.5 * s + rng.standard_normal()
    return s


def test_tables_of_normal_draws_are_no_state_of_loops():
    compiled = tilewright.jit(a_path_with_memory, strict=True)
    for n, seed in ((300, 1), (300, 2), (40, 3)):
        assert compiled(n, seed) == pytest.approx(a_path_with_memory(n, seed), rel=1e-12)
    text = compiled.specializations[0].traced.program_text
    assert not [line for line in text.splitlines() if "carry" in line and "float64[256]" in line]
