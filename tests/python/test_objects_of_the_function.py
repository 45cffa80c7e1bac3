"""What Python does around the numbers: objects that a function makes, with statements, errors that it catches, builders."""

from __future__ import annotations

import abc
import contextlib
import copy
import dataclasses
import inspect
import sys
import warnings

import numpy as np
import pytest
import tilewright
from numpy.lib.stride_tricks import as_strided
from strictly import agree, check
from tilewright.trace import trace

pytestmark = pytest.mark.compile

X, Y = np.arange(7.0), np.arange(12.0).reshape(3, 4)


class Grid:
    scale = 2.0

    def __init__(self, n, length):
        self.x = np.linspace(0, length, n)
        self.dx = self.x[1] - self.x[0]

    def area(self):
        return self.x.sum() * self.dx * self.scale

    @property
    def middle(self):
        return self.x[3]

    @staticmethod
    def one_more(a):
        return a + 1

    @classmethod
    def of_three(cls, n):
        return cls(n, 3.0)


class Rod:
    def __init__(self, u):
        self.u = u.copy()
        self.time = 0.0
        self.seen = []

    def step(self, by):
        self.u[1:-1] += by * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])

    def halve(self):
        self.u = self.u / 2
        self.time += 0.5


class Base:
    def __init__(self, a):
        self.a = a

    def given(self):
        return self.a * 2


class Derived(Base):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def given(self):
        return super().given() + self.b


class Scaled:
    factor = 2.0

    def __init__(self, a):
        self.a = a

    @classmethod
    def of(cls, x, k=1):
        return cls(x * cls.factor + k)


class ScaledMore(Scaled):
    @classmethod
    def of(cls, x):
        return super().of(x, 3)


class ScaledMost(ScaledMore):
    factor = 5.0

    def again(self, x):
        return super().of(x).a - self.a


class Root(abc.ABC):
    def __init__(self):
        super().__init__()
        self.k = 1.5

    @abc.abstractmethod
    def go(self, x): ...


class Leaf(Root):
    def go(self, x):
        return x * self.k


@dataclasses.dataclass
class Body:
    place: object
    mass: float = 2.0
    tags: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.weight = self.mass * 10

    def moment(self):
        return self.place * self.weight


@dataclasses.dataclass(frozen=True)
class Fixed:
    a: object


class Slots:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Doubled:
    def __init__(self):
        self._v = 0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, value):
        self._v = value * 2


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


class Between:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, value):
        return self.low <= value <= self.high


def of_a_grid(n):
    grid = Grid(n, 2.0)
    return grid.area() + grid.middle, grid.one_more(grid.x), Grid.of_three(n).area()


def written_in_a_loop(x, steps):
    rod = Rod(x)
    for _ in range(steps):
        rod.step(0.1)
    return rod.u


def written_behind_an_if(x):
    rod = Rod(x)
    if x.sum() > 3:
        rod.u[0] = 9
    return rod.u


def set_again(x):
    rod = Rod(x)
    rod.halve()
    rod.halve()
    rod.seen.append(rod.u.sum())
    return rod.u, rod.time, np.array(rod.seen)


def made_in_a_loop(x, n):
    sum_of = np.zeros_like(x)
    for i in range(n):
        sum_of += Rod(x * i).u
    return sum_of


def inherits(x):
    return Derived(x, 3.0).given() + Leaf().go(x)


def of_dataclasses(x):
    return Body(x).moment() + Body(x, mass=3.0).moment() + Fixed(x).a


def of_descriptors(x):
    slots, doubled = Slots(x), Doubled()
    slots.v = slots.v + 1
    doubled.v = x
    doubled.v += x
    return slots.v, doubled.v


def called_and_asked(x, k):
    return Scale(3)(x) * (2 if k in Between(0, 3) else 5), isinstance(Derived(x, 1), Base), hasattr(Base(x), "b")


def in_lists(x):
    scales = [Scale(2.0)]
    for by in range(3):
        scales.append(Scale(by))
    scales.insert(0, Scale(7))
    total = x * len(scales)
    for (k, scale), weight in zip(enumerate(scales), [1, 2, 3, 4, 5], strict=True):
        total = total + scale(x) * k * weight
    for scale in reversed(scales):
        scale.by = scale.by + 1
    return total * scales[0].by


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (in_lists, (X,)),
        (of_a_grid, (9,)),
        (written_in_a_loop, (X, 30)),
        (written_behind_an_if, (X,)),
        (set_again, (X,)),
        (made_in_a_loop, (X, 40)),
        (inherits, (X,)),
        (of_dataclasses, (X,)),
        (of_descriptors, (X,)),
        (called_and_asked, (X, 2)),
        (called_and_asked, (X, 7)),
    ],
)
def test_objects(function, args) -> None:
    check(function, *args, bits=False)


