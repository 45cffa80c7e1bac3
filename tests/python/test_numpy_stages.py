"""Calls of NumPy that Python makes between kernels: results are NumPy's, bit for bit, and no call goes to NumPy as a whole.

A line each says a call and its arguments: `a:*[n,m]` is a matrix of each kind of number, `k=3` a Python number. What the
extents are, how arrays lie in memory and what is in them is drawn. TILEWRIGHT_EXAMPLES=200 is a long run.
"""

from __future__ import annotations

import linecache
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from tilewright.decorator import JitFunction
from tilewright.ops import FUNCTIONS
from tilewright.ops.stage_rows import METHOD_ROWS, ROWS, SOURCE_FIRST, WRITTEN
from tilewright.ops.stages import name_of_callee

pytestmark = pytest.mark.compile


KINDS = {
    "*": "? b B h l L f d F D",  # every kind of number
    "r": "? b B h l L f d",  # real ones
    "n": "b B h l L f d F D",  # not bool
    "s": "b B h l L f d",  # neither bool nor complex
    "i": "b B h l",
    "u": "B",
    "?": "?",
    "l": "l",
    "d": "d",
    "f": "f d",
    "c": "F D",
    "L": "? b l f d F D",  # what linear algebra takes
    "R": "? b l f d",
}

