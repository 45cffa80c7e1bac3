"""Steps of stencils that are kept for a task, and searches among computed terms: default schedules give NumPy's values at every size."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(5)


def curvature(u):
    ux, uy = (u[1:-1, 2:] - u[1:-1, :-2]) / 2, (u[2:, 1:-1] - u[:-2, 1:-1]) / 2
    size = np.sqrt(ux * ux + uy * uy + 1e-8)
    nx, ny = ux / size, uy / size
    return (nx[1:-1, 2:] - nx[1:-1, :-2] + ny[2:, 1:-1] - ny[:-2, 1:-1]) / 2


def of_padded(u):
    p = np.pad(u, 1, mode="edge")
    gx, gy = p[1:-1, 2:] - p[1:-1, :-2], p[2:, 1:-1] - p[:-2, 1:-1]
    m = np.sqrt(gx * gx + gy * gy) / (1 + gx * gx)
    return m[1:-1, 1:-1] - (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2]) / 4


def of_row_means(u):
    e = np.exp(u - u.mean(axis=1, keepdims=True))
    return e[1:, 1:] - e[:-1, :-1]


@pytest.mark.parametrize("step", [curvature, of_padded, of_row_means])
def test_a_step_that_is_read_at_several_places_is_kept_for_a_task(step):
    jitted = tilewright.jit(step, strict=True)
    for shape in ((700, 701), (9, 8), (300, 1500), (64, 64)):
        u = RNG.random(shape)
        if step in (curvature, of_padded):  # + - * / and sqrt alone
            np.testing.assert_array_equal(jitted(u), step(u))
        else:
            np.testing.assert_allclose(jitted(u), step(u), rtol=1e-9, atol=1e-9)
    assert ", io)" in jitted.specializations[0].schedule


def nearest(queries, points):
    return np.argmin(((queries[:, None, :] - points[None, :, :]) ** 2).sum(axis=2), axis=1)


def least_difference(queries, points):
    return np.min(queries[:, :1] - points[None, :, 0], axis=1)


@pytest.mark.parametrize(("search", "name"), [(nearest, "argmin"), (least_difference, "min")])
def test_a_search_among_computed_terms_runs_one_by_one(search, name):
    jitted = tilewright.jit(search, strict=True)
    for queries, points, width in ((1000, 500, 2), (5, 700, 2), (300, 2000, 9), (1, 100, 2)):
        q, p = RNG.random((queries, width)), RNG.random((points, width))
        q[0, 0] = p[points // 2, 0] = np.nan
        p[3] = p[7]  # the first of two
        np.testing.assert_array_equal(jitted(q, p), search(q, p))
    assert f"variant {name} = serial" in jitted.specializations[0].schedule
