"""Writes the folder NAME_tuned/: all or nothing, and never over what a person may have put there."""

from __future__ import annotations

import json
import keyword
import os
import shutil
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from .. import __version__
from ..errors import ExportError
from ..jitted import Jitted
from ..specialization import Specialization
from ..work_folders import work_folder
from .cubins import check_cubins
from .exported import Exported, arguments_of
from .fallback import check_fallback
from .finishing import finish_of
from .objects import reads_of
from .stages import check_stages
from .streams import check_stream
from .versions import ExportOptions, isa_levels
from .wheel import write_wheel
from .writer import FORMAT, MANIFEST, Writer, digests_of

__all__ = ["FORMAT", "MANIFEST", "check_exportable", "check_keeps", "check_place", "export_module", "functions_in"]


def export_module(
    folder: Path, functions: Sequence[tuple[Jitted, Sequence[Specialization]]], options: ExportOptions
) -> Path:
    """Write a module of functions, each with its specializations, and return its folder. Raises ExportError; nothing is left behind
    then."""
    folder = folder.absolute()
    check_place(folder, options)
    check_keeps(folder, options, [function.__name__ for function, _ in functions])
    for function, specializations in functions:
        check_exportable(function, list(specializations), options)
    exported = _numbered(functions)
    _check_together(folder, exported)
    try:
        check_cubins(options.cubins, isa_levels(options.targets))
    except ValueError as error:
        raise ExportError(str(error)) from None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with work_folder(f".{folder.name}-", folder.parent, keep=True) as staging:
            Writer(staging, exported, options, folder).write()
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


def _numbered(functions: Sequence[tuple[Jitted, Sequence[Specialization]]]) -> list[Exported]:
    exported: list[Exported] = []
    for function, specializations in functions:
        first = sum(len(one.specializations) for one in exported)
        exported.append(Exported(function, list(specializations), first))
    return exported


def _check_together(folder: Path, exported: list[Exported]) -> None:
    """ExportError where one module cannot have all of them."""
    for number, one in enumerate(exported):
        for other in exported[:number]:
            if one.name == other.name:
                raise ExportError(f"{folder}: two of its functions are called {one.name}.", "Write a module for each.")
            if not are_of_one_module(one.specializations, other.specializations):
                raise ExportError(
                    f"{folder}: {one.name} and {other.name} call different functions by one name.",
                    "Write a module for each.",
                )


def are_of_one_module(some: Sequence[Specialization], others: Sequence[Specialization]) -> bool:
    """Whether functions that they call by one name between kernels are the same."""
    stages = {text: stage for one in some for text, stage in one.traced.stages.items()}
    return all(
        stages.get(text, stage).callee == stage.callee for one in others for text, stage in one.traced.stages.items()
    )


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


def functions_in(folder: Path) -> list[str]:
    """The functions of a module of ours that is there; none where there is no such module."""
    try:
        return [str(name) for name in json.loads((folder / MANIFEST).read_text())["functions"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def check_keeps(folder: Path, options: ExportOptions, functions: Collection[str]) -> None:
    """ExportError where the module that is there has a function that is none of these, and would be lost."""
    lost = [] if options.force else [name for name in functions_in(folder) if name not in functions]
    if lost:
        name = next(iter(functions))
        raise ExportError(
            f"{folder}: it has {', '.join(lost)}, which a module of {', '.join(functions)} would not have.",
            f"Give --out {folder.name.removesuffix('_tuned')}_{name}_tuned for {name}, or --force to overwrite it.",
        )


def is_own_and_unchanged(folder: Path) -> bool:
    """Whether every file in the folder is as an export left it."""
    try:
        return bool(json.loads((folder / MANIFEST).read_text())["files"] == digests_of(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def check_exportable(function: Jitted, specializations: list[Specialization], options: ExportOptions) -> None:
    """ExportError where a module cannot have what the function needs."""
    name = function.__name__
    on_device = any(target.startswith("cuda") for target in options.targets)
    for specialization in specializations:
        check_stages(name, specialization.traced.stages, on_device=on_device)
        for argument in arguments_of(specialization):
            if argument.path[-1][0] == "pcg64":
                check_stream(name, argument)
            if argument.path[-1][0] == "column":
                raise ExportError(f"{name}: {argument.path[0][1]} has a list of numbers.", "Pass it as an array.")
        reads_of(name, specialization.traced, arguments_of(specialization))
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
