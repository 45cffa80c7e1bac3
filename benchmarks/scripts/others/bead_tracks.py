"""Detect fluorescent beads in a (synthetic) movie, link them and estimate D.

Band-pass -> local maxima -> centroids -> greedy nearest neighbour links -> MSD.
"""
import sys
from dataclasses import dataclass, field

import numpy as np

PIXEL_UM = 0.16
DT = 0.05


@dataclass
class Track:
    id: int
    frames: list = field(default_factory=list)
    pos: list = field(default_factory=list)
    mass: list = field(default_factory=list)
    missed: int = 0

    def add(self, frame, p, m):
        self.frames.append(frame)
        self.pos.append(p)
        self.mass.append(m)
        self.missed = 0

    @property
    def last(self):
        return self.pos[-1]

    def __len__(self):
        return len(self.frames)


class Movie:
    """Brownian beads with two diffusion coefficients and a slow drift."""

    def __init__(self, n_frames=90, size=256, n_beads=70, seed=3):
        self.rng = np.random.default_rng(seed)
        self.n_frames, self.size, self.n_beads = n_frames, size, n_beads
        self.drift = np.array([0.15, -0.08])
        self.sigma_px = np.where(np.arange(n_beads) % 3 == 0, 1.6, 0.7)
        self.amp = self.rng.uniform(80, 200, n_beads)
        self.truth = np.zeros((n_frames, n_beads, 2))
        self._simulate()

    def _simulate(self):
        pos = self.rng.uniform(10, self.size - 10, size=(self.n_beads, 2))
        for t in range(self.n_frames):
            self.truth[t] = pos
            step = self.rng.normal(size=(self.n_beads, 2)) * self.sigma_px[:, None]
            pos = pos + step + self.drift
            # reflect at the edges
            pos = np.where(pos < 4, 8 - pos, pos)
            pos = np.where(pos > self.size - 5, 2 * (self.size - 5) - pos, pos)

    def frame(self, t, psf=1.5):
        yy, xx = np.mgrid[0:self.size, 0:self.size]
        img = 20 + 10 * np.sin(xx / 90.0) * np.cos(yy / 70.0)
        half = 7
        for (y, x), a in zip(self.truth[t], self.amp):
            iy, ix = int(round(y)), int(round(x))
            y0, y1 = max(iy - half, 0), min(iy + half + 1, self.size)
            x0, x1 = max(ix - half, 0), min(ix + half + 1, self.size)
            gy = np.exp(-((np.arange(y0, y1) - y) ** 2) / (2 * psf**2))
            gx = np.exp(-((np.arange(x0, x1) - x) ** 2) / (2 * psf**2))
            img[y0:y1, x0:x1] += a * np.outer(gy, gx)
        noisy = self.rng.poisson(img) + self.rng.normal(0, 2.0, img.shape)
        return np.clip(noisy, 0, 65535).astype(np.uint16)


def gaussian_kernel(sigma):
    r = int(3 * sigma + 0.5)
    k = np.exp(-np.arange(-r, r + 1)**2 / (2.0 * sigma**2))
    return k / k.sum()


def smooth(img, sigma):
    """Separable filter with edge padding."""
    k = gaussian_kernel(sigma)
    r = len(k) // 2
    padded = np.pad(img, ((r, r), (0, 0)), mode="edge")
    out = sum(w * padded[i:i + img.shape[0], :] for i, w in enumerate(k))
    padded = np.pad(out, ((0, 0), (r, r)), mode="edge")
    res = np.zeros_like(img)
    for i, w in enumerate(k):
        res += w * padded[:, i:i + img.shape[1]]
    return res


def local_maxima(img, threshold):
    c = img[1:-1, 1:-1]
    peak = c > threshold
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy == 0 and dx == 0:
                continue
            peak &= c >= img[1 + dy:img.shape[0] - 1 + dy, 1 + dx:img.shape[1] - 1 + dx]
    ys, xs = np.nonzero(peak)
    return np.column_stack([ys + 1, xs + 1])


def refine(img, peak, radius=4, max_iter=5):
    """Iterative centroid in a circular mask; returns (pos, mass, rg) or None."""
    y, x = peak
    off = np.arange(-radius, radius + 1)
    oy, ox = np.meshgrid(off, off, indexing="ij")
    mask = oy**2 + ox**2 <= radius**2
    for _ in range(max_iter):
        if y < radius or x < radius or y >= img.shape[0] - radius or x >= img.shape[1] - radius:
            return None
        win = img[y - radius:y + radius + 1, x - radius:x + radius + 1] * mask
        mass = win.sum()
        cy = (win * oy).sum() / mass
        cx = (win * ox).sum() / mass
        if abs(cy) < 0.6 and abs(cx) < 0.6:
            break
        y += int(np.sign(cy)) if abs(cy) >= 0.6 else 0
        x += int(np.sign(cx)) if abs(cx) >= 0.6 else 0
    rg = np.sqrt((win * ((oy - cy) ** 2 + (ox - cx) ** 2)).sum() / mass)
    return np.array([y + cy, x + cx]), mass, rg


def detect(frame, nsigma=6.0, min_mass=300.0):
    img = frame.astype(float)
    band = smooth(img, 1.0) - smooth(img, 8.0)
    noise = 1.4826 * np.median(np.abs(band - np.median(band)))
    peaks = local_maxima(band, nsigma * noise)
    clean = np.clip(band, 0, None)
    found = []
    for p in peaks:
        res = refine(clean, p)
        if res is None:
            continue
        pos, mass, rg = res
        if mass < min_mass or rg > 3.2:
            continue
        if any(np.hypot(*(pos - d["pos"])) < 2.0 for d in found):
            continue
        found.append({"pos": pos, "mass": mass, "rg": rg})
    return found, noise


