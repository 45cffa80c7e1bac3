"""`autotune` from the command line to the module, as a user runs it."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

pytestmark = pytest.mark.worker

SCRIPT = """
import numpy as np

def get_labels(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)

X = np.random.default_rng(0).standard_normal((400_000, 2))
means = np.array([[5.0, 5.0], [10.0, 10.0]])
print("labels:", np.bincount(get_labels(X, means)))
"""

LINE = """
import numpy as np

def line(x, y):
    return np.sqrt(x) * 2 + y

line(*np.random.default_rng(0).random((2, 3_000_000)))
"""

SHORT = ("--budget", "5s", "--trials", "2")  # enough for a test of anything but the search itself

CLOSING = re.compile(  # on a busy machine a budget leaves no turns, and the line says so
    r"^(get_labels|line): NumPy [\d.]+ m?s( \(timed once, before the search\)| \(its first call\))? -> tuned [\d.]+ (us|ms) "
    r"\((about [\d.]+x|[\d.]+x(, [\d.]+ to [\d.]+)? in \d+ turns?)(, [^)]+)?\)"
    r"(; the machine was busy: [^;]+)?; result equal under contract numpy; [\d.]+ (GB|GFLOP)/s"
    r"(, \d+ % of this machine's measured limit \((memory|compute with(out)? FMA)\))?; searched \d+ s, \d+ candidates?( and \d+ known from before)?, stopped: .+$"
)


class Place:
    """A folder of a user's, with a store and a cache of its own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "kmeans.py").write_text(SCRIPT)
        (folder / "line.py").write_text(LINE)  # compiled much faster
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "COLUMNS": "200"}
        self.environment.pop("TILEWRIGHT_DB", None)

    def start(self, *arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "tilewright", *arguments], cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *arguments, code=0):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode == code, err
        assert "/tilewright/" not in err, err
        return out, err

    def python(self, code):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def place(tmp_path, data_home):
    return Place(tmp_path)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, measured_store):
    """A place where the script was tuned once."""
    place = Place(tmp_path_factory.mktemp("tuned"))
    measured_store(place.folder / "data" / "tilewright" / "tilewright.db")
    place.out, place.err = place.run("kmeans.py", "--budget", "4s")
    return place


def test_closing_line_and_progress(tuned):
    lines = tuned.out.splitlines()
    assert CLOSING.match(lines[1]), lines[1]
    assert lines[0] == f"wrote {tuned.folder}/kmeans_tuned: from kmeans_tuned import get_labels"
    assert len(lines) == 2
    assert re.search(r"^\d+ % of the time in get_labels: tuning it$", tuned.err, re.M)
    assert "get_labels(float64[400000, 2], float64[2, 2]), seen 1 time" in tuned.err
    assert re.search(
        r"\d+ candidates?, best [\d.]+ (us|ms), about [\d.]+x NumPy( \(its first call\))?, \d+ s left", tuned.err
    )
    assert re.search(r"^wrote the module in [\d.]+ s: \d+ versions of the code$", tuned.err, re.M)
    assert "labels: [" in tuned.err


def in_ns(text):
    value, unit = text.split()
    return float(value) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def test_every_ratio_agrees_with_its_times(tuned):
    numpy, ours, ratio = re.search(
        r"NumPy ([\d.]+ \w+)\b.* -> tuned ([\d.]+ \w+) \((?:about )?([\d.]+)x[,) ]", tuned.out
    ).groups()
    assert float(ratio) == pytest.approx(in_ns(numpy) / in_ns(ours), rel=0.011, abs=0.06)  # times have three digits
    lines = re.findall(r"best ([\d.]+ \w+), about ([\d.]+)x NumPy", tuned.err)
    best, largest = max(lines, key=lambda line: float(line[1]))
    numpys = in_ns(best) * float(largest)  # its time, which all estimates are relative to
    for best, ratio in lines:
        assert in_ns(best) * float(ratio) == pytest.approx(numpys, rel=0.03 + 0.06 / float(ratio))
    text = tuned.python("""
        import kmeans_tuned
        measured = kmeans_tuned.evidence()["measured"][0]
        print(measured["numpy_is_cold"] and measured["turns"] > 0)
    """)
    assert text == "False\n"


