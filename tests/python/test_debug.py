"""f.debug(): each place where an answer can go wrong is named, with the first element that differs. Faults are put into the debugger's
child process (debug_faults/sitecustomize.py), or into the tracer."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import _face
from tilewright.debug import calls
from tilewright.debug.answers import Allowed, Answer, difference
from tilewright.debug.schedules import lines_of
from tilewright.machine import host_isa
from tilewright.ops import FUNCTIONS

pytestmark = pytest.mark.compile

FAULTS = Path(__file__).parent / "debug_faults"
ISA = host_isa()
beyond_baseline = pytest.mark.skipif(ISA == "x86-64", reason="this machine has the baseline alone")
X, Y = np.linspace(0, 1, 300), np.arange(300.0)


def root(x: Any, y: Any) -> Any:
    return np.sqrt(x * x + y)


def smoothed(x: Any, y: Any) -> Any:
    out = np.zeros(x.shape)
    for i in range(1, x.shape[0] - 1):
        if x[i] > 0.5:
            out[i] = x[i - 1] * y[i + 1]
        else:
            out[i] = out[i - 1] * 0.5
    return out


def halved(x: Any) -> None:
    x[...] = x * 0.5


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put_in(text: str) -> None:
        monkeypatch.setenv("PYTHONPATH", str(FAULTS))
        monkeypatch.setenv("DEBUG_FAULT", text)

    return put_in


def report(function: Any, *args: Any, schedule: str | None = None, **options: Any) -> str:
    jitted = tilewright.jit(function)
    if schedule is not None:
        jitted.for_args(*args).schedule = schedule
    found = jitted.debug(*args, **options)
    assert found.differs == ("found: " in found.text())
    return str(found)


def told(function: str, *lines: str) -> str:
    head = f"{function}(x float64[300], y float64[300]); contract numpy, for {ISA}"
    return "\n".join([head, *lines])


def test_nothing_differs() -> None:
    assert report(root, X, Y) == told(
        "root",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        "  the default schedule  as NumPy",
        "  call                  as NumPy",
        "nothing differs.",
    )


def test_written_arguments_are_compared_and_left_as_they_are() -> None:
    x = X.copy()
    assert report(halved, x) == "\n".join(
        [
            f"halved(x float64[300]); contract numpy, for {ISA}",
            "  NumPy                 x written",
            "  trace                 as NumPy",
            "  the default schedule  as NumPy",
            "  call                  as NumPy",
            "nothing differs.",
        ]
    )
    assert np.array_equal(x, X)


def test_a_wrong_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, np.flip, lambda tracer, m, axis=None: m * 1.0)

    def flipped(x: Any, y: Any) -> Any:
        return np.flip(x) + y

    assert report(flipped, X, Y) == told(
        "flipped",
        "  NumPy  float64[300]",
        "  trace  result[0]: 0.0, NumPy has 1.0 (4607182418800017408 ULP); 300 of 300 elements differ",
        "found: trace: the program that was traced, run with NumPy, does not give the function's own answer.",
    )


def test_a_trace_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def flipped(x: Any) -> Any:
        return np.flip(x)

    monkeypatch.setitem(FUNCTIONS, np.flip, lambda tracer, m, axis=None: {}["no rule"])
    line = flipped.__code__.co_firstlineno + 1
    assert report(flipped, X) == (
        f"flipped\n  trace  {__file__}:{line}, in flipped: tracing the call raised KeyError: 'no rule'; NumPy raises nothing "
        "there. Leave the line out of the compiled function.\nfound: trace: the tracer raises an error."
    )


def test_a_wrong_pass(fault: Any) -> None:
    fault("pass if_conversion")
    assert report(smoothed, X, Y) == told(
        "smoothed",
        "  NumPy               float64[300]",
        "  trace               as NumPy",
        "  pass if_conversion  result[1]: 0.5, NumPy has 0.0 (4602678819172646912 ULP); 298 of 300 elements differ",
        "found: pass if_conversion: branches of loops that choose between numbers as `where`: the program before it gives "
        "NumPy's answer, the one behind it does not. TILEWRIGHT_PASSES=-if_conversion leaves it out.",
    )


def test_a_pass_that_raises(fault: Any) -> None:
    fault("raise if_conversion")
    assert report(smoothed, X, Y) == told(
        "smoothed",
        "  NumPy   float64[300]",
        "  trace   as NumPy",
        "  passes  raises RuntimeError: no block is open",
        "found: pass if_conversion: raises RuntimeError: no block is open.",
    )


ONE_UNIT = "result[3]: 1.7320798682551788, NumPy has 1.7320798682551786 (1 ULP); 2 of 300 elements differ"


def test_a_wrong_directive_of_the_default_schedule(fault: Any) -> None:
    fault("code vectorize")
    assert report(root, X, Y) == told(
        "root",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        f"  the default schedule  {ONE_UNIT}",
        "  no directives         as NumPy",
        "found: schedule: the code is right with the directives before `sqrt.vectorize(ix)`, and wrong with that (the default "
        "schedule).",
    )


def test_a_wrong_directive_of_a_schedule_by_hand(fault: Any) -> None:
    fault("code unroll")
    schedule = f"""tilewright-schedule 1
