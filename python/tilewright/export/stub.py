"""The .pyi of a module: which arrays it takes and gives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from ..program import Program, ScalarArgument
from ..workload import signature

_PYTHON = {"int64": "int", "float64": "float", "bool": "bool", "complex128": "complex"}


def stub_text(
    name: str,
    programs: list[Program],
    notes: list[str],
    parameters: Sequence[Sequence[inspect.Parameter]] = (),
    *,
    on_device: bool = False,
    has_fallback: bool = False,
) -> str:
    """One overload per signature. `parameters`: of each program, the user's own; else the program's arguments."""
    else_is = "runs in NumPy" if has_fallback else "is a TypeError"
    lines = [f'"""{name}, compiled by tilewright. Arrays as listed; anything else {else_is}."""', ""]
    lines += [f"# {note}" for note in notes]
    many = len(programs) > 1 or has_fallback or (on_device and bool(programs[0].arrays))
    names = ["Any", *(["Protocol", "TypeVar"] if on_device else []), *(["overload"] if many else [])]
    lines += [
        f"from typing import {', '.join(names)}",
        "",
        "import numpy as np",
        "from numpy.typing import NDArray",
        "",
    ]
    if on_device:
        lines += _DEVICE_LINES
    for number, program in enumerate(programs):
        given = parameters[number] if parameters else _arguments(program)
        for placed in (False, True) if on_device and program.arrays else (False,):
            if many:
                lines.append("@overload")
            lines += [_signature(name, program, given, placed), f'    """{shapes(program)}"""', "    ...", ""]
    if has_fallback:
        lines += ["@overload", f"def {name}(*args: Any, **kwargs: Any) -> Any:", '    """In NumPy."""', "    ...", ""]
    if name not in ("get_num_threads", "set_num_threads"):
        lines += [
            "def get_num_threads() -> int: ...",
            "",
            "def set_num_threads(n: int) -> None: ...",
            "",
        ]
    lines += [
        "def evidence() -> dict[str, Any]:",
        '    """How fast it is, where that was measured, and which schedule runs."""',
        "    ...",
        "",
    ]
    return "\n".join(lines)


_DEVICE_LINES = """class DeviceError(RuntimeError): ...

class DeviceArray:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    size: int
    nbytes: int
    device: str
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...
    def __getitem__(self, key: Any) -> DeviceArray: ...
    def __len__(self) -> int: ...
    def copy_to_host(self, out: NDArray[Any] | None = ...) -> NDArray[Any]: ...

class device:
    def __init__(self, name: str = ..., *, stream: Any = ...) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *arguments: object) -> None: ...
    def synchronize(self) -> None: ...

def to_device(array: Any, device: str | device = ...) -> DeviceArray: ...

class _OnDevice(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _Exchanged(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

# Arrays of one library, on one CUDA device; results are of that library too.
_Array = TypeVar("_Array", bound=_OnDevice | _Exchanged)

""".splitlines()


def shapes(program: Program) -> str:
    """get_labels(X: float64[:, :], means: float64[:, :]) -> int64[:]"""
    results = []
    for result, number in zip(program.results, program.result_numbers, strict=True):
        dtype, shape = program.type_of(result)
        results.append(number or (f"{dtype}[{', '.join(':' * len(shape))}]" if shape else dtype))
    text = ", ".join(results)
    if not results:
        text = "None"  # it only writes
    elif program.returns_tuple:
        text = f"({text})"
    return f"{signature(program)} -> {text}"


def _arguments(program: Program) -> list[inspect.Parameter]:
    return [inspect.Parameter(a.name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in program.arguments]


def _signature(name: str, program: Program, parameters: Sequence[inspect.Parameter], placed: bool = False) -> str:
    def _array(dtype: str) -> str:
        return "_Array" if placed else _numpy_array(dtype)

    def _result(dtype: str, shape: tuple[str, ...]) -> str:
        return "_Array" if placed else _numpy_result(dtype, shape)

    types = {
        argument.name: _PYTHON[argument.dtype] if isinstance(argument, ScalarArgument) else _array(argument.dtype)
        for argument in program.arguments
    }
    parts: list[str] = []
    keyword_only = False
    own_out = any(p.name == "out" for p in parameters)
    for k, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            keyword_only = True
            parts.append(f"*{parameter.name}: Any")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        # What is no argument of the program is an object that it reads, or decided its structure and is compiled in.
        default = "" if parameter.default is parameter.empty else " = ..."
        parts.append(f"{parameter.name}: {types.get(parameter.name, 'Any')}{default}")
        last = k + 1 == len(parameters) or parameters[k + 1].kind is not parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.POSITIONAL_ONLY and last:
            parts.append("/")
    results = [
        number or _result(*program.type_of(result))
        for result, number in zip(program.results, program.result_numbers, strict=True)
    ]
    whole = "None" if not results else f"tuple[{', '.join(results)}]" if program.returns_tuple else results[0]
    # A scalar of a tuple may go into a 0-d array.
    outs = [_array(program.type_of(result)[0]) for result in program.results]
    if any(program.type_of(result)[1] for result in program.results) and not own_out:
        out = f"tuple[{', '.join(f'{o} | None' for o in outs)}]" if program.returns_tuple else outs[0]
        parts += [] if keyword_only else ["*"]
        parts.append(f"out: {out} | None = ...")
    parts += [f"**{p.name}: Any" for p in parameters if p.kind is p.VAR_KEYWORD]
    return f"def {name}({', '.join(parts)}) -> {whole}:"


def _numpy_array(dtype: str) -> str:
    return f"NDArray[np.{dtype if dtype != 'bool' else 'bool_'}]"


def _numpy_result(dtype: str, shape: tuple[str, ...]) -> str:
    return _numpy_array(dtype) if shape else f"np.{dtype if dtype != 'bool' else 'bool_'}"
