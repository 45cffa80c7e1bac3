"""Compiles, searches, stores and exports with the tilewright that is installed; run by .ci/wheel."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import tilewright


@tilewright.jit(strict=True)
def get_labels(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


missing = [name for name in ("g++", "cc", "cmake", "ld") if shutil.which(name)]
assert not missing, f"not bare: {missing} on the PATH"
X = np.random.default_rng(1).standard_normal((200_000, 2))
labels = get_labels(X, X[:2])
assert np.array_equal(labels, np.argmin(np.linalg.norm(X - X[:2][:, None], axis=2), axis=0))
get_labels.tune(X, X[:2], budget=3)
shutil.rmtree("labels_tuned", ignore_errors=True)
get_labels.export("labels_tuned")
subprocess.run([sys.executable, "-c", "from labels_tuned import get_labels"], check=True)

# The command, which sees the script's own imports.
Path("script.py").write_text(
    "import numpy as np\ndef halved(x):\n    return np.sqrt(x) / 2 + x\nprint(halved(np.ones(1_000_000)).sum())\n"
)
for words in (["script.py", "--budget", "2s"], ["run", "script.py"], ["check"], ["doctor"]):
    subprocess.run([sys.executable, "-m", "tilewright", *words], check=True)
subprocess.run([sys.executable, "-c", "from script_tuned import halved"], check=True)
sqlite = sorted({line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "sqlite3.so" in line})
print("works with", *sqlite)
