"""Runs a user's script as __main__ in this process, as `python script.py` would, with its functions observed."""

from __future__ import annotations

import builtins
import importlib
import io
import os
import sys
import threading
import time
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from .. import recording
from ..script import PackageRaised, Script, ScriptRaised, folder_of
from .capture import Recorder, RecordingDone
from .loading import load
from .observe import Observer
from .ownership import Users
from .regions import Region


def run_script(script: Script, recorder: Recorder) -> types.ModuleType:
    """Run it until it ends or the recorder has seen enough. Raises ScriptRaised, ScriptStopped, KeyboardInterrupt."""
    main = types.ModuleType("__main__")
    names = main.__dict__

    recorder.users = Users(folder_of(script))
    observer = Observer(recorder.users, recorder.wrap)
    with _stdout_to_stderr():  # packages of `-m` are imported
        try:
            loaded = load(script, names, observer.observed, takes_regions=recorder.takes_regions)
        except PackageRaised as error:
            assert error.__cause__ is not None
            _print_own_traceback(error.__cause__)
            raise ScriptRaised(str(error)) from None
    names.update(
        {
            "__file__": loaded.file,
            "__builtins__": builtins,
            "__package__": loaded.package,
            "__cached__": None,
            "__loader__": None,
        }
    )
    with (
        _as_main(main, [loaded.file, *script.arguments], loaded.folder),
        _exit_is_noticed(script.name),
        observer.importing(),
        _recorded_regions(loaded.regions, names, loaded.file, recorder),
    ):
        if loaded.package:  # `-m` has imported it to find the module
            observer.look_through_package(loaded.package)
        before, recording.recorder = recording.recorder, recorder
        start = time.perf_counter_ns()
        try:
            exec(loaded.code, names)
        except RecordingDone:
            pass
        except SystemExit as stop:
            # sys.exit() after some work is how many scripts end.
            if stop.code not in (None, 0) and not recorder.candidates:
                raise ScriptRaised(f"{script.name}: stopped with exit code {stop.code}.") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _print_own_traceback(error)
            raise ScriptRaised(f"{script.name}: raised {type(error).__name__}.") from None
        finally:
            recorder.script_ns = time.perf_counter_ns() - start
            recording.recorder = before
            observer.restore()
    return main


@contextmanager
def _recorded_regions(regions: list[Region], names: dict[str, Any], file: str, recorder: Recorder) -> Iterator[None]:
    """Statements that are functions of their own report their calls inside, where all of the script's time counts, and behind it are
    what they were."""
    functions = {region.name: region.function(names, file) for region in regions}
    for name, function in functions.items():
        setattr(builtins, name, recorder.wrap(function, function.__qualname__) if recorder.covers else function)
    try:
        yield
    finally:
        for name, function in functions.items():
            setattr(builtins, name, function)


@contextmanager
def _as_main(main: types.ModuleType, argv: list[str], folder: str) -> Iterator[None]:
    """The surroundings of `python script.py`, undone afterwards: __main__ stays until the tuned function is traced."""
    before_argv, before_path, before_stdin = sys.argv, list(sys.path), sys.stdin
    sys.modules["__main__"] = main
    sys.argv = argv
    sys.path.insert(0, folder)
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.stdin = io.TextIOWrapper(io.BytesIO())  # closed, with the `buffer` that scripts ask for
    with _stdout_to_stderr():
        try:
            yield
        finally:
            sys.argv, sys.stdin = before_argv, before_stdin
            # The folder stays: a function may import lazily while it is traced.
            sys.path[:] = [folder, *(p for p in before_path if p != folder)]


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """What the script prints is not a result of ours. Covers child processes and C code too."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no such descriptor
        saved = -1
    before = sys.stdout
    if saved >= 0:
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        sys.stdout = before
        if saved >= 0:
            os.dup2(saved, 1)
            os.close(saved)


@contextmanager
def _exit_is_noticed(name: str) -> Iterator[None]:
    """os._exit() in the script ends the script, as sys.exit() does, and not this command without a word."""
    leave, owner = os._exit, os.getpid()

    def end_script(status: int) -> NoReturn:
        if os.getpid() != owner:  # a forked child of the script's
            leave(status)
        if threading.current_thread() is not threading.main_thread():
            print(
                f"autotune: {name}: called os._exit({status}) in a thread; nothing was tuned.",
                file=sys.stderr,
                flush=True,
            )
            leave(status or 1)
        raise SystemExit(status)

    os._exit = end_script
    try:
        yield
    finally:
        os._exit = leave


def _print_own_traceback(error: BaseException) -> None:
    """The traceback as `python script.py` shows it: frames of ours and of the import are left out."""
    package = Path(__file__).parent.parent
    ours = (str(package), str(package.resolve()), "<frozen importlib", str(importlib.__file__))
    details = traceback.TracebackException.from_exception(error)
    seen: set[int] = set()
    pending: list[Any] = [details]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack = traceback.StackSummary.from_list([f for f in one.stack if not f.filename.startswith(ours)])
        pending += [one.__cause__, one.__context__]
    print("".join(details.format()), end="", file=sys.stderr)
