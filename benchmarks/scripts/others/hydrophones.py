"""
Analysis of synthetic hydrophone recordings.

 * whistles (chirps) and clicks in coloured noise
 * FIR band filters, spectrogram, peak tracking
 * time delay between two hydrophones by cross-correlation
 * demodulation of an AM beacon and an FSK telemetry channel
"""
import logging
import sys
from dataclasses import dataclass

import numpy as np

logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
logger = logging.getLogger(__name__)

FS = 16000.0

@dataclass
class Recording:
    name: str
    fs: float
    data: np.ndarray
    start: float = 0.0

    @property
    def duration(self):
        return len(self.data) / self.fs

    def times(self):
        return self.start + np.arange(len(self.data)) / self.fs

    def rms(self):
        return np.sqrt(np.mean(self.data ** 2))

def coloured_noise(n, exponent, rng):
    spec = np.fft.rfft(rng.standard_normal(n))
    f = np.arange(len(spec), dtype=float)
    f[0] = 1.0
    x = np.fft.irfft(spec / f ** (exponent / 2.0), n)
    return x / x.std()

def chirp(t, f0, f1, t0, dur):
    tau = t - t0
    on = (tau >= 0) & (tau < dur)
    k = (f1 - f0) / dur
    phase = 2 * np.pi * (f0 * tau + 0.5 * k * tau ** 2)
    env = np.sin(np.pi * np.clip(tau / dur, 0, 1)) ** 2
    return np.where(on, env * np.sin(phase), 0.0)

def make_source(seconds, rng):
    n = int(seconds * FS)
    t = np.arange(n) / FS
    x = np.zeros(n)
    events = []
    t0 = 0.5
    while t0 < seconds - 1.5:
        f0 = rng.uniform(1500, 3000)
        f1 = f0 + rng.uniform(-800, 1500)
        dur = rng.uniform(0.3, 0.9)
        seg = slice(int(t0 * FS), int((t0 + dur) * FS) + 1)
        x[seg] += 1.5 * chirp(t[seg], f0, f1, t0, dur)
        events.append({"t0": t0, "dur": dur, "f0": f0, "f1": f1})
        t0 += dur + rng.uniform(0.4, 1.2)
    # AM beacon on 5 kHz carrying a slow tone
    x += 0.6 * (1 + 0.5 * np.sin(2 * np.pi * 3.0 * t)) * np.cos(2 * np.pi * 5000 * t)
    return x, events

def make_fsk(bits, baud, f_mark, f_space):
    spb = int(FS / baud)
    phase = 0.0
    out = []
    for b in bits:
        f = f_mark if b else f_space
        ph = phase + 2 * np.pi * f * np.arange(1, spb + 1) / FS
        out.append(np.sin(ph))
        phase = ph[-1] % (2 * np.pi)
    return np.concatenate(out)

class FIRFilter:
    """Windowed-sinc FIR; mode is 'low' or 'band'."""

    def __init__(self, ntaps, fs, low=None, high=None):
        if ntaps % 2 == 0:
            raise ValueError("use an odd number of taps")
        self.ntaps = ntaps
        self.fs = fs
        m = np.arange(ntaps) - (ntaps - 1) / 2
        window = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(ntaps) / (ntaps - 1))
        h = 2 * high / fs * np.sinc(2 * high / fs * m)
        if low is not None:
            h = h - 2 * low / fs * np.sinc(2 * low / fs * m)
        self.h = h * window
        if low is None:
            self.h /= self.h.sum()

    def apply(self, x):
        return np.convolve(x, self.h, mode="same")

    def response(self, f):
        k = np.arange(self.ntaps)
        return np.abs(np.array([np.sum(self.h * np.exp(-2j * np.pi * fi / self.fs * k)) for fi in f]))

def one_pole(x, alpha):
    """Simple exponential smoother, y[n] = a x[n] + (1-a) y[n-1]."""
    y = np.empty_like(x)
    acc = x[0]
    for i in range(len(x)):
        acc = alpha * x[i] + (1 - alpha) * acc
        y[i] = acc
    return y

class Spectrogram:
    def __init__(self, rec, nfft=512, hop=128):
        self.nfft, self.hop = nfft, hop
        self.freq = np.fft.rfftfreq(nfft, 1 / rec.fs)
        win = np.hanning(nfft)
        frames = []
        for s in range(0, len(rec.data) - nfft + 1, hop):
            seg = rec.data[s:s + nfft]
            seg = (seg - seg.mean()) * win
            frames.append(np.abs(np.fft.rfft(seg)) ** 2)
        self.power = np.array(frames).T / (win ** 2).sum()
        self.time = (np.arange(self.power.shape[1]) * hop + nfft / 2) / rec.fs

    def db(self):
        return 10 * np.log10(self.power + 1e-12)

    def whiten(self):
        db = self.db()
        return db - np.median(db, axis=1)[:, None]

def find_peaks(x, height, distance):
    idx = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:]) & (x[1:-1] > height)) + 1
    keep = []
    for i in idx[np.argsort(-x[idx], kind="stable")]:
        if all(abs(i - j) >= distance for j in keep):
            keep.append(i)
    return np.array(sorted(keep), dtype=int)