def test_attributes_of_the_class_are_read_at_each_call(monkeypatch) -> None:
    compiled = check(of_a_grid, 9, bits=False)
    monkeypatch.setattr(Grid, "scale", 5.0)
    check(compiled, 9, bits=False)
    monkeypatch.setattr(Grid, "area", lambda self: self.x.sum())
    check(compiled, 9, bits=False)


def counts(rod):
    rod.time += 1
    return True


def asked_first(x):
    rod = Rod(x)
    return (x * 2 if counts(rod) and x.sum() > 3 else x) * rod.time


class Tally:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def more(self):
        self.n += 1
        return True


def tallied(x):
    tally, total = Tally(), x * 1
    while tally.n < 3 and tally.more():
        total = total + x
    if tally.more() and x.sum() > 3:
        total = total * 2
    return total * tally.n


def counted(x, n):
    rod, total = Rod(x), x * 0
    while rod.time < n:
        counts(rod)
        total = total + x
    return total


def collected(x, n):
    rod = Rod(x)
    for i in range(n):
        rod.seen.append(x[i % 3])
    return np.array(rod.seen)


@pytest.mark.parametrize(
    ("function", "args"), [(asked_first, (X,)), (tallied, (X,)), (counted, (X, 10)), (collected, (X, 300))]
)
def test_changes_happen_once(function, args) -> None:
    check(function, *args)


class Keeps:
    def __init__(self, a):
        self.a = a

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


def assigned_behind_an_if(x):
    rod = Rod(x)
    if x.sum() > 3:
        rod.u = rod.u * 2
    return rod.u


def assigned_in_a_loop(x, n):
    rod = Rod(x)
    for i in range(n):
        rod.u = rod.u + x[i % 3]
    return rod.u


def with_operators(x):
    return Base(x) + 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: Keeps(x).a + 1, "making a Keeps object"),
        (with_operators, "with a Base object"),
    ],
)
def test_refused(function, words) -> None:
    with pytest.raises(tilewright.TraceError, match=words):
        if trace(function, (X,), {}).fallback_reason is not None:
            tilewright.jit(function, strict=True)(X)


def test_what_changes_an_object_in_a_loop_or_a_branch() -> None:
    def calls(x):
        return assigned_in_a_loop(x, int(x.sum())) * 2, assigned_behind_an_if(x)

    check(calls, X)


def test_errors_of_objects_are_pythons() -> None:
    with pytest.raises(TypeError, match="abstract"):
        tilewright.jit(lambda x: Root().go(x), strict=True)(X)


# -- with ------------------------------------------------------------------------------------------------------------

SETTINGS = {"doubles": False, "k": 2.0}


def set_all(**settings):
    for name, value in settings.items():
        SETTINGS[name] = value


@contextlib.contextmanager
def doubling(doubles):
    before = SETTINGS.copy()
    set_all(doubles=doubles)
    try:
        yield before
    finally:
        set_all(**before)


@contextlib.contextmanager
def left_so():
    SETTINGS["doubles"] = True
    yield


@contextlib.contextmanager
def without_some():
    before = SETTINGS.copy()
    for key in [key for key in SETTINGS if key.startswith("d")]:
        del SETTINGS[key]
    SETTINGS.update(k=5.0)
    try:
        yield SETTINGS.setdefault("more", 3.0)
    finally:
        SETTINGS.clear()
        SETTINGS.update(before)


@contextlib.contextmanager
def forgets_some():
    SETTINGS.pop("k")
    yield


@contextlib.contextmanager
def one_more(x):
    yield x + 1


def as_set(x):
    return x * (2 if SETTINGS["doubles"] else 1) * SETTINGS["k"]


def around(x):
    before = as_set(x)
    with doubling(True) as settings, one_more(x) as more:
        inside = as_set(more) * settings["k"]
    return before + 100 * inside + as_set(x)


def items_go_and_come(x):
    with without_some() as more:
        inside = x * SETTINGS["k"] * more + len(SETTINGS)
    return inside, as_set(x), list(SETTINGS)


def items_go(x):
    with forgets_some():
        return x * len(SETTINGS)


def returns_inside(x):
    with doubling(True):
        return as_set(x)