CASES = """
# linear algebra
np.linalg.inv(a) | a:L[3,3]
np.linalg.inv(a) | a:L[k,n,n]
np.linalg.cholesky(np.diag(a), upper=True) | a:pL[n]
np.linalg.cholesky(a) | a:L[n,n]
np.linalg.det(a) | a:L[n,n]
np.linalg.det(a) | a:L[k,n,n]
s, d = np.linalg.slogdet(a); return s, d | a:L[n,n]
s, d = np.linalg.slogdet(a); return s, d | a:L[k,2,2]
np.linalg.eigvalsh(a) | a:L[n,n]
np.linalg.eigvalsh(a, "U") | a:L[k,n,n]
w, v = np.linalg.eigh(a); return w, v | a:L[n,n]
w, v = np.linalg.eigh(a, UPLO="U"); return w, v | a:L[k,n,n]
np.linalg.eigvals(a) | a:c[n,n]
w, v = np.linalg.eig(a); return w, v | a:c[n,n]
np.linalg.pinv(a) | a:L[n,m]
np.linalg.pinv(a, rtol=x) | a:L[k,n,m] x=0.125
np.linalg.pinv(a, hermitian=True) | a:f[n,n]
np.linalg.solve(a, b) | a:L[n,n] b:L[n]
np.linalg.solve(a, b) | a:L[n,n] b:L[n,m]
np.linalg.solve(a, b) | a:L[k,n,n] b:L[n,m]
np.linalg.solve(a, b) | a:L[n,n] b:L[k,n,m]
np.linalg.solve(a, b) | a:L[k,n,n] b:L[n]
np.linalg.svd(a, compute_uv=False) | a:L[n,m]
u, s, v = np.linalg.svd(a); return u, s, v | a:L[n,m]
u, s, v = np.linalg.svd(a, full_matrices=False); return u, s, v | a:L[k,n,m]
u, s, v = np.linalg.svd(a, hermitian=True); return u, s, v | a:f[n,n]
np.linalg.svdvals(a) | a:L[n,m]
q, r = np.linalg.qr(a); return q, r | a:L[n,m]
q, r = np.linalg.qr(a, mode="complete"); return q, r | a:L[k,n,m]
np.linalg.qr(a, mode="r") | a:L[n,m]
h, t = np.linalg.qr(a, mode="raw"); return h, t | a:L[n,m]
x, s, r, v = np.linalg.lstsq(a, b); return x, s, r, v | a:L[n,m] b:L[n]
x, s, r, v = np.linalg.lstsq(a, b, rcond=None); return x, s, r, v | a:L[n,m] b:L[n,k]
np.linalg.matrix_rank(a) | a:L[n,m]
np.linalg.matrix_rank(a, hermitian=True) | a:L[k,n,n]
np.linalg.matrix_rank(a, tol=x) | a:L[n] x=0.5
np.linalg.cond(a) | a:L[n,m]
np.linalg.cond(a, 1) | a:L[n,n]
np.linalg.cond(a, -2) | a:L[k,n,m]
np.linalg.cond(a, "fro") | a:L[n,n]
np.linalg.norm(a, 2) | a:L[n,m]
np.linalg.norm(a, -2, axis=(0, 2)) | a:L[n,k,m]
np.linalg.norm(a, "nuc", keepdims=True) | a:L[n,m]
np.linalg.matrix_power(a, 3) | a:*[n,n]
np.linalg.matrix_power(a, 0) | a:*[n,n]
np.linalg.tensorsolve(a, b) | a:L[n,m,n,m] b:L[n,m]
np.linalg.tensorsolve(a, b, axes=(1,)) | a:L[n,n,m,1] b:L[n,m]
np.linalg.tensorinv(a) | a:L[n,m,n,m]
np.linalg.tensorinv(a, ind=1) | a:L[6,2,3]
np.linalg.vecdot(a, b, axis=0) | a:L[n,m] b:L[n,m]
np.kron(a, b) | a:*[n,m] b:*[k]
np.kron(a, b) | a:*[n] b:*[k]
np.kron(a, b) | a:*[n,m] b:*[2,2]
np.cross(a, b) | a:n[n,3] b:n[3]
np.cross(a, b, axis=0) | a:n[3,n,m] b:n[3,n,m]
np.cross(a, b, axisa=0, axisb=1, axisc=0) | a:n[3,n] b:n[n,3]
np.linalg.cross(a, b) | a:n[n,3] b:n[n,3]
np.linalg.cross(a, b, axis=0) | a:n[3] b:n[3,n]
np.trace(a) | a:*[n,m]
np.trace(a, 1, 0, 2) | a:*[n,k,m]
np.trace(a, offset=-1, axis1=-1, axis2=0) | a:*[n,k,m]
np.trace(a, dtype=np.float32) | a:*[n,m]
np.linalg.trace(a) | a:*[k,n,m]
np.linalg.trace(a, offset=1, dtype=np.complex64) | a:*[n,m]
np.einsum("ij,jk", a, b) | a:*[n,m] b:*[m,k]
np.einsum("ij,jk->ik", a, b) | a:*[n,m] b:*[m,k]
np.einsum("ij,jk,k->i", a, b, c, optimize=True) | a:*[n,m] b:*[m,k] c:*[k]
np.einsum("...ij,...jk->...ik", a, b) | a:*[k,n,m] b:*[m,2]
np.einsum("i...,i...", a, b) | a:*[n,m] b:*[n,m]
np.einsum("ij,kj->ki...", a, b) | a:*[n,m] b:*[k,m]
np.einsum(a, [0, 1], b, [1, 2], [0, 2]) | a:*[n,m] b:*[m,k]
np.einsum(a, [0, Ellipsis], b, [0]) | a:*[n,m] b:*[n]
np.einsum("ii", a) | a:*[n,n]
np.einsum("ij->j", a) | a:*[n,m]
np.einsum("i,i", a, b, dtype=np.float64) | a:R[n] b:R[n]
np.einsum("ij,ij->ij", a, b) | a:*[n,m] b:*[1,m]
np.einsum("ii,i->i", a, b) | a:*[n,n] b:*[n]
# order
np.sort(a) | a:*[n,m]
np.sort(a, axis=0, kind="stable") | a:*[n,m]
np.sort(a, axis=None) | a:*[n,m]
np.sort(a, axis=None) | a:*[]
np.sort(a, stable=True) | a:*[n]
a.sort(); return a | a:*[n]
a.sort(0); return a[1:] + a[:-1] | a:f[n,m]
b = a[1:, ::2]; b.sort(axis=-1); return a | a:*[5,3]
a.partition(1); return a | a:*[3]
np.sort_complex(a) | a:*[n,m]
np.argsort(a) | a:*[n,m]
np.argsort(a, axis=0, stable=True) | a:*[n,m]
np.argsort(a, axis=None) | a:*[n,m]
np.argsort(a) | a:*[]
np.partition(a, 1) | a:*[2,3]
np.partition(a, (1, -1), axis=0) | a:*[3,n]
np.partition(a, 0, axis=None) | a:*[n,3]
np.argpartition(a, 1, axis=0) | a:*[3,n]
np.argpartition(a, k, axis=None) | a:*[3,n] k=1
np.lexsort((a, b)) | a:r[n] b:r[n]
np.lexsort([a, b], axis=0) | a:r[n,m] b:r[n,m]
np.lexsort(a) | a:r[3,n]
np.median(a) | a:*[n,m]
np.median(a, axis=-1) | a:*[n,m]
np.median(a, axis=(0, 2), keepdims=True) | a:*[n,k,m]
np.median(a) | a:*[]
np.median(a, axis=()) | a:s[n,m]
np.nanmedian(a) | a:s[n,m]
np.nanmedian(a, axis=1) | a:s[n,m]
np.nanmedian(a, axis=(0, -1), keepdims=True) | a:s[n,m,k]
np.percentile(a, 30) | a:s[n,m]
np.percentile(a, p, axis=0) | a:s[n,m] p=30.0
np.percentile(a, [10, 50], axis=1) | a:s[n,m]
np.percentile(a, q, axis=(0, 1), keepdims=True) | a:s[n,m] q:pd[k]
np.percentile(a, 30, method="nearest") | a:s[n]
np.percentile(a, [30, 40.5], method="weibull", axis=-1) | a:s[n,m]
np.quantile(a, 0.3) | a:s[n,m]
np.quantile(a, p) | a:s[n] p=0.25
np.quantile(a, q, axis=-1) | a:s[n,m] q:pf[k,2]
np.quantile(a, 0.25, method="inverted_cdf") | a:r[n]
np.quantile(a, [0.25, 0.5], axis=0, method="lower") | a:r[n,m]
np.quantile(a, 0.25, weights=w, method="inverted_cdf") * 1 | a:s[n] w:pd[n]
np.quantile(a, [0.25], axis=0, weights=w, method="inverted_cdf") | a:s[n,m] w:pd[n,m]
np.quantile(a, 0.5) | a:s[]
np.nanpercentile(a, 30) | a:s[n,m]
np.nanpercentile(a, [30, 60], axis=1, keepdims=True) | a:s[n,m]
np.nanquantile(a, 0.3, axis=0) | a:s[n,m]
np.nanquantile(a, q, axis=(0, 1)) | a:s[n,m] q:pf[k]
np.nanquantile(a, p, method="higher") | a:f[n] p=0.25
np.nanargmax(a) | a:*[n,m]
np.nanargmin(a, axis=1) | a:*[n,m]
np.nanargmax(a, axis=0, keepdims=True) | a:*[n,m]
np.unique(a) | a:*[n,m]
np.unique(a, axis=0) | a:*[n,m]
np.unique(a, return_inverse=True) | a:*[n,m]
np.unique(a, return_index=True, return_inverse=True, return_counts=True, axis=1) | a:*[n,m]
np.unique(a, return_counts=True, equal_nan=False) | a:*[n]
u, i = np.unique(a, return_inverse=True); return u, i + 0 | a:*[]
u = np.unique_all(a); return u.values, u.indices, u.inverse_indices, u.counts | a:*[n,m]
v, i = np.unique_inverse(a); return v, i | a:*[n,m]
v, i = np.unique_counts(a); return v, i | a:*[n]
np.unique_values(a) | a:r[n]
# sets
np.union1d(a, b) | a:*[n,m] b:*[k]
np.intersect1d(a, b) | a:*[n,m] b:*[k]
np.intersect1d(a, b, return_indices=True) | a:*[n] b:*[k]
np.intersect1d(a, b, assume_unique=True) | a:*[n] b:*[k]
np.setdiff1d(a, b) | a:*[n,m] b:*[k]
np.setdiff1d(a, b, assume_unique=True) | a:*[n] b:*[k]
np.setxor1d(a, b) | a:*[n,m] b:*[k]
np.setxor1d(a, [1, 2]) | a:*[n]
np.array_equal(a, b) | a:*[n,m] b:*[n,m]
np.isin(a, b) | a:i[n,m] b:i[k]
np.isin(a, [1, 2], invert=True) | a:i[n]
np.isin(a, b, kind="table") | a:i[n] b:i[k]
# positions
np.searchsorted(a, b) | a:s*[n] b:*[m,k]
np.searchsorted(a, b, side="right", sorter=s) | a:r[n] b:r[k] s:l[n]
np.searchsorted(a, x) | a:r[n] x=0.5
a.searchsorted(b, "right") | a:r[n] b:r[]
np.digitize(a, b) | a:r[n,m] b:r[k]
np.digitize(a, b[::-1], right=True) | a:r[n] b:r[k]
np.digitize(x, b) | b:r[k] x=1.5
np.full(int((a > 0).sum()), 2.5) | a:d[n]
np.zeros((int((a > 0).sum()), 2), np.int32) | a:d[n]
np.bincount(a) | a:pi[n]
np.bincount(a, b) | a:pi[n] b:r[n]
np.bincount(a, minlength=k) | a:pl[n] k=7
np.histogram(a) | a:r[n,m]
np.histogram(a, bins=k) | a:r[n] k=4
np.histogram(a, bins=5, range=(0.0, 3.0)) | a:r[n]
np.histogram(a, bins=5, range=(0, 3), density=True) | a:r[n]
np.histogram(a, bins=b) | a:r[n] b:sr[3]
np.histogram(a, 4, weights=w) | a:s[n] w:*[n]
np.histogram(a, 4, weights=w, density=True) | a:s[n] w:n[n]
np.histogram(a, "auto") | a:s[n]
np.histogram(a, [0, 1, 2.5]) | a:s[n]
np.histogram_bin_edges(a, 4) | a:s[n,m]
np.histogram_bin_edges(a, "sqrt") | a:s[n]
np.histogram_bin_edges(a, b) | a:s[n] b:ss[3]
h, e = np.histogramdd(a, 3); return h, e[0], e[1] | a:s[n,2]
h, e = np.histogramdd(a, (3, [0, 1, 2]), range=((0, 1), (0, 2.0)), density=True); return h, e[0], e[1] | a:s[n,2]
np.histogram2d(a, b) | a:s[n] b:s[n]
np.histogram2d(a, b, (3, k)) | a:s[n] b:s[n] k=4
np.histogram2d(a, b, [e, g], weights=w) | a:s[n] b:s[n] e:sf[3] g:sf[4] w:d[n]
np.histogram2d(a, b, e, density=True) | a:f[n] b:f[n] e:sf[3]
np.flatnonzero(a) | a:*[n,m]
np.argwhere(a) | a:*[n,m]
np.argwhere(a) | a:*[]
np.ravel_multi_index((i, j), (5, 6)) | i:pi[n] j:pi[n]
np.ravel_multi_index((i, j), (2, k), mode=("wrap", "clip"), order="F") | i:i[n,m] j:i[m] k=3
np.ravel_multi_index(i, (5, 6)) | i:pl[2,n]
np.unravel_index(i, (2, 3)) | i:pi[n,m]
np.unravel_index(k, (2, 3), order="F") | k=4
np.tril_indices(k) | k=3
np.tril_indices(k, 1, 4) | k=3
np.triu_indices(k, -1) | k=3
# scans and statistics
np.cumsum(a) | a:*[n,m]
np.cumsum(a, axis=0) | a:*[n,m]
np.cumsum(a, dtype=np.float32) | a:r[n]
np.cumsum(a) | a:*[]
np.cumprod(a, axis=-1) | a:*[n,m]
np.ediff1d(a) | a:n[n,m]
np.ediff1d(a, to_begin=b, to_end=[0, 1]) | a:n[n] b:b[k]
np.interp(a, x, y) | a:s[n,m] x:ss[3] y:s[3]
np.interp(a, x, y, left=z, right=1.0, period=4) | a:s[n] x:ss[3] y:s[3] z=0.5
np.interp(v, x, y) | x:s[3] y:c[3] v=0.5
np.average(a, weights=w) | a:*[n,m] w:n[n,m]
np.average(a, axis=0, weights=w, returned=True) | a:*[n,m] w:n[n]
np.average(a, axis=1, weights=w, keepdims=True) | a:*[n,m] w:n[m]
np.nanvar(a) | a:*[n,m]
np.nanstd(a, axis=1, ddof=1) | a:*[n,m]
np.nanvar(a, axis=(0, 1), keepdims=True) | a:*[n,m,k]
np.geomspace(1, x, 5) | x=3.0
np.geomspace(a, b, 4, axis=-1) | a:pf[n] b:pf[n]
# shapes
np.roll(a, 2) | a:*[n,m]
np.roll(a, k, axis=0) | a:*[n,m] k=-1
np.roll(a, (1, -2), axis=(0, -1)) | a:*[n,m]
np.pad(a, 2) | a:*[n,m]
np.pad(a, (1, k)) | a:*[n,m] k=2
np.pad(a, ((1, 2), (0, 1)), mode="edge") | a:*[n,m]
np.pad(a, [(1,), (2,)], mode="wrap") | a:*[n,m]
np.pad(a, {-1: (0, 2)}) | a:*[n,m]
np.pad(a, 1, constant_values=3) | a:*[n]
np.pad(a, 2, mode="linear_ramp") | a:s[n,m]
np.pad(a, (1, 1), mode="mean") | a:s[n,m]
np.pad(a, 1, mode="reflect", reflect_type="odd") | a:s[3]
np.tile(a, 2) | a:*[n,m]
np.tile(a, (2, k, 1)) | a:*[n,m] k=3
np.tile(a, [0, 2]) | a:*[n]
np.repeat(a, 2) | a:*[n,m]
np.repeat(a, k, axis=-1) | a:*[n,m] k=3
np.repeat(a, r, axis=0) | a:*[n,m] r:pl[n]
np.repeat(a, np.int64(2), axis=1) | a:*[n,m]
np.repeat(a, [2]) | a:*[n]
np.take(a, i) | a:*[n,m] i:l[k]
np.take(a, i, axis=0, mode="wrap") | a:*[n,m] i:l[k,2]
np.take(a, [0, -1], axis=1, mode="clip") | a:*[n,m]
np.take(a, 1, axis=-1, mode="wrap") | a:*[n,3]
np.take(a, k) | a:*[3] k=1
np.take_along_axis(a, i, axis=None) | a:*[5] i:pl[k]
np.choose(i, [a, b, 7, a, b]) | i:pl[n,m] a:*[n,m] b:*[m]
np.choose(i, a, mode="clip") | i:l[m] a:*[3,m]
i.choose((a, 1.5), mode="wrap") | i:i[n] a:*[n]
np.compress([True, False, True], a, axis=0) | a:*[3,m]
np.compress(c, a) | a:*[n,m] c:?[1]
a.compress(c, axis=1) | a:*[n,m] c:?[m]
np.extract(c, a) | c:*[n,m] a:*[n,m]
np.extract(a > 1, a) * 1 | a:s[n]
np.delete(a, 1) | a:*[3,n]
np.delete(a, k, axis=0) | a:*[3,n] k=-1
np.delete(a, [0, 2], axis=-1) | a:*[n,3]
np.delete(a, slice(None, None, 2)) | a:*[n]
np.delete(a, i, axis=0) | a:*[5,n] i:pl[k]
np.delete(a, c) | a:*[n] c:?[n]
np.insert(a, 1, 5) | a:*[3,n]
np.insert(a, 1, b, axis=1) | a:*[n,2] b:*[n]
np.insert(a, 1, b, axis=0) | a:*[2,n] b:*[k,n]
np.insert(a, [1, 2], [5, 6]) | a:*[3]
np.insert(a, [1], b, axis=1) | a:*[n,2] b:*[n,k]
np.insert(a, i, 7) | a:*[5] i:pl[k]
np.insert(a, slice(0, 2), 7) | a:*[n]
np.insert(a, c, 7) | a:*[n] c:?[n]
np.block([[a, b], [b, a]]) | a:*[n,m] b:*[n,m]
np.block([a, 1, b]) | a:*[n] b:*[m]
np.block([[a], [b]]) | a:*[n,m] b:*[k,m]
np.block(a) | a:*[n,m]
np.diagonal(a) + 0 | a:n[n,m]
np.diagonal(a, 1, 0, 2) * 1 | a:n[n,k,m]
a.diagonal(-1, -1, -2) * 1 | a:n[n,k,m]
np.linalg.diagonal(a, offset=k) * 1 | a:n[2,n,m] k=1
np.diag(a) | a:*[n]
np.diag(a, k) | a:*[n] k=-2
np.diag(a) * 1 | a:n[n,m]
np.diagflat(a, 1) | a:*[n,m]
np.diagflat(a) | a:*[]
np.tri(k) | k=3
np.tri(k, 4, 1, dtype=bool) | k=3
np.tri(2, k, -1, np.int8) | k=3
np.tril(a) | a:*[n]
np.triu(a, 1) | a:*[n]
np.indices((k, 4)) | k=3
np.indices((2, k), dtype=np.float32, sparse=True) | k=3
np.packbits(a) | a:?[n,m]
np.packbits(a, axis=0, bitorder="little") | a:u[n,m]
np.unpackbits(a) | a:u[n,m]
np.unpackbits(a, axis=1) | a:u[n,m]
np.unpackbits(a, count=k) | a:u[2] k=11
np.unpackbits(a, count=-3, axis=0, bitorder="little") | a:u[3,m]
np.array_equiv(a, b) | a:*[n,m] b:*[m]
# signals
np.convolve(a, b) | a:*[n] b:*[m]
np.convolve(a, b, mode="same") | a:*[n] b:*[m]
np.convolve(a, b, "valid") | a:*[n] b:*[m]
np.convolve(a, x) | a:r[n] x=0.5
np.correlate(a, b) | a:*[n] b:*[m]
np.correlate(a, b, "full") | a:*[n] b:*[m]
np.i0(a) | a:r[n,m]
np.bartlett(k) | k=5
np.blackman(k) | k=5
np.hamming(k) | k=5
np.hanning(k) | k=1
np.kaiser(k, x) | k=5 x=8.5
# Fourier
np.fft.fft(a) | a:*[n,m]
np.fft.fft(a, 4, axis=0, norm="ortho") | a:*[n,m]
np.fft.ifft(a, k) | a:*[n] k=5
np.fft.rfft(a) | a:r[n,m]
np.fft.rfft(a, k, 0, "forward") | a:r[n,m] k=5
np.fft.irfft(a) | a:*[n,m]
np.fft.irfft(a, 5, axis=0) | a:*[3,m]
np.fft.hfft(a) | a:*[n,m]
np.fft.hfft(a, k, axis=0) | a:*[3,m] k=4
np.fft.ihfft(a) | a:r[n,m]
np.fft.ihfft(a, 3, axis=-2) | a:r[n,m]
np.fft.fft2(a) | a:*[k,n,m]
np.fft.fft2(a, (3, k), axes=(0, 1)) | a:*[n,m] k=4
np.fft.ifft2(a, s=(-1, 2), norm="ortho") | a:*[n,m]
np.fft.rfft2(a) | a:r[k,n,m]
np.fft.rfft2(a, (3, 5), (1, 0)) | a:r[n,m]
np.fft.irfft2(a) | a:*[n,m]
np.fft.irfft2(a, s=(3, 5)) | a:*[3,2]
np.fft.fftn(a) | a:*[k,n,m]
np.fft.fftn(a, axes=(0, -1)) | a:*[k,n,m]
np.fft.fftn(a, s=(3, 4), axes=(1, 0)) | a:*[n,m]
np.fft.ifftn(a, axes=(1,)) | a:*[n,m]
np.fft.rfftn(a) | a:r[n,m]
np.fft.rfftn(a, s=(2, k), axes=(0, 2)) | a:r[n,2,m] k=3
np.fft.irfftn(a) | a:*[n,m]
np.fft.irfftn(a, s=(2, -1), axes=(0, 1)) | a:*[n,m]
np.fft.fftfreq(k) | k=5
np.fft.fftfreq(k, d=x) | k=4 x=0.3
np.fft.rfftfreq(k, x) | k=5 x=0.3
# polynomials
np.polyadd(a, b) | a:*[n] b:*[m]
np.polysub(a, b) | a:n[n] b:n[m]
np.polymul(a, b) | a:*[n] b:*[m]
np.polydiv(a, b) | a:n[n] b:n[m]
np.polyder(a) | a:*[n]
np.polyder(a, 2) | a:*[n]
np.polyfit(a, b, 2) | a:f[n] b:f[n]
np.polyint(a) | a:*[n]
np.polyint(a, m=2, k=[1, 2]) | a:*[n]
# reductions with options that no kernel takes
np.max(a, axis=1, initial=3) | a:r[n,m]
np.min(a, axis=0, where=b, initial=2) | a:r[n,m] b:?[n,m]
np.max(a) | a:c[2,3]
np.ptp(a, axis=1) | a:c[n,3]
np.argmax(a, axis=1) | a:c[n,3]
np.argmin(a, keepdims=True) | a:c[2,3]
np.prod(a, axis=0) | a:c[n,3]
np.sum(a, axis=0, initial=2) | a:n[n,m]
np.prod(a, initial=2, where=b) | a:*[n,m] b:?[n,m]
np.corrcoef(a) | a:c[3,5]
a.byteswap() | a:r[n,m]
np.ndarray.byteswap(a) | a:r[n]
# the same bits
np.ndarray.view(a.astype("f8"), "i8") | a:r[n,m]
a.astype("f4").T.view(np.uint32) | a:r[n,m]
# writes
np.put(a, i, b); return a | a:*[5] i:pl[k] b:r[3]
a.put([0, -1], 7, mode="clip"); return a * 1 | a:n[n,3]
b = a[::-1, 1:]; np.put(b, [0, 3], [5, 6], "wrap"); return a | a:*[2,3]
np.place(a, c, [5, 6]); return a | a:*[n,m] c:?[n,m]
np.putmask(a, c, b); return a | a:*[n,m] c:?[n,m] b:*[n,m]
np.fill_diagonal(a, 3); return a | a:*[n,m]
np.fill_diagonal(a, b, wrap=True); return a | a:*[5,2] b:b[2]
np.put_along_axis(a, i, 3, axis=0); return a | a:*[5,m] i:pl[2,m]
np.put_along_axis(a, i, b, axis=-1); return a | a:*[n,5] i:pl[n,k] b:b[k]
np.add.at(a, i, b); return a | a:*[5] i:pl[k] b:?[k]
np.maximum.at(a, (i, [0]), 2); return a | a:r[5,m] i:pl[k]
np.negative.at(a, [0, 0, 1]); return a | a:n[3]
b = a + 0; np.subtract.at(b[1:], [0, 0], 1); return b | a:n[5]
# out
o = np.zeros(a.shape); np.cumsum(a, axis=1, out=o); return o | a:d[n,m]
o = np.zeros(a.shape); np.cumsum(a, axis=0, out=o); return o | a:r[n,m]
o = np.ones(a.shape[1:], np.float32); np.logaddexp.reduce(a, out=o); return o | a:d[n,m]
o = np.zeros((5, 2)); np.median(a, axis=0, out=o[::2, 0]); return o | a:d[n,3]
o = np.zeros((2, 2)); np.take(a, [[0, 1], [1, 0]], out=o, mode="clip"); return o | a:d[3]
o = np.zeros(a.shape, a.dtype); np.logaddexp(a, b, out=o, where=c); return o | a:f[n,m] b:f[m] c:?[n,m]
o = np.ones(a.shape, np.int32); f = np.zeros(a.shape); np.frexp(a, f, o); return f, o | a:f[n,m]
# parts
b = np.array_split(a, 3); return b[0] * 1, b[1] * 1, b[2] * 1 | a:n[n,m]
b = np.array_split(a, [1, k], axis=-1); return b[0] * 1, b[1] * 1, b[2] * 1 | a:n[n,m] k=2
b = np.split(a, 2, axis=1); b[1][...] = 3; return a | a:*[3,2]
b, c = np.hsplit(a, [1]); return b * 1, c * 1 | a:n[n]
np.rot90(a, k) * 1 | a:n[n,m] k=3
np.rot90(a, -2, axes=(1, -1)) * 1 | a:n[n,m,k]
a[np.diag_indices_from(a)] * 1 | a:n[3,3]
np.diag_indices(k)[1] * 1 | k=3
np.lib.stride_tricks.sliding_window_view(a, 2) * 1 | a:n[n]
np.lib.stride_tricks.sliding_window_view(a, (2, 1)).copy() | a:*[n,m]
np.sort(np.lib.stride_tricks.sliding_window_view(a, k, axis=1)) | a:*[n,5] k=3
# methods of ufuncs
np.maximum.accumulate(a, axis=1) | a:r[n,m]
np.add.accumulate(a) | a:*[n,m]
np.logaddexp.accumulate(a, axis=-1) | a:f[n,m]
np.add.reduceat(a, [0, 2, 1]) | a:*[3,m]
np.multiply.reduceat(a, i, axis=1) | a:*[n,5] i:pl[k]
np.logaddexp.reduce(a, axis=1) | a:f[n,m]
np.logaddexp.reduce(a, axis=None, keepdims=True) | a:f[n,m]
np.bitwise_xor.reduce(a, axis=0) | a:i[n,m]
np.logaddexp(a, b) | a:f[n,m] b:f[m]
np.modf(a) | a:f[n,m]
np.frexp(a) | a:f[n]
np.gcd(a, b) | a:i[n] b:i[n]
np.heaviside(a, x) | a:f[n] x=0.5
np.ldexp(a, b) | a:f[n] b:h[n]
np.nextafter(a, b) | a:f[n] b:f[n]
np.spacing(a) | a:f[n]
"""

