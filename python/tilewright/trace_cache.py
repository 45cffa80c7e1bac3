"""Traces on disk, so that no process follows what another one has followed.

$XDG_CACHE_HOME/tilewright/traces: one file per function, with the traces of its latest calls. A trace speaks of Python's own
objects: functions, classes, modules, code. On disk these stand by their names, with digests of what they are made of, and are
sought again in the process that reads them. What speaks of anything else (an object of the caller's, statements that Python
runs) is not kept, and what is not found as it was serves no call.
"""

from __future__ import annotations

import abc
import ast
import dis
import enum
import hashlib
import importlib
import io
import itertools
import json
import os
import pickle
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import settings
from .file_cache import FileCache, folder_of, sealed, state_of_sources, unsealed
from .guards import GETTERS, PythonGuard
from .guards import Path as Steps
from .guards import Same as ItsIdentity
from .interpret.source import node_made_from
from .native import compiler_identity
from .originals import ORIGINAL, original_of
from .pure_functions import PureFunction
from .structure import Again, Changed, Itself, Made, Named, ViewSteps
from .symbolic.stages import Stage

if TYPE_CHECKING:
    from .trace.traced import Traced

_MAGIC = b"tilewright-traces 2\n"
_MOST_TRACES, _MOST_SIZES = 8, 6  # of a function; of what is found out of a program, each
_MOST_ARRAY_BYTES = 1 << 20  # of an array that a trace holds


# In the names of files that cells have: those of the same text differ by it from session to session.
_OF_ONE_SESSION = re.compile(r"(?<=/ipykernel_)\d+(?=/)|(?<=^<ipython-input-)\d+(?=-)")


# Objects of NumPy's that no name of their own tells apart.
_SINGLE = ("mgrid", "ogrid", "c_", "r_", "s_", "index_exp", "_NoValue")


class _NotKept(Exception):
    """A trace speaks of something that no other process has."""


# ---- what a file is of ------------------------------------------------------------------------------------------------


def key_of(function: Any, options: object) -> str:
    """The name of a function's file. `options`: all that decides what a trace is, beside the function and the call."""
    parts = [_identity(), settings.passes(), function.__module__, function.__qualname__, digest_of(function), options]
    return hashlib.sha256(json.dumps(list(map(str, parts))).encode()).hexdigest()


@lru_cache(maxsize=1)
def _identity() -> str:
    """What makes traces, with this NumPy."""
    return f"{compiler_identity()} {np.__version__} {np.__file__} {state_of_sources()}"


