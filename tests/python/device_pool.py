"""Asks many device_worker.py at once: what they compile is the time of such tests. One that dies or hangs is replaced, and
its question is answered by that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

WORKER = Path(__file__).resolve().parent / "device_worker.py"
SECONDS = 120.0  # for one question, and for the end of a process
UNDER_A_TOOL = 5  # times slower, or more


def cores() -> int:
    return int(os.environ.get("TILEWRIGHT_DEVICE_WORKERS", "0")) or len(os.sched_getaffinity(0))


class _Worker:
    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._started = [*command, sys.executable, str(WORKER)]
        self._environment = environment
        self._seconds = SECONDS * (UNDER_A_TOOL if command else 1)
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = process.wait()
        why = f"no answer within {self._seconds:.0f} s" if late.is_set() else f"its process ended with status {code}"
        return {"status": "wrong", "text": f"{question}: {why}", "seconds": self._seconds, "calls": 0}

    def close(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(self._seconds)  # a sanitizer writes what it has found now
        except subprocess.TimeoutExpired:
            self._process.kill()


def ask_all(
    questions: Sequence[dict[str, Any]], *, workers: int = 0, command: Sequence[str] = (), **environment: str
) -> list[dict[str, Any]]:
    """The answers, in the questions' order."""
    queue: SimpleQueue[int] = SimpleQueue()
    for k in range(len(questions)):
        queue.put(k)
    answers: list[dict[str, Any]] = [{} for _ in questions]
    # Threads of OpenBLAS in each of many processes are no gain.
    values = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "TILEWRIGHT_CACHE": "off",
        **os.environ,
        **environment,
    }

    def serve() -> None:
        worker = _Worker(command, values)
        try:
            while True:
                try:
                    k = queue.get_nowait()
                except Empty:
                    return
                answers[k] = worker.ask(questions[k])
        finally:
            worker.close()

    threads = [threading.Thread(target=serve) for _ in range(min(workers or cores(), max(len(questions), 1)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
