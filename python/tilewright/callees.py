"""Functions that Python calls between kernels without a row that says what they give: that is seen once, and kept.

A call of such a function that a trace comes across for the first time makes the call of the traced function a watched one:
it runs as plain Python, and each function that it calls is looked at when it returns. So nothing runs twice.
"""

from __future__ import annotations

import collections
import functools
import itertools
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays_held import arrays_held
from .described_results import (
    Seen,
    common_to,
    described_result,
    described_variables,
    given_back,
    is_part,
    pieces_of,
    with_shared,
)
from .held_elsewhere import handed_containers, held_elsewhere, kept_of, references, refuse_containers
from .kinds_of_values import arrays_in, containers_in, kind_of_value
from .outside_values import Variable, outside_of, same_bytes
from .reached_arrays import copies_of, may_write, reached_by


class NotSeen(Exception):  # noqa: N818 - the message is another exception's
    """What a call of this kind gives is not known yet. `is_handed_others`: traces have asked for it, and the calls that were
    seen there since were of another kind."""

    def __init__(self, key: Any, is_handed_others: bool) -> None:
        super().__init__()
        self.key, self.is_handed_others = key, is_handed_others


# (the function, what its arguments are like) -> its results: Array, bool, int, float, tuples and lists of those; or a text
# that says why they are no stage's. Of a function that is not known to be pure: Seen.
_SEEN: dict[Any, Any] = {}
# Calls that were looked at, by the function and the way to it.
_CALLED: collections.Counter[Any] = collections.Counter()
# How many they were when a trace asked for such arguments last, and how often they were others since it had asked before.
_ASKED: dict[Any, tuple[int, int]] = {}
_LEAST_IN_VAIN = 2
# Python's functions with what their arguments are like -> why they were no stage, and how often in a row, wherever they were
# called. Looking costs more than most calls, and collects garbage.
_NO_STAGE: dict[Any, tuple[str, int]] = {}
_SURELY_NONE = 3


