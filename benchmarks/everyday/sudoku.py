"""Sudoku: cells with one candidate are filled, then guesses at the tightest cell. The usual backtracking, written afresh."""

import numpy as np


def candidates(grid, r, c):
    r0, c0 = 3 * (r // 3), 3 * (c // 3)
    used = np.concatenate((grid[r], grid[:, c], grid[r0 : r0 + 3, c0 : c0 + 3].ravel()))
    return np.setdiff1d(np.arange(1, 10), used)


def solve(grid):
    """The solved grid, or None. The argument stays as it is."""
    grid = grid.copy()
    while True:
        best = None
        progress = False
        for r, c in np.argwhere(grid == 0):
            options = candidates(grid, r, c)
            if options.size == 0:
                return None
            if options.size == 1:
                grid[r, c] = options[0]
                progress = True
            elif best is None or options.size < best[2].size:
                best = (r, c, options)
        if not progress:
            break
    if best is None:
        return grid
    r, c, options = best
    for value in options:
        grid[r, c] = value
        solution = solve(grid)
        if solution is not None:
            return solution
    return None


def is_valid(grid):
    boxes = grid.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
    return all((np.sort(part, axis=1) == np.arange(1, 10)).all() for part in (grid, grid.T, boxes))


def play(puzzle):
    if puzzle.shape != (9, 9):
        raise ValueError("a sudoku has 9 x 9 cells")
    solution = solve(puzzle)
    return solution, solution is not None and is_valid(solution)


EASY = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
HARD = "100920000524010000000000070050008102000000000402700090060000000000030945000071006"


def make_data(small=False):
    return (np.array(list(EASY if small else HARD), dtype=int).reshape(9, 9),)


if __name__ == "__main__":
    print(play(*make_data())[0])
