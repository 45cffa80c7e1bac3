"""A script's code as it is recorded and as `autotune run` runs it: one code for both, since traces go by it."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..script import Script, load_script
from .hooks import with_hooks
from .left_alone import looks_at_frames
from .regions import Region, Regions, with_regions


@dataclass(frozen=True)
class Loaded:
    """`folder`: for sys.path; `regions`: what the code calls by their names, among the builtins."""

    code: types.CodeType
    file: str
    folder: str
    package: str | None
    regions: list[Region]


def load(
    script: Script, names: dict[str, Any], observed: Callable[[str, Any, Any], Any], *, takes_regions: bool
) -> Loaded:
    """`observed`: what stands in `names`, the script's own, under a name that its top level has bound. Raises ScriptStopped,
    PackageRaised."""
    found = Regions()

    def bound(name: str) -> None:
        found.note_source(name, names[name])
        names[name] = observed(name, names[name], names)

    def changed(tree: ast.Module) -> None:
        nonlocal found
        if takes_regions and not looks_at_frames(tree):
            found = with_regions(tree)

    parts = load_script(script, lambda source, file: with_hooks(source, file, bound, changed))
    return Loaded(*parts, found.regions)
