"""Finds moving spots in a film: functions that all cost time, the last of which NumPy alone computes."""

import numpy as np

FRAMES = 10
SHAPE = (400, 500)
BLUR_KERNEL = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0


def film(count, shape, seed):
    """Spots that drift over a noisy background."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices(shape)
    frames = []
    for number in range(count):
        frame = 0.1 * rng.standard_normal(shape)
        for spot in range(4):
            y, x = 60.0 + 80.0 * spot + 3.0 * number, 50.0 + 90.0 * spot + 5.0 * number
            frame += np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / 50.0)
        frames.append(frame)
    return frames


def blur(frame):
    """A separable blur of five by five."""
    k = BLUR_KERNEL
    wide = (
        k[0] * frame[:, :-4]
        + k[1] * frame[:, 1:-3]
        + k[2] * frame[:, 2:-2]
        + k[3] * frame[:, 3:-1]
        + k[4] * frame[:, 4:]
    )
    return k[0] * wide[:-4] + k[1] * wide[1:-3] + k[2] * wide[2:-2] + k[3] * wide[3:-1] + k[4] * wide[4:]


def edges(frame):
    """How steep the frame is along its rows."""
    return np.abs(frame[1:-1, 2:] - frame[1:-1, :-2])


def normalized(stats, frame):
    """By mean and spread, which a dictionary of arrays has for each row."""
    return (frame - stats["mean"][:, None]) / (stats["spread"][:, None] + 1e-9)


def row_statistics(frame):
    return {"mean": frame.mean(axis=1), "spread": frame.std(axis=1)}


def brightest(frame, count):
    """Places of the brightest pixels: a partition, which NumPy alone does."""
    flat = np.argpartition(frame.ravel(), -count)[-count:]
    return np.sort(flat)


def track(frames):
    """What was found in each frame."""
    found = []
    for frame in frames:
        smooth = blur(frame)
        level = normalized(row_statistics(smooth), smooth)
        steep = edges(level)
        found.append((brightest(level, 50), float(steep.mean())))
    return found


def main():
    frames = film(FRAMES, SHAPE, seed=3)
    found = track(frames)
    for number, (places, steepness) in enumerate(found):
        print(f"frame {number:2d}: first spot at {places[0]}, steepness {steepness:.6f}")
    print(f"checksum {sum(int(p.sum()) for p, _ in found)}")


if __name__ == "__main__":
    main()
