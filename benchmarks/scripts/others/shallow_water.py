"""Shallow-water model on an unstaggered (A-grid) rectangular basin.

Nonlinear shallow-water equations plus a passive tracer that is advected
upwind and diffused.  Boundary conditions: 'periodic', 'wall' or 'channel'
(periodic in x, walls in y).  Used to compare how the energy and the tracer
patch evolve in the three basins.
"""
import argparse
import logging
import time
from dataclasses import dataclass

import numpy as np

log = logging.getLogger("swe")

G = 9.81


@dataclass
class Config:
    nx: int = 128
    ny: int = 96
    lx: float = 1.0e6
    ly: float = 0.75e6
    depth: float = 100.0
    f0: float = 1.0e-4
    beta: float = 2.0e-11
    drag: float = 1.0e-6
    visc: float = 500.0
    kappa: float = 200.0
    cfl: float = 0.4
    bc: str = "wall"
    wind: float = 0.0
    seed: int = 7

    @property
    def dx(self):
        return self.lx / self.nx

    @property
    def dy(self):
        return self.ly / self.ny


class ShallowWater:
    def __init__(self, cfg):
        self.cfg = cfg
        self.x = (np.arange(cfg.nx) + 0.5) * cfg.dx
        self.y = (np.arange(cfg.ny) + 0.5) * cfg.dy
        self.X, self.Y = np.meshgrid(self.x, self.y)
        self.f = cfg.f0 + cfg.beta * (self.Y - cfg.ly / 2)
        self.t = 0.0
        self.nstep = 0
        # one ghost cell all round
        shape = (cfg.ny + 2, cfg.nx + 2)
        self.h = np.zeros(shape)
        self.u = np.zeros(shape)
        self.v = np.zeros(shape)
        self.c = np.zeros(shape)
        self.taux = -cfg.wind * np.cos(2 * np.pi * self.Y / cfg.ly)
        self.gauges = []
        self.diagnostics = []
        self.set_bathymetry()

    def set_bathymetry(self):
        cfg = self.cfg
        rng = np.random.default_rng(cfg.seed)
        self.H = np.full((cfg.ny + 2, cfg.nx + 2), cfg.depth)
        for _ in range(6):
            x0 = rng.uniform(0.1, 0.9) * cfg.lx
            y0 = rng.uniform(0.1, 0.9) * cfg.ly
            w = rng.uniform(0.03, 0.08) * cfg.lx
            amp = rng.uniform(0.05, 0.3) * cfg.depth
            bump = amp * np.exp(-((self.X - x0) ** 2 + (self.Y - y0) ** 2) / (2 * w**2))
            self.H[1:-1, 1:-1] -= bump
        self.apply_bc_scalar(self.H)

    def set_initial(self, x0=0.3, y0=0.5, amp=1.0, width=0.06):
        cfg = self.cfg
        r2 = (self.X - x0 * cfg.lx) ** 2 + (self.Y - y0 * cfg.ly) ** 2
        self.h[1:-1, 1:-1] = amp * np.exp(-r2 / (2 * (width * cfg.lx) ** 2))
        patch = np.sqrt(r2) < 0.12 * cfg.lx
        self.c[1:-1, 1:-1] = np.where(patch, 1.0, 0.0)
        self.tracer0 = self.c[1:-1, 1:-1].sum() * cfg.dx * cfg.dy
        self.apply_bc()

    def add_gauge(self, name, fx, fy):
        j, i = int(fy * self.cfg.ny), int(fx * self.cfg.nx)
        self.gauges.append({"name": name, "j": j, "i": i, "t": [], "eta": []})

    # ---- boundary conditions -------------------------------------------
    def apply_bc_scalar(self, a):
        if self.cfg.bc in ("periodic", "channel"):
            a[:, 0] = a[:, -2]
            a[:, -1] = a[:, 1]
        else:
            a[:, 0] = a[:, 1]
            a[:, -1] = a[:, -2]
        if self.cfg.bc == "periodic":
            a[0, :] = a[-2, :]
            a[-1, :] = a[1, :]
        else:
            a[0, :] = a[1, :]
            a[-1, :] = a[-2, :]

    def apply_bc(self):
        for a in (self.h, self.u, self.v, self.c):
            self.apply_bc_scalar(a)
        # no normal flow: reflect the normal component
        if self.cfg.bc == "wall":
            self.u[:, 0] = -self.u[:, 1]
            self.u[:, -1] = -self.u[:, -2]
        if self.cfg.bc in ("wall", "channel"):
            self.v[0, :] = -self.v[1, :]
            self.v[-1, :] = -self.v[-2, :]

    # ---- operators -----------------------------------------------------
    def ddx(self, a):
        return (a[1:-1, 2:] - a[1:-1, :-2]) / (2 * self.cfg.dx)

    def ddy(self, a):
        return (a[2:, 1:-1] - a[:-2, 1:-1]) / (2 * self.cfg.dy)

    def laplacian(self, a):
        d2x = (a[1:-1, 2:] - 2 * a[1:-1, 1:-1] + a[1:-1, :-2]) / self.cfg.dx**2
        d2y = (a[2:, 1:-1] - 2 * a[1:-1, 1:-1] + a[:-2, 1:-1]) / self.cfg.dy**2
        return d2x + d2y

    def upwind_flux_divergence(self, a):
        """Flux-form first-order upwind advection, conservative."""
        uf = 0.5 * (self.u[1:-1, 1:] + self.u[1:-1, :-1])
        vf = 0.5 * (self.v[1:, 1:-1] + self.v[:-1, 1:-1])
        fx = np.where(uf > 0, uf * a[1:-1, :-1], uf * a[1:-1, 1:])
        fy = np.where(vf > 0, vf * a[:-1, 1:-1], vf * a[1:, 1:-1])
        return (fx[:, 1:] - fx[:, :-1]) / self.cfg.dx + (fy[1:, :] - fy[:-1, :]) / self.cfg.dy

    def choose_dt(self):
        speed = np.sqrt(G * np.max(self.H + self.h))
        umax = max(np.abs(self.u).max(), np.abs(self.v).max())
        return self.cfg.cfl * min(self.cfg.dx, self.cfg.dy) / (speed + umax)

    def step(self, dt):
        cfg = self.cfg
        inner = (slice(1, -1), slice(1, -1))
        # forward-backward: continuity first, then momentum with the new h
        hu = (self.H + self.h) * self.u
        hv = (self.H + self.h) * self.v
        dh = -(self.ddx(hu) + self.ddy(hv)) + cfg.visc * self.laplacian(self.h)
        self.h[inner] += dt * dh
        self.apply_bc_scalar(self.h)

        u, v = self.u[inner], self.v[inner]
        adv_u = u * self.ddx(self.u) + v * self.ddy(self.u)
        adv_v = u * self.ddx(self.v) + v * self.ddy(self.v)
        rho_h = 1025.0 * (self.H[inner] + self.h[inner])
        du = (self.f * v - G * self.ddx(self.h) - adv_u - cfg.drag * u
              + cfg.visc * self.laplacian(self.u) + self.taux / rho_h)
        unew = u + dt * du
        dv = (-self.f * unew - G * self.ddy(self.h) - adv_v - cfg.drag * v
              + cfg.visc * self.laplacian(self.v))
        vnew = v + dt * dv
        self.u[inner], self.v[inner] = unew, vnew
        dc = -self.upwind_flux_divergence(self.c) + cfg.kappa * self.laplacian(self.c)
        self.c[inner] += dt * dc
        self.apply_bc()
        self.t += dt
        self.nstep += 1
        for g in self.gauges:
            g["t"].append(self.t)
            g["eta"].append(self.h[g["j"] + 1, g["i"] + 1])
        if not np.isfinite(self.h).all():
            raise FloatingPointError(f"blow-up at step {self.nstep}, t={self.t:.0f} s")

    def record(self):
        inner = (slice(1, -1), slice(1, -1))
        cfg = self.cfg
        area = cfg.dx * cfg.dy
        ke = 0.5 * np.sum((self.H + self.h)[inner] * (self.u[inner] ** 2 + self.v[inner] ** 2)) * area
        pe = 0.5 * G * np.sum(self.h[inner] ** 2) * area
        zeta = self.ddx(self.v) - self.ddy(self.u)
        pv = (self.f + zeta) / (self.H + self.h)[inner]
        c = self.c[inner]
        mass = c.sum()
        xc = (c * self.X).sum() / mass / 1e3
        yc = (c * self.Y).sum() / mass / 1e3
        self.diagnostics.append({
            "hours": self.t / 3600, "ke": ke, "pe": pe,
            "mean_h": self.h[inner].mean(), "zeta_rms": np.sqrt(np.mean(zeta**2)),
            "pv_std": pv.std(), "tracer": mass * area / self.tracer0, "xc": xc, "yc": yc,
        })

    def run(self, nsteps, every=100):
        self.record()
        dt = self.choose_dt()
        for n in range(nsteps):
            if n % 25 == 0:
                dt = self.choose_dt()
            self.step(dt)
            if (n + 1) % every == 0:
                self.record()
                log.info("bc=%s step %d t=%.1f h", self.cfg.bc, n + 1, self.t / 3600)


