"""Functions that read what may differ at the next call."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import itertools
import operator
import os
import time
from os import environ
from typing import Any, NamedTuple

import numpy as np


class Counting:
    """An object that counts what is done with it, and keeps what is assigned."""

    def __init__(self) -> None:
        self.items: dict[Any, Any] = {0: 1.0}
        self.done = 0

    def _count(self, *_: Any) -> Any:
        self.done += 1
        return self

    __iadd__ = __imul__ = __enter__ = __exit__ = _count

    def __setitem__(self, key: Any, value: Any) -> None:
        self._count().items[key] = value

    def __getitem__(self, key: Any) -> Any:
        return self._count().items[key]

    def __delitem__(self, key: Any) -> None:
        self._count().items.pop(key, None)

    def __index__(self) -> int:
        return 1 + 0 * self._count().done

    def __float__(self) -> float:
        return 2.0 + 0 * self._count().done

    def __call__(self, *_: Any) -> float:
        return 2.0 + 0 * self._count().done


# What is done with `o`, in a function of x.
STATEMENTS = [
    "o[0] = 5.0", "o['x'] = x", "o[0] += 5.0", "del o[0]", "o += 1", "o *= x", "y = o[0]", "y = [1, 2, 3][o]",
    "y = [0, 0, 7]; y[o] = 5", "y = [0, 0, 7]; y[o] += 5", "y = [0, 0, 7]; del y[o]", "y = [1, 2, 3][o:]", "x[o] = 5.0",
    "x[o] += 5.0", "x[0] = o", "y = x[o]", "y = x[:o]", "y = x.reshape(o, -1)", "y = x.sum(axis=o - 1)", "y = np.zeros(o)",
    "y = np.sum(x, axis=o)", "y = np.full(3, o)", "y = rng.random(o)", "y = o()", "y = list(map(o, [1]))", "y = range(o)",
    "y = sorted([1, 2], key=o)", "y = (v for v in [1] if o())", "y = next(v for v in [1] if o())", "with o: y = 1",
]  # fmt: skip


class Own:
    """An object whose class says what its operators and conversions give."""

    def __init__(self) -> None:
        self.k = 1.0

    def __float__(self) -> float:
        return self.k

    def __iter__(self) -> Any:
        return iter([self.k, 2 * self.k])

    def __len__(self) -> int:
        return int(self.k)

    def __index__(self) -> int:
        return int(self.k)

    def __bool__(self) -> bool:
        return self.k > 1.5

    def __eq__(self, other: object) -> bool:
        return self.k == 2.0

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, value: Any) -> bool:
        return bool(value == self.k)

    def __getitem__(self, index: Any) -> Any:
        return self.k + index

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.full(3, self.k)

    def __str__(self) -> str:
        return "x" * int(self.k)

    def __mul__(self, other: Any) -> Any:
        return other * self.k

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self.k

    __abs__ = __neg__

    def __enter__(self) -> Any:
        return self.k

    def __exit__(self, *_: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if name == "dynamic":
            return self.k
        raise AttributeError(name)

    @property
    def twice(self) -> float:
        return self.k * 2


class OwnDict(dict[str, float]): ...


class OwnList(list[float]): ...


class Slotted:
    __slots__ = ("k",)

    def __init__(self) -> None:
        self.k = 1.0


class Shared:
    scale = 1.0

    def __init__(self) -> None:
        self.k = 1.0

    def scaled(self, x: Any) -> Any:
        return x * type(self).scale + self.__class__.scale


class Planet(enum.Enum):
    EARTH = 1

    def __init__(self, _: int) -> None:
        self.mass = 1.0


class Cell(NamedTuple):
    x: Any
    k: float
    scale = 1.0  # type: ignore[misc]  # of the class

    @property
    def scaled(self) -> Any:
        return self.x * factor

    def times(self, v: Any) -> Any:
        return self.x * self.k * factor + v

    @staticmethod
    def of_factor(v: Any) -> Any:
        return v * factor

    @classmethod
    def of_scale(cls, v: Any) -> Any:
        return v * cls.scale


class Unit(enum.Enum):
    METRE = 1.0

    def __mul__(self, other: Any) -> Any:
        return other * factor

    def __str__(self) -> str:
        return "x" * int(factor)


class Counted(type):
    def __getitem__(cls, key: Any) -> Any:
        return factor

    def __iter__(cls) -> Any:
        return iter([factor])

    def __len__(cls) -> int:
        return int(factor)

    def __contains__(cls, key: Any) -> bool:
        return factor > 2.5


class Registry(metaclass=Counted):
    k = 2.0


class Generic:
    def __class_getitem__(cls, key: Any) -> Any:
        return factor


class Product(NamedTuple):
    x: Any
    k: float

    def __mul__(self, other: Any) -> Any:
        return self.x * other * factor


class Made(collections.namedtuple("Made", "a b")):  # noqa: PYI024, SLOT002
    def __new__(cls, a: Any, b: Any) -> Any:
        return super().__new__(cls, a * factor, b)


factor = 1.0
cell, product, made_before = Cell(np.ones(3), 2.0), Product(np.ones(3), 2.0), Made(np.ones(3), 2.0)


class OwnPartial(functools.partial[Any]): ...


held: list[float] = []
appending = operator.methodcaller("append", 2.0)


def appended_by_a_getter(x: Any) -> Any:
    appending(held)
    return x * len(held)


def appended_by_code_of_c(x: Any) -> Any:
    list(itertools.starmap(held.append, [(1.0,), (2.0,)]))
    return x * len(held)


def appended_by_a_getter_in_code_of_c(x: Any) -> Any:
    list(itertools.starmap(appending, [(held,)]))
    return x * len(held)


o = Own()
slotted = Slotted()
shared = Shared()
own_set, own_frozenset, own_keys = {shared}, frozenset([shared]), {(shared, 1): 1.0}
places, weights = [0, 1], np.ones(3)
places_array = np.array([0, 1])
picked, picked_too = operator.itemgetter(places), operator.itemgetter(places_array)
taking = operator.methodcaller("take", places_array)
weighted = OwnPartial(np.multiply, weights)
record = np.zeros(1, [("a", float)])[0]
items = {1.0, 2.0}
counter = collections.Counter("aab")
missing: Any = collections.defaultdict(float, a=2.0)
ordered = collections.OrderedDict(a=1.0)
own_dict = OwnDict(a=1.0)
own_list = OwnList([1.0])
numbers = [1.0, 2.0]
nested: Any = {"a": [1.0, {"b": 2.0}]}
path = ""


@functools.cache
def table(n: int) -> Any:
    return np.arange(float(n))


def of_path(x: Any) -> Any:
    with open(path) as file:
        return x * float(file.readline())


def with_object(x: Any) -> Any:
    with o as k:
        return x * k


def taken(x: Any, it: Any) -> Any:
    return x * next(it)


def summed(x: Any, it: Any) -> Any:
    return x * sum(it)


def listed(x: Any, it: Any) -> Any:
    return x * len(list(it))


def looped(x: Any, it: Any) -> Any:
    for v in it:
        x = x + v
    return x


def unpacked(x: Any, it: Any) -> Any:
    a, b = it
    return x * a + b


def starred(x: Any, it: Any) -> Any:
    return x * max(*it)


def zipped(x: Any, it: Any) -> Any:
    for a, b in zip(it, [1.0, 2.0]):  # noqa: B905
        x = x * a + b
    return x


def collected(x: Any, it: Any) -> Any:
    return x * [v for v in it][0]  # noqa: C416, RUF015


def sliced(x: Any, it: Any) -> Any:
    return x * list(itertools.islice(it, 1))[0]  # noqa: RUF015


def filled(x: Any, it: Any) -> Any:
    return x[:2] * np.fromiter(it, float)


ITERATOR_FUNCTIONS = [taken, summed, listed, looped, unpacked, starred, zipped, collected, sliced, filled]

# What is computed of `o`, whose k changes between the calls.
OF_OBJECTS = """
x * float(o) | x * int(o) | x * sum(o) | x * list(o)[1] | x * tuple(o)[0] | x * len(o) | x * [1.0, 2.0, 3.0, 4.0][o] | x * x[o]
x * sum(range(o)) | x * 2 if o else x | x * 2 if bool(o) else x | x * 2 if not o else x | x * 2 if o == 5 else x
x * 2 if 2.0 in o else x | x * 2 if o in [5] else x | x * o[1] | x[:3] * np.asarray(o) | x[:3] * np.add(o, 1) | x * len(str(o))
x * len(f'{o}') | x * len('%s' % o) | x * len('{}'.format(o)) | x * (o * 2.0) | x * (2.0 * o) | x * -o | x * abs(o)
x * copy.copy(o).k | x * copy.deepcopy(o).k | x * o.dynamic | x * o.twice | x * max(o) | x * sorted(o)[0]
x * [v for i, v in enumerate(o)][1] | x * np.hypot(*o) | x * np.full(2, o.k)[0] | np.zeros(o) + 1 | x * getattr(o, 'k')
x * hasattr(o, 'other') | x * operator.attrgetter('k')(o) | x * list(map(float, [o]))[0] | x * vars(o)['k'] | x * o.__dict__['k']
x * dict(a=o)['a'].k | x * isinstance(o, Own) | x * functools.partial(float, o)() | x * functools.reduce(operator.add, o)
x * any(o) | x * (id(o) > 0) | x * [q.k for q in [o]][0] | x * (lambda q: q.k)(o) | x * np.array([o.k, 1.0])[0] | x * slotted.k
"""
OF_OUTSIDE = {
    "a set": ("x * sum(items) + (3.0 in items)", lambda k: (items.clear(), items.update([k, 2.0]))),
    "a set, in its order": ("x * list(items)[0]", lambda k: (items.clear(), items.update([k, 2.0]))),
    "a Counter": ("x * counter['a'] + counter['z'] + sum(counter.values())", lambda k: counter.update(a=k)),
    "a Counter's commonest": ("x * counter.most_common(1)[0][1]", lambda k: counter.update(a=k)),
    "a defaultdict": ("x * missing['a'] + missing.get('b', 5)", lambda k: missing.update(a=k)),
    "a key that a defaultdict makes": ("x * missing['c'] + len(missing)", lambda k: missing.update(a=k)),
    "an OrderedDict": ("x * sum(ordered.values())", lambda k: ordered.update(a=k)),
    "a dict's own class": ("x * own_dict['a'] + sum(own_dict.values())", lambda k: own_dict.update(a=k)),
    "a list's own class": ("x * own_list[0] + len(own_list)", lambda k: own_list.__setitem__(slice(None), [k, k])),
    "a list": ("x * numbers[0] + len(numbers)", lambda k: numbers.__setitem__(slice(None), [k] * int(k))),
    "a list in a dict": ("x * nested['a'][1]['b']", lambda k: nested["a"][1].update(b=k)),
    "a global in a named tuple's property": (
        "x[:3] * cell.scaled + Cell(x, 1.0).scaled[:3]",
        lambda k: globals().update(factor=k),
    ),
    "a global in a named tuple's methods": (
        "cell.times(x[:3]) + cell.of_factor(x[:3]) + Cell(x[:3], 2.0).times(1.0)",
        lambda k: globals().update(factor=k),
    ),
    "an attribute of a named tuple's class": (
        "x * cell.scale + Cell(x, 1.0).of_scale(x) + Cell.scale",
        lambda k: setattr(Cell, "scale", k),
    ),
    "a method of a named tuple's class": (
        "cell.times(x[:3])",
        lambda k: setattr(Cell, "times", (lambda self, v: v * 2) if k == 3 else (lambda self, v: v + self.x)),
    ),
    "operators of a named tuple": ("product * x[:3] + Product(x, 1.0) * 2.0", lambda k: globals().update(factor=k)),
    "operators of an enumeration": ("Unit.METRE * x", lambda k: globals().update(factor=k)),
    "the text of an enumeration": ("x * len(f'{Unit.METRE}')", lambda k: globals().update(factor=k)),
    "items of a class": ("x * Registry[0]", lambda k: globals().update(factor=k)),
    "what a class goes through": ("x * sum(Registry) + len(Registry)", lambda k: globals().update(factor=k)),
    "what is in a class": ("x * (1 if 3 in Registry else 2)", lambda k: globals().update(factor=k)),
    "a class with parameters": ("x * Generic[0]", lambda k: globals().update(factor=k)),
    "what makes a named tuple": ("made_before.a * x[:3] + Made(x, 1.0).a[:3]", lambda k: globals().update(factor=k)),
    "a list in an itemgetter": ("x[:2] * picked(x)", lambda k: places.__setitem__(0, int(k))),
    "an array in an itemgetter": ("x[:2] * picked_too(x)", lambda k: places_array.__setitem__(0, int(k))),
    "an array in a methodcaller": ("x[:2] * taking(x)", lambda k: places_array.__setitem__(0, int(k))),
    "an array in a partial's own class": ("weighted(x[:3])", lambda k: weights.__setitem__(0, k)),
    "a record": ("x * record['a']", lambda k: record.__setitem__("a", k)),
    "an attribute of a member of an enumeration": ("x * Planet.EARTH.mass", lambda k: setattr(Planet.EARTH, "mass", k)),
    "one of a member by its name": ("x * Planet['EARTH'].mass", lambda k: setattr(Planet.EARTH, "mass", k)),
    "an object in a set": ("x * sum([v.k for v in own_set])", lambda k: setattr(shared, "k", k)),
    "an object in a frozenset": ("x * sum([v.k for v in own_frozenset])", lambda k: setattr(shared, "k", k)),
    "an object in a dict's key": ("x * sum([v.k for v, _ in own_keys])", lambda k: setattr(shared, "k", k)),
    "an attribute of an object's class": ("x * type(shared).scale", lambda k: setattr(Shared, "scale", k)),
    "an attribute of its class, in its methods": ("shared.scaled(x)", lambda k: setattr(Shared, "scale", k)),
    "an array of a function behind lru_cache": ("x[:3] * table(3)", lambda k: table(3).__setitem__(0, k)),
    "an item of the environment": (
        "x * float(os.environ['TILEWRIGHT_X'])",
        lambda k: environ.update(TILEWRIGHT_X=str(k)),
    ),
    "environ.get()": ("x * float(os.environ.get('TILEWRIGHT_X', '1'))", lambda k: environ.update(TILEWRIGHT_X=str(k))),
    "os.getenv()": ("x * float(os.getenv('TILEWRIGHT_X'))", lambda k: environ.update(TILEWRIGHT_X=str(k))),
    "environ itself": ("x * float(environ['TILEWRIGHT_X'])", lambda k: environ.update(TILEWRIGHT_X=str(k))),
    "np.loadtxt()": ("x[:3] * np.loadtxt(path)", lambda k: np.savetxt(path, np.full(3, k))),
    "np.fromfile()": ("x[:3] * np.fromfile(path)[:3]", lambda k: np.full(3, k).tofile(path)),
    "a time of a file": (
        "x * (os.path.getmtime(path) % 1000)",
        lambda k: (open(path, "w").close(), os.utime(path, (k, k))),
    ),
    "whether there is a file": ("x * 2 if os.path.exists(path) else x * 3", lambda k: open(path, "w").close()),
    "the time": ("x * 0 + (time.time() > 1e9)", lambda k: time.sleep(0)),
}
_TEXTS = [text.strip() for text in OF_OBJECTS.replace("\n", "|").split("|") if text.strip()]
_ = (copy, functools, operator)
