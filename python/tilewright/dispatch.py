"""How the runtime checks a trace's guards and finds its inputs by itself, so that a call need not pass through Python.

The C dispatcher knows dtypes, ranks, layouts and sizes; it compares parameters with fixed values, goes along paths
(globals, attributes, items, variables of closures), insists on the exact type of a scalar (a Python float is weak
under NEP 50, a NumPy scalar is not), locks random generators, reads their states and moves them on. What it cannot find
is found in Python, before a plain function of the program is called.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _face
from .draws import draws_globally
from .errors import InternalError
from .originals import RECORDED
from .partials import Partials
from .plan import Version, all_objects, compose
from .program import Program, ScalarArgument
from .result_forms import finisher
from .structure import is_flat, is_given_by_plans

_CARRIED: dict[str, type[Any]] = {"float64": float, "int64": int, "bool": bool, "complex128": complex}
_SIMPLE = (bool, int, float, str, type(None))
_SAME_KINDS = ("is", "type", "length", "code", "holds")  # of guards that the runtime has under their own name


class _NotInC(Exception):
    """A guard or an input that Python has to look at."""


def c_binding(function: Callable[..., Any], traced: Any, program: Program) -> dict[str, Any] | None:
    """What Dispatcher.add() needs besides plan and objects; None where Python has to check guards."""
    if traced.handed or traced.reaching:
        return None  # Python looks whether they share memory
    try:
        binding = _binding(function, traced, program)
    except _NotInC:
        return None
    if not is_given_by_plans(traced.results):
        binding["finish"] = finisher(traced.results)
    return binding


def _binding(function: Any, traced: Any, program: Program) -> dict[str, Any]:
    constants: dict[str, Any] = {}
    hidden: dict[str, int] = {}
    scalar_types: dict[str, type] = {}
    places = _Places(function, traced)
    checks: list[tuple[int, str, Any]] = []
    by_name = {argument.name: argument for argument in traced.arguments}
    read = set()  # paths of arrays, which are checked as every array is
    states, generators = set(), []
    for name, path, drawn in traced.generators:
        states.add(name)
        draws = None if traced.draws_are_stages else str(drawn)
        generators.append((name, places.of(path), draws, traced.draws_move or draws is not None))
    if draws_globally(traced):
        generators.append((None, places.global_bits(), None, True))
    itself = places.of((("function", ""),))
    checks += [(itself, "defaults", function.__defaults__), (itself, "keywords", function.__kwdefaults__)]
    for name, value in (function.__kwdefaults__ or {}).items():
        checks.append((places.of((("function", ""), ("attribute", "__kwdefaults__"), ("item", name))), "is", value))
    for wanted in program.arguments:
        argument = by_name[wanted.name]
        kind, name = argument.path[0]
        if kind == "constant":
            constants[wanted.name] = argument.value
        elif argument.path != (("parameter", wanted.name),):
            if kind == "default_rng" and isinstance(name, tuple):
                checks.append((places.of(name), "type", int))  # of a generator NumPy would make that very one
            if wanted.name not in states:
                hidden[wanted.name] = places.of(argument.path)
            if argument.kind == "hidden":
                read.add(argument.path)
        if isinstance(wanted, ScalarArgument):
            scalar_types[wanted.name] = _exact_type(argument, wanted)
    for guard in traced.guards:
        kind, name = guard.path[0]
        if guard.kind == "contiguous" and guard.value and kind == "parameter":
            continue  # all versions ask for that layout
        is_fixed = isinstance(guard.value, (*_SIMPLE, type))
        if guard.kind in ("equal", "is") and kind == "parameter" and len(guard.path) == 1 and is_fixed:
            constants[name] = guard.value
        elif guard.kind != "type" or guard.path not in read:
            checks.append((places.of(guard.path), *_check(guard, places)))
    sets = [places.of(path) for path in traced.set_objects]
    return {
        "constants": constants or None,
        "hidden": hidden or None,
        "places": places.list,
        "checks": checks,
        "scalar_types": scalar_types or None,
        "generators": generators,
        "sets": (sets, not traced.writes and traced.may_begin_anew) if sets else None,
    }


def _check(guard: Any, places: _Places) -> tuple[str, Any]:
    """The runtime's kind of a guard, and what it compares with."""
    from .guards import value_holds  # noqa: PLC0415  (a trace has imported it; `import tilewright` does without)

    if guard.kind in _SAME_KINDS or guard.kind == "absent":
        return guard.kind, guard.value
    if guard.kind in ("same", "another"):
        return guard.kind, places.of(guard.value)
    if guard.kind == "equal" and type(guard.value) in _SIMPLE:
        return "equal", guard.value
    if guard.kind in ("lacks", "plain"):
        return guard.kind, tuple(guard.value)
    if guard.kind == "keys" and guard.value[0] is dict and all(type(key) in _SIMPLE for key in guard.value[1]):
        return "keys", tuple(guard.value[1])
    return "call", functools.partial(value_holds, guard.kind, guard.value)


