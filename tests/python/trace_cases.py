"""How the trace tests compare: the program's text, run by the oracle, against the function itself, bit for bit."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tilewright import _face
from tilewright.debug.oracle import CheckFailed, GuardFailed, evaluate
from tilewright.native import compiler
from tilewright.result_forms import finisher
from tilewright.symbolic.stages import functions_of
from tilewright.trace import Traced, trace


def run_program(traced: Traced, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """The result of a call as the program has it, in the structure that the function returns."""
    stages = functions_of(traced.stages)
    leaves = evaluate(traced.program_text, traced.inputs(args, kwargs or {}), stages) if traced.program_text else ()
    return _face.finished(finisher(traced.results), leaves if isinstance(leaves, tuple) else (leaves,), ())


def same_bits(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same_bits(a, b)
        return
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            same_bits(got[key], expected[key])
        return
    if not isinstance(expected, (np.ndarray, np.generic)):
        assert type(got) is type(expected) and (got == expected or repr(got) == repr(expected) == "nan")
        return
    a, b = np.asarray(got), np.asarray(expected)
    assert a.dtype == b.dtype, f"{a.dtype} is not {b.dtype}"
    assert a.shape == b.shape, f"{a.shape} is not {b.shape}"
    if a.dtype.kind == "c":
        for part in ("real", "imag"):
            same_bits(getattr(a, part), getattr(b, part))
    elif a.dtype.kind == "f":
        nan = np.isnan(b)
        assert (np.isnan(a) == nan).all()
        kind = f"u{a.dtype.itemsize}"
        bits_a, bits_b = np.ascontiguousarray(a).view(kind), np.ascontiguousarray(b).view(kind)
        # A NaN is a NaN: NumPy's own choice of payload depends on vector width.
        assert (nan.reshape(bits_a.shape) | (bits_a == bits_b)).all(), f"{a} is not {b}"
    else:
        assert (a == b).all(), f"{a} is not {b}"


def close(got: Any, expected: Any, dtype: Any = np.float64) -> None:
    tolerance = 1e-5 if np.dtype(dtype) == np.float32 else 1e-12
    assert np.asarray(got).dtype == np.asarray(expected).dtype and np.shape(got) == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def well_formed(text: str) -> None:
    """The compiler's own reader takes the text, it keeps to the rules, and is printed as it reads."""
    compiler().verify_program(text)
    printed = compiler().canonical_program(text)
    assert compiler().canonical_program(printed) == printed
    assert len(printed.splitlines()) == len(text.splitlines())


def check(
    function: Callable[..., Any],
    *args: Any,
    others: Sequence[Sequence[Any]] = (),
    compare: Any = same_bits,
    **kwargs: Any,
) -> Traced:
    """Trace one call; the program answers it, and each of `others` that its guards admit, as NumPy does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        traced = trace(function, args, kwargs)
        assert traced.matches(args, kwargs)
        if traced.program_text:
            well_formed(traced.program_text)
        for call in (args, *others):
            if traced.matches(call, kwargs):
                mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
                try:
                    got = run_program(traced, mine, kwargs)
                except CheckFailed:
                    # NumPy runs it; nothing may have been written.
                    same_bits(
                        [a for a in mine if isinstance(a, np.ndarray)], [a for a in theirs if isinstance(a, np.ndarray)]
                    )
                    continue
                compare(got, function(*theirs, **kwargs))
                # What it writes into its arguments, too.
                for a, b in zip(mine, theirs, strict=True):
                    if isinstance(b, np.ndarray):
                        compare(a, b)
                    elif isinstance(b, (list, tuple, dict)):
                        same_bits(a, b)
    return traced


def raises_like_numpy(function: Callable[..., Any], *args: Any) -> None:
    """What NumPy raises for a call, the trace raises, class and all."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception as error:
            expected = error
        else:
            raise AssertionError("NumPy accepts it")
        try:
            trace(function, args)
        except Exception as error:
            assert isinstance(error, type(expected)) or isinstance(expected, type(error)), (
                f"{error!r}, not {expected!r}"
            )
        else:
            raise AssertionError(f"the trace accepts what raises {expected!r}")


__all__ = ["CheckFailed", "GuardFailed", "check", "close", "raises_like_numpy", "run_program", "same_bits", "trace"]
