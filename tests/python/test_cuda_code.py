"""PTX of every elementwise operation: it compiles, and holds nothing that changes a bit. No device is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tilewright.native import compiler

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
FLOATS = ["float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]
UNARY = ["negative", "positive", "absolute", "sign", "sqrt", "square", "reciprocal", "isnan", "isinf", "isfinite",
         "signbit", "logical_not", "invert", "floor", "ceil", "trunc", "rint"]  # fmt: skip
BINARY = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "equal", "not_equal", "less", "less_equal",
          "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
          "bitwise_xor", "left_shift", "right_shift", "maximum", "minimum", "fmax", "fmin", "copysign"]  # fmt: skip
ELEMENTARY = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh",
              "arcsin", "arccos", "arctan", "cbrt"]  # fmt: skip

# A product and a sum in one, subnormal numbers taken for zero, approximations, and operations that leave their rounding
# to the driver, which may then contract them.
LARGE = ["sin", "cos", "tan"]  # of large arguments these call the library, which has its own ways
FORBIDDEN = re.compile(r"\bfma\.|\.ftz|\.approx|\b(add|sub|mul|div|sqrt|mad)\.f(32|64)\b|\.full\b|call")


def loop_of(name: str, dtype: str, arity: int) -> str | None:
    """The result's dtype where NumPy has a loop that takes `dtype` as it is."""
    try:
        resolved = getattr(np, name).resolve_dtypes((np.dtype(dtype),) * arity + (None,))
    except TypeError:
        return None
    if any(loop != np.dtype(dtype) for loop in resolved[:-1]):
        return None
    return str(resolved[-1])


def program_of(line: str, dtypes: list[str]) -> str:
    arguments = "".join(f"arg {name}: {dtype}[x.0]\n" for name, dtype in zip("xyz", dtypes, strict=False))
    return f"tilewright-program 1\nfunction f\n{arguments}v: {line}\nreturn (v,)\n"


def device_code(program: str, schedule: str = "v.gpu_tile(i, io, ii, 128)", isa: str = "cuda") -> str:
    text = f"tilewright-schedule 1\nschedule f for {isa}\n{schedule}\n"
    kernels = compiler().build(program, {}, text, isa, assembly=True)["kernels"]
    assert len(kernels) == 1
    return str(kernels[0]["assembly"])


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


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_operations_are_exact(dtype: str, tmp_path: Path) -> None:
    lines = [(f"{out}[x.0] = {name}(x)", [dtype]) for name in UNARY if (out := loop_of(name, dtype, 1))]
    lines += [(f"{out}[x.0] = {name}(x, y)", [dtype] * 2) for name in BINARY if (out := loop_of(name, dtype, 2))]
    lines += [(f"{dtype}[x.0] = where(x, y, z)", ["bool", dtype, dtype])]
    lines += [(f"{to}[x.0] = cast(x)", [dtype]) for to in DTYPES]
    failures = []
    for line, dtypes in lines:
        try:
            check(device_code(program_of(line, dtypes)), tmp_path)
        except Exception as error:  # all that fail in one message
            failures.append(f"{line}: {error}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("dtype", FLOATS)
def test_elementary_functions(dtype: str, tmp_path: Path) -> None:
    failures = []
    for line in [*(f"{dtype}[x.0] = {name}(x)" for name in [*ELEMENTARY, *LARGE]), f"{dtype}[x.0] = arctan2(x, y)",
                 f"{dtype}[x.0] = hypot(x, y)", f"{dtype}[x.0] = power(x, y)"]:  # fmt: skip
        try:
            large = any(f" {name}(" in line for name in LARGE)
            check(device_code(program_of(line, [dtype, dtype])), tmp_path, library=large)
        except Exception as error:
            failures.append(f"{line}: {error}")
    assert not failures, "\n\n".join(failures)
