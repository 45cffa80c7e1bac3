"""A script as __main__ with some functions timed: `python -c START FD plain|tuned NAMES SCRIPT ARGS…`.

Those called NAMES (`a,b`; `-` for none) are; `tuned` has them use what the store knows of them. All others stay as they
are. What was seen goes to the descriptor FD as JSON, with how long its own start took. It imports nothing that a script
without such functions would not import itself.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import kept_memory
from .errors import Error, FallbackWarning
from .native import compiler
from .record.observe import Observer
from .record.ownership import Users
from .script import Script, ScriptStopped, load_script


class _Inside(threading.local):
    """Whether this thread is in a call of a timed function: what that calls is a part of it, also while it is traced."""

    depth = 0


_inside = _Inside()


@dataclass
class _Times:
    """Of one function."""

    calls: int = 0
    ns: int = 0
    first_ns: int = 0

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _inside.depth:
            return function(*args, **kwargs)
        _inside.depth = 1
        start = time.perf_counter_ns()
        try:
            return function(*args, **kwargs)
        finally:
            _inside.depth = 0
            spent = time.perf_counter_ns() - start
            if not self.calls:
                self.first_ns = spent
            self.calls += 1
            self.ns += spent


@functools.cache
def _timed_class() -> Any:
    from .decorator import JitFunction  # noqa: PLC0415  (slow to import, and a script that is not tuned needs none of it)

    class Timed(JitFunction):
        """A jitted function for all that ask what it is, a trace among them."""

        times: _Times

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.times.call(super().__call__, args, kwargs)

    return Timed


class _Run(Observer):
    """What one run of the script is seen to do."""

    def __init__(self, users: Users, names: set[str], patches: bool) -> None:
        super().__init__(users, self._in_place_of)
        self._names = names
        self._patches = patches
        self.functions: dict[str, _Times] = {}
        self.jitted: list[tuple[str, Any]] = []
        self.own_ns = 0

    def observed(self, name: str, value: Any, into: Any) -> Any:
        """What stands under `name` from now on; jitted functions of the script's own are timed as they are."""
        if self._is_jitted(value):
            self._time_jitted(value)
        elif isinstance(value, type):
            for member in vars(value).values():
                if self._is_jitted(member):
                    self._time_jitted(member)
        return super().observed(name, value, into)

    def _in_place_of(self, function: types.FunctionType, name: str) -> Any:
        # As a program spells it, which is how the store knows it.
        if re.sub(r"\W", "_", function.__name__, flags=re.ASCII) not in self._names:
            return function
        return self._jitted_of(function) if self._patches else self._timed(function)

    def _times(self, name: str) -> _Times:
        return self.functions.setdefault(name, _Times())

    def _timed(self, function: types.FunctionType) -> Any:
        times = self._times(function.__qualname__)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            return times.call(function, args, kwargs)

        return timed

    def _jitted_of(self, function: types.FunctionType) -> Any:
        start = time.perf_counter_ns()
        warnings.simplefilter("ignore", FallbackWarning)  # what is not tuned runs in NumPy: that is the point here
        try:
            compiler()
            made = _timed_class()(function, only_stored=True)
        except (Error, TypeError, ValueError):
            return self._timed(function)  # a function that no jit takes runs as it is
        finally:
            self.own_ns += time.perf_counter_ns() - start
        self._time_jitted(made)
        return made

    def _time_jitted(self, function: Any) -> None:
        if any(function is known for _, known in self.jitted):
            return
        self.jitted.append((function.__qualname__, function))
        function.__class__ = _timed_class()
        function.times = self._times(function.__qualname__)

    def _is_jitted(self, value: Any) -> bool:
        decorator = sys.modules.get("tilewright.decorator")  # a script that marks functions has imported it
        return decorator is not None and isinstance(value, decorator.JitFunction)

    def report(self, descriptor: int) -> None:
        """At the very end, behind what the script itself does then."""
        patched = [name for name, f in self.jitted if any(s.has_own_schedule for s in f.specializations)]
        seen = {
            "own_ns": self.own_ns,
            "ended_ns": time.perf_counter_ns(),
            "functions": {name: vars(times) for name, times in self.functions.items() if times.calls},
            "patched": list(dict.fromkeys(patched)),
        }
        with suppress(OSError):
            os.write(descriptor, json.dumps(seen).encode())
            os.close(descriptor)


# What `python -c` runs: the clock is read before anything of ours is imported.
START = (
    "import sys, time; began_ns = time.perf_counter_ns(); "
    "from tilewright.patched_run import main; sys.exit(main(began_ns, *sys.argv[1:]))"
)


def main(began_ns: int, descriptor: str, mode: str, names: str, *arguments: str) -> int:
    """Run the script; its exit code is ours."""
    if arguments[0] == "-m":
        script, rest = Script(None, arguments[1]), list(arguments[2:])
    else:
        script, rest = Script(Path(arguments[0])), list(arguments[1:])
    try:
        code, file, folder, package = load_script(script)
    except ScriptStopped as error:
        print(error, file=sys.stderr)
        return 1
    run = _Run(Users(folder), set() if names == "-" else set(names.split(",")), patches=mode == "tuned")
    atexit.register(run.report, int(descriptor))
    module = types.ModuleType("__main__")
    module.__dict__.update({"__file__": file, "__builtins__": __builtins__, "__package__": package, "__cached__": None})
    sys.modules["__main__"] = module
    sys.argv = [file, *rest]
    sys.path[:1] = [folder]  # in the place of the folder that `-c` has there
    if mode == "tuned":  # the other run is the script as it is
        kept_memory.keep()
    run.own_ns = time.perf_counter_ns() - began_ns
    with run.importing():
        exec(code, module.__dict__, run.names(module.__dict__))
    return 0
