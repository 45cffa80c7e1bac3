"""Answers questions about devices in a process of its own: `python device_worker.py`, one JSON request a line, one JSON answer a line.

    {"ask": "case", "name": "unary float64", "seed": 0}     its calls on the device beside NumPy's
    {"ask": "compile", "name": ...}                         its PTX, without a device
    {"ask": "graph", "name": ..., "library": "torch"}       its calls captured into graphs (graph_worker.py)
    {"ask": "random", "seed": 7} {"ask": "loops", "seed": 7}  a random function of random_functions.py, random_loops.py

An answer has `status` (ok, wrong, refused), `text` (what is wrong, with the function), `seconds`, `calls`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))

import tilewright
from device_cases import CASES, Case, function_of
from tilewright import decorator, specializing

Array = np.ndarray[Any, Any]
LOST = "nothing works on the device in this process any more"
# A product and a sum in one, subnormal numbers taken for zero, approximations, roundings that are left to the driver.
FORBIDDEN = re.compile(r"\bfma\.rn\.f|\.ftz|\.approx|\b(add|sub|mul|div|sqrt|mad)\.f(32|64)\b|\.full\b")


class Placed:
    """A copy of a NumPy array on the device, in the same layout: strides negative, zero, or of a slice."""

    def __init__(self, array: Array) -> None:
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 1)
        address = array.__array_interface__["data"][0]
        self._low = low
        self._bytes = tilewright.to_device(_memory(low, high) if array.size else np.zeros(1, np.uint8))
        self._strides, self.shape, self.dtype = array.strides, array.shape, array.dtype
        self._offset = address - low if array.size else 0
        self._read_only = not array.flags.writeable
        if 0 in array.strides and array.size > 1:
            self._read_only = True

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "version": 3, "strides": self._strides, "stream": 1,
            "data": (self._bytes.pointer + self._offset, self._read_only),
        }  # fmt: skip

    def back(self) -> Array:
        memory = self._bytes.copy_to_host()
        return np.ndarray(self.shape, self.dtype, memory, self._offset, self._strides)


def _memory(low: int, high: int) -> Array:
    import ctypes

    return np.frombuffer((ctypes.c_uint8 * (high - low)).from_address(low), np.uint8).copy()


def placed(values: Sequence[Any]) -> list[Any]:
    return [Placed(np.asarray(v)) if isinstance(v, (np.ndarray, np.generic)) else v for v in values]


def fetched(result: Any) -> Any:
    """A result with NumPy arrays for those on the device."""
    if isinstance(result, (tuple, list)):
        return type(result)(fetched(part) for part in result)
    if isinstance(result, Placed):
        return result.back()
    return result.copy_to_host() if hasattr(result, "copy_to_host") else result


def copied(values: Sequence[Any]) -> list[Any]:
    """Copies in the same layouts."""
    return [_same_layout(v) if isinstance(v, np.ndarray) else v for v in values]


def _same_layout(a: Array) -> Array:
    if not a.size:
        return a.copy(order="K")
    low, high = np.lib.array_utils.byte_bounds(a)
    made: Array = np.ndarray(a.shape, a.dtype, _memory(low, high), a.__array_interface__["data"][0] - low, a.strides)
    made.flags.writeable = a.flags.writeable
    return made


# ---- judges ----------------------------------------------------------------------------------------------------------


def _parts(a: Array) -> list[Array]:
    return [a.real, a.imag] if a.dtype.kind == "c" else [a]


def bits_differ(ours: Array, theirs: Array, zeros_are_equal: bool = False) -> Array:
    """Where they differ in a bit; a NaN is any other."""
    wrong = np.zeros(theirs.shape, bool)
    for a, b in zip(_parts(ours), _parts(theirs), strict=True):
        same = a == b
        if a.dtype.kind == "f":
            if not zeros_are_equal:
                same = same & (np.signbit(a) == np.signbit(b))
            same = same | (np.isnan(a) & np.isnan(b))
        wrong |= ~same
    return wrong


def ulps_off(ours: Array, true: Array) -> Array:
    """The distance from the true value, in units of the last place of the dtype; true is of a wider one."""
    rounded = true.astype(ours.dtype)
    unit = np.spacing(np.abs(rounded)).astype(true.dtype)
    with np.errstate(all="ignore"):
        off = np.abs(ours.astype(true.dtype) - true) / unit
    # Where the true value rounds to an infinity or a NaN, it has to be that one; the largest number is one unit from it.
    top = np.finfo(ours.dtype).max
    exact = ~np.isfinite(rounded)
    right = (
        (ours == rounded)
        | (np.isnan(ours) & np.isnan(rounded))
        | ((ours == np.sign(rounded) * top) & np.isinf(rounded) & np.isfinite(true))
    )
    off = np.where(exact, np.where(right, 0, np.inf), off)
    # An infinity where the true value is the largest number or nearly so.
    near_top = np.isinf(ours) & np.isfinite(rounded) & (np.abs(rounded) >= top * (1 - 4 * np.finfo(ours.dtype).eps))
    off = np.where(near_top & (np.sign(ours) == np.sign(rounded)), 1, off)
    off = np.where((ours == 0) & (rounded == 0), np.where(np.signbit(ours) == np.signbit(rounded), 0, np.inf), off)
    return np.asarray(off)


def _wider(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    wide = {"float32": np.float64, "float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}
    return value.astype(wide[str(value.dtype)])


def as_tuple(answer: Any) -> tuple[Any, ...]:
    return tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)


def difference(case: Case, k: int, ours: Any, theirs: Any, args: Sequence[Any]) -> str | None:
    """What is wrong with result `k`, or None."""
    if theirs is None:
        return None if ours is None else f"it is {ours!r}, not None"
    a, b = np.asarray(ours), np.asarray(theirs)
    if isinstance(theirs, (np.ndarray, np.generic)) and a.dtype != b.dtype or a.shape != b.shape:
        return f"it is {a.dtype}{a.shape}, NumPy's {b.dtype}{b.shape}"
    if not isinstance(theirs, (np.ndarray, np.generic)) and a.dtype.kind != b.dtype.kind:
        return f"it is a {type(ours).__name__}, NumPy's a {type(theirs).__name__}"
    wrong = bits_differ(a, b, case.judge in ("zeros", "sum", "near"))
    extra: Any = None
    if wrong.any() and b.dtype.kind in "fc" and case.judge in ("ulp", "sum", "near"):
        with np.errstate(all="ignore"):
            if case.judge == "ulp":
                true = np.asarray(as_tuple(function_of(case.source)(*map(_wider, args)))[k])
                extra = ulps_off(a, true)
                wrong = ~(extra <= 2)
            elif case.judge == "near":
                wrong &= ~(np.abs(a - b) <= 8 * np.finfo(b.dtype).eps * np.abs(b))
            else:
                scale = np.abs(b)
                if not case.statements:
                    absolute = [np.abs(x) if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x for x in args]
                    # What cancels is as far off as its terms are large.
                    source = case.source if case.elementary else case.source.replace(" - ", " + ")
                    scale = np.maximum(scale, np.abs(np.asarray(as_tuple(function_of(source)(*absolute))[k])))
                scale = np.maximum(scale, 1e-3 * np.max(scale[np.isfinite(scale)], initial=0))
                wrong &= ~(np.abs(a - b) <= 64 * np.finfo(b.dtype).eps * scale)
    if not wrong.any():
        return None
    at = tuple(int(n) for n in np.argwhere(wrong)[0])
    elements = [x[at] for x in args if isinstance(x, np.ndarray) and x.shape == b.shape]
    of = f" of {', '.join(map(repr, elements))}" if elements else ""
    units = (
        f" ({float(extra[at]):.3g} units from the true value; most {float(np.nanmax(extra)):.3g})"
        if extra is not None
        else ""
    )
    return f"{int(wrong.sum())} of {wrong.size} differ, at {list(at)}: {a[at]!r}, NumPy has {b[at]!r}{of}{units}"


def shown(args: Sequence[Any]) -> str:
    def one(a: Any) -> str:
        if not isinstance(a, np.ndarray):
            return repr(a)
        return f"{a.dtype}{a.shape}" + ("" if a.flags.c_contiguous else f" strides {a.strides}")

    return "f(" + ", ".join(map(one, args)) + ")"


def outcome(call: Any) -> Any:
    """(result, None) or (None, the error)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except Exception as error:  # noqa: BLE001  (whatever it raises)
            return None, error


