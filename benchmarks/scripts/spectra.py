"""Spectral analysis of a noisy recording: windows, Welch, spectrogram, peaks, autocorrelation, bands, filters. As notebooks of
signal processing courses do it by hand (A. Downey's Think DSP, the SciPy cookbook's recipes), written afresh.

    python spectra.py [SECONDS]
"""

import sys

import numpy as np

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
FS = 8000.0
rng = np.random.default_rng(20240)

# ---------------------------------------------------------------- the signal
n = int(SECONDS * FS)
t = np.arange(n) / FS
tones = {"hum": (50.0, 0.8), "a4": (440.0, 0.5), "e5": (659.26, 0.35), "whistle": (2100.0, 0.15)}
signal = np.zeros(n)
for name, (freq, amp) in tones.items():
    phase = rng.uniform(0, 2 * np.pi)
    vibrato = 0.3 * np.sin(2 * np.pi * 5.0 * t) if name == "e5" else 0.0
    signal += amp * np.sin(2 * np.pi * freq * t + phase + vibrato)
# a chirp from 200 Hz to 3 kHz
sweep = 200.0 + (3000.0 - 200.0) * t / (2 * SECONDS)
signal += 0.2 * np.sin(2 * np.pi * sweep * t)
# bursts that decay
for _ in range(max(int(SECONDS), 1)):
    start = rng.integers(0, n - 400)
    length = min(int(0.2 * FS), n - start)
    local = np.arange(length) / FS
    signal[start : start + length] += 1.5 * np.exp(-local * 30) * np.sin(2 * np.pi * 1200 * local)
