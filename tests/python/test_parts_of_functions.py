"""Statements that cannot be followed: Python runs them between kernels, once, with what they need around them."""

from __future__ import annotations

import ast
import copy
import heapq
import importlib
import warnings
from collections import Counter, deque

import numpy as np
import pytest
import tilewright
from tilewright.interpret.outlined import outline_of, part_site
from tilewright.interpret.source import source_of
from tilewright.trials import Trial

pytestmark = pytest.mark.compile

LOG: list[float] = []


def counted_words(x):
    groups = {}
    for i in range(len(x)):
        groups.setdefault(int(x[i]) % 3, []).append(x[i])
    largest = max(len(group) for group in groups.values())
    return x * largest, groups


def sorted_by_heap(x):
    heap = []
    for i in range(len(x)):
        heapq.heappush(heap, (-x[i], i))
    order = []
    while heap:
        _, i = heapq.heappop(heap)
        order.append(i)
    y = x[np.array(order)]
    return y - y[0], order


def filled_from_a_queue(x):
    seen = np.zeros(len(x), dtype=bool)
    queue = deque([0])
    while queue:
        k = queue.popleft()
        if seen[k]:
            continue
        seen[k] = True
        x[k] += 1
        queue.extend(j for j in (2 * k + 1, 2 * k + 2) if j < len(x))
    return seen, x.sum()


def caught(x):
    best = None
    try:
        seen = {}
        for i in range(len(x)):
            if int(x[i]) in seen:
                raise KeyError(i)
            seen[int(x[i])] = i
        best = len(seen)
    except KeyError:
        best = -5
    return x * best


def left_by_a_return(x, factor):
    y = x * factor
    seen = set()
    for i in range(len(x)):
        k = int(x[i])
        if k in seen:
            return y + i, k
        seen.add(k)
    return y, -1


def none_before(x):
    y = np.cumsum(x)
    start = None
    found = []
    for i in range(len(y)):
        if start is None and y[i] > 2:
            start = y[i]
        elif start is not None and y[i] > start + 3:
            found.append(y[i] - start)
            start = None
    return y, np.array(found).sum() + len(found)


class Filter:
    def __init__(self, a):
        self.a = a
        self.state = {}  # its keys come in the loop

    def process(self, x):
        y = np.zeros_like(x)
        for i in range(len(x)):
            self.state["z"] = self.a * self.state.get("z", 0.0) + x[i]
            y[i] = self.state["z"]
        return y


def filtered(x):
    y = x - x[3]
    for a in (0.5, 0.25):
        y = Filter(a).process(y)
    return np.abs(y).max(), y


def most_common(x, n):
    labels = np.floor(x / n)
    counts = Counter()
    for label in labels:
        counts[int(label)] += 1
    best = counts.most_common(1)[0][0]
    return labels == best, best


def in_iterations(x, m):
    total = 0.0
    for r in range(m):
        found = {}
        for i in range(len(x)):
            found[int(x[i]) + r] = i
        total += len(found)
        x = np.sqrt(x + total)
    return x, total


# More than are unrolled.
def words_of(texts, x):
    found = {}
    for k, text in enumerate(texts):
        for word in text.split():
            found.setdefault(word, []).append(x[k] * len(word))
    y = np.sqrt(x)
    return y, {word: len(counts) for word, counts in found.items()}


def around(k, n):
    yield k
    if k + 1 < n:
        yield k + 1


def through_a_generator(x):
    y = x * 2
    total = 0.0
    for i in range(len(x)):
        for j in around(i, len(x)):
            total += y[j]
    return y, total


def makes_many(x):
    found = {}
    for i in range(len(x)):
        found[int(x[i])] = np.full(2, x[i])
    return np.array(list(found.values())), found


def inside_of_a_helper(x):
    rows, found = makes_many(x)
    return rows * 2, len(rows)


X, Y = np.arange(80.0), np.random.default_rng(0).integers(0, 40, 80) * 1.0
CALLS = [
    (counted_words, [(X,), (Y,), (X[::-1],)]),
    (sorted_by_heap, [(X,), (Y,), (Y[:70],)]),
    (filled_from_a_queue, [(X,), (Y,), (X[::2],)]),
    (caught, [(X,), (Y,)]),
    (left_by_a_return, [(X, 2.0), (Y, 2.0), (X + 1, 3.0)]),
    (none_before, [(X,), (Y,), (-X,)]),
    (filtered, [(X,), (Y,)]),
    (most_common, [(X, 2), (Y, 2), (Y, 3)]),
    (words_of, [(["a bc", "bc d e"] * 40, X), (["q", "r r"] * 40, Y)]),
    (through_a_generator, [(X,), (Y,)]),
    (inside_of_a_helper, [(X,), (Y,), (X[:70],)]),
    (in_iterations, [(X, 3), (Y, 4), (X, 0)]),
]


