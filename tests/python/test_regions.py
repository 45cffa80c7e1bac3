"""Statements of loops that run once, as functions: what goes in, what comes out, and what is left where it is."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
import types

import pytest
from tilewright.record.regions import with_regions
from tilewright.trace_cache import digest_of

pytestmark = pytest.mark.compile


def changed(text):
    """The script as it is run, behind its regions."""
    tree = ast.parse("import numpy as np\n" + textwrap.dedent(text))
    regions = with_regions(tree, "R").regions
    return [ast.unparse(one.node) for one in regions], ast.unparse(tree).removeprefix("import numpy as np\n")


def test_array_code_between_prints_of_a_loop_is_a_region():
    regions, text = changed("""
        u = np.zeros(9)
        for t in range(100):
            v = u[1:] - u[:-1]
            change = np.abs(v).max()
            u[1:] += v * 0.5
            print(t, change)
    """)
    assert regions == [
        "def lines_5_to_7(u):\n    v = u[1:] - u[:-1]\n    change = np.abs(v).max()\n    u[1:] += v * 0.5\n    return change"
    ]
    assert text == "u = np.zeros(9)\nfor t in range(100):\n    change = R0__(u)\n    print(t, change)"


def test_a_loop_of_array_code_is_a_region_as_a_whole_whose_body_is_one_while_python_runs_it():
    text = "import numpy as np\ndef f(x, n):\n    for k in range(n):\n        x[1:] = x[:-1] * 0.5 + x[1:] - x.mean()\n    return x\nprint(f(np.ones(3), 4))\n"
    tree = ast.parse(text)
    whole, body = with_regions(tree, "R").regions
    assert ast.unparse(whole.node).startswith("def lines_3_to_4(n, x):\n    for k in range(n):\n        x[1:] =")
    assert (
        ast.unparse(whole.for_python) == "def lines_3_to_4(n, x):\n    for k in range(n):\n        R1__(x)\n    return"
    )
    assert ast.unparse(body.node).endswith("return") and "R0__(n, x)\n    return x" in ast.unparse(tree)
    assert (
        whole.function({}, "s.py").__code__.co_name == "f"
        and whole.function({}, "s.py").__qualname__ == "f.lines_3_to_4"
    )


def test_what_comes_out_is_what_is_read_behind_and_what_is_not_set_on_all_ways_goes_in():
    regions, _ = changed("""
        a, b, s = np.ones(3), np.ones(3), 0.0
        for i in range(5):
            temporary = a[1:] * 2
            if a.sum() > 3:
                s = temporary.sum() + b[0]
            a = a * 0.5 + s
            print(i)
        print(s)
    """)
    assert regions[0].startswith("def lines_5_to_8(a, s):") and regions[0].endswith("return (a, s)")


def test_variables_that_are_set_anew_in_each_iteration_stay_inside():
    regions, _ = changed("""
        a = np.ones(3)
        for i in range(5):
            for k in range(3):
                t = a[k:] * 2
                a[k:] = t + t.mean() - a.sum() * k
            print(i)
        for k in range(3):
            print(k)
    """)
    assert regions[0].startswith("def lines_5_to_7(a):") and regions[0].endswith("return")


def test_what_a_jump_leaves_as_the_region_set_it_comes_out():
    regions, _ = changed("""
        a = np.ones(3)
        x = k = 0
        for i in range(5):
            x = a[1:] * i + a.sum() - np.sqrt(a[1:])
            if i == 4:
                print(i)
                continue
            x = 0
        while True:
            k = a[1:] * 3 + a.sum() - np.sqrt(a[1:])
            if k.sum():
                print(k)
                break
            k = 0
        print(x, k)
    """)
    assert [one.rpartition("\n")[2].strip() for one in regions] == ["return x", "return k"]


def test_a_variable_of_the_module_that_a_region_would_set_for_itself_stays_outside():
    regions, text = changed("""
        x = open("x").fileno()
        x = x + 1
        y = np.ones(9)
        s = 0.0
        for i in range(10):
            s = s + (y * x * i).sum() + np.sqrt(y).sum()
        print(s)
    """)
    assert len(regions) == 2 and "x = x + 1\ny = np.ones(9)\ns = 0.0\ns = R0__(s)" in text


LEFT = {
    "try": "for i in range(3):\n    try:\n        x = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\n    except ValueError: pass",
    "numbers alone": "s = 1.0\nfor i in range(3):\n    s = s * 2 + i - s / 4 + 7 * s\n    print(s)",
    "what is perhaps not set": "for i in range(3):\n    if i: w = x[1:]\n    print(i)\n    x = np.sin(w) + w[1:] * 2 + 1 - 3",
    "all names": "for i in range(3):\n    x = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\n    print(globals())",
    "what suppresses errors": (
        "import contextlib\nwith contextlib.suppress(IndexError):\n    for i in range(9):\n"
        "        s = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\n        t = x[i * 3] * 2\nprint(s)"
    ),
    "texts with variables in them": (
        "import numexpr\nfor i in range(3):\n    y = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\n    x = numexpr.evaluate('y * 2')\n    print(i)"
    ),
    "files": "for i in range(3):\n    np.save('x', x[1:] + x[:-1] * 2 + 1)",
    "no loop": "x = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\nprint(x)",
    "functions called twice": "def f(x):\n    for i in range(3):\n        x[1:] = x[1:] * 2 + 1 - 3 * np.sin(x[:1])\n        print(i)\nf(x)\nf(x)",
    "methods": "class C:\n    def f(self, x):\n        for i in range(3):\n            x[1:] = x[1:] * 2 + 1 - np.sin(x[:1])\n            print(i)\nC().f(x)",
    "generators": "def f(x):\n    for i in range(3):\n        x[1:] = x[1:] * 2 + 1 - 3 * np.sin(x[:1])\n        yield i\nprint(list(f(x)))",
    "what a function sets": (
        "s = 1.0\ndef g():\n    global s\n    s += 1\nfor k in range(3):\n    x = np.sin(x[1:]) + s * 2 + 1 - 3\n    g()"
    ),
    "what is set although an error ends it": (
        "from contextlib import suppress\nwith suppress(IndexError):\n    for i in range(99):\n        s = x[i] * 2 + x[1:].sum() - 3"
    ),
    "variables of a module": "for i in range(3):\n    x = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\nimport __main__\nprint(__main__.x)",
    "variables of sys.modules": "import sys\nfor i in range(3):\n    x = np.sin(x)[1:] + x[1:] * 2\nprint(vars(sys.modules['__main__'])['x'])",
    "texts that are run": "from timeit import timeit\nfor i in range(3):\n    x = np.sin(x)[1:] + x[1:] * 2\ntimeit('x + 1', 'from __main__ import x')",
    "global variables": "def f():\n    global x\n    for i in range(3):\n        x = x[1:] * 2 + 1 - 3 * np.sin(x[:1])\n        print(i)\nf()",
}


# What stands for the statement that is no region, and what is given.
EXPRESSIONS = {
    "for i in range(3):\n    print(i, x[1:] + x[:-1] * np.sin(x[1:] + 1 + 2))": (
        "    print(i, R0__())",
        "x[1:] + x[:-1] * np.sin(x[1:] + 1 + 2)",
    ),
    "def g(x): return x\nfor i in range(3):\n    x = g(x[1:] + x[:-1] * np.sin(x[1:]) + 1 + 2)": (
        "    x = g(R0__(x))",
        "x[1:] + x[:-1] * np.sin(x[1:]) + 1 + 2",
    ),
    "l = []\nfor i in range(3):\n    l.append((x[1:].max(), np.sqrt(x[1:] * i).sum()))": (
        "    l.append(R0__(i))",
        "(x[1:].max(), np.sqrt(x[1:] * i).sum())",
    ),
    "t = 1\nfor i in range(9):\n    if i == 3: del t\n    print(i)\n    if i > 2: t = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\nprint(t)": (
        "        t = R0__()",
        "np.sin(x)[1:] + x[1:] * 2 + 1 - 3",
    ),
    "for i in range(3):\n    x.flags.writeable = x[1:].sum() + x[:1].sum() * 2 + 1 > 3": (
        "    x.flags.writeable = R0__()",
        "x[1:].sum() + x[:1].sum() * 2 + 1 > 3",
    ),
    # A generator that goes on reads its variables later.
    "l, y = [], 0\nfor i in range(3):\n    y = i\n    l.append((np.sqrt(x[1:] * i + 1).sum(), (y for _ in range(1))))": (
        "    l.append((R0__(i), (y for _ in range(1))))",
        "np.sqrt(x[1:] * i + 1).sum()",
    ),
    "for i in range(3):\n    g = (y + k for k in range(2))\n    y = np.abs(x[1:] - x[:-1]).max() + 2\n    print(*g)": (
        "    y = R0__()",
        "np.abs(x[1:] - x[:-1]).max() + 2",
    ),
    # What a generator reads meanwhile, and annotations that a module keeps.
    "def g():\n    while True: yield s\ns, it = 1.0, g()\nfor v, k in zip(it, range(9)):\n    s = s * 0.5 + x[1:].sum() + v * x[:-1].max()\n    print(k)": (
        "    s = R0__(s, v)",
        "s * 0.5 + x[1:].sum() + v * x[:-1].max()",
    ),
    "for k in range(3):\n    y: float = np.sin(x[1:]) + 2 * x[0] + 1 - 3\n    print(y)": (
        "    y: float = R0__()",
        "np.sin(x[1:]) + 2 * x[0] + 1 - 3",
    ),
    "def g(): return 1\nwhile np.abs(x[1:] - x[:-1]).max() > 1e-3 and g():\n    x = g() * x": (
        "while R0__(x) and g():",
        "np.abs(x[1:] - x[:-1]).max() > 0.001",
    ),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_a_region_where_its_statement_is_none(text):
    stands, given = EXPRESSIONS[text]
    regions, changed_text = changed("x = np.ones(9)\n" + text)
    assert len(regions) == 1 and regions[0].endswith(f":\n    return {given}")
    assert stands in changed_text.splitlines()


@pytest.mark.parametrize(
    "statement",
    [
        "f(lambda z: np.abs(z[1:] - z[:-1]).max() + 2)",  # variables of its own
        "f([np.abs(z[1:] - z[:-1]).max() + 2 for z in (x, f(x))])",
        "x[int(np.abs(w[1:] - w[:-1]).max() + 2)] = f(w)",  # not set for certain
        "f(np.abs(x[1:] - (y := x[:-1])).max() + 2)",
        "def h(): return np.abs(x[1:] - x[:-1]).max() + 2",
    ],
)
def test_an_expression_stays_where_its_names_are_no_variables_of_the_loop(statement):
    assert (
        changed(f"x = np.ones(9)\ndef f(x): return x\nfor i in range(3):\n    if f(i): w = f(x)\n    {statement}")[0]
        == []
    )


@pytest.mark.parametrize("what", LEFT)
def test_what_is_no_array_code_for_certain_is_left_where_it_is(what):
    assert changed("x = np.ones(9)\n" + LEFT[what])[0] == []


def test_a_loop_in_a_with_that_ends_at_errors_is_a_region():
    loop = "    for i in range(3):\n        x = np.sin(x)[1:] + x[1:] * 2 + 1 - 3\n        file.write(str(i))\nprint(x)"
    for manager, count in (("open('f', 'w')", 1), ("np.errstate(all='ignore')", 1), ("own()", 0)):
        assert len(changed(f"x = np.ones(9)\nwith {manager} as file:\n{loop}")[0]) == count, manager


def test_a_variable_that_is_deleted_at_another_turn_is_in_no_region():
    regions, _ = changed("""
        x = np.ones(9)
        y = x
        for i in range(5):
            if i < 2: y = y + i
            if i == 2:
                print(i)
                del y
            s = x[1:].sum() * i + 1 - x.max()
            if i < 2: s = s + y.sum()
            print(s)
    """)
    assert regions == ["def lines_10_to_10(i):\n    s = x[1:].sum() * i + 1 - x.max()\n    return s"]


def test_a_script_without_numpy_has_none():
    tree = ast.parse("x = [1]\nfor i in range(9):\n    x[0:1] = [x[0] * 2 + 1 - 3 + 4 * i]\n    print(x)\n")
    assert with_regions(tree, "R").regions == []


FAILS = """
import numpy as np
x = np.ones(200_000)
found = 0.0
def main(a):
    total = 0.0
    for k in range(400):
        b = np.sqrt(a) + k
        a = np.sin(b) * 0.5 + 1
        total += a[200_000 * (k == 350)]
        if k % 100 == 0:
            print(k, round(total, 9))
