"""Backtest a handful of simple strategies on a synthetic equity panel."""
import argparse
import logging
import math
from dataclasses import dataclass

import numpy as np
logging.basicConfig(level=logging.WARNING)
log = logging.getLogger("backtest")
TRADING_DAYS = 252


@dataclass
class Panel:
    prices: np.ndarray      # (T, N)
    volume: np.ndarray
    sectors: np.ndarray
    tickers: list

    def __post_init__(self):
        self.returns = np.zeros_like(self.prices)
        self.returns[1:] = self.prices[1:] / self.prices[:-1] - 1


def make_panel(n_days=2800, n_assets=400, n_sectors=8, seed=42):
    """One market factor with GARCH volatility, sector factors, slow-moving drift."""
    rng = np.random.default_rng(seed)
    sectors = rng.integers(0, n_sectors, n_assets)
    beta = rng.normal(1.0, 0.25, n_assets)
    idio = rng.uniform(0.008, 0.025, n_assets)

    market, var = np.zeros(n_days), 1e-4
    for t in range(n_days):
        market[t] = 0.0007 + math.sqrt(var) * rng.standard_normal()
        var = 2e-6 + 0.09 * market[t] ** 2 + 0.89 * var

    sector_ret = rng.normal(0, 0.006, (n_days, n_sectors))
    drift = rng.normal(0, 3e-5, (n_days, n_assets))
    for t in range(1, n_days):
        drift[t] += 0.985 * drift[t - 1]
    noise = rng.standard_t(5, (n_days, n_assets)) * idio * math.sqrt(3 / 5)
    noise[1:] -= 0.05 * noise[:-1]
    ret = np.clip(market[:, None] * beta + sector_ret[:, sectors] + drift + noise, -0.4, 0.4)
    prices = 50 * np.exp(np.cumsum(np.log1p(ret), axis=0))
    volume = rng.lognormal(13, 0.5, (n_days, n_assets)) * (1 + 10 * np.abs(ret))
    tickers = ["".join(chr(65 + c) for c in rng.integers(0, 26, 4)) for _ in range(n_assets)]
    return Panel(prices, volume, sectors, tickers)


def rolling_mean(x, n):
    cs = np.cumsum(x, axis=0)
    out = np.full(x.shape, np.nan)
    out[n - 1:] = cs[n - 1:]
    out[n:] -= cs[:-n]
    return out / n


def rolling_std(x, n):
    var = rolling_mean(x**2, n) - rolling_mean(x, n) ** 2
    return np.sqrt(np.maximum(var, 0) * n / (n - 1))


def ewma(x, halflife):
    alpha = 1 - 0.5 ** (1 / halflife)
    out = np.empty_like(x)
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


def zscore(row):
    ok = np.isfinite(row)
    z = np.zeros_like(row)
    s = row[ok].std()
    if s > 0:
        z[ok] = np.clip((row[ok] - row[ok].mean()) / s, -3, 3)
    return z


def sector_neutral(row, sectors):
    out = row.copy()
    for s in range(sectors.max() + 1):
        sel = sectors == s
        out[sel] -= np.nanmean(row[sel])
    return out


class Strategy:
    rebalance = 5
    warmup = 0

    def __init__(self, panel):
        self.panel = panel
        self.returns = panel.returns


class EqualWeight(Strategy):
    name, rebalance = "equal weight", 21

    def weights(self, t, previous):
        return np.full(len(previous), 1 / len(previous))


class Momentum(Strategy):
    name = "momentum 120/10"

    def __init__(self, panel, lookback=120, skip=10):
        super().__init__(panel)
        self.lookback, self.skip, self.warmup = lookback, skip, lookback + skip + 1
        self.vol = rolling_std(self.returns, 60)

    def weights(self, t, previous):
        p = self.panel.prices
        mom = p[t - self.skip] / p[t - self.skip - self.lookback] - 1
        w = zscore(sector_neutral(mom / self.vol[t], self.panel.sectors)) / self.vol[t]
        return w / np.abs(w).sum()


class Reversal(Strategy):
    name, rebalance, warmup = "short-term reversal", 1, 30

    def __init__(self, panel):
        super().__init__(panel)
        self.vol = rolling_std(self.returns, 20)

    def weights(self, t, previous):
        target = -zscore(sector_neutral(self.returns[t], self.panel.sectors) / self.vol[t])
        target /= np.abs(target).sum()
        return 0.7 * previous + 0.3 * target


class TrendCrossover(Strategy):
    name = "ewma crossover"

    def __init__(self, panel, fast=10, slow=50):
        super().__init__(panel)
        self.warmup = 2 * slow
        logp = np.log(panel.prices)
        self.signal = ewma(logp, fast) - ewma(logp, slow)
        self.vol = rolling_std(self.returns, 60)

    def weights(self, t, previous):
        sig = np.tanh(self.signal[t] / (self.vol[t] * 5))
        raw = np.where(np.abs(sig) > 0.2, sig, 0.0) / self.vol[t]
        return raw / max(np.abs(raw).sum(), 1e-12)


