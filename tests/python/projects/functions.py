"""Cools a plate with a hot wire in it, and reports how fast it does. Plain functions, one of them hot."""

import argparse
import time

import numpy as np

DIFFUSIVITY = 0.12
WIRE = 90.0
ROOM = 20.0


def initial_plate(rows, columns):
    """Room temperature everywhere but on a wire across the middle."""
    plate = np.full((rows, columns), ROOM)
    plate[rows // 2, columns // 4 : 3 * columns // 4] = WIRE
    return plate


def conductivity(rows, columns):
    """A plate that conducts better on its left side."""
    across = np.linspace(1.0, 0.4, columns)
    return np.broadcast_to(across, (rows, columns)).copy()


def diffuse(plate, conducts, dt):
    """One explicit step of the heat equation; the border keeps its temperature."""
    inner = plate[1:-1, 1:-1]
    around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    change = DIFFUSIVITY * dt * conducts[1:-1, 1:-1] * (around - 4.0 * inner)
    result = plate.copy()
    result[1:-1, 1:-1] = inner + change
    return result


def mean_excess(plate):
    """How much warmer than the room it is on average."""
    return float(np.mean(plate - ROOM))


def hottest(plate):
    """Row and column of the hottest place."""
    place = int(np.argmax(plate))
    return divmod(place, plate.shape[1])


def cool(plate, conducts, dt, steps, every):
    """Take all steps; what the plate was like on the way."""
    history = []
    for step in range(steps):
        plate = diffuse(plate, conducts, dt)
        if step % every == 0:
            history.append((step, mean_excess(plate), hottest(plate)))
    return plate, history


def report(history):
    for step, excess, (row, column) in history:
        print(f"step {step:4d}: {excess:7.4f} degrees above the room, hottest at {row}, {column}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--columns", type=int, default=800)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--dt", type=float, default=1.0)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    plate = initial_plate(arguments.rows, arguments.columns)
    conducts = conductivity(arguments.rows, arguments.columns)
    before = time.perf_counter()
    plate, history = cool(plate, conducts, arguments.dt, arguments.steps, arguments.every)
    spent = time.perf_counter() - before
    report(history)
    print(f"{arguments.steps} steps took {spent:.2f} s")
    print(f"checksum {float(plate.sum()):.6f}")


if __name__ == "__main__":
    main()