def track_whistles(sg, fmin, fmax, snr_db=14.0, max_jump=120.0, min_len=12):
    band = (sg.freq >= fmin) & (sg.freq <= fmax)
    f = sg.freq[band]
    w = sg.whiten()[band]
    tracks, current = [], None
    for k in range(w.shape[1]):
        col = w[:, k]
        i = int(col.argmax())
        if 0 < i < len(col) - 1 and col[i] > snr_db:
            a, b, c = col[i - 1], col[i], col[i + 1]
            denom = a - 2 * b + c
            shift = 0.5 * (a - c) / denom if denom != 0 else 0.0
            fk = f[i] + shift * (f[1] - f[0])
            if current and abs(current["f"][-1] - fk) < max_jump:
                current["f"].append(fk)
                current["t"].append(sg.time[k])
                continue
            if current and len(current["f"]) >= min_len:
                tracks.append(current)
            current = {"f": [fk], "t": [sg.time[k]]}
        elif current is not None and sg.time[k] - current["t"][-1] > 0.05:
            if len(current["f"]) >= min_len:
                tracks.append(current)
            current = None
    return tracks

def delay_by_xcorr(a, b, fs, maxlag):
    n = 1 << (len(a) + len(b) - 1).bit_length()
    A = np.fft.rfft(a - a.mean(), n)
    B = np.fft.rfft(b - b.mean(), n)
    r = np.fft.irfft(np.conj(A) * B, n)
    r = np.concatenate([r[-maxlag:], r[:maxlag + 1]])
    k = int(np.argmax(r))
    return (k - maxlag) / fs, r[k] / np.sqrt(np.sum(a ** 2) * np.sum(b ** 2))

def demodulate_fsk(x, baud, f_mark, f_space):
    spb = int(FS / baud)
    t = np.arange(spb) / FS
    refs = {f: np.exp(-2j * np.pi * f * t) for f in (f_mark, f_space)}
    bits = []
    for s in range(0, len(x) - spb + 1, spb):
        seg = x[s:s + spb]
        bits.append(int(abs(np.dot(seg, refs[f_mark])) > abs(np.dot(seg, refs[f_space]))))
    return np.array(bits)

def main():
    rng = np.random.default_rng(77)
    seconds = 120
    src, events = make_source(seconds, rng)
    true_delay = 37
    rec1 = Recording("H1", FS, src + 0.8 * coloured_noise(len(src), 1.0, rng))
    rec2 = Recording("H2", FS, 0.8 * np.roll(src, true_delay) + 0.8 * coloured_noise(len(src), 1.0, rng))
    for r in (rec1, rec2):
        print(f"{r.name}: {r.duration:.1f} s, rms {r.rms():.3f}, peak {np.abs(r.data).max():.2f}")

    try:
        FIRFilter(100, FS, high=500.0)
    except ValueError as err:
        print("filter check:", err)
    bp = FIRFilter(201, FS, low=1200.0, high=4600.0)
    resp = bp.response(np.array([500.0, 1200.0, 3000.0, 4600.0, 6000.0]))
    print("band-pass response:", " ".join(f"{v:.3f}" for v in resp))
    b1 = Recording("H1-bp", FS, bp.apply(rec1.data))
    b2 = Recording("H2-bp", FS, bp.apply(rec2.data))
    delay, coef = delay_by_xcorr(b1.data, b2.data, FS, 400)
    print(f"delay H1->H2: {1e3 * delay:.3f} ms (true {1e3 * true_delay / FS:.3f}), corr {coef:.2f}")

    print("\nwhistle tracks")
    sg = Spectrogram(b1)
    tracks = track_whistles(sg, 1200, 4600)
    matched = 0
    for n, tr in enumerate(tracks):
        f, t = np.array(tr["f"]), np.array(tr["t"])
        slope = np.polyfit(t - t[0], f, 1)[0]
        mid = t.mean()
        hit = [e for e in events if e["t0"] <= mid <= e["t0"] + e["dur"]]
        matched += bool(hit)
        ref = (hit[0]["f1"] - hit[0]["f0"]) / hit[0]["dur"] if hit else np.nan
        if n < 12:
            print(f"  {t[0]:6.2f} s {t[-1] - t[0]:5.2f} s  {f.min():5.0f}-{f.max():5.0f} Hz  "
                  f"slope {slope:7.0f} Hz/s (true {ref:7.0f})")
    print(f"  {len(tracks)} tracks, {matched} matched, {len(events)} events")

    energy = one_pole(b1.data ** 2, 0.002)[::16]
    pk = find_peaks(energy, 3 * np.median(energy), 400)
    print(f"energy detector: {len(pk)} peaks, first at " + ", ".join(f"{p * 16 / FS:.2f}" for p in pk[:6]))

    # AM beacon: mix down, low-pass, envelope
    t = rec1.times()
    base = rec1.data * np.exp(-2j * np.pi * 5000.0 * t)
    lp = FIRFilter(401, FS, high=60.0)
    iq = lp.apply(base.real) + 1j * lp.apply(base.imag)
    env = np.abs(iq)[1000:-1000:100]
    spec = np.abs(np.fft.rfft((env - env.mean()) * np.hanning(len(env))))
    fm = np.fft.rfftfreq(len(env), 100 / FS)[spec.argmax()]
    depth = np.sqrt(2) * env.std() / env.mean()
    print(f"beacon: modulation {fm:.2f} Hz, depth {depth:.2f}, carrier level {2 * env.mean():.2f}")

    print("\nFSK bit errors")
    bits = rng.integers(0, 2, 2000)
    clean = make_fsk(bits, 250, 2200.0, 1800.0)
    for snr in (0, -6, -9, -12, -15):
        noisy = clean + np.sqrt(0.5) * 10 ** (-snr / 20) * rng.standard_normal(len(clean))
        got = demodulate_fsk(noisy, 250, 2200.0, 1800.0)
        print(f"  SNR {snr:4d} dB: {np.sum(got != bits):4d} / {len(bits)}")

if __name__ == "__main__":
    main()
