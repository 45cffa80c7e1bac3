"""One call as the bisection sees it: a program, its arguments, NumPy's answer, and how its code is built; in files too, an
.npz for the arguments with the layouts that arrays had. What a child process is asked of it, and says of passes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..builder import BuildRequest
from ..errors import Error
from ..program import Program, ScalarArgument
from ..strided_copies import with_strides
from ..symbolic.stages import Stage, found_by_name
from .answers import Allowed, Answer

ARGUMENTS, EXPECTED, PROGRAM, REST = "arguments.npz", "expected.npz", "program.txt", "case.json"
_AFTER = "after."  # of an argument's content when NumPy was through; results are numbered
_STRIDES = ".strides"  # of an array that is neither row-major nor column-major, in bytes; no argument has such a name


@dataclass(frozen=True)
class Case:
    """`request` has the schedule in use; without one it is the default of these sizes."""

    title: str
    request: BuildRequest
    arguments: Path
    expected: Answer
    tolerance: Allowed
    in_use: str = "the default schedule"  # what the schedule of the request is called
    # Of the calls that Python makes between kernels, by their texts: how one is made, and where its function is found.
    stages: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def program(self) -> Program:
        return Program(self.request.program)

    def stages_here(self) -> dict[str, Stage]:
        return {
            text: Stage(text, source, name, found_by_name(name) if name else None)
            for text, (source, name) in self.stages.items()
        }

    def before(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays as they were given."""
        values = load_arguments(self.arguments, self.program)
        return {array.name: values[array.name] for array in self.program.arrays}


@dataclass(frozen=True)
class Asked:
    """What the child does for a case: `oracle` runs the program with NumPy, `compiled` builds it and runs the code; `passes`
    are those that it goes through, `list` is all that there are, `schedule` the text that it has, and `texts` what it
    becomes on its way to code."""

    what: str
    case: Case
    passes: str = ""  # the value of TILEWRIGHT_PASSES for it
    # Of the schedule, a directive each, from the first one; the other stages are computed whole.
    lines: int | None = None


@dataclass(frozen=True)
class PassRun:
    """A pass that ran: `program` is the text behind it, "" where it changes nothing; `off` is what leaves it out."""

    name: str
    meaning: str
    program: str
    off: str


def stages_of(function: str, stages: Mapping[str, Stage]) -> dict[str, tuple[str, str]]:
    """As another process makes them. Error where it finds a function that is called under no name."""
    for stage in stages.values():
        if stage.is_of_a_module and (stage.name.startswith("__main__.") or found_by_name(stage.name) != stage.callee):
            raise Error(
                f"{function}: it calls {stage.name}() between kernels, which no other process finds, and what may be wrong "
                "runs in one.",
                "Move it into a module.",
            )
    return {text: (stage.source, stage.name) for text, stage in stages.items()}


def save_case(case: Case, folder: Path) -> None:
    """All but the arguments, which lie there already, and the program's own text."""
    request = asdict(case.request)
    del request["program"]  # a file beside it
    document = {
        "title": case.title,
        "in_use": case.in_use,
        "request": request,
        "tolerance": asdict(case.tolerance),
        "expected": {"kind": case.expected.kind, "text": case.expected.text},
        "stages": case.stages,
    }
    (folder / REST).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / PROGRAM).write_text(case.request.program, encoding="utf-8")
    results: Mapping[str, Any] = {f"result{k}": array for k, array in enumerate(case.expected.results)}
    save_arrays(folder / EXPECTED, {**results, **{_AFTER + name: a for name, a in case.expected.after.items()}})


def load_case(folder: Path) -> Case:
    """What save_case() wrote."""
    document = json.loads((folder / REST).read_text(encoding="utf-8"))
    request = BuildRequest(program=(folder / PROGRAM).read_text(encoding="utf-8"), **document["request"])
    with np.load(folder / EXPECTED, allow_pickle=False) as archive:
        found = {name: archive[name] for name in archive.files}
    expected = Answer(
        **document["expected"],
        results=tuple(found[f"result{k}"] for k in range(sum(name.startswith("result") for name in found))),
        after={name.removeprefix(_AFTER): array for name, array in found.items() if name.startswith(_AFTER)},
    )
    return Case(
        document["title"],
        request,
        folder / ARGUMENTS,
        expected,
        Allowed(**document["tolerance"]),
        document["in_use"],
        document["stages"],
    )


def with_program(case: Case, text: str) -> Case:
    """The same call of another program."""
    return replace(case, request=replace(case.request, program=text))


def save_arguments(path: Path, program: Program, values: Mapping[str, Any]) -> None:
    """Arrays and numbers by their names in the program. np.load reads what is written."""
    arrays: dict[str, Any] = {}
    for argument in program.arguments:
        if isinstance(argument, ScalarArgument):
            arrays[argument.name] = np.asarray(values[argument.name], argument.dtype)
            continue
        array = np.asarray(values[argument.name])
        arrays[argument.name] = array
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            arrays[argument.name + _STRIDES] = np.asarray(array.strides, np.int64)
    save_arrays(path, arrays)


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """As np.savez does, whose own parameters are names that arguments may have."""
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def load_arguments(path: Path, program: Program) -> dict[str, Any]:
    """New arrays and Python numbers, which a call may change."""
    with np.load(path, allow_pickle=False) as archive:
        found = {name: archive[name] for name in archive.files}
    values: dict[str, Any] = {}
    for argument in program.arguments:
        value = found[argument.name]
        if isinstance(argument, ScalarArgument):
            values[argument.name] = value.item()
        else:
            strides = found.get(argument.name + _STRIDES)
            values[argument.name] = value if strides is None else with_strides(value, strides.tolist())
    return values