schedule root for {ISA}
sqrt.split(i, io, ii, 64)
sqrt.parallel(io)
sqrt.unroll(ii, 2)
"""
    assert report(root, X, Y, schedule=schedule) == told(
        "root",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        f"  the schedule by hand  {ONE_UNIT}",
        "  the default schedule  as NumPy",
        "  no directives         as NumPy",
        "found: schedule: the code is right with the directives before `sqrt.unroll(ii, 2)`, and wrong with that (the schedule "
        "by hand).",
    )


def test_a_schedule_by_directives() -> None:
    text = """tilewright-schedule 1
schedule f for x86-64
# a comment
variant sum = lanes1
add.split(i, iv, ix, 16).vectorize(ix)
sum.update(0).specialize(extent(k) == 2) { unroll(k).vectorize(i) }
sum.update(0).rfactor(r, u) as partial
"""
    assert lines_of(text) == [
        "variant sum = lanes1",
        "add.split(i, iv, ix, 16)",
        "add.vectorize(ix)",
        "sum.update(0).specialize(extent(k) == 2) { unroll(k).vectorize(i) }",
        "sum.update(0).rfactor(r, u) as partial",
    ]


@beyond_baseline
def test_wrong_code(fault: Any) -> None:
    fault("code schedule")
    assert report(root, X, Y) == told(
        "root",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        f"  the default schedule  {ONE_UNIT}",
        f"  no directives         {ONE_UNIT}",
        f"  for x86-64            {ONE_UNIT}",
        "found: code generation: the program is right, and its code is wrong under every schedule that was tried.",
    )


def test_a_pass_without_which_code_is_right(fault: Any) -> None:
    fault("without if_conversion")
    assert report(smoothed, X, Y).splitlines()[-1] == (
        "found: code generation: the program is right, and its code is wrong under every schedule that was tried. It is right "
        "with TILEWRIGHT_PASSES=-if_conversion."
    )


@beyond_baseline
def test_wrong_code_of_an_instruction_set(fault: Any) -> None:
    fault(f"code {ISA}")
    assert report(root, X, Y) == told(
        "root",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        f"  the default schedule  {ONE_UNIT}",
        f"  no directives         {ONE_UNIT}",
        "  for x86-64            as NumPy",
        "found: code generation: the program is right, and its code is wrong under every schedule that was tried. It is right for "
        "x86-64.",
    )


@beyond_baseline
def test_code_that_crashes(fault: Any) -> None:
    fault("crash schedule")
    crash = "the compiled code ends the process: SIGSEGV, with the last words: free(): invalid pointer"
    assert report(root, X, Y) == told(
        "root",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        f"  the default schedule  {crash}",
        f"  no directives         {crash}",
        f"  for x86-64            {crash}",
        "found: code generation: the program is right, and its code is wrong under every schedule that was tried.",
    )


def test_code_that_never_ends(fault: Any) -> None:
    fault("hang vectorize")
    text = report(root, X, Y, limit="6s")
    assert "  the default schedule  the compiled code takes longer than 6 s\n  no directives         as NumPy\n" in text


def test_what_takes_longer_than_the_limit_is_not_judged() -> None:
    def added(x: Any) -> Any:
        s = 0.0
        for value in x:
            s = s + value * value
        return s

    assert report(added, np.ones(300_000), limit=0.5).splitlines()[2] == (
        "  trace                 not judged: running the program with NumPy takes longer than 0.5 s"
    )


def test_what_the_oracle_does_not_know_is_not_judged(fault: Any) -> None:
    fault("oracle where")
    assert report(smoothed, X, Y) == told(
        "smoothed",
        "  NumPy                 float64[300]",
        "  trace                 as NumPy",
        "  pass if_conversion    not judged: the oracle cannot run it: no operation where",
        "  the default schedule  as NumPy",
        "  call                  as NumPy",
        "nothing differs; not judged: pass if_conversion.",
    )


def test_a_pass_that_the_oracle_cannot_judge(fault: Any) -> None:
    fault("without if_conversion; oracle where")
    wrong = "result[3]: 5e-324, NumPy has 0.0 (1 ULP); 2 of 300 elements differ"
    assert report(smoothed, X, Y) == told(
        "smoothed",
        "  NumPy                       float64[300]",
        "  trace                       as NumPy",
        "  pass if_conversion          not judged: the oracle cannot run it: no operation where",
        f"  the default schedule        {wrong}",
        f"  no directives               {wrong}",
        "  without pass if_conversion  as NumPy",
        "found: pass if_conversion: branches of loops that choose between numbers as `where`: without it "
        "(TILEWRIGHT_PASSES=-if_conversion) the code is right. The oracle could not run the program behind it.",
    )


def test_a_trace_that_the_oracle_cannot_judge(fault: Any) -> None:
    fault("code schedule; oracle multiply")
    assert report(root, X, Y).splitlines()[-1] == (
        "found: trace or code generation: no schedule is right, and the oracle could not run the program as it was traced. "
        "Try a smaller call."
    )


def test_a_call_that_does_not_get_to_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = tilewright.jit(root)
    run = calls._Call._run

    def swapped(self: Any, function: Any) -> Any:
        return run(self, function if function is root else lambda x, y: jitted(y, x))

    monkeypatch.setattr(calls._Call, "_run", swapped)
    found = jitted.debug(X, Y)
    assert found.place == "call"
    assert str(found).splitlines()[-1] == (
        "found: call: the code is right, and the call does not get to it, or not with these arguments."
    )


def test_errors_of_numpy_are_compared_too() -> None:
    def outside(x: Any, at: Any) -> Any:
        return x[at]

    line = outside.__code__.co_firstlineno + 1
    assert report(outside, X, np.array([1, 300])) == "\n".join(
        [
            f"outside(x float64[300], at int64[2]); contract numpy, for {ISA}",
            "  NumPy                 raises IndexError: index 300 is out of bounds for axis 0 with size 300",
            f"  trace                 left to NumPy: line {line}: an index out of bounds for axis 0",
            f"  pass sum_orders       left to NumPy: line {line}: an index out of bounds for axis 0",
            f"  the default schedule  left to NumPy: outside: line {line}: an index out of bounds for axis 0.",
            "  call                  as NumPy",
            "nothing differs.",
        ]
    )


def test_strided_arrays_generators_and_numbers() -> None:
    def mixed(x: Any, n: int, rng: Any) -> Any:
        return [x[::-1] * n + rng.random(x.shape), n]

    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    found = tilewright.jit(mixed).debug(np.arange(600.0)[::3], 4, rng)
    assert not found.differs and [step.state for step in found.steps] == ["", "as NumPy", "as NumPy", "as NumPy"]
    assert rng.bit_generator.state == before


def test_a_dump_shows_the_difference_alone(fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault("pass if_conversion")
    folder = tmp_path / "dump"
    text = report(smoothed, X, Y, dump=folder)
    numbered, *others = sorted(path.name for path in folder.iterdir())
    assert re.fullmatch(r"\d\d_if_conversion\.txt", numbered)
    assert others == [
        "arguments.npz", "assembly.s", "case.json", "expected.npz", "lowered.txt", "plan.txt",
        "program.txt", "report.txt", "repro.py", "schedule.txt", "stages.json",
    ]  # fmt: skip
    assert (folder / "report.txt").read_text() == text + "\n"
    assert np.array_equal(np.load(folder / "arguments.npz")["x"], X)
    again = [sys.executable, str(folder / "repro.py")]
    done = subprocess.run(again, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, text + "\n", "")
    monkeypatch.delenv("DEBUG_FAULT")
    done = subprocess.run(again, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0 and done.stdout.endswith("\nnothing differs.\n")
    done = subprocess.run([*again, "--here"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing differs.\n")
    with pytest.raises(tilewright.Error) as error:
        report(smoothed, X, Y, dump=folder)
    assert str(error.value) == (
        f"dump: {folder}: is not empty, and nothing is written over. Name a folder that is new, or empty."
    )


def test_what_numpy_raises_too_is_raised() -> None:
    with pytest.raises(ValueError, match="could not be broadcast"):
        report(root, X, Y[:7])


def test_zeros_and_nan() -> None:
    exact, free = Allowed(), Allowed(any_zero=True)

    def differs(ours: float, theirs: float, allowed: Allowed) -> str | None:
        one, other = (Answer("answered", "", (np.array([1.0, number]),)) for number in (ours, theirs))
        return difference(one, other, allowed)

    assert differs(-0.0, 0.0, exact) == "result[1]: -0.0, NumPy has 0.0 (0 ULP); 1 of 2 elements differ"
    assert differs(-0.0, 0.0, free) is None
    assert differs(np.nan, -np.nan, exact) is None
    assert differs(np.inf, 1.0, Allowed(rtol=1.0)) == (
        "result[1]: inf, NumPy has 1.0 (no distance); 1 of 2 elements differ"
    )


def test_what_is_not_compiled_is_refused() -> None:
    def written(x: Any) -> Any:
        return np.array2string(x)

    with pytest.raises(tilewright.TraceError):
        report(written, X)


def test_calls_of_python_between_kernels_are_made_by_the_oracle_and_by_the_code() -> None:
    def ordered(x: Any) -> Any:
        y = np.sort(x) * 2
        return y[y > 1], np.linalg.qr(np.outer(y, y + 1)).R, np.fft.rfft(x)[1:]

    found = report(ordered, X)
    assert found.endswith("nothing differs.")


def test_calls_that_no_other_process_can_make_are_refused() -> None:
    @tilewright.stage
    def own(x: Any) -> Any:
        return x * 2

    def called(x: Any) -> Any:
        return own(x) + 1

    def draws(x: Any, rng: Any) -> Any:
        return x + rng.normal(size=len(x))

    compiled = tilewright.jit(called)
    compiled(X)  # shows what own() gives
    with pytest.raises(tilewright.Error, match=r"it calls .*own\(\) between kernels, which no other process finds"):
        compiled.debug(X)
    with pytest.raises(
        tilewright.Error, match="draws: Python draws its random numbers between kernels, from generators that"
    ):
        tilewright.jit(draws).debug(X, np.random.default_rng(0))


@pytest.mark.parametrize("other", ["itself", "reversed", "shifted"])
def test_arrays_that_share_memory_with_a_written_one_are_refused(other: str) -> None:
    def added(x: Any, y: Any) -> None:
        for i in range(x.shape[0]):
            x[i] = x[i] * 2 + y[i]

    memory = np.arange(20.0)
    x = memory[1:]
    y = {"itself": x, "reversed": x[::-1], "shifted": memory[:-1]}[other]
    with pytest.raises(tilewright.Error) as error:
        report(added, x, y)
    assert str(error.value) == (
        "added(x float64[19], y float64[19]): it writes into x, which shares memory with y; NumPy runs such calls, so there "
        "is no code to debug. Debug a call with arrays of their own memory."
    )
    assert not tilewright.jit(root).debug(x, y).differs  # nobody writes


def test_a_device_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_face, "no_device_reason", lambda: "there is no CUDA driver.")
    with pytest.raises(tilewright.DeviceError) as error:
        tilewright.jit(target="cuda")(root).debug(X, Y)
    assert str(error.value) == (
        "root: there is no CUDA driver. Code for a device is run to be judged: do it where there is one."
    )
