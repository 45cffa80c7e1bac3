"""Results that are views: they share memory with arguments and with each other as NumPy's do, and lie as those lie."""

from __future__ import annotations

import collections
import copy
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in
from from_text import function_of
from numpy.lib.stride_tricks import sliding_window_view
from tilewright.symbolic.stages import ON_DEVICE
from tilewright.trace import trace

pytestmark = pytest.mark.compile

A = np.arange(24.0).reshape(4, 6) - 7
X = np.arange(9.0)
LAYOUTS = [A, np.asfortranarray(A), A[::-1, ::2], A[:0], A[:1, :1], np.repeat(A, 2, axis=0)[1::2]]


def arrays_in(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, Parts):
        return arrays_in([result.left, result.right])
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else ()
    return [array for part in parts for array in arrays_in(part)]


def shape_of(result: Any) -> Any:
    """All but the elements of arrays."""
    if isinstance(result, np.ndarray):
        return type(result), result.dtype, result.shape, result.flags.writeable
    if isinstance(result, Parts):
        return Parts, shape_of([result.left, result.right])
    if isinstance(result, dict):
        return {key: shape_of(part) for key, part in result.items()}
    if isinstance(result, (tuple, list)):
        return type(result), [shape_of(part) for part in result]
    return type(result), repr(result)


def strides(array: Any) -> list[int]:
    """Those that decide where an element is."""
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1] if array.size else []


def laid_alike(args: Sequence[Any]) -> list[Any]:
    """Copies in new memory that lie as the arrays do, and share what those share."""
    memory: dict[int, Any] = {}
    made = []
    for arg in args:
        if not isinstance(arg, np.ndarray):
            made.append(copy.deepcopy(arg))
            continue
        base = arg if arg.base is None else arg.base
        copied = memory.setdefault(id(base), base.copy(order="K"))
        offset = arg.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        made.append(copied if base is arg else np.ndarray(arg.shape, arg.dtype, copied, offset, arg.strides))
    return made


def same_memory(ours: Any, theirs: Any, our_args: Any = (), their_args: Any = ()) -> None:
    """What is written into any array of a call shows where it does in NumPy."""
    assert shape_of(ours) == shape_of(theirs)
    mine = [*arrays_in(ours), *arrays_in(list(our_args))]
    numpys = [*arrays_in(theirs), *arrays_in(list(their_args))]
    pairs = list(itertools.combinations(range(len(numpys)), 2))
    assert [mine[i] is mine[k] for i, k in pairs] == [numpys[i] is numpys[k] for i, k in pairs]
    assert [np.shares_memory(mine[i], mine[k]) for i, k in pairs] == [
        np.shares_memory(numpys[i], numpys[k]) for i, k in pairs
    ]
    given = arrays_in(list(their_args))
    for one, other in zip(mine, numpys, strict=True):
        np.testing.assert_array_equal(one, other)
        if any(np.shares_memory(other, arg) for arg in given):
            assert strides(one) == strides(other)
    for number, (one, other) in enumerate(zip(mine, numpys, strict=True)):
        if one.flags.writeable:
            one[...] = other[...] = 1000 * number + np.arange(other.size).reshape(other.shape)
            for written, wanted in zip(mine, numpys, strict=True):
                np.testing.assert_array_equal(written, wanted)


def check(function: Callable[..., Any], *calls: Sequence[Any], compiled: Any = None) -> Any:
    compiled = compiled or tilewright.jit(function, strict=True)
    for args in calls:
        for _ in range(2):
            ours, theirs = laid_alike(args), laid_alike(args)
            same_memory(compiled(*ours), function(*theirs), ours, theirs)
    return compiled


@dataclass
class Parts:
    left: Any
    right: Any


Pair = collections.namedtuple("Pair", "first second")


def transposed_and_sum(a):
    return a.T, a.sum()


def in_a_dict(a):
    return {"left": a[:, :1], "norm": np.sqrt((a * a).sum()), "all": a, "both": [a.T, a * 2]}


def in_a_dataclass(a):
    return Parts(a[1:], right=[a * 2, a[:1].T])


def in_a_named_tuple(a):
    b = a + 1
    return Pair(b[:, ::-1], (b[..., None], a.T[None]))


def written_later(a):
    w = a[:, ::2]
    a += 1
    v = a.T
    w *= 3
    return v, w, a


def written_before_alone(a):
    a[:] = a * 2
    return a[::-1]


def copied_where_numpy_copies(a):
    flat = a.ravel()
    return flat, flat[1:], a.reshape(-1), np.ascontiguousarray(a), a * 2


def one_view_twice(a):
    v = a[1:]
    return v, v, [v, a[1:]], a - 1


