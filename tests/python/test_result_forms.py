"""Results beyond tuples of arrays, and what functions set on the caller's objects: made by the runtime as Python's text makes them."""

from __future__ import annotations

import copy
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import tilewright
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import _face
from tilewright.result_forms import called_by_python, finisher, form_of
from tilewright.structure import ZERO_DIMENSIONAL, Again, Changed, Itself, Made, Named, ViewSteps

pytestmark = pytest.mark.compile

Pair = namedtuple("Pair", "left right")


class Leaf:
    """As a trace has the leaves of a structure."""

    def __init__(self, kind="array", value=None, view=None):
        self.kind, self.value, self.view = kind, value, view


class Point:
    __slots__ = ("x", "y")


class Held:
    x = 0

    @property
    def area(self):
        return self.__dict__["area"]


def leaves():
    constants = st.builds(lambda value: Leaf("constant", value), st.sampled_from([None, 1, "a", 2.5, ()]))
    return st.one_of(st.builds(Leaf), constants, st.just(Leaf(ZERO_DIMENSIONAL)), st.just(Itself(0)))


def structures():
    def more(inner):
        return st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.sampled_from(["a", 1, (2, 3)]), inner, max_size=3),
            st.tuples(inner, inner).map(lambda pair: Pair(*pair)),
            inner.map(lambda one: Made(Held, None, {"x": one})),
            inner.map(lambda one: Made(Point, None, {"y": one})),
            inner.map(lambda one: Made(Pair, (one, one), {})),
        )

    return st.recursive(leaves(), more, max_leaves=8)


def ran_in_c(form, made, *objects):
    """By the runtime: as a function of no arguments, whose plan gives that."""
    return _face.finished(form, made, objects)


def shown(value, *owners):
    if any(value is one for one in owners):
        return "one of the caller's"
    if isinstance(value, (Held, Point)):
        held = vars(value) if isinstance(value, Held) else {n: getattr(value, n) for n in "xy" if hasattr(value, n)}
        return type(value).__name__, [(name, shown(one, *owners)) for name, one in held.items()]
    if isinstance(value, dict):
        return "dict", [(key, shown(one, *owners)) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(one, *owners) for one in value]
    return type(value).__name__, repr(value)


@settings(max_examples=200, deadline=None)
@given(structures())
def test_c_makes_of_a_form_what_the_text_makes(structure):
    made = tuple(np.float64(k) for k in range(40))
    owner = object()
    form = finisher(structure)
    assert type(form) is tuple
    assert shown(ran_in_c(form, made, owner), owner) == shown(called_by_python(structure)(made, owner), owner)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["x", "y", "area", "other"]), structures(), max_size=4),
    st.lists(structures(), max_size=2),
)
def test_c_sets_what_the_text_sets(attributes, appended):
    structure = Changed(
        Leaf(),
        [attributes, {0: Leaf(), 1: Leaf("constant", 7)}, {"k": Leaf()}, {"appended": appended}],
        [False, True, True, True],
    )
    made = tuple(np.float64(k) for k in range(60))
    found = []
    for run in (lambda *given: ran_in_c(finisher(structure), *given), called_by_python(structure)):
        objects = [Held(), [0, 0], {}, [1]]
        result = run(made, *objects)
        held = [vars(objects[0]), [*objects[1]], {**objects[2]}, [*objects[3]]]
        found.append(shown([result, *held], *objects))
    assert found[0] == found[1]


def test_views_and_what_is_there_twice_are_pythons():
    view = ViewSteps(0, ((0, "{of}[1:]"),))
    for structure in ([Leaf(view=view)], (Named(0, [Leaf()]), Again(0)), Changed(Leaf(view=view), [], [])):
        assert callable(finisher(structure))
    assert form_of((Leaf(), Leaf("constant", 3))) == ("tuple", (("made", 0), ("constant", 3)))


@pytest.mark.parametrize(
    "form",
    [
        ("nothing", 1), ("made",), ("made", "a"), ("made", -1), ("tuple", 3), ("dict", ("a",)), ("changed", ("made", 0), ((0, True),)),
        ("changed", ("made", 0), ((0, True, ("a", "b"), (("made", 0),)),)), 3,
    ],
)  # fmt: skip
def test_forms_that_are_none_are_refused(form):
    with pytest.raises((TypeError, ValueError)):
        _face.finished(form, (1.0,), ())


