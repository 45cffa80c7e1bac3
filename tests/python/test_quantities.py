"""Durations: numbers or text with a unit, and one sentence for everything else; numbers in words."""

from fractions import Fraction

import numpy as np
import pytest
from tilewright.quantities import counted, format_ns, parse_duration_s

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (60, 60.0), (1.5, 1.5), (np.float32(0.5), 0.5), (np.int8(3), 3.0), (Fraction(1, 4), 0.25),
        ("60", 60.0), ("60s", 60.0), (" 1.5 m ", 90.0), ("2min", 120.0), ("1H", 3600.0), ("250ms", 0.25), (".5s", 0.5), ("1d", 86400.0),
    ],
)  # fmt: skip
def test_a_duration_is_a_number_or_text_with_a_unit(value, seconds):
    assert parse_duration_s(value, "budget") == seconds


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ("soon", ValueError, "budget: 'soon' is not a duration. Write 60s, 2m or 1h."),
        ("5 parsecs", ValueError, "budget: '5 parsecs' is not a duration. Write 60s, 2m or 1h."),
        ("-1s", ValueError, "budget: '-1s' is not a duration. Write 60s, 2m or 1h."),
        ("nan", ValueError, "budget: 'nan' is not a duration. Write 60s, 2m or 1h."),
        ("", ValueError, "budget: '' is not a duration. Write 60s, 2m or 1h."),
        ("٣s", ValueError, "budget: '٣s' is not a duration. Write 60s, 2m or 1h."),
        (0, ValueError, "budget: 0 is not a duration. Write 60s, 2m or 1h."),
        (-1, ValueError, "budget: -1 is not a duration. Write 60s, 2m or 1h."),
        (float("nan"), ValueError, "budget: nan is not a duration. Write 60s, 2m or 1h."),
        (float("inf"), ValueError, "budget: inf is not a duration. Write 60s, 2m or 1h."),
        ("400d", ValueError, "budget: '400d' is not a duration. Write 60s, 2m or 1h."),
        (2**64, ValueError, "budget: 18446744073709551616 is not a duration. Write 60s, 2m or 1h."),
        pytest.param(
            10**5000,
            ValueError,
            "budget: a number of too many digits is not a duration. Write 60s, 2m or 1h.",
            id="5000 digits",
        ),
        ("9" * 400, ValueError, f"budget: '{'9' * 39}… (402 characters) is not a duration. Write 60s, 2m or 1h."),
        (True, TypeError, "budget: a duration is a number or text, and this is of type bool. Write 60s, 2m or 1h."),
        (None, TypeError, "budget: a duration is a number or text, and this is None. Write 60s, 2m or 1h."),
        ([5], TypeError, "budget: a duration is a number or text, and this is of type list. Write 60s, 2m or 1h."),
        (1j, TypeError, "budget: a duration is a number or text, and this is of type complex. Write 60s, 2m or 1h."),
        (b"5s", TypeError, "budget: a duration is a number or text, and this is of type bytes. Write 60s, 2m or 1h."),
    ],
)
def test_what_is_no_duration_is_refused_in_one_sentence(value, error, text):
    with pytest.raises(error) as found:
        parse_duration_s(value, "budget")
    assert str(found.value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (5.2, "5 ns"),
        (999, "999 ns"),
        (1670, "1.67 us"),
        (12_345_678, "12.3 ms"),
        (345_600_000, "346 ms"),
        (61e9, "61 s"),
    ],
)
def test_times_are_shown_with_three_digits(ns, text):
    assert format_ns(ns) == text


def test_counts_read_as_english():
    assert [counted(n, "candidate") for n in (0, 1, 20)] == ["0 candidates", "1 candidate", "20 candidates"]
