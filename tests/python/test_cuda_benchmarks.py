"""The scripts of benchmarks/cuda start, read their options and write their page without a device. No speed is asserted."""

import json
import subprocess
import sys

import pytest
from device_helpers import ROOT, fake_driver

pytestmark = pytest.mark.compile

FOLDER = ROOT / "benchmarks" / "cuda"

RESULTS = [
    {"case": "a", "title": "case a", "must": 1, "goal": 2, "best": "torch", "ratio": 1.5, "low": 1.4, "high": 1.6,
     "verdict": "must", "clocks": "1 MHz, 2 MHz",
     "peers": {"torch": {"way": "eager", "median_ns": 3000.0, "times_ns": [3000.0], "agreement": "0 of 3 differ"},
               "cupy": {"absent": "ModuleNotFoundError: No module named 'cupy'"},
               "tilewright": {"way": "torch tensors", "median_ns": 2000.0, "times_ns": [2000.0], "agreement": "<same>"}}},
    {"case": "b", "title": "case b", "must": 1, "goal": 2, "peers": {"tilewright": {"absent": "no way was right"}}},
]  # fmt: skip


def python(script, *arguments, **environment):
    import os

    values = {**os.environ, "TILEWRIGHT_LIBCUDA": "/nonexistent", **environment}
    command = [sys.executable, str(FOLDER / script), *arguments]
    return subprocess.run(command, env=values, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("script", ["run.py", "dispatch.py", "tuning_rate.py"])
def test_options_are_read_without_a_device(script):
    done = python(script, "--help")
    assert done.returncode == 0 and "--out" in done.stdout, done.stderr
    assert python(script, "--no-such-option").returncode == 2


def test_the_page(tmp_path):
    pytest.importorskip("jinja2")
    (tmp_path / "results.json").write_text(json.dumps(RESULTS))
    (tmp_path / "dispatch.json").write_text(
        json.dumps(
            {
                "what": "x + y",
                "rows": [{"name": "n", "way": "w", "ns": 4.0}, {"name": "m", "way": "w", "absent": "why"}],
            }
        )
    )
    rows = [
        {"devices": 1, "measured": 5, "elapsed_s": 60.0, "rate": 5.0, "of_one": None},
        {"devices": 4, "absent": "none"},
    ]
    (tmp_path / "tuning_rate.json").write_text(json.dumps({"rows": rows}))
    done = python("page.py", str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "index.html").read_text()
    for words in ("1.50 [1.40, 1.60]", "did not run: ModuleNotFoundError", "no ratio", "&lt;same&gt;", "1 MHz, 2 MHz",
                  "device not told", "candidates a minute", "why", 'class="bar ours"'):  # fmt: skip
        assert words in text, words
    assert "no page yet" in python("page.py", str(tmp_path / "none")).stdout


def test_dispatch_on_the_fake_driver(tmp_path):
    done = python(
        "dispatch.py", "--batches", "1", "--batch", "3", "--out", str(tmp_path), TILEWRIGHT_LIBCUDA=str(fake_driver())
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "dispatch.json").read_text())["rows"]
    names = [row["name"] for row in rows if "ns" in row]  # peers that are installed have rows too
    assert names.count("tilewright: DeviceArray") == 2, done.stdout
    assert "is not from 1 to 500" in python("dispatch.py", "--batch", "501").stderr


def test_the_tuning_rate_says_why_not(tmp_path):
    done = python("tuning_rate.py", "--sets", "0", "--budget", "5s", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "autotune ended with 2" in done.stdout and "there is no CUDA driver here" in done.stdout
