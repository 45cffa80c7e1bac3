"""Drives translator_evaluate: a program, arguments, options in; NumPy arrays out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from examples import one_in

Case = TypeVar("Case")


def plain_too(cases: Iterable[Case]) -> set[Case]:
    """Of cases that differ in little else those that run as the Funcs come, too."""
    return {case for (case,) in one_in(3, cases)}


class Refused(Exception):
    """The translator, or Halide, said no."""


class Evaluator:
    """One child process; requests one after the other."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path or os.environ["TILEWRIGHT_TRANSLATOR_EVALUATE"]
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self,
        program: str,
        arguments: Mapping[str, Any],
        *,
        variant: Mapping[str, str] | None = None,
        layouts: Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        schedule: str = "none",
        contract: str = "numpy",
    ) -> list[np.ndarray[Any, Any]]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen([self._path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = self._process
        assert process.stdin and process.stdout
        text = program.encode()
        parts = [b"program %d\n" % len(text), text]
        for name, option in (variant or {}).items():
            parts.append(f"variant {name} {option}\n".encode())
        for name, layout in (layouts or {}).items():
            parts.append(f"layout {name} {layout}\n".encode())
        for name, value in (sizes or {}).items():
            parts.append(f"size {name} {value}\n".encode())
        parts.append(f"schedule {schedule}\ncontract {contract}\n".encode())
        for name, value in arguments.items():
            array = np.asarray(value)
            data = np.ascontiguousarray(array).tobytes()
            extents = "".join(f"{extent} " for extent in array.shape)
            parts += [f"array {name} {array.dtype.name} {array.ndim} {extents}{len(data)}\n".encode(), data]
        parts.append(b"run\n")
        process.stdin.write(b"".join(parts))
        process.stdin.flush()
        words = process.stdout.readline().split()
        if not words:
            raise AssertionError(f"translator_evaluate died with {process.wait()} on\n{program}")
        if words[0] == b"error":
            raise Refused(process.stdout.read(int(words[1])).decode())
        results = []
        for _ in range(int(words[1])):
            dtype, rank, *rest = process.stdout.readline().split()
            shape = tuple(int(extent) for extent in rest[: int(rank)])
            data = process.stdout.read(int(rest[-1]))
            results.append(np.frombuffer(data, dtype=dtype.decode()).reshape(shape))
        return results

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()


REPOSITORY = Path(__file__).parents[2]