def test_the_module_answers(tuned):
    text = tuned.python("""
        import sys
        import numpy as np
        import kmeans_tuned
        from kmeans_tuned import get_labels
        X = np.random.default_rng(1).standard_normal((123_457, 2))
        means = X[:3]
        expected = np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)
        assert np.array_equal(get_labels(X, means), expected)
        measured = kmeans_tuned.evidence()["measured"][0]
        print(measured["ratio"] > 1, "tilewright" in sys.modules)
    """)
    assert text == "True False\n"


def test_the_same_command_goes_on(tuned):
    out, err = tuned.run("kmeans.py", *SHORT)
    assert re.search(r"and [1-9]\d* known from before", out), out
    assert CLOSING.match(out.splitlines()[-1])


def test_json(tuned):
    out, err = tuned.run("kmeans.py", *SHORT, "--json", "--quiet", "--out", "other", "--target", "x86-64")
    document = json.loads(out)
    (result,) = document["results"]
    assert result["function"] == "get_labels" and result["complete"] and result["ratio"] > 1
    assert document["module"] == f"{tuned.folder}/other"
    assert "candidate" not in err


def test_more_signatures_and_a_wheel(place):
    """Of a function that compiles fast: each signature has versions for each level and layout."""
    (place.folder / "moved.py").write_text(
        "import numpy as np\ndef moved(X, means):\n    return np.sqrt(X) - means[:1]\n"
        "moved(np.arange(800_000.0).reshape(-1, 2), np.array([[5.0, 5.0], [10.0, 10.0]]))\n"
    )
    place.run("moved.py", *SHORT, "--also", "float32,float32", "--wheel", "--target", "x86-64")
    text = place.python("""
        import numpy as np
        from moved_tuned import moved
        X = np.random.default_rng(1).random((10_001, 2)).astype(np.float32)
        expected = np.sqrt(X) - X[:1]
        assert expected.dtype == moved(X, X[:3]).dtype == np.float32
        assert np.array_equal(moved(X, X[:3]), expected)
        try:
            moved(X.astype(np.int64), X)
        except TypeError as error:
            print(error)
    """)
    assert "X is int64[10001, 2]" in text
    assert list(place.folder.glob("moved_tuned-*.whl"))
    _, err = place.run("moved.py", "--budget", "1s", "--also", "float32", code=2)
    assert "--also float32: 1 dtypes, but moved takes 2 arrays." in err


def test_a_module_is_tuned_as_python_m_runs_it(place):
    (place.folder / "pkg").mkdir()
    (place.folder / "pkg" / "__init__.py").write_text("")
    (place.folder / "pkg" / "work.py").write_text(
        "import sys\nimport numpy as np\ndef scaled(x):\n    return np.sqrt(x) * 2 + 1\nscaled(np.arange(float(sys.argv[1])))\n"
    )
    out, _ = place.run("-m", "pkg.work", *SHORT, "--target", "x86-64", "--", "500000")
    assert out.splitlines()[-1].startswith("scaled: NumPy ")
    assert (place.folder / "work_tuned" / "__init__.py").exists()


def test_run_patches_the_tuned_function_in(tuned):
    out, err = tuned.run("run", "--before", "kmeans.py")
    assert out.startswith("labels: [")
    assert re.search(
        r"^  get_labels +1 +\d+ % +[\d.]+ m?s +[\d.]+ m?s +[\d.]+x  (tuned|default schedule: the fastest of \d+ candidates that a search has measured)$",
        err,
        re.M,
    ), err
    assert re.search(
        r"^kmeans.py: [\d.]+ s → [\d.]+ s \([\d.]+x\); 1 function compiled, \d+ % of the time before; tilewright's own start took [\d.]+ s beside that$",
        err,
        re.M,
    ), err


