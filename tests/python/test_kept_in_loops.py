"""Memory that a loop's body needs for itself: iterations that run at once would write it for each other."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def sums_of_inner_loops(p, n):
    found = np.zeros(n)
    for i in range(n):
        x = 0.0
        for _ in range(70):
            x = x * 0.5 + p * i
        found[i] = x.sum()
    return found


def test_stages_kept_in_memory_keep_a_loop_in_order():
    """Whether threads meet is chance: what decides is that no task of the loop is handed to another thread."""
    compiled = tilewright.jit(sums_of_inner_loops, strict=True)
    p = np.linspace(-1.0, 2.0, 70)
    for n in (1, 70, 300):
        np.testing.assert_allclose(compiled(p, n), sums_of_inner_loops(p, n), rtol=1e-12)
    assert "_kept" in compiled.explain()
    assert "halide_do_par_for" not in compiled.explain(code=True)
