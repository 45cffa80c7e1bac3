"""A signal smoothed by a window of the user's choice, its ends reflected. After the SciPy cookbook's SignalSmooth (BSD-3), written afresh."""

import numpy as np


def smooth(x, window_len=11, window="hanning"):
    if x.ndim != 1:
        raise ValueError("smooth only accepts 1 dimension arrays.")
    if x.size < window_len:
        raise ValueError("Input vector needs to be bigger than window size.")
    if window_len < 3:
        return x
    if window not in ("flat", "hanning", "hamming", "bartlett", "blackman"):
        raise ValueError("Window is one of 'flat', 'hanning', 'hamming', 'bartlett', 'blackman'")
    s = np.r_[x[window_len - 1 : 0 : -1], x, x[-2 : -window_len - 1 : -1]]
    # "flat" is the moving average
    w = np.ones(window_len, "d") if window == "flat" else getattr(np, window)(window_len)
    y = np.convolve(w / w.sum(), s, mode="valid")
    return y[(window_len // 2) : -(window_len // 2)]


def make_data(small=False):
    rng = np.random.default_rng(6)
    t = np.linspace(-4, 4, 300 if small else 600_000)
    return np.sin(t) + rng.standard_normal(len(t)) * 0.1, 31


if __name__ == "__main__":
    print(smooth(*make_data())[:5])