class MinVariance(Strategy):
    name, rebalance = "minimum variance", 21

    def __init__(self, panel, window=250, shrink=0.3, universe=120):
        super().__init__(panel)
        self.window, self.shrink, self.universe = window, shrink, universe
        self.dollar = rolling_mean(panel.prices * panel.volume, 60)

    def weights(self, t, previous):
        members = np.argsort(self.dollar[t])[::-1][:self.universe]
        r = self.returns[t - self.window + 1:t + 1, members]
        cov = np.cov(r, rowvar=False)
        cov = (1 - self.shrink) * cov + self.shrink * np.diag(np.diag(cov))
        try:
            raw = np.clip(np.linalg.solve(cov, np.ones(len(cov))), 0, None)
        except np.linalg.LinAlgError:
            log.warning("singular covariance at %d", t)
            return previous
        w = np.zeros_like(previous)
        w[members] = raw / raw.sum()
        return w


def backtest(strategy, cost_bps=5.0, start=260):
    ret = strategy.returns
    w = np.zeros(ret.shape[1])
    pnl, turnover, gross = [], [], []
    for t in range(max(start, strategy.warmup), len(ret) - 1):
        cost = 0.0
        if (t - start) % strategy.rebalance == 0:
            new = strategy.weights(t, w)
            turnover.append(np.abs(new - w).sum())
            cost = turnover[-1] * cost_bps * 1e-4
            w = new
        day = float(w @ ret[t + 1]) - cost
        pnl.append(day)
        w = w * (1 + ret[t + 1]) / (1 + day)
        gross.append(np.abs(w).sum())
    return {"name": strategy.name, "pnl": np.array(pnl), "turnover": np.mean(turnover), "gross": np.mean(gross)}


def drawdown(pnl):
    equity = np.cumprod(1 + pnl)
    dd = equity / np.maximum.accumulate(equity) - 1
    longest = run = 0
    for under in dd < 0:
        run = run + 1 if under else 0
        longest = max(longest, run)
    return dd.min(), longest


def sharpe(pnl):
    return pnl.mean() / pnl.std(ddof=1) * math.sqrt(TRADING_DAYS)


def block_bootstrap(pnl, n_boot=2000, block=20, seed=0):
    rng = np.random.default_rng(seed)
    n_blocks = math.ceil(len(pnl) / block)
    out = np.empty(n_boot)
    for b in range(n_boot):
        starts = rng.integers(0, len(pnl) - block, n_blocks)
        idx = (starts[:, None] + np.arange(block)).ravel()[:len(pnl)]
        out[b] = sharpe(pnl[idx])
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--days", type=int, default=2800)
    ap.add_argument("--cost", type=float, default=5.0, help="basis points")
    args = ap.parse_args()

    panel = make_panel(args.days)
    r = panel.returns
    dollar = rolling_mean(panel.prices * panel.volume, 20)[-1]
    print(f"panel {panel.prices.shape}, mean annual vol {r.std(axis=0).mean() * math.sqrt(252):.3f}, "
          f"average pair correlation {(np.corrcoef(r.T).sum() - len(r.T)) / len(r.T) / (len(r.T) - 1):.3f}")
    top = np.argsort(dollar)[::-1][:5]
    print("most traded: " + ", ".join(f"{panel.tickers[i]} ({dollar[i] / 1e6:.1f}M)" for i in top))

    results = []
    for cls in (EqualWeight, Momentum, Reversal, TrendCrossover, MinVariance):
        res = backtest(cls(panel), args.cost)
        boot = block_bootstrap(res["pnl"])
        mdd, longest = drawdown(res["pnl"])
        res.update(sharpe=sharpe(res["pnl"]), mdd=mdd, longest=longest,
                   lo=np.percentile(boot, 5), hi=np.percentile(boot, 95), p_neg=(boot < 0).mean())
        results.append(res)

    print("\nstrategy              ann.ret     vol  sharpe     5%    95%    p<0   maxDD  longest   turn  gross")
    for x in results:
        print(f"{x['name']:<20} {x['pnl'].mean() * 252:8.4f} {x['pnl'].std() * 252**0.5:7.4f} {x['sharpe']:7.2f} "
              f"{x['lo']:6.2f} {x['hi']:6.2f} {x['p_neg']:6.3f} {x['mdd']:7.3f} {x['longest']:8d} "
              f"{x['turnover']:6.3f} {x['gross']:6.3f}")
    corr = np.corrcoef([x["pnl"] for x in results])
    print("\ncorrelation of daily results:")
    for x, row in zip(results, corr):
        print(f"  {x['name']:<20} " + " ".join(f"{c:6.2f}" for c in row))


if __name__ == "__main__":
    main()
