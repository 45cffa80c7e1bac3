"""Draws of numpy.random.Generator, compiled: NumPy's bits, and the generator left where NumPy leaves it."""

from __future__ import annotations

import copy
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st
from strictly import agree
from tilewright import ExportError, TraceError
from tilewright.trace import trace
from trace_cases import evaluate, same_bits

pytestmark = pytest.mark.compile


def compute_pi(num_samples: Any, rng: Any) -> Any:
    count_inside = 0
    for _ in range(num_samples):
        x, y = rng.random(), rng.random()
        if x**2 + y**2 <= 1.0:
            count_inside += 1
    return 4.0 * count_inside / num_samples


def seeded_pi(num_samples: Any, seed: Any) -> Any:
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(num_samples):
        if rng.random() ** 2 + rng.random() ** 2 < 1:
            inside += 1
    return inside


def literal_seed(n: Any) -> Any:
    return np.random.default_rng(12345).random(n)


def arrays(rng: Any, n: Any, m: Any) -> Any:
    first = rng.random(n)
    return first, rng.random((n, m)), rng.uniform(-2, 3.5, n), rng.random(), rng.random(size=(2, 3))


def walk(rng: Any, n: Any) -> Any:
    place, top = 0.0, 0.0
    for _ in range(n):
        place += rng.random() - 0.5
        top = max(top, place)
    return place, top


def several_sums(rng: Any, n: Any, limit: Any) -> Any:
    """Two counts, a truth, a step of its own, and draws before and behind the loop."""
    before = rng.random()
    low, high, any_tiny = 0, 7, False
    for i in range(3, n, 2):
        x = rng.random()
        if x < limit:
            low += i
        else:
            high -= 2
        any_tiny = any_tiny or x < 0.001
    return before, low, high, any_tiny, rng.random()


def nested(rng: Any, n: Any, m: Any) -> Any:
    out = np.zeros(n)
    for i in range(n):
        count = 0
        for _ in range(m):
            if rng.random() < rng.random():
                count += 1
        out[i] = count + rng.random()
    return out


def rows(rng: Any, n: Any, m: Any) -> Any:
    out = np.zeros((n, m))
    for i in range(n):
        out[i] = rng.random(m)
    return out


def two_generators(a: Any, b: Any, n: Any) -> Any:
    return a.random(n) - b.random(n), a.random()


COMPILED = {f: tilewright.jit(strict=True)(f) for f in (
    compute_pi, seeded_pi, literal_seed, arrays, walk, several_sums, nested, rows, two_generators,
)}  # fmt: skip


def as_numpy(function: Any, *call: Any) -> None:
    """Results and generators, twice in a row."""
    mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
    for _ in range(2):
        compare(COMPILED[function](*mine), function(*theirs))
        for one, other in zip(mine, theirs, strict=True):
            if isinstance(one, np.random.Generator):
                assert one.bit_generator.state == other.bit_generator.state


