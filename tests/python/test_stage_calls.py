"""Stages as the C face runs them: what Python is handed, what it may give and raise, the GIL, and whose memory it is."""

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright
from tilewright import _face
from tilewright._face import hold, joined

pytestmark = pytest.mark.compile

PLAN = """tilewright-plan 1
function f
arg x float64 1
result y float64 [x.0]
return y
version "only"
temp t float64 [x.0]
copy x to t
stage "mine($0)" (t, y)
end
"""
LARGE = 100_000  # such calls run without the GIL


def loaded(stage: Any, plan: str = PLAN) -> Callable[..., Any]:
    """As a module has it."""
    parameters = [("x", "positional_or_keyword", _face.MISSING)]
    stages = stage if isinstance(stage, dict) else {"mine($0)": stage}
    return _face.load(plan, {}, name="f", parameters=parameters, module_name="m", stages=stages)


class Dispatched(_face.Dispatcher):
    """As jit has it: NumPy is asked where a plan cannot compute with the data."""

    def __new__(cls, *_: Any) -> Any:
        return super().__new__(cls, "f", [("x", "positional_or_keyword", _face.MISSING)])

    def __init__(self, stage: Callable[..., Any]) -> None:
        super().__init__("f", [("x", "positional_or_keyword", _face.MISSING)])
        self.add(PLAN, {}, stages={"mine($0)": stage})

    def _check_failed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return "NumPy"


@pytest.mark.parametrize("size", [3, LARGE])
def test_a_stage_is_handed_arrays_and_gives_one(size: int) -> None:
    seen: list[Any] = []

    def mine(held: dict[str, Any], x: Any) -> Any:
        seen.append((dict(held), type(x), x.dtype, x.shape, x.flags.writeable, x.flags.owndata))
        return np.sort(x)

    x = np.arange(float(size))[::-1]
    function = loaded(mine)
    for _ in range(2):
        np.testing.assert_array_equal(function(x), np.sort(x))
    # The first time it is handed a copy: whether it keeps it is seen then.
    assert seen == [({}, np.ndarray, np.dtype("float64"), (size,), False, owns) for owns in (True, False)]


def test_numbers_and_lists_become_arrays() -> None:
    np.testing.assert_array_equal(loaded(lambda held, x: [1.0, 2.0])(np.ones(2)), [1.0, 2.0])
    plan = PLAN.replace("[x.0]\nreturn", "[]\nreturn")
    assert loaded(lambda held, x: 7.5, plan)(np.ones(2)) == 7.5
    assert loaded(lambda held, x: np.float64(7.5), plan)(np.ones(2)) == 7.5


@pytest.mark.parametrize(
    "given", [np.ones(3), np.ones((2, 1)), np.ones(2, np.float32), np.ones(2, np.int64), 1.0, None, "text", [1, 2]]
)
def test_another_kind_of_array_is_left_to_numpy(given: Any) -> None:
    with pytest.raises(_face.CheckError) as caught:
        loaded(lambda held, x: given)(np.ones(2))
    assert str(caught.value) == "f: mine($0) raised, or gave an array of another kind."
    assert Dispatched(lambda held, x: given)(np.ones(2)) == "NumPy"


class MyError(ValueError):
    def __init__(self, number: int, word: str) -> None:
        super().__init__(number, word)
        self.word = word


@pytest.mark.parametrize("size", [3, LARGE])
def test_what_a_stage_raises_is_its_own_error(size: int) -> None:
    error = MyError(3, "mine")

    def mine(held: dict[str, Any], x: Any) -> Any:
        raise error

    with pytest.raises(MyError) as caught:
        loaded(mine)(np.ones(size))
    assert caught.value is error
    assert [entry.name for entry in caught.traceback][-1] == "mine"
    assert Dispatched(mine)(np.ones(size)) == "NumPy"


