"""README's picture of the Mandelbrot set, computed by the tuned module.

    autotune benchmarks/cases/mandelbrot.py --function mandelbrot_numpy && python benchmarks/picture.py

Needs matplotlib beside NumPy and the module in the current folder.
"""

import sys
from pathlib import Path

import matplotlib.image
import numpy as np

BOX = (-2.25, 0.75, -1.25, 1.25)
HORIZON = 2.0**40


def smooth(Z: np.ndarray, N: np.ndarray) -> np.ndarray:
    """Fractional iteration counts, as the tutorial's `visualize` has them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(N + 1 - np.log2(np.log(abs(Z))) + np.log2(np.log(HORIZON)))


def main() -> None:
    sys.path.insert(0, str(Path.cwd()))
    from mandelbrot_tuned import mandelbrot_numpy

    Z, N = mandelbrot_numpy(*BOX, 720, 600, 200, HORIZON)
    shades = np.clip(smooth(Z, N), 0, None) ** 0.35
    target = Path(__file__).with_name("mandelbrot.png")
    matplotlib.image.imsave(target, shades, cmap="twilight_shifted", origin="lower")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
