"""A module whose files were damaged does not run: it says which one, and what to do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

WEIGHTS = np.array([1.0, 2.0, 4.0])

# Flips bits of a file, one at a time, and imports the module each time; at last once more as it was.
_FLIPS = """
import importlib, json, pathlib, random, sys

sys.dont_write_bytecode = True
path, flips = pathlib.Path(sys.argv[1]), int(sys.argv[2])
whole = path.read_bytes()
places = random.Random(7).sample(range(8 * len(whole)), flips)
errors = []
for place in [*places, None]:
    data = bytearray(whole)
    if place is not None:
        data[place // 8] ^= 1 << place % 8
    path.write_bytes(data)
    for name in [name for name in sys.modules if name.split('.')[0] == 'f_tuned']:
        del sys.modules[name]
    importlib.invalidate_caches()
    try:
        module = importlib.import_module('f_tuned')
        if path.name == 'evidence.json':
            module.evidence()
        errors.append(None)
    except Exception as error:
        errors.append([type(error).__name__, str(error)])
print(json.dumps(errors))
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intact")
    f = tilewright.jit(lambda x, scale=2.0: x[:, None] * WEIGHTS + scale, strict=True)
    f.__name__ = f.__wrapped__.__name__ = "f"
    f.for_args(np.ones(50_000))
    f.export(folder / "f_tuned", targets=("x86-64",))
    return folder


def imported(folder, path, flips):
    done = subprocess.run(
        [sys.executable, "-c", _FLIPS, str(path), str(flips)],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["__init__.py", "_face.abi3.so", "objects/*.o", "plan0.txt", "*.npy", "evidence.json"])
def test_every_flipped_bit_is_refused(module, kind):
    path = sorted((module / "f_tuned").glob(kind))[-1]  # of objects one of the highest level, which this machine has
    *refused, whole = imported(module, path, 60)
    assert whole is None
    assert None not in refused
    text = f"{path}: it is damaged: its bytes are not those that were written. Copy the module here again, or export it again."
    if kind in ("__init__.py", "evidence.json"):
        # Text of a person's: it may have been edited, or does not even parse.
        text = text.replace("damaged:", "damaged or edited:")
        assert ["ImportError", text] in refused
    else:
        assert refused == [["ImportError", text]] * 60


def test_a_file_that_is_not_there_or_no_file_is_refused(module, tmp_path):
    for change, reason in [
        (Path.unlink, "it cannot be read: No such file or directory"),
        (lambda path: path.unlink() or os.mkfifo(path), "it is damaged: its bytes are not those that were written"),
        (lambda path: path.unlink() or path.symlink_to("/dev/zero"), "it is damaged: its bytes are not those that were written"),
        (lambda path: path.unlink() or path.mkdir(), "it cannot be read: Is a directory"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "it is damaged: its bytes are not those that were written"),
    ]:  # fmt: skip
        folder = tmp_path / "copy"
        shutil.copytree(module, folder)
        path = folder / "f_tuned" / "plan0.txt"
        change(path)
        done = subprocess.run(
            [sys.executable, "-c", "import f_tuned"],
            check=False,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,  # a module that waits for the fifo waits for ever
        )
        expected = f"ImportError: {path}: {reason}. Copy the module here again, or export it again."
        assert done.stderr.splitlines()[-1] == expected
        shutil.rmtree(folder)
