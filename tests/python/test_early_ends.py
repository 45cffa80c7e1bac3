"""None beside values, and breaks on data in loops that are unrolled."""

import numpy as np
import pytest
import tilewright
from tilewright.trace import trace

pytestmark = pytest.mark.compile

LINES = np.array([[0, 1, 2], [3, 4, 5], [0, 3, 1], [0, 4, 5]])
BOARDS = [
    np.array([1.0, 1, 1, 0, -1, -1]), np.array([-1.0, -1, -1, 0, 1, 6]), np.array([1.0, 0, -1, 0, 0, 4]),
    np.array([4.0, 1, 6, 1, 1, -1]), np.array([6.0, 0, 0, 0, 0, 0]),
]  # fmt: skip


def none_in_a_loop(x):
    for i in range(len(x)):
        if x[i] > 5:
            return None
        if x[i] > 3:
            return x[i]
    return np.float64(0.0)


def none_in_a_tuple(x):
    for i in range(len(x)):
        if x[i] > 5:
            return None, i
        if x[i] > 3:
            return x[i], i
    return np.float64(0.0), -1


def none_that_leaves_a_while(x):
    while True:
        x = x + 1
        if x[0] > 5:
            return None
        if x[1] > 1:
            return x[1]


def none_at_once(x):
    if x[0] > 1:
        return None
    return x * 2


def none_at_the_end(x):
    for i in range(len(x)):
        if x[i] > 5:
            return i
    return None


def nothing_at_the_end(x):
    if x[2] > 5:
        return x + 1


def winner(board):
    for player in (1, -1):
        if (board[LINES] == player).all(axis=1).any():
            return player
    return 0


def broken(board):
    total = 0.0
    for k, _ in ((1, "a"), (2, "b"), (3, "c")):
        if board[k] == 0:
            break
        total += board[k] * k
        if board[k] < 0:
            continue
        total += 100
    else:
        total += 1000
    return total, k


def broken_inside(board):
    n = 0
    for a in (0, 1, 2):
        for b in (3, 4):
            if board[a] == board[b]:
                break
            n += 1
        if n > 3:
            return n, a
    return n, -1


def breaks_out_of_a_list(x):
    for scale in [1.0, 2.0, 3.0]:
        if x[0] * scale > 1:
            break
        x = x * scale
    return x


def breaks_out_of_what_it_empties(x):
    scales = [3.0, 2.0, 1.0]
    while scales:
        scale = scales.pop()
        if x[0] * scale > 1:
            break
        x = x * scale
    return x


@pytest.mark.parametrize(
    "function",
    [breaks_out_of_a_list, none_in_a_loop, none_in_a_tuple, none_that_leaves_a_while, none_at_once, none_at_the_end, nothing_at_the_end,
     winner, broken, broken_inside],
)  # fmt: skip
def test_as_python_has_it(function):
    jitted = tilewright.jit(function, strict=True)
    for x in [*BOARDS, *BOARDS]:
        assert repr(jitted(x.copy())) == repr(function(x.copy()))


def test_a_while_that_empties_a_list_is_refused():
    with pytest.raises(tilewright.TraceError, match="loops: the truth of"):
        trace(breaks_out_of_what_it_empties, (BOARDS[0],), {})


def none_by_a_name(x):
    best = None
    for i in range(len(x)):
        if x[i] > 5:
            return best
        if x[i] > 3:
            return x[i]
    return x[0]


def test_a_none_that_a_loop_carries_out_is_refused():
    with pytest.raises(tilewright.TraceError) as error:
        trace(none_by_a_name, (BOARDS[0],), {})
    assert str(error.value).partition("in none_by_a_name: ")[2] == (
        "loops: what the returns in a loop give; one gives None, and another one a value. Make both branches give the same kind "
        "of value."
    )
