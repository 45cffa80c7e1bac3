"""One normal number of the words of a generator, as NumPy makes it: G. Marsaglia and W. Tsang, "The ziggurat method for generating
random variables". NumPy's layers are asked of its own generator."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._face import pcg64_words
from ..ops.libm import libm_exp, libm_log1p

_LAYERS, _PLACES = 256, 2**52


class Layers(NamedTuple):
    """What lies under the curve, in layers of one area: places that do for certain, how wide one is, where the curve is."""

    inside: Any
    width: Any
    height: Any


def normal_number(word: Callable[[], Any], fraction: Callable[[], Any], inside: Any, width: Any, height: Any) -> Any:
    is_found = False
    x = 0.0
    while not is_found:
        bits = word()
        layer = np.int64(bits & np.uint64(255))
        place = (bits >> np.uint64(9)) & np.uint64(2**52 - 1)
        x = np.float64(place) * width[layer]
        x = -x if bits >> np.uint64(8) & np.uint64(1) else x
        if place < inside[layer]:
            is_found = True
        elif layer == 0:
            beyond = 0.0
            is_beyond = False
            while not is_beyond:
                beyond = -0.27366123732975827 * libm_log1p(-fraction())
                other = -libm_log1p(-fraction())
                is_beyond = other + other > beyond * beyond
            beyond = 3.6541528853610088 + beyond
            x = -beyond if place >> np.uint64(8) & np.uint64(1) else beyond
            is_found = True
        else:
            below = height[layer - 1] - height[layer]
            is_found = below * fraction() + height[layer] < libm_exp(-0.5 * x * x)
    return x


class _Asked:
    """A generator whose next word is known."""

    def __init__(self) -> None:
        self.bits = np.random.PCG64(1)
        self.draw = np.random.Generator(self.bits).standard_normal
        self.state: Any = self.bits.state
        self.back = pow(0x2360ED051FC65DA44385DF649FCCF645, -1, 2**128)

    def normal(self, layer: int, place: int) -> tuple[float, bool]:
        """The number that begins with a place of a layer, and whether it takes one word."""
        wanted = layer | place << 9  # of its upper half all bits are zeros: the word is the lower one
        self.state["state"]["state"] = (wanted - self.state["state"]["inc"]) * self.back % 2**128
        self.bits.state = self.state
        drawn = self.draw()
        now: Any = self.bits.state
        return drawn, now["state"]["state"] == wanted


def _ask() -> Layers | None:
    asked, easy = _Asked(), 2**40  # a place near the middle: a power of two shows the unit
    width = [asked.normal(layer, easy)[0] / easy for layer in range(_LAYERS)]
    height = [1.0, *(math.exp(-0.5 * (one * _PLACES) ** 2) for one in width[1:])]
    inside = []
    for layer in range(_LAYERS):
        first = 0 if layer == 1 else int(width[layer - 1] / width[layer] * _PLACES) - 2
        found = 0 if layer == 1 else next((k for k in range(first, first + 5) if not asked.normal(layer, k)[1]), -1)
        if found < 0 or (found == first and layer != 1):  # what is rounded may be one off, and no more
            return None
        inside.append(found)
    return Layers(np.array(inside, np.uint64), np.array(width), np.array(height))


@functools.cache
def layers() -> Layers | None:
    """NumPy's; None where it does not draw as it is written here."""
    found = _ask()
    return found if found is not None and _agrees(found) else None


def _agrees(found: Layers) -> bool:
    ours, theirs = (np.random.Generator(np.random.PCG64(1234)) for _ in range(2))
    words: Callable[[], Any] = lambda: np.uint64(ours.bit_generator.random_raw())  # noqa: E731
    drawn = [normal_number(words, ours.random, *found) for _ in range(500)]
    if drawn != [theirs.standard_normal() for _ in drawn]:
        return False
    return bool((pcg64_words(ours) == pcg64_words(theirs)).all())
