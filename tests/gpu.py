"""Runs the tests of devices, on a machine that has one: `python tests/gpu.py`. Elsewhere it says why not, and passes.

    python tests/gpu.py                    # the C++ programs that are built, then the pytest files, in a few minutes
    python tests/gpu.py --sanitize         # fewer cases, under compute-sanitizer's memcheck and racecheck
    python tests/gpu.py --sanitize=memcheck  # under one of them
    python tests/gpu.py --sanitize --all-cases  # each case of device_cases.py
    python tests/gpu.py --build FOLDER     # where the C++ programs are (default: TILEWRIGHT_BUILD, else build/*)
    python tests/gpu.py -- -k softmax      # what follows goes to pytest

tilewright has to be importable. Seeds are printed; TILEWRIGHT_RANDOM_SEED and TILEWRIGHT_RANDOM_FUNCTIONS change them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PROGRAMS = ["tests/runtime/test_cuda_device", "tests/autotune/test_device_worker"]
# The files of pytest to run are those of that kind.
OF_DEVICES = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.device\b", re.M)
# One of each kind of kernel; a sanitizer makes each some ten times slower.
SANITIZED = ["binary float64 0", "layouts float64", "stencils", "gathers", "searches float32", "integer sums int32", "softmax float32", "products float32",
             "labels", "jacobi", "mandelbrot", "masks", "written", "large search", "large sum float32", "norms float64", "scans float64", "functions of scalars float32", "division of rows float32"]  # fmt: skip
# racecheck looks at shared memory. These have none, and it does not come to the end of their loops.
NOT_SHARED = {"mandelbrot", "pixelwise while"}
AT_ONCE = max(4, len(os.sched_getaffinity(0)) // 4)
SANITIZED_LIMIT_S = 200
LIMIT_S = 600


def main() -> int:
    arguments, rest = _arguments()
    from tilewright import _face

    why = _face.no_device_reason()
    if why:
        print(f"skipped: {why}")
        return 0
    device = _face.devices()[0]
    print(
        f"{device['name']}, {len(os.sched_getaffinity(0))} cores, seed {os.environ.get('TILEWRIGHT_RANDOM_SEED', '0')}",
        flush=True,
    )
    start = time.perf_counter()
    rows = list(
        _sanitized(arguments.sanitize.split(","), _cases(arguments.all_cases), len(_face.devices()), rest)
        if arguments.sanitize
        else _all(arguments.build, rest)
    )
    print()
    for name, outcome, seconds in rows:
        print(f"{name:45} {seconds:6.1f} s  {outcome}")
    total = time.perf_counter() - start
    print(f"{'total':45} {total:6.1f} s{'' if total < LIMIT_S else f', more than {LIMIT_S} s'}")
    return 1 if any(outcome.startswith("FAILED") for _, outcome, _ in rows) else 0


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sanitize", nargs="?", const="memcheck,racecheck", choices=["memcheck", "racecheck", "memcheck,racecheck"],
                        metavar="TOOL", help="fewer cases, under compute-sanitizer: memcheck or racecheck (default: both)")  # fmt: skip
    parser.add_argument("--all-cases", action="store_true", help="with --sanitize: not a few of them")
    parser.add_argument(
        "--build", type=Path, default=os.environ.get("TILEWRIGHT_BUILD"), help="the build with the C++ programs"
    )
    parser.add_argument("pytest", nargs="*", help="for pytest, behind --")
    arguments = parser.parse_args()
    return arguments, arguments.pytest


def _cases(every: bool) -> list[str]:
    if not every:
        return SANITIZED
    sys.path.insert(0, str(TESTS / "python"))
    sys.path.insert(0, str(TESTS / "oracle"))
    from device_cases import CASES

    return list(CASES)


def _all(build: Path | None, rest: list[str]) -> Iterator[tuple[str, str, float]]:
    folders = [Path(build)] if build else sorted((TESTS.parent / "build").glob("*"))
    for program in PROGRAMS:
        found = next((folder / program for folder in folders if (folder / program).is_file()), None)
        if found is None:
            yield Path(program).name, "skipped: it is not built here", 0.0
        else:
            yield _run(Path(program).name, [str(found), "--gtest_brief=1"])
    for file in sorted((TESTS / "python").glob("test_*.py")):
        if OF_DEVICES.search(file.read_text()):
            yield _run(file.name, [sys.executable, "-m", "pytest", "-q", "--tb=short", "-rs", *rest, str(file)])


def _sanitized(tools: list[str], cases: list[str], devices: int, rest: list[str]) -> Iterator[tuple[str, str, float]]:
    """Each case is a run of its own, some at once: one that takes too long is cut off, and the others have their word."""
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        yield "compute-sanitizer", "skipped: it is not on PATH", 0.0
        return
    runs = [
        (tool, case)
        for tool in tools
        for case in ([""] if rest else cases)
        if tool != "racecheck" or case not in NOT_SHARED
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = [
            pool.submit(_sanitized_case, sanitizer, tool, case, _device(k % devices), rest)
            for k, (tool, case) in enumerate(runs)
        ]
        for row in as_completed(started):
            name, outcome, seconds = row.result()
            print(f"{name:45} {seconds:6.1f} s  {outcome}", flush=True)
            yield row.result()


def _device(number: int) -> str:
    """As CUDA_VISIBLE_DEVICES names it."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[number] if visible else str(number)


def _sanitized_case(sanitizer: str, tool: str, case: str, device: str, rest: list[str]) -> tuple[str, str, float]:
    test = f"{TESTS / 'python' / 'test_cuda_results.py'}::test_case_answers_as_numpy"
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="tilewright-sanitize-") as folder:
        # Whether an address is the device's is asked of the driver, which calls the answer no an error.
        quiet = " --report-api-errors no" if tool == "memcheck" else ""
        environment = {
            "TILEWRIGHT_DEVICE_WORKER_COMMAND": f"{sanitizer} --tool {tool}{quiet} --log-file {folder}/%p.log",
            "TILEWRIGHT_DEVICE_POOL_MB": "0",  # its blocks would hide what goes beyond an array
            "TILEWRIGHT_DEVICE_WORKERS": "1" if case else str(AT_ONCE),
            "CUDA_VISIBLE_DEVICES": device,
        }
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *rest]
        process = subprocess.Popen(
            [*command, f"{test}[{case}]" if case else test], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **environment}, start_new_session=True)  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=SANITIZED_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            outcome = f"FAILED: not at its end within {SANITIZED_LIMIT_S} s, nothing is known"
        else:
            outcome = (printed.strip().splitlines() or ["it said nothing"])[-1]
        said = "".join(file.read_text(errors="replace") for file in sorted(Path(folder).glob("*.log")))
    summaries = re.findall(r"SUMMARY: (\d+) (?:errors?|hazards?)", said)
    found = sum(map(int, summaries))
    if process.returncode or found or not summaries:
        print(printed[-4000:], said[-4000:], sep="\n")
        outcome = outcome if outcome.startswith("FAILED") else f"FAILED: {outcome}"
    outcome = f"{outcome}; {len(summaries)} processes, {found} findings"
    return f"{tool}: {case or 'all'}", outcome, time.perf_counter() - start


def _run(name: str, command: list[str], environment: dict[str, str] | None = None) -> tuple[str, str, float]:
    print(f"--- {name}", flush=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})}
    )
    assert process.stdout is not None
    last = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        if re.search(r"\d+ (passed|failed|skipped)|PASSED|FAILED  \]", line):
            last = line.strip()
    status = process.wait()
    passed = status in (0, 5)  # 5: pytest has selected nothing
    return name, last if passed else f"FAILED ({status}): {last}", time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
