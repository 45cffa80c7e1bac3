"""Functions that cannot be followed and are not known to be pure: Python calls each between kernels, at its place, once."""

from __future__ import annotations

import time
import warnings
from typing import ClassVar

import numpy as np
import pytest
import tilewright
from strictly import agree
from tilewright import callees, effects
from tilewright.decorator import JitFunction
from tilewright.symbolic import trace_limits

pytestmark = pytest.mark.fast

LOG: list[float] = []
X = np.arange(1.0, 7.0)
GLOBAL = 0


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch):
    monkeypatch.setattr(callees, "_SEEN", {})
    monkeypatch.setattr(callees, "_ASKED", {})
    monkeypatch.setattr(effects, "_asked", {})
    LOG.clear()


def note(value):
    LOG.append(float(value))


def noted(x, k):
    LOG.append(k)
    return x[::2] * k, None, "name", x


def fill(a, value):
    LOG.append(value)
    a[1] = value
    return a


def rebinds(x):
    global GLOBAL  # noqa: PLW0603
    GLOBAL += 1
    return x


def empties(items):
    LOG.append(len(items))
    items.clear()
    return 1.0


def results_of_all_kinds(x, k):
    half, nothing, name, same = noted(x * 2, k)
    return half.sum() + same if nothing is None and name == "name" else same


def writes(x, k):
    y = x * k
    same = fill(y, 9.0)
    same[0] = k
    return y.sum(), same + y


def writes_a_part(x, k):
    y = x * k
    fill(y[2:], 50.0)
    return y


def writes_the_argument(x, k):
    fill(x, k)
    return x * 2


def in_a_loop(x, k):
    y = x * k
    for i in range(4):
        y = y * 1.5
        fill(y, 1.0 * i)
        note(y.sum())
    return y


def behind_a_condition(x, k):
    if x.sum() > k:
        note(x[0])
    else:
        note(x[1])
        note(x[2])
    return x + 1


def raises_between(x, k):
    note(x[0])
    y = x * k
    if y.sum() > 60:
        raise ValueError("large")
    note(y[1])
    if y[-1] > 11:
        raise KeyError("last")
    note(y[2])
    return y


def ends_in_its_own_error(x, k):
    note(k)
    y = fails_above(x * 2, k)
    note(-k)
    return y


def fails_above(y, k):
    LOG.append(100.0)
    if k > 2:
        raise LookupError("k")
    return y + 1


def of_a_clock(x, k):
    start = time.perf_counter()
    y = np.sqrt(x) * k
    return y, time.perf_counter() - start >= 0


def of_numpys_without_a_rule(x, k):
    counts, edges = np.histogramdd(np.stack([x, x * k], 1), bins=3)
    return counts.sum(0) + edges[0][1:]


def by_an_inner_function(x, k):
    def inner(y, value):
        return fill(y, value) + 1

    return inner(x * k, k) + 1


def by_a_lambda(x, k):
    inner = lambda y, value: fill(y, value) + 1  # noqa: E731
    return inner(x * 2, k) + inner((x * 3).astype(np.float32), 2.0) + calls(inner, x, k)


def calls(inner, y, k):
    return inner(y, k) * k


CASES = [
    results_of_all_kinds, writes, writes_a_part, writes_the_argument, in_a_loop, behind_a_condition, raises_between,
    ends_in_its_own_error, of_a_clock, of_numpys_without_a_rule, by_an_inner_function, by_a_lambda,
]  # fmt: skip


def outcome(function, x, *args):
    LOG.clear()
    x = x.copy()
    try:
        result = function(x, *args)
    except Exception as error:  # noqa: BLE001
        result = type(error), str(error)
    return result, x, list(LOG)


@pytest.mark.parametrize("function", CASES)
def test_each_call_happens_once_and_in_order(function):
    compiled = tilewright.jit(function, strict=True)
    for k in (2.0, 1.0, 50.0, 3.0, 50.0, 50.0, -1.0, 2.0, 50.0):
        result, x, log = outcome(compiled, X, k)
        wanted, after, wanted_log = outcome(function, X, k)
        assert agree(result, wanted)
        assert agree(x, after)
        assert log == wanted_log
    assert compiled._specializations, "it is compiled"