def seen(function: Any, args: Sequence[Any], kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Any:
    """What such a call gave. NotSeen, or TypeError with the reason where it is no stage."""
    key = _key(function, args, kwargs, kind_of)
    if key not in _SEEN:
        called = _CALLED[key[0]]
        before, in_vain = _ASKED.get(key, (called, 0))
        _ASKED[key] = called, in_vain + (called > before)
        raise NotSeen(key, _ASKED[key][1] >= _LEAST_IN_VAIN)
    found = _SEEN[key]
    if isinstance(found, str):
        raise TypeError(found)
    return found


def watching(
    function: Callable[..., Any], watched: Callable[..., Any], looked: Callable[[float], None]
) -> Callable[..., Any]:
    """The function, with a look at what it gives. `watched`: itself, or one that looks at its calls. `looked` gets the
    seconds that a look took."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = watched(*args, **kwargs)
        begun = time.perf_counter()
        look(result, args, kwargs)
        looked(time.perf_counter() - begun)
        return result

    def look(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            key = _key(function, args, kwargs, kind_of_value)
        except TypeError:
            return  # no trace has such arguments
        try:
            found = described_result(result, list(arrays_in((args, kwargs))))
            refuse_shared(list(arrays_in(result)))
            _keep(key, found)
        except TypeError as error:
            _SEEN[key] = str(error)

    return call


def contents_of(arguments: Any) -> list[tuple[Any, Any]]:
    """Each of those, and a copy of it."""
    return [(one, one.copy()) for one in containers_in(arguments)]


def are_changed(contents: Sequence[tuple[Any, Any]]) -> bool:
    """Whether any of them has another item now."""

    def items(one: Any) -> list[Any]:
        return [part for pair in one.items() for part in pair] if isinstance(one, dict) else list(one)

    return any(
        len(now) != len(before) or any(a is not b for a, b in zip(items(now), items(before), strict=True))
        for now, before in contents
    )


def written_of(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """Which arrays have other bytes than before."""
    return [
        k
        for k, (one, other) in enumerate(zip(before, after, strict=True))
        if isinstance(one, np.ndarray) and not same_bytes(one, other)
    ]


def forms_of(arrays: Sequence[Any]) -> list[Any]:
    """What may be changed of arrays beside their bytes."""
    return [(one.shape, one.dtype, one.flags.writeable) for one in arrays if isinstance(one, np.ndarray)]


_MOST_PIECES = 64  # arrays and numbers that one call gives


def refuse_shared(results: Sequence[Any]) -> None:
    """TypeError where two of them have memory in common: what is written into one is in the other."""
    arrays = [one for one in results if isinstance(one, np.ndarray)]
    if any(itertools.starmap(_share, itertools.combinations(arrays, 2))):
        raise TypeError("two of its results share memory")


def _share(one: Any, other: Any) -> bool:
    """Columns of one array share no element: np.nonzero() gives such."""
    try:
        return np.shares_memory(one, other, max_work=1000)  # type: ignore[arg-type]  # so many candidates
    except np.exceptions.TooHardError:
        return True


def watching_effects(  # noqa: PLR0917
    function: Any,
    watched: Callable[..., Any],
    way: Any,
    around: Sequence[Any],
    looked: Callable[[float], None],
    is_worth_it: Callable[[int], bool] = lambda _: True,
) -> Callable[..., Any]:
    """What stands for a function that is called on that way, with a look at what it gives and writes. `watched`: itself, or
    one that looks at its calls. `around`: the functions that are compiled, whose variables outside are looked at too.
    `looked` gets the seconds that a look took. `is_worth_it`: whether to look at a call that is handed so many bytes."""

    # Classes may refuse to be looked into in any way of their own: the call itself is made as ever.
    def call(*args: Any, **kwargs: Any) -> Any:
        key = before = None
        begun = time.perf_counter()
        try:
            key = _key((function, way), args, kwargs, kind_of_value)
            why, times = _NO_STAGE.get(_anywhere(key), ("", 0))
            if times >= _SURELY_NONE:
                raise TypeError(why)
            arrays = list(arrays_in((args, kwargs)))
            if is_worth_it(sum(getattr(one, "nbytes", 0) for one in arrays)):
                copies = [np.array(one) for one in arrays]
                contents, outside = contents_of((args, kwargs)), outside_of(around)
                handed = handed_containers((args, kwargs))
                held = references(arrays), references(handed)
                reached = reached_by(function)
                found = reached, copies_of(reached)
                before = arrays, handed, held, copies, forms_of(arrays), contents, outside, found
        except Exception as error:  # noqa: BLE001
            if key is not None:
                _SEEN[key] = str(error)
        took_s = time.perf_counter() - begun
        results = [watched(*args, **kwargs)]  # no other reference
        begun = time.perf_counter()
        if before is not None:
            _CALLED[function, way] += 1
            try:
                _keep(key, seen_of(results, *before))
                _NO_STAGE.pop(_anywhere(key), None)
            except Exception as error:  # noqa: BLE001
                _SEEN[key] = str(error)
                _count_as_none(key, str(error))
        looked(took_s + time.perf_counter() - begun)
        return results[0]

    def seen_of(  # noqa: PLR0917
        results: list[Any], arrays: list[Any], handed: list[Any], held: Any, copies: list[Any], forms: Any, contents: Any,
        outside: dict[Variable, Any], reached: tuple[list[Any], list[Any]],
    ) -> Seen:  # fmt: skip
        if forms_of(arrays) != forms:
            raise TypeError("it changes the shape, the dtype or the flags of an array that it is handed")
        written = tuple(written_of(copies, arrays))
        if are_changed(contents):
            raise TypeError("it changes a list or dict that it is handed")
        after = outside_of(around)
        changed = tuple(variable for variable, state in outside.items() if after.get(variable) != state)
        describe = described_variables if is_part(function) else functools.partial(described_result, is_pure=False)
        gives = describe(results[0], arrays)
        pieces = pieces_of(results[0], gives, arrays)
        inside = arrays_held(results[0], gives, [*arrays, *pieces])
        refuse_containers(results, 1, inside, _OLDEST)
        if len(pieces) > _MOST_PIECES:
            raise TypeError(f"it gives {len(pieces)} results")
        refuse_shared(pieces)
        shared = held_elsewhere(pieces, _OLDEST)
        if not all(pieces[k].flags.c_contiguous for k in shared):
            raise TypeError("it gives an array that is held elsewhere too, and is not C-contiguous")
        kept = kept_of(arrays, held[0], given_back(gives), _OLDEST)
        if kept_of(handed, held[1], collections.Counter(), _OLDEST):
            raise TypeError("it keeps a list, a tuple or a dict that it is handed")
        gives = with_shared(gives, iter([k in shared for k in range(len(pieces))]))
        writes = any(copy is not None and not same_bytes(one, copy) for one, copy in zip(*reached, strict=True))
        return Seen(gives, written, changed, kept, writes or may_write(function))

    return call


_OLDEST = 2  # generation of garbage


def _anywhere(key: Any) -> Any:
    """The key of such calls of a function, whatever the way to them."""
    (function, _), *kinds = key
    return function, *kinds


def _count_as_none(key: Any, why: str) -> None:
    function, *_ = anywhere = _anywhere(key)
    if isinstance(function, types.FunctionType) and not is_part(function):
        before, times = _NO_STAGE.get(anywhere, (why, 0))
        _NO_STAGE[anywhere] = why, times + 1 if before == why else 1


def _key(function: Any, args: Sequence[Any], kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Any:
    key = function, tuple(map(kind_of, args)), tuple((name, kind_of(value)) for name, value in kwargs.items())
    hash(key)
    return key


def _keep(key: Any, found: Any) -> None:
    """What one more call gave, of which only that is known which held of all."""
    for one in {key, _of_any_truth(key)}:
        before = _SEEN.get(one)
        _SEEN[one] = found if before is None else common_to(before, found)


def _of_any_truth(key: Any) -> Any:
    """The key of such calls where a bool is known only in the run: elsewhere its value is an option."""
    if type(key) is tuple:
        is_truth = len(key) == 2 and key[0] is bool and type(key[1]) is bool  # noqa: PLR2004
        return bool if is_truth else tuple(map(_of_any_truth, key))
    return key