def breaks_inside(x):
    total = x * 0
    for i in range(3):
        with doubling(True):
            if i == 1:
                break
            total = total + as_set(x)
    return total + as_set(x)


def in_a_loop_of_the_run(x, n):
    total = x * 0
    for i in range(n):
        with doubling(True):
            total = total + as_set(x) * i
    return total


def ways_inside(x):
    with doubling(True):
        if x.sum() > 2:
            return as_set(x)
        return x * 1


def quiet(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 1 / x


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (around, (X,)),
        (items_go_and_come, (X,)),
        (returns_inside, (X,)),
        (breaks_inside, (X,)),
        (in_a_loop_of_the_run, (X, 300)),
        (ways_inside, (X,)),
        (quiet, (X,)),
    ],
)
def test_with(function, args) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(function, *args)
    assert SETTINGS == {"doubles": False, "k": 2.0}


def test_a_manager_that_takes_items_away() -> None:
    with pytest.raises(tilewright.TraceError, match="lives outside"):
        tilewright.jit(items_go, strict=True)(X)
    assert "k" in SETTINGS


def test_what_a_manager_sets_is_read_at_each_call(monkeypatch) -> None:
    compiled = check(around, X)
    monkeypatch.setitem(SETTINGS, "k", 7.0)
    check(compiled, X)
    monkeypatch.setitem(SETTINGS, "doubles", True)
    check(compiled, X)


def stays(x):
    with left_so():
        return as_set(x)


def warns(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return 1 / x


def warns_by_keyword(x):
    with warnings.catch_warnings():
        warnings.filterwarnings(action="error", category=RuntimeWarning)
        return 1 / x


def test_managers_that_leave_a_trace_are_refused() -> None:
    refused = ((warns, "simplefilter"), (warns_by_keyword, "filterwarnings"))
    for function, words in refused:
        with pytest.raises(tilewright.TraceError, match=words):
            tilewright.jit(function, strict=True)(X)


def test_a_manager_that_leaves_a_trace_is_pythons() -> None:
    compiled = tilewright.jit(stays, strict=True)
    before = dict(SETTINGS)
    for k in range(6):
        result, behind = compiled(X + k), dict(SETTINGS)
        SETTINGS.update(before)
        np.testing.assert_array_equal(result, stays(X + k))
        assert behind == SETTINGS
        SETTINGS.update(before)


# -- errors that are caught ----------------------------------------------------------------------------------------------


def no_key(x):
    try:
        k = SETTINGS["nothing"]
    except KeyError:
        k = 3.0
    return x * k


def axes_of(x, axis):
    try:
        axes = tuple(axis)
    except TypeError:
        axes = (axis,)
    return x.sum(axis=axes)


def no_module(x):
    try:
        import tilewright_has_no_such_module  # noqa: F401,PLC0415
    except ImportError:
        return x * 3
    return x * 4


def not_loaded(x):
    try:
        return x * len(sys.modules["tilewright_has_no_such_module"].__name__)
    except KeyError:
        return x * 2


def of_its_own(x):
    try:
        if x.ndim == 1:
            raise ValueError("one axis")
    except ValueError as error:
        return x * len(str(error))
    return x * 1


def again(x):
    try:
        try:
            SETTINGS["nothing"]
        except KeyError:
            raise
    except KeyError:
        return x + 1
    finally:
        x = x * 5


def no_attribute(x):
    try:
        k = x.columns
    except (KeyError, AttributeError):
        k = 5
    return x * k


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (no_key, (X,)), (axes_of, (Y, 0)), (axes_of, (Y, (0, 1))), (no_module, (X,)), (not_loaded, (X,)), (of_its_own, (X,)),
        (again, (X,)), (no_attribute, (X,)),
    ],
)  # fmt: skip
def test_caught(function, args) -> None:
    check(function, *args)


def test_what_was_missing_is_looked_for_at_each_call(monkeypatch) -> None:
    missing, loaded = check(no_key, X), check(not_loaded, X)
    monkeypatch.setitem(SETTINGS, "nothing", 11.0)
    check(missing, X)
    monkeypatch.setitem(sys.modules, "tilewright_has_no_such_module", np)
    check(loaded, X)


def of_sizes(x):
    try:
        return x.reshape(2, -1) * 1
    except ValueError:
        return x * 1


def test_errors_that_sizes_decide_are_not_caught() -> None:
    with pytest.raises(tilewright.TraceError, match="try/except as control flow"):
        tilewright.jit(of_sizes, strict=True)(X)


# -- identity, signatures, builders -----------------------------------------------------------------------------------------