# ---- questions -------------------------------------------------------------------------------------------------------


def run_case(case: Case, seed: int) -> dict[str, Any]:
    compiled = tilewright.jit(case.function(), strict=True)
    problems: list[str] = []
    calls = case.calls(np.random.default_rng([seed, *case.name.encode()]))
    for args in calls:
        with np.errstate(all="ignore"):
            problems += _call(case, compiled, args)
        if len(problems) >= 6:
            break
    return {"status": "wrong" if problems else "ok", "text": "\n".join(problems), "calls": len(calls)}


def _call(case: Case, compiled: Any, args: Sequence[Any]) -> list[str]:
    theirs, before = copied(args), copied(args)
    ours = placed(args)
    expected, error = outcome(lambda: case.function()(*theirs))
    got, raised = outcome(lambda: fetched(compiled(*ours)))
    where = f"{shown(args)} of\n{case.source}"
    if raised is not None and (error is None or not isinstance(raised, type(error))):
        if LOST in str(raised):
            raise raised
        return [
            f"raises {type(raised).__name__}: {raised}; NumPy {f'raises {error!r}' if error else 'answers'}: {where}"
        ]
    if error is not None:
        return [] if raised is not None else [f"answers, NumPy raises {error!r}: {where}"]
    results, wanted = as_tuple(got), as_tuple(expected)
    if len(results) != len(wanted):
        return [f"{len(results)} results, NumPy has {len(wanted)}: {where}"]
    problems = []
    for k, (r, w) in enumerate(zip(results, wanted, strict=True)):
        if problem := difference(case, k, r, w, before):
            text = case.source if case.statements else case.source_of([case.expressions[k]])
            problems.append(f"result {k}: {problem}: {shown(args)} of\n{text}")
    for k, (mine, wrote) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(mine, Placed) and bits_differ(back := mine.back(), wrote).any():
            wrong = np.argwhere(bits_differ(back, wrote))
            at = tuple(wrong[0])
            problems.append(
                f"argument {k} after the call: {len(wrong)} of {wrote.size} differ, at {list(map(int, at))}: {back[at]!r}, NumPy leaves {wrote[at]!r}: {where}"
            )
    return problems


