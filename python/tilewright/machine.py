"""ISA levels of x86-64 and the one of this machine, and CUDA targets, without loading the compiler."""

from __future__ import annotations

import os
import resource
import warnings
from contextlib import suppress
from functools import lru_cache

from . import _face
from .light_dataclass import dataclass

_NAMES = _face.target_names()

# Highest first: the order in which a plan tries its versions.
ISA_LEVELS = _NAMES["host"]

# Compute capabilities that PTX is written for; it runs on later ones too.
CUDA_TARGETS = _NAMES["cuda"]
CUDA_DEFAULT = _NAMES["usual_cuda"]


def host_isa() -> str:
    """The highest level that this machine has, or up to that which TILEWRIGHT_ISA names."""
    _check_wish(os.environ.get("TILEWRIGHT_ISA", ""))
    return _face.machine_isa()


@lru_cache(maxsize=8)
def _check_wish(wish: str) -> None:
    if wish and wish not in _NAMES["levels"]:
        known = ", ".join(reversed(ISA_LEVELS))
        warnings.warn(
            f"TILEWRIGHT_ISA={wish}: there is no such level, so code is made for {_face.machine_isa()}. "
            f"The levels are: {known}.",
            stacklevel=2,
        )


def resolve_isa(target: str | None) -> str:
    """`host` and None become this machine's level, `cuda` the usual one. ValueError names all for anything else."""
    if target in (None, "host"):
        return host_isa()
    if target == "cuda":
        return CUDA_DEFAULT
    if target not in ISA_LEVELS and target not in CUDA_TARGETS:
        known = ", ".join([*reversed(ISA_LEVELS), "cuda", *reversed(CUDA_TARGETS)])
        raise ValueError(f"target: {target!r} is not known. Use host, {known}.")
    return str(target)


def is_cuda_isa(isa: str) -> bool:
    """Whether code for it runs on a CUDA device."""
    return isa.startswith("cuda")


@dataclass(frozen=True)
class Targets:
    """Where the calls of a function may run: the ISA level of its host code and that of its device code."""

    host: str | None
    device: str | None
    is_given: bool  # otherwise device code is made for arrays of a device alone

    @property
    def text(self) -> str:
        return ",".join(isa for isa in (self.host, self.device) if isa is not None)


def targets_of(target: str | None) -> Targets:
    """`host`, `cuda`, `host,cuda`. None: host code for NumPy arrays, device code for arrays on a device."""
    if target is None:
        return Targets(host_isa(), CUDA_DEFAULT, is_given=False)
    if not isinstance(target, str):
        raise TypeError(f"target: {target!r} is a {type(target).__name__}. Give a str: 'host', 'cuda' or 'host,cuda'.")
    isas = [resolve_isa(name.strip()) for name in target.split(",")]
    hosts = [isa for isa in isas if not is_cuda_isa(isa)]
    devices = [isa for isa in isas if is_cuda_isa(isa)]
    if len(hosts) > 1 or len(devices) > 1:
        raise ValueError(f"target: {target!r} names two of one kind. Use one level for the host and one for CUDA.")
    return Targets(hosts[0] if hosts else None, devices[0] if devices else None, is_given=True)


def runs_here(isa: str) -> bool:
    """Whether this machine can execute code of a level."""
    return isa in ISA_LEVELS and ISA_LEVELS.index(isa) >= ISA_LEVELS.index(host_isa())


def cpu_model() -> str:
    """As /proc/cpuinfo spells it."""
    return _said_by("/proc/cpuinfo", "model name") or "an unknown CPU"


def usable_cores() -> int:
    """The cores of this process's affinity (the cgroup's quota is counted by the runtime)."""
    return max(1, len(os.sched_getaffinity(0)))


def machine_mark() -> str:
    """Other on another machine, and on this one when it starts anew, or when this process may use other cores of it. Reading
    what a CPU is (`/proc/cpuinfo`) takes milliseconds for each hundred cores."""
    parts = [str(sorted(os.sched_getaffinity(0)))]
    for name in ("/proc/sys/kernel/random/boot_id", "/sys/fs/cgroup/cpu.max"):
        with suppress(OSError), open(name, encoding="utf-8", errors="replace") as file:
            parts.append(file.read().strip())
    return " ".join(parts)


def lost_processors() -> int:
    """How often another process was given the processor of one of our threads."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def available_memory_bytes() -> int:
    """What the kernel says could be had now."""
    kilobytes = _said_by("/proc/meminfo", "MemAvailable").partition(" ")[0]
    return int(kilobytes) << 10 if kilobytes.isdigit() else 1 << 30


def _said_by(file: str, name: str) -> str:
    """What stands behind the first `name:` of a file; "" where there is none."""
    with suppress(OSError), open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
