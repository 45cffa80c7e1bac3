"""Each option of a NumPy call is heard or refused: out=, dtype=, casting=, axes that are bools, what comes by its place."""

from __future__ import annotations

import ast
import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
import tilewright.trace  # which imports the rules
from tilewright.ops import FUNCTIONS
from tilewright.symbolic.registry import OPERATIONS

pytestmark = pytest.mark.compile

# With: a 1 to 6; b zeros as long; C (2, 6) and D (12,) zeros; W integers (2, 6); F (6, 6), E () and G (1,) zeros.
CALLS = """
np.stack([a, b], out=C) | np.stack([a, b], 0, C) | np.stack([a, b], out=W) | np.stack([a, b], out=D)
np.stack([a, b], dtype=np.int64) | np.stack([a, b], dtype=np.int64, casting='unsafe') | np.stack([a, W[0]], casting='no')
np.concatenate([a, b], out=D) | np.concatenate([a, b], 0, D) | np.concatenate([a, b], out=C) | np.concatenate([a, a], out=a)
np.concatenate([D[6:], D[:6]], out=D) | np.concatenate([D[1:], D[:1]], out=D[::-1]) | np.concatenate([a, W[0]], out=D)
np.concatenate([a, b], axis=None, out=D) | np.concatenate([a, b], out=D, dtype=float) | np.concatenate([a, b], axis=False)
np.concatenate([a, b], dtype=np.int64) | np.concatenate([a, b], casting='no', dtype=np.float32) | np.vstack([a, b], dtype=int)
np.hstack([a, b], casting='no', dtype=np.float32) | np.concatenate([W[0], W[1]], out=D.reshape(2, 6)[0])
np.matmul(a, a, dtype=np.float32) | np.matmul(F, a, casting='no', dtype=np.float32) | np.matmul(W, F, casting='no')
np.vecdot(W, W, dtype=float) | np.matmul(F, a, out=b) | np.matmul(a, a, out=b[0]) | np.matmul(F, a, out=b.astype(np.float32))
np.zeros_like(a, None, 'C', True, (3,)) | np.full_like(a, 2, None, 'C', True, (3,)) | np.ones_like(a, np.int8, 'C', False, (2, 2))
np.zeros(3, foo=1) | np.full(3, 2, foo=1) | np.eye(3, foo=1) | np.linspace(0, 1, 5, axis=1) | np.linspace(0, 1, 5, axis=-1)
a.sum(out=b[0]) | np.dot(a, a, out=b[0]) | np.add(a[0], 1, out=b[0]) | np.sqrt(2.0, out=a[0]) | np.max(a, out=b[0])
a.mean(out=b[0]) | np.round(a[0], out=b[0]) | np.argmax(a, out=E) | np.sum(a, out=E) | np.sum(a, out=G) | np.sum(F, 0, None, b)
np.sum(F, axis=0, out=C) | np.sum(a / 3, out=E.astype(np.float32)) | np.sum(W, out=E) | np.max(F, axis=1, out=b[:1])
np.std(a, ddof=1, correction=1) | np.std(a, correction=1) | np.meshgrid(a, b, copy=False)[0] | np.round(a, out=C)
np.dot(F, a, out=C[0]) | np.dot(F, a, out=F[:, 0]) | np.dot(F, a, out=b.astype(np.float32)) | np.dot(F, a, out=C)
np.sum(F, axis=False) | np.max(F, axis=True) | np.argmax(F, axis=False) | np.mean(F, axis=True) | np.any(F, axis=(0, True))
np.average(F, axis=True) | np.count_nonzero(F, axis=True) | np.linalg.norm(F, axis=True) | np.flip(F, axis=True)
np.stack([a, b], axis=True) | np.add.reduce(F, axis=True) | np.ptp(F, axis=True) | np.std(F, axis=False)
np.clip(a, 2) | np.clip(a, a_min=2) | np.clip(a, a_max=2) | np.clip(a, 2, 4, min=1) | np.clip(a, min=2) | np.clip(a, max=4, min=2)
np.sum(F, keepdims=np.True_) | np.any(F, keepdims=np.True_) | np.std(F, axis=0, keepdims=np.True_) | np.sum(F, keepdims=None)
np.argmin(F, axis=0, keepdims=np.True_) | np.sum(F, axis=0, keepdims=True) | np.max(F, keepdims=2) | np.mean(F, axis=-1, keepdims=True)
np.argmin(F, axis=1) | np.argmax(W, axis=0, keepdims=True) | np.argmin(W) | np.meshgrid(a, a, sparse=True)[1] + 1
np.meshgrid(a, b, a, indexing='ij', sparse=True)[2] + 1 | np.logical_or(a, 2**63) | np.logical_and(a > 2, -(2**63)) | np.logical_xor(2**64, a > 2)
np.nan_to_num(a, nan=1j) | np.nan_to_num(a, nan=np.complex64(3)) | np.nan_to_num(a, nan=np.arange(3.0)) | np.nan_to_num(a / 0, posinf=W[0])
a.clip(2) | a.clip(max=2) | a.clip(2, 4, b) | a[a > 2].clip(3) | a[a > 2].clip(max=5) | a.sum().clip(2, 4) | np.clip(a, None, 4, out=b)
"""


def arguments() -> list[Any]:
    return [np.arange(6.0) + 1, np.zeros(6), np.zeros((2, 6)), np.zeros(12), np.arange(12).reshape(2, 6), np.zeros((6, 6)),
            np.zeros(()), np.zeros(1)]  # fmt: skip


def ended(function: Any, call: list[Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*call)
        except Exception as error:  # noqa: BLE001 - the same error is the same answer
            return type(error)


@pytest.mark.parametrize("text", [text.strip() for text in CALLS.strip().replace("\n", "|").split("|")])
def test_every_option_is_numpys(text: str, tmp_path: Path) -> None:
    # The call alone, and beside something that is computed.
    for returned in ("r", "r, a * 2"):
        source = f"def f(a, b, C, D, W, F, E, G):\n    r = {text}\n    return {returned}\n"
        file = tmp_path / f"made_{len(returned)}.py"
        file.write_text(source)
        space: dict[str, Any] = {"np": np}
        exec(compile(source, str(file), "exec"), space)
        mine, theirs = arguments(), arguments()
        jitted = tilewright.jit(space["f"])
        for _ in range(2):
            got, expected = ended(jitted, mine), ended(space["f"], theirs)
            if isinstance(expected, type):
                assert got is expected
                continue
            for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
                assert type(one) is type(other)
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
                np.testing.assert_array_equal(one, other)
                assert [one is a for a in mine] == [other is a for a in theirs]
            for one, other in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(one, other)


# What changes no element of a result: the class of an array, its place, the order of new memory.
HARMLESS = {"subok", "like", "device", "order"}


def test_no_rule_leaves_a_parameter_unread() -> None:
    unread = []
    for handler in {*FUNCTIONS.values(), OPERATIONS.flatten}:
        function = getattr(handler, "func", handler)  # of a partial
        tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        read = {node.id for line in tree.body for node in ast.walk(line) if isinstance(node, ast.Name)}
        names = set(inspect.signature(handler).parameters) - read - HARMLESS - {"tracer"}
        unread += [f"{function.__qualname__}: {name}" for name in names]
    assert not unread
