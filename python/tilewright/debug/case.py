"""One call as the bisection sees it: a program, its arguments, NumPy's answer, and how its code is built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..builder import BuildRequest
from ..program import Program
from .answers import Allowed, Answer
from .arguments import load_arguments, save_arrays

ARGUMENTS, EXPECTED, PROGRAM, REST = "arguments.npz", "expected.npz", "program.txt", "case.json"
_AFTER = "after."  # of an argument's content when NumPy was through; results are numbered


@dataclass(frozen=True)
class Case:
    """`request` has the schedule in use; without one it is the default of these sizes."""

    title: str
    request: BuildRequest
    arguments: Path
    expected: Answer
    tolerance: Allowed
    in_use: str = "the default schedule"  # what the schedule of the request is called

    @cached_property
    def program(self) -> Program:
        return Program(self.request.program)

    def before(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays as they were given."""
        values = load_arguments(self.arguments, self.program)
        return {array.name: values[array.name] for array in self.program.arrays}


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
    )


def with_program(case: Case, text: str) -> Case:
    """The same call of another program."""
    return replace(case, request=replace(case.request, program=text))
