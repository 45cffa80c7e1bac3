"""The command's smaller verbs and options: version, several scripts at once, stale modules, what is shown, what the store lists."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import tilewright
from tilewright import machine, settings
from tilewright.cli.parse import jit_target, targets

pytestmark = pytest.mark.worker

ROOT = Path(__file__).resolve().parents[2]

BUILD = ("--build-only", "--target", "x86-64")  # each level of a module takes as long as the first

SCRIPT = """
import numpy as np

SHIFT = 1.5

def helper(x):
    return x + SHIFT

def work(x):
    return np.sqrt(helper(x)) * 2

work(np.arange(200_000.0))
"""


class Place:
    def __init__(self, folder):
        self.folder = folder
        (folder / "s.py").write_text(SCRIPT)
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "COLUMNS": "200"}
        self.environment.pop("TILEWRIGHT_DB", None)

    def autotune(self, *arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", *arguments], cwd=self.folder, env=self.environment, capture_output=True,
            text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr or "mine" in done.stderr, done.stderr
        return done.stdout, done.stderr


@pytest.fixture
def place(tmp_path, data_home):
    return Place(tmp_path)


def test_version(place):
    out, _ = place.autotune("--version")
    assert out == f"tilewright {tilewright.__version__}\n"


def test_several_scripts_at_once_end_in_a_summary(place):
    (place.folder / "broken.py").write_text("raise ValueError('mine')\n")
    (place.folder / "empty.py").write_text("import numpy as np\n")
    out, err = place.autotune("s.py", "broken.py", "empty.py", "--jobs", "2", "--budget", "5s", "--trials", "2", code=3)
    head, *rows, last = out.splitlines()
    assert head.split() == ["script", "exit", "time", "gain"]
    assert re.fullmatch(r"s\.py +0 +[\d.]+ m?s +[\d.]+x  work: NumPy .*", rows[0])
    assert re.fullmatch(r"broken\.py +1 +[\d.]+ m?s +raised ValueError\.", rows[1])
    assert re.fullmatch(
        r"empty\.py +2 +[\d.]+ m?s +no function of the script was called with NumPy arrays\. .*", rows[2]
    )
    assert last == "3 scripts: 1 tuned, 1 without a module, 1 failed"
    assert [line for line in err.splitlines() if line.startswith("== ")][-1]
    assert "ValueError: mine" in err
    out, _ = place.autotune("s.py", "broken.py", "--json", *BUILD, code=3)
    assert [(row["script"], row["exit"]) for row in json.loads(out)] == [("s.py", 0), ("broken.py", 1)]


def test_jobs_are_of_several_scripts(place):
    _, err = place.autotune("s.py", "--jobs", "2", code=2)
    assert err == "autotune: --jobs 2: applies to several scripts, but one is given. Leave it out.\n"


def test_a_module_of_another_function_is_not_lost(place):
    place.autotune("s.py", *BUILD, "--function", "work")
    _, said = place.autotune("s.py", *BUILD, "--function", "helper", code=2)
    assert said.splitlines()[-1] == (
        f"autotune: {place.folder}/s_tuned: it has work, which a module of helper would not have. "
        "Give --out s_helper_tuned for helper, or --force to overwrite it."
    )
    place.autotune("s.py", *BUILD, "--function", "helper", "--out", "s_helper_tuned")
    place.autotune("s.py", *BUILD, "--function", "work")
    out, _ = place.autotune("s.py", *BUILD, "--function", "helper", "--force")
    assert "from s_tuned import helper\n" in out


def test_check_says_which_modules_are_stale(place):
    place.autotune("s.py", *BUILD)
    assert place.autotune("check", "s_tuned") == ("s_tuned: up to date\n", "")
    assert place.autotune("check") == ("s_tuned: up to date\n", "")
    (place.folder / "s.py").write_text("# a comment\n" + SCRIPT.replace("work(np", "work( np"))
    assert place.autotune("check", ".") == ("s_tuned: up to date\n", "")
    for change, told in [
        (("* 2", "* 3"), "work in s.py has changed"),
        (("x + SHIFT", "x - SHIFT"), "helper in s.py has changed"),
        (("SHIFT = 1.5", "SHIFT = 2.5"), "SHIFT in s.py is 2.5, and was 1.5"),
        (("def helper", "def helped"), "s.py has no function helper any more"),
    ]:
        (place.folder / "s.py").write_text(SCRIPT.replace(*change))
        assert place.autotune("check", "s_tuned", code=1) == (f"s_tuned: stale: {told}\n", "")
    (place.folder / "s.py").write_text(SCRIPT)
    shutil.copytree(place.folder / "s_tuned", place.folder / "mine")
    (place.folder / "others").mkdir()
    (place.folder / "others" / "evidence.json").write_text('["of somebody else"]')
    assert place.autotune("check") == ("mine: up to date\ns_tuned: up to date\n", "")
    (place.folder / "s.py").unlink()
    out, _ = place.autotune("check", "s_tuned", "--json", code=1)
    assert json.loads(out) == [
        {
            "module": "s_tuned",
            "stale": [
                "s.py is not there, which work was compiled from",
                "s.py is not there, which helper was compiled from",
            ],
        }
    ]


def test_check_sees_files_formats_and_versions(place):
    place.autotune("s.py", *BUILD)
    folder = place.folder / "s_tuned"
    (folder / "plan0.txt").write_text("damaged")
    (folder / "py.typed").unlink()
    out, _ = place.autotune("check", "s_tuned", code=1)
    assert out == "s_tuned: stale: its file plan0.txt has changed; its file py.typed is missing\n"
    evidence = json.loads((folder / "evidence.json").read_text())
    evidence["files"] = {}
    (folder / "evidence.json").write_text(json.dumps({**evidence, "tilewright": "0.0.1"}))
    out, _ = place.autotune("check", "s_tuned", code=1)
    assert out == f"s_tuned: stale: made by tilewright 0.0.1, and this is {tilewright.__version__}\n"
    (folder / "evidence.json").write_text(json.dumps({**evidence, "format": 0}))
    out, _ = place.autotune("check", "s_tuned", code=1)
    assert out == "s_tuned: stale: made in format 0, and this tilewright writes format 2\n"
    (folder / "evidence.json").write_text("{")
    assert place.autotune("check", "s_tuned", code=1)[0] == "s_tuned: stale: its evidence.json cannot be read\n"
    for name, what in (("none", "no such folder"), ("data", "neither a module of ours nor a folder that holds one")):
        (place.folder / "data").mkdir(exist_ok=True)
        assert place.autotune("check", name, code=2) == ("", f"autotune: check: {name}: {what}.\n")


def test_what_is_tuned_and_measured_is_the_code_that_the_module_holds(place):
    place.autotune("s.py", "--budget", "2s", "--trials", "2", "--target", "x86-64")
    evidence = json.loads((place.folder / "s_tuned" / "evidence.json").read_text())
    (tuned,) = (place.folder / "s_tuned" / "schedules").glob("*.tuned.tws")
    assert evidence["isa_levels"] == ["x86-64"] and tuned.read_text().splitlines()[1] == "schedule work for x86-64"
    (place.folder / "own.tws").write_text(tuned.read_text())
    out, _ = place.autotune("s.py", "--budget", "2s", "--target", "x86-64", "--schedule", "own.tws")
    assert "work: your schedule " in out


def products(a, b):
    return np.tanh(a @ b)


def test_a_module_without_libraries_was_searched_without_them(place, monkeypatch, caplog):
    (place.folder / "p.py").write_text(
        "import numpy as np\ndef products(a, b):\n    return np.tanh(a @ b)\nproducts(*np.ones((2, 300, 300)))\n"
    )
    out, _ = place.autotune("p.py", "--no-libs", "--budget", "2s", "--trials", "2")
    assert "result equal under contract reproducible" in out
    evidence = json.loads((place.folder / "p_tuned" / "evidence.json").read_text())
    (tuned,) = (place.folder / "p_tuned" / "schedules").glob("*.tuned.tws")
    assert "blas" not in tuned.read_text() and evidence["needs"] == ["numpy"]
    _, err = place.autotune("p.py", "--no-libs", "--contract", "fast", code=2)
    assert err == "autotune: --no-libs: code of --contract fast calls libraries. Choose numpy or reproducible.\n"

    a, b = np.ones((2, 300, 300))
    monkeypatch.chdir(place.folder)
    fast = tilewright.jit(products, contract="fast").for_args(a, b)
    with pytest.raises(tilewright.ExportError, match="libraries=False: code of contract fast calls libraries"):
        fast.function.export("fast_tuned", libraries=False)
    called = tilewright.jit(products)
    specialization = called.for_args(a, b)
    specialization.schedule = specialization.schedule
    assert "blas" in specialization.schedule
    called.export("called_tuned", libraries=False)
    assert "the schedule in use calls a library, and the module is to have none" in caplog.text
    assert not list((place.folder / "called_tuned").rglob("*tuned.tws"))


@pytest.mark.parametrize(
    ("asked", "tuned"),
    [
        ("host", "x86-64-v3"), ("x86-64", "x86-64"), ("x86-64-v4", "host"), ("x86-64,x86-64-v4", "x86-64"), ("cuda", "cuda-sm_80"),
        ("x86-64-v4,x86-64-v3,cuda-sm_70", "x86-64-v3,cuda-sm_70"), ("host,cuda-sm_75", "x86-64-v3,cuda-sm_75"),
        ("cuda-sm_70,cuda-sm_80,cuda-sm_86", "cuda-sm_80"),
    ],
)  # fmt: skip
def test_the_level_to_tune_for(asked, tuned, monkeypatch):
    """On a machine of x86-64-v3 with devices of compute capability 9.0 and 8.0."""
    monkeypatch.setattr(machine, "host_isa", lambda: "x86-64-v3")
    monkeypatch.setattr(machine._face, "no_device_reason", lambda: "")
    monkeypatch.setattr(machine._face, "devices", lambda: [{"capability": (9, 0)}, {"capability": (8, 0)}])
    assert jit_target(targets([asked])) == tuned


def test_db_list_has_date_gain_and_machine(place):
    place.autotune("s.py", "--budget", "5s", "--trials", "2")
    out, _ = place.autotune("db", "list")
    head, row, note = out.splitlines()
    assert head.split() == ["date", "time", "gain", "trials", "machine", "call"]
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d +[\d.]+ [mu]s +[\d.]+x +\d+ +this one +work\(x float64\[200000\], SHIFT float64\); stopped: .+",
        row,
    )
    assert note == "gain: the default schedule's time over that of the best one, both measured in the search"


def test_show_is_a_page_and_has_the_rest(place):
    page, _ = place.autotune("show", "s.py")
    assert len(page.splitlines()) <= 50 and all(len(line) <= 160 for line in page.splitlines())
    assert "stages:" in page and "schedule:" in page and "lowered code" not in page
    assert re.search(r"^more: --part space \(\d+ lines\), program, code \(lowered, assembly\), all;", page, re.M)
    everything, _ = place.autotune("show", "s.py", "--part", "all")
    assert "lowered code of" in everything and "space:" in everything


PRODUCT = """
import numpy as np

