"""The checks of presubmit find what they say they find."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "presubmit"))
import check_lists  # noqa: E402

pytestmark = pytest.mark.fast


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder in the place of the repository; write(name, text) makes a file in it."""
    monkeypatch.setattr(check_lists, "ROOT", tmp_path)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("pyproject.toml", 'markers = [\n    "quick: a kind: soon done",\n    "slow: a kind: not so soon",\n]\n')
    return write


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("pytestmark = pytest.mark.quick\n", True),
        ('pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]\n', True),
        ("pytestmark = [\n    pytest.mark.slow,\n    pytest.mark.skipif(True),\n]\n", True),
        ("def test_nothing(): ...\n", False),
        ('pytestmark = pytest.mark.filterwarnings("ignore")\n', False),
        ("pytestmark = [pytest.mark.quick, pytest.mark.slow]\n", False),
        ("pytestmark = pytest.mark.quick\n\n@pytest.mark.slow\ndef test_nothing(): ...\n", False),
    ],
)
def test_a_file_of_tests_is_of_one_kind(tree, text, is_right):
    tree("tests/python/test_it.py", f"import pytest\n\n{text}")
    expected = [
        "tests/python/test_it.py: one line, `pytestmark = pytest.mark.KIND`, says the kind: quick, slow.",
    ]
    assert check_lists.tests_without_a_kind() == ([] if is_right else expected)


def test_variables_are_compared_both_ways(tree):
    tree("python/tilewright/settings.py", 'VARIABLES = {"TILEWRIGHT_A": "one", "TILEWRIGHT_B": "two"}\n')
    reads = [f'std::getenv("{name}");' for name in ("TILEWRIGHT_A", "TILEWRIGHT_C")]  # not read here
    tree("dsl/x.cpp", "\n".join(reads))
    tree("python/environment.md", "| `TILEWRIGHT_A` | one |\n| `TILEWRIGHT_B` | 2 |\n")
    assert check_lists.environment_variables() == [
        "dsl/x.cpp reads TILEWRIGHT_C, which python/environment.md lacks.",
        "python/environment.md has TILEWRIGHT_B, which nothing reads.",
        "python/environment.md and VARIABLES of python/tilewright/settings.py disagree:",
        "  TILEWRIGHT_B: two",
    ]


def test_a_readme_is_a_page(tree):
    tree("dsl/README.md", "# dsl\n" + "x" * 161 + "\n" * 100 + "## Decisions\n")
    tree("dsl/DECISIONS.md", "y\n" * 200)
    assert check_lists.pages_that_are_no_page() == [
        "dsl/README.md:2: more than 160 columns.",
        "dsl/README.md: 102 lines are no page: decisions go to DECISIONS.md beside it.",
        "dsl/README.md: decisions go to DECISIONS.md beside it.",
    ]
