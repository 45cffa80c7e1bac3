"""Our own dataclasses behave as those of the standard library, but for setting what is frozen."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import field

import pytest
from tilewright.light_dataclass import dataclass as light

pytestmark = pytest.mark.fast


def classes_by(dataclass):
    @dataclass
    class Plain:
        a: int
        b: list = field(default_factory=list)
        hidden: int = field(default=3, repr=False, compare=False)

    @dataclass(frozen=True)
    class Frozen:
        """Said."""

        a: int
        b: str = "x"

    @dataclass(frozen=True)
    class More(Frozen):
        c: float = 1.0

    @dataclass(frozen=True)
    class One:
        a: object

    @dataclass(frozen=True)
    class Own:  # noqa: PLW1641
        a: int
        b: int = 0

        def __eq__(self, other):
            return isinstance(other, Own) and self.a == other.a

    @dataclass(frozen=True)
    class OwnHash:
        a: int

        def __hash__(self):
            return 7

        def __repr__(self):
            return "own"

    @dataclass(eq=False, slots=True)
    class Slots:
        a: int
        b: int = 2

    @dataclass
    class Behind:
        a: int

        def __post_init__(self):
            self.a += 1

    return [Plain, Frozen, More, One, Own, OwnHash, Slots, Behind]


def seen_of(kind):
    """What a class does, in words."""
    one, two, other = kind(1), kind(1), kind(2)
    name = kind.__qualname__
    seen = [
        repr(one).replace(name, "C"),
        repr(other).replace(name, "C"),
        one == two,
        one == other,
        one != two,
        one == 1,
        one == object(),
    ]
    try:
        seen += [hash(one) == hash(two), hash(one) == hash(other), len({one, two, other})]
    except TypeError:
        seen.append("no hash")
    changed = dataclasses.replace(one, a=5)
    seen += [
        changed.a,
        [(f.name, f.compare, f.repr) for f in dataclasses.fields(kind)],
        kind.__match_args__,
        hasattr(one, "__dict__"),
    ]
    seen.append(dataclasses.asdict(one))
    with pytest.raises(TypeError):
        kind()
    return seen


@pytest.mark.parametrize("number", range(8))
def test_a_class_does_what_the_standard_librarys_does(number):
    ours, theirs = classes_by(light)[number], classes_by(dataclasses.dataclass)[number]
    assert seen_of(ours) == seen_of(theirs)


def test_objects_of_two_classes_are_not_equal():
    _, frozen, more, *_ = classes_by(light)
    assert frozen(1) != more(1) and more(1, c=2.0) != more(1)
    assert frozen.__doc__ == "Said."


@light(frozen=True)
class Travels:
    a: int
    b: tuple = ()


def test_they_are_pickled():
    assert pickle.loads(pickle.dumps(Travels(1, (2,)))) == Travels(1, (2,))
