"""Fails when an include or import breaks the direction of the house: translator -> dsl <- autotune, composition in python/native; the floors
of Python (python_floors.py)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import python_floors

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("dsl", "translator", "autotune", "python/native")
# Which of our folders a folder may include, and which outside headers are reserved for which files.
MAY_INCLUDE = {
    "dsl/runtime": ("dsl/runtime", "dsl/base"),
    "dsl": ("dsl",),
    "translator/ir": ("translator/ir", "dsl"),
    "translator/ops": ("translator/ops", "translator/ir", "dsl"),
    "translator/loops": ("translator/loops", "translator/ir", "dsl"),
    "translator/passes": ("translator/passes", "translator/loops", "translator/ir", "translator/translate.h", "dsl"),
    "translator": ("translator", "dsl"),
    "autotune": ("autotune", "dsl"),
    "python/native/face": (
        "python/native/face",
        "dsl/runtime",
        "dsl/base",
        "translator/ir/op.h",
    ),  # which is a table alone
    "python/native": ("python/native", "dsl", "translator", "autotune"),
}
RESERVED = {
    "Halide.h": ("dsl/", "translator/"),
    "sqlite3.h": ("autotune/store/",),
    "pybind11": ("python/native/",),
    "Python.h": ("python/native/face/",),
    "numpy/": ("python/native/face/",),
}
FORBIDDEN = {"Halide.h": ("dsl/runtime/", "dsl/language/")}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path: str) -> str:
    """The most specific folder of MAY_INCLUDE that holds `path`."""
    return max((room for room in MAY_INCLUDE if path.startswith(room + "/")), key=len)


def problems_of(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    room = room_of(name)
    found = []
    for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
        header = match.group(2)
        ours = header.startswith(("dsl/", "translator/", "autotune/", "python/"))
        if ours and not any(f"{header}/".startswith(allowed + "/") for allowed in MAY_INCLUDE[room]):
            found.append(f"{name} includes {header}: {room} may include only {', '.join(MAY_INCLUDE[room])}.")
        for reserved, places in RESERVED.items():
            if header.startswith(reserved) and not name.startswith(places):
                found.append(f"{name} includes {header}: that is for {', '.join(places)}.")
        for forbidden, places in FORBIDDEN.items():
            if header == forbidden and name.startswith(places):
                found.append(f"{name} includes {header}: that is not for {', '.join(places)}.")
    return found


def main() -> int:
    problems = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c"):
                problems += problems_of(path)
    problems += python_floors.problems(ROOT / "python/tilewright")
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