class Noting:
    """Calls something that cannot be followed, when it is called itself."""

    __hash__ = None

    def __init__(self, scale):
        self.scale = scale

    def __eq__(self, other):
        raise ValueError("nobody is to compare it")

    def __call__(self, x):
        note(x[0])
        return x * self.scale


class Both:
    def __init__(self, *parts):
        self.parts = parts

    def __call__(self, x):
        return self.parts[0](x + 1) + self.parts[1](x)


def calls_an_object(x, held):
    return held(np.sqrt(x)) * 2


def test_what_objects_call_when_they_are_called_happens_once():
    for held in (Noting(2.0), Both(Noting(2.0), Noting(3.0))):
        compiled = tilewright.jit(calls_an_object, strict=True)
        for k in range(4):
            LOG.clear()
            expected, log = calls_an_object(X + k, held), [*LOG]
            LOG.clear()
            assert agree(compiled(X + k, held), expected) and log == LOG
        assert "test_unknown_callees.note" in compiled.explain(source=False)


def test_a_result_of_another_kind_goes_on_in_numpy():
    def of_kind(x, kind):
        LOG.append(1.0)
        return x * 2 if kind.sum() > 0 else x > 3

    def function(x, kind):
        y = of_kind(x + 1, kind)
        note(y.sum())
        return y + 1

    compiled = tilewright.jit(function, strict=True)
    for kind in (1.0, 1.0, 1.0, -1.0, 1.0):
        LOG.clear()
        result = compiled(X, np.array([kind]))
        log = list(LOG)
        LOG.clear()
        wanted = function(X, np.array([kind]))
        assert agree(result, wanted)
        assert result.dtype == wanted.dtype
        assert log == LOG


STATE = {"calls": 0, "grid": np.zeros(3)}


def counts(x):
    STATE["calls"] += 1
    STATE["grid"][0] += x[0]
    return x * 2


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_what_is_read_beside_a_call_may_not_be_changed_by_it():
    def reads_a_count(x):
        before = x * STATE["calls"]
        return counts(x) + STATE["calls"] + before

    def reads_a_grid(x):
        before = STATE["grid"] * 1.0
        return counts(x)[:3] + STATE["grid"] + before

    for function in (reads_a_count, reads_a_grid):
        assert "STATE" in refusal(function, X)
        loose = tilewright.jit(function)
        results = []
        for one in (loose, function):
            STATE.update(calls=0, grid=np.zeros(3))
            results.append([one(X * k) for k in range(5)])
        assert agree(*results)


GRID = np.zeros(3)
SETTINGS = {"scale": 1.0, "steps": [1.0, 2.0]}


class Scale:
    of_all = 1.5
    steps: ClassVar[list[float]] = [1.0]


def changes_when_large(x, way):
    LOG.append(float(x[0]))
    if x[0] > 3:
        if way == "class":
            Scale.of_all += 1.0
            Scale.steps.append(2.0)
        elif way == "grid":
            GRID[1] += x[0]
        elif way == "item":
            SETTINGS["scale"] = float(x[0])
        elif way == "list":
            SETTINGS["steps"][1] = float(x[0])
        else:
            GRID[0], SETTINGS["scale"] = 7.0, 8.0
            if x[0] < 7:
                raise KeyError("changed")
    return x.sum()


def of_a_follower(x):
    return x[:3] * GRID * SETTINGS["steps"][1]


def reads_beside(x, way):
    before = GRID * SETTINGS["scale"] * Scale.of_all
    try:
        y = changes_when_large(x, way)
    except KeyError:
        y = -1.0
    return of_a_follower(x) + y * SETTINGS["scale"] + GRID, before * Scale.of_all + len(Scale.steps)


@pytest.mark.parametrize("way", ["grid", "item", "list", "class", "raises"])
def test_what_a_later_call_changes_is_read_as_it_is_then(way):
    """The calls that were looked at changed nothing."""

    def from_the_start(function):
        GRID[:] = 0.5
        SETTINGS.update(scale=1.0, steps=[1.0, 2.0])
        Scale.of_all, Scale.steps = 1.5, [1.0]
        results = [function(X + k, way) for k in (0, 0, 0, 5, 0, 0, 8, 5)]
        return results, GRID.copy(), SETTINGS["scale"], list(SETTINGS["steps"])

    compiled = tilewright.jit(reads_beside)
    assert agree(from_the_start(compiled), from_the_start(reads_beside))
    assert agree(from_the_start(compiled), from_the_start(reads_beside))


