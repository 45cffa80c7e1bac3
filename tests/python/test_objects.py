"""Modules of functions of objects: they take what the function took, read it at each call, and refuse what they were not made for."""

import importlib
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

X = np.random.default_rng(0).random(1000)


class Grid(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    spacing: float


@dataclass(slots=True)
class Slotted:
    weights: np.ndarray
    name: str = "plain"


@dataclass(frozen=True)
class Outer:
    inner: Slotted
    table: dict = field(default_factory=dict)


def of_named_tuple(grid):
    return np.sqrt(grid.x * grid.x + grid.y * grid.y) * grid.spacing


def of_namespace(space, factor):
    return space.data * factor + space.data


def of_slots(slotted, x):
    return x * slotted.weights if slotted.name == "plain" else x + slotted.weights


def of_nested(outer, x):
    return x * outer.inner.weights + outer.table["b"]


def of_list(arrays, scale):
    return (arrays[0] + arrays[1]) * scale


def of_args(*arrays, scale=2.0):
    return (arrays[0] - arrays[1]) * scale


def of_keywords(x, **options):
    return x * options["weights"]


def of_dtype(x, dtype=np.float32):
    return np.sqrt(x).astype(dtype) * 2


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """A function, called with arguments, as a function of a module."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(function, *args, **kwargs):
        f = tilewright.jit(function)
        f.for_args(*args, **kwargs)
        name = f.export(tmp_path / f"{function.__name__}_of_objects", targets=("x86-64",)).name
        made = getattr(importlib.import_module(name), function.__name__)
        monkeypatch.delitem(sys.modules, name)
        return made

    return make


CASES = {
    "named tuple": (of_named_tuple, (Grid(X, X + 1, 0.5),), {}),
    "namespace": (of_namespace, (SimpleNamespace(data=X), 3.0), {}),
    "slots": (of_slots, (Slotted(X), X + 1), {}),
    "nested": (of_nested, (Outer(Slotted(X), {"b": X}), X), {}),
    "list": (of_list, ([X, X + 1], 2.0), {}),
    "args": (of_args, (X, X + 1), {"scale": 1.5}),
    "keywords": (of_keywords, (X,), {"weights": X}),
    "dtype": (of_dtype, (X, np.float64), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_module_takes_what_the_function_took(module_of, case):
    function, args, kwargs = CASES[case]
    made = module_of(function, *args, **kwargs)
    assert np.array_equal(made(*args, **kwargs), function(*args, **kwargs))
    out = np.empty_like(function(*args, **kwargs))
    if case != "keywords":  # its `out` would be one of its options
        assert made(*args, **kwargs, out=out) is out and np.array_equal(out, function(*args, **kwargs))
    assert made.__name__ == function.__name__


@pytest.mark.parametrize(
    ("case", "call", "error", "text"),
    [
        ("slots", (Slotted(X, "sum"), X), ValueError,
         "of_slots: slotted.name is 'sum', but this module was compiled with 'plain'. Tune the function with that one too."),
        ("slots", (X, X), TypeError, "of_slots: slotted is a ndarray, but this module was made for a Slotted."),
        ("nested", (Outer(Slotted(X), {}), X), ValueError,
         "of_nested: outer.table has the keys [], but this module was made for ['b'], in this order."),
        ("list", ([X], 2.0), ValueError, "of_list: arrays has 1 items, but this module was made for 2."),
        ("list", ((X, X), 2.0), TypeError, "of_list: arrays is a tuple, but this module was made for a list."),
        ("namespace", (SimpleNamespace(), 2.0), TypeError,
         "of_namespace: space is a SimpleNamespace with no attribute data, which this module reads."),
        ("namespace", (), TypeError, "of_namespace: missing a required argument: 'space'."),
        ("args", (), ValueError, "of_args: arrays has 0 items, but this module was made for 2."),
    ],
)  # fmt: skip
def test_a_module_refuses_what_it_was_not_made_for(module_of, case, call, error, text):
    function, right, options = CASES[case]
    made = module_of(function, *right, **options)
    with pytest.raises(error) as raised:
        made(*call)
    assert str(raised.value) == text


def test_a_dtype_that_was_compiled_in_is_no_other(module_of):
    made = module_of(of_dtype, X, np.float64)
    with pytest.raises((TypeError, ValueError), match="of_dtype: dtype is <class 'numpy.float32'>"):
        made(X, np.float32)


class Weighted:
    weights = X + 1
    scale = 2.0

    def apply(self, x):
        return x * self.__class__.weights * type(self).scale


def of_class(weighted, x):
    return weighted.apply(x) + type(weighted).scale


def test_a_module_reads_the_class_of_an_object_at_each_call(module_of, monkeypatch):
    made = module_of(of_class, Weighted(), X)
    monkeypatch.setattr(Weighted, "scale", 5.0)
    monkeypatch.setattr(Weighted, "weights", X - 1)
    assert np.array_equal(made(Weighted(), X), of_class(Weighted(), X))