LINES = [line for line in CASES.strip().splitlines() if not line.startswith("#")]


@cache
def function_of(line: str) -> Any:
    """The Python function of a case."""
    call, _, given = line.partition(" | ")
    names = re.findall(r"(\w+)[:=]", given)
    *before, last = call.split("; ")
    last = last if last.startswith("return ") else f"return {last}"
    text = f"def f({', '.join(names)}):\n" + "".join(f"    {part}\n" for part in (*before, last))
    name = f"<stage {line}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def dtypes_of(line: str) -> list[list[str]]:
    """For each array of a case its dtypes, one a run: different ones beside each other, too."""
    kinds = [KINDS.get(kind, kind).split() for kind in re.findall(r":[ps]?(\S)\[", line)]
    runs = max(map(len, kinds), default=1)
    return [[kind[(run + 3 * k * (run % 2)) % len(kind)] for k, kind in enumerate(kinds)] for run in range(runs)]


def contents(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], how: str, special: bool) -> Any:
    """`how`: "p" for 0 to 4, or to 1 of floats; "s" in order."""
    if dtype.kind == "b":
        return rng.random(shape) > 0.5
    least = 0 if how == "p" or dtype.kind == "u" else -4
    if dtype.kind in "iu":
        made = rng.integers(least, 5, shape)
    else:
        made = rng.integers(4 * least, 17, shape) / (16 if how == "p" else 4)
        if how != "p":
            made = made + rng.integers(0, 2) * rng.random(shape)
    if dtype.kind == "c":
        made = made + 1j * rng.integers(-4, 5, shape)
    made = np.asarray(made).astype(dtype)
    if special and dtype.kind in "fc" and how != "p":
        chosen = rng.random(shape) < 0.3
        made[chosen] = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0]), int(chosen.sum())).astype(dtype)
    return np.sort(made) if how == "s" else made


