"""What a call finds outside of itself, made symbolic: arrays, run-time scalars, guarded constants, hidden arrays.

Every value that reaches the trace from outside goes through `Inputs.make`. The table `KINDS` (kinds_of_inputs.py) says for
each kind of value what is an input, read at each call, and what is guarded (guards.py). What is in no row of it is an object:
its class is guarded, and nothing but its attributes and methods is followed.
"""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import sys
import types
from typing import Any

import numpy as np

from .. import _face
from ..devices import UnknownDtype, stand_in
from ..errors import TraceError
from ..guards import (
    Path,
    PythonGuard,
    Same,
    exact,
    keeps_data,
    path_text,
)
from ..kinds_of_values import is_of_numbers
from ..lent import can_be_handed
from ..ops.stages import EFFECTS
from ..originals import ORIGINAL, RECORDED, original_of
from ..outside_values import is_users
from ..own_attributes import attributes_of
from ..symbolic.argument import Argument
from ..symbolic.arrays import SymArray
from ..symbolic.graph import unchanged
from ..symbolic.refusals import GeneratorInside
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.stages import ON_DEVICE
from ..symbolic.storage import Storage
from ..symbolic.symbols import free_name
from .generators import SymGenerator
from .kinds_of_inputs import KINDS, NUMBERS, is_enum
from .loaded import PATH as PATH_OF_MODULES
from .loaded import LoadedModules
from .program_arguments import add_argument, program_name, refuse_array
from .pure import has_own_operators, is_generic_by_itself
from .set_inputs import SetInputs
from .set_objects import stand_in_of
from .staged_draws import DrawsAreStages, StagedGenerator, of_the_caller
from .vectorized import ATTRIBUTES, vectorized

_INT64 = np.iinfo(np.int64)
# What a member of an enumeration is for good; others of its attributes may be assigned.
_OF_MEMBERS = frozenset(["name", "value", "_name_", "_value_"])
# Modules whose numbers are facts: they are guarded, as a test may replace them, and stay numbers of the source.
CONSTANT_MODULES = frozenset(["numpy", "math", "cmath", "builtins", "sys"])


