"""Stochastic SEIR metapopulation model with intervention scenarios.

Cities are coupled by a gravity-model commuting matrix; every scenario is run a
number of times and peaks, attack rates and hospital load are compared.
"""
import logging
import time
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
logger = logging.getLogger(__name__)

AGE_LABELS = ["0-19", "20-39", "40-64", "65+"]
AGE_FRACTIONS = np.array([0.22, 0.26, 0.33, 0.19])
CONTACTS = np.array([
    [7.5, 3.0, 2.6, 0.8],
    [3.0, 6.2, 4.1, 1.0],
    [2.6, 4.1, 5.0, 1.6],
    [0.8, 1.0, 1.6, 2.4],
])
HOSP_RISK = np.array([0.002, 0.008, 0.03, 0.12])
FATALITY = np.array([0.05, 0.06, 0.12, 0.3])  # given hospital


@dataclass(frozen=True)
class Params:
    name: str = "baseline"
    R0: float = 2.4
    latent_days: float = 3.5
    infectious_days: float = 5.0
    hospital_days: float = 9.0
    travel: float = 0.03
    lockdown_threshold: float = np.inf   # hospital per 100k
    lockdown_factor: float = 0.4
    lockdown_days: int = 40
    vaccine_start: int = 9999
    vaccine_per_day: float = 0.0         # fraction of population
    vaccine_order: tuple = (3, 2, 1, 0)
    days: int = 220


class Geography:
    """City sizes, positions and commuting."""

    def __init__(self, n_cities=60, seed=11):
        rng = np.random.default_rng(seed)
        self.n = n_cities
        self.xy = rng.uniform(0, 400, size=(n_cities, 2))
        self.pop = np.round(1.5e6 / np.arange(1, n_cities + 1)**0.9).astype(int)
        self.names = [f"City{i:02d}" for i in range(n_cities)]
        self.age_pop = self._ages(rng)
        self.flow = self._gravity()

    def _ages(self, rng):
        out = np.zeros((self.n, 4), dtype=np.int64)
        for i in range(self.n):
            p = AGE_FRACTIONS * rng.uniform(0.85, 1.15, size=4)
            p /= p.sum()
            out[i] = rng.multinomial(self.pop[i], p)
        return out

    def _gravity(self, scale=80.0):
        diff = self.xy[:, None, :] - self.xy[None, :, :]
        dist = np.sqrt((diff**2).sum(axis=-1))
        w = self.pop[None, :] * np.exp(-dist / scale)
        np.fill_diagonal(w, 0)
        return w / w.sum(axis=1, keepdims=True)


class Epidemic:
    def __init__(self, geo, params, rng):
        self.geo, self.p, self.rng = geo, params, rng
        self.N = geo.age_pop.astype(float)
        self.S = geo.age_pop.copy()
        for name in "EIHRDV":
            setattr(self, name, np.zeros_like(self.S))
        self.lock_until = np.full(geo.n, -1)
        self.lock_days = np.zeros(geo.n, dtype=int)
        self.beta = self._calibrate()
        self.mix = (1 - params.travel) * np.eye(geo.n) + params.travel * geo.flow
        self.history = defaultdict(list)
        self.arrival = np.full(geo.n, -1)

    def _calibrate(self):
        """Scale the contact matrix so that the next-generation matrix has R0."""
        ngm = CONTACTS * self.p.infectious_days
        return self.p.R0 / np.max(np.abs(np.linalg.eigvals(ngm)))

    def seed_infection(self, cities, n=20):
        for c in cities:
            k = min(n, self.S[c, 1])
            self.S[c, 1] -= k
            self.E[c, 1] += k

    def force_of_infection(self, day):
        prevalence = self.I / np.maximum(self.N, 1)
        exposed_prev = self.mix @ prevalence
        lam = self.beta * exposed_prev @ CONTACTS.T
        season = 1 + 0.12 * np.cos(2 * np.pi * (day - 15) / 365)
        factor = np.where(self.lock_until >= day, self.p.lockdown_factor, 1.0)
        return lam * season * factor[:, None]

    def vaccinate(self, day):
        if day < self.p.vaccine_start or self.p.vaccine_per_day <= 0:
            return
        doses = (self.geo.pop * self.p.vaccine_per_day).astype(int)
        for age in self.p.vaccine_order:
            given = np.minimum(doses, self.S[:, age])
            protected = self.rng.binomial(given, 0.85)
            self.S[:, age] -= protected
            self.V[:, age] += protected
            doses = doses - given

    def check_lockdown(self, day):
        load = self.H.sum(axis=1) / self.geo.pop * 1e5
        for i in range(self.geo.n):
            if load[i] > self.p.lockdown_threshold and self.lock_until[i] < day:
                self.lock_until[i] = day + self.p.lockdown_days
                logger.info("day %d lockdown in %s (%.1f/100k)", day, self.geo.names[i], load[i])
        self.lock_days += self.lock_until >= day

    def step(self, day):
        rng, p = self.rng, self.p
        lam = self.force_of_infection(day)
        new_E = rng.binomial(self.S, 1 - np.exp(-lam))
        new_I = rng.binomial(self.E, 1 - np.exp(-1 / p.latent_days))
        leave_I = rng.binomial(self.I, 1 - np.exp(-1 / p.infectious_days))
        new_H = rng.binomial(leave_I, np.broadcast_to(HOSP_RISK, leave_I.shape))
        leave_H = rng.binomial(self.H, 1 - np.exp(-1 / p.hospital_days))
        new_D = rng.binomial(leave_H, np.broadcast_to(FATALITY, leave_H.shape))

        self.S -= new_E
        self.E += new_E - new_I
        self.I += new_I - leave_I
        self.H += new_H - leave_H
        self.R += (leave_I - new_H) + (leave_H - new_D)
        self.D += new_D
        self.vaccinate(day)
        self.check_lockdown(day)

        first = (self.arrival < 0) & (self.I.sum(axis=1) > 0)
        self.arrival[first] = day
        self.history["cases"].append(int(new_I.sum()))
        self.history["hospital"].append(int(self.H.sum()))

    def run(self):
        for day in range(self.p.days):
            self.step(day)
            if self.E.sum() + self.I.sum() + self.H.sum() == 0:
                break
        return self.summary()

    def summary(self):
        total = self.S + self.E + self.I + self.H + self.R + self.D + self.V
        if not np.array_equal(total, self.geo.age_pop):
            raise RuntimeError("population not conserved")
        cases = np.array(self.history["cases"])
        hosp = np.array(self.history["hospital"])
        infected = self.E + self.I + self.H + self.R + self.D
        smooth = moving_average(cases, 7)
        return {
            "peak_day": int(smooth.argmax()),
            "peak_cases": smooth.max(),
            "peak_hosp": hosp.max() / self.geo.pop.sum() * 1e5,
            "attack": infected.sum() / self.N.sum(),
            "attack_age": infected.sum(axis=0) / self.N.sum(axis=0),
            "deaths": int(self.D.sum()),
            "lock_days": self.lock_days.mean(),
            "doubling": doubling_time(cases),
            "arrival": self.arrival.copy(),
        }


