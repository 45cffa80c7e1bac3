"""Runs the checks: `python tests/presubmit`, or some of them: `python tests/presubmit lists stubs`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKS = sorted(path.stem.removeprefix("check_") for path in HERE.glob("check_*.py"))


def main() -> int:
    asked = sys.argv[1:] or CHECKS
    if unknown := sorted({*asked} - {*CHECKS}):
        print(f"presubmit: there is no check {', '.join(unknown)}; there are {', '.join(CHECKS)}.")
        return 2
    failed = []
    for check in asked:
        start = time.perf_counter()
        if subprocess.run([sys.executable, str(HERE / f"check_{check}.py")], check=False).returncode:
            failed.append(check)
        print(f"{check}: {'failed' if check in failed else 'passed'}, {time.perf_counter() - start:.1f} s", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
