"""python -m riskpkg [--paths N] [--days D]"""
import argparse
import logging
import sys

import numpy as np

from . import __version__, simulate
from .models import Asset, Book, Option, PricingError
from .report import Report

STRESS = {   # spot shocks, vol shift, rate shift
    "equity crash": ({"TECH": -0.30, "BANK": -0.35, "UTIL": -0.15, "GOLD": 0.10}, 0.15, -0.005),
    "tech selloff": ({"TECH": -0.25}, 0.05, 0.0),
    "rates +100bp": ({"BANK": 0.05, "UTIL": -0.08, "TECH": -0.06}, 0.0, 0.01),
}


def build_book():
    assets = [Asset("TECH", 150.0, 0.32, 0.08), Asset("BANK", 60.0, 0.28, 0.06),
              Asset("UTIL", 45.0, 0.16, 0.04), Asset("GOLD", 180.0, 0.15, 0.02)]
    corr = np.eye(len(assets))
    for (i, j), rho in {(0, 1): .55, (0, 2): .25, (0, 3): -.05, (1, 2): .35, (1, 3): -.1, (2, 3): .1}.items():
        corr[i, j] = corr[j, i] = rho
    options = [Option("TECH", 140.0, 0.5, 3000, "put"), Option("TECH", 170.0, 0.25, -4000),
               Option("BANK", 55.0, 0.5, 5000, "put"), Option("TECH", 150.0, 0.5, 2000, barrier=200.0)]
    return Book(assets, corr, {"TECH": 4000, "BANK": 6000, "UTIL": 5000, "GOLD": 1500}, options)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="riskpkg")
    parser.add_argument("--paths", type=int, default=150000)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--log", default="WARNING")
    args = parser.parse_args(argv)
    logging.basicConfig(level=args.log.upper(), stream=sys.stderr)

    book = build_book()
    base = book.value(book.spots())
    rep = Report(f"Risk report (riskpkg {__version__})")
    rep.kv("book value", base)

    print("simulating ...")
    sim = simulate.PathSimulator(book, args.paths, args.days)
    pnl, s, worst = sim.run()
    rep.section(f"{args.days}-day P&L, {args.paths} paths")
    z = (pnl - pnl.mean()) / pnl.std()
    for key, val, fmt in [("mean", pnl.mean(), ",.0f"), ("st.dev.", pnl.std(), ",.0f"), ("skewness", np.mean(z**3), ".2f")]:
        rep.kv(key, val, fmt)
    for level in (0.95, 0.99):
        var, es = simulate.var_es(pnl, level)
        rep.kv(f"VaR {level:.0%}", var)
        rep.kv(f"ES  {level:.0%}", es)
        rep.kv("  VaR s.e.", simulate.bootstrap_se(pnl, level))
    corr = np.corrcoef(np.log(s / sim.s0).T)
    rep.table(["asset", "worst path", "corr TECH"], zip(book.names, worst, corr[0]), ["s", ".2f", ".2f"])

    rep.section("Stress")
    rows = []
    for name, (shock, dvol, dr) in STRESS.items():
        change = book.value(book.spots(shock), vol_shift=dvol, rate_shift=dr) - base
        rows.append((name, change, 100 * change / base))
    rep.table(["scenario", "P&L", "%"], sorted(rows, key=lambda r: r[1]), ["s", ",.0f", ".1f"])
    ladder = np.linspace(-0.3, 0.3, 7)
    vals = book.value({a.name: a.spot * (1 + ladder) for a in book.assets}) - base
    rep.table(["all spots", "P&L"], zip(ladder, vals), ["+.1f", ",.0f"])

    print("greeks ...")
    rep.section("Greeks")
    by_asset, total = simulate.greeks(book)
    rep.table(["asset", "delta", "gamma"], by_asset, ["s", ",.0f", ",.1f"])
    for k, v in total.items():
        rep.kv(k, v)
    for opt in filter(lambda o: o.barrier, book.options):
        rep.kv(f"{opt.asset} up-and-out {opt.strike:g}/{opt.barrier:g}", opt.quantity)
        for k, v in simulate.barrier_greeks(book, opt, args.paths).items():
            rep.kv(f"   {k}", v, ".3f")

    print("backtest ...")
    rep.section("Backtest (99% one-day)")
    hits, n = simulate.backtest(book, n_days=12000)
    rep.table(["model", "hits", "rate"], [(m, len(d), len(d) / n) for m, d in hits.items()], ["s", "d", ".2%"])
    try:
        book.value(book.spots(), elapsed=2.0)
    except PricingError as exc:
        rep.kv("expired options check", type(exc).__name__, "s")
    print(rep.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