def test_show(tuned):
    out, _ = tuned.run("show", "kmeans.py", "--part", "all")
    for part in ("stages:", "argmin", "line 5", "variants", "schedule:", "why this schedule: the fastest of those measured",
                 "space:", "lowered code of", "assembly of"):  # fmt: skip
        assert part in out, part
    out, _ = tuned.run("show", "kmeans.py", "--part", "schedule")
    assert out.startswith("tilewright-schedule 1\n")
    (tuned.folder / "mine.tws").write_text(out)
    out, _ = tuned.run("kmeans.py", "--schedule", "mine.tws", *SHORT)
    assert re.search(
        r"^get_labels: your schedule [\d.]+ (us|ms), [\d.]+ times( \([\d.]+ to [\d.]+\))? the [\d.]+ (us|ms) of the best known$",
        out,
        re.M,
    ), out
    out, _ = tuned.run("show", "kmeans.py", "--part", "space")
    (tuned.folder / "space.tws").write_text(out)
    out, _ = tuned.run("kmeans.py", "--space", "space.tws", *SHORT)
    assert CLOSING.match(out.splitlines()[-1])


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        (
            "--schedule",
            "tilewright-schedule 1\nschedule get_labels for x86-64\nargmin.split(i\n",
            "file.tws:4:1: expected",
        ),
        (
            "--schedule",
            "tilewright-schedule 1\nschedule get_labels for x86-64\nargmin.splt(i, io, ii, 8)\n",
            "Is 'split' meant?",
        ),
        (
            "--schedule",
            "tilewright-schedule 1\nschedule get_labels for x86-64\nnone.parallel(i)\n",
            "file.tws:3:1: none: there is no such stage.",
        ),
        ("--schedule", "", "file.tws"),
        (
            "--space",
            "tilewright-space 1\nspace get_labels for x86-64\nnone.vectorize(i, ?v{4, 8})\n",
            "none: there is no such stage.",
        ),
        ("--space", "tilewright-space 1\nspace get_labels for x86-64\nargmin.vectorize(i, ?v{4,\n", "file.tws:"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tuned, option, text, message):
    (tuned.folder / "file.tws").write_text(text)
    _, err = tuned.run("kmeans.py", option, "file.tws", code=2)
    assert message in err


def test_store_commands(tuned):
    out, _ = tuned.run("db", "list")
    assert "get_labels(X float64[400000, 2], means float64[2, 2])" in out
    out, _ = tuned.run("db", "check")
    assert out.endswith("tilewright.db: sound\n")
    tuned.run("db", "export", "all.json")
    tuned.run("db", "merge", "all.json", "--db", "copy.db")
    assert tuned.run("db", "list", "--db", "copy.db")[0].split(",")[0] == tuned.run("db", "list")[0].split(",")[0]
    tuned.run("db", "prune", "--keep", "1", "--db", "copy.db")
    _, err = tuned.run("db", "export", "all.json", code=2)
    assert "all.json: exists." in err
    (tuned.folder / "broken.db").write_bytes(b"not a store at all" * 100)
    _, err = tuned.run("db", "list", "--db", "broken.db", code=2)
    assert "broken.db" in err


def test_doctor(tuned):
    out, _ = tuned.run("doctor")
    assert "ok       a kernel, end to end: compiled, loaded and right" in out
    assert "ok       passes: all\n" in out
    assert "MISSING" not in out


def test_doctor_says_which_passes_are_off_and_refuses_unknown_ones(tuned, monkeypatch):
    monkeypatch.setitem(tuned.environment, "TILEWRIGHT_PASSES", "-linear_bits,-dimension_contraction")
    out, _ = tuned.run("doctor")
    assert "ok       passes: all but linear_bits, dimension_contraction (TILEWRIGHT_PASSES)\n" in out
    monkeypatch.setitem(tuned.environment, "TILEWRIGHT_PASSES", "-linear_bit")
    out, _ = tuned.run("doctor", code=1)
    assert "MISSING  passes: TILEWRIGHT_PASSES: -linear_bit: there is no such pass. Use some of -" in out


def test_ctrl_c_keeps_the_best_so_far(place):
    process = place.start("line.py", "--budget", "120s", "--target", "x86-64")
    for line in process.stderr:
        if "best" in line and "NumPy" in line:
            break
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert CLOSING.match(out.splitlines()[-1]), out
    assert (place.folder / "line_tuned" / "__init__.py").exists()


def test_after_kill_9_the_search_goes_on(place):
    process = place.start("line.py", "--budget", "120s", "--target", "x86-64")
    seen = 0
    for line in process.stderr:
        seen += "best" in line and "NumPy" in line
        if seen >= 2:
            break
    process.kill()
    process.communicate(timeout=60)
    assert not (place.folder / "line_tuned").exists()
    out, _ = place.run("line.py", *SHORT, "--target", "x86-64")
    assert re.search(r"and [1-9]\d* known from before", out), out
    stale = [p for p in os.listdir("/dev/shm") if p.startswith(f"tilewright-data-{os.getuid()}-{process.pid}-")]
    assert stale == []


