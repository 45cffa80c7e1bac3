"""Monte Carlo pi as the explicit loop: two draws an iteration, a test, a count."""

import numpy as np


def monte_carlo_pi(num_samples, seed):
    rng = np.random.default_rng(seed)
    count_inside = 0
    for _ in range(num_samples):
        x, y = rng.random(), rng.random()
        if x**2 + y**2 <= 1.0:
            count_inside += 1
    return 4.0 * count_inside / num_samples


def make_data(size=10_000_000):
    return size, 0


if __name__ == "__main__":
    print(monte_carlo_pi(*make_data()))
