"""What a call passes in, made symbolic: arrays, run-time scalars, guarded constants, hidden arrays.

A path says where a value is found at a later call: ("parameter", name), ("global", name), ("closure", name) of the
traced function, ("global_of", (helper, name)), ("closure_of", (helper, name)), ("module", (module, name)),
("default_rng", seed or the path of one), then ("attribute", name), ("item", key) or ("pcg64", "") steps.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..devices import UnknownDtype, is_placed, stand_in
from .arrays import Storage, SymArray
from .generators import SymGenerator
from .graph import Value
from .scalars import SymInt, SymScalar
from .sizes import Size
from .tracer import Argument, PythonGuard, Tracer, numbers_wanted

Path = tuple[Any, ...]

_INT64 = np.iinfo(np.int64)
_IMMUTABLE = (str, bytes, complex, type(None), type(Ellipsis), slice, range, frozenset, np.dtype)


def path_text(path: Path) -> str:
    """As a person writes it: self.weights[0]."""
    text = _root_text(path)
    for kind, key in path[1:]:
        if kind != "pcg64":
            text += f".{key}" if kind == "attribute" else f"[{key!r}]"
    return text


def _root_text(path: Path) -> str:
    kind, key = path[0]
    if kind == "default_rng":
        return f"default_rng({path_text(key) if isinstance(key, tuple) else '' if key is None else key})"
    return str(key[1]) if isinstance(key, tuple) else str(key)


def _program_name(tracer: Tracer, path: Path) -> str:
    words = [_root_text(path)] + [str(key) for _, key in path[1:]]
    base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in "_".join(words))
    if not base or base[0].isdigit():
        base = f"a{base}"
    taken = {argument.name for argument in tracer.arguments}
    name, count = base, 2
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    return name


class Inputs:
    """The symbolic form of each input, made once a path, so that identity is kept."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.by_path: dict[Path, Any] = {}
        self.by_identity: dict[int, tuple[Any, Path]] = {}
        self.arrays: list[SymArray] = []

    # -- entry points ---------------------------------------------------------------------------------

    def parameter(self, name: str, value: Any) -> Any:
        return self.make(value, (("parameter", name),), is_parameter=True)

    def outside(self, kind: str, name: str, value: Any) -> Any:
        """A global or a variable of a closure."""
        return self.make(value, ((kind, name),), is_parameter=False)

    def is_outer(self, value: Any) -> bool:
        """Whether a container or object lives outside of the function."""
        entry = self.by_identity.get(id(value))
        return entry is not None and entry[0] is value

    def path_of(self, value: Any) -> Path | None:
        entry = self.by_identity.get(id(value))
        return entry[1] if entry is not None and entry[0] is value else None

    def path_of_number(self, size: Size) -> Path | None:
        """Of the integer argument that a size is."""
        return next((a.path for a in self.tracer.arguments if a.kind == "scalar" and size == Size.symbol(a.name)), None)

    def is_object(self, value: Any) -> bool:
        """Whether it is an object of a class that is not ours, NumPy's or Python's own container."""
        return self.is_outer(value) and not isinstance(value, (list, dict, set, type))

    def pin(self, value: Any) -> None:
        """Its identity decides something: another object needs another program."""
        path = self.path_of(value)
        if path is not None and not isinstance(value, (list, dict)):
            self._guard(path, "is", value, "its identity decides")

    def attribute(self, owner: Any, name: str, value: Any) -> Any:
        path = self.path_of(owner)
        return value if path is None else self.make(value, (*path, ("attribute", name)), is_parameter=False)

    # -- making ---------------------------------------------------------------------------------------

    def make(self, value: Any, path: Path, is_parameter: bool) -> Any:
        if path in self.by_path:
            return self.by_path[path]
        made = self._make(value, path, is_parameter)
        self.by_path[path] = made
        return made

    def _make(self, value: Any, path: Path, is_parameter: bool) -> Any:
        tracer = self.tracer
        if isinstance(value, (SymArray, SymInt, SymScalar)):
            return value
        if isinstance(value, np.random.Generator):
            return self._generator(value, path)
        if isinstance(value, np.ndarray):
            return self._array(value, path, is_parameter)
        if is_placed(value):
            try:
                array = stand_in(value)
            except UnknownDtype as error:
                raise TypeError(f"{tracer.function_name}: {path_text(path)} is {error}") from None
            return self._array(array, path, is_parameter, of=type(value))
        if isinstance(value, np.generic):
            return self._numpy_scalar(value, path, is_parameter)
        if isinstance(value, (bool, int, float)) and type(value) in (bool, int, float):
            return self._number(value, path) if is_parameter else self._constant(value, path, "it is not an argument")
        if isinstance(value, _IMMUTABLE):
            return self._constant(value, path, "it is not a number")
        if isinstance(value, (types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
            return value
        if isinstance(value, (types.FunctionType, type)):
            self._guard(path, "is", value)
            if isinstance(value, type) and value.__module__.split(".")[0] not in ("numpy", "builtins"):
                self._remember(value, path)  # its attributes are guarded as they are read
            return value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            self._guard(path, "length", (type(value), len(value)))
            return type(value)(*(self.make(v, (*path, ("item", k)), is_parameter) for k, v in enumerate(value)))
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            self._guard(path, "length", (type(value), len(value)))
            items = [self.make(v, (*path, ("item", k)), is_parameter) for k, v in enumerate(value)]
            made: Any = items if isinstance(value, list) else tuple(items)
            if isinstance(value, list):
                self._remember(made, path)
            return made
        if type(value) is dict:
            self._guard(path, "keys", tuple(value))
            table = {key: self.make(v, (*path, ("item", key)), is_parameter) for key, v in value.items()}
            self._remember(table, path)
            return table
        self._guard(path, "type", type(value))
        self._remember(value, path)
        if is_parameter:
            tracer.arguments.append(Argument(path_text(path), "object", path, value=value))
        return value

    def _remember(self, value: Any, path: Path) -> None:
        entry = self.by_identity.get(id(value))
        if entry is not None and entry[0] is value:
            # Found at two places in this call: it must be one object at both in every call.
            self._guard(path, "same", entry[1], "the same object as at another place")
        else:
            self.by_identity[id(value)] = (value, path)

    def _guard(self, path: Path, kind: str, value: Any, reason: str = "") -> None:
        self.tracer.python_guards[(path, kind)] = PythonGuard(path, kind, value, reason)

    def _constant(self, value: Any, path: Path, reason: str) -> Any:
        self._guard(path, "equal", value, reason)
        self.tracer.arguments.append(
            Argument(_program_name(self.tracer, path), "constant", path, value=value, reason=reason)
        )
        return value

    def _array(
        self, value: np.ndarray[Any, Any], path: Path, is_parameter: bool, name: str = "", of: type = np.ndarray
    ) -> SymArray:
        tracer = self.tracer
        refuse_array(tracer, value, name or path_text(path))
        argument = Argument(
            name or _program_name(tracer, path),
            "array" if is_parameter else "hidden",
            path,
            str(value.dtype),
            value.ndim,
        )
        if path[0][0] == "constant":
            argument.value = value.copy()
        tracer.arguments.append(argument)
        shape = []
        for axis, extent in enumerate(value.shape):
            symbol = tracer.new_symbol(f"{argument.name}.{axis}", extent, extent=True)
            # The contents of a constant are known, and with them its extents.
            if extent in (0, 1) or path[0][0] == "constant" or path[-1][0] == "pcg64":
                tracer.substitutions[f"{argument.name}.{axis}"] = Size.constant(extent)
                symbol = Size.constant(extent)
            shape.append(symbol)
        argument.program_value = _argument_value(tracer, "argument", argument.name, value.dtype, shape)
        c_order = path[0][0] == "constant" and bool(value.flags.c_contiguous)
        if argument.name in tracer.layouts and path[0][0] != "constant":
            c_order = bool(value.flags.c_contiguous)
            self._guard(path, "contiguous", c_order, "it decides between a view and a copy")
        read_only = not getattr(value.flags, "writeable", True)
        array = SymArray(tracer, Storage(argument.program_value, argument, c_order=c_order, read_only=read_only))
        self.arrays.append(array)
        if not is_parameter and path[0][0] != "constant" and path[-1][0] != "pcg64":
            self._guard(path, "type", of)
        return array

    def captured_array(self, value: np.ndarray[Any, Any]) -> SymArray:
        """An array made of plain values while tracing: a hidden argument with these contents."""
        key = (("constant", f"constant_{value.dtype}_{'x'.join(map(str, value.shape))}"), value.tobytes())
        if key not in self.by_path:
            self.by_path[key] = self._array(value, (key[0],), is_parameter=False)
        made: SymArray = self.by_path[key]
        return made

    def _generator(self, value: np.random.Generator, path: Path) -> Any:
        bits = value.bit_generator
        if type(value) is not np.random.Generator or type(bits) is not np.random.PCG64:
            return value  # its draws are refused
        self._guard(path, "type", np.random.Generator)
        entry = self.by_identity.get(id(bits))
        if entry is not None:
            # Found at two places in this call: it must be one generator at both in every call.
            self._guard((*path, ("attribute", "bit_generator")), "same", entry[1])
            return entry[0]
        made = self.drawing(value, path, path)
        self.by_identity[id(bits)] = (made, (*path, ("attribute", "bit_generator")))
        return made

    def drawing(self, value: np.random.Generator, path: Path, lives_on: Path | None) -> SymGenerator:
        """A generator on PCG64, as its state at the start of the call; `lives_on`: where the caller has it."""
        base = _program_name(self.tracer, path) if lives_on is not None else "generator"
        taken = {argument.name for argument in self.tracer.arguments}
        taken.update(self.tracer.cache["function"].__code__.co_varnames)
        name, count = f"{base}_state", 2
        while name in taken:
            name, count = f"{base}_state_{count}", count + 1
        words = self._array(pcg64_words(value), (*path, ("pcg64", "")), is_parameter=False, name=name)
        return SymGenerator(self.tracer, words, lives_on)

    def _numpy_scalar(self, value: np.generic, path: Path, is_parameter: bool) -> Any:
        tracer = self.tracer
        kind = value.dtype.kind
        if not is_parameter or kind not in "biuf" or value.dtype in (np.uint64, np.longdouble):
            return self._constant(value, path, "it is not an argument" if kind in "biuf" else "of its dtype")
        carried = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[kind]
        argument = Argument(_program_name(tracer, path), "scalar", path, str(value.dtype), value=value)
        tracer.arguments.append(argument)
        argument.program_value = _argument_value(tracer, "scalar", argument.name, np.dtype(carried), ())
        made = argument.program_value
        if value.dtype != carried:
            made = tracer.add("cast", (made,), {}, value.dtype, ())
        return SymArray(tracer, Storage(made), is_scalar=True)

    def _number(self, value: Any, path: Path) -> Any:
        tracer = self.tracer
        if isinstance(value, int) and not isinstance(value, bool) and not _INT64.min <= value <= _INT64.max:
            return self._constant(value, path, "it does not fit 64 bits")
        dtype = np.dtype(type(value)) if not isinstance(value, int) or isinstance(value, bool) else np.dtype(np.int64)
        argument = Argument(_program_name(tracer, path), "scalar", path, str(dtype), weak=True, value=value)
        tracer.arguments.append(argument)
        argument.program_value = _argument_value(tracer, "scalar", argument.name, dtype, ())
        if isinstance(value, int) and not isinstance(value, bool):
            return SymInt(tracer, tracer.new_symbol(argument.name, value, extent=False))
        return SymScalar(tracer, argument.program_value, value, frozenset({argument.name}))


def _argument_value(
    tracer: Tracer, operation: str, name: str, dtype: np.dtype[Any], shape: list[Size] | tuple[()]
) -> Value:
    value = tracer.add(operation, (), {}, dtype, shape)
    value.name = name
    return value


def refuse_array(tracer: Tracer, value: np.ndarray[Any, Any], where: str) -> None:
    """TraceError for the arrays that are not plain arrays of numbers."""
    if type(value) is not np.ndarray and not isinstance(value, np.memmap):
        raise tracer.error(
            f"{where} is a {type(value).__module__}.{type(value).__qualname__}",
            "its operations are not those of a plain array",
            f"Pass np.asarray({where}).",
            "array type",
        )
    if not value.dtype.isnative:
        raise tracer.error(
            f"{where} is {value.dtype.str}[{', '.join(map(str, value.shape))}]",
            "byte-swapped arrays are not compiled",
            f'Pass {where}.astype({where}.dtype.newbyteorder("=")).',
            "byte order",
        )
    if value.dtype.kind not in "biufc" or value.dtype in (np.longdouble, np.clongdouble):
        why = {
            "O": "object arrays hold Python objects, which only Python can work on",
        }.get(
            value.dtype.kind,
            "only booleans, integers, floats of up to 64 bits and complex numbers of two such are compiled",
        )
        raise tracer.error(
            f"{where} is {value.dtype}[{', '.join(map(str, value.shape))}]",
            why,
            numbers_wanted(value.dtype),
            "dtype",
        )


def fix_scalar(tracer: Tracer, name: str) -> None:
    """The scalar argument `name` becomes a guarded constant."""
    if name in tracer.sizes:
        tracer.fix_symbol(name)
        return
    for argument in tracer.arguments:
        if argument.name == name and argument.kind == "scalar":
            argument.kind = "constant"
            argument.reason = f"its value decides Python structure at line {tracer.root_line()}"
            tracer.python_guards[(argument.path, "equal")] = PythonGuard(
                argument.path, "equal", argument.value, argument.reason
            )


def pcg64_words(generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """State and increment of a PCG64, high halves first. ValueError for other bit generators."""
    state: Any = generator.bit_generator.state
    if type(generator.bit_generator) is not np.random.PCG64:
        raise ValueError(f"{state['bit_generator']} is not PCG64")
    state = state["state"]
    mask = (1 << 64) - 1
    halves = [state["state"] >> 64, state["state"] & mask, state["inc"] >> 64, state["inc"] & mask]
    return np.array(halves, np.uint64)


class Missing(Exception):
    """A path that leads nowhere in this call."""


def follow(path: Path, parameters: Mapping[str, Any], function: Any) -> Any:
    """The value at `path` in a call. Raises Missing."""
    kind, name = path[0]
    try:
        value: Any
        if kind in ("global_of", "closure_of"):
            function, name = name
        if kind == "parameter":
            value = parameters[name]
        elif kind in ("global", "global_of"):
            value = function.__globals__[name]
        elif kind in ("closure", "closure_of"):
            value = function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
        elif kind == "module":
            value = getattr(sys.modules[name[0]], name[1])
        elif kind == "default_rng":
            value = np.random.default_rng(follow(name, parameters, function) if isinstance(name, tuple) else name)
        else:
            raise Missing(str(path))
        for step, key in path[1:]:
            if step == "pcg64":
                value = pcg64_words(value)
            else:
                value = getattr(value, key) if step == "attribute" else value[key]
    except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
        raise Missing(path_text(path)) from error
    return value
