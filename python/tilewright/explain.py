"""explain() and `autotune show`: what was compiled, why it is the best known, and what runs in NumPy."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from . import _face
from .device_code import arch_of, functions_of, sass_of
from .errors import TranslateError
from .explained_source import marked_source
from .figures import Figures
from .guards import Path, PythonGuard, path_text
from .machine import is_cuda_isa
from .native import compiler
from .quantities import format_bytes, format_ns
from .structure import APPENDED, Changed
from .symbolic.located import PYTHON_KEEPS_IT
from .work import moved_bytes

if TYPE_CHECKING:
    from .jitted import Jitted
    from .plan import Version
    from .specialization import Specialization

_LISTED_NUMBERS = 8  # of one list or dict from outside; more are counted


def explain_function(function: Jitted, *, source: bool = True, code: bool = False) -> str:
    """All specializations of a jitted function, and the calls that NumPy serves."""
    parts = [
        f"{function.__module__}.{function.__qualname__}, contract {function.contract}, for {function.targets.text}"
    ]
    if function.computes_nothing:
        parts.append(
            "  nothing is compiled: the calls so far compute nothing of arrays' elements, and Python makes them"
        )
    elif not function.specializations and not function.refusals and function.was_watched:
        parts.append(
            "  nothing compiled yet: the calls so far ran as plain Python, to show what the functions give that they call; "
            "call it again"
        )
    elif not function.specializations and not function.refusals:
        parts.append("  nothing compiled yet: call it, or use f.for_args(…)")
    parts += [explain_specialization(s, source=source, code=code) for s in function.specializations]
    if function.refusals:
        parts.append("runs in NumPy:")
        parts += [f"  {reason}" for reason in function.refusals]
    return "\n".join(parts)


def explain_specialization(specialization: Specialization, *, source: bool = True, code: bool = False) -> str:
    """One program: arguments, guards, the function's source, stages with loops and source lines, variants, versions, evidence."""
    lines = [specialization.signature]
    for part in (
        _guards,
        _sets,
        _checks,
        *([marked_source] if source else []),
        _program_loops,
        _stages,
        _numpy_stages,
        _variants,
        _versions,
        _copies,
        _launches,
    ):
        lines += part(specialization)
    lead, example = specialization.lead, specialization.example
    if lead is not None and example is not None and lead.label == "by hand":
        runs = "" if lead.fits(example) else "; the call that this was made for does not meet what it requires"
        lines.append(f"why this schedule: by hand{runs}")
    else:
        lines += evidence_lines(specialization.evidence or ({} if specialization.evidence_on_device else None))
    if specialization.evidence_on_device:
        lines += ["on a CUDA device:", *evidence_lines(specialization.evidence_on_device)]
    lines.append("schedule:")
    lines += [f"  {line}" for line in specialization.schedule.strip().splitlines()]
    if code:
        lines += _code(specialization)
    return "\n".join(lines)


def _is_a_number_from_outside(argument: Any) -> bool:
    return argument.kind == "scalar" and (argument.path[0][0] != "parameter" or len(argument.path) > 1)


def _container_of(argument: Any) -> Path:
    """Where the list or dict is that has the number among its items; the number's own place for others."""
    path = argument.path
    while len(path) > 1 and path[-1][0] == "item":
        path = path[:-1]
    return path


def _guards(specialization: Specialization) -> list[str]:
    lines = []
    arguments = getattr(specialization.traced, "arguments", ())
    containers = Counter(_container_of(one) for one in arguments if _is_a_number_from_outside(one))
    for argument in arguments:
        if argument.kind == "constant":
            reason = f" ({argument.reason})" if getattr(argument, "reason", "") else ""
            lines.append(f"  {argument.name} == {argument.value!r}{reason}")
        elif argument.kind == "hidden" and argument.path[-1][0] == "pcg64":
            lines.append(f"  {argument.name}: the state of {path_text(argument.path)}, read at each call")
        elif argument.kind == "hidden":
            lines.append(f"  {argument.name}: an array from outside the call, read at each call")
        elif _is_a_number_from_outside(argument) and (many := containers[_container_of(argument)]) > _LISTED_NUMBERS:
            line = f"  {path_text(_container_of(argument))}: {many} numbers from outside the call, read at each call"
            lines += [line] * (line not in lines)
        elif _is_a_number_from_outside(argument):
            lines.append(
                f"  {argument.name}: {path_text(argument.path)}, a number from outside the call, read at each call"
            )
    shown = {argument.path for argument in specialization.traced.arguments if argument.kind == "constant"}
    names = 0
    for guard in specialization.traced.guards:
        if guard.path in shown and guard.kind == "equal":
            continue  # a constant above
        if _is_a_name(guard):
            names += guard.kind != "absent"
        else:
            lines.append(f"  {guard_text(guard)}")
    if names:
        name, mean, they = ("names", "mean", "they") if names > 1 else ("name", "means", "it")
        lines.append(f"  {names} {name} of modules, builtins and functions {mean} what {they} did")
    lines += [f"  {guard.condition}    else: {guard.message}" for guard in specialization.program.guards]
    lines = list(dict.fromkeys(lines))
    return ["guards (another value compiles anew):", *lines] if lines else []


