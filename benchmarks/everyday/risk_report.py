"""The figures of a track record: drawdown, ratios, value at risk, losing streaks. After quantopian/empyrical (Apache-2.0), written afresh."""

import numpy as np

PERIODS = {"daily": 252, "weekly": 52, "monthly": 12}


def max_drawdown(returns):
    cumulative = np.cumprod(1 + returns) * 100
    peak = np.fmax.accumulate(cumulative)
    return np.nanmin((cumulative - peak) / peak)


def longest_streak(flags):
    # run lengths: where the flag changes
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    lengths = edges[1::2] - edges[::2]
    return lengths.max() if len(lengths) else 0


def risk_report(returns, period="daily", cutoff=0.05):
    if period not in PERIODS:
        raise ValueError("Period cannot be '{}'. Can be '{}'.".format(period, "', '".join(PERIODS)))
    returns = returns[~np.isnan(returns)]
    factor = PERIODS[period]
    years = len(returns) / factor
    downside = np.sqrt(np.mean(np.clip(returns, -np.inf, 0) ** 2)) * np.sqrt(factor)
    value_at_risk = np.percentile(returns, 100 * cutoff)
    return {
        "annual_return": np.prod(1 + returns) ** (1 / years) - 1,
        "volatility": np.std(returns, ddof=1) * np.sqrt(factor),
        "sharpe": np.mean(returns) / np.std(returns, ddof=1) * np.sqrt(factor),
        "sortino": np.mean(returns) * factor / downside,
        "max_drawdown": max_drawdown(returns),
        "value_at_risk": value_at_risk,
        "expected_shortfall": returns[returns <= value_at_risk].mean(),
        "longest_losing_streak": longest_streak(returns < 0),
    }


def make_data(small=False):
    n = 1000 if small else 500_000
    rng = np.random.default_rng(11)
    returns = rng.standard_t(4, n) * 1e-4 + 2e-6
    returns[rng.random(n) < 0.01] = np.nan
    return (returns,)


if __name__ == "__main__":
    print(risk_report(*make_data()))
