"""Fails where clang-format, ruff or mypy would change or refuse something. Tools that are not installed are named, and fail too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (".ci", "benchmarks", "cmake", "python", "tests")


def sources() -> list[str]:
    return sorted(
        str(path)
        for folder in ("dsl", "translator", "autotune", "python/native", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".h", ".cpp", ".c")
    )


def run(*command: str) -> int:
    if shutil.which(command[0]) is None and not Path(command[0]).exists():
        print(f"{command[0]} is not installed: sh .ci/setup --tests installs it.")
        return 1
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    python = sys.executable
    return max(
        run("clang-format", "--dry-run", "-Werror", *sources()),
        run(python, "-m", "ruff", "check", "-q", *PYTHON),
        run(python, "-m", "ruff", "format", "--check", "-q", *PYTHON),
        run(python, "-m", "mypy", "--no-error-summary"),
    )


if __name__ == "__main__":
    sys.exit(main())
