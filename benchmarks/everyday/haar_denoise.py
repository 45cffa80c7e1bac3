"""Haar wavelets, soft thresholds, and back: Donoho's denoising. The textbook's loops over levels, written afresh."""

import numpy as np


def haar_forward(x, levels):
    details = []
    approx = x
    for _ in range(levels):
        even, odd = approx[::2], approx[1::2]
        details.append((even - odd) / np.sqrt(2))
        approx = (even + odd) / np.sqrt(2)
    return approx, details


def haar_inverse(approx, details):
    for detail in reversed(details):
        out = np.empty(2 * len(approx))
        out[::2] = (approx + detail) / np.sqrt(2)
        out[1::2] = (approx - detail) / np.sqrt(2)
        approx = out
    return approx


def soft(x, t):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0)


def denoise(x, levels=5):
    if len(x) % 2**levels:
        raise ValueError(f"the length must be a multiple of {2**levels}")
    approx, details = haar_forward(x, levels)
    sigma = np.median(np.abs(details[0])) / 0.6745
    t = sigma * np.sqrt(2 * np.log(len(x)))
    return haar_inverse(approx, [soft(d, t) for d in details]), sigma


def make_data(small=False):
    n = 1 << (10 if small else 19)
    rng = np.random.default_rng(10)
    t = np.linspace(0, 1, n)
    return (np.where(t > 0.4, 1.0, 0.0) + np.sin(8 * t) + 0.2 * rng.standard_normal(n),)


if __name__ == "__main__":
    print(denoise(*make_data())[1])
