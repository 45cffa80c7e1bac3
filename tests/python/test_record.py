"""Running a script once: what is seen, what is copied, what is chosen, and what a broken script leads to."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tilewright.cli.session import Request, prepare
from tilewright.record.capture import Recorder
from tilewright.record.choose import NothingToTune, choose
from tilewright.record.run_script import run_script
from tilewright.record.times import time_rows
from tilewright.script import Script, ScriptRaised, ScriptStopped

pytestmark = pytest.mark.worker


@pytest.fixture(autouse=True)
def surroundings():
    """run_script keeps __main__ and sys.path for the trace: tests put them back."""
    main, path = sys.modules["__main__"], list(sys.path)
    yield
    sys.modules["__main__"] = main
    sys.path[:] = path


def script(tmp_path: Path, text: str, *arguments: str, name: str = "script.py") -> Script:
    file = tmp_path / name
    file.write_text(textwrap.dedent(text))
    return Script(file, None, list(arguments))


def record(tmp_path, text, *arguments, **options):
    recorder = Recorder(**options)
    main = run_script(script(tmp_path, text, *arguments), recorder)
    return recorder, main


def by_name(recorder):
    return {c.name: c for c in recorder.candidates.values()}


def accept(candidate, call, is_first):
    return object()


KMEANS = """
    import numpy as np

    def get_labels(X, means):
        return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)

    def scale(x):
        return x * 2.0

    X = scale(np.arange(20000.0).reshape(-1, 2))
    means = X[:2].copy()
    for _ in range(3):
        labels = get_labels(X, means)
    X[:] = -1
    means[:] = -1
"""


def test_the_hot_function_is_found_and_named(tmp_path):
    recorder, _ = record(tmp_path, KMEANS)
    choices, refusals = choose(recorder, "script.py", None, "time", accept)
    assert [c.candidate.name for c in choices] == ["get_labels"]
    assert choices[0].sentence.endswith("% of the time in get_labels")
    assert choices[0].call.count == 3
    assert choices[0].call.text() == "float64[10000, 2], float64[2, 2]"
    assert refusals == []


MAKER = """
    import numpy as np

    def grid(nx, ny, maxiter):
        z = np.zeros((ny, nx))
        for _ in range(maxiter):
            z += 1
        return z, z

    def size(n):
        return 2 * n
