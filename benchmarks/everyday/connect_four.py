"""Connect four played at random to its end, many times, to judge a position. The rules as in suragnair/alpha-zero-general (MIT), written afresh."""

from collections import namedtuple

import numpy as np

Odds = namedtuple("Odds", "win draw loss")


def add_stone(board, column, player):
    (free,) = np.where(board[:, column] == 0)
    if len(free) == 0:
        raise ValueError(f"Can't play column {column}")
    board = board.copy()
    board[free[-1], column] = player
    return board


def is_straight_winner(pieces, length=4):
    runs = [pieces[:, i : i + length].sum(axis=1) for i in range(pieces.shape[1] - length + 1)]
    return max(r.max() for r in runs) >= length


def is_diagonal_winner(pieces, length=4):
    rows, cols = pieces.shape
    for offset in range(-(rows - length), cols - length + 1):
        diagonal = np.diagonal(pieces, offset).astype(int)
        if len(diagonal) >= length and np.convolve(diagonal, np.ones(length, int), "valid").max() == length:
            return True
    return False


def has_won(board, player):
    pieces = board == player
    return (
        is_straight_winner(pieces)
        or is_straight_winner(pieces.T)
        or is_diagonal_winner(pieces)
        or is_diagonal_winner(np.fliplr(pieces))
    )


def playout(board, player, rng):
    mover = player
    while True:
        moves = np.flatnonzero(board[0] == 0)
        if len(moves) == 0:
            return 0
        board = add_stone(board, rng.choice(moves), mover)
        if has_won(board, mover):
            return mover
        mover = -mover


def odds(board, player=1, games=10, seed=0):
    rng = np.random.default_rng(seed)
    results = np.array([playout(board, player, rng) for _ in range(games)])
    return Odds(np.mean(results == player), np.mean(results == 0), np.mean(results == -player))


def make_data(small=False):
    board = np.zeros((6, 7), dtype=int)
    board[5, 2:5] = 1, -1, 1
    board[4, 3] = -1
    return board, 1, 2 if small else 50


if __name__ == "__main__":
    print(odds(*make_data()))
