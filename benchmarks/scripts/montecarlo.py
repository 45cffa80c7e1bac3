"""Prices of options by simulation, with Greeks and a report. The idiom of Monte Carlo notebooks after Glasserman (2003) and Hull, written afresh.

All at module level, as in a notebook that was saved as a script. `python montecarlo.py --small` takes fewer paths.
"""

import sys
from dataclasses import dataclass
from math import erf

import numpy as np

# ---------------------------------------------------------------- parameters
SMALL = "--small" in sys.argv[1:]

S0 = 100.0  # spot
K = 105.0  # strike
T = 1.0  # years
r = 0.03  # rate
q = 0.01  # dividends
sigma = 0.22  # volatility
barrier = 130.0
n_steps = 12 if SMALL else 126
n_paths = 2_000 if SMALL else 40_000
n_batches = 2 if SMALL else 12
n_terminal = 20_000 if SMALL else 1_000_000
dt = T / n_steps
rng = np.random.default_rng(20240101)


@dataclass
class Estimate:
    name: str
    value: float
    error: float
    exact: float | None = None

    def line(self):
        exact = "" if self.exact is None else f"  exact {self.exact:9.5f}  off by {self.value - self.exact:+.5f}"
        return f"{self.name:<22}{self.value:10.5f} +- {self.error:.5f}{exact}"


# ---------------------------------------------------------------- closed forms
def norm_cdf(x):
    return 0.5 * (1 + erf(x / 2**0.5))