def ptx_of(specialization: Any) -> list[str]:
    """The texts of its kernels, out of their objects."""
    texts = []
    for version in specialization.versions:
        for kernel in version.build.kernels:
            texts += [m.decode() for m in re.findall(rb"\.version [0-9.]+\s[^\0]*", kernel.object)]
    return texts


def compile_case(case: Case, seed: int) -> dict[str, Any]:
    """The PTX of its first call: there, without forbidden instructions, and assembled where ptxas is."""
    compiled = tilewright.jit(case.function(), strict=True, target="cuda")
    calls = case.calls(np.random.default_rng([seed, *case.name.encode()]))
    texts: list[str] = []
    for args in calls:  # of nothing there is no kernel
        made, error = outcome(lambda args=args: compiled.for_args(*args))
        if error is None:
            texts = ptx_of(made)
        elif not isinstance(error, type(outcome(lambda args=args: case.function()(*copied(args)))[1])):
            return {
                "status": "wrong",
                "text": f"{type(error).__name__}: {error}: {shown(args)} of\n{case.source}",
                "calls": 0,
            }
        if texts:
            break
    problems = [] if texts else [f"no kernel:\n{case.source}"]
    for text in texts:
        if not case.elementary:
            bad = [line.strip() for line in text.splitlines() if FORBIDDEN.search(line)]
            if bad:
                problems.append(f"forbidden: {'; '.join(bad[:5])} ({len(bad)} lines) in\n{case.source}")
        if problem := assembled(text):
            problems.append(f"ptxas: {problem} in\n{case.source}")
    return {"status": "wrong" if problems else "ok", "text": "\n".join(problems), "calls": len(texts)}


