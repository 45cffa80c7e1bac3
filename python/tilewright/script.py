"""A user's script or module: what it is called, and its code. Needs nothing that a script may not want imported."""

from __future__ import annotations

import os
import sys
import types
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


class ScriptStopped(Exception):
    """The script cannot be run at all: a line for the user, no traceback."""


@dataclass
class Script:
    """What to run: a file, or a module as with `python -m`."""

    path: Path | None
    module: str | None = None
    arguments: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """For messages: as the user gave it."""
        return self.module if self.module is not None else str(self.path)

    @property
    def stem(self) -> str:
        """What the tuned module is named after: `2d-kmeans.py` -> `_2d_kmeans`."""
        text = self.module.rpartition(".")[2] if self.module is not None else Path(str(self.path)).stem
        word = "".join(c if c.isalnum() or c == "_" else "_" for c in text)
        return f"_{word}" if word[:1].isdigit() else word or "script"


def check_script(script: Script) -> None:
    """ScriptStopped where there is no such script, or it does not parse."""
    load_script(script)


def load_script(script: Script) -> tuple[types.CodeType, str, str, str | None]:
    """Code, file, the folder for sys.path, and the package."""
    if script.module is not None:
        return _load_module(script.module)
    path = Path(str(script.path)).absolute()
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise ScriptStopped(f"{script.name}: no such file.") from None
    except IsADirectoryError:
        raise ScriptStopped(f"{script.name}: a folder. Give a script, or a folder that holds some.") from None
    except OSError as error:
        raise ScriptStopped(f"{script.name}: cannot be read: {error.strerror}.") from None
    # As Python does it: modules are looked for beside the script itself, not beside a link to it.
    return _compile(source, str(path), script.name), str(path), str(path.resolve().parent), None


def _load_module(module: str) -> tuple[types.CodeType, str, str, str | None]:
    import importlib.util

    sys.path.insert(0, os.getcwd())  # as `python -m` does
    try:
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{module}.__main__")
    except ImportError as error:
        raise ScriptStopped(f"-m {module}: not found ({error}). Is it importable from {os.getcwd()}?") from None
    except ValueError:
        spec = None
    finally:
        with suppress(ValueError):
            sys.path.remove(os.getcwd())
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ScriptStopped(f"-m {module}: no Python module of that name. Is it importable from {os.getcwd()}?")
    source = Path(spec.origin).read_bytes()
    return _compile(source, spec.origin, f"-m {module}"), spec.origin, os.getcwd(), spec.parent


def _compile(source: bytes, file: str, name: str) -> types.CodeType:
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f": {error.text.strip()!r}" if error.text and error.text.strip() else ""
        where = name if error.lineno is None else f"{name}:{error.lineno}"
        raise ScriptStopped(f"{where}: does not parse: {error.msg}{line}. Fix the script first.") from None
    except ValueError as error:  # null bytes
        raise ScriptStopped(f"{name}: does not parse: {error}. Fix the script first.") from None
