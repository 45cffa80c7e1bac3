"""Two moving averages that cross, traded and paid for. The usual vectorized backtest, written afresh."""

import numpy as np


def moving_average(x, n):
    c = np.cumsum(np.insert(x, 0, 0.0))
    out = np.full(len(x), np.nan)
    out[n - 1 :] = (c[n:] - c[:-n]) / n
    return out


def backtest(prices, fast=20, slow=100, cost=1e-4):
    if fast >= slow:
        raise ValueError("the fast average must be shorter than the slow one")
    signal = np.where(moving_average(prices, fast) > moving_average(prices, slow), 1, -1)
    signal[: slow - 1] = 0
    returns = np.diff(np.log(prices))
    position = signal[:-1]  # today's signal is traded tomorrow
    turnover = np.abs(np.diff(position, prepend=0))
    pnl = position * returns - cost * turnover
    equity = np.exp(np.cumsum(pnl))
    trades = np.nonzero(turnover)[0]
    bounds = np.append(trades, len(pnl))
    per_trade = np.add.reduceat(pnl, trades) if len(trades) else np.zeros(0)
    return equity, trades, np.diff(bounds), (per_trade > 0).sum()


def make_data(small=False):
    n = 800 if small else 400_000
    rng = np.random.default_rng(12)
    return (100 * np.exp(np.cumsum(rng.normal(0, 1e-3, n))),)


if __name__ == "__main__":
    print(backtest(*make_data())[3])
