"""Fails where a stub (`_native.pyi`, `_face.pyi`) and the extension that it describes disagree, by mypy's stubtest. Says so where they are not built."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("tilewright._native", "tilewright._face")
# Types that only the stub has, for those who annotate, and what no stub can say.
ALLOWED = (r"tilewright\._face\.(Partials|TargetNames)", r"tilewright\._native\.Store")  # its metaclass is pybind11's


def main() -> int:
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{' and '.join(missing)}: not built here, so that no stub is checked.")
        return 0
    with (
        tempfile.NamedTemporaryFile("w", suffix=".txt") as allowed,
        tempfile.NamedTemporaryFile("w", suffix=".ini") as config,
    ):
        allowed.write("\n".join(ALLOWED))
        allowed.flush()
        config.write(
            "[mypy]\nfollow_imports = skip\n"
        )  # the package itself is check_format.py's, and takes most of the time
        config.flush()
        # Whether a parameter may be named is looked at by nobody: calls of the extensions are ours.
        options = ("--concise", "--ignore-positional-only", "--ignore-disjoint-bases", "--allowlist", allowed.name)
        options += ("--mypy-config-file", config.name)
        return subprocess.run(
            [sys.executable, "-m", "mypy.stubtest", *options, *MODULES],
            cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT / "python")}, check=False,
        ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
