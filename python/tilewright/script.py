"""A user's script or module: what it is called, and its code. Needs nothing that a script may not want imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import Error

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


Compiled = Callable[[bytes, str], types.CodeType]

# What `python -c` runs for `autotune run --before` (patched_run.py): the clock is read before anything of ours is imported.
START = (
    "import sys, time; began_ns = time.perf_counter_ns(); "
    "from tilewright.patched_run import main; sys.exit(main(began_ns, *sys.argv[1:]))"
)


class ScriptStopped(Error):
    """The script cannot be run at all: a line for the user, no traceback."""


class ScriptRaised(Error):
    """The script failed; its own traceback has been printed."""


class PackageRaised(Exception):
    """The package of a module raised at import: its exception is the cause."""


class Script:
    """What to run: a file, or a module as with `python -m`."""

    def __init__(self, path: Path | None, module: str | None = None, arguments: Sequence[str] = ()) -> None:
        self.path = path
        self.module = module
        self.arguments = list(arguments)

    @property
    def name(self) -> str:
        """For messages: as the user gave it."""
        return self.module if self.module is not None else str(self.path)

    @property
    def given(self) -> str:
        """As a command names it."""
        return f"-m {self.module}" if self.module is not None else str(self.path)

    @property
    def stem(self) -> str:
        """What the tuned module is named after: `2d-kmeans.py` -> `_2d_kmeans`."""
        text = self.module.rpartition(".")[2] if self.module is not None else Path(str(self.path)).stem
        word = "".join(c if c.isalnum() or c == "_" else "_" for c in text)
        return f"_{word}" if word[:1].isdigit() else word or "script"


def folder_of(script: Script) -> str:
    """Where its own modules are looked for first. As Python does it: beside the script itself, not beside a link to it."""
    return os.getcwd() if script.module is not None else str(Path(str(script.path)).resolve().parent)


def check_script(script: Script) -> None:
    """ScriptStopped where there is no such script, or it does not parse."""
    try:
        load_script(script)
    except PackageRaised as error:
        raise ScriptStopped(str(error)) from error


def plainly(source: bytes, file: str) -> types.CodeType:
    """The code as Python makes it."""
    return compile(source, file, "exec", dont_inherit=True)


def load_script(script: Script, compiled: Compiled = plainly) -> tuple[types.CodeType, str, str, str | None]:
    """Code, file, the folder for sys.path, and the package. `compiled` makes the code of source and file. Raises ScriptStopped,
    PackageRaised."""
    folder = folder_of(script)
    if script.module is not None:
        return _load_module(script.module, folder, compiled)
    path = Path(str(script.path)).absolute()
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        meant = f"{script.name}.py"
        raise ScriptStopped(
            f"{script.name}: no such file.", f"Did you mean {meant}?" if os.path.isfile(f"{path}.py") else ""
        ) from None
    except IsADirectoryError:
        raise ScriptStopped(f"{script.name}: a folder. Give a script, or a folder that holds some.") from None
    except OSError as error:
        raise ScriptStopped(f"{script.name}: cannot be read: {error.strerror}.") from None
    return _compile(source, str(path), script.name, compiled), str(path), folder, None


def _load_module(module: str, folder: str, compiled: Compiled) -> tuple[types.CodeType, str, str, str | None]:
    sys.path.insert(0, folder)  # as `python -m` does
    try:
        spec = _find(module, module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = _find(f"{module}.__main__", module)
    except ImportError as error:
        raise ScriptStopped(f"-m {module}: not found ({error}). Is it importable from {folder}?") from None
    except ValueError:
        spec = None
    finally:
        with suppress(ValueError):
            sys.path.remove(folder)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ScriptStopped(f"-m {module}: no Python module of that name. Is it importable from {folder}?")
    source = Path(spec.origin).read_bytes()
    return _compile(source, spec.origin, f"-m {module}", compiled), spec.origin, folder, spec.parent


def _find(name: str, module: str) -> ModuleSpec | None:
    """The spec of a module, for which its packages are imported. ImportError where one is missing."""
    for place, letter in enumerate(name):
        package = name[:place]
        if letter != "." or package in sys.modules:
            continue
        try:
            importlib.import_module(package)
        except KeyboardInterrupt:
            raise
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            raise ScriptStopped(f"-m {module}: its package {package} stops at import, with exit code {code}.") from None
        except BaseException as error:
            if isinstance(error, ModuleNotFoundError) and error.name == package:
                raise  # it is the package that is not there
            raise PackageRaised(
                f"-m {module}: importing its package {package} raised {type(error).__name__}."
            ) from error
    return importlib.util.find_spec(name)


def _compile(source: bytes, file: str, name: str, compiled: Compiled) -> types.CodeType:
    try:
        return compiled(source, file)
    except SyntaxError as error:
        line = f": {error.text.strip()!r}" if error.text and error.text.strip() else ""
        where = name if error.lineno is None else f"{name}:{error.lineno}"
        raise ScriptStopped(f"{where}: does not parse: {error.msg}{line}. Fix the script first.") from None
    except ValueError as error:  # null bytes
        raise ScriptStopped(f"{name}: does not parse: {error}. Fix the script first.") from None
    except (RecursionError, MemoryError):
        raise ScriptStopped(
            f"{name}: Python cannot compile it: an expression in it is nested too deep. Split it into statements."
        ) from None
