"""What may differ at the next call is read at each, guarded, or left to NumPy; the trace takes nothing of the caller's."""

from __future__ import annotations

import collections
import contextlib
import importlib.util
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import once_module
import pytest
import tilewright

pytestmark = pytest.mark.fast

X = np.linspace(0.25, 1.75, 3000)


def made(folder: Path, text: str) -> Any:
    """A function of a file, with the globals of once_module."""
    file = folder / "made_once.py"
    file.write_text(f"def f(x):\n    return {text}\n")
    spec = importlib.util.spec_from_file_location("made_once", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update({k: v for k, v in vars(once_module).items() if not k.startswith("__")})
    spec.loader.exec_module(module)
    return module


def answer(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilewright.FallbackWarning)
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - the same error is the same answer
            return repr(error)


def assert_same(got: Any, expected: Any) -> None:
    if isinstance(expected, str):
        assert got == expected
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("text", once_module._TEXTS)
def test_what_an_object_says_is_asked_at_each_call(text: str, tmp_path: Path) -> None:
    module = made(tmp_path, text)
    jitted = tilewright.jit(module.f)
    for k in (1.0, 2.0, 3.0, 2.0):
        once_module.o.k = once_module.slotted.k = k
        assert_same(answer(lambda: jitted(X)), answer(lambda: module.f(X)))


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("statement", once_module.STATEMENTS)
def test_what_is_done_with_an_object_is_done_at_each_call(statement: str, outside: bool, tmp_path: Path) -> None:
    ours, theirs = once_module.Counting(), once_module.Counting()
    file = tmp_path / "made_statement.py"
    declared = "" if "o " not in statement[:2] or not outside else "    global o\n"
    parameters = "x, rng" if outside else "x, rng, o"
    file.write_text(f"import numpy as np\n\ndef f({parameters}):\n{declared}    {statement}\n    return x * 2\n")

    def function(o: Any) -> Any:
        space: dict[str, Any] = {"o": o}
        exec(compile(file.read_text(), str(file), "exec"), space)
        return space["f"]

    plain, jitted = function(theirs), tilewright.jit(function(ours))
    for _ in range(3):
        rngs = np.random.default_rng(1), np.random.default_rng(1)
        xs = np.ones((2, 3)), np.ones((2, 3))
        given = [(x, rng) if outside else (x, rng, o) for x, rng, o in zip(xs, rngs, (ours, theirs), strict=True)]
        assert_same(answer(lambda given=given[0]: jitted(*given)), answer(lambda given=given[1]: plain(*given)))
        assert_same(*xs)
        assert (ours.done, ours.items.keys()) == (theirs.done, theirs.items.keys())


@pytest.mark.parametrize(
    "function",
    [
        once_module.appended_by_a_getter,
        once_module.appended_by_code_of_c,
        once_module.appended_by_a_getter_in_code_of_c,
    ],
)
def test_what_grows_grows_at_each_call(function: Any) -> None:
    lengths = []
    for called in (function, tilewright.jit(function)):
        once_module.held.clear()
        lengths.append([(answer(lambda f=called: f(X))[0], len(once_module.held)) for _ in range(3)])
    assert lengths[0] == lengths[1]


# Functions of x in a module without source, where `h` is one too.
WITHOUT_SOURCE = [
    "try:\n        y = x * float(x[0])\n    except Exception:\n        y = x * 3\n    return y + 1",
    "y = x * 3\n    with contextlib.suppress(Exception):\n        y = x * float(x[0])\n    return y + 1",
    "with np.errstate(all='raise'):\n        return 1.0 / (x - x[0])",
    "try:\n        return x[:sizes[0]] + x[:3]\n    except ValueError:\n        return x * 2",
    "h()\n    return x * 2",
    "def inner():\n        global done\n        done += 1\n    inner()\n    return x * 2",
]


@pytest.mark.parametrize("body", WITHOUT_SOURCE)
def test_functions_without_source_catch_nothing_of_a_trace_and_write_globals_at_each_call(body: str) -> None:
    def space() -> dict[str, Any]:
        names: dict[str, Any] = {"np": np, "contextlib": contextlib, "done": 0, "sizes": [4]}
        exec(f"def h():\n    global done\n    done += 1\n\ndef f(x):\n    {body}", names)
        return names

    ours, theirs = space(), space()
    jitted = tilewright.jit(ours["f"])
    for size in (4, 5, 3):
        ours["sizes"][0] = theirs["sizes"][0] = size
        assert_same(answer(lambda: jitted(X)), answer(lambda: theirs["f"](X)))
        assert ours["done"] == theirs["done"]


def test_containers_in_containers_are_changed_at_each_call_of_functions_without_source() -> None:
    def space() -> dict[str, Any]:
        return {"table": {"a": [1.0]}, "pair": ([1.0],), "rows": [[1.0]], "waiting": collections.deque([[1.0]])}

    for place in ("table['a']", "pair[0]", "rows[0]", "waiting[0]", "waiting"):
        ours, theirs = space(), space()
        for names in (ours, theirs):
            exec(f"def f(x):\n    {place}.append(2.0)\n    return x * len({place})", names)
        jitted = tilewright.jit(ours["f"])
        for _ in range(3):
            assert_same(answer(lambda f=jitted: f(X)), theirs["f"](X))


@pytest.mark.parametrize("name", once_module.OF_OUTSIDE)
def test_what_is_outside_is_read_at_each_call(name: str, tmp_path: Path) -> None:
    text, change = once_module.OF_OUTSIDE[name]
    module = made(tmp_path, text)
    module.path = once_module.path = str(tmp_path / "numbers")
    jitted = tilewright.jit(module.f)
    for k in (2.0, 3.0, 4.0, 3.0):
        change(k)
        assert_same(answer(lambda: jitted(X)), answer(lambda: module.f(X)))


@pytest.mark.parametrize(
    "text", ["x[:3] * cell.scaled + Cell(x, 1.0).times(x)[:3]", "x * cell.scale + Cell(x, 1.0).of_scale(x)"]
)
def test_named_tuples_without_methods_of_python_are_compiled(text: str, tmp_path: Path) -> None:
    f = tilewright.jit(made(tmp_path, text).f, strict=True)
    assert len(f.for_args(X).program.arguments) > 2


@pytest.mark.parametrize("function", [once_module.of_path, once_module.with_object])
def test_a_with_happens_at_each_call(function: Any, tmp_path: Path) -> None:
    once_module.path = str(tmp_path / "number")
    jitted = tilewright.jit(function)
    for k in (1.0, 2.0):
        Path(once_module.path).write_text(f"{k}\n")
        once_module.o.k = k
        assert_same(answer(lambda: jitted(X)), function(X))


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([2.0, 3.0]), lambda: (k for k in (2.0, 3.0)), lambda: map(float, (2, 3)), lambda: iter({2.0: 1, 3.0: 1}),
        lambda: itertools.chain([2.0], [3.0]), lambda: iter((2.0, 3.0)), lambda: reversed([3.0, 2.0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("function", once_module.ITERATOR_FUNCTIONS)
def test_iterators_are_not_consumed_by_a_trace(function: Any, make: Callable[[], Any]) -> None:
    jitted = tilewright.jit(function)
    for _ in range(3):
        mine, theirs = make(), make()
        assert_same(answer(lambda it=mine: jitted(X, it)), answer(lambda it=theirs: function(X, it)))
        assert list(mine) == list(theirs)


def test_an_endless_iterator_goes_on_from_call_to_call() -> None:
    jitted, numbers = tilewright.jit(once_module.taken), itertools.count(1)
    assert [answer(lambda: jitted(X, numbers))[0] / X[0] for _ in range(4)] == [1, 2, 3, 4]


def test_a_call_that_may_run_once_says_its_line() -> None:
    jitted = tilewright.jit(once_module.taken, strict=True)
    line = once_module.taken.__code__.co_firstlineno + 1
    with pytest.raises(tilewright.TraceError) as raised:
        jitted(X, iter([2.0]))
    assert str(raised.value) == (
        f"{once_module.__file__}:{line}, in taken: next(it), with a list_iterator object; the call would read the object, or "
        "take items from it, only once, while tracing. Do it at the caller, and pass arrays and numbers."
    )


def test_functions_without_source_read_at_each_call_too() -> None:
    space: dict[str, Any] = {"np": np, "k": 2.0, "w": np.ones(3), "numbers": [1.0, 2.0], "o": once_module.o}
    exec(
        "def f(x): return x[:3] * k + w\ndef g(x): return x * o.k\ndef h(x): numbers.append(1.0); return x + len(numbers)",
        space,
    )
    f, g, h = (tilewright.jit(space[name]) for name in "fgh")
    for value in (2.0, 3.0):
        space["k"] = once_module.o.k = value
        space["w"] = np.full(3, value)
        np.testing.assert_array_equal(f(X), X[:3] * value + value)
        np.testing.assert_array_equal(answer(lambda: g(X)), X * value)
    assert [answer(lambda: h(X))[0] for _ in range(3)] == [X[0] + 3, X[0] + 4, X[0] + 5]
    assert len(f.specializations) == 1