def of_components(table):
    table = table * 1.0
    x, y, first, second = table[0], table[1], table[2, ::2], table[2, 1::2]
    seen = {}
    for i in range(len(second)):
        seen[int(x[i])] = first[i]
        y[i] = -x[i]
        second[i] += y[i]
    return table + y, seen


def of_overlapping_parts(x):
    x = x * 1.0
    seen = {}
    first, second = x[:-1], x[1:]
    for i in range(len(first)):
        seen[int(first[i])] = i
        second[i] = -first[i]
    return x, seen


def test_parts_of_an_array_that_have_no_element_in_common_are_handed_apart():
    compiled = tilewright.jit(of_components, strict=True)
    tables = [np.arange(3.0 * n).reshape(3, n) % 7 for n in (12, 5, 2, 1)]
    for table in [table for table in tables for _ in range(6)]:
        assert repr(compiled(table)) == repr(of_components(table))
    assert any("lines_" in one.explain(source=False) for one in compiled.specializations)
    compiled = tilewright.jit(of_overlapping_parts)
    for x in [np.arange(n) % 5 for n in (9, 2, 9) for _ in range(6)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilewright.FallbackWarning)
            assert repr(compiled(x)) == repr(of_overlapping_parts(x))


@pytest.mark.parametrize(("function", "calls"), CALLS, ids=lambda one: getattr(one, "__name__", ""))
def test_they_are_run_by_python(function, calls):
    compiled = tilewright.jit(function, strict=True)
    for _ in range(8):
        for args in calls:
            mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
            assert repr(compiled(*mine)) == repr(function(*theirs))
            assert repr(mine) == repr(theirs)
    is_whole = function is words_of  # the texts say how often its loops run
    assert is_whole != any("lines_" in one.explain(source=False) for one in compiled.specializations)


def noted(x):
    y = x * 2
    names = {}
    for i in range(len(y)):
        print(int(y[i]))
        names[int(y[i])] = i
    if y[0] > 0:
        raise ValueError("first")
    return y + len(names)


def takes_from(items, x):
    taken = {}
    while items:
        taken[len(items)] = items.pop()
    return x * 2, taken


