"""Caesar's cipher broken by letter frequencies; counts of pairs of letters on the way. The usual bincount and roll, written afresh."""

import numpy as np

ENGLISH = np.array(
    [8.2, 1.5, 2.8, 4.3, 12.7, 2.2, 2.0, 6.1, 7.0, 0.15, 0.77, 4.0, 2.4, 6.7, 7.5, 1.9, 0.095, 6.0, 6.3, 9.1, 2.8, 0.98,
     2.4, 0.15, 2.0, 0.074]
)  # fmt: skip


def break_caesar(text):
    codes = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    lower = np.where((codes >= 65) & (codes <= 90), codes + 32, codes)
    is_letter = (lower >= 97) & (lower <= 122)
    letters = lower[is_letter].astype(int) - 97
    counts = np.bincount(letters, minlength=26)
    expected = ENGLISH / ENGLISH.sum() * len(letters)
    chi2 = np.array([np.sum((np.roll(counts, -shift) - expected) ** 2 / expected) for shift in range(26)])
    shift = int(np.argmin(chi2))

    plain = codes.copy()
    base = np.where(codes >= 97, 97, 65)
    plain[is_letter] = ((codes - base - shift) % 26 + base)[is_letter].astype(np.uint8)

    pairs = np.zeros((26, 26), dtype=int)
    np.add.at(pairs, (letters[:-1], letters[1:]), 1)
    p = counts[counts > 0] / counts.sum()
    entropy = -(p * np.log2(p)).sum()
    return plain.tobytes().decode("ascii"), shift, pairs, entropy


def make_data(small=False):
    rng = np.random.default_rng(32)
    letters = "abcdefghijklmnopqrstuvwxyz"
    drawn = rng.choice(26, 400 if small else 400_000, p=ENGLISH / ENGLISH.sum())
    text = "".join(letters[(i + 7) % 26] for i in drawn)
    return (" ".join(text[k : k + 5].capitalize() for k in range(0, len(text), 5)),)


if __name__ == "__main__":
    print(break_caesar(*make_data())[1])
