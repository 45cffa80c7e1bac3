"""What Python reads of program and plan texts: arguments, sizes, conditions, composition."""

import pytest
from tilewright._face import size_symbols
from tilewright.plan import Build, Kernel, Version, compose
from tilewright.program import Program, evaluate, holds, split_sizes

pytestmark = pytest.mark.fast

KMEANS = """tilewright-program 1
function get_labels "kmeans.py"
arg X: float64[X.0, X.1]
arg means: float64[means.0, X.1]
scalar a: float64
scalar n: int64
guard means.1 == X.1 "means.shape[1] must equal X.shape[1]"
guard means.0 >= 1 "attempt to get argmin of an empty \\"sequence\\"" @8
%1: float64[means.0, 1, X.1] = index(means) {index=[0:1, newaxis, 0:1]} @8
%2: float64[means.0, X.0, X.1] = subtract(X, %1) @8
norm: float64[means.0, X.0] = sum(%2) {axes=[2]} @8
argmin: int64[X.0] = argmin(norm) {axis=0} @8
return argmin
"""


def test_arguments_guards_and_results():
    program = Program(KMEANS)
    assert [(a.name, a.dtype, a.shape) for a in program.arrays] == [
        ("X", "float64", ("X.0", "X.1")),
        ("means", "float64", ("means.0", "X.1")),
    ]
    assert [(s.name, s.dtype) for s in program.scalars] == [("a", "float64"), ("n", "int64")]
    assert [g.condition for g in program.guards] == ["means.1 == X.1", "means.0 >= 1"]
    assert program.results == ("argmin",) and not program.returns_tuple
    assert program.type_of("argmin") == ("int64", ("X.0",))
    assert program.function == "get_labels"
    assert program.symbols == ("X.0", "X.1", "means.0")


def test_extents_and_work():
    program = Program(KMEANS)
    sizes = program.extents({"X": (100, 2), "means": (3, 2)}, {"a": 1.0, "n": 7})
    assert sizes == {"X.0": 100, "X.1": 2, "means.0": 3, "means.1": 2, "n": 7}
    assert evaluate(program.work, sizes) == 200 + 6 + 600 + 300 + 100


@pytest.mark.parametrize(
    ("text", "value"),
    [("X.0 - 1", 6), ("(X.0 + 1023) // 1024", 1), ("min(X.0, 4) * max(n, 2)", 12), ("-X.0 // 2", -4), ("-X.0 % 4", 1)],
)
def test_size_expressions(text, value):
    assert evaluate(text, {"X.0": 7, "n": 3}) == value


def test_sizes_are_integers_of_any_length():
    assert evaluate("X.0 * X.0 * X.0 - 1", {"X.0": 2**40}) == 2**120 - 1
    assert evaluate("X.0 * X.0 >= 4 and not n == 3", {"X.0": 2**40, "n": 2}) == 1
    assert evaluate("n == 0 or 8 % n == 0", {"n": 0}) == 1


def test_sizes_that_have_no_value_say_why():
    with pytest.raises(KeyError, match="missing"):
        evaluate("X.0 + missing", {"X.0": 7})
    with pytest.raises(ZeroDivisionError):
        evaluate("X.0 % n", {"X.0": 7, "n": 0})
    with pytest.raises(ValueError) as error:
        evaluate("X.0 / 2", {"X.0": 7})
    assert str(error.value) == "size expression: 'X.0 / 2' is not arithmetic on sizes: '/ 2' after the expression."


def test_symbols_stand_in_order_of_appearance():
    assert size_symbols("min(n, X.0) * X.1 + max(n, 2)") == ("n", "X.0", "X.1")
    assert size_symbols("64") == ()


@pytest.mark.parametrize(
    "text", ["__import__('os')", "x.y.z", "X.0 ** 9", "X[0]", "lambda: 0", "(", "missing > 0", "1 // 0"]
)
def test_what_is_no_condition_does_not_hold(text):
    assert not holds(text, {"X.0": 7, "x": 1})


def test_sizes_are_split_outside_of_parentheses():
    assert split_sizes("n, min(a, b), (c + 1) // 2") == ("n", "min(a, b)", "(c + 1) // 2")
    assert split_sizes("") == ()


def test_versions_become_a_plan():
    header = "tilewright-plan 1\nfunction f\narg X float64 2\narg y float64 1\nresult r float64 []\nreturn r\n"
    build = Build(
        (Kernel("f_k0", b"code", ("X.0 >= 64",)),),
        header + 'version ""\n  require X.1 <= 32\n  call f_k0 in "f_k0" (X.0, X, r)\nend\n',
        ("X.1 <= 32",),
        (),
        False,
        "schedule f\n",
        "x86-64-v3",
    )
    version = Version("tuned", "v7", build, {"X": "f", "y": "any"}, ("X.0 < 9",))
    assert compose([version]) == (
        header + 'version "tuned"\n'
        "require isa x86-64-v3\n"
        "require layout X F\n"
        "require X.0 < 9\n"
        "require X.0 >= 64\n"
        "require X.1 <= 32\n"
        'call f_k0 in "f_k0.v7" (X.0, X, r)\n'
        "end\n"
    )
    assert version.objects() == {"f_k0.v7": b"code"}
    assert build.requires == ("X.0 >= 64", "X.1 <= 32")
