"""Direct-summation gravitational N-body with a leapfrog (KDK) integrator.
G = 1, M = 1 for the clusters; AU / yr / Msun for the planets.
"""
import argparse
import logging
import math
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np

log = logging.getLogger("nbody")

OrbitalElements = namedtuple("OrbitalElements", "a e inc period")


class EnergyDriftError(RuntimeError):
    pass


@dataclass
class Diagnostics:
    times: list = field(default_factory=list)
    kinetic: list = field(default_factory=list)
    potential: list = field(default_factory=list)
    ang_mom: list = field(default_factory=list)

    def record(self, t, ke, pe, L):
        self.times.append(t)
        self.kinetic.append(ke)
        self.potential.append(pe)
        self.ang_mom.append(L)

    def max_rel_error(self):
        e = np.array(self.kinetic) + np.array(self.potential)
        return float(np.max(np.abs((e - e[0]) / e[0])))

    def virial_ratio(self):
        return -np.array(self.kinetic) / np.array(self.potential)


class Body:
    """A single named body, used for the planetary system only."""

    def __init__(self, name, mass, pos, vel):
        self.name, self.mass = name, mass
        self.pos = np.asarray(pos, dtype=float)
        self.vel = np.asarray(vel, dtype=float)
        self.trail = []


class PlanetarySystem:
    def __init__(self, bodies, G=4 * math.pi**2):
        self.bodies, self.G, self.time = bodies, G, 0.0
        self.compute_acc()

    def compute_acc(self):
        for b in self.bodies:
            b.acc = np.zeros(3)
        for i, bi in enumerate(self.bodies):
            for bj in self.bodies[i + 1:]:
                r = bj.pos - bi.pos
                f = self.G * r / np.linalg.norm(r)**3
                bi.acc += bj.mass * f
                bj.acc -= bi.mass * f

    def step(self, dt):
        for b in self.bodies:
            b.vel = b.vel + 0.5 * dt * b.acc
            b.pos = b.pos + dt * b.vel
        self.compute_acc()
        for b in self.bodies:
            b.vel = b.vel + 0.5 * dt * b.acc
        self.time += dt

    def energy(self):
        e = sum(0.5 * b.mass * np.dot(b.vel, b.vel) for b in self.bodies)
        for i, bi in enumerate(self.bodies):
            for bj in self.bodies[:i]:
                e -= self.G * bi.mass * bj.mass / np.linalg.norm(bi.pos - bj.pos)
        return e

    def elements(self, body, central):
        mu = self.G * (central.mass + body.mass)
        r, v = body.pos - central.pos, body.vel - central.vel
        rn = np.linalg.norm(r)
        h = np.cross(r, v)
        evec = np.cross(v, h) / mu - r / rn
        a = 1.0 / (2.0 / rn - np.dot(v, v) / mu)
        inc = np.degrees(np.arccos(h[2] / np.linalg.norm(h)))
        return OrbitalElements(a, np.linalg.norm(evec), inc, 2 * np.pi * np.sqrt(a**3 / mu))


def inner_planets():
    data = [  # name, mass, a, e, inc(deg)
        ("Venus", 2.45e-6, 0.723, 0.007, 3.4),
        ("Earth", 3.00e-6, 1.000, 0.017, 0.0),
        ("Mars", 3.2e-7, 1.524, 0.093, 1.85),
        ("Jupiter", 9.54e-4, 5.203, 0.049, 1.3),
    ]
    bodies = [Body("Sun", 1.0, [0, 0, 0], [0, 0, 0])]
    for k, (name, m, a, e, inc) in enumerate(data):
        rp = a * (1 - e)
        vp = np.sqrt(4 * np.pi**2 / a * (1 + e) / (1 - e))
        phi, ci, si = 1.3 * k, np.cos(np.radians(inc)), np.sin(np.radians(inc))
        rot = np.array([[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]])
        tilt = np.array([[1, 0, 0], [0, ci, -si], [0, si, ci]])
        R = tilt @ rot
        bodies.append(Body(name, m, R @ [rp, 0, 0], R @ [0, vp, 0]))
    p = sum(b.mass * b.vel for b in bodies)
    bodies[0].vel = bodies[0].vel - p / bodies[0].mass
    return bodies


