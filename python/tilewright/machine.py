"""ISA levels of x86-64 and the one of this machine, and CUDA targets, without loading the compiler."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

# Highest first: the order in which a plan tries its versions.
ISA_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64")

# Compute capabilities that PTX is written for; it runs on later ones too.
CUDA_TARGETS = ("cuda-sm_86", "cuda-sm_80", "cuda-sm_75", "cuda-sm_70")
CUDA_DEFAULT = "cuda-sm_80"

_FLAGS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
}


@lru_cache(maxsize=1)
def host_isa() -> str:
    """The highest level that this machine has."""
    flags: set[str] = set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    flags = set(line.partition(":")[2].split())
                    break
    except OSError:
        return "x86-64"
    if _FLAGS["x86-64-v3"] <= flags:
        return "x86-64-v4" if _FLAGS["x86-64-v4"] <= flags else "x86-64-v3"
    return "x86-64"


def resolve_isa(target: str | None) -> str:
    """`host` and None become this machine's level, `cuda` the usual one. ValueError names all for anything else."""
    if target in (None, "host"):
        return host_isa()
    if target == "cuda":
        return CUDA_DEFAULT
    if target not in ISA_LEVELS and target not in CUDA_TARGETS:
        known = ", ".join([*reversed(ISA_LEVELS), "cuda", *reversed(CUDA_TARGETS)])
        raise ValueError(f"target: {target!r} is none of ours. Use host, {known}.")
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
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "an unknown CPU"


def usable_cores() -> int:
    """The cores of this process's affinity (the cgroup's quota is counted by the runtime)."""
    return max(1, len(os.sched_getaffinity(0)))


def available_memory_bytes() -> int:
    """What the kernel says could be had now."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return 1 << 30
