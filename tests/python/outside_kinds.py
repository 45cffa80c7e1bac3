"""Every kind of value that a call may find outside of itself, in pairs that make a difference, and every way in."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import importlib.util
import inspect
import operator
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tilewright


class Mode(enum.Enum):
    FIRST = 1
    SECOND = 2


class Axis(enum.IntEnum):
    ROWS = 0
    COLUMNS = 1


@dataclasses.dataclass
class Data:
    scale: float
    offsets: Any


class Pair(NamedTuple):
    a: Any
    b: Any


class Other(NamedTuple):
    b: Any
    a: Any


class Scaled:
    factor = 3.0

    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return x * self.k + 1

    def method(self, x: Any) -> Any:
        return x * self.k

    def other(self, x: Any) -> Any:
        return x - self.k

    @property
    def twice(self) -> float:
        return 2 * self.k

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * cls.factor

    @staticmethod
    def static(x: Any) -> Any:
        return x + 7


class More(Scaled):
    factor = 5.0

    def method(self, x: Any) -> Any:
        return x / self.k

    @staticmethod
    def static(x: Any) -> Any:
        return x + 9


def plus_one(x: Any) -> Any:
    return x + 1


def times_three(x: Any) -> Any:
    return x * 3


def with_default(x: Any, k: float = 2.0, *, more: float = 1.0) -> Any:
    return x * k + more


def with_other_default(x: Any, k: float = 4.0, *, more: float = 1.0) -> Any:
    return x * k + more


def closing_over(k: Any) -> Any:
    return lambda x: x * k


@tilewright.jit
def jitted(x: Any) -> Any:
    return x * 2


@tilewright.jit
def jitted_too(x: Any) -> Any:
    return x * 5


@functools.cache
def cached(x: Any) -> Any:
    return np.full(3, x)


def module_with(k: float) -> types.ModuleType:
    made = types.ModuleType("made")
    made.k = k  # type: ignore[attr-defined]
    return made


# Kind -> how the function uses `v`, and two values.
KINDS: dict[str, tuple[str, Any, Any]] = {
    "None": ("x + 1 if v is None else x * 2", None, 1.0),
    "bool": ("x + 1 if v else x * 2", True, False),
    "bool, as a number": ("x + v", True, False),
    "int": ("x * v", 3, 4),
    "int, an axis": ("x.reshape(30, -1).sum(axis=v)", 0, 1),
    "int, a size": ("np.zeros(v) + x[:v]", 5, 7),
    "int, a count": ("sum([x * k for k in range(v)])", 2, 3),
    "int, beyond 64 bits": ("x * (v % 7)", 2**70, 2**70 + 1),
    "int and bool": ("x / v", 1, True),
    "int and float": ("np.arange(5) * v + x[:5].astype(int)", 2, 2.0),
    "float": ("x * v", 1.5, 2.5),
    "float, signs of zero": ("np.copysign(x, v)", 0.0, -0.0),
    "float, nan": ("np.where(x > v, 1.0, x)", 0.5, np.nan),
    "float, that decides": ("x + 1 if v > 2 else x * 2", 1.5, 2.5),
    "complex": ("x * v", 1 + 2j, 3 - 1j),
    "str": ("x + len(v)", "ab", "abc"),
    "str, a name": ("getattr(np, v)(x)", "sqrt", "square"),
    "bytes": ("x + v[0]", b"ab", b"cd"),
    "enumeration": ("x + 1 if v == mode.FIRST else x * 2", Mode.FIRST, Mode.SECOND),
    "enumeration of ints": ("x.reshape(30, -1).sum(axis=v)", Axis.ROWS, Axis.COLUMNS),
    "dtype": ("x.astype(v)", np.dtype(np.float32), np.dtype(np.int64)),
    "type": ("x.astype(v)", np.float32, np.int64),
    "class": ("v.static(x)", Scaled, More),
    "slice": ("x[v] * 2", slice(1, 5), slice(2, 9, 2)),
    "range": ("sum([x * k for k in v])", range(3), range(4)),
    "Ellipsis": ("x + 1 if v is ... else x * 2", ..., None),
    "tuple": ("x * v[0] + v[1]", (1.0, 2.0), (2.0, 1.0)),
    "tuple, its length": ("x + len(v)", (1.0, 2.0), (2.0, 1.0, 3.0)),
    "list": ("x * v[0] + v[1]", [1.0, 2.0], [2.0, 1.0]),
    "dict": ("x * v['a'] + v['b']", {"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0}),
    "dict, its order": ("x * list(v)[0] + v[1]", {1: 1.0, 2: 2.0}, {2: 1.0, 1: 2.0}),
    "set": ("x * sum(v)", {1.0, 2.0}, {2.0, 5.0}),
    "frozenset": ("x * sum(v)", frozenset([1.0, 2.0]), frozenset([2.0, 5.0])),
    "Counter": ("x * v['a']", collections.Counter("aab"), collections.Counter("aaab")),
    "OrderedDict": ("x * v['a']", collections.OrderedDict(a=1.0), collections.OrderedDict(a=2.0)),
    "defaultdict": ("x * v['a']", collections.defaultdict(float, a=1.0), collections.defaultdict(float, a=2.0)),
    "deque": ("x * v[0]", collections.deque([1.0]), collections.deque([2.0])),
    "dataclass": ("x * v.scale + v.offsets", Data(2.0, 1.0), Data(3.0, 2.0)),
    "dataclass with an array": ("x[:3] * v.scale + v.offsets", Data(2.0, np.ones(3)), Data(3.0, np.arange(3.0))),
    "named tuple": ("x * v.a + v.b", Pair(1.0, 2.0), Pair(2.0, 1.0)),
    "named tuples of two classes": ("x * v.a + v.b", Pair(1.0, 2.0), Other(1.0, 2.0)),
    "module": ("x * v.k", module_with(2.0), module_with(3.0)),
    "array": ("x[:3] * v", np.ones(3), np.arange(3.0)),
    "array of another dtype": ("x[:3] * v", np.ones(3), np.ones(3, complex)),
    "NumPy scalar": ("x * v", np.float64(2.0), np.float64(3.0)),
    "NumPy scalar of another dtype": ("x.astype(np.float32) * v", np.float32(2.0), np.float64(2.0)),
    "NumPy complex": ("x * v", np.complex128(2.0), np.complex128(3.0j)),
    "builtin": ("v(1.0, 2.0) * x", max, min),
    "builtin of one": ("v(-2.5) * x", abs, round),
    "ufunc": ("v(x)", np.sqrt, np.square),
    "ufunc of two": ("v(x, 2.0)", np.add, np.multiply),
    "array function": ("v(x)", np.sum, np.max),
    "array function, linalg": ("v(x)", np.linalg.norm, np.mean),
    "method of a ufunc": ("v(x)", np.add.reduce, np.maximum.reduce),
    "partial, its function": ("v(x)", functools.partial(np.sum, axis=0), functools.partial(np.max, axis=0)),
    "partial, its arguments": ("v(x)", functools.partial(np.add, 1.0), functools.partial(np.add, 2.0)),
    "partial, its keywords": ("v(x)", functools.partial(with_default, k=1.0), functools.partial(with_default, k=2.0)),
    "bound method, its object": ("v(x)", Scaled(2.0).method, Scaled(5.0).method),
    "bound method, its function": ("v(x)", Scaled(2.0).method, Scaled(2.0).other),
    "bound method, its class": ("v(x)", Scaled(2.0).method, More(2.0).method),
    "class method": ("v(x)", Scaled.of_class, More.of_class),
    "static method": ("v(x)", Scaled.static, More.static),
    "function": ("v(x)", plus_one, times_three),
    "function, its defaults": ("v(x)", with_default, with_other_default),
    "lambda": ("v(x)", lambda x: x + 1, lambda x: x * 3),
    "closure": ("v(x)", closing_over(2.0), closing_over(3.0)),
    "closure with an array": ("v(x[:3])", closing_over(np.ones(3)), closing_over(np.arange(3.0))),
    "jit function": ("v(x)", jitted, jitted_too),
    "function behind lru_cache": ("x[:3] * v(2.0)", cached, functools.lru_cache(lambda x: np.full(3, x + 1))),
    "object that is called": ("v(x)", Scaled(2.0), Scaled(5.0)),
    "object with a property": ("x * v.twice", Scaled(2.0), Scaled(5.0)),
    "object of another class": ("v.method(x)", Scaled(2.0), More(2.0)),
    "operator": ("v(x, 2.0)", operator.add, operator.mul),
    "signature": (
        "x * v.bind(1.0, 2.0).arguments['b']",
        inspect.signature(lambda a, b: a),
        inspect.signature(lambda b, a: a),
    ),
    "itemgetter": ("v(x)", operator.itemgetter(3), operator.itemgetter(5)),
    "attrgetter": ("v(x.reshape(30, -1)) * 1.0", operator.attrgetter("T"), operator.attrgetter("real")),
    "methodcaller": ("v(x)", operator.methodcaller("sum"), operator.methodcaller("max")),
    "method of an array": ("v() * x", np.arange(3.0).sum, np.arange(4.0).max),
    "method of a str": ("x + len(v())", "ab".upper, "abc".upper),
    "method descriptor": ("v(x)", np.ndarray.sum, np.ndarray.max),
    "random generator": ("x + v.random()", np.random.default_rng(1), np.random.default_rng(2)),
    "random generator, its method": ("x + v()", np.random.default_rng(1).random, np.random.default_rng(2).random),
    "iterator": ("x + next(v)", iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), iter([7.0, 8.0, 9.0, 7.5, 8.5, 9.5])),
    "memoryview": ("x[:3] + np.frombuffer(v)", memoryview(np.ones(3)), memoryview(np.arange(3.0))),
}

# Way in -> a function, and how a call gives it the value. `use` is what it computes.
WAYS = {
    "argument": ("def f(x, v):\n    return {use}\n", "f(x, v)"),
    "keyword": ("def f(x, *, v):\n    return {use}\n", "f(x, v=v)"),
    "default": ("def f(x, v=None):\n    return {use}\n", "(setattr(plain(f), '__defaults__', (v,)), f(x))[1]"),
    "default of a helper": (
        "def helper(x, v=None):\n    return {use}\n\ndef f(x):\n    return helper(x)\n",
        "(setattr(helper, '__defaults__', (v,)), f(x))[1]",
    ),
    "global": ("v = None\n\ndef f(x):\n    return {use}\n", "(globals().update(v=v), f(x))[1]"),
    "global, first in a loop": (
        "v = None\n\ndef f(x):\n    t = x\n    for i in range(len(x)):\n        t = {use}\n    return {use}, t\n",
        "(globals().update(v=v), f(x))[1]",
    ),
    "global, first in a branch": (
        "v = None\n\ndef f(x):\n    if x[0] > 0:\n        t = {use}\n    else:\n        t = {use}\n    return {use}, t\n",
        "(globals().update(v=v), f(x))[1]",
    ),
    "global of a helper": (
        "v = None\n\ndef helper(x):\n    return {use}\n\ndef f(x):\n    return helper(x)\n",
        "(globals().update(v=v), f(x))[1]",
    ),
    "closure": (
        "def make(v=None):\n    def f(x):\n        return {use}\n    def change(new):\n        nonlocal v\n        v = new\n"
        "    return f, change\n\nf, change = make()\n",
        "(change(v), f(x))[1]",
    ),
    "attribute": (
        "class Box:\n    v = 5\n\nbox = Box()\n\ndef f(x, box):\n    v = box.v\n    return {use}\n",
        "(setattr(box, 'v', v), f(x, box))[1]",
    ),
    "attribute of a global": (
        "class Box:\n    v = 5\n\nbox = Box()\n\ndef f(x):\n    v = box.v\n    return {use}\n",
        "(setattr(box, 'v', v), f(x))[1]",
    ),
    "item of a list": ("def f(x, items):\n    v = items[0]\n    return {use}\n", "f(x, [v])"),
    "item of a tuple": ("def f(x, items):\n    v = items[0]\n    return {use}\n", "f(x, (v,))"),
    "item of a dict": ("def f(x, items):\n    v = items['v']\n    return {use}\n", "f(x, {'v': v})"),
    "attribute of a class": (
        "class Shared:\n    held = (None,)\n\ndef f(x):\n    v, = Shared.held\n    return {use}\n",
        "(setattr(Shared, 'held', (v,)), f(x))[1]",
    ),
    "attribute of a module": (
        "import types\nmod = types.ModuleType('mod')\n\ndef f(x):\n    v = mod.v\n    return {use}\n",
        "(setattr(mod, 'v', v), f(x))[1]",
    ),
}


def function_of(folder: Path, kind: str, way: str, decorate: Any) -> Any:
    """call(x, v), which computes what the kind says, with the value on that way."""
    use = KINDS[kind][0]
    text, call = WAYS[way]
    file = folder / f"made_{abs(hash((kind, way, decorate is None)))}.py"
    file.write_text(
        f"import numpy as np\n\nmode = None\n\n{text.format(use=use)}\n\nplain = lambda f: getattr(f, '__wrapped__', f)\n\n"
        f"def call(x, v):\n    return {call}\n"
    )
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.mode = Mode  # type: ignore[attr-defined]
    if decorate is not None:
        module.f = decorate(module.f)  # type: ignore[attr-defined]
    return module
