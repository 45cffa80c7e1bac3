"""An American put by least squares over random paths (Longstaff and Schwartz, 2001). As tutorials write it, afresh."""

import numpy as np


def simulate_paths(S0, r, sigma, T, steps, paths, rng):
    dt = T / steps
    z = rng.standard_normal((steps, paths))
    increments = (r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z
    log_paths = np.vstack([np.zeros(paths), np.cumsum(increments, axis=0)])
    return S0 * np.exp(log_paths)


def american_put(S0, K, r, sigma, T, steps=50, paths=10_000, degree=2, seed=0):
    rng = np.random.default_rng(seed)
    S = simulate_paths(S0, r, sigma, T, steps, paths, rng)
    discount = np.exp(-r * T / steps)
    payoff = np.maximum(K - S[-1], 0)
    for t in range(steps - 1, 0, -1):
        payoff = payoff * discount
        itm = S[t] < K
        if not itm.any():
            continue
        coefficients = np.polyfit(S[t, itm], payoff[itm], degree)
        continuation = np.polyval(coefficients, S[t, itm])
        exercise = K - S[t, itm]
        payoff[itm] = np.where(exercise > continuation, exercise, payoff[itm])
    price = discount * payoff.mean()
    return price, payoff.std(ddof=1) / np.sqrt(paths)


def make_data(small=False):
    steps, paths = (10, 400) if small else (50, 20_000)
    return 36.0, 40.0, 0.06, 0.2, 1.0, steps, paths


if __name__ == "__main__":
    print(american_put(*make_data()))
