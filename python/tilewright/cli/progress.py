"""Progress on stderr: a live line on a terminal, plain lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ..figures import estimate
from ..quantities import counted, format_ns

_PLAIN_EVERY_S = 5.0


class Progress:
    """Turns the search's events into lines. NumPy's time, an event too, makes times into speed-ups."""

    def __init__(self, quiet: bool, budget_s: float) -> None:
        self._quiet = quiet
        self._budget_s = budget_s
        self._numpy_ns = 0.0
        self._numpy_is_cold = False
        self._best_ns = 0.0
        self._tried = 0
        self._started = time.monotonic()
        self._is_searching = False
        self._ends = 0.0  # of the search, as its last event had it
        self._last_line = 0.0
        self._status: Any = None
        self._console: Any = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415  (slow to import, and only terminals show it)

            self._console = Console(stderr=True, highlight=False)

    def __enter__(self) -> Progress:
        if self._console is not None:
            self._status = self._console.status("starting")
            self._status.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        if self._status is not None:
            self._status.__exit__(*details)
            self._status = None

    def tell(self, text: str) -> None:
        """What goes on: the live line, or elsewhere a line now and then."""
        self._live(text)
        if self._status is None and time.monotonic() - self._last_line > _PLAIN_EVERY_S:
            self._last_line = time.monotonic()
            self.say(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """A line that is said even when quiet."""
        if self._console is not None:
            self._console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def __call__(self, event: dict[str, Any]) -> None:
        """One event of the search."""
        kind = event.get("event")
        if "left_s" in event:
            self._ends = time.monotonic() + float(event["left_s"])
        if kind == "started":
            self._is_searching = True
        elif kind == "phase":
            self._live(str(event.get("phase") or event.get("name") or ""))
        elif kind == "numpy":
            self._numpy_ns = float(event["median_ns"])
            self._numpy_is_cold = bool(event["is_cold"])
            self._best_ns, self._tried = 0.0, 0  # of another function before
        elif kind == "warning":
            self.warn(f"warning: {event.get('text')}")
        elif kind == "trial":
            self._tried = int(event.get("trial") or self._tried + 1)
        elif kind == "new_best":
            self._best_ns = float(event.get("call_ns") or event.get("median_ns") or 0)
            self._best_line()
        if kind in ("trial", "tick"):
            self._summary()

    def steps(self, total: int) -> Callable[[str], None]:
        """tell() for work in `total` steps of about one length, with how far it is and how long the rest takes."""
        started, done = time.monotonic(), 0

        def tell(text: str) -> None:
            nonlocal done
            each_s = (time.monotonic() - started) / done if done else 0.0
            left = f", about {each_s * max(1, total - done):.0f} s left" if done else ""
            done += 1
            self.tell(f"{text} ({done} of {max(done, total)}{left})")

        return tell

    def _best_line(self) -> None:
        self._last_line = time.monotonic()
        self.say(f"{time.monotonic() - self._started:6.1f} s  {self._state()}")

    def _summary(self) -> None:
        if self._status is not None:
            self._live(self._state())
        elif time.monotonic() - self._last_line > _PLAIN_EVERY_S and self._is_searching:
            self._best_line()

    def _live(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)

    def _state(self) -> str:
        best = "nothing measured yet"
        if self._best_ns:
            best = f"best {format_ns(self._best_ns)}"
            if self._numpy_ns:
                best += f", {estimate(self._numpy_ns, self._best_ns, self._numpy_is_cold)}"
        left = max(0.0, self._ends - time.monotonic()) if self._ends else self._budget_s
        return f"{counted(self._tried, 'candidate')}, {best}, {left:.0f} s left"
