"""What the stages of a call are given and give in NumPy, for candidates that run where no Python is.

Schedules never change the bits: what the stages of one schedule are given, those of each other one are too. So a call is run
once here, with the default schedule and the real stages; the worker plays back what they gave, and compares what a
candidate gives them with what they were given here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .binding import Bound, bind
from .builder import build
from .datasets import Answer, Call, DataFolder, Reference
from .dispatch import program_function
from .draws import as_they_were, drawing
from .errors import Error
from .operations import VIEWS
from .plan import Version
from .program import Block, Operation, Program, holds, unquoted
from .specialization import Specialization
from .symbolic.stages import functions_of

_MOST_CALLS = 20_000  # of stages in a call: each is a few lines of the job
_ALIGNMENT = 64

Array = np.ndarray[Any, Any]


@dataclass
class StageCall:
    text: str
    arrays: list[Array]  # what it was given, and last what it gave


@dataclass
class StageRecord:
    """The stages of one call, in their order. `took_ns`: all of them together."""

    calls: list[StageCall] = field(default_factory=list)
    took_ns: float = 0.0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for call in self.calls for array in call.arrays)

    def write(self, folder: DataFolder, index: int) -> dict[str, Any]:
        """Fields of the data set's entry in the job."""
        if not self.calls:
            return {}
        entries, parts, offset = [], [], 0
        for call in self.calls:
            arrays = []
            for array in call.arrays:
                arrays.append({"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset})
                padded = -array.nbytes % _ALIGNMENT
                parts += [np.ascontiguousarray(array).reshape(-1).view(np.uint8), np.zeros(padded, np.uint8)]
                offset += array.nbytes + padded
            entries.append({"stage": call.text, "arrays": arrays})
        return {"stage_file": str(folder.write(f"{index}-stages", np.concatenate(parts))), "stage_calls": entries}


class StageRecorder:
    """Runs calls of a program; versions are compiled as calls need them."""

    def __init__(self, specialization: Specialization, bound: Bound) -> None:
        self._specialization = specialization
        self._bound = bound  # the call that is tuned: its sizes decide how sums are cut
        self._versions: list[Version] = []

    def record(self, reference: Reference, call: Call) -> StageRecord:
        """Of a call that NumPy takes. Raises what the function raises, and Error for a call that is too long."""
        specialization, found = self._specialization, StageRecord()
        traced, program = specialization.traced, specialization.program
        fresh = reference.fresh(call)
        bound = bind(traced, program, fresh.args, fresh.kwargs)
        watched = {text: _watched(text, stage, found) for text, stage in functions_of(traced.stages).items()}
        run = program_function(program, [self._version_for(bound)], None, watched)
        with np.errstate(all="ignore"), as_they_were(traced), drawing(traced, bound) as values:
            run(values, None)
        return found

    def given(self, call: Call) -> tuple[Any, ...]:
        """What the plan gives for a call, whose arguments it may write."""
        traced, program = self._specialization.traced, self._specialization.program
        bound = bind(traced, program, call.args, call.kwargs)
        run = program_function(program, [self._version_for(bound)], None, functions_of(traced.stages))
        with np.errstate(all="ignore"), as_they_were(traced), drawing(traced, bound) as values:
            made: tuple[Any, ...] = run(values, None)
        return made

    def _version_for(self, bound: Bound) -> Version:
        for version in self._versions:
            if version.fits(bound):
                return version
        request = self._specialization.request(self._bound)
        made = build(request)
        if not all(holds(condition, bound.sizes) for condition in made.requires):
            made = build(replace(request, guard_tails=True))
        version = Version("recorded", f"r{len(self._versions)}", made, dict(request.layouts))
        self._versions.append(version)
        return version


def _watched(text: str, stage: Callable[..., Any], record: StageRecord) -> Callable[..., Any]:
    def watched(held: dict[str, Any], *given: Any) -> Any:
        if len(record.calls) == _MOST_CALLS:
            raise Error(
                f"its stage {text}, and others, are called more than {_MOST_CALLS} times, which is more than a search keeps.",
                "Tune it with fewer iterations.",
            )
        arrays = [np.array(one) for one in given]  # before the callee could write into them
        start = time.perf_counter_ns()
        result = stage(held, *given)
        record.took_ns += time.perf_counter_ns() - start
        record.calls.append(StageCall(text, [*arrays, np.array(result)]))
        return result

    return watched


def bytes_of_kernels(program: Program, bound: Bound, record: StageRecord, expected: Answer) -> tuple[float, float]:
    """What kernels read and write at least in a call of which this is the record: not what goes from an argument into a
    stage, or from a stage into a result."""
    flow = _Flow(program)
    read = sum(float(array.nbytes) for name, array in bound.arrays.items() if flow.is_read(name))
    written = sum(
        float(array.nbytes)
        for name, array in zip(program.results, expected.results, strict=False)
        if flow.is_computed(name)
    )
    for call in record.calls:
        operation = flow.calls[call.text]
        *operands, result = call.arrays
        read += result.nbytes if flow.is_read(operation.results[0].name) else 0
        written += sum(
            array.nbytes for name, array in zip(operation.operands, operands, strict=True) if flow.is_computed(name)
        )
    return read, written


class _Flow:
    """Which values of a program kernels read, and which they compute."""

    def __init__(self, program: Program) -> None:
        self._made = {value.name: each for each in program.operations for value in each.results}
        self._users: dict[str, list[Operation]] = {}
        for each in program.operations:
            for name in each.operands:
                self._users.setdefault(name, []).append(each)
        self._yielded = set(_yielded(program.body))
        self.calls = {unquoted(o.attributes["callee"]): o for o in program.operations if o.name == "call"}

    def is_read(self, name: str) -> bool:
        return name in self._yielded or any(
            self.is_read(user.results[0].name) if user.name in VIEWS else user.name not in ("call", "read")
            for user in self._users.get(name, ())
        )

    def is_computed(self, name: str) -> bool:
        made = self._made.get(name)
        if made is None or made.name in ("call", "const"):
            return False
        return self.is_computed(made.operands[0]) if made.name in VIEWS else True


def _yielded(block: Block) -> Iterator[str]:
    yield from block.yields
    for operation in block.operations:
        for region in operation.regions:
            yield from _yielded(region)