def _sets(specialization: Specialization) -> list[str]:
    """What the caller's objects get behind the call."""
    traced = specialization.traced
    if not isinstance(traced.results, Changed):
        return []
    each = zip(traced.set_objects, traced.results.have_items, traced.results.objects, strict=True)
    new = [
        path_text(path) + ".append()"
        if has_items and name == APPENDED
        else path_text((*path, ("item" if has_items else "attribute", name)))
        for path, has_items, names in each
        for name in names
    ]
    return ["set behind the call:", f"  {', '.join(new)}"] if new else []


def _is_a_name(guard: PythonGuard) -> bool:
    """Whether it says of a name in the source that it was not given to something else: nearly always so, and true."""
    kind, key = guard.path[0]
    if guard.kind in ("code", "absent"):
        return kind != "parameter"
    if len(guard.path) > 1:
        return kind in ("module", "object")
    return kind == "module" or (guard.kind == "is" and kind != "parameter")


def _checks(specialization: Specialization) -> list[str]:
    lines = [f"  {check.message}" for check in specialization.program.checks]
    return ["checked in each call (NumPy runs a call that fails one):", *lines] if lines else []


def guard_text(guard: PythonGuard) -> str:
    """What must hold of a Python value, in words."""
    where, value = path_text(guard.path), guard.value
    if guard.kind == "type":
        text = f"{where} is a {value.__qualname__}"
    elif guard.kind == "lacks":
        text = f"{where} has no {' or '.join(sorted(value))} of its own"
    elif guard.kind == "plain":
        text = f"the class of {where} leaves {', '.join(sorted(value))} to its objects"
    elif guard.kind == "holds":
        text = f"{where} has {value} of its own"
    elif guard.kind == "length":
        text = f"{where} is a {value[0].__name__} of {value[1]}"
    elif guard.kind == "keys":
        text = f"{where} has the keys {', '.join(map(repr, value[1]))}"
    elif guard.kind == "same":
        text = f"{where} is {path_text(value)}"
    elif guard.kind == "another":
        text = f"{where} is not {path_text(value)}"
    elif guard.kind in ("has", "key"):
        text = f"{where} has {'' if value[1] else 'no '}{value[0]}"
    else:
        text = f"{where} is {getattr(value, '__qualname__', None) or repr(value)}"
    return f"{text} ({guard.reason})" if guard.reason else text


def _program_loops(specialization: Specialization) -> list[str]:
    lines = []
    for loop in specialization.loops:
        done = f"; {loop['exit']}" if loop["exit"] else ""
        lines.append(f"  {'  ' * loop['depth']}line {loop['line']}: {loop['source']}: {loop['kind']}{done}")
    return ["loops of the program:", *lines] if lines else []


def _stages(specialization: Specialization) -> list[str]:
    lines = ["stages:"]
    for stage in specialization.stages:
        loops = ", ".join(_loop(loop) for loop in stage["loops"]) or "a single value"
        where = f"  line {stage['line']}" if stage.get("line") else ""
        source = f"  {stage['source']}" if stage.get("source") else ""
        lines.append(f"  {stage['name']}: {', '.join(stage['dtypes'])} over {loops}{where}{source}")
        for number, update in enumerate(stage["updates"]):
            lines.append(f"    update({number}) over {', '.join(_loop(loop) for loop in update)}")
    return lines


def _numpy_stages(specialization: Specialization) -> list[str]:
    lines = []
    for stage in specialization.numpy_stages:
        share = "" if stage.share is None else f"; {100 * stage.share:.0f} % of a call"
        by = "Python calls it" if stage.why.endswith(PYTHON_KEEPS_IT) else "NumPy computes it"
        by += ", or a twin on all threads" if stage.has_twin else ""
        lines.append(f"  {stage.shown}  line {stage.line}  {by}: {stage.why}{share}")
    return ["between kernels:", *lines] if lines else []


def _loop(loop: dict[str, Any]) -> str:
    kind = " ordered" if loop["ordered"] else " reduced" if loop["reduced"] else ""
    return f"{loop['name']}{kind} < {loop['extent']}"


def _variants(specialization: Specialization) -> list[str]:
    request = specialization.example_request()
    try:
        found = compiler().variants(request.program, request.options())
    except TranslateError:
        return []  # NumPy runs it; why is said below
    if not found:
        return []
    lines = ["variants (the default first):"]
    lines += [f"  {v['name']} = {' | '.join(v['options'])}    {v['meaning']}" for v in found]
    return lines


