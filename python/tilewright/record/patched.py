"""`python -m tilewright.record.patched FD SCRIPT ARGS…`: the script as __main__, with stored schedules in use.

Functions that were never tuned stay with NumPy. The names of those that ran compiled go to the descriptor FD as JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..decorator import JitFunction
from ..errors import Error
from .run_script import Script, ScriptStopped, _load


class _Patched(dict[str, Any]):
    """The names of the script's top level: functions become jitted ones that use stored schedules only."""

    def __init__(self, names: dict[str, Any], root: Path, made: list[JitFunction]) -> None:
        super().__init__()
        self._names = names
        self._root = root
        self._made = made

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, types.FunctionType) and self._is_users(value.__code__.co_filename):
            try:
                value = JitFunction(value, only_stored=True)
                self._made.append(value)
            except (Error, TypeError, ValueError):
                pass  # a function that no jit takes runs as it is
        elif isinstance(value, JitFunction):
            self._made.append(value)
        elif isinstance(value, type):
            self._made += [member for member in vars(value).values() if isinstance(member, JitFunction)]
        self._names[name] = value
        super().__setitem__(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._names[name]

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        super().pop(name, None)

    def _is_users(self, filename: str) -> bool:
        path = Path(filename)
        return path.is_absolute() and path.is_relative_to(self._root) and "site-packages" not in path.parts


def main(descriptor: int, arguments: list[str]) -> int:
    """Run the script; its exit code is ours."""
    import warnings

    from ..errors import FallbackWarning

    warnings.simplefilter("ignore", FallbackWarning)  # what is not tuned runs in NumPy: that is the point here
    if arguments[0] == "-m":
        script, rest = Script(None, arguments[1]), arguments[2:]
    else:
        script, rest = Script(Path(arguments[0])), arguments[1:]
    try:
        code, file, folder, package = _load(script)
    except ScriptStopped as error:
        print(error, file=sys.stderr)
        return 1
    made: list[JitFunction] = []
    atexit.register(_report, descriptor, made)
    module = types.ModuleType("__main__")
    module.__dict__.update({"__file__": file, "__builtins__": __builtins__, "__package__": package, "__cached__": None})
    sys.modules["__main__"] = module
    sys.argv = [file, *rest]
    sys.path.insert(0, folder)
    exec(code, module.__dict__, _Patched(module.__dict__, Path(folder).resolve(), made))
    return 0


def _report(descriptor: int, made: list[JitFunction]) -> None:
    names = [f.__name__ for f in made if any(s.has_own_schedule for s in f.specializations)]
    with suppress(OSError):
        os.write(descriptor, json.dumps(names).encode())
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
