"""Arguments of public functions: each wrong type and range is one sentence, and nothing is compiled or searched before."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


@tilewright.jit
def double(x):
    return np.sqrt(x) * 2


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


X = np.ones(4)
WHOLE = "Give an int from 0 to 2147483647."
STRATEGY = "Use evolutionary, random."
SEED = "Give an int from 0 to 9223372036854775807."
COUNT = "Give an int from 1 to 1024."
DURATION = "Write 60s, 2m or 1h."


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"budget": None}, TypeError, f"budget: a duration is a number or text, and this is None. {DURATION}"),
        ({"budget": True}, TypeError, f"budget: a duration is a number or text, and this is of type bool. {DURATION}"),
        ({"budget": [5]}, TypeError, f"budget: a duration is a number or text, and this is of type list. {DURATION}"),
        ({"budget": 0}, ValueError, f"budget: 0 is not a duration. {DURATION}"),
        ({"budget": -1}, ValueError, f"budget: -1 is not a duration. {DURATION}"),
        ({"budget": float("nan")}, ValueError, f"budget: nan is not a duration. {DURATION}"),
        ({"budget": float("inf")}, ValueError, f"budget: inf is not a duration. {DURATION}"),
        ({"budget": "soon"}, ValueError, f"budget: 'soon' is not a duration. {DURATION}"),
        ({"trials": "2"}, TypeError, f"trials: '2' (type str) is not a whole number. {WHOLE}"),
        ({"trials": float("nan")}, TypeError, f"trials: nan (type float) is not a whole number. {WHOLE}"),
        ({"trials": 1.5}, TypeError, f"trials: 1.5 (type float) is not a whole number. {WHOLE}"),
        ({"trials": Fraction(2)}, TypeError, f"trials: Fraction(2, 1) (type Fraction) is not a whole number. {WHOLE}"),
        ({"trials": [1]}, TypeError, f"trials: [1] (type list) is not a whole number. {WHOLE}"),
        ({"trials": -1}, ValueError, f"trials: -1 is out of range. {WHOLE}"),
        ({"trials": 2**64}, ValueError, f"trials: 18446744073709551616 is out of range. {WHOLE}"),
        ({"trials": 10**9999}, ValueError, f"trials: a number of too many digits is out of range. {WHOLE}"),
        ({"trials": Unprintable()}, TypeError, f"trials: a value (type Unprintable) is not a whole number. {WHOLE}"),
        ({"strategy": 1}, TypeError, f"strategy: 1 (type int) is not text. {STRATEGY}"),
        ({"strategy": "annealing"}, ValueError, f"strategy: 'annealing' is not known. {STRATEGY}"),
        ({"seed": True}, TypeError, f"seed: True (type bool) is not a whole number. {SEED}"),
        ({"seed": None}, TypeError, f"seed: None is not a whole number. {SEED}"),
        ({"seed": 2**64}, ValueError, f"seed: 18446744073709551616 is out of range. {SEED}"),
        ({"space": 5}, TypeError, "space: 5 (type int) is not text. Give a space as a str."),
        ({"space": True}, TypeError, "space: True (type bool) is not text. Give a space as a str."),
        ({"schedule": ["a"]}, TypeError, "schedule: ['a'] (type list) is not text. Give a schedule as a str."),
        ({"schedule": "\ud800"}, ValueError, "schedule: it has a lone surrogate, which no text file can hold. Give a schedule as a str."),
        ({"schedule": "a\0"}, ValueError, "schedule: it has a null character, which no text file holds. Give a schedule as a str."),
        ({"observer": 3}, TypeError, "observer: 3 (type int) cannot be called. Give a function of an event, or None."),
    ],
    ids=lambda value: next(iter(f"{k}={type(v).__name__}" for k, v in value.items())) if isinstance(value, dict) else "",
)  # fmt: skip
def test_tune(options, error, text):
    with pytest.raises(error) as raised:
        double.tune(X, **options)
    assert str(raised.value) == text
    assert not double.specializations


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"db": 5}, TypeError, "db: 5 (type int) is not a path. Give a str or a pathlib.Path."),
        ({"db": b"x"}, TypeError, "db: b'x' (type bytes) is not a path. Give a str or a pathlib.Path."),
        ({"db": ""}, ValueError, "db: '' is not a path. Give a str or a pathlib.Path."),
        ({"db": "a\0b"}, ValueError, "db: 'a\\x00b' is not a path. Give a str or a pathlib.Path."),
        ({"strict": "yes"}, ValueError, "strict: 'yes' is not known. Use True, False or 'kernels'."),
        (
            {"strict": 1},
            TypeError,
            "strict: 1 (type int) is neither True nor False nor text. Use True, False or 'kernels'.",
        ),
        ({"contract": "exact"}, ValueError, "contract: 'exact' is not known. Use numpy, reproducible, fast."),
        ({"contract": None}, TypeError, "contract: None is not text. Use numpy, reproducible, fast."),
        ({"target": 5}, TypeError, "target: 5 is a int. Give a str: 'host', 'cuda' or 'host,cuda'."),
    ],
    ids=str,
)
def test_jit(options, error, text):
    with pytest.raises(error) as raised:
        tilewright.jit(**options)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"dump": 5}, TypeError, "dump: 5 (type int) is not a path. Give a str or a pathlib.Path."),
        ({"limit": "soon"}, ValueError, f"limit: 'soon' is not a duration. {DURATION}"),
        ({"limit": None}, TypeError, f"limit: a duration is a number or text, and this is None. {DURATION}"),
    ],
    ids=str,
)
def test_debug(options, error, text):
    with pytest.raises(error) as raised:
        double.debug(X, **options)
    assert str(raised.value) == text
    assert not double.specializations


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"folder": 5}, TypeError, "folder: 5 (type int) is not a path. Give a str or a pathlib.Path."),
        ({"name": 5}, TypeError, "name: 5 (type int) is not text. Give the function's name in the module's as a str."),
        ({"targets": "host"}, TypeError, "targets: 'host' (type str) is not a tuple of str. Write ('host', 'cuda')."),
        ({"targets": (5,)}, TypeError, "targets: 5 (type int) in it is not text. Write ('host', 'cuda')."),
        ({"cubins": 90}, TypeError, "cubins: 90 (type int) is not a tuple of str. Write ('sm_80', 'sm_90')."),
        ({"force": "yes"}, TypeError, "force: 'yes' (type str) is neither True nor False. Give one of them."),
        ({"wheel": None}, TypeError, "wheel: None is neither True nor False. Give one of them."),
        ({"libraries": 0}, TypeError, "libraries: 0 (type int) is neither True nor False. Give one of them."),
        ({"allow_fallback": "no"}, TypeError, "allow_fallback: 'no' (type str) is neither True nor False. Give one of them."),
    ],
    ids=str,
)  # fmt: skip
def test_export(options, error, text):
    with pytest.raises(error) as raised:
        double.export(**options)
    assert str(raised.value) == text


@pytest.mark.parametrize("call", [tilewright.set_num_threads, tilewright.threads])
@pytest.mark.parametrize(
    ("count", "error", "text"),
    [
        (2**40, ValueError, f"count: 1099511627776 is out of range. {COUNT}"),
        (0, ValueError, f"count: 0 is out of range. {COUNT}"),
        (True, TypeError, f"count: True (type bool) is not a whole number. {COUNT}"),
        ("2", TypeError, f"count: '2' (type str) is not a whole number. {COUNT}"),
        (2.0, TypeError, f"count: 2.0 (type float) is not a whole number. {COUNT}"),
    ],
)
def test_threads(call, count, error, text):
    before = tilewright.get_num_threads()
    with pytest.raises(error) as raised:
        call(count)
    assert str(raised.value) == text
    assert tilewright.get_num_threads() == before


def test_what_is_right_is_taken(tmp_path):
    f = tilewright.jit(db=tmp_path / "own.db", strict=True)(lambda x: np.sqrt(x) * 3)
    with tilewright.threads(np.int64(1)):
        assert f(X).tolist() == [3.0] * 4
    found = f.tune(np.ones(5000), budget="5s", trials=np.int8(2), seed=np.uint64(3), strategy="random")
    assert found.trials <= 2 and (tmp_path / "own.db").exists()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (5, TypeError, "schedule: 5 (type int) is not text. Give a schedule as a str."),
        ("\ud800", ValueError, "schedule: it has a lone surrogate, which no text file can hold. Give a schedule as a str."),
    ],
)  # fmt: skip
def test_schedule_and_other_methods(text, error, message):
    f = tilewright.jit(lambda x: np.sqrt(x) * 5)
    one = f.for_args(np.ones(100_000))
    for owner in (one, f):
        with pytest.raises(error) as raised:
            owner.schedule = text
        assert str(raised.value) == message.replace(
            "Give the text of one, or None for the default as a str.", "Give a schedule as a str."
        )
    for owner in (one, f):
        with pytest.raises(TypeError) as raised:
            owner.explain(code="yes")
        assert str(raised.value) == "code: 'yes' (type str) is neither True nor False. Give one of them."
    with pytest.raises(TypeError) as raised:
        one.profile(np.ones(100_000), runs=1.5)
    assert str(raised.value) == "runs: 1.5 (type float) is not a whole number. Give an int from 1 to 1000000."


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_jit_below_a_static_method_says_the_order(kind):
    def energy(x):
        return x

    with pytest.raises(TypeError) as raised:
        tilewright.jit(kind(energy))
    assert str(raised.value) == (
        f"jit: test_jit_below_a_static_method_says_the_order.<locals>.energy is a {kind.__name__}. "
        f"Write @{kind.__name__} above @tilewright.jit."
    )


class Model:
    """Holds an array."""

    def __init__(self, scale):
        self.weights = np.full(50_000, scale)

    @tilewright.jit
    def apply(self, x):
        """Weighted."""
        return np.sqrt(x) * self.weights

    @staticmethod
    @tilewright.jit
    def unit(x):
        return x / np.sqrt(np.sum(x * x))

    @classmethod
    @tilewright.jit
    def named(cls, x):
        return x * len(cls.__name__)


def test_a_bound_method_is_tuned_with_its_object():
    import copy
    import inspect
    import pickle

    model, x = Model(2.0), np.linspace(0.0, 1.0, 50_000)
    found = model.apply.tune(x, budget="5s", trials=2)
    assert found.complete and found.function == "apply"
    assert np.array_equal(model.apply(x), np.sqrt(x) * 2.0)
    assert model.apply.for_args(x).signature == "apply(x: float64[:], self_weights: float64[:])"
    assert "apply" in model.apply.explain(source=False)
    assert inspect.ismethod(model.apply) and model.apply.__self__ is model and model.apply.__func__ is Model.apply
    assert str(inspect.signature(model.apply)) == "(x)" and model.apply.__doc__ == "Weighted."
    assert model.apply == model.apply and model.apply != Model(2.0).apply and len({model.apply, model.apply}) == 1
    again = pickle.loads(pickle.dumps(model)).apply
    assert np.array_equal(again(x), model.apply(x))
    assert copy.deepcopy(model.apply).__self__ is not model
    assert model.unit.tune(x, budget="5s", trials=1).complete
    assert Model.named(np.ones(3)).tolist() == [5.0] * 3


class Holder:
    """Calls a jitted method inside of a jitted method."""

    weights = np.full(50_000, 4.0)

    @tilewright.jit
    def inner(self, x):
        return np.sqrt(x) + self.weights

    @tilewright.jit
    def outer(self, x):
        return self.inner(x) * 2


def test_a_jitted_method_calls_another_one():
    x = np.linspace(0.0, 1.0, 50_000)
    holder = Holder()
    assert np.array_equal(holder.outer(x), (np.sqrt(x) + 4.0) * 2)
    assert len(Holder.outer.specializations) == 1


def test_a_module_of_a_method_by_hand(tmp_path):
    model, x = Model(2.0), np.linspace(0.0, 1.0, 50_000)
    model.apply.for_args(x)
    folder = model.apply.export(tmp_path / "apply_tuned", targets=("x86-64",))
    assert folder == Path(tmp_path / "apply_tuned") and (folder / "_reading.py").exists()


def test_a_store_that_cannot_be_written_is_said(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    f = tilewright.jit(lambda x: np.sqrt(x) * 7, db=tmp_path / "file" / "store.db")
    assert f.tune(np.ones(20_000), budget="5s", trials=1).complete
    told = [record.message for record in caplog.records if record.message.startswith("<lambda>: ")]
    assert len(told) == 1 and str(tmp_path / "file" / "store.db") in told[0]
