"""What was made of a script's text is kept for later runs of it."""

from __future__ import annotations

import ast
import builtins
import warnings
from pathlib import Path

import pytest
from tilewright.record import kept_texts, loading
from tilewright.script import Script

pytestmark = pytest.mark.fast

TEXT = """import numpy as np
def report(u):
    print(round(float(u.sum()), 6))
def main():
    u = np.linspace(0, 1, 50)
    for k in range(3):
        v = np.sin(u) * k + u
        u = v / (1 + v * v)
        report(u)
u = np.linspace(0, 1, 50)
for k in range(3):
    v = np.sin(u) * k + u
    u = v / (1 + v * v)
    print(round(float(u.sum()), 6))
main()
"""


@pytest.fixture
def looked(monkeypatch, tmp_path):
    """How often texts were looked through."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CACHE", raising=False)
    kept_texts._cache_in.cache_clear()
    seen: list[ast.Module] = []
    with_regions = loading.with_regions
    monkeypatch.setattr(loading, "with_regions", lambda tree: seen.append(tree) or with_regions(tree))
    yield seen
    kept_texts._cache_in.cache_clear()


def ran(path: Path, names: dict) -> tuple[list, list[str]]:
    """The regions of a script that was run, and the names that it has bound."""
    bound: list[str] = []
    loaded = loading.load(
        Script(path), names, lambda name, value, into: bound.append(name) or value, takes_regions=True
    )
    for one in loaded.regions:
        setattr(builtins, one.name, one.function(names, loaded.file))
    exec(loaded.code, names)
    return loaded.regions, bound


def test_a_text_is_looked_through_once(looked, tmp_path, capsys):
    path = tmp_path / "s.py"
    path.write_text(TEXT)
    first, bound = ran(path, {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert len(looked) == 1 and len(first) >= 2 and said
    again, bound_again = ran(path, {"__name__": "__main__"})
    assert len(looked) == 1 and capsys.readouterr().out == said and bound_again == bound
    for one, other in zip(first, again, strict=True):
        assert (one.name, one.around) == (other.name, other.around)
        assert ast.dump(one.node, include_attributes=True) == ast.dump(other.node, include_attributes=True)
    path.write_text(TEXT.replace("1 + v * v", "2 + v * v"))
    ran(path, {"__name__": "__main__"})
    assert len(looked) == 2 and capsys.readouterr().out != said


def test_functions_with_regions_are_followed_as_written_in_later_runs_too(looked, tmp_path):
    from tilewright.interpret.source import node_made_from

    path = tmp_path / "s.py"
    path.write_text(TEXT)
    texts = []
    for _ in range(2):
        names = {"__name__": "__main__"}
        ran(path, names)
        texts.append(ast.unparse(node_made_from(names["main"])))
    assert len(looked) == 1 and texts[0] == texts[1] and "__tilewright" not in texts[0]


def test_what_python_says_of_a_text_it_says_in_each_run(looked, tmp_path):
    path = tmp_path / "s.py"
    path.write_text('import numpy as np\nx = "\\d"\n')
    for count in (1, 2):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ran(path, {})
        assert len(said) == 1 and said[0].filename == str(path) and len(looked) == count


@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: data[:-1] + b"?", lambda data: b""])
def test_a_damaged_file_is_no_text(looked, tmp_path, spoil):
    path = tmp_path / "s.py"
    path.write_text(TEXT)
    ran(path, {"__name__": "__main__"})
    (file,) = (tmp_path / "cache/tilewright/scripts").iterdir()
    file.write_bytes(spoil(file.read_bytes()))
    ran(path, {"__name__": "__main__"})
    assert len(looked) == 2


def test_without_a_cache_each_run_looks(looked, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    path = tmp_path / "s.py"
    path.write_text(TEXT)
    for count in (1, 2):
        ran(path, {"__name__": "__main__"})
        assert len(looked) == count
    path.write_text("print('no arrays')\n")
    ran(path, {})


def test_a_text_that_is_nested_too_deep_is_looked_through_in_each_run(looked, tmp_path):
    path = tmp_path / "s.py"
    path.write_text(f"import numpy as np\nx = 1{' + 1' * 900}\n")
    for _ in range(2):
        names: dict = {}
        ran(path, names)
        assert names["x"] == 901