def compare(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert type(got) is tuple and len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            compare(one, other)
    else:
        assert type(got) is type(expected)
        same_bits(np.asarray(got), np.asarray(expected))


SEEDS = st.integers(0, 2**64)
SIZES = st.sampled_from([1, 2, 3, 8, 127, 255, 256, 257, 511, 513, 1000, 4099, 20_000])


@settings(max_examples=examples(20), deadline=None)
@given(SEEDS, SIZES)
def test_the_explicit_loop_of_monte_carlo_pi(seed: int, n: int) -> None:
    as_numpy(compute_pi, n, np.random.default_rng(seed))


@settings(max_examples=examples(12), deadline=None)
@given(st.integers(0, 2**63 - 1), SIZES)
def test_seeds_are_arguments_of_the_call(seed: int, n: int) -> None:
    as_numpy(seeded_pi, n, seed)


def test_the_state_that_a_row_begins_with_is_computed_once() -> None:
    """And not for each of its elements, which takes thirty times as long as NumPy."""
    for function, args in (
        (lambda rng, n: rng.random(n), (1000,)),
        (lambda rng, n, m: rng.random((n, m)) * 2 - 1, (90, 7)),
    ):
        schedule = tilewright.jit(strict=True)(function).for_args(np.random.default_rng(1), *args).schedule
        for stage in ("draws_high", "draws_low", "draws_high_2", "draws_low_2"):
            assert f"{stage}.compute_root()" in schedule, schedule


@settings(max_examples=examples(6), deadline=None)
@given(SEEDS, st.integers(2, 700), st.integers(2, 40))
def test_arrays_of_draws(seed: int, n: int, m: int) -> None:
    as_numpy(arrays, np.random.default_rng(seed), n, m)
    as_numpy(rows, np.random.default_rng(seed), n, m)


@settings(max_examples=examples(6), deadline=None)
@given(SEEDS, st.integers(10, 3000), st.floats(0, 1))
def test_loops_of_draws(seed: int, n: int, limit: float) -> None:
    as_numpy(several_sums, np.random.default_rng(seed), n, limit)
    as_numpy(walk, np.random.default_rng(seed), n)
    as_numpy(nested, np.random.default_rng(seed), n % 17 + 2, n % 300 + 2)


@settings(max_examples=examples(8), deadline=None)
@given(SEEDS, st.integers(0, 2**128 - 1), st.integers(0, 2**127 - 1))
def test_any_state_and_increment(seed: int, state: int, increment: int) -> None:
    rng = np.random.default_rng(seed)
    rng.bit_generator.state |= {"state": {"state": state, "inc": 2 * increment + 1}}
    as_numpy(compute_pi, 5000, rng)


def test_far_draws() -> None:
    """A loop behind 2**31 draws of the same call."""
    rng, other = np.random.default_rng(1), np.random.default_rng(1)

    @tilewright.jit(strict=True)
    def tail(rng: Any, n: Any) -> Any:
        rows = 0
        for _ in range(n):
            rows += rng.random(2000)[1999] < 0.5
        return rows, rng.random()

    tail(rng, 2)
    rng = np.random.default_rng(1)
    _, last = tail(rng, 1_200_000)
    other.bit_generator.advance(1_200_000 * 2000)
    assert last == other.random()
    assert rng.bit_generator.state == other.bit_generator.state


def test_programs_mean_the_same_to_the_oracle() -> None:
    for function, call in (
        (compute_pi, (300, np.random.default_rng(3))),
        (arrays, (np.random.default_rng(4), 5, 3)),
        (several_sums, (np.random.default_rng(5), 41, 0.5)),
        (nested, (np.random.default_rng(5), 3, 4)),
    ):
        traced = trace(function, call)
        got = evaluate(traced.program_text, traced.inputs(call, {}))
        compare(got, function(*copy.deepcopy(call)))


def test_half_a_word_that_was_not_used_stays() -> None:
    rng = np.random.default_rng(2)
    rng.random(dtype=np.float32)
    assert rng.bit_generator.state["has_uint32"] == 1
    as_numpy(compute_pi, 100, rng)


def test_two_generators_and_one_twice() -> None:
    a, b = np.random.default_rng(1), np.random.default_rng(2)
    as_numpy(two_generators, a, b, 20)
    # One generator in both places: another program, or NumPy.
    twice, other = np.random.default_rng(3), np.random.default_rng(3)
    compare(COMPILED[two_generators](twice, twice, 20), two_generators(other, other, 20))
    assert twice.bit_generator.state == other.bit_generator.state
    # Two generators on one stream.
    stream, same = np.random.PCG64(4), np.random.PCG64(4)
    got = COMPILED[two_generators](np.random.Generator(stream), np.random.Generator(stream), 20)
    compare(got, two_generators(np.random.Generator(same), np.random.Generator(same), 20))
    assert stream.state == same.state


def test_no_seed_draws_anew() -> None:
    @tilewright.jit(strict=True)
    def fresh(n: Any) -> Any:
        return np.random.default_rng().random(n)

    first, second = fresh(50), fresh(50)
    assert not (first == second).any() and (first >= 0).all() and (first < 1).all()
    with pytest.raises(tilewright.Error, match="another seed at each call"):
        fresh.tune(50, budget=1)


def test_a_call_that_falls_back_starts_from_the_same_state() -> None:
    def checked(rng: Any, x: Any, k: Any) -> Any:
        return x[k] + rng.random(3)

    compiled = tilewright.jit(strict=True)(checked)
    rng, other = np.random.default_rng(6), np.random.default_rng(6)
    x = np.arange(4.0)
    for k in (1, 2, np.array(1)):
        compare(compiled(rng, x, k), checked(other, x, k))
    state = rng.bit_generator.state
    with pytest.raises(IndexError):
        compiled(rng, x, 9)
    assert rng.bit_generator.state == state


def test_threads_share_a_generator() -> None:
    rng = np.random.default_rng(8)
    compiled = COMPILED[arrays]
    compiled(np.random.default_rng(8), 30, 4)
    drawn: list[Any] = []
    workers = [
        threading.Thread(target=lambda: drawn.extend(compiled(rng, 30, 4)[0] for _ in range(20))) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    # No draw twice.
    assert len(np.unique(np.concatenate(drawn))) == 4 * 20 * 30


def explained(function: Any) -> str:
    text = COMPILED[function].explain(source=False)
    return text[text.index("loops of the program:") : text.index("stages:")]


def test_loops_that_count_are_reductions() -> None:
    as_numpy(compute_pi, 100, np.random.default_rng(0))
    assert "reduction: sums of integers over the iterations, in any order" in explained(compute_pi)
    as_numpy(walk, np.random.default_rng(0), 100)
    assert "pixelwise" in explained(walk)
    as_numpy(nested, np.random.default_rng(0), 3, 100)
    outer, inner = explained(nested).splitlines()[1:3]
    assert "reduction" not in outer and "reduction" in inner


def draws_on_data(rng: Any, n: Any) -> Any:
    total = 0.0
    for _ in range(n):
        if rng.random() < 0.5:
            total += rng.random()
    return total


def draws_until(rng: Any) -> Any:
    total = 0.0
    while total < 3:
        total += rng.random()
    return total


def draws_and_breaks(rng: Any, n: Any) -> Any:
    total = 0.0
    for _ in range(n):
        total += rng.random()
        if total > 2:
            break
    return total


def draws_more_and_more(rng: Any, n: Any) -> Any:
    total = 0.0
    for i in range(1, n):
        total += rng.random(i).max()
    return total


@pytest.mark.parametrize("function", [draws_on_data, draws_until, draws_and_breaks, draws_more_and_more])
def test_draws_that_data_count_are_made_by_python_in_their_order(function: Any) -> None:
    call = () if function is draws_until else (90,)
    rng, other = np.random.default_rng(4), np.random.default_rng(4)
    strict = tilewright.jit(strict=True)(function)
    for _ in range(3):
        assert strict(rng, *call) == function(other, *call)
        assert rng.bit_generator.state == other.bit_generator.state
    assert len(strict.specializations) == 1 and strict.specializations[0].traced.draws_are_stages


def philox(rng: Any) -> Any:
    return rng.random(3)


def normal(rng: Any) -> Any:
    return rng.random(2).sum() + rng.normal(0, 1, 3), rng.random()


def single(rng: Any) -> Any:
    return rng.random(3, dtype=np.float32) + rng.random(3)


def whole(rng: Any) -> Any:
    return rng.integers(0, 10, 5), rng.permutation(6), rng.choice(5, 3), rng.standard_normal()


@pytest.mark.parametrize("function", [normal, single, whole])
def test_draws_that_no_kernel_makes_are_made_by_python_in_their_order(function: Any) -> None:
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    strict = tilewright.jit(strict=True)(function)
    for _ in range(3):
        compare(strict(rng), function(other))
        assert rng.bit_generator.state == other.bit_generator.state


def test_draws_from_numpys_own_generator_are_made_by_python_in_their_order() -> None:
    def legacy(n: Any) -> Any:
        return np.random.random(n), np.random.normal(), np.random.randint(0, 9, n).sum() / 2

    strict = tilewright.jit(strict=True)(legacy)
    for _ in range(3):
        np.random.seed(5)
        strict(4)
        got, after = strict(4), np.random.get_state()
        np.random.seed(5)
        legacy(4)
        compare(got, legacy(4))
        assert str(after) == str(np.random.get_state())


def test_what_is_drawn_is_undone_where_numpy_runs_the_call() -> None:
    def checked(rng: Any, x: Any, k: Any) -> Any:
        v = rng.normal(size=3) + np.random.normal(size=3)
        x[0] = v[0]
        return v + x[k]

    compiled = tilewright.jit(strict=True)(checked)
    rng, other = np.random.default_rng(6), np.random.default_rng(6)
    for k in (1, np.array(2)):
        np.random.seed(3)
        got, x = compiled(rng, np.ones(4), k), np.ones(4)
        np.random.seed(3)
        compare(got, checked(other, x, k))
    state, globally, x = rng.bit_generator.state, np.random.get_state(), np.ones(4)
    with pytest.raises(IndexError):
        checked(other, x.copy(), 9)
    theirs = str(np.random.get_state())
    np.random.set_state(globally)
    with pytest.raises(IndexError):
        compiled(rng, x, np.array(9))
    # NumPy's own error, behind NumPy's own draws.
    assert rng.bit_generator.state == other.bit_generator.state != state and str(np.random.get_state()) == theirs
    assert x[0] != 1


def test_what_is_refused_says_what_to_do() -> None:
    def spawned(rng: Any) -> Any:
        return rng.spawn(1)[0].random(3)

    def raw(rng: Any) -> Any:
        return rng.bit_generator.random_raw() * np.ones(2)

    def legacy() -> Any:
        return np.random.get_state()[2] * np.ones(2)

    for function, call, says in (
        (philox, (np.random.Generator(np.random.Philox(1)),), "draws from Philox; only .* on PCG64 are compiled"),
        (
            spawned,
            (np.random.default_rng(1),),
            r"the random draw spawn\(\) with these arguments; there is no rule for it",
        ),
        (raw, (np.random.default_rng(1),), "bit_generator of a random generator"),
        (legacy, (), r"the random draw get_state\(\) with these arguments; there is no rule for it"),
    ):
        with pytest.raises(TraceError, match=says):
            tilewright.jit(strict=True)(function)(*call)


def test_more_draws_than_kernels_count_are_numpys() -> None:
    with pytest.raises(TraceError, match="more than 2013265920 random draws in one loop or array"):
        trace(compute_pi, (2**30, np.random.default_rng(1)))
    assert "guard 2*num_samples <= 2013265920" in trace(compute_pi, (100, np.random.default_rng(1))).program_text


def test_a_name_that_a_state_would_take() -> None:
    def named(rng: Any, rng_state: Any) -> Any:
        return rng.random(3) + rng_state

    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    got = tilewright.jit(strict=True)(named)(rng, np.ones(3))
    same_bits(got, named(other, np.ones(3)))
    assert rng.bit_generator.state == other.bit_generator.state


class Simulation:
    """Draws from an attribute."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(11)

    def step(self, x: Any) -> Any:
        return x + self.rng.uniform(-1, 1, x.shape)


def test_a_generator_of_an_object() -> None:
    ours, theirs, step = Simulation(), Simulation(), tilewright.jit(strict=True)(Simulation.step)
    for _ in range(3):
        same_bits(step(ours, np.ones((4, 5))), theirs.step(np.ones((4, 5))))
    assert ours.rng.bit_generator.state == theirs.rng.bit_generator.state


def test_a_module_draws_too(tmp_path: Path) -> None:
    for function, call in (made for (made,) in one_in(2, ((rows, (30, 4)), (compute_pi, (500,))))):
        compiled = tilewright.jit(strict=True, target="x86-64")(function)  # one ISA level: such kernels are large
        place = 1 if function is compute_pi else 0
        ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
        compiled(*call[:place], np.random.default_rng(0), *call[place:])
        compiled.export(tmp_path / f"{function.__name__}_tuned")
        sys.path.insert(0, str(tmp_path))
        try:
            module = __import__(f"{function.__name__}_tuned")
        finally:
            sys.path.pop(0)
        entry = getattr(module, function.__name__)
        for _ in range(2):
            compare(entry(*call[:place], ours, *call[place:]), function(*call[:place], theirs, *call[place:]))
            assert ours.bit_generator.state == theirs.bit_generator.state
        with pytest.raises(TypeError, match="not a numpy.random.Generator on PCG64"):
            entry(*call[:place], np.random.RandomState(0), *call[place:])
    assert "rng_state" in (tmp_path / "rows_tuned" / "kernels.h").read_text()


GLOBAL_RNG = np.random.default_rng(5)


def test_a_generator_from_outside_is_none_of_a_module(tmp_path: Path) -> None:
    @tilewright.jit(strict=True)
    def outside(n: Any) -> Any:
        return GLOBAL_RNG.random(n)

    state = copy.deepcopy(GLOBAL_RNG)
    same_bits(outside(40), state.random(40))
    assert GLOBAL_RNG.bit_generator.state == state.bit_generator.state
    with pytest.raises(ExportError, match="Pass the generator as an argument"):
        outside.export(tmp_path / "outside_tuned")


def test_a_search_leaves_the_generator_alone(tmp_path: Path) -> None:
    compiled = tilewright.jit(strict=True, db=tmp_path / "db")(compute_pi)
    rng = np.random.default_rng(9)
    result = compiled.tune(20_000, rng, budget=20, trials=1)
    assert result.trials >= 1 and result.schedule
    assert rng.bit_generator.state == np.random.default_rng(9).bit_generator.state
    assert compiled(20_000, rng) == compute_pi(20_000, np.random.default_rng(9))


OUTSIDE = np.random.default_rng(3)
HELD = {"rng": OUTSIDE}


def of_the_module(x):
    return x + OUTSIDE.random(len(x))


def of_the_module_unread(x):
    y = x * 2
    OUTSIDE.random()
    return y


def in_a_dictionary(x):
    return x + HELD["rng"].standard_normal()


def of_a_default(x, rng=OUTSIDE):
    return x + rng.random()


def of_a_default_by_name(x, *, rng=OUTSIDE):
    return x + rng.random()


def in_the_list_of_a_default(x, rngs=[OUTSIDE]):  # noqa: B006
    return x + rngs[0].random()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("n", [5, 50_000])
@pytest.mark.parametrize(
    "function",
    [
        of_the_module,
        of_the_module_unread,
        in_a_dictionary,
        of_a_default,
        of_a_default_by_name,
        in_the_list_of_a_default,
    ],
)
def test_the_first_call_draws_once_from_a_generator_from_outside(function, n, strict):
    """That no argument holds: the comparison with NumPy has no copy of it."""
    compiled, x = tilewright.jit(function, strict=strict), np.arange(float(n))
    for _ in range(6):
        before = OUTSIDE.bit_generator.state
        given, behind = compiled(x), OUTSIDE.bit_generator.state
        OUTSIDE.bit_generator.state = before
        np.testing.assert_array_equal(given, function(x))
        assert behind == OUTSIDE.bit_generator.state


def in_a_branch(x, t):
    y = x * 2
    if x[0] > t:
        y = y + OUTSIDE.random()
    return y


def unread_in_a_branch(x, t):
    y = x * 2
    if x[0] > t:
        OUTSIDE.random()
    return y


def normal_in_a_branch(x, t):
    return x + HELD["rng"].standard_normal() if x[0] > t else x * 2


def one_or_two(x, t):
    if x[0] > t:
        return x + OUTSIDE.random()
    return x - OUTSIDE.random() * OUTSIDE.random()


def some_in_a_loop(x, t):
    total = 0.0
    for i in range(len(x)):
        if x[i] > t:
            total += OUTSIDE.random() * x[i]
    return total


def until_it_is_larger(x, t):
    i = 0
    while i < len(x) and x[i] < t:
        x[i] += OUTSIDE.random()
        i += 1
    return x * 2


def shuffled_in_a_loop(x, t):
    for i in range(len(x)):
        if x[i] > t:
            OUTSIDE.shuffle(x)
            break
    return x * 2


def by_a_short_circuit(x, t):
    return x * 2, bool(x[0] > t or OUTSIDE.random() < 0.5)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        in_a_branch,
        unread_in_a_branch,
        normal_in_a_branch,
        one_or_two,
        some_in_a_loop,
        until_it_is_larger,
        shuffled_in_a_loop,
        by_a_short_circuit,
    ],
)
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_a_generator_that_a_branch_or_a_loop_is_the_first_to_name(function, strict):
    compiled = tilewright.jit(function, strict=strict)
    for k in range(8):
        x, before = np.arange(5.0) - 2 + k % 3 * 2, OUTSIDE.bit_generator.state
        given, behind = compiled(x.copy(), 0.5), OUTSIDE.bit_generator.state
        OUTSIDE.bit_generator.state = before
        assert agree(given, function(x.copy(), 0.5), bits=False)
        assert behind == OUTSIDE.bit_generator.state
