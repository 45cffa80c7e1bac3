# Weekly look at the daily series: smoothing, AR models, anomalies, forecasts
import itertools
import math
import warnings
from collections import Counter, defaultdict

import numpy as np

warnings.simplefilter("ignore", RuntimeWarning)

SEED = 20240611
N_SERIES = 20
N_OBS = 1400
HORIZON = 28
SEASON = 7
WINDOW = 30

rng = np.random.default_rng(SEED)


# ---------------------------------------------------------------- helpers
def make_series(kind, n):
    """Synthetic daily series with a known structure. Returns values, true anomaly idx."""
    t = np.arange(n)
    if kind == "trend":
        y = 50 + 0.02 * t + rng.normal(0, 2.0, n)
    elif kind == "seasonal":
        y = 100 + 8 * np.sin(2 * np.pi * t / SEASON) + 5 * np.cos(2 * np.pi * t / 365.25)
        y += rng.normal(0, 1.5, n)
    elif kind == "ar":
        e = rng.normal(0, 1.0, n)
        y = np.zeros(n)
        for i in range(2, n):
            y[i] = 1.2 * y[i - 1] - 0.4 * y[i - 2] + e[i]
        y = y + 20
    elif kind == "walk":
        y = 200 + np.cumsum(rng.normal(0, 0.7, n))
    else:
        raise ValueError(f"unknown kind {kind}")
    idx = rng.choice(np.arange(100, n - 100), size=6, replace=False)
    y[idx] += rng.choice([-1, 1], size=6) * rng.uniform(6, 10, 6) * np.std(np.diff(y))
    return y, set(int(i) for i in idx)


def ses(y, alpha):
    level = y[0]
    out = np.empty_like(y)
    for i in range(len(y)):
        out[i] = level
        level = alpha * y[i] + (1 - alpha) * level
    return out, level


def holt_winters(y, m, alpha, beta, gamma, horizon):
    """Additive Holt-Winters, returns (one-step fitted, forecast)."""
    level = np.mean(y[:m])
    trend = (np.mean(y[m:2 * m]) - np.mean(y[:m])) / m
    season = y[:m] - level
    fitted = np.zeros(len(y))
    for t in range(len(y)):
        s = season[t % m]
        fitted[t] = level + trend + s
        prev = level
        level = alpha * (y[t] - s) + (1 - alpha) * (level + trend)
        trend = beta * (level - prev) + (1 - beta) * trend
        season[t % m] = gamma * (y[t] - level) + (1 - gamma) * s
    h = np.arange(1, horizon + 1)
    fc = level + h * trend + season[(len(y) + h - 1) % m]
    return fitted, fc


def fit_ar(y, p):
    """AR(p) with intercept by least squares. Returns coef, sigma2, aic."""
    X = np.column_stack([np.ones(len(y) - p)] + [y[p - k:len(y) - k] for k in range(1, p + 1)])
    target = y[p:]
    coef, _, rank, _ = np.linalg.lstsq(X, target, rcond=None)
    if rank < p + 1:
        raise np.linalg.LinAlgError("design matrix is rank deficient")
    resid = target - X @ coef
    sigma2 = np.mean(resid**2)
    return coef, sigma2, len(target) * np.log(sigma2) + 2 * (p + 2)


def forecast_ar(y, coef, horizon):
    p = len(coef) - 1
    hist = list(y[-p:])
    for _ in range(horizon):
        lags = np.array(hist[-p:])[::-1]
        hist.append(coef[0] + np.dot(coef[1:], lags))
    return np.array(hist[p:])


def acf(y, nlags):
    d = y - y.mean()
    c0 = np.dot(d, d)
    return np.array([1.0] + [np.dot(d[k:], d[:-k]) / c0 for k in range(1, nlags + 1)])


def rolling(y, w, func):
    win = np.lib.stride_tricks.sliding_window_view(y, w)
    return func(win, axis=-1)


def mad_scores(y, w):
    """Robust z-score of every point against the preceding window."""
    scores = np.zeros(len(y))
    for i in range(w, len(y)):
        ref = y[i - w:i]
        med = np.median(ref)
        mad = np.median(np.abs(ref - med))
        scores[i] = 0.6745 * (y[i] - med) / (mad + 1e-9)
    return scores


def metrics(actual, pred, train):
    err = actual - pred
    scale = np.mean(np.abs(train[SEASON:] - train[:-SEASON]))
    return {
        "mae": np.mean(np.abs(err)),
        "rmse": math.sqrt(np.mean(err**2)),
        "smape": 100 * np.mean(2 * np.abs(err) / (np.abs(actual) + np.abs(pred))),
        "mase": np.mean(np.abs(err)) / scale,
    }


kinds = itertools.cycle(["trend", "seasonal", "ar", "walk"])
records = []
for i in range(N_SERIES):
    kind = next(kinds)
    values, truth = make_series(kind, N_OBS)
    records.append({"id": f"S{i:03d}", "kind": kind, "y": values, "anomalies": truth})

# knock out some observations, as in the real export
n_missing = 0
for rec in records:
    miss = rng.random(N_OBS) < 0.01
    miss[:WINDOW] = miss[-HORIZON:] = False
    y = rec["y"].copy()
    y[miss] = np.nan
    n_missing += int(miss.sum())
    ok = ~np.isnan(y)
    rec["y"] = np.interp(np.arange(N_OBS), np.flatnonzero(ok), y[ok])
print(f"{len(records)} series x {N_OBS} obs, {n_missing} gaps filled by interpolation")

