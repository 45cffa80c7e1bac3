"""Objects as results: those that the function makes, and those that Python made between kernels, which are handed on as they are."""

from __future__ import annotations

import dataclasses
import functools
import io
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright
from strictly import agree
from tilewright.kinds_of_values import is_object

pytestmark = pytest.mark.compile

X = np.array([3.0, -1.0, 2.0, 8.0])


@dataclasses.dataclass
class Fit:
    slope: Any
    residuals: Any
    name: str = "fit"


@dataclasses.dataclass(frozen=True)
class Frozen:
    values: Any
    parts: Any


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, [b, 3]


class Filled:
    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


# As SciPy writes its results: a tuple with attributes beside its parts.
_BUNCH = """
def __new__(_cls, statistic, pvalue, **extra_fields):
    return _tuple_new(_cls, (statistic, pvalue))

def __init__(self, statistic, pvalue, **extra_fields):
    for key, val in extra_fields.items():
        self.__dict__[key] = val

def __setattr__(self, key, val):
    self.__dict__[key] = val
"""
_space: dict[str, Any] = {"_tuple_new": tuple.__new__, "__name__": "namedtuple_Bunch"}
exec(_BUNCH, _space)
Bunch: Any = type(
    "Bunch",
    (tuple,),
    {name: _space[name] for name in ("__new__", "__init__", "__setattr__")}
    | {"_fields": ("statistic", "pvalue"), "statistic": property(lambda self: self[0])}
    | {"df": property(lambda self: self.__dict__["df"])},
)


class WithDf(Bunch):  # type: ignore[misc]
    def __init__(self, statistic: Any, pvalue: Any, df: Any) -> None:
        super().__init__(statistic, pvalue, df=df)
        self._half = df / 2


def fits(x: Any) -> Any:
    return Fit(x.mean(), x - x.mean())


def in_containers(x: Any) -> Any:
    return [Fit(1.0, x + 1, "other")], {"slotted": Slotted(x * 2, x.max())}, x.sum()


def frozen(x: Any) -> Any:
    return Frozen(x[::-1] * 2, (x.min(), {"n": len(x)}))


def namespace(x: Any) -> Any:
    return types.SimpleNamespace(total=x.sum(), kind=np.float64, module=np)


def filled(x: Any) -> Any:
    made = Filled(scaled=x * 3, n=2)
    return made.__dict__["scaled"] + made.n, made


def bunch(x: Any) -> Any:
    made = WithDf(x.sum(), x * 2, df=x.std())
    statistic, pvalue = made
    return WithDf(made.statistic + 1, pvalue + statistic, df=made.df)


def parts(value: Any) -> Any:
    """As containers, by class and attributes."""
    if isinstance(value, (Fit, Frozen, Slotted, Filled, types.SimpleNamespace, Bunch)):
        names = [*getattr(value, "__dict__", {}), *getattr(value, "__slots__", ())]
        items = tuple(value) if isinstance(value, tuple) else ()
        return {"class": type(value).__name__, "items": items} | {one: parts(getattr(value, one)) for one in names}
    if type(value) in (tuple, list):
        return type(value)(map(parts, value))
    return {key: parts(one) for key, one in value.items()} if type(value) is dict else value


