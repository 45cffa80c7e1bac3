"""One function of a module: its C entries, and the lines of the module's text that make it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ExportError
from ..guards import follow
from ..jitted import Jitted
from ..program import Program
from ..specialization import Specialization
from ..symbolic.stages import Stage
from ..workload import signature
from .fallback import fallback_lines
from .finishing import finish_lines, finish_of
from .objects import Reads, literal, reads_lines, reads_of
from .streams import Stream, inner_parameters, stream_lines, streams_of
from .stub import shapes, with_out

MAX_SAVED_BYTES = 16 << 20
_PLAIN = (bool, int, float, str, type(None))
_OF_ARRAYS = ("contiguous", "writeable")  # kinds of guards that say what an array is like


@dataclass
class Group:
    """Plans behind one C function; equal where it can serve them all."""

    numbers: list[int] = field(compare=False)
    parameters: list[inspect.Parameter]
    fixed: dict[str, Any]  # parameters with the value that was compiled in
    saved: dict[str, str]  # arrays from outside -> file
    streams: list[Stream]  # random generators
    reads: Reads | None  # what Python reads of the call's objects, where C does not take the arguments as they are
    finish: str  # Python's text for the function's result, where that is not what the plan gives


@dataclass(eq=False)
class Exported:
    """A function, with the specializations that a module has of it."""

    function: Jitted
    specializations: list[Specialization]
    first: int = 0  # number of the first one among all of the module

    def __post_init__(self) -> None:
        self.name = self.function.__name__
        self.programs = [one.program for one in self.specializations]
        self.structures = [one.traced.results for one in self.specializations]
        self.shown = [shapes(*each) for each in zip(self.programs, self.structures, strict=True)]
        self.stages: dict[str, Stage] = {
            text: one for s in self.specializations for text, one in s.traced.stages.items()
        }

    def __getitem__(self, number: int) -> Specialization:
        return self.specializations[number - self.first]

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.specializations))

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The user's own, as people see them."""
        return list(inspect.signature(self.function.__wrapped__).parameters.values())

    def has_fallback(self, allows: bool) -> bool:
        """Whether calls that nothing serves run as the function was written."""
        return allows and bool(self.function.refusals)

    def groups(self, folder: Path, saved_bytes: int) -> list[Group]:
        """Specializations that one C function can serve: the same parameters, fixed values and saved arrays. Arrays from outside
        are written into `folder`, where others take `saved_bytes`. Raises ExportError."""
        groups: list[Group] = []
        for number in self.numbers:
            traced = self[number].traced
            saved: dict[str, str] = {}
            numbers: dict[str, Any] = {}  # as they are now
            for argument in arguments_of(self[number]):
                if argument.path[0][0] == "parameter" or argument.path[-1][0] == "pcg64":
                    continue
                if argument.kind == "scalar":
                    numbers[argument.name] = _outside_value(self[number], argument).item()
                    continue
                array = _outside_value(self[number], argument)
                saved_bytes += array.nbytes
                if saved_bytes > MAX_SAVED_BYTES:
                    raise ExportError(
                        f"{self.name}: the arrays it reads from outside take {saved_bytes >> 20} MiB or more; a module saves "
                        f"up to {MAX_SAVED_BYTES >> 20} MiB.",
                        f"Pass {argument.name} as an argument.",
                    )
                saved[argument.name] = f"{argument.name}{f'-{number}' if number else ''}.npy"
                np.save(folder / saved[argument.name], np.ascontiguousarray(array), allow_pickle=False)
            fixed = {
                g.path[0][1]: g.value
                for g in traced.guards
                if g.path[0][0] == "parameter" and len(g.path) == 1 and g.kind not in _OF_ARRAYS
            }
            fixed = {name: value for name, value in fixed.items() if isinstance(value, _PLAIN)}
            reads, streams = reads_of(self.name, traced, arguments_of(self[number])), streams_of(traced)
            fixed = ({} if reads else fixed) | numbers
            made = Group([number], self.parameters, fixed, saved, streams, reads, finish_of(self.name, traced))
            found = next((g for g in groups if g == made and not saved), None)
            if found is None:
                groups.append(made)
            else:
                found.numbers.append(number)
        return groups

    def lines(self, groups: list[Group], partials_of: Callable[[Group], list[str]], *, falls_back: bool) -> list[str]:
        """Of the module's text: what loads the plans, and what chooses among them. `partials_of`: the text for calls beyond what
        kernels can index, for each plan of a group, or nothing."""
        entries = [self.name]
        if len(groups) > 1:
            entries = [f"_entry{group.numbers[0]}" for group in groups]
        lines: list[str] = []
        for entry, group in zip(entries, groups, strict=True):
            lines += self._load_lines(entry, group, partials_of)
        if len(groups) > 1:
            programs = [self[number].program for group in groups for number in group.numbers]
            lines += _choice_lines(self.name, entries, programs, has_stages=bool(self.stages))
        if falls_back:
            writes = any(s.traced.writes for s in self.function.specializations)
            lines += fallback_lines(self.name, writes=writes)
        return lines

    def _load_lines(self, entry: str, group: Group, partials_of: Callable[[Group], list[str]]) -> list[str]:
        doc = self.function.__doc__ or self.shown[group.numbers[0] - self.first]
        if group.reads is not None:
            kernel = f"_{entry}_of_arrays"
            inner = replace(group, parameters=group.reads.parameters, reads=None)
            return [*self._load_lines(kernel, inner, partials_of),
                    *reads_lines(entry, kernel, self.function.__wrapped__, self.name, doc, _with_out(group.parameters), group.reads)]  # fmt: skip
        if group.streams:
            shown = _signature_text(group.parameters)
            inner = replace(group, parameters=inner_parameters(group.parameters, group.streams), streams=[])
            return [*self._load_lines(f"_{entry}_kernel", inner, partials_of),
                    *stream_lines(entry, f"_{entry}_kernel", shown, doc, inner.parameters, group.streams)]  # fmt: skip
        if group.finish:
            kernel = f"_{entry}_plan"
            inner = replace(group, finish="")
            return [
                *self._load_lines(kernel, inner, partials_of),
                *finish_lines(entry, kernel, self.function.__wrapped__, group.finish),
            ]
        parameters = ", ".join(
            f"({p.name!r}, {p.kind.name.lower()!r}, {_default_text(p.default)})" for p in group.parameters
        )
        constants = [f"{n!r}: _saved({file!r})" for n, file in group.saved.items()]
        constants += [f"{n!r}: {literal(value)}" for n, value in group.fixed.items()]
        plans = ", ".join(f"_text('plan{number}.txt')" for number in group.numbers)
        partials = partials_of(group)
        return [
            "",
            f"{entry} = _face.load(",
            f"    [{plans}],",
            "    _objects,",
            f"    name={self.name!r},",
            f"    doc={doc!r},",
            f"    signature_text={_signature_text(group.parameters)!r},",
            f"    parameters=[{parameters}],",
            "    module_name=__name__,",
            f"    constants={{{', '.join(constants)}}},",
            *([f"    partials=[{', '.join(partials)}],"] if partials else []),
            *(["    stages=_stages.stages,"] if any(self[n].traced.stages for n in group.numbers) else []),
            ")",
        ]


