"""Arguments that no kernel knows (texts, dates, objects, masks, records, other byte orders): Python's statements are handed
them, and the function around is compiled."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

X = np.arange(6.0)
LABELS = np.array(list("abcabc"))
DATES = np.array(["2020-01-01", "2020-01-03", "2020-01-04", "2020-02-04", "2020-02-05", "2021-01-01"], "M8[D]")
RECORDS = np.array([(1.0, 2), (3.0, 4)] * 3, [("a", float), ("b", int)])


def means_of_groups(labels, x):
    out = []
    for name in np.unique(labels):
        out.append(x[labels == name].mean())
    return np.array(out) * 2


def by_counts(labels, x):
    names, inverse = np.unique(labels, return_inverse=True)
    sums, counts = np.bincount(inverse, weights=x), np.bincount(inverse)
    return names, sums / counts, labels


def difference(labels, x):
    y = (x - x.mean()) / (x.std() + 1)
    first = labels == labels[0]
    return y[first].sum() - y[~first].sum(), y


def per_day(dates, x):
    days = (dates[1:] - dates[:-1]).astype("timedelta64[D]").astype(float)
    return np.diff(x) / days


def of_fields(records, x):
    a, b = records["a"].copy(), records["b"] + 1
    return a * x + b, np.sqrt(a)


def sum_of_swapped(swapped, x):
    own = swapped.astype(float)
    return own * x + own.sum()


def unmasked(masked, x):
    filled = masked.filled(-1.0)
    count = masked.count()
    return filled * x, count, masked.mean()


def optional(labels, x):
    y = x * 2
    if labels is None:
        return y
    longest = max(len(one) for one in labels)
    return y + longest


CALLS = [
    (means_of_groups, LABELS),
    (means_of_groups, LABELS.astype(object)),
    (means_of_groups, np.array([b"a", b"b", b"a", b"c", b"", b"a"])),
    (by_counts, LABELS),
    (by_counts, LABELS[::-1]),
    (difference, LABELS),
    (difference, np.array(["a"] * 6)),
    (per_day, DATES),
    (of_fields, RECORDS),
    (sum_of_swapped, X.astype(">f8")),
    (sum_of_swapped, X.astype(np.longdouble)),
    (unmasked, np.ma.array(X, mask=X > 3)),
    (unmasked, np.ma.array(X)),
    (optional, LABELS),
    (optional, None),
]


@pytest.mark.parametrize(("function", "given"), CALLS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_kernels_do_not_know_is_pythons(function, given):
    check(function, given, X, bits=False)


def test_other_kinds_are_other_programs():
    compiled = tilewright.jit(means_of_groups, strict=True)
    for labels in (
        LABELS,
        np.array([1, 2, 1, 2, 3, 3]),
        LABELS[::-1],
        DATES,
        np.array(["longer", "x"] * 3),
        LABELS.astype(object),
    ):
        for _ in range(2):
            assert agree(compiled(labels, X), means_of_groups(labels, X))
    assert compiled(LABELS[:0], X[:0]).shape == (0,)


def test_the_very_array_is_returned():
    compiled = tilewright.jit(by_counts, strict=True)
    for _ in range(3):
        assert compiled(LABELS, X)[2] is LABELS


def renamed(labels, x):
    y = x * 2
    labels[0] = "z"
    total = 0.0
    for name, value in zip(labels, y, strict=True):
        total += value * (name == "z")
    if x[0] < 0:
        raise ValueError(f"{labels[0]} {total}")
    return total + y


def test_what_is_written_into_them_is_written_once():
    compiled = tilewright.jit(renamed)
    for x in (X, X, -1 - X, X, -1 - X):
        outcomes = []
        for one in (renamed, compiled):
            labels = LABELS.copy()
            try:
                made = one(labels, x)
            except ValueError as error:
                made = str(error)
            outcomes.append((made, list(labels)))
        assert outcomes[0][1] == outcomes[1][1]
        assert agree(outcomes[1][0], outcomes[0][0])


def masked_later(masked, x):
    y = x * 2
    masked[1] = np.ma.masked
    for k in range(2):
        masked[k + 2] = k
    return y + masked.count(), masked.sum()


@pytest.mark.parametrize("mask", [np.ma.nomask, X > 3])
def test_masks_that_come_later(mask):
    compiled = tilewright.jit(masked_later)
    for _ in range(4):
        ours, theirs = np.ma.array(X.copy(), mask=mask), np.ma.array(X.copy(), mask=mask)
        assert agree(compiled(ours, X), masked_later(theirs, X))
        assert np.array_equal(ours.filled(-7), theirs.filled(-7))


def through_another(dates, numbers):
    numbers[0] = 0
    first = str(dates[0])
    return numbers * 2, first


def test_memory_of_two_arguments():
    compiled = tilewright.jit(through_another)
    for shares in (False, False, True, False):
        outcomes = []
        for one in (through_another, compiled):
            dates = DATES.copy()
            numbers = dates.view(np.int64) if shares else np.arange(1, 7)
            outcomes.append((one(dates, numbers), dates.view(np.int64).copy()))
        assert agree(outcomes[1], outcomes[0])


def one_or_two(labels, others, x):
    y = x + 1
    return y * (2 if labels is others else 3)


def test_whether_two_are_one():
    compiled = tilewright.jit(one_or_two)
    for labels, others in ((LABELS, LABELS), (LABELS, LABELS.copy()), (LABELS, LABELS), (LABELS, LABELS.copy())):
        assert agree(compiled(labels, others, X), one_or_two(labels, others, X))


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize("given", [X.view(Sub), np.array([[1], "a", X[0], None, 2, 3], dtype=object)])
def test_what_may_hold_other_arrays_is_numpys(given):
    def first(array, x):
        y = x * 2
        kind = type(array[0]).__name__
        return y, kind

    with pytest.raises(tilewright.TraceError):
        tilewright.jit(first, strict=True)(given, X)
    assert agree(tilewright.jit(first)(given, X), first(given, X))


def test_searches_and_modules_refuse_them(tmp_path):
    def beside(labels, x):
        return labels, x * 2

    compiled = check(beside, LABELS, X)
    with pytest.raises(tilewright.Error, match="arrays that no kernel knows"):
        compiled.tune(LABELS, X, budget=1)
    with pytest.raises(tilewright.ExportError, match="arrays that no kernel knows"):
        compiled.export(tmp_path / "module")
