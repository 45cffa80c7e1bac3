"""Otsu's threshold, and the image cut at it. After scikit-image's threshold_otsu (BSD-3), written afresh."""

import numpy as np


def threshold_otsu(image, nbins=256):
    if image.min() == image.max():
        raise ValueError(f"threshold_otsu needs an image of more than one value, got only {image.min()}")
    counts, edges = np.histogram(image.ravel(), bins=nbins)
    centers = (edges[:-1] + edges[1:]) / 2
    counts = counts.astype(float)

    weight1 = np.cumsum(counts)
    weight2 = np.cumsum(counts[::-1])[::-1]
    mean1 = np.cumsum(counts * centers) / weight1
    mean2 = (np.cumsum((counts * centers)[::-1]) / weight2[::-1])[::-1]
    # the last value of weight1/mean1 pairs with zero values in weight2/mean2, which do not exist
    variance12 = weight1[:-1] * weight2[1:] * (mean1[:-1] - mean2[1:]) ** 2
    return centers[np.argmax(variance12)]


def binarize(image):
    t = threshold_otsu(image)
    mask = image > t
    return mask, t, mask.mean()


def make_data(small=False):
    rows, columns = (50, 70) if small else (1000, 1000)
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:rows, 0:columns] / rows
    disc = (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1
    return (np.where(disc, 0.7, 0.3) + 0.1 * rng.standard_normal((rows, columns)),)


if __name__ == "__main__":
    print(binarize(*make_data())[1:])
