"""What the store already knows of a call: the best schedule of this very workload, or of its family."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import logs
from .binding import Bound
from .light_dataclass import dataclass
from .machine import machine_mark
from .native import compiler
from .workload import EXACT, Workload

if TYPE_CHECKING:
    from .specialization import Specialization


_warned: set[Path] = set()


@dataclass
class Stored:
    schedule: str
    evidence: dict[str, Any]


def mark_of_store(path: str | os.PathLike[str]) -> list[list[int]]:
    """Other where something was written into it; [] where there is no store."""
    states = []
    with suppress(OSError):
        for end in ("", "-wal"):
            state = os.stat(f"{os.fspath(path)}{end}")
            states.append([state.st_ino, state.st_size, state.st_mtime_ns])
    return states


def workload_of(specialization: Specialization, bound: Bound) -> Workload:
    """The key of this call in the store."""
    isa = specialization.device_isa if bound.on_device else specialization.isa
    machine = compiler().machine(None, isa)
    return Workload(
        specialization.traced.digest,
        dict(bound.layouts),
        dict(bound.sizes),
        specialization.contract,
        isa,
        str(machine.get("fingerprint", "")),
    )


def mark_of(path: Path | None, specialization: Specialization, bound: Bound) -> str:
    """Of a store as it is, and of what a call asks it for on the host: the same mark, the same answer. "" where there is no store."""
    states = mark_of_store(path) if path is not None else []
    if not states:
        return ""
    traced, isa = specialization.traced, specialization.isa
    sizes, layouts = sorted(bound.sizes.items()), sorted(bound.layouts.items())
    asked = [str(path), states, machine_mark(), traced.digest, layouts, sizes, specialization.contract, isa]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def stored_schedule(specialization: Specialization, bound: Bound, path: Path | None) -> Stored | None:
    """None where nothing is stored, or the store cannot be read (one warning)."""
    if path is None or not os.path.exists(path):
        return None
    try:
        workload = workload_of(specialization, bound)
        store = compiler().Store(str(path))
        record = store.best(workload.key)
        exact = record is not None
        if record is None:
            family = store.family(workload.family, workload.fingerprint, workload.key)
            record = family[0] if family else None
    except Exception as error:  # noqa: BLE001  (a store costs at most its knowledge, never a result)
        if path not in _warned:
            _warned.add(path)
            logs.logger.warning("%s Default schedules are used.", error)
        return None
    if not record:
        return None
    evidence = {
        "kernel_ns": record["median_ns"],
        "default_ns": record["default_ns"],
        "gbps": record.get("gbps"),
        "share_of_limit": record.get("limit_share"),
        "candidates": record.get("trials"),
        "stopped": record.get("reason"),
        "workload_key": workload.key,
        "for": EXACT if exact else "another size of this program",
    }
    return Stored(record["schedule"], evidence)