def views_of_what_is_computed(a):
    b = a * 2
    return b[0:1], b[1:], b.T, b[..., 0]


def the_whole_and_views(a):
    b = a * 2
    b[:1] = 5
    return b, b.T, b[::-1, ::-2], b[1:, None]


def views_of_views(a):
    b = a - 1
    c = b[::-1]
    d = c.T[::2]
    return d, c, d[..., None], b[:, :2]


def whole_by_another_name(a):
    b = a * 2
    return a.sum(), [part[...] for part in (b[:1, :1], b)], b[:1, None]


def half(a):
    n = len(a) // 2
    b = a + 1
    return a[:n], a[n:], a[-n:], a[n::-1], a[: -n - 1], b[n:], b[: n + 1]


@pytest.mark.parametrize(
    "function",
    [transposed_and_sum, in_a_dict, in_a_dataclass, in_a_named_tuple, written_later, written_before_alone,
     copied_where_numpy_copies, one_view_twice, views_of_what_is_computed, the_whole_and_views, views_of_views,
     whole_by_another_name, half],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_views_of_arguments_and_of_what_is_computed(function: Any) -> None:
    check(function, *((a,) for a in LAYOUTS))


def an_element_of_no_dimensions(a):
    return a[0, ...], a[-1, -1, ...], a * 2


def test_an_array_of_no_dimensions_is_a_view() -> None:
    check(an_element_of_no_dimensions, (A,), (A.T,), (A[1:2, :1],))


STEPS = ["[::-1]", "[1:]", "[:-1]", "[::2]", "[::-2]", "[-2:]", "[5:1:-2]", "[1:1]", "[None]", "[..., None]", "[k:]",
         "[:k]", "[-k::-1]", "[k::-2]", "[:len(a) // 2]", ".T", "[-1]", "[k - 1, ...]", ".swapaxes(0, -1)"]  # fmt: skip


def is_taken(text: str, *calls: tuple[Any, int]) -> bool:
    """By NumPy, of each of these."""
    try:
        return all(isinstance(eval(text, {"a": a, "k": k}), np.ndarray) for a, k in calls)
    except IndexError:
        return False


@pytest.mark.parametrize("first", STEPS)
def test_chains_of_views(first: str) -> None:
    """Of an argument and of a computed array: each behind each, of one of the two."""
    cube = np.arange(120.0).reshape(4, 5, 6)
    calls = (cube, 2), (cube[::-1, :, ::2], 1), (cube.T, 3)
    seconds = [step for step in STEPS if is_taken(f"a{first}{step}", *calls)]
    assert len(seconds) > len(STEPS) - 3
    text = f"def f(a, k):\n    b = a * 2\n    v, w = a{first}, b{first}\n    return v, w, b"
    chains = "".join(
        f", {view}{step}" for step, view in one_in(2, seconds, ["v", "w"] if STEPS.index(first) % 2 else ["w", "v"])
    )
    check(function_of(f"{text}{chains}\n"), *calls)


def of_two(x, y):
    return x[::2], y[1:], x * 2 + y[0]


def test_one_argument_twice_and_arguments_that_overlap() -> None:
    compiled = check(of_two, (X, X), (X[1:], X[:-1]), (X, X + 1))
    x = X.copy()
    left, right, _ = compiled(x, x)
    left[1] = 77
    assert right[1] == 77 == x[2]


G = np.arange(5.0)


def of_a_global(x):
    return G[1:], x + 1, x[:0]


def of_a_list_of_arrays(arrays):
    return [each[::-1] for each in arrays], arrays[0].sum()


def test_arrays_from_outside_and_in_lists() -> None:
    compiled = tilewright.jit(of_a_global, strict=True)
    for _ in range(2):
        assert compiled(X)[0].base is G
    several = tilewright.jit(of_a_list_of_arrays, strict=True)
    for _ in range(2):
        given = [X.copy(), A[:, 0].copy()]
        views, _ = several(given)
        assert [view.base is one for view, one in zip(views, given, strict=True)] == [True, True]


def begins_where_data_say(x):
    i = int(np.argmax(x > 3))
    s = np.sort(x)
    return x[i:], x[:i], s[i:], s[: i + 1], x.sum()


def picked_out(x):
    s = x[x > 2]
    return s, s[::-1], s[1:3], len(s)


def overlapping_parts_of_what_is_picked_out(x):
    s = x[x > 2] * 2
    return s[:3], s[1:], s[::2]


def filled(x):
    out = np.zeros(x.size)
    k = 0
    for v in x:
        if v > 2:
            out[k] = v * 2
            k += 1
    return out[:k], out[k:], out[::-1]


def filled_alone(x):
    out = np.zeros(x.size)
    k = 0
    while k < x.size and x[k] < 5:
        out[k] = x[k]
        k += 1
    return out[:k]


@pytest.mark.parametrize(
    "function",
    [begins_where_data_say, picked_out, overlapping_parts_of_what_is_picked_out, filled, filled_alone],
    ids=lambda function: function.__name__,
)
def test_views_that_data_decide(function: Any) -> None:
    check(function, (X,), (X[::-1],), (np.array([5.0, 1, 7, 9, 3]),), (np.array([1.0]),), (np.array([4.0, 4.0]),))


def beside_a_stage(x):
    y = np.sort(x)
    return y[1:], y[:-1], np.unique(x), x[2:]


def test_views_of_what_numpy_computes() -> None:
    check(beside_a_stage, (X,), (X[::-1],))


def parts_of_an_argument(z):
    w = z.real
    w += 1
    return w, z.imag[::2], z.T.real, [z[1:].imag, z * 2]


def parts_of_what_is_computed(z):
    w = z * 2
    w.real[0] = 3
    return w, w.real, w.imag[1:], w[1:]


def parts_alone(z):
    w = z * 2
    return w.real, w.imag


def a_part_of_a_part(z):
    w = (z + 1).real
    return w, w[::-1], np.real(z), z[z.real > 2]


def parts_of_what_is_picked_out(z):
    s = z[z.real > 2]
    u = np.unique(z)
    return s.real[::2], s.imag, u.real, u, z[z.imag > 3][:2]


def a_part_beside_what_is_picked_out(z):
    s = z[z.real > 2]
    return s.real, s


def test_a_part_beside_what_a_mask_picks_out_is_numpys() -> None:
    z = X + 1j
    with pytest.raises(tilewright.TraceError, match="it returns several views of one array"):
        tilewright.jit(a_part_beside_what_is_picked_out, strict=True)(z)


def parts_of_what_a_branch_chose(z):
    w = z
    if z.reshape(-1)[0].real > 3:
        w = z * 2
    return w.real, z.imag + 1


@pytest.mark.parametrize(
    "function",
    [
        parts_of_an_argument,
        parts_of_what_is_computed,
        parts_alone,
        a_part_of_a_part,
        parts_of_what_is_picked_out,
        parts_of_what_a_branch_chose,
    ],
    ids=lambda function: function.__name__,
)
def test_real_and_imaginary_parts(function: Any) -> None:
    z = X + 1j * X[::-1]
    check(function, (z,), (z[::-2],), (z.astype(np.complex64),))
    if function not in (a_part_of_a_part, parts_of_what_is_picked_out):
        check(function, (z.reshape(3, 3).T,))


def diagonals(a):
    c = a @ a.T
    return np.diag(c), c, np.diagonal(c, 1)[::-1], np.diag(a), np.sqrt(np.diag(c))


def a_diagonal_alone(a):
    return np.diag(a * 2)


def broadcast(a):
    b = a[0] * 2
    return np.broadcast_to(b, (len(a), 2, b.size)), b, np.broadcast_to(a, (2, *a.shape)), a.sum()


def of_a_number(a):
    b = np.asarray(a.sum())
    return np.broadcast_to(b, a.shape), b[None], b


def a_number_in_many_places(a):
    count = np.broadcast_to(np.float64(len(a) - 1), a.shape[0])
    return count, count[::2], np.broadcast_to(a.max(), (2, 3)), a * 2


def windows(a):
    b = a[:, 0] * 2
    return sliding_window_view(b, 2), b[1:], sliding_window_view(a, (2, 1)), sliding_window_view(a, len(a) // 2, axis=0)


def taken_before_writes(a):
    d, w = np.diagonal(a), sliding_window_view(a, 2, axis=1)
    a += 1
    z = a + 1j
    r, q = z.real, np.diagonal(z.imag)
    z *= 2j
    return d, w, r, q, a.sum()


def taken_before_a_loop_that_writes(a):
    z = a + 1j
    r = z.imag
    for i in range(len(a)):
        z[i] = i * (1 + 1j)
    return r


def bits(a):
    b = a * 2
    return b.view(np.int64), b, a.view(np.uint64)[1:]


@pytest.mark.parametrize(
    "function",
    [
        diagonals,
        a_diagonal_alone,
        broadcast,
        of_a_number,
        a_number_in_many_places,
        windows,
        taken_before_writes,
        taken_before_a_loop_that_writes,
        bits,
    ],
    ids=lambda function: function.__name__,
)
def test_views_that_nobody_may_write_and_of_other_types(function: Any) -> None:
    check(function, (A,), (A[::-1],), (A.T,), (np.repeat(A, 2, axis=0)[1::2],))


def test_a_part_of_a_part_is_not_read_after_the_whole_was_written() -> None:
    def diagonal_of_a_part(a):
        z = a + 1j
        q = np.diagonal(z.real)
        z *= 2
        return q + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = tilewright.jit(diagonal_of_a_part)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(A), diagonal_of_a_part(A))


def drawn(x, rng):
    y = x + rng.random(x.size)
    return y, y[::2], x[1:]


def test_views_beside_draws() -> None:
    check(drawn, (X, np.random.default_rng(3)))


def raises(x, k):
    x[k] = 5
    y = x[1:]
    return y, x.sum()


def test_errors_are_numpys() -> None:
    compiled = check(raises, (X, 2))
    with pytest.raises(IndexError):
        compiled(X.copy(), 20)


def test_later_calls_are_found_without_python() -> None:
    for function in (transposed_and_sum, the_whole_and_views, in_a_dict):
        compiled = tilewright.jit(function, strict=True)
        large = np.arange(90_000.0).reshape(300, 300)
        compiled(large)
        before = compiled.misses
        for _ in range(3):
            compiled(large)
        assert compiled.misses == before, function.__name__


def test_memory_maps_stay_memory_maps(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "a", np.float64, "w+", shape=(4, 6))
    view, _ = tilewright.jit(transposed_and_sum, strict=True)(mapped)
    assert type(view) is np.memmap and np.shares_memory(view, mapped)


def test_out_takes_what_views_show() -> None:
    compiled = tilewright.jit(of_two, strict=True)
    for _ in range(2):
        out = np.zeros(5), np.zeros(8), np.zeros(9)
        made = compiled(X, X, out=out)
        assert all(one is other for one, other in zip(made, out, strict=True))
        for one, other in zip(out, of_two(X, X), strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_may_be_a_copy_is_numpys() -> None:
    """Whether a reshape of what is computed shares its memory, arguments of another layout decide."""

    def flat(a):
        b = a * 2
        return b, b.reshape(-1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = tilewright.jit(flat)
        compiled(A.T)
    for a in (A, np.asfortranarray(A)):
        ours, theirs = compiled(a), flat(a)
        assert np.shares_memory(*ours) == np.shares_memory(*theirs)
        same_memory(ours, theirs)


def test_views_of_two_objects_are_refused_for_devices() -> None:
    def views(a):
        return a[1:], a.sum()

    def computed(a):
        b = a * 2
        return b, b[1:]

    assert trace(views, (A,), untaken=ON_DEVICE).fallback_reason == "it returns a view of a"
    assert trace(computed, (A,), untaken=ON_DEVICE).fallback_reason == "it returns several views of one array"
    assert trace(views, (A,)).fallback_reason is trace(computed, (A,)).fallback_reason is None


def for_a_module(x, k, reverse):
    y = x * 2
    return x[k:], y, y[::-1] if reverse else y[1:], x.size, None


def test_modules_give_the_same_views(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    compiled = tilewright.jit(for_a_module, strict=True)
    for reverse in (True, False):
        compiled(X, 2, reverse)
    compiled.export(tmp_path / "for_a_module_tuned", targets=("x86-64-v3",))
    own = __import__("for_a_module_tuned").for_a_module
    check(for_a_module, (X, 2, True), (X[::-1], 1, False), (X[::2], 3, True), compiled=own)
    assert own.__doc__ is None or "view of x" in own.__doc__
    with pytest.raises(TypeError, match="take no out"):
        own(X, 2, True, out=X)
    stub = (tmp_path / "for_a_module_tuned" / "__init__.pyi").read_text()
    assert "-> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int, None]" in stub
    assert "(view of x, float64[:], view of float64, int, None)" in stub


def test_a_module_gives_tuples(tmp_path: Any) -> None:
    compiled = tilewright.jit(in_a_dataclass, strict=True)
    compiled(A)
    with pytest.raises(tilewright.ExportError, match="it returns more than that"):
        compiled.export(tmp_path / "in_a_dataclass_tuned")


def test_searches_compare_what_views_show() -> None:
    for function in (half, the_whole_and_views, begins_where_data_say):
        compiled = tilewright.jit(function, strict=True)
        args = (A,) if function is not begins_where_data_say else (X,)
        result = compiled.tune(*args, budget=2, trials=2)
        assert result.complete
        check(function, args, compiled=compiled)


def test_debug_follows_views() -> None:
    for function in (half, the_whole_and_views):
        report = tilewright.jit(function, strict=True).debug(A)
        assert not report.place, str(report)