"""


def test_a_function_from_numbers_to_numbers_is_found_where_it_takes_a_while(tmp_path):
    text = """
        import numpy as np

        def size():
            return 7

        def half(n):
            return n / 2

        def estimate(n, seed):
            rng = np.random.default_rng(seed)
            inside = 0
            for _ in range(n):
                x, y = rng.random(), rng.random()
                if x * x + y * y <= 1.0:
                    inside += 1
            return 4.0 * inside / n

        print(half(size()), estimate(100_000, 3))
    """
    recorder, _ = record(tmp_path, text)
    assert not recorder.candidates
    choices, _ = choose(recorder, "script.py", None, "time", accept)
    assert [(c.candidate.name, c.call.args) for c in choices] == [("estimate", (100_000, 3))]


def test_a_function_of_numbers_that_gives_back_arrays_is_found_where_no_other_is(tmp_path):
    recorder, _ = record(tmp_path, MAKER + "    for _ in range(2):\n        grid(size(3), 4, maxiter=5)\n")
    choices, refusals = choose(recorder, "script.py", None, "time", accept)
    assert [(c.candidate.name, c.call.count, refusals) for c in choices] == [("grid", 2, [])]
    assert (choices[0].call.args, choices[0].call.kwargs) == ((6, 4), {"maxiter": 5})


def test_a_function_of_numbers_is_left_alone_beside_one_of_arrays_unless_it_is_named(tmp_path):
    text = MAKER + "    def total(x):\n        return x.sum()\n\n    total(grid(300, 400, 50)[0])\n"
    recorder, _ = record(tmp_path, text)
    assert [c.candidate.name for c in choose(recorder, "script.py", None, "time", accept)[0]] == ["total"]
    recorder, _ = record(tmp_path, text, only="grid")
    assert [c.candidate.name for c in choose(recorder, "script.py", "grid", "time", accept)[0]] == ["grid"]


def test_arguments_are_copied_before_the_call(tmp_path):
    recorder, main = record(tmp_path, KMEANS)
    call = next(iter(by_name(recorder)["get_labels"].calls.values()))
    assert call.args[0][1, 0] == 4.0
    assert main.X[1, 0] == -1.0


def test_a_function_that_changes_its_argument_is_recorded_as_it_was_called(tmp_path):
    recorder, _ = record(
        tmp_path,
        """
        import numpy as np
        def double(x):
            x *= 2
            return x
        double(np.ones(5))
        """,
    )
    (call,) = by_name(recorder)["double"].calls.values()
    assert call.args[0].tolist() == [1.0] * 5


@pytest.mark.parametrize(
    "make", ["np.asfortranarray(a)", "a[::2]", "a[:, ::-1]", "a.T", "np.broadcast_to(a[0], (4, 6))"]
)
def test_copies_keep_values_and_layout_class(tmp_path, make):
    recorder, main = record(
        tmp_path,
        f"""
        import numpy as np
        a = np.arange(24.0).reshape(4, 6)
        b = {make}
        def f(x):
            return x + 1
        f(b)
        """,
    )
    (call,) = by_name(recorder)["f"].calls.values()
    copied = call.args[0]
    assert np.array_equal(copied, main.b) and not np.shares_memory(copied, main.b)
    if 0 not in main.b.strides:
        assert copied.strides == main.b.strides


def test_the_users_own_functions_are_back_after_the_run(tmp_path):
    _, main = record(tmp_path, KMEANS)
    assert main.get_labels.__code__.co_filename.endswith("script.py")
    assert not hasattr(main.get_labels, "__tilewright_recorded__")


def test_the_outermost_hot_function_that_compiles_is_chosen(tmp_path):
    recorder, _ = record(
        tmp_path,
        """
        import numpy as np
        def distance(x):
            return np.sqrt(x * x)
        def work(x):
            return distance(x) + 1
        def loop(x):
            for _ in range(5):
                work(x)
        loop(np.ones(100000))
        """,
    )

    def try_trace(candidate, call, is_first):
        return "has a loop" if candidate.name == "loop" else object()

    choices, refusals = choose(recorder, "s.py", None, "time", try_trace)
    assert [c.candidate.name for c in choices] == ["work"]
    assert refusals == ["loop: not tuned: has a loop"]


@pytest.mark.parametrize(
    ("workload", "sizes"), [("first", [10]), ("largest", [100000]), ("all", [10, 100000, 1000]), ("time", [1000])]
)
def test_which_call_is_tuned(tmp_path, workload, sizes):
    recorder, _ = record(
        tmp_path,
        """
        import time
        import numpy as np
        def f(x):
            if x.size == 1000:
                time.sleep(0.1)
            return x + 1
        for n in (10, 100000, 1000, 1000):
            f(np.ones(n))
        """,
    )
    choices, _ = choose(recorder, "s.py", None, workload, accept)
    assert [c.call.args[0].size for c in choices] == sizes


def test_a_first_call_that_takes_hardly_any_time_does_not_stand_for_the_others(tmp_path):
    recorder, _ = record(
        tmp_path,
        """
        import time
        import numpy as np
        def f(x):
            time.sleep(0.02 * x[0])
            x += 1
        x = np.zeros(5)
        for k in range(9):
            f(x)
            x[:] = 1
        """,
    )
    (call,) = by_name(recorder)["f"].calls.values()
    assert call.count == 9 and call.args[0][0] == 1  # as it was before the call


def test_functions_of_modules_beside_the_script_are_seen(tmp_path):
    (tmp_path / "mine.py").write_text("import numpy as np\ndef f(x):\n    return x + 1\ndef g(x):\n    return x + 2\n")
    recorder, _ = record(
        tmp_path,
        """
        import numpy as np
        import mine
        from mine import g
        mine.f(np.ones(3)); g(np.ones(3))
        """,
    )
    sys.modules.pop("mine", None)
    assert sorted(one.name for one in recorder.candidates.values()) == ["f", "g"]  # each once


def test_script_sees_what_python_would_show_it(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("MPLBACKEND", raising=False)
    _, main = record(
        tmp_path,
        """
        import os, sys
        import numpy as np
        args = sys.argv[1:]
        name = __name__
        first = sys.path[0]
        backend = os.environ["MPLBACKEND"]
        stdin = sys.stdin.read() + sys.stdin.buffer.read().decode()
        x: int = 3
        names = [k for k in locals() if k == "args"]
        print("to the user")
        os.system("echo from a child")
        def f(x):
            return x
        f(np.ones(2))
        """,
        "--n",
        "3",
    )
    assert main.args == ["--n", "3"]
    assert main.name == "__main__"
    assert main.first == str(tmp_path)
    assert main.backend == "Agg"
    assert main.stdin == ""
    assert main.names == ["args"]
    out, err = capfd.readouterr()
    assert out == ""
    assert "to the user" in err and "from a child" in err


def test_module_is_run_as_python_m_does(tmp_path, monkeypatch):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("def f(x):\n    return x + 1\n")
    (package / "mod.py").write_text("import numpy as np\nfrom .helper import f\ny = f(np.ones(4))\n")
    monkeypatch.chdir(tmp_path)
    recorder = Recorder()
    main = run_script(Script(None, "pkg.mod"), recorder)
    for name in ("pkg", "pkg.helper"):
        sys.modules.pop(name, None)
    assert main.y.tolist() == [2.0] * 4
    assert set(by_name(recorder)) == {"f"}


def test_a_script_that_raises_shows_its_own_traceback_only(tmp_path, capfd):
    with pytest.raises(ScriptRaised) as error:
        record(
            tmp_path,
            """
            import numpy as np
            def f(x):
                raise ValueError("of the user")
            f(np.ones(3))
            """,
        )
    assert str(error.value).endswith("script.py: raised ValueError.")
    text = capfd.readouterr().err
    assert "ValueError: of the user" in text
    assert 'script.py", line 5, in <module>' in text
    assert "tilewright" not in text.replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "script.py:1: does not parse: invalid syntax: 'def f(:'. Fix the script first."),
        ("x = 1\n\x00", "does not parse:"),
    ],
)
def test_a_script_that_does_not_parse(tmp_path, text, message):
    with pytest.raises(ScriptStopped) as error:
        record(tmp_path, text)
    assert message in str(error.value)


def test_a_script_that_is_not_there(tmp_path):
    with pytest.raises(ScriptStopped) as error:
        run_script(Script(tmp_path / "none.py"), Recorder())
    assert str(error.value) == f"{tmp_path}/none.py: no such file."
    with pytest.raises(ScriptStopped) as error:
        run_script(Script(None, "no.such.module"), Recorder())
    assert "-m no.such.module: not found" in str(error.value)


def test_nothing_called(tmp_path):
    recorder, _ = record(tmp_path, "import numpy as np\nx = np.ones(3) + 1\n")
    with pytest.raises(NothingToTune) as error:
        choose(recorder, "s.py", None, "time", accept)
    assert str(error.value) == (
        "s.py: no function of the script was called with NumPy arrays. Put the slow code into a function that takes its "
        "arrays as arguments, and call it."
    )
    recorder, _ = record(tmp_path, KMEANS, only="nearest")
    with pytest.raises(NothingToTune) as error:
        choose(recorder, "s.py", "nearest", "time", accept)
    assert "no call of nearest with NumPy arrays was seen" in str(error.value)


def test_the_script_stops_once_nothing_more_can_be_learnt(tmp_path, monkeypatch):
    monkeypatch.setattr("tilewright.record.capture._SETTLED_AFTER_S", 0.05)
    text = """
        import time
        import numpy as np
        calls = 0
        def f(x):
            time.sleep(0.01)
            return x
        try:
            for _ in range(1000):
                f(np.ones(4))
                calls += 1
        except Exception:
            pass
    """
    _, main = record(tmp_path, text)
    assert 0 < main.calls < 1000
    _, main = record(tmp_path, text.replace("1000", "20"), run_all=True)
    assert main.calls == 20


def test_sys_exit_after_some_work_is_an_end(tmp_path):
    recorder, _ = record(tmp_path, KMEANS + "\n    import sys; sys.exit(3)\n")
    assert "get_labels" in by_name(recorder)
    with pytest.raises(ScriptRaised):
        record(tmp_path, "import sys; sys.exit(3)\n")


@pytest.mark.parametrize(
    ("file", "stem"), [("2d-kmeans.py", "_2d_kmeans"), ("kmeans.py", "kmeans"), ("a b.c.py", "a_b_c")]
)
def test_names_of_modules(file, stem):
    assert Script(Path(file)).stem == stem
    assert Script(None, "pkg.mod").stem == "mod"


def test_os_exit_ends_the_script_and_not_the_command(tmp_path):
    import os

    before = os._exit
    recorder, _ = record(tmp_path, KMEANS + "\n    import os; os._exit(3)\n")
    assert "get_labels" in by_name(recorder)
    with pytest.raises(ScriptRaised, match="stopped with exit code 3"):
        record(tmp_path, "import os; os._exit(3)\n")
    assert os._exit is before


def test_a_forked_child_of_the_script_still_leaves_by_os_exit(tmp_path):
    _, main = record(
        tmp_path, "import os\nchild = os.fork()\nif not child: os._exit(7)\nended = os.waitpid(child, 0)[1]\n"
    )
    assert main.ended == 7 << 8


def test_os_exit_in_a_thread_is_said(tmp_path):
    file = tmp_path / "threaded.py"
    file.write_text("import os, threading\nt = threading.Thread(target=os._exit, args=(0,))\nt.start()\nt.join()\n")
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", str(file)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "threaded.py: called os._exit(0) in a thread; nothing was tuned." in done.stderr


def test_a_script_given_through_another_folder_is_the_users(tmp_path, monkeypatch):
    here, there = tmp_path / "a", tmp_path / "b"
    here.mkdir()
    there.mkdir()
    (there / "blur.py").write_text(textwrap.dedent(KMEANS))
    monkeypatch.chdir(here)
    recorder = Recorder()
    run_script(Script(Path("../b/blur.py")), recorder)
    assert "get_labels" in by_name(recorder)


@pytest.mark.parametrize("link", ["folder", "file"])
def test_a_script_below_a_symlink_is_the_users(tmp_path, link):
    real = tmp_path / "real"
    real.mkdir()
    (real / "helper_of_link.py").write_text("import numpy as np\ndef f(x):\n    return x + 1\n")
    (real / "script.py").write_text("import numpy as np\nfrom helper_of_link import f\nf(np.ones(3))\n")
    if link == "folder":
        (tmp_path / "link").symlink_to(real)
        given = tmp_path / "link" / "script.py"
    else:
        (tmp_path / "other").mkdir()
        given = tmp_path / "other" / "script.py"
        given.symlink_to(real / "script.py")
    recorder = Recorder()
    run_script(Script(given), recorder)
    sys.modules.pop("helper_of_link", None)
    assert set(by_name(recorder)) == {"f"}


def test_what_is_installed_is_not_the_users(tmp_path, monkeypatch):
    from tilewright.record.ownership import Users

    project, target = tmp_path / "project", tmp_path / "libs"
    for folder in (project / "src", project / "env" / "site-packages", target / "some-1.0.dist-info"):
        folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(target))
    users = Users(project / "scripts")
    assert users.has_file(str(project / "src" / "pkg.py"))
    assert users.has_file("<string>")
    for file in (project / "env" / "site-packages" / "pkg.py", target / "some.py", np.__file__, textwrap.__file__,
                 sys.modules["tilewright.record.choose"].__file__, "<frozen importlib._bootstrap>", "relative.py"):  # fmt: skip
        assert not users.has_file(str(file)), file


def test_methods_are_seen_with_the_arrays_of_their_object(tmp_path):
    text = """
        import numpy as np
        from dataclasses import dataclass
        @dataclass
        class Model:
            weights: np.ndarray
            scale: float = 2.0
            def apply(self, x):
                return self.inner(x) * self.scale
            def inner(self, x):
                return x @ self.weights
            @staticmethod
            def unit(x):
                return x / x.max()
            @classmethod
            def make(cls, x):
                return cls(cls.unit(x))
            def describe(self):
                return "a model"
        model = Model.make(np.ones((3, 3)))
        model.apply(np.ones((5, 3)))
        model.describe()
    """
    recorder, main = record(tmp_path, text)
    assert {c.name: c.calls and next(iter(c.calls.values())).text() for c in recorder.candidates.values()} == {
        "Model.make": "type, float64[3, 3]",
        "Model.unit": "float64[3, 3]",
        "Model.apply": "Model(.weights float64[3, 3]), float64[5, 3]",
        "Model.inner": "Model(.weights float64[3, 3]), float64[5, 3]",
        "Model.describe": "Model(.weights float64[3, 3])",
    }
    for name in ("apply", "unit", "make"):
        assert not hasattr(getattr(main.Model, name), "__tilewright_recorded__")
    for only in ("Model.inner", "inner"):
        recorder, _ = record(tmp_path, text, only=only)
        assert set(by_name(recorder)) == {"Model.inner"}


DECORATED = """
    import functools, time
    import numpy as np

    def timed(f):
        @functools.wraps(f)
        def wrapper(*args):
            start = time.perf_counter()
            result = f(*args)
            wrapper.spent = time.perf_counter() - start
            return result
        return wrapper

    def bare(f):
        def call(x):
            return f(x)
        return call

    class Counted:
        def __init__(self, f):
            self.f, self.calls = f, 0

        def __call__(self, x):
            self.calls += 1
            return self.f(x)

    def recursive():
        def again(x, n):
            return x if n == 0 else again(x + 1, n - 1)
        return again

    @timed
    def a(x):
        return np.sqrt(x) + 1

    @timed
    @bare
    @timed
    def b(x):
        return np.sqrt(x) + 2

    @Counted
    def c(x):
        return np.sqrt(x) + 3

    class Model:
        @timed
        def d(self, x):
            return np.sqrt(x) + 4

    e = recursive()
    originals = [a.__wrapped__, c.f, e.__closure__[0].cell_contents]
    x = np.arange(1000.0)
    results = [a(x), b(x), c(x), Model().d(x), e(x, 3)]