@tilewright.jit
def halves(x, n, s):
    y = x * 0.5
    if n < 1:
        return y
    LOG.append(n + float(s))
    s = y.sum()
    return halves(y, n - 1, s) * 0.5 + y


def test_a_recursion_that_another_program_serves_makes_its_calls_once():
    for n in (0, 1, 2, 2, 3, 3):
        LOG.clear()
        result = halves(X, n, 1.0)
        seen = list(LOG)
        LOG.clear()
        wanted = halves.__wrapped__(X, n, 1.0)
        assert seen == LOG and np.allclose(result, wanted)


GRIDS = [np.linspace(-1, 2, 9)]
A_GRID = GRIDS[0]


def bump():
    A_GRID[0] += 1


def after_what_was_computed(x):
    y = x * 3
    bump()
    return y + x


def after_what_was_written(x):
    x *= 0.9
    A_GRID[0] += 1
    return x * 2


def sorts_another_name(x):
    y = x * 3
    GRIDS[0].sort()
    return y + x


def in_a_loop(x):
    last = 0.0
    for value in x[:3]:
        last = value
        A_GRID[1:4] = A_GRID[1:4] * 0.9
    return last * x


@pytest.mark.parametrize("function", [after_what_was_computed, after_what_was_written, sorts_another_name, in_a_loop])
def test_a_callee_that_writes_what_an_argument_leads_to_is_seen(function):
    def outcomes(called):
        A_GRID[:] = np.linspace(-1, 2, 9)
        found = []
        for given in (A_GRID * 2, A_GRID * 2, A_GRID * 2, A_GRID, A_GRID[::-1], A_GRID[1:], A_GRID * 2, A_GRID):
            found += [called(given), given.copy(), A_GRID.copy()]
        return found

    compiled = tilewright.jit(function)
    assert agree(outcomes(compiled), outcomes(function))
    assert any(one.versions for one in compiled.specializations), "calls with arrays of their own are compiled"


def test_a_nested_compiled_function_keeps_its_own_calls():
    @tilewright.jit
    def inner(x, k):
        note(x[0])
        if x.sum() > k:
            raise ValueError("inner")
        note(x[1])
        return x * 2

    def catches(x, k):
        LOG.append(0.0)
        try:
            return inner(x, k)
        except ValueError:
            return x * 3

    def function(x, k):
        y = catches(x + 1, k)
        note(y.sum())
        if y[0] > 5:
            raise KeyError("outer")
        return y

    compiled = tilewright.jit(function, strict=True)
    for k in (100.0, 100.0, 100.0, 1.0, 1.0, 100.0):
        result, _, log = outcome(compiled, X, k)
        wanted, _, wanted_log = outcome(function, X, k)
        assert agree(result, wanted)
        assert log == wanted_log


def refusal(function, *args):
    compiled = tilewright.jit(function, strict=True)
    with pytest.raises(tilewright.TraceError) as raised:
        for _ in range(10):
            compiled(*args)
    return str(raised.value)


def of_a_list(x):
    items = [1.0, 2.0]
    return x * empties(items) + len(items)


def two(a, b):
    LOG.append(1.0)
    a[0] = 2
    return b + 0


def of_one_array_twice(x):
    y = x + 0
    return two(y, y)


def counts_its_calls(x):
    global GLOBAL  # noqa: PLW0603
    GLOBAL += 1
    y = x * x + len(x)
    LOG.append(float(y.sum()))
    LOG.append(float(len(LOG)))
    STATE["calls"] += 1
    return y * 2


@pytest.mark.parametrize("function", [of_a_list, of_one_array_twice, counts_its_calls])
def test_statements_that_change_what_nothing_else_reads_are_pythons(function):
    compiled = tilewright.jit(function, strict=True)
    for k in range(9):
        result, _, log = outcome(compiled, X + k)
        state = GLOBAL, STATE["calls"]
        wanted, _, wanted_log = outcome(function, X + k)
        assert agree(result, wanted)
        assert log == wanted_log
        is_counted = function is counts_its_calls
        assert (GLOBAL, STATE["calls"]) == (state[0] + is_counted, state[1] + is_counted)
    assert compiled.specializations


