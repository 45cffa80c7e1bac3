"""Returns and breaks out of a try in a loop, and expressions too deep for the trace."""

import numpy as np
import pytest
import tilewright
from tilewright import TraceError
from tilewright.trace import trace

pytestmark = pytest.mark.fast

X = np.linspace(-1, 1, 50_000)


def tries_again(x):
    for k in range(3):
        try:
            return x * 2 + k
        except FloatingPointError:
            if k == 2:
                raise
    return None


def broken(x):
    for k in range(3):
        try:
            if k == 1:
                break
        finally:
            x = x + 1
    else:
        return x * 100
    return x


def until_it_is_left(x):
    while True:
        try:
            x = x * 2
            return x
        finally:
            x = x + 1


def goes_on(x):
    for i in range(4):
        try:
            y = x + i
        except ValueError:
            continue
        else:
            return y
    else:  # noqa: PLW0120
        return x * 7


@pytest.mark.parametrize("function", [tries_again, broken, until_it_is_left, goes_on])
def test_they_compile(function):
    jitted = tilewright.jit(function, strict=True)
    jitted.for_args(X)
    assert np.array_equal(jitted(X), function(X))


def on_data(x, n):
    for k in range(n):
        try:
            if x[k] > 0:
                return x * 2 + k
        finally:
            x = x + 1
    return x


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (on_data, (X, 5), "loops: leaving a try by a branch on data; there is no rule for it. Leave after the statement."),
    ],
)  # fmt: skip
def test_those_without_a_rule_are_refused(function, args, text):
    with pytest.raises(TraceError) as error:
        trace(function, args)
    assert str(error.value).partition(f"in {function.__name__}: ")[2] == text


def test_an_expression_that_is_too_deep(tmp_path, monkeypatch):
    (tmp_path / "deep_source.py").write_text("def f(x):\n    return " + " + ".join(["x"] * 900) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    import deep_source

    jitted = tilewright.jit(deep_source.f)
    with pytest.raises(TraceError) as error:
        jitted.for_args(X)
    assert str(error.value) == (
        f"{tmp_path}/deep_source.py:2, in f: tracing this; its expressions are nested deeper than Python follows "
        "(sys.getrecursionlimit() is 1000). Split the expression into several statements, or raise the limit."
    )
    with pytest.warns(tilewright.FallbackWarning, match="its expressions are nested deeper"):
        assert np.array_equal(jitted(X), deep_source.f(X))
