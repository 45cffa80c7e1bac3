"""The .pyi of a module: which arrays it takes and gives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..program import Program, ScalarArgument
from ..structure import is_given_by_plans
from ..workload import signature

_PYTHON = {"int64": "int", "float64": "float", "bool": "bool", "complex128": "complex"}


@dataclass(frozen=True)
class Stub:
    """What a stub says of one function. `structures`: of the results, for each program, where Python makes some; `parameters`: the
    user's own."""

    name: str
    programs: Sequence[Program]
    structures: Sequence[Any]
    parameters: Sequence[inspect.Parameter]
    has_fallback: bool = False

    def is_overloaded(self, on_device: bool) -> bool:
        return len(self.programs) > 1 or self.has_fallback or (on_device and bool(self.programs[0].arrays))

    def lines(self, on_device: bool) -> list[str]:
        """One overload per signature."""
        many, lines = self.is_overloaded(on_device), []
        for program, structure in zip(self.programs, self.structures, strict=True):
            for placed in (False, True) if on_device and program.arrays else (False,):
                if many:
                    lines.append("@overload")
                shown = _signature(self.name, program, self.parameters, placed, structure)
                lines += [shown, f'    """{shapes(program, structure)}"""', "    ...", ""]
        if self.has_fallback:
            lines += [
                "@overload",
                f"def {self.name}(*args: Any, **kwargs: Any) -> Any:",
                '    """In NumPy."""',
                "    ...",
                "",
            ]
        return lines


def stub_text(functions: Sequence[Stub], notes: list[str], *, on_device: bool = False) -> str:
    """Of a module."""
    listed = ", ".join(one.name for one in functions)
    falling_back = [one.name for one in functions if one.has_fallback]
    else_is = "is a TypeError" if not falling_back else "runs in NumPy"
    if falling_back and len(falling_back) < len(functions):
        else_is = f"is a TypeError, but of {', '.join(falling_back)}, where it runs in NumPy"
    lines = [f'"""{listed}, compiled by tilewright. Arrays as listed; anything else {else_is}."""', ""]
    lines += [f"# {note}" for note in notes]
    many = any(one.is_overloaded(on_device) for one in functions)
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
    for one in functions:
        lines += one.lines(on_device)
    if not {"get_num_threads", "set_num_threads"} & {one.name for one in functions}:
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


def shapes(program: Program, structure: Any = None) -> str:
    """get_labels(X: float64[:, :], means: float64[:, :]) -> int64[:]"""
    if not is_given_by_plans(structure):
        return f"{signature(program)} -> {_made_text(program, structure)}"
    results = []
    for result, number in zip(program.results, program.result_numbers, strict=True):
        dtype, rank = program.type_of_result(result, number)
        is_number = number not in ("", "held")
        results.append(number if is_number else f"{dtype}[{', '.join(':' * rank)}]" if rank else dtype)
    text = ", ".join(results)
    if not results:
        text = "None"  # it only writes
    elif program.returns_tuple:
        text = f"({text})"
    return f"{signature(program)} -> {text}"


def _made_text(program: Program, structure: Any) -> str:
    """Of a result among which are views, which Python makes of what the plan gives."""
    if type(structure) is tuple:
        items = [_made_text(program, item) for item in structure]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if structure.kind == "constant":
        return repr(structure.value)
    if structure.kind == "view":
        return f"view of {structure.argument or structure.dtype}"
    number = structure.kind if structure.kind in ("int", "float", "bool", "held") else ""
    dtype, rank = program.type_of_result(structure.name, number)
    is_number = number not in ("", "held")
    return number if is_number else f"{dtype}[{', '.join(':' * rank)}]" if rank else dtype


def _made_type(program: Program, structure: Any) -> str:
    if type(structure) is tuple:
        return f"tuple[{', '.join(_made_type(program, item) for item in structure)}]"
    if structure.kind == "constant":
        return type(structure.value).__name__ if structure.value is not None else "None"
    if structure.kind in ("int", "float", "bool"):
        return str(structure.kind)
    if structure.kind == "scalar":
        return _scalar(structure.dtype)
    return "NDArray[Any]" if structure.kind == "held" else f"NDArray[{_scalar(structure.dtype)}]"


class Code(str):
    """What is its own repr()."""

    __repr__ = str.__str__


def with_out(parameters: Sequence[inspect.Parameter], **out: Any) -> list[inspect.Parameter]:
    """`out` behind the parameters, where they have none of that name."""
    if any(p.name == "out" for p in parameters):
        return list(parameters)
    behind = len(parameters) - any(p.kind is p.VAR_KEYWORD for p in parameters)
    made = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, **out)
    return [*parameters[:behind], made, *parameters[behind:]]


def _signature(
    name: str, program: Program, parameters: Sequence[inspect.Parameter], placed: bool, structure: Any = None
) -> str:
    def array(dtype: str) -> str:
        return "_Array" if placed else f"NDArray[{_scalar(dtype)}]"

    # What is no argument of the program is an object that it reads, or decided its structure and is compiled in.
    types = {a.name: _PYTHON[a.dtype] if isinstance(a, ScalarArgument) else array(a.dtype) for a in program.arguments}
    types |= {p.name: "Any" for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    shown = [
        p.replace(annotation=Code(types.get(p.name, "Any")), default=p.empty if p.default is p.empty else Code("..."))
        for p in parameters
    ]
    if not is_given_by_plans(structure):
        return f"def {name}{inspect.Signature(shown, return_annotation=Code(_made_type(program, structure)))}:"
    numbers = program.result_numbers
    returned = [program.type_of_result(*each) for each in zip(program.results, numbers, strict=True)]
    results = [
        number if number not in ("", "held") else array(dtype) if rank or placed else _scalar(dtype)
        for (dtype, rank), number in zip(returned, numbers, strict=True)
    ]
    whole = "None" if not results else f"tuple[{', '.join(results)}]" if program.returns_tuple else results[0]
    if any(rank for _, rank in returned) and "held" not in numbers:
        # A scalar of a tuple may go into a 0-d array.
        outs = [array(dtype) for dtype, _ in returned]
        out = f"tuple[{', '.join(f'{o} | None' for o in outs)}]" if program.returns_tuple else outs[0]
        shown = with_out(shown, annotation=Code(f"{out} | None"), default=Code("..."))
    return f"def {name}{inspect.Signature(shown, return_annotation=Code(whole))}:"


def _scalar(dtype: str) -> str:
    return f"np.{dtype if dtype != 'bool' else 'bool_'}"
