"""PTX of every elementwise operation: it compiles, and holds nothing that changes a bit. No device is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from examples import one_in
from tilewright.native import compiler
from ufuncs import EXACT_BINARY, EXACT_UNARY, ROUNDED_BINARY, ROUNDED_UNARY, loop_of

pytestmark = pytest.mark.compile

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
FLOATS = ["float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]
TRIED = ["bool", *(f"{sign}int{bits}" for sign, bits in one_in(2, ["", "u"], [8, 16, 32, 64])), *FLOATS]

# A product and a sum in one, subnormal numbers taken for zero, approximations, and operations that leave their rounding
# to the driver, which may then contract them.
LARGE = ["sin", "cos", "tan"]  # of large arguments these call the library, which has its own ways
FORBIDDEN = re.compile(r"\bfma\.|\.ftz|\.approx|\b(add|sub|mul|div|sqrt|mad)\.f(32|64)\b|\.full\b|call")


def device_code(lines: list[str], dtypes: list[str], isa: str = "cuda") -> str:
    """Of one program with a kernel for each line, which costs hardly more than a program with one."""
    arguments = "".join(f"arg {name}: {dtype}[x.0]\n" for name, dtype in zip("xyz", dtypes, strict=False))
    names = [f"v{number}" for number in range(len(lines))]
    values = "".join(f"{name}: {line}\n" for name, line in zip(names, lines, strict=True))
    program = (
        f"tilewright-program 1\nfunction f\n{arguments}{values}return ({''.join(f'{name}, ' for name in names)})\n"
    )
    schedule = "".join(f"{name}.gpu_tile(i, io, ii, 128)\n" for name in names)
    kernels = compiler().build(
        program, {}, f"tilewright-schedule 1\nschedule f for {isa}\n{schedule}", isa, assembly=True
    )["kernels"]
    assert len(kernels) == 1
    code = str(kernels[0]["assembly"])
    assert code.count(".entry") == len(lines)
    return code


def assembles(code: str, folder: Path, arch: str = "sm_90") -> None:
    """By ptxas, where there is one."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return
    source = folder / "kernel.ptx"
    source.write_text(code)
    done = subprocess.run(
        [ptxas, f"-arch={arch}", str(source), "-o", "/dev/null"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr + code


def check(code: str, folder: Path, library: bool = False) -> None:
    bad = [] if library else [line for line in code.splitlines() if FORBIDDEN.search(line)]
    assert not bad, "\n".join([*bad, code])
    assembles(code, folder)


def failures_of(lines: list[str], dtypes: list[str], folder: Path, library: bool = False) -> list[str]:
    """All at once; where that fails, each alone, so that those that do are named."""
    try:
        check(device_code(lines, dtypes), folder, library)
    except Exception as error:
        if len(lines) == 1:
            return [f"{lines[0]}: {error}"]
        alone = [failure for line in lines for failure in failures_of([line], dtypes, folder, library)]
        return alone or [f"only together: {error}"]
    return []


@pytest.mark.parametrize("dtype", TRIED)
def test_elementwise_operations_are_exact(dtype: str, tmp_path: Path) -> None:
    of_one = [f"{out}[x.0] = {name}(x)" for name in EXACT_UNARY if (out := loop_of(name, dtype, 1))]
    of_one += [f"{to}[x.0] = cast(x)" for to in DTYPES]
    of_two = [f"{out}[x.0] = {name}(x, y)" for name in EXACT_BINARY if (out := loop_of(name, dtype, 2))]
    failures = failures_of(of_one, [dtype], tmp_path) + failures_of(of_two, [dtype] * 2, tmp_path)
    failures += failures_of([f"{dtype}[x.0] = where(x, y, z)"], ["bool", dtype, dtype], tmp_path)
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("dtype", FLOATS)
def test_elementary_functions(dtype: str, tmp_path: Path) -> None:
    of_two = [f"{dtype}[x.0] = {name}(x, y)" for name in ROUNDED_BINARY]
    failures = failures_of(
        [f"{dtype}[x.0] = {name}(x)" for name in ROUNDED_UNARY if name not in LARGE], [dtype], tmp_path
    )
    failures += failures_of([f"{dtype}[x.0] = {name}(x)" for name in LARGE], [dtype], tmp_path, library=True)
    failures += failures_of(of_two, [dtype] * 2, tmp_path)
    assert not failures, "\n\n".join(failures)