def test_a_number_beyond_what_is_given_is_an_error():
    for form in (("made", 3), ("object", 2), ("changed", ("made", 0), ((2, False, ("x",), (("made", 0),)),))):
        with pytest.raises(IndexError):
            _face.finished(form, (1.0,), ())


@dataclass
class Filter:
    x: np.ndarray
    p: np.ndarray
    steps: int = 0

    def predict(self):
        self.x = self.p @ self.x
        self.p = self.p @ self.p.T * 0.5
        self.steps += 1


class WithProperty:
    def __init__(self):
        self.__dict__["x"] = np.ones(3)

    x = property(lambda self: self.__dict__["x"])

    def move(self):
        self.y = self.x * 2


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self):
        self.x = np.arange(3.0)

    def move(self):
        self.y = self.x + 1
        self.x = self.y * 2


@pytest.mark.parametrize("make", [lambda: Filter(np.ones(2), np.eye(2) * 1.5), WithProperty, Slotted])
def test_objects_have_what_their_methods_set(make):
    ours, theirs = make(), make()
    kind = type(ours)
    name = "predict" if kind is Filter else "move"
    plain = vars(kind)[name]
    compiled = tilewright.jit(plain)
    for _ in range(40):
        compiled(ours)
        plain(theirs)
        for held in ("x", "y", "p", "steps"):
            if hasattr(theirs, held):
                assert np.array_equal(getattr(ours, held), getattr(theirs, held))
                assert type(getattr(ours, held)) is type(getattr(theirs, held))


def sets_all(self, name, value):
    self.__dict__[name] = value
    self.__dict__["log"] = [*self.__dict__.get("log", ()), name]


class Base:
    pass


CHANGES = {
    "setattr": lambda cls: setattr(cls, "__setattr__", sets_all),
    "setattr of a base": lambda cls: setattr(Base, "__setattr__", sets_all),
    "getattribute": lambda cls: setattr(cls, "__getattribute__", lambda one, name: object.__getattribute__(one, str(name))),
    "getattr": lambda cls: setattr(cls, "__getattr__", lambda one, name: 7.0),
    "property": lambda cls: setattr(cls, "x", property(lambda one: one.__dict__["x"] + 1, lambda one, v: one.__dict__.__setitem__("x", v * 3))),
    "read-only": lambda cls: setattr(cls, "k", property(lambda one: 5.0)),
    "other": lambda cls: setattr(cls, "z", property(lambda one: 1)),
    "constant": lambda cls: setattr(cls, "x", 3.0),
    "bases": lambda cls: setattr(cls, "__bases__", (type("Other", (Base,), {"__setattr__": sets_all}),)),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_class_that_changes_is_asked(change):
    found = []
    for compiles in (False, True):

        class Own(Base):
            def __init__(self):
                self.x, self.k = np.arange(3.0), 1.0

            def step(self):
                self.x = self.x * 0.5 + self.k
                self.k = self.k + 1
                return self.k

        step = tilewright.jit(Own.step) if compiles else Own.step
        try:
            one, said = Own(), []
            for _ in range(40):
                step(one)
            CHANGES[change](Own)
            for _ in range(3):
                try:
                    said.append(step(one))
                except AttributeError as error:
                    said.append(str(error))
            found.append((said, {name: np.asarray(value).tolist() for name, value in one.__dict__.items()}))
        finally:
            if "__setattr__" in vars(Base):
                del Base.__setattr__
    assert found[0] == found[1]


def test_errors_in_what_is_set_come_through():
    class Stubborn(dict):
        def __setitem__(self, key, value):
            raise KeyError("no")

    form = ("changed", ("made", 0), ((0, True, ("a",), (("made", 0),)),))
    with pytest.raises(KeyError):
        _face.finished(form, (1.0,), (Stubborn(),))
    with pytest.raises(AttributeError):
        _face.finished(("changed", ("made", 0), ((0, False, ("a",), (("made", 0),)),)), (1.0,), (copy.copy(1.5),))
