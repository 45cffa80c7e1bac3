"""A process that runs what may be wrong: the oracle, the passes, the compiler, compiled code. A crash there costs that
process alone, and so does what never ends."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from .answers import Answer
from .case import Asked

_PACKAGES = str(Path(__file__).parents[2])
_START_S = 120.0  # of a busy machine


class Child:
    """One process at a time, made anew when it died. A context manager: it is gone afterwards."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  (closed by __exit__)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()
        self._messages.close()

    def ask(self, asked: Asked) -> Any:
        """An Answer; for passes, schedules and texts the result itself, or an Answer where there is no result."""
        if self._process is None:
            self._start()
        assert self._process is not None and self._pipe is not None
        self._messages.seek(0)
        self._messages.truncate()
        doing = "starting"
        ends = time.monotonic() + _START_S
        try:
            self._pipe.send(asked)
            while self._pipe.poll(max(0.0, ends - time.monotonic())):
                kind, content = self._pipe.recv()
                if kind == "done":
                    return content
                if doing == "starting":  # what is imported is no part of the step
                    ends = time.monotonic() + self.limit_s
                doing = content
        except (EOFError, OSError, pickle.UnpicklingError):
            status = self._process.wait()
            self._end()
            return Answer("crashed", f"{doing} ends the process: {self._why(status)}")
        self._end()
        return Answer("too long", f"{doing} takes longer than {_START_S if doing == 'starting' else self.limit_s:g} s")

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        environment.pop("TILEWRIGHT_LOGS", None)
        self._pipe, theirs = Pipe()
        # Behind the standard library, which packages beside ours may shadow.
        found = f"import sys; sys.path.append({_PACKAGES!r})"
        serving = f"from {__package__}.tasks import serve; serve({theirs.fileno()})"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"{found}; {serving}"],
            stdin=subprocess.DEVNULL, stdout=self._messages, stderr=self._messages, env=environment,
            pass_fds=[theirs.fileno()],
        )  # fmt: skip
        theirs.close()

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        if self._pipe is not None:
            self._pipe.close()

    def _why(self, status: int) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        said = f", with the last words: {lines[-1]}" if lines else ""
        if status >= 0:
            return f"exit code {status}{said}"
        with suppress(ValueError):
            return f"{signal.Signals(-status).name}{said}"
        return f"signal {-status}{said}"
