"""Program + schedule -> Build, through the object cache: what has been compiled once is never compiled again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import forks, later_builds, logs, plan, settings
from .cache import object_cache
from .errors import Error, InternalError, ScheduleError
from .light_dataclass import dataclass
from .machine import host_isa, is_cuda_isa
from .native import compiler, compiler_identity
from .plan import Build
from .program import Program
from .thread_budget import get_num_threads

_LONG_BUILD_S = 15.0  # a program of hundreds of reductions takes some seconds
_LONGEST_SHORT = 8  # is_short_size of autotune/space/stage_graph.cpp


def short_or_magnitude(size: int) -> str:
    """As much of a size as a default schedule depends on."""
    return f"{size}" if 0 <= size <= _LONGEST_SHORT else f"of {size.bit_length()} bits"


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
            "device": is_cuda_isa(self.isa),
        }

    def key(self) -> str:
        """The name of the build in the object cache. Sizes count by their magnitude: what a default schedule needs of
        them is among the build's conditions. Short ones count themselves: it has loops of their lengths."""
        magnitudes = {name: short_or_magnitude(int(size)) for name, size in self.sizes.items()}
        text = json.dumps(
            [
                _identity(),
                self.digest,
                sorted(self.layouts.items()),
                sorted(magnitudes.items()),
                sorted(self.variant.items()),
                self.contract,
                self.isa,
                self.cores if self.schedule is None else 0,
                self.schedule,
                self.guard_tails,
                settings.passes(),
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()


def build(request: BuildRequest) -> Build:
    """Compile, or take from the cache. Raises TranslateError, ScheduleError, InternalError."""
    key = request.key()
    return later_builds.taken(key) or _built(request, key)


def kept_build(request: BuildRequest) -> Build | None:
    """The build that the object cache has of it; nothing is compiled."""
    return object_cache().load(request.key())


def is_built(request: BuildRequest, patience_s: float) -> bool:
    """Whether a build is there, or is within so many seconds; else another thread makes it."""
    key = request.key()
    if not later_builds.goes_on(key) and object_cache().has(key):
        return True
    return later_builds.is_done(key, lambda: _built(request, key, is_waited_for=False), patience_s, request)


def _built(request: BuildRequest, key: str, is_waited_for: bool = True) -> Build:
    _log_passes(request)
    cache = object_cache()
    found = cache.load(key)
    if found is None:
        with cache.building(key):
            found = cache.load(key)  # another process may have built it while we waited
            if found is None:
                with forks.compiling():
                    found = compile_now(request, is_waited_for)
                cache.store(key, found)
    logs.schedule.debug("%s", found.schedule)
    return found


def compile_now(request: BuildRequest, is_waited_for: bool = True) -> Build:
    """Compile, whatever the cache holds."""
    native = compiler()
    wants_text = logs.wanted(logs.asm) or logs.wanted(logs.loops)
    try:
        schedule = default_schedule(request)
        with _said_when_long(request) if is_waited_for else nullcontext():
            made = native.build(
                request.program,
                request.options(),
                schedule,
                request.isa,
                guard_tails=request.guard_tails,
                assembly=wants_text,
                threads=get_num_threads() if is_waited_for else 1,
            )
    except ScheduleError as error:
        if request.schedule is not None:
            raise
        # Nobody wrote this schedule: that it fails is our defect, and no reason to refuse a call that NumPy can serve.
        raise InternalError(
            f"the default schedule of {Program(request.program).function}: {error}", "Please report it."
        ) from error
    except (Error, MemoryError):
        raise
    except Exception as error:  # of C++'s own library, which says nothing of the function
        raise InternalError(
            f"compiling {Program(request.program).function}: {type(error).__name__}: {error}.", "Please report it."
        ) from error
    for kernel in made["kernels"]:
        if wants_text:
            logs.loops.debug("%s\n%s", kernel["name"], kernel.get("lowered", ""))
            logs.asm.debug("%s\n%s", kernel["name"], kernel.get("assembly", ""))
    return Build.of({**made, "schedule": schedule, "isa": request.isa})


def _log_passes(request: BuildRequest) -> None:
    """The program as it was traced, each pass that runs, and the program behind those that change it."""
    if not logs.wanted(logs.passes):
        return
    logs.passes.debug("traced\n%s", request.program)
    with forks.compiling():
        ran = compiler().passes(request.program, request.options())
    for made in ran:
        logs.passes.debug("%s: %s%s", made["name"], made["meaning"], made["program"] and "\n" + made["program"])


@contextmanager
def _said_when_long(request: BuildRequest) -> Iterator[None]:
    """LLVM cannot be stopped from within the process: whoever waits for it is told why, and how to end it."""
    function = Program(request.program).function
    what = "the default schedule" if request.schedule is None else "its schedule"

    def say() -> None:
        logs.logger.warning(
            "%s: compiling %s takes longer than %g s. The factors of unroll and vectorize multiply the code: smaller ones "
            "compile faster. Ctrl-C counts when the compiler is done; Ctrl-\\ ends the process at once.",
            function, what, _LONG_BUILD_S,
        )  # fmt: skip

    timer = threading.Timer(_LONG_BUILD_S, say)
    timer.daemon = True
    try:
        timer.start()  # in here: Ctrl-C may come while it waits for the thread
        yield
    finally:
        timer.cancel()


def default_schedule(request: BuildRequest) -> str:
    """The text of the schedule that is used without tuning."""
    if request.schedule is not None:
        return request.schedule
    text: str = compiler().default_schedule(request.program, request.options(), request.isa, request.cores)
    return text


@lru_cache(maxsize=1)
def _identity() -> str:
    """What makes builds, as one text: the compiler and the Python that keeps what it makes. It changes with the code, so
    that objects of another tilewright are never served, during development either."""
    digest = hashlib.sha256(compiler_identity().encode())
    for file in (__file__, plan.__file__):
        with suppress(OSError):  # without sources there is nobody to change them
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()
