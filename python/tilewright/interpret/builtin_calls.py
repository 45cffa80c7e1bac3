"""Python's builtins that must see what stands for sizes, numbers and arrays."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops import is_symbolic, python_scalar_cast
from ..ops.stages import materialized
from ..own_attributes import attributes_of
from ..symbolic import from_data
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import BOOL, COMPLEX128, FLOAT64, INT64
from ..symbolic.number import Symbolic, refuse_kinds
from ..symbolic.run_numbers import RunComplex
from ..symbolic.scalars import SymInt, SymScalar, size_of
from ..symbolic.sizes import Size
from ..symbolic.trace_limits import MAX_UNROLLED_ITERATIONS
from . import numbers_of_run
from .array_lists import ArrayList
from .carried_attributes import is_named
from .frame import InterpretedFunction, Pending
from .generators import SymGenerator
from .grown_lists import GrownList
from .iterators import TracedIterator, traced_iterator
from .object_operators import ObjectOperators
from .pure import look_up
from .sequences import TRAVERSED, Sequence, SymRange, array_of_program, is_long, sequence_of
from .set_objects import stand_in_of
from .staged_draws import GeneratorMethod, StagedGenerator, made_here
from .staged_lists import StagedList
from .state import Part, State

_NONE: Any = object()

# What builtins do of many elements, of one at least: NumPy runs the calls in which data leave none.
_SUM = """
def sum(items, start):
    total = start + items[0]
    for item in items[1:]:
        total = total + item
    return total
"""
_SUM_OF_NONE = """
def sum(items, start):
    total = start
    for item in items:
        total = total + item
    return total
"""
_EXTREME = """
def extreme(items):
    best = items[0]
    for item in items:
        if item {} best:
            best = item
    return best
