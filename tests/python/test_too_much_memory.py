"""Calls that ask for memory that is not there: NumPy's error is theirs, strict or not."""

import numpy as np
import pytest
import tilewright
from as_numpy_has_it import alike
from same_as_python import same

pytestmark = pytest.mark.compile


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "makes",
    [
        lambda x, n: (x * 2, np.zeros(n)),
        lambda x, n: np.broadcast_to(x, (n, len(x))) * 2,
        lambda x, n: np.eye(n),
        lambda x, n: x[:, None] * np.ones((1, n)),
        lambda x, n: np.arange(n) * 2.0,
        lambda x, n: np.zeros(2**46 + len(x)) + n,
        lambda x, n: (x * 2, np.zeros(2**45)),
    ],
)
@pytest.mark.parametrize("n", [2**44, 2**62])
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_memory_that_is_not_there_is_numpys_error(strict, makes, n):
    compiled, x = tilewright.jit(makes, strict=strict), np.arange(30.0)
    for _ in range(3):
        alike(compiled, makes, same, (x, n), {})
