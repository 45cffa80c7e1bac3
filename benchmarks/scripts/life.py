"""Conway's Game of Life with named patterns, statistics and period detection. In the manner of the many "Game of Life in
Python" tutorials (J. VanderPlas's np.roll, Rosetta Code's patterns), written afresh.

    python life.py [--size 384] [--generations 2000] [--seed 7]
"""

import argparse
import hashlib

import numpy as np

PATTERNS = {
    "block": """
        OO
        OO
    """,
    "blinker": "OOO",
    "toad": """
        .OOO
        OOO.
    """,
    "beacon": """
        OO..
        O...
        ...O
        ..OO
    """,
    "glider": """
        .O.
        ..O
        OOO
    """,
    "lwss": """
        .O..O
        O....
        O...O
        OOOO.
    """,
    "pulsar": """
        ..OOO...OOO..
        .............
        O....O.O....O
        O....O.O....O
        O....O.O....O
        ..OOO...OOO..
        .............
        ..OOO...OOO..
        O....O.O....O
        O....O.O....O
        O....O.O....O
        .............
        ..OOO...OOO..
    """,
    "r_pentomino": """
        .OO
        OO.
        .O.
    """,
    "acorn": """
        .O.....
        ...O...
        OO..OOO
    """,
}


def parse(text):
    """A picture of dots and Os as an array of zeros and ones."""
    rows = [line.strip() for line in text.strip().splitlines()]
    width = max(len(row) for row in rows)
    pattern = np.zeros((len(rows), width), dtype=np.uint8)
    for i, row in enumerate(rows):
        for j, char in enumerate(row):
            if char == "O":
                pattern[i, j] = 1
    return pattern


def place(board, name, row, col, turns=0, flip=False):
    """Put a pattern on the board; positions wrap around."""
    pattern = np.rot90(parse(PATTERNS[name]), turns)
    if flip:
        pattern = np.fliplr(pattern)
    h, w = pattern.shape
    rows = np.arange(row, row + h) % board.shape[0]
    cols = np.arange(col, col + w) % board.shape[1]
    board[np.ix_(rows, cols)] |= pattern


def count_neighbours(board):
    total = np.zeros_like(board)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy != 0 or dx != 0:
                total += np.roll(np.roll(board, dy, axis=0), dx, axis=1)
    return total


def step(board):
    n = count_neighbours(board)
    return ((n == 3) | ((board == 1) & (n == 2))).astype(np.uint8)


def digest(board):
    return hashlib.sha1(np.packbits(board).tobytes()).hexdigest()


class Statistics:
    """What happened on the board, generation by generation."""

    def __init__(self, shape):
        self.population = []
        self.births = []
        self.deaths = []
        self.age = np.zeros(shape, dtype=np.int32)
        self.visited = np.zeros(shape, dtype=bool)
        self.heat = np.zeros(shape)

    def update(self, old, new):
        born = (new == 1) & (old == 0)
        died = (new == 0) & (old == 1)
        self.population.append(int(new.sum()))
        self.births.append(int(np.count_nonzero(born)))
        self.deaths.append(int(np.count_nonzero(died)))
        self.age[new == 1] += 1
        self.age[new == 0] = 0
        self.visited |= new.astype(bool)
        self.heat *= 0.95
        self.heat += born + died

    def report(self, generation):
        p = self.population[-1]
        window = self.population[-25:]
        trend = window[-1] - window[0]
        print(
            f"gen {generation:5d}  alive {p:6d}  born {self.births[-1]:5d}  died {self.deaths[-1]:5d}  "
            f"trend {trend:+5d}  oldest {self.age.max():5d}  active {np.mean(self.heat > 0.5):.4f}"
        )


class PeriodDetector:
    """Remembers a hash of each board: a hash seen twice means the board repeats."""

    def __init__(self):
        self.seen = {}

    def check(self, generation, board):
        key = digest(board)
        if key in self.seen:
            return generation - self.seen[key]
        self.seen[key] = generation
        return None


def bounding_box(board):
    ys, xs = np.nonzero(board)
    if len(ys) == 0:
        return None
    return ys.min(), xs.min(), ys.max(), xs.max()


def block_entropy(board, k=8):
    """Shannon entropy of the densities of k by k blocks."""
    h, w = board.shape
    blocks = board[: h // k * k, : w // k * k].reshape(h // k, k, w // k, k).sum(axis=(1, 3))
    counts = np.bincount(blocks.ravel(), minlength=k * k + 1)
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log2(p)).sum())


def show(board, limit=12):
    box = bounding_box(board)
    if box is None:
        print("(empty)")
        return
    y0, x0, y1, x1 = box
    for row in board[y0 : min(y1 + 1, y0 + limit), x0 : min(x1 + 1, x0 + 4 * limit)]:
        print("".join("#" if cell else "." for cell in row))


def known_periods():
    """The small patterns alone on a board: how long until each repeats."""
    periods = {}
    for name in ("block", "blinker", "toad", "beacon", "pulsar", "glider"):
        board = np.zeros((24, 24), dtype=np.uint8)
        place(board, name, 5, 5)
        detector = PeriodDetector()
        for generation in range(120):
            period = detector.check(generation, board)
            if period is not None:
                break
            board = step(board)
        periods[name] = period
    return periods


def random_soup(size, density, rng):
    return (rng.random((size, size)) < density).astype(np.uint8)


def simulate(board, generations, every):
    stats = Statistics(board.shape)
    detector = PeriodDetector()
    period = None
    for generation in range(1, generations + 1):
        new = step(board)
        stats.update(board, new)
        board = new
        if generation % every == 0:
            stats.report(generation)
        period = detector.check(generation, board)
        if period is not None:
            print(f"period {period} found at generation {generation}")
            break
        if not board.any():
            print(f"everything died at generation {generation}")
            break
    return board, stats, period


def main():
    parser = argparse.ArgumentParser(description="Conway's Game of Life")
    parser.add_argument("--size", type=int, default=384)
    parser.add_argument("--generations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    for name, period in known_periods().items():
        print(f"{name:12s} period {period}")

    rng = np.random.default_rng(args.seed)
    board = random_soup(args.size, 0.12, rng)
    quarter = args.size // 4
    board[quarter : 2 * quarter, quarter : 2 * quarter] = 0
    place(board, "acorn", quarter + 5, quarter + 5)
    place(board, "r_pentomino", args.size // 2, args.size // 2)
    for k in range(6):
        place(board, "glider", 10 * k, 5 * k, turns=k % 4, flip=k % 2 == 1)
    place(board, "lwss", args.size - 10, 3)

    print(f"start: {board.sum()} cells alive, entropy {block_entropy(board):.6f}")
    final, stats, period = simulate(board, args.generations, every=max(args.generations // 10, 1))

    population = np.array(stats.population)
    births, deaths = np.array(stats.births), np.array(stats.deaths)
    print(f"generations: {len(population)}, period: {period}")
    print(f"population: min {population.min()}, max {population.max()}, mean {population.mean():.4f}")
    print(f"turnover: {births.sum()} births, {deaths.sum()} deaths, balance {births.sum() - deaths.sum()}")
    print(f"visited {stats.visited.mean():.6f} of the board, oldest cell {stats.age.max()} generations")
    print(
        f"entropy {block_entropy(final):.6f}, box {[int(v) for v in bounding_box(final) or ()]}, sha1 {digest(final)}"
    )
    show(final)


if __name__ == "__main__":
    main()
