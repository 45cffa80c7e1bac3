"""np.einsum as products of matrices, sums of products and products of elements."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from from_text import function_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

KERNELS = [
    "ij,jk->ik", "ij,kj", "ij,jk,kl->il", "bhqd,bhkd->bhqk", "ij,ij->i", "ij,ij->", "i,i->", "i,j->ij", "ij->j", "ijk->",
    "...ij,...jk->...ik", "...i,i->...", "ijk,jil->kl", "ij,j->i", "i,ij,j->", "ijk,ijk->k", "ij,kl->ijkl", "ij,ik->jk",
    "bij,bjk,bkl->bil", "ij,kj,lj->ikl", "aij,bij->ab", "ij,i->ji", "kij,kl->lij",
    "ii->", "...ii->...", "iij->j", "iji->j", "ii,i->i", "ij,jj->i", "iij,jk->ik", "ii,jj->ij", "iii->",
]  # fmt: skip


def calling(subscripts: str, count: int, options: str = "") -> Any:
    names = ", ".join("abc"[:count])
    return function_of(f"def f({names}):\n    return np.einsum({subscripts!r}, {names}{options})\n")


COMPILED = {text: tilewright.jit(calling(text, text.count(",") + 1), strict="kernels") for text in KERNELS}


def operands(text: str, sizes: dict[str, int], dtype: Any, rng: Any, order: str) -> list[Any]:
    made = []
    for term in text.partition("->")[0].split(","):
        shape = [*[3] * ("..." in term), *(sizes[name] for name in term.replace("...", ""))]
        values = rng.integers(-9, 9, shape).astype(dtype)
        made.append(np.array(values / 4 if np.dtype(dtype).kind in "fc" else values, dtype=dtype, order=order))
    return made


@pytest.mark.parametrize("text", KERNELS)
@settings(
    max_examples=examples(4), deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    st.lists(st.sampled_from([4, 3, 2, 1, 0, 7]), min_size=12, max_size=12), st.sampled_from("dfilD"),
    st.integers(0, 99), st.sampled_from("CF"),
)  # fmt: skip
def test_what_is_multiplied_and_summed(text, extents, dtype, seed, order):
    sizes = dict(zip("abdhijklqk", extents, strict=False))
    given_arrays = operands(text, sizes, dtype, np.random.default_rng(seed), order)
    want = calling(text, len(given_arrays))(*given_arrays)
    got = COMPILED[text](*given_arrays)
    assert type(got) is type(want) and got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "f" else 1e-12, atol=1e-4 if dtype == "f" else 1e-11)


@pytest.mark.parametrize("result", ["".join(order) for order in permutations("ijk")])
def test_axes_of_the_result_in_any_order(result):
    function = calling(f"ij,jk->{result}", 2)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(tilewright.jit(function, strict="kernels")(a, b), function(a, b))


@pytest.mark.parametrize(
    ("text", "shapes", "options"),
    [
        ("ii->", [(4, 4)], ""), ("ij,ij->ij", [(1, 4), (3, 4)], ""), ("ij,jk->ik", [(2, 3), (3, 2)], ", order='F'"),
        ("ij,jk->ik", [(2, 3), (3, 2)], ", optimize=True"), ("i,ij->j", [(3,), (3, 2)], ", dtype=np.float64"),
        ("ij,jk->ik", [(2, 3), (3, 2)], ", out=np.empty((2, 2))"),
    ],
)  # fmt: skip
def test_options_and_what_stays_numpys(text, shapes, options):
    function = calling(text, len(shapes), options)
    arrays = [np.random.default_rng(k).random(shape) for k, shape in enumerate(shapes)]
    got, want = tilewright.jit(function, strict=True)(*arrays), function(*arrays)
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert got.dtype == want.dtype


def test_shapes_that_disagree_are_numpys_error():
    function = calling("ij,jk->ik", 2)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        tilewright.jit(function, strict=True)(np.ones((2, 3)), np.ones((4, 2)))


@pytest.mark.parametrize("text", ["ii->i", "iij->ij", "iij->ji", "...ii->...i", "iii->i"])
def test_diagonals_are_views(text):
    rank = len(text.partition("->")[0].replace("...", "k"))
    x = np.arange(3.0**rank).reshape((3,) * rank)
    looks, adds = (
        calling(text, 1),
        function_of(f"def f(a):\n    d = np.einsum({text!r}, a)\n    a += 1\n    return d * 2, d\n"),
    )
    compiled = tilewright.jit(adds, strict=True)
    for _ in range(2):
        ours, theirs = x.copy(), x.copy()
        for got, want in zip(compiled(ours), adds(theirs), strict=True):
            assert np.array_equal(got, want)
            assert got.flags.writeable
        compiled(ours)[1][...] = 7
        adds(theirs)[1][...] = 7
        assert np.array_equal(ours, theirs)
    assert np.array_equal(tilewright.jit(looks)(x), looks(x))


def test_a_diagonal_is_written():
    def f(a):
        np.einsum("ii->i", a)[:] = 1
        return a * 2

    compiled = tilewright.jit(f, strict=True)
    for _ in range(2):
        ours, theirs = np.zeros((3, 3)), np.zeros((3, 3))
        assert np.array_equal(compiled(ours), f(theirs))
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("subscripts", ["ij", "ij->ij", "...", "ij->ji"])
def test_what_only_names_axes_is_a_view_and_not_the_array(subscripts):
    compiled = tilewright.jit(calling(subscripts, 1, ", optimize=False"))
    for _ in range(2):
        a = np.arange(6.0).reshape(2, 3)
        view = compiled(a)
        assert view is not a and np.shares_memory(view, a)
