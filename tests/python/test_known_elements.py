"""Elements of arrays that a trace knows, where statements write them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.symbolic import known
from tilewright.trace import trace

pytestmark = pytest.mark.fast


def table(words: Any, x: Any) -> Any:
    lengths = np.zeros((len(words) + 1, len(words) + 1), dtype=int)
    for i, one in enumerate(words, 1):
        for j, other in enumerate(words, 1):
            lengths[i, j] = lengths[i - 1, j - 1] + 1 if one == other else max(lengths[i - 1, j], lengths[i, j - 1])
    return x * lengths[-1, -1], lengths


def test_an_element_is_found_without_computing_the_array_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    usual = known._Known._computed

    def counted(self: Any, value: Any, shape: Any) -> Any:
        computed.append(value.operation)
        return usual(self, value, shape)

    monkeypatch.setattr(known._Known, "_computed", counted)
    words = list("abcbdab")
    trace(table, (words, np.arange(3.0)))
    assert computed.count("update") < 4 * len(words) ** 2
