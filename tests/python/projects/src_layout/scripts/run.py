"""Runs the wave tank of the package `ripple`, which lies under src/ and is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from ripple import simulate  # noqa: E402
from ripple.sources import Source  # noqa: E402


def main():
    sources = [Source(0.3, 0.4, 3.0), Source(0.7, 0.6, 5.0)]
    surface, energies = simulate(500, 600, sources, steps=40)
    for step, energy in energies:
        print(f"step {step:3d}: energy {energy:.6f}")
    print(f"checksum {float(abs(surface).sum()):.8f}")


if __name__ == "__main__":
    main()