try:
    main(x)
except IndexError as error:
    print("caught", error)
for k in range(400):
    b = np.sqrt(x) + k
    x = np.sin(b) * 0.5 + 1
    found += x.mean()
    if k % 100 == 0:
        print(k, round(found, 9))
for k in range(400):
    b = np.sqrt(x) + k
    x = np.sin(b) * 0.5 + 1
    found += x[200_000 * (k == 350)]
    if k % 100 == 0:
        print(k, round(found, 9))
"""


def runs_of(tmp_path, text, count):
    """The script as Python runs it, and by the command so many times, from an empty cache on."""
    (tmp_path / "s.py").write_text(text)
    return [
        subprocess.run(
            [sys.executable, *command, str(tmp_path / "s.py")], env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True, text=True, timeout=300, check=False,
        )
        for command in ([], *[["-m", "tilewright", "run"]] * count)
    ]  # fmt: skip


def test_loops_that_run_once_are_compiled_and_their_errors_have_the_lines_of_the_script_alone(tmp_path):
    plain, *ours = runs_of(tmp_path, FAILS, 2)
    assert plain.returncode == 1 and plain.stdout.count("\n") == 13
    for run in ours:
        assert (run.returncode, run.stdout) == (1, plain.stdout), run.stderr
        assert run.stderr.startswith(plain.stderr), run.stderr
    assert "lines_18_to_20" in ours[-1].stderr and "main.lines_8_to_10" in ours[-1].stderr, ours[-1].stderr


def test_an_error_that_ends_the_script_shows_who_called_the_function_of_a_region(tmp_path):
    plain, ours = runs_of(tmp_path, FAILS[: FAILS.index("try:")] + "main(x)\n", 1)
    assert "in main\n" in plain.stderr and ours.stderr.startswith(plain.stderr), ours.stderr


def test_variables_of_a_script_are_the_same_with_regions_and_without(tmp_path):
    plain, ours = runs_of(tmp_path, VARIABLES, 1)
    assert plain.returncode == 0 and (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr


VARIABLES = """
import numpy as np
from contextlib import suppress
print("numbers")
y = np.arange(100.0)
s, i = 0.0, -1
for k in range(40):
    s = s + (y * k).sum() + np.sqrt(y).sum()
