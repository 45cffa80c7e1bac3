"""A 2-D fluid solver with smoke. The idiom of Python ports of Stam's "Stable Fluids" (1999) and "Real-Time Fluid Dynamics for Games" (2003), written afresh.

python fluid.py [--small] [--steps N] [--size N]
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np


@dataclass
class Config:
    size: int = 192
    steps: int = 120
    dt: float = 0.1
    viscosity: float = 1e-4
    diffusion: float = 1e-5
    buoyancy: float = 0.6
    vorticity: float = 0.05
    jacobi_pressure: int = 40
    jacobi_diffusion: int = 10
    report_every: int = 20


class Fluid:
    """Velocity (u, v), pressure p and density d on an N x N grid with a one-cell wall around it."""

    def __init__(self, cfg):
        self.cfg = cfg
        n = cfg.size + 2
        self.n = n
        self.h = 1.0 / cfg.size
        self.u = np.zeros((n, n))
        self.v = np.zeros((n, n))
        self.p = np.zeros((n, n))
        self.d = np.zeros((n, n))
        self.time = 0.0
        self.step_count = 0
        ii, jj = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        self.ii = ii.astype(float)
        self.jj = jj.astype(float)
        self.source = self._make_source()

    def _make_source(self):
        """Two round inlets near the bottom."""
        n = self.n
        source = np.zeros((n, n))
        for cx, strength in ((0.35, 1.0), (0.65, 0.7)):
            r2 = (self.ii / n - 0.1) ** 2 + (self.jj / n - cx) ** 2
            source[r2 < 0.004] = strength
        return source

    # -- boundary conditions -------------------------------------------------

    def set_bnd(self, b, x):
        """b = 1: the component normal to top and bottom walls; b = 2: left and right; b = 0: scalars."""
        x[0, 1:-1] = -x[1, 1:-1] if b == 1 else x[1, 1:-1]
        x[-1, 1:-1] = -x[-2, 1:-1] if b == 1 else x[-2, 1:-1]
        x[1:-1, 0] = -x[1:-1, 1] if b == 2 else x[1:-1, 1]
        x[1:-1, -1] = -x[1:-1, -2] if b == 2 else x[1:-1, -2]
        x[0, 0] = 0.5 * (x[1, 0] + x[0, 1])
        x[0, -1] = 0.5 * (x[1, -1] + x[0, -2])
        x[-1, 0] = 0.5 * (x[-2, 0] + x[-1, 1])
        x[-1, -1] = 0.5 * (x[-2, -1] + x[-1, -2])

    # -- the parts of a step -------------------------------------------------

    def lin_solve(self, b, x, x0, a, c, iterations):
        for _ in range(iterations):
            x[1:-1, 1:-1] = (x0[1:-1, 1:-1] + a * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])) / c
            self.set_bnd(b, x)
        return x

    def diffuse(self, b, x, amount):
        if amount == 0:
            return x
        a = self.cfg.dt * amount * self.cfg.size**2
        return self.lin_solve(b, x.copy(), x, a, 1 + 4 * a, self.cfg.jacobi_diffusion)

    def advect(self, b, field, u, v):
        dt0 = self.cfg.dt * self.cfg.size
        x = np.clip(self.ii - dt0 * u, 0.5, self.n - 1.5)
        y = np.clip(self.jj - dt0 * v, 0.5, self.n - 1.5)
        i0 = np.floor(x).astype(int)
        j0 = np.floor(y).astype(int)
        s1 = x - i0
        t1 = y - j0
        s0 = 1 - s1
        t0 = 1 - t1
        new = s0 * (t0 * field[i0, j0] + t1 * field[i0, j0 + 1]) + s1 * (
            t0 * field[i0 + 1, j0] + t1 * field[i0 + 1, j0 + 1]
        )
        self.set_bnd(b, new)
        return new

    def divergence(self):
        div = np.zeros_like(self.u)
        div[1:-1, 1:-1] = 0.5 * (self.u[2:, 1:-1] - self.u[:-2, 1:-1] + self.v[1:-1, 2:] - self.v[1:-1, :-2]) / self.h
        return div

    def project(self):
        """Makes the velocity free of divergence: lap p = div u, then u -= grad p."""
        div = self.divergence()
        self.set_bnd(0, div)
        self.p[:] = 0
        for _ in range(self.cfg.jacobi_pressure):
            pn = self.p.copy()
            self.p[1:-1, 1:-1] = 0.25 * (
                pn[:-2, 1:-1] + pn[2:, 1:-1] + pn[1:-1, :-2] + pn[1:-1, 2:] - self.h**2 * div[1:-1, 1:-1]
            )
            self.set_bnd(0, self.p)
        self.u[1:-1, 1:-1] -= 0.5 * (self.p[2:, 1:-1] - self.p[:-2, 1:-1]) / self.h
        self.v[1:-1, 1:-1] -= 0.5 * (self.p[1:-1, 2:] - self.p[1:-1, :-2]) / self.h
        self.set_bnd(1, self.u)
        self.set_bnd(2, self.v)

    def curl(self):
        w = np.zeros_like(self.u)
        w[1:-1, 1:-1] = 0.5 * (self.v[2:, 1:-1] - self.v[:-2, 1:-1] - self.u[1:-1, 2:] + self.u[1:-1, :-2]) / self.h
        return w

    def add_forces(self):
        dt = self.cfg.dt
        self.d += dt * self.source
        np.minimum(self.d, 1.0, out=self.d)
        self.u += dt * self.cfg.buoyancy * self.d
        # a gust that blows from side to side
        self.v[1:-1, 1:-1] += dt * 0.1 * np.sin(0.5 * self.time) * self.d[1:-1, 1:-1]
        if self.cfg.vorticity > 0:
            w = self.curl()
            mag = np.abs(w)
            gx, gy = np.gradient(mag)
            norm = np.sqrt(gx**2 + gy**2) + 1e-5
            self.u += dt * self.cfg.vorticity * self.h * (gy / norm) * w
            self.v -= dt * self.cfg.vorticity * self.h * (gx / norm) * w

    def step(self):
        self.add_forces()
        self.u = self.diffuse(1, self.u, self.cfg.viscosity)
        self.v = self.diffuse(2, self.v, self.cfg.viscosity)
        self.project()
        u0, v0 = self.u.copy(), self.v.copy()
        self.u = self.advect(1, u0, u0, v0)
        self.v = self.advect(2, v0, u0, v0)
        self.project()
        self.d = self.diffuse(0, self.d, self.cfg.diffusion)
        self.d = self.advect(0, self.d, self.u, self.v)
        self.time += self.cfg.dt
        self.step_count += 1

    # -- what is printed -----------------------------------------------------

    @property
    def speed(self):
        return np.sqrt(self.u**2 + self.v**2)

    def diagnostics(self):
        inner = (slice(1, -1), slice(1, -1))
        mass = self.d[inner].sum() * self.h**2
        height = (self.ii * self.d)[inner].sum() * self.h**3 / mass if mass > 0 else 0.0
        return {
            "kinetic": 0.5 * (self.u[inner] ** 2 + self.v[inner] ** 2).mean(),
            "max speed": self.speed.max(),
            "div": np.abs(self.divergence()[2:-2, 2:-2]).mean(),
            "mass": mass,
            "height": height,
        }

    def check(self):
        if not np.isfinite(self.u).all() or not np.isfinite(self.v).all():
            raise FloatingPointError(f"velocity is not finite after step {self.step_count}")


def parse_args():
    parser = argparse.ArgumentParser(description="Smoke in a box")
    parser.add_argument("--size", type=int, default=None)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--small", action="store_true", help="a small grid and a few steps")
    return parser.parse_args()


def render(density, rows=12, cols=36):
    """The smoke as text, top row first."""
    shades = " .:-=+*#%@"
    n = density.shape[0]
    lines = []
    for r in range(rows - 1, -1, -1):
        line = ""
        for c in range(cols):
            block = density[r * n // rows : (r + 1) * n // rows, c * n // cols : (c + 1) * n // cols]
            level = round(float(block.mean()), 6)
            line += shades[min(int(level * 10), 9)]
        lines.append(line)
    return "\n".join(lines)


def main():
    args = parse_args()
    cfg = Config()
    if args.small:
        cfg.size, cfg.steps, cfg.report_every = 40, 12, 4
    if args.size:
        cfg.size = args.size
    if args.steps:
        cfg.steps = args.steps

    fluid = Fluid(cfg)
    print(f"grid {cfg.size} x {cfg.size}, {cfg.steps} steps of {cfg.dt}")
    history = []
    for k in range(1, cfg.steps + 1):
        try:
            fluid.step()
            fluid.check()
        except FloatingPointError as err:
            print(f"stopped: {err}", file=sys.stderr)
            return 1
        if k % cfg.report_every == 0:
            diag = fluid.diagnostics()
            history.append(diag)
            print(f"step {k:4d}  t={fluid.time:6.2f}  " + "  ".join(f"{name}={x:.5g}" for name, x in diag.items()))

    print(render(fluid.d[1:-1, 1:-1]))
    kinetic = np.array([row["kinetic"] for row in history])
    print(f"kinetic energy: first {kinetic[0]:.6g}, last {kinetic[-1]:.6g}, most {kinetic.max():.6g}")
    print(f"smoke: {history[-1]['mass']:.6g} at a mean height of {history[-1]['height']:.6g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
