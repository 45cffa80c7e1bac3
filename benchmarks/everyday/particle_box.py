"""Discs in a box that fall and bounce off each other and the walls. After J. VanderPlas' animated particle box (BSD-3), written afresh."""

import numpy as np


def step(state, dt, size, mass, bounds, gravity):
    """state: x, y, vx, vy of each disc, changed in place."""
    state[:, :2] += dt * state[:, 2:]

    # pairs that overlap
    delta = state[:, None, :2] - state[None, :, :2]
    distance = np.sqrt(np.sum(delta**2, axis=-1))
    ind1, ind2 = np.where(distance < 2 * size)
    unique = ind1 < ind2
    ind1 = ind1[unique]
    ind2 = ind2[unique]
    for i1, i2 in zip(ind1, ind2, strict=True):
        m1, m2 = mass[i1], mass[i2]
        r_rel = state[i1, :2] - state[i2, :2]
        v_rel = state[i1, 2:] - state[i2, 2:]
        v_cm = (m1 * state[i1, 2:] + m2 * state[i2, 2:]) / (m1 + m2)
        rr_rel = np.dot(r_rel, r_rel)
        vr_rel = np.dot(v_rel, r_rel)
        v_rel = 2 * r_rel * vr_rel / rr_rel - v_rel
        state[i1, 2:] = v_cm + v_rel * m2 / (m1 + m2)
        state[i2, 2:] = v_cm - v_rel * m1 / (m1 + m2)

    crossed_x1 = state[:, 0] < bounds[0] + size
    crossed_x2 = state[:, 0] > bounds[1] - size
    crossed_y1 = state[:, 1] < bounds[2] + size
    crossed_y2 = state[:, 1] > bounds[3] - size
    state[crossed_x1, 0] = bounds[0] + size
    state[crossed_x2, 0] = bounds[1] - size
    state[crossed_y1, 1] = bounds[2] + size
    state[crossed_y2, 1] = bounds[3] - size
    state[crossed_x1 | crossed_x2, 2] *= -1
    state[crossed_y1 | crossed_y2, 3] *= -1
    state[:, 3] -= gravity * dt
    return len(ind1)


def run(init_state, mass, steps, dt=1 / 30, size=0.04, bounds=(-2, 2, -2, 2), gravity=9.8):
    state = init_state.copy()
    hits = 0
    for _ in range(steps):
        hits += step(state, dt, size, mass, bounds, gravity)
    return state, hits


def make_data(small=False):
    n, steps = (12, 4) if small else (200, 15)  # of 25 the last bits of the data decide: discs are chaotic
    rng = np.random.default_rng(20)
    state = 3.9 * (rng.random((n, 4)) - 0.5)
    return state, 0.05 * np.ones(n), steps


if __name__ == "__main__":
    print(run(*make_data())[1])
