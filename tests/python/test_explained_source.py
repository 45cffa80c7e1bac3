"""explain() shows the function's source, with who computes each line."""

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def scaled(x, k):
    return np.sqrt(x) * k


@tilewright.jit
def marked(x, n, log=None):
    """Doc."""
    total = 0.0
    y = scaled(x, 2.0)
    for i in range(n):
        y = y + np.sin(
            x,
        ) / (i + 1)
        total += y.mean()
    s = np.sort(y)
    print("sorted")
    return s, total


def rows_of(text):
    """code -> mark, of the part that shows the source."""
    lines = text.partition("\nsource:\n")[2].splitlines()
    rows = {}
    for line in lines:
        if not line[2:6].strip().isdigit():
            break
        mark, _, code = line[8:].partition("    ")
        rows[code.partition("    # ")[0].strip()] = mark.strip()
    return rows


def test_each_line_says_who_computes_it(capsys):
    x = np.arange(100_000.0)
    for _ in range(3):
        marked(x, 4)
    assert capsys.readouterr().out == "sorted\n" * 3
    text = marked.explain()
    rows = rows_of(text)
    assert rows["def marked(x, n, log=None):"] == rows["total = 0.0"] == rows["return s, total"] == ""
    assert rows["for i in range(n):"] == "loop"
    assert rows["y = scaled(x, 2.0)"] == "kernel 1"
    assert rows["y = y + np.sin("].startswith("kernel ") and rows[") / (i + 1)"] == ""
    assert rows["total += y.mean()"].startswith("kernel ")
    assert rows["s = np.sort(y)"] == "NumPy" and rows['print("sorted")'] == "Python"
    (line,) = (line for line in text.splitlines() if "s = np.sort(y)" in line)
    assert "    # np.sort(); kernels sort along axes of at most 16 elements" in line


def test_a_function_without_a_file_has_no_source():
    names = {"np": np}
    exec("def f(x):\n    return np.sqrt(x) + 1", names)
    made = tilewright.jit(names["f"])
    made(np.arange(100_000.0))
    assert "\nsource:\n" not in made.explain()