def _column_of(key: Any, items: Any) -> Any:
    from .guards import column_of  # noqa: PLC0415  (a trace has imported it; `import tilewright` does without)

    return column_of(key, items)


def _called(args: list[Any], keywords: dict[str, Any], function: Callable[..., Any]) -> Any:
    """What a function behind lru_cache gives."""
    return function(*args, **keywords)


class _Places:
    """Paths as the runtime goes along them: each place begins at one before it."""

    def __init__(self, function: types.FunctionType, traced: Any) -> None:
        self.function = function
        self.codes = {guard.path: guard.value for guard in traced.guards if guard.kind == "code"}
        self.list: list[tuple[int, str, Any]] = []
        self._known: dict[Any, int] = {}

    def of(self, path: tuple[Any, ...]) -> int:
        """The number of the place of a path. Raises _NotInC."""
        if path in self._known:
            return self._known[path]
        if len(path) == 1:
            found = self._begin(*path[0])
        else:
            step, key = path[-1]
            if step == "cell":
                step, key = "closure", self.codes[path[:-1]].co_freevars.index(key)
            elif step == "pcg64":
                step, key = "call", _face.pcg64_words
            elif step == "column":
                step, key = "call", functools.partial(_column_of, key)
            elif step == "length":
                step, key = "call", len
            elif step == "original":
                key = RECORDED
            elif step not in ("attribute", "item"):
                raise _NotInC
            found = self._add(self.of(path[:-1]), step, key)
        self._known[path] = found
        return found

    def _begin(self, kind: str, key: Any) -> int:
        if kind == "parameter":
            return self._add(-1, "parameter", key)
        if kind in ("global", "global_of"):
            function, name = (self.function, key) if kind == "global" else key
            return self._add(self._object(function.__globals__), "entry", name)
        if kind == "closure":
            index = self.function.__code__.co_freevars.index(key)
            return self._add(self._object((self.function.__closure__ or ())[index]), "contents", None)
        if kind == "function":
            return self._object(self.function)
        if kind == "object":
            return self._object(key.value)
        if kind == "cached":
            called, args, keywords = key
            again = functools.partial(_called, [held.value for held in args], {k: held.value for k, held in keywords})
            return self._add(self._object(called.value), "call", again)
        if kind == "default_rng":  # nobody else has it: it is made for the call
            seed = self.of(key) if isinstance(key, tuple) else self._object(key)
            return self._add(seed, "call", np.random.default_rng)
        if kind == "module":
            module, name = key
            if name in vars(module):
                return self._add(self._object(vars(module)), "entry", name)
            return self._add(self._object(module), "attribute", name)
        raise _NotInC

    def global_bits(self) -> int:
        """What the functions of numpy.random draw from."""
        return self._add(self._object(np.random.mtrand._rand), "attribute", "_bit_generator")

    def _object(self, value: Any) -> int:
        if id(value) not in self._known:
            self._known[id(value)] = self._add(-1, "object", value)
        return self._known[id(value)]

    def _add(self, base: int, step: str, key: Any) -> int:
        self.list.append((base, step, key))
        return len(self.list) - 1


def _exact_type(argument: Any, wanted: ScalarArgument) -> type:
    if argument.weak:
        return _CARRIED[wanted.dtype]
    if argument.dtype == wanted.dtype:
        return type(argument.value)
    raise _NotInC  # a NumPy scalar that travels in a wider type has to be converted first


def program_function(
    program: Program,
    versions: list[Version],
    partials: Partials | None,
    stages: Mapping[str, Callable[..., Any]],
    structure: Any = None,
) -> Callable[..., Any]:
    """The plan as a plain function of the program's arguments, in their order. `stages`: what computes those of the plan.
    `structure`: of the function's result; None where it is what the plan gives. `objects`: whose attributes it sets."""
    names = [argument.name for argument in program.arguments]
    entry = _face.load(
        compose(versions),
        all_objects(versions) | (partials.objects() if partials else {}),
        name=program.function,
        doc="",
        signature_text=f"({', '.join([*names, '*', 'out=None'])})",
        parameters=[(name, "positional_or_keyword", _face.MISSING) for name in names],
        module_name="tilewright",
        partials=[partials.loaded() if partials else None],
        stages=stages,
    )
    carried = [(a.name, _CARRIED[a.dtype] if isinstance(a, ScalarArgument) else None) for a in program.arguments]

    returns_list, flat = isinstance(structure, list), is_flat(structure)
    form = None if flat else finisher(structure)

    def run(values: Mapping[str, Any], out: Any, objects: Sequence[Any] = ()) -> Any:
        arguments = [values[name] if carry is None else carry(values[name]) for name, carry in carried]
        made = entry(*arguments) if out is None or not flat else entry(*arguments, out=out)
        if form is not None:
            try:
                return _face.finished(form, () if made is None else made, tuple(objects))
            except Exception as error:  # what the call writes is written: nobody may run it once more
                raise InternalError(f"{program.function}: its result: {type(error).__name__}: {error}") from error
        return list(made) if returns_list else made

    return run