def test_errors_that_c_raises_are_whole() -> None:
    with pytest.raises(ValueError, match=r"^invalid literal for int\(\) with base 10: 'x'$"):
        loaded(lambda held, x: int("x"))(np.ones(2))
    with pytest.raises(KeyError):
        loaded(lambda held, x: {}["nothing"])(np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="^Singular matrix$"):
        loaded(lambda held, x: np.linalg.solve(np.zeros((2, 2)), x))(np.ones(2))
    with pytest.raises(StopIteration):
        loaded(lambda held, x: next(iter([])))(np.ones(2))


@pytest.mark.parametrize("size", [3, LARGE])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_ends_the_call(kind: type[BaseException], size: int) -> None:
    def mine(held: dict[str, Any], x: Any) -> Any:
        raise kind("now")

    for function in (loaded(mine), Dispatched(mine)):
        with pytest.raises(kind, match="^now$"):
            function(np.ones(size))


def test_a_stage_without_a_function_is_named() -> None:
    for stages in (None, {}, {"another": np.sort}):
        with pytest.raises(_face.PlanError) as caught:
            loaded(stages or {"": np.sort})
        assert str(caught.value) == "plan of f: there is nothing that computes its stage mine($0)."


def test_other_threads_run_while_a_stage_waits() -> None:
    """And a stage has the GIL, however the kernels around it run."""
    entered, left = threading.Event(), threading.Event()

    def mine(held: dict[str, Any], x: Any) -> Any:
        entered.set()
        assert left.wait(60)
        return x + 1.0

    function, results = loaded(mine), []
    thread = threading.Thread(target=lambda: results.append(function(np.zeros(LARGE))))
    thread.start()
    assert entered.wait(60)
    left.set()
    thread.join(60)
    np.testing.assert_array_equal(results[0], np.ones(LARGE))


def test_calls_in_many_threads_hold_things_apart() -> None:
    def first(held: dict[str, Any], x: Any) -> Any:
        hold(held, "r1", x * 2.0)
        time.sleep(0.001)
        return 1

    plan = """tilewright-plan 1
function f
arg x float64 1
result y float64 [x.0]
return y
version "only"
temp r int64 []
stage "first($0) as r1" (x, r)
stage "r1" (r, y)
end
"""
    function = loaded({"first($0) as r1": first, "r1": lambda held, opened: held["r1"]}, plan)
    wrong: list[int] = []

    def work(number: int) -> None:
        x = np.full(LARGE, float(number))
        for _ in range(20):
            if not np.array_equal(function(x), x * 2.0):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_is_held_ends_with_the_call() -> None:
    class Thing:
        pass

    kept: list[Any] = []

    def mine(held: dict[str, Any], x: Any) -> Any:
        held["r1"] = thing = Thing()
        kept.append(weakref.ref(thing))
        return x

    loaded(mine)(np.ones(3))
    gc.collect()
    assert kept[0]() is None


def test_what_is_held_is_returned() -> None:
    plan = """tilewright-plan 1
function f
arg x float64 1
result r int64 []
result y float64 [x.0]
return (held r, y)
version "only"
stage "first($0) as r7" (x, r)
stage "mine($0)" (x, y)
end
"""
    thing = np.arange(5)

    def first(held: dict[str, Any], x: Any) -> Any:
        held["r7"] = thing
        return 7

    stages = {"first($0) as r7": first, "mine($0)": lambda held, x: x * 3.0}
    one, other = loaded(stages, plan)(np.ones(2))
    assert one is thing
    np.testing.assert_array_equal(other, [3.0, 3.0])
    with pytest.raises(_face.PlanError) as caught:
        loaded({**stages, "first($0) as r7": lambda held, x: 7}, plan)(np.ones(2))
    assert str(caught.value) == "no stage holds r7."


def test_a_stage_may_call_its_own_function() -> None:
    depth = 0

    def mine(held: dict[str, Any], x: Any) -> Any:
        nonlocal depth
        depth += 1
        return function(x + 1.0) if depth < 4 else x

    function = loaded(mine)
    np.testing.assert_array_equal(function(np.zeros(LARGE)), np.full(LARGE, 3.0))