def doubled(x):
    return x * 2


def of_a_global(x):
    return rebinds(doubled(x)) + GLOBAL


def test_a_function_that_reads_what_it_changes_is_pythons():
    compiled = tilewright.jit(of_a_global, strict=True)
    for k in range(9):
        before = GLOBAL
        result = compiled(X + k)
        assert before + 1 == GLOBAL
        globals()["GLOBAL"] = before
        assert agree(result, of_a_global(X + k))


def test_what_no_stage_can_be_is_refused_with_its_own_reason():
    def of_nothing_else(x):
        return rebinds(x * 2) + GLOBAL

    assert "GLOBAL" in refusal(of_nothing_else, X)  # nothing of it would be compiled
    with pytest.raises(tilewright.TraceError, match="strict='kernels'|LOG.append"):
        tilewright.jit(writes, strict="kernels")(X.copy(), 2.0)


def longest(x, k):
    runs = [x[i : i + k].sum() for i in range(3)]
    return max(r * r for r in runs)


def longest_of_all(x):
    out = 0.0
    for k in [1, 2, 3, 4, 5, 6, 7, 8]:
        out += longest(x, k)
    return out


def test_a_call_of_a_generator_is_no_stage_that_is_waited_for(monkeypatch):
    monkeypatch.setattr(trace_limits, "MAX_VALUES", 40)  # what is under way when there are too many is blamed: max()
    compiled = tilewright.jit(longest_of_all, strict=True)
    for _ in range(12):
        assert compiled(X) == longest_of_all(X)
    assert not any("generator" in str(key) for key in callees._SEEN)


def test_no_search_and_no_module_repeats_effects(tmp_path):
    compiled = tilewright.jit(writes, strict=True)
    for _ in range(3):
        compiled(X.copy(), 2.0)
    with pytest.raises(
        tilewright.TraceError, match=r"it calls .*fill\(\), not known to be pure, and a search makes a call many"
    ):
        compiled.tune(X.copy(), 2.0, budget=1)
    with pytest.raises(
        tilewright.ExportError, match=r"it calls .*fill\(\), not known to be pure, and a module could not"
    ):
        compiled.export(tmp_path / "module")


@pytest.mark.numpy_may_win
def test_what_is_slower_than_a_watched_call_stays_with_numpy(monkeypatch):
    monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: True)

    def many(x, k):
        total = 0.0
        for i in range(3):
            total = total + one_of(x[:2], i)
        return total * k

    def one_of(y, i):
        LOG.append(1.0)
        return float(y[0]) + i

    compiled = tilewright.jit(many)
    for _ in range(4):
        result, _, log = outcome(compiled, X, 2.0)
        wanted, _, wanted_log = outcome(many, X, 2.0)
        assert agree(result, wanted)
        assert log == wanted_log
    assert "plain Python takes" in str(compiled.explain(source=False))


def test_explain_names_the_call_and_why_it_is_not_followed():
    compiled = tilewright.jit(writes, strict=True)
    for _ in range(3):
        compiled(X.copy(), 2.0)
    text = str(compiled.explain(source=False))
    assert "fill($0, 9.0)" in text
    assert "LOG.append() on something outside of the function" in text
    assert "tilewright.effects" not in text.partition("between kernels:")[2].partition("versions")[0]


def test_explain_says_where_calls_were_looked_at_and_nothing_is_compiled_yet(monkeypatch):
    monkeypatch.setattr(JitFunction, "_compile_what_was_seen", lambda *_: None)
    compiled = tilewright.jit(writes, strict=True)
    assert "nothing compiled yet: call it, or use f.for_args(…)" in compiled.explain(source=False)
    compiled(X.copy(), 2.0)
    assert "nothing compiled yet: the calls so far ran as plain Python, to show" in compiled.explain(source=False)


# -- branches of which calls go one way --------------------------------------------------------------------------------


def kind_of(y):
    """A text that data decide."""
    if (y < 0).any():
        return "signed"
    return "plain"


def by_kind(x, k):
    y = x * k
    kind = kind_of(y)
    if kind == "signed":
        raise ValueError("signed data")
    return np.sqrt(y) + len(kind)