def test_a_marked_function_is_tuned_and_used_afterwards(place):
    (place.folder / "marked.py").write_text(
        "import numpy as np, tilewright\n"
        "@tilewright.jit\n"
        "def f(x):\n    return np.sqrt(x * x + 1)\n"
        "def hotter(x):\n    return sum(np.sin(x) for _ in range(9))\n"
        "x = np.arange(300_000.0)\n"
        "hotter(x); f(x)\n"
        "if f.specializations: print(f.explain(source=False))\n"
    )
    out, err = place.run("marked.py", *SHORT)
    assert "of the time in f: tuning it" in err
    assert out.splitlines()[-1].startswith("f: NumPy")
    done = subprocess.run(
        [sys.executable, "marked.py"],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tuned" in done.stdout and "the fastest of those measured" in done.stdout


def test_several_scripts_end_in_a_summary(place):
    (place.folder / "more").mkdir()
    (place.folder / "more" / "b.py").write_text(
        "import numpy as np\ndef scaled(x):\n    return x * 2 + 1\nscaled(np.arange(500_000.0))\n"
    )
    (place.folder / "more" / "c.py").write_text("raise ValueError('broken')\n")
    out, err = place.run("line.py", "more", *SHORT, "--target", "x86-64", code=3)
    lines = out.splitlines()
    assert lines[0].split() == ["script", "exit", "time", "gain"]
    assert re.fullmatch(r"line\.py +0 +[\d.]+ m?s +[\d.]+x  line: NumPy .*", lines[1]), lines[1]
    assert re.fullmatch(r"more/b\.py +0 +[\d.]+ m?s +[\d.]+x  scaled: NumPy .*", lines[2]), lines[2]
    assert re.fullmatch(r"more/c\.py +1 +[\d.]+ m?s +raised ValueError\.", lines[3]), lines[3]
    assert lines[4] == "3 scripts: 2 tuned, 1 failed"


def work(x):
    return np.sqrt(x) * 2 + x


@pytest.fixture
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_tune_from_python(own_store):
    import tilewright

    f = tilewright.jit(work, strict=True)
    x = np.arange(400_000.0)
    result = f.tune(x, budget=3, trials=2)
    assert result.complete and result.tuned_ns > 0 and result.numpy_ns > 0
    assert result.closing_line().startswith("work: NumPy ")
    assert f.schedule == result.schedule
    assert np.array_equal(f(x), work(x))
    assert "the fastest of those measured" in f.explain(source=False)
    again = tilewright.jit(work, strict=True)
    again(x)
    assert again.schedule == result.schedule
    misses = again.misses
    assert np.array_equal(again(x), work(x))
    assert again.misses == misses == 1
    smaller = tilewright.jit(work, strict=True)
    smaller(x[:300_001])
    assert smaller.schedule == result.schedule


def test_a_tiny_call_is_promised_what_it_gives(own_store):
    import tilewright

    f = tilewright.jit(work, strict=True)
    x = np.arange(100.0)
    events = []
    result = f.tune(x, budget=2, observer=events.append)
    best = [event for event in events if event["event"] == "new_best"]
    assert result.tuned_ns > result.kernel_ns and result.figures.turns >= 6
    assert best and all(event["call_ns"] > event["median_ns"] for event in best)
    assert f.specializations[0].evidence["tuned_ns"] == result.tuned_ns
    assert result.ratio == pytest.approx(result.numpy_ns / result.tuned_ns)  # not that of the kernel alone
    assert f(x).tolist() == work(x).tolist()


@pytest.mark.parametrize("trouble", ["corrupt", "read-only", "folder"])
def test_a_store_in_trouble_costs_a_warning_only(place, trouble):
    store = place.folder / "store.db"
    if trouble == "corrupt":
        store.write_bytes(b"no database" * 1000)
    elif trouble == "folder":
        store.mkdir()
    else:
        (place.folder / "locked").mkdir()
        store = place.folder / "locked" / "no" / "store.db"
        (place.folder / "locked" / "no").write_text("a file in the way")
    out, err = place.run("line.py", *SHORT, "--db", str(store), "--target", "x86-64")
    assert CLOSING.match(out.splitlines()[-1]), out
    assert "warning" in err
