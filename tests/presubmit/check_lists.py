"""Fails when a list and the files it lists disagree: CMake sources, folder READMEs, operations on both sides of the border, steps of plans, passes, cases and peers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["dsl", "dsl/runtime", "translator", "autotune", "python", "schedules", "tests", "benchmarks"]


def tracked(folder: str, *suffixes: str) -> list[Path]:
    """Files that git knows or would add, so that leftovers of builds do not count."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", folder]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in suffixes)
    return sorted(ROOT / line for line in listed.stdout.splitlines() if Path(line).suffix in suffixes)


def unlisted_sources() -> list[str]:
    """Every .cpp is named in the CMakeLists.txt of its own folder or of one above it."""
    found = []
    for folder in ("dsl", "translator", "autotune", "python/native"):
        for path in tracked(folder, ".cpp"):
            for parent in path.parents:
                lists = parent / "CMakeLists.txt"
                if lists.exists() and path.relative_to(parent).as_posix() in lists.read_text():
                    break
                if parent == ROOT:
                    found.append(f"{path.relative_to(ROOT)} is in no CMakeLists.txt.")
                    break
    return found


def unsorted_sources() -> list[str]:
    found = []
    for lists in [p for p in tracked(".", ".txt") if p.name == "CMakeLists.txt"]:
        for block in re.findall(r"(?:STATIC|MODULE)\n((?:\s+\S+\.(?:cpp|c)\n?)+)", lists.read_text()):
            names = block.replace(")", "").split()
            if names != sorted(names):
                found.append(f"{lists.relative_to(ROOT)}: sources are not sorted: {names}")
    return found


def missing_readmes() -> list[str]:
    return [f"{room}/README.md is missing." for room in ROOMS if not (ROOT / room / "README.md").exists()]


LONGEST_LINE = 160


def pages_that_are_no_page() -> list[str]:
    """READMEs are a page, their lines can be read, and decisions with their reasons stand apart."""
    found = []
    for path in tracked(".", ".md"):
        name = path.relative_to(ROOT).as_posix()
        lines = path.read_text().splitlines()
        if name.endswith("_text.md"):
            continue
        found += [
            f"{name}:{k}: more than {LONGEST_LINE} columns."
            for k, line in enumerate(lines, 1)
            if len(line) > LONGEST_LINE
        ]
        if path.name == "README.md" and len(lines) > 100:
            found.append(f"{name}: {len(lines)} lines are no page: decisions go to DECISIONS.md beside it.")
        if path.name == "README.md" and "## Decisions" in lines:
            found.append(f"{name}: decisions go to DECISIONS.md beside it.")
    return found


# Files of others that our texts name, and one that benchmarks write.
FOREIGN_FILES = ["Halide.h", "HalideRuntime.h", "Python.h", "sqlite3.h", "table.md"]


def names_of_no_file() -> list[str]:
    """A file that a page or C++ names is there: the name alone, or the end of its path. DIR/, NAME. and the like stand for others."""
    paths = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False
    ).stdout.split()
    there = {"/".join(path.split("/")[k:]) for path in paths for k in range(path.count("/") + 1)} | set(FOREIGN_FILES)
    there |= {name.removesuffix(".in") for name in there}
    found = []
    for path in [
        *tracked(".", ".md"),
        *(p for room in ("dsl", "translator", "autotune") for p in tracked(room, ".h", ".cpp")),
    ]:
        for k, line in enumerate(path.read_text().splitlines(), 1):
            found += [
                f"{path.relative_to(ROOT)}:{k} names {name}, which is no file of ours."
                for name in re.findall(r"(?<![\w./<>{}*-])(\w+(?:/[\w.]+)*\.(?:h|cpp|py|md|def|cmake))(?![\w(])", line)
                if name not in there and not re.search(r"[A-Z]{3}.*/|\b_|/_|NAME", name)
            ]
    return found if paths else []


def documented_operations() -> dict[str, str]:
    """Each operation of program_text.md with what is said of it."""
    text = (ROOT / "translator/program_text.md").read_text()
    table = text[text.index("| operation |") : text.index("## Regions")]
    documented = {}
    for row in table.splitlines()[2:]:
        if row.startswith("|") and "operations.def" not in row.split("|")[1]:  # else it is about rows there
            documented |= dict.fromkeys(re.findall(r"[a-z][a-z0-9_]*", row.split("|")[1]), row)
    return documented


