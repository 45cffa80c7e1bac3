"""Every kind of value, through every way in: a call with another one is NumPy's call with that one."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in
from outside_kinds import KINDS, WAYS, function_of

pytestmark = pytest.mark.compile

X = np.linspace(0.25, 1.75, 3000)
# What NumPy runs: what is drawn, taken out or read of it is another matter at each call.
IN_NUMPY = {"iterator", "memoryview"}


def copied(value: Any) -> Any:
    """Of what a call changes."""
    if isinstance(getattr(value, "__self__", None), np.random.Generator):
        return getattr(copy.deepcopy(value.__self__), value.__name__)
    return copy.deepcopy(value) if type(value).__name__ in ("Generator", "list_iterator") else value


def answer(call: Any, v: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilewright.FallbackWarning)
        try:
            return call(X, v)
        except Exception as error:  # noqa: BLE001 - the same error is the same answer
            return type(error)


def assert_same(got: Any, expected: Any) -> None:
    if isinstance(expected, type):
        assert got is expected
        return
    assert type(got) is type(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    assert np.asarray(got).shape == np.asarray(expected).shape
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    if np.asarray(got).dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize(("kind", "way"), one_in(8, KINDS, WAYS))
def test_another_value_is_another_answer(kind: str, way: str, tmp_path: Any) -> None:
    _, first, second = KINDS[kind]
    own, numpys = copied(first), copied(second)
    jitted = function_of(tmp_path, kind, way, tilewright.jit)
    plain = function_of(tmp_path, kind, way, None)
    for mine, theirs in ((first, own), (second, numpys), (first, own), (second, numpys)):
        assert_same(answer(jitted.call, mine), answer(plain.call, theirs))
    draws_in_a_region = kind.startswith("random generator") and "first in" in way
    if kind not in IN_NUMPY and not draws_in_a_region:
        assert jitted.f.specializations, jitted.f.explain(source=False)
