"""Puts the compiled parts of the tilewright that is installed beside this tree's Python, and this tree in place of it: edits of Python count at once.
Run by .ci/setup --in-place and --wheel."""

import shutil
import sys
import sysconfig
from pathlib import Path

TREE = Path(__file__).resolve().parents[1] / "python" / "tilewright"
STUBS = ("_native.pyi", "_face.pyi")
COMPILED = ("_native*.so", "_face*.so", "tilewright-worker", "lib")


def main() -> int:
    packages = Path(sysconfig.get_path("platlib"))
    installed = packages / "tilewright"
    for stub in STUBS:
        if (installed / stub).read_bytes() != (TREE / stub).read_bytes():
            print(f"{stub}: the wheel's extension has another interface than this tree. Build a later wheel.")
            return 1
    for pattern in COMPILED:
        for old in TREE.glob(pattern):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for new in installed.glob(pattern):
            shutil.move(new, TREE / new.name)
    shutil.rmtree(installed)
    (packages / "tilewright_source.pth").write_text(f"{TREE.parent}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
