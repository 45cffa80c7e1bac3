"""A cluster of stars under its own gravity. A class that holds arrays: methods, a static and a class method, a dataclass."""

from dataclasses import dataclass

import numpy as np

G = 1.0


@dataclass
class Settings:
    """What a run is asked for."""

    softening: float = 0.05
    dt: float = 1e-3
    steps: int = 12


@dataclass
class Snapshot:
    """Positions and velocities at a time, for the analysis."""

    positions: np.ndarray
    velocities: np.ndarray
    masses: np.ndarray


class Cluster:
    """Stars as arrays."""

    def __init__(self, positions, velocities, masses, settings):
        self.positions = positions
        self.velocities = velocities
        self.masses = masses
        self.settings = settings
        self.log = []

    @classmethod
    def plummer(cls, count, seed, settings):
        """Stars of equal mass in a Plummer sphere."""
        rng = np.random.default_rng(seed)
        radius = 1.0 / np.sqrt(rng.uniform(0.05, 0.95, count) ** (-2.0 / 3.0) - 1.0)
        directions = cls.unit(rng.standard_normal((count, 3)))
        velocities = 0.1 * rng.standard_normal((count, 3))
        return cls(radius[:, None] * directions, velocities, np.full(count, 1.0 / count), settings)

    @staticmethod
    def unit(vectors):
        """Vectors of length one."""
        return vectors / np.sqrt((vectors * vectors).sum(axis=1))[:, None]

    def accelerations(self):
        """Of every star, by all others."""
        separation = self.positions[None, :, :] - self.positions[:, None, :]
        squared = (separation * separation).sum(axis=2) + 0.0025
        weight = G * self.masses[None, :] / (squared * np.sqrt(squared))
        return (separation * weight[:, :, None]).sum(axis=1)

    def step(self):
        """One step of the leapfrog."""
        dt = self.settings.dt
        self.velocities = self.velocities + 0.5 * dt * self.accelerations()
        self.positions = self.positions + dt * self.velocities
        self.velocities = self.velocities + 0.5 * dt * self.accelerations()

    def kinetic_energy(self):
        """The sum over the stars."""
        return 0.5 * np.sum(self.masses * (self.velocities * self.velocities).sum(axis=1))

    def snapshot(self):
        return Snapshot(self.positions.copy(), self.velocities.copy(), self.masses)

    def run(self):
        """All steps; the kinetic energy of each is written down."""
        for number in range(self.settings.steps):
            self.step()
            self.log.append((number, float(self.kinetic_energy())))


def angular_momentum(snapshot):
    """Of a snapshot, about the origin."""
    moments = snapshot.masses[:, None] * snapshot.velocities
    x, y, z = snapshot.positions.T
    u, v, w = moments.T
    return np.array([np.sum(y * w - z * v), np.sum(z * u - x * w), np.sum(x * v - y * u)])


def main():
    cluster = Cluster.plummer(900, 7, Settings())
    cluster.run()
    for number, energy in cluster.log[::4]:
        print(f"step {number:3d}: kinetic energy {energy:.8f}")
    print("angular momentum", angular_momentum(cluster.snapshot()))
    print(f"checksum {float(np.abs(cluster.positions).sum()):.8f}")


if __name__ == "__main__":
    main()
