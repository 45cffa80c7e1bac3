"""Path simulation, VaR/ES, greeks, backtest."""
import logging

import numpy as np

logger = logging.getLogger(__name__)


class PathSimulator:
    def __init__(self, book, n_paths=10000, days=10, seed=42, dof=5.0):
        self.book = book
        self.n_paths, self.days, self.dof = n_paths, days, dof
        self.rng = np.random.default_rng(seed)
        self.chol = np.linalg.cholesky(book.corr)
        self.sigma = np.array([a.vol for a in book.assets])
        self.mu = np.array([a.drift for a in book.assets])
        self.s0 = np.array([a.spot for a in book.assets])

    def shocks(self, n, antithetic=True):
        """Correlated student-t shocks of unit variance, shape (n, assets)."""
        z = self.rng.standard_normal((n // 2 if antithetic else n, len(self.s0)))
        if antithetic:
            z = np.concatenate([z, -z])
        w = np.sqrt((self.dof - 2) / self.rng.chisquare(self.dof, size=(len(z), 1)))
        return (z @ self.chol.T) * w

    def run(self):
        """Simulate day by day. Returns P&L, final spots, worst drawdown by asset."""
        dt = 1 / 252
        s = np.tile(self.s0, (self.n_paths, 1))
        low = s.copy()
        for day in range(self.days):
            eps = self.shocks(self.n_paths)
            s = s * np.exp((self.mu - 0.5 * self.sigma**2) * dt + self.sigma * np.sqrt(dt) * eps)
            low = np.minimum(low, s)
            logger.debug("day %d mean %s", day, s.mean(axis=0))
        scen = {name: s[:, j] for j, name in enumerate(self.book.names)}
        pnl = self.book.value(scen, elapsed=self.days * dt) - self.book.value(self.book.spots())
        return pnl, s, (low / self.s0 - 1).min(axis=0)


def var_es(pnl, level):
    losses = np.sort(-pnl)
    k = int(np.ceil(level * len(losses))) - 1
    return losses[k], losses[k:].mean()


def bootstrap_se(pnl, level, n_boot=40, seed=7):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n_boot):
        sample = pnl[rng.integers(0, pnl.size, pnl.size)]
        out.append(np.quantile(-sample, level))
    return float(np.std(out, ddof=1))


def greeks(book, rel=0.01):
    """Delta and gamma by asset, plus vega, theta, rho: finite differences."""
    spots = book.spots()
    base = book.value(spots)
    rows = []
    for a in book.assets:
        h = a.spot * rel
        up = book.value({**spots, a.name: a.spot + h})
        dn = book.value({**spots, a.name: a.spot - h})
        rows.append((a.name, (up - dn) / (2 * h), (up - 2 * base + dn) / h**2))
    return rows, {"vega": (book.value(spots, vol_shift=0.01) - book.value(spots, vol_shift=-0.01)) / 2,
                  "theta": book.value(spots, elapsed=1 / 252) - base,
                  "rho (1bp)": book.value(spots, rate_shift=1e-4) - base}


def price_barrier(book, opt, spot, vol, n_paths, steps=60, seed=11):
    """Up-and-out call by Monte Carlo (common random numbers via the seed)."""
    rng = np.random.default_rng(seed)
    dt = opt.expiry / steps
    logs = np.full(n_paths, np.log(spot))
    alive = np.ones(n_paths, dtype=bool)
    for _ in range(steps):
        logs += (book.rate - 0.5 * vol**2) * dt + vol * np.sqrt(dt) * rng.standard_normal(n_paths)
        alive &= logs < np.log(opt.barrier)
    pay = np.where(alive, np.maximum(np.exp(logs) - opt.strike, 0), 0.0) * np.exp(-book.rate * opt.expiry)
    return pay.mean(), pay.std(ddof=1) / np.sqrt(n_paths)


def barrier_greeks(book, opt, n_paths):
    a = book.by_name[opt.asset]
    h = 0.02 * a.spot
    p0, se = price_barrier(book, opt, a.spot, a.vol, n_paths)
    up, dn = (price_barrier(book, opt, a.spot + d, a.vol, n_paths)[0] for d in (h, -h))
    vu, _ = price_barrier(book, opt, a.spot, a.vol + 0.01, n_paths)
    return {"price": p0, "stderr": se, "delta": (up - dn) / (2 * h), "vega": vu - p0}


def backtest(book, n_days=1000, window=250, level=0.99):
    """Rolling historical and EWMA VaR against a simulated linear P&L history."""
    sim = PathSimulator(book, seed=5)
    rets = sim.shocks(n_days, antithetic=False) * sim.sigma / np.sqrt(252)
    expo = np.array([book.holdings.get(a.name, 0) * a.spot for a in book.assets])
    pnl = rets @ expo
    hits = {"historical": [], "ewma": []}
    cov = np.cov(rets[:window].T)
    for t in range(window, n_days):
        if pnl[t] < np.percentile(pnl[t - window:t], 100 * (1 - level)):
            hits["historical"].append(t)
        if pnl[t] < -2.326 * np.sqrt(expo @ cov @ expo):
            hits["ewma"].append(t)
        cov = 0.94 * cov + 0.06 * np.outer(rets[t], rets[t])
    return hits, n_days - window
