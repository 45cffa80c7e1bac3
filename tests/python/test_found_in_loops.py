"""Arrays from outside that a loop's iteration is the first to find, in functions that carry them in loops of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile

Q = np.diag([0.1, 0.1, 0.02, 1.0]) ** 2
R = np.diag([1.0, 1.0]) ** 2


def moved(x: Any, u: Any) -> Any:
    F = np.diag([1.0, 1.0, 1.0, 0.0])
    B = np.array([[0.1 * np.cos(x[2, 0]), 0.0], [0.1 * np.sin(x[2, 0]), 0.0], [0.0, 0.1], [1.0, 0.0]])
    return F @ x + B @ u


def seen(x: Any) -> Any:
    return np.array([[1, 0, 0, 0], [0, 1, 0, 0]]) @ x


def points(x: Any, P: Any, gamma: Any) -> Any:
    s = x
    L = np.linalg.cholesky(P)
    for i in range(len(x[:, 0])):
        s = np.hstack((s, x + gamma * L[:, i : i + 1]))
    for i in range(len(x[:, 0])):
        s = np.hstack((s, x - gamma * L[:, i : i + 1]))
    return s


def motion(s: Any, u: Any) -> Any:
    for i in range(s.shape[1]):
        s[:, i : i + 1] = moved(s[:, i : i + 1], u)
    return s


def observed(s: Any) -> Any:
    for i in range(s.shape[1]):
        s[0:2, i] = seen(s[:, i])
    return s[0:2, :]


def cov(x: Any, s: Any, w: Any, Pi: Any) -> Any:
    d = s - x[0 : s.shape[0]]
    P = Pi
    for i in range(s.shape[1]):
        P = P + w[0, i] * d[:, i : i + 1] @ d[:, i : i + 1].T
    return P


def cross(s: Any, x: Any, zs: Any, zb: Any, w: Any) -> Any:
    dx, dz = s - x, zs - zb[0:2]
    P = np.zeros((dx.shape[0], dz.shape[0]))
    for i in range(s.shape[1]):
        P = P + w[0, i] * dx[:, i : i + 1] @ dz[:, i : i + 1].T
    return P


def estimate(x: Any, P: Any, z: Any, u: Any, w: Any, gamma: Any) -> Any:  # noqa: PLR0917
    s = motion(points(x, P, gamma), u)
    xp = (w @ s.T).T
    Pp = cov(xp, s, w, Q)
    y = z - seen(xp)
    s = points(xp, Pp, gamma)
    zb = (w @ s.T).T
    zs = observed(s)
    st = cov(zb, zs, w, R)
    K = cross(s, xp, zs, zb, w) @ np.linalg.inv(st)
    return xp + K @ y, Pp - K @ st @ K.T


def drive(n: Any) -> Any:
    np.random.seed(3)
    x, true, P = np.zeros((4, 1)), np.zeros((4, 1)), np.eye(4)
    w = np.full((1, 9), 1 / 9)
    h = x
    for _ in range(n):
        u = np.array([[1.0], [0.1]])
        true = moved(true, u)
        z = seen(true) + 0.5 * np.random.randn(2, 1)
        x, P = estimate(x, P, z, u + 0.1 * np.random.randn(2, 1), w, 1.7)
        h = np.hstack((h, x))
    return h, P


def test_a_global_that_an_iteration_finds_is_what_it_was_when_the_iteration_is_traced_again() -> None:
    jitted = tilewright.jit(drive, strict=True)
    for _ in range(3):
        for given, wanted in zip(jitted(30), drive(30), strict=True):
            agree(given, wanted)
    assert jitted.specializations
