"""Writes the folder NAME_tuned/: all or nothing, and never over what a person may have put there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, _face
from ..errors import ExportError
from ..plan import Version, all_objects, compose
from ..specialization import Specialization
from .static_library import write_static_library
from .stub import shapes, signature, stub_text
from .versions import isa_levels, versions_of

if TYPE_CHECKING:
    from ..decorator import JitFunction

_MAX_HIDDEN_BYTES = 16 << 20
_MANIFEST = "evidence.json"


@dataclass(frozen=True)
class ExportOptions:
    """What to write, and over what."""

    targets: tuple[str, ...] = ("host",)
    force: bool = False
    replace_own: bool = False  # a folder that we wrote and nobody changed may be replaced
    wheel: bool = False
    libraries: bool = True
    allow_fallback: bool = False
    script: str = ""


def export_module(
    folder: Path, function: JitFunction, specializations: list[Specialization], options: ExportOptions
) -> Path:
    """Write the module and return its folder. Raises ExportError; nothing is left behind then."""
    folder = folder.absolute()
    if not folder.name.isidentifier():
        raise ExportError(
            f"{folder}: {folder.name!r} cannot be imported: it is no Python identifier.", "Choose another name."
        )
    check_free(folder, options)
    _check_exportable(function, specializations, options)
    try:
        levels = isa_levels(options.targets)
    except ValueError as error:
        raise ExportError(str(error)) from None
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(staging, folder.name, function, specializations, options, levels)
        staging.chmod(0o755)
        _swap_in(staging, folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    if options.wheel:
        from .wheel import write_wheel

        write_wheel(folder, __version__, force=options.force or options.replace_own)
    return folder


def check_free(folder: Path, options: ExportOptions) -> None:
    """ExportError where the folder exists and may not be replaced. Called early too: before an hour of searching."""
    if not folder.exists() and not folder.is_symlink():
        return
    if options.force or (options.replace_own and is_own_and_unchanged(folder)):
        return
    raise ExportError(f"{folder}: exists.", "Give --force to overwrite it, or another --out.")


def is_own_and_unchanged(folder: Path) -> bool:
    """Whether every file in the folder is as an export left it."""
    try:
        listed = json.loads((folder / _MANIFEST).read_text())["files"]
        present = {
            str(file.relative_to(folder))
            for file in folder.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts and file.name != _MANIFEST
        }
        return present == set(listed) and all(
            hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in listed.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _check_exportable(function: JitFunction, specializations: list[Specialization], options: ExportOptions) -> None:
    name = function.__name__
    for specialization in specializations:
        for argument in specialization.program.arguments:
            found = next(a for a in specialization.traced.arguments if a.name == argument.name)
            if found.kind == "hidden" and found.path[0][0] == "parameter":
                raise ExportError(
                    f"{name}: {argument.name} is read from an object that is passed in; a module takes arrays and numbers.",
                    "Pass it as an argument.",
                )
    if function._refused and not options.allow_fallback:
        reasons = "; ".join(dict.fromkeys(function._refused.values()))
        raise ExportError(f"{name}: some calls run in NumPy: {reasons}", "Give --allow-fallback to leave them out.")


def _write(
    folder: Path,
    package: str,
    function: JitFunction,
    specializations: list[Specialization],
    options: ExportOptions,
    levels: list[str],
) -> None:
    name = function.__name__
    plans: list[str] = []
    schedules: dict[str, str] = {}
    objects: dict[str, bytes] = {}
    needs: set[str] = set()
    for number, specialization in enumerate(specializations):
        versions = versions_of(specialization, options.targets, libraries=options.libraries, number=number)
        if not versions:
            raise ExportError(f"{name}: no version of {specialization.signature} compiles.", "Please report it.")
        plans.append(compose(versions[0].build.header, versions))
        objects.update(all_objects(versions))
        needs |= {library for version in versions for library in version.build.libraries}
        stem = name if number == 0 else f"{name}-{number}"
        schedules.update(_schedule_files(stem, versions))
    programs = [specialization.program for specialization in specializations]
    notes = ["Needs NumPy alone."]
    if needs:
        notes = [f"Needs NumPy; {', '.join(sorted(needs))} runs in the BLAS that NumPy brings (--no-libs avoids it)."]
    (folder / "objects").mkdir()
    (folder / "schedules").mkdir()
    for key, data in objects.items():
        (folder / "objects" / f"{key}.o").write_bytes(data)
    for number, text in enumerate(plans):
        (folder / f"plan{number}.txt").write_text(text)
    for file, text in schedules.items():
        (folder / "schedules" / file).write_text(text)
    shutil.copyfile(str(_face.__file__), folder / "_face.abi3.so")
    (folder / "_face.abi3.so").chmod(0o755)
    hidden = _hidden_arrays(name, specializations, folder)
    (folder / "__init__.py").write_text(_init_text(function, specializations, sorted(objects), hidden, notes))
    (folder / "__init__.pyi").write_text(stub_text(name, programs, notes))
    (folder / "py.typed").write_text("")
    _write_licenses(folder)
    if len(plans) == 1 and not hidden:
        write_static_library(folder, name, plans[0], objects)
    _write_evidence(folder, function, specializations, options, levels, sorted(needs))


def _schedule_files(stem: str, versions: list[Version]) -> dict[str, str]:
    files: dict[str, str] = {}
    for version in versions:
        what = version.label.partition(", ")[2].replace(" ", "_").replace(",", "")
        files.setdefault(f"{stem}.{what}.tws", version.schedule)
    return files


def _hidden_arrays(name: str, specializations: list[Specialization], folder: Path) -> dict[str, str]:
    """Arrays that the function reads from outside are saved with the module: argument -> file."""
    saved: dict[str, str] = {}
    total = 0
    for specialization in specializations:
        for argument in specialization.traced.arguments:
            if argument.kind != "hidden":
                continue
            array = _outside_value(specialization, argument)
            total += array.nbytes
            if total > _MAX_HIDDEN_BYTES:
                raise ExportError(
                    f"{name}: the arrays it reads from outside take {total >> 20} MiB; a module saves up to "
                    f"{_MAX_HIDDEN_BYTES >> 20} MiB.",
                    f"Pass {argument.name} as an argument.",
                )
            saved[argument.name] = f"{argument.name}.npy"
            np.save(folder / saved[argument.name], np.ascontiguousarray(array), allow_pickle=False)
    return saved


def _outside_value(specialization: Specialization, argument: Any) -> Any:
    from ..trace.arguments import follow

    if argument.path[0][0] == "constant":
        return argument.value
    return np.asarray(follow(argument.path, {}, specialization.traced.function))


def _init_text(
    function: JitFunction,
    specializations: list[Specialization],
    objects: list[str],
    hidden: dict[str, str],
    notes: list[str],
) -> str:
    """The module itself: it reads the plan and the objects and hands them to the C extension, nothing else."""
    name = function.__name__
    doc = function.__doc__ or shapes(specializations[0].program)
    listed = "\n".join(shapes(s.program) for s in specializations)
    heading = f"{name}, compiled by tilewright {__version__}.\n\n{listed}\n\n{' '.join(notes)}\n"
    lines = [
        repr(heading),
        "",
        "import os as _os",
        "",
        "from . import _face",
        "",
        "_HERE = _os.path.dirname(_os.path.abspath(__file__))",
        "",
        "",
        "def _read(name, mode='rb'):",
        "    with open(_os.path.join(_HERE, name), mode) as file:",
        "        return file.read()",
        "",
        "",
        f"_objects = {{name: _read(f'objects/{{name}}.o') for name in {objects!r}}}",
    ]
    visible = [_visible(s, hidden) for s in specializations]
    for number, (specialization, names) in enumerate(zip(specializations, visible, strict=True)):
        lines += _load_lines(number, specialization, names, name, doc, hidden)
    lines += _entry_lines(name, doc, specializations, visible)
    lines += [
        "",
        "",
        "def evidence():",
        '    """How fast it is, where that was measured, and which schedule runs."""',
        "    import json",
        "",
        "    return json.loads(_read('evidence.json', 'r'))",
        "",
        "",
        "del _objects",
        f"__all__ = [{name!r}, 'evidence']",
        "",
    ]
    return "\n".join(lines)


def _visible(specialization: Specialization, hidden: dict[str, str]) -> list[str]:
    return [a.name for a in specialization.program.arguments if a.name not in hidden]


def _load_lines(
    number: int, specialization: Specialization, names: list[str], name: str, doc: str, hidden: dict[str, str]
) -> list[str]:
    everything = [a.name for a in specialization.program.arguments]
    parameters = ", ".join(f"({n!r}, 'positional_or_keyword', _face.MISSING)" for n in everything)
    lines = [
        "",
        f"_load{number} = _face.load(",
        f"    _read('plan{number}.txt', 'r'),",
        "    _objects,",
        f"    name={name!r},",
        f"    doc={doc!r},",
        f"    signature_text={'(' + ', '.join([*everything, '*', 'out=None']) + ')'!r},",
        f"    parameters=[{parameters}],",
        "    module_name=__name__,",
        ")",
    ]
    if len(names) == len(everything):
        return lines
    # Arrays that the function read from outside go in at their places.
    lines += ["", f"def _call{number}({', '.join([*names, '*', 'out=None'])}):"]
    lines += [
        f"    return _load{number}({', '.join(n if n in names else f'_hidden_{n}' for n in everything)}, out=out)"
    ]
    lines += [f"_hidden_{n} = _saved({hidden[n]!r})" for n in everything if n in hidden]
    saved = [
        "",
        "def _saved(name):",
        "    import numpy",
        "",
        "    array = numpy.load(_os.path.join(_HERE, name), allow_pickle=False)",
        "    array.flags.writeable = False",
        "    return array",
        "",
    ]
    return [*saved, *lines]


def _entry_lines(name: str, doc: str, specializations: list[Specialization], visible: list[list[str]]) -> list[str]:
    calls = [
        f"_load{number}" if len(names) == len(s.program.arguments) else f"_call{number}"
        for number, (s, names) in enumerate(zip(specializations, visible, strict=True))
    ]
    if len(calls) == 1:
        lines = ["", f"{name} = {calls[0]}"]
        if calls[0].startswith("_call"):
            lines += [f"{name}.__name__ = {name}.__qualname__ = {name!r}", f"{name}.__doc__ = {doc!r}"]
        return lines
    listed = "; ".join(signature(s.program) for s in specializations)
    # Several signatures: the first function that does not refuse the types serves the call.
    return [
        "",
        "",
        f"def {name}(*args, **kwargs):",
        f"    {doc!r}",
        "    refusal = None",
        f"    for entry in ({', '.join(calls)}):",
        "        try:",
        "            return entry(*args, **kwargs)",
        "        except TypeError as error:",
        "            refusal = refusal or error",
        f"    raise TypeError(f'{{refusal}} This module takes: {listed}.')",
    ]


def _write_licenses(folder: Path) -> None:
    target = folder / "LICENSES"
    target.mkdir()
    for source in sorted((Path(__file__).resolve().parent.parent / "licenses").glob("*.txt")):
        shutil.copyfile(source, target / source.name)


def _write_evidence(
    folder: Path,
    function: JitFunction,
    specializations: list[Specialization],
    options: ExportOptions,
    levels: list[str],
    needs: list[str],
) -> None:
    files = {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    text = json.dumps(
        {
            "tilewright": __version__,
            "function": function.__name__,
            "script": options.script,
            "isa_levels": levels,
            "needs": ["numpy", *needs],
            "signatures": [shapes(s.program) for s in specializations],
            "measured": [s.evidence for s in specializations if s.evidence],
            "files": files,
        },
        indent=2,
    )
    (folder / _MANIFEST).write_text(text + "\n")


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
