"""What makes waves."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Source:
    """A float that goes up and down; its place as shares of the tank."""

    x: float
    y: float
    frequency: float

    def height(self, time):
        """Where the float is at a time."""
        return float(np.sin(2.0 * np.pi * self.frequency * time))

    def place(self, shape):
        """Row and column in a tank."""
        return int(self.y * shape[0]), int(self.x * shape[1])
