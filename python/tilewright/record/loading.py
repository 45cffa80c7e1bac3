"""A script's code as it is recorded and as `autotune run` runs it: one code for both, since traces go by it."""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..script import Script, load_script
from .hooks import call_back, with_hooks
from .left_alone import looks_at_frames
from .regions import Region, Regions, with_regions
from .script_text import may_have_regions


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

    def compiled(source: bytes, file: str) -> types.CodeType:
        nonlocal found
        if not (takes_regions and may_have_regions(source)):
            return with_hooks(source, file, bound, changed)
        from . import kept_texts  # noqa: PLC0415  (a script without arrays needs none of it)

        key = kept_texts.key_of(source, file)
        if (kept := kept_texts.load(key)) is not None:
            call_back(bound)
            code, found = kept
            return code
        with warnings.catch_warnings(record=True) as said:
            code = with_hooks(source, file, bound, changed)
        for one in said:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno, one.file, one.line)
        if not said:  # Python says it in each run
            kept_texts.keep(key, kept_texts.KeptText(code, found))
        return code

    parts = load_script(script, compiled)
    return Loaded(*parts, found.regions)
