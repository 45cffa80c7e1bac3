"""Fails where clang-tidy finds a mistake in the C++ files that differ from main (.clang-tidy has the checks); `--all`: in each one, which takes many minutes.

Flags are given here, so that no build is needed. Says so where clang-tidy is missing, and passes: it is no part of the set-up.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("dsl", "translator", "autotune", "python/native")


def changed(base: str) -> list[str]:
    """Sources that differ from where this branch left `base`, those that git does not know yet among them."""
    words = ["git", "-C", str(ROOT)]
    start = subprocess.run([*words, "merge-base", "HEAD", base], capture_output=True, text=True, check=False)
    if start.returncode:
        return []
    differ = [*words, "diff", "--name-only", "--diff-filter=d", start.stdout.strip(), "--", *FOLDERS]
    new = [*words, "ls-files", "-o", "--exclude-standard", *FOLDERS]
    return sorted(
        name
        for command in (differ, new)
        for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        if name.endswith(".cpp")
    )


def flags() -> list[str]:
    found = ["-std=c++20", "-fPIC", f"-I{ROOT}", f"-isystem{sysconfig.get_path('include')}"]
    for package, folder in (("halide", "include"), ("pybind11", "include"), ("numpy", "_core/include")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found.append(f"-isystem{Path(spec.origin).parent / folder}")
    return found


def mistakes(file: str) -> str:
    """What clang-tidy finds in one file, each finding with the lines that show it."""
    command = ["clang-tidy", "--quiet", file, "--", *flags()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.split(r"^(?=\S+:\d+:\d+: (?:error|warning): )", done.stdout, flags=re.M)
    # clang before 16 does not know that lambdas of C++20 may take structured bindings.
    return "".join(one for one in found if "reference to local binding" not in one)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--base", default="main")
    arguments = parser.parse_args()
    if shutil.which("clang-tidy") is None:
        print("clang-tidy is not installed: C++ is not checked by it.")
        return 0
    every = (path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.cpp"))
    files = sorted(every) if arguments.all else changed(arguments.base)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = [said for said in pool.map(mistakes, files) if said]
    print(*found, sep="\n", end="")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
