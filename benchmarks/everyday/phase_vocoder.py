"""Sound made slower at the same pitch: a phase vocoder, frame by frame (Flanagan and Golden, 1966). The textbook's loop, written afresh."""

import numpy as np


def stft(x, n_fft, hop):
    window = np.hanning(n_fft)
    starts = range(0, len(x) - n_fft, hop)
    return np.array([np.fft.rfft(window * x[s : s + n_fft]) for s in starts])


def istft(frames, n_fft, hop):
    window = np.hanning(n_fft)
    out = np.zeros(n_fft + hop * (len(frames) - 1))
    norm = np.zeros_like(out)
    for i, spectrum in enumerate(frames):
        s = i * hop
        out[s : s + n_fft] += window * np.fft.irfft(spectrum, n_fft)
        norm[s : s + n_fft] += window**2
    norm[norm < 1e-8] = 1.0
    return out / norm


def time_stretch(x, rate, n_fft=1024, hop=256):
    frames = stft(x, n_fft, hop)
    expected = 2 * np.pi * hop * np.arange(n_fft // 2 + 1) / n_fft
    steps = np.arange(0, len(frames) - 1, rate)
    out = np.zeros((len(steps), n_fft // 2 + 1), dtype=complex)
    phase = np.angle(frames[0])
    for t, step in enumerate(steps):
        left, right = frames[int(step)], frames[int(step) + 1]
        alpha = step - int(step)
        magnitude = (1 - alpha) * np.abs(left) + alpha * np.abs(right)
        out[t] = magnitude * np.exp(1j * phase)
        delta = np.angle(right) - np.angle(left) - expected
        delta -= 2 * np.pi * np.round(delta / (2 * np.pi))  # into -pi..pi
        phase = phase + expected + delta
    return istft(out, n_fft, hop)


def make_data(small=False):
    n = 6000 if small else 60_000
    t = np.arange(n) / 22050
    return np.sin(2 * np.pi * (200 + 80 * t) * t) + 0.3 * np.sin(2 * np.pi * 660 * t), 0.8


if __name__ == "__main__":
    print(time_stretch(*make_data()).shape)