noise = rng.normal(0, 0.4, n)
signal = signal + noise
# drift and a few clicks
signal += 0.5 * np.cumsum(rng.normal(0, 0.001, n))
clicks = rng.choice(n, size=max(n // 20000, 2), replace=False)
signal[clicks] += rng.choice([-8.0, 8.0], size=len(clicks))
print(
    f"{n} samples, {SECONDS:.1f} s at {FS:.0f} Hz, rms {np.sqrt(np.mean(signal**2)):.6f}, peak {np.abs(signal).max():.6f}"
)


# ---------------------------------------------------------------- cleaning
def declick(x, threshold=6.0, width=5):
    """Replace outliers by the median of their neighbours."""
    y = x.copy()
    d = np.abs(np.diff(x, prepend=x[0]))
    limit = threshold * np.median(d)
    bad = np.flatnonzero(d > limit)
    for i in bad:
        lo, hi = max(0, i - width), min(len(x), i + width + 1)
        y[i] = np.median(x[lo:hi])
    return y, len(bad)


def one_pole_highpass(x, cutoff, fs):
    """The textbook RC filter, sample by sample."""
    rc = 1.0 / (2 * np.pi * cutoff)
    dt = 1.0 / fs
    alpha = rc / (rc + dt)
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * (y[i - 1] + x[i] - x[i - 1])
    return y


def biquad_notch(x, freq, q, fs):
    """RBJ's cookbook notch, direct form I."""
    w0 = 2 * np.pi * freq / fs
    alpha = np.sin(w0) / (2 * q)
    b = np.array([1.0, -2 * np.cos(w0), 1.0])
    a = np.array([1 + alpha, -2 * np.cos(w0), 1 - alpha])
    b, a = b / a[0], a / a[0]
    y = np.zeros(len(x))
    x1 = x2 = y1 = y2 = 0.0
    for i, x0 in enumerate(x):
        y0 = b[0] * x0 + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[2] * y2
        x2, x1 = x1, x0
        y2, y1 = y1, y0
        y[i] = y0
    return y


clean, replaced = declick(signal)
clean = one_pole_highpass(clean, 20.0, FS)
notched = biquad_notch(clean, 50.0, 10.0, FS)
print(f"declicked {replaced} samples, rms {clean.std():.6f} -> {notched.std():.6f} without hum")

# a windowed-sinc low-pass
cutoff, taps = 1500.0, 101
k = np.arange(taps) - (taps - 1) / 2
h = np.sinc(2 * cutoff / FS * k) * np.hamming(taps)
h /= h.sum()
lowpassed = np.convolve(notched, h, mode="same")
print(f"low-passed at {cutoff:.0f} Hz: rms {lowpassed.std():.6f}")

# ---------------------------------------------------------------- Welch by hand, with several windows
nperseg, overlap = 1024, 768
hop = nperseg - overlap
windows = {
    "boxcar": np.ones(nperseg),
    "hann": 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(nperseg) / nperseg),
    "hamming": np.hamming(nperseg),
    "blackman": np.blackman(nperseg),
}
freqs = np.fft.rfftfreq(nperseg, 1 / FS)
spectra = {}
for name, window in windows.items():
    scale = 1.0 / (FS * (window**2).sum())
    psd = np.zeros(len(freqs))
    segments = 0
    for start in range(0, n - nperseg + 1, hop):
        segment = clean[start : start + nperseg]
        segment = segment - segment.mean()
        spectrum = np.fft.rfft(segment * window)
        psd += np.abs(spectrum) ** 2
        segments += 1
    psd *= scale / segments
    psd[1:-1] *= 2
    spectra[name] = psd
    print(
        f"welch {name:9s} {segments} segments, power {np.trapezoid(psd, freqs):.6f}, peak at {freqs[psd.argmax()]:.2f} Hz"
    )

# ---------------------------------------------------------------- peaks
psd = spectra["hann"]
db = 10 * np.log10(psd + 1e-20)
floor = np.array([np.median(db[max(0, i - 25) : i + 26]) for i in range(len(db))])
peaks = []
for i in range(1, len(db) - 1):
    if db[i] > db[i - 1] and db[i] > db[i + 1] and db[i] > floor[i] + 8:
        # parabolic interpolation between bins
        p = 0.5 * (db[i - 1] - db[i + 1]) / (db[i - 1] - 2 * db[i] + db[i + 1])
        peaks.append({"freq": freqs[i] + p * (freqs[1] - freqs[0]), "level": db[i], "above": db[i] - floor[i]})
peaks.sort(key=lambda peak: -peak["level"])
for peak in peaks[:6]:
    print(f"  peak {peak['freq']:9.3f} Hz  {peak['level']:8.3f} dB  {peak['above']:6.2f} dB above the floor")

# ---------------------------------------------------------------- spectrogram and what it says over time
spectrogram = np.array(
    [
        np.abs(np.fft.rfft(clean[start : start + nperseg] * windows["hann"])) ** 2
        for start in range(0, n - nperseg + 1, hop)
    ]
).T
power = spectrogram.sum(axis=0)
centroid = (freqs[:, None] * spectrogram).sum(axis=0) / power
spread = np.sqrt((((freqs[:, None] - centroid) ** 2) * spectrogram).sum(axis=0) / power)
rolloff = freqs[np.argmax(np.cumsum(spectrogram, axis=0) >= 0.85 * power, axis=0)]
flatness = np.exp(np.mean(np.log(spectrogram + 1e-12), axis=0)) / np.mean(spectrogram, axis=0)
flux = np.sqrt((np.maximum(np.diff(np.sqrt(spectrogram), axis=1), 0) ** 2).sum(axis=0))
onsets = np.flatnonzero(flux > flux.mean() + 3 * flux.std())
print(f"spectrogram {spectrogram.shape}: centroid {centroid.mean():.4f} Hz, spread {spread.mean():.4f} Hz")
print(f"  rolloff {rolloff.mean():.3f} Hz, flatness {flatness.mean():.6f}, {len(onsets)} onset frames")

# ---------------------------------------------------------------- band powers
bands = {"low": (20, 300), "mid": (300, 1000), "presence": (1000, 2000), "high": (2000, 4000)}
total = np.trapezoid(psd, freqs)
for name, (lo, hi) in bands.items():
    mask = (freqs >= lo) & (freqs < hi)
    share = np.trapezoid(psd[mask], freqs[mask]) / total
    over_time = spectrogram[mask].sum(axis=0) / power
    print(
        f"band {name:9s} {lo:5d}-{hi:<5d} {100 * share:8.4f} %  (min {over_time.min():.4f}, max {over_time.max():.4f})"
    )


# ---------------------------------------------------------------- autocorrelation, directly and by FFT
def autocorrelation(x, lags):
    x = x - x.mean()
    r = np.zeros(lags)
    for lag in range(lags):
        r[lag] = np.sum(x[: len(x) - lag] * x[lag:]) / len(x)
    return r / r[0]


lags = 600
direct = autocorrelation(lowpassed, lags)
centred = lowpassed - lowpassed.mean()
padded = np.fft.rfft(centred, 2 * n)
by_fft = np.fft.irfft(np.abs(padded) ** 2)[:lags]
by_fft /= by_fft[0]
print(f"autocorrelation: direct and FFT differ by less than 1e-9: {bool(np.abs(direct - by_fft).max() < 1e-9)}")
crossing = np.flatnonzero(direct < 0)[0]
pitch = FS / (crossing + direct[crossing:].argmax())
print(f"  first zero crossing at lag {crossing}, pitch estimate {pitch:.4f} Hz")

# ---------------------------------------------------------------- envelope and Goertzel
analytic = np.fft.fft(lowpassed)
analytic[1 : n // 2] *= 2
analytic[n // 2 + 1 :] = 0
envelope = np.abs(np.fft.ifft(analytic))
print(f"envelope: mean {envelope.mean():.6f}, 95 % below {np.percentile(envelope, 95):.6f}")


def goertzel(x, freq, fs):
    coeff = 2 * np.cos(2 * np.pi * freq / fs)
    s1 = s2 = 0.0
    for sample in x:
        s1, s2 = sample + coeff * s1 - s2, s1
    return np.sqrt(max(s1 * s1 + s2 * s2 - coeff * s1 * s2, 0.0)) * 2 / len(x)


for name, (freq, amp) in tones.items():
    found = goertzel(clean[: int(FS)], freq, FS)
    print(f"goertzel {name:8s} {freq:8.2f} Hz: {found:.5f} (put in: {amp:.2f})")

snr = 10 * np.log10(np.mean(lowpassed**2) / np.mean((notched - lowpassed) ** 2))
print(f"done: snr {snr:.5f} dB, checksum {np.abs(direct).sum() + centroid.sum():.4f}")