with suppress(IndexError):
    for i in range(200):
        s = s + y[i] * 2
print(s, i)
for k in range(6):
    s = (y * k + 1).sum() + np.sqrt(y).sum()
    if k == 5:
        print("jump")
        continue
    s = 0
print(s)
"""


def test_an_edit_inside_of_a_region_is_seen():
    """What a function does that calls regions is in the key of its trace, though its own code says nothing of it."""
    text = """
import numpy as np
def main(n):
    g = np.zeros(n)
    for it in range(30):
        g = g * 0.5 + np.sqrt(g) + 0.1
    return g
print(main(9).sum())
"""
    digests = []
    for one in (text, text, text.replace("0.1", "0.3")):
        tree = ast.parse(one)
        found = with_regions(tree)
        names = {}
        code = next(c for c in compile(tree, "s.py", "exec").co_consts if isinstance(c, types.CodeType))
        function = types.FunctionType(code, names, "main")
        found.note_source("main", function)
        digests.append([digest_of(function), digest_of(found.regions[0].function({}, "s.py"))])
    assert digests[0] == digests[1]
    assert all(a != b for a, b in zip(digests[0], digests[2], strict=True))


@pytest.mark.parametrize("leaves", ["continue", "break"])
@pytest.mark.parametrize("inner", ["for j in range(1):", "while b[0] > 1e9:"])
def test_the_else_of_a_loop_may_leave_the_one_around_it(leaves, inner):
    text = f"""
a = np.arange(4.0); b = np.zeros(4)
for i in range(3):
    {inner}
        b = a * 2 + a[1:].sum() - i
    else:
        b = a * 3 + a[1:].sum() - i
        if i > 0: {leaves}
    print(i)
    b = a
print(b)
"""
    tree = ast.parse("import numpy as np\n" + text)
    regions = with_regions(tree, "R").regions
    names = {one.name: None for one in regions}
    found = []
    for code, held in ((compile(tree, "s", "exec"), names), (compile("import numpy as np\n" + text, "s", "exec"), {})):
        there, said = dict(held), []
        there["print"] = lambda *given, said=said: said.append(repr(given))
        for one in regions if held else ():
            there[one.name] = one.function(there, "s")
        exec(code, there)
        found.append(said)
    assert found[0] == found[1]
