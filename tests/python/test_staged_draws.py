"""Random draws of any kind: NumPy's own bits, in its order, and the generator is left where NumPy leaves it."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.fast


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal_numbers(rng, n):
    return rng.standard_normal(5) * 2, rng.normal(0, 1, (n, 2)).sum(axis=0), rng.integers(0, 10, n)


def walk(rng, n):
    position, path = 0.0, np.zeros(n)
    for i in range(n):
        position = position + rng.normal()
        path[i] = position
    return path


def by_data(rng, n):
    total = 0.0
    for _ in range(n):
        if rng.random() < 0.5:
            total = total + rng.exponential()
    return total, rng.random()


def while_small(rng, n):
    tries = 0
    while rng.random() < 0.9:
        tries = tries + 1
    return tries


def annealed(rng, n):
    best = np.ones(n)
    energy = np.sum(best**2)
    for _ in range(20):
        other = best + rng.normal(size=n) * 0.1
        its = np.sum(other**2)
        if its < energy or rng.random() < np.exp(-(its - energy) * 10):
            best, energy = other, its
    return best, energy


def choices(rng, n):
    picked = rng.choice(n, size=n, replace=True)
    return picked * 2, rng.choice(np.arange(4.0)), rng.permutation(n), rng.random()


def of_several_kinds(rng, n):
    return rng.poisson(3.0, n), rng.binomial(10, 0.3), rng.multinomial(20, [0.2, 0.3, 0.5]), rng.dirichlet([1.0, 2], n)


def shuffled(rng, n):
    x = np.arange(n)
    rng.shuffle(x)
    rng.shuffle(x[1:3])
    return x


OWN = [normal_numbers, walk, by_data, while_small, annealed, choices, of_several_kinds, shuffled]


@pytest.mark.parametrize("function", OWN, ids=lambda function: function.__name__)
def test_a_generator_of_the_caller(function):
    for seed in (1, 2):
        check(function, rng(seed), 6, bits=False)


def made_from_a_seed(seed):
    rng = np.random.default_rng(seed)
    return rng.exponential(2.0, 4) + rng.random(4)


def old_generator(seed):
    state = np.random.RandomState(seed)
    return state.normal(size=3) + state.rand(3)


def old_generator_by_name(seed):
    state = np.random.RandomState(seed=seed)
    return state.normal(size=3)


def global_draws(n):
    return np.random.randn(n) + np.random.rand(n), np.random.randint(0, 5, size=n), np.random.choice(5)


def seeded_globally(n):
    np.random.seed(3)
    total = 0.0
    for _ in range(n):
        if np.random.rand() < 0.5:
            total = total + np.random.normal()
    return total


@pytest.mark.parametrize(
    "function",
    [made_from_a_seed, old_generator, old_generator_by_name, global_draws, seeded_globally],
    ids=lambda function: function.__name__,
)
def test_generators_of_the_function_and_numpys_own(function):
    check(function, 6)


def test_what_was_drawn_is_undone_where_numpy_runs_the_call():
    def refused(rng, x):
        noise = rng.standard_normal(x.size)
        if (x + noise).min() < -50:
            raise ValueError("too small")
        return x + noise

    check(refused, rng(), np.zeros(4))
    check(refused, rng(), np.full(4, -99.0), in_numpy=True)

    def refused_globally(x):
        noise = np.random.standard_normal(x.size)
        if x.min() < 0:
            raise ValueError("negative")
        return x + noise

    check(refused_globally, np.ones(4))
    check(refused_globally, -np.ones(4), in_numpy=True)


def ends_by_a_draw(rng, n):
    for _ in range(n):
        if rng.random() < 0.5:
            break
    return np.arange(3.0) * n


def of_one_way(rng, n):
    x = np.arange(3.0)
    if rng.random() < 0.5:
        x[0] = 1
    else:
        rng.normal(size=n)
    return x


def that_nobody_looks_at(rng, n):
    for _ in range(n):
        rng.normal()
    return np.arange(3.0) * n


def beside_a_list(rng, n):
    found = []
    for i in range(n):
        if rng.random() < 0.5:
            found.append(i)
    return found, rng.random(2)


def before_a_list(rng, n):
    found, x = [], np.arange(3.0)
    if rng.random() < 0.5:
        found.append(1.0)
    else:
        x[0] = 5
    return x, found


def beside_a_size_of_data(rng, n):
    x = np.arange(5.0)
    if rng.random() < 0.5:
        x = x[1:]
    return x * 2


@pytest.mark.parametrize("n", [0, 3, 80])
@pytest.mark.parametrize(
    "function",
    [ends_by_a_draw, of_one_way, that_nobody_looks_at, beside_a_list, before_a_list, beside_a_size_of_data],
    ids=lambda function: function.__name__,
)
def test_a_generator_moves_on_whoever_needs_what_was_drawn(function, n):
    for seed in range(3):
        check(function, rng(seed), n)


def test_global_draws_are_undone_where_a_result_sends_the_call_to_numpy():
    def chosen(x):
        kept = x
        if x.sum() > 0:
            kept = x * 2
        return kept, np.random.rand(2)

    compiled = check(chosen, np.ones(3))
    check(compiled, -np.ones(3), in_numpy=True)

    def in_a_dict(x):
        kept, drawn = chosen(x)
        return {"kept": kept, "drawn": drawn}

    compiled = check(in_a_dict, np.ones(3))
    check(compiled, -np.ones(3), in_numpy=True)


SAID, OF_SAID = [], np.random.default_rng(5)


def by_global_draws(x, i):
    y = x + np.random.gamma(2.0, 1.0, len(x))
    np.linalg.inv(np.zeros((2, 2)) * y[0] + np.eye(2) * (i < 100))
    return y


def by_effects(x, i):
    y = x + OF_SAID.gamma(2.0, 1.0, len(x))
    SAID.append("before")
    np.linalg.inv(np.zeros((2, 2)) * y[0] + np.eye(2) * (i < 100))
    print("behind")
    return y


@pytest.mark.parametrize("function", [by_global_draws, by_effects])
def test_what_a_stage_raises_comes_before_what_follows(function, capsys):
    """Its input and the result are of one kernel, which came last: behind effects that NumPy does not come to, and behind the end of
    what is undone, so that NumPy drew and appended once more."""
    found = []
    for called in (tilewright.jit(function), function):
        said: list[str] = []
        SAID.clear()
        np.random.seed(1)
        for k in range(7):
            try:
                y = called(np.arange(120.0), np.int64(3 if k < 4 or k % 2 else 5000))
                said.append(str(y.dtype))
            except np.linalg.LinAlgError:
                said.append("singular")
            said.append(f"{np.random.get_state()[2]} {len(SAID)}")
        found.append((said, capsys.readouterr().out))
    assert found[0] == found[1]