def listed_operations() -> dict[str, str]:
    """Each operation of translator/ir/operations.def with its row."""
    text = (ROOT / "translator/ir/operations.def").read_text()
    rows = re.findall(r"^[A-Z]+\(.*", text, re.M)
    if not rows:
        raise SystemExit("check_lists: operations.def has no rows: change their pattern here too.")
    return {re.split(r"[(,\" ]+", row)[2 if row.startswith("OPERATION") else 1].rstrip(")"): row for row in rows}


def operations_that_disagree() -> list[str]:
    """program_text.md and operations.def list the same operations; each is written by the tracer, or is what a rewrite of the
    translator makes."""
    documented, listed = documented_operations(), listed_operations()
    shown = set(
        re.findall(r"= ([a-z]+)[ (]", (ROOT / "translator/program_text.md").read_text())
    )  # in lines of programs
    found = [
        f"program_text.md lists {op}, operations.def does not." for op in sorted(documented.keys() - listed.keys())
    ]
    found += [
        f"operations.def has {op}, which program_text.md does not list."
        for op in sorted(listed.keys() - documented.keys() - shown)
        if not re.search(r"\b(of_passes|ufunc|REDUCTION)\b", listed[op])
    ]
    writers = ("symbolic", "ops", "interpret", "trace")
    written = re.compile("|".join(set().union(*(strings_of(f"python/tilewright/{folder}") for folder in writers))))
    found += [
        f"program_text.md lists {op}, but nothing in python/tilewright ({', '.join(writers)}) writes it: no function can reach it."
        for op, row in sorted(documented.items())
        if not re.search(r"what `\w+` makes of", row)
        and not written.fullmatch(op)
        and not re.search(r"\b(ufunc|REDUCTION)\b", listed.get(op, ""))
    ]
    return found


def statements_of_plans() -> list[str]:
    """plan_text.md shows each statement that plan_text.cpp reads, and each step as plan.h has it written."""
    page = (ROOT / "dsl/runtime/plan_text.md").read_text()
    forms = re.findall(r'StepKind::\w+, (?:\.text = )?"([^"]+)"', (ROOT / "dsl/runtime/plan.h").read_text())
    keywords = re.findall(r'keyword == "(\w+)"', (ROOT / "dsl/runtime/plan_text.cpp").read_text())
    if not forms or not keywords:
        raise SystemExit("check_lists: plans have no steps or statements: change their pattern here too.")
    shown = {"$": r"\S+", "@": r"\S+", "?": r".+", "!": r'".+"', "#": r".+", "*": r".*"}  # as plan.h's StepForm says
    found = [
        f"plan_text.md does not show {form!r}, a step of plan.h."
        for form in forms
        if not re.search(r"(^ *|`)" + "".join(shown.get(c) or re.escape(c) for c in form), page, re.M)
    ]
    found += [f"plan_text.md has no {word!r}." for word in keywords if not re.search(rf"(^ *|`){word}\b", page, re.M)]
    return found


def strings_of(folder: str) -> set[str]:
    """The strings in a folder of Python as patterns: what an f-string fills in may be any word. No docstrings."""
    found: set[str] = set()
    for path in tracked(folder, ".py"):
        tree = ast.parse(path.read_text())
        filled = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"\w+" for p in node.values]
                if parts and parts[0] != r"\w+":  # else it may be any word at all
                    found.add("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in filled:
                found.add(re.escape(node.value))
    return {pattern for pattern in found if re.fullmatch(r"(?:[a-z0-9_]|\\w\+)+", pattern)}


def assigned(file: str, variable: str) -> ast.expr:
    """What a Python file assigns to `variable`."""
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == variable for t in node.targets):
            return node.value
    raise SystemExit(f"check_lists: {file} assigns no {variable}: change its name here too.")


# What passes call, and nobody runs for itself.
NO_PASSES = {"without_dead_code", "drop_unused", "replace_all_uses"}


def rewrites_in_no_list() -> list[str]:
    """Each function of translator/ that makes a program from a program is a pass of pipeline.cpp."""
    made = re.compile(
        r"^(?:Program|Prepared|std::optional<Program>) (\w+)\((?:const )?(?:Program|Prepared)[ &]"  # gives the new one
        r"|^\w+ (\w+)\((?:Program|Prepared)& ",  # changes it
        re.M,
    )
    rewrites = {
        name: path.relative_to(ROOT)
        for path in tracked("translator", ".h")
        if path.name != "pipeline.h"
        for name in ("".join(found) for found in made.findall(path.read_text()))
    }
    if not rewrites:
        raise SystemExit("check_lists: translator/ has no rewrite: change their pattern here too.")
    listed = (ROOT / "translator/passes/pipeline.cpp").read_text()
    return [
        f"{path} declares the rewrite {name}, which is no pass of translator/passes/pipeline.cpp."
        for name, path in rewrites.items()
        if name not in NO_PASSES and not re.search(rf"\.run = (?:plain<)?{name}\b", listed)
    ]


