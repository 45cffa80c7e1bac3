"""Values of options: durations, targets, files. Each refusal names the option and what it takes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..device_code import suits_devices
from ..errors import Error
from ..machine import CUDA_TARGETS, ISA_LEVELS, is_cuda_isa, resolve_isa, runs_here
from ..script import Script
from . import SUBCOMMANDS, script_arguments

_MAX_TEXT_BYTES = 1 << 20
_SKIPPED = {"__pycache__", "node_modules", "build", "site-packages"}


class UsageError(Error):
    """A line for the user; exit code 2."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """A ValueError about an option is one for the user."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"--{str(error).removeprefix('--')}") from None


def targets(values: list[str]) -> tuple[str, ...]:
    """`--target host,x86-64-v3 --target x86-64` -> three levels."""
    names = [name.strip() for value in values for name in value.split(",") if name.strip()]
    if values and not names:
        raise UsageError(f"--target: {values[0]!r} names no target. Write host, cuda or host,cuda.")
    for name in names:
        with usage_errors():
            resolve_isa(name)
    return tuple(dict.fromkeys(names)) or ("host",)


def jit_target(names: tuple[str, ...]) -> str:
    """What the recorded functions are compiled for while they are tuned: the best level of those asked for that this
    machine runs, and the best CUDA target that its devices run: what is measured is then what the module runs here.
    If it runs none of them, its own best level is used instead, and what is measured is not what the module holds."""
    asked = [resolve_isa(name) for name in names]
    levels = [isa for isa in ISA_LEVELS if isa in asked]
    devices = [isa for isa in CUDA_TARGETS if isa in asked]
    chosen = [next((isa for isa in levels if runs_here(isa)), "host")] if levels else []
    if devices:
        chosen.append(next((isa for isa in devices if suits_devices(isa)), devices[-1]))
    return ",".join(chosen)


def check_cuda_options(names: tuple[str, ...], options: dict[str, str]) -> None:
    """UsageError for an option of CUDA targets without such a target: it would change nothing."""
    if any(is_cuda_isa(resolve_isa(name)) for name in names):
        return
    for option, value in options.items():
        if value:
            given = ",".join(names)
            raise UsageError(f"{option} {value}: applies to CUDA targets, but --target is {given}. Add --target cuda.")


def device_numbers(text: str) -> tuple[int, ...]:
    """`--devices 0,1` -> (0, 1)."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not all(word.isdigit() for word in words) or len(set(words)) != len(words):
        raise UsageError(f"--devices: {text!r} is not a list of different numbers. Write 0,1,2,3.")
    return tuple(int(word) for word in words)


def architectures(text: str) -> tuple[str, ...] | None:
    """`--cubins sm_80,sm_90` -> two; `none` -> none; nothing given -> None, those of the devices that are here."""
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    return () if words == ("none",) else words or None


def text_file(option: str, path: Path | None) -> str | None:
    """The text of a schedule or space file."""
    if path is None:
        return None
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # a pipe must not wait
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{option}: {path}: not a regular file.")
            data = file.read(_MAX_TEXT_BYTES + 1)
        if len(data) > _MAX_TEXT_BYTES:
            raise UsageError(
                f"{option}: {path} has more than {_MAX_TEXT_BYTES} bytes; such files have at most that many."
            )
        return data.decode("utf-8")
    except OSError as error:
        raise UsageError(f"{option}: {path}: {(error.strerror or str(error)).lower()}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{option}: {path}: is not text.") from None


def check_one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{option}: {value!r} is not one of {', '.join(known)}.")


def script_of(command: str, paths: list[Path] | None, module: str | None) -> Script:
    """The script of a command that takes one."""
    wanted = scripts_of(paths or [], module)
    if len(wanted) != 1:
        raise UsageError(f"{command}: {len(wanted)} scripts given. Give one.")
    return wanted[0]


def scripts_of(paths: list[Path], module: str | None) -> list[Script]:
    """The scripts meant: files as given, folders as the scripts inside, `-m pkg.mod`."""
    if module is not None:
        if paths:
            raise UsageError(f"-m {module}: and {paths[0]}: give a module or scripts, not both.")
        return [Script(None, module, script_arguments.arguments)]
    _check_typos(paths)
    found: list[Path] = []
    for path in paths:
        if os.path.isdir(path):  # False of names that no file can have, too
            inside = sorted(
                p
                for p in path.rglob("*.py")
                if not any(part.startswith(".") or part in _SKIPPED or part.endswith("_tuned") for part in p.parts)
            )
            if not inside:
                raise UsageError(f"{path}: no Python script in this folder.")
            found += inside
        else:
            found.append(path)
    if not found:
        raise UsageError("no script given. Try `autotune script.py`; `autotune --help` lists the options.")
    return [Script(path, None, list(script_arguments.arguments)) for path in found]


def _check_typos(paths: list[Path]) -> None:
    """UsageError where a word is no file, and was meant as a subcommand or as an argument of the script."""
    words = [str(path) for path in paths]
    if words and not os.path.exists(words[0]) and words[0].isidentifier():
        from difflib import get_close_matches  # noqa: PLC0415  (slow to import)

        commands = ["--help", *SUBCOMMANDS] if words[1:] == [] else SUBCOMMANDS
        if meant := get_close_matches(words[0], commands, 1):
            command = " ".join(["autotune", meant[0], *words[1:]])
            raise UsageError(f"{words[0]}: no such file, and no command. Did you mean `{command}`?")
    for word in words[1:]:
        if os.path.isfile(words[0]) and not os.path.exists(word) and not word.endswith(".py"):
            raise UsageError(f"{word}: no such file. {script_arguments.FOLLOW}")
