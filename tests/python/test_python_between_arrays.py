"""What a function does to Python's own values, in every place where a statement may stand: as NumPy's call does it."""

from __future__ import annotations

import importlib.util
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in

pytestmark = pytest.mark.compile

BEFORE = """
l = [0.0, 0.0]; d = {"a": 0.0}; s = {1.0}; q = collections.deque([1.0, 2.0]); it = iter(range(1000)); t = (1.0,); st = "a"
w = np.hanning(4); b = bytearray(b"abc"); n = 0; nest = [[0.0]]; cnt = collections.Counter(); p = np.poly1d([1.0, 2.0])
y = x.copy(); al = [y]; tp = (y, [0.0]); part = functools.partial(l.append, 5.0); app = l.append; sl = slice(0, 2)
g = (v for v in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0))
"""
BEHIND = """
numbers = n + sum(l) + sum(d.values()) + sum(s) + sum(q) + next(it) + sum(t) + len(st) + w.sum() + sum(b) + sum(nest[0])
return y * (numbers + cnt["a"] + p[0] + sl.start + next(g)) + al[0] + tp[0] + tp[1][0]
"""
STATEMENTS = """
l.append(1.0) | l[0] += 1.0 | l.pop() if l else None | d['b'] = 2.0 | d['a'] += 1 | d.update(c=3.0) | s.add(2.0) | q.append(3.0)
q.rotate(1) | next(it) | n += next(it) | t += (1.0,) | t = t + (2.0,) | st += 'b' | w[0] += 1.0 | w.fill(2.0) | w.sort()
np.copyto(w, 1.0) | w += 1 | b[0] = 99 | b.append(1) | n += 1 | nest[0].append(1.0) | nest[0][0] += 1 | cnt['a'] += 1 | p[0] += 1
al[0][0] += 1.0 | tp[0][1] += 2.0 | tp[1][0] += 1.0 | part() | app(2.0) | sl = slice(1, 3) | n += next(g) | l = l + [1.0]
d = {**d, 'z': 1.0} | s = s.union({9.0}) | q = collections.deque([5.0]) | w = w * 2 | y = y * 2 | y += 1 | y, al = al[0] * 2, [y]
l, d = [1.0], {} | del l[:1] | l.sort(reverse=True) | l[:] = [4.0] | l.extend([1.0, 2.0]) | n = len(l); l.append(n)
[l.append(v) for v in (1.0, 2.0)] | list(map(l.append, [1.0])) | any(l.append(v) for v in (1.0,)) | (lambda: l.append(1.0))()
n = sum(l); l.clear() | n = max(l, default=0.0) + 1
"""
PLACES = {
    "alone": "#",
    "an if that holds": "if x[0] > 0:\n    #",
    "an if that does not": "if x[0] < 0:\n    #",
    "an else": "if x[0] > 0:\n    pass\nelse:\n    #",
    "a loop": "for i in range(len(x)):\n    #",
    "a short loop": "for i in range(3):\n    #",
    "an if in a loop": "for i in range(len(x)):\n    if x[i] > 3:\n        #",
    "a while": "k = 0\nwhile x[k] < 9:\n    #\n    k += 1",
    "behind a break": "for v in x:\n    if v > 5:\n        break\n    #",
    "the else of a loop": "for v in x:\n    #\nelse:\n    #",
    "a try": "try:\n    #\nfinally:\n    n += 1",
    "a function in a loop": "def h():\n    %\n    return 1.0\nfor i in range(len(x)):\n    y[i] += h()",
    "a function of a choice": "def h():\n    %\n    return 1.0\nn += h() if x[0] > 0 else 2.0",
    "a loop in a loop": "for a in (1, 2):\n    for i in range(len(x)):\n        #",
}
OUTER = "nonlocal l, d, s, q, it, t, st, w, b, n, nest, cnt, p, y, al, tp, sl, g; "
_TEXTS = [text.strip() for text in STATEMENTS.strip().replace("\n", "|").split("|")]


def outcome(function: Any, x: Any) -> Any:
    try:
        return function(x)
    except Exception as error:  # noqa: BLE001 - the same error is the same answer
        return repr(error)


@pytest.mark.parametrize("place", PLACES)
def test_each_statement_does_what_it_does_in_numpy(place: str, tmp_path: Path) -> None:
    source = ["import collections, functools\nimport numpy as np\n"]
    for k, statement in enumerate(_TEXTS):
        body = PLACES[place].replace("%", OUTER + statement).replace("#", statement)
        source.append(f"def f{k}(x):\n{textwrap.indent(BEFORE + body + BEHIND, '    ')}")
    file = tmp_path / "statements.py"
    file.write_text("\n".join(source))
    spec = importlib.util.spec_from_file_location("statements", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = 0
    # A loop of 12 is unrolled where it cannot stay one, that of 100 is not.
    sizes = (12, 100) if "len(x)" in PLACES[place] or "while" in place else (12,)
    for each, size, (k, statement) in one_in(4, PLACES, sizes, enumerate(_TEXTS)):
        if each == place:
            function = getattr(module, f"f{k}")
            jitted, x, theirs = tilewright.jit(function), np.arange(size) + 1.0, np.arange(size) + 1.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tilewright.FallbackWarning)
                got, expected = outcome(jitted, x), outcome(function, theirs)
            assert type(got) is type(expected), f"{statement}: {got}, {expected}"
            if isinstance(expected, str):
                assert got == expected, statement
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=f"{statement}, of {size}")
            assert np.array_equal(x, theirs), statement
            compiled += bool(jitted.specializations)
    assert compiled
