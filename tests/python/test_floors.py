"""The check of Python's floors says what goes up, what closes a circle, and what is no longer wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "presubmit"))

import python_floors

pytestmark = pytest.mark.fast


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(python_floors, "FLOORS", {"low": "__init__ low", "high": "high other"})
    folder = tmp_path / "house" / "pack"
    for name in ("low", "high"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("")
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .other import a\n"
    )
    (folder / "low/a.py").write_text("")
    (folder / "high/b.py").write_text("from ..low.a import x\nfrom .. import low\n")
    (folder / "other.py").write_text("from .high import b\n")
    return folder


def test_imports_downwards_are_fine(package: Path) -> None:
    assert python_floors.problems(package) == []


def test_an_import_inside_of_a_function_goes_up(package: Path) -> None:
    (package / "low/a.py").write_text("def f():\n    from ..high.b import g\n    return g\n")
    assert python_floors.problems(package) == [
        "house/pack: low.a (line 2) imports high.b: the floor low is below high.",
        "house/pack: these import one another: high.b, low.a.",
    ]


def test_types_go_up_but_close_no_circle(package: Path) -> None:
    (package / "low/a.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..high import b\n")
    (package / "high/b.py").write_text("from ..low import a\nif TYPE_CHECKING:\n    from .. import other\n")
    assert python_floors.problems(package) == [
        "house/pack: low.a (line 3) imports high.b: the floor low is below high."
    ]


def test_a_circle_within_a_floor(package: Path) -> None:
    (package / "high/b.py").write_text("def f():\n    from .. import other\n")
    assert python_floors.problems(package) == ["house/pack: these import one another: high.b, other."]


def test_a_module_on_no_floor(package: Path) -> None:
    (package / "new.py").write_text("")
    assert python_floors.problems(package) == [
        "house/pack: new is on no floor: name it in tests/presubmit/python_floors.py."
    ]


def test_the_list_of_what_is_wrong_only_gets_shorter(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_floors, "NOT_YET", ("low.a -> high.b",))
    assert python_floors.problems(package) == [
        "house/pack: NOT_YET has low.a -> high.b, which is no longer wrong: take it out."
    ]
    (package / "low/a.py").write_text("from ..high import b\n")
    assert python_floors.problems(package) == []
