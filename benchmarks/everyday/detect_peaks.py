"""Peaks of a signal, higher than a threshold and apart from each other. After demotu/BMC's detect_peaks (M. Duarte, MIT), written afresh."""

import numpy as np


def detect_peaks(x, mph=None, mpd=1, threshold=0):
    x = np.atleast_1d(x).astype("float64")
    if x.size < 3:
        return np.array([], dtype=int)
    dx = x[1:] - x[:-1]
    # rising edges
    ind = np.where((np.hstack((dx, 0)) <= 0) & (np.hstack((0, dx)) > 0))[0]
    if ind.size and ind[0] == 0:
        ind = ind[1:]
    if ind.size and ind[-1] == x.size - 1:
        ind = ind[:-1]
    if ind.size and mph is not None:
        ind = ind[x[ind] >= mph]
    if ind.size and threshold > 0:
        dx = np.min(np.vstack([x[ind] - x[ind - 1], x[ind] - x[ind + 1]]), axis=0)
        ind = np.delete(ind, np.where(dx < threshold)[0])
    # small peaks closer than the minimum distance to a higher one go
    if ind.size and mpd > 1:
        ind = ind[np.argsort(x[ind])][::-1]
        idel = np.zeros(ind.size, dtype=bool)
        for i in range(ind.size):
            if not idel[i]:
                idel = idel | (ind >= ind[i] - mpd) & (ind <= ind[i] + mpd)
                idel[i] = 0
        ind = np.sort(ind[~idel])
    return ind


def make_data(small=False):
    n = 500 if small else 60_000
    rng = np.random.default_rng(8)
    t = np.arange(n) / 50
    return np.sin(t) + 0.3 * np.sin(7.1 * t) + 0.15 * rng.standard_normal(n), 0.5, 40


if __name__ == "__main__":
    print(detect_peaks(*make_data())[:10])