def assembled(text: str) -> str:
    """What ptxas says against it; nothing where there is none."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return ""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        command = [ptxas, "-arch=sm_80", "-O1", file.name, "-o", "/dev/null"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def run_random(seed: int, turns: int = 3) -> dict[str, Any]:
    from random_functions import SeededChoices, Writer, drawn_turn, perturbed_answers
    from random_functions import difference as differs

    choices = SeededChoices(seed)
    made = Writer(choices).write()
    function = function_of(made.source)
    compiled = tilewright.jit(function_of(made.source), strict=True)
    problems = []
    compared = 0
    for turn in range(turns):
        args = drawn_turn(made, choices, turn).args
        where = f"seed {seed}: {shown(args)} of\n{made.source}"
        before = copied(args)
        expected, error = outcome(lambda args=args: function(*args))
        ours = placed(args)
        got, raised = outcome(lambda ours=ours: fetched(compiled(*ours)))
        is_half = isinstance(raised, TypeError) and any(getattr(a, "dtype", None) == np.float16 for a in args)
        if isinstance(raised, (tilewright.TraceError, tilewright.TranslateError)) or is_half:
            if turn == 0:
                return {"status": "refused", "text": str(raised), "calls": 0}
            continue
        if raised is not None and LOST in str(raised):
            raise raised
        if (error is None) != (raised is None) or error is not None and not isinstance(raised, type(error)):
            problems.append(f"raises {raised!r}, NumPy {error!r}: {where}")
            continue
        compared += 1
        if error is not None:
            continue
        if any(isinstance(m, Placed) and bits_differ(m.back(), b).any() for m, b in zip(ours, before, strict=True)):
            problems.append(f"an argument was changed: {where}")
        results, wanted = as_tuple(got), as_tuple(expected)
        # A result without axes lies on the device, or is a number.
        results = tuple(np.asarray(r)[()] if np.ndim(r) == 0 else r for r in results)
        if any(differs(r, w, []) for r, w in zip(results, wanted, strict=True)):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                others = perturbed_answers(made, args)
                for k, (r, w) in enumerate(zip(results, wanted, strict=True)):
                    if problem := differs(r, w, [other[k] for other in others]):
                        problems.append(f"result {k} ({made.results[k]}): {problem}: {where}")
    return {"status": "wrong" if problems else "ok", "text": "\n".join(problems), "calls": compared}


def run_loops(seed: int) -> dict[str, Any]:
    from random_functions import SeededChoices
    from random_loops import LoopWriter, arguments

    source = LoopWriter(SeededChoices(seed)).source()
    function = function_of(source)
    compiled = tilewright.jit(function_of(source), strict=True)
    problems, compared = [], 0
    for n in (5, 8):
        args = arguments(n, seed)
        theirs, ours = copied(args), placed(args)
        got, raised = outcome(lambda ours=ours: fetched(compiled(*ours)))
        if isinstance(raised, (tilewright.TraceError, tilewright.TranslateError)):
            return {"status": "refused", "text": str(raised), "calls": 0}
        if raised is not None and LOST in str(raised):
            raise raised
        expected, error = outcome(lambda theirs=theirs: function(*theirs))
        where = f"seed {seed}, n {n}:\n{source}"
        if (error is None) != (raised is None):
            problems.append(f"raises {raised!r}, Python {error!r}: {where}")
            continue
        compared += 1
        if error is not None:
            continue
        for k, (r, w) in enumerate(zip(as_tuple(got), as_tuple(expected), strict=True)):
            if not _near(r, w):
                problems.append(f"result {k} is {r!r}, not {w!r}: {where}")
        for k, (mine, wrote) in enumerate(zip(ours, theirs, strict=True)):
            if isinstance(mine, Placed) and not _near(mine.back(), wrote):
                problems.append(f"argument {k} is {mine.back()!r} after the call, not {wrote!r}: {where}")
    return {"status": "wrong" if problems else "ok", "text": "\n".join(problems), "calls": compared}


def _near(got: Any, expected: Any) -> bool:
    if isinstance(expected, (tuple, list)):
        return len(got) == len(expected) and all(_near(a, b) for a, b in zip(got, expected, strict=True))
    a, b = np.asarray(got), np.asarray(expected)
    return a.shape == b.shape and bool(np.allclose(a.astype(float), b.astype(float), 1e-7, 1e-9, equal_nan=True))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    ask = request["ask"]
    if ask == "case":
        return run_case(CASES[request["name"]], request.get("seed", 0))
    if ask == "graph":
        from graph_worker import run_graph

        case = CASES[request["name"]]
        compiled = tilewright.jit(case.function(), strict=True)
        return run_graph(case, compiled, request["library"], request.get("seed", 0), difference)
    if ask == "compile":
        return compile_case(CASES[request["name"]], request.get("seed", 0))
    return run_random(request["seed"]) if ask == "random" else run_loops(request["seed"])


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a function prints is no answer
    # One product of matrices and short calls are NumPy's own otherwise; here everything is compiled.
    specializing.is_one_library_call = lambda _: False  # type: ignore[attr-defined]
    decorator.JitFunction._loses = lambda *_: False  # type: ignore[method-assign]
    for line in sys.stdin:
        start = time.perf_counter()
        lost = False
        try:
            made = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001  (it is the answer)
            lost = LOST in str(error)
            made = {"status": "wrong", "text": f"{line}{error}\n{traceback.format_exc()}", "calls": 0}
        made["seconds"] = time.perf_counter() - start
        answers.write(json.dumps(made) + "\n")
        answers.flush()
        if lost:
            return


if __name__ == "__main__":
    main()