def norm_pdf(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def black_scholes(S, K, T, r, q, sigma, kind="call"):
    d1 = (np.log(S / K) + (r - q + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    if kind == "call":
        return S * np.exp(-q * T) * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
    return K * np.exp(-r * T) * norm_cdf(-d2) - S * np.exp(-q * T) * norm_cdf(-d1)


def greeks(S, K, T, r, q, sigma):
    d1 = (np.log(S / K) + (r - q + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    return {
        "delta": np.exp(-q * T) * norm_cdf(d1),
        "gamma": np.exp(-q * T) * norm_pdf(d1) / (S * sigma * np.sqrt(T)),
        "vega": S * np.exp(-q * T) * norm_pdf(d1) * np.sqrt(T),
    }


def mean_and_error(x):
    return x.mean(), x.std(ddof=1) / np.sqrt(len(x))


results = {}


def report(name, samples, exact=None):
    value, error = mean_and_error(samples)
    results[name] = Estimate(name, value, error, exact)
    print(results[name].line())


# ---------------------------------------------------------------- European options, terminal values alone
print(f"European options, {n_terminal} terminal values")
disc = np.exp(-r * T)
Z = rng.standard_normal(n_terminal)
ST = S0 * np.exp((r - q - 0.5 * sigma**2) * T + sigma * np.sqrt(T) * Z)
call_exact = black_scholes(S0, K, T, r, q, sigma)
report("call, plain", disc * np.maximum(ST - K, 0), call_exact)

ST2 = S0 * np.exp((r - q - 0.5 * sigma**2) * T - sigma * np.sqrt(T) * Z)
report("call, antithetic", disc * 0.5 * (np.maximum(ST - K, 0) + np.maximum(ST2 - K, 0)), call_exact)

# control variate: the share itself, whose mean is known
payoff = disc * np.maximum(ST - K, 0)
cov = np.cov(payoff, ST)
b = cov[0, 1] / cov[1, 1]
report("call, control", payoff - b * (ST - S0 * np.exp((r - q) * T)), call_exact)
report("put, plain", disc * np.maximum(K - ST, 0), black_scholes(S0, K, T, r, q, sigma, "put"))

# implied volatility of the simulated price, by bisection
lo, hi = 0.01, 1.0
while hi - lo > 1e-8:
    mid = 0.5 * (lo + hi)
    if black_scholes(S0, K, T, r, q, mid) > results["call, control"].value:
        hi = mid
    else:
        lo = mid
print(f"implied volatility: {0.5 * (lo + hi):.5f}")

# ---------------------------------------------------------------- Greeks
print("\nGreeks of the call")
exact = greeks(S0, K, T, r, q, sigma)
in_money = ST > K
report("delta, pathwise", disc * in_money * ST / S0, exact["delta"])
report("vega, pathwise", disc * in_money * ST / sigma * (np.log(ST / S0) - (r - q + 0.5 * sigma**2) * T), exact["vega"])
score = Z / (S0 * sigma * np.sqrt(T))
report("delta, likelihood", payoff * score, exact["delta"])
h = 0.5
bumped = []
for shift in (-h, 0.0, h):
    Sb = (S0 + shift) * np.exp((r - q - 0.5 * sigma**2) * T + sigma * np.sqrt(T) * Z)
    bumped.append(disc * np.maximum(Sb - K, 0))
report("gamma, differences", (bumped[2] - 2 * bumped[1] + bumped[0]) / h**2, exact["gamma"])


# ---------------------------------------------------------------- path-dependent options
class Welford:
    """Mean and variance of values that come in batches."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.m2 = 0.0

    def add(self, x):
        n = len(x)
        delta = x.mean() - self.mean
        total = self.n + n
        self.m2 += ((x - x.mean()) ** 2).sum() + delta**2 * self.n * n / total
        self.mean += delta * n / total
        self.n = total

    def error(self):
        return np.sqrt(self.m2 / (self.n - 1) / self.n)


def simulate_gbm(n):
    """Paths with their mirror images: (2 n, n_steps + 1)."""
    z = rng.standard_normal((n, n_steps))
    z = np.concatenate([z, -z])
    increments = (r - q - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z
    log_paths = np.zeros((2 * n, n_steps + 1))
    log_paths[:, 1:] = np.cumsum(increments, axis=1)
    return S0 * np.exp(log_paths)


stats = {name: Welford() for name in ("asian", "geometric asian", "up and out", "lookback", "american put")}


def longstaff_schwartz(paths, degree=3):
    cash = np.maximum(K - paths[:, -1], 0)
    step = max(1, n_steps // 12)
    for t in range(n_steps - step, 0, -step):
        cash = cash * np.exp(-r * dt * step)
        itm = paths[:, t] < K
        if itm.sum() < degree + 1:
            continue
        x = paths[itm, t] / K
        A = np.vander(x, degree + 1)
        coef, *_ = np.linalg.lstsq(A, cash[itm], rcond=None)
        exercise = K - paths[itm, t]
        better = exercise > A @ coef
        cash[np.where(itm)[0][better]] = exercise[better]
    return cash * np.exp(-r * dt * step)


print(f"\nPath-dependent options, {n_batches} batches of {n_paths} paths of {n_steps} steps")
for batch in range(n_batches):
    paths = simulate_gbm(n_paths // 2)
    later = paths[:, 1:]
    stats["asian"].add(disc * np.maximum(later.mean(axis=1) - K, 0))
    stats["geometric asian"].add(disc * np.maximum(np.exp(np.log(later).mean(axis=1)) - K, 0))
    alive = (paths < barrier).all(axis=1)
    stats["up and out"].add(disc * np.where(alive, np.maximum(paths[:, -1] - K, 0), 0.0))
    stats["lookback"].add(disc * (paths.max(axis=1) - paths[:, -1]))
    stats["american put"].add(longstaff_schwartz(paths))
    asian = stats["asian"]
    print(
        f"  batch {batch + 1}: asian {asian.mean:.5f} +- {asian.error():.5f}, knocked out {100 * (1 - alive.mean()):.3f} %"
    )

for name, w in stats.items():
    results[name] = Estimate(name, w.mean, w.error())
    print(results[name].line())

# ---------------------------------------------------------------- Heston, a step of time for all paths
kappa, theta, xi, rho, v0 = 1.5, 0.05, 0.4, -0.7, 0.04
n_heston = 4_000 if SMALL else 60_000
S = np.full(n_heston, S0)
v = np.full(n_heston, v0)
below_zero = 0
for i in range(n_steps):
    z1 = rng.standard_normal(n_heston)
    z2 = rho * z1 + np.sqrt(1 - rho**2) * rng.standard_normal(n_heston)
    vp = np.maximum(v, 0)
    S *= np.exp((r - q - 0.5 * vp) * dt + np.sqrt(vp * dt) * z1)
    v += kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * z2
    below_zero += np.count_nonzero(v < 0)
print(f"\nHeston: mean variance {v.mean():.6f}, below zero in {below_zero} of {n_heston * n_steps} steps")
smile = {}
for strike in (80, 90, 100, 110, 120):
    price = (disc * np.maximum(S - strike, 0)).mean()
    lo, hi = 1e-4, 2.0
    for _ in range(60):
        mid = (lo + hi) / 2
        if black_scholes(S0, strike, T, r, q, mid) > price:
            hi = mid
        else:
            lo = mid
    smile[strike] = mid
    print(f"  strike {strike}: price {price:9.5f}, implied volatility {mid:.5f}")

# ---------------------------------------------------------------- risk of a small book
weights = np.array([0.4, 0.3, 0.2, 0.1])
vols = np.array([0.2, 0.25, 0.18, 0.4])
corr = 0.3 + 0.7 * np.eye(4)
L = np.linalg.cholesky(corr * np.outer(vols, vols) / 252)
losses = []
for day in range(20 if SMALL else 250):
    shocks = rng.standard_normal((2_000, 4)) @ L.T
    losses.append(-(np.exp(shocks) - 1) @ weights)
losses = np.concatenate(losses)
var95, var99 = np.quantile(losses, [0.95, 0.99])
shortfall = losses[losses >= var99].mean()
print(f"\nbook: VaR 95 % {var95:.6f}, VaR 99 % {var99:.6f}, expected shortfall {shortfall:.6f}")

worst = max((e for e in results.values() if e.exact is not None), key=lambda e: abs(e.value - e.exact) / e.error)
print(
    f"furthest from its exact value: {worst.name}, {abs(worst.value - worst.exact) / worst.error:.3f} standard errors"
)
