"""Builds (objects and the plan text of one schedule) and how several of them become one plan.
The text is described in dsl/runtime/plan_text.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_IN_OBJECT = re.compile(r'( in ")([^"]+)(")')


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
        return tuple(dict.fromkeys([*(r for k in self.kernels for r in k.requires), *own]))

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

    def objects(self) -> dict[str, bytes]:
        return {f"{kernel.name}.{self.suffix}": kernel.object for kernel in self.build.kernels}

    def text(self) -> str:
        body = _IN_OBJECT.sub(lambda m: f"{m[1]}{m[2]}.{self.suffix}{m[3]}", self.build.body)
        # A build may repeat as `require` lines what its kernels already require.
        required = self.requires
        lines = [f'version "{self.label}"', *(f"require {condition}" for condition in required)]
        for line in body.splitlines():
            stripped = line.strip()
            if stripped and not (stripped.startswith("require ") and stripped[8:] in required):
                lines.append(stripped)
        if lines[-1] != "end":
            lines.append("end")
        return "\n".join(lines) + "\n"


def compose(header: str, versions: Iterable[Version]) -> str:
    """Header, then each version in order: the first that may run is taken."""
    return header.rstrip("\n") + "\n" + "".join(version.text() for version in versions)


def all_objects(versions: Iterable[Version]) -> dict[str, bytes]:
    objects: dict[str, bytes] = {}
    for version in versions:
        objects.update(version.objects())
    return objects