def moving_average(x, n):
    return np.convolve(x, np.ones(n) / n, mode="same")


def doubling_time(cases, lo=100, hi=5000):
    """Fit log-cases on the first stretch between lo and hi."""
    if cases.max() < lo:
        return np.nan
    start = end = np.flatnonzero(cases >= lo)[0]
    while end < len(cases) and cases[end] < hi:
        end += 1
    if end - start < 4:
        return np.nan
    t = np.arange(start, end)
    slope, _ = np.polyfit(t, np.log(np.maximum(cases[start:end], 1)), 1)
    return np.log(2) / slope if slope > 0 else np.nan


def run_scenario(geo, params, n_runs, seed):
    results = []
    for k in range(n_runs):
        rng = np.random.default_rng([seed, k])
        model = Epidemic(geo, params, rng)
        model.seed_infection(rng.choice(geo.n, size=3, replace=False))
        try:
            results.append(model.run())
        except RuntimeError as exc:
            logger.error("%s run %d: %s", params.name, k, exc)
    return results


def report(name, results, geo):
    print(f"\n--- {name}: {len(results)} runs ---")
    for key, label, fmt in [("attack", "attack rate", ".3f"), ("peak_day", "peak day", ".0f"),
                            ("peak_cases", "peak daily cases", ",.0f"),
                            ("peak_hosp", "peak hosp. /100k", ".1f"), ("deaths", "deaths", ",.0f"),
                            ("doubling", "doubling time (d)", ".2f"), ("lock_days", "lockdown days", ".1f")]:
        lo, med, hi = np.nanpercentile([r[key] for r in results], [10, 50, 90])
        print(f"  {label:<20} {med:>12{fmt}}   [{lo:{fmt}} .. {hi:{fmt}}]")
    ages = np.mean([r["attack_age"] for r in results], axis=0)
    print("  by age: " + ", ".join(f"{lab} {a:.3f}" for lab, a in zip(AGE_LABELS, ages)))
    arrival = np.stack([r["arrival"] for r in results]).mean(axis=0)
    corr = np.corrcoef(np.log(geo.pop), arrival)[0, 1]
    late = np.argsort(arrival)[-3:][::-1]
    print(f"  arrival vs log(pop) correlation {corr:.2f}; last reached: "
          + ", ".join(f"{geo.names[i]} (day {arrival[i]:.0f})" for i in late))


def main():
    geo = Geography()
    print(f"{geo.n} cities, population {geo.pop.sum():,}, largest {geo.pop.max():,}")
    base = Params()
    scenarios = [
        base,
        replace(base, name="less travel", travel=0.003),
        replace(base, name="lockdowns", lockdown_threshold=15.0),
        replace(base, name="vaccine, oldest first", vaccine_start=40, vaccine_per_day=0.006),
        replace(base, name="vaccine, youngest first", vaccine_start=40, vaccine_per_day=0.006,
                vaccine_order=(0, 1, 2, 3)),
    ]
    table = {}
    for s, params in enumerate(scenarios):
        tic = time.time()
        results = run_scenario(geo, params, n_runs=9, seed=100 + s)
        logger.info("%s took %.2f s", params.name, time.time() - tic)
        report(params.name, results, geo)
        table[params.name] = np.median([r["deaths"] for r in results])
    print("\nDeaths relative to baseline:")
    for name, deaths in sorted(table.items(), key=lambda kv: kv[1]):
        print(f"  {name:<26} {deaths / table['baseline']:.3f}")


if __name__ == "__main__":
    main()