def tests_without_a_kind() -> list[str]:
    """Each file of pytest says in one line which kind its tests are of (GoogleTest programs: CMake refuses others)."""
    kinds = re.findall(r'^ *"([a-z]+): a kind: ', (ROOT / "pyproject.toml").read_text(), re.M)
    said = re.compile(rf"^pytestmark = \[?\s*pytest\.mark\.(?:{'|'.join(kinds)})\b", re.M)
    files = [path for path in tracked("tests", ".py") if path.name.startswith("test_") or "against_numpy" in path.name]
    found = []
    for path in files:
        text = path.read_text()
        if len(said.findall(text)) != 1 or len(re.findall(rf"pytest\.mark\.(?:{'|'.join(kinds)})\b", text)) != 1:
            found.append(
                f"{path.relative_to(ROOT)}: one line, `pytestmark = pytest.mark.KIND`, says the kind: {', '.join(kinds)}."
            )
    return found


def environment_variables() -> list[str]:
    """python/environment.md has each variable that code reads, and no other; its first table is settings.VARIABLES."""
    page = (ROOT / "python/environment.md").read_text()
    rows = dict(re.findall(r"^\| `(TILEWRIGHT_\w+)` \| (.+) \|$", page, re.M))
    reads = re.compile(r'(?:getenv|environment_threads|environ(?:\.get)?|_on)[\[(]"(TILEWRIGHT_\w+)"')
    read: dict[str, str] = {}
    for path in tracked(".", ".py", ".cpp", ".h"):
        read |= dict.fromkeys(reads.findall(path.read_text()), str(path.relative_to(ROOT)))
    found = [f"{read[name]} reads {name}, which python/environment.md lacks." for name in sorted({*read} - {*rows})]
    found += [f"python/environment.md has {name}, which nothing reads." for name in sorted({*rows} - {*read})]
    settings = assigned("python/tilewright/settings.py", "VARIABLES")
    promised = {ast.literal_eval(k): ast.literal_eval(v) for k, v in zip(settings.keys, settings.values, strict=True)}
    if promised.items() - rows.items():
        found.append("python/environment.md and VARIABLES of python/tilewright/settings.py disagree:")
        found += [f"  {name}: {what}" for name, what in sorted(promised.items() - rows.items())]
    return found


def cases_and_peers() -> list[str]:
    found = []
    case_list = "".join((ROOT / "benchmarks" / name).read_text() for name in ("case_list.py", "cuda/cuda_cases.py"))
    for path in tracked("benchmarks/cases", ".py"):
        if f'"{path.stem}"' not in case_list:
            found.append(f"benchmarks/cases/{path.name} is in neither case_list.py nor cuda_cases.py.")
    everyday = [ast.literal_eval(row)[1] for row in assigned("benchmarks/case_list.py", "EVERYDAY").elts]
    programs = [path.stem for path in tracked("benchmarks/everyday", ".py")]
    found += [
        f"benchmarks/everyday/{name}.py is not in EVERYDAY of case_list.py."
        for name in programs
        if name not in everyday
    ]
    found += [
        f"EVERYDAY of case_list.py has {name}, which is no file of benchmarks/everyday."
        for name in everyday
        if name not in programs
    ]
    peers = (ROOT / "benchmarks/peers/__init__.py").read_text()
    for path in tracked("benchmarks/peers", ".py"):
        if path.stem != "__init__" and f'"{path.stem}"' not in peers:
            found.append(f"benchmarks/peers/{path.name} is not in PEERS.")
    return found


def main() -> int:
    problems = [
        *unlisted_sources(),
        *unsorted_sources(),
        *missing_readmes(),
        *pages_that_are_no_page(),
        *names_of_no_file(),
        *operations_that_disagree(),
        *statements_of_plans(),
        *rewrites_in_no_list(),
        *tests_without_a_kind(),
        *environment_variables(),
        *cases_and_peers(),
    ]
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