class Cluster:
    """N equal-ish mass particles with softened gravity."""

    def __init__(self, n, eps=0.05, seed=0, masses="equal"):
        self.rng = np.random.default_rng(seed)
        self.n, self.eps = n, eps
        self.time, self.nsteps = 0.0, 0
        m = np.ones(n) if masses == "equal" else self.rng.uniform(0.05, 1.0, n) ** (-1 / 1.35)
        self.m = m / m.sum()
        self.x, self.v = self._plummer()
        self._to_com()
        self.acc = self.accel(self.x)
        self.diag = Diagnostics()

    def _plummer(self):
        x, v = np.zeros((self.n, 3)), np.zeros((self.n, 3))
        scale = 3 * np.pi / 16
        for i in range(self.n):
            r = 1.0 / np.sqrt(self.rng.uniform(0.01, 0.98) ** (-2.0 / 3.0) - 1.0)
            x[i] = r * scale * self._isotropic()
            while True:  # rejection (Aarseth, Henon & Wielen 1974)
                q, g = self.rng.uniform(0, 1), self.rng.uniform(0, 0.1)
                if g < q * q * (1 - q * q) ** 3.5:
                    break
            v[i] = q * np.sqrt(2.0) * (1 + r * r) ** (-0.25) / np.sqrt(scale) * self._isotropic()
        return x, v

    def _isotropic(self):
        u = self.rng.normal(size=3)
        return u / np.sqrt((u**2).sum())

    def _to_com(self):
        for arr in (self.x, self.v):
            arr -= np.average(arr, axis=0, weights=self.m)

    def accel(self, x):
        dx = x[np.newaxis, :, :] - x[:, np.newaxis, :]
        r2 = (dx**2).sum(axis=-1) + self.eps**2
        inv_r3 = r2 ** (-1.5)
        np.fill_diagonal(inv_r3, 0.0)
        return (dx * (inv_r3 * self.m)[:, :, np.newaxis]).sum(axis=1)

    def potential(self):
        pe = 0.0
        for i in range(self.n - 1):
            d = self.x[i + 1:] - self.x[i]
            r = np.sqrt(np.sum(d * d, axis=1) + self.eps**2)
            pe -= self.m[i] * np.sum(self.m[i + 1:] / r)
        return pe

    def kinetic(self):
        return 0.5 * np.sum(self.m * np.sum(self.v**2, axis=1))

    def lagrangian_radii(self, fractions=(0.1, 0.5, 0.9)):
        r = np.linalg.norm(self.x, axis=1)
        order = np.argsort(r)
        cum = np.cumsum(self.m[order])
        return {f: r[order][min(np.searchsorted(cum, f), self.n - 1)] for f in fractions}

    def snapshot(self):
        L = np.sum(self.m[:, None] * np.cross(self.x, self.v), axis=0)
        self.diag.record(self.time, self.kinetic(), self.potential(), L)

    def run(self, dt, nsteps, every=20, tol=0.05):
        self.snapshot()
        for k in range(1, nsteps + 1):
            self.v += 0.5 * dt * self.acc
            self.x += dt * self.v
            self.acc = self.accel(self.x)
            self.v += 0.5 * dt * self.acc
            self.time, self.nsteps = self.time + dt, self.nsteps + 1
            if k % every == 0:
                self.snapshot()
                err = self.diag.max_rel_error()
                log.debug("t=%.3f dE/E=%.2e", self.time, err)
                if err > tol:
                    raise EnergyDriftError(f"|dE/E| above {tol:g} at t={self.time:.2f}")
        return self.diag


def report_cluster(label, c):
    d = c.diag
    print(f"\n--- cluster {label}: N={c.n}, {c.nsteps} steps, t={c.time:.2f}")
    for t, ke, pe in zip(d.times, d.kinetic, d.potential):
        print(f"   t={t:6.2f}  K={ke:8.4f}  W={pe:8.4f}  E={ke + pe:8.4f}  Q={-ke / pe:6.3f}")
    drift = np.abs((c.m[:, None] * c.x).sum(axis=0)).max()
    dL = np.linalg.norm(d.ang_mom[-1] - d.ang_mom[0])
    print(f"   energy ok: {d.max_rel_error() < 0.02}   COM drift ok: {drift < 1e-8}   dL ok: {dL < 1e-8}")
    print(f"   mean virial ratio {d.virial_ratio().mean():.3f}")
    print("   Lagrangian radii: " + ", ".join(f"{int(100 * f)}%={r:.3f}" for f, r in c.lagrangian_radii().items()))


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-n", type=int, default=260)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--years", type=float, default=8.0)
    ap.add_argument("--log", default="WARNING")
    args = ap.parse_args(argv)
    logging.basicConfig(level=args.log)

    print("Planetary system")
    system = PlanetarySystem(inner_planets())
    e0, dt = system.energy(), 0.004
    for step in range(int(args.years / dt)):
        system.step(dt)
        if step % 25 == 0:
            for b in system.bodies:
                b.trail.append(b.pos.copy())
    print(f"  t={system.time:.2f} yr, energy conserved: {abs(system.energy() / e0 - 1) < 1e-4}")
    sun = system.bodies[0]
    for b in system.bodies[1:]:
        el = system.elements(b, sun)
        dist = np.linalg.norm(np.array(b.trail) - np.array(sun.trail), axis=1)
        print(f"  {b.name:8s} a={el.a:.3f} e={el.e:.3f} i={el.inc:.2f} P={el.period:.3f}"
              f"  r=[{dist.min():.3f}, {dist.max():.3f}]")

    setups = {"plummer": dict(n=args.n, seed=1),
              "salpeter": dict(n=args.n * 3 // 4, seed=2, masses="imf", eps=0.1)}
    for label, kw in setups.items():
        c = Cluster(**kw)
        c.run(0.01, args.steps, every=40)
        report_cluster(label, c)

    cold = Cluster(64, eps=0.001, seed=3)
    cold.v *= 0.1
    try:
        cold.run(0.02, 200, every=5)
        print("\ncold collapse finished")
    except EnergyDriftError as exc:
        print(f"\ncold collapse stopped as expected: {type(exc).__name__}: {str(exc).split(' at ')[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
