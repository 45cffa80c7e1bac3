"""The data of a tuning job: the recorded call and calls derived from it, as raw files with NumPy's own answers.

Derived calls are cut along symbolic axes, so that NumPy's answer is cheap, to odd extents, so that tails are run; they
are kept only if NumPy takes them, in a few seconds, and the program's guards hold. The caller's arrays are read, never
written: a function that writes into its arguments gets copies.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .binding import Bound, bind, layout_of
from .draws import as_they_were
from .errors import Error
from .given_by_plans import as_array, given_by_plan
from .light_dataclass import dataclass
from .operations import with_trait
from .program import Program, evaluate
from .quantities import format_bytes
from .record.capture import IMMUTABLE, copy_arguments
from .signatures import own_signature
from .strided_copies import with_strides
from .structure import is_flat
from .work_folders import work_folder

_PREFIX = "tilewright-data"
_ORDERED = with_trait("ordered")
_DERIVED_WORK = 3_000_000  # element operations: some 30 ms in NumPy, and more than most split factors
_DERIVED_ITERATIONS = 100  # of loops that count to an argument; a few more with each kind of data
_DERIVED_S = 3.0  # what NumPy may take for a derived call: NaN keeps some loops from ending


@dataclass
class Call:
    """One call of the user's function, as recorded or derived."""

    kind: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass
class DataFolder:
    """Raw files of a tuning job, each in the first of some places that has room for it."""

    function: str
    folders: list[Path]

    @property
    def first(self) -> Path:
        """The best place, which may be full."""
        return self.folders[0]

    def write(self, name: str, array: np.ndarray[Any, Any]) -> Path:
        """The array's elements in C order in a file. Raises Error where no place has room."""
        tried = []
        for folder in self.folders:
            path = folder / name
            try:
                array.tofile(path)
                return path
            except OSError:  # NumPy says how many elements it wrote, and not why no more
                path.unlink(missing_ok=True)
                tried.append(f"{folder.parent} has {format_bytes(shutil.disk_usage(folder.parent).free)} left")
        raise Error(
            f"{self.function}: there is no room for {format_bytes(array.nbytes)} of the search's data: {'; '.join(tried)}.",
            "Free some space there, or set TMPDIR to a folder that has more.",
        )


@contextmanager
def data_folder(function: str, needed_bytes: int) -> Iterator[DataFolder]:
    """A place for raw files that are gone afterwards; in memory where there is room."""
    shared, temporary = Path("/dev/shm"), Path("/tmp")
    with suppress(OSError):
        temporary = Path(tempfile.gettempdir())  # TMPDIR, where it is there
    in_memory = False
    with suppress(OSError):
        in_memory = shutil.disk_usage(shared).free > 2 * needed_bytes + (64 << 20)
    places = [shared, temporary] if in_memory else [temporary, shared]
    prefix = f"{_PREFIX}-{os.getuid()}-"
    with ExitStack() as stack:
        folders, refusals = [], []
        for place in dict.fromkeys([*places, Path("/var/tmp")]):
            try:
                folders.append(stack.enter_context(work_folder(prefix, place)))
            except OSError as error:
                refusals.append(f"{place}: {(error.strerror or str(error)).lower()}")
        if not folders:
            raise Error(
                f"{function}: there is no place for the search's data: {'; '.join(refusals)}.",
                "Set TMPDIR to a folder that may be written.",
            )
        yield DataFolder(function, folders)


def derived_calls(traced: Any, program: Program, call: Call, seed: int = 0) -> Iterator[tuple[Call, ...]]:
    """Calls with perturbed, special and sign-flipped values, not yet proven fit: of each kind a smaller one, and one of
    the recorded size for functions that do not take the smaller one."""
    rng = np.random.default_rng(seed)
    # Near the largest number the order of a sum decides whether it overflows: no order is the right one.
    extremes = not any(v.operation in _ORDERED and v.dtype.startswith("float") for v in program.values)
    for kind, odd, change in (
        ("perturbed", 1, _perturb),
        ("special", 7, partial(_sprinkle_specials, extremes=extremes)),
        ("signs", 11, _flip_signs),
    ):
        cuts = [_cut_extents(traced, program, call, odd), {}]
        yield tuple(Call(kind, *_map_call(traced, program, call, cut, partial(change, rng=rng))) for cut in cuts)


@dataclass
class Answer:
    """What NumPy made of a call."""

    results: tuple[np.ndarray[Any, Any], ...]
    written: dict[str, np.ndarray[Any, Any]]  # the content of written arguments after the call
    ns: int

    @property
    def arrays(self) -> tuple[np.ndarray[Any, Any], ...]:
        """All of it."""
        return (*self.results, *self.written.values())


