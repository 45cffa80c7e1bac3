"""`autotune check MODULE…`: which modules are as their sources and this tilewright have them, and which are stale."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from ..export.package import FORMAT, MANIFEST
from ..export.sources import changes_of
from .exit_codes import OK, SCRIPT_RAISED, USAGE

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def check(
    modules: Annotated[
        list[Path] | None, typer.Argument(help="Folders of modules, or folders that hold some.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """List stale modules: their source, their files or tilewright have changed since. Exit code 1 if there are any."""
    folders: list[Path] = []
    for path in modules or [Path()]:
        found = _modules_in(path)
        if not found:
            what = (
                "no such folder" if not os.path.exists(path) else "neither a module of ours nor a folder that holds one"
            )
            print(f"autotune: check: {path}: {what}.", file=sys.stderr)
            return USAGE
        folders += found
    rows = [(folder, problems_of(folder)) for folder in folders]
    if as_json:
        print(json.dumps([{"module": str(folder), "stale": problems} for folder, problems in rows]))
    else:
        for folder, problems in rows:
            print(f"{folder}: {'stale: ' + '; '.join(problems) if problems else 'up to date'}")
    return SCRIPT_RAISED if any(problems for _, problems in rows) else OK


def _modules_in(path: Path) -> list[Path]:
    if os.path.isfile(path / MANIFEST):
        return [path]
    if not os.path.isdir(path):
        return []
    found = sorted(file.parent for file in path.glob(f"*/{MANIFEST}"))
    return [folder for folder in found if folder.name.endswith("_tuned") or _is_ours(folder)]


def _is_ours(folder: Path) -> bool:
    """Whether tilewright wrote its manifest, of a module that has a name of the user's."""
    try:
        evidence = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(evidence, dict) and "tilewright" in evidence


def problems_of(folder: Path) -> list[str]:
    """Why a module should be made again; none where it is as it should be."""
    try:
        evidence: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {str(name): str(digest) for name, digest in evidence["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [f"its {MANIFEST} cannot be read"]
    problems = []
    if evidence.get("tilewright") != __version__:
        problems.append(f"made by tilewright {evidence.get('tilewright')}, and this is {__version__}")
    elif evidence.get("format") != FORMAT:
        problems.append(f"made in format {evidence.get('format', 0)}, and this tilewright writes format {FORMAT}")
    for name, digest in files.items():
        try:
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                problems.append(f"its file {name} has changed")
        except OSError:
            problems.append(f"its file {name} is missing")
    return problems + changes_of(evidence.get("sources") or {}, folder)