"""


def test_what_decorators_wrap_is_seen(tmp_path):
    recorder, main = record(tmp_path, DECORATED)
    plain = [c for c in recorder.candidates.values() if "sqrt" in c.function.__code__.co_names]
    assert sorted(c.name for c in plain) == ["a", "b", "c", "d"]
    for k, result in enumerate(main.results[:4]):
        np.testing.assert_array_equal(result, np.sqrt(main.x) + k + 1)
    np.testing.assert_array_equal(main.results[4], main.x + 3)
    # What the script wrote stands where it did.
    assert not any(hasattr(f, "__tilewright_recorded__") for f in main.originals[:1])
    for wrapper in (main.a, main.b, main.Model.d, main.e):
        assert not any(hasattr(cell.cell_contents, "__tilewright_recorded__") for cell in wrapper.__closure__)
    assert not hasattr(main.c.f, "__tilewright_recorded__")


def test_of_a_function_and_its_wrapper_one_is_tuned(tmp_path):
    recorder, _ = record(tmp_path, DECORATED, only="b")
    choices, _ = choose(recorder, "script.py", "b", "time", accept)
    assert len(choices) == 1
    recorder, _ = record(tmp_path, DECORATED, only="a")

    def no_clock(candidate, call, is_first):
        return "it reads the clock" if "start" in candidate.function.__code__.co_varnames else object()

    choices, refusals = choose(recorder, "script.py", "a", "time", no_clock)
    assert [c.candidate.function.__code__.co_varnames for c in choices] == [("x",)]
    assert refusals == ["a: not tuned: it reads the clock"]
    names = [row.function for row in time_rows(recorder)]
    assert sum(name.startswith("a (line ") for name in names) == 2


def test_functions_of_a_package_that_is_not_beside_the_script_are_seen(tmp_path):
    package = tmp_path / "src" / "pkg_of_src"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .run import run\n")
    (package / "run.py").write_text(
        "import numpy as np\nfrom .kernels import work\ndef run(n):\n    return work(np.ones(n))\n"
    )
    (package / "kernels.py").write_text("def work(x):\n    return x * 2\n")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "go.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path / 'src')!r})\nfrom pkg_of_src import run\nrun(5)\n"
    )
    recorder = Recorder()
    main = run_script(Script(script), recorder)
    kernels = sys.modules["pkg_of_src.kernels"]
    assert set(by_name(recorder)) == {"work"}
    assert not hasattr(main.run, "__tilewright_recorded__") and not hasattr(kernels.work, "__tilewright_recorded__")
    assert main.run.__globals__["work"] is kernels.work
    for name in [name for name in sys.modules if name.startswith("pkg_of_src")]:
        del sys.modules[name]


POOL = """
    import multiprocessing
    import numpy as np
    def f(x):
        return x + 1
    if __name__ == "__main__":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            results = pool.map(f, [np.ones(3)] * 400, chunksize=1)