def test_no_reference_is_lost_or_kept() -> None:
    def mine(held: dict[str, Any], x: Any) -> Any:
        return x

    function = loaded(mine)
    x = np.ones(3)
    function(x)
    before = sys.getrefcount(x), sys.getrefcount(mine)
    for _ in range(100):
        function(x)
    assert (sys.getrefcount(x), sys.getrefcount(mine)) == before
    gone = weakref.ref(mine)
    del mine, function
    gc.collect()
    assert gone() is None


def test_views_of_operands_are_copied_when_they_are_held() -> None:
    """The memory of a temporary is another one's before the call ends."""
    x = np.arange(6.0)
    held: dict[str, Any] = {}
    result = np.linalg.eigh(np.eye(2))
    assert hold(held, "r1", result) == result and type(held["r1"]) is type(result)
    parts = hold(held, "r2", np.split(x, 2))
    assert isinstance(parts, list) and all(part.flags.owndata for part in parts)
    assert hold(held, "r3", x) is x and hold(held, "r4", (x[1:], 3))[0].flags.owndata and held["r4"][1] == 3


def test_parts_are_right_whatever_runs_between() -> None:
    def parted(x):
        doubled = x * 2.0
        (a, b), _ = np.modf(doubled), 0
        c = np.cumsum(x * 3.0)
        d = np.sort(c * 0.5 - x)
        return a + 1.0, b + d, np.sort(d * 2.0)

    x = np.random.default_rng(1).normal(size=2000)
    for got, expected in zip(tilewright.jit(parted, strict=True)(x), parted(x), strict=True):
        np.testing.assert_allclose(got, expected)


class Pair(NamedTuple):
    values: Any
    count: int


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (5,), (3, 4), (2, 0)])
def test_parts_of_what_is_held_are_given_in_any_layout(dtype: Any, shape: tuple[int, ...]) -> None:
    @tilewright.stage
    def parts(z):
        turned = np.asfortranarray(np.conj(z))
        return {"pair": Pair(turned[::-1], z.size), "list": [turned.T.T, z.real.max(initial=-1.0)]}

    def compiled(z):
        given = parts(z * 2)
        pair, (turned, largest) = given["pair"], given["list"]
        return pair.values + 1, turned * 2, largest * 2, pair.count + 1

    z = (np.random.default_rng(2).normal(size=shape) - 1j * np.ones(shape)).astype(dtype)
    compiled(z)
    wanted = compiled(z)
    for got, one in zip(tilewright.jit(compiled, strict=True)(z), wanted, strict=True):
        assert type(got) is type(one)
        np.testing.assert_array_equal(got, one)


def test_what_is_held_goes_down_into_containers() -> None:
    x, held = np.arange(6.0), dict[str, Any]()
    given = (x, Pair(x[1:], 2), {"a": [x[:2], 3]}, "text")
    kept = hold(held, "r1", given)
    assert type(kept) is tuple and kept[0] is x and type(kept[1]) is Pair and kept[1].values.flags.owndata
    assert kept[2] is not given[2] and kept[2]["a"][0].flags.owndata and kept[3] == "text"
    same = (x, Pair(x, 1))
    assert hold(held, "r2", same) is same
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        hold(held, "r3", endless)
    for wrong in ((x,), (x, x[1:]), (x, x.astype(np.float32)), (x, "text")):
        with pytest.raises(TypeError):
            joined(*wrong)


def test_halves_of_complex_numbers_keep_their_bits() -> None:
    real, imag = np.array([0.0, -0.0, np.inf, 1.0]), np.array([-0.0, np.nan, -np.inf, 2.0])
    made = joined(real, imag)
    assert made.dtype == np.complex128
    for part, given in ((made.real, real), (made.imag, imag)):
        np.testing.assert_array_equal(part.view(np.uint64), given.view(np.uint64))
    for way in (slice(None, None, -1), slice(None, None, 2), slice(0, 1), slice(0, 0)):
        np.testing.assert_array_equal(joined(real[way], imag[way]), made[way])
    turned = np.arange(12.0).reshape(3, 4).T
    np.testing.assert_array_equal(joined(turned, -turned), turned - 1j * turned)
    assert joined(np.float32(1), np.float32(2)) == np.complex64(1 + 2j)
    assert joined(np.float32(1), np.float32(2)).dtype == np.complex64
