"""Calls that Python makes while it is not known who serves a function best: counted and timed in C."""

from __future__ import annotations

import threading
import time

import pytest
from tilewright._face import Dispatcher

pytestmark = pytest.mark.fast


class Measured(Dispatcher):
    """With what its looks and misses were given."""

    def __init__(self, run, every=1000):
        super().__init__("f", [])
        self.looks, self.missed = [], []
        self.next_look_ns = 10**12
        self.measure(run, every)

    def _look(self, args, kwargs):
        self.looks.append((args, kwargs))

    def _raised(self, error):
        self.errors = [*getattr(self, "errors", []), error]

    def _miss(self, args, kwargs):
        self.missed.append((args, kwargs))
        return "missed"


def test_calls_are_counted_with_their_time_and_what_they_give():
    f = Measured(lambda a, b=2, *, c=3: (a, b, c, time.sleep(0.002)))
    assert f(1, c=5)[:3] == (1, 2, 5) and f(*[4, 6])[:3] == (4, 6, 3)
    assert f.python_calls == 2 and 4_000_000 <= f.python_ns < 10**9
    assert not f.looks and not f.missed


def test_a_look_comes_after_so_many_calls_and_after_so_long():
    f = Measured(lambda *args, **kwargs: None, every=3)
    for k in range(7):
        f(k, key=k)
    assert f.looks == [((2,), {"key": 2}), ((5,), {"key": 5})]
    f.next_look_ns = 0
    f(9)
    assert f.looks[2:] == [((9,), {})]


def test_what_a_call_raises_is_raised_and_the_look_is_told():
    f = Measured(lambda x: 1 / x, every=1)
    with pytest.raises(ZeroDivisionError) as error:
        f(0)
    assert f.looks == [(None, {})] and f.python_calls == 1
    assert [one.name for one in error.traceback] == [
        "test_what_a_call_raises_is_raised_and_the_look_is_told",
        "<lambda>",
    ]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f()
    assert f.python_calls == 2
    assert [type(one) for one in f.errors] == [ZeroDivisionError, TypeError] and f.errors[0].__traceback__ is not None


def test_what_is_told_of_an_error_may_change_its_traceback():
    class Cuts(Measured):
        def _raised(self, error):
            error.__traceback__ = error.__traceback__.tb_next

    f = Cuts(lambda items: items[0])
    with pytest.raises(IndexError) as error:
        f([])
    assert [one.name for one in error.traceback] == ["test_what_is_told_of_an_error_may_change_its_traceback"]


def test_a_begin_comes_before_the_first_call():
    class Begins(Measured):
        def _begin(self):
            self.begun = [*getattr(self, "begun", []), self.python_calls]

    f = Begins(lambda x: x)
    f.is_new = True
    assert (f(1), f(2), f.begun, f.is_new) == (1, 2, [0], False)


def test_ctrl_c_in_a_look_is_raised_whatever_the_call_has_raised():
    class Interrupted(Measured):
        def _look(self, args, kwargs):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted(lambda x: 1 / x, every=1)(0)


def test_what_a_look_raises_is_raised_unless_the_call_has():
    class Fails(Measured):
        def _look(self, args, kwargs):
            raise RuntimeError("of the look")

    f = Fails(lambda x: 1 / x, every=1)
    with pytest.raises(RuntimeError, match="of the look"):
        f(1)
    with pytest.raises(ZeroDivisionError):
        f(0)


@pytest.mark.parametrize("state", ["is_hot", "is_given_up", "_stays_here"])
def test_in_other_states_nothing_is_measured(state):
    f = Measured(lambda x: x)
    setattr(f, state, True)
    assert f(1) == "missed" and f.missed == [((1,), {})]
    setattr(f, state, False)
    assert f(1) == 1 and f.python_calls == 1
    f.measure(None, 1)
    assert f(1) == "missed" and f.python_calls == 1


def test_a_call_inside_of_itself_is_a_miss_and_those_around_are_known():
    seen = []

    def outer(n):
        seen.append([one for one, _ in Dispatcher.calls_here()])
        return inner(n)

    def of_itself(n):
        seen.append([one for one, _ in Dispatcher.calls_here()])
        return f(n)

    f, inner = Measured(outer), Measured(of_itself)
    assert f(1) == "missed" and f.missed == [((1,), {})]
    assert seen == [[f], [f, inner]]
    assert f.is_in_call() is False and Dispatcher.calls_here() == []
    assert f.python_calls == 1 and inner.python_calls == 1 and f.python_ns >= inner.python_ns


def test_when_a_call_began_is_by_pythons_clock():
    before = time.perf_counter_ns()
    f = Measured(lambda: Dispatcher.calls_here()[0][1])
    assert before <= f() <= time.perf_counter_ns()


def test_what_is_missed_inside_is_no_time_of_the_caller():
    def run():
        time.sleep(0.02)
        Dispatcher.missed_here(Dispatcher.missed_here() + 19_000_000)

    f = Measured(run)
    f()
    assert 0 < f.python_ns < 15_000_000


def test_each_thread_has_calls_of_its_own():
    inside, go_on = threading.Event(), threading.Event()
    f = Measured(lambda x: (inside.set(), go_on.wait(10)) if x else x)
    thread = threading.Thread(target=f, args=(1,))
    thread.start()
    inside.wait(10)
    assert not f.is_in_call() and f(0) == 0  # no call inside of itself
    go_on.set()
    thread.join()
    assert f.python_calls == 2


def test_a_function_that_is_replaced_by_its_own_call_ends_it():
    functions = {}

    def run():
        functions.clear()
        return 7

    functions["f"] = Measured(run)
    assert functions["f"]() == 7


def test_measured_call_takes_a_tuple_and_a_dict():
    f = Measured(lambda a, b: (a, b))
    assert f.measured_call((1,), {"b": 2}) == (1, 2) and f.python_calls == 1
    with pytest.raises(TypeError):
        f.measured_call([1], {})
    f.measure(None, 1)
    with pytest.raises(RuntimeError):
        f.measured_call((1,), {})
