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
from .observe import Observer
from .ownership import Users
from .run_script import Script, ScriptStopped, _load


class _Patches:
    """Functions become jitted ones that use stored schedules only; those that are jitted are remembered."""

    def __init__(self, made: list[JitFunction]) -> None:
        self._made = made

    def __call__(self, function: types.FunctionType, name: str) -> Any:
        try:
            jitted = JitFunction(function, only_stored=True)
        except (Error, TypeError, ValueError):
            return function  # what no jit takes runs as it is
        self._made.append(jitted)
        return jitted


class _PatchingObserver(Observer):
    def __init__(self, users: Users, made: list[JitFunction]) -> None:
        super().__init__(users, _Patches(made))
        self._made = made

    def observed(self, name: str, value: Any, into: Any) -> Any:
        if isinstance(value, JitFunction):
            self._made.append(value)
        elif isinstance(value, type):
            self._made += [member for member in vars(value).values() if isinstance(member, JitFunction)]
        return super().observed(name, value, into)


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
    observer = _PatchingObserver(Users(folder), made)
    with observer.importing():
        exec(code, module.__dict__, observer.names(module.__dict__))
    return 0


def _report(descriptor: int, made: list[JitFunction]) -> None:
    names = [f.__name__ for f in dict.fromkeys(made) if any(s.has_own_schedule for s in f.specializations)]
    with suppress(OSError):
        os.write(descriptor, json.dumps(names).encode())
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
