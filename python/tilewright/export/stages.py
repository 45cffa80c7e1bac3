"""`_stages.py` of a module: imports what computes its stages, by name, and hands it to the extension."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..effects import names_of_effects
from ..errors import ExportError
from ..stage_shares import shown
from ..symbolic.stages import IN_C, Stage, found_by_name

FILE = "_stages.py"
_OF_THE_CALLER = "tilewright.lent.current"  # see interpret/staged_draws.py

_RAISED_HERE = '''

def raised_here(error):
    """Whether a stage raised it: then it is the callee's own, and no refusal of a call."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == __file__:
            return True
        trace = trace.tb_next
    return False
'''


def check_stages(function: str, stages: Mapping[str, Stage], *, on_device: bool) -> None:
    """ExportError where a module cannot have what computes them."""
    if called := names_of_effects(stages):
        raise ExportError(
            f"{function}: it calls {called}, not known to be pure, and a module could not take such calls back where its "
            "data fail a check.",
            "Declare a pure function so with @tilewright.stage, or leave the call out of the function.",
        )
    for text, stage in stages.items():
        if stage.name == _OF_THE_CALLER:
            raise ExportError(
                f"{function}: how many values it draws from a generator of the caller depends on data, and a module moves such a "
                "generator by a count alone.",
                "Make the generator in the function, from a seed, or leave the draws out of it.",
            )
        if on_device and stage.name:
            raise ExportError(
                f"{function}: its stage {shown(text)} is computed by NumPy, on the host, and the module is to have code for CUDA "
                "devices.",
                "Export it with --target host, or leave the call out of the function.",
            )
        if stage.is_of_a_module and found_by_name(stage.name) != stage.callee:
            raise ExportError(
                f"{function}: its stage {shown(text)} is computed by a function that no module finds under the name {stage.name}.",
                "Define it at the top of a module that can be imported, or leave the call out of the function.",
            )


def write_stages(folder: Path, function: str, stages: Mapping[str, Stage]) -> None:
    lines = [f'"""What is computed between the kernels of {function}, by whom."""', "", "import numpy", ""]
    lines += [f"from ._face import {', '.join(IN_C)}", ""]
    names: dict[str, str] = {}
    for text, stage in stages.items():
        if stage.is_of_a_module and stage.name not in names:
            names[stage.name] = f"_callee{len(names)}"
            lines += _import_lines(function, text, stage, names[stage.name])
    lines.append("stages = {")
    lines += [
        f"    {text!r}: (lambda callee: {stage.source})({names.get(stage.name)})," for text, stage in stages.items()
    ]
    (folder / FILE).write_text("\n".join([*lines, "}", _RAISED_HERE]), encoding="utf-8")


def _import_lines(function: str, text: str, stage: Stage, local: str) -> list[str]:
    name = stage.name
    module, attributes = module_of(name)
    first, *others = attributes
    package = module.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "")
    had = f" ({version} had it)" if version else ""
    needs = f"{function}: its stage {shown(text)} needs {name}, which cannot be imported: "
    return [
        "try:",
        f"    from {module} import {first} as {local}",
        *([f"    {local} = {local}.{'.'.join(others)}"] if others else []),
        *([f"    {local} = twin({name!r}, {local})"] if stage.has_twin else []),
        "except (ImportError, AttributeError) as error:",
        f"    raise ImportError({needs!r} + f'{{error}}. Install {package}{had}.') from error",
        "",
    ]


def module_of(name: str) -> tuple[str, list[str]]:
    """The module that has a function, and the attributes from there on: ("numpy", ["add", "accumulate"])."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 1, -1):
        try:
            importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        return ".".join(parts[:count]), parts[count:]
    return parts[0], parts[1:]


def packages_of(stages: Iterable[Stage]) -> list[str]:
    """What is imported beside NumPy."""
    return sorted({stage.name.partition(".")[0] for stage in stages if stage.is_of_a_module} - {"numpy", "builtins"})


def evidence_of(stages: Mapping[str, Stage]) -> list[dict[str, Any]]:
    """For the manifest: who computes what, and why no kernel does."""
    return [
        {"stage": shown(text), "callee": stage.name, "why": stage.why, "line": stage.line}
        for text, stage in stages.items()
        if stage.name
    ]


def calls_of(stages: Mapping[str, Stage]) -> list[str]:
    """The stages that call something, as people read them."""
    return [shown(text) for text, stage in stages.items() if stage.name]
