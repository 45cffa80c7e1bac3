"""benchmarks/harm.py: what it counts, what it calls outside of the bar, and its rows. No speed is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import harm  # noqa: E402
from programs import Program  # noqa: E402

pytestmark = pytest.mark.compile
US, MS = 1000, 1_000_000


def within(numpy_ns, ours_ns, count=100, before_ns=()):
    return harm.judged(numpy_ns, ours_ns, count, list(before_ns))["within"]


@pytest.mark.parametrize("call_ns, more_ns, is_within", [(1000, 150, True), (1000, 250, False), (50_000, 900, True), (50_000, 1100, False)])  # fmt: skip
def test_the_bar_is_two_per_cent_or_200_ns(call_ns, more_ns, is_within):
    assert within([100 * call_ns] * 30, [100 * (call_ns + more_ns)] * 30) == is_within


def test_a_first_hundred_calls_are_counted_as_they_came_and_later_ones_by_their_median():
    numpy, ours = [10 * MS] * 30, [9 * MS] * 30
    for place, is_within in ((0, False), (20, True)):
        one_long = [*ours]
        one_long[place] += 40 * MS
        assert within(numpy, one_long) == is_within
    assert not within(numpy, ours[:15] + [11 * MS] * 15)


def test_calls_that_were_not_made_count_as_later_ones():
    """Ten of a hundred calls; the first one took as long as two."""
    row = harm.judged([30 * MS] * 10, [60 * MS] + [30 * MS] * 9, 1, [])
    assert row["first_excess_ns"] == pytest.approx(0.3 * MS) and row["within"] and row["calls"] == 10


def test_calls_before_the_blocks_are_counted():
    row = harm.judged([100 * US] * 30, [100 * US] * 30, 100, [50 * US])
    assert row["first_excess_ns"] == pytest.approx(49 * US / 101) and not row["within"]


def raised(x, by):
    x += by
    return np.sort(x * 2)


@pytest.mark.parametrize("background", [False, True])
def test_a_program_is_measured_with_its_arguments_as_they_were(background):
    x = np.arange(100.0)
    row = harm.measured(Program("raised", lambda: (raised, (x, 1.0))), background=background, seconds=0.2)
    assert row["calls"] >= 400 and row["first_call_s"] > 0 and row["numpy_ns"] > 0
    assert np.array_equal(x, np.arange(100.0))
    assert harm.line(row).startswith("raised ")


def test_a_program_without_its_modules_is_absent():
    def load():
        raise ImportError("no scipy")

    row = harm.measured(Program("sparse", load), background=False, seconds=1)
    assert row["absent"] and "no scipy" in harm.line(row)


def test_the_command_keeps_rows_and_its_exit_code_says_whether_all_are_within(tmp_path):
    kept = tmp_path / "rows.json"
    row = {"program": "kmeans_100", "why": "", **harm.judged([US * 100] * 30, [US * 100] * 30, 100, [])}
    command = [
        sys.executable,
        str(ROOT / "benchmarks/harm.py"),
        "--only",
        "kmeans_100",
        "--json",
        str(kept),
        "--missing",
    ]
    for more_ns, code in ((0, 0), (500, 1)):
        row |= {"within": not more_ns, "first_excess_ns": more_ns}
        kept.write_text(json.dumps({"rows": [row]}))
        done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert ("OUTSIDE" in done.stdout) == bool(code)


def test_small_data_are_rows_too():
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/harm.py"), "--list"], capture_output=True, text=True, check=True
    )
    names = done.stdout.split()
    assert {"kmeans_100", "everyday_smooth", "everyday_smooth_small", "nearest"} <= set(names)
    assert len(names) == len(set(names))
