"""Builds (objects and the plan text of one schedule) and how several of them become one plan.
The text is described in dsl/runtime/plan_text.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .binding import Bound
from .machine import is_cuda_isa
from .program import Program, holds

_CALL = re.compile(r'^call (\w+) in "[^"]*"')


@dataclass(frozen=True)
class Kernel:
    name: str
    object: bytes
    requires: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """What the compiler made of one schedule on one ISA level."""

    kernels: tuple[Kernel, ...]
    header: str
    body: str
    schedule: str
    isa: str

    @property
    def requires(self) -> tuple[str, ...]:
        """Conditions on sizes, of the kernels and of the translation itself."""
        own = [line.strip()[8:] for line in self.body.splitlines() if line.strip().startswith("require ")]
        sizes = [
            c for c in (*(r for k in self.kernels for r in k.requires), *own) if c.split()[0] not in ("isa", "layout")
        ]
        return tuple(dict.fromkeys(sizes))

    @property
    def on_device(self) -> bool:
        """Whether it runs on a CUDA device."""
        return is_cuda_isa(self.isa)

    @property
    def has_loops(self) -> bool:
        """Whether iterations of loops are steps of the plan, beside those inside of kernels."""
        return any(line.split()[:1] in (["for"], ["loop"]) for line in self.body.splitlines())

    @property
    def libraries(self) -> tuple[str, ...]:
        """Library stages of the plan, such as matmul."""
        return tuple(line.split()[1] for line in self.body.splitlines() if line.strip().startswith("library "))


@dataclass(frozen=True)
class Version:
    """One way to run a call: a build and the conditions under which it may run."""

    label: str
    suffix: str
    build: Build
    layouts: Mapping[str, str]  # argument -> c, f or any
    conditions: tuple[str, ...] = ()  # beyond what the build requires
    schedule: str = field(default="")

    @property
    def requires(self) -> tuple[str, ...]:
        layouts = [f"layout {name} {kind.upper()}" for name, kind in self.layouts.items() if kind in ("c", "f")]
        kernels = [r for kernel in self.build.kernels for r in kernel.requires]
        return tuple(dict.fromkeys([f"isa {self.build.isa}", *layouts, *self.conditions, *kernels]))

    def fits(self, bound: Bound) -> bool:
        """The runtime's test, for deciding what to build."""
        if self.build.on_device != bound.on_device:
            return False
        for name, layout in self.layouts.items():
            if layout == "any":
                continue
            flags = bound.arrays[name].flags
            if not (flags.c_contiguous if layout == "c" else flags.f_contiguous):
                return False
        return all(holds(condition, bound.sizes) for condition in (*self.conditions, *self.build.requires))

    def objects(self) -> dict[str, bytes]:
        return {f"{kernel.name}.{self.suffix}": kernel.object for kernel in self.build.kernels}

    def text(self) -> str:
        # A build may repeat as `require` lines what its kernels already require.
        required = self.requires
        lines = [f'version "{self.label}"', *(f"require {condition}" for condition in required)]
        for line in self.build.body.splitlines():
            # Each kernel is an object of its own, called as the kernel.
            stripped = _CALL.sub(lambda m: f'call {m[1]} in "{m[1]}.{self.suffix}"', line.strip())
            if stripped and not (stripped.startswith("require ") and stripped[8:] in required):
                lines.append(stripped)
        if lines[-1] != "end":
            lines.append("end")
        return "\n".join(lines) + "\n"


def with_type_guards(header: str, program: Program) -> str:
    """The header with the equalities that the program says by its arguments' types: means.1 stands as X.1."""
    present = {line.split('"')[0].strip() for line in header.splitlines() if line.startswith("guard ")}
    lines = []
    for array in program.arrays:
        for axis, extent in enumerate(array.shape):
            own = f"{array.name}.{axis}"
            if extent == own or {f"guard {own} == {extent}", f"guard {extent} == {own}"} & present:
                continue
            lines.append(f'guard {own} == {extent} "{_mismatch(array.name, axis, extent)}"')
    if not lines:
        return header
    at = next(
        (i for i, line in enumerate(header.splitlines()) if line.startswith(("guard ", "result ", "return "))), None
    )
    old = header.splitlines()
    at = len(old) if at is None else at
    return "\n".join([*old[:at], *lines, *old[at:]]) + "\n"


def _mismatch(name: str, axis: int, extent: str) -> str:
    extent = re.sub(r"(\w+)\.(\d+)", r"\1.shape[\2]", extent)
    advice = "Pass arrays whose sizes agree, or tune the function with such ones too."
    return f"{name}.shape[{axis}] must equal {extent}. {advice}"


def compose(header: str, versions: Iterable[Version]) -> str:
    """Header, then each version in order: the first that may run is taken."""
    return header.rstrip("\n") + "\n" + "".join(version.text() for version in versions)


def all_objects(versions: Iterable[Version]) -> dict[str, bytes]:
    objects: dict[str, bytes] = {}
    for version in versions:
        objects.update(version.objects())
    return objects
