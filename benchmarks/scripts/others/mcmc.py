"""
Hierarchical normal model ("schools"-type): pupils j in school s

    y_sj ~ N(theta_s + beta . x_sj, sigma^2)
    theta_s ~ N(mu, tau^2)

Sampled two ways: Gibbs, and Metropolis-Hastings on the marginal posterior.
Then the usual convergence diagnostics.
"""
import logging
import sys
from dataclasses import dataclass, field
from typing import Dict, List

import numpy as np

log = logging.getLogger("mcmc")

@dataclass
class Data:
    y: np.ndarray
    X: np.ndarray
    school: np.ndarray
    n_schools: int
    truth: Dict[str, float] = field(default_factory=dict)

def simulate(n_schools=24, seed=2024):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(8, 60, n_schools)
    mu, tau, sigma = 50.0, 4.0, 9.0
    beta = np.array([2.0, -1.0, 0.5])
    theta = rng.normal(mu, tau, n_schools)
    school = np.repeat(np.arange(n_schools), sizes)
    X = rng.normal(size=(len(school), 3))
    y = theta[school] + X @ beta + rng.normal(0, sigma, len(school))
    truth = {"mu": mu, "tau": tau, "sigma": sigma}
    truth.update({f"beta{i}": b for i, b in enumerate(beta)})
    return Data(y, X, school, n_schools, truth)

class Chain:
    """Storage for named scalar draws of one chain."""

    def __init__(self, names):
        self.names = list(names)
        self.draws = {n: [] for n in self.names}
        self.accepted = 0
        self.proposed = 0

    def record(self, **values):
        for k, v in values.items():
            self.draws[k].append(v)

    def get(self, name, burn=0):
        return np.array(self.draws[name][burn:])

    @property
    def acceptance(self):
        return self.accepted / self.proposed if self.proposed else float("nan")

class GibbsSampler:
    def __init__(self, data, rng):
        self.d = data
        self.rng = rng
        self.counts = np.bincount(data.school, minlength=data.n_schools)
        self.XtX = data.X.T @ data.X
        self.prior_prec = np.eye(data.X.shape[1]) / 100.0
        self.theta = rng.normal(data.y.mean(), 10, data.n_schools)
        self.beta = rng.normal(0, 3, data.X.shape[1])
        self.mu = rng.normal(data.y.mean(), 10)
        self.tau2 = rng.uniform(1, 50)
        self.sigma2 = rng.uniform(20, 200)

    def draw_theta(self):
        r = self.d.y - self.d.X @ self.beta
        sums = np.bincount(self.d.school, weights=r, minlength=self.d.n_schools)
        prec = self.counts / self.sigma2 + 1 / self.tau2
        mean = (sums / self.sigma2 + self.mu / self.tau2) / prec
        self.theta = mean + self.rng.standard_normal(self.d.n_schools) / np.sqrt(prec)

    def draw_beta(self):
        r = self.d.y - self.theta[self.d.school]
        P = self.XtX / self.sigma2 + self.prior_prec
        L = np.linalg.cholesky(P)
        m = np.linalg.solve(P, self.d.X.T @ r / self.sigma2)
        self.beta = m + np.linalg.solve(L.T, self.rng.standard_normal(len(m)))

    def draw_hyper(self):
        S = self.d.n_schools
        self.mu = self.rng.normal(self.theta.mean(), np.sqrt(self.tau2 / S))
        ss = np.sum((self.theta - self.mu) ** 2)
        self.tau2 = (1.0 + 0.5 * ss) / self.rng.gamma(1.0 + S / 2)
        res = self.d.y - self.theta[self.d.school] - self.d.X @ self.beta
        self.sigma2 = (1.0 + 0.5 * res @ res) / self.rng.gamma(1.0 + len(res) / 2)

    def run(self, n):
        names = ["mu", "tau", "sigma", "theta0", "theta5"] + [f"beta{i}" for i in range(len(self.beta))]
        chain = Chain(names)
        for it in range(n):
            self.draw_theta()
            self.draw_beta()
            self.draw_hyper()
            chain.record(mu=self.mu, tau=np.sqrt(self.tau2), sigma=np.sqrt(self.sigma2),
                         theta0=self.theta[0], theta5=self.theta[5],
                         **{f"beta{i}": b for i, b in enumerate(self.beta)})
        return chain

