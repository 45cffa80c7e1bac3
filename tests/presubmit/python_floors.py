"""The floors of python/tilewright: a module imports from its own floor and those below, and no imports make a circle.

Imports inside of functions count as those at the top do. What is imported for types alone (`if TYPE_CHECKING`) never runs, so it
makes no circle; it comes from the same floor or from below too, except for the names that an `__init__` re-exports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# From the lowest up: what it is, and its modules and folders. python/README.md says what each is for.
FLOORS: dict[str, str] = {
    "ground": "__init__ arrays_held callees checks described_results device_code devices effects errors failed_traces file_cache forks guards held_elsewhere kept_memory kinds_of_values lent light_dataclass logs machine native operations originals"
              " outside_values own_attributes own_frames pure_functions put_instead quantities reached_arrays reasons recording result_forms settings signatures strided_copies structure taken_ways thread_budget work_folders",
    "symbolic": "known symbolic",
    "ops": "ops",
    "interpret": "interpret",
    "trace": "trace",
    "scripts": "record script",
    "programs": "binding builder cache comparison datasets device_profile dispatch draws figures flops followed_apart given_by_plans later_builds left_builds partials plan program"
                " rounding run_report stage_shares tolerance trace_cache trials work workload",
    "specializations": "debug explain explained_source jitted placement result_table specialization stage_records stored tuning",
    "export": "export",
    "functions": "bound_method call_keys cells decorator device_calls enabled followed_ahead hot_functions hot_observer numpy_calls patched_run plan_calls prompts serving session specializing tried_calls",
    "commands": "__main__ cli",
}  # fmt: skip
NOT_YET: tuple[str, ...] = ()
"""`importer -> imported` that still goes up or closes a circle. The list only gets shorter: a line that is not needed fails."""


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str
    line: int
    for_types: bool

    @property
    def arrow(self) -> str:
        return f"{self.importer} -> {self.imported}"


def modules_of(package: Path) -> dict[str, Path]:
    """Each module by its name inside of the package; a folder's `__init__` by that of the folder."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, modules: Mapping[str, Path]) -> Iterator[Import]:
    """The modules of the package that a file imports, wherever it does."""
    is_folder = path.name == "__init__.py"
    inside = [] if name == "__init__" else name.split(".") if is_folder else name.split(".")[:-1]
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while pending:
        node, for_types = pending.pop()
        pending += [(child, for_types or _is_for_types(node)) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.ImportFrom) and node.level and not (for_types and is_folder):
            place = [*inside[: len(inside) + 1 - node.level], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                whole = ".".join([*place, alias.name])
                imported = whole if whole in modules else ".".join(place) or "__init__"
                if imported in modules and imported != name:
                    yield Import(name, imported, node.lineno, for_types)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def floor_of(name: str) -> int | None:
    """The number of a module's floor, from the lowest; the most specific of the names that hold it decides."""
    found = [
        (len(held), number)
        for number, listed in enumerate(FLOORS.values())
        for held in listed.split()
        if name == held or name.startswith(held + ".")
    ]
    return max(found)[1] if found else None


def circles(imports: list[Import]) -> list[list[str]]:
    """The sets of modules each of which imports the others, by way of one another."""
    targets: dict[str, set[str]] = {}
    for one in imports:
        targets.setdefault(one.importer, set()).add(one.imported)
    reached: dict[str, set[str]] = {}
    for name, first in targets.items():
        seen: set[str] = set()
        pending = [*first]
        while pending:
            if (at := pending.pop()) not in seen:
                seen.add(at)
                pending += targets.get(at, ())
        reached[name] = seen
    found = {frozenset(m for m in reached[n] if n in reached.get(m, ())) for n in reached if n in reached[n]}
    return sorted(sorted(circle) for circle in found)


def problems(package: Path) -> list[str]:
    modules = modules_of(package)
    folder = f"{package.parent.name}/{package.name}"
    names = list(FLOORS)
    floors = {name: floor_of(name) for name in modules}
    found = [
        f"{folder}: {name} is on no floor: name it in tests/presubmit/python_floors.py."
        for name in modules
        if floors[name] is None
    ]
    imports = [one for name, path in modules.items() for one in imports_of(name, path, modules)]

    def goes_up(one: Import) -> bool:
        below, above = floors[one.importer], floors[one.imported]
        return below is not None and above is not None and below < above

    allowed = [one for one in imports if one.arrow not in NOT_YET]
    for one in allowed:
        if goes_up(one):
            found.append(
                f"{folder}: {one.importer} (line {one.line}) imports {one.imported}: the floor {names[floors[one.importer] or 0]} "
                f"is below {names[floors[one.imported] or 0]}."
            )
    at_run_time = [one for one in allowed if not one.for_types]
    found += [f"{folder}: these import one another: {', '.join(circle)}." for circle in circles(at_run_time)]
    for arrow in NOT_YET:
        mine = [one for one in imports if one.arrow == arrow]
        closes = [one for one in mine if not one.for_types and circles([*at_run_time, one]) != circles(at_run_time)]
        if not any(map(goes_up, mine)) and not closes:
            found.append(f"{folder}: NOT_YET has {arrow}, which is no longer wrong: take it out.")
    return found