def test_a_list_of_the_callers_that_they_change_is_changed():
    compiled = tilewright.jit(takes_from)
    for n in (3, 4, 3, 3, 5, 3, 3, 3, 3, 3):
        mine, theirs = [float(k) for k in range(n)], [float(k) for k in range(n)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert repr(compiled(mine, X)) == repr(takes_from(theirs, X))
        assert mine == theirs == []


def test_what_they_do_happens_once_a_call(capsys):
    compiled = tilewright.jit(noted, strict=True)
    for x in (X, X, X, X, X + 1, X):
        try:
            expected = repr(noted(x))
        except ValueError as error:
            expected = repr(error)
        printed = capsys.readouterr().out
        try:
            got = repr(compiled(x))
        except ValueError as error:
            got = repr(error)
        assert got == expected and capsys.readouterr().out == printed
    assert compiled.specializations


def one_object(x):
    first = {}
    for i in range(len(x)):
        first[int(x[i])] = i
    second = first
    second[-1] = 5
    return x + 1, first, second


def memory_of_an_argument(x):
    rows = []
    for i in range(len(x)):
        if {int(x[i])} != {3}:
            rows.append(x[i : i + 2])
    return x + 1.0, rows


@pytest.mark.parametrize("function", [one_object, memory_of_an_argument])
def test_objects_that_are_shared_are_numpys(function):
    compiled = tilewright.jit(function, strict=True)
    with pytest.raises(tilewright.TraceError):
        for _ in range(10):
            assert repr(compiled(X)) == repr(function(X))


def all_of_it(x):
    words = []
    for i in range(len(x)):
        words.append(chr(97 + int(x[i])))
    return "".join(words)


def test_a_function_of_nothing_else_is_pythons_and_says_so():
    """What it calls may be compiled by itself (test_inner_calls.py)."""
    compiled = tilewright.jit(all_of_it, strict=True)
    for _ in range(10):
        assert compiled(X) == all_of_it(X)
    assert "all_of_it.lines_" in compiled.explain(source=False)
    with pytest.raises(tilewright.TraceError):
        tilewright.jit(all_of_it, strict="kernels")(X)


def reads_and_gives(a, b):
    for k in range(3):
        c = a + k
        if c > 2:
            d = b
        a += 1
    e = [k for k in (c, a)]
    return e, d


def test_what_goes_in_and_comes_out():
    node = source_of(reads_and_gives)
    assert isinstance(node, ast.FunctionDef)
    loop = outline_of(reads_and_gives, part_site(node.body[0], node.body[0]))
    assert loop is not None and loop.reads == ("a", "b") and loop.gives == ("a", "c", "d")
    assert loop.call(a=1, b=9) == {"a": 4, "c": 5, "d": 9}
    assert loop.call(a=-9, b=9) == {"a": -6, "c": -5}
    rest = outline_of(reads_and_gives, part_site(node.body[1], node.body[2]))
    assert rest is not None and rest.gives == ()
    assert rest.call(a=1, c=2, d=3) == {"return": ([2, 1], 3)}
    with pytest.raises(UnboundLocalError):
        rest.call(a=1, c=2)


def grown(x, limit):
    values = [float(x[0])]
    while values[-1] < limit:
        values = sorted(values)[-3:] + [values[-1] + abs(float(x[len(values) % 3])) + 0.1]
    return {"end": values[-1], "count": len(values)}


def of_each_limit(x, limits):
    return {float(limit): grown(x * 2, limit) for limit in limits}


def test_a_function_of_one_statement_is_a_part_where_its_call_was_not_enough():
    compiled = tilewright.jit(of_each_limit, strict=True)
    x = np.array([0.5, 0.25, 1.5, 2.0])
    for limits in (np.array([2.0, 5.0]), np.array([3.0, 1.0]), np.array([2.0]), np.array([4.0, 9.0])):
        assert repr(compiled(x, limits)) == repr(of_each_limit(x, limits))
    assert "lines_" in compiled.explain(source=False)


def test_statements_that_do_not_stand_alone():
    def breaks(x):
        for k in range(3):
            if x > k:
                break
            x = locals()["x"]
        return x

    node = source_of(breaks)
    assert isinstance(node, ast.FunctionDef) and isinstance(node.body[0], ast.For)
    inner = node.body[0].body
    assert outline_of(breaks, part_site(inner[0], inner[0])) is None
    assert outline_of(breaks, part_site(inner[1], inner[1])) is None


def slow_between(x):
    y = np.sqrt(x) + 1
    found = {}
    for i in range(len(y)):
        found[float(y[i])] = i
    return y, found


@pytest.mark.numpy_may_win
def test_calls_that_cannot_be_repeated_are_made_by_either_until_one_is_faster():
    compiled = tilewright.jit(slow_between, strict=True)
    for _ in range(60):
        assert repr(compiled(Y)) == repr(slow_between(Y))
    (specialization,) = compiled.specializations
    assert specialization.trial is None


def trial_of(plan_ms, numpy_ms):
    return Trial(plan_ns=[int(one * 1e6) for one in plan_ms], numpy_ns=[int(one * 1e6) for one in numpy_ms])


def test_a_trial_is_over_once_one_side_is_faster():
    times = trial_of([900, 50], [200])
    assert times.is_over and times.why_numpy == ""
    assert not trial_of([900, 100], [200]).is_over  # NumPy's is a cold one
    assert trial_of([900, 100], [500, 200]).is_over
    times = trial_of([900, 100], [200])
    times.was_watched = True
    assert times.is_over and times.why_numpy == ""
    assert not trial_of([900, 190], [200]).is_over
    times = trial_of([900, 250, 230, 260], [200, 210, 205])
    assert times.is_over and times.why_numpy == "NumPy takes 200 ms, compiled code 230 ms"
    times = trial_of([900, 199], [200, 201])
    assert not times.why_numpy
    times.is_all_stages = True  # nothing is won
    assert times.why_numpy == "NumPy takes 200 ms, compiled code 199 ms"


def test_a_trial_is_over_where_looking_takes_longer_than_numpy():
    times = trial_of([], [])
    times.looking_ns = 3_000_000
    assert times.is_numpys_turn and not times.is_over
    times.numpy_ns.append(4_000_000)  # a cold one
    assert times.is_numpys_turn and not times.is_over
    times.numpy_ns.append(2_000_000)
    assert not times.is_numpys_turn and times.is_over
    assert times.why_numpy == "NumPy takes 2 ms, looking at what its calls change 3 ms"
    times = trial_of([], [0.01])
    times.looking_ns = 50_000  # calls tell
    assert not times.is_over and not trial_of([], []).is_numpys_turn


def test_a_trial_is_of_calls_of_one_size():
    of_numpy = trial_of([], [0.4])
    of_numpy.alike = "small"
    assert of_numpy.is_of_others("large") and not of_numpy.is_of_others("small")
    assert not trial_of([], []).is_of_others("large")


def test_a_trial_of_short_calls_does_not_hang_on_one_of_them():
    assert not trial_of([9, 0.1], [1]).is_over
    assert not trial_of([9, 12], [1, 1.1]).is_over  # another process had the core
    assert trial_of([9, 3, 4], [1, 1.1]).is_over
    times = trial_of([9, 1, 12, 1, 1, 1, 1], [2, 14, 2, 2, 2, 2])
    assert times.is_over and times.why_numpy == ""
    assert trial_of([9, 1, 12], [2, 14]).is_over and not trial_of([9, 1.6, 12], [2, 14]).is_over
    assert trial_of([9, 1.3, 12, 1.3], [2, 14, 2]).is_over
    assert not trial_of([9, 1, 12, 1, 1, 1], [1.1, 14, 1.1, 1.1, 1.1, 1.1]).is_over


def test_compiled_code_of_very_short_calls_has_time_to_get_warm():
    assert not trial_of([9, *[0.2] * 15], [0.1] * 16).is_over
    times = trial_of([9, *[0.2] * 16], [0.1] * 16)
    assert times.is_over and times.why_numpy == "NumPy takes 100 us, compiled code 200 us"
    assert trial_of([9, 0.2, 0.04], [0.1] * 3).is_over  # and wins as soon as it does


class Counting:
    def __init__(self):
        self.count = 0

    def roots(self, x):
        y = np.sqrt(x) + self.count
        self.count += 1
        return y


@pytest.mark.numpy_may_win
def test_a_trial_ends_where_the_calls_of_its_program_do_not_come_again(monkeypatch):
    monkeypatch.setattr(Trial, "is_over", False)
    compiled = tilewright.jit(Counting.roots)
    held = Counting()
    compiled(held, Y)
    (first,) = compiled.specializations
    _, bound = compiled.specialize((held, Y), {})
    held.count = 0.5  # another program's from here on
    for _ in range(3):
        compiled(held, Y)
    assert len(compiled.specializations) == 2 and first.trial is not None
    calls = []
    for _ in range(40):
        compiled._in_turn(first, bound, lambda *given: calls.append(given), (held, Y), {})
    assert len(calls) == 40 and first.trial is None and first.versions


@pytest.mark.numpy_may_win
def test_a_trial_begins_anew_where_calls_are_made_with_other_shapes(monkeypatch):
    monkeypatch.setattr(Trial, "is_over", False)
    compiled = tilewright.jit(slow_between, strict=True)

    def call(x):
        assert repr(compiled(x)) == repr(slow_between(x))
        return next((one.trial for one in compiled.specializations if one.trial is not None), None)

    trials = [call(Y) for _ in range(16)] + [call(np.arange(1.0, 31.0)) for _ in range(20)]
    assert [trials[15].begun_anew, trials[-1].begun_anew] == [0, 1]
    assert trials[-1].plan_ns and trials[-1].numpy_ns and not trials[-1].others
    for k in range(60):  # shapes that do not come again
        last = call(np.arange(1.0, 32.0 + k))
    assert last is None and all(one.versions for one in compiled.specializations)


def silenced(x):
    y = x * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=RuntimeWarning)
        middle = np.nanmedian(y)
    return y - middle


