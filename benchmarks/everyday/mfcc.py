"""Mel-frequency cepstral coefficients of speech. After python_speech_features (J. Lyons, MIT), written afresh, with a cosine transform by hand."""

import math

import numpy as np


def hz2mel(hz):
    return 2595 * np.log10(1 + hz / 700.0)


def mel2hz(mel):
    return 700 * (10 ** (mel / 2595.0) - 1)


def framesig(sig, frame_len, frame_step):
    slen = len(sig)
    numframes = 1 if slen <= frame_len else 1 + math.ceil((slen - frame_len) / frame_step)
    padlen = (numframes - 1) * frame_step + frame_len
    padsignal = np.concatenate((sig, np.zeros(padlen - slen)))
    indices = np.tile(np.arange(frame_len), (numframes, 1))
    indices = indices + np.tile(np.arange(0, numframes * frame_step, frame_step), (frame_len, 1)).T
    return padsignal[indices] * np.tile(np.hamming(frame_len), (numframes, 1))


def get_filterbanks(nfilt, nfft, samplerate):
    melpoints = np.linspace(hz2mel(0), hz2mel(samplerate / 2), nfilt + 2)
    bins = np.floor((nfft + 1) * mel2hz(melpoints) / samplerate)
    fbank = np.zeros([nfilt, nfft // 2 + 1])
    for j in range(nfilt):
        for i in range(int(bins[j]), int(bins[j + 1])):
            fbank[j, i] = (i - bins[j]) / (bins[j + 1] - bins[j])
        for i in range(int(bins[j + 1]), int(bins[j + 2])):
            fbank[j, i] = (bins[j + 2] - i) / (bins[j + 2] - bins[j + 1])
    return fbank


def mfcc(signal, samplerate=16000, winlen=0.025, winstep=0.01, numcep=13, nfilt=26, nfft=512, preemph=0.97, lifter=22):
    signal = np.append(signal[0], signal[1:] - preemph * signal[:-1])
    frames = framesig(signal, round(winlen * samplerate), round(winstep * samplerate))
    pspec = 1.0 / nfft * np.square(np.absolute(np.fft.rfft(frames, nfft)))
    energy = np.sum(pspec, 1)
    energy = np.where(energy == 0, np.finfo(float).eps, energy)  # log(0) is no feature
    feat = np.dot(pspec, get_filterbanks(nfilt, nfft, samplerate).T)
    feat = np.log(np.where(feat == 0, np.finfo(float).eps, feat))
    n = np.arange(nfilt)
    basis = np.cos(np.pi / nfilt * np.outer(n + 0.5, np.arange(numcep)))
    basis *= np.sqrt(2 / nfilt)
    basis[:, 0] /= np.sqrt(2)
    feat = feat @ basis
    feat *= 1 + (lifter / 2) * np.sin(np.pi * np.arange(numcep) / lifter)
    feat[:, 0] = np.log(energy)
    return feat


def make_data(small=False):
    n = 4000 if small else 480_000
    rng = np.random.default_rng(9)
    t = np.arange(n) / 16000
    return (np.sin(2 * np.pi * 220 * t) * np.sin(3 * t) + 0.05 * rng.standard_normal(n),)


if __name__ == "__main__":
    print(mfcc(*make_data()).mean(axis=0))