class Linker:
    def __init__(self, max_disp=6.0, memory=2):
        self.max_disp, self.memory = max_disp, memory
        self.active, self.done = [], []
        self.next_id = 0

    def update(self, t, detections):
        pts = np.array([d["pos"] for d in detections]).reshape(-1, 2)
        used = np.zeros(len(pts), dtype=bool)
        if self.active and len(pts):
            last = np.array([tr.last for tr in self.active])
            dist = np.linalg.norm(last[:, None, :] - pts[None, :, :], axis=2)
            linked = set()
            for flat in np.argsort(dist, axis=None):
                i, j = np.unravel_index(flat, dist.shape)
                if dist[i, j] > self.max_disp:
                    break
                if i in linked or used[j]:
                    continue
                self.active[i].add(t, pts[j], detections[j]["mass"])
                linked.add(i)
                used[j] = True
        still = []
        for tr in self.active:
            if tr.frames[-1] != t:
                tr.missed += 1
            if tr.missed > self.memory:
                self.done.append(tr)
            else:
                still.append(tr)
        self.active = still
        for j in np.flatnonzero(~used):
            tr = Track(self.next_id)
            tr.add(t, pts[j], detections[j]["mass"])
            self.next_id += 1
            self.active.append(tr)

    def finish(self):
        return sorted(self.done + self.active, key=lambda tr: tr.id)


def track_msd(track, drift, max_lag):
    """Time-averaged MSD (px^2), gaps become nan."""
    full = np.full((track.frames[-1] - track.frames[0] + 1, 2), np.nan)
    idx = np.array(track.frames) - track.frames[0]
    full[idx] = np.array(track.pos)
    full -= np.arange(len(full))[:, None] * drift
    msd = np.full(max_lag, np.nan)
    for lag in range(1, min(max_lag, len(full) - 1) + 1):
        d = full[lag:] - full[:-lag]
        sq = (d**2).sum(axis=1)
        if np.isfinite(sq).sum() >= 3:
            msd[lag - 1] = np.nanmean(sq)
    return msd


def main():
    movie = Movie()
    linker = Linker()
    counts, noises, errors = [], [], []
    for t in range(movie.n_frames):
        dets, noise = detect(movie.frame(t))
        linker.update(t, dets)
        counts.append(len(dets))
        noises.append(noise)
        for d in dets:
            errors.append(np.sqrt(((movie.truth[t] - d["pos"]) ** 2).sum(axis=1)).min())
        if (t + 1) % 30 == 0:
            print(f"frame {t + 1:3d}: {len(dets)} beads, {len(linker.active)} live tracks")
    tracks = linker.finish()
    lengths = np.array([len(tr) for tr in tracks])
    errors = np.array(errors)
    print(f"detections/frame {np.mean(counts):.1f} (true {movie.n_beads}), noise {np.mean(noises):.2f}")
    print(f"localisation error median {np.median(errors):.3f} px, >2px: {(errors > 2).mean() * 100:.1f} %")
    print(f"{len(tracks)} tracks, median length {np.median(lengths):.0f}, longest {lengths.max()}")
    hist, edges = np.histogram(lengths, bins=[1, 2, 5, 10, 20, 40, 91])
    for n, lo, hi in zip(hist, edges[:-1], edges[1:]):
        print(f"  {lo:3.0f}-{hi - 1:<3.0f} {n:4d} {'#' * (n // 2)}")

    good = [tr for tr in tracks if len(tr) >= 15]
    if not good:
        sys.exit("no usable tracks")
    drift = np.median(np.concatenate([np.diff(tr.pos, axis=0) for tr in good]), axis=0)
    print(f"drift per frame: y {drift[0]:+.3f} px, x {drift[1]:+.3f} px (true {movie.drift})")

    max_lag = 10
    msd = np.array([track_msd(tr, drift, max_lag) for tr in good]) * PIXEL_UM**2
    lag_t = np.arange(1, max_lag + 1) * DT
    D = np.array([np.polyfit(lag_t[:4], m[:4], 1)[0] / 4 if np.isfinite(m[:4]).all() else np.nan for m in msd])
    ok = np.isfinite(D)
    cut = 0.28    # um2/s, from the gap in the histogram
    for name, sel in {"slow": ok & (D <= cut), "fast": ok & (D > cut)}.items():
        ens = np.nanmean(msd[sel], axis=0)
        alpha, logk = np.polyfit(np.log(lag_t), np.log(ens), 1)
        boot = np.random.default_rng(1)
        means = [boot.choice(D[sel], sel.sum()).mean() for _ in range(500)]
        lo, hi = np.percentile(means, [2.5, 97.5])
        print(f"{name}: n={sel.sum()}  D={D[sel].mean():.3f} um2/s [{lo:.3f}, {hi:.3f}]  alpha={alpha:.2f}")
        print("   MSD(um2): " + " ".join(f"{v:.3f}" for v in ens))
    for s in np.unique(movie.sigma_px):
        print(f"true D for sigma {s} px: {s**2 * PIXEL_UM**2 / (2 * DT):.3f} um2/s")


if __name__ == "__main__":
    main()
