"""The error function, as fdlibm's s_erf.c computes it: a quotient of polynomials for each range of arguments.

All ranges are computed, and one is taken: elements are computed side by side. Beyond 1.25 the square of the argument is
taken off in two parts, the first of which has no rounding error. (Its erfc is up to 4 ULP from the true value.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_ERX = 8.45062911510467529297e-01
# Numerators and denominators, from the constant on: below 0.84375, from there to 1.25, to 1 / 0.35, and beyond.
_PP = (
    1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)  # fmt: skip
_QQ = (
    1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04,
    -3.96022827877536812320e-06,
)  # fmt: skip
_PA = (
    -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
    -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03,
)  # fmt: skip
_QA = (
    1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01,
    1.36370839120290507362e-02, 1.19844998467991074170e-02,
)  # fmt: skip
_RA = (
    -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01, -6.23753324503260060396e01,
    -1.62396669462573470355e02, -1.84605092906711035994e02, -8.12874355063065934246e01, -9.81432934416914548592e00,
)  # fmt: skip
_SA = (
    1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02, 6.45387271733267880336e02,
    4.29008140027567833386e02, 1.08635005541779435134e02, 6.57024977031928170135e00, -6.04244152148580987438e-02,
)  # fmt: skip
_RB = (
    -9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01, -1.60636384855821916062e02,
    -6.37566443368389627722e02, -1.02509513161107724954e03, -4.83519191608651397019e02,
)  # fmt: skip
_SB = (
    1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03, 3.19985821950859553908e03,
    2.55305040643316442583e03, 4.74528541206955367215e02, -2.24409524465858183362e01,
)  # fmt: skip
_SMALL, _MIDDLE, _LARGE = 0.84375, 1.25, 1 / 0.35


def erf(x: Any) -> Any:
    size = np.absolute(x)
    near = x + x * _below(x)
    far = np.where(size < _MIDDLE, _ERX + _around_one(size), 1.0 - _beyond(np.minimum(size, 6.0)))
    return np.where(size < _SMALL, near, np.copysign(far, x))


def _below(x: Any) -> Any:
    square = x * x
    return _polynomial(_PP, square) / _polynomial(_QQ, square)


def _around_one(size: Any) -> Any:
    above = size - 1.0
    return _polynomial(_PA, above) / _polynomial(_QA, above)


def _beyond(size: Any) -> Any:
    """What is missing to 1, from 1.25 on."""
    inverse = 1.0 / (size * size)
    quotient = np.where(
        size < _LARGE,
        _polynomial(_RA, inverse) / _polynomial(_SA, inverse),
        _polynomial(_RB, inverse) / _polynomial(_SB, inverse),
    )
    short = size.astype(np.float32).astype(np.float64)  # its square is exact
    return np.exp(-short * short - 0.5625) * np.exp((short - size) * (short + size) + quotient) / size


def _polynomial(factors: Sequence[float], x: Any) -> Any:
    result: Any = factors[-1]
    for factor in factors[-2::-1]:
        result = factor + x * result
    return result