def rarely_untraceable(x, k):
    y = x * k
    if y.sum() > 60:
        y = np.array(
            [float(text) for text in str(list(y)).strip("[]").replace("np.float64(", "").replace(")", "").split(",")]
        )
        note(y[0])
    return y * 2


def two_kinds(x, k):
    y = x * k
    if y.max() > 100:
        y = y[:2]
    return y.sum() + y


@pytest.mark.parametrize("function", [by_kind, rarely_untraceable, two_kinds])
def test_a_way_that_no_call_took_is_left_to_numpy(function):
    compiled = tilewright.jit(function, strict=True)
    for k in (1.0, 2.0, 1.5, 50.0, -1.0, 2.0, 3.0):
        result, x, log = outcome(compiled, X, k)
        wanted, after, wanted_log = outcome(function, X, k)
        assert agree(result, wanted)
        assert log == wanted_log
    assert compiled._specializations, "it is compiled"


def test_options_that_write_arguments_write_them():
    linalg = pytest.importorskip("scipy.linalg")
    ndimage = pytest.importorskip("scipy.ndimage")

    def solves(a, b):
        x = linalg.solve(a * 2.0, b, overwrite_b=True)
        return x + b

    def filters(a, b):
        out = np.zeros_like(a)
        ndimage.gaussian_filter(a, 1.0, output=out)
        return out + a

    a = np.array([[4.0, 1.0], [2.0, 5.0]])
    for function in (solves, filters):
        compiled = tilewright.jit(function)
        for k in (1.0, 2.0, 3.0, 4.0):
            mine, theirs = np.array([k, 2.0]), np.array([k, 2.0])
            assert agree(compiled(a * k, mine), function(a * k, theirs))
            assert agree(mine, theirs)


def one_array(a, b, *, c=None):
    LOG.append("one_array")
    return (a * b).sum() + (c is a), a is b


def writes_first(a, b):
    LOG.append("writes_first")
    a[0] = 7.0
    return b[0] + b[1]


def given_twice(x):
    y = x * 2
    total, is_one = one_array(y, np.asarray(y), c=y)
    return x * total, is_one


def given_twice_and_written(x):
    y = x * 2
    return writes_first(y, y) + y + writes_first(x, x)


@pytest.mark.parametrize("function", [given_twice, given_twice_and_written])
def test_an_array_that_is_handed_twice_is_one(function):
    compiled = tilewright.jit(function, strict=True)
    for k in (1.0, 2.0, 3.0):
        mine, theirs = X * k, X * k
        assert agree(compiled(mine), function(theirs))
        assert agree(mine, theirs)
    assert compiled.specializations


class Levels:
    level = 0.5


LEVELS = Levels()


def level_in_an_array(x, y):
    total = one_array(x, y)[0]
    y[0] = LEVELS.level
    return [y, y[0], total]


def rarely_logs(x, n):
    if x[1] > 1.0:
        LOG.append(float(format(n, ".3f")))
        x[0] += 1
    return x * n


@pytest.mark.parametrize("function", [level_in_an_array, rarely_logs])
def test_what_a_first_compiled_call_gives_and_does_is_numpys(function):
    compiled = tilewright.jit(function)
    for k in (0.25, 5.0, 0.5, 5.0, 7.0, 0.125, 3.0):
        x = np.array([1.0, k, 3.0])
        mine, theirs = (np.arange(3.0), np.arange(3.0)) if function is level_in_an_array else (2.0, 2.0)
        result, after, log = outcome(compiled, x, mine)
        wanted, expected, wanted_log = outcome(function, x, theirs)
        assert agree(result, wanted)
        assert agree(after, expected)
        assert log == wanted_log
    assert compiled.specializations


def test_a_search_makes_no_call_whose_way_is_not_known():
    compiled = tilewright.jit(rarely_logs, strict=True)
    for _ in range(3):
        compiled(np.array([1.0, 0.5, 3.0]), 2.0)
    LOG.clear()
    x = np.array([1.0, 5.0, 3.0])
    with pytest.raises(tilewright.TraceError, match="a way of an if that no call took before"):
        compiled.tune(x, 2.0, trials=2, budget=2)
    assert LOG == [] and x[0] == 1.0
    compiled.tune(np.array([1.0, 0.5, 3.0]), 2.0, trials=2, budget=2)
    assert LOG == []


