"""Batch processing of (synthetic) microscopy frames.

Denoise, flatten, equalise, threshold, clean up, label, measure; results as .npy.
"""
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np


@dataclass
class Region:
    label: int
    area: int
    cy: float
    cx: float
    mean: float
    bbox: tuple
    eccentricity: float = 0.0

    def touches_border(self, shape):
        y0, x0, y1, x1 = self.bbox
        return y0 == 0 or x0 == 0 or y1 == shape[0] or x1 == shape[1]


def make_frame(rng, shape=(256, 256), n_cells=30, noise=0.05, salt=0.005):
    (h, w), (yy, xx) = shape, np.mgrid[0:shape[0], 0:shape[1]]
    img = 0.15 + 0.1 * xx / w + 0.05 * yy / h          # uneven illumination
    for _ in range(n_cells):
        cy, cx = rng.uniform(10, h - 10), rng.uniform(10, w - 10)
        a, b = rng.uniform(4, 10, 2)
        th = rng.uniform(0, np.pi)
        u = (xx - cx) * np.cos(th) + (yy - cy) * np.sin(th)
        v = -(xx - cx) * np.sin(th) + (yy - cy) * np.cos(th)
        img = np.maximum(img, rng.uniform(0.5, 0.9) * np.exp(-(((u / a) ** 2 + (v / b) ** 2) ** 2)))
    img += rng.normal(0, noise, shape)
    img[rng.random(shape) < salt] = 1.0
    return np.clip(img, 0, 1)


def gaussian_kernel(sigma):
    r = int(3 * sigma + 0.5)
    x = np.arange(-r, r + 1)
    k = np.exp(-x**2 / (2.0 * sigma**2))
    return k / k.sum()


def convolve2d(img, kernel):
    """Plain 'same' convolution via shifted slices, edge-padded."""
    kh, kw = kernel.shape
    ph, pw = kh // 2, kw // 2
    padded = np.pad(img, ((ph, ph), (pw, pw)), mode="edge")
    out = np.zeros(img.shape, dtype=float)
    for i in range(kh):
        for j in range(kw):
            if kernel[i, j] != 0:
                out += kernel[kh - 1 - i, kw - 1 - j] * padded[i:i + img.shape[0], j:j + img.shape[1]]
    return out


def gaussian_blur(img, sigma):
    k = gaussian_kernel(sigma)
    return convolve2d(convolve2d(img, k[:, None]), k[None, :])


def median3(img):
    p = np.pad(img, 1, mode="reflect")
    h, w = img.shape
    stack = [p[i:i + h, j:j + w] for i in range(3) for j in range(3)]
    return np.median(np.stack(stack), axis=0)


SOBEL_X = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], dtype=float)


def gradient(img):
    gx = convolve2d(img, SOBEL_X)
    gy = convolve2d(img, SOBEL_X.T)
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def suppress_nonmax(mag, ang):
    sector = (np.round(ang / (np.pi / 4)).astype(int)) % 4
    keep = np.zeros(mag.shape, dtype=bool)
    for s, (dy, dx) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1)]):
        a = np.roll(mag, (dy, dx), axis=(0, 1))
        b = np.roll(mag, (-dy, -dx), axis=(0, 1))
        keep |= (sector == s) & (mag >= a) & (mag >= b)
    return np.where(keep, mag, 0.0)


def to_uint8(img):
    return np.round(255 * (img - img.min()) / np.ptp(img)).astype(np.uint8)


def equalise(img8):
    hist = np.bincount(img8.ravel(), minlength=256)
    cdf = hist.cumsum()
    cdf_min = cdf[cdf > 0][0]
    lut = np.clip(np.round((cdf - cdf_min) / (img8.size - cdf_min) * 255), 0, 255).astype(np.uint8)
    return lut[img8]


def otsu(img8):
    hist = np.bincount(img8.ravel(), minlength=256).astype(float)
    total, sum_all = hist.sum(), np.dot(np.arange(256), hist)
    w0 = s0 = 0.0
    best, best_t = -1.0, 0
    for t in range(256):
        w0 += hist[t]
        if w0 == 0:
            continue
        if (w1 := total - w0) == 0:
            break
        s0 += t * hist[t]
        between = w0 * w1 * (s0 / w0 - (sum_all - s0) / w1) ** 2
        if between > best:
            best, best_t = between, t
    return best_t


def dilate(mask, n=1):
    for _ in range(n):
        p = np.pad(mask, 1)
        mask = p[1:-1, 1:-1] | p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:]
    return mask


def erode(mask, n=1):
    return ~dilate(~mask, n)