class MetropolisSampler:
    """Random walk on (mu, log tau, log sigma, beta); theta integrated out."""

    def __init__(self, data, rng):
        self.d = data
        self.rng = rng
        self.n = np.bincount(data.school, minlength=data.n_schools).astype(float)
        self.x = np.concatenate([[rng.normal(data.y.mean(), 5), np.log(rng.uniform(2, 8)),
                                  np.log(rng.uniform(6, 14))], rng.normal(0, 2, 3)])
        self.scale = 0.3
        self.cov_chol = np.diag([1.0, 0.2, 0.03, 0.3, 0.3, 0.3])
        self.history: List[np.ndarray] = []

    def log_post(self, x):
        mu, ltau, lsig = x[:3]
        if abs(ltau) > 10 or abs(lsig) > 10:
            return -np.inf
        tau2, sig2 = np.exp(2 * ltau), np.exp(2 * lsig)
        r = self.d.y - mu - self.d.X @ x[3:]
        s1 = np.bincount(self.d.school, weights=r)
        s2 = np.bincount(self.d.school, weights=r ** 2)
        v = sig2 + self.n * tau2
        ll = -0.5 * ((self.n - 1) * np.log(sig2) + np.log(v))
        ll -= 0.5 * (s2 / sig2 - tau2 * s1 ** 2 / (sig2 * v))
        prior = -0.5 * np.sum(x[3:] ** 2) / 100.0 - np.exp(-2 * ltau) - 2 * ltau - np.exp(-2 * lsig) - 2 * lsig
        return ll.sum() + prior

    def adapt(self, it, rate):
        if rate < 0.2:
            self.scale *= 0.8
        elif rate > 0.35:
            self.scale *= 1.25
        if it >= 600 and len(self.history) > 300:
            c = np.cov(np.array(self.history[-600:]).T)
            try:
                self.cov_chol = np.linalg.cholesky(c + 1e-8 * np.eye(len(c)))
            except np.linalg.LinAlgError:
                log.warning("covariance not positive definite at %d", it)

    def run(self, n, burn):
        chain = Chain(["mu", "tau", "sigma", "beta0", "beta1", "beta2"])
        lp = self.log_post(self.x)
        window = 0
        for it in range(n):
            prop = self.x + self.scale * self.cov_chol @ self.rng.standard_normal(6)
            lp_new = self.log_post(prop)
            if np.log(self.rng.random()) < lp_new - lp:
                self.x, lp = prop, lp_new
                window += 1
                if it >= burn:
                    chain.accepted += 1
            if it < burn:
                self.history.append(self.x.copy())
                if (it + 1) % 200 == 0:
                    if it + 1 == 800:
                        self.scale = 1.0
                    self.adapt(it, window / 200)
                    window = 0
            else:
                chain.proposed += 1
            mu, lt, ls, b0, b1, b2 = self.x
            chain.record(mu=mu, tau=np.exp(lt), sigma=np.exp(ls), beta0=b0, beta1=b1, beta2=b2)
        return chain

# ---------------------------------------------------------------- diagnostics

def autocorr(x, maxlag):
    x = x - x.mean()
    n = len(x)
    c0 = np.dot(x, x) / n
    if c0 == 0:
        return np.ones(maxlag + 1)
    return np.array([np.dot(x[:n - k], x[k:]) / n / c0 for k in range(maxlag + 1)])

def split_rhat(chains):
    halves = []
    for c in chains:
        h = len(c) // 2
        halves += [c[:h], c[h:2 * h]]
    a = np.array(halves)
    n = a.shape[1]
    B = n * a.mean(axis=1).var(ddof=1)
    W = a.var(axis=1, ddof=1).mean()
    return np.sqrt(((n - 1) / n * W + B / n) / W)

def ess(chains, maxlag=200):
    rho = np.mean([autocorr(c, maxlag) for c in chains], axis=0)
    t = 1.0
    # Geyer's initial positive sequence
    for k in range(1, maxlag - 1, 2):
        pair = rho[k] + rho[k + 1]
        if pair < 0:
            break
        t += 2 * pair
    return sum(len(c) for c in chains) / t

def hpd(x, prob=0.9):
    s = np.sort(x)
    m = int(np.floor(prob * len(s)))
    width = s[m:] - s[:len(s) - m]
    i = width.argmin()
    return s[i], s[i + m]

def summarize(title, chains, burn, truth):
    print(f"\n{title}")
    print(f"{'param':8s}{'true':>7s}{'mean':>8s}{'sd':>7s}{'90% HPD':>18s}{'Rhat':>7s}{'ESS':>7s}{'ac(1)':>7s}{'ac(10)':>8s}")
    rows = []
    for name in chains[0].names:
        cs = [c.get(name, burn) for c in chains]
        allx = np.concatenate(cs)
        lo, hi = hpd(allx)
        ac = autocorr(cs[0], 10)
        row = {"name": name, "mean": allx.mean(), "sd": allx.std(), "rhat": split_rhat(cs), "ess": ess(cs)}
        rows.append(row)
        tr = f"{truth[name]:.1f}" if name in truth else "-"
        print(f"{name:8s}{tr:>7s}{row['mean']:8.2f}{row['sd']:7.2f}   [{lo:6.2f},{hi:6.2f}]"
              f"{row['rhat']:7.3f}{row['ess']:7.0f}{ac[1]:7.2f}{ac[10]:8.2f}")
    worst = max(rows, key=lambda r: r["rhat"])
    print(f"worst Rhat: {worst['name']} {worst['rhat']:.3f}")
    return {r["name"]: r for r in rows}

def main(n_gibbs=5000, n_mh=9000, n_chains=4):
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    data = simulate()
    print(f"{len(data.y)} pupils in {data.n_schools} schools, mean {data.y.mean():.2f}")
    seeds = np.random.SeedSequence(99).spawn(2 * n_chains)
    gibbs, mh = [], []
    for c in range(n_chains):
        gibbs.append(GibbsSampler(data, np.random.default_rng(seeds[c])).run(n_gibbs))
        print(f"  gibbs chain {c + 1} done")
    for c in range(n_chains):
        mh.append(MetropolisSampler(data, np.random.default_rng(seeds[n_chains + c])).run(n_mh, burn=2000))
        print(f"  MH chain {c + 1}: acceptance {mh[-1].acceptance:.2f}")
    g = summarize("Gibbs", gibbs, n_gibbs // 5, data.truth)
    m = summarize("Metropolis-Hastings (marginal)", mh, 2000, data.truth)
    print("\ndifference of the means, in posterior sd")
    for name in m:
        print(f"  {name:6s} {(g[name]['mean'] - m[name]['mean']) / g[name]['sd']:+.2f}")

if __name__ == "__main__":
    main()