"""


class Builtins(Part):
    """The part of the interpreter that calls builtins."""

    def __init__(
        self, state: State, choose: Callable[..., Any], call: Callable[..., Any], get_attribute: Callable[..., Any],
        operators: ObjectOperators,
    ) -> None:  # fmt: skip
        """`choose` is Branches.choose, `call` and `get_attribute` are those of Calls."""
        super().__init__(state)
        self.operators = operators
        self.choose, self.call, self.get_attribute = choose, call, get_attribute

    def find(self, function: Any) -> Callable[..., Any] | None:
        name = look_up(_SPECIAL, function)
        return getattr(self, name) if name is not None else None

    def _len(self, node: ast.Call, value: Any) -> Any:
        if self.operators.has(value, "__len__"):
            return self.operators.call(node, value, "__len__")
        self.refuse_object(node, value)
        if isinstance(value, (ArrayList, StagedList, GrownList)):
            return value.length()
        if isinstance(value, (SymArray, Compressed)):
            if not value.ndim:
                raise TypeError("len() of unsized object")
            return value.shape[0]
        if isinstance(value, SymRange):
            return value.iterations()
        return len(value)

    def _range(self, node: ast.Call, *limits: Any) -> Any:
        known = [self._limit_of_the_run(node, limit) for limit in limits]
        if any(isinstance(limit, SymInt) for limit in known):
            start, stop, step = (0, known[0], 1) if len(known) == 1 else (*known, 1)[:3]
            self.tracer.require("!=", size_of(step), 0, "range() arg 3 must not be zero", ValueError)
            return SymRange(start, stop, step)
        return range(*known)

    def _limit_of_the_run(self, node: ast.Call, limit: Any) -> Any:
        """An integer of the run as a size."""
        if not from_data.is_run_int(limit):
            return limit
        value = from_data.value_of_int(self.tracer, limit)
        first = node.args[0]
        name = first.id if isinstance(first, ast.Name) and is_named(first.id) else "n"
        return SymInt(self.tracer, from_data.size_from_data(self.tracer, value, name, None, None))

    def _zip(self, node: ast.Call, *parts: Any, **kwargs: Any) -> Any:
        parts = tuple(self._gone_through(node, part) for part in parts)
        items = [sequence_of(self.tracer, part) if isinstance(part, TRAVERSED) else part for part in parts]
        if kwargs.keys() - {"strict"} or not any(isinstance(part, (SymArray, SymRange, Sequence)) for part in parts):
            return traced_iterator(self.state, zip(*parts, **kwargs))  # noqa: B905
        sequences = [item for item in items if isinstance(item, Sequence)]
        if len(sequences) < len(parts):
            return traced_iterator(self.state, zip(*items, **kwargs))  # noqa: B905
        tracer = self.tracer
        for sequence in sequences[1:] if kwargs.get("strict") else ():
            tracer.match(sequence.length, sequences[0].length, "zip() argument 2 is shorter or longer")
        length = tracer.resolve(sequences[0].length)
        for sequence in sequences[1:]:
            if tracer.is_of_data(length - sequence.length):
                length = length.minimum(tracer.resolve(sequence.length))
            elif not tracer.decide("<=", length, sequence.length):
                length = sequence.length
        return Sequence(
            self.tracer, length, lambda k: tuple(sequence.item(k) for sequence in sequences), tuple(sequences)
        )

    def _gone_through(self, node: ast.Call, items: Any) -> Any:
        """What enumerate, zip and reversed take item by item."""
        if isinstance(items, ArrayList):
            return items.items()
        return array_of_program(self.tracer, node, materialized(items))

    def _enumerate(self, node: ast.Call, items: Any, start: Any = 0) -> Any:
        items = self._gone_through(node, items)
        if not isinstance(items, (SymArray, SymRange, Sequence)):
            return traced_iterator(self.state, enumerate(items, start))
        sequence = sequence_of(self.tracer, items)
        return Sequence(self.tracer, sequence.length, lambda k: (k + start, sequence.item(k)), (sequence,))

    def _reversed(self, node: ast.Call, items: Any) -> Any:
        items = self._gone_through(node, items)
        if not isinstance(items, (SymArray, SymRange)) and not (isinstance(items, Sequence) and items.is_of_list):
            return traced_iterator(self.state, reversed(items))
        sequence = sequence_of(self.tracer, items)
        last = SymInt(self.tracer, sequence.length - 1)
        return Sequence(self.tracer, sequence.length, lambda k: sequence.item(last - k), (sequence,))

    def _default_rng(self, node: ast.Call, seed: Any = None) -> Any:
        """A generator that is made at each call, from the seed that the call has."""
        if isinstance(seed, (SymGenerator, StagedGenerator)):
            return seed
        if self.tracer.draws_are_stages:
            return made_here(self.tracer, np.random.default_rng, [] if seed is None else [seed])
        held: Any = seed
        sample: Any = seed
        if isinstance(seed, SymInt):
            size = self.tracer.resolve(seed.size)
            held = size.constant_part if size.is_constant else self.inputs.path_of_number(size)
            sample = self.tracer.value_of(size)
        if (held is None and seed is not None) or type(held) not in (int, tuple, type(None)):
            raise self.error(
                node, ast.unparse(node)[:80],
                "a generator is made before the compiled function runs, from an integer of the source or an argument",
                "Make the generator at the caller, and pass it in.",
            )  # fmt: skip
        # Wrong seeds raise what NumPy raises.
        return self.inputs.drawing(np.random.default_rng(sample), (("default_rng", held),), None)

    def _python_cast(self, target: type, node: ast.Call, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], (SymInt, SymScalar, SymArray)):
            return python_scalar_cast(self.tracer, target, args[0])
        return target(*args, **kwargs)

    def _complex(self, node: ast.Call, *args: Any, **kwargs: Any) -> Any:
        tracer = self.tracer
        given = dict(zip(("real", "imag"), args, strict=False)) | kwargs
        parts = [given.get("real", 0.0), given.get("imag", 0.0)]
        if not any(isinstance(part, Symbolic) for part in parts) or len(args) + len(kwargs) != len(given):
            return complex(*args, **kwargs)
        if "imag" not in given and isinstance(parts[0], RunComplex):
            return parts[0]
        if "imag" not in given and isinstance(parts[0], SymArray) and not parts[0].sizes and parts[0].dtype.kind == "c":
            return RunComplex(tracer, tracer.cast(parts[0].read(), COMPLEX128))
        if not all(map(numbers_of_run.is_number, parts)):
            raise self.error(
                node, ast.unparse(node)[:80], "a part of it is no real number", "Add the parts (re + 1j * im)."
            )
        real, imag = (numbers_of_run.as_float(tracer, part).read() for part in parts)
        made = RunComplex.of_parts(tracer, real, imag)
        known = [part.as_float() if isinstance(part, SymInt) else part for part in parts]
        sources = frozenset[str]().union(*(part.sources for part in known if isinstance(part, SymScalar)))
        if any(map(numbers_of_run.is_of_the_run, known)) or not sources.isdisjoint(tracer.loops):
            return made
        return SymScalar(tracer, made.value, complex(*(getattr(part, "hint", part) for part in known)), sources)

    _int = functools.partialmethod(_python_cast, int)
    _float = functools.partialmethod(_python_cast, float)
    _bool = functools.partialmethod(_python_cast, bool)

    def _isinstance(self, node: ast.Call, value: Any, kinds: Any) -> bool:
        return isinstance(self._stand_in(node, value), kinds)

    def _isclass(self, node: ast.Call, value: Any) -> bool:
        return self._isinstance(node, value, type)

    def _vars(self, node: ast.Call, *owner: Any) -> Any:
        if len(owner) == 1 and hasattr(self._stand_in(node, owner[0]), "__dict__"):
            return self.get_attribute(node, owner[0], "__dict__")
        return self._locals(node, *owner)

    def _locals(self, node: ast.Call, *given: Any) -> Any:
        held = None if given else self.frame.as_locals(node, self.tracer.blocks[-1])
        if held is None:
            raise self.refuse_effect(node, f"{ast.unparse(node.func)}()")
        return held

    def _type(self, node: ast.Call, value: Any, *rest: Any) -> Any:
        return type(value, *rest) if rest else self.type_of(node, value)

    def type_of(self, node: ast.AST, value: Any) -> type:
        kind = type(self._stand_in(node, value))
        self.inputs.know_class(value, kind)
        return kind

    def _hasattr(self, node: ast.Call, value: Any, name: str) -> bool:
        owner = self._stand_in(node, value)
        held = attributes_of(owner).get(name) if self.tracer.is_made(owner) else None
        if isinstance(held, Pending):
            held.read()  # set by iterations of a loop: asked for as what reads it asks for it
            return True
        is_there = hasattr(owner, name)
        self.inputs.has(value, name, is_there)
        return is_there

    def _getattr_static(self, node: ast.Call, value: Any, name: str, default: Any = inspect._empty) -> Any:
        held = inspect.getattr_static(self._stand_in(node, value), name, inspect._empty)
        if held is not inspect._empty or default is inspect._empty:
            raise self.error(node, ast.unparse(node)[:80], "what it finds is not followed", "Use getattr.")
        self.inputs.has(value, name, False)
        return default

    def _callable(self, node: ast.Call, value: Any) -> bool:
        return callable(value)

    def _id(self, node: ast.Call, value: Any) -> int:
        if is_symbolic(value) or stand_in_of(self.tracer, value) is not None:
            raise self.error(node, ast.unparse(node)[:80], "whether two objects are one differs from call to call",
                             "Decide it at the caller.")  # fmt: skip
        self.inputs.pin(value)
        return id(value)

    def _stand_in(self, node: ast.AST, value: Any) -> Any:
        """Something of the very type that the function's own value has."""
        refuse_kinds(value, "the type")
        if isinstance(value, SymArray):
            return value.dtype.type(0) if value.is_scalar else np.empty(0, value.dtype)
        if isinstance(value, Compressed):
            return np.empty(0, value.dtype)
        if isinstance(value, SymInt):
            return 0
        if isinstance(value, SymScalar):
            return value.hint
        if isinstance(value, SymRange):
            return range(0)
        if isinstance(value, (ArrayList, GrownList)):
            return []
        if isinstance(value, SymGenerator):
            return np.random.default_rng(0)
        if isinstance(value, StagedGenerator):
            return np.random.default_rng(0) if value.kind is np.random.Generator else np.random.RandomState(0)
        if isinstance(value, TracedIterator):
            return value.inner
        if isinstance(value, (Sequence, InterpretedFunction, GeneratorMethod)):
            raise self.error(node, f"the type of a value in {ast.unparse(node)[:80]}",
                             "it has a stand-in of another type while the function is traced", "Decide it at the caller.")  # fmt: skip
        return value

    def _getattr(self, node: ast.Call, owner: Any, name: str, *default: Any) -> Any:
        try:
            return self.get_attribute(node, owner, name)
        except AttributeError:
            if default:
                self.inputs.has(owner, name, False)
                return default[0]
            raise

    def _is_long(self, items: Any) -> bool:
        """Whether Python's own functions, which look at elements one by one, need a loop for them that stays one."""
        items = items.array if isinstance(items, ArrayList) else items
        if not isinstance(items, SymArray) or not items.sizes:
            return False
        return is_long(self.tracer, self.tracer.resolve(items.sizes[0]))

    def _may_be_empty(self, items: Any) -> bool:
        """Whether they are numbers that may be none at all, as iterations of a loop or data decide, and Python's 0 in place of
        NumPy's sum is a number that a program has."""
        items = items.array if isinstance(items, ArrayList) else items
        if items.ndim > 1 or (self.tracer.is_of_data(items.sizes[0]) and items.dtype not in (BOOL, INT64, FLOAT64)):
            return False
        return self.tracer.decide_if_same_in_all_iterations(">=", items.sizes[0], 1) is not True

    def _as_written(self, node: ast.Call, text: str, *args: Any) -> Any:
        """The call of a builtin as the Python that it stands for."""
        (definition,) = ast.parse(text).body
        assert isinstance(definition, ast.FunctionDef)
        for part in ast.walk(definition):
            ast.copy_location(part, node)
        return self.call(node, InterpretedFunction(self.call, definition, self.frame, (), {}), list(args), {})

    def _sum(self, node: ast.Call, items: Any, start: Any = 0) -> Any:
        # sum() adds from the left, an array's rows too.
        items = materialized(items)
        if self._is_long(items):
            return self._as_written(node, _SUM_OF_NONE if self._may_be_empty(items) else _SUM, items, start)
        for item in items:
            start = start + item
        return start

    def _extreme(self, function: Any, node: ast.Call, *args: Any, key: Any = None, **kwargs: Any) -> Any:
        """min() or max()"""
        if kwargs:
            return function(*args, **kwargs)
        name, compare = function.__name__, operator.lt if function is min else operator.gt
        args = tuple(map(materialized, args))
        if len(args) == 1 and self._is_long(args[0]):
            if key is not None or (isinstance(args[0], SymArray) and args[0].ndim > 1):
                raise self.error(
                    node, f"loops: {ast.unparse(node)[:80]}, Python's {name}() of an array of more than "
                    f"{MAX_UNROLLED_ITERATIONS} rows",
                    "it compares them one by one, with a key or each as a whole", f"Use np.{name}().",
                )  # fmt: skip
            return self._as_written(node, _EXTREME.format("<" if function is min else ">"), args[0])
        best: Any = _NONE
        of_best: Any = _NONE
        for item in args[0] if len(args) == 1 else args:
            of_item = item if key is None else self.call(node, key, [item], {})
            if best is _NONE:
                best, of_best = item, of_item
                continue
            if any(isinstance(one, SymArray) and one.sizes for one in (of_item, of_best)):
                raise self.error(node, f"{ast.unparse(node)}, {name}() of arrays",
                                 "the truth of an array of several elements is an error", f"Use np.{name}imum.")  # fmt: skip
            holds = compare(of_item, of_best)
            if not self.is_of_the_run(holds):
                best, of_best = (item, of_item) if holds else (best, of_best)
            elif key is None and all(isinstance(one, SymInt) or type(one) is int for one in (item, best)):
                extreme = getattr(Size, f"{name}imum")(size_of(item), size_of(best))
                best = of_best = SymInt(self.tracer, self.tracer.resolve(extreme))
            else:
                best, of_best = (
                    self.choose(node, holds, *((lambda held=one: held) for one in ways))
                    for ways in ((item, best), (of_item, of_best))
                )
        if best is _NONE:
            raise ValueError(f"{name}() arg is an empty sequence")
        return best

    _min = functools.partialmethod(_extreme, min)
    _max = functools.partialmethod(_extreme, max)

    def _map(self, node: ast.Call, function: Any, *iterables: Any) -> Any:
        return TracedIterator(self.state, (self.call(node, function, list(items), {}) for items in zip(*iterables)))  # noqa: B905

    def _filter(self, node: ast.Call, function: Any, items: Any) -> Any:
        passed = (i for i in items if (i if function is None else self.call(node, function, [i], {})))
        return TracedIterator(self.state, passed)

    def _sorted(self, node: ast.Call, items: Any, *, key: Any = None, reverse: bool = False) -> Any:
        wrapped = None if key is None else (lambda item: self.call(node, key, [item], {}))
        return sorted(items, key=wrapped, reverse=reverse)

    def _reduce(self, node: ast.Call, function: Any, items: Any, *initial: Any) -> Any:
        return functools.reduce(lambda a, b: self.call(node, function, [a, b], {}), items, *initial)


_SPECIAL: dict[Any, str] = {
    len: "_len", range: "_range", isinstance: "_isinstance",
    type: "_type", getattr: "_getattr", hasattr: "_hasattr",
    vars: "_vars", locals: "_locals", inspect.isclass: "_isclass", inspect.getattr_static: "_getattr_static", callable: "_callable", id: "_id", sum: "_sum", map: "_map", filter: "_filter",
    sorted: "_sorted", zip: "_zip", enumerate: "_enumerate", reversed: "_reversed", functools.reduce: "_reduce",
    np.random.default_rng: "_default_rng", int: "_int", float: "_float", complex: "_complex", bool: "_bool", min: "_min", max: "_max",
}  # fmt: skip
HAND_ON_OBJECTS = (enumerate, zip, reversed, len)  # those that are in a container
TAKE_OBJECTS = (isinstance, type, getattr, hasattr, callable, id, vars, inspect.isclass, inspect.getattr_static)