def one_or_two(x, y):
    return x + y if x is y else x - y


def test_whether_arrays_are_one_is_decided_at_each_call() -> None:
    compiled = tilewright.jit(one_or_two, strict=True)
    for y in (X, X + 1, X, X.copy()):
        for _ in range(2):
            assert agree(compiled(X, y), one_or_two(X, y))


def bound(function):
    def wrapper(*args, **kwargs):
        given = inspect.signature(function).bind(*args, **kwargs)
        given.apply_defaults()
        return function(*given.args, **given.kwargs) * given.arguments["k"]

    return wrapper


@bound
def times(x, k=3):
    return x * k


def signatures(x):
    return times(x) + times(x, k=2)


def test_signatures() -> None:
    check(signatures, X)


def rows(x):
    return np.r_[x[2:0:-1], x, 0, x[-2]], np.r_[0 : len(x), 5], np.r_[x.astype("f4"), 1.5], np.r_[0:1:5j, x]


def columns(y):
    return np.c_[y, y[:, 0]], np.c_[y[0], y[1]], np.r_[y, y]


def grids(y):
    a, b = np.ogrid[: y.shape[0], 1 : y.shape[1] : 2]
    return a * b, np.mgrid[0 : y.shape[0], 0:2], np.ogrid[: len(y)], y[np.s_[1:, ::2]] * 1


def grids_of_floats(y):
    a, b = np.ogrid[0 : float(y.shape[0]), 0.1:1:0.1]
    c, d = np.mgrid[-0.1:0.7:7j, 1 : y.shape[1]]
    return a * b, c + d, np.mgrid[0.3:1.1:7j] + y[0, 0], np.mgrid[0:2, 0.1 : y[:, 0].size : 0.3], np.ogrid[0:1:1j, 0:2]


def fits(x):
    return np.polyfit(x, x**2 + 1, 2), np.polyfit(x, np.stack([x, x**2], 1), 1)


def broadcasts(x):
    return np.zeros(np.broadcast_shapes(x.shape, (5, 1))) + x, np.asarray_chkfinite(x) * 2


def windows(x, width):
    n = x.size - width + 1
    by_hand = as_strided(x, shape=(n, width), strides=(x.strides[0], x.strides[0]))
    return by_hand.mean(axis=1), as_strided(x, (3, 2), x.strides * 2) + 1


def strided(x):
    return (
        as_strided(x, (), ()) + 1,
        as_strided(x, (3,), (16,)) * 2,
        as_strided(x[2:], (2, 3), (-8, 16)) * 2,
        as_strided(x, (4, 3), (0, 8)) * 2,
        as_strided(x[1:], (1, 4), (8, 8)) * 2,
    )


def frames(x, n):
    overlapping = as_strided(x, (len(x) + 1 - n, n), x.strides * 2)
    return (np.moveaxis(overlapping, -1, 0)[:, ::8] ** 2).sum(axis=0)


def windows_returned(x, n):
    doubled = x * 2
    return (
        as_strided(x, (len(x) + 1 - n, n), x.strides * 2, writeable=False)[::2].T,
        as_strided(doubled, (len(x) + 1 - n, n), doubled.strides * 2),
        doubled,
    )


def bits(x):
    return (
        x.astype("f4").view("i4"),
        x.view(np.int64) >> 52,
        (x > 2).view(np.uint8) * 3,
        x.view() + 1,
        x[::2].view("u8") // 3,
    )


def test_strides() -> None:
    check(strided, X)
    # Of each eighth frame the elements are read where they are used: no other frame is made.
    assert "overlapping.compute_" not in check(frames, np.arange(9000.0), 512, bits=False).schedule
    compiled = check(windows, X, 3, bits=False)
    check(compiled, np.arange(40.0), 3, bits=False)
    compiled = tilewright.jit(windows_returned, strict=True)
    for n in (2, 3, 2):
        ours, theirs = compiled(X, n), windows_returned(X, n)
        for got, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(got, expected)
            assert (got.strides, got.flags.writeable) == (expected.strides, expected.flags.writeable)
        assert np.shares_memory(ours[0], X) and np.shares_memory(*ours[1:])
    compiled = check(windows, X, 3, bits=False)
    for x in (np.arange(40.0)[::2], np.arange(40.0)[::-1]):
        with pytest.raises(tilewright.TraceError, match="known only of C-contiguous"):
            compiled(x, 3)
    with pytest.raises(tilewright.TraceError, match="beyond the array"):
        tilewright.jit(lambda x: as_strided(x, (9, 9), x.strides * 2) + 1, strict=True)(X)


