"""A batch of images from file to file: denoise, edges, threshold, labels, report. The idiom of NumPy-only image notebooks (after Gonzalez and Woods), written afresh.

python images.py [--small] [--keep FOLDER]
"""

import argparse
import os
import shutil
import sys
import tempfile

import numpy as np

SOBEL_X = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=float)
SOBEL_Y = SOBEL_X.T


# ---- files -----------------------------------------------------------------


def write_pgm(path, img):
    """Writes an 8-bit grey image as binary PGM."""
    h, w = img.shape
    with open(path, "wb") as f:
        f.write(f"P5\n{w} {h}\n255\n".encode())
        f.write(img.astype(np.uint8).tobytes())


def read_pgm(path):
    with open(path, "rb") as f:
        magic = f.readline().strip()
        if magic != b"P5":
            raise ValueError(f"{os.path.basename(path)}: not a binary PGM file: {magic!r}")
        w, h = map(int, f.readline().split())
        f.readline()
        data = np.frombuffer(f.read(), dtype=np.uint8)
    if data.size != w * h:
        raise ValueError(f"{os.path.basename(path)}: {data.size} pixels where {w * h} were expected")
    return data.reshape(h, w)


# ---- synthetic microscope images --------------------------------------------


def make_image(rng, h, w, cells):
    """Bright discs on an uneven background, with Gaussian and salt-and-pepper noise."""
    yy, xx = np.mgrid[0:h, 0:w]
    img = 60 + 25 * xx / w + 15 * yy / h
    for _ in range(cells):
        cy, cx = rng.uniform(0, h), rng.uniform(0, w)
        r = rng.uniform(0.015, 0.04) * min(h, w) + 2
        bright = rng.uniform(70, 120)
        img[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] += bright
    img += rng.normal(0, 8, size=(h, w))
    salt = rng.random((h, w))
    img[salt < 0.01] = 0
    img[salt > 0.99] = 255
    return np.clip(img, 0, 255).astype(np.uint8)


# ---- filters ---------------------------------------------------------------


