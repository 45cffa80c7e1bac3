"""A script as __main__, as `autotune run` runs it: what was tuned is compiled from its first call on, and all else once its calls
take long. `python -c START REPORT NAMES SCRIPT ARGS…` runs it as it is: functions called NAMES (`a,b`; `-` for none) are timed,
and what was seen goes to the descriptor of the number REPORT.

It imports nothing that a script without NumPy would not import itself.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import re
import sys
import threading
import time
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import kept_memory
from .hot_observer import HotObserver, is_tuned, times_of
from .own_frames import leave_out_ours
from .record.loading import load
from .record.ownership import Users
from .script import PackageRaised, Script, ScriptStopped, folder_of


class _Inside(threading.local):
    """Whether this thread is in a call of a timed function: what that calls is a part of it, also while it is traced."""

    depth = 0


_inside = _Inside()


@dataclass
class _Times:
    """Of one function."""

    calls: int = 0
    ns: int = 0

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _inside.depth:
            return function(*args, **kwargs)
        _inside.depth = 1
        start = time.perf_counter_ns()
        try:
            return function(*args, **kwargs)
        finally:
            _inside.depth = 0
            self.calls += 1
            self.ns += time.perf_counter_ns() - start


class _Run(HotObserver):
    """What one run of the script is seen to do."""

    def __init__(self, users: Users, names: set[str] | None, began_ns: int) -> None:
        super().__init__(users, self._in_place_of)
        self._names = names
        self.functions: dict[str, _Times] = {}
        self.began_ns = began_ns
        self._process = os.getpid()
        self.code = 0  # with which the script ends
        self.is_interrupted = False  # by Ctrl-C: a shell is to know

    def _in_place_of(self, function: types.FunctionType, name: str) -> Any:
        if self._names is not None:
            # As a program spells it, which is how the store knows it.
            is_named = re.sub(r"\W", "_", function.__name__, flags=re.ASCII) in self._names
            return self._timed(function) if is_named else function
        if not self.takes(function):
            return function
        if self.is_left_alone(function, name):
            return function
        return self.hot_of(function)

    def _timed(self, function: types.FunctionType) -> Any:
        times = self.functions.setdefault(function.__qualname__, _Times())

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            return times.call(function, args, kwargs)

        return timed

    def report(self, to: int | dict[str, Any]) -> None:
        """At the very end, behind what the script itself does then."""
        if os.getpid() != self._process:  # the script has forked this one
            return
        seen: dict[str, Any] = {
            "began_ns": self.began_ns,
            "own_ns": self.own_ns,
            "ended_ns": time.perf_counter_ns(),
            "functions": {name: vars(times) for name, times in self.functions.items() if times.calls},
            "patched": list(dict.fromkeys(one.__qualname__ for one in self.jitted if is_tuned(one))),
            "left_alone": {why: list(names) for why, names in self.left_alone.items()},
            "has_numpy": "numpy" in sys.modules,
        }
        for one in self.jitted:
            if (times := times_of(one)) is not None:
                seen["functions"][one.__qualname__] = times
        with suppress(OSError):
            if isinstance(to, int):
                os.write(to, json.dumps(seen).encode())
                os.close(to)
            else:
                from .run_report import Ran, say  # noqa: PLC0415  (at the end)

                earlier = None if to["earlier"] is None else Ran(**to["earlier"])
                say(to["name"], earlier, Ran(**seen), to["as_json"])
        if self.jitted:
            from .left_builds import hand_over  # noqa: PLC0415  (only where something is compiled)

            if hand_over() and not self.is_interrupted:  # the script has ended, and so does its process
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(self.code)
        if self.is_interrupted:  # as Python ends then
            import signal  # noqa: PLC0415  (few runs need it)

            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)


def main(began_ns: int, report: str, names: str, *arguments: str) -> int:
    """Run the script as it is; its exit code is ours."""
    if arguments[0] == "-m":
        script = Script(None, arguments[1], arguments[2:])
    else:
        script = Script(Path(arguments[0]), None, arguments[1:])
    return run_script(began_ns, int(report), set() if names == "-" else set(names.split(",")), script)


def run_script(began_ns: int, report: int | dict[str, Any], names: set[str] | None, script: Script) -> int:
    """Run it as __main__; its exit code is ours. `names`: of the functions that are timed in a run as it is; None where it is
    compiled. `report`: the descriptor to which goes what was seen; or {"name", "as_json", "earlier"}: that is told to the user at
    the end, beside what was seen of an earlier run. ScriptStopped where it cannot be run at all."""
    module = types.ModuleType("__main__")
    bindings = module.__dict__

    compiles = names is None
    run = _Run(Users(folder_of(script)), names, began_ns)
    try:
        with run.importing():  # the package of `-m`
            loaded = load(script, bindings, run.observed, takes_regions=compiles)
    except PackageRaised as error:
        raise ScriptStopped(str(error)) from error
    atexit.register(run.report, report)
    bindings.update(
        {"__file__": loaded.file, "__builtins__": __builtins__, "__package__": loaded.package, "__cached__": None}
    )
    sys.modules["__main__"] = module
    # As it was given, as Python does.
    sys.argv = [loaded.file if script.path is None else str(script.path), *script.arguments]
    if not sys.flags.safe_path:
        sys.path[:1] = [loaded.folder]  # in the place of the folder that Python has put there for ours
    if compiles:
        kept_memory.keep()
    for one in loaded.regions:
        run.take_region(one, bindings, loaded.file)
    gc.freeze()  # what was made so far stays: neither the script's collections nor Python's end need look at it
    run.own_ns = time.perf_counter_ns() - began_ns
    try:
        with run.importing():
            exec(loaded.code, bindings)
    except SystemExit as stop:
        run.code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        raise
    except BaseException as error:  # noqa: BLE001  (as Python ends a script, whose lines are all that is shown)
        run.is_interrupted = isinstance(error, KeyboardInterrupt)
        run.code = 130 if run.is_interrupted else 1
        leave_out_ours(error)
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        if run.jitted:  # the report hands over what is being built
            sys.modules["tilewright.forks"].end_without_waiting()
    return run.code