def of_flags(x):
    y = x * 2
    y.flags.writeable = True
    y += 1
    return y


def read_only(x):
    y = x * 2
    y.flags.writeable = False
    return y


def test_what_is_writeable_may_be_set_so() -> None:
    check(of_flags, X)
    with pytest.raises(tilewright.TraceError, match=r"setting array\.flags\.writeable to False"):
        tilewright.jit(read_only, strict=True)(X)


def write_through_bits(x):
    v = x.view(np.int64)
    x[0] = 5
    return v + 1


def write_into_windows(x):
    as_strided(x, (2, 3), (8, 8))[0] = 3
    return x


@pytest.mark.parametrize(
    ("function", "words"), [(write_through_bits, "reading .view"), (write_into_windows, "writing into .as_strided")]
)
def test_views_that_are_copies_here_are_not_written(function, words) -> None:
    compiled = tilewright.jit(function, strict=True)
    with pytest.raises(tilewright.TraceError, match=words):
        for _ in range(10):  # the first ones may be watched
            assert np.array_equal(compiled(X.copy()), function(X.copy()))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (bits, (X,)),
        (rows, (X,)),
        (columns, (Y,)),
        (grids, (Y,)),
        (grids_of_floats, (Y,)),
        (fits, (X,)),
        (broadcasts, (X,)),
    ],
)
def test_builders(function, args) -> None:
    check(function, *args, bits=False)


def of_classes(x):
    most = ScaledMost.of(x)
    return most.a, ScaledMore.of(x).a.sum(), most.again(x + 1)


def test_class_methods_are_followed_through_super(monkeypatch):
    compiled, x = tilewright.jit(of_classes, strict="kernels"), np.linspace(-2.0, 2.0, 7)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x)[0], of_classes(x)[0])
        np.testing.assert_array_equal(compiled(x)[2], of_classes(x)[2])
        assert compiled(x)[1] == of_classes(x)[1]
    monkeypatch.setattr(ScaledMost, "factor", 7.0)
    np.testing.assert_array_equal(compiled(x)[0], of_classes(x)[0])
    monkeypatch.setattr(Scaled, "of", classmethod(lambda cls, x, k=1: cls(x + k)))
    np.testing.assert_array_equal(compiled(x)[2], of_classes(x)[2])


class Optimizer:
    def __init__(self, rate):
        self.rate = rate
        self.m = None
        self.steps = 0

    def step(self, w, g):
        if self.m is None:
            self.m = np.zeros_like(w)
        self.m = 0.9 * self.m + g
        self.steps += 1
        return w - self.rate * self.m


class WithCopies:
    def __init__(self, w, optimizer):
        self.w = w
        self.one = copy.copy(optimizer)
        self.other = copy.deepcopy(optimizer)

    def update(self, g):
        self.w = self.one.step(self.w, g)
        self.w = self.other.step(self.w, g * 0.5)


class CopiesItself(Optimizer):
    def __copy__(self):
        return CopiesItself(self.rate * 2)


def layers_with_copies(w, n):
    optimizer = Optimizer(0.1)
    a, b = WithCopies(w, optimizer), WithCopies(w * 2, optimizer)
    for _ in range(n):
        a.update(w * 0.1)
        b.update(w[::-1])
    return a.w, b.w, a.one.m, a.one.steps, optimizer.steps, optimizer.m


def what_copies_share(w):
    one = Optimizer(0.1)
    one.m = w * 1
    one.log, one.itself = [one, w * 3, one.m], one
    p, q = copy.copy(one), copy.deepcopy(one)
    one.m[0], p.m[1], q.m[2] = 5, 6, 7
    shared = p.log is one.log, q.log is one.log, q.log[0] is q, q.itself is q, p.itself is one, q.log[2] is q.m
    return one.m, p.m, q.m, q.log[1], shared


def its_own_copy(w):
    return copy.copy(CopiesItself(1.5)).rate * w, w * 2


@pytest.mark.parametrize(
    ("function", "args"), [(layers_with_copies, (X, 5)), (what_copies_share, (X,)), (its_own_copy, (X,))]
)
def test_copies_of_objects_that_the_function_makes(function, args) -> None:
    compiled = tilewright.jit(function, strict=function is not its_own_copy)
    for _ in range(3):
        got, expected = compiled(*args), function(*args)
        assert agree(got, expected)
    if function is not its_own_copy:
        assert "between kernels" not in compiled.explain(source=False)
