"""What the store already knows of a call: the best schedule of this very workload, or of its family."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import logs
from .binding import Bound
from .native import compiler

if TYPE_CHECKING:
    from .specialization import Specialization


@dataclass
class Stored:
    schedule: str
    evidence: dict[str, Any]
    exact: bool


def stored_schedule(specialization: Specialization, bound: Bound, path: Path | None) -> Stored | None:
    """None where nothing is stored, or the store cannot be read (one warning)."""
    if path is None or not path.exists():
        return None
    from .tuning import workload_of

    try:
        workload = workload_of(specialization, bound, path)
        store = compiler().Store(str(path))
        record = store.best(workload.key)
        exact = record is not None
        if record is None:
            record = _of_family(store, workload.family)
    except Exception as error:  # noqa: BLE001  (a store costs at most its knowledge, never a result)
        logs.logger.warning("store %s: %s. Default schedules are used.", path, error)
        return None
    if not record:
        return None
    text = record.get("schedule") or record.get("schedule_text")
    if not text:
        return None
    evidence = record.get("evidence") or {}
    if isinstance(evidence, str):
        try:
            evidence = json.loads(evidence)
        except ValueError:
            evidence = {}
    return Stored(text, evidence, exact)


def _of_family(store: Any, family: str) -> dict[str, Any] | None:
    found = store.family(family)
    if isinstance(found, list):
        return found[0] if found else None
    return found  # type: ignore[no-any-return]