class Reference:
    """The user's function in NumPy, on copies of the arguments that it writes into."""

    def __init__(
        self,
        function: Callable[..., Any],
        traced: Any,
        program: Program,
        run_plan: Callable[[Call], Sequence[Any]] | None = None,
    ) -> None:
        """`run_plan`: what a plan gives for a call, where data decide how results are seen."""
        self.function = function
        self._traced = traced
        self.program = program
        self._run_plan = run_plan

    def nudged(self, eps: float) -> Reference:
        """The same function with its float literals and defaults changed by `eps` of themselves."""
        function = self.function
        if eps == 0 or not isinstance(function, types.FunctionType):
            return self

        def change(value: Any) -> Any:
            return value * (1 + eps) if isinstance(value, (float, complex)) else value

        code = function.__code__.replace(co_consts=tuple(change(value) for value in function.__code__.co_consts))
        defaults = None if function.__defaults__ is None else tuple(change(value) for value in function.__defaults__)
        changed = types.FunctionType(code, function.__globals__, function.__name__, defaults, function.__closure__)
        changed.__kwdefaults__ = function.__kwdefaults__
        return Reference(changed, self._traced, self.program, self._run_plan)

    @property
    def needs_copies(self) -> bool:
        """Whether a call changes its arguments: arrays that it writes into, random generators that it draws from."""
        return bool(self._traced.writes_anything or self._traced.generators or self._traced.set_objects)

    @property
    def sets_objects(self) -> bool:
        """Whether a call changes objects of the script's, or containers."""
        return bool(self._traced.set_objects)

    def run(self, call: Call) -> Any:
        """The function's own result; what it changes of the call is changed."""
        with self.drawing_anew():
            return self.function(*call.args, **call.kwargs)

    def drawing_anew(self) -> AbstractContextManager[None]:
        """What is drawn inside from generators that are none of the call's is drawn again behind it."""
        return as_they_were(self._traced)

    def fresh(self, call: Call) -> Call:
        """The call on new arrays and random generators, where the function writes into them."""
        if not self.needs_copies:
            return call
        args, kwargs = copy_arguments(call.args, call.kwargs)
        fresh = Call(call.kind, args, kwargs)
        mine, theirs = self.written(fresh), self.written(call)
        for name, array in mine.items():
            if np.may_share_memory(array, theirs[name]):
                raise Error(
                    f"{self.program.function}: {name} is written and comes out of an object that cannot be copied.",
                    "Pass it as a separate argument.",
                )
        return fresh

    def written(self, call: Call) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays that the function writes into."""
        if not self._traced.writes:
            return {}
        values = self._traced.inputs(call.args, call.kwargs)
        return {name: values[name] for name in self._traced.writes}

    def answer(self, call: Call, limit_s: float = 0.0) -> Answer:
        """NumPy's answer. Raises what NumPy raises, and TookTooLong after `limit_s`."""
        fresh = self.fresh(call)
        written = self.written(fresh)  # attributes may lead to others behind the call
        bound = None if is_flat(self._traced.results) else bind(self._traced, self.program, fresh.args, fresh.kwargs)
        with np.errstate(all="ignore"):
            before = time.perf_counter_ns()
            result = call_within(limit_s, lambda: self.run(fresh)) if limit_s > 0 else self.run(fresh)
            took = time.perf_counter_ns() - before
        return Answer(self._arrays(result, bound, call), written, took)

    def _arrays(self, result: Any, bound: Bound | None, call: Call) -> tuple[np.ndarray[Any, Any], ...]:
        names, numbers = self.program.results, self.program.result_numbers
        if not names:  # it only writes
            return ()
        if bound is None:
            results = result if isinstance(result, (tuple, list)) else (result,)
        else:
            run = partial(self._run_plan, self.fresh(call)) if self._run_plan else None
            results = given_by_plan(self._traced, self.program, result, bound, run)
        if len(results) != len(names):
            return tuple(np.asarray(r) for r in results)
        try:
            return tuple(
                as_array(r, self.program.type_of(name)[0] if number and number != "held" else None)
                for r, name, number in zip(results, names, numbers, strict=True)
            )
        except OverflowError:
            raise Error(
                f"{self.program.function}: this call gives an int beyond 64 bits, so only NumPy can run it.",
                "Tune it with another call.",
            ) from None

    def is_fit(self, call: Call) -> Answer | None:
        """NumPy's answer to a derived call, or None where NumPy or the program does not take it."""
        try:
            if not self._traced.matches(call.args, call.kwargs):
                return None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.answer(call, _DERIVED_S)
        except (Exception, TookTooLong):  # any refusal by the user's function or NumPy means: not fit
            return None


