"""Functions that Python calls between kernels without a row that says what they give: that is seen once, and kept.

A call of such a function that a trace comes across for the first time makes the call of the traced function a watched one:
it runs as plain Python, and each function that it calls is looked at when it returns. So nothing runs twice.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import inspect
import itertools
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from .held_elsewhere import handed_containers, held_elsewhere, kept_of, references, refuse_containers
from .outside_values import Variable, is_of_a_statement, outside_of, same_bytes

P = ParamSpec("P")
R = TypeVar("R")

# Their public functions give new arrays, write nothing that they are handed, and read nothing else. Those that they call
# themselves may write: scipy.linalg.expm() has its work done in an array that it hands on.
_PURE_MODULES = (
    "scipy.fft", "scipy.fftpack", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.signal",
    "scipy.signal.windows", "scipy.spatial", "scipy.spatial.distance", "scipy.special", "scipy.stats", "scipy.stats.contingency",
    "scipy.stats.mstats",
)  # fmt: skip


# But for those that draw random numbers, or call what they are handed.
_NOT_PURE = frozenset(
    [
        "bootstrap",
        "dblquad",
        "fixed_quad",
        "goodness_of_fit",
        "monte_carlo_test",
        "nquad",
        "ode",
        "odeint",
        "permutation_test",
        "power",
        "quad",
        "quad_vec",
        "quadrature",
        "rvs",
        "solve_bvp",
        "solve_ivp",
        "tplquad",
    ]
)


# NumPy's functions of which the data decide the dtype: no row says it.
_DECIDED_BY_DATA = (np.linalg.eig, np.linalg.eigvals, np.poly, np.roots)


_OF_DISTRIBUTIONS = frozenset(
    ["pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "moment", "entropy", "median", "mean",
     "var", "std", "interval", "support", "fit"]
)  # fmt: skip


def distribution_of(method: types.MethodType) -> str | None:
    """The name of SciPy's distribution of which it is a method: scipy.stats.norm."""
    owner = method.__self__
    name = getattr(owner, "name", None)
    place = sys.modules.get("scipy.stats")
    return f"scipy.stats.{name}" if isinstance(name, str) and getattr(place, name, None) is owner else None


def is_decided_by_data(function: Any) -> bool:
    return any(function is one for one in _DECIDED_BY_DATA)


def is_pure(function: Any) -> bool:
    """Whether a function without a row may be a stage."""
    if isinstance(function, PureFunction):
        return True
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    if not module.startswith("scipy.") or name in _NOT_PURE or isinstance(function, type):
        return False
    if isinstance(function, types.MethodType):
        return distribution_of(function) is not None and name in _OF_DISTRIBUTIONS
    places = (sys.modules.get(one) for one in _PURE_MODULES if module.startswith(one))
    return any(getattr(place, name, None) is function for place in places if not name.startswith("_"))


