"""Builds that go on when a process ends: another process finishes them, so that the next run finds them in the object cache."""

from __future__ import annotations

import dataclasses
import json
import sys
from contextlib import suppress

from . import later_builds
from .builder import BuildRequest, build
from .errors import Error


def hand_over() -> bool:
    """Whether there are such builds; a process of its own has them from now on."""
    left = list(map(dataclasses.asdict, later_builds.going_on()))
    if not left:
        return False
    import subprocess  # noqa: PLC0415  (slow to import, and few scripts leave something)

    with suppress(OSError):
        code = f"from {__name__} import finish; finish()"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            process_group=0,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(left).encode())
        process.stdin.close()
    return True


def finish() -> None:
    """In that process: one after the other, behind whatever else the machine does."""
    later_builds.go_on_behind_all_others()
    for fields in json.load(sys.stdin):
        with suppress(Error, MemoryError):
            build(BuildRequest(**fields))
