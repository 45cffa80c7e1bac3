"""Slices of a known length at positions that data decide, in loops: one form for all iterations, and NumPy's where the array ends."""

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile


def refined(img, peak, radius=4, most=5):
    y, x = peak
    off = np.arange(-radius, radius + 1)
    oy, ox = np.meshgrid(off, off, indexing="ij")
    mask = oy**2 + ox**2 <= radius**2
    for _ in range(most):
        if y < radius or x < radius or y >= img.shape[0] - radius or x >= img.shape[1] - radius:
            return None
        win = img[y - radius : y + radius + 1, x - radius : x + radius + 1] * mask
        mass = win.sum()
        cy = (win * oy).sum() / mass
        cx = (win * ox).sum() / mass
        if abs(cy) < 0.6 and abs(cx) < 0.6:
            break
        y += int(np.sign(cy)) if abs(cy) >= 0.6 else 0
        x += int(np.sign(cx)) if abs(cx) >= 0.6 else 0
    rg = np.sqrt((win * ((oy - cy) ** 2 + (ox - cx) ** 2)).sum() / mass)
    return np.array([y + cy, x + cx]), mass, rg


def image():
    rng = np.random.default_rng(3)
    yy, xx = np.mgrid[0:40, 0:50]
    return rng.random((40, 50)) * 0.1 + np.exp(-((yy - 20.3) ** 2 + (xx - 24.8) ** 2) / 8)


@pytest.mark.parametrize("peak", [(20, 25), (17, 22), (22, 28)])
def test_a_centroid_is_followed_by_kernels_alone(peak):
    compiled = check(refined, image(), np.array(peak), bits=False)
    assert not compiled.specializations[0].traced.stages


@pytest.mark.parametrize("peak", [(3, 25), (20, 48), (0, 0), (39, 49), (37, 4)])
def test_near_an_edge_it_is_none_as_in_numpy(peak):
    compiled = tilewright.jit(refined)
    for one in ((20, 25), peak, (20, 25)):
        ours, theirs = compiled(image(), np.array(one)), refined(image(), np.array(one))
        assert (ours is None) == (theirs is None)
        assert ours is None or all(np.allclose(a, b, rtol=1e-12) for a, b in zip(ours, theirs, strict=True))


def climbed(x, start, width):
    at = int(start[0])
    total = 0.0
    win = x[at : at + width]
    for _ in range(6):
        win = x[at : at + width] * 2.0
        total += win.max()
        at = at + int(win.argmax()) - width // 2
    return win, total, at


@pytest.mark.parametrize("start", [10, 14, 0, 25, 28, 29, -3])
@pytest.mark.parametrize("width", [3, 5])
def test_windows_that_the_array_cuts_are_numpys(start, width):
    x = np.random.default_rng(8).random(30)
    compiled = tilewright.jit(climbed)
    for one in (12, start):
        ours, theirs = Outcome(compiled, x, one, width), Outcome(climbed, x, one, width)
        assert ours.error == theirs.error
        assert ours.error or all(np.array_equal(a, b) for a, b in zip(ours.result, theirs.result, strict=True))


class Outcome:
    def __init__(self, function, x, start, width):
        self.result, self.error = None, ""
        try:
            self.result = function(x, np.array([start]), width)
        except (ValueError, IndexError) as error:
            self.error = f"{type(error).__name__}: {error}"


def cut_at_times(x, places):
    """Where one form is not asked for, a slice is as long as the array lets it be."""
    found = []
    for k in range(len(places)):
        p = int(places[k])
        found.append(x[p : p + 4].sum())
    return np.array(found)


def test_slices_that_need_no_one_form_are_cut_by_kernels():
    x = np.random.default_rng(2).random(20)
    check(cut_at_times, x, np.array([0, 5, 17, 19, 20]), bits=False)
