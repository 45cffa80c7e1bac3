"""`autotune db list|check|export|merge|prune`: the store of what was learnt."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import settings
from ..errors import StoreError
from ..native import compiler
from ..quantities import aligned, counted, format_ns
from .exit_codes import OK, SCRIPT_RAISED

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True,
    help="Manage the store of tuning results.",
)  # fmt: skip

_Db = Annotated[Path | None, typer.Option("--db", help="Store to use, instead of TILEWRIGHT_DB or the default place.")]


@app.command("list")
def list_records(db: _Db = None, as_json: Annotated[bool, typer.Option("--json")] = False) -> int:
    """List the stored workloads."""
    rows = _open(db).list()
    if as_json:
        print(json.dumps(rows, default=str))
        return OK
    print("\n".join(_table(rows)) if rows else "nothing is stored yet")
    return OK


@app.command()
def check(db: _Db = None) -> int:
    """Check the store: print its problems, one a line. Exit code 1 if there are any."""
    problems = _open(db).check()
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{_path(db)}: sound")
    return SCRIPT_RAISED if problems else OK


@app.command()
def export(
    target: Annotated[Path, typer.Argument(help="FILE.json for JSON, - for JSON on stdout, otherwise a new store.")],
    db: _Db = None,
) -> int:
    """Write everything as JSON or as another store."""
    store = _open(db)
    if str(target) == "-":
        print(store.export_json())
    elif target.suffix == ".json":
        _refuse_existing(target)
        target.write_text(store.export_json())
    else:
        _refuse_existing(target)
        store.export_store(str(target))
    return OK


@app.command()
def merge(
    sources: Annotated[list[Path], typer.Argument(help="Other stores, or exported JSON files.")], db: _Db = None
) -> int:
    """Merge other stores into this one; the faster record of each workload stays."""
    store = _open(db, create=True)
    for source in sources:
        if not os.path.isfile(source):
            raise StoreError(f"{source}: no such file.")
        print(f"{source}: {store.merge(str(source))} new trials")
    return OK


@app.command()
def prune(
    older_than: Annotated[
        float | None, typer.Option(help="Remove workloads whose last trial is older than this many days.")
    ] = None,
    foreign: Annotated[bool, typer.Option("--foreign", help="Remove workloads of other machines.")] = False,
    keep: Annotated[
        int | None, typer.Option(min=0, help="Keep this many of the newest trials of each workload.")
    ] = None,
    db: _Db = None,
) -> int:
    """Remove old or foreign workloads and surplus trials. Records of workloads that stay are kept."""
    if older_than is None and keep is None and not foreign:
        print(
            "autotune: db prune: nothing is chosen for removal. Give --older-than DAYS, --foreign or --keep N.",
            file=sys.stderr,
        )
        return 2
    options: dict[str, Any] = {}
    if older_than is not None:
        options["older_than_days"] = older_than
    if keep is not None:
        options["keep_trials"] = keep
    if foreign:
        options["foreign_to"] = compiler().machine(None)["fingerprint"]
    gone = _open(db).prune(options)
    print(f"forgot {counted(gone['workloads'], 'workload')} and {counted(gone['trials'], 'trial')}")
    return OK


def _path(db: Path | None) -> Path:
    path = settings.store_path(db)
    if path is None:
        raise StoreError("store: there is no home directory.", "Give --db FILE.")
    return path


def _open(db: Path | None, create: bool = False) -> Any:
    path = _path(db)
    if not create and not os.path.exists(path):
        raise StoreError(f"{path}: no store there.", "Tune something first, or give --db FILE.")
    store = compiler().Store(str(path))
    for warning in getattr(store, "warnings", list)():
        print(f"warning: {warning}", file=sys.stderr)
    return store


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise StoreError(f"{target}: exists.", "Choose another name.")


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """A line per workload, the newest last: its time, gain, date, machine."""
    here = str(compiler().machine(None).get("fingerprint", ""))
    cells = [("date", "time", "gain", "trials", "machine", "call")]
    for row in sorted(rows, key=lambda row: _day(row)[1]):
        record, workload = row["record"] or {}, row["workload"]
        machine = "this one" if workload["machine"] == here else row["machine"] or workload["machine"][:8]
        stopped = f"; stopped: {record['reason']}" if record else "; no record"
        time = format_ns(float(record["median_ns"])) if record else ""
        gain = f"{record['default_ns'] / record['median_ns']:.2f}x" if record and record["default_ns"] else ""
        cells.append((_day(row)[0], time, gain, str(row["trials"]), machine, f"{workload['summary']}{stopped}"))
    return [
        *aligned(cells, left=(0, 4)),
        "gain: the default schedule's time over that of the best one, both measured in the search",
    ]


def _day(row: dict[str, Any]) -> tuple[str, int]:
    seconds = int((row["record"] or row["workload"])["created_s"])
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M"), seconds
