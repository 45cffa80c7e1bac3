"""Writes the folder NAME_tuned/: all or nothing, and never over what a person may have put there."""

from __future__ import annotations

import hashlib
import inspect
import json
import keyword
import os
import shutil
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, _face
from ..errors import ExportError
from ..guards import follow
from ..jitted import Jitted
from ..machine import is_cuda_isa
from ..partials import Partials
from ..plan import Version, all_objects, compose
from ..program import Program
from ..specialization import Specialization
from ..structure import is_given_by_plans
from ..work_folders import OWNER_FILE, work_folder
from ..workload import signature
from .cubins import FOLDER, check_cubins, write_cubins
from .fallback import check_fallback, fallback_lines, write_fallback
from .finishing import FINISH_LINES, finish_lines, finish_of
from .intact import EVIDENCE_LINES, checking_lines, evidence_text, with_own_digest
from .objects import FILE as READING
from .objects import Reads, literal, reads_lines, reads_of
from .sources import sources_of
from .stages import calls_of, check_stages, evidence_of, packages_of, write_stages
from .static_library import c_names, write_static_library
from .streams import STREAM_LINES, Stream, check_stream, inner_parameters, stream_lines, streams_of
from .stub import Code, shapes, stub_text, with_out
from .versions import ExportOptions, isa_levels, may_be_in_parts, partials_of, versions_of
from .wheel import write_wheel

_MAX_HIDDEN_BYTES = 16 << 20
MANIFEST = "evidence.json"
FORMAT = 1  # of the folder: another one means that modules are made anew
_THREAD_NAMES = ("get_num_threads", "set_num_threads")
_DEVICE_NAMES = ("device", "to_device", "DeviceArray", "DeviceError")


_PLAIN = (bool, int, float, str, type(None))
_OF_ARRAYS = ("contiguous", "writeable")  # kinds of guards that say what an array is like


@dataclass
class _Group:
    """Plans behind one C function; equal where it can serve them all."""

    numbers: list[int] = field(compare=False)
    parameters: list[inspect.Parameter]
    fixed: dict[str, Any]  # parameters with the value that was compiled in
    saved: dict[str, str]  # arrays from outside -> file
    streams: list[Stream]  # random generators
    reads: Reads | None  # what Python reads of the call's objects, where C does not take the arguments as they are
    finish: str  # Python's text for the function's result, where that is not what the plan gives


def export_module(
    folder: Path, function: Jitted, specializations: list[Specialization], options: ExportOptions
) -> Path:
    """Write the module and return its folder. Raises ExportError; nothing is left behind then."""
    folder = folder.absolute()
    check_place(folder, options)
    check_keeps(folder, options, {function.__name__})
    check_exportable(function, specializations, options)
    try:
        check_cubins(options.cubins, isa_levels(options.targets))
    except ValueError as error:
        raise ExportError(str(error)) from None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with work_folder(f".{folder.name}-", folder.parent, keep=True) as staging:
            _Writer(staging, function, specializations, options, folder).write()
            staging.chmod(0o755)
        try:
            _swap_in(staging, folder)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        if options.wheel:
            write_wheel(folder, __version__, force=options.force or options.replace_own)
    except OSError as error:
        raise ExportError(
            f"{folder}: it cannot be written: {error.strerror or error}.",
            "Free some space there, or choose another folder.",
        ) from None
    return folder


def check_place(folder: Path, options: ExportOptions) -> None:
    """ExportError where no module can be written there, or none may. Called early too: before an hour of searching."""
    if not folder.name.isidentifier() or keyword.iskeyword(folder.name):
        raise ExportError(
            f"{folder}: {folder.name!r} cannot be imported: it is not a Python identifier.", "Choose another name."
        )
    if not os.path.lexists(folder):
        above = next(parent for parent in folder.parents if os.path.exists(parent))
        try:  # permissions alone do not tell: a read-only file system, an administrator
            missing = folder.relative_to(above).parts
            made = tempfile.mkdtemp(prefix=f".{folder.name}-", dir=above)
            try:
                for name in missing:  # a name may be too long
                    os.mkdir(os.path.join(made, name))
                    os.rmdir(os.path.join(made, name))
            finally:
                os.rmdir(made)
        except OSError as error:
            raise ExportError(
                f"{folder}: nothing can be written to {above}: {error.strerror or error}.", "Choose another folder."
            ) from None
        return
    if options.force or (options.replace_own and is_own_and_unchanged(folder)):
        return
    raise ExportError(f"{folder}: exists.", "Give --force to overwrite it, or another --out.")


