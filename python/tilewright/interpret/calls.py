"""Calls of an interpreted function: which are followed, which have a rule, which run as they are, which are refused."""

from __future__ import annotations

import ast
import collections
import copy
import functools
import inspect
import math
import operator
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._face import Dispatcher as JIT
from ..errors import TraceError
from ..light_dataclass import dataclass
from ..ops import apply_ufunc, call_numpy, is_symbolic, scalar_constructor
from ..ops.callees.draws import DRAWS
from ..ops.reductions import reduce_ufunc
from ..ops.seen_stages import seen_stage
from ..originals import original_of
from ..outside_values import is_of_a_statement
from ..pure_functions import is_pure, writes_arguments
from ..symbolic.argument import is_passed
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import FLOAT64
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.number import Symbolic, number_of_the_call, refuse_kinds
from ..symbolic.refusals import FilledByLoop, SetsAttribute
from ..symbolic.registry import FUNCTIONS
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.stages import ON_DEVICE
from .array_lists import ArrayList, list_of
from .builtin_calls import HAND_ON_OBJECTS, TAKE_OBJECTS, Builtins
from .carried import MISSING
from .closed import Closed
from .frame import Frame, InterpretedFunction, parameters_of
from .generators import SymGenerator
from .grown_lists import GrownList
from .inspected import SIGNATURES, tells_of, told
from .iterators import TracedIterator, traced_iterator
from .kept_objects import KeptObject
from .loaded import LoadedModules
from .made import MadeObjects
from .numbers_of_run import OF_FLOATS, of_the_run
from .object_operators import ObjectOperators
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
    look_up,
    module_of,
)
from .source import site_of, source_of
from .staged_draws import DrawsAreStages, GeneratorMethod, StagedGenerator, draw_globally, made_here
from .staged_lists import FILLING, StagedList
from .staged_texts import ArrayAsBytes, StagedText
from .state import Part, State
from .tables import get_of
from .unknown_callees import UnknownCallees
from .vectorized import ATTRIBUTES, Vectorized, applied, vectorized


class Followed:
    """A function that code which is not followed may call."""

    def __init__(self, calls: Calls, node: ast.Call, function: Any) -> None:
        self.calls, self.node, self.function = calls, node, function
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.calls.call(self.node, self.function, list(args), kwargs)


@dataclass(frozen=True)
class _Default:
    """Stands for a default of a function that is followed: under `key` of its attribute `kept_in`."""

    kept_in: str
    key: Any