def gauge_summary(g):
    eta = np.array(g["eta"])
    t = np.array(g["t"])
    crossings = np.sum(np.diff(np.sign(eta - eta.mean())) != 0)
    uniform = np.linspace(t[0], t[-1], 512)
    series = np.interp(uniform, t, eta)
    spec = np.abs(np.fft.rfft((series - series.mean()) * np.hanning(series.size))) ** 2
    freq = np.fft.rfftfreq(series.size, uniform[1] - uniform[0])
    peak = freq[1:][np.argmax(spec[1:])]
    return {"max": eta.max(), "rms": eta.std(), "zc": int(crossings), "period": 1 / peak / 3600}


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--steps", type=int, default=600)
    ap.add_argument("--verbose", action="store_true")
    args = ap.parse_args(argv)
    logging.basicConfig(level=logging.INFO if args.verbose else logging.WARNING)

    for bc, wind in [("wall", 0.0), ("channel", 0.1), ("periodic", 0.0)]:
        model = ShallowWater(Config(bc=bc, wind=wind))
        model.set_initial()
        for name, fx, fy in [("west", 0.05, 0.5), ("centre", 0.5, 0.5), ("ne", 0.9, 0.85)]:
            model.add_gauge(name, fx, fy)
        tic = time.perf_counter()
        try:
            model.run(args.steps)
        except FloatingPointError as err:
            print(f"{bc}: failed: {err}")
            continue
        log.info("took %.2f s", time.perf_counter() - tic)
        print(f"\n=== basin: {bc} (wind {wind} N/m2), {model.nstep} steps ===")
        print(" hours     KE(TJ)   PE(TJ)  <h>(mm)  zeta_rms  tracer   xc(km)  yc(km)")
        for d in model.diagnostics:
            print(f"{d['hours']:6.2f} {d['ke'] * 1025 / 1e12:9.3f} {d['pe'] * 1025 / 1e12:8.3f} "
                  f"{d['mean_h'] * 1e3:8.2f} {d['zeta_rms']:9.2e} {d['tracer']:7.4f} "
                  f"{d['xc']:8.2f} {d['yc']:7.2f}")
        for g in model.gauges:
            s = gauge_summary(g)
            print(f"  gauge {g['name']:<7} max {s['max']:.3f} m  rms {s['rms']:.3f} m  "
                  f"crossings {s['zc']}  dominant period {s['period']:.2f} h")


if __name__ == "__main__":
    main()