"""


def test_children_of_a_pool_are_left_alone_and_said_so(tmp_path):
    recorder, main = record(tmp_path, POOL, first_only=True)
    assert [r.tolist() for r in main.results] == [[2.0] * 3] * 400
    assert not recorder.candidates and recorder.calls_in_children == 400  # of two processes, often at one moment
    with pytest.raises(NothingToTune) as error:
        choose(recorder, "s.py", None, "time", accept)
    assert str(error.value) == (
        "s.py: 400 calls of its functions with NumPy arrays ran in child processes (multiprocessing), which are left alone. "
        "Call the function once in the script itself, before the children start."
    )


def test_where_the_time_went(tmp_path):
    from tilewright.record.times import time_lines, time_rows

    text = """
        import time
        import numpy as np
        def inner(x):
            time.sleep(0.1)
            return x
        def outer(x):
            time.sleep(0.02)
            return inner(x)
        def refused(x):
            time.sleep(0.8)
        def small(x):
            time.sleep(0.01)
        def plain():
            time.sleep(0.03)
        x = np.ones(3)
        refused(x); outer(x); outer(x); small(x); plain()
        time.sleep(0.02)
    """
    recorder, _ = record(tmp_path, text)
    choose(recorder, "s.py", None, "time", lambda c, *_: "no rule" if c.name == "refused" else object())
    rows = {row.function: row for row in time_rows(recorder)}
    assert list(rows)[:3] == ["refused", "outer", "inner"] and list(rows)[-1] == "elsewhere"
    assert {name: (row.calls, row.fate) for name, row in rows.items()} == {
        "outer": (2, "chosen"),
        "refused": (1, "not tuned (see below)"),
        "inner": (2, "compiled along with outer"),
        "plain": (1, "not tuned: it takes no arrays"),
        "small": (1, "not tuned: others take longer; --function small tries it"),
        "elsewhere": (None, ""),
    }
    assert rows["outer"].own_ns < rows["inner"].total_ns < rows["outer"].total_ns
    assert abs(sum(row.own_ns for row in rows.values()) / recorder.script_ns - 1) < 1e-6
    lines = time_lines(recorder)
    assert re.fullmatch(r"where the script's [\d.]+ m?s went:", lines[0])
    assert lines[1].split() == ["function", "calls", "time", "share", "itself"]
    assert lines[3].split()[:2] == ["outer", "2"] and lines[3].endswith("  chosen")


def test_where_a_module_cannot_have_the_first_one_that_it_can_have_is_taken_too(tmp_path):
    recorder, _ = record(
        tmp_path,
        """
        import time
        import numpy as np
        def inner(x):
            time.sleep(0.05)
        def first(x):
            inner(x)
        def second(x):
            time.sleep(0.02)
        first(np.ones(3)); second(np.ones(3))
        """,
    )

    def why(candidate, traced):
        return "no module has it." if candidate.name == "first" else ""

    def chosen(why, **options):
        choices, refusals = choose(recorder, "s.py", None, "time", accept, why_no_module=why, **options)
        assert refusals == []
        for candidate in recorder.candidates.values():
            candidate.fate = ""
        return [(c.candidate.name, c.why_no_module) for c in choices]

    assert chosen(why) == [("first", "no module has it."), ("inner", "")]
    assert chosen(lambda c, t: "none.") == [("first", "none.")]
    # second is one that a module can have: what is inside of the first one is compiled along with it.
    assert chosen(why, covers=True) == [("first", "no module has it."), ("second", "")]


COVERED = """
    import time
    import numpy as np
    def a(x):
        time.sleep(0.05)
        return b(x)
    def b(x):
        time.sleep(0.03)
        return x
    def c(x):
        time.sleep(0.05)
    def d(x):
        time.sleep(0.07)
    def short(x):
        return x
    def shorter(x):
        return x
    x = np.ones(3)
    a(x); b(x); c(x); d(x); short(x); shorter(x); short(x.astype(np.float32))
