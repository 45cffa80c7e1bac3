"""A flock that flies by three rules (Reynolds, 1987), moved in place. The idiom of N. P. Rougier's From Python to NumPy, written afresh."""

import numpy as np


def limit(v, most):
    norm = np.sqrt((v * v).sum(axis=1)).reshape(-1, 1)
    np.multiply(v, most / norm, out=v, where=norm > most)
    return v


def steer(target, velocity, max_velocity, max_acceleration):
    norm = np.sqrt((target * target).sum(axis=1)).reshape(-1, 1)
    target = max_velocity * np.divide(target, norm, out=target, where=norm != 0)
    return limit(target - velocity, max_acceleration)


def fly(position, velocity, size, steps=1, min_velocity=0.5, max_velocity=2.0, max_acceleration=0.03):
    n = len(position)
    for _ in range(steps):
        dx = np.subtract.outer(position[:, 0], position[:, 0])
        dy = np.subtract.outer(position[:, 1], position[:, 1])
        distance = np.hypot(dx, dy)
        mask_0 = distance > 0
        mask_1 = distance < 25
        mask_2 = distance < 50
        mask_1 *= mask_0
        mask_2 *= mask_0
        mask_1_count = np.maximum(mask_1.sum(axis=1), 1).reshape(n, 1)
        mask_2_count = np.maximum(mask_2.sum(axis=1), 1).reshape(n, 1)

        target = np.dstack((dx, dy))
        target = np.divide(target, distance.reshape(n, n, 1) ** 2, out=target, where=distance.reshape(n, n, 1) != 0)
        separation = (target * mask_1.reshape(n, n, 1)).sum(axis=1) / mask_1_count
        separation = steer(separation, velocity, max_velocity, max_acceleration)
        alignment = np.dot(mask_2, velocity) / mask_2_count
        alignment = steer(alignment, velocity, max_velocity, max_acceleration)
        cohesion = np.dot(mask_2, position) / mask_2_count - position
        cohesion = steer(cohesion, velocity, max_velocity, max_acceleration)

        velocity += 1.5 * separation + alignment + cohesion
        limit(velocity, max_velocity)
        norm = np.sqrt((velocity * velocity).sum(axis=1)).reshape(n, 1)
        np.multiply(velocity, min_velocity / norm, out=velocity, where=norm < min_velocity)
        position += velocity
        position += size
        position %= size


def make_data(small=False):
    n, steps = (20, 2) if small else (400, 6)
    rng = np.random.default_rng(19)
    size = np.array([640.0, 360.0])
    angle = rng.uniform(0, 2 * np.pi, n)
    return rng.random((n, 2)) * size, np.stack([np.cos(angle), np.sin(angle)], axis=1), size, steps


if __name__ == "__main__":
    data = make_data()
    fly(*data)
    print(data[0][:3])