class Inputs(SetInputs):
    """The symbolic form of each input, made once a path, so that identity is kept."""

    # -- entry points ---------------------------------------------------------------------------------

    def parameter(self, name: str, value: Any) -> Any:
        return self.make(value, (("parameter", name),), is_parameter=True)

    def outside(self, path: Path, value: Any) -> Any:
        """A global, a variable of a closure, a default: whatever is no argument of the call."""
        return self.make(value, path, is_parameter=False)

    def of_module(self, module: types.ModuleType, name: str) -> Any:
        """An attribute of a module."""
        value = getattr(module, name)
        path = (("module", (module, name)),)
        if value is sys.modules:
            return LoadedModules(self.loaded_module)
        if type(value) in NUMBERS and module.__name__.split(".")[0] in CONSTANT_MODULES:
            self._guard(path, "equal", value)
            return value
        self.tracer.reads_outside((id(vars(module)), name), (vars(module), name))
        return self.outside(path, value)

    def builtin(self, function: Any, name: str, value: Any) -> Any:
        """What a name means that is no global of a function: it must stay none."""
        self._guard((("global_of", (self._with_globals_of(function), name)),), "absent", None)
        return self.outside((("module", (builtins, name)),), value)

    def loaded_module(self, name: str) -> Any:
        """What sys.modules has under a name, None where it has nothing."""
        found = sys.modules.get(name)
        guard = PythonGuard(PATH_OF_MODULES, "key", (name, found is not None))
        self.tracer.python_guards[(PATH_OF_MODULES, f"key {name}")] = guard
        return None if found is None else self.outside((*PATH_OF_MODULES, ("item", name)), found)

    def items_of(self, value: Any) -> list[Any] | None:
        """The items of an object from outside whose class is a list or a tuple with more methods; None of all else."""
        path = self.path_of(value)
        if path is None or not self.is_object(value) or not isinstance(value, (list, tuple)):
            return None
        kind = list if isinstance(value, list) else tuple
        # An empty one has no item that its class could give in another way.
        own = ("__iter__", "__len__", "__getitem__") if len(value) else ("__iter__", "__len__")
        if any(getattr(type(value), name) is not getattr(kind, name) for name in own):
            return None
        self._guard(path, "length", (type(value), len(value)))
        return [self.outside((*path, ("item", k)), item) for k, item in enumerate(value)]

    def know(self, value: Any) -> None:
        """An object of the user's that no path leads to (of a set, the class of an object) is found as itself."""
        if isinstance(value, (tuple, frozenset)):
            for part in value:
                self.know(part)
        elif not self.is_outer(value) and is_users(value) and not isinstance(value, BaseException):
            self.make(value, (("object", Same(value)),), is_parameter=False)

    def know_class(self, value: Any, kind: type) -> None:
        """The class of an object from outside is found at the object."""
        path = self.path_of(value)
        if path is not None and kind is type(value) and is_users(kind):
            self.outside((*path, ("attribute", "__class__")), kind)

    def has(self, owner: Any, name: str, is_there: bool) -> None:
        """Whether an object has an attribute decides something."""
        stand_in = stand_in_of(self.tracer, owner)
        if stand_in is not None and name in attributes_of(owner):
            return  # an input, or the function has set it
        path = self.path_of(owner) if stand_in is None else stand_in.path
        if path is not None:
            self.tracer.python_guards[(path, f"has {name}")] = PythonGuard(path, "has", (name, is_there))

    def holds(self, owner: Any, name: str) -> None:
        """An attribute that the function sets is the object's own, where its class has one of the name as well: an object that
        has the class's gets its own by being set, also to what it reads there."""
        stand_in = stand_in_of(self.tracer, owner)
        path = self.path_of(owner) if stand_in is None else stand_in.path
        if path is not None:
            self.tracer.python_guards[path, f"holds {name}"] = PythonGuard(path, "holds", name)

    def attribute(self, owner: Any, name: str, value: Any) -> Any:
        path = self.path_of(owner)
        if path is None:
            return value
        if is_enum(owner) and (name in _OF_MEMBERS or name not in vars(owner)):
            return value  # the member is guarded
        return self.make(value, (*path, ("attribute", name)), is_parameter=False)

    def default(self, function: types.FunctionType, kept_in: str, key: Any) -> Any:
        """A default of a function that is followed; its numbers are constants, as those of the source are."""
        held, path = getattr(function, kept_in), (*self.path_of_function(function), ("attribute", kept_in))
        if isinstance(held, tuple):
            self._guard(path, "length", (tuple, len(held)))
        value, path = held[key], (*path, ("item", key))
        if type(value) in NUMBERS:
            self._guard(path, "equal", value)
            return value
        return self.outside(path, value)

    def of_class(self, cls: type, name: str) -> Any:
        """What a class has under a name: a method of an object of it, say."""
        value = getattr(cls, name)
        return self.outside((("object", Same(cls)), ("attribute", name)), value)

    def getter(self, cls: type, name: str, held: property) -> Any:
        """The function behind a property."""
        return self.outside((("object", Same(cls)), ("attribute", name), ("attribute", "fget")), held.fget)

    def cached(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a function behind lru_cache gives: the caller has it too, and may write into it."""
        held = tuple(map(Same, args)), tuple((key, Same(value)) for key, value in kwargs.items())
        key = exact(tuple(args)), exact(kwargs)
        path = (("cached", self.calls.setdefault((Same(function), key), (Same(function), *held))),)
        return self.make(function(*args, **kwargs), path, is_parameter=False)

    # -- making ---------------------------------------------------------------------------------------

    def make(self, value: Any, path: Path, is_parameter: bool) -> Any:
        if path in self.by_path:
            return self.by_path[path]
        method = next(method for _, fits, method in KINDS if fits(value))
        made = getattr(self, method)(value, path, is_parameter)
        self.by_path[path] = made
        return made

    def _itself(self, value: Any, path: Path, is_parameter: bool) -> Any:
        return value

    def _placed_array(self, value: Any, path: Path, is_parameter: bool) -> SymArray:
        try:
            array = stand_in(value)
        except UnknownDtype as error:
            raise TypeError(f"{self.tracer.function_name}: {path_text(path)} is {error}") from None
        return self._array(array, path, is_parameter, of=type(value))

    def _member(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "is", value)
        self.by_identity.setdefault(id(value), (value, path))
        return value

    def _single(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "is", value)
        known = isinstance(value, type) and value.__module__.split(".")[0] in ("numpy", "builtins")
        if not known and not isinstance(value, types.ModuleType):
            self.by_identity.setdefault(id(value), (value, path))  # its attributes are guarded as they are read
        if isinstance(value, type) and (has_own_operators(type(value)) or is_generic_by_itself(value)):
            self.objects.add(id(value))
        return value

    def _function(self, value: types.FunctionType, path: Path, is_parameter: bool) -> Any:
        if RECORDED in value.__dict__:  # an object has held it since the script's run was recorded
            return self._jitted(value, path, is_parameter)
        self._guard(path, "code", value.__code__)
        self.by_identity.setdefault(id(value), (value, path))
        return value

    def _jitted(self, value: Any, path: Path, is_parameter: bool) -> Any:
        return self.make(original_of(value), (*path, ORIGINAL), is_parameter)

    def _method(self, value: types.MethodType, path: Path, is_parameter: bool) -> Any:
        if type(value) is types.MethodType:  # a method that is jitted meanwhile is what it was
            self._guard(path, "type", types.MethodType)
        function = self.make(value.__func__, (*path, ("attribute", "__func__")), is_parameter=False)
        owner = self.make(value.__self__, (*path, ("attribute", "__self__")), is_parameter=False)
        if isinstance(owner, (SymGenerator, StagedGenerator)):
            return owner.get_attribute(value.__name__)
        return types.MethodType(function, owner)

    def _method_of_c(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "type", type(value))
        self._guard((*path, ("attribute", "__name__")), "equal", value.__name__)
        owner = self.make(value.__self__, (*path, ("attribute", "__self__")), is_parameter=False)
        if owner is value.__self__:
            return value
        if isinstance(owner, (SymGenerator, StagedGenerator)):
            return owner.get_attribute(value.__name__)
        return getattr(owner, value.__name__)

    def _static_method(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "type", staticmethod)
        return self.make(value.__func__, (*path, ("attribute", "__func__")), is_parameter=False)

    def _partial(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "type", type(value))
        function, args, keywords = (
            self.make(getattr(value, name), (*path, ("attribute", name)), is_parameter=False)
            for name in ("func", "args", "keywords")
        )
        return functools.partial(function, *args, **keywords)

    def _vectorized(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "type", type(value))
        held = [
            self.make(getattr(value, name), (*path, ("attribute", name)), is_parameter=False) for name in ATTRIBUTES
        ]
        made = vectorized(*held)
        return self._single(value, path, is_parameter) if made is None else made

    def _items(self, value: Any, path: Path, is_parameter: bool) -> Any:
        if (known := self._held_already(value, path)) is not None:
            return known
        if type(value) is list and path in self.tracer.set_objects:
            return self._grown_list(value, path)
        if type(value) is list and (found := self.list_of_the_call(self, value, path)) is not None:
            self._guard(path, "type", list)
            self._remember(found, path)
            self._hold(value, found, path)
            return found
        self._guard(path, "length", (type(value), len(value)))
        items = [self.make(part, (*path, ("item", k)), is_parameter) for k, part in enumerate(value)]
        if isinstance(value, tuple):
            return tuple.__new__(type(value), items)
        made = items if isinstance(value, list) else collections.deque(items, value.maxlen)
        self._remember(made, path)
        self._hold(value, made, path)
        return made

    def column(self, value: np.ndarray[Any, Any], path: Path) -> SymArray:
        """What a list is read into."""
        return self._array(value, path, is_parameter=False)

    def _table(self, value: Any, path: Path, is_parameter: bool) -> Any:
        if (known := self._held_already(value, path)) is not None:
            return known
        self._guard(path, "keys", (type(value), tuple(value)))
        self.know(tuple(value))
        made: Any = {key: self.make(held, (*path, ("item", key)), is_parameter) for key, held in dict(value).items()}
        if type(value) is collections.defaultdict:
            made = collections.defaultdict(functools.partial(self._refuse_new_key, path), made)
        elif type(value) is not dict:
            made = type(value)(made)
        self._remember(made, path)
        self._hold(value, made, path)
        return made

    def _refuse_new_key(self, path: Path) -> Any:
        raise self.tracer.error(f"a key that {path_text(path)} does not have", "it would be made only once, while tracing",
                                "Make it at the caller.")  # fmt: skip

    def _set(self, value: set[Any], path: Path, is_parameter: bool) -> Any:
        self._guard(path, "contents", exact(value))
        self._remember(value, path)
        self.know(tuple(value))
        return value

    def _object(self, value: Any, path: Path, is_parameter: bool) -> Any:
        self._guard(path, "type", type(value))
        if is_parameter:
            self.tracer.arguments.append(Argument(path_text(path), "object", path))
        known = next((one for one in self.tracer.stand_ins if one.original is value), None)
        if known is not None:
            self._guard(path, "same", known.path, "the same object as at another place")
            return known.made
        self._tell_apart(value, path)
        if path in self.tracer.set_objects:
            return self._stand_in(value, path)
        self._remember(value, path)
        self.objects.add(id(value))
        return value

    def _constant(self, value: Any, path: Path, is_parameter: bool, reason: str = "it is not a number") -> Any:
        if type(value) is frozenset:
            self.know(value)
        self._guard(path, "equal", value, reason)
        self.tracer.arguments.append(
            Argument(program_name(self.tracer, path), "constant", path, value=value, reason=reason)
        )
        return value

    def _getter(self, value: Any, path: Path, is_parameter: bool) -> Any:
        if keeps_data(value):
            return self._object(value, path, is_parameter)
        # A copy: a list in it may change.
        return self._constant(copy.deepcopy(value), path, is_parameter)

    def _array(
        self, value: np.ndarray[Any, Any], path: Path, is_parameter: bool, name: str = "", of: type = np.ndarray
    ) -> SymArray:
        tracer = self.tracer
        if (handed := self._handed_array(value, path, name or path_text(path))) is not None:
            return handed
        refuse_array(tracer, value, name or path_text(path))
        argument = Argument(
            name or program_name(tracer, path),
            "array" if is_parameter else "hidden",
            path,
            str(value.dtype),
            value.ndim,
        )
        if path[0][0] == "constant":
            argument.value = value.copy()
        shape = []
        for axis, extent in enumerate(value.shape):
            symbol = tracer.new_symbol(f"{argument.name}.{axis}", extent, extent=True)
            # The contents of a constant are known, and with them its extents.
            if extent in (0, 1) or path[0][0] == "constant" or path[-1][0] == "pcg64":
                tracer.substitutions[f"{argument.name}.{axis}"] = Size.constant(extent)
                symbol = Size.constant(extent)
            shape.append(symbol)
        made = add_argument(tracer, argument, "argument", value.dtype, shape)
        c_order = path[0][0] == "constant" and bool(value.flags.c_contiguous)
        if argument.name in tracer.layouts and path[0][0] != "constant":
            c_order = bool(value.flags.c_contiguous)
            self._guard(path, "contiguous", c_order, "it decides between a view and a copy")
        read_only = not getattr(value.flags, "writeable", True)
        array = SymArray(tracer, Storage(made, argument, c_order=c_order, read_only=read_only))
        self.arrays.append(array)
        self.originals[id(array)] = array, value, path
        if not is_parameter and path[0][0] != "constant" and path[-1][0] not in ("pcg64", "column"):
            self._guard(path, "type", of)
        return array

    def _handed_array(self, value: Any, path: Path, where: str) -> Any:
        """What stands for an array that no kernel knows, where Python's statements may be handed it."""
        tracer = self.tracer

        def refusal() -> Exception:
            try:
                refuse_array(tracer, value, where)
            except TraceError as error:
                return error
            raise AssertionError(where)

        may_be = tracer.takes_effects and tracer.checked is not None and tracer.untaken is None
        if not may_be or not isinstance(value, np.ndarray) or is_of_numbers(value) or not can_be_handed(value):
            return None
        self._guard(path, "type", type(value))
        dtype = (*path, ("attribute", "dtype"))
        self._guard((*dtype, ("attribute", "num")), "equal", value.dtype.num)
        self._guard((*dtype, ("attribute", "isnative")), "equal", value.dtype.isnative)
        return self.handed_array(type(value), path, refusal)

    def captured_array(self, value: np.ndarray[Any, Any]) -> SymArray:
        """An array made of plain values while tracing: a hidden argument with these contents."""
        key = (("constant", f"constant_{value.dtype}_{'x'.join(map(str, value.shape))}"), value.tobytes())
        self.captured.append((value, key[1]))
        if key not in self.by_path:
            self.by_path[key] = self._array(value, (key[0],), is_parameter=False)
        made: SymArray = self.by_path[key]
        return made

    def restore_captured(self) -> None:
        """What a run of a region that is not kept may have left in them: nobody writes into them. Other arrays that it was the
        first to find are what they were before its loops, where these do not change them."""
        for array, _, path in self.originals.values():
            argument = array.storage.argument
            if path[0][0] == "constant" and argument is not None and argument.program_value is not None:
                array.storage.value = argument.program_value
            else:
                array.storage.value = unchanged(array.storage.value, {})

    def refuse_changed(self) -> None:
        """TraceError where an array of plain values was changed after its contents were taken: a view would see that."""
        if any(value.tobytes() != contents for value, contents in self.captured):
            raise self.tracer.error(
                "changing an array of plain values after it was used beside traced ones",
                "it was made by a call that is not traced, and only its contents are known",
                "Make it with np.zeros or np.array inside of the function.",
            )

    def _generator(self, value: np.random.Generator, path: Path, is_parameter: bool) -> Any:
        bits = value.bit_generator
        if type(value) is not np.random.Generator or type(bits) is not np.random.PCG64:
            return self._object(value, path, is_parameter)  # its draws are refused
        self._guard(path, "type", np.random.Generator)
        entry = self.by_identity.get(id(bits))
        if entry is not None:
            # Found at two places in this call: it must be one generator at both in every call.
            self._guard((*path, ("attribute", "bit_generator")), "same", entry[1])
            return entry[0]
        if len(self.tracer.blocks) > 1:
            raise GeneratorInside(path)
        made = self.drawing(value, path, path)
        self.by_identity[id(bits)] = (made, (*path, ("attribute", "bit_generator")))
        return made

    def drawing(self, value: np.random.Generator, path: Path, lives_on: Path | None) -> SymGenerator | StagedGenerator:
        """A generator on PCG64, as its state at the start of the call; `lives_on`: where the caller has it."""
        if lives_on is not None and EFFECTS in self.tracer.cache and not self.tracer.draws_are_stages:
            raise DrawsAreStages  # calls that nobody has looked into may draw from it
        base = program_name(self.tracer, path) if lives_on is not None else "generator"
        taken = {argument.name for argument in self.tracer.arguments}
        taken.update(self.tracer.cache["function"].__code__.co_varnames)
        name = free_name(f"{base}_state", taken)
        words = self._array(_face.pcg64_words(value), (*path, ("pcg64", "")), is_parameter=False, name=name)
        if self.tracer.draws_are_stages:
            self.tracer.lent.append((name, lives_on))
            return of_the_caller(self.tracer, words, name)
        return SymGenerator(self.tracer, words, lives_on)

    def _numpy_scalar(self, value: np.generic, path: Path, is_parameter: bool) -> Any:
        tracer = self.tracer
        kind = value.dtype.kind
        if kind not in "biuf" or value.dtype in (np.uint64, np.longdouble):
            return self._constant(value, path, is_parameter, "of its dtype")
        carried = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[kind]
        argument = Argument(program_name(tracer, path), "scalar", path, str(value.dtype), value=value)
        made = add_argument(tracer, argument, "scalar", np.dtype(carried), ())
        if value.dtype != carried:
            with tracer.before_all_regions():  # where it is used again, the loop that read it first may have ended
                made = tracer.add("cast", (made,), {}, value.dtype, ())
        return SymArray(tracer, Storage(made), is_scalar=True)

    def _number(self, value: Any, path: Path, is_parameter: bool) -> Any:
        tracer = self.tracer
        if type(value) is int and not _INT64.min <= value <= _INT64.max:
            return self._constant(value, path, is_parameter, "it does not fit 64 bits")
        dtype = np.dtype(np.int64 if type(value) is int else type(value))
        argument = Argument(program_name(tracer, path), "scalar", path, str(dtype), weak=True, value=value)
        made = add_argument(tracer, argument, "scalar", dtype, ())
        if not is_parameter:
            tracer.outer.add(argument.name)
            if path_text(path) not in tracer.cache["changing"]:
                tracer.settled.add(argument.name)
        if type(value) is int:
            return SymInt(tracer, tracer.new_symbol(argument.name, value, extent=False))
        changes = path_text(path) in tracer.cache["changing"]
        # On a device the host would wait for what data decide.
        is_pinned = tracer.cache["pins_numbers"] or tracer.untaken is ON_DEVICE
        if changes and type(value) is float and tracer.checked is not None and not is_pinned:
            return RunScalar(tracer, made, float)  # what it decides, data decide
        return SymScalar(tracer, made, value, frozenset({argument.name}))