class Calls(Part):
    """The part of the interpreter that calls."""

    def __init__(self, state: State, choose: Callable[..., Any], run_node: Callable[..., Any]) -> None:
        """`choose` is Branches.choose, `run_node` Interpreter.run_node."""
        super().__init__(state)
        self.run_node = run_node
        self.made = MadeObjects(state, self.call, self.call_function)
        self.operators = ObjectOperators(state, self.call)
        self.builtins = Builtins(state, choose, self.call, self.get_attribute, self.operators)
        self.unknown = UnknownCallees(state)

    def _is_within(self, recursive: Any) -> bool:
        """Whether a function is running that calls itself, if it is not the compiled one."""
        if recursive is None or recursive is self.tracer.cache["function"].__code__:
            return False
        frame: Frame | None = self.frame
        while frame is not None and recursive is not (frame.function.__code__ if frame.function else frame.node):
            frame = frame.caller
        return frame is not None

    def call_at(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call that the source has. What cannot be followed may be a stage, in another run of the trace."""
        while type(function) is functools.partial:
            args, kwargs, function = [*function.args, *args], {**function.keywords, **kwargs}, function.func
        if self.tracer.as_stages:
            way = self.unknown.way_to(site_of(node))
            refusal = self.tracer.as_stages.get(way)
            if way is not None and refusal is not None:
                return self.unknown.call(way, function, args, kwargs, refusal)
        outer, self.unknown.called = self.unknown.called, (node, function)
        evaluated = self.state.evaluated
        try:
            for given in (*args, *kwargs.values()):
                if isinstance(given, KeptObject):
                    raise given.refused()
            return self.call(node, function, args, kwargs)
        except TraceError as error:
            # Of what stands for an object of the run.
            is_ours = isinstance(function, (GeneratorMethod, Followed, Vectorized))
            # A watched call is handed the generator itself.
            is_ours |= any(isinstance(one, ast.GeneratorExp) for one in node.args)
            may_be = not is_ours and error.is_of(evaluated) and not self._is_within(error.recursive)
            may_be = may_be and self.unknown.can_be(function, args, kwargs)
            if may_be and (way := self.unknown.way_to(site_of(node))) is not None:
                error.ways = (*error.ways, way)
            raise
        finally:
            self.unknown.called = outer

    def call(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, InterpretedFunction):
            return self.call_interpreted(function, args, kwargs)
        if isinstance(function, Followed):
            return self.call(node, function.function, args, kwargs)
        if isinstance(function, Vectorized) and not kwargs and args:
            with self.tracer.composite("vectorize"):
                return self.call_function(applied, [function.function, function.otypes, args], {})
        if isinstance(function, GeneratorMethod):
            self._refuse_objects(node, args, kwargs)
            if isinstance(function.generator, GrownList):
                return self._append_to_the_callers(node, function.generator, *args, **kwargs)
            return function.generator.call(function.name, args, kwargs)
        if len(args) == 1 and not kwargs:
            _refuse_as_python(function, args[0])
            if isinstance(args[0], ArrayList) and (given := args[0].given_to(function)) is not NotImplemented:
                return given
        is_tolist = getattr(function, "__func__", None) is SymArray.tolist and not args and not kwargs
        if is_tolist and (made := list_of(function.__self__, self.place(node))) is not None:
            return made
        is_copy = (function is copy.copy or function is copy.deepcopy) and len(args) == 1 and not kwargs
        if is_copy and (made := self.made.copied(args[0], function is copy.deepcopy)) is not NotImplemented:
            return made
        special = self.builtins.find(function)
        if special is not None:
            hands_on = function in HAND_ON_OBJECTS and not any(map(self.inputs.is_object, args))
            hands_on |= function is len and len(args) == 1 and self.operators.has(args[0], "__len__")
            if function not in TAKE_OBJECTS and not hands_on:
                self._refuse_objects(node, args, kwargs)
            return special(node, *args, **kwargs)
        if is_pure(function) and not writes_arguments(function, args, kwargs):
            return self._call_stage(node, function, args, kwargs)
        if (computed := of_the_run(self.tracer, function, args, kwargs)) is not None:
            return computed
        if look_up(_MATH, function) and (computed := self._math(function, args, kwargs)) is not None:
            return computed
        if (what := look_up(EFFECTS, function)) is not None:
            raise self.refuse_effect(node, what)
        if function is warnings.warn and self._inside_numpy():
            return None  # compiled code gives no warnings
        if isinstance(function, np.ufunc):
            if is_symbolic(args) or is_symbolic(kwargs):
                return apply_ufunc(self.tracer, function, args, **kwargs)
            return self._run(node, function, args, kwargs)
        bound_to = getattr(function, "__self__", None)
        if isinstance(bound_to, np.ufunc):
            if function.__name__ == "reduce" and is_symbolic(args):
                return reduce_ufunc(self.tracer, bound_to, args, kwargs)
            return self._run(node, function, args, kwargs)
        if bound_to is np.random.mtrand._rand and self.tracer.checked is not None:
            return draw_globally(self.tracer, function.__name__, args, kwargs)
        if isinstance(bound_to, (np.random.Generator, np.random.RandomState, np.random.BitGenerator)):
            raise self._refuse_draw(node, bound_to)
        if look_up(FUNCTIONS, function) is not None:
            self._refuse_objects(node, args, kwargs)
            return call_numpy(self.tracer, function, args, kwargs)
        if function is super:
            return self.made.super_of(node, args)
        if isinstance(function, type):
            return self._call_class(node, function, args, kwargs)
        if isinstance(bound_to, (SymArray, SymInt, SymScalar, Compressed, TracedIterator, LoadedModules)):
            self._refuse_objects(node, args, kwargs)
            return function(*args, **kwargs)
        if isinstance(bound_to, SIGNATURES) and not self.inputs.is_object(bound_to):
            self.refuse_in_region(node, getattr(bound_to, "arguments", None), f"{ast.unparse(node.func)}()")
            return function(*args, **kwargs)
        if isinstance(function, types.MethodType):
            return self.call(node, function.__func__, [function.__self__, *args], kwargs)
        if isinstance(function, functools.partial):
            return self.call(node, function.func, [*function.args, *args], {**function.keywords, **kwargs})
        if isinstance(function, np.poly1d) and type(function).__call__ is np.poly1d.__call__:
            # Read as attributes are, which guards it: another polynomial may be there later, or other coefficients in it.
            return self.call(node, np.polyval, [self.get_attribute(node, function, "coeffs"), *args], kwargs)
        module = module_of(function).split(".")[0]
        if module == "numpy":
            return self._call_numpy_function(node, function, args, kwargs)
        if (function is warnings.simplefilter or function is warnings.filterwarnings) and self.tracer.silenced:
            given = inspect.signature(function).bind(*args, **kwargs)
            given.apply_defaults()
            asked = given.arguments
            if issubclass(np.exceptions.ComplexWarning, asked["category"]):
                self.tracer.complex_is_error = asked["action"] == "error"
            if asked["action"] != "error" or not issubclass(RuntimeWarning, asked["category"]):
                return None  # compiled code gives no warnings
        if tells_of(function, args) and not kwargs:
            return told(self.inputs, function, args[0])
        if module in EFFECT_MODULES:
            raise self.refuse_effect(node, f"{function.__module__}.{getattr(function, '__name__', 'call')}()")
        if isinstance(function, types.FunctionType):
            # What such a function holds is the caller's: the ways that are registered with functools.singledispatch.
            if module in MODULES and module in sys.stdlib_module_names and not function.__closure__:
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
        call_method = original_of(getattr(type(function), "__call__", None))  # noqa: B004
        if isinstance(call_method, types.FunctionType):
            return self.call_function(self.inputs.of_class(type(function), "__call__"), [function, *args], kwargs)
        if not callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
        raise self.refuse_effect(node, f"{ast.unparse(node.func)}()")

    def _call_stage(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A pure function that Python calls between kernels; of what is known at the trace it is called there."""
        self._refuse_objects(node, args, kwargs)
        self.inputs.pin(function)
        if not is_symbolic(args) and not is_symbolic(kwargs):
            return function(*args, **kwargs)
        before = self.tracer.made
        if isinstance(function, types.FunctionType) and not _has_arrays([args, kwargs]):
            # Of sizes and numbers the result is known while tracing, which that of a stage is not.
            try:
                return self.call_function(function, args, kwargs)
            except TraceError:
                self.tracer.undone.append(range(before, self.tracer.made))
        try:
            return seen_stage(self.tracer, function, args, kwargs)
        except TraceError as refusal:
            if refusal.not_seen or not isinstance(function, types.FunctionType) or self.tracer.untaken is not None:
                raise
        return self.call_function(function, args, kwargs)

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
        value = self.tracer.add(_MATH[function], (number.value,), {}, FLOAT64, ())
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
        return traced_iterator(self.state, function(*args, **kwargs))

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
                "the call would read the object, or take items from it, only once, while tracing",
                "Do it at the caller, and pass arrays and numbers.",
            )

    def _call_method_of_c(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        bound_to = getattr(function, "__self__", None)
        if isinstance(bound_to, (list, dict, set, collections.deque)):
            if function.__name__ in MUTATORS:
                if function.__name__ == "append":
                    self._begin_with_grown(bound_to)
                if type(bound_to) is list and function.__name__ in FILLING:
                    self._refuse_filling(node, bound_to)
                self.refuse_in_region(node, bound_to, f"{ast.unparse(node.func)}()")
                if type(bound_to) is dict and self.state.changes:
                    self.changes_outer(node, bound_to, f"{ast.unparse(node.func)}()")
                elif self.inputs.is_outer(bound_to):
                    raise self.error(node, f"{ast.unparse(node.func)}() on something outside of the function",
                                     "it would happen only once, while tracing",
                                     "Return the value, and collect it at the caller.")  # fmt: skip
                if type(bound_to) is list and function.__name__ in ("append", "insert") and not kwargs:
                    return function(*args)  # which keeps what it is handed
            if function.__name__ == "get" and (found := get_of(self.tracer, bound_to, args)) is not NotImplemented:
                return found
            if function.__name__ == "get" and len(args) == 2 and self.inputs.is_object(args[1]):
                found = self._run(node, function, [args[0], MISSING], kwargs)
                return args[1] if found is MISSING else found
            return self._run(node, function, args, kwargs)
        if self.inputs.is_object(bound_to) or not is_pure_method(function, bound_to):
            raise self.refuse_effect(node, f"{ast.unparse(node.func)}()")
        return self._run(node, function, args, kwargs)

    def _begin_with_grown(self, held: Any) -> None:
        """Raises SetsAttribute for a list of the caller's arguments, to which one can append without a look at it."""
        path, tracer = self.inputs.path_of(held), self.tracer
        is_followed = tracer.checked is not None and tracer.untaken is not ON_DEVICE and not self.state.changes
        if (
            type(held) is list
            and path is not None
            and is_passed(path)
            and is_followed
            and path not in tracer.set_objects
        ):
            raise SetsAttribute(path, set())

    def _append_to_the_callers(self, node: ast.Call, grown: GrownList, *items: Any, **named: Any) -> None:
        [].append(*items, **named)  # or Python's own error
        self.at(node)
        is_in_region = bool(self.state.containers)
        if is_in_region:
            self.tracer.need_stand_ins(grown.path)
        grown.append(items[0], self.frame, is_in_region)

    def _refuse_filling(self, node: ast.Call, held: list[Any]) -> None:
        """A list of the function's own that a loop of the run fills."""
        place, _ = self.list_noted(held)
        changes = any(id(held) in containers for containers in self.state.containers)
        if changes and place is not None and self.tracer.checked is not None:
            self.at(node)
            refusal = self.tracer.error_of(
                FilledByLoop,
                f"{ast.unparse(node)[:80]} in a run-time loop or branch; the list is Python's own.",
                LEAVE_IT_OUT,
            )
            refusal.place = place
            raise refusal

    def _call_cached(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A function behind lru_cache gives at every call what it gave once: an array of it is an input."""
        self._refuse_objects(node, args, kwargs)
        numbers = [number_of_the_call(value) for value in (*args, *kwargs.values())]
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

    def _refuse_draw(self, node: ast.Call, source: Any) -> TraceError:
        bits = source if isinstance(source, np.random.BitGenerator) else getattr(source, "bit_generator", None)
        if bits is None:
            bits = getattr(source, "_bit_generator", source)
        whose = "NumPy's global generator, " if source is np.random.mtrand._rand else ""
        return self.error(
            node,
            f"a random draw in {ast.unparse(node)[:80]}",
            f"it draws from {whose}{type(bits).__name__}; only draws from numpy.random.Generator on PCG64 are compiled",
            "Draw from rng = np.random.default_rng(seed), or leave the draw out of the compiled function.",
        )

    def _call_numpy_function(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        module = module_of(function)
        if module.startswith("numpy.random") and function.__name__ in DRAWS and self.tracer.checked is not None:
            return draw_globally(self.tracer, function.__name__, args, kwargs)
        if module.startswith("numpy.random"):
            raise self._refuse_draw(node, np.random.mtrand._rand)
        if is_symbolic(args) or is_symbolic(kwargs):
            if isinstance(function, types.FunctionType) and self._inside_numpy():
                return self.call_function(function, args, kwargs)
            return call_numpy(self.tracer, function, args, kwargs)
        if not self._inside_numpy() and not is_pure_numpy(function):
            raise self.refuse_effect(node, f"np.{function.__name__}()")
        return self._run(node, function, args, kwargs)

    def _inside_numpy(self) -> bool:
        """Whether NumPy's own source is being followed."""
        return bool(self.tracer.composites)

    # -- attributes ------------------------------------------------------------------------------------------

    def get_attribute(self, node: ast.AST, owner: Any, name: str) -> Any:
        if isinstance(owner, GrownList) and name == "append":
            return GeneratorMethod(owner, name)
        if isinstance(owner, Closed):
            self.at(node)
            raise owner.refused()
        if isinstance(owner, (SymGenerator, StagedGenerator)):
            return owner.get_attribute(name)
        if isinstance(owner, (ArrayList, StagedList)):
            getattr([], name)  # or Python's own AttributeError
            return GeneratorMethod(owner, name)
        if isinstance(owner, StagedText):
            getattr(owner.kind, name)  # or Python's own AttributeError
            return GeneratorMethod(owner, name)
        if name == "tobytes" and isinstance(owner, (SymArray, Compressed)) and self.tracer.checked is not None:
            refuse_kinds(owner, name)
            return GeneratorMethod(ArrayAsBytes(owner), name)
        if name == "__class__":
            return self.builtins.type_of(node, owner)
        if isinstance(owner, Symbolic) and name.startswith("__") and not callable(getattr(owner, name, None)):
            return getattr(self.builtins.type_of(node, owner), name)
        refuse_kinds(owner, f"{name}")
        if isinstance(owner, types.ModuleType):
            return self.inputs.of_module(owner, name)
        if is_named_tuple(type(owner)):
            return self._attribute_of_named_tuple(owner, name)
        if isinstance(owner, super):
            return self.made.get_of_super(node, owner, name)
        if self.tracer.is_made(owner):
            return self.made.get(node, owner, name)
        self.inputs.know(owner)
        if not self.inputs.is_object(owner):
            value = getattr(owner, name)
            # A method of a container is that of what stands for it.
            return value if isinstance(value, types.BuiltinMethodType) else self.inputs.attribute(owner, name, value)
        return self._attribute_of_object(node, owner, name)

    def _attribute_of_named_tuple(self, owner: Any, name: str) -> Any:
        """Its parts are its own; all else is its class's: read at each call, and followed."""
        kind = type(owner)
        if name in kind._fields or name in _OF_NAMED_TUPLES or hasattr(tuple, name):
            return getattr(owner, name)
        held = original_of(inspect.getattr_static(kind, name, None))
        if type(held) is property and isinstance(held.fget, types.FunctionType):
            return self.call_function(self.inputs.getter(kind, name, held), [owner], {})
        found = self.inputs.of_class(kind, name)  # or Python's own error
        return types.MethodType(found, owner) if isinstance(held, types.FunctionType) else found

    def _attribute_of_object(self, node: ast.AST, owner: Any, name: str) -> Any:
        """Attributes are found as Python finds them, at each call; a property in Python is followed instead."""
        kind = type(owner)
        if isinstance(kind.__getattribute__, types.FunctionType):
            raise self.error(node, f"{ast.unparse(node)[:80]}, of a {kind.__name__} that defines __getattribute__",
                             "what it does would happen only once, while tracing", "Pass what it gives.")  # fmt: skip
        held = inspect.getattr_static(kind, name, None)
        if type(held) is property and isinstance(held.fget, types.FunctionType):
            return self.call_function(self.inputs.getter(kind, name, held), [owner], {})
        return self.inputs.attribute(owner, name, getattr(owner, name))

    # -- functions with source --------------------------------------------------------------------------------

    def call_function(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A Python function: its source is interpreted too; without source it is traced by the protocols."""
        entered = self.unknown.entered(function)
        if not is_numpys(function):
            self.inputs.path_of_function(function)
        node = source_of(function)
        if node is None:
            return call_without_source(self.inputs, function, args, kwargs)
        positional, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        if not is_numpys(function):
            positional = tuple(_Default("__defaults__", k) for k in range(len(positional)))
            named = {name: _Default("__kwdefaults__", name) for name in named}
        variables = parameters_of(node, function.__name__, positional, named)(*args, **kwargs)
        for name, held in variables.items():
            if isinstance(held, _Default):
                variables[name] = self.inputs.default(function, held.kept_in, held.key)
        self.state.entered = entered
        return self.run_node(node, function, None, variables, function.__code__.co_filename, function.__name__)

    def call_interpreted(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        variables = function.parameters(*args, **kwargs)
        file = self.tracer.frames[-1][0] if self.tracer.frames else self.tracer.file
        return self.run_node(function.node, None, function.frame, variables, file, function.__name__)

    # -- classes ------------------------------------------------------------------------------------------------

    def _call_class(self, node: ast.Call, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if cls is np.vectorize:
            asked = inspect.signature(np.vectorize).bind(*args, **kwargs)
            asked.apply_defaults()
            made = vectorized(*[asked.arguments[name] for name in ATTRIBUTES])
            if made is not None:
                return made
        if issubclass(cls, np.generic):
            if is_symbolic(args):
                return scalar_constructor(self.tracer, cls, *args)
            return self._run(node, cls, args, kwargs)
        if cls is np.random.RandomState and self.tracer.checked is not None:
            if not self.tracer.draws_are_stages:
                raise DrawsAreStages
            return made_here(self.tracer, cls, args, kwargs)
        if cls.__module__.startswith("numpy.random"):
            raise self.error(
                node, ast.unparse(node)[:80], "a compiled function makes random generators only by np.random.default_rng()",
                "Use np.random.default_rng(seed), or make it at the caller and pass it in.",
            )  # fmt: skip
        if is_named_tuple(cls) and self.inputs.objects_in([*args, *kwargs.values()]) is not None:
            return cls(*args, **kwargs)  # which reads nothing of them
        if is_pure_class(cls) or is_named_tuple(cls) or self._inside_numpy():
            return self._run(node, cls, args, kwargs)
        if self.made.can_make(cls):
            return self.made.make(node, cls, args, kwargs)
        raise self.error(
            node,
            f"making a {cls.__name__} object",
            "its class decides itself how objects are made, or how their attributes are found",
            "Make it at the caller and pass it in, or use plain arrays and tuples.",
        )


def _refuse_as_python(function: Any, value: Any) -> None:
    """Python's own TypeError for an object whose class has no length, or no items."""
    kind = type(value)
    if not is_of_a_statement(kind) or kind.__module__.split(".")[0] == "tilewright":
        return
    if function is len and not hasattr(kind, "__len__"):
        raise TypeError(f"object of type '{kind.__name__}' has no len()")
    if function is iter and not hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__"):
        raise TypeError(f"'{kind.__name__}' object is not iterable")


def _has_arrays(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_arrays, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_arrays, value))
    return isinstance(value, (SymArray, Compressed, np.ndarray))


# Python's functions of a float that are NumPy's: where one raises, NumPy's gives no number.
_MATH = {
    function: OF_FLOATS[function].__name__
    for function in (
        math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.exp, math.expm1,
        math.log, math.log2, math.log10, math.log1p, math.sqrt, math.fabs,
    )
}  # fmt: skip
_OF_NAMED_TUPLES = frozenset(["_replace", "_asdict", "_make", "_fields", "_field_defaults"])
# Functions that are followed where code that is not hands them arguments.
_OURS = (types.FunctionType, types.MethodType, JIT, functools._lru_cache_wrapper, operator.methodcaller)
