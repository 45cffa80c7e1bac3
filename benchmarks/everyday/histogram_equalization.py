"""Histogram equalization of a grey image. After PCV's imtools.histeq (J. E. Solem, BSD-2), written afresh."""

import numpy as np


def histeq(im, nbr_bins=256):
    """Returns the image with a flat histogram, and the distribution that it was mapped by."""
    imhist, bins = np.histogram(im.flatten(), nbr_bins, density=True)
    cdf = imhist.cumsum()
    cdf = 255 * cdf / cdf[-1]
    # linear interpolation of the distribution gives the new pixel values
    im2 = np.interp(im.flatten(), bins[:-1], cdf)
    return im2.reshape(im.shape), cdf


def make_data(small=False):
    rows, columns = (60, 80) if small else (768, 1024)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:rows, 0:columns] / rows
    im = 90 + 40 * np.sin(3 * x) * np.cos(5 * y) + 6 * rng.standard_normal((rows, columns))
    return (im.clip(0, 255).astype(np.uint8),)


if __name__ == "__main__":
    print(histeq(*make_data())[1][::32])
