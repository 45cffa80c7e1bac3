"""`f.for_args(…).profile(…)`: how long each kernel of a call takes on the device, and what keeps it from being faster."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _face
from .device_code import Multiprocessor, Occupancy, arch_of, multiprocessor_of, occupancy
from .quantities import format_ns

_WARM_CALLS = 3


@dataclass(frozen=True)
class KernelRow:
    """One launch of a call."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int  # of a block, static and asked for by the launch
    median_ns: float
    launches: int  # of it in one call, in a row
    registers: int = 0
    local_bytes: int = 0
    occupancy: Occupancy | None = None  # None of a library's kernels
    array_bytes: int = 0  # of the arrays that it is given, each once

    @property
    def gbps(self) -> float:
        """Of the arrays that it is given, each once; one that is read twice, or in part, moves more, or less."""
        return self.array_bytes / self.median_ns if self.median_ns else 0.0


@dataclass(frozen=True)
class Profile:
    """The kernels of one call, in their order. Times are from an event before each launch to one behind it; of kernels of a
    few microseconds a good part of that is the events' own. What lies between kernels, and copies of NumPy arrays, are
    no kernels and not in it."""

    rows: list[KernelRow]
    device: str
    runs: int
    moved_bytes: int  # arguments and results, each once
    limit_gbps: float | None = None  # measured on this device, where a search has done that
    untimed: int = 0

    @property
    def kernels_ns(self) -> float:
        """Of all kernels of a call."""
        return sum(row.median_ns * row.launches for row in self.rows)

    @property
    def gbps(self) -> float:
        """Bytes of arguments and results, each once, per nanosecond of kernels."""
        return self.moved_bytes / self.kernels_ns if self.kernels_ns else 0.0

    def __iter__(self) -> Iterator[KernelRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def text(self) -> str:
        """A line for each kernel, and one for all."""
        lines = [f"kernels of a call on {self.device}, medians of {self.runs} calls:"]
        if not self.rows:
            lines.append("  none was launched")
        for row in self.rows:
            words = f"  {row.kernel}: {format_ns(row.median_ns)}"
            words += f", {row.launches} times" if row.launches > 1 else ""
            if row.array_bytes:
                words += f", {row.array_bytes} bytes of arrays ({row.gbps:.1f} GB/s)"
            if row.occupancy is not None:
                words += f", grid {_shape(row.grid)}, block {_shape(row.block)}, {row.registers} registers, "
                words += f"{row.shared_bytes} bytes of shared memory, "
                words += f"{row.local_bytes} bytes of local memory a thread, " if row.local_bytes else ""
                words += row.occupancy.text()
            lines.append(words)
        if self.untimed:
            lines.append(f"  {self.untimed} launches more were not timed")
        if self.kernels_ns:
            share = (
                f", {self.gbps / self.limit_gbps:.0%} of this device's measured limit"
                if self.limit_gbps
                else "; this device's limit was not measured yet (a search does)"
            )
            lines.append(
                f"  together {format_ns(self.kernels_ns)}; arguments and results, each once: {self.moved_bytes} bytes, "
                f"{self.gbps:.1f} GB/s{share}"
            )
        return "\n".join(lines)

    __str__ = text


def profile_call(call: Callable[[], Any], runs: int, moved_bytes: int, limit_gbps: float | None) -> Profile:
    """Call it a few times and then `runs` times with events, where there is a device."""
    for _ in range(_WARM_CALLS):
        call()
    taken = [_face.profile(call) for _ in range(runs)]
    first, untimed = taken[0]
    # A call whose loops depend on data may launch more or less the next time: then only what all calls have is told.
    shared = min(len(launches) for launches, _ in taken)
    medians = [statistics.median(launches[k]["ns"] for launches, _ in taken) for k in range(shared)]
    devices = {device["ordinal"]: device for device in _face.devices()}
    device = devices[first[0]["device"] if first else 0]
    of = multiprocessor_of(arch_of(device))
    rows = _rows(first[:shared], medians, of)
    return Profile(rows, str(device["name"]), runs, moved_bytes, limit_gbps, untimed + len(first) - shared)


def _rows(launches: list[dict[str, Any]], medians: list[float], of: Multiprocessor) -> list[KernelRow]:
    """Launches in a row that differ in nothing but time are one row, with their median."""

    def without_time(pair: tuple[dict[str, Any], float]) -> dict[str, Any]:
        return {key: value for key, value in pair[0].items() if key != "ns"}

    groups = itertools.groupby(zip(launches, medians, strict=True), without_time)
    return [_row(what, [ns for _, ns in pairs], of) for what, pairs in groups]


def _row(launch: dict[str, Any], times: list[float], of: Multiprocessor) -> KernelRow:
    x, y, z = launch["block"]
    shared = launch["shared_bytes"] + launch["dynamic_shared_bytes"]
    found = None
    if x:
        found = occupancy(launch["registers"], x * y * z, shared, of)
        blocks = launch["blocks_per_multiprocessor"]  # the driver's word counts; ours names the limit
        if blocks:
            found = Occupancy(blocks, blocks * -(-x * y * z // 32) * 32 / of.threads, found.limit)
    return KernelRow(
        launch["name"],
        tuple(launch["grid"]),
        (x, y, z),
        shared,
        statistics.median(times),
        len(times),
        launch["registers"],
        launch["local_bytes"],
        found,
        launch["array_bytes"],
    )


def _shape(numbers: tuple[int, int, int]) -> str:
    """128 for 128 x 1 x 1."""
    x, y, z = numbers
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else str(x)
