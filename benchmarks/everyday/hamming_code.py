"""Hamming's (7,4) code: bytes to code words, a bit of some flipped, and back. The textbook's matrices, written afresh."""

import numpy as np

G = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
H = np.array([[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
DATA_BITS = [2, 4, 5, 6]


def encode(data):
    bits = np.unpackbits(data).reshape(-1, 4)
    return (bits @ G.T % 2).astype(np.uint8)


def decode(words):
    syndrome = words @ H.T % 2
    position = syndrome @ np.array([1, 2, 4]) - 1
    wrong = np.flatnonzero(position >= 0)
    fixed = words.copy()
    fixed[wrong, position[wrong]] ^= 1
    return np.packbits(fixed[:, DATA_BITS]), len(wrong)


def send(data, noise_rate, seed=0):
    words = encode(data)
    rng = np.random.default_rng(seed)
    hit = rng.random(len(words)) < noise_rate
    bit = rng.integers(0, 7, len(words))
    received = words.copy()
    received[hit, bit[hit]] ^= 1
    decoded, corrected = decode(received)
    if not np.array_equal(decoded, data):
        raise RuntimeError("more than one bit of a word was lost")
    return {"decoded": decoded, "corrected": corrected, "errors": int((received != words).sum())}


def make_data(small=False):
    rng = np.random.default_rng(31)
    return rng.integers(0, 256, 64 if small else 60_000, dtype=np.uint8), 0.05


if __name__ == "__main__":
    print(send(*make_data())["corrected"])
