"""While a script is recorded, copies of its process find out what `autotune run` would: its first run has all of it."""

import json
import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.worker

# `walk` is refused as a whole, since it prints; `relax` inside of it is not tuned, as others take longer.
SCRIPT = """
import time
import numpy as np

def relax(x):
    for _ in range(20):
        x = 0.25 * (np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1))
    return x

def walk(x, k):
    y = np.sin(x) * np.cos(x + k) + np.sqrt(np.abs(x)) * np.exp(-x * x)
    z = y * y + np.tanh(y) - np.arctan(x)
    if z.sum() < -1e9 or k % 50 == 49:
        print(k, round(float(z.sum()), 6))
    return z * 0.5

x = np.random.default_rng(1).random((300, 300))
for k in range(200):
    x = walk(x, k)
    time.sleep(0.03)  # as a script of a minute would, it lets copies go on
    if k % 4 == 0:
        x = relax(x)
print(round(float(x.mean()), 6))
"""


def command(folder, *words):
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TILEWRIGHT_DB": str(folder / "store.db"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *words],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_the_first_run_behind_a_search_has_parts_and_code_for_all_calls(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    plain = subprocess.run([sys.executable, "s.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    tuned = command(tmp_path, "s.py", "--no-module", "--budget", "20s", "--trials", "2", "--quiet")
    assert re.search(r"^lines_\d+_to_\d+: NumPy .* -> tuned", tuned.stdout, re.MULTILINE), (
        "a part of what is refused is tuned"
    )
    ran = command(tmp_path, "run", "--json", "s.py")
    assert ran.stdout.startswith(plain) or plain in ran.stdout
    functions = json.loads(ran.stderr.splitlines()[-1] if ran.stderr.strip() else ran.stdout.splitlines()[-1])[
        "functions"
    ]
    assert not any("background" in one["why_numpy"] for one in functions.values()), functions