def convolve(img, kernel):
    kh, kw = kernel.shape
    padded = np.pad(img, ((kh // 2, kh // 2), (kw // 2, kw // 2)), mode="edge")
    out = np.zeros(img.shape)
    for i in range(kh):
        for j in range(kw):
            out += kernel[i, j] * padded[i : i + img.shape[0], j : j + img.shape[1]]
    return out


def gaussian_kernel(size=5, sigma=1.0):
    ax = np.arange(size) - size // 2
    g = np.exp(-0.5 * (ax / sigma) ** 2)
    k = np.outer(g, g)
    return k / k.sum()


def median_filter(img, size=3):
    r = size // 2
    padded = np.pad(img, r, mode="reflect")
    shifted = [padded[i : i + img.shape[0], j : j + img.shape[1]] for i in range(size) for j in range(size)]
    return np.median(np.stack(shifted), axis=0)


def bilateral(img, radius=2, sigma_s=2.0, sigma_r=25.0):
    """An average of the neighbours that are near and look alike."""
    padded = np.pad(img, radius, mode="edge")
    h, w = img.shape
    total = np.zeros_like(img)
    weights = np.zeros_like(img)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            shifted = padded[radius + dy : radius + dy + h, radius + dx : radius + dx + w]
            near = np.exp(-(dx * dx + dy * dy) / (2 * sigma_s**2))
            alike = np.exp(-((shifted - img) ** 2) / (2 * sigma_r**2))
            total += near * alike * shifted
            weights += near * alike
    return total / weights


def sobel(img):
    gx = convolve(img, SOBEL_X)
    gy = convolve(img, SOBEL_Y)
    mag = np.hypot(gx, gy)
    mag *= 255.0 / mag.max()
    return mag, np.arctan2(gy, gx)


def flatten_background(img, size=31):
    """Subtracts a box mean, by the integral image."""
    r = size // 2
    p = np.pad(img, ((r + 1, r), (r + 1, r)), mode="edge")
    s = p.cumsum(axis=0).cumsum(axis=1)
    h, w = img.shape
    box = s[size : size + h, size : size + w] - s[:h, size : size + w] - s[size : size + h, :w] + s[:h, :w]
    flat = img - box / size**2
    return flat - flat.min()


# ---- segmentation ----------------------------------------------------------


def histogram(img):
    hist = np.zeros(256, dtype=int)
    values, counts = np.unique(img, return_counts=True)
    hist[values] = counts
    return hist


def otsu(img):
    """The threshold with the largest variance between the two classes."""
    hist = histogram(img)
    total = img.size
    sum_all = np.dot(np.arange(256), hist)
    best, threshold = 0.0, 0
    w_b, sum_b = 0, 0.0
    for t in range(256):
        w_b += hist[t]
        if w_b == 0:
            continue
        w_f = total - w_b
        if w_f == 0:
            break
        sum_b += t * hist[t]
        m_b = sum_b / w_b
        m_f = (sum_all - sum_b) / w_f
        between = w_b * w_f * (m_b - m_f) ** 2
        if between > best:
            best, threshold = between, t
    return threshold


def erode(mask):
    p = np.pad(mask, 1, constant_values=True)
    return p[1:-1, 1:-1] & p[:-2, 1:-1] & p[2:, 1:-1] & p[1:-1, :-2] & p[1:-1, 2:]


def dilate(mask):
    p = np.pad(mask, 1, constant_values=False)
    return p[1:-1, 1:-1] | p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:]


def label(mask):
    """Connected components: each pixel takes the largest label of its neighbours until nothing changes."""
    h, w = mask.shape
    labels = np.where(mask, np.arange(1, h * w + 1).reshape(h, w), 0)
    rounds = 0
    while True:
        before = labels.copy()
        p = np.pad(labels, 1)
        for dy, dx in ((0, 1), (2, 1), (1, 0), (1, 2)):
            labels = np.maximum(labels, p[dy : dy + h, dx : dx + w])
        labels[~mask] = 0
        rounds += 1
        if np.array_equal(labels, before):
            break
    ids = np.unique(labels)
    ids = ids[ids > 0]
    return np.searchsorted(ids, labels, side="right"), len(ids), rounds


def measure(labels, n, img):
    area = np.bincount(labels.ravel(), minlength=n + 1)[1:]
    light = np.bincount(labels.ravel(), weights=img.ravel(), minlength=n + 1)[1:]
    yy, xx = np.indices(labels.shape)
    cy = np.bincount(labels.ravel(), weights=yy.ravel(), minlength=n + 1)[1:] / area
    cx = np.bincount(labels.ravel(), weights=xx.ravel(), minlength=n + 1)[1:] / area
    return area, light / area, cy, cx


def process(path, out_dir, min_area=12):
    img = read_pgm(path).astype(float)
    smooth = bilateral(median_filter(img))
    smooth = convolve(smooth, gaussian_kernel(5, 1.0))
    edges, angle = sobel(smooth)
    flat = flatten_background(smooth)
    scaled = np.clip(np.round(flat / flat.max() * 255, 6), 0, 255).astype(np.uint8)
    t = otsu(scaled)
    mask = dilate(erode(scaled > t))
    labels, n, rounds = label(mask)
    name = os.path.splitext(os.path.basename(path))[0]
    np.save(os.path.join(out_dir, name + "_labels.npy"), labels)
    write_pgm(os.path.join(out_dir, name + "_edges.pgm"), np.floor(np.round(edges, 6)))

    area, light, cy, cx = measure(labels, n, img)
    keep = area >= min_area
    directions, _ = np.histogram(angle[edges > 60], bins=8, range=(-np.pi, np.pi))
    return {
        "name": name,
        "noise": float(np.std(img - smooth)),
        "threshold": int(t),
        "objects": int(keep.sum()),
        "rounds": rounds,
        "area": float(area[keep].mean()) if keep.any() else 0.0,
        "light": float(light[keep].mean()) if keep.any() else 0.0,
        "centre": (float(cy[keep].mean()), float(cx[keep].mean())) if keep.any() else (0.0, 0.0),
        "edges": int((edges > 60).sum()),
        "direction": int(np.argmax(directions)),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the files there")
    args = parser.parse_args()
    count, h, w, cells = (2, 60, 80, 6) if args.small else (8, 384, 512, 60)

    rng = np.random.default_rng(7)
    work = args.keep or tempfile.mkdtemp(prefix="images_")
    os.makedirs(work, exist_ok=True)
    try:
        paths = []
        for k in range(count):
            path = os.path.join(work, f"field_{k:02d}.pgm")
            write_pgm(path, make_image(rng, h, w, cells))
            paths.append(path)
        paths.append(os.path.join(work, "missing.pgm"))
        with open(os.path.join(work, "broken.pgm"), "w") as f:
            f.write("P2\n1 1\n255\n0\n")
        paths.append(os.path.join(work, "broken.pgm"))
        print(f"wrote {count} images of {h} x {w}")

        results = []
        for path in paths:
            try:
                res = process(path, work)
            except FileNotFoundError:
                print(f"  {os.path.basename(path)}: no such file, left out")
                continue
            except ValueError as err:
                print(f"  {err}, left out")
                continue
            results.append(res)
            print(
                f"  {res['name']}: threshold {res['threshold']}, {res['objects']} objects of {res['area']:.2f} pixels, "
                f"{res['edges']} edge pixels, labelled in {res['rounds']} rounds"
            )

        total = 0
        for res in results:
            labels = np.load(os.path.join(work, res["name"] + "_labels.npy"))
            total += np.count_nonzero(labels)
        print(f"covered: {100 * total / (h * w * len(results)):.4f} %")
        for key in ("noise", "area", "light"):
            values = np.array([res[key] for res in results])
            print(f"{key:>6}: mean {values.mean():.6f}, spread {values.std():.6f}")
        print("directions of edges:", " ".join(str(res["direction"]) for res in results))
        print("files:", len(os.listdir(work)))
    finally:
        if not args.keep:
            shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
