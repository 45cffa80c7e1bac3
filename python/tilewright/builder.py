"""Program + schedule -> Build, through the object cache: what has been compiled once is never compiled again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import logs
from .cache import object_cache
from .errors import InternalError, ScheduleError
from .machine import host_isa
from .native import compiler
from .plan import Build, Kernel, with_type_guards
from .program import Program

# Part of every key: raise it when the same text compiles to something else.
FORMAT = 2


@dataclass(frozen=True)
class BuildRequest:
    """All that decides what comes out of the compiler."""

    program: str
    digest: str
    layouts: Mapping[str, str]  # argument -> c, f or any
    sizes: Mapping[str, int]  # symbol -> value of the call it is built for
    variant: Mapping[str, str] = field(default_factory=dict)
    contract: str = "numpy"
    isa: str = field(default_factory=host_isa)
    cores: int = 1
    schedule: str | None = None  # None: the default schedule at these sizes
    guard_tails: bool = False

    def options(self) -> dict[str, Any]:
        """As `_native` wants them."""
        return {
            "variant": dict(self.variant),
            "layouts": dict(self.layouts),
            "sizes": dict(self.sizes),
            "contract": self.contract,
        }

    def key(self) -> str:
        """The name of the build in the object cache. Sizes count by their magnitude only: what a default schedule
        needs of them is among the build's conditions."""
        from . import __version__

        magnitudes = {name: int(size).bit_length() for name, size in self.sizes.items()}
        text = json.dumps(
            [
                FORMAT,
                __version__,
                self.digest,
                sorted(self.layouts.items()),
                sorted(magnitudes.items()),
                sorted(self.variant.items()),
                self.contract,
                self.isa,
                self.cores if self.schedule is None else 0,
                self.schedule,
                self.guard_tails,
                _compiler_stamp(),
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()


def build(request: BuildRequest) -> Build:
    """Compile, or take from the cache. Raises TranslateError, ScheduleError, InternalError."""
    cache = object_cache()
    key = request.key()
    found = cache.load(key)
    if found is None:
        with cache.building(key):
            found = cache.load(key)  # another process may have built it while we waited
            if found is None:
                found = compile_now(request)
                cache.store(key, found)
    logs.schedule.debug("%s", found.schedule)
    return found


def compile_now(request: BuildRequest) -> Build:
    """Compile, whatever the cache holds."""
    native = compiler()
    schedule = request.schedule
    if schedule is None:
        schedule = native.default_schedule(request.program, request.options(), request.isa, request.cores)
    wants_text = logs.wanted(logs.asm) or logs.wanted(logs.loops)
    try:
        made = native.build(
            request.program,
            request.options(),
            schedule,
            request.isa,
            guard_tails=request.guard_tails,
            assembly=wants_text,
        )
    except ScheduleError as error:
        if request.schedule is not None:
            raise
        # Nobody wrote this schedule: that it fails is our defect, and no reason to refuse a call that NumPy can serve.
        raise InternalError(
            f"the default schedule of {Program(request.program).function}: {error}", "Please report it."
        ) from error
    for kernel in made["kernels"]:
        if wants_text:
            logs.loops.debug("%s\n%s", kernel["name"], kernel.get("lowered", ""))
            logs.asm.debug("%s\n%s", kernel["name"], kernel.get("assembly", ""))
    kernels = tuple(Kernel(k["name"], bytes(k["object"]), tuple(k["requires"])) for k in made["kernels"])
    header = with_type_guards(made["plan_header"], Program(request.program))
    return Build(kernels, header, made["plan_body"], schedule, request.isa)


def default_schedule(request: BuildRequest) -> str:
    """The text of the schedule that is used without tuning."""
    if request.schedule is not None:
        return request.schedule
    text: str = compiler().default_schedule(request.program, request.options(), request.isa, request.cores)
    return text


def with_schedule(request: BuildRequest, schedule: str) -> BuildRequest:
    """The same request for another schedule."""
    return replace(request, schedule=schedule)


def _compiler_stamp() -> str:
    """Tells one build of tilewright from another during development; a release has one."""
    global _stamp
    if _stamp is None:
        import importlib.util
        import os

        spec = importlib.util.find_spec("tilewright._native")
        try:
            state = os.stat(spec.origin) if spec is not None and spec.origin else None
        except OSError:
            state = None
        _stamp = "" if state is None else f"{state.st_size}.{state.st_mtime_ns}"
    return _stamp


_stamp: str | None = None
