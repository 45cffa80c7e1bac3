"""Arrays of no dimensions and NumPy's scalars: a compiled function gives the one where NumPy does, and the other elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from from_text import function_of

pytestmark = pytest.mark.compile

# Of a vector x, a scalar s and an array z of no dimensions.
EXPRESSIONS = """
np.asarray(s) | np.array(s) | np.array(x.sum()) | z+1 | z*z | z.copy() | s.reshape(()) | s.reshape(1) | np.reshape(x.sum(),())
s.T*1 | np.transpose(s)*1 | s.squeeze()*1 | x[0]*1 | z[()]*1 | z[...]*1 | z[None][0]*1 | s[...] | np.where(z>2,z,1.)
np.where(s>2,s,1.) | np.where(x[0]>2,1.,2.) | np.full((),s) | np.zeros(())+s | np.zeros_like(z)+z | np.full_like(z,2.)*z
np.take(x,2) | np.take(x,np.array(2)) | x.take(1) | np.einsum('i,i',x,x) | np.dot(x,x) | x@x | np.vdot(x,x) | np.mean(z) | z.sum()
np.max(z) | np.median(x) | np.nan_to_num(z) | np.nan_to_num(s) | np.clip(z,0,1) | np.clip(s,0,1) | z.clip(0,1) | np.round(z,1)
s.round() | z.astype(np.float32) | s.astype(np.float32) | np.abs(z) | -z | np.exp(z) | np.add(z,1.,out=np.zeros(()))
np.select([z>1,z>0],[z,s],0.) | np.select([s>1,s>0],[s,s*2],0.) | np.interp(s,x,x) | np.interp(z,x,x) | z**2 | np.maximum(z,s)
np.ravel(s) | z.flatten() | np.atleast_1d(s) | np.trace(x[:4].reshape(2,2)) | np.prod(z) | np.any(z) | z.any() | np.argmax(x)
np.argmax(z) | np.count_nonzero(x) | np.ptp(x) | np.trapezoid(x) | np.var(z) | np.stack([z,z])[0] | np.fix(z) | np.fix(s)
np.isnan(z) | np.isclose(z,1.) | np.isclose(s,1.) | np.logical_and(z,s) | np.asanyarray(s) | np.array(2.)*z | np.float64(2)*z
np.linalg.det(x[:4].reshape(2,2)) | np.sinc(z) | np.sinc(s) | np.heaviside(z,1.) | np.logaddexp(z,s) | np.angle(z) | np.angle(s)
np.polyval([1.,2.],z) | np.polyval([1.,2.],s) | np.copy(z) | np.copy(s) | np.add.reduce(x) | np.add.reduce(z) | np.quantile(x,.5)
np.percentile(x,np.array(50.)) | np.searchsorted(x,s) | np.searchsorted(x,z) | np.digitize(s,np.sort(x)) | np.nanmean(x) | np.nanmax(z)
np.i0(z) | s.copy() | x[1].copy() | np.spacing(z) | np.conj(z) | np.fmax(z,s) | x.reshape(3,2).sum()[...] | x.reshape(3,2).sum(axis=(0,1))
x.reshape(3,2).sum(axis=(0,1),keepdims=True)[0,0] | np.outer(x,x)[1,1] | np.cov(x) | np.vectorize(lambda v: v*2.)(z)
""".replace("\n", "|").split("|")
WRITTEN = [one.strip() for one in EXPRESSIONS if one.strip()]
GROUPS = [WRITTEN[k : k + 9] for k in range(0, len(WRITTEN), 9)]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
@pytest.mark.parametrize("alone", [False, True])
def test_results_are_of_numpys_kind(group: Any, alone: bool) -> None:
    text = "\n".join(f"    r{k} = {one}" for k, one in enumerate(group))
    results = "".join(f"r{k}, " for k in range(len(group)))
    functions = [function_of(f"def f(x, s, z):\n{text}\n    return {results}\n")]
    if alone:  # one of each group, where the plan gives no tuple
        functions = [function_of(f"def f(x, s, z):\n    return {group[0]}\n")]
    x = np.array([1.5, 2.5, -1.0, 4.0, 0.25, 3.0])
    for function in functions:
        compiled = tilewright.jit(function, strict=True)
        for s, z in ((np.float64(2.5), np.array(1.25)), (x[1], np.array(-1.0)), (np.float64(0.0), np.array(7.0))):
            got, want = compiled(x, s, z), function(x, s, z)
            pairs = [(got, want)] if alone else list(zip(got, want, strict=True))
            for one, (ours, theirs) in zip(group, pairs, strict=False):
                assert type(ours) is type(theirs), one
                assert np.asarray(ours).dtype == np.asarray(theirs).dtype, one
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=one)
        assert compiled.specializations


def test_each_call_makes_its_own() -> None:
    def both(x: Any) -> Any:
        return np.array(x.max()), x * 2

    compiled = tilewright.jit(both, strict=True)
    first, second = compiled(np.arange(3.0))[0], compiled(np.arange(5.0))[0]
    first[...] = 9
    assert (first, second) == (9, 4)