def raised_in_numpy(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, writes: bool = False
) -> Exception | None:
    """What the function raises for this call in NumPy. It runs once, on copies of the arguments. With `writes`, it runs
    on the arguments, which then have what it wrote before it raised; where it raises nothing, they are as they were."""
    given = [*args, *kwargs.values()]
    copied_args, copied_kwargs = copy_arguments(args, kwargs)
    in_place = writes and all(
        type(v) is np.ndarray and not v.dtype.hasobject or isinstance(v, IMMUTABLE) for v in given
    )
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ran_args, ran_kwargs = (args, kwargs) if in_place else (copied_args, copied_kwargs)
            function(*ran_args, **ran_kwargs)
    except Exception as error:  # noqa: BLE001  (whatever the function raises)
        return error
    if in_place:
        for value, copy in zip(given, [*copied_args, *copied_kwargs.values()], strict=True):
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value[...] = copy
    return None


class TookTooLong(BaseException):
    """Raised inside of a function that is stopped. No Exception, so that the function does not catch it."""


def call_within(limit_s: float, function: Callable[[], Any]) -> Any:
    """Its result, or TookTooLong. It is stopped between two lines of Python, not inside of an operation of NumPy."""
    caller = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    ended = stopped = False

    def stop() -> None:
        nonlocal stopped
        with lock:
            if not ended:
                stopped = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, ctypes.py_object(TookTooLong))

    timer = threading.Timer(limit_s, stop)
    timer.daemon = True
    timer.start()
    try:
        try:
            return function()
        finally:
            with lock:
                ended = True
    finally:
        timer.cancel()
        if stopped and not isinstance(sys.exc_info()[1], TookTooLong):
            # It comes too late for the function, and would be raised anywhere behind it.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, None)
            raise TookTooLong


def write_data_set(
    folder: DataFolder, index: int, program: Program, *, call: Call, bound: Bound, expected: Answer
) -> dict[str, Any]:
    """The entry of the job's `datasets`; arrays keep their strides."""
    arguments: list[dict[str, Any]] = []
    for argument in program.arguments:
        if argument.name in bound.arrays:
            file = f"{index}-{argument.name}"
            entry = _write_array(folder, file, argument.name, bound.arrays[argument.name])
            if argument.name in expected.written:
                after = folder.write(f"{file}-after", np.ascontiguousarray(expected.written[argument.name]))
                entry |= {"written": True, "after": str(after)}
            arguments.append(entry)
        else:
            scalar = _json_scalar(bound.scalars[argument.name])
            arguments.append({"name": argument.name, "dtype": argument.dtype, "scalar": scalar})
    answers = []
    for position, result in enumerate(expected.results):
        path = folder.write(f"{index}-result{position}", np.ascontiguousarray(result))
        answers.append({"dtype": result.dtype.name, "shape": list(result.shape), "file": str(path)})
    return {"kind": call.kind, "arguments": arguments, "expected": answers}