def test_an_error_with_traced_values_has_no_text():
    def raises(x, limit):
        if limit > 3:
            raise ValueError("bad", x[1])
        return x * 2

    for compiled in (tilewright.jit(raises), tilewright.jit(raises, strict=True)):
        with pytest.raises(ValueError, match="bad") as caught:
            compiled(X, 5)
        assert caught.value.args == ("bad", X[1])


def eigenvalues_in_turn(matrices):
    real, sums = 0, []
    for k in range(len(matrices)):
        w, v = np.linalg.eig(matrices[k] * 2.0)
        real = real + np.abs(w).sum() + np.abs(v[0, 0])
        note(k)
    sums.append(real)
    return sums[0], w.dtype.kind


@pytest.mark.parametrize("order", ["rrr", "rrc", "crr", "ccc", "rnr"])
def test_what_data_decide_is_looked_at_in_each_call(order):
    """Eigenvalues are real or complex, or an error; what was noted before that is not noted again."""
    kinds = {"r": [[2.0, 1.0], [1.0, 3.0]], "c": [[0.0, 1.0], [-1.0, 0.0]], "n": [[np.nan, 1.0], [1.0, 2.0]]}
    compiled = tilewright.jit(eigenvalues_in_turn)
    steady = np.array([kinds["r"]] * 3)
    for x in (steady, steady, steady, np.array([kinds[one] for one in order]), steady):
        result, after, log = outcome(compiled, x)
        wanted, _, wanted_log = outcome(eigenvalues_in_turn, x)
        assert agree(result, wanted)
        assert log == wanted_log


def reformed(y, k):
    LOG.append(k)
    if k > 2:
        y[0] = 8.0
        y.dtype = np.int64
        y.shape = (2, 3)
    if k > 3:
        y.flags.writeable = False
    return float(y.sum())


def with_other_forms(x, k):
    y = x * 1.0
    total = reformed(y, k)
    return y + total, y


@pytest.mark.parametrize("ks", [(1, 1, 1, 3, 1, 4, 1, 3), (3, 3, 3, 1, 4, 4), (4, 4, 4, 1)])
def test_another_shape_dtype_or_flag_of_what_is_handed_over_is_seen(ks):
    compiled = tilewright.jit(with_other_forms)
    for k in ks:
        expected, mine = with_other_forms(X, k), X.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilewright.FallbackWarning)
            got = compiled(mine, k)
        assert repr(got) == repr(expected) and np.array_equal(mine, X)
        assert [one.flags.writeable for one in got] == [one.flags.writeable for one in expected]
    assert len(LOG) == 2 * len(ks)  # once a call


def test_statements_that_change_the_shape_of_an_array():
    def in_rows(x):
        y = x * 2
        z = y
        y.shape = (2, -1)
        return y, z + 1

    def of_the_caller(x):
        x.shape = (2, 3)
        return x + 1

    for function in (in_rows, of_the_caller):
        compiled = tilewright.jit(function)
        for _ in range(4):
            mine, theirs = X.copy(), X.copy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tilewright.FallbackWarning)
                assert repr(compiled(mine)) == repr(function(theirs))
            assert mine.shape == theirs.shape


# -- lists that are not always as long ---------------------------------------------------------------------------------


def places_above(x, level):
    LOG.append(level)
    return [k for k, value in enumerate(x) if value > level]


def places_of_several_levels(x, k):
    y = x * k
    found = {str(level): places_above(y, level) for level in (2.0, 5.0, 9.0)}
    return y.sum(), found["2.0"], found["9.0"]


def first_of_a_level_that_has_one(x, k):
    y = x * k
    for level in (9.0, 5.0, 2.0, -9.0):
        if places_above(y, level):
            return y + places_above(y, level)[0], level
    return y, 0.0


def how_many_of_levels(x, k):
    total = 0.0
    for level in (2.0, 3.0, 99.0):
        places = places_above(x * k, level)
        if places:
            total += len(places)
        elif level < 50:  # which no call comes to
            total += noted(x, level)[0].sum()
    return total