def mix(a, b):
    return np.sqrt(a @ b) + 1.0

mix(np.ones((300, 200)), np.ones((200, 100)))
"""


def test_show_takes_a_schedule_and_variants(place):
    (place.folder / "p.py").write_text(PRODUCT)
    usual, _ = place.autotune("show", "p.py", "--part", "stages")
    loops, _ = place.autotune("show", "p.py", "--part", "stages", "--variant", "matmul=loops")
    assert "variant matmul = loops" in loops and "variant matmul = loops" not in usual
    stages = lambda text: text.partition("stages:\n")[2].partition("variants")[0]  # noqa: E731
    assert "update(0)" in stages(loops) and stages(loops) != stages(usual)
    schedule, _ = place.autotune("show", "p.py", "--part", "schedule", "--variant", "matmul=loops")
    (place.folder / "mine.tws").write_text(schedule)
    shown, _ = place.autotune("show", "p.py", "--part", "stages", "--schedule", "mine.tws")
    assert stages(shown) == stages(loops) and "why this schedule: by hand" in shown
    for arguments, told in [
        (["--variant", "matmul"], "autotune: --variant matmul: is not a choice. Write NAME=VALUE, matmul=loops say.\n"),
        (["--variant", "matmul=loops", "--schedule", "mine.tws"],
         "autotune: --variant matmul=loops: a schedule names its own variants. Leave one out.\n"),
        (["--schedule", "none.tws"], "autotune: --schedule: none.tws: no such file or directory.\n"),
    ]:  # fmt: skip
        assert place.autotune("show", "p.py", *arguments, code=2)[1] == told
    _, err = place.autotune("show", "p.py", "--variant", "sum=loops", code=2)
    assert err.splitlines()[-1].startswith(
        "autotune: mix(a: float64[:, :], b: float64[:, :]): variant sum: there is no such variant. The variants are: "
    )
    _, err = place.autotune("show", "p.py", "--variant", "matmul=fast", code=2)
    assert "variant matmul = fast: there is no such choice. The choices are: " in err


def work(x):
    return np.sqrt(x) * 2 + x


def test_a_result_is_a_table(tmp_path):
    f = tilewright.jit(work, db=tmp_path / "s.db")
    result = f.tune(np.arange(100_000.0), budget="2s", trials=3)
    lines = repr(result).splitlines()
    assert lines[0] == "<tilewright.TuneResult work>"
    assert [line.split()[0] for line in lines[1:8] if not line.startswith("   ")] == [
        "call", "NumPy", "tuned", "gain", "default", "contract", "search",
    ]  # fmt: skip
    assert "tilewright-schedule 1" in repr(result)
    html = result._repr_html_()
    assert html.startswith("<pre") and "TuneResult of work" in html and "tilewright-schedule 1" in html


# ---- the environment ---------------------------------------------------------------------------------------------------


def test_variables_that_mean_nothing_are_named(monkeypatch):
    assert settings.problems() == []
    for name, value in {"NUM_THREADS": "abc", "POOL_MB": "-1", "CACHE_MB": "1e3", "LOG": "1", "CACHE": "/tmp"}.items():
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)
    assert settings.problems() == [
        "TILEWRIGHT_CACHE is '/tmp', which is neither on nor off: the cache stays on. XDG_CACHE_HOME names another folder",
        "TILEWRIGHT_CACHE_MB is '1e3', which is not a whole number of at least 0: it is ignored",
        "TILEWRIGHT_NUM_THREADS is 'abc', which is not a whole number of at least 1: it is ignored",
        "TILEWRIGHT_POOL_MB is '-1', which is not a whole number of at least 0: it is ignored",
        "TILEWRIGHT_LOG is not a variable of tilewright: it has no effect. Is TILEWRIGHT_LOGS meant?",
    ]


# ---- modules -----------------------------------------------------------------------------------------------------------


def in_module(folder, code):
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_module_has_its_number_of_threads(tmp_path):
    f = tilewright.jit(work)
    f.for_args(np.ones(1000))
    f.export(tmp_path / "work_tuned", targets=("x86-64",))
    out = in_module(
        tmp_path,
        """
        import work_tuned
        work_tuned.set_num_threads(1)
        print(work_tuned.get_num_threads(), sorted(work_tuned.__all__))
        """,
    )
    assert out == "1 ['evidence', 'get_num_threads', 'set_num_threads', 'work']\n"
    assert "def set_num_threads(n: int) -> None: ..." in (tmp_path / "work_tuned" / "__init__.pyi").read_text()


SCALE = np.array([1.0, 2.0, 4.0])
LIMIT = 3.0


class Weights:
    def __getattr__(self, name):  # a class that finds its attributes itself is left to NumPy
        raise AttributeError(name)

    def apply(self, x):
        return x * SCALE


def largest(x, count):
    return np.sort(Weights().apply(x.reshape(-1, 3)).ravel())[-count:]


def chosen(x, mode="plain", *, shift=1.0):
    """What a mode makes of x."""
    if mode == "plain":
        return np.sqrt(x) + shift
    shift = shift * memoryview(x).ndim  # what no stage is
    return largest(np.minimum(x, LIMIT), 2) + shift


def test_a_fallback_is_shipped_where_it_is_allowed(tmp_path):
    f = tilewright.jit(chosen)
    x = np.linspace(0.0, 9.0, 30_000)
    f.for_args(x)
    with pytest.warns(tilewright.FallbackWarning):
        f(x, "top")
    with pytest.raises(tilewright.ExportError) as error:
        f.export(tmp_path / "chosen_tuned", targets=("x86-64",))
    text = str(error.value).replace(__file__, "FILE")
    assert text.startswith("chosen: some calls run in NumPy: FILE:") and "line" not in text
    assert str(error.value).endswith(
        "Give --allow-fallback (allow_fallback=True in Python) to ship the function's Python for them."
    )
    folder = f.export(tmp_path / "chosen_tuned", allow_fallback=True, targets=("x86-64",))
    assert not (folder / "kernels.h").exists()
    stub = (folder / "__init__.pyi").read_text()
    assert "# Other calls run in NumPy, as the function was written (--allow-fallback): " in stub
    assert "def chosen(*args: Any, **kwargs: Any) -> Any:" in stub
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "top.npy", chosen(x, "top"))
    out = in_module(
        tmp_path,
        f"""
        import sys
        sys.modules['tilewright'] = None
        import numpy as np
        from chosen_tuned import chosen
        x, top = np.load({str(tmp_path / "x.npy")!r}), np.load({str(tmp_path / "top.npy")!r})
        assert np.array_equal(chosen(x), np.sqrt(x) + 1.0)
        assert np.array_equal(chosen(x, 'top'), top)
        assert np.array_equal(chosen(x.astype(np.float32), shift=2.0), np.sqrt(x.astype(np.float32)) + 2.0)
        out = np.empty(2)
        assert chosen(x, 'top', out=out) is out and np.array_equal(out, top)
        print(chosen.__name__, chosen.__doc__)
        try:
            chosen()
        except TypeError as error:
            print(error)
        """,
    )
    assert out.splitlines() == [
        "chosen What a mode makes of x.",
        "chosen() missing 1 required positional argument: 'x'",
    ]


SECRET = object()


def odd(x, mode="plain"):
    return np.sqrt(x) if mode == "plain" else (x[SECRET] if mode is SECRET else x * memoryview(x).nbytes)


def test_a_fallback_that_no_module_can_hold_is_refused(tmp_path):
    f = tilewright.jit(odd)
    x = np.ones(1000)
    f.for_args(x)
    with pytest.warns(tilewright.FallbackWarning):
        f(x, "other")
    with pytest.raises(tilewright.ExportError) as error:
        f.export(tmp_path / "odd_tuned", allow_fallback=True)
    assert str(error.value) == (
        "odd: --allow-fallback puts its Python into the module, but SECRET is a object, which a module cannot hold. "
        "Pass it as an argument, or leave --allow-fallback out."
    )
    assert list(tmp_path.iterdir()) == []


def test_each_signature_is_a_function_in_c(tmp_path):
    f = tilewright.jit(work)
    f.for_args(np.ones(1000))
    f.for_args(np.ones(1000, np.float32))
    f.for_args(np.ones((10, 10), np.float32))
    folder = f.export(tmp_path / "work_tuned", targets=("x86-64",))
    header = (folder / "kernels.h").read_text()
    assert re.findall(r"^int (\w+)\(", header, re.M) == ["work", "work_f32", "work_f32_2"]
    evidence = json.loads((folder / "evidence.json").read_text())
    assert evidence["c_functions"] == {
        "work": "work(x: float64[:]) -> float64[:]",
        "work_f32": "work(x: float32[:]) -> float32[:]",
        "work_f32_2": "work(x: float32[:, :]) -> float32[:, :]",
    }
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #include "kernels.h"
        int main(void) {
            float x[] = {1.0f, 4.0f}, result[2];
            struct tw_array in = tw_contiguous(x, TW_FLOAT32, 1, (int64_t[]){2});
            struct tw_array out = tw_contiguous(result, TW_FLOAT32, 1, (int64_t[]){2});
            if (work_f32(&in, &out) != TW_OK) { puts(tw_last_error()); return 1; }
            printf("%g %g\\n", result[0], result[1]);
        }
        """
    )
    command = ["gcc", "-o", "main", "main.c", f"-I{folder}", f"-L{folder}", "-lkernels", "-lpthread", "-ldl", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == "3 8\n"


def test_a_module_says_where_it_has_no_function_for_c(tmp_path):
    f = tilewright.jit(lambda x: x * SCALE)
    f.__name__ = "scaled"
    f.for_args(np.ones((1000, 3)))
    folder = f.export(tmp_path / "scaled_tuned", targets=("x86-64",))
    assert not (folder / "kernels.h").exists()
    told = "No function for C: the arrays from outside that it reads would have to be arguments."
    assert told in (folder / "__init__.pyi").read_text()
