"""Levenshtein's distance of two texts, a row of the table at a time. The usual two rows with minimum.accumulate, written afresh."""

import numpy as np


def levenshtein(source, target):
    if len(source) < len(target):
        return levenshtein(target, source)
    if len(target) == 0:
        return len(source)
    a = np.frombuffer(source.encode("latin-1"), dtype=np.uint8)
    b = np.frombuffer(target.encode("latin-1"), dtype=np.uint8)
    columns = np.arange(len(b) + 1)
    previous = columns.copy()
    for i, c in enumerate(a):
        current = previous + 1  # deletion
        current[0] = i + 1
        current[1:] = np.minimum(current[1:], previous[:-1] + (b != c))  # substitution
        current = np.minimum.accumulate(current - columns) + columns  # insertion
        previous = current
    return int(previous[-1])


def make_data(small=False):
    n = 30 if small else 3000
    rng = np.random.default_rng(30)
    first = rng.choice(list("acgt"), n)
    second = first[rng.random(n) > 0.1]
    second[rng.random(len(second)) < 0.1] = "t"
    return "".join(first), "".join(second)


if __name__ == "__main__":
    print(levenshtein(*make_data()))