def silenced_where_it_is_called(x):
    rows = [1.0]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", message="All-NaN")
        for k in range(2):
            rows.append(middle_of(x * k))
    return np.array(rows)


def middle_of(x):
    return np.nanmedian(x / x[0])


def of_no_filter(x):
    y = x + 1
    with warnings.catch_warnings():
        return y - np.nanmedian(y)


@pytest.mark.parametrize("function", [silenced, silenced_where_it_is_called, of_no_filter])
def test_blocks_that_ignore_warnings(function):
    compiled = tilewright.jit(function, strict=True)
    numbers, nothing = np.arange(1.0, 6.0), np.full(5, np.nan)
    for x in (numbers, numbers, numbers, nothing, numbers, nothing):
        with warnings.catch_warnings(record=True) as expected_warnings:
            warnings.simplefilter("always")
            expected = function(x)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            got = compiled(x)
        assert repr(got) == repr(expected)
        assert [str(one.message) for one in given] == [str(one.message) for one in expected_warnings]
    assert compiled.specializations


def test_blocks_that_make_errors_of_warnings_are_numpys():
    def or_else(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return x - np.nanmedian(x)
            except RuntimeWarning:
                return x

    def counted(x):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            middle = np.nanmedian(x)
        return x - middle, len(given)

    for function in (or_else, counted):
        compiled = tilewright.jit(function)
        for x in (np.arange(5.0), np.full(5, np.nan), np.arange(5.0), np.full(5, np.nan)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert repr(compiled(x)) == repr(function(x))


def module_of_text(folder, monkeypatch, name, text):
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module(name)


def test_more_refused_statements_than_are_tried_one_by_one(tmp_path, monkeypatch):
    """Then whole statements of the outermost function are Python's."""
    inner = "".join(
        f"def h{k}(x):\n    y = x + {k}\n    c = hash(y.tobytes()) % 7 + {k}\n    return y * c / (c + 1.0)\n\n\n"
        for k in range(15)
    )
    calls = "".join(f"    x = h{k}(x)\n" for k in range(15))
    many = module_of_text(tmp_path, monkeypatch, "many_refused", f"{inner}def many(x):\n{calls}    return x\n").many
    compiled = tilewright.jit(many, strict=True)
    for _ in range(3):
        assert np.array_equal(compiled(X), many(X))
    assert compiled.specializations


class Scale:
    by = 2.0


def test_what_modules_have_is_found_by_its_name_there(tmp_path, monkeypatch):
    text = """
class Table:
    def __init__(self, scale):
        self.scale = scale
        self.found = {}

    def look(self, x):
        key = (x * self.scale.by).tobytes()
        self.found[key] = self.found.get(key, 0) + 1 if key in self.found else 1
        return self.found[key]
"""
    tables = module_of_text(tmp_path, monkeypatch, "tables_of_bytes", text)

    def looks(scale, x):
        table = tables.Table(scale)
        return table.look(x), table.look(x + 1), table.look(x)

    compiled = tilewright.jit(looks, strict=True)
    for _ in range(4):
        assert compiled(Scale(), X) == looks(Scale(), X) == (1, 1, 2)


def whole_parts(x, y):
    a, b = int(x[0]), int(y[0])  # of complex numbers
    return a - b, a - b > 0, a + b > 0, -b > 0, abs(b) > 0, x * 2


def in_steps(x, y):
    a, b = int(x[0]), int(y[0])
    found = 0
    for _ in range(3):
        found += a - b
    if found > 0:
        return x + 1
    return x * 2


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [whole_parts, in_steps])
@pytest.mark.filterwarnings("ignore")
def test_ints_that_python_gives_have_no_limit(function, strict):
    compiled = tilewright.jit(function, strict=strict)
    large = 2.0**63 - 1024
    for x, y in [(1, 2), (2, 1), (1, 2), (0, -(2.0**63)), (0, -(2.0**63)), (large, large), (-large, large), (3, 2)] * 2:
        args = np.array([x, 5], complex), np.array([y, 5], complex)
        assert repr(compiled(*args)) == repr(function(*args))
    assert compiled.specializations


def test_compiled_code_that_won_elsewhere_is_timed_before_numpy_has_a_turn():
    times = trial_of([900, 40], [])
    times.expected_ns = 100e6
    assert times.is_over and times.why_numpy == ""
    times = trial_of([900, 90], [])  # the search had other arrays, or nothing beside it
    times.expected_ns = 100e6
    assert not times.is_over and not times.is_numpys_turn
    times.plan_ns.append(95_000_000)
    assert not times.is_over and times.is_numpys_turn
    times.numpy_ns.append(40_000_000)
    times.was_watched = True
    assert times.is_over and times.why_numpy == "NumPy takes 40 ms, compiled code 90 ms"