@pytest.mark.parametrize("function", [places_of_several_levels, first_of_a_level_that_has_one, how_many_of_levels])
def test_a_list_that_is_longer_in_one_call_is_pythons(function):
    compiled = tilewright.jit(function, strict=True)
    for k in (1.0,) * 10 + (2.0, 0.1, 1.0, -1.0, 3.0):
        result, _, log = outcome(compiled, X, k)
        wanted, _, wanted_log = outcome(function, X, k)
        assert agree(result, wanted)
        assert log == wanted_log
    assert compiled._specializations, "it is compiled"
    assert not compiled._refused


# -- many numbers ------------------------------------------------------------------------------------------------------


def weighted(x, weights, factor):
    LOG.append(len(weights))
    return sum(weights.values()) * x + weights["k3"] * factor, [
        value for value in weights.values() if type(value) is int
    ]


def of_many_numbers(x, weights, k):
    y, kept = weighted(x * 2, weights, k)
    return y * 2, kept


def test_a_call_takes_more_numbers_than_a_stage_has_operands():
    weights = {f"k{k}": k * 3 if k % 3 else k / 7 for k in range(100)} | {"t": True}
    compiled = tilewright.jit(of_many_numbers, strict=True)
    for k in range(4):
        weights["k4"] = k
        result, _, log = outcome(compiled, X, weights, 0.5 * k)
        wanted, _, wanted_log = outcome(of_many_numbers, X, weights, 0.5 * k)
        assert agree(result, wanted)
        assert log == wanted_log
    assert len(compiled._specializations) == 1
    assert "list([" in compiled.explain(source=False)


@tilewright.stage
def in_order(x):
    return np.array(sorted(x.tolist()))


class Ordered:
    def __init__(self, x):
        self.items = in_order(x)


class Noted:
    def __init__(self, x):
        note(x.sum())
        self.items = x


def made_of_what_is_not_looked_into(x):
    y = x + 1.0
    return Ordered(y).items * 2, Noted(y).items[0]


def test_what_watched_calls_do_not_show_is_pythons_with_the_statement_around():
    compiled = tilewright.jit(made_of_what_is_not_looked_into, strict=True)
    for k in range(12):
        (first, second), expected = compiled(X), made_of_what_is_not_looked_into(X)
        np.testing.assert_array_equal(first, expected[0])
        assert second == expected[1]
        assert len(LOG) == 2 * (k + 1)
    assert compiled.specializations


def of_one_list(x, y):
    LOG.append(1.0)
    return np.asarray(x) * (2 if x is y else 3)


def one_list_twice(x):
    return of_one_list(x, x) + 1


def one_list_by_name(x):
    return of_one_list(y=x, x=x).sum()


def one_list_inside(x):
    rows = [x, x]
    LOG.append(2.0)
    return of_one_list(*rows) + of_one_list(*inner_of(rows))


def inner_of(rows):
    LOG.append(3.0)
    return rows[0], rows[1]


@pytest.mark.parametrize("function", [one_list_twice, one_list_by_name, one_list_inside])
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_that_is_handed_twice_is_one(function, kind):
    for items in ([1, 2, 3], [0.5] * 300, [[1.0, 2.0], [3.0, 4.0]]):
        compiled = tilewright.jit(function)
        for _ in range(4):
            assert agree(compiled(kind(items)), function(kind(items)))


def of_one_array(a, b):
    LOG.append(1.0)
    return a * (2 if a is b else 3)


def handed_two(a, b):
    return of_one_array(a, b) + 1


def handed_two_in_a_dict(a, b):
    both = {"a": a, "b": b}
    LOG.append(2.0)
    return of_one_array(**both) + a


def read_by_a_statement(a, b):
    kinds = {"one": 0.0}
    kinds["two" if a is b else "one"] = sum(LOG) + 1.0
    return a * sum(kinds.values()) + len(kinds)


@pytest.mark.parametrize("function", [handed_two, handed_two_in_a_dict, read_by_a_statement])
@pytest.mark.parametrize("begins_with_one", [True, False])
def test_whether_two_arguments_are_one_array_is_seen_in_each_call(function, begins_with_one):
    compiled = tilewright.jit(function, strict=True)
    other = X.copy()
    for k in range(9):
        second = X if (k // 2 % 2 == 0) == begins_with_one else other
        LOG.clear()
        result, log = compiled(X, second), list(LOG)
        LOG.clear()
        assert agree(result, function(X, second))
        assert log == LOG
