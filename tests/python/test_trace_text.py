"""The program's text itself: names, guards, merging, what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.trace import Traced, trace
from trace_cases import GuardFailed, check, run_program

pytestmark = pytest.mark.fast

X = np.arange(12.0).reshape(4, 3)
V = np.arange(5.0)


def body(traced: Traced) -> list[str]:
    """The lines after the header, without line numbers."""
    lines = [line.rsplit(" @", 1)[0] for line in traced.program_text.splitlines()[2:]]
    return [line for line in lines if not line.startswith("arg ")]


def names(traced: Traced) -> list[str]:
    return [line.split(":")[0] for line in body(traced) if " = " in line and not line.startswith("%")]


def get_labels(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def test_kmeans_is_the_text_of_the_specification() -> None:
    traced = trace(get_labels, (X, X[:2]))
    line = get_labels.__code__.co_firstlineno + 1
    assert traced.program_text == (
        "tilewright-program 1\n"
        f'function get_labels "{__file__}"\n'
        "arg X: float64[X.0, X.1]\n"
        "arg means: float64[means.0, X.1]\n"
        f'guard means.0 >= 1 "attempt to get argmin of an empty sequence" @{line}\n'
        f"%1: float64[means.0, 1, X.1] = index(means) {{index=[0:1, newaxis, 0:1]}} @{line}\n"
        f"%2: float64[means.0, X.0, X.1] = subtract(X, %1) @{line}\n"
        f"%3: float64[means.0, X.0, X.1] = multiply(%2, %2) @{line}\n"
        f"norm: float64[means.0, X.0] = sum(%3) {{axes=[2]}} @{line}\n"
        f"%4: float64[means.0, X.0] = sqrt(norm) @{line}\n"
        f"argmin: int64[X.0] = argmin(%4) {{axis=0}} @{line}\n"
        "return argmin\n"
    )
    # A size of 1 or 0 is a constant of the program, under the argument's type.
    assert "arg means: float64[1, X.1]" in trace(get_labels, (X, X[:1])).program_text
    assert "arg X: float64[0, X.1]" in trace(get_labels, (X[:0], X[:2])).program_text


def test_a_guard_of_the_text_refuses_what_matches_refuses() -> None:
    traced = trace(get_labels, (X, X[:2]))
    for args in ((X, X[:0]), (X, X[:, :2])):
        assert not traced.matches(args)
        with pytest.raises(GuardFailed):
            run_program(traced, args)


def test_variables_name_stages_and_repeats_are_numbered() -> None:
    def f(x):
        dist = x * 2
        dist = dist + 1
        other = dist.sum(axis=0)
        dist = dist - other
        return dist.sum() + other.sum()

    assert names(check(f, X)) == ["dist", "dist_2", "other", "dist_3", "sum", "sum_2", "add"]


def test_values_used_twice_are_named_after_their_operation() -> None:
    def f(x):
        return np.sqrt(x) + 1, (np.exp(x) - 1) * np.exp(x)

    # What is returned is a stage as well.
    assert names(check(f, X)) == ["add", "exp", "multiply"]


def test_names_that_the_languages_reserve_and_names_of_arguments_are_avoided() -> None:
    def f(x, guard):
        x = x * guard
        space = x + 1
        return np.where(space > 3, space, x), space

    assert names(check(f, X, 2.0)) == ["x_2", "space_", "where_"]


def test_arguments_constants_and_views_are_never_stages() -> None:
    def f(x):
        first = x
        view = x[1:]
        two = np.float64(2.0)
        flat = view.reshape(-1)
        return (first[1:] * two).reshape(-1) + flat

    assert names(check(f, X)) == ["add"]


def test_equal_values_merge_and_dead_ones_go() -> None:
    def f(x):
        unused = np.exp(x) * 3  # noqa: F841
        return np.sin(x) * 2 + np.sin(x) * 2

    traced = check(f, X)
    assert traced.program_text.count("sin(") == 1 and "exp" not in traced.program_text
    assert traced.program_text.count("multiply(") == 1


def test_zeros_of_both_signs_and_nans_do_not_merge() -> None:
    def f(x):
        return np.copysign(x, 0.0), np.copysign(x, -0.0), x + np.nan, x - np.inf

    traced = check(f, V)
    for literal in ("value=0.0", "value=-0.0", "value=nan", "value=inf"):
        assert literal in traced.program_text


def test_a_weak_constant_is_rounded_to_the_dtype_once() -> None:
    traced = check(lambda x: x * 0.1, V.astype(np.float32))
    assert f"float32[] = const() {{value={float(np.float32(0.1))!r}}}" in traced.program_text


def test_sizes_are_written_in_one_way() -> None:
    def f(x):
        return x[1:-1] + x[2:] * x[: x.shape[0] - 2], x[::2].sum(), x[1::2].sum(), x[::-1] + 0

    text = check(f, V, others=[(np.arange(9.0),), (np.arange(2.0),), (np.arange(1.0),), (np.arange(0.0),)]).program_text
    for piece in (
        "float64[x.0 - 2]",
        "float64[(x.0 + 1) // 2]",
        "float64[x.0 // 2]",
        "{index=[x.0 - 1:-1]}",
        "guard x.0 >= 2",
    ):
        assert piece in text, piece


def test_equal_extents_take_one_symbol_and_scalars_give_way() -> None:
    def f(x, y, z, n):
        return x + y + z[1:] + np.zeros(n)

    traced = check(f, V, V, np.arange(6.0), 5)
    text = traced.program_text
    assert "arg y: float64[x.0]" in text and "arg z: float64[x.0 + 1]" in text and "guard n == x.0 " in text
    assert traced.matches((np.ones(8), np.ones(8), np.ones(9), 8))
    assert not traced.matches((np.ones(8), np.ones(8), np.ones(9), 7))
    assert not traced.matches((np.ones(8), np.ones(8), np.ones(8), 8))


def test_update_versions_follow_the_variable() -> None:
    def f(x):
        y = np.zeros_like(x)
        y[1:] = x[:-1]
        y[0] += 5
        y *= 2
        return y

    traced = check(f, V, others=[(np.arange(2.0),), (np.arange(1.0),)])
    assert names(traced) == ["y", "%", "y_2", "y_3"] or names(traced) == ["y", "y_2", "y_3"]
    assert "update(" in traced.program_text and "{index=[1:1]}" in traced.program_text


def test_a_scalar_that_is_fixed_is_a_constant_of_the_text() -> None:
    def f(x, a, n, flag):
        return x * a if flag and a > 1 else x[:n]

    traced = trace(f, (V, 2.5, 3, True))
    assert "scalar a" not in traced.program_text and "value=2.5" in traced.program_text
    assert "scalar n: int64" in traced.program_text


def test_messages_are_escaped() -> None:
    def f(x, k):
        return x[k] * 1.5

    text = check(f, V, 2, others=[(V, 4), (V, -1)]).program_text
    assert 'guard k >= 0 "' in text and "guard x.0 >= k + 1" in text


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "uint8"])
def test_the_oracle_would_notice_a_wrong_program(dtype: str) -> None:
    """The comparison can fail: a program with one operation changed is not NumPy's."""
    x = np.array([1, 0, 3], dtype)

    def f(x: Any) -> Any:
        return x.astype(np.float64) * 3 - 1

    traced = check(f, x)
    wrong = Traced(**{**vars(traced), "program_text": traced.program_text.replace("= subtract(", "= add(")})
    assert (run_program(wrong, (x,)) != f(x)).any()
