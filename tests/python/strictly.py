"""Compares a function compiled whole with the function itself: results of any structure, what it writes, what it draws."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import tilewright
from tilewright.decorator import JitFunction


def agree(ours: Any, theirs: Any, *, bits: bool = True) -> bool:
    """Whether two results have the same structure, types, dtypes and shapes, and the same bits, or numbers close by."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(agree(ours[key], theirs[key], bits=bits) for key in theirs)
    if isinstance(theirs, (tuple, list)):
        return len(ours) == len(theirs) and all(agree(a, b, bits=bits) for a, b in zip(ours, theirs, strict=True))
    if not isinstance(theirs, (np.ndarray, np.generic, float)):
        return bool(ours == theirs)
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if b.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    if not bits:
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
    nan = np.isnan(b)
    return bool(np.array_equal(np.isnan(a), nan) and a[~nan].tobytes() == b[~nan].tobytes())


def _state(args: tuple[Any, ...]) -> list[Any]:
    """What a call may have changed: arrays, and the generators that it drew from."""
    own = [arg.bit_generator.state if isinstance(arg, np.random.Generator) else arg for arg in args]
    return [*own, np.random.get_state(legacy=False)["state"]]


def check(function: Callable[..., Any], *args: Any, bits: bool = True, in_numpy: bool = False) -> Any:
    """Two calls compiled strictly give what NumPy gives, change what it changes, and raise what it raises.

    `in_numpy`: a check of the data sends the call to NumPy; else none may. The compiled function is given back."""
    compiled = function if isinstance(function, JitFunction) else tilewright.jit(function, strict=True)
    plain: Any = compiled.__wrapped__
    for _ in range(2):
        seed = np.random.get_state()
        theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
        expected = _outcome(plain, theirs)
        after = _state(theirs)
        np.random.set_state(seed)
        with patch.object(JitFunction, "_in_numpy", autospec=True, side_effect=JitFunction._in_numpy) as failed:
            got = _outcome(compiled, ours)
        assert agree(got, expected, bits=bits), f"{got}\nis not\n{expected}"
        assert agree(_comparable(_state(ours)), _comparable(after), bits=bits)
        assert bool(failed.call_count) == in_numpy, (
            "NumPy ran the call" if failed.call_count else "NumPy did not run the call"
        )
    return compiled


def _comparable(state: list[Any]) -> list[Any]:
    return [str(one) if isinstance(one, dict) else one for one in state]


def _outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001  (what the one raises, the other has to raise)
        return (type(error).__name__, str(error))
