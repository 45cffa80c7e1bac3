#!/usr/bin/env python
"""Mass action kinetics: mechanism parser, RK4, temperature scan, Gauss-Newton fit."""
import argparse
import re
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

R_GAS = 8.314462618e-3  # kJ/mol/K

MECHANISM = """
R1       A + B -> C                   4.0e5      33.0
R2       C -> A + B                   2.0e6      48.0
R3       C + D -> E + F               8.0e4      30.0
R4       E -> G                       6.0e5      38.0
R5       G + B -> H                   3.0e4      29.0
R6       H -> D + P                   9.0e5      37.5
R7       F + F -> Q                   1.0e4      27.0
R8       Q -> 2 F                     1.0e6      44.0
R9       P + F -> W                   2.0e4      31.0
R10      A + P -> X                   5.0e3      30.0
R11      X -> W + D                   3.0e5      37.0
R12      E + A -> Y                   1.5e4      30.5
R13      Y -> G + A                   4.0e5      38.0
"""

INITIAL = {"A": 1.0, "B": 1.2, "D": 0.3}

class MechanismError(Exception):
    """Bad mechanism text or failed integration."""

@dataclass
class Reaction:
    name: str
    reactants: dict
    products: dict
    A: float
    Ea: float

    def k(self, T):
        return self.A * np.exp(-self.Ea / (R_GAS * T))

    def __str__(self):
        side = lambda d: " + ".join(s if n == 1 else f"{n} {s}" for s, n in d.items())
        return f"{self.name}: {side(self.reactants)} -> {side(self.products)}"

def parse_side(text):
    out = OrderedDict()
    for term in text.split("+"):
        m = re.fullmatch(r"\s*(\d+)?\s*([A-Z]\w*)\s*", term)
        if not m:
            raise MechanismError(f"cannot parse term {term!r}")
        out[m.group(2)] = out.get(m.group(2), 0) + int(m.group(1) or 1)
    return out

def parse_mechanism(text):
    reactions = []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, eq, A, Ea = re.split(r"\s{2,}", line)
        left, right = eq.split("->")
        reactions.append(Reaction(name, parse_side(left), parse_side(right), float(A), float(Ea)))
    return reactions

class KineticModel:
    def __init__(self, reactions):
        self.reactions = reactions
        self.species = list(dict.fromkeys(s for r in reactions for s in [*r.reactants, *r.products]))
        self.index = {s: i for i, s in enumerate(self.species)}
        ns, nr = len(self.species), len(reactions)
        self.N = np.zeros((ns, nr))
        for j, r in enumerate(reactions):
            for s, n in r.reactants.items():
                self.N[self.index[s], j] -= n
            for s, n in r.products.items():
                self.N[self.index[s], j] += n
        # list of reactant indices with repetition, padded with a dummy species of value 1
        self.ri = np.full((nr, 2), ns)
        for j, r in enumerate(reactions):
            flat = [self.index[s] for s, n in r.reactants.items() for _ in range(n)]
            self.ri[j, :len(flat)] = flat

    def initial(self, conc):
        y = np.zeros(len(self.species))
        for s, v in conc.items():
            y[self.index[s]] = v
        return y

    def rhs(self, t, y, k):
        yy = np.append(y, 1.0)
        return self.N @ (k * yy[self.ri[:, 0]] * yy[self.ri[:, 1]])

    def rhs_batch(self, Y, K):
        """Y (nbatch, ns), K (nbatch, nr)"""
        YY = np.concatenate([Y, np.ones((len(Y), 1))], axis=1)
        v = K * YY[:, self.ri[:, 0]] * YY[:, self.ri[:, 1]]
        return v @ self.N.T

    def conserved(self):
        """Basis of the left null space of N (conserved sums)."""
        u, s, vt = np.linalg.svd(self.N)
        return u[:, np.sum(s > 1e-10):].T

def rk4(f, y0, t_end, n, args=()):
    h = t_end / n
    y = y0.copy()
    ts, ys = [0.0], [y0.copy()]
    for i in range(n):
        t = i * h
        k1 = f(t, y, *args)
        k2 = f(t + h / 2, y + h / 2 * k1, *args)
        k3 = f(t + h / 2, y + h / 2 * k2, *args)
        k4 = f(t + h, y + h * k3, *args)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if np.any(y < -1e-6):
            raise MechanismError(f"negative concentration at t={t:.3f}")
        ts.append(t + h)
        ys.append(y)
    return np.array(ts), np.array(ys)

@dataclass
class ScanResult:
    T: np.ndarray
    yields: np.ndarray
    selectivity: np.ndarray
    t_half: list = field(default_factory=list)

def temperature_scan(model, temps, t_end=60.0, n=5000):
    K = np.array([[r.k(T) for r in model.reactions] for T in temps])
    Y = np.tile(model.initial(INITIAL), (len(temps), 1))
    iA, iP, iW = (model.index[s] for s in "APW")
    h = t_end / n
    t_half = np.full(len(temps), np.nan)
    for step in range(n):
        k1 = model.rhs_batch(Y, K)
        k2 = model.rhs_batch(Y + 0.5 * h * k1, K)
        k3 = model.rhs_batch(Y + 0.5 * h * k2, K)
        k4 = model.rhs_batch(Y + h * k3, K)
        Y = Y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        new = np.isnan(t_half) & (Y[:, iA] < 0.5 * INITIAL["A"])
        t_half[new] = (step + 1) * h
    made = Y[:, iP] + Y[:, iW]
    sel = np.where(made > 1e-12, Y[:, iP] / np.maximum(made, 1e-12), 0.0)
    return ScanResult(np.array(temps), Y[:, iP] / INITIAL["A"], sel, list(t_half))

