"""Methods and functions that change objects of the caller: attributes that are set, arrays of theirs that are written."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import pytest
import tilewright
from attack_containers import attack
from attack_objects import compared
from examples import examples
from objects_seen import seen
from tilewright.errors import TraceError

pytestmark = pytest.mark.compile


class Field:
    count = 0  # of the class, until an object sets its own

    def __init__(self, n: int = 40) -> None:
        self.u, self.v = np.arange(float(n)) % 7, np.ones(n)
        self.t, self.k, self.on = 0.0, 0, False
        self.name = "field"
        self.last = None

    def diffuse(self):
        self.u[1:-1] += 0.1 * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])

    def add(self):
        self.u += self.v

    def count_up(self):
        self.k += 1
        self.count += 2
        return self.u.sum()

    def set_anew(self):
        self.u = self.u * 0.5 + self.v

    def swap(self):
        self.u[0] += 1
        self.u, self.v = self.v, self.u

    def swap_only(self):
        self.u, self.v = self.v, self.u

    def leapfrog(self, dt):
        self.v -= dt * np.sin(self.u)
        self.u = self.u + dt * self.v
        self.t += dt
        self.k += 1
        return self.t

    def many(self, n):
        for _ in range(n):
            self.leapfrog(0.1)
            self.diffuse()

    def until(self, limit):
        while self.u.max() < limit:
            self.u = self.u * 1.5 + 0.01
            self.k += 1
        return self.k

    def branch(self, x):
        if x.sum() > 0:
            self.u = x * 2
            self.on = True
        else:
            self.t -= 1.0
        return self.u[0]

    def fluent(self, x):
        self.v = self.v + x
        return self

    def pair(self, x):
        self.last = self.u
        self.u = x + self.u
        return self.u, self.last

    def alias(self):
        self.v = self.u
        self.u[1] = 9
        return self.v[1]

    def view(self):
        self.last = self.u[2:6]
        self.u[3] = -1
        self.k = 5

    def new_names(self, x):
        if not hasattr(self, "velocity"):
            self.velocity = np.zeros_like(x)
        self.velocity = 0.9 * self.velocity + x
        self.u = self.u - 0.1 * self.velocity

    def as_property(self, x):
        self.energy = x
        return self.energy

    @property
    def energy(self):
        return (self.u**2).sum() + self.t

    @energy.setter
    def energy(self, value):
        self.u = self.u * value
        self.t = value

    def numpy_number(self):
        self.t = self.u.max()
        return self.t

    def nothing(self):
        self.u = self.u
        return self.u.sum()

    def constant(self):
        self.name, self.on, self.last = "other", True, None
        return self.u * 2

    def helper(self, x):
        return _move(self, x)

    def early(self, x):
        self.k += 1
        if x > 2:
            return self.u.sum()
        self.t += x
        return self.t

    def get(self, name):
        return getattr(self, name, None)

    def through(self, x):
        held = self.get("u")
        held[:3] += x
        self.k = self.k + len(held)


def _move(one, x):
    one.u = one.u + x
    one.v *= 2
    return one.v.sum()


x3 = np.arange(40.0) / 7


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("diffuse", ()), ("add", ()), ("count_up", ()), ("set_anew", ()), ("swap", ()), ("swap_only", ()), ("leapfrog", (0.1,)),
        ("many", (3,)), ("until", (500.0,)), ("branch", (x3,)), ("branch", (-x3,)), ("fluent", (x3,)), ("pair", (x3,)),
        ("alias", ()), ("view", ()), ("new_names", (x3,)), ("as_property", (1.5,)), ("numpy_number", ()), ("nothing", ()),
        ("constant", ()), ("helper", (x3,)), ("early", (1.0,)), ("early", (3.0,)), ("through", (2.0,)),
    ],
)  # fmt: skip
def test_they_are_what_python_leaves(name, args) -> None:
    assert_alike(getattr(Field, name), lambda: (Field(), *args))


def assert_alike(function, make, calls: int = 4) -> None:
    """The function compiled and as it is, on two objects of their own, some calls each."""
    compiled = tilewright.jit(function, strict=True)
    ours, theirs = make(), make()
    for _ in range(calls):
        held = [dict(_parts_of(one)) for one in (ours[0], theirs[0])]
        mine, wanted = compiled(*ours), function(*theirs)
        states = [
            _state(one, args, before) for one, args, before in zip((mine, wanted), (ours, theirs), held, strict=True)
        ]
        assert states[0].form == states[1].form
        assert states[0] == states[1]


def _parts_of(value):
    return value if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else vars(value)


def _state(result, args, before):
    return seen([before, list(args), result])


# ---- more than one object ---------------------------------------------------------------------------------------------


def exchange(a, b, x):
    a.u = a.u + b.v
    b.v = b.v - x
    a.k += 1
    b.k += 10
    return a.k, b.k


def test_two_objects_or_one() -> None:
    compiled = tilewright.jit(exchange, strict=True)
    for is_one in (False, True, False, True, True, False):
        ours, theirs = [Field(), Field()], [Field(), Field()]
        if is_one:
            ours[1], theirs[1] = ours[0], theirs[0]
        mine, wanted = compiled(*ours, 2.0), exchange(*theirs, 2.0)
        assert _state(mine, ours, {}) == _state(wanted, theirs, {})


class Model:
    def __init__(self) -> None:
        self.field, self.log = Field(), []
        self.rate = 0.5

    def step(self, x):
        self.field.u = self.field.u - self.rate * x
        self.rate *= 0.9
        return self.field.u.sum()


@dataclass
class Particle:
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    velocity: np.ndarray = field(default_factory=lambda: np.ones(3))
    age: int = 0

    def advance(self, dt: float) -> None:
        self.position = self.position + dt * self.velocity
        self.age += 1


class Slots:
    __slots__ = ("n", "u", "unset")

    def __init__(self) -> None:
        self.u, self.n = np.arange(5.0), 1

    def step(self, x):
        self.u, self.n = self.u + x, self.n + 1
        return self.u.sum()


class Kalman:
    def __init__(self) -> None:
        self.x, self.P = np.zeros(2), np.eye(2)
        self.F, self.H = np.array([[1.0, 0.1], [0, 1]]), np.array([[1.0, 0.0]])
        self.Q, self.R = 0.01 * np.eye(2), np.eye(1)

    def update(self, z):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ (z - self.H @ self.x)
        self.P = (np.eye(2) - K @ self.H) @ self.P
        return self.x.copy()


class Base:
    def __init__(self, n):
        self.u = np.zeros(n)

    def step(self, x):
        self.u = self.u + x


class Derived(Base):
    def __init__(self, n):
        super().__init__(n)
        self.k = 0

    def step(self, x):
        super().step(2 * x)
        self.k += 1
        return self.k


def both(particles, dt):
    for one in particles:
        one.advance(dt)
        one.velocity = one.velocity * 0.5


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (Model.step, lambda: (Model(), x3)),
        (Particle.advance, lambda: (Particle(), 0.1)),
        (Kalman.update, lambda: (Kalman(), np.array([1.0]))),
        (Derived.step, lambda: (Derived(40), x3)),
    ],
)  # fmt: skip
def test_classes_of_other_kinds(function, make) -> None:
    assert_alike(function, make)


def test_slots_and_lists_of_objects() -> None:
    ours, theirs = Slots(), Slots()
    compiled = tilewright.jit(Slots.step, strict=True)
    for x in (1.0, 2.0, 3.0):
        assert compiled(ours, x) == theirs.step(x)
        assert ours.u.tolist() == theirs.u.tolist() and ours.n == theirs.n
    mine, wanted = [Particle(), Particle()], [Particle(), Particle()]
    compiled = tilewright.jit(both, strict=True)
    for _ in range(3):
        compiled(mine, 0.5), both(wanted, 0.5)
        assert _state(None, mine, {}) == _state(None, wanted, {})


# ---- guards -----------------------------------------------------------------------------------------------------------


def test_what_a_later_object_has_is_looked_at() -> None:
    compiled = tilewright.jit(Field.count_up, strict=True)
    ours, theirs = Field(), Field()
    for _ in range(3):  # the class has `count` first, then the object
        assert compiled(ours) == theirs.count_up()
        assert vars(ours)["count"] == vars(theirs)["count"]
    Field.count, before = 100, Field.count
    try:
        compiled(one := Field())
        assert one.count == 102
    finally:
        Field.count = before

    compiled = tilewright.jit(Field.leapfrog, strict=True)
    for change in (
        {},
        {"u": np.arange(9, dtype=np.float32), "v": np.ones(9)},
        {"t": 1},
        {"t": np.float32(2)},
        {"k": np.int64(3)},
    ):
        ours, theirs = Field(), Field()
        vars(ours).update(copy.deepcopy(change)), vars(theirs).update(copy.deepcopy(change))
        for _ in range(2):
            mine, wanted = compiled(ours, 0.1), Field.leapfrog(theirs, 0.1)
            assert _state(mine, [ours], {}) == _state(wanted, [theirs], {})


class Shared:
    """What its objects share until they set it."""

    table = np.arange(3.0)
    rate = 2.0

    def __init__(self, is_own: bool) -> None:
        self.u = np.ones(3)
        if is_own:
            self.table, self.rate = np.full(3, 5.0), 3.0


def adds_to_it(o, x):
    o.table += 1
    return x * 2


def adds_by_name(o, x):
    table = o.table
    table += 1
    o.table = table
    return x * 2


def sets_what_it_is(o, x):
    o.rate = o.rate
    return x * 2


def sets_what_it_is_beside_another(o, x):
    o.rate = o.rate
    o.u = x
    return x * 2


def adds_in_a_loop(o, x):
    for _ in range(3):
        o.table += 1
    return x * 2


def adds_in_a_branch(o, x):
    if x[0] > 0:
        o.table += 1
    return x * 2


@pytest.mark.parametrize(
    "function",
    [adds_to_it, adds_by_name, sets_what_it_is, sets_what_it_is_beside_another, adds_in_a_loop, adds_in_a_branch],
)
def test_what_the_class_had_is_the_objects_own_once_it_is_set(function) -> None:
    for own in ([1, 1, 0, 0, 1, 0], [0, 0, 1, 0, 1]):
        compiled = tilewright.jit(function)
        found = []
        for run in (compiled, function):
            Shared.table = np.arange(3.0)
            objects = [Shared(bool(is_own)) for is_own in own]
            for one in objects:
                run(one, np.ones(4))
            found.append([{name: np.array(held).tolist() for name, held in vars(one).items()} for one in objects])
            found[-1].append(Shared.table.tolist())
            assert all(
                (vars(one).get("table") is Shared.table) is (not is_own and "table" in vars(one))
                for one, is_own in zip(objects, own, strict=True)
            )
        assert found[0] == found[1]


def test_arrays_that_share_memory() -> None:
    compiled = tilewright.jit(Field.leapfrog, strict=True)
    for make in (lambda u: u, lambda u: u[::-1], lambda u: u.copy()):
        ours, theirs = Field(), Field()
        ours.v, theirs.v = make(ours.u), make(theirs.u)
        mine, wanted = compiled(ours, 0.1), theirs.leapfrog(0.1)
        assert _state(mine, [ours], {}) == _state(wanted, [theirs], {})
    ours = Field()
    ours.v.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(ours, 0.1)
    assert ours.k == 0


# ---- errors -----------------------------------------------------------------------------------------------------------


class Solver:
    def __init__(self, a) -> None:
        self.a, self.b, self.steps = a, np.ones(len(a)), 0

    def step(self):
        self.steps += 1
        self.b = np.linalg.solve(self.a, self.b)
        return self.b

    def check(self, limit):
        self.steps += 1
        if self.b.sum() > limit:
            raise ValueError("too much")
        self.b = self.b * 2


class Sampler:
    """Sets attributes, writes into arrays and draws, before and behind what may raise."""

    def __init__(self, a) -> None:
        self.a, self.x, self.w, self.steps = a, np.ones(3), np.ones(3), 0
        self.rng, self.norms = np.random.default_rng(0), []

    def update(self):
        self.steps += 1
        self.x += self.rng.random(3)
        self.w = self.w * self.rng.gamma(2.0, size=3)
        self.norms.append(self.x.sum())
        inverse = np.linalg.inv(self.a)
        self.x -= inverse[0] * self.rng.random(3)
        self.w = np.linalg.cholesky(self.a)[1]
        self.a *= 2.0
        self.steps += 1
        return np.average(self.x, weights=inverse[0])

    def in_a_loop(self):
        for k in range(3):
            self.a[k] += k
            self.steps += 1
            self.x += np.linalg.solve(self.a, self.w)
        return self.x


@pytest.mark.parametrize("function", [Sampler.update, Sampler.in_a_loop])
def test_what_raises_behind_what_was_set_and_written(function) -> None:
    compiled = tilewright.jit(function, strict=True)
    matrices = [np.eye(3) * 2, np.zeros((3, 3)), -np.eye(3), np.diag([0.0, -1.0, -2.0])]
    ours, theirs = Sampler(matrices[0]), Sampler(matrices[0])
    raised = 0
    for k in (0, 0, 1, 0, 2, 0, 3, 3, 2, 1, 0):
        for one in (ours, theirs):
            one.a = matrices[k].copy()
        results = []
        for one, run in ((ours, compiled), (theirs, function)):
            try:
                results.append(run(one))
            except (np.linalg.LinAlgError, ZeroDivisionError) as error:
                results.append(repr(error))
                raised += 1
        assert _state(results[0], [ours], {}) == _state(results[1], [theirs], {})
    assert raised > 4
    assert "between kernels" in compiled.explain(source=False)


def test_what_was_set_before_an_error_stays_set() -> None:
    compiled = tilewright.jit(Solver.step, strict=True)
    good, bad = np.eye(3) * 2, np.zeros((3, 3))
    for a in (good, good, bad, good, bad):
        ours, theirs = Solver(a), Solver(a)
        for one, run in ((ours, compiled), (theirs, Solver.step)):
            if a is bad:
                with pytest.raises(np.linalg.LinAlgError):
                    run(one)
            else:
                run(one)
        assert _state(None, [ours], {}) == _state(None, [theirs], {})
        assert ours.steps == 1
    compiled = tilewright.jit(Solver.check, strict=True)
    ours, theirs = Solver(good), Solver(good)
    for _ in range(4):
        for one, run in ((ours, compiled), (theirs, Solver.check)):
            if one.b.sum() > 9:
                with pytest.raises(ValueError, match="too much"):
                    run(one, 9.0)
            else:
                run(one, 9.0)
        assert _state(None, [ours], {}) == _state(None, [theirs], {})


class Checked:
    def __init__(self) -> None:
        object.__setattr__(self, "u", np.zeros(3))
        object.__setattr__(self, "sets", 0)

    def __setattr__(self, name, value):
        object.__setattr__(self, "sets", self.sets + 1)
        object.__setattr__(self, name, value)

    def step(self, x):
        self.u = self.u + x


def test_a_class_with_its_own_way_to_set_is_pythons() -> None:
    with pytest.raises(TraceError, match="objects of the class Checked are only read"):
        tilewright.jit(Checked.step, strict=True)(Checked(), 1.0)
    one = Checked()
    with pytest.warns(tilewright.FallbackWarning):
        tilewright.jit(Checked.step)(one, 1.0)
    assert one.sets == 1 and one.u.tolist() == [1, 1, 1]


# ---- lists and dicts --------------------------------------------------------------------------------------------------


def descend(params, grads, rate):
    for name in params:
        params[name] -= rate * grads[name]


def descend_anew(params, grads, rate):
    for name in params:
        params[name] = params[name] - rate * grads[name]
    return params


def momentum(state, g):
    state["t"] += 1
    state["m"] = 0.9 * state["m"] + 0.1 * g
    if "first" not in state:
        state["first"] = g.sum()
    return state["m"] / (1 - 0.9 ** state["t"])


def of_a_list(items, x):
    items[0] += x
    items[1] = items[0] * 2
    items[-1] = items[2] + 1


def one_or_two(a, b, x):
    a["u"] = a["u"] + x
    return b["u"].sum()


def layers(network, x):
    for layer in network:
        x = np.tanh(x @ layer["W"] + layer["b"])
        layer["out"] = x
    return x


def made_params():
    return {"W": np.arange(6.0).reshape(2, 3), "b": np.zeros(3)}


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (descend, lambda: (made_params(), {"W": np.ones((2, 3)), "b": np.ones(3)}, 0.1)),
        (descend_anew, lambda: (made_params(), {"W": np.ones((2, 3)), "b": np.ones(3)}, 0.1)),
        (momentum, lambda: ({"t": 0, "m": np.zeros(4)}, np.arange(4.0))),
        (of_a_list, lambda: ([np.zeros(3), None, 4], 1.5)),
        (one_or_two, lambda: ({"u": np.zeros(3)}, {"u": np.ones(3)}, 1.5)),
        (layers, lambda: ([{"W": np.eye(3) * k, "b": np.ones(3)} for k in (1.0, 2.0)], np.ones((4, 3)))),
    ],
)  # fmt: skip
def test_lists_and_dicts(function, make) -> None:
    assert_alike(function, make)


def test_one_dict_at_two_places_is_one() -> None:
    compiled = tilewright.jit(strict=True)(one_or_two)
    two = {"u": np.zeros(3)}, {"u": np.ones(3)}
    assert compiled(*two, 1.5) == 3
    one = {"u": np.zeros(3)}
    assert compiled(one, one, 1.5) == 4.5


@pytest.mark.parametrize("seed", [11, 12, 63, 89, 900235, 900672, 950768])
def test_random_methods(seed) -> None:
    """Those that once left another order of attributes, copies for views and for arrays that changed places, or no copies."""
    assert compared(seed, strict=False) == "alike"


# ---- arrays of objects, written in regions ----------------------------------------------------------------------------


class Network:
    def __init__(self) -> None:
        self.params, self.field = made_params(), Field()
        self.rate = 0.1

    def steps(self, n):
        for _ in range(n):
            self.field.diffuse()

    def descend(self, n):
        total = self.params["W"].sum()
        for _ in range(n):
            self.params["W"] -= self.rate * self.params["W"]
            self.params["b"][1:] += 1
        return total

    def leap(self, n):
        for _ in range(n):
            self.field.leapfrog(0.01)
            self.field.t += 1

    def where_data_say(self, x):
        if x.sum() > 0:
            self.field.u[2:4] = x[:2]
        return self.field.u.sum()


class Guarded(Network):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


@pytest.mark.parametrize(
    ("name", "args"),
    [("steps", (70,)), ("descend", (70,)), ("leap", (70,)), ("where_data_say", (x3,)), ("where_data_say", (-x3,))],
)
def test_arrays_that_regions_write(name, args) -> None:
    assert_alike(getattr(Network, name), lambda: (Network(), *args))
    with pytest.raises(
        TraceError, match="changing self in a loop or branch of the run; objects of the class Guarded are"
    ):
        tilewright.jit(getattr(Network, name)).for_args(Guarded(), *args)


class WithWords:
    def __init__(self) -> None:
        self.u, self.names, self.k = np.arange(4.0), np.array(["a", "b", "c", "d"]), 0

    def step(self, shows):
        self.k += 1
        self.u = self.u * 2
        return self.names[0] if shows else self.u.sum()


def test_what_is_named_and_not_asked_for_is_no_input() -> None:
    assert_alike(WithWords.step, lambda: (WithWords(), False))
    compiled = tilewright.jit(WithWords.step)
    one = WithWords()
    with pytest.warns(tilewright.FallbackWarning, match="names"):
        assert compiled(one, True) == "a"
    assert one.k == 1 and one.u.tolist() == [0, 2, 4, 6]


class WithContainers:
    """Whose dict and list only the object leads to."""

    def __init__(self) -> None:
        self.d, self.l = {"k": 1.0, "n": 0}, [1.0, 2.0]

    def branch(self, x):
        y = x * 2
        if x[0] > 0:
            self.d["k"] = 5.0
        return y.sum()

    def new_key(self, x):
        if x[0] > 0:
            self.d["new"] = 5.0
        return x.sum()

    def loop(self, x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] + self.d["k"]
            self.d["k"] = 0.5
        return total

    def counts(self, x):
        for i in range(len(x)):
            self.l[0] += x[i]
        return x.sum()

    def waits(self, x):
        total = 0.0
        while total < x[1]:
            total += 1.0
            self.d["k"] = 3.0
        return total


@pytest.mark.parametrize("name", ["branch", "new_key", "loop", "counts", "waits"])
def test_items_that_regions_set(name) -> None:
    function = getattr(WithContainers, name)
    compiled = tilewright.jit(function)
    x = np.linspace(1, 2, 80)
    for one in (x, -x, x, np.zeros(80), -x):
        ours, theirs = WithContainers(), WithContainers()
        assert compiled(ours, one) == pytest.approx(function(theirs, one), rel=1e-12)
        assert list(ours.d.items()) == list(theirs.d.items())
        assert ours.l == pytest.approx(theirs.l, rel=1e-12)


class Two:
    def __init__(self):
        self.u, self.x, self.k = np.arange(4.0), np.zeros(4), 0
        self.rows = [np.ones(4), np.zeros(4)]


def set_in_a_loop(o, p, n):
    for _ in range(n):
        p.x = o.u
    return o.u * 2


def set_behind_a_loop(o, p, n):
    for _ in range(n):
        last = o.u
        last += 1
    p.x = last
    return o.u * 2


def an_item_set_in_a_loop(o, p, n):
    for _ in range(n):
        o.rows[1] = o.rows[0]
        p.x = o.rows[1]
    return o.u * 2


def another_name_is_returned(o, p, n):
    b = p.x * 2
    for _ in range(n):
        a, last = b, o.u
        a[0] += 1
    return a, b, last, o.u * 3


@pytest.mark.parametrize(
    "function", [set_in_a_loop, set_behind_a_loop, an_item_set_in_a_loop, another_name_is_returned]
)
def test_an_array_that_a_loop_names_anew_is_that_very_one(function):
    compiled = tilewright.jit(function)
    ours, theirs = [Two(), Two()], [Two(), Two()]
    for n in (3, 2, 3):
        given, expected = compiled(*ours, n), function(*theirs, n)
        assert seen([ours, given]) == seen([theirs, expected])
        for _, p in (ours, theirs):
            p.x[1] += 5


def hands_over(o, p, n):
    p.inner = o.inner
    o.u = o.u + n
    return p.x * 2


def test_an_object_of_the_caller_becomes_another_ones_attribute():
    compiled = tilewright.jit(hands_over, strict=True)
    ours, theirs = [Two(), Two()], [Two(), Two()]
    for pair in (ours, theirs):
        for one in pair:
            one.inner = Two()
    for n in (3, 2, 3):
        given, expected = compiled(*ours, n), hands_over(*theirs, n)
        assert seen([ours, given]) == seen([theirs, expected])
        for one in (ours, theirs):
            one[0].inner = Two()
            one[0].inner.k = n


class Kept:
    def __init__(self):
        self.d, self.rows = {"q": 2}, [1, 2]


def an_item_in_a_branch(o, x, k):
    if x[0] > 1:
        o.d["q"] = k
    return x * 3


def a_new_item_in_a_loop(o, x, k):
    for i in range(len(x)):
        if x[i] > 1:
            o.d["new"] = k
            break
    return x * 3


def an_item_of_a_list_in_a_branch(o, x, k):
    if x[0] > 1:
        o.rows[0] = k
    else:
        o.d["q"] = 7
    return x * 3


@pytest.mark.parametrize("function", [an_item_in_a_branch, a_new_item_in_a_loop, an_item_of_a_list_in_a_branch])
def test_items_of_what_objects_hold_are_set_where_data_say_so(function):
    """The dict is first met inside of the branch."""
    compiled = tilewright.jit(function)
    ours, theirs = Kept(), Kept()
    for first, k in ((2.0, 2), (-1.0, 0), (-1.0, 0), (3.0, 1), (-1.0, 4)):
        x = np.array([first, -2.0, 0.0])
        assert np.array_equal(compiled(ours, x, k), function(theirs, x, k))
        assert vars(ours) == vars(theirs)


def test_random_changes_of_what_objects_hold():
    assert not list(filter(None, map(attack, range(examples(15)))))


class Lazy:
    """Loops give it its attributes, in the order in which they set them."""

    def __init__(self) -> None:
        self.w, self.k = np.arange(4.0), 0

    def forward(self, x):
        self.hidden = self.w * x + 1
        self.count = x.sum()
        return self.hidden.sum()

    def train(self, x, n):
        for i in range(n):
            self.last = self.forward(x[i])
            self.w -= 0.125 * self.hidden
        return self.w

    def until(self, x, n):
        rest = float(n)
        while rest > 0.5:
            self.rest, self.row = rest, x[0] * rest
            rest = rest / 2
        return rest

    def only_once(self, x, n):
        for i in range(n):
            if not hasattr(self, "velocity"):
                self.velocity = np.zeros(4)
            self.velocity = 0.5 * self.velocity + x[i]
        return self.velocity if n else n

    def the_first_one(self, x, n):
        for _ in range(n):
            if not hasattr(self, "first"):
                self.first = 2.0
            self.k += 1
        return hasattr(self, "first"), self.w.sum()

    def named_twice(self, x, n):
        for i in range(n):
            self.a = x[i] + 1
            self.b = self.a
        return n

    def in_a_loop_in_a_loop(self, x, n):
        for i in range(n):
            for j in range(i):
                self.forward(x[j])
            self.k = i
        return self.k

    def on_one_way(self, x, n):
        for i in range(n):
            if x[i, 0] > 2:
                self.high = x[i] * 2
            else:
                self.low = x[i] * 3
        return self.w.sum()

    def behind_a_break(self, x, n):
        for i in range(n):
            if x[i, 0] > 2:
                break
            self.place, self.twice = i, x[i] * 2
        return self.w.sum()


@pytest.mark.parametrize("name", [name for name in vars(Lazy) if not name.startswith("_") and name != "forward"])
def test_attributes_that_loops_are_the_first_to_set(name):
    compiled = tilewright.jit(getattr(Lazy, name), strict=True)
    ours, theirs = Lazy(), Lazy()
    for n in (5, 3, 1, 0, 6, 0, 5):
        x = np.arange(24.0).reshape(6, 4) % 5
        for one in ((), (Lazy(), Lazy())):  # an object that has them, and a new one
            mine, other = one or (ours, theirs)
            given, expected = compiled(mine, x, n), getattr(other, name)(x, n)
            assert seen([mine, given]) == seen([other, expected])
            assert list(vars(mine)) == list(vars(other))
    if name in ("train", "until", "only_once"):
        assert len(compiled.specializations) == {"train": 1, "until": 1, "only_once": 3}[name]  # for all n


class Clinic:
    def __init__(self) -> None:
        self.protected, self.day = np.zeros(400, bool), 4

    def protect(self, threshold):
        if self.day < 3:
            return
        candidates = np.flatnonzero(~self.protected & (threshold > 0))
        self.protected[candidates[:6]] = True


def test_what_returns_nothing_happens_once_where_python_finds_the_program():
    """A scalar that kernels take in a wider type is Python's to convert: no call goes by C alone."""
    f, clinic, plain = tilewright.jit(Clinic.protect), Clinic(), Clinic()
    for _ in range(5):
        f(clinic, np.float32(2))
        plain.protect(np.float32(2))
        np.testing.assert_array_equal(clinic.protected, plain.protected)
    assert f.specializations[0].runner is not None or f.specializations[0].why_numpy


class Filter:
    def __init__(self) -> None:
        self.state, self.calls = np.zeros(400), 0

    def step(self, gain):
        self.state += gain
        self.calls += 1
        return [self.state * 2, {"next": self.state + 1}]


@pytest.mark.parametrize("gain", [2.0, np.float32(2)])
def test_an_out_that_does_not_fit_is_said_behind_one_call(gain):
    """Results in dicts are put together in Python, and `out` is looked at behind them: the call was done, and was done once more in NumPy."""
    f, mine = tilewright.jit(Filter.step), Filter()
    for k in range(4):
        f(mine, gain)
        with pytest.raises(ValueError, match="out"):
            f(mine, gain, out=(np.zeros(3), None))
        assert (mine.calls, mine.state[7]) == (2 * k + 2, (2 * k + 2) * gain)
