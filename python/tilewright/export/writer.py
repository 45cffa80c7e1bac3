"""What stands in the folder of a module: plans, objects, schedules, Python around them, a library for C, and the evidence."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import __version__, _face
from ..errors import ExportError
from ..machine import is_cuda_isa
from ..partials import Partials
from ..plan import Version, all_objects, compose
from ..specialization import Specialization
from ..structure import is_given_by_plans
from ..symbolic.stages import Stage
from ..work_folders import OWNER_FILE
from .cubins import FOLDER, write_cubins
from .exported import Exported, Group
from .fallback import write_fallback
from .finishing import FINISH_LINES
from .intact import EVIDENCE_LINES, checking_lines, evidence_text, with_own_digest
from .objects import FILE as READING
from .sources import sources_of
from .stages import calls_of, evidence_of, packages_of, write_stages
from .static_library import c_names, write_static_library
from .streams import STREAM_LINES
from .stub import Code, Stub, stub_text
from .versions import ExportOptions, isa_levels, may_be_in_parts, partials_of, versions_of

MANIFEST = "evidence.json"
FORMAT = 2  # of the folder: another one means that modules are made anew
_THREAD_NAMES = ("get_num_threads", "set_num_threads")
_DEVICE_NAMES = ("device", "to_device", "DeviceArray", "DeviceError")
# What a module says of arrays that are too large, where it would reduce them in parts.
_EXPORT_AFTER = "Work on it in parts, or export the function after a call of such arrays: its module takes them then."


@dataclass
class Writer:
    """One module on its way into `folder`, from where it goes to `place`."""

    folder: Path
    functions: Sequence[Exported]
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
        self.names = [one.name for one in self.functions]
        self.levels = isa_levels(self.options.targets)
        self.on_device = any(is_cuda_isa(level) for level in self.levels)
        self.stages: dict[str, Stage] = {}
        for one in self.functions:
            self.stages.update(one.stages)
        self.falling_back = [one for one in self.functions if one.has_fallback(self.options.allow_fallback)]

    def write(self) -> None:
        """Everything. Raises ExportError, OSError."""
        folder = self.folder
        for one in self.functions:
            for number in one.numbers:
                self._compile(one, number)
        objects = self.objects | self.of_parts
        if self.on_device:
            self.assembled = write_cubins(folder, objects.values(), self.options.cubins)
        groups: dict[str, list[Group]] = {}
        for one in self.functions:
            groups[one.name] = one.groups(folder, sum(file.stat().st_size for file in folder.glob("*.npy")))
        in_c = self._c_functions(groups)
        notes = self._notes(in_c)
        if self.falling_back:
            write_fallback(folder, {one.name: one.function.__wrapped__ for one in self.falling_back})  # type: ignore[misc]
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
        every = list(itertools.chain.from_iterable(groups.values()))
        if any(group.reads is not None for group in every):
            shutil.copyfile(Path(__file__).with_name("reading.py"), folder / READING)
        if self.stages:
            write_stages(folder, " and ".join(one.name for one in self.functions if one.stages), self.stages)
        files = [
            *sorted(f"objects/{key}.o" for key in objects),
            *sorted(f.name for f in folder.glob("plan*.txt")),
            *(file for group in every for file in group.saved.values()),
        ]
        (folder / "__init__.py").write_text(self._init_text(groups, files, notes), encoding="utf-8")
        stubs = [
            Stub(one.name, one.programs, one.structures, one.parameters, one in self.falling_back)
            for one in self.functions
        ]
        (folder / "__init__.pyi").write_text(stub_text(stubs, notes, on_device=self.on_device))
        (folder / "py.typed").write_text("")
        licenses = Path(__file__).resolve().parent.parent / "licenses"
        shutil.copytree(licenses, folder / "LICENSES", copy_function=shutil.copyfile)
        if in_c:
            write_static_library(
                folder, [(in_c[number], self.plans[number]) for number in in_c], self.objects, self._left_out_of_c()
            )
        self._write_evidence(in_c)

    def _compile(self, one: Exported, number: int) -> None:
        """All versions of one specialization."""
        specialization = one[number]
        versions = versions_of(specialization, self.options, number)
        if not versions:
            raise ExportError(f"{one.name}: no version of {specialization.signature} compiles.", "Please report it.")
        self.plans.append(compose(versions))
        self.objects.update(all_objects(versions))
        self.needs |= {library for version in versions for library in version.build.libraries}
        partials = partials_of(specialization, self.options, number)
        if partials is not None:
            self.in_parts[number] = partials
            self.of_parts.update(partials.objects())
        elif may_be_in_parts(specialization):
            self.unseen.add(number)
        stem = one.name if number == one.first else f"{one.name}-{number - one.first}"
        self.schedules.update(_schedule_files(stem, versions))

    def _c_functions(self, groups: dict[str, list[Group]]) -> dict[int, str]:
        """The names of the functions for C, by the numbers of their plans. C has no place for arrays from outside, and C functions
        would refuse what a module with a fallback takes. What NumPy computes, nothing computes there."""
        served: dict[int, Specialization] = {}
        for one in self.functions:
            if one not in self.falling_back:
                served |= {n: one[n] for group in groups[one.name] if not group.saved for n in group.numbers}
        served = {n: s for n, s in served.items() if not s.traced.stages and is_given_by_plans(s.traced.results)}
        of_each = [(one.name, [s.program for n, s in served.items() if n in one.numbers]) for one in self.functions]
        in_order = [n for one in self.functions for n in served if n in one.numbers]
        return dict(zip(in_order, c_names(of_each), strict=True))

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
        for one in self.functions:
            if note := self._note_of(one, in_c):
                notes.append(note if len(self.functions) == 1 else f"{one.name}: {note}")
        return notes

    def _note_of(self, one: Exported, in_c: dict[int, str]) -> str:
        """Of one function: what of it runs in NumPy, and what is not for C."""
        if one in self.falling_back:
            reasons = "; ".join(one.function.refusals)
            return f"Other calls run in NumPy, as the function was written (--allow-fallback): {reasons} None is for C."
        count, total = sum(n in in_c for n in one.numbers), len(one.programs)
        if count == total:
            return ""
        which = f"{count} of {total} signatures have a function" if count else "No function"
        why = "the arrays from outside that it reads would have to be arguments"
        if not all(map(is_given_by_plans, one.structures)):
            why = "views are among the results"
        if stages := calls_of(one.stages):
            why = f"what computes {', '.join(stages)} is Python's"
        return f"{which} for C: {why}."

    def _left_out_of_c(self) -> list[str]:
        """Signatures without a C function because of their stages, a line each."""
        return [
            f"{shown} has no function here: {', '.join(stages)} is computed in Python."
            for one in self.functions
            for shown, specialization in zip(one.shown, one.specializations, strict=True)
            if (stages := calls_of(specialization.traced.stages))
        ]

    def _init_text(self, groups: dict[str, list[Group]], files: list[str], notes: list[str]) -> str:
        """The module itself: it reads the plans and the objects and hands them to the C extension, nothing else."""
        every = list(itertools.chain.from_iterable(groups.values()))
        shown = [
            one.shown[n - one.first] for one in self.functions for group in groups[one.name] for n in group.numbers
        ]
        listed = "\n".join(shown)
        heading = f"{', '.join(self.names)}, compiled by tilewright {__version__}.\n\n{listed}\n\n{' '.join(notes)}\n"
        # Formatters leave the text as it is: it knows its own bytes.
        lines = ["# fmt: off", "# ruff: noqa", repr(heading)]
        lines += [*checking_lines(self.folder, files), "_objects = _Objects()"]
        if self.assembled:
            lines.append(f"_face.cubins_in(_os.path.join(_HERE, {FOLDER!r}))")
        if any(group.streams for group in every):
            lines += STREAM_LINES
        if any(group.finish for group in every):
            lines += FINISH_LINES
        if any(group.reads is not None for group in every):
            lines += ["", "import numpy as _numpy", "", "from . import _reading"]
        if self.stages:
            lines += ["", "from . import _stages"]
        for one in self.functions:
            lines += one.lines(groups[one.name], self._partials, falls_back=one in self.falling_back)
        shared = (*_THREAD_NAMES, *(_DEVICE_NAMES if self.on_device else ()))
        shared = tuple(name for name in shared if name not in self.names)
        lines += [
            *EVIDENCE_LINES.splitlines(),
            "",
            "",
            "del _objects",
            f"from ._face import {', '.join(shared)}",
            f"__all__ = {[*self.names, 'evidence', *shared]!r}",
            "",
        ]
        return with_own_digest("\n".join(lines))

    def _partials(self, group: Group) -> list[str]:
        """For each plan of a group, what calls beyond the limit of kernels run by; nothing where none has such."""
        if (self.in_parts.keys() | self.unseen).isdisjoint(group.numbers):
            return []
        return [self._partials_text(number) for number in group.numbers]

    def _partials_text(self, number: int) -> str:
        if number not in self.in_parts:
            return repr(_EXPORT_AFTER) if number in self.unseen else "None"
        return repr(self.in_parts[number].loaded(lambda what, _: Code(f"_text({_file_of_parts(number, what)!r})")))

    def _write_evidence(self, in_c: dict[int, str]) -> None:
        specializations = [s for one in self.functions for s in one.specializations]
        shown = [text for one in self.functions for text in one.shown]
        sources: dict[str, list[object]] = {"functions": [], "constants": []}
        for one in self.functions:
            traces = [s.traced for s in one.specializations]
            for kind, rows in sources_of(one.function.__wrapped__, traces, self.place).items():  # type: ignore[arg-type]
                sources[kind] += [row for row in rows if row not in sources[kind]]
        text = json.dumps(
            {
                "tilewright": __version__,
                "format": FORMAT,
                "functions": self.names,
                "script": self.options.script,
                "isa_levels": self.levels,
                "cubins": self.assembled,
                "needs": ["numpy", *packages_of(self.stages.values()), *sorted(self.needs)],
                "stages": evidence_of(self.stages),
                "signatures": shown,
                "c_functions": {name: shown[number] for number, name in in_c.items()},
                "measured": [e for s in specializations for e in (s.evidence, s.evidence_on_device) if e],
                "sources": sources,
                "files": digests_of(self.folder),
            },
            indent=2,
        )
        (self.folder / MANIFEST).write_text(evidence_text(text), encoding="utf-8")


def digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a module but the one that lists them, by its name."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts and file.name not in (MANIFEST, OWNER_FILE)
    }


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


def _file_of_parts(number: int, what: str) -> str:
    return f"plan{number}-{what}.txt"
