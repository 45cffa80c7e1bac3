"""What is read before a write has the values of before it: real arrays that became complex, copies, parts, views."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = (3, 700, 40_000)


def real_into_complex(a, z):
    z[:] = a
    a += 1


def cast_before_the_write(a, z):
    y = a.astype(z.dtype)
    a += 1
    z[:] = y


def before_a_loop_that_writes(a, z):
    z[:] = a
    for k in range(len(a)):
        a[k] = a[k] * 2 + 1


def cast_inside_of_a_loop(a, z):
    for _ in range(3):
        z[:] = a
        a += 1


def comparison_into_the_operand(a, z):
    z[:] = a
    np.less(a, 1, out=a)


def into_both_halves(a, z):
    b = a * 2
    z[:] = a + 1j * b
    a[:] = b


def reversed_before_the_write(a, z):
    z[:] = a[::-1]
    a -= 1


def imaginary_half(a, z):
    z[:] = 1j * a
    a[:] = 5


def exchanged(a, z):
    y = z.real.copy()
    z[:] = a
    a[:] = y


def returned_too(a, z):
    y = a.astype(complex)
    z[:] = y
    a += 1
    return y


def returned_alone(a, z):
    y = a.astype(z.dtype)
    a += 1
    return y, a.astype(z.dtype)


def in_a_branch(a, z):
    if a[0] > -1:
        z[:] = a
    a += 1


def conjugates(a, z):
    z[:] = np.conj(a.astype(z.dtype))
    a *= 2


pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")]

FUNCTIONS = [
    real_into_complex, cast_before_the_write, before_a_loop_that_writes, cast_inside_of_a_loop, into_both_halves,
    reversed_before_the_write, imaginary_half, exchanged, returned_too, returned_alone, in_a_branch, conjugates,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [*FUNCTIONS, comparison_into_the_operand])
def test_a_real_array_is_read_before_it_is_written(function: Any, size: int, dtype: str) -> None:
    a = np.arange(size).astype(dtype)
    if function is comparison_into_the_operand:
        a = a.astype(bool)
    check(function, a, np.zeros(size, complex if dtype == "float64" else np.complex64))


def check(function: Any, *args: Any) -> None:
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    compiled = tilewright.jit(function)
    with contextlib.suppress(tilewright.Error):  # NumPy runs what is no work
        compiled.for_args(*copy.deepcopy(args))
    got, expected = compiled(*ours), function(*theirs)
    same(got, expected)
    same(ours, theirs)


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    elif expected is None:
        assert got is None
    else:
        assert got.dtype == expected.dtype
        assert np.array_equal(got, expected, equal_nan=True)


SOURCES = ["a", "b", "z", "w", "a.astype(z.dtype)", "a.copy()", "z.copy()", "z.real", "z.imag", "w.real.copy()", "a[::-1]",
           "z[::-1]", "np.conj(z)", "1j * a", "a + 1", "z * w", "w.imag[::-1]", "a * 1.0", "z.astype(w.dtype)"]  # fmt: skip
REAL = {"a", "b", "a.copy()", "z.real", "z.imag", "w.real.copy()", "a[::-1]", "a + 1", "w.imag[::-1]", "a * 1.0"}


@st.composite
def statements(draw: Any) -> list[str]:
    """Reads that are kept, and writes, in any order."""
    lines: list[str] = []
    kept = 0
    for _ in range(draw(st.integers(2, 6))):
        source = draw(st.sampled_from(SOURCES))
        if draw(st.booleans()):
            lines.append(f"v{kept} = ({source}).copy()" if draw(st.booleans()) else f"v{kept} = ({source}) * 1")
            kept += 1
            continue
        if kept and draw(st.booleans()):
            source = f"v{draw(st.integers(0, kept - 1))}"
            target = draw(st.sampled_from(["z", "w"]))
        else:
            target = draw(st.sampled_from(["a", "b", "z", "w"] if source in REAL else ["z", "w"]))
        index = draw(st.sampled_from(["[:]", "[:]", "[::-1]", "[1:]"]))
        lines.append(f"{target}{index} = {'(' + source + ')[1:]' if index == '[1:]' else source}")
    if kept and draw(st.booleans()):
        lines.append("return " + ", ".join(f"v{k}" for k in range(kept)))
    return lines


@given(statements())
@settings(max_examples=examples(12), deadline=None, derandomize=True)
def test_any_order_of_reads_and_writes(tmp_path_factory: Any, lines: list[str]) -> None:
    text = "import numpy as np\ndef f(a, b, z, w):\n    " + "\n    ".join(lines) + "\n"
    path = tmp_path_factory.mktemp("order") / "order.py"
    path.write_text(text)
    namespace: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), namespace)  # noqa: S102
    if not any(" = " in line and line[0] != "v" for line in lines) and not lines[-1].startswith("return"):
        return
    a = np.arange(37.0)
    check(namespace["f"], a, a * 3 + 1, a + 1j * a[::-1], a - 2j * a)


def real_part_after_a_write(z):
    v = np.real(z)
    z[0] = 5
    return v * 2


def imaginary_part_after_a_loop(z):
    v = z.imag
    for i in range(len(z)):
        z[i] = z[i] * 1j
    return v + 1


def row_in_place(a):
    a[-1] += np.ones((1, 4))
    return a * 2


@pytest.mark.parametrize("function", [real_part_after_a_write, imaginary_part_after_a_loop])
def test_a_part_of_complex_numbers_shows_later_writes(function: Any) -> None:
    check(function, np.arange(700) + 1j)


def test_what_is_added_in_place_has_no_more_axes() -> None:
    for function in (row_in_place, tilewright.jit(row_in_place)):
        with pytest.raises(ValueError, match="non-broadcastable output operand"):
            function(np.zeros((3, 4)))


def a_complex_array_twice(a, z):
    a += 1
    v = z * a
    return v, v, z


def a_part_of_an_argument(a, z):
    a += 1
    return z.imag, np.real(z)[1:]


def a_part_and_its_whole(a, z):
    v = z * a
    return v, v.real


@pytest.mark.parametrize("function", [a_complex_array_twice, a_part_of_an_argument, a_part_and_its_whole])
@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_results_share_the_memory_that_numpys_share(function: Any) -> None:
    def sharing(run: Any) -> list[bool]:
        a, z = np.arange(60_000.0), np.arange(60_000) + 1j
        parts = run(a, z)
        return [np.shares_memory(one, other) for one in (*parts, a, z) for other in (*parts, a, z)]

    compiled = tilewright.jit(function)
    for _ in range(2):
        assert sharing(compiled) == sharing(function)


def filled_after_a_loop(a, z):
    v = np.zeros_like(a)
    for k in range(len(v)):
        v[k] = 1
    v[...] = a
    return v, z * 2


def filled_and_read_by_a_loop(a, b):
    b[...] = a
    a.fill(3)
    for k in range(len(b)):
        b[k] += 1
    v = np.isreal(b)
    for k in range(len(b)):
        b[k] += 2
    for k in range(len(v)):
        v[k] = b[k]
    return v


def a_copy_twice(a, z):
    a *= a
    v = a.astype(a.dtype)
    return v, v, a


def product_of_python_complex(a, g):
    s = a.mean()
    return 1j * g * s, (1j * g * s) * a.astype(np.float32), a + 1


def test_what_random_functions_found() -> None:
    a = np.arange(2500.0).reshape(50, 50) % 7
    for function in (filled_after_a_loop, filled_and_read_by_a_loop, a_copy_twice):
        check(function, a, np.zeros_like(a))
    for function in (filled_after_a_loop, a_copy_twice):
        mine, theirs = a.copy(), a.copy()
        compiled = tilewright.jit(function)
        compiled.for_args(mine.copy(), np.zeros_like(a))
        got, expected = compiled(mine, np.zeros_like(a)), function(theirs, np.zeros_like(a))
        assert [np.shares_memory(one, other) for one in (*got, mine) for other in (*got, mine)] == [
            np.shares_memory(one, other) for one in (*expected, theirs) for other in (*expected, theirs)
        ]


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_pythons_complex_number_times_a_double_is_pythons() -> None:
    a = np.ones(4)
    got, expected = tilewright.jit(product_of_python_complex)(a, 0.5), product_of_python_complex(a, 0.5)
    assert [type(part) for part in got] == [type(part) for part in expected]
    assert got[1].dtype == expected[1].dtype
    same(got[1:], expected[1:])


def item_read_before_its_new_value(a):
    def write():
        a[0] = 100.0
        return 1.0

    a[0] += write()
    return a * 2


def view_read_behind_its_new_value(a):
    def write():
        a[0] = 100.0
        return 1.0

    a[0:2] += write()
    return a * 2


def items_of_containers(a):
    numbers, table = [1.0, 2.0], {"k": 1.0}

    def write():
        numbers[0] = table["k"] = 100.0
        return 1.0

    numbers[0] += write()
    table["k"] += write()
    return a * numbers[0] + table["k"]


def displays(a):
    seen = []

    def told(v):
        seen.append(v)
        return v

    _ = {told(1): told(2), told(3): told(4)}, [told(5), *(told(6), told(7))]
    _ = {told(k): told(k + 10) for k in (8, 9)}
    a[told(0) : told(3) : told(1)] = told(20)
    return a * sum(v * k for k, v in enumerate(seen))


def keys_of_the_largest(a):
    seen = []

    def key(v):
        seen.append(v)
        return -v

    return a * max((3, 1, 2), key=key) + sum(v * k for k, v in enumerate(seen))


def nearest_row(a):
    rows = [a[:2], a[2:4], a[1:3]]
    return min(rows, key=lambda row: ((row - a[1:3]) ** 2).sum()) * 1.0


def quotients(a):
    n = len(a)
    rows, rest = divmod(n, 7)
    return a * rows + rest + divmod(10_000_000, n)[1]


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize(
    "function",
    [
        item_read_before_its_new_value, view_read_behind_its_new_value, items_of_containers, displays, keys_of_the_largest,
        nearest_row, quotients,
    ],
)  # fmt: skip
def test_parts_are_evaluated_in_pythons_order(function: Any) -> None:
    check(function, np.arange(700.0))
    assert tilewright.jit(function, strict=True).for_args(np.arange(700.0))


def given_twice(a):
    def inner(v, **more):
        return v + len(more)

    return a * inner(1.0, v=2.0)  # type: ignore[misc]


def test_an_argument_that_is_given_twice_is_pythons_error() -> None:
    for function in (given_twice, tilewright.jit(given_twice)):
        with pytest.raises(TypeError, match=r"inner\(\) got multiple values for argument 'v'"):
            function(np.ones(3))