def _hashed(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def digest_of(value: Any) -> str:
    """Of what a function, its code or a class is made of."""
    return _hashed(_parts_of(value, ()))


def _file_name(code: types.CodeType) -> str:
    """A script may be called by another path each time (`../s.py`), and is the same."""
    return _OF_ONE_SESSION.sub("", os.path.basename(code.co_filename))


def _parts_of(value: Any, around: tuple[Any, ...]) -> Any:
    if isinstance(value, types.FunctionType):
        node = node_made_from(value)  # else its code says all
        text = None if node is None else ast.dump(node, include_attributes=True)
        return [text, *(_parts_of(one, around) for one in (value.__code__, value.__defaults__, value.__kwdefaults__))]
    if isinstance(value, types.CodeType):
        return (
            value.co_qualname, _file_name(value), value.co_firstlineno, value.co_flags, value.co_argcount, value.co_posonlyargcount,
            value.co_kwonlyargcount, value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars, value.co_code,
            value.co_linetable, value.co_exceptiontable, [_parts_of(one, around) for one in value.co_consts],
        )  # fmt: skip
    if isinstance(value, (staticmethod, classmethod)):
        return type(value).__name__, _parts_of(original_of(value.__func__), around)
    if isinstance(value, PureFunction):
        return "stage", _parts_of(original_of(value.__wrapped__), around)
    if isinstance(value, property):
        return [_parts_of(original_of(one), around) for one in (value.fget, value.fset, value.fdel)]
    if isinstance(value, type):
        if value in around or not value.__flags__ & _IS_HEAP_TYPE:
            return value.__module__, value.__qualname__
        own = {name: one for name, one in vars(value).items() if name not in _OF_EACH_PROCESS}
        around = (*around, value)
        return (
            value.__module__, value.__qualname__, [_parts_of(one, around) for one in value.__bases__], _registered_with(value),
            [(name, _parts_of(original_of(one), around)) for name, one in own.items()],
        )  # fmt: skip
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [_parts_of(one, around) for one in value]
    if isinstance(value, dict):
        return "dict", [(_parts_of(key, around), _parts_of(one, around)) for key, one in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(repr(_parts_of(one, around)) for one in value)
    if isinstance(value, enum.Enum):
        if value in around:
            return type(value).__name__, value.name
        own = {name: one for name, one in vars(value).items() if name != "__objclass__"}  # which it is of
        return type(value).__name__, value.name, _parts_of(own, (*around, value))
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcMmSU":
        return type(value).__qualname__, value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if type(value) in _PLAIN:
        return type(value).__name__, repr(value)
    return type(value).__module__, type(value).__qualname__


def _registered_with(value: type) -> list[tuple[str, str]]:
    """Classes that an abstract one takes for its own, which isinstance asks for."""
    if not isinstance(value, abc.ABCMeta):
        return []
    registry, *_ = abc._get_dump(value)  # type: ignore[attr-defined]
    return sorted((one.__module__, one.__qualname__) for held in registry if (one := held()) is not None)


_IS_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or by a C module that may as well
# Types that are no builtins by their names.
_OF_INTERPRETER: dict[Any, tuple[str, str]] = {
    value: ("types", name)
    for name, value in vars(types).items()
    if isinstance(value, type) and value.__module__ == "builtins"
}
# Of a class: what says nothing of what it is made of, is said by addresses, or is left there by copy and pickle.
_OF_EACH_PROCESS = frozenset(
    ["__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl", "__slotnames__"]
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)


# ---- objects by their names ---------------------------------------------------------------------------------------------


class _Memo:
    """What is found out of modules, classes and code while one file is read or written: it may be other later."""

    def __init__(self) -> None:
        self._codes: dict[str, list[types.CodeType]] = {}
        self._digests: dict[int, tuple[Any, str]] = {}

    def codes_in(self, module: str) -> list[types.CodeType]:
        if module not in self._codes:
            self._codes[module] = _codes_in(module)
        return self._codes[module]

    def digest_of(self, value: Any) -> str:
        if id(value) not in self._digests:
            self._digests[id(value)] = value, digest_of(value)
        return self._digests[id(value)][1]


def _names_of(value: Any, modules: Sequence[str], memo: _Memo) -> tuple[str, ...]:
    """Where another process finds what stands for `value` there. `modules`: in which code may be that no file has, a
    dataclass's methods. Raises _NotKept."""
    if isinstance(value, types.ModuleType):
        found: tuple[str, ...] = ("module", value.__name__)
    elif isinstance(value, types.CodeType):
        places = _modules_of(value.co_filename) or modules
        module = next((one for one in places if any(value is code for code in memo.codes_in(one))), None)
        if module is None:
            raise _NotKept(f"the code of {value.co_qualname}")
        found = ("code", module, value.co_qualname, memo.digest_of(value))
    elif isinstance(value, (types.FunctionType, type, PureFunction)):
        module, name = _OF_INTERPRETER.get(value) or (value.__module__, value.__qualname__)
        found = ("made", module, name, memo.digest_of(value))
    elif isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (np.ufunc, type)):
        return ("method", value.__name__, *_names_of(value.__self__, modules, memo))
    elif isinstance(value, enum.Enum):
        kind = type(value)
        found = ("member", kind.__module__, kind.__qualname__, memo.digest_of(kind), value.name)
    elif (single := next((name for name in _SINGLE if getattr(np, name, None) is value), "")) != "":
        found = ("single", "numpy", single)
    else:
        found = _own_names(value)
    if _named(found, memo) is not value:
        raise _NotKept(f"{type(value).__name__} {found[2] if len(found) > 2 else found[1]}")  # noqa: PLR2004
    return found


def _own_names(value: Any) -> tuple[str, ...]:
    """What a function of a C module's says of itself."""
    owner = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return "named", str(owner or "numpy"), str(name)


def _named(names: tuple[str, ...], memo: _Memo) -> Any:
    """What is found there in this process. Raises _NotKept."""
    kind, module, *rest = names
    if kind == "method":
        return getattr(_named(tuple(rest), memo), module, None)
    if kind == "module":
        return _module(module)
    if kind == "single":
        single = vars(np).get(rest[0])
        return single if type(single).__module__.startswith("numpy.") else None
    if kind == "code":
        qualname, digest = rest
        found = [one for one in memo.codes_in(module) if one.co_qualname == qualname and memo.digest_of(one) == digest]
        return found[0] if len(found) == 1 else None
    holder: Any = _module(module)
    with suppress(KeyError, AttributeError, TypeError):
        for name in rest[0].split("."):
            holder = vars(holder)[name]
        if kind == "named":  # another one may stand there now: `np.sqrt = np.square`, `math.sqrt = mine`
            is_other = isinstance(holder, (types.FunctionType, type)) or _own_names(holder) != names
            return None if is_other else holder
        for one in _behind(holder):
            if memo.digest_of(one) == rest[1]:
                return one[rest[2]] if kind == "member" else one
    return None


def _module(name: str | None) -> types.ModuleType | None:
    """None of the user's that is not there: to import it may do anything. What is made from a text alone is of none."""
    if name is None:
        return None
    if name not in sys.modules and name.partition(".")[0] in ("tilewright", "numpy"):
        with suppress(ImportError):
            return importlib.import_module(name)
    return sys.modules.get(name)


def _behind(value: Any) -> Iterator[Any]:
    """Functions and classes that a name leads to, decorated ones too."""
    value = original_of(value)
    if isinstance(value, (staticmethod, classmethod)):
        value = original_of(value.__func__)
    if isinstance(value, property):
        yield from (original_of(one) for one in (value.fget, value.fset, value.fdel) if one is not None)
    while isinstance(value, (types.FunctionType, type, PureFunction)):
        yield value
        value = None if isinstance(value, type) else original_of(getattr(value, "__wrapped__", None))


def _modules_of(file: str) -> list[str]:
    return [name for name, one in list(sys.modules.items()) if getattr(one, "__file__", None) == file]


def _codes_in(module: str) -> list[types.CodeType]:
    """The code of a module's functions and methods, and of what is defined in those."""
    found: dict[int, types.CodeType] = {}
    pending: list[Any] = list(getattr(sys.modules.get(module), "__dict__", {}).values())
    while pending:
        value = pending.pop()
        if isinstance(value, types.CodeType):
            if id(value) not in found:
                found[id(value)] = value
                pending += [one for one in value.co_consts if isinstance(one, types.CodeType)]
        elif isinstance(value, type) and value.__module__ == module:
            pending += [one for one in vars(value).values() if not isinstance(one, type)]
        else:
            for one in _behind(value):
                if isinstance(one, types.FunctionType):
                    pending += [one.__code__, *(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]
    return list(found.values())


# ---- what is another in each process ---------------------------------------------------------------------------------------

_NUMPYS_FOLDER = f"{os.path.dirname(np.__file__)}{os.sep}"
_OF_HASHES = frozenset(["set", "frozenset", "hash", "intersection", "union", "difference", "symmetric_difference"])
_OF_VIEWS = frozenset(["&", "|", "^", "&=", "|=", "^="])  # of the keys of dicts, which give sets


def _has_an_order_of_this_process(traced: Traced, function: Any) -> bool:
    """Whether its code, or that of a function that it calls, goes by hashes of texts, which Python seeds anew in each process: a trace
    has the order of a set's items in it."""
    codes = [function.__code__, *(one.value for one in traced.guards if isinstance(one.value, types.CodeType))]
    # NumPy's sets are of axes: numbers are their own hashes.
    return any(_goes_by_hashes(one) for one in codes if not one.co_filename.startswith(_NUMPYS_FOLDER))


@lru_cache(maxsize=4096)
def _goes_by_hashes(code: types.CodeType) -> bool:
    steps = list(dis.get_instructions(code))
    for step, behind in itertools.pairwise(steps):
        if step.opname in {"BUILD_SET", "SET_ADD"}:
            return True
        if isinstance(step.argval, frozenset) and behind.opname != "CONTAINS_OP":
            return any(isinstance(one, (str, bytes, tuple)) for one in step.argval)
        if step.opname == "BINARY_OP" and step.argrepr in _OF_VIEWS and not {"keys", "items"}.isdisjoint(code.co_names):
            return True
    if not _OF_HASHES.isdisjoint(code.co_names):
        return True
    return any(_goes_by_hashes(one) for one in code.co_consts if isinstance(one, types.CodeType))


# ---- traces as bytes ------------------------------------------------------------------------------------------------------


def _own_classes() -> tuple[type, ...]:
    from .symbolic.argument import Argument  # noqa: PLC0415  (where nothing is kept, nothing needs them)
    from .symbolic.size_guards import SizeGuard  # noqa: PLC0415
    from .symbolic.sizes import Size  # noqa: PLC0415
    from .trace.traced import Result, Traced  # noqa: PLC0415

    return (
        Traced, Result, Argument, PythonGuard, SizeGuard, Size, Stage, ItsIdentity, ViewSteps, Made, Itself, Changed, Named, Again,
    )  # fmt: skip


_CONTAINERS = (tuple, list, dict, set, frozenset)
_FROM_NUMPY = ("numpy", "numpy._core.multiarray", "numpy.core.multiarray", "numpy._core.numeric", "numpy.core.numeric")
_IN_PARTS = (np.generic, np.dtype, pickle.PickleBuffer)
_GETTERS = [one.__name__ for one in GETTERS]
_BUILTINS = ("complex", "slice", "range", "set", "frozenset", "Ellipsis")


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, function: Any) -> None:
        super().__init__(file, protocol=5)
        from .interpret.pure import is_named_tuple  # noqa: PLC0415  (a trace has imported it)

        self._is_named_tuple = is_named_tuple
        self._function, self._own = function, _own_classes()
        self._modules, self._memo = [function.__module__], _Memo()

    def persistent_id(self, obj: Any) -> Any:
        kind = type(obj)
        if kind in _PLAIN or kind in _CONTAINERS or kind in GETTERS or isinstance(obj, _IN_PARTS):
            return None
        if isinstance(obj, tuple) and self._is_named_tuple(kind):
            return None  # its class goes by its name, and is called with its items
        if obj is self._function or obj is self._function.__code__:
            return ("itself", obj is not self._function)
        if kind is np.ndarray:
            if obj.dtype.kind not in "biufc" or obj.nbytes > _MOST_ARRAY_BYTES:
                raise _NotKept(f"an array of {obj.nbytes} bytes")
            return None
        if kind in self._own:
            self._check(obj)
            return None
        if any(obj is one for one in self._own):  # an object of the script's may have an == of its own
            return None
        names = _names_of(obj, self._modules, self._memo)
        if names[0] == "made" and names[1] not in self._modules:
            self._modules.append(names[1])
        return names

    def _check(self, obj: Any) -> None:
        """What is known by its identity is no copy of what it was."""
        of_identity = getattr(obj, "kind", "constant") == "constant" or isinstance(obj, ItsIdentity)
        value = getattr(obj, "value", None) if of_identity and not hasattr(obj, "path") else None
        if isinstance(value, (list, dict, set, np.ndarray)):
            raise _NotKept(f"one {type(value).__name__} among others")


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, function: Any, memo: _Memo) -> None:
        super().__init__(file)
        self._memo = memo
        self._function, self._own = function, {(one.__module__, one.__qualname__): one for one in _own_classes()}

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "itself":
            return self._function.__code__ if pid[1] else self._function
        if (found := _named(pid, self._memo)) is None:
            raise _NotKept(str(pid))
        return found

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._own:
            return self._own[module, name]
        if module == "operator" and name in _GETTERS:
            return super().find_class(module, name)
        if module in _FROM_NUMPY or module == "numpy.dtypes" or (module == "builtins" and name in _BUILTINS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def _encoded(traced: Traced, function: Any) -> bytes:
    file = io.BytesIO()
    arguments = tuple(replace(one, program_value=None) for one in traced.arguments)
    _Writer(file, function).dump(replace(traced, arguments=arguments))
    return file.getvalue()


def _decoded(data: bytes, function: Any, memo: _Memo) -> Traced | None:
    try:
        found: Traced = _Reader(io.BytesIO(data), function, memo).load()
    except Exception:  # noqa: BLE001  (of this process's objects some are others, or not there yet)
        return None
    return found


# ---- the files --------------------------------------------------------------------------------------------------------------


class OfProgram(NamedTuple):
    """What processes found out of a program, each the latest first: the sizes that it was built for, under the default schedule and under
    those that a search has found; how much work a call is, as work_of() says it; marks of versions and calls at which NumPy was
    no faster; what a store had of a call, by a mark of both: a schedule and its evidence, or None; marks of versions and calls
    at which NumPy was clearly faster."""

    sizes: tuple[dict[str, int], ...] = ()
    tuned: tuple[dict[str, int], ...] = ()
    work: str = ""
    wins: tuple[str, ...] = ()
    stored: tuple[tuple[str, Any], ...] = ()
    losses: tuple[str, ...] = ()

    def with_more(self, other: OfProgram) -> OfProgram:
        """This, and what another process has found."""

        def joined(newer: tuple[Any, ...], older: tuple[Any, ...]) -> tuple[Any, ...]:
            return (*newer, *(one for one in older if one not in newer))[:_MOST_SIZES]

        stored = joined(other.stored, tuple(one for one in self.stored if one[0] not in dict(other.stored)))
        return OfProgram(
            joined(other.sizes, self.sizes), joined(other.tuned, self.tuned), other.work or self.work,
            joined(other.wins, tuple(one for one in self.wins if one not in other.losses)), stored,
            joined(other.losses, tuple(one for one in self.losses if one not in other.wins)),
        )  # fmt: skip


class Kept(NamedTuple):
    """What is known of a function: the traces of its latest calls, as bytes; what is known of their programs, by the programs'
    digests; what Python took for a call, or 0; and why it is better left to Python, or "", which holds as long as its file
    is the same."""

    traces: tuple[bytes, ...] = ()
    left_alone: str = ""
    file_digest: str = ""
    programs: Mapping[str, OfProgram] = types.MappingProxyType({})
    python_ns: float = 0.0


def _of_compiled_ones(traced: Traced) -> Traced:
    """A trace that holds of compiled functions and methods too: under `autotune run` these stand for those that it calls, until
    Python is found to serve some of them best."""
    guards = [
        replace(one, path=_of_originals(one.path, is_function=one.kind == "code"))
        for one in traced.guards
        # Of a method the function and the object have guards of their own.
        if not (one.kind == "type" and one.value is types.MethodType)
    ]
    arguments = [replace(one, path=_of_originals(one.path)) for one in traced.arguments]
    return replace(traced, guards=tuple(guards), arguments=tuple(arguments))


def _of_originals(path: Steps, is_function: bool = False) -> Steps:
    """With a step to the function that a compiled one was made of, before what only that has."""
    steps: list[Any] = []
    for step in (*path, None) if is_function else path:
        is_its_own = step is None or step[0] == "cell" or step in _OF_FUNCTIONS
        if is_its_own and steps and steps[-1] not in (ORIGINAL, ("function", "")):
            steps.append(ORIGINAL)
        if step is not None:
            steps.append(step)
    return tuple(steps)


_OF_FUNCTIONS = [("attribute", name) for name in ("__code__", "__defaults__", "__kwdefaults__", "__closure__")]


def keep(key: str, traced: Traced, function: Any) -> str:
    """Keep a trace for later processes; why it cannot be, or ""."""
    if not settings.cache_enabled():
        return "the cache is off"
    try:
        if _has_an_order_of_this_process(traced, function):
            return "the order of a set, or a hash, which are others in each process"
        data = _encoded(_of_compiled_ones(traced), function)
    except Exception as error:  # noqa: BLE001  (objects of the script's are asked for their names, and may raise anything)
        return str(error) or type(error).__name__

    def with_it(known: Kept) -> Kept:
        others = [one for one in known.traces if one != data]
        return known._replace(traces=(data, *others)[:_MOST_TRACES], left_alone="")

    return "" if _change(key, with_it) else "the cache cannot be written"


def leave_alone(key: str, function: Any, why: str, *, forgets: bool = False, python_ns: float = 0.0) -> None:
    """Later processes need not try to compile a function that this one gave up. `forgets`: nor use what is known of it. `python_ns`:
    as in note()."""
    digest = _file_digest(function)

    def left(known: Kept) -> Kept:
        found = known._replace(traces=()) if forgets else known
        return found._replace(left_alone=why, file_digest=digest, python_ns=python_ns or found.python_ns)

    _change(key, left)


def note(key: str, digest: str, found: OfProgram, python_ns: float = 0.0) -> None:
    """Something was found out of a program of the function's. `python_ns`: what Python takes for a call, where that is known."""

    def with_it(known: Kept) -> Kept:
        programs = {one: of for one, of in known.programs.items() if one != digest}
        while len(programs) >= _MOST_TRACES:
            del programs[next(iter(programs))]
        programs[digest] = known.programs.get(digest, OfProgram()).with_more(found)
        return known._replace(programs=programs, python_ns=python_ns or known.python_ns)

    _change(key, with_it)


def _file_digest(function: Any) -> str:
    """What it calls may be in there too."""
    with suppress(OSError):
        return hashlib.sha256(Path(function.__code__.co_filename).read_bytes()).hexdigest()
    return ""


def _change(key: str, changed: Callable[[Kept], Kept]) -> bool:
    if not settings.cache_enabled():
        return False
    cache = _cache()
    with cache.building(key):
        return cache.store(key, changed(cache.load(key) or Kept()))


class Known(NamedTuple):
    """The traces that are kept of a function, as far as this process has what they speak of, and the rest of a Kept."""

    traces: list[Traced]
    left_alone: str
    programs: Mapping[str, OfProgram]
    python_ns: float


def known(key: str, function: Any) -> Known:
    found = _cache().load(key) or Kept()
    digest = _file_digest(function)  # none of a cell: what its functions call is in others, and may have changed
    why = found.left_alone if digest and found.file_digest == digest else ""
    memo = _Memo()
    traces = [one for data in found.traces if (one := _decoded(data, function, memo)) is not None]
    return Known(traces, why, found.programs, found.python_ns)


class TraceCache(FileCache[Kept]):
    """What is known of functions, each under its key."""

    what, redone, going_on = "trace", "followed", "Tracing"

    @staticmethod
    def encoded(value: Kept) -> bytes:
        programs = {digest: of._asdict() for digest, of in value.programs.items()}
        head = {**value._asdict(), "traces": list(map(len, value.traces)), "programs": programs}
        return sealed(_MAGIC, json.dumps(head).encode() + b"\n" + b"".join(value.traces))

    @staticmethod
    def decoded(data: bytes) -> Kept | None:
        rest = unsealed(_MAGIC, data)
        if rest is None:
            return None
        line, _, traces = rest.partition(b"\n")
        head = json.loads(line)
        ends = itertools.accumulate(head.pop("traces"), initial=0)
        programs = {digest: _of_program(**of) for digest, of in head.pop("programs").items()}
        parts = tuple(traces[begin:end] for begin, end in itertools.pairwise(ends))
        return Kept(parts, programs=programs, **head)


def _of_program(sizes: Any, tuned: Any, work: str, wins: Any, stored: Any, losses: Any = ()) -> OfProgram:  # noqa: PLR0917
    stored = tuple((mark, found) for mark, found in stored)
    return OfProgram(tuple(sizes), tuple(tuned), work, tuple(wins), stored, tuple(losses))


def _cache() -> TraceCache:
    return _cache_in(folder_of("traces"))


@lru_cache(maxsize=1)
def _cache_in(path: Path | None) -> TraceCache:
    return TraceCache(path, settings.cache_limit_bytes())