def writes_arguments(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether an option tells a function to write into an array that it is handed: output=a, overwrite_a=True."""
    named = dict(kwargs)
    if args and not isinstance(function, PureFunction):
        with contextlib.suppress(TypeError, ValueError):  # of C, which says nothing of its parameters
            named.update(zip(inspect.signature(function).parameters, args, strict=False))
    return any(
        (name in ("out", "output") and hasattr(value, "shape"))
        or (name.startswith("overwrite") or name in ("in_place", "inplace"))
        and value is not False
        for name, value in named.items()
    )


class PureFunction(Generic[P, R]):
    """What tilewright.stage() makes of a function: it behaves as the function does."""

    __qualname__: str

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else functools.partial(self.__wrapped__, owner)

    def __repr__(self) -> str:
        return f"<tilewright.stage of {self.__wrapped__!r}>"

    def __reduce__(self) -> str:
        return self.__qualname__


def stage(function: Callable[P, R]) -> PureFunction[P, R]:
    """Declare a function of arrays and numbers pure: a compiled function calls it between kernels, as it is.

    It must do nothing but compute its result: it writes none of its arguments, keeps nothing, and gives new arrays,
    numbers, or tuples of those, whose dtypes and ranks depend on those of its arguments alone. Then it may be called less
    often than the program says, or be called again where NumPy runs a call after all.

    Raises TypeError for what cannot be called.
    """
    if not callable(function):
        raise TypeError(f"tilewright.stage: {function!r} is not callable. Decorate a function.")
    return PureFunction(function)


@dataclass(frozen=True)
class Array:
    """A result that was seen. Of each extent what it may be, the likeliest first: (argument, axis), or the literal 1."""

    dtype: np.dtype[Any]
    is_array: bool  # also without dimensions
    extents: tuple[tuple[tuple[int, int] | int, ...], ...]
    is_shared: bool = False  # somebody else holds it too


@dataclass(frozen=True)
class Argument:
    """A result that is one of the arrays that were handed over, the very object."""

    position: int


@dataclass(frozen=True)
class Plain:
    """A result that no data change: None, a text, a dtype."""

    value: Any


@dataclass(frozen=True)
class Held:
    """A list, a text or another container that statements gave, or an object, as it is: Python keeps it. `items`: what each
    item of a list is, where all are numbers or tuples of numbers of one kind; else None."""

    kind: type
    items: Any = None


@dataclass(frozen=True)
class Seen:
    """What a call of a function that is not known to be pure did: its results, which arrays it wrote, which variables
    it changed that the compiled functions name, and which arrays somebody holds behind it."""

    gives: Any
    written: tuple[int, ...]
    changed: tuple[Variable, ...]
    kept: tuple[int, ...] = ()


class NotSeen(Exception):  # noqa: N818 - the message is another exception's
    """What a call of this kind gives is not known yet. `is_handed_others`: traces have asked for it, and the calls that were
    seen there since were of another kind."""

    def __init__(self, key: Any, is_handed_others: bool) -> None:
        super().__init__()
        self.key, self.is_handed_others = key, is_handed_others


# (the function, what its arguments are like) -> its results: Array, bool, int, float, tuples and lists of those; or a text
# that says why they are no stage's. Of a function that is not known to be pure: Seen.
_SEEN: dict[Any, Any] = {}
# Calls that were looked at, by the function and the way to it.
_CALLED: collections.Counter[Any] = collections.Counter()
# How many they were when a trace asked for such arguments last, and how often they were others since it had asked before.
_ASKED: dict[Any, tuple[int, int]] = {}
_LEAST_IN_VAIN = 2


def seen(function: Any, args: Sequence[Any], kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Any:
    """What such a call gave. NotSeen, or TypeError with the reason where it is no stage."""
    key = _key(function, args, kwargs, kind_of)
    if key not in _SEEN:
        called = _CALLED[key[0]]
        before, in_vain = _ASKED.get(key, (called, 0))
        _ASKED[key] = called, in_vain + (called > before)
        raise NotSeen(key, _ASKED[key][1] >= _LEAST_IN_VAIN)
    found = _SEEN[key]
    if isinstance(found, str):
        raise TypeError(found)
    return found


def watching(
    function: Callable[..., Any], watched: Callable[..., Any], looked: Callable[[float], None]
) -> Callable[..., Any]:
    """The function, with a look at what it gives. `watched`: itself, or one that looks at its calls. `looked` gets the
    seconds that a look took."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = watched(*args, **kwargs)
        begun = time.perf_counter()
        look(result, args, kwargs)
        looked(time.perf_counter() - begun)
        return result

    def look(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            key = _key(function, args, kwargs, _kind_of)
        except TypeError:
            return  # no trace has such arguments
        try:
            found = _described(result, list(arrays_in((args, kwargs))))
            refuse_shared(list(arrays_in(result)))
            _keep(key, found)
        except TypeError as error:
            _SEEN[key] = str(error)

    return call


def containers_in(value: Any) -> Iterator[Any]:
    """Lists, dicts and sets among arguments, those inside of others too."""
    if isinstance(value, (list, dict, set)):
        yield value
    if isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(containers_in, value))
    if isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(containers_in, value.values()))


def contents_of(arguments: Any) -> list[tuple[Any, Any]]:
    """Each of those, and a copy of it."""
    return [(one, one.copy()) for one in containers_in(arguments)]


def are_changed(contents: Sequence[tuple[Any, Any]]) -> bool:
    """Whether any of them has another item now."""

    def items(one: Any) -> list[Any]:
        return [part for pair in one.items() for part in pair] if isinstance(one, dict) else list(one)

    return any(
        len(now) != len(before) or any(a is not b for a, b in zip(items(now), items(before), strict=True))
        for now, before in contents
    )