def open_close(mask, n_open, n_close):
    mask = dilate(erode(mask, n_open), n_open)
    return erode(dilate(mask, n_close), n_close)


def label(mask):
    """Two-pass labelling, 4-connectivity, union-find."""
    h, w = mask.shape
    labels = np.zeros((h, w), dtype=np.int32)
    parent = [0]

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    for y in range(h):
        for x in np.flatnonzero(mask[y]):
            up = labels[y - 1, x] if y else 0
            left = labels[y, x - 1] if x else 0
            if up and left:
                ra, rb = find(up), find(left)
                labels[y, x] = min(ra, rb)
                parent[max(ra, rb)] = min(ra, rb)
            elif up or left:
                labels[y, x] = up or left
            else:
                parent.append(len(parent))
                labels[y, x] = len(parent) - 1
    roots = np.array([find(i) for i in range(len(parent))])
    uniq, inv = np.unique(roots, return_inverse=True)
    return inv[labels].astype(np.int32), len(uniq) - 1


def measure(labels, n, img, min_area=20):
    regions = []
    for k in range(1, n + 1):
        ys, xs = np.nonzero(labels == k)
        if ys.size < min_area:
            continue
        cov = np.cov(np.vstack([ys, xs]))
        ev = np.sort(np.linalg.eigvalsh(cov))
        regions.append(Region(k, int(ys.size), ys.mean(), xs.mean(), float(img[ys, xs].mean()),
                              (int(ys.min()), int(xs.min()), int(ys.max()) + 1, int(xs.max()) + 1),
                              float(np.sqrt(max(0.0, 1 - ev[0] / ev[1])))))
    return regions


class Pipeline:
    def __init__(self, outdir, sigma=1.5, bg_sigma=20):
        self.outdir = Path(outdir)
        self.sigma, self.bg_sigma = sigma, bg_sigma
        self.history = []

    def save(self, name, arr):
        path = self.outdir / f"{name}.npy"
        np.save(path, arr)
        return path.stat().st_size

    def process(self, name, img):
        if img.ndim != 2:
            raise ValueError(f"{name}: expected a 2-D image, got shape {img.shape}")
        den = gaussian_blur(median3(img), self.sigma)
        flat = den - gaussian_blur(den, self.bg_sigma)
        img8 = to_uint8(flat)
        eq = equalise(img8)
        t = otsu(img8)
        mask = open_close(img8 > t, 2, 1)
        mag, ang = gradient(den)
        edges = suppress_nonmax(mag, ang) > 2 * mag.mean()
        labels, n = label(mask)
        regions = measure(labels, n, img)
        written = sum(self.save(f"{name}_{k}", a) for k, a in
                      {"flat": flat.astype(np.float32), "eq": eq, "labels": labels, "edges": edges}.items())
        rec = {"name": name, "threshold": t, "coverage": float(mask.mean()), "edges": int(edges.sum()),
               "mid": float(np.median(eq)), "regions": regions, "bytes": written,
               "border": sum(r.touches_border(img.shape) for r in regions)}
        self.history.append(rec)
        return rec


def main(n_frames=11):
    rng = np.random.default_rng(77)
    with tempfile.TemporaryDirectory() as tmp:
        pipe = Pipeline(tmp)
        frames = {f"frame{i:02d}": make_frame(rng, (400, 480) if i % 3 else (256, 256), 20 + 4 * i)
                  for i in range(n_frames)}
        frames["rgb"] = np.zeros((16, 16, 3))
        for name, img in frames.items():
            try:
                rec = pipe.process(name, img)
            except ValueError as e:
                print(f"skipped: {e}")
                continue
            areas = np.array([r.area for r in rec["regions"]])
            print(f"{name}: {img.shape} thr={rec['threshold']:3d} cover={rec['coverage']:.3f} "
                  f"edges={rec['edges']:5d} mid={rec['mid']:.0f} "
                  f"cells={len(areas):2d} (border {rec['border']}) area={np.median(areas):.0f}")
        total = 0
        for rec in pipe.history:
            lab = np.load(os.path.join(tmp, rec["name"] + "_labels.npy"))
            areas = np.bincount(lab.ravel())
            assert all(areas[r.label] == r.area for r in rec["regions"]), rec["name"]
            total += rec["bytes"]
        with open(pipe.outdir / "regions.json", "w") as fh:
            json.dump([asdict(r) for rec in pipe.history for r in rec["regions"]], fh)
        rows = json.loads((pipe.outdir / "regions.json").read_text())
        print(f"files on disk: {len(list(pipe.outdir.iterdir()))}, {total / 1024:.0f} KiB of arrays")

    ecc = np.array([r["eccentricity"] for r in rows])


if __name__ == "__main__":
    main()