def _write_array(folder: DataFolder, file: str, name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    offset = 0
    strides = array.strides
    layout = layout_of(array)
    if layout == "c":
        path = folder.write(file, array)
        strides = _contiguous_strides(array.shape, array.itemsize)
    elif layout == "f":
        path = folder.write(file, array.T)
        strides = _contiguous_strides(array.shape[::-1], array.itemsize)[::-1]
    else:
        # The same strides over memory of our own, gaps included.
        view = with_strides(array, array.strides)
        offset = view.ctypes.data - view.base.ctypes.data
        path = folder.write(file, view.base)
    return {
        "name": name,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "strides_bytes": [int(s) for s in strides],
        "file": str(path),
        "offset": int(offset),
    }


def _contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(1, extent)
    return tuple(strides)


def _json_scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        return [_json_float(value.real), _json_float(value.imag)]
    return _json_float(value) if isinstance(value, float) else value


def _json_float(value: float) -> Any:
    return value if np.isfinite(value) else str(value)


def _cut_extents(traced: Any, program: Program, call: Call, odd: int) -> dict[str, int]:
    """symbol -> smaller extent: the largest axes are halved until the work is cheap, then made odd.

    An integer argument that sizes are made of is cut like an axis, or with the axis that it is the extent of; one that
    a loop counts to is cut too.
    """
    bound = bind(traced, program, call.args, call.kwargs)
    sizes = dict(bound.sizes)
    axes = {axis for array in program.arrays for axis in array.shape if axis in sizes and "." in axis}
    axes -= {axis for array in program.arrays if array.name in bound.hidden for axis in array.shape}
    integers = [name for name in _own_integers(traced, program) if name in sizes]
    extents = {bound.sizes[axis] for axis in axes}
    tied = [name for name in integers if sizes[name] in extents]
    free = axes | {name for name in integers if name in program.symbols and name not in tied}
    cut: dict[str, int] = {}
    for _ in range(256):
        if evaluate(program.work, sizes) <= _DERIVED_WORK:
            break
        largest = max(free, key=lambda s: sizes[s], default=None)
        if largest is None or sizes[largest] <= 64:
            break
        sizes[largest] = cut[largest] = sizes[largest] // 2
    for symbol in free:
        extent = sizes[symbol]
        if extent > 64:  # an odd extent with another remainder for each kind of data
            cut[symbol] = extent - extent % 16 - 16 + odd
    smaller = {bound.sizes[axis]: cut[axis] for axis in sorted(axes) if axis in cut}
    cut |= {name: smaller[sizes[name]] for name in tied if sizes[name] in smaller}
    counted = [name for name in integers if name in program.counts and name not in tied and name not in free]
    cut |= {name: _DERIVED_ITERATIONS + odd for name in counted if sizes[name] > _DERIVED_ITERATIONS + odd}
    return cut


def _own_integers(traced: Any, program: Program) -> list[str]:
    """The integer arguments of the program that are parameters of the function."""
    paths = {argument.name: argument.path for argument in traced.arguments}
    return [
        scalar.name
        for scalar in program.scalars
        if scalar.dtype == "int64" and len(paths[scalar.name]) == 1 and paths[scalar.name][0][0] == "parameter"
    ]


def _map_call(
    traced: Any,
    program: Program,
    call: Call,
    cut: Mapping[str, int],
    change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call with each array argument of the program cut and changed, and its integers cut; all else as it is."""
    bound = bind(traced, program, call.args, call.kwargs)
    replaced: dict[int, Any] = {}
    for array in program.arrays:
        if array.name in bound.hidden:
            continue
        original = bound.arrays[array.name]
        part = original[tuple(slice(0, cut.get(axis)) for axis in array.shape)]
        fresh = change(np.ascontiguousarray(part).reshape(part.shape))
        replaced[id(original)] = _like_layout(fresh, layout_of(original))

    def swap(value: Any) -> Any:
        return replaced.get(id(value), value)

    args, kwargs = tuple(swap(a) for a in call.args), {k: swap(v) for k, v in call.kwargs.items()}
    integers = {name: cut[name] for name in _own_integers(traced, program) if name in cut}
    if not integers:
        return args, kwargs
    parameters = own_signature(traced.function).bind(*args, **kwargs)
    for name, path in ((a.name, a.path) for a in traced.arguments if a.name in integers):
        before = parameters.arguments.get(path[0][1])
        parameters.arguments[path[0][1]] = integers[name] if before is None else type(before)(integers[name])
    return parameters.args, parameters.kwargs


def _like_layout(array: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    if layout == "c":
        return array
    if layout == "f":
        return np.asfortranarray(array)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype) if array.ndim else array
    view = wide[..., ::2] if array.ndim else wide
    view[...] = array
    return view


def _perturb(array: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "fc":
        # Values of an integer array may be indices: they keep their range and change their places.
        return rng.permutation(array.reshape(-1)).reshape(array.shape)
    noise = 1 + 1e-2 * rng.standard_normal(array.shape)
    perturbed: np.ndarray[Any, Any] = (array * noise).astype(array.dtype)
    return perturbed


def _flip_signs(array: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "fc":
        return rng.permutation(array.reshape(-1)).reshape(array.shape)
    return np.where(rng.random(array.shape) < 0.5, -array, array).astype(array.dtype)


def _sprinkle_specials(
    array: np.ndarray[Any, Any], rng: np.random.Generator, extremes: bool = True
) -> np.ndarray[Any, Any]:
    if array.dtype.kind != "f" or array.size == 0:
        return array
    info = np.finfo(array.dtype)
    specials = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, info.smallest_subnormal, -info.tiny, info.eps, 1.0], array.dtype
    )
    if extremes:
        specials = np.append(specials, np.array([info.max, info.min], array.dtype))
    count = max(1, array.size // 200)
    # The last element too: that is where tails are. A place may come twice: np.unique is C++ that gives up the GIL, and a
    # daemon thread which Python ends there aborts the process.
    places = np.append(rng.integers(0, array.size, count), array.size - 1)
    out = array.copy()
    out.reshape(-1)[places] = rng.choice(specials, places.size)
    return out
