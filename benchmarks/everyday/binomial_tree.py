"""American and European options on a binomial tree (Cox, Ross and Rubinstein, 1979). The textbook's backward loop, written afresh."""

import numpy as np


def binomial_option(S, K, T, r, sigma, N=1000, kind="put", american=True):
    if kind not in {"put", "call"}:
        raise ValueError(f"kind is 'put' or 'call', not {kind!r}")
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    sign = 1 if kind == "call" else -1

    prices = S * u ** np.arange(N, -N - 1, -2)
    values = np.maximum(sign * (prices - K), 0)
    for i in range(N - 1, -1, -1):
        values = disc * (p * values[:-1] + (1 - p) * values[1:])
        if american:
            prices = S * u ** np.arange(i, -i - 1, -2)
            values = np.maximum(values, sign * (prices - K))
    return values[0]


def make_data(small=False):
    return 100.0, 105.0, 1.0, 0.05, 0.25, 60 if small else 1200


if __name__ == "__main__":
    print(binomial_option(*make_data()))
