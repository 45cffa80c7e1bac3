"""A process that is forked while another thread compiles: the child has a compiler that works, or says that it has none."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.worker

_FORK = """
import faulthandler, os, sys, threading, time
import numpy as np
import numpy.testing  # here: a child that was not waited for has locks of modules that the first call was importing
import tilewright
from tilewright import forks

forks.WAIT_S = float(sys.argv[3])

@tilewright.jit
def f(x):
    return np.sqrt(x) * 2 + 1

@tilewright.jit
def g(x):
    return np.exp(x) * 3 - 1

answered = threading.Event()
def in_the_compiler(entered):
    with forks.compiling():
        entered.set()
        answered.wait()

x = np.linspace(0.1, 1, 300_000)
thread = threading.Thread(target=f, args=(x,))
thread.start()
time.sleep(float(sys.argv[2]))
if not forks.WAIT_S:  # however slow the first call is to begin, or fast to end
    entered = threading.Event()
    threading.Thread(target=in_the_compiler, args=(entered,)).start()
    entered.wait()
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(60, exit=True)
    called = f if sys.argv[1] == 'same' else g
    np.testing.assert_allclose(called(x), called.__wrapped__(x), rtol=1e-15)
    os._exit(0)
status = os.waitpid(child, 0)[1]
answered.set()
thread.join()
f(x), g(x)
sys.exit(os.waitstatus_to_exitcode(status))
"""


# Python 3.12 and later warn of each fork of a process with threads, which is what is tested.
_ENVIRONMENT = {**os.environ, "TILEWRIGHT_CACHE": "off", "PYTHONWARNINGS": "ignore::DeprecationWarning"}


def fork(function: str, delay: float, wait_s: float) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_FORK), function, str(delay), str(wait_s)],
        env=_ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("function", ["same", "other"])
@pytest.mark.parametrize("delay", [0.01, 0.05, 0.1, 0.2, 0.4])
def test_the_childs_own_first_call_answers(function, delay):
    assert fork(function, delay, 60) == (0, "")


@pytest.mark.parametrize("function", ["same", "other"])
def test_a_child_that_was_not_waited_for_runs_numpy_and_says_so(function):
    code, said = fork(function, 0.02, 0)
    name = "f" if function == "same" else "g"
    assert (code, said.split(" NumPy runs it")[0]) == (
        0,
        f"{name}: tilewright: this process was forked while a thread of its parent was in the compiler for 0 s or more; "
        "it cannot compile. Fork before or after that, or start processes by spawn.",
    )


_IMPORTS = """
import builtins, sys
import numpy as np
import tilewright
from tilewright import forks

@tilewright.jit
def f(x):
    return np.sqrt(x) * 2 + 1

original = builtins.__import__
def watched(name, *args, **kwargs):
    before = set(sys.modules)
    module = original(name, *args, **kwargs)
    if not forks._inside and (new := set(sys.modules) - before):
        print(name, sorted(new))
    return module

builtins.__import__ = watched
for n in (300_000, 300_000, 300):
    f(np.linspace(0.1, 1, n))
"""


def test_a_fork_waits_for_what_a_first_call_imports():
    """The lock of a module that a thread of the parent imports is one that nobody gives back in the child."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS], env=_ENVIRONMENT,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")