def check_keeps(folder: Path, options: ExportOptions, functions: Collection[str]) -> None:
    """ExportError where the module that is there has another function than one of these, which would be lost."""
    if options.force or not os.path.lexists(folder):
        return
    held = json.loads((folder / MANIFEST).read_text())["function"]
    if held not in functions:
        name = next(iter(functions))
        raise ExportError(
            f"{folder}: it has {held}, and a module holds one function.",
            f"Give --out {folder.name.removesuffix('_tuned')}_{name}_tuned for {name}, or --force to overwrite it.",
        )


def is_own_and_unchanged(folder: Path) -> bool:
    """Whether every file in the folder is as an export left it."""
    try:
        return bool(json.loads((folder / MANIFEST).read_text())["files"] == _digests_of(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a module but the one that lists them, by its name."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts and file.name not in (MANIFEST, OWNER_FILE)
    }


def check_exportable(function: Jitted, specializations: list[Specialization], options: ExportOptions) -> None:
    """ExportError where a module cannot have what the function needs."""
    name = function.__name__
    on_device = any(target.startswith("cuda") for target in options.targets)
    for specialization in specializations:
        check_stages(name, specialization.traced.stages, on_device=on_device)
        for argument in _arguments_of(specialization):
            if argument.path[-1][0] == "pcg64":
                check_stream(name, argument)
            if argument.path[-1][0] == "column":
                raise ExportError(f"{name}: {argument.path[0][1]} has a list of numbers.", "Pass it as an array.")
        reads_of(name, specialization.traced, _arguments_of(specialization))
        if finish_of(name, specialization.traced) and on_device:
            raise ExportError(
                f"{name}: views are among its results, which a module for a device does not give.",
                "Return copies of them.",
            )
    if function.refusals and options.allow_fallback:
        check_fallback(name, function.__wrapped__)  # type: ignore[arg-type]
    elif function.refusals:
        reasons = "; ".join(function.refusals)
        raise ExportError(
            f"{name}: some calls run in NumPy: {reasons}",
            "Give --allow-fallback (allow_fallback=True in Python) to ship the function's Python for them.",
        )


@dataclass
class _Writer:
    """One module on its way into `folder`, from where it goes to `place`."""

    folder: Path
    function: Jitted
    specializations: list[Specialization]
    options: ExportOptions
    place: Path
    plans: list[str] = field(default_factory=list)
    schedules: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    of_parts: dict[str, bytes] = field(default_factory=dict)  # objects that C functions do not need
    in_parts: dict[int, Partials] = field(default_factory=dict)  # of plans, for calls beyond what kernels can index
    unseen: set[int] = field(default_factory=set)  # plans that could have such ones
    needs: set[str] = field(default_factory=set)
    assembled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = self.function.__name__
        self.programs = [specialization.program for specialization in self.specializations]
        self.structures = [specialization.traced.results for specialization in self.specializations]
        self.shown = [shapes(*each) for each in zip(self.programs, self.structures, strict=True)]
        self.levels = isa_levels(self.options.targets)
        self.on_device = any(is_cuda_isa(level) for level in self.levels)
        self.has_fallback = self.options.allow_fallback and bool(self.function.refusals)
        self.stages = {text: stage for s in self.specializations for text, stage in s.traced.stages.items()}

    def write(self) -> None:
        """Everything. Raises ExportError, OSError."""
        folder, name = self.folder, self.name
        for number, specialization in enumerate(self.specializations):
            self._compile(number, specialization)
        objects = self.objects | self.of_parts
        if self.on_device:
            self.assembled = write_cubins(folder, objects.values(), self.options.cubins)
        groups = self._groups()
        # C has no place for arrays from outside, and C functions would refuse what a module with a fallback takes. What
        # NumPy computes, nothing computes there.
        served = [n for group in groups if not (group.saved or self.has_fallback) for n in group.numbers]
        served = [number for number in served if not self.specializations[number].traced.stages]
        served = [number for number in served if is_given_by_plans(self.specializations[number].traced.results)]
        in_c = dict(zip(served, c_names(name, [self.programs[number] for number in served]), strict=True))
        notes = self._notes(in_c)
        if self.has_fallback:
            write_fallback(folder, name, self.function.__wrapped__)  # type: ignore[arg-type]
        (folder / "objects").mkdir()
        (folder / "schedules").mkdir()
        for key, data in objects.items():
            (folder / "objects" / f"{key}.o").write_bytes(data)
        for number, text in enumerate(self.plans):
            (folder / f"plan{number}.txt").write_text(text, encoding="utf-8")
        for number, partials in self.in_parts.items():

            def write(what: str, text: str, number: int = number) -> int:
                return (folder / _file_of_parts(number, what)).write_text(text, encoding="utf-8")

            partials.loaded(write)
        for file, text in self.schedules.items():
            (folder / "schedules" / file).write_text(text)
        shutil.copyfile(str(_face.__file__), folder / "_face.abi3.so")
        (folder / "_face.abi3.so").chmod(0o755)
        if any(group.reads is not None for group in groups):
            shutil.copyfile(Path(__file__).with_name("reading.py"), folder / READING)
        if self.stages:
            write_stages(folder, name, self.stages)
        files = [
            *sorted(f"objects/{key}.o" for key in objects),
            *sorted(f.name for f in folder.glob("plan*.txt")),
            *(file for group in groups for file in group.saved.values()),
        ]
        (folder / "__init__.py").write_text(self._init_text(groups, files, notes), encoding="utf-8")
        parameters = _parameters(self.function)
        on_device, has_fallback = self.on_device, self.has_fallback
        (folder / "__init__.pyi").write_text(
            stub_text(
                name,
                self.programs,
                notes,
                parameters,
                on_device=on_device,
                has_fallback=has_fallback,
                structures=self.structures,
            )  # fmt: skip
        )
        (folder / "py.typed").write_text("")
        licenses = Path(__file__).resolve().parent.parent / "licenses"
        shutil.copytree(licenses, folder / "LICENSES", copy_function=shutil.copyfile)
        if in_c:
            write_static_library(
                folder, [(in_c[number], self.plans[number]) for number in in_c], self.objects, self._left_out_of_c()
            )
        self._write_evidence(in_c)

    def _compile(self, number: int, specialization: Specialization) -> None:
        """All versions of one specialization."""
        versions = versions_of(specialization, self.options, number)
        if not versions:
            raise ExportError(f"{self.name}: no version of {specialization.signature} compiles.", "Please report it.")
        self.plans.append(compose(versions))
        self.objects.update(all_objects(versions))
        self.needs |= {library for version in versions for library in version.build.libraries}
        partials = partials_of(specialization, self.options, number)
        if partials is not None:
            self.in_parts[number] = partials
            self.of_parts.update(partials.objects())
        elif may_be_in_parts(specialization):
            self.unseen.add(number)
        self.schedules.update(_schedule_files(self.name if number == 0 else f"{self.name}-{number}", versions))

    def _notes(self, in_c: dict[int, str]) -> list[str]:
        """What the module's documentation and its stub say of it."""
        others = packages_of(self.stages.values())
        notes = [f"Needs NumPy and {', '.join(others)}." if others else "Needs NumPy alone."]
        if self.needs:
            needs = ", ".join(sorted(self.needs))
            notes = [
                f"{notes[0].removesuffix('.').removesuffix(' alone')}; {needs} runs in the BLAS that NumPy brings (--no-libs avoids it)."
            ]
        if stages := calls_of(self.stages):
            notes.append(f"Between kernels Python computes {', '.join(stages)}.")
        if self.on_device:
            notes += _device_notes(self.levels)
        if self.assembled:
            archs = ", ".join(self.assembled)
            notes.append(f"Code for {archs} is assembled already; the driver does that for other devices.")
        if self.has_fallback:
            reasons = "; ".join(self.function.refusals)
            notes.append(
                f"Other calls run in NumPy, as the function was written (--allow-fallback): {reasons} None is for C."
            )
        elif len(in_c) < len(self.programs):
            which = f"{len(in_c)} of {len(self.programs)} signatures have a function" if in_c else "No function"
            why = "the arrays from outside that it reads would have to be arguments"
            if not all(map(is_given_by_plans, self.structures)):
                why = "views are among the results"
            if stages := calls_of(self.stages):
                why = f"what computes {', '.join(stages)} is Python's"
            notes.append(f"{which} for C: {why}.")
        return notes

    def _left_out_of_c(self) -> list[str]:
        """Signatures without a C function because of their stages, a line each."""
        return [
            f"{shown} has no function here: {', '.join(stages)} is computed in Python."
            for shown, specialization in zip(self.shown, self.specializations, strict=True)
            if (stages := calls_of(specialization.traced.stages))
        ]

    def _groups(self) -> list[_Group]:
        """Specializations that one C function can serve: the same parameters, fixed values and saved arrays."""
        groups: list[_Group] = []
        total = 0
        for number, specialization in enumerate(self.specializations):
            traced = specialization.traced
            saved: dict[str, str] = {}
            numbers: dict[str, Any] = {}  # as they are now
            for argument in _arguments_of(specialization):
                if argument.path[0][0] == "parameter" or argument.path[-1][0] == "pcg64":
                    continue
                if argument.kind == "scalar":
                    numbers[argument.name] = _outside_value(specialization, argument).item()
                    continue
                array = _outside_value(specialization, argument)
                total += array.nbytes
                if total > _MAX_HIDDEN_BYTES:
                    raise ExportError(
                        f"{self.name}: the arrays it reads from outside take {total >> 20} MiB or more; a module saves "
                        f"up to {_MAX_HIDDEN_BYTES >> 20} MiB.",
                        f"Pass {argument.name} as an argument.",
                    )
                saved[argument.name] = f"{argument.name}{number or ''}.npy"
                np.save(self.folder / saved[argument.name], np.ascontiguousarray(array), allow_pickle=False)
            fixed = {
                g.path[0][1]: g.value
                for g in traced.guards
                if g.path[0][0] == "parameter" and len(g.path) == 1 and g.kind not in _OF_ARRAYS
            }
            fixed = {name: value for name, value in fixed.items() if isinstance(value, _PLAIN)}
            reads, streams = reads_of(self.name, traced, _arguments_of(specialization)), streams_of(traced)
            fixed = ({} if reads else fixed) | numbers
            made = _Group(
                [number], _parameters(self.function), fixed, saved, streams, reads, finish_of(self.name, traced)
            )
            found = next((g for g in groups if g == made and not saved), None)
            if found is None:
                groups.append(made)
            else:
                found.numbers.append(number)
        return groups

    def _init_text(self, groups: list[_Group], files: list[str], notes: list[str]) -> str:
        """The module itself: it reads the plans and the objects and hands them to the C extension, nothing else."""
        name = self.name
        programs = [self.programs[number] for group in groups for number in group.numbers]
        listed = "\n".join(self.shown[number] for group in groups for number in group.numbers)
        heading = f"{name}, compiled by tilewright {__version__}.\n\n{listed}\n\n{' '.join(notes)}\n"
        # Formatters leave the text as it is: it knows its own bytes.
        lines = ["# fmt: off", "# ruff: noqa", repr(heading)]
        lines += [*checking_lines(self.folder, files), "_objects = _Objects()"]
        if self.assembled:
            lines.append(f"_face.cubins_in(_os.path.join(_HERE, {FOLDER!r}))")
        if any(group.streams for group in groups):
            lines += STREAM_LINES
        if any(group.finish for group in groups):
            lines += FINISH_LINES
        if any(group.reads is not None for group in groups):
            lines += ["", "import numpy as _numpy", "", "from . import _reading"]
        if self.stages:
            lines += ["", "from . import _stages"]
        names = [name] if len(groups) == 1 else [f"_entry{number}" for number in range(len(groups))]
        for entry, group in zip(names, groups, strict=True):
            lines += self._load_lines(entry, group)
        if len(groups) > 1:
            lines += _choice_lines(name, names, programs, has_stages=bool(self.stages))
        if self.has_fallback:
            writes = any(s.traced.writes for s in self.function.specializations)
            lines += fallback_lines(name, writes=writes)
        shared = [n for n in (*_THREAD_NAMES, *(_DEVICE_NAMES if self.on_device else ())) if n != name]
        lines += [
            *EVIDENCE_LINES.splitlines(),
            "",
            "",
            "del _objects",
            f"from ._face import {', '.join(shared)}",
            f"__all__ = {[name, 'evidence', *shared]!r}",
            "",
        ]
        return with_own_digest("\n".join(lines))

    def _load_lines(self, entry: str, group: _Group) -> list[str]:
        doc = self.function.__doc__ or self.shown[group.numbers[0]]
        if group.reads is not None:
            kernel = f"_{entry}_of_arrays"
            inner = replace(group, parameters=group.reads.parameters, reads=None)
            return [*self._load_lines(kernel, inner),
                    *reads_lines(entry, kernel, self.function.__wrapped__, self.name, doc, _with_out(group.parameters), group.reads)]  # fmt: skip
        if group.streams:
            shown = _signature_text(group.parameters)
            inner = replace(group, parameters=inner_parameters(group.parameters, group.streams), streams=[])
            return [*self._load_lines(f"_{entry}_kernel", inner),
                    *stream_lines(entry, f"_{entry}_kernel", shown, doc, inner.parameters, group.streams)]  # fmt: skip
        if group.finish:
            kernel = f"_{entry}_plan"
            inner = replace(group, finish="")
            return [
                *self._load_lines(kernel, inner),
                *finish_lines(entry, kernel, self.function.__wrapped__, group.finish),
            ]
        parameters = ", ".join(
            f"({p.name!r}, {p.kind.name.lower()!r}, {_default_text(p.default)})" for p in group.parameters
        )
        constants = [f"{n!r}: _saved({file!r})" for n, file in group.saved.items()]
        constants += [f"{n!r}: {literal(value)}" for n, value in group.fixed.items()]
        plans = ", ".join(f"_text('plan{number}.txt')" for number in group.numbers)
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
            *(
                [f"    partials=[{', '.join(self._partials_text(n) for n in group.numbers)}],"]
                if not (self.in_parts.keys() | self.unseen).isdisjoint(group.numbers)
                else []
            ),  # fmt: skip
            *(["    stages=_stages.stages,"] if self._has_stages(group) else []),
            ")",
        ]

    def _has_stages(self, group: _Group) -> bool:
        return any(self.specializations[number].traced.stages for number in group.numbers)

    def _partials_text(self, number: int) -> str:
        if number not in self.in_parts:
            return repr(_EXPORT_AFTER) if number in self.unseen else "None"
        return repr(self.in_parts[number].loaded(lambda what, _: Code(f"_text({_file_of_parts(number, what)!r})")))

    def _write_evidence(self, in_c: dict[int, str]) -> None:
        specializations = self.specializations
        text = json.dumps(
            {
                "tilewright": __version__,
                "format": FORMAT,
                "function": self.name,
                "script": self.options.script,
                "isa_levels": self.levels,
                "cubins": self.assembled,
                "needs": ["numpy", *packages_of(self.stages.values()), *sorted(self.needs)],
                "stages": evidence_of(self.stages),
                "signatures": self.shown,
                "c_functions": {in_c[number]: self.shown[number] for number in in_c},
                "measured": [e for s in specializations for e in (s.evidence, s.evidence_on_device) if e],
                "sources": sources_of(self.function.__wrapped__, [s.traced for s in specializations], self.place),  # type: ignore[arg-type]
                "files": _digests_of(self.folder),
            },
            indent=2,
        )
        (self.folder / MANIFEST).write_text(evidence_text(text), encoding="utf-8")


