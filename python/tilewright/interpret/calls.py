"""Calls of an interpreted function: which are followed, which have a rule, which run as they are, which are refused."""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import math
import operator
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._face import Dispatcher as JIT
from ..ops import apply_ufunc, call_numpy, is_symbolic, python_scalar_cast, scalar_constructor
from ..ops.reductions import reduce_ufunc
from ..symbolic import from_data
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.registry import FUNCTIONS
from ..symbolic.scalars import RunScalar, Symbolic, SymInt, SymScalar, refuse_kinds
from ..symbolic.sizes import Size
from .generators import GeneratorMethod, SymGenerator
from .iterators import TracedIterator
from .protocols import call_without_source
from .pure import (
    EFFECT_MODULES,
    EFFECTS,
    MODULES,
    MUTATORS,
    changes_first,
    is_named_tuple,
    is_numpys,
    is_pure_class,
    is_pure_method,
    is_pure_numpy,
)
from .sequences import Sequence, enumerated, sequence_of, turned_around, zipped
from .source import source_of

if TYPE_CHECKING:
    from ..errors import TraceError
    from ..symbolic.tracer import Tracer
    from .arguments import Inputs


_NONE: Any = object()


def _itself(value: Any) -> Any:
    return value


class Followed:
    """A function that code which is not followed may call."""

    def __init__(self, calls: Calls, node: ast.Call, function: Any) -> None:
        self.calls, self.node, self.function = calls, node, function
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.calls.call(self.node, self.function, list(args), kwargs)


class Defaults(Mapping[str, Any]):
    """The defaults of a function, each found where it is kept when it is needed."""

    def __init__(self, inputs: Inputs, function: types.FunctionType) -> None:
        self.inputs, self.function = inputs, function
        code, values = function.__code__, function.__defaults__ or ()
        self.names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        self.keywords = function.__kwdefaults__ or {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            return self._made(self.keywords[name], ("attribute", "__kwdefaults__"), name)
        index = self.names.index(name)
        values = self.function.__defaults__
        assert values is not None
        return self._made(values[index], ("attribute", "__defaults__"), index, (type(values), len(values)))

    def _made(self, value: Any, where: tuple[str, str], key: Any, length: Any = None) -> Any:
        if is_numpys(self.function):
            return value
        path = (*self.inputs.path_of_function(self.function), where)
        return self.inputs.default(value, path, key, length)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.names, *self.keywords))

    def __len__(self) -> int:
        return len(self.names) + len(self.keywords)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class SymRange:
    """range() with a size among its limits."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    def trips(self) -> Any:
        step = self.step.__index__()
        length = self.stop - self.start if step > 0 else self.start - self.stop
        if length <= 0:
            return 0
        return (length + (abs(step) - 1)) // abs(step)

    def items(self) -> list[Any]:
        trips = self.trips()
        return [self.start + k * self.step.__index__() for k in range(trips.__index__())]

    def __len__(self) -> int:
        return int(self.trips().__index__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def __getitem__(self, key: Any) -> Any:
        return self.concrete()[key] if isinstance(key, slice) else self.items()[key]

    def concrete(self) -> range:
        """Its numbers in the recorded call, guarded: for what only Python's own range does."""
        return range(*(limit.__index__() for limit in (self.start, self.stop, self.step)))

    def __repr__(self) -> str:
        return repr(self.concrete())

    def __hash__(self) -> int:
        return hash(self.concrete())

    def __eq__(self, other: object) -> bool:
        return self.concrete() == (other.concrete() if isinstance(other, SymRange) else other)

    def __reduce__(self) -> Any:
        return self.concrete().__reduce__()

    def index(self, number: Any) -> int:
        return self.concrete().index(operator.index(number))

    def count(self, number: Any) -> int:
        return self.concrete().count(operator.index(number))


