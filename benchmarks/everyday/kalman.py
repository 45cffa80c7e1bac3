"""Kalman's filter for a constant voltage. After the SciPy cookbook's KalmanFiltering (A. D. Straw, BSD-3), written afresh."""

import numpy as np


def kalman(z, Q=1e-5, R=0.1**2):
    n_iter = len(z)
    xhat = np.zeros(n_iter)  # a posteriori estimate
    P = np.zeros(n_iter)  # a posteriori error
    xhatminus = np.zeros(n_iter)
    Pminus = np.zeros(n_iter)
    K = np.zeros(n_iter)  # gain

    xhat[0] = 0.0
    P[0] = 1.0
    for k in range(1, n_iter):
        xhatminus[k] = xhat[k - 1]
        Pminus[k] = P[k - 1] + Q
        K[k] = Pminus[k] / (Pminus[k] + R)
        xhat[k] = xhatminus[k] + K[k] * (z[k] - xhatminus[k])
        P[k] = (1 - K[k]) * Pminus[k]
    return xhat, P, K


def make_data(small=False):
    rng = np.random.default_rng(7)
    return (rng.normal(-0.37727, 0.1, 200 if small else 20_000),)


if __name__ == "__main__":
    print(kalman(*make_data())[0][-1])
