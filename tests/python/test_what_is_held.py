"""A jitted function holds no argument and no error of a call behind it, and none waits for Python's collector of cycles."""

from __future__ import annotations

import contextlib
import gc
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def compiled(x: Any) -> Any:
    return x * 2


def view(x: Any) -> Any:
    return x[1:]


def left_to_numpy(x: Any) -> Any:
    return np.shares_memory(x, x)


def refused(x: Any) -> Any:
    return eval("x*2") if x.ndim else 0


def yields(x: Any) -> Any:
    yield x


def raises(x: Any) -> Any:
    raise ValueError(f"{x.ndim} dimensions")


def raises_for_data(x: Any) -> Any:
    if x[0] == 0:
        raise ValueError("it is 0")
    return x * 2


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "function", [compiled, view, left_to_numpy, refused, yields, raises, raises_for_data], ids=lambda one: one.__name__
)
def test_nothing_of_a_call_is_held(function: Callable[..., Any], strict: bool) -> None:
    jitted = tilewright.jit(function, strict=strict)
    for _ in range(3):
        x = np.arange(1000.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilewright.FallbackWarning)
            with contextlib.suppress(Exception):
                jitted(x)
        held = weakref.ref(x)
        del x
        assert held() is None


class Model:
    def __init__(self) -> None:
        self.weights = np.arange(1000.0)
        self.label = "linear"

    @tilewright.jit
    def scaled(self, x: Any) -> Any:
        return x * self.weights if self.label == "linear" else x

    @tilewright.jit
    def ordered(self, x: Any) -> Any:
        return np.sort(x * self.weights)


def of_an_object(model: Model) -> Any:
    return model.weights * 2 + 1


@pytest.mark.parametrize("function", [of_an_object, Model.scaled, Model.ordered], ids=["argument", "kernel", "stage"])
def test_no_object_of_a_call_is_held(function: Any) -> None:
    jitted = function if isinstance(function, tilewright.decorator.JitFunction) else tilewright.jit(function)
    for _ in range(3):
        model = Model()
        jitted(model, *[np.arange(1000.0)][: function is not of_an_object])
        held = weakref.ref(model)
        del model
        assert held() is None