class GaussNewtonFit:
    """Fit log10 of selected rate constants."""

    def __init__(self, model, k_ref, free, t_end, n, observed, t_idx):
        self.model, self.k_ref = model, k_ref
        self.free = [i for i, r in enumerate(model.reactions) if r.name in free]
        self.t_end, self.n, self.t_idx = t_end, n, t_idx
        self.obs = [model.index[s] for s in observed]
        self.y0 = model.initial(INITIAL)
        self.log = []

    def predict(self, p):
        k = self.k_ref.copy()
        k[self.free] = 10.0 ** p
        _, ys = rk4(self.model.rhs, self.y0, self.t_end, self.n, args=(k,))
        return ys[self.t_idx][:, self.obs].ravel()

    def jacobian(self, p, f0, eps=1e-4):
        J = np.empty((len(f0), len(p)))
        for i in range(len(p)):
            q = p.copy()
            q[i] += eps
            J[:, i] = (self.predict(q) - f0) / eps
        return J

    def fit(self, data, p0, maxiter=12, tol=1e-5):
        p = np.array(p0, dtype=float)
        f = self.predict(p)
        sse = np.sum((data - f) ** 2)
        for it in range(maxiter):
            J = self.jacobian(p, f)
            step, *_ = np.linalg.lstsq(J, data - f, rcond=None)
            step = np.clip(step, -0.7, 0.7)
            lam = 1.0
            while lam > 1e-3:
                try:
                    f_new = self.predict(p + lam * step)
                    sse_new = np.sum((data - f_new) ** 2)
                except MechanismError:
                    sse_new = np.inf
                if sse_new < sse:
                    break
                lam *= 0.5
            else:
                break
            p, f, drop, sse = p + lam * step, f_new, sse - sse_new, sse_new
            self.log.append({"it": it + 1, "sse": sse, "lam": lam})
            if drop < tol * sse:
                break
        cov = np.linalg.inv(J.T @ J) * sse / (len(data) - len(p))
        return p, np.sqrt(np.diag(cov)), sse

def main():
    ap = argparse.ArgumentParser(description="kinetics demo")
    ap.add_argument("--T", type=float, default=330.0)
    ap.add_argument("--noise", type=float, default=0.004)
    args = ap.parse_args()

    model = KineticModel(parse_mechanism(MECHANISM))
    print(f"{len(model.reactions)} reactions, {len(model.species)} species: {' '.join(model.species)}")
    k = np.array([r.k(args.T) for r in model.reactions])
    for r, ki in zip(model.reactions, k):
        print(f"  {str(r):24s} k = {ki:8.4f}")

    y0 = model.initial(INITIAL)
    t, ys = rk4(model.rhs, y0, 60.0, 10000, args=(k,))
    cons = model.conserved()
    drift = np.abs(ys @ cons.T - cons @ y0).max()
    print(f"\n{len(cons)} conserved sums, drift below 1e-9: {drift < 1e-9}")
    print("time     " + "".join(f"{s:>8s}" for s in model.species))
    for i in range(0, len(t), 1000):
        print(f"{t[i]:6.1f}   " + "".join(f"{c:8.4f}" for c in ys[i]))
    for s in ("C", "E", "G", "H"):
        c = ys[:, model.index[s]]
        print(f"  {s}: maximum {c.max():.4f} at t = {t[c.argmax()]:.2f}, dose {np.sum(0.5 * (c[1:] + c[:-1]) * np.diff(t)):.3f}")

    print("\ntemperature scan")
    scan = temperature_scan(model, np.linspace(290, 370, 161))
    for i in range(0, len(scan.T), 20):
        print(f"  {scan.T[i]:5.1f} K  yield {100 * scan.yields[i]:5.1f}%  selectivity {scan.selectivity[i]:.3f}  t1/2 {scan.t_half[i]:.2f}")
    best = scan.yields.argmax()
    print(f"  best yield {100 * scan.yields[best]:.1f}% at {scan.T[best]:.1f} K")

    print("\nfit")
    rng = np.random.default_rng(31)
    free = ["R1", "R3", "R4", "R6", "R9"]
    t_idx = np.arange(70, 2101, 70)
    fit = GaussNewtonFit(model, k, free, 30.0, 2100, ["A", "B", "P", "F"], t_idx)
    p_true = np.log10(k[fit.free])
    data = fit.predict(p_true)
    data = data + rng.normal(0, args.noise, len(data))
    p, se, sse = fit.fit(data, p_true + rng.uniform(-0.3, 0.3, len(p_true)))
    for rec in fit.log:
        print(f"  iteration {rec['it']:2d}: rms {np.sqrt(rec['sse'] / len(data)):.5f} (step {rec['lam']:.3f})")
    for name, a, b, s in zip(free, p_true, p, se):
        print(f"  log10 k({name:3s}) true {a:7.3f}  fit {b:7.3f} +- {s:.3f}")

if __name__ == "__main__":
    main()