"""


def test_functions_are_taken_until_the_time_is_covered(tmp_path):
    recorder, _ = record(tmp_path, COVERED)

    def chosen(try_trace=accept, **options):
        choices, refusals = choose(recorder, "s.py", None, "time", try_trace, **options)
        for candidate in recorder.candidates.values():
            candidate.fate = ""
        return [c.candidate.name for c in choices], refusals

    assert chosen() == (["a"], [])
    # b is called from outside of a, too; what takes no time is not worth a search, unless it is in a module already.
    assert chosen(covers=True) == (["a", "d", "b", "c"], [])
    assert chosen(covers=True, wanted=["shorter"]) == (["a", "d", "b", "c", "shorter"], [])

    def refused(candidate, call, is_first):
        return "no" if candidate.name in "ad" else object()

    assert chosen(refused, covers=True) == (["b", "c"], ["a: not tuned: no", "d: not tuned: no"])


def test_what_is_called_by_chosen_functions_alone_is_not_chosen(tmp_path):
    recorder, _ = record(tmp_path, COVERED.replace("a(x); b(x);", "a(x); a(x);"))
    choices, _ = choose(recorder, "s.py", None, "time", accept, covers=True)
    assert [c.candidate.name for c in choices] == ["a", "d", "c"]
    choices, _ = choose(recorder, "s.py", None, "time", accept, covers=True, wanted=["b"])
    assert {"a", "b"} <= {c.candidate.name for c in choices}


def test_calls_of_other_programs_are_chosen_where_they_count(tmp_path):
    recorder, _ = record(
        tmp_path,
        """
        import time
        import numpy as np
        def f(x):
            time.sleep(0.03 if x.dtype == float else 0.02 if x.dtype == np.float32 else 0.0)
        for n in (10, 20, 30):
            f(np.ones(n)); f(np.ones(n, np.float32)); f(np.ones(n, int))
        """,
    )
    programs = {}

    def try_trace(candidate, call, is_first):
        return programs.setdefault(call.args[0].dtype, object())

    choices, _ = choose(recorder, "s.py", None, "time", try_trace, covers=True)
    assert [c.call.args[0].dtype for c in choices] == [np.float64, np.float32]

    # One that is refused is none of the function's.
    def refused(candidate, call, is_first):
        return object() if is_first else "no"

    choices, refusals = choose(recorder, "s.py", None, "time", refused, covers=True)
    assert len(choices) == 1 and refusals == []


def test_loops_of_the_top_level_are_chosen_as_functions_are(tmp_path):
    text = """
        import numpy as np
        x = np.zeros((300, 300))
        for step in range(200):
            x[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]) + 1.0
        print(x.sum())
    """
    recorder, main = record(tmp_path, text, covers=True)
    choices, _ = choose(recorder, "s.py", None, "time", accept, covers=True)
    assert [c.candidate.name for c in choices] == ["lines_3_to_5"]
    plain, _ = record(tmp_path, text)
    assert not plain.candidates and main.x.sum() > 0


def test_a_graph_of_objects_is_looked_at_from_its_start(tmp_path):
    recorder, main = record(
        tmp_path,
        """
        import numpy as np
        class Node:
            def __init__(self, depth):
                self.children = [Node(depth - 1) for _ in range(9)] if depth else []
                self.parent = self
                self.x = np.ones(2)
        def total(node):
            return node.x.sum()
        total(Node(3))
        """,
    )
    ((call,),) = [list(c.calls.values()) for c in recorder.candidates.values()]
    assert call.text().startswith("Node(.x float64[2], .children[0].x float64[2], ") and call.text().endswith(", …)")


def test_what_grows_is_copied_for_a_few_sizes_alone(tmp_path):
    recorder, _ = record(
        tmp_path,
        """
        import numpy as np
        def f(items):
            return items[-1] + 1
        items = []
        for n in range(100):
            items.append(np.ones(n + 1))
            f(items)
        """,
    )
    (candidate,) = recorder.candidates.values()
    assert candidate.count == 100 and len(candidate.calls) < 70


def test_whose_a_file_is_is_answered_without_an_import():
    # Finders of modules ask it: in Python 3.13 one for each module that the answer imported, without end.
    code = """
        import sys
        from tilewright.record.ownership import Users
        users = Users("/nowhere")

        class Refuses:
            def find_spec(self, name, path=None, target=None):
                raise AssertionError(name)

        sys.meta_path.insert(0, Refuses())
        print(users.has_file("/elsewhere/mine.py"), users.has_file(sys.modules["os"].__file__))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True False\n", "")


def test_pure_functions_that_a_script_calls_are_seen(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pure_here.py").write_text(
        "import zlib, tilewright\n@tilewright.stage\ndef checksum(x):\n    return zlib.crc32(x.tobytes())\n"
    )
    text = """
        import numpy as np
        import pure_here
        def work(x):
            return x * pure_here.checksum(x * 2.0)
        def talks(x):
            print("called")
            return x * 2.0
        talks(work(np.ones(3)))
        """
    found = prepare(script(tmp_path, text), Request(function="work"))
    sys.modules.pop("pure_here", None)
    assert [one.choice.candidate.name for one in found.prepared] == ["work"]
    with pytest.raises(
        NothingToTune, match=r"talks: not tuned: script\.py:\d+: print\(\) in print\('called'\); it may do more than"
    ):
        prepare(script(tmp_path, text), Request(function="talks"))
    sys.modules.pop("pure_here", None)