def _device_notes(levels: list[str]) -> list[str]:
    """Where calls run: for the module's documentation and its stub."""
    capabilities = ", ".join(f"{isa[-2]}.{isa[-1]}" for isa in levels if is_cuda_isa(isa))
    notes = [
        f"Arrays on a CUDA device (compute capability {capabilities} or later; PyTorch, CuPy, Numba, JAX, DeviceArray) are "
        "computed with there, without copies, and results are of the same kind."
    ]
    if all(is_cuda_isa(isa) for isa in levels):
        notes.append("NumPy arrays are copied to the device, and results back.")
    else:
        notes.append("NumPy arrays are computed with on the host.")
    return notes


def _schedule_files(stem: str, versions: list[Version]) -> dict[str, str]:
    files: dict[str, str] = {}
    for version in versions:
        what = version.label.partition(", ")[2].replace(" ", "_").replace(",", "")
        if version.build.on_device:
            what = f"cuda_{what}"
        files.setdefault(f"{stem}.{what}.tws", version.build.schedule)
    return files


def _parameters(function: Jitted) -> list[inspect.Parameter]:
    """The user's own parameters, as people see them."""
    return list(inspect.signature(function.__wrapped__).parameters.values())


def _arguments_of(specialization: Specialization) -> list[Any]:
    """The tracer's view of the program's arguments, in their order."""
    by_name = {argument.name: argument for argument in specialization.traced.arguments}
    return [by_name[argument.name] for argument in specialization.program.arguments]


def _outside_value(specialization: Specialization, argument: Any) -> Any:
    if argument.path[0][0] == "constant":
        return argument.value
    return np.asarray(follow(argument.path, {}, specialization.traced.function))


# What a module says of arrays that are too large, where it would reduce them in parts.
_EXPORT_AFTER = "Work on it in parts, or export the function after a call of such arrays: its module takes them then."


def _file_of_parts(number: int, what: str) -> str:
    return f"plan{number}-{what}.txt"


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


def _swap_in(staging: Path, folder: Path) -> None:
    """The new folder appears at once; an old one is moved aside first and comes back if that fails."""
    if not folder.exists() and not folder.is_symlink():
        os.rename(staging, folder)
        return
    aside = folder.with_name(f".{folder.name}-{os.getpid()}-old")
    os.rename(folder, aside)
    try:
        os.rename(staging, folder)
    except OSError:
        os.rename(aside, folder)
        raise
    if aside.is_symlink() or aside.is_file():
        with suppress(OSError):
            aside.unlink()
    else:
        shutil.rmtree(aside, ignore_errors=True)