def written_of(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """Which arrays have other bytes than before."""
    return [
        k
        for k, (one, other) in enumerate(zip(before, after, strict=True))
        if isinstance(one, np.ndarray) and not same_bytes(one, other)
    ]


def forms_of(arrays: Sequence[Any]) -> list[Any]:
    """What may be changed of arrays beside their bytes."""
    return [(one.shape, one.dtype, one.flags.writeable) for one in arrays if isinstance(one, np.ndarray)]


_MOST_PIECES = 64  # arrays and numbers that one call gives


def refuse_shared(results: Sequence[Any]) -> None:
    """TypeError where two of them have memory in common: what is written into one is in the other."""
    arrays = [one for one in results if isinstance(one, np.ndarray)]
    if any(itertools.starmap(_share, itertools.combinations(arrays, 2))):
        raise TypeError("two of its results share memory")


def _share(one: Any, other: Any) -> bool:
    """Columns of one array share no element: np.nonzero() gives such."""
    try:
        return np.shares_memory(one, other, max_work=1000)  # type: ignore[arg-type]  # so many candidates
    except np.exceptions.TooHardError:
        return True


def watching_effects(  # noqa: PLR0917
    function: Any,
    watched: Callable[..., Any],
    way: Any,
    around: Sequence[Any],
    looked: Callable[[float], None],
    is_worth_it: Callable[[int], bool] = lambda _: True,
) -> Callable[..., Any]:
    """What stands for a function that is called on that way, with a look at what it gives and writes. `watched`: itself, or
    one that looks at its calls. `around`: the functions that are compiled, whose variables outside are looked at too.
    `looked` gets the seconds that a look took. `is_worth_it`: whether to look at a call that is handed so many bytes."""

    # Classes may refuse to be looked into in any way of their own: the call itself is made as ever.
    def call(*args: Any, **kwargs: Any) -> Any:
        key = before = None
        begun = time.perf_counter()
        try:
            key = _key((function, way), args, kwargs, _kind_of)
            arrays = list(arrays_in((args, kwargs)))
            if is_worth_it(sum(getattr(one, "nbytes", 0) for one in arrays)):
                copies = [np.array(one) for one in arrays]
                contents, outside = contents_of((args, kwargs)), outside_of(around)
                handed = handed_containers((args, kwargs))
                held = references(arrays), references(handed)
                before = arrays, handed, held, copies, forms_of(arrays), contents, outside
        except Exception as error:  # noqa: BLE001
            if key is not None:
                _SEEN[key] = str(error)
        took_s = time.perf_counter() - begun
        results = [watched(*args, **kwargs)]  # no other reference
        begun = time.perf_counter()
        if before is not None:
            _CALLED[function, way] += 1
            try:
                _keep(key, seen_of(results, *before))
            except Exception as error:  # noqa: BLE001
                _SEEN[key] = str(error)
        looked(took_s + time.perf_counter() - begun)
        return results[0]

    def seen_of(  # noqa: PLR0917
        results: list[Any], arrays: list[Any], handed: list[Any], held: Any, copies: list[Any], forms: Any, contents: Any,
        outside: dict[Variable, Any],
    ) -> Seen:  # fmt: skip
        if forms_of(arrays) != forms:
            raise TypeError("it changes the shape, the dtype or the flags of an array that it is handed")
        written = tuple(written_of(copies, arrays))
        if are_changed(contents):
            raise TypeError("it changes a list or dict that it is handed")
        after = outside_of(around)
        changed = tuple(variable for variable, state in outside.items() if after.get(variable) != state)
        describe = _variables_described if is_part(function) else functools.partial(_described, is_pure=False)
        gives = describe(results[0], arrays)
        pieces = pieces_of(results[0], gives, arrays)
        inside = arrays_held(results[0], gives, [*arrays, *pieces])
        refuse_containers(results, 1, inside, _OLDEST)
        if len(pieces) > _MOST_PIECES:
            raise TypeError(f"it gives {len(pieces)} results")
        refuse_shared(pieces)
        shared = held_elsewhere(pieces, _OLDEST)
        if not all(pieces[k].flags.c_contiguous for k in shared):
            raise TypeError("it gives an array that is held elsewhere too, and is not C-contiguous")
        kept = kept_of(arrays, held[0], given_back(gives), _OLDEST)
        if kept_of(handed, held[1], collections.Counter(), _OLDEST):
            raise TypeError("it keeps a list, a tuple or a dict that it is handed")
        return Seen(_marked(gives, iter([k in shared for k in range(len(pieces))])), written, changed, kept)

    return call


_OLDEST = 2  # generation of garbage


def given_back(gives: Any) -> collections.Counter[int]:
    """How often a result has each of the arrays that were handed over."""
    return collections.Counter(leaf.position for leaf in _all_leaves(gives) if isinstance(leaf, Argument))


def _marked(described: Any, are_shared: Iterator[bool]) -> Any:
    """The result as described, of which these pieces are held elsewhere."""
    if isinstance(described, Array):
        return replace(described, is_shared=next(are_shared))
    if isinstance(described, _LEAF_KINDS):
        if isinstance(described, type):
            next(are_shared)
        return described
    if isinstance(described, dict):
        return {name: _marked(one, are_shared) for name, one in described.items()}
    items = [_marked(one, are_shared) for one in described]
    return type(described)(*items) if hasattr(described, "_fields") else type(described)(items)


def is_of_numbers(value: Any) -> bool:
    """Whether kernels know such an array, or number of NumPy's."""
    dtype = value.dtype
    is_long = dtype.itemsize > (16 if dtype.kind == "c" else 8)
    return (
        dtype.kind in "biufc"
        and dtype.isnative
        and not is_long
        and (type(value) is np.ndarray or isinstance(value, (np.generic, np.memmap)))
    )


def is_object(value: Any) -> bool:
    """Whether it is an object of a class that Python code defines, which is told from others by its class alone: what calls
    and iterates, what is raised, members of enumerations and our own objects are something else. So are arrays of texts,
    dates and objects, and those of other classes."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return not is_of_numbers(value)
    if not is_of_a_statement(kind) or str(kind.__module__).split(".")[0] in ("builtins", "tilewright", "numpy"):
        return False
    if callable(value) or hasattr(kind, "__next__") or isinstance(value, (BaseException, enum.Enum)):
        return False
    if isinstance(value, tuple) and hasattr(value, "_fields") and not getattr(value, "__dict__", None):
        return False
    plain = (object, tuple, list, dict)  # all that may be in one is found by Python's own ways
    return all(base in plain or is_of_a_statement(base) for base in kind.__mro__)


def arrays_in(value: Any) -> Iterator[Any]:
    """Arrays among arguments, those inside of containers too, in order."""
    if is_object(value):
        return
    if type(value) is np.ndarray:
        yield value
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(arrays_in, value))
    elif _has(value, "dtype") and _has(value, "shape") and not isinstance(value, (type, types.ModuleType)):
        yield value


def _has(value: Any, name: str) -> bool:
    """Without asking for it: of what stands for a selection a shape is an operation."""
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ())


def _key(function: Any, args: Sequence[Any], kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Any:
    key = function, tuple(map(kind_of, args)), tuple((name, kind_of(value)) for name, value in kwargs.items())
    hash(key)
    return key


def kind_of_plain(value: Any, kind_of: Callable[[Any], Any]) -> Any:
    """Of numbers their type, for traces may have them as run-time values; of all else the value."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(kind_of, value))
    if isinstance(value, dict):
        return dict, tuple((key, kind_of(one)) for key, one in value.items())
    if type(value) in (int, float, complex):
        return type(value)
    if type(value) is slice:  # has no hash
        return slice, kind_of((value.start, value.stop, value.step))
    return type(value), value


def _kind_of(value: Any) -> Any:
    if isinstance(value, types.GeneratorType):
        raise TypeError
    if is_object(value):
        return kind_of_object(type(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return "array", value.dtype.str, value.ndim
    if is_object(value) or isinstance(value, np.random.Generator):
        return kind_of_object(type(value))
    return kind_of_plain(value, _kind_of)


def kind_of_object(kind: type) -> Any:
    return "object", kind


def _described(result: Any, arguments: list[Any], is_pure: bool = True) -> Any:
    if type(result) is dict and all(type(key) in (str, int) for key in result):
        return {key: _described(item, arguments, is_pure) for key, item in result.items()}
    if is_object(result):
        if is_pure:
            raise TypeError(f"it gives a {type(result).__name__}")
        return Held(type(result))
    if type(result) in (list, tuple) or hasattr(result, "_fields"):
        items = [_described(item, arguments, is_pure) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if type(result) in (bool, int, float):
        return type(result)
    if not is_pure:
        for position, one in enumerate(arguments):
            if one is result and isinstance(one, np.ndarray):
                return Argument(position)
        if result is None or isinstance(result, (str, bytes, type, np.dtype)):
            return Plain(result)
    if type(result) is not np.ndarray and not isinstance(result, np.generic):
        raise TypeError(f"it gives a {type(result).__name__}")
    if result.dtype.kind not in "biufc" or result.dtype.itemsize > (16 if result.dtype.kind == "c" else 8):
        raise TypeError(f"it gives {result.dtype}")
    if any(isinstance(one, np.ndarray) and np.may_share_memory(one, result) for one in arguments):
        raise TypeError("it gives memory of its argument")
    extents = tuple(_extents(result, axis, arguments) for axis in range(result.ndim))
    return Array(result.dtype.newbyteorder("="), isinstance(result, np.ndarray), extents)


_LEAF_KINDS = (Array, Argument, Plain, Held, type)


def is_part(function: Any) -> bool:
    """Whether it stands for statements of another function, and gives their variables by name."""
    return hasattr(function, "__tilewright_part__")


CONTAINERS = (
    list, tuple, dict, set, frozenset, str, bytes, bytearray, collections.deque, collections.defaultdict, collections.Counter,
    collections.OrderedDict,
)  # fmt: skip


def _variables_described(variables: dict[str, Any], arguments: list[Any]) -> Any:
    """What statements set: containers stay Python's own, but for tuples."""

    def described(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(described, value))
        if type(value) in CONTAINERS:
            return Held(type(value), _kind_of_items(value))
        return _described(value, arguments, is_pure=False)

    return {name: described(value) for name, value in variables.items()}


def _kind_of_items(value: Any) -> Any:
    """Of a list of numbers of one kind, or of tuples of such; None of all else."""
    kinds = {_kind_of_item(item) for item in value} if type(value) is list else set()
    return kinds.pop() if len(kinds) == 1 else None


def _are_of_kind(items: Any, kind: Any) -> bool:
    """As _kind_of_item() has it of each, at the speed of Python's own loops."""
    if not items:
        return True
    types: set[Any] = set(map(type, items))
    if isinstance(kind, tuple):
        if types != {tuple} or set(map(len, items)) != {len(kind)}:
            return False
        columns: list[Any] = list(zip(*items, strict=True))
        return all(_are_of_kind(column, one) for column, one in zip(columns, kind, strict=True))
    if isinstance(kind, str):
        return types == {np.dtype(kind).type}
    return types == {kind} and (kind is not int or (min(items) >= -(2**63) and max(items) < 2**63))


def _kind_of_item(item: Any) -> Any:
    if type(item) is tuple:
        kinds = tuple(map(_kind_of_item, item))
        return None if None in kinds or not kinds else kinds
    if type(item) in (bool, int, float):
        return type(item) if type(item) is not int or -(2**63) <= item < 2**63 else None
    return item.dtype.str if isinstance(item, np.generic) and item.dtype.kind in "biuf" and item.itemsize <= 8 else None


def arrays_held(result: Any, described: Any, arguments: Sequence[Any]) -> list[Any]:
    """Arrays in what Python keeps of a result, but for those that an object has: what is in one stays as it is
    (native/face/held_results.cpp), and may share memory. TypeError where others share memory with each other or with
    arguments, where two containers are one, and where something else is in them."""
    # Each with the position of what Python keeps, where an object in it has the array; else with one of its own.
    found: list[tuple[Any, int]] = []
    seen: set[int] = set()
    for position, one in enumerate(held_of(result, described)):
        there: set[int] = set()
        _look_into(one, found, seen, there, 0, position)
        seen |= there
    given = [(one, -2 - 2 * k) for k, one in enumerate(arguments) if found and isinstance(one, np.ndarray)]
    bounds = sorted((*np.lib.array_utils.byte_bounds(one), owner) for one, owner in (*found, *given) if one.size)
    last, last_owner = 0, 0
    for begin, end, owner in bounds:
        if begin < last and owner != last_owner:
            raise TypeError("it gives a container in which arrays share memory")
        last, last_owner = max((last, last_owner), (end, owner))
    return [one for one, owner in found if owner < 0]


_DEEPEST_HELD, _MOST_HELD = 20, 10_000
_NEVER_HOLD_ARRAYS = (types.ModuleType, types.BuiltinFunctionType, type, np.dtype, np.ufunc, slice, range)
_LEAVES = {str, bytes, bool, int, float, complex, type(None), np.float64, np.float32, np.int64, np.bool_}


def _look_into(  # noqa: PLR0917
    value: Any, found: list[tuple[Any, int]], seen: set[int], in_objects: set[int], depth: int, owner: int,
    is_in_object: bool = False,
) -> None:  # fmt: skip
    kind = type(value)
    if is_in_object and id(value) in in_objects:
        return
    if len(seen) + len(in_objects) > _MOST_HELD:
        raise TypeError(f"it gives a container of more than {_MOST_HELD:,} others")
    is_new = depth < _DEEPEST_HELD and id(value) not in seen and id(value) not in in_objects
    if kind is np.ndarray and not value.dtype.hasobject:
        found.append((value, owner if is_in_object else -1 - 2 * len(found)))
    elif kind in _LEAVES or isinstance(value, (np.generic, *_NEVER_HOLD_ARRAYS)):
        return
    elif is_object(value) and is_new:
        is_in_object = is_in_object or not isinstance(value, (list, tuple))
        (in_objects if is_in_object else seen).add(id(value))
        parts = [*getattr(value, "__dict__", {}).values()]
        for slot in (one for cls in kind.__mro__ for one in vars(cls).values()):
            if isinstance(slot, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):  # nothing is in it yet
                    parts.append(slot.__get__(value))
        if isinstance(value, dict):
            parts += [*dict.keys(value), *dict.values(value)]
        elif isinstance(value, (list, tuple)):
            parts += (list if isinstance(value, list) else tuple).__iter__(value)  # type: ignore[arg-type]
        for part in parts:
            _look_into(part, found, seen, in_objects, depth + 1, owner, is_in_object)
    elif (kind in CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields"))) and is_new:
        if kind is not frozenset and not isinstance(value, tuple):
            (in_objects if is_in_object else seen).add(id(value))
        groups: list[Any] = [value.keys(), value.values()] if isinstance(value, dict) else [value]
        for items in groups:
            if not set(map(type, items)) <= _LEAVES:
                for item in items:
                    _look_into(item, found, seen, in_objects, depth + 1, owner, is_in_object)
    else:
        raise TypeError(f"it gives a container of a {kind.__name__}, or one twice")


def held_of(result: Any, described: Any) -> list[Any]:
    """What Python keeps of a result, in order."""
    if isinstance(described, Held):
        return [result]
    if isinstance(described, _LEAF_KINDS):
        return []
    if isinstance(described, dict):
        return [one for name, like in described.items() for one in held_of(result[name], like)]
    return [one for part, like in zip(result, described, strict=True) for one in held_of(part, like)]


def helds_in(described: Any) -> list[Held]:
    """Of what those are."""
    return [leaf for leaf in _all_leaves(described) if isinstance(leaf, Held)]


def pieces_of(result: Any, described: Any, arguments: Sequence[Any]) -> list[Any]:
    """Arrays and numbers of a result, in order. TypeError where it is not as described."""
    if isinstance(described, Held):
        if type(result) is not described.kind:
            raise TypeError
        if described.items is not None and not _are_of_kind(result, described.items):
            raise TypeError
        return []
    if isinstance(described, Argument):
        if result is not arguments[described.position]:
            raise TypeError
        return []
    if isinstance(described, Plain):
        if type(result) is not type(described.value) or result != described.value:
            raise TypeError
        return []
    if isinstance(described, Array):
        if not isinstance(result, (np.ndarray, np.generic)) or isinstance(result, np.ndarray) != described.is_array:
            raise TypeError
        if type(result) not in (np.ndarray, result.dtype.type) or result.dtype != described.dtype:
            raise TypeError
        if any(isinstance(one, np.ndarray) and np.may_share_memory(one, result) for one in arguments):
            raise TypeError
        return [result]
    if isinstance(described, type):
        if type(result) is not described:
            raise TypeError
        return [result]
    if type(result) is not type(described) or len(result) != len(described):
        raise TypeError
    if isinstance(described, dict):
        if list(result) != list(described):
            raise TypeError
        pairs = [(result[key], described[key]) for key in described]
    else:
        pairs = list(zip(result, described, strict=True))
    return [piece for one, like in pairs for piece in pieces_of(one, like, arguments)]


def leaves_of(described: Any) -> list[Any]:
    """Of what the pieces of such a result are."""
    return [leaf for leaf in _all_leaves(described) if isinstance(leaf, (Array, type))]


def _all_leaves(described: Any) -> Iterator[Any]:
    if isinstance(described, _LEAF_KINDS):
        yield described
        return
    for part in described.values() if isinstance(described, dict) else described:
        yield from _all_leaves(part)


def rebuilt(described: Any, pieces: Iterator[Any], arguments: Sequence[Any], held: Iterator[Any] | None = None) -> Any:
    """A result as described, of what stands for its pieces, for the arguments and for what Python keeps."""
    if isinstance(described, Held):
        assert held is not None
        return next(held)
    if isinstance(described, Argument):
        return arguments[described.position]
    if isinstance(described, Plain):
        return described.value
    if isinstance(described, (Array, type)):
        return next(pieces)
    if isinstance(described, dict):
        return {key: rebuilt(one, pieces, arguments, held) for key, one in described.items()}
    items = [rebuilt(one, pieces, arguments, held) for one in described]
    return type(described)(*items) if hasattr(described, "_fields") else type(described)(items)


def _extents(result: Any, axis: int, arguments: list[Any]) -> tuple[tuple[int, int] | int, ...]:
    """Whose extent it may be: of an argument of the same rank the same axis, rather than any other."""
    extent = result.shape[axis]
    same = [
        (one.ndim != result.ndim or own != axis, k, own)
        for k, one in enumerate(arguments)
        for own in range(one.ndim)
        if one.shape[own] == extent
    ]
    places: list[tuple[int, int] | int] = [(k, own) for _, k, own in sorted(same)]
    return (*places, 1) if extent == 1 else tuple(places)


def _keep(key: Any, found: Any) -> None:
    """What one more call gave, of which only that is known which held of all."""
    for one in {key, _of_any_truth(key)}:
        before = _SEEN.get(one)
        _SEEN[one] = found if before is None else _common(before, found)


def _of_any_truth(key: Any) -> Any:
    """The key of such calls where a bool is known only in the run: elsewhere its value is an option."""
    if type(key) is tuple:
        is_truth = len(key) == 2 and key[0] is bool and type(key[1]) is bool  # noqa: PLR2004
        return bool if is_truth else tuple(map(_of_any_truth, key))
    return key


def _common(before: Any, found: Any, is_pure: bool = True) -> Any:
    """What holds of both. A list that is not always as long as it was is Python's own."""
    if isinstance(found, Seen) and isinstance(before, Seen):
        written = tuple(sorted({*before.written, *found.written}))
        changed = tuple({*before.changed, *found.changed})
        kept = tuple(sorted({*before.kept, *found.kept}))
        return Seen(_common(before.gives, found.gives, is_pure=False), written, changed, kept)
    if isinstance(found, Array) and isinstance(before, Array) and len(found.extents) == len(before.extents):
        pairs = zip(before.extents, found.extents, strict=True)
        extents = tuple(tuple(one for one in mine if one in theirs) for mine, theirs in pairs)
        return Array(found.dtype, found.is_array, extents, before.is_shared or found.is_shared)
    if type(before) is Held and before.kind is type(found) is list:
        return before
    if type(found) is not type(before) or isinstance(found, type):
        return found
    if type(found) is dict and list(found) == list(before):
        return {name: _common(before[name], one, is_pure) for name, one in found.items()}
    if not is_pure and type(found) is list and len(found) != len(before):
        return Held(list)
    if isinstance(found, (list, tuple)) and len(found) == len(before):
        items = [_common(one, other, is_pure) for one, other in zip(before, found, strict=True)]
        return type(found)(*items) if hasattr(found, "_fields") else type(found)(items)
    return found