def laid_out(array: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    if layout == "F":
        return np.array(array, order="F")
    if layout == "C" or not array.ndim:
        return array.copy()
    step = -1 if layout == "negative" else 2
    wide = np.zeros([n * abs(step) for n in array.shape], array.dtype)
    made = wide[(slice(None, None, step),) * array.ndim]
    made[...] = array
    return made


# What NumPy rounds, or writes, in an order that says how the operands lie in memory. Stages are handed complex ones in C order.
ADDS_UP = re.compile("einsum|matrix_power|convolve|correlate|average|nanvar|nanstd|norm")

# Kernels of ours, which round otherwise than NumPy; calls that NumPy warns of, or refuses, go to NumPy whole.
ROUNDED = re.compile(r"np\.(average|corrcoef|nanvar|nanstd|logaddexp|nanarg\w+|einsum)\(")
# Kernels of ours where they add or multiply in another order than NumPy, which has one for each layout.
IN_ORDER = re.compile(r"np\.(sum|prod|trace|cross|kron|convolve|correlate|polymul|linalg\.(vecdot|matrix_power))\(")


@dataclass(frozen=True)
class Example:
    dtypes: list[str]
    extents: dict[str, int]
    seed: int = 0
    layout: str = "C"
    special: bool = False


def arguments(line: str, example: Example) -> list[Any]:
    rng = np.random.default_rng(example.seed)
    made: list[Any] = []
    dtypes = iter(example.dtypes)
    for how, kind, shape, number in re.findall(r"\w:([ps]?)(\S)\[([^]]*)\]|\w=(\S+)", line.partition(" | ")[2]):
        if number:
            made.append(float(number) if "." in number else int(number))
            continue
        sizes = tuple(example.extents[n] if n in example.extents else int(n) for n in shape.split(",") if n)
        dtype = np.dtype(next(dtypes))
        # LAPACK prints what it thinks of them; a complex product with an infinity is NaN in one order alone.
        special = example.special and kind not in "LRc" and not ROUNDED.search(line)
        special = special and not (IN_ORDER.search(line) and (dtype.kind == "c" or "vol" in line or "corr" in line))
        special = special and not (how == "s" and "np.interp(" in line)  # NumPy has such calls
        # What is written at one place last depends in NumPy on the layout of the places.
        in_order = dtype.kind == "c" and ADDS_UP.search(line) or "put_along_axis" in line
        layout = "C" if in_order else example.layout
        made.append(laid_out(contents(rng, dtype, sizes, how, special), layout))
    return made


def parts(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from parts(part)


def same(mine: Any, numpys: Any) -> bool:
    if type(mine) is not type(numpys):
        return False
    if isinstance(numpys, (tuple, list)):
        return len(mine) == len(numpys) and all(map(same, mine, numpys))
    if not isinstance(numpys, (np.ndarray, np.generic)):
        return bool(mine == numpys or (np.isnan(mine) and np.isnan(numpys)))
    if mine.dtype != numpys.dtype or mine.shape != numpys.shape:
        return False
    if numpys.dtype.kind not in "fc":
        return bool(np.array_equal(mine, numpys))
    halves = ((mine.real, numpys.real), (mine.imag, numpys.imag)) if numpys.dtype.kind == "c" else ((mine, numpys),)
    return all(np.array_equal(x, y, equal_nan=True) and np.array_equal(is_below(x), is_below(y)) for x, y in halves)


def nearly(mine: Any, numpys: Any) -> bool:
    """The same types and dtypes, and numbers that differ by the roundings of a short sum."""
    if isinstance(numpys, tuple):
        return type(mine) is tuple and all(map(nearly, mine, numpys))
    if type(mine) is not type(numpys) or mine.dtype != numpys.dtype or mine.shape != numpys.shape:
        return False
    unit = np.finfo(numpys.dtype).eps if numpys.dtype.kind in "fc" else 0
    size = np.max(np.abs(numpys), initial=1.0, where=np.isfinite(numpys))
    return bool(np.allclose(mine, numpys, rtol=64 * unit, atol=64 * unit * size, equal_nan=True))


def is_below(x: Any) -> Any:
    """Tells -0.0 from 0.0; any NaN is like another."""
    return np.signbit(x) & ~np.isnan(x)


def functions_in(line: str) -> list[Any]:
    """NumPy's functions and methods that a case calls."""
    call = line.partition(" | ")[0]
    found = [eval(text, {"np": np}) for text in re.findall(r"np(?:\.[a-zA-Z_]\w*)+(?=\()", call)]
    methods = [getattr(np.ndarray, method) for method in re.findall(r"\b[abi]\.(\w+)\(", call)]
    return found + methods + [getattr(np, method.__name__) for method in methods if hasattr(np, method.__name__)]


def is_written(line: str) -> bool:
    """Whether it writes an argument."""
    return any(f.__name__ == "at" or ROWS.get(f) in WRITTEN for f in functions_in(line))


class InNumPy:
    """Counts the calls that went to NumPy as a whole."""

    count = 0


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    in_numpy = JitFunction._in_numpy

    def counting(self: Any, *args: Any) -> Any:
        InNumPy.count += 1
        return in_numpy(self, *args)

    monkeypatch.setattr(JitFunction, "_in_numpy", counting)
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")  # thousands of small objects


def check(line: str, jitted: Any, given_arguments: Any) -> bool:
    """Whether NumPy raises nothing."""
    function = function_of(line)
    mine, numpys = given_arguments(), given_arguments()
    InNumPy.count = 0
    try:
        want = function(*numpys)
    except Exception as error:
        with pytest.raises(type(error)):
            jitted(*mine)
        return False
    got = jitted(*mine)
    shown = f"{line}\narguments {given_arguments()}\nNumPy {want!r}\nhere  {got!r}"
    is_empty = is_written(line) and any(np.size(one) == 0 for one in numpys)  # into no elements nothing is compiled
    is_rounded = ROUNDED.search(line) is not None
    assert InNumPy.count == 0 or is_empty or is_rounded, f"went to NumPy: {shown}"
    assert (nearly if is_rounded or IN_ORDER.search(line) else same)(got, want), shown
    assert all(map(same, mine, numpys)), f"{shown}\nwritten: {mine}\nby NumPy: {numpys}"
    return True


def example_of(line: str, k: int) -> Example:
    """The k-th of a line, the same in each run; lines differ in their dtypes, sizes and layouts from the first one on."""
    draw = random.Random(f"{line} {k}")
    extents = {name: draw.choice((3, 3, 3, 2, 2, 1, 0, 5)) for name in "nmk"}
    layout = draw.choice(("C", "F", "negative", "sliced"))
    return Example(draw.choice(dtypes_of(line)), extents, draw.getrandbits(32), layout, draw.random() < 0.5)


@pytest.mark.parametrize("line", LINES)
def test_a_stage_gives_what_numpy_gives(line):
    for k in range(examples(1)):
        example = example_of(line, k)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            check(line, jitted(line), lambda example=example: arguments(line, example))


def has_its_row_first(line: str) -> bool:
    return any(f in ROWS and f not in SOURCE_FIRST and f not in FUNCTIONS for f in functions_in(line))


def is_a_stage(line: str) -> bool:
    called = {name_of_callee(function) for function in functions_in(line) if function in ROWS}
    example = Example(dtypes_of(line)[-1], {"n": 3, "m": 2, "k": 2})
    specialization, _ = jitted(line).specialize(tuple(arguments(line, example)), {})
    return any(stage.startswith(tuple(called)) for stage in specialization.traced.stages)


@pytest.mark.parametrize("line", [*filter(has_its_row_first, LINES)])
def test_a_stage_is_what_its_row_says(line):
    """Not what a rule or NumPy's own source does: such a row would never be tried."""
    assert is_a_stage(line), line


@pytest.mark.parametrize("name", ["sort", "median", "cumsum", "searchsorted", "digitize", "convolve", "histogram"])
def test_a_row_is_for_what_the_rule_refuses(name):
    assert any(is_a_stage(line) for line in LINES if getattr(np, name) in functions_in(line))


def test_each_row_has_a_case():
    rows = {id(ROWS[f]) for line in LINES for f in functions_in(line) if f in ROWS}
    by_brackets = [np.ndarray.__getitem__]  # test_parts_by_positions_and_masks
    missing = [name_of_callee(f) for f, row in ROWS.items() if id(row) not in rows and f not in by_brackets]
    assert missing == []
    methods = {function.__name__ for line in LINES for function in functions_in(line)}
    assert set(METHOD_ROWS) - {"__call__"} <= methods


def test_parts_by_positions_and_masks():
    """Keys that no rule takes: positions and masks together, on axes that lie apart, with slices of any kind."""

    def parts(a, b, i, m):
        b = b.copy()
        b[i, 1:3] = 7
        b[m, 0] += 5
        b[1:][i[:2], [1, 2]] *= 2
        return a[i, 1:3, None, [1, 0, 2]], a[1, [0, 1], :, None], a[..., [0, 1], :], a[:, m][:, ::2], a[[0, 2], :, 1], b

    def complex_parts(a, i):
        a = a + 1j
        a[i] = 3j
        return a, a[i, ::-1, 1]

    a, b = np.arange(60.0).reshape(4, 5, 3), np.arange(20.0).reshape(5, 4)
    i, m = np.array([0, -2, 3]), np.array([True, False, True, True, False])
    for function, args in ((parts, (a, b, i, m)), (parts, (a, b, i, m & False)), (complex_parts, (a, i))):
        got, want = tilewright.jit(function, strict=True)(*args), function(*args)
        assert all(map(same, got, want))


@cache
def jitted(line: str) -> Any:
    return tilewright.jit(function_of(line), strict=True)


def refused(function: Any, *args: Any) -> str:
    with pytest.raises(tilewright.TraceError) as error:
        compiled = tilewright.jit(function, strict=True)
        for _ in range(6):  # a call that nothing is known of is looked at first, and then the statements around it
            compiled(*args)
    return str(error.value)


def test_a_view_that_numpy_lets_nobody_write_raises_what_numpy_raises():
    def writes_a_diagonal(a):
        d = np.diagonal(a + 1)
        d[0] = 5
        return d + 0

    for function in (writes_a_diagonal, tilewright.jit(writes_a_diagonal, strict=True)):
        with pytest.raises(ValueError, match="read-only"):
            function(np.ones((3, 3)))


@pytest.mark.parametrize(("call", "why"), [("np.einsum(a, [0, 0], [0])", "as a view without its text")])
def test_what_numpy_gives_as_a_view_is_no_stage(call, why):
    line = f"return {call} + 0 | a:d[n,n]"
    assert why in refused(function_of(line), np.ones((3, 3)))


def test_a_transposition_by_einsum_is_a_view():
    def writes_through(a):
        np.einsum("ij->ji", a)[0, 1] = 5.0

    for function in (writes_through, tilewright.jit(writes_through, strict=True)):
        a = np.zeros((2, 3))
        function(a)
        assert a[1, 0] == 5.0 and a.sum() == 5.0


def test_an_array_outside_of_the_function_is_written_by_python():
    outside = np.zeros(3)

    def puts(a):
        np.put(outside, [0], a)
        return a + 1

    def puts_each(a):
        for k in range(3):
            np.put(outside, [k], outside[k] + a[k])
        return a + outside

    for function in (puts, puts_each):
        compiled = tilewright.jit(function, strict=True)
        for k in range(9):
            outside[:] = 0.5
            want, written = function(np.full(3, k)), outside.copy()
            outside[:] = 0.5
            assert same(compiled(np.full(3, k)), want)
            assert same(outside, written)


def test_extents_of_stages_follow_the_sizes_of_the_call():
    """One program serves all sizes, also of results that come in several parts."""

    def transforms(a, k):
        f = np.fft.rfft(a, axis=0)
        m, e = np.frexp(a)
        return f, m, e, np.pad(a, (k, 1)), np.kron(a, a), np.unique(a, return_counts=True)[1]

    jitted_transforms = tilewright.jit(transforms, strict=True)
    for shape in ((16, 19), (17, 23), (25, 18)):
        args = np.random.default_rng(0).random(shape).round(1), 20
        assert all(map(same, jitted_transforms(*args), transforms(*args)))
    assert len(jitted_transforms.specializations) == 1


def spectra(x, n=8):
    window, starts = np.hanning(n), range(0, len(x) - n, n)
    return np.array([np.fft.rfft(window * x[s : s + n]) for s in starts])


def sum_of_spectra(x):
    frames = spectra(x)
    return np.abs(frames[0]) + len(frames)


@pytest.mark.parametrize("size", [400, 1920])
def test_a_list_of_more_results_than_a_stage_takes_is_filled_in_a_loop(size):
    compiled = tilewright.jit(sum_of_spectra, strict=True)
    x = np.random.default_rng(0).normal(size=size)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(x), sum_of_spectra(x))