# --- summary statistics
print("\nSummary")
panel = np.vstack([r["y"] for r in records])
q05, q50, q95 = np.percentile(panel, [5, 50, 95], axis=1)
for rec, lo, mid, hi in zip(records, q05, q50, q95):
    y = rec["y"]
    rec["acf"] = acf(y, 14)
    if rec["id"] < "S004":
        print(f"  {rec['id']} {rec['kind']:9s} mean={y.mean():8.2f} sd={y.std(ddof=1):7.2f} "
              f"q05={lo:7.2f} med={mid:7.2f} q95={hi:7.2f} acf1={rec['acf'][1]:.2f} acf7={rec['acf'][7]:.2f}")
diffs = np.diff(panel, axis=1)
corr = np.corrcoef(diffs)
off = corr[np.triu_indices(N_SERIES, k=1)]
print(f"  correlation of differences: max |r| = {np.abs(off).max():.3f}, mean = {off.mean():.3f}")

# --- rolling stats
print("\nRolling windows")
for rec in records:
    y = rec["y"]
    mu = rolling(y, WINDOW, np.mean)
    sd = rolling(y, WINDOW, np.std)
    rng_ = rolling(y, WINDOW, np.max) - rolling(y, WINDOW, np.min)
    rec["vol_ratio"] = sd.max() / np.median(sd)
    rec["crossings"] = int(np.count_nonzero(np.diff(np.sign(mu - mu.mean()))))
    rec["range"] = float(np.median(rng_))
by_kind = defaultdict(list)
for rec in records:
    by_kind[rec["kind"]].append((rec["vol_ratio"], rec["crossings"], rec["range"]))
for kind, rows in sorted(by_kind.items()):
    a = np.array(rows)
    print(f"  {kind:9s} vol_ratio={a[:, 0].mean():.2f} crossings={a[:, 1].mean():.1f} range={a[:, 2].mean():.2f}")

# ---------------------------------------------------------------- anomalies
print("\nAnomaly detection (MAD scores of smoothing residuals)")
tally = Counter()
for rec in records:
    y = rec["y"]
    resid = y - ses(y, 0.3)[0]
    score = mad_scores(resid, 60)
    flagged = set(np.where(np.abs(score) > 5)[0].tolist())
    merged = {i for i in flagged if i - 1 not in flagged}
    tally["tp"] += len(merged & rec["anomalies"])
    tally["fp"] += len(merged - rec["anomalies"])
    tally["fn"] += len(rec["anomalies"] - merged)
prec = tally["tp"] / max(1, tally["tp"] + tally["fp"])
rec_ = tally["tp"] / max(1, tally["tp"] + tally["fn"])
print(f"  tp={tally['tp']} fp={tally['fp']} fn={tally['fn']}  precision={prec:.2f} recall={rec_:.2f}")

# --- models
print("\nForecasts")
results = defaultdict(list)
orders = Counter()
failures = []
for n, rec in enumerate(records):
    y = rec["y"]
    train, test = y[:-HORIZON], y[-HORIZON:]

    naive = np.tile(train[-SEASON:], HORIZON // SEASON)
    results["snaive"].append(metrics(test, naive, train))

    # simple exponential smoothing, alpha on a grid
    best = (np.inf, None)
    for alpha in np.linspace(0.05, 0.95, 10):
        fit, last = ses(train, alpha)
        sse = np.sum((train[1:] - fit[1:]) ** 2)
        if sse < best[0]:
            best = (sse, last)
    results["ses"].append(metrics(test, np.full(HORIZON, best[1]), train))

    # Holt-Winters with a few settings
    best = None
    for alpha, gamma in itertools.product((0.1, 0.3, 0.6), (0.05, 0.2)):
        fitted, fc = holt_winters(train, SEASON, alpha, 0.01, gamma, HORIZON)
        mse = ((train[50:] - fitted[50:]) ** 2).mean()
        if best is None or mse < best[0]:
            best = (mse, fc)
    results["hw"].append(metrics(test, best[1], train))

    # AR with AIC order selection
    try:
        fits = {p: fit_ar(train, p) for p in range(1, 15)}
        p_best = min(fits, key=lambda p: fits[p][2])
        orders[p_best] += 1
        results["ar"].append(metrics(test, forecast_ar(train, fits[p_best][0], HORIZON), train))
    except np.linalg.LinAlgError as err:
        failures.append((rec["id"], str(err)))
    if (n + 1) % 4 == 0:
        print(f"  ... {n + 1}/{len(records)} series done")

try:  # a constant series from the export: used to crash the fit
    fit_ar(np.full(200, 3.0), 2)
except np.linalg.LinAlgError as err:
    failures.append(("CONST", str(err)))

for model, ms in results.items():
    line = "  ".join(f"{k}={np.mean([m[k] for m in ms]):7.3f}" for k in ("mae", "rmse", "smape", "mase"))
    print(f"  {model:7s} {line}")
table = np.array([[m["mase"] for m in results[name]] for name in ("snaive", "ses", "hw", "ar")])
ranks = table.argsort(axis=0).argsort(axis=0) + 1
print("  mean ranks", dict(zip(("snaive", "ses", "hw", "ar"), [round(float(r), 2) for r in ranks.mean(axis=1)])))
wins = Counter(("snaive", "ses", "hw", "ar")[k] for k in table.argmin(axis=0))
print("  wins:", ", ".join(f"{k} {v}" for k, v in sorted(wins.items())))
print("  AR order range:", min(orders), "-", max(orders))
print("  failures:", failures)

print("done")
