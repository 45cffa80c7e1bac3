"""python/numpy_names.md says what becomes of each name of NumPy's, and nothing of it is wrong."""

from __future__ import annotations

import numpy_names
import pytest
from examples import examples

pytestmark = pytest.mark.compile


@pytest.fixture(scope="module")
def rows():
    return numpy_names.everything(quick=examples(1) == 1)


def test_the_page_says_what_is_so(rows):
    """`python tests/python/numpy_names.py --write` writes it anew."""
    assert numpy_names.page(rows).splitlines() == numpy_names.PAGE.read_text().splitlines()


def test_nothing_is_wrong(rows):
    assert [line for line in numpy_names.refusals(rows) if ": wrong: " in line] == []


def test_each_name_is_called_or_left_out():
    assert [one.name for one in numpy_names.names() if not one.call] == []


def test_nearly_all_names_compile(rows):
    compiled = [numpy_names.is_whole(row) for one, row in rows if not one.option]
    assert sum(compiled) >= 0.98 * len(compiled)
