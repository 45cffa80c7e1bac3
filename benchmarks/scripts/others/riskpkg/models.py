"""Instruments and the book."""
from dataclasses import dataclass, field
from typing import Optional

import numpy as np


class PricingError(ValueError):
    pass


@dataclass(frozen=True)
class Asset:
    name: str
    spot: float
    vol: float
    drift: float = 0.05


@dataclass
class Option:
    asset: str
    strike: float
    expiry: float
    quantity: float
    kind: str = "call"
    barrier: Optional[float] = None     # up-and-out if given


def norm_cdf(x):
    """Abramowitz & Stegun 26.2.17, good to 7.5e-8 (no scipy here)."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(s, k, t, r, vol, kind="call"):
    """European option, scalar or array spot."""
    if t <= 0 or vol <= 0:
        raise PricingError(f"need positive expiry and vol (t={t}, vol={vol})")
    d1 = (np.log(s / k) + (r + 0.5 * vol**2) * t) / (vol * np.sqrt(t))
    d2 = d1 - vol * np.sqrt(t)
    call = s * norm_cdf(d1) - k * np.exp(-r * t) * norm_cdf(d2)
    return call if kind == "call" else call - s + k * np.exp(-r * t)


@dataclass
class Book:
    assets: list
    corr: np.ndarray
    holdings: dict
    options: list = field(default_factory=list)
    rate: float = 0.03

    def __post_init__(self):
        n = len(self.assets)
        if self.corr.shape != (n, n):
            raise ValueError(f"correlation matrix {self.corr.shape} does not match {n} assets")
        self.by_name = {a.name: a for a in self.assets}

    @property
    def names(self):
        return [a.name for a in self.assets]

    def spots(self, shocks=None):
        shocks = shocks or {}
        return {a.name: a.spot * (1 + shocks.get(a.name, 0.0)) for a in self.assets}

    def value(self, spots, vol_shift=0.0, elapsed=0.0, rate_shift=0.0):
        """Value of the book; spots may hold floats or arrays of scenarios."""
        total = sum(q * spots[name] for name, q in self.holdings.items())
        for opt in self.options:
            if opt.barrier is not None:
                continue        # path dependent, priced by simulation
            vol = self.by_name[opt.asset].vol + vol_shift
            total = total + opt.quantity * black_scholes(spots[opt.asset], opt.strike, opt.expiry - elapsed,
                                                         self.rate + rate_shift, vol, opt.kind)
        return total
