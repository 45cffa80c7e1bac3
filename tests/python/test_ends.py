"""How a process ends while threads of it are in compiled code, in the compiler or in a search."""

import subprocess
import sys
import textwrap

import pytest
from examples import one_in

pytestmark = pytest.mark.worker

_RUNS = 4  # before, each of them was aborted
_AT_ONCE = 4

_FUNCTION = """
import sys, threading, time
import numpy as np
import tilewright

@tilewright.jit
def f(x, y):
    return np.sqrt(x * y + 1.5) * 2

x = np.linspace(0.1, 1, 300_000)
y = x[::-1].copy()
"""

_DAEMONS = """
def calls():
    while True:
        f(x, y)

for _ in range(2):
    threading.Thread(target=calls, daemon=True).start()
time.sleep(0.1)
"""


def ends_of(code: str, runs: int, folder) -> list[tuple[int, str]]:
    """Exit codes and what was written, of processes some of which run at once."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    found = []
    for first in range(0, runs, _AT_ONCE):
        started = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for _ in range(first, min(first + _AT_ONCE, runs))
        ]
        for process in started:
            _, said = process.communicate(timeout=120)
            found.append((process.returncode, said))
    return found


def test_daemon_threads_in_jitted_calls_end_with_the_process(tmp_path):
    # CPython ends such a thread where it asks for the GIL, and that must not unwind frames of ours: SIGABRT.
    assert ends_of(_FUNCTION + "f.for_args(x, y)\n" + _DAEMONS, _RUNS, tmp_path) == [(0, "")] * _RUNS


def test_daemon_threads_in_a_module_end_with_the_process(tmp_path):
    subprocess.run(
        [sys.executable, "-c", _FUNCTION + "f.for_args(x, y)\nf.export('f_tuned')"], cwd=tmp_path, check=True
    )
    code = """
    import threading, time
    import numpy as np
    from f_tuned import f

    x = np.linspace(0.1, 1, 300_000)
    y = x[::-1].copy()
    """
    assert ends_of(textwrap.dedent(code) + _DAEMONS, _RUNS, tmp_path) == [(0, "")] * _RUNS


def test_a_daemon_thread_whose_threads_call_ends_with_the_process(tmp_path):
    code = """
def calls():
    while True:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: f(x, y), range(20)))

from concurrent.futures import ThreadPoolExecutor
f.for_args(x, y)
threading.Thread(target=calls, daemon=True).start()
time.sleep(0.1)
"""
    # Threads of a pool are waited for, and the daemon asks for one more when it is too late: the interpreter says so.
    assert [code for code, _ in ends_of(_FUNCTION + code, 4, tmp_path)] == [0] * 4


def test_a_search_in_a_daemon_thread_is_over_before_the_interpreter_is(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    # A search that went on in the three seconds that the C library sleeps would call Python, and use what is destroyed.
    code = """
import ctypes

@tilewright.jit
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

libc = ctypes.CDLL(None)
assert libc.__cxa_atexit(libc.usleep, ctypes.c_void_p(3_000_000), None) == 0
threading.Thread(target=lambda: softmax.tune(x.reshape(600, 500), budget=60), daemon=True).start()
time.sleep(1)
"""
    assert [code for code, _ in ends_of(_FUNCTION + code, 2, tmp_path)] == [0] * 2


@pytest.mark.parametrize(
    ("seconds", "call"),
    one_in(2, [0.3, 1.2], ["f.tune(x, y, budget=60)", "[tilewright.jit(f.__wrapped__)(x, y * i) for i in range(9)]"]),
)
def test_a_daemon_thread_in_a_search_or_in_the_compiler_ends_with_the_process(tmp_path, monkeypatch, call, seconds):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    code = f"threading.Thread(target=lambda: {call}, daemon=True).start()\ntime.sleep({seconds})\n"
    assert [code for code, _ in ends_of(_FUNCTION + code, 4, tmp_path)] == [0] * 4
