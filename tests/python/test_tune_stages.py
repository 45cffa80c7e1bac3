"""Tuning functions with stages: candidates are checked and timed where no NumPy is, and what is told counts NumPy's share."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import datasets, stage_records, tuning
from tilewright.binding import bind
from tilewright.errors import Error, InternalError
from tilewright.figures import Figures
from tilewright.stage_shares import StageShare, in_a_line, shares
from tilewright.symbolic.stages import Stage

pytestmark = pytest.mark.compile


@pytest.fixture(autouse=True)
def store(measured_store: Callable[[Path], None], tmp_path: Path) -> None:
    measured_store(tmp_path / "db")


X = np.random.default_rng(3).normal(size=30_000)


def sorted_between(x, w):
    y = np.sort(x * 2.0 + w)
    return np.cumsum(y * w) + 1.0


def kept(x):
    return x[x > 0.3] * 2.0


def spectrum(a):
    values, vectors = np.linalg.eigh(a @ a.T)
    return values * 2.0, np.abs(vectors).sum()


def smoothed_and_sorted(x, n):
    for _ in range(n):
        x = np.sort(x * 0.5)
    return x + 1.0


def written(x, w):
    x[:] = np.sort(x * w) + w


def tuned(function: Any, args: tuple[Any, ...], tmp_path: Any, **options: Any) -> Any:
    compiled = tilewright.jit(function, strict=True, db=tmp_path / "db")
    return compiled, compiled.tune(*args, **{"trials": 3, "budget": "60s", **options})


def _leaves(result: Any) -> tuple[Any, ...]:
    return () if result is None else result if isinstance(result, tuple) else (result,)


MATRIX = np.random.default_rng(4).normal(size=(30, 30))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (sorted_between, (X, 3.0)),
        (kept, (X,)),
        (spectrum, (MATRIX,)),
        (smoothed_and_sorted, (X, 3)),
        (written, (X, 2.0)),
    ],
)
def test_candidates_are_measured(function: Any, args: tuple[Any, ...], tmp_path: Any) -> None:
    mine = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    compiled, result = tuned(function, mine, tmp_path)
    assert result.complete and result.trials >= 1 and not result.raw["default_failure"]
    line = result.closing_line()
    assert "; NumPy computes numpy." in line and "; kernels " in line, line
    assert sum(stage.share for stage in result.stages) <= 1.05
    theirs = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    got, expected = compiled(*mine), function(*theirs)
    for one, other in zip(_leaves(got), _leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_array_equal(mine[0], theirs[0])


def test_the_closing_line_says_what_numpy_computes(tmp_path: Any) -> None:
    _, result = tuned(sorted_between, (X, 3.0), tmp_path)
    result.figures = Figures(10e6, 5e6, 2.0, kernel_ns=1e6)
    result.stages = [StageShare("numpy.sort($0)", "np.sort(); no kernel computes this NumPy function", 22, 0.614)]
    result.limit, result.bytes_moved, result.elapsed_s, result.trials = None, 2e6, 3.0, 30
    result.reason = "the time budget was used up"
    assert result.closing_line() == (
        "sorted_between: NumPy 10 ms (timed once, before the search) -> tuned 5 ms (about 2.0x, 1 ms of it in the "
        "kernel); NumPy computes numpy.sort($0) (61 % of a call; no kernel computes this NumPy function); result equal "
        "under contract numpy; kernels 2.0 GB/s; searched 3 s, 30 candidates, stopped: the time budget was used up"
    )
    assert result.evidence()["stages"] == [
        {
            "stage": "numpy.sort($0)",
            "why": "np.sort(); no kernel computes this NumPy function",
            "line": 22,
            "share": 0.614,
        }
    ]


def test_without_turns_the_stages_count_all_the_same(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise Error("no turns")

    monkeypatch.setattr(tuning, "take_turns", none)
    recorded: list[float] = []
    record = stage_records.StageRecorder.record

    def noted(*args: Any) -> Any:
        found = record(*args)
        recorded.append(found.took_ns)
        return found

    monkeypatch.setattr(stage_records.StageRecorder, "record", noted)
    _, result = tuned(sorted_between, (X, 3.0), tmp_path)
    assert result.tuned_ns == result.kernel_ns + recorded[0] > result.kernel_ns
    assert result.ratio == pytest.approx(result.numpy_ns / result.tuned_ns)


def test_progress_counts_the_stages() -> None:
    told: list[dict[str, Any]] = []
    way = object.__new__(tuning._WayToKernel)
    way.notify, way.stages_ns, way.way_ns = told.append, 5e6, None
    way({"event": "new_best", "median_ns": 1e6})
    assert told == [{"event": "new_best", "median_ns": 1e6, "call_ns": 6e6}]


def test_the_job_has_what_stages_were_given_and_gave(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[dict[str, Any]] = []
    run = tuning.run_search

    def looked_at(job: str, notify: Any) -> Any:
        jobs.append(json.loads(job))
        data = np.fromfile(jobs[0]["datasets"][0]["stage_file"], np.uint8)
        for call in jobs[0]["datasets"][0]["stage_calls"]:
            call["values"] = [
                np.frombuffer(data.data, one["dtype"], int(np.prod(one["shape"])), one["offset"]).copy()
                for one in call["arrays"]
            ]
        return run(job, notify)

    monkeypatch.setattr(tuning, "run_search", looked_at)
    tuned(sorted_between, (X, 3.0), tmp_path, trials=1)
    (job,) = jobs
    assert [one["kind"] for one in job["datasets"]] == ["recorded", "perturbed", "special", "signs"]
    assert all(len(one["stage_calls"]) == 2 for one in job["datasets"])
    sort, cumsum = job["datasets"][0]["stage_calls"]
    assert (sort["stage"], cumsum["stage"]) == ("numpy.sort($0)", "numpy.cumsum($0)")
    np.testing.assert_array_equal(sort["values"][0], X * 2.0 + 3.0)
    np.testing.assert_array_equal(sort["values"][1], np.sort(X * 2.0 + 3.0))
    np.testing.assert_array_equal(cumsum["values"][1], np.cumsum(cumsum["values"][0]))
    # x, what sort gave and what cumsum gave are read; what these were given and the result are written.
    assert (job["kernels_read_bytes"], job["kernels_write_bytes"]) == (3 * X.nbytes, 3 * X.nbytes)


def test_what_kernels_do_not_touch_is_no_traffic_of_theirs() -> None:
    def passed_on(x, y):
        return np.sort(x), y * np.sum(y)

    y = np.ones(500)
    compiled = tilewright.jit(passed_on, strict=True)
    specialization = compiled.for_args(X, y)
    bound = bind(specialization.traced, specialization.program, (X, y), {})
    reference = datasets.Reference(passed_on, specialization.traced, specialization.program)
    call = datasets.Call("recorded", (X, y), {})
    record = stage_records.StageRecorder(specialization, bound).record(reference, call)
    assert [one.text for one in record.calls] == ["numpy.sort($0)"]
    read, wrote = stage_records.bytes_of_kernels(specialization.program, bound, record, reference.answer(call))
    assert (read, wrote) == (y.nbytes, y.nbytes)


def test_too_many_calls_are_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_records, "_MOST_CALLS", 2)
    with pytest.raises(Error) as caught:
        tuned(smoothed_and_sorted, (X.copy(), 3), tmp_path)
    assert str(caught.value) == (
        "smoothed_and_sorted: its stage numpy.sort($0), and others, are called more than 2 times, which is more than a search "
        "keeps. Tune it with fewer iterations."
    )


def test_another_answer_with_the_real_stages_is_an_error(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = datasets.Reference.answer

    def wrong(self: Any, call: Any, *limit: Any) -> Any:
        found = answer(self, call, *limit)
        if isinstance(self.function, type(compiled)):
            found.results[0][5] += 1
        return found

    compiled = tilewright.jit(sorted_between, strict=True, db=tmp_path / "db")
    compiled(X, 3.0)
    monkeypatch.setattr(datasets.Reference, "answer", wrong)
    with pytest.raises(InternalError) as caught:
        compiled.tune(X, 3.0, trials=1, budget="60s")
    assert re.fullmatch(
        r"sorted_between: with its stages the best schedule gives another answer than NumPy: result\[5\].*\. Please report it\.",
        str(caught.value),
    )
    assert not compiled.for_args(X, 3.0).has_own_schedule


def test_a_line_names_what_counts() -> None:
    why = "np.sort(); no kernel computes this NumPy function"
    one, small = StageShare("numpy.sort($0)", why, 1, 0.5), StageShare("numpy.array($0)", why, 1, 0.001)
    named = "numpy.sort($0) (50 % of a call; no kernel computes this NumPy function)"
    assert in_a_line([one]) == f"; NumPy computes {named}"
    assert in_a_line([one, small]) == f"; NumPy computes {named}, and 1 more below 1 %"
    assert in_a_line([small, small]) == "; NumPy computes 2 stages below 1 %"
    assert in_a_line([]) == ""


def test_shares_are_those_between_two_looks() -> None:
    stages = {
        "numpy.linalg.eigh($0) as r1": Stage("", "", why="no rule", line=3),
        "r1[0]": Stage("", ""),
        "r1.eigenvectors": Stage("", ""),
        "numpy.sort($0)": Stage("", "", why="no rule", line=4),
    }
    before = ((1, 500), {text: (1, 100) for text in stages})
    after = ((3, 1500), {text: (3, 100 + ns) for text, ns in zip(stages, (300, 50, 50, 200), strict=True)})
    assert shares(stages, after, before) == [
        StageShare("numpy.linalg.eigh($0)", "no rule", 3, 0.4),
        StageShare("numpy.sort($0)", "no rule", 4, 0.2),
    ]
    assert [one.share for one in shares(stages, None)] == [None, None]


def test_times_are_taken_of_plans_with_stages_alone() -> None:
    compiled = tilewright.jit(sorted_between, strict=True)
    compiled(X, 3.0)
    specialization = compiled.for_args(X, 3.0)
    before = specialization.stage_times()
    compiled(X, 3.0)
    (calls, whole), each = specialization.stage_times()
    assert calls == before[0][0] + 1 and set(each) == {"numpy.sort($0)", "numpy.cumsum($0)"}
    assert 0 < sum(ns for _, ns in each.values()) <= whole
    with pytest.raises(IndexError, match=r"^stage_times: there is no plan 9; there are 1\.$"):
        compiled.stage_times(9)
    plain = tilewright.jit(lambda x: x * 2.0 + 1.0, strict=True)
    plain(X)
    assert plain.for_args(X).stage_times() is None and plain.stage_times(0) == ((0, 0), {})


def test_explain_says_what_numpy_computes_and_how_much_of_a_call() -> None:
    compiled = tilewright.jit(sorted_between, strict=True)
    specialization = compiled.for_args(X, 3.0)
    line = sorted_between.__code__.co_firstlineno
    sorts, sums = (specialization.traced.stages[f"numpy.{name}($0)"].why for name in ("sort", "cumsum"))
    assert sorts.startswith("np.sort(); kernels sort along axes of at most 16 elements")
    assert sums.startswith("np.add.accumulate(); ")
    told = (
        "between kernels:\n"
        f"  numpy.sort($0)  line {line + 1}  NumPy computes it, or a twin on all threads: {sorts}{{}}\n"
        f"  numpy.cumsum($0)  line {line + 2}  NumPy computes it, or a twin on all threads: {sums}{{}}\n"
    )
    assert told.format("", "") in compiled.explain(source=False)
    specialization.stage_times = lambda: ((2, 1000), {"numpy.sort($0)": (2, 614), "numpy.cumsum($0)": (2, 40)})  # type: ignore[method-assign]
    assert told.format("; 61 % of a call", "; 4 % of a call") in compiled.explain(source=False)
    assert "\nbetween kernels:\n" not in tilewright.jit(lambda x: x * 2.0, strict=True).for_args(X).explain(
        source=False
    )


def test_a_function_of_gathered_arguments_has_shares() -> None:
    compiled = tilewright.jit(lambda *arrays: np.sort(arrays[0] * 2.0), strict=True)
    compiled(X)
    compiled(X)
    (stage,) = compiled.for_args(X).numpy_stages
    assert stage.share is not None and stage.share > 0


def test_show_runs_the_call_for_the_share(tmp_path: Any) -> None:
    (tmp_path / "s.py").write_text(
        "import numpy as np\n\ndef work(x):\n    return np.partition(np.sqrt(x) * 2, 9) + 1.0\n\nwork(np.arange(200_000.0)[::-1].copy())\n"
    )
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "show", "s.py"], cwd=tmp_path, env=environment,
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"^between kernels:\n  numpy\.partition\(\$0, 9\)  line 4  NumPy computes it: np\.partition\(\); .*; \d+ % of a call$",
        done.stdout,
        re.MULTILINE,
    ), done.stdout


RNG = np.random.default_rng(5)


def walks(p, n):
    p = p + RNG.normal(size=3)
    for k in range(n):
        p = p + 0.01 * (k - p)
    return p


def walks_as_before(p, n):
    p = p + np.random.randn(3)  # noqa: NPY002  (it keeps a second normal number)
    for k in range(n):
        p = p + 0.01 * (k - p)
    return p


@pytest.mark.parametrize("function", [walks, walks_as_before])
def test_short_calls_that_draw_from_generators_of_the_module_draw_the_same_in_a_search(
    function: Any, tmp_path: Any
) -> None:
    np.random.seed(3)  # noqa: NPY002
    np.random.randn()  # noqa: NPY002
    before = RNG.bit_generator.state, str(np.random.get_state())  # noqa: NPY002
    compiled, result = tuned(function, (np.ones(3), 200), tmp_path)
    assert result.complete, result
    assert (RNG.bit_generator.state, str(np.random.get_state())) == before  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state
    got = compiled(np.ones(3), 200)
    np.random.seed(7)  # noqa: NPY002
    RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state
    np.testing.assert_allclose(got, function(np.ones(3), 200), rtol=1e-13)


def test_the_store_finds_the_record_of_these_callees_alone(tmp_path: Any) -> None:
    tuned(sorted_between, (X, 3.0), tmp_path, trials=2)

    def summed(x, w):
        y = np.cumsum(x * 2.0 + w)
        return np.cumsum(y * w) + 1.0

    again = tilewright.jit(sorted_between, strict=True, db=tmp_path / "db")
    other = tilewright.jit(summed, strict=True, db=tmp_path / "db")
    assert again.for_args(X, 3.0).has_own_schedule and not other.for_args(X, 3.0).has_own_schedule
    np.testing.assert_array_equal(again(X, 3.0), sorted_between(X, 3.0))
