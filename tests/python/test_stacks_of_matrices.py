"""Products of stacks of matrices: by the BLAS that NumPy has loaded and by loops, as NumPy broadcasts and lays them out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tilewright.builder import default_schedule
from tilewright.native import compiler

pytestmark = pytest.mark.compile

SETTINGS = settings(max_examples=examples(12), deadline=None)
CONTRACTS = ["numpy", "reproducible", "fast"]


def plain(a, b):
    return a @ b


def by_transposed(a, b):
    return a @ b.mT


def of_transposed(a, b):
    return np.matmul(a.swapaxes(-1, -2), b)


def of_all(a, b):
    return a[:, None] @ b[None]


def of_sums(a, b):
    return (a + 1) @ (b * 2).mT + 1


FUNCTIONS = {f.__name__: f for f in (plain, by_transposed, of_transposed, of_all, of_sums)}


def shapes_of(name: str, stacks: Any, m: int, k: int, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    left = (k, m) if name == "of_transposed" else (m, k)
    right = (n, k) if name in ("by_transposed", "of_sums") else (k, n)
    return (*stacks[0], *left), (*stacks[1], *right)


def laid_out(a: Any, layout: str) -> Any:
    """The same numbers in other places of memory."""
    if layout == "c" or a.ndim == 0:
        return a
    if layout == "f":
        return np.asfortranarray(a)
    if layout == "turned":  # each matrix in Fortran's order
        return np.ascontiguousarray(a.mT).mT
    if layout == "reversed":
        turned = tuple(slice(None, None, -1) for _ in a.shape)
        return np.ascontiguousarray(a[turned])[turned]
    if layout == "stack reversed":
        return np.ascontiguousarray(a[::-1])[::-1]
    if layout == "strided":
        return np.repeat(np.repeat(a, 2, -1), 3, 0)[::3, ..., ::2]
    if layout == "gaps":
        wide = np.zeros((*(n + 1 for n in a.shape[:-2]), a.shape[-2] + 2, a.shape[-1] + 3), a.dtype)
        part = wide[tuple(slice(0, n) for n in a.shape)]
        part[...] = a
        return part
    if layout == "moved":  # the stack's axes in another order
        axes = (*reversed(range(a.ndim - 2)), a.ndim - 2, a.ndim - 1)
        return np.ascontiguousarray(a.transpose(axes)).transpose(np.argsort(axes))
    if layout == "inside":  # the stack between rows and columns
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, -2, 0)), 0, -2)
    if layout == "unaligned":
        memory = np.zeros(a.nbytes + 1, np.uint8)
        moved = memory[1:].view(a.dtype).reshape(a.shape)
        moved[...] = a
        return moved
    assert layout == "broadcast"
    return np.broadcast_to(a[:1], a.shape)


LAYOUTS = [
    "c",
    "f",
    "turned",
    "reversed",
    "stack reversed",
    "strided",
    "gaps",
    "moved",
    "inside",
    "unaligned",
    "broadcast",
]
STACKS = [((3,), (3,)), ((3,), ()), ((), (3,)), ((1,), (4,)), ((4,), (1,)), ((2, 3), (3,)), ((2, 1), (3,)), ((2, 3), (2, 3)),
          ((2, 3), (1, 1)), ((2, 1), (1, 4)), ((0,), (0,)), ((0,), (1,)), ((2, 0), ()), ((1,), (1,)), ((), ()), ((2, 3), (2, 1))]  # fmt: skip


def close(ours: Any, theirs: Any, a: Any, b: Any) -> None:
    """What another order of the sums may give."""
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype and ours.flags.c_contiguous
    eps = np.finfo(theirs.dtype).eps
    most = (np.abs(a).max(initial=0) + 1) * (np.abs(b).max(initial=0) + 1) * 2
    np.testing.assert_allclose(ours, theirs, rtol=1e3 * eps, atol=16 * eps * most * max(a.shape[-2:]))


def with_variant(function: Any, variant: str, *args: Any, **options: Any) -> Any:
    """Compiled anew, and by the library or by loops whatever the sizes."""
    compiled = tilewright.jit(strict=True, **options)(function)
    specialization = compiled.for_args(*args)
    request = specialization.request(specialization.example)
    known = {choice["name"]: choice["options"] for choice in compiler().variants(request.program, request.options())}
    if variant in known.get("matmul", ()):  # by a vector it is a sum of products
        specialization.choose_variants({"matmul": variant})
        specialization.schedule = default_schedule(specialization.request(specialization.example))
    return compiled


@SETTINGS
@given(
    name=st.sampled_from(list(FUNCTIONS)),
    stacks=st.sampled_from(STACKS),
    sizes=st.tuples(*[st.sampled_from([0, 1, 2, 3, 5, 17])] * 3),
    layouts=st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
    dtype=st.sampled_from(["float32", "float64"]),
    variant=st.sampled_from(["", "blas", "loops"]),
)
@example(name="plain", stacks=((3,), (3,)), sizes=(5, 7, 4), layouts=("c", "c"), dtype="float32", variant="blas")
@example(
    name="plain", stacks=((2, 3), (2, 1)), sizes=(5, 7, 4), layouts=("moved", "inside"), dtype="float64", variant="blas"
)
@example(name="plain", stacks=((3,), ()), sizes=(5, 7, 4), layouts=("c", "turned"), dtype="float64", variant="blas")
@example(
    name="of_all", stacks=((2,), (3,)), sizes=(5, 7, 4), layouts=("gaps", "reversed"), dtype="float64", variant="blas"
)
def test_products_are_numpys(*, name: str, stacks: Any, sizes: Any, layouts: Any, dtype: str, variant: str) -> None:
    rng = np.random.default_rng(len(name) + sum(sizes))
    a, b = (
        laid_out(rng.normal(size=shape).astype(dtype), layout if shape else "c")
        for shape, layout in zip(shapes_of(name, stacks, *sizes), layouts, strict=True)
    )
    if name == "of_all" and not (a.ndim == b.ndim == 3):
        return
    function = FUNCTIONS[name]
    close(with_variant(function, variant, a, b)(a, b), function(a, b), a, b)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_contracts(contract: str) -> None:
    a, b = (np.random.default_rng(s).normal(size=(6, 90, 100)) for s in (1, 2))
    compiled = tilewright.jit(strict=True, contract=contract)(by_transposed)
    specialization = compiled.for_args(a, b)
    close(compiled(a, b), by_transposed(a, b), a, b)
    request = specialization.request(specialization.example)
    [choice] = compiler().variants(request.program, request.options())
    assert choice["options"] == (["loops"] if contract == "reproducible" else ["blas", "loops"])
    in_loops = with_variant(by_transposed, "loops", a, b, contract=contract)(a, b)
    with tilewright.threads(1):
        np.testing.assert_array_equal(with_variant(by_transposed, "loops", a, b, contract=contract)(a, b), in_loops)


def test_bits_do_not_depend_on_threads() -> None:
    for shape in ((40, 20, 30), (3, 200, 210), (5, 90, 700)):
        a = np.random.default_rng(1).normal(size=shape)
        compiled = with_variant(by_transposed, "blas", a, a)
        whole = compiled(a, a)
        for threads in (1, 2, 3):
            with tilewright.threads(threads):
                np.testing.assert_array_equal(compiled(a, a), whole)


@pytest.mark.parametrize("variant", ["blas", "loops"])
def test_into_arrays(variant: str) -> None:
    def into(a, b, c):
        np.matmul(a, b, out=c)
        c += 1

    def on_itself(a, b):
        a[...] = a @ b
        np.matmul(a, a, out=b)

    def shifted(a, b):
        a[1:] = a[:-1] @ b[1:]

    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 5, 6, 6))
    for function, args in ((into, (a, b, np.zeros((5, 6, 6)))), (into, (a, b, np.zeros((5, 6, 6), order="F"))), (on_itself, (a, b)),
                           (on_itself, (a.mT, b[::-1])), (shifted, (a, b))):  # fmt: skip
        ours, theirs = ([np.array(x, copy=True, order="K") for x in args] for _ in range(2))
        function(*theirs)
        with_variant(function, variant, *ours)(*ours)
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)
    # What shares memory is NumPy's.
    both = [rng.normal(size=(5, 6, 6)) for _ in range(2)]
    both[1][...] = both[0]
    compiled = tilewright.jit(into)
    into(both[0], both[0].mT, both[0])
    compiled(both[1], both[1].mT, both[1])
    np.testing.assert_allclose(both[0], both[1], rtol=1e-10)


def test_large_stacks_take_the_library() -> None:
    def plan_of(function: Any, *args: Any) -> str:
        specialization = tilewright.jit(strict=True)(function).for_args(*args)
        if not specialization.versions:
            specialization.add_version(specialization.example)
        return specialization.versions[0].build.plan

    small, middle, large = (np.ones((2, n, n), np.float32) for n in (8, 100, 400))
    assert "library" not in plan_of(plain, small, small) + plan_of(plain, middle, middle) + plan_of(
        by_transposed, small, small
    )
    # No copies: the library is told how matrices lie.
    assert "library matmul (a, b, matmul)\n" in plan_of(plain, large, large)
    assert "library matmul (a, b^021, matmul)\n" in plan_of(by_transposed, middle, middle)
    assert "library matmul (a^0n12, b^n012, matmul)\n" in plan_of(of_all, large, large)
    assert "library matmul (a, b, matmul)\n" in plan_of(plain, large, large.mT)
    assert "library matmul (a, b, matmul)\n" in plan_of(plain, large, large[0])


def test_products_that_raise() -> None:
    compiled = tilewright.jit(plain)
    for shapes in [((2, 3, 4), (2, 5, 3)), ((2, 3, 4), (3, 4, 3)), ((2, 3, 4), (5,)), ((2, 2, 3, 4), (3, 4, 2))]:
        a, b = (np.ones(s) for s in shapes)
        with pytest.raises(ValueError) as theirs:  # noqa: PT011
            plain(a, b)
        with pytest.raises(ValueError) as ours:  # noqa: PT011
            compiled(a, b)
        assert str(ours.value) == str(theirs.value)


def test_many_axes_and_other_dtypes() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 1, 2, 1, 2, 1, 3, 4)), rng.normal(size=(1, 2, 1, 2, 1, 2, 4, 3))
    close(with_variant(plain, "blas", a, b)(a, b), a @ b, a, b)
    for dtype in ("int8", "uint32", "bool", "complex64", "complex128"):
        a, b = (rng.integers(0, 3, s).astype(dtype) for s in ((3, 4, 5), (3, 5, 2)))
        np.testing.assert_array_equal(tilewright.jit(strict=True)(plain)(a, b), a @ b)
    mixed = rng.normal(size=(3, 4, 5)).astype(np.float32), rng.normal(size=(5, 2))
    close(tilewright.jit(strict=True)(plain)(*mixed), plain(*mixed), *mixed)
    whole = rng.integers(0, 9, (3, 4, 5)), rng.normal(size=(5, 2))
    close(tilewright.jit(strict=True)(plain)(*whole), plain(*whole), *whole)


def any_of_product(a: Any) -> Any:
    return np.matmul(a, a.T).any(axis=1)


def test_stacks_whose_sizes_are_all_the_same() -> None:
    compiled = tilewright.jit(strict=True)(any_of_product)
    for size in (2, 3):
        a = np.random.default_rng(size).integers(0, 2, (size, size, size)).astype(float)
        np.testing.assert_array_equal(compiled(a), any_of_product(a))


C_PROGRAM = """
#include <stdio.h>
#include "kernels.h"
static double a[7][90][100], b[7][90][100], c[7][90][90];
int main(void) {
    for (int i = 0; i < 7 * 90 * 100; ++i) a[0][0][i] = i % 7, b[0][0][i] = i % 5;
    struct tw_array A = tw_contiguous(a, TW_FLOAT64, 3, (int64_t[]){7, 90, 100});
    struct tw_array B = tw_contiguous(b, TW_FLOAT64, 3, (int64_t[]){7, 90, 100});
    struct tw_array C = tw_contiguous(c, TW_FLOAT64, 3, (int64_t[]){7, 90, 90});
    if (by_transposed(&A, &B, &C) != TW_OK) { puts(tw_last_error()); return 1; }
    int differ = 0;
    for (int s = 0; s < 7; ++s)
        for (int i = 0; i < 90; ++i)
            for (int j = 0; j < 90; ++j) {
                double sum = 0;
                for (int k = 0; k < 100; ++k) sum += a[s][i][k] * b[s][j][k];
                differ += sum != c[s][i][j];
            }
    printf("%d of 56700 differ\\n", differ);
}
"""


def test_a_module_and_its_c_library(tmp_path: Path) -> None:
    a, b = (np.random.default_rng(s).normal(size=(7, 90, 100)) for s in (1, 2))
    compiled = tilewright.jit(by_transposed, strict=True)
    compiled(a, b)
    compiled.export(tmp_path / "stacks", targets=("x86-64",))
    evidence = json.loads((tmp_path / "stacks" / "evidence.json").read_text())
    assert "matmul" in json.dumps(evidence)
    np.savez(tmp_path / "arrays.npz", a=a, b=b, c=a @ b.mT)
    code = f"""if True:
        import sys
        sys.modules["tilewright"] = None
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np
        from stacks import by_transposed
        a, b, c = np.load({str(tmp_path / "arrays.npz")!r}).values()
        np.testing.assert_allclose(by_transposed(a, b), c, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(by_transposed(a[::-1], np.asfortranarray(b)), a[::-1] @ b.mT, rtol=1e-10, atol=1e-12)
        print("as NumPy")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "as NumPy\n", done.stderr
    # Without NumPy there is no BLAS: loops of the runtime's own.
    (tmp_path / "main.c").write_text(C_PROGRAM)
    folder = tmp_path / "stacks"
    command = ["gcc", "-o", "main", "main.c", f"-I{folder}", f"-L{folder}", "-lkernels", "-lpthread", "-ldl", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == "0 of 56700 differ\n"
    )


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="this NumPy has no matvec")
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32"])
def test_vectors_of_stacks(dtype: str) -> None:
    def both(a, x, y):
        return np.matvec(a, x), np.vecmat(y, a)

    compiled = tilewright.jit(strict=True)(both)
    rng = np.random.default_rng(7)
    for of_a, of_x, of_y in [
        ((4, 3), (3,), (4,)),
        ((3, 4, 3), (3, 3), (3, 4)),
        ((4, 3), (5, 3), (2, 1, 4)),
        ((2, 1, 3, 3), (5, 3), (3,)),
    ]:
        a, x, y = (rng.integers(-9, 9, s).astype(dtype) for s in (of_a, of_x, of_y))
        if dtype == "complex128":
            a, x, y = a + 1j, x * 1j + 2, y - 3j
        for ours, theirs in zip(compiled(a, x, y), both(a, x, y), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
