"""Which statements Python runs together where one of them cannot be followed, and what it may be handed and give."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import tilewright
from tilewright import effects
from tilewright.ops.seen_stages import is_function

pytestmark = pytest.mark.compile

X = np.arange(12.0).reshape(3, 4)


def pieces_of(x):
    found = np.unique(x)
    return [slice(int(a), int(b)) for a, b in zip(found, found[1:])]  # noqa: B905, RUF007


def set_on_each_way_but_one_that_raises(x, kind):
    if kind == "all":
        pieces = pieces_of(x.ravel())
    elif kind == "first":
        pieces = pieces_of(x[0])
    else:
        raise ValueError(kind)
    out = np.zeros(len(pieces))
    for k, piece in enumerate(pieces):
        out[k] = x.ravel()[piece].sum()
    return out


def parameter_with_another_value(x, pieces=None):
    pieces = pieces_of(x[0]) if pieces is None else pieces[1]
    total = 0.0
    for piece in pieces:
        total += x.ravel()[piece].sum()
    return x * total


def own_keywords(x, **options):
    scale = options.get("scale", 2.0) + ("more" in options)
    y = x * scale
    pieces = pieces_of(x[0])
    options["pieces"] = len(pieces)
    options.setdefault("more", 1)
    found = sorted(options), [*pieces]
    return y, found


def own_keywords_that_others_have(x, **options):
    kept = [options]
    pieces = pieces_of(x[0])
    options["pieces"] = len(pieces)
    return x + len(kept[0]), sorted(options)


def every_variable(x):
    pieces = pieces_of(x[0])
    y = x * 2
    return [*pieces], y, sorted(locals()), sorted(vars()), dir()


class Found(dict):
    """With attributes, as scipy.optimize has them."""


def one_memory(x):
    pieces = pieces_of(x[0])
    simplex = np.array([x[0][one] for one in pieces])
    found = Found(all=simplex, best=simplex[0], again=simplex, pieces=pieces)
    found.itself = [found["pieces"]]
    return found


def number_of_either_type(x):
    n = max(4, 2 ** np.ceil(np.log2(x.size)).astype(int))
    y = np.fft.fft(x.ravel(), n)
    return np.abs(y), [str(n)]


def defined_on_a_way(x, kind="slow"):
    if kind == "slow":

        def apply(v):
            return float(sorted([*v])[0])

    else:
        apply = np.min
    y = x * 2.0
    pieces = pieces_of(x[0])
    return y, {str(one): apply(x[0][one]) for one in pieces}


def imports_inside(x):
    from itertools import chain as joined  # noqa: PLC0415

    y = x * 2.0
    pieces = pieces_of(x[0])
    return y, list(joined(pieces, [slice(2)]))


def handed_a_slice(x, backward=False):
    order = slice(None, None, -1) if backward else slice(None)
    y = x * 2.0
    first = np.array(x[0][order])
    second = first[1:]
    third = second * 1.0
    pieces = pieces_of(third)
    return Found(first=first, second=second, third=third[:2], order=order, y=y, pieces=pieces)


def outcome(function, args, kwargs):
    try:
        return repr(function(*args, **kwargs))
    except (ValueError, KeyError) as error:
        return repr(error)


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (set_on_each_way_but_one_that_raises, [((X, "all"), {}), ((X, "first"), {})]),
        (parameter_with_another_value, [((X,), {}), ((X, {1: [slice(1, 3)]}), {})]),
        (own_keywords, [((X,), {}), ((X,), {"scale": 3.0}), ((X,), {"more": 2, "words": 1})]),
        (own_keywords_that_others_have, [((X,), {}), ((X,), {"a": 1.0})]),
        (every_variable, [((X,), {})]),
        (one_memory, [((X,), {}), ((X[:2],), {})]),
        (defined_on_a_way, [((X,), {}), ((X, "fast"), {})]),
        (imports_inside, [((X,), {})]),
        (handed_a_slice, [((X,), {}), ((X, True), {})]),
        (number_of_either_type, [((X[0],), {}), ((X[0, :3],), {}), ((X,), {})]),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_results_are_pythons(function, calls, strict):
    compiled = tilewright.jit(function, strict=strict)
    for args, kwargs in calls:
        for _ in range(10):
            expected = outcome(function, args, dict(kwargs))
            try:
                assert outcome(compiled, args, dict(kwargs)) == expected
            except tilewright.TraceError:
                assert strict and function in (every_variable, own_keywords_that_others_have, one_memory)
                break


@pytest.mark.parametrize(
    "function",
    [
        set_on_each_way_but_one_that_raises, parameter_with_another_value, own_keywords, defined_on_a_way, imports_inside, handed_a_slice,
        number_of_either_type,
    ],
)  # fmt: skip
def test_they_are_compiled(function):
    compiled = tilewright.jit(function, strict=True)
    args = (X, "all") if function is set_on_each_way_but_one_that_raises else (X,)
    for _ in range(12):
        compiled(*args)
    assert compiled.specializations and not compiled.refusals


def behind(x):
    y = x * 2.0
    found = one_memory(x)
    return y, found


def test_what_an_object_has_twice_stays_one():
    compiled = tilewright.jit(behind, strict=True)
    for _ in range(8):
        y, found = compiled(X)
        assert found["all"] is found["again"] and found["best"].base is found["all"]
        assert found.itself[0] is found["pieces"]
        assert not np.shares_memory(y, found["all"])
    assert compiled.specializations


def two_of_one_memory(x):
    y = x * 2.0
    pieces = pieces_of(x[0])
    simplex = np.array([x[0][one] for one in pieces])
    first, second = Found(a=simplex, pieces=pieces), Found(b=simplex[1:])
    return y, first, second


def memory_of_the_callers(x):
    y = x * 2.0
    pieces = pieces_of(x[0])
    return y, Found(a=x[1:], pieces=pieces)


def views_in_a_dict(x):
    y = x * 2.0
    pieces = pieces_of(x[0])
    simplex = np.array([x[0][one] for one in pieces])
    return y, {"a": simplex, "b": simplex[1:], "pieces": pieces}


@pytest.mark.parametrize("function", [two_of_one_memory, memory_of_the_callers, views_in_a_dict])
def test_memory_that_others_have_stays_theirs(function):
    compiled = tilewright.jit(function)
    for _ in range(12):
        _, *found = compiled(X)
        arrays = [X, *(one for held in found for one in held.values() if isinstance(one, np.ndarray))]
        assert any(np.shares_memory(one, other) for one, other in itertools.combinations(arrays, 2))


@functools.lru_cache
def named(x):
    return x


def test_objects_that_are_called_as_functions_of_a_module():
    assert is_function(named)
    assert not is_function(functools.lru_cache(pieces_of))
    assert not is_function(functools.partial(pieces_of))
    assert not is_function(Found())


def raises_in_a_part(x, limit):
    y = x * 2.0
    pieces = pieces_of(x[0])
    if len(pieces) > limit:
        raise ValueError(f"{len(pieces)} pieces")
    return y, [*pieces]


def test_strict_functions_raise_their_own_errors_however_often():
    compiled = tilewright.jit(raises_in_a_part, strict=True)
    for _ in range(12):
        with pytest.raises(ValueError, match="3 pieces"):
            compiled(X, 2)
    for _ in range(6):
        assert repr(compiled(X, 5)) == repr(raises_in_a_part(X, 5))


def test_statements_that_nobody_looks_for_any_more_count_for_none_that_calls_do_not_come_to(monkeypatch):
    watched = [0]
    monkeypatch.setattr(effects, "times_watched", lambda root: watched[0])

    def part():
        """Statements, as a function."""

    part.__tilewright_part__ = part.__code__
    root, longer, shorter = drawn.__code__, ((30, -5, 48, 51),), ((30, -5, 33, 56),)
    assert not effects.ask(part, longer, root)
    assert not effects.ask(part, shorter, root)  # of another trace: from now on the longer ones are not looked for
    watched[0] = 2
    assert not effects.ask(part, longer, root)
    watched[0] = 4
    assert effects.ask(part, longer, root)


def drawn():
    """Whose calls are watched."""