class Calls:
    """The part of the interpreter that calls."""

    tracer: Tracer
    inputs: Inputs

    if TYPE_CHECKING:
        frame: Any

        def at(self, node: ast.AST) -> None: ...
        def error(self, node: ast.AST, asked: str, why: str, what_to_do: str) -> TraceError: ...
        def evaluate(self, node: ast.expr) -> Any: ...
        def unpacked(self, node: ast.expr) -> Any: ...
        def get_attribute(self, node: ast.AST, owner: Any, name: str) -> Any: ...
        def run_node(self, *args: Any) -> Any: ...
        def refuse_object(self, node: ast.AST, *values: Any) -> None: ...
        def is_of_the_run(self, condition: Any) -> bool: ...
        def choose(self, node: ast.AST, condition: Any, *ways: Callable[[], Any], skips: bool = False) -> Any: ...
        def refuse_in_region(self, node: ast.AST, owner: Any, asked: str) -> None: ...
        def refuse_outer(self, node: ast.AST, owner: Any, asked: str) -> None: ...

    # -- call expressions ----------------------------------------------------------------------------------

    def call_expression(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        args: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(self.unpacked(argument.value))
            else:
                args.append(self.evaluate(argument))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(self.unpacked(keyword.value))
            else:
                kwargs[keyword.arg] = self.evaluate(keyword.value)
        self.at(node)
        return self.call(node, function, args, kwargs)

    def call(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        from .interpreter import InterpretedFunction

        if isinstance(function, InterpretedFunction):
            return self.call_interpreted(function, args, kwargs)
        if isinstance(function, Followed):
            return self.call(node, function.function, args, kwargs)
        if isinstance(function, GeneratorMethod):
            self._refuse_objects(node, args, kwargs)
            return function.generator.call(function.name, args, kwargs)
        special = self._special(function)
        if special is not None:
            if function not in _TAKE_OBJECTS:
                self._refuse_objects(node, args, kwargs)
            return special(node, *args, **kwargs)
        if _is_hashable(function) and function in _MATH:
            computed = self._math(function, args, kwargs)
            if computed is not None:
                return computed
        what = EFFECTS.get(function) if _is_hashable(function) else None
        if what is not None:
            raise self._refuse_effect(node, what)
        if self._is_silent(function):
            return None
        if isinstance(function, np.ufunc):
            if is_symbolic(args) or is_symbolic(kwargs):
                return apply_ufunc(self.tracer, function, args, **kwargs)
            return self._run(node, function, args, kwargs)
        bound_to = getattr(function, "__self__", None)
        if isinstance(bound_to, np.ufunc):
            if function.__name__ == "reduce" and is_symbolic(args):
                return reduce_ufunc(self.tracer, bound_to, args, kwargs)
            return self._run(node, function, args, kwargs)
        if isinstance(bound_to, (np.random.Generator, np.random.RandomState, np.random.BitGenerator)):
            raise self._refuse_draw(node, bound_to)
        if self._rule_for(function) is not None:
            self._refuse_objects(node, args, kwargs)
            return call_numpy(self.tracer, function, args, kwargs)
        if function is super:
            raise self.error(node, "super()", "inherited methods are not followed through it",
                             "Call the method of the class by name.")  # fmt: skip
        if isinstance(function, type):
            return self._call_class(node, function, args, kwargs)
        if isinstance(bound_to, (SymArray, SymInt, SymScalar, Compressed, TracedIterator)):
            self._refuse_objects(node, args, kwargs)
            return function(*args, **kwargs)
        if isinstance(function, types.MethodType):
            return self.call(node, function.__func__, [function.__self__, *args], kwargs)
        if isinstance(function, functools.partial):
            return self.call(node, function.func, [*function.args, *args], {**function.keywords, **kwargs})
        module = (getattr(function, "__module__", None) or "").split(".")[0]
        if module == "numpy":
            return self._call_numpy_function(node, function, args, kwargs)
        if module in EFFECT_MODULES:
            raise self._refuse_effect(node, f"{function.__module__}.{getattr(function, '__name__', 'call')}()")
        if isinstance(function, types.FunctionType):
            if module in MODULES and module in sys.stdlib_module_names:
                return self._run(node, function, args, kwargs)
            return self.call_function(function, args, kwargs)
        if isinstance(function, JIT):
            return self.call_function(function.__wrapped__, args, kwargs)  # type: ignore[attr-defined]
        if isinstance(function, functools._lru_cache_wrapper):
            return self._call_cached(node, function, args, kwargs)
        if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            # list.append(x, 1) is x.append(1).
            is_array = (
                bool(args) and isinstance(args[0], (SymArray, Compressed)) and function.__objclass__ is np.ndarray
            )
            if is_array or (args and isinstance(args[0], function.__objclass__)):
                return self.call(node, getattr(args[0], function.__name__), args[1:], kwargs)
            return self._run(node, function, args, kwargs)
        if isinstance(function, (types.BuiltinFunctionType, types.MethodWrapperType)):
            return self._call_method_of_c(node, function, args, kwargs)
        if isinstance(function, operator.attrgetter):
            return self._get_attributes(node, function, *args, **kwargs)
        if isinstance(function, operator.methodcaller) and len(args) == 1 and not kwargs:
            return self._call_method(node, function, args[0])
        if isinstance(function, (operator.itemgetter, operator.methodcaller)):
            self.refuse_object(node, function)
            return self._run(node, function, args, kwargs)
        call_method = getattr(type(function), "__call__", None)  # noqa: B004
        if isinstance(call_method, types.FunctionType):
            return self.call_function(self.inputs.of_class(type(function), "__call__"), [function, *args], kwargs)
        if not callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
        raise self._refuse_effect(node, f"{ast.unparse(node.func)}()")

    def _is_silent(self, function: Any) -> bool:
        """Whether it is a warning of NumPy's own source: compiled code gives none of those about numbers."""
        return function is warnings.warn and self._inside_numpy()

    def _math(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A function of the math module of a number from outside of the call; None where it is computed while tracing."""
        number = args[0] if len(args) == 1 and not kwargs else None
        if isinstance(number, SymInt):
            number = number.as_float()
        if not isinstance(number, SymScalar) or isinstance(number, RunScalar) or self.tracer.checked is None:
            return None
        if isinstance(number.hint, bool) or not number.sources or not number.sources <= self.tracer.outer:
            return None
        hint = function(number.hint)  # or Python's own error
        value = self.tracer.add(_MATH[function], (number.value,), {}, np.dtype(np.float64), ())
        result = SymScalar(self.tracer, value, hint, number.sources)
        result.check_finite(f"math.{function.__name__}() that is no number")
        return result

    def _run(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call that does nothing but compute its result, as it is. Functions that it is handed are followed."""
        self._refuse_objects(node, args, kwargs)
        if changes_first(function) and args:
            self.refuse_outer(node, args[0], f"{ast.unparse(node.func)}()")
        args = [self._followed(node, argument) for argument in args]
        kwargs = {name: self._followed(node, argument) for name, argument in kwargs.items()}
        return self._traced_iterator(function(*args, **kwargs))

    def _traced_iterator(self, made: Any) -> Any:
        is_plain = isinstance(made, Iterator) and not isinstance(made, (TracedIterator, Symbolic))
        return TracedIterator(self, made) if is_plain else made  # type: ignore[arg-type]

    def _followed(self, node: ast.Call, value: Any) -> Any:
        of_container = isinstance(getattr(value, "__self__", None), (list, dict, set, collections.deque))
        return Followed(self, node, value) if isinstance(value, _OURS) or of_container else value

    def _refuse_objects(self, node: ast.Call, args: Any, kwargs: Any) -> None:
        """Code that is not followed would read objects behind our back: once, and not at later calls."""
        held = self.inputs.objects_in([*args, *kwargs.values()])
        if held is not None:
            raise self.error(
                node,
                f"{ast.unparse(node)[:80]}, with a {type(held).__name__} object",
                "what the call reads of the object, or takes out of it, would be that of the call that is traced",
                "Do it at the caller, and pass arrays and numbers.",
            )

    def _call_method_of_c(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        bound_to = getattr(function, "__self__", None)
        if isinstance(bound_to, (list, dict, set, collections.deque)):
            if function.__name__ in MUTATORS:
                self.refuse_in_region(node, bound_to, f"{ast.unparse(node.func)}()")
                if self.inputs.is_outer(bound_to):
                    raise self.error(node, f"{ast.unparse(node.func)}() on something outside of the function",
                                     "it would happen only once, while tracing",
                                     "Return the value, and collect it at the caller.")  # fmt: skip
            return self._run(node, function, args, kwargs)
        if self.inputs.is_object(bound_to) or not is_pure_method(function, bound_to):
            raise self._refuse_effect(node, f"{ast.unparse(node.func)}()")
        return self._run(node, function, args, kwargs)

    def _call_cached(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A function behind lru_cache gives at every call what it gave once: an array of it is an input."""
        self._refuse_objects(node, args, kwargs)
        numbers = [int(v) if isinstance(v, SymInt) else v.concrete() if isinstance(v, SymScalar) else v
                   for v in (*args, *kwargs.values())]  # fmt: skip
        if is_symbolic(numbers):
            raise TypeError("unhashable type: 'numpy.ndarray'")
        named = dict(zip(kwargs, numbers[len(args) :], strict=True))
        return self.inputs.cached(function, numbers[: len(args)], named)

    def _get_attributes(self, node: ast.Call, getter: Any, owner: Any) -> Any:
        found = []
        for name in getter.__reduce__()[1]:
            held = owner
            for part in name.split("."):
                held = self.get_attribute(node, held, part)
            found.append(held)
        return found[0] if len(found) == 1 else tuple(found)

    def _call_method(self, node: ast.Call, caller: operator.methodcaller, owner: Any) -> Any:
        self.refuse_object(node, caller)
        reduced: Any = caller.__reduce__()
        made, parts = reduced
        # With keywords it is a partial of the class, which has the name.
        name, *args = (*made.args, *parts) if isinstance(made, functools.partial) else parts
        keywords = made.keywords if isinstance(made, functools.partial) else {}
        return self.call(node, self.get_attribute(node, owner, name), args, dict(keywords))

    def _refuse_effect(self, node: ast.Call, what: str) -> TraceError:
        return self.error(
            node,
            f"{what} in {ast.unparse(node)[:80]}",
            "it is a fallback statement: it has to happen at every call, and a compiled function would do it never",
            "Move it to the caller, or leave it out of the compiled function.",
        )

    def _refuse_draw(self, node: ast.Call, source: Any) -> TraceError:
        bits = source if isinstance(source, np.random.BitGenerator) else getattr(source, "bit_generator", None)
        if bits is None:
            bits = getattr(source, "_bit_generator", source)
        whose = "NumPy's global generator, " if source is np.random.mtrand._rand else ""
        return self.error(
            node,
            f"a random draw in {ast.unparse(node)[:80]}",
            f"it draws from {whose}{type(bits).__name__}; those of numpy.random.Generator on PCG64 are compiled alone",
            "Draw from rng = np.random.default_rng(seed), or leave the draw out of the compiled function.",
        )

    def _rule_for(self, function: Any) -> Any:
        try:
            return FUNCTIONS.get(function)
        except TypeError:
            return None

    def _call_numpy_function(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        module = function.__module__ or ""
        if module.startswith("numpy.random"):
            raise self._refuse_draw(node, np.random.mtrand._rand)
        if is_symbolic(args) or is_symbolic(kwargs):
            if isinstance(function, types.FunctionType) and self._inside_numpy():
                return self.call_function(function, args, kwargs)
            return call_numpy(self.tracer, function, args, kwargs)
        if not self._inside_numpy() and not is_pure_numpy(function):
            raise self._refuse_effect(node, f"np.{function.__name__}()")
        return self._run(node, function, args, kwargs)

    def _inside_numpy(self) -> bool:
        """Whether NumPy's own source is being followed."""
        return bool(self.tracer.composites)

    # -- functions with source --------------------------------------------------------------------------------

    def call_function(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A Python function: its source is interpreted too; without source it is traced by the protocols."""
        if not is_numpys(function):
            self.inputs.path_of_function(function)
        node = source_of(function)
        if node is None:
            return call_without_source(self.inputs, function, args, kwargs)
        # Binding first: a wrong call raises Python's own TypeError.
        inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
        defaults = self._defaults_of(function)
        variables = bind_arguments(function.__name__, node.args, defaults, args, kwargs)
        return self.run_node(node, function, None, variables, function.__code__.co_filename, function.__name__)

    def _defaults_of(self, function: types.FunctionType) -> Mapping[str, Any]:
        return Defaults(self.inputs, function)

    def call_interpreted(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        variables = bind_arguments(function.__name__, function.node.args, function.defaults, args, kwargs)
        file = self.tracer.frames[-1][0] if self.tracer.frames else self.tracer.file
        return self.run_node(function.node, None, function.frame, variables, file, function.__name__)

    # -- classes and builtins -----------------------------------------------------------------------------------

    def _call_class(self, node: ast.Call, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if issubclass(cls, np.generic):
            if is_symbolic(args):
                return scalar_constructor(self.tracer, cls, *args)
            return self._run(node, cls, args, kwargs)
        if cls.__module__.startswith("numpy.random"):
            raise self.error(
                node, ast.unparse(node)[:80], "of random generators only np.random.default_rng() is made in a compiled function",
                "Use np.random.default_rng(seed), or make it at the caller and pass it in.",
            )  # fmt: skip
        if is_pure_class(cls) or is_named_tuple(cls) or self._inside_numpy():
            return self._run(node, cls, args, kwargs)
        raise self.error(
            node,
            f"making a {cls.__name__} object",
            "objects are only read in a compiled function",
            "Make it at the caller and pass it in, or use plain arrays and tuples.",
        )

    def _special(self, function: Any) -> Callable[..., Any] | None:
        try:
            name = _SPECIAL.get(function)
        except TypeError:
            return None
        return getattr(self, name) if name is not None else None

    def _len(self, node: ast.Call, value: Any) -> Any:
        self.refuse_object(node, value)
        if isinstance(value, SymArray):
            if not value.ndim:
                raise TypeError("len() of unsized object")
            return value.shape[0]
        if isinstance(value, Compressed):
            return value.shape[0]
        if isinstance(value, SymRange):
            return value.trips()
        return len(value)

    def _range(self, node: ast.Call, *limits: Any) -> Any:
        known = [self._limit_of_the_run(node, limit) for limit in limits]
        if any(isinstance(limit, SymInt) for limit in known):
            start, stop, step = (0, known[0], 1) if len(known) == 1 else (*known, 1)[:3]
            step_size = step.size if isinstance(step, SymInt) else Size.constant(step.__index__())
            self.tracer.require("!=", step_size, 0, "range() arg 3 must not be zero", ValueError)
            return SymRange(start, stop, step)
        return range(*known)

    def _limit_of_the_run(self, node: ast.Call, limit: Any) -> Any:
        """An integer of the run as a size."""
        if not from_data.is_run_int(limit):
            return limit
        value = from_data.value_of_int(self.tracer, limit)
        name = "n" if not isinstance(node.args[0], ast.Name) else node.args[0].id
        return SymInt(self.tracer, from_data.size_from_data(self.tracer, value, name, None, None))

    def _zip(self, node: ast.Call, *parts: Any, **kwargs: Any) -> Any:
        sequences = [sequence_of(self.tracer, part) for part in parts]
        strict = kwargs.pop("strict", False)
        if strict:
            kwargs["strict"] = strict
        if kwargs.keys() - {"strict"} or not any(isinstance(part, (SymArray, SymRange, Sequence)) for part in parts):
            return self._traced_iterator(zip(*parts, **kwargs))  # noqa: B905
        if any(sequence is None for sequence in sequences):
            items = [part if sequence is None else sequence for part, sequence in zip(parts, sequences, strict=True)]
            return self._traced_iterator(zip(*items, **kwargs))  # noqa: B905
        for sequence in sequences[1:] if strict else ():
            assert sequence is not None and sequences[0] is not None
            self.tracer.require(
                "==", sequence.length, sequences[0].length, "zip() argument 2 is shorter or longer", ValueError
            )
        return zipped(self.tracer, [sequence for sequence in sequences if sequence is not None])

    def _enumerate(self, node: ast.Call, items: Any, start: Any = 0) -> Any:
        if not isinstance(items, (SymArray, SymRange, Sequence)):
            return self._traced_iterator(enumerate(items, start))
        sequence = sequence_of(self.tracer, items)
        assert sequence is not None
        return enumerated(self.tracer, sequence, start)

    def _reversed(self, node: ast.Call, items: Any) -> Any:
        if not isinstance(items, (SymArray, SymRange)):
            return self._traced_iterator(reversed(items))
        sequence = sequence_of(self.tracer, items)
        assert sequence is not None
        return turned_around(self.tracer, sequence)

    def _default_rng(self, node: ast.Call, seed: Any = None) -> Any:
        """A generator that is made at each call, from the seed that the call has."""
        if isinstance(seed, SymGenerator):
            return seed
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

    def _int(self, node: ast.Call, *args: Any, **kwargs: Any) -> Any:
        return self._python_cast(int, *args, **kwargs)

    def _float(self, node: ast.Call, *args: Any, **kwargs: Any) -> Any:
        return self._python_cast(float, *args, **kwargs)

    def _bool(self, node: ast.Call, *args: Any) -> Any:
        return self._python_cast(bool, *args)

    def _python_cast(self, target: type, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], (SymInt, SymScalar, SymArray)):
            return python_scalar_cast(self.tracer, target, args[0])
        return target(*args, **kwargs)

    def _isinstance(self, node: ast.Call, value: Any, kinds: Any) -> bool:
        return isinstance(self._stand_in(node, value), kinds)

    def _type(self, node: ast.Call, value: Any, *rest: Any) -> Any:
        return type(value, *rest) if rest else self.type_of(node, value)

    def type_of(self, node: ast.AST, value: Any) -> type:
        kind = type(self._stand_in(node, value))
        self.inputs.know_class(value, kind)
        return kind

    def _hasattr(self, node: ast.Call, value: Any, name: str) -> bool:
        is_there = hasattr(self._stand_in(node, value), name)
        self.inputs.has(value, name, is_there)
        return is_there

    def _callable(self, node: ast.Call, value: Any) -> bool:
        return callable(value)

    def _id(self, node: ast.Call, value: Any) -> int:
        if is_symbolic(value):
            raise self.error(node, ast.unparse(node)[:80], "whether two objects are one differs from call to call",
                             "Decide it at the caller.")  # fmt: skip
        self.inputs.pin(value)
        return id(value)

    def _stand_in(self, node: ast.AST, value: Any) -> Any:
        """Something of the very type that the function's own value has."""
        from .interpreter import InterpretedFunction

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
        if isinstance(value, SymGenerator):
            return np.random.default_rng(0)
        if isinstance(value, TracedIterator):
            return value.inner
        if isinstance(value, (Sequence, InterpretedFunction, GeneratorMethod)):
            raise self.error(node, f"the type of a value in {ast.unparse(node)[:80]}",
                             "what stands for it while the function is traced has another one", "Decide it at the caller.")  # fmt: skip
        return value

    def _getattr(self, node: ast.Call, owner: Any, name: str, *default: Any) -> Any:
        try:
            return self.get_attribute(node, owner, name)
        except AttributeError:
            if default:
                self.inputs.has(owner, name, False)
                return default[0]
            raise

    def _refuse_long(self, node: ast.Call, items: Any, name: str) -> None:
        """Python's own functions look at an array's elements one by one."""
        from ..symbolic.tracer import MAX_UNROLLED_TRIPS

        if isinstance(items, SymArray) and items.sizes:
            length = self.tracer.value_of(self.tracer.resolve(items.sizes[0]))
            if length > MAX_UNROLLED_TRIPS:
                raise self.error(
                    node, f"loops: {ast.unparse(node)[:80]}, Python's {name}() of {length} rows of an array",
                    f"it takes them one by one, of which at most {MAX_UNROLLED_TRIPS} are written out",
                    f"Use np.{name}().",
                )  # fmt: skip

    def _sum(self, node: ast.Call, items: Any, start: Any = 0) -> Any:
        # sum() adds from the left, an array's rows too.
        self._refuse_long(node, items, "sum")
        for item in items:
            start = start + item
        return start

    def _extreme(self, node: ast.Call, compare: Callable[[Any, Any], Any], name: str, args: Any, key: Any) -> Any:
        if len(args) == 1:
            self._refuse_long(node, args[0], name)
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
                sizes = [one.size if isinstance(one, SymInt) else Size.constant(one) for one in (item, best)]
                extreme = Size.minimum(*sizes) if name == "min" else Size.maximum(*sizes)
                best = of_best = SymInt(self.tracer, self.tracer.resolve(extreme))
            else:
                best, of_best = (
                    self.choose(node, holds, *(functools.partial(_itself, one) for one in ways))
                    for ways in ((item, best), (of_item, of_best))
                )
        if best is _NONE:
            raise ValueError(f"{name}() arg is an empty sequence")
        return best

    def _min(self, node: ast.Call, *args: Any, key: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            return min(*args, **kwargs)
        return self._extreme(node, operator.lt, "min", args, key)

    def _max(self, node: ast.Call, *args: Any, key: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            return max(*args, **kwargs)
        return self._extreme(node, operator.gt, "max", args, key)

    def _map(self, node: ast.Call, function: Any, *iterables: Any) -> Any:
        return TracedIterator(self, (self.call(node, function, list(items), {}) for items in zip(*iterables)))  # type: ignore[arg-type]  # noqa: B905

    def _filter(self, node: ast.Call, function: Any, items: Any) -> Any:
        passed = (i for i in items if (i if function is None else self.call(node, function, [i], {})))
        return TracedIterator(self, passed)  # type: ignore[arg-type]

    def _sorted(self, node: ast.Call, items: Any, *, key: Any = None, reverse: bool = False) -> Any:
        wrapped = None if key is None else (lambda item: self.call(node, key, [item], {}))
        return sorted(items, key=wrapped, reverse=reverse)

    def _reduce(self, node: ast.Call, function: Any, items: Any, *initial: Any) -> Any:
        return functools.reduce(lambda a, b: self.call(node, function, [a, b], {}), items, *initial)


_SPECIAL: dict[Any, str] = {
    len: "_len", range: "_range", int: "_int", float: "_float", bool: "_bool", isinstance: "_isinstance",
    type: "_type", getattr: "_getattr", hasattr: "_hasattr", callable: "_callable", id: "_id", sum: "_sum", min: "_min", max: "_max", map: "_map", filter: "_filter",
    sorted: "_sorted", zip: "_zip", enumerate: "_enumerate", reversed: "_reversed", functools.reduce: "_reduce",
    np.random.default_rng: "_default_rng",
}  # fmt: skip
# Python's functions of a float that are NumPy's: where one raises, NumPy's gives no number.
_MATH = {
    math.sin: "sin", math.cos: "cos", math.tan: "tan", math.asin: "arcsin", math.acos: "arccos", math.atan: "arctan",
    math.sinh: "sinh", math.cosh: "cosh", math.tanh: "tanh", math.exp: "exp", math.expm1: "expm1", math.log: "log",
    math.log2: "log2", math.log10: "log10", math.log1p: "log1p", math.sqrt: "sqrt", math.fabs: "absolute",
}  # fmt: skip
# Functions that are followed where code that is not hands them arguments.
_OURS = (types.FunctionType, types.MethodType, JIT, functools._lru_cache_wrapper, operator.methodcaller)
_TAKE_OBJECTS = (isinstance, type, getattr, hasattr, callable, id)


def bind_arguments(
    name: str, arguments: ast.arguments, defaults: Mapping[str, Any], args: list[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Python's binding of a call to parameters; TypeError where it does not fit."""
    variables: dict[str, Any] = {}
    positional = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    remaining = dict(kwargs)
    if len(args) > len(positional) and arguments.vararg is None:
        raise TypeError(f"{name}() takes {len(positional)} positional arguments but {len(args)} were given")
    variables.update(zip(positional, args, strict=False))
    position_only = {a.arg for a in arguments.posonlyargs}
    for parameter in positional[: len(args)]:
        if parameter in kwargs and parameter not in position_only:
            raise TypeError(f"{name}() got multiple values for argument '{parameter}'")
    if arguments.vararg is not None:
        variables[arguments.vararg.arg] = tuple(args[len(positional) :])
    for parameter in [*positional[len(args) :], *(a.arg for a in arguments.kwonlyargs)]:
        if parameter in remaining and parameter not in position_only:
            variables[parameter] = remaining.pop(parameter)
        elif parameter in defaults:
            variables[parameter] = defaults[parameter]
        else:
            raise TypeError(f"{name}() missing 1 required argument: '{parameter}'")
    if arguments.kwarg is not None:
        variables[arguments.kwarg.arg] = remaining
    elif remaining:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(remaining))}'")
    return variables


__all__ = ["Calls", "SymRange", "bind_arguments"]