def _versions(specialization: Specialization) -> list[str]:
    lines = ["versions (the first whose requirements hold runs):"]
    lines += [_version(version) for version in specialization.versions]
    if specialization.is_being_built:
        lines.append("  one is being built, Python runs such calls meanwhile")
    for kind, reason in specialization.why_numpy.items():
        size = "small" if kind.startswith("small") else "large"
        lines.append(f"  NumPy for {size} calls: {reason}")
    if specialization.large_reason:
        lines.append(f"  NumPy for work below {specialization.large_from}: {specialization.large_reason}")
    if specialization.partials:
        rows = ", ".join(specialization.partials.rows)
        lines.append(
            f"calls beyond what kernels can index (parts of {rows}, then a total of what these give; default schedules):"
        )
        lines += dict.fromkeys(map(_version, specialization.partials.all_versions()))
    return lines


def _version(version: Version) -> str:
    libraries = f"; calls {', '.join(version.build.libraries)} of a library" if version.build.libraries else ""
    return f"  {version.label}: requires {', '.join(version.requires)}{libraries}"


def _copies(specialization: Specialization) -> list[str]:
    """What NumPy arrays cost where only a device has code."""
    example = specialization.example
    if example is None or not example.on_device:
        return []
    there = sum(array.dtype.itemsize * math.prod(array.shape) for array in example.arrays.values())
    lines = [
        "arrays on a device: no copies; results stay there",
        f"a call moves at least {format_bytes(moved_bytes(specialization.program, example))}: arguments and results, each once",
    ]
    passed = ", ".join(
        f"{name} {format_bytes(a.dtype.itemsize * math.prod(a.shape))}" for name, a in example.arrays.items()
    )
    if passed:
        back = moved_bytes(specialization.program, example) - there
        lines.append(
            f"NumPy arrays: each call copies {format_bytes(there)} to the device ({passed}) and {format_bytes(back)} of results back"
        )
    hidden = [name for name in example.hidden if name in example.arrays]
    if hidden:
        lines.append(f"  {', '.join(sorted(hidden))}: from outside of the call, copied to the device at each call")
    return lines


def _launches(specialization: Specialization) -> list[str]:
    """What a call costs whose iterations stay on the host."""
    launches = specialization.launches
    if launches is None:
        return []
    wrong = "; the host is the place for it: pass NumPy arrays" if launches.are_many_and_small else ""
    return [
        "on a device the iterations of its loops stay on the host (see loops of the program), each with its launches:",
        f"  the latest such call launched {launches.text()}{wrong}",
    ]


def evidence_lines(evidence: dict[str, Any] | None) -> list[str]:
    if evidence is not None and not evidence:
        return []
    if evidence is None:
        return ["why this schedule: the default; f.tune(…) or `autotune` searches for a better one"]
    lines = ["why this schedule: the fastest of those measured"]
    figures = Figures.of_evidence(evidence)
    if figures is not None:
        lines.append(f"  {figures.text()}")
    kernel_ns, default_ns = evidence.get("kernel_ns"), evidence.get("default_ns")
    if kernel_ns and default_ns:
        lines.append(f"  its kernel takes {format_ns(kernel_ns)}, that of the default schedule {format_ns(default_ns)}")
    if evidence.get("gbps"):
        lines.append(f"  it moves {evidence['gbps']:.1f} GB/s")
    if evidence.get("share_of_limit"):
        roof = f" ({evidence['limit']})" if evidence.get("limit") else ""
        lines.append(f"  it reaches {100 * evidence['share_of_limit']:.0f} % of this machine's measured limit{roof}")
    skip = {*(field.name for field in fields(Figures)), "default_ns", "schedule", "gbps", "share_of_limit", "limit"}
    for key, value in evidence.items():
        if key not in skip and isinstance(value, (str, int, float)) and value != "":
            name, text = (key[:-2], format_ns(1e9 * float(value))) if key.endswith("_s") else (key, value)
            lines.append(f"  {name.replace('_', ' ')}: {text}")
    return lines


def _code(specialization: Specialization) -> list[str]:
    request = specialization.example_request()
    made = compiler().build(
        request.program,
        request.options(),
        specialization.schedule,
        request.isa,
        guard_tails=False,
        assembly=True,
    )
    lines = []
    for kernel in made["kernels"]:
        lines += [f"lowered code of {kernel['name']}:", kernel["lowered"].rstrip()]
        if is_cuda_isa(request.isa):
            lines += [f"PTX of {kernel['name']}:", kernel["assembly"].rstrip()]
            lines += _device_functions(kernel["assembly"], request.isa)
            lines += _sass(kernel["name"], kernel["assembly"], _assembled_for(request.isa))
        else:
            lines += [f"assembly of {kernel['name']}:", kernel["assembly"].rstrip()]
    return lines


def _device_functions(ptx: str, isa: str) -> list[str]:
    functions, why = functions_of(ptx, isa)
    return [why] if why else [function.text() for function in functions]


def _sass(name: str, ptx: str, arch: str) -> list[str]:
    text, why = sass_of(ptx, arch)
    return [f"SASS of {name} for {arch}:", text.rstrip()] if text else [f"SASS of {name}: not shown: {why}"]


def _assembled_for(isa: str) -> str:
    """The device that is here, else the capability of the target."""
    for device in _face.devices():
        return arch_of(device)
    return isa.removeprefix("cuda-")