def arguments_of(specialization: Specialization) -> list[Any]:
    """The tracer's view of the program's arguments, in their order."""
    by_name = {argument.name: argument for argument in specialization.traced.arguments}
    return [by_name[argument.name] for argument in specialization.program.arguments]


def _outside_value(specialization: Specialization, argument: Any) -> Any:
    if argument.path[0][0] == "constant":
        return argument.value
    return np.asarray(follow(argument.path, {}, specialization.traced.function))


def _default_text(value: Any) -> str:
    return (literal(value) if isinstance(value, _PLAIN) else "") or "_face.MISSING"


def _signature_text(parameters: list[inspect.Parameter]) -> str:
    """With `out`, as inspect.signature() will show it."""
    # Unchecked: a default that cannot be written may stand before one that can.
    return str(inspect.Signature(_with_out(parameters), __validate_parameters__=False))


def _with_out(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    shown = [p.replace(annotation=p.empty, default=p.default if _is_plain(p.default) else p.empty) for p in parameters]
    return with_out(shown, default=None)


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or value is inspect.Parameter.empty


def _choice_lines(name: str, entries: list[str], programs: list[Program], *, has_stages: bool) -> list[str]:
    """Signatures with different fixed values: the first entry that does not refuse the call serves it. What a stage raises
    is no refusal."""
    listed = "; ".join(signature(program) for program in programs)
    raised = ["            if _stages.raised_here(error):", "                raise"] if has_stages else []
    return [
        "",
        "",
        f"def {name}(*args, **kwargs):",
        "    refusal = None",
        f"    for entry in ({', '.join(entries)}):",
        "        try:",
        "            return entry(*args, **kwargs)",
        "        except (TypeError, ValueError) as error:",
        *raised,
        "            refusal = refusal or error",
        f"    raise type(refusal)(f'{{refusal}} This module takes: {listed}.')",
        "",
        "",
        f"{name}.__doc__ = {entries[0]}.__doc__",
    ]
