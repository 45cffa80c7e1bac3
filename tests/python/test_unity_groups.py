"""Files that are compiled as one share no name that would mean something else there (cmake/unity_groups.py)."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "unity_groups.py"
spec = importlib.util.spec_from_file_location("unity_groups", SCRIPT)
unity_groups = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unity_groups)

USES = "namespace tw { int run() { return 2; } }\n"


def may_join(folder, first, second, header=""):
    (folder / "h.h").write_text(header)
    unity_groups.environment.cache_clear()
    for name, text in (("a.cpp", first), ("b.cpp", second)):
        (folder / name).write_text(text)
    a, b = (unity_groups.Source(folder / name) for name in ("a.cpp", "b.cpp"))
    assert a.may_join(b) == b.may_join(a)
    return a.may_join(b)


OWN = [
    "namespace tw { namespace { int size_of(int n) { return n; } } }\n",
    "namespace tw { namespace { std::map<std::string, int> size_of(int n); } }\n",
    "namespace tw { namespace { template <class T> struct size_of { T value; }; } }\n",
    "namespace tw { namespace { enum class size_of { none }; } }\n",
    "namespace tw { namespace { using size_of = std::map<int, int>; } }\n",
    "namespace tw { using other::size_of; }\n",
    "namespace tw { static int size_of(int n) { return n; } }\n",
    "namespace tw { constexpr int size_of = 3; }\n",
    "namespace tw { const std::vector<int> size_of{1, 2}; }\n",
    "namespace tw { class size_of { int n; }; }\n",
    "#define size_of(n) n\n",
]


@pytest.mark.parametrize("first", OWN)
def test_what_a_file_keeps_to_itself_stays_out_of_others(tmp_path, first):
    assert may_join(tmp_path, first, USES)
    assert not may_join(tmp_path, first, "namespace tw { int run() { return size_of(2); } }\n")
    assert not may_join(tmp_path, first, '#include "h.h"\n', header="namespace tw { int size_of(double); }\n")
    for elsewhere in ("x.size_of(2)", "x->size_of(2)", "std::size_of(2)", '"size_of"', "2; // size_of"):
        assert may_join(tmp_path, first, f"namespace tw {{ int run() {{ return {elsewhere}\n; }} }}\n"), elsewhere


@pytest.mark.parametrize(
    "first",
    [
        "namespace tw { int size_of(int n) { int other = n; return other; } }\n",  # of all files: the linker's business
        "namespace tw { int Size::size_of(int n) { return n; } }\n",
        "namespace tw { namespace { int run_twice(int size_of) { return size_of; } } }\n",
        "namespace tw { static_assert(sizeof(int) == 4); int size_of(int n) { static_assert(true); return n; } }\n",
    ],
)
def test_what_others_may_see_or_cannot_see_is_no_reason(tmp_path, first):
    assert may_join(tmp_path, first, "namespace tw { int run() { return size_of(2); } }\n")


def test_a_using_that_says_the_same_is_no_reason(tmp_path):
    using = "namespace tw { namespace { using H::Expr; } int run(Expr e); }\n"
    assert may_join(tmp_path, using, using.replace("run", "walk"))
    assert not may_join(tmp_path, using, using.replace("H::", "G::"))
    assert may_join(
        tmp_path,
        using,
        '#include "h.h"\nnamespace tw { int walk(Expr e); }\n',
        header="namespace tw { using H::Expr; }\n",
    )


def test_files_open_the_same_namespaces(tmp_path):
    opened = "using namespace Halide;\n"
    assert may_join(tmp_path, opened + USES, opened)
    assert not may_join(tmp_path, opened, USES)


def test_a_macro_for_a_header_sets_a_file_apart(tmp_path):
    assert not may_join(tmp_path, "#define NARROW\n#include <x.h>\n", USES)
    assert may_join(tmp_path, "#include <x.h>\n#define NARROW\n", USES)


def test_groups_keep_to_their_length(tmp_path):
    lines = {"a": 50, "b": 40, "c": 30, "d": 20, "e": 120}
    sources = []
    for name, count in lines.items():
        path = tmp_path / f"{name}.cpp"
        path.write_text(f"int {name}();\n" * count)
        sources.append(unity_groups.Source(path))
    made = unity_groups.groups(sources, 80)
    assert sorted("".join(sorted(s.path.stem for s in group)) for group in made) == ["ad", "bc", "e"]


def test_clashes_need_no_more_groups_than_they_must(tmp_path):
    """A chain of files, of which each clashes with its neighbours: two groups, also where the longest ones stand far apart."""
    sources = []
    for number, count in enumerate([60, 10, 20, 50, 30, 40]):
        near = "".join(f"int calls{k}() {{ return own{k}(); }}\n" for k in (number - 1,) if k >= 0)
        path = tmp_path / f"{number}.cpp"
        path.write_text(f"static int own{number}() {{ return 1; }}\n" + near + f"int run{number}();\n" * count)
        sources.append(unity_groups.Source(path))
    made = unity_groups.groups(sources, 1000)
    assert sorted(sorted(s.path.stem for s in group) for group in made) == [["0", "2", "4"], ["1", "3", "5"]]
