"""ISA levels of x86-64 and the one of this machine, without loading the compiler."""

from __future__ import annotations

import os
from functools import lru_cache

# Highest first: the order in which a plan tries its versions.
ISA_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64")

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
    """`host` and None become this machine's level. ValueError names the levels for anything else."""
    if target in (None, "host"):
        return host_isa()
    if target not in ISA_LEVELS:
        raise ValueError(f"target: {target!r} is none of ours. Use host, {', '.join(reversed(ISA_LEVELS))}.")
    return str(target)


def runs_here(isa: str) -> bool:
    """Whether this machine can execute code of a level."""
    return ISA_LEVELS.index(isa) >= ISA_LEVELS.index(host_isa())


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
