"""Builds (objects and the plan of one schedule) and how several of them become one plan. What a plan's text says is
the runtime's affair (dsl/runtime/plan_text.md): nothing here reads or writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._face import compose_plan
from .binding import Bound
from .light_dataclass import dataclass
from .machine import is_cuda_isa
from .program import holds


@dataclass(frozen=True)
class Kernel:
    name: str
    object: bytes  # none where that of another kernel has its code
    requires: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """What the compiler made of one schedule on one ISA level."""

    kernels: tuple[Kernel, ...]
    plan: str  # of one version
    conditions: tuple[str, ...]  # on sizes, of the translation itself
    libraries: tuple[str, ...]  # library stages of the plan, such as matmul
    has_loops: bool  # whether iterations of loops are steps of the plan, beside those inside of kernels
    schedule: str
    isa: str

    @classmethod
    def of(cls, made: Mapping[str, Any]) -> Build:
        """From its fields as the compiler and the cache have them: lists and dictionaries."""
        kernels = tuple(Kernel(k["name"], bytes(k["object"]), tuple(k["requires"])) for k in made["kernels"])
        lists = {name: tuple(made[name]) for name in ("conditions", "libraries")}
        return cls(**{**made, **lists, "kernels": kernels})

    @property
    def requires(self) -> tuple[str, ...]:
        """Conditions on sizes, of the kernels and of the translation itself."""
        return tuple(dict.fromkeys([*(r for k in self.kernels for r in k.requires), *self.conditions]))

    @property
    def on_device(self) -> bool:
        """Whether it runs on a CUDA device."""
        return is_cuda_isa(self.isa)


@dataclass(frozen=True)
class Version:
    """One way to run a call: a build and the conditions under which it may run."""

    label: str
    suffix: str
    build: Build
    layouts: Mapping[str, str]  # argument -> c, f or any
    conditions: tuple[str, ...] = ()  # beyond what the build requires

    @property
    def requirements(self) -> tuple[tuple[str, str], ...]:
        """What it asks for beside what its translation does: (isa, c, f or condition; of what)."""
        layouts = [(kind, name) for name, kind in self.layouts.items() if kind != "any"]
        asked = (*self.conditions, *(r for kernel in self.build.kernels for r in kernel.requires))
        return tuple(dict.fromkeys([("isa", self.build.isa), *layouts, *(("condition", each) for each in asked)]))

    @property
    def requires(self) -> tuple[str, ...]:
        """The same for people."""
        words = {"isa": "isa {}", "c": "layout {} C", "f": "layout {} F", "condition": "{}"}
        return tuple(words[kind].format(what) for kind, what in self.requirements)

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
        return {f"{kernel.name}.{self.suffix}": kernel.object for kernel in self.build.kernels if kernel.object}


def compose(versions: Sequence[Version]) -> str:
    """One plan of versions in this order: the first that may run is taken."""
    return compose_plan([(v.label, v.suffix, v.build.plan, v.requirements) for v in versions])


def all_objects(versions: Iterable[Version]) -> dict[str, bytes]:
    return {name: code for version in versions for name, code in version.objects().items()}
