"""A traced call: its program, where its inputs are found at a later call, and whether it answers that one."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..devices import UnknownDtype, stand_in
from ..guards import VALUE_KINDS, Missing, PythonGuard, follow, guard_holds, path_text
from ..light_dataclass import dataclass
from ..signatures import own_signature
from ..structure import Changed, ViewSteps
from ..symbolic.argument import Argument
from ..symbolic.size_guards import SizeGuard
from ..symbolic.sizes import Size
from ..symbolic.stages import Stage

_INPUTS = ("array", "hidden", "scalar")


@dataclass(frozen=True)
class Result:
    """One leaf of what the function returns.

    `kind`: array, array of no dimensions, scalar (a NumPy scalar), argument (that very object), view (of what the plan gives, in `view`), held (an
    array whose size the data decide), int, float or bool (a Python number that the program computes), constant (a Python value, in `value`).
    `name` is the program's value, "" for constants and views; `argument` names the argument of an argument or a view.
    """

    kind: str
    name: str = ""
    dtype: str = ""
    argument: str = ""
    value: Any = None
    view: ViewSteps | None = None


@dataclass(frozen=True, eq=False)
class Traced:
    """A traced call. Text as in translator/program_text.md."""

    program_text: str
    digest: str
    arguments: tuple[Argument, ...]
    guards: tuple[PythonGuard, ...]
    size_guards: tuple[SizeGuard, ...]
    # Result leaves in the structure that the function returns: a Result, a tuple, a list, a dict, or a Made.
    results: Any
    # What the plan gives behind them, for views of it: arguments, arrays, ints.
    behind: tuple[Result, ...]
    # Why NumPy has to run the call although it was traced; None when the program serves it.
    fallback_reason: str | None
    # At these sizes the call computes nothing (its loops have no iterations); at others it may.
    idle: bool
    # Nothing is read or computed: arguments, their views and numbers come back.
    untouched: bool
    contract: str
    # Arguments that the program writes into; they must not share memory with any other one.
    writes: tuple[str, ...]
    writes_anything: bool  # into arguments; also where an error follows that leaves the rest to NumPy
    # Random generators of the caller: the argument that has the state, where the generator is, and how many it draws.
    generators: tuple[tuple[str, tuple[Any, ...], Size], ...]
    set_objects: tuple[tuple[Any, ...], ...]  # where the objects are whose attributes or items the function sets
    handed: tuple[tuple[Any, ...], ...]  # where arrays are that only Python's statements know
    reaching: tuple[Any, ...]  # functions that it calls and that may write arrays which they find outside of themselves
    draws_are_stages: bool  # from the generators themselves, in the order of the program
    has_effects: bool  # it calls functions that are not known to be pure
    leaves_ways: bool  # ways of branches that no call took are NumPy's: what they do is not known
    stages: Mapping[str, Stage]  # by their texts in the program
    function: Any = field(repr=False)
    traced_by: str = "source"
    draws_move: bool = False  # by kernels, from states that stages take and give back

    @property
    def may_be_repeated(self) -> bool:
        """Whether a call may be made again on copies of its arguments, by the program or by NumPy, without anybody seeing it.
        Objects that it changes may be of any kind, which no copy is like; and there is none of a generator from outside of the call."""
        draws_outside = any(path[0][0] != "parameter" for _, path, _ in self.generators)
        hidden = {one.name for one in self.arguments if one.kind == "hidden"}
        sets = isinstance(self.results, Changed) and any(self.results.objects)
        changes_objects = sets or not hidden.isdisjoint(self.writes)
        return self.may_begin_anew and not changes_objects and not draws_outside

    @property
    def may_begin_anew(self) -> bool:
        """Whether nothing has happened that anybody could see where a call of the program ended with an error, but what it wrote."""
        return not (self.has_effects or self.draws_are_stages or self.leaves_ways)

    @property
    def contiguous(self) -> tuple[str, ...]:
        """Arguments that are C-contiguous in each call that the program answers."""
        paths = {guard.path for guard in self.guards if guard.kind == "contiguous" and guard.value}
        return tuple(argument.name for argument in self.arguments if argument.path in paths)

    def inputs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each input of the program (arrays and scalars) in a call."""
        parameters = bind_call(self.function, args, kwargs)
        root = root_function(self.function)
        return {
            a.name: a.value if a.path[0][0] == "constant" else follow(a.path, parameters, root)
            for a in self.arguments
            if a.kind in _INPUTS
        }

    def called_generators(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, np.random.Generator]:
        """The random generators that the caller passes in, by the argument that has their state."""
        if not self.generators:
            return {}
        parameters, root = bind_call(self.function, args, kwargs), root_function(self.function)
        return {name: follow(path, parameters, root) for name, path, _ in self.generators}

    def called_objects(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The objects of a call whose attributes or items the function sets."""
        if not self.set_objects:
            return ()
        parameters, root = bind_call(self.function, args, kwargs), root_function(self.function)
        return tuple(follow(path, parameters, root) for path in self.set_objects)

    def called_arrays(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arrays of a call that only Python's statements know."""
        if not self.handed:
            return ()
        parameters, root = bind_call(self.function, args, kwargs), root_function(self.function)
        return tuple(follow(path, parameters, root) for path in self.handed)

    def matches(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> bool:
        """Whether the program answers this call: dtypes, ranks, sizes, constants, globals."""
        return self._refusal(args, kwargs or {}) is None

    def changed_value(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """In words, the value that keeps the program from answering a call, if it is the only reason; else None."""
        return self._refusal(args, kwargs) or None

    def _refusal(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Why the program does not answer a call: the value that decides it, in words, and "" for what is no one value.
        None where it does."""
        try:
            parameters = bind_call(self.function, args, kwargs)
        except TypeError:
            return ""
        root = root_function(self.function)
        sizes: dict[str, int] = {}
        arrays: dict[str, Any] = {}
        numbers: dict[str, str] = {}
        try:
            broken = next((guard for guard in self.guards if not guard_holds(guard, parameters, root)), None)
            if broken is not None:
                return path_text(broken.path) if broken.kind in VALUE_KINDS else ""
            for argument in self.arguments:
                if argument.path[0][0] == "constant" and argument.kind == "hidden":
                    sizes.update({f"{argument.name}.{k}": n for k, n in enumerate(argument.value.shape)})
                elif argument.kind == "scalar":
                    if not _fits(argument, follow(argument.path, parameters, root), sizes):
                        return ""
                    numbers[argument.name] = path_text(argument.path)
                elif argument.kind in _INPUTS:
                    arrays[argument.name] = array = stand_in(follow(argument.path, parameters, root))
                    if not _fits(argument, array, sizes):
                        return ""
        except (Missing, UnknownDtype):
            return ""
        # Arrays that share memory with what is written are told at the call: another program would not take them either.
        if not all(arrays[written].flags.writeable for written in self.writes):
            return ""
        failing = [guard for guard in self.size_guards if not guard.holds(sizes)]
        decided = (str(guard.left) for guard in failing if guard.is_definition and guard.right.is_constant)
        return next((numbers[name] for name in decided if name in numbers), "" if failing else None)


def _fits(argument: Argument, value: Any, sizes: dict[str, int]) -> bool:
    if argument.kind in ("array", "hidden"):
        if not isinstance(value, np.ndarray) or (type(value) is not np.ndarray and not isinstance(value, np.memmap)):
            return False
        if str(value.dtype) != argument.dtype or value.ndim != argument.rank:
            return False
        sizes.update({f"{argument.name}.{k}": n for k, n in enumerate(value.shape)})
        return True
    if argument.weak:
        kind: type = {"bool": bool, "int64": int, "float64": float}[argument.dtype]
        if type(value) is not kind:
            return False
        if isinstance(value, int) and kind is int:
            if not -(2**63) <= value < 2**63:
                return False
            sizes[argument.name] = value
        return True
    return isinstance(value, np.generic) and str(value.dtype) == argument.dtype


def root_function(function: Any) -> types.FunctionType:
    """The plain function behind a method, a jit function or a functools.wraps wrapper of ours."""
    if isinstance(function, types.MethodType):
        return root_function(function.__func__)
    if not isinstance(function, types.FunctionType):
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            return root_function(wrapped)
    return function  # type: ignore[no-any-return]


def bind_call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    root = root_function(function)
    if isinstance(function, types.MethodType):
        args = (function.__self__, *args)
    bound = own_signature(root).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)