@pytest.mark.parametrize("function", [fits, in_containers, frozen, namespace, filled, bunch])
def test_objects_are_put_together_at_each_call(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for scale in (1.0, 2.0, -0.5):
        assert agree(parts(compiled(X * scale)), parts(function(X * scale)), bits=False)
    assert len(compiled.specializations) == 1
    first, second = compiled(X), compiled(X)
    assert first is not second


def test_one_object_twice_is_refused() -> None:
    def twice(x: Any) -> Any:
        made = Fit(x.sum(), x * 2)
        return made, made

    with pytest.raises(tilewright.TraceError, match="it returns one Fit object twice"):
        tilewright.jit(twice, strict=True)(X)
    with pytest.warns(tilewright.FallbackWarning):
        one, other = tilewright.jit(twice)(X)
    assert one is other


class Box:
    def __init__(self, values: Any) -> None:
        self.values = values
        self.uses = 0


def boxed(values: Any) -> Box:
    io.StringIO().write("not followed")
    return Box(values)


def taken(box: Box, x: Any) -> Any:
    io.StringIO().write("not followed")
    box.uses += 1
    return box.values * x[0] + box.uses


def added(box: Box) -> Box:
    io.StringIO().write("not followed")
    box.values = box.values + 1
    return box


def through_objects(x: Any) -> Any:
    box = boxed(x * 2)
    first = taken(box, x)
    again = added(box)
    return first * 3 + taken(again, x * 2), again


def of_an_attribute(x: Any) -> Any:
    box = boxed(x * 2)
    y = box.values + x  # statements that Python runs
    return y * 2


def given_back(x: Any) -> Any:
    return boxed(x + 1)


@pytest.mark.parametrize("function", [through_objects, of_an_attribute, given_back])
def test_objects_of_callees_are_handed_on(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for k in range(6):
        got, want = (one if type(one) is tuple else (one,) for one in (compiled(X * (k + 1)), function(X * (k + 1))))
        for ours, theirs in zip(got, want, strict=True):
            assert type(ours) is type(theirs)
            if isinstance(theirs, Box):
                assert ours.uses == theirs.uses
                ours, theirs = ours.values, theirs.values  # noqa: PLW2901
            np.testing.assert_array_equal(ours, theirs)
    assert compiled.specializations


def test_an_object_that_has_the_callers_memory_is_numpys() -> None:
    def aliases(x: Any) -> Any:
        box = boxed(x)
        x[0] = 5
        return taken(box, x) + 1

    compiled = tilewright.jit(aliases)
    for _ in range(6):
        np.testing.assert_array_equal(compiled(X.copy()), aliases(X.copy()))


def test_another_class_than_the_one_seen_is_numpys() -> None:
    class Other(Box):
        pass

    def chosen(x: Any) -> Any:
        io.StringIO().write("not followed")
        return (Other if x[0] > 5 else Box)(x * 2)

    def calls(x: Any) -> Any:
        return chosen(x + 1), x * 2

    compiled = tilewright.jit(calls, strict=True)
    for first in (1.0, 2.0, 3.0, 9.0, 1.0):
        x = np.array([first, 2.0])
        got, want = compiled(x), calls(x)
        assert type(got[0]) is type(want[0])
        np.testing.assert_array_equal(got[0].values, want[0].values)
        np.testing.assert_array_equal(got[1], want[1])


def counted(x: Any, start: int, log: list[int]) -> Any:
    log.append(start)
    return x * start


def test_partial_functions_are_watched_and_replayed() -> None:
    log: list[int] = []

    def calls(x: Any) -> Any:
        again = functools.partial(counted, start=3, log=log)
        y = again(x + 1)
        return y * 2 if y[0] > 0 else y

    compiled = tilewright.jit(calls)
    for first in (1.0, 2.0, 1.5, -5.0, 3.0):
        x = np.array([first, 2.0])
        before = len(log)
        got = compiled(x)
        assert len(log) == before + 1, "it is called once"
        np.testing.assert_array_equal(got, calls(x))


def test_extents_are_those_that_held_in_all_calls() -> None:
    @tilewright.stage
    def economic(a: Any) -> Any:
        n = min(a.shape)
        return a[:, :n].copy(), a[:n, :].copy()

    def both(a: Any) -> Any:
        q, r = economic(a)
        other, _ = economic(a.T)
        return q.sum() + other.sum(), r * 2

    compiled = tilewright.jit(both, strict=True)
    for shape in ((6, 2), (2, 7), (5, 3), (3, 3)):
        a = np.arange(np.prod(shape), dtype=float).reshape(shape)
        assert agree(compiled(a), both(a))
    assert compiled.specializations


def test_what_is_an_object() -> None:
    assert is_object(Box(1))
    assert is_object(WithDf(1.0, 2.0, df=3.0))
    no_objects = [1, None, "a", X, np.float64(1), [1], {}, len, Box, ValueError(), iter([1]), (k for k in "a"), np]
    assert not any(map(is_object, no_objects))


def test_debug_compares_what_is_in_objects() -> None:
    report = tilewright.jit(in_containers).debug(X)
    assert not report.differs, str(report)


def test_explain_and_tune_take_objects() -> None:
    compiled = tilewright.jit(fits, strict=True)
    compiled(X)
    assert "fits" in compiled.explain(source=False)
    compiled.tune(X, trials=2, budget=5)
    assert agree(parts(compiled(X)), parts(fits(X)), bits=False)


class Kept(NamedTuple):
    mean: float
    largest: float
    more: Any = None


class Law:
    scale = 3.0


LAW, OTHER_LAW = Law(), Law()


def named(x):
    found = Fit(x.sum(), x - 1)
    found.law = LAW
    return Kept(x.mean(), 2.0, found), x * LAW.scale


def asked_of_it(x):
    kept = Kept(x.mean(), x.max(), Fit(x.sum(), x - 1))
    return kept.more.slope, kept.more.residuals, kept[0]


def test_named_tuples_hold_objects(monkeypatch):
    compiled = tilewright.jit(named, strict=True)
    for law in (LAW, LAW, OTHER_LAW, OTHER_LAW):
        monkeypatch.setattr(sys.modules[__name__], "LAW", law)
        (ours, scaled), (theirs, expected) = compiled(X), named(X)
        assert type(ours) is Kept
        assert agree([*ours[:2], scaled], [*theirs[:2], expected])
        assert agree([ours.more.slope, ours.more.residuals], [theirs.more.slope, theirs.more.residuals])
        assert ours.more.law is law
    compiled = tilewright.jit(asked_of_it, strict=True)
    for _ in range(2):
        assert agree(compiled(X), asked_of_it(X))


BACKENDS: dict[str, Any] = {}


def scaled(x, name):
    return x * BACKENDS.get(name, LAW).scale


def test_an_object_where_a_dict_has_no_key():
    compiled, larger = tilewright.jit(scaled, strict=True), Law()
    larger.scale = 7.0
    for given in (None, None, larger, larger, None):
        BACKENDS.clear()
        if given is not None:
            BACKENDS["a"] = given
        assert agree(compiled(X, "a"), scaled(X, "a"))
